/* SPDX-License-Identifier: MIT
 * gate.c: many launches at once, or one alone. See gate.h. One load and one compare-and-swap on the way in and one
 * subtraction on the way out where nobody waits: every launch of the program comes through here. */
#include "gate.h"

#include "steady.h"

#include <time.h>

#define WAY_EVERY_NS 20000000

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

/* Sleep until we are in. Who opens looks at `waiting` afterwards, we count ourselves before we try: one of the two sees
 * the other. */
static void wait_until_open(struct ws_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    atomic_fetch_add(&gate->waiting, 1);
    while (!try_enter(gate))
        pthread_cond_wait(&gate->changed, &gate->lock);
    atomic_fetch_sub(&gate->waiting, 1);
    pthread_mutex_unlock(&gate->lock);
}

static void wake(struct ws_gate *gate)
{
    if (atomic_load(&gate->waiting) == 0)
        return;
    pthread_mutex_lock(&gate->lock);
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

static void pause_100us(void)
{
    struct timespec step = {0, 100000};
    nanosleep(&step, NULL);
}

static void make_way(struct ws_gate *gate)
{
    while (atomic_load(&gate->closers) > 0 && !ws_gate_is_closed(gate) && !atomic_load(&gate->is_broken) &&
           ws_steady_ns() < atomic_load(&gate->way_until_ns))
        pause_100us();
}

void ws_gate_enter(struct ws_gate *gate)
{
    if (atomic_load(&gate->closers) > 0)
        make_way(gate);
    if (!try_enter(gate))
        wait_until_open(gate);
}

void ws_gate_leave(struct ws_gate *gate)
{
    (void)atomic_fetch_sub(&gate->passing, 1);
}

/* Looks every 0.1 ms: whoever is inside need not know of it. */
bool ws_gate_close_within(struct ws_gate *gate, unsigned ms)
{
    int64_t now_ns = ws_steady_ns();
    int64_t until_ns = now_ns + (int64_t)ms * 1000000;
    int64_t way_ns = now_ns; /* when others are to stand back again: what was inside then may have been a long one */
    bool is_closed = false;
    atomic_fetch_add(&gate->closers, 1);
    while (!atomic_load(&gate->is_broken) && !(is_closed = try_close(gate)) && now_ns <= until_ns) {
        if (now_ns >= way_ns) {
            atomic_store(&gate->way_until_ns, now_ns + WS_GATE_WAY_NS);
            way_ns = now_ns + WAY_EVERY_NS;
        }
        pause_100us();
        now_ns = ws_steady_ns();
    }
    atomic_fetch_sub(&gate->closers, 1);
    return is_closed;
}

bool ws_gate_is_closed(struct ws_gate *gate)
{
    return atomic_load(&gate->passing) == WS_GATE_CLOSED;
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
