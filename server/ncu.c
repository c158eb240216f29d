/* SPDX-License-Identifier: MIT
 * ncu.c: `ncu --csv --page details` as advice. RFC 4180 with lines of the tool before the titles; one row a metric or
 * rule of a launch. Only rows with an estimate are kept. */
#include "ncu.h"

#include "../analyzer/err.h"
#include "../analyzer/number.h"
#include "arena.h"
#include "csv_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAUNCHES_MAX = 1000000, COLUMNS_MAX = 64, TEXT_MAX = 4096 };

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

/* --- titles --- */

/* Where each column is; false: this row is not the one of titles. */
static bool find_columns(const struct ws_csv_row *row, size_t place[COLUMNS])
{
    for (int c = 0; c < COLUMNS; c++)
        place[c] = COLUMNS_MAX;
    for (size_t i = 0; i < row->count && i < COLUMNS_MAX; i++)
        for (int c = 0; c < COLUMNS; c++)
            if (strcmp(ws_csv_cell(row, i), titles[c]) == 0)
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
static int find_launch(struct ws_ncu *ncu, const struct ws_csv_row *row, const size_t place[COLUMNS],
                       struct launch **out)
{
    struct launch l = {
        .advice = {ws_missing(WS_WHY_NOT_IN_SOURCE, NULL), ws_missing(WS_WHY_NOT_IN_SOURCE, NULL), "", ""}};
    struct launch *last = ncu->count > 0 ? &ncu->launches[ncu->count - 1] : NULL;
    *out = last;
    if (last && strcmp(last->id, ws_csv_cell(row, place[ID])) == 0)
        return 0;
    if (!read_dim3(ws_csv_cell(row, place[GRID]), &l.grid) || !read_dim3(ws_csv_cell(row, place[BLOCK]), &l.block))
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
    l.id = keep(ncu, ws_csv_cell(row, place[ID]));
    l.kernel = keep(ncu, ws_csv_cell(row, place[KERNEL]));
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

static int take_row(struct ws_ncu *ncu, const struct ws_csv_row *row, const size_t place[COLUMNS])
{
    const char *type = ws_csv_cell(row, place[TYPE]), *rule = ws_csv_cell(row, place[RULE]),
               *speedup = ws_csv_cell(row, place[SPEEDUP]);
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

static int parse(struct ws_ncu *ncu, struct ws_csv_row *row, const char *text, size_t length, char *message, size_t cap)
{
    size_t place[COLUMNS];
    size_t at = 0;
    bool found = false;
    int err = 0;
    while (!found && ws_csv_read_row(row, text, length, &at))
        found = find_columns(row, place);
    if (!found) {
        if (row->failed)
            return -WS_ENOMEM;
        snprintf(message, cap, "there is no line of column titles: is it from ncu --csv --page details?");
        return -WS_ESYNTAX;
    }
    err = check_columns(place, message, cap);
    while (err == 0 && ws_csv_read_row(row, text, length, &at)) {
        if (row->count == 1 && *ws_csv_cell(row, 0) == 0)
            continue; /* an empty line */
        err = take_row(ncu, row, place);
    }
    return row->failed ? -WS_ENOMEM : err;
}

int ws_ncu_parse(const char *text, size_t length, struct ws_ncu **out, char *message, size_t cap)
{
    struct ws_ncu *ncu = calloc(1, sizeof *ncu);
    struct ws_csv_row row = {.text = NULL};
    int err;
    snprintf(message, cap, "out of memory");
    if (!ncu)
        return -WS_ENOMEM;
    err = parse(ncu, &row, text, length, message, cap);
    ws_csv_row_free(&row);
    if (err == -WS_ELIMIT)
        snprintf(message, cap, "more than %d launches", LAUNCHES_MAX);
    if (err != 0)
        ws_ncu_free(ncu);
    else
        *out = ncu;
    return err;
}

int ws_ncu_read(const char *path, struct ws_ncu **out, char *message, size_t cap)
{
    char *text = NULL;
    size_t used = 0;
    int err = ws_csv_read_file(path, &text, &used);
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
