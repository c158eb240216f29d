/* SPDX-License-Identifier: MIT
 * memory.h: the device memory of the model: allocations with exact bounds.
 * A device address is the host address of the byte, so a load needs no translation; nothing may be read or
 * written at an address that memory_find() has not confirmed. */
#ifndef WS_COLLECTOR_MODEL_MEMORY_H
#define WS_COLLECTOR_MODEL_MEMORY_H

#include "texture.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMORY_LABEL_BYTES 40

struct allocation {
    uint64_t lo, hi;
    void *base;       /* to free, NULL = somebody else's */
    uint64_t mapped;  /* bytes of a mapping at base; 0: it is malloc's */
    uint8_t *defined; /* [hi - lo] 1 = written; NULL = all of it is */
    char label[MEMORY_LABEL_BYTES];
};

/* What malloc of a kernel gave; by address. */
struct heap_block {
    uint64_t at, bytes;
};

struct heap {
    uint8_t *base; /* NULL: no kernel wanted it yet */
    uint64_t bytes;
    struct heap_block *blocks;
    uint32_t n, cap, hint;
    pthread_mutex_t lock;
};

struct memory {
    struct allocation *all; /* by address */
    uint32_t n, cap;
    uint64_t bytes, limit;
    struct heap heap;
    struct texture_table textures;
};

void memory_init(struct memory *memory, uint64_t limit);
void memory_fini(struct memory *memory);
/* Zeroed bytes at a multiple of 512, as cudaMalloc gives. 0 and *addr; -WS_ENOMEM, -WS_ELIMIT. */
int memory_alloc(struct memory *memory, uint64_t bytes, uint64_t *addr);
/* Bytes that belong to somebody else, not counted against the limit. -WS_EINVAL: none, or they overlap. */
int memory_adopt(struct memory *memory, uint64_t addr, uint64_t bytes);
/* -WS_ENOENT: not the start of an allocation. */
int memory_free(struct memory *memory, uint64_t addr);
/* What messages call the allocation; cut when longer. -WS_ENOENT. */
int memory_label(struct memory *memory, uint64_t addr, const char *label, size_t length);
/* Its bytes count as never written, until memory_define() or a checked launch writes them. -WS_ENOENT, -WS_ENOMEM. */
int memory_undefine(struct memory *memory, uint64_t addr);
void memory_define(struct memory *memory, uint64_t addr, uint64_t bytes);
/* All allocations count as written. */
void memory_define_all(struct memory *memory);
/* The allocation at this address and its map of written bytes. */
bool memory_defined(const struct memory *memory, uint64_t address, uint64_t *lo, uint64_t *hi, uint8_t **defined);
/* The allocation at this address, or else the one that ends last before it; NULL: none. */
const struct allocation *memory_nearest(const struct memory *memory, uint64_t address);
bool memory_find(struct memory *memory, uint64_t address, uint64_t *lo, uint64_t *hi);

/* --- heap.c: the heap of kernels; lives from launch to launch. Any thread. --- */

/* Has effect once. -WS_ENOMEM. */
int memory_heap(struct memory *memory, uint64_t bytes);
void memory_heap_fini(struct memory *memory);
/* A multiple of 16, bytes not zeroed; 0: no room. */
uint64_t memory_heap_take(struct memory *memory, uint64_t bytes);
/* False: not the start of a block. */
bool memory_heap_give(struct memory *memory, uint64_t address);
bool memory_in_heap(const struct memory *memory, uint64_t address);
bool memory_heap_find(struct memory *memory, uint64_t address, uint64_t *lo, uint64_t *hi);

#endif
