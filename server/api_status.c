/* SPDX-License-Identifier: MIT
 * api_status.c: how the daemon is: /healthz, /metrics (Prometheus), status, the event stream, OpenAPI.
 * /healthz and the totals of /metrics are open to whoever may ask at all, so they name no session. */
#include "api.h"
#include "names.h"
#include "pm_view.h"
#include "version.h"

#include "../analyzer/err.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t file_bytes(const char *db, const char *suffix)
{
    char path[WS_PATH_MAX + 8];
    struct stat st;
    snprintf(path, sizeof path, "%s%s", db, suffix);
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

void ws_api_health(struct ws_call *call)
{
    struct ws_json *j = ws_call_json(call);
    char problem[256];
    ws_daemon_problem(call->daemon, problem);
    call->status = *problem ? 503 : 200;
    ws_json_object(j);
    ws_json_put_text(j, "status", *problem ? "degraded" : "ok");
    if (*problem)
        ws_json_put_text(j, "reason", problem);
    ws_json_put_text(j, "version", WS_VERSION);
    ws_json_put_int(j, "schema", ws_store_schema_version());
    ws_json_put_int(j, "pid", (int64_t)getpid());
    ws_json_put_text(j, "url", call->daemon->url);
    ws_json_end(j);
}

void ws_api_openapi(struct ws_call *call)
{
    if (ws_call_unchanged(call))
        return;
    ws_routes_openapi(ws_call_json(call));
}

void ws_api_events(struct ws_call *call)
{
    if (atomic_load(&call->daemon->totals.streams) >= WS_DAEMON_STREAMS) {
        call->retry_after = 10;
        ws_call_fail(call, 503, "too_many_streams", "ask /api/v1/status for the revision instead",
                     "%d event streams are open already", WS_DAEMON_STREAMS);
        return;
    }
    call->is_stream = true;
}

/* --- status --- */

static double since(uint64_t then_ns)
{
    return then_ns ? (double)(ws_daemon_now_ns() - (int64_t)then_ns) * 1e-9 : 0;
}

/* How far the database may be behind the spool. */
static double lag_s(const struct ws_daemon_totals *t)
{
    return since(atomic_load(&t->scanned_ns));
}

static void put_ingest(struct ws_json *j, const struct ws_daemon_totals *t)
{
    ws_json_key(j, "ingest");
    ws_json_object(j);
    ws_json_put_uint(j, "frames", atomic_load(&t->frames));
    ws_json_put_uint(j, "records", atomic_load(&t->records));
    ws_json_put_uint(j, "launches", atomic_load(&t->launches));
    ws_json_put_uint(j, "lost", atomic_load(&t->lost_frames));
    ws_json_put_uint(j, "live", atomic_load(&t->live_agents));
    ws_json_put_uint(j, "last_ns", atomic_load(&t->last_ns));
    ws_json_put_number(j, "lag_s", lag_s(t));
    ws_json_end(j);
}

void ws_api_status(struct ws_call *call)
{
    const struct ws_daemon *d = call->daemon;
    struct ws_json *j = ws_call_json(call);
    char problem[256];
    ws_daemon_problem(call->daemon, problem);
    ws_json_object(j);
    ws_json_put_text(j, "version", WS_VERSION);
    ws_json_put_text(j, "commit", WS_GIT_COMMIT);
    ws_json_put_int(j, "schema", ws_store_schema_version());
    ws_json_put_int(j, "pid", (int64_t)getpid());
    ws_json_put_number(j, "uptime_s", since((uint64_t)d->started_ns));
    ws_json_put_uint(j, "revision", atomic_load(&d->revision));
    ws_json_key(j, "db");
    ws_json_object(j);
    ws_json_put_text(j, "path", d->db);
    ws_json_put_uint(j, "bytes", file_bytes(d->db, ""));
    ws_json_put_uint(j, "wal_bytes", file_bytes(d->db, "-wal"));
    ws_json_end(j);
    ws_json_key(j, "spool");
    ws_json_object(j);
    ws_json_put_text(j, "path", d->spool);
    ws_json_put_uint(j, "backlog_bytes", atomic_load(&d->totals.backlog));
    ws_json_end(j);
    put_ingest(j, &d->totals);
    ws_json_key(j, "clients");
    ws_json_object(j);
    ws_json_put_uint(j, "connections", atomic_load(&d->totals.connections));
    ws_json_put_uint(j, "streams", atomic_load(&d->totals.streams));
    ws_json_end(j);
    ws_json_put_text(j, "state", *problem ? "degraded" : "ok");
    ws_json_put_text(j, "reason", problem);
    ws_json_end(j);
}

/* --- Prometheus --- */

static void counter(FILE *out, const char *name, const char *help, uint64_t value)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s counter\n%s %" PRIu64 "\n", name, help, name, name, value);
}

static void gauge(FILE *out, const char *name, const char *help, double value)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n%s %.17g\n", name, help, name, name, value);
}

static void request_totals(FILE *out, struct ws_daemon_totals *t)
{
    size_t count;
    const struct ws_route *routes = ws_routes(&count);
    fprintf(out, "# HELP warpsight_http_requests_total Requests by route and class of status.\n"
                 "# TYPE warpsight_http_requests_total counter\n");
    for (size_t i = 0; i < WS_DAEMON_ROUTES; i++)
        for (int hundred = 0; hundred < 6; hundred++) {
            uint64_t n = atomic_load(&t->requests[i][hundred]);
            if (n)
                fprintf(out, "warpsight_http_requests_total{method=\"%s\",route=\"%s\",status=\"%dxx\"} %" PRIu64 "\n",
                        i < count ? routes[i].method : "", i < count ? routes[i].path : "", hundred, n);
        }
}

static void process_totals(FILE *out, struct ws_daemon *d)
{
    struct ws_daemon_totals *t = &d->totals;
    char problem[256];
    ws_daemon_problem(d, problem);
    fprintf(out, "# HELP warpsight_build_info Version of the daemon.\n# TYPE warpsight_build_info gauge\n"
                 "warpsight_build_info{version=\"" WS_VERSION "\",commit=\"" WS_GIT_COMMIT "\"} 1\n");
    gauge(out, "warpsight_up", "1 while records can be stored.", *problem ? 0 : 1);
    counter(out, "warpsight_ingest_frames_total", "Frames read from the spool.", atomic_load(&t->frames));
    counter(out, "warpsight_ingest_records_total", "Records stored.", atomic_load(&t->records));
    counter(out, "warpsight_ingest_launches_total", "Kernel launches stored.", atomic_load(&t->launches));
    counter(out, "warpsight_ingest_segments_total", "Spool segments read to their end.", atomic_load(&t->segments));
    counter(out, "warpsight_ingest_lost_frames_total", "Frames damaged, cut off or missing.",
            atomic_load(&t->lost_frames));
    counter(out, "warpsight_ingest_batches_total", "Scans of the spool that brought something.",
            atomic_load(&t->batches));
    gauge(out, "warpsight_ingest_seconds", "Time spent in those scans.", (double)atomic_load(&t->ingest_ns) * 1e-9);
    gauge(out, "warpsight_ingest_lag_seconds", "Since the spool was last read to its end.", lag_s(t));
    gauge(out, "warpsight_spool_backlog_bytes", "Bytes of the spool's segments.", (double)atomic_load(&t->backlog));
    gauge(out, "warpsight_live_programs", "Programs that write now.", (double)atomic_load(&t->live_agents));
    gauge(out, "warpsight_database_bytes", "Size of the database file.", (double)file_bytes(d->db, ""));
    gauge(out, "warpsight_database_wal_bytes", "Size of its write-ahead log.", (double)file_bytes(d->db, "-wal"));
    gauge(out, "warpsight_http_connections", "Open connections.", atomic_load(&t->connections));
    gauge(out, "warpsight_event_streams", "Open event streams.", atomic_load(&t->streams));
    counter(out, "warpsight_http_reaped_total", "Connections shut because they took too long.",
            atomic_load(&t->reaped));
    request_totals(out, t);
}

/* A label's value: quotes, backslashes and line ends escaped, other odd bytes become '?' (the text must be UTF-8),
 * long ones cut: kernel names may be kilobytes. */
static void label(FILE *out, const char *name, const char *text)
{
    fprintf(out, "%s=\"", name);
    for (size_t i = 0; i < 200 && text[i]; i++)
        if (text[i] == '"' || text[i] == '\\')
            fprintf(out, "\\%c", text[i]);
        else if (text[i] == '\n')
            fputs("\\n", out);
        else
            fputc((unsigned char)text[i] >= 0x20 && (unsigned char)text[i] < 0x7f ? text[i] : '?', out);
    fputc('"', out);
}

/* Per-kernel totals are bounded: of the newest session, the kernels with most time. */
enum { KERNELS_SHOWN = 50 };

struct gpu {
    int64_t id;
    uint32_t index;
    char uuid[64];
};
struct total {
    char name[256];
    int64_t device_id;
    uint64_t launches;
    int64_t total_ns;
};
struct totals {
    struct gpu gpus[16];
    size_t gpu_count;
    struct total shown[KERNELS_SHOWN];
    size_t count;
};

static int take_gpu(void *state, const struct ws_device_row *row)
{
    struct totals *t = state;
    if (t->gpu_count < sizeof t->gpus / sizeof t->gpus[0]) {
        struct gpu *g = &t->gpus[t->gpu_count++];
        g->id = row->id;
        g->index = row->device.index;
        snprintf(g->uuid, sizeof g->uuid, "%s", row->uuid);
    }
    return 0;
}

/* The row that a kernel belongs to: its own by name and device, else a free one, else the smallest. */
static struct total *place(struct totals *t, const struct ws_kernel_row *row)
{
    struct total *least = &t->shown[0];
    for (size_t i = 0; i < t->count; i++) {
        struct total *at = &t->shown[i];
        if (at->device_id == row->device_id && strncmp(at->name, row->mangled, sizeof at->name - 1) == 0)
            return at;
        if (at->total_ns < least->total_ns)
            least = at;
    }
    if (t->count < KERNELS_SHOWN)
        least = &t->shown[t->count++];
    else if (least->total_ns >= row->total_ns)
        return NULL;
    memset(least, 0, sizeof *least);
    snprintf(least->name, sizeof least->name, "%s", row->mangled);
    least->device_id = row->device_id;
    return least;
}

static int take_kernel(void *state, const struct ws_kernel_row *row)
{
    struct total *at = place(state, row);
    if (at) {
        at->launches += row->launches;
        at->total_ns += row->total_ns;
    }
    return 0;
}

static void labels(FILE *out, const struct totals *t, const struct total *k)
{
    struct ws_arena arena = {0};
    struct ws_name name;
    char number[32];
    ws_name_of(&arena, k->name, &name);
    fputc('{', out);
    for (size_t i = 0; i < t->gpu_count; i++)
        if (t->gpus[i].id == k->device_id) {
            snprintf(number, sizeof number, "%u", (unsigned)t->gpus[i].index);
            label(out, "gpu", number);
            fputc(',', out);
            label(out, "UUID", t->gpus[i].uuid);
            snprintf(number, sizeof number, "nvidia%u", (unsigned)t->gpus[i].index);
            fputc(',', out);
            label(out, "device", number);
            fputc(',', out);
        }
    label(out, "kernel", name.demangled);
    fputc('}', out);
    ws_arena_fini(&arena);
}

static void kernel_totals(struct ws_call *call)
{
    struct ws_store *store = ws_call_store(call);
    struct totals *t = calloc(1, sizeof *t);
    int64_t id;
    int err = -WS_ENOMEM;
    if (store && t)
        err = ws_store_find_session(store, NULL, &id);
    if (err == 0)
        err = ws_store_each_device(store, id, take_gpu, t);
    if (err == 0)
        err = ws_store_each_kernel(store, id, take_kernel, t);
    if (err == 0) {
        fprintf(
            call->out,
            "# HELP warpsight_kernel_seconds_total Time of a kernel in the newest session, without launches that were "
            "replayed for counters.\n"
            "# TYPE warpsight_kernel_seconds_total counter\n");
        for (size_t i = 0; i < t->count; i++) {
            fputs("warpsight_kernel_seconds_total", call->out);
            labels(call->out, t, &t->shown[i]);
            fprintf(call->out, " %.9f\n", (double)t->shown[i].total_ns * 1e-9);
        }
        fprintf(call->out, "# HELP warpsight_kernel_launches_total Launches of a kernel in the newest session.\n"
                           "# TYPE warpsight_kernel_launches_total counter\n");
        for (size_t i = 0; i < t->count; i++) {
            fputs("warpsight_kernel_launches_total", call->out);
            labels(call->out, t, &t->shown[i]);
            fprintf(call->out, " %" PRIu64 "\n", t->shown[i].launches);
        }
    }
    free(t);
}

/* --- samples over time: the last second of them, of the newest session, with the labels of dcgm-exporter --- */

enum { SAMPLES_ROWS = 64 };
#define SAMPLES_NEW_NS 60000000000ll /* older ones say nothing of now */
#define SAMPLES_SPAN_NS 1000000000ll

struct sampled {
    int64_t process_id;
    uint32_t device;
    size_t columns;
    struct ws_pm_column column[WS_PM_COLUMNS];
    struct ws_pm_stat at[WS_PM_COLUMNS];
    char uuid[64], model[128], host[128];
};
struct samples {
    struct ws_store *store;
    struct sampled *rows; /* [SAMPLES_ROWS] */
    size_t count;
};

static int add_samples(void *state, const struct ws_pm_chunk *chunk)
{
    struct sampled *s = state;
    for (uint32_t i = 0; i < chunk->rows; i++) {
        struct ws_pm_row row;
        ws_pm_unpack(chunk, i, &row);
        for (size_t k = 0; k < s->columns; k++)
            ws_pm_stat_add(&s->at[k], ws_pm_shown(&s->column[k], &row, k), (double)(row.end_ns - row.start_ns));
    }
    return 0;
}

static int take_series(void *state, const struct ws_pm_series_row *row)
{
    struct samples *s = state;
    struct sampled *at = &s->rows[s->count];
    if (s->count == SAMPLES_ROWS || row->samples == 0 || row->to_ns < ws_daemon_now_ns() - SAMPLES_NEW_NS)
        return 0;
    s->count++;
    *at = (struct sampled){.process_id = row->process_id, .device = row->device};
    at->columns = ws_pm_columns(row->keys, at->column);
    return ws_store_each_pm_samples(s->store, row, row->to_ns - SAMPLES_SPAN_NS, row->to_ns, add_samples, at);
}

static int name_gpu(void *state, const struct ws_device_row *row)
{
    struct sampled *s = state;
    if (row->device.index == s->device) {
        snprintf(s->uuid, sizeof s->uuid, "%s", row->uuid);
        snprintf(s->model, sizeof s->model, "%s", row->device.name);
    }
    return 0;
}

static int name_host(void *state, const struct ws_process_row *row)
{
    struct samples *s = state;
    for (size_t i = 0; i < s->count; i++)
        if (s->rows[i].process_id == row->id)
            snprintf(s->rows[i].host, sizeof s->rows[i].host, "%s", row->host);
    return 0;
}

static void sample_labels(FILE *out, const struct sampled *s)
{
    char number[32];
    fputc('{', out);
    snprintf(number, sizeof number, "%u", (unsigned)s->device);
    label(out, "gpu", number);
    fputc(',', out);
    label(out, "UUID", s->uuid);
    snprintf(number, sizeof number, "nvidia%u", (unsigned)s->device);
    fputc(',', out);
    label(out, "device", number);
    fputc(',', out);
    label(out, "modelName", s->model);
    fputc(',', out);
    label(out, "Hostname", s->host);
    fputc('}', out);
}

/* One family a metric of the catalogue. */
static void put_family(FILE *out, const struct samples *s, enum ws_pm_id id)
{
    const struct ws_pm_metric *m = ws_pm_get(id);
    bool is_first = true;
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 0; k < s->rows[i].columns; k++) {
            const struct ws_pm_stat *stat = &s->rows[i].at[k];
            const char *unit = m->unit == WS_UNIT_RATIO ? "ratio" : "bytes_per_second";
            if (strcmp(s->rows[i].column[k].key, m->key) != 0 || stat->count == 0)
                continue;
            if (is_first)
                fprintf(out,
                        "# HELP warpsight_gpu_%s_%s %s Mean of the last second sampled.%s%s\n"
                        "# TYPE warpsight_gpu_%s_%s gauge\n",
                        m->key, unit, m->doc, *m->dcgm ? " As " : "", m->dcgm, m->key, unit);
            is_first = false;
            fprintf(out, "warpsight_gpu_%s_%s", m->key, unit);
            sample_labels(out, &s->rows[i]);
            fprintf(out, " %.9g\n", ws_pm_stat_mean(stat));
        }
}

static void sample_gauges(struct ws_call *call)
{
    struct samples s = {.store = ws_call_store(call)};
    int64_t id;
    int err;
    s.rows = calloc(SAMPLES_ROWS, sizeof *s.rows);
    err = s.store && s.rows ? ws_store_find_session(s.store, NULL, &id) : -WS_ENOMEM;
    if (err == 0)
        err = ws_store_each_pm_series(s.store, id, take_series, &s);
    if (err == 0 && s.count > 0)
        err = ws_store_each_process(s.store, id, name_host, &s);
    for (size_t i = 0; err == 0 && i < s.count; i++)
        err = ws_store_each_process_device(s.store, s.rows[i].process_id, name_gpu, &s.rows[i]);
    for (unsigned m = 0; err == 0 && m < WS_PM_COUNT; m++)
        put_family(call->out, &s, (enum ws_pm_id)m);
    free(s.rows);
}

void ws_api_metrics(struct ws_call *call)
{
    call->type = "text/plain; version=0.0.4";
    process_totals(call->out, call->daemon);
    if (call->request->has_token)
        kernel_totals(call);
    if (call->request->has_token)
        sample_gauges(call);
}
