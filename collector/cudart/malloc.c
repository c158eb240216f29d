/* SPDX-License-Identifier: MIT
 * malloc.c: the runtime's calls that give and take memory, and questions about pointers. The memory is heap.c. */
#include "rt.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CALLER __builtin_return_address(0)

static int give(const char *call, const void *caller, size_t bytes, enum rt_owner owner, void **out)
{
    int code = rt_enter();
    if (code != RT_Success)
        return rt_done(code);
    if (!out)
        return rt_fail(RT_ErrorInvalidValue, call, "no place for the pointer");
    *out = NULL;
    if (bytes == 0)
        return owner == RT_OWNER_MANAGED ? rt_fail(RT_ErrorInvalidValue, call, "0 bytes") : rt_done(RT_Success);
    code = rt_heap_alloc(bytes, owner, call, caller, out);
    if (code == RT_Success)
        return rt_done(code);
    return rt_fail(code, call, "%zu bytes; %zu of %zu are in use (the memory of this machine)", bytes, rt_heap_used(),
                   rt_heap_limit());
}

RT_API(cudaMalloc, void **out, size_t bytes)
{
    return give("cudaMalloc", CALLER, bytes, RT_OWNER_DEVICE, out);
}

RT_API(cudaMallocAsync, void **out, size_t bytes, void *stream)
{
    (void)stream;
    return give("cudaMallocAsync", CALLER, bytes, RT_OWNER_DEVICE, out);
}
RT_ALSO(cudaMallocAsync, cudaMallocAsync_ptsz);

RT_API(cudaMallocFromPoolAsync, void **out, size_t bytes, void *pool, void *stream)
{
    (void)pool;
    (void)stream;
    return give("cudaMallocFromPoolAsync", CALLER, bytes, RT_OWNER_DEVICE, out);
}
RT_ALSO(cudaMallocFromPoolAsync, cudaMallocFromPoolAsync_ptsz);

RT_API(cudaMallocManaged, void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    return give("cudaMallocManaged", CALLER, bytes, RT_OWNER_MANAGED, out);
}

RT_API(cudaMallocHost, void **out, size_t bytes)
{
    return give("cudaMallocHost", CALLER, bytes, RT_OWNER_HOST, out);
}

RT_API(cudaHostAlloc, void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    return give("cudaHostAlloc", CALLER, bytes, RT_OWNER_HOST, out);
}

#define PITCH 512u

static size_t round_pitch(size_t width)
{
    return (width + PITCH - 1) / PITCH * PITCH;
}

RT_API(cudaMallocPitch, void **out, size_t *pitch, size_t width, size_t height)
{
    *pitch = round_pitch(width);
    return give("cudaMallocPitch", CALLER, *pitch * height, RT_OWNER_DEVICE, out);
}

RT_API(cudaMalloc3D, struct rt_pitched_ptr *out, struct rt_extent extent)
{
    *out = (struct rt_pitched_ptr){NULL, round_pitch(extent.width), extent.width, extent.height};
    return give("cudaMalloc3D", CALLER, out->pitch * extent.height * extent.depth, RT_OWNER_DEVICE, &out->ptr);
}

/* --- back --- */

static bool may_free(enum rt_owner owner, bool wants_host)
{
    return wants_host ? owner == RT_OWNER_HOST : owner == RT_OWNER_DEVICE || owner == RT_OWNER_MANAGED;
}

static int take(const char *call, const void *caller, void *at, bool wants_host)
{
    uint64_t address = (uint64_t)(uintptr_t)at;
    const struct rt_block *b, *old;
    char here[128], there[128];
    int code = rt_enter();
    rt_print_flush();
    if (code != RT_Success || !at)
        return rt_done(code);
    b = rt_heap_find(address);
    old = b ? NULL : rt_heap_freed(address);
    rt_place(caller, here);
    if (b && b->at == address && may_free(b->owner, wants_host)) {
        rt_heap_free(b);
        return rt_done(RT_Success);
    }
    if (old) {
        rt_place(old->caller, there);
        return rt_fail(RT_ErrorInvalidValue, call, "freed twice at %s: allocation %u (%zu bytes of %s at %s)", here,
                       old->number, old->bytes, old->call, there);
    }
    if (b && b->at != address)
        return rt_fail(RT_ErrorInvalidValue, call,
                       "at %s: the pointer is %" PRIu64 " bytes into allocation %u, not its start", here,
                       address - b->at, b->number);
    if (b)
        return rt_fail(RT_ErrorInvalidValue, call, "at %s: the memory is from %s", here, b->call);
    return rt_fail(RT_ErrorInvalidValue, call, "at %s: the pointer is from no allocation of the CUDA runtime", here);
}

RT_API(cudaFree, void *at)
{
    return take("cudaFree", CALLER, at, false);
}

RT_API(cudaFreeAsync, void *at, void *stream)
{
    (void)stream;
    return take("cudaFreeAsync", CALLER, at, false);
}
RT_ALSO(cudaFreeAsync, cudaFreeAsync_ptsz);

RT_API(cudaFreeHost, void *at)
{
    return take("cudaFreeHost", CALLER, at, true);
}

/* --- host memory of the program's own --- */

RT_API(cudaHostRegister, void *at, size_t bytes, unsigned flags)
{
    int code = rt_enter();
    (void)flags;
    if (code != RT_Success)
        return rt_done(code);
    if (!at || bytes == 0)
        return rt_fail(RT_ErrorInvalidValue, "cudaHostRegister", "no bytes");
    code = rt_heap_register(at, bytes, "cudaHostRegister", CALLER);
    return code == RT_Success ? rt_done(code) : rt_fail(code, "cudaHostRegister", "%zu bytes", bytes);
}

RT_API(cudaHostUnregister, void *at)
{
    const struct rt_block *b;
    int code = rt_enter();
    b = rt_heap_find((uint64_t)(uintptr_t)at);
    if (!b || b->owner != RT_OWNER_REGISTERED)
        return rt_fail(RT_ErrorHostMemoryNotRegistered, "cudaHostUnregister", "the pointer was not registered");
    rt_heap_free(b);
    return rt_done(code);
}

RT_API(cudaHostGetDevicePointer, void **out, void *at, unsigned flags)
{
    const struct rt_block *b;
    int code = rt_enter();
    (void)flags;
    b = rt_heap_find((uint64_t)(uintptr_t)at);
    if (!b || (b->owner != RT_OWNER_HOST && b->owner != RT_OWNER_REGISTERED))
        return rt_fail(RT_ErrorInvalidValue, "cudaHostGetDevicePointer", "the pointer is no pinned host memory");
    *out = at;
    return rt_done(code);
}

RT_API(cudaHostGetFlags, unsigned *flags, void *at)
{
    const struct rt_block *b;
    int code = rt_enter();
    b = rt_heap_find((uint64_t)(uintptr_t)at);
    if (!b || b->owner != RT_OWNER_HOST)
        return rt_fail(RT_ErrorInvalidValue, "cudaHostGetFlags", "the pointer is no pinned host memory");
    *flags = 2; /* mapped, as everything with unified addressing */
    return rt_done(code);
}

/* --- questions and hints --- */

RT_API(cudaPointerGetAttributes, struct rt_pointer_attributes *out, const void *at)
{
    static const int type[] = {[RT_OWNER_NONE] = RT_MEMORY_UNREGISTERED, [RT_OWNER_DEVICE] = RT_MEMORY_DEVICE,
                               [RT_OWNER_HOST] = RT_MEMORY_HOST,         [RT_OWNER_MANAGED] = RT_MEMORY_MANAGED,
                               [RT_OWNER_REGISTERED] = RT_MEMORY_HOST,   [RT_OWNER_VARIABLE] = RT_MEMORY_DEVICE};
    const struct rt_block *b;
    enum rt_owner owner;
    int code = rt_enter();
    b = rt_heap_find((uint64_t)(uintptr_t)at);
    owner = b ? b->owner : ws_model_at(rt_memory(), (uint64_t)(uintptr_t)at, 1) ? RT_OWNER_VARIABLE : RT_OWNER_NONE;
    memset(out, 0, sizeof *out);
    out->type = type[owner];
    out->device = owner == RT_OWNER_NONE ? -2 : 0;
    out->devicePointer = owner == RT_OWNER_NONE ? NULL : (void *)(uintptr_t)at;
    out->hostPointer = type[owner] == RT_MEMORY_DEVICE ? NULL : (void *)(uintptr_t)at;
    return rt_done(code);
}

RT_API(cudaMemGetInfo, size_t *free_bytes, size_t *total)
{
    int code = rt_enter();
    *total = rt_heap_limit();
    *free_bytes = *total - rt_heap_used();
    return rt_done(code);
}

RT_API(cudaMemPrefetchAsync, const void *at, size_t bytes, struct rt_location location, unsigned flags, void *stream)
{
    (void)at, (void)bytes, (void)location, (void)flags, (void)stream;
    return rt_done(rt_enter());
}
RT_ALSO(cudaMemPrefetchAsync, cudaMemPrefetchAsync_ptsz);

RT_API(cudaMemAdvise, const void *at, size_t bytes, int advice, struct rt_location location)
{
    (void)at, (void)bytes, (void)advice, (void)location;
    return rt_done(rt_enter());
}

/* One pool, which keeps nothing. */
static int the_pool;

RT_API(cudaDeviceGetDefaultMemPool, void **pool, int ordinal)
{
    (void)ordinal;
    *pool = &the_pool;
    return rt_done(rt_enter());
}

RT_API(cudaDeviceGetMemPool, void **pool, int ordinal)
{
    return cudaDeviceGetDefaultMemPool(pool, ordinal);
}

RT_API(cudaMemPoolSetAttribute, void *pool, int attribute, void *value)
{
    (void)pool, (void)attribute, (void)value;
    return rt_done(rt_enter());
}

RT_API(cudaMemPoolTrimTo, void *pool, size_t keep)
{
    (void)pool, (void)keep;
    return rt_done(rt_enter());
}
