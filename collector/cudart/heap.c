/* SPDX-License-Identifier: MIT
 * heap.c: the memory that a program gets from the runtime. Device memory lies in one reserved range that the host
 * may only touch between rt_heap_open() and rt_heap_close(): a program that dereferences a device pointer faults, as
 * with a GPU. Addresses are used again as late as possible, so that a use after free is seen as one. */
#include "rt.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALIGN 512u /* of cudaMalloc */
#define RESERVE (1ull << 40)
#define RESERVE_LEAST (1ull << 32)
#define FREED 1024u

static struct {
    uint8_t *base;
    uint64_t bytes;
    uint64_t used_end; /* above it nothing was ever given out */
    uint64_t cursor;   /* the next try */
    unsigned open;
    struct rt_block *all; /* by address */
    size_t n, cap;
    struct rt_block freed[FREED];
    uint64_t freed_n;
    uint32_t numbers;
    size_t used; /* device and managed bytes */
} heap;

/* --- access --- */

void rt_heap_open(void)
{
    if (heap.open++ == 0 && heap.used_end > 0)
        (void)mprotect(heap.base, heap.used_end, PROT_READ | PROT_WRITE);
}

void rt_heap_close(void)
{
    if (--heap.open == 0 && heap.used_end > 0)
        (void)mprotect(heap.base, heap.used_end, PROT_NONE);
}

/* A line before the program dies of a device pointer in host code. Only for the default action: a program with a
 * handler of its own keeps it. Async-signal-safe. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    static const char line[] = "==WARPSIGHT== the host touches device memory: a pointer of cudaMalloc is dereferenced "
                               "outside a kernel; on a GPU this is a segmentation fault, too\n";
    uint64_t at = (uint64_t)(uintptr_t)info->si_addr;
    (void)context;
    if (at - (uint64_t)(uintptr_t)heap.base < heap.used_end)
        (void)!write(2, line, sizeof line - 1);
    (void)signal(number, SIG_DFL); /* the access is tried again, and ends the program */
}

static void watch_faults(void)
{
    struct sigaction old, mine = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (sigaction(SIGSEGV, NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL)
        (void)sigaction(SIGSEGV, &mine, NULL);
}

/* --- the table of blocks --- */

static size_t place_of(uint64_t at)
{
    size_t lo = 0, hi = heap.n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (heap.all[mid].at + heap.all[mid].bytes <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

const struct rt_block *rt_heap_find(uint64_t at)
{
    size_t k = place_of(at);
    return k < heap.n && heap.all[k].at <= at ? &heap.all[k] : NULL;
}

const struct rt_block *rt_heap_freed(uint64_t at)
{
    uint64_t n = heap.freed_n < FREED ? heap.freed_n : FREED;
    for (uint64_t k = 1; k <= n; k++) {
        const struct rt_block *b = &heap.freed[(heap.freed_n - k) % FREED];
        if (at >= b->at && at - b->at < b->bytes)
            return b;
    }
    return NULL;
}

const struct rt_block *rt_heap_at(size_t k)
{
    return k < heap.n ? &heap.all[k] : NULL;
}

size_t rt_heap_used(void)
{
    return heap.used;
}

/* The board's memory is not in gpus.def; what this machine has bounds it in any case. */
size_t rt_heap_limit(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages * (size_t)page / 10 * 9 : (size_t)1 << 32;
}

static bool is_counted(enum rt_owner owner)
{
    return owner == RT_OWNER_DEVICE || owner == RT_OWNER_MANAGED;
}

/* Enter a block, for kernels too. */
static int insert(const struct rt_block *b)
{
    size_t at = place_of(b->at);
    char label[40];
    if (heap.n == heap.cap) {
        size_t cap = heap.cap ? heap.cap * 2 : 64;
        struct rt_block *bigger = realloc(heap.all, cap * sizeof *bigger);
        if (!bigger)
            return RT_ErrorMemoryAllocation;
        heap.all = bigger;
        heap.cap = cap;
    }
    if (ws_model_adopt(rt_memory(), b->at, b->bytes) != 0)
        return RT_ErrorMemoryAllocation;
    snprintf(label, sizeof label, "%s %u", b->call, heap.numbers + 1);
    (void)ws_model_label(rt_memory(), b->at, label);
    if ((rt_checks() & WS_CHECK_UNINIT) && b->owner == RT_OWNER_DEVICE)
        (void)ws_model_undefine(rt_memory(), b->at); /* out of memory: not checked */
    memmove(heap.all + at + 1, heap.all + at, (heap.n - at) * sizeof *heap.all);
    heap.all[at] = *b;
    heap.all[at].number = ++heap.numbers;
    heap.n++;
    heap.used += is_counted(b->owner) ? b->bytes : 0;
    return RT_Success;
}

/* --- addresses of device memory --- */

static bool reserve(void)
{
    for (uint64_t bytes = RESERVE; !heap.base && bytes >= RESERVE_LEAST; bytes /= 2) {
        void *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED)
            continue;
        heap.base = at;
        heap.bytes = bytes;
        watch_faults();
    }
    return heap.base != NULL;
}

/* The first hole of at least `bytes` from an offset on; UINT64_MAX = none. */
static uint64_t find_hole(uint64_t from, uint64_t bytes)
{
    uint64_t at = from;
    for (size_t k = place_of((uint64_t)(uintptr_t)heap.base + from); k < heap.n; k++) {
        uint64_t lo = heap.all[k].at - (uint64_t)(uintptr_t)heap.base;
        if (heap.all[k].owner != RT_OWNER_DEVICE)
            continue;
        if (lo >= at && lo - at >= bytes)
            break;
        at = (lo + heap.all[k].bytes + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
    }
    return at <= heap.bytes && heap.bytes - at >= bytes ? at : UINT64_MAX;
}

static int take_device(size_t bytes, uint64_t *out)
{
    uint64_t rounded = ((uint64_t)bytes + ALIGN - 1) & ~(uint64_t)(ALIGN - 1), at, page = 4096;
    if (rounded < bytes || !reserve())
        return RT_ErrorMemoryAllocation;
    at = find_hole(heap.cursor, rounded);
    if (at == UINT64_MAX)
        at = find_hole(0, rounded);
    if (at == UINT64_MAX)
        return RT_ErrorMemoryAllocation;
    heap.cursor = at + rounded;
    if (heap.cursor > heap.used_end)
        heap.used_end = (heap.cursor + page - 1) & ~(page - 1);
    *out = (uint64_t)(uintptr_t)heap.base + at;
    return RT_Success;
}

/* --- allocations --- */

int rt_heap_alloc(size_t bytes, enum rt_owner owner, const char *call, const void *caller, void **out)
{
    struct rt_block b = {.bytes = bytes, .owner = owner, .call = call, .caller = caller};
    void *at = NULL;
    int code = RT_Success;
    if (bytes > rt_heap_limit() || heap.used > rt_heap_limit() - bytes)
        return RT_ErrorMemoryAllocation;
    if (owner == RT_OWNER_DEVICE) {
        code = take_device(bytes, &b.at);
    } else {
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        b.at = (uint64_t)(uintptr_t)at;
        code = at == MAP_FAILED ? RT_ErrorMemoryAllocation : RT_Success;
    }
    if (code == RT_Success)
        code = insert(&b);
    if (code == RT_Success)
        *out = (void *)(uintptr_t)b.at;
    return code;
}

int rt_heap_register(void *at, size_t bytes, const char *call, const void *caller)
{
    struct rt_block b = {(uint64_t)(uintptr_t)at, bytes, RT_OWNER_REGISTERED, 0, call, caller};
    size_t k = place_of(b.at);
    if (k < heap.n && heap.all[k].at < b.at + bytes)
        return RT_ErrorHostMemoryAlreadyRegistered;
    return insert(&b);
}

/* Whole pages that no live block touches go back to the system; the next owner finds zeros or old bytes. */
static void give_back(const struct rt_block *b)
{
    uint64_t page = 4096, lo = (b->at + page - 1) & ~(page - 1), hi = (b->at + b->bytes) & ~(page - 1);
    if (b->owner == RT_OWNER_DEVICE && hi > lo)
        (void)madvise((void *)(uintptr_t)lo, hi - lo, MADV_DONTNEED);
    else if (b->owner == RT_OWNER_HOST || b->owner == RT_OWNER_MANAGED)
        (void)munmap((void *)(uintptr_t)b->at, b->bytes);
}

void rt_heap_free(const struct rt_block *block)
{
    size_t k = (size_t)(block - heap.all);
    (void)ws_model_release(rt_memory(), block->at);
    heap.used -= is_counted(block->owner) ? block->bytes : 0;
    heap.freed[heap.freed_n++ % FREED] = *block;
    give_back(block);
    memmove(heap.all + k, heap.all + k + 1, (heap.n - k - 1) * sizeof *heap.all);
    heap.n--;
}
