/* SPDX-License-Identifier: MIT
 * fold.c: instructions that need not run for every warp of every block.
 * Copies of registers that are written at one place only give way to their source; results that nobody reads are left
 * out; what depends on nothing but constants, parameters and the thread's place in its block is computed once for a
 * warp's whole life. Counts know nothing of it: they come from how often each block of code ran (result.c).
 * A register that one place writes has, wherever it is defined, the value of that place's last run, so a copy of it
 * cannot be told from it. */
#include "code.h"

#include "../../analyzer/err.h"

#include <stdlib.h>
#include <string.h>

/* Results that are kept for a warp's life take room in the cache that the others want. */
#define LIMIT_ONCE_BYTES (16u << 10)

/* One formula a lane: nothing is read but sources, nothing written but the destination. */
static const bool is_formula[OP_COUNT] = {
#define UN(name, td, ta, expr) [OP_##name] = true,
#define BIN(name, td, ta, tb, expr) [OP_##name] = true,
#define TER(name, td, ta, tb, tc, expr) [OP_##name] = true,
#define CMP(name, t, expr) [OP_##name] = true,
#define VEC(name, td, ta) [OP_##name] = true,
#define OTHER(name)
#include "ops.def"
    [OP_ld_param] = true, [OP_selp_b32] = true, [OP_selp_b64] = true, [OP_cvt_any] = true,
    [OP_bfi_b32] = true,  [OP_bfi_b64] = true,  [OP_lop3_b32] = true, [OP_set_b32] = true,
    [OP_pack] = true,     [OP_unpack] = true,   [OP_pred_mov] = true, [OP_pred_and] = true,
    [OP_pred_or] = true,  [OP_pred_xor] = true, [OP_pred_not] = true, [OP_pred_from] = true};

struct fold {
    struct code *code;
    uint32_t *alias;  /* [regs_n] the register to read instead */
    uint8_t *defs;    /* [regs_n] places that write it: 0, 1, 2 = more, or under a guard */
    uint8_t *is_once; /* [regs_n] computed once */
    uint32_t *reads;  /* [regs_n] */
};

static void count_defs(struct fold *f)
{
    const struct code *c = f->code;
    for (uint32_t k = 0; k < c->ins_n; k++) {
        uint32_t regs[CODE_REGS_MAX];
        for (uint32_t n = code_writes(c, &c->ins[k], regs); n-- > 0;) {
            uint8_t *defs = &f->defs[regs[n]];
            *defs = *defs > 0 || c->ins[k].guard != CODE_NONE ? 2 : 1;
        }
    }
}

static uint32_t root_of(const struct fold *f, uint32_t reg)
{
    while (f->alias[reg] != reg)
        reg = f->alias[reg];
    return reg;
}

/* --- copies --- */

static bool is_copy(const struct fold *f, const struct code_ins *in)
{
    const struct code_reg *from;
    if ((in->op != OP_mov_b32 && in->op != OP_mov_b64) || in->fn != in->inner || in->guard != CODE_NONE ||
        in->d[0] == CODE_NONE || f->defs[in->d[0]] != 1)
        return false;
    from = &f->code->regs[in->s[0]];
    return from->bytes == f->code->regs[in->d[0]].bytes && (from->kind != REG_VIRTUAL || f->defs[in->s[0]] == 1);
}

static void follow(const struct fold *f, uint32_t *reg)
{
    if (*reg != CODE_NONE)
        *reg = root_of(f, *reg);
}

static void drop_copies(struct fold *f)
{
    struct code *c = f->code;
    for (uint32_t k = 0; k < c->ins_n; k++) {
        struct code_ins *in = &c->ins[k];
        if (!is_copy(f, in) || root_of(f, in->s[0]) == in->d[0])
            continue;
        f->alias[in->d[0]] = root_of(f, in->s[0]);
        in->fold = FOLD_GONE;
    }
    for (uint32_t k = 0; k < c->ins_n; k++) {
        for (int n = 0; n < 4; n++)
            follow(f, &c->ins[k].s[n]);
        follow(f, &c->ins[k].a);
    }
    for (uint32_t k = 0; k < c->wide_n; k++)
        for (uint32_t n = 0; n < c->wide[k].s_n; n++)
            follow(f, &c->wide[k].s[n]);
}

/* --- what nobody reads --- */

static void count_reads(struct fold *f, const struct code_ins *in, uint32_t by)
{
    uint32_t regs[CODE_REGS_MAX];
    for (uint32_t n = code_reads(f->code, in, regs); n-- > 0;)
        f->reads[regs[n]] += by;
}

static bool is_unread(const struct fold *f, const struct code_ins *in)
{
    uint32_t regs[CODE_REGS_MAX];
    for (uint32_t n = code_writes(f->code, in, regs); n-- > 0;)
        if (f->reads[regs[n]] > 0)
            return false;
    return true;
}

static void drop_unread(struct fold *f)
{
    struct code *c = f->code;
    for (uint32_t k = 0; k < c->ins_n; k++)
        if (c->ins[k].fold == FOLD_RUNS)
            count_reads(f, &c->ins[k], 1);
    for (uint32_t k = c->ins_n; k-- > 0;) { /* from the end: a chain goes in one pass */
        struct code_ins *in = &c->ins[k];
        if (in->fold != FOLD_RUNS || !is_formula[in->op] || in->guard != CODE_NONE || !is_unread(f, in))
            continue;
        in->fold = FOLD_GONE;
        count_reads(f, in, UINT32_MAX);
    }
}

/* --- what never changes for a warp --- */

static bool is_fixed(const struct fold *f, uint32_t reg)
{
    const struct code_reg *r = &f->code->regs[reg];
    if (r->kind == REG_SPECIAL)
        return !code_differs_by_block(r->special);
    return r->kind == REG_CONSTANT || f->is_once[reg];
}

static bool runs_once(const struct fold *f, const struct code_ins *in)
{
    uint32_t regs[CODE_REGS_MAX];
    if (in->fold != FOLD_RUNS || !is_formula[in->op] || in->guard != CODE_NONE || in->long_way != CODE_NONE)
        return false; /* operands of each run are looked at */
    for (uint32_t n = code_reads(f->code, in, regs); n-- > 0;)
        if (!is_fixed(f, regs[n]))
            return false;
    for (uint32_t n = code_writes(f->code, in, regs); n-- > 0;)
        if (f->defs[regs[n]] != 1 || f->code->regs[regs[n]].kind != REG_VIRTUAL)
            return false;
    return true;
}

static int move_out(struct fold *f)
{
    struct code *c = f->code;
    uint32_t bytes = 0, regs[CODE_REGS_MAX];
    bool changed = true;
    c->once = malloc((c->ins_n + 1) * sizeof *c->once);
    if (!c->once)
        return -WS_ENOMEM;
    while (changed) { /* a source may stand behind its reader in the text */
        changed = false;
        for (uint32_t k = 0; k < c->ins_n && bytes < LIMIT_ONCE_BYTES; k++) {
            struct code_ins *in = &c->ins[k];
            if (!runs_once(f, in))
                continue;
            for (uint32_t n = code_writes(f->code, in, regs); n-- > 0;) {
                f->is_once[regs[n]] = 1;
                bytes += 32u * c->regs[regs[n]].bytes;
            }
            in->fold = FOLD_ONCE;
            c->once[c->once_n++] = k;
            changed = true;
        }
    }
    for (uint32_t r = 0; r < c->regs_n; r++)
        if (f->is_once[r])
            c->regs[r].kind = REG_ONCE;
    return 0;
}

int fold_code(struct code *code)
{
    struct fold f = {.code = code};
    int err = -WS_ENOMEM;
    f.alias = malloc((code->regs_n + 1) * sizeof *f.alias);
    f.defs = calloc(code->regs_n + 1, 1);
    f.is_once = calloc(code->regs_n + 1, 1);
    f.reads = calloc(code->regs_n + 1, sizeof *f.reads);
    if (!f.alias || !f.defs || !f.is_once || !f.reads)
        goto out;
    for (uint32_t r = 0; r < code->regs_n; r++)
        f.alias[r] = r;
    count_defs(&f);
    drop_copies(&f);
    drop_unread(&f);
    err = move_out(&f);
out:
    free(f.alias);
    free(f.defs);
    free(f.is_once);
    free(f.reads);
    return err;
}

/* --- runs of multiply-adds --- */

#define RUN_MAX UINT16_MAX

static bool may_fuse(const struct code_ins *a)
{
    return (a->op == OP_fma_f32 || a->op == OP_fma_f64) && a->fn == a->inner;
}

/* A run of one operation at the end of run, which begins at first and has now grown: all of it becomes one. */
static void fuse(struct code *code, const exec_fn *table, uint32_t first, uint32_t *n)
{
    while (first < *n) {
        struct code_ins *head = &code->run[first], one;
        uint32_t count = 1;
        while (may_fuse(head) && first + count < *n && head[count].op == head->op && may_fuse(&head[count]) &&
               count < RUN_MAX)
            count++;
        first++;
        if (count < 2)
            continue;
        memcpy(code->fused + code->fused_n, head, count * sizeof *head);
        one = *head;
        one.fn = one.inner = table[head->op == OP_fma_f32 ? OP_fma_run_f32 : OP_fma_run_f64];
        one.op = head->op == OP_fma_f32 ? OP_fma_run_f32 : OP_fma_run_f64;
        one.imm = code->fused_n;
        one.count = (uint16_t)count;
        code->fused_n += count;
        *head = one;
        memmove(head + 1, head + count, (*n - first - (count - 1)) * sizeof *head);
        *n -= count - 1;
    }
}

int fold_finish(struct code *code, const exec_fn *table)
{
    uint32_t n = 0;
    code->run = malloc((code->ins_n + 1) * sizeof *code->run);
    code->fused = malloc((code->ins_n + 1) * sizeof *code->fused);
    if (!code->run || !code->fused)
        return -WS_ENOMEM;
    for (uint32_t b = 0; b < code->blocks_n; b++) {
        struct code_block *block = &code->blocks[b];
        block->run_first = n;
        for (uint32_t k = block->first; k < block->end; k++)
            if (code->ins[k].fold == FOLD_RUNS && code->ins[k].op != OP_nop)
                code->run[n++] = code->ins[k];
        fuse(code, table, block->run_first, &n);
        block->run_end = n;
    }
    code->run_n = n;
    return 0;
}
