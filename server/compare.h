/* SPDX-License-Identifier: MIT
 * compare.h: two sessions, kernel by kernel. A pair has the same mangled name, grid, block and dynamic shared memory;
 * what has no partner stands alone. Used by GET /compare (api_compare.c) and `warpsight diff` (cmd_diff.c).
 * Read on: analyzer/spread.h (what is noise), gate.h (what fails a build), compare_json.c (how it is written). */
#ifndef WS_SERVER_COMPARE_H
#define WS_SERVER_COMPARE_H

#include "../analyzer/spread.h"
#include "session_cache.h"

#define WS_COMPARE_NONE SIZE_MAX

struct ws_pair {
    size_t base, target;           /* kernels of the sessions, or WS_COMPARE_NONE */
    struct ws_difference duration; /* of the median launch */
    bool is_mixed_clock;           /* one side timed by the trace, the other by the profiler: no difference is given */
    struct ws_value impact;        /* change of the total time, s; alone: the whole of it */
};

struct ws_comparison {
    const struct ws_cached *base, *target; /* lent */
    struct ws_spread *base_times, *target_times;
    struct ws_pair *pairs; /* [count]: pairs by impact, the greatest first, then those that stand alone */
    size_t count;
};

/* Free with ws_compare_free, also after an error. Errors of the store; -WS_ENOMEM. */
int ws_compare(struct ws_store *store, const struct ws_cached *base, const struct ws_cached *target,
               struct ws_comparison *out);
void ws_compare_free(struct ws_comparison *c);

bool ws_compare_is_pair(const struct ws_pair *p);
/* The kernel of a pair that names it: of base, or of target where base has none. */
const struct ws_kernel *ws_compare_kernel(const struct ws_comparison *c, const struct ws_pair *p);
/* A metric of one side (target false: base); missing where that side has no such kernel. */
struct ws_value ws_compare_metric(const struct ws_comparison *c, const struct ws_pair *p, bool target,
                                  enum ws_metric_id id);
/* Median time of a launch; missing with the side's reason. */
struct ws_value ws_compare_median(const struct ws_comparison *c, const struct ws_pair *p, bool target);

/* Findings by bits of rules.h that came, went, stayed, or that one side lacks the values to judge. */
struct ws_findings_change {
    uint64_t appeared, gone, stayed, not_judged;
};
struct ws_findings_change ws_compare_findings(const struct ws_comparison *c, const struct ws_pair *p);

/* What one must know before believing a difference of times: another GPU, driver, source. Calls each with a line. */
void ws_compare_warnings(const struct ws_comparison *c, void (*each)(void *state, const char *line), void *state);

/* The members of one pair, without braces. wanted: [WS_METRIC_COUNT], or NULL for all metrics. */
void ws_compare_json_pair(struct ws_json *j, const struct ws_comparison *c, const struct ws_pair *p,
                          const bool *wanted);

#endif
