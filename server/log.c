/* SPDX-License-Identifier: MIT
 * log.c: one line per event on stderr. */
#include "log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int threshold = WS_WARN;

void ws_log_set_level(enum ws_log_level level)
{
    atomic_store(&threshold, (int)level);
}

/* A line must stay one line, and a terminal must not obey it. */
static void tame(char *at, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)at[i] < 0x20 || at[i] == 0x7f)
            at[i] = '?';
}

void ws_log(enum ws_log_level level, const char *part, const char *format, ...)
{
    static const char *const words[WS_LOG_LEVEL_COUNT] = {"error", "warning", "info", "debug"};
    char line[1024];
    size_t cap = sizeof line - 1; /* room for the newline */
    size_t n;
    int got;
    va_list args;
    if ((int)level > atomic_load(&threshold))
        return;
    got = snprintf(line, cap, "==WARPSIGHT== %s: %s: ", words[level], part);
    n = got < 0 ? 0 : (size_t)got < cap ? (size_t)got : cap - 1;
    va_start(args, format);
    got = vsnprintf(line + n, cap - n, format, args);
    va_end(args);
    n += got < 0 ? 0 : (size_t)got < cap - n ? (size_t)got : cap - n - 1;
    tame(line, n);
    line[n++] = '\n';
    /* Nothing sensible can be done when stderr is gone. */
    if (write(STDERR_FILENO, line, n) < 0)
        return;
}
