/* SPDX-License-Identifier: MIT
 * call.c: what handlers share: the memory of an answer, errors, ETags, readers, whole-number parameters. */
#include "../analyzer/err.h"
#include "answer_cache.h"
#include "api.h"
#include "cli.h"
#include "log.h"

#include <inttypes.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

bool ws_call_begin(struct ws_call *call)
{
    call->out = open_memstream(&call->text, &call->text_bytes);
    if (call->out)
        (void)__fsetlocking(call->out, FSETLOCKING_BYCALLER); /* one thread; a lock per character costs a third */
    call->json = (struct ws_json){.out = call->out};
    return call->out != NULL;
}

void ws_call_end(struct ws_call *call)
{
    ws_daemon_reader_give(call->daemon, call->store, call->is_store_broken);
    call->store = NULL;
    if (call->out)
        fclose(call->out);
    call->out = NULL;
}

struct ws_json *ws_call_json(struct ws_call *call)
{
    return &call->json;
}

void ws_call_fail(struct ws_call *call, int status, const char *code, const char *hint, const char *format, ...)
{
    char message[512];
    struct ws_json *j = &call->json;
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    rewind(call->out); /* the text is cut at what is written from here on */
    *j = (struct ws_json){.out = call->out};
    call->status = status;
    call->type = "application/json";
    call->cache = WS_CACHE_NEVER;
    call->etag[0] = call->file_name[0] = 0;
    call->lent = NULL;
    call->is_stream = false;
    if (call->file)
        fclose(call->file);
    call->file = NULL;
    ws_json_object(j);
    ws_json_key(j, "error");
    ws_json_object(j);
    ws_json_put_text(j, "code", code);
    ws_json_put_text(j, "message", message);
    ws_json_put_text(j, "hint", hint);
    ws_json_put_text(j, "request_id", call->request_id);
    ws_json_end(j);
    ws_json_end(j);
}

void ws_call_fail_store(struct ws_call *call, int err)
{
    const char *text = call->store ? ws_store_message(call->store) : "";
    if (err == -WS_ENOENT) {
        ws_call_fail(call, 404, "session_not_found", "GET /api/v1/sessions lists what there is",
                     "there is no such session in this database");
        return;
    }
    if (err == -WS_EBUSY) {
        call->retry_after = 1;
        ws_call_fail(call, 503, "busy", "try again", "the database is busy");
        return;
    }
    call->is_store_broken = true;
    ws_log(WS_WARN, "serve", "request %s failed: %s", call->request_id, *text ? text : ws_err_text(err));
    ws_call_fail(call, err == -WS_ENOMEM ? 503 : 500, err == -WS_ENOMEM ? "out_of_memory" : "store_failed", "", "%s",
                 *text ? text : ws_err_text(err));
}

bool ws_call_unchanged(struct ws_call *call)
{
    int64_t session = call->request->ids[0];
    uint64_t revision =
        session ? ws_daemon_session_revision(call->daemon, session) : (uint64_t)atomic_load(&call->daemon->revision);
    snprintf(call->etag, sizeof call->etag, "\"%016" PRIx64 "-%" PRIu64 "\"", call->daemon->boot, revision);
    call->cache = WS_CACHE_ASK;
    if (call->request->if_none_match && ws_http_etag_matches(call->request->if_none_match, call->etag)) {
        call->status = 304;
        return true;
    }
    return ws_answer_cache_take(call);
}

struct ws_store *ws_call_store(struct ws_call *call)
{
    char message[512];
    int err;
    if (call->store)
        return call->store;
    err = ws_daemon_reader_take(call->daemon, &call->store, message, sizeof message);
    if (err == 0)
        return call->store;
    call->store = NULL;
    ws_log(WS_WARN, "serve", "request %s failed: %s", call->request_id, message);
    ws_call_fail(call, 503, "database_unavailable", "see /healthz", "%s", message);
    return NULL;
}

bool ws_call_int(struct ws_call *call, const char *name, int64_t min, int64_t max, int64_t *out)
{
    const char *text = ws_http_param(call->request, name);
    long long v;
    if (!text)
        return true;
    if (!ws_cli_integer(text, min, max, &v)) {
        ws_call_fail(call, 400, "bad_parameter", "", "%s must be a whole number from %" PRId64 " to %" PRId64, name,
                     min, max);
        return false;
    }
    *out = v;
    return true;
}

void ws_content_hash(const void *bytes, size_t count, char out[17])
{
    const unsigned char *at = bytes;
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count; i++)
        h = (h ^ at[i]) * 0x100000001b3u;
    snprintf(out, 17, "%016" PRIx64, h);
}
