/* SPDX-License-Identifier: MIT
 * decode.c: a kernel's tree to executable code: walk, operands, symbols, call inlining, control flow.
 * Device functions are inlined at each call; those that call themselves, that are called by their address, or that lie
 * too deep in calls, are decoded once and really called. Parameters live in the thread's local memory, uncounted, as
 * registers carry them on a GPU. Opcodes: decode_ops.c. */
#include "decode.h"

#include "exec.h"

#include "../../analyzer/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Inlining multiplies code: a bound for hostile and for absurd inputs. */
#define LIMIT_CODE 400000u
#define LIMIT_CALL_DEPTH 24u
/* Past so many instructions functions of more than a few are not inlined any more. */
#define LIMIT_INLINED 60000u
#define SMALL_FUNCTION 24u
#define LIMIT_FUNCTIONS 20000u
#define LIMIT_FORMS 512u
/* A kernel is decoded anew for each recursive function; past so many none is inlined. */
#define LIMIT_ATTEMPTS 32u
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
    n->a = n->stat = n->guard = n->guarded = n->long_way = n->wide = CODE_NONE;
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
    {"%aggr_smem_size", SR_TOTAL_SMEM},
    {"%envreg1", SR_ENVREG1},
    {"%envreg2", SR_ENVREG2},
    {"%reserved_smem_offset_begin", SR_RESERVED_BEGIN},
    {"%reserved_smem_offset_0", SR_RESERVED_BEGIN},
    {"%reserved_smem_offset_1", SR_RESERVED_BEGIN},
    {"%reserved_smem_offset_end", SR_RESERVED_END},
    {"%reserved_smem_offset_cap", SR_RESERVED_CAP},
    {"%clusterid.x", SR_CLUSTERID_X},
    {"%clusterid.y", SR_CLUSTERID_Y},
    {"%clusterid.z", SR_CLUSTERID_Z},
    {"%nclusterid.x", SR_NCLUSTERID_X},
    {"%nclusterid.y", SR_NCLUSTERID_Y},
    {"%nclusterid.z", SR_NCLUSTERID_Z},
    {"%cluster_ctaid.x", SR_CLUSTER_CTAID_X},
    {"%cluster_ctaid.y", SR_CLUSTER_CTAID_Y},
    {"%cluster_ctaid.z", SR_CLUSTER_CTAID_Z},
    {"%cluster_ctarank", SR_CLUSTER_CTARANK},
    {"%cluster_nctaid.x", SR_CLUSTER_NCTAID_X},
    {"%cluster_nctaid.y", SR_CLUSTER_NCTAID_Y},
    {"%cluster_nctaid.z", SR_CLUSTER_NCTAID_Z},
    {"%cluster_nctarank", SR_CLUSTER_NCTARANK},
};

static uint32_t special_source(struct builder *b, struct ptx_name name)
{
    for (size_t i = 0; i < sizeof special_names / sizeof *special_names; i++) {
        enum code_special s = special_names[i].special;
        if (!ptx_name_is(name, special_names[i].name))
            continue;
        b->code->uses_reserved_smem |= s >= SR_RESERVED_BEGIN && s <= SR_RESERVED_END;
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
        *at = place(b, b->frame, &b->code->module->vars[var], 16, LIMIT_LOCAL);
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

/* An address in local memory: a constant in the kernel's frame, else added to where the frame is. */
static uint32_t local_symbol(struct builder *b, uint32_t var, int64_t addend, uint32_t lanes)
{
    uint64_t offset = local_place(b, var) + (uint64_t)addend;
    struct code_ins keep = b->now;
    uint32_t temp;
    if (!b->is_in_function)
        return decode_constant(b, offset, lanes);
    temp = decode_temp(b, lanes, false);
    decode_blank(&b->now);
    b->now.flags = CODE_UNCOUNTED;
    b->now.imm = (int64_t)offset;
    b->now.d[0] = temp;
    b->now.d_wide = lanes == 8;
    decode_emit(b, OP_frame);
    b->now = keep;
    return temp;
}

/* The address of a function of the module, as its number. */
static uint32_t function_symbol(struct builder *b, struct ptx_name name)
{
    const struct ptx_module *m = b->code->module;
    const struct ptx_func *f = ptx_find_func(m, name);
    if (!f || f->is_entry) {
        decode_refuse(b, "unknown symbol");
        return 0;
    }
    return decode_constant(b, FUNCTION_WINDOW | ((uint64_t)(f - m->funcs) + 1) * FUNCTION_STEP, 8);
}

/* The address of a symbol as a constant register. */
static uint32_t symbol_source(struct builder *b, struct ptx_name name, int64_t addend, uint32_t bytes)
{
    struct code *c = b->code;
    uint32_t var = find_var(b, name);
    uint32_t lanes = bytes < 8 ? 4 : 8;
    if (ptx_name_is(name, "WARP_SZ"))
        return decode_constant(b, 32, bytes);
    if (var == CODE_NONE)
        return function_symbol(b, name);
    switch (c->module->vars[var].space) {
    case PTX_SPACE_SHARED:
        return shared_symbol(b, var, addend, lanes);
    case PTX_SPACE_LOCAL:
    case PTX_SPACE_FRAME:
        return local_symbol(b, var, addend, lanes);
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
    n->long_way = CODE_NONE;
    if (n->software && code_software[n->software].domain > SOFTWARE_NONE) { /* it depends on the operands */
        n->long_way = c->guarded_n++;
        n->inner = b->table[OP_software];
    }
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
    if (kind == END_CLUSTER && n->guard != CODE_NONE)
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

struct code_wide *decode_wide(struct builder *b)
{
    struct code *c = b->code;
    struct code_wide *w;
    if (!ptx_grow(&c->wide, &b->wide_cap, c->wide_n, sizeof *c->wide, LIMIT_CODE)) {
        out_of_memory(b);
        return NULL;
    }
    w = &c->wide[c->wide_n];
    memset(w, 0, sizeof *w);
    memset(w->d, 0xff, sizeof w->d);
    memset(w->s, 0xff, sizeof w->s);
    b->now.wide = c->wide_n++;
    return w;
}

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
 * lies in a variable of its own; where, is in code->copies from number imm on. */
static void call_builtin(struct builder *b, const struct ptx_func *f, const struct ptx_operand *list)
{
    bool is_print = ptx_name_is(f->name, "vprintf");
    uint32_t count = is_print ? 2 : 4;
    struct code *c = b->code;
    b->now.imm = c->copies_n;
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
        if (at > LIMIT_LOCAL || c->module->vars[var].bytes < bytes) {
            decode_refuse(b, "printf or assert with parameters of another form");
            return;
        }
        if (!ptx_grow(&c->copies, &b->copies_cap, c->copies_n, sizeof *c->copies, 4 * LIMIT_CODE)) {
            out_of_memory(b);
            return;
        }
        c->copies[c->copies_n++] = (struct code_copy){.from = (uint32_t)at, .bytes = bytes};
    }
    b->now.type2 = is_print ? PRINT_TEXT : PRINT_ASSERT;
    decode_emit(b, OP_print);
}

/* malloc and free of device code: the heap of the model. Places of the parameter and the return value as for printf. */
static void call_heap(struct builder *b, const struct ptx_operand *ret, const struct ptx_operand *args, bool is_free)
{
    const struct ptx_operand *lists[2] = {args, ret};
    uint64_t where = 0;
    for (uint32_t k = 0; k < (is_free ? 1u : 2u); k++) {
        const struct ptx_operand *o =
            lists[k] && lists[k]->count == 1 ? &b->instance->func->elements[lists[k]->first] : NULL;
        uint32_t var = o && o->kind == PTX_O_SYMBOL ? find_own_var(b->instance, o->name, b->in->scope, b->code->module)
                                                    : CODE_NONE;
        uint64_t at = var == CODE_NONE ? UINT64_MAX : local_place(b, var);
        if (at > LIMIT_LOCAL || b->code->module->vars[var].bytes != 8) {
            decode_refuse(b, "malloc or free with parameters of another form");
            return;
        }
        where |= at << (32 * k);
    }
    b->code->uses_heap = true;
    b->now.imm = (int64_t)where;
    b->now.type2 = is_free;
    decode_emit(b, OP_heap);
}

static void call_outside(struct builder *b, const struct ptx_func *f, const struct ptx_operand *ret,
                         const struct ptx_operand *args)
{
    if (b->in->guard != PTX_NO_REG)
        decode_refuse(b, "call under a guard");
    else if (ptx_name_is(f->name, "malloc") || ptx_name_is(f->name, "free"))
        call_heap(b, ret, args, ptx_name_is(f->name, "free"));
    else
        call_builtin(b, f, args);
}

/* --- functions that are not inlined --- */

static uint64_t var_bytes(const struct builder *b, uint32_t var)
{
    return b->code->module->vars[var].bytes;
}

static bool same_sizes(const struct builder *b, const uint32_t *x, uint32_t x_n, const uint32_t *y, uint32_t y_n)
{
    for (uint32_t k = 0; x_n == y_n && k < x_n; k++)
        if (var_bytes(b, x[k]) != var_bytes(b, y[k]))
            return false;
    return x_n == y_n;
}

static uint32_t find_form(struct builder *b, const struct form *like)
{
    uint32_t *kept;
    for (uint32_t k = 0; k < b->forms_n; k++)
        if (same_sizes(b, b->forms[k].rets, b->forms[k].rets_n, like->rets, like->rets_n) &&
            same_sizes(b, b->forms[k].params, b->forms[k].params_n, like->params, like->params_n))
            return k;
    if (!ptx_grow(&b->forms, &b->forms_cap, b->forms_n, sizeof *b->forms, LIMIT_FORMS)) {
        decode_refuse(b, "calls of too many forms");
        return 0;
    }
    kept = malloc((like->rets_n + like->params_n + 1) * sizeof *kept);
    if (!kept) {
        out_of_memory(b);
        return 0;
    }
    for (uint32_t k = 0; k < like->rets_n; k++)
        kept[k] = like->rets[k];
    for (uint32_t k = 0; k < like->params_n; k++)
        kept[like->rets_n + k] = like->params[k];
    b->forms[b->forms_n] = *like;
    b->forms[b->forms_n].rets = kept;
    b->forms[b->forms_n].params = kept + like->rets_n;
    return b->forms_n++;
}

static struct form form_of(const struct ptx_func *f)
{
    return (struct form){.rets = f->rets, .params = f->params, .rets_n = f->rets_n, .params_n = f->params_n};
}

/* The number of a function in code->functions; it is decoded when the kernel has been. */
static uint32_t far_function(struct builder *b, const struct ptx_func *f)
{
    struct code *c = b->code;
    struct form form = form_of(f);
    uint32_t number = (uint32_t)(f - c->module->funcs);
    if (!c->function_of)
        c->function_of = calloc(c->module->funcs_n + 1, sizeof *c->function_of);
    if (!c->function_of) {
        out_of_memory(b);
        return 0;
    }
    if (c->function_of[number])
        return c->function_of[number] - 1;
    if (!ptx_grow(&c->functions, &b->functions_cap, c->functions_n, sizeof *c->functions, LIMIT_FUNCTIONS)) {
        out_of_memory(b);
        return 0;
    }
    c->functions[c->functions_n] = (struct code_function){.number = number, .form = find_form(b, &form)};
    c->function_of[number] = ++c->functions_n;
    return c->functions_n - 1;
}

static void mark_address(struct builder *b, struct ptx_name name)
{
    const struct ptx_func *f = ptx_find_func(b->code->module, name);
    if (f)
        b->is_addressed[f - b->code->module->funcs] = 1;
}

/* Functions whose address is in an initialiser or moved into a register, anywhere in the module. */
static bool find_addressed(struct builder *b)
{
    const struct ptx_module *m = b->code->module;
    if (b->is_addressed)
        return true;
    b->is_addressed = calloc(m->funcs_n + 1, 1);
    if (!b->is_addressed) {
        out_of_memory(b);
        return false;
    }
    for (uint32_t v = 0; v < m->vars_n; v++)
        for (uint32_t r = 0; r < m->vars[v].relocs_n; r++)
            mark_address(b, m->vars[v].relocs[r].symbol);
    for (uint32_t k = 0; k < m->funcs_n; k++)
        for (uint32_t i = 0; i < m->funcs[k].ins_n; i++) {
            const struct ptx_ins *in = &m->funcs[k].ins[i];
            bool is_move = in->opcode.length > 4 && memcmp(in->opcode.at, "mov.", 4) == 0 && in->count == 2;
            if (is_move && m->funcs[k].operands[in->first + 1].kind == PTX_O_SYMBOL)
                mark_address(b, m->funcs[k].operands[in->first + 1].name);
        }
    return true;
}

/* A call by address may reach every function of its form whose address somebody takes. */
static void call_by_address(struct builder *b, uint32_t form)
{
    const struct ptx_module *m = b->code->module;
    if (b->forms[form].is_called_by_address || !find_addressed(b))
        return;
    b->forms[form].is_called_by_address = true;
    for (uint32_t k = 0; k < m->funcs_n && !b->code->refusal[0]; k++) {
        const struct ptx_func *f = &m->funcs[k];
        if (b->is_addressed[k] && f->has_body && !f->is_entry &&
            same_sizes(b, f->rets, f->rets_n, b->forms[form].rets, b->forms[form].rets_n) &&
            same_sizes(b, f->params, f->params_n, b->forms[form].params, b->forms[form].params_n))
            (void)far_function(b, f);
    }
}

/* In the callee's frame: return values, parameters, each at a multiple of 16; the same for all functions of a form. */
static uint64_t next_place(uint64_t *at, uint64_t bytes)
{
    uint64_t place = *at;
    *at = (place + bytes + 15) & ~15ull;
    return place;
}

static bool add_copies(struct builder *b, const struct ptx_operand *list, const uint32_t *formal, uint32_t n,
                       uint64_t *at, bool is_return)
{
    struct code *c = b->code;
    if ((list ? list->count : 0) != n) {
        decode_refuse(b, "the call has another number of parameters than the function");
        return false;
    }
    for (uint32_t k = 0; k < n; k++) {
        const struct ptx_operand *o = &b->instance->func->elements[list->first + k];
        uint32_t var =
            o->kind == PTX_O_SYMBOL ? find_own_var(b->instance, o->name, b->in->scope, c->module) : CODE_NONE;
        uint32_t mine, other;
        if (var == CODE_NONE || var_bytes(b, var) != var_bytes(b, formal[k]) || var_bytes(b, var) > LIMIT_LOCAL) {
            decode_refuse(b, "call parameter that is no .param variable of the right size");
            return false;
        }
        if (!ptx_grow(&c->copies, &b->copies_cap, c->copies_n, sizeof *c->copies, 4 * LIMIT_CODE)) {
            out_of_memory(b);
            return false;
        }
        mine = (uint32_t)local_place(b, var);
        other = (uint32_t)next_place(at, var_bytes(b, var));
        c->copies[c->copies_n++] =
            (struct code_copy){is_return ? other : mine, is_return ? mine : other, (uint32_t)var_bytes(b, var)};
    }
    return true;
}

/* call of a function that is not inlined; f: NULL = the address is in a register. */
static void call_far(struct builder *b, const struct ptx_func *f, const struct form *form,
                     const struct ptx_operand *ret, const struct ptx_operand *args)
{
    struct code *c = b->code;
    struct code_call call = {.function = CODE_NONE, .copies = c->copies_n};
    uint64_t at = 0;
    call.form = find_form(b, form);
    call.rets_n = form->rets_n;
    call.params_n = form->params_n;
    if (!add_copies(b, ret, form->rets, form->rets_n, &at, true) ||
        !add_copies(b, args, form->params, form->params_n, &at, false))
        return;
    if (f)
        call.function = far_function(b, f);
    else
        call_by_address(b, call.form);
    if (!ptx_grow(&c->calls, &b->calls_cap, c->calls_n, sizeof *c->calls, LIMIT_CODE)) {
        out_of_memory(b);
        return;
    }
    b->now.imm = c->calls_n;
    c->calls[c->calls_n++] = call;
    decode_emit_flow(b, OP_nop, END_CALL, CODE_NONE);
}

/* call (ret), %rd1, (a, b), prototype; */
static void call_register(struct builder *b, const struct ptx_operand *ret, uint32_t k)
{
    const struct ptx_label *label = NULL;
    const struct ptx_operand *last = decode_operand(b, b->in->count - 1), *args = NULL;
    uint32_t *vars;
    struct form form = {0};
    b->now.s[0] = decode_source(b, decode_operand(b, k++), 8);
    if (k + 1 < b->in->count)
        args = decode_operand(b, k);
    if (last->kind != PTX_O_SYMBOL || decode_label(b, last->name, &label) == CODE_NONE || !label->is_form ||
        (args && args->kind != PTX_O_LIST)) {
        decode_refuse(b, "indirect call without .callprototype");
        return;
    }
    form.rets_n = label->form_rets;
    form.params_n = label->form_params;
    vars = calloc((size_t)form.rets_n + form.params_n + 1, sizeof *vars);
    if (!vars) {
        out_of_memory(b);
        return;
    }
    for (uint32_t n = 0; n < form.rets_n + form.params_n; n++)
        vars[n] = label->form_first + n;
    form.rets = vars;
    form.params = vars + form.rets_n;
    call_far(b, NULL, &form, ret, args);
    free(vars);
}

static void call_inlined(struct builder *b, const struct ptx_func *f, const struct ptx_operand *ret,
                         const struct ptx_operand *args)
{
    struct instance callee = {.func = f, .caller = b->instance, .depth = b->instance->depth + 1};
    decode_emit(b, OP_nop); /* the call itself */
    if (!start_instance(b, &callee))
        out_of_memory(b);
    else if (bind_params(b, &callee, ret, f->rets, f->rets_n) && bind_params(b, &callee, args, f->params, f->params_n))
        walk_instance(b, &callee);
    free_instance(&callee);
}

/* It calls itself: what was inlined already must not have been. */
static void start_again(struct builder *b, const struct ptx_func *f)
{
    b->is_far[f - b->code->module->funcs] = 1;
    b->starts_again = true;
    decode_refuse(b, "recursive call");
}

void decode_call(struct builder *b)
{
    const struct ptx_operand *ret = NULL, *args = NULL;
    const struct ptx_func *f;
    struct form form;
    uint32_t k = 0;
    if (decode_operand(b, k)->kind == PTX_O_LIST)
        ret = decode_operand(b, k++);
    b->now.flags = 0;
    if (decode_operand(b, k)->kind == PTX_O_REG) {
        call_register(b, ret, k);
        return;
    }
    f = decode_operand(b, k)->kind == PTX_O_SYMBOL ? ptx_find_func(b->code->module, decode_operand(b, k)->name) : NULL;
    if (!f) {
        decode_refuse(b, "call of an unknown function");
        return;
    }
    if (++k < b->in->count && decode_operand(b, k)->kind == PTX_O_LIST)
        args = decode_operand(b, k);
    if (!f->has_body) {
        call_outside(b, f, ret, args);
        return;
    }
    form = form_of(f);
    if (b->is_far[f - b->code->module->funcs] || b->instance->depth >= LIMIT_CALL_DEPTH || b->in->guard != PTX_NO_REG ||
        (b->code->ins_n > LIMIT_INLINED && f->ins_n > SMALL_FUNCTION))
        call_far(b, f, &form, ret, args);
    else if (is_recursive(b->instance, f))
        start_again(b, f);
    else
        call_inlined(b, f, ret, args);
}

/* Fall off the end of the text: an exit or a return, so that every path has an end. */
static void close_code(struct builder *b, struct instance *n, enum code_end kind)
{
    static const struct ptx_ins end = {.opcode = {"exit", 4}, .guard = PTX_NO_REG};
    b->instance = n;
    b->in = &end;
    decode_blank(&b->now);
    b->now.flags = CODE_UNCOUNTED;
    decode_emit_flow(b, OP_nop, kind, CODE_NONE);
}

/* A function's own code: parameters where every caller puts them, then its variables. */
static void walk_function(struct builder *b, uint32_t k)
{
    struct code *c = b->code;
    const struct ptx_func *f = &c->module->funcs[c->functions[k].number];
    struct instance n = {.func = f};
    uint64_t at = 0;
    c->functions[k].entry = c->ins_n;
    b->is_in_function = true;
    if (!start_instance(b, &n)) {
        out_of_memory(b);
    } else {
        for (uint32_t r = 0; r < f->rets_n; r++)
            n.var_offset[f->rets[r] - f->vars_first] = next_place(&at, var_bytes(b, f->rets[r]));
        for (uint32_t p = 0; p < f->params_n; p++)
            n.var_offset[f->params[p] - f->vars_first] = next_place(&at, var_bytes(b, f->params[p]));
        if (at > LIMIT_LOCAL)
            decode_refuse(b, "too much shared or local memory");
        b->frame = &at;
        walk_instance(b, &n);
        if (!c->refusal[0])
            close_code(b, &n, END_RETURN);
        c->functions[k].frame_bytes = (at + 15) & ~15ull;
        b->frame = &c->local_bytes;
    }
    free_instance(&n);
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
    for (uint32_t k = 0; k < c->wide_n; k++)
        for (uint32_t n = 0; n < c->wide[k].s_n; n++)
            is_read[c->wide[k].s[n]] = 1;
    for (uint32_t k = 0; k < c->ins_n; k++) {
        struct code_ins *in = &c->ins[k];
        bool can_be = in->op == OP_atom && in->type2 != AT_CAS && in->type2 != AT_EXCH; /* they return */
        if (can_be && (in->d[0] == CODE_NONE || !is_read[in->d[0]])) {
            in->flags &= (uint16_t)~CODE_RETURNS;
            in->d[0] = CODE_NONE;
        }
    }
    free(is_read);
    return 0;
}

/* What ptxas says of a kernel's shared memory (nvcc 13.0, sm_90): variables in their order, at their own alignment.
 * Here they lie further apart: loads that ptxas joins need 16, and a bank does not depend on where a variable begins.
 */
static void measure_smem(struct code *c)
{
    uint64_t at = 0;
    for (uint32_t v = 0; v < c->module->vars_n; v++) {
        const struct ptx_var *var = &c->module->vars[v];
        if (var->space == PTX_SPACE_SHARED && c->var_offset[v] != UINT64_MAX)
            at = ((at + var->align - 1) & ~(uint64_t)(var->align - 1)) + var->bytes;
    }
    c->ptxas_smem = at;
}

static void finish_dynamic_symbols(struct builder *b)
{
    for (uint32_t k = 0; k < b->dynamic_symbols_n; k++)
        b->code->regs[b->dynamic_symbols[k]].value += (b->code->static_smem + 15) & ~15ull;
}

static void free_builder(struct builder *b)
{
    for (uint32_t k = 0; k < b->forms_n; k++)
        free((void *)(uintptr_t)b->forms[k].rets);
    free(b->forms);
    free(b->is_addressed);
    free(b->flow);
    free(b->patches);
    free(b->constants);
}

/* Text to instructions: the kernel, then the functions that it calls and that those call. */
static int decode_all(struct builder *b, struct instance *kernel)
{
    struct code *c = b->code;
    const struct ptx_module *m = c->module;
    memset(b->specials, 0xff, sizeof b->specials);
    c->var_offset = malloc((m->vars_n + 1) * sizeof *c->var_offset);
    if (!c->var_offset)
        return -WS_ENOMEM;
    memset(c->var_offset, 0xff, (m->vars_n + 1) * sizeof *c->var_offset);
    if (!layout_params(b) || !start_instance(b, kernel))
        return -WS_ENOMEM;
    b->frame = &c->local_bytes;
    walk_instance(b, kernel);
    if (!c->refusal[0])
        close_code(b, kernel, END_EXIT);
    for (uint32_t k = 0; k < c->functions_n && !c->refusal[0]; k++)
        walk_function(b, k);
    finish_dynamic_symbols(b);
    measure_smem(c);
    return b->err == -WS_ENOMEM ? b->err : 0;
}

static int analyse(struct builder *b, bool merges)
{
    int err = find_reductions(b->code);
    if (!err)
        err = cfg_build(b->code, b->flow);
    if (!err && merges)
        err = merge_shared_loads(b->code);
    if (!err)
        err = software_mark(b->code);
    if (!err)
        err = fold_code(b->code);
    if (!err)
        err = slots_assign(b->code);
    if (!err)
        err = fold_finish(b->code, b->table);
    if (err == -WS_ELIMIT) {
        b->in = NULL;
        decode_refuse(b, "control flow too large to analyse");
        err = 0;
    }
    return err;
}

/* is_far: functions that are known not to be inlined; *starts_again: one more is known now. */
static int make_once(const struct ptx_module *module, const struct ptx_func *func, const exec_fn *table, bool merges,
                     uint8_t *is_far, bool *starts_again, struct code **out)
{
    struct builder b = {.table = table, .is_far = is_far};
    struct instance kernel = {.func = func};
    int err = -WS_ENOMEM;
    b.code = calloc(1, sizeof *b.code);
    if (!b.code)
        return err;
    b.code->module = module;
    b.code->func = func;
    err = decode_all(&b, &kernel);
    if (!err && !b.code->refusal[0])
        err = analyse(&b, merges);
    *starts_again = !err && b.starts_again;
    free_instance(&kernel);
    free_builder(&b);
    if (err || *starts_again) {
        code_free(b.code);
        return err;
    }
    *out = b.code;
    return 0;
}

int code_make(const struct ptx_module *module, const struct ptx_func *func, const exec_fn *table, bool merges,
              struct code **out)
{
    uint8_t *is_far = calloc(module->funcs_n + 1, 1);
    bool again = true;
    int err = is_far ? 0 : -WS_ENOMEM;
    for (uint32_t attempt = 0; !err && again; attempt++) {
        if (attempt == LIMIT_ATTEMPTS)
            memset(is_far, 1, module->funcs_n);
        err = make_once(module, func, table, merges, is_far, &again, out);
    }
    free(is_far);
    return err;
}

uint32_t code_function_at(const struct code *code, uint64_t address, uint32_t form)
{
    uint64_t number = (address - FUNCTION_WINDOW) / FUNCTION_STEP - 1;
    if (address % FUNCTION_STEP != 0 || number >= code->module->funcs_n)
        return CODE_NONE;
    if (!code->function_of || code->function_of[number] == 0)
        return CODE_NONE;
    return code->functions[code->function_of[number] - 1].form == form ? code->function_of[number] - 1 : CODE_NONE;
}

void code_free(struct code *code)
{
    if (!code)
        return;
    free(code->ins);
    free(code->run);
    free(code->fused);
    free(code->once);
    free(code->blocks);
    free(code->regs);
    free(code->fixups);
    free(code->wide);
    free(code->functions);
    free(code->function_of);
    free(code->calls);
    free(code->copies);
    free(code->param_offset);
    free(code->var_offset);
    free(code);
}
