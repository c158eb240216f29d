/* SPDX-License-Identifier: MIT
 * launch_times.h: how the times of a kernel's launches are spread. Reads every launch of the session once; keeps at
 * most some thousands of each kernel, evenly taken, so that a session of any size can be read. */
#ifndef WS_SERVER_LAUNCH_TIMES_H
#define WS_SERVER_LAUNCH_TIMES_H

#include "../analyzer/spread.h"
#include "report.h"

/* Times of launches that were not replayed, in the order of session->kernels; a kernel that only the profiler timed
 * has the mean of these as its median, and no spread unless they differ.
 *   out      [session->kernel_count], the caller frees
 *   errors   of the store; -WS_ENOMEM */
int ws_launch_times_load(struct ws_store *store, const struct ws_session *session, struct ws_spread **out);

#endif
