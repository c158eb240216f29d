/* SPDX-License-Identifier: MIT
 * ncu.c: `ncu --csv --page details` as advice. RFC 4180 with lines of the tool before the titles; one row a metric or
 * rule of a launch. Only rows with an estimate are kept. */
#include "ncu.h"

#include "../analyzer/err.h"
#include "../analyzer/number.h"
#include "arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { LAUNCHES_MAX = 1000000, COLUMNS_MAX = 64, TEXT_MAX = 4096 };
#define FILE_MAX ((size_t)1 << 30)

enum column { ID, KERNEL, BLOCK, GRID, RULE, TYPE, SPEEDUP, COLUMNS };
static const char *const titles[COLUMNS] = {
    "ID", "Kernel Name", "Block Size", "Grid Size", "Rule Name", "Estimated Speedup Type", "Estimated Speedup"};

struct launch {
    const char *id, *kernel;
    struct ws_dim3 grid, block;
    struct ws_ncu_advice advice;
};

struct ws_ncu {
    struct ws_arena arena;
    struct launch *launches; /* [count], in order of the file */
    size_t count, cap;
    size_t left_out;
};

/* --- cells --- */

/* One row: its cells one after another in text, each NUL-ended. */
struct row {
    char *text; /* [cap] */
    size_t used, cap;
    size_t start[COLUMNS_MAX]; /* of each cell in text */
    size_t count;              /* of cells, also those that have no place */
    bool failed;               /* out of memory */
};

static void put(struct row *row, char c)
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

/* Read one cell at text[at]; returns the place behind it: on a comma, a line's end, or length. */
static size_t read_cell(struct row *row, const char *text, size_t length, size_t at)
{
    bool quoted = at < length && text[at] == '"';
    if (row->count < COLUMNS_MAX)
        row->start[row->count] = row->used;
    at += quoted;
    while (at < length) {
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
        if (c == 0)
            c = '?';
        if (row->count < COLUMNS_MAX)
            put(row, c);
        at++;
    }
    if (row->count < COLUMNS_MAX)
        put(row, 0);
    row->count++;
    return at;
}

/* Read a row at *at and go to the next one. False: the text is at its end, or memory is out. */
static bool read_row(struct row *row, const char *text, size_t length, size_t *at)
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

static const char *cell(const struct row *row, size_t column)
{
    return column < row->count && column < COLUMNS_MAX ? row->text + row->start[column] : "";
}

/* --- titles --- */

/* Where each column is; false: this row is not the one of titles. */
static bool find_columns(const struct row *row, size_t place[COLUMNS])
{
    for (int c = 0; c < COLUMNS; c++)
        place[c] = COLUMNS_MAX;
    for (size_t i = 0; i < row->count && i < COLUMNS_MAX; i++)
        for (int c = 0; c < COLUMNS; c++)
            if (strcmp(cell(row, i), titles[c]) == 0)
                place[c] = i;
    return place[ID] < COLUMNS_MAX && place[KERNEL] < COLUMNS_MAX;
}

static int check_columns(const size_t place[COLUMNS], char *message, size_t cap)
{
    for (int c = 0; c < COLUMNS; c++)
        if (place[c] == COLUMNS_MAX) {
            snprintf(message, cap, "there is no column '%s': is it from ncu --csv --page details?", titles[c]);
            return -WS_ESYNTAX;
        }
    return 0;
}

/* --- values --- */

/* "(32, 8, 1)" */
static bool read_dim3(const char *text, struct ws_dim3 *out)
{
    uint32_t *const parts[] = {&out->x, &out->y, &out->z};
    if (*text++ != '(')
        return false;
    for (int i = 0; i < 3; i++) {
        double number;
        size_t n;
        text += strspn(text, " ");
        n = ws_number_read(text, strlen(text), &number);
        if (n == 0 || !(number >= 0 && number <= UINT32_MAX) || number != (double)(uint32_t)number)
            return false;
        *parts[i] = (uint32_t)number;
        text += n;
        text += strspn(text, " ");
        if (*text++ != (i < 2 ? ',' : ')'))
            return false;
    }
    return true;
}

/* "31.25", percent of the time. */
static bool read_share(const char *text, double *out)
{
    double percent = -1;
    text += strspn(text, " ");
    text += ws_number_read(text, strlen(text), &percent);
    text += strspn(text, " %");
    *out = percent / 100;
    return *text == 0 && *out >= 0 && *out <= 1;
}

static const char *keep(struct ws_ncu *ncu, const char *text)
{
    return ws_arena_text_n(&ncu->arena, text, strnlen(text, TEXT_MAX));
}

/* The launch of a row: the one before, as a rule, or a new one. */
static int find_launch(struct ws_ncu *ncu, const struct row *row, const size_t place[COLUMNS], struct launch **out)
{
    struct launch l = {
        .advice = {ws_missing(WS_WHY_NOT_IN_SOURCE, NULL), ws_missing(WS_WHY_NOT_IN_SOURCE, NULL), "", ""}};
    struct launch *last = ncu->count > 0 ? &ncu->launches[ncu->count - 1] : NULL;
    *out = last;
    if (last && strcmp(last->id, cell(row, place[ID])) == 0)
        return 0;
    if (!read_dim3(cell(row, place[GRID]), &l.grid) || !read_dim3(cell(row, place[BLOCK]), &l.block))
        return -WS_ESYNTAX;
    if (ncu->count == LAUNCHES_MAX)
        return -WS_ELIMIT;
    if (ncu->count == ncu->cap) {
        size_t cap = ncu->cap ? 2 * ncu->cap : 256;
        struct launch *grown = realloc(ncu->launches, cap * sizeof *grown);
        if (!grown)
            return -WS_ENOMEM;
        ncu->launches = grown;
        ncu->cap = cap;
    }
    l.id = keep(ncu, cell(row, place[ID]));
    l.kernel = keep(ncu, cell(row, place[KERNEL]));
    if (!l.id || !l.kernel)
        return -WS_ENOMEM;
    *out = &ncu->launches[ncu->count++];
    **out = l;
    return 0;
}

/* Keep the larger estimate. */
static int take(struct ws_ncu *ncu, double share, const char *rule, struct ws_value *value, const char **name)
{
    if (ws_has(*value) && value->number >= share)
        return 0;
    *name = keep(ncu, rule);
    if (!*name)
        return -WS_ENOMEM;
    *value = ws_value_of(share);
    value->grade = WS_GRADE_ESTIMATE;
    return 0;
}

static int take_row(struct ws_ncu *ncu, const struct row *row, const size_t place[COLUMNS])
{
    const char *type = cell(row, place[TYPE]), *rule = cell(row, place[RULE]), *speedup = cell(row, place[SPEEDUP]);
    struct launch *l = NULL;
    double share = 0;
    int err = find_launch(ncu, row, place, &l);
    if (err == 0 && *speedup == 0 && *type == 0)
        return 0; /* a metric, or a rule without an estimate */
    if (err == 0 && !read_share(speedup, &share))
        err = -WS_ESYNTAX;
    if (err == 0 && strcmp(type, "global") == 0)
        err = take(ncu, share, rule, &l->advice.global, &l->advice.global_rule);
    else if (err == 0 && strcmp(type, "local") == 0)
        err = take(ncu, share, rule, &l->advice.local, &l->advice.local_rule);
    else if (err == 0)
        err = -WS_ESYNTAX;
    if (err == -WS_ESYNTAX) {
        ncu->left_out++;
        err = 0;
    }
    return err;
}

/* --- all together --- */

static int parse(struct ws_ncu *ncu, struct row *row, const char *text, size_t length, char *message, size_t cap)
{
    size_t place[COLUMNS];
    size_t at = 0;
    bool found = false;
    int err = 0;
    while (!found && read_row(row, text, length, &at))
        found = find_columns(row, place);
    if (!found) {
        if (row->failed)
            return -WS_ENOMEM;
        snprintf(message, cap, "there is no line of column titles: is it from ncu --csv --page details?");
        return -WS_ESYNTAX;
    }
    err = check_columns(place, message, cap);
    while (err == 0 && read_row(row, text, length, &at)) {
        if (row->count == 1 && *cell(row, 0) == 0)
            continue; /* an empty line */
        err = take_row(ncu, row, place);
    }
    return row->failed ? -WS_ENOMEM : err;
}

int ws_ncu_parse(const char *text, size_t length, struct ws_ncu **out, char *message, size_t cap)
{
    struct ws_ncu *ncu = calloc(1, sizeof *ncu);
    struct row row = {.text = NULL};
    int err;
    snprintf(message, cap, "out of memory");
    if (!ncu)
        return -WS_ENOMEM;
    err = parse(ncu, &row, text, length, message, cap);
    free(row.text);
    if (err == -WS_ELIMIT)
        snprintf(message, cap, "more than %d launches", LAUNCHES_MAX);
    if (err != 0)
        ws_ncu_free(ncu);
    else
        *out = ncu;
    return err;
}

/* All of a file, plain or compressed; *text is to be freed, also after an error. */
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

int ws_ncu_read(const char *path, struct ws_ncu **out, char *message, size_t cap)
{
    gzFile file = gzopen(path, "rbe");
    char *text = NULL;
    size_t used = 0;
    int err = file ? read_all(file, &text, &used) : -WS_EIO;
    if (file && gzclose(file) != Z_OK && err == 0) /* the end of a compressed file is missing */
        err = -WS_EIO;
    if (err == 0)
        err = ws_ncu_parse(text, used, out, message, cap);
    else
        snprintf(message, cap, "%s", err == -WS_EIO ? "it cannot be read" : ws_err_text(err));
    free(text);
    return err;
}

void ws_ncu_free(struct ws_ncu *ncu)
{
    if (!ncu)
        return;
    ws_arena_fini(&ncu->arena);
    free(ncu->launches);
    free(ncu);
}

size_t ws_ncu_launches(const struct ws_ncu *ncu)
{
    return ncu->count;
}

size_t ws_ncu_left_out(const struct ws_ncu *ncu)
{
    return ncu->left_out;
}

static bool is_same(struct ws_dim3 a, struct ws_dim3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

bool ws_ncu_find(const struct ws_ncu *ncu, struct ws_word name, struct ws_dim3 grid, struct ws_dim3 block,
                 struct ws_ncu_advice *out)
{
    for (size_t i = 0; i < ncu->count; i++) {
        const struct launch *l = &ncu->launches[i];
        if (!is_same(l->grid, grid) || !is_same(l->block, block) || !ws_expect_name_is(name, l->kernel))
            continue;
        *out = l->advice;
        return true;
    }
    return false;
}
