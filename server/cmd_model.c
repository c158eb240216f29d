/* SPDX-License-Identifier: MIT
 * cmd_model.c: `warpsight model`: run kernels' PTX on the CPU, predict their counters, print the report.
 * Options only; the work is model_run.c, and what is shown is the report of any session. */
#include "cli.h"
#include "cmd.h"
#include "model_run.h"
#include "reader.h"

#include <stdlib.h>
#include <string.h>

enum {
    O_SPEC,
    O_PTX,
    O_EXE,
    O_KERNEL,
    O_GPU,
    O_NAME,
    O_THREADS,
    O_MAX,
    O_INSTRUCTIONS,
    O_CHECK,
    O_SAMPLE,
    O_BUDGET,
    O_LINES,
    O_JSON,
    O_QUIET,
    O_OUTPUT,
    O_FORCE,
    O_BUNDLED
};
static const struct ws_option options[] = {
    [O_SPEC] = {"spec", 0, "FILE", "launches, buffers and arguments (JSON)"},
    [O_PTX] = {"ptx", 0, "FILE", "PTX text to run instead of the spec's"},
    [O_EXE] = {"exe", 0, "FILE", "program or library whose PTX is run instead of the spec's"},
    [O_KERNEL] = {"kernel", 'k', "NAME", "only launches of this kernel"},
    [O_GPU] = {"gpu", 0, "NAME", "the GPU whose limits are assumed (default H200)"},
    [O_NAME] = {"name", 0, "NAME", "name of the session"},
    [O_THREADS] = {"threads", 0, "N", "worker threads (default 1); no count depends on it"},
    [O_MAX] = {"max-instructions", 0, "N", "stop a launch after so many warp instructions"},
    [O_INSTRUCTIONS] = {"instructions", 0, "SET",
                        "processor instructions to use: base, v3 (AVX2), v4 (AVX-512); default: the best here"},
    [O_CHECK] = {"check", 'c', "LIST", "also look for: uninit, races (bounds, align, barrier: always), all"},
    [O_SAMPLE] = {"sample", 0, "K", "run K blocks of the grid's inside and its edges; auto: 64 to 256; off (default)"},
    [O_BUDGET] = {"budget", 0, "N", "per launch: 30s, or warp instructions (500M); what ran then is the sample"},
    [O_LINES] = {"lines", 0, NULL, "a line per PTX instruction with its source line, instead of the report"},
    [O_JSON] = {"json", 0, NULL, "the report as JSON"},
    [O_QUIET] = {"quiet", 'q', NULL, "no line per launch on stderr"},
    [O_OUTPUT] = {"output", 'o', "FILE", "also write the session as a capture (.wscap), print no report"},
    [O_FORCE] = {"force", 'f', NULL, "-o may overwrite"},
    [O_BUNDLED] = {"bundled", 0, NULL, "the reference kernels: all, or the files named"},
    {NULL, 0, NULL, NULL},
};

#define NAMES_MAX 64
/* As a shell says it of a program that SIGINT ended. */
#define EXIT_INTERRUPTED 130

struct request {
    struct ws_model_job job;
    const char *spec, *ptx, *output;
    const char *names[NAMES_MAX];
    size_t names_n;
    bool as_json, as_lines, force, is_bundled;
};

static int read_number(struct request *r, int found, const char *value)
{
    long long n;
    if (!ws_cli_integer(value, 1, found == O_THREADS ? 256 : INT64_MAX, &n))
        return ws_cli_usage_error(r->job.command, "--%s needs a whole number from 1, not '%s'", options[found].name,
                                  value);
    if (found == O_THREADS)
        r->job.threads = (uint32_t)n;
    else
        r->job.max_instructions = (uint64_t)n;
    return WS_EXIT_OK;
}

static int read_option(struct request *r, int found, const char *value)
{
    const char **const texts[] = {[O_SPEC] = &r->spec,     [O_PTX] = &r->ptx,
                                  [O_EXE] = &r->job.exe,   [O_KERNEL] = &r->job.kernel,
                                  [O_GPU] = &r->job.gpu,   [O_NAME] = &r->job.name,
                                  [O_OUTPUT] = &r->output, [O_INSTRUCTIONS] = &r->job.instructions};
    bool *const flags[] = {[O_LINES] = &r->as_lines,
                           [O_JSON] = &r->as_json,
                           [O_QUIET] = &r->job.is_quiet,
                           [O_FORCE] = &r->force,
                           [O_BUNDLED] = &r->is_bundled};
    if (found == O_CHECK) {
        if (ws_model_check_parse(value, &r->job.checks) == 0)
            return WS_EXIT_OK;
        return ws_cli_usage_error(r->job.command, "--check: '%s' is no list of bounds, uninit, races, align, barrier",
                                  value);
    }
    if (found == O_INSTRUCTIONS && strcmp(value, "base") != 0 && strcmp(value, "v3") != 0 && strcmp(value, "v4") != 0)
        return ws_cli_usage_error(r->job.command, "--instructions needs base, v3 or v4, not '%s'", value);
    if (found == O_SAMPLE)
        return ws_model_sample_parse(value, &r->job.sample_blocks) == 0
                   ? WS_EXIT_OK
                   : ws_cli_usage_error(r->job.command,
                                        "--sample needs auto, off or a number of blocks from 2, not '%s'", value);
    if (found == O_BUDGET)
        return ws_model_budget_parse(value, &r->job.budget_seconds, &r->job.budget_instructions) == 0
                   ? WS_EXIT_OK
                   : ws_cli_usage_error(r->job.command,
                                        "--budget needs seconds (30s) or warp instructions (500M), not '%s'", value);
    if (found == O_THREADS || found == O_MAX)
        return read_number(r, found, value);
    if (found == WS_CLI_OPERAND) {
        if (r->names_n == NAMES_MAX)
            return ws_cli_usage_error(r->job.command, "too many names");
        r->names[r->names_n++] = value;
    } else if (value) {
        *texts[found] = value;
    } else {
        *flags[found] = true;
    }
    return WS_EXIT_OK;
}

/* --- the report of the new session --- */

static int print_report(const struct request *r)
{
    struct ws_json json = {.out = stdout, .pretty = true};
    struct ws_text_options text = {.details = 10};
    struct ws_store *store = NULL;
    struct ws_session *session = NULL;
    int64_t id = 0;
    int status = ws_reader_open(r->job.command, &store);
    if (status == WS_EXIT_OK)
        status = ws_model_job_session(&r->job, store, &id);
    if (status == WS_EXIT_OK && ws_report_load(store, id, &session) != 0)
        status = ws_cli_failed(r->job.command, "%s", ws_store_message(store));
    if (status == WS_EXIT_OK &&
        (r->as_json ? ws_report_json(session, &json) : ws_report_text(session, &text, stdout)) != 0)
        status = ws_cli_failed(r->job.command, "out of memory");
    ws_report_free(session);
    ws_store_close(store);
    return status;
}

static int run(struct request *r, int argc, char **argv)
{
    const char *exe = r->job.exe ? r->job.exe : r->ptx ? r->ptx : r->spec ? r->spec : "reference kernels";
    int status, closed;
    r->job.lines = r->as_lines ? stdout : NULL;
    status = ws_model_job_open(&r->job, exe, argc, argv);
    if (status != WS_EXIT_OK)
        return status;
    status = r->is_bundled ? ws_model_job_bundled(&r->job, r->names, r->names_n)
                           : ws_model_job_spec(&r->job, r->spec, r->ptx);
    closed = ws_model_job_close(&r->job, r->output, r->force);
    status = closed != WS_EXIT_OK ? closed : status;
    if (r->job.modelled > 0 && !r->as_lines && !r->output && closed == WS_EXIT_OK) {
        int printed = print_report(r);
        status = printed != WS_EXIT_OK ? printed : status;
    }
    if (status == WS_EXIT_OK && r->job.errors > 0)
        status = WS_EXIT_FAILED;
    return r->job.is_cancelled ? EXIT_INTERRUPTED : status;
}

/* Options and names of a command line; WS_EXIT_OK with *is_help when the help was printed. */
static int read_all(struct request *r, struct ws_cli *cli, bool *is_help)
{
    const char *value;
    int found, status;
    *is_help = false;
    while ((found = ws_cli_next(cli, &value)) != WS_CLI_END) {
        if (found == WS_CLI_HELP) {
            *is_help = true;
            return WS_EXIT_OK;
        }
        status = found == WS_CLI_ERROR ? WS_EXIT_USAGE : read_option(r, found, value);
        if (status != WS_EXIT_OK)
            return status;
    }
    return WS_EXIT_OK;
}

int ws_cmd_model(int argc, char **argv)
{
    struct ws_cli cli = {.usage = "--spec FILE [--ptx FILE | --exe FILE] [options] | --bundled [NAME…] [options]",
                         .about =
                             "Run kernels' PTX on the CPU and predict what a GPU would count: requests, sectors, bank "
                             "conflicts, FLOP.\nTimes, stalls, caches and DRAM need a GPU and stay empty. "
                             "A kernel that the model does not know is refused by\nname, line and opcode. Exit status "
                             "1: a kernel was refused, or a check found an error;\n130: Ctrl-C: the launches that had "
                             "ended are stored, the others are not.",
                         .options = options,
                         .argc = argc,
                         .argv = argv};
    struct request r = {.job.command = "model"};
    bool is_help;
    int status = read_all(&r, &cli, &is_help);
    if (status != WS_EXIT_OK || is_help)
        return status;
    if (r.is_bundled == (r.spec != NULL))
        return ws_cli_usage_error("model", "one of --spec FILE and --bundled is needed");
    if (r.job.exe && r.ptx)
        return ws_cli_usage_error("model", "--ptx or --exe, not both");
    if (!r.is_bundled && r.names_n > 0)
        return ws_cli_usage_error("model", "unexpected '%s'", r.names[0]);
    return run(&r, argc, argv);
}

int ws_cmd_kernels_model(int argc, char **argv)
{
    struct ws_cli cli = {.usage = "[NAME…] [options]",
                         .about =
                             "The reference kernels through the SIMT model: their PTX comes with WarpSight, no GPU "
                             "and no CUDA toolkit is needed.\nNAME is a file of `warpsight kernels list`, such as "
                             "transpose; without NAME all that have PTX. The same as `warpsight model --bundled`.",
                         .options = options,
                         .argc = argc,
                         .argv = argv};
    struct request r = {.job.command = "kernels model", .is_bundled = true};
    bool is_help;
    int status = read_all(&r, &cli, &is_help);
    if (status != WS_EXIT_OK || is_help)
        return status;
    if (r.spec || r.ptx || r.job.exe)
        return ws_cli_usage_error(r.job.command, "--spec, --ptx and --exe belong to `warpsight model`");
    r.job.name = r.job.name ? r.job.name : "kernels-model";
    return run(&r, argc, argv);
}
