/* SPDX-License-Identifier: MIT
 * api_roofline.c: the points of all kernels of a session under the roofs of their device. What cannot be drawn on
 * a logarithmic axis is listed with its reason. */
#include "../analyzer/err.h"
#include "../analyzer/gpus.h"
#include "api.h"
#include "session_cache.h"

#include <stdlib.h>

static void put_number(struct ws_json *j, const char *key, struct ws_value v)
{
    if (ws_has(v))
        ws_json_put_number(j, key, v.number);
    else
        ws_json_put_null(j, key);
}

/* The data sheet's word on a ceiling; missing where it has none. */
static struct ws_value sheet_of(const struct ws_board *board, enum ws_ceiling_id id)
{
    static const struct {
        enum ws_ceiling_id ceiling;
        enum ws_rate rate;
    } rates[] = {
        {WS_CEILING_FP64, WS_RATE_FP64},
        {WS_CEILING_FP32, WS_RATE_FP32},
        {WS_CEILING_FP16, WS_RATE_FP16},
        {WS_CEILING_TENSOR_FP64, WS_RATE_TENSOR_FP64},
        {WS_CEILING_TENSOR_TF32, WS_RATE_TENSOR_TF32},
        {WS_CEILING_TENSOR_FP16, WS_RATE_TENSOR_FP16_FP32},
        {WS_CEILING_TENSOR_FP16_ACC16, WS_RATE_TENSOR_FP16_FP16},
        {WS_CEILING_TENSOR_BF16, WS_RATE_TENSOR_BF16},
        {WS_CEILING_TENSOR_FP8, WS_RATE_TENSOR_FP8},
        {WS_CEILING_TENSOR_INT8, WS_RATE_TENSOR_INT8},
    };
    if (id == WS_CEILING_DRAM_READ || id == WS_CEILING_DRAM_WRITE || id == WS_CEILING_DRAM_COPY)
        return board->dram_bytes_per_s;
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        if (rates[i].ceiling == id)
            return board->rate[rates[i].rate];
    return ws_missing(WS_WHY_NOT_IN_SOURCE, NULL);
}

/* What micro-kernels measured, and how; the same rate as the report's roofs. */
static void put_measured(struct ws_json *j, const struct ws_session *s, size_t device, enum ws_ceiling_id id)
{
    struct ws_value rate = ws_ceiling_measured(&s->ceilings[device], id);
    const struct ws_ceiling_origin *origin = &s->ceiling_origins[device][id];
    put_number(j, "measured", rate);
    if (!ws_has(rate))
        ws_json_put_text(j, "why", ws_why_code((enum ws_why)rate.why));
    if (origin->measured_ns == 0)
        return;
    put_number(j, "clock_hz", s->ceilings[device].at[id].clock_hz);
    ws_json_put_text(j, "method", origin->method);
    ws_json_put_text(j, "statistic", "median");
    ws_json_put_text(j, "command", "warpsight ceilings");
    ws_report_json_time(j, "measured_at", origin->measured_ns);
}

static void put_sheet(struct ws_json *j, const struct ws_board *board, enum ws_ceiling_id id)
{
    struct ws_value rate = board ? sheet_of(board, id) : ws_missing(WS_WHY_NO_DEVICE, NULL);
    put_number(j, "sheet", rate);
    if (!ws_has(rate))
        ws_json_put_text(j, "sheet_why", ws_why_code((enum ws_why)rate.why));
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
        put_sheet(j, is_known ? &board : NULL, id);
        ws_json_end(j);
    }
    ws_json_end(j);
    ws_json_end(j);
}

static void put_points(struct ws_json *j, const struct ws_kernel *k, const struct ws_roofline *r)
{
    for (size_t i = 0; i < r->count; i++) {
        ws_json_object_line(j);
        ws_json_put_int(j, "kernel", k->row.id);
        ws_report_json_names(j, &k->name);
        ws_json_put_uint(j, "launches", k->launches);
        put_number(j, "duration", k->times.total);
        ws_report_json_point_members(j, &r->points[i]);
        ws_json_end(j);
    }
}

static void put_reason(struct ws_json *j, const struct ws_kernel *k, struct ws_value reason)
{
    ws_json_object_line(j);
    ws_json_put_int(j, "kernel", k->row.id);
    ws_report_json_names(j, &k->name);
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
            put_points(j, &s->kernels[i], &report->roofline);
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
