/* SPDX-License-Identifier: MIT
 * collection.c: see collection.h. One lock makes transitions come one after another; it is never held by a thread that
 * is inside a launch, and whoever holds it waits for launches a tenth of a second at most.
 *
 * Three depths of off. Not attached: a process that idles from the beginning has no subscriber until its first start,
 * for that alone makes each graph launch 4 us longer (H200: 1.3 us to 5.3), and nothing takes it back: cuptiUnsubscribe
 * does not, and cuptiFinalize, which does, ended in a fault of the GPU wherever kernels had been traced before. A
 * command's stop undoes everything else. What the program itself asks for (a range may open and close a thousand times
 * a second) only switches the activity kinds and the state: callbacks of launches stay, look at the state and return,
 * and the range profilers stay enabled, which costs nothing measurable while no launch is profiled, where enabling one
 * again costs 160 ms (H200).
 *
 * Callbacks are switched off while no launch is between its enter and its exit callback (ws_counters_stop), else the
 * exit would not be told and a lock of the launch stay held. */
#include "collection.h"

#include "../analyzer/err.h"
#include "activity.h"
#include "counters.h"
#include "cupti_api.h"
#include "nvtx.h"
#include "nvtx_filter.h"
#include "perf_library.h"
#include "plan.h"
#include "sampling.h"
#include "select.h"
#include "spool.h"
#include "state.h"
#include "steady.h"
#include "timeline.h"
#include "translate.h"

#include <pthread.h>
#include <regex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define GATE_WAIT_MS 100 /* a stop waits so long for the launch that is being profiled, then again at the next tick */
#define SAMPLING_WAIT_MS 500 /* of a program that makes or destroys a context while it loads a module */
#define YIELD_TRIES 20       /* of GATE_WAIT_MS each */
#define TAIL_NS 2000000000LL /* records of kernels that were under way at a stop are fetched so long */

/* What may be changed while the program runs. The rest is read once. */
static const char *const changeable[] = {
    "WARPSIGHT_SET",         "WARPSIGHT_METRICS",      "WARPSIGHT_KERNEL", "WARPSIGHT_KERNEL_NAME_BASE",
    "WARPSIGHT_LAUNCH_SKIP", "WARPSIGHT_LAUNCH_COUNT", "WARPSIGHT_EVERY",  "WARPSIGHT_REPLAY_MODE"};

static struct {
    pthread_mutex_t lock;
    struct ws_collection_hooks hooks;
    CUpti_SubscriberHandle subscriber; /* NULL: not attached */
    atomic_bool is_attached;           /* the same, without the lock */
    struct ws_located cupti;
    bool is_begun;
    bool is_armed; /* callbacks of launches are on, counters have a plan */
    bool is_held;  /* a command stopped it: triggers do nothing */
    bool has_perf_library;
    bool has_timeline;       /* set once */
    bool has_sampling;       /* set once */
    bool is_timeline_paused; /* the collector's thread's own */
    bool has_trace;          /* the activity kinds were on at least once */
    atomic_bool has_counters, has_api, has_context;
    int64_t until_steady_ns, until_ns; /* 0 = no limit */
    int64_t tail_until_ns;             /* steady: flush until then although nothing is collected */
    int64_t since_ns;
    const char *reason; /* static */
    uint64_t changes;
} collection = {.lock = PTHREAD_MUTEX_INITIALIZER, .reason = "setting"};

/* Contexts that live, for PC sampling. */
#define CONTEXTS_MAX 64
static struct {
    pthread_mutex_t lock;
    struct {
        CUcontext handle;
        bool is_sampled;
    } at[CONTEXTS_MAX];
} contexts = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool ws_collection_has_counters(void)
{
    return atomic_load_explicit(&collection.has_counters, memory_order_acquire);
}

bool ws_collection_has_api(void)
{
    return atomic_load_explicit(&collection.has_api, memory_order_acquire);
}

bool ws_collection_has_sampling(void)
{
    return collection.has_sampling;
}

bool ws_collection_has_timeline(void)
{
    return collection.has_timeline;
}

/* --- CUPTI's callbacks --- */

/* Callbacks of launches (for counters and `api`) and of copies (for `api`). */
static bool set_call_callbacks(bool on, bool has_api)
{
    CUpti_CallbackId launches[16];
    struct ws_call_id copies[32];
    size_t n = ws_translate_launch_cbids(launches, sizeof launches / sizeof *launches);
    size_t m = has_api ? ws_translate_copy_calls(copies, sizeof copies / sizeof *copies) : 0;
    CUptiResult r = CUPTI_SUCCESS;
    for (size_t i = 0; i < n && r == CUPTI_SUCCESS; i++)
        r = ws_cupti.cuptiEnableCallback(on, collection.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, launches[i]);
    for (size_t i = 0; i < m && r == CUPTI_SUCCESS; i++)
        r = ws_cupti.cuptiEnableCallback(on, collection.subscriber, copies[i].domain, copies[i].cbid);
    if (r != CUPTI_SUCCESS)
        ws_cupti_complain("callbacks-failed", "cuptiEnableCallback", r, "");
    return r == CUPTI_SUCCESS;
}

/* Callbacks of modules: always on with --stalls pc, for a module that comes while nothing is collected has code, too.
 */
static bool enable_sampling_callbacks(void)
{
    CUpti_CallbackId resources[4];
    CUpti_CallbackId calls[16];
    size_t n = ws_sampling_resource_cbids(resources, sizeof resources / sizeof *resources);
    size_t m = ws_sampling_driver_cbids(calls, sizeof calls / sizeof *calls);
    CUptiResult r = CUPTI_SUCCESS;
    for (size_t i = 0; i < n && r == CUPTI_SUCCESS; i++)
        r = ws_cupti.cuptiEnableCallback(1, collection.subscriber, CUPTI_CB_DOMAIN_RESOURCE, resources[i]);
    for (size_t i = 0; i < m && r == CUPTI_SUCCESS; i++)
        r = ws_cupti.cuptiEnableCallback(1, collection.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, calls[i]);
    if (r != CUPTI_SUCCESS)
        ws_cupti_complain("callbacks-failed", "cuptiEnableCallback", r, "");
    return r == CUPTI_SUCCESS;
}

/* cudaProfilerStart/Stop: two calls in a program's life, but asked for only when they mean something. */
static void enable_profiler_callbacks(void)
{
    static const CUpti_CallbackId calls[] = {CUPTI_DRIVER_TRACE_CBID_cuProfilerStart,
                                             CUPTI_DRIVER_TRACE_CBID_cuProfilerStop};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        CUptiResult r = ws_cupti.cuptiEnableCallback(1, collection.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, calls[i]);
        if (r != CUPTI_SUCCESS)
            ws_cupti_complain("callbacks-failed", "cuptiEnableCallback", r, "");
    }
}

/* --- on and off; lock held --- */

/* CUPTI is left alone while cuInit is under way: whoever makes a context has it behind himself. */
static bool is_driver_ready(void)
{
    int n;
    return !ws_driver.device_get_count || ws_driver.device_get_count(&n) == CUDA_SUCCESS;
}

/* Without the lock, which the thread inside cuInit may want. */
static bool may_attach(void)
{
    return atomic_load(&collection.is_attached) || is_driver_ready();
}

static bool attach(char *why, size_t cap)
{
    if (!collection.subscriber)
        collection.subscriber = collection.hooks.attach(why, cap);
    atomic_store(&collection.is_attached, collection.subscriber != NULL);
    return collection.subscriber != NULL;
}

/* cudaProfilerStart, modules and contexts to sample are told by CUPTI alone. */
static bool must_attach_early(void)
{
    return ws_settings.start == WS_START_API || ws_timeline_is_wanted() || ws_settings.stalls == WS_STALLS_PC;
}

static void start_perf_library(void)
{
    if (!collection.has_perf_library)
        ws_perf_library_start(&collection.cupti);
    collection.has_perf_library = true;
}

static void arm(void)
{
    /* One of the three: two in one process hung or crashed it (seen on an H200). */
    bool has_counters = !ws_timeline_is_wanted() && ws_settings.stalls == WS_STALLS_COUNTERS && ws_counters_start();
    bool has_api = ws_plan_has_api(ws_settings.set);
    if ((has_counters || has_api) && !set_call_callbacks(true, has_api)) {
        has_counters = false;
        has_api = false;
    }
    atomic_store(&collection.has_counters, has_counters);
    atomic_store(&collection.has_api, has_api);
    if (has_counters)
        start_perf_library();
    collection.is_armed = true;
}

static void undo_callbacks(void)
{
    if (ws_collection_has_counters() || ws_collection_has_api())
        (void)set_call_callbacks(false, ws_collection_has_api());
}

/* 1: not yet. */
static int disarm(void)
{
    if (!collection.is_armed)
        return 0;
    if (ws_collection_has_counters()) {
        if (!ws_counters_stop(GATE_WAIT_MS, undo_callbacks))
            return 1;
    } else {
        undo_callbacks();
    }
    atomic_store(&collection.has_counters, false);
    atomic_store(&collection.has_api, false);
    collection.is_armed = false;
    return 0;
}

static void record(bool is_on, const char *reason, int64_t at_ns)
{
    char settings[4096];
    struct ws_rec_collection rec = {.at_ns = at_ns, .is_on = is_on, .reason = ws_text_of(reason)};
    if (is_on)
        rec.settings = ws_text_n(settings, ws_settings_diff(&ws_settings, settings, sizeof settings));
    (void)ws_spool_collection(&rec);
    collection.since_ns = rec.at_ns;
    collection.reason = reason;
    collection.changes++;
}

static void start_activity(void)
{
    bool has_api = ws_collection_has_api();
    if (!ws_activity_start((uint64_t)ws_settings.memory_mb << 19, has_api))
        return;
    collection.has_trace = true;
    if (has_api && atomic_load(&collection.has_context))
        ws_activity_start_unified_memory();
}

/* False, with why[cap]: it cannot be. */
static bool switch_on(const char *reason, char *why, size_t cap)
{
    int64_t at_ns;
    if (ws_state_get() == WS_STATE_ON)
        return true;
    snprintf(why, cap, "the process is ending");
    if (ws_state_get() != WS_STATE_IDLE || !attach(why, cap))
        return false;
    if (!collection.is_armed)
        arm();
    at_ns = ws_now_ns(); /* before the first record can be */
    start_activity();
    if (!ws_state_move(WS_STATE_IDLE, WS_STATE_ON))
        return false;
    record(true, reason, at_ns);
    return true;
}

static void switch_off(const char *reason)
{
    collection.changes += collection.until_ns != 0;
    collection.until_steady_ns = collection.until_ns = 0;
    if (!ws_state_move(WS_STATE_ON, WS_STATE_IDLE))
        return;
    ws_activity_stop();
    collection.tail_until_ns = ws_steady_ns() + TAIL_NS;
    record(false, reason, ws_now_ns());
}

/* --- who switches --- */

/* An expression that is none fits nothing. */
static void check_ranges(void)
{
    static struct ws_nvtx_filter filter; /* 50 KiB */
    char why[128];
    if (!*ws_settings.nvtx)
        return;
    if (ws_nvtx_filter_init(&filter, ws_settings.nvtx, why, sizeof why) != 0)
        ws_spool_status_now("nvtx-invalid", 2, "See: warpsight run --help",
                            "WARPSIGHT_NVTX_INCLUDE: %s: nothing is collected", why);
    ws_nvtx_filter_fini(&filter);
}

/* The process ends; a report without a kernel must say why. */
static void tell_of_ranges(void)
{
    const char *why = *ws_settings.nvtx ? ws_nvtx_silence() : "";
    if (*why)
        ws_spool_status_now("nvtx-silent", 1, "A plain NAME means the default domain; DOMAIN@NAME another one.",
                            "--nvtx-include %.100s: %s: nothing was collected", ws_settings.nvtx, why);
}

/* Lock held. */
static void begin(bool is_idle)
{
    char why[WS_CONTROL_TEXT];
    if ((!is_idle || must_attach_early()) && !attach(why, sizeof why))
        return;
    collection.since_ns = ws_now_ns();
    collection.is_begun = true;
    if (ws_settings.start == WS_START_API)
        enable_profiler_callbacks();
    check_ranges();
    collection.has_timeline = ws_timeline_start();
    collection.has_sampling = !ws_timeline_is_wanted() && ws_sampling_init() && enable_sampling_callbacks();
    if (collection.has_timeline || collection.has_sampling)
        start_perf_library();
    if (is_idle && ws_state_move(WS_STATE_ON, WS_STATE_IDLE)) {
        record(false, "setting", collection.since_ns);
    } else {
        collection.changes += *ws_settings.nvtx != 0; /* a range is open already: it was told as idle */
        arm();
        start_activity();
    }
}

void ws_collection_begin(const struct ws_collection_hooks *hooks, const struct ws_located *cupti)
{
    bool waits_for_range = *ws_settings.nvtx && !ws_nvtx_is_open();
    bool is_idle = ws_settings.start != WS_START_NOW || waits_for_range;
    pthread_mutex_lock(&collection.lock);
    collection.hooks = *hooks;
    collection.cupti = *cupti;
    begin(is_idle);
    pthread_mutex_unlock(&collection.lock);
}

void ws_collection_has_context(void)
{
    atomic_store(&collection.has_context, true);
    if (ws_state_get() == WS_STATE_ON && ws_collection_has_api() && collection.has_trace)
        ws_activity_start_unified_memory();
}

void ws_collection_meet_context(uint32_t context, uint32_t device)
{
    collection.hooks.meet_context(context, device);
}

/* Lock held. */
static void trigger(bool on, const char *reason)
{
    char why[WS_CONTROL_TEXT];
    if (!collection.is_begun || collection.is_held)
        return;
    if (on)
        (void)switch_on(reason, why, sizeof why);
    else
        switch_off(reason);
}

void ws_collection_profiler_call(bool on)
{
    pthread_mutex_lock(&collection.lock);
    trigger(on, "profiler-api");
    pthread_mutex_unlock(&collection.lock);
}

void ws_collection_range_changed(void)
{
    bool may_switch;
    /* A forked child must not wait for a lock that a thread holds which it does not have. */
    if (ws_state_get() == WS_STATE_OFF)
        return;
    may_switch = may_attach();
    pthread_mutex_lock(&collection.lock);
    /* Asked under the lock: whoever comes last decides by what is. */
    trigger(ws_nvtx_is_open() && may_switch, "nvtx");
    pthread_mutex_unlock(&collection.lock);
}

/* A range that was opened while cuInit was under way. Lock held. */
static void catch_up_with_ranges(bool may_switch)
{
    if (*ws_settings.nvtx && may_switch && ws_state_get() == WS_STATE_IDLE && ws_nvtx_is_open())
        trigger(true, "nvtx");
}

/* Put it in; false: there is no room. */
static bool keep_context(CUcontext context, bool is_sampled)
{
    bool is_kept = false;
    pthread_mutex_lock(&contexts.lock);
    for (size_t i = 0; i < CONTEXTS_MAX && !is_kept; i++)
        if (!contexts.at[i].handle) {
            contexts.at[i].handle = context;
            contexts.at[i].is_sampled = is_sampled;
            is_kept = true;
        }
    pthread_mutex_unlock(&contexts.lock);
    return is_kept;
}

static void note_sampled(CUcontext context, bool is_sampled)
{
    pthread_mutex_lock(&contexts.lock);
    for (size_t i = 0; i < CONTEXTS_MAX; i++)
        if (contexts.at[i].handle == context)
            contexts.at[i].is_sampled = is_sampled;
    pthread_mutex_unlock(&contexts.lock);
}

void ws_collection_context_created(void *context)
{
    bool is_on = ws_state_get() == WS_STATE_ON;
    int64_t from = ws_steady_ns();
    if (!collection.has_sampling)
        return;
    ws_perf_library_need();
    if (keep_context(context, is_on) && is_on && !ws_sampling_start(context, SAMPLING_WAIT_MS))
        note_sampled(context, false); /* the next tick asks again */
    ws_spool_add_cost("startup", 1, ws_steady_ns() - from);
}

void ws_collection_context_destroyed(void *context)
{
    if (!collection.has_sampling)
        return;
    pthread_mutex_lock(&contexts.lock);
    for (size_t i = 0; i < CONTEXTS_MAX; i++)
        if (contexts.at[i].handle == context)
            contexts.at[i].handle = NULL;
    pthread_mutex_unlock(&contexts.lock);
    /* Also one that is not sampled: the tick may be about to change that. */
    if (!ws_sampling_stop(context, SAMPLING_WAIT_MS))
        ws_sampling_forget(context);
}

static bool is_changeable(const char *name)
{
    for (size_t i = 0; i < sizeof changeable / sizeof *changeable; i++)
        if (strcmp(changeable[i], name) == 0)
            return true;
    return false;
}

/* The value that a setting would have after the command. */
static const char *value_after(const struct ws_control_command *command, const char *name, const char *now)
{
    for (size_t i = command->change_count; i > 0; i--)
        if (strcmp(command->change[i - 1].name, name) == 0)
            return command->change[i - 1].value;
    return now;
}

int ws_collection_check(const struct ws_control_command *command, char *why, size_t cap)
{
    static struct ws_plan plan; /* 60 KiB; one thread comes here */
    const char *kernel = value_after(command, "WARPSIGHT_KERNEL", "");
    regex_t expression;
    char reason[96];
    for (size_t i = 0; i < command->change_count; i++) {
        const char *name = command->change[i].name;
        const struct ws_setting *row = is_changeable(name) ? ws_setting_find(name) : NULL;
        if (!row) {
            snprintf(why, cap, "%.60s cannot be changed while the program runs", name);
            return -WS_EINVAL;
        }
        if (ws_setting_check(row, command->change[i].value, reason, sizeof reason) != 0) {
            snprintf(why, cap, "%s=%.40s %s", name, command->change[i].value, reason);
            return -WS_EINVAL;
        }
    }
    if (ws_plan_make(&plan, value_after(command, "WARPSIGHT_SET", ""), value_after(command, "WARPSIGHT_METRICS", "")) !=
        0) {
        snprintf(why, cap, "no such set or metric: %.80s", plan.bad);
        return -WS_EINVAL;
    }
    if (strncmp(kernel, "regex:", 6) == 0) {
        if (regcomp(&expression, kernel + 6, REG_EXTENDED | REG_NOSUB) != 0) {
            snprintf(why, cap, "the kernel filter '%.80s' is not a valid expression", kernel);
            return -WS_EINVAL;
        }
        regfree(&expression);
    }
    return 0;
}

static int apply(const struct ws_control_command *command, char *why, size_t cap)
{
    int err = 0;
    for (size_t i = 0; err == 0 && i < command->change_count; i++)
        err = ws_settings_change(&ws_settings, ws_setting_find(command->change[i].name), command->change[i].value, why,
                                 cap);
    return err;
}

static int start_locked(const struct ws_control_command *command, char *why, size_t cap)
{
    int err = 0;
    if (!collection.is_begun) {
        snprintf(why, cap, "nothing can be collected in this process: its report says why");
        return -WS_EUNSUP;
    }
    /* Other settings make another plan: what runs by the old one ends first. */
    if (command->change_count > 0) {
        switch_off("ctl");
        err = disarm();
        if (err == 0)
            err = apply(command, why, cap);
        if (err != 0)
            return err;
    }
    if (!switch_on("ctl", why, cap))
        return -WS_EUNSUP;
    collection.is_held = false;
    collection.until_ns = command->duration_ms > 0 ? ws_now_ns() + command->duration_ms * 1000000 : 0;
    collection.until_steady_ns = command->duration_ms > 0 ? ws_steady_ns() + command->duration_ms * 1000000 : 0;
    collection.changes++;
    return 0;
}

int ws_collection_start(const struct ws_control_command *command, char *why, size_t cap)
{
    int err = ws_collection_check(command, why, cap);
    if (err != 0)
        return err;
    if (!may_attach())
        return 1;
    pthread_mutex_lock(&collection.lock);
    err = start_locked(command, why, cap);
    pthread_mutex_unlock(&collection.lock);
    return err;
}

int ws_collection_stop(const char *reason)
{
    int err;
    pthread_mutex_lock(&collection.lock);
    collection.is_held = true;
    switch_off(reason);
    err = disarm();
    pthread_mutex_unlock(&collection.lock);
    return err;
}

/* Samplers of the whole GPU follow at the next wake: a stop decodes what there is, which is no work for a program's
 * thread. */
static void follow_timeline(bool is_final)
{
    bool is_paused = ws_state_get() == WS_STATE_IDLE;
    if (!collection.has_timeline)
        return;
    if (!is_final && is_paused != collection.is_timeline_paused) {
        if (is_paused)
            ws_timeline_pause();
        else
            ws_timeline_resume();
        collection.is_timeline_paused = is_paused;
    }
    if (is_final)
        ws_timeline_finish();
}

static void follow_sampling(bool is_final)
{
    bool is_paused = ws_state_get() == WS_STATE_IDLE;
    CUcontext changed[CONTEXTS_MAX];
    size_t n = 0;
    if (!collection.has_sampling)
        return;
    pthread_mutex_lock(&contexts.lock);
    for (size_t i = 0; i < CONTEXTS_MAX && !is_final; i++)
        if (contexts.at[i].handle && contexts.at[i].is_sampled == is_paused) {
            changed[n++] = contexts.at[i].handle;
            contexts.at[i].is_sampled = !is_paused;
        }
    pthread_mutex_unlock(&contexts.lock);
    /* Without the lock: a context that goes meanwhile waits for nobody, and CUPTI refuses what comes too late. */
    for (size_t i = 0; i < n; i++) {
        bool is_done = is_paused ? ws_sampling_stop(changed[i], 0) : ws_sampling_start(changed[i], 0);
        if (!is_done)
            note_sampled(changed[i], is_paused); /* the next tick asks again */
    }
    ws_sampling_drain(is_final);
}

void ws_collection_tick(bool is_final)
{
    enum ws_state state = ws_state_get();
    bool may_switch = *ws_settings.nvtx && may_attach();
    void (*meet)(uint32_t context, uint32_t device);
    bool is_flushed;
    if (is_final)
        tell_of_ranges();
    pthread_mutex_lock(&collection.lock);
    if (collection.until_steady_ns != 0 && ws_steady_ns() >= collection.until_steady_ns) {
        collection.is_held = true;
        switch_off("duration");
    }
    if (!is_final && collection.is_held && ws_state_get() == WS_STATE_IDLE)
        (void)disarm();
    if (!is_final)
        catch_up_with_ranges(may_switch);
    meet = collection.hooks.meet_context;
    is_flushed =
        collection.has_trace && (is_final || state == WS_STATE_ON || ws_steady_ns() < collection.tail_until_ns);
    pthread_mutex_unlock(&collection.lock);
    if (is_flushed && state != WS_STATE_OFF && atomic_load(&collection.has_context) && ws_counters_wait_idle())
        ws_activity_flush(is_final);
    ws_activity_read();
    ws_activity_each_new_context(meet); /* none before it began */
    if (is_final)
        ws_counters_finish();
    if (state != WS_STATE_OFF && atomic_load(&collection.has_context))
        follow_sampling(is_final);
    follow_timeline(is_final);
}

bool ws_collection_yield(void)
{
    bool is_off = false;
    if (collection.has_timeline || collection.has_sampling)
        return false;
    pthread_mutex_lock(&collection.lock);
    collection.is_held = true;
    switch_off("yield");
    pthread_mutex_unlock(&collection.lock);
    for (int i = 0; i < YIELD_TRIES && !is_off; i++) {
        pthread_mutex_lock(&collection.lock);
        is_off = disarm() == 0;
        pthread_mutex_unlock(&collection.lock);
    }
    if (!is_off)
        return false;
    if (collection.has_trace && atomic_load(&collection.has_context))
        ws_activity_flush(true); /* read at the next wake */
    pthread_mutex_lock(&collection.lock);
    collection.has_trace = false; /* CUPTI's buffers are the other tool's now: no flush of ours */
    collection.is_begun = false;
    collection.subscriber = NULL;
    atomic_store(&collection.is_attached, false);
    pthread_mutex_unlock(&collection.lock);
    return true;
}

uint64_t ws_collection_changes(void)
{
    uint64_t changes;
    pthread_mutex_lock(&collection.lock);
    changes = collection.changes;
    pthread_mutex_unlock(&collection.lock);
    return changes;
}

void ws_collection_tell(struct ws_control_state *out)
{
    pthread_mutex_lock(&collection.lock);
    out->is_on = collection.is_begun && ws_state_get() == WS_STATE_ON;
    out->since_ns = collection.is_begun ? collection.since_ns : ws_now_ns();
    out->until_ns = collection.until_ns;
    snprintf(out->reason, sizeof out->reason, "%s", collection.reason);
    out->settings_length = ws_settings_diff(&ws_settings, out->settings, sizeof out->settings);
    pthread_mutex_unlock(&collection.lock);
}
