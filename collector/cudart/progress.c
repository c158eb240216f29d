/* SPDX-License-Identifier: MIT
 * progress.c: the line of a launch that takes long, on a terminal only, and Ctrl-C while one runs.
 * The program's own streams are left alone: the line goes to stderr and is wiped when the launch ends. A program that
 * has a handler for SIGINT keeps it. */
#include "rt.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define EVERY_S 0.2

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static void show(struct rt_progress *p, const struct ws_model_progress *now)
{
    double share = now->blocks ? (double)now->blocks_done / (double)now->blocks : 0;
    double rate = now->seconds > 0 ? 1e-6 * (double)now->instructions / now->seconds : 0;
    char line[160];
    int n = snprintf(line, sizeof line, "\r\033[K==WARPSIGHT== %.32s: %llu of %llu blocks, %.0f M/s", p->name,
                     (unsigned long long)now->blocks_done, (unsigned long long)now->blocks, rate);
    if (share > 0 && n > 0 && n < (int)sizeof line)
        n += snprintf(line + n, sizeof line - (size_t)n, ", %.0f s left", now->seconds * (1 - share) / share);
    if (n > 0 && n < (int)sizeof line && write(STDERR_FILENO, line, (size_t)n) > 0)
        p->has_line = true;
    p->shown_s = now->seconds;
}

static bool tick(void *state, const struct ws_model_progress *now)
{
    struct rt_progress *p = state;
    if (p->is_terminal && now->seconds >= p->shown_s + EVERY_S)
        show(p, now);
    return !interrupted;
}

void rt_progress_begin(struct rt_progress *p, const char *name, struct ws_model_launch *launch)
{
    struct sigaction old, mine = {.sa_handler = on_interrupt};
    *p = (struct rt_progress){.name = name, .is_terminal = isatty(STDERR_FILENO) == 1};
    launch->tick = tick;
    launch->tick_user = p;
    if (sigaction(SIGINT, NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL)
        p->is_catching = sigaction(SIGINT, &mine, NULL) == 0;
}

void rt_progress_end(struct rt_progress *p)
{
    static const char wipe[] = "\r\033[K";
    if (p->has_line)
        (void)!write(STDERR_FILENO, wipe, sizeof wipe - 1);
    if (p->is_catching)
        (void)signal(SIGINT, SIG_DFL);
}

void rt_end_interrupted(void)
{
    (void)raise(SIGINT);
}
