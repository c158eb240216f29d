/* SPDX-License-Identifier: MIT
 * crew.h: what crew.c (workers) and launch.c (warps and blocks) share. */
#ifndef WS_COLLECTOR_MODEL_CREW_H
#define WS_COLLECTOR_MODEL_CREW_H

#include "exec.h"
#include "model.h"

#include <stdatomic.h>

/* What all workers of a launch look at. */
struct watch {
    const struct ws_model_launch *launch;
    double began, deadline; /* s; 0 = none */
    atomic_uint stop;       /* enum ws_model_stop: the first reason */
    atomic_uint_fast64_t next, blocks_done, instructions;
    uint64_t end; /* places to run now */
};

/* End the launch, for all workers. */
void watch_stop(struct exec_ctx *ctx, enum ws_model_stop why);
/* The worker's slice of instructions is used up: may it go on with this many? False: the launch is over. */
bool watch_allows(struct exec_ctx *ctx, uint32_t needed);

/* launch.c: one block of the grid; a worker's context (errors -WS_ENOMEM; free it in any case). */
void launch_block(struct exec_ctx *ctx, uint64_t number);
/* The turn's blocks of a team, to their end. */
void launch_team(struct team *team, uint64_t turn);
int launch_make_ctx(struct exec_ctx *ctx, const struct exec_ctx *like);
void launch_free_ctx(struct exec_ctx *ctx);
/* Another worker's faults: the first in the order of blocks is shown. */
void launch_merge_faults(struct exec_ctx *sum, const struct exec_ctx *one);

#endif
