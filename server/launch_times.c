/* SPDX-License-Identifier: MIT
 * launch_times.c: see launch_times.h. Of each kernel every n-th launch is kept; when its place is full every other
 * one is dropped and n doubles. */
#include "launch_times.h"

#include "../analyzer/err.h"

#include <stdlib.h>

enum { KEPT_MAX = 4096 };

struct kept {
    int64_t kernel_id;
    size_t kernel; /* index in the session */
    double *seconds;
    size_t count, cap;
    uint64_t seen, stride;
};

struct reading {
    struct kept *kernels; /* [count], by kernel_id */
    size_t count;
};

static int by_id(const void *a, const void *b)
{
    int64_t x = ((const struct kept *)a)->kernel_id;
    int64_t y = ((const struct kept *)b)->kernel_id;
    return (x > y) - (x < y);
}

/* Room for one more; false: out of memory. */
static bool make_room(struct kept *k)
{
    size_t cap = k->cap ? k->cap * 2 : 16;
    double *grown;
    if (k->count < k->cap)
        return true;
    if (k->cap == KEPT_MAX) {
        for (size_t i = 0; i < k->count / 2; i++)
            k->seconds[i] = k->seconds[2 * i];
        k->count /= 2;
        k->stride *= 2;
        return true;
    }
    grown = realloc(k->seconds, cap * sizeof *grown);
    if (!grown)
        return false;
    k->seconds = grown;
    k->cap = cap;
    return true;
}

static bool add(struct kept *k, double seconds)
{
    if (k->seen++ % k->stride != 0)
        return true;
    if (!make_room(k))
        return false;
    if ((k->seen - 1) % k->stride == 0)
        k->seconds[k->count++] = seconds;
    return true;
}

static int read_chunk(void *state, const struct ws_activity_chunk *chunk)
{
    struct reading *r = state;
    if (chunk->kind != WS_ACTIVITY_KERNEL)
        return 0;
    for (uint32_t i = 0; i < chunk->rows; i++) {
        struct ws_activity_row row;
        struct kept key;
        struct kept *k;
        ws_activity_unpack(&row, chunk->data + (size_t)i * WS_ACTIVITY_BYTES);
        key.kernel_id = (int64_t)row.kernel_id;
        k = bsearch(&key, r->kernels, r->count, sizeof key, by_id);
        if (!k || row.end_ns <= row.start_ns) /* 0,0: replayed */
            continue;
        if (!add(k, (double)(row.end_ns - row.start_ns) / 1e9))
            return -WS_ENOMEM;
    }
    return 0;
}

/* The profiler's own times: only their mean and ends are known. */
static struct ws_spread of_profiler(const struct ws_kernel *k)
{
    const struct ws_times *t = &k->times;
    struct ws_spread s = {.count = 0};
    if (!ws_has(t->mean) || t->mean.origin != WS_ORIGIN_PROFILER_TIME)
        return s;
    /* More launches than can be told from ends alone would be taken for a known deviation: see spread.h. */
    s.count = k->profiled > 1 ? 2 : 1;
    s.median = t->mean.number;
    s.min = t->min.number;
    s.max = t->max.number;
    return s;
}

int ws_launch_times_load(struct ws_store *store, const struct ws_session *session, struct ws_spread **out)
{
    struct reading r = {.count = session->kernel_count};
    struct ws_spread *spreads = calloc(r.count + 1, sizeof *spreads);
    int err;
    r.kernels = calloc(r.count + 1, sizeof *r.kernels);
    err = spreads && r.kernels ? 0 : -WS_ENOMEM;
    for (size_t i = 0; err == 0 && i < r.count; i++)
        r.kernels[i] = (struct kept){.kernel_id = session->kernels[i].row.id, .kernel = i, .stride = 1};
    if (err == 0) {
        qsort(r.kernels, r.count, sizeof *r.kernels, by_id);
        err = ws_store_each_activity(store, session->row.id, read_chunk, &r);
    }
    for (size_t i = 0; err == 0 && i < r.count; i++) {
        struct kept *k = &r.kernels[i];
        spreads[k->kernel] =
            k->count > 0 ? ws_spread_of(k->seconds, k->count) : of_profiler(&session->kernels[k->kernel]);
    }
    for (size_t i = 0; r.kernels && i < r.count; i++)
        free(r.kernels[i].seconds);
    free(r.kernels);
    if (err != 0) {
        free(spreads);
        spreads = NULL;
    }
    *out = spreads;
    return err;
}
