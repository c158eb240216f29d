/* SPDX-License-Identifier: MIT
 * counters.h: hardware counters of chosen launches, by the range profiler (replay or rotation).
 * One launch at a time is profiled in the whole process; while it is, other launches wait.
 * The proven order of CUPTI calls and their costs: counters.c. */
#ifndef WS_COLLECTOR_COUNTERS_H
#define WS_COLLECTOR_COUNTERS_H

#include "cupti_api.h"

#include <stdbool.h>

/* Read the settings into a plan. False: this run wants no counters (set trace, replay-mode none) or
 * this CUPTI cannot; the reason is reported. Call once. */
bool ws_counters_start(void);

/* A context came to be, or is about to go. From CUPTI's resource callback. */
void ws_counters_context_created(CUcontext context, CUdevice device);
void ws_counters_context_destroyed(CUcontext context);

/* Enter and exit of a driver call that starts kernels. */
void ws_counters_callback(CUpti_CallbackId cbid, const CUpti_CallbackData *data);

/* CUPTI's name of a device's chip into out[size]; "" when it does not tell. */
void ws_counters_chip_name(CUdevice device, char *out, size_t size);

#endif
