/* SPDX-License-Identifier: MIT
 * launch.h: run all blocks of a launch; the statistics are left in one context. */
#ifndef WS_COLLECTOR_MODEL_LAUNCH_H
#define WS_COLLECTOR_MODEL_LAUNCH_H

#include "exec.h"
#include "model.h"

/* like: code, memory, params, grid, block, dynamic_smem, shared_bytes, warps_n, budget are set, the rest is 0.
 * launch: threads, bounds, sampling, tick
 * out: a context with everybody's statistics, of a sample already those of the whole grid; launch_fini() frees it
 * result: stop, is_stopped, blocks, blocks_run, is_sampled and interval are set
 * errors -WS_ENOMEM */
int launch_run(const struct exec_ctx *like, const struct ws_model_launch *launch, struct ws_model_result *result,
               struct exec_ctx *out);
/* Blocks that have to be resident together; 0: each is for itself. */
uint32_t launch_team_blocks(const struct exec_ctx *like, const struct ws_model_launch *launch);
void launch_fini(struct exec_ctx *ctx);

#endif
