/* SPDX-License-Identifier: MIT
 * state.h: the one switch of the collector, one atomic:
 *   OFF -> ON <-> IDLE, either -> DRAINING -> OFF
 * IDLE: nothing is collected, but it may be again (collection.h). OFF is final once latched: after a fault of our own,
 * in a forked child, or after the exit drain, the collector never calls CUPTI again and the host program runs on as if
 * we were not there. */
#ifndef WS_COLLECTOR_STATE_H
#define WS_COLLECTOR_STATE_H

#include <stdbool.h>

enum ws_state { WS_STATE_OFF, WS_STATE_ON, WS_STATE_IDLE, WS_STATE_DRAINING };

/* Any thread, any time; one atomic load. */
enum ws_state ws_state_get(void);

/* Move along the lines above; false, and nothing changed, when `from` is not the present state or
 * OFF was latched. */
bool ws_state_move(enum ws_state from, enum ws_state to);

/* OFF for good. Async-signal-safe: the atfork child handler calls it. */
void ws_state_latch_off(void);

#endif
