/* SPDX-License-Identifier: MIT
 * cli.c: option tables: parse, one-line errors, help text.
 * Not getopt_long: it accepts abbreviations (a typo may become another option) and words its errors by itself. */
#include "cli.h"

#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- errors --- */

__attribute__((format(printf, 2, 0))) static void complain(const char *command, const char *format, va_list args,
                                                           const char *tail)
{
    struct ws_arena arena = {NULL};
    char *text = NULL;
    fflush(stdout);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    /* What somebody typed may be quoted in it: it stays one line and commands no terminal. */
    fprintf(stderr, "warpsight%s%s: %s%s\n", *command ? " " : "", command,
            text ? ws_text_tame(&arena, text) : "out of memory", tail);
    free(text);
    ws_arena_fini(&arena);
}

int ws_cli_usage_error(const char *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    complain(command, format, args, " (try --help)");
    va_end(args);
    return WS_EXIT_USAGE;
}

int ws_cli_failed(const char *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    complain(command, format, args, "");
    va_end(args);
    return WS_EXIT_FAILED;
}

/* --- help --- */

static void print_option(const struct ws_option *o)
{
    char left[64];
    int n = o->letter ? snprintf(left, sizeof left, "-%c, --%s", o->letter, o->name)
                      : snprintf(left, sizeof left, "    --%s", o->name);
    if (o->arg && n > 0 && (size_t)n < sizeof left)
        snprintf(left + n, sizeof left - (size_t)n, " %s", o->arg);
    printf("  %-30s %s\n", left, o->doc);
}

static int print_help(const struct ws_cli *cli)
{
    static const struct ws_option help = {"help", 'h', NULL, "this text"};
    printf("usage: warpsight %s %s\n", cli->argv[0], cli->usage);
    if (cli->about)
        printf("\n%s\n", cli->about);
    printf("\n");
    for (const struct ws_option *o = cli->options; o->name; o++)
        print_option(o);
    print_option(&help);
    return WS_CLI_HELP;
}

/* The same for server/packaging/pages.sh, one fact a line, cells parted by tabs: man pages and completions are made of
 * it. */
static int print_description(const struct ws_cli *cli)
{
    printf("usage\t%s\n", cli->usage);
    for (const char *line = cli->about; line && *line;) {
        size_t n = strcspn(line, "\n");
        printf("about\t%.*s\n", (int)n, line);
        line += n + (line[n] != 0);
    }
    for (const struct ws_option *o = cli->options; o->name; o++)
        printf("option\t%s\t%c\t%s\t%s\n", o->name, o->letter ? o->letter : '-', o->arg ? o->arg : "-", o->doc);
    return WS_CLI_HELP;
}

/* --- parse --- */

static int long_option(struct ws_cli *cli, const char *word, const char **value)
{
    const char *equals = strchr(word, '=');
    size_t n = equals ? (size_t)(equals - word) : strlen(word);
    const char *command = cli->argv[0];
    if (n == 4 && memcmp(word, "help", 4) == 0)
        return print_help(cli);
    if (n == 8 && memcmp(word, "describe", 8) == 0)
        return print_description(cli);
    for (int i = 0; cli->options[i].name; i++) {
        const struct ws_option *o = &cli->options[i];
        if (strlen(o->name) != n || memcmp(o->name, word, n) != 0)
            continue;
        if (!o->arg) {
            if (!equals)
                return i;
            ws_cli_usage_error(command, "option --%s takes no value", o->name);
            return WS_CLI_ERROR;
        }
        if (!equals && cli->at >= cli->argc) {
            ws_cli_usage_error(command, "option --%s needs %s", o->name, o->arg);
            return WS_CLI_ERROR;
        }
        *value = equals ? equals + 1 : cli->argv[cli->at++];
        return i;
    }
    ws_cli_usage_error(command, "unknown option --%.*s", (int)n, word);
    return WS_CLI_ERROR;
}

static int short_option(struct ws_cli *cli, const char **value)
{
    char letter = *cli->letter++;
    const char *command = cli->argv[0];
    const char *rest = cli->letter;
    if (*rest == 0)
        cli->letter = NULL;
    for (int i = 0; cli->options[i].name; i++) {
        const struct ws_option *o = &cli->options[i];
        if (o->letter != letter)
            continue;
        if (!o->arg)
            return i;
        if (*rest == 0 && cli->at >= cli->argc) {
            ws_cli_usage_error(command, "option -%c needs %s", letter, o->arg);
            return WS_CLI_ERROR;
        }
        *value = *rest ? rest : cli->argv[cli->at++];
        cli->letter = NULL;
        return i;
    }
    if (letter == 'h')
        return print_help(cli);
    ws_cli_usage_error(command, "unknown option -%c", letter);
    return WS_CLI_ERROR;
}

int ws_cli_next(struct ws_cli *cli, const char **value)
{
    const char *word;
    *value = NULL;
    if (cli->letter)
        return short_option(cli, value);
    if (cli->at == 0)
        cli->at = 1;
    if (cli->at >= cli->argc)
        return WS_CLI_END;
    word = cli->argv[cli->at];
    if (!cli->only_operands && strcmp(word, "--") == 0) {
        cli->only_operands = true;
        cli->at++;
        return ws_cli_next(cli, value);
    }
    if (cli->only_operands || word[0] != '-' || word[1] == 0) {
        *value = word;
        if (!cli->stop_at_operand)
            cli->at++;
        return WS_CLI_OPERAND;
    }
    cli->at++;
    if (word[1] == '-')
        return long_option(cli, word + 2, value);
    cli->letter = word + 1;
    return short_option(cli, value);
}

bool ws_cli_integer(const char *text, long long min, long long max, long long *out)
{
    char *end;
    long long v;
    if (!isdigit((unsigned char)text[0]) && !(text[0] == '-' && isdigit((unsigned char)text[1])))
        return false;
    errno = 0;
    v = strtoll(text, &end, 10);
    if (*end != 0 || errno != 0 || v < min || v > max)
        return false;
    *out = v;
    return true;
}

/* --- nearest names --- */

#define WORD_MAX 63

size_t ws_cli_distance(const char *a, const char *b)
{
    size_t row[WORD_MAX + 1];
    size_t na = strnlen(a, WORD_MAX);
    size_t nb = strnlen(b, WORD_MAX);
    for (size_t j = 0; j <= nb; j++)
        row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            size_t best = diagonal + (same ? 0 : 1);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[nb];
}

const char *ws_cli_nearest(const char *word, const char *const *names, size_t count)
{
    const char *best = NULL;
    /* A third of the word plus one letter may be wrong: two swapped letters are two edits. */
    size_t limit = strnlen(word, WORD_MAX) / 3 + 2;
    for (size_t i = 0; i < count; i++) {
        size_t d = ws_cli_distance(word, names[i]);
        if (d < limit) {
            limit = d;
            best = names[i];
        }
    }
    return best;
}

int ws_cli_finish(const char *command, int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    return ws_cli_failed(command, "cannot write to stdout: %s", strerror(errno));
}
