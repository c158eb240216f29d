/* SPDX-License-Identifier: MIT
 * api_timeline_host.c: what stands beside the device's work on the timeline: allocated bytes, waits, queue delays.
 * host_track.c reads them; here they become JSON, arrays of one length each, times in ns since the session's base. */
#include "../analyzer/err.h"
#include "api.h"
#include "host_track.h"
#include "report.h"
#include "session_cache.h"
#include "timeline_facts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A stream of a record that has none. */
#define NO_STREAM 0xffffffffu

struct view {
    struct ws_track_view at;
    int64_t base_ns;
};

/* from, to, px of the request; left out: all there is of the device's work and of the records of this type. */
static int read_view(struct ws_call *call, struct ws_store *store, uint16_t type, struct view *v, bool *good)
{
    int64_t id = call->request->ids[0];
    int64_t from = 0;
    int64_t to = 0;
    int64_t px = 1600;
    bool has_work = false;
    bool has_records = false;
    int64_t own_from;
    int64_t own_to;
    int err = ws_api_base_ns(store, id, &v->base_ns);
    if (err == 0)
        err = ws_api_timeline_range(store, id, &from, &to, &has_work);
    if (err == 0 && type != 0)
        err = ws_track_range(store, id, type, &own_from, &own_to, &has_records);
    if (err != 0)
        return err;
    if (has_records) {
        from = has_work && from < own_from ? from : own_from;
        to = has_work && to > own_to ? to : own_to;
    } else if (!has_work) {
        from = to = v->base_ns;
    }
    *good = ws_api_view(call, v->base_ns, from, to, &v->at.from_ns, &v->at.to_ns, &px);
    v->at.cell_ns = (v->at.to_ns - v->at.from_ns) / px;
    v->at.cell_ns = v->at.cell_ns > 0 ? v->at.cell_ns : 1;
    return 0;
}

static void put_view(struct ws_json *j, int64_t session_id, const struct view *v)
{
    char base[24];
    snprintf(base, sizeof base, "%" PRId64, v->base_ns);
    ws_json_put_int(j, "session", session_id);
    ws_json_put_text(j, "base_ns", base);
    ws_json_put_int(j, "from", v->at.from_ns - v->base_ns);
    ws_json_put_int(j, "to", v->at.to_ns - v->base_ns);
}

/* Why there is nothing to see; null where there is. */
static void put_why(struct ws_json *j, bool has_any)
{
    ws_json_put_text(j, "why", has_any ? NULL : ws_why_code(WS_WHY_NOT_COLLECTED));
}

static void put_stream(struct ws_json *j, uint32_t stream)
{
    if (stream == NO_STREAM)
        ws_json_put_null(j, "stream");
    else
        ws_json_put_uint(j, "stream", stream);
    ws_json_put_bool(j, "legacy", stream == WS_LEGACY_STREAM);
}

/* --- allocated bytes --- */

static const char *kind_of_memory(uint32_t kind)
{
    static const char *const names[] = {"unknown", "pageable", "pinned",        "device",
                                        "array",   "managed",  "device-static", "managed-static"};
    return kind < sizeof names / sizeof names[0] ? names[kind] : "unknown";
}

enum memory_column { COLUMN_T, COLUMN_LOW, COLUMN_HIGH, COLUMN_LAST };

static void put_memory_column(struct ws_json *j, const char *key, const struct ws_memory_series *s, int64_t base_ns,
                              enum memory_column column)
{
    ws_json_key(j, key);
    ws_json_array_line(j);
    for (size_t i = 0; i < s->count; i++) {
        const struct ws_memory_point *p = &s->points[i];
        ws_json_int(j, column == COLUMN_T      ? p->t_ns - base_ns
                       : column == COLUMN_LOW  ? p->low
                       : column == COLUMN_HIGH ? p->high
                                               : p->last);
    }
    ws_json_end(j);
}

static void put_series(struct ws_json *j, const struct ws_memory_series *s, int64_t base_ns)
{
    ws_json_object(j);
    ws_json_put_int(j, "process", s->process_id);
    ws_json_put_uint(j, "device", s->device);
    ws_json_put_text(j, "kind", kind_of_memory(s->kind));
    ws_json_put_uint(j, "allocations", s->allocations);
    ws_json_put_uint(j, "releases", s->releases);
    ws_json_put_int(j, "before", s->before);
    ws_json_put_int(j, "peak", s->peak);
    ws_json_put_int(j, "end", s->end);
    ws_json_put_int(j, "unseen", s->unseen);
    put_memory_column(j, "t", s, base_ns, COLUMN_T);
    put_memory_column(j, "low", s, base_ns, COLUMN_LOW);
    put_memory_column(j, "high", s, base_ns, COLUMN_HIGH);
    put_memory_column(j, "last", s, base_ns, COLUMN_LAST);
    ws_json_end(j);
}

void ws_api_timeline_memory(struct ws_call *call)
{
    int64_t id = call->request->ids[0];
    struct ws_json *j = ws_call_json(call);
    struct ws_memory_track track = {.count = 0};
    struct ws_store *store;
    struct view v;
    bool good = false;
    int err;
    if (ws_call_unchanged(call) || (store = ws_call_store(call)) == NULL)
        return;
    err = read_view(call, store, WS_REC_MEMORY, &v, &good);
    if (err == 0 && !good)
        return;
    if (err == 0)
        err = ws_memory_track_load(store, id, &v.at, &track);
    if (err == 0) {
        ws_json_object(j);
        put_view(j, id, &v);
        ws_json_put_uint(j, "records", track.records);
        ws_json_put_uint(j, "left_out", track.left_out);
        put_why(j, track.records > 0);
        ws_json_key(j, "series");
        ws_json_array(j);
        for (size_t i = 0; i < track.count; i++)
            put_series(j, &track.series[i], v.base_ns);
        ws_json_end(j);
        ws_json_end(j);
    }
    ws_memory_track_free(&track);
    if (err != 0)
        ws_call_fail_store(call, err);
}

/* --- runs of a lane as columns --- */

enum run_column { RUN_START, RUN_END, RUN_ITEM, RUN_LONGEST, RUN_BUSY, RUN_MERGED };

static int64_t of_run(const struct ws_run *r, enum run_column column, int64_t base_ns)
{
    switch (column) {
    case RUN_START:
        return r->start_ns - base_ns;
    case RUN_END:
        return r->end_ns - base_ns;
    case RUN_ITEM:
        return r->item;
    case RUN_LONGEST:
        return r->longest_ns;
    case RUN_BUSY:
        return r->busy_ns;
    default:
        return r->merged;
    }
}

static void put_runs(struct ws_json *j, const char *key, const struct ws_run *runs, size_t count,
                     enum run_column column, int64_t base_ns)
{
    ws_json_key(j, key);
    ws_json_array_line(j);
    for (size_t i = 0; i < count; i++)
        ws_json_int(j, of_run(&runs[i], column, base_ns));
    ws_json_end(j);
}

/* --- waits --- */

/* CUpti_ActivitySynchronizationType. */
static const struct {
    uint32_t kind;
    const char *key, *title;
    bool blocks_host;
} wait_kinds[] = {
    {1, "event", "the host waits for an event", true},
    {2, "stream-event", "a stream waits for an event", false},
    {3, "stream", "the host waits for a stream", true},
    {4, "context", "the host waits for all work of a context", true},
};
enum { WAIT_KINDS = sizeof wait_kinds / sizeof wait_kinds[0] };

static const char *kind_of_wait(uint32_t kind)
{
    for (size_t i = 0; i < WAIT_KINDS; i++)
        if (wait_kinds[i].kind == kind)
            return wait_kinds[i].key;
    return "unknown";
}

static void put_wait_kinds(struct ws_json *j)
{
    ws_json_key(j, "kinds");
    ws_json_array(j);
    for (size_t i = 0; i < WAIT_KINDS; i++) {
        ws_json_object_line(j);
        ws_json_put_text(j, "kind", wait_kinds[i].key);
        ws_json_put_text(j, "title", wait_kinds[i].title);
        ws_json_put_bool(j, "blocks_host", wait_kinds[i].blocks_host);
        ws_json_end(j);
    }
    ws_json_end(j);
}

static int put_wait_lane(struct ws_json *j, struct ws_decimate *waits, size_t lane, int64_t base_ns)
{
    const struct ws_lane *l = ws_decimate_lane(waits, lane);
    const struct ws_run *runs;
    size_t count;
    int err = ws_decimate_runs(waits, lane, &runs, &count);
    if (err != 0)
        return err;
    ws_json_object(j);
    ws_json_put_text(j, "kind", kind_of_wait((uint32_t)l->kind));
    ws_json_put_int(j, "process", l->process_id);
    ws_json_put_uint(j, "context", l->context);
    put_stream(j, l->stream);
    ws_json_put_uint(j, "events", l->events);
    ws_json_put_int(j, "busy_ns", l->busy_ns);
    put_runs(j, "start", runs, count, RUN_START, base_ns);
    put_runs(j, "end", runs, count, RUN_END, base_ns);
    put_runs(j, "event", runs, count, RUN_ITEM, base_ns);
    put_runs(j, "merged", runs, count, RUN_MERGED, base_ns);
    ws_json_end(j);
    return 0;
}

void ws_api_timeline_waits(struct ws_call *call)
{
    int64_t id = call->request->ids[0];
    struct ws_json *j = ws_call_json(call);
    struct ws_decimate *waits = NULL;
    struct ws_store *store;
    struct view v;
    uint64_t records = 0;
    bool good = false;
    int err;
    if (ws_call_unchanged(call) || (store = ws_call_store(call)) == NULL)
        return;
    err = read_view(call, store, WS_REC_SYNC, &v, &good);
    if (err == 0 && !good)
        return;
    if (err == 0)
        err = ws_wait_track_load(store, id, &v.at, &waits, &records);
    if (err == 0) {
        ws_json_object(j);
        put_view(j, id, &v);
        ws_json_put_uint(j, "records", records);
        put_why(j, records > 0);
        put_wait_kinds(j);
        ws_json_key(j, "lanes");
        ws_json_array(j);
        for (size_t i = 0; err == 0 && i < ws_decimate_lanes(waits); i++)
            err = put_wait_lane(j, waits, i, v.base_ns);
        ws_json_end(j);
        ws_json_end(j);
    }
    ws_decimate_free(waits);
    if (err != 0)
        ws_call_fail_store(call, err);
}

/* --- the queue --- */

static int put_queue_lane(struct ws_json *j, struct ws_decimate *points, size_t lane, int64_t base_ns)
{
    const struct ws_lane *l = ws_decimate_lane(points, lane);
    const struct ws_run *runs;
    size_t count;
    int err = ws_decimate_runs(points, lane, &runs, &count);
    if (err != 0)
        return err;
    ws_json_object(j);
    ws_json_put_int(j, "process", l->process_id);
    ws_json_put_uint(j, "device", l->device);
    ws_json_put_uint(j, "context", l->context);
    put_stream(j, l->stream);
    ws_json_put_uint(j, "launches", l->events);
    put_runs(j, "start", runs, count, RUN_START, base_ns);
    put_runs(j, "longest", runs, count, RUN_LONGEST, base_ns);
    put_runs(j, "sum", runs, count, RUN_BUSY, base_ns);
    put_runs(j, "kernel", runs, count, RUN_ITEM, base_ns);
    put_runs(j, "merged", runs, count, RUN_MERGED, base_ns);
    ws_json_end(j);
    return 0;
}

static const struct ws_name *name_of(const struct ws_session *s, int64_t kernel_id)
{
    for (size_t i = 0; i < s->kernel_count; i++)
        if (s->kernels[i].row.id == kernel_id)
            return &s->kernels[i].name;
    return NULL;
}

static void put_queue_kernels(struct ws_json *j, const struct ws_queue_track *track, const struct ws_session *s)
{
    ws_json_key(j, "kernels");
    ws_json_array(j);
    for (size_t i = 0; i < track->kernel_count; i++) {
        const struct ws_queue_kernel *k = &track->kernels[i];
        const struct ws_name *name = name_of(s, k->kernel_id);
        double n = (double)k->launches;
        ws_json_object_line(j);
        ws_json_put_int(j, "kernel", k->kernel_id);
        if (name)
            ws_report_json_names(j, name);
        ws_json_put_uint(j, "launches", k->launches);
        ws_json_put_number(j, "delay_mean", (double)k->delay_sum / n);
        ws_json_put_int(j, "delay_min", k->delay_min);
        ws_json_put_int(j, "delay_max", k->delay_max);
        ws_json_put_number(j, "call_mean", (double)k->call_sum / n);
        ws_json_put_number(j, "run_mean", (double)k->run_sum / n);
        ws_json_end(j);
    }
    ws_json_end(j);
}

static int put_queue(struct ws_call *call, const struct view *v, struct ws_queue_track *track,
                     const struct ws_session *s)
{
    struct ws_json *j = ws_call_json(call);
    int err = 0;
    ws_json_object(j);
    put_view(j, call->request->ids[0], v);
    ws_json_put_uint(j, "launches", track->launches);
    ws_json_put_uint(j, "joined", track->joined);
    ws_json_put_uint(j, "one_in", track->one_in);
    put_why(j, track->joined > 0 || track->launches == 0);
    ws_json_key(j, "lanes");
    ws_json_array(j);
    for (size_t i = 0; err == 0 && i < ws_decimate_lanes(track->points); i++)
        err = put_queue_lane(j, track->points, i, v->base_ns);
    ws_json_end(j);
    put_queue_kernels(j, track, s);
    ws_json_end(j);
    return err;
}

void ws_api_timeline_queue(struct ws_call *call)
{
    struct ws_queue_track track = {.kernel_count = 0};
    const struct ws_cached *c;
    struct ws_store *store;
    struct view v;
    bool good = false;
    int err;
    if (ws_call_unchanged(call) || (store = ws_call_store(call)) == NULL)
        return;
    err = read_view(call, store, 0, &v, &good);
    if (err == 0 && !good)
        return;
    if (err == 0)
        err = ws_queue_track_load(store, call->request->ids[0], &v.at, &track);
    if (err == 0 && ws_call_session(call, call->request->ids[0], &c)) {
        err = put_queue(call, &v, &track, c->session);
        ws_session_cache_give(c);
    }
    ws_queue_track_free(&track);
    if (err != 0)
        ws_call_fail_store(call, err);
}
