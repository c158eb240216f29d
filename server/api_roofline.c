/* SPDX-License-Identifier: MIT
 * api_roofline.c: the points of all kernels of a session under the roofs of their device; kernels without a
 * point are listed with the reason. The same JSON is the export format roofline-json. */
#include "../analyzer/err.h"
#include "../analyzer/gpus.h"
#include "api.h"
#include "session_cache.h"

#include <stdlib.h>

/* What micro-kernels measured, and how; the same rate as the report's roofs. */
static void put_measured(struct ws_json *j, const struct ws_session *s, size_t device, enum ws_ceiling_id id)
{
    struct ws_value rate = ws_ceiling_measured(&s->ceilings[device], id);
    const struct ws_ceiling_origin *origin = &s->ceiling_origins[device][id];
    ws_report_json_number(j, "measured", rate);
    if (!ws_has(rate))
        ws_json_put_text(j, "why", ws_why_code((enum ws_why)rate.why));
    if (origin->measured_ns == 0)
        return;
    ws_report_json_number(j, "clock_hz", s->ceilings[device].at[id].clock_hz);
    ws_json_put_text(j, "method", origin->method);
    ws_json_put_text(j, "statistic", "median");
    ws_json_put_text(j, "command", "warpsight ceilings");
    ws_report_json_time(j, "measured_at", origin->measured_ns);
}

static void put_sheet(struct ws_json *j, const struct ws_device *device, enum ws_ceiling_id id)
{
    struct ws_value rate = ws_ceiling_sheet(device, id);
    ws_report_json_number(j, "sheet", rate);
    if (!ws_has(rate))
        ws_json_put_text(j, "sheet_why", ws_why_code((enum ws_why)rate.why));
}

/* Where memory stops and arithmetic begins to bind, for every level and precision that has one. */
static void put_ridges(struct ws_json *j, const struct ws_device *device, const struct ws_ceilings *ceilings)
{
    ws_json_key(j, "ridges");
    ws_json_array(j);
    for (int level = 0; level < WS_LEVEL_COUNT; level++)
        for (int precision = 0; precision < WS_PRECISION_COUNT; precision++) {
            struct ws_roof measured, sheet;
            ws_roofline_roofs(device, ceilings, (enum ws_level)level, (enum ws_precision)precision, &measured, &sheet);
            if (!ws_has(measured.ridge) && !ws_has(sheet.ridge))
                continue;
            ws_json_object_line(j);
            ws_json_put_text(j, "level", ws_level_name((enum ws_level)level));
            ws_json_put_text(j, "precision", ws_precision_name((enum ws_precision)precision));
            ws_report_json_number(j, "measured", measured.ridge);
            ws_report_json_number(j, "sheet", sheet.ridge);
            ws_json_end(j);
        }
    ws_json_end(j);
}

static void put_device(struct ws_json *j, const struct ws_session *s, size_t device)
{
    const struct ws_device_row *d = &s->devices[device];
    struct ws_board board;
    bool is_known = ws_gpus_board(d->device.name, &board) == 0;
    char cc[32];
    snprintf(cc, sizeof cc, "%u.%u", d->device.cc_major, d->device.cc_minor);
    ws_json_object(j);
    ws_json_put_uint(j, "index", d->device.index);
    ws_json_put_text(j, "name", d->device.name);
    ws_json_put_text(j, "uuid", d->uuid);
    ws_json_put_uint(j, "driver", ws_report_driver(s));
    ws_json_put_text(j, "cc", cc);
    ws_json_put_text(j, "sheet_source", is_known ? board.source : NULL);
    ws_json_key(j, "ceilings");
    ws_json_array(j);
    for (int i = 0; i < WS_CEILING_COUNT; i++) {
        enum ws_ceiling_id id = (enum ws_ceiling_id)i;
        ws_json_object_line(j);
        ws_json_put_text(j, "key", ws_ceiling_key(id));
        ws_json_put_text(j, "title", ws_ceiling_title(id));
        ws_json_put_text(j, "unit", ws_ceiling_unit(id));
        put_measured(j, s, device, id);
        put_sheet(j, &d->device, id);
        ws_json_end(j);
    }
    ws_json_end(j);
    put_ridges(j, &d->device, &s->ceilings[device]);
    ws_json_end(j);
}

/* The GPU of a kernel: its place in "devices", or null. */
static void put_device_of(struct ws_json *j, const struct ws_session *s, const struct ws_kernel *k)
{
    if (k->device < s->device_count)
        ws_json_put_uint(j, "device", k->device);
    else
        ws_json_put_null(j, "device");
}

static void put_points(struct ws_json *j, const struct ws_session *s, const struct ws_kernel *k,
                       const struct ws_roofline *r)
{
    for (size_t i = 0; i < r->count; i++) {
        ws_json_object_line(j);
        ws_json_put_int(j, "kernel", k->row.id);
        ws_report_json_names(j, &k->name);
        put_device_of(j, s, k);
        ws_json_put_uint(j, "launches", k->launches);
        ws_report_json_sampled(j, k);
        ws_report_json_number(j, "duration", k->times.total);
        ws_report_json_point_members(j, &r->points[i]);
        ws_json_end(j);
    }
}

static void put_reason(struct ws_json *j, const struct ws_kernel *k, struct ws_value reason)
{
    ws_json_object_line(j);
    ws_json_put_int(j, "kernel", k->row.id);
    ws_report_json_names(j, &k->name);
    ws_report_json_sampled(j, k);
    ws_json_put_text(j, "why", ws_why_code((enum ws_why)reason.why));
    if (reason.input)
        ws_json_put_text(j, "needs", reason.input);
    ws_json_end(j);
}

/* Each kernel is analysed twice, for two lists of one answer: still less than keeping 50 KiB of each. */
static void put_kernels(struct ws_json *j, const struct ws_session *s, struct ws_report *report, bool plotted)
{
    ws_json_array(j);
    for (size_t i = 0; i < s->kernel_count; i++) {
        ws_report_analyze(s, i, report);
        if (plotted)
            put_points(j, s, &s->kernels[i], &report->roofline);
        else if (report->roofline.count == 0)
            put_reason(j, &s->kernels[i], report->roofline.reason);
    }
    ws_json_end(j);
}

int ws_api_put_roofline(struct ws_json *j, const struct ws_session *session)
{
    struct ws_report *report = malloc(sizeof *report);
    if (!report)
        return -WS_ENOMEM;
    ws_json_object(j);
    ws_json_put_int(j, "session", session->row.id);
    ws_json_key(j, "devices");
    ws_json_array(j);
    for (size_t i = 0; i < session->device_count; i++)
        put_device(j, session, i);
    ws_json_end(j);
    ws_json_key(j, "points");
    put_kernels(j, session, report, true);
    ws_json_key(j, "not_plotted");
    put_kernels(j, session, report, false);
    ws_json_end(j);
    free(report);
    return 0;
}

void ws_api_roofline(struct ws_call *call)
{
    const struct ws_cached *c;
    int err;
    if (ws_call_unchanged(call) || !ws_call_session(call, call->request->ids[0], &c))
        return;
    err = ws_api_put_roofline(ws_call_json(call), c->session);
    ws_session_cache_give(c);
    if (err != 0)
        ws_call_fail_store(call, err);
}
