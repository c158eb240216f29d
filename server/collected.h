/* SPDX-License-Identifier: MIT
 * collected.h: when nothing was collected although the program ran: `warpsight ctl stop`, an idle start, ranges. Such
 * time is neither busy nor idle: bills leave it out, reports name it. */
#ifndef WS_SERVER_COLLECTED_H
#define WS_SERVER_COLLECTED_H

#include "store.h"

struct ws_gap {
    int64_t start_ns, end_ns; /* end: INT64_MAX = until the process ended, which nobody knows when */
    char reason[32];          /* why collection was off: setting, ctl, duration, profiler-api, nvtx */
};

struct ws_gaps {
    struct ws_gap *at; /* [count], disjoint and rising */
    size_t count, room;
};

/* The gaps of one process; process_id 0: times in which no process of the session collected.
 *   out     free with ws_gaps_free, also after an error
 *   errors  -WS_ENOMEM, of the store */
int ws_gaps_load(struct ws_store *store, int64_t session_id, int64_t process_id, struct ws_gaps *out);
void ws_gaps_free(struct ws_gaps *gaps);

#endif
