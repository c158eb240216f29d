/* SPDX-License-Identifier: MIT
 * half.h: f16 and bf16 values as double and float, rounding to nearest even.
 * Portable C: not every compiler and machine we build for has _Float16. */
#ifndef WS_COLLECTOR_MODEL_HALF_H
#define WS_COLLECTOR_MODEL_HALF_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum half_op { HALF_ADD, HALF_SUB, HALF_MUL, HALF_FMA, HALF_MIN, HALF_MAX };

/* The bits moved into a float's places, then scaled by the difference of the biases: no branch, so that lane loops
 * vectorize, and subnormals come out right. */
static inline double half_to_double(uint16_t h)
{
    uint32_t bits = ((uint32_t)h & 0x7fffu) << 13;
    uint32_t special = (bits & 0x0f800000u) == 0x0f800000u ? 0x7f800000u : 0;
    uint32_t sign = ((uint32_t)h & 0x8000u) << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    f *= 0x1p112f;
    memcpy(&bits, &f, sizeof bits);
    bits |= special | sign;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

static inline uint16_t double_to_half(double v)
{
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    double a = fabs(v);
    int exponent;
    double m;
    if (isnan(v))
        return 0x7fff;
    if (a >= 65520)
        return (uint16_t)(sign | 0x7c00);
    if (a < 0x1p-14)
        return (uint16_t)(sign | (uint16_t)nearbyint(a * 0x1p24));
    exponent = ilogb(a);
    m = nearbyint(ldexp(a, 10 - exponent));
    return (uint16_t)(sign | (uint16_t)(((exponent + 15) << 10) + ((int)m - 1024)));
}

/* e4m3 (no infinity, one NaN) or e5m2 (the upper byte of a half): bits of the exponent. */
static inline double fp8_to_double(uint8_t v, int exponent_bits)
{
    double sign = v & 0x80 ? -1.0 : 1.0, fraction = v & 7;
    int exponent = v >> 3 & 15;
    if (exponent_bits == 5)
        return half_to_double((uint16_t)(v << 8));
    if ((v & 0x7f) == 0x7f)
        return NAN;
    return sign * (exponent == 0 ? ldexp(fraction, -9) : ldexp(8.0 + fraction, exponent - 10));
}

static inline float bf16_to_float(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint16_t float_to_bf16(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (isnan(f))
        return 0x7fff;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline double half_compute(double a, double b, double c, enum half_op op)
{
    switch (op) {
    case HALF_ADD:
        return a + b;
    case HALF_SUB:
        return a - b;
    case HALF_MUL:
        return a * b;
    case HALF_FMA:
        return fma(a, b, c);
    case HALF_MIN:
        return isnan(a) || (!isnan(b) && b < a) ? b : a;
    default:
        return isnan(a) || (!isnan(b) && b > a) ? b : a;
    }
}

static inline uint32_t half2_op(uint32_t a, uint32_t b, uint32_t c, enum half_op op)
{
    double lo = half_compute(half_to_double((uint16_t)a), half_to_double((uint16_t)b), half_to_double((uint16_t)c), op);
    double hi = half_compute(half_to_double((uint16_t)(a >> 16)), half_to_double((uint16_t)(b >> 16)),
                             half_to_double((uint16_t)(c >> 16)), op);
    return (uint32_t)double_to_half(hi) << 16 | double_to_half(lo);
}

static inline uint32_t bf2_op(uint32_t a, uint32_t b, uint32_t c, enum half_op op)
{
    double lo = half_compute((double)bf16_to_float((uint16_t)a), (double)bf16_to_float((uint16_t)b),
                             (double)bf16_to_float((uint16_t)c), op);
    double hi = half_compute((double)bf16_to_float((uint16_t)(a >> 16)), (double)bf16_to_float((uint16_t)(b >> 16)),
                             (double)bf16_to_float((uint16_t)(c >> 16)), op);
    return (uint32_t)float_to_bf16((float)hi) << 16 | float_to_bf16((float)lo);
}

/* set.CMP.f16x2.f16x2: 1.0 in each half whose comparison is among these, else 0. */
enum half_order { HALF_LT = 1, HALF_EQ = 2, HALF_GT = 4, HALF_NAN = 8 };

static inline uint32_t half2_set(uint32_t a, uint32_t b, unsigned wanted, bool is_bf16)
{
    uint32_t r = 0;
    for (int k = 0; k < 32; k += 16) {
        uint16_t x = (uint16_t)(a >> k), y = (uint16_t)(b >> k);
        double p = is_bf16 ? (double)bf16_to_float(x) : half_to_double(x);
        double q = is_bf16 ? (double)bf16_to_float(y) : half_to_double(y);
        unsigned order = p < q ? HALF_LT : p > q ? HALF_GT : p == q ? HALF_EQ : HALF_NAN;
        r |= (order & wanted ? (is_bf16 ? 0x3f80u : 0x3c00u) : 0u) << k;
    }
    return r;
}

#endif
