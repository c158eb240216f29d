/* SPDX-License-Identifier: MIT
 * thread.c: see thread.h. */
#include "thread.h"

#include <pthread.h>
#include <signal.h>

bool ws_thread_start(void *(*run)(void *), size_t stack_bytes)
{
    sigset_t all, before;
    pthread_attr_t attr;
    pthread_t thread;
    int err;
    if (pthread_attr_init(&attr) != 0)
        return false;
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (stack_bytes > 0)
        (void)pthread_attr_setstacksize(&attr, stack_bytes);
    sigfillset(&all); /* the program's signals are for its own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    err = pthread_create(&thread, &attr, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return err == 0;
}
