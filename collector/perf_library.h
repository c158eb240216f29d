/* SPDX-License-Identifier: MIT
 * perf_library.h: libnvperf_host, which CUPTI's counters need: opened beside the program's own start. */
#ifndef WS_COLLECTOR_PERF_LIBRARY_H
#define WS_COLLECTOR_PERF_LIBRARY_H

#include "locate.h"

/* Begin to open the libnvperf_host of this libcupti's folder, on a thread of our own: its relocations take as long as
 * a good part of making a context, and nothing needs it before there is one. Called at most once.
 *   thread  the injecting one */
void ws_perf_library_start(const struct ws_located *cupti);

/* Return when it is open, or was found not to be there; at once when none was started.
 *   thread  any, but not while holding the loader's lock */
void ws_perf_library_wait(void);

#endif
