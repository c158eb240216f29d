/* SPDX-License-Identifier: MIT
 * api.h: one HTTP call as its handler sees it, and the list of handlers. A handler reads call->request,
 * writes one answer, and knows neither sockets nor libmicrohttpd.
 * Add a route: a row in routes.def, a handler ws_api_<name> in api_<noun>.c. */
#ifndef WS_SERVER_API_H
#define WS_SERVER_API_H

#include "daemon.h"
#include "http_rules.h"
#include "json.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* How long a browser may keep an answer. */
enum ws_cache {
    WS_CACHE_NEVER,  /* no-store */
    WS_CACHE_ASK,    /* no-cache: kept, and asked for with its ETag */
    WS_CACHE_FOREVER /* the URL names the content */
};

struct ws_call {
    struct ws_daemon *daemon;
    const struct ws_http_request *request;
    const char *body; /* NUL-ended */
    size_t body_bytes;
    char request_id[17];

    /* the answer */
    int status;       /* 200 until changed */
    const char *type; /* the route's until changed */
    enum ws_cache cache;
    char etag[64];       /* with quotes, or "" */
    char file_name[128]; /* answer is a file to save; only letters, digits and "._-" */
    const void *lent;    /* static bytes to send instead of what was written */
    size_t lent_bytes;
    FILE *file;      /* a temporary file to send instead; closed by http.c */
    bool is_cached;  /* the text came from the answer cache */
    bool is_stream;  /* an event stream follows */
    int retry_after; /* seconds; 0 = none */
    FILE *out;       /* memory stream */
    char *text;
    size_t text_bytes;
    struct ws_json json; /* writes to out */

    struct ws_store *store; /* of ws_call_store */
    bool is_store_broken;
};

/* Begin and end the memory of an answer; http.c calls these. False: out of memory. */
bool ws_call_begin(struct ws_call *call);
void ws_call_end(struct ws_call *call);

/* The writer of a JSON answer. */
struct ws_json *ws_call_json(struct ws_call *call);

/* Drop what was written and answer with an error instead. code: stable word; hint "" = none. */
void ws_call_fail(struct ws_call *call, int status, const char *code, const char *hint, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* The same for an error of a store, or 404 session_not_found for -WS_ENOENT. */
void ws_call_fail_store(struct ws_call *call, int err);

/* Set the ETag of the present revision (of the session that the path names, else of all). True: the answer is there
 * already: 304 for a browser that has it, or the text of an earlier call. */
bool ws_call_unchanged(struct ws_call *call);

/* A reader of the database, given back at the end of the call; NULL: the answer is an error already. */
struct ws_store *ws_call_store(struct ws_call *call);

/* A whole number of a parameter. Left out: *out stays. False: the answer is 400 already. */
bool ws_call_int(struct ws_call *call, const char *name, int64_t min, int64_t max, int64_t *out);

/* SHA-less content hash for URLs and tags: 64-bit FNV-1a as 16 hexadecimal digits. */
void ws_content_hash(const void *bytes, size_t count, char out[17]);

/* SESSION of docs/api.md. session: for driver and CUPTI; NULL: those are null. */
struct ws_session;
void ws_api_put_session(struct ws_json *j, struct ws_daemon *daemon, const struct ws_session_row *row,
                        const struct ws_session *session);
/* Whole answers, for the report in one file, too (html_report.c). daemon NULL: no program runs.
 * Errors of the store; -WS_ENOMEM. */
int ws_api_put_session_page(struct ws_json *j, struct ws_daemon *daemon, struct ws_store *store,
                            const struct ws_session *session);
int ws_api_put_roofline(struct ws_json *j, const struct ws_session *session);
void ws_api_put_time(struct ws_json *j, const struct ws_session *session);
void ws_api_put_catalogue(struct ws_json *j);
/* A session from the cache (session_cache.h), to be given back; false: the answer is an error already. */
struct ws_cached;
bool ws_call_session(struct ws_call *call, int64_t id, const struct ws_cached **out);
/* The same with facts and timeline. */
bool ws_call_whole_session(struct ws_call *call, int64_t id, const struct ws_cached **out);

/* The parameter metrics=: wanted[WS_METRIC_COUNT], or *all; usual: keys when it is left out. False: 400 already. */
bool ws_call_metrics(struct ws_call *call, const char *usual, bool *wanted, bool *all);

/* One row of gpus.def as JSON: the calculator and the catalogue show the same. */
struct ws_limits;
void ws_api_put_limits(struct ws_json *j, const struct ws_limits *limits);

/* The absolute time that a session's times are relative to. -WS_ENOENT. */
int ws_api_base_ns(struct ws_store *store, int64_t session_id, int64_t *out);
/* First start and last end of the device's work of a session; found false: there is none. */
int ws_api_timeline_range(struct ws_store *store, int64_t session_id, int64_t *from_ns, int64_t *to_ns, bool *found);
/* from, to and px of a request, as absolute times; left out: first to last, and *px stays. False: 400 already. */
bool ws_api_view(struct ws_call *call, int64_t base_ns, int64_t first_ns, int64_t last_ns, int64_t *from_ns,
                 int64_t *to_ns, int64_t *px);
/* A session is gone: what is kept about it must go, for its id may come again. */
void ws_api_timeline_forget(int64_t session_id);

ws_handler ws_api_page, ws_api_script, ws_api_style;
ws_handler ws_api_health, ws_api_metrics, ws_api_status, ws_api_events, ws_api_openapi;
ws_handler ws_api_sessions, ws_api_session, ws_api_session_delete, ws_api_session_note;
ws_handler ws_api_report, ws_api_kernels, ws_api_kernel, ws_api_source, ws_api_launches, ws_api_roofline;
ws_handler ws_api_time, ws_api_verify, ws_api_decode;
ws_handler ws_api_processes, ws_api_running, ws_api_control;
ws_handler ws_api_timeline, ws_api_timeline_data, ws_api_export;
ws_handler ws_api_timeline_memory, ws_api_timeline_waits, ws_api_timeline_queue, ws_api_timeline_profiling;
ws_handler ws_api_timeline_samples, ws_api_samples;
ws_handler ws_api_compare, ws_api_occupancy, ws_api_access, ws_api_catalogue;

#endif
