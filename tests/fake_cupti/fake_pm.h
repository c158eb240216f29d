/* SPDX-License-Identifier: MIT
 * fake_pm.h: PM sampling of the fake CUPTI; a part of fake_cupti.c, which includes it.
 * A sample of [a, b) follows from the launches of the fake driver alone: `cover` is the part of it in which a kernel
 * ran. SM active 100 · cover, warps 50 · cover, tensor 25 · cover, DRAM read 60 · cover, write 30 · cover (%) L2 hit
 * rate 80 %, NaN when nothing ran · PCIe read 4096, write 512 bytes a sample · engine 100 or 0 % Switches:
 * As on an H200, the first sample after a Start says that it began 400 ms before, and a decode takes all that there is:
 * what the image does not hold is gone.
 *   FAKE_CUPTI_PM_BUFFER=N        the hardware's buffer holds N samples; once it ran over there is nothing to decode,
 * and no Start, until the object is disabled and another is enabled FAKE_CUPTI_SECOND_PASS=METRIC,…   a config with one
 * of these needs a second pass (in fake_cupti.c) */
#ifndef WS_TESTS_FAKE_CUPTI_FAKE_PM_H
#define WS_TESTS_FAKE_CUPTI_FAKE_PM_H

#define PM_MAGIC 0x46504d53u
#define PM_SAMPLE_BYTES 12288
#define PM_HARDWARE_BYTES 16384 /* as measured, about */
#define PM_DEVICES 64
#define PM_LAUNCHES 16384

struct pm_sample {
    uint64_t start_ns, end_ns;
    double cover;
    uint8_t room[PM_SAMPLE_BYTES - 24];
};

struct pm_data {
    uint32_t magic, max, count, pad;
    const struct config *config;
    struct pm_sample sample[]; /* [max] */
};

struct CUpti_PmSampling_Object {
    int device;
    bool is_started, is_full;
    const struct config *config;
    uint64_t interval_ns, start_ns, stop_ns, decoded, buffer;
};

static struct {
    pthread_mutex_t lock;
    struct CUpti_PmSampling_Object *object[PM_DEVICES];
    struct {
        int device;
        uint64_t start_ns, end_ns;
    } launch[PM_LAUNCHES];
    size_t launches;
} pm = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t pm_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void pm_note_launch(const struct fake_launch *l)
{
    size_t at;
    pthread_mutex_lock(&pm.lock);
    at = pm.launches++ % PM_LAUNCHES;
    pm.launch[at].device = l->context->device;
    pm.launch[at].start_ns = l->start_ns;
    pm.launch[at].end_ns = l->end_ns;
    pthread_mutex_unlock(&pm.lock);
}

/* Kernels of one stream do not overlap, and the tests use one. */
static double pm_cover(int device, uint64_t from, uint64_t to)
{
    uint64_t sum = 0;
    size_t n = pm.launches < PM_LAUNCHES ? pm.launches : PM_LAUNCHES;
    for (size_t i = 0; i < n; i++) {
        uint64_t a = pm.launch[i].start_ns > from ? pm.launch[i].start_ns : from;
        uint64_t b = pm.launch[i].end_ns < to ? pm.launch[i].end_ns : to;
        if (pm.launch[i].device == device && b > a)
            sum += b - a;
    }
    return sum >= to - from ? 1.0 : (double)sum / (double)(to - from);
}

#define CHECK_PM(o)                                                               \
    do {                                                                          \
        if (!(o) || pm.object[(o)->device] != (o))                                \
            REFUSE(CUPTI_ERROR_INVALID_OPERATION, "%s without Enable", __func__); \
    } while (0)

CUptiResult CUPTIAPI cuptiPmSamplingGetCounterAvailability(CUpti_PmSampling_GetCounterAvailability_Params *p)
{
    enum { IMAGE_BYTES = 64 };
    ENTER(cuptiPmSamplingGetCounterAvailability);
    CHECK_PARAMS(p, CUpti_PmSampling_GetCounterAvailability_Params_STRUCT_SIZE);
    if (!atomic_load(&is_profiler_ready))
        REFUSE(CUPTI_ERROR_NOT_INITIALIZED, "PM counter availability before cuptiProfilerInitialize");
    if (p->pCounterAvailabilityImage) {
        if (p->counterAvailabilityImageSize < IMAGE_BYTES)
            REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "PM counter availability image too small");
        memset(p->pCounterAvailabilityImage, 0x5A, IMAGE_BYTES);
    }
    p->counterAvailabilityImageSize = IMAGE_BYTES;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params *p)
{
    struct CUpti_PmSampling_Object *o;
    ENTER(cuptiPmSamplingEnable);
    CHECK_PARAMS(p, CUpti_PmSampling_Enable_Params_STRUCT_SIZE);
    if (!atomic_load(&is_profiler_ready))
        REFUSE(CUPTI_ERROR_NOT_INITIALIZED, "PM Enable before cuptiProfilerInitialize");
    if (profilers)
        REFUSE(CUPTI_ERROR_INVALID_OPERATION, "PM Enable beside the range profiler");
    if (p->deviceIndex >= PM_DEVICES)
        return CUPTI_ERROR_INVALID_DEVICE;
    if (pm.object[p->deviceIndex])
        REFUSE(CUPTI_ERROR_INVALID_OPERATION, "PM Enable twice on device %zu", p->deviceIndex);
    o = calloc(1, sizeof *o);
    if (!o)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    o->device = (int)p->deviceIndex;
    p->pPmSamplingObject = pm.object[o->device] = o;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiPmSamplingDisable(CUpti_PmSampling_Disable_Params *p)
{
    struct CUpti_PmSampling_Object *o;
    ENTER(cuptiPmSamplingDisable);
    CHECK_PARAMS(p, CUpti_PmSampling_Disable_Params_STRUCT_SIZE);
    o = p->pPmSamplingObject;
    CHECK_PM(o);
    if (o->is_started)
        note("violation: PM Disable between Start and Stop");
    pm.object[o->device] = NULL;
    free(o);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params *p)
{
    const char *buffer = getenv("FAKE_CUPTI_PM_BUFFER");
    struct CUpti_PmSampling_Object *o;
    ENTER(cuptiPmSamplingSetConfig);
    CHECK_PARAMS(p, CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE);
    o = p->pPmSamplingObject;
    CHECK_PM(o);
    if (o->is_started)
        REFUSE(CUPTI_ERROR_INVALID_OPERATION, "PM SetConfig between Start and Stop");
    o->config = config_of(p->pConfig, p->configSize);
    if (!o->config || p->hardwareBufferSize < PM_HARDWARE_BYTES || p->samplingInterval == 0)
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "PM SetConfig: bad image, buffer or interval");
    if (p->triggerMode != CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL)
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "PM SetConfig: GH100 has a timer, and it was not used");
    if (o->config->passes > 1)
        return CUPTI_ERROR_NOT_SUPPORTED; /* as measured */
    o->interval_ns = p->samplingInterval;
    o->buffer = buffer ? strtoul(buffer, NULL, 10) : p->hardwareBufferSize / PM_HARDWARE_BYTES;
    note("pm config %llu ns", (unsigned long long)o->interval_ns);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiPmSamplingStart(CUpti_PmSampling_Start_Params *p)
{
    struct CUpti_PmSampling_Object *o;
    ENTER(cuptiPmSamplingStart);
    CHECK_PARAMS(p, CUpti_PmSampling_Start_Params_STRUCT_SIZE);
    o = p->pPmSamplingObject;
    CHECK_PM(o);
    if (o->is_started || !o->config)
        REFUSE(CUPTI_ERROR_INVALID_OPERATION, "PM Start twice or without SetConfig");
    if (o->is_full)
        return CUPTI_ERROR_UNKNOWN; /* as measured */
    o->is_started = true;
    o->start_ns = pm_now_ns();
    o->stop_ns = 0;
    o->decoded = 0;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params *p)
{
    struct CUpti_PmSampling_Object *o;
    ENTER(cuptiPmSamplingStop);
    CHECK_PARAMS(p, CUpti_PmSampling_Stop_Params_STRUCT_SIZE);
    o = p->pPmSamplingObject;
    CHECK_PM(o);
    if (!o->is_started)
        REFUSE(CUPTI_ERROR_INVALID_OPERATION, "PM Stop without Start");
    o->is_started = false;
    o->stop_ns = pm_now_ns();
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiPmSamplingGetCounterDataSize(CUpti_PmSampling_GetCounterDataSize_Params *p)
{
    ENTER(cuptiPmSamplingGetCounterDataSize);
    CHECK_PARAMS(p, CUpti_PmSampling_GetCounterDataSize_Params_STRUCT_SIZE);
    CHECK_PM(p->pPmSamplingObject);
    if (!p->pMetricNames || p->numMetrics == 0 || p->maxSamples == 0)
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "PM GetCounterDataSize of nothing");
    p->counterDataSize = sizeof(struct pm_data) + p->maxSamples * sizeof(struct pm_sample);
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiPmSamplingCounterDataImageInitialize(CUpti_PmSampling_CounterDataImage_Initialize_Params *p)
{
    struct pm_data *d;
    ENTER(cuptiPmSamplingCounterDataImageInitialize);
    CHECK_PARAMS(p, CUpti_PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE);
    CHECK_PM(p->pPmSamplingObject);
    if (!p->pCounterData || p->counterDataSize < sizeof *d + sizeof(struct pm_sample))
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "PM counter data image too small");
    if (p->counterDataSize > (33u << 20))
        note("violation: a PM image of %zu bytes", p->counterDataSize);
    d = (struct pm_data *)(void *)p->pCounterData;
    d->magic = PM_MAGIC;
    d->max = (uint32_t)((p->counterDataSize - sizeof *d) / sizeof d->sample[0]);
    d->count = 0;
    d->config = p->pPmSamplingObject->config;
    return CUPTI_SUCCESS;
}

static struct pm_data *pm_data_of(const uint8_t *image, size_t size)
{
    struct pm_data *d = (struct pm_data *)(uintptr_t)image;
    return image && size >= sizeof *d && d->magic == PM_MAGIC && size >= sizeof *d + d->max * sizeof d->sample[0]
               ? d
               : NULL;
}

CUptiResult CUPTIAPI cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params *p)
{
    struct CUpti_PmSampling_Object *o;
    struct pm_data *d;
    uint64_t there;
    ENTER(cuptiPmSamplingDecodeData);
    CHECK_PARAMS(p, CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE);
    o = p->pPmSamplingObject;
    CHECK_PM(o);
    d = pm_data_of(p->pCounterDataImage, p->counterDataImageSize);
    if (!d || d->count != 0)
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "PM DecodeData into an image that is not fresh");
    pthread_mutex_lock(&pm.lock);
    there = ((o->stop_ns ? o->stop_ns : pm_now_ns()) - o->start_ns) / o->interval_ns - o->decoded;
    o->is_full |= there > o->buffer;
    if (o->is_full)
        there = 0;
    p->overflow = o->is_full;
    for (uint64_t i = 0; i < there; i++) {
        struct pm_sample *s = &d->sample[d->count];
        uint64_t start_ns = o->start_ns + (o->decoded + i) * o->interval_ns;
        if (d->count == d->max)
            break;
        d->count++;
        s->end_ns = start_ns + o->interval_ns;
        s->start_ns = o->decoded + i == 0 ? start_ns - 400000000 : start_ns;
        s->cover = pm_cover(o->device, start_ns, s->end_ns);
    }
    o->decoded += there;
    pthread_mutex_unlock(&pm.lock);
    p->decodeStopReason = d->count == d->max ? CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL
                                             : CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
    return p->overflow ? CUPTI_ERROR_OUT_OF_MEMORY : CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiPmSamplingGetCounterDataInfo(CUpti_PmSampling_GetCounterDataInfo_Params *p)
{
    const struct pm_data *d;
    ENTER(cuptiPmSamplingGetCounterDataInfo);
    CHECK_PARAMS(p, CUpti_PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE);
    d = pm_data_of(p->pCounterDataImage, p->counterDataImageSize);
    if (!d)
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "PM GetCounterDataInfo of something else");
    p->numTotalSamples = d->max;
    p->numPopulatedSamples = p->numCompletedSamples = d->count;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiPmSamplingCounterDataGetSampleInfo(CUpti_PmSampling_CounterData_GetSampleInfo_Params *p)
{
    const struct pm_data *d;
    ENTER(cuptiPmSamplingCounterDataGetSampleInfo);
    CHECK_PARAMS(p, CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE);
    CHECK_PM(p->pPmSamplingObject);
    d = pm_data_of(p->pCounterDataImage, p->counterDataImageSize);
    if (!d || p->sampleIndex >= d->count)
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "PM sample %zu", p->sampleIndex);
    p->startTimestamp = d->sample[p->sampleIndex].start_ns;
    p->endTimestamp = d->sample[p->sampleIndex].end_ns;
    return CUPTI_SUCCESS;
}

static double pm_value(const struct pm_sample *s, const char *metric)
{
    static const struct {
        const char *part;
        double factor;
    } shares[] = {{"sm__cycles_active", 100},
                  {"warps_active", 50},
                  {"pipe_tensor", 25},
                  {"read_throughput", 60},
                  {"write_throughput", 30}};
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
        if (strstr(metric, shares[i].part))
            return shares[i].factor * s->cover;
    if (strstr(metric, "hit_rate"))
        return s->cover > 0 ? 80.0 : (double)NAN;
    if (strstr(metric, "pcie__read"))
        return 4096;
    if (strstr(metric, "pcie__write"))
        return 512;
    return s->cover > 0 ? 100.0 : 0.0;
}

/* The part of cuptiProfilerHostEvaluateToGpuValues that is about samples. */
static CUptiResult pm_evaluate(const struct pm_data *d, CUpti_Profiler_Host_EvaluateToGpuValues_Params *p)
{
    if (p->rangeIndex >= d->count)
        REFUSE(CUPTI_ERROR_INVALID_PARAMETER, "PM values of sample %zu of %u", p->rangeIndex, d->count);
    for (size_t i = 0; i < p->numMetrics; i++) {
        const char *at = d->config->names;
        bool is_there = false;
        for (uint32_t k = 0; k < d->config->metric_count; k++, at += strlen(at) + 1)
            is_there |= strcmp(at, p->ppMetricNames[i]) == 0;
        if (!is_there)
            note("violation: PM value wanted of a metric that was not configured: %s", p->ppMetricNames[i]);
        p->pMetricValues[i] = is_listed("FAKE_CUPTI_NAN", p->ppMetricNames[i])
                                  ? (double)NAN
                                  : pm_value(&d->sample[p->rangeIndex], p->ppMetricNames[i]);
    }
    return CUPTI_SUCCESS;
}

#endif
