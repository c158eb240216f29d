/* SPDX-License-Identifier: MIT
 * state.c: the one switch of the collector. See state.h for its life cycle. */
#include "state.h"

#include <stdatomic.h>

static atomic_int state = WS_STATE_OFF;
static atomic_bool latched;

enum ws_state ws_state_get(void)
{
    return (enum ws_state)atomic_load_explicit(&state, memory_order_acquire);
}

bool ws_state_move(enum ws_state from, enum ws_state to)
{
    int expected = (int)from;
    if (to != WS_STATE_OFF && atomic_load(&latched))
        return false;
    return atomic_compare_exchange_strong(&state, &expected, (int)to);
}

void ws_state_latch_off(void)
{
    atomic_store(&latched, true);
    atomic_store(&state, (int)WS_STATE_OFF);
}
