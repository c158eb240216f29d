/* SPDX-License-Identifier: MIT
 * inject.c: libwarpsight-cupti.so. The driver loads it inside cuInit (CUDA_INJECTION64_PATH) and calls
 * InitializeInjection(). Here: finding and binding CUPTI, the HELLO facts, fork and exit handling.
 * It never prints, never ends the process, installs no signal handler and always answers 1: a refusal
 * would be the program's problem. What could not be done becomes a STATUS record. */
#include "activity.h"
#include "collection.h"
#include "command.h"
#include "counters.h"
#include "cupti_api.h"
#include "locate.h"
#include "perf_library.h"
#include "sampling.h"
#include "spool.h"
#include "state.h"
#include "steady.h"
#include "timeline.h"
#include "translate.h"
#include "version.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES_MAX 64
#define EXIT_WAIT_MS 2000 /* the most that we may delay the end of the program */
#define TEXT_MAX 4096

struct ws_cupti ws_cupti;
struct ws_driver ws_driver;
struct ws_settings ws_settings;

__attribute__((visibility("default"))) int InitializeInjection(void);
__attribute__((visibility("default"))) const char *ws_collector_version(void);

/* Facts of this process, gathered once; the HELLO is sent again as more becomes known. */
static struct {
    char agent_id[33];
    char session[72];
    char spool[512];
    char exe[TEXT_MAX];
    char argv[TEXT_MAX];
    size_t argv_length;
    char cwd[TEXT_MAX];
    char host[256];
    char boot_id[40];
    char driver_text[64];
    char cupti_path[WS_LOCATE_PATH + 64]; /* and why this one */
    char settings[TEXT_MAX];
    size_t settings_length;
    char uuids[DEVICES_MAX * 42];
    const char *source;
    int64_t started_ns;
    uint32_t driver_version;
    _Atomic(CUpti_SubscriberHandle) subscriber;
} agent;

static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_device_known[DEVICES_MAX];
static struct {
    uint32_t id, device;
} known_contexts[DEVICES_MAX]; /* the last ones; id 0 = none */
static unsigned next_known;
static atomic_bool has_context;
static atomic_bool is_initialized; /* InitializeInjection is through */

const char *ws_collector_version(void)
{
    return WS_VERSION " " WS_GIT_COMMIT;
}

const char *ws_cupti_text(CUptiResult result)
{
    const char *text = NULL;
    if (ws_cupti.cuptiGetResultString && ws_cupti.cuptiGetResultString(result, &text) == CUPTI_SUCCESS && text)
        return text;
    return "no text";
}

const char ws_cupti_remedy_rights[] =
    "Run as root or with CAP_SYS_ADMIN, or let an administrator set the driver option "
    "NVreg_RestrictProfilingToAdminUsers=0 (RmProfilingAdminOnly: 0 in /proc/driver/nvidia/params).";

void ws_cupti_complain(const char *code, const char *call, CUptiResult result, const char *remedy)
{
    ws_spool_status_now(code, 1, remedy, "%s answered %d (%s)", call, (int)result, ws_cupti_text(result));
}

/* --- facts ------------------------------------------------------------------------------------------ */

/* The start of a small file into out; returns its length, 0 when it cannot be read. */
static size_t read_file(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n = 0;
    out[0] = 0;
    if (fd < 0)
        return 0;
    while (n < size - 1) {
        ssize_t got = read(fd, out + n, size - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    close(fd);
    out[n] = 0;
    return n;
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  …" → "580.159.04" */
static void find_driver_text(char *out, size_t size)
{
    char text[512];
    const char *at = text;
    out[0] = 0;
    if (read_file("/proc/driver/nvidia/version", text, sizeof text) == 0)
        return;
    while ((at = strpbrk(at, "0123456789")) != NULL) {
        size_t n = strspn(at, "0123456789.");
        if (n > 4 && n < size && memchr(at, '.', n) && at[-1] == ' ') {
            memcpy(out, at, n);
            out[n] = 0;
            return;
        }
        at += n;
    }
}

static void gather_facts(void)
{
    ssize_t n;
    agent.started_ns = ws_now_ns();
    ws_make_id(agent.agent_id);
    snprintf(agent.session, sizeof agent.session, "%s", ws_settings.session[0] ? ws_settings.session : agent.agent_id);
    snprintf(agent.spool, sizeof agent.spool, "%s", ws_settings.spool_dir);
    n = readlink("/proc/self/exe", agent.exe, sizeof agent.exe - 1);
    agent.exe[n > 0 ? n : 0] = 0;
    agent.argv_length = read_file("/proc/self/cmdline", agent.argv, sizeof agent.argv);
    if (agent.argv_length > 0 && agent.argv[agent.argv_length - 1] == 0)
        agent.argv_length--; /* the NUL that ends the last argument */
    if (!getcwd(agent.cwd, sizeof agent.cwd))
        agent.cwd[0] = 0;
    if (gethostname(agent.host, sizeof agent.host - 1) != 0)
        agent.host[0] = 0;
    read_file("/proc/sys/kernel/random/boot_id", agent.boot_id, sizeof agent.boot_id);
    agent.boot_id[strcspn(agent.boot_id, "\n")] = 0;
    find_driver_text(agent.driver_text, sizeof agent.driver_text);
    agent.settings_length = ws_settings_diff(&ws_settings, agent.settings, sizeof agent.settings);
    agent.source = "measured";
}

static void send_hello(void)
{
    struct ws_rec_hello rec = {
        .agent_id = ws_text_of(agent.agent_id),
        .session_token = ws_text_of(agent.session),
        .session_name = ws_text_of(ws_settings.name),
        .source = ws_text_of(agent.source),
        .pid = (uint64_t)getpid(),
        .ppid = (uint64_t)getppid(),
        .started_ns = agent.started_ns,
        .exe = ws_text_of(agent.exe),
        .argv = ws_text_n(agent.argv, agent.argv_length),
        .cwd = ws_text_of(agent.cwd),
        .host = ws_text_of(agent.host),
        .boot_id = ws_text_of(agent.boot_id),
        .rank = ws_text_of(ws_settings.rank),
        .driver_version = agent.driver_version,
        .cupti_version = ws_cupti.version,
        .driver_text = ws_text_of(agent.driver_text),
        .cupti_path = ws_text_of(agent.cupti_path),
        .gpu_uuids = ws_text_of(agent.uuids),
        .warpsight = ws_text_of(WS_VERSION),
        .git_commit = ws_text_of(WS_GIT_COMMIT),
        .settings = ws_text_n(agent.settings, agent.settings_length),
    };
    (void)ws_spool_hello(&rec);
}

/* --- binding ---------------------------------------------------------------------------------------- */

/* dlsym gives an object pointer where a function pointer is meant; POSIX says they convert. */
static void bind(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
}

static void bind_driver(void)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    int version = 0;
    if (!cuda)
        return;
    bind(cuda, "cuDriverGetVersion", &ws_driver.get_version);
    bind(cuda, "cuDeviceGetCount", &ws_driver.device_get_count);
    bind(cuda, "cuDeviceGetName", &ws_driver.device_get_name);
    bind(cuda, "cuDeviceGetUuid_v2", &ws_driver.device_get_uuid);
    if (!ws_driver.device_get_uuid)
        bind(cuda, "cuDeviceGetUuid", &ws_driver.device_get_uuid);
    bind(cuda, "cuDeviceTotalMem_v2", &ws_driver.device_total_mem);
    bind(cuda, "cuDeviceGetAttribute", &ws_driver.device_get_attribute);
    bind(cuda, "cuMemGetInfo_v2", &ws_driver.mem_get_info);
    bind(cuda, "cuCtxGetCurrent", &ws_driver.ctx_get_current);
    bind(cuda, "cuStreamIsCapturing", &ws_driver.stream_is_capturing);
    bind(cuda, "cuThreadExchangeStreamCaptureMode", &ws_driver.exchange_capture_mode);
    bind(cuda, "cuFuncGetParamInfo", &ws_driver.func_get_param_info);
    bind(cuda, "cuKernelGetParamInfo", &ws_driver.kernel_get_param_info);
    if (ws_driver.get_version && ws_driver.get_version(&version) == CUDA_SUCCESS)
        agent.driver_version = (uint32_t)version;
}

/* Bind every call of cupti_api.def; false when one of BASE is missing (then *missing names it). */
static bool bind_calls(void *library, const char **missing)
{
    enum { BASE, TRACE, COUNTERS, TIMELINE, SAMPLING, EXTRA, FEATURES };
    const char *lacks[FEATURES] = {NULL};
#define WS_CUPTI(feature, call)            \
    bind(library, #call, &ws_cupti.call);  \
    if (!ws_cupti.call && !lacks[feature]) \
        lacks[feature] = #call;
#include "cupti_api.def"
#undef WS_CUPTI
    ws_cupti.has_trace = !lacks[TRACE];
    ws_cupti.missing_trace = lacks[TRACE];
    ws_cupti.has_counters = !lacks[COUNTERS];
    ws_cupti.missing_counters = lacks[COUNTERS];
    ws_cupti.has_timeline = !lacks[TIMELINE];
    ws_cupti.missing_timeline = lacks[TIMELINE];
    ws_cupti.has_sampling = !lacks[SAMPLING];
    ws_cupti.missing_sampling = lacks[SAMPLING];
    *missing = lacks[BASE];
    return !lacks[BASE];
}

static bool use_library(const struct ws_located *place)
{
    struct ws_opened opened;
    const char *missing = NULL;
    if (ws_locate_open(place, &opened) != 0)
        return false;
    if (!bind_calls(opened.cupti, &missing)) {
        ws_spool_status_now("cupti-incomplete", 1, "", "%s has no %s", place->path, missing);
        return false;
    }
    (void)ws_cupti.cuptiGetVersion(&ws_cupti.version);
    snprintf(agent.cupti_path, sizeof agent.cupti_path, "%s (%s)", place->path, place->reason);
    if (dlsym(opened.cupti, "ws_fake_cupti"))
        agent.source = "synthetic"; /* the tests' double: its numbers must never pass for measured */
    return true;
}

/* The place that was used, or NULL. */
static const struct ws_located *bind_cupti(void)
{
    static struct ws_locations places; /* 20 KiB: not on the program's stack */
    struct ws_locate_hints hints = {.cupti = ws_settings.cupti,
                                    .cuda_home = ws_settings.cuda_home,
                                    .cuda_path = ws_settings.cuda_path,
                                    .driver_major = agent.driver_version / 1000};
    ws_locate_cupti(&hints, &places);
    for (uint32_t i = 0; i < places.found_count; i++)
        if (use_library(&places.found[i]))
            return &places.found[i];
    ws_spool_status_now("cupti-not-found", 2, "Install the CUDA toolkit, or set WARPSIGHT_CUPTI to libcupti.so.",
                        "no usable libcupti was found: nothing is collected (looked at: %.300s)", places.tried);
    return NULL;
}

/* --- callbacks -------------------------------------------------------------------------------------- */

static void run_at_exit(void)
{
    if (!ws_state_move(WS_STATE_ON, WS_STATE_DRAINING) && !ws_state_move(WS_STATE_IDLE, WS_STATE_DRAINING))
        return;
    ws_perf_library_wait(); /* the loader must be done before the program's libraries are closed */
    if (!ws_spool_finish(EXIT_WAIT_MS))
        ws_state_latch_off(); /* the thread hangs in CUPTI: leave it; what was written stays */
    (void)ws_state_move(WS_STATE_DRAINING, WS_STATE_OFF);
}

static void wait_before_fork(void)
{
    ws_perf_library_wait();
    ws_timeline_before_fork();
}

/* Only flags: the child of a process that uses CUDA must not make one CUPTI call. */
static void forget_in_child(void)
{
    ws_state_latch_off();
    ws_perf_library_forget();
    ws_counters_forget();
    ws_timeline_forget();
    ws_spool_forget();
}

static void send_device(CUdevice device)
{
    struct ws_device_texts texts;
    struct ws_rec_device rec;
    char chip[32];
    size_t n;
    if (device < 0 || device >= DEVICES_MAX || is_device_known[device])
        return;
    is_device_known[device] = true;
    ws_counters_chip_name(device, chip, sizeof chip);
    ws_translate_device(device, chip, &texts, &rec);
    (void)ws_spool_device(&rec);
    n = strlen(agent.uuids);
    snprintf(agent.uuids + n, sizeof agent.uuids - n, "%s%s", n ? "," : "", texts.uuid);
    send_hello();
}

/* Under `devices_lock`. */
static bool knows_context(uint32_t id, uint32_t device)
{
    for (size_t i = 0; i < DEVICES_MAX; i++)
        if (known_contexts[i].id == id && known_contexts[i].device == device)
            return true;
    return false;
}

/* Tell of a context and of its GPU, once. CUPTI counts contexts from 1. */
static void meet_context(uint32_t id, uint32_t device)
{
    struct ws_rec_context rec = {.context = id, .device = device};
    pthread_mutex_lock(&devices_lock);
    if (!knows_context(id, device)) {
        known_contexts[next_known % DEVICES_MAX].id = id;
        known_contexts[next_known++ % DEVICES_MAX].device = device;
        send_device((CUdevice)device);
        (void)ws_spool_context(&rec);
    }
    pthread_mutex_unlock(&devices_lock);
}

static void note_first_context(void)
{
    /* Registered now as well, not only at start: exit handlers run last in first out, so this one runs
     * before those that CUDA registered when it was initialised. */
    if (!atomic_exchange(&has_context, true))
        (void)atexit(run_at_exit);
    ws_collection_has_context();
}

static void context_created(CUcontext context)
{
    uint32_t device = 0, id = 0;
    bool has_counters = ws_collection_has_counters() && ws_state_get() == WS_STATE_ON;
    if (ws_state_get() != WS_STATE_ON && ws_state_get() != WS_STATE_IDLE)
        return;
    note_first_context();
    if (ws_cupti.cuptiGetDeviceId(context, &device) != CUPTI_SUCCESS)
        return;
    (void)ws_cupti.cuptiGetContextId(context, &id);
    meet_context(id, device);
    /* While idle no counter is wanted; counters.c meets the context at its first launch after a start. A sampler of the
     * whole GPU is made now, and started when collection is. */
    if (has_counters) {
        int64_t from = ws_steady_ns();
        ws_perf_library_need();
        ws_counters_context_created(context, (CUdevice)device);
        ws_spool_add_cost("startup", 1, ws_steady_ns() - from);
    }
    if (ws_collection_has_timeline())
        ws_timeline_context_created((CUdevice)device);
    ws_collection_context_created(context);
}

static void context_destroyed(CUcontext context)
{
    if (ws_state_get() == WS_STATE_OFF || ws_state_get() == WS_STATE_DRAINING)
        return;
    if (ws_collection_has_counters())
        ws_counters_context_destroyed(context);
    ws_collection_context_destroyed(context);
}

/* cudaProfilerStart() is told after it is done, cudaProfilerStop() before. */
static bool note_profiler_call(CUpti_CallbackId cbid, const CUpti_CallbackData *data)
{
    bool is_start = cbid == CUPTI_DRIVER_TRACE_CBID_cuProfilerStart;
    if (!is_start && cbid != CUPTI_DRIVER_TRACE_CBID_cuProfilerStop)
        return false;
    if (ws_state_get() != WS_STATE_OFF && (data->callbackSite == CUPTI_API_EXIT) == is_start)
        ws_collection_profiler_call(is_start);
    return true;
}

static void CUPTIAPI on_callback(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
    (void)unused;
    if (ws_collection_has_api() && (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API)) {
        ws_activity_note_copy(domain, cbid, data);
        if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
            ws_activity_note_launch(cbid, data);
    }
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
        if (!note_profiler_call(cbid, data) && ws_collection_has_counters())
            ws_counters_callback(cbid, data);
        if (ws_collection_has_sampling())
            ws_sampling_module_call(cbid, data);
    } else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
        const CUpti_ResourceData *resource = data;
        if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED)
            context_created(resource->context);
        else if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING)
            context_destroyed(resource->context);
        else if (cbid == CUPTI_CBID_RESOURCE_MODULE_LOADED)
            ws_sampling_module_loaded(resource->resourceDescriptor);
    }
}

/* --- start ------------------------------------------------------------------------------------------ */

static CUptiResult subscribe(CUpti_SubscriberHandle *out, char *holder, size_t size)
{
    CUpti_SubscriberParams params = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
                                     .subscriberName = "warpsight",
                                     .oldSubscriberName = holder,
                                     .oldSubscriberSize = size};
    holder[0] = 0;
    if (ws_cupti.cuptiSubscribe_v2)
        return ws_cupti.cuptiSubscribe_v2(out, on_callback, NULL, &params);
    return ws_cupti.cuptiSubscribe(out, on_callback, NULL);
}

/* Where a copy of CUPTI other than ours lies that has this call; NULL: the call is ours. */
static const char *other_cupti(const void *call)
{
    Dl_info theirs, ours;
    void *own_call = NULL;
    memcpy(&own_call, &ws_cupti.cuptiSubscribe, sizeof own_call);
    if (dladdr(call, &theirs) == 0 || dladdr(own_call, &ours) == 0 || theirs.dli_fbase == ours.dli_fbase)
        return NULL;
    return theirs.dli_fname;
}

/* The program's own profiler is about to subscribe (yield.c); it asks once, and CUPTI has one place. */
static void give_way(const char *who, const void *call)
{
    enum ws_state state = ws_state_get();
    const char *other = other_cupti(call);
    char remedy[192];
    if ((state != WS_STATE_ON && state != WS_STATE_IDLE) || !atomic_load(&agent.subscriber))
        return;
    if (other) { /* the driver takes no second one in a process, even when the first has let go */
        snprintf(remedy, sizeof remedy, "Run with WARPSIGHT_CUPTI=%.160s", other);
        ws_spool_status_now("yield-failed", 1, remedy,
                            "CUPTI could not be left to %.100s: it has a copy of its own, and only the first works",
                            who);
        return;
    }
    if (!ws_cupti.cuptiUnsubscribe || !ws_collection_yield()) {
        ws_spool_status_now("yield-failed", 1, "Run without samplers, or without the program's own profiler.",
                            "CUPTI could not be left to %.100s: a sampler or a counted launch holds it", who);
        return;
    }
    (void)ws_cupti.cuptiUnsubscribe(atomic_exchange(&agent.subscriber, NULL));
    ws_spool_status_now("yielded", 1, "Run once more without --yield, or without the program's own profiler.",
                        "CUPTI was left to %.100s when it subscribed: nothing of this process is known after that",
                        who);
}

static void offer_to_yield(void)
{
    void (*set_hook)(void (*)(const char *, const void *)) = NULL;
    void *symbol = dlsym(RTLD_DEFAULT, "ws_yield_set_hook");
    memcpy(&set_hook, &symbol, sizeof set_hook);
    if (set_hook)
        set_hook(give_way);
}

/* Callbacks of contexts: two calls in a context's life. */
static CUptiResult watch_contexts(CUpti_SubscriberHandle subscriber)
{
    CUptiResult r =
        ws_cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
    if (r == CUPTI_SUCCESS)
        r = ws_cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                                         CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
    return r;
}

static void tell_refusal(CUptiResult r, const char *holder, char *why, size_t cap)
{
    if (r != CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
        snprintf(why, cap, "CUPTI cannot be subscribed to: it answered %d (%s)", (int)r, ws_cupti_text(r));
        ws_cupti_complain("subscribe-failed", "cuptiSubscribe", r, "");
        return;
    }
    snprintf(why, cap, "another profiler holds CUPTI in this process%s%s", holder[0] ? ": " : "", holder);
    ws_spool_status_now("other-profiler", 2, "End the other tool, or run without WarpSight.",
                        "%s: nothing is collected", why);
}

/* When something is to be collected for the first time. Contexts that are there already are met by their records and
 * launches. */
static void *attach(char *why, size_t cap)
{
    char holder[128]; /* CUPTI wants at least 64 */
    CUpti_SubscriberHandle subscriber = NULL;
    CUptiResult r = subscribe(&subscriber, holder, sizeof holder);
    if (r != CUPTI_SUCCESS) {
        tell_refusal(r, holder, why, cap);
        return NULL;
    }
    r = watch_contexts(subscriber);
    if (r != CUPTI_SUCCESS) {
        snprintf(why, cap, "CUPTI has no callbacks of contexts: it answered %d", (int)r);
        ws_cupti_complain("callbacks-failed", "cuptiEnableCallback", r, "");
        return NULL;
    }
    atomic_store(&agent.subscriber, subscriber);
    offer_to_yield();
    if (atomic_load(&is_initialized))
        note_first_context(); /* nobody will tell of one that came before */
    return subscriber;
}

static void tick(bool is_final)
{
    if (ws_state_get() == WS_STATE_OFF)
        return;
    ws_collection_tick(is_final);
    if (is_final)
        ws_command_end();
    else
        ws_command_poll();
}

static void report_complaints(void)
{
    for (uint32_t i = 0; i < ws_settings.complaint_count; i++)
        ws_spool_status_now("setting-invalid", 1, "See: warpsight list settings", "%s",
                            ws_settings.complaint[i].message);
}

static bool start_spool(void)
{
    uint64_t memory = (uint64_t)ws_settings.memory_mb << 20;
    struct ws_spool_config config = {.folder = agent.spool,
                                     .session = agent.session,
                                     .agent_id = agent.agent_id,
                                     .started_ns = agent.started_ns,
                                     .memory_bytes = memory / 4, /* half of it is for CUPTI's buffers */
                                     .disk_bytes = (uint64_t)ws_settings.spool_mb << 20,
                                     .flush_ms = (unsigned)ws_settings.flush_ms,
                                     .tick = tick};
    char folder[sizeof agent.spool + sizeof agent.session + sizeof agent.agent_id];
    snprintf(folder, sizeof folder, "%s/%s/%s", agent.spool, agent.session, agent.agent_id);
    ws_command_init(folder, ws_settings.start != WS_START_NOW || *ws_settings.nvtx);
    return ws_spool_init(&config) == 0 && ws_spool_start() == 0;
}

/* Called by the driver, once, inside the program's first cuInit. */
int InitializeInjection(void)
{
    static const struct ws_collection_hooks hooks = {attach, meet_context};
    static atomic_bool is_called;
    const struct ws_located *cupti;
    int64_t from = ws_steady_ns();
    if (atomic_exchange(&is_called, true))
        return 1;
    ws_settings_read(&ws_settings);
    if (ws_settings.is_secure)
        return 1; /* a set-user-id program: the environment is not to be trusted */
    if (ws_settings.only_child_of != 0 && ws_settings.only_child_of != getppid())
        return 1; /* --target-processes application-only */
    gather_facts();
    if (!start_spool())
        return 1;
    /* No fork in the middle of a dlopen: the child would inherit the loader's lock. */
    (void)pthread_atfork(wait_before_fork, NULL, forget_in_child);
    (void)atexit(run_at_exit); /* for programs that never make a context */
    report_complaints();
    bind_driver();
    (void)ws_state_move(WS_STATE_OFF, WS_STATE_ON);
    cupti = bind_cupti();
    if (cupti)
        ws_collection_begin(&hooks, cupti);
    atomic_store(&is_initialized, true);
    send_hello();
    ws_spool_add_cost("startup", 1, ws_steady_ns() - from);
    return 1;
}
