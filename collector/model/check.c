/* SPDX-License-Identifier: MIT
 * check.c: switching a kernel's checks on: which instructions go through exec_check.h, and the state they need. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

static bool is_checked(const struct code_ins *i)
{
    bool is_access = i->op == OP_ld_any || i->op == OP_st_any || i->op == OP_ld_global_b32 ||
                     i->op == OP_st_global_b32 || i->op == OP_ld_shared_b32 || i->op == OP_st_shared_b32 ||
                     i->op == OP_atom || i->op == OP_cp_async || i->op == OP_ldmatrix || i->op == OP_stmatrix;
    return is_access && (i->space == PTX_SPACE_GENERIC || i->space == PTX_SPACE_GLOBAL || i->space == PTX_SPACE_SHARED);
}

uint32_t check_redirect(struct code *code, const exec_fn *table)
{
    uint32_t granule = 4;
    for (uint32_t k = 0; k < code->run_n; k++) {
        struct code_ins *i = &code->run[k];
        bool is_wmma = i->op == OP_wmma_load || i->op == OP_wmma_store; /* looks itself, access by access */
        if (is_wmma && i->bytes < granule)
            granule = i->bytes;
        if (!is_checked(i))
            continue;
        if (i->space != PTX_SPACE_GLOBAL && i->bytes < granule)
            granule = i->bytes;
        i->unchecked = i->inner;
        i->inner = table[OP_checked];
        if (i->fn == i->unchecked)
            i->fn = i->inner;
    }
    return granule;
}

bool check_begin(struct exec_ctx *ctx)
{
    size_t cells;
    ctx->cell_writer = ctx->cell_reader = NULL;
    if (!(ctx->checks & (CHECK_UNINIT | CHECK_RACES)) || ctx->shared_bytes == 0)
        return true;
    cells = ctx->shared_bytes / ctx->granule + 1;
    ctx->cell_writer = calloc(cells, 2 * sizeof *ctx->cell_writer);
    ctx->cell_reader = ctx->cell_writer ? ctx->cell_writer + cells : NULL;
    return ctx->cell_writer != NULL;
}

void check_end(struct exec_ctx *ctx)
{
    free(ctx->cell_writer);
    ctx->cell_writer = ctx->cell_reader = NULL;
}

/* The number of intervals is used up: those of this block become the first, all older ones 0. */
static void renumber(struct exec_ctx *ctx)
{
    size_t cells = ctx->cell_writer ? (size_t)(ctx->cell_reader - ctx->cell_writer) * 2 : 0;
    for (size_t k = 0; k < cells; k++) {
        uint64_t old = ctx->cell_writer[k];
        ctx->cell_writer[k] = old >> 32 >= ctx->first_epoch ? (old & UINT32_MAX) | 1ull << 32 : 0;
    }
    ctx->first_epoch = ctx->epoch = 1;
}

void check_next_interval(struct exec_ctx *ctx)
{
    if (ctx->epoch == UINT32_MAX)
        renumber(ctx);
    ctx->epoch++;
}

void check_next_block(struct exec_ctx *ctx)
{
    check_next_interval(ctx);
    ctx->first_epoch = ctx->epoch;
}
