/* SPDX-License-Identifier: MIT
 * cmd_kernels.c: `warpsight kernels`: the reference kernels and their known answers.
 * list: what there is. verify: holds a session against every .expect line and says expected, measured, verdict.
 * The lines are read and judged by analyzer/expect.c; the files are compiled in (kernels/<name>.expect). */
#include "../analyzer/expect.h"
#include "../analyzer/rules.h"
#include "cli.h"
#include "cmd.h"
#include "json.h"
#include "reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMAND "kernels"
#define RUN_NAME "kernels-verify"

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

enum { OPT_ALL, OPT_STRICT, OPT_JSON };
static const struct ws_option options[] = {
    {"all", 'a', NULL, "verify: print every line, not only those that do not hold"},
    {"strict", 0, NULL, "verify: a line that cannot be judged fails, too"},
    {"json", 0, NULL, "as JSON"},
    {NULL, 0, NULL, NULL},
};

struct request {
    const char *what, *session;
    bool all, strict, json;
};

/* --- list ----------------------------------------------------------------------------------------- */

static void count_lines(size_t file, struct ws_expect_reader *reader, unsigned count[3])
{
    struct ws_expect line;
    int more;
    ws_expect_open(reader, files[file].text, strlen(files[file].text));
    while ((more = ws_expect_next(reader, &line)) != 0)
        if (more == 1)
            count[line.kind]++;
}

static int list(const struct request *r)
{
    struct ws_json json = {.out = stdout, .pretty = true};
    if (r->json) {
        ws_json_object(&json);
        ws_json_key(&json, "kernels");
        ws_json_array(&json);
    }
    for (size_t i = 0; i < FILES; i++) {
        struct ws_expect_reader reader;
        unsigned count[3] = {0, 0, 0};
        count_lines(i, &reader, count);
        if (!r->json) {
            printf("%-5.*s %-16s %3u values, %2u rules must fire, %2u must stay quiet\n", (int)reader.id.length,
                   reader.id.at, files[i].name, count[WS_EXPECT_VALUE], count[WS_EXPECT_FIRES], count[WS_EXPECT_QUIET]);
            continue;
        }
        ws_json_object_line(&json);
        ws_json_key(&json, "id");
        ws_json_text_n(&json, reader.id.at, reader.id.length);
        ws_json_put_text(&json, "name", files[i].name);
        ws_json_put_uint(&json, "values", count[WS_EXPECT_VALUE]);
        ws_json_put_uint(&json, "fires", count[WS_EXPECT_FIRES]);
        ws_json_put_uint(&json, "quiet", count[WS_EXPECT_QUIET]);
        ws_json_end(&json);
    }
    if (r->json) {
        ws_json_end(&json);
        ws_json_end(&json);
        putchar('\n');
    }
    return WS_EXIT_OK;
}

/* --- verify --------------------------------------------------------------------------------------- */

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
            return WS_RULE_NOT_RUN;
    return WS_RULE_QUIET;
}

/* Whether the session is `warpsight-kernels run NAME`: a word of its command line is the name. */
static bool is_session_of(const struct ws_session *session, struct ws_word name)
{
    char word[80];
    snprintf(word, sizeof word, "\"%.*s\"", (int)name.length, name.at);
    return strstr(session->row.argv, word) != NULL;
}

/* A rule about the whole session is judged in the session of the program that NAME is; others on a kernel. */
static enum ws_expect_fired fired(void *user, struct ws_word name, struct ws_word rule)
{
    struct bench *bench = user;
    char id[8];
    const struct ws_rule *known;
    snprintf(id, sizeof id, "%.*s", (int)(rule.length < 3 ? rule.length : 3), rule.at);
    known = ws_rules_find(id);
    if (known && known->scope == WS_RULE_TIMELINE)
        return is_session_of(bench->session, name) ? fired_in(bench->session->timeline, rule) : WS_RULE_NO_LAUNCH;
    return seek(bench, name) ? fired_in(&bench->report->findings, rule) : WS_RULE_NO_LAUNCH;
}

static void describe(const struct ws_expect *line, char *out, size_t size)
{
    char number[32];
    ws_number_text(line->number, number);
    if (line->kind == WS_EXPECT_VALUE)
        snprintf(out, size, "%s %s %s", ws_metric_get(line->key)->key, ws_expect_op_name(line->op), number);
    else
        snprintf(out, size, "%.*s %s", (int)line->rule.length, line->rule.at,
                 line->kind == WS_EXPECT_FIRES ? "fires" : "stays quiet");
}

static void measured(const struct ws_expect *line, struct ws_value got, enum ws_verdict verdict, char *out, size_t size)
{
    char number[32];
    if (verdict == WS_VERDICT_NO_LAUNCH)
        snprintf(out, size, "no launch in this session");
    else if (line->kind != WS_EXPECT_VALUE)
        snprintf(out, size, "%s",
                 verdict == WS_VERDICT_UNKNOWN                                      ? "did not run"
                 : (line->kind == WS_EXPECT_FIRES) == (verdict == WS_VERDICT_HOLDS) ? "fires"
                                                                                    : "quiet");
    else if (ws_has(got)) {
        ws_number_text(got.number, number);
        snprintf(out, size, "%s", number);
    } else {
        snprintf(out, size, "none: %s%s%s", ws_why_code((enum ws_why)got.why), got.input ? " " : "",
                 got.input ? got.input : "");
    }
}

struct tally {
    unsigned count[WS_VERDICT_COUNT];
};

static void print_line(const struct request *r, struct ws_json *json, size_t file, const struct ws_expect *line,
                       struct ws_value got, enum ws_verdict verdict)
{
    char expected[160];
    char found[192];
    describe(line, expected, sizeof expected);
    measured(line, got, verdict, found, sizeof found);
    if (r->json) {
        ws_json_object_line(json);
        ws_json_put_text(json, "file", files[file].name);
        ws_json_key(json, "kernel");
        ws_json_text_n(json, line->name.at, line->name.length);
        ws_json_put_text(json, "expected", expected);
        ws_json_put_text(json, "measured", found);
        ws_json_put_text(json, "verdict", ws_verdict_name(verdict));
        ws_json_end(json);
    } else if (r->all || verdict != WS_VERDICT_HOLDS) {
        printf("%-9s %-22.*s expected %-44s measured %s\n", ws_verdict_name(verdict), (int)line->name.length,
               line->name.at, expected, found);
    }
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
            if (more == 1 && is_program(&reader) && is_session_of(session, line.name))
                return true;
    }
    return false;
}

static void judge(const struct request *r, struct bench *bench, struct ws_json *json, struct tally *tally)
{
    const struct ws_expect_facts facts = {.value = value_of, .fired = fired, .user = bench};
    const bool of_program = is_session_of_program(bench->session);
    for (size_t i = 0; i < FILES; i++) {
        struct ws_expect_reader reader;
        struct ws_expect line;
        int more;
        ws_expect_open(&reader, files[i].text, strlen(files[i].text));
        while ((more = ws_expect_next(&reader, &line)) != 0) {
            struct ws_value got = ws_missing(WS_WHY_NOT_COLLECTED, NULL);
            enum ws_verdict verdict = WS_VERDICT_UNKNOWN;
            if (more != 1) /* tests/flow holds every line to parse; this program may meet a newer file */
                fprintf(stderr, "warpsight kernels: %s.expect:%u: %s\n", files[i].name, reader.line, reader.problem);
            else {
                verdict = ws_expect_judge(&line, &facts, &got);
                /* A host program has a session of its own: what is not in this one is not missing from it. */
                if (verdict == WS_VERDICT_NO_LAUNCH && (of_program || is_program(&reader)))
                    continue;
                print_line(r, json, i, &line, got, verdict);
            }
            tally->count[verdict]++;
        }
    }
}

static int conclude(const struct request *r, struct ws_json *json, const struct ws_session *session,
                    const struct tally *tally)
{
    unsigned open = tally->count[WS_VERDICT_UNKNOWN] + tally->count[WS_VERDICT_NO_LAUNCH];
    unsigned broken = tally->count[WS_VERDICT_BROKEN];
    unsigned holds = tally->count[WS_VERDICT_HOLDS];
    bool is_good = broken == 0 && holds > 0 && (!r->strict || open == 0);
    if (r->json) {
        ws_json_end(json);
        ws_json_put_uint(json, "holds", holds);
        ws_json_put_uint(json, "broken", broken);
        ws_json_put_uint(json, "not_judged", open);
        ws_json_put_bool(json, "verified", is_good);
        ws_json_end(json);
        putchar('\n');
    } else {
        printf("session %lld (%s, %s): %u expectations hold, %u broken, %u not judged\n", (long long)session->row.id,
               *session->row.name ? session->row.name : session->row.exe, session->row.source, holds, broken, open);
    }
    return is_good ? WS_EXIT_OK : WS_EXIT_FAILED;
}

static int verify_session(const struct request *r, const struct ws_session *session)
{
    struct ws_json json = {.out = stdout, .pretty = true};
    struct bench bench = {.session = session, .kernel = session->kernel_count};
    struct tally tally = {.count = {0}};
    int status;
    bench.report = malloc(sizeof *bench.report);
    if (!bench.report)
        return ws_cli_failed(COMMAND, "out of memory");
    if (r->json) {
        ws_json_object(&json);
        ws_json_put_int(&json, "session", session->row.id);
        ws_json_put_text(&json, "source", session->row.source);
        ws_json_key(&json, "lines");
        ws_json_array(&json);
    }
    judge(r, &bench, &json, &tally);
    status = conclude(r, &json, session, &tally);
    free(bench.report);
    return status;
}

/* `warpsight run --set full warpsight-kernels all`, its report thrown away. Returns a status to exit with. */
static int measure(void)
{
    char self[4096];
    char kernels[4200];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    int status = 0;
    pid_t child;
    if (n <= 0)
        return ws_cli_failed(COMMAND, "cannot tell where this program lies");
    self[n] = 0;
    snprintf(kernels, sizeof kernels, "%.*s/warpsight-kernels", (int)(strrchr(self, '/') - self), self);
    if (access(kernels, X_OK) != 0)
        return ws_cli_failed(COMMAND, "there is no %s: build it with nvcc, or name a session to verify", kernels);
    fflush(NULL);
    child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (null >= 0)
            (void)dup2(null, STDOUT_FILENO);
        execl(self, "warpsight", "run", "--set", "full", "--require-kernels", "--name", RUN_NAME, kernels, "all",
              (char *)NULL);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return ws_cli_failed(COMMAND, "cannot start warpsight run");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return ws_cli_failed(COMMAND, "the reference kernels did not run to a good end%s",
                             WIFEXITED(status) && WEXITSTATUS(status) == 77 ? ": there is no GPU here" : "");
    return WS_EXIT_OK;
}

static int verify(const struct request *r)
{
    struct ws_store *store = NULL;
    struct ws_session *session = NULL;
    int status = r->session ? WS_EXIT_OK : measure();
    if (status == WS_EXIT_OK)
        status = ws_reader_open(COMMAND, &store);
    if (status == WS_EXIT_OK)
        status = ws_reader_session(COMMAND, store, r->session, &session);
    if (status == WS_EXIT_OK)
        status = verify_session(r, session);
    ws_report_free(session);
    ws_store_close(store);
    return status;
}

/* --- command -------------------------------------------------------------------------------------- */

static int read_option(struct request *r, int found, const char *value)
{
    switch (found) {
    case OPT_ALL:
        r->all = true;
        break;
    case OPT_STRICT:
        r->strict = true;
        break;
    case OPT_JSON:
        r->json = true;
        break;
    default:
        if (!r->what)
            r->what = value;
        else if (!r->session)
            r->session = value;
        else
            return ws_cli_usage_error(COMMAND, "one session at a time: '%s' or '%s'", r->session, value);
    }
    return WS_EXIT_OK;
}

int ws_cmd_kernels(int argc, char **argv)
{
    struct ws_cli cli = {.usage = "list | verify [SESSION] [options]",
                         .about = "The reference kernels and their known answers. verify without SESSION runs them "
                                  "here, on the GPU, with every counter; with SESSION (an id or a name) it judges that "
                                  "one. Exit status 1: something expected does not hold.",
                         .options = options,
                         .argc = argc,
                         .argv = argv};
    struct request r = {.what = NULL};
    const char *value;
    int found;
    int status = WS_EXIT_OK;
    while ((found = ws_cli_next(&cli, &value)) != WS_CLI_END) {
        if (found == WS_CLI_HELP)
            return WS_EXIT_OK;
        status = found == WS_CLI_ERROR ? WS_EXIT_USAGE : read_option(&r, found, value);
        if (status != WS_EXIT_OK)
            return status;
    }
    if (r.what && strcmp(r.what, "list") == 0 && !r.session)
        return ws_cli_finish(COMMAND, list(&r));
    if (r.what && strcmp(r.what, "verify") == 0)
        return ws_cli_finish(COMMAND, verify(&r));
    return ws_cli_usage_error(COMMAND, "say list or verify%s%s", r.what ? ", not " : "", r.what ? r.what : "");
}
