/* SPDX-License-Identifier: MIT
 * work_order.h: the device's work of one GPU of a session in order of its start, one piece at a time. Chunks of the
 * database hold it in order of arrival; here they are merged with no more in memory than overlaps. */
#ifndef WS_SERVER_WORK_ORDER_H
#define WS_SERVER_WORK_ORDER_H

#include "store.h"

/* Pieces that are held at most: only chunks that all overlap, which no collector writes, come near it. */
#define WS_WORK_HELD_MAX 1000000

struct ws_span {
    int64_t start, end; /* ns */
};

/* A kernel, copy or memset that has a time. */
struct ws_work {
    struct ws_span at;
    uint64_t correlation;
    uint64_t kernel_id; /* kernel; else bytes */
    uint32_t stream;
    uint8_t kind; /* enum ws_activity_kind */
    uint8_t copy_kind, src_kind, dst_kind, is_async;
};

/* Times that a clock can say: sums and differences of them do not overflow, also in a capture made to. */
static inline bool ws_work_is_time(int64_t start_ns, int64_t end_ns)
{
    return start_ns > 0 && end_ns >= start_ns && end_ns < INT64_MAX / 4;
}

/* Call back for each piece, by start and then by end.
 *   device    ordinal in the process
 *   left_out  pieces beyond WS_WORK_HELD_MAX
 *   errors    -WS_ENOMEM, of the store, what each returns */
int ws_work_each(struct ws_store *store, int64_t session_id, int64_t process_id, uint32_t device,
                 int (*each)(void *state, const struct ws_work *work), void *state, uint64_t *left_out);

#endif
