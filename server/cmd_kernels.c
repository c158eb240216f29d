/* SPDX-License-Identifier: MIT
 * cmd_kernels.c: `warpsight kernels`: the reference kernels and their known answers.
 * list: what there is. model: through the SIMT model. verify: holds a session against every .expect line and says
 * expected, measured, verdict; with --model a session that is modelled for it.
 * Read on: verify.c (judges), scorecard.c (our advice against the twins), verify_run.c (runs everything here),
 * cmd_model.c. */
#include "../analyzer/err.h"
#include "cli.h"
#include "cmd.h"
#include "json.h"
#include "model_run.h"
#include "reader.h"
#include "scorecard.h"
#include "text.h"
#include "timeline_facts.h"
#include "verify.h"
#include "verify_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMAND "kernels"

enum { SESSIONS_MAX = WS_VERIFY_RUNS };

enum { OPT_ALL, OPT_STRICT, OPT_NCU, OPT_JSON, OPT_MODEL, OPT_THREADS };
static const struct ws_option options[] = {
    {"all", 'a', NULL, "verify SESSION: print every line, not only those that do not hold"},
    {"strict", 0, NULL, "verify: a line that cannot be judged fails, too"},
    {"ncu", 0, "FILE",
     "verify: what Nsight Compute estimates, from ncu --set full --csv --page details (plain or .gz)"},
    {"json", 0, NULL, "as JSON"},
    {"model", 0, NULL, "verify: model the kernels (or the files named) on the CPU and judge that; no GPU is needed"},
    {"threads", 0, "N", "verify --model: worker threads (default 1); no count depends on it"},
    {NULL, 0, NULL, NULL},
};

struct request {
    const char *what, *ncu;
    const char *sessions[SESSIONS_MAX]; /* [count]; none: run everything here */
    size_t count;
    bool all, strict, json, model;
    uint32_t threads;
    bool *wanted; /* [ws_verify_files()] of the lines judged; NULL = all */
};

/* --- list ----------------------------------------------------------------------------------------- */

static int list(const struct request *r)
{
    struct ws_json json = {.out = stdout, .pretty = true};
    if (r->json) {
        ws_json_object(&json);
        ws_json_key(&json, "kernels");
        ws_verify_json_files(&json);
        ws_json_end(&json);
        putchar('\n');
        return WS_EXIT_OK;
    }
    for (size_t i = 0; i < ws_verify_files(); i++) {
        unsigned count[WS_EXPECT_KINDS];
        struct ws_word id = ws_verify_count(i, count);
        printf("%-5.*s %-16s %3u values, %2u rules must fire, %2u must stay quiet\n", (int)id.length, id.at,
               ws_verify_file_name(i), count[WS_EXPECT_VALUE], count[WS_EXPECT_FIRES], count[WS_EXPECT_QUIET]);
    }
    return WS_EXIT_OK;
}

/* --- verify --------------------------------------------------------------------------------------- */

/* The sessions to verify, loaded. */
struct bench {
    struct ws_store *store;
    struct ws_score_source sources[SESSIONS_MAX];
    struct ws_session *sessions[SESSIONS_MAX]; /* owned; the same as the sources' */
    size_t count;
    struct ws_ncu *ncu;
};

/* Lines that one of the sessions judged: what another leaves open of them (a traced session has no counters, counters
 * bend the timeline) is not open. A line is known by where its name stands in the file. */
struct judged {
    const char **at;
    size_t count, room;
    bool is_full;
};

static void note_judged(void *state, const struct ws_verify_line *line)
{
    struct judged *judged = state;
    if (line->verdict != WS_VERDICT_HOLDS && line->verdict != WS_VERDICT_BROKEN)
        return;
    if (judged->count == judged->room) {
        size_t room = judged->room ? 2 * judged->room : 1024;
        const char **at = realloc((void *)judged->at, room * sizeof(const char *));
        if (!at) {
            judged->is_full = true;
            return;
        }
        judged->at = at;
        judged->room = room;
    }
    judged->at[judged->count++] = line->expect->name.at;
}

static int by_address(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    return (x > y) - (x < y);
}

static int find_judged(const struct request *r, const struct bench *b, struct judged *judged)
{
    for (size_t i = 0; i < b->count && b->count > 1; i++) {
        struct ws_verify_tally tally;
        if (ws_verify_session(b->sessions[i], r->wanted, note_judged, judged, &tally) != 0 || judged->is_full)
            return -WS_ENOMEM;
    }
    if (judged->count > 0)
        qsort((void *)judged->at, judged->count, sizeof(const char *), by_address);
    return 0;
}

static bool is_open(const struct ws_verify_line *line)
{
    return line->verdict == WS_VERDICT_UNKNOWN || line->verdict == WS_VERDICT_NO_LAUNCH ||
           line->verdict == WS_VERDICT_NEEDS_GPU;
}

struct printing {
    const struct request *r;
    const struct judged *judged;
    struct ws_verify_tally elsewhere; /* open lines that another session judges */
    bool is_silent, is_modelled;
};

static void print_line(void *state, const struct ws_verify_line *line)
{
    struct printing *p = state;
    char expected[160];
    char found[192];
    if (is_open(line) && p->judged->count > 0 &&
        bsearch(&line->expect->name.at, (const void *)p->judged->at, p->judged->count, sizeof(const char *),
                by_address)) {
        p->elsewhere.count[line->verdict]++;
        return;
    }
    if (p->is_silent || (!p->r->all && (line->verdict == WS_VERDICT_HOLDS || line->verdict == WS_VERDICT_NEEDS_GPU)))
        return;
    ws_verify_expected(line->expect, expected, sizeof expected);
    ws_verify_measured(line, found, sizeof found);
    printf("%-11s %-22.*s expected %-44s %s %s\n", ws_verdict_name(line->verdict), (int)line->expect->name.length,
           line->expect->name.at, expected, p->is_modelled ? "modelled" : "measured", found);
}

static void print_summary(const struct ws_session *session, const struct ws_verify_tally *tally)
{
    unsigned needs_gpu = tally->count[WS_VERDICT_NEEDS_GPU];
    printf("session %lld (%s, %s): %u expectations hold, %u broken, %u not judged", (long long)session->row.id,
           *session->row.name ? session->row.name : session->row.exe, session->row.source,
           tally->count[WS_VERDICT_HOLDS], tally->count[WS_VERDICT_BROKEN], ws_verify_open_lines(tally));
    if (needs_gpu > 0)
        printf(", %u need%s a GPU (time, stalls, caches, DRAM, SASS instructions, host programs)", needs_gpu,
               needs_gpu == 1 ? "s" : "");
    putchar('\n');
}

static void add_points(struct ws_table *table, struct ws_value share)
{
    if (ws_has(share))
        ws_table_printf(table, "%.1f %%", share.number * 100);
    else
        ws_table_add(table, "-");
}

/* Global estimates stand as they are; where there is only a local one it is shown as such, and has no error. */
static void add_ncu(struct ws_table *table, const struct ws_score *score)
{
    if (!ws_has(score->ncu.global) && ws_has(score->ncu.local))
        ws_table_printf(table, "(local %.1f %%)", score->ncu.local.number * 100);
    else
        add_points(table, score->ncu.global);
    add_points(table, ws_score_error_of(score->ncu.global, score->measured));
}

static void print_error(const char *whose, struct ws_score_error error)
{
    if (error.count > 0)
        printf("%s: median absolute error %.1f points over %zu twins\n", whose, error.median.number * 100, error.count);
}

static void print_scorecard(const struct ws_scorecard *card, bool with_ncu)
{
    static const char *const titles[] = {"rule",     "bad twin", "good twin",      "estimated",
                                         "measured", "error",    "Nsight Compute", "its error"};
    struct ws_text_out out;
    struct ws_table table;
    if (card->count == 0)
        return;
    ws_text_init(&out, stdout);
    out.width = 0; /* the last column is a number: never cut */
    ws_table_init(&table, with_ncu ? "lllrrrrr" : "lllrrr");
    for (size_t i = 0; i < (with_ncu ? 8 : 6); i++)
        ws_table_add(&table, titles[i]);
    for (size_t i = 0; i < card->count; i++) {
        const struct ws_score *s = &card->at[i];
        ws_table_printf(&table, "%.*s", (int)s->rule.length, s->rule.at);
        ws_table_printf(&table, "%.*s", (int)s->bad.length, s->bad.at);
        ws_table_printf(&table, "%.*s", (int)s->good.length, s->good.at);
        add_points(&table, s->estimated);
        add_points(&table, s->measured);
        add_points(&table, ws_score_error_of(s->estimated, s->measured));
        if (with_ncu)
            add_ncu(&table, s);
    }
    printf("\nScorecard of our advice: the share of its time that the bad twin can save, estimated and measured\n");
    ws_table_print(&table, &out);
    print_error("our estimates", card->ours);
    if (with_ncu) {
        print_error("Nsight Compute's", card->ncu);
        print_error("ours over the same twins", card->ours_where_ncu);
    }
    putchar('\n');
}

static bool is_modelled(const struct ws_session *session)
{
    return strcmp(session->row.source, "modelled") == 0;
}

/* Judge one session and print its lines; open lines that another session judges are not counted. */
static int judge_session(const struct request *r, const struct ws_session *session, const struct judged *judged,
                         bool is_silent, struct ws_verify_tally *tally)
{
    struct printing p = {.r = r, .judged = judged, .is_silent = is_silent, .is_modelled = is_modelled(session)};
    int err = ws_verify_session(session, r->wanted, print_line, &p, tally);
    for (int v = 0; err == 0 && v < WS_VERDICT_COUNT; v++)
        tally->count[v] -= p.elsewhere.count[v];
    return err;
}

static int print_text(const struct request *r, const struct bench *b, const struct judged *judged,
                      const struct ws_scorecard *card, bool *good)
{
    struct ws_verify_tally tallies[SESSIONS_MAX];
    unsigned holds = 0, broken = 0, open = 0;
    bool has_times = false;
    for (size_t i = 0; i < b->count; i++) {
        if (judge_session(r, b->sessions[i], judged, false, &tallies[i]) != 0)
            return ws_cli_failed(COMMAND, "out of memory");
        *good = *good && ws_verify_is_good(&tallies[i], r->strict);
        has_times = has_times || !is_modelled(b->sessions[i]);
        holds += tallies[i].count[WS_VERDICT_HOLDS];
        broken += tallies[i].count[WS_VERDICT_BROKEN];
        open += ws_verify_open_lines(&tallies[i]);
    }
    if (has_times) /* advice is held against them */
        print_scorecard(card, b->ncu != NULL);
    for (size_t i = 0; i < b->count; i++)
        print_summary(b->sessions[i], &tallies[i]);
    if (b->count > 1)
        printf("%zu sessions: %u expectations hold, %u broken, %u not judged\n", b->count, holds, broken, open);
    return WS_EXIT_OK;
}

static int print_json(const struct request *r, const struct bench *b, const struct judged *judged,
                      const struct ws_scorecard *card, bool *good)
{
    struct ws_json json = {.out = stdout, .pretty = true};
    int err = 0;
    ws_json_object(&json);
    if (b->count > 1) {
        ws_json_key(&json, "sessions");
        ws_json_array(&json);
    }
    for (size_t i = 0; i < b->count && err == 0; i++) {
        struct ws_verify_tally tally;
        if (b->count > 1) /* whether every line is judged by one of them is said below */
            err = ws_verify_json(b->sessions[i], r->wanted, false, &json, &tally);
        else
            err = ws_verify_json_members(b->sessions[i], r->wanted, r->strict, &json, &tally);
        if (err == 0)
            err = judge_session(r, b->sessions[i], judged, true, &tally);
        *good = *good && ws_verify_is_good(&tally, r->strict);
    }
    if (b->count > 1) {
        ws_json_end(&json);
        ws_json_put_bool(&json, "verified", *good);
    }
    ws_json_key(&json, "scorecard");
    ws_scorecard_json(&json, card, b->ncu != NULL);
    ws_json_end(&json);
    putchar('\n');
    return err == 0 ? WS_EXIT_OK : ws_cli_failed(COMMAND, "out of memory");
}

static int judge(struct request *r, const struct bench *b)
{
    struct ws_scorecard card = {.count = 0};
    struct judged judged = {.count = 0};
    bool good = true;
    int status = WS_EXIT_OK;
    if (find_judged(r, b, &judged) != 0 || ws_scorecard_make(b->sources, b->count, b->ncu, &card) != 0)
        status = ws_cli_failed(COMMAND, "out of memory");
    else
        status = r->json ? print_json(r, b, &judged, &card, &good) : print_text(r, b, &judged, &card, &good);
    ws_scorecard_fini(&card);
    free((void *)judged.at);
    return status == WS_EXIT_OK && !good ? WS_EXIT_FAILED : status;
}

static int load(struct bench *b, const char *which)
{
    struct ws_timeline_facts *facts = malloc(sizeof *facts);
    struct ws_value window = ws_missing(WS_WHY_NOT_COLLECTED, NULL);
    struct ws_session *session = NULL;
    int status = facts ? ws_reader_session(COMMAND, b->store, which, &session) : WS_EXIT_FAILED;
    if (!facts)
        return ws_cli_failed(COMMAND, "out of memory");
    if (status == WS_EXIT_OK) {
        if (ws_timeline_facts_load(b->store, session, facts) == 0)
            window = facts->value[WS_T_window];
        b->sessions[b->count] = session;
        b->sources[b->count++] = (struct ws_score_source){session, window};
    }
    free(facts);
    return status;
}

static int read_ncu(const char *path, struct ws_ncu **ncu)
{
    char message[200];
    if (!path)
        return WS_EXIT_OK;
    if (ws_ncu_read(path, ncu, message, sizeof message) != 0)
        return ws_cli_failed(COMMAND, "--ncu %s: %s", path, message);
    if (ws_ncu_left_out(*ncu) > 0)
        fprintf(stderr, "==WARPSIGHT== %zu rows of %s could not be read\n", ws_ncu_left_out(*ncu), path);
    return WS_EXIT_OK;
}

static int load_and_judge(struct request *r, struct bench *b)
{
    int status = ws_reader_open(COMMAND, &b->store);
    for (size_t i = 0; i < r->count && status == WS_EXIT_OK; i++)
        status = load(b, r->sessions[i]);
    return status == WS_EXIT_OK ? judge(r, b) : status;
}

/* --- verify --model ------------------------------------------------------------------------------- */

/* The lines to judge: those of the files named, or all. Unknown names are the model's to complain of. */
static bool choose_files(struct request *r)
{
    if (r->count == 0)
        return true;
    r->wanted = calloc(ws_verify_files(), sizeof *r->wanted);
    for (size_t i = 0; r->wanted && i < ws_verify_files(); i++)
        for (size_t k = 0; k < r->count; k++)
            r->wanted[i] = r->wanted[i] || strcmp(r->sessions[k], ws_verify_file_name(i)) == 0;
    return r->wanted != NULL;
}

/* Model the kernels into a session and judge it. A kernel that cannot be modelled fails, too. */
static int verify_model(struct request *r, struct bench *b, int argc, char **argv)
{
    struct ws_model_job job = {
        .command = COMMAND, .name = "kernels-verify-model", .threads = r->threads, .is_quiet = !isatty(STDERR_FILENO)};
    char which[24];
    int64_t id = 0;
    int modelled;
    int status = choose_files(r) ? ws_model_job_open(&job, "reference kernels", argc, argv)
                                 : ws_cli_failed(COMMAND, "out of memory");
    if (status != WS_EXIT_OK)
        return status;
    modelled = ws_model_job_bundled(&job, r->sessions, r->count);
    status = ws_model_job_close(&job, NULL, false);
    if (status != WS_EXIT_OK || job.modelled == 0)
        return status != WS_EXIT_OK ? status : WS_EXIT_FAILED;
    fprintf(stderr, "==WARPSIGHT== %u launches modelled in %.1f s\n", job.modelled, job.seconds);
    status = ws_reader_open(COMMAND, &b->store);
    if (status == WS_EXIT_OK)
        status = ws_model_job_session(&job, b->store, &id);
    snprintf(which, sizeof which, "%lld", (long long)id);
    if (status == WS_EXIT_OK)
        status = load(b, which);
    if (status == WS_EXIT_OK)
        status = judge(r, b);
    return status != WS_EXIT_OK ? status : modelled;
}

static int verify(struct request *r, int argc, char **argv)
{
    struct ws_verify_runs runs = {.count = 0};
    struct bench *b = calloc(1, sizeof *b);
    int status;
    if (!b)
        return ws_cli_failed(COMMAND, "out of memory");
    status = read_ncu(r->ncu, &b->ncu);
    if (status == WS_EXIT_OK && r->count == 0 && !r->model) {
        status = ws_verify_run(COMMAND, &runs);
        r->all = true; /* who runs everything wants to see it */
        for (size_t i = 0; i < runs.count; i++)
            r->sessions[r->count++] = runs.names[i];
    }
    if (status == WS_EXIT_OK)
        status = r->model ? verify_model(r, b, argc, argv) : load_and_judge(r, b);
    for (size_t i = 0; i < b->count; i++)
        ws_report_free(b->sessions[i]);
    ws_store_close(b->store);
    ws_ncu_free(b->ncu);
    free(b);
    free(r->wanted);
    ws_verify_runs_fini(&runs);
    return status;
}

/* --- command -------------------------------------------------------------------------------------- */

static int read_threads(struct request *r, const char *value)
{
    long long n;
    if (!ws_cli_integer(value, 1, 256, &n))
        return ws_cli_usage_error(COMMAND, "--threads needs a whole number from 1 to 256, not '%s'", value);
    r->threads = (uint32_t)n;
    return WS_EXIT_OK;
}

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
    case OPT_NCU:
        r->ncu = value;
        break;
    case OPT_MODEL:
        r->model = true;
        break;
    case OPT_THREADS:
        return read_threads(r, value);
    default:
        if (!r->what)
            r->what = value;
        else if (r->count < SESSIONS_MAX)
            r->sessions[r->count++] = value;
        else
            return ws_cli_usage_error(COMMAND, "at most %d sessions", SESSIONS_MAX);
    }
    return WS_EXIT_OK;
}

int ws_cmd_kernels(int argc, char **argv)
{
    struct ws_cli cli = {
        .usage = "list | model [NAME…] | verify [SESSION…] | verify --model [NAME…] [options]",
        .about = "The reference kernels and their known answers. model runs their PTX on the CPU and "
                 "predicts their counters (its own options: kernels model --help). verify without SESSION runs them "
                 "here, on the GPU: the kernels with every counter, each host program in two sessions "
                 "of its own, traced and with counters; with SESSIONs (ids or names) it judges those. "
                 "Where both twins of a pair "
                 "were run it prints what our advice promised and what the twins' times show. verify "
                 "--model needs no GPU: the kernels named, or all, are modelled and every count is "
                 "judged; what only a GPU tells is counted apart and never fails. Exit "
                 "status 1: something expected does not hold.",
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
        if (found == WS_CLI_OPERAND && !r.what && cli.at == 2 && strcmp(value, "model") == 0) {
            static char name[] = COMMAND " model";
            argv[1] = name;
            return ws_cmd_kernels_model(argc - 1, argv + 1);
        }
        status = found == WS_CLI_ERROR ? WS_EXIT_USAGE : read_option(&r, found, value);
        if (status != WS_EXIT_OK)
            return status;
    }
    if (r.what && strcmp(r.what, "list") == 0 && r.count == 0)
        return ws_cli_finish(COMMAND, list(&r));
    if (r.what && strcmp(r.what, "verify") == 0)
        return ws_cli_finish(COMMAND, verify(&r, argc, argv));
    return ws_cli_usage_error(COMMAND, "say list, model or verify%s%s", r.what ? ", not " : "", r.what ? r.what : "");
}
