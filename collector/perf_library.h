/* SPDX-License-Identifier: MIT
 * perf_library.h: libnvperf_host, which CUPTI's counters need: opened beside the program's own start. */
#ifndef WS_COLLECTOR_PERF_LIBRARY_H
#define WS_COLLECTOR_PERF_LIBRARY_H

#include "locate.h"

/* Begin to open the libnvperf_host of this libcupti's folder, on a thread of our own: its relocations take as long as
 * a good part of making a context, and nothing needs it before there is one. Called at most once.
 *   thread  the injecting one */
void ws_perf_library_start(const struct ws_located *cupti);

/* Return when the thread is done, or after a second: then it waits for a lock of the loader that somebody holds for
 * long, perhaps the caller. At once when none was started.
 *   thread  any */
void ws_perf_library_wait(void);

/* The same, and the library is open then, unless it is not there. */
void ws_perf_library_need(void);

/* In the child of a fork: there is no such thread, and nothing to wait for. */
void ws_perf_library_forget(void);

#endif
