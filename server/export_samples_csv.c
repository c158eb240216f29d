/* SPDX-License-Identifier: MIT
 * export_samples_csv.c: samples over time as CSV, one line a sample and metric, in order of device and time: long
 * rather than wide, because two devices may sample different metrics. Values are what was sampled, as rates where they
 * are counts; SI base units that read back exactly. */
#include "export.h"

#include "csv.h"
#include "pm_view.h"

#include <inttypes.h>

struct writer {
    const struct ws_export *e;
    const struct ws_pm_series_row *series;
    struct ws_pm_column column[WS_PM_COLUMNS];
};

static int put_chunk(void *state, const struct ws_pm_chunk *chunk)
{
    const struct writer *w = state;
    for (uint32_t i = 0; i < chunk->rows; i++) {
        struct ws_pm_row row;
        ws_pm_unpack(chunk, i, &row);
        for (size_t k = 0; k < chunk->columns; k++) {
            char number[32];
            ws_number_text(ws_pm_shown(&w->column[k], &row, k), number);
            fprintf(w->e->out, "%" PRId64 ",%" PRIu32 ",%" PRId64 ",%" PRId64 ",", w->series->process_id,
                    w->series->device, row.start_ns, row.end_ns - row.start_ns);
            ws_csv_text(w->e->out, w->column[k].key);
            fprintf(w->e->out, ",%s,%s\r\n", number, ws_unit_get(w->column[k].unit)->symbol);
        }
    }
    return 0;
}

static int put_series(void *state, const struct ws_pm_series_row *row)
{
    struct writer w = {.e = state, .series = row};
    (void)ws_pm_columns(row->keys, w.column);
    return ws_store_each_pm_samples(w.e->store, row, INT64_MIN, INT64_MAX, put_chunk, &w);
}

int ws_export_samples_csv(const struct ws_export *e)
{
    struct ws_export copy = *e;
    fputs("process,device,start_ns,length_ns,metric,value,unit\r\n", e->out);
    return ws_store_each_pm_series(e->store, e->session->row.id, put_series, &copy);
}
