/* SPDX-License-Identifier: MIT
 * result.h: a finished launch's statistics as counts, rows and issues. */
#ifndef WS_COLLECTOR_MODEL_RESULT_H
#define WS_COLLECTOR_MODEL_RESULT_H

#include "exec.h"
#include "model.h"

/* Only the counts, for blocks one by one. */
void result_count(const struct exec_ctx *ctx, struct ws_model_result *scratch);

/* Rows, counts and issues; blocks, blocks_run and is_sampled are set. errors -WS_ENOMEM */
int result_fill(const struct exec_ctx *ctx, const struct ptx_module *module, const struct memory *memory,
                struct ws_model_result *result);

#endif
