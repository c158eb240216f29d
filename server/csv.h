/* SPDX-License-Identifier: MIT
 * csv.h: cells of RFC 4180 for the CSV exports. A text never becomes a formula of a spreadsheet; a number reads back
 * exactly; what is missing is an empty cell, and its reason stands in a column of its own. */
#ifndef WS_SERVER_CSV_H
#define WS_SERVER_CSV_H

#include "../analyzer/value.h"

#include <stdio.h>

/* A quoted text. A spreadsheet takes = + - @ at the start for a formula: an apostrophe in front says "text". */
void ws_csv_text(FILE *out, const char *text);
/* The number, or nothing. */
void ws_csv_value(FILE *out, struct ws_value value);

#endif
