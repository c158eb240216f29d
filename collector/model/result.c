/* SPDX-License-Identifier: MIT
 * result.c: a finished launch's statistics as counts, rows and issues.
 * Instruction counts come from how often each block ran; memory counts from the rows of the instructions. */
#include "result.h"

#include "../../analyzer/err.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum ws_model_kind kind_of(const struct code_ins *i, uint32_t generic_row)
{
    bool is_load =
        i->op == OP_ld_any || i->op == OP_ld_global_b32 || i->op == OP_ld_shared_b32 || i->op == OP_wmma_load;
    uint8_t space = i->space;
    if (i->op == OP_ldmatrix || (i->op == OP_wmma_load && i->type2 == WMMA_LDSM))
        return WS_MODEL_MATRIX_LD;
    if (i->op == OP_stmatrix)
        return WS_MODEL_MATRIX_ST;
    if (i->op == OP_cp_async)
        return WS_MODEL_ASYNC_COPY;
    if (i->flags & CODE_RETRIES)
        return generic_row == 0 ? WS_MODEL_SHARED_ATOMIC : WS_MODEL_SHARED_LD;
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

static void add_memory(struct ws_model_memory *to, const union mem_counts *sum)
{
    to->requests += sum->requests;
    to->lanes += sum->lanes;
    to->bytes += sum->bytes;
    to->used_bytes += sum->used_bytes;
    to->sectors += sum->sectors;
    to->ideal_sectors += sum->ideal;
    to->lines += sum->lines;
    to->wavefronts += sum->wavefronts;
    to->ideal_wavefronts += sum->wavefronts_ideal;
    to->same_address += sum->same_address;
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

static bool is_shared_kind(enum ws_model_kind kind)
{
    return kind == WS_MODEL_SHARED_LD || kind == WS_MODEL_SHARED_ST || kind == WS_MODEL_SHARED_ATOMIC;
}

/* What SASS does for an operation that it makes from several. */
static void count_software(struct ws_model_counts *c, const struct exec_ctx *ctx, const struct code_ins *in,
                           uint64_t lanes)
{
    static const uint8_t class_of[SOFTWARE_COUNTS] = {FP32_ADD, FP32_MUL, FP32_FMA, FP64_MUL, FP64_FMA};
    const struct code_software *s = &code_software[in->software];
    uint64_t long_lanes = s->domain == SOFTWARE_ALL   ? 0
                          : in->long_way == CODE_NONE ? lanes
                                                      : ctx->guard_rows[in->long_way].lanes;
    for (int k = 0; k < SOFTWARE_COUNTS; k++)
        c->fp[class_of[k]] += (lanes - long_lanes) * s->short_way[k] + long_lanes * s->long_way[k];
    c->fp_is_lower_bound |= (long_lanes > 0 && !s->is_whole) || (lanes > 0 && (in->flags & CODE_LIVES_ON));
}

static void count_instruction(struct ws_model_result *r, const struct exec_ctx *ctx, const struct code_ins *in,
                              const struct ws_model_row *row)
{
    struct ws_model_counts *c = &r->counts;
    if (in->fp != FP_NONE) {
        c->fp[in->fp] += row->lanes;
        c->fp_is_upper_bound[in->fp] |= (in->flags & CODE_SELECTED) && row->lanes > 0;
        if (in->fp >= FP16_ADD)
            c->fp16_values += row->lanes * in->fp_width;
    }
    if ((in->flags & CODE_RETRIES) && in->type2 == AT_ADD && (in->type == PTX_F32 || in->type == PTX_F64))
        c->fp[in->type == PTX_F32 ? FP32_ADD : FP64_ADD] += ctx->mem_rows[in->stat].sum.lanes; /* once a try */
    if (in->software)
        count_software(c, ctx, in, row->lanes);
    if (in->op == OP_mma) {
        const struct code_matrix *m = &ctx->code->wide[in->wide].matrix;
        c->tensor[m->count] += row->runs * 2ull * m->m * m->n * m->k; /* a multiply-add is two */
    }
    if (in->op == OP_tex || in->op == OP_tld4)
        c->textures += row->runs;
    if (in->op == OP_suld || in->op == OP_sust)
        c->surfaces += row->runs;
    if (in->op == OP_bulk_copy)
        c->bulk[in->type2 ? 0 : 1] += row->runs;
}

/* Rows of one instruction: none, one, or one per space that a generic access touched. */
static void add_rows(struct ws_model_result *r, const struct exec_ctx *ctx, const struct code_ins *in,
                     const struct block_row *block)
{
    struct ws_model_row row = {0};
    bool has_memory = in->stat != CODE_NONE && in->op != OP_ld_param && !(in->flags & CODE_MERGED);
    uint32_t rows = 1;
    if (has_memory)
        rows = in->flags & CODE_RETRIES ? 2 : in->space == PTX_SPACE_GENERIC ? 3 : 1;
    if (in->flags & CODE_UNCOUNTED)
        return;
    fill_row(&row, in, ctx, block);
    count_instruction(r, ctx, in, &row);
    for (uint32_t k = 0; k < rows; k++) {
        struct mem_row *m = has_memory ? &ctx->mem_rows[in->stat + k] : NULL;
        struct ws_model_row one = row;
        if (m)
            exec_settle(m);
        if (k > 0 && m->sum.requests == 0)
            continue;
        if (m && m->sum.requests) {
            one.is_memory = true;
            one.kind = kind_of(in, k);
            add_memory(&one.memory, &m->sum);
            add_memory(&r->counts.memory[one.kind], &m->sum);
            r->counts.is_assumed[one.kind] |= (in->op == OP_wmma_load && in->type2 == WMMA_OWN) ||
                                              in->op == OP_wmma_store ||
                                              (ctx->code->uses_mapa && is_shared_kind(one.kind));
            r->counts.memory_64b += in->count_bytes == 8 ? m->sum.requests : 0;
            r->counts.memory_128b += in->count_bytes == 16 || one.kind == WS_MODEL_MATRIX_LD ? m->sum.requests : 0;
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

/* --- issues: texts --- */

/* Printed texts are cut at the end of the buffer, never past it. */
struct line {
    char *at;
    size_t left;
};

__attribute__((format(printf, 2, 3))) static void append(struct line *line, const char *format, ...)
{
    va_list args;
    int n;
    va_start(args, format);
    n = vsnprintf(line->at, line->left, format, args);
    va_end(args);
    if (n < 0)
        return;
    n = (size_t)n < line->left ? n : (int)line->left - 1;
    line->at += n;
    line->left -= (size_t)n;
}

static void append_place(struct line *out, const struct code_ins *in, const struct ptx_module *module)
{
    struct ptx_name path = {"", 0};
    for (uint32_t k = 0; k < module->files_n; k++)
        if (module->files[k].number == in->source_file)
            path = module->files[k].path;
    if (path.length > 80) { /* the end of a path says more than its beginning */
        path.at += path.length - 80;
        path.length = 80;
    }
    if (in->source_line)
        append(out, " at %.*s:%u (PTX line %u)", (int)path.length, path.at, in->source_line, in->line);
    else
        append(out, " at PTX line %u", in->line);
}

/* The shared variable at this offset; past the static ones lies what the launch asked for. */
static void append_shared(struct line *out, const struct exec_ctx *ctx, uint64_t offset)
{
    const struct code *code = ctx->code;
    const struct ptx_var *found = NULL;
    uint64_t start = 0;
    for (uint32_t v = 0; v < code->module->vars_n; v++) {
        const struct ptx_var *var = &code->module->vars[v];
        uint64_t at = code->var_offset[v];
        if (var->space != PTX_SPACE_SHARED || at == UINT64_MAX || at > offset || var->bytes == 0 || at < start)
            continue;
        found = var;
        start = at;
    }
    append(out, ", offset %" PRIu64 " of %" PRIu64 " bytes of shared memory", offset, ctx->shared_bytes);
    if (found && offset - start < found->bytes)
        append(out, ", byte %" PRIu64 " of %.*s (%" PRIu64 " bytes)", offset - start, (int)found->name.length,
               found->name.at, found->bytes);
}

static void append_global(struct line *out, const struct memory *memory, uint64_t address)
{
    const struct allocation *a = memory_nearest(memory, address);
    uint64_t bytes = a ? a->hi - a->lo : 0;
    const char *label = a && a->label[0] ? a->label : "an allocation";
    append(out, ", address %#" PRIx64, address);
    if (memory_in_heap(memory, address))
        append(out, " in the heap of malloc, in no block of it");
    else if (a && address < a->hi)
        append(out, ", byte %" PRIu64 " of %s (%" PRIu64 " bytes)", address - a->lo, label, bytes);
    else if (a && address - a->hi < 1u << 20)
        append(out, ", %" PRIu64 " bytes past %s (%" PRIu64 " bytes)", address - a->hi, label, bytes);
    else
        append(out, " in no allocation");
}

static void append_address(struct line *out, const struct exec_ctx *ctx, const struct fault *f,
                           const struct memory *memory)
{
    bool is_race = f->kind == FAULT_RACE || f->kind == FAULT_RACE_WARP;
    bool is_async = f->ins->op == OP_cp_async && (is_race || f->address < ctx->shared_bytes);
    if (f->kind == FAULT_TRAP || f->kind == FAULT_ASSERT || f->kind == FAULT_BARRIER || f->kind == FAULT_HANG ||
        f->kind == FAULT_STACK)
        return;
    if (f->kind == FAULT_SURFACE) {
        append(out, ", byte %d of its row", (int32_t)f->address);
        return;
    }
    if (f->kind == FAULT_CALL || f->kind == FAULT_FREE || f->kind == FAULT_TEXTURE) {
        append(out, ", address %#" PRIx64, f->address);
        return;
    }
    if (f->ins->space == PTX_SPACE_SHARED || is_race || is_async ||
        (f->ins->space == PTX_SPACE_GENERIC && f->address < ctx->shared_bytes))
        append_shared(out, ctx, f->address);
    else if (f->ins->space == PTX_SPACE_LOCAL)
        append(out, ", offset %" PRIu64 " of %" PRIu64 " bytes of the thread's local memory", f->address,
               code_local(ctx->code));
    else
        append_global(out, memory, f->address);
}

static void append_race(struct line *out, const struct exec_ctx *ctx, const struct fault *f)
{
    static const char *const verbs[] = {"wrote", "read", "wrote"};
    const char *missing = f->kind == FAULT_RACE ? "a barrier" : "__syncwarp()";
    uint32_t x = ctx->block[0], y = ctx->block[1];
    if (f->has_other)
        append(out, "; thread (%u,%u,%u) %s it", f->other % x, f->other / x % y, f->other / (x * y), verbs[f->hazard]);
    else
        append(out, "; other threads %s it", verbs[f->hazard]);
    append(out, ", %s between is missing", missing);
}

static void add_issue(struct ws_model_result *r, const struct exec_ctx *ctx, const struct fault *f,
                      const struct ptx_module *module, const struct memory *memory)
{
    static const struct {
        const char *text;
        unsigned check;
    } kinds[FAULT_KIND_COUNT] = {
        [FAULT_BOUNDS] = {"access out of bounds", WS_CHECK_BOUNDS},
        [FAULT_ALIGN] = {"misaligned access", WS_CHECK_ALIGN},
        [FAULT_TRAP] = {"trap executed", 0},
        [FAULT_ASSERT] = {"assertion failed", 0},
        [FAULT_BARRIER] = {"barrier reached by a part of the warp", WS_CHECK_BARRIER},
        [FAULT_HANG] = {"a barrier never completes: the block would hang", WS_CHECK_BARRIER},
        [FAULT_CALL] = {"call of an address that is no function of this form", 0},
        [FAULT_STACK] = {"calls nested deeper than the stack of a thread", 0},
        [FAULT_FREE] = {"free of what malloc did not give, or twice", WS_CHECK_BOUNDS},
        [FAULT_TEXTURE] = {"no texture or surface object of this form, or its memory was freed", WS_CHECK_BOUNDS},
        [FAULT_SURFACE] = {"access outside of a surface", WS_CHECK_BOUNDS},
        [FAULT_UNINIT] = {"read of memory that nobody wrote", WS_CHECK_UNINIT}};
    static const char *const races[] = {"race, read after write", "race, write after read", "race, two writes"};
    bool is_race = f->kind == FAULT_RACE || f->kind == FAULT_RACE_WARP;
    const struct ptx_name *name = &ctx->code->func->name;
    struct ws_model_issue *issue;
    struct line out;
    if (r->issues_n == WS_MODEL_ISSUES_MAX)
        return;
    issue = &r->issues[r->issues_n++];
    out = (struct line){issue->text, sizeof issue->text};
    issue->count = f->count;
    issue->check = is_race ? WS_CHECK_RACES : kinds[f->kind].check;
    issue->is_hint = f->kind == FAULT_RACE_WARP;
    append(&out, "%.*s: %s: %.*s", (int)(name->length > 48 ? 48 : name->length), name->at,
           is_race ? races[f->hazard] : kinds[f->kind].text,
           (int)(f->ins->opcode.length > 24 ? 24 : f->ins->opcode.length), f->ins->opcode.at);
    append_place(&out, f->ins, module);
    append(&out, ", block (%u,%u,%u), thread (%u,%u,%u)", f->block[0], f->block[1], f->block[2], f->thread[0],
           f->thread[1], f->thread[2]);
    append_address(&out, ctx, f, memory);
    if (is_race)
        append_race(&out, ctx, f);
}

static enum ws_model_fatal fatal_of(const struct exec_ctx *ctx)
{
    for (uint32_t k = 0; k < ctx->faults_n; k++)
        switch (ctx->faults[k].kind) {
        case FAULT_BOUNDS:
        case FAULT_FREE:
        case FAULT_TEXTURE:
        case FAULT_SURFACE:
            return WS_MODEL_FATAL_ADDRESS;
        case FAULT_CALL:
            return WS_MODEL_FATAL_CALL;
        case FAULT_STACK:
            return WS_MODEL_FATAL_STACK;
        case FAULT_ALIGN:
            return WS_MODEL_FATAL_ALIGN;
        case FAULT_ASSERT:
            return WS_MODEL_FATAL_ASSERT;
        case FAULT_TRAP:
            return WS_MODEL_FATAL_TRAP;
        case FAULT_HANG:
            return WS_MODEL_FATAL_HANG;
        default:
            break;
        }
    return WS_MODEL_FATAL_NONE;
}

void result_count(const struct exec_ctx *ctx, struct ws_model_result *scratch)
{
    memset(&scratch->counts, 0, sizeof scratch->counts);
    scratch->rows = NULL;
    for (uint32_t b = 0; b < ctx->code->blocks_n; b++)
        add_block(scratch, ctx, b);
    scratch->counts.barriers = ctx->barriers;
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
    result->fatal = fatal_of(ctx);
    result->issues_lost = ctx->faults_lost;
    result->counts.blocks = result->is_sampled ? result->blocks : result->blocks_run;
    result->counts.warps = result->counts.blocks * ctx->warps_n;
    result->counts.barriers = ctx->barriers;
    result->counts.merged_loads = code->merged_loads;
    result->static_smem_bytes = (uint32_t)code->ptxas_smem;
    result->local_bytes_per_thread = (uint32_t)code->local_bytes;
    return 0;
}

void ws_model_result_fini(struct ws_model_result *result)
{
    free(result->rows);
    result->rows = NULL;
    result->rows_n = 0;
}
