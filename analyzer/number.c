/* SPDX-License-Identifier: MIT
 * number.c: decimal text to double. strtod is no choice: it obeys the locale and needs a NUL.
 * Pure. Signs belong to the caller's grammar. */
#include "number.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* Digits beyond this cannot be held exactly by the accumulator; they only move the exponent. */
#define MANTISSA_DIGITS 18

struct decimal {
    uint64_t mantissa;
    int digits;   /* significant ones in the mantissa */
    int exponent; /* value = mantissa × 10^exponent */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits at at[length]; those after the point count down the exponent. Returns the bytes read. */
static size_t read_digits(const char *at, size_t length, bool is_fraction, struct decimal *decimal)
{
    size_t i = 0;
    for (; i < length && is_digit(at[i]); i++) {
        bool is_held = decimal->digits < MANTISSA_DIGITS;
        if (is_held) {
            decimal->mantissa = decimal->mantissa * 10 + (uint64_t)(at[i] - '0');
            decimal->digits += decimal->mantissa != 0;
        }
        /* saturates: a megabyte of zeros must not wrap the exponent */
        if (is_held == is_fraction && decimal->exponent > -100000 && decimal->exponent < 100000)
            decimal->exponent += is_fraction ? -1 : 1;
    }
    return i;
}

/* "e-3" at at[length]: bytes read, or 0 when there is no exponent there. */
static size_t read_exponent(const char *at, size_t length, int *exponent)
{
    size_t i = 1;
    int sign = 1;
    int number = 0;
    size_t first;
    if (length < 2 || (at[0] != 'e' && at[0] != 'E'))
        return 0;
    if (at[i] == '+' || at[i] == '-')
        sign = at[i++] == '-' ? -1 : 1;
    first = i;
    for (; i < length && is_digit(at[i]); i++)
        number = number < 100000 ? number * 10 + (at[i] - '0') : number;
    if (i == first)
        return 0;
    *exponent += sign * number;
    return i;
}

size_t ws_number_read(const char *at, size_t length, double *out)
{
    struct decimal decimal = {0, 0, 0};
    size_t whole = read_digits(at, length, false, &decimal);
    size_t used = whole;
    size_t fraction = 0;
    double value;
    if (used < length && at[used] == '.') {
        fraction = read_digits(at + used + 1, length - used - 1, true, &decimal);
        used += 1 + fraction;
    }
    if (whole + fraction == 0)
        return 0;
    used += read_exponent(at + used, length - used, &decimal.exponent);
    /* Dividing by an exact power of ten rounds once; multiplying by its inverse would round twice. */
    if (decimal.exponent < 0 && decimal.exponent >= -300)
        value = (double)decimal.mantissa / pow(10.0, -decimal.exponent);
    else
        value = decimal.mantissa == 0 ? 0.0 : (double)decimal.mantissa * pow(10.0, decimal.exponent);
    if (!isfinite(value))
        return 0;
    *out = value;
    return used;
}
