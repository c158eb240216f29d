/* SPDX-License-Identifier: MIT
 * pm_view.h: samples over time (PM sampling) as a picture needs them: the columns of a series by name and unit, and a
 * range of any length as at most so many cells, each with mean, least and greatest. Reads the database; judges nothing.
 * Read on: pm_facts.h (what the samples say of devices and kernels), analyzer/pm_metrics.def. */
#ifndef WS_SERVER_PM_VIEW_H
#define WS_SERVER_PM_VIEW_H

#include "../analyzer/pm_metrics.h"
#include "store.h"

#include <stddef.h>
#include <stdint.h>

/* A column of a series: of the catalogue, or a CUPTI name. */
struct ws_pm_column {
    char key[112];
    enum ws_unit unit; /* of what people see */
    enum ws_pm_how how;
};
/* The columns of keys (comma-separated), at most WS_PM_COLUMNS; returns how many. */
size_t ws_pm_columns(const char *keys, struct ws_pm_column out[WS_PM_COLUMNS]);
/* Of the catalogue, else the key. */
const char *ws_pm_title(const struct ws_pm_column *column);

/* A sample's value as people see it: a count becomes a rate. NaN stays NaN. */
double ws_pm_shown(const struct ws_pm_column *column, const struct ws_pm_row *row, size_t k);

/* Values over time, weighted by it. */
struct ws_pm_stat {
    double sum, weight; /* mean = sum / weight; weight 0: there is none */
    double min, max;
    uint64_t count;
};
void ws_pm_stat_add(struct ws_pm_stat *stat, double value, double weight);
/* NaN without a value. */
double ws_pm_stat_mean(const struct ws_pm_stat *stat);

struct ws_pm_cell {
    int64_t start_ns, end_ns; /* of its first and last sample */
};
struct ws_pm_view {
    size_t count, columns;
    struct ws_pm_cell *cells; /* [count], by time; those without a sample are not there */
    struct ws_pm_stat *stats; /* [count * columns] */
    uint64_t samples;
};
/* The samples of a series that lie in [from_ns, to_ns) by their middle. Free with ws_pm_view_free.
 *   px      cells at most, 1 to 8192
 *   errors  -WS_ENOMEM; of the store */
int ws_pm_view_load(struct ws_store *store, const struct ws_pm_series_row *series, int64_t from_ns, int64_t to_ns,
                    size_t px, struct ws_pm_view *out);
void ws_pm_view_free(struct ws_pm_view *view);

#endif
