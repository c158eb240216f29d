/* SPDX-License-Identifier: MIT
 * stalls.h: what warps waited for, as one bar that adds to 100 % of the stalled warp-cycles.
 * selected and not_selected are no stalls and stand apart. Divergence has no stall reason: see lanes
 * per instruction. Two methods, never mixed: issue-slot counters (metrics stall_<reason>) and PC samples. */
#ifndef WS_ANALYZER_STALLS_H
#define WS_ANALYZER_STALLS_H

#include "metrics.h"
#include "value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ws_stall_id {
#define WS_STALL(reason, is_stall, remedy, applies) WS_STALL_##reason,
#include "stalls.def"
#undef WS_STALL
    WS_STALL_COUNT
};

struct ws_stall {
    const char *reason; /* "long_scoreboard" */
    enum ws_metric_id metric, share;
    bool is_stall;
    const char *meaning; /* one sentence */
    const char *remedy;
    const char *applies; /* when the remedy applies */
};

/* The row of a state, id < WS_STALL_COUNT. */
void ws_stalls_get(enum ws_stall_id id, struct ws_stall *out);
/* The id of a reason, or WS_STALL_COUNT. */
enum ws_stall_id ws_stalls_find(const char *reason);

struct ws_stall_bar {
    struct ws_value share[WS_STALL_COUNT];  /* stalls: of the stalled warp-cycles, together 1; others: missing */
    struct ws_value of_all[WS_STALL_COUNT]; /* of all warp-cycles, selected and not_selected too */
    struct ws_value stalled;                /* warp-cycles per launch */
    struct ws_value issue_rate;             /* per scheduler and active cycle */
    bool advises; /* issue rate known and below 0.8: only then do the remedies promise anything */
};

/* Fill *out from metric[WS_METRIC_COUNT], derived. A reason that the GPU does not count is missing with
 * that reason and is 0 in the sum.
 *   source  gate 0.8: Nsight Compute's stall rules */
void ws_stalls(const struct ws_value *metric, struct ws_stall_bar *out);

/* PC samples of one place or kernel: how often a warp was found there in each state. Another method than the bar's
 * counters: the two are never added or compared without a word. Every sample counts once in all[], and once more in
 * not_issued[] if its scheduler issued nothing in that cycle. */
struct ws_samples {
    uint64_t all[WS_STALL_COUNT], not_issued[WS_STALL_COUNT];
    uint64_t unnamed; /* of reasons that stalls.def does not know; not in the above */
};

/* Count samples under CUPTI's name of their reason. A name that is none of a stall reason counts nothing. */
void ws_samples_add(struct ws_samples *to, const char *name, uint64_t samples);
void ws_samples_join(struct ws_samples *to, const struct ws_samples *from);
/* All of them, and those whose scheduler issued nothing. */
uint64_t ws_samples_all(const struct ws_samples *samples);
uint64_t ws_samples_not_issued(const struct ws_samples *samples);

/* The bar of samples: `stalled` counts samples; no issue rate, so it advises nothing. */
void ws_stalls_of_samples(const struct ws_samples *samples, struct ws_stall_bar *out);

#endif
