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
