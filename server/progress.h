/* SPDX-License-Identifier: MIT
 * progress.h: one line on a terminal about work that takes long: how far, how fast, time left. In a pipe there is none:
 * what is written there is for programs and logs. */
#ifndef WS_SERVER_PROGRESS_H
#define WS_SERVER_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* How far some work is. */
struct ws_progress_now {
    const char *what; /* foreign text is tamed */
    const char *unit; /* "sessions", or "B", which is scaled */
    uint64_t done;
    uint64_t total;   /* 0 = not known: neither a share nor the time left is told then */
    double seconds;   /* since the work began */
    const char *rate; /* how fast in the caller's words; NULL = done by seconds */
};
/* The line, at most so many columns wide (0 = any): what the work is is cut, never a number. Pure.
 *   out  [cap]; returns its length */
size_t ws_progress_text(char *out, size_t cap, unsigned columns, const struct ws_progress_now *now);

/* A line that is written over again, at most five times a second; work of less than that shows none. */
struct ws_progress {
    const char *what, *unit; /* the caller's, until the end */
    /* filled here */
    FILE *out;        /* NULL: nothing is shown */
    double started_s; /* monotonic */
    double shown_s;   /* when the line was last written; before: when the work began */
    bool has_line;
};
/* On stderr, if that is a terminal and is_quiet is false. */
void ws_progress_begin(struct ws_progress *p, const char *what, const char *unit, bool is_quiet);
/* How far it is: cheap, may be called often. p may be NULL: nobody is told.
 *   rate  as above */
void ws_progress_tell(struct ws_progress *p, uint64_t done, uint64_t total, const char *rate);
/* The same at a time of the caller's. */
void ws_progress_tell_at(struct ws_progress *p, double time_s, uint64_t done, uint64_t total, const char *rate);
/* Wipe the line: for good, or because another line comes. */
void ws_progress_end(struct ws_progress *p);

#endif
