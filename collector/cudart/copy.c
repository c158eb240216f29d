/* SPDX-License-Identifier: MIT
 * copy.c: copies and fills, and whether they may be done: both ends inside what was allocated, the direction as the
 * pointers are. A mistake that a GPU answers with undefined behaviour is named and refused here. */
#include "rt.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- one end --- */

static bool is_device(enum rt_owner owner)
{
    return owner == RT_OWNER_DEVICE || owner == RT_OWNER_VARIABLE;
}

static enum rt_owner owner_of(uint64_t at)
{
    const struct rt_block *b = rt_heap_find(at);
    if (b)
        return b->owner;
    return ws_model_at(rt_memory(), at, 1) ? RT_OWNER_VARIABLE : RT_OWNER_NONE;
}

static void name_block(const struct rt_block *b, char out[256])
{
    char place[128];
    rt_place(b->caller, place);
    snprintf(out, 256, "allocation %u (%zu bytes of %s at %s)", b->number, b->bytes, b->call, place);
}

/* Bytes that a box of rows touches from its start. */
static size_t reach(size_t width, size_t height, size_t depth, size_t pitch, size_t slice)
{
    return width && height && depth ? (depth - 1) * slice + (height - 1) * pitch + width : 0;
}

/* Whether [at, at + bytes) is inside one allocation, as far as that is known; why if not. */
static bool is_inside(uint64_t at, size_t bytes, const char *what, char *why, size_t cap)
{
    const struct rt_block *b = rt_heap_find(at), *old = b ? NULL : rt_heap_freed(at);
    char name[256];
    if (b) {
        uint64_t room = b->at + b->bytes - at;
        if (bytes <= room)
            return true;
        name_block(b, name);
        snprintf(why, cap, "%s ends %" PRIu64 " bytes past the end of %s", what, (uint64_t)bytes - room, name);
        return false;
    }
    if (old) {
        name_block(old, name);
        snprintf(why, cap, "%s was freed already: %s", what, name);
        return false;
    }
    if (!ws_model_at(rt_memory(), at, 1) || ws_model_at(rt_memory(), at, bytes))
        return true;
    snprintf(why, cap, "%s ends past the end of a variable", what);
    return false;
}

/* --- directions --- */

static const char *kind_name(int kind)
{
    static const char *const names[] = {"HostToHost", "HostToDevice", "DeviceToHost", "DeviceToDevice", "Default"};
    return names[kind];
}

/* Which end the kind says is the device's. */
static bool wants_device(int kind, bool is_target)
{
    return kind == RT_DEVICE_TO_DEVICE || kind == (is_target ? RT_HOST_TO_DEVICE : RT_DEVICE_TO_HOST);
}

/* Managed, pinned and registered memory may be either end. */
static bool fits(enum rt_owner owner, bool wants)
{
    return wants ? owner != RT_OWNER_NONE : !is_device(owner);
}

static int check_direction(const struct rt_work *w, char *why, size_t cap)
{
    enum rt_owner to = owner_of((uint64_t)(uintptr_t)w->to), from = owner_of((uint64_t)(uintptr_t)w->from);
    bool is_to_wrong, is_from_wrong;
    if (w->copy_kind < 0 || w->copy_kind > RT_COPY_DEFAULT) {
        snprintf(why, cap, "there is no copy kind %d", w->copy_kind);
        return RT_ErrorInvalidMemcpyDirection;
    }
    if (w->copy_kind == RT_COPY_DEFAULT)
        return RT_Success;
    is_to_wrong = !fits(to, wants_device(w->copy_kind, true));
    is_from_wrong = !fits(from, wants_device(w->copy_kind, false));
    if (!is_to_wrong && !is_from_wrong)
        return RT_Success;
    snprintf(why, cap, "cudaMemcpy%s, but the %s is %s memory%s", kind_name(w->copy_kind),
             is_to_wrong ? "destination" : "source", is_device(is_to_wrong ? to : from) ? "device" : "host",
             w->copy_kind == RT_HOST_TO_HOST ? "; on a GPU the process would crash" : "");
    return RT_ErrorInvalidValue;
}

/* --- work --- */

/* Complain, without ending the call: the caller does. */
static int refused(const struct rt_work *w, int code, const char *why)
{
    rt_complain("model-bad-copy", 2, "mend the call; on a GPU it is undefined or fails", "%s returned %d (%s): %s",
                w->call, code, rt_error_text(code), why);
    return code;
}

/* A row that is written now is no longer uninitialised for kernels. */
static void define_row(const struct rt_work *w, size_t z, size_t y)
{
    if (rt_checks() & WS_CHECK_UNINIT)
        ws_model_define(rt_memory(), (uint64_t)(uintptr_t)w->to + z * w->to_slice + y * w->to_pitch, w->width);
}

int rt_copy_run(const struct rt_work *w)
{
    char why[320];
    int code;
    if (reach(w->width, w->height, w->depth, w->to_pitch, w->to_slice) == 0)
        return RT_Success;
    if (!w->to || !w->from)
        return refused(w, RT_ErrorInvalidValue, w->to ? "the source is NULL" : "the destination is NULL");
    if (!is_inside((uint64_t)(uintptr_t)w->to, reach(w->width, w->height, w->depth, w->to_pitch, w->to_slice),
                   "the destination", why, sizeof why) ||
        !is_inside((uint64_t)(uintptr_t)w->from, reach(w->width, w->height, w->depth, w->from_pitch, w->from_slice),
                   "the source", why, sizeof why))
        return refused(w, RT_ErrorInvalidValue, why);
    code = check_direction(w, why, sizeof why);
    if (code != RT_Success)
        return refused(w, code, why);
    rt_heap_open();
    for (size_t z = 0; z < w->depth; z++)
        for (size_t y = 0; y < w->height; y++) {
            define_row(w, z, y);
            memmove((char *)w->to + z * w->to_slice + y * w->to_pitch,
                    (const char *)w->from + z * w->from_slice + y * w->from_pitch, w->width);
        }
    rt_heap_close();
    return RT_Success;
}

int rt_fill_run(const struct rt_work *w)
{
    char why[320];
    size_t bytes = reach(w->width, w->height, w->depth, w->to_pitch, w->to_slice);
    if (bytes == 0)
        return RT_Success;
    if (owner_of((uint64_t)(uintptr_t)w->to) == RT_OWNER_NONE) {
        if (is_inside((uint64_t)(uintptr_t)w->to, bytes, "the destination", why, sizeof why))
            snprintf(why, sizeof why, "the destination is no device memory");
        return refused(w, RT_ErrorInvalidValue, why);
    }
    if (!is_inside((uint64_t)(uintptr_t)w->to, bytes, "the destination", why, sizeof why))
        return refused(w, RT_ErrorInvalidValue, why);
    rt_heap_open();
    for (size_t z = 0; z < w->depth; z++)
        for (size_t y = 0; y < w->height; y++) {
            define_row(w, z, y);
            memset((char *)w->to + z * w->to_slice + y * w->to_pitch, w->value, w->width);
        }
    rt_heap_close();
    return RT_Success;
}

/* --- calls --- */

int rt_copy_submit(void *stream, struct rt_work *w, bool waits)
{
    int code = rt_enter();
    if (waits)
        rt_print_flush();
    if (code == RT_Success && waits)
        code = rt_check_capture(w->call);
    if (code == RT_Success)
        code = rt_submit(stream, w);
    return rt_done(code);
}

static struct rt_work copy_work(const char *call, void *to, const void *from, size_t bytes, int kind)
{
    return (struct rt_work){.kind = RT_WORK_COPY,
                            .call = call,
                            .to = to,
                            .from = from,
                            .width = bytes,
                            .height = 1,
                            .depth = 1,
                            .copy_kind = kind};
}

RT_API(cudaMemcpy, void *to, const void *from, size_t bytes, int kind)
{
    struct rt_work w = copy_work("cudaMemcpy", to, from, bytes, kind);
    return rt_copy_submit(NULL, &w, true);
}
RT_ALSO(cudaMemcpy, cudaMemcpy_ptds);

RT_API(cudaMemcpyAsync, void *to, const void *from, size_t bytes, int kind, void *stream)
{
    struct rt_work w = copy_work("cudaMemcpyAsync", to, from, bytes, kind);
    return rt_copy_submit(stream, &w, false);
}
RT_ALSO(cudaMemcpyAsync, cudaMemcpyAsync_ptsz);

RT_API(cudaMemcpyPeer, void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    struct rt_work w = copy_work("cudaMemcpyPeer", to, from, bytes, RT_DEVICE_TO_DEVICE);
    (void)to_device;
    (void)from_device;
    return rt_copy_submit(NULL, &w, true);
}

static int copy_2d(struct rt_work w, size_t to_pitch, size_t from_pitch, size_t height, void *stream, bool waits)
{
    w.height = height;
    w.to_pitch = to_pitch;
    w.from_pitch = from_pitch;
    if (w.width > to_pitch || w.width > from_pitch) {
        (void)rt_enter();
        return rt_fail(RT_ErrorInvalidPitchValue, w.call, "rows of %zu bytes with pitches of %zu and %zu", w.width,
                       to_pitch, from_pitch);
    }
    return rt_copy_submit(stream, &w, waits);
}

RT_API(cudaMemcpy2D, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
       int kind)
{
    return copy_2d(copy_work("cudaMemcpy2D", to, from, width, kind), to_pitch, from_pitch, height, NULL, true);
}
RT_ALSO(cudaMemcpy2D, cudaMemcpy2D_ptds);

RT_API(cudaMemcpy2DAsync, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
       int kind, void *stream)
{
    return copy_2d(copy_work("cudaMemcpy2DAsync", to, from, width, kind), to_pitch, from_pitch, height, stream, false);
}
RT_ALSO(cudaMemcpy2DAsync, cudaMemcpy2DAsync_ptsz);

/* One end of a 3-D copy. */
struct box {
    char *at;
    size_t pitch, slice;
};

static bool fits_in(size_t from, size_t n, size_t all)
{
    return from <= all && n <= all - from;
}

/* array NULL: the memory of pitched. */
static bool box_of(const struct rt_array *array, const struct rt_pitched_ptr *pitched, const struct rt_pos *pos,
                   const struct rt_extent *extent, struct box *out)
{
    if (!array) {
        *out = (struct box){pitched->ptr, pitched->pitch, pitched->pitch * pitched->ysize};
        out->at += pos->z * out->slice + pos->y * out->pitch + pos->x;
        return true;
    }
    *out = (struct box){(char *)(uintptr_t)array->at, array->pitch, array->slice};
    out->at += pos->z * out->slice + pos->y * out->pitch + pos->x * array->element;
    return fits_in(pos->x, extent->width, array->extent.width) &&
           fits_in(pos->y, extent->height, array->extent.height ? array->extent.height : 1) &&
           fits_in(pos->z, extent->depth, array->extent.depth ? array->extent.depth : 1);
}

static int copy_3d(const char *call, const struct rt_copy_3d *c, void *stream, bool waits)
{
    struct rt_work w = copy_work(call, NULL, NULL, c->extent.width, c->kind);
    const struct rt_array *to = c->dstArray ? rt_array_of(c->dstArray) : NULL;
    const struct rt_array *from = c->srcArray ? rt_array_of(c->srcArray) : NULL;
    struct box target, source;
    if ((c->dstArray && !to) || (c->srcArray && !from)) {
        (void)rt_enter();
        return rt_fail(RT_ErrorInvalidResourceHandle, call, "there is no such array");
    }
    if (!box_of(to, &c->dstPtr, &c->dstPos, &c->extent, &target) ||
        !box_of(from, &c->srcPtr, &c->srcPos, &c->extent, &source)) {
        (void)rt_enter();
        return rt_fail(RT_ErrorInvalidValue, call, "%zu x %zu x %zu elements do not fit into the array there",
                       c->extent.width, c->extent.height, c->extent.depth);
    }
    w.width = c->extent.width * (to ? to->element : from ? from->element : 1); /* elements with an array, else bytes */
    w.height = c->extent.height;
    w.depth = c->extent.depth;
    w.to = target.at;
    w.to_pitch = target.pitch;
    w.to_slice = target.slice;
    w.from = source.at;
    w.from_pitch = source.pitch;
    w.from_slice = source.slice;
    return rt_copy_submit(stream, &w, waits);
}

RT_API(cudaMemcpy3D, const struct rt_copy_3d *copy)
{
    return copy_3d("cudaMemcpy3D", copy, NULL, true);
}
RT_ALSO(cudaMemcpy3D, cudaMemcpy3D_ptds);

RT_API(cudaMemcpy3DAsync, const struct rt_copy_3d *copy, void *stream)
{
    return copy_3d("cudaMemcpy3DAsync", copy, stream, false);
}
RT_ALSO(cudaMemcpy3DAsync, cudaMemcpy3DAsync_ptsz);

/* --- symbols --- */

static int symbol_address(const char *call, const void *symbol, size_t bytes, size_t offset, char **out)
{
    char error[WS_MODEL_ERROR_BYTES] = "";
    uint64_t at = 0;
    size_t size = 0;
    int code = rt_enter();
    if (code == RT_Success) {
        code = rt_variable_find(symbol, &at, &size, error);
        if (code != RT_Success)
            return rt_fail(code, call, "%s", error);
        if (offset > size || bytes > size - offset)
            return rt_fail(RT_ErrorInvalidValue, call, "%zu bytes at %zu of a variable of %zu", bytes, offset, size);
        *out = (char *)(uintptr_t)at + offset;
    }
    return rt_done(code);
}

static int to_symbol(const char *call, const void *symbol, const void *from, size_t bytes, size_t offset, int kind,
                     void *stream, bool waits)
{
    char *at = NULL;
    int code = symbol_address(call, symbol, bytes, offset, &at);
    struct rt_work w = copy_work(call, at, from, bytes, kind);
    return code == RT_Success ? rt_copy_submit(stream, &w, waits) : code;
}

static int from_symbol(const char *call, void *to, const void *symbol, size_t bytes, size_t offset, int kind,
                       void *stream, bool waits)
{
    char *at = NULL;
    int code = symbol_address(call, symbol, bytes, offset, &at);
    struct rt_work w = copy_work(call, to, at, bytes, kind);
    return code == RT_Success ? rt_copy_submit(stream, &w, waits) : code;
}

RT_API(cudaMemcpyToSymbol, const void *symbol, const void *from, size_t bytes, size_t offset, int kind)
{
    return to_symbol("cudaMemcpyToSymbol", symbol, from, bytes, offset, kind, NULL, true);
}
RT_ALSO(cudaMemcpyToSymbol, cudaMemcpyToSymbol_ptds);

RT_API(cudaMemcpyToSymbolAsync, const void *symbol, const void *from, size_t bytes, size_t offset, int kind,
       void *stream)
{
    return to_symbol("cudaMemcpyToSymbolAsync", symbol, from, bytes, offset, kind, stream, false);
}
RT_ALSO(cudaMemcpyToSymbolAsync, cudaMemcpyToSymbolAsync_ptsz);

RT_API(cudaMemcpyFromSymbol, void *to, const void *symbol, size_t bytes, size_t offset, int kind)
{
    return from_symbol("cudaMemcpyFromSymbol", to, symbol, bytes, offset, kind, NULL, true);
}
RT_ALSO(cudaMemcpyFromSymbol, cudaMemcpyFromSymbol_ptds);

RT_API(cudaMemcpyFromSymbolAsync, void *to, const void *symbol, size_t bytes, size_t offset, int kind, void *stream)
{
    return from_symbol("cudaMemcpyFromSymbolAsync", to, symbol, bytes, offset, kind, stream, false);
}
RT_ALSO(cudaMemcpyFromSymbolAsync, cudaMemcpyFromSymbolAsync_ptsz);

RT_API(cudaGetSymbolAddress, void **out, const void *symbol)
{
    char *at = NULL;
    int code = symbol_address("cudaGetSymbolAddress", symbol, 0, 0, &at);
    if (code == RT_Success)
        *out = at;
    return code;
}

RT_API(cudaGetSymbolSize, size_t *bytes, const void *symbol)
{
    char error[WS_MODEL_ERROR_BYTES] = "";
    uint64_t at;
    int code = rt_enter();
    if (code == RT_Success)
        code = rt_variable_find(symbol, &at, bytes, error);
    return *error ? rt_fail(code, "cudaGetSymbolSize", "%s", error) : rt_done(code);
}

/* --- fills --- */

static struct rt_work fill_work(const char *call, void *to, int value, size_t width, size_t height, size_t pitch)
{
    return (struct rt_work){.kind = RT_WORK_FILL,
                            .call = call,
                            .to = to,
                            .width = width,
                            .height = height,
                            .depth = 1,
                            .to_pitch = pitch,
                            .value = value};
}

RT_API(cudaMemset, void *to, int value, size_t bytes)
{
    struct rt_work w = fill_work("cudaMemset", to, value, bytes, 1, bytes);
    return rt_copy_submit(NULL, &w, true);
}
RT_ALSO(cudaMemset, cudaMemset_ptds);

RT_API(cudaMemsetAsync, void *to, int value, size_t bytes, void *stream)
{
    struct rt_work w = fill_work("cudaMemsetAsync", to, value, bytes, 1, bytes);
    return rt_copy_submit(stream, &w, false);
}
RT_ALSO(cudaMemsetAsync, cudaMemsetAsync_ptsz);

RT_API(cudaMemset2D, void *to, size_t pitch, int value, size_t width, size_t height)
{
    struct rt_work w = fill_work("cudaMemset2D", to, value, width, height, pitch);
    return rt_copy_submit(NULL, &w, true);
}
RT_ALSO(cudaMemset2D, cudaMemset2D_ptds);

RT_API(cudaMemset2DAsync, void *to, size_t pitch, int value, size_t width, size_t height, void *stream)
{
    struct rt_work w = fill_work("cudaMemset2DAsync", to, value, width, height, pitch);
    return rt_copy_submit(stream, &w, false);
}
RT_ALSO(cudaMemset2DAsync, cudaMemset2DAsync_ptsz);

RT_API(cudaMemset3D, struct rt_pitched_ptr to, int value, struct rt_extent extent)
{
    struct rt_work w = fill_work("cudaMemset3D", to.ptr, value, extent.width, extent.height, to.pitch);
    w.depth = extent.depth;
    w.to_slice = to.pitch * to.ysize;
    return rt_copy_submit(NULL, &w, true);
}
RT_ALSO(cudaMemset3D, cudaMemset3D_ptds);
