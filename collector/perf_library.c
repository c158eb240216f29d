/* SPDX-License-Identifier: MIT
 * perf_library.c: see perf_library.h. Measured on an H200 machine, 2026-11-30: dlopen of libnvperf_host.so (32 MB)
 * takes 80 ms, the program's first context 300 ms or more. */
#include "perf_library.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

static struct {
    pthread_mutex_t lock;
    pthread_t thread;
    bool is_opening;
    struct ws_located cupti;
} library = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *open_library(void *unused)
{
    (void)unused;
    (void)ws_locate_open_perf(&library.cupti);
    return NULL;
}

void ws_perf_library_start(const struct ws_located *cupti)
{
    sigset_t all, before;
    library.cupti = *cupti;
    sigfillset(&all); /* the program's signals are for its own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    library.is_opening = pthread_create(&library.thread, NULL, open_library, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!library.is_opening)
        (void)open_library(NULL);
}

void ws_perf_library_wait(void)
{
    pthread_mutex_lock(&library.lock);
    if (library.is_opening)
        (void)pthread_join(library.thread, NULL);
    library.is_opening = false;
    pthread_mutex_unlock(&library.lock);
}
