/* SPDX-License-Identifier: MIT
 * csv_reader.h: rows of RFC 4180, from foreign bytes in memory. NUL bytes become '?'; nothing is refused.
 * Read on: ncu.c and import_ncu.c (who reads), csv.h (writes). */
#ifndef WS_SERVER_CSV_READER_H
#define WS_SERVER_CSV_READER_H

#include <stdbool.h>
#include <stddef.h>

enum { WS_CSV_COLUMNS_MAX = 16384 }; /* cells behind it are counted and not kept */

/* One row: its cells one after another in text, each NUL-ended. Zero to begin. */
struct ws_csv_row {
    char *text; /* [cap] */
    size_t used, cap;
    size_t *start; /* [start_cap] of each cell in text */
    size_t start_cap;
    size_t count; /* of cells */
    bool failed;  /* out of memory */
};

/* Read a row at *at and go to the next one. False: the text is at its end, or memory is out. */
bool ws_csv_read_row(struct ws_csv_row *row, const char *text, size_t length, size_t *at);
/* "" where there is none. Lent until the next row. */
const char *ws_csv_cell(const struct ws_csv_row *row, size_t column);
void ws_csv_row_free(struct ws_csv_row *row);

/* All of a file, plain or compressed by gzip; *text is to be freed, also after an error.
 *   errors  -WS_EIO, -WS_ENOMEM, -WS_ELIMIT for more than 1 GiB */
int ws_csv_read_file(const char *path, char **text, size_t *used);

#endif
