/* SPDX-License-Identifier: MIT
 * timeline_facts.c: rows of one GPU and process become the numbers of analyzer/timeline.h. Three steps: choose the
 * busiest (process, device); load its work and the host's calls; compute each group of facts from sorted arrays.
 * Judges nothing: thresholds are in the rules. Times here are ns; facts are seconds. */
#include "timeline_facts.h"

#include "../analyzer/err.h"
#include "../analyzer/gpus.h"

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
#define ROWS_MAX ((size_t)16 * WS_TIMELINE_WORK_MAX)
#define GROUPS_MAX 256

struct span {
    int64_t start, end;
};

/* A kernel, copy or memset that has a time. */
struct work {
    struct span at;
    uint64_t correlation;
    uint64_t kernel_id; /* kernel; else bytes */
    uint32_t stream;
    uint8_t kind; /* enum ws_activity_kind */
    uint8_t copy_kind, src_kind, dst_kind, is_async;
};

enum call_class { CALL_OTHER, CALL_LAUNCH, CALL_COPY, CALL_ALLOC };
struct call {
    struct span at;
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

/* A launch that was profiled: how long it held the program, and the launch itself. */
struct held {
    struct span at;
    struct work launch;
    bool is_ours; /* on the GPU that is looked at */
};

struct loader {
    struct ws_store *store;
    struct group groups[GROUPS_MAX];
    size_t group_count;
    const struct group *chosen;
    ARRAY(struct work) work;               /* by start */
    ARRAY(struct call) calls;              /* launches, copies, allocations and failures; by correlation */
    ARRAY(struct span) syncs;              /* host-blocking */
    ARRAY(struct ws_rec_copy_call) copies; /* by correlation */
    ARRAY(struct ws_rec_launch_call) launches;
    ARRAY(uint64_t) params; /* 16 of each launch */
    ARRAY(struct name_class) names;
    ARRAY(struct ws_rec_memory) memory;
    ARRAY(struct ws_rec_uvm) uvm;
    ARRAY(struct held) held; /* while launches were profiled: cut out of the times above */
    int64_t unplaced_ns;     /* profiling of which nobody knows when it was */
    bool has_host;           /* set `api` was on */
    bool has_runtime;        /* the program uses the runtime: failures of the driver calls within are its business */
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
/* Append; 0 or -WS_ENOMEM. What comes after ROWS_MAX is left out. */
#define PUSH(array, value)                                                                   \
    ((array).count >= ROWS_MAX                                                               \
         ? 0                                                                                 \
         : ((array).at = grow((array).at, (array).count, &(array).room, sizeof *(array).at), \
            (array).count < (array).room ? ((array).at[(array).count++] = (value), 0) : -WS_ENOMEM))

static int by_span(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return x->start != y->start ? (x->start < y->start ? -1 : 1) : (x->end > y->end) - (x->end < y->end);
}

static int by_work(const void *a, const void *b)
{
    return by_span(&((const struct work *)a)->at, &((const struct work *)b)->at);
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

static int by_double(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Merge sorted spans in place: what is left is disjoint and rising. Returns how many. */
static size_t merge(struct span *at, size_t count)
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

static int64_t length_of(const struct span *at, size_t count)
{
    int64_t ns = 0;
    for (size_t i = 0; i < count; i++)
        ns += at[i].end - at[i].start;
    return ns;
}

/* Time that two merged lists share. */
static int64_t shared(const struct span *a, size_t na, const struct span *b, size_t nb)
{
    int64_t ns = 0;
    for (size_t i = 0, k = 0; i < na && k < nb;) {
        int64_t from = a[i].start > b[k].start ? a[i].start : b[k].start;
        int64_t to = a[i].end < b[k].end ? a[i].end : b[k].end;
        ns += to > from ? to - from : 0;
        if (a[i].end < b[k].end)
            i++;
        else
            k++;
    }
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

static bool is_host_copy(const struct work *w)
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

/* Times that a clock can say: sums and differences of them do not overflow, also in a capture made to. */
static bool is_time(int64_t start_ns, int64_t end_ns)
{
    return start_ns > 0 && end_ns >= start_ns && end_ns < INT64_MAX / 4;
}

static bool has_time(const struct ws_activity_row *row)
{
    return is_time(row->start_ns, row->end_ns);
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

static int load_work(void *state, const struct ws_activity_chunk *chunk)
{
    struct loader *l = state;
    int err = 0;
    if (chunk->process_id != l->chosen->process_id)
        return 0;
    for (uint32_t i = 0; err == 0 && i < chunk->rows && l->work.count < WS_TIMELINE_WORK_MAX; i++) {
        struct ws_activity_row row;
        struct work w;
        ws_activity_unpack(&row, chunk->data + (size_t)i * WS_ACTIVITY_BYTES);
        if (!has_time(&row) || row.device != l->chosen->device)
            continue;
        w = (struct work){.at = {row.start_ns, row.end_ns},
                          .correlation = row.correlation,
                          .kernel_id = row.kernel_id,
                          .stream = row.stream,
                          .kind = (uint8_t)chunk->kind,
                          .copy_kind = row.copy_kind,
                          .src_kind = row.src_kind,
                          .dst_kind = row.dst_kind,
                          .is_async = row.is_async};
        err = PUSH(l->work, w);
    }
    return err;
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
    return PUSH(l->names, row);
}

static int take_call(struct loader *l, const struct ws_rec_api *rec)
{
    struct call call = {{rec->start_ns, rec->end_ns}, rec->correlation, rec->return_code, (uint8_t)rec->domain, 0};
    int err = class_of(l, rec->name, &call.class);
    bool failed = rec->return_code != 0 && rec->return_code != NOT_READY;
    l->has_runtime = l->has_runtime || rec->domain == DOMAIN_RUNTIME;
    if (err != 0 || (call.class == CALL_OTHER && !failed))
        return err;
    return PUSH(l->calls, call);
}

static int take_launch(struct loader *l, const struct ws_rec_launch_call *rec)
{
    enum { PARAMS = 16 };
    struct ws_rec_launch_call kept = *rec;
    int err = 0;
    for (uint32_t i = 0; err == 0 && i < PARAMS; i++) {
        uint64_t v = 0;
        for (uint32_t b = 0; b < 8 && 8 * i + b < rec->params.length; b++)
            v |= (uint64_t)(unsigned char)rec->params.at[8 * i + b] << (8 * b);
        err = PUSH(l->params, v);
    }
    kept.params = (struct ws_text){NULL, 0};
    return err == 0 ? PUSH(l->launches, kept) : err;
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
        return PUSH(l->syncs, ((struct span){sync.start_ns, sync.end_ns}));
    case WS_REC_MEMORY:
        return ws_wire_get_memory(&memory, at, length) == 0 ? PUSH(l->memory, memory) : -WS_ECORRUPT;
    case WS_REC_UVM:
        return ws_wire_get_uvm(&uvm, at, length) == 0 ? PUSH(l->uvm, uvm) : -WS_ECORRUPT;
    case WS_REC_COPY_CALL:
        return ws_wire_get_copy_call(&copy, at, length) == 0 ? PUSH(l->copies, copy) : -WS_ECORRUPT;
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

static int load(struct loader *l, int64_t session_id)
{
    int err = ws_store_each_activity(l->store, session_id, weigh, l);
    if (err != 0 || l->group_count == 0)
        return err;
    l->chosen = &l->groups[0];
    for (size_t i = 1; i < l->group_count; i++)
        if (l->groups[i].busy_ns > l->chosen->busy_ns)
            l->chosen = &l->groups[i];
    err = ws_store_each_activity(l->store, session_id, load_work, l);
    if (err == 0)
        err = ws_store_each_host(l->store, session_id, load_host, l);
    if (err != 0)
        return err;
    if (l->work.count > 0)
        qsort(l->work.at, l->work.count, sizeof *l->work.at, by_work);
    if (l->calls.count > 0)
        qsort(l->calls.at, l->calls.count, sizeof *l->calls.at, by_call);
    if (l->copies.count > 0)
        qsort(l->copies.at, l->copies.count, sizeof *l->copies.at, by_copy);
    if (l->syncs.count > 0)
        qsort(l->syncs.at, l->syncs.count, sizeof *l->syncs.at, by_span);
    return 0;
}

static void unload(struct loader *l)
{
    free(l->work.at);
    free(l->calls.at);
    free(l->syncs.at);
    free(l->copies.at);
    free(l->launches.at);
    free(l->params.at);
    free(l->names.at);
    free(l->memory.at);
    free(l->uvm.at);
    free(l->held.at);
}

/* --- device work ---------------------------------------------------------------------------------- */

struct busy {
    struct span window;
    struct span *all, *kernels, *copies; /* merged; one allocation: all is freed */
    size_t all_count, kernel_count, copy_count;
};

static void set(struct ws_timeline_facts *out, enum ws_timeline_id id, double number)
{
    out->value[id] = ws_value_of(number);
}

static int find_busy(const struct loader *l, struct busy *b)
{
    size_t n = l->work.count;
    b->all = malloc(3 * n * sizeof *b->all);
    if (!b->all)
        return -WS_ENOMEM;
    b->kernels = b->all + n;
    b->copies = b->kernels + n;
    b->window = l->work.at[0].at;
    for (size_t i = 0; i < n; i++) {
        const struct work *w = &l->work.at[i];
        b->all[b->all_count++] = w->at;
        if (w->kind == WS_ACTIVITY_KERNEL)
            b->kernels[b->kernel_count++] = w->at;
        else if (is_host_copy(w))
            b->copies[b->copy_count++] = w->at;
        b->window.end = w->at.end > b->window.end ? w->at.end : b->window.end;
    }
    b->all_count = merge(b->all, b->all_count);
    b->kernel_count = merge(b->kernels, b->kernel_count);
    b->copy_count = merge(b->copies, b->copy_count);
    return 0;
}

static int kernel_facts(const struct loader *l, const struct busy *b, struct ws_timeline_facts *out)
{
    double *times = malloc(l->work.count * sizeof *times);
    size_t n = 0;
    if (!times)
        return -WS_ENOMEM;
    for (size_t i = 0; i < l->work.count; i++)
        if (l->work.at[i].kind == WS_ACTIVITY_KERNEL)
            times[n++] = seconds(l->work.at[i].at.end - l->work.at[i].at.start);
    if (n > 0)
        qsort(times, n, sizeof *times, by_double);
    set(out, WS_T_window, seconds(b->window.end - b->window.start));
    set(out, WS_T_kernels, (double)n);
    set(out, WS_T_kernel_busy, seconds(length_of(b->kernels, b->kernel_count)));
    set(out, WS_T_gpu_idle, seconds(b->window.end - b->window.start - length_of(b->all, b->all_count)));
    if (n > 0)
        set(out, WS_T_kernel_median, times[n / 2]);
    free(times);
    return 0;
}

static bool is_pageable(const struct work *w)
{
    return (w->copy_kind == COPY_HTOD ? w->src_kind : w->dst_kind) == MEMORY_PAGEABLE;
}

static void copy_facts(const struct loader *l, const struct busy *b, struct ws_timeline_facts *out)
{
    double copies = 0, bytes = 0, large = 0, large_bytes = 0, large_time = 0;
    struct streams streams = {.count = 0};
    for (size_t i = 0; i < l->work.count; i++) {
        const struct work *w = &l->work.at[i];
        note_stream(&streams, w->stream);
        if (!is_host_copy(w))
            continue;
        copies++;
        bytes += (double)w->kernel_id;
        if (w->kernel_id < LARGE_COPY || !is_pageable(w))
            continue;
        large++;
        large_bytes += (double)w->kernel_id;
        large_time += seconds(w->at.end - w->at.start);
    }
    set(out, WS_T_copy_busy, seconds(length_of(b->copies, b->copy_count)));
    set(out, WS_T_copies, copies);
    set(out, WS_T_copy_bytes, bytes);
    set(out, WS_T_pageable_copies, large);
    set(out, WS_T_pageable_bytes, large_bytes);
    set(out, WS_T_pageable_time, large_time);
    set(out, WS_T_overlap, seconds(shared(b->kernels, b->kernel_count, b->copies, b->copy_count)));
    set(out, WS_T_copy_streams, (double)streams.count);
}

/* The gap in which t lies, or that begins at t; false while the device works, before and after all work. */
static bool gap_at(const struct busy *b, int64_t t, struct span *gap)
{
    size_t low = 0, high = b->all_count;
    while (low < high) { /* the first span that ends after t */
        size_t middle = low + (high - low) / 2;
        if (b->all[middle].end <= t)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || low == b->all_count || b->all[low].start <= t)
        return false;
    *gap = (struct span){b->all[low - 1].end, b->all[low].start};
    return true;
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

static void call_facts(const struct loader *l, const struct busy *b, struct ws_timeline_facts *out)
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
        } else if (c->class == CALL_ALLOC && to > from && b->kernel_count > 0 && c->at.start > b->kernels[0].start) {
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

static void sync_facts(const struct loader *l, const struct busy *b, struct ws_timeline_facts *out)
{
    int64_t idle = 0, counted = INT64_MIN;
    double syncs = 0;
    for (size_t i = 0; i < l->syncs.count; i++) {
        struct span gap;
        int64_t end = l->syncs.at[i].end;
        if (end < b->window.start || l->syncs.at[i].start > b->window.end)
            continue;
        syncs++;
        /* The gap belongs to the first wait that ends in it. Waits come by their start: ends may swap, hence the mark.
         */
        if (!gap_at(b, end, &gap) || gap.end <= counted)
            continue;
        idle += gap.end - (end > gap.start ? end : gap.start);
        counted = gap.end;
    }
    set(out, WS_T_syncs, syncs);
    set(out, WS_T_idle_after_sync, seconds(idle));
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

static int tiny_facts(const struct loader *l, const struct busy *b, struct ws_timeline_facts *out)
{
    double *sizes = malloc((l->work.count > 0 ? l->work.count : 1) * sizeof *sizes);
    double idle = 0;
    size_t n = 0;
    if (!sizes)
        return -WS_ENOMEM;
    for (size_t i = 0; i < l->work.count; i++) {
        const struct work *w = &l->work.at[i];
        struct span gap;
        if (w->kind != WS_ACTIVITY_MEMCPY || w->copy_kind != COPY_DTOH || w->kernel_id > TINY_COPY ||
            (w->is_async && !is_waited_for(l, w->at.end)))
            continue;
        sizes[n++] = (double)w->kernel_id;
        if (gap_at(b, w->at.end, &gap) && gap.start == w->at.end)
            idle += seconds(gap.end - gap.start);
    }
    if (n > 0)
        qsort(sizes, n, sizeof *sizes, by_double);
    set(out, WS_T_tiny_reads, (double)n);
    set(out, WS_T_tiny_read_bytes, n > 0 ? sizes[n / 2] : 0);
    set(out, WS_T_idle_after_tiny_read, idle);
    free(sizes);
    return 0;
}

static const struct ws_rec_copy_call *copy_call_of(const struct loader *l, uint64_t correlation)
{
    struct ws_rec_copy_call key = {.correlation = correlation};
    return l->copies.count > 0 ? bsearch(&key, l->copies.at, l->copies.count, sizeof key, by_copy) : NULL;
}

/* --- round trips and contradictions ----------------------------------------------------------------- */

enum { RECENT = 64 }; /* host buffers remembered: a round trip comes back within a few copies */
struct landed {
    uint64_t host, bytes;
    int64_t ns;
};

static bool contradicts(const struct ws_rec_copy_call *call, const struct work *w)
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

static void round_trip_facts(const struct loader *l, struct ws_timeline_facts *out)
{
    struct landed recent[RECENT] = {{0, 0, 0}};
    size_t next = 0;
    double pairs = 0, bytes = 0, mismatched = 0, time = 0;
    for (size_t i = 0; i < l->work.count; i++) {
        const struct work *w = &l->work.at[i];
        const struct ws_rec_copy_call *call = w->kind == WS_ACTIVITY_MEMCPY ? copy_call_of(l, w->correlation) : NULL;
        if (!call)
            continue;
        mismatched += contradicts(call, w);
        if (w->copy_kind == COPY_DTOH) {
            recent[next++ % RECENT] = (struct landed){call->dst, w->kernel_id, w->at.end - w->at.start};
            continue;
        }
        for (size_t k = 0; w->copy_kind == COPY_HTOD && k < RECENT; k++)
            if (recent[k].bytes > TINY_COPY && recent[k].host == call->src && recent[k].bytes == w->kernel_id) {
                pairs++;
                bytes += 2.0 * (double)w->kernel_id;
                time += seconds(recent[k].ns) + seconds(w->at.end - w->at.start);
                recent[k].bytes = 0; /* a second copy of the same is not another round trip */
                break;
            }
    }
    set(out, WS_T_round_trips, pairs);
    set(out, WS_T_round_trip_bytes, bytes);
    set(out, WS_T_round_trip_time, time);
    set(out, WS_T_mismatched_copies, mismatched);
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

/* For each piece of work the next one of another than the legacy stream, or NULL. */
static const struct work **next_of_others(const struct loader *l)
{
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
    const struct work **next = malloc(l->work.count * sizeof(const struct work *));
    const struct work *at = NULL;
    for (size_t i = l->work.count; next && i-- > 0;) {
        next[i] = at;
        if (l->work.at[i].stream != WS_LEGACY_STREAM)
            at = &l->work.at[i];
    }
    return next;
}

/* Work on the legacy stream counts as serialising when it waited for others and others waited for it: it was called
 * before the work ahead of it had ended, and the work behind it was called before it had ended. */
static bool serialises(const struct loader *l, const struct work *ahead, const struct work *w,
                       const struct work *behind)
{
    const struct call *mine = call_of(l, w->correlation), *next = behind ? call_of(l, behind->correlation) : NULL;
    return ahead && mine && next && ahead->at.end <= w->at.start && mine->at.start < ahead->at.end &&
           behind->at.start >= w->at.end && next->at.end < w->at.end;
}

static int legacy_facts(const struct loader *l, struct ws_timeline_facts *out)
{
    const struct work **next = next_of_others(l);
    const struct work *ahead = NULL; /* the last work of another stream */
    struct streams others = {.count = 0};
    double legacy = 0, serialised = 0;
    if (!next)
        return -WS_ENOMEM;
    for (size_t i = 0; i < l->work.count; i++) {
        const struct work *w = &l->work.at[i];
        if (w->stream != WS_LEGACY_STREAM) {
            note_stream(&others, w->stream);
            ahead = w;
            continue;
        }
        legacy++;
        if (serialises(l, ahead, w, next[i]))
            serialised += seconds(w->at.end - w->at.start);
    }
    free((void *)next);
    set(out, WS_T_legacy_work, legacy);
    set(out, WS_T_blocking_streams, (double)others.count);
    set(out, WS_T_legacy_serialised, serialised);
    return 0;
}

/* --- memory ----------------------------------------------------------------------------------------- */

static int fault_facts(const struct loader *l, struct ws_timeline_facts *out)
{
    struct span *faults = malloc((l->uvm.count > 0 ? l->uvm.count : 1) * sizeof *faults);
    size_t n = 0;
    double groups = 0, bytes = 0;
    if (!faults)
        return -WS_ENOMEM;
    for (size_t i = 0; i < l->uvm.count; i++) {
        const struct ws_rec_uvm *u = &l->uvm.at[i];
        bool is_move = (u->counter == UVM_HTOD || u->counter == UVM_DTOH) && u->flags != UVM_BY_USER;
        if (u->counter == UVM_GPU_FAULT)
            groups++;
        else if (is_move)
            bytes += (double)u->value;
        else
            continue;
        if (is_time(u->start_ns, u->end_ns))
            faults[n++] = (struct span){u->start_ns, u->end_ns};
    }
    if (n > 0)
        qsort(faults, n, sizeof *faults, by_span);
    n = merge(faults, n);
    set(out, WS_T_fault_groups, groups);
    set(out, WS_T_fault_time, seconds(length_of(faults, n)));
    set(out, WS_T_migrated_bytes, bytes);
    free(faults);
    return 0;
}

/* What lives at the end of a process that ended in order; one that was killed freed nothing on purpose. */
static void leak_facts(const struct loader *l, const struct ws_session *session, struct ws_timeline_facts *out)
{
    double live = 0;
    bool in_order = false;
    for (size_t i = 0; i < session->process_count; i++)
        in_order =
            in_order || (session->processes[i].id == l->chosen->process_id && session->processes[i].ended_ns != 0);
    for (size_t i = 0; i < l->memory.count; i++)
        if (l->memory.at[i].memory_kind == MEMORY_DEVICE)
            live += l->memory.at[i].operation == ALLOCATION ? (double)l->memory.at[i].bytes
                                                            : -(double)l->memory.at[i].bytes;
    if (in_order)
        set(out, WS_T_leaked_bytes, live > 0 ? live : 0);
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

struct link {
    const struct ws_kernel *kernel;
    const uint64_t *params; /* [16] */
    int64_t ns;
};

/* Two launches over the same elements of which one hands a buffer to the other. Which parameter is written cannot
 * be seen: a pointer in both is taken for it. Small numbers (lengths) are no pointers. */
static bool is_linked(const struct link *a, const struct link *b)
{
    const struct ws_launch *x = &a->kernel->row.launch, *y = &b->kernel->row.launch;
    if (!a->params || !b->params || memcmp(&x->grid, &y->grid, sizeof x->grid) != 0 ||
        memcmp(&x->block, &y->block, sizeof x->block) != 0)
        return false;
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 16; k++)
            if (a->params[i] >= (uint64_t)1 << 32 && a->params[i] == b->params[k])
                return true;
    return false;
}

struct chain {
    double kernels, bytes, counted, longest, longest_bytes, time, total_time;
};

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
                           const struct work *w)
{
    struct link link = {NULL, NULL, w->at.end - w->at.start};
    const struct candidate wanted = {.id = w->kernel_id};
    const struct candidate *c = count > 0 ? bsearch(&wanted, all, count, sizeof *all, by_candidate) : NULL;
    const uint64_t key[2] = {w->correlation, 0};
    const uint64_t *found =
        l->launches.count > 0 ? bsearch(key, index, l->launches.count, 2 * sizeof *index, by_launch) : NULL;
    link.kernel = c && c->is_fusible ? c->kernel : NULL;
    link.params = found ? &l->params.at[16 * found[1]] : NULL;
    return link;
}

static int chain_facts(const struct loader *l, const struct ws_session *s, struct ws_timeline_facts *out)
{
    uint64_t *index = index_launches(l);
    struct candidate *all = candidates_of(s);
    struct link last = {NULL, NULL, 0};
    struct chain c = {.longest = 0};
    bool had_room;
    bool is_known = false;
    for (size_t i = 0; i < s->kernel_count; i++)
        is_known = is_known || has_bound(&s->kernels[i]);
    for (size_t i = 0; index && all && i < l->work.count; i++) {
        struct link link = {NULL, NULL, 0};
        if (is_host_copy(&l->work.at[i])) { /* the host may need what is in between */
            end_chain(&c);
            last = link;
        }
        if (l->work.at[i].kind != WS_ACTIVITY_KERNEL)
            continue;
        link = link_of(l, all, s->kernel_count, index, &l->work.at[i]);
        if (!link.kernel || !last.kernel || !is_linked(&last, &link))
            end_chain(&c);
        if (link.kernel)
            add_link(&c, &link);
        last = link;
    }
    end_chain(&c);
    if (index && all && is_known) {
        set(out, WS_T_chain_kernels, c.longest);
        set(out, WS_T_chain_time, c.total_time);
        set(out, WS_T_chain_memory_bound, c.longest > 0);
        if (c.longest_bytes > 0)
            set(out, WS_T_chain_bytes, c.longest_bytes);
    }
    had_room = index && all;
    free(all);
    free(index);
    return had_room ? 0 : -WS_ENOMEM;
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
static struct span take_calls(struct loader *l, uint64_t correlation)
{
    struct span span = {INT64_MAX, 0};
    const struct call *first = call_of(l, correlation);
    for (size_t i = first ? (size_t)(first - l->calls.at) : l->calls.count;
         i < l->calls.count && l->calls.at[i].correlation == correlation; i++) {
        struct span *at = &l->calls.at[i].at;
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
    struct span call;
    if (row->process_id != l->chosen->process_id || row->rec.cost_ns <= 0 || row->rec.cost_ns > INT64_MAX / 4)
        return 0;
    call = take_calls(l, row->rec.correlation);
    if (row->rec.started_ns <= 0) /* an older collector: the launch call says when it was, where it was recorded */
        held.at = call;
    if (!is_time(held.at.start, held.at.end)) {
        l->unplaced_ns += row->rec.cost_ns;
        return 0;
    }
    held.launch = (struct work){.at = {0, duration_of(h->session, row->kernel_id)},
                                .correlation = row->rec.correlation,
                                .kernel_id = (uint64_t)row->kernel_id,
                                .stream = row->rec.stream,
                                .kind = WS_ACTIVITY_KERNEL};
    held.is_ours = row->rec.device == l->chosen->device;
    return PUSH(l->held, held);
}

static int by_held(const void *a, const void *b)
{
    return by_span(&((const struct held *)a)->at, &((const struct held *)b)->at);
}

/* Work that was under way when profiling began ran on: that time is the program's. Work is sorted by its start. */
static void spare_work(struct loader *l)
{
    size_t w = 0;
    int64_t busy_until = 0;
    for (size_t i = 0; i < l->held.count; i++) {
        struct span *held = &l->held.at[i].at;
        for (; w < l->work.count && l->work.at[w].at.start <= held->start; w++)
            busy_until = l->work.at[w].at.end > busy_until ? l->work.at[w].at.end : busy_until;
        if (busy_until > held->start)
            held->start = busy_until < held->end ? busy_until : held->end;
    }
}

/* The launch itself takes the first part of the time in which it held the program. */
static int place_launches(struct loader *l)
{
    int err = 0;
    for (size_t i = 0; err == 0 && i < l->held.count; i++) {
        struct held *h = &l->held.at[i];
        int64_t room = h->at.end - h->at.start;
        int64_t ns = h->launch.at.end < room ? h->launch.at.end : room;
        h->launch.at = (struct span){h->at.start, h->at.start + ns};
        h->at.start += ns;
        if (h->is_ours && ns > 0)
            err = PUSH(l->work, h->launch);
    }
    if (l->work.count > 0)
        qsort(l->work.at, l->work.count, sizeof *l->work.at, by_work);
    return err;
}

/* Spans that are cut out, disjoint and rising; before[i] is the length of the first i. */
struct cuts {
    struct span *at;
    int64_t *before;
    size_t count;
};

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
    if (!is_time(*start, *end))
        return;
    *start = moved(c, *start);
    *end = moved(c, *end);
}

static void move_all(struct loader *l, const struct cuts *c)
{
    for (size_t i = 0; i < l->work.count; i++)
        move(c, &l->work.at[i].at.start, &l->work.at[i].at.end);
    for (size_t i = 0; i < l->calls.count; i++)
        move(c, &l->calls.at[i].at.start, &l->calls.at[i].at.end);
    for (size_t i = 0; i < l->syncs.count; i++)
        move(c, &l->syncs.at[i].start, &l->syncs.at[i].end);
    for (size_t i = 0; i < l->uvm.count; i++)
        move(c, &l->uvm.at[i].start_ns, &l->uvm.at[i].end_ns);
}

static int cut_held(struct loader *l, const struct ws_session *session)
{
    struct held_loader h = {l, session};
    struct cuts c = {NULL, NULL, 0};
    int err = ws_store_each_profile(l->store, session->row.id, load_held, &h);
    if (err != 0 || l->held.count == 0)
        return err;
    qsort(l->held.at, l->held.count, sizeof *l->held.at, by_held);
    spare_work(l);
    err = place_launches(l);
    c.at = malloc(l->held.count * sizeof *c.at);
    c.before = calloc(l->held.count + 1, sizeof *c.before);
    err = c.at && c.before ? err : -WS_ENOMEM;
    if (err == 0) {
        for (size_t i = 0; i < l->held.count; i++)
            c.at[i] = l->held.at[i].at;
        c.count = merge(c.at, l->held.count);
        for (size_t i = 0; i < c.count; i++)
            c.before[i + 1] = c.before[i] + (c.at[i].end - c.at[i].start);
        move_all(l, &c);
    }
    free(c.before);
    free(c.at);
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

static int host_facts(const struct loader *l, const struct ws_session *session, const struct busy *b,
                      struct ws_timeline_facts *out)
{
    int err;
    call_facts(l, b, out);
    sync_facts(l, b, out);
    round_trip_facts(l, out);
    leak_facts(l, session, out);
    err = legacy_facts(l, out);
    if (err == 0)
        err = fault_facts(l, out);
    return err == 0 ? chain_facts(l, session, out) : err;
}

static int compute(const struct loader *l, const struct ws_session *session, struct ws_timeline_facts *out)
{
    struct busy b = {.all = NULL};
    struct one_device one = {l->chosen->device, out};
    int err = ws_store_each_process_device(l->store, l->chosen->process_id, one_device, &one);
    err = err == 1 ? 0 : err;
    if (err == 0)
        err = find_busy(l, &b);
    if (err == 0)
        err = kernel_facts(l, &b, out);
    if (err == 0) {
        copy_facts(l, &b, out);
        dram_facts(session, out);
        err = tiny_facts(l, &b, out);
    }
    if (err == 0 && l->has_host)
        err = host_facts(l, session, &b, out);
    free(b.all);
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
    if (err == 0) {
        l->store = store;
        err = load(l, session->row.id);
    }
    if (err == 0 && l->work.count > 0)
        err = cut_held(l, session);
    if (err == 0 && l->work.count > 0) {
        out->process = l->chosen->process_id;
        out->device = l->chosen->device;
        err = compute(l, session, out);
    }
    if (err == 0)
        drop_distorted(l, session, out);
    if (l)
        unload(l);
    free(l);
    return err;
}
