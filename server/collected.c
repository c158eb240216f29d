/* SPDX-License-Identifier: MIT
 * collected.c: see collected.h. Processes are counted as they go off and on, in order of time: where all of them are
 * off there is a gap. A process that never was told anything is on from its start to its end. */
#include "collected.h"

#include "../analyzer/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A process stops or starts to collect. */
struct turn {
    int64_t at_ns;
    int off; /* +1 goes off, -1 goes on */
    char reason[32];
};

struct turns {
    struct turn *at;
    size_t count, room;
    int64_t only;    /* the process that is asked for; 0 = all */
    int64_t process; /* whose rows come now */
    bool is_on;
    size_t processes; /* with rows */
};

static int push(struct turns *t, int64_t at_ns, int off, const char *reason)
{
    struct turn *turn;
    if (t->count == t->room) {
        size_t room = t->room ? t->room * 2 : 64;
        struct turn *grown = realloc(t->at, room * sizeof *grown);
        if (!grown)
            return -WS_ENOMEM;
        t->at = grown;
        t->room = room;
    }
    turn = &t->at[t->count++];
    turn->at_ns = at_ns;
    turn->off = off;
    snprintf(turn->reason, sizeof turn->reason, "%s", reason);
    return 0;
}

static int take_row(void *state, const struct ws_collection_row *row)
{
    struct turns *t = state;
    if (t->only != 0 && row->process_id != t->only)
        return 0;
    if (row->process_id != t->process) {
        t->process = row->process_id;
        t->is_on = true;
        t->processes++;
    }
    if (row->is_on == t->is_on)
        return 0; /* told twice */
    t->is_on = row->is_on;
    return push(t, row->at_ns, row->is_on ? -1 : 1, row->reason);
}

static int count_process(void *state, const struct ws_process_row *row)
{
    (void)row;
    ++*(size_t *)state;
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct turn *x = a;
    const struct turn *y = b;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return x->off - y->off; /* on first: a gap of no length is none */
}

static int add_gap(struct ws_gaps *out, int64_t start_ns, int64_t end_ns, const char *reason)
{
    struct ws_gap *gap;
    if (end_ns <= start_ns)
        return 0;
    if (out->count == out->room) {
        size_t room = out->room ? out->room * 2 : 64;
        struct ws_gap *grown = realloc(out->at, room * sizeof *grown);
        if (!grown)
            return -WS_ENOMEM;
        out->at = grown;
        out->room = room;
    }
    gap = &out->at[out->count++];
    gap->start_ns = start_ns;
    gap->end_ns = end_ns;
    snprintf(gap->reason, sizeof gap->reason, "%s", reason);
    return 0;
}

static int make_gaps(struct turns *t, size_t processes, struct ws_gaps *out)
{
    size_t off = 0;
    int err = 0;
    const struct turn *since = NULL;
    if (t->processes < processes || t->count == 0)
        return 0; /* one of them collected all the time */
    qsort(t->at, t->count, sizeof *t->at, by_time);
    for (size_t i = 0; err == 0 && i < t->count; i++) {
        const struct turn *turn = &t->at[i];
        if (turn->off < 0 && off == processes && since)
            err = add_gap(out, since->at_ns, turn->at_ns, since->reason);
        off = turn->off > 0 ? off + 1 : off - 1;
        if (off == processes)
            since = turn;
    }
    return err == 0 && off == processes && since ? add_gap(out, since->at_ns, INT64_MAX, since->reason) : err;
}

int ws_gaps_load(struct ws_store *store, int64_t session_id, int64_t process_id, struct ws_gaps *out)
{
    struct turns t = {.only = process_id};
    size_t processes = 1;
    int err = 0;
    memset(out, 0, sizeof *out);
    if (process_id == 0) {
        processes = 0;
        err = ws_store_each_process(store, session_id, count_process, &processes);
    }
    if (err == 0)
        err = ws_store_each_collection(store, session_id, take_row, &t);
    if (err == 0)
        err = make_gaps(&t, processes, out);
    free(t.at);
    return err;
}

void ws_gaps_free(struct ws_gaps *gaps)
{
    free(gaps->at);
    memset(gaps, 0, sizeof *gaps);
}
