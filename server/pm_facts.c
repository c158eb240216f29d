/* SPDX-License-Identifier: MIT
 * pm_facts.c: the samples of a session, joined with its kernels by time. See pm_facts.h.
 * The kernels of a device, of all processes on it, become spans of time in which exactly one of them ran, or several;
 * each sample is looked up in them. */
#include "pm_facts.h"

#include "../analyzer/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LAUNCHES_MAX ((size_t)2 << 20) /* of a device: 96 MiB while they are sorted */
#define DEVICES_CACHED 64

struct edge {
    int64_t at_ns;
    int64_t kernel_id; /* negative: it ends */
};

struct span {
    int64_t start_ns, end_ns;
    int64_t kernel_id; /* 0: several at once */
};

struct join {
    struct ws_store *store;
    int64_t device_id;
    struct {
        int64_t process_id, device_id;
        uint32_t index;
    } known[DEVICES_CACHED];
    size_t known_count;
    struct edge *edges;
    size_t count, room;
    struct span *spans;
    size_t span_count;
    bool is_cut;
};

/* --- kernels of a device as spans --- */

static int find_device(struct join *j, int64_t process_id, uint32_t index, int64_t *device_id)
{
    int err;
    for (size_t i = 0; i < j->known_count; i++)
        if (j->known[i].process_id == process_id && j->known[i].index == index) {
            *device_id = j->known[i].device_id;
            return 0;
        }
    *device_id = 0;
    err = ws_store_find_device(j->store, process_id, index, device_id);
    if (err != 0 && err != -WS_ENOENT)
        return err;
    if (j->known_count < DEVICES_CACHED) {
        j->known[j->known_count].process_id = process_id;
        j->known[j->known_count].index = index;
        j->known[j->known_count++].device_id = *device_id;
    }
    return 0;
}

static int add_edges(struct join *j, const struct ws_activity_row *row)
{
    if (j->count + 2 > j->room) {
        size_t room = j->room ? j->room * 2 : 4096;
        struct edge *grown = realloc(j->edges, room * sizeof *grown);
        if (!grown)
            return -WS_ENOMEM;
        j->edges = grown;
        j->room = room;
    }
    j->edges[j->count++] = (struct edge){row->start_ns, (int64_t)row->kernel_id};
    j->edges[j->count++] = (struct edge){row->end_ns, -(int64_t)row->kernel_id};
    return 0;
}

static int take_activity(void *state, const struct ws_activity_chunk *chunk)
{
    struct join *j = state;
    int err = 0;
    if (chunk->kind != WS_ACTIVITY_KERNEL)
        return 0;
    for (uint32_t i = 0; err == 0 && i < chunk->rows; i++) {
        struct ws_activity_row row;
        int64_t device_id;
        ws_activity_unpack(&row, chunk->data + (size_t)i * WS_ACTIVITY_BYTES);
        if (row.start_ns <= 0 || row.end_ns <= row.start_ns || row.kernel_id == 0 || row.kernel_id > INT64_MAX)
            continue;
        err = find_device(j, chunk->process_id, row.device, &device_id);
        if (err != 0 || device_id != j->device_id)
            continue;
        if (j->count >= 2 * LAUNCHES_MAX)
            j->is_cut = true;
        else
            err = add_edges(j, &row);
    }
    return err;
}

static int by_time(const void *a, const void *b)
{
    const struct edge *x = a;
    const struct edge *y = b;
    return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

/* The sum of the ids that run is the id of the one that runs alone. */
static int make_spans(struct join *j)
{
    uint64_t sum = 0;
    size_t running = 0;
    j->spans = calloc(j->count + 1, sizeof *j->spans);
    if (!j->spans)
        return -WS_ENOMEM;
    if (j->count > 0)
        qsort(j->edges, j->count, sizeof *j->edges, by_time);
    for (size_t i = 0; i + 1 < j->count; i++) {
        const struct edge *e = &j->edges[i];
        int64_t next_ns = j->edges[i + 1].at_ns;
        struct span *last = j->span_count > 0 ? &j->spans[j->span_count - 1] : NULL;
        int64_t id;
        running = e->kernel_id > 0 ? running + 1 : running - 1;
        sum += (uint64_t)e->kernel_id;
        if (running == 0 || next_ns == e->at_ns)
            continue;
        id = running == 1 ? (int64_t)sum : 0;
        if (last && last->end_ns == e->at_ns && last->kernel_id == id)
            last->end_ns = next_ns;
        else
            j->spans[j->span_count++] = (struct span){e->at_ns, next_ns, id};
    }
    return 0;
}

/* The span that holds a time, or NULL. */
static const struct span *span_at(const struct join *j, int64_t at_ns)
{
    size_t low = 0;
    size_t high = j->span_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (j->spans[middle].end_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < j->span_count && j->spans[low].start_ns <= at_ns ? &j->spans[low] : NULL;
}

/* --- samples --- */

struct reader {
    struct ws_pm_facts *facts;
    size_t series;
    const struct join *join;
};

static struct ws_pm_kernel *find_kernel(struct ws_pm_facts *f, size_t series, int64_t kernel_id)
{
    struct ws_pm_kernel *grown;
    for (size_t i = f->kernel_count; i-- > 0;)
        if (f->kernels[i].series == series && f->kernels[i].kernel_id == kernel_id)
            return &f->kernels[i];
    if (f->kernel_count == f->kernel_room) {
        size_t room = f->kernel_room ? f->kernel_room * 2 : 32;
        grown = realloc(f->kernels, room * sizeof *grown);
        if (!grown)
            return NULL;
        f->kernels = grown;
        f->kernel_room = room;
    }
    f->kernels[f->kernel_count] = (struct ws_pm_kernel){.kernel_id = kernel_id, .series = series};
    return &f->kernels[f->kernel_count++];
}

static int take_sample(struct reader *r, const struct ws_pm_row *row)
{
    struct ws_pm_device *d = &r->facts->devices[r->series];
    const struct span *s = span_at(r->join, row->start_ns + (row->end_ns - row->start_ns) / 2);
    double weight = (double)(row->end_ns - row->start_ns);
    struct ws_pm_kernel *kernel = NULL;
    d->busy_samples += s != NULL;
    d->covered_ns += row->end_ns - row->start_ns;
    if (s && s->kernel_id != 0 && s->start_ns <= row->start_ns && s->end_ns >= row->end_ns) {
        kernel = find_kernel(r->facts, r->series, s->kernel_id);
        if (!kernel)
            return -WS_ENOMEM;
        kernel->samples++;
    }
    for (size_t k = 0; k < d->columns; k++) {
        double value = ws_pm_shown(&d->column[k], row, k);
        ws_pm_stat_add(&d->all[k], value, weight);
        if (s)
            ws_pm_stat_add(&d->busy[k], value, weight);
        if (kernel)
            ws_pm_stat_add(&kernel->at[k], value, weight);
    }
    return 0;
}

double ws_pm_covered(const struct ws_pm_device *device)
{
    int64_t all_ns = device->to_ns - device->from_ns;
    double share = all_ns > 0 ? (double)device->covered_ns / (double)all_ns : 0.0;
    return share > 1.0 ? 1.0 : share;
}

static int take_samples(void *state, const struct ws_pm_chunk *chunk)
{
    int err = 0;
    for (uint32_t i = 0; err == 0 && i < chunk->rows; i++) {
        struct ws_pm_row row;
        ws_pm_unpack(chunk, i, &row);
        err = take_sample(state, &row);
    }
    return err;
}

struct list {
    struct ws_pm_facts *facts;
    struct ws_pm_series_row *rows; /* [facts->count]; keys and cupti are not kept */
};

static int take_series(void *state, const struct ws_pm_series_row *row)
{
    struct list *l = state;
    size_t n = l->facts->count;
    struct ws_pm_device *devices = realloc(l->facts->devices, (n + 1) * sizeof *devices);
    struct ws_pm_series_row *rows;
    if (!devices)
        return -WS_ENOMEM;
    l->facts->devices = devices;
    rows = realloc(l->rows, (n + 1) * sizeof *rows);
    if (!rows)
        return -WS_ENOMEM;
    l->rows = rows;
    rows[n] = *row;
    devices[n] = (struct ws_pm_device){.process_id = row->process_id,
                                       .device_id = row->device_id,
                                       .device = row->device,
                                       .interval_ns = row->interval_ns,
                                       .samples = row->samples,
                                       .by_timer = row->by_timer,
                                       .from_ns = row->from_ns,
                                       .to_ns = row->to_ns};
    devices[n].columns = ws_pm_columns(row->keys, devices[n].column);
    l->facts->count++;
    return 0;
}

static int load_series(struct ws_store *store, int64_t session_id, struct ws_pm_facts *f, size_t series,
                       const struct ws_pm_series_row *row)
{
    struct join join = {.store = store, .device_id = row->device_id};
    struct reader reader = {f, series, &join};
    int err = row->device_id ? ws_store_each_activity(store, session_id, take_activity, &join) : 0;
    if (err == 0 && !join.is_cut)
        err = make_spans(&join);
    f->devices[series].is_joined = !join.is_cut && row->device_id != 0;
    if (err == 0)
        err = ws_store_each_pm_samples(store, row, INT64_MIN, INT64_MAX, take_samples, &reader);
    free(join.edges);
    free(join.spans);
    return err;
}

static int by_samples(const void *a, const void *b)
{
    const struct ws_pm_kernel *x = a;
    const struct ws_pm_kernel *y = b;
    if (x->samples != y->samples)
        return x->samples < y->samples ? 1 : -1;
    return (x->kernel_id > y->kernel_id) - (x->kernel_id < y->kernel_id);
}

int ws_pm_facts_load(struct ws_store *store, int64_t session_id, struct ws_pm_facts *out)
{
    struct list list = {out, NULL};
    int err;
    memset(out, 0, sizeof *out);
    err = ws_store_each_pm_series(store, session_id, take_series, &list);
    for (size_t i = 0; err == 0 && i < out->count; i++)
        err = load_series(store, session_id, out, i, &list.rows[i]);
    if (err == 0 && out->kernel_count > 0)
        qsort(out->kernels, out->kernel_count, sizeof *out->kernels, by_samples);
    free(list.rows);
    if (err != 0)
        ws_pm_facts_free(out);
    return err;
}

void ws_pm_facts_free(struct ws_pm_facts *facts)
{
    free(facts->devices);
    free(facts->kernels);
    memset(facts, 0, sizeof *facts);
}

/* --- JSON --- */

static void put_stat(struct ws_json *j, const char *key, const struct ws_pm_stat *stat)
{
    ws_json_key(j, key);
    if (stat->count == 0) {
        ws_json_null(j);
        return;
    }
    ws_json_object_line(j);
    ws_json_put_number(j, "mean", ws_pm_stat_mean(stat));
    ws_json_put_number(j, "min", stat->min);
    ws_json_put_number(j, "max", stat->max);
    ws_json_end(j);
}

static void put_device(struct ws_json *j, const struct ws_pm_device *d)
{
    ws_json_object(j);
    ws_json_put_int(j, "process", d->process_id);
    ws_json_put_uint(j, "device", d->device);
    ws_json_put_uint(j, "interval_ns", d->interval_ns);
    ws_json_put_bool(j, "by_timer", d->by_timer);
    ws_json_put_uint(j, "samples", d->samples);
    ws_json_put_uint(j, "busy_samples", d->busy_samples);
    ws_json_put_number(j, "covered", ws_pm_covered(d));
    ws_json_put_bool(j, "joined", d->is_joined);
    ws_json_key(j, "metrics");
    ws_json_array(j);
    for (size_t k = 0; k < d->columns; k++) {
        ws_json_object_line(j);
        ws_json_put_text(j, "key", d->column[k].key);
        ws_json_put_text(j, "title", ws_pm_title(&d->column[k]));
        ws_json_put_text(j, "unit", ws_unit_get(d->column[k].unit)->symbol);
        put_stat(j, "busy", &d->busy[k]);
        put_stat(j, "all", &d->all[k]);
        ws_json_end(j);
    }
    ws_json_end(j);
    ws_json_end(j);
}

static void put_kernel(struct ws_json *j, const struct ws_pm_facts *f, const struct ws_pm_kernel *k)
{
    const struct ws_pm_device *d = &f->devices[k->series];
    ws_json_object(j);
    ws_json_put_int(j, "kernel", k->kernel_id);
    ws_json_put_uint(j, "series", k->series);
    ws_json_put_uint(j, "samples", k->samples);
    ws_json_key(j, "mean");
    ws_json_object_line(j);
    for (size_t c = 0; c < d->columns; c++)
        ws_json_put_number(j, d->column[c].key, ws_pm_stat_mean(&k->at[c]));
    ws_json_end(j);
    ws_json_end(j);
}

void ws_pm_facts_json_object(struct ws_json *j, const struct ws_pm_facts *facts)
{
    ws_json_object(j);
    ws_json_put_text(j, "note",
                     "samples of the whole GPU over time, not counters of a kernel; a kernel has those during "
                     "which it alone ran");
    ws_json_key(j, "series");
    ws_json_array(j);
    for (size_t i = 0; i < facts->count; i++)
        put_device(j, &facts->devices[i]);
    ws_json_end(j);
    ws_json_key(j, "kernels");
    ws_json_array(j);
    for (size_t i = 0; i < facts->kernel_count; i++)
        put_kernel(j, facts, &facts->kernels[i]);
    ws_json_end(j);
    ws_json_end(j);
}

void ws_pm_facts_json(struct ws_json *j, const struct ws_pm_facts *facts)
{
    if (facts->count == 0)
        return;
    ws_json_key(j, "samples");
    ws_pm_facts_json_object(j, facts);
}
