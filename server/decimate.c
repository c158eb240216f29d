/* SPDX-License-Identifier: MIT
 * decimate.c: cells of equal width per lane hold what is narrower than a cell; wider events stand for
 * themselves. So the memory follows the width of the picture, not the number of events. */
#include "decimate.h"

#include "../analyzer/err.h"

#include <stdlib.h>
#include <string.h>

enum {
    HASH = 4096,                 /* slots for WS_LANES_MAX lanes */
    WIDE_MAX = 4 * WS_CELLS_MAX, /* events of a lane that stand for themselves; overlapping ones could be more */
};

/* No clock of this millennium is beyond; differences of two such times do not overflow. */
#define TIME_MAX (INT64_MAX / 2)

struct lane {
    struct ws_lane info;
    struct ws_run *cells; /* [room], cell first + i; merged 0 = empty */
    int64_t first;
    size_t room;
    int64_t low_ns, high_ns; /* least and greatest start of all its events, wide ones too */
    struct ws_run *wide;     /* [wide_room], the first wide_count are set */
    size_t wide_count, wide_room;
};

struct ws_decimate {
    int64_t from_ns, cell_ns;
    bool grows;
    struct lane *lanes;
    size_t count;
    uint16_t slots[HASH]; /* lane + 1; 0 = free */
    size_t last;          /* lane of the last event */
    int64_t start_ns, end_ns;
    bool has_any;
    uint64_t hidden;
    struct ws_run *sorted;
    size_t sorted_room;
};

struct ws_decimate *ws_decimate_new(int64_t from_ns, int64_t cell_ns, bool grows)
{
    struct ws_decimate *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->from_ns = from_ns;
    d->cell_ns = cell_ns;
    d->grows = grows;
    return d;
}

void ws_decimate_free(struct ws_decimate *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->count; i++) {
        free(d->lanes[i].cells);
        free(d->lanes[i].wide);
    }
    free(d->lanes);
    free(d->sorted);
    free(d);
}

/* --- lanes --- */

static bool is_lane(const struct ws_lane *a, const struct ws_lane *b)
{
    return a->process_id == b->process_id && a->kind == b->kind && a->device == b->device && a->context == b->context &&
           a->stream == b->stream;
}

static size_t hash_lane(const struct ws_lane *l)
{
    uint64_t h = (uint64_t)l->process_id * 0x9e3779b97f4a7c15u;
    h = (h ^ l->stream) * 0x9e3779b97f4a7c15u;
    h = (h ^ ((uint64_t)l->context << 8 | (uint64_t)l->kind << 4 | l->device)) * 0x9e3779b97f4a7c15u;
    return (size_t)(h >> 52) % HASH;
}

static int new_lane(struct ws_decimate *d, const struct ws_lane *key, size_t slot, size_t *out)
{
    struct lane *lanes;
    if (d->count == WS_LANES_MAX)
        return -WS_ELIMIT;
    lanes = realloc(d->lanes, (d->count + 1) * sizeof *lanes);
    if (!lanes)
        return -WS_ENOMEM;
    d->lanes = lanes;
    memset(&lanes[d->count], 0, sizeof *lanes);
    lanes[d->count].info = *key;
    lanes[d->count].info.events = 0;
    lanes[d->count].info.busy_ns = 0;
    *out = d->count++;
    d->slots[slot] = (uint16_t)d->count;
    return 0;
}

static int find_lane(struct ws_decimate *d, const struct ws_lane *key, size_t *out)
{
    size_t slot = hash_lane(key);
    if (d->last < d->count && is_lane(&d->lanes[d->last].info, key)) {
        *out = d->last;
        return 0;
    }
    for (; d->slots[slot]; slot = (slot + 1) % HASH)
        if (is_lane(&d->lanes[d->slots[slot] - 1].info, key)) {
            *out = d->last = d->slots[slot] - 1u;
            return 0;
        }
    return new_lane(d, key, slot, out);
}

/* --- cells --- */

static int64_t cell_of(const struct ws_decimate *d, int64_t t)
{
    int64_t at = t - d->from_ns;
    return at >= 0 ? at / d->cell_ns : -((-at + d->cell_ns - 1) / d->cell_ns);
}

static void merge(struct ws_run *into, const struct ws_run *run)
{
    if (into->merged == 0) {
        *into = *run;
        return;
    }
    if (run->start_ns < into->start_ns)
        into->start_ns = run->start_ns;
    if (run->end_ns > into->end_ns)
        into->end_ns = run->end_ns;
    into->busy_ns += run->busy_ns;
    if (run->longest_ns > into->longest_ns) {
        into->longest_ns = run->longest_ns;
        into->item = run->item;
    }
    into->merged = into->merged > UINT32_MAX - run->merged ? UINT32_MAX : into->merged + run->merged;
}

/* Make cell at part of the lane; true if the array now has it. */
static int room_for(struct lane *l, int64_t cell)
{
    int64_t first = l->room == 0 || cell < l->first ? cell : l->first;
    int64_t end = l->room == 0 || cell >= l->first + (int64_t)l->room ? cell + 1 : l->first + (int64_t)l->room;
    size_t room = (size_t)(end - first);
    struct ws_run *cells;
    if (l->room && room == l->room)
        return 0;
    /* Half as much again where it grows: adding in order must not copy each time. */
    if (l->room && cell < l->first)
        first -= (int64_t)(room / 2);
    room = (size_t)(end - first) + (l->room && cell >= l->first ? room / 2 : 0);
    cells = calloc(room, sizeof *cells);
    if (!cells)
        return -WS_ENOMEM;
    if (l->room)
        memcpy(cells + (l->first - first), l->cells, l->room * sizeof *cells);
    free(l->cells);
    l->cells = cells;
    l->first = first;
    l->room = room;
    return 0;
}

static int put_run(struct ws_decimate *d, struct lane *l, const struct ws_run *run);

/* Double the width of all cells. */
static int coarsen_lane(struct ws_decimate *d, struct lane *l)
{
    struct ws_run *old = l->cells;
    struct ws_run *wide = l->wide;
    size_t count = l->room;
    size_t wide_count = l->wide_count;
    int err = 0;
    l->cells = l->wide = NULL;
    l->room = l->wide_count = l->wide_room = 0;
    for (size_t i = 0; i < count && err == 0; i++)
        if (old[i].merged)
            err = put_run(d, l, &old[i]);
    for (size_t i = 0; i < wide_count && err == 0; i++)
        err = put_run(d, l, &wide[i]);
    free(old);
    free(wide);
    return err;
}

static int coarsen(struct ws_decimate *d)
{
    int err = 0;
    d->cell_ns *= 2;
    for (size_t i = 0; i < d->count && err == 0; i++)
        err = coarsen_lane(d, &d->lanes[i]);
    return err;
}

static int put_wide(struct lane *l, const struct ws_run *run)
{
    if (l->wide_count == l->wide_room) {
        size_t room = l->wide_room ? l->wide_room * 2 : 64;
        struct ws_run *wide = realloc(l->wide, room * sizeof *wide);
        if (!wide)
            return -WS_ENOMEM;
        l->wide = wide;
        l->wide_room = room;
    }
    l->wide[l->wide_count++] = *run;
    return 0;
}

static int put_run(struct ws_decimate *d, struct lane *l, const struct ws_run *run)
{
    int64_t cell = cell_of(d, run->start_ns);
    int err;
    if (run->merged == 1 && run->end_ns - run->start_ns >= d->cell_ns && l->wide_count < WIDE_MAX)
        return put_wide(l, run);
    if (!d->grows && cell < 0)
        cell = 0; /* it began before the range */
    err = room_for(l, cell);
    if (err == 0)
        merge(&l->cells[cell - l->first], run);
    return err;
}

/* Cells of a lane of an overview: the picture of a program with very many streams gets coarser, not larger. */
static int64_t most_cells(const struct ws_decimate *d)
{
    return d->count <= WS_FULL_LANES ? WS_CELLS_MAX : (int64_t)WS_CELLS_MAX * WS_FULL_LANES / (int64_t)d->count;
}

/* Widen the cells until a lane that also has an event at time t fits. Wide events count: the next widening may
 * put them into cells. */
static int fit(struct ws_decimate *d, struct lane *l, int64_t t)
{
    bool is_first = l->info.events == 0;
    int err = 0;
    if (is_first || t < l->low_ns)
        l->low_ns = t;
    if (is_first || t > l->high_ns)
        l->high_ns = t;
    while (d->grows && err == 0 && cell_of(d, l->high_ns) - cell_of(d, l->low_ns) >= most_cells(d))
        err = coarsen(d);
    return err;
}

static int add(struct ws_decimate *d, const struct ws_lane *key, const struct ws_run *run)
{
    size_t i;
    int err = find_lane(d, key, &i);
    if (err == -WS_ELIMIT)
        d->hidden += run->merged;
    if (err == 0)
        err = fit(d, &d->lanes[i], run->start_ns);
    if (err == 0)
        err = put_run(d, &d->lanes[i], run);
    if (err != 0)
        return err;
    d->lanes[i].info.events += run->merged;
    d->lanes[i].info.busy_ns += run->busy_ns;
    if (!d->has_any || run->start_ns < d->start_ns)
        d->start_ns = run->start_ns;
    if (!d->has_any || run->end_ns > d->end_ns)
        d->end_ns = run->end_ns;
    d->has_any = true;
    return 0;
}

int ws_decimate_add_lane(struct ws_decimate *d, const struct ws_lane *lane)
{
    size_t i;
    return find_lane(d, lane, &i);
}

int ws_decimate_add(struct ws_decimate *d, int64_t process_id, enum ws_activity_kind kind,
                    const struct ws_activity_row *row)
{
    struct ws_lane key = {process_id, kind, row->device, row->context, row->stream, 0, 0};
    struct ws_run run = {row->start_ns, row->end_ns, 0, 0, 0, 1};
    if (row->start_ns < 0 || row->end_ns < row->start_ns || row->end_ns > TIME_MAX) {
        d->hidden++;
        return 0;
    }
    run.busy_ns = run.longest_ns = row->end_ns - row->start_ns;
    if (kind == WS_ACTIVITY_KERNEL)
        run.item = (uint32_t)row->kernel_id;
    else if (kind == WS_ACTIVITY_MEMCPY)
        run.item = row->copy_kind;
    return add(d, &key, &run);
}

int ws_decimate_add_run(struct ws_decimate *d, const struct ws_lane *lane, const struct ws_run *run)
{
    return add(d, lane, run);
}

/* --- reading --- */

size_t ws_decimate_lanes(const struct ws_decimate *d)
{
    return d->count;
}

const struct ws_lane *ws_decimate_lane(const struct ws_decimate *d, size_t lane)
{
    return &d->lanes[lane].info;
}

static int by_start(const void *a, const void *b)
{
    const struct ws_run *x = a;
    const struct ws_run *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

int ws_decimate_runs(struct ws_decimate *d, size_t lane, const struct ws_run **runs, size_t *count)
{
    const struct lane *l = &d->lanes[lane];
    size_t most = l->room + l->wide_count;
    size_t n = 0;
    if (most > d->sorted_room) {
        struct ws_run *sorted = realloc(d->sorted, most * sizeof *sorted);
        if (!sorted)
            return -WS_ENOMEM;
        d->sorted = sorted;
        d->sorted_room = most;
    }
    for (size_t i = 0; i < l->room; i++)
        if (l->cells[i].merged)
            d->sorted[n++] = l->cells[i];
    for (size_t i = 0; i < l->wide_count; i++)
        d->sorted[n++] = l->wide[i];
    if (n > 1)
        qsort(d->sorted, n, sizeof *d->sorted, by_start);
    *runs = d->sorted;
    *count = n;
    return 0;
}

int64_t ws_decimate_cell_ns(const struct ws_decimate *d)
{
    return d->cell_ns;
}

bool ws_decimate_range(const struct ws_decimate *d, int64_t *from_ns, int64_t *to_ns)
{
    if (!d->has_any)
        return false;
    *from_ns = d->start_ns;
    *to_ns = d->end_ns;
    return true;
}

uint64_t ws_decimate_hidden(const struct ws_decimate *d)
{
    return d->hidden;
}

size_t ws_decimate_bytes(const struct ws_decimate *d)
{
    size_t sum = sizeof *d + d->sorted_room * sizeof *d->sorted;
    for (size_t i = 0; i < d->count; i++)
        sum += sizeof d->lanes[i] + (d->lanes[i].room + d->lanes[i].wide_room) * sizeof(struct ws_run);
    return sum;
}
