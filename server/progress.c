/* SPDX-License-Identifier: MIT
 * progress.c: one line on a terminal about work that takes long. Knows no work: who works tells how far it is. */
#include "progress.h"

#include "../analyzer/units.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* Often enough to look alive, seldom enough to cost nothing over a slow line. */
#define EVERY_S 0.2

enum { LINE = 512, NUMBER = 64 };

/* --- the text --- */

static void put_number(char out[NUMBER], double number, const char *unit)
{
    bool is_bytes = strcmp(unit, "B") == 0;
    ws_unit_format(out, NUMBER, ws_value_of(number), is_bytes ? WS_UNIT_BYTE : WS_UNIT_NUMBER);
}

/* A count is exact, bytes are for people. */
static void put_count(char out[NUMBER], uint64_t count, const char *unit)
{
    if (strcmp(unit, "B") == 0)
        put_number(out, (double)count, unit);
    else
        snprintf(out, NUMBER, "%llu", (unsigned long long)count);
}

/* "42 s", "3 min 20 s", "2 h 5 min" */
static void put_time(char out[NUMBER], double seconds)
{
    unsigned long long s = seconds < 1e9 ? (unsigned long long)(seconds + 0.5) : 1000000000;
    if (s < 60)
        snprintf(out, NUMBER, "%llu s", s);
    else if (s < 3600)
        snprintf(out, NUMBER, "%llu min %llu s", s / 60, s % 60);
    else
        snprintf(out, NUMBER, "%llu h %llu min", s / 3600, s % 3600 / 60);
}

/* All that stands behind the colon. */
static void put_numbers(char out[LINE], const struct ws_progress_now *now)
{
    bool is_bytes = strcmp(now->unit, "B") == 0;
    char done[NUMBER], total[NUMBER], number[NUMBER], rate[NUMBER] = "", left[NUMBER] = "";
    put_count(done, now->done, now->unit);
    put_count(total, now->total, now->unit);
    if (!now->rate && now->done > 0 && now->seconds > 0) {
        put_number(number, (double)now->done / now->seconds, now->unit);
        snprintf(rate, sizeof rate, ", %.*s/s", (int)sizeof rate - 8, number);
    }
    if (now->total > 0 && now->done > 0 && now->done <= now->total)
        put_time(left, now->seconds * (double)(now->total - now->done) / (double)now->done);
    snprintf(out, LINE, "%s%s%s%s%s%s%s%s%s%s", done, now->total ? " of " : "", now->total ? total : "",
             is_bytes ? "" : " ", is_bytes ? "" : now->unit, now->rate ? ", " : rate, now->rate ? now->rate : "",
             *left ? ", " : "", left, *left ? " left" : "");
}

/* The bytes of so many columns of a tamed text. */
static size_t bytes_of(const char *text, size_t columns)
{
    size_t n = 0;
    while (text[n] && (columns > 0 || ((unsigned char)text[n] & 0xc0) == 0x80)) {
        if (((unsigned char)text[n] & 0xc0) != 0x80)
            columns--;
        n++;
    }
    return n;
}

size_t ws_progress_text(char *out, size_t cap, unsigned columns, const struct ws_progress_now *now)
{
    struct ws_arena arena = {NULL};
    const char *what = ws_text_tame(&arena, now->what);
    char numbers[LINE];
    size_t used, room;
    int n;
    put_numbers(numbers, now);
    used = ws_text_columns(numbers) + 2;
    room = columns > used ? columns - used : 0;
    if (columns == 0 || ws_text_columns(what) <= room)
        n = snprintf(out, cap, "%s: %s", what, numbers);
    else if (room > 1)
        n = snprintf(out, cap, "%.*s\xe2\x80\xa6: %s", (int)bytes_of(what, room - 1), what, numbers);
    else
        n = snprintf(out, cap, "%s", numbers);
    ws_arena_fini(&arena);
    return n < 0 ? 0 : (size_t)n < cap ? (size_t)n : cap - 1;
}

/* --- the line --- */

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A terminal that can wipe a line. */
static bool is_terminal(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
}

void ws_progress_begin(struct ws_progress *p, const char *what, const char *unit, bool is_quiet)
{
    *p = (struct ws_progress){.what = what, .unit = unit};
    if (!is_quiet && is_terminal())
        p->out = stderr;
    p->started_s = p->shown_s = now_s();
}

/* One less than the terminal has: some wrap at the last one. 0 = not known. */
static unsigned columns_of(FILE *out)
{
    struct winsize size;
    bool is_known = out == stderr && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    return is_known ? size.ws_col - 1u : 0;
}

void ws_progress_tell_at(struct ws_progress *p, double time_s, uint64_t done, uint64_t total, const char *rate)
{
    char line[LINE];
    struct ws_progress_now now;
    if (!p || !p->out || time_s < p->shown_s + EVERY_S)
        return;
    now = (struct ws_progress_now){p->what, p->unit, done, total, time_s - p->started_s, rate};
    ws_progress_text(line, sizeof line, columns_of(p->out), &now);
    fprintf(p->out, "\r\033[K%s", line);
    fflush(p->out);
    p->shown_s = time_s;
    p->has_line = true;
}

void ws_progress_tell(struct ws_progress *p, uint64_t done, uint64_t total, const char *rate)
{
    if (p && p->out)
        ws_progress_tell_at(p, now_s(), done, total, rate);
}

void ws_progress_end(struct ws_progress *p)
{
    if (p && p->has_line) {
        fputs("\r\033[K", p->out);
        fflush(p->out);
        p->has_line = false;
    }
}
