/* SPDX-License-Identifier: MIT
 * work_order.c: chunks come by their least start; what starts before the next chunk can begin is in its place. */
#include "work_order.h"

#include "../analyzer/err.h"

#include <stdlib.h>
#include <string.h>

struct reader {
    int64_t process_id;
    uint32_t device;
    int (*each)(void *state, const struct ws_work *work);
    void *state;
    struct ws_work *held; /* sorted */
    size_t count, room;
    struct ws_work fresh[WS_ACTIVITY_ROWS]; /* of the chunk at hand */
    uint64_t left_out;
};

static int by_start(const void *a, const void *b)
{
    const struct ws_work *x = a;
    const struct ws_work *y = b;
    if (x->at.start != y->at.start)
        return x->at.start < y->at.start ? -1 : 1;
    return (x->at.end > y->at.end) - (x->at.end < y->at.end);
}

/* Rows of the chunk that are wanted, sorted. */
static size_t unpack(struct reader *r, const struct ws_activity_chunk *chunk, uint32_t from, uint32_t to)
{
    bool in_order = true;
    size_t n = 0;
    for (uint32_t i = from; i < to; i++) {
        struct ws_activity_row row;
        ws_activity_unpack(&row, chunk->data + (size_t)i * WS_ACTIVITY_BYTES);
        if (!ws_work_is_time(row.start_ns, row.end_ns) || row.device != r->device)
            continue;
        r->fresh[n] = (struct ws_work){.at = {row.start_ns, row.end_ns},
                                       .correlation = row.correlation,
                                       .kernel_id = row.kernel_id,
                                       .stream = row.stream,
                                       .kind = (uint8_t)chunk->kind,
                                       .copy_kind = row.copy_kind,
                                       .src_kind = row.src_kind,
                                       .dst_kind = row.dst_kind,
                                       .is_async = row.is_async};
        in_order = in_order && (n == 0 || by_start(&r->fresh[n - 1], &r->fresh[n]) <= 0);
        n++;
    }
    if (!in_order)
        qsort(r->fresh, n, sizeof *r->fresh, by_start);
    return n;
}

/* Merge n fresh pieces into the held ones, from the back: nothing is overwritten before it was moved. */
static int merge(struct reader *r, size_t n)
{
    size_t i = r->count;
    size_t at;
    if (r->count + n > WS_WORK_HELD_MAX) {
        r->left_out += n;
        return 0;
    }
    if (r->count + n > r->room) {
        size_t room = 2 * (r->count + n);
        struct ws_work *grown = realloc(r->held, room * sizeof *grown);
        if (!grown)
            return -WS_ENOMEM;
        r->held = grown;
        r->room = room;
    }
    at = r->count += n;
    while (n > 0)
        if (i > 0 && by_start(&r->held[i - 1], &r->fresh[n - 1]) > 0)
            r->held[--at] = r->held[--i];
        else
            r->held[--at] = r->fresh[--n];
    return 0;
}

/* Hand on what starts before t. */
static int hand_on(struct reader *r, int64_t t)
{
    size_t n = 0;
    int err = 0;
    while (err == 0 && n < r->count && r->held[n].at.start < t)
        err = r->each(r->state, &r->held[n++]);
    if (n > 0)
        memmove(r->held, r->held + n, (r->count - n) * sizeof *r->held);
    r->count -= n;
    return err;
}

static int take_chunk(void *state, const struct ws_activity_chunk *chunk, int64_t next_start_ns)
{
    struct reader *r = state;
    int err = 0;
    for (uint32_t i = 0; err == 0 && i < chunk->rows && chunk->process_id == r->process_id; i += WS_ACTIVITY_ROWS) {
        uint32_t to = chunk->rows - i < WS_ACTIVITY_ROWS ? chunk->rows : i + WS_ACTIVITY_ROWS;
        err = merge(r, unpack(r, chunk, i, to));
    }
    return err == 0 ? hand_on(r, next_start_ns) : err;
}

int ws_work_each(struct ws_store *store, int64_t session_id, int64_t process_id, uint32_t device,
                 int (*each)(void *state, const struct ws_work *work), void *state, uint64_t *left_out)
{
    struct reader *r = calloc(1, sizeof *r);
    int err;
    if (!r)
        return -WS_ENOMEM;
    r->process_id = process_id;
    r->device = device;
    r->each = each;
    r->state = state;
    err = ws_store_each_activity_by_start(store, session_id, take_chunk, r);
    *left_out = r->left_out;
    free(r->held);
    free(r);
    return err;
}
