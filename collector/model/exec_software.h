/* SPDX-License-Identifier: MIT
 * exec_software.h: which lanes of an operation of software.def take the short way of its SASS. No guard: see
 * exec_body.h. The conditions are those of the branches in the SASS, on bits. What FCHK asks of a division is written
 * nowhere: the short way is taken where an H200 was seen to take it (0 by 1; exponents from -100 to 120 of the
 * dividend, from -125 to 100 of the divisor, from -120 to 120 of the quotient); it was seen not to for 2^-104 by 1,
 * 2^127 by 1, 1 by 2^125 and 2^100 by 2^-30 (tests/gpu/results, calibrate). What lies between counts as the long way.
 */

static inline bool is_short_f32(uint8_t domain, uint32_t a, uint32_t b)
{
    uint32_t least = 0x00800000u, most = 0x7e800000u, size_b = b & 0x7fffffffu; /* 2^-126, 2^126 */
    switch (domain) {
    case SOFTWARE_NORMAL: /* the last operand: divisor or argument */
        return size_b >= least;
    case SOFTWARE_NOT_HUGE:
        return size_b <= most || size_b > 0x7f800000u;
    case SOFTWARE_FULL_RANGE:
        return (size_b >= least && size_b <= most) || size_b > 0x7f800000u;
    case SOFTWARE_EX2_F32: /* at least -126, or no number */
        return !(b >> 31) || b <= 0xc2fc0000u || b > 0xff800000u;
    case SOFTWARE_SQRT_F32:
        return b - 0x0d000000u <= 0x727fffffu;
    case SOFTWARE_RCP_F32:
        return ((b + 0x01800000u) & 0x7f800000u) > 0x01ffffffu;
    case SOFTWARE_DIV_F32: {
        int32_t ea = (int32_t)(a >> 23 & 255u) - 127, eb = (int32_t)(b >> 23 & 255u) - 127;
        bool is_zero = (a & 0x7fffffffu) == 0;
        return eb >= -125 && eb <= 100 && (is_zero || (ea >= -100 && ea <= 120 && ea - eb >= -120 && ea - eb <= 120));
    }
    default:
        return false;
    }
}

static inline uint32_t high_word(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return (uint32_t)(bits >> 32);
}

/* The high words of doubles, compared as if they were floats: what is above 0x7f800000 is no number then. */
static inline bool is_short_f64(uint8_t domain, double a, double b)
{
    uint32_t hi = high_word(b), size_b = hi & 0x7fffffffu, size_a = high_word(a) & 0x7fffffffu, size_q;
    switch (domain) {
    case SOFTWARE_SQRT_F64:
        return hi - 0x03500000u < 0x7ca00000u;
    case SOFTWARE_RSQRT_F64:
        return hi - 0x00100000u < 0x7fe00000u;
    case SOFTWARE_RCP_F64:
        return size_b >= 0x00100000u && size_b < 0x7fcffbfeu;
    case SOFTWARE_DIV_F64:
        size_q = high_word(a / b) & 0x7fffffffu;
        return size_a >= 0x03600000u && size_b < 0x7f800000u && size_q > 0x00100000u && size_q <= 0x7f800000u;
    default:
        return false;
    }
}

/* The operation, and how many of its lanes take the long way. */
static void op_software(struct warp *w, const struct code_ins *i)
{
    uint8_t domain = code_software[i->software].domain;
    const uint32_t last = i->s[1] != CODE_NONE ? 1 : 0;
    struct guard_row *row = &w->ctx->guard_rows[i->long_way];
    uint32_t is_long = 0;
    if (i->type == PTX_F64) {
        const double *a = reg_at(w, i->s[0]), *b = reg_at(w, i->s[last]);
        for (uint32_t l = 0; l < 32; l++)
            is_long |= (uint32_t)!is_short_f64(domain, a[l], b[l]) << l;
    } else {
        const uint32_t *a = reg_at(w, i->s[0]), *b = reg_at(w, i->s[last]);
        for (uint32_t l = 0; l < 32; l++)
            is_long |= (uint32_t)!is_short_f32(domain, a[l], b[l]) << l;
    }
    is_long &= w->mask;
    row->runs += is_long != 0;
    row->lanes += (uint32_t)__builtin_popcount(is_long);
    EXEC_TABLE[i->op](w, i);
}
