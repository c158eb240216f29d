/* SPDX-License-Identifier: MIT
 * number.h: read a decimal number from text, whatever the program's locale is.
 * For formulas (expr.c) and .expect files (expect.c). */
#ifndef WS_ANALYZER_NUMBER_H
#define WS_ANALYZER_NUMBER_H

#include <stddef.h>

/* Read an unsigned decimal number ("16777216", "0.25", "1e-3") at at[length].
 * Returns the bytes read, 0 when there is no number there or it is beyond the range of double;
 * *out is then untouched. Exact (correctly rounded) for up to 15 digits and exponents within ±22;
 * more digits are rounded within a few units of the last place. */
size_t ws_number_read(const char *at, size_t length, double *out);

#endif
