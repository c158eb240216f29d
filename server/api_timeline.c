/* SPDX-License-Identifier: MIT
 * api_timeline.c: the timeline of a session: what lanes there are, and the events of a range as columns.
 * A first request reads all of a session once, into an overview that is kept and grows with it; wide ranges
 * are answered from it, narrow ones from the chunks of the range. Layout of the columns: docs/api.md. */
#include "../analyzer/err.h"
#include "api.h"
#include "decimate.h"
#include "report.h"
#include "timeline_facts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { OVERVIEWS = 4, FIRST_CELL_NS = 256, HEADER_BYTES = 64, COLUMNS = 6 };

/* --- overviews: one session each, least recently used goes --- */

struct overview {
    int64_t session_id, last_chunk;
    struct ws_decimate *events;
    uint64_t used;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below, and what is read from it */
static struct overview overviews[OVERVIEWS];
static uint64_t uses;

static void forget(struct overview *o)
{
    ws_decimate_free(o->events);
    memset(o, 0, sizeof *o);
}

void ws_api_timeline_forget(int64_t session_id)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < OVERVIEWS; i++)
        if (overviews[i].session_id == session_id)
            forget(&overviews[i]);
    pthread_mutex_unlock(&lock);
}

static bool was_replayed(const struct ws_activity_row *row)
{
    return row->start_ns == 0 && row->end_ns == 0;
}

static int take_chunk(void *state, const struct ws_activity_chunk *chunk)
{
    struct overview *o = state;
    struct ws_activity_row row;
    for (uint32_t i = 0; i < chunk->rows; i++) {
        int err;
        ws_activity_unpack(&row, chunk->data + (size_t)i * WS_ACTIVITY_BYTES);
        if (was_replayed(&row))
            continue;
        err = ws_decimate_add(o->events, chunk->process_id, chunk->kind, &row);
        if (err != 0 && err != -WS_ELIMIT)
            return err;
    }
    o->last_chunk = chunk->id;
    return 0;
}

static struct overview *find_overview(int64_t session_id)
{
    struct overview *oldest = &overviews[0];
    for (size_t i = 0; i < OVERVIEWS; i++) {
        if (overviews[i].session_id == session_id)
            return &overviews[i];
        if (overviews[i].used < oldest->used)
            oldest = &overviews[i];
    }
    forget(oldest);
    oldest->session_id = session_id;
    oldest->events = ws_decimate_new(0, FIRST_CELL_NS, true);
    return oldest;
}

/* The session's overview, brought up to date. Under lock. */
static int get_overview(struct ws_store *store, int64_t session_id, struct overview **out)
{
    struct overview *o = find_overview(session_id);
    struct ws_activity_range range = {o->last_chunk, INT64_MIN, INT64_MAX};
    int err = o->events ? ws_store_each_activity_in(store, session_id, &range, take_chunk, o) : -WS_ENOMEM;
    if (err != 0) {
        forget(o); /* half of a chunk may be in it */
        return err;
    }
    o->used = ++uses;
    *out = o;
    return 0;
}

int ws_api_timeline_range(struct ws_store *store, int64_t session_id, int64_t *from_ns, int64_t *to_ns, bool *found)
{
    struct overview *o = NULL;
    int err;
    *found = false;
    pthread_mutex_lock(&lock);
    err = get_overview(store, session_id, &o);
    if (err == 0)
        *found = ws_decimate_range(o->events, from_ns, to_ns);
    pthread_mutex_unlock(&lock);
    return err;
}

/* --- base --- */

static int take_start(void *state, const struct ws_session_row *row)
{
    *(int64_t *)state = row->started_ns;
    return 0;
}

/* What times are relative to: the start of the session, known before its first event. */
int ws_api_base_ns(struct ws_store *store, int64_t session_id, int64_t *out)
{
    *out = 0;
    return ws_store_get_session(store, session_id, take_start, out);
}

/* --- lanes --- */

struct names {
    struct ws_json *j;
    struct ws_arena arena;
};

static int put_name(void *state, const struct ws_kernel_row *row)
{
    struct names *n = state;
    struct ws_name name;
    ws_name_of(&n->arena, row->mangled, &name);
    ws_json_object_line(n->j);
    ws_json_put_int(n->j, "id", row->id);
    ws_report_json_names(n->j, &name);
    ws_json_end(n->j);
    ws_arena_fini(&n->arena);
    memset(&n->arena, 0, sizeof n->arena);
    return 0;
}

struct pids {
    int64_t id[WS_LANES_MAX];
    uint32_t pid[WS_LANES_MAX];
    size_t count;
};

static int take_pid(void *state, const struct ws_process_row *row)
{
    struct pids *p = state;
    if (p->count < WS_LANES_MAX) {
        p->id[p->count] = row->id;
        p->pid[p->count++] = row->pid;
    }
    return 0;
}

static uint32_t pid_of(const struct pids *p, int64_t process_id)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->id[i] == process_id)
            return p->pid[i];
    return 0;
}

static void put_lanes(struct ws_json *j, const struct ws_decimate *events, const struct pids *pids)
{
    static const char *const kinds[] = {"", "kernel", "memcpy", "memset"};
    ws_json_key(j, "lanes");
    ws_json_array(j);
    for (size_t i = 0; i < ws_decimate_lanes(events); i++) {
        const struct ws_lane *l = ws_decimate_lane(events, i);
        ws_json_object_line(j);
        ws_json_put_uint(j, "lane", i);
        ws_json_put_text(j, "kind", kinds[l->kind]);
        ws_json_put_int(j, "process", l->process_id);
        ws_json_put_uint(j, "pid", pid_of(pids, l->process_id));
        ws_json_put_uint(j, "device", l->device);
        ws_json_put_uint(j, "context", l->context);
        ws_json_put_uint(j, "stream", l->stream);
        ws_json_put_bool(j, "legacy", l->stream == WS_LEGACY_STREAM);
        ws_json_put_uint(j, "events", l->events);
        ws_json_put_int(j, "busy_ns", l->busy_ns);
        ws_json_end(j);
    }
    ws_json_end(j);
}

static void put_overview(struct ws_json *j, int64_t session_id, int64_t base_ns, const struct ws_decimate *events,
                         const struct pids *pids)
{
    char base[24];
    int64_t from = base_ns;
    int64_t to = base_ns;
    uint64_t count = 0;
    for (size_t i = 0; i < ws_decimate_lanes(events); i++)
        count += ws_decimate_lane(events, i)->events;
    ws_decimate_range(events, &from, &to);
    snprintf(base, sizeof base, "%" PRId64, base_ns);
    ws_json_put_int(j, "session", session_id);
    ws_json_put_text(j, "base_ns", base);
    ws_json_put_int(j, "from", from - base_ns);
    ws_json_put_int(j, "to", to - base_ns);
    ws_json_put_uint(j, "events", count);
    ws_json_put_uint(j, "hidden", ws_decimate_hidden(events));
    put_lanes(j, events, pids);
}

void ws_api_timeline(struct ws_call *call)
{
    int64_t id = call->request->ids[0];
    struct ws_json *j = ws_call_json(call);
    struct names names = {.j = j};
    struct ws_store *store;
    struct overview *o = NULL;
    struct pids *pids;
    int64_t base;
    int err;
    if (ws_call_unchanged(call) || (store = ws_call_store(call)) == NULL)
        return;
    pids = calloc(1, sizeof *pids);
    err = pids ? ws_api_base_ns(store, id, &base) : -WS_ENOMEM;
    if (err == 0)
        err = ws_store_each_process(store, id, take_pid, pids);
    pthread_mutex_lock(&lock);
    if (err == 0)
        err = get_overview(store, id, &o);
    if (err == 0) {
        ws_json_object(j);
        put_overview(j, id, base, o->events, pids);
    }
    pthread_mutex_unlock(&lock);
    if (err == 0) {
        ws_json_key(j, "kernels");
        ws_json_array(j);
        err = ws_store_each_kernel(store, id, put_name, &names);
        ws_json_end(j);
        ws_json_end(j);
    }
    free(pids);
    if (err != 0)
        ws_call_fail_store(call, err);
}

/* --- events of a range --- */

struct view {
    int64_t from_ns, to_ns; /* absolute */
    int64_t lane;           /* -1 = all */
    int64_t px, base_ns;
    struct ws_decimate *events;
    uint64_t seen;
    const struct ws_decimate *overview;
};

static int add_visible(struct view *v, const struct ws_lane *lane, const struct ws_run *run)
{
    int err;
    if (run->end_ns < v->from_ns || run->start_ns >= v->to_ns)
        return 0;
    v->seen += run->merged;
    err = ws_decimate_add_run(v->events, lane, run);
    return err == -WS_ELIMIT ? 0 : err;
}

static int take_visible(void *state, const struct ws_activity_chunk *chunk)
{
    struct view *v = state;
    struct ws_activity_row row;
    const struct ws_lane *only = v->lane >= 0 ? ws_decimate_lane(v->overview, (size_t)v->lane) : NULL;
    for (uint32_t i = 0; i < chunk->rows; i++) {
        int err;
        ws_activity_unpack(&row, chunk->data + (size_t)i * WS_ACTIVITY_BYTES);
        if (was_replayed(&row) || row.end_ns < v->from_ns || row.start_ns >= v->to_ns)
            continue;
        if (only && (only->kind != chunk->kind || only->process_id != chunk->process_id || only->stream != row.stream ||
                     only->context != row.context || only->device != row.device))
            continue;
        v->seen++;
        err = ws_decimate_add(v->events, chunk->process_id, chunk->kind, &row);
        if (err != 0 && err != -WS_ELIMIT)
            return err;
    }
    return 0;
}

static int from_overview(struct view *v, struct ws_decimate *overview)
{
    int err = 0;
    for (size_t i = 0; err == 0 && i < ws_decimate_lanes(overview); i++) {
        const struct ws_run *runs;
        size_t count;
        if (v->lane >= 0 && (size_t)v->lane != i)
            continue;
        err = ws_decimate_runs(overview, i, &runs, &count);
        for (size_t k = 0; err == 0 && k < count; k++)
            err = add_visible(v, ws_decimate_lane(overview, i), &runs[k]);
    }
    return err;
}

/* Fill v->events; its lanes are numbered as the overview's. Under lock. */
static int collect(struct ws_store *store, int64_t session_id, struct ws_decimate *overview, struct view *v)
{
    int64_t cell = (v->to_ns - v->from_ns) / v->px;
    struct ws_activity_range range = {0, v->from_ns, v->to_ns};
    int err = 0;
    v->overview = overview;
    v->events = ws_decimate_new(v->from_ns, cell > 0 ? cell : 1, false);
    if (!v->events)
        return -WS_ENOMEM;
    for (size_t i = 0; err == 0 && i < ws_decimate_lanes(overview); i++)
        err = ws_decimate_add_lane(v->events, ws_decimate_lane(overview, i));
    if (err != 0)
        return err;
    if (ws_decimate_cell_ns(overview) <= cell)
        return from_overview(v, overview);
    return ws_store_each_activity_in(store, session_id, &range, take_visible, v);
}

/* --- columns --- */

struct columns {
    size_t count, room;
    double *start;
    float *duration, *busy;
    uint32_t *item, *merged;
    uint16_t *lane;
    bool has_merged;
};

static void free_columns(struct columns *c)
{
    free(c->start);
    free(c->duration);
    free(c->busy);
    free(c->item);
    free(c->merged);
    free(c->lane);
}

static bool grow(void *array, size_t room, size_t size)
{
    void **at = array;
    void *bigger = realloc(*at, room * size);
    if (bigger)
        *at = bigger;
    return bigger != NULL;
}

static int room_for(struct columns *c, size_t more)
{
    size_t room = c->count + more;
    if (room <= c->room)
        return 0;
    room = room > 2 * c->room ? room : 2 * c->room;
    if (!grow(&c->start, room, sizeof *c->start) || !grow(&c->duration, room, sizeof *c->duration) ||
        !grow(&c->busy, room, sizeof *c->busy) || !grow(&c->item, room, sizeof *c->item) ||
        !grow(&c->merged, room, sizeof *c->merged) || !grow(&c->lane, room, sizeof *c->lane))
        return -WS_ENOMEM;
    c->room = room;
    return 0;
}

static int fill_columns(struct view *v, struct columns *c)
{
    int err = 0;
    for (size_t lane = 0; err == 0 && lane < ws_decimate_lanes(v->events); lane++) {
        const struct ws_run *runs;
        size_t count;
        err = ws_decimate_runs(v->events, lane, &runs, &count);
        if (err == 0)
            err = room_for(c, count);
        for (size_t i = 0; err == 0 && i < count; i++) {
            size_t n = c->count++;
            c->start[n] = (double)(runs[i].start_ns - v->base_ns);
            c->duration[n] = (float)(runs[i].end_ns - runs[i].start_ns);
            c->busy[n] = (float)runs[i].busy_ns;
            c->item[n] = runs[i].item;
            c->merged[n] = runs[i].merged;
            c->lane[n] = (uint16_t)lane;
            c->has_merged |= runs[i].merged > 1;
        }
    }
    return err;
}

static void put_u32(unsigned char *at, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(v >> (8 * i));
}

static void put_u64(unsigned char *at, uint64_t v)
{
    put_u32(at, (uint32_t)v);
    put_u32(at + 4, (uint32_t)(v >> 32));
}

static void put_f64(unsigned char *at, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    put_u64(at, bits);
}

/* This program runs on little-endian machines only (x86-64, arm64), so arrays go out as they are. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "columns are written in the machine's byte order");

static void write_columns(FILE *out, const struct view *v, const struct columns *c)
{
    static const unsigned char zeros[8] = {0};
    const void *column[COLUMNS] = {c->start, c->duration, c->busy, c->item, c->merged, c->lane};
    static const size_t size[COLUMNS] = {8, 4, 4, 4, 4, 2};
    unsigned char head[HEADER_BYTES] = "WSTL";
    size_t at = HEADER_BYTES;
    put_u32(head + 4, 1u | (uint32_t)HEADER_BYTES << 16);
    put_u32(head + 8, (uint32_t)c->count);
    put_u32(head + 12, c->has_merged ? 1 : 0);
    put_f64(head + 16, (double)(v->from_ns - v->base_ns));
    put_f64(head + 24, (double)(v->to_ns - v->base_ns));
    put_u64(head + 32, v->seen);
    for (size_t i = 0; i < COLUMNS; i++) {
        put_u32(head + 40 + 4 * i, (uint32_t)at);
        at += (size[i] * c->count + 7) / 8 * 8;
    }
    fwrite(head, 1, sizeof head, out);
    for (size_t i = 0; i < COLUMNS; i++) {
        size_t bytes = size[i] * c->count;
        if (bytes > 0)
            fwrite(column[i], 1, bytes, out);
        fwrite(zeros, 1, (8 - bytes % 8) % 8, out);
    }
}

bool ws_api_view(struct ws_call *call, int64_t base_ns, int64_t first_ns, int64_t last_ns, int64_t *from_ns,
                 int64_t *to_ns, int64_t *px)
{
    int64_t from = first_ns - base_ns;
    int64_t to = last_ns - base_ns + 1;
    if (!ws_call_int(call, "from", -(1ll << 53), 1ll << 53, &from) ||
        !ws_call_int(call, "to", -(1ll << 53), 1ll << 53, &to) || !ws_call_int(call, "px", 1, 8192, px))
        return false;
    if (to <= from) {
        ws_call_fail(call, 400, "bad_parameter", "", "from must be before to");
        return false;
    }
    *from_ns = base_ns + from;
    *to_ns = base_ns + to;
    return true;
}

/* from, to, px, lane; left out: all there is. */
static bool read_view(struct ws_call *call, const struct ws_decimate *overview, struct view *v)
{
    int64_t first = v->base_ns;
    int64_t last = v->base_ns;
    int64_t lanes = (int64_t)ws_decimate_lanes(overview);
    ws_decimate_range(overview, &first, &last);
    if (!ws_api_view(call, v->base_ns, first, last, &v->from_ns, &v->to_ns, &v->px) ||
        !ws_call_int(call, "lane", 0, lanes > 0 ? lanes - 1 : 0, &v->lane))
        return false;
    if (lanes == 0)
        v->lane = -1;
    return true;
}

void ws_api_timeline_data(struct ws_call *call)
{
    int64_t id = call->request->ids[0];
    struct view v = {.lane = -1, .px = 1600};
    struct columns c = {0};
    struct overview *o = NULL;
    struct ws_store *store;
    bool good = true;
    int err;
    if (ws_call_unchanged(call) || (store = ws_call_store(call)) == NULL)
        return;
    err = ws_api_base_ns(store, id, &v.base_ns);
    pthread_mutex_lock(&lock);
    if (err == 0)
        err = get_overview(store, id, &o);
    if (err == 0)
        good = read_view(call, o->events, &v);
    if (err == 0 && good)
        err = collect(store, id, o->events, &v);
    pthread_mutex_unlock(&lock);
    if (err == 0 && good)
        err = fill_columns(&v, &c);
    if (err == 0 && good)
        write_columns(call->out, &v, &c);
    ws_decimate_free(v.events);
    free_columns(&c);
    if (err != 0)
        ws_call_fail_store(call, err);
}
