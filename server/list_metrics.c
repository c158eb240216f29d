/* SPDX-License-Identifier: MIT
 * list_metrics.c: `warpsight list metrics` and `warpsight list timeline-metrics`: the catalogues of metrics.def and
 * pm_metrics.def. */
#include "../analyzer/metrics.h"
#include "../analyzer/pm_metrics.h"
#include "cli.h"
#include "json.h"
#include "lists.h"
#include "text.h"

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static void print_json(void)
{
    struct ws_json j = {.out = stdout, .pretty = true};
    ws_json_object(&j);
    ws_json_key(&j, "metrics");
    ws_json_array(&j);
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++) {
        const struct ws_metric *m = ws_metric_get((enum ws_metric_id)i);
        ws_json_object(&j);
        ws_json_put_text(&j, "key", m->key);
        ws_json_put_text(&j, "title", m->title);
        ws_json_put_text(&j, "unit", ws_unit_get(m->unit)->symbol);
        ws_json_put_text(&j, "doc", or_empty(m->doc));
        ws_json_put_text(&j, "source", or_empty(m->source));
        ws_json_put_text(&j, "formula", or_empty(m->formula));
        ws_json_put_text(&j, "cupti", or_empty(m->cupti));
        /* What a program needs to ask another profiler for the same: the set, and CUPTI's value times scale = ours. */
        ws_json_put_text(&j, "set", m->kind == WS_KIND_RAW ? ws_set_name(m->set) : "");
        ws_json_put_number(&j, "scale", m->kind == WS_KIND_RAW ? m->scale : 1.0);
        ws_json_end(&j);
    }
    ws_json_end(&j);
    ws_json_end(&j);
}

int ws_list_metrics(bool as_json)
{
    struct ws_text_out t;
    struct ws_table table;
    if (as_json) {
        print_json();
        return WS_EXIT_OK;
    }
    ws_text_init(&t, stdout);
    ws_table_init(&table, "llll");
    ws_table_add(&table, "metric");
    ws_table_add(&table, "unit");
    ws_table_add(&table, "set");
    ws_table_add(&table, "what");
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++) {
        const struct ws_metric *m = ws_metric_get((enum ws_metric_id)i);
        ws_table_add(&table, m->key);
        ws_table_add(&table, ws_unit_get(m->unit)->symbol);
        ws_table_add(&table, m->kind == WS_KIND_RAW ? ws_set_name(m->set) : "derived");
        ws_table_add(&table, m->title);
    }
    ws_table_print(&table, &t);
    return WS_EXIT_OK;
}

static void print_samples_json(void)
{
    struct ws_json j = {.out = stdout, .pretty = true};
    ws_json_object(&j);
    ws_json_key(&j, "timeline-metrics");
    ws_json_array(&j);
    for (unsigned i = 0; i < WS_PM_COUNT; i++) {
        const struct ws_pm_metric *m = ws_pm_get((enum ws_pm_id)i);
        ws_json_object(&j);
        ws_json_put_text(&j, "key", m->key);
        ws_json_put_text(&j, "title", m->title);
        ws_json_put_text(&j, "unit", ws_unit_get(m->unit)->symbol);
        ws_json_put_text(&j, "doc", m->doc);
        ws_json_put_text(&j, "cupti", m->cupti);
        ws_json_put_text(&j, "dcgm", m->dcgm);
        ws_json_end(&j);
    }
    ws_json_end(&j);
    ws_json_end(&j);
}

int ws_list_timeline_metrics(bool as_json)
{
    struct ws_text_out t;
    struct ws_table table;
    if (as_json) {
        print_samples_json();
        return WS_EXIT_OK;
    }
    ws_text_init(&t, stdout);
    ws_table_init(&table, "lll");
    ws_table_add(&table, "metric");
    ws_table_add(&table, "unit");
    ws_table_add(&table, "what");
    for (unsigned i = 0; i < WS_PM_COUNT; i++) {
        const struct ws_pm_metric *m = ws_pm_get((enum ws_pm_id)i);
        ws_table_add(&table, m->key);
        ws_table_add(&table, ws_unit_get(m->unit)->symbol);
        ws_table_add(&table, m->title);
    }
    ws_table_print(&table, &t);
    return WS_EXIT_OK;
}
