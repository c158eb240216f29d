/* SPDX-License-Identifier: MIT
 * timeline_facts.c: rows of one GPU and process become the numbers of analyzer/timeline.h. Three steps: choose the
 * busiest (process, device); load the host's calls; sweep over the device's work in order of its start, which
 * is never in memory as a whole. Judges nothing: thresholds are in the rules. Times here are ns; facts are seconds. */
#include "timeline_facts.h"

#include "../analyzer/err.h"
#include "../analyzer/gpus.h"
#include "collected.h"
#include "work_order.h"

#include <stdlib.h>
#include <string.h>

/* Values of CUPTI and CUDA enums as the wire carries them (collector/wire.def). */
enum { COPY_HTOD = 1, COPY_DTOH = 2 };
enum { MEMORY_PAGEABLE = 1, MEMORY_PINNED = 2, MEMORY_DEVICE = 3, MEMORY_ARRAY = 4 };
enum { STATED_HTOD = 1, STATED_DTOH = 2, STATED_DTOD = 3 };
enum { SYNC_EVENT = 1, SYNC_STREAM = 3, SYNC_CONTEXT = 4 };
enum { UVM_HTOD = 1, UVM_DTOH = 2, UVM_GPU_FAULT = 4, UVM_BY_USER = 1 };
enum { DOMAIN_DRIVER = 1, DOMAIN_RUNTIME = 2 };
enum { ALLOCATION = 1, RELEASE = 2 };
/* An event or stream that is asked and not ready is no failure. */
#define NOT_READY 600u

#define LARGE_COPY ((uint64_t)1 << 20) /* W32: smaller copies are staged whatever the memory */
#define TINY_COPY 64u                  /* W36 */
/* A wait that ends so soon after a tiny copy waited for it (cudaMemcpyAsync + cudaStreamSynchronize). */
#define WAITS_FOR_COPY_NS 200000
/* Records of the host that are held, of each type; of a session with more, sums are lower bounds. */
#define ROWS_MAX ((size_t)1 << 18)
/* Launches with their parameters take 168 bytes: chains are looked for in so many. */
#define CHAIN_LAUNCHES_MAX ((size_t)1 << 16)
#define PARAMS 16
#define GROUPS_MAX 256

enum call_class { CALL_OTHER, CALL_LAUNCH, CALL_COPY, CALL_ALLOC };
struct call {
    struct ws_span at;
    uint64_t correlation;
    uint32_t return_code;
    uint8_t domain, class;
};

struct name_class {
    uint32_t name;
    uint8_t class;
};

struct group {
    int64_t process_id;
    double busy_ns; /* work that overlaps counts twice: good enough to choose by */
    uint32_t device;
};

#define ARRAY(type)         \
    struct {                \
        type *at;           \
        size_t count, room; \
    }

/* A launch that was profiled: how long it held the program, and the launch itself. Or, with none, time in which nothing
 * was collected. */
struct held {
    struct ws_span at;
    struct ws_work launch;
    uint32_t device;
};

struct loader {
    struct ws_store *store;
    struct group groups[GROUPS_MAX];
    size_t group_count;
    const struct group *chosen;
    ARRAY(struct call) calls;              /* launches, copies, allocations and failures; by correlation */
    ARRAY(struct ws_span) syncs;           /* host-blocking; by start */
    ARRAY(struct ws_span) waits;           /* the same, by end */
    ARRAY(struct ws_rec_copy_call) copies; /* by correlation */
    ARRAY(struct ws_rec_launch_call) launches;
    uint64_t *params; /* PARAMS of each launch */
    size_t params_room;
    ARRAY(struct name_class) names;
    ARRAY(struct ws_span) faults;
    double fault_groups, migrated, allocated; /* allocated: device bytes, less what was released */
    bool is_cut;                              /* there were more rows than are held */
    ARRAY(struct held) held;                  /* while launches were profiled: cut out of the times above */
    int64_t unplaced_ns;                      /* profiling of which nobody knows when it was */
    bool has_held;                            /* held was loaded */
    bool has_host;                            /* set `api` was on */
    bool has_runtime; /* the program uses the runtime: failures of the driver calls within are its business */
};

/* --- small tools ---------------------------------------------------------------------------------- */

/* Room for one more: at itself, moved, or unmoved and *room as it was when there is no memory. */
static void *grow(void *at, size_t count, size_t *room, size_t size)
{
    size_t more = *room ? *room * 2 : 256;
    void *grown = count < *room ? at : realloc(at, more * size);
    if (!grown)
        return at;
    *room = count < *room ? *room : more;
    return grown;
}
/* Append; 0 or -WS_ENOMEM. What comes after ROWS_MAX is left out, and l->is_cut says so. */
#define PUSH(l, array, value)                                                                               \
    ((l)->array.count >= ROWS_MAX                                                                           \
         ? ((l)->is_cut = true, 0)                                                                          \
         : ((l)->array.at = grow((l)->array.at, (l)->array.count, &(l)->array.room, sizeof *(l)->array.at), \
            (l)->array.count < (l)->array.room ? ((l)->array.at[(l)->array.count++] = (value), 0) : -WS_ENOMEM))

static int by_span(const void *a, const void *b)
{
    const struct ws_span *x = a, *y = b;
    return x->start != y->start ? (x->start < y->start ? -1 : 1) : (x->end > y->end) - (x->end < y->end);
}

static int by_end(const void *a, const void *b)
{
    const struct ws_span *x = a, *y = b;
    return x->end != y->end ? (x->end < y->end ? -1 : 1) : (x->start > y->start) - (x->start < y->start);
}

static int by_call(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    return x->correlation != y->correlation ? (x->correlation < y->correlation ? -1 : 1)
                                            : (x->domain > y->domain) - (x->domain < y->domain);
}

static int by_copy(const void *a, const void *b)
{
    const struct ws_rec_copy_call *x = a, *y = b;
    return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

/* Merge sorted spans in place: what is left is disjoint and rising. Returns how many. */
static size_t merge(struct ws_span *at, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (n > 0 && at[i].start <= at[n - 1].end)
            at[n - 1].end = at[i].end > at[n - 1].end ? at[i].end : at[n - 1].end;
        else
            at[n++] = at[i];
    return n;
}

static double seconds(int64_t ns)
{
    return (double)ns * 1e-9;
}

static int64_t length_of(const struct ws_span *at, size_t count)
{
    int64_t ns = 0;
    for (size_t i = 0; i < count; i++)
        ns += at[i].end - at[i].start;
    return ns;
}

/* A set of few stream numbers; more than it holds are as good as many. */
struct streams {
    uint32_t at[16];
    size_t count;
};

static void note_stream(struct streams *s, uint32_t stream)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->at[i] == stream)
            return;
    if (s->count < sizeof s->at / sizeof s->at[0])
        s->at[s->count++] = stream;
}

static bool is_host_copy(const struct ws_work *w)
{
    return w->kind == WS_ACTIVITY_MEMCPY && (w->copy_kind == COPY_HTOD || w->copy_kind == COPY_DTOH);
}

/* --- loading -------------------------------------------------------------------------------------- */

static struct group *group_of(struct loader *l, int64_t process_id, uint32_t device)
{
    for (size_t i = 0; i < l->group_count; i++)
        if (l->groups[i].process_id == process_id && l->groups[i].device == device)
            return &l->groups[i];
    if (l->group_count == GROUPS_MAX)
        return NULL;
    l->groups[l->group_count] = (struct group){process_id, 0, device};
    return &l->groups[l->group_count++];
}

static bool has_time(const struct ws_activity_row *row)
{
    return ws_work_is_time(row->start_ns, row->end_ns);
}

static int weigh(void *state, const struct ws_activity_chunk *chunk)
{
    struct loader *l = state;
    for (uint32_t i = 0; i < chunk->rows; i++) {
        struct ws_activity_row row;
        struct group *group;
        ws_activity_unpack(&row, chunk->data + (size_t)i * WS_ACTIVITY_BYTES);
        group = has_time(&row) ? group_of(l, chunk->process_id, row.device) : NULL;
        if (group)
            group->busy_ns += (double)(row.end_ns - row.start_ns);
    }
    return 0;
}

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static uint8_t class_of_text(const char *name)
{
    static const struct {
        const char *with;
        uint8_t class;
    } table[] = {{"cudaLaunchKernel", CALL_LAUNCH}, {"cudaLaunchCooperativeKernel", CALL_LAUNCH},
                 {"cudaGraphLaunch", CALL_LAUNCH},  {"cuLaunch", CALL_LAUNCH},
                 {"cuGraphLaunch", CALL_LAUNCH},    {"cudaMemcpy", CALL_COPY},
                 {"cuMemcpy", CALL_COPY},           {"cudaMalloc", CALL_ALLOC},
                 {"cudaFree", CALL_ALLOC},          {"cuMemAlloc", CALL_ALLOC},
                 {"cuMemFree", CALL_ALLOC}};
    /* Allocations of host memory and those ordered in a stream do not stop the device. */
    if (strstr(name, "Host") || (strstr(name, "Async") && !begins(name, "cudaMemcpy") && !begins(name, "cuMemcpy")))
        return CALL_OTHER;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (begins(name, table[i].with))
            return table[i].class;
    return CALL_OTHER;
}

static int class_of(struct loader *l, uint32_t name, uint8_t *out)
{
    struct name_class row = {name, CALL_OTHER};
    char text[96] = "";
    for (size_t i = 0; i < l->names.count; i++)
        if (l->names.at[i].name == name) {
            *out = l->names.at[i].class;
            return 0;
        }
    if (ws_store_get_text(l->store, name, text, sizeof text) == 0)
        row.class = class_of_text(text);
    *out = row.class;
    return PUSH(l, names, row);
}

static int take_call(struct loader *l, const struct ws_rec_api *rec)
{
    struct call call = {{rec->start_ns, rec->end_ns}, rec->correlation, rec->return_code, (uint8_t)rec->domain, 0};
    int err = class_of(l, rec->name, &call.class);
    bool failed = rec->return_code != 0 && rec->return_code != NOT_READY;
    l->has_runtime = l->has_runtime || rec->domain == DOMAIN_RUNTIME;
    if (err != 0 || (call.class == CALL_OTHER && !failed))
        return err;
    return PUSH(l, calls, call);
}

static int take_launch(struct loader *l, const struct ws_rec_launch_call *rec)
{
    struct ws_rec_launch_call kept = *rec;
    int err;
    if (l->launches.count == CHAIN_LAUNCHES_MAX) {
        l->is_cut = true;
        return 0;
    }
    kept.params = (struct ws_text){NULL, 0};
    err = PUSH(l, launches, kept);
    if (err == 0 && l->params_room < PARAMS * l->launches.room) {
        uint64_t *grown = realloc(l->params, PARAMS * l->launches.room * sizeof *grown);
        if (!grown)
            return -WS_ENOMEM;
        l->params = grown;
        l->params_room = PARAMS * l->launches.room;
    }
    for (uint32_t i = 0; err == 0 && i < PARAMS; i++) {
        uint64_t v = 0;
        for (uint32_t b = 0; b < 8 && 8 * i + b < rec->params.length; b++)
            v |= (uint64_t)(unsigned char)rec->params.at[8 * i + b] << (8 * b);
        l->params[PARAMS * (l->launches.count - 1) + i] = v;
    }
    return err;
}

/* What lives at the end is a sum; no list is needed. */
static void take_memory(struct loader *l, const struct ws_rec_memory *rec)
{
    if (rec->memory_kind == MEMORY_DEVICE)
        l->allocated += rec->operation == ALLOCATION ? (double)rec->bytes : -(double)rec->bytes;
}

static int take_uvm(struct loader *l, const struct ws_rec_uvm *u)
{
    bool is_move = (u->counter == UVM_HTOD || u->counter == UVM_DTOH) && u->flags != UVM_BY_USER;
    if (u->counter == UVM_GPU_FAULT)
        l->fault_groups++;
    else if (is_move)
        l->migrated += (double)u->value;
    else
        return 0;
    return ws_work_is_time(u->start_ns, u->end_ns) ? PUSH(l, faults, ((struct ws_span){u->start_ns, u->end_ns})) : 0;
}

static int take_host(struct loader *l, uint16_t type, const uint8_t *at, uint32_t length)
{
    struct ws_rec_api api;
    struct ws_rec_sync sync;
    struct ws_rec_memory memory;
    struct ws_rec_uvm uvm;
    struct ws_rec_copy_call copy;
    struct ws_rec_launch_call launch;
    switch (type) {
    case WS_REC_API:
        return ws_wire_get_api(&api, at, length) == 0 ? take_call(l, &api) : -WS_ECORRUPT;
    case WS_REC_SYNC:
        if (ws_wire_get_sync(&sync, at, length) != 0)
            return -WS_ECORRUPT;
        if (sync.sync_kind != SYNC_EVENT && sync.sync_kind != SYNC_STREAM && sync.sync_kind != SYNC_CONTEXT)
            return 0;
        return PUSH(l, syncs, ((struct ws_span){sync.start_ns, sync.end_ns}));
    case WS_REC_MEMORY:
        if (ws_wire_get_memory(&memory, at, length) != 0)
            return -WS_ECORRUPT;
        take_memory(l, &memory);
        return 0;
    case WS_REC_UVM:
        return ws_wire_get_uvm(&uvm, at, length) == 0 ? take_uvm(l, &uvm) : -WS_ECORRUPT;
    case WS_REC_COPY_CALL:
        return ws_wire_get_copy_call(&copy, at, length) == 0 ? PUSH(l, copies, copy) : -WS_ECORRUPT;
    case WS_REC_LAUNCH_CALL:
        return ws_wire_get_launch_call(&launch, at, length) == 0 ? take_launch(l, &launch) : -WS_ECORRUPT;
    default:
        return 0;
    }
}

static int load_host(void *state, const struct ws_host_chunk *chunk)
{
    struct loader *l = state;
    struct ws_frame frame = {
        .type = chunk->type, .records = chunk->rows, .payload = chunk->data, .length = (uint32_t)chunk->length};
    uint32_t offset = 0, length;
    const uint8_t *at;
    int more, err = 0;
    if (chunk->process_id != l->chosen->process_id)
        return 0;
    l->has_host = true;
    while (err == 0 && (more = ws_wire_next_record(&frame, &offset, &at, &length)) != 0)
        err = more > 0 ? take_host(l, chunk->type, at, length) : -WS_ECORRUPT;
    return err;
}

/* The busiest GPU of the busiest process; with one process and one GPU there is nothing to weigh. */
static int choose(struct loader *l, const struct ws_session *session)
{
    int err;
    if (session->process_count == 1 && session->device_count == 1 && l->group_count == 0) {
        l->chosen = group_of(l, session->processes[0].id, session->devices[0].device.index);
        return 0;
    }
    l->group_count = 0;
    l->chosen = NULL;
    err = ws_store_each_activity(l->store, session->row.id, weigh, l);
    for (size_t i = 0; err == 0 && i < l->group_count; i++)
        if (!l->chosen || l->groups[i].busy_ns > l->chosen->busy_ns)
            l->chosen = &l->groups[i];
    return err;
}

static int load_calls(struct loader *l, int64_t session_id)
{
    int err = ws_store_each_host(l->store, session_id, load_host, l);
    if (err != 0)
        return err;
    if (l->calls.count > 0)
        qsort(l->calls.at, l->calls.count, sizeof *l->calls.at, by_call);
    if (l->copies.count > 0)
        qsort(l->copies.at, l->copies.count, sizeof *l->copies.at, by_copy);
    if (l->syncs.count == 0)
        return 0;
    l->waits.at = malloc(l->syncs.count * sizeof *l->waits.at);
    if (!l->waits.at)
        return -WS_ENOMEM;
    l->waits.count = l->syncs.count;
    memcpy(l->waits.at, l->syncs.at, l->syncs.count * sizeof *l->waits.at);
    qsort(l->syncs.at, l->syncs.count, sizeof *l->syncs.at, by_span);
    qsort(l->waits.at, l->waits.count, sizeof *l->waits.at, by_end);
    return 0;
}

static void unload(struct loader *l)
{
    free(l->calls.at);
    free(l->syncs.at);
    free(l->waits.at);
    free(l->copies.at);
    free(l->launches.at);
    free(l->params);
    free(l->names.at);
    free(l->faults.at);
    free(l->held.at);
}

/* --- durations ------------------------------------------------------------------------------------ */

/* For a median of any number of durations: all of them up to KEPT; counts in buckets of 1/8192 of the value beyond. */
enum { KEPT = 1 << 16, EXACT_BITS = 14, HALF = 1 << (EXACT_BITS - 1), BUCKETS = (1 << EXACT_BITS) + 50 * HALF };
struct durations {
    uint64_t count;
    int64_t kept[KEPT];
    uint32_t buckets[BUCKETS];
};

static size_t bucket_of(int64_t ns)
{
    int shift;
    if (ns < 1 << EXACT_BITS)
        return (size_t)ns;
    shift = 63 - __builtin_clzll((unsigned long long)ns) - (EXACT_BITS - 1);
    return (1u << EXACT_BITS) + (size_t)(shift - 1) * HALF + ((size_t)(ns >> shift) - HALF);
}

/* The least duration of a bucket. */
static int64_t bucket_start(size_t bucket)
{
    size_t shift;
    if (bucket < 1u << EXACT_BITS)
        return (int64_t)bucket;
    bucket -= 1u << EXACT_BITS;
    shift = bucket / HALF + 1;
    return (int64_t)(bucket % HALF + HALF) << shift;
}

static void add_duration(struct durations *d, int64_t ns)
{
    if (d->count < KEPT)
        d->kept[d->count] = ns;
    d->count++;
    d->buckets[bucket_of(ns)]++;
}

static int by_number(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static struct ws_value median_of(struct durations *d)
{
    struct ws_value median;
    uint64_t seen = 0;
    size_t bucket = 0;
    if (d->count <= KEPT) {
        qsort(d->kept, d->count, sizeof *d->kept, by_number);
        return ws_value_of(seconds(d->kept[d->count / 2]));
    }
    while (bucket + 1 < BUCKETS && seen + d->buckets[bucket] <= d->count / 2)
        seen += d->buckets[bucket++];
    median = ws_value_of(seconds(bucket_start(bucket)));
    median.grade = WS_GRADE_ESTIMATE;
    return median;
}

/* --- the sweep -------------------------------------------------------------------------------------- */

/* The union of spans that come by their start. */
struct cover {
    struct ws_span open;
    bool is_open;
    int64_t length; /* of what is closed */
};

/* Add a span; true: nothing covered *gap, which lies before it. */
static bool cover_add(struct cover *c, const struct ws_span *at, struct ws_span *gap)
{
    bool has_gap = c->is_open && at->start > c->open.end;
    if (has_gap) {
        *gap = (struct ws_span){c->open.end, at->start};
        c->length += c->open.end - c->open.start;
    }
    if (has_gap || !c->is_open)
        c->open = *at;
    else if (at->end > c->open.end)
        c->open.end = at->end;
    c->is_open = true;
    return has_gap;
}

static int64_t cover_length(const struct cover *c)
{
    return c->length + (c->is_open ? c->open.end - c->open.start : 0);
}

enum { RECENT = 64 }; /* host buffers remembered: a round trip comes back within a few copies */
struct landed {
    uint64_t host, bytes;
    int64_t ns;
};

/* Legacy work that waited for others, until it is known whether others waited for it. */
enum { PENDING_MAX = 4096 };

struct link {
    const struct ws_kernel *kernel;
    const uint64_t *params; /* [PARAMS] */
    int64_t ns;
};

struct chain {
    double kernels, bytes, counted, longest, longest_bytes, time, total_time;
};

/* Spans that are cut out, disjoint and rising; before[i] is the length of the first i. */
struct cuts {
    struct ws_span *at;
    int64_t *before;
    size_t count;
};

struct sweep {
    struct loader *l;
    uint64_t pieces;
    struct cover all, kernels, copies, either; /* either: kernels and copies */
    struct ws_span window;
    int64_t first_kernel; /* INT64_MAX = none */
    struct durations durations;
    double copy_count, bytes, large, large_bytes, large_time;
    struct streams streams;
    /* gaps */
    size_t next_wait;
    int64_t wait_idle;
    uint64_t tiny, tiny_sizes[TINY_COPY + 1];
    int64_t tiny_end; /* of the last tiny read */
    double tiny_idle;
    /* round trips */
    struct landed recent[RECENT];
    size_t next_recent;
    double trips, trip_bytes, trip_time, mismatched;
    /* the legacy stream */
    struct ws_work ahead; /* the last work of another stream */
    bool has_ahead;
    struct streams others;
    struct ws_span pending[PENDING_MAX];
    size_t pending_count;
    double legacy, serialised;
    /* chains */
    struct candidate *candidates;
    size_t candidate_count;
    uint64_t *launch_index;
    struct link last;
    struct chain chain;
    bool has_bounds; /* it is known of some kernel whether memory bounds it */
    /* profiled launches */
    size_t next_held; /* of the first sweep: whose time is not settled yet */
    int64_t busy_until;
    struct ws_work *placed; /* [placed_count], by start */
    size_t placed_count, next_placed;
    struct cuts cuts;
};

static void set(struct ws_timeline_facts *out, enum ws_timeline_id id, double number)
{
    out->value[id] = ws_value_of(number);
}

static bool is_pageable(const struct ws_work *w)
{
    return (w->copy_kind == COPY_HTOD ? w->src_kind : w->dst_kind) == MEMORY_PAGEABLE;
}

/* Idle time belongs to the wait that ended in it; of several to the one that began first. */
static void close_gap(struct sweep *s, const struct ws_span *gap)
{
    const struct loader *l = s->l;
    const struct ws_span *first = NULL;
    while (s->next_wait < l->waits.count && l->waits.at[s->next_wait].end < gap->start)
        s->next_wait++;
    for (; s->next_wait < l->waits.count && l->waits.at[s->next_wait].end < gap->end; s->next_wait++)
        if (!first || l->waits.at[s->next_wait].start < first->start)
            first = &l->waits.at[s->next_wait];
    if (first)
        s->wait_idle += gap->end - first->end;
    if (s->tiny > 0 && s->tiny_end == gap->start)
        s->tiny_idle += seconds(gap->end - gap->start);
}

static void add_to_covers(struct sweep *s, const struct ws_work *w)
{
    struct ws_span gap;
    if (cover_add(&s->all, &w->at, &gap))
        close_gap(s, &gap);
    if (s->pieces == 0)
        s->window = w->at;
    s->window.end = w->at.end > s->window.end ? w->at.end : s->window.end;
    if (w->kind == WS_ACTIVITY_KERNEL) {
        (void)cover_add(&s->kernels, &w->at, &gap);
        add_duration(&s->durations, w->at.end - w->at.start);
        s->first_kernel = s->first_kernel == INT64_MAX ? w->at.start : s->first_kernel;
    } else if (is_host_copy(w)) {
        (void)cover_add(&s->copies, &w->at, &gap);
    }
    if (w->kind == WS_ACTIVITY_KERNEL || is_host_copy(w))
        (void)cover_add(&s->either, &w->at, &gap);
}

static void count_copy(struct sweep *s, const struct ws_work *w)
{
    note_stream(&s->streams, w->stream);
    if (!is_host_copy(w))
        return;
    s->copy_count++;
    s->bytes += (double)w->kernel_id;
    if (w->kernel_id < LARGE_COPY || !is_pageable(w))
        return;
    s->large++;
    s->large_bytes += (double)w->kernel_id;
    s->large_time += seconds(w->at.end - w->at.start);
}

static void work_facts(struct sweep *s, struct ws_timeline_facts *out)
{
    int64_t kernels = cover_length(&s->kernels), copies = cover_length(&s->copies);
    set(out, WS_T_window, seconds(s->window.end - s->window.start));
    set(out, WS_T_kernels, (double)s->durations.count);
    set(out, WS_T_kernel_busy, seconds(kernels));
    set(out, WS_T_gpu_idle, seconds(s->window.end - s->window.start - cover_length(&s->all)));
    if (s->durations.count > 0)
        out->value[WS_T_kernel_median] = median_of(&s->durations);
    set(out, WS_T_copy_busy, seconds(copies));
    set(out, WS_T_copies, s->copy_count);
    set(out, WS_T_copy_bytes, s->bytes);
    set(out, WS_T_pageable_copies, s->large);
    set(out, WS_T_pageable_bytes, s->large_bytes);
    set(out, WS_T_pageable_time, s->large_time);
    set(out, WS_T_overlap, seconds(kernels + copies - cover_length(&s->either)));
    set(out, WS_T_copy_streams, (double)s->streams.count);
}

/* --- the host's calls ------------------------------------------------------------------------------ */

/* Calls of one correlation stand together, the driver's before the runtime's that contains it: the last one is the
 * outer one. Returns the index behind them. */
static size_t outer_call(const struct loader *l, size_t i, const struct call **outer)
{
    size_t k = i;
    while (k < l->calls.count && l->calls.at[k].correlation == l->calls.at[i].correlation)
        k++;
    *outer = &l->calls.at[k - 1];
    return k;
}

/* A program that uses the runtime sees the runtime's codes: the driver calls within may fail on purpose (probes). */
static bool is_failure(const struct loader *l, const struct call *c)
{
    return c->return_code != 0 && c->return_code != NOT_READY && (c->domain == DOMAIN_RUNTIME || !l->has_runtime);
}

static void call_facts(const struct loader *l, const struct sweep *b, struct ws_timeline_facts *out)
{
    double launches = 0, launch_time = 0, allocs = 0, alloc_time = 0, failed = 0;
    int64_t first_failure = INT64_MAX;
    uint32_t first_code = 0;
    for (size_t i = 0; i < l->calls.count;) {
        const struct call *c;
        int64_t from, to;
        i = outer_call(l, i, &c);
        from = c->at.start > b->window.start ? c->at.start : b->window.start;
        to = c->at.end < b->window.end ? c->at.end : b->window.end;
        if (c->class == CALL_LAUNCH && to > from) {
            launches++;
            launch_time += seconds(to - from);
        } else if (c->class == CALL_ALLOC && to > from && c->at.start > b->first_kernel) {
            allocs++;
            alloc_time += seconds(to - from);
        }
        if (!is_failure(l, c))
            continue;
        failed++;
        if (c->at.start < first_failure) {
            first_failure = c->at.start;
            first_code = c->return_code;
        }
    }
    set(out, WS_T_launch_calls, launches);
    set(out, WS_T_launch_api, launch_time);
    set(out, WS_T_alloc_calls, allocs);
    set(out, WS_T_alloc_time, alloc_time);
    set(out, WS_T_failed_calls, failed);
    if (failed > 0)
        set(out, WS_T_failed_code, first_code);
}

static void sync_facts(const struct loader *l, const struct sweep *b, struct ws_timeline_facts *out)
{
    double syncs = 0;
    for (size_t i = 0; i < l->syncs.count; i++)
        syncs += l->syncs.at[i].end >= b->window.start && l->syncs.at[i].start <= b->window.end;
    set(out, WS_T_syncs, syncs);
    set(out, WS_T_idle_after_sync, seconds(b->wait_idle));
}

/* Whether a host-blocking wait ended just after t. */
static bool is_waited_for(const struct loader *l, int64_t t)
{
    size_t low = 0, high = l->syncs.count;
    while (low < high) { /* the first that starts after t + WAITS: those before it may end in time */
        size_t middle = low + (high - low) / 2;
        if (l->syncs.at[middle].start <= t + WAITS_FOR_COPY_NS)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t back = 0; back < 8 && low > back; back++) {
        int64_t end = l->syncs.at[low - 1 - back].end;
        if (end >= t && end <= t + WAITS_FOR_COPY_NS)
            return true;
    }
    return false;
}

static void count_tiny(struct sweep *s, const struct ws_work *w)
{
    if (w->kind != WS_ACTIVITY_MEMCPY || w->copy_kind != COPY_DTOH || w->kernel_id > TINY_COPY ||
        (w->is_async && !is_waited_for(s->l, w->at.end)))
        return;
    s->tiny_end = s->tiny == 0 || w->at.end > s->tiny_end ? w->at.end : s->tiny_end;
    s->tiny++;
    s->tiny_sizes[w->kernel_id]++;
}

static void tiny_facts(const struct sweep *s, struct ws_timeline_facts *out)
{
    uint64_t seen = 0;
    size_t size = 0;
    while (s->tiny > 0 && size < TINY_COPY && seen + s->tiny_sizes[size] <= s->tiny / 2)
        seen += s->tiny_sizes[size++];
    set(out, WS_T_tiny_reads, (double)s->tiny);
    set(out, WS_T_tiny_read_bytes, (double)size);
    set(out, WS_T_idle_after_tiny_read, s->tiny_idle);
}

static const struct ws_rec_copy_call *copy_call_of(const struct loader *l, uint64_t correlation)
{
    struct ws_rec_copy_call key = {.correlation = correlation};
    return l->copies.count > 0 ? bsearch(&key, l->copies.at, l->copies.count, sizeof key, by_copy) : NULL;
}

/* --- round trips and contradictions ----------------------------------------------------------------- */

static bool contradicts(const struct ws_rec_copy_call *call, const struct ws_work *w)
{
    bool src_is_host = w->src_kind == MEMORY_PAGEABLE || w->src_kind == MEMORY_PINNED;
    bool dst_is_host = w->dst_kind == MEMORY_PAGEABLE || w->dst_kind == MEMORY_PINNED;
    bool src_is_device = w->src_kind == MEMORY_DEVICE || w->src_kind == MEMORY_ARRAY;
    bool dst_is_device = w->dst_kind == MEMORY_DEVICE || w->dst_kind == MEMORY_ARRAY;
    switch (call->stated_kind) {
    case STATED_HTOD:
        return src_is_device || dst_is_host;
    case STATED_DTOH:
        return src_is_host || dst_is_device;
    case STATED_DTOD:
        return src_is_host || dst_is_host;
    case 0: /* host to host */
        return src_is_device || dst_is_device;
    default:
        return false;
    }
}

static void follow_copy(struct sweep *s, const struct ws_work *w)
{
    const struct ws_rec_copy_call *call = w->kind == WS_ACTIVITY_MEMCPY ? copy_call_of(s->l, w->correlation) : NULL;
    if (!call)
        return;
    s->mismatched += contradicts(call, w);
    if (w->copy_kind == COPY_DTOH) {
        s->recent[s->next_recent++ % RECENT] = (struct landed){call->dst, w->kernel_id, w->at.end - w->at.start};
        return;
    }
    for (size_t k = 0; w->copy_kind == COPY_HTOD && k < RECENT; k++)
        if (s->recent[k].bytes > TINY_COPY && s->recent[k].host == call->src && s->recent[k].bytes == w->kernel_id) {
            s->trips++;
            s->trip_bytes += 2.0 * (double)w->kernel_id;
            s->trip_time += seconds(s->recent[k].ns) + seconds(w->at.end - w->at.start);
            s->recent[k].bytes = 0; /* a second copy of the same is not another round trip */
            break;
        }
}

static void round_trip_facts(const struct sweep *s, struct ws_timeline_facts *out)
{
    set(out, WS_T_round_trips, s->trips);
    set(out, WS_T_round_trip_bytes, s->trip_bytes);
    set(out, WS_T_round_trip_time, s->trip_time);
    set(out, WS_T_mismatched_copies, s->mismatched);
}

/* --- the legacy stream ------------------------------------------------------------------------------ */

static const struct call *call_of(const struct loader *l, uint64_t correlation)
{
    size_t low = 0, high = l->calls.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (l->calls.at[middle].correlation < correlation)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->calls.count && l->calls.at[low].correlation == correlation ? &l->calls.at[low] : NULL;
}

/* Work on the legacy stream counts as serialising when it waited for others and others waited for it: it was called
 * before the work ahead of it had ended, and the work behind it was called before it had ended. */
static void wait_for_others(struct sweep *s, const struct ws_work *w)
{
    const struct call *mine = s->has_ahead ? call_of(s->l, w->correlation) : NULL;
    s->legacy++;
    if (!mine || s->ahead.at.end > w->at.start || mine->at.start >= s->ahead.at.end)
        return;
    if (s->pending_count < PENDING_MAX)
        s->pending[s->pending_count++] = w->at;
    else
        s->l->is_cut = true;
}

static void judge_pending(struct sweep *s, const struct ws_work *behind)
{
    const struct call *next = s->pending_count > 0 ? call_of(s->l, behind->correlation) : NULL;
    for (size_t i = 0; next && i < s->pending_count; i++)
        if (behind->at.start >= s->pending[i].end && next->at.start < s->pending[i].end)
            s->serialised += seconds(s->pending[i].end - s->pending[i].start);
    s->pending_count = 0;
}

static void follow_streams(struct sweep *s, const struct ws_work *w)
{
    if (w->stream == WS_LEGACY_STREAM) {
        wait_for_others(s, w);
        return;
    }
    judge_pending(s, w);
    note_stream(&s->others, w->stream);
    s->ahead = *w;
    s->has_ahead = true;
}

static void legacy_facts(const struct sweep *s, struct ws_timeline_facts *out)
{
    set(out, WS_T_legacy_work, s->legacy);
    set(out, WS_T_blocking_streams, (double)s->others.count);
    set(out, WS_T_legacy_serialised, s->serialised);
}

/* --- memory ----------------------------------------------------------------------------------------- */

static void fault_facts(struct loader *l, struct ws_timeline_facts *out)
{
    if (l->faults.count > 0)
        qsort(l->faults.at, l->faults.count, sizeof *l->faults.at, by_span);
    l->faults.count = merge(l->faults.at, l->faults.count);
    set(out, WS_T_fault_groups, l->fault_groups);
    set(out, WS_T_fault_time, seconds(length_of(l->faults.at, l->faults.count)));
    set(out, WS_T_migrated_bytes, l->migrated);
}

/* What lives at the end of a process that ended in order; one that was killed freed nothing on purpose. */
static void leak_facts(const struct loader *l, const struct ws_session *session, struct ws_timeline_facts *out)
{
    bool in_order = false;
    for (size_t i = 0; i < session->process_count; i++)
        in_order =
            in_order || (session->processes[i].id == l->chosen->process_id && session->processes[i].ended_ns != 0);
    if (in_order)
        set(out, WS_T_leaked_bytes, l->allocated > 0 ? l->allocated : 0);
}

/* --- kernels of the session -------------------------------------------------------------------------- */

static struct ws_value mean_of(const struct ws_kernel *k, enum ws_metric_id id)
{
    for (size_t i = 0; i < k->stat_count; i++)
        if (k->stats[i].id == id)
            return k->stats[i].mean;
    return ws_missing(WS_WHY_NOT_COLLECTED, NULL);
}

static struct ws_value dram_bytes_of(const struct ws_kernel *k)
{
    struct ws_value read = mean_of(k, WS_M_dram_read_bytes), write = mean_of(k, WS_M_dram_write_bytes);
    return ws_has(read) && ws_has(write) ? ws_value_of(read.number + write.number) : (ws_has(read) ? write : read);
}

static void dram_facts(const struct ws_session *s, struct ws_timeline_facts *out)
{
    double bytes = 0;
    bool any = false;
    bool all = true;
    for (size_t i = 0; i < s->kernel_count; i++) {
        struct ws_value one = dram_bytes_of(&s->kernels[i]);
        any = any || ws_has(one);
        all = all && ws_has(one);
        bytes += ws_has(one) ? one.number * (double)s->kernels[i].launches : 0;
    }
    if (!any)
        return;
    set(out, WS_T_dram_bytes, bytes);
    if (!all) /* kernels that were not profiled moved bytes, too */
        out->value[WS_T_dram_bytes].grade = WS_GRADE_LOWER_BOUND;
}

/* 4 bytes and more for each operation, or DRAM at 60 % and more: the catalogue's word for memory-bound. */
#define BYTES_PER_FLOP 4.0
#define DRAM_BUSY 0.60

/* Whether the counters that is_memory_bound() asks for were collected. */
static bool has_bound(const struct ws_kernel *k)
{
    return ws_has(mean_of(k, WS_M_dram_throughput)) ||
           (ws_has(mean_of(k, WS_M_gld_bytes)) && ws_has(mean_of(k, WS_M_gst_bytes)) &&
            ws_has(mean_of(k, WS_M_fp32_fma)));
}

static bool is_memory_bound(const struct ws_kernel *k)
{
    struct ws_value busy = mean_of(k, WS_M_dram_throughput);
    struct ws_value ld = mean_of(k, WS_M_gld_bytes), st = mean_of(k, WS_M_gst_bytes);
    static const enum ws_metric_id once[] = {WS_M_fp32_add, WS_M_fp32_mul, WS_M_fp64_add, WS_M_fp64_mul};
    double flop = 0;
    if (ws_has(busy) && busy.number >= DRAM_BUSY)
        return true;
    for (size_t i = 0; i < sizeof once / sizeof once[0]; i++)
        flop += ws_has(mean_of(k, once[i])) ? mean_of(k, once[i]).number : 0;
    flop += ws_has(mean_of(k, WS_M_fp32_fma)) ? 2 * mean_of(k, WS_M_fp32_fma).number : 0;
    flop += ws_has(mean_of(k, WS_M_fp64_fma)) ? 2 * mean_of(k, WS_M_fp64_fma).number : 0;
    return ws_has(ld) && ws_has(st) && ws_has(mean_of(k, WS_M_fp32_fma)) &&
           ld.number + st.number >= BYTES_PER_FLOP * flop;
}

/* A kernel of the session as chains see it, by id. */
struct candidate {
    uint64_t id;
    const struct ws_kernel *kernel;
    bool is_fusible; /* bound by memory, and the user's own: a vendor's kernels cannot be fused by the user */
};

static int by_candidate(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static struct candidate *candidates_of(const struct ws_session *s)
{
    struct candidate *all = malloc((s->kernel_count > 0 ? s->kernel_count : 1) * sizeof *all);
    for (size_t i = 0; all && i < s->kernel_count; i++)
        all[i] = (struct candidate){(uint64_t)s->kernels[i].row.id, &s->kernels[i],
                                    !s->kernels[i].name.is_library && is_memory_bound(&s->kernels[i])};
    if (all && s->kernel_count > 0)
        qsort(all, s->kernel_count, sizeof *all, by_candidate);
    return all;
}

/* Two launches over the same elements of which one hands a buffer to the other. Which parameter is written cannot
 * be seen: a pointer in both is taken for it. Small numbers (lengths) are no pointers. */
static bool is_linked(const struct link *a, const struct link *b)
{
    const struct ws_launch *x = &a->kernel->row.launch, *y = &b->kernel->row.launch;
    if (!a->params || !b->params || memcmp(&x->grid, &y->grid, sizeof x->grid) != 0 ||
        memcmp(&x->block, &y->block, sizeof x->block) != 0)
        return false;
    for (int i = 0; i < PARAMS; i++)
        for (int k = 0; k < PARAMS; k++)
            if (a->params[i] >= (uint64_t)1 << 32 && a->params[i] == b->params[k])
                return true;
    return false;
}

static void end_chain(struct chain *c)
{
    if (c->kernels >= 3)
        c->total_time += c->time;
    if (c->kernels > c->longest) {
        c->longest = c->kernels;
        c->longest_bytes = c->counted > 0 ? c->bytes / c->counted : -1;
    }
    c->kernels = c->bytes = c->counted = c->time = 0;
}

static int by_launch(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (x[0] > y[0]) - (x[0] < y[0]);
}

/* Index of each correlation's parameters: pairs (correlation, index), sorted. */
static uint64_t *index_launches(const struct loader *l)
{
    uint64_t *index = malloc((l->launches.count > 0 ? l->launches.count : 1) * 2 * sizeof *index);
    for (size_t i = 0; index && i < l->launches.count; i++) {
        index[2 * i] = l->launches.at[i].correlation;
        index[2 * i + 1] = i;
    }
    if (index && l->launches.count > 0)
        qsort(index, l->launches.count, 2 * sizeof *index, by_launch);
    return index;
}

static void add_link(struct chain *c, const struct link *link)
{
    struct ws_value bytes = dram_bytes_of(link->kernel);
    c->kernels++;
    c->time += seconds(link->ns);
    c->bytes += ws_has(bytes) ? bytes.number : 0;
    c->counted += ws_has(bytes);
}

/* The kernel and the parameters of one launch; kernel NULL where it cannot be part of a chain. */
static struct link link_of(const struct loader *l, const struct candidate *all, size_t count, const uint64_t *index,
                           const struct ws_work *w)
{
    struct link link = {NULL, NULL, w->at.end - w->at.start};
    const struct candidate wanted = {.id = w->kernel_id};
    const struct candidate *c = count > 0 ? bsearch(&wanted, all, count, sizeof *all, by_candidate) : NULL;
    const uint64_t key[2] = {w->correlation, 0};
    const uint64_t *found =
        l->launches.count > 0 ? bsearch(key, index, l->launches.count, 2 * sizeof *index, by_launch) : NULL;
    link.kernel = c && c->is_fusible ? c->kernel : NULL;
    link.params = found ? &l->params[PARAMS * found[1]] : NULL;
    return link;
}

static void follow_chain(struct sweep *s, const struct ws_work *w)
{
    static const struct link nothing = {NULL, NULL, 0};
    struct link link;
    if (is_host_copy(w)) { /* the host may need what is in between */
        end_chain(&s->chain);
        s->last = nothing;
    }
    if (w->kind != WS_ACTIVITY_KERNEL)
        return;
    link = link_of(s->l, s->candidates, s->candidate_count, s->launch_index, w);
    if (!link.kernel || !s->last.kernel || !is_linked(&s->last, &link))
        end_chain(&s->chain);
    if (link.kernel)
        add_link(&s->chain, &link);
    s->last = link;
}

static void chain_facts(struct sweep *s, struct ws_timeline_facts *out)
{
    end_chain(&s->chain);
    if (!s->has_bounds)
        return;
    set(out, WS_T_chain_kernels, s->chain.longest);
    set(out, WS_T_chain_time, s->chain.total_time);
    set(out, WS_T_chain_memory_bound, s->chain.longest > 0);
    if (s->chain.longest_bytes > 0)
        set(out, WS_T_chain_bytes, s->chain.longest_bytes);
}

/* --- the time that profiling took -------------------------------------------------------------------
 * A launch that gets counters holds the program, for milliseconds or more, and has no activity record. What the program
 * would have done without us is told by a timeline without that time: the launch runs as long as its counters say, and
 * every later time moves to the left. */

struct held_loader {
    struct loader *l;
    const struct ws_session *session;
};

static int64_t duration_of(const struct ws_session *session, int64_t kernel_id)
{
    for (size_t i = 0; i < session->kernel_count; i++)
        if (session->kernels[i].row.id == kernel_id) {
            struct ws_value duration = mean_of(&session->kernels[i], WS_M_duration);
            return ws_has(duration) && duration.number > 0 && duration.number < 1e6 ? (int64_t)(duration.number * 1e9)
                                                                                    : 0;
        }
    return 0;
}

/* The time of the calls of one launch, from which it is taken: it was the profiler's. An impossible span: no call. */
static struct ws_span take_calls(struct loader *l, uint64_t correlation)
{
    struct ws_span span = {INT64_MAX, 0};
    const struct call *first = call_of(l, correlation);
    for (size_t i = first ? (size_t)(first - l->calls.at) : l->calls.count;
         i < l->calls.count && l->calls.at[i].correlation == correlation; i++) {
        struct ws_span *at = &l->calls.at[i].at;
        span.start = at->start < span.start ? at->start : span.start;
        span.end = at->end > span.end ? at->end : span.end;
        at->end = at->start;
    }
    return span;
}

static int load_held(void *state, const struct ws_profile_row *row)
{
    const struct held_loader *h = state;
    struct loader *l = h->l;
    struct held held = {.at = {row->rec.started_ns, row->rec.started_ns + row->rec.cost_ns}};
    struct ws_span call;
    if (row->process_id != l->chosen->process_id || row->rec.cost_ns <= 0 || row->rec.cost_ns > INT64_MAX / 4)
        return 0;
    call = take_calls(l, row->rec.correlation);
    if (row->rec.started_ns <= 0) /* an older collector: the launch call says when it was, where it was recorded */
        held.at = call;
    if (!ws_work_is_time(held.at.start, held.at.end)) {
        l->unplaced_ns += row->rec.cost_ns;
        return 0;
    }
    held.launch = (struct ws_work){.at = {0, duration_of(h->session, row->kernel_id)},
                                   .correlation = row->rec.correlation,
                                   .kernel_id = (uint64_t)row->kernel_id,
                                   .stream = row->rec.stream,
                                   .kind = WS_ACTIVITY_KERNEL};
    held.device = row->rec.device;
    return PUSH(l, held, held);
}

static int by_held(const void *a, const void *b)
{
    return by_span(&((const struct held *)a)->at, &((const struct held *)b)->at);
}

static int by_work(const void *a, const void *b)
{
    return by_span(&((const struct ws_work *)a)->at, &((const struct ws_work *)b)->at);
}

/* Time in which the process was not collected: nobody knows whether the device was idle. */
static int load_gaps(struct loader *l, const struct ws_session *session)
{
    struct ws_gaps gaps;
    int err = ws_gaps_load(l->store, session->row.id, l->chosen->process_id, &gaps);
    for (size_t i = 0; err == 0 && i < gaps.count; i++) {
        struct held held = {.at = {gaps.at[i].start_ns, gaps.at[i].end_ns}};
        if (ws_work_is_time(held.at.start, held.at.end)) /* one without an end lies behind all work */
            err = PUSH(l, held, held);
    }
    ws_gaps_free(&gaps);
    return err;
}

static int load_all_held(struct loader *l, const struct ws_session *session)
{
    struct held_loader h = {l, session};
    int err = l->has_held ? 0 : ws_store_each_profile(l->store, session->row.id, load_held, &h);
    if (err == 0 && !l->has_held)
        err = load_gaps(l, session);
    l->has_held = true;
    if (l->held.count > 0)
        qsort(l->held.at, l->held.count, sizeof *l->held.at, by_held);
    return err;
}

/* Work that was under way when profiling began ran on: that time is the program's. */
static void spare(struct sweep *s, int64_t until)
{
    struct loader *l = s->l;
    for (; s->next_held < l->held.count && l->held.at[s->next_held].at.start < until; s->next_held++) {
        struct ws_span *held = &l->held.at[s->next_held].at;
        if (s->busy_until > held->start)
            held->start = s->busy_until < held->end ? s->busy_until : held->end;
    }
}

/* The first of two sweeps, where launches were profiled. */
static int spare_work(void *state, const struct ws_work *w)
{
    struct sweep *s = state;
    s->pieces++;
    spare(s, w->at.start);
    s->busy_until = w->at.end > s->busy_until ? w->at.end : s->busy_until;
    return 0;
}

/* The launch itself takes the first part of the time in which it held the program. */
static int place_launches(struct sweep *s)
{
    struct loader *l = s->l;
    s->placed = malloc(l->held.count * sizeof *s->placed);
    if (!s->placed)
        return -WS_ENOMEM;
    for (size_t i = 0; i < l->held.count; i++) {
        struct held *h = &l->held.at[i];
        int64_t room = h->at.end - h->at.start;
        int64_t ns = h->launch.at.end < room ? h->launch.at.end : room;
        h->launch.at = (struct ws_span){h->at.start, h->at.start + ns};
        h->at.start += ns;
        if (h->device == l->chosen->device && ns > 0)
            s->placed[s->placed_count++] = h->launch;
    }
    if (s->placed_count > 0)
        qsort(s->placed, s->placed_count, sizeof *s->placed, by_work);
    return 0;
}

static int make_cuts(struct sweep *s)
{
    struct loader *l = s->l;
    struct cuts *c = &s->cuts;
    c->at = malloc(l->held.count * sizeof *c->at);
    c->before = calloc(l->held.count + 1, sizeof *c->before);
    if (!c->at || !c->before)
        return -WS_ENOMEM;
    for (size_t i = 0; i < l->held.count; i++)
        c->at[i] = l->held.at[i].at;
    qsort(c->at, l->held.count, sizeof *c->at, by_span);
    c->count = merge(c->at, l->held.count);
    for (size_t i = 0; i < c->count; i++)
        c->before[i + 1] = c->before[i] + (c->at[i].end - c->at[i].start);
    return 0;
}

/* The time t of the program without what was cut out before it. */
static int64_t moved(const struct cuts *c, int64_t t)
{
    size_t low = 0, high = c->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->at[middle].start < t)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return t;
    return t - c->before[low - 1] - ((t < c->at[low - 1].end ? t : c->at[low - 1].end) - c->at[low - 1].start);
}

static void move(const struct cuts *c, int64_t *start, int64_t *end)
{
    if (!ws_work_is_time(*start, *end))
        return;
    *start = moved(c, *start);
    *end = moved(c, *end);
}

static void move_calls(struct loader *l, const struct cuts *c)
{
    for (size_t i = 0; i < l->calls.count; i++)
        move(c, &l->calls.at[i].at.start, &l->calls.at[i].at.end);
    for (size_t i = 0; i < l->syncs.count; i++)
        move(c, &l->syncs.at[i].start, &l->syncs.at[i].end);
    for (size_t i = 0; i < l->waits.count; i++)
        move(c, &l->waits.at[i].start, &l->waits.at[i].end);
    for (size_t i = 0; i < l->faults.count; i++)
        move(c, &l->faults.at[i].start, &l->faults.at[i].end);
}

/* What is cut out for the sweep that follows. Without device work there is nothing to cut it out of. */
static int cut_held(struct sweep *s, const struct ws_session *session)
{
    struct loader *l = s->l;
    uint64_t left_out;
    int err = load_all_held(l, session);
    if (err != 0 || l->held.count == 0)
        return err;
    err = ws_work_each(l->store, session->row.id, l->chosen->process_id, l->chosen->device, spare_work, s, &left_out);
    if (err != 0 || s->pieces == 0)
        return err;
    s->pieces = 0;
    spare(s, INT64_MAX);
    err = place_launches(s);
    if (err == 0)
        err = make_cuts(s);
    if (err == 0)
        move_calls(l, &s->cuts);
    return err;
}

/* --- all ------------------------------------------------------------------------------------------- */

static int device_facts(void *state, const struct ws_device_row *row)
{
    struct ws_timeline_facts *out = state;
    struct ws_board board;
    if (row->device.pcie_bytes_per_s > 0)
        set(out, WS_T_link_rate, (double)row->device.pcie_bytes_per_s);
    else if (ws_gpus_board(row->device.name, &board) == 0)
        out->value[WS_T_link_rate] = board.link_bytes_per_s;
    set(out, WS_T_copy_engines, row->async_engines);
    return 1; /* one is enough */
}

struct one_device {
    uint32_t ordinal;
    struct ws_timeline_facts *out;
};

static int one_device(void *state, const struct ws_device_row *row)
{
    struct one_device *one = state;
    return row->device.index == one->ordinal ? device_facts(one->out, row) : 0;
}

/* Of more records than are held, what was seen is the least there was. */
static void grade_cut(struct ws_timeline_facts *out)
{
    static const enum ws_timeline_id sums[] = {
        WS_T_launch_calls,      WS_T_launch_api,      WS_T_alloc_calls,      WS_T_alloc_time,
        WS_T_failed_calls,      WS_T_syncs,           WS_T_idle_after_sync,  WS_T_tiny_reads,
        WS_T_round_trips,       WS_T_round_trip_time, WS_T_round_trip_bytes, WS_T_legacy_serialised,
        WS_T_mismatched_copies, WS_T_chain_kernels,   WS_T_chain_time,       WS_T_fault_time};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        if (ws_has(out->value[sums[i]]))
            out->value[sums[i]].grade = WS_GRADE_LOWER_BOUND;
}

static void host_facts(struct sweep *s, const struct ws_session *session, struct ws_timeline_facts *out)
{
    call_facts(s->l, s, out);
    sync_facts(s->l, s, out);
    round_trip_facts(s, out);
    leak_facts(s->l, session, out);
    legacy_facts(s, out);
    fault_facts(s->l, out);
    chain_facts(s, out);
    if (s->l->is_cut)
        grade_cut(out);
}

static void take_piece(struct sweep *s, const struct ws_work *work)
{
    struct ws_work moved_work = *work;
    const struct ws_work *w = &moved_work;
    if (s->cuts.count > 0)
        move(&s->cuts, &moved_work.at.start, &moved_work.at.end);
    add_to_covers(s, w);
    s->pieces++;
    count_copy(s, w);
    count_tiny(s, w);
    if (!s->l->has_host)
        return;
    follow_copy(s, w);
    follow_streams(s, w);
    follow_chain(s, w);
}

/* Profiled launches stand among the others. */
static int take_work(void *state, const struct ws_work *work)
{
    struct sweep *s = state;
    while (s->next_placed < s->placed_count && by_work(&s->placed[s->next_placed], work) < 0)
        take_piece(s, &s->placed[s->next_placed++]);
    take_piece(s, work);
    return 0;
}

static int begin_sweep(struct sweep *s, const struct ws_session *session)
{
    s->first_kernel = INT64_MAX;
    s->candidates = candidates_of(session);
    s->candidate_count = session->kernel_count;
    s->launch_index = index_launches(s->l);
    for (size_t i = 0; i < session->kernel_count; i++)
        s->has_bounds = s->has_bounds || has_bound(&session->kernels[i]);
    return s->candidates && s->launch_index ? 0 : -WS_ENOMEM;
}

static void end_sweep(struct sweep *s)
{
    if (!s)
        return;
    free(s->candidates);
    free(s->launch_index);
    free(s->placed);
    free(s->cuts.at);
    free(s->cuts.before);
    free(s);
}

static int sweep_work(struct sweep *s, const struct ws_session *session)
{
    struct loader *l = s->l;
    uint64_t left_out = 0;
    int err = begin_sweep(s, session);
    if (err == 0)
        err = cut_held(s, session);
    if (err == 0)
        err =
            ws_work_each(l->store, session->row.id, l->chosen->process_id, l->chosen->device, take_work, s, &left_out);
    while (err == 0 && s->pieces > 0 && s->next_placed < s->placed_count)
        take_piece(s, &s->placed[s->next_placed++]);
    l->is_cut = l->is_cut || left_out > 0;
    return err;
}

static int compute(struct loader *l, const struct ws_session *session, struct ws_timeline_facts *out)
{
    struct sweep *s = calloc(1, sizeof *s);
    struct one_device one = {l->chosen->device, out};
    int err = -WS_ENOMEM;
    if (s) {
        s->l = l;
        err = sweep_work(s, session);
    }
    if (err == 0 && s->pieces > 0) {
        out->process = l->chosen->process_id;
        out->device = l->chosen->device;
        err = ws_store_each_process_device(l->store, l->chosen->process_id, one_device, &one);
        err = err == 1 ? 0 : err;
        work_facts(s, out);
        dram_facts(session, out);
        tiny_facts(s, out);
        if (l->has_host)
            host_facts(s, session, out);
    }
    end_sweep(s);
    return err;
}

/* Of the program's time, what is on the timeline at a place of our choice (see place_launches()) or should not be on
 * it: where nobody knows when a launch was profiled, the time that it held the program is still in. */
static double misplaced_time(const struct loader *l, const struct ws_session *session)
{
    double missing = seconds(l->unplaced_ns);
    for (size_t i = 0; i < session->kernel_count; i++) {
        const struct ws_kernel *k = &session->kernels[i];
        const struct ws_value duration = mean_of(k, WS_M_duration);
        double launches = (double)(k->launches - k->row.timed);
        if (ws_has(duration))
            missing += launches * duration.number;
        else if (k->row.timed > 0)
            missing += launches * seconds(k->row.total_ns) / (double)k->row.timed;
    }
    return missing;
}

/* With much misplaced, the timeline says nothing about the program. Counts of calls and bytes stay true. */
#define MOST_MISPLACED 0.05
static void drop_distorted(const struct loader *l, const struct ws_session *session, struct ws_timeline_facts *out)
{
    static const enum ws_timeline_id kept[] = {WS_T_launch_calls, WS_T_copy_engines,      WS_T_failed_calls,
                                               WS_T_failed_code,  WS_T_mismatched_copies, WS_T_leaked_bytes,
                                               WS_T_fault_groups, WS_T_migrated_bytes,    WS_T_link_rate,
                                               WS_T_copies,       WS_T_copy_bytes,        WS_T_dram_bytes};
    struct ws_value old[WS_TIMELINE_COUNT];
    double window = ws_has(out->value[WS_T_window]) ? out->value[WS_T_window].number : 0;
    if (misplaced_time(l, session) <= MOST_MISPLACED * window)
        return;
    memcpy(old, out->value, sizeof old);
    for (int id = 0; id < WS_TIMELINE_COUNT; id++)
        if (ws_has(out->value[id]))
            out->value[id] = ws_missing(WS_WHY_DISTORTED, ws_timeline_key((enum ws_timeline_id)id));
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        out->value[kept[i]] = old[kept[i]];
}

int ws_timeline_facts_load(struct ws_store *store, const struct ws_session *session, struct ws_timeline_facts *out)
{
    struct loader *l = calloc(1, sizeof *l);
    int err = l ? 0 : -WS_ENOMEM;
    ws_timeline_init(out);
    if (l)
        l->store = store;
    /* The second time only when the one GPU of the one process is not where the work is, which the first supposed. */
    for (int round = 0; err == 0 && out->process == 0 && round < 2; round++) {
        err = choose(l, session);
        if (err != 0 || !l->chosen)
            break;
        if (!l->has_host)
            err = load_calls(l, session->row.id);
        if (err == 0)
            err = compute(l, session, out);
    }
    if (err == 0)
        drop_distorted(l, session, out);
    if (l)
        unload(l);
    free(l);
    return err;
}
