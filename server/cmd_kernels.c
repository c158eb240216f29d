/* SPDX-License-Identifier: MIT
 * cmd_kernels.c: `warpsight kernels`: the reference kernels and their known answers.
 * list: what there is. verify: holds a session against every .expect line and says expected, measured, verdict.
 * Read on: verify.c (judges). */
#include "cli.h"
#include "cmd.h"
#include "json.h"
#include "reader.h"
#include "verify.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMAND "kernels"
#define RUN_NAME "kernels-verify"

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
        unsigned count[3];
        struct ws_word id = ws_verify_count(i, count);
        printf("%-5.*s %-16s %3u values, %2u rules must fire, %2u must stay quiet\n", (int)id.length, id.at,
               ws_verify_file_name(i), count[WS_EXPECT_VALUE], count[WS_EXPECT_FIRES], count[WS_EXPECT_QUIET]);
    }
    return WS_EXIT_OK;
}

/* --- verify --------------------------------------------------------------------------------------- */

static void print_line(void *state, const struct ws_verify_line *line)
{
    const struct request *r = state;
    char expected[160];
    char found[192];
    if (!r->all && line->verdict == WS_VERDICT_HOLDS)
        return;
    ws_verify_expected(line->expect, expected, sizeof expected);
    ws_verify_measured(line, found, sizeof found);
    printf("%-9s %-22.*s expected %-44s measured %s\n", ws_verdict_name(line->verdict), (int)line->expect->name.length,
           line->expect->name.at, expected, found);
}

static int verify_session(struct request *r, const struct ws_session *session)
{
    struct ws_json json = {.out = stdout, .pretty = true};
    struct ws_verify_tally tally;
    int err =
        r->json ? ws_verify_json(session, r->strict, &json, &tally) : ws_verify_session(session, print_line, r, &tally);
    if (err != 0)
        return ws_cli_failed(COMMAND, "out of memory");
    if (r->json)
        putchar('\n');
    else
        printf("session %lld (%s, %s): %u expectations hold, %u broken, %u not judged\n", (long long)session->row.id,
               *session->row.name ? session->row.name : session->row.exe, session->row.source,
               tally.count[WS_VERDICT_HOLDS], tally.count[WS_VERDICT_BROKEN], ws_verify_open_lines(&tally));
    return ws_verify_is_good(&tally, r->strict) ? WS_EXIT_OK : WS_EXIT_FAILED;
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

static int verify(struct request *r)
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
