/* SPDX-License-Identifier: MIT
 * export_roofline_csv.c: RFC 4180, one line a kernel, precision and level of memory, with the roofs over it. SI base
 * units. A kernel without a point has one line, and why: nothing is left out silently. */
#include "csv.h"
#include "export.h"

#include "../analyzer/err.h"

#include <inttypes.h>
#include <stdlib.h>

static const char head[] = "kernel_id,name,demangled,gpu,uuid,launches,time,level,precision,operations,intensity,"
                           "flop_rate,bandwidth,peak,roof,roof_source,percent,bound,ridge,above_roof,sheet_bandwidth,"
                           "sheet_peak,sheet_roof,sheet_percent,sheet_ridge,why" WS_CSV_SAMPLED "\r\n";
enum { CELLS_OF_POINT = 18 }; /* level … sheet_ridge */

static void put_kernel(FILE *out, const struct ws_session *s, const struct ws_kernel *k)
{
    const struct ws_device_row *device = k->device < s->device_count ? &s->devices[k->device] : NULL;
    fprintf(out, "%" PRId64 ",", k->row.id);
    ws_csv_text(out, k->name.alias);
    fputc(',', out);
    ws_csv_text(out, k->name.demangled);
    if (device)
        fprintf(out, ",%u,", device->device.index);
    else
        fputs(",,", out);
    ws_csv_text(out, device ? device->uuid : "");
    fprintf(out, ",%" PRIu64 ",", k->launches);
    ws_csv_value(out, k->times.total);
}

static void put_cell(FILE *out, struct ws_value value)
{
    fputc(',', out);
    ws_csv_value(out, value);
}

static void put_end(FILE *out, struct ws_value value, const struct ws_kernel *k)
{
    fprintf(out, ",%s", ws_has(value) ? "" : ws_why_code((enum ws_why)value.why));
    if (!ws_has(value) && value.input)
        fprintf(out, ": %s", value.input);
    ws_csv_sampled(out, k);
    fputs("\r\n", out);
}

static void put_point(FILE *out, const struct ws_roof_point *p, const struct ws_kernel *k)
{
    const struct ws_roof *m = &p->measured;
    fprintf(out, ",%s,%s", ws_level_name(p->level), ws_precision_name(p->precision));
    put_cell(out, p->operations);
    put_cell(out, p->intensity);
    put_cell(out, p->flop_rate);
    put_cell(out, m->bandwidth);
    put_cell(out, m->peak);
    put_cell(out, m->roof);
    fprintf(out, ",%s", ws_has(m->roof) ? "measured" : ws_why_code((enum ws_why)m->roof.why));
    put_cell(out, m->percent);
    fprintf(out, ",%s", ws_bound_name(m->bound));
    put_cell(out, m->ridge);
    fprintf(out, ",%s", ws_has(m->percent) ? m->is_above ? "true" : "false" : "");
    put_cell(out, p->sheet.bandwidth);
    put_cell(out, p->sheet.peak);
    put_cell(out, p->sheet.roof);
    put_cell(out, p->sheet.percent);
    put_cell(out, p->sheet.ridge);
    put_end(out, ws_has(p->intensity) ? p->flop_rate : p->intensity, k);
}

int ws_export_roofline_csv(const struct ws_export *e)
{
    struct ws_report *report = malloc(sizeof *report);
    if (!report)
        return -WS_ENOMEM;
    fputs(head, e->out);
    for (size_t i = 0; i < e->session->kernel_count; i++) {
        const struct ws_roofline *r = &report->roofline;
        ws_report_analyze(e->session, i, report);
        for (size_t n = 0; n < r->count; n++) {
            put_kernel(e->out, e->session, &e->session->kernels[i]);
            put_point(e->out, &r->points[n], &e->session->kernels[i]);
        }
        if (r->count > 0)
            continue;
        put_kernel(e->out, e->session, &e->session->kernels[i]);
        for (int cell = 0; cell < CELLS_OF_POINT; cell++)
            fputc(',', e->out);
        put_end(e->out, r->reason, &e->session->kernels[i]);
    }
    free(report);
    return 0;
}
