/* SPDX-License-Identifier: MIT
 * result.c: a finished launch's statistics as counts, rows and issues.
 * Instruction counts come from how often each block ran; memory counts from the rows of the instructions. */
#include "result.h"

#include "../../analyzer/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum ws_model_kind kind_of(const struct code_ins *i, uint32_t generic_row)
{
    bool is_load = i->op == OP_ld_any || i->op == OP_ld_global_b32 || i->op == OP_ld_shared_b32;
    uint8_t space = i->space;
    if (i->op == OP_cp_async)
        return WS_MODEL_ASYNC_COPY;
    if (space == PTX_SPACE_GENERIC)
        space = generic_row == 1 ? PTX_SPACE_SHARED : generic_row == 2 ? PTX_SPACE_LOCAL : PTX_SPACE_GLOBAL;
    if (i->op == OP_atom)
        return space == PTX_SPACE_SHARED ? WS_MODEL_SHARED_ATOMIC
               : i->flags & CODE_RETURNS ? WS_MODEL_GLOBAL_ATOMIC
                                         : WS_MODEL_GLOBAL_RED;
    switch (space) {
    case PTX_SPACE_SHARED:
        return is_load ? WS_MODEL_SHARED_LD : WS_MODEL_SHARED_ST;
    case PTX_SPACE_LOCAL:
        return is_load ? WS_MODEL_LOCAL_LD : WS_MODEL_LOCAL_ST;
    case PTX_SPACE_CONST:
        return WS_MODEL_CONST_LD;
    default:
        return is_load ? WS_MODEL_GLOBAL_LD : WS_MODEL_GLOBAL_ST;
    }
}

static void add_memory(struct ws_model_memory *to, const struct mem_row *row)
{
    to->requests += row->requests;
    to->lanes += row->lanes;
    to->bytes += row->bytes;
    to->used_bytes += row->used_bytes;
    to->sectors += row->sectors;
    to->ideal_sectors += row->ideal;
    to->lines += row->lines;
    to->wavefronts += row->wavefronts;
    to->ideal_wavefronts += row->wavefronts_ideal;
    to->same_address += row->same_address;
}

static void fill_row(struct ws_model_row *row, const struct code_ins *in, const struct exec_ctx *ctx,
                     const struct block_row *block)
{
    bool is_guarded = in->guarded != CODE_NONE;
    uint32_t n = in->opcode.length < sizeof row->opcode - 1 ? in->opcode.length : (uint32_t)sizeof row->opcode - 1;
    memcpy(row->opcode, in->opcode.at, n);
    row->ptx_line = in->line;
    row->source_line = in->source_line;
    row->source_file = in->source_file;
    row->runs = is_guarded ? ctx->guard_rows[in->guarded].runs : block->runs;
    row->lanes = is_guarded ? ctx->guard_rows[in->guarded].lanes : block->lanes;
}

static void count_instruction(struct ws_model_result *r, const struct exec_ctx *ctx, const struct code_ins *in,
                              const struct ws_model_row *row)
{
    struct ws_model_counts *c = &r->counts;
    if (in->fp != FP_NONE) {
        c->fp[in->fp] += row->lanes;
        if (in->fp >= FP16_ADD)
            c->fp16_values += row->lanes * in->fp_width;
    }
    if ((in->flags & CODE_SOFTWARE) && row->lanes)
        c->fp_is_lower_bound = true;
    (void)ctx;
}

/* Rows of one instruction: none, one, or one per space that a generic access touched. */
static void add_rows(struct ws_model_result *r, const struct exec_ctx *ctx, const struct code_ins *in,
                     const struct block_row *block)
{
    struct ws_model_row row = {0};
    bool has_memory = in->stat != CODE_NONE && in->op != OP_ld_param && !(in->flags & CODE_MERGED);
    uint32_t rows = has_memory && in->space == PTX_SPACE_GENERIC ? 3 : 1;
    if (in->flags & CODE_UNCOUNTED)
        return;
    fill_row(&row, in, ctx, block);
    count_instruction(r, ctx, in, &row);
    for (uint32_t k = 0; k < rows; k++) {
        const struct mem_row *m = has_memory ? &ctx->mem_rows[in->stat + k] : NULL;
        struct ws_model_row one = row;
        if (k > 0 && m->requests == 0)
            continue;
        if (m && m->requests) {
            one.is_memory = true;
            one.kind = kind_of(in, k);
            add_memory(&one.memory, m);
            add_memory(&r->counts.memory[one.kind], m);
            r->counts.memory_64b += in->count_bytes == 8 ? m->requests : 0;
            r->counts.memory_128b += in->count_bytes == 16 ? m->requests : 0;
        }
        if (r->rows)
            r->rows[r->rows_n++] = one;
    }
}

static void add_block(struct ws_model_result *r, const struct exec_ctx *ctx, uint32_t b)
{
    const struct code *code = ctx->code;
    const struct code_block *block = &code->blocks[b];
    const struct block_row *row = &ctx->block_rows[b];
    struct ws_model_counts *c = &r->counts;
    c->ptx_instructions += row->runs * block->counted;
    c->ptx_thread_instructions += row->lanes * block->counted;
    for (uint32_t k = block->first; k < block->end; k++)
        add_rows(r, ctx, &code->ins[k], row);
    if (block->ending == CODE_NONE)
        return;
    if (block->kind == END_BRANCH) {
        c->branches += row->runs;
        c->divergent_branches += row->diverged;
    }
    if (!(code->ins[block->ending].flags & CODE_UNCOUNTED) && r->rows) {
        struct ws_model_row one = {0};
        fill_row(&one, &code->ins[block->ending], ctx, row);
        one.diverged = row->diverged;
        r->rows[r->rows_n++] = one;
    }
}

static int compare_rows(const void *a, const void *b)
{
    const struct ws_model_row *x = a, *y = b;
    return x->ptx_line < y->ptx_line ? -1 : x->ptx_line > y->ptx_line;
}

static void issue_place(char *text, size_t size, const struct fault *f, const struct ptx_module *module)
{
    const char *base = "";
    int length = 0;
    for (uint32_t k = 0; k < module->files_n; k++)
        if (module->files[k].number == f->ins->source_file) {
            base = module->files[k].path.at;
            length = (int)module->files[k].path.length;
        }
    if (length > 80) { /* the end of a path says more than its beginning */
        base += length - 80;
        length = 80;
    }
    if (f->ins->source_line)
        snprintf(text, size, "%.*s:%u (PTX line %u)", length, base, f->ins->source_line, f->ins->line);
    else
        snprintf(text, size, "PTX line %u", f->ins->line);
}

static void issue_address(char *text, size_t size, const struct fault *f, const struct memory *memory)
{
    uint64_t lo = 0, hi = 0;
    text[0] = '\0';
    if (f->kind != FAULT_BOUNDS && f->kind != FAULT_ALIGN)
        return;
    if (f->ins->space == PTX_SPACE_SHARED || f->ins->space == PTX_SPACE_LOCAL)
        snprintf(text, size, ", offset %" PRIu64, f->address);
    else if (memory_find(memory, f->address, &lo, &hi))
        snprintf(text, size, ", byte %" PRIu64 " of an allocation of %" PRIu64, f->address - lo, hi - lo);
    else if (memory_find(memory, f->address - 4096, &lo, &hi) && f->address >= hi)
        snprintf(text, size, ", %" PRIu64 " bytes past an allocation of %" PRIu64, f->address - hi, hi - lo);
    else
        snprintf(text, size, ", address %#" PRIx64 " in no allocation", f->address);
}

static void add_issue(struct ws_model_result *r, const struct exec_ctx *ctx, const struct fault *f,
                      const struct ptx_module *module, const struct memory *memory)
{
    static const char *const what[FAULT_KIND_COUNT] = {
        "", "access out of bounds", "misaligned access", "trap executed", "barrier reached by a part of the warp", ""};
    char where[128], address[96];
    struct ws_model_issue *issue;
    if (r->issues_n == WS_MODEL_ISSUES_MAX)
        return;
    issue = &r->issues[r->issues_n++];
    issue_place(where, sizeof where, f, module);
    issue_address(address, sizeof address, f, memory);
    issue->count = f->count;
    snprintf(issue->text, sizeof issue->text, "%.*s: %s: %.*s at %s, block (%u,%u,%u), thread (%u,%u,%u)%s",
             (int)(ctx->code->func->name.length > 48 ? 48 : ctx->code->func->name.length), ctx->code->func->name.at,
             what[f->kind], (int)(f->ins->opcode.length > 24 ? 24 : f->ins->opcode.length), f->ins->opcode.at, where,
             f->block[0], f->block[1], f->block[2], f->thread[0], f->thread[1], f->thread[2], address);
}

static enum ws_model_fatal fatal_of(const struct exec_ctx *ctx)
{
    for (uint32_t k = 0; k < ctx->faults_n; k++)
        switch (ctx->faults[k].kind) {
        case FAULT_BOUNDS:
        case FAULT_SPACE:
            return WS_MODEL_FATAL_ADDRESS;
        case FAULT_ALIGN:
            return WS_MODEL_FATAL_ALIGN;
        case FAULT_TRAP:
            return WS_MODEL_FATAL_TRAP;
        default:
            break;
        }
    return ctx->hung_blocks ? WS_MODEL_FATAL_HANG : WS_MODEL_FATAL_NONE;
}

int result_fill(const struct exec_ctx *ctx, const struct ptx_module *module, const struct memory *memory,
                struct ws_model_result *result)
{
    const struct code *code = ctx->code;
    result->rows = calloc((size_t)code->ins_n * 3 + 1, sizeof *result->rows);
    if (!result->rows)
        return -WS_ENOMEM;
    for (uint32_t b = 0; b < code->blocks_n; b++)
        add_block(result, ctx, b);
    qsort(result->rows, result->rows_n, sizeof *result->rows, compare_rows);
    for (uint32_t k = 0; k < ctx->faults_n; k++)
        add_issue(result, ctx, &ctx->faults[k], module, memory);
    if (ctx->hung_blocks && result->issues_n < WS_MODEL_ISSUES_MAX) {
        struct ws_model_issue *issue = &result->issues[result->issues_n++];
        issue->count = ctx->hung_blocks;
        snprintf(issue->text, sizeof issue->text, "%.*s: a barrier never completes: the block would hang",
                 (int)(code->func->name.length > 48 ? 48 : code->func->name.length), code->func->name.at);
    }
    result->fatal = fatal_of(ctx);
    result->counts.blocks = ctx->blocks_run;
    result->counts.warps = ctx->blocks_run * ctx->warps_n;
    result->counts.barriers = ctx->barriers;
    result->counts.merged_loads = code->merged_loads;
    result->is_stopped = ctx->is_stopped;
    result->static_smem_bytes = (uint32_t)code->static_smem;
    result->local_bytes_per_thread = (uint32_t)code->local_bytes;
    return 0;
}

void ws_model_result_fini(struct ws_model_result *result)
{
    free(result->rows);
    result->rows = NULL;
    result->rows_n = 0;
}
