/* SPDX-License-Identifier: MIT
 * csv_reader.c: rows of RFC 4180. */
#include "csv_reader.h"

#include "../analyzer/err.h"

#include <stdlib.h>
#include <zlib.h>

#define FILE_MAX ((size_t)1 << 30)

static void put(struct ws_csv_row *row, char c)
{
    if (row->used == row->cap) {
        size_t cap = row->cap ? 2 * row->cap : 4096;
        char *grown = realloc(row->text, cap);
        if (!grown) {
            row->failed = true;
            return;
        }
        row->text = grown;
        row->cap = cap;
    }
    row->text[row->used++] = c;
}

/* A cell begins. */
static void begin(struct ws_csv_row *row)
{
    if (row->count == row->start_cap && row->count < WS_CSV_COLUMNS_MAX) {
        size_t cap = row->start_cap ? 2 * row->start_cap : 64;
        size_t *grown = realloc(row->start, cap * sizeof *grown);
        if (!grown) {
            row->failed = true;
            return;
        }
        row->start = grown;
        row->start_cap = cap;
    }
    if (row->count < WS_CSV_COLUMNS_MAX)
        row->start[row->count] = row->used;
}

/* Read one cell at text[at]; returns the place behind it: on a comma, a line's end, or length. */
static size_t read_cell(struct ws_csv_row *row, const char *text, size_t length, size_t at)
{
    bool quoted = at < length && text[at] == '"';
    begin(row);
    at += quoted;
    while (at < length && !row->failed) {
        char c = text[at];
        if (quoted && c == '"') {
            if (at + 1 >= length || text[at + 1] != '"') {
                quoted = false;
                at++;
                continue;
            }
            at++; /* "" is one quote */
        } else if (!quoted && (c == ',' || c == '\n' || c == '\r')) {
            break;
        }
        if (row->count < WS_CSV_COLUMNS_MAX)
            put(row, (char)(c ? c : '?'));
        at++;
    }
    if (row->count < WS_CSV_COLUMNS_MAX && !row->failed)
        put(row, 0);
    row->count++;
    return at;
}

bool ws_csv_read_row(struct ws_csv_row *row, const char *text, size_t length, size_t *at)
{
    row->used = row->count = 0;
    if (*at >= length)
        return false;
    for (;;) {
        *at = read_cell(row, text, length, *at);
        if (row->failed || *at >= length || text[*at] != ',')
            break;
        (*at)++;
    }
    if (*at < length && text[*at] == '\r')
        (*at)++;
    if (*at < length && text[*at] == '\n')
        (*at)++;
    return !row->failed;
}

const char *ws_csv_cell(const struct ws_csv_row *row, size_t column)
{
    return column < row->count && column < WS_CSV_COLUMNS_MAX ? row->text + row->start[column] : "";
}

void ws_csv_row_free(struct ws_csv_row *row)
{
    free(row->text);
    free(row->start);
    *row = (struct ws_csv_row){.text = NULL};
}

static int read_all(gzFile file, char **text, size_t *used)
{
    size_t room = 0;
    int n = 1;
    while (n > 0) {
        if (*used == room) {
            size_t more = room ? 2 * room : 1 << 20;
            char *grown = more <= FILE_MAX ? realloc(*text, more) : NULL;
            if (!grown)
                return more <= FILE_MAX ? -WS_ENOMEM : -WS_ELIMIT;
            *text = grown;
            room = more;
        }
        n = gzread(file, *text + *used, (unsigned)(room - *used));
        *used += n > 0 ? (size_t)n : 0;
    }
    return n < 0 ? -WS_EIO : 0;
}

int ws_csv_read_file(const char *path, char **text, size_t *used)
{
    gzFile file = gzopen(path, "rbe");
    int err = file ? read_all(file, text, used) : -WS_EIO;
    if (file && gzclose(file) != Z_OK && err == 0) /* the end of a compressed file is missing */
        err = -WS_EIO;
    return err;
}
