/* SPDX-License-Identifier: MIT
 * call.c: calls of device functions that are not inlined: recursion, calls by address.
 * All registers of the warp are kept and put back: lanes that did not call never change while others are in a function.
 * Parameters and results are copied between frames of local memory. Nothing is counted but the call itself. */
#include "call.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT_CALLS 8192u

static uint64_t frame_bytes(const struct code *c, uint32_t function)
{
    return function == CODE_NONE ? (c->local_bytes + 15) & ~15ull : c->functions[function].frame_bytes;
}

static void copy(struct warp *w, const struct code_copy *copies, uint32_t n, uint32_t from, uint32_t to, uint32_t mask)
{
    uint64_t step = code_local(w->ctx->code);
    for (uint32_t m = mask; m; m &= m - 1) {
        uint8_t *local = w->local + (uint64_t)__builtin_ctz(m) * step;
        for (uint32_t k = 0; k < n; k++)
            memcpy(local + to + copies[k].to, local + from + copies[k].from, copies[k].bytes);
    }
}

/* Room for one more frame, with what it keeps; NULL: out of memory. */
static struct call_frame *add_frame(struct warp *w)
{
    struct call_frame *f;
    if (!ptx_grow(&w->calls, &w->calls_cap, w->calls_n, sizeof *w->calls, LIMIT_CALLS))
        return NULL;
    f = &w->calls[w->calls_n];
    if (!f->saved)
        f->saved = malloc(w->ctx->code->saved_bytes + 1u);
    return f->saved ? f : NULL;
}

/* The lanes in mask begin the function; those of others come back to the block that called, or are past it. */
static void begin(struct warp *w, const struct code_block *b, uint32_t function, uint32_t mask)
{
    const struct code *c = w->ctx->code;
    const struct code_ins *i = &c->ins[b->ending];
    const struct code_call *call = &c->calls[i->imm];
    uint64_t base = w->frame + frame_bytes(c, w->function);
    struct call_frame *f = base + c->functions[function].frame_bytes <= code_local(c) ? add_frame(w) : NULL;
    if (!f) {
        exec_fault(w, i, FAULT_STACK, (uint32_t)__builtin_ctz(mask), 0);
        w->block = b->next;
        return;
    }
    w->calls_n++;
    f->block = b->next;
    f->join = w->join;
    f->mask = mask;
    f->depth = w->depth;
    f->frame = w->frame;
    f->function = w->function;
    f->call = (uint32_t)i->imm;
    memcpy(f->saved, w->regs, c->saved_bytes);
    copy(w, c->copies + call->copies + call->rets_n, call->params_n, w->frame, (uint32_t)base, mask);
    w->frame = (uint32_t)base;
    w->function = function;
    w->mask = mask;
    w->join = CODE_NONE;
    w->block = c->functions[function].entry;
}

/* Lanes whose register holds the address of the first one's. */
static uint32_t same_target(const struct warp *w, uint32_t reg, uint32_t mask, uint64_t *address)
{
    const uint64_t *at = (const uint64_t *)(const void *)(w->regs + reg);
    uint32_t same = 0;
    *address = at[__builtin_ctz(mask)];
    for (uint32_t m = mask; m; m &= m - 1)
        if (at[__builtin_ctz(m)] == *address)
            same |= m & (0u - m);
    return same;
}

bool call_enter(struct warp *w, const struct code_block *b)
{
    const struct code *c = w->ctx->code;
    const struct code_ins *i = &c->ins[b->ending];
    uint32_t callers = w->mask, now, function = c->calls[i->imm].function;
    uint64_t address = 0;
    if (b->guard != CODE_NONE)
        callers &= *(const uint32_t *)(const void *)(w->regs + b->guard) ^ (b->is_guard_negated ? UINT32_MAX : 0);
    if (callers == 0) {
        w->block = b->next;
        return false;
    }
    now = callers;
    if (function == CODE_NONE) {
        now = same_target(w, i->s[0], callers, &address);
        function = code_function_at(c, address, c->calls[i->imm].form);
        if (function == CODE_NONE) {
            exec_fault(w, i, FAULT_CALL, (uint32_t)__builtin_ctz(now), address);
            w->block = b->next;
            return false;
        }
    }
    if (now == w->mask) {
        begin(w, b, function, now);
        return false;
    }
    if (b->next != w->join) { /* where all meet again */
        w->stack[w->depth++] = (struct stack_entry){b->next, w->join, w->mask};
        w->join = b->next;
    }
    if (callers & ~now)
        w->stack[w->depth++] = (struct stack_entry){w->block, b->next, callers & ~now};
    begin(w, b, function, now);
    return true;
}

void call_leave(struct warp *w, const struct code_block *b)
{
    uint32_t lanes = w->mask;
    if (b->guard != CODE_NONE)
        lanes &= *(const uint32_t *)(const void *)(w->regs + b->guard) ^ (b->is_guard_negated ? UINT32_MAX : 0);
    for (uint32_t k = call_depth(w); k < w->depth; k++)
        w->stack[k].mask &= ~lanes;
    w->mask &= ~lanes;
    w->block = b->next;
}

bool call_return(struct warp *w)
{
    const struct code *c = w->ctx->code;
    const struct call_frame *f = &w->calls[--w->calls_n];
    const struct code_call *call = &c->calls[f->call];
    uint32_t from = w->frame;
    memcpy(w->regs, f->saved, c->saved_bytes);
    w->frame = f->frame;
    w->function = f->function;
    w->block = f->block;
    w->join = f->join;
    w->mask = f->mask & w->live;
    copy(w, c->copies + call->copies, call->rets_n, from, w->frame, w->mask);
    return w->mask != 0;
}

void call_free(struct warp *w)
{
    for (uint32_t k = 0; k < w->calls_cap; k++)
        free(w->calls[k].saved);
    free(w->calls);
    w->calls = NULL;
    w->calls_n = w->calls_cap = 0;
}
