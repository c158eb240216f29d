/* SPDX-License-Identifier: MIT
 * counters.c: hardware counters of chosen launches, by the range profiler.
 *
 * Once per context: ProfilerInitialize, counter availability, host object of the chip, metrics added
 * in ONE call (two calls make two passes), config image, RangeProfilerEnable, counter-data image.
 * Per chosen launch, in the driver-API callback: enter: image initialised, SetConfig(AutoRange), Start;
 * exit: Stop, DecodeData, Evaluate. maxRangesPerPass is 1: it is the cost knob (64 costs 15 % more,
 * 2048 five times as much on an H200).
 *
 * Rotation (UserReplay): the launch runs once, on live memory, and serves one pass. CUPTI ignores the
 * pass index it is given after the first session; each Start/Stop advances one counter of the
 * context, which `pass` mirrors. After a decode only that pass's metrics are valid, the others NaN.
 * The kernel trace is off for that one launch (see activity.h): it has no activity record.
 *
 * --replay-mode auto mixes both over one config image: the mode is a parameter of SetConfig, which comes before every
 * Start anyway. What an H200 with CUPTI 13.0 does then: a replay takes the passes from the counter's present one to the
 * last and leaves it at 0, so one that is to have them all begins at 0; and where the first session since Enable was
 * one of rotation, the first launch to be replayed crashes inside CUPTI. In both cases the profiler is disabled and
 * enabled anew before the replay (renew_profiler(): 165 ms, and the passes begin anew), or the kernel is rotated, too:
 * must_renew(), is_rotating(). A mode whose values stop being valid is not used again.
 *
 * Locks: `gate` is entered by every launch that is not profiled and closed by the one that is, from its enter to its
 * exit callback: a foreign launch inside a range would be a second range. `lock` guards the context table, the
 * selection and the budget; it is never held across a call of CUPTI or the driver that launches or waits.
 *
 * A launch that waits for another one which waits at the gate never returns (collectives of several GPUs in one
 * process), and CUPTI may hang by itself: watch.h breaks the gate then, and no launch is profiled any more. */
#include "counters.h"

#include "../analyzer/value.h"
#include "activity.h"
#include "collection.h"
#include "gate.h"
#include "perf_library.h"
#include "plan.h"
#include "select.h"
#include "spool.h"
#include "state.h"
#include "steady.h"
#include "translate.h"
#include "watch.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CONTEXTS_MAX 64
#define RANGES 1 /* see above */
#define STREAM_UNKNOWN 0xffffffffu
#define PASS_NONE 0xffffffffu
#define RENEWALS_MAX 8         /* times that a context's profiler is started anew for a replay */
#define ROTATING_NS 1000000000 /* a round of rotation is under way when its last launch is no older */
#define EMPTY_MAX 2            /* sessions without one valid value after which a mode is given up */
#define IDLE_STEPS 20          /* x 5 ms that a flush waits for a profiled launch to end */
#define BUSY_MS 2000           /* a launch waits so long for those under way to return; after */
#define BUSY_MAX 3             /* such times in a row none is counted any more */
#define LATE_PREDICTIONS 10    /* a launch is late after that many times its predicted cost, at least */

/* Marks left in correlationData between enter and exit. Numbers that nobody leaves by chance: where callbacks are
 * switched on while launches are under way, an exit may be told whose enter was not. */
#define MARK_NONE UINT64_C(0)
#define MARK_GATE_READ UINT64_C(0x7761727073676174)
#define MARK_PROFILED UINT64_C(0x7761727073707266)

/* The metrics of a plan as one chip has them. */
struct chip {
    char name[32];
    CUpti_Profiler_Host_Object *host;
    const char *names[WS_PLAN_MAX]; /* resolved CUPTI names, [count] */
    uint32_t keys[WS_PLAN_MAX];     /* string ids of their keys, [count] */
    double scales[WS_PLAN_MAX];
    size_t count;
    uint32_t absent[WS_PLAN_MAX]; /* string ids of keys this chip lacks, [absent_count] */
    size_t absent_count;
    char text[WS_PLAN_MAX][WS_PLAN_NAME_MAX];
    uint8_t *availability; /* [availability_size]; the host object may look at it */
    size_t availability_size;
    uint8_t *config;
    size_t config_size;
    uint32_t passes;
};

struct context {
    CUcontext handle;
    uint32_t uid;
    CUdevice device;
    struct chip *chip;
    CUpti_RangeProfiler_Object *profiler;
    uint8_t *image;
    size_t image_size;
    uint32_t pass; /* the one that the next Start serves, or begins with */
    bool is_ready;
    bool is_used;       /* a launch was profiled since the profiler was enabled */
    bool is_replayable; /* and the first was replayed */
    int64_t rotated_ns; /* when the last launch was rotated */
    unsigned renewals;
};

/* The launch being profiled; who closed the gate owns it. */
struct profile {
    struct context *context;
    struct ws_signature *signature;
    struct ws_launch_call call;
    struct ws_risk risk;
    enum ws_mode mode;
    enum ws_mode_reason reason;
    uint64_t ordinal;
    int64_t predicted_ns;
    int64_t started_ns, steady_ns; /* since when the program's thread is held, by both clocks */
};

static struct {
    pthread_mutex_t lock;
    struct ws_gate gate;
    _Atomic(pthread_t) profiling_thread; /* 0 = none: glibc's are addresses */
    atomic_bool is_off;                  /* a launch did not return: no other is profiled */
    atomic_uint busy;                    /* times in a row that the gate could not be closed */
    bool is_watched;
    atomic_ullong session; /* counts profiled launches: odd while one is under way */
    struct ws_budget budget;
    int64_t setup_ns, predicted_ns; /* totals for the report */
    uint64_t devices;               /* bit per ordinal that had a context */
    bool has_collectives;
    uint8_t empty[WS_MODE_COUNT]; /* sessions in a row without a valid value */
    bool is_failed[WS_MODE_COUNT];
    struct ws_plan plan;
    struct ws_select select;
    struct context contexts[CONTEXTS_MAX];
    size_t context_count;
    struct chip *chips[CONTEXTS_MAX];
    size_t chip_count;
    struct profile profile;
    uint64_t profile_number;
    double values[WS_PLAN_MAX];
    bool is_initialized; /* cuptiProfilerInitialize succeeded */
    bool is_refused;     /* it failed: no counters in this process */
} counters = {.lock = PTHREAD_MUTEX_INITIALIZER, .gate = WS_GATE_INIT};

static void *map_bytes(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* Report a failed call. Missing rights get their own code and remedy. */
void ws_counters_complain(const char *call, CUptiResult r)
{
    bool is_rights =
        r == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES || r == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES;
    ws_cupti_complain(is_rights ? "counters-no-rights" : "counters-failed", call, r,
                      is_rights ? ws_cupti_remedy_rights : "");
}

static bool is_auto(void)
{
    return ws_settings.replay == WS_REPLAY_AUTO;
}

/* One line on stderr, where the user asked for it (run --verbose). */
__attribute__((format(printf, 1, 2))) static void log_line(const char *format, ...)
{
    char line[1024] = "==WARPSIGHT== ";
    size_t n = strlen(line);
    va_list args;
    if (ws_settings.log < WS_LOG_INFO)
        return;
    va_start(args, format);
    vsnprintf(line + n, sizeof line - n - 1, format, args);
    va_end(args);
    n = strlen(line);
    line[n] = '\n';
    if (write(STDERR_FILENO, line, n + 1) < 0)
        return; /* nobody listens */
}

/* --- start ---------------------------------------------------------------------------------------- */

static bool start_select(void)
{
    struct ws_select *s = &counters.select;
    struct ws_signature *table = s->table;
    if (s->has_regex)
        regfree(&s->regex);
    /* The table stays where it is: a thread may have claimed a row just before the stop, and gives it back now. */
    if (table)
        memset(table, 0, WS_SELECT_SLOTS * sizeof *table);
    *s = (struct ws_select){.table = table ? table : map_bytes(WS_SELECT_SLOTS * sizeof *table)};
    s->skip = (uint64_t)ws_settings.skip;
    s->count = (uint64_t)ws_settings.count;
    s->every = (uint64_t)ws_settings.every;
    s->first_mode = ws_settings.replay == WS_REPLAY_ROTATE ? WS_MODE_ROTATE : WS_MODE_REPLAY;
    s->passes = 1;
    if (!s->table)
        return false;
    if (ws_select_filter(s, ws_settings.kernel, (enum ws_name_base)ws_settings.name_base) != 0) {
        ws_spool_status_now("filter-invalid", 2, "Give a POSIX extended regular expression after regex:",
                            "the kernel filter '%s' is not a valid expression: no counters", ws_settings.kernel);
        return false;
    }
    return true;
}

/* Under `lock`: launches that began before a stop may still look at the selection. */
static bool start_select_locked(void)
{
    bool is_started;
    pthread_mutex_lock(&counters.lock);
    is_started = start_select();
    pthread_mutex_unlock(&counters.lock);
    return is_started;
}

/* A limit that cannot be read is none, and the report says so; `run` refuses it before it starts anything. */
static void start_budget(void)
{
    struct ws_budget *b = &counters.budget;
    if (b->started_ns != 0)
        return; /* started again: what was spent is spent */
    b->started_ns = ws_steady_ns();
    if (*ws_settings.budget && ws_budget_parse_time(ws_settings.budget, &b->limit_ns) != 0)
        ws_spool_status_now("setting-invalid", 1, "Give a time such as 10s or 500ms.",
                            "WARPSIGHT_BUDGET=%.40s is no time: there is no such limit", ws_settings.budget);
    if (*ws_settings.max_overhead && ws_budget_parse_percent(ws_settings.max_overhead, &b->overhead) != 0)
        ws_spool_status_now("setting-invalid", 1, "Give a percentage such as 5%.",
                            "WARPSIGHT_MAX_OVERHEAD=%.40s is no percentage: there is no such limit",
                            ws_settings.max_overhead);
}

/* By the watching thread: whoever waits at the gate goes on. The launch itself is inside CUPTI or the driver, where
 * nobody can reach it; should it come back, it is finished in its own thread. */
static void give_up(void)
{
    const struct profile *p = &counters.profile;
    char base[256], alias[256];
    atomic_store(&counters.is_off, true);
    ws_gate_break(&counters.gate);
    ws_select_names(p->call.name, base, alias, sizeof base);
    ws_spool_status_now("replay-hung", 2, "Leave the kernel out with --kernel-name, or use --replay-mode none.",
                        "counting a launch of %s by %s did not return in time: no further launch is counted, the "
                        "others go on; what hangs inside CUPTI cannot be interrupted",
                        alias, p->mode == WS_MODE_ROTATE ? "rotation" : "replay");
}

/* No launch is under way, and none begins until ws_gate_open(). Waits for one that is being profiled without an end,
 * for watch.h looks after it; others have a time, since one of them may wait for what this thread is about to launch.
 * False: the gate is broken, or they did not return. */
static bool close_gate(void)
{
    while (!ws_gate_close_within(&counters.gate, BUSY_MS)) {
        if (atomic_load(&counters.is_off))
            return false;
        if (ws_gate_is_closed(&counters.gate))
            continue;
        if (atomic_fetch_add(&counters.busy, 1) + 1 == BUSY_MAX) {
            atomic_store(&counters.is_off, true);
            ws_gate_break(&counters.gate);
        }
        ws_spool_status_now("launches-busy", 1, "",
                            "launches of other threads did not return for %d s while one was to be counted: it was "
                            "not, and after %d such times in a row no further one is",
                            BUSY_MS / 1000, BUSY_MAX);
        return false;
    }
    atomic_store(&counters.busy, 0);
    return true;
}

bool ws_counters_start(void)
{
    if (atomic_load(&counters.is_off))
        return false;
    if (ws_settings.replay == WS_REPLAY_NONE)
        return false;
    if (ws_plan_make(&counters.plan, ws_settings.set, ws_settings.metrics) != 0)
        ws_spool_status_now("metric-unknown", 1, "See: warpsight list metrics", "no such set or metric: %s",
                            counters.plan.bad);
    if (counters.plan.count == 0)
        return false;
    if (!ws_cupti.has_counters) {
        ws_spool_status_now("counters-unavailable", 1, "Use the CUPTI of a CUDA toolkit 12.6 or newer.",
                            "this CUPTI has no %s: no counters are collected", ws_cupti.missing_counters);
        return false;
    }
    if (!start_select_locked())
        return false;
    start_budget();
    if (!counters.is_watched && ws_watch_start(give_up))
        ws_spool_add_thread();
    counters.is_watched = true;
    return true;
}

/* --- once per context ------------------------------------------------------------------------------ */

void ws_counters_chip_name(CUdevice device, char *out, size_t size)
{
    CUpti_Device_GetChipName_Params p = {.structSize = CUpti_Device_GetChipName_Params_STRUCT_SIZE,
                                         .deviceIndex = (size_t)device};
    out[0] = 0;
    if (ws_cupti.cuptiDeviceGetChipName && ws_cupti.cuptiDeviceGetChipName(&p) == CUPTI_SUCCESS && p.pChipName)
        snprintf(out, size, "%s", p.pChipName);
}

/* 70 to 120 ms: it maps the counter library. Only from a context on, before it answers 999. */
bool ws_counters_initialize(void)
{
    CUpti_Profiler_Initialize_Params p = {.structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE};
    CUptiResult r;
    if (counters.is_initialized || counters.is_refused)
        return counters.is_initialized;
    r = ws_cupti.cuptiProfilerInitialize(&p);
    counters.is_initialized = r == CUPTI_SUCCESS;
    counters.is_refused = !counters.is_initialized;
    if (counters.is_refused)
        ws_counters_complain("cuptiProfilerInitialize", r);
    return counters.is_initialized;
}

CUpti_Profiler_Host_Object *ws_counters_host_open(const char *chip, const uint8_t *availability,
                                                  CUpti_ProfilerType type)
{
    CUpti_Profiler_Host_Initialize_Params p = {.structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE,
                                               .profilerType = type,
                                               .pChipName = chip,
                                               .pCounterAvailabilityImage = availability};
    CUptiResult r = ws_cupti.cuptiProfilerHostInitialize(&p);
    if (r != CUPTI_SUCCESS) {
        ws_counters_complain("cuptiProfilerHostInitialize", r);
        return NULL;
    }
    return p.pHostObject;
}

void ws_counters_host_close(CUpti_Profiler_Host_Object *host)
{
    CUpti_Profiler_Host_Deinitialize_Params p = {.structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE,
                                                 .pHostObject = host};
    if (host)
        (void)ws_cupti.cuptiProfilerHostDeinitialize(&p);
}

static bool has_metric(CUpti_Profiler_Host_Object *host, const char *name)
{
    CUpti_Profiler_Host_GetMetricProperties_Params p = {.structSize =
                                                            CUpti_Profiler_Host_GetMetricProperties_Params_STRUCT_SIZE,
                                                        .pHostObject = host,
                                                        .pMetricName = name};
    return ws_cupti.cuptiProfilerHostGetMetricProperties(&p) == CUPTI_SUCCESS;
}

bool ws_counters_host_find(CUpti_Profiler_Host_Object *host, const char *alternatives, char *name, size_t size)
{
    const char *next;
    size_t length;
    while (ws_metric_next_name(&alternatives, &next, &length)) {
        snprintf(name, size, "%.*s", (int)length, next);
        if (has_metric(host, name))
            return true;
    }
    return false;
}

/* Choose each entry's first name that this chip has. */
static void resolve(struct chip *chip)
{
    for (size_t i = 0; i < counters.plan.count; i++) {
        const struct ws_plan_entry *e = &counters.plan.entry[i];
        char *name = chip->text[chip->count];
        if (!ws_counters_host_find(chip->host, e->cupti, name, WS_PLAN_NAME_MAX)) {
            chip->absent[chip->absent_count++] = ws_spool_string_id(e->key);
            continue;
        }
        chip->names[chip->count] = name;
        chip->keys[chip->count] = ws_spool_string_id(e->key);
        chip->scales[chip->count] = e->scale;
        chip->count++;
    }
}

CUptiResult ws_counters_host_add(CUpti_Profiler_Host_Object *host, const char **names, size_t count)
{
    CUpti_Profiler_Host_ConfigAddMetrics_Params p = {.structSize =
                                                         CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE,
                                                     .pHostObject = host,
                                                     .ppMetricNames = names,
                                                     .numMetrics = count};
    return ws_cupti.cuptiProfilerHostConfigAddMetrics(&p);
}

/* Add all metrics in one call. A name with a good base and a bad suffix passes resolve() and is
 * refused here; then the object is unusable (GetConfigImage would crash) and the caller starts anew. */
static CUptiResult add_metrics(struct chip *chip)
{
    return ws_counters_host_add(chip->host, chip->names, chip->count);
}

/* Take out of the list what a fresh host object refuses when asked for it alone. */
static void drop_refused(struct chip *chip, const uint8_t *availability)
{
    size_t kept = 0;
    for (size_t i = 0; i < chip->count; i++) {
        struct chip one = {.count = 1};
        CUptiResult r = CUPTI_ERROR_UNKNOWN;
        one.names[0] = chip->names[i];
        one.host = ws_counters_host_open(chip->name, availability, CUPTI_PROFILER_TYPE_RANGE_PROFILER);
        if (one.host)
            r = add_metrics(&one);
        ws_counters_host_close(one.host);
        if (r != CUPTI_SUCCESS) {
            ws_spool_status_now("metric-refused", 1, "See: warpsight list metrics",
                                "this GPU (%s) refuses the metric %s", chip->name, chip->names[i]);
            chip->absent[chip->absent_count++] = chip->keys[i];
            continue;
        }
        chip->names[kept] = chip->names[i];
        chip->keys[kept] = chip->keys[i];
        chip->scales[kept] = chip->scales[i];
        kept++;
    }
    chip->count = kept;
}

bool ws_counters_host_config(CUpti_Profiler_Host_Object *host, struct ws_host_config *out)
{
    CUpti_Profiler_Host_GetConfigImageSize_Params size = {
        .structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE, .pHostObject = host};
    CUpti_Profiler_Host_GetConfigImage_Params image = {
        .structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE, .pHostObject = host};
    CUpti_Profiler_Host_GetNumOfPasses_Params passes = {.structSize =
                                                            CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE};
    CUptiResult r = ws_cupti.cuptiProfilerHostGetConfigImageSize(&size);
    if (r != CUPTI_SUCCESS) {
        ws_counters_complain("cuptiProfilerHostGetConfigImageSize", r);
        return false;
    }
    out->size = size.configImageSize;
    out->image = map_bytes(out->size);
    if (!out->image)
        return false;
    image.configImageSize = out->size;
    image.pConfigImage = out->image;
    r = ws_cupti.cuptiProfilerHostGetConfigImage(&image);
    if (r != CUPTI_SUCCESS) {
        ws_counters_complain("cuptiProfilerHostGetConfigImage", r);
        return false;
    }
    passes.configImageSize = out->size;
    passes.pConfigImage = out->image;
    r = ws_cupti.cuptiProfilerHostGetNumOfPasses(&passes);
    if (r != CUPTI_SUCCESS) {
        ws_counters_complain("cuptiProfilerHostGetNumOfPasses", r);
        return false;
    }
    out->passes = (uint32_t)passes.numOfPasses;
    return true;
}

static bool make_config(struct chip *chip)
{
    struct ws_host_config config;
    if (!ws_counters_host_config(chip->host, &config))
        return false;
    chip->config = config.image;
    chip->config_size = config.size;
    chip->passes = config.passes;
    return true;
}

static bool fill_chip(struct chip *chip, const uint8_t *availability)
{
    CUptiResult r;
    chip->host = ws_counters_host_open(chip->name, availability, CUPTI_PROFILER_TYPE_RANGE_PROFILER);
    if (!chip->host)
        return false;
    resolve(chip);
    if (chip->count == 0) {
        ws_spool_status_now("counters-failed", 1, "", "this GPU (%s) has none of the wanted metrics", chip->name);
        return false;
    }
    r = add_metrics(chip);
    if (r != CUPTI_SUCCESS && r != CUPTI_ERROR_INVALID_PARAMETER) {
        ws_counters_complain("cuptiProfilerHostConfigAddMetrics", r); /* not about a name: every one would be refused */
        return false;
    }
    if (r != CUPTI_SUCCESS) {
        ws_counters_host_close(chip->host);
        drop_refused(chip, availability);
        chip->host = ws_counters_host_open(chip->name, availability, CUPTI_PROFILER_TYPE_RANGE_PROFILER);
        if (!chip->host || chip->count == 0 || add_metrics(chip) != CUPTI_SUCCESS) {
            ws_spool_status_now("counters-failed", 1, "", "the metrics cannot be configured on %s", chip->name);
            return false;
        }
    }
    return make_config(chip);
}

/* A chip without a config gives no counters. */
static void drop_config(struct chip *chip)
{
    if (chip->config)
        munmap(chip->config, chip->config_size);
    chip->config = NULL;
}

/* The chip's plan, made the first time a device of this kind gets a context. */
static struct chip *chip_of(CUcontext context, CUdevice device)
{
    CUpti_Profiler_GetCounterAvailability_Params a = {
        .structSize = CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE, .ctx = context};
    struct chip *chip;
    char name[32];
    CUptiResult r;
    ws_counters_chip_name(device, name, sizeof name);
    for (size_t i = 0; i < counters.chip_count; i++)
        if (strcmp(counters.chips[i]->name, name) == 0)
            return counters.chips[i]->config ? counters.chips[i] : NULL;
    chip = map_bytes(sizeof *chip);
    if (!chip || counters.chip_count == CONTEXTS_MAX)
        return NULL;
    memcpy(chip->name, name, sizeof name);
    counters.chips[counters.chip_count++] = chip;
    r = ws_cupti.cuptiProfilerGetCounterAvailability(&a);
    if (r == CUPTI_SUCCESS) {
        chip->availability_size = a.counterAvailabilityImageSize;
        a.pCounterAvailabilityImage = chip->availability = map_bytes(chip->availability_size);
        r = a.pCounterAvailabilityImage ? ws_cupti.cuptiProfilerGetCounterAvailability(&a) : CUPTI_ERROR_OUT_OF_MEMORY;
    }
    if (r != CUPTI_SUCCESS) {
        ws_counters_complain("cuptiProfilerGetCounterAvailability", r);
        return NULL;
    }
    if (!fill_chip(chip, a.pCounterAvailabilityImage)) {
        drop_config(chip);
        return NULL;
    }
    if (chip->passes > WS_SELECT_PASSES_MAX && ws_settings.replay != WS_REPLAY_KERNEL) {
        ws_spool_status_now("rotation-too-long", 1, "Ask for fewer sets.",
                            "%u passes are more than rotation handles (%u)", chip->passes, WS_SELECT_PASSES_MAX);
        if (!is_auto())
            drop_config(chip);
        counters.is_failed[WS_MODE_ROTATE] = true;
        return chip->config ? chip : NULL;
    }
    if (chip->passes > counters.select.passes)
        counters.select.passes = chip->passes <= WS_SELECT_PASSES_MAX ? chip->passes : WS_SELECT_PASSES_MAX;
    return chip;
}

static bool enable_profiler(struct context *c)
{
    CUpti_RangeProfiler_Enable_Params enable = {.structSize = CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE,
                                                .ctx = c->handle};
    CUpti_RangeProfiler_GetCounterDataSize_Params size = {.structSize =
                                                              CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE,
                                                          .pMetricNames = c->chip->names,
                                                          .numMetrics = c->chip->count,
                                                          .maxNumOfRanges = RANGES,
                                                          .maxNumRangeTreeNodes = RANGES};
    CUptiResult r = ws_cupti.cuptiRangeProfilerEnable(&enable);
    if (r != CUPTI_SUCCESS) {
        ws_counters_complain("cuptiRangeProfilerEnable", r);
        return false;
    }
    c->profiler = enable.pRangeProfilerObject;
    size.pRangeProfilerObject = c->profiler;
    r = ws_cupti.cuptiRangeProfilerGetCounterDataSize(&size);
    if (r != CUPTI_SUCCESS) {
        ws_counters_complain("cuptiRangeProfilerGetCounterDataSize", r);
        return false;
    }
    c->image_size = size.counterDataSize;
    c->image = map_bytes(c->image_size);
    return c->image != NULL;
}

/* Whether a replay would crash or have some of its passes only (see above). */
static bool must_renew(const struct context *c)
{
    return c->is_used && (!c->is_replayable || c->pass != 0);
}

/* Whether must_renew() is no reason to do so: the passes would begin anew, too, and the last ones never come. */
static bool is_rotating(const struct context *c)
{
    return c->renewals >= RENEWALS_MAX || (c->pass != 0 && ws_steady_ns() - c->rotated_ns < ROTATING_NS);
}

static void free_profiler(struct context *c)
{
    CUpti_RangeProfiler_Disable_Params p = {.structSize = CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE,
                                            .pRangeProfilerObject = c->profiler};
    if (c->profiler)
        (void)ws_cupti.cuptiRangeProfilerDisable(&p);
    if (c->image)
        munmap(c->image, c->image_size);
    c->profiler = NULL;
    c->image = NULL;
}

static bool renew_profiler(struct context *c)
{
    bool is_ready;
    free_profiler(c);
    is_ready = enable_profiler(c);
    pthread_mutex_lock(&counters.lock); /* choose() reads them in other threads */
    c->is_ready = is_ready;
    c->is_used = false;
    c->pass = 0;
    c->renewals++;
    pthread_mutex_unlock(&counters.lock);
    return is_ready;
}

void ws_counters_context_created(CUcontext context, CUdevice device)
{
    struct context *c = NULL;
    int64_t from = ws_steady_ns();
    pthread_mutex_lock(&counters.lock);
    for (size_t i = 0; i < counters.context_count && !c; i++)
        if (!counters.contexts[i].handle)
            c = &counters.contexts[i];
    if (!c && counters.context_count < CONTEXTS_MAX)
        c = &counters.contexts[counters.context_count++];
    if (!c) {
        ws_spool_status_now("contexts-many", 1, "", "more than %d contexts at once: the others get no counters",
                            CONTEXTS_MAX);
    } else {
        *c = (struct context){.handle = context, .device = device};
        (void)ws_cupti.cuptiGetContextId(context, &c->uid);
        if (ws_counters_initialize())
            c->chip = chip_of(context, device);
        c->is_ready = c->chip && enable_profiler(c);
    }
    if (device >= 0 && device < 64)
        counters.devices |= UINT64_C(1) << device;
    counters.setup_ns += ws_steady_ns() - from;
    ws_budget_spend(&counters.budget, ws_steady_ns() - from);
    pthread_mutex_unlock(&counters.lock);
}

/* Gate and lock are held. */
static void forget_context(struct context *c)
{
    free_profiler(c);
    *c = (struct context){.handle = NULL};
}

void ws_counters_context_destroyed(CUcontext context)
{
    bool is_alone = close_gate();
    if (!is_alone && atomic_load(&counters.is_off))
        return; /* a launch hangs in there: touch nothing */
    pthread_mutex_lock(&counters.lock);
    for (size_t i = 0; i < counters.context_count; i++)
        if (counters.contexts[i].handle == context && is_alone)
            forget_context(&counters.contexts[i]);
        else if (counters.contexts[i].handle == context)
            counters.contexts[i] = (struct context){.handle = NULL}; /* not disabled: others are inside CUPTI */
    pthread_mutex_unlock(&counters.lock);
    if (is_alone)
        ws_gate_open(&counters.gate);
}

static void forget_chip(struct chip *chip)
{
    ws_counters_host_close(chip->host);
    if (chip->availability)
        munmap(chip->availability, chip->availability_size);
    if (chip->config)
        munmap(chip->config, chip->config_size);
    munmap(chip, sizeof *chip);
}

bool ws_counters_stop(unsigned wait_ms, void (*under_gate)(void))
{
    if (atomic_load(&counters.is_off)) {
        under_gate(); /* a launch hangs in there: what it uses stays */
        return true;
    }
    if (!ws_gate_close_within(&counters.gate, wait_ms))
        return false;
    under_gate();
    pthread_mutex_lock(&counters.lock);
    for (size_t i = 0; i < counters.context_count; i++)
        if (counters.contexts[i].handle)
            forget_context(&counters.contexts[i]);
    for (size_t i = 0; i < counters.chip_count; i++)
        forget_chip(counters.chips[i]);
    counters.chip_count = 0;
    pthread_mutex_unlock(&counters.lock);
    ws_gate_open(&counters.gate);
    return true;
}

/* --- one launch ------------------------------------------------------------------------------------ */

/* A launch into a stream that is being captured runs nothing, and profiling it would break the
 * capture. Any doubt counts as capturing. */
static bool is_capturing(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!ws_driver.stream_is_capturing)
        return false;
    return ws_driver.stream_is_capturing(stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* Collectives wait for other GPUs and cooperative kernels for each other's blocks: running one of
 * them again alone can hang. */
static bool is_replay_unsafe(struct profile *p)
{
    if (p->risk.is_cooperative) {
        ws_spool_status_now("cooperative-not-replayed", 0, "Use --replay-mode rotate.",
                            "cooperative launches are traced but not replayed for counters");
        p->reason = WS_REASON_COOPERATIVE;
        return true;
    }
    if (p->risk.is_collective) {
        ws_spool_status_now("collective-not-replayed", 0, "Use --replay-mode rotate.",
                            "collective kernels (NCCL, NVSHMEM) are traced but never replayed for counters");
        p->reason = WS_REASON_COLLECTIVE;
        return true;
    }
    return false;
}

/* What is known of a launch before it is profiled. Asks the driver: not under `lock`. */
static void look_at(struct profile *p)
{
    struct ws_risk *r = &p->risk;
    CUcontext current = NULL;
    size_t free_bytes = 0, total = 0;
    r->is_cooperative = p->call.is_cooperative;
    r->launch_ns = ws_activity_seen_ns(ws_activity_name_id(p->call.name), p->call.grid, p->call.block);
    /* Rotation neither fears nor copies memory. The driver tells of the current context's GPU. */
    if (ws_settings.replay == WS_REPLAY_ROTATE || !ws_driver.mem_get_info || !ws_driver.ctx_get_current ||
        ws_driver.ctx_get_current(&current) != CUDA_SUCCESS || current != p->context->handle ||
        ws_driver.mem_get_info(&free_bytes, &total) != CUDA_SUCCESS || free_bytes > total)
        return;
    r->has_memory = true;
    r->free_bytes = free_bytes;
    r->footprint_bytes = total - free_bytes;
}

static struct context *find_context(CUcontext handle)
{
    for (size_t i = 0; i < counters.context_count; i++)
        if (counters.contexts[i].handle == handle && counters.contexts[i].is_ready)
            return &counters.contexts[i];
    return NULL;
}

static bool fail_start(struct context *c, const char *call, CUptiResult r)
{
    if (counters.profile.mode == WS_MODE_ROTATE)
        ws_activity_trace_kernels(true);
    ws_counters_complain(call, r);
    pthread_mutex_lock(&counters.lock); /* choose() reads it in other threads */
    c->is_ready = false;                /* a profiler that failed once is not tried again in this context */
    pthread_mutex_unlock(&counters.lock);
    return false;
}

static bool start_range(struct context *c)
{
    bool is_rotating = counters.profile.mode == WS_MODE_ROTATE;
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params init = {
        .structSize = CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE,
        .pRangeProfilerObject = c->profiler,
        .counterDataSize = c->image_size,
        .pCounterData = c->image};
    CUpti_RangeProfiler_SetConfig_Params config = {.structSize = CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE,
                                                   .pRangeProfilerObject = c->profiler,
                                                   .configSize = c->chip->config_size,
                                                   .pConfig = c->chip->config,
                                                   .counterDataImageSize = c->image_size,
                                                   .pCounterDataImage = c->image,
                                                   .range = CUPTI_AutoRange,
                                                   .replayMode = is_rotating ? CUPTI_UserReplay : CUPTI_KernelReplay,
                                                   .maxRangesPerPass = RANGES,
                                                   .numNestingLevels = 1,
                                                   .minNestingLevel = 1,
                                                   .passIndex = is_rotating ? c->pass : 0,
                                                   .targetNestingLevel = 0};
    CUpti_RangeProfiler_Start_Params start = {.structSize = CUpti_RangeProfiler_Start_Params_STRUCT_SIZE,
                                              .pRangeProfilerObject = c->profiler};
    CUptiResult r;
    if (is_rotating)
        ws_activity_trace_kernels(false);
    r = ws_cupti.cuptiRangeProfilerCounterDataImageInitialize(&init);
    if (r != CUPTI_SUCCESS)
        return fail_start(c, "cuptiRangeProfilerCounterDataImageInitialize", r);
    r = ws_cupti.cuptiRangeProfilerSetConfig(&config);
    if (r != CUPTI_SUCCESS)
        return fail_start(c, "cuptiRangeProfilerSetConfig", r);
    r = ws_cupti.cuptiRangeProfilerStart(&start);
    if (r != CUPTI_SUCCESS)
        return fail_start(c, "cuptiRangeProfilerStart", r);
    return true;
}

/* Stop and decode; *pass receives the pass this range served. */
static bool stop_range(struct context *c, uint32_t *pass)
{
    CUpti_RangeProfiler_Stop_Params stop = {.structSize = CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE,
                                            .pRangeProfilerObject = c->profiler};
    CUpti_RangeProfiler_DecodeData_Params decode = {.structSize = CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE,
                                                    .pRangeProfilerObject = c->profiler};
    CUpti_RangeProfiler_GetCounterDataInfo_Params info = {.structSize =
                                                              CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE,
                                                          .pCounterDataImage = c->image,
                                                          .counterDataImageSize = c->image_size};
    bool is_rotating = counters.profile.mode == WS_MODE_ROTATE;
    CUptiResult r = ws_cupti.cuptiRangeProfilerStop(&stop);
    if (is_rotating)
        ws_activity_trace_kernels(true);
    *pass = c->pass;
    if (atomic_load(&counters.is_off))
        return false; /* given up meanwhile: others have launched into the range */
    if (r != CUPTI_SUCCESS)
        return fail_start(c, "cuptiRangeProfilerStop", r);
    pthread_mutex_lock(&counters.lock); /* choose() reads it in other threads */
    c->pass = stop.isAllPassSubmitted ? 0 : (uint32_t)stop.passIndex % c->chip->passes;
    pthread_mutex_unlock(&counters.lock);
    r = ws_cupti.cuptiRangeProfilerDecodeData(&decode);
    if (r != CUPTI_SUCCESS)
        return fail_start(c, "cuptiRangeProfilerDecodeData", r);
    r = ws_cupti.cuptiRangeProfilerGetCounterDataInfo(&info);
    if (r != CUPTI_SUCCESS)
        return fail_start(c, "cuptiRangeProfilerGetCounterDataInfo", r);
    if (info.numTotalRanges == 0) {
        ws_spool_status_now("range-empty", 1, "", "a profiled launch gave no counter range");
        return false;
    }
    return true;
}

CUptiResult ws_counters_host_evaluate(CUpti_Profiler_Host_Object *host, const uint8_t *image, size_t image_size,
                                      size_t index, const char **names, size_t count, double *values)
{
    CUpti_Profiler_Host_EvaluateToGpuValues_Params p = {.structSize =
                                                            CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE,
                                                        .pHostObject = host,
                                                        .pCounterDataImage = image,
                                                        .counterDataImageSize = image_size,
                                                        .rangeIndex = index,
                                                        .ppMetricNames = names,
                                                        .numMetrics = count,
                                                        .pMetricValues = values};
    CUptiResult r = ws_cupti.cuptiProfilerHostEvaluateToGpuValues(&p);
    if (r != CUPTI_SUCCESS)
        ws_counters_complain("cuptiProfilerHostEvaluateToGpuValues", r);
    return r;
}

static bool evaluate(struct context *c)
{
    return ws_counters_host_evaluate(c->chip->host, c->image, c->image_size, 0, c->chip->names, c->chip->count,
                                     counters.values) == CUPTI_SUCCESS;
}

static uint32_t stream_id(const struct profile *p)
{
    uint32_t id = STREAM_UNKNOWN;
    if (ws_cupti.cuptiGetStreamIdEx)
        (void)ws_cupti.cuptiGetStreamIdEx(p->context->handle, p->call.stream, p->call.is_per_thread_stream, &id);
    return id;
}

static void emit_metrics(const struct chip *chip, uint64_t number, enum ws_mode mode)
{
    for (size_t i = 0; i < chip->count; i++) {
        bool is_valid = isfinite(counters.values[i]);
        struct ws_rec_metric rec = {.profile = number,
                                    .key = chip->keys[i],
                                    .value = is_valid ? counters.values[i] * chip->scales[i] : 0.0,
                                    .why = is_valid ? WS_WHY_PRESENT : WS_WHY_NOT_VALID};
        /* In rotation NaN only means "another pass": its value comes with another launch. */
        if (is_valid || mode != WS_MODE_ROTATE)
            (void)ws_spool_metric(&rec);
    }
    for (size_t i = 0; i < chip->absent_count; i++) {
        struct ws_rec_metric rec = {.profile = number, .key = chip->absent[i], .why = WS_WHY_NOT_ON_CHIP};
        (void)ws_spool_metric(&rec);
    }
}

/* Returns the cost that it told. */
static int64_t emit_profile(const struct profile *p, uint32_t pass, uint64_t correlation)
{
    const struct ws_launch_call *call = &p->call;
    bool is_rotating = p->mode == WS_MODE_ROTATE;
    uint64_t number = ++counters.profile_number;
    int64_t cost = ws_steady_ns() - p->steady_ns;
    struct ws_rec_profile rec = {.profile = number,
                                 .name = ws_activity_name_id(call->name),
                                 .device = (uint32_t)p->context->device,
                                 .context = p->context->uid,
                                 .stream = stream_id(p),
                                 .correlation = correlation,
                                 .ordinal = p->ordinal,
                                 .grid_x = call->grid[0],
                                 .grid_y = call->grid[1],
                                 .grid_z = call->grid[2],
                                 .block_x = call->block[0],
                                 .block_y = call->block[1],
                                 .block_z = call->block[2],
                                 .dynamic_smem_bytes = call->dynamic_smem_bytes,
                                 .mode = p->mode,
                                 .passes = p->context->chip->passes,
                                 .pass_index = is_rotating ? pass : PASS_NONE,
                                 .cost_ns = cost,
                                 .started_ns = p->started_ns};
    (void)ws_spool_profile(&rec);
    emit_metrics(p->context->chip, number, p->mode);
    ws_spool_add_cost("profile", 1, cost);
    return cost;
}

/* CUPTI's own calls must not count as unsafe in a thread that captures a graph elsewhere. */
static void relax_capture(CUstreamCaptureMode *mode)
{
    *mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    if (ws_driver.exchange_capture_mode)
        (void)ws_driver.exchange_capture_mode(mode);
}

static void restore_capture(CUstreamCaptureMode *mode)
{
    if (ws_driver.exchange_capture_mode)
        (void)ws_driver.exchange_capture_mode(mode);
}

/* --- which launch, and how ------------------------------------------------------------------------- */

/* Whether the budget may have room for a launch of this signature; asked again each time that it had none, so without
 * a look at the memory. The first time goes the long way: the refusal is told with what is known. Under `lock`. */
static bool may_fit(struct ws_signature *s, const struct ws_risk *known, int64_t now_ns)
{
    enum ws_mode mode = (enum ws_mode)s->mode;
    int64_t least_ns = ws_budget_predict(&counters.budget, mode, known);
    if (is_auto() && mode == WS_MODE_REPLAY) { /* to be decided */
        int64_t rotate_ns = ws_budget_predict(&counters.budget, WS_MODE_ROTATE, known);
        least_ns = least_ns < rotate_ns ? least_ns : rotate_ns;
    }
    return !s->is_refused || ws_budget_fits(&counters.budget, now_ns, least_ns, &s->not_before_ns);
}

/* Whether this launch is a candidate; then fills *wanted and claims its signature. Under `lock`. */
static bool choose(const CUpti_CallbackData *data, const struct ws_launch_call *call, struct profile *wanted)
{
    struct context *c = find_context(data->context);
    struct ws_launch_key key = {.name = call->name, .dynamic_smem_bytes = call->dynamic_smem_bytes};
    int64_t now_ns = ws_budget_is_limited(&counters.budget) ? ws_steady_ns() : 0;
    struct ws_signature *s;
    uint64_t ordinal;
    bool is_chosen;
    memcpy(key.grid, call->grid, sizeof key.grid);
    memcpy(key.block, call->block, sizeof key.block);
    s = ws_select_next(&counters.select, &key, c ? c->pass : 0, now_ns, &is_chosen, &ordinal);
    if (!s) {
        ws_spool_status_now("signatures-many", 1, "Narrow with --kernel-name.",
                            "more than %u distinct launches: later ones get no counters", WS_SELECT_SLOTS / 2);
        return false;
    }
    counters.has_collectives = counters.has_collectives || s->is_collective;
    if (!is_chosen)
        return false;
    if (c)
        *wanted = (struct profile){.context = c,
                                   .signature = s,
                                   .call = *call,
                                   .risk = {.is_collective = s->is_collective,
                                            .passes = c->chip->passes,
                                            .is_first = !c->is_used,
                                            .is_midway = must_renew(c),
                                            .is_rotating = is_rotating(c)},
                                   .ordinal = ordinal};
    if (c && may_fit(s, &wanted->risk, now_ns))
        return true;
    ws_select_release(s);
    return false;
}

/* Whether this context was met since the last start, or there is no room to meet it. Under `lock`. */
static bool knows(CUcontext handle)
{
    bool has_room = counters.context_count < CONTEXTS_MAX;
    for (size_t i = 0; i < counters.context_count; i++) {
        if (counters.contexts[i].handle == handle)
            return true;
        has_room = has_room || !counters.contexts[i].handle;
    }
    return !has_room;
}

/* A context that was made while nothing was collected, or whose profiler a stop switched off: from its own thread, with
 * no launch under way, and not while the stream captures a graph. */
static void meet_context(const CUpti_CallbackData *data, const struct ws_launch_call *call)
{
    CUstreamCaptureMode mode;
    uint32_t device = 0, uid = 0;
    bool is_known;
    int64_t from = ws_steady_ns();
    if (is_capturing(call->stream) || ws_cupti.cuptiGetDeviceId(data->context, &device) != CUPTI_SUCCESS)
        return;
    ws_perf_library_need();
    if (!close_gate())
        return;
    pthread_mutex_lock(&counters.lock);
    is_known = knows(data->context);
    pthread_mutex_unlock(&counters.lock);
    if (!is_known && ws_state_get() == WS_STATE_ON) {
        relax_capture(&mode);
        if (ws_cupti.cuptiGetContextId(data->context, &uid) == CUPTI_SUCCESS)
            ws_collection_meet_context(uid, device);
        ws_counters_context_created(data->context, (CUdevice)device);
        restore_capture(&mode);
    }
    ws_gate_open(&counters.gate);
    ws_spool_add_cost("startup", 1, ws_steady_ns() - from);
}

/* Unless a stop came meanwhile: then the exit callback will not. */
static void enter_gate(const CUpti_CallbackData *data)
{
    ws_gate_enter(&counters.gate);
    if (ws_state_get() == WS_STATE_ON)
        *data->correlationData = MARK_GATE_READ;
    else
        ws_gate_leave(&counters.gate);
}

static bool has_peers(void)
{
    return counters.has_collectives && (counters.devices & (counters.devices - 1)) != 0;
}

static void decide_auto(struct profile *p)
{
    p->mode = ws_budget_decide(&counters.budget, &p->risk, &p->reason);
    if (p->mode != WS_MODE_NONE)
        return;
    if (p->reason == WS_REASON_COLLECTIVE)
        ws_spool_status_now("collective-not-counted", 0, "With one GPU a process, --replay-mode rotate counts them.",
                            "collective kernels (NCCL, NVSHMEM) are traced but get no counters");
    else if (p->reason == WS_REASON_PEERS)
        ws_spool_status_now("peers-not-counted", 1, "Start one process a GPU, as torchrun does.",
                            "this process runs collectives on several GPUs: to wait for one launch may never end, so "
                            "no launch is counted from here on");
}

/* Replay, rotation or nothing. Under `lock`. */
static void decide_mode(struct profile *p)
{
    memcpy(p->risk.is_failed, counters.is_failed, sizeof p->risk.is_failed);
    p->risk.has_peers = has_peers();
    p->mode = (enum ws_mode)p->signature->mode;
    p->reason = WS_REASON_ASKED;
    if (is_auto() && p->mode != WS_MODE_ROTATE) {
        decide_auto(p); /* anew at each replay: memory comes and goes. What rotates has passes behind it */
    } else if (p->mode == WS_MODE_REPLAY && is_replay_unsafe(p)) {
        p->mode = WS_MODE_NONE;
    } else if (p->mode == WS_MODE_ROTATE && p->risk.has_peers && p->risk.is_collective) {
        p->mode = WS_MODE_NONE;
        p->reason = WS_REASON_PEERS;
    }
    p->predicted_ns = ws_budget_predict(&counters.budget, p->mode, &p->risk);
}

/* Whether it is to be told; a replayed kernel whose mode stays the same is told once. Under `lock`. */
static bool is_news(struct profile *p)
{
    uint8_t code = (uint8_t)(1 + p->mode + WS_MODE_COUNT * p->reason);
    bool is_rotating_on = p->signature->told != 0 && p->reason == WS_REASON_ASKED && is_auto();
    if (p->signature->told == code || is_rotating_on)
        return false;
    p->signature->told = code;
    return true;
}

static void tell_decision(const struct profile *p)
{
    const struct ws_launch_call *call = &p->call;
    char base[256], alias[256];
    struct ws_rec_decision rec = {.name = ws_activity_name_id(call->name),
                                  .device = (uint32_t)p->context->device,
                                  .grid_x = call->grid[0],
                                  .grid_y = call->grid[1],
                                  .grid_z = call->grid[2],
                                  .block_x = call->block[0],
                                  .block_y = call->block[1],
                                  .block_z = call->block[2],
                                  .dynamic_smem_bytes = call->dynamic_smem_bytes,
                                  .mode = p->mode,
                                  .reason = p->reason,
                                  .passes = p->risk.passes,
                                  .footprint_bytes = p->risk.footprint_bytes,
                                  .predicted_ns = p->predicted_ns};
    static const char *const words[WS_MODE_COUNT] = {"replay", "rotate", "do not count"};
    (void)ws_spool_decision(&rec);
    ws_select_names(call->name, base, alias, sizeof base);
    log_line("%s %s: %s; predicted %.1f ms (%u passes, a launch %.3f ms, at most %.2f GB in use)", words[p->mode],
             alias, ws_reason_text(p->reason), (double)p->predicted_ns / 1e6, p->risk.passes,
             (double)p->risk.launch_ns / 1e6, (double)p->risk.footprint_bytes / 1e9);
}

/* Decide, and take the predicted cost out of the budget; false: the claim on the signature is released. */
static bool settle_on(struct profile *p)
{
    bool is_chosen = false;
    bool is_told;
    pthread_mutex_lock(&counters.lock);
    decide_mode(p);
    if (p->mode == WS_MODE_NONE) {
        p->signature->mode = WS_MODE_NONE;
    } else if (!ws_budget_reserve(&counters.budget, ws_steady_ns(), p->predicted_ns, &p->signature->not_before_ns)) {
        p->mode = WS_MODE_NONE;
        p->reason = WS_REASON_BUDGET;
    } else {
        p->signature->mode = (uint8_t)p->mode;
        is_chosen = true;
    }
    if (!is_chosen) {
        ws_budget_spend(&counters.budget, ws_steady_ns() - p->steady_ns);
        ws_select_release(p->signature);
    }
    is_told = p->reason == WS_REASON_BUDGET ? !p->signature->is_refused : is_news(p);
    p->signature->is_refused = p->signature->is_refused || p->reason == WS_REASON_BUDGET;
    pthread_mutex_unlock(&counters.lock);
    if (is_told)
        tell_decision(p);
    return is_chosen;
}

/* --- enter and exit -------------------------------------------------------------------------------- */

/* It was held, but is not profiled. */
static void release(struct profile *p)
{
    pthread_mutex_lock(&counters.lock);
    ws_budget_release(&counters.budget, p->predicted_ns);
    ws_budget_spend(&counters.budget, ws_steady_ns() - p->steady_ns);
    ws_select_release(p->signature);
    pthread_mutex_unlock(&counters.lock);
}

static int64_t late_after_ns(const struct profile *p)
{
    int64_t least = ws_settings.timeout_s * 1000000000;
    return p->predicted_ns > least / LATE_PREDICTIONS ? p->predicted_ns * LATE_PREDICTIONS : least;
}

static void say_returned(const struct profile *p)
{
    ws_spool_status_now("replay-returned", 0, "", "the counted launch that had been given up returned after %.1f s",
                        (double)(ws_steady_ns() - p->steady_ns) / 1e9);
}

/* It came back after it was given up: the range is ended, its values are not taken, and nothing else is. */
static void finish_late(const struct profile *p)
{
    CUpti_RangeProfiler_Stop_Params stop = {.structSize = CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE,
                                            .pRangeProfilerObject = p->context->profiler};
    (void)ws_cupti.cuptiRangeProfilerStop(&stop);
    if (p->mode == WS_MODE_ROTATE)
        ws_activity_trace_kernels(true);
    say_returned(p);
}

/* End of a session, however it ended. */
static void leave_session(void)
{
    (void)atomic_fetch_add(&counters.session, 1);
    atomic_store(&counters.profiling_thread, 0);
    ws_gate_open(&counters.gate);
}

/* The gate is closed and the profiler is free. False: nothing was started. */
static bool start_session(struct profile *wanted)
{
    CUstreamCaptureMode mode;
    bool is_started;
    /* Others may have been profiled since the decision: the books are to know what this one really has to do. */
    wanted->risk.is_first = !wanted->context->is_used;
    wanted->risk.is_midway = must_renew(wanted->context);
    counters.profile = *wanted;
    (void)atomic_fetch_add(&counters.session, 1);
    atomic_store(&counters.profiling_thread, pthread_self());
    ws_watch_arm(late_after_ns(wanted));
    relax_capture(&mode);
    is_started = wanted->mode == WS_MODE_ROTATE || !wanted->risk.is_midway || renew_profiler(wanted->context);
    is_started = is_started && start_range(wanted->context);
    if (atomic_load(&counters.is_off) && is_started) {
        finish_late(wanted);
        is_started = false;
    }
    restore_capture(&mode);
    if (is_started)
        return true;
    (void)ws_watch_disarm();
    return false;
}

static void enter_launch(const CUpti_CallbackData *data, const struct ws_launch_call *call)
{
    struct profile wanted;
    CUstreamCaptureMode mode;
    bool is_chosen;
    pthread_mutex_lock(&counters.lock); /* once a launch, in the common case */
    if (data->context && !knows(data->context)) {
        pthread_mutex_unlock(&counters.lock);
        meet_context(data, call);
        pthread_mutex_lock(&counters.lock);
    }
    is_chosen = choose(data, call, &wanted);
    pthread_mutex_unlock(&counters.lock);
    if (is_chosen && is_capturing(call->stream)) {
        pthread_mutex_lock(&counters.lock);
        ws_select_release(wanted.signature);
        pthread_mutex_unlock(&counters.lock);
        is_chosen = false;
    }
    if (is_chosen) {
        wanted.started_ns = ws_now_ns();
        wanted.steady_ns = ws_steady_ns();
        relax_capture(&mode); /* the driver is asked; a capture of this thread in another stream must not break */
        look_at(&wanted);
        restore_capture(&mode);
        is_chosen = settle_on(&wanted);
    }
    if (!is_chosen) {
        enter_gate(data);
        return;
    }
    if (!close_gate()) {
        release(&wanted);
        if (!atomic_load(&counters.is_off))
            enter_gate(data);
        return;
    }
    if (!atomic_load(&counters.is_off) && ws_state_get() == WS_STATE_ON && wanted.context->handle == data->context &&
        wanted.context->is_ready && start_session(&wanted)) {
        *data->correlationData = MARK_PROFILED;
        return;
    }
    if (atomic_load(&counters.profiling_thread) == pthread_self())
        leave_session();
    else
        ws_gate_open(&counters.gate);
    release(&wanted);
}

/* Whether any value of the session is valid. */
static bool has_values(const struct chip *chip)
{
    for (size_t i = 0; i < chip->count; i++)
        if (isfinite(counters.values[i]))
            return true;
    return false;
}

/* A mode that gives nothing but NaN, twice in a row, is over. Under `lock`. */
static void note_empty(enum ws_mode mode, bool is_empty)
{
    counters.empty[mode] = is_empty ? (uint8_t)(counters.empty[mode] + 1) : 0;
    if (counters.empty[mode] < EMPTY_MAX || counters.is_failed[mode])
        return;
    counters.is_failed[mode] = true;
    ws_spool_status_now("mode-failed", 1, "Choose one: --replay-mode kernel or --replay-mode rotate.",
                        "%s gave no valid value after the modes were mixed; what is left is counted the other way",
                        mode == WS_MODE_ROTATE ? "rotation" : "replay");
}

/* False: no value is valid, and another launch is to serve the pass. */
static bool take_values(const struct profile *p)
{
    bool is_good = has_values(p->context->chip);
    if (!is_auto())
        return true;
    pthread_mutex_lock(&counters.lock);
    note_empty(p->mode, !is_good);
    pthread_mutex_unlock(&counters.lock);
    return is_good || p->mode != WS_MODE_ROTATE;
}

static void tell_budget(void)
{
    struct ws_rec_budget rec;
    pthread_mutex_lock(&counters.lock);
    rec = (struct ws_rec_budget){.limit_ns = counters.budget.limit_ns,
                                 .overhead = counters.budget.overhead,
                                 .spent_ns = counters.budget.spent_ns,
                                 .setup_ns = counters.setup_ns,
                                 .predicted_ns = counters.predicted_ns,
                                 .run_ns = ws_steady_ns() - counters.budget.started_ns,
                                 .counted = counters.budget.profiled};
    pthread_mutex_unlock(&counters.lock);
    (void)ws_spool_budget(&rec);
}

/* The books: its cost against the budget, its passes against the signature. */
static void close_books(struct profile *p, bool is_good, uint32_t pass)
{
    int64_t cost = ws_steady_ns() - p->steady_ns;
    pthread_mutex_lock(&counters.lock);
    ws_budget_settle(&counters.budget, p->mode, &p->risk, p->predicted_ns, cost);
    p->context->is_replayable =
        p->context->is_used ? p->context->is_replayable : p->mode == WS_MODE_REPLAY && (is_good || !is_auto());
    p->context->is_used = true;
    if (p->mode == WS_MODE_ROTATE)
        p->context->rotated_ns = ws_steady_ns();
    counters.predicted_ns += p->predicted_ns;
    if (is_good || !is_auto() || counters.is_failed[WS_MODE_ROTATE])
        ws_select_done(&counters.select, p->signature, pass);
    else
        ws_select_release(p->signature);
    pthread_mutex_unlock(&counters.lock);
    tell_budget();
    log_line("it took %.1f ms", (double)cost / 1e6);
}

static void exit_profiled(const CUpti_CallbackData *data)
{
    struct profile *p = &counters.profile;
    CUstreamCaptureMode mode;
    uint32_t pass = 0;
    bool is_good = false;
    bool is_late = atomic_load(&counters.is_off);
    relax_capture(&mode);
    if (!is_late)
        is_good = stop_range(p->context, &pass);
    else
        finish_late(p);
    if (!ws_watch_disarm() && !is_late) {
        is_late = true;
        say_returned(p);
    }
    if (data->functionReturnValue && *(const CUresult *)data->functionReturnValue != CUDA_SUCCESS)
        is_good = false; /* the program's own launch failed: its counters mean nothing */
    is_good = is_good && !is_late && evaluate(p->context) && take_values(p);
    if (p->mode != WS_MODE_ROTATE && !is_late)
        ws_activity_flush_replayed();
    if (is_good)
        (void)emit_profile(p, pass, data->correlationId); /* late: its cost is all the time that the program was held */
    restore_capture(&mode);
    close_books(p, is_good, pass);
    leave_session();
}

void ws_counters_callback(CUpti_CallbackId cbid, const CUpti_CallbackData *data)
{
    struct ws_launch_call call;
    /* CUPTI's own helper launches inside a range, should they call back. */
    bool is_ours = atomic_load(&counters.profiling_thread) == pthread_self();
    if (data->callbackSite == CUPTI_API_EXIT) {
        uint64_t mark = *data->correlationData;
        *data->correlationData = MARK_NONE;
        if (mark == MARK_GATE_READ)
            ws_gate_leave(&counters.gate);
        else if (mark == MARK_PROFILED)
            exit_profiled(data);
        return;
    }
    *data->correlationData = MARK_NONE;
    if (is_ours || atomic_load(&counters.is_off) || ws_state_get() != WS_STATE_ON)
        return;
    switch (ws_translate_launch(cbid, data, &call)) {
    case WS_CALL_KERNEL:
        enter_launch(data, &call);
        break;
    case WS_CALL_GRAPH:
        ws_spool_status_now("graph-not-profiled", 0, "Launch the kernels outside a graph once to get their counters.",
                            "kernels inside CUDA graphs are traced, but get no counters in this mode");
        enter_gate(data);
        break;
    case WS_CALL_MULTI_DEVICE:
        ws_spool_status_now("multi-device-not-profiled", 0, "",
                            "multi-device cooperative launches are traced, but get no counters");
        break;
    case WS_CALL_OTHER:
        break;
    }
}

/* --- for the collector's one thread ---------------------------------------------------------------- */

bool ws_counters_wait_idle(void)
{
    static unsigned since_off; /* one thread asks */
    unsigned long long session = atomic_load(&counters.session);
    /* Given up: what is to be said of it goes out first, then there is nothing to lose by a flush that hangs, too. */
    if (atomic_load(&counters.is_off))
        return ++since_off > 2;
    for (int i = 0; i < IDLE_STEPS; i++) {
        struct timespec step = {0, 5000000};
        if (session % 2 == 0 || atomic_load(&counters.session) != session)
            return true;
        nanosleep(&step, NULL);
    }
    return false;
}

void ws_counters_finish(void)
{
    ws_watch_stop();
    if (counters.budget.started_ns != 0)
        tell_budget();
}

void ws_counters_forget(void)
{
    ws_watch_forget();
}
