/* SPDX-License-Identifier: MIT
 * watch.c: the thread that gives up what does not come back. See watch.h. It sleeps until the earliest time at which
 * something may be late, so that arming is a lock and two words, and no wake-up. */
#include "watch.h"

#include "steady.h"
#include "thread.h"

#include <pthread.h>
#include <stdatomic.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    atomic_bool has_thread;
    bool is_late, is_stopped;
    int64_t wakes_ns;    /* when the thread looks again; arming for an earlier time must wake it */
    int64_t deadline_ns; /* 0 = nothing is watched */
    void (*on_late)(void);
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void sleep_until(int64_t deadline_ns)
{
    struct timespec until = {(time_t)(deadline_ns / 1000000000), (long)(deadline_ns % 1000000000)};
    watch.wakes_ns = deadline_ns == 0 ? INT64_MAX : deadline_ns;
    if (deadline_ns == 0)
        pthread_cond_wait(&watch.changed, &watch.lock);
    else
        (void)pthread_cond_timedwait(&watch.changed, &watch.lock, &until);
    watch.wakes_ns = 0;
}

static void *run(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&watch.lock);
    while (!watch.is_late && !watch.is_stopped) {
        if (watch.deadline_ns != 0 && ws_steady_ns() >= watch.deadline_ns) {
            watch.is_late = true;
            watch.deadline_ns = 0;
            watch.on_late();
            break;
        }
        sleep_until(watch.deadline_ns); /* one that is met meanwhile is slept out all the same: nobody wakes us */
    }
    pthread_mutex_unlock(&watch.lock);
    return NULL;
}

bool ws_watch_start(void (*on_late)(void))
{
    watch.on_late = on_late;
    ws_steady_cond_init(&watch.changed);
    if (ws_thread_start(run, 0))
        atomic_store(&watch.has_thread, true);
    return atomic_load(&watch.has_thread);
}

void ws_watch_stop(void)
{
    if (!atomic_load(&watch.has_thread))
        return;
    pthread_mutex_lock(&watch.lock);
    watch.is_stopped = true;
    pthread_cond_signal(&watch.changed);
    pthread_mutex_unlock(&watch.lock);
}

void ws_watch_arm(int64_t timeout_ns)
{
    int64_t deadline_ns = ws_steady_ns() + timeout_ns;
    if (!atomic_load(&watch.has_thread))
        return;
    pthread_mutex_lock(&watch.lock);
    watch.deadline_ns = deadline_ns;
    if (deadline_ns < watch.wakes_ns)
        pthread_cond_signal(&watch.changed);
    pthread_mutex_unlock(&watch.lock);
}

bool ws_watch_disarm(void)
{
    bool is_late;
    if (!atomic_load(&watch.has_thread))
        return true;
    pthread_mutex_lock(&watch.lock);
    watch.deadline_ns = 0;
    is_late = watch.is_late;
    pthread_mutex_unlock(&watch.lock);
    return !is_late;
}

void ws_watch_forget(void)
{
    atomic_store(&watch.has_thread, false);
}
