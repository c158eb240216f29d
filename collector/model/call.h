/* SPDX-License-Identifier: MIT
 * call.h: calls that are not inlined, while a warp runs: between launch.c (divergence) and call.c (frames). */
#ifndef WS_COLLECTOR_MODEL_CALL_H
#define WS_COLLECTOR_MODEL_CALL_H

#include "exec.h"

/* The block ends in a call: its lanes enter the function, those with another target after them. Returns whether the
 * warp was split. A fault (no such function, too deep) ends the launch. */
bool call_enter(struct warp *w, const struct code_block *b);
/* The block ends in a return: its lanes wait until all that called have returned. */
void call_leave(struct warp *w, const struct code_block *b);
/* Nobody runs in the function any more: back to the caller. False: none of its lanes lives. */
bool call_return(struct warp *w);
void call_free(struct warp *w);

/* The divergence stack as the running function found it. */
static inline uint32_t call_depth(const struct warp *w)
{
    return w->calls_n ? w->calls[w->calls_n - 1].depth : 0;
}

#endif
