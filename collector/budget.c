/* SPDX-License-Identifier: MIT
 * budget.c: what profiling costs, whether it fits, replay or rotation. See budget.h. */
#include "budget.h"

#include "../analyzer/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Measured on an H200 (core, memory, stalls: 7 passes): a replay of a small kernel 42 ms, of 2 passes 9.5 to 34 ms; a
 * rotated launch 10 to 24 ms. The dearer end: a budget is to be kept from the first launch on. */
#define REPLAY_NS 20000000.0
#define REPLAY_PASS_NS 5000000.0
#define ROTATE_NS 24000000.0
/* The first profiled launch of a process took 135 to 190 ms more than the later ones there, either way. */
#define FIRST_NS 170000000.0
/* To disable and enable the profiler: 15 ms, and then it is the first again. */
#define RENEW_NS (15000000.0 + FIRST_NS)
/* A new measurement counts for a quarter; one odd launch changes the scale by no more than this. */
#define LEARN 0.25
#define SCALE_LEAST 0.02
#define SCALE_MOST 50.0
#define NS_MOST 9e18
/* A replay that adds no more is taken even where rotation may be cheaper: it has all counters of one launch at once,
 * and the launches that rotation would need may never come. */
#define CHEAP_NS 150e6

static const char *parse_number(const char *text, double *number)
{
    char *end;
    if (*text < '0' || *text > '9') /* no sign, no "inf", no "0x" */
        return NULL;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        return NULL;
    *number = strtod(text, &end);
    return isfinite(*number) ? end : NULL;
}

int ws_budget_parse_time(const char *text, int64_t *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};
    double number;
    const char *unit = parse_number(text, &number);
    for (size_t i = 0; unit && i < sizeof units / sizeof units[0]; i++) {
        double all = number * units[i].ns;
        if (strcmp(unit, units[i].unit) != 0)
            continue;
        if (!(all >= 1) || all > 366 * 24 * 3600e9)
            return -WS_EINVAL;
        *ns = (int64_t)all;
        return 0;
    }
    return -WS_EINVAL;
}

int ws_budget_parse_percent(const char *text, double *part)
{
    double number;
    const char *end = parse_number(text, &number);
    if (!end || strcmp(end, "%") != 0 || !(number > 0) || number > 1000)
        return -WS_EINVAL;
    *part = number / 100;
    return 0;
}

static double fixed_ns(enum ws_mode mode, uint32_t passes)
{
    return mode == WS_MODE_REPLAY ? REPLAY_NS + REPLAY_PASS_NS * passes : ROTATE_NS;
}

/* Of the kernel itself. */
static double launch_part_ns(enum ws_mode mode, const struct ws_risk *risk)
{
    return (double)risk->launch_ns * (mode == WS_MODE_REPLAY ? risk->passes : 1);
}

/* Of saving and restoring its memory, as the header says. */
static double memory_part_ns(enum ws_mode mode, const struct ws_risk *risk)
{
    if (mode != WS_MODE_REPLAY)
        return 0;
    return ((double)risk->passes + 1) * (double)risk->footprint_bytes / WS_BUDGET_SAVE_RATE * 1e9;
}

/* The footprint is an upper bound; where CUPTI saves less of it, or faster, that was seen. */
static double memory_scale(const struct ws_budget *budget)
{
    return budget->memory_scale > 0 ? budget->memory_scale : 1;
}

/* As this process measured it; a way of counting that was not used yet is off by as much as the other one is. */
static double scale_of(const struct ws_budget *budget, enum ws_mode mode)
{
    double own = budget->scale[mode];
    double other = budget->scale[mode == WS_MODE_REPLAY ? WS_MODE_ROTATE : WS_MODE_REPLAY];
    if (own > 0)
        return own;
    return other > 0 ? other : 1;
}

/* What the state of its context adds to a launch. */
static double state_ns(enum ws_mode mode, const struct ws_risk *risk)
{
    if (risk->is_first)
        return FIRST_NS;
    return mode == WS_MODE_REPLAY && risk->is_midway ? RENEW_NS : 0;
}

int64_t ws_budget_predict(const struct ws_budget *budget, enum ws_mode mode, const struct ws_risk *risk)
{
    double ns;
    if (mode == WS_MODE_NONE)
        return 0;
    ns = fixed_ns(mode, risk->passes) * scale_of(budget, mode) + launch_part_ns(mode, risk) +
         memory_part_ns(mode, risk) * memory_scale(budget) + state_ns(mode, risk);
    return ns < NS_MOST ? (int64_t)ns : INT64_MAX / 4;
}

enum ws_mode ws_budget_decide(const struct ws_budget *budget, const struct ws_risk *risk, enum ws_mode_reason *why)
{
    /* What each adds for itself: the launch runs in any case, and what the context needs first serves the next ones
     * too. */
    double launch = (double)risk->launch_ns;
    double rotation =
        ((double)ws_budget_predict(budget, WS_MODE_ROTATE, risk) - state_ns(WS_MODE_ROTATE, risk) - launch) *
        risk->passes;
    double replay = (double)ws_budget_predict(budget, WS_MODE_REPLAY, risk) - state_ns(WS_MODE_REPLAY, risk) - launch;
    *why = WS_REASON_CHEAP;
    if (risk->is_collective)
        *why = WS_REASON_COLLECTIVE;
    else if (risk->has_peers)
        *why = WS_REASON_PEERS;
    if (*why != WS_REASON_CHEAP)
        return WS_MODE_NONE;
    if (risk->is_cooperative)
        *why = WS_REASON_COOPERATIVE;
    else if (!risk->has_memory)
        *why = WS_REASON_UNKNOWN;
    else if (risk->free_bytes < risk->footprint_bytes + WS_BUDGET_SPARE_BYTES)
        *why = WS_REASON_MEMORY;
    else if (replay > fmax(rotation, CHEAP_NS))
        *why = launch * risk->passes > replay / 2 ? WS_REASON_LONG : WS_REASON_FOOTPRINT;
    else if (risk->is_midway && risk->is_rotating)
        *why = WS_REASON_MIDWAY;
    else if (risk->is_failed[WS_MODE_REPLAY])
        *why = WS_REASON_FAILED;
    if (*why == WS_REASON_CHEAP)
        return WS_MODE_REPLAY;
    if (!risk->is_failed[WS_MODE_ROTATE])
        return WS_MODE_ROTATE;
    /* Rotation gives nothing any more. Dear is better than nothing; unsafe is not. */
    if (*why == WS_REASON_LONG || *why == WS_REASON_FOOTPRINT || *why == WS_REASON_MIDWAY) {
        *why = WS_REASON_FAILED;
        return WS_MODE_REPLAY;
    }
    *why = WS_REASON_FAILED;
    return WS_MODE_NONE;
}

bool ws_budget_is_limited(const struct ws_budget *budget)
{
    return budget->limit_ns > 0 || budget->overhead > 0;
}

/* The run without us is what has passed less what we took. */
static double left_ns(const struct ws_budget *budget, int64_t now_ns)
{
    double taken = (double)budget->spent_ns + (double)budget->reserved_ns;
    double left = NS_MOST;
    if (budget->limit_ns > 0)
        left = (double)budget->limit_ns - taken;
    if (budget->overhead > 0) {
        double plain = (double)(now_ns - budget->started_ns) - (double)budget->spent_ns;
        left = fmin(left, budget->overhead * fmax(plain, 0) - taken);
    }
    return left;
}

static int64_t when_it_fits(const struct ws_budget *budget, int64_t predicted_ns)
{
    double want = (double)budget->spent_ns + (double)budget->reserved_ns + (double)predicted_ns;
    double at;
    if (budget->limit_ns > 0 && (double)budget->spent_ns + (double)predicted_ns > (double)budget->limit_ns)
        return INT64_MAX; /* spent only grows; a smaller prediction will ask anew */
    if (!(budget->overhead > 0))
        return budget->started_ns; /* others have reserved: they may settle for less */
    at = (double)budget->started_ns + (double)budget->spent_ns + want / budget->overhead;
    return at < NS_MOST ? (int64_t)at : INT64_MAX;
}

bool ws_budget_fits(const struct ws_budget *budget, int64_t now_ns, int64_t predicted_ns, int64_t *not_before_ns)
{
    bool fits = !ws_budget_is_limited(budget) || (double)predicted_ns <= left_ns(budget, now_ns);
    if (!fits)
        *not_before_ns = when_it_fits(budget, predicted_ns);
    return fits;
}

bool ws_budget_reserve(struct ws_budget *budget, int64_t now_ns, int64_t predicted_ns, int64_t *not_before_ns)
{
    if (!ws_budget_fits(budget, now_ns, predicted_ns, not_before_ns))
        return false;
    budget->reserved_ns += predicted_ns;
    return true;
}

void ws_budget_release(struct ws_budget *budget, int64_t predicted_ns)
{
    budget->reserved_ns -= predicted_ns;
}

void ws_budget_spend(struct ws_budget *budget, int64_t ns)
{
    budget->spent_ns += ns;
}

/* A quarter of the way from what was thought to what was seen. */
static double learn(double old, double seen)
{
    return old + LEARN * (fmin(fmax(seen, SCALE_LEAST), SCALE_MOST) - old);
}

void ws_budget_settle(struct ws_budget *budget, enum ws_mode mode, const struct ws_risk *risk, int64_t predicted_ns,
                      int64_t measured_ns)
{
    double rest, fixed, memory;
    ws_budget_release(budget, predicted_ns);
    ws_budget_spend(budget, measured_ns);
    budget->profiled++;
    if (mode == WS_MODE_NONE || state_ns(mode, risk) > 0) /* the first says nothing of the next */
        return;
    /* One launch teaches the larger of the two parts. */
    rest = (double)measured_ns - launch_part_ns(mode, risk);
    fixed = fixed_ns(mode, risk->passes);
    memory = memory_part_ns(mode, risk);
    if (memory > fixed)
        budget->memory_scale = learn(memory_scale(budget), (rest - fixed * scale_of(budget, mode)) / memory);
    else
        budget->scale[mode] = learn(scale_of(budget, mode), (rest - memory * memory_scale(budget)) / fixed);
}

const char *ws_reason_code(uint32_t reason)
{
    switch (reason) {
#define WS_REASON_CODE(sym, num, code, text) \
    case num:                                \
        return code;
        WS_MODE_REASON_LIST(WS_REASON_CODE)
#undef WS_REASON_CODE
    default:
        return "unknown";
    }
}

const char *ws_reason_text(uint32_t reason)
{
    switch (reason) {
#define WS_REASON_TEXT(sym, num, code, text) \
    case num:                                \
        return text;
        WS_MODE_REASON_LIST(WS_REASON_TEXT)
#undef WS_REASON_TEXT
    default:
        return "unknown";
    }
}
