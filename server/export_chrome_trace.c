/* SPDX-License-Identifier: MIT
 * export_chrome_trace.c: the session as a Chrome trace in JSON, as Kineto writes it: for Perfetto, chrome://tracing and
 * speedscope. Written as it is read, one chunk of launches in memory at a time: a session of any size will do.
 *
 *   a GPU is a process (pid = its index), each stream of each process of the job a thread of it
 *   a call of the host is a slice of its own process and thread; a flow leads from it to what it launched
 *   ts, dur  µs with three decimals, since baseTimeNanoseconds; ns survive where absolute doubles would lose them
 *   args     Kineto's names; "est. achieved occupancy %" is what it means by it, the theoretical one. Counters are
 *            means over the launches of the signature that were profiled
 *
 *   samples over time (run --timeline-metrics) are counter tracks of the GPU, at most SAMPLES_MAX points each
 *
 * Launches whose time nobody took (replayed ones) are left out and counted at the end. */
#include "export.h"

#include "../analyzer/err.h"
#include "pm_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Calls whose flow is remembered, by their correlation: a runtime call and the driver call in it share one. */
#define SEEN 65536u
#define CALLS 512u       /* names of calls kept at hand, by their id */
#define CALL_NAME 128u   /* bytes of one; longer ones are cut */
#define LANES_MAX 16384u /* streams with a thread of their own; all further ones share the last */
#define FIRST_FREE_TID 1000000u

struct lane {
    int64_t process_id;
    uint32_t device, context, stream, tid;
};

struct process {
    int64_t id;
    uint64_t pid;       /* as shown */
    int64_t device[64]; /* index into the session's devices of each ordinal; -1 = not known */
    bool has_calls;
};

struct seen {
    int64_t process_id;
    uint64_t correlation;
};

struct trace {
    FILE *out;
    struct ws_store *store;
    const struct ws_session *session;
    int64_t base_ns;
    struct {
        int64_t id;
        char *text; /* "name":…,"args":{… without an end; NULL = not told yet */
    } * kernels;    /* [kernel_count], by id */
    size_t kernel_count;
    struct process *processes; /* [process_count] */
    size_t process_count;
    struct lane *lanes;
    size_t lane_count, lane_cap, last_lane;
    struct seen *seen; /* [SEEN] */
    struct {
        int64_t id; /* 0 = empty */
        char *text; /* as JSON */
    } calls[CALLS];
    uint64_t untimed;
};

/* --- small parts --- */

/* A text as JSON, to be freed; NULL when out of memory. */
static char *json_text(const char *text)
{
    char *at = NULL;
    size_t length = 0;
    struct ws_json j = {.out = open_memstream(&at, &length)};
    if (!j.out)
        return NULL;
    ws_json_text(&j, text);
    if (fclose(j.out) != 0) {
        free(at);
        return NULL;
    }
    return at;
}

/* "ts":123.456 of a span; a negative ts is before the base. */
static void put_time(FILE *out, const char *key, int64_t ns)
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    fprintf(out, ",\"%s\":%s%" PRIu64 ".%03u", key, ns < 0 ? "-" : "", size / 1000, (unsigned)(size % 1000));
}

static void put_meta(struct trace *t, const char *what, uint64_t pid, uint64_t tid, const char *text)
{
    struct ws_json j = {.out = t->out};
    fprintf(t->out, ",\n{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64 ",\"args\":{\"%s\":", what,
            pid, tid, strcmp(what, "process_labels") == 0 ? "labels" : "name");
    ws_json_text(&j, text);
    fputs("}}", t->out);
}

static struct process *find_process(struct trace *t, int64_t id)
{
    for (size_t i = 0; i < t->process_count; i++)
        if (t->processes[i].id == id)
            return &t->processes[i];
    return NULL;
}

/* --- streams --- */

static bool tid_is_taken(const struct trace *t, uint32_t device, uint32_t tid)
{
    for (size_t i = 0; i < t->lane_count; i++)
        if (t->lanes[i].device == device && t->lanes[i].tid == tid)
            return true;
    return false;
}

static bool is_lane(const struct lane *a, const struct lane *b)
{
    return a->stream == b->stream && a->context == b->context && a->process_id == b->process_id &&
           a->device == b->device;
}

/* The thread of a stream: named when it is met first. The stream's own number where nobody has it. */
static int find_lane(struct trace *t, const struct ws_activity_row *row, int64_t process_id, uint32_t device,
                     uint32_t *tid)
{
    struct lane lane = {process_id, device, row->context, row->stream, row->stream};
    char name[96];
    for (size_t i = 0; i < t->lane_count; i++) {
        size_t at = (t->last_lane + i) % t->lane_count; /* mostly the one that was met before */
        if (is_lane(&t->lanes[at], &lane)) {
            t->last_lane = at;
            *tid = t->lanes[at].tid;
            return 0;
        }
    }
    if (t->lane_count == LANES_MAX) {
        *tid = t->lanes[LANES_MAX - 1].tid;
        return 0;
    }
    if (t->lane_count == t->lane_cap) {
        size_t cap = t->lane_cap ? 2 * t->lane_cap : 64;
        struct lane *grown = realloc(t->lanes, cap * sizeof *grown);
        if (!grown)
            return -WS_ENOMEM;
        t->lanes = grown;
        t->lane_cap = cap;
    }
    if (lane.tid >= FIRST_FREE_TID || tid_is_taken(t, device, lane.tid))
        lane.tid = FIRST_FREE_TID + (uint32_t)t->lane_count;
    t->lanes[t->lane_count++] = lane;
    if (t->process_count > 1 && find_process(t, process_id))
        snprintf(name, sizeof name, "stream %u of context %u, process %" PRIu64, row->stream, row->context,
                 find_process(t, process_id)->pid);
    else
        snprintf(name, sizeof name, "stream %u of context %u", row->stream, row->context);
    put_meta(t, "thread_name", device, lane.tid, name);
    *tid = lane.tid;
    return 0;
}

/* --- kernels --- */

/* Counters worth a line in every slice, with the unit in the name as Kineto has it. */
static const struct {
    enum ws_metric_id id;
    const char *name;
    double scale;
} shown[] = {
    {WS_M_achieved_occupancy, "achieved occupancy %", 100},
    {WS_M_gld_sectors_per_request, "sectors per global load", 1},
    {WS_M_gst_sectors_per_request, "sectors per global store", 1},
    {WS_M_shared_bank_conflicts, "shared bank conflicts", 1},
    {WS_M_dram_bytes, "DRAM bytes", 1},
    {WS_M_flop, "floating-point operations", 1},
    {WS_M_threads_per_instruction, "active threads per instruction", 1},
    {WS_M_issue_rate, "issue rate %", 100},
};

static void describe(const struct ws_session *s, size_t kernel, struct ws_report *report, FILE *out)
{
    const struct ws_kernel *k = &s->kernels[kernel];
    const struct ws_launch *l = &k->row.launch;
    const struct ws_device *d = k->device < s->device_count ? &s->devices[k->device].device : NULL;
    struct ws_json j = {.out = out};
    fputs("\"name\":", out);
    ws_json_text(&j, k->name.demangled);
    fprintf(out, ",\"args\":{\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],\"shared memory\":%" PRIu64, l->grid.x, l->grid.y,
            l->grid.z, l->block.x, l->block.y, l->block.z, (uint64_t)l->static_smem_bytes + l->dynamic_smem_bytes);
    if (k->row.has_attributes)
        fprintf(out, ",\"registers per thread\":%u", l->regs_per_thread);
    ws_report_analyze(s, kernel, report);
    if (d && d->sms > 0) {
        double blocks = (double)l->grid.x * l->grid.y * l->grid.z / d->sms;
        uint64_t warps = ((uint64_t)l->block.x * l->block.y * l->block.z + 31) / 32;
        j = (struct ws_json){.out = out};
        fputs(",\"blocks per SM\":", out);
        ws_json_number(&j, blocks);
        fputs(",\"warps per SM\":", out);
        j = (struct ws_json){.out = out};
        ws_json_number(&j, blocks * (double)warps);
    }
    if (ws_has(report->occupancy.theoretical))
        fprintf(out, ",\"est. achieved occupancy %%\":%.0f", 100 * report->occupancy.theoretical.number);
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        if (ws_has(report->metric[shown[i].id])) {
            j = (struct ws_json){.out = out};
            fprintf(out, ",\"%s\":", shown[i].name);
            ws_json_number(&j, report->metric[shown[i].id].number * shown[i].scale);
        }
}

static int by_id(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* What is the same in all slices of a kernel, once for each. */
static int load_kernels(struct trace *t)
{
    const struct ws_session *s = t->session;
    struct ws_report *report = malloc(sizeof *report);
    int err = report ? 0 : -WS_ENOMEM;
    t->kernels = calloc(s->kernel_count + 1, sizeof *t->kernels);
    if (!t->kernels)
        err = -WS_ENOMEM;
    for (size_t i = 0; err == 0 && i < s->kernel_count; i++) {
        size_t length = 0;
        FILE *out = open_memstream(&t->kernels[i].text, &length);
        t->kernels[i].id = s->kernels[i].row.id;
        if (!out) {
            err = -WS_ENOMEM;
            break;
        }
        t->kernel_count++;
        describe(s, i, report, out);
        if (fclose(out) != 0)
            err = -WS_ENOMEM;
    }
    free(report);
    if (err == 0)
        qsort(t->kernels, t->kernel_count, sizeof *t->kernels, by_id);
    return err;
}

static const char *find_kernel(const struct trace *t, uint64_t id)
{
    int64_t key = (int64_t)id;
    const int64_t *found = bsearch(&key, t->kernels, t->kernel_count, sizeof *t->kernels, by_id);
    return found ? t->kernels[((const char *)found - (const char *)t->kernels) / sizeof *t->kernels].text : NULL;
}

/* --- what the GPU did --- */

static const char *copy_name(unsigned kind)
{
    static const char *const names[] = {"",     "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                        "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
    return kind < sizeof names / sizeof names[0] ? names[kind] : "";
}

static const char *memory_name(unsigned kind)
{
    static const char *const names[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                        "Array",   "Managed",  "Device static", "Managed static"};
    return kind < sizeof names / sizeof names[0] ? names[kind] : "Unknown";
}

static void put_bandwidth(FILE *out, const struct ws_activity_row *row)
{
    fprintf(out, ",\"args\":{\"bytes\":%" PRIu64, row->kernel_id);
    if (row->end_ns > row->start_ns)
        fprintf(out, ",\"memory bandwidth (GB/s)\":%.3f",
                (double)row->kernel_id / ((double)row->end_ns - (double)row->start_ns));
}

/* Category, name and the start of args. False: the kernel is filtered out. */
static bool put_what(struct trace *t, const struct ws_activity_row *row, enum ws_activity_kind kind)
{
    if (kind == WS_ACTIVITY_KERNEL) {
        const char *text = find_kernel(t, row->kernel_id);
        if (!text)
            return false;
        fprintf(t->out, ",\n{\"ph\":\"X\",\"cat\":\"kernel\",%s", text);
    } else if (kind == WS_ACTIVITY_MEMCPY) {
        fprintf(t->out, ",\n{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy %s (%s -> %s)\"",
                copy_name(row->copy_kind), memory_name(row->src_kind), memory_name(row->dst_kind));
        put_bandwidth(t->out, row);
    } else {
        fprintf(t->out, ",\n{\"ph\":\"X\",\"cat\":\"gpu_memset\",\"name\":\"Memset (%s)\"", memory_name(row->src_kind));
        put_bandwidth(t->out, row);
    }
    return true;
}

/* The index of the GPU that a process means. */
static uint32_t device_of(const struct process *p, uint32_t ordinal)
{
    return p && ordinal < 64 && p->device[ordinal] >= 0 ? (uint32_t)p->device[ordinal] : ordinal;
}

static int put_activity(struct trace *t, const struct ws_activity_row *row, enum ws_activity_kind kind,
                        int64_t process_id)
{
    struct process *p = find_process(t, process_id);
    uint32_t device = device_of(p, row->device);
    uint32_t tid = 0;
    int err;
    if (row->start_ns == 0 && row->end_ns == 0) {
        t->untimed++;
        return 0;
    }
    if (kind == WS_ACTIVITY_KERNEL && !find_kernel(t, row->kernel_id))
        return 0;
    err = find_lane(t, row, process_id, device, &tid);
    if (err != 0 || !put_what(t, row, kind))
        return err;
    fprintf(t->out, ",\"device\":%u,\"context\":%u,\"stream\":%u,\"correlation\":%" PRIu64, device, row->context,
            row->stream, row->correlation);
    if (row->graph_node != 0)
        fprintf(t->out, ",\"graph node id\":%" PRIu64, row->graph_node);
    fprintf(t->out, "},\"pid\":%u,\"tid\":%u", device, tid);
    put_time(t->out, "ts", row->start_ns - t->base_ns);
    put_time(t->out, "dur", row->end_ns > row->start_ns ? row->end_ns - row->start_ns : 0);
    fputc('}', t->out);
    if (p && p->has_calls && row->correlation != 0) {
        fprintf(t->out,
                ",\n{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":\"%" PRIu64 ".%" PRIu64
                "\",\"pid\":%u,\"tid\":%u",
                p->pid, row->correlation, device, tid);
        put_time(t->out, "ts", row->start_ns - t->base_ns);
        fputc('}', t->out);
    }
    return 0;
}

static int put_chunk(void *state, const struct ws_activity_chunk *chunk)
{
    struct trace *t = state;
    int err = 0;
    for (uint32_t i = 0; err == 0 && i < chunk->rows; i++) {
        struct ws_activity_row row;
        ws_activity_unpack(&row, chunk->data + (size_t)i * WS_ACTIVITY_BYTES);
        err = put_activity(t, &row, chunk->kind, chunk->process_id);
    }
    return err == 0 && ferror(t->out) ? -WS_EIO : err;
}

/* --- what the host did --- */

static const char *call_name(struct trace *t, int64_t id)
{
    size_t at = (size_t)id % CALLS;
    char name[CALL_NAME];
    if (t->calls[at].id == id && t->calls[at].text)
        return t->calls[at].text;
    if (ws_store_get_text(t->store, id, name, sizeof name) != 0)
        snprintf(name, sizeof name, "call");
    free(t->calls[at].text);
    t->calls[at].text = json_text(name);
    t->calls[at].id = id;
    return t->calls[at].text ? t->calls[at].text : "\"call\"";
}

/* Whether something on the GPU follows from a call of that name (JSON, so quoted). */
static bool starts_work(const char *name)
{
    static const char *const words[] = {"Launch", "Memcpy", "Memset", "MemPrefetch"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(name, words[i]))
            return true;
    return false;
}

/* Whether this call is the first that is met of its correlation. */
static bool is_first(struct trace *t, int64_t process_id, uint64_t correlation)
{
    struct seen *s = &t->seen[correlation % SEEN];
    if (s->process_id == process_id && s->correlation == correlation)
        return false;
    *s = (struct seen){process_id, correlation};
    return true;
}

static void put_call(struct trace *t, const struct ws_rec_api *rec, struct process *p)
{
    const char *name = call_name(t, rec->name);
    fprintf(t->out,
            ",\n{\"ph\":\"X\",\"cat\":\"%s\",\"name\":%s,\"args\":{\"correlation\":%" PRIu64
            ",\"return code\":%u},\"pid\":%" PRIu64 ",\"tid\":%u",
            rec->domain == 1 ? "cuda_driver" : "cuda_runtime", name, rec->correlation, rec->return_code, p->pid,
            rec->thread);
    put_time(t->out, "ts", rec->start_ns - t->base_ns);
    put_time(t->out, "dur", rec->end_ns > rec->start_ns ? rec->end_ns - rec->start_ns : 0);
    fputc('}', t->out);
    if (rec->correlation == 0 || !starts_work(name) || !is_first(t, p->id, rec->correlation))
        return;
    fprintf(t->out,
            ",\n{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":\"%" PRIu64 ".%" PRIu64 "\",\"pid\":%" PRIu64
            ",\"tid\":%u",
            p->pid, rec->correlation, p->pid, rec->thread);
    put_time(t->out, "ts", rec->start_ns - t->base_ns);
    fputc('}', t->out);
}

static int put_calls(void *state, const struct ws_host_chunk *chunk)
{
    struct trace *t = state;
    struct process *p = find_process(t, chunk->process_id);
    struct ws_frame frame = {
        .type = chunk->type, .length = (uint32_t)chunk->length, .records = chunk->rows, .payload = chunk->data};
    uint32_t offset = 0;
    const uint8_t *at;
    uint32_t length;
    int more;
    if (!p)
        return 0;
    p->has_calls = true;
    while ((more = ws_wire_next_record(&frame, &offset, &at, &length)) != 0) {
        struct ws_rec_api rec;
        if (more < 0)
            return more;
        if (ws_wire_get_api(&rec, at, length) == 0)
            put_call(t, &rec, p);
    }
    return ferror(t->out) ? -WS_EIO : 0;
}

/* --- head --- */

struct ordinals {
    const struct ws_session *session;
    struct process *process;
};

static int load_ordinal(void *state, const struct ws_device_row *row)
{
    struct ordinals *o = state;
    for (size_t i = 0; i < o->session->device_count; i++)
        if (o->session->devices[i].id == row->id && row->device.index < 64)
            o->process->device[row->device.index] = (int64_t)i;
    return 0;
}

static int load_processes(struct trace *t)
{
    const struct ws_session *s = t->session;
    int err = 0;
    t->processes = calloc(s->process_count + 1, sizeof *t->processes);
    if (!t->processes)
        return -WS_ENOMEM;
    for (size_t i = 0; err == 0 && i < s->process_count; i++) {
        struct process *p = &t->processes[t->process_count++];
        struct ordinals o = {s, p};
        p->id = s->processes[i].id;
        /* A container's process 1 is no GPU 1. */
        p->pid = s->processes[i].pid < 64 ? (uint64_t)s->processes[i].pid + 10000000 : s->processes[i].pid;
        for (size_t n = 0; n < 64; n++)
            p->device[n] = -1;
        err = ws_store_each_process_device(t->store, p->id, load_ordinal, &o);
    }
    return err;
}

static void put_head(struct trace *t)
{
    const struct ws_session *s = t->session;
    struct ws_json j = {.out = t->out};
    ws_json_object(&j);
    ws_json_put_int(&j, "schemaVersion", 1);
    ws_json_key(&j, "deviceProperties");
    ws_json_array(&j);
    for (size_t i = 0; i < s->device_count; i++) {
        const struct ws_device_row *d = &s->devices[i];
        ws_json_object(&j);
        ws_json_put_uint(&j, "id", i);
        ws_json_put_text(&j, "name", d->device.name);
        ws_json_put_uint(&j, "totalGlobalMem", d->device.memory_bytes);
        ws_json_put_uint(&j, "computeMajor", d->device.cc_major);
        ws_json_put_uint(&j, "computeMinor", d->device.cc_minor);
        ws_json_put_uint(&j, "numSms", d->device.sms);
        ws_json_put_uint(&j, "regsPerMultiprocessor", d->regs_per_sm);
        ws_json_put_uint(&j, "sharedMemPerMultiprocessor", d->smem_bytes_per_sm);
        ws_json_end(&j);
    }
    ws_json_end(&j);
    ws_json_put_text(&j, "traceName", *s->row.name ? s->row.name : "WarpSight");
    ws_json_put_text(&j, "source", s->row.source);
    ws_json_put_text(&j, "displayTimeUnit", "ns");
    ws_json_put_int(&j, "baseTimeNanoseconds", t->base_ns);
    /* The list and its end are written by hand: a slice is a line. */
    fprintf(t->out, ",\"traceEvents\":[\n{\"ph\":\"M\",\"name\":\"warpsight\",\"pid\":0,\"tid\":0,\"args\":{}}");
}

static void put_names(struct trace *t)
{
    const struct ws_session *s = t->session;
    for (size_t i = 0; i < s->process_count; i++) {
        const char *slash = strrchr(s->processes[i].exe, '/');
        put_meta(t, "process_name", t->processes[i].pid, 0, slash ? slash + 1 : s->processes[i].exe);
        put_meta(t, "process_labels", t->processes[i].pid, 0, "CPU");
    }
    for (size_t i = 0; i < s->device_count; i++) {
        char label[32];
        snprintf(label, sizeof label, "GPU %zu", i);
        put_meta(t, "process_name", i, 0, s->devices[i].device.name);
        put_meta(t, "process_labels", i, 0, label);
    }
}

/* --- all together --- */

/* --- samples over time: counter tracks of the GPU --- */

#define SAMPLES_MAX 8192 /* cells of a series: more are merged */

static int put_counters(void *state, const struct ws_pm_series_row *row)
{
    struct trace *t = state;
    struct ws_pm_column column[WS_PM_COLUMNS];
    size_t columns = ws_pm_columns(row->keys, column);
    const struct process *p = find_process(t, row->process_id);
    uint32_t device = p ? device_of(p, row->device) : row->device;
    struct ws_pm_view view;
    int err = row->samples ? ws_pm_view_load(t->store, row, row->from_ns, row->to_ns, SAMPLES_MAX, &view) : -WS_ENOENT;
    if (err != 0)
        return err == -WS_ENOENT ? 0 : err;
    for (size_t i = 0; i < view.count; i++)
        for (size_t k = 0; k < columns; k++) {
            const struct ws_pm_stat *s = &view.stats[i * columns + k];
            struct ws_json j = {.out = t->out};
            char number[32];
            if (s->count == 0)
                continue;
            ws_number_text(ws_pm_stat_mean(s) * (column[k].unit == WS_UNIT_RATIO ? 100 : 1), number);
            fprintf(t->out, ",\n{\"ph\":\"C\",\"name\":");
            ws_json_text(&j, ws_pm_title(&column[k]));
            fprintf(t->out, ",\"pid\":%u,\"args\":{\"%s\":%s}", device,
                    column[k].unit == WS_UNIT_RATIO ? "%" : ws_unit_get(column[k].unit)->symbol, number);
            put_time(t->out, "ts", view.cells[i].start_ns - t->base_ns);
            fputs("}", t->out);
        }
    ws_pm_view_free(&view);
    return 0;
}

static int least_start(void *state, const struct ws_activity_chunk *chunk)
{
    int64_t *least = state;
    if (chunk->start_ns > 0 && (*least == 0 || chunk->start_ns < *least))
        *least = chunk->start_ns;
    return 0;
}

/* When the session began; where nobody knows, when its first launch did. */
static int find_base(struct trace *t)
{
    t->base_ns = t->session->row.started_ns;
    for (size_t i = 0; t->base_ns == 0 && i < t->session->process_count; i++)
        t->base_ns = t->session->processes[i].started_ns;
    return t->base_ns != 0 ? 0 : ws_store_each_activity(t->store, t->session->row.id, least_start, &t->base_ns);
}

static int write_trace(struct trace *t)
{
    int err = load_kernels(t);
    if (err == 0)
        err = load_processes(t);
    if (err == 0)
        err = find_base(t);
    if (err != 0)
        return err;
    put_head(t);
    put_names(t);
    err = ws_store_each_host_of(t->store, t->session->row.id, WS_REC_API, put_calls, t);
    if (err == 0)
        err = ws_store_each_activity(t->store, t->session->row.id, put_chunk, t);
    if (err == 0)
        err = ws_store_each_pm_series(t->store, t->session->row.id, put_counters, t);
    fprintf(t->out, "\n],\"launchesWithoutTime\":%" PRIu64 "}\n", t->untimed);
    return err;
}

int ws_export_chrome_trace(const struct ws_export *e)
{
    struct trace t = {.out = e->out, .store = e->store, .session = e->session};
    int err;
    t.seen = calloc(SEEN, sizeof *t.seen);
    err = t.seen ? write_trace(&t) : -WS_ENOMEM;
    for (size_t i = 0; i < t.kernel_count; i++)
        free(t.kernels[i].text);
    for (size_t i = 0; i < CALLS; i++)
        free(t.calls[i].text);
    free(t.kernels);
    free(t.processes);
    free(t.lanes);
    free(t.seen);
    return err;
}
