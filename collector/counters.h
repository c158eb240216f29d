/* SPDX-License-Identifier: MIT
 * counters.h: hardware counters of chosen launches, by the range profiler (replay or rotation).
 * One launch at a time is profiled in the whole process; while it is, other launches wait.
 * The proven order of CUPTI calls and their costs: counters.c. */
#ifndef WS_COLLECTOR_COUNTERS_H
#define WS_COLLECTOR_COUNTERS_H

#include "cupti_api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read the settings into a plan. False: this run wants no counters (set trace, replay-mode none) or
 * this CUPTI cannot; the reason is reported. Again only after a stop. */
bool ws_counters_start(void);

/* Disable every context's range profiler and forget the plan. A context is met again at its next launch after a start.
 *   wait_ms     how long to wait for a launch that is being profiled; no new one may be (the state is IDLE)
 *   under_gate  called while no launch is between its enter and its exit callback: to switch the callbacks off
 *   returns     false: a launch is still being profiled, nothing was done */
bool ws_counters_stop(unsigned wait_ms, void (*under_gate)(void));

/* A context came to be, or is about to go. From CUPTI's resource callback. */
void ws_counters_context_created(CUcontext context, CUdevice device);
void ws_counters_context_destroyed(CUcontext context);

/* Enter and exit of a driver call that starts kernels. */
void ws_counters_callback(CUpti_CallbackId cbid, const CUpti_CallbackData *data);

/* Before the collector's thread flushes: wait for a profiled launch to end, 100 ms at most. False: it has not, and a
 * flush might hang with it. */
bool ws_counters_wait_idle(void);

/* The last word on what counting cost. From the collector's thread. */
void ws_counters_finish(void);

/* In a forked child. */
void ws_counters_forget(void);

/* CUPTI's name of a device's chip into out[size]; "" when it does not tell. */
void ws_counters_chip_name(CUdevice device, char *out, size_t size);

/* cuptiProfilerInitialize, once a process; false, and reported, when it is refused. Only with a context there, and not
 * from two threads at once. */
bool ws_counters_initialize(void);

/* A call failed: reported; missing rights get a code and a remedy of their own. */
void ws_counters_complain(const char *call, CUptiResult r);

/* CUPTI's host object of a chip: what metrics there are, what configuration reads them, what a counter image says.
 * Shared by range counters and PM sampling, which give their type. What fails is reported.
 *   find      the first of the alternatives (as in metrics.h) that the chip has, into name[size]
 *   add       names[count] in ONE call: two cost passes; CUPTI crashes on a host object that refused a name
 *   config    of what was added; the image is mapped and never freed
 *   evaluate  values[count] of the range or sample at index                                                     */
struct ws_host_config {
    uint8_t *image;
    size_t size;
    uint32_t passes;
};
CUpti_Profiler_Host_Object *ws_counters_host_open(const char *chip, const uint8_t *availability,
                                                  CUpti_ProfilerType type);
void ws_counters_host_close(CUpti_Profiler_Host_Object *host);
bool ws_counters_host_find(CUpti_Profiler_Host_Object *host, const char *alternatives, char *name, size_t size);
CUptiResult ws_counters_host_add(CUpti_Profiler_Host_Object *host, const char **names, size_t count);
bool ws_counters_host_config(CUpti_Profiler_Host_Object *host, struct ws_host_config *out);
CUptiResult ws_counters_host_evaluate(CUpti_Profiler_Host_Object *host, const uint8_t *image, size_t image_size,
                                      size_t index, const char **names, size_t count, double *values);

#endif
