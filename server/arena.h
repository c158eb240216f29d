/* SPDX-License-Identifier: MIT
 * arena.h: memory that is taken in small pieces and given back all at once. For what lives as long as one
 * report. Not for several threads. */
#ifndef WS_SERVER_ARENA_H
#define WS_SERVER_ARENA_H

#include <stddef.h>

struct ws_arena_block;

/* Zero to begin. */
struct ws_arena {
    struct ws_arena_block *blocks;
};

/* Zeroed bytes, aligned for any type; NULL when out of memory. Valid until ws_arena_fini. */
void *ws_arena_take(struct ws_arena *arena, size_t size);
/* A copy of text[length] with a NUL, or of a whole C string. */
char *ws_arena_text_n(struct ws_arena *arena, const char *text, size_t length);
char *ws_arena_text(struct ws_arena *arena, const char *text);
void ws_arena_fini(struct ws_arena *arena);

#endif
