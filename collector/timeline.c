/* SPDX-License-Identifier: MIT
 * timeline.c: PM sampling. Once a device: counter availability, host object of its chip, metrics in the order of the
 * plan as far as ONE pass serves them (CUPTI refuses more), config image, cuptiPmSamplingEnable, SetConfig, Start. From
 * then on: image initialised, DecodeData, evaluate each completed sample, again while there is more. A thread of this
 * file does both; it makes no call into CUDA, and the program none into us. Setting up takes 0.3 to 0.5 s (H200): the
 * program waits for it only if it is told to (--timeline-start first), and then its own thread does it.
 *
 * Sizes. A sample needs 25 KB of counter-data image, and 40 to 65 us of the thread: 22 to 32 to decode, 13 to 22 to
 * evaluate, the rest to clear the image (H200, default set). One image of at most a quarter of the memory bound serves
 * all devices, one after another. DecodeData takes all that the hardware's buffer holds, and what the image does not
 * hold of it is gone without a word from CUPTI: it shows as a gap between two samples, and is counted. Where a sample
 * takes longer than the interval the sampler is stopped while it is decoded: bursts, which never run over. The
 * hardware's buffer can only run over where our thread does not get to it: what it held is lost, counted, and the
 * sampler is made anew. What is kept is bounded, too (WARPSIGHT_TIMELINE_MB): each time half of what was left is used
 * up, twice as many neighbours are merged into one, so that a run of any length ends within its bound.
 *
 * Locks: `timeline.lock` guards the samplers; set-up and decode hold it, the latter for TICK_NS at most. `worker.lock`
 * guards what the thread is asked for, and nobody calls CUPTI with it. Never the second, then the first. */
#include "timeline.h"

#include "counters.h"
#include "perf_library.h"
#include "spool.h"
#include "state.h"
#include "steady.h"
#include "thread.h"
#include "timeline_plan.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define DEVICES_MAX 64
#define ROWS_MAX 2048u    /* of one record: 144 KiB with 16 metrics, a frame holds 256 */
#define SAMPLES_MAX 4096u /* of one decode, if the image may be that large */
#define IMAGE_BYTES_MAX (32u << 20)
#define TICK_NS 150000000LL  /* a decode gives the activity trace its turn after that */
#define FINAL_NS 500000000LL /* of the two seconds that the end of a program may be delayed */
#define REST_MS 200u         /* from decode to decode, if the image holds so much: each one clears it */
#define FORK_WAIT_MS 1000u
#define STEP_WAIT_MS 1000u           /* for the call into CUPTI that is under way when the program ends */
#define STOP_NS 200000               /* samples are that late, or the clocks that far apart */
#define HARDWARE_SAMPLE_BYTES 16384u /* a sample in the hardware's buffer (H200, default set: 13 to 17 KB) */
#define HARDWARE_NS 300000000LL      /* what it holds: the sleep of our thread that a busy machine may cause */
#define HARDWARE_BYTES_MIN (16u << 20)
#define HARDWARE_BYTES_MAX (64u << 20) /* SetConfig takes 70 ms and 0.4 ms a MiB more (H200) */
#define COST_SAMPLES_MIN 16            /* of a decode whose time tells what a sample costs */

struct batch {
    int64_t first_ns, last_end_ns;
    uint32_t rows;
    uint8_t bytes[ROWS_MAX * (8 + 4 * WS_TIMELINE_MAX)];
};

struct sampler {
    CUdevice device;
    bool is_ready, is_running, has_failed;
    bool by_timer;
    bool in_bursts; /* it is stopped while it is decoded */
    bool is_late;   /* the program ended while it was made */
    CUpti_Profiler_Host_Object *host;
    CUpti_PmSampling_Object *object;
    const char *names[WS_TIMELINE_MAX]; /* [count]; text has them */
    enum ws_pm_how how[WS_TIMELINE_MAX];
    double scales[WS_TIMELINE_MAX];
    size_t count;
    char text[WS_TIMELINE_MAX][WS_TIMELINE_NAME_MAX];
    char keys[WS_TIMELINE_MAX * WS_TIMELINE_NAME_MAX], cupti[WS_TIMELINE_MAX * WS_TIMELINE_NAME_MAX];
    struct ws_host_config config;
    size_t image_size;
    uint32_t image_samples;
    uint32_t series;
    int64_t started_ns;
    int64_t last_end_ns; /* of the last sample since the start, 0 = none */
    bool has_overflown;  /* the hardware's buffer, and no sample came since */
    bool has_lost;       /* samples, and it was not told yet */
    bool is_fresh;       /* started, and no sample came since */
    struct {
        uint32_t merged; /* samples in it, 0 = empty */
        int64_t start_ns, end_ns;
        double value[WS_TIMELINE_MAX], weight[WS_TIMELINE_MAX]; /* sum, and of a mean: value x ns, and ns */
    } pending;
    struct batch batch;
};

static struct {
    pthread_mutex_t lock;
    struct ws_timeline_plan plan;
    int64_t interval_ns;
    bool is_paused;
    struct sampler *samplers[DEVICES_MAX]; /* by device */
    uint8_t *image;                        /* shared: one decode at a time */
    size_t image_size;
    uint32_t series;
    atomic_uint rest_ms; /* from decode to decode */
    unsigned rest_max_ms;
    uint64_t written_bytes, left_bytes; /* left: until merge doubles again */
    uint32_t merge;
} timeline = {.lock = PTHREAD_MUTEX_INITIALIZER, .merge = 1, .rest_ms = REST_MS, .rest_max_ms = REST_MS};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake, idle;
    bool has_thread, is_busy;
    bool is_setting_up; /* of what it is busy with */
    bool is_rested;     /* something is new, the wait is over */
    atomic_bool is_stopped;
    uint64_t seen, wanted; /* devices: with a context, without a sampler yet */
} worker = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_bool is_on; /* a plan was made */

static void *map_bytes(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* --- start ---------------------------------------------------------------------------------------- */

bool ws_timeline_is_wanted(void)
{
    return *ws_settings.timeline != 0;
}

bool ws_timeline_start(void)
{
    if (!ws_timeline_is_wanted())
        return false;
    ws_spool_status_now("timeline-mode", 0, "",
                        "the GPU is sampled over time (--timeline-metrics): no kernel counters "
                        "and no PC samples in this run");
    if (ws_timeline_plan_make(&timeline.plan, ws_settings.timeline) != 0)
        ws_spool_status_now("timeline-unknown", 1, "See: warpsight list timeline-metrics",
                            "WARPSIGHT_TIMELINE_METRICS: no metric '%s'", timeline.plan.bad);
    if (timeline.plan.count == 0)
        return false;
    if (ws_timeline_interval(ws_settings.timeline_interval, &timeline.interval_ns) != 0) {
        timeline.interval_ns = 1000000;
        ws_spool_status_now("setting-invalid", 1, "See: warpsight list settings",
                            "WARPSIGHT_TIMELINE_INTERVAL=%.40s is no time from 10us to 10ms; 1ms is used",
                            ws_settings.timeline_interval);
    }
    if (!ws_cupti.has_timeline || !ws_cupti.has_counters) {
        ws_spool_status_now("timeline-unavailable", 1, "Use the CUPTI of a CUDA toolkit 12.6 or newer.",
                            "this CUPTI has no %s: the GPU is not sampled",
                            ws_cupti.has_timeline ? ws_cupti.missing_counters : ws_cupti.missing_timeline);
        return false;
    }
    timeline.left_bytes = (uint64_t)ws_settings.timeline_mb << 19; /* half of it before the first merging */
    atomic_store(&is_on, true);
    return true;
}

/* --- once per device ------------------------------------------------------------------------------- */

/* Metrics that the chip has, in the order of the plan. */
static void resolve(struct sampler *s)
{
    for (size_t i = 0; i < timeline.plan.count; i++) {
        const struct ws_timeline_entry *e = &timeline.plan.entry[i];
        if (!ws_counters_host_find(s->host, e->cupti, s->text[s->count], WS_TIMELINE_NAME_MAX)) {
            ws_spool_status_now("timeline-absent", 0, "", "this GPU cannot sample %s", e->key);
            continue;
        }
        s->names[s->count] = s->text[s->count];
        s->scales[s->count] = e->scale;
        s->how[s->count] = e->how;
        snprintf(s->keys + strlen(s->keys), sizeof s->keys - strlen(s->keys), "%s%s", s->count ? "," : "", e->key);
        s->count++;
    }
}

/* A host object that has these metrics, and their configuration; how many passes it takes, 0 when there is none. */
static uint32_t configure(const char *chip, const uint8_t *availability, const char **names, size_t count,
                          struct ws_host_config *out, CUpti_Profiler_Host_Object **host)
{
    *host = ws_counters_host_open(chip, availability, CUPTI_PROFILER_TYPE_PM_SAMPLING);
    if (*host && ws_counters_host_add(*host, names, count) == CUPTI_SUCCESS && ws_counters_host_config(*host, out))
        return out->passes;
    ws_counters_host_close(*host);
    *host = NULL;
    return 0;
}

/* The i-th of a comma-separated list. */
static struct ws_text word_at(const char *list, size_t i)
{
    for (; i > 0; i--)
        list += strcspn(list, ",") + 1;
    return ws_text_n(list, strcspn(list, ","));
}

static void tell_left_out(struct ws_text key, const char *chip, uint32_t passes)
{
    if (passes == 0)
        ws_spool_status_now("timeline-refused", 1, "See: warpsight list timeline-metrics",
                            "this GPU (%s) refuses to sample %.*s", chip, (int)key.length, key.at);
    else
        ws_spool_status_now("timeline-passes", 1, "Ask for fewer, or for this one alone.",
                            "%.*s is not sampled: on this GPU (%s) it does not fit into one pass with the others",
                            (int)key.length, key.at, chip);
}

/* Keep those that fit into one pass together, from the first on; the others are told. */
static bool fit_one_pass(struct sampler *s, const char *chip, const uint8_t *availability)
{
    const char *kept[WS_TIMELINE_MAX];
    char keys[sizeof s->keys] = "";
    size_t n = 0;
    uint32_t passes = configure(chip, availability, s->names, s->count, &s->config, &s->host);
    if (passes == 1)
        return true;
    for (size_t i = 0; i < s->count; i++) {
        struct ws_text key = word_at(s->keys, i);
        struct ws_host_config config;
        CUpti_Profiler_Host_Object *host;
        kept[n] = s->names[i];
        passes = configure(chip, availability, kept, n + 1, &config, &host);
        if (passes != 1) {
            tell_left_out(key, chip, passes);
            ws_counters_host_close(host);
            continue;
        }
        ws_counters_host_close(s->host);
        s->host = host;
        s->config = config;
        s->scales[n] = s->scales[i];
        s->how[n] = s->how[i];
        snprintf(keys + strlen(keys), sizeof keys - strlen(keys), "%s%.*s", n ? "," : "", (int)key.length, key.at);
        n++;
    }
    memcpy(s->names, kept, n * sizeof *kept);
    memcpy(s->keys, keys, sizeof keys);
    s->count = n;
    return n > 0;
}

static uint8_t *get_availability(CUdevice device)
{
    CUpti_PmSampling_GetCounterAvailability_Params a = {
        .structSize = CUpti_PmSampling_GetCounterAvailability_Params_STRUCT_SIZE, .deviceIndex = (size_t)device};
    CUptiResult r = ws_cupti.cuptiPmSamplingGetCounterAvailability(&a);
    if (r == CUPTI_SUCCESS) {
        a.pCounterAvailabilityImage = map_bytes(a.counterAvailabilityImageSize);
        r = a.pCounterAvailabilityImage ? ws_cupti.cuptiPmSamplingGetCounterAvailability(&a)
                                        : CUPTI_ERROR_OUT_OF_MEMORY;
    }
    if (r != CUPTI_SUCCESS)
        ws_counters_complain("cuptiPmSamplingGetCounterAvailability", r);
    return r == CUPTI_SUCCESS ? a.pCounterAvailabilityImage : NULL;
}

static bool plan_device(struct sampler *s, const char *chip)
{
    const uint8_t *availability = get_availability(s->device);
    if (!availability)
        return false;
    s->host = ws_counters_host_open(chip, availability, CUPTI_PROFILER_TYPE_PM_SAMPLING);
    if (!s->host)
        return false;
    resolve(s);
    ws_counters_host_close(s->host); /* another one gets the metrics: see configure() */
    s->host = NULL;
    if (s->count > 0 && fit_one_pass(s, chip, availability)) {
        for (size_t i = 0; i < s->count; i++)
            snprintf(s->cupti + strlen(s->cupti), sizeof s->cupti - strlen(s->cupti), "%s%s", i ? "," : "",
                     s->names[i]);
        return true;
    }
    ws_spool_status_now("timeline-failed", 1, "", "this GPU (%s) can sample none of the wanted metrics", chip);
    return false;
}

/* Turing and GA100 have no timer for it: their samples are counted in cycles of the system clock. */
static bool has_timer(const char *chip)
{
    return strncmp(chip, "TU", 2) != 0 && strcmp(chip, "GA100") != 0;
}

/* Nobody tells the system clock; the SM clock is near it. */
static uint64_t interval_cycles(CUdevice device)
{
    int khz = 0;
    if (ws_driver.device_get_attribute)
        (void)ws_driver.device_get_attribute(&khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, device);
    return (uint64_t)timeline.interval_ns * (uint64_t)(khz > 0 ? khz : 1000000) / 1000000;
}

static size_t hardware_bytes(void)
{
    uint64_t bytes = (uint64_t)(HARDWARE_NS / timeline.interval_ns) * HARDWARE_SAMPLE_BYTES;
    bytes = bytes < HARDWARE_BYTES_MIN ? HARDWARE_BYTES_MIN : bytes;
    return bytes > HARDWARE_BYTES_MAX ? HARDWARE_BYTES_MAX : (size_t)bytes;
}

static bool set_config(struct sampler *s)
{
    CUpti_PmSampling_SetConfig_Params p = {
        .structSize = CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE,
        .pPmSamplingObject = s->object,
        .configSize = s->config.size,
        .pConfig = s->config.image,
        .hardwareBufferSize = hardware_bytes(),
        .samplingInterval = s->by_timer ? (uint64_t)timeline.interval_ns : interval_cycles(s->device),
        .triggerMode = s->by_timer ? CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL
                                   : CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL,
        .hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST};
    CUptiResult r = ws_cupti.cuptiPmSamplingSetConfig(&p);
    if (r != CUPTI_SUCCESS)
        ws_counters_complain("cuptiPmSamplingSetConfig", r);
    return r == CUPTI_SUCCESS;
}

/* Bytes of an image of so many samples, 0 when CUPTI does not say. */
static size_t image_bytes(struct sampler *s, uint32_t samples)
{
    CUpti_PmSampling_GetCounterDataSize_Params p = {.structSize =
                                                        CUpti_PmSampling_GetCounterDataSize_Params_STRUCT_SIZE,
                                                    .pPmSamplingObject = s->object,
                                                    .pMetricNames = s->names,
                                                    .numMetrics = s->count,
                                                    .maxSamples = samples};
    CUptiResult r = ws_cupti.cuptiPmSamplingGetCounterDataSize(&p);
    if (r != CUPTI_SUCCESS)
        ws_counters_complain("cuptiPmSamplingGetCounterDataSize", r);
    return r == CUPTI_SUCCESS ? p.counterDataSize : 0;
}

/* Half of the image fills from decode to decode, three quarters in a burst. */
static void set_rest(const struct sampler *s)
{
    int64_t ms = (int64_t)s->image_samples * timeline.interval_ns / 4 * (s->in_bursts ? 3 : 2) / 1000000;
    atomic_store(&timeline.rest_ms, ms < timeline.rest_max_ms ? (unsigned)ms : timeline.rest_max_ms);
}

/* As many samples as the image's bound allows: at least sixteen, whatever they take. */
static bool make_image(struct sampler *s)
{
    size_t bound = (size_t)ws_settings.memory_mb << 18; /* a quarter */
    uint32_t samples = SAMPLES_MAX;
    bound = bound > IMAGE_BYTES_MAX ? IMAGE_BYTES_MAX : bound;
    s->image_size = image_bytes(s, samples);
    while (s->image_size > bound && samples > 16) {
        samples /= 2;
        s->image_size = image_bytes(s, samples);
    }
    if (s->image_size == 0)
        return false;
    s->image_samples = samples;
    set_rest(s);
    if (s->image_size > timeline.image_size) {
        if (timeline.image)
            munmap(timeline.image, timeline.image_size);
        timeline.image = map_bytes(s->image_size);
        timeline.image_size = timeline.image ? s->image_size : 0;
        if (timeline.image)
            memset(timeline.image, 0, s->image_size); /* its pages are no cost of the first decode: choose_mode() */
    }
    return timeline.image != NULL;
}

static bool enable_device(struct sampler *s)
{
    CUpti_PmSampling_Enable_Params p = {.structSize = CUpti_PmSampling_Enable_Params_STRUCT_SIZE,
                                        .deviceIndex = (size_t)s->device};
    CUptiResult r = ws_cupti.cuptiPmSamplingEnable(&p);
    if (r != CUPTI_SUCCESS)
        ws_counters_complain("cuptiPmSamplingEnable", r);
    s->object = r == CUPTI_SUCCESS ? p.pPmSamplingObject : NULL;
    return s->object != NULL;
}

static void disable_device(struct sampler *s)
{
    CUpti_PmSampling_Disable_Params p = {.structSize = CUpti_PmSampling_Disable_Params_STRUCT_SIZE,
                                         .pPmSamplingObject = s->object};
    if (s->object)
        (void)ws_cupti.cuptiPmSamplingDisable(&p);
    s->object = NULL;
}

static void tell_series(struct sampler *s)
{
    struct ws_rec_pm_series rec = {.series = s->series = ++timeline.series,
                                   .device = (uint32_t)s->device,
                                   .interval_ns = (uint64_t)timeline.interval_ns,
                                   .trigger = s->by_timer,
                                   .keys = ws_text_of(s->keys),
                                   .cupti = ws_text_of(s->cupti)};
    (void)ws_spool_pm_series(&rec);
    if (!s->by_timer)
        ws_spool_status_now("timeline-clock", 0, "",
                            "this GPU samples by its system clock: the interval is an estimate");
}

static bool start_sampler(struct sampler *s)
{
    CUpti_PmSampling_Start_Params p = {.structSize = CUpti_PmSampling_Start_Params_STRUCT_SIZE,
                                       .pPmSamplingObject = s->object};
    CUptiResult r = ws_cupti.cuptiPmSamplingStart(&p);
    if (r != CUPTI_SUCCESS) {
        ws_counters_complain("cuptiPmSamplingStart", r);
        s->has_failed = true;
    }
    s->is_running = s->is_fresh = r == CUPTI_SUCCESS;
    if (!s->has_overflown) { /* else the time before is missing, up to the next sample */
        s->started_ns = ws_now_ns();
        s->last_end_ns = 0;
    }
    return s->is_running;
}

static void stop_sampler(struct sampler *s)
{
    CUpti_PmSampling_Stop_Params p = {.structSize = CUpti_PmSampling_Stop_Params_STRUCT_SIZE,
                                      .pPmSamplingObject = s->object};
    CUptiResult r = ws_cupti.cuptiPmSamplingStop(&p);
    if (r != CUPTI_SUCCESS) {
        ws_counters_complain("cuptiPmSamplingStop", r);
        s->has_failed = true;
    }
    s->is_running = false;
}

/* The program has not ended meanwhile. */
static bool goes_on(void)
{
    return !atomic_load(&worker.is_stopped);
}

/* Under `lock`. */
static void make_sampler(CUdevice device)
{
    struct sampler *s = map_bytes(sizeof *s);
    char chip[32];
    if (!s)
        return;
    timeline.samplers[device] = s;
    s->device = device;
    ws_counters_chip_name(device, chip, sizeof chip);
    s->by_timer = has_timer(chip);
    s->is_ready = goes_on() && ws_counters_initialize() && goes_on() && plan_device(s, chip) && goes_on() &&
                  enable_device(s) && set_config(s) && make_image(s) && goes_on();
    if (!s->is_ready) {
        s->is_late = !goes_on();
        disable_device(s);
        return;
    }
    tell_series(s);
    if (!timeline.is_paused)
        (void)start_sampler(s);
}

/* --- samples on their way --------------------------------------------------------------------------- */

/* 1, 2, 4 … neighbours become one: twice as many whenever half of what was left is used up. */
static void spend(uint64_t bytes)
{
    uint64_t bound = (uint64_t)ws_settings.timeline_mb << 20;
    timeline.written_bytes += bytes;
    if (bytes < timeline.left_bytes) {
        timeline.left_bytes -= bytes;
        return;
    }
    timeline.merge = timeline.merge < 1u << 30 ? timeline.merge * 2 : timeline.merge;
    timeline.left_bytes = timeline.written_bytes < bound ? (bound - timeline.written_bytes) / 2 : 0;
    if (timeline.left_bytes < 4096)
        timeline.left_bytes = 4096; /* a crumb past the bound, at a merging that no run outlives */
    ws_spool_status_now("timeline-merged", 0, "A longer --timeline-interval, or a larger WARPSIGHT_TIMELINE_MB.",
                        "the samples neared their bound (%u MiB): later ones are merged with their neighbours",
                        (unsigned)ws_settings.timeline_mb);
}

static void send_batch(struct sampler *s)
{
    struct batch *b = &s->batch;
    size_t bytes = b->rows * (8 + 4 * s->count);
    struct ws_rec_pm_samples rec = {.series = s->series,
                                    .first_ns = b->first_ns,
                                    .samples = b->rows,
                                    .data = ws_text_n((const char *)b->bytes, bytes)};
    if (b->rows == 0)
        return;
    if (ws_spool_pm_samples(&rec) != 0)
        ws_spool_count_loss("pm_sample", "memory", b->rows);
    b->rows = 0;
}

static void put_u32(uint8_t *at, uint32_t v)
{
    at[0] = (uint8_t)v;
    at[1] = (uint8_t)(v >> 8);
    at[2] = (uint8_t)(v >> 16);
    at[3] = (uint8_t)(v >> 24);
}

static void put_row(struct sampler *s)
{
    struct batch *b = &s->batch;
    int64_t length = s->pending.end_ns - s->pending.start_ns;
    uint8_t *at;
    if (b->rows == ROWS_MAX ||
        (b->rows > 0 && (s->pending.start_ns < b->first_ns || s->pending.start_ns - b->first_ns > INT32_MAX)))
        send_batch(s);
    if (b->rows == 0)
        b->first_ns = s->pending.start_ns;
    at = b->bytes + b->rows++ * (8 + 4 * s->count);
    put_u32(at, (uint32_t)(s->pending.start_ns - b->first_ns));
    put_u32(at + 4, length > INT32_MAX ? INT32_MAX : (uint32_t)length);
    for (size_t i = 0; i < s->count; i++) {
        double weight = s->pending.weight[i];
        float value = weight > 0 ? (float)(s->pending.value[i] / weight) : NAN;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        put_u32(at + 8 + 4 * i, bits);
    }
    s->pending.merged = 0;
    spend(8 + 4 * s->count);
}

/* A mean is merged by its time; a count adds up, and one that is missing makes the sum missing. */
static void merge_value(struct sampler *s, size_t i, double value, double ns)
{
    bool is_first = s->pending.merged == 0;
    if (s->how[i] == WS_PM_SUM) {
        s->pending.value[i] = is_first ? value : s->pending.value[i] + value;
        s->pending.weight[i] = isfinite(s->pending.value[i]) ? 1.0 : 0.0;
        return;
    }
    if (is_first)
        s->pending.value[i] = s->pending.weight[i] = 0.0;
    if (isfinite(value)) {
        s->pending.value[i] += value * ns;
        s->pending.weight[i] += ns;
    }
}

/* Samples are missing since the last one: as many as the time has intervals. */
static void count_lost(struct sampler *s, int64_t until_ns, const char *reason)
{
    int64_t from_ns = s->last_end_ns > 0 ? s->last_end_ns : s->started_ns;
    int64_t gap = until_ns > from_ns ? until_ns - from_ns : 0;
    int64_t lost = (gap + timeline.interval_ns / 2) / timeline.interval_ns;
    if (lost == 0 && !s->has_overflown)
        return;
    s->has_overflown = false;
    s->has_lost = true;
    ws_spool_count_loss("pm_sample", reason, lost > 0 ? (uint64_t)lost : 1);
}

/* A sampler's clock starts with its first trigger: the sample that ends there has no start of its own. What CUPTI
 * gives for it lies up to 600 ms back (H200), and its counts are from as long ago: it is left out. A timer makes every
 * other sample as long as it was asked for; by the system clock a sample is longer where that clock is slow. */
static bool has_no_start(const struct sampler *s, int64_t start_ns, int64_t end_ns)
{
    bool is_long = start_ns <= 0 || start_ns >= end_ns || end_ns - start_ns > timeline.interval_ns * 3 / 2;
    return is_long && (s->by_timer || s->is_fresh);
}

static void take_sample(struct sampler *s, int64_t start_ns, int64_t end_ns, const double *values)
{
    bool is_skipped = end_ns <= 0 || has_no_start(s, start_ns, end_ns);
    s->is_fresh = false;
    if (is_skipped)
        return;
    /* No sample may be longer than what it was asked for can explain. */
    if (start_ns <= 0 || start_ns >= end_ns || end_ns - start_ns > INT32_MAX)
        start_ns = end_ns - timeline.interval_ns;
    if (s->has_overflown || (s->last_end_ns > 0 && start_ns - s->last_end_ns > timeline.interval_ns / 2)) {
        if (s->pending.merged > 0)
            put_row(s); /* no row spans time that was not sampled */
        count_lost(s, start_ns, s->has_overflown ? "hardware-buffer" : "decode-full");
    }
    if (s->pending.merged > 0 && start_ns < s->pending.start_ns)
        put_row(s);
    for (size_t i = 0; i < s->count; i++)
        merge_value(s, i, values[i] * s->scales[i], (double)(end_ns - start_ns));
    if (s->pending.merged == 0)
        s->pending.start_ns = start_ns;
    s->pending.end_ns = end_ns;
    s->last_end_ns = end_ns;
    s->pending.merged++;
    if (s->pending.merged >= timeline.merge || end_ns - s->pending.start_ns > INT32_MAX / 2)
        put_row(s);
}

/* --- decode ----------------------------------------------------------------------------------------- */

static CUptiResult fail_decode(struct sampler *s, const char *call, CUptiResult r)
{
    ws_counters_complain(call, r);
    s->has_failed = true; /* a sampler that failed once is not tried again */
    return r;
}

static bool take_image(struct sampler *s, size_t completed)
{
    for (size_t i = 0; i < completed; i++) {
        CUpti_PmSampling_CounterData_GetSampleInfo_Params info = {
            .structSize = CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE,
            .pPmSamplingObject = s->object,
            .pCounterDataImage = timeline.image,
            .counterDataImageSize = s->image_size,
            .sampleIndex = i};
        double values[WS_TIMELINE_MAX];
        CUptiResult r = ws_cupti.cuptiPmSamplingCounterDataGetSampleInfo(&info);
        if (r != CUPTI_SUCCESS) {
            (void)fail_decode(s, "cuptiPmSamplingCounterDataGetSampleInfo", r);
            return false;
        }
        if (ws_counters_host_evaluate(s->host, timeline.image, s->image_size, i, s->names, s->count, values) !=
            CUPTI_SUCCESS) {
            s->has_failed = true;
            return false;
        }
        take_sample(s, (int64_t)info.startTimestamp, (int64_t)info.endTimestamp, values);
    }
    return true;
}

static void tell_bursts(const struct sampler *s)
{
    ws_spool_status_now("timeline-bursts", 1, "A longer --timeline-interval, or fewer metrics.",
                        "samples came faster than they could be read: the GPU was sampled in bursts of about %u "
                        "intervals, with pauses in which they were read",
                        s->image_samples * 3 / 4);
}

/* What a sample costs tells whether all of them can be had. */
static void choose_mode(struct sampler *s, int64_t spent_ns, size_t samples)
{
    int64_t cost_ns;
    if (samples < COST_SAMPLES_MIN)
        return;
    cost_ns = spent_ns / (int64_t)samples;
    if (!s->in_bursts && cost_ns > timeline.interval_ns * 9 / 10) {
        s->in_bursts = true;
        tell_bursts(s);
    } else if (s->in_bursts && cost_ns < timeline.interval_ns * 7 / 10) {
        s->in_bursts = false;
    }
}

/* Into a fresh image; how many there are. */
static CUptiResult fill_image(struct sampler *s, bool *is_full, size_t *samples)
{
    CUpti_PmSampling_CounterDataImage_Initialize_Params init = {
        .structSize = CUpti_PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE,
        .pPmSamplingObject = s->object,
        .counterDataSize = s->image_size,
        .pCounterData = timeline.image};
    CUpti_PmSampling_DecodeData_Params decode = {.structSize = CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE,
                                                 .pPmSamplingObject = s->object,
                                                 .pCounterDataImage = timeline.image,
                                                 .counterDataImageSize = s->image_size};
    CUpti_PmSampling_GetCounterDataInfo_Params info = {.structSize =
                                                           CUpti_PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE,
                                                       .pCounterDataImage = timeline.image,
                                                       .counterDataImageSize = s->image_size};
    CUptiResult r = ws_cupti.cuptiPmSamplingCounterDataImageInitialize(&init);
    bool is_over;
    if (r != CUPTI_SUCCESS)
        return fail_decode(s, "cuptiPmSamplingCounterDataImageInitialize", r);
    r = ws_cupti.cuptiPmSamplingDecodeData(&decode);
    is_over = r == CUPTI_ERROR_OUT_OF_MEMORY || (r == CUPTI_SUCCESS && decode.overflow);
    if (r != CUPTI_SUCCESS && !is_over)
        return fail_decode(s, "cuptiPmSamplingDecodeData", r);
    r = ws_cupti.cuptiPmSamplingGetCounterDataInfo(&info);
    if (r != CUPTI_SUCCESS)
        return fail_decode(s, "cuptiPmSamplingGetCounterDataInfo", r);
    s->has_overflown |= is_over;
    *is_full = decode.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
    *samples = info.numCompletedSamples;
    return r;
}

/* One image; *more: there may be another. */
static bool decode_image(struct sampler *s, bool *more)
{
    int64_t from = ws_steady_ns();
    bool is_full = false;
    size_t samples = 0;
    if (fill_image(s, &is_full, &samples) != CUPTI_SUCCESS || !take_image(s, samples))
        return false;
    choose_mode(s, ws_steady_ns() - from, samples);
    *more = samples > 0 && is_full && !s->has_overflown;
    return true;
}

/* Once the hardware's buffer ran over, CUPTI has nothing more to give and starts no more, whatever its size is set to:
 * a new object does (H200). In bursts from then on, until a decode is quick enough, and with shorter rests. */
static void renew_sampler(struct sampler *s)
{
    if (s->is_running)
        stop_sampler(s);
    disable_device(s);
    if (s->has_failed || !enable_device(s) || !set_config(s)) {
        s->has_failed = true;
        return;
    }
    timeline.rest_max_ms = timeline.rest_max_ms > 1 ? timeline.rest_max_ms / 2 : 1;
    if (!s->in_bursts)
        tell_bursts(s);
    s->in_bursts = true;
    set_rest(s);
    (void)start_sampler(s);
}

/* All that is there, until the deadline; false when that came first. */
static bool decode(struct sampler *s, int64_t until_ns)
{
    bool more = true;
    while (more && decode_image(s, &more) && goes_on() && ws_steady_ns() < until_ns)
        ;
    if (s->has_lost || s->has_overflown)
        ws_spool_status_now("timeline-overflow", 1, "A longer --timeline-interval, or fewer metrics.",
                            "samples came faster than they could be read: some are missing");
    s->has_lost = false;
    send_batch(s);
    return !more || s->has_failed;
}

/* A burst ends before it is decoded, and the next one begins after that. */
static void decode_running(struct sampler *s, int64_t until_ns)
{
    bool was_in_bursts = s->in_bursts;
    if (was_in_bursts)
        stop_sampler(s);
    (void)decode(s, until_ns);
    if (s->in_bursts && !was_in_bursts && !s->has_failed && !s->has_overflown && goes_on()) {
        stop_sampler(s);
        (void)decode(s, until_ns);
    }
    if (s->has_failed || !goes_on())
        return;
    if (s->has_overflown) {
        renew_sampler(s);
        return;
    }
    if (s->in_bursts != was_in_bursts)
        set_rest(s);
    if (!s->is_running)
        (void)start_sampler(s);
}

static void finish_sampler(struct sampler *s, int64_t until_ns)
{
    int64_t stopped_ns = ws_now_ns();
    bool was_running = s->is_running && !s->has_failed;
    bool is_whole = true;
    if (was_running) {
        stop_sampler(s);
        is_whole = s->has_failed || decode(s, until_ns);
    }
    if (s->pending.merged > 0)
        put_row(s);
    if (s->has_overflown)
        count_lost(s, stopped_ns, "hardware-buffer");
    else if (was_running && (!is_whole || stopped_ns - s->last_end_ns > 2 * timeline.interval_ns + STOP_NS))
        count_lost(s, stopped_ns, "not-decoded");
    s->last_end_ns = 0; /* what comes before the next start was not to be sampled */
    send_batch(s);
}

/* --- the thread ------------------------------------------------------------------------------------- */

static void make_samplers(uint64_t devices)
{
    ws_perf_library_need();
    for (int i = 0; i < DEVICES_MAX && goes_on(); i++)
        if ((devices >> i & 1) && !timeline.samplers[i])
            make_sampler(i);
}

static void decode_all(int64_t until_ns)
{
    for (size_t i = 0; i < DEVICES_MAX; i++) {
        struct sampler *s = timeline.samplers[i];
        if (!s || !s->is_ready || !s->is_running || s->has_failed)
            continue;
        decode_running(s, until_ns);
    }
}

/* Wait for the next decode, or until there is something to do. False: it is over. */
static bool wait_for_work(uint64_t *devices)
{
    struct timespec until = ws_steady_deadline(atomic_load(&timeline.rest_ms));
    bool is_over;
    pthread_mutex_lock(&worker.lock);
    worker.is_busy = worker.is_setting_up = false;
    pthread_cond_broadcast(&worker.idle);
    while (goes_on() && worker.wanted == 0 && !worker.is_rested)
        if (pthread_cond_timedwait(&worker.wake, &worker.lock, &until) == ETIMEDOUT)
            break;
    *devices = worker.wanted;
    worker.wanted = 0;
    worker.is_rested = false;
    is_over = !goes_on();
    worker.is_busy = !is_over;
    worker.is_setting_up = !is_over && *devices != 0;
    pthread_mutex_unlock(&worker.lock);
    return !is_over;
}

static void *run(void *unused)
{
    uint64_t devices;
    (void)unused;
    (void)prctl(PR_SET_NAME, "warpsight-pm", 0, 0, 0);
    while (wait_for_work(&devices)) {
        int64_t from = ws_steady_ns();
        pthread_mutex_lock(&timeline.lock);
        if (devices)
            make_samplers(devices);
        else
            decode_all(from + TICK_NS);
        pthread_mutex_unlock(&timeline.lock);
        ws_spool_add_cost(devices ? "timeline-setup" : "timeline", 1, ws_steady_ns() - from);
    }
    return NULL;
}

/* Under worker.lock. */
static bool start_thread(void)
{
    ws_steady_cond_init(&worker.wake);
    ws_steady_cond_init(&worker.idle);
    if (!ws_thread_start(run, WS_THREAD_CUPTI_STACK))
        return false;
    ws_spool_add_thread();
    return true;
}

/* The thread is there, and the device was not met before. */
static bool meet_device(CUdevice device, bool is_wanted)
{
    bool is_new;
    pthread_mutex_lock(&worker.lock);
    if (!worker.has_thread)
        worker.has_thread = start_thread();
    is_new = worker.has_thread && !(worker.seen >> device & 1);
    worker.seen |= UINT64_C(1) << device;
    if (is_new && is_wanted) {
        worker.wanted |= UINT64_C(1) << device;
        worker.is_busy = worker.is_setting_up = true;
        pthread_cond_signal(&worker.wake);
    }
    pthread_mutex_unlock(&worker.lock);
    return is_new;
}

/* How long it lasts may have changed. */
static void end_rest(void)
{
    pthread_mutex_lock(&worker.lock);
    worker.is_rested = true;
    pthread_cond_signal(&worker.wake);
    pthread_mutex_unlock(&worker.lock);
}

void ws_timeline_context_created(CUdevice device)
{
    bool is_first = ws_settings.timeline_start == WS_TIMELINE_START_FIRST;
    int64_t from = ws_steady_ns();
    if (!atomic_load(&is_on) || device < 0 || device >= DEVICES_MAX)
        return;
    if (!meet_device(device, !is_first) || !is_first)
        return;
    /* By this thread: the other one could wait for what the driver has locked here. */
    pthread_mutex_lock(&timeline.lock);
    make_samplers(UINT64_C(1) << device);
    pthread_mutex_unlock(&timeline.lock);
    end_rest();
    ws_spool_add_cost("startup", 1, ws_steady_ns() - from);
}

/* Until the thread does nothing (or decodes), for so long; false when it still does. */
static bool wait_until_idle(unsigned timeout_ms, bool or_decodes)
{
    struct timespec until = ws_steady_deadline(timeout_ms);
    bool is_busy;
    pthread_mutex_lock(&worker.lock);
    while (or_decodes ? worker.is_setting_up : worker.is_busy)
        if (pthread_cond_timedwait(&worker.idle, &worker.lock, &until) == ETIMEDOUT)
            break;
    is_busy = worker.is_busy;
    pthread_mutex_unlock(&worker.lock);
    return !is_busy;
}

void ws_timeline_before_fork(void)
{
    if (atomic_load(&is_on))
        (void)wait_until_idle(FORK_WAIT_MS, true);
}

/* A device has a context, and its sampler was not ready when the program ended. */
static void tell_if_late(void)
{
    bool is_late = false;
    pthread_mutex_lock(&timeline.lock);
    for (int i = 0; i < DEVICES_MAX; i++)
        if (worker.seen >> i & 1)
            is_late |= !timeline.samplers[i] || timeline.samplers[i]->is_late;
    pthread_mutex_unlock(&timeline.lock);
    if (is_late)
        ws_spool_status_now("timeline-late", 1, "--timeline-start first: the program waits until sampling has begun.",
                            "the program ended before sampling was set up: it has no samples");
}

void ws_timeline_forget(void)
{
    atomic_store(&is_on, false);
}

void ws_timeline_finish(void)
{
    bool has_thread;
    if (!atomic_load(&is_on))
        return;
    pthread_mutex_lock(&worker.lock);
    atomic_store(&worker.is_stopped, true);
    has_thread = worker.has_thread;
    if (has_thread)
        pthread_cond_signal(&worker.wake);
    pthread_mutex_unlock(&worker.lock);
    if (!has_thread)
        return;
    if (!wait_until_idle(STEP_WAIT_MS, false)) {
        ws_spool_status_now("timeline-hangs", 1, "",
                            "the sampler did not come back from CUPTI: its last samples are lost");
        return;
    }
    tell_if_late();
    ws_timeline_pause();
}

void ws_timeline_resume(void)
{
    pthread_mutex_lock(&timeline.lock);
    timeline.is_paused = false;
    for (size_t i = 0; i < DEVICES_MAX; i++) {
        struct sampler *s = timeline.samplers[i];
        if (s && s->is_ready && !s->is_running && !s->has_failed)
            (void)start_sampler(s);
    }
    pthread_mutex_unlock(&timeline.lock);
}

void ws_timeline_pause(void)
{
    int64_t from = ws_steady_ns();
    pthread_mutex_lock(&timeline.lock);
    timeline.is_paused = true;
    for (size_t i = 0; i < DEVICES_MAX; i++)
        if (timeline.samplers[i])
            finish_sampler(timeline.samplers[i], ws_steady_ns() + FINAL_NS);
    ws_spool_add_cost("timeline", 1, ws_steady_ns() - from);
    pthread_mutex_unlock(&timeline.lock);
}
