/* SPDX-License-Identifier: MIT
 * watch.h: a thread that acts when something does not come back in time. What hangs inside a library cannot be
 * interrupted; what others wait for can be given up. One thing is watched at a time. No CUDA. */
#ifndef WS_COLLECTOR_WATCH_H
#define WS_COLLECTOR_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* Start the thread, all signals blocked in it. False: it cannot be created, and nothing is ever given up.
 *   on_late  called once at most, by that thread, with a lock held that arm and disarm take */
bool ws_watch_start(void (*on_late)(void));

/* From now on, at most that long. */
void ws_watch_arm(int64_t timeout_ns);

/* It came back. False: too late, on_late has run. */
bool ws_watch_disarm(void);

/* End the thread. */
void ws_watch_stop(void);

/* In a forked child, where the thread is not: arm and disarm do nothing from here on. */
void ws_watch_forget(void);

#endif
