/* SPDX-License-Identifier: MIT
 * stalls.c: the stall bar of one kernel, and the rows of stalls.def. Pure. */
#include "stalls.h"

#include "rule.h"

#include <string.h>

/* The states that are no stalls have no share of the stalled cycles. */
#define WS_M_stall_share_selected WS_METRIC_COUNT
#define WS_M_stall_share_not_selected WS_METRIC_COUNT

static const struct ws_stall rows[WS_STALL_COUNT] = {
#define WS_STALL(reason, is_stall, remedy, applies) \
    {#reason, WS_M_stall_##reason, WS_M_stall_share_##reason, is_stall, NULL, remedy, applies},
#include "stalls.def"
#undef WS_STALL
};

void ws_stalls_get(enum ws_stall_id id, struct ws_stall *out)
{
    *out = rows[id];
    out->meaning = ws_metric_get(rows[id].metric)->doc;
}

enum ws_stall_id ws_stalls_find(const char *reason)
{
    for (unsigned i = 0; i < WS_STALL_COUNT; i++)
        if (strcmp(rows[i].reason, reason) == 0)
            return (enum ws_stall_id)i;
    return WS_STALL_COUNT;
}

/* part / whole with the reason of what is missing. */
static struct ws_value share_of(struct ws_value part, struct ws_value whole)
{
    if (!ws_has(part) || !ws_has(whole))
        return ws_has(part) ? whole : part;
    return whole.number > 0 ? ws_value_of(part.number / whole.number) : ws_missing(WS_WHY_ZERO, "stall_total");
}

void ws_stalls(const struct ws_value *metric, struct ws_stall_bar *out)
{
    struct ws_value all = metric[WS_M_stall_total];
    const struct ws_value others[] = {metric[WS_M_stall_selected], metric[WS_M_stall_not_selected]};
    for (size_t i = 0; i < 2 && ws_has(all); i++)
        all = ws_has(others[i]) ? ws_value_of(all.number + others[i].number) : others[i];
    out->stalled = metric[WS_M_stall_total];
    out->issue_rate = metric[WS_M_issue_rate];
    out->advises = ws_has(out->issue_rate) && out->issue_rate.number < WS_NCU_ISSUE_GATE;
    for (unsigned i = 0; i < WS_STALL_COUNT; i++) {
        out->of_all[i] = share_of(metric[rows[i].metric], all);
        out->share[i] = rows[i].is_stall ? share_of(metric[rows[i].metric], out->stalled)
                                         : ws_missing(WS_WHY_NOT_ON_CHIP, "stalled warp-cycles");
    }
}

/* --- PC samples --- */

#define PC_PREFIX "smsp__pcsamp_warps_issue_stalled_"
#define PC_SUFFIX "_not_issued"

/* Sampling spells two reasons otherwise than the counters do. */
static enum ws_stall_id find_sampled(const char *at, size_t n)
{
    static const struct {
        const char *sampled;
        enum ws_stall_id id;
    } others[] = {{"no_instructions", WS_STALL_no_instruction}, {"warpgroup_arrive", WS_STALL_gmma}};
    for (unsigned i = 0; i < WS_STALL_COUNT; i++)
        if (strncmp(rows[i].reason, at, n) == 0 && rows[i].reason[n] == 0)
            return (enum ws_stall_id)i;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(others[i].sampled, at, n) == 0 && others[i].sampled[n] == 0)
            return others[i].id;
    return WS_STALL_COUNT;
}

void ws_samples_add(struct ws_samples *to, const char *name, uint64_t samples)
{
    size_t prefix = sizeof PC_PREFIX - 1, suffix = sizeof PC_SUFFIX - 1, n;
    bool is_part;
    enum ws_stall_id id;
    if (strncmp(name, PC_PREFIX, prefix) != 0)
        return;
    name += prefix;
    n = strlen(name);
    is_part = n > suffix && strcmp(name + n - suffix, PC_SUFFIX) == 0;
    id = find_sampled(name, is_part ? n - suffix : n);
    if (id == WS_STALL_COUNT)
        to->unnamed += is_part ? 0 : samples;
    else if (is_part)
        to->not_issued[id] += samples;
    else
        to->all[id] += samples;
}

void ws_samples_join(struct ws_samples *to, const struct ws_samples *from)
{
    for (unsigned i = 0; i < WS_STALL_COUNT; i++) {
        to->all[i] += from->all[i];
        to->not_issued[i] += from->not_issued[i];
    }
    to->unnamed += from->unnamed;
}

uint64_t ws_samples_all(const struct ws_samples *samples)
{
    uint64_t sum = samples->unnamed;
    for (unsigned i = 0; i < WS_STALL_COUNT; i++)
        sum += samples->all[i];
    return sum;
}

uint64_t ws_samples_not_issued(const struct ws_samples *samples)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < WS_STALL_COUNT; i++)
        sum += samples->not_issued[i];
    return sum;
}

void ws_stalls_of_samples(const struct ws_samples *samples, struct ws_stall_bar *out)
{
    struct ws_value all = ws_value_of((double)ws_samples_all(samples));
    double stalled = 0;
    for (unsigned i = 0; i < WS_STALL_COUNT; i++)
        stalled += rows[i].is_stall ? (double)samples->all[i] : 0;
    out->stalled = ws_value_of(stalled);
    out->issue_rate = ws_missing(WS_WHY_NOT_COLLECTED, NULL);
    out->advises = false;
    for (unsigned i = 0; i < WS_STALL_COUNT; i++) {
        struct ws_value part = ws_value_of((double)samples->all[i]);
        out->of_all[i] = share_of(part, all);
        out->share[i] =
            rows[i].is_stall ? share_of(part, out->stalled) : ws_missing(WS_WHY_NOT_ON_CHIP, "stalled samples");
    }
}
