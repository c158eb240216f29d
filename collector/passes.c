/* SPDX-License-Identifier: MIT
 * passes.c: which pass of a rotation a profiled launch served. See passes.h. */
#include "passes.h"

uint32_t ws_passes_next(const struct ws_passes *passes)
{
    uint32_t last = passes->last;
    if (passes->count <= 1)
        return 0;
    if (last == 0)
        return WS_PASS_UNKNOWN;
    if (passes->next[last - 1] != 0)
        return passes->next[last - 1] - 1u;
    /* While nothing was ever out of turn the numbers are CUPTI's own. */
    return last < passes->count ? last : WS_PASS_UNKNOWN;
}

static uint32_t number_of(struct ws_passes *passes, uint64_t sums)
{
    uint32_t expected = ws_passes_next(passes);
    for (uint32_t i = 0; i < passes->known; i++)
        if (passes->sums[i] == sums)
            return i;
    if (passes->known < passes->count) {
        passes->sums[passes->known] = sums;
        return passes->known++;
    }
    /* More patterns than passes: one value of a kernel was not valid in its own pass. The turn decides. */
    return expected != WS_PASS_UNKNOWN ? expected : 0;
}

uint32_t ws_passes_served(struct ws_passes *passes, uint64_t sums)
{
    uint32_t pass = passes->count <= 1 ? 0 : number_of(passes, sums);
    if (passes->last != 0)
        passes->next[passes->last - 1] = (uint8_t)(pass + 1);
    passes->last = pass + 1;
    return pass;
}

void ws_passes_interrupted(struct ws_passes *passes)
{
    passes->last = 0;
}
