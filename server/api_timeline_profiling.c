/* SPDX-License-Identifier: MIT
 * api_timeline_profiling.c: when profiling held the program, from the profiled launches themselves.
 * The bill (timeline_facts.c) cuts this time out; the timeline shows times as they were, and marks it. */
#include "../analyzer/err.h"
#include "api.h"
#include "collected.h"

#include <inttypes.h>
#include <stdlib.h>

struct hold {
    int64_t start_ns, end_ns, kernel_id; /* the longest one's kernel */
    int64_t longest_ns;
    uint64_t merged;
};

struct holds {
    struct hold *at; /* [count], in order of arrival, then of time */
    size_t count, cap;
    uint64_t launches, unplaced; /* of all the session; unplaced: nobody knows when */
    uint64_t total_ns;           /* of all */
    uint64_t uncollected_ns;     /* of all gaps that have an end */
};

#define HOLD_MAX_NS (1ll << 53)

static int add_hold(struct holds *h, const struct hold *hold)
{
    if (h->count == h->cap) {
        size_t cap = h->cap ? h->cap * 2 : 256;
        struct hold *grown = realloc(h->at, cap * sizeof *grown);
        if (!grown)
            return -WS_ENOMEM;
        h->at = grown;
        h->cap = cap;
    }
    h->at[h->count++] = *hold;
    return 0;
}

/* Time in which nothing was collected is a row of its own kind: kernel 0. */
static int take_gaps(struct holds *h, struct ws_store *store, int64_t session_id, int64_t last_ns)
{
    struct ws_gaps gaps;
    int err = ws_gaps_load(store, session_id, 0, &gaps);
    for (size_t i = 0; err == 0 && i < gaps.count; i++) {
        struct hold gap = {gaps.at[i].start_ns, gaps.at[i].end_ns, 0, 0, 1};
        if (gap.end_ns == INT64_MAX)
            gap.end_ns = last_ns;
        if (gap.end_ns <= gap.start_ns)
            continue;
        h->uncollected_ns += (uint64_t)(gap.end_ns - gap.start_ns);
        err = add_hold(h, &gap);
    }
    ws_gaps_free(&gaps);
    return err;
}

static int take_profile(void *state, const struct ws_profile_row *row)
{
    struct holds *h = state;
    const struct ws_rec_profile *p = &row->rec;
    if (p->cost_ns <= 0 || p->cost_ns > HOLD_MAX_NS)
        return 0;
    h->launches++;
    h->total_ns += (uint64_t)p->cost_ns;
    if (p->started_ns <= 0 || p->started_ns > INT64_MAX - p->cost_ns) {
        h->unplaced++;
        return 0;
    }
    return add_hold(h, &(struct hold){p->started_ns, p->started_ns + p->cost_ns, row->kernel_id, p->cost_ns, 1});
}

static int by_start(const void *a, const void *b)
{
    const struct hold *x = a;
    const struct hold *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Those of the range, disjoint and rising; what is nearer than cell_ns is one. */
static void merge_holds(struct holds *h, int64_t from_ns, int64_t to_ns, int64_t cell_ns)
{
    size_t n = 0;
    if (h->count > 0)
        qsort(h->at, h->count, sizeof *h->at, by_start);
    for (size_t i = 0; i < h->count; i++) {
        const struct hold *x = &h->at[i];
        struct hold *last = n > 0 ? &h->at[n - 1] : NULL;
        if (x->end_ns < from_ns || x->start_ns > to_ns)
            continue;
        if (!last || x->start_ns - last->end_ns > cell_ns || (x->kernel_id == 0) != (last->kernel_id == 0)) {
            h->at[n++] = *x;
            continue;
        }
        last->end_ns = x->end_ns > last->end_ns ? x->end_ns : last->end_ns;
        last->merged += x->merged;
        if (x->longest_ns > last->longest_ns) {
            last->longest_ns = x->longest_ns;
            last->kernel_id = x->kernel_id;
        }
    }
    h->count = n;
}

enum column { COLUMN_START, COLUMN_END, COLUMN_KERNEL, COLUMN_MERGED };

static void put_column(struct ws_json *j, const char *key, const struct holds *h, enum column column, int64_t base_ns)
{
    ws_json_key(j, key);
    ws_json_array_line(j);
    for (size_t i = 0; i < h->count; i++) {
        const struct hold *x = &h->at[i];
        if (column == COLUMN_START)
            ws_json_int(j, x->start_ns - base_ns);
        else if (column == COLUMN_END)
            ws_json_int(j, x->end_ns - base_ns);
        else
            ws_json_int(j, column == COLUMN_KERNEL ? x->kernel_id : (int64_t)x->merged);
    }
    ws_json_end(j);
}

static void put_holds(struct ws_json *j, int64_t session_id, const struct holds *h, int64_t base_ns)
{
    char base[24];
    snprintf(base, sizeof base, "%" PRId64, base_ns);
    ws_json_object(j);
    ws_json_put_int(j, "session", session_id);
    ws_json_put_text(j, "base_ns", base);
    ws_json_put_uint(j, "launches", h->launches);
    ws_json_put_uint(j, "unplaced", h->unplaced);
    ws_json_put_uint(j, "total_ns", h->total_ns);
    ws_json_put_uint(j, "uncollected_ns", h->uncollected_ns);
    put_column(j, "start", h, COLUMN_START, base_ns);
    put_column(j, "end", h, COLUMN_END, base_ns);
    put_column(j, "kernel", h, COLUMN_KERNEL, base_ns);
    put_column(j, "merged", h, COLUMN_MERGED, base_ns);
    ws_json_end(j);
}

void ws_api_timeline_profiling(struct ws_call *call)
{
    int64_t id = call->request->ids[0];
    struct holds h = {.count = 0};
    struct ws_store *store;
    bool has_work = false;
    bool good = false;
    int64_t base_ns = 0;
    int64_t from_ns = 0;
    int64_t to_ns = 0;
    int64_t last_ns = 0;
    int64_t px = 1600;
    int err;
    if (ws_call_unchanged(call) || (store = ws_call_store(call)) == NULL)
        return;
    err = ws_api_base_ns(store, id, &base_ns);
    if (err == 0)
        err = ws_api_timeline_range(store, id, &from_ns, &to_ns, &has_work);
    last_ns = has_work ? to_ns : base_ns;
    if (err == 0)
        good =
            ws_api_view(call, base_ns, has_work ? from_ns : base_ns, has_work ? to_ns : base_ns, &from_ns, &to_ns, &px);
    if (err == 0 && !good)
        return;
    if (err == 0)
        err = ws_store_each_profile(store, id, take_profile, &h);
    if (err == 0)
        err = take_gaps(&h, store, id, last_ns);
    if (err == 0) {
        merge_holds(&h, from_ns, to_ns, (to_ns - from_ns) / px);
        put_holds(ws_call_json(call), id, &h, base_ns);
    }
    free(h.at);
    if (err != 0)
        ws_call_fail_store(call, err);
}
