/* SPDX-License-Identifier: MIT
 * push.c: see push.h. A batch is gathered as COPY text in memory, then sent in one transaction: delete what is there
 * under these tokens, copy the new rows, commit. Nobody sees half a session, and a push that was killed left none. */
#include "push.h"

#include "../analyzer/err.h"
#include "pq.h"
#include "push_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH_SESSIONS = 64,
    BATCH_BYTES = 8 << 20, /* of COPY text, after which a batch is sent */
    ASK_SESSIONS = 1000,   /* tokens in one question */
    TRIES = 3
};

#ifndef WS_HAVE_PQ

int ws_push_open(const char *url, struct ws_push **out, char *message, size_t cap)
{
    (void)url;
    *out = NULL;
    (void)ws_pq_open(message, cap);
    return -WS_EIO;
}

int ws_push_sessions(struct ws_push *push, struct ws_store *store, const int64_t *ids, size_t count,
                     struct ws_progress *progress, char *message, size_t cap)
{
    (void)push, (void)store, (void)ids, (void)count, (void)progress;
    (void)ws_pq_open(message, cap);
    return -WS_EIO;
}

const struct ws_push_count *ws_push_counted(const struct ws_push *push)
{
    static const struct ws_push_count nothing;
    (void)push;
    return &nothing;
}

void ws_push_close(struct ws_push *push)
{
    (void)push;
}

#else

/* Every compiler we build with takes literals longer than the 4095 bytes that C promises. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
static const char schema[] =
#include "push_schema_sql.h"
    ;
#pragma GCC diagnostic pop

struct batch {
    FILE *stream[WS_PUSH_TABLE_COUNT];
    char *text[WS_PUSH_TABLE_COUNT];
    size_t bytes[WS_PUSH_TABLE_COUNT];
    char *tokens; /* array literal of those to be replaced; malloc */
    FILE *tokens_stream;
    size_t tokens_bytes;
    size_t sessions, replaced;
};

struct ws_push {
    PGconn *connection;
    struct ws_push_count count;
    struct batch batch;
    char *message; /* of the caller */
    size_t cap;
    bool may_retry; /* the last failure was another push's doing */
};

/* --- one statement --- */

/* First line of what the engine says. */
static int complain(struct ws_push *p, const char *text)
{
    snprintf(p->message, p->cap, "the database refuses: %.*s", (int)strcspn(text, "\n"), text);
    return -WS_EIO;
}

static int settle(struct ws_push *p, PGresult *result, ExecStatusType wanted)
{
    ExecStatusType status = ws_pq.PQresultStatus(result);
    const char *state;
    int err = 0;
    if (status != wanted) {
        state = result ? ws_pq.PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
        /* unique violation, serialization failure, deadlock, "already exists" of two that make the tables at once */
        p->may_retry =
            state && (strcmp(state, "23505") == 0 || strcmp(state, "40001") == 0 || strcmp(state, "40P01") == 0 ||
                      strcmp(state, "42P07") == 0 || strcmp(state, "42P06") == 0 || strcmp(state, "XX000") == 0);
        err = complain(p, ws_pq.PQerrorMessage(p->connection));
    }
    ws_pq.PQclear(result);
    return err;
}

static int run(struct ws_push *p, const char *sql)
{
    return settle(p, ws_pq.PQexec(p->connection, sql), PGRES_COMMAND_OK);
}

static int copy(struct ws_push *p, const char *columns, const char *text, size_t bytes)
{
    char sql[512];
    int err;
    if (bytes == 0)
        return 0;
    snprintf(sql, sizeof sql, "COPY warpsight.%s FROM STDIN", columns);
    err = settle(p, ws_pq.PQexec(p->connection, sql), PGRES_COPY_IN);
    if (err != 0)
        return err;
    for (size_t at = 0; err == 0 && at < bytes;) {
        size_t n = bytes - at < 1 << 20 ? bytes - at : 1 << 20;
        if (ws_pq.PQputCopyData(p->connection, text + at, (int)n) != 1)
            err = complain(p, ws_pq.PQerrorMessage(p->connection));
        at += n;
    }
    if (ws_pq.PQputCopyEnd(p->connection, err == 0 ? NULL : "stopped") != 1 && err == 0)
        err = complain(p, ws_pq.PQerrorMessage(p->connection));
    for (PGresult *r = ws_pq.PQgetResult(p->connection); r; r = ws_pq.PQgetResult(p->connection)) {
        int one = settle(p, r, PGRES_COMMAND_OK);
        if (err == 0)
            err = one;
    }
    return err;
}

/* --- schema --- */

static bool has_schema(struct ws_push *p)
{
    PGresult *r = ws_pq.PQexec(p->connection, "SELECT version FROM warpsight.schema_version WHERE version >= 3");
    bool is_there = ws_pq.PQresultStatus(r) == PGRES_TUPLES_OK && ws_pq.PQntuples(r) > 0;
    ws_pq.PQclear(r);
    return is_there;
}

static int make_schema(struct ws_push *p)
{
    int err = 0;
    /* Two nodes that come first at the same time get in each other's way: the second finds the tables then. */
    for (int i = 0; i < TRIES * 4 && !has_schema(p); i++) {
        err = run(p, "BEGIN");
        if (err == 0)
            err = run(p, schema);
        if (err == 0)
            err = run(p, "COMMIT");
        if (err != 0)
            ws_pq.PQclear(ws_pq.PQexec(p->connection, "ROLLBACK"));
        if (err != 0 && !p->may_retry)
            return err;
    }
    return has_schema(p) ? 0 : err;
}

/* --- connection --- */

static void ignore_notice(void *state, const char *message)
{
    (void)state;
    (void)message;
}

int ws_push_open(const char *url, struct ws_push **out, char *message, size_t cap)
{
    /* What the URL says itself comes later and counts. */
    const char *keywords[] = {"connect_timeout", "application_name", "dbname", NULL};
    const char *values[] = {"10", "warpsight", url, NULL};
    struct ws_push *p;
    int err;
    *out = NULL;
    if (strncmp(url, "postgres://", 11) != 0 && strncmp(url, "postgresql://", 13) != 0) {
        snprintf(message, cap, "the target is a URL like postgres://user@host/database");
        return -WS_EINVAL;
    }
    if (!ws_pq_open(message, cap))
        return -WS_EIO;
    p = calloc(1, sizeof *p);
    if (!p)
        return -WS_ENOMEM;
    p->message = message;
    p->cap = cap;
    p->connection = ws_pq.PQconnectdbParams(keywords, values, 1);
    if (ws_pq.PQstatus(p->connection) != CONNECTION_OK) {
        const char *text = ws_pq.PQerrorMessage(p->connection);
        snprintf(message, cap, "cannot connect: %.*s", (int)strcspn(text, "\n"), text);
        err = -WS_EIO;
    } else {
        ws_pq.PQsetNoticeProcessor(p->connection, ignore_notice, NULL);
        err = make_schema(p);
    }
    if (err != 0) {
        ws_push_close(p);
        return err;
    }
    *out = p;
    return 0;
}

void ws_push_close(struct ws_push *push)
{
    if (!push)
        return;
    ws_pq.PQfinish(push->connection);
    free(push);
}

const struct ws_push_count *ws_push_counted(const struct ws_push *push)
{
    return &push->count;
}

/* --- what is there --- */

/* A session to be looked at, and what the engine has of it. */
struct item {
    int64_t id;
    char *token; /* malloc */
    char fingerprint[65];
    bool is_there, is_same;
};

static int keep_item(void *state, const struct ws_session_row *row)
{
    struct item *item = state;
    item->token = strdup(row->token);
    ws_push_fingerprint(row, item->fingerprint);
    return item->token && *item->fingerprint ? 0 : -WS_ENOMEM;
}

/* "{"one","two"}": any text. */
static void put_element(FILE *out, const char *text, bool is_first)
{
    fputs(is_first ? "{\"" : ",\"", out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static int by_token(const void *a, const void *b)
{
    return strcmp(((const struct item *)a)->token, ((const struct item *)b)->token);
}

static int ask(struct ws_push *p, struct item *items, size_t count)
{
    char *array = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&array, &length);
    const char *values[1];
    PGresult *r;
    if (!out)
        return -WS_ENOMEM;
    for (size_t i = 0; i < count; i++)
        put_element(out, items[i].token, i == 0);
    fputs("}", out);
    if (fclose(out) != 0) {
        free(array);
        return -WS_ENOMEM;
    }
    values[0] = array;
    r = ws_pq.PQexecParams(p->connection,
                           "SELECT token, fingerprint FROM warpsight.session WHERE token = ANY($1::text[])", 1, NULL,
                           values, NULL, NULL, 0);
    for (int i = 0; ws_pq.PQresultStatus(r) == PGRES_TUPLES_OK && i < ws_pq.PQntuples(r); i++) {
        struct item key = {.token = ws_pq.PQgetvalue(r, i, 0)};
        struct item *found = bsearch(&key, items, count, sizeof key, by_token);
        if (!found)
            continue;
        found->is_there = true;
        found->is_same = strcmp(found->fingerprint, ws_pq.PQgetvalue(r, i, 1)) == 0;
    }
    free(array);
    return settle(p, r, PGRES_TUPLES_OK);
}

/* --- batches --- */

static int begin_batch(struct batch *b)
{
    memset(b, 0, sizeof *b);
    for (int i = 0; i < WS_PUSH_TABLE_COUNT; i++)
        b->stream[i] = open_memstream(&b->text[i], &b->bytes[i]);
    b->tokens_stream = open_memstream(&b->tokens, &b->tokens_bytes);
    for (int i = 0; i < WS_PUSH_TABLE_COUNT; i++)
        if (!b->stream[i])
            return -WS_ENOMEM;
    return b->tokens_stream ? 0 : -WS_ENOMEM;
}

/* Its texts are whole then. */
static int close_batch(struct batch *b)
{
    int err = 0;
    for (int i = 0; i < WS_PUSH_TABLE_COUNT; i++) {
        if (b->stream[i] && fclose(b->stream[i]) != 0)
            err = -WS_ENOMEM;
        b->stream[i] = NULL;
    }
    if (b->tokens_stream && fclose(b->tokens_stream) != 0)
        err = -WS_ENOMEM;
    b->tokens_stream = NULL;
    return err;
}

static void free_batch(struct batch *b)
{
    (void)close_batch(b);
    for (int i = 0; i < WS_PUSH_TABLE_COUNT; i++)
        free(b->text[i]);
    free(b->tokens);
}

static int replace(struct ws_push *p, const struct batch *b)
{
    static const char *const tables[] = {
#define WS_PUSH_COLUMNS(sym, columns) columns,
        WS_PUSH_TABLES(WS_PUSH_COLUMNS)
#undef WS_PUSH_COLUMNS
    };
    const char *values[] = {b->tokens};
    int err = run(p, "BEGIN");
    if (err == 0)
        err = settle(p,
                     ws_pq.PQexecParams(p->connection, "DELETE FROM warpsight.session WHERE token = ANY($1::text[])", 1,
                                        NULL, values, NULL, NULL, 0),
                     PGRES_COMMAND_OK);
    for (int i = 0; err == 0 && i < WS_PUSH_TABLE_COUNT; i++)
        err = copy(p, tables[i], b->text[i], b->bytes[i]);
    if (err == 0)
        err = run(p, "COMMIT");
    if (err != 0)
        ws_pq.PQclear(ws_pq.PQexec(p->connection, "ROLLBACK"));
    return err;
}

static int send_batch(struct ws_push *p, struct ws_push_count *counted)
{
    struct batch *b = &p->batch;
    int err;
    if (b->sessions == 0)
        return 0;
    fputs("}", b->tokens_stream);
    err = close_batch(b);
    for (int i = 0; err == 0 && i < TRIES; i++) {
        p->may_retry = false;
        err = replace(p, b);
        if (err == 0 || !p->may_retry)
            break;
        if (i + 1 < TRIES)
            err = 0;
    }
    if (err == 0) {
        p->count.added += b->sessions - b->replaced;
        p->count.replaced += b->replaced;
        p->count.kernels += counted->kernels;
        p->count.metrics += counted->metrics;
    }
    memset(counted, 0, sizeof *counted);
    free_batch(b);
    return err == 0 ? begin_batch(b) : err;
}

static bool is_full(const struct batch *b)
{
    size_t bytes = 0;
    for (int i = 0; i < WS_PUSH_TABLE_COUNT; i++) {
        (void)fflush(b->stream[i]);
        bytes += b->bytes[i];
    }
    return b->sessions == BATCH_SESSIONS || bytes > BATCH_BYTES;
}

static int add(struct ws_push *p, struct ws_store *store, const struct item *item, struct ws_push_count *counted)
{
    struct batch *b = &p->batch;
    struct ws_session *session = NULL;
    int err = ws_report_load_kernels(store, item->id, &session);
    if (err == 0)
        err = ws_report_load_samples(store, session);
    if (err == 0)
        err = ws_push_put_session(b->stream, session, item->fingerprint, counted);
    else
        snprintf(p->message, p->cap, "session %lld: %s", (long long)item->id,
                 *ws_store_message(store) ? ws_store_message(store) : ws_err_text(err));
    if (err == 0) {
        put_element(b->tokens_stream, item->token, b->sessions == 0);
        b->sessions++;
        b->replaced += item->is_there;
    }
    ws_report_free(session);
    return err;
}

static int push_some(struct ws_push *p, struct ws_store *store, struct item *items, size_t count, size_t done,
                     size_t all, struct ws_progress *progress)
{
    struct ws_push_count counted = {0};
    int err;
    qsort(items, count, sizeof *items, by_token);
    err = ask(p, items, count);
    for (size_t i = 0; err == 0 && i < count; i++) {
        if (items[i].is_same)
            p->count.known++;
        else
            err = add(p, store, &items[i], &counted);
        if (err == 0 && is_full(&p->batch))
            err = send_batch(p, &counted);
        ws_progress_tell(progress, done + i + 1, all, NULL);
    }
    return err == 0 ? send_batch(p, &counted) : err;
}

int ws_push_sessions(struct ws_push *push, struct ws_store *store, const int64_t *ids, size_t count,
                     struct ws_progress *progress, char *message, size_t cap)
{
    struct item *items = calloc(ASK_SESSIONS, sizeof *items);
    int err = items ? begin_batch(&push->batch) : -WS_ENOMEM;
    push->message = message;
    push->cap = cap;
    *message = 0;
    for (size_t at = 0; err == 0 && at < count; at += ASK_SESSIONS) {
        size_t n = count - at < ASK_SESSIONS ? count - at : ASK_SESSIONS;
        for (size_t i = 0; err == 0 && i < n; i++) {
            items[i].id = ids[at + i];
            err = ws_store_get_session(store, items[i].id, keep_item, &items[i]);
        }
        if (err == 0)
            err = push_some(push, store, items, n, at, count, progress);
        for (size_t i = 0; i < n; i++)
            free(items[i].token);
        memset(items, 0, ASK_SESSIONS * sizeof *items);
    }
    free_batch(&push->batch);
    free(items);
    if (err != 0 && !*message)
        snprintf(message, cap, "%s", *ws_store_message(store) ? ws_store_message(store) : ws_err_text(err));
    return err;
}

#endif
