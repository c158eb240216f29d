/* SPDX-License-Identifier: MIT
 * gate.h: many launches at once, or one profiled launch alone. A read-write lock with two things more. It can be
 * broken open from another thread when the one that holds it never comes back (a pthread_rwlock may be unlocked by its
 * holder only); broken, everybody passes, for good. And who comes while one waits to be alone stands back for it, but
 * only for a moment: threads that launch without a pause would keep it out for ever, and what is inside may wait for
 * who stands outside. */
#ifndef WS_COLLECTOR_GATE_H
#define WS_COLLECTOR_GATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ws_gate {
    atomic_uint passing;       /* launches inside, or WS_GATE_CLOSED */
    atomic_uint waiting;       /* threads that sleep */
    atomic_uint closers;       /* threads that want to be alone and are not yet */
    atomic_llong way_until_ns; /* steady: others stand back for them until then */
    atomic_bool is_broken;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};
#define WS_GATE_CLOSED UINT32_MAX
#define WS_GATE_WAY_NS 2000000 /* launches inside take microseconds */
#define WS_GATE_INIT                                                           \
    {                                                                          \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER \
    }

/* A launch that is not profiled: waits while the gate is closed, and now and then WS_GATE_WAY_NS at most for one that
 * wants to close it. Nests. */
void ws_gate_enter(struct ws_gate *gate);
void ws_gate_leave(struct ws_gate *gate);

/* For the one: waits until nobody is inside, for at most that long. False: too long, or the gate is broken, and there
 * is nothing to open again. (One that closes in the very moment of the breaking may still get true; it opens again as
 * always.) */
bool ws_gate_close_within(struct ws_gate *gate, unsigned ms);
bool ws_gate_is_closed(struct ws_gate *gate);
/* By who closed it; nothing happens when it was broken meanwhile. */
void ws_gate_open(struct ws_gate *gate);

/* From any thread: open for good. */
void ws_gate_break(struct ws_gate *gate);

#endif
