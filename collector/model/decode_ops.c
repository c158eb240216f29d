/* SPDX-License-Identifier: MIT
 * decode_ops.c: the meaning of opcodes: which operation, which operands, which class of work.
 * Plain arithmetic is the table opcodes.def; each family with modifiers of its own has a function here, listed
 * in families[]. What is in neither is refused by name and line. */
#include "decode.h"

#include <stdio.h>
#include <string.h>

/* --- what ops.def says about each operation --- */

enum lane { W_u16 = 2, W_s16 = 2, W_u32 = 4, W_s32 = 4, W_u64 = 8, W_s64 = 8, W_f32 = 4, W_f64 = 8, W_h = 2, W_bf = 2 };

struct signature {
    uint8_t sources, d, s[3];
};

static const struct signature signatures[OP_COUNT] = {
#define UN(name, td, ta, expr) {1, W_##td, {W_##ta, 0, 0}},
#define BIN(name, td, ta, tb, expr) {2, W_##td, {W_##ta, W_##tb, 0}},
#define TER(name, td, ta, tb, tc, expr) {3, W_##td, {W_##ta, W_##tb, W_##tc}},
#define CMP(name, t, expr) {2, 0, {W_##t, W_##t, 0}},
#define VEC(name, td, ta) {1, W_##td, {W_##ta, 0, 0}},
#define OTHER(name) {0, 0, {0, 0, 0}},
#include "ops.def"
};

static const struct {
    const char *text;
    uint16_t op;
} spellings[] = {
#define X(text, op) {text, OP_##op},
#include "opcodes.def"
#undef X
};

/* --- plain arithmetic --- */

/* Modifiers that do not choose the operation. */
static bool is_plain_modifier(struct builder *b, uint32_t k)
{
    return decode_token(b, k, "rn") || decode_token(b, k, "approx") || decode_token(b, k, "full") ||
           decode_token(b, k, "sync");
}

static bool take_rounding(struct builder *b, uint32_t k)
{
    static const char *const names[] = {"rn", "rz", "rm", "rp", NULL};
    int mode = decode_index(b, k, names);
    if (mode < 0)
        return false;
    b->now.round = (uint8_t)mode;
    return true;
}

static int find_spelling(const char *text)
{
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (strcmp(spellings[i].text, text) == 0)
            return spellings[i].op;
    return -1;
}

/* base.modifier.type with the tokens that matter; without_flags also drops .sat and rounding. */
static int look_up(struct builder *b, bool without_flags)
{
    char text[64];
    size_t n = 0;
    b->now.round = ROUND_NEAREST;
    for (uint32_t k = 0; k < b->tokens_n; k++) {
        if (k > 0 && is_plain_modifier(b, k))
            continue;
        if (k > 0 && without_flags && (decode_token(b, k, "sat") || take_rounding(b, k)))
            continue;
        if (n + b->token[k].length + 2 > sizeof text)
            return -1;
        if (n > 0)
            text[n++] = '.';
        memcpy(text + n, b->token[k].at, b->token[k].length);
        n += b->token[k].length;
    }
    text[n] = '\0';
    return find_spelling(text);
}

static uint8_t fp_class(const struct builder *b, uint8_t *width)
{
    enum ptx_type t = decode_last_type(b);
    bool is_add = decode_token(b, 0, "add") || decode_token(b, 0, "sub");
    bool is_fma = decode_token(b, 0, "fma") || decode_token(b, 0, "mad");
    *width = t == PTX_F16X2 || t == PTX_BF16X2 ? 2 : 1;
    if (!is_add && !is_fma && !decode_token(b, 0, "mul"))
        return FP_NONE;
    switch (t) {
    case PTX_F32:
        return is_add ? FP32_ADD : is_fma ? FP32_FMA : FP32_MUL;
    case PTX_F64:
        return is_add ? FP64_ADD : is_fma ? FP64_FMA : FP64_MUL;
    case PTX_F16:
    case PTX_BF16:
    case PTX_F16X2:
    case PTX_BF16X2:
        return is_add ? FP16_ADD : is_fma ? FP16_FMA : FP16_MUL;
    default:
        return FP_NONE;
    }
}

/* The row of software.def, 0: none. */
static uint8_t software_of(const struct builder *b)
{
    enum ptx_type t = decode_last_type(b);
    bool has_ftz = decode_has(b, "ftz");
    for (uint32_t k = 1; k < code_software_n; k++) {
        const struct code_software *s = &code_software[k];
        if (s->type == t && decode_token(b, 0, s->opcode) && (!s->accuracy[0] || decode_has(b, s->accuracy)) &&
            (s->ftz == 2 || (s->ftz == 1) == has_ftz))
            return (uint8_t)k;
    }
    return 0;
}

static bool decode_simple(struct builder *b)
{
    const struct signature *sig;
    enum ptx_type t = decode_last_type(b);
    int op = look_up(b, false);
    if (op < 0) {
        op = look_up(b, true);
        if (op < 0)
            return false;
        if (decode_has(b, "sat"))
            b->now.flags |= CODE_SATURATE;
        if ((b->now.flags & CODE_SATURATE) && t != PTX_F32 && t != PTX_F64)
            return false;
        if (b->now.round != ROUND_NEAREST && t != PTX_F32 && t != PTX_F64)
            return false;
    }
    sig = &signatures[op];
    b->now.type = (uint8_t)t;
    b->now.d[0] = decode_dest(b, decode_operand(b, 0), sig->d);
    if (b->in->count != sig->sources + 1u)
        decode_refuse(b, "unexpected number of operands");
    for (uint32_t k = 0; k < sig->sources; k++)
        b->now.s[k] = decode_source(b, decode_operand(b, k + 1), sig->s[k]);
    b->now.d_wide = sig->d == 8;
    b->now.fp = fp_class(b, &b->now.fp_width);
    b->now.software = software_of(b);
    if (b->now.d[0] == CODE_NONE)
        decode_emit(b, OP_nop);
    else
        decode_emit(b, (uint16_t)op);
    return true;
}

/* --- comparisons --- */

/* eq lt le with optional swap and complement; floats also ltgt and num. */
static bool comparison(struct builder *b, uint32_t k, enum ptx_type t, uint16_t *op, bool *swap)
{
    static const struct {
        const char *name;
        char base; /* e l L(le) g(ltgt) n(num) */
        bool invert_int, swap, is_float_only, invert;
    } rows[] = {
        {"eq", 'e', false, false, false, false}, {"ne", 'e', true, false, false, true},
        {"lt", 'l', false, false, false, false}, {"le", 'L', false, false, false, false},
        {"gt", 'l', false, true, false, false},  {"ge", 'L', false, true, false, false},
        {"lo", 'l', false, false, false, false}, {"ls", 'L', false, false, false, false},
        {"hi", 'l', false, true, false, false},  {"hs", 'L', false, true, false, false},
        {"equ", 'g', false, false, true, true},  {"neu", 'e', false, false, true, true},
        {"ltu", 'L', false, true, true, true},   {"leu", 'l', false, true, true, true},
        {"gtu", 'L', false, false, true, true},  {"geu", 'l', false, false, true, true},
        {"num", 'n', false, false, true, false}, {"nan", 'n', false, false, true, true},
    };
    static const uint16_t eq[] = {OP_eq_u16, OP_eq_u16, OP_eq_u32, OP_eq_u32, OP_eq_u64,
                                  OP_eq_u64, OP_eq_f32, OP_eq_f64, OP_eq_h,   OP_eq_bf};
    static const uint16_t lt[] = {OP_lt_u16, OP_lt_s16, OP_lt_u32, OP_lt_s32, OP_lt_u64,
                                  OP_lt_s64, OP_lt_f32, OP_lt_f64, OP_lt_h,   OP_lt_bf};
    static const uint16_t le[] = {OP_le_u16, OP_le_s16, OP_le_u32, OP_le_s32, OP_le_u64,
                                  OP_le_s64, OP_le_f32, OP_le_f64, OP_le_h,   OP_le_bf};
    static const uint16_t ltgt[] = {OP_ltgt_f32, OP_ltgt_f64, OP_ltgt_h, OP_ltgt_bf};
    static const uint16_t num[] = {OP_num_f32, OP_num_f64, OP_num_h, OP_num_bf};
    static const int8_t column[PTX_TYPE_COUNT] = {
        [PTX_B16] = 1, [PTX_U16] = 1, [PTX_S16] = 2, [PTX_B32] = 3, [PTX_U32] = 3, [PTX_S32] = 4,   [PTX_B64] = 5,
        [PTX_U64] = 5, [PTX_S64] = 6, [PTX_F32] = 7, [PTX_F64] = 8, [PTX_F16] = 9, [PTX_BF16] = 10,
    };
    int col = column[t] - 1;
    bool is_float = col >= 6;
    if (col < 0)
        return false;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char base = rows[r].base;
        bool invert = rows[r].invert;
        if (!decode_token(b, k, rows[r].name))
            continue;
        if (rows[r].is_float_only && !is_float)
            return false;
        if (is_float && strcmp(rows[r].name, "ne") == 0) { /* ordered and different */
            base = 'g';
            invert = false;
        }
        *swap = rows[r].swap;
        b->now.flags |= invert ? CODE_INVERT : 0;
        *op = base == 'e'   ? eq[col]
              : base == 'l' ? lt[col]
              : base == 'L' ? le[col]
              : base == 'g' ? ltgt[col - 6]
                            : num[col - 6];
        return true;
    }
    return false;
}

static uint8_t boolean_of(const struct builder *b, uint32_t k)
{
    return decode_token(b, k, "and")   ? BOOL_AND
           : decode_token(b, k, "or")  ? BOOL_OR
           : decode_token(b, k, "xor") ? BOOL_XOR
                                       : BOOL_NONE;
}

/* setp.cmp{.bool}{.ftz}.type p{|q}, a, b{, c} and set.cmp{.bool}.dtype.type d, a, b{, c} */
static bool decode_setp(struct builder *b)
{
    bool is_set = decode_token(b, 0, "set");
    enum ptx_type t = decode_last_type(b);
    const struct ptx_operand *d = decode_operand(b, 0);
    uint32_t bytes = ptx_type_bytes(t);
    uint16_t op;
    bool swap;
    uint32_t hidden = 0;
    if (is_set && (t == PTX_F16X2 || t == PTX_BF16X2)) /* a value in each half */
        return decode_simple(b);
    if (!comparison(b, 1, t, &op, &swap))
        return false;
    b->now.boolean = boolean_of(b, 2);
    b->now.type = (uint8_t)t;
    if (is_set) {
        hidden = decode_temp(b, 4, true);
        b->now.d[0] = hidden;
    } else {
        b->now.d[0] = decode_pred_dest(b, d);
        if (b->now.d[0] == CODE_NONE)
            b->now.d[0] = decode_temp(b, 4, true);
        if (d->pair != PTX_NO_REG) {
            struct ptx_operand q = {.kind = PTX_O_REG, .reg = d->pair};
            b->now.d[1] = decode_pred_dest(b, &q);
        }
    }
    b->now.s[swap ? 1 : 0] = decode_source(b, decode_operand(b, 1), bytes);
    b->now.s[swap ? 0 : 1] = decode_source(b, decode_operand(b, 2), bytes);
    if (b->now.boolean != BOOL_NONE)
        b->now.s[2] = decode_pred_source(b, decode_operand(b, 3), CODE_NEGATE_C);
    decode_emit(b, op);
    if (is_set) {
        enum ptx_type dt = ptx_type_find(b->token[b->tokens_n - 2]);
        if (ptx_type_bytes(dt) != 4)
            return false;
        memset(b->now.s, 0xff, sizeof b->now.s);
        b->now.type = (uint8_t)dt;
        b->now.flags = CODE_UNCOUNTED;
        b->now.s[0] = hidden;
        b->now.d[0] = decode_dest(b, d, 4);
        decode_emit(b, OP_set_b32);
    }
    return true;
}

static bool decode_selp(struct builder *b)
{
    uint32_t bytes = ptx_type_bytes(decode_last_type(b));
    b->now.d[0] = decode_dest(b, decode_operand(b, 0), bytes);
    b->now.s[0] = decode_source(b, decode_operand(b, 1), bytes);
    b->now.s[1] = decode_source(b, decode_operand(b, 2), bytes);
    b->now.s[2] = decode_pred_source(b, decode_operand(b, 3), CODE_NEGATE_C);
    decode_emit(b, bytes == 8 ? OP_selp_b64 : OP_selp_b32);
    return bytes != 0 && bytes <= 8;
}

static bool decode_slct(struct builder *b)
{
    uint32_t bytes = ptx_type_bytes(ptx_type_find(b->token[b->tokens_n - 2]));
    b->now.type2 = (uint8_t)decode_last_type(b);
    b->now.d[0] = decode_dest(b, decode_operand(b, 0), bytes);
    b->now.s[0] = decode_source(b, decode_operand(b, 1), bytes);
    b->now.s[1] = decode_source(b, decode_operand(b, 2), bytes);
    b->now.s[2] = decode_source(b, decode_operand(b, 3), 4);
    decode_emit(b, bytes == 8 ? OP_slct_b64 : OP_slct_b32);
    return bytes >= 2 && bytes <= 8;
}

static bool decode_testp(struct builder *b)
{
    static const char *const names[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal", NULL};
    int which = decode_index(b, 1, names);
    uint32_t bytes = ptx_type_bytes(decode_last_type(b));
    b->now.type2 = (uint8_t)which;
    b->now.d[0] = decode_pred_dest(b, decode_operand(b, 0));
    b->now.s[0] = decode_source(b, decode_operand(b, 1), bytes);
    b->now.s_wide = bytes == 8;
    decode_emit(b, OP_testp);
    return which >= 0 && b->now.d[0] != CODE_NONE;
}

/* and/or/xor/not on predicates; all other forms are in the table. */
static bool decode_logic(struct builder *b)
{
    static const char *const names[] = {"and", "or", "xor", NULL};
    static const uint16_t ops[] = {OP_pred_and, OP_pred_or, OP_pred_xor};
    int which = decode_index(b, 0, names);
    if (decode_last_type(b) != PTX_PRED)
        return decode_simple(b);
    b->now.d[0] = decode_pred_dest(b, decode_operand(b, 0));
    b->now.s[0] = decode_pred_source(b, decode_operand(b, 1), CODE_NEGATE_A);
    if (which >= 0)
        b->now.s[1] = decode_pred_source(b, decode_operand(b, 2), CODE_NEGATE_B);
    decode_emit(b, which >= 0 ? ops[which] : OP_pred_not);
    return b->now.d[0] != CODE_NONE;
}

/* --- moves --- */

static bool decode_pack(struct builder *b, const struct ptx_operand *d, const struct ptx_operand *v, uint32_t bytes)
{
    const struct ptx_operand *e = &b->instance->func->elements[v->first];
    uint32_t piece = v->count ? bytes / v->count : 0;
    if (piece == 0 || piece * v->count != bytes || v->count > 4)
        return false;
    b->now.vec = (uint8_t)v->count;
    b->now.bytes = (uint8_t)piece;
    b->now.d[0] = decode_dest(b, d, bytes);
    b->now.d_wide = bytes == 8;
    for (uint32_t k = 0; k < v->count; k++)
        b->now.s[k] = decode_source(b, &e[k], piece);
    decode_emit(b, OP_pack);
    return b->now.d[0] != CODE_NONE;
}

static bool decode_unpack(struct builder *b, const struct ptx_operand *v, const struct ptx_operand *s, uint32_t bytes)
{
    const struct ptx_operand *e = &b->instance->func->elements[v->first];
    uint32_t piece = v->count ? bytes / v->count : 0;
    if (piece == 0 || piece * v->count != bytes || v->count > 4)
        return false;
    b->now.vec = (uint8_t)v->count;
    b->now.bytes = (uint8_t)piece;
    b->now.s[0] = decode_source(b, s, bytes);
    b->now.s_wide = bytes == 8;
    for (uint32_t k = 0; k < v->count; k++)
        b->now.d[k] = decode_dest(b, &e[k], piece);
    decode_emit(b, OP_unpack);
    return true;
}

static bool decode_mov(struct builder *b)
{
    enum ptx_type t = decode_last_type(b);
    const struct ptx_operand *d = decode_operand(b, 0), *s = decode_operand(b, 1);
    uint32_t bytes = ptx_type_bytes(t);
    if (t == PTX_NOTYPE || bytes > 8)
        return false;
    if (d->kind == PTX_O_VECTOR)
        return decode_unpack(b, d, s, bytes);
    if (s->kind == PTX_O_VECTOR)
        return decode_pack(b, d, s, bytes);
    if (t == PTX_PRED) {
        b->now.d[0] = decode_pred_dest(b, d);
        b->now.s[0] = decode_pred_source(b, s, CODE_NEGATE_A);
        decode_emit(b, OP_pred_mov);
        return b->now.d[0] != CODE_NONE;
    }
    b->now.d[0] = decode_dest(b, d, bytes);
    if (s->kind == PTX_O_SPECIAL && (ptx_name_is(s->name, "%clock") || ptx_name_is(s->name, "%clock_hi"))) {
        decode_emit(b, OP_clock32);
        return bytes == 4;
    }
    if (s->kind == PTX_O_SPECIAL && (ptx_name_is(s->name, "%clock64") || ptx_name_is(s->name, "%globaltimer"))) {
        decode_emit(b, OP_clock64);
        return bytes == 8;
    }
    b->now.s[0] = decode_source(b, s, bytes);
    decode_emit(b, bytes == 8 ? OP_mov_b64 : OP_mov_b32);
    return b->now.d[0] != CODE_NONE;
}

/* cvta.space d, a: generic from space; cvta.to.space: the way back. Global and constant addresses are the same. */
static bool decode_cvta(struct builder *b)
{
    bool to = decode_token(b, 1, "to");
    uint32_t k = to ? 2 : 1;
    uint64_t window =
        decode_token(b, k, "shared") || decode_token(b, k, "shared::cta") || decode_token(b, k, "shared::cluster")
            ? 1ull << 56
        : decode_token(b, k, "local") ? 2ull << 56
                                      : 0;
    bool is_param = decode_token(b, k, "param") || decode_token(b, k, "param::entry");
    b->now.d[0] = decode_dest(b, decode_operand(b, 0), 8);
    if (decode_last_type(b) != PTX_U64)
        return false;
    b->now.s[0] = decode_source(b, decode_operand(b, 1), 8);
    if (is_param) {
        b->now.s[1] = decode_params_base(b);
        decode_emit(b, to ? OP_sub_u64 : OP_add_u64);
    } else if (window) {
        b->now.s[1] = decode_constant(b, window, 8);
        decode_emit(b, to ? OP_sub_u64 : OP_add_u64);
    } else {
        decode_emit(b, OP_mov_b64);
    }
    return b->now.d[0] != CODE_NONE;
}

/* --- conversion --- */

static uint16_t fast_conversion(enum ptx_type d, enum ptx_type s)
{
    static const struct {
        uint8_t d, s;
        uint16_t op;
    } rows[] = {
        {PTX_U64, PTX_U32, OP_cvt_u64_u32}, {PTX_S64, PTX_U32, OP_cvt_u64_u32}, {PTX_S64, PTX_S32, OP_cvt_s64_s32},
        {PTX_U64, PTX_S32, OP_cvt_s64_s32}, {PTX_U32, PTX_U64, OP_cvt_b32_b64}, {PTX_S32, PTX_S64, OP_cvt_b32_b64},
        {PTX_U32, PTX_S64, OP_cvt_b32_b64}, {PTX_S32, PTX_U64, OP_cvt_b32_b64}, {PTX_U32, PTX_U16, OP_cvt_u32_u16},
        {PTX_S32, PTX_U16, OP_cvt_u32_u16}, {PTX_S32, PTX_S16, OP_cvt_s32_s16}, {PTX_U32, PTX_S16, OP_cvt_s32_s16},
        {PTX_U16, PTX_U32, OP_cvt_u16_u32}, {PTX_S16, PTX_S32, OP_cvt_u16_u32}, {PTX_U16, PTX_S32, OP_cvt_u16_u32},
        {PTX_S16, PTX_U32, OP_cvt_u16_u32}, {PTX_U32, PTX_U8, OP_cvt_u32_u8},   {PTX_S32, PTX_U8, OP_cvt_u32_u8},
        {PTX_S32, PTX_S8, OP_cvt_s32_s8},   {PTX_U32, PTX_S8, OP_cvt_s32_s8},   {PTX_F32, PTX_S32, OP_cvt_f32_s32},
        {PTX_F32, PTX_U32, OP_cvt_f32_u32}, {PTX_F64, PTX_S32, OP_cvt_f64_s32}, {PTX_F64, PTX_U32, OP_cvt_f64_u32},
        {PTX_F32, PTX_S64, OP_cvt_f32_s64}, {PTX_F32, PTX_U64, OP_cvt_f32_u64}, {PTX_F64, PTX_S64, OP_cvt_f64_s64},
        {PTX_F64, PTX_U64, OP_cvt_f64_u64}, {PTX_F64, PTX_F32, OP_cvt_f64_f32}, {PTX_F32, PTX_F64, OP_cvt_f32_f64},
        {PTX_F32, PTX_F16, OP_cvt_f32_h},   {PTX_F32, PTX_BF16, OP_cvt_f32_bf},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].d == d && rows[i].s == s)
            return rows[i].op;
    return OP_COUNT;
}

static bool decode_cvt_pack(struct builder *b, enum ptx_type dt)
{
    b->now.type = (uint8_t)dt;
    b->now.d[0] = decode_dest(b, decode_operand(b, 0), 4);
    b->now.s[0] = decode_source(b, decode_operand(b, 1), 4);
    b->now.s[1] = decode_source(b, decode_operand(b, 2), 4);
    decode_emit(b, OP_cvt_pack_half);
    return b->now.d[0] != CODE_NONE && !decode_has(b, "relu") && !decode_has(b, "satfinite");
}

static bool decode_cvt(struct builder *b)
{
    static const char *const integer[] = {"rni", "rzi", "rmi", "rpi", NULL};
    static const char *const ignored[] = {"ftz", "sat", "rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", NULL};
    enum ptx_type st = decode_last_type(b), dt;
    uint16_t op;
    uint32_t d_bytes, s_bytes;
    if (b->tokens_n < 3)
        return false;
    dt = ptx_type_find(b->token[b->tokens_n - 2]);
    if ((dt == PTX_F16X2 || dt == PTX_BF16X2) && st == PTX_F32)
        return decode_cvt_pack(b, dt);
    for (uint32_t k = 1; k + 2 < b->tokens_n; k++) {
        int mode = decode_index(b, k, integer);
        if (decode_index(b, k, ignored) < 0)
            return false;
        take_rounding(b, k);
        if (mode >= 0) {
            b->now.boolean = (uint8_t)mode;
            b->now.bytes = 1;
        }
    }
    if (dt == PTX_NOTYPE || st == PTX_NOTYPE || dt == PTX_PRED || ptx_type_bytes(dt) > 8 || ptx_type_bytes(st) > 8 ||
        st == PTX_F16X2 || st == PTX_BF16X2)
        return false;
    d_bytes = decode_reg_bytes(b, decode_operand(b, 0));
    s_bytes = decode_operand(b, 1)->kind == PTX_O_REG ? decode_reg_bytes(b, decode_operand(b, 1))
                                                      : (ptx_type_bytes(st) < 8 ? 4 : 8);
    b->now.d[0] = decode_dest(b, decode_operand(b, 0), d_bytes);
    b->now.s[0] = decode_source(b, decode_operand(b, 1), s_bytes == 4 ? 4 : 8);
    b->now.type = (uint8_t)dt;
    b->now.type2 = (uint8_t)st;
    b->now.d_wide = d_bytes == 8;
    b->now.s_wide = s_bytes == 8;
    op = fast_conversion(dt, st);
    if (decode_has(b, "sat") && (dt == PTX_F32 || dt == PTX_F64))
        b->now.flags |= CODE_SATURATE;
    else if (decode_has(b, "sat"))
        b->now.flags |= CODE_SATURATE_INT;
    if (decode_has(b, "ftz"))
        b->now.flags |= CODE_FTZ;
    if (op == OP_COUNT || (b->now.flags & (CODE_SATURATE_INT | CODE_FTZ)) ||
        d_bytes != (signatures[op].d < 8 ? 4u : 8u) || s_bytes != (signatures[op].s[0] < 8 ? 4u : 8u))
        op = OP_cvt_any;
    decode_emit(b, op);
    return b->now.d[0] != CODE_NONE;
}

/* --- integer specials --- */

static bool decode_carry(struct builder *b)
{
    static const char *const names[] = {"add", "addc", "sub", "subc", "mad", "madc", NULL};
    int which = decode_index(b, 0, names);
    bool is_mad = which >= 4;
    enum ptx_type t = decode_last_type(b);
    uint32_t bytes = ptx_type_bytes(t);
    if (which < 0 || (bytes != 4 && bytes != 8))
        return false;
    if (!decode_has(b, "cc") && which != 1 && which != 3 && which != 5)
        return decode_simple(b);
    b->now.boolean = (uint8_t)((which & 1 ? 1 : 0) | (decode_has(b, "cc") ? 2 : 0) |
                               (which == 2 || which == 3 ? 4 : 0) | (decode_has(b, "hi") ? 8 : 0));
    b->now.flags |= t == PTX_S32 || t == PTX_S64 ? CODE_SIGNED : 0;
    b->now.d[0] = decode_dest(b, decode_operand(b, 0), bytes);
    b->now.d_wide = bytes == 8;
    b->now.s_wide = bytes == 8 ? 7 : 0;
    for (uint32_t k = 0; k < (is_mad ? 3u : 2u); k++)
        b->now.s[k] = decode_source(b, decode_operand(b, k + 1), bytes);
    decode_emit(b, is_mad ? OP_mad_carry : OP_add_carry);
    return b->now.d[0] != CODE_NONE;
}

static bool decode_bfi(struct builder *b)
{
    uint32_t bytes = ptx_type_bytes(decode_last_type(b));
    b->now.d[0] = decode_dest(b, decode_operand(b, 0), bytes);
    b->now.s[0] = decode_source(b, decode_operand(b, 1), bytes);
    b->now.s[1] = decode_source(b, decode_operand(b, 2), bytes);
    b->now.s[2] = decode_source(b, decode_operand(b, 3), 4);
    b->now.s[3] = decode_source(b, decode_operand(b, 4), 4);
    decode_emit(b, bytes == 8 ? OP_bfi_b64 : OP_bfi_b32);
    return bytes == 4 || bytes == 8;
}

static bool decode_lop3(struct builder *b)
{
    if (b->in->count != 5 || decode_operand(b, 4)->kind != PTX_O_INT || decode_operand(b, 0)->pair != PTX_NO_REG)
        return false;
    b->now.d[0] = decode_dest(b, decode_operand(b, 0), 4);
    for (uint32_t k = 0; k < 3; k++)
        b->now.s[k] = decode_source(b, decode_operand(b, k + 1), 4);
    b->now.imm = decode_operand(b, 4)->value;
    decode_emit(b, OP_lop3_b32);
    return true;
}

/* --- warp-wide --- */

static bool decode_shfl(struct builder *b)
{
    static const char *const names[] = {"up", "down", "bfly", "idx", NULL};
    const struct ptx_operand *d = decode_operand(b, 0);
    int mode = decode_index(b, decode_token(b, 1, "sync") ? 2 : 1, names);
    b->now.type2 = (uint8_t)mode;
    b->now.d[0] = decode_dest(b, d, 4);
    if (d->pair != PTX_NO_REG) {
        struct ptx_operand p = {.kind = PTX_O_REG, .reg = d->pair};
        b->now.d[1] = decode_pred_dest(b, &p);
    }
    for (uint32_t k = 0; k < 3; k++)
        b->now.s[k] = decode_source(b, decode_operand(b, k + 1), 4);
    decode_emit(b, OP_shfl);
    return mode >= 0;
}

static bool decode_vote(struct builder *b)
{
    static const char *const names[] = {"ballot", "all", "any", "uni", NULL};
    bool is_sync = decode_token(b, 1, "sync");
    int mode = decode_index(b, is_sync ? 2 : 1, names);
    b->now.type2 = (uint8_t)mode;
    b->now.d[0] = mode == 0 ? decode_dest(b, decode_operand(b, 0), 4) : decode_pred_dest(b, decode_operand(b, 0));
    b->now.s[0] = decode_pred_source(b, decode_operand(b, 1), CODE_NEGATE_A);
    b->now.s[1] = is_sync ? decode_source(b, decode_operand(b, 2), 4) : decode_constant(b, UINT32_MAX, 4);
    decode_emit(b, OP_vote);
    return mode >= 0 && b->now.d[0] != CODE_NONE;
}

static bool decode_match(struct builder *b)
{
    const struct ptx_operand *d = decode_operand(b, 0);
    uint32_t bytes = ptx_type_bytes(decode_last_type(b));
    b->now.type2 = decode_token(b, 1, "all");
    b->now.d[0] = decode_dest(b, d, 4);
    if (d->pair != PTX_NO_REG) {
        struct ptx_operand p = {.kind = PTX_O_REG, .reg = d->pair};
        b->now.d[1] = decode_pred_dest(b, &p);
    }
    b->now.s[0] = decode_source(b, decode_operand(b, 1), bytes);
    b->now.s_wide = bytes == 8;
    b->now.s[1] = decode_source(b, decode_operand(b, 2), 4);
    decode_emit(b, OP_match);
    return (bytes == 4 || bytes == 8) && b->now.d[0] != CODE_NONE;
}

static bool decode_redux(struct builder *b)
{
    static const char *const names[] = {"add", "min", "max", "and", "or", "xor", NULL};
    int mode = decode_index(b, 2, names);
    b->now.type2 = (uint8_t)mode;
    b->now.flags |= decode_last_type(b) == PTX_S32 ? CODE_SIGNED : 0;
    b->now.d[0] = decode_dest(b, decode_operand(b, 0), 4);
    b->now.s[0] = decode_source(b, decode_operand(b, 1), 4);
    b->now.s[1] = decode_source(b, decode_operand(b, 2), 4);
    decode_emit(b, OP_redux);
    return mode >= 0 && b->now.d[0] != CODE_NONE && decode_last_type(b) != PTX_F32;
}

static bool decode_activemask(struct builder *b)
{
    b->now.d[0] = decode_dest(b, decode_operand(b, 0), 4);
    decode_emit(b, OP_activemask);
    return b->now.d[0] != CODE_NONE;
}

static bool decode_elect(struct builder *b)
{
    const struct ptx_operand *d = decode_operand(b, 0);
    struct ptx_operand p = {.kind = PTX_O_REG, .reg = d->pair};
    b->now.d[0] = decode_dest(b, d, 4);
    b->now.d[1] = d->pair == PTX_NO_REG ? CODE_NONE : decode_pred_dest(b, &p);
    decode_emit(b, OP_elect);
    return true;
}

/* --- memory --- */

struct memory_words {
    uint8_t space;
    enum ptx_type type;
    uint32_t vec;
};

/* Space, vector and type of ld, st, atom, red; caching and ordering hints change no count. */
static bool memory_words(struct builder *b, struct memory_words *m)
{
    static const char *const hints[] = {"volatile", "relaxed", "acquire", "release", "acq_rel", "weak", "gpu", "sys",
                                        "cta",      "cluster", "nc",      "ca",      "cg",      "cs",   "lu",  "cv",
                                        "wb",       "wt",      "mmio",    "unified", "noftz",   NULL};
    m->space = PTX_SPACE_GENERIC;
    m->type = decode_last_type(b);
    m->vec = 1;
    for (uint32_t k = 1; k + 1 < b->tokens_n; k++) {
        struct ptx_name t = b->token[k];
        if (ptx_name_is(t, "global"))
            m->space = PTX_SPACE_GLOBAL;
        else if (ptx_name_is(t, "shared") || ptx_name_is(t, "shared::cta") || ptx_name_is(t, "shared::cluster"))
            m->space = PTX_SPACE_SHARED;
        else if (ptx_name_is(t, "local"))
            m->space = PTX_SPACE_LOCAL;
        else if (ptx_name_is(t, "const"))
            m->space = PTX_SPACE_CONST;
        else if (ptx_name_is(t, "param") || ptx_name_is(t, "param::entry") || ptx_name_is(t, "param::func"))
            m->space = PTX_SPACE_PARAM;
        else if (ptx_name_is(t, "v2") || ptx_name_is(t, "v4"))
            m->vec = (uint32_t)(t.at[1] - '0');
        else if (decode_index(b, k, hints) < 0 &&
                 !(t.length > 4 && (memcmp(t.at, "L1::", 4) == 0 || memcmp(t.at, "L2::", 4) == 0)))
            return false;
    }
    return m->type != PTX_NOTYPE && m->type != PTX_PRED && ptx_type_bytes(m->type) <= 8 &&
           ptx_type_bytes(m->type) * m->vec <= 16;
}

static bool is_signed(enum ptx_type t)
{
    return t == PTX_S8 || t == PTX_S16 || t == PTX_S32 || t == PTX_S64;
}

static void set_memory(struct builder *b, const struct memory_words *m)
{
    b->now.space = m->space;
    b->now.type = (uint8_t)m->type;
    b->now.bytes = (uint8_t)ptx_type_bytes(m->type);
    b->now.vec = (uint8_t)m->vec;
    b->now.count_bytes = (uint8_t)(b->now.bytes * m->vec);
    b->now.flags |= is_signed(m->type) ? CODE_SIGNED : 0;
    b->now.stat = b->code->stats_n;
    b->code->stats_n += m->space == PTX_SPACE_GENERIC ? 3 : 1; /* global, shared, local */
}

/* The registers of a load or store: one operand or {…}. */
const struct ptx_operand *decode_elements(struct builder *b, const struct ptx_operand *o, uint32_t vec)
{
    if (vec == 1 && o->kind != PTX_O_VECTOR)
        return o;
    if (o->kind != PTX_O_VECTOR || o->count != vec) {
        decode_refuse(b, "vector of another length than the instruction");
        return NULL;
    }
    return &b->instance->func->elements[o->first];
}

/* A load that waits for another block as a rule: where those are resident, too, they get a turn. */
static void let_others_run(struct builder *b)
{
    decode_blank(&b->now);
    b->now.flags = CODE_UNCOUNTED;
    decode_emit(b, OP_yield);
}

static bool decode_ld(struct builder *b)
{
    struct memory_words m;
    const struct ptx_operand *e;
    bool is_row;
    if (!memory_words(b, &m))
        return false;
    set_memory(b, &m);
    e = decode_elements(b, decode_operand(b, 0), m.vec);
    for (uint32_t k = 0; e && k < m.vec; k++) {
        uint32_t bytes = decode_reg_bytes(b, &e[k]);
        if (e[k].kind != PTX_O_SINK && (bytes == 0 || bytes > 8 || bytes < b->now.bytes))
            decode_refuse(b, "register narrower than the value");
        b->now.d[k] = decode_dest(b, &e[k], bytes);
        b->now.d_wide |= (uint8_t)((bytes == 8) << k);
    }
    decode_address(b, decode_operand(b, 1));
    is_row = m.vec == 1 && b->now.bytes == 4 && b->now.d_wide == 0 && b->now.d[0] != CODE_NONE;
    if (b->now.space == PTX_SPACE_PARAM && b->now.a == CODE_NONE) {
        if (b->now.imm < 0 || (uint64_t)b->now.imm + (uint64_t)b->now.bytes * m.vec > b->code->param_bytes)
            decode_refuse(b, "parameter read past its end");
        decode_emit(b, OP_ld_param);
    } else if (is_row && (m.space == PTX_SPACE_GLOBAL || m.space == PTX_SPACE_CONST) &&
               !(b->now.flags & CODE_ADDRESS_32)) {
        decode_emit(b, OP_ld_global_b32);
    } else if (is_row && m.space == PTX_SPACE_SHARED) {
        decode_emit(b, OP_ld_shared_b32);
    } else {
        decode_emit(b, OP_ld_any);
    }
    if (m.space != PTX_SPACE_SHARED &&
        (decode_has(b, "acquire") || decode_has(b, "volatile") || decode_has(b, "relaxed")))
        let_others_run(b);
    return true;
}

static bool decode_st(struct builder *b)
{
    struct memory_words m;
    const struct ptx_operand *e;
    bool is_row;
    if (!memory_words(b, &m) || m.space == PTX_SPACE_CONST)
        return false;
    set_memory(b, &m);
    decode_address(b, decode_operand(b, 0));
    e = decode_elements(b, decode_operand(b, 1), m.vec);
    for (uint32_t k = 0; e && k < m.vec; k++) {
        uint32_t bytes = e[k].kind == PTX_O_REG ? decode_reg_bytes(b, &e[k]) : b->now.bytes;
        b->now.s[k] = decode_source(b, &e[k], bytes);
        b->now.s_wide |= (uint8_t)((bytes == 8) << k);
    }
    if (b->now.space == PTX_SPACE_PARAM)
        return false; /* a kernel cannot write its parameters */
    is_row = m.vec == 1 && b->now.bytes == 4 && b->now.s_wide == 0;
    if (is_row && m.space == PTX_SPACE_GLOBAL && !(b->now.flags & CODE_ADDRESS_32))
        decode_emit(b, OP_st_global_b32);
    else if (is_row && m.space == PTX_SPACE_SHARED)
        decode_emit(b, OP_st_shared_b32);
    else
        decode_emit(b, OP_st_any);
    return true;
}

/* Has the GPU no instruction for it in shared memory? (SASS of nvcc 13.0, sm_90) */
static bool retries(const struct memory_words *m, int how)
{
    bool is_word = m->type == PTX_U32 || m->type == PTX_S32 || m->type == PTX_B32;
    return !is_word && how != AT_CAS && how != AT_EXCH;
}

static bool decode_atom(struct builder *b)
{
    static const char *const names[] = {"add", "min", "max", "inc", "dec", "cas", "exch", "and", "or", "xor", NULL};
    bool is_red = decode_token(b, 0, "red");
    struct memory_words m;
    int how = -1;
    uint32_t k = 0, kept = 1, bytes;
    for (uint32_t t = 1; t < b->tokens_n; t++) {
        int found = decode_index(b, t, names);
        if (found >= 0 && how < 0)
            how = found;
        else
            b->token[kept++] = b->token[t];
    }
    b->tokens_n = kept;
    if (how < 0 || !memory_words(b, &m) || m.vec != 1 ||
        (m.space != PTX_SPACE_GLOBAL && m.space != PTX_SPACE_SHARED && m.space != PTX_SPACE_GENERIC))
        return false;
    set_memory(b, &m);
    bytes = b->now.bytes;
    if (m.space == PTX_SPACE_SHARED && retries(&m, how)) {
        b->now.flags |= CODE_RETRIES;
        b->code->stats_n += 2; /* swaps, loads, and the accesses themselves */
    }
    if ((bytes < 4 && m.type != PTX_F16 && m.type != PTX_BF16 && m.type != PTX_B16) ||
        ((m.type == PTX_F32 || m.type == PTX_F64 || m.type == PTX_F16X2) && how != 0))
        return false;
    b->now.type2 = (uint8_t)how;
    if (!is_red) {
        b->now.d[0] = decode_dest(b, decode_operand(b, k++), bytes);
        b->now.d_wide = bytes == 8;
        b->now.flags |= CODE_RETURNS;
    }
    decode_address(b, decode_operand(b, k++));
    b->now.s[0] = decode_source(b, decode_operand(b, k++), bytes);
    if (decode_token(b, 0, "atom") && how == 5)
        b->now.s[1] = decode_source(b, decode_operand(b, k++), bytes);
    b->now.s_wide = bytes == 8 ? 3 : 0;
    decode_emit(b, OP_atom);
    return k == b->in->count;
}

static bool decode_isspacep(struct builder *b)
{
    b->now.space =
        decode_token(b, 1, "shared") || decode_token(b, 1, "shared::cta") || decode_token(b, 1, "shared::cluster")
            ? PTX_SPACE_SHARED
        : decode_token(b, 1, "local") ? PTX_SPACE_LOCAL
                                      : PTX_SPACE_GLOBAL;
    b->now.d[0] = decode_pred_dest(b, decode_operand(b, 0));
    b->now.s[0] = decode_source(b, decode_operand(b, 1), 8);
    b->now.s_wide = 1;
    decode_emit(b, OP_isspace);
    return b->now.d[0] != CODE_NONE && (b->now.space != PTX_SPACE_GLOBAL || decode_token(b, 1, "global"));
}

/* cp.async.ca.shared.global [to], [from], 16{, bytes}; and the group operations, which find it done. */
static bool decode_cp(struct builder *b)
{
    const struct ptx_operand *from, *n;
    if (!decode_token(b, 1, "async") || decode_token(b, 2, "reduce"))
        return false;
    if (decode_token(b, 2, "bulk"))
        return decode_bulk(b);
    if (decode_token(b, 2, "mbarrier"))
        return decode_copy_arrive(b);
    if (decode_token(b, 2, "commit_group") || decode_token(b, 2, "wait_group") || decode_token(b, 2, "wait_all")) {
        decode_emit(b, OP_nop);
        return true;
    }
    from = decode_operand(b, 1);
    n = decode_operand(b, 2);
    if (from->kind != PTX_O_ADDRESS || from->reg == PTX_NO_REG || n->kind != PTX_O_INT ||
        (n->value != 4 && n->value != 8 && n->value != 16))
        return false;
    b->now.space = PTX_SPACE_GLOBAL;
    b->now.type = PTX_B32;
    b->now.bytes = (uint8_t)n->value;
    b->now.vec = 1;
    b->now.count_bytes = b->now.bytes;
    b->now.stat = b->code->stats_n++;
    decode_address(b, decode_operand(b, 0));
    {
        struct ptx_operand reg = {.kind = PTX_O_REG, .reg = from->reg};
        b->now.s[0] = decode_source(b, &reg, 8);
    }
    if (from->value != 0) { /* the handler has one offset: fold this one into a temporary */
        struct code_ins keep = b->now;
        uint32_t sum = decode_temp(b, 8, false);
        decode_blank(&b->now);
        b->now.flags = CODE_UNCOUNTED;
        b->now.s[0] = keep.s[0];
        b->now.s[1] = decode_constant(b, (uint64_t)from->value, 8);
        b->now.d[0] = sum;
        decode_emit(b, OP_add_u64);
        b->now = keep;
        b->now.s[0] = sum;
    }
    if (b->in->count == 4 && decode_operand(b, 3)->kind == PTX_O_REG)
        b->now.s[1] = decode_source(b, decode_operand(b, 3), 4);
    decode_emit(b, OP_cp_async);
    return true;
}

/* --- control --- */

static bool decode_bra(struct builder *b)
{
    const struct ptx_label *label;
    uint32_t target = decode_label(b, decode_operand(b, 0)->name, &label);
    if (target == CODE_NONE)
        return true;
    decode_branch(b, OP_nop, target);
    return true;
}

/* brx.idx i, list: a chain of comparisons; only the first part counts as the instruction. */
static bool decode_brx(struct builder *b)
{
    const struct ptx_label *list, *label;
    const struct ptx_func *f = b->instance->func;
    uint32_t index = decode_source(b, decode_operand(b, 0), 4);
    if (b->in->guard != PTX_NO_REG || decode_label(b, decode_operand(b, 1)->name, &list) == CODE_NONE)
        return false;
    for (uint32_t k = 0; k < list->targets_n; k++) {
        struct code_ins blank = b->now;
        uint32_t hidden = decode_temp(b, 4, true);
        uint32_t target = decode_label(b, f->elements[list->targets_first + k].name, &label);
        if (target == CODE_NONE)
            return true;
        if (k + 1 < list->targets_n) {
            b->now.d[0] = hidden;
            b->now.s[0] = index;
            b->now.s[1] = decode_constant(b, k, 4);
            b->now.flags = k ? CODE_UNCOUNTED : 0;
            decode_emit(b, OP_eq_u32);
            b->now = blank;
            b->now.guard = hidden;
        }
        b->now.flags = CODE_UNCOUNTED;
        decode_branch(b, OP_nop, target);
        b->now = blank;
    }
    return list->targets_n > 0;
}

static bool decode_ret(struct builder *b)
{
    if (decode_token(b, 0, "ret") && b->instance->caller)
        decode_branch(b, OP_nop, b->instance->func->ins_n);
    else if (decode_token(b, 0, "ret") && b->is_in_function)
        decode_emit_flow(b, OP_nop, END_RETURN, CODE_NONE);
    else
        decode_emit_flow(b, OP_nop, END_EXIT, CODE_NONE);
    return true;
}

static bool decode_call_family(struct builder *b)
{
    decode_call(b);
    return true;
}

/* bar{rier}{.cta}.sync/arrive/red; bar.warp.sync orders nothing in lock-step; the checks want to know. */
static bool decode_bar(struct builder *b)
{
    static const char *const kinds[] = {"sync", "arrive", "red", NULL};
    static const char *const reductions[] = {"popc", "and", "or", NULL};
    uint32_t at = decode_token(b, 1, "cta") ? 2 : 1;
    int kind = decode_index(b, at, kinds);
    uint32_t k = 0;
    if (decode_token(b, 1, "warp")) {
        decode_emit(b, OP_warp_sync);
        return true;
    }
    if (decode_token(b, 1, "cluster"))
        return decode_cluster_barrier(b);
    if (kind < 0)
        return false;
    b->now.type2 = (uint8_t)kind;
    if (kind == 2) {
        int how = decode_index(b, at + 1, reductions);
        if (how < 0)
            how = decode_index(b, at + 2, reductions);
        b->now.boolean = (uint8_t)(how < 0 ? 0 : how);
        b->now.d[0] =
            how == 0 ? decode_dest(b, decode_operand(b, k++), 4) : decode_pred_dest(b, decode_operand(b, k++));
        if (how < 0 || b->now.d[0] == CODE_NONE)
            return false;
    }
    b->now.s[0] = decode_source(b, decode_operand(b, k++), 4); /* which barrier */
    if (kind == 2)
        b->now.s[2] = decode_pred_source(b, decode_operand(b, b->in->count - 1), CODE_NEGATE_C);
    if (k + (kind == 2) < b->in->count)
        b->now.s[1] = decode_source(b, decode_operand(b, k), 4); /* threads */
    decode_emit_flow(b, OP_nop, END_BARRIER, CODE_NONE);
    return true;
}

static bool decode_nothing(struct builder *b)
{
    decode_emit(b, OP_nop);
    return true;
}

/* Who sleeps waits for somebody. */
static bool decode_sleep(struct builder *b)
{
    b->now.imm = 1;
    decode_emit(b, OP_yield);
    return true;
}

static bool decode_trap(struct builder *b)
{
    decode_emit(b, OP_trap);
    return true;
}

static const struct {
    const char *name;
    bool (*decode)(struct builder *b);
} families[] = {
    {"setp", decode_setp},
    {"set", decode_setp},
    {"selp", decode_selp},
    {"slct", decode_slct},
    {"testp", decode_testp},
    {"and", decode_logic},
    {"or", decode_logic},
    {"xor", decode_logic},
    {"not", decode_logic},
    {"mov", decode_mov},
    {"cvta", decode_cvta},
    {"cvt", decode_cvt},
    {"addc", decode_carry},
    {"subc", decode_carry},
    {"madc", decode_carry},
    {"bfi", decode_bfi},
    {"lop3", decode_lop3},
    {"shfl", decode_shfl},
    {"vote", decode_vote},
    {"match", decode_match},
    {"redux", decode_redux},
    {"activemask", decode_activemask},
    {"elect", decode_elect},
    {"ld", decode_ld},
    {"ldu", decode_ld},
    {"st", decode_st},
    {"atom", decode_atom},
    {"red", decode_atom},
    {"isspacep", decode_isspacep},
    {"cp", decode_cp},
    {"ldmatrix", decode_ldmatrix},
    {"stmatrix", decode_ldmatrix},
    {"movmatrix", decode_movmatrix},
    {"mma", decode_mma},
    {"wmma", decode_wmma},
    {"mbarrier", decode_mbarrier},
    {"tex", decode_tex},
    {"tld4", decode_tex},
    {"suld", decode_surface},
    {"sust", decode_surface},
    {"mapa", decode_mapa},
    {"getctarank", decode_getctarank},
    {"bra", decode_bra},
    {"brx", decode_brx},
    {"ret", decode_ret},
    {"exit", decode_ret},
    {"call", decode_call_family},
    {"bar", decode_bar},
    {"barrier", decode_bar},
    {"trap", decode_trap},
    {"brkpt", decode_nothing},
    {"membar", decode_nothing},
    {"fence", decode_nothing},
    {"nanosleep", decode_sleep},
    {"prefetch", decode_nothing},
    {"prefetchu", decode_nothing},
    {"discard", decode_nothing},
    {"applypriority", decode_nothing},
    {"griddepcontrol", decode_nothing},
    {"setmaxnreg", decode_nothing},
    {"pmevent", decode_nothing},
};

void decode_instruction(struct builder *b)
{
    bool is_known = false;
    if (b->tokens_n == 0) {
        decode_refuse(b, "empty opcode");
        return;
    }
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (decode_token(b, 0, families[i].name)) {
            if (!families[i].decode(b))
                decode_refuse(b, "the model does not know this form");
            return;
        }
    if (decode_has(b, "cc"))
        is_known = decode_carry(b);
    else
        is_known = decode_simple(b);
    if (!is_known)
        decode_refuse(b, "the model does not know this opcode");
}
