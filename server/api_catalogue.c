/* SPDX-License-Identifier: MIT
 * api_catalogue.c: the analyzer's tables as JSON, so that the page has no copy of any of them: metrics,
 * units, rules, GPUs, boards, stall reasons, timeline facts, ceilings, reasons for missing values, what counters cannot
 * show, reference kernels. */
#include "../analyzer/cards.h"
#include "../analyzer/gpus.h"
#include "../analyzer/metrics.h"
#include "../analyzer/roofline.h"
#include "../analyzer/rules.h"
#include "../analyzer/stalls.h"
#include "../analyzer/timeline.h"
#include "../analyzer/units.h"
#include "api.h"
#include "export.h"
#include "verify.h"

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

static void put_metrics(struct ws_json *j)
{
    static const char *const kinds[] = {"raw", "formula", "model"};
    ws_json_key(j, "metrics");
    ws_json_array(j);
    for (int i = 0; i < WS_METRIC_COUNT; i++) {
        const struct ws_metric *m = ws_metric_get((enum ws_metric_id)i);
        ws_json_object(j);
        ws_json_put_text(j, "key", m->key);
        ws_json_put_text(j, "title", m->title);
        ws_json_put_text(j, "unit", ws_unit_get(m->unit)->symbol);
        ws_json_put_text(j, "kind", kinds[m->kind]);
        ws_json_put_text(j, "set", m->kind == WS_KIND_RAW ? ws_set_name(m->set) : "");
        ws_json_put_text(j, "doc", text_or_empty(m->doc));
        ws_json_put_text(j, "source", text_or_empty(m->source));
        ws_json_put_text(j, "formula", text_or_empty(m->formula));
        ws_json_put_text(j, "cupti", text_or_empty(m->cupti));
        ws_json_end(j);
    }
    ws_json_end(j);
}

static void put_units(struct ws_json *j)
{
    ws_json_key(j, "units");
    ws_json_array(j);
    for (int i = 0; i < WS_UNIT_COUNT; i++) {
        const struct ws_unit_info *u = ws_unit_get((enum ws_unit)i);
        ws_json_object_line(j);
        ws_json_put_text(j, "symbol", u->symbol);
        ws_json_put_text(j, "title", u->title);
        ws_json_put_text(j, "people", u->people);
        ws_json_put_text(j, "scale", ws_scale_name(u->scale));
        ws_json_end(j);
    }
    ws_json_end(j);
}

static void put_rules(struct ws_json *j)
{
    ws_json_key(j, "rules");
    ws_json_array(j);
    for (size_t i = 0; i < ws_rules_count(); i++) {
        const struct ws_rule *r = ws_rules_get(i);
        ws_json_object(j);
        ws_json_put_text(j, "id", r->id);
        ws_json_put_text(j, "title", r->title);
        ws_json_put_text(j, "scope", r->scope == WS_RULE_KERNEL ? "kernel" : "timeline");
        ws_json_put_text(j, "condition", text_or_empty(r->condition));
        ws_json_put_text(j, "why", text_or_empty(r->why));
        ws_json_put_text(j, "advice", text_or_empty(r->advice));
        ws_json_put_text(j, "formula", text_or_empty(r->formula));
        ws_json_put_text(j, "when_not", text_or_empty(r->when_not));
        ws_json_put_text(j, "source", text_or_empty(r->source));
        ws_json_put_text(j, "bad", text_or_empty(r->bad));
        ws_json_put_text(j, "good", text_or_empty(r->good));
        ws_json_end(j);
    }
    ws_json_end(j);
}

static void put_limits(struct ws_json *j)
{
    size_t count;
    const struct ws_limits *all = ws_gpus_limits_all(&count);
    ws_json_key(j, "limits");
    ws_json_array(j);
    for (size_t i = 0; i < count; i++)
        ws_api_put_limits(j, &all[i]);
    ws_json_end(j);
}

static void put_known(struct ws_json *j, const char *key, struct ws_value v)
{
    if (ws_has(v))
        ws_json_put_number(j, key, v.number);
    else
        ws_json_put_null(j, key);
}

static void put_boards(struct ws_json *j)
{
    static const char *const rates[WS_RATE_COUNT] = {
        [WS_RATE_FP64] = "fp64",
        [WS_RATE_FP32] = "fp32",
        [WS_RATE_FP16] = "fp16",
        [WS_RATE_TENSOR_FP64] = "tensor_fp64",
        [WS_RATE_TENSOR_TF32] = "tensor_tf32",
        [WS_RATE_TENSOR_FP16_FP16] = "tensor_fp16_acc16",
        [WS_RATE_TENSOR_FP16_FP32] = "tensor_fp16",
        [WS_RATE_TENSOR_BF16] = "tensor_bf16",
        [WS_RATE_TENSOR_FP8] = "tensor_fp8",
        [WS_RATE_TENSOR_INT8] = "tensor_int8",
    };
    ws_json_key(j, "boards");
    ws_json_array(j);
    for (size_t i = 0; i < ws_gpus_board_count(); i++) {
        struct ws_board b;
        char cc[24];
        ws_gpus_board_at(i, &b);
        snprintf(cc, sizeof cc, "%u.%u", (unsigned)b.cc_major, (unsigned)b.cc_minor);
        ws_json_object(j);
        ws_json_put_text(j, "names", b.names);
        ws_json_put_text(j, "cc", cc);
        ws_json_put_uint(j, "sms", b.sms);
        put_known(j, "boost_clock_hz", b.boost_clock_hz);
        put_known(j, "dram_bytes_per_s", b.dram_bytes_per_s);
        put_known(j, "l2_bytes", b.l2_bytes);
        put_known(j, "link_bytes_per_s", b.link_bytes_per_s);
        ws_json_key(j, "rates");
        ws_json_object(j);
        for (int k = 0; k < WS_RATE_COUNT; k++)
            put_known(j, rates[k], b.rate[k]);
        ws_json_end(j);
        ws_json_put_text(j, "source", text_or_empty(b.source));
        ws_json_end(j);
    }
    ws_json_end(j);
}

static void put_stalls(struct ws_json *j)
{
    ws_json_key(j, "stalls");
    ws_json_array(j);
    for (int i = 0; i < WS_STALL_COUNT; i++) {
        struct ws_stall s;
        ws_stalls_get((enum ws_stall_id)i, &s);
        ws_json_object(j);
        ws_json_put_text(j, "reason", s.reason);
        ws_json_put_text(j, "key", ws_metric_get(s.metric)->key);
        ws_json_put_text(j, "title", ws_metric_get(s.metric)->title);
        ws_json_put_bool(j, "is_stall", s.is_stall);
        ws_json_put_text(j, "doc", text_or_empty(s.meaning));
        ws_json_put_text(j, "remedy", text_or_empty(s.remedy));
        ws_json_put_text(j, "applies", text_or_empty(s.applies));
        ws_json_end(j);
    }
    ws_json_end(j);
}

static void put_small_tables(struct ws_json *j)
{
    ws_json_key(j, "timeline");
    ws_json_array(j);
    for (int i = 0; i < WS_TIMELINE_COUNT; i++) {
        ws_json_object_line(j);
        ws_json_put_text(j, "key", ws_timeline_key((enum ws_timeline_id)i));
        ws_json_put_text(j, "unit", ws_timeline_unit((enum ws_timeline_id)i));
        ws_json_put_text(j, "what", ws_timeline_what((enum ws_timeline_id)i));
        ws_json_end(j);
    }
    ws_json_end(j);
    ws_json_key(j, "ceilings");
    ws_json_array(j);
    for (int i = 0; i < WS_CEILING_COUNT; i++) {
        ws_json_object_line(j);
        ws_json_put_text(j, "key", ws_ceiling_key((enum ws_ceiling_id)i));
        ws_json_put_text(j, "unit", ws_ceiling_unit((enum ws_ceiling_id)i));
        ws_json_put_text(j, "title", ws_ceiling_title((enum ws_ceiling_id)i));
        ws_json_end(j);
    }
    ws_json_end(j);
    ws_json_key(j, "reasons");
    ws_json_array(j);
    for (int i = WS_WHY_PRESENT + 1; i < WS_WHY_COUNT; i++) {
        ws_json_object_line(j);
        ws_json_put_text(j, "code", ws_why_code((enum ws_why)i));
        ws_json_put_text(j, "text", ws_why_text((enum ws_why)i));
        ws_json_end(j);
    }
    ws_json_end(j);
}

static void put_cards(struct ws_json *j)
{
    ws_json_key(j, "cards");
    ws_json_array(j);
    for (size_t i = 0; i < ws_cards_count(); i++) {
        const struct ws_card *c = ws_cards_get(i);
        ws_json_object(j);
        ws_json_put_text(j, "id", c->id);
        ws_json_put_text(j, "title", c->title);
        ws_json_put_text(j, "cannot", c->cannot);
        ws_json_put_text(j, "instead", c->instead);
        ws_json_put_text(j, "tool", c->tool);
        ws_json_put_text(j, "command", c->command);
        ws_json_put_text(j, "source", c->source);
        ws_json_end(j);
    }
    ws_json_end(j);
}

static void put_formats(struct ws_json *j)
{
    size_t count;
    const struct ws_format *formats = ws_export_formats(&count);
    ws_json_key(j, "formats");
    ws_json_array_line(j);
    for (size_t i = 0; i < count; i++)
        ws_json_text(j, formats[i].name);
    ws_json_end(j);
}

void ws_api_put_catalogue(struct ws_json *j)
{
    ws_json_object(j);
    put_metrics(j);
    put_units(j);
    put_rules(j);
    put_limits(j);
    put_boards(j);
    put_stalls(j);
    put_small_tables(j);
    put_formats(j);
    put_cards(j);
    ws_json_key(j, "kernels");
    ws_verify_json_files(j);
    ws_json_end(j);
}

void ws_api_catalogue(struct ws_call *call)
{
    if (!ws_call_unchanged(call))
        ws_api_put_catalogue(ws_call_json(call));
}
