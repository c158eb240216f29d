/* SPDX-License-Identifier: MIT
 * compare_json.c: a pair of compare.h as JSON: the same for GET /compare and `warpsight diff --json`. */
#include "../analyzer/rules.h"
#include "compare.h"

static void put_change(struct ws_json *j, struct ws_value base, struct ws_value target)
{
    bool both = ws_has(base) && ws_has(target);
    if (both)
        ws_json_put_number(j, "delta", target.number - base.number);
    else
        ws_json_put_null(j, "delta");
    if (both && base.number != 0)
        ws_json_put_number(j, "percent", (target.number - base.number) / base.number);
    else
        ws_json_put_null(j, "percent");
}

static void put_duration(struct ws_json *j, const struct ws_comparison *c, const struct ws_pair *p)
{
    ws_json_key(j, "duration");
    ws_json_object_line(j);
    ws_report_json_number(j, "base", ws_compare_median(c, p, false));
    ws_report_json_number(j, "target", ws_compare_median(c, p, true));
    ws_report_json_number(j, "delta", p->duration.delta);
    ws_report_json_number(j, "percent", p->duration.percent);
    ws_report_json_number(j, "noise", p->duration.noise);
    ws_json_put_text(j, "trend", p->is_mixed_clock ? "two-clocks" : ws_trend_name(p->duration.trend));
    ws_json_end(j);
}

/* Of all launches together: what a change weighs. */
static void put_total(struct ws_json *j, const struct ws_comparison *c, const struct ws_pair *p)
{
    struct ws_value missing = ws_missing(WS_WHY_NO_LAUNCH, NULL);
    ws_json_key(j, "total");
    ws_json_object_line(j);
    ws_report_json_number(j, "base",
                          p->base == WS_COMPARE_NONE ? missing : c->base->session->kernels[p->base].times.total);
    ws_report_json_number(j, "target",
                          p->target == WS_COMPARE_NONE ? missing : c->target->session->kernels[p->target].times.total);
    ws_json_end(j);
}

static void put_metrics(struct ws_json *j, const struct ws_comparison *c, const struct ws_pair *p, const bool *wanted)
{
    ws_json_key(j, "metrics");
    ws_json_object(j);
    for (int i = 0; i < WS_METRIC_COUNT; i++) {
        const struct ws_metric *m = ws_metric_get((enum ws_metric_id)i);
        struct ws_value base = ws_compare_metric(c, p, false, (enum ws_metric_id)i);
        struct ws_value target = ws_compare_metric(c, p, true, (enum ws_metric_id)i);
        if (wanted && !wanted[i])
            continue;
        ws_json_key(j, m->key);
        ws_json_object(j);
        ws_json_key(j, "base");
        ws_report_json_value(j, base, ws_unit_get(m->unit)->symbol, NULL);
        ws_json_key(j, "target");
        ws_report_json_value(j, target, ws_unit_get(m->unit)->symbol, NULL);
        put_change(j, base, target);
        ws_json_end(j);
    }
    ws_json_end(j);
}

static void put_rules(struct ws_json *j, const char *key, uint64_t rules)
{
    ws_json_key(j, key);
    ws_json_array_line(j);
    for (size_t i = 0; i < ws_rules_count() && i < 64; i++)
        if (rules & 1ull << i)
            ws_json_text(j, ws_rules_get(i)->id);
    ws_json_end(j);
}

static void put_findings(struct ws_json *j, struct ws_findings_change f)
{
    ws_json_key(j, "findings");
    ws_json_object(j);
    put_rules(j, "appeared", f.appeared);
    put_rules(j, "gone", f.gone);
    put_rules(j, "stayed", f.stayed);
    put_rules(j, "not_judged", f.not_judged);
    ws_json_end(j);
}

static void put_side(struct ws_json *j, const char *key, const struct ws_cached *c, size_t kernel)
{
    if (kernel == WS_COMPARE_NONE)
        ws_json_put_null(j, key);
    else
        ws_json_put_int(j, key, c->session->kernels[kernel].row.id);
}

void ws_compare_json_pair(struct ws_json *j, const struct ws_comparison *c, const struct ws_pair *p, const bool *wanted)
{
    const struct ws_kernel *k = ws_compare_kernel(c, p);
    ws_report_json_names(j, &k->name);
    ws_report_json_dim3(j, "grid", k->row.launch.grid);
    ws_report_json_dim3(j, "block", k->row.launch.block);
    ws_json_put_uint(j, "dynamic_smem_bytes", k->row.launch.dynamic_smem_bytes);
    put_side(j, "base", c->base, p->base);
    put_side(j, "target", c->target, p->target);
    put_duration(j, c, p);
    put_total(j, c, p);
    ws_report_json_number(j, "impact", p->impact);
    put_metrics(j, c, p, wanted);
    put_findings(j, ws_compare_findings(c, p));
}
