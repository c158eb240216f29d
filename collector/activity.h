/* SPDX-License-Identifier: MIT
 * activity.h: the activity trace: kernels, copies, memsets -> spool.
 * Buffers are small (256 KiB) so that one unfinished kernel holds back few finished records. */
#ifndef WS_COLLECTOR_ACTIVITY_H
#define WS_COLLECTOR_ACTIVITY_H

#include "cupti_api.h"

#include <stdbool.h>
#include <stdint.h>

/* Enable the record kinds, the first time with their buffers. What cannot be enabled is reported to the spool
 * as a STATUS; false when no trace will come at all.
 *   has_api  also the host's calls, synchronisations, allocations and unified memory (set `api`) */
bool ws_activity_start(uint64_t memory_bytes, bool has_api);

/* Disable them. Records of kernels under way still come, by later flushes. */
void ws_activity_stop(void);

/* Set `api`: migrations and page faults of unified memory. Not before a context exists (13, NOT_READY, which is no
 * complaint): again for each one that comes. */
void ws_activity_start_unified_memory(void);

/* Contexts that records named since the last time, with their devices: whoever attaches late sees none come.
 * From the collector's thread. */
void ws_activity_each_new_context(void (*each)(uint32_t context, uint32_t device));

/* Read what CUPTI has handed over. From the collector's thread, each time it wakes, whatever is switched on: graphs
 * that were instantiated while they were traced go on giving records after a stop. */
void ws_activity_read(void);

/* Collect what is finished (or, when final, everything). From the spool's thread only, after a start that was true. */
void ws_activity_flush(bool is_final);

/* Hand over everything now, from the thread that has just profiled a launch by replay. The record of a replayed launch
 * never gets its times, and CUPTI holds back a buffer with such a record, and all later ones with it, until a forced
 * flush: on an H200 no record of 3 s of launches had left the process when it was killed. The device has nothing in
 * flight at this moment, so the force tears no other record. */
void ws_activity_flush_replayed(void);

/* Switch the kernel trace off around one launch and on again (some 20 us together on an H200). The
 * trace patches each kernel to take its times: 8 more instructions a warp were seen. Replay keeps
 * them out of the counters; a launch that runs only once would be measured patched, and its SASS
 * counts read 0. No other launch may happen meanwhile. */
void ws_activity_trace_kernels(bool on);

/* Set `api`: a copy or launch call begins; note its addresses. From CUPTI's callback. */
void ws_activity_note_copy(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const CUpti_CallbackData *data);
void ws_activity_note_launch(CUpti_CallbackId cbid, const CUpti_CallbackData *data);

/* How long the last traced launch of this kernel and shape took, ns; 0 = none was seen yet. Any thread. */
int64_t ws_activity_seen_ns(uint32_t name, const uint32_t grid[3], const uint32_t block[3]);

/* The id of a kernel's name, cheap for a pointer seen before. Any thread. */
uint32_t ws_activity_name_id(const char *name);

#endif
