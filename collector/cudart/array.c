/* SPDX-License-Identifier: MIT
 * array.c: CUDA arrays, and texture and surface objects on them and on linear memory. An array is device memory
 * row after row here. What is not served (mipmaps, cube maps, sparse arrays, views) fails and says so. */
#include "rt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLER __builtin_return_address(0)
#define ROW_ALIGN 64u

static struct rt_array *arrays;

struct rt_array *rt_array_of(const void *handle)
{
    struct rt_array *a = arrays;
    while (a && a != handle)
        a = a->next;
    return a;
}

/* --- arrays --- */

/* Bytes of an element; 0: no array has such. */
static size_t element_of(const struct rt_channel_desc *d)
{
    int bits[4] = {d->x, d->y, d->z, d->w};
    size_t n = 1;
    while (n < 4 && bits[n] != 0)
        n++;
    for (size_t k = 0; k < 4; k++)
        if (bits[k] != (k < n ? d->x : 0))
            return 0;
    if (n == 3 || (d->x != 8 && d->x != 16 && d->x != 32) || d->f < RT_CHANNEL_SIGNED || d->f > RT_CHANNEL_FLOAT ||
        (d->f == RT_CHANNEL_FLOAT && d->x == 8))
        return 0;
    return n * (size_t)d->x / 8;
}

static size_t planes_of(const struct rt_array *a)
{
    return a->extent.depth ? a->extent.depth : 1;
}

static size_t rows_of(const struct rt_array *a)
{
    return a->extent.height ? a->extent.height : 1;
}

#define LIMIT_AXIS ((size_t)1 << 27)

static bool is_possible(const struct rt_array *a)
{
    bool is_layered = a->flags & RT_ARRAY_LAYERED;
    const struct rt_extent *e = &a->extent;
    if (e->width == 0 || e->width > LIMIT_AXIS || e->height > LIMIT_AXIS || e->depth > LIMIT_AXIS)
        return false;
    if (is_layered ? e->depth == 0 : e->depth > 0 && e->height == 0)
        return false;
    return rt_heap_limit() / a->pitch / rows_of(a) / planes_of(a) > 0;
}

static int array_new(const char *call, const void *caller, void **out, const struct rt_channel_desc *desc,
                     struct rt_extent extent, unsigned flags)
{
    const unsigned served = RT_ARRAY_LAYERED | RT_ARRAY_SURFACE | RT_ARRAY_GATHER;
    struct rt_array a = {.extent = extent, .flags = flags}, *keep;
    void *at = NULL;
    int code = rt_enter();
    if (code != RT_Success)
        return rt_done(code);
    if (!out || !desc)
        return rt_fail(RT_ErrorInvalidValue, call, "no place for the array, or no format");
    if (flags & ~served)
        return rt_fail(RT_ErrorNotSupported, call, "the model has no cube maps, sparse or deferred arrays");
    a.desc = *desc;
    a.element = element_of(desc);
    if (a.element == 0)
        return rt_fail(RT_ErrorInvalidValue, call, "elements of %d, %d, %d, %d bits of kind %d", desc->x, desc->y,
                       desc->z, desc->w, desc->f);
    a.pitch = extent.width <= LIMIT_AXIS ? (extent.width * a.element + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN : 1;
    if (!is_possible(&a))
        return rt_fail(RT_ErrorInvalidValue, call, "no array has %zu x %zu x %zu elements", extent.width, extent.height,
                       extent.depth);
    a.slice = a.pitch * rows_of(&a);
    keep = malloc(sizeof *keep);
    code = keep ? rt_heap_alloc(a.slice * planes_of(&a), RT_OWNER_DEVICE, call, caller, &at) : RT_ErrorMemoryAllocation;
    if (code != RT_Success) {
        free(keep);
        return rt_fail(code, call, "%zu bytes", a.slice * planes_of(&a));
    }
    a.at = (uint64_t)(uintptr_t)at;
    a.next = arrays;
    *keep = a;
    arrays = keep;
    *out = keep;
    return rt_done(RT_Success);
}

RT_API(cudaMallocArray, void **out, const struct rt_channel_desc *desc, size_t width, size_t height, unsigned flags)
{
    struct rt_extent extent = {width, height, 0};
    return array_new("cudaMallocArray", CALLER, out, desc, extent, flags);
}

RT_API(cudaMalloc3DArray, void **out, const struct rt_channel_desc *desc, struct rt_extent extent, unsigned flags)
{
    return array_new("cudaMalloc3DArray", CALLER, out, desc, extent, flags);
}

RT_API(cudaFreeArray, void *handle)
{
    struct rt_array **at = &arrays, *a;
    int code = rt_enter();
    if (code != RT_Success || !handle)
        return rt_done(code);
    while (*at && *at != handle)
        at = &(*at)->next;
    a = *at;
    if (!a)
        return rt_fail(RT_ErrorInvalidValue, "cudaFreeArray", "there is no such array; freed twice?");
    *at = a->next;
    rt_heap_free(rt_heap_find(a->at));
    free(a);
    return rt_done(RT_Success);
}

RT_API(cudaGetChannelDesc, struct rt_channel_desc *desc, const void *handle)
{
    int code = rt_enter();
    const struct rt_array *a = rt_array_of(handle);
    if (code == RT_Success && !a)
        return rt_fail(RT_ErrorInvalidValue, "cudaGetChannelDesc", "there is no such array");
    if (code == RT_Success)
        *desc = a->desc;
    return rt_done(code);
}

RT_API(cudaArrayGetInfo, struct rt_channel_desc *desc, struct rt_extent *extent, unsigned *flags, void *handle)
{
    int code = rt_enter();
    const struct rt_array *a = rt_array_of(handle);
    if (code == RT_Success && !a)
        return rt_fail(RT_ErrorInvalidValue, "cudaArrayGetInfo", "there is no such array");
    if (code == RT_Success && desc)
        *desc = a->desc;
    if (code == RT_Success && extent)
        *extent = a->extent;
    if (code == RT_Success && flags)
        *flags = a->flags;
    return rt_done(code);
}

/* --- copies of rows: x in bytes --- */

struct place {
    char *at;
    size_t pitch;
};

/* Where a box of an array lies; 0 or the code with which the call has failed. */
static int place_in(const char *call, const void *handle, size_t x, size_t y, size_t width, size_t height,
                    struct place *out)
{
    int code = rt_enter();
    const struct rt_array *a = rt_array_of(handle);
    size_t row = a ? a->extent.width * a->element : 0;
    if (code != RT_Success)
        return rt_done(code);
    if (!a)
        return rt_fail(RT_ErrorInvalidResourceHandle, call, "there is no such array");
    if (x > row || width > row - x || y > rows_of(a) || height > rows_of(a) - y)
        return rt_fail(RT_ErrorInvalidValue, call,
                       "%zu bytes x %zu rows at byte %zu of row %zu of an array of %zu bytes x %zu rows", width, height,
                       x, y, row, rows_of(a));
    *out = (struct place){(char *)(uintptr_t)a->at + y * a->pitch + x, a->pitch};
    rt_leave();
    return RT_Success;
}

static int copy_rows(const char *call, struct place to, struct place from, size_t width, size_t height, int kind,
                     void *stream, bool waits)
{
    struct rt_work w = {.kind = RT_WORK_COPY,
                        .call = call,
                        .to = to.at,
                        .from = from.at,
                        .width = width,
                        .height = height,
                        .depth = 1,
                        .to_pitch = to.pitch,
                        .from_pitch = from.pitch,
                        .copy_kind = kind};
    return rt_copy_submit(stream, &w, waits);
}

static int pitch_too_small(const char *call, size_t pitch, size_t width)
{
    (void)rt_enter();
    return rt_fail(RT_ErrorInvalidPitchValue, call, "rows of %zu bytes with a pitch of %zu", width, pitch);
}

static int to_array(const char *call, void *array, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                    size_t height, int kind, void *stream, bool waits)
{
    struct place to, source = {(char *)(uintptr_t)from, pitch};
    int code = width > pitch ? pitch_too_small(call, pitch, width) : place_in(call, array, x, y, width, height, &to);
    return code == RT_Success ? copy_rows(call, to, source, width, height, kind, stream, waits) : code;
}

static int from_array(const char *call, void *to, size_t pitch, const void *array, size_t x, size_t y, size_t width,
                      size_t height, int kind, void *stream, bool waits)
{
    struct place source, target = {to, pitch};
    int code =
        width > pitch ? pitch_too_small(call, pitch, width) : place_in(call, array, x, y, width, height, &source);
    return code == RT_Success ? copy_rows(call, target, source, width, height, kind, stream, waits) : code;
}

RT_API(cudaMemcpy2DToArray, void *array, size_t x, size_t y, const void *from, size_t pitch, size_t width,
       size_t height, int kind)
{
    return to_array("cudaMemcpy2DToArray", array, x, y, from, pitch, width, height, kind, NULL, true);
}
RT_ALSO(cudaMemcpy2DToArray, cudaMemcpy2DToArray_ptds);

RT_API(cudaMemcpy2DToArrayAsync, void *array, size_t x, size_t y, const void *from, size_t pitch, size_t width,
       size_t height, int kind, void *stream)
{
    return to_array("cudaMemcpy2DToArrayAsync", array, x, y, from, pitch, width, height, kind, stream, false);
}
RT_ALSO(cudaMemcpy2DToArrayAsync, cudaMemcpy2DToArrayAsync_ptsz);

RT_API(cudaMemcpy2DFromArray, void *to, size_t pitch, const void *array, size_t x, size_t y, size_t width,
       size_t height, int kind)
{
    return from_array("cudaMemcpy2DFromArray", to, pitch, array, x, y, width, height, kind, NULL, true);
}
RT_ALSO(cudaMemcpy2DFromArray, cudaMemcpy2DFromArray_ptds);

RT_API(cudaMemcpy2DFromArrayAsync, void *to, size_t pitch, const void *array, size_t x, size_t y, size_t width,
       size_t height, int kind, void *stream)
{
    return from_array("cudaMemcpy2DFromArrayAsync", to, pitch, array, x, y, width, height, kind, stream, false);
}
RT_ALSO(cudaMemcpy2DFromArrayAsync, cudaMemcpy2DFromArrayAsync_ptsz);

RT_API(cudaMemcpy2DArrayToArray, void *to, size_t to_x, size_t to_y, const void *from, size_t x, size_t y, size_t width,
       size_t height, int kind)
{
    static const char call[] = "cudaMemcpy2DArrayToArray";
    struct place target, source;
    int code = place_in(call, to, to_x, to_y, width, height, &target);
    if (code == RT_Success)
        code = place_in(call, from, x, y, width, height, &source);
    return code == RT_Success ? copy_rows(call, target, source, width, height, kind, NULL, true) : code;
}
RT_ALSO(cudaMemcpy2DArrayToArray, cudaMemcpy2DArrayToArray_ptds);

/* A run of bytes from a place on: within a row, or whole rows. */
static bool as_rows(const struct rt_array *a, size_t x, size_t bytes, size_t *width, size_t *height)
{
    size_t row = a->extent.width * a->element;
    bool is_whole = x == 0 && bytes % row == 0;
    *width = is_whole ? row : bytes;
    *height = is_whole ? bytes / row : 1;
    return is_whole || (x <= row && bytes <= row - x);
}

static int run_of(const char *call, const void *array, size_t x, size_t bytes, size_t *width, size_t *height)
{
    int code = rt_enter();
    const struct rt_array *a = rt_array_of(array);
    if (code != RT_Success)
        return rt_done(code);
    if (!a)
        return rt_fail(RT_ErrorInvalidResourceHandle, call, "there is no such array");
    if (!as_rows(a, x, bytes, width, height))
        return rt_fail(
            RT_ErrorNotSupported, call,
            "the model copies within one row, or whole rows: use cudaMemcpy2DToArray, cudaMemcpy2DFromArray");
    rt_leave();
    return RT_Success;
}

RT_API(cudaMemcpyToArray, void *array, size_t x, size_t y, const void *from, size_t bytes, int kind)
{
    size_t width = 0, height = 0;
    int code = run_of("cudaMemcpyToArray", array, x, bytes, &width, &height);
    return code == RT_Success ? to_array("cudaMemcpyToArray", array, x, y, from, width, width, height, kind, NULL, true)
                              : code;
}
RT_ALSO(cudaMemcpyToArray, cudaMemcpyToArray_ptds);

RT_API(cudaMemcpyFromArray, void *to, const void *array, size_t x, size_t y, size_t bytes, int kind)
{
    size_t width = 0, height = 0;
    int code = run_of("cudaMemcpyFromArray", array, x, bytes, &width, &height);
    return code == RT_Success
               ? from_array("cudaMemcpyFromArray", to, width, array, x, y, width, height, kind, NULL, true)
               : code;
}
RT_ALSO(cudaMemcpyFromArray, cudaMemcpyFromArray_ptds);

/* --- objects --- */

static bool set_format(struct ws_model_texture *t, const struct rt_channel_desc *d)
{
    size_t bytes = element_of(d);
    if (bytes == 0)
        return false;
    t->channel_bytes = (uint8_t)(d->x / 8);
    t->channels = (uint8_t)(bytes / t->channel_bytes);
    t->kind = (uint8_t)(d->f == RT_CHANNEL_SIGNED     ? WS_TEXTURE_SIGNED
                        : d->f == RT_CHANNEL_UNSIGNED ? WS_TEXTURE_UNSIGNED
                                                      : WS_TEXTURE_FLOAT);
    return true;
}

static bool set_array(struct ws_model_texture *t, const struct rt_array *a)
{
    bool is_layered = a->flags & RT_ARRAY_LAYERED;
    t->at = a->at;
    t->pitch = a->pitch;
    t->slice = a->slice;
    t->size[0] = (uint32_t)a->extent.width;
    t->size[1] = (uint32_t)a->extent.height;
    t->size[2] = is_layered ? 0 : (uint32_t)a->extent.depth;
    t->layers = is_layered ? (uint32_t)a->extent.depth : 0;
    return set_format(t, &a->desc);
}

#define TEXTURE_ALIGN 512u
#define TEXTURE_PITCH_ALIGN 32u

static const char *set_linear(struct ws_model_texture *t, const size_t *res)
{
    struct rt_resource_linear r;
    memcpy(&r, res, sizeof r);
    t->at = (uint64_t)(uintptr_t)r.devPtr;
    t->is_linear_memory = true;
    if (!set_format(t, &r.desc))
        return "there are no such elements";
    if (t->at % TEXTURE_ALIGN != 0)
        return "its memory does not begin at a multiple of textureAlignment, 512";
    if (r.sizeInBytes / element_of(&r.desc) - 1 >= LIMIT_AXIS)
        return "it has no element, or more than 2^27";
    t->size[0] = (uint32_t)(r.sizeInBytes / element_of(&r.desc));
    return NULL;
}

static const char *set_pitch(struct ws_model_texture *t, const size_t *res)
{
    struct rt_resource_pitch r;
    memcpy(&r, res, sizeof r);
    t->at = (uint64_t)(uintptr_t)r.devPtr;
    t->pitch = r.pitchInBytes;
    if (!set_format(t, &r.desc))
        return "there are no such elements";
    if (t->at % TEXTURE_ALIGN != 0 || t->pitch % TEXTURE_PITCH_ALIGN != 0)
        return "its memory begins at a multiple of textureAlignment, 512, its rows at one of texturePitchAlignment, 32";
    if (r.width == 0 || r.width > LIMIT_AXIS || r.height == 0 || r.height > LIMIT_AXIS ||
        r.width * element_of(&r.desc) > r.pitchInBytes)
        return "its rows do not fit into the pitch, or it has none";
    t->size[0] = (uint32_t)r.width;
    t->size[1] = (uint32_t)r.height;
    return NULL;
}

/* Why the object cannot be made; NULL: it can. */
static const char *set_resource(struct ws_model_texture *t, const struct rt_resource_desc *d)
{
    const struct rt_array *a;
    switch (d->resType) {
    case RT_RESOURCE_ARRAY:
        a = rt_array_of((const void *)(uintptr_t)d->res[0]); /* NOLINT(performance-no-int-to-ptr) */
        return a && set_array(t, a) ? NULL : "there is no such array";
    case RT_RESOURCE_LINEAR:
        return set_linear(t, d->res);
    case RT_RESOURCE_PITCH_2D:
        return set_pitch(t, d->res);
    default:
        return "the model has no mipmapped arrays";
    }
}

static const char *set_reading(struct ws_model_texture *t, const struct rt_texture_desc *d)
{
    t->is_normalized = d->normalizedCoords != 0;
    t->filters = d->filterMode == 1 && !t->is_linear_memory;
    t->as_float = d->readMode == 1 && t->kind != WS_TEXTURE_FLOAT;
    memcpy(t->border, d->borderColor, sizeof t->border);
    for (int k = 0; k < 3; k++) {
        if (d->addressMode[k] < WS_TEXTURE_WRAP || d->addressMode[k] > WS_TEXTURE_BORDER)
            return "there is no such address mode";
        t->address_mode[k] = (uint8_t)d->addressMode[k];
    }
    if (d->sRGB)
        return "the model does not convert sRGB";
    if (t->as_float && t->channel_bytes == 4)
        return "only integers of 8 and 16 bits are read as floats";
    if (t->filters && t->kind != WS_TEXTURE_FLOAT && !t->as_float)
        return "linear filtering needs floating-point values (cudaReadModeNormalizedFloat)";
    return NULL;
}

static int object_new(const char *call, const struct ws_model_texture *t, unsigned long long *out, const char *why)
{
    uint64_t handle = 0;
    if (why)
        return rt_fail(RT_ErrorInvalidValue, call, "%s", why);
    if (ws_model_texture_new(rt_memory(), t, &handle) != 0)
        return rt_fail(RT_ErrorInvalidValue, call, "the memory is not all in one allocation");
    *out = handle;
    return rt_done(RT_Success);
}

RT_API(cudaCreateTextureObject, unsigned long long *out, const struct rt_resource_desc *resource,
       const struct rt_texture_desc *texture, const void *view)
{
    static const char call[] = "cudaCreateTextureObject";
    struct ws_model_texture t = {0};
    const char *why;
    int code = rt_enter();
    if (code != RT_Success)
        return rt_done(code);
    if (!out || !resource || !texture)
        return rt_fail(RT_ErrorInvalidValue, call, "a description or the place for the object is missing");
    if (view)
        return rt_fail(RT_ErrorNotSupported, call, "the model has no resource views");
    why = set_resource(&t, resource);
    return object_new(call, &t, out, why ? why : set_reading(&t, texture));
}

RT_API(cudaCreateSurfaceObject, unsigned long long *out, const struct rt_resource_desc *resource)
{
    static const char call[] = "cudaCreateSurfaceObject";
    struct ws_model_texture t = {.is_surface = true};
    const struct rt_array *a;
    int code = rt_enter();
    if (code != RT_Success)
        return rt_done(code);
    if (!out || !resource || resource->resType != RT_RESOURCE_ARRAY)
        return rt_fail(RT_ErrorInvalidValue, call, "surfaces are of arrays");
    a = rt_array_of((const void *)(uintptr_t)resource->res[0]); /* NOLINT(performance-no-int-to-ptr) */
    if (!a || !set_array(&t, a))
        return rt_fail(RT_ErrorInvalidValue, call, "there is no such array");
    return object_new(call, &t, out,
                      a->flags & RT_ARRAY_SURFACE ? NULL : "the array was made without cudaArraySurfaceLoadStore");
}

static int object_drop(const char *call, unsigned long long handle)
{
    int code = rt_enter();
    if (code == RT_Success && handle != 0 && ws_model_texture_drop(rt_memory(), handle) != 0)
        return rt_fail(RT_ErrorInvalidValue, call, "there is no such object; destroyed twice?");
    return rt_done(code);
}

RT_API(cudaDestroyTextureObject, unsigned long long handle)
{
    return object_drop("cudaDestroyTextureObject", handle);
}

RT_API(cudaDestroySurfaceObject, unsigned long long handle)
{
    return object_drop("cudaDestroySurfaceObject", handle);
}
