/* SPDX-License-Identifier: MIT
 * spread.h: is a difference between two sets of launch times more than their noise? Pure.
 * Medians, because the first launch of a kernel is often slow and a mean would carry it.
 *
 *   five launches or more on each side   99 % interval of the difference of two medians: Student's t of the smaller
 *                                        side's degrees of freedom times the root of the squared standard errors; that
 *                                        of a median is 1.2533 times that of a mean of normal values, and the
 *                                        standard deviation is 1.4826 times the median absolute deviation
 *   two to four on a side                half of each side's range, added
 *   one on a side                        not known
 * never below the step of the clock that timed them. */
#ifndef WS_ANALYZER_SPREAD_H
#define WS_ANALYZER_SPREAD_H

#include "value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Step of the activity trace's time stamps, s: every duration of the sessions recorded on an H200 is a
 * multiple of it (+-2 ns of rounding). */
#define WS_SPREAD_CLOCK_STEP 32e-9

struct ws_spread {
    uint64_t count;   /* launches that were looked at; 0 = none */
    double median;    /* s */
    double deviation; /* median absolute deviation from it, s */
    double min, max;  /* s */
};

/* Whether launches differ, so that their mean stands for none of them: from the least to the greatest value by more
 * than this part of the greater magnitude. Counts of the hardware differ by a few percent from run to run of the same
 * work. */
#define WS_SPREAD_VARIES 0.1
bool ws_spread_varies(double min, double max);

/* Of seconds[count], which is sorted and then overwritten. */
struct ws_spread ws_spread_of(double *seconds, size_t count);

enum ws_trend { WS_TREND_UNKNOWN, WS_TREND_WITHIN_NOISE, WS_TREND_SLOWER, WS_TREND_FASTER };

struct ws_difference {
    struct ws_value delta;   /* target - base, s */
    struct ws_value percent; /* delta / base, ratio */
    struct ws_value noise;   /* of delta, as a ratio of base; missing with one launch on a side */
    enum ws_trend trend;     /* with unknown noise any change but 0 counts */
};

/* Missing where a side has no launch. */
struct ws_difference ws_spread_compare(const struct ws_spread *base, const struct ws_spread *target);

/* "unknown", "within-noise", "slower", "faster". */
const char *ws_trend_name(enum ws_trend trend);

#endif
