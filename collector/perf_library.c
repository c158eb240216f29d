/* SPDX-License-Identifier: MIT
 * perf_library.c: see perf_library.h. Measured on an H200 machine, 2026-11-30: dlopen of libnvperf_host.so (32 MB)
 * takes 80 ms, the program's first context 300 ms or more.
 *
 * A program may make its first context in the constructor of a library that it opens: its thread then holds the
 * loader's lock, on which ours waits. So every wait is bounded, and who needs the library opens it himself then: the
 * loader's lock is his already, or will come to him in turn. */
#include "perf_library.h"

#include "steady.h"
#include "thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define WAIT_S 1

static struct {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool is_done;
    atomic_bool is_started;
    struct ws_located cupti;
} library = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *open_library(void *unused)
{
    (void)unused;
    (void)ws_locate_open_perf(&library.cupti);
    pthread_mutex_lock(&library.lock);
    library.is_done = true;
    pthread_cond_broadcast(&library.opened);
    pthread_mutex_unlock(&library.lock);
    return NULL;
}

void ws_perf_library_start(const struct ws_located *cupti)
{
    library.cupti = *cupti;
    ws_steady_cond_init(&library.opened);
    atomic_store(&library.is_started, true);
    if (!ws_thread_start(open_library, 0))
        (void)open_library(NULL);
}

static bool wait_until_done(void)
{
    struct timespec until = ws_steady_deadline(WAIT_S * 1000);
    bool is_done;
    pthread_mutex_lock(&library.lock);
    while (!library.is_done)
        if (pthread_cond_timedwait(&library.opened, &library.lock, &until) == ETIMEDOUT)
            break;
    is_done = library.is_done;
    pthread_mutex_unlock(&library.lock);
    return is_done;
}

void ws_perf_library_wait(void)
{
    if (atomic_load(&library.is_started))
        (void)wait_until_done();
}

void ws_perf_library_need(void)
{
    if (atomic_load(&library.is_started) && !wait_until_done())
        (void)ws_locate_open_perf(&library.cupti);
}

void ws_perf_library_forget(void)
{
    atomic_store(&library.is_started, false);
}
