/* SPDX-License-Identifier: MIT
 * ncu_units.h: numbers and units as Nsight Compute prints them: "62.53" "us", "1,024" "byte/block", "1.97"
 * "cycle/nsecond". All its prefixes are powers of ten, so a conversion moves the decimal point of the text and rounds
 * nothing. Read on: import_ncu.c. */
#ifndef WS_SERVER_NCU_UNITS_H
#define WS_SERVER_NCU_UNITS_H

#include "../analyzer/units.h"

#include <stdbool.h>

struct ws_ncu_unit {
    int exponent;  /* the number times 10^exponent is in base */
    char base[32]; /* "s", "byte", "byte/s", "hz", "cycle/s", "%", "inst/cycle", "", …; an unknown word is its own base
                    */
};
void ws_ncu_unit_read(const char *text, struct ws_ncu_unit *out);

/* Whether a value in this unit can be one of ours; *exponent is then what makes it one: in seconds, bytes, as a ratio.
 */
bool ws_ncu_unit_fits(const struct ws_ncu_unit *unit, enum ws_unit ours, int *exponent);

/* "3,197,628,795.63" times 10^exponent. False: no number, or groups of digits that are none. */
bool ws_ncu_number_read(const char *text, int exponent, double *out);

#endif
