/* SPDX-License-Identifier: MIT
 * daemon.h: what the threads of `warpsight serve` share: the one writer, the readers, the revision that
 * tells what changed, and the counters behind /metrics. It knows no HTTP; http.h does.
 * Threads: ingest (the writer), one per connection (readers), main (signals). */
#ifndef WS_SERVER_DAEMON_H
#define WS_SERVER_DAEMON_H

#include "http_rules.h"
#include "paths.h"
#include "store.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    WS_DAEMON_READERS = 8,   /* connections kept open between requests: about 2 MB each when warm */
    WS_DAEMON_STREAMS = 16,  /* event streams at most */
    WS_DAEMON_LIVE = 64,     /* running sessions that are told apart */
    WS_DAEMON_TOUCHED = 256, /* sessions whose last change is remembered one by one */
    WS_DAEMON_ROUTES = 64,   /* room for request counters */
};

/* Running totals, each written by one thread or atomically, read by any. */
struct ws_daemon_totals {
    _Atomic uint64_t frames, records, launches, lost_frames, segments, batches;
    _Atomic uint64_t ingest_ns;  /* time spent in scans that brought something */
    _Atomic uint64_t last_ns;    /* when rows came last, ns since 1970; 0 = never */
    _Atomic uint64_t scanned_ns; /* when the spool was last read to its end, ns since 1970 */
    _Atomic uint64_t backlog;    /* bytes in the spool that were not taken yet */
    _Atomic uint64_t live_agents;
    _Atomic uint64_t requests[WS_DAEMON_ROUTES][6]; /* by route and hundreds of the status; last row: no route */
    _Atomic uint32_t connections, streams;
    _Atomic uint64_t reaped; /* connections shut because they took too long */
};

struct ws_daemon {
    /* set before the threads start */
    char db[WS_PATH_MAX];
    char spool[WS_PATH_MAX];
    char url[96];                   /* http://127.0.0.1:7750 */
    char token[WS_TOKEN_CHARS + 1]; /* "" = none */
    struct ws_http_policy policy;
    int64_t started_ns;
    uint64_t boot; /* random: revisions of another run are not ours */

    _Atomic bool is_stopping;
    _Atomic uint64_t revision; /* grows with every change of the database */
    struct ws_daemon_totals totals;

    pthread_mutex_t event_lock; /* guards the wait for a new revision, and all up to floor */
    pthread_cond_t event;
    char problem[256];            /* why nothing can be stored now; "" = all is well */
    int64_t live[WS_DAEMON_LIVE]; /* sessions of which a program runs */
    size_t live_count;
    struct {
        int64_t session;
        uint64_t revision;
    } touched[WS_DAEMON_TOUCHED]; /* the revision of a session's last change; session 0 = free */
    uint64_t floor;               /* of all others: not later than this */

    pthread_mutex_t write_lock; /* guards writer; held for a whole scan of the spool */
    struct ws_store *writer;

    pthread_mutex_t reader_lock; /* guards readers */
    struct ws_store *readers[WS_DAEMON_READERS];

    pthread_t ingest;
    bool has_ingest;
};

/* Take the database (a second writer is refused) and make ready; nothing runs yet. d is zeroed by the caller
 * but for db, spool and policy.
 *   message  [cap] one line when the result is not 0
 *   errors   of ws_store_open; -WS_EIO no random numbers */
int ws_daemon_open(struct ws_daemon *d, char *message, size_t cap);

/* Start the ingest thread. */
int ws_daemon_start(struct ws_daemon *d);
/* Tell all threads to end. */
void ws_daemon_interrupt(struct ws_daemon *d);
/* Wait for the ingest thread, which takes what is whole in the spool once more. After ws_daemon_interrupt. */
void ws_daemon_stop(struct ws_daemon *d);
void ws_daemon_close(struct ws_daemon *d);

/* The token of this database, made if there is none: FILE.token beside the database, 0600, so that a
 * browser's cookie outlives the daemon. -WS_EIO, -WS_EPERM with message. */
int ws_daemon_load_token(struct ws_daemon *d, char *message, size_t cap);

/* A read-only store for one request, to be given back. -WS_E… as ws_store_open, message too. */
int ws_daemon_reader_take(struct ws_daemon *d, struct ws_store **out, char *message, size_t cap);
/* broken: it failed and is not to be used again. */
void ws_daemon_reader_give(struct ws_daemon *d, struct ws_store *store, bool broken);

/* Something of these sessions changed (NULL: of any): the revision grows, the streams wake. */
void ws_daemon_changed(struct ws_daemon *d, const int64_t *sessions, size_t count);

/* The revision at which a session changed last, or a later one; what is kept of it is good as long as this stays. */
uint64_t ws_daemon_session_revision(struct ws_daemon *d, int64_t session);

/* Wait until the revision differs from seen, the daemon stops, or ms are over. Returns the revision. */
uint64_t ws_daemon_wait(struct ws_daemon *d, uint64_t seen, unsigned ms);

/* Why nothing can be stored now, copied; "" = all is well. */
void ws_daemon_problem(struct ws_daemon *d, char out[256]);

/* Sessions of which a program runs now: copied to out, returns how many. */
size_t ws_daemon_live(struct ws_daemon *d, int64_t out[WS_DAEMON_LIVE]);

/* Nanoseconds since 1970. */
int64_t ws_daemon_now_ns(void);

#endif
