/* SPDX-License-Identifier: MIT
 * by_process.h: the processes of a session beside each other: ranks of a job, workers, children. What each did on its
 * GPUs, how long nothing was collected, and how evenly the work is spread.
 * For the terminal (report --by-process), its JSON, and the page: one definition. */
#ifndef WS_SERVER_BY_PROCESS_H
#define WS_SERVER_BY_PROCESS_H

#include "json.h"
#include "report.h"
#include "store.h"

#include <stdio.h>

/* Sums over the GPUs of a process; times in ns. */
struct ws_process_work {
    uint64_t kernels, copies; /* launches and copies that have a time */
    int64_t kernel_ns;        /* summed durations of kernels */
    int64_t busy_ns;          /* union of all work of a GPU, summed over its GPUs */
    int64_t
        window_ns; /* first start to last end of a GPU's work, less what of it nobody knows; summed in the same way */
    int64_t uncollected_ns; /* within the process's life */
    uint32_t gaps, devices;
};

struct ws_by_process {
    const struct ws_session *session; /* lent */
    struct ws_process_work *work;     /* [session->process_count] */
    size_t *order;                    /* the same length: by rank, and then by id */
    double imbalance; /* greatest kernel_ns over the mean of those that ran kernels, less 1; 0 for one */
    size_t busiest;   /* index; meaningless without kernels */
};

/* -WS_ENOMEM, of the store. Free in any case. */
int ws_by_process_load(struct ws_store *store, const struct ws_session *session, struct ws_by_process *out);
void ws_by_process_free(struct ws_by_process *all);

/* The members "processes" and "imbalance" of an open object. */
void ws_by_process_json(struct ws_json *j, const struct ws_by_process *all);
/* A table and a sentence. */
void ws_by_process_text(const struct ws_by_process *all, FILE *out);

#endif
