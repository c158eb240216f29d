/* SPDX-License-Identifier: MIT
 * spread.c: see spread.h. */
#include "spread.h"

#define ENOUGH 5 /* launches from which on a deviation says something */
#define NORMAL_DEVIATION 1.4826
#define MEDIAN_ERROR 1.2533

/* Student's t, two-sided 99 %, by degrees of freedom. Source: the usual table (ISO 2602). */
static double student(uint64_t freedom)
{
    static const struct {
        uint64_t freedom;
        double t;
    } table[] = {{4, 4.604},  {5, 4.032},  {6, 3.707},  {7, 3.499},  {8, 3.355},  {9, 3.250},
                 {10, 3.169}, {12, 3.055}, {15, 2.947}, {20, 2.845}, {30, 2.750}, {60, 2.660}};
    double t = table[0].t;
    for (size_t i = 0; i < sizeof table / sizeof table[0] && table[i].freedom <= freedom; i++)
        t = table[i].t;
    return freedom > 120 ? 2.617 : t;
}

/* Heap sort: the analyzer allocates nothing, and qsort may. */
static void sift(double *v, size_t root, size_t count)
{
    for (;;) {
        size_t child = 2 * root + 1;
        double swap;
        if (child >= count)
            return;
        if (child + 1 < count && v[child + 1] > v[child])
            child++;
        if (v[child] <= v[root])
            return;
        swap = v[child];
        v[child] = v[root];
        v[root] = swap;
        root = child;
    }
}

static void sort(double *v, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift(v, i, count);
    for (size_t end = count; end-- > 1;) {
        double swap = v[0];
        v[0] = v[end];
        v[end] = swap;
        sift(v, 0, end);
    }
}

static double middle(const double *sorted, size_t count)
{
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

bool ws_spread_varies(double min, double max)
{
    return max - min > WS_SPREAD_VARIES * fmax(fabs(min), fabs(max));
}

struct ws_spread ws_spread_of(double *seconds, size_t count)
{
    struct ws_spread s = {.count = count};
    if (count == 0)
        return s;
    sort(seconds, count);
    s.median = middle(seconds, count);
    s.min = seconds[0];
    s.max = seconds[count - 1];
    for (size_t i = 0; i < count; i++)
        seconds[i] = fabs(seconds[i] - s.median);
    sort(seconds, count);
    s.deviation = middle(seconds, count);
    return s;
}

static double squared_error(const struct ws_spread *s)
{
    double e = MEDIAN_ERROR * NORMAL_DEVIATION * s->deviation;
    return e * e / (double)s->count;
}

/* Of the difference, s; both sides have two launches at least. */
static double noise_of(const struct ws_spread *a, const struct ws_spread *b)
{
    uint64_t least = a->count < b->count ? a->count : b->count;
    double noise = least >= ENOUGH ? student(least - 1) * sqrt(squared_error(a) + squared_error(b))
                                   : (a->max - a->min) / 2 + (b->max - b->min) / 2;
    return fmax(noise, WS_SPREAD_CLOCK_STEP);
}

struct ws_difference ws_spread_compare(const struct ws_spread *base, const struct ws_spread *target)
{
    struct ws_value missing = ws_missing(WS_WHY_NOT_COLLECTED, NULL);
    struct ws_difference d = {missing, missing, missing, WS_TREND_UNKNOWN};
    double delta = target->median - base->median;
    double noise;
    if (base->count == 0 || target->count == 0)
        return d;
    d.delta = ws_value_of(delta);
    if (base->median > 0)
        d.percent = ws_value_of(delta / base->median);
    if (base->count < 2 || target->count < 2)
        return d;
    noise = noise_of(base, target);
    if (base->median > 0)
        d.noise = ws_value_of(noise / base->median);
    d.trend = fabs(delta) <= noise ? WS_TREND_WITHIN_NOISE : delta > 0 ? WS_TREND_SLOWER : WS_TREND_FASTER;
    return d;
}

const char *ws_trend_name(enum ws_trend trend)
{
    static const char *const names[] = {"unknown", "within-noise", "slower", "faster"};
    return names[trend];
}
