/* SPDX-License-Identifier: MIT
 * api_sessions.c: sessions: the list, one of them, its note, its end, its whole report. */
#include "../analyzer/err.h"
#include "api.h"
#include "session_cache.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NOTE_MAX = 16384 };

/* --- one session as JSON --- */

static bool is_live(struct ws_daemon *d, int64_t id)
{
    int64_t ids[WS_DAEMON_LIVE];
    size_t count = d ? ws_daemon_live(d, ids) : 0;
    for (size_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

void ws_api_put_session(struct ws_json *j, struct ws_daemon *daemon, const struct ws_session_row *row,
                        const struct ws_session *session)
{
    ws_json_object(j);
    ws_report_json_session_members(j, row, session);
    ws_report_json_time(j, "ended", row->ended_ns);
    if (row->has_exit)
        ws_json_put_int(j, "exit_signal", row->exit_signal);
    else
        ws_json_put_null(j, "exit_signal");
    ws_json_put_text(j, "note", row->note);
    ws_json_put_bool(j, "live", is_live(daemon, row->id));
    ws_json_put_uint(j, "kernels", row->kernels);
    ws_json_put_uint(j, "launches", row->launches);
    ws_json_end(j);
}

/* --- the list --- */

/* Ids first, and each row by a statement of its own: a session may be deleted between two. */
struct rows {
    int64_t *ids;
    size_t count, room;
};

static int take_session_id(void *state, const struct ws_session_row *row)
{
    struct rows *r = state;
    if (r->count == r->room) {
        size_t room = r->room ? 2 * r->room : 64;
        int64_t *ids = realloc(r->ids, room * sizeof *ids);
        if (!ids)
            return -WS_ENOMEM;
        r->ids = ids;
        r->room = room;
    }
    r->ids[r->count++] = row->id;
    return 0;
}

struct one {
    struct ws_json *j;
    struct ws_daemon *daemon;
};

static int put_row(void *state, const struct ws_session_row *row)
{
    struct one *o = state;
    ws_api_put_session(o->j, o->daemon, row, NULL);
    return 0;
}

void ws_api_sessions(struct ws_call *call)
{
    struct ws_json *j = ws_call_json(call);
    struct rows rows = {NULL, 0, 0};
    struct one one = {j, call->daemon};
    struct ws_store *store;
    int64_t limit = 100;
    int64_t before = INT64_MAX;
    int64_t written = 0;
    size_t i = 0;
    int err;
    if (ws_call_unchanged(call) || !ws_call_int(call, "limit", 1, 1000, &limit) ||
        !ws_call_int(call, "cursor", 1, 1ll << 53, &before) || (store = ws_call_store(call)) == NULL)
        return;
    err = ws_store_each_session(store, take_session_id, &rows);
    ws_json_object(j);
    ws_json_key(j, "sessions");
    ws_json_array(j);
    for (; err == 0 && i < rows.count && written < limit; i++)
        if (rows.ids[i] < before) {
            err = ws_store_get_session(store, rows.ids[i], put_row, &one);
            written += err == 0;
            err = err == -WS_ENOENT ? 0 : err; /* deleted meanwhile */
        }
    ws_json_end(j);
    ws_json_key(j, "next");
    if (i > 0 && i < rows.count) {
        char text[24];
        snprintf(text, sizeof text, "%" PRId64, rows.ids[i - 1]);
        ws_json_text(j, text);
    } else {
        ws_json_null(j);
    }
    ws_json_put_uint(j, "total", rows.count);
    ws_json_end(j);
    free(rows.ids);
    if (err != 0)
        ws_call_fail_store(call, err);
}

/* --- one of them --- */

static bool take_session(struct ws_call *call, int64_t id, bool whole, const struct ws_cached **out)
{
    uint64_t revision = ws_daemon_session_revision(call->daemon, id);
    struct ws_store *store = ws_call_store(call);
    int err;
    if (!store)
        return false;
    err =
        whole ? ws_session_cache_take_whole(store, id, revision, out) : ws_session_cache_take(store, id, revision, out);
    if (err != 0)
        ws_call_fail_store(call, err);
    return err == 0;
}

bool ws_call_session(struct ws_call *call, int64_t id, const struct ws_cached **out)
{
    return take_session(call, id, false, out);
}

bool ws_call_whole_session(struct ws_call *call, int64_t id, const struct ws_cached **out)
{
    return take_session(call, id, true, out);
}

static void put_processes(struct ws_json *j, const struct ws_session *s)
{
    ws_json_key(j, "processes");
    ws_json_array(j);
    for (size_t i = 0; i < s->process_count; i++) {
        const struct ws_process_row *p = &s->processes[i];
        ws_json_object(j);
        ws_json_put_int(j, "id", p->id);
        ws_json_put_uint(j, "pid", p->pid);
        ws_json_put_uint(j, "ppid", p->ppid);
        ws_json_put_text(j, "exe", p->exe);
        ws_report_json_texts(j, "argv", p->argv);
        ws_json_put_text(j, "cwd", p->cwd);
        ws_json_put_text(j, "host", p->host);
        ws_json_put_text(j, "rank", p->rank);
        ws_report_json_time(j, "started", p->started_ns);
        ws_report_json_time(j, "ended", p->ended_ns);
        ws_json_put_text(j, "driver", p->driver_text);
        ws_json_put_uint(j, "cupti", p->cupti_version);
        ws_report_json_texts(j, "settings", p->settings);
        ws_json_end(j);
    }
    ws_json_end(j);
}

static int put_loss(void *state, const struct ws_loss_row *row)
{
    struct ws_json *j = state;
    ws_json_object_line(j);
    ws_json_put_text(j, "kind", row->kind);
    ws_json_put_text(j, "reason", row->reason);
    ws_json_put_uint(j, "count", row->count);
    ws_json_end(j);
    return 0;
}

static int put_cost(void *state, const struct ws_cost_row *row)
{
    struct ws_json *j = state;
    ws_json_object_line(j);
    ws_json_put_int(j, "process", row->process_id);
    ws_json_put_text(j, "what", row->what);
    ws_json_put_uint(j, "count", row->count);
    ws_json_put_int(j, "total_ns", row->total_ns);
    ws_json_end(j);
    return 0;
}

static void put_warnings(struct ws_json *j, const struct ws_session *s)
{
    static const char *const severities[] = {"info", "warning", "error"};
    ws_json_key(j, "warnings");
    ws_json_array(j);
    for (size_t i = 0; i < s->warning_count; i++) {
        const struct ws_warning *w = &s->warnings[i];
        ws_json_object_line(j);
        ws_json_put_text(j, "code", w->code);
        ws_json_put_text(j, "message", w->message);
        ws_json_put_text(j, "remedy", w->remedy);
        ws_json_put_text(j, "severity", severities[w->severity < 3 ? w->severity : 2]);
        ws_json_put_uint(j, "count", w->count);
        ws_json_end(j);
    }
    ws_json_end(j);
}

int ws_api_put_session_page(struct ws_json *j, struct ws_daemon *daemon, struct ws_store *store,
                            const struct ws_session *session)
{
    int err;
    ws_json_object(j);
    ws_json_key(j, "session");
    ws_api_put_session(j, daemon, &session->row, session);
    put_processes(j, session);
    ws_json_key(j, "devices");
    ws_report_json_devices(j, session);
    put_warnings(j, session);
    ws_json_key(j, "loss");
    ws_json_array(j);
    err = ws_store_each_loss(store, session->row.id, put_loss, j);
    ws_json_end(j);
    ws_json_key(j, "cost");
    ws_json_array(j);
    if (err == 0)
        err = ws_store_each_cost(store, session->row.id, put_cost, j);
    ws_json_end(j);
    ws_json_end(j);
    return err;
}

void ws_api_session(struct ws_call *call)
{
    const struct ws_cached *c;
    int err;
    if (ws_call_unchanged(call) || !ws_call_session(call, call->request->ids[0], &c))
        return;
    err = ws_api_put_session_page(ws_call_json(call), call->daemon, call->store, c->session);
    ws_session_cache_give(c);
    if (err != 0)
        ws_call_fail_store(call, err);
}

void ws_api_report(struct ws_call *call)
{
    const struct ws_cached *c;
    int err;
    if (ws_call_unchanged(call) || !ws_call_whole_session(call, call->request->ids[0], &c))
        return;
    err = ws_report_json(c->session, ws_call_json(call));
    ws_session_cache_give(c);
    if (err != 0)
        ws_call_fail_store(call, err);
}

/* --- writes --- */

/* One change by the writer, in a transaction of its own. */
static int change(struct ws_daemon *d, int64_t id, const char *note)
{
    int err;
    pthread_mutex_lock(&d->write_lock);
    err = ws_store_begin(d->writer);
    if (err == 0) {
        err = note ? ws_store_set_note(d->writer, id, note) : ws_store_delete_session(d->writer, id);
        if (err == 0)
            err = ws_store_commit(d->writer);
        if (err != 0)
            ws_store_rollback(d->writer);
    }
    pthread_mutex_unlock(&d->write_lock);
    if (err == 0)
        ws_daemon_changed(d, &id, 1);
    return err;
}

static void put_changed(struct ws_call *call, int64_t id)
{
    struct ws_json *j = ws_call_json(call);
    struct one one = {j, call->daemon};
    struct ws_store *store = ws_call_store(call);
    int err;
    if (!store)
        return;
    ws_json_object(j);
    ws_json_key(j, "session");
    err = ws_store_get_session(store, id, put_row, &one);
    ws_json_end(j);
    if (err != 0)
        ws_call_fail_store(call, err);
}

/* {"note":TEXT}, nothing else. The caller deletes *tree. */
static const char *read_note(const struct ws_call *call, cJSON **tree)
{
    const char *end = NULL;
    const cJSON *note;
    *tree = cJSON_ParseWithLengthOpts(call->body, call->body_bytes + 1, &end, true);
    note = cJSON_GetObjectItemCaseSensitive(*tree, "note");
    return cJSON_IsObject(*tree) && cJSON_GetArraySize(*tree) == 1 && cJSON_IsString(note) ? note->valuestring : NULL;
}

/* How deep the brackets of a text nest, those within strings counted too: a bound before the parser, which recurses. */
static int nesting(const char *text)
{
    int depth = 0;
    int most = 0;
    for (; *text; text++) {
        depth += *text == '[' || *text == '{';
        depth -= (*text == ']' || *text == '}') && depth > 0;
        most = depth > most ? depth : most;
    }
    return most;
}

void ws_api_session_note(struct ws_call *call)
{
    int64_t id = call->request->ids[0];
    cJSON *tree = NULL;
    const char *note = nesting(call->body) <= 16 ? read_note(call, &tree) : NULL;
    int err;
    if (!note) {
        ws_call_fail(call, 400, "bad_body", "send {\"note\":\"text\"}", "the body is not a note");
    } else if (strlen(note) > NOTE_MAX) {
        ws_call_fail(call, 413, "note_too_long", "", "a note has at most %d bytes", NOTE_MAX);
    } else {
        err = change(call->daemon, id, note);
        if (err == 0)
            put_changed(call, id);
        else
            ws_call_fail_store(call, err);
    }
    cJSON_Delete(tree);
}

void ws_api_session_delete(struct ws_call *call)
{
    int64_t id = call->request->ids[0];
    int err;
    if (is_live(call->daemon, id)) {
        ws_call_fail(call, 409, "session_live", "wait for the program's end, or end it",
                     "a program of this session still runs");
        return;
    }
    err = change(call->daemon, id, NULL);
    ws_api_timeline_forget(id);
    if (err != 0)
        ws_call_fail_store(call, err);
}
