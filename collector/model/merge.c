/* SPDX-License-Identifier: MIT
 * merge.c: shared-memory loads that ptxas joins into one 64- or 128-bit load, for the counts only.
 * Rule: loads in one block from one base register at consecutive offsets, no store to shared memory and no
 * barrier between, aligned as proved by the trailing zeros of the base. It makes the shared loads and wavefronts
 * of a tiled matrix product equal an H200's (41,943,040 for n = 1024, T = 32) and changes nothing in kernels that
 * load single words. The data still move word by word. */
#include "code.h"

#include "../../analyzer/err.h"

#include <stdlib.h>
#include <string.h>

/* Low zero bits that every value of a register is known to have; 64 = it is always 0 (or not defined yet). */
static uint8_t trailing(uint64_t v)
{
    return v ? (uint8_t)__builtin_ctzll(v) : 64;
}

static uint8_t least(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

static uint8_t sum(uint8_t a, uint8_t b)
{
    return a + b > 64 ? 64 : (uint8_t)(a + b);
}

/* a: what is known of the register that is shifted */
static uint8_t shifted(const struct code *c, const struct code_ins *in, uint8_t a, int by)
{
    const struct code_reg *amount = &c->regs[in->s[1]];
    if (amount->kind != REG_CONSTANT)
        return by > 0 ? a : 0;
    if (by > 0)
        return sum(a, (uint8_t)(amount->value > 63 ? 63 : amount->value));
    return a > amount->value ? (uint8_t)(a - amount->value) : 0;
}

static uint8_t result_zeros(const struct code *c, const struct code_ins *in, const uint8_t *zeros)
{
    uint8_t a = in->s[0] != CODE_NONE ? zeros[in->s[0]] : 0;
    uint8_t b = in->s[1] != CODE_NONE ? zeros[in->s[1]] : 0;
    uint8_t third = in->s[2] != CODE_NONE ? zeros[in->s[2]] : 0;
    if (in->guard != CODE_NONE)
        return 0;
    switch (in->op) {
    case OP_mov_b32:
    case OP_mov_b64:
    case OP_cvt_u64_u32:
    case OP_cvt_s64_s32:
    case OP_cvt_b32_b64:
    case OP_neg_u32:
    case OP_neg_u64:
        return a;
    case OP_add_u32:
    case OP_add_u64:
    case OP_sub_u32:
    case OP_sub_u64:
    case OP_or_b32:
    case OP_or_b64:
    case OP_xor_b32:
        return least(a, b);
    case OP_and_b32:
    case OP_and_b64:
        return a > b ? a : b;
    case OP_mul_lo_u32:
    case OP_mul_lo_u64:
    case OP_mul_wide_u32:
    case OP_mul_wide_s32:
        return sum(a, b);
    case OP_mad_lo_u32:
    case OP_mad_lo_u64:
    case OP_mad_wide_u32:
    case OP_mad_wide_s32:
        return least(sum(a, b), third);
    case OP_shl_b32:
    case OP_shl_b64:
        return shifted(c, in, a, 1);
    case OP_shr_u32:
    case OP_shr_u64:
        return shifted(c, in, a, -1);
    default:
        return 0;
    }
}

static void find_zeros(const struct code *c, uint8_t *zeros)
{
    bool changed = true;
    for (uint32_t r = 0; r < c->regs_n; r++)
        zeros[r] = c->regs[r].kind == REG_CONSTANT  ? trailing(c->regs[r].value)
                   : c->regs[r].kind == REG_SPECIAL ? 0
                                                    : 64;
    for (uint32_t f = 0; f < c->fixups_n; f++)
        zeros[c->fixups[f].reg] = 0;
    while (changed) {
        changed = false;
        for (uint32_t k = 0; k < c->ins_n; k++) {
            uint32_t regs[CODE_REGS_MAX];
            uint32_t n = code_writes(c, &c->ins[k], regs);
            uint8_t z = n ? result_zeros(c, &c->ins[k], zeros) : 0;
            while (n-- > 0) {
                changed |= z < zeros[regs[n]];
                zeros[regs[n]] = least(zeros[regs[n]], z);
            }
        }
    }
}

static bool is_candidate(const struct code_ins *in)
{
    return in->op == OP_ld_shared_b32 && in->guard == CODE_NONE && in->vec == 1 && !(in->flags & CODE_MERGED) &&
           in->count_bytes == 4;
}

static bool is_fence(const struct code_ins *in)
{
    bool is_memory = in->stat != CODE_NONE;
    bool is_load =
        in->op == OP_ld_shared_b32 || in->op == OP_ld_global_b32 || in->op == OP_ld_any || in->op == OP_ld_param;
    bool may_be_shared = in->space == PTX_SPACE_SHARED || in->space == PTX_SPACE_GENERIC || in->op == OP_cp_async;
    return is_memory && !is_load && may_be_shared;
}

static bool writes_reg(const struct code_ins *in, uint32_t reg)
{
    for (int k = 0; k < 4; k++)
        if (in->d[k] == reg)
            return true;
    return false;
}

/* The loads at base+offset, +4, …: at[k] for each found, in [from, end) before a fence or a new base. */
static uint32_t collect(const struct code *c, uint32_t from, uint32_t end, int64_t offset, uint32_t want, uint32_t *at)
{
    const struct code_ins *first = &c->ins[from];
    uint32_t found = 0;
    memset(at, 0xff, want * sizeof *at);
    for (uint32_t k = from; k < end && !is_fence(&c->ins[k]); k++) {
        const struct code_ins *in = &c->ins[k];
        int64_t step = in->imm - offset;
        if (is_candidate(in) && in->a == first->a && step >= 0 && step < 4 * (int64_t)want && step % 4 == 0 &&
            at[step / 4] == CODE_NONE) {
            at[step / 4] = k;
            found++;
        }
        if (writes_reg(in, first->a))
            break;
    }
    return found;
}

static bool try_width(struct code *c, uint32_t k, uint32_t end, uint8_t base_zeros, uint32_t words)
{
    int64_t width = 4 * (int64_t)words;
    int64_t offset = c->ins[k].imm - (c->ins[k].imm % width + width) % width;
    uint32_t at[4];
    if ((1ll << (base_zeros > 62 ? 62 : base_zeros)) < width)
        return false;
    if (collect(c, k, end, offset, words, at) != words)
        return false;
    c->ins[at[0]].count_bytes = (uint8_t)width;
    for (uint32_t n = 1; n < words; n++)
        c->ins[at[n]].flags |= CODE_MERGED;
    c->merged_loads += words - 1;
    return true;
}

int merge_shared_loads(struct code *code)
{
    uint8_t *zeros = malloc(code->regs_n + 1);
    if (!zeros)
        return -WS_ENOMEM;
    find_zeros(code, zeros);
    for (uint32_t b = 0; b < code->blocks_n; b++)
        for (uint32_t k = code->blocks[b].first; k < code->blocks[b].end; k++) {
            const struct code_ins *in = &code->ins[k];
            if (!is_candidate(in) || in->a == CODE_NONE)
                continue;
            if (!try_width(code, k, code->blocks[b].end, zeros[in->a], 4))
                try_width(code, k, code->blocks[b].end, zeros[in->a], 2);
        }
    free(zeros);
    return 0;
}
