/* SPDX-License-Identifier: MIT
 * control.c: see control.h. A line is a word, a blank and the rest; unknown words are left out, so that a newer asker
 * is understood as far as can be. */
#include "control.h"

#include "../analyzer/err.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_LINE "warpsight-control 1"

static const char *const verbs[] = {"start", "stop", "flush", "status"};

const char *ws_control_verb_name(enum ws_control_verb verb)
{
    return verb < WS_CONTROL_VERBS ? verbs[verb] : "";
}

enum ws_control_verb ws_control_verb_find(const char *word)
{
    int i = 0;
    while (i < WS_CONTROL_VERBS && strcmp(verbs[i], word) != 0)
        i++;
    return (enum ws_control_verb)i;
}

/* --- lines --- */

/* The next line of *at as word and rest, both NUL-ended in place; false at the end. */
static bool next_line(char **at, char **word, char **rest)
{
    char *line = *at;
    char *end;
    if (*line == 0)
        return false;
    end = line + strcspn(line, "\n");
    *at = *end ? end + 1 : end;
    *end = 0;
    *word = line;
    *rest = line + strcspn(line, " ");
    if (**rest)
        *(*rest)++ = 0;
    return true;
}

/* The first line says what this is. */
static bool is_ours(char **at)
{
    size_t n = sizeof FIRST_LINE - 1;
    if (strncmp(*at, FIRST_LINE, n) != 0 || (*at)[n] != '\n')
        return false;
    *at += n + 1;
    return true;
}

static bool is_id(const char *text)
{
    return strlen(text) == 32 && strspn(text, "0123456789abcdef") == 32;
}

static bool read_number(const char *text, int64_t most, int64_t *out)
{
    char *end;
    long long n;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    n = strtoll(text, &end, 10);
    if (errno != 0 || *end != 0 || n > most)
        return false;
    *out = n;
    return true;
}

struct writer {
    char *out;
    size_t used, cap;
    bool is_full;
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *w, const char *format, ...)
{
    va_list args;
    int n;
    va_start(args, format);
    n = vsnprintf(w->out + w->used, w->cap - w->used, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= w->cap - w->used)
        w->is_full = true;
    else
        w->used += (size_t)n;
}

/* --- commands --- */

/* NAME=value in rest. */
static bool take_change(struct ws_control_command *out, char *rest)
{
    char *equal = strchr(rest, '=');
    if (!equal || equal == rest || out->change_count == WS_CONTROL_CHANGES)
        return false;
    *equal = 0;
    out->change[out->change_count].name = rest;
    out->change[out->change_count++].value = equal + 1;
    return true;
}

#define REFUSE(...) (snprintf(why, cap, __VA_ARGS__), -WS_ECORRUPT)

int ws_control_parse(char *text, size_t n, struct ws_control_command *out, char *why, size_t cap)
{
    char *word, *rest;
    bool has_verb = false;
    memset(out, 0, sizeof *out);
    if (memchr(text, 0, n) || !is_ours(&text))
        return REFUSE("this is no command of WarpSight, or of another version");
    while (next_line(&text, &word, &rest)) {
        if (strcmp(word, "id") == 0) {
            if (!is_id(rest))
                return REFUSE("the command has no proper id");
            memcpy(out->id, rest, sizeof out->id);
        } else if (strcmp(word, "do") == 0) {
            out->verb = ws_control_verb_find(rest);
            has_verb = out->verb != WS_CONTROL_VERBS;
            if (!has_verb)
                return REFUSE("there is no command '%.40s'", rest);
        } else if (strcmp(word, "duration_ms") == 0) {
            if (!read_number(rest, 1000LL * 86400 * 365, &out->duration_ms))
                return REFUSE("the duration '%.40s' is no number of milliseconds", rest);
        } else if (strcmp(word, "set") == 0 && !take_change(out, rest)) {
            return REFUSE("'%.40s' is no NAME=value, or one too many", rest);
        }
    }
    if (!out->id[0] || !has_verb)
        return REFUSE("the command is not complete");
    return 0;
}

size_t ws_control_format(const struct ws_control_command *command, char *out, size_t cap)
{
    struct writer w = {out, 0, cap, false};
    put(&w, FIRST_LINE "\nid %s\ndo %s\n", command->id, ws_control_verb_name(command->verb));
    if (command->duration_ms > 0)
        put(&w, "duration_ms %" PRId64 "\n", command->duration_ms);
    for (size_t i = 0; i < command->change_count; i++) {
        if (strchr(command->change[i].value, '\n'))
            return 0;
        put(&w, "set %s=%s\n", command->change[i].name, command->change[i].value);
    }
    return w.is_full ? 0 : w.used;
}

/* --- state --- */

/* ID ok|refused TEXT */
static void take_answer(struct ws_control_state *out, char *rest)
{
    struct ws_control_answer *a;
    char *how = rest + strcspn(rest, " ");
    char *text;
    if (!*how || out->answer_count == WS_CONTROL_ANSWERS)
        return;
    *how++ = 0;
    text = how + strcspn(how, " ");
    if (*text)
        *text++ = 0;
    if (!is_id(rest))
        return;
    a = &out->answer[out->answer_count++];
    memcpy(a->id, rest, sizeof a->id);
    a->is_refused = strcmp(how, "ok") != 0;
    snprintf(a->text, sizeof a->text, "%s", text);
}

static void take_setting(struct ws_control_state *out, const char *rest)
{
    size_t n = strlen(rest);
    size_t gap = out->settings_length > 0;
    if (n == 0 || n + gap > sizeof out->settings - out->settings_length)
        return;
    if (gap)
        out->settings[out->settings_length++] = 0;
    memcpy(out->settings + out->settings_length, rest, n);
    out->settings_length += n;
}

int ws_control_parse_state(char *text, size_t n, struct ws_control_state *out)
{
    char *word, *rest;
    memset(out, 0, sizeof *out);
    if (memchr(text, 0, n) || !is_ours(&text))
        return -WS_ECORRUPT;
    while (next_line(&text, &word, &rest)) {
        if (strcmp(word, "state") == 0)
            out->is_on = strcmp(rest, "collecting") == 0;
        else if (strcmp(word, "since_ns") == 0)
            (void)read_number(rest, INT64_MAX, &out->since_ns);
        else if (strcmp(word, "until_ns") == 0)
            (void)read_number(rest, INT64_MAX, &out->until_ns);
        else if (strcmp(word, "reason") == 0)
            snprintf(out->reason, sizeof out->reason, "%s", rest);
        else if (strcmp(word, "answer") == 0)
            take_answer(out, rest);
        else if (strcmp(word, "set") == 0)
            take_setting(out, rest);
    }
    return 0;
}

size_t ws_control_format_state(const struct ws_control_state *state, char *out, size_t cap)
{
    struct writer w = {out, 0, cap, false};
    put(&w, FIRST_LINE "\nstate %s\nsince_ns %" PRId64 "\nuntil_ns %" PRId64 "\nreason %s\n",
        state->is_on ? "collecting" : "idle", state->since_ns, state->until_ns, state->reason);
    for (size_t i = 0; i < state->answer_count; i++)
        put(&w, "answer %s %s %s\n", state->answer[i].id, state->answer[i].is_refused ? "refused" : "ok",
            state->answer[i].text);
    for (size_t at = 0; at < state->settings_length;) {
        size_t n = strnlen(state->settings + at, state->settings_length - at);
        if (!memchr(state->settings + at, '\n', n))
            put(&w, "set %.*s\n", (int)n, state->settings + at);
        at += n + 1;
    }
    return w.is_full ? 0 : w.used;
}

/* --- files --- */

static int join(char *path, size_t cap, const char *folder, const char *name)
{
    int n = snprintf(path, cap, "%s/%s", folder, name);
    return n > 0 && (size_t)n < cap ? 0 : -WS_ELIMIT;
}

static int read_all(int fd, char *out, size_t cap, size_t *n)
{
    struct stat st;
    *n = 0;
    if (fstat(fd, &st) != 0)
        return -WS_EIO;
    if (!S_ISREG(st.st_mode) || (st.st_uid != geteuid() && st.st_uid != 0))
        return -WS_EPERM;
    while (*n < cap) {
        ssize_t got = read(fd, out + *n, cap - *n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -WS_EIO;
        if (got == 0)
            break;
        *n += (size_t)got;
    }
    if (*n == cap)
        return -WS_ELIMIT;
    out[*n] = 0;
    return 0;
}

int ws_control_read_file(const char *folder, const char *name, char *out, size_t cap, size_t *n)
{
    char path[4200];
    int fd, err;
    if (join(path, sizeof path, folder, name) != 0)
        return -WS_EIO;
    /* No link, and no waiting for the other end of a pipe. */
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? -WS_ENOENT
               : errno == ELOOP || errno == EACCES ? -WS_EPERM
                                                   : -WS_EIO;
    err = read_all(fd, out, cap, n);
    close(fd);
    return err;
}

int ws_control_write_file(const char *folder, const char *name, const char *tag, const char *text, size_t n)
{
    char path[4200], beside[4300];
    int fd;
    bool is_written;
    if (join(path, sizeof path, folder, name) != 0)
        return -WS_EIO;
    snprintf(beside, sizeof beside, "%s.%s", path, tag);
    (void)unlink(beside);
    fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -WS_EIO;
    is_written = write(fd, text, n) == (ssize_t)n;
    close(fd);
    if (is_written && rename(beside, path) == 0)
        return 0;
    (void)unlink(beside);
    return -WS_EIO;
}
