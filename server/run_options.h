/* SPDX-License-Identifier: MIT
 * run_options.h: the command line of `warpsight run`, read and checked before anything is started.
 * The options that set something of the collector are the rows of collector/settings.def that name one.
 * Read on: cmd_run.c. */
#ifndef WS_SERVER_RUN_OPTIONS_H
#define WS_SERVER_RUN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#define WS_RUN_SETTINGS 64 /* rows of settings.def at most */
#define WS_RUN_PATH_MAX 4096

struct ws_run_options {
    const char *setting[WS_RUN_SETTINGS]; /* value given for a row of ws_setting_table, NULL = none; lent from argv */
    bool has_output;
    char output[WS_RUN_PATH_MAX]; /* -o, macros expanded, with its .wscap */
    bool is_forced, is_csv, is_json, needs_kernels, is_verbose, does_yield, is_model, is_application_only;
    char name[WS_RUN_PATH_MAX]; /* --name, macros expanded */
    char **program;             /* its argv, NULL-ended; lent */
};

/* Exit statuses of run that are its own; anything else is the program's. */
enum { WS_RUN_NO_KERNELS = 123, WS_RUN_FAILED = 125, WS_RUN_NOT_EXECUTABLE = 126, WS_RUN_NOT_FOUND = 127 };

/* Read a command line; argv[0] is "run".
 *   returns  -1: go on; else the status to exit with (0 after --help, 125 after a complaint on stderr) */
int ws_run_options_read(int argc, char **argv, struct ws_run_options *out);

/* The name of -o: %p = this process, %h = host name, %q{NAME} = environment variable, %% = %; ".wscap" is added
 * when it is missing.
 *   why     [why_cap] receives what is wrong
 *   errors  -WS_EINVAL unknown macro, or a variable that is not set; -WS_ELIMIT too long */
int ws_run_expand(const char *text, char out[WS_RUN_PATH_MAX], char *why, size_t why_cap);

/* The same for --name: nothing is added, and a % that begins no macro is itself ("50% faster"). */
int ws_run_expand_name(const char *text, char out[WS_RUN_PATH_MAX], char *why, size_t why_cap);

#endif
