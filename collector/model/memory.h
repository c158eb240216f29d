/* SPDX-License-Identifier: MIT
 * memory.h: the device memory of the model: allocations with exact bounds.
 * A device address is the host address of the byte, so a load needs no translation; nothing may be read or
 * written at an address that memory_find() has not confirmed. */
#ifndef WS_COLLECTOR_MODEL_MEMORY_H
#define WS_COLLECTOR_MODEL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct allocation {
    uint64_t lo, hi;
    void *base; /* to free, NULL = somebody else's */
};

struct memory {
    struct allocation *all; /* by address */
    uint32_t n, cap;
    uint64_t bytes, limit;
};

void memory_init(struct memory *memory, uint64_t limit);
void memory_fini(struct memory *memory);
/* Zeroed bytes at a multiple of 512, as cudaMalloc gives. 0 and *addr; -WS_ENOMEM, -WS_ELIMIT. */
int memory_alloc(struct memory *memory, uint64_t bytes, uint64_t *addr);
/* Bytes that belong to somebody else, not counted against the limit. -WS_EINVAL: none, or they overlap. */
int memory_adopt(struct memory *memory, uint64_t addr, uint64_t bytes);
/* -WS_ENOENT: not the start of an allocation. */
int memory_free(struct memory *memory, uint64_t addr);
bool memory_find(const struct memory *memory, uint64_t address, uint64_t *lo, uint64_t *hi);

#endif
