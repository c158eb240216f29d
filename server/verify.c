/* SPDX-License-Identifier: MIT
 * verify.c: sessions against .expect files. Which session a line concerns: a host program (H1 …) has a session of its
 * own, the kernels of `warpsight-kernels all` share one. */
#include "verify.h"

#include "../analyzer/err.h"
#include "../analyzer/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every compiler we build with takes literals far longer than the 4095 bytes that C promises. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
static const struct {
    const char *name; /* "transpose" */
    const char *text;
} files[] = {
#define WS_EXPECT_FILE(name, text) {name, text},
#include "expect_list.h"
#undef WS_EXPECT_FILE
};
#pragma GCC diagnostic pop
#define FILES (sizeof files / sizeof *files)

size_t ws_verify_files(void)
{
    return FILES;
}

const char *ws_verify_file_name(size_t file)
{
    return files[file].name;
}

const char *ws_verify_file_text(size_t file)
{
    return files[file].text;
}

struct ws_word ws_verify_count(size_t file, unsigned count[WS_EXPECT_KINDS])
{
    struct ws_expect_reader reader;
    struct ws_expect line;
    int more;
    memset(count, 0, WS_EXPECT_KINDS * sizeof *count);
    ws_expect_open(&reader, files[file].text, strlen(files[file].text));
    while ((more = ws_expect_next(&reader, &line)) != 0)
        if (more == 1)
            count[line.kind]++;
    return reader.id;
}

/* --- what a line is judged by --------------------------------------------------------------------- */

/* The kernel whose report is at hand; a report has some 50 KiB, so it is made once for a run of lines. */
struct bench {
    const struct ws_session *session;
    struct ws_report *report;
    size_t kernel; /* session->kernel_count: none */
};

static bool seek(struct bench *bench, struct ws_word name)
{
    const struct ws_session *s = bench->session;
    if (bench->kernel < s->kernel_count && ws_expect_name_is(name, s->kernels[bench->kernel].name.demangled))
        return true;
    for (size_t i = 0; i < s->kernel_count; i++) {
        if (!ws_expect_name_is(name, s->kernels[i].name.demangled))
            continue;
        bench->kernel = i;
        ws_report_analyze(s, i, bench->report);
        return true;
    }
    return false;
}

static bool value_of(void *user, struct ws_word name, enum ws_metric_id key, struct ws_value *out)
{
    struct bench *bench = user;
    if (!seek(bench, name))
        return false;
    *out = bench->report->metric[key];
    return true;
}

static bool is_rule(const struct ws_rule *rule, struct ws_word id)
{
    return strncmp(rule->id, id.at, id.length) == 0 && (rule->id[id.length] == '-' || rule->id[id.length] == 0);
}

static enum ws_expect_fired fired_in(const struct ws_findings *f, struct ws_word rule)
{
    for (size_t i = 0; i < f->count; i++)
        if (is_rule(f->item[i].rule, rule))
            return WS_RULE_FIRED;
    /* A rule that gave way to one that says the same better did run, and is silent. */
    for (size_t i = 0; i < f->skipped_count; i++)
        if (is_rule(f->skipped[i].rule, rule) && !f->skipped[i].yielded_to)
            return f->skipped[i].missing.why == WS_WHY_NEEDS_GPU ? WS_RULE_NEEDS_GPU : WS_RULE_NOT_RUN;
    return WS_RULE_QUIET;
}

bool ws_verify_is_program(const struct ws_session *session, struct ws_word name)
{
    char word[80];
    snprintf(word, sizeof word, "\"%.*s\"", (int)name.length, name.at);
    return strstr(session->row.argv, word) != NULL;
}

static bool is_of_session(struct ws_word rule)
{
    char id[8];
    const struct ws_rule *known;
    snprintf(id, sizeof id, "%.*s", (int)(rule.length < 3 ? rule.length : 3), rule.at);
    known = ws_rules_find(id);
    return known && known->scope == WS_RULE_TIMELINE;
}

/* A rule about the whole session is judged in the session of the program that NAME is; others on a kernel. */
static enum ws_expect_fired fired(void *user, struct ws_word name, struct ws_word rule)
{
    struct bench *bench = user;
    if (is_of_session(rule))
        return ws_verify_is_program(bench->session, name) ? fired_in(bench->session->timeline, rule)
                                                          : WS_RULE_NO_LAUNCH;
    return seek(bench, name) ? fired_in(&bench->report->findings, rule) : WS_RULE_NO_LAUNCH;
}

static bool is_program(const struct ws_expect_reader *reader)
{
    return reader->id.length > 0 && reader->id.at[0] == 'H';
}

/* Whether the session is of one of the host programs H1…: its kernels are then not those of `warpsight-kernels all`. */
static bool is_session_of_program(const struct ws_session *session)
{
    for (size_t i = 0; i < FILES; i++) {
        struct ws_expect_reader reader;
        struct ws_expect line;
        int more;
        ws_expect_open(&reader, files[i].text, strlen(files[i].text));
        while ((more = ws_expect_next(&reader, &line)) != 0)
            if (more == 1 && is_program(&reader) && ws_verify_is_program(session, line.name))
                return true;
    }
    return false;
}

/* --- judging --------------------------------------------------------------------------------------- */

bool ws_verify_is_good(const struct ws_verify_tally *tally, bool strict)
{
    return tally->count[WS_VERDICT_BROKEN] == 0 && tally->count[WS_VERDICT_HOLDS] > 0 &&
           (!strict || ws_verify_open_lines(tally) == 0);
}

unsigned ws_verify_open_lines(const struct ws_verify_tally *tally)
{
    return tally->count[WS_VERDICT_UNKNOWN] + tally->count[WS_VERDICT_NO_LAUNCH];
}

static const struct ws_kernel *kernel_of(struct bench *bench, const struct ws_expect *line)
{
    if (line->kind != WS_EXPECT_VALUE && is_of_session(line->rule))
        return NULL;
    return seek(bench, line->name) ? &bench->session->kernels[bench->kernel] : NULL;
}

int ws_verify_session(const struct ws_session *session, const bool *wanted,
                      void (*each)(void *state, const struct ws_verify_line *line), void *state,
                      struct ws_verify_tally *tally)
{
    struct bench bench = {session, malloc(sizeof *bench.report), session->kernel_count};
    const struct ws_expect_facts facts = {.value = value_of, .fired = fired, .user = &bench};
    const bool of_program = is_session_of_program(session);
    const bool is_modelled = strcmp(session->row.source, "modelled") == 0;
    memset(tally, 0, sizeof *tally);
    if (!bench.report)
        return -WS_ENOMEM;
    for (size_t i = 0; i < FILES; i++) {
        struct ws_expect_reader reader;
        struct ws_expect line;
        int more;
        if (wanted && !wanted[i])
            continue;
        ws_expect_open(&reader, files[i].text, strlen(files[i].text));
        while ((more = ws_expect_next(&reader, &line)) != 0) {
            struct ws_verify_line judged = {
                i, reader.id, &line, NULL, ws_missing(WS_WHY_NOT_COLLECTED, NULL), WS_VERDICT_UNKNOWN};
            if (more == 1 && line.kind == WS_EXPECT_TWIN) /* scorecard.c */
                continue;
            if (more != 1) { /* tests/flow holds every line to parse */
                tally->count[WS_VERDICT_UNKNOWN]++;
                continue;
            }
            judged.verdict = ws_expect_judge(&line, &facts, &judged.got);
            /* A host program has a session of its own: what is not in this one is not missing from it. Only a machine
             * with a GPU has such sessions. */
            if (judged.verdict == WS_VERDICT_NO_LAUNCH && is_modelled && is_program(&reader))
                judged.verdict = WS_VERDICT_NEEDS_GPU;
            if (judged.verdict == WS_VERDICT_NO_LAUNCH && (of_program || is_program(&reader)))
                continue;
            judged.kernel = kernel_of(&bench, &line);
            each(state, &judged);
            tally->count[judged.verdict]++;
        }
    }
    free(bench.report);
    return 0;
}

/* --- words ------------------------------------------------------------------------------------------ */

void ws_verify_expected(const struct ws_expect *line, char *out, size_t cap)
{
    char number[32];
    ws_number_text(line->number, number);
    if (line->kind == WS_EXPECT_VALUE)
        snprintf(out, cap, "%s %s %s", ws_metric_get(line->key)->key, ws_expect_op_name(line->op), number);
    else
        snprintf(out, cap, "%.*s %s", (int)line->rule.length, line->rule.at,
                 line->kind == WS_EXPECT_FIRES ? "fires" : "stays quiet");
}

void ws_verify_measured(const struct ws_verify_line *line, char *out, size_t cap)
{
    char number[32];
    const struct ws_expect *e = line->expect;
    if (line->verdict == WS_VERDICT_NO_LAUNCH)
        snprintf(out, cap, "no launch in this session");
    else if (line->verdict == WS_VERDICT_NEEDS_GPU)
        snprintf(out, cap, "nothing: needs a GPU");
    else if (e->kind != WS_EXPECT_VALUE)
        snprintf(out, cap, "%s",
                 line->verdict == WS_VERDICT_UNKNOWN                                   ? "did not run"
                 : (e->kind == WS_EXPECT_FIRES) == (line->verdict == WS_VERDICT_HOLDS) ? "fires"
                                                                                       : "quiet");
    else if (ws_has(line->got)) {
        ws_number_text(line->got.number, number);
        snprintf(out, cap, "%s", number);
    } else {
        snprintf(out, cap, "none: %s%s%s", ws_why_code((enum ws_why)line->got.why), line->got.input ? " " : "",
                 line->got.input ? line->got.input : "");
    }
}

/* --- JSON ------------------------------------------------------------------------------------------- */

static void put_word(struct ws_json *j, const char *key, struct ws_word word)
{
    ws_json_key(j, key);
    ws_json_text_n(j, word.at, word.length);
}

/* What of a line has a number: the page draws it, a person reads "expected" and "measured". */
static void put_number(struct ws_json *j, const struct ws_verify_line *line)
{
    const struct ws_expect *e = line->expect;
    const struct ws_metric *m = ws_metric_get(e->key);
    const char letter[2] = {e->class_letter, 0};
    ws_json_put_text(j, "key", m->key);
    ws_json_put_text(j, "unit", ws_unit_get(m->unit)->symbol);
    ws_json_put_text(j, "op", ws_expect_op_name(e->op));
    ws_json_put_number(j, "number", e->number);
    if (e->op == WS_EXPECT_NEAR)
        ws_json_put_number(j, "tolerance", e->tolerance);
    ws_json_put_text(j, "class", letter);
    if (ws_has(line->got))
        ws_json_put_number(j, "value", line->got.number);
    else
        ws_json_put_null(j, "value");
}

static void put_line(void *state, const struct ws_verify_line *line)
{
    static const char *const kinds[] = {"value", "fires", "quiet"};
    struct ws_json *j = state;
    char expected[160];
    char found[192];
    ws_verify_expected(line->expect, expected, sizeof expected);
    ws_verify_measured(line, found, sizeof found);
    ws_json_object_line(j);
    put_word(j, "id", line->id);
    ws_json_put_text(j, "file", files[line->file].name);
    put_word(j, "kernel", line->expect->name);
    if (line->kernel)
        ws_json_put_int(j, "kernel_id", line->kernel->row.id);
    else
        ws_json_put_null(j, "kernel_id");
    ws_json_put_text(j, "expected", expected);
    ws_json_put_text(j, "measured", found);
    ws_json_put_text(j, "verdict", ws_verdict_name(line->verdict));
    ws_json_put_text(j, "kind", kinds[line->expect->kind]);
    if (line->expect->kind == WS_EXPECT_VALUE)
        put_number(j, line);
    else
        put_word(j, "rule", line->expect->rule);
    ws_json_end(j);
}

int ws_verify_json_members(const struct ws_session *session, const bool *wanted, bool strict, struct ws_json *j,
                           struct ws_verify_tally *tally)
{
    int err;
    ws_json_put_int(j, "session", session->row.id);
    ws_json_put_text(j, "source", session->row.source);
    ws_json_key(j, "lines");
    ws_json_array(j);
    err = ws_verify_session(session, wanted, put_line, j, tally);
    ws_json_end(j);
    ws_json_put_uint(j, "holds", tally->count[WS_VERDICT_HOLDS]);
    ws_json_put_uint(j, "broken", tally->count[WS_VERDICT_BROKEN]);
    ws_json_put_uint(j, "not_judged", ws_verify_open_lines(tally));
    ws_json_put_uint(j, "needs_gpu", tally->count[WS_VERDICT_NEEDS_GPU]);
    ws_json_put_bool(j, "verified", ws_verify_is_good(tally, strict));
    return err;
}

int ws_verify_json(const struct ws_session *session, const bool *wanted, bool strict, struct ws_json *j,
                   struct ws_verify_tally *tally)
{
    int err;
    ws_json_object(j);
    err = ws_verify_json_members(session, wanted, strict, j, tally);
    ws_json_end(j);
    return err;
}

void ws_verify_json_files(struct ws_json *j)
{
    ws_json_array(j);
    for (size_t i = 0; i < FILES; i++) {
        unsigned count[WS_EXPECT_KINDS];
        struct ws_word id = ws_verify_count(i, count);
        ws_json_object_line(j);
        put_word(j, "id", id);
        ws_json_put_text(j, "name", files[i].name);
        ws_json_put_uint(j, "values", count[WS_EXPECT_VALUE]);
        ws_json_put_uint(j, "fires", count[WS_EXPECT_FIRES]);
        ws_json_put_uint(j, "quiet", count[WS_EXPECT_QUIET]);
        ws_json_put_uint(j, "twins", count[WS_EXPECT_TWIN]);
        ws_json_end(j);
    }
    ws_json_end(j);
}
