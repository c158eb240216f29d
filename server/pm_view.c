/* SPDX-License-Identifier: MIT
 * pm_view.c: samples over time as cells. See pm_view.h. Every sample of the range is read: 3.6 million (an hour at 1
 * ms) are 160 MB of the database. */
#include "pm_view.h"

#include "../analyzer/err.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The unit of a metric outside of the catalogue, by its name. */
static enum ws_unit unit_of(const char *name, size_t length)
{
    return ws_pm_scale_of(name, length) < 1.0 ? WS_UNIT_RATIO : WS_UNIT_NUMBER;
}

size_t ws_pm_columns(const char *keys, struct ws_pm_column out[WS_PM_COLUMNS])
{
    size_t count = 0;
    for (; count < WS_PM_COLUMNS; count++) {
        size_t n = strcspn(keys, ",");
        enum ws_pm_id id = ws_pm_find(keys, n);
        struct ws_pm_column *c = &out[count];
        snprintf(c->key, sizeof c->key, "%.*s", (int)(n < sizeof c->key ? n : sizeof c->key - 1), keys);
        c->unit = id < WS_PM_COUNT ? ws_pm_get(id)->unit : unit_of(keys, n);
        c->how = id < WS_PM_COUNT ? ws_pm_get(id)->how : ws_pm_how_of(keys, n);
        keys += n;
        if (*keys != ',')
            return count + 1;
        keys++;
    }
    return count;
}

const char *ws_pm_title(const struct ws_pm_column *column)
{
    enum ws_pm_id id = ws_pm_find(column->key, strlen(column->key));
    return id < WS_PM_COUNT ? ws_pm_get(id)->title : column->key;
}

double ws_pm_shown(const struct ws_pm_column *column, const struct ws_pm_row *row, size_t k)
{
    double value = (double)row->value[k];
    double seconds = (double)(row->end_ns - row->start_ns) * 1e-9;
    if (column->how == WS_PM_MEAN)
        return value;
    return seconds > 0 ? value / seconds : (double)NAN;
}

void ws_pm_stat_add(struct ws_pm_stat *stat, double value, double weight)
{
    if (!isfinite(value) || !(weight > 0))
        return;
    stat->min = stat->count == 0 || value < stat->min ? value : stat->min;
    stat->max = stat->count == 0 || value > stat->max ? value : stat->max;
    stat->sum += value * weight;
    stat->weight += weight;
    stat->count++;
}

double ws_pm_stat_mean(const struct ws_pm_stat *stat)
{
    return stat->weight > 0 ? stat->sum / stat->weight : (double)NAN;
}

struct loader {
    struct ws_pm_column column[WS_PM_COLUMNS];
    size_t columns, px;
    int64_t from_ns, to_ns;
    struct ws_pm_cell *cells; /* [px]; end_ns 0 = empty */
    struct ws_pm_stat *stats;
    uint64_t samples;
};

static int take_chunk(void *state, const struct ws_pm_chunk *chunk)
{
    struct loader *l = state;
    double per_ns = (double)l->px / (double)(l->to_ns - l->from_ns);
    for (uint32_t i = 0; i < chunk->rows; i++) {
        struct ws_pm_row row;
        struct ws_pm_cell *cell;
        int64_t middle;
        size_t at;
        ws_pm_unpack(chunk, i, &row);
        middle = row.start_ns + (row.end_ns - row.start_ns) / 2;
        if (middle < l->from_ns || middle >= l->to_ns)
            continue;
        at = (size_t)((double)(middle - l->from_ns) * per_ns);
        at = at < l->px ? at : l->px - 1;
        cell = &l->cells[at];
        cell->start_ns = cell->end_ns == 0 || row.start_ns < cell->start_ns ? row.start_ns : cell->start_ns;
        cell->end_ns = row.end_ns > cell->end_ns ? row.end_ns : cell->end_ns;
        l->samples++;
        for (size_t k = 0; k < l->columns; k++)
            ws_pm_stat_add(&l->stats[at * l->columns + k], ws_pm_shown(&l->column[k], &row, k),
                           (double)(row.end_ns - row.start_ns));
    }
    return 0;
}

/* Cells that have samples move to the front. */
static size_t drop_empty(struct loader *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->px; i++) {
        if (l->cells[i].end_ns == 0)
            continue;
        l->cells[n] = l->cells[i];
        memmove(&l->stats[n * l->columns], &l->stats[i * l->columns], l->columns * sizeof *l->stats);
        n++;
    }
    return n;
}

int ws_pm_view_load(struct ws_store *store, const struct ws_pm_series_row *series, int64_t from_ns, int64_t to_ns,
                    size_t px, struct ws_pm_view *out)
{
    struct loader l = {.px = px, .from_ns = from_ns, .to_ns = to_ns > from_ns ? to_ns : from_ns + 1};
    int err;
    l.columns = ws_pm_columns(series->keys, l.column);
    l.cells = calloc(px, sizeof *l.cells);
    l.stats = calloc(px * l.columns, sizeof *l.stats);
    err = l.cells && l.stats ? ws_store_each_pm_samples(store, series, l.from_ns, l.to_ns, take_chunk, &l) : -WS_ENOMEM;
    if (err != 0) {
        free(l.cells);
        free(l.stats);
        return err;
    }
    *out = (struct ws_pm_view){drop_empty(&l), l.columns, l.cells, l.stats, l.samples};
    return 0;
}

void ws_pm_view_free(struct ws_pm_view *view)
{
    free(view->cells);
    free(view->stats);
    memset(view, 0, sizeof *view);
}
