/* SPDX-License-Identifier: MIT
 * cli.h: option tables of the subcommands: parse, one-line errors, help text. No I/O but those lines.
 * Every command declares its options once, in a table; --help is made from it, and so are man pages and completions
 * (by the hidden --describe; server/packaging/pages.sh).
 * Read on: main.c (the commands), cmd_report.c (an example). */
#ifndef WS_SERVER_CLI_H
#define WS_SERVER_CLI_H

#include <stdbool.h>
#include <stddef.h>

/* Exit codes of every command but `run`. */
enum { WS_EXIT_OK = 0, WS_EXIT_FAILED = 1, WS_EXIT_USAGE = 2 };

/* One option. The table ends with a row whose name is NULL. --help is added by the parser. */
struct ws_option {
    const char *name; /* long name without the dashes */
    char letter;      /* short name, 0 = none */
    const char *arg;  /* what the help calls its argument ("FILE"); NULL = a flag */
    const char *doc;  /* one line */
};

/* What ws_cli_next found; values >= 0 are rows of the option table. */
enum { WS_CLI_END = -1, WS_CLI_OPERAND = -2, WS_CLI_HELP = -3, WS_CLI_ERROR = -4 };

/* A command line being read. Set the first four members; the others start as 0. */
struct ws_cli {
    const char *usage; /* "[SESSION] [options]", after the command's name */
    const char *about; /* one or more lines for --help, or NULL */
    const struct ws_option *options;
    bool stop_at_operand; /* `run`: the first operand starts another program's command line */
    int argc;             /* argv[0] is the command's name */
    char **argv;
    int at;             /* next argument; after stop_at_operand's operand: that operand */
    const char *letter; /* rest of a cluster of short options, or NULL */
    bool only_operands; /* "--" was seen */
};

/* The next option or operand.
 *   value   the option's argument, or the operand; NULL for a flag; lent from argv
 *   returns a row of the table, WS_CLI_OPERAND, WS_CLI_END, WS_CLI_HELP (the help is printed: exit 0), or
 *           WS_CLI_ERROR (one line "warpsight CMD: … (try --help)" is on stderr: exit 2, `run` 125) */
int ws_cli_next(struct ws_cli *cli, const char **value);

/* Print a usage error in the same form and return WS_EXIT_USAGE. */
int ws_cli_usage_error(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Print "warpsight CMD: …" and return WS_EXIT_FAILED. */
int ws_cli_failed(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Read a whole decimal number, min <= number <= max; false (and *out untouched) when text is anything else. */
bool ws_cli_integer(const char *text, long long min, long long max, long long *out);

/* How many single-letter edits separate two names; case does not count. Texts over 63 bytes are cut there. */
size_t ws_cli_distance(const char *a, const char *b);

/* The nearest of names[count] to word, or NULL when none is near enough to be a slip of the finger. */
const char *ws_cli_nearest(const char *word, const char *const *names, size_t count);

/* Flush stdout and report a full disk or a closed pipe: the status to exit with. */
int ws_cli_finish(const char *command, int status);

#endif
