/* SPDX-License-Identifier: MIT
 * passes.h: which pass of a rotation a profiled launch served. Pure.
 *
 * CUPTI ignores the pass that it is asked for: a counter of its own advances with every session of rotation. What a
 * replay in between does to that counter is not documented. So where both are mixed the pass is read off the values:
 * a sum is valid in its pass and in no other, for every kernel (a ratio may be 0/0 in one kernel and not in the next).
 * Passes get their numbers in the order in which they show up; what follows what is learnt the same way. */
#ifndef WS_COLLECTOR_PASSES_H
#define WS_COLLECTOR_PASSES_H

#include <stdbool.h>
#include <stdint.h>

#define WS_PASSES_MAX 64u
#define WS_PASS_UNKNOWN UINT32_MAX

/* Zeroed is fresh, but for count. */
struct ws_passes {
    uint32_t count;               /* of the whole set, 1…WS_PASSES_MAX; set by the caller */
    uint32_t known;               /* passes that have a number */
    uint64_t sums[WS_PASSES_MAX]; /* [known] which sums were valid, hashed */
    uint8_t next[WS_PASSES_MAX];  /* [known] the pass that follows, plus 1; 0 = not seen yet */
    uint32_t last;                /* the last one served, plus 1; 0 = none, or a replay came after it */
};

/* The pass that comes up, or WS_PASS_UNKNOWN. */
uint32_t ws_passes_next(const struct ws_passes *passes);

/* A session of rotation has ended in which exactly the sums hashed to `sums` were valid: its pass, below count. */
uint32_t ws_passes_served(struct ws_passes *passes, uint64_t sums);

/* A replay came between. */
void ws_passes_interrupted(struct ws_passes *passes);

#endif
