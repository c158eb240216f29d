/* SPDX-License-Identifier: MIT
 * text.h: tables and styled words for a terminal. Foreign text is tamed: no control byte of it reaches the
 * terminal. Colour only on a terminal that wants it. Numbers are formatted by units.h, not here. */
#ifndef WS_SERVER_TEXT_H
#define WS_SERVER_TEXT_H

#include "arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Where to and how. */
struct ws_text_out {
    FILE *out;
    bool color;
    unsigned width; /* columns; 0 = no limit (not a terminal) */
};

/* Colour and width of stdout: a terminal, NO_COLOR not set, TERM not dumb. Another FILE: neither. */
void ws_text_init(struct ws_text_out *t, FILE *out);

enum ws_style { WS_PLAIN, WS_BOLD, WS_DIM, WS_RED, WS_YELLOW, WS_GREEN, WS_STYLE_COUNT };
void ws_text_put(const struct ws_text_out *t, enum ws_style style, const char *text);
void ws_text_printf(const struct ws_text_out *t, enum ws_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Text broken between words to the width, every line after the first indented by so many blanks; starts at
 * column `column`. */
void ws_text_wrap(const struct ws_text_out *t, const char *text, unsigned column, unsigned indent);

/* Columns that a text takes: one a code point (kernel names are ASCII, units hold µ and ×). */
size_t ws_text_columns(const char *text);

/* A copy without control characters and without bytes that are no UTF-8, each a '?'. */
const char *ws_text_tame(struct ws_arena *arena, const char *text);

/* A table: titles first, then rows of the same length. Cells live in the arena until it is printed. */
struct ws_table {
    struct ws_arena arena;
    size_t columns;
    const char *align; /* one letter a column: l or r */
    const char **cells;
    size_t count, cap; /* of cells; row 0 are the titles */
    bool failed;       /* out of memory: that is printed, and nothing else */
};
void ws_table_init(struct ws_table *table, const char *align);
/* The next cell, row by row; tamed. */
void ws_table_add(struct ws_table *table, const char *text);
void ws_table_printf(struct ws_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Print, the last column cut to the terminal's width, and free. */
void ws_table_print(struct ws_table *table, const struct ws_text_out *t);

#endif
