/* SPDX-License-Identifier: MIT
 * kernel_source.c: see kernel_source.h.
 * Samples are of the kernel's own session, always; counts of instructions may be another session's of the same
 * signature, and are named so. */
#include "kernel_source.h"

#include "../analyzer/err.h"
#include "line_table.h"
#include "sass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ws_kernel_source_place(struct ws_kernel_source *s, const char *path, uint32_t line, int64_t *place)
{
    struct ws_source_file *f;
    *place = -1;
    if (!path || line == 0)
        return 0;
    for (size_t i = 0; i < s->file_count && *place < 0; i++)
        if (strcmp(s->files[i].path, path) == 0)
            *place = (int64_t)i;
    if (*place < 0) {
        if (s->file_count == s->file_cap) {
            size_t cap = s->file_cap ? s->file_cap * 2 : 8;
            struct ws_source_file *grown = realloc(s->files, cap * sizeof *grown);
            if (!grown)
                return -WS_ENOMEM;
            s->files = grown;
            s->file_cap = cap;
        }
        s->files[s->file_count] = (struct ws_source_file){ws_arena_text(&s->arena, path), line, line};
        if (!s->files[s->file_count].path)
            return -WS_ENOMEM;
        *place = (int64_t)s->file_count++;
    }
    f = &s->files[*place];
    f->first = line < f->first ? line : f->first;
    f->last = line > f->last ? line : f->last;
    return 0;
}

/* --- PC samples --- */

static int add_place(struct ws_kernel_source *s, uint64_t cubin, uint64_t pc, struct ws_source_sample **out)
{
    if (s->sample_count == s->sample_cap) {
        size_t cap = s->sample_cap ? s->sample_cap * 2 : 256;
        struct ws_source_sample *grown = realloc(s->samples, cap * sizeof *grown);
        if (!grown)
            return -WS_ENOMEM;
        s->samples = grown;
        s->sample_cap = cap;
    }
    if (!s->samples) /* not with a cap; the linter does not see it */
        return -WS_ENOMEM;
    *out = &s->samples[s->sample_count++];
    **out = (struct ws_source_sample){.cubin = cubin, .pc = pc, .file = -1, .call_file = -1};
    return 0;
}

static int take_sample(void *state, const struct ws_pc_sample_row *row)
{
    struct ws_kernel_source *s = state;
    struct ws_source_sample *at = s->sample_count > 0 ? &s->samples[s->sample_count - 1] : NULL;
    int err = 0;
    if (!at || at->cubin != row->cubin || at->pc != row->pc)
        err = add_place(s, row->cubin, row->pc, &at);
    if (err == 0) {
        ws_samples_add(&at->samples, row->reason, row->samples);
        ws_samples_add(&s->total, row->reason, row->samples);
    }
    return err;
}

static int by_place(const void *a, const void *b)
{
    const struct ws_source_sample *x = a;
    const struct ws_source_sample *y = b;
    if (x->cubin != y->cubin)
        return x->cubin < y->cubin ? -1 : 1;
    return x->pc < y->pc ? -1 : x->pc > y->pc;
}

/* Instructions that were never hit stand beside those that were: the code reads on. */
static int add_text(struct ws_kernel_source *s, uint64_t cubin, size_t first, size_t end, const struct ws_sass *sass)
{
    int err = 0;
    for (size_t i = first; err == 0 && i < end; i++) {
        const char *text = ws_sass_find(sass, s->samples[i].pc);
        s->samples[i].sass = text ? ws_arena_text(&s->arena, text) : NULL;
        err = text && !s->samples[i].sass ? -WS_ENOMEM : 0;
    }
    for (size_t i = 0, hit = first; err == 0 && i < sass->count; i++) {
        struct ws_source_sample *one;
        while (hit < end && s->samples[hit].pc < sass->lines[i].pc)
            hit++;
        if (hit < end && s->samples[hit].pc == sass->lines[i].pc)
            continue;
        err = add_place(s, cubin, sass->lines[i].pc, &one);
        if (err == 0) {
            one->sass = ws_arena_text(&s->arena, sass->lines[i].text);
            err = one->sass ? 0 : -WS_ENOMEM;
        }
    }
    return err;
}

static int find_line(struct ws_kernel_source *s, struct ws_source_sample *one, const struct ws_line_table *table)
{
    const struct ws_line_row *row = ws_line_table_find(table, one->pc);
    int err;
    if (!row)
        return 0;
    one->line = row->line;
    err = ws_kernel_source_place(s, table->files[row->file], row->line, &one->file);
    if (err == 0 && row->call_line > 0 && row->call_file < table->file_count) {
        one->call_line = row->call_line;
        err = ws_kernel_source_place(s, table->files[row->call_file], row->call_line, &one->call_file);
    }
    return err;
}

static const char *lines_why(int err)
{
    switch (err) {
    case -WS_ENOENT:
        return "the code was not told of";
    case -WS_ELIMIT:
        return "the code is too large to be kept";
    case -WS_EUNSUP:
        return "compile with -lineinfo";
    default:
        return "the code is damaged";
    }
}

/* One cubin's places: samples [first, end). Whatever is wrong with the code is a reason, not an error. */
static int explain(struct ws_store *store, int64_t session_id, struct ws_kernel_source *s, const char *mangled,
                   size_t first, size_t end, bool wants_sass)
{
    uint64_t cubin = s->samples[first].cubin;
    struct ws_line_table table = {NULL, 0, NULL, 0};
    struct ws_sass sass = {NULL, 0, 0};
    uint8_t *bytes = NULL;
    size_t length = 0;
    size_t added = s->sample_count;
    int code = ws_store_get_cubin(store, session_id, cubin, &bytes, &length);
    int lines = code == 0 ? ws_line_table_read(bytes, length, mangled, &table) : code;
    int text = code == 0 && wants_sass ? ws_sass_read(bytes, length, mangled, &sass) : -WS_EUNSUP;
    int err = lines == -WS_ENOMEM || text == -WS_ENOMEM ? -WS_ENOMEM : 0;
    if (err == 0 && text == 0)
        err = add_text(s, cubin, first, end, &sass);
    for (size_t i = first; err == 0 && lines == 0 && i < end; i++)
        err = find_line(s, &s->samples[i], &table);
    for (size_t i = added; err == 0 && lines == 0 && i < s->sample_count; i++)
        err = find_line(s, &s->samples[i], &table);
    if (lines != 0 && !s->lines_why)
        s->lines_why = lines_why(lines);
    if (text != 0 && !s->sass_why)
        s->sass_why = code != 0 ? lines_why(code) : ws_sass_why(text);
    ws_line_table_fini(&table);
    ws_sass_fini(&sass);
    free(bytes);
    return err;
}

int ws_kernel_source_load(struct ws_store *store, int64_t session_id, int64_t kernel_id, const char *mangled,
                          bool wants_sass, struct ws_kernel_source *out)
{
    size_t hit;
    int err;
    memset(out, 0, sizeof *out);
    err = ws_store_each_pc_sample_of(store, kernel_id, take_sample, out);
    /* The database sorts by signed numbers. */
    if (out->sample_count > 1)
        qsort(out->samples, out->sample_count, sizeof *out->samples, by_place);
    hit = out->sample_count;
    for (size_t first = 0, end; err == 0 && first < hit; first = end) {
        for (end = first + 1; end < hit && out->samples[end].cubin == out->samples[first].cubin; end++)
            ;
        err = explain(store, session_id, out, mangled, first, end, wants_sass);
    }
    if (out->sample_count > 1)
        qsort(out->samples, out->sample_count, sizeof *out->samples, by_place);
    return err;
}

void ws_kernel_source_fini(struct ws_kernel_source *s)
{
    free(s->files);
    free(s->samples);
    ws_arena_fini(&s->arena);
    memset(s, 0, sizeof *s);
}

static int by_line(const void *a, const void *b)
{
    const struct ws_source_line *x = a;
    const struct ws_source_line *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static int by_heat(const void *a, const void *b)
{
    const struct ws_source_line *x = a;
    const struct ws_source_line *y = b;
    if (x->all != y->all)
        return x->all > y->all ? -1 : 1;
    return by_line(a, b);
}

int ws_kernel_source_lines(const struct ws_kernel_source *s, struct ws_source_line **out, size_t *count)
{
    struct ws_source_line *lines = calloc(s->sample_count + 1, sizeof *lines);
    size_t n = 0;
    size_t kept = 0;
    if (!lines)
        return -WS_ENOMEM;
    for (size_t i = 0; i < s->sample_count; i++) {
        const struct ws_source_sample *one = &s->samples[i];
        if (ws_samples_all(&one->samples) == 0)
            continue;
        lines[n++] = (struct ws_source_line){one->file, one->file < 0 ? 0 : one->line, one->samples, 0};
    }
    qsort(lines, n, sizeof *lines, by_line);
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && by_line(&lines[kept - 1], &lines[i]) == 0)
            ws_samples_join(&lines[kept - 1].samples, &lines[i].samples);
        else
            lines[kept++] = lines[i];
    }
    for (size_t i = 0; i < kept; i++)
        lines[i].all = ws_samples_all(&lines[i].samples);
    qsort(lines, kept, sizeof *lines, by_heat);
    *out = lines;
    *count = kept;
    return 0;
}
