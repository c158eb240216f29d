/* SPDX-License-Identifier: MIT
 * check.h: checks of uninitialised reads and shared-memory hazards; exec_check.h has the checks themselves.
 * Bounds, alignment and barriers need nothing of this: they are looked at in every run. */
#ifndef WS_COLLECTOR_MODEL_CHECK_H
#define WS_COLLECTOR_MODEL_CHECK_H

#include "exec.h"

/* Send the kernel's loads, stores, atomics and copies through the checks.
 * Returns the bytes of shared memory that share one stamp: the narrowest access of the kernel, at most 4. */
uint32_t check_redirect(struct code *code, const exec_fn *table);

/* State of one worker; ctx->checks, granule, shared_bytes and epoch are set. False: out of memory. */
bool check_begin(struct exec_ctx *ctx);
void check_end(struct exec_ctx *ctx);

/* A barrier of the block was passed; the next block begins. */
void check_next_interval(struct exec_ctx *ctx);
void check_next_block(struct exec_ctx *ctx);

#endif
