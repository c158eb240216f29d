/* SPDX-License-Identifier: MIT
 * kernel_source_text.c: `report --source KERNEL`: the hottest lines by PC samples, why warps waited there, and the
 * instructions of each. */
#include "kernel_source.h"

#include "../analyzer/err.h"
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TEXT 64
#define REASONS_SHOWN 4
#define INSTRUCTIONS_SHOWN 8
#define LINE_SHOWN 120 /* bytes of a line of source */

struct page {
    struct ws_text_out t;
    struct ws_arena arena;
    const struct ws_kernel_source *source;
    struct ws_source_text *texts; /* [file_count] */
    int *errors;                  /* [file_count] of reading them */
    uint64_t total;
};

static const char *percent(char out[TEXT], uint64_t part, uint64_t whole)
{
    ws_unit_format(out, TEXT, ws_value_of(whole > 0 ? (double)part / (double)whole : 0), WS_UNIT_RATIO);
    return out;
}

/* The text of a line without its indent; "" when it is not there. */
static const char *text_of_line(struct page *p, int64_t file, uint32_t wanted)
{
    const struct ws_source_text *text = &p->texts[file];
    size_t offset = 0;
    size_t length = 0;
    const char *at = "";
    uint32_t line = 0;
    if (p->errors[file] != 0)
        return "";
    while (line < wanted && ws_source_text_line(text, &offset, &at, &length))
        line++;
    if (line < wanted)
        return "";
    while (length > 0 && (*at == ' ' || *at == '\t')) {
        at++;
        length--;
    }
    at = ws_arena_text_n(&p->arena, at, length < LINE_SHOWN ? length : LINE_SHOWN);
    return at ? ws_text_tame(&p->arena, at) : "";
}

/* The reasons of a line, the most frequent first. */
static void put_reasons(struct page *p, const struct ws_source_line *line)
{
    bool used[WS_STALL_COUNT] = {false};
    uint64_t rest = line->all;
    char a[TEXT];
    ws_text_put(&p->t, WS_PLAIN, "          ");
    for (int n = 0; n < REASONS_SHOWN; n++) {
        struct ws_stall stall;
        int best = -1;
        for (int i = 0; i < WS_STALL_COUNT; i++)
            if (!used[i] && line->samples.all[i] > 0 && (best < 0 || line->samples.all[i] > line->samples.all[best]))
                best = i;
        if (best < 0)
            break;
        used[best] = true;
        rest -= line->samples.all[best];
        ws_stalls_get((enum ws_stall_id)best, &stall);
        ws_text_printf(&p->t, WS_PLAIN, "%s%s %s", n ? ", " : "", stall.reason,
                       percent(a, line->samples.all[best], line->all));
    }
    if (rest > 0)
        ws_text_printf(&p->t, WS_PLAIN, ", others %s", percent(a, rest, line->all));
    ws_text_put(&p->t, WS_PLAIN, "\n");
}

static bool is_of(const struct ws_source_sample *one, const struct ws_source_line *line)
{
    return line->file < 0 ? one->file < 0 : one->file == line->file && one->line == line->line;
}

static void put_instructions(struct page *p, const struct ws_source_line *line)
{
    const struct ws_kernel_source *s = p->source;
    size_t shown = 0;
    char a[TEXT];
    for (size_t i = 0; i < s->sample_count; i++) {
        const struct ws_source_sample *one = &s->samples[i];
        uint64_t n = ws_samples_all(&one->samples);
        if (n == 0 || !is_of(one, line))
            continue;
        if (shown++ == INSTRUCTIONS_SHOWN)
            ws_text_put(&p->t, WS_DIM, "            …\n");
        if (shown > INSTRUCTIONS_SHOWN)
            continue;
        ws_text_printf(&p->t, WS_DIM, "            %04" PRIx64 " %7s  %s", one->pc, percent(a, n, p->total),
                       one->sass ? ws_text_tame(&p->arena, one->sass) : "");
        if (one->call_file >= 0)
            ws_text_printf(&p->t, WS_DIM, "  (inlined at line %" PRIu32 ")", one->call_line);
        ws_text_put(&p->t, WS_PLAIN, "\n");
    }
}

static void put_line(struct page *p, const struct ws_source_line *line)
{
    char a[TEXT];
    ws_text_printf(&p->t, WS_BOLD, "%8s  ", percent(a, line->all, p->total));
    if (line->file < 0) {
        ws_text_put(&p->t, WS_PLAIN, "code without a source line\n");
    } else {
        const char *path = p->source->files[line->file].path;
        const char *slash = strrchr(path, '/');
        ws_text_printf(&p->t, WS_PLAIN, "%s:%" PRIu32 "  ", ws_text_tame(&p->arena, slash ? slash + 1 : path),
                       line->line);
        ws_text_printf(&p->t, WS_PLAIN, "%s\n", text_of_line(p, line->file, line->line));
    }
    put_reasons(p, line);
    put_instructions(p, line);
}

static void put_head(struct page *p, const struct ws_session *session, const struct ws_kernel *k)
{
    const struct ws_pc_totals *s = &session->sampling;
    ws_text_printf(&p->t, WS_BOLD, "%s", ws_text_tame(&p->arena, k->name.alias));
    ws_text_printf(&p->t, WS_PLAIN, "  %" PRIu64 " PC samples in all its launches", p->total);
    if (s->period_least > 0)
        ws_text_printf(&p->t, WS_PLAIN, ", one every 2^%" PRIu32 " cycles of an SM", s->period_least);
    ws_text_put(&p->t, WS_PLAIN, "\n");
}

static void put_tail(struct page *p, size_t lines, size_t shown)
{
    const struct ws_kernel_source *s = p->source;
    if (shown < lines)
        ws_text_printf(&p->t, WS_DIM, "  %zu more lines: --all\n", lines - shown);
    for (size_t i = 0; i < s->file_count; i++)
        if (p->errors[i] != 0)
            ws_text_printf(&p->t, WS_DIM, "  no text of %s: %s\n", ws_text_tame(&p->arena, s->files[i].path),
                           ws_source_text_why(p->errors[i]));
    if (s->lines_why)
        ws_text_printf(&p->t, WS_DIM, "  some code has no source lines: %s\n", s->lines_why);
    if (s->sass_why)
        ws_text_printf(&p->t, WS_DIM, "  no SASS text: %s\n", s->sass_why);
    ws_text_put(&p->t, WS_PLAIN, "\n");
}

static int print(struct page *p, const struct ws_session *session, const struct ws_kernel *k, size_t top)
{
    struct ws_source_line *lines = NULL;
    size_t count = 0;
    size_t shown;
    int err = ws_kernel_source_lines(p->source, &lines, &count);
    if (err != 0)
        return err;
    shown = top > 0 && top < count ? top : count;
    put_head(p, session, k);
    for (size_t i = 0; i < shown; i++)
        put_line(p, &lines[i]);
    put_tail(p, count, shown);
    free(lines);
    return 0;
}

int ws_kernel_source_text(struct ws_store *store, const struct ws_session *session, size_t kernel, size_t top,
                          FILE *out)
{
    const struct ws_kernel *k = &session->kernels[kernel];
    struct ws_kernel_source source;
    struct page p = {.source = &source};
    int err = ws_kernel_source_load(store, session->row.id, k->row.id, k->row.mangled, true, &source);
    ws_text_init(&p.t, out);
    p.total = ws_samples_all(&source.total);
    if (err == 0 && p.total == 0)
        err = -WS_ENOENT;
    if (err == 0) {
        p.texts = calloc(source.file_count + 1, sizeof *p.texts);
        p.errors = calloc(source.file_count + 1, sizeof *p.errors);
        err = p.texts && p.errors ? 0 : -WS_ENOMEM;
    }
    for (size_t i = 0; err == 0 && i < source.file_count; i++)
        p.errors[i] = ws_source_text_read(source.files[i].path, &p.texts[i]);
    if (err == 0)
        err = print(&p, session, k, top);
    for (size_t i = 0; p.texts && i < source.file_count; i++)
        free(p.texts[i].bytes);
    free(p.texts);
    free(p.errors);
    ws_arena_fini(&p.arena);
    ws_kernel_source_fini(&source);
    return err;
}
