/* SPDX-License-Identifier: MIT
 * run_watch.h: what the collector of a running program has recorded so far, as lines now and then while `warpsight run`
 * waits. Reads the headers of the frames in the spool, nothing else of them, and touches nothing.
 * Read on: ingest.h (who takes the spool, perhaps meanwhile), child.h (who calls). */
#ifndef WS_SERVER_RUN_WATCH_H
#define WS_SERVER_RUN_WATCH_H

#include "paths.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { WS_WATCH_AGENTS = 64 };

struct ws_run_watch {
    char folder[WS_PATH_MAX]; /* of the session in the spool */
    FILE *out;                /* NULL: nobody is told */
    double started_s, next_s; /* monotonic: when the watch began, when the next line is due */
    uint64_t launches, measured;
    bool is_least; /* more was recorded than was seen */
    struct ws_watched {
        char agent[33];
        uint32_t segment;
        int fd; /* -1: the segment is not there yet */
        uint64_t offset;
    } agents[WS_WATCH_AGENTS];
    int agent_count;
};

/* Lines go to stderr if that is a terminal: the first after five seconds, then each after twice the time. */
void ws_run_watch_begin(struct ws_run_watch *w, const char *spool, const char *token);
/* struct ws_child_watch.look, with a struct ws_run_watch. */
void ws_run_watch_look(void *watch);
/* The same at a time of the caller's. */
void ws_run_watch_look_at(struct ws_run_watch *w, double time_s);
void ws_run_watch_end(struct ws_run_watch *w);

#endif
