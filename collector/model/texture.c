/* SPDX-License-Identifier: MIT
 * texture.c: textures and surfaces: the formulas of the CUDA Programming Guide ("Texture Fetching"), lane by lane.
 * Values only: how a GPU lays out an array, and so which sectors a fetch touches, is not published.
 * A bilinear weight has 8 bits after the point, rounded to nearest (the guide tells the bits, not the rounding).
 * Decoded by decode_texture.c. */
#include "texture.h"

#include "exec.h"
#include "half.h"

#include "../../analyzer/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An object's number and how often its place was given away before: far outside any address a process can have. */
#define WINDOW_TEXTURE (6ull << 56)
#define LIMIT_TEXTURES (1u << 20)
#define LIMIT_SIZE (1u << 27) /* elements of a dimension: that of textures on linear memory */

struct texture {
    struct ws_model_texture is;
    uint64_t handle; /* 0 = free */
    uint32_t uses;
};

/* --- the table --- */

static uint64_t element_bytes(const struct ws_model_texture *t)
{
    return (uint64_t)t->channels * t->channel_bytes;
}

static uint64_t size_of(const struct ws_model_texture *t, int axis)
{
    return t->size[axis] ? t->size[axis] : 1;
}

static uint64_t planes_of(const struct ws_model_texture *t)
{
    return t->layers ? t->layers : size_of(t, 2);
}

/* From the first element to the end of the last. */
static uint64_t reach(const struct ws_model_texture *t)
{
    return (planes_of(t) - 1) * t->slice + (size_of(t, 1) - 1) * t->pitch + size_of(t, 0) * element_bytes(t);
}

static bool is_well_formed(const struct ws_model_texture *t)
{
    bool has_layers = t->layers > 0;
    if (t->size[0] == 0 || (t->size[2] && (t->size[1] == 0 || has_layers)) || t->layers > LIMIT_SIZE)
        return false;
    for (int k = 0; k < 3; k++)
        if (t->size[k] > LIMIT_SIZE || t->address_mode[k] > WS_TEXTURE_BORDER)
            return false;
    if (t->channels != 1 && t->channels != 2 && t->channels != 4)
        return false;
    if (t->channel_bytes != 1 && t->channel_bytes != 2 && t->channel_bytes != 4)
        return false;
    if (t->kind > WS_TEXTURE_FLOAT || (t->kind == WS_TEXTURE_FLOAT && t->channel_bytes == 1))
        return false;
    if (t->as_float && (t->kind == WS_TEXTURE_FLOAT || t->channel_bytes == 4))
        return false;
    if (t->filters && t->kind != WS_TEXTURE_FLOAT && !t->as_float)
        return false;
    return t->pitch <= UINT32_MAX && t->slice <= 1ull << 36;
}

static bool has_memory(struct memory *memory, const struct ws_model_texture *t)
{
    uint64_t lo, hi;
    return memory_find(memory, t->at, &lo, &hi) && hi - t->at >= reach(t);
}

int texture_new(struct memory *memory, const struct ws_model_texture *what, uint64_t *handle)
{
    struct texture_table *table = &memory->textures;
    uint32_t k = 0;
    if (!is_well_formed(what) || !has_memory(memory, what))
        return -WS_EINVAL;
    while (k < table->n && table->all[k].handle)
        k++;
    if (k == LIMIT_TEXTURES)
        return -WS_ELIMIT;
    if (k == table->n) {
        if (!ptx_grow(&table->all, &table->cap, table->n, sizeof *table->all, LIMIT_TEXTURES))
            return -WS_ENOMEM;
        table->all[table->n++] = (struct texture){.uses = 0};
    }
    table->all[k].is = *what;
    table->all[k].uses = (table->all[k].uses + 1) & 0xffffffu;
    table->all[k].handle = *handle = WINDOW_TEXTURE | (uint64_t)table->all[k].uses << 24 | k;
    return 0;
}

static struct texture *place_of(const struct texture_table *table, uint64_t handle)
{
    uint64_t k = handle & 0xffffffu;
    return k < table->n && handle != 0 && table->all[k].handle == handle ? &table->all[k] : NULL;
}

int texture_drop(struct memory *memory, uint64_t handle)
{
    struct texture *t = place_of(&memory->textures, handle);
    if (!t)
        return -WS_ENOENT;
    t->handle = 0;
    return 0;
}

const struct ws_model_texture *texture_find(struct memory *memory, uint64_t handle)
{
    const struct texture *t = place_of(&memory->textures, handle);
    return t && has_memory(memory, &t->is) ? &t->is : NULL;
}

void texture_fini(struct texture_table *table)
{
    free(table->all);
    memset(table, 0, sizeof *table);
}

/* --- elements --- */

/* Four channels as a fetch gives them. */
struct texel {
    uint32_t bits[4];
};

static uint32_t float_bits(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static float bits_float(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static bool gives_floats(const struct ws_model_texture *t)
{
    return t->kind == WS_TEXTURE_FLOAT || t->as_float;
}

/* 8- and 16-bit integers become [0, 1] or [-1, 1]. */
static float normalized(const struct ws_model_texture *t, int32_t v)
{
    if (t->kind == WS_TEXTURE_UNSIGNED)
        return (float)(uint32_t)v / (t->channel_bytes == 1 ? 255.0f : 65535.0f);
    return fmaxf(-1.0f, (float)v / (t->channel_bytes == 1 ? 127.0f : 32767.0f));
}

static uint32_t channel(const struct ws_model_texture *t, const uint8_t *at)
{
    uint32_t raw = 0;
    int32_t v;
    memcpy(&raw, at, t->channel_bytes); /* little endian */
    if (t->kind == WS_TEXTURE_FLOAT)
        return t->channel_bytes == 2 ? float_bits((float)half_to_double((uint16_t)raw)) : raw;
    v = (int32_t)raw;
    if (t->kind == WS_TEXTURE_SIGNED && t->channel_bytes < 4)
        v = t->channel_bytes == 1 ? (int8_t)raw : (int16_t)raw;
    return t->as_float ? float_bits(normalized(t, v)) : (uint32_t)v;
}

/* Channels that are not there are 0, the fourth is 1. */
static struct texel read_texel(const struct ws_model_texture *t, const int64_t index[3], uint64_t layer)
{
    struct texel out = {{0, 0, 0, gives_floats(t) ? float_bits(1.0f) : 1}};
    bool is_border = index[0] < 0 || index[1] < 0 || index[2] < 0;
    uint64_t plane = t->layers ? layer : (uint64_t)index[2];
    const uint8_t *at;
    for (int k = 0; is_border && k < 4; k++)
        out.bits[k] = gives_floats(t) ? float_bits(t->border[k]) : (uint32_t)(int32_t)t->border[k];
    if (is_border)
        return out;
    at = (const uint8_t *)(uintptr_t)(t->at + plane * t->slice + (uint64_t)index[1] * t->pitch +
                                      (uint64_t)index[0] * element_bytes(t));
    for (uint32_t k = 0; k < t->channels; k++)
        out.bits[k] = channel(t, at + (size_t)k * t->channel_bytes);
    return out;
}

/* --- coordinates --- */

/* Wrap and mirror are for normalized coordinates; others are clamped. */
static enum ws_texture_address mode_of(const struct ws_model_texture *t, int axis)
{
    enum ws_texture_address mode = (enum ws_texture_address)t->address_mode[axis];
    bool needs_normalized = mode == WS_TEXTURE_WRAP || mode == WS_TEXTURE_MIRROR;
    return needs_normalized && !t->is_normalized ? WS_TEXTURE_CLAMP : mode;
}

/* The coordinate in elements, with what the addressing does to it as a whole. */
static double in_elements(const struct ws_model_texture *t, int axis, double x)
{
    double far = 4.0 * LIMIT_SIZE;
    if (!isfinite(x))
        x = isnan(x) ? 0 : x > 0 ? far : -far;
    if (t->is_normalized && mode_of(t, axis) == WS_TEXTURE_WRAP)
        x -= floor(x);
    if (t->is_normalized && mode_of(t, axis) == WS_TEXTURE_MIRROR) {
        double whole = floor(x);
        x -= whole;
        x = fmod(whole, 2) != 0 ? 1 - x : x;
    }
    x = t->is_normalized ? x * (double)size_of(t, axis) : x;
    return x > far ? far : x < -far ? -far : x;
}

/* An element's number within the texture; -1: the border's colour. */
static int64_t index_of(const struct ws_model_texture *t, int axis, int64_t i)
{
    int64_t n = (int64_t)size_of(t, axis);
    if (i >= 0 && i < n)
        return i;
    if (t->is_linear_memory)
        return -1;
    switch (mode_of(t, axis)) {
    case WS_TEXTURE_WRAP:
        return (i % n + n) % n;
    case WS_TEXTURE_BORDER:
        return -1;
    default:
        return i < 0 ? 0 : n - 1;
    }
}

/* Weights of an element and its neighbour: 8 bits after the point. */
static double weight_of(double x, double whole)
{
    return floor((x - whole) * 256 + 0.5) / 256;
}

struct footprint {
    int64_t low[3], high[3]; /* the two elements of each axis */
    double weight[3];        /* of the second */
};

static void footprint_of(const struct ws_model_texture *t, int dims, const double x[3], struct footprint *f)
{
    memset(f, 0, sizeof *f);
    for (int k = 0; k < dims; k++) {
        double at = in_elements(t, k, x[k]) - 0.5, whole = floor(at);
        f->low[k] = index_of(t, k, (int64_t)whole);
        f->high[k] = index_of(t, k, (int64_t)whole + 1);
        f->weight[k] = weight_of(at, whole);
    }
}

static struct texel filtered(const struct ws_model_texture *t, int dims, const double x[3], uint64_t layer)
{
    struct footprint f;
    struct texel out;
    double sum[4] = {0};
    footprint_of(t, dims, x, &f);
    for (int corner = 0; corner < 1 << dims; corner++) {
        int64_t index[3] = {0};
        double weight = 1;
        struct texel one;
        for (int k = 0; k < dims; k++) {
            bool is_high = corner >> k & 1;
            index[k] = is_high ? f.high[k] : f.low[k];
            weight *= is_high ? f.weight[k] : 1 - f.weight[k];
        }
        if (weight == 0) /* an infinite neighbour has no part in it */
            continue;
        one = read_texel(t, index, layer);
        for (int k = 0; k < 4; k++)
            sum[k] += weight * (double)bits_float(one.bits[k]);
    }
    for (int k = 0; k < 4; k++)
        out.bits[k] = float_bits((float)sum[k]);
    return out;
}

static struct texel nearest(const struct ws_model_texture *t, int dims, const double x[3], uint64_t layer)
{
    int64_t index[3] = {0};
    for (int k = 0; k < dims; k++)
        index[k] = index_of(t, k, (int64_t)floor(in_elements(t, k, x[k])));
    return read_texel(t, index, layer);
}

/* One channel of the four elements that a filter would mix, against the clock from the lower left. */
static struct texel gathered(const struct ws_model_texture *t, const double x[3], uint32_t which)
{
    struct footprint f;
    struct texel out;
    footprint_of(t, 2, x, &f);
    for (int k = 0; k < 4; k++) {
        int64_t index[3] = {k == 1 || k == 2 ? f.high[0] : f.low[0], k < 2 ? f.high[1] : f.low[1], 0};
        out.bits[k] = read_texel(t, index, 0).bits[which];
    }
    return out;
}

/* --- instructions --- */

static uint32_t lane_32(const struct warp *w, uint32_t offset, uint32_t lane)
{
    return ((const uint32_t *)(const void *)(w->regs + offset))[lane];
}

static uint64_t lane_64(const struct warp *w, uint32_t offset, uint32_t lane)
{
    return ((const uint64_t *)(const void *)(w->regs + offset))[lane];
}

static void put_lane(struct warp *w, const struct code_ins *i, uint32_t k, uint32_t lane, uint64_t value)
{
    if (i->d[k] == CODE_NONE)
        return;
    if (i->d_wide >> k & 1)
        ((uint64_t *)(void *)(w->regs + i->d[k]))[lane] = value;
    else
        ((uint32_t *)(void *)(w->regs + i->d[k]))[lane] = (uint32_t)value;
}

/* The lane's object, when it has the form that the instruction is for; else a fault. last: of the lane before. */
static const struct ws_model_texture *object_of(struct warp *w, const struct code_ins *i, uint32_t lane,
                                                const struct ws_model_texture *last, uint64_t *last_handle)
{
    uint64_t handle = lane_64(w, i->a, lane);
    const struct ws_model_texture *t = last && handle == *last_handle ? last : texture_find(w->ctx->memory, handle);
    bool is_surface = i->op == OP_suld || i->op == OP_sust;
    uint32_t dims = t && t->size[2] ? 3 : t && t->size[1] ? 2 : 1;
    *last_handle = handle;
    if (t && t->is_surface == is_surface && dims == i->vec && (t->layers > 0) == (i->boolean != 0) &&
        !(t->is_linear_memory && i->type2 == PTX_F32))
        return t;
    exec_fault(w, i, FAULT_TEXTURE, lane, handle);
    return NULL;
}

/* Coordinates of the lane behind the layer, if there is one. */
static uint64_t layer_of(const struct warp *w, const struct code_ins *i, const struct ws_model_texture *t,
                         uint32_t lane)
{
    uint32_t layer = i->boolean ? lane_32(w, i->s[0], lane) : 0;
    return t->layers && layer >= t->layers ? t->layers - 1 : layer;
}

static struct texel fetch(const struct warp *w, const struct code_ins *i, const struct ws_model_texture *t,
                          uint32_t lane)
{
    const uint32_t *coordinates = i->s + (i->boolean ? 1 : 0);
    uint64_t layer = layer_of(w, i, t, lane);
    double x[3] = {0};
    if (i->type2 != PTX_F32) { /* elements by their numbers */
        int64_t index[3] = {0};
        for (int k = 0; k < i->vec; k++)
            index[k] = index_of(t, k, (int32_t)lane_32(w, coordinates[k], lane));
        return t->is_linear_memory && index[0] < 0 ? (struct texel){{0}} : read_texel(t, index, layer);
    }
    for (int k = 0; k < i->vec; k++)
        x[k] = (double)bits_float(lane_32(w, coordinates[k], lane));
    if (i->op == OP_tld4)
        return gathered(t, x, (uint32_t)i->imm);
    return t->filters ? filtered(t, i->vec, x, layer) : nearest(t, i->vec, x, layer);
}

void exec_texture(struct warp *w, const struct code_ins *i)
{
    const struct ws_model_texture *t = NULL;
    uint64_t handle = 0;
    struct texel texels[32];
    uint32_t good = 0;
    for (uint32_t m = w->mask; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        t = object_of(w, i, lane, t, &handle);
        if (!t)
            continue;
        texels[lane] = fetch(w, i, t, lane);
        good |= 1u << lane;
    }
    for (uint32_t k = 0; k < 4; k++) /* results may lie where sources lay: all lanes were read before */
        for (uint32_t m = good; m; m &= m - 1)
            put_lane(w, i, k, (uint32_t)__builtin_ctz(m), texels[__builtin_ctz(m)].bits[k]);
}

/* Where the lane's bytes lie; NULL: nowhere. x counts bytes, the others rows and planes. */
static uint8_t *surface_place(struct warp *w, const struct code_ins *i, const struct ws_model_texture *t, uint32_t lane)
{
    const uint32_t *coordinates = i->op == OP_sust ? w->ctx->code->wide[i->wide].s : i->s;
    uint32_t bytes = (uint32_t)i->bytes * i->count_bytes, first = i->boolean ? 1 : 0;
    int64_t at[3] = {0}, room[3];
    uint64_t layer = i->boolean ? lane_32(w, coordinates[0], lane) : 0;
    bool is_inside = !i->boolean || layer < t->layers;
    room[0] = (int64_t)(size_of(t, 0) * element_bytes(t)) - bytes;
    room[1] = (int64_t)size_of(t, 1) - 1;
    room[2] = (int64_t)size_of(t, 2) - 1;
    for (uint32_t k = 0; k < i->vec; k++) {
        at[k] = (int32_t)lane_32(w, coordinates[first + k], lane);
        is_inside = is_inside && at[k] >= 0 && at[k] <= room[k];
        if (i->imm == SURFACE_CLAMP)
            at[k] = at[k] < 0 ? 0 : at[k] > room[k] ? room[k] : at[k];
    }
    layer = i->boolean && i->imm == SURFACE_CLAMP && layer >= t->layers ? t->layers - 1 : layer;
    if (room[0] < 0 || (!is_inside && i->imm != SURFACE_CLAMP)) {
        if (i->imm == SURFACE_TRAP)
            exec_fault(w, i, FAULT_SURFACE, lane, (uint32_t)at[0]);
        return NULL;
    }
    if (at[0] % bytes != 0) {
        exec_fault(w, i, FAULT_ALIGN, lane, (uint64_t)at[0]);
        return NULL;
    }
    return (uint8_t *)(uintptr_t)(t->at + (i->boolean ? layer : (uint64_t)at[2]) * t->slice +
                                  (uint64_t)at[1] * t->pitch + (uint64_t)at[0]);
}

/* count_bytes: values of bytes each. */
void exec_surface(struct warp *w, const struct code_ins *i)
{
    const struct ws_model_texture *t = NULL;
    uint64_t handle = 0;
    uint8_t *at[32];
    for (uint32_t m = w->mask; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        t = object_of(w, i, lane, t, &handle);
        at[lane] = t ? surface_place(w, i, t, lane) : NULL;
    }
    for (uint32_t k = 0; k < i->count_bytes; k++)
        for (uint32_t m = w->mask; m; m &= m - 1) {
            uint32_t lane = (uint32_t)__builtin_ctz(m);
            size_t offset = (size_t)k * i->bytes;
            uint64_t value = 0;
            if (i->op == OP_sust) {
                value = i->s_wide >> k & 1 ? lane_64(w, i->s[k], lane) : lane_32(w, i->s[k], lane);
                if (at[lane])
                    memcpy(at[lane] + offset, &value, i->bytes); /* little endian: the low bytes come first */
                continue;
            }
            if (at[lane])
                memcpy(&value, at[lane] + offset, i->bytes);
            put_lane(w, i, k, lane, value);
        }
}
