/* SPDX-License-Identifier: MIT
 * main.c: the program `warpsight`: picks the subcommand. Nothing else happens here.
 * Add a command: cmd_<name>.c, a line in cmd.h, a row in the table below. */
#include "cli.h"
#include "cmd.h"
#include "store.h"
#include "version.h"

#include <cjson/cJSON.h>
#include <microhttpd.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#ifdef __clang__
#define COMPILER __VERSION__ /* says "Clang" itself */
#else
#define COMPILER "gcc " __VERSION__
#endif
#if defined(__x86_64__)
#define MACHINE "x86_64"
#elif defined(__aarch64__)
#define MACHINE "aarch64"
#else
#define MACHINE "another machine"
#endif

struct command {
    const char *name;
    ws_cmd *run;
    const char *line; /* what it does, for --help */
};

/* In the order in which a person meets them. */
static const struct command commands[] = {
    {"run", ws_cmd_run, "run a CUDA program, measure its kernels, report what slows them down"},
    {"ctl", ws_cmd_ctl, "running programs: what is collected, start, stop, flush"},
    {"doctor", ws_cmd_doctor, "will profiling work on this machine, and if not, what to do"},
    {"report", ws_cmd_report, "what each kernel of a session did, and what to change"},
    {"diff", ws_cmd_diff, "two sessions, kernel by kernel, and a gate for CI"},
    {"baseline", ws_cmd_baseline, "names for sessions to compare with"},
    {"export", ws_cmd_export, "a session as a file: CSV, JSON, Markdown, trace, pprof, roofline, capture"},
    {"import", ws_cmd_import, "read captures and files of other profilers into the database"},
    {"push", ws_cmd_push, "sessions into a database that many machines share (PostgreSQL)"},
    {"kernels", ws_cmd_kernels, "the reference kernels and their known answers"},
    {"ceilings", ws_cmd_ceilings, "measure what this GPU can do: the roofs of every roofline"},
    {"occupancy", ws_cmd_occupancy, "what fits on an SM, what limits it, and what if"},
    {"explain", ws_cmd_explain, "a rule, a metric or a stall reason: what, why, source"},
    {"model", ws_cmd_model, "no GPU: run kernels' PTX on the CPU and predict their counters"},
    {"access", ws_cmd_access, "what a memory access pattern costs: sectors, wavefronts, conflicts"},
    {"serve", ws_cmd_serve, "the daemon: stores what programs record, shows it in a browser"},
    {"list", ws_cmd_list, "what there is to choose from: sessions, metrics, rules, routes, settings"},
};
#define COMMANDS (sizeof commands / sizeof commands[0])

static int help(void)
{
    printf("WarpSight: why is this CUDA kernel slow, and what to change.\n\n"
           "usage: warpsight COMMAND [options]\n\n");
    for (size_t i = 0; i < COMMANDS; i++)
        printf("  %-10s %s\n", commands[i].name, commands[i].line);
    printf("\n  warpsight COMMAND --help tells more; warpsight --version says which one this is\n");
    return ws_cli_finish("", WS_EXIT_OK);
}

/* For server/packaging/pages.sh, as every command's --describe (cli.c). */
static int describe(void)
{
    for (size_t i = 0; i < COMMANDS; i++)
        printf("command\t%s\t%s\n", commands[i].name, commands[i].line);
    return ws_cli_finish("", WS_EXIT_OK);
}

/* Which program this is, and what it was built from: for a bug report. */
static int version(void)
{
    printf("warpsight %s (%s)\n", WS_VERSION, WS_GIT_COMMIT);
    printf("compiler       %s, %s\n", COMPILER, MACHINE);
    printf("SQLite         %s, built with %s\n", sqlite3_libversion(), SQLITE_VERSION);
    printf("libmicrohttpd  %s, built with %x.%x.%x\n", MHD_get_version(), MHD_VERSION >> 24, MHD_VERSION >> 16 & 0xff,
           MHD_VERSION >> 8 & 0xff);
    printf("cJSON          %s, built with %d.%d.%d\n", cJSON_Version(), CJSON_VERSION_MAJOR, CJSON_VERSION_MINOR,
           CJSON_VERSION_PATCH);
    printf("zlib           %s, built with %s\n", zlibVersion(), ZLIB_VERSION);
    printf("CUDA toolkit   %s\n", WS_BUILD_CUDA);
    printf("database       schema %d\n", ws_store_schema_version());
    return ws_cli_finish("", WS_EXIT_OK);
}

static int unknown(const char *word)
{
    const char *names[COMMANDS];
    const char *near;
    for (size_t i = 0; i < COMMANDS; i++)
        names[i] = commands[i].name;
    near = ws_cli_nearest(word, names, COMMANDS);
    if (word[0] == '-')
        return ws_cli_usage_error("", "unknown option %s", word);
    if (near)
        return ws_cli_usage_error("", "unknown command '%s'; did you mean '%s'?", word, near);
    return ws_cli_usage_error("", "unknown command '%s'", word);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return ws_cli_usage_error("", "no command given");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return help();
    if (strcmp(argv[1], "--version") == 0)
        return version();
    if (strcmp(argv[1], "--describe") == 0)
        return describe();
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return ws_cli_finish(argv[1], commands[i].run(argc - 1, argv + 1));
    return unknown(argv[1]);
}
