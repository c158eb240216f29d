/* SPDX-License-Identifier: MIT
 * activity.c: the activity trace. CUPTI calls request_buffer() and complete_buffer() from a thread
 * of its own, from our flush or from the program's threads; they may run at the same time, so the pool has a lock.
 * Full buffers are read by the collector's thread (ws_activity_read).
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
#define BUFFERS_MAX 2048u /* half a GiB: more than anyone sets */
#define WAKE_BUFFERS 8    /* some 9,000 kernels */
#define WRITE_BUFFERS 4   /* less than the smallest spool holds */
#define CONTEXTS_MAX 64u
#define NAME_SLOTS 4096u
#define CALLS_MAX 2048u    /* CUPTI 13.0 has 812 driver and 534 runtime calls */
#define LAYOUT_SLOTS 1024u /* functions whose parameters are known */
#define PARAMS_MAX 16u

/* All buffers: free, lent to CUPTI, or full and waiting to be read, in the order in which they came back. */
#define NO_BUFFER UINT32_MAX
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct {
        uint8_t *at;
        size_t valid_bytes; /* of a full one */
        uint32_t next;      /* in its list */
    } buffer[BUFFERS_MAX];
    uint32_t count, max;
    uint32_t free_head, full_head, full_tail;
    uint32_t full_count;
} pool = {.free_head = NO_BUFFER, .full_head = NO_BUFFER, .full_tail = NO_BUFFER};

/* What is switched on. The lock also keeps a profiled launch, which switches the kernel trace off for itself, from
 * switching it on again after a stop. */
static pthread_mutex_t kinds_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    bool is_registered, is_refused, has_unified_memory;
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

/* Under `pool_lock`. */
static uint8_t *lend_buffer(void)
{
    uint32_t i = pool.free_head;
    void *p;
    if (i != NO_BUFFER) {
        pool.free_head = pool.buffer[i].next;
        return pool.buffer[i].at;
    }
    if (pool.count == pool.max)
        return NULL;
    p = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    pool.buffer[pool.count++].at = p;
    return p;
}

/* Under `pool_lock`. A handful of buffers is in use, 128 at most by default. */
static uint32_t index_of(const uint8_t *buffer)
{
    uint32_t i = 0;
    while (i < pool.count && pool.buffer[i].at != buffer)
        i++;
    return i < pool.count ? i : NO_BUFFER;
}

static void free_buffer(uint32_t i)
{
    pthread_mutex_lock(&pool_lock);
    pool.buffer[i].next = pool.free_head;
    pool.free_head = i;
    pthread_mutex_unlock(&pool_lock);
}

/* To the end of the full ones; returns how many there are. Under `pool_lock`. */
static uint32_t queue_buffer(uint32_t i, size_t valid_bytes)
{
    pool.buffer[i].valid_bytes = valid_bytes;
    pool.buffer[i].next = NO_BUFFER;
    if (pool.full_tail == NO_BUFFER)
        pool.full_head = i;
    else
        pool.buffer[pool.full_tail].next = i;
    pool.full_tail = i;
    return ++pool.full_count;
}

static uint32_t next_full(void)
{
    uint32_t i;
    pthread_mutex_lock(&pool_lock);
    i = pool.full_head;
    if (i != NO_BUFFER) {
        pool.full_head = pool.buffer[i].next;
        if (pool.full_head == NO_BUFFER)
            pool.full_tail = NO_BUFFER;
        pool.full_count--;
    }
    pthread_mutex_unlock(&pool_lock);
    return i;
}

static void CUPTIAPI request_buffer(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = NULL;
    *size = 0;
    *max_records = 0;
    if (ws_state_get() == WS_STATE_OFF)
        return;
    pthread_mutex_lock(&pool_lock);
    *buffer = lend_buffer();
    pthread_mutex_unlock(&pool_lock);
    if (*buffer)
        *size = BUFFER_BYTES; /* else CUPTI counts the records it then drops; complete_buffer() reports the number */
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

/* Contexts as records name them: one or two in a program's life. */
static struct {
    pthread_mutex_t lock;
    struct {
        uint32_t context, device;
    } at[CONTEXTS_MAX];
    size_t count, told;
} contexts = {.lock = PTHREAD_MUTEX_INITIALIZER};
static atomic_uint last_context; /* noted already */

static void note_context(uint32_t context, uint32_t device)
{
    size_t i = 0;
    if (context == atomic_load_explicit(&last_context, memory_order_relaxed))
        return;
    pthread_mutex_lock(&contexts.lock);
    while (i < contexts.count && (contexts.at[i].context != context || contexts.at[i].device != device))
        i++;
    if (i == contexts.count && i < CONTEXTS_MAX) {
        contexts.at[i].context = context;
        contexts.at[i].device = device;
        contexts.count++;
    }
    pthread_mutex_unlock(&contexts.lock);
    atomic_store_explicit(&last_context, context, memory_order_relaxed);
}

void ws_activity_each_new_context(void (*each)(uint32_t context, uint32_t device))
{
    size_t count;
    pthread_mutex_lock(&contexts.lock);
    count = contexts.count;
    pthread_mutex_unlock(&contexts.lock);
    for (; contexts.told < count; contexts.told++) /* entries below count never change */
        each(contexts.at[contexts.told].context, contexts.at[contexts.told].device);
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

/* Times between a stop and a start: a graph that was instantiated while it was traced gives records for ever (H200).
 * The last ones, newest last; the present one has no end. What was queued at a stop belongs to the time before it, and
 * the GPU's clock is not quite ours. */
#define PAUSES 64u
#define PAUSE_TAIL_NS 100000000
#define PAUSE_END_NS 1000000
static struct {
    pthread_mutex_t lock;
    struct {
        int64_t from_ns, until_ns;
    } at[PAUSES];
    size_t count; /* ever */
} pauses = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void begin_pause(void)
{
    pthread_mutex_lock(&pauses.lock);
    pauses.at[pauses.count % PAUSES].from_ns = ws_now_ns();
    pauses.at[pauses.count++ % PAUSES].until_ns = INT64_MAX;
    pthread_mutex_unlock(&pauses.lock);
}

static void end_pause(void)
{
    pthread_mutex_lock(&pauses.lock);
    if (pauses.count > 0 && pauses.at[(pauses.count - 1) % PAUSES].until_ns == INT64_MAX)
        pauses.at[(pauses.count - 1) % PAUSES].until_ns = ws_now_ns();
    pthread_mutex_unlock(&pauses.lock);
}

static bool is_in_pause(int64_t start_ns)
{
    bool is_in = false;
    pthread_mutex_lock(&pauses.lock);
    for (size_t n = 0; n < PAUSES && n < pauses.count; n++) {
        size_t i = (pauses.count - 1 - n) % PAUSES;
        if (start_ns >= pauses.at[i].from_ns) {
            is_in = start_ns >= pauses.at[i].from_ns + PAUSE_TAIL_NS && start_ns < pauses.at[i].until_ns - PAUSE_END_NS;
            break;
        }
    }
    pthread_mutex_unlock(&pauses.lock);
    return is_in;
}

static void take_record(const CUpti_Activity *record)
{
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL: {
        struct ws_rec_kernel rec;
        const char *name;
        ws_translate_kernel(record, &rec, &name);
        if (rec.graph_node != 0 && is_in_pause(rec.start_ns))
            break;
        rec.name = ws_activity_name_id(name);
        note_seen(&rec);
        note_context(rec.context, rec.device);
        (void)ws_spool_kernel(&rec);
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY:
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
        struct ws_rec_memcpy rec;
        ws_translate_memcpy(record, &rec);
        note_context(rec.context, rec.device);
        (void)ws_spool_memcpy(&rec);
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
        struct ws_rec_memset rec;
        ws_translate_memset(record, &rec);
        note_context(rec.context, rec.device);
        (void)ws_spool_memset(&rec);
        break;
    }
    default:
        take_host_record(record);
        break;
    }
}

static void read_buffer(uint32_t i)
{
    CUpti_Activity *record = NULL;
    if (ws_state_get() != WS_STATE_OFF)
        while (ws_cupti.cuptiActivityGetNextRecord(pool.buffer[i].at, pool.buffer[i].valid_bytes, &record) ==
               CUPTI_SUCCESS)
            take_record(record);
    free_buffer(i);
}

void ws_activity_read(void)
{
    unsigned count = 0;
    for (uint32_t i = next_full(); i != NO_BUFFER; i = next_full()) {
        read_buffer(i);
        if (++count % WRITE_BUFFERS == 0)
            ws_spool_write_now(); /* all that waits may be more than the spool's memory */
    }
}

/* Whose thread this is CUPTI does not say, and it may be one that launches: reading is for our own. It is woken where a
 * storm fills more than a few buffers between two of its rounds; where it is stuck, and most buffers wait for it, the
 * caller reads this one rather than that records be lost. */
static void CUPTIAPI complete_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    size_t dropped = 0;
    uint32_t i, waiting = 0;
    bool is_ours;
    (void)size;
    if (ws_state_get() != WS_STATE_OFF &&
        ws_cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS && dropped > 0)
        ws_spool_count_loss("activity", "cupti-dropped", dropped);
    pthread_mutex_lock(&pool_lock);
    i = buffer ? index_of(buffer) : NO_BUFFER;
    is_ours = i != NO_BUFFER && valid > 0;
    if (is_ours && pool.full_count < pool.max / 4 * 3)
        waiting = queue_buffer(i, valid);
    else if (is_ours)
        pool.buffer[i].valid_bytes = valid;
    pthread_mutex_unlock(&pool_lock);
    if (i == NO_BUFFER)
        return;
    if (!is_ours)
        free_buffer(i);
    else if (waiting == 0)
        read_buffer(i);
    else if (waiting % (pool.max / 4 < WAKE_BUFFERS ? pool.max / 4 : WAKE_BUFFERS) == 0)
        ws_spool_wake();
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
    CUpti_ActivityUnifiedMemoryCounterConfig config[4];
    static const CUpti_ActivityUnifiedMemoryCounterKind counted[] = {
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
        CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
    };
    CUptiResult r = CUPTI_SUCCESS;
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        config[i] = (CUpti_ActivityUnifiedMemoryCounterConfig){
            .scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE,
            .kind = counted[i],
            .enable = 1};
    if (!ws_cupti.cuptiActivityConfigureUnifiedMemoryCounter)
        return;
    pthread_mutex_lock(&kinds_lock);
    if (!kinds.has_unified_memory)
        r = ws_cupti.cuptiActivityConfigureUnifiedMemoryCounter(config, sizeof counted / sizeof *counted);
    kinds.has_unified_memory = r == CUPTI_SUCCESS;
    if (kinds.has_unified_memory && !kinds.is_on[CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER])
        (void)enable_kind(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, "unified-memory migrations");
    pthread_mutex_unlock(&kinds_lock);
    if (r != CUPTI_SUCCESS && r != CUPTI_ERROR_NOT_READY)
        ws_spool_status_now("unified-memory-untraced", 0, "", "unified memory is not traced: CUPTI answered %d (%s)",
                            (int)r, ws_cupti_text(r));
}

/* Once. */
static bool register_buffers(uint64_t memory_bytes)
{
    CUptiResult r;
    if (kinds.is_registered || kinds.is_refused)
        return kinds.is_registered;
    pool.max = memory_bytes / BUFFER_BYTES < BUFFERS_MAX ? (uint32_t)(memory_bytes / BUFFER_BYTES) : BUFFERS_MAX;
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
    end_pause();
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
    begin_pause();
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
