/* SPDX-License-Identifier: MIT
 * fake_cupti.c: a libcupti.so.13 over the fake driver: every call of collector/cupti_api.def, with the habits
 * that were measured on a GPU (pass counter of UserReplay, NaN outside the pass, a crash of KernelReplay where the
 * first session since Enable was one of UserReplay, start 0 of a replayed kernel, error 15 without libnvperf_host, one
 * subscriber), and with checks of the order of calls. Switches, read from the environment when needed:
 *   FAKE_CUPTI_LOG=FILE        one line per violation ("violation: …") and, at exit, one per call ("count NAME N")
 *   FAKE_CUPTI_FAIL=CALL:CODE[:NTH],…   that call answers CODE, always or only the NTH time
 *   FAKE_CUPTI_DELAY=CALL:MS[:NTH],…    that call first sleeps, always or only the NTH time
 *   FAKE_CUPTI_MIX=spoil                after a KernelReplay session every value of UserReplay is NaN
 *   FAKE_CUPTI_VARY=METRIC,…            these metrics are twice as high in ranges 5 to 8, 13 to 16, …
 *   FAKE_CUPTI_NAN=METRIC,…             these metrics read NaN
 *   FAKE_CUPTI_UNKNOWN=METRIC,…         these metrics do not exist on the chip
 *   FAKE_CUPTI_PASSES=N                 passes of any config; else one for 16 metrics
 *   FAKE_CUPTI_SECOND_PASS=METRIC,…     a config with one of these needs a pass more
 *   FAKE_CUPTI_HOLDER=NAME              another tool holds the subscription
 *   FAKE_CUPTI_WATCH=FILE               when FILE appears, one line "on CALLBACKS KINDS PROFILERS SUBSCRIBERS": what is
 *                                       switched on
 *   FAKE_CUPTI_DROP=N                   N records were dropped
 *   FAKE_CUPTI_GRAPHS=stay              graphs are traced for ever, once kernels were (as those that are instantiated
 * then) FAKE_CUPTI_SAMPLES_LOST=N           PC sampling: the hardware drops N samples a launch
 *   FAKE_CUPTI_FOLDER=/tmp/ws-sampled-…  PC sampling: the folder that the code's line table names (22 bytes)
 *   FAKE_CUPTI_MODULE_MS=N              loading or unloading a module takes so long
 * Values are those of fake.h's tables. Nothing of this comes from NVIDIA's library but the declarations. */
#define CUPTI_LIB
#include "fake.h"

#include <cupti.h>
#include <cupti_pcsampling.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The collector takes this for "source = synthetic". */
FAKE_API extern const int ws_fake_cupti;
const int ws_fake_cupti = 1;

/* --- log, faults --- */

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    const char *path = getenv("FAKE_CUPTI_LOG");
    char line[512];
    va_list args;
    int fd, n;
    if (!path || !*path)
        return;
    va_start(args, format);
    n = vsnprintf(line, sizeof line - 1, format, args);
    va_end(args);
    if (n > (int)sizeof line - 2)
        n = (int)sizeof line - 2;
    line[n++] = '\n';
    fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (write(fd, line, (size_t)n) != n)
        abort(); /* a test that cannot log is no test */
    close(fd);
}

struct site {
    const char *call;
    atomic_uint count;
    atomic_flag is_listed;
    struct site *next;
};

static _Atomic(struct site *) sites;
static atomic_int owner_pid;

/* The number after "call:" in a list "call:1,other:2:3"; and the one after a second colon, or 0. */
static bool fault_of(const char *variable, const char *call, int *code, unsigned *nth)
{
    const char *at = getenv(variable);
    size_t length = strlen(call);
    for (; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, call, length) == 0 && at[length] == ':') {
            char *end;
            *code = (int)strtol(at + length + 1, &end, 10);
            *nth = *end == ':' ? (unsigned)strtoul(end + 1, NULL, 10) : 0;
            return true;
        }
    return false;
}

static CUptiResult enter(struct site *site)
{
    unsigned number = atomic_fetch_add(&site->count, 1) + 1;
    int expected = 0;
    int code;
    unsigned nth;
    if (!atomic_flag_test_and_set(&site->is_listed)) {
        site->next = atomic_load(&sites);
        while (!atomic_compare_exchange_weak(&sites, &site->next, site))
            ;
    }
    if (!atomic_compare_exchange_strong(&owner_pid, &expected, (int)getpid()) && expected != (int)getpid())
        note("violation: %s called in a forked child", site->call);
    if (fault_of("FAKE_CUPTI_DELAY", site->call, &code, &nth) && (nth == 0 || nth == number)) {
        struct timespec t = {code / 1000, (long)(code % 1000) * 1000000};
        nanosleep(&t, NULL);
    }
    if (fault_of("FAKE_CUPTI_FAIL", site->call, &code, &nth) && (nth == 0 || nth == number))
        return (CUptiResult)code;
    return CUPTI_SUCCESS;
}

/* First line of every call: count it, and answer what the test wants it to answer. */
#define ENTER(name)                                                                \
    do {                                                                           \
        static struct site site_ = {.call = #name, .is_listed = ATOMIC_FLAG_INIT}; \
        CUptiResult answer_ = enter(&site_);                                       \
        if (answer_ != CUPTI_SUCCESS)                                              \
            return answer_;                                                        \
    } while (0)

#define REFUSE(code, ...)                \
    do {                                 \
        note("violation: " __VA_ARGS__); \
        return code;                     \
    } while (0)

/* structSize and pPriv of a params struct. */
#define CHECK_PARAMS(p, size)                                                                        \
    do {                                                                                             \
        if (!(p) || (p)->structSize != (size) || (p)->pPriv != NULL)                                 \
            REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "%s: wrong structSize or pPriv is set", __func__); \
    } while (0)

__attribute__((destructor)) static void report_counts(void)
{
    if (atomic_load(&owner_pid) != (int)getpid())
        return;
    for (struct site *s = atomic_load(&sites); s; s = s->next)
        note("count %s %u", s->call, atomic_load(&s->count));
}

static bool is_listed(const char *variable, const char *name)
{
    const char *at = getenv(variable);
    size_t length = strlen(name);
    for (; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, name, length) == 0 && (at[length] == 0 || at[length] == ','))
            return true;
    return false;
}

/* --- subscription and callbacks --- */

struct CUpti_Subscriber_st {
    CUpti_CallbackFunc callback;
    void *userdata;
    atomic_bool driver[CUPTI_DRIVER_TRACE_CBID_SIZE];
    atomic_bool resource[CUPTI_CBID_RESOURCE_SIZE];
};

static struct CUpti_Subscriber_st the_subscriber;
static _Atomic(struct CUpti_Subscriber_st *) subscriber;
static atomic_bool has_context; /* there was one */
static _Thread_local bool is_in_callback;

static void on_call(bool is_exit, struct fake_call *call);
static void on_launch(const struct fake_launch *launch);
static void on_copy(const struct fake_copy *copy);
static void on_sync(const struct fake_sync *sync);
static void on_memory(const struct fake_memory *memory);
static void on_context(bool is_created, struct CUctx_st *context);
static void on_module(struct CUctx_st *context);
static void note_module_call(bool is_exit, uint32_t cbid);
static void drop_sampler(const struct CUctx_st *context);

static bool hook_driver(void)
{
    static const struct fake_hooks hooks = {on_call, on_launch, on_copy, on_sync, on_memory, on_context, on_module};
    return fake_cuda_set_hooks(&hooks);
}

static void call_back(struct CUpti_Subscriber_st *s, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    if (is_in_callback)
        return; /* CUPTI does not report what a callback does */
    is_in_callback = true;
    s->callback(s->userdata, domain, id, data);
    is_in_callback = false;
}

static void record_call(const struct fake_call *call);

static void on_call(bool is_exit, struct fake_call *call)
{
    struct CUpti_Subscriber_st *s = atomic_load(&subscriber);
    CUpti_CallbackData data = {.callbackSite = is_exit ? CUPTI_API_EXIT : CUPTI_API_ENTER,
                               .functionName = call->name,
                               .functionParams = call->params,
                               .functionReturnValue = &call->result,
                               .symbolName = call->symbol,
                               .context = call->context,
                               .contextUid = call->context ? call->context->id : 0,
                               .correlationData = &call->correlation_data,
                               .correlationId = call->correlation};
    if (is_exit)
        record_call(call);
    if (is_exit)
        note_module_call(true, call->cbid);
    if (s && atomic_load(&s->driver[call->cbid]))
        call_back(s, CUPTI_CB_DOMAIN_DRIVER_API, call->cbid, &data);
    if (!is_exit)
        note_module_call(false, call->cbid);
}

static void on_context(bool is_created, struct CUctx_st *context)
{
    struct CUpti_Subscriber_st *s = atomic_load(&subscriber);
    CUpti_CallbackId id =
        is_created ? CUPTI_CBID_RESOURCE_CONTEXT_CREATED : CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING;
    CUpti_ResourceData data = {.context = context};
    if (is_created)
        atomic_store(&has_context, true);
    if (s && atomic_load(&s->resource[id]))
        call_back(s, CUPTI_CB_DOMAIN_RESOURCE, id, &data);
    if (!is_created)
        drop_sampler(context);
}

static CUptiResult subscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback, void *userdata)
{
    struct CUpti_Subscriber_st *none = NULL;
    if (!out || !callback)
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "subscription without handle or callback");
    if (getenv("FAKE_CUPTI_HOLDER") || !hook_driver())
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    the_subscriber.callback = callback;
    the_subscriber.userdata = userdata;
    if (!atomic_compare_exchange_strong(&subscriber, &none, &the_subscriber))
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    *out = &the_subscriber;
    if (fake_cuda_had_context()) /* older than its first subscriber */
        atomic_store(&has_context, true);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback, void *userdata)
{
    ENTER(cuptiSubscribe);
    return subscribe(out, callback, userdata);
}

CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback, void *userdata,
                                       CUpti_SubscriberParams *p)
{
    CUptiResult r;
    ENTER(cuptiSubscribe_v2);
    if (!p || p->structSize != CUpti_SubscriberParams_STRUCT_SIZE)
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "cuptiSubscribe_v2: wrong structSize");
    r = subscribe(out, callback, userdata);
    if (r == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && p->oldSubscriberName) {
        const char *holder = getenv("FAKE_CUPTI_HOLDER");
        if (p->oldSubscriberSize < CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN)
            REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "cuptiSubscribe_v2: room for %zu bytes of a name",
                   p->oldSubscriberSize);
        snprintf(p->oldSubscriberName, p->oldSubscriberSize, "CUPTI for %s", holder ? holder : "this process");
    }
    return r;
}

static void check_kinds_off(void);

CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle s)
{
    ENTER(cuptiUnsubscribe);
    if (!s || s != atomic_load(&subscriber))
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "cuptiUnsubscribe without a subscription");
    for (size_t i = 0; i < CUPTI_DRIVER_TRACE_CBID_SIZE; i++)
        atomic_store(&s->driver[i], false);
    for (size_t i = 0; i < CUPTI_CBID_RESOURCE_SIZE; i++)
        atomic_store(&s->resource[i], false);
    check_kinds_off();
    atomic_store(&subscriber, NULL);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle s, CUpti_CallbackDomain domain,
                                         CUpti_CallbackId id)
{
    ENTER(cuptiEnableCallback);
    if (!s || s != atomic_load(&subscriber))
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "cuptiEnableCallback without a subscription");
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && id < CUPTI_DRIVER_TRACE_CBID_SIZE)
        atomic_store(&s->driver[id], enable != 0);
    else if (domain == CUPTI_CB_DOMAIN_RESOURCE && id < CUPTI_CBID_RESOURCE_SIZE)
        atomic_store(&s->resource[id], enable != 0);
    else if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && id < CUPTI_RUNTIME_TRACE_CBID_SIZE)
        return CUPTI_SUCCESS; /* there is no runtime over this driver */
    else
        return CUPTI_ERROR_INVALID_PARAMETER;
    return CUPTI_SUCCESS;
}

/* --- what things are called --- */

CUptiResult CUPTIAPI cuptiGetVersion(uint32_t *version)
{
    ENTER(cuptiGetVersion);
    *version = 130001;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char **text)
{
    static _Thread_local char buffer[48];
    ENTER(cuptiGetResultString);
    snprintf(buffer, sizeof buffer, "FAKE_CUPTI_RESULT_%d", (int)result);
    *text = buffer;
    return CUPTI_SUCCESS;
}

/* Only what a test looks at has a name. */
CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char **name)
{
    ENTER(cuptiGetCallbackName);
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *name = id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel     ? "cuLaunchKernel"
            : id == CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2  ? "cuMemcpyHtoD_v2"
            : id == CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize ? "cuCtxSynchronize"
                                                             : "cuOther";
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetContextId(CUcontext context, uint32_t *id)
{
    ENTER(cuptiGetContextId);
    if (!context)
        return CUPTI_ERROR_INVALID_CONTEXT;
    *id = context->id;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext context, uint32_t *id)
{
    ENTER(cuptiGetDeviceId);
    if (!context)
        return CUPTI_ERROR_INVALID_CONTEXT;
    *id = (uint32_t)context->device;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t is_per_thread, uint32_t *id)
{
    ENTER(cuptiGetStreamIdEx);
    if (!context)
        return CUPTI_ERROR_INVALID_CONTEXT;
    if (stream == CU_STREAM_PER_THREAD || (!stream && is_per_thread))
        *id = context->per_thread_stream->id;
    else if (!stream || stream == CU_STREAM_LEGACY)
        *id = context->default_stream->id;
    else
        *id = stream->id;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *p)
{
    ENTER(cuptiDeviceGetChipName);
    CHECK_PARAMS(p, CUpti_Device_GetChipName_Params_STRUCT_SIZE);
    p->pChipName = "GH100";
    return CUPTI_SUCCESS;
}

/* --- activity --- */

static struct {
    pthread_mutex_t lock;
    _Atomic(CUpti_BuffersCallbackRequestFunc) request; /* may come while the program launches */
    _Atomic(CUpti_BuffersCallbackCompleteFunc) complete;
    atomic_bool is_enabled[CUPTI_ACTIVITY_KIND_COUNT];
    uint8_t *buffer;
    size_t size, used, count, count_max;
    size_t dropped;
    bool has_reported_drop;
} activity = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Whether this thread is inside the client's callback for a full buffer. */
static _Thread_local bool is_completing;
static atomic_flag has_read_while_completing = ATOMIC_FLAG_INIT;

static void give_back(uint8_t *buffer, size_t size, size_t used)
{
    is_completing = true;
    activity.complete(NULL, 0, buffer, size, used);
    is_completing = false;
}

static void check_kinds_off(void)
{
    for (size_t i = 0; i < CUPTI_ACTIVITY_KIND_COUNT; i++)
        if (activity.is_enabled[i])
            note("violation: unsubscribed with activity kind %zu on: its records would go to nobody", i);
}

CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                    CUpti_BuffersCallbackCompleteFunc complete)
{
    ENTER(cuptiActivityRegisterCallbacks);
    if (!request || !complete)
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "cuptiActivityRegisterCallbacks without callbacks");
    activity.complete = complete;
    activity.request = request;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind)
{
    ENTER(cuptiActivityEnable);
    if (kind >= CUPTI_ACTIVITY_KIND_COUNT)
        return CUPTI_ERROR_INVALID_KIND;
    if (!activity.request)
        REFUSE(CUPTI_ERROR_NOT_INITIALIZED, "cuptiActivityEnable before cuptiActivityRegisterCallbacks");
    /* Enabling both is documented as wrong: kernels would be serialised. */
    if (kind == CUPTI_ACTIVITY_KIND_KERNEL && activity.is_enabled[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL])
        REFUSE(CUPTI_ERROR_NOT_COMPATIBLE, "KERNEL and CONCURRENT_KERNEL together");
    activity.is_enabled[kind] = true;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind)
{
    ENTER(cuptiActivityDisable);
    if (kind >= CUPTI_ACTIVITY_KIND_COUNT)
        return CUPTI_ERROR_INVALID_KIND;
    activity.is_enabled[kind] = false;
    return CUPTI_SUCCESS;
}

static size_t record_size(CUpti_ActivityKind kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_DRIVER:
        return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
        return sizeof(CUpti_ActivityMemory4);
    default:
        return 0;
    }
}

CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    uint8_t *next;
    ENTER(cuptiActivityGetNextRecord);
    if (!buffer || !record)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (is_completing && !atomic_flag_test_and_set(&has_read_while_completing))
        note("read while completing");
    next = *record ? (uint8_t *)*record + record_size((*record)->kind) : buffer;
    if (next >= buffer + valid) {
        *record = NULL;
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    }
    *record = (CUpti_Activity *)(void *)next;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped)
{
    const char *extra = getenv("FAKE_CUPTI_DROP");
    ENTER(cuptiActivityGetNumDroppedRecords);
    (void)context;
    (void)stream;
    pthread_mutex_lock(&activity.lock);
    *dropped = activity.dropped;
    activity.dropped = 0;
    if (extra && !activity.has_reported_drop)
        *dropped += strtoul(extra, NULL, 10);
    activity.has_reported_drop = true;
    pthread_mutex_unlock(&activity.lock);
    return CUPTI_SUCCESS;
}

/* Takes the present buffer away; the caller gives it back to the client outside the lock. */
static bool detach_buffer(uint8_t **buffer, size_t *size, size_t *used)
{
    *buffer = activity.buffer;
    *size = activity.size;
    *used = activity.used;
    activity.buffer = NULL;
    activity.used = activity.size = activity.count = 0;
    return *buffer != NULL;
}

/* A buffer of the client's, unless another thread was quicker. Called without the lock. */
static void attach_buffer(void)
{
    uint8_t *buffer = NULL;
    size_t size = 0;
    size_t count_max = 0;
    activity.request(&buffer, &size, &count_max);
    if (!buffer)
        return;
    if (((uintptr_t)buffer & 7) != 0)
        note("violation: activity buffer is not aligned to 8 bytes");
    pthread_mutex_lock(&activity.lock);
    if (!activity.buffer) {
        activity.buffer = buffer;
        activity.size = size;
        activity.count_max = count_max;
        buffer = NULL;
    }
    pthread_mutex_unlock(&activity.lock);
    if (buffer)
        give_back(buffer, size, 0);
}

static void add_record(const void *record, size_t length)
{
    uint8_t *full = NULL;
    size_t full_size;
    size_t full_used;
    pthread_mutex_lock(&activity.lock);
    if (activity.buffer &&
        (activity.size - activity.used < length || (activity.count_max && activity.count == activity.count_max)))
        (void)detach_buffer(&full, &full_size, &full_used);
    if (!activity.buffer) {
        pthread_mutex_unlock(&activity.lock);
        if (full)
            give_back(full, full_size, full_used);
        attach_buffer();
        pthread_mutex_lock(&activity.lock);
    }
    if (activity.buffer && activity.size - activity.used >= length) {
        memcpy(activity.buffer + activity.used, record, length);
        activity.used += length;
        activity.count++;
    } else {
        activity.dropped++;
    }
    pthread_mutex_unlock(&activity.lock);
}

CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag)
{
    uint8_t *buffer;
    size_t size;
    size_t used;
    bool has_any;
    ENTER(cuptiActivityFlushAll);
    if (!activity.request)
        REFUSE(CUPTI_ERROR_NOT_INITIALIZED, "cuptiActivityFlushAll before cuptiActivityRegisterCallbacks");
    pthread_mutex_lock(&activity.lock);
    has_any = (activity.used > 0 || (flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)) && detach_buffer(&buffer, &size, &used);
    pthread_mutex_unlock(&activity.lock);
    if (has_any)
        give_back(buffer, size, used);
    return CUPTI_SUCCESS;
}

static void record_kernel(const struct fake_launch *l, bool is_replayed)
{
    CUpti_ActivityKernel10 k = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                .registersPerThread = (uint16_t)l->kernel->regs,
                                .deviceId = (uint32_t)l->context->device,
                                .contextId = l->context->id,
                                .streamId = l->stream_id,
                                .gridX = (int32_t)l->grid[0],
                                .gridY = (int32_t)l->grid[1],
                                .gridZ = (int32_t)l->grid[2],
                                .blockX = (int32_t)l->block[0],
                                .blockY = (int32_t)l->block[1],
                                .blockZ = (int32_t)l->block[2],
                                .staticSharedMemory = (int32_t)l->kernel->static_smem,
                                .dynamicSharedMemory = (int32_t)l->dynamic_smem,
                                .localMemoryPerThread = l->kernel->local_bytes,
                                .correlationId = l->correlation,
                                .name = l->kernel->name,
                                .launchType = l->is_cooperative ? 1 : 0,
                                .sharedMemoryExecuted = 32768,
                                .graphNodeId = l->graph_node,
                                .graphId = l->graph_id,
                                .clusterX = l->cluster[0],
                                .clusterY = l->cluster[1],
                                .clusterZ = l->cluster[2]};
    if (!is_replayed) {
        k.start = l->start_ns;
        k.end = l->end_ns;
    }
    if (activity.is_enabled[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] ||
        (l->graph_node != 0 && activity.request && getenv("FAKE_CUPTI_GRAPHS")))
        add_record(&k, sizeof k);
}

static void record_call(const struct fake_call *call)
{
    CUpti_ActivityAPI a = {.kind = CUPTI_ACTIVITY_KIND_DRIVER,
                           .cbid = call->cbid,
                           .start = call->start_ns,
                           .end = call->end_ns,
                           .processId = (uint32_t)getpid(),
                           .threadId = (uint32_t)gettid(),
                           .correlationId = call->correlation,
                           .returnValue = call->result};
    if (activity.is_enabled[CUPTI_ACTIVITY_KIND_DRIVER] && !is_in_callback)
        add_record(&a, sizeof a);
}

static void on_sync(const struct fake_sync *s)
{
    CUpti_ActivitySynchronization2 y = {.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                        .type = s->is_context ? CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE
                                                              : CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE,
                                        .start = s->start_ns,
                                        .end = s->end_ns,
                                        .correlationId = s->correlation,
                                        .contextId = s->context->id,
                                        .streamId = s->is_context ? (uint32_t)CUPTI_SYNCHRONIZATION_INVALID_VALUE
                                                                  : s->stream_id};
    if (activity.is_enabled[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION])
        add_record(&y, sizeof y);
}

static void on_memory(const struct fake_memory *m)
{
    CUpti_ActivityMemory4 r = {.kind = CUPTI_ACTIVITY_KIND_MEMORY2,
                               .memoryOperationType = m->is_release ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
                                                                    : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION,
                               .memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                               .correlationId = m->correlation,
                               .address = m->address,
                               .bytes = m->bytes,
                               .timestamp = m->time_ns,
                               .processId = (uint32_t)getpid(),
                               .deviceId = (uint32_t)m->context->device,
                               .contextId = m->context->id};
    if (activity.is_enabled[CUPTI_ACTIVITY_KIND_MEMORY2])
        add_record(&r, sizeof r);
}

/* There is no unified memory here. */
CUptiResult CUPTIAPI cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig *config,
                                                                uint32_t count)
{
    ENTER(cuptiActivityConfigureUnifiedMemoryCounter);
    if (!atomic_load(&has_context))
        REFUSE(CUPTI_ERROR_NOT_READY, "unified memory configured before there is a context");
    return config && count > 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

static void record_memset(const struct fake_copy *c)
{
    CUpti_ActivityMemset4 m = {.kind = CUPTI_ACTIVITY_KIND_MEMSET,
                               .value = c->memset_value,
                               .bytes = c->bytes,
                               .start = c->start_ns,
                               .end = c->end_ns,
                               .deviceId = (uint32_t)c->context->device,
                               .contextId = c->context->id,
                               .streamId = c->stream_id,
                               .correlationId = c->correlation,
                               .memoryKind = c->dst_kind};
    if (activity.is_enabled[CUPTI_ACTIVITY_KIND_MEMSET])
        add_record(&m, sizeof m);
}

static void on_copy(const struct fake_copy *c)
{
    CUpti_ActivityMemcpy6 m = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                               .copyKind = c->copy_kind,
                               .srcKind = c->src_kind,
                               .dstKind = c->dst_kind,
                               .flags = c->is_async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0,
                               .bytes = c->bytes,
                               .start = c->start_ns,
                               .end = c->end_ns,
                               .deviceId = (uint32_t)c->context->device,
                               .contextId = c->context->id,
                               .streamId = c->stream_id,
                               .correlationId = c->correlation};
    if (c->is_memset)
        record_memset(c);
    else if (activity.is_enabled[CUPTI_ACTIVITY_KIND_MEMCPY])
        add_record(&m, sizeof m);
}

/* --- profiler host: metrics and config images --- */

/* A config image is {magic, passes, metrics, bytes of names}, then the names with their NULs. */
#define CONFIG_MAGIC 0x46434647u
struct config {
    uint32_t magic, passes, metric_count, name_bytes;
    char names[];
};

struct CUpti_Profiler_Host_Object {
    bool is_spoilt; /* an unknown metric was added: CUPTI crashes on the next call */
    uint32_t metric_count;
    size_t name_bytes;
    char *names;
};

static atomic_bool is_profiler_ready;

CUptiResult CUPTIAPI cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *p)
{
    ENTER(cuptiProfilerInitialize);
    CHECK_PARAMS(p, CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
    if (!fake_cuda_is_initialized())
        return CUPTI_ERROR_UNKNOWN;
    atomic_store(&is_profiler_ready, true);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params *p)
{
    enum { IMAGE_BYTES = 96 };
    ENTER(cuptiProfilerGetCounterAvailability);
    CHECK_PARAMS(p, CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE);
    if (!atomic_load(&is_profiler_ready))
        REFUSE(CUPTI_ERROR_NOT_INITIALIZED, "counter availability before cuptiProfilerInitialize");
    if (p->pCounterAvailabilityImage) {
        if (p->counterAvailabilityImageSize < IMAGE_BYTES)
            REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "counter availability image too small");
        memset(p->pCounterAvailabilityImage, 0xA5, IMAGE_BYTES);
    }
    p->counterAvailabilityImageSize = IMAGE_BYTES;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *p)
{
    ENTER(cuptiProfilerHostInitialize);
    CHECK_PARAMS(p, CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE);
    if (!dlsym(RTLD_DEFAULT, "ws_fake_nvperf_host"))
        return CUPTI_ERROR_NOT_INITIALIZED; /* as measured: it must be open, and globally */
    if (!p->pChipName || strcmp(p->pChipName, "GH100") != 0)
        return CUPTI_ERROR_INVALID_PARAMETER;
    p->pHostObject = calloc(1, sizeof *p->pHostObject);
    return p->pHostObject ? CUPTI_SUCCESS : CUPTI_ERROR_OUT_OF_MEMORY;
}

CUptiResult CUPTIAPI cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params *p)
{
    ENTER(cuptiProfilerHostDeinitialize);
    CHECK_PARAMS(p, CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE);
    free(p->pHostObject->names);
    free(p->pHostObject);
    return CUPTI_SUCCESS;
}

/* Unit prefixes of the range profiler's names. */
static bool is_metric(const char *name)
{
    static const char *const units[] = {"sm__",  "smsp__", "l1tex__", "lts__",   "dram__", "gpu__",
                                        "gpc__", "idc__",  "tpc__",   "dramc__", "pcie__", "gr__"};
    const char *triage = strstr(name, ".TriageCompute.");
    if (is_listed("FAKE_CUPTI_UNKNOWN", name) || strchr(name, '.') == NULL)
        return false;
    name = triage ? triage + strlen(".TriageCompute.") : name;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strncmp(name, units[i], strlen(units[i])) == 0)
            return true;
    return false;
}

CUptiResult CUPTIAPI cuptiProfilerHostGetMetricProperties(CUpti_Profiler_Host_GetMetricProperties_Params *p)
{
    ENTER(cuptiProfilerHostGetMetricProperties);
    CHECK_PARAMS(p, CUpti_Profiler_Host_GetMetricProperties_Params_STRUCT_SIZE);
    if (!is_metric(p->pMetricName))
        return CUPTI_ERROR_INVALID_METRIC_NAME;
    p->pDescription = "a metric of the fake";
    p->pHwUnit = p->pDimUnit = "";
    p->metricType = CUPTI_METRIC_TYPE_COUNTER;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *p)
{
    CUpti_Profiler_Host_Object *host;
    ENTER(cuptiProfilerHostConfigAddMetrics);
    CHECK_PARAMS(p, CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE);
    host = p->pHostObject;
    for (size_t i = 0; i < p->numMetrics; i++) {
        size_t n = strlen(p->ppMetricNames[i]) + 1;
        char *grown;
        if (!is_metric(p->ppMetricNames[i])) {
            host->is_spoilt = true;
            return CUPTI_ERROR_INVALID_PARAMETER;
        }
        grown = realloc(host->names, host->name_bytes + n);
        if (!grown)
            return CUPTI_ERROR_OUT_OF_MEMORY;
        host->names = grown;
        memcpy(grown + host->name_bytes, p->ppMetricNames[i], n);
        host->name_bytes += n;
        host->metric_count++;
    }
    return CUPTI_SUCCESS;
}

static CUptiResult check_host(const CUpti_Profiler_Host_Object *host, const char *call)
{
    if (host->is_spoilt)
        REFUSE(CUPTI_ERROR_UNKNOWN, "%s after an unknown metric: CUPTI crashes here", call);
    if (host->metric_count == 0)
        REFUSE(CUPTI_ERROR_INVALID_OPERATION, "%s without a metric", call);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params *p)
{
    CUptiResult r;
    ENTER(cuptiProfilerHostGetConfigImageSize);
    CHECK_PARAMS(p, CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE);
    r = check_host(p->pHostObject, "cuptiProfilerHostGetConfigImageSize");
    if (r == CUPTI_SUCCESS)
        p->configImageSize = sizeof(struct config) + p->pHostObject->name_bytes;
    return r;
}

CUptiResult CUPTIAPI cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params *p)
{
    const CUpti_Profiler_Host_Object *host;
    struct config *c;
    const char *passes = getenv("FAKE_CUPTI_PASSES");
    CUptiResult r;
    ENTER(cuptiProfilerHostGetConfigImage);
    CHECK_PARAMS(p, CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE);
    host = p->pHostObject;
    r = check_host(host, "cuptiProfilerHostGetConfigImage");
    if (r != CUPTI_SUCCESS)
        return r;
    if (!p->pConfigImage || p->configImageSize < sizeof *c + host->name_bytes)
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "config image too small");
    c = (struct config *)(void *)p->pConfigImage;
    c->magic = CONFIG_MAGIC;
    c->passes = passes ? (uint32_t)strtoul(passes, NULL, 10) : (host->metric_count + 15) / 16;
    for (const char *at = host->names; at < host->names + host->name_bytes; at += strlen(at) + 1)
        if (is_listed("FAKE_CUPTI_SECOND_PASS", at)) {
            c->passes++;
            break;
        }
    c->metric_count = host->metric_count;
    c->name_bytes = (uint32_t)host->name_bytes;
    memcpy(c->names, host->names, host->name_bytes);
    return CUPTI_SUCCESS;
}

static const struct config *config_of(const uint8_t *image, size_t size)
{
    const struct config *c = (const struct config *)(const void *)image;
    bool is_good = image && size >= sizeof *c && c->magic == CONFIG_MAGIC && size >= sizeof *c + c->name_bytes;
    return is_good ? c : NULL;
}

CUptiResult CUPTIAPI cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *p)
{
    const struct config *c;
    ENTER(cuptiProfilerHostGetNumOfPasses);
    CHECK_PARAMS(p, CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE);
    c = config_of(p->pConfigImage, p->configImageSize);
    if (!c)
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "passes of something that is no config image");
    p->numOfPasses = c->passes;
    return CUPTI_SUCCESS;
}

/* --- range profiler --- */

#define DATA_MAGIC 0x46444154u
#define ALL_PASSES UINT32_MAX

/* A counter-data image. */
struct data {
    uint32_t magic, range_max, range_count, passes;
    size_t size;
    uint32_t pass; /* whose metrics are valid; ALL_PASSES after a replay, and then those of `from` and later */
    uint32_t from;
    uint32_t session;
    bool is_spoilt;
    bool is_patched; /* a launch that ran once was traced as well: its SASS counts read 0 */
    const struct config *config;
    struct fake_launch range[]; /* [range_max] */
};

struct CUpti_RangeProfiler_Object {
    struct CUctx_st *context;
    struct CUpti_RangeProfiler_Object *next;
    bool has_size, is_started, is_stopped;
    const uint8_t *first_config; /* the one that counts since Enable */
    const struct config *config;
    struct data *data;
    CUpti_ProfilerReplayMode mode;
    uint32_t pass; /* UserReplay advances it at every Stop, KernelReplay begins with it and leaves 0 */
    bool was_replayed, was_rotated_first;
    uint32_t session;
    uint32_t served_pass, served_from;
    size_t range_max;
    uint32_t range_count, dropped;
    bool is_patched;
    struct fake_launch range[4];
};

static pthread_mutex_t profiler_lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUpti_RangeProfiler_Object *profilers;
static bool is_sampling_anywhere(void);

CUptiResult CUPTIAPI cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params *p)
{
    struct CUpti_RangeProfiler_Object *o;
    ENTER(cuptiRangeProfilerEnable);
    CHECK_PARAMS(p, CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE);
    if (!atomic_load(&is_profiler_ready))
        REFUSE(CUPTI_ERROR_NOT_INITIALIZED, "Enable before cuptiProfilerInitialize");
    if (!p->ctx)
        REFUSE(CUPTI_ERROR_INVALID_CONTEXT, "Enable without a context");
    o = calloc(1, sizeof *o);
    if (!o)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    o->context = p->ctx;
    pthread_mutex_lock(&profiler_lock);
    for (struct CUpti_RangeProfiler_Object *other = profilers; other; other = other->next)
        if (other->context == p->ctx)
            note("violation: Enable twice on a context");
    if (is_sampling_anywhere())
        note("violation: range profiler and PC sampling in one process");
    o->next = profilers;
    profilers = o;
    pthread_mutex_unlock(&profiler_lock);
    p->pRangeProfilerObject = o;
    return CUPTI_SUCCESS;
}

/* Whether a handle is one of ours: what was disabled is not. */
static bool is_enabled(const struct CUpti_RangeProfiler_Object *wanted)
{
    bool is_there = false;
    pthread_mutex_lock(&profiler_lock);
    for (const struct CUpti_RangeProfiler_Object *o = profilers; o; o = o->next)
        is_there |= o == wanted;
    pthread_mutex_unlock(&profiler_lock);
    return is_there;
}

#define CHECK_ENABLED(o)                                                          \
    do {                                                                          \
        if (!is_enabled(o))                                                       \
            REFUSE(CUPTI_ERROR_INVALID_OPERATION, "%s without Enable", __func__); \
    } while (0)

CUptiResult CUPTIAPI cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params *p)
{
    ENTER(cuptiRangeProfilerDisable);
    CHECK_PARAMS(p, CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
    CHECK_ENABLED(p->pRangeProfilerObject);
    if (p->pRangeProfilerObject->is_started)
        note("violation: Disable between Start and Stop");
    pthread_mutex_lock(&profiler_lock);
    for (struct CUpti_RangeProfiler_Object **at = &profilers; *at; at = &(*at)->next)
        if (*at == p->pRangeProfilerObject) {
            *at = (*at)->next;
            break;
        }
    pthread_mutex_unlock(&profiler_lock);
    free(p->pRangeProfilerObject);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params *p)
{
    ENTER(cuptiRangeProfilerGetCounterDataSize);
    CHECK_PARAMS(p, CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE);
    CHECK_ENABLED(p->pRangeProfilerObject);
    if (!p->pMetricNames || p->numMetrics == 0 || p->maxNumOfRanges == 0 || p->maxNumRangeTreeNodes < p->maxNumOfRanges)
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "GetCounterDataSize of nothing");
    p->pRangeProfilerObject->has_size = true;
    p->counterDataSize = sizeof(struct data) + p->maxNumOfRanges * sizeof(struct fake_launch);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI
cuptiRangeProfilerCounterDataImageInitialize(CUpti_RangeProfiler_CounterDataImage_Initialize_Params *p)
{
    struct data *d;
    ENTER(cuptiRangeProfilerCounterDataImageInitialize);
    CHECK_PARAMS(p, CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE);
    CHECK_ENABLED(p->pRangeProfilerObject);
    if (!p->pCounterData || p->counterDataSize < sizeof *d + sizeof(struct fake_launch))
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "counter data image too small");
    if (p->pRangeProfilerObject->is_started)
        note("violation: counter data image initialised between Start and Stop");
    d = (struct data *)(void *)p->pCounterData;
    memset(d, 0, p->counterDataSize);
    d->magic = DATA_MAGIC;
    d->size = p->counterDataSize;
    d->range_max = (uint32_t)((p->counterDataSize - sizeof *d) / sizeof d->range[0]);
    return CUPTI_SUCCESS;
}

static struct data *data_of(const uint8_t *image, size_t size)
{
    struct data *d = (struct data *)(uintptr_t)image;
    return image && size >= sizeof *d && d->magic == DATA_MAGIC && size >= d->size ? d : NULL;
}

CUptiResult CUPTIAPI cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params *p)
{
    struct CUpti_RangeProfiler_Object *o;
    ENTER(cuptiRangeProfilerSetConfig);
    CHECK_PARAMS(p, CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
    o = p->pRangeProfilerObject;
    CHECK_ENABLED(o);
    if (o->is_started)
        REFUSE(CUPTI_ERROR_INVALID_OPERATION, "SetConfig between Start and Stop");
    if (!o->has_size)
        REFUSE(CUPTI_ERROR_UNKNOWN, "SetConfig without GetCounterDataSize: CUPTI crashes here");
    o->config = config_of(p->pConfig, p->configSize);
    o->data = data_of(p->pCounterDataImage, p->counterDataImageSize);
    if (!o->config || !o->data)
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "SetConfig with a bad image");
    if (p->range != CUPTI_AutoRange || p->numNestingLevels != 1 || p->minNestingLevel != 1 ||
        p->targetNestingLevel != 0)
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "SetConfig: AutoRange wants nesting 1/1, target 0");
    if (p->replayMode != CUPTI_KernelReplay && p->replayMode != CUPTI_UserReplay)
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "SetConfig: replay mode %d", (int)p->replayMode);
    if (p->maxRangesPerPass == 0 || p->maxRangesPerPass > sizeof o->range / sizeof o->range[0])
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "SetConfig: %zu ranges a pass", p->maxRangesPerPass);
    if (!o->first_config)
        o->first_config = p->pConfig;
    else if (o->first_config != p->pConfig)
        note("violation: config switched by SetConfig: all its values would be NaN");
    o->data->is_spoilt = o->first_config != p->pConfig;
    o->data->config = o->config;
    o->mode = p->replayMode;
    o->range_max = p->maxRangesPerPass;
    note("config %s", o->mode == CUPTI_UserReplay ? "user" : "kernel");
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params *p)
{
    struct CUpti_RangeProfiler_Object *o;
    ENTER(cuptiRangeProfilerStart);
    CHECK_PARAMS(p, CUpti_RangeProfiler_Start_Params_STRUCT_SIZE);
    o = p->pRangeProfilerObject;
    CHECK_ENABLED(o);
    if (!o->config)
        REFUSE(CUPTI_ERROR_INVALID_OPERATION, "Start without SetConfig");
    if (o->is_started)
        REFUSE(CUPTI_ERROR_INVALID_OPERATION, "Start twice");
    if (o->mode == CUPTI_KernelReplay && o->was_rotated_first) {
        note("violation: KernelReplay after a first session of UserReplay: CUPTI crashes in the launch");
        abort();
    }
    pthread_mutex_lock(&profiler_lock);
    if (o->session == 0)
        o->was_rotated_first = o->mode == CUPTI_UserReplay;
    o->is_started = true;
    o->is_stopped = false;
    o->range_count = o->dropped = 0;
    o->is_patched = o->mode == CUPTI_UserReplay && activity.is_enabled[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL];
    pthread_mutex_unlock(&profiler_lock);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params *p)
{
    struct CUpti_RangeProfiler_Object *o;
    ENTER(cuptiRangeProfilerStop);
    CHECK_PARAMS(p, CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
    o = p->pRangeProfilerObject;
    CHECK_ENABLED(o);
    if (!o->is_started)
        REFUSE(CUPTI_ERROR_INVALID_OPERATION, "Stop without Start");
    pthread_mutex_lock(&profiler_lock);
    o->is_started = false;
    o->is_stopped = true;
    p->isAllPassSubmitted = 1;
    o->served_pass = ALL_PASSES;
    o->session++;
    if (o->mode == CUPTI_KernelReplay) {
        o->served_from = o->pass;
        o->pass = 0;
        o->was_replayed = true;
    } else {
        /* One counter for the whole life of the object: what SetConfig said is ignored. */
        o->served_pass = o->pass;
        o->pass = (o->pass + 1) % o->config->passes;
        p->isAllPassSubmitted = o->pass == 0;
    }
    p->passIndex = o->pass;
    p->targetNestingLevel = 0;
    pthread_mutex_unlock(&profiler_lock);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params *p)
{
    struct CUpti_RangeProfiler_Object *o;
    struct data *d;
    ENTER(cuptiRangeProfilerDecodeData);
    CHECK_PARAMS(p, CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE);
    o = p->pRangeProfilerObject;
    CHECK_ENABLED(o);
    if (!o->is_stopped)
        REFUSE(CUPTI_ERROR_INVALID_OPERATION, "DecodeData without Stop");
    d = o->data;
    d->range_count = o->range_count < d->range_max ? o->range_count : d->range_max;
    memcpy(d->range, o->range, d->range_count * sizeof d->range[0]);
    d->pass = o->served_pass;
    d->from = o->served_from;
    d->session = o->session;
    if (o->was_replayed && o->mode == CUPTI_UserReplay && getenv("FAKE_CUPTI_MIX"))
        d->is_spoilt = true;
    d->is_patched = o->is_patched;
    d->passes = o->config->passes;
    p->numOfRangeDropped = o->dropped;
    if (o->dropped > 0)
        note("violation: %u foreign launches inside a range", o->dropped);
    o->is_stopped = false;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params *p)
{
    const struct data *d;
    ENTER(cuptiRangeProfilerGetCounterDataInfo);
    CHECK_PARAMS(p, CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE);
    d = data_of(p->pCounterDataImage, p->counterDataImageSize);
    if (!d)
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "GetCounterDataInfo of something else");
    p->numTotalRanges = d->range_count;
    return CUPTI_SUCCESS;
}

#include "fake_pm.h"

/* Which pass collects a metric: they are dealt out in turn. Metrics that were not configured: none. */
static bool is_in_pass(const struct data *d, const char *metric)
{
    const char *at = d->config->names;
    for (uint32_t i = 0; i < d->config->metric_count; i++, at += strlen(at) + 1)
        if (strcmp(at, metric) == 0)
            return d->pass == ALL_PASSES ? i % d->passes >= d->from : i % d->passes == d->pass;
    note("violation: value wanted of a metric that was not configured: %s", metric);
    return false;
}

static double value_of(const struct fake_launch *l, const char *metric)
{
    for (const struct fake_count *c = l->kernel->counts; c && c->metric; c++)
        if (strcmp(c->metric, metric) == 0)
            return c->value;
    /* The profiler's own clock reads too long (1.5 to 3.3 µs on a GPU). */
    if (strcmp(metric, "gpu__time_duration.sum") == 0)
        return (double)l->kernel->duration_ns + 2000.0;
    return 0.0;
}

CUptiResult CUPTIAPI cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *p)
{
    const struct data *d;
    const struct pm_data *samples;
    ENTER(cuptiProfilerHostEvaluateToGpuValues);
    CHECK_PARAMS(p, CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE);
    samples = pm_data_of(p->pCounterDataImage, p->counterDataImageSize);
    if (samples && p->pHostObject)
        return pm_evaluate(samples, p);
    d = data_of(p->pCounterDataImage, p->counterDataImageSize);
    if (!d || !p->pHostObject)
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "evaluation of something else");
    if (p->rangeIndex >= d->range_count)
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "range %zu of %u", p->rangeIndex, d->range_count);
    for (size_t i = 0; i < p->numMetrics; i++) {
        const char *metric = p->ppMetricNames[i];
        bool is_valid = !d->is_spoilt && is_in_pass(d, metric) && !is_listed("FAKE_CUPTI_NAN", metric);
        if (!is_valid)
            p->pMetricValues[i] = (double)NAN;
        else if (d->is_patched && strstr(metric, "__sass_"))
            p->pMetricValues[i] = 0.0; /* as measured */
        else
            p->pMetricValues[i] = value_of(&d->range[p->rangeIndex], metric) *
                                  (is_listed("FAKE_CUPTI_VARY", metric) && (d->session - 1) / 4 % 2 ? 2 : 1);
    }
    return CUPTI_SUCCESS;
}

/* --- PC sampling: the same samples with every launch --- */

/* sampled.cubin, which the line below puts in here: 9184 bytes of nvcc's. */
__asm__(".section .rodata\n.balign 8\nfake_cubin:\n.incbin \"tests/fake_cupti/sampled.cubin\"\nfake_cubin_end:\n.byte "
        "0\n.text\n");
extern const char fake_cubin[] __attribute__((visibility("hidden")));
extern const char fake_cubin_end[] __attribute__((visibility("hidden")));
#define FOLDER "/tmp/ws-sampled-000000"

static const char *const reasons[] = {
    "barrier",          "branch_resolving",   "dispatch_stall",   "drain",        "imc_miss",     "lg_throttle",
    "long_scoreboard",  "math_pipe_throttle", "membar",           "mio_throttle", "misc",         "no_instructions",
    "not_selected",     "selected",           "short_scoreboard", "sleeping",     "tex_throttle", "wait",
    "warpgroup_arrive",
};
#define REASONS (sizeof reasons / sizeof *reasons)
#define REASON_FIRST 1 /* CUPTI's indices need not begin at 0 */

/* What one launch leaves behind. Lines of sampled.cu: 0xf0 10 (inlined at 17), 0x110 17, 0x120 18, 0x130 and 0x150 19.
 */
static const struct fake_sample {
    const char *kernel;
    uint32_t pc;
    const char *reason;
    uint32_t samples, not_issued;
} fake_samples[] = {
    {"_Z9transposePKfPf", 0x0f0, "long_scoreboard", 30, 25},
    {"_Z9transposePKfPf", 0x110, "mio_throttle", 6, 4},
    {"_Z9transposePKfPf", 0x120, "barrier", 20, 19},
    {"_Z9transposePKfPf", 0x130, "mio_throttle", 40, 30},
    {"_Z9transposePKfPf", 0x130, "selected", 4, 0},
    {"_Z9transposePKfPf", 0x150, "short_scoreboard", 100, 90},
    {"_Z6vecaddPKfS0_Pf", 0x010, "no_instructions", 8, 8},
    {"_Z6vecaddPKfS0_Pf", 0x040, "selected", 2, 0},
    {"_Z6vecaddPKfS0_Pf", 0x0e0, "long_scoreboard", 50, 45},
    {"_Z5scaleIfEvPT_", 0x000, "wait", 5, 2}, /* of code that is in no module we are told of */
};
#define SAMPLES (sizeof fake_samples / sizeof *fake_samples)
#define OTHER_SAMPLES 7 /* a launch, of kernels that are not the program's */
#define UNKNOWN_CRC 0x5ca1eu

static struct sampler {
    struct CUctx_st *context;    /* NULL = free */
    bool is_configured, is_gone; /* gone: its context was destroyed */
    uint32_t period;
    CUpti_PCSamplingData *late;
    uint64_t launches[SAMPLES], late_launches[SAMPLES]; /* decoded, and not yet */
    uint64_t other, lost;
} samplers[16];
static pthread_mutex_t sampling_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint module_calls;

static char *cubin(size_t *size)
{
    static char copy[16384];
    const char *folder = getenv("FAKE_CUPTI_FOLDER");
    char *at;
    *size = (size_t)(fake_cubin_end - fake_cubin);
    if (*size > sizeof copy)
        abort();
    memcpy(copy, fake_cubin, *size);
    if (folder && strlen(folder) == strlen(FOLDER))
        for (at = copy; (at = memmem(at, *size - (size_t)(at - copy), FOLDER, strlen(FOLDER))) != NULL; at++)
            memcpy(at, folder, strlen(FOLDER));
    return copy;
}

static uint64_t crc_of(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        h = (h ^ at[i]) * 0x100000001b3u;
    return h >> 32; /* CUPTI's has 32 bits */
}

static bool is_module_call(uint32_t cbid)
{
    return cbid == CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData || cbid == CUPTI_DRIVER_TRACE_CBID_cuModuleUnload;
}

/* GetData beside such a call was seen to crash: from after our enter callback until before that of the exit. */
static void note_module_call(bool is_exit, uint32_t cbid)
{
    const char *text = getenv("FAKE_CUPTI_MODULE_MS");
    long ms = text ? atol(text) : 0;
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    if (!is_module_call(cbid))
        return;
    if (is_exit) {
        atomic_fetch_sub(&module_calls, 1);
        return;
    }
    atomic_fetch_add(&module_calls, 1);
    nanosleep(&t, NULL);
}

static void on_module(struct CUctx_st *context)
{
    struct CUpti_Subscriber_st *s = atomic_load(&subscriber);
    CUpti_ModuleResourceData module = {.moduleId = 1};
    CUpti_ResourceData data = {.context = context, .resourceDescriptor = &module};
    module.pCubin = cubin(&module.cubinSize);
    if (s && atomic_load(&s->resource[CUPTI_CBID_RESOURCE_MODULE_LOADED]))
        call_back(s, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED, &data);
}

static struct sampler *sampler_of(const struct CUctx_st *context)
{
    for (size_t i = 0; i < sizeof samplers / sizeof *samplers; i++)
        if (samplers[i].context == context)
            return &samplers[i];
    return NULL;
}

/* A context that is destroyed takes its sampler along; whoever asks for it afterwards reads freed memory. */
static void drop_sampler(const struct CUctx_st *context)
{
    struct sampler *s;
    pthread_mutex_lock(&sampling_lock);
    s = sampler_of(context);
    if (s)
        s->is_gone = true;
    pthread_mutex_unlock(&sampling_lock);
}

static bool is_sampling_anywhere(void)
{
    bool is_there = false;
    pthread_mutex_lock(&sampling_lock);
    for (size_t i = 0; i < sizeof samplers / sizeof *samplers; i++)
        is_there = is_there || samplers[i].context;
    pthread_mutex_unlock(&sampling_lock);
    return is_there;
}

/* The launch before is decoded now; this one is by the next, or by Disable. */
static void sample_launch(const struct fake_launch *l)
{
    const char *lost = getenv("FAKE_CUPTI_SAMPLES_LOST");
    struct sampler *s;
    pthread_mutex_lock(&sampling_lock);
    s = sampler_of(l->context);
    for (size_t i = 0; s && s->is_configured && i < SAMPLES; i++) {
        s->launches[i] += s->late_launches[i];
        s->late_launches[i] = strcmp(fake_samples[i].kernel, l->kernel->name) == 0;
    }
    if (s && s->is_configured) {
        s->other += OTHER_SAMPLES;
        s->lost += lost ? strtoul(lost, NULL, 10) : 0;
    }
    pthread_mutex_unlock(&sampling_lock);
}

/* The params of this API have "size", not "structSize". */
#define CHECK_SAMPLING(p, size_wanted)                                                         \
    do {                                                                                       \
        if (!(p) || (p)->size != (size_wanted) || (p)->pPriv != NULL)                          \
            REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "%s: wrong size or pPriv is set", __func__); \
    } while (0)

CUptiResult CUPTIAPI cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams *p)
{
    struct sampler *s;
    ENTER(cuptiPCSamplingEnable);
    CHECK_SAMPLING(p, CUpti_PCSamplingEnableParamsSize);
    pthread_mutex_lock(&profiler_lock);
    if (profilers)
        note("violation: range profiler and PC sampling in one process");
    pthread_mutex_unlock(&profiler_lock);
    pthread_mutex_lock(&sampling_lock);
    s = sampler_of(p->ctx);
    if (s && !s->is_gone)
        note("violation: PC sampling enabled twice on a context");
    s = s && s->is_gone ? s : sampler_of(NULL); /* an address may come again */
    if (s)
        *s = (struct sampler){.context = p->ctx, .period = 14};
    pthread_mutex_unlock(&sampling_lock);
    return s ? CUPTI_SUCCESS : CUPTI_ERROR_OUT_OF_MEMORY;
}

CUptiResult CUPTIAPI cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams *p)
{
    ENTER(cuptiPCSamplingGetNumStallReasons);
    CHECK_SAMPLING(p, CUpti_PCSamplingGetNumStallReasonsParamsSize);
    if (!sampler_of(p->ctx))
        REFUSE(CUPTI_ERROR_INVALID_OPERATION, "stall reasons before Enable");
    *p->numStallReasons = 2 * REASONS;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams *p)
{
    ENTER(cuptiPCSamplingGetStallReasons);
    CHECK_SAMPLING(p, CUpti_PCSamplingGetStallReasonsParamsSize);
    if (p->numStallReasons != 2 * REASONS)
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "room for %zu stall reasons", p->numStallReasons);
    for (uint32_t i = 0; i < 2 * REASONS; i++) {
        p->stallReasonIndex[i] = REASON_FIRST + i;
        snprintf(p->stallReasons[i], CUPTI_STALL_REASON_STRING_SIZE, "smsp__pcsamp_warps_issue_stalled_%s%s",
                 reasons[i / 2], i % 2 ? "_not_issued" : "");
    }
    return CUPTI_SUCCESS;
}

static bool is_buffer(const CUpti_PCSamplingData *d)
{
    return d && d->size == sizeof *d && d->pPcData && d->collectNumPcs > 0 && d->pPcData[0].stallReason &&
           d->pPcData[0].size == sizeof d->pPcData[0];
}

static CUptiResult set_one(struct sampler *s, const CUpti_PCSamplingConfigurationInfo *info)
{
    switch (info->attributeType) {
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE:
        return info->attributeData.collectionModeData.collectionMode == CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS
                   ? CUPTI_SUCCESS
                   : CUPTI_ERROR_NOT_SUPPORTED;
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD:
        s->period = info->attributeData.samplingPeriodData.samplingPeriod;
        return s->period >= 5 && s->period <= 31 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER:
        s->late = info->attributeData.samplingDataBufferData.samplingDataBuffer;
        return is_buffer(s->late) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
    default:
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
}

CUptiResult CUPTIAPI cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams *p)
{
    CUptiResult r = CUPTI_SUCCESS;
    struct sampler *s;
    ENTER(cuptiPCSamplingSetConfigurationAttribute);
    CHECK_SAMPLING(p, CUpti_PCSamplingConfigurationInfoParamsSize);
    pthread_mutex_lock(&sampling_lock);
    s = sampler_of(p->ctx);
    for (size_t i = 0; s && i < p->numAttributes && r == CUPTI_SUCCESS; i++)
        r = set_one(s, &p->pPCSamplingConfigurationInfo[i]);
    if (s && r == CUPTI_SUCCESS)
        s->is_configured = true;
    pthread_mutex_unlock(&sampling_lock);
    if (!s || r != CUPTI_SUCCESS)
        REFUSE(s ? r : CUPTI_ERROR_INVALID_OPERATION, "PC sampling configured wrongly or before Enable");
    return r;
}

CUptiResult CUPTIAPI cuptiPCSamplingGetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams *p)
{
    const struct sampler *s;
    ENTER(cuptiPCSamplingGetConfigurationAttribute);
    CHECK_SAMPLING(p, CUpti_PCSamplingConfigurationInfoParamsSize);
    s = sampler_of(p->ctx);
    if (!s || p->numAttributes != 1 ||
        p->pPCSamplingConfigurationInfo->attributeType != CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD)
        return CUPTI_ERROR_INVALID_PARAMETER;
    p->pPCSamplingConfigurationInfo->attributeData.samplingPeriodData.samplingPeriod = s->period;
    return CUPTI_SUCCESS;
}

static void put_pc(CUpti_PCSamplingPCData *pc, size_t i, uint64_t launches, bool is_new)
{
    const struct fake_sample *f = &fake_samples[i];
    uint32_t reason = 0;
    size_t size;
    const char *bytes = cubin(&size);
    while (strcmp(reasons[reason], f->reason) != 0)
        reason++;
    if (is_new) {
        pc->cubinCrc = strcmp(f->kernel, "_Z5scaleIfEvPT_") == 0 ? UNKNOWN_CRC : crc_of(bytes, size);
        pc->pcOffset = f->pc;
        pc->functionName = (char *)(uintptr_t)f->kernel;
        pc->stallReasonCount = 0;
    }
    pc->stallReason[pc->stallReasonCount++] =
        (CUpti_PCSamplingStallReason){REASON_FIRST + 2 * reason, (uint32_t)(launches * f->samples)};
    if (f->not_issued > 0)
        pc->stallReason[pc->stallReasonCount++] =
            (CUpti_PCSamplingStallReason){REASON_FIRST + 2 * reason + 1, (uint32_t)(launches * f->not_issued)};
}

/* What is there, as far as the buffer holds it; rows of one PC are one record. */
static void hand_over(struct sampler *s, CUpti_PCSamplingData *d)
{
    d->totalNumPcs = d->remainingNumPcs = 0;
    d->totalSamples = s->other + s->lost;
    d->nonUsrKernelsTotalSamples = s->other;
    d->droppedSamples = s->lost;
    s->other = s->lost = 0;
    for (size_t i = 0; i < SAMPLES; i++) {
        const struct fake_sample *f = &fake_samples[i];
        bool is_new;
        if (s->launches[i] == 0)
            continue;
        is_new = i == 0 || f->pc != f[-1].pc || strcmp(f->kernel, f[-1].kernel) != 0 || d->totalNumPcs == 0;
        if (is_new && d->totalNumPcs == d->collectNumPcs) {
            d->remainingNumPcs++;
            continue;
        }
        d->totalNumPcs += is_new;
        put_pc(&d->pPcData[d->totalNumPcs - 1], i, s->launches[i], is_new);
        d->totalSamples += s->launches[i] * f->samples;
        s->launches[i] = 0;
    }
}

CUptiResult CUPTIAPI cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams *p)
{
    CUpti_PCSamplingData *d;
    struct sampler *s;
    ENTER(cuptiPCSamplingGetData);
    CHECK_SAMPLING(p, CUpti_PCSamplingGetDataParamsSize);
    d = p->pcSamplingData;
    if (!is_buffer(d))
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "GetData: no good buffer");
    pthread_mutex_lock(&sampling_lock);
    s = sampler_of(p->ctx);
    if (s && s->is_gone)
        note("violation: GetData of a context that is gone");
    if (s)
        hand_over(s, d);
    pthread_mutex_unlock(&sampling_lock);
    if (atomic_load(&module_calls) > 0)
        note("violation: GetData while a module is being loaded or unloaded");
    if (!s)
        REFUSE(CUPTI_ERROR_INVALID_OPERATION, "GetData without PC sampling");
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams *p)
{
    struct sampler *s;
    ENTER(cuptiPCSamplingDisable);
    CHECK_SAMPLING(p, CUpti_PCSamplingDisableParamsSize);
    pthread_mutex_lock(&sampling_lock);
    s = sampler_of(p->ctx);
    if (s && s->is_gone)
        note("violation: Disable of a context that is gone");
    for (size_t i = 0; s && i < SAMPLES; i++)
        s->launches[i] += s->late_launches[i];
    if (s && s->late)
        hand_over(s, s->late);
    if (s)
        s->context = NULL;
    pthread_mutex_unlock(&sampling_lock);
    if (!s)
        REFUSE(CUPTI_ERROR_INVALID_OPERATION, "Disable without PC sampling");
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetCubinCrc(CUpti_GetCubinCrcParams *p)
{
    ENTER(cuptiGetCubinCrc);
    if (!p || p->size != CUpti_GetCubinCrcParamsSize || !p->cubin || p->cubinSize == 0)
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "cuptiGetCubinCrc: wrong size or no cubin");
    p->cubinCrc = crc_of(p->cubin, p->cubinSize);
    return CUPTI_SUCCESS;
}

/* What costs a program time when it is on. */
static void tell_what_is_on(void)
{
    const char *path = getenv("FAKE_CUPTI_WATCH");
    struct CUpti_Subscriber_st *s = atomic_load(&subscriber);
    int callbacks = 0;
    int kinds = 0;
    int count = 0;
    if (!path || unlink(path) != 0)
        return;
    for (int i = 0; s && i < CUPTI_DRIVER_TRACE_CBID_SIZE; i++)
        callbacks += atomic_load(&s->driver[i]);
    for (int i = 0; i < CUPTI_ACTIVITY_KIND_COUNT; i++)
        kinds += activity.is_enabled[i];
    pthread_mutex_lock(&profiler_lock);
    for (const struct CUpti_RangeProfiler_Object *o = profilers; o; o = o->next)
        count++;
    pthread_mutex_unlock(&profiler_lock);
    note("on %d %d %d %d", callbacks, kinds, count, s != NULL);
}

static void on_launch(const struct fake_launch *l)
{
    bool is_replayed = false;
    tell_what_is_on();
    pthread_mutex_lock(&profiler_lock);
    for (struct CUpti_RangeProfiler_Object *o = profilers; o; o = o->next) {
        if (o->context != l->context || !o->is_started)
            continue;
        is_replayed = o->mode == CUPTI_KernelReplay;
        note("counted %s %s", is_replayed ? "kernel" : "user", l->kernel->name);
        if (o->range_count < o->range_max)
            o->range[o->range_count++] = *l;
        else
            o->dropped++;
    }
    pthread_mutex_unlock(&profiler_lock);
    pm_note_launch(l);
    sample_launch(l);
    record_kernel(l, is_replayed);
}
