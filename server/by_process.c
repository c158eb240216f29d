/* SPDX-License-Identifier: MIT
 * by_process.c: see by_process.h. */
#include "by_process.h"

#include "../analyzer/err.h"
#include "../analyzer/units.h"
#include "collected.h"
#include "text.h"
#include "work_order.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* --- sums --- */

struct summing {
    struct ws_store *store;
    int64_t session_id, process_id;
    struct ws_process_work *work;
    const struct ws_gaps *gaps;
    struct ws_span open; /* of the union; end 0 = none yet */
    int err;
};

/* How much of [from, to] no record can come from. */
static int64_t gaps_within(const struct ws_gaps *gaps, int64_t from, int64_t to)
{
    int64_t sum = 0;
    for (size_t i = 0; i < gaps->count; i++) {
        int64_t a = gaps->at[i].start_ns > from ? gaps->at[i].start_ns : from;
        int64_t b = gaps->at[i].end_ns < to ? gaps->at[i].end_ns : to;
        sum += b > a ? b - a : 0;
    }
    return sum;
}

/* The union had a hole before `next`: idle, but for what of it no record can come from. */
static void close_run(struct summing *s, int64_t next)
{
    int64_t ns = s->open.end - s->open.start;
    if (s->open.end == 0)
        return;
    s->work->busy_ns += ns;
    s->work->window_ns += ns;
    if (next > s->open.end)
        s->work->window_ns += next - s->open.end - gaps_within(s->gaps, s->open.end, next);
}

static int take_work(void *state, const struct ws_work *w)
{
    struct summing *s = state;
    if (w->kind == WS_ACTIVITY_KERNEL) {
        s->work->kernels++;
        s->work->kernel_ns += w->at.end - w->at.start;
    } else {
        s->work->copies++;
    }
    if (w->at.start > s->open.end) {
        close_run(s, w->at.start);
        s->open = w->at;
    } else if (w->at.end > s->open.end) {
        s->open.end = w->at.end;
    }
    return 0;
}

static int sum_device(void *state, const struct ws_device_row *row)
{
    struct summing *s = state;
    uint64_t left_out;
    s->open = (struct ws_span){0, 0};
    s->err = ws_work_each(s->store, s->session_id, s->process_id, (uint32_t)row->device.index, take_work, s, &left_out);
    s->work->devices += s->open.end > 0;
    close_run(s, 0);
    return s->err;
}

static int sum_process(struct ws_store *store, const struct ws_session *session, size_t i, struct ws_process_work *work)
{
    const struct ws_process_row *p = &session->processes[i];
    struct ws_gaps gaps;
    struct summing s = {store, session->row.id, p->id, work, &gaps, {0, 0}, 0};
    int64_t end_ns = p->ended_ns > 0 ? p->ended_ns : session->row.ended_ns;
    int err = ws_gaps_load(store, session->row.id, p->id, &gaps);
    if (err == 0) {
        work->gaps = (uint32_t)gaps.count;
        work->uncollected_ns = gaps_within(&gaps, p->started_ns, end_ns > p->started_ns ? end_ns : p->started_ns);
        err = ws_store_each_process_device(store, p->id, sum_device, &s);
    }
    ws_gaps_free(&gaps);
    return err != 0 ? err : s.err;
}

static void judge(struct ws_by_process *all)
{
    double sum = 0;
    size_t with = 0;
    for (size_t i = 0; i < all->session->process_count; i++) {
        sum += (double)all->work[i].kernel_ns;
        with += all->work[i].kernel_ns > 0;
        if (all->work[i].kernel_ns > all->work[all->busiest].kernel_ns)
            all->busiest = i;
    }
    if (with > 1)
        all->imbalance = (double)all->work[all->busiest].kernel_ns / (sum / (double)with) - 1;
}

/* Rank 2 before rank 10, and what has no rank last. */
static long rank_of(const struct ws_process_row *p)
{
    const char *at = strchr(p->rank, '=');
    return at ? strtol(at + 1, NULL, 10) : LONG_MAX;
}

static bool is_before(const struct ws_process_row *x, const struct ws_process_row *y)
{
    long a = rank_of(x);
    long b = rank_of(y);
    return a != b ? a < b : x->id < y->id;
}

/* By insertion: a session has tens of processes, seldom thousands. */
static void put_in_order(struct ws_by_process *all)
{
    const struct ws_process_row *p = all->session->processes;
    for (size_t i = 0; i < all->session->process_count; i++) {
        size_t at = i;
        for (; at > 0 && is_before(&p[i], &p[all->order[at - 1]]); at--)
            all->order[at] = all->order[at - 1];
        all->order[at] = i;
    }
}

int ws_by_process_load(struct ws_store *store, const struct ws_session *session, struct ws_by_process *out)
{
    int err = 0;
    memset(out, 0, sizeof *out);
    out->session = session;
    out->work = calloc(session->process_count + 1, sizeof *out->work);
    out->order = calloc(session->process_count + 1, sizeof *out->order);
    if (!out->work || !out->order)
        return -WS_ENOMEM;
    put_in_order(out);
    for (size_t i = 0; err == 0 && i < session->process_count; i++)
        err = sum_process(store, session, i, &out->work[i]);
    judge(out);
    return err;
}

void ws_by_process_free(struct ws_by_process *all)
{
    free(all->work);
    free(all->order);
    all->work = NULL;
    all->order = NULL;
}

/* --- showing --- */

static double busy_share(const struct ws_process_work *w)
{
    return w->window_ns > 0 ? (double)w->busy_ns / (double)w->window_ns : 0;
}

static void put_process(struct ws_json *j, const struct ws_process_row *p, const struct ws_process_work *w)
{
    ws_json_object_line(j);
    ws_json_put_int(j, "id", p->id);
    ws_json_put_uint(j, "pid", p->pid);
    ws_json_put_uint(j, "ppid", p->ppid);
    ws_json_put_text(j, "rank", p->rank);
    ws_json_put_text(j, "host", p->host);
    ws_json_put_text(j, "exe", p->exe);
    ws_json_put_text(j, "gpus", p->gpu_uuids);
    ws_json_put_bool(j, "ended", p->ended_ns > 0);
    ws_json_put_uint(j, "launches", w->kernels);
    ws_json_put_uint(j, "copies", w->copies);
    ws_json_put_number(j, "kernel_time", (double)w->kernel_ns * 1e-9);
    ws_json_put_number(j, "busy", (double)w->busy_ns * 1e-9);
    ws_json_put_number(j, "window", (double)w->window_ns * 1e-9);
    if (w->window_ns > 0)
        ws_json_put_number(j, "busy_share", busy_share(w));
    else
        ws_json_put_null(j, "busy_share");
    ws_json_put_number(j, "uncollected", (double)w->uncollected_ns * 1e-9);
    ws_json_put_uint(j, "gaps", w->gaps);
    ws_json_end(j);
}

void ws_by_process_json(struct ws_json *j, const struct ws_by_process *all)
{
    ws_json_key(j, "processes");
    ws_json_array(j);
    for (size_t i = 0; i < all->session->process_count; i++)
        put_process(j, &all->session->processes[all->order[i]], &all->work[all->order[i]]);
    ws_json_end(j);
    ws_json_put_number(j, "imbalance", all->imbalance);
}

static void add_time(struct ws_table *table, int64_t ns)
{
    char text[32];
    ws_unit_format(text, sizeof text, ws_value_of((double)ns * 1e-9), WS_UNIT_SECOND);
    ws_table_add(table, text);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void add_row(struct ws_table *table, const struct ws_process_row *p, const struct ws_process_work *w)
{
    const char *rank = strchr(p->rank, '=');
    ws_table_printf(table, "%u", p->pid);
    ws_table_add(table, rank ? rank + 1 : "-");
    ws_table_add(table, p->host);
    ws_table_printf(table, "%" PRIu64, w->kernels);
    add_time(table, w->kernel_ns);
    add_time(table, w->window_ns);
    if (w->window_ns > 0)
        ws_table_printf(table, "%.1f %%", 100 * busy_share(w));
    else
        ws_table_add(table, "-");
    add_time(table, w->uncollected_ns);
    ws_table_add(table, p->ended_ns > 0 ? "ended" : "killed or running");
    ws_table_add(table, base_name(p->exe));
}

void ws_by_process_text(const struct ws_by_process *all, FILE *out)
{
    static const char *const titles[] = {"pid",    "rank", "host",          "launches", "kernels",
                                         "window", "busy", "not collected", "end",      "program"};
    struct ws_text_out t;
    struct ws_table table;
    const struct ws_session *s = all->session;
    ws_text_init(&t, out);
    ws_table_init(&table, "rllrrrrrll");
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        ws_table_add(&table, titles[i]);
    for (size_t i = 0; i < s->process_count; i++)
        add_row(&table, &s->processes[all->order[i]], &all->work[all->order[i]]);
    ws_table_print(&table, &t);
    if (all->imbalance > 0)
        fprintf(out, "\nimbalance: process %u has %.1f %% more kernel time than the mean\n",
                (unsigned)s->processes[all->busiest].pid, 100 * all->imbalance);
}
