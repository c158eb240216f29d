/* SPDX-License-Identifier: MIT
 * pm_metrics.h: the catalogue of pm_metrics.def: what is sampled over time, of the whole GPU.
 * A sample is no counter of a kernel: what ran beside it is in it, too. To add a metric open pm_metrics.def. */
#ifndef WS_ANALYZER_PM_METRICS_H
#define WS_ANALYZER_PM_METRICS_H

#include "units.h"

#include <stddef.h>

enum ws_pm_id {
#define WS_PM(key, title, unit, how, scale, dcgm, cupti, doc) WS_PM_##key,
#include "pm_metrics.def"
#undef WS_PM
    WS_PM_COUNT
};

enum ws_pm_how {
    WS_PM_MEAN, /* a sample is the mean over its interval */
    WS_PM_SUM   /* a sample is a count; people see count / interval */
};

struct ws_pm_metric {
    const char *key, *title;
    const char *cupti; /* alternatives, as in metrics.h: walk with ws_metric_next_name */
    const char *dcgm;  /* "" = none */
    const char *doc;
    double scale;
    enum ws_unit unit;
    enum ws_pm_how how;
};

/* The row of an id, id < WS_PM_COUNT. */
const struct ws_pm_metric *ws_pm_get(enum ws_pm_id id);

/* The id of a key of given length (not NUL-ended), or WS_PM_COUNT. */
enum ws_pm_id ws_pm_find(const char *key, size_t length);

/* What a metric outside of the catalogue (a CUPTI name) is taken for: its name tells. "….pct…" is a share (scale 0.01),
 * "….sum" a count, everything else a mean as it is. */
enum ws_pm_how ws_pm_how_of(const char *name, size_t length);
double ws_pm_scale_of(const char *name, size_t length);

#endif
