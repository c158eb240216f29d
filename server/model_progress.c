/* SPDX-License-Identifier: MIT
 * model_progress.c: the progress line of a modelled launch on a terminal, and Ctrl-C.
 * A pipe gets no line: what is written there is for programs and logs. */
#include "model_progress.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define EVERY_S 0.2

static volatile sig_atomic_t cancelled;

static void on_interrupt(int number)
{
    (void)number;
    cancelled = 1;
}

void ws_progress_begin(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
}

bool ws_progress_is_cancelled(void)
{
    return cancelled != 0;
}

static void show(struct ws_progress *p, const struct ws_model_progress *now)
{
    double share = now->blocks ? (double)now->blocks_done / (double)now->blocks : 0;
    double rate = now->seconds > 0 ? 1e-6 * (double)now->instructions / now->seconds : 0;
    fprintf(stderr, "\r\033[K%s: %llu of %llu blocks, %.0f M PTX warp instructions/s", p->name,
            (unsigned long long)now->blocks_done, (unsigned long long)now->blocks, rate);
    if (share > 0)
        fprintf(stderr, ", %.0f s left", now->seconds * (1 - share) / share);
    fflush(stderr);
    p->shown = now->seconds;
    p->has_line = true;
}

bool ws_progress_tick(void *progress, const struct ws_model_progress *now)
{
    struct ws_progress *p = progress;
    if (!p->is_quiet && isatty(STDERR_FILENO) && now->seconds >= p->shown + EVERY_S)
        show(p, now);
    return !cancelled;
}

void ws_progress_end(struct ws_progress *progress)
{
    if (progress->has_line)
        fputs("\r\033[K", stderr);
    progress->has_line = false;
}
