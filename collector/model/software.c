/* SPDX-License-Identifier: MIT
 * software.c: the table of software.def, and what floating-point counts depend on beyond their own instruction.
 * ptxas turns `t = a * b; r = p ? t : a` into a multiplication that only lanes with p do, where it can; and scales
 * operands in place only where nobody reads them afterwards. Which it does is not known here: the counts are bounds. */
#include "code.h"

#include "../../analyzer/err.h"

#include <stdlib.h>

#define C(add, mul, fma, dmul, dfma) \
    {                                \
        add, mul, fma, dmul, dfma    \
    }
enum { FTZ_NO, FTZ_YES, FTZ_ANY };
enum { KNOWN_PART, KNOWN_WHOLE };

const struct code_software code_software[] = {
    {.opcode = ""},
#define WS_SOFTWARE(opcode, accuracy, ftz, type, domain, short_way, long_way, known) \
    {opcode, accuracy, FTZ_##ftz, PTX_##type, SOFTWARE_##domain, short_way, long_way, KNOWN_##known},
#include "software.def"
#undef WS_SOFTWARE
};

const uint32_t code_software_n = sizeof code_software / sizeof *code_software;

/* What is known of who reads and writes a register. */
struct use {
    uint32_t reads, writes;
    bool is_selected; /* a select reads it */
};

static void note_uses(const struct code *code, struct use *uses)
{
    for (uint32_t k = 0; k < code->ins_n; k++) {
        const struct code_ins *in = &code->ins[k];
        uint32_t regs[CODE_REGS_MAX];
        for (uint32_t n = code_writes(code, in, regs); n-- > 0;)
            uses[regs[n]].writes++;
        for (uint32_t n = code_reads(code, in, regs); n-- > 0;) {
            uses[regs[n]].reads++;
            uses[regs[n]].is_selected |= in->op == OP_selp_b32 || in->op == OP_selp_b64;
        }
    }
}

static bool scales_operands(const struct code_ins *in)
{
    uint8_t domain = code_software[in->software].domain;
    return domain == SOFTWARE_NORMAL || domain == SOFTWARE_NOT_HUGE || domain == SOFTWARE_FULL_RANGE ||
           domain == SOFTWARE_EX2_F32;
}

static bool is_read_by_others(const struct code *code, const struct use *uses, const struct code_ins *in)
{
    for (int k = 0; k < 2; k++)
        if (in->s[k] != CODE_NONE && code->regs[in->s[k]].kind == REG_VIRTUAL && uses[in->s[k]].reads > 1)
            return true;
    return false;
}

/* Copies, conversions and arithmetic: what ptxas works out itself where all operands are constants. */
static bool is_foldable(const struct code_ins *in)
{
    return in->guard == CODE_NONE && (in->fp != FP_NONE || in->op == OP_mov_b32 || in->op == OP_mov_b64 ||
                                      in->op == OP_cvt_any || in->op == OP_neg_f32 || in->op == OP_abs_f32);
}

static bool is_known(const struct code *code, const uint8_t *is_constant, const struct code_ins *in)
{
    uint32_t regs[CODE_REGS_MAX], n = code_reads(code, in, regs);
    for (uint32_t r = 0; r < n; r++)
        if (code->regs[regs[r]].kind != REG_CONSTANT && !is_constant[regs[r]])
            return false;
    return n > 0;
}

/* Floating-point work on nothing but constants is no work of the kernel. From the first instruction on: nvcc writes a
 * constant before its use. */
static int drop_constant_work(struct code *code, const struct use *uses)
{
    uint8_t *is_constant = calloc(code->regs_n + 1, 1);
    if (!is_constant)
        return -WS_ENOMEM;
    for (uint32_t k = 0; k < code->ins_n; k++) {
        struct code_ins *in = &code->ins[k];
        if (in->d[0] == CODE_NONE || uses[in->d[0]].writes != 1 || !is_foldable(in) || !is_known(code, is_constant, in))
            continue;
        is_constant[in->d[0]] = 1;
        in->fp = FP_NONE;
    }
    free(is_constant);
    return 0;
}

int software_mark(struct code *code)
{
    int err;
    struct use *uses = calloc(code->regs_n + 1, sizeof *uses);
    if (!uses)
        return -WS_ENOMEM;
    note_uses(code, uses);
    err = drop_constant_work(code, uses);
    for (uint32_t k = 0; k < code->ins_n; k++) {
        struct code_ins *in = &code->ins[k];
        const struct use *result = in->d[0] != CODE_NONE ? &uses[in->d[0]] : NULL;
        if (in->fp != FP_NONE && result && result->writes == 1 && result->reads == 1 && result->is_selected)
            in->flags |= CODE_SELECTED;
        if (scales_operands(in) && is_read_by_others(code, uses, in))
            in->flags |= CODE_LIVES_ON;
    }
    free(uses);
    return err;
}
