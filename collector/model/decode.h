/* SPDX-License-Identifier: MIT
 * decode.h: what decode.c (walk, operands, calls, flow) and decode_ops.c (meaning of opcodes) share. */
#ifndef WS_COLLECTOR_MODEL_DECODE_H
#define WS_COLLECTOR_MODEL_DECODE_H

#include "code.h"

#define TOKENS_MAX 16

/* One function of the kernel: the kernel itself, or a device function at one call site (calls are inlined). */
struct instance {
    const struct ptx_func *func;
    uint32_t reg_base;
    uint64_t *var_offset; /* [vars_end - vars_first]: place in local memory; UINT64_MAX = none yet */
    uint32_t *at;         /* [func->ins_n + 1]: instruction of the code */
    uint32_t *by_name;    /* labels of func, sorted by name */
    const struct instance *caller;
    uint32_t depth;
};

struct patch {
    uint32_t ins;    /* of the code */
    uint32_t target; /* instruction of the function */
};

struct builder {
    struct code *code;
    const exec_fn *table;
    struct code_flow *flow;
    uint32_t ins_cap, flow_cap, regs_cap, fixups_cap, patches_cap;
    struct patch *patches;
    uint32_t patches_n;
    uint32_t *constants; /* hash of register numbers */
    uint32_t constants_cap, constants_n;
    uint32_t specials[SR_ONE + 1];
    uint32_t dynamic_symbols[64]; /* registers that hold the start of dynamic shared memory */
    uint32_t dynamic_symbols_n;
    int err;
    /* the instruction being decoded */
    struct instance *instance;
    const struct ptx_ins *in;
    struct ptx_name token[TOKENS_MAX];
    uint32_t tokens_n;
    struct code_ins now;
};

/* --- operands; all refuse the kernel (and return a harmless register) on what does not fit --- */

/* An instruction with no operand. */
void decode_blank(struct code_ins *n);
void decode_refuse(struct builder *b, const char *why);
const struct ptx_operand *decode_operand(struct builder *b, uint32_t k);
/* A register, literal, special register or address as a source with lanes of `bytes` (2 → 4-byte lanes). */
uint32_t decode_source(struct builder *b, const struct ptx_operand *o, uint32_t bytes);
/* A register to write, or CODE_NONE for "_". */
uint32_t decode_dest(struct builder *b, const struct ptx_operand *o, uint32_t bytes);
uint32_t decode_pred_source(struct builder *b, const struct ptx_operand *o, uint16_t negate_flag);
uint32_t decode_pred_dest(struct builder *b, const struct ptx_operand *o);
/* Lanes of the register: 4 or 8 bytes; 0: a predicate, or no register. */
uint32_t decode_reg_bytes(struct builder *b, const struct ptx_operand *o);
uint32_t decode_constant(struct builder *b, uint64_t value, uint32_t bytes);
/* A constant register that holds the device address of the parameter block. */
uint32_t decode_params_base(struct builder *b);
uint32_t decode_temp(struct builder *b, uint32_t bytes, bool is_predicate);
/* [address] of a memory instruction into now.a, now.imm, now.flags; resolves space of parameters. */
void decode_address(struct builder *b, const struct ptx_operand *o);
/* Append now with this operation. */
void decode_emit(struct builder *b, uint16_t op);
void decode_emit_flow(struct builder *b, uint16_t op, enum code_end kind, uint32_t target);
/* Branch to a label operand: the function's instruction, or CODE_NONE (refused). */
uint32_t decode_label(struct builder *b, struct ptx_name name, const struct ptx_label **label);
/* Append a branch (guarded as the instruction is) to an instruction of the function. */
void decode_branch(struct builder *b, uint16_t op, uint32_t target);
bool decode_has(const struct builder *b, const char *token);

/* decode_ops.c: decode b->in, whose opcode has been split into tokens. */
void decode_instruction(struct builder *b);
/* decode.c: a call, inlined. */
void decode_call(struct builder *b);

#endif
