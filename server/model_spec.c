/* SPDX-License-Identifier: MIT
 * model_spec.c: a launch spec (JSON) as buffers and launches of the SIMT model.
 * The spec may come from anywhere: numbers are range-checked, and the model refuses what does not fit a GPU. */
#include "model_spec.h"

#include "names.h"

#include "../analyzer/err.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
    const char *name;
    const cJSON *json;
    uint64_t addr, bytes;
};

struct ws_spec {
    cJSON *root;
    const char *folder;
    char *ptx;
    struct buffer *buffers;
    uint32_t buffers_n;
};

static int fail(char *error, int err, const char *what, const char *name)
{
    snprintf(error, WS_MODEL_ERROR_BYTES, "%s%s%s%s", what, name ? " '" : "", name ? name : "", name ? "'" : "");
    return err;
}

static char *join(const char *folder, const char *file)
{
    size_t n = strlen(folder) + strlen(file) + 2;
    char *path = malloc(n);
    if (path)
        snprintf(path, n, "%s%s%s", file[0] == '/' || !folder[0] ? "" : folder, file[0] == '/' || !folder[0] ? "" : "/",
                 file);
    return path;
}

int ws_spec_new(const char *json, size_t length, const char *folder, struct ws_spec **out, char *error)
{
    struct ws_spec *s = calloc(1, sizeof *s);
    const cJSON *ptx, *buffers, *b;
    if (!s)
        return fail(error, -WS_ENOMEM, "out of memory", NULL);
    s->folder = folder;
    s->root = cJSON_ParseWithLength(json, length);
    ptx = cJSON_GetObjectItemCaseSensitive(s->root, "ptx");
    buffers = cJSON_GetObjectItemCaseSensitive(s->root, "buffers");
    if (!cJSON_IsObject(s->root) || !cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(s->root, "launches"))) {
        ws_spec_free(s);
        return fail(error, -WS_ESYNTAX, "the spec is no JSON object with \"launches\": [ … ]", NULL);
    }
    if (cJSON_IsString(ptx))
        s->ptx = join(folder, ptx->valuestring);
    s->buffers = calloc((size_t)cJSON_GetArraySize(buffers) + 1, sizeof *s->buffers);
    if (!s->buffers || (cJSON_IsString(ptx) && !s->ptx)) {
        ws_spec_free(s);
        return fail(error, -WS_ENOMEM, "out of memory", NULL);
    }
    cJSON_ArrayForEach(b, buffers)
    {
        s->buffers[s->buffers_n].name = b->string;
        s->buffers[s->buffers_n++].json = b;
    }
    *out = s;
    return 0;
}

void ws_spec_free(struct ws_spec *spec)
{
    if (!spec)
        return;
    cJSON_Delete(spec->root);
    free(spec->ptx);
    free(spec->buffers);
    free(spec);
}

const char *ws_spec_ptx(const struct ws_spec *spec)
{
    return spec->ptx;
}

static const cJSON *launches(const struct ws_spec *spec)
{
    return cJSON_GetObjectItemCaseSensitive(spec->root, "launches");
}

uint32_t ws_spec_launches(const struct ws_spec *spec)
{
    return (uint32_t)cJSON_GetArraySize(launches(spec));
}

/* --- buffers --- */

/* A whole number of a member; false when it is there and no whole number of [0, max]. Absent: *out is kept. */
static bool get_count(const cJSON *object, const char *key, double max, uint64_t *out)
{
    const cJSON *n = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!n)
        return true;
    if (!cJSON_IsNumber(n) || !(n->valuedouble >= 0 && n->valuedouble <= max) ||
        floor(n->valuedouble) != n->valuedouble)
        return false;
    *out = (uint64_t)n->valuedouble;
    return true;
}

#define RANDOM_TIMES 6364136223846793005u
#define RANDOM_PLUS 1442695040888963407u

static uint32_t next_random(uint64_t *state)
{
    *state = *state * RANDOM_TIMES + RANDOM_PLUS;
    return (uint32_t)(*state >> 32);
}

/* --- what a buffer holds --- */

struct fill {
    uint64_t n; /* words */
    uint64_t state, below;
    double value;
};

static uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static uint32_t fraction(uint64_t state)
{
    return bits_of((float)(uint32_t)(state >> 40) * (1.0f / 16777216.0f));
}

static uint32_t random_f32(struct fill *f, uint64_t i)
{
    (void)i;
    (void)next_random(&f->state);
    return fraction(f->state);
}

#define STREAMS 4

/* The same values, four at a time: each waits for the one before it otherwise. How many were made. */
static uint64_t many_random_f32(struct fill *f, uint32_t *words)
{
    uint64_t states[STREAMS], times = 1, plus = 0, n = f->n / STREAMS;
    for (int k = 0; k < STREAMS; k++) {
        times *= RANDOM_TIMES;
        plus = plus * RANDOM_TIMES + RANDOM_PLUS;
        states[k] = f->state * times + plus;
    }
    for (uint64_t i = 0; i < n; i++)
        for (int k = 0; k < STREAMS; k++) {
            words[STREAMS * i + (uint64_t)k] = fraction(states[k]);
            f->state = k == STREAMS - 1 ? states[k] : f->state;
            states[k] = states[k] * times + plus;
        }
    return n * STREAMS;
}

static uint32_t iota_f32(struct fill *f, uint64_t i)
{
    (void)f;
    return bits_of((float)i);
}

static uint32_t value_f32(struct fill *f, uint64_t i)
{
    (void)i;
    return bits_of((float)f->value);
}

static uint32_t random_u32(struct fill *f, uint64_t i)
{
    (void)i;
    return f->below ? (uint32_t)(((uint64_t)next_random(&f->state) * f->below) >> 32) : next_random(&f->state);
}

static uint32_t iota_u32(struct fill *f, uint64_t i)
{
    (void)f;
    return (uint32_t)i;
}

static uint32_t value_u32(struct fill *f, uint64_t i)
{
    (void)i;
    return (uint32_t)f->value;
}

static uint32_t permutation_u32(struct fill *f, uint64_t i)
{
    return (uint32_t)((i * 2654435761u + 12345u) & (f->n - 1));
}

/* One cycle through all: factor 5 mod 8, odd step. */
static uint32_t ring_u32(struct fill *f, uint64_t i)
{
    return (uint32_t)((i * 2654435765u + 12345u) & (f->n - 1));
}

/* Neighbours fall into different 32-byte sectors. */
static uint32_t scatter_sectors_u32(struct fill *f, uint64_t i)
{
    return (uint32_t)((i % (f->n / 8) * 2654435761u + 12345u) % (f->n / 8) * 8 + i / (f->n / 8));
}

static const struct {
    const char *name;
    uint32_t (*word)(struct fill *f, uint64_t i);
    bool needs_power; /* of two words, 8 or more */
} fills[] = {{"random_f32", random_f32, false},
             {"iota_f32", iota_f32, false},
             {"value_f32", value_f32, false},
             {"random_u32", random_u32, false},
             {"iota_u32", iota_u32, false},
             {"value_u32", value_u32, false},
             {"permutation_u32", permutation_u32, true},
             {"ring_u32", ring_u32, true},
             {"scatter_sectors_u32", scatter_sectors_u32, true}};
#define FILLS (sizeof fills / sizeof fills[0])

static int fill_buffer(struct buffer *b, struct ws_model *model, char *error)
{
    const cJSON *fill = cJSON_GetObjectItemCaseSensitive(b->json, "fill");
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(b->json, "value");
    const char *how = cJSON_IsString(fill) ? fill->valuestring : "zero";
    uint64_t seed = 1, below = 0;
    uint64_t n = b->bytes / 4;
    void *at = ws_model_at(model, b->addr, b->bytes);
    uint32_t *words = at;
    struct fill f;
    size_t which = 0;
    if (!at || !get_count(b->json, "seed", 0x1p53, &seed) || !get_count(b->json, "below", 0x1p32, &below))
        return fail(error, -WS_ESYNTAX, "bad seed or below of buffer", b->name);
    if (strcmp(how, "zero") == 0 || strcmp(how, "none") == 0)
        return 0;
    if (strcmp(how, "random_f64") == 0) {
        double *d = at;
        uint64_t state = seed * 2 + 1;
        for (uint64_t i = 0; i < b->bytes / 8; i++)
            d[i] = next_random(&state) * 0x1p-32;
        return 0;
    }
    while (which < FILLS && strcmp(fills[which].name, how) != 0)
        which++;
    if (which == FILLS)
        return fail(error, -WS_ESYNTAX, "unknown fill of buffer", b->name);
    if (fills[which].needs_power && (n < 8 || (n & (n - 1)) != 0))
        return fail(error, -WS_ESYNTAX, "this fill needs a power of two of words, 8 or more: buffer", b->name);
    f = (struct fill){n, seed * 2 + 1, below, cJSON_IsNumber(value) ? value->valuedouble : 0};
    for (int k = 0; k < 4; k++)
        (void)next_random(&f.state);
    for (uint64_t i = fills[which].word == random_f32 ? many_random_f32(&f, words) : 0; i < n; i++)
        words[i] = fills[which].word(&f, i);
    return 0;
}

static int load_file(const struct ws_spec *spec, struct buffer *b, struct ws_model *model, const char *file,
                     char *error)
{
    char *path = join(spec->folder, file);
    FILE *f = path ? fopen(path, "rb") : NULL;
    long size = -1;
    int err = -WS_EIO;
    if (f && fseek(f, 0, SEEK_END) == 0)
        size = ftell(f);
    if (size <= 0) {
        fail(error, err, "cannot read, or empty:", file);
        goto out;
    }
    if (b->bytes == 0)
        b->bytes = (uint64_t)size;
    err = ws_model_alloc(model, b->bytes, &b->addr);
    if (err) {
        fail(error, err, ws_err_text(err), b->name);
        goto out;
    }
    rewind(f);
    if (fread(ws_model_at(model, b->addr, b->bytes), 1, b->bytes < (uint64_t)size ? b->bytes : (size_t)size, f) == 0)
        err = fail(error, -WS_EIO, "cannot read", file);
out:
    if (f)
        fclose(f);
    free(path);
    return err;
}

int ws_spec_prepare(struct ws_spec *spec, struct ws_model *model, char *error)
{
    for (uint32_t k = 0; k < spec->buffers_n; k++) {
        struct buffer *b = &spec->buffers[k];
        const cJSON *file = cJSON_GetObjectItemCaseSensitive(b->json, "file");
        int err;
        b->bytes = 0;
        if (!get_count(b->json, "bytes", 0x1p40, &b->bytes) || (b->bytes == 0 && !cJSON_IsString(file)))
            return fail(error, -WS_ESYNTAX, "bytes (above 0) or file is missing in buffer", b->name);
        if (cJSON_IsString(file)) {
            err = load_file(spec, b, model, file->valuestring, error);
        } else {
            err = ws_model_alloc(model, b->bytes, &b->addr);
            if (err)
                return fail(error, err, "no memory for buffer", b->name);
            err = fill_buffer(b, model, error);
        }
        if (err)
            return err;
        (void)ws_model_label(model, b->addr, b->name);
    }
    return 0;
}

int ws_spec_undefine(const struct ws_spec *spec, struct ws_model *model)
{
    for (uint32_t k = 0; k < spec->buffers_n; k++) {
        const cJSON *fill = cJSON_GetObjectItemCaseSensitive(spec->buffers[k].json, "fill");
        bool is_file = cJSON_HasObjectItem(spec->buffers[k].json, "file");
        bool is_none = !fill || (cJSON_IsString(fill) && strcmp(fill->valuestring, "none") == 0);
        int err = is_none && !is_file ? ws_model_undefine(model, spec->buffers[k].addr) : 0;
        if (err)
            return err;
    }
    return 0;
}

int ws_spec_save(struct ws_spec *spec, struct ws_model *model, char *error)
{
    for (uint32_t k = 0; k < spec->buffers_n; k++) {
        struct buffer *b = &spec->buffers[k];
        const cJSON *save = cJSON_GetObjectItemCaseSensitive(b->json, "save");
        const void *at = ws_model_at(model, b->addr, b->bytes);
        char *path;
        FILE *f;
        bool is_good;
        if (!cJSON_IsString(save) || !at)
            continue;
        path = join(spec->folder, save->valuestring);
        f = path ? fopen(path, "wb") : NULL;
        is_good = f && fwrite(at, 1, b->bytes, f) == b->bytes;
        is_good &= f && fclose(f) == 0;
        free(path);
        if (!is_good)
            return fail(error, -WS_EIO, "cannot write", save->valuestring);
    }
    return 0;
}

/* --- arguments --- */

static const struct {
    const char *key;
    uint32_t bytes;
    char kind; /* i u f */
} scalars[] = {{"i8", 1, 'i'},  {"i16", 2, 'i'}, {"i32", 4, 'i'}, {"i64", 8, 'i'}, {"u8", 1, 'u'},
               {"u16", 2, 'u'}, {"u32", 4, 'u'}, {"u64", 8, 'u'}, {"f32", 4, 'f'}, {"f64", 8, 'f'}};

static int put_scalar(const cJSON *arg, uint8_t *out, uint32_t *bytes, char *error)
{
    for (size_t s = 0; s < sizeof scalars / sizeof *scalars; s++) {
        const cJSON *v = cJSON_GetObjectItemCaseSensitive(arg, scalars[s].key);
        uint32_t width = scalars[s].bytes;
        double lo = scalars[s].kind == 'i' ? -ldexp(1, 8 * (int)width - 1) : 0;
        double hi = ldexp(1, 8 * (int)width - (scalars[s].kind == 'i'));
        if (!v)
            continue;
        if (!cJSON_IsNumber(v))
            return fail(error, -WS_ESYNTAX, "no number in argument", scalars[s].key);
        *bytes = width;
        if (scalars[s].kind == 'f') {
            float f = (float)v->valuedouble;
            memcpy(out, width == 4 ? (const void *)&f : (const void *)&v->valuedouble, width);
        } else if (v->valuedouble < lo || v->valuedouble >= hi) {
            return fail(error, -WS_EINVAL, "out of range: argument", scalars[s].key);
        } else {
            uint64_t u = scalars[s].kind == 'i' ? (uint64_t)(int64_t)v->valuedouble : (uint64_t)v->valuedouble;
            memcpy(out, &u, width); /* little endian, as the device is */
        }
        return 0;
    }
    return fail(error, -WS_ESYNTAX, "an argument needs one of i8 … u64, f32, f64, buffer, bytes, struct", NULL);
}

static int put_buffer(const struct ws_spec *spec, const cJSON *arg, const char *name, uint8_t *out, char *error)
{
    const cJSON *offset = cJSON_GetObjectItemCaseSensitive(arg, "offset");
    for (uint32_t k = 0; k < spec->buffers_n; k++)
        if (strcmp(spec->buffers[k].name, name) == 0) {
            double o = cJSON_IsNumber(offset) ? offset->valuedouble : 0;
            uint64_t addr;
            if (!(o >= 0 && o <= (double)spec->buffers[k].bytes))
                return fail(error, -WS_EINVAL, "offset outside of buffer", name);
            addr = spec->buffers[k].addr + (uint64_t)o;
            memcpy(out, &addr, sizeof addr);
            return 0;
        }
    return fail(error, -WS_ENOENT, "no such buffer:", name);
}

static int put_hex(const char *hex, uint8_t *out, uint32_t room, uint32_t *bytes, char *error)
{
    size_t n = strlen(hex);
    if (n % 2 != 0 || n / 2 > room)
        return fail(error, -WS_EINVAL, "bytes: an even number of hex digits that fits the parameters", NULL);
    for (size_t i = 0; i < n / 2; i++) {
        unsigned v;
        if (sscanf(hex + 2 * i, "%2x", &v) != 1)
            return fail(error, -WS_ESYNTAX, "bytes: not hexadecimal", NULL);
        out[i] = (uint8_t)v;
    }
    *bytes = (uint32_t)(n / 2);
    return 0;
}

static int put_arg(const struct ws_spec *spec, const cJSON *arg, uint8_t *out, uint32_t room, uint32_t *bytes,
                   uint32_t depth, char *error)
{
    const cJSON *buffer = cJSON_GetObjectItemCaseSensitive(arg, "buffer");
    const cJSON *hex = cJSON_GetObjectItemCaseSensitive(arg, "bytes");
    const cJSON *members = cJSON_GetObjectItemCaseSensitive(arg, "struct");
    const cJSON *m;
    uint32_t at = 0, widest = 1;
    if (room < 8)
        return fail(error, -WS_EINVAL, "too many arguments", NULL);
    if (cJSON_IsString(buffer)) {
        *bytes = 8;
        return put_buffer(spec, arg, buffer->valuestring, out, error);
    }
    if (cJSON_IsString(hex))
        return put_hex(hex->valuestring, out, room, bytes, error);
    if (!cJSON_IsArray(members))
        return put_scalar(arg, out, bytes, error);
    if (depth > 8)
        return fail(error, -WS_ELIMIT, "struct nested too deeply", NULL);
    cJSON_ArrayForEach(m, members)
    {
        uint8_t value[64];
        uint32_t n = 0, align;
        int err = put_arg(spec, m, value, sizeof value, &n, depth + 1, error);
        if (err)
            return err;
        align = n >= 8 ? 8 : n >= 4 ? 4 : n >= 2 ? 2 : 1;
        at = (at + align - 1) & ~(align - 1);
        if (at + n > room)
            return fail(error, -WS_EINVAL, "struct larger than the parameters can be", NULL);
        memcpy(out + at, value, n);
        at += n;
        widest = align > widest ? align : widest;
    }
    *bytes = (at + widest - 1) & ~(widest - 1);
    return 0;
}

static int put_args(const struct ws_spec *spec, const struct ws_model *model, const cJSON *args,
                    struct ws_model_launch *launch, uint8_t *params, char *error)
{
    uint32_t n = (uint32_t)cJSON_GetArraySize(args), want = ws_model_param_count(model, launch->kernel);
    if (n != want) {
        snprintf(error, WS_MODEL_ERROR_BYTES, "%s takes %u arguments, the spec gives %u",
                 ws_model_kernel_name(model, launch->kernel), want, n);
        return -WS_EINVAL;
    }
    launch->params_bytes = 0;
    for (uint32_t k = 0; k < n; k++) {
        struct ws_model_param p;
        uint8_t value[4096];
        uint32_t bytes = 0;
        int err = put_arg(spec, cJSON_GetArrayItem(args, (int)k), value, sizeof value, &bytes, 0, error);
        if (err)
            return err;
        err = ws_model_param(model, launch->kernel, k, &p);
        if (err)
            return err;
        if (bytes != p.bytes || p.offset + p.bytes > WS_SPEC_PARAMS_MAX) {
            snprintf(error, WS_MODEL_ERROR_BYTES, "argument %u of %s has %u bytes, the kernel takes %u", k,
                     ws_model_kernel_name(model, launch->kernel), bytes, p.bytes);
            return -WS_EINVAL;
        }
        memcpy(params + p.offset, value, bytes);
        launch->params_bytes = p.offset + p.bytes;
    }
    launch->params = params;
    return 0;
}

static int get_dims(const cJSON *launch, const char *key, uint32_t dims[3], char *error)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(launch, key);
    int n = cJSON_GetArraySize(list);
    dims[0] = dims[1] = dims[2] = 1;
    if (!cJSON_IsArray(list) || n < 1 || n > 3)
        return fail(error, -WS_ESYNTAX, "one to three numbers wanted in", key);
    for (int k = 0; k < n; k++) {
        const cJSON *v = cJSON_GetArrayItem(list, k);
        if (!cJSON_IsNumber(v) || !(v->valuedouble >= 0 && v->valuedouble < 0x1p31))
            return fail(error, -WS_ESYNTAX, "no size:", key);
        dims[k] = (uint32_t)v->valuedouble;
    }
    return 0;
}

/* "cluster" and "cooperative": which blocks are resident together. */
static int get_togetherness(const cJSON *l, struct ws_model_launch *launch, char *error)
{
    const cJSON *cooperative = cJSON_GetObjectItemCaseSensitive(l, "cooperative");
    int err;
    if (cooperative && !cJSON_IsBool(cooperative))
        return fail(error, -WS_ESYNTAX, "true or false wanted in", "cooperative");
    launch->is_cooperative = cJSON_IsTrue(cooperative);
    if (!cJSON_GetObjectItemCaseSensitive(l, "cluster"))
        return 0;
    err = get_dims(l, "cluster", launch->cluster, error);
    if (err)
        return err;
    for (int k = 0; k < 3; k++)
        if (launch->cluster[k] == 0 || launch->grid[k] % launch->cluster[k] != 0) {
            snprintf(error, WS_MODEL_ERROR_BYTES,
                     "a cluster of (%u,%u,%u) blocks does not divide the grid of (%u,%u,%u)", launch->cluster[0],
                     launch->cluster[1], launch->cluster[2], launch->grid[0], launch->grid[1], launch->grid[2]);
            return -WS_ESYNTAX;
        }
    return 0;
}

/* --- names --- */

/* "void ns::f<32, 8>(float*)" → "ns::f<32,8>": from the last blank outside brackets to the parameter list. */
static void shorten(const char *demangled, char out[WS_SPEC_NAME_MAX])
{
    const char *start = demangled, *end = NULL;
    int depth = 0;
    size_t n = 0;
    for (const char *p = demangled; *p && !end; p++) {
        depth += (*p == '<') - (*p == '>');
        if (*p == ' ' && depth == 0)
            start = p + 1;
        if (*p == '(' && depth == 0 && strncmp(p, "(anonymous", 10) != 0)
            end = p;
    }
    end = end ? end : demangled + strlen(demangled);
    for (const char *p = start; p < end && n + 1 < WS_SPEC_NAME_MAX; p++) {
        if (p[0] == '(' && strncmp(p, "(int)", 5) == 0) { /* template arguments spelt with a cast */
            p += 4;
            continue;
        }
        if (*p != ' ')
            out[n++] = *p;
    }
    out[n] = '\0';
}

void ws_spec_short_name(const char *mangled, char out[WS_SPEC_NAME_MAX])
{
    struct ws_arena arena = {NULL};
    struct ws_name name;
    ws_name_of(&arena, mangled, &name);
    shorten(name.demangled, out);
    ws_arena_fini(&arena);
}

int ws_spec_find_kernel(const struct ws_model *model, const char *name, uint32_t *index)
{
    const char *mangled;
    if (ws_model_find(model, name, index) == 0)
        return 0;
    for (uint32_t k = 0; (mangled = ws_model_kernel_name(model, k)) != NULL; k++) {
        char plain[WS_SPEC_NAME_MAX];
        ws_spec_short_name(mangled, plain);
        if (strcmp(plain, name) == 0) {
            *index = k;
            return 0;
        }
    }
    return ws_model_find(model, name, index);
}

static int find_kernel(const struct ws_model *model, const cJSON *name, uint32_t *index, char *error)
{
    int err = cJSON_IsString(name) ? ws_spec_find_kernel(model, name->valuestring, index) : -WS_ENOENT;
    size_t at;
    const char *mangled;
    if (err == 0)
        return 0;
    at = (size_t)snprintf(error, WS_MODEL_ERROR_BYTES,
                          "%s '%s'; kernels here:", err == -WS_EINVAL ? "several kernels are meant by" : "no kernel",
                          cJSON_IsString(name) ? name->valuestring : "");
    for (uint32_t k = 0; (mangled = ws_model_kernel_name(model, k)) != NULL && at < WS_MODEL_ERROR_BYTES - 8; k++) {
        char plain[WS_SPEC_NAME_MAX];
        ws_spec_short_name(mangled, plain);
        at += (size_t)snprintf(error + at, WS_MODEL_ERROR_BYTES - at, " %s", plain);
    }
    return err;
}

const char *ws_spec_kernel(const struct ws_spec *spec, uint32_t k)
{
    const cJSON *l = cJSON_GetArrayItem(launches(spec), (int)k);
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(l, "kernel"));
}

uint32_t ws_spec_registers(const struct ws_spec *spec, uint32_t k)
{
    uint64_t n = 0;
    return get_count(cJSON_GetArrayItem(launches(spec), (int)k), "registers", 255, &n) ? (uint32_t)n : 0;
}

int ws_spec_launch(struct ws_spec *spec, struct ws_model *model, uint32_t k, struct ws_model_launch *launch,
                   uint8_t params[WS_SPEC_PARAMS_MAX], char *error)
{
    const cJSON *l = cJSON_GetArrayItem(launches(spec), (int)k);
    uint64_t dynamic = 0, spill = 0;
    int err;
    memset(launch, 0, sizeof *launch);
    memset(params, 0, WS_SPEC_PARAMS_MAX);
    if (!cJSON_IsObject(l))
        return fail(error, -WS_ESYNTAX, "a launch is no object", NULL);
    err = find_kernel(model, cJSON_GetObjectItemCaseSensitive(l, "kernel"), &launch->kernel, error);
    if (!err)
        err = get_dims(l, "grid", launch->grid, error);
    if (!err)
        err = get_dims(l, "block", launch->block, error);
    if (!err && !get_count(l, "dynamic_shared", 0x1p20, &dynamic))
        err = fail(error, -WS_ESYNTAX, "no size: dynamic_shared", NULL);
    if (!err && !get_count(l, "spill_bytes", 0x1p20, &spill))
        err = fail(error, -WS_ESYNTAX, "no size: spill_bytes", NULL);
    if (!err)
        err = get_togetherness(l, launch, error);
    launch->dynamic_smem_bytes = (uint32_t)dynamic;
    launch->spill_bytes = (uint32_t)spill;
    return err ? err : put_args(spec, model, cJSON_GetObjectItemCaseSensitive(l, "args"), launch, params, error);
}
