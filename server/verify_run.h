/* SPDX-License-Identifier: MIT
 * verify_run.h: every reference kernel and host program under the collector, for `warpsight kernels verify`: the
 * kernels with every counter in one session, each host program in two sessions of its own, one traced, one with
 * counters. */
#ifndef WS_SERVER_VERIFY_RUN_H
#define WS_SERVER_VERIFY_RUN_H

#include "arena.h"

#include <stddef.h>

enum { WS_VERIFY_RUNS = 128 };

struct ws_verify_runs {
    struct ws_arena arena;
    const char *names[WS_VERIFY_RUNS]; /* [count] of the sessions that were recorded: newest of its name each */
    size_t count;
};

/* Record them all; what runs is said on stderr by `warpsight run`.
 *   runs     zero to begin; ws_verify_runs_fini frees it, also after a failure
 *   returns  0, or the status to exit with; why is on stderr (no GPU: one line, and nothing is recorded) */
int ws_verify_run(const char *command, struct ws_verify_runs *runs);
void ws_verify_runs_fini(struct ws_verify_runs *runs);

#endif
