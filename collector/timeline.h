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

/* The first context of a device makes its sampler and, unless the samplers are stopped, starts it. From CUPTI's
 * resource callback. */
void ws_timeline_context_created(CUcontext context, CUdevice device);

/* Start or stop the samplers of all devices, also of those to come; at first they are started. What was sampled until
 * a stop is decoded by it. Any thread; waits for a decode that is under way. */
void ws_timeline_resume(void);
void ws_timeline_pause(void);

/* Decode what is there. By the spool's thread; is_final: stop, decode the rest, for at most half a second. */
void ws_timeline_tick(bool is_final);

#endif
