/* SPDX-License-Identifier: MIT
 * memory.c: the device memory of the model. Changed only between launches; launches read it from any thread. */
#include "memory.h"

#include "../../analyzer/err.h"

#include "ptx.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGN 512u
#define HUGE_BYTES (2u << 20)

void memory_init(struct memory *memory, uint64_t limit)
{
    memset(memory, 0, sizeof *memory);
    memory->limit = limit;
    pthread_mutex_init(&memory->heap.lock, NULL);
}

static void give_back(const struct allocation *a)
{
    if (a->mapped)
        (void)munmap(a->base, a->mapped);
    else
        free(a->base);
}

#define PAGE_BYTES 4096u

/* Large memory comes zeroed from the system. Its pages are asked for at once: a launch is not to wait for them. */
static bool map(struct allocation *a, uint64_t bytes)
{
    uint64_t whole = (bytes + HUGE_BYTES - 1) & ~(uint64_t)(HUGE_BYTES - 1), before;
    uint8_t *at = mmap(NULL, whole + HUGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return false;
    before = (0 - (uint64_t)(uintptr_t)at) & (HUGE_BYTES - 1);
    if (before)
        (void)munmap(at, before);
    (void)munmap(at + before + whole, HUGE_BYTES - before);
    a->base = at + before;
    a->mapped = whole;
    (void)madvise(a->base, whole, MADV_HUGEPAGE); /* scattered accesses wait for page tables; refused: it costs time */
    for (uint64_t k = 0; k < whole; k += PAGE_BYTES)
        ((volatile uint8_t *)a->base)[k] = 0;
    return true;
}

void memory_fini(struct memory *memory)
{
    for (uint32_t k = 0; k < memory->n; k++) {
        give_back(&memory->all[k]);
        free(memory->all[k].defined);
    }
    free(memory->all);
    memory_heap_fini(memory);
    texture_fini(&memory->textures);
    memory_init(memory, memory->limit);
}

/* The first allocation whose end lies above the address. */
static uint32_t place_of(const struct memory *memory, uint64_t address)
{
    uint32_t lo = 0, hi = memory->n;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (memory->all[mid].hi <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static int make_room(struct memory *memory, uint64_t bytes)
{
    if (bytes == 0 || bytes > memory->limit || memory->bytes > memory->limit - bytes)
        return -WS_ELIMIT;
    return ptx_grow(&memory->all, &memory->cap, memory->n, sizeof *memory->all, 1u << 20) ? 0 : -WS_ENOMEM;
}

static void insert(struct memory *memory, const struct allocation *a)
{
    uint32_t at = place_of(memory, a->lo);
    memmove(memory->all + at + 1, memory->all + at, (memory->n - at) * sizeof *memory->all);
    memory->all[at] = *a;
    memory->n++;
    memory->bytes += a->base ? a->hi - a->lo : 0;
}

int memory_alloc(struct memory *memory, uint64_t bytes, uint64_t *addr)
{
    struct allocation a = {0};
    uint64_t rounded;
    int err = make_room(memory, bytes);
    if (err)
        return err;
    rounded = (bytes + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
    if (rounded >= HUGE_BYTES) {
        if (!map(&a, rounded))
            return -WS_ENOMEM;
    } else {
        if (posix_memalign(&a.base, ALIGN, rounded) != 0)
            return -WS_ENOMEM;
        memset(a.base, 0, rounded);
    }
    a.lo = (uint64_t)(uintptr_t)a.base;
    a.hi = a.lo + bytes;
    insert(memory, &a);
    *addr = a.lo;
    return 0;
}

int memory_adopt(struct memory *memory, uint64_t addr, uint64_t bytes)
{
    struct allocation a = {.lo = addr, .hi = addr + bytes};
    uint32_t at = place_of(memory, addr);
    int err;
    if (bytes == 0 || addr + bytes < addr || (at < memory->n && memory->all[at].lo < addr + bytes))
        return -WS_EINVAL;
    err = ptx_grow(&memory->all, &memory->cap, memory->n, sizeof *memory->all, 1u << 20) ? 0 : -WS_ENOMEM;
    if (!err)
        insert(memory, &a);
    return err;
}

int memory_free(struct memory *memory, uint64_t addr)
{
    uint32_t at = place_of(memory, addr);
    if (at == memory->n || memory->all[at].lo != addr)
        return -WS_ENOENT;
    memory->bytes -= memory->all[at].base ? memory->all[at].hi - addr : 0;
    give_back(&memory->all[at]);
    free(memory->all[at].defined);
    memmove(memory->all + at, memory->all + at + 1, (memory->n - at - 1) * sizeof *memory->all);
    memory->n--;
    return 0;
}

bool memory_find(struct memory *memory, uint64_t address, uint64_t *lo, uint64_t *hi)
{
    if (memory_in_heap(memory, address))
        return memory_heap_find(memory, address, lo, hi);
    uint32_t at = place_of(memory, address);
    if (at == memory->n || memory->all[at].lo > address)
        return false;
    *lo = memory->all[at].lo;
    *hi = memory->all[at].hi;
    return true;
}

static struct allocation *start_of(struct memory *memory, uint64_t addr)
{
    uint32_t at = place_of(memory, addr);
    return at < memory->n && memory->all[at].lo == addr ? &memory->all[at] : NULL;
}

int memory_label(struct memory *memory, uint64_t addr, const char *label, size_t length)
{
    struct allocation *a = start_of(memory, addr);
    if (!a)
        return -WS_ENOENT;
    length = length < sizeof a->label ? length : sizeof a->label - 1;
    memcpy(a->label, label, length);
    a->label[length] = '\0';
    return 0;
}

int memory_undefine(struct memory *memory, uint64_t addr)
{
    struct allocation *a = start_of(memory, addr);
    uint8_t *map;
    if (!a)
        return -WS_ENOENT;
    map = calloc(a->hi - a->lo, 1);
    if (!map)
        return -WS_ENOMEM;
    free(a->defined);
    a->defined = map;
    return 0;
}

void memory_define(struct memory *memory, uint64_t addr, uint64_t bytes)
{
    uint32_t at = place_of(memory, addr);
    const struct allocation *a = &memory->all[at];
    if (at == memory->n || a->lo > addr || !a->defined || a->hi - addr < bytes)
        return;
    memset(a->defined + (addr - a->lo), 1, bytes);
}

void memory_define_all(struct memory *memory)
{
    for (uint32_t k = 0; k < memory->n; k++) {
        free(memory->all[k].defined);
        memory->all[k].defined = NULL;
    }
}

bool memory_defined(const struct memory *memory, uint64_t address, uint64_t *lo, uint64_t *hi, uint8_t **defined)
{
    uint32_t at = place_of(memory, address);
    if (at == memory->n || memory->all[at].lo > address)
        return false;
    *lo = memory->all[at].lo;
    *hi = memory->all[at].hi;
    *defined = memory->all[at].defined;
    return true;
}

const struct allocation *memory_nearest(const struct memory *memory, uint64_t address)
{
    uint32_t at = place_of(memory, address);
    if (at < memory->n && memory->all[at].lo <= address)
        return &memory->all[at];
    return at > 0 ? &memory->all[at - 1] : NULL;
}
