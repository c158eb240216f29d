/* SPDX-License-Identifier: MIT
 * exec_body.h: every handler of ops.def: arithmetic, conversion, predicates, warp-wide operations.
 * Included by exec_base.c, exec_v3.c and exec_v4.c, each compiled for another instruction set. The lane loops
 * are written for the vectorizer: sources and results are local pointers, the result goes to a temporary when
 * lanes are masked off. Memory is in exec_memory.h. Compile with -ffp-contract=off -fno-strict-aliasing. No guard:
 * text, not declarations. */
#include "check.h"
#include "exec.h"
#include "half.h"

#include "../../analyzer/access.h"

#include <fenv.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif
#include <math.h>
#include <string.h>

#if defined(__clang__)
#define LANES _Pragma("clang loop vectorize(assume_safety)") for (int l = 0; l < 32; l++)
#else
#define LANES _Pragma("GCC ivdep") for (int l = 0; l < 32; l++)
#endif

static inline void *reg_at(const struct warp *w, uint32_t offset)
{
    return w->regs + offset;
}

static inline void blend_32(uint32_t *d, const uint32_t *t, uint32_t mask)
{
    LANES
    {
        uint32_t m = 0u - ((mask >> l) & 1u);
        d[l] = (d[l] & ~m) | (t[l] & m);
    }
}

static inline void blend_64(uint64_t *d, const uint64_t *t, uint32_t mask)
{
    LANES
    {
        uint64_t m = 0ull - (uint64_t)((mask >> l) & 1u);
        d[l] = (d[l] & ~m) | (t[l] & m);
    }
}

static inline uint32_t pred_get(const struct warp *w, uint32_t offset)
{
    return *(const uint32_t *)reg_at(w, offset);
}

static inline void pred_set(struct warp *w, uint32_t offset, uint32_t bits)
{
    uint32_t *p = reg_at(w, offset);
    *p = (*p & ~w->mask) | (bits & w->mask);
}

/* --- lane types: T_ value in an expression, L_ lane in the register file --- */
#define T_u16 uint16_t
#define T_s16 int16_t
#define T_u32 uint32_t
#define T_s32 int32_t
#define T_u64 uint64_t
#define T_s64 int64_t
#define T_f32 float
#define T_f64 double
#define T_h double
#define T_bf float
#define L_u16 uint32_t
#define L_s16 uint32_t
#define L_u32 uint32_t
#define L_s32 int32_t
#define L_u64 uint64_t
#define L_s64 int64_t
#define L_f32 float
#define L_f64 double
#define L_h uint32_t
#define L_bf uint32_t
#define GET_u16(v) ((uint16_t)(v))
#define GET_s16(v) ((int16_t)(v))
#define GET_u32(v) (v)
#define GET_s32(v) (v)
#define GET_u64(v) (v)
#define GET_s64(v) (v)
#define GET_f32(v) (v)
#define GET_f64(v) (v)
#define GET_h(v) half_to_double((uint16_t)(v))
#define GET_bf(v) bf16_to_float((uint16_t)(v))
#define PUT_u16(v) ((uint16_t)(v))
#define PUT_s16(v) ((uint16_t)(v))
#define PUT_u32(v) (v)
#define PUT_s32(v) (v)
#define PUT_u64(v) (v)
#define PUT_s64(v) (v)
#define PUT_f32(v) (v)
#define PUT_f64(v) (v)
#define PUT_h(v) double_to_half(v)
#define PUT_bf(v) float_to_bf16(v)
#define BLEND_u16 blend_32
#define BLEND_s16 blend_32
#define BLEND_u32 blend_32
#define BLEND_s32 blend_32
#define BLEND_f32 blend_32
#define BLEND_h blend_32
#define BLEND_bf blend_32
#define BLEND_u64 blend_64
#define BLEND_s64 blend_64
#define BLEND_f64 blend_64

/* --- helpers of the expressions in ops.def --- */

static inline int32_t clamp_s32(int64_t v)
{
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}

static inline int32_t sext24(int32_t v)
{
    return (int32_t)((uint32_t)v << 8) >> 8;
}

static inline int32_t div_s32_of(int32_t a, int32_t b)
{
    if (b == 0)
        return -1;
    return b == -1 ? (int32_t)(0u - (uint32_t)a) : a / b;
}

static inline uint32_t reverse32(uint32_t v)
{
    v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
    v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
    v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(v);
}

static inline uint32_t find_signed(uint32_t a, bool as_shift)
{
    uint32_t v = (int32_t)a < 0 ? ~a : a;
    uint32_t at;
    if (v == 0)
        return UINT32_MAX;
    at = 31u - (uint32_t)__builtin_clz(v);
    return as_shift ? 31u - at : at;
}

static inline uint64_t extract_u64(uint64_t a, uint32_t pos, uint32_t len, uint32_t bits)
{
    pos &= 255;
    len &= 255;
    if (pos >= bits || len == 0)
        return 0;
    a >>= pos;
    return len >= 64 ? a : a & ((1ull << len) - 1);
}

static inline int64_t extract_s64(int64_t a, uint32_t pos, uint32_t len, uint32_t bits)
{
    pos &= 255;
    len &= 255;
    if (len == 0)
        return 0;
    if (pos >= bits)
        return a < 0 ? -1 : 0;
    if (len > bits - pos)
        len = bits - pos;
    a >>= pos;
    return len >= 64 ? a : (int64_t)((uint64_t)a << (64 - len)) >> (64 - len);
}

/* The place of the n-th set bit at or above `from` (n > 0), at or below it (n < 0); n = 0: `from` itself if it is set.
 */
static inline uint32_t nth_set_bit(uint32_t mask, uint32_t from, uint32_t n)
{
    int32_t left = (int32_t)n, step = left < 0 ? -1 : 1;
    if (from > 31 || left == 0)
        return from <= 31 && (mask >> from & 1) ? from : UINT32_MAX;
    for (int32_t at = (int32_t)from; at >= 0 && at < 32; at += step)
        if ((mask >> at & 1) && (left -= step) == 0)
            return (uint32_t)at;
    return UINT32_MAX;
}

static inline uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t selector)
{
    uint64_t both = (uint64_t)b << 32 | a;
    uint32_t r = 0;
    for (int k = 0; k < 4; k++) {
        uint32_t s = selector >> (4 * k);
        uint32_t byte = (uint32_t)(both >> (8 * (s & 7))) & 255u;
        if (s & 8)
            byte = byte & 128u ? 255u : 0u;
        r |= byte << (8 * k);
    }
    return r;
}

static inline uint32_t dot4(uint32_t a, uint32_t b, uint32_t c, bool a_signed, bool b_signed)
{
    for (int k = 0; k < 4; k++) {
        int32_t x = a_signed ? (int8_t)(a >> (8 * k)) : (int32_t)(uint8_t)(a >> (8 * k));
        int32_t y = b_signed ? (int8_t)(b >> (8 * k)) : (int32_t)(uint8_t)(b >> (8 * k));
        c += (uint32_t)(x * y);
    }
    return c;
}

/* dp2a: the two halves of a against the low or the high two bytes of b */
static inline uint32_t dot2(uint32_t a, uint32_t b, uint32_t c, bool a_signed, bool b_signed)
{
    for (int k = 0; k < 2; k++) {
        int32_t x = a_signed ? (int16_t)(a >> (16 * k)) : (int32_t)(uint16_t)(a >> (16 * k));
        int32_t y = b_signed ? (int8_t)(b >> (8 * k)) : (int32_t)(uint8_t)(b >> (8 * k));
        c += (uint32_t)(x * y);
    }
    return c;
}

static inline uint32_t byte_differences(uint32_t a, uint32_t b)
{
    uint32_t r = 0;
    for (int k = 0; k < 32; k += 8) {
        uint32_t x = a >> k & 255u, y = b >> k & 255u;
        r |= (x > y ? x - y : y - x) << k;
    }
    return r;
}

enum pair_op { PAIR_ADD, PAIR_MIN_U, PAIR_MAX_U, PAIR_MIN_S, PAIR_MAX_S };

static inline uint32_t pair_half(uint32_t a, uint32_t b, enum pair_op op)
{
    bool is_less = op == PAIR_MIN_S || op == PAIR_MAX_S ? (int16_t)a < (int16_t)b : (uint16_t)a < (uint16_t)b;
    if (op == PAIR_ADD)
        return (a + b) & 0xffffu;
    return ((op == PAIR_MIN_U || op == PAIR_MIN_S) == is_less ? a : b) & 0xffffu;
}

static inline uint32_t both_halves(uint32_t a, uint32_t b, enum pair_op op)
{
    return pair_half(a, b, op) | pair_half(a >> 16, b >> 16, op) << 16;
}

static inline uint32_t mask_bits(uint32_t from, uint32_t n)
{
    uint64_t ones = n > 31 ? UINT32_MAX : (1ull << n) - 1;
    return from > 31 ? 0 : (uint32_t)(ones << from);
}

__extension__ typedef unsigned __int128 wide_u;
__extension__ typedef __int128 wide_s;

static inline uint64_t high_u64(uint64_t a, uint64_t b)
{
    return (uint64_t)(((wide_u)a * b) >> 64);
}

static inline int64_t high_s64(int64_t a, int64_t b)
{
    return (int64_t)(((wide_s)a * b) >> 64);
}

static inline float flush(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    bits = (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* PTX: a NaN loses against a number, -0 is below +0. */
static inline float min_float(float a, float b)
{
    if (a != a)
        return b;
    if (b != b)
        return a;
    return a < b || (a == b && __builtin_signbitf(a)) ? a : b;
}

static inline float max_float(float a, float b)
{
    if (a != a)
        return b;
    if (b != b)
        return a;
    return a > b || (a == b && __builtin_signbitf(b)) ? a : b;
}

static inline double min_double(double a, double b)
{
    if (a != a)
        return b;
    if (b != b)
        return a;
    return a < b || (a == b && __builtin_signbit(a)) ? a : b;
}

static inline double max_double(double a, double b)
{
    if (a != a)
        return b;
    if (b != b)
        return a;
    return a > b || (a == b && __builtin_signbit(b)) ? a : b;
}

/* rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 give the upper 32 bits of a double. */
static inline double keep_high_word(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    bits &= 0xffffffff00000000ull;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* --- sine, cosine, 2^x: of a whole warp at once, correct to about 0.5 units of f32 --- */

/* The nearest whole number as a double and in the low bits of its sum with this. */
#define ROUNDER 0x1.8p52
/* Multiples of pi/2 up to here are exact enough below. */
#define SINE_FAR 1048576.0f

/* sin(x + turn * pi/2), |x| < SINE_FAR. */
static inline float sine_lane(float a, uint64_t turn)
{
    const double half_pi = 0x1.921fb544p0, rest = 0x1.0b4611a626331p-34; /* their sum; the first has 33 bits */
    double x = (double)a, sum = x * 0x1.45f306dc9c883p-1 + ROUNDER, k = sum - ROUNDER;
    double r = (x - k * half_pi) - k * rest, q = r * r, s, c;
    uint64_t n, pick, sine, cosine;
    memcpy(&n, &sum, sizeof n);
    n += turn;
    s = r + r * q * (-1.0 / 6 + q * (1.0 / 120 + q * (-1.0 / 5040 + q * (1.0 / 362880 + q * (-1.0 / 39916800)))));
    c = 1 + q * (-0.5 +
                 q * (1.0 / 24 + q * (-1.0 / 720 + q * (1.0 / 40320 + q * (-1.0 / 3628800 + q * (1.0 / 479001600))))));
    memcpy(&sine, &s, sizeof sine);
    memcpy(&cosine, &c, sizeof cosine);
    pick = 0 - (n & 1);
    sine = ((sine & ~pick) | (cosine & pick)) ^ (n & 2) << 62;
    memcpy(&s, &sine, sizeof s);
    return (float)s;
}

static inline float exp2_lane(float a)
{
    double x = (double)a, sum, k, r, p;
    uint64_t bits;
    x = x > 200 ? 200 : x;
    x = x < -200 ? -200 : x;
    sum = x + ROUNDER;
    k = sum - ROUNDER;
    r = (x - k) * 0x1.62e42fefa39efp-1; /* ln 2 */
    p = 1 + r * (1 + r * (0.5 + r * (1.0 / 6 +
                                     r * (1.0 / 24 +
                                          r * (1.0 / 120 + r * (1.0 / 720 + r * (1.0 / 5040 + r * (1.0 / 40320))))))));
    memcpy(&bits, &sum, sizeof bits);
    bits = (bits + 1023) << 52;
    memcpy(&k, &bits, sizeof k);
    return a != a ? a : (float)(p * k);
}

/* --- one function per row of ops.def --- */

#define UN(name, td, ta, expr)                                      \
    static void op_##name(struct warp *w, const struct code_ins *i) \
    {                                                               \
        const L_##ta *pa = reg_at(w, i->s[0]);                      \
        L_##td *pd = reg_at(w, i->d[0]);                            \
        L_##td temp[32];                                            \
        L_##td *out = w->mask == UINT32_MAX ? pd : temp;            \
        LANES                                                       \
        {                                                           \
            T_##ta a = GET_##ta(pa[l]);                             \
            out[l] = (L_##td)PUT_##td((T_##td)(expr));              \
        }                                                           \
        if (out == temp)                                            \
            BLEND_##td((void *)pd, (const void *)temp, w->mask);    \
    }
#define BIN(name, td, ta, tb, expr)                                 \
    static void op_##name(struct warp *w, const struct code_ins *i) \
    {                                                               \
        const L_##ta *pa = reg_at(w, i->s[0]);                      \
        const L_##tb *pb = reg_at(w, i->s[1]);                      \
        L_##td *pd = reg_at(w, i->d[0]);                            \
        L_##td temp[32];                                            \
        L_##td *out = w->mask == UINT32_MAX ? pd : temp;            \
        LANES                                                       \
        {                                                           \
            T_##ta a = GET_##ta(pa[l]);                             \
            T_##tb b = GET_##tb(pb[l]);                             \
            out[l] = (L_##td)PUT_##td((T_##td)(expr));              \
        }                                                           \
        if (out == temp)                                            \
            BLEND_##td((void *)pd, (const void *)temp, w->mask);    \
    }
#define TER(name, td, ta, tb, tc, expr)                             \
    static void op_##name(struct warp *w, const struct code_ins *i) \
    {                                                               \
        const L_##ta *pa = reg_at(w, i->s[0]);                      \
        const L_##tb *pb = reg_at(w, i->s[1]);                      \
        const L_##tc *pc = reg_at(w, i->s[2]);                      \
        L_##td *pd = reg_at(w, i->d[0]);                            \
        L_##td temp[32];                                            \
        L_##td *out = w->mask == UINT32_MAX ? pd : temp;            \
        LANES                                                       \
        {                                                           \
            T_##ta a = GET_##ta(pa[l]);                             \
            T_##tb b = GET_##tb(pb[l]);                             \
            T_##tc c = GET_##tc(pc[l]);                             \
            out[l] = (L_##td)PUT_##td((T_##td)(expr));              \
        }                                                           \
        if (out == temp)                                            \
            BLEND_##td((void *)pd, (const void *)temp, w->mask);    \
    }
#define CMP(name, t, expr)                                          \
    static void op_##name(struct warp *w, const struct code_ins *i) \
    {                                                               \
        const L_##t *pa = reg_at(w, i->s[0]);                       \
        const L_##t *pb = reg_at(w, i->s[1]);                       \
        uint32_t bits = 0;                                          \
        LANES                                                       \
        {                                                           \
            T_##t a = GET_##t(pa[l]);                               \
            T_##t b = GET_##t(pb[l]);                               \
            bits |= (uint32_t)(expr) << l;                          \
        }                                                           \
        finish_compare(w, i, bits);                                 \
    }
#define VEC(name, td, ta) static void op_##name(struct warp *w, const struct code_ins *i);
#define OTHER(name) static void op_##name(struct warp *w, const struct code_ins *i);

static void finish_compare(struct warp *w, const struct code_ins *i, uint32_t bits)
{
    uint32_t complement;
    if (i->flags & CODE_INVERT)
        bits = ~bits;
    complement = ~bits;
    if (i->boolean != BOOL_NONE) {
        uint32_t c = pred_get(w, i->s[2]) ^ (i->flags & CODE_NEGATE_C ? UINT32_MAX : 0);
        bits = i->boolean == BOOL_AND ? bits & c : i->boolean == BOOL_OR ? bits | c : bits ^ c;
        complement = i->boolean == BOOL_AND ? complement & c : i->boolean == BOOL_OR ? complement | c : complement ^ c;
    }
    pred_set(w, i->d[0], bits);
    if (i->d[1] != CODE_NONE)
        pred_set(w, i->d[1], complement);
}

#include "ops.def"

static inline void store_32(struct warp *w, uint32_t offset, const uint32_t *values)
{
    blend_32(reg_at(w, offset), values, w->mask);
}

static inline void store_64(struct warp *w, uint32_t offset, const uint64_t *values)
{
    blend_64(reg_at(w, offset), values, w->mask);
}

static void sine_of(struct warp *w, const struct code_ins *i, uint64_t turn)
{
    const float *a = reg_at(w, i->s[0]);
    uint32_t bits[32], far = 0;
    float out[32];
    LANES
    {
        out[l] = sine_lane(a[l], turn);
    }
    LANES
    {
        far |= (uint32_t) !(a[l] < SINE_FAR && a[l] > -SINE_FAR); /* and NaN */
    }
    for (int l = 0; l < 32 && far; l++)
        if (!(a[l] < SINE_FAR && a[l] > -SINE_FAR))
            out[l] = turn ? cosf(a[l]) : sinf(a[l]);
    memcpy(bits, out, sizeof bits);
    store_32(w, i->d[0], bits);
}

static void op_sin_f32(struct warp *w, const struct code_ins *i)
{
    sine_of(w, i, 0);
}

static void op_cos_f32(struct warp *w, const struct code_ins *i)
{
    sine_of(w, i, 1);
}

static void op_cvt_f32_h(struct warp *w, const struct code_ins *i)
{
    const uint32_t *a = reg_at(w, i->s[0]);
    uint32_t bits[32];
#ifdef __F16C__ /* all of the v3 and v4 levels have it; the same values, NaNs included */
    for (int l = 0; l < 32; l += 8) {
        __m256i lanes = _mm256_loadu_si256((const __m256i *)(const void *)(a + l));
        __m256i low = _mm256_and_si256(lanes, _mm256_set1_epi32(0xffff));
        __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
        _mm256_storeu_ps((float *)(void *)(bits + l), _mm256_cvtph_ps(halves));
    }
#else
    LANES
    {
        float v = (float)half_to_double((uint16_t)a[l]);
        memcpy(&bits[l], &v, sizeof v);
    }
#endif
    store_32(w, i->d[0], bits);
}

/* Multiply-adds one after another (fold.c), a full warp: without a call for each. */
static void op_fma_run_f32(struct warp *w, const struct code_ins *i)
{
    const struct code_ins *k = w->ctx->code->fused + i->imm, *end = k + i->count;
    bool is_full = w->mask == UINT32_MAX;
    for (; k < end && is_full; k++) {
        const float *a = reg_at(w, k->s[0]), *b = reg_at(w, k->s[1]), *c = reg_at(w, k->s[2]);
        float *d = reg_at(w, k->d[0]);
        LANES
        d[l] = fmaf(a[l], b[l], c[l]);
    }
    for (; k < end; k++)
        k->inner(w, k);
}

static void op_fma_run_f64(struct warp *w, const struct code_ins *i)
{
    const struct code_ins *k = w->ctx->code->fused + i->imm, *end = k + i->count;
    bool is_full = w->mask == UINT32_MAX;
    for (; k < end && is_full; k++) {
        const double *a = reg_at(w, k->s[0]), *b = reg_at(w, k->s[1]), *c = reg_at(w, k->s[2]);
        double *d = reg_at(w, k->d[0]);
        LANES
        d[l] = fma(a[l], b[l], c[l]);
    }
    for (; k < end; k++)
        k->inner(w, k);
}

static void op_nop(struct warp *w, const struct code_ins *i)
{
    (void)w;
    (void)i;
}

static void op_trap(struct warp *w, const struct code_ins *i)
{
    exec_fault(w, i, FAULT_TRAP, (uint32_t)__builtin_ctz(w->mask), 0);
}

static void op_print(struct warp *w, const struct code_ins *i)
{
    exec_print(w, i);
}

static void clamp_result(struct warp *w, const struct code_ins *i)
{
    uint32_t temp[32];
    if (i->d_wide & 1) {
        uint64_t wide[32];
        const double *p = reg_at(w, i->d[0]);
        LANES
        {
            double v = p[l] > 0.0 ? (p[l] > 1.0 ? 1.0 : p[l]) : 0.0;
            memcpy(&wide[l], &v, sizeof v);
        }
        store_64(w, i->d[0], wide);
        return;
    }
    const float *p = reg_at(w, i->d[0]);
    LANES
    {
        float v = p[l] > 0.0f ? (p[l] > 1.0f ? 1.0f : p[l]) : 0.0f;
        memcpy(&temp[l], &v, sizeof v);
    }
    store_32(w, i->d[0], temp);
}

/* Guard, rounding mode, saturation: what few instructions have stays out of the others' way. */
static void op_wrapped(struct warp *w, const struct code_ins *i)
{
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    uint32_t before = w->mask;
    if (i->guard != CODE_NONE) {
        w->mask &= pred_get(w, i->guard) ^ (i->is_guard_negated ? UINT32_MAX : 0);
        w->ctx->guard_rows[i->guarded].runs += w->mask != 0;
        w->ctx->guard_rows[i->guarded].lanes += (uint32_t)__builtin_popcount(w->mask);
    }
    if (w->mask) {
        if (i->round != ROUND_NEAREST)
            fesetround(modes[i->round]);
        i->inner(w, i);
        if (i->round != ROUND_NEAREST)
            fesetround(FE_TONEAREST);
        if (i->flags & CODE_SATURATE)
            clamp_result(w, i);
    }
    w->mask = before;
}

#include "exec_software.h"

static void op_bfi_b32(struct warp *w, const struct code_ins *i)
{
    const uint32_t *a = reg_at(w, i->s[0]), *b = reg_at(w, i->s[1]), *c = reg_at(w, i->s[2]), *d = reg_at(w, i->s[3]);
    uint32_t temp[32];
    for (int l = 0; l < 32; l++) {
        uint32_t pos = c[l] & 255, len = d[l] & 255;
        uint64_t field = len > 32 ? UINT32_MAX : (1ull << len) - 1;
        uint32_t m = pos > 31 ? 0 : (uint32_t)(field << pos);
        temp[l] = (b[l] & ~m) | (pos > 31 ? 0 : (a[l] << pos) & m);
    }
    store_32(w, i->d[0], temp);
}

static void op_bfi_b64(struct warp *w, const struct code_ins *i)
{
    const uint64_t *a = reg_at(w, i->s[0]), *b = reg_at(w, i->s[1]);
    const uint32_t *c = reg_at(w, i->s[2]), *d = reg_at(w, i->s[3]);
    uint64_t temp[32];
    for (int l = 0; l < 32; l++) {
        uint32_t pos = c[l] & 255, len = d[l] & 255;
        uint64_t field = len > 63 ? UINT64_MAX : (1ull << len) - 1;
        uint64_t m = pos > 63 ? 0 : field << pos;
        temp[l] = (b[l] & ~m) | (pos > 63 ? 0 : (a[l] << pos) & m);
    }
    store_64(w, i->d[0], temp);
}

static void op_lop3_b32(struct warp *w, const struct code_ins *i)
{
    const uint32_t *a = reg_at(w, i->s[0]), *b = reg_at(w, i->s[1]), *c = reg_at(w, i->s[2]);
    uint32_t temp[32];
    memset(temp, 0, sizeof temp);
    for (uint32_t k = 0; k < 8; k++) {
        if (!((uint64_t)i->imm >> k & 1))
            continue;
        LANES
        temp[l] |= (k & 4 ? a[l] : ~a[l]) & (k & 2 ? b[l] : ~b[l]) & (k & 1 ? c[l] : ~c[l]);
    }
    store_32(w, i->d[0], temp);
}

/* --- conversions that no fast row covers --- */

static double round_to_integer(double v, uint8_t mode)
{
    switch (mode) {
    case ROUND_ZERO:
        return trunc(v);
    case ROUND_DOWN:
        return floor(v);
    case ROUND_UP:
        return ceil(v);
    default:
        return nearbyint(v);
    }
}

static bool is_float_type(uint8_t type)
{
    return type == PTX_F32 || type == PTX_F64 || type == PTX_F16 || type == PTX_BF16;
}

static bool is_signed_type(uint8_t type)
{
    return type == PTX_S8 || type == PTX_S16 || type == PTX_S32 || type == PTX_S64;
}

static double lane_float(uint64_t bits, uint8_t type, bool ftz)
{
    float f;
    double d;
    uint32_t low = (uint32_t)bits;
    if (type == PTX_F64) {
        memcpy(&d, &bits, sizeof d);
        return d;
    }
    if (type == PTX_F16)
        return half_to_double((uint16_t)bits);
    if (type == PTX_BF16)
        return (double)bf16_to_float((uint16_t)bits);
    memcpy(&f, &low, sizeof f);
    return (double)(ftz ? flush(f) : f);
}

static uint64_t float_lane(double v, uint8_t type, bool ftz)
{
    float f;
    uint32_t low;
    uint64_t bits;
    if (type == PTX_F64) {
        memcpy(&bits, &v, sizeof bits);
        return bits;
    }
    if (type == PTX_F16)
        return double_to_half(v);
    f = (float)v;
    if (type == PTX_BF16)
        return float_to_bf16(f);
    f = ftz ? flush(f) : f;
    memcpy(&low, &f, sizeof low);
    return low;
}

static uint64_t extend(uint64_t v, uint32_t bytes, bool is_signed)
{
    uint32_t shift = 64 - 8 * bytes;
    return is_signed ? (uint64_t)((int64_t)(v << shift) >> shift) : v << shift >> shift;
}

static uint64_t float_to_int(double v, const struct code_ins *i)
{
    uint32_t bits = 8 * ptx_type_bytes(i->type);
    double hi, lo;
    if (v != v)
        return 0;
    v = round_to_integer(v, i->boolean); /* cvt keeps its integer rounding there */
    if (is_signed_type(i->type)) {
        hi = ldexp(1.0, (int)bits - 1);
        lo = -hi;
        if (v >= hi)
            return (uint64_t)(INT64_MAX >> (64 - bits));
        return v <= lo ? (uint64_t)(INT64_MIN >> (64 - bits)) : (uint64_t)(int64_t)v;
    }
    if (v >= ldexp(1.0, (int)bits))
        return UINT64_MAX >> (64 - bits);
    return v <= 0 ? 0 : (uint64_t)v;
}

static uint64_t saturate_int(uint64_t v, const struct code_ins *i)
{
    uint32_t bits = 8 * ptx_type_bytes(i->type);
    bool from_signed = is_signed_type(i->type2);
    if (is_signed_type(i->type)) {
        int64_t hi = INT64_MAX >> (64 - bits), lo = INT64_MIN >> (64 - bits);
        if (!from_signed)
            return v > (uint64_t)hi ? (uint64_t)hi : v;
        return (int64_t)v > hi ? (uint64_t)hi : (int64_t)v < lo ? (uint64_t)lo : v;
    }
    if (from_signed && (int64_t)v < 0)
        return 0;
    return v > UINT64_MAX >> (64 - bits) ? UINT64_MAX >> (64 - bits) : v;
}

static uint64_t convert(uint64_t v, const struct code_ins *i)
{
    bool ftz = i->flags & CODE_FTZ;
    if (!is_float_type(i->type2))
        v = extend(v, ptx_type_bytes(i->type2), is_signed_type(i->type2));
    if (is_float_type(i->type2) && is_float_type(i->type)) {
        double d = lane_float(v, i->type2, ftz);
        return float_lane(i->bytes ? round_to_integer(d, i->boolean) : d, i->type, ftz);
    }
    if (is_float_type(i->type2))
        return float_to_int(lane_float(v, i->type2, ftz), i);
    if (is_float_type(i->type))
        return is_signed_type(i->type2) ? float_lane((double)(int64_t)v, i->type, false)
                                        : float_lane((double)v, i->type, false);
    if (i->flags & CODE_SATURATE_INT)
        v = saturate_int(v, i);
    return extend(v, ptx_type_bytes(i->type), is_signed_type(i->type));
}

static void op_cvt_any(struct warp *w, const struct code_ins *i)
{
    const uint32_t *narrow = reg_at(w, i->s[0]);
    const uint64_t *wide = reg_at(w, i->s[0]);
    uint64_t out[32];
    uint32_t low[32];
    for (int l = 0; l < 32; l++)
        out[l] = convert(i->s_wide & 1 ? wide[l] : narrow[l], i);
    if (i->d_wide & 1) {
        store_64(w, i->d[0], out);
        return;
    }
    LANES
    low[l] = ptx_type_bytes(i->type) == 2 ? (uint16_t)out[l] : (uint32_t)out[l];
    store_32(w, i->d[0], low);
}

/* cvt.rn.f16x2.f32 d, a, b and its bf16x2 sibling: a becomes the upper half. */
static void op_cvt_pack_half(struct warp *w, const struct code_ins *i)
{
    const float *a = reg_at(w, i->s[0]), *b = reg_at(w, i->s[1]);
    uint32_t temp[32];
    for (int l = 0; l < 32; l++) {
        uint32_t hi = i->type == PTX_F16X2 ? double_to_half((double)a[l]) : float_to_bf16(a[l]);
        uint32_t lo = i->type == PTX_F16X2 ? double_to_half((double)b[l]) : float_to_bf16(b[l]);
        temp[l] = hi << 16 | lo;
    }
    store_32(w, i->d[0], temp);
}

/* --- selection and predicates --- */

static uint32_t source_pred(const struct warp *w, const struct code_ins *i, int k, uint32_t negate_flag)
{
    return pred_get(w, i->s[k]) ^ (i->flags & negate_flag ? UINT32_MAX : 0);
}

static void op_selp_b32(struct warp *w, const struct code_ins *i)
{
    const uint32_t *a = reg_at(w, i->s[0]), *b = reg_at(w, i->s[1]);
    uint32_t p = source_pred(w, i, 2, CODE_NEGATE_C);
    uint32_t temp[32];
    LANES
    {
        uint32_t m = 0u - ((p >> l) & 1u);
        temp[l] = (a[l] & m) | (b[l] & ~m);
    }
    store_32(w, i->d[0], temp);
}

static void op_selp_b64(struct warp *w, const struct code_ins *i)
{
    const uint64_t *a = reg_at(w, i->s[0]), *b = reg_at(w, i->s[1]);
    uint32_t p = source_pred(w, i, 2, CODE_NEGATE_C);
    uint64_t temp[32];
    LANES
    {
        uint64_t m = 0ull - (uint64_t)((p >> l) & 1u);
        temp[l] = (a[l] & m) | (b[l] & ~m);
    }
    store_64(w, i->d[0], temp);
}

static bool slct_takes_first(const struct warp *w, const struct code_ins *i, int l)
{
    if (i->type2 == PTX_F32)
        return ((const float *)reg_at(w, i->s[2]))[l] >= 0.0f;
    return ((const int32_t *)reg_at(w, i->s[2]))[l] >= 0;
}

static void op_slct_b32(struct warp *w, const struct code_ins *i)
{
    const uint32_t *a = reg_at(w, i->s[0]), *b = reg_at(w, i->s[1]);
    uint32_t temp[32];
    for (int l = 0; l < 32; l++)
        temp[l] = slct_takes_first(w, i, l) ? a[l] : b[l];
    store_32(w, i->d[0], temp);
}

static void op_slct_b64(struct warp *w, const struct code_ins *i)
{
    const uint64_t *a = reg_at(w, i->s[0]), *b = reg_at(w, i->s[1]);
    uint64_t temp[32];
    for (int l = 0; l < 32; l++)
        temp[l] = slct_takes_first(w, i, l) ? a[l] : b[l];
    store_64(w, i->d[0], temp);
}

/* set.cmp.u32.*: the comparison itself was a CMP into a hidden predicate; here 0 or all ones, or 1.0f. */
static void op_set_b32(struct warp *w, const struct code_ins *i)
{
    uint32_t p = pred_get(w, i->s[0]);
    uint32_t yes = i->type == PTX_F32 ? 0x3f800000u : UINT32_MAX;
    uint32_t temp[32];
    LANES
    temp[l] = (p >> l) & 1u ? yes : 0;
    store_32(w, i->d[0], temp);
}

static void op_pred_mov(struct warp *w, const struct code_ins *i)
{
    pred_set(w, i->d[0], source_pred(w, i, 0, CODE_NEGATE_A));
}

static void op_pred_and(struct warp *w, const struct code_ins *i)
{
    pred_set(w, i->d[0], source_pred(w, i, 0, CODE_NEGATE_A) & source_pred(w, i, 1, CODE_NEGATE_B));
}

static void op_pred_or(struct warp *w, const struct code_ins *i)
{
    pred_set(w, i->d[0], source_pred(w, i, 0, CODE_NEGATE_A) | source_pred(w, i, 1, CODE_NEGATE_B));
}

static void op_pred_xor(struct warp *w, const struct code_ins *i)
{
    pred_set(w, i->d[0], source_pred(w, i, 0, CODE_NEGATE_A) ^ source_pred(w, i, 1, CODE_NEGATE_B));
}

static void op_pred_not(struct warp *w, const struct code_ins *i)
{
    pred_set(w, i->d[0], ~source_pred(w, i, 0, CODE_NEGATE_A));
}

/* A constant (mov.pred p, 1) is a register with lanes. */
static void op_pred_from(struct warp *w, const struct code_ins *i)
{
    pred_set(w, i->d[0], i->imm ? UINT32_MAX : 0);
}

static void op_testp(struct warp *w, const struct code_ins *i)
{
    uint32_t bits = 0;
    for (int l = 0; l < 32; l++) {
        double v =
            i->s_wide & 1 ? ((const double *)reg_at(w, i->s[0]))[l] : (double)((const float *)reg_at(w, i->s[0]))[l];
        bool yes = false;
        bool is_small = i->s_wide & 1 ? fpclassify(v) == FP_SUBNORMAL : v != 0 && fabs(v) < 0x1p-126;
        switch (i->type2) {
        case 0: /* finite */
            yes = isfinite(v);
            break;
        case 1:
            yes = isinf(v);
            break;
        case 2:
            yes = !isnan(v);
            break;
        case 3:
            yes = isnan(v);
            break;
        case 4: /* normal */
            yes = isfinite(v) && v != 0 && !is_small;
            break;
        default:
            yes = is_small;
        }
        bits |= (uint32_t)yes << l;
    }
    pred_set(w, i->d[0], bits);
}

/* --- carry chains; i->boolean: 1 takes the carry, 2 sets it, 4 subtracts, 8 high half of the product ---
 * A subtraction adds the complement: its carry is 1 where nothing was borrowed. nvcc's division of 128-bit integers
 * reads it so, by an addc behind a subc.cc. */

static void carry_lane(struct warp *w, const struct code_ins *i, int l, uint64_t a, uint64_t b, uint64_t *out)
{
    bool is_wide = i->d_wide & 1;
    uint64_t carry = i->boolean & 1 ? (w->carry >> l) & 1u : 0;
    if (i->boolean & 4) {
        b = is_wide ? ~b : (uint32_t)~b;
        carry = i->boolean & 1 ? carry : 1;
    }
    wide_u sum = (wide_u)a + b + carry;
    uint32_t bit = (uint32_t)(sum >> (is_wide ? 64 : 32)) & 1u;
    *out = (uint64_t)sum;
    if ((i->boolean & 2) && (w->mask >> l & 1))
        w->carry = (w->carry & ~(1u << l)) | bit << l;
}

static uint64_t lane_bits(const struct warp *w, const struct code_ins *i, int k, int l)
{
    const void *p = reg_at(w, i->s[k]);
    return i->s_wide >> k & 1 ? ((const uint64_t *)p)[l] : ((const uint32_t *)p)[l];
}

static void store_lanes(struct warp *w, const struct code_ins *i, int k, const uint64_t *values)
{
    uint32_t low[32];
    if (i->d_wide >> k & 1) {
        store_64(w, i->d[k], values);
        return;
    }
    LANES
    low[l] = (uint32_t)values[l];
    store_32(w, i->d[k], low);
}

static void op_add_carry(struct warp *w, const struct code_ins *i)
{
    uint64_t out[32];
    for (int l = 0; l < 32; l++)
        carry_lane(w, i, l, lane_bits(w, i, 0, l), lane_bits(w, i, 1, l), &out[l]);
    store_lanes(w, i, 0, out);
}

static uint64_t product_half(const struct code_ins *i, uint64_t a, uint64_t b)
{
    bool is_signed = i->flags & CODE_SIGNED;
    if (i->d_wide & 1) {
        if (!(i->boolean & 8))
            return a * b;
        return is_signed ? (uint64_t)high_s64((int64_t)a, (int64_t)b) : high_u64(a, b);
    }
    if (!(i->boolean & 8))
        return (uint32_t)(a * b);
    return is_signed ? (uint32_t)(((int64_t)(int32_t)a * (int32_t)b) >> 32) : (uint32_t)((a * b) >> 32);
}

static void op_mad_carry(struct warp *w, const struct code_ins *i)
{
    uint64_t out[32];
    for (int l = 0; l < 32; l++)
        carry_lane(w, i, l, product_half(i, lane_bits(w, i, 0, l), lane_bits(w, i, 1, l)), lane_bits(w, i, 2, l),
                   &out[l]);
    store_lanes(w, i, 0, out);
}

/* --- mov.b64 d, {a, b} and back; i->bytes: bytes of one piece, i->vec: pieces --- */

static void op_pack(struct warp *w, const struct code_ins *i)
{
    uint64_t out[32] = {0};
    for (uint32_t k = 0; k < i->vec; k++)
        for (int l = 0; l < 32; l++)
            out[l] |= extend(lane_bits(w, i, (int)k, l), i->bytes, false) << (8 * i->bytes * k);
    store_lanes(w, i, 0, out);
}

static void op_unpack(struct warp *w, const struct code_ins *i)
{
    uint64_t source[32], out[32];
    for (int l = 0; l < 32; l++)
        source[l] = lane_bits(w, i, 0, l);
    for (uint32_t k = 0; k < i->vec; k++) {
        if (i->d[k] == CODE_NONE)
            continue;
        for (int l = 0; l < 32; l++)
            out[l] = extend(source[l] >> (8 * i->bytes * k), i->bytes, false);
        store_lanes(w, i, (int)k, out);
    }
}

/* --- warp-wide operations --- */

/* Where each lane's value comes from; the bits of the lanes for which that is another one, or itself by its own word.
 */
static uint32_t shuffle_sources(uint8_t mode, const uint32_t *b, const uint32_t *c, int32_t from[32])
{
    uint32_t bits = 0;
    LANES
    {
        int32_t by = (int32_t)(b[l] & 31), segment = (int32_t)(c[l] >> 8 & 31), least = l & segment;
        int32_t most = least | ((int32_t)(c[l] & 31) & ~segment);
        int32_t j = mode == 0   ? l - by                   /* up */
                    : mode == 1 ? l + by                   /* down */
                    : mode == 2 ? l ^ by                   /* bfly */
                                : least | (by & ~segment); /* idx */
        int32_t is_there = mode == 0 ? j >= most : j <= most;
        from[l] = is_there ? j : l;
        bits |= (uint32_t)is_there << l;
    }
    return bits;
}

static void op_shfl(struct warp *w, const struct code_ins *i)
{
    const uint32_t *a = reg_at(w, i->s[0]), *b = reg_at(w, i->s[1]), *c = reg_at(w, i->s[2]);
    uint32_t temp[32];
    int32_t from[32];
    uint32_t bits = 0;
    switch (i->type2) { /* each of its own, without the question in the loop */
    case 0:
        bits = shuffle_sources(0, b, c, from);
        break;
    case 1:
        bits = shuffle_sources(1, b, c, from);
        break;
    case 2:
        bits = shuffle_sources(2, b, c, from);
        break;
    default:
        bits = shuffle_sources(3, b, c, from);
    }
    for (int l = 0; l < 32; l++)
        temp[l] = a[from[l]];
    if (i->d[0] != CODE_NONE)
        store_32(w, i->d[0], temp);
    if (i->d[1] != CODE_NONE)
        pred_set(w, i->d[1], bits);
}

/* Of each lane: the lanes that are named in its membermask and are here. All equal as a rule; tiles of less than a warp
 * give each tile its own. */
static void members_of(const struct warp *w, const struct code_ins *i, uint32_t members[32])
{
    const uint32_t *named = reg_at(w, i->s[1]);
    LANES
    members[l] = named[l] & w->mask;
}

static void op_vote(struct warp *w, const struct code_ins *i)
{
    uint32_t p = source_pred(w, i, 0, CODE_NEGATE_A);
    uint32_t members[32], temp[32];
    members_of(w, i, members);
    LANES
    temp[l] = p & members[l];
    if (i->type2 == 0) { /* ballot */
        store_32(w, i->d[0], temp);
        return;
    }
    uint32_t all = 0, any = 0;
    for (int l = 0; l < 32; l++) {
        all |= (uint32_t)(temp[l] == members[l]) << l;
        any |= (uint32_t)(temp[l] != 0) << l;
    }
    pred_set(w, i->d[0], i->type2 == 1 ? all : i->type2 == 2 ? any : all | ~any /* uni */);
}

static void op_match(struct warp *w, const struct code_ins *i)
{
    uint32_t members[32], temp[32] = {0};
    uint32_t all = 0;
    members_of(w, i, members);
    for (int l = 0; l < 32; l++)
        for (int k = 0; k < 32; k++)
            if ((members[l] >> k & 1) && lane_bits(w, i, 0, l) == lane_bits(w, i, 0, k))
                temp[l] |= 1u << k;
    if (i->type2 == 1) { /* match.all */
        for (int l = 0; l < 32; l++) {
            all |= (uint32_t)(temp[l] == members[l]) << l;
            temp[l] = temp[l] == members[l] ? members[l] : 0;
        }
        if (i->d[1] != CODE_NONE)
            pred_set(w, i->d[1], all);
    }
    store_32(w, i->d[0], temp);
}

static uint32_t reduce_two(uint8_t how, bool is_signed, uint32_t a, uint32_t b)
{
    switch (how) {
    case 0:
        return a + b;
    case 1:
        return is_signed ? ((int32_t)a < (int32_t)b ? a : b) : (a < b ? a : b);
    case 2:
        return is_signed ? ((int32_t)a > (int32_t)b ? a : b) : (a > b ? a : b);
    case 3:
        return a & b;
    case 4:
        return a | b;
    default:
        return a ^ b;
    }
}

static void op_redux(struct warp *w, const struct code_ins *i)
{
    const uint32_t *a = reg_at(w, i->s[0]);
    uint32_t members[32], temp[32] = {0};
    members_of(w, i, members);
    for (uint32_t left = w->mask; left;) { /* group by group */
        int first = __builtin_ctz(left);
        uint32_t v = a[first], group = members[first];
        for (int l = 0; l < 32; l++)
            if (l != first && (group >> l & 1))
                v = reduce_two(i->type2, i->flags & CODE_SIGNED, v, a[l]);
        for (int l = first; l < 32; l++)
            if ((left >> l & 1) && members[l] == group) {
                temp[l] = v;
                left &= ~(1u << l);
            }
    }
    store_32(w, i->d[0], temp);
}

static void op_activemask(struct warp *w, const struct code_ins *i)
{
    uint32_t temp[32];
    LANES
    temp[l] = w->mask;
    store_32(w, i->d[0], temp);
}

static void op_elect(struct warp *w, const struct code_ins *i)
{
    uint32_t temp[32];
    int leader = __builtin_ctz(w->mask);
    LANES
    temp[l] = (uint32_t)leader;
    if (i->d[0] != CODE_NONE)
        store_32(w, i->d[0], temp);
    if (i->d[1] != CODE_NONE)
        pred_set(w, i->d[1], 1u << leader);
}

/* There is no time in the model: clocks only rise, so that differences are not negative. */
static void op_clock32(struct warp *w, const struct code_ins *i)
{
    uint32_t temp[32];
    uint32_t now = (uint32_t)++w->ctx->clock;
    LANES
    temp[l] = now;
    store_32(w, i->d[0], temp);
}

static void op_clock64(struct warp *w, const struct code_ins *i)
{
    uint64_t temp[32];
    uint64_t now = ++w->ctx->clock;
    LANES
    temp[l] = now;
    store_64(w, i->d[0], temp);
}

static void op_isspace(struct warp *w, const struct code_ins *i)
{
    uint32_t bits = 0;
    for (int l = 0; l < 32; l++) {
        uint64_t window = lane_bits(w, i, 0, l) >> WINDOW_SHIFT;
        bool yes = i->space == PTX_SPACE_SHARED ? window == 1 : i->space == PTX_SPACE_LOCAL ? window == 2 : window == 0;
        bits |= (uint32_t)yes << l;
    }
    pred_set(w, i->d[0], bits);
}

/* An address in the local memory of the function that runs: its frame lies where the call put it. */
static void op_frame(struct warp *w, const struct code_ins *i)
{
    uint64_t at[32];
    LANES
    at[l] = (uint64_t)i->imm + w->frame;
    store_lanes(w, i, 0, at);
}

static void op_heap(struct warp *w, const struct code_ins *i)
{
    exec_heap(w, i);
}

static void op_tex(struct warp *w, const struct code_ins *i)
{
    exec_texture(w, i);
}

static void op_tld4(struct warp *w, const struct code_ins *i)
{
    exec_texture(w, i);
}

static void op_suld(struct warp *w, const struct code_ins *i)
{
    exec_surface(w, i);
}

static void op_sust(struct warp *w, const struct code_ins *i)
{
    exec_surface(w, i);
}

#include "exec_memory.h"

#include "exec_check.h"

#include "exec_async.h"
#include "exec_matrix.h"

const exec_fn EXEC_TABLE[OP_COUNT] = {
#define UN(name, td, ta, expr) op_##name,
#define BIN(name, td, ta, tb, expr) op_##name,
#define TER(name, td, ta, tb, tc, expr) op_##name,
#define CMP(name, t, expr) op_##name,
#define VEC(name, td, ta) op_##name,
#define OTHER(name) op_##name,
#include "ops.def"
};
