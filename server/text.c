/* SPDX-License-Identifier: MIT
 * text.c: tables and styled words for a terminal. */
#include "text.h"

#include "utf8.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void ws_text_init(struct ws_text_out *t, FILE *out)
{
    const char *term = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");
    struct winsize size;
    bool is_terminal = out == stdout && isatty(STDOUT_FILENO);
    t->out = out;
    t->color = is_terminal && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
    t->width = 0;
    if (is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
        t->width = size.ws_col;
}

void ws_text_put(const struct ws_text_out *t, enum ws_style style, const char *text)
{
    static const char *const codes[WS_STYLE_COUNT] = {"", "\033[1m", "\033[2m", "\033[31m", "\033[33m", "\033[32m"};
    bool styled = t->color && style != WS_PLAIN;
    if (styled)
        fputs(codes[style], t->out);
    fputs(text, t->out);
    if (styled)
        fputs("\033[0m", t->out);
}

void ws_text_printf(const struct ws_text_out *t, enum ws_style style, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    int n;
    va_start(args, format);
    n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0)
        return;
    ws_text_put(t, style, text);
    free(text);
}

/* Stands where a text should: an answer that lacks something must say so. */
#define NO_MEMORY "(out of memory)"

/* Bytes of the character at s[0..left), 0 when it is no UTF-8 or a control character. */
static size_t printable(const unsigned char *s, size_t left)
{
    size_t n = ws_utf8_length(s, left);
    /* U+0080 to U+009F are controls, too: terminals obey them. */
    return (n == 1 && (s[0] < 0x20 || s[0] == 0x7f)) || (n == 2 && s[0] == 0xc2 && s[1] < 0xa0) ? 0 : n;
}

const char *ws_text_tame(struct ws_arena *arena, const char *text)
{
    size_t length = strlen(text);
    const unsigned char *s = (const unsigned char *)text;
    char *copy = ws_arena_take(arena, length + 1);
    size_t used = 0;
    if (!copy)
        return NO_MEMORY;
    for (size_t i = 0; i < length;) {
        size_t n = printable(s + i, length - i);
        if (n == 0) {
            copy[used++] = '?';
            i++;
            continue;
        }
        memcpy(copy + used, text + i, n);
        used += n;
        i += n;
    }
    return copy;
}

size_t ws_text_columns(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

/* Bytes of the first `columns` columns. */
static size_t bytes_of(const char *text, size_t columns)
{
    size_t i = 0;
    while (text[i] && columns > 0) {
        i++;
        while (((unsigned char)text[i] & 0xc0) == 0x80)
            i++;
        columns--;
    }
    return i;
}

void ws_text_wrap(const struct ws_text_out *t, const char *text, unsigned column, unsigned indent)
{
    unsigned width = t->width ? t->width : 120;
    bool is_first = true;
    while (*text) {
        size_t n = strcspn(text, " \n");
        char word[256];
        size_t columns;
        if (n >= sizeof word)
            n = sizeof word - 1;
        memcpy(word, text, n);
        word[n] = 0;
        columns = ws_text_columns(word);
        if (!is_first && column + columns + 1 > width) {
            fprintf(t->out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!is_first) {
            fputc(' ', t->out);
            column++;
        }
        fputs(word, t->out);
        column += (unsigned)columns;
        is_first = false;
        text += n;
        text += strspn(text, " \n");
    }
    fputc('\n', t->out);
}

void ws_table_init(struct ws_table *table, const char *align)
{
    memset(table, 0, sizeof *table);
    table->align = align;
    table->columns = strlen(align);
}

void ws_table_add(struct ws_table *table, const char *text)
{
    if (table->count == table->cap) {
        size_t cap = table->cap ? table->cap * 2 : 64;
        const char **grown = realloc(table->cells, cap * sizeof *grown);
        if (!grown) {
            table->failed = true;
            return;
        }
        table->cells = grown;
        table->cap = cap;
    }
    table->cells[table->count++] = ws_text_tame(&table->arena, text);
}

void ws_table_printf(struct ws_table *table, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    int n;
    va_start(args, format);
    n = vasprintf(&text, format, args);
    va_end(args);
    ws_table_add(table, n < 0 ? NO_MEMORY : text);
    if (n >= 0)
        free(text);
}

static size_t column_width(const struct ws_table *table, size_t column)
{
    size_t most = 0;
    for (size_t i = column; i < table->count; i += table->columns) {
        size_t n = ws_text_columns(table->cells[i]);
        if (n > most)
            most = n;
    }
    return most;
}

static void put_cell(const struct ws_text_out *t, const char *cell, char align, size_t width, bool is_last)
{
    size_t n = ws_text_columns(cell);
    size_t blanks = width > n ? width - n : 0;
    if (is_last && align == 'l') {
        /* "…" says that it goes on; the whole name is in --json. */
        if (width > 1 && n > width)
            fprintf(t->out, "%.*s…", (int)bytes_of(cell, width - 1), cell);
        else
            fputs(cell, t->out);
        return;
    }
    if (align == 'r')
        fprintf(t->out, "%*s%s", (int)blanks, "", cell);
    else
        fprintf(t->out, "%s%*s", cell, (int)blanks, "");
}

static void put_rows(const struct ws_table *table, const struct ws_text_out *t, const size_t *widths)
{
    static const char *const codes[] = {"\033[2m", "\033[0m"};
    for (size_t row = 0; row * table->columns < table->count; row++) {
        if (row == 0 && t->color)
            fputs(codes[0], t->out);
        for (size_t c = 0; c < table->columns && row * table->columns + c < table->count; c++) {
            if (c > 0)
                fputs("  ", t->out);
            put_cell(t, table->cells[row * table->columns + c], table->align[c], widths[c], c + 1 == table->columns);
        }
        if (row == 0 && t->color)
            fputs(codes[1], t->out);
        fputc('\n', t->out);
    }
}

void ws_table_print(struct ws_table *table, const struct ws_text_out *t)
{
    size_t *widths = calloc(table->columns, sizeof *widths);
    size_t used = 0;
    if (widths && !table->failed) {
        for (size_t c = 0; c < table->columns; c++) {
            widths[c] = column_width(table, c);
            if (c + 1 < table->columns)
                used += widths[c] + 2;
        }
        if (t->width && widths[table->columns - 1] + used > t->width && t->width > used + 8)
            widths[table->columns - 1] = t->width - used;
        put_rows(table, t, widths);
    } else {
        fputs(NO_MEMORY "\n", t->out);
    }
    free(widths);
    free(table->cells);
    ws_arena_fini(&table->arena);
}
