/* SPDX-License-Identifier: MIT
 * sample.h: which blocks of a grid stand for all, and how well they do.
 * Strata: the two faces of every dimension of 3 blocks and more (edges are often unlike the rest), and what lies
 * between. Within a stratum blocks come in golden-ratio order: every beginning of it is spread evenly, and unlike
 * evenly spaced blocks it does not fall into step with the grid's width. Pure: no allocation. */
#ifndef WS_COLLECTOR_MODEL_SAMPLE_H
#define WS_COLLECTOR_MODEL_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#define SAMPLE_STRATA 7
#define SAMPLE_FACE_BLOCKS 8   /* of each face, or all */
#define SAMPLE_BLOCKS 64       /* of the inside, by default */
#define SAMPLE_MORE_BLOCKS 256 /* when they differ by more than SAMPLE_SPREAD */
#define SAMPLE_SPREAD 0.30     /* standard deviation / mean */

struct sample_stratum {
    uint32_t lo[3], n[3]; /* a box of blocks */
    uint64_t blocks;
    uint64_t step; /* golden-ratio order: block j * step mod blocks */
};

struct sample {
    uint32_t grid[3];
    struct sample_stratum strata[SAMPLE_STRATA]; /* faces first, the inside last */
    uint32_t strata_n;
    uint64_t blocks;
};

void sample_init(struct sample *sample, const uint32_t grid[3]);

/* Block number of the grid (x fastest) that comes at `place`: SAMPLE_FACE_BLOCKS of each face, then the inside, then
 * the rest of the faces; every block once.
 *   place  [0, sample->blocks)
 *   returns the block; *stratum is where it lies */
uint64_t sample_block(const struct sample *sample, uint64_t place, uint32_t *stratum);
/* Places to run for so many blocks of the inside. */
uint64_t sample_places(const struct sample *sample, uint64_t inside);

/* One quantity over the blocks of one stratum that ran. */
struct sample_sum {
    double sum, squares;
};
/* Half the width of the 95 % interval of the total, by the formula of random samples (conservative for this order),
 * and the spread of the inside. taken: blocks that ran of each stratum. */
struct sample_estimate {
    double total, half_width;
    double spread; /* standard deviation / mean of the inside; 0 when the mean is 0 */
};
void sample_estimate(const struct sample *sample, const uint64_t taken[SAMPLE_STRATA],
                     const struct sample_sum sums[SAMPLE_STRATA], struct sample_estimate *out);

#endif
