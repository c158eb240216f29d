/* SPDX-License-Identifier: MIT
 * graph.c: graphs by stream capture, and their launches. Building a graph node by node is not served. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

struct rt_graph {
    struct rt_work *work;
    size_t n, cap;
    struct rt_stream *origin; /* the stream whose capture began it, while it lasts */
    bool is_invalid;
};

static void free_graph(struct rt_graph *g)
{
    for (size_t k = 0; g && k < g->n; k++)
        free(g->work[k].params);
    if (g)
        free(g->work);
    free(g);
}

int rt_graph_add(struct rt_graph *g, struct rt_work *w)
{
    if (g->n == g->cap) {
        size_t cap = g->cap ? g->cap * 2 : 16;
        struct rt_work *bigger = realloc(g->work, cap * sizeof *bigger);
        if (!bigger) {
            free(w->params);
            return RT_ErrorMemoryAllocation;
        }
        g->work = bigger;
        g->cap = cap;
    }
    g->work[g->n++] = *w;
    return RT_Success;
}

bool rt_graph_is_capturing(const struct rt_graph *g)
{
    for (const struct rt_stream *s = rt_stream_first(); s; s = s->next)
        if (s->capture == g)
            return true;
    return false;
}

bool rt_graph_capture_blocks_legacy(void)
{
    for (const struct rt_stream *s = rt_stream_first(); s; s = s->next)
        if (s->capture && !(s->flags & 1))
            return true;
    return false;
}

void rt_graph_invalidate_all(void)
{
    for (struct rt_stream *s = rt_stream_first(); s; s = s->next)
        if (s->capture)
            s->capture->is_invalid = true;
}

RT_API(cudaStreamBeginCapture, void *handle, int mode)
{
    bool is_bad;
    struct rt_stream *s;
    struct rt_graph *g;
    int code = rt_enter();
    (void)mode;
    if (code != RT_Success)
        return rt_done(code);
    s = rt_stream_of(handle, &is_bad);
    if (is_bad)
        return rt_fail(RT_ErrorInvalidResourceHandle, "cudaStreamBeginCapture", "the stream does not exist");
    if (!s)
        return rt_fail(RT_ErrorStreamCaptureUnsupported, "cudaStreamBeginCapture",
                       "a default stream cannot be captured");
    if (s->capture)
        return rt_fail(RT_ErrorInvalidValue, "cudaStreamBeginCapture", "the stream is being captured already");
    g = calloc(1, sizeof *g);
    if (!g)
        return rt_done(RT_ErrorMemoryAllocation);
    g->origin = s;
    s->capture = g;
    return rt_done(RT_Success);
}
RT_ALSO(cudaStreamBeginCapture, cudaStreamBeginCapture_ptsz);

RT_API(cudaStreamEndCapture, void *handle, struct rt_graph **out)
{
    bool is_bad;
    const struct rt_stream *s;
    struct rt_graph *g;
    int code = rt_enter();
    s = rt_stream_of(handle, &is_bad);
    g = s ? s->capture : NULL;
    if (!g)
        return rt_fail(RT_ErrorInvalidValue, "cudaStreamEndCapture", "the stream is not being captured");
    if (g->origin != s)
        return rt_fail(RT_ErrorStreamCaptureUnmatched, "cudaStreamEndCapture", "the capture began in another stream");
    for (struct rt_stream *other = rt_stream_first(); other; other = other->next)
        if (other->capture == g)
            other->capture = NULL;
    g->origin = NULL;
    *out = NULL;
    if (g->is_invalid) {
        free_graph(g);
        return rt_fail(RT_ErrorStreamCaptureInvalidated, "cudaStreamEndCapture",
                       "an error happened during the capture");
    }
    *out = g;
    return rt_done(code);
}
RT_ALSO(cudaStreamEndCapture, cudaStreamEndCapture_ptsz);

RT_API(cudaStreamIsCapturing, void *handle, int *status)
{
    bool is_bad;
    const struct rt_stream *s;
    int code = rt_enter();
    s = rt_stream_of(handle, &is_bad);
    *status = !s || !s->capture ? RT_CAPTURE_NONE : s->capture->is_invalid ? RT_CAPTURE_INVALIDATED : RT_CAPTURE_ACTIVE;
    return rt_done(code);
}
RT_ALSO(cudaStreamIsCapturing, cudaStreamIsCapturing_ptsz);

/* An executable graph is a copy: the graph may be destroyed. */
static int instantiate(struct rt_graph **out, const struct rt_graph *g)
{
    struct rt_graph *copy = NULL;
    int code = rt_enter();
    if (code != RT_Success)
        return rt_done(code);
    if (!g || !out)
        return rt_fail(RT_ErrorInvalidValue, "cudaGraphInstantiate", "no graph");
    copy = calloc(1, sizeof *copy);
    for (size_t k = 0; copy && k < g->n && code == RT_Success; k++) {
        struct rt_work w = g->work[k];
        w.params = w.params ? malloc(w.params_bytes + 1) : NULL;
        if (w.params)
            memcpy(w.params, g->work[k].params, w.params_bytes);
        code = g->work[k].params && !w.params ? RT_ErrorMemoryAllocation : rt_graph_add(copy, &w);
    }
    if (!copy || code != RT_Success) {
        free_graph(copy);
        return rt_done(RT_ErrorMemoryAllocation);
    }
    *out = copy;
    return rt_done(RT_Success);
}

RT_API(cudaGraphInstantiate, struct rt_graph **out, const struct rt_graph *g, unsigned long long flags)
{
    (void)flags;
    return instantiate(out, g);
}

RT_API(cudaGraphInstantiateWithFlags, struct rt_graph **out, const struct rt_graph *g, unsigned long long flags)
{
    (void)flags;
    return instantiate(out, g);
}

RT_API(cudaGraphUpload, struct rt_graph *g, void *stream)
{
    (void)g, (void)stream;
    return rt_done(rt_enter());
}
RT_ALSO(cudaGraphUpload, cudaGraphUpload_ptsz);

RT_API(cudaGraphLaunch, const struct rt_graph *g, void *stream)
{
    bool is_bad;
    int code = rt_enter();
    (void)rt_stream_of(stream, &is_bad);
    if (code != RT_Success)
        return rt_done(code);
    if (!g || is_bad)
        return rt_fail(RT_ErrorInvalidResourceHandle, "cudaGraphLaunch", "the %s does not exist",
                       g ? "stream" : "executable graph");
    for (size_t k = 0; k < g->n && code == RT_Success; k++)
        code = rt_work_run(&g->work[k]);
    return rt_done(code);
}
RT_ALSO(cudaGraphLaunch, cudaGraphLaunch_ptsz);

RT_API(cudaGraphDestroy, struct rt_graph *g)
{
    int code = rt_enter();
    free_graph(g);
    return rt_done(code);
}

RT_API(cudaGraphExecDestroy, struct rt_graph *g)
{
    int code = rt_enter();
    free_graph(g);
    return rt_done(code);
}

/* Handles of nodes are positions from 1: good for counting them. */
RT_API(cudaGraphGetNodes, const struct rt_graph *g, void **nodes, size_t *count)
{
    int code = rt_enter();
    for (size_t k = 0; nodes && k < g->n && k < *count; k++)
        nodes[k] = (void *)(uintptr_t)(k + 1);
    *count = g->n;
    return rt_done(code);
}
