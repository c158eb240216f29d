/* SPDX-License-Identifier: MIT
 * api_export.c: a session in one of the formats of `warpsight export`, as a file to save. It is written to a
 * temporary file first: a size is then known, and a session of gigabytes needs no memory. */
#include "../analyzer/err.h"
#include "api.h"
#include "export.h"
#include "session_cache.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a browser should know of a format; others are bytes, and named after the format. */
static const struct {
    const char *format, *suffix, *type;
} kinds[] = {
    {"csv", "csv", "text/csv"},
    {"json", "json", "application/json"},
    {"capture", "wscap", "application/octet-stream"},
    {"sqlite", "db", "application/vnd.sqlite3"},
    {"samples-csv", "samples.csv", "text/csv"},
    {"roofline-csv", "roofline.csv", "text/csv"},
    {"roofline-json", "roofline.json", "application/json"},
    {"roofline-svg", "roofline.svg", "image/svg+xml"},
    {"roofline-gnuplot", "roofline.gp", "text/plain"},
    {"chrome-trace", "trace.json", "application/json"},
    {"pprof", "pb.gz", "application/gzip"},
    {"markdown", "md", "text/markdown"},
};

static void name_file(struct ws_call *call, const char *format)
{
    const char *suffix = format;
    call->type = "application/octet-stream";
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].format, format) == 0) {
            suffix = kinds[i].suffix;
            call->type = kinds[i].type;
        }
    snprintf(call->file_name, sizeof call->file_name, "warpsight-session-%" PRId64 ".%.60s", call->request->ids[0],
             suffix);
}

/* A format that makes its file itself: in a folder of its own, opened and removed at once. */
static int write_apart(const struct ws_format *format, struct ws_export *e, FILE **file)
{
    char folder[] = "/tmp/warpsight-export-XXXXXX";
    char path[64];
    int err;
    if (!mkdtemp(folder))
        return -WS_EIO;
    snprintf(path, sizeof path, "%s/session", folder);
    e->path = path;
    err = format->write(e);
    if (err == 0) {
        *file = fopen(path, "re");
        err = *file ? 0 : -WS_EIO;
    }
    (void)unlink(path);
    (void)rmdir(folder);
    return err;
}

static int write_export(struct ws_call *call, const struct ws_format *format, const struct ws_session *session)
{
    char message[600] = "";
    struct ws_export e = {.store = call->store, .session = session, .message = message, .cap = sizeof message};
    int err;
    if (format->is_file) {
        err = write_apart(format, &e, &call->file);
    } else {
        call->file = e.out = tmpfile();
        err = e.out ? format->write(&e) : -WS_EIO;
        if (err == 0 && (fflush(e.out) != 0 || ferror(e.out)))
            err = -WS_EIO;
    }
    if (err != 0 && *message) {
        ws_call_fail(call, 500, "export_failed", "", "%s", message);
        return 0;
    }
    return err;
}

void ws_api_export(struct ws_call *call)
{
    const char *name = ws_http_param(call->request, "format");
    const struct ws_format *format = ws_export_find(name ? name : "json");
    const struct ws_cached *c;
    int err;
    if (!format) {
        ws_call_fail(call, 400, "bad_parameter", "/api/v1/catalogue lists the formats", "unknown format '%.60s'", name);
        return;
    }
    if (!ws_call_whole_session(call, call->request->ids[0], &c))
        return;
    name_file(call, format->name);
    err = write_export(call, format, c->session);
    ws_session_cache_give(c);
    if (err != 0)
        ws_call_fail_store(call, err);
}
