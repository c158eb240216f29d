/* SPDX-License-Identifier: MIT
 * plausible.h: counters that cannot be. Pure. What is stored stays as it came (report.c asks on reading); what cannot
 * be is not believed: its reason is "out-of-range", and nothing is computed from it. Add a bound: a row of
 * plausible.def. */
#ifndef WS_ANALYZER_PLAUSIBLE_H
#define WS_ANALYZER_PLAUSIBLE_H

#include "metrics.h"
#include "value.h"

/* A value that was struck out. */
struct ws_implausible {
    enum ws_metric_id id;
    const char *text; /* why it cannot be, static storage */
};

/* Strike out of raw[WS_METRIC_COUNT] what cannot be: it becomes WS_WHY_RANGE. A value that is compared with one that is
 * missing, or was struck out itself, stays. Counters of replayed and of rotated launches differ a little from pass to
 * pass, so a bound is broken only by more than 2 %.
 *   bad      the first of them if there is any, else untouched
 *   returns  how many */
unsigned ws_plausible(struct ws_value *raw, struct ws_implausible *bad);

#endif
