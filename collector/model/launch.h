/* SPDX-License-Identifier: MIT
 * launch.h: run all blocks of a launch; the statistics are left in one context. */
#ifndef WS_COLLECTOR_MODEL_LAUNCH_H
#define WS_COLLECTOR_MODEL_LAUNCH_H

#include "exec.h"

/* like: code, memory, params, grid, block, dynamic_smem, shared_bytes, warps_n, budget are set, the rest is 0.
 * out: a context with everybody's statistics; launch_fini() frees it. errors -WS_ENOMEM */
int launch_run(const struct exec_ctx *like, uint32_t threads, struct exec_ctx *out);
void launch_fini(struct exec_ctx *ctx);

#endif
