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

struct form {
    const uint32_t *rets, *params; /* variables of the module; only their sizes matter. One allocation */
    uint32_t rets_n, params_n;
    bool is_called_by_address;
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
    uint32_t wide_cap, functions_cap, calls_cap, copies_cap, forms_cap;
    struct form *forms; /* of calls, by the sizes of what they take and give */
    uint32_t forms_n;
    uint8_t *is_far;       /* [module->funcs_n] functions that cannot be inlined: lent, found so far */
    uint8_t *is_addressed; /* [module->funcs_n] functions whose address the module takes; NULL = not looked yet */
    bool starts_again;     /* one more function that cannot be inlined was found */
    uint64_t *frame;       /* bytes of local memory that are taken in the frame being decoded */
    bool is_in_function;   /* not the kernel's frame: its place is known at the call only */
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
/* The registers beyond d and s of the instruction that is emitted next. NULL: out of memory (refused). */
struct code_wide *decode_wide(struct builder *b);
/* Append now with this operation. */
void decode_emit(struct builder *b, uint16_t op);
void decode_emit_flow(struct builder *b, uint16_t op, enum code_end kind, uint32_t target);
/* Branch to a label operand: the function's instruction, or CODE_NONE (refused). */
uint32_t decode_label(struct builder *b, struct ptx_name name, const struct ptx_label **label);
/* Append a branch (guarded as the instruction is) to an instruction of the function. */
void decode_branch(struct builder *b, uint16_t op, uint32_t target);
bool decode_has(const struct builder *b, const char *token);
/* The registers of a load or store of vec elements: one operand or {…}; NULL: refused. */
const struct ptx_operand *decode_elements(struct builder *b, const struct ptx_operand *o, uint32_t vec);

static inline bool decode_token(const struct builder *b, uint32_t k, const char *text)
{
    return k < b->tokens_n && ptx_name_is(b->token[k], text);
}

static inline enum ptx_type decode_last_type(const struct builder *b)
{
    return ptx_type_find(b->token[b->tokens_n - 1]);
}

/* Which of the names token k is; -1: none. The list ends with NULL. */
static inline int decode_index(const struct builder *b, uint32_t k, const char *const *names)
{
    for (int n = 0; names[n]; n++)
        if (decode_token(b, k, names[n]))
            return n;
    return -1;
}

/* decode_ops.c: decode b->in, whose opcode has been split into tokens. */
void decode_instruction(struct builder *b);
/* decode_matrix.c, decode_async.c: families of opcodes. False: a form that the model does not know. */
bool decode_mma(struct builder *b);
bool decode_wmma(struct builder *b);
bool decode_ldmatrix(struct builder *b);
bool decode_movmatrix(struct builder *b);
bool decode_mbarrier(struct builder *b);
bool decode_bulk(struct builder *b);
bool decode_copy_arrive(struct builder *b);
bool decode_mapa(struct builder *b);
bool decode_getctarank(struct builder *b);
bool decode_cluster_barrier(struct builder *b);
/* decode_texture.c */
bool decode_tex(struct builder *b);
bool decode_surface(struct builder *b);
/* decode.c: a call, inlined where that can be. */
void decode_call(struct builder *b);

#endif
