/* SPDX-License-Identifier: MIT
 * sample.c: strata and order of sampled blocks, totals and intervals from them. */
#include "sample.h"

#include <math.h>
#include <string.h>

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* About blocks / golden ratio, without a common divisor: the order meets every block. */
static uint64_t golden_step(uint64_t blocks)
{
    uint64_t step = (uint64_t)((double)blocks * 0.6180339887498949);
    step = step ? step : 1;
    while (common_divisor(step, blocks) != 1)
        step++;
    return step % blocks;
}

static void add_stratum(struct sample *s, const uint32_t lo[3], const uint32_t n[3])
{
    struct sample_stratum *t = &s->strata[s->strata_n];
    t->blocks = (uint64_t)n[0] * n[1] * n[2];
    if (t->blocks == 0)
        return;
    memcpy(t->lo, lo, sizeof t->lo);
    memcpy(t->n, n, sizeof t->n);
    t->step = golden_step(t->blocks);
    s->strata_n++;
}

void sample_init(struct sample *sample, const uint32_t grid[3])
{
    uint32_t lo[3] = {0, 0, 0}, n[3];
    memset(sample, 0, sizeof *sample);
    memcpy(sample->grid, grid, sizeof sample->grid);
    memcpy(n, grid, sizeof n);
    sample->blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    for (int d = 0; d < 3; d++) {
        uint32_t face_lo[3], face_n[3];
        if (n[d] < 3)
            continue;
        memcpy(face_lo, lo, sizeof lo);
        memcpy(face_n, n, sizeof n);
        face_n[d] = 1;
        add_stratum(sample, face_lo, face_n);
        face_lo[d] = n[d] - 1;
        add_stratum(sample, face_lo, face_n);
        lo[d] = 1;
        n[d] -= 2;
    }
    add_stratum(sample, lo, n);
}

static uint64_t first_of_face(const struct sample_stratum *t)
{
    return t->blocks < SAMPLE_FACE_BLOCKS ? t->blocks : SAMPLE_FACE_BLOCKS;
}

static uint64_t block_of(const struct sample *s, uint32_t stratum, uint64_t turn)
{
    const struct sample_stratum *t = &s->strata[stratum];
    __extension__ typedef unsigned __int128 wide;
    uint64_t k = (uint64_t)((wide)turn * t->step % t->blocks);
    uint64_t x = t->lo[0] + k % t->n[0];
    uint64_t y = t->lo[1] + k / t->n[0] % t->n[1];
    uint64_t z = t->lo[2] + k / ((uint64_t)t->n[0] * t->n[1]);
    return (z * s->grid[1] + y) * s->grid[0] + x;
}

uint64_t sample_block(const struct sample *sample, uint64_t place, uint32_t *stratum)
{
    uint32_t inside = sample->strata_n - 1;
    for (uint32_t k = 0; k < inside; k++) {
        uint64_t n = first_of_face(&sample->strata[k]);
        *stratum = k;
        if (place < n)
            return block_of(sample, k, place);
        place -= n;
    }
    *stratum = inside;
    if (place < sample->strata[inside].blocks)
        return block_of(sample, inside, place);
    place -= sample->strata[inside].blocks;
    for (uint32_t k = 0; k < inside; k++) {
        uint64_t first = first_of_face(&sample->strata[k]), n = sample->strata[k].blocks - first;
        *stratum = k;
        if (place < n)
            return block_of(sample, k, first + place);
        place -= n;
    }
    return 0;
}

uint64_t sample_places(const struct sample *sample, uint64_t inside)
{
    uint64_t most = sample->strata[sample->strata_n - 1].blocks, n = inside;
    if (inside >= most)
        return sample->blocks;
    for (uint32_t k = 0; k + 1 < sample->strata_n; k++)
        n += first_of_face(&sample->strata[k]);
    return n < sample->blocks ? n : sample->blocks;
}

/* Variance between the blocks of a stratum; of fewer than two blocks nothing is known. */
static double variance(uint64_t taken, const struct sample_sum *sum)
{
    double n = (double)taken, v;
    if (taken < 2)
        return 0;
    v = (sum->squares - sum->sum * sum->sum / n) / (n - 1);
    return v > 0 ? v : 0;
}

void sample_estimate(const struct sample *sample, const uint64_t taken[SAMPLE_STRATA],
                     const struct sample_sum sums[SAMPLE_STRATA], struct sample_estimate *out)
{
    uint32_t inside = sample->strata_n - 1;
    double mean = taken[inside] ? sums[inside].sum / (double)taken[inside] : 0, all = 0, worst = 0;
    uint64_t blocks = 0;
    memset(out, 0, sizeof *out);
    for (uint32_t k = 0; k <= inside; k++) {
        all += sums[k].sum;
        blocks += taken[k];
        worst = fmax(worst, variance(taken[k], &sums[k]));
    }
    for (uint32_t k = 0; k <= inside; k++) {
        double whole = (double)sample->strata[k].blocks, n = (double)taken[k], v = variance(taken[k], &sums[k]);
        /* a stratum that was cut off before its first block is taken to be like the others */
        out->total += taken[k] ? whole * sums[k].sum / n : blocks ? whole * all / (double)blocks : 0;
        if (taken[k] < sample->strata[k].blocks)
            out->half_width += whole * whole * (1 - n / whole) * (taken[k] < 2 ? worst : v) / fmax(n, 1);
    }
    out->half_width = 1.96 * sqrt(out->half_width);
    out->spread = mean > 0 ? sqrt(variance(taken[inside], &sums[inside])) / mean : 0;
}
