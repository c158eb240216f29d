/* SPDX-License-Identifier: MIT
 * stream.c: streams and events. Work runs when it is submitted, which is an order that streams allow; a stream that is
 * being captured keeps it in a graph instead (graph.c). Times of events are the host's: the model has none. */
#include "graph.h"

#include "../spool.h"

#include <stdlib.h>
#include <string.h>

#define STREAM_MAGIC 0x77735354u
#define EVENT_MAGIC 0x77734556u

struct event {
    uint32_t magic;
    bool is_recorded;
    unsigned flags;
    int64_t ns;
    struct rt_graph *graph; /* recorded in a stream that was being captured into it */
};

static struct rt_stream *streams;
static unsigned long long stream_ids = 2;

/* --- streams --- */

struct rt_stream *rt_stream_first(void)
{
    return streams;
}

/* The record of a handle; NULL for the default streams, which cannot be captured. *is_bad: no stream of ours. */
struct rt_stream *rt_stream_of(void *handle, bool *is_bad)
{
    *is_bad = false;
    if (!handle || handle == RT_STREAM_LEGACY || handle == RT_STREAM_PER_THREAD)
        return NULL;
    for (struct rt_stream *s = streams; s; s = s->next)
        if (s == handle)
            return s;
    *is_bad = true;
    return NULL;
}

static int run_now(const struct rt_work *w)
{
    switch (w->kind) {
    case RT_WORK_LAUNCH:
        return rt_launch_run(w);
    case RT_WORK_COPY:
        return rt_copy_run(w);
    case RT_WORK_FILL:
        return rt_fill_run(w);
    default:
        w->function_host(w->argument);
        return RT_Success;
    }
}

int rt_work_run(const struct rt_work *w)
{
    return run_now(w);
}

int rt_submit(void *handle, struct rt_work *w)
{
    bool is_bad;
    struct rt_stream *s = rt_stream_of(handle, &is_bad);
    int code;
    if (is_bad) {
        rt_complain("model-call-failed", 1, "check the stream", "%s returned 400 (%s): the stream does not exist",
                    w->call, rt_error_text(RT_ErrorInvalidResourceHandle));
        code = RT_ErrorInvalidResourceHandle;
    } else if (s && s->capture) {
        return rt_graph_add(s->capture, w);
    } else if (!s && rt_graph_capture_blocks_legacy()) {
        rt_graph_invalidate_all();
        code = RT_ErrorStreamCaptureImplicit;
    } else {
        code = run_now(w);
    }
    free(w->params);
    return code;
}

int rt_check_capture(const char *call)
{
    if (!rt_graph_capture_blocks_legacy())
        return RT_Success;
    rt_graph_invalidate_all();
    rt_complain("model-call-failed", 1, "do not wait while a stream is captured", "%s returned 906 (%s)", call,
                rt_error_text(RT_ErrorStreamCaptureImplicit));
    return RT_ErrorStreamCaptureImplicit;
}

static int create(void **out, unsigned flags, int priority)
{
    struct rt_stream *s = calloc(1, sizeof *s);
    int code = rt_enter();
    if (code == RT_Success && !s)
        code = RT_ErrorMemoryAllocation;
    if (code != RT_Success) {
        free(s);
        return rt_done(code);
    }
    s->magic = STREAM_MAGIC;
    s->flags = flags;
    s->priority = priority;
    s->id = ++stream_ids;
    s->next = streams;
    streams = s;
    *out = s;
    return rt_done(RT_Success);
}

RT_API(cudaStreamCreate, void **out)
{
    return create(out, 0, 0);
}

RT_API(cudaStreamCreateWithFlags, void **out, unsigned flags)
{
    return create(out, flags, 0);
}

RT_API(cudaStreamCreateWithPriority, void **out, unsigned flags, int priority)
{
    return create(out, flags, priority);
}

RT_API(cudaStreamDestroy, void *handle)
{
    bool is_bad;
    struct rt_stream *s;
    int code = rt_enter();
    s = rt_stream_of(handle, &is_bad);
    if (!s)
        return rt_fail(RT_ErrorInvalidResourceHandle, "cudaStreamDestroy", "the stream does not exist");
    for (struct rt_stream **at = &streams; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    free(s);
    return rt_done(code);
}

/* Everything was done when it was submitted. */
static int wait(const char *call, void *handle)
{
    bool is_bad;
    struct rt_stream *s;
    int code = rt_enter();
    s = rt_stream_of(handle, &is_bad);
    if (is_bad)
        return rt_fail(RT_ErrorInvalidResourceHandle, call, "the stream does not exist");
    if (s && s->capture)
        return rt_fail(RT_ErrorStreamCaptureUnsupported, call, "the stream is being captured");
    rt_print_flush();
    return rt_done(code);
}

RT_API(cudaStreamSynchronize, void *stream)
{
    return wait("cudaStreamSynchronize", stream);
}
RT_ALSO(cudaStreamSynchronize, cudaStreamSynchronize_ptsz);

RT_API(cudaStreamQuery, void *stream)
{
    return wait("cudaStreamQuery", stream);
}
RT_ALSO(cudaStreamQuery, cudaStreamQuery_ptsz);

RT_API(cudaDeviceSynchronize, void)
{
    int code = rt_enter();
    rt_print_flush();
    return rt_done(code != RT_Success ? code : rt_check_capture("cudaDeviceSynchronize"));
}

RT_API(cudaStreamGetFlags, void *handle, unsigned *flags)
{
    bool is_bad;
    const struct rt_stream *s;
    int code = rt_enter();
    s = rt_stream_of(handle, &is_bad);
    *flags = s ? s->flags : 0;
    return rt_done(code);
}
RT_ALSO(cudaStreamGetFlags, cudaStreamGetFlags_ptsz);

RT_API(cudaStreamGetPriority, void *handle, int *priority)
{
    bool is_bad;
    const struct rt_stream *s;
    int code = rt_enter();
    s = rt_stream_of(handle, &is_bad);
    *priority = s ? s->priority : 0;
    return rt_done(code);
}
RT_ALSO(cudaStreamGetPriority, cudaStreamGetPriority_ptsz);

RT_API(cudaStreamGetId, void *handle, unsigned long long *id)
{
    bool is_bad;
    const struct rt_stream *s;
    int code = rt_enter();
    s = rt_stream_of(handle, &is_bad);
    *id = s ? s->id : handle == RT_STREAM_PER_THREAD ? 2 : 1;
    return rt_done(code);
}
RT_ALSO(cudaStreamGetId, cudaStreamGetId_ptsz);

RT_API(cudaStreamGetDevice, void *handle, int *ordinal)
{
    (void)handle;
    *ordinal = 0;
    return rt_done(rt_enter());
}
RT_ALSO(cudaStreamGetDevice, cudaStreamGetDevice_ptsz);

RT_API(cudaDeviceGetStreamPriorityRange, int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return rt_done(rt_enter());
}

RT_API(cudaStreamAttachMemAsync, void *stream, void *at, size_t bytes, unsigned flags)
{
    (void)stream, (void)at, (void)bytes, (void)flags;
    return rt_done(rt_enter());
}
RT_ALSO(cudaStreamAttachMemAsync, cudaStreamAttachMemAsync_ptsz);

/* --- host functions --- */

RT_API(cudaLaunchHostFunc, void *stream, void (*function)(void *), void *argument)
{
    struct rt_work w = {
        .kind = RT_WORK_CALL, .call = "cudaLaunchHostFunc", .function_host = function, .argument = argument};
    int code = rt_enter();
    return rt_done(code == RT_Success ? rt_submit(stream, &w) : code);
}
RT_ALSO(cudaLaunchHostFunc, cudaLaunchHostFunc_ptsz);

RT_API(cudaStreamAddCallback, void *stream, void (*callback)(void *stream, int status, void *argument), void *argument,
       unsigned flags)
{
    int code = rt_enter();
    (void)flags;
    callback(stream, code, argument);
    return rt_done(code);
}
RT_ALSO(cudaStreamAddCallback, cudaStreamAddCallback_ptsz);

/* --- events --- */

static bool is_event(const struct event *e)
{
    return e && e->magic == EVENT_MAGIC;
}

RT_API(cudaEventCreateWithFlags, void **out, unsigned flags)
{
    struct event *e = calloc(1, sizeof *e);
    int code = rt_enter();
    if (code == RT_Success && !e)
        code = RT_ErrorMemoryAllocation;
    if (code != RT_Success) {
        free(e);
        return rt_done(code);
    }
    e->magic = EVENT_MAGIC;
    e->flags = flags;
    *out = e;
    return rt_done(RT_Success);
}

RT_API(cudaEventCreate, void **out)
{
    return cudaEventCreateWithFlags(out, 0);
}

RT_API(cudaEventDestroy, struct event *e)
{
    int code = rt_enter();
    if (!is_event(e))
        return rt_fail(RT_ErrorInvalidResourceHandle, "cudaEventDestroy", "the event does not exist");
    e->magic = 0;
    free(e);
    return rt_done(code);
}

RT_API(cudaEventRecordWithFlags, struct event *e, void *handle, unsigned flags)
{
    bool is_bad;
    const struct rt_stream *s;
    int code = rt_enter();
    (void)flags;
    s = rt_stream_of(handle, &is_bad);
    if (!is_event(e) || is_bad)
        return rt_fail(RT_ErrorInvalidResourceHandle, "cudaEventRecord", "the %s does not exist",
                       is_bad ? "stream" : "event");
    e->graph = s ? s->capture : NULL;
    e->is_recorded = !e->graph;
    e->ns = ws_now_ns();
    return rt_done(code);
}
RT_ALSO(cudaEventRecordWithFlags, cudaEventRecordWithFlags_ptsz);

RT_API(cudaEventRecord, struct event *e, void *stream)
{
    return cudaEventRecordWithFlags(e, stream, 0);
}
RT_ALSO(cudaEventRecord, cudaEventRecord_ptsz);

static int event_done(const char *call, const struct event *e)
{
    int code = rt_enter();
    if (!is_event(e))
        return rt_fail(RT_ErrorInvalidResourceHandle, call, "the event does not exist");
    if (e->graph)
        return rt_fail(RT_ErrorCapturedEvent, call, "the event was recorded in a captured stream");
    rt_print_flush();
    return rt_done(code);
}

RT_API(cudaEventSynchronize, struct event *e)
{
    return event_done("cudaEventSynchronize", e);
}

RT_API(cudaEventQuery, struct event *e)
{
    return event_done("cudaEventQuery", e);
}

/* A stream that waits for an event of a captured stream is captured into the same graph. */
RT_API(cudaStreamWaitEvent, void *handle, struct event *e, unsigned flags)
{
    bool is_bad;
    struct rt_stream *s;
    int code = rt_enter();
    (void)flags;
    s = rt_stream_of(handle, &is_bad);
    if (!is_event(e) || is_bad)
        return rt_fail(RT_ErrorInvalidResourceHandle, "cudaStreamWaitEvent", "the %s does not exist",
                       is_bad ? "stream" : "event");
    if (s && e->graph && !s->capture && rt_graph_is_capturing(e->graph))
        s->capture = e->graph;
    return rt_done(code);
}
RT_ALSO(cudaStreamWaitEvent, cudaStreamWaitEvent_ptsz);

RT_API(cudaEventElapsedTime, float *ms, const struct event *from, const struct event *to)
{
    int code = rt_enter();
    if (!is_event(from) || !is_event(to) || !from->is_recorded || !to->is_recorded)
        return rt_fail(RT_ErrorInvalidResourceHandle, "cudaEventElapsedTime", "an event was not recorded");
    *ms = (float)(1e-6 * (double)(to->ns - from->ns));
    rt_complain("model-cpu-time", 0, "measure times on a GPU",
                "the program asks for elapsed time: what it gets is CPU time of the model, not the time of a GPU");
    return rt_done(code);
}
