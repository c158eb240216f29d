/* SPDX-License-Identifier: MIT
 * thread.h: how the collector starts a thread of its own inside the program. */
#ifndef WS_COLLECTOR_THREAD_H
#define WS_COLLECTOR_THREAD_H

#include <stdbool.h>
#include <stddef.h>

/* Enough for a thread that calls CUPTI: flush, set-up and decode run on it. */
#define WS_THREAD_CUPTI_STACK ((size_t)2 << 20)

/* run(NULL) in a detached thread that takes none of the program's signals; stack_bytes 0: the process's usual stack.
 * false: there is no thread. */
bool ws_thread_start(void *(*run)(void *), size_t stack_bytes);

#endif
