/* SPDX-License-Identifier: MIT
 * export_markdown.c: a summary for a pull request: the kernels that took most time, what to change, what to know.
 * Short on purpose; `report` has the rest. Foreign text never becomes markup. */
#include "export.h"
#include "kernel_source.h"

#include "../analyzer/err.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { KERNELS = 10, FINDINGS = 10, TEXT = 64, NAME_MAX_BYTES = 120 };

/* One thing to change, and what it could save of the whole session. */
struct advice {
    size_t kernel;
    double saved; /* s; 0 = not known */
    struct ws_finding finding;
};

/* A name as code: no backtick, no bar, no control byte of it gets through. */
static void put_code(FILE *out, const char *name)
{
    size_t n = 0;
    fputc('`', out);
    for (; *name && n < NAME_MAX_BYTES; name++, n++) {
        unsigned char c = (unsigned char)*name;
        if (c == '|')
            fputs("\\|", out); /* a cell of a table ends at a bar, in code too */
        else
            fputc(c < 32 || c == 127 || c == '`' ? '?' : c, out);
    }
    while (((unsigned char)*name & 0xc0) == 0x80) /* not half a character */
        fputc(*name++, out);
    fputs(*name ? "…`" : "`", out);
}

/* Words of a person's or of ours: what Markdown and HTML would take for themselves is escaped. */
static void put_words(FILE *out, const char *words)
{
    for (; *words; words++) {
        unsigned char c = (unsigned char)*words;
        if (strchr("\\`*_[]<>|#", c))
            fputc('\\', out);
        fputc(c < 32 || c == 127 ? ' ' : c, out);
    }
}

static void put_cell(FILE *out, struct ws_value value, enum ws_unit unit)
{
    char text[TEXT];
    if (ws_has(value))
        ws_unit_format(text, sizeof text, value, unit);
    fprintf(out, " %s |", ws_has(value) ? text : "–");
}

static void put_head(FILE *out, const struct ws_session *s)
{
    const struct ws_session_row *r = &s->row;
    char text[TEXT];
    fputs("### WarpSight: ", out);
    put_words(out, *r->name ? r->name : "a session");
    fprintf(out, " (%s)\n\n", r->source);
    for (size_t i = 0; i < s->device_count; i++) {
        fprintf(out, "%sGPU %u: ", i ? "  \n" : "", s->devices[i].device.index);
        put_words(out, s->devices[i].device.name);
        fprintf(out, ", compute capability %u.%u", s->devices[i].device.cc_major, s->devices[i].device.cc_minor);
    }
    ws_unit_format(text, sizeof text, ws_value_of(s->total_s), WS_UNIT_SECOND);
    fprintf(out, "%s%zu kernel signature%s, %s on the GPU\n\n", s->device_count ? "  \n" : "", s->kernel_count,
            s->kernel_count == 1 ? "" : "s", s->total_s > 0 ? text : "no time known");
}

static void put_kernels(FILE *out, const struct ws_session *s, struct ws_report *report)
{
    fputs("| time | share | launches | kernel | occupancy | DRAM | main finding |\n|--:|--:|--:|---|--:|--:|---|\n",
          out);
    for (size_t i = 0; i < s->kernel_count && i < KERNELS; i++) {
        const struct ws_kernel *k = &s->kernels[i];
        struct ws_value share = ws_missing(WS_WHY_NOT_COLLECTED, NULL);
        if (ws_has(k->times.total) && s->total_s > 0)
            share = ws_value_of(k->times.total.number / s->total_s);
        ws_report_analyze(s, i, report);
        fputc('|', out);
        put_cell(out, k->times.total, WS_UNIT_SECOND);
        put_cell(out, share, WS_UNIT_RATIO);
        fprintf(out, " %" PRIu64 " | ", k->launches);
        put_code(out, k->name.alias);
        fputs(" |", out);
        put_cell(out, report->metric[WS_M_achieved_occupancy], WS_UNIT_RATIO);
        put_cell(out, report->metric[WS_M_dram_throughput], WS_UNIT_RATIO);
        fprintf(out, " %s |\n", report->findings.count > 0 ? report->findings.item[0].rule->id : "–");
    }
    if (s->kernel_count > KERNELS)
        fprintf(out, "\n%zu more kernel signatures are not shown.\n", s->kernel_count - KERNELS);
    fputc('\n', out);
}

/* The line with most samples, if the code has lines. */
static void put_hottest(FILE *out, const struct ws_kernel_source *source)
{
    struct ws_source_line *lines = NULL;
    size_t count = 0;
    char text[TEXT];
    if (ws_kernel_source_lines(source, &lines, &count) == 0 && count > 0 && lines[0].file >= 0) {
        const char *path = source->files[lines[0].file].path;
        const char *slash = strrchr(path, '/');
        char place[256];
        ws_unit_format(text, sizeof text, ws_value_of((double)lines[0].all / (double)ws_samples_all(&source->total)),
                       WS_UNIT_RATIO);
        snprintf(place, sizeof place, "%.200s:%" PRIu32, slash ? slash + 1 : path, lines[0].line);
        fprintf(out, "; %s at ", text);
        put_code(out, place);
    }
    free(lines);
}

static void put_sampled(FILE *out, const struct ws_kernel *k)
{
    struct ws_stall_bar bar;
    bool used[WS_STALL_COUNT] = {false};
    char text[TEXT];
    ws_stalls_of_samples(k->samples, &bar);
    fputs("- ", out);
    put_code(out, k->name.alias);
    fprintf(out, ", %" PRIu64 " samples:", ws_samples_all(k->samples));
    for (int n = 0; n < 3; n++) {
        struct ws_stall stall;
        int best = -1;
        for (int i = 0; i < WS_STALL_COUNT; i++)
            if (!used[i] && ws_has(bar.share[i]) && bar.share[i].number > 0 &&
                (best < 0 || bar.share[i].number > bar.share[best].number))
                best = i;
        if (best < 0)
            break;
        used[best] = true;
        ws_stalls_get((enum ws_stall_id)best, &stall);
        ws_unit_format(text, sizeof text, bar.share[best], WS_UNIT_RATIO);
        fprintf(out, "%s %s %s", n ? "," : "", stall.reason, text);
    }
}

/* Another method than the counters of the table: in a list of its own. */
static int put_samples(const struct ws_export *e)
{
    const struct ws_session *s = e->session;
    bool any = false;
    int err = 0;
    for (size_t i = 0; err == 0 && i < s->kernel_count && i < KERNELS; i++) {
        struct ws_kernel_source source;
        bool is_shown = s->kernels[i].samples == NULL;
        for (size_t k = 0; k < i && !is_shown; k++)
            is_shown = s->kernels[k].samples == s->kernels[i].samples;
        if (is_shown)
            continue;
        if (!any)
            fputs("**Where warps waited** (PC samples: stall shares of each function, and its hottest line)\n\n",
                  e->out);
        any = true;
        put_sampled(e->out, &s->kernels[i]);
        err =
            ws_kernel_source_load(e->store, s->row.id, s->kernels[i].row.id, s->kernels[i].row.mangled, false, &source);
        if (err == 0)
            put_hottest(e->out, &source);
        ws_kernel_source_fini(&source);
        fputc('\n', e->out);
    }
    if (any)
        fputc('\n', e->out);
    return err;
}

static int by_saving(const void *a, const void *b)
{
    const struct advice *x = a;
    const struct advice *y = b;
    if (x->saved != y->saved)
        return x->saved > y->saved ? -1 : 1;
    return x->kernel < y->kernel ? -1 : x->kernel > y->kernel;
}

/* Keep the FINDINGS that save most; one place more in list is for the one that comes. */
static void offer(struct advice *list, size_t *count, const struct advice *one)
{
    list[(*count)++] = *one;
    qsort(list, *count, sizeof *list, by_saving);
    if (*count > FINDINGS)
        *count = FINDINGS;
}

static void put_advice(FILE *out, const struct ws_session *s, const struct advice *a)
{
    char text[TEXT];
    fprintf(out, "- **%s**, ", a->finding.rule->id);
    if (a->kernel < s->kernel_count)
        put_code(out, s->kernels[a->kernel].name.alias);
    else
        fputs("between the kernels", out);
    if (a->saved > 0) {
        ws_unit_format(text, sizeof text, ws_value_of(a->saved), WS_UNIT_SECOND);
        fprintf(out, ", could save %s", text);
    }
    fputs(": ", out);
    put_words(out, a->finding.text);
    fputc('\n', out);
}

/* What is worth a change, most time first: of kernels, and between them. */
static int put_findings(FILE *out, const struct ws_session *s, struct ws_report *report)
{
    struct advice *list = calloc(FINDINGS + 1, sizeof *list);
    struct advice one;
    size_t count = 0;
    if (!list)
        return -WS_ENOMEM;
    for (size_t i = 0; i < s->kernel_count; i++) {
        ws_report_analyze(s, i, report);
        for (size_t n = 0; n < report->findings.count; n++) {
            one = (struct advice){.kernel = i, .finding = report->findings.item[n]};
            if (one.finding.severity == WS_SEVERITY_INFO)
                continue;
            if (ws_has(one.finding.gain) && ws_has(s->kernels[i].times.total))
                one.saved = one.finding.gain.number * s->kernels[i].times.total.number;
            offer(list, &count, &one);
        }
    }
    for (size_t n = 0; s->timeline && n < s->timeline->count; n++) {
        one = (struct advice){.kernel = s->kernel_count, .finding = s->timeline->item[n]};
        if (one.finding.severity != WS_SEVERITY_INFO)
            offer(list, &count, &one);
    }
    if (count > 0)
        fputs("**What to change** (gains are estimates; the most time first)\n\n", out);
    else
        fputs("No rule found anything to change.\n", out);
    for (size_t i = 0; i < count; i++)
        put_advice(out, s, &list[i]);
    free(list);
    return 0;
}

static void put_warnings(FILE *out, const struct ws_session *s)
{
    if (s->warning_count > 0)
        fputs("\n**To know before you believe it**\n\n", out);
    for (size_t i = 0; i < s->warning_count; i++) {
        fputs("- ", out);
        put_words(out, s->warnings[i].message);
        fputc(' ', out);
        put_words(out, s->warnings[i].remedy);
        fputc('\n', out);
    }
}

int ws_export_markdown(const struct ws_export *e)
{
    struct ws_report *report = malloc(sizeof *report);
    int err;
    if (!report)
        return -WS_ENOMEM;
    put_head(e->out, e->session);
    put_kernels(e->out, e->session, report);
    err = put_samples(e);
    if (err == 0)
        err = put_findings(e->out, e->session, report);
    put_warnings(e->out, e->session);
    free(report);
    return err;
}
