/* SPDX-License-Identifier: MIT
 * session_cache.h: sessions as report.c loads them, kept between requests, with the few numbers of each kernel that
 * sorting, filtering and comparing need. Valid for one revision of the session. Everything handed out is
 * only read, so that many requests share it.
 * Analyses themselves (50 KiB a kernel) are made anew where they are shown. */
#ifndef WS_SERVER_SESSION_CACHE_H
#define WS_SERVER_SESSION_CACHE_H

#include "report.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ws_kernel_summary {
    struct ws_value metric[WS_METRIC_COUNT];
    struct ws_value gain;      /* of the best finding */
    uint64_t rules;            /* bit i: rule i of rules.h fired */
    uint64_t not_judged;       /* bit i: it could not, for want of a value */
    enum ws_severity severity; /* the gravest; meaningless without a finding */
    enum ws_bound bound;       /* of the point nearest to its roof */
};

struct ws_cached {
    int64_t id;
    uint64_t revision;
    struct ws_session *session;
    struct ws_kernel_summary *kernels; /* [session->kernel_count], same order */
    _Atomic bool is_whole;             /* session->facts and ->timeline are there */
    unsigned users;                    /* the cache's own */
    uint64_t used;
};

/* The session, loaded if need be; give it back. Any thread; two requests for a session that is not there load it once.
 *   revision  ws_daemon_session_revision(), read before
 *   errors    of ws_report_load */
int ws_session_cache_take(struct ws_store *store, int64_t id, uint64_t revision, const struct ws_cached **out);
/* The same with its facts and timeline, for which every launch is read. */
int ws_session_cache_take_whole(struct ws_store *store, int64_t id, uint64_t revision, const struct ws_cached **out);
void ws_session_cache_give(const struct ws_cached *cached);

#endif
