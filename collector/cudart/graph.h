/* SPDX-License-Identifier: MIT
 * graph.h: streams as records, and the graphs into which they are captured. Work is kept in the order of submission,
 * which respects every dependency of the capture. */
#ifndef WS_COLLECTOR_CUDART_GRAPH_H
#define WS_COLLECTOR_CUDART_GRAPH_H

#include "rt.h"

struct rt_graph;

struct rt_stream {
    uint32_t magic;
    unsigned flags; /* 1 = does not wait for the legacy stream */
    int priority;
    unsigned long long id;
    struct rt_graph *capture; /* or NULL */
    struct rt_stream *next;
};

struct rt_stream *rt_stream_first(void);
struct rt_stream *rt_stream_of(void *handle, bool *is_bad);
int rt_work_run(const struct rt_work *work);

/* Keep work; takes work->params. An error code. */
int rt_graph_add(struct rt_graph *graph, struct rt_work *work);
bool rt_graph_is_capturing(const struct rt_graph *graph);
/* Whether a blocking stream is being captured, so that the legacy stream must not be used. */
bool rt_graph_capture_blocks_legacy(void);
void rt_graph_invalidate_all(void);

#endif
