/* SPDX-License-Identifier: MIT
 * host_track.c: records of the host into curves, waits and delays. Each is read in one or two passes over the rows of
 * the session; nothing is kept between calls. */
#include "host_track.h"

#include "../analyzer/err.h"

#include <stdlib.h>
#include <string.h>

enum { ALLOCATION = 1, RELEASE = 2 };

/* No clock of this millennium is beyond; no board has more memory. Sums of a million such do not overflow. */
#define TIME_MAX (INT64_MAX / 4)
#define BYTES_MAX ((uint64_t)1 << 42)

static bool is_span(int64_t start_ns, int64_t end_ns)
{
    return start_ns > 0 && end_ns >= start_ns && end_ns < TIME_MAX;
}

/* --- walking rows --- */

struct walk {
    uint16_t type;
    int (*each)(void *state, int64_t process_id, const uint8_t *at, uint32_t length);
    void *state;
};

static int walk_chunk(void *state, const struct ws_host_chunk *chunk)
{
    const struct walk *w = state;
    struct ws_frame frame = {
        .type = chunk->type, .records = chunk->rows, .payload = chunk->data, .length = (uint32_t)chunk->length};
    uint32_t offset = 0;
    uint32_t length;
    const uint8_t *at;
    int more;
    int err = 0;
    while (err == 0 && (more = ws_wire_next_record(&frame, &offset, &at, &length)) != 0)
        err = more > 0 ? w->each(w->state, chunk->process_id, at, length) : -WS_ECORRUPT;
    return err;
}

static int each_record(struct ws_store *store, int64_t session_id, uint16_t type,
                       int (*each)(void *state, int64_t process_id, const uint8_t *at, uint32_t length), void *state)
{
    struct walk w = {type, each, state};
    return ws_store_each_host_of(store, session_id, type, walk_chunk, &w);
}

/* --- range --- */

struct extent {
    uint16_t type;
    int64_t from_ns, to_ns;
    bool found;
};

static void widen(struct extent *e, int64_t start_ns, int64_t end_ns)
{
    if (!is_span(start_ns, end_ns))
        return;
    if (!e->found || start_ns < e->from_ns)
        e->from_ns = start_ns;
    if (!e->found || end_ns > e->to_ns)
        e->to_ns = end_ns;
    e->found = true;
}

static int take_extent(void *state, int64_t process_id, const uint8_t *at, uint32_t length)
{
    struct extent *e = state;
    struct ws_rec_memory memory;
    struct ws_rec_sync sync;
    (void)process_id;
    if (e->type == WS_REC_MEMORY && ws_wire_get_memory(&memory, at, length) == 0)
        widen(e, memory.time_ns, memory.time_ns);
    else if (e->type == WS_REC_SYNC && ws_wire_get_sync(&sync, at, length) == 0)
        widen(e, sync.start_ns, sync.end_ns);
    else
        return -WS_ECORRUPT;
    return 0;
}

int ws_track_range(struct ws_store *store, int64_t session_id, uint16_t type, int64_t *from_ns, int64_t *to_ns,
                   bool *found)
{
    struct extent e = {.type = type};
    int err = each_record(store, session_id, type, take_extent, &e);
    *found = e.found;
    if (e.found) {
        *from_ns = e.from_ns;
        *to_ns = e.to_ns;
    }
    return err;
}

/* --- allocated bytes --- */

struct change {
    int64_t t_ns, bytes;
    uint32_t series, order;
};

struct memory_loader {
    struct ws_memory_track *track;
    struct change *changes;
    size_t count, room;
};

static int series_of(struct ws_memory_track *t, int64_t process_id, const struct ws_rec_memory *rec, uint32_t *out)
{
    struct ws_memory_series *grown;
    for (size_t i = 0; i < t->count; i++)
        if (t->series[i].process_id == process_id && t->series[i].device == rec->device &&
            t->series[i].kind == rec->memory_kind) {
            *out = (uint32_t)i;
            return 0;
        }
    if (t->count == WS_TRACK_SERIES_MAX)
        return -WS_ELIMIT;
    grown = realloc(t->series, (t->count + 1) * sizeof *grown);
    if (!grown)
        return -WS_ENOMEM;
    t->series = grown;
    grown[t->count] =
        (struct ws_memory_series){.process_id = process_id, .device = rec->device, .kind = rec->memory_kind};
    *out = (uint32_t)t->count++;
    return 0;
}

static int take_memory(void *state, int64_t process_id, const uint8_t *at, uint32_t length)
{
    struct memory_loader *l = state;
    struct ws_rec_memory rec;
    struct change c;
    int err;
    if (ws_wire_get_memory(&rec, at, length) != 0)
        return -WS_ECORRUPT;
    if (rec.operation != ALLOCATION && rec.operation != RELEASE)
        return 0;
    l->track->records++;
    if (l->count == WS_TRACK_MEMORY_MAX || !is_span(rec.time_ns, rec.time_ns) || rec.bytes > BYTES_MAX) {
        l->track->left_out++;
        return 0;
    }
    err = series_of(l->track, process_id, &rec, &c.series);
    if (err == -WS_ELIMIT)
        l->track->left_out++;
    if (err != 0)
        return err == -WS_ELIMIT ? 0 : err;
    if (l->count == l->room) {
        size_t room = l->room ? l->room * 2 : 1024;
        struct change *grown = realloc(l->changes, room * sizeof *grown);
        if (!grown)
            return -WS_ENOMEM;
        l->changes = grown;
        l->room = room;
    }
    c.t_ns = rec.time_ns;
    c.bytes = rec.operation == ALLOCATION ? (int64_t)rec.bytes : -(int64_t)rec.bytes;
    c.order = (uint32_t)l->count;
    l->changes[l->count++] = c;
    if (rec.operation == ALLOCATION)
        l->track->series[c.series].allocations++;
    else
        l->track->series[c.series].releases++;
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct change *x = a;
    const struct change *y = b;
    if (x->t_ns != y->t_ns)
        return x->t_ns < y->t_ns ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* What was released without having been allocated lay there before the first record. */
static void find_unseen(struct memory_loader *l)
{
    for (size_t i = 0; i < l->count; i++) {
        struct ws_memory_series *s = &l->track->series[l->changes[i].series];
        s->end += l->changes[i].bytes;
        if (-s->end > s->unseen)
            s->unseen = -s->end;
    }
    for (size_t i = 0; i < l->track->count; i++)
        l->track->series[i].end = l->track->series[i].before = l->track->series[i].peak = l->track->series[i].unseen;
}

static int put_point(struct ws_memory_series *s, const struct ws_track_view *view, int64_t t_ns)
{
    struct ws_memory_point *last = s->count > 0 ? &s->points[s->count - 1] : NULL;
    if (last && (last->t_ns - view->from_ns) / view->cell_ns == (t_ns - view->from_ns) / view->cell_ns) {
        last->low = s->end < last->low ? s->end : last->low;
        last->high = s->end > last->high ? s->end : last->high;
        last->last = s->end;
        return 0;
    }
    if (s->count == s->room) {
        size_t room = s->room ? s->room * 2 : 64;
        struct ws_memory_point *grown = realloc(s->points, room * sizeof *grown);
        if (!grown)
            return -WS_ENOMEM;
        s->points = grown;
        s->room = room;
    }
    s->points[s->count++] = (struct ws_memory_point){t_ns, s->end, s->end, s->end};
    return 0;
}

static int draw_memory(struct memory_loader *l, const struct ws_track_view *view)
{
    int err = 0;
    for (size_t i = 0; err == 0 && i < l->count; i++) {
        const struct change *c = &l->changes[i];
        struct ws_memory_series *s = &l->track->series[c->series];
        s->end += c->bytes;
        s->peak = s->end > s->peak ? s->end : s->peak;
        if (c->t_ns < view->from_ns)
            s->before = s->end;
        else if (c->t_ns < view->to_ns)
            err = put_point(s, view, c->t_ns);
    }
    return err;
}

int ws_memory_track_load(struct ws_store *store, int64_t session_id, const struct ws_track_view *view,
                         struct ws_memory_track *out)
{
    struct memory_loader l = {.track = out};
    int err;
    memset(out, 0, sizeof *out);
    err = each_record(store, session_id, WS_REC_MEMORY, take_memory, &l);
    if (err == 0 && l.count > 0) {
        qsort(l.changes, l.count, sizeof *l.changes, by_time);
        find_unseen(&l);
        err = draw_memory(&l, view);
    }
    free(l.changes);
    return err;
}

void ws_memory_track_free(struct ws_memory_track *track)
{
    for (size_t i = 0; i < track->count; i++)
        free(track->series[i].points);
    free(track->series);
    memset(track, 0, sizeof *track);
}

/* --- fewer points --- */

static int count_runs(struct ws_decimate *d, size_t *out)
{
    int err = 0;
    *out = 0;
    for (size_t i = 0; err == 0 && i < ws_decimate_lanes(d); i++) {
        const struct ws_run *runs;
        size_t count = 0;
        err = ws_decimate_runs(d, i, &runs, &count);
        *out += count;
    }
    return err;
}

static int copy_runs(struct ws_decimate *from, struct ws_decimate *to)
{
    int err = 0;
    for (size_t i = 0; err == 0 && i < ws_decimate_lanes(from); i++) {
        const struct ws_run *runs;
        size_t count;
        err = ws_decimate_runs(from, i, &runs, &count);
        for (size_t k = 0; err == 0 && k < count; k++)
            err = ws_decimate_add_run(to, ws_decimate_lane(from, i), &runs[k]);
    }
    return err;
}

/* Widen the cells until all lanes together have few enough runs. */
static int bound_runs(struct ws_decimate **d, const struct ws_track_view *view)
{
    int64_t cell = ws_decimate_cell_ns(*d);
    size_t count = 0;
    int err = count_runs(*d, &count);
    while (err == 0 && count > WS_TRACK_POINTS_MAX && cell < view->to_ns - view->from_ns) {
        struct ws_decimate *wider = ws_decimate_new(view->from_ns, cell *= 2, false);
        err = wider ? copy_runs(*d, wider) : -WS_ENOMEM;
        if (err == 0)
            err = count_runs(wider, &count);
        ws_decimate_free(err == 0 ? *d : wider);
        if (err == 0)
            *d = wider;
    }
    return err;
}

/* --- waits --- */

struct wait_loader {
    const struct ws_track_view *view;
    struct ws_decimate *waits;
    uint64_t records;
};

static int take_wait(void *state, int64_t process_id, const uint8_t *at, uint32_t length)
{
    struct wait_loader *l = state;
    struct ws_rec_sync rec;
    struct ws_lane lane = {.process_id = process_id};
    struct ws_run run = {.merged = 1};
    int err;
    if (ws_wire_get_sync(&rec, at, length) != 0)
        return -WS_ECORRUPT;
    l->records++;
    if (!is_span(rec.start_ns, rec.end_ns) || rec.end_ns < l->view->from_ns || rec.start_ns >= l->view->to_ns)
        return 0;
    lane.kind = (enum ws_activity_kind)rec.sync_kind;
    lane.context = rec.context;
    lane.stream = rec.stream;
    run.start_ns = rec.start_ns;
    run.end_ns = rec.end_ns;
    run.busy_ns = run.longest_ns = rec.end_ns - rec.start_ns;
    run.item = rec.event;
    err = ws_decimate_add_run(l->waits, &lane, &run);
    return err == -WS_ELIMIT ? 0 : err;
}

int ws_wait_track_load(struct ws_store *store, int64_t session_id, const struct ws_track_view *view,
                       struct ws_decimate **out, uint64_t *records)
{
    struct wait_loader l = {view, ws_decimate_new(view->from_ns, view->cell_ns, false), 0};
    int err = l.waits ? each_record(store, session_id, WS_REC_SYNC, take_wait, &l) : -WS_ENOMEM;
    if (err == 0)
        err = bound_runs(&l.waits, view);
    *records = l.records;
    *out = l.waits;
    return err;
}

/* --- the queue --- */

/* A launch that waits for its call. */
struct launch {
    int64_t process_id;
    uint64_t correlation;
    int64_t start_ns, run_ns;
    int64_t called_ns, returned_ns; /* 0 = no call yet */
    int64_t kernel_id;
    uint32_t context, stream;
    uint16_t device;
};

struct queue_loader {
    const struct ws_track_view *view;
    struct ws_queue_track *track;
    struct launch *launches;
    size_t count, room;
};

/* Whether a row is a launch of the range that has a time. */
static bool is_wanted(const struct ws_track_view *view, const struct ws_activity_row *row)
{
    return is_span(row->start_ns, row->end_ns) && row->start_ns >= view->from_ns && row->start_ns < view->to_ns;
}

static int count_launches(void *state, const struct ws_activity_chunk *chunk)
{
    struct queue_loader *l = state;
    struct ws_activity_row row;
    if (chunk->kind != WS_ACTIVITY_KERNEL)
        return 0;
    for (uint32_t i = 0; i < chunk->rows; i++) {
        ws_activity_unpack(&row, chunk->data + (size_t)i * WS_ACTIVITY_BYTES);
        l->track->launches += is_wanted(l->view, &row);
    }
    return 0;
}

static int take_launches(void *state, const struct ws_activity_chunk *chunk)
{
    struct queue_loader *l = state;
    struct ws_activity_row row;
    if (chunk->kind != WS_ACTIVITY_KERNEL)
        return 0;
    for (uint32_t i = 0; i < chunk->rows; i++) {
        ws_activity_unpack(&row, chunk->data + (size_t)i * WS_ACTIVITY_BYTES);
        if (!is_wanted(l->view, &row) || row.correlation % l->track->one_in != 0)
            continue;
        if (l->count == l->room) {
            size_t room = l->room ? l->room * 2 : 1024;
            struct launch *grown = realloc(l->launches, room * sizeof *grown);
            if (!grown)
                return -WS_ENOMEM;
            l->launches = grown;
            l->room = room;
        }
        l->launches[l->count++] = (struct launch){
            chunk->process_id, row.correlation, row.start_ns, row.end_ns - row.start_ns, 0, 0, (int64_t)row.kernel_id,
            row.context,       row.stream,      row.device};
    }
    return 0;
}

static int by_call(const void *a, const void *b)
{
    const struct launch *x = a;
    const struct launch *y = b;
    if (x->process_id != y->process_id)
        return x->process_id < y->process_id ? -1 : 1;
    if (x->correlation != y->correlation)
        return x->correlation < y->correlation ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* The first of the launches of each call stays: a graph's later nodes wait for the earlier ones, not in a queue. */
static void keep_first(struct queue_loader *l)
{
    size_t n = 0;
    if (l->count > 0)
        qsort(l->launches, l->count, sizeof *l->launches, by_call);
    for (size_t i = 0; i < l->count; i++)
        if (n == 0 || l->launches[i].process_id != l->launches[n - 1].process_id ||
            l->launches[i].correlation != l->launches[n - 1].correlation)
            l->launches[n++] = l->launches[i];
    l->count = n;
}

static struct launch *launch_of(const struct queue_loader *l, int64_t process_id, uint64_t correlation)
{
    size_t low = 0;
    size_t high = l->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct launch *at = &l->launches[middle];
        if (at->process_id < process_id || (at->process_id == process_id && at->correlation < correlation))
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->count && l->launches[low].process_id == process_id && l->launches[low].correlation == correlation
               ? &l->launches[low]
               : NULL;
}

/* A runtime call contains driver calls of the same correlation: the program waited for the outermost. */
static int take_call(void *state, int64_t process_id, const uint8_t *at, uint32_t length)
{
    struct queue_loader *l = state;
    struct ws_rec_api rec;
    struct launch *launch;
    if (ws_wire_get_api(&rec, at, length) != 0)
        return -WS_ECORRUPT;
    if (!is_span(rec.start_ns, rec.end_ns) || rec.correlation % l->track->one_in != 0)
        return 0;
    launch = launch_of(l, process_id, rec.correlation);
    if (!launch)
        return 0;
    if (launch->returned_ns == 0 || rec.start_ns < launch->called_ns)
        launch->called_ns = rec.start_ns;
    if (rec.end_ns > launch->returned_ns)
        launch->returned_ns = rec.end_ns;
    return 0;
}

static int by_kernel(const void *a, const void *b)
{
    const struct launch *x = a;
    const struct launch *y = b;
    return (x->kernel_id > y->kernel_id) - (x->kernel_id < y->kernel_id);
}

static int count_kernel(struct ws_queue_track *t, const struct launch *launch, int64_t delay)
{
    struct ws_queue_kernel *k = t->kernel_count > 0 ? &t->kernels[t->kernel_count - 1] : NULL;
    if (!k || k->kernel_id != launch->kernel_id) {
        if (!t->kernels || t->kernel_count == t->kernel_room) {
            size_t room = t->kernel_room ? t->kernel_room * 2 : 64;
            struct ws_queue_kernel *grown = realloc(t->kernels, room * sizeof *grown);
            if (!grown)
                return -WS_ENOMEM;
            t->kernels = grown;
            t->kernel_room = room;
        }
        k = &t->kernels[t->kernel_count++];
        *k = (struct ws_queue_kernel){.kernel_id = launch->kernel_id, .delay_min = delay, .delay_max = delay};
    }
    k->launches++;
    k->delay_sum += delay;
    k->delay_min = delay < k->delay_min ? delay : k->delay_min;
    k->delay_max = delay > k->delay_max ? delay : k->delay_max;
    k->call_sum += launch->returned_ns - launch->called_ns;
    k->run_sum += launch->run_ns;
    return 0;
}

static int add_delays(struct queue_loader *l)
{
    int err = 0;
    if (l->count > 0)
        qsort(l->launches, l->count, sizeof *l->launches, by_kernel);
    for (size_t i = 0; err == 0 && i < l->count; i++) {
        const struct launch *launch = &l->launches[i];
        int64_t delay = launch->start_ns - launch->returned_ns;
        struct ws_lane lane = {.process_id = launch->process_id,
                               .kind = WS_ACTIVITY_KERNEL,
                               .device = launch->device,
                               .context = launch->context,
                               .stream = launch->stream};
        struct ws_run run = {.start_ns = launch->start_ns,
                             .end_ns = launch->start_ns,
                             .busy_ns = delay,
                             .longest_ns = delay,
                             .item = (uint32_t)launch->kernel_id,
                             .merged = 1};
        if (launch->returned_ns == 0)
            continue;
        l->track->joined++;
        err = count_kernel(l->track, launch, delay);
        if (err == 0)
            err = ws_decimate_add_run(l->track->points, &lane, &run);
        err = err == -WS_ELIMIT ? 0 : err;
    }
    return err;
}

static int by_delay(const void *a, const void *b)
{
    const struct ws_queue_kernel *x = a;
    const struct ws_queue_kernel *y = b;
    if (x->delay_sum != y->delay_sum)
        return x->delay_sum > y->delay_sum ? -1 : 1;
    return (x->kernel_id > y->kernel_id) - (x->kernel_id < y->kernel_id);
}

int ws_queue_track_load(struct ws_store *store, int64_t session_id, const struct ws_track_view *view,
                        struct ws_queue_track *out)
{
    struct queue_loader l = {.view = view, .track = out};
    struct ws_activity_range range = {0, view->from_ns, view->to_ns};
    int err;
    memset(out, 0, sizeof *out);
    out->one_in = 1;
    out->points = ws_decimate_new(view->from_ns, view->cell_ns, false);
    err = out->points ? ws_store_each_activity_in(store, session_id, &range, count_launches, &l) : -WS_ENOMEM;
    if (err == 0) {
        out->one_in = 1 + out->launches / WS_TRACK_LAUNCHES_MAX;
        err = ws_store_each_activity_in(store, session_id, &range, take_launches, &l);
    }
    if (err == 0) {
        keep_first(&l);
        err = each_record(store, session_id, WS_REC_API, take_call, &l);
    }
    if (err == 0)
        err = add_delays(&l);
    free(l.launches);
    if (err == 0)
        err = bound_runs(&out->points, view);
    if (out->kernel_count > 0)
        qsort(out->kernels, out->kernel_count, sizeof *out->kernels, by_delay);
    return err;
}

void ws_queue_track_free(struct ws_queue_track *track)
{
    ws_decimate_free(track->points);
    free(track->kernels);
    memset(track, 0, sizeof *track);
}
