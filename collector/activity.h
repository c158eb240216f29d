/* SPDX-License-Identifier: MIT
 * activity.h: the activity trace: kernels, copies, memsets -> spool.
 * Buffers are small (256 KiB) so that one unfinished kernel holds back few finished records. */
#ifndef WS_COLLECTOR_ACTIVITY_H
#define WS_COLLECTOR_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

/* Register the buffers and enable the record kinds. What cannot be enabled is reported to the spool
 * as a STATUS; false when no trace will come at all. Call once, before the first context. */
bool ws_activity_start(uint64_t memory_bytes);

/* Collect what is finished (or, when final, everything). From the spool's thread only. */
void ws_activity_flush(bool is_final);

/* The id of a kernel's name, cheap for a pointer seen before. Any thread. */
uint32_t ws_activity_name_id(const char *name);

#endif
