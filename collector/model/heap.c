/* SPDX-License-Identifier: MIT
 * heap.c: malloc and free of kernels: blocks of one arena, with exact bounds, that live from launch to launch.
 * The host cannot reach them, as on a GPU. No zeroing; a free block is an error to touch as soon as the worker that
 * gave it back has forgotten its bounds, which it does at once; another worker may see it a little longer. */
#include "exec.h"

#include "../../analyzer/err.h"

#include <stdlib.h>
#include <string.h>

#define HEAP_ALIGN 16u
#define LIMIT_BLOCKS (8u << 20)

int memory_heap(struct memory *memory, uint64_t bytes)
{
    void *base = NULL;
    if (memory->heap.base)
        return 0;
    if (bytes == 0 || bytes > memory->limit || posix_memalign(&base, 512, bytes) != 0)
        return -WS_ENOMEM;
    memory->heap.base = base;
    memory->heap.bytes = bytes;
    return 0;
}

void memory_heap_fini(struct memory *memory)
{
    free(memory->heap.base);
    free(memory->heap.blocks);
    pthread_mutex_destroy(&memory->heap.lock);
    memset(&memory->heap, 0, sizeof memory->heap);
}

bool memory_in_heap(const struct memory *memory, uint64_t address)
{
    return address - (uint64_t)(uintptr_t)memory->heap.base < memory->heap.bytes;
}

/* The first block that ends above the offset. */
static uint32_t block_above(const struct heap *h, uint64_t offset)
{
    uint32_t lo = 0, hi = h->n;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (h->blocks[mid].at + h->blocks[mid].bytes <= offset)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static uint64_t end_of(const struct heap_block *b)
{
    return (b->at + b->bytes + HEAP_ALIGN - 1) & ~(uint64_t)(HEAP_ALIGN - 1);
}

/* Room before block k (k == n: behind the last). */
static bool fits(const struct heap *h, uint32_t k, uint64_t bytes, uint64_t *at)
{
    uint64_t from = k > 0 ? end_of(&h->blocks[k - 1]) : 0;
    uint64_t to = k < h->n ? h->blocks[k].at : h->bytes;
    *at = from;
    return from <= to && to - from >= bytes;
}

/* Looks from where the last one was found on, and once around. */
static uint64_t take(struct heap *h, uint64_t bytes)
{
    uint64_t at = 0;
    uint32_t k = 0, tried = 0;
    if (bytes == 0 || bytes > h->bytes || !ptx_grow(&h->blocks, &h->cap, h->n, sizeof *h->blocks, LIMIT_BLOCKS))
        return 0;
    for (k = h->hint > h->n ? h->n : h->hint; tried <= h->n; tried++, k = k == h->n ? 0 : k + 1)
        if (fits(h, k, bytes, &at))
            break;
    if (tried > h->n)
        return 0;
    memmove(h->blocks + k + 1, h->blocks + k, (h->n - k) * sizeof *h->blocks);
    h->blocks[k] = (struct heap_block){at, bytes};
    h->n++;
    h->hint = k + 1;
    return (uint64_t)(uintptr_t)h->base + at;
}

uint64_t memory_heap_take(struct memory *memory, uint64_t bytes)
{
    uint64_t at;
    pthread_mutex_lock(&memory->heap.lock);
    at = take(&memory->heap, bytes);
    pthread_mutex_unlock(&memory->heap.lock);
    return at;
}

bool memory_heap_give(struct memory *memory, uint64_t address)
{
    struct heap *h = &memory->heap;
    uint64_t offset = address - (uint64_t)(uintptr_t)h->base;
    uint32_t k;
    bool is_block;
    pthread_mutex_lock(&h->lock);
    k = block_above(h, offset);
    is_block = k < h->n && h->blocks[k].at == offset;
    if (is_block) {
        memmove(h->blocks + k, h->blocks + k + 1, (h->n - k - 1) * sizeof *h->blocks);
        h->n--;
        h->hint = h->hint > k ? k : h->hint;
    }
    pthread_mutex_unlock(&h->lock);
    return is_block;
}

bool memory_heap_find(struct memory *memory, uint64_t address, uint64_t *lo, uint64_t *hi)
{
    struct heap *h = &memory->heap;
    uint64_t base = (uint64_t)(uintptr_t)h->base, offset = address - base;
    uint32_t k;
    bool is_inside;
    pthread_mutex_lock(&h->lock);
    k = block_above(h, offset);
    is_inside = k < h->n && h->blocks[k].at <= offset;
    if (is_inside) {
        *lo = base + h->blocks[k].at;
        *hi = *lo + h->blocks[k].bytes;
    }
    pthread_mutex_unlock(&h->lock);
    return is_inside;
}

/* Bounds that rows remember may be those of a block that is free now. */
static void forget_bounds(struct exec_ctx *ctx)
{
    for (uint32_t k = 0; k < ctx->code->stats_n; k++)
        ctx->mem_rows[k].lo = ctx->mem_rows[k].hi = 0;
}

void exec_heap(struct warp *w, const struct code_ins *i)
{
    struct exec_ctx *ctx = w->ctx;
    uint64_t argument = (uint64_t)i->imm & UINT32_MAX, result = (uint64_t)i->imm >> 32;
    for (uint32_t m = w->mask; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        uint8_t *frame = w->local + lane * code_local(ctx->code) + w->frame;
        uint64_t value;
        memcpy(&value, frame + argument, sizeof value);
        if (i->type2 == 0) { /* malloc */
            value = memory_heap_take(ctx->memory, value);
            memcpy(frame + result, &value, sizeof value);
        } else if (value != 0 && (!memory_in_heap(ctx->memory, value) || !memory_heap_give(ctx->memory, value))) {
            exec_fault(w, i, FAULT_FREE, lane, value);
        }
    }
    if (i->type2 != 0)
        forget_bounds(ctx);
}
