/* SPDX-License-Identifier: MIT
 * decimate.h: a timeline of any number of events as at most a few rectangles a pixel. Knows no database and no HTTP:
 * events are added in any order, lanes appear as they come, what is narrower than a cell is merged with
 * what starts in the same cell of its lane. A merged run keeps how long work ran in it and its longest item.
 * Two uses: an overview that grows with a running session, and one zoomed range (api_timeline.c). */
#ifndef WS_SERVER_DECIMATE_H
#define WS_SERVER_DECIMATE_H

#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WS_LANES_MAX = 1024,    /* of a session; what comes later is counted, not shown */
    WS_CELLS_MAX = 1 << 14, /* of a lane of an overview: it answers any width up to that, */
    WS_FULL_LANES = 8,      /* with so many lanes; with more, each has its part of that many cells (10 MB in all) */
};

/* One stream, one copy direction's queue, …: what is drawn as one row. */
struct ws_lane {
    int64_t process_id;
    enum ws_activity_kind kind;
    uint32_t device, context, stream;
    uint64_t events;
    int64_t busy_ns; /* sum of durations */
};

/* An event as it was (merged 1), or a run of merged ones. */
struct ws_run {
    int64_t start_ns, end_ns;
    int64_t busy_ns;
    int64_t longest_ns; /* of the event that item is of */
    uint32_t item;      /* kernel id; copies: CUPTI copy kind; sets: 0 */
    uint32_t merged;
};

struct ws_decimate;

/* cell_ns: width of a cell, above 0. from_ns: where cell 0 begins. grows: the width doubles whenever the
 * cells of a lane would be more than WS_CELLS_MAX. NULL: out of memory. */
struct ws_decimate *ws_decimate_new(int64_t from_ns, int64_t cell_ns, bool grows);
void ws_decimate_free(struct ws_decimate *d);

/* Make a lane before its events come, so that two pictures number their lanes alike. -WS_ENOMEM, -WS_ELIMIT. */
int ws_decimate_add_lane(struct ws_decimate *d, const struct ws_lane *lane);

/* Add one event; one whose times are impossible is counted as hidden. Without grows it must begin before the last
 * cell that is wanted. -WS_ENOMEM; -WS_ELIMIT too many lanes (the event is counted as hidden). */
int ws_decimate_add(struct ws_decimate *d, int64_t process_id, enum ws_activity_kind kind,
                    const struct ws_activity_row *row);
/* The same for a run of another one's lane: an overview drawn at less detail. */
int ws_decimate_add_run(struct ws_decimate *d, const struct ws_lane *lane, const struct ws_run *run);

/* Lanes in order of appearance. */
size_t ws_decimate_lanes(const struct ws_decimate *d);
const struct ws_lane *ws_decimate_lane(const struct ws_decimate *d, size_t lane);
/* Runs of a lane, by start; lent until the next add. -WS_ENOMEM. */
int ws_decimate_runs(struct ws_decimate *d, size_t lane, const struct ws_run **runs, size_t *count);

int64_t ws_decimate_cell_ns(const struct ws_decimate *d);
/* First start and last end; false when there is no event. */
bool ws_decimate_range(const struct ws_decimate *d, int64_t *from_ns, int64_t *to_ns);
uint64_t ws_decimate_hidden(const struct ws_decimate *d);
/* Bytes of memory it holds, about. */
size_t ws_decimate_bytes(const struct ws_decimate *d);

#endif
