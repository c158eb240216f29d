/* SPDX-License-Identifier: MIT
 * plan.h: which metrics a run wants: sets and --metrics texts -> list of (key, CUPTI names).
 * Pure: no CUDA, no I/O. Which of the alternative names a chip has is decided by counters.c. */
#ifndef WS_COLLECTOR_PLAN_H
#define WS_COLLECTOR_PLAN_H

#include "../analyzer/metrics.h"

#include <stdbool.h>
#include <stddef.h>

#define WS_PLAN_EXTRA_MAX 128u /* metrics named by --metrics that are not in the catalogue */
#define WS_PLAN_MAX (WS_METRIC_COUNT + WS_PLAN_EXTRA_MAX)
#define WS_PLAN_NAME_MAX 160u /* CUPTI's longest name in 13.0 has 93 characters */

struct ws_plan_entry {
    const char *key;   /* as it travels: the catalogue's key, or the CUPTI name itself */
    const char *cupti; /* alternatives: walk them with ws_metric_next_name() */
    double scale;      /* value stored = CUPTI's value times this */
};

struct ws_plan {
    struct ws_plan_entry entry[WS_PLAN_MAX];
    size_t count;
    bool has_metric[WS_METRIC_COUNT];
    char extra[WS_PLAN_EXTRA_MAX][WS_PLAN_NAME_MAX];
    size_t extra_count;
    char bad[WS_PLAN_NAME_MAX]; /* the first name that was refused, "" = none */
};

/* Fill *plan.
 *   set      "core,memory", "api" (no metric, but the host's calls), "full" (all), "trace" (= no metric); "" = trace
 *   metrics  catalogue keys (of computed ones: what they need) and CUPTI names, comma-separated
 *   errors   -WS_EINVAL an unknown set or an over-long or surplus name: plan->bad says which; the
 *            rest of the plan is filled all the same */
int ws_plan_make(struct ws_plan *plan, const char *set, const char *metrics);

/* Whether these sets ask for the host's calls (`api` or `full`). */
bool ws_plan_has_api(const char *set);

#endif
