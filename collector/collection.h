/* SPDX-License-Identifier: MIT
 * collection.h: whether this process is being measured: everything that is switched on and off together.
 * On: subscribed to CUPTI, activity kinds, callbacks of launches, the range profiler of each context. Off: none of them
 * but the subscriber, once there was one: only the callbacks of contexts stay (two calls in a context's life). Until
 * the first start there is no subscriber either, unless the program itself is to say when (cudaProfilerStart) or a
 * sampler is wanted, which must see every module. Who switches: settings (from the beginning or not), commands
 * (command.c), cudaProfilerStart/Stop and NVTX ranges. No CUDA type here. A sampler that comes later starts in
 * switch_on() and stops in switch_off(), nowhere else. */
#ifndef WS_COLLECTOR_COLLECTION_H
#define WS_COLLECTOR_COLLECTION_H

#include "control.h"
#include "locate.h"

#include <stdbool.h>
#include <stdint.h>

/* What inject.c does for us.
 *   attach        subscribe to CUPTI: a CUpti_SubscriberHandle, or NULL with why[cap]
 *   meet_context  tell of a context and its device, once: CUPTI's id. A start may come after both */
struct ws_collection_hooks {
    void *(*attach)(char *why, size_t cap);
    void (*meet_context)(uint32_t context, uint32_t device);
};

/* Once, from InitializeInjection, when CUPTI is bound: start, or stay idle, as the settings say. */
void ws_collection_begin(const struct ws_collection_hooks *hooks, const struct ws_located *cupti);

/* What of it is on now. Any thread; one atomic load. */
bool ws_collection_has_counters(void);
bool ws_collection_has_api(void);
bool ws_collection_has_timeline(void);
bool ws_collection_has_sampling(void);

/* A context came to be, or is about to go: PC sampling is a context's (CUcontext). From CUPTI's resource callback. */
void ws_collection_context_created(void *context);
void ws_collection_context_destroyed(void *context);

/* There is a context. From CUPTI's resource callback, or from attach() when the start came late. */
void ws_collection_has_context(void);

/* A launch was met in a context that came before us. */
void ws_collection_meet_context(uint32_t context, uint32_t device);

/* Whether the settings can be changed so: each name one that a running program may change, each value fitting.
 * -WS_EINVAL, with why[cap] and nothing changed. */
int ws_collection_check(const struct ws_control_command *command, char *why, size_t cap);

/* Start, with the command's settings, by a command. From the collector's thread.
 *   returns  1 it must be called again at the next tick (something must end first); 0 on; -WS_E… with why[cap] */
int ws_collection_start(const struct ws_control_command *command, char *why, size_t cap);

/* Stop, for good until a command starts it: ranges and cudaProfilerStart() do nothing then. From the collector's
 * thread. returns  1 as above: a launch is being profiled, which ends by itself; no new one is. 0 off. */
int ws_collection_stop(const char *reason);

/* The program says so, from its own threads, at once: cudaProfilerStart/Stop; a range that --nvtx-include means was the
 * first to open or the last to close (ws_nvtx_is_open() tells). */
void ws_collection_profiler_call(bool on);
void ws_collection_range_changed(void);

/* Let go of CUPTI for good, before another tool subscribes: everything that is collected is off and handed over when
 * this returns. False: it cannot be, a sampler runs or a counted launch does not end. Any thread outside of a launch.
 */
bool ws_collection_yield(void);

/* From the collector's thread, each time it wakes: flush what is finished, stop when the time is up. */
void ws_collection_tick(bool is_final);

/* How often what ws_collection_tell() says has changed. */
uint64_t ws_collection_changes(void);

/* For control.state: everything but the answers. */
void ws_collection_tell(struct ws_control_state *out);

#endif
