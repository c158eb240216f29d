/* SPDX-License-Identifier: MIT
 * arena.c: memory that is taken in small pieces and given back all at once. */
#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)64 << 10)

struct ws_arena_block {
    struct ws_arena_block *next;
    size_t used, cap;
    max_align_t bytes[];
};

static struct ws_arena_block *add_block(struct ws_arena *arena, size_t size)
{
    size_t cap = size > BLOCK_BYTES ? size : BLOCK_BYTES;
    struct ws_arena_block *b;
    if (cap > SIZE_MAX - sizeof *b)
        return NULL;
    b = calloc(1, sizeof *b + cap);
    if (!b)
        return NULL;
    b->cap = cap;
    b->next = arena->blocks;
    arena->blocks = b;
    return b;
}

void *ws_arena_take(struct ws_arena *arena, size_t size)
{
    struct ws_arena_block *b = arena->blocks;
    size_t align = sizeof(max_align_t) - 1;
    char *at;
    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + align) & ~align;
    if (!b || b->cap - b->used < size)
        b = add_block(arena, size);
    if (!b)
        return NULL;
    at = (char *)b->bytes + b->used;
    b->used += size;
    return at;
}

char *ws_arena_text_n(struct ws_arena *arena, const char *text, size_t length)
{
    char *copy = ws_arena_take(arena, length + 1);
    if (copy && length > 0)
        memcpy(copy, text, length);
    return copy;
}

char *ws_arena_text(struct ws_arena *arena, const char *text)
{
    return ws_arena_text_n(arena, text, strlen(text));
}

void ws_arena_fini(struct ws_arena *arena)
{
    while (arena->blocks) {
        struct ws_arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
}
