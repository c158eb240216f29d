/* SPDX-License-Identifier: MIT
 * sampling.h: where warps are, sampled by the hardware while the program runs (PC sampling, continuous mode).
 * One of the three samplers of a process: with it there are no range counters and no PM sampling.
 * Samples are summed per instruction and reason here and told to the spool now and then, so that neither memory nor
 * disk grows with the length of the run. The order of CUPTI calls and what may hang: sampling.c. */
#ifndef WS_COLLECTOR_SAMPLING_H
#define WS_COLLECTOR_SAMPLING_H

#include "cupti_api.h"

#include <stdbool.h>

/* Whether this run wants it (--stalls pc) and this CUPTI can; a reason is reported when it cannot. Call once. */
bool ws_sampling_init(void);

/* The callbacks to enable: modules as they come, in the resource domain; calls that load or unload modules, in the
 * driver's. Fills at most max, returns how many. */
size_t ws_sampling_resource_cbids(CUpti_CallbackId *ids, size_t max);
size_t ws_sampling_driver_cbids(CUpti_CallbackId *ids, size_t max);

/* Begin to sample a context; again after a stop, too. From a callback of its creation, or any thread outside of one.
 * What goes wrong is reported, and the context is left alone. False: a module was being loaded for all of wait_ms;
 * nothing was done, ask again. */
bool ws_sampling_start(CUcontext context, unsigned wait_ms);

/* Take what is there and stop. From the callback of its destruction, or any thread outside of one. False: as above. */
bool ws_sampling_stop(CUcontext context, unsigned wait_ms);

/* The context goes, and it could not be stopped: CUPTI must not be asked about it again. Never waits. */
void ws_sampling_forget(CUcontext context);

/* Take what has been decoded since the last time; when final, all of it, and stop. From the spool's thread. */
void ws_sampling_drain(bool is_final);

/* A module was loaded (CUPTI_CBID_RESOURCE_MODULE_LOADED): keep its code, once. */
void ws_sampling_module_loaded(const CUpti_ModuleResourceData *module);

/* Enter and exit of one of ws_sampling_driver_cbids(). */
void ws_sampling_module_call(CUpti_CallbackId cbid, const CUpti_CallbackData *data);

#endif
