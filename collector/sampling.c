/* SPDX-License-Identifier: MIT
 * sampling.c: PC sampling, continuous mode.
 *
 * Once per context: Enable, names of the stall reasons, SetConfigurationAttribute (mode, period, the buffer that
 * Disable fills). Then GetData every tick of the spool's thread, at most DRAIN_NS of it; at the end GetData until
 * nothing is left, what is there goes to disk, and only then Disable: it joins CUPTI's threads and may take long, and
 * brings what was decoded last. Start/stop control stays off: with it GetData is only for between ranges.
 *
 * Samples are summed in a table of TABLE_SLOTS (context, code, function, PC, reason) and told to the spool after 250 ms
 * first, then whenever a sixteenth of the time so far has passed: some 100 times in half an hour.
 *
 * Locks: `lock` guards contexts, buffers and the table. Calls that load or unload modules hold it, because GetData
 * looks into the modules; a module that a launch loads lazily does not. It is never waited for without an end.
 * `cubins_lock` guards the list of crcs: a module's callback comes inside of such a call. */
#include "sampling.h"

#include "activity.h"
#include "spool.h"
#include "state.h"
#include "steady.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define CONTEXTS_MAX 16
#define REASONS_MAX 128 /* 40 on GH100 */
#define PCS_READ 2048   /* of one GetData: 1.3 MiB with 64 reasons */
#define PCS_LATE 4096   /* of Disable: what does not fit is discarded by CUPTI */
#define TABLE_SLOTS 65536u
#define TABLE_FULL (TABLE_SLOTS / 4 * 3)
#define DRAIN_NS 20000000LL   /* of a tick's 50 ms */
#define FINAL_NS 1000000000LL /* of the 2 s that the program waits for us at its end */
#define STOP_NS 200000000LL   /* of a program that destroys a context */
#define TELL_NS 250000000LL   /* the first time */
#define TELL_PART 16          /* then: this part of the time so far */
#define RATE_MAX (1u << 23)   /* samples a second; CUPTI decodes some 40 million, and lags behind at more */
#define PERIOD_LEAST 11       /* as CUPTI chooses for a large GPU */
#define PERIOD_MOST 31
#define FAILS_MAX 3                 /* in a row: the context is left alone */
#define CUBIN_MAX ((size_t)8 << 20) /* one; all of a process: */
#define CUBINS_MAX ((uint64_t)64 << 20)
#define CUBIN_SLOTS 8192u
#define CUBIN_CHUNK 122880u /* two fit into a frame */

struct buffer {
    CUpti_PCSamplingData data;
    void *bytes;
    size_t size;
};

struct context {
    _Atomic(CUcontext) handle; /* NULL = free */
    atomic_bool is_gone;       /* destroyed while another held the lock: CUPTI is asked nothing of it again */
    uint32_t uid;
    bool is_on;
    unsigned fails;
    uint32_t reason[REASONS_MAX]; /* string ids, by CUPTI's index; 0 = no such reason */
    size_t reason_count;
    struct buffer late; /* what Disable fills */
    struct ws_rec_pc_sampling totals;
    bool is_changed; /* totals since they were told */
};

struct slot {
    uint64_t cubin, pc;
    uint32_t context, function, reason;
    uint64_t samples; /* 0 = free */
};

static struct {
    pthread_mutex_t lock;
    pthread_mutex_t cubins_lock;
    struct context contexts[CONTEXTS_MAX];
    struct buffer reader;
    struct slot *table; /* [TABLE_SLOTS] */
    uint32_t used;
    uint32_t period;             /* asked for: 2^period cycles; 0 = as usual_period() says */
    int64_t started_ns, told_ns; /* steady */
    uint64_t *cubins;            /* [CUBIN_SLOTS], crc + 1, 0 = free */
    uint32_t cubin_count;
    uint64_t cubin_bytes;
} sampling = {.lock = PTHREAD_MUTEX_INITIALIZER, .cubins_lock = PTHREAD_MUTEX_INITIALIZER};

/* Whether this thread is in a call that loads or unloads modules, and how deep: such calls may nest. */
static _Thread_local unsigned module_depth;
static _Thread_local bool holds_lock;

static void *map_bytes(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static bool lock_within(unsigned ms)
{
    struct timespec one = {0, 1000000};
    for (unsigned i = 0; pthread_mutex_trylock(&sampling.lock) != 0; i++) {
        if (i >= ms)
            return false;
        nanosleep(&one, NULL);
    }
    return true;
}

static void complain(const char *call, CUptiResult r)
{
    bool is_rights =
        r == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES || r == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES;
    ws_cupti_complain(is_rights ? "sampling-no-rights" : "sampling-failed", call, r,
                      is_rights ? ws_cupti_remedy_rights : "");
}

/* Modules come while nothing is collected, too: their code is needed when that begins. */
static bool is_listening(void)
{
    enum ws_state state = ws_state_get();
    return state == WS_STATE_ON || state == WS_STATE_IDLE;
}

/* --- start ---------------------------------------------------------------------------------------- */

bool ws_sampling_init(void)
{
    if (ws_settings.stalls != WS_STALLS_PC)
        return false;
    if (!ws_cupti.has_sampling) {
        ws_spool_status_now("sampling-unavailable", 1, "Use the CUPTI of a CUDA toolkit 12.6 or newer.",
                            "this CUPTI has no %s: no PC samples are collected", ws_cupti.missing_sampling);
        return false;
    }
    sampling.table = map_bytes(TABLE_SLOTS * sizeof *sampling.table);
    sampling.cubins = map_bytes(CUBIN_SLOTS * sizeof *sampling.cubins);
    if (!sampling.table || !sampling.cubins)
        return false;
    if (ws_setting_sampling_period(ws_settings.interval, &sampling.period) != 0)
        ws_spool_status_now("setting-invalid", 1, "See: warpsight list settings",
                            "WARPSIGHT_SAMPLING_INTERVAL=%.60s is neither auto nor a number from 0 to 26; auto is used",
                            ws_settings.interval);
    sampling.started_ns = sampling.told_ns = ws_steady_ns();
    ws_spool_status_now("counters-off", 0, "For counters, run again without --stalls pc.",
                        "PC samples and counters exclude each other in a process: this run has samples, no counters");
    return true;
}

/* --- sums ----------------------------------------------------------------------------------------- */

static void tell_totals(struct context *c)
{
    if (c->is_changed && ws_spool_pc_sampling(&c->totals) == 0)
        c->is_changed = false;
}

static void tell_all(void)
{
    for (uint32_t i = 0; i < TABLE_SLOTS && sampling.used > 0; i++) {
        struct slot *s = &sampling.table[i];
        struct ws_rec_pc_sample rec = {.context = s->context,
                                       .cubin = s->cubin,
                                       .function = s->function,
                                       .pc = s->pc,
                                       .reason = s->reason,
                                       .samples = s->samples};
        if (s->samples == 0)
            continue;
        (void)ws_spool_pc_sample(&rec);
        s->samples = 0;
        sampling.used--;
    }
    for (size_t i = 0; i < CONTEXTS_MAX; i++)
        if (sampling.contexts[i].handle)
            tell_totals(&sampling.contexts[i]);
    sampling.told_ns = ws_steady_ns();
}

static void tell_when_due(void)
{
    int64_t now = ws_steady_ns();
    int64_t wait = (now - sampling.started_ns) / TELL_PART;
    if (now - sampling.told_ns >= (wait > TELL_NS ? wait : TELL_NS))
        tell_all();
}

static uint32_t place_of(const struct slot *key)
{
    uint64_t h = key->cubin ^ key->pc * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 31) * 0xbf58476d1ce4e5b9u;
    h ^= ((uint64_t)key->function << 32 | (uint64_t)key->reason << 8 | key->context) * 0x94d049bb133111ebu;
    return (uint32_t)(h >> 32) % TABLE_SLOTS;
}

static void add(const struct slot *key)
{
    uint32_t at = place_of(key);
    struct slot *s = &sampling.table[at];
    while (s->samples > 0 && (s->cubin != key->cubin || s->pc != key->pc || s->function != key->function ||
                              s->reason != key->reason || s->context != key->context)) {
        at = (at + 1) % TABLE_SLOTS;
        s = &sampling.table[at];
    }
    if (s->samples > 0) {
        s->samples += key->samples;
        return;
    }
    *s = *key;
    if (++sampling.used >= TABLE_FULL)
        tell_all();
}

/* --- what CUPTI hands over -------------------------------------------------------------------------- */

static void reset(struct buffer *b, size_t pcs)
{
    b->data.size = sizeof b->data;
    b->data.collectNumPcs = pcs;
    b->data.totalSamples = b->data.droppedSamples = b->data.nonUsrKernelsTotalSamples = 0;
    b->data.totalNumPcs = b->data.remainingNumPcs = 0;
    b->data.hardwareBufferFull = 0;
}

/* Room for pcs records with all reasons each. */
static bool make_buffer(struct buffer *b, size_t pcs, size_t reasons)
{
    size_t size = pcs * (sizeof(CUpti_PCSamplingPCData) + reasons * sizeof(CUpti_PCSamplingStallReason));
    CUpti_PCSamplingStallReason *next;
    if (b->bytes && b->size < size) {
        munmap(b->bytes, b->size);
        b->bytes = NULL;
    }
    if (!b->bytes) {
        b->bytes = map_bytes(size);
        b->size = size;
    }
    if (!b->bytes)
        return false;
    b->data.pPcData = b->bytes;
    next = (CUpti_PCSamplingStallReason *)(b->data.pPcData + pcs);
    for (size_t i = 0; i < pcs; i++, next += reasons) {
        b->data.pPcData[i].size = sizeof b->data.pPcData[i];
        b->data.pPcData[i].stallReason = next;
    }
    reset(b, pcs);
    return true;
}

/* The name is CUPTI's, shared by records, the activity trace's too: it is not freed. */
static void take_pc(const struct context *c, const CUpti_PCSamplingPCData *pc)
{
    struct slot key = {.cubin = pc->cubinCrc,
                       .pc = pc->pcOffset,
                       .context = c->uid,
                       .function = ws_activity_name_id(pc->functionName)};
    for (size_t i = 0; i < pc->stallReasonCount && i < c->reason_count; i++) {
        uint32_t index = pc->stallReason[i].pcSamplingStallReasonIndex;
        key.reason = index < REASONS_MAX ? c->reason[index] : 0;
        key.samples = pc->stallReason[i].samples;
        if (key.samples == 0)
            continue;
        if (key.function == 0 || key.reason == 0)
            ws_spool_count_loss("pc_sample", "name-lost", key.samples);
        else
            add(&key);
    }
}

static void take(struct context *c, const CUpti_PCSamplingData *d)
{
    if (d->totalSamples > 0 || d->droppedSamples > 0) {
        c->totals.samples += d->totalSamples;
        c->totals.other += d->nonUsrKernelsTotalSamples;
        c->totals.dropped += d->droppedSamples;
        c->is_changed = true;
    }
    if (d->droppedSamples > 0)
        ws_spool_count_loss("pc_sample", "hardware", d->droppedSamples);
    for (size_t i = 0; i < d->totalNumPcs && i < d->collectNumPcs; i++)
        take_pc(c, &d->pPcData[i]);
}

static void note_full(void)
{
    ws_spool_status_now("sampling-overflow", 1, "Sample less often: --sampling-interval with a larger number.",
                        "the hardware's buffer for PC samples was full: samples are missing");
    ws_spool_count_loss("pc_sample", "hardware-full", 1);
}

/* Under `lock`. */
static bool is_alive(struct context *c)
{
    if (c->is_on && atomic_load(&c->is_gone)) {
        c->is_on = false;
        ws_spool_status_now("sampling-busy", 1, "",
                            "a context was destroyed while a module was being loaded: its last samples are missing");
    }
    return c->is_on;
}

/* GetData until nothing is left or the time is over. Under `lock`. */
static void drain(struct context *c, int64_t deadline_ns, bool is_last)
{
    CUpti_PCSamplingData *d = &sampling.reader.data;
    CUpti_PCSamplingGetDataParams p = {
        .size = CUpti_PCSamplingGetDataParamsSize, .ctx = c->handle, .pcSamplingData = d};
    bool has_more = true;
    while (has_more && is_alive(c)) {
        CUptiResult r;
        reset(&sampling.reader, PCS_READ);
        r = ws_cupti.cuptiPCSamplingGetData(&p);
        if (r == CUPTI_ERROR_OUT_OF_MEMORY || d->hardwareBufferFull)
            note_full();
        if (r == CUPTI_SUCCESS) {
            c->fails = 0;
            take(c, d);
        } else if (r != CUPTI_ERROR_OUT_OF_MEMORY) {
            complain("cuptiPCSamplingGetData", r);
            c->is_on = ++c->fails < FAILS_MAX; /* what it hands over at Disable is not worth a crash */
        }
        has_more = r == CUPTI_SUCCESS && (d->remainingNumPcs > 0 || (is_last && d->totalNumPcs > 0));
        if (has_more && ws_steady_ns() >= deadline_ns) {
            if (is_last)
                ws_spool_count_loss("pc_sample", "exit-time", d->remainingNumPcs);
            has_more = false;
        }
    }
}

/* Disable, and what it brings. Under `lock`. */
static void disable(struct context *c)
{
    CUpti_PCSamplingDisableParams p = {.size = CUpti_PCSamplingDisableParamsSize, .ctx = c->handle};
    CUptiResult r;
    if (!is_alive(c))
        return;
    c->is_on = false;
    reset(&c->late, PCS_LATE);
    r = ws_cupti.cuptiPCSamplingDisable(&p);
    if (r != CUPTI_SUCCESS) {
        complain("cuptiPCSamplingDisable", r);
        return;
    }
    take(c, &c->late.data);
    if (c->late.data.remainingNumPcs > 0)
        ws_spool_count_loss("pc_sample", "late", c->late.data.remainingNumPcs);
}

void ws_sampling_drain(bool is_final)
{
    int64_t from = ws_steady_ns();
    if (!sampling.table || !lock_within(is_final ? 500 : 0))
        return;
    for (size_t i = 0; i < CONTEXTS_MAX; i++)
        if (sampling.contexts[i].handle)
            drain(&sampling.contexts[i], from + (is_final ? FINAL_NS : DRAIN_NS), is_final);
    if (is_final) {
        tell_all();
        ws_spool_write_now(); /* Disable may not come back */
        for (size_t i = 0; i < CONTEXTS_MAX; i++)
            if (sampling.contexts[i].handle)
                disable(&sampling.contexts[i]);
        tell_all();
    } else {
        tell_when_due();
    }
    pthread_mutex_unlock(&sampling.lock);
    ws_spool_add_cost("sampling", 1, ws_steady_ns() - from);
}

/* --- one context ------------------------------------------------------------------------------------ */

/* One that was stopped keeps its place, and its totals go on when it starts again, until the place is needed. */
static struct context *context_of(CUcontext handle, bool may_add)
{
    struct context *free_one = NULL;
    uint32_t uid = 0;
    if (may_add)
        (void)ws_cupti.cuptiGetContextId(handle, &uid);
    for (size_t i = 0; i < CONTEXTS_MAX; i++) {
        struct context *c = &sampling.contexts[i];
        if (c->handle == handle && (may_add ? c->uid == uid : is_alive(c))) /* an address may come again */
            return c;
        if (!is_alive(c) && (!free_one || (free_one->handle && !c->handle)))
            free_one = c;
    }
    if (!may_add)
        return NULL;
    if (!free_one) {
        ws_spool_status_now("contexts-many", 1, "", "more than %d contexts at once: the others are not sampled",
                            CONTEXTS_MAX);
        return NULL;
    }
    if (free_one->handle)
        tell_totals(free_one);
    memset(&free_one->totals, 0, sizeof free_one->totals);
    atomic_store(&free_one->handle, handle);
    atomic_store(&free_one->is_gone, false);
    free_one->is_changed = false;
    free_one->uid = free_one->totals.context = uid;
    return free_one;
}

static bool name_reasons(struct context *c)
{
    static char texts[REASONS_MAX][CUPTI_STALL_REASON_STRING_SIZE]; /* 16 KiB: not on the program's stack */
    char *names[REASONS_MAX];
    uint32_t index[REASONS_MAX] = {0};
    size_t count = 0;
    CUpti_PCSamplingGetNumStallReasonsParams n = {
        .size = CUpti_PCSamplingGetNumStallReasonsParamsSize, .ctx = c->handle, .numStallReasons = &count};
    CUpti_PCSamplingGetStallReasonsParams p = {.size = CUpti_PCSamplingGetStallReasonsParamsSize,
                                               .ctx = c->handle,
                                               .stallReasonIndex = index,
                                               .stallReasons = names};
    CUptiResult r = ws_cupti.cuptiPCSamplingGetNumStallReasons(&n);
    if (r != CUPTI_SUCCESS) {
        complain("cuptiPCSamplingGetNumStallReasons", r);
        return false;
    }
    if (count == 0 || count > REASONS_MAX) {
        ws_spool_status_now("sampling-failed", 1, "", "CUPTI names %zu stall reasons: no PC samples", count);
        return false;
    }
    for (size_t i = 0; i < REASONS_MAX; i++)
        names[i] = texts[i];
    p.numStallReasons = count;
    r = ws_cupti.cuptiPCSamplingGetStallReasons(&p);
    if (r != CUPTI_SUCCESS) {
        complain("cuptiPCSamplingGetStallReasons", r);
        return false;
    }
    memset(c->reason, 0, sizeof c->reason);
    for (size_t i = 0; i < count; i++) {
        texts[i][CUPTI_STALL_REASON_STRING_SIZE - 1] = 0;
        if (index[i] < REASONS_MAX)
            c->reason[index[i]] = ws_spool_string_id(names[i]);
    }
    c->reason_count = count;
    return true;
}

/* What CUPTI made of it; 0 when it does not say. */
static uint32_t period_of(CUcontext context)
{
    CUpti_PCSamplingConfigurationInfo info = {.attributeType =
                                                  CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD};
    CUpti_PCSamplingConfigurationInfoParams p = {.size = CUpti_PCSamplingConfigurationInfoParamsSize,
                                                 .ctx = context,
                                                 .numAttributes = 1,
                                                 .pPCSamplingConfigurationInfo = &info};
    if (!ws_cupti.cuptiPCSamplingGetConfigurationAttribute ||
        ws_cupti.cuptiPCSamplingGetConfigurationAttribute(&p) != CUPTI_SUCCESS)
        return 0;
    return info.attributeData.samplingPeriodData.samplingPeriod;
}

/* 2^period cycles of an SM, so that a GPU that is busy everywhere leaves no more than RATE_MAX; 0 = CUPTI's choice,
 * which on an H200 are 110 million a second: they were decoded at the end, and the program waited for that. */
static uint32_t usual_period(CUcontext context)
{
    uint32_t device = 0, period = PERIOD_LEAST;
    int sms = 0, khz = 0;
    if (!ws_driver.device_get_attribute || ws_cupti.cuptiGetDeviceId(context, &device) != CUPTI_SUCCESS ||
        ws_driver.device_get_attribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, (CUdevice)device) !=
            CUDA_SUCCESS ||
        ws_driver.device_get_attribute(&khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, (CUdevice)device) != CUDA_SUCCESS ||
        sms <= 0 || khz <= 0)
        return 0;
    while (period < PERIOD_MOST && ((uint64_t)sms * (uint64_t)khz * 1000 >> period) > RATE_MAX)
        period++;
    return period;
}

static bool configure(struct context *c)
{
    CUpti_PCSamplingConfigurationInfo info[3] = {
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE,
         .attributeData.collectionModeData.collectionMode = CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS},
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER,
         .attributeData.samplingDataBufferData.samplingDataBuffer = &c->late.data},
        {.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD},
    };
    CUpti_PCSamplingConfigurationInfoParams p = {.size = CUpti_PCSamplingConfigurationInfoParamsSize,
                                                 .ctx = c->handle,
                                                 .numAttributes = 2,
                                                 .pPCSamplingConfigurationInfo = info};
    uint32_t period = sampling.period > 0 ? sampling.period : usual_period(c->handle);
    CUptiResult r;
    info[2].attributeData.samplingPeriodData.samplingPeriod = period;
    p.numAttributes = period > 0 ? 3 : 2;
    r = ws_cupti.cuptiPCSamplingSetConfigurationAttribute(&p);
    if (r != CUPTI_SUCCESS) {
        complain("cuptiPCSamplingSetConfigurationAttribute", r);
        return false;
    }
    c->totals.period = period_of(c->handle);
    c->is_changed = true;
    return true;
}

static bool enable(struct context *c)
{
    CUpti_PCSamplingEnableParams p = {.size = CUpti_PCSamplingEnableParamsSize, .ctx = c->handle};
    CUptiResult r = ws_cupti.cuptiPCSamplingEnable(&p);
    if (r != CUPTI_SUCCESS) {
        complain("cuptiPCSamplingEnable", r);
        return false;
    }
    c->is_on = true;
    c->fails = 0;
    return name_reasons(c) && make_buffer(&sampling.reader, PCS_READ, c->reason_count) &&
           make_buffer(&c->late, PCS_LATE, c->reason_count) && configure(c);
}

bool ws_sampling_start(CUcontext context, unsigned wait_ms)
{
    struct context *c;
    if (!sampling.table || !lock_within(wait_ms))
        return !sampling.table;
    c = context_of(context, true);
    if (c && !c->is_on && !enable(c))
        disable(c);
    pthread_mutex_unlock(&sampling.lock);
    return true;
}

bool ws_sampling_stop(CUcontext context, unsigned wait_ms)
{
    struct context *c;
    if (!sampling.table || !lock_within(wait_ms))
        return !sampling.table;
    c = context_of(context, false);
    if (c && c->is_on) {
        drain(c, ws_steady_ns() + STOP_NS, true);
        disable(c);
        tell_all();
    }
    pthread_mutex_unlock(&sampling.lock);
    return true;
}

void ws_sampling_forget(CUcontext context)
{
    for (size_t i = 0; i < CONTEXTS_MAX; i++)
        if (atomic_load(&sampling.contexts[i].handle) == context)
            atomic_store(&sampling.contexts[i].is_gone, true);
}

/* --- modules ---------------------------------------------------------------------------------------- */

/* Whether this code was not known yet; it is from now on. */
static bool is_new_cubin(uint64_t crc)
{
    uint32_t at = (uint32_t)(crc * 0x9e3779b97f4a7c15u >> 40) % CUBIN_SLOTS;
    bool is_new;
    pthread_mutex_lock(&sampling.cubins_lock);
    while (sampling.cubins[at] != 0 && sampling.cubins[at] != crc + 1)
        at = (at + 1) % CUBIN_SLOTS;
    is_new = sampling.cubins[at] == 0 && sampling.cubin_count < CUBIN_SLOTS / 2;
    if (is_new) {
        sampling.cubins[at] = crc + 1;
        sampling.cubin_count++;
    }
    pthread_mutex_unlock(&sampling.cubins_lock);
    return is_new;
}

/* Whether one more of this size may be kept. */
static bool has_room(size_t size)
{
    bool is_kept;
    pthread_mutex_lock(&sampling.cubins_lock);
    is_kept = size <= CUBIN_MAX && sampling.cubin_bytes + size <= CUBINS_MAX;
    if (is_kept)
        sampling.cubin_bytes += size;
    pthread_mutex_unlock(&sampling.cubins_lock);
    return is_kept;
}

static void send_cubin(const CUpti_ModuleResourceData *m, uint64_t crc)
{
    struct ws_rec_cubin rec = {.crc = crc, .size = m->cubinSize};
    if (!has_room(m->cubinSize)) {
        (void)ws_spool_cubin(&rec);
        ws_spool_status_now("cubins-large", 1, "",
                            "the code of some modules is not kept (bounds: %zu MiB each, %llu MiB a process): their "
                            "samples have no source lines",
                            CUBIN_MAX >> 20, (unsigned long long)(CUBINS_MAX >> 20));
        return;
    }
    while (rec.offset < rec.size) {
        uint64_t left = rec.size - rec.offset;
        rec.bytes = ws_text_n(m->pCubin + rec.offset, left < CUBIN_CHUNK ? (size_t)left : CUBIN_CHUNK);
        if (ws_spool_cubin(&rec) != 0)
            return; /* counted as lost there; what is there of it is no whole, and passes for none */
        rec.offset += rec.bytes.length;
    }
}

void ws_sampling_module_loaded(const CUpti_ModuleResourceData *module)
{
    CUpti_GetCubinCrcParams p = {.size = CUpti_GetCubinCrcParamsSize};
    int64_t from = ws_steady_ns();
    CUptiResult r;
    if (!sampling.table || !module || !module->pCubin || module->cubinSize == 0 || !is_listening())
        return;
    p.cubinSize = module->cubinSize;
    p.cubin = module->pCubin;
    r = ws_cupti.cuptiGetCubinCrc(&p);
    if (r != CUPTI_SUCCESS)
        complain("cuptiGetCubinCrc", r);
    else if (is_new_cubin(p.cubinCrc))
        send_cubin(module, p.cubinCrc);
    ws_spool_add_cost("modules", 1, ws_steady_ns() - from);
}

static const struct {
    CUpti_CallbackId id;
    bool is_unload;
} module_calls[] = {
    {CUPTI_DRIVER_TRACE_CBID_cuModuleLoad, false},          {CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData, false},
    {CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx, false},    {CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary, false},
    {CUPTI_DRIVER_TRACE_CBID_cuModuleUnload, true},         {CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData, false},
    {CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadFromFile, false}, {CUPTI_DRIVER_TRACE_CBID_cuLibraryUnload, true},
};

size_t ws_sampling_driver_cbids(CUpti_CallbackId *ids, size_t max)
{
    size_t n = sizeof module_calls / sizeof *module_calls;
    for (size_t i = 0; i < n && i < max; i++)
        ids[i] = module_calls[i].id;
    return n < max ? n : max;
}

size_t ws_sampling_resource_cbids(CUpti_CallbackId *ids, size_t max)
{
    if (max > 0)
        ids[0] = CUPTI_CBID_RESOURCE_MODULE_LOADED;
    return max > 0 ? 1 : 0;
}

/* Two modules may lie at one address, one after the other: samples of the first are fetched before it goes. */
static void drain_before_unload(void)
{
    for (size_t i = 0; i < CONTEXTS_MAX; i++)
        if (sampling.contexts[i].handle)
            drain(&sampling.contexts[i], ws_steady_ns() + DRAIN_NS, false);
}

void ws_sampling_module_call(CUpti_CallbackId cbid, const CUpti_CallbackData *data)
{
    bool is_unload = false;
    bool is_ours = false;
    for (size_t i = 0; i < sizeof module_calls / sizeof *module_calls && !is_ours; i++) {
        is_ours = module_calls[i].id == cbid;
        is_unload = module_calls[i].is_unload;
    }
    if (!is_ours || !sampling.table)
        return;
    if (data->callbackSite == CUPTI_API_EXIT) {
        if (module_depth > 0 && --module_depth == 0 && holds_lock) {
            holds_lock = false;
            pthread_mutex_unlock(&sampling.lock);
        }
        return;
    }
    if (module_depth++ > 0 || !is_listening())
        return;
    holds_lock = lock_within(100);
    if (holds_lock && is_unload)
        drain_before_unload();
}
