/* SPDX-License-Identifier: MIT
 * csv.c: cells of RFC 4180. Writes to the caller's FILE, keeps nothing. */
#include "csv.h"

#include "json.h"

#include <string.h>

void ws_csv_text(FILE *out, const char *text)
{
    bool formula = *text && strchr("=+-@\t\r", *text);
    fputc('"', out);
    if (formula)
        fputc('\'', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

void ws_csv_value(FILE *out, struct ws_value value)
{
    char number[32];
    ws_number_text(ws_has(value) ? value.number : NAN, number);
    fputs(number, out);
}
