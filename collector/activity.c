/* SPDX-License-Identifier: MIT
 * activity.c: the activity trace. CUPTI calls request_buffer() and complete_buffer() from a thread
 * of its own or from our flush; both may run at the same time, so the pool has a lock.
 * After the collector is OFF no buffer is handed out and CUPTI drops its records itself. */
#include "activity.h"

#include "cupti_api.h"
#include "spool.h"
#include "state.h"
#include "steady.h"
#include "translate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define BUFFER_BYTES (256u << 10)
#define NAME_SLOTS 4096u
#define CALLS_MAX 2048u    /* CUPTI 13.0 has 812 driver and 534 runtime calls */
#define LAYOUT_SLOTS 1024u /* functions whose parameters are known */
#define PARAMS_MAX 16u

struct buffer {
    struct buffer *next;
};

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static struct buffer *pool;
static uint64_t pool_bytes;
static uint64_t pool_bytes_max;

/* What is switched on. The lock also keeps a profiled launch, which switches the kernel trace off for itself, from
 * switching it on again after a stop. */
static pthread_mutex_t kinds_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    bool is_registered, is_refused;
    bool is_on[CUPTI_ACTIVITY_KIND_COUNT];
} kinds;

/* Name pointers of kernels are stable while their module lives; the text is compared again all the
 * same, because a later module may reuse the address. */
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    const char *name;
    uint32_t id;
} names[NAME_SLOTS];

uint32_t ws_activity_name_id(const char *name)
{
    size_t slot = ((size_t)name >> 3) % NAME_SLOTS;
    uint32_t id = 0;
    if (!name)
        return 0;
    pthread_mutex_lock(&names_lock);
    if (names[slot].name == name && ws_spool_string_is(names[slot].id, name))
        id = names[slot].id;
    pthread_mutex_unlock(&names_lock);
    if (id != 0)
        return id;
    id = ws_spool_string_id(name);
    pthread_mutex_lock(&names_lock);
    names[slot].name = name;
    names[slot].id = id;
    pthread_mutex_unlock(&names_lock);
    return id;
}

/* Durations by kernel and shape: a word each, high half of the hash and microseconds, so that no lock is needed. Who
 * shares a slot displaces the other: then it is not known. */
#define SEEN_SLOTS 4096u
static atomic_ullong seen[SEEN_SLOTS];

static uint64_t hash_shape(uint32_t name, const uint32_t grid[3], const uint32_t block[3])
{
    uint64_t h = name;
    for (int i = 0; i < 3; i++) {
        h = (h ^ grid[i]) * 0x9e3779b97f4a7c15u;
        h = (h ^ block[i] ^ h >> 29) * 0x9e3779b97f4a7c15u;
    }
    return h ^ h >> 32;
}

static void note_seen(const struct ws_rec_kernel *k)
{
    const uint32_t grid[3] = {k->grid_x, k->grid_y, k->grid_z};
    const uint32_t block[3] = {k->block_x, k->block_y, k->block_z};
    uint64_t h = hash_shape(k->name, grid, block);
    int64_t us = (k->end_ns - k->start_ns) / 1000;
    if (k->start_ns == 0 || us < 0 || us > UINT32_MAX)
        return;
    atomic_store_explicit(&seen[h % SEEN_SLOTS], (h & 0xffffffff00000000u) | (uint64_t)us, memory_order_relaxed);
}

int64_t ws_activity_seen_ns(uint32_t name, const uint32_t grid[3], const uint32_t block[3])
{
    uint64_t h = hash_shape(name, grid, block);
    uint64_t word = atomic_load_explicit(&seen[h % SEEN_SLOTS], memory_order_relaxed);
    return word >> 32 == h >> 32 ? (int64_t)(word & 0xffffffffu) * 1000 : 0;
}

static void CUPTIAPI request_buffer(uint8_t **buffer, size_t *size, size_t *max_records)
{
    struct buffer *b = NULL;
    *buffer = NULL;
    *size = 0;
    *max_records = 0;
    if (ws_state_get() == WS_STATE_OFF)
        return;
    pthread_mutex_lock(&pool_lock);
    b = pool;
    if (b) {
        pool = b->next;
    } else if (pool_bytes + BUFFER_BYTES <= pool_bytes_max) {
        void *p = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p != MAP_FAILED) {
            b = p;
            pool_bytes += BUFFER_BYTES;
        }
    }
    pthread_mutex_unlock(&pool_lock);
    if (!b)
        return; /* CUPTI counts the records it then drops; complete_buffer() reports the number */
    *buffer = (uint8_t *)b;
    *size = BUFFER_BYTES;
}

/* Calls that only ask for something are half of all calls and explain nothing: told when they fail. */
static bool is_call_kept(const char *name)
{
    static const char *const words[] = {"Launch", "Memcpy", "Memset", "Synchronize", "Malloc",  "Free",   "Alloc",
                                        "Graph",  "Event",  "Stream", "Prefetch",    "HostReg", "Module", "Library"};
    if (strstr(name, "IsCapturing") || strstr(name, "GetCaptureInfo") || strstr(name, "Query"))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i]))
            return true;
    return false;
}

/* CUPTI spells versions into the names of runtime calls: cudaMemcpyAsync_v3020. */
static void clean_call_name(const char *raw, char *out, size_t size)
{
    const char *end = strstr(raw, "_v");
    size_t n = end && end[2] >= '0' && end[2] <= '9' ? (size_t)(end - raw) : strlen(raw);
    if (n >= size)
        n = size - 1;
    memcpy(out, raw, n);
    out[n] = 0;
}

static struct call_name {
    uint32_t id;
    bool is_known, is_kept;
} call_names[2][CALLS_MAX]; /* by domain and cbid; the buffer thread and our flush both come here */

static struct call_name name_of_call(uint32_t domain, CUpti_CallbackId cbid)
{
    struct call_name found = {.id = 0};
    const char *raw = NULL;
    char name[96];
    if (cbid >= CALLS_MAX || !ws_cupti.cuptiGetCallbackName)
        return found;
    pthread_mutex_lock(&names_lock);
    found = call_names[domain - 1][cbid];
    pthread_mutex_unlock(&names_lock);
    if (found.is_known)
        return found;
    if (ws_cupti.cuptiGetCallbackName(domain == 1 ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API, cbid,
                                      &raw) == CUPTI_SUCCESS &&
        raw) {
        clean_call_name(raw, name, sizeof name);
        found.id = ws_spool_string_id(name);
        found.is_kept = is_call_kept(name);
    }
    found.is_known = true;
    pthread_mutex_lock(&names_lock);
    call_names[domain - 1][cbid] = found;
    pthread_mutex_unlock(&names_lock);
    return found;
}

static void take_api(const CUpti_Activity *record)
{
    struct ws_rec_api rec;
    CUpti_CallbackId cbid;
    struct call_name name;
    ws_translate_api(record, &rec, &cbid);
    name = name_of_call(rec.domain, cbid);
    if (!name.is_kept && rec.return_code == 0)
        return;
    rec.name = name.id;
    (void)ws_spool_api(&rec);
}

static void take_host_record(const CUpti_Activity *record)
{
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
        take_api(record);
        break;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: {
        struct ws_rec_sync rec;
        ws_translate_sync(record, &rec);
        (void)ws_spool_sync(&rec);
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMORY2: {
        struct ws_rec_memory rec;
        ws_translate_memory(record, &rec);
        (void)ws_spool_memory(&rec);
        break;
    }
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER: {
        struct ws_rec_uvm rec;
        ws_translate_uvm(record, &rec);
        (void)ws_spool_uvm(&rec);
        break;
    }
    default:
        break;
    }
}

static void take_record(const CUpti_Activity *record)
{
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL: {
        struct ws_rec_kernel rec;
        const char *name;
        ws_translate_kernel(record, &rec, &name);
        rec.name = ws_activity_name_id(name);
        note_seen(&rec);
        (void)ws_spool_kernel(&rec);
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY:
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
        struct ws_rec_memcpy rec;
        ws_translate_memcpy(record, &rec);
        (void)ws_spool_memcpy(&rec);
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
        struct ws_rec_memset rec;
        ws_translate_memset(record, &rec);
        (void)ws_spool_memset(&rec);
        break;
    }
    default:
        take_host_record(record);
        break;
    }
}

static void CUPTIAPI complete_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    CUpti_Activity *record = NULL;
    size_t dropped = 0;
    (void)size;
    if (!buffer)
        return;
    if (ws_state_get() != WS_STATE_OFF) {
        while (ws_cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
            take_record(record);
        if (ws_cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS && dropped > 0)
            ws_spool_count_loss("activity", "cupti-dropped", dropped);
    }
    pthread_mutex_lock(&pool_lock);
    ((struct buffer *)(void *)buffer)->next = pool;
    pool = (struct buffer *)(void *)buffer;
    pthread_mutex_unlock(&pool_lock);
}

static bool enable_kind(CUpti_ActivityKind kind, const char *what)
{
    CUptiResult r = ws_cupti.cuptiActivityEnable(kind);
    if (r != CUPTI_SUCCESS)
        ws_spool_status_now("trace-failed", 1, "", "%s are not traced: cuptiActivityEnable answered %d (%s)", what,
                            (int)r, ws_cupti_text(r));
    kinds.is_on[kind] = r == CUPTI_SUCCESS;
    return r == CUPTI_SUCCESS;
}

void ws_activity_start_unified_memory(void)
{
    static bool is_configured; /* the two places that call this exclude each other: collection.c */
    CUpti_ActivityUnifiedMemoryCounterConfig config[4];
    static const CUpti_ActivityUnifiedMemoryCounterKind counted[] = {
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
    };
    CUptiResult r;
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        config[i] = (CUpti_ActivityUnifiedMemoryCounterConfig){
            .scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE,
            .kind = counted[i],
            .enable = 1};
    if (!ws_cupti.cuptiActivityConfigureUnifiedMemoryCounter)
        return;
    r = is_configured ? CUPTI_SUCCESS
                      : ws_cupti.cuptiActivityConfigureUnifiedMemoryCounter(config, sizeof counted / sizeof *counted);
    is_configured = r == CUPTI_SUCCESS;
    pthread_mutex_lock(&kinds_lock);
    if (is_configured)
        (void)enable_kind(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, "unified-memory migrations");
    pthread_mutex_unlock(&kinds_lock);
    if (!is_configured)
        ws_spool_status_now("unified-memory-untraced", 0, "", "unified memory is not traced: CUPTI answered %d (%s)",
                            (int)r, ws_cupti_text(r));
}

/* Once. */
static bool register_buffers(uint64_t memory_bytes)
{
    CUptiResult r;
    if (kinds.is_registered || kinds.is_refused)
        return kinds.is_registered;
    pool_bytes_max = memory_bytes;
    if (!ws_cupti.has_trace) {
        ws_spool_status_now("trace-unavailable", 1, "Use the CUPTI of the CUDA toolkit that matches the driver.",
                            "this CUPTI has no %s: no kernel times are recorded", ws_cupti.missing_trace);
        kinds.is_refused = true;
        return false;
    }
    r = ws_cupti.cuptiActivityRegisterCallbacks(request_buffer, complete_buffer);
    kinds.is_registered = r == CUPTI_SUCCESS;
    kinds.is_refused = !kinds.is_registered;
    if (kinds.is_refused)
        ws_cupti_complain("trace-failed", "cuptiActivityRegisterCallbacks", r, "");
    return kinds.is_registered;
}

static bool enable_kinds(bool has_api)
{
    bool has_any = enable_kind(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kernels");
    has_any = enable_kind(CUPTI_ACTIVITY_KIND_MEMCPY, "memory copies") || has_any;
    has_any = enable_kind(CUPTI_ACTIVITY_KIND_MEMCPY2, "copies between GPUs") || has_any;
    has_any = enable_kind(CUPTI_ACTIVITY_KIND_MEMSET, "memory sets") || has_any;
    if (has_api) {
        (void)enable_kind(CUPTI_ACTIVITY_KIND_DRIVER, "driver calls");
        (void)enable_kind(CUPTI_ACTIVITY_KIND_RUNTIME, "runtime calls");
        (void)enable_kind(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, "synchronisations");
        (void)enable_kind(CUPTI_ACTIVITY_KIND_MEMORY2, "allocations");
    }
    return has_any;
}

bool ws_activity_start(uint64_t memory_bytes, bool has_api)
{
    bool has_any;
    pthread_mutex_lock(&kinds_lock);
    has_any = register_buffers(memory_bytes) && enable_kinds(has_api);
    pthread_mutex_unlock(&kinds_lock);
    return has_any;
}

void ws_activity_stop(void)
{
    pthread_mutex_lock(&kinds_lock);
    for (int i = 0; i < CUPTI_ACTIVITY_KIND_COUNT; i++)
        if (kinds.is_on[i]) {
            (void)ws_cupti.cuptiActivityDisable((CUpti_ActivityKind)i);
            kinds.is_on[i] = false;
        }
    pthread_mutex_unlock(&kinds_lock);
}

void ws_activity_note_copy(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const CUpti_CallbackData *data)
{
    struct ws_rec_copy_call rec;
    if (data->callbackSite == CUPTI_API_ENTER && ws_state_get() == WS_STATE_ON &&
        ws_translate_copy(domain, cbid, data, &rec))
        (void)ws_spool_copy_call(&rec);
}

/* Which parameters of a function are 8 bytes long: the driver knows (from CUDA 12.4 on). */
struct layout {
    CUfunction function;
    uint32_t count; /* parameters looked at */
    uint32_t wide;  /* bit i: parameter i has 8 bytes */
};

/* Size of one parameter; 0 = there is no such, or nobody says. A launch call takes a CUkernel in place of a CUfunction,
 * and the runtime of CUDA 12 on passes one. */
static size_t param_size(CUfunction function, uint32_t index)
{
    size_t offset, size;
    if (ws_driver.func_get_param_info && ws_driver.func_get_param_info(function, index, &offset, &size) == CUDA_SUCCESS)
        return size;
    if (ws_driver.kernel_get_param_info &&
        ws_driver.kernel_get_param_info((CUkernel)function, index, &offset, &size) == CUDA_SUCCESS)
        return size;
    return 0;
}

static struct layout layout_of(CUfunction function)
{
    static struct layout known[LAYOUT_SLOTS];
    struct layout *slot = &known[((size_t)function >> 4) % LAYOUT_SLOTS];
    struct layout found = {.function = function};
    bool is_known;
    pthread_mutex_lock(&names_lock);
    is_known = slot->function == function;
    if (is_known)
        found = *slot;
    pthread_mutex_unlock(&names_lock);
    if (is_known)
        return found;
    while (found.count < PARAMS_MAX) {
        size_t size = param_size(function, found.count);
        if (size == 0)
            break;
        if (size == 8)
            found.wide |= 1u << found.count;
        found.count++;
    }
    pthread_mutex_lock(&names_lock);
    *slot = found;
    pthread_mutex_unlock(&names_lock);
    return found;
}

void ws_activity_note_launch(CUpti_CallbackId cbid, const CUpti_CallbackData *data)
{
    uint64_t values[PARAMS_MAX];
    struct ws_rec_launch_call rec = {.correlation = data->correlationId};
    struct layout layout;
    CUfunction function = NULL;
    void **params = NULL;
    uint32_t n = 0;
    if (data->callbackSite != CUPTI_API_ENTER || ws_state_get() != WS_STATE_ON ||
        !ws_translate_params(cbid, data, &function, &params) || !params)
        return;
    layout = layout_of(function);
    for (uint32_t i = 0; i < layout.count; i++)
        if (layout.wide >> i & 1 && params[i])
            memcpy(&values[n++], params[i], sizeof values[0]);
    rec.params = ws_text_n((const char *)values, n * sizeof values[0]);
    if (n > 0)
        (void)ws_spool_launch_call(&rec);
}

static bool is_tracing_kernels(void)
{
    bool is_on;
    pthread_mutex_lock(&kinds_lock);
    is_on = kinds.is_on[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL];
    pthread_mutex_unlock(&kinds_lock);
    return is_on;
}

void ws_activity_trace_kernels(bool on)
{
    pthread_mutex_lock(&kinds_lock);
    if (kinds.is_on[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL]) {
        if (on)
            (void)ws_cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
        else
            (void)ws_cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    }
    pthread_mutex_unlock(&kinds_lock);
}

void ws_activity_flush_replayed(void)
{
    if (is_tracing_kernels())
        (void)ws_cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

void ws_activity_flush(bool is_final)
{
    int64_t from = ws_steady_ns();
    CUptiResult r;
    r = ws_cupti.cuptiActivityFlushAll(is_final ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
    if (r != CUPTI_SUCCESS)
        ws_cupti_complain("trace-failed", "cuptiActivityFlushAll", r, "");
    ws_spool_add_cost("flush", 1, ws_steady_ns() - from);
}
