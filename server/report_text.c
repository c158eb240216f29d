/* SPDX-License-Identifier: MIT
 * report_text.c: the report for a terminal: kernels by time, what each does, what to change, what is missing.
 * Every number is shown with its unit by units.def; a missing one shows its reason. */
#include "report.h"

#include "../analyzer/err.h"
#include "../analyzer/rules.h"
#include "../collector/budget.h"
#include "roof_dots.h"
#include "text.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LABEL 16u      /* columns of the words in front of a kernel's facts */
#define TEXT 64        /* one formatted value */
#define NOTHING 0.0005 /* a share that is written "0.0 %" */

/* --- head --- */

static void put_command(struct ws_arena *arena, const struct ws_text_out *t, const struct ws_session_row *row)
{
    cJSON *argv = cJSON_Parse(row->argv);
    const cJSON *item;
    bool any = false;
    cJSON_ArrayForEach(item, argv)
    {
        if (cJSON_IsString(item)) {
            ws_text_printf(t, WS_PLAIN, "%s%s", any ? " " : "", ws_text_tame(arena, item->valuestring));
            any = true;
        }
    }
    if (!any)
        ws_text_put(t, WS_PLAIN, ws_text_tame(arena, row->exe));
    cJSON_Delete(argv);
}

/* How warps were sampled, and what is not in the kernels below. */
static void put_sampling(const struct ws_text_out *t, const struct ws_pc_totals *s)
{
    if (!s->is_there)
        return;
    ws_text_printf(t, WS_DIM, "PC samples  %" PRIu64, s->samples);
    if (s->period_least > 0)
        ws_text_printf(t, WS_DIM, ", one every 2^%" PRIu32 " cycles of an SM", s->period_least);
    if (s->period_most > s->period_least && s->period_least > 0)
        ws_text_printf(t, WS_DIM, " (some GPUs: 2^%" PRIu32 ")", s->period_most);
    ws_text_printf(t, WS_DIM,
                   "; %" PRIu64 " in kernels that are not the program's, %" PRIu64 " dropped by the hardware\n",
                   s->other, s->dropped);
}

static void put_head(struct ws_arena *arena, const struct ws_text_out *t, const struct ws_session *s)
{
    const struct ws_session_row *r = &s->row;
    ws_text_printf(t, WS_BOLD, "Session %" PRId64, r->id);
    if (*r->name)
        ws_text_printf(t, WS_BOLD, " \"%s\"", ws_text_tame(arena, r->name));
    ws_text_put(t, strcmp(r->source, "measured") == 0 ? WS_GREEN : WS_YELLOW, "  ");
    ws_text_put(t, strcmp(r->source, "measured") == 0 ? WS_GREEN : WS_YELLOW, r->source);
    ws_text_put(t, WS_PLAIN, "  ");
    put_command(arena, t, r);
    if (r->has_exit)
        ws_text_printf(t, r->exit_status ? WS_YELLOW : WS_DIM, "  (exit status %" PRId64 ")", r->exit_status);
    ws_text_put(t, WS_PLAIN, "\n");
    for (size_t i = 0; i < s->device_count; i++) {
        const struct ws_device *d = &s->devices[i].device;
        ws_text_printf(t, WS_DIM, "GPU %u  %s, compute capability %u.%u, %u SMs\n", d->index,
                       ws_text_tame(arena, d->name), d->cc_major, d->cc_minor, d->sms);
    }
    put_sampling(t, &s->sampling);
    ws_text_put(t, WS_PLAIN, "\n");
}

/* --- table of kernels --- */

static void add_value(struct ws_table *table, struct ws_value value, enum ws_unit unit)
{
    char text[TEXT];
    if (!ws_has(value)) {
        ws_table_add(table, "-");
        return;
    }
    ws_unit_format(text, sizeof text, value, unit);
    ws_table_add(table, text);
}

static void put_geometry(char *out, size_t size, const struct ws_launch *l)
{
    snprintf(out, size, "(%u,%u,%u)x(%u,%u,%u)", l->grid.x, l->grid.y, l->grid.z, l->block.x, l->block.y, l->block.z);
}

static void put_kernels(const struct ws_text_out *t, const struct ws_session *s)
{
    static const char *const titles[] = {"time", "share", "launches", "mean", "grid x block", "kernel"};
    struct ws_table table;
    ws_table_init(&table, "rrrrll");
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        ws_table_add(&table, titles[i]);
    for (size_t i = 0; i < s->kernel_count; i++) {
        const struct ws_kernel *k = &s->kernels[i];
        struct ws_value share = ws_has(k->times.total) && s->total_s > 0
                                    ? ws_value_of(k->times.total.number / s->total_s)
                                    : ws_missing(WS_WHY_NOT_COLLECTED, NULL);
        char geometry[96];
        put_geometry(geometry, sizeof geometry, &k->row.launch);
        add_value(&table, k->times.total, WS_UNIT_SECOND);
        add_value(&table, share, WS_UNIT_RATIO);
        ws_table_printf(&table, "%" PRIu64, k->launches);
        add_value(&table, k->times.mean, WS_UNIT_SECOND);
        ws_table_add(&table, geometry);
        ws_table_add(&table, k->name.alias);
    }
    ws_table_print(&table, t);
}

/* --- one kernel --- */

struct page {
    const struct ws_text_out *t;
    struct ws_arena *arena;
    const struct ws_kernel *kernel;
    const struct ws_report *report;
};

static void label(const struct page *p, const char *word)
{
    ws_text_printf(p->t, WS_DIM, "  %-*s", (int)LABEL, word);
}

static const char *show(char *text, struct ws_value value, enum ws_unit unit)
{
    ws_unit_format(text, TEXT, value, unit);
    return text;
}

static struct ws_value metric(const struct page *p, enum ws_metric_id id)
{
    return p->report->metric[id];
}

static void put_time(const struct page *p)
{
    const struct ws_times *t = &p->kernel->times;
    char a[TEXT], b[TEXT], c[TEXT];
    label(p, "time");
    if (!ws_has(t->mean)) {
        ws_text_printf(p->t, WS_DIM, "%s\n", show(a, t->mean, WS_UNIT_SECOND));
        return;
    }
    ws_text_printf(p->t, WS_PLAIN, "%s a launch", show(a, t->mean, WS_UNIT_SECOND));
    if (strcmp(show(b, t->min, WS_UNIT_SECOND), show(c, t->max, WS_UNIT_SECOND)) != 0)
        ws_text_printf(p->t, WS_PLAIN, " (%s to %s)", b, c);
    ws_text_printf(p->t, WS_PLAIN, ", %" PRIu64 " launch%s, %" PRIu64 " with counters", p->kernel->launches,
                   p->kernel->launches == 1 ? "" : "es", p->kernel->profiled);
    if (t->mean.origin == WS_ORIGIN_PROFILER_TIME)
        ws_text_put(p->t, WS_DIM, "; the profiler's clock, 1.5 to 3.3 µs too long");
    ws_text_put(p->t, WS_PLAIN, "\n");
}

static void put_resources(const struct page *p)
{
    const struct ws_launch *l = &p->kernel->row.launch;
    label(p, "launch");
    ws_text_printf(p->t, WS_PLAIN, "grid %u x %u x %u, block %u x %u x %u", l->grid.x, l->grid.y, l->grid.z, l->block.x,
                   l->block.y, l->block.z);
    if (p->kernel->row.has_attributes)
        ws_text_printf(p->t, WS_PLAIN, ", %u registers a thread, %u + %u B shared memory a block", l->regs_per_thread,
                       l->static_smem_bytes, l->dynamic_smem_bytes);
    else
        ws_text_printf(p->t, WS_PLAIN, ", %u B dynamic shared memory a block", l->dynamic_smem_bytes);
    ws_text_put(p->t, WS_PLAIN, "\n");
}

static void put_sampled(const struct page *p)
{
    const struct ws_kernel *k = p->kernel;
    if (!ws_has(k->sampled_blocks))
        return;
    label(p, "sampled");
    ws_text_printf(p->t, WS_PLAIN, "%.0f of %" PRIu64 " blocks: every count is an estimate", k->sampled_blocks.number,
                   ws_report_blocks(k));
    if (ws_has(k->sampled_interval) && k->sampled_interval.number > 0)
        ws_text_printf(p->t, WS_PLAIN, ", ±%.2g %% at worst (95 %%)", 100 * k->sampled_interval.number);
    else
        ws_text_put(p->t, WS_PLAIN, "; the blocks that ran are alike");
    ws_text_put(p->t, WS_PLAIN, "\n");
}

/* How it was counted, where that is not simply one replayed launch; and whether its launches differ. */
static void put_counting(const struct page *p)
{
    const struct ws_counting *c = &p->kernel->counting;
    char a[TEXT];
    if (!c->is_known || (c->mode == WS_MODE_REPLAY && !c->is_refused))
        return;
    label(p, "counted");
    if (c->mode != WS_MODE_NONE)
        ws_text_printf(p->t, WS_PLAIN, "%s, %u pass%s: ", c->mode == WS_MODE_ROTATE ? "by rotation" : "by replay",
                       c->passes, c->passes == 1 ? "" : "es");
    else
        ws_text_put(p->t, WS_PLAIN, p->kernel->profiled > 0 ? "in part: " : "not: ");
    ws_text_put(p->t, WS_PLAIN, ws_reason_text(c->reason));
    if (c->reason == WS_REASON_FOOTPRINT || c->reason == WS_REASON_MEMORY)
        ws_text_printf(p->t, WS_PLAIN, " (at most %s in use)",
                       show(a, ws_value_of((double)c->footprint_bytes), WS_UNIT_BYTE));
    if (c->is_refused && c->reason != WS_REASON_BUDGET)
        ws_text_put(p->t, WS_PLAIN, "; launches were left out for the budget");
    ws_text_put(p->t, WS_PLAIN, "\n");
}

static void put_varies(const struct page *p)
{
    unsigned n = 0;
    char a[TEXT], b[TEXT];
    for (size_t i = 0; i < p->kernel->stat_count; i++) {
        const struct ws_stat *s = &p->kernel->stats[i];
        enum ws_unit unit;
        if (!ws_stat_is_work(s) || !ws_stat_varies(s))
            continue;
        unit = ws_metric_get(s->id)->unit;
        if (n == 0)
            label(p, "varies");
        if (n++ < 3)
            ws_text_printf(p->t, WS_YELLOW, "%s%s %s to %s", n > 1 ? ", " : "", s->key,
                           show(a, ws_value_of(s->min), unit), show(b, ws_value_of(s->max), unit));
    }
    if (n > 3)
        ws_text_printf(p->t, WS_YELLOW, ", %u more", n - 3);
    if (n > 0)
        ws_text_put(p->t, WS_YELLOW, ": its launches differ, what stands here are means\n");
}

static void put_occupancy(const struct page *p)
{
    const struct ws_occupancy *o = &p->report->occupancy;
    struct ws_value achieved = metric(p, WS_M_achieved_occupancy);
    char a[TEXT];
    label(p, "occupancy");
    if (ws_has(achieved))
        ws_text_printf(p->t, WS_PLAIN, "%s achieved, ", show(a, achieved, WS_UNIT_RATIO));
    if (ws_has(o->theoretical))
        ws_text_printf(p->t, WS_PLAIN, "%s possible: %u of %u warps, %u blocks an SM, limited by %s",
                       show(a, o->theoretical, WS_UNIT_RATIO), o->warps_per_sm, o->max_warps, o->blocks_per_sm,
                       ws_occ_limit_name(o->limiter));
    else
        ws_text_printf(p->t, WS_DIM, "possible: %s", show(a, o->theoretical, WS_UNIT_RATIO));
    ws_text_put(p->t, WS_PLAIN, "\n");
}

/* Sectors that would do for what was asked: bytes / 32 a request, at least one. */
static void put_access(const struct page *p, const char *word, enum ws_metric_id requests, enum ws_metric_id bytes,
                       enum ws_metric_id per_request, enum ws_metric_id efficiency)
{
    struct ws_value r = metric(p, requests);
    struct ws_value b = metric(p, bytes);
    struct ws_value s = metric(p, per_request);
    struct ws_value e = metric(p, efficiency);
    char a[TEXT], c[TEXT];
    if (!ws_has(r) || r.number == 0)
        return;
    label(p, word);
    ws_text_put(p->t, ws_has(e) && e.number < 0.75 ? WS_YELLOW : WS_PLAIN, show(a, s, WS_UNIT_SECTOR_PER_REQUEST));
    if (ws_has(b))
        ws_text_printf(p->t, WS_PLAIN, ", ideal %.2f", fmax(1, b.number / r.number / 32));
    if (ws_has(e))
        ws_text_printf(p->t, WS_PLAIN, ", %s of the bytes used", show(a, e, WS_UNIT_RATIO));
    ws_text_printf(p->t, WS_DIM, "  (%s)\n", show(c, r, WS_UNIT_REQUEST));
}

static void put_shared(const struct page *p)
{
    struct ws_value ld = metric(p, WS_M_shared_ld_wavefronts_per_request);
    struct ws_value st = metric(p, WS_M_shared_st_wavefronts_per_request);
    struct ws_value conflicts = metric(p, WS_M_shared_bank_conflicts);
    char a[TEXT];
    if (!ws_has(ld) && !ws_has(st))
        return;
    label(p, "shared memory");
    if (ws_has(ld))
        ws_text_printf(p->t, WS_PLAIN, "loads %s", show(a, ld, WS_UNIT_WAVEFRONT_PER_REQUEST));
    if (ws_has(st))
        ws_text_printf(p->t, WS_PLAIN, "%sstores %s", ws_has(ld) ? ", " : "",
                       show(a, st, WS_UNIT_WAVEFRONT_PER_REQUEST));
    if (ws_has(conflicts))
        ws_text_printf(p->t, conflicts.number > 0 ? WS_YELLOW : WS_PLAIN, ", %s bank conflicts%s",
                       show(a, conflicts, WS_UNIT_NUMBER), conflicts.grade == WS_GRADE_UPPER_BOUND ? " at most" : "");
    ws_text_put(p->t, WS_PLAIN, "\n");
}

static void put_execution(const struct page *p)
{
    struct ws_value lanes = metric(p, WS_M_threads_per_instruction);
    struct ws_value instructions = metric(p, WS_M_inst_executed);
    char a[TEXT];
    if (!ws_has(lanes))
        return;
    label(p, "lanes");
    ws_text_printf(p->t, lanes.number < 24 ? WS_YELLOW : WS_PLAIN, "%.1f of 32 active an instruction", lanes.number);
    ws_text_printf(p->t, WS_DIM, "  (%s)\n", show(a, instructions, WS_UNIT_INST));
}

static void put_dram(const struct page *p)
{
    struct ws_value bytes = metric(p, WS_M_dram_bytes);
    struct ws_value rate = metric(p, WS_M_dram_bandwidth);
    struct ws_value busy = metric(p, WS_M_dram_throughput);
    char a[TEXT], b[TEXT], c[TEXT];
    if (!ws_has(bytes))
        return;
    label(p, "DRAM");
    ws_text_put(p->t, WS_PLAIN, show(a, bytes, WS_UNIT_BYTE));
    if (ws_has(rate))
        ws_text_printf(p->t, WS_PLAIN, ", %s", show(b, rate, WS_UNIT_BYTE_PER_SECOND));
    if (ws_has(busy))
        ws_text_printf(p->t, WS_PLAIN, ", %s of its peak", show(c, busy, WS_UNIT_RATIO));
    ws_text_put(p->t, WS_PLAIN, "\n");
}

/* Whether a point says more of its kernel than another one: integers are mostly addresses; then what is nearer to its
 * measured roof, then what has more operations. */
static bool says_more(const struct ws_roof_point *a, const struct ws_roof_point *b)
{
    bool integer_a = a->precision == WS_PRECISION_INT32, integer_b = b->precision == WS_PRECISION_INT32;
    struct ws_value x = a->measured.percent, y = b->measured.percent;
    if (integer_a != integer_b)
        return integer_b;
    if (!ws_has(x) && !ws_has(y)) {
        x = a->operations;
        y = b->operations;
    }
    return ws_has(x) && (!ws_has(y) || x.number > y.number);
}

static void put_point(const struct page *p, const struct ws_roof_point *point, bool is_first)
{
    const struct ws_roof *roof = &point->measured;
    char a[TEXT];
    ws_text_printf(p->t, WS_PLAIN, "%s%s ", is_first ? "; of its roof at " : ", ", ws_level_name(point->level));
    if (ws_has(roof->percent))
        ws_text_put(p->t, roof->is_above ? WS_YELLOW : WS_PLAIN, show(a, roof->percent, WS_UNIT_RATIO));
    else
        ws_text_put(p->t, WS_DIM, roof->roof.why == WS_WHY_NOT_MEASURED ? "not measured" : "not known");
    if (ws_has(point->intensity))
        ws_text_printf(p->t, WS_PLAIN, " (%s%s%s%s%s)", show(a, point->intensity, WS_UNIT_NUMBER), is_first ? " " : "",
                       is_first ? ws_roof_intensity_unit(point->precision) : "", ws_has(roof->percent) ? ", " : "",
                       ws_has(roof->percent) ? ws_bound_name(roof->bound) : "");
}

/* One precision at every level. */
static void put_roofline(const struct page *p)
{
    const struct ws_roofline *r = &p->report->roofline;
    const struct ws_roof_point *best = NULL;
    bool is_first = true, is_above = false;
    char a[WS_ROOF_TEXT];
    for (size_t i = 0; i < r->count; i++)
        if (!best || says_more(&r->points[i], best))
            best = &r->points[i];
    if (!best)
        return; /* "Not collected" says what is missing; a copy has nothing to say */
    label(p, "roofline");
    ws_text_printf(p->t, WS_PLAIN, "%s %s", ws_precision_name(best->precision),
                   ws_roof_show_rate(a, best->flop_rate, best->precision));
    for (size_t i = 0; i < r->count; i++) {
        if (r->points[i].precision != best->precision)
            continue;
        put_point(p, &r->points[i], is_first);
        is_first = false;
        is_above = is_above || r->points[i].measured.is_above;
    }
    ws_text_put(p->t, WS_YELLOW, is_above ? "; above a roof: doubt the counters or the ceiling\n" : "\n");
}

/* The three reasons that warps waited for most, and the others together: they add to 100 %. */
static void put_reasons(const struct page *p, const struct ws_stall_bar *bar)
{
    bool used[WS_STALL_COUNT] = {false};
    double others = 1;
    char a[TEXT];
    for (int n = 0; n < 3; n++) {
        unsigned best = WS_STALL_COUNT;
        struct ws_stall stall;
        for (unsigned i = 0; i < WS_STALL_COUNT; i++)
            if (!used[i] && ws_has(bar->share[i]) && bar->share[i].number > 0 &&
                (best == WS_STALL_COUNT || bar->share[i].number > bar->share[best].number))
                best = i;
        if (best == WS_STALL_COUNT)
            break;
        used[best] = true;
        others -= bar->share[best].number;
        ws_stalls_get((enum ws_stall_id)best, &stall);
        ws_text_printf(p->t, WS_PLAIN, "%s%s %s", n ? ", " : "", stall.reason,
                       show(a, bar->share[best], WS_UNIT_RATIO));
    }
    if (others >= NOTHING)
        ws_text_printf(p->t, WS_PLAIN, ", others %s", show(a, ws_value_of(others), WS_UNIT_RATIO));
}

static void put_stalls(const struct page *p)
{
    const struct ws_stall_bar *bar = &p->report->stalls;
    char a[TEXT];
    if (!ws_has(bar->stalled) || bar->stalled.number == 0)
        return;
    label(p, "stalls");
    put_reasons(p, bar);
    if (ws_has(bar->issue_rate))
        ws_text_printf(p->t, WS_DIM, "  (a scheduler issues in %s of its cycles)",
                       show(a, bar->issue_rate, WS_UNIT_RATIO));
    ws_text_put(p->t, WS_PLAIN, "\n");
}

/* Another method than the line above: said by its name. */
static void put_samples(const struct page *p)
{
    struct ws_stall_bar bar;
    if (!p->kernel->samples)
        return;
    ws_stalls_of_samples(p->kernel->samples, &bar);
    label(p, "PC samples");
    put_reasons(p, &bar);
    ws_text_printf(p->t, WS_DIM, "%s(%" PRIu64 " samples; by line: report --source %s)\n",
                   bar.stalled.number > 0 ? "  " : "", ws_samples_all(p->kernel->samples),
                   ws_text_tame(p->arena, p->kernel->name.base));
}

static void put_findings(const struct page *p, const struct ws_findings *f, const char *whose)
{
    static const enum ws_style styles[WS_SEVERITY_COUNT] = {WS_DIM, WS_PLAIN, WS_YELLOW, WS_RED};
    char a[TEXT];
    for (size_t i = 0; i < f->count; i++) {
        const struct ws_finding *one = &f->item[i];
        ws_text_printf(p->t, styles[one->severity], "  %s %s", one->severity == WS_SEVERITY_INFO ? "i" : "!",
                       one->rule->id);
        if (ws_has(one->gain) && one->gain.number >= NOTHING)
            ws_text_printf(p->t, WS_BOLD, ", could save %s of %s time", show(a, one->gain, WS_UNIT_RATIO), whose);
        ws_text_put(p->t, WS_PLAIN, "\n    ");
        ws_text_wrap(p->t, ws_text_tame(p->arena, one->text), 4, 4);
    }
}

/* What concerns no single kernel: launches, copies, waits. */
static void put_timeline(struct ws_arena *arena, const struct ws_text_out *t, const struct ws_findings *findings)
{
    struct page page = {t, arena, NULL, NULL};
    if (findings->count == 0)
        return;
    ws_text_put(t, WS_BOLD, "Between the kernels\n");
    put_findings(&page, findings, "the session's");
    ws_text_put(t, WS_PLAIN, "\n");
}

/* --- samples over time --- */

static void add_sampled(struct ws_table *table, double value, enum ws_unit unit)
{
    add_value(table, isfinite(value) ? ws_value_of(value) : ws_missing(WS_WHY_NOT_VALID, NULL), unit);
}

static void put_device_samples(const struct ws_text_out *t, const struct ws_pm_device *d)
{
    static const char *const titles[] = {"mean", "least", "greatest", "all the time", "while kernels ran"};
    struct ws_table table;
    char interval[TEXT];
    char covered[TEXT] = "";
    ws_unit_format(interval, sizeof interval, ws_value_of((double)d->interval_ns * 1e-9), WS_UNIT_SECOND);
    if (ws_pm_covered(d) < 0.98)
        snprintf(covered, sizeof covered, "; they cover %.0f %% of the time", 100 * ws_pm_covered(d));
    ws_text_printf(t, WS_PLAIN, "  GPU %u: %" PRIu64 " samples, one each %s%s; kernels ran in %" PRIu64 "%s\n",
                   d->device, d->samples, interval, d->by_timer ? "" : " (an estimate)", d->busy_samples, covered);
    ws_table_init(&table, "rrrrl");
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        ws_table_add(&table, titles[i]);
    for (size_t k = 0; k < d->columns; k++) {
        const struct ws_pm_stat *busy = &d->busy[k];
        add_sampled(&table, ws_pm_stat_mean(busy), d->column[k].unit);
        add_sampled(&table, busy->count ? busy->min : (double)NAN, d->column[k].unit);
        add_sampled(&table, busy->count ? busy->max : (double)NAN, d->column[k].unit);
        add_sampled(&table, ws_pm_stat_mean(&d->all[k]), d->column[k].unit);
        ws_table_add(&table, ws_pm_title(&d->column[k]));
    }
    ws_table_print(&table, t);
}

static const char *name_of(const struct ws_session *s, int64_t kernel_id)
{
    for (size_t i = 0; i < s->kernel_count; i++)
        if (s->kernels[i].row.id == kernel_id)
            return s->kernels[i].name.alias;
    return NULL;
}

enum { SAMPLED_COLUMNS = 5, SAMPLED_KERNELS = 10 };

/* The first columns of each kernel that has samples of its own; a filter may have taken kernels away. */
static void put_kernel_samples(const struct ws_text_out *t, const struct ws_session *s, size_t series)
{
    const struct ws_pm_facts *f = s->pm;
    const struct ws_pm_device *d = &f->devices[series];
    size_t columns = d->columns < SAMPLED_COLUMNS ? d->columns : SAMPLED_COLUMNS;
    size_t shown = 0;
    struct ws_table table;
    ws_table_init(&table, &"rrrrrrl"[SAMPLED_COLUMNS - columns]);
    ws_table_add(&table, "samples");
    for (size_t k = 0; k < columns; k++)
        ws_table_add(&table, d->column[k].key);
    ws_table_add(&table, "mean while only this kernel ran");
    for (size_t i = 0; i < f->kernel_count && shown < SAMPLED_KERNELS; i++) {
        const struct ws_pm_kernel *kernel = &f->kernels[i];
        const char *name = kernel->series == series ? name_of(s, kernel->kernel_id) : NULL;
        if (!name)
            continue;
        shown++;
        ws_table_printf(&table, "%" PRIu64, kernel->samples);
        for (size_t k = 0; k < columns; k++)
            add_sampled(&table, ws_pm_stat_mean(&kernel->at[k]), d->column[k].unit);
        ws_table_add(&table, name);
    }
    if (shown > 0)
        ws_table_print(&table, t);
    else
        ws_arena_fini(&table.arena);
}

static void put_pm_samples(const struct ws_text_out *t, const struct ws_session *s)
{
    if (!s->pm)
        return;
    ws_text_put(t, WS_BOLD, "Samples over time");
    ws_text_put(t, WS_DIM, "  of the whole GPU, whatever ran on it; not counters of a kernel\n");
    for (size_t i = 0; i < s->pm->count; i++) {
        put_device_samples(t, &s->pm->devices[i]);
        put_kernel_samples(t, s, i);
        ws_text_put(t, WS_PLAIN, "\n");
    }
}

static void put_all_metrics(const struct page *p)
{
    struct ws_table table;
    char a[256];
    ws_table_init(&table, "lrl");
    ws_table_add(&table, "  metric");
    ws_table_add(&table, "value");
    ws_table_add(&table, "");
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++) {
        const struct ws_metric *m = ws_metric_get((enum ws_metric_id)i);
        struct ws_value v = p->report->metric[i];
        ws_unit_format(a, sizeof a, v, m->unit);
        ws_table_printf(&table, "  %s", m->key);
        ws_table_add(&table, ws_has(v) ? a : "-");
        ws_table_add(&table, !ws_has(v) ? a : v.grade != WS_GRADE_EXACT ? ws_grade_name((enum ws_grade)v.grade) : "");
    }
    for (size_t i = 0; i < p->kernel->stat_count; i++) {
        const struct ws_stat *s = &p->kernel->stats[i];
        if (s->id < WS_METRIC_COUNT)
            continue;
        ws_unit_format(a, sizeof a, s->mean, WS_UNIT_NUMBER);
        ws_table_printf(&table, "  %s", s->key);
        ws_table_add(&table, ws_has(s->mean) ? a : "-");
        ws_table_add(&table, ws_has(s->mean) ? "" : a);
    }
    ws_table_print(&table, p->t);
}

static void put_kernel(const struct page *p, bool all)
{
    ws_text_printf(p->t, WS_BOLD, "%s\n", ws_text_tame(p->arena, p->kernel->name.alias));
    put_resources(p);
    put_sampled(p);
    put_counting(p);
    put_time(p);
    put_varies(p);
    put_occupancy(p);
    put_access(p, "global loads", WS_M_gld_requests, WS_M_gld_bytes, WS_M_gld_sectors_per_request, WS_M_gld_efficiency);
    put_access(p, "global stores", WS_M_gst_requests, WS_M_gst_bytes, WS_M_gst_sectors_per_request,
               WS_M_gst_efficiency);
    put_shared(p);
    put_execution(p);
    put_dram(p);
    put_roofline(p);
    put_stalls(p);
    put_samples(p);
    put_findings(p, &p->report->findings, "its");
    if (all)
        put_all_metrics(p);
    ws_text_put(p->t, WS_PLAIN, "\n");
}

/* --- what is missing --- */

struct missing {
    unsigned kernels; /* that have counters at all */
    unsigned count[WS_METRIC_COUNT];
    unsigned char why[WS_METRIC_COUNT];
};

static void count_missing(struct missing *m, const struct ws_report *report)
{
    m->kernels++;
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++) {
        if (ws_metric_get((enum ws_metric_id)i)->kind != WS_KIND_RAW || ws_has(report->metric[i]))
            continue;
        m->count[i]++;
        m->why[i] = report->metric[i].why;
    }
}

/* Of a set, the metrics that every kernel lacks for the same reason: how many, and the first. */
static unsigned count_set(const struct missing *m, unsigned set, unsigned why, const char **first)
{
    unsigned n = 0;
    for (unsigned i = WS_METRIC_COUNT; i-- > 0;) {
        const struct ws_metric *row = ws_metric_get((enum ws_metric_id)i);
        bool is_counter = row->kind == WS_KIND_RAW && *row->cupti != 0;
        if (!is_counter || (unsigned)row->set != set || m->count[i] != m->kernels || m->why[i] != why)
            continue;
        n++;
        *first = row->key;
    }
    return n;
}

static bool put_set(const struct ws_text_out *t, const struct missing *m, unsigned set, bool is_first)
{
    bool any = false;
    for (unsigned why = 1; why < WS_WHY_COUNT; why++) {
        const char *first = "";
        unsigned n = count_set(m, set, why, &first);
        if (n == 0)
            continue;
        if (is_first && !any)
            ws_text_put(t, WS_BOLD, "Not collected\n");
        any = true;
        ws_text_printf(t, WS_PLAIN, "  %-11s %s%s: %u metric%s: %s", ws_set_name((enum ws_set)set), first,
                       n > 1 ? ", …" : "", n, n == 1 ? "" : "s", ws_why_text((enum ws_why)why));
        if (why == WS_WHY_NOT_COLLECTED)
            ws_text_printf(t, WS_DIM, " (run --set %s)", ws_set_name((enum ws_set)set));
        ws_text_put(t, WS_PLAIN, "\n");
    }
    return any;
}

/* Counters that no kernel has, by set and reason. */
static void put_missing(const struct ws_text_out *t, const struct missing *m)
{
    bool any = false;
    for (unsigned set = 0; set < WS_SET_COUNT; set++)
        any = put_set(t, m, set, !any) || any;
    if (any)
        ws_text_put(t, WS_PLAIN, "\n");
}

static void put_warnings(struct ws_arena *arena, const struct ws_text_out *t, const struct ws_session *s)
{
    static const enum ws_style styles[] = {WS_DIM, WS_YELLOW, WS_RED};
    static const char *const words[] = {"note", "warning", "error"};
    for (size_t i = 0; i < s->warning_count; i++) {
        const struct ws_warning *w = &s->warnings[i];
        unsigned severity = w->severity > 2 ? 2 : w->severity;
        ws_text_printf(t, styles[severity], "%s: ", words[severity]);
        ws_text_wrap(t, ws_text_tame(arena, w->message), (unsigned)strlen(words[severity]) + 2, 4);
        if (*w->remedy) {
            ws_text_put(t, WS_PLAIN, "    ");
            ws_text_wrap(t, ws_text_tame(arena, w->remedy), 4, 4);
        }
    }
}

int ws_report_text(const struct ws_session *session, const struct ws_text_options *options, FILE *out)
{
    struct ws_arena arena = {NULL};
    struct ws_report *report = malloc(sizeof *report);
    struct missing *missing = calloc(1, sizeof *missing);
    struct ws_text_out t;
    size_t details = options->details < session->kernel_count ? options->details : session->kernel_count;
    int err = report && missing ? 0 : -WS_ENOMEM;
    ws_text_init(&t, out);
    if (err == 0) {
        put_head(&arena, &t, session);
        if (session->kernel_count > 0) {
            put_kernels(&t, session);
            ws_text_put(&t, WS_PLAIN, "\n");
        }
        put_timeline(&arena, &t, session->timeline);
        put_pm_samples(&t, session);
        for (size_t i = 0; i < session->kernel_count; i++) {
            struct page page = {&t, &arena, &session->kernels[i], report};
            if (i >= details && session->kernels[i].profiled == 0)
                continue;
            ws_report_analyze(session, i, report);
            if (session->kernels[i].profiled > 0)
                count_missing(missing, report);
            if (i < details)
                put_kernel(&page, options->all);
        }
        if (details < session->kernel_count)
            ws_text_printf(&t, WS_DIM, "%zu more kernels: --all, or --kernel NAME\n\n",
                           session->kernel_count - details);
        if (missing->kernels > 0)
            put_missing(&t, missing);
        put_warnings(&arena, &t, session);
    }
    ws_arena_fini(&arena);
    free(report);
    free(missing);
    return err;
}
