/* SPDX-License-Identifier: MIT
 * decode.c: a kernel's tree to executable code: walk, operands, symbols, call inlining, control flow.
 * Device functions are inlined at each call (recursion and indirect calls are refused); their parameters live
 * in the thread's local memory, uncounted, as registers carry them on a GPU. Opcodes: decode_ops.c. */
#include "decode.h"

#include "exec.h"

#include "../../analyzer/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Inlining multiplies code: a bound for hostile and for absurd inputs. */
#define LIMIT_CODE 400000u
#define LIMIT_CALL_DEPTH 24u
#define LIMIT_LOCAL (64u << 10)
#define LIMIT_SHARED (1u << 20)

void decode_refuse(struct builder *b, const char *why)
{
    struct code *c = b->code;
    if (c->refusal[0])
        return;
    if (b->in)
        snprintf(c->refusal, sizeof c->refusal, "%.*s: line %u: '%.*s': %s", (int)(c->func->name.length & 127u),
                 c->func->name.at, b->in->line, (int)(b->in->opcode.length > 48 ? 48 : b->in->opcode.length),
                 b->in->opcode.at, why);
    else
        snprintf(c->refusal, sizeof c->refusal, "%.*s: %s", (int)(c->func->name.length & 127u), c->func->name.at, why);
}

static void out_of_memory(struct builder *b)
{
    b->err = -WS_ENOMEM;
    decode_refuse(b, "out of memory");
}

void decode_blank(struct code_ins *n)
{
    memset(n, 0, sizeof *n);
    memset(n->d, 0xff, sizeof n->d);
    memset(n->s, 0xff, sizeof n->s);
    n->a = n->stat = n->guard = n->guarded = CODE_NONE;
}

const struct ptx_operand *decode_operand(struct builder *b, uint32_t k)
{
    static const struct ptx_operand none = {.kind = PTX_O_SINK, .reg = PTX_NO_REG, .pair = PTX_NO_REG};
    if (k >= b->in->count) {
        decode_refuse(b, "an operand is missing");
        return &none;
    }
    return &b->instance->func->operands[b->in->first + k];
}

bool decode_has(const struct builder *b, const char *token)
{
    for (uint32_t k = 1; k < b->tokens_n; k++)
        if (ptx_name_is(b->token[k], token))
            return true;
    return false;
}

/* --- registers --- */

static uint32_t add_reg(struct builder *b, struct code_reg reg)
{
    struct code *c = b->code;
    if (!ptx_grow(&c->regs, &b->regs_cap, c->regs_n, sizeof *c->regs, 4u << 20)) {
        out_of_memory(b);
        return 0;
    }
    c->regs[c->regs_n] = reg;
    return c->regs_n++;
}

uint32_t decode_temp(struct builder *b, uint32_t bytes, bool is_predicate)
{
    return add_reg(b, (struct code_reg){.kind = REG_VIRTUAL, .bytes = (uint8_t)bytes, .is_predicate = is_predicate});
}

static uint32_t hash_of(uint64_t value, uint32_t bytes, uint32_t cap)
{
    return (uint32_t)(((value + bytes) * 0x9E3779B97F4A7C15ull) >> 32) & (cap - 1);
}

static bool grow_constants(struct builder *b)
{
    uint32_t cap = b->constants_cap ? b->constants_cap * 2 : 256;
    uint32_t *bigger = malloc(cap * sizeof *bigger);
    if (!bigger)
        return false;
    memset(bigger, 0xff, cap * sizeof *bigger);
    for (uint32_t i = 0; i < b->constants_cap; i++) {
        uint32_t reg = b->constants[i];
        uint32_t at;
        if (reg == CODE_NONE)
            continue;
        at = hash_of(b->code->regs[reg].value, b->code->regs[reg].bytes, cap);
        while (bigger[at] != CODE_NONE)
            at = (at + 1) & (cap - 1);
        bigger[at] = reg;
    }
    free(b->constants);
    b->constants = bigger;
    b->constants_cap = cap;
    return true;
}

uint32_t decode_constant(struct builder *b, uint64_t value, uint32_t bytes)
{
    uint32_t at;
    if (bytes < 8)
        value &= bytes == 1 ? 0xffu : bytes == 2 ? 0xffffu : 0xffffffffu;
    bytes = bytes < 8 ? 4 : 8;
    if (b->constants_n * 2 >= b->constants_cap && !grow_constants(b)) {
        out_of_memory(b);
        return 0;
    }
    at = hash_of(value, bytes, b->constants_cap);
    while (b->constants[at] != CODE_NONE) {
        const struct code_reg *r = &b->code->regs[b->constants[at]];
        if (r->value == value && r->bytes == bytes)
            return b->constants[at];
        at = (at + 1) & (b->constants_cap - 1);
    }
    b->constants_n++;
    b->constants[at] = add_reg(b, (struct code_reg){.kind = REG_CONSTANT, .bytes = (uint8_t)bytes, .value = value});
    return b->constants[at];
}

static const struct {
    const char *name;
    enum code_special special;
} special_names[] = {
    {"%tid.x", SR_TID_X},
    {"%tid.y", SR_TID_Y},
    {"%tid.z", SR_TID_Z},
    {"%ntid.x", SR_NTID_X},
    {"%ntid.y", SR_NTID_Y},
    {"%ntid.z", SR_NTID_Z},
    {"%ctaid.x", SR_CTAID_X},
    {"%ctaid.y", SR_CTAID_Y},
    {"%ctaid.z", SR_CTAID_Z},
    {"%nctaid.x", SR_NCTAID_X},
    {"%nctaid.y", SR_NCTAID_Y},
    {"%nctaid.z", SR_NCTAID_Z},
    {"%laneid", SR_LANEID},
    {"%warpid", SR_WARPID},
    {"%nwarpid", SR_NWARPID},
    {"%smid", SR_SMID},
    {"%nsmid", SR_NSMID},
    {"%gridid", SR_GRIDID},
    {"%lanemask_eq", SR_LANEMASK_EQ},
    {"%lanemask_le", SR_LANEMASK_LE},
    {"%lanemask_lt", SR_LANEMASK_LT},
    {"%lanemask_ge", SR_LANEMASK_GE},
    {"%lanemask_gt", SR_LANEMASK_GT},
    {"%dynamic_smem_size", SR_DYNAMIC_SMEM},
    {"%total_smem_size", SR_TOTAL_SMEM},
    {"%clusterid.x", SR_CTAID_X}, /* no clusters: each block is its own */
    {"%clusterid.y", SR_CTAID_Y},
    {"%clusterid.z", SR_CTAID_Z},
    {"%nclusterid.x", SR_NCTAID_X},
    {"%nclusterid.y", SR_NCTAID_Y},
    {"%nclusterid.z", SR_NCTAID_Z},
    {"%cluster_ctaid.x", SR_ZERO},
    {"%cluster_ctaid.y", SR_ZERO},
    {"%cluster_ctaid.z", SR_ZERO},
    {"%cluster_ctarank", SR_ZERO},
    {"%cluster_nctaid.x", SR_ONE},
    {"%cluster_nctaid.y", SR_ONE},
    {"%cluster_nctaid.z", SR_ONE},
    {"%cluster_nctarank", SR_ONE},
};

static uint32_t special_source(struct builder *b, struct ptx_name name)
{
    for (size_t i = 0; i < sizeof special_names / sizeof *special_names; i++) {
        enum code_special s = special_names[i].special;
        if (!ptx_name_is(name, special_names[i].name))
            continue;
        if (b->specials[s] == CODE_NONE)
            b->specials[s] = add_reg(b, (struct code_reg){.kind = REG_SPECIAL, .bytes = 4, .special = (uint8_t)s});
        return b->specials[s];
    }
    char why[80];
    snprintf(why, sizeof why, "unknown special register '%.*s'", (int)(name.length > 40 ? 40 : name.length), name.at);
    decode_refuse(b, why);
    return 0;
}

/* --- symbols --- */

static uint32_t find_own_var(const struct instance *n, struct ptx_name name, uint32_t scope, const struct ptx_module *m)
{
    for (uint32_t s = scope;; s = n->func->scope_parent[s]) {
        for (uint32_t v = n->func->vars_first; v < n->func->vars_end; v++)
            if (m->vars[v].scope == s && ptx_name_equal(m->vars[v].name, name))
                return v;
        if (s == UINT32_MAX)
            return CODE_NONE;
    }
}

static uint32_t find_var(struct builder *b, struct ptx_name name)
{
    const struct ptx_module *m = b->code->module;
    uint32_t v = find_own_var(b->instance, name, b->in->scope, m);
    if (v != CODE_NONE)
        return v;
    for (v = 0; v < m->vars_n; v++)
        if ((m->vars[v].space == PTX_SPACE_GLOBAL || m->vars[v].space == PTX_SPACE_CONST ||
             m->vars[v].space == PTX_SPACE_SHARED) &&
            ptx_name_equal(m->vars[v].name, name))
            return v;
    return CODE_NONE;
}

static uint64_t place(struct builder *b, uint64_t *used, const struct ptx_var *v, uint64_t least_align, uint64_t limit)
{
    uint64_t align = v->align > least_align ? v->align : least_align;
    uint64_t at = (*used + align - 1) & ~(align - 1);
    if (v->bytes > limit || at > limit - v->bytes) {
        decode_refuse(b, "too much shared or local memory");
        return 0;
    }
    *used = at + v->bytes;
    return at;
}

static uint64_t local_place(struct builder *b, uint32_t var)
{
    struct instance *n = b->instance;
    uint64_t *at = &n->var_offset[var - n->func->vars_first];
    if (*at == UINT64_MAX)
        *at = place(b, &b->code->local_bytes, &b->code->module->vars[var], 16, LIMIT_LOCAL);
    return *at;
}

static uint32_t param_place(struct builder *b, uint32_t var)
{
    const struct ptx_func *f = b->code->func;
    for (uint32_t k = 0; k < f->params_n; k++)
        if (f->params[k] == var)
            return b->code->param_offset[k];
    decode_refuse(b, "unknown kernel parameter");
    return 0;
}

static uint32_t add_fixup(struct builder *b, enum code_fixup_kind kind, uint32_t var, int64_t addend)
{
    struct code *c = b->code;
    uint32_t reg = add_reg(b, (struct code_reg){.kind = REG_CONSTANT, .bytes = 8});
    if (!ptx_grow(&c->fixups, &b->fixups_cap, c->fixups_n, sizeof *c->fixups, LIMIT_CODE)) {
        out_of_memory(b);
        return reg;
    }
    c->fixups[c->fixups_n++] = (struct code_fixup){kind, reg, var, addend};
    return reg;
}

uint32_t decode_params_base(struct builder *b)
{
    return add_fixup(b, FIX_PARAMS, 0, 0);
}

static uint32_t shared_symbol(struct builder *b, uint32_t var, int64_t addend, uint32_t bytes)
{
    struct code *c = b->code;
    const struct ptx_var *v = &c->module->vars[var];
    if (v->bytes == 0) { /* extern: begins where the static variables end, known last */
        uint32_t reg = add_reg(b, (struct code_reg){.kind = REG_CONSTANT, .bytes = (uint8_t)bytes});
        c->regs[reg].value = (uint64_t)addend;
        if (b->dynamic_symbols_n == sizeof b->dynamic_symbols / sizeof *b->dynamic_symbols)
            decode_refuse(b, "too many uses of dynamic shared memory");
        else
            b->dynamic_symbols[b->dynamic_symbols_n++] = reg;
        return reg;
    }
    if (c->var_offset[var] == UINT64_MAX)
        c->var_offset[var] = place(b, &c->static_smem, v, 16, LIMIT_SHARED);
    return decode_constant(b, c->var_offset[var] + (uint64_t)addend, bytes);
}

/* The address of a symbol as a constant register. */
static uint32_t symbol_source(struct builder *b, struct ptx_name name, int64_t addend, uint32_t bytes)
{
    struct code *c = b->code;
    uint32_t var = find_var(b, name);
    uint32_t lanes = bytes < 8 ? 4 : 8;
    if (ptx_name_is(name, "WARP_SZ"))
        return decode_constant(b, 32, bytes);
    if (var == CODE_NONE) {
        decode_refuse(b, "unknown symbol (or the address of a function)");
        return 0;
    }
    switch (c->module->vars[var].space) {
    case PTX_SPACE_SHARED:
        return shared_symbol(b, var, addend, lanes);
    case PTX_SPACE_LOCAL:
    case PTX_SPACE_FRAME:
        return decode_constant(b, local_place(b, var) + (uint64_t)addend, lanes);
    case PTX_SPACE_PARAM:
        return decode_constant(b, param_place(b, var) + (uint64_t)addend, lanes);
    default:
        if (lanes != 8)
            decode_refuse(b, "32-bit address of a global variable");
        return add_fixup(b, FIX_VARIABLE, var, addend);
    }
}

/* --- operands --- */

uint32_t decode_reg_bytes(struct builder *b, const struct ptx_operand *o)
{
    enum ptx_type t;
    if (o->kind != PTX_O_REG)
        return 0;
    t = (enum ptx_type)b->instance->func->reg_type[o->reg];
    return t == PTX_PRED ? 0 : ptx_type_bytes(t) < 8 ? 4 : ptx_type_bytes(t);
}

static uint32_t literal_source(struct builder *b, const struct ptx_operand *o, uint32_t bytes)
{
    double d;
    float f;
    uint32_t bits;
    if (o->kind == PTX_O_F64 && bytes < 8) { /* 1.5 where an f32 is wanted */
        memcpy(&d, &o->value, sizeof d);
        f = (float)d;
        memcpy(&bits, &f, sizeof bits);
        return decode_constant(b, bits, bytes);
    }
    if (o->kind == PTX_O_F32 && bytes == 8) {
        bits = (uint32_t)o->value;
        memcpy(&f, &bits, sizeof f);
        d = (double)f;
        uint64_t wide;
        memcpy(&wide, &d, sizeof wide);
        return decode_constant(b, wide, 8);
    }
    return decode_constant(b, (uint64_t)o->value, bytes);
}

uint32_t decode_source(struct builder *b, const struct ptx_operand *o, uint32_t bytes)
{
    uint32_t lanes = bytes < 8 ? 4 : 8;
    switch (o->kind) {
    case PTX_O_REG:
        if (decode_reg_bytes(b, o) != lanes)
            decode_refuse(b, "register of another width than the instruction");
        return b->instance->reg_base + o->reg;
    case PTX_O_INT:
    case PTX_O_F32:
    case PTX_O_F64:
        return literal_source(b, o, bytes);
    case PTX_O_SPECIAL:
        if (lanes != 4)
            decode_refuse(b, "64-bit special register");
        return special_source(b, o->name);
    case PTX_O_SYMBOL:
        return symbol_source(b, o->name, o->value, bytes);
    default:
        decode_refuse(b, "unexpected operand");
        return 0;
    }
}

uint32_t decode_dest(struct builder *b, const struct ptx_operand *o, uint32_t bytes)
{
    if (o->kind == PTX_O_SINK)
        return CODE_NONE;
    if (o->kind != PTX_O_REG || decode_reg_bytes(b, o) != (bytes < 8 ? 4u : 8u)) {
        decode_refuse(b, "register of another width than the instruction");
        return 0;
    }
    return b->instance->reg_base + o->reg;
}

static bool is_pred(const struct builder *b, uint32_t reg)
{
    return reg < b->instance->func->regs_n && b->instance->func->reg_type[reg] == PTX_PRED;
}

uint32_t decode_pred_source(struct builder *b, const struct ptx_operand *o, uint16_t negate_flag)
{
    if (o->kind == PTX_O_INT) { /* a constant predicate */
        uint32_t t = decode_temp(b, 4, true);
        struct code_ins keep = b->now;
        decode_blank(&b->now);
        b->now.d[0] = t;
        b->now.imm = o->value != 0;
        b->now.flags = CODE_UNCOUNTED;
        decode_emit(b, OP_pred_from);
        b->now = keep;
        return t;
    }
    if (o->kind != PTX_O_REG || !is_pred(b, o->reg)) {
        decode_refuse(b, "expected a predicate");
        return 0;
    }
    if (o->is_negated)
        b->now.flags |= negate_flag;
    return b->instance->reg_base + o->reg;
}

uint32_t decode_pred_dest(struct builder *b, const struct ptx_operand *o)
{
    if (o->kind == PTX_O_SINK)
        return CODE_NONE;
    if (o->kind != PTX_O_REG || !is_pred(b, o->reg)) {
        decode_refuse(b, "expected a predicate");
        return 0;
    }
    return b->instance->reg_base + o->reg;
}

void decode_address(struct builder *b, const struct ptx_operand *o)
{
    struct code_ins *n = &b->now;
    if (o->kind != PTX_O_ADDRESS) {
        decode_refuse(b, "expected an address");
        return;
    }
    if (o->reg != PTX_NO_REG) {
        struct ptx_operand reg = {.kind = PTX_O_REG, .reg = o->reg};
        uint32_t bytes = decode_reg_bytes(b, &reg);
        n->a = decode_source(b, &reg, bytes);
        n->imm = o->value;
        n->flags |= bytes == 4 ? CODE_ADDRESS_32 : 0;
        return;
    }
    n->imm = 0;
    if (o->name.length == 0) {
        n->a = decode_constant(b, (uint64_t)o->value, 8);
        return;
    }
    if (n->space == PTX_SPACE_PARAM) {
        uint32_t var = find_var(b, o->name);
        if (var != CODE_NONE && b->code->module->vars[var].space == PTX_SPACE_PARAM) {
            n->a = CODE_NONE;
            n->imm = (int64_t)param_place(b, var) + o->value;
            return;
        }
        n->space = PTX_SPACE_FRAME;
    }
    n->a = symbol_source(b, o->name, o->value, 8);
}

/* --- instructions --- */

/* Grow flow and ins together: they are parallel. */
static bool make_room(struct builder *b)
{
    struct code *c = b->code;
    return ptx_grow(&c->ins, &b->ins_cap, c->ins_n, sizeof *c->ins, LIMIT_CODE) &&
           ptx_grow(&b->flow, &b->flow_cap, c->ins_n, sizeof *b->flow, LIMIT_CODE);
}

static void set_guard(struct builder *b, struct code_ins *n)
{
    n->guarded = CODE_NONE;
    if (b->in->guard == PTX_NO_REG || (n->flags & CODE_UNCOUNTED))
        return;
    if (!is_pred(b, b->in->guard))
        decode_refuse(b, "the guard is no predicate");
    n->guard = b->instance->reg_base + b->in->guard;
    n->is_guard_negated = b->in->is_guard_negated;
}

void decode_emit_flow(struct builder *b, uint16_t op, enum code_end kind, uint32_t target)
{
    struct code *c = b->code;
    struct code_ins *n = &b->now;
    if (!make_room(b)) {
        decode_refuse(b, "the kernel is too large after inlining its calls");
        b->err = b->err ? b->err : -WS_ELIMIT;
        return;
    }
    n->op = op;
    n->inner = b->table[op];
    n->fn = n->inner;
    n->line = b->in->line;
    n->source_line = b->in->source_line;
    n->source_file = b->in->source_file;
    n->opcode = b->in->opcode;
    set_guard(b, n);
    if (kind == END_FALL && n->guard != CODE_NONE)
        n->guarded = c->guarded_n++;
    if (kind == END_BARRIER && n->guard != CODE_NONE)
        decode_refuse(b, "barrier under a guard");
    if ((kind == END_FALL && n->guard != CODE_NONE) || n->round != ROUND_NEAREST || (n->flags & CODE_SATURATE))
        n->fn = b->table[OP_wrapped];
    b->flow[c->ins_n].kind = kind;
    b->flow[c->ins_n].target = target;
    c->ins[c->ins_n++] = *n;
}

void decode_emit(struct builder *b, uint16_t op)
{
    decode_emit_flow(b, op, END_FALL, CODE_NONE);
}

/* --- labels --- */

static int compare_names(struct ptx_name a, struct ptx_name b)
{
    uint32_t n = a.length < b.length ? a.length : b.length;
    int c = memcmp(a.at, b.at, n);
    return c ? c : (a.length > b.length) - (a.length < b.length);
}

static int compare_labels(const void *a, const void *b, void *func)
{
    const struct ptx_func *f = func;
    return compare_names(f->labels[*(const uint32_t *)a].name, f->labels[*(const uint32_t *)b].name);
}

/* Remember that the branch emitted next goes to this instruction of the function. */
void decode_branch(struct builder *b, uint16_t op, uint32_t target)
{
    if (!ptx_grow(&b->patches, &b->patches_cap, b->patches_n, sizeof *b->patches, LIMIT_CODE)) {
        out_of_memory(b);
        return;
    }
    b->patches[b->patches_n].ins = b->code->ins_n;
    b->patches[b->patches_n++].target = target;
    decode_emit_flow(b, op, END_BRANCH, CODE_NONE);
}

uint32_t decode_label(struct builder *b, struct ptx_name name, const struct ptx_label **label)
{
    const struct ptx_func *f = b->instance->func;
    uint32_t lo = 0, hi = f->labels_n;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (compare_names(f->labels[b->instance->by_name[mid]].name, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (uint32_t s = b->in->scope; s != UINT32_MAX; s = f->scope_parent[s])
        for (uint32_t k = lo; k < f->labels_n && ptx_name_equal(f->labels[b->instance->by_name[k]].name, name); k++)
            if (f->labels[b->instance->by_name[k]].scope == s) {
                *label = &f->labels[b->instance->by_name[k]];
                return (*label)->ins;
            }
    decode_refuse(b, "unknown label");
    return CODE_NONE;
}

/* --- functions --- */

static void split_opcode(struct builder *b)
{
    struct ptx_name o = b->in->opcode;
    uint32_t start = 0;
    b->tokens_n = 0;
    for (uint32_t k = 0; k <= o.length; k++) {
        if (k < o.length && o.at[k] != '.')
            continue;
        if (b->tokens_n == TOKENS_MAX) {
            decode_refuse(b, "too many modifiers");
            return;
        }
        b->token[b->tokens_n].at = o.at + start;
        b->token[b->tokens_n++].length = k - start;
        start = k + 1;
    }
}

static void free_instance(struct instance *n)
{
    free(n->var_offset);
    free(n->at);
    free(n->by_name);
}

static bool start_instance(struct builder *b, struct instance *n)
{
    const struct ptx_func *f = n->func;
    uint32_t vars = f->vars_end - f->vars_first;
    n->reg_base = b->code->regs_n;
    n->var_offset = malloc((vars + 1) * sizeof *n->var_offset);
    n->at = calloc(f->ins_n + 1, sizeof *n->at);
    n->by_name = malloc((f->labels_n + 1) * sizeof *n->by_name);
    if (!n->var_offset || !n->at || !n->by_name)
        return false;
    memset(n->var_offset, 0xff, (vars + 1) * sizeof *n->var_offset);
    for (uint32_t k = 0; k < f->labels_n; k++)
        n->by_name[k] = k;
    qsort_r(n->by_name, f->labels_n, sizeof *n->by_name, compare_labels, (void *)(uintptr_t)f);
    for (uint32_t r = 0; r < f->regs_n && !b->err; r++) {
        enum ptx_type t = (enum ptx_type)f->reg_type[r];
        uint32_t bytes = ptx_type_bytes(t);
        if (bytes > 8)
            decode_refuse(b, "128-bit registers");
        add_reg(b, (struct code_reg){.kind = REG_VIRTUAL, .bytes = bytes < 8 ? 4 : 8, .is_predicate = t == PTX_PRED});
    }
    return !b->err;
}

/* Decode every instruction of an instance; branches are patched when all places are known. */
static void walk_instance(struct builder *b, struct instance *n)
{
    struct instance *outer = b->instance;
    const struct ptx_ins *outer_in = b->in;
    uint32_t first_patch = b->patches_n;
    b->instance = n;
    if (n->func->refusal[0] && !b->code->refusal[0]) {
        b->in = NULL;
        decode_refuse(b, n->func->refusal);
    }
    for (uint32_t k = 0; k < n->func->ins_n && !b->code->refusal[0]; k++) {
        n->at[k] = b->code->ins_n;
        b->in = &n->func->ins[k];
        decode_blank(&b->now);
        split_opcode(b);
        if (!b->code->refusal[0])
            decode_instruction(b);
    }
    n->at[n->func->ins_n] = b->code->ins_n;
    for (uint32_t k = first_patch; k < b->patches_n && !b->code->refusal[0]; k++)
        b->flow[b->patches[k].ins].target = n->at[b->patches[k].target];
    b->patches_n = first_patch;
    b->instance = outer;
    b->in = outer_in;
}

/* call (ret), f, (a, b): the callee's parameters are the caller's variables. */
static bool bind_params(struct builder *b, struct instance *callee, const struct ptx_operand *list,
                        const uint32_t *formal, uint32_t formal_n)
{
    const struct ptx_func *caller = b->instance->func;
    if ((list ? list->count : 0) != formal_n) {
        decode_refuse(b, "the call has another number of parameters than the function");
        return false;
    }
    for (uint32_t k = 0; k < formal_n; k++) {
        const struct ptx_operand *o = &caller->elements[list->first + k];
        uint32_t var =
            o->kind == PTX_O_SYMBOL ? find_own_var(b->instance, o->name, b->in->scope, b->code->module) : CODE_NONE;
        if (var == CODE_NONE || b->code->module->vars[var].bytes != b->code->module->vars[formal[k]].bytes) {
            decode_refuse(b, "call parameter that is no .param variable of the right size");
            return false;
        }
        callee->var_offset[formal[k] - callee->func->vars_first] = local_place(b, var);
    }
    return true;
}

static bool is_recursive(const struct instance *n, const struct ptx_func *f)
{
    for (; n; n = n->caller)
        if (n->func == f)
            return true;
    return false;
}

/* vprintf(format, arguments) and __assertfail(message, file, line, function, size): the model's own. Each argument
 * lies in a variable of its own; where, 12 bits of imm each, in units of 4 bytes. */
static void call_builtin(struct builder *b, const struct ptx_func *f, const struct ptx_operand *list)
{
    bool is_print = ptx_name_is(f->name, "vprintf");
    uint32_t count = is_print ? 2 : 4;
    uint64_t where = 0;
    if (!is_print && !ptx_name_is(f->name, "__assertfail")) {
        decode_refuse(b, "call of a function that has no body here");
        return;
    }
    for (uint32_t k = 0; k < count; k++) {
        const struct ptx_operand *o = list && k < list->count ? &b->instance->func->elements[list->first + k] : NULL;
        uint32_t var = o && o->kind == PTX_O_SYMBOL ? find_own_var(b->instance, o->name, b->in->scope, b->code->module)
                                                    : CODE_NONE;
        uint64_t at = var == CODE_NONE ? UINT64_MAX : local_place(b, var);
        uint32_t bytes = !is_print && k == 2 ? 4 : 8; /* a line number, else a pointer */
        if (at > 16380 || at % 4 != 0 || b->code->module->vars[var].bytes < bytes) {
            decode_refuse(b, "printf or assert with parameters of another form");
            return;
        }
        where |= at / 4 << (12 * k);
    }
    b->now.imm = (int64_t)where;
    b->now.type2 = is_print ? PRINT_TEXT : PRINT_ASSERT;
    decode_emit(b, OP_print);
}

void decode_call(struct builder *b)
{
    const struct ptx_operand *ret = NULL, *args = NULL;
    const struct ptx_func *f;
    struct instance callee = {0};
    uint32_t k = 0;
    if (decode_operand(b, k)->kind == PTX_O_LIST)
        ret = decode_operand(b, k++);
    if (decode_operand(b, k)->kind != PTX_O_SYMBOL) {
        decode_refuse(b, "indirect call");
        return;
    }
    f = ptx_find_func(b->code->module, decode_operand(b, k++)->name);
    if (k < b->in->count && decode_operand(b, k)->kind == PTX_O_LIST)
        args = decode_operand(b, k);
    if (b->in->guard != PTX_NO_REG)
        decode_refuse(b, "call under a guard");
    b->now.flags = 0;
    if (!f) {
        decode_refuse(b, "call of an unknown function");
        return;
    }
    if (!f->has_body) {
        call_builtin(b, f, args);
        return;
    }
    decode_emit(b, OP_nop); /* the call itself */
    callee.func = f;
    callee.caller = b->instance;
    callee.depth = b->instance->depth + 1;
    if (is_recursive(b->instance, f) || callee.depth > LIMIT_CALL_DEPTH) {
        decode_refuse(b, "recursive call");
        return;
    }
    if (!start_instance(b, &callee))
        out_of_memory(b);
    else if (bind_params(b, &callee, ret, f->rets, f->rets_n) && bind_params(b, &callee, args, f->params, f->params_n))
        walk_instance(b, &callee);
    free_instance(&callee);
}

/* --- the whole kernel --- */

static bool layout_params(struct builder *b)
{
    struct code *c = b->code;
    const struct ptx_func *f = c->func;
    c->param_offset = calloc(f->params_n + 1, sizeof *c->param_offset);
    if (!c->param_offset)
        return false;
    for (uint32_t k = 0; k < f->params_n; k++)
        c->param_offset[k] = (uint32_t)place(b, &c->param_bytes, &c->module->vars[f->params[k]], 1, 32764);
    return true;
}

/* An atomic whose old value nobody reads becomes a reduction (RED) in SASS. */
static int find_reductions(struct code *c)
{
    uint8_t *is_read = calloc(c->regs_n + 1, 1);
    if (!is_read)
        return -WS_ENOMEM;
    for (uint32_t k = 0; k < c->ins_n; k++) {
        uint32_t regs[2] = {c->ins[k].a, c->ins[k].guard};
        for (int n = 0; n < 4; n++)
            if (c->ins[k].s[n] != CODE_NONE)
                is_read[c->ins[k].s[n]] = 1;
        for (int n = 0; n < 2; n++)
            if (regs[n] != CODE_NONE)
                is_read[regs[n]] = 1;
    }
    for (uint32_t k = 0; k < c->ins_n; k++) {
        struct code_ins *in = &c->ins[k];
        bool can_be = in->op == OP_atom && in->type2 != 5 && in->type2 != 6; /* cas, exch return */
        if (can_be && (in->d[0] == CODE_NONE || !is_read[in->d[0]])) {
            in->flags &= (uint16_t)~CODE_RETURNS;
            in->d[0] = CODE_NONE;
        }
    }
    free(is_read);
    return 0;
}

static void finish_dynamic_symbols(struct builder *b)
{
    for (uint32_t k = 0; k < b->dynamic_symbols_n; k++)
        b->code->regs[b->dynamic_symbols[k]].value += (b->code->static_smem + 15) & ~15ull;
}

/* Fall off the end of the text: an exit, so that every path has an end. */
static void close_kernel(struct builder *b, struct instance *kernel)
{
    static const struct ptx_ins end = {.opcode = {"exit", 4}, .guard = PTX_NO_REG};
    b->instance = kernel;
    b->in = &end;
    decode_blank(&b->now);
    b->now.flags = CODE_UNCOUNTED;
    decode_emit_flow(b, OP_nop, END_EXIT, CODE_NONE);
}

int code_make(const struct ptx_module *module, const struct ptx_func *func, const exec_fn *table, bool merges,
              struct code **out)
{
    struct builder b = {.table = table};
    struct instance kernel = {.func = func};
    int err = 0;
    b.code = calloc(1, sizeof *b.code);
    if (!b.code)
        return -WS_ENOMEM;
    b.code->module = module;
    b.code->func = func;
    memset(b.specials, 0xff, sizeof b.specials);
    b.code->var_offset = malloc((module->vars_n + 1) * sizeof *b.code->var_offset);
    if (!b.code->var_offset || !layout_params(&b) || !start_instance(&b, &kernel)) {
        err = -WS_ENOMEM;
        goto out;
    }
    memset(b.code->var_offset, 0xff, (module->vars_n + 1) * sizeof *b.code->var_offset);
    walk_instance(&b, &kernel);
    if (!b.code->refusal[0])
        close_kernel(&b, &kernel);
    finish_dynamic_symbols(&b);
    err = b.err == -WS_ENOMEM ? b.err : 0;
    if (!err && !b.code->refusal[0]) {
        err = find_reductions(b.code);
        if (!err)
            err = cfg_build(b.code, b.flow);
        if (!err && merges)
            err = merge_shared_loads(b.code);
        if (!err)
            err = fold_code(b.code);
        if (!err)
            err = slots_assign(b.code);
        if (!err)
            err = fold_finish(b.code);
        if (err == -WS_ELIMIT) {
            b.in = NULL;
            decode_refuse(&b, "control flow too large to analyse");
            err = 0;
        }
    }
out:
    free_instance(&kernel);
    free(b.flow);
    free(b.patches);
    free(b.constants);
    if (err) {
        code_free(b.code);
        return err;
    }
    *out = b.code;
    return 0;
}

void code_free(struct code *code)
{
    if (!code)
        return;
    free(code->ins);
    free(code->run);
    free(code->once);
    free(code->blocks);
    free(code->regs);
    free(code->fixups);
    free(code->param_offset);
    free(code->var_offset);
    free(code);
}
