/* SPDX-License-Identifier: MIT
 * host_track.h: what the timeline shows of the host beside the device's work: bytes that are allocated, waits for
 * events, streams and contexts, and how long a launch stood in its queue. From the records of set `api`; each as few
 * points as a picture of some width needs (decimate.h). Knows no HTTP. */
#ifndef WS_SERVER_HOST_TRACK_H
#define WS_SERVER_HOST_TRACK_H

#include "decimate.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WS_TRACK_POINTS_MAX = 1 << 15,  /* of one answer; more are merged into wider cells */
    WS_TRACK_MEMORY_MAX = 1000000,  /* allocations and releases read; what comes later is counted as left out */
    WS_TRACK_LAUNCHES_MAX = 200000, /* launches joined with their calls; of more, each n-th */
    WS_TRACK_SERIES_MAX = 256
};

/* The range of times that is drawn, and the width of a cell; absolute ns. */
struct ws_track_view {
    int64_t from_ns, to_ns;
    int64_t cell_ns; /* above 0 */
};

/* First and last time of the session's host records of one type (WS_REC_MEMORY, WS_REC_SYNC); false: none. */
int ws_track_range(struct ws_store *store, int64_t session_id, uint16_t type, int64_t *from_ns, int64_t *to_ns,
                   bool *found);

/* --- allocated bytes --- */

/* All changes within one cell. */
struct ws_memory_point {
    int64_t t_ns; /* of the first of them */
    int64_t low, high, last;
};

/* One kind of memory of one device of a process. */
struct ws_memory_series {
    int64_t process_id;
    uint32_t device, kind; /* kind: CUpti_ActivityMemoryKind */
    uint64_t allocations, releases;
    int64_t before;    /* bytes at the start of the range */
    int64_t peak, end; /* of the whole session */
    int64_t unseen;    /* released without having been seen allocated: it lay there before, and is counted so */
    struct ws_memory_point *points;
    size_t count, room;
};

struct ws_memory_track {
    struct ws_memory_series *series; /* [count] */
    size_t count;
    uint64_t records, left_out;
};

/* Fill *out; ws_memory_track_free it, also after an error.
 *   errors  -WS_ENOMEM, of the store */
int ws_memory_track_load(struct ws_store *store, int64_t session_id, const struct ws_track_view *view,
                         struct ws_memory_track *out);
void ws_memory_track_free(struct ws_memory_track *track);

/* --- waits --- */

/* Synchronisation records that touch the range, as lanes of *out: kind is CUpti_ActivitySynchronizationType, item the
 * event. Free *out.
 *   records  of the session, in the range or not
 *   errors   -WS_ENOMEM, of the store */
int ws_wait_track_load(struct ws_store *store, int64_t session_id, const struct ws_track_view *view,
                       struct ws_decimate **out, uint64_t *records);

/* --- the queue --- */

/* Launches of one kernel signature that could be joined with their call. */
struct ws_queue_kernel {
    int64_t kernel_id;
    uint64_t launches;
    int64_t delay_sum, delay_min, delay_max; /* ns from the call's return to the start; negative: it began before */
    int64_t call_sum;                        /* ns in the call */
    int64_t run_sum;                         /* ns on the device */
};

struct ws_queue_track {
    struct ws_decimate *points;      /* runs at the start of a launch: longest and busy are delays, item the kernel */
    struct ws_queue_kernel *kernels; /* [kernel_count], longest delay in sum first */
    size_t kernel_count, kernel_room;
    uint64_t launches; /* with a time of their own, in the range */
    uint64_t joined;   /* of those looked at */
    uint64_t one_in;   /* 1: all were looked at */
};

/* Launches that start in the range. Of those of one call (a graph) only the first has a delay. Free with
 * ws_queue_track_free, also after an error.
 *   errors  -WS_ENOMEM, of the store */
int ws_queue_track_load(struct ws_store *store, int64_t session_id, const struct ws_track_view *view,
                        struct ws_queue_track *out);
void ws_queue_track_free(struct ws_queue_track *track);

#endif
