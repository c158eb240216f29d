/* SPDX-License-Identifier: MIT
 * timeline_plan.h: which metrics a run samples over time, and how often: --timeline-metrics and --timeline-interval.
 * Pure. Read on: timeline.c (samples them), analyzer/pm_metrics.def (what there is). */
#ifndef WS_COLLECTOR_TIMELINE_PLAN_H
#define WS_COLLECTOR_TIMELINE_PLAN_H

#include "../analyzer/pm_metrics.h"

#include <stdint.h>

#define WS_TIMELINE_MAX 16       /* metrics of a run: 72 bytes a sample */
#define WS_TIMELINE_NAME_MAX 112 /* bytes of one CUPTI name */
#define WS_TIMELINE_INTERVAL_MIN_NS 10000
#define WS_TIMELINE_INTERVAL_MAX_NS 10000000

struct ws_timeline_entry {
    char key[WS_TIMELINE_NAME_MAX]; /* of pm_metrics.def, or a CUPTI name */
    const char *cupti;              /* alternatives; points to key for a CUPTI name, so a plan must not be copied */
    double scale;
    enum ws_pm_how how;
};

struct ws_timeline_plan {
    size_t count;
    struct ws_timeline_entry entry[WS_TIMELINE_MAX]; /* [count], in the order in which they are taken */
    char bad[WS_TIMELINE_NAME_MAX];                  /* after a failure: the word that means nothing */
};

/* Read "default", or a list of keys and CUPTI names (which hold "__"), comma-separated; a word that stands twice counts
 * once.
 *   errors  -WS_EINVAL  plan->bad is no metric, or the list is empty (bad ""); what was good is in the plan
 *           -WS_ELIMIT  more than WS_TIMELINE_MAX, or a name too long (bad says which) */
int ws_timeline_plan_make(struct ws_timeline_plan *plan, const char *list);

/* "100us", "1ms", "2.5ms": -WS_EINVAL when it is not a time from 10us to 10ms with its unit. */
int ws_timeline_interval(const char *text, int64_t *ns);

#endif
