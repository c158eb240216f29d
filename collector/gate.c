/* SPDX-License-Identifier: MIT
 * gate.c: many launches at once, or one alone. See gate.h. One compare-and-swap on the way in and one on the way out
 * where nobody waits: every launch of the program comes through here. */
#include "gate.h"

#include "steady.h"

#include <time.h>

static bool try_enter(struct ws_gate *gate)
{
    unsigned n = atomic_load(&gate->passing);
    while (n != WS_GATE_CLOSED)
        if (atomic_compare_exchange_weak(&gate->passing, &n, n + 1))
            return true;
    return false;
}

static bool try_close(struct ws_gate *gate)
{
    unsigned none = 0;
    return atomic_compare_exchange_strong(&gate->passing, &none, WS_GATE_CLOSED);
}

/* Sleep until `try` succeeds, or, who may give up, until the gate is broken. Who changes `passing` looks at `waiting`
 * afterwards, we count ourselves before we try: one of the two sees the other. */
static bool wait_for(struct ws_gate *gate, bool (*try)(struct ws_gate *), bool may_give_up)
{
    bool is_in;
    pthread_mutex_lock(&gate->lock);
    atomic_fetch_add(&gate->waiting, 1);
    while (!(is_in = try(gate)) && !(may_give_up && atomic_load(&gate->is_broken)))
        pthread_cond_wait(&gate->changed, &gate->lock);
    atomic_fetch_sub(&gate->waiting, 1);
    pthread_mutex_unlock(&gate->lock);
    return is_in;
}

static void wake(struct ws_gate *gate)
{
    if (atomic_load(&gate->waiting) == 0)
        return;
    pthread_mutex_lock(&gate->lock);
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

void ws_gate_enter(struct ws_gate *gate)
{
    if (!try_enter(gate))
        (void)wait_for(gate, try_enter, false);
}

void ws_gate_leave(struct ws_gate *gate)
{
    if (atomic_fetch_sub(&gate->passing, 1) == 1)
        wake(gate);
}

bool ws_gate_close(struct ws_gate *gate)
{
    if (atomic_load(&gate->is_broken))
        return false;
    return try_close(gate) || wait_for(gate, try_close, true);
}

/* Looks once a millisecond: a stop is seldom, and whoever is inside need not know of it. */
bool ws_gate_close_within(struct ws_gate *gate, unsigned ms)
{
    int64_t until_ns = ws_steady_ns() + (int64_t)ms * 1000000;
    while (!atomic_load(&gate->is_broken)) {
        struct timespec step = {0, 1000000};
        if (try_close(gate))
            return true;
        if (ws_steady_ns() >= until_ns)
            return false;
        nanosleep(&step, NULL);
    }
    return false;
}

void ws_gate_open(struct ws_gate *gate)
{
    unsigned closed = WS_GATE_CLOSED;
    if (atomic_compare_exchange_strong(&gate->passing, &closed, 0))
        wake(gate);
}

void ws_gate_break(struct ws_gate *gate)
{
    unsigned closed = WS_GATE_CLOSED;
    pthread_mutex_lock(&gate->lock);
    atomic_store(&gate->is_broken, true);
    (void)atomic_compare_exchange_strong(&gate->passing, &closed, 0);
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}
