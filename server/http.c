/* SPDX-License-Identifier: MIT
 * http.c: between libmicrohttpd and the handlers. One thread a connection.
 * libmicrohttpd's own time-out is one of inactivity: a byte a second keeps a connection for ever, and a few
 * hundred of those would be all. Hence a deadline of our own for each phase, and a thread that shuts what exceeds it.
 * Nothing of a request's headers is ever logged. */
#include "http.h"

#include "../analyzer/err.h"
#include "answer_cache.h"
#include "api.h"
#include "log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    CONNECTIONS = 256,    /* libmicrohttpd closes who comes when there are so many */
    KEPT = 64,            /* above this whoever waited longest without asking makes room */
    BACKLOG = 512,        /* who finds all connections taken waits here */
    HEADERS_MAX = 100,    /* of one request */
    HEAD_MS = 10000,      /* from connecting, or from the last answer's end, to a whole request */
    BODY_MS = 10000,      /* to the end of the body */
    ANSWER_MS = 600000,   /* a large export over a slow line */
    IDLE_S = 60,          /* libmicrohttpd's own, while an answer is being read */
    BEAT_MS = 10000,      /* an event stream says something at least so often: a line that is dead is then seen */
    LOOK_MS = 250,        /* and looks so often whether its reader has left */
    MEMORY_BYTES = 32768, /* of a connection: request line and headers must fit */
    STREAM_BYTES = 128 + 21 * WS_DAEMON_LIVE + 64, /* one event with all ids */
    STACK_BYTES = 1 << 20,                         /* sorted pages and reports keep their rows on the heap */
};

/* A connection, listed while it is open. */
struct link {
    struct link *next, *before;
    int fd;
    int64_t deadline_ms;   /* 0 = none */
    int64_t idle_since_ms; /* 0: a request is being answered */
    bool is_shut;
};

struct ws_http {
    struct ws_daemon *daemon;
    struct MHD_Daemon *mhd;
    pthread_mutex_t lock; /* guards links */
    struct link *links;
    size_t open; /* links that are not shut */
    pthread_t reaper;
    _Atomic bool ends;     /* the reaper's */
    _Atomic uint32_t busy; /* requests being answered, streams not counted */
    _Atomic uint64_t requests;
};

/* A request from its first line to its end. */
struct exchange {
    char *target; /* as sent; cut behind what is too long anyway */
    struct ws_http_request request;
    struct ws_http_verdict verdict;
    char body[WS_HTTP_BODY_MAX + 1];
    size_t body_bytes;
    bool is_judged, is_too_large, is_busy;
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* --- deadlines --- */

static void set_deadline(struct ws_http *http, struct MHD_Connection *connection, int ms, bool is_idle)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct link *l = info ? info->socket_context : NULL;
    if (!l)
        return;
    pthread_mutex_lock(&http->lock);
    l->deadline_ms = ms ? now_ms() + ms : 0;
    l->idle_since_ms = is_idle ? now_ms() : 0;
    pthread_mutex_unlock(&http->lock);
}

static void shut(struct ws_http *http, struct link *l)
{
    if (l->is_shut)
        return;
    l->is_shut = true;
    l->deadline_ms = 0;
    http->open--;
    shutdown(l->fd, SHUT_RDWR);
}

/* Many idle connections must not shut out one that asks. Under lock. */
static void make_room(struct ws_http *http)
{
    struct link *oldest = NULL;
    if (http->open <= KEPT)
        return;
    for (struct link *l = http->links; l; l = l->next)
        if (!l->is_shut && l->idle_since_ms && (!oldest || l->idle_since_ms < oldest->idle_since_ms))
            oldest = l;
    if (oldest)
        shut(http, oldest);
}

static void connection_begins(struct ws_http *http, struct MHD_Connection *connection, void **context)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct link *l = calloc(1, sizeof *l);
    *context = l;
    if (!l || !info) {
        free(l);
        *context = NULL;
        return;
    }
    l->fd = info->connect_fd;
    l->deadline_ms = now_ms() + HEAD_MS;
    l->idle_since_ms = now_ms();
    pthread_mutex_lock(&http->lock);
    make_room(http);
    l->next = http->links;
    if (l->next)
        l->next->before = l;
    http->links = l;
    http->open++;
    pthread_mutex_unlock(&http->lock);
    atomic_fetch_add(&http->daemon->totals.connections, 1);
}

static void connection_ends(struct ws_http *http, void **context)
{
    struct link *l = *context;
    if (!l)
        return;
    pthread_mutex_lock(&http->lock);
    if (l->next)
        l->next->before = l->before;
    if (l->before)
        l->before->next = l->next;
    else if (http->links == l)
        http->links = l->next;
    http->open -= !l->is_shut;
    pthread_mutex_unlock(&http->lock);
    free(l);
    *context = NULL;
    atomic_fetch_sub(&http->daemon->totals.connections, 1);
}

static void on_connection(void *state, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        connection_begins(state, connection, context);
    else
        connection_ends(state, context);
}

/* Shut all whose time is over, or every one. The descriptor is closed by libmicrohttpd, after on_connection. */
static void shut_overdue(struct ws_http *http, bool all)
{
    int64_t now = now_ms();
    pthread_mutex_lock(&http->lock);
    for (struct link *l = http->links; l; l = l->next)
        if (all || (l->deadline_ms && l->deadline_ms < now)) {
            if (!all)
                atomic_fetch_add(&http->daemon->totals.reaped, 1);
            shut(http, l);
        }
    pthread_mutex_unlock(&http->lock);
}

static void *reap(void *state)
{
    struct ws_http *http = state;
    struct timespec pause = {0, 250000000};
    while (!atomic_load(&http->ends)) {
        shut_overdue(http, false);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* --- answers --- */

static void put(struct MHD_Response *r, const char *name, const char *value)
{
    (void)MHD_add_response_header(r, name, value);
}

/* On every answer, also on errors. */
static void put_safety(struct MHD_Response *r)
{
    put(r, "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    put(r, "X-Content-Type-Options", "nosniff");
    put(r, "Referrer-Policy", "no-referrer");
    put(r, "Cross-Origin-Resource-Policy", "same-origin");
    put(r, "Cross-Origin-Opener-Policy", "same-origin");
}

static void put_call(struct MHD_Response *r, const struct ws_call *call)
{
    static const char *const cache[] = {"no-store", "no-cache", "public, max-age=31536000, immutable"};
    char text[192];
    put_safety(r);
    put(r, "Cache-Control", cache[call->cache]);
    put(r, "X-Request-Id", call->request_id);
    if (*call->etag)
        put(r, "ETag", call->etag);
    if (*call->type && call->status != 304 && call->status != 204) {
        bool is_text = strncmp(call->type, "text/", 5) == 0 || strcmp(call->type, "application/json") == 0;
        snprintf(text, sizeof text, "%s%s", call->type, is_text ? "; charset=utf-8" : "");
        put(r, "Content-Type", text);
    }
    if (*call->file_name) {
        snprintf(text, sizeof text, "attachment; filename=\"%s\"", call->file_name);
        put(r, "Content-Disposition", text);
    }
    if (call->retry_after) {
        snprintf(text, sizeof text, "%d", call->retry_after);
        put(r, "Retry-After", text);
    }
}

static void count_request(struct ws_http *http, const struct ws_route *route, int status)
{
    size_t count;
    const struct ws_route *routes = ws_routes(&count);
    size_t i = route ? (size_t)(route - routes) : WS_DAEMON_ROUTES - 1;
    int hundred = status / 100;
    if (i < WS_DAEMON_ROUTES && hundred >= 0 && hundred < 6)
        atomic_fetch_add(&http->daemon->totals.requests[i][hundred], 1);
}

/* --- event streams --- */

struct stream {
    struct ws_http *http;
    int fd; /* the connection's, not ours; -1 = not known */
    uint64_t seen;
    bool has_begun, has_ended;
};

static void stream_text(struct stream *s, uint64_t revision, char *at, size_t cap)
{
    struct ws_daemon *d = s->http->daemon;
    int64_t live[WS_DAEMON_LIVE];
    size_t count = ws_daemon_live(d, live);
    int n = snprintf(at, cap, "%sid: %" PRIu64 "\nevent: revision\ndata: {\"revision\":%" PRIu64 ",\"live\":[",
                     s->has_begun ? "" : "retry: 2000\n", revision, revision);
    for (size_t i = 0; i < count; i++)
        n += snprintf(at + n, cap - (size_t)n, "%s%" PRId64, i ? "," : "", live[i]);
    snprintf(at + n, cap - (size_t)n, "],\"lost\":%" PRIu64 "}\n\n", (uint64_t)atomic_load(&d->totals.lost_frames));
}

/* The tab was closed, or shows another page: one who clicks fast must not use up all streams. */
static bool has_left(const struct stream *s)
{
    struct pollfd p = {.fd = s->fd, .events = POLLRDHUP};
    return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/* Waits for news, but not longer than a beat; false: nobody listens any more. */
static bool stream_wait(const struct stream *s, uint64_t *revision)
{
    struct ws_daemon *d = s->http->daemon;
    *revision = s->seen;
    for (int ms = 0; ms < BEAT_MS && *revision == s->seen && !atomic_load(&d->is_stopping); ms += LOOK_MS) {
        *revision = ws_daemon_wait(d, s->seen, LOOK_MS);
        if (has_left(s))
            return false;
    }
    return true;
}

/* The next piece of a stream; blocks, which is right in a thread of its own. */
static ssize_t stream_next(void *state, uint64_t pos, char *at, size_t cap)
{
    struct stream *s = state;
    struct ws_daemon *d = s->http->daemon;
    char text[STREAM_BYTES];
    uint64_t revision;
    size_t n;
    (void)pos;
    if (s->has_ended)
        return MHD_CONTENT_READER_END_OF_STREAM;
    revision = atomic_load(&d->revision);
    if (s->has_begun && !stream_wait(s, &revision))
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (atomic_load(&d->is_stopping)) {
        s->has_ended = true;
        snprintf(text, sizeof text, "event: bye\ndata: {}\n\n");
    } else if (s->has_begun && revision == s->seen) {
        snprintf(text, sizeof text, ":\n\n");
    } else {
        stream_text(s, revision, text, sizeof text);
    }
    s->seen = revision;
    s->has_begun = true;
    n = strlen(text);
    if (n > cap)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    memcpy(at, text, n);
    return (ssize_t)n;
}

static void stream_free(void *state)
{
    struct stream *s = state;
    atomic_fetch_sub(&s->http->daemon->totals.streams, 1);
    free(s);
}

static struct MHD_Response *stream_response(struct ws_http *http, struct MHD_Connection *connection)
{
    struct stream *s = calloc(1, sizeof *s);
    const union MHD_ConnectionInfo *i = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct MHD_Response *r;
    if (!s)
        return NULL;
    s->http = http;
    s->fd = i ? i->connect_fd : -1;
    r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BYTES, stream_next, s, stream_free);
    if (!r)
        free(s);
    return r;
}

/* --- requests --- */

static struct MHD_Response *body_response(struct ws_http *http, struct MHD_Connection *connection, struct ws_call *call)
{
    char *text;
    if (call->is_stream)
        return stream_response(http, connection);
    if (call->file) {
        off_t size = fflush(call->file) == 0 ? lseek(fileno(call->file), 0, SEEK_END) : -1;
        int fd = size >= 0 ? dup(fileno(call->file)) : -1;
        fclose(call->file);
        call->file = NULL;
        return fd >= 0 ? MHD_create_response_from_fd64((uint64_t)size, fd) : NULL;
    }
    if (call->status == 304 || call->status == 204)
        return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    if (call->lent)
        return MHD_create_response_from_buffer(call->lent_bytes, (void *)(uintptr_t)call->lent, MHD_RESPMEM_PERSISTENT);
    if (fclose(call->out) != 0)
        call->text_bytes = 0;
    call->out = NULL;
    text = call->text;
    call->text = NULL;
    return MHD_create_response_from_buffer(call->text_bytes, text, MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result send_call(struct ws_http *http, struct MHD_Connection *connection, struct ws_call *call,
                                 const struct ws_http_verdict *v, bool close_after)
{
    enum MHD_Result result;
    struct MHD_Response *r;
    bool takes_stream = call->is_stream;
    if (takes_stream)
        atomic_fetch_add(&http->daemon->totals.streams, 1);
    r = body_response(http, connection, call);
    if (!r) {
        if (takes_stream)
            atomic_fetch_sub(&http->daemon->totals.streams, 1);
        return MHD_NO;
    }
    put_call(r, call);
    if (v && *v->allow)
        put(r, "Allow", v->allow);
    if (v && v->status == 401)
        put(r, "WWW-Authenticate", "Bearer");
    if (close_after)
        put(r, "Connection", "close");
    set_deadline(http, connection, takes_stream ? 0 : ANSWER_MS, false);
    result = MHD_queue_response(connection, (unsigned)call->status, r);
    MHD_destroy_response(r);
    return result;
}

static void start_call(struct ws_http *http, struct ws_call *call, const struct exchange *x)
{
    memset(call, 0, sizeof *call);
    call->daemon = http->daemon;
    call->request = &x->request;
    call->status = 200;
    call->type = "application/json";
    snprintf(call->request_id, sizeof call->request_id, "%08" PRIx64 "%06" PRIu64, http->daemon->boot & 0xffffffffu,
             (uint64_t)atomic_fetch_add(&http->requests, 1) % 1000000);
}

/* Run the handler of a request that passed. */
static enum MHD_Result answer(struct ws_http *http, struct MHD_Connection *connection, struct exchange *x)
{
    struct ws_call call;
    enum MHD_Result result;
    start_call(http, &call, x);
    if (!ws_call_begin(&call))
        return MHD_NO;
    call.body = x->body;
    call.body_bytes = x->body_bytes;
    call.type = x->request.route->type;
    if (!*call.type)
        call.status = 204;
    x->is_busy = true;
    atomic_fetch_add(&http->busy, 1);
    if (x->is_too_large)
        ws_call_fail(&call, 413, "body_too_large", "", "the body has more than %d bytes", WS_HTTP_BODY_MAX);
    else
        x->request.route->handler(&call);
    ws_answer_cache_keep(&call);
    count_request(http, x->request.route, call.status);
    result = send_call(http, connection, &call, NULL, x->is_too_large);
    ws_call_end(&call);
    free(call.text);
    return result;
}

/* A 303 with the cookie, or an error. */
static enum MHD_Result refuse(struct ws_http *http, struct MHD_Connection *connection, struct exchange *x)
{
    const struct ws_http_verdict *v = &x->verdict;
    struct ws_call call;
    enum MHD_Result result;
    start_call(http, &call, x);
    if (!ws_call_begin(&call))
        return MHD_NO;
    if (x->request.route && x->request.route->access == WS_ACCESS_PAGE && v->status == 401) {
        /* Someone followed an old link: the page, which holds no data, says in words what to do. */
        call.type = x->request.route->type;
        x->request.if_none_match = NULL;
        x->request.route->handler(&call);
        *call.etag = 0;
        call.cache = WS_CACHE_NEVER;
        call.status = v->status;
    } else {
        ws_call_fail(&call, v->status, v->code, v->hint, "%s", v->message);
    }
    count_request(http, x->request.route, v->status);
    result = send_call(http, connection, &call, v, true);
    ws_call_end(&call);
    free(call.text);
    return result;
}

static enum MHD_Result log_in(struct ws_http *http, struct MHD_Connection *connection, struct exchange *x)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    char name[24];
    char cookie[192];
    enum MHD_Result result;
    if (!r)
        return MHD_NO;
    put_safety(r);
    put(r, "Cache-Control", "no-store");
    put(r, "Location", x->verdict.location);
    if (http->daemon->policy.token) {
        ws_http_cookie_name(http->daemon->policy.port, name);
        snprintf(cookie, sizeof cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict", name, http->daemon->token);
        put(r, "Set-Cookie", cookie);
    }
    count_request(http, x->request.route, 303);
    set_deadline(http, connection, ANSWER_MS, false);
    result = MHD_queue_response(connection, 303, r);
    MHD_destroy_response(r);
    return result;
}

struct headers {
    struct ws_http_header at[HEADERS_MAX];
    size_t count;
};

static enum MHD_Result take_header(void *state, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct headers *h = state;
    (void)kind;
    if (h->count == HEADERS_MAX)
        return MHD_NO;
    h->at[h->count].name = name;
    h->at[h->count++].value = value;
    return MHD_YES;
}

static void judge(const struct ws_http *http, struct MHD_Connection *connection, const char *method, struct exchange *x)
{
    struct headers h = {.count = 0};
    struct ws_http_head head = {.method = method, .target = x->target, .headers = h.at};
    /* One that is left out may be a second Host: then nothing about the request is known. */
    if (MHD_get_connection_values(connection, MHD_HEADER_KIND, take_header, &h) > HEADERS_MAX ||
        h.count == HEADERS_MAX) {
        x->verdict.status = 431;
        x->verdict.code = "headers_too_large";
        x->verdict.hint = "";
        snprintf(x->verdict.message, sizeof x->verdict.message, "there are %d headers or more", HEADERS_MAX);
        return;
    }
    head.count = h.count;
    ws_http_decide(&head, &http->daemon->policy, &x->request, &x->verdict);
}

static enum MHD_Result on_request(void *state, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *data, size_t *data_bytes, void **context)
{
    struct ws_http *http = state;
    struct exchange *x = *context;
    (void)url; /* decoded and cut at a NUL: x->target is what was sent */
    (void)version;
    if (!x)
        return MHD_NO; /* out of memory at the first line */
    if (!x->is_judged) {
        x->is_judged = true;
        set_deadline(http, connection, BODY_MS, false);
        judge(http, connection, method, x);
        if (x->verdict.status == 0)
            return MHD_YES;
        return x->verdict.status == 303 ? log_in(http, connection, x) : refuse(http, connection, x);
    }
    if (*data_bytes > 0) {
        x->is_too_large |= *data_bytes > WS_HTTP_BODY_MAX - x->body_bytes;
        if (!x->is_too_large) {
            memcpy(x->body + x->body_bytes, data, *data_bytes);
            x->body_bytes += *data_bytes;
            x->body[x->body_bytes] = 0;
        }
        *data_bytes = 0;
        return MHD_YES;
    }
    return answer(http, connection, x);
}

static void *on_target(void *state, const char *target, struct MHD_Connection *connection)
{
    struct exchange *x = calloc(1, sizeof *x);
    (void)state;
    (void)connection;
    if (!x)
        return NULL;
    x->target = strndup(target, WS_HTTP_TARGET_MAX + 1);
    if (x->target)
        return x;
    free(x);
    return NULL;
}

static void on_end(void *state, struct MHD_Connection *connection, void **context, enum MHD_RequestTerminationCode code)
{
    struct ws_http *http = state;
    struct exchange *x = *context;
    (void)code;
    if (x) {
        if (x->is_busy)
            atomic_fetch_sub(&http->busy, 1);
        free(x->target);
        free(x);
    }
    *context = NULL;
    set_deadline(http, connection, HEAD_MS + 50000, true); /* an idle keep-alive connection */
}

__attribute__((format(printf, 2, 0))) static void on_log(void *state, const char *format, va_list args)
{
    char text[256];
    (void)state;
    vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\n")] = 0;
    ws_log(WS_DEBUG, "http", "%s", text);
}

/* --- life --- */

static int make_address(const char *address, uint16_t port, struct sockaddr_storage *out, socklen_t *length)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)out;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        *length = sizeof *v4;
        return 0;
    }
    if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        *length = sizeof *v6;
        return 0;
    }
    return -WS_EINVAL;
}

static int listen_failed(int fd, const char *address, uint16_t port, char *message, size_t cap)
{
    int why = errno;
    if (fd >= 0)
        close(fd);
    snprintf(message, cap, "cannot listen on %s port %u: %s", address, (unsigned)port, strerror(why));
    return why == EADDRINUSE ? -WS_EEXIST : why == EACCES ? -WS_EPERM : -WS_EIO;
}

int ws_http_listen(const char *address, uint16_t port, int *fd, uint16_t *got, char *message, size_t cap)
{
    struct sockaddr_storage at;
    socklen_t length;
    int on = 1;
    int s;
    if (make_address(address, port, &at, &length) != 0) {
        snprintf(message, cap, "'%s' is not an IP address", address);
        return -WS_EINVAL;
    }
    s = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s < 0 || setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        (at.ss_family == AF_INET6 && setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0) ||
        bind(s, (struct sockaddr *)&at, length) != 0 || listen(s, BACKLOG) != 0 ||
        getsockname(s, (struct sockaddr *)&at, &length) != 0)
        return listen_failed(s, address, port, message, cap);
    *fd = s;
    *got = ntohs(at.ss_family == AF_INET ? ((struct sockaddr_in *)&at)->sin_port
                                         : ((struct sockaddr_in6 *)&at)->sin6_port);
    return 0;
}

int ws_http_start(struct ws_http **out, struct ws_daemon *daemon, int fd)
{
    struct ws_http *http = calloc(1, sizeof *http);
    if (!http)
        return -WS_ENOMEM;
    http->daemon = daemon;
    pthread_mutex_init(&http->lock, NULL);
    http->mhd = MHD_start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC |
            MHD_USE_ERROR_LOG,
        0, NULL, NULL, on_request, http, MHD_OPTION_EXTERNAL_LOGGER, on_log, http, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_NOTIFY_COMPLETED, on_end, http,
        MHD_OPTION_URI_LOG_CALLBACK, on_target, http, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_BYTES,
        MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (!http->mhd || pthread_create(&http->reaper, NULL, reap, http) != 0) {
        if (http->mhd)
            MHD_stop_daemon(http->mhd);
        else
            close(fd);
        free(http);
        return -WS_EIO;
    }
    *out = http;
    return 0;
}

void ws_http_stop(struct ws_http *http, unsigned grace_ms)
{
    struct timespec pause = {0, 10000000};
    int64_t until = now_ms() + grace_ms;
    MHD_socket fd;
    if (!http)
        return;
    fd = MHD_quiesce_daemon(http->mhd);
    while (atomic_load(&http->busy) > atomic_load(&http->daemon->totals.streams) && now_ms() < until)
        nanosleep(&pause, NULL);
    atomic_store(&http->ends, true);
    pthread_join(http->reaper, NULL);
    shut_overdue(http, true);
    MHD_stop_daemon(http->mhd);
    if (fd != MHD_INVALID_SOCKET)
        close(fd);
    pthread_mutex_destroy(&http->lock);
    free(http);
}
