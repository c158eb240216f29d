/* SPDX-License-Identifier: MIT
 * decode_matrix.c: mma, wmma, ldmatrix, stmatrix, movmatrix: which registers hold which part of a matrix is
 * exec_matrix.h. Refused: sparse and block-scaled products, and Volta's m8n8k4 of halves. */
#include "decode.h"

#include <string.h>

static const struct {
    const char *name;
    uint8_t type;
} names[] = {
    {"f16", MATRIX_F16},   {"bf16", MATRIX_BF16}, {"tf32", MATRIX_TF32}, {"f64", MATRIX_F64}, {"e4m3", MATRIX_E4M3},
    {"e5m2", MATRIX_E5M2}, {"s8", MATRIX_S8},     {"u8", MATRIX_U8},     {"s4", MATRIX_S4},   {"u4", MATRIX_U4},
    {"b1", MATRIX_B1},     {"f32", MATRIX_F32},   {"s32", MATRIX_S32},
};

/* Bits of one element in a fragment's registers. */
static uint32_t bits_of(uint8_t type)
{
    switch (type) {
    case MATRIX_F64:
        return 64;
    case MATRIX_F16:
    case MATRIX_BF16:
        return 16;
    case MATRIX_E4M3:
    case MATRIX_E5M2:
    case MATRIX_S8:
    case MATRIX_U8:
        return 8;
    case MATRIX_S4:
    case MATRIX_U4:
        return 4;
    case MATRIX_B1:
        return 1;
    default:
        return 32;
    }
}

/* "m16n8k16" */
static bool shape_of(struct ptx_name t, uint32_t out[3])
{
    static const char letters[] = "mnk";
    uint32_t at = 0, n[3] = {0, 0, 0};
    for (int d = 0; d < 3; d++) {
        if (at >= t.length || t.at[at++] != letters[d])
            return false;
        while (at < t.length && t.at[at] >= '0' && t.at[at] <= '9' && n[d] < 1000)
            n[d] = n[d] * 10 + (uint32_t)(t.at[at++] - '0');
        if (n[d] == 0 || n[d] > 256)
            return false;
    }
    if (at != t.length)
        return false;
    memcpy(out, n, sizeof n);
    return true;
}

struct words {
    uint32_t shape[3];
    uint8_t types[4];
    uint32_t types_n;
    bool is_column[2];
    uint32_t layouts_n;
};

/* The words of mma and wmma in the order in which they come. False: one that the model does not know. */
static bool read_words(struct builder *b, uint32_t from, struct words *out, struct code_matrix *m)
{
    static const char *const ignored[] = {"sync", "aligned", "rn", "popc", "global", "shared", "shared::cta", NULL};
    for (uint32_t k = from; k < b->tokens_n; k++) {
        bool is_type = false;
        for (size_t n = 0; n < sizeof names / sizeof *names && !is_type; n++) {
            is_type = decode_token(b, k, names[n].name);
            if (is_type && out->types_n < 4)
                out->types[out->types_n++] = names[n].type;
        }
        if (is_type || decode_index(b, k, ignored) >= 0 || shape_of(b->token[k], out->shape))
            continue;
        if (decode_token(b, k, "row") || decode_token(b, k, "col")) {
            if (out->layouts_n < 2)
                out->is_column[out->layouts_n++] = decode_token(b, k, "col");
        } else if (decode_token(b, k, "satfinite")) {
            m->saturates = true;
        } else if (decode_token(b, k, "and") || decode_token(b, k, "xor")) {
            m->is_and = decode_token(b, k, "and");
        } else {
            return false;
        }
    }
    m->m = (uint16_t)out->shape[0];
    m->n = (uint16_t)out->shape[1];
    m->k = (uint16_t)out->shape[2];
    return m->m != 0 && m->m <= 32 && m->n <= 32;
}

static bool is_integer(uint8_t t)
{
    return t >= MATRIX_S8 && t <= MATRIX_B1;
}

/* Types that go together, and the metric that counts them. */
static bool choose_types(struct code_matrix *m, uint32_t target)
{
    bool is_half = m->c == MATRIX_F16;
    if (is_integer(m->a) != (m->c == MATRIX_S32) || (m->a == MATRIX_F64) != (m->c == MATRIX_F64))
        return false;
    if (bits_of(m->a) != bits_of(m->b) || m->c != m->d)
        return false;
    switch (m->a) {
    case MATRIX_F16:
        m->count = is_half ? TENSOR_FP16_ACC16 : TENSOR_FP16_ACC32;
        break;
    case MATRIX_BF16:
        m->count = TENSOR_BF16;
        break;
    case MATRIX_TF32:
        m->count = TENSOR_TF32;
        break;
    case MATRIX_F64:
        m->count = TENSOR_FP64;
        break;
    case MATRIX_E4M3:
    case MATRIX_E5M2:
        m->count = is_half ? TENSOR_FP8_ACC16 : TENSOR_FP8_ACC32;
        if (target == 90) /* no such product there: ptxas makes halves of the factors and products of those */
            m->count = is_half ? TENSOR_FP16_ACC16 : TENSOR_FP16_ACC32;
        break;
    case MATRIX_S8:
    case MATRIX_U8:
        m->count = TENSOR_INT8;
        break;
    case MATRIX_S4:
    case MATRIX_U4:
        m->count = TENSOR_INT4;
        break;
    default:
        m->count = TENSOR_INT1;
    }
    if (m->a == MATRIX_B1 ? m->m > 16 || m->n > 8 || m->k % 32 != 0 : m->k > 64)
        return false;
    return !is_half || m->a == MATRIX_F16 || m->a == MATRIX_E4M3 || m->a == MATRIX_E5M2;
}

/* {…} of registers into a part of the wide list; how many, 0: refused. */
static uint32_t registers(struct builder *b, const struct ptx_operand *o, uint32_t *out, uint32_t room, uint32_t bytes,
                          bool writes)
{
    const struct ptx_operand *e = o;
    uint32_t n = 1;
    if (o->kind == PTX_O_VECTOR) {
        e = &b->instance->func->elements[o->first];
        n = o->count;
    }
    if (n == 0 || n > room)
        return 0;
    for (uint32_t k = 0; k < n; k++)
        out[k] = writes ? decode_dest(b, &e[k], bytes) : decode_source(b, &e[k], bytes);
    return n;
}

static uint32_t width(uint8_t type)
{
    return type == MATRIX_F64 ? 8 : 4;
}

/* d, a, b, c of a product. */
static bool take_operands(struct builder *b, struct code_wide *w)
{
    struct code_matrix *m = &w->matrix;
    uint32_t d = registers(b, decode_operand(b, 0), w->d, WIDE_D, width(m->d), true);
    m->a_n = (uint8_t)registers(b, decode_operand(b, 1), w->s, 8, width(m->a), false);
    m->b_n = (uint8_t)registers(b, decode_operand(b, 2), w->s + m->a_n, 8, width(m->b), false);
    m->c_n = (uint8_t)registers(b, decode_operand(b, 3), w->s + m->a_n + m->b_n, 8, width(m->c), false);
    w->d_n = (uint8_t)d;
    w->s_n = (uint8_t)(m->a_n + m->b_n + m->c_n);
    return d == m->c_n && m->a_n && m->b_n && m->c_n;
}

/* Registers of a fragment of mma, as the layouts of exec_matrix.h have them. */
static bool fits_layout(const struct code_matrix *m)
{
    uint32_t c_bits = m->c == MATRIX_F16 ? 16 : m->c == MATRIX_F64 ? 64 : 32;
    uint32_t wide_a = m->a == MATRIX_F64 ? 64 : 32, wide_c = m->c == MATRIX_F64 ? 64 : 32;
    return (m->m == 8 || m->m == 16) && m->n == 8 && m->a_n * 32u * wide_a == (uint32_t)m->m * m->k * bits_of(m->a) &&
           m->b_n * 32u * wide_a == (uint32_t)m->n * m->k * bits_of(m->b) &&
           m->c_n * 32u * wide_c == (uint32_t)m->m * m->n * c_bits && (m->m == 16 || m->a_n == 1);
}

bool decode_mma(struct builder *b)
{
    struct words words = {0};
    struct code_wide *w = decode_wide(b);
    struct code_matrix *m;
    if (!w)
        return true;
    m = &w->matrix;
    if (!read_words(b, 1, &words, m) || words.types_n != 4 || words.layouts_n != 2 || words.is_column[0] ||
        !words.is_column[1] || b->in->guard != PTX_NO_REG)
        return false;
    m->d = words.types[0];
    m->a = words.types[1];
    m->b = words.types[2];
    m->c = words.types[3];
    if (!choose_types(m, b->code->module->target) || !take_operands(b, w) || !fits_layout(m))
        return false;
    decode_emit(b, OP_mma);
    return true;
}

/* --- wmma --- */

static uint32_t part_elements(const struct code_matrix *m, char part)
{
    return part == 'a' ? (uint32_t)m->m * m->k : part == 'b' ? (uint32_t)m->n * m->k : (uint32_t)m->m * m->n;
}

/* A fragment has so many registers that every lane has a whole share, once or several times. */
static bool fits_share(const struct code_matrix *m, char part, uint8_t type, uint32_t n)
{
    uint32_t elements = part_elements(m, part), units = type == MATRIX_B1 ? elements / 32 : elements;
    uint32_t share = elements * bits_of(type) / 32, have = n * (type == MATRIX_F64 ? 64 : 32);
    if (m->m % 8 != 0 || m->n % 8 != 0 || units == 0 || units % 32 != 0)
        return false;
    return part == 'c' ? have == share : have >= share && have % share == 0;
}

static bool decode_wmma_mma(struct builder *b)
{
    struct words words = {0};
    struct code_wide *w = decode_wide(b);
    struct code_matrix *m;
    if (!w)
        return true;
    m = &w->matrix;
    m->is_wmma = true;
    if (!read_words(b, 2, &words, m) || words.layouts_n != 2 || b->in->guard != PTX_NO_REG)
        return false;
    m->d = words.types[0];
    m->c = words.types[words.types_n - 1];
    if (words.types_n == 2) { /* .f32.f16: types of d and c; the others are halves */
        m->a = m->b = MATRIX_F16;
    } else if (words.types_n == 4) {
        m->a = words.types[1];
        m->b = words.types[2];
    } else {
        return false;
    }
    if (m->c != m->d && m->a == MATRIX_F16) /* f16 and f32 mixed */
        return false;
    if (!choose_types(m, b->code->module->target) || !take_operands(b, w) || !fits_share(m, 'a', m->a, m->a_n) ||
        !fits_share(m, 'b', m->b, m->b_n) || !fits_share(m, 'c', m->c, m->c_n))
        return false;
    decode_emit(b, OP_mma);
    return true;
}

static uint8_t space_of_words(const struct builder *b)
{
    return decode_has(b, "global")                                   ? PTX_SPACE_GLOBAL
           : decode_has(b, "shared") || decode_has(b, "shared::cta") ? PTX_SPACE_SHARED
                                                                     : PTX_SPACE_GENERIC;
}

/* wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {…}, [p], stride; wmma.store.d… [p], {…}, stride; */
static bool decode_wmma_memory(struct builder *b, bool is_load)
{
    struct words words = {0};
    struct code_wide *w = decode_wide(b);
    struct code_matrix *m;
    uint32_t n, rows, columns;
    char part = b->tokens_n > 2 && b->token[2].length == 1 ? b->token[2].at[0] : 0;
    if (!w)
        return true;
    m = &w->matrix;
    m->is_wmma = true;
    m->part = part == 'd' ? 'c' : part;
    if ((is_load ? part != 'a' && part != 'b' && part != 'c' : part != 'd') || !read_words(b, 3, &words, m) ||
        words.layouts_n != 1 || words.types_n != 1 || b->in->guard != PTX_NO_REG)
        return false;
    m->is_column = words.is_column[0];
    m->a = words.types[0];
    m->bits = (uint8_t)bits_of(m->a);
    n = registers(b, decode_operand(b, is_load ? 0 : 1), is_load ? w->d : w->s, 8, width(m->a), is_load);
    w->d_n = (uint8_t)(is_load ? n : 0);
    w->s_n = (uint8_t)(is_load ? 0 : n);
    if (n == 0 || !fits_share(m, m->part, m->a, n) || (m->bits < 8 && (part == 'a' ? m->is_column : !m->is_column)))
        return false;
    b->now.space = space_of_words(b);
    b->now.bytes = b->now.count_bytes = (uint8_t)(m->a == MATRIX_F64 ? 8 : m->bits < 8 ? 4 : m->bits / 8);
    b->now.vec = 1;
    if (is_load && part != 'c' && m->bits == 16)
        b->now.type2 = b->now.space == PTX_SPACE_SHARED ? WMMA_LDSM : WMMA_WORDS;
    b->now.stat = b->code->stats_n; /* what is counted, and apart from it what is accessed */
    b->code->stats_n += 2 * (b->now.space == PTX_SPACE_GENERIC ? 3 : 1);
    decode_address(b, decode_operand(b, is_load ? 1 : 0));
    rows = m->part == 'b' ? m->k : m->m;
    columns = m->part == 'a' ? m->k : m->n;
    b->now.s[0] = b->in->count > 2 ? decode_source(b, decode_operand(b, 2), 4)
                                   : decode_constant(b, m->is_column ? rows : columns, 4);
    decode_emit(b, is_load ? OP_wmma_load : OP_wmma_store);
    return true;
}

bool decode_wmma(struct builder *b)
{
    if (decode_token(b, 1, "mma"))
        return decode_wmma_mma(b);
    if (decode_token(b, 1, "load") || decode_token(b, 1, "store"))
        return decode_wmma_memory(b, decode_token(b, 1, "load"));
    return false;
}

/* --- ldmatrix and its kin --- */

/* {ld,st}matrix.sync.aligned.m8n8.x1|x2|x4{.trans}{.shared}.b16: type2 = matrices, boolean = transposed. */
bool decode_ldmatrix(struct builder *b)
{
    static const char *const counts[] = {"x1", "x2", "x4", NULL};
    bool is_load = decode_token(b, 0, "ldmatrix");
    const struct ptx_operand *o = decode_operand(b, is_load ? 0 : 1), *e;
    int n = decode_index(b, 4, counts);
    if (n < 0 || !decode_has(b, "m8n8") || !decode_has(b, "b16") || b->in->guard != PTX_NO_REG ||
        decode_has(b, "shared::cluster"))
        return false;
    b->now.space = PTX_SPACE_SHARED;
    b->now.type2 = (uint8_t)(1 << n);
    b->now.boolean = decode_has(b, "trans");
    b->now.bytes = b->now.count_bytes = 16;
    b->now.vec = 1;
    b->now.stat = b->code->stats_n++;
    e = decode_elements(b, o, b->now.type2);
    for (uint32_t k = 0; e && k < b->now.type2; k++)
        if (is_load)
            b->now.d[k] = decode_dest(b, &e[k], 4);
        else
            b->now.s[k] = decode_source(b, &e[k], 4);
    decode_address(b, decode_operand(b, is_load ? 1 : 0));
    decode_emit(b, is_load ? OP_ldmatrix : OP_stmatrix);
    return true;
}

/* movmatrix.sync.aligned.m8n8.trans.b16 d, a */
bool decode_movmatrix(struct builder *b)
{
    b->now.d[0] = decode_dest(b, decode_operand(b, 0), 4);
    b->now.s[0] = decode_source(b, decode_operand(b, 1), 4);
    decode_emit(b, OP_movmatrix);
    return decode_has(b, "m8n8") && decode_has(b, "trans") && decode_has(b, "b16") && b->now.d[0] != CODE_NONE;
}
