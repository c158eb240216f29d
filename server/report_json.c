/* SPDX-License-Identifier: MIT
 * report_json.c: `report --json`: one emitter per shared struct. Keys and nesting are the design's contract; the
 * HTTP API uses the same emitters. Order of members is fixed, so that two reports can be compared as text. */
#include "report.h"

#include "../analyzer/err.h"
#include "../analyzer/rules.h"
#include "../collector/budget.h"
#include "version.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- values --- */

static const char *unit_symbol(enum ws_metric_id id)
{
    return id < WS_METRIC_COUNT ? ws_unit_get(ws_metric_get(id)->unit)->symbol : "";
}

static void put_why(struct ws_json *j, struct ws_value value)
{
    ws_json_put_text(j, "why", ws_why_code((enum ws_why)value.why));
    if (value.input)
        ws_json_put_text(j, "needs", value.input);
}

void ws_report_json_value(struct ws_json *j, struct ws_value value, const char *unit, const struct ws_stat *stat)
{
    ws_json_object_line(j);
    if (!ws_has(value)) {
        ws_json_put_null(j, "value");
        put_why(j, value);
        ws_json_end(j);
        return;
    }
    ws_json_put_number(j, "value", value.number);
    ws_json_put_text(j, "unit", unit);
    if (stat && stat->count > 1 && stat->min != stat->max) {
        ws_json_put_number(j, "min", stat->min);
        ws_json_put_number(j, "max", stat->max);
        if (stat->squares > 0) {
            ws_json_put_uint(j, "launches", stat->count);
            ws_report_json_number(j, "deviation", ws_stat_deviation(stat));
        }
        if (stat->id != WS_M_duration && ws_stat_varies(stat)) /* times vary with the clocks */
            ws_json_put_bool(j, "varies", true);
    }
    if (value.grade != WS_GRADE_EXACT)
        ws_json_put_text(j, "grade", ws_grade_name((enum ws_grade)value.grade));
    if (value.origin != WS_ORIGIN_SESSION)
        ws_json_put_text(j, "origin", ws_origin_name((enum ws_origin)value.origin));
    ws_json_end(j);
}

void ws_report_json_number(struct ws_json *j, const char *key, struct ws_value value)
{
    if (ws_has(value))
        ws_json_put_number(j, key, value.number);
    else
        ws_json_put_null(j, key);
}

void ws_report_json_put_value(struct ws_json *j, const char *key, struct ws_value value, const char *unit)
{
    ws_json_key(j, key);
    ws_report_json_value(j, value, unit, NULL);
}

void ws_report_json_dim3(struct ws_json *j, const char *key, struct ws_dim3 d)
{
    ws_json_key(j, key);
    ws_json_array_line(j);
    ws_json_uint(j, d.x);
    ws_json_uint(j, d.y);
    ws_json_uint(j, d.z);
    ws_json_end(j);
}

/* --- session, devices, warnings --- */

/* The database's JSON array of texts, read and written anew: what stands there may have been edited. */
void ws_report_json_texts(struct ws_json *j, const char *key, const char *json)
{
    cJSON *tree = cJSON_Parse(json);
    const cJSON *item;
    ws_json_key(j, key);
    ws_json_array_line(j);
    cJSON_ArrayForEach(item, tree)
    {
        if (cJSON_IsString(item))
            ws_json_text(j, item->valuestring);
    }
    ws_json_end(j);
    cJSON_Delete(tree);
}

void ws_report_json_time(struct ws_json *j, const char *key, int64_t ns)
{
    char text[48];
    struct tm utc;
    time_t seconds = (time_t)(ns / 1000000000);
    size_t n;
    if (ns <= 0 || !gmtime_r(&seconds, &utc)) {
        ws_json_put_null(j, key);
        return;
    }
    n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text + n, sizeof text - n, ".%09" PRId64 "Z", ns % 1000000000);
    ws_json_put_text(j, key, text);
}

/* 13000 -> "13.0"; 0 = not known. */
static void put_cuda(struct ws_json *j, uint32_t version)
{
    char text[32];
    snprintf(text, sizeof text, "%u.%u", version / 1000, version % 1000 / 10);
    ws_json_put_text(j, "cuda", version ? text : NULL);
}

static void put_drivers(struct ws_json *j, const struct ws_process_row *first)
{
    ws_json_put_text(j, "driver", first && *first->driver_text ? first->driver_text : NULL);
    put_cuda(j, first ? first->driver_version : 0);
    if (first && first->cupti_version)
        ws_json_put_uint(j, "cupti", first->cupti_version);
    else
        ws_json_put_null(j, "cupti");
}

void ws_report_json_session_members(struct ws_json *j, const struct ws_session_row *row,
                                    const struct ws_session *session)
{
    ws_json_put_int(j, "id", row->id);
    ws_json_put_text(j, "name", row->name);
    ws_json_put_text(j, "source", row->source);
    ws_json_put_text(j, "exe", row->exe);
    ws_report_json_texts(j, "argv", row->argv);
    if (row->has_exit)
        ws_json_put_int(j, "exit_status", row->exit_status);
    else
        ws_json_put_null(j, "exit_status");
    ws_report_json_time(j, "started", row->started_ns);
    ws_json_put_text(j, "host", row->host);
    if (session)
        put_drivers(j, session->process_count > 0 ? &session->processes[0] : NULL);
}

void ws_report_json_session(struct ws_json *j, const struct ws_session_row *row, const struct ws_session *session)
{
    ws_json_object(j);
    ws_report_json_session_members(j, row, session);
    ws_json_end(j);
}

void ws_report_json_devices(struct ws_json *j, const struct ws_session *session)
{
    ws_json_array(j);
    for (size_t i = 0; i < session->device_count; i++) {
        const struct ws_device_row *d = &session->devices[i];
        char cc[32];
        snprintf(cc, sizeof cc, "%u.%u", d->device.cc_major, d->device.cc_minor);
        ws_json_object_line(j);
        ws_json_put_uint(j, "index", d->device.index);
        ws_json_put_text(j, "name", d->device.name);
        ws_json_put_text(j, "uuid", d->uuid);
        ws_json_put_text(j, "cc", cc);
        ws_json_put_uint(j, "sms", d->device.sms);
        ws_json_end(j);
    }
    ws_json_end(j);
}

void ws_report_json_warnings(struct ws_json *j, const struct ws_session *session)
{
    ws_json_array(j);
    for (size_t i = 0; i < session->warning_count; i++) {
        const struct ws_warning *w = &session->warnings[i];
        ws_json_object_line(j);
        ws_json_put_text(j, "code", w->code);
        ws_json_put_text(j, "message", w->message);
        ws_json_put_text(j, "remedy", w->remedy);
        ws_json_end(j);
    }
    ws_json_end(j);
}

/* --- one kernel --- */

static void put_times(struct ws_json *j, const struct ws_times *t)
{
    ws_json_key(j, "duration");
    ws_json_object_line(j);
    ws_report_json_number(j, "total", t->total);
    ws_report_json_number(j, "mean", t->mean);
    ws_report_json_number(j, "min", t->min);
    ws_report_json_number(j, "max", t->max);
    if (!ws_has(t->mean))
        put_why(j, t->mean);
    else if (t->mean.origin != WS_ORIGIN_SESSION)
        ws_json_put_text(j, "origin", ws_origin_name((enum ws_origin)t->mean.origin));
    ws_json_end(j);
}

static const struct ws_stat *find_stat(const struct ws_kernel *k, unsigned id)
{
    for (size_t i = 0; i < k->stat_count; i++)
        if (k->stats[i].id == id)
            return &k->stats[i];
    return NULL;
}

/* The spread of a metric belongs to its mean; the duration may come from other launches than the profiled. */
static const struct ws_stat *spread_of(const struct ws_kernel *k, unsigned id, const struct ws_report *report,
                                       struct ws_stat *duration)
{
    if (id != WS_M_duration || !ws_has(report->metric[id]) || !ws_has(k->times.min))
        return find_stat(k, id);
    *duration =
        (struct ws_stat){.id = WS_M_duration, .min = k->times.min.number, .max = k->times.max.number, .count = 2};
    return duration;
}

static void put_metrics(struct ws_json *j, const struct ws_kernel *k, const struct ws_report *report,
                        const bool *wanted)
{
    ws_json_key(j, "metrics");
    ws_json_object(j);
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++) {
        struct ws_stat duration;
        if (wanted && !wanted[i])
            continue;
        ws_json_key(j, ws_metric_get((enum ws_metric_id)i)->key);
        ws_report_json_value(j, report->metric[i], unit_symbol((enum ws_metric_id)i),
                             spread_of(k, i, report, &duration));
    }
    for (size_t i = 0; i < k->stat_count; i++) {
        if (k->stats[i].id < WS_METRIC_COUNT || wanted)
            continue;
        ws_json_key(j, k->stats[i].key);
        ws_report_json_value(j, k->stats[i].mean, "", &k->stats[i]);
    }
    ws_json_end(j);
}

static void put_limits(struct ws_json *j, const struct ws_occupancy *o)
{
    ws_json_key(j, "limits");
    ws_json_object_line(j);
    for (int i = 0; i < WS_OCC_LIMIT_COUNT; i++) {
        const char *name = ws_occ_limit_name((enum ws_occ_limit)i);
        /* The cluster is a limit only of launches that have one. */
        if (o->limit[i] != WS_OCC_NO_LIMIT)
            ws_json_put_uint(j, name, o->limit[i]);
        else if (i != WS_OCC_CLUSTER)
            ws_json_put_null(j, name);
    }
    ws_json_end(j);
}

static void put_occupancy(struct ws_json *j, const struct ws_report *report)
{
    const struct ws_occupancy *o = &report->occupancy;
    ws_json_key(j, "occupancy");
    ws_json_object(j);
    ws_report_json_number(j, "theoretical", o->theoretical);
    ws_report_json_number(j, "achieved", report->metric[WS_M_achieved_occupancy]);
    if (ws_has(o->theoretical)) {
        ws_json_put_uint(j, "blocks_per_sm", o->blocks_per_sm);
        ws_json_put_uint(j, "warps_per_sm", o->warps_per_sm);
        ws_json_put_text(j, "limiter", ws_occ_limit_name(o->limiter));
        put_limits(j, o);
    } else {
        put_why(j, o->theoretical);
    }
    ws_json_end(j);
}

void ws_report_json_point_members(struct ws_json *j, const struct ws_roof_point *p)
{
    ws_json_put_text(j, "level", ws_level_name(p->level));
    ws_json_put_text(j, "precision", ws_precision_name(p->precision));
    ws_report_json_number(j, "intensity", p->intensity);
    ws_report_json_number(j, "flop_rate", p->flop_rate);
    ws_report_json_number(j, "roof", p->measured.roof);
    ws_json_put_text(j, "roof_source",
                     ws_has(p->measured.roof) ? "measured" : ws_why_code((enum ws_why)p->measured.roof.why));
    ws_report_json_number(j, "percent", p->measured.percent);
    ws_json_put_text(j, "bound", ws_bound_name(p->measured.bound));
    ws_report_json_number(j, "ridge", p->measured.ridge);
    ws_json_put_bool(j, "above_roof", p->measured.is_above);
    ws_report_json_number(j, "sheet_roof", p->sheet.roof);
    ws_report_json_number(j, "sheet_percent", p->sheet.percent);
    ws_report_json_number(j, "sheet_ridge", p->sheet.ridge);
}

/* Also of kernels that compute nothing and so have no point. */
static void put_traffic(struct ws_json *j, const struct ws_roofline *r)
{
    ws_json_key(j, "traffic");
    ws_json_array(j);
    for (int i = 0; i < WS_LEVEL_COUNT; i++) {
        ws_json_object_line(j);
        ws_json_put_text(j, "level", ws_level_name((enum ws_level)i));
        ws_report_json_number(j, "bytes", r->traffic[i].bytes);
        ws_report_json_number(j, "rate", r->traffic[i].rate);
        ws_report_json_number(j, "ceiling", r->traffic[i].ceiling);
        ws_report_json_number(j, "percent", r->traffic[i].percent);
        ws_json_end(j);
    }
    ws_json_end(j);
}

static void put_roofline(struct ws_json *j, const struct ws_roofline *r)
{
    ws_json_key(j, "roofline");
    ws_json_object(j);
    ws_json_key(j, "points");
    ws_json_array(j);
    for (size_t i = 0; i < r->count; i++) {
        ws_json_object_line(j);
        ws_report_json_point_members(j, &r->points[i]);
        ws_json_end(j);
    }
    ws_json_end(j);
    if (r->count == 0)
        put_why(j, r->reason);
    put_traffic(j, r);
    ws_json_end(j);
}

/* The bar of stalls adds to 1; selected and not_selected are shares of all warp-cycles. */
static void put_stalls(struct ws_json *j, const struct ws_stall_bar *bar)
{
    struct ws_stall row;
    ws_json_key(j, "stalls");
    ws_json_object(j);
    ws_json_put_text(j, "method", "issue-slot counters");
    ws_report_json_number(j, "warp_cycles", bar->stalled);
    if (!ws_has(bar->stalled))
        put_why(j, bar->stalled);
    ws_json_put_bool(j, "advises", bar->advises);
    ws_json_key(j, "shares");
    ws_json_object_line(j);
    for (int i = 0; i < WS_STALL_COUNT; i++) {
        ws_stalls_get((enum ws_stall_id)i, &row);
        if (row.is_stall)
            ws_report_json_number(j, row.reason, bar->share[i]);
    }
    ws_json_end(j);
    ws_report_json_number(j, "selected", bar->of_all[WS_STALL_selected]);
    ws_report_json_number(j, "not_selected", bar->of_all[WS_STALL_not_selected]);
    ws_json_end(j);
}

void ws_report_json_samples_members(struct ws_json *j, const struct ws_samples *samples)
{
    struct ws_stall_bar bar;
    struct ws_stall row;
    ws_stalls_of_samples(samples, &bar);
    ws_json_put_text(j, "method", "PC samples");
    ws_json_put_uint(j, "samples", ws_samples_all(samples));
    ws_json_put_uint(j, "not_issued", ws_samples_not_issued(samples));
    ws_json_put_uint(j, "unnamed", samples->unnamed);
    ws_json_key(j, "shares");
    ws_json_object_line(j);
    for (int i = 0; i < WS_STALL_COUNT; i++) {
        ws_stalls_get((enum ws_stall_id)i, &row);
        if (row.is_stall)
            ws_report_json_number(j, row.reason, bar.share[i]);
    }
    ws_json_end(j);
    ws_report_json_number(j, "selected", bar.of_all[WS_STALL_selected]);
    ws_report_json_number(j, "not_selected", bar.of_all[WS_STALL_not_selected]);
}

/* Only where there are any. */
static void put_pc_samples(struct ws_json *j, const struct ws_samples *samples)
{
    if (!samples)
        return;
    ws_json_key(j, "pc_samples");
    ws_json_object(j);
    ws_report_json_samples_members(j, samples);
    ws_json_end(j);
}

void ws_report_json_sampling(struct ws_json *j, const struct ws_session *session)
{
    const struct ws_pc_totals *t = &session->sampling;
    if (!t->is_there)
        return;
    ws_json_key(j, "pc_sampling");
    ws_json_object_line(j);
    ws_json_put_text(j, "method", "PC samples");
    ws_json_put_uint(j, "period_log2", t->period_least);
    ws_json_put_uint(j, "period_log2_most", t->period_most);
    ws_json_put_uint(j, "samples", t->samples);
    ws_json_put_uint(j, "other_kernels", t->other);
    ws_json_put_uint(j, "dropped", t->dropped);
    ws_json_put_uint(j, "without_kernel", t->without_kernel);
    ws_json_end(j);
}

/* Rules that could not run, and what they lack; rules that left the word to another one. */
static void put_skipped(struct ws_json *j, const struct ws_findings *findings)
{
    ws_json_key(j, "skipped");
    ws_json_array(j);
    for (size_t i = 0; i < findings->skipped_count; i++) {
        const struct ws_rule_skip *s = &findings->skipped[i];
        ws_json_object_line(j);
        ws_json_put_text(j, "rule", s->rule->id);
        if (s->yielded_to) {
            ws_json_put_text(j, "yielded_to", s->yielded_to->id);
        } else {
            ws_json_put_text(j, "missing", s->missing.input);
            ws_json_put_text(j, "why", ws_why_code((enum ws_why)s->missing.why));
        }
        ws_json_end(j);
    }
    ws_json_end(j);
}

void ws_report_json_findings(struct ws_json *j, const struct ws_findings *findings)
{
    ws_json_array(j);
    for (size_t i = 0; i < findings->count; i++) {
        const struct ws_finding *f = &findings->item[i];
        ws_json_object(j);
        ws_json_put_text(j, "rule", f->rule->id);
        ws_json_put_text(j, "severity", ws_severity_name(f->severity));
        ws_report_json_number(j, "gain", f->gain);
        if (!ws_has(f->gain))
            put_why(j, f->gain);
        ws_json_put_text(j, "text", f->text);
        ws_json_key(j, "evidence");
        ws_json_object_line(j);
        for (size_t e = 0; e < f->evidence_count; e++)
            ws_json_put_number(j, f->evidence[e].key, f->evidence[e].number);
        ws_json_end(j);
        ws_json_end(j);
    }
    ws_json_end(j);
}

/* A quantity that only an activity record tells. */
static void put_attribute(struct ws_json *j, const char *key, const struct ws_kernel *k, uint32_t v)
{
    if (k->row.has_attributes)
        ws_json_put_uint(j, key, v);
    else
        ws_json_put_null(j, key);
}

void ws_report_json_names(struct ws_json *j, const struct ws_name *name)
{
    ws_json_put_text(j, "name", name->alias);
    ws_json_put_text(j, "demangled", name->demangled);
    ws_json_put_text(j, "function", name->base);
    ws_json_put_text(j, "hash", name->hash);
}

void ws_report_json_sampled(struct ws_json *j, const struct ws_kernel *k)
{
    if (!ws_has(k->sampled_blocks))
        return;
    ws_json_key(j, "sampled");
    ws_json_object_line(j);
    ws_json_put_number(j, "blocks", k->sampled_blocks.number);
    ws_json_put_uint(j, "of", ws_report_blocks(k));
    if (ws_has(k->sampled_interval))
        ws_json_put_number(j, "interval", k->sampled_interval.number);
    ws_json_end(j);
}

/* Only where the collector said so. */
static void put_counting(struct ws_json *j, const struct ws_counting *c)
{
    static const char *const modes[WS_MODE_COUNT] = {"replay", "rotate", "none"};
    if (!c->is_known)
        return;
    ws_json_key(j, "counting");
    ws_json_object_line(j);
    ws_json_put_text(j, "mode", c->mode < WS_MODE_COUNT ? modes[c->mode] : "unknown");
    ws_json_put_text(j, "reason", ws_reason_code(c->reason));
    ws_json_put_text(j, "text", ws_reason_text(c->reason));
    ws_json_put_uint(j, "passes", c->passes);
    if (c->footprint_bytes > 0)
        ws_json_put_uint(j, "footprint_bytes", c->footprint_bytes);
    else
        ws_json_put_null(j, "footprint_bytes");
    ws_json_put_number(j, "predicted", c->predicted_s);
    ws_json_put_bool(j, "budget_refused", c->is_refused);
    ws_json_end(j);
}

/* Counts of the kernel's own instructions that differ from launch to launch: only where there are any. */
static void put_varies(struct ws_json *j, const struct ws_kernel *k)
{
    bool any = false;
    for (size_t i = 0; i < k->stat_count; i++) {
        if (!ws_stat_is_work(&k->stats[i]) || !ws_stat_varies(&k->stats[i]))
            continue;
        if (!any) {
            ws_json_key(j, "varies");
            ws_json_array_line(j);
        }
        any = true;
        ws_json_text(j, k->stats[i].key);
    }
    if (any)
        ws_json_end(j);
}

/* What counting cost in all; only where the collector said so. */
static void put_counting_cost(struct ws_json *j, const struct ws_counting_cost *c)
{
    if (!c->is_known)
        return;
    ws_json_key(j, "counting");
    ws_json_object_line(j);
    if (c->limit_s > 0)
        ws_json_put_number(j, "budget", c->limit_s);
    else
        ws_json_put_null(j, "budget");
    if (c->overhead > 0)
        ws_json_put_number(j, "max_overhead", c->overhead);
    else
        ws_json_put_null(j, "max_overhead");
    ws_json_put_number(j, "spent", c->spent_s);
    ws_json_put_number(j, "setup", c->setup_s);
    ws_json_put_number(j, "predicted", c->predicted_s);
    ws_json_put_number(j, "part", c->part);
    ws_json_put_uint(j, "launches", c->launches);
    ws_json_put_uint(j, "kernels_refused", c->refused);
    ws_json_put_uint(j, "kernels_empty", c->empty);
    ws_json_end(j);
}

void ws_report_json_kernel(struct ws_json *j, const struct ws_session *session, size_t kernel,
                           const struct ws_report *report, const bool *wanted)
{
    const struct ws_kernel *k = &session->kernels[kernel];
    ws_json_object(j);
    ws_json_put_int(j, "id", k->row.id);
    ws_json_put_text(j, "name", k->name.alias);
    ws_json_put_text(j, "demangled", k->name.demangled);
    ws_json_put_text(j, "mangled", k->name.mangled);
    ws_json_put_text(j, "hash", k->name.hash);
    ws_report_json_dim3(j, "grid", k->row.launch.grid);
    ws_report_json_dim3(j, "block", k->row.launch.block);
    put_attribute(j, "regs_per_thread", k, k->row.launch.regs_per_thread);
    put_attribute(j, "static_smem_bytes", k, k->row.launch.static_smem_bytes);
    ws_json_put_uint(j, "dynamic_smem_bytes", k->row.launch.dynamic_smem_bytes);
    ws_json_put_uint(j, "launches", k->launches);
    ws_json_put_uint(j, "profiled_launches", k->profiled);
    ws_report_json_sampled(j, k);
    put_counting(j, &k->counting);
    put_varies(j, k);
    put_times(j, &k->times);
    put_metrics(j, k, report, wanted);
    put_occupancy(j, report);
    put_roofline(j, &report->roofline);
    put_stalls(j, &report->stalls);
    put_pc_samples(j, k->samples);
    ws_json_key(j, "findings");
    ws_report_json_findings(j, &report->findings);
    put_skipped(j, &report->findings);
    ws_json_end(j);
}

/* --- all together --- */

int ws_report_json(const struct ws_session *session, struct ws_json *j)
{
    struct ws_report *report = malloc(sizeof *report);
    if (!report)
        return -WS_ENOMEM;
    ws_json_object(j);
    ws_json_key(j, "warpsight");
    ws_json_object_line(j);
    ws_json_put_text(j, "version", WS_VERSION);
    ws_json_end(j);
    ws_json_key(j, "session");
    ws_report_json_session(j, &session->row, session);
    ws_json_key(j, "devices");
    ws_report_json_devices(j, session);
    ws_json_key(j, "warnings");
    ws_report_json_warnings(j, session);
    put_counting_cost(j, &session->counting);
    ws_report_json_sampling(j, session);
    ws_json_key(j, "kernels");
    ws_json_array(j);
    for (size_t i = 0; i < session->kernel_count; i++) {
        ws_report_analyze(session, i, report);
        ws_report_json_kernel(j, session, i, report, NULL);
    }
    ws_json_end(j);
    ws_json_key(j, "findings");
    ws_report_json_findings(j, session->timeline);
    put_skipped(j, session->timeline);
    if (session->pm)
        ws_pm_facts_json(j, session->pm);
    ws_json_end(j);
    free(report);
    return 0;
}
