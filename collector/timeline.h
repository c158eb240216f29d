/* SPDX-License-Identifier: MIT
 * timeline.h: PM sampling: what the whole GPU did over time, one sampler a device (not a context).
 * A mode of a run: no range counters and no PC sampling beside it; with PC sampling the process hangs (measured).
 * Order of CUPTI calls, sizes and what is lost when: timeline.c. */
#ifndef WS_COLLECTOR_TIMELINE_H
#define WS_COLLECTOR_TIMELINE_H

#include "cupti_api.h"

#include <stdbool.h>

/* Whether the settings ask for samples: then nothing else samples or counts in this process. */
bool ws_timeline_is_wanted(void);

/* Read the settings into a plan. False: none wanted, or this CUPTI cannot; the reason is reported. Call once. */
bool ws_timeline_start(void);

/* The first context of a device has its sampler made and, unless the samplers are stopped, started, by a thread of
 * this file: setting up takes CUPTI up to half a second, and the program does not wait for it. What runs before that is
 * not sampled. From CUPTI's resource callback. */
void ws_timeline_context_created(CUdevice device);

/* Start or stop the samplers of all devices, also of those to come; at first they are started. What was sampled until
 * a stop is decoded by it, for at most half a second. By the spool's thread; waits for a decode that is under way. */
void ws_timeline_resume(void);
void ws_timeline_pause(void);

/* The program ends: stop for good. Waits for a call into CUPTI that is under way, for a second at most. */
void ws_timeline_finish(void);

/* Before a fork: waits until nothing is being set up, so that the child inherits no lock of the loader's. */
void ws_timeline_before_fork(void);
/* In a forked child: there is no thread, and its locks are in any state. */
void ws_timeline_forget(void);

#endif
