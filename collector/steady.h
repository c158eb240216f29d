/* SPDX-License-Identifier: MIT
 * steady.h: waiting and measuring by a clock that nobody can set. A wait by CLOCK_REALTIME lasts an hour longer when
 * the clock is set back by an hour. Time stamps of facts are CLOCK_REALTIME (ws_now_ns in spool.h), as CUPTI's are. */
#ifndef WS_COLLECTOR_STEADY_H
#define WS_COLLECTOR_STEADY_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC in ns: for differences only. */
int64_t ws_steady_ns(void);

/* A condition whose timed waits take deadlines of this clock. */
void ws_steady_cond_init(pthread_cond_t *cond);

/* ms from now, for pthread_cond_timedwait on such a condition. */
struct timespec ws_steady_deadline(unsigned ms);

#endif
