/* SPDX-License-Identifier: MIT
 * export_csv.c: `--csv`: RFC 4180, one line a kernel and metric, columns in a fixed order. Values are SI base
 * units and read back exactly; a missing value is an empty cell and its reason stands in `why`. */
#include "export.h"

#include "../analyzer/err.h"
#include "csv.h"

#include <inttypes.h>
#include <stdlib.h>

struct line {
    const struct ws_kernel *kernel;
    const char *key, *unit;
    struct ws_value value;
    const struct ws_stat *stat; /* NULL, or where min and max are from */
};

void ws_csv_sampled(FILE *out, const struct ws_kernel *k)
{
    if (!ws_has(k->sampled_blocks)) {
        fputs(",,,", out);
        return;
    }
    fputc(',', out);
    ws_csv_value(out, k->sampled_blocks);
    fprintf(out, ",%" PRIu64 ",", ws_report_blocks(k));
    ws_csv_value(out, k->sampled_interval);
}

static void put_line(FILE *out, const struct line *l)
{
    const struct ws_launch *g = &l->kernel->row.launch;
    char number[32];
    fprintf(out, "%" PRId64 ",", l->kernel->row.id);
    ws_csv_text(out, l->kernel->name.alias);
    fputc(',', out);
    ws_csv_text(out, l->kernel->name.demangled);
    fprintf(out, ",%ux%ux%u,%ux%ux%u,%" PRIu64 ",%" PRIu64 ",", g->grid.x, g->grid.y, g->grid.z, g->block.x, g->block.y,
            g->block.z, l->kernel->launches, l->kernel->profiled);
    ws_csv_text(out, l->key);
    ws_number_text(ws_has(l->value) ? l->value.number : NAN, number);
    fprintf(out, ",%s,%s,", number, l->unit);
    ws_number_text(l->stat && l->stat->count > 0 ? l->stat->min : NAN, number);
    fprintf(out, "%s,", number);
    ws_number_text(l->stat && l->stat->count > 0 ? l->stat->max : NAN, number);
    fprintf(out, "%s,%s,%s,%s", number, ws_has(l->value) ? "" : ws_why_code((enum ws_why)l->value.why),
            ws_has(l->value) && l->value.grade != WS_GRADE_EXACT ? ws_grade_name((enum ws_grade)l->value.grade) : "",
            ws_has(l->value) && l->value.origin != WS_ORIGIN_SESSION ? ws_origin_name((enum ws_origin)l->value.origin)
                                                                     : "");
    ws_csv_sampled(out, l->kernel);
    fputs("\r\n", out);
}

static const struct ws_stat *stat_of(const struct ws_kernel *k, unsigned id)
{
    for (size_t i = 0; i < k->stat_count; i++)
        if (k->stats[i].id == id)
            return &k->stats[i];
    return NULL;
}

static void put_kernel(FILE *out, const struct ws_kernel *k, const struct ws_report *report)
{
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++) {
        const struct ws_metric *m = ws_metric_get((enum ws_metric_id)i);
        struct ws_stat times = {.min = k->times.min.number, .max = k->times.max.number, .count = ws_has(k->times.min)};
        struct line l = {k, m->key, ws_unit_get(m->unit)->symbol, report->metric[i],
                         i == WS_M_duration ? &times : stat_of(k, i)};
        put_line(out, &l);
    }
    for (size_t i = 0; i < k->stat_count; i++)
        if (k->stats[i].id == WS_METRIC_COUNT) {
            struct line l = {k, k->stats[i].key, "", k->stats[i].mean, &k->stats[i]};
            put_line(out, &l);
        }
}

int ws_report_csv(const struct ws_session *session, FILE *out)
{
    struct ws_report *report = malloc(sizeof *report);
    if (!report)
        return -WS_ENOMEM;
    fputs("kernel_id,name,demangled,grid,block,launches,profiled_launches,metric,value,unit,min,max,why,grade,"
          "origin" WS_CSV_SAMPLED "\r\n",
          out);
    for (size_t i = 0; i < session->kernel_count; i++) {
        ws_report_analyze(session, i, report);
        put_kernel(out, &session->kernels[i], report);
    }
    free(report);
    return 0;
}

int ws_export_csv(const struct ws_export *e)
{
    return ws_report_csv(e->session, e->out);
}
