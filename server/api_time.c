/* SPDX-License-Identifier: MIT
 * api_time.c: where the time of a session went: the facts of its timeline, the bill made of them, and the model of
 * analyzer/timebill.h with this device's own link and DRAM. */
#include "../analyzer/err.h"
#include "../analyzer/gpus.h"
#include "../analyzer/timebill.h"
#include "api.h"
#include "session_cache.h"

/* A rate of the model, and whose word it is. */
struct rate {
    struct ws_value value;
    const char *source; /* "measured", "data sheet", "device"; NULL: none */
};

/* The device that the facts are about; NULL when there is none. */
static const struct ws_device_row *device_of(const struct ws_session *s, size_t *index)
{
    for (size_t i = 0; i < s->device_count; i++)
        if (s->facts->process != 0 && s->devices[i].device.index == s->facts->device) {
            *index = i;
            return &s->devices[i];
        }
    return NULL;
}

static struct rate dram_rate(const struct ws_session *s)
{
    size_t i = 0;
    const struct ws_device_row *d = device_of(s, &i);
    struct rate r = {ws_missing(WS_WHY_NO_DEVICE, NULL), NULL};
    struct ws_board board;
    if (!d)
        return r;
    r.value = ws_ceiling_bandwidth(&s->ceilings[i], WS_LEVEL_DRAM);
    r.source = ws_has(r.value) ? "measured" : NULL;
    if (!r.source && ws_gpus_board(d->device.name, &board) == 0 && ws_has(board.dram_bytes_per_s)) {
        r.value = board.dram_bytes_per_s;
        r.source = "data sheet";
    }
    return r;
}

static struct rate link_rate(const struct ws_session *s)
{
    size_t i;
    const struct ws_device_row *d = device_of(s, &i);
    struct rate r = {s->facts->value[WS_T_link_rate], NULL};
    if (ws_has(r.value))
        r.source = d && d->device.pcie_bytes_per_s > 0 ? "device" : "data sheet";
    return r;
}

static void put_rate(struct ws_json *j, const char *key, struct rate r)
{
    ws_json_key(j, key);
    ws_json_object_line(j);
    ws_report_json_put_value(j, "rate", r.value, "B/s");
    ws_json_put_text(j, "source", r.source);
    ws_json_end(j);
}

static void put_bill(struct ws_json *j, const struct ws_time_bill *b)
{
    ws_json_key(j, "bill");
    ws_json_object(j);
    ws_report_json_put_value(j, "window", b->window, "s");
    ws_json_key(j, "parts");
    ws_json_array(j);
    for (int i = 0; i < WS_BILL_PART_COUNT; i++) {
        ws_json_object_line(j);
        ws_json_put_text(j, "key", ws_bill_part_key((enum ws_bill_part_id)i));
        ws_json_put_text(j, "title", ws_bill_part_title((enum ws_bill_part_id)i));
        ws_report_json_put_value(j, "time", b->part[i].seconds, "s");
        ws_report_json_put_value(j, "share", b->part[i].share, "ratio");
        ws_json_end(j);
    }
    ws_json_end(j);
    ws_report_json_put_value(j, "copy_share", b->copy_share, "ratio");
    ws_json_put_bool(j, "copy_bound", b->is_copy_bound);
    ws_json_end(j);
}

static void put_model(struct ws_json *j, const struct ws_time_bill *b)
{
    ws_json_key(j, "model");
    ws_json_array(j);
    for (int i = 0; i < WS_BILL_MODEL_COUNT; i++) {
        ws_json_object_line(j);
        ws_json_put_text(j, "key", ws_bill_model_key((enum ws_bill_model_id)i));
        ws_json_put_text(j, "title", ws_bill_model_title((enum ws_bill_model_id)i));
        ws_json_put_text(j, "formula", ws_bill_model_text((enum ws_bill_model_id)i));
        ws_report_json_put_value(j, "measured", b->model[i].measured, "s");
        ws_report_json_put_value(j, "modelled", b->model[i].modelled, "s");
        ws_report_json_put_value(j, "ratio", b->model[i].ratio, "");
        ws_json_end(j);
    }
    ws_json_end(j);
}

static void put_facts(struct ws_json *j, const struct ws_timeline_facts *facts)
{
    ws_json_key(j, "facts");
    ws_json_object(j);
    for (int i = 0; i < WS_TIMELINE_COUNT; i++)
        ws_report_json_put_value(j, ws_timeline_key((enum ws_timeline_id)i), facts->value[i],
                                 ws_timeline_unit((enum ws_timeline_id)i));
    ws_json_end(j);
}

void ws_api_put_time(struct ws_json *j, const struct ws_session *s)
{
    struct rate dram = dram_rate(s);
    struct rate link = link_rate(s);
    struct ws_bill_rates rates = {link.value, dram.value};
    struct ws_time_bill bill;
    ws_time_bill(s->facts, &rates, &bill);
    ws_json_object(j);
    ws_json_put_int(j, "session", s->row.id);
    if (s->facts->process != 0) {
        ws_json_put_int(j, "process", s->facts->process);
        ws_json_put_uint(j, "device", s->facts->device);
    } else {
        ws_json_put_null(j, "process");
        ws_json_put_null(j, "device");
    }
    put_bill(j, &bill);
    put_model(j, &bill);
    ws_json_key(j, "rates");
    ws_json_object(j);
    put_rate(j, "link", link);
    put_rate(j, "dram", dram);
    ws_json_end(j);
    put_facts(j, s->facts);
    ws_json_end(j);
}

void ws_api_time(struct ws_call *call)
{
    const struct ws_cached *c;
    if (ws_call_unchanged(call) || !ws_call_whole_session(call, call->request->ids[0], &c))
        return;
    ws_api_put_time(ws_call_json(call), c->session);
    ws_session_cache_give(c);
}
