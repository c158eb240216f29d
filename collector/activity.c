/* SPDX-License-Identifier: MIT
 * activity.c: the activity trace. CUPTI calls request_buffer() and complete_buffer() from a thread
 * of its own or from our flush; both may run at the same time, so the pool has a lock.
 * After the collector is OFF no buffer is handed out and CUPTI drops its records itself. */
#include "activity.h"

#include "cupti_api.h"
#include "spool.h"
#include "state.h"
#include "translate.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define BUFFER_BYTES (256u << 10)
#define NAME_SLOTS 4096u

struct buffer {
    struct buffer *next;
};

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static struct buffer *pool;
static uint64_t pool_bytes;
static uint64_t pool_bytes_max;
static bool is_tracing_kernels; /* set once, before the first launch */

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

static void take_record(const CUpti_Activity *record)
{
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL: {
        struct ws_rec_kernel rec;
        const char *name;
        ws_translate_kernel(record, &rec, &name);
        rec.name = ws_activity_name_id(name);
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

bool ws_activity_start(uint64_t memory_bytes)
{
    static const struct {
        CUpti_ActivityKind kind;
        const char *what;
    } kinds[] = {
        {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kernels"},
        {CUPTI_ACTIVITY_KIND_MEMCPY, "memory copies"},
        {CUPTI_ACTIVITY_KIND_MEMCPY2, "copies between GPUs"},
        {CUPTI_ACTIVITY_KIND_MEMSET, "memory sets"},
    };
    CUptiResult r;
    bool has_any = false;
    pool_bytes_max = memory_bytes;
    if (!ws_cupti.has_trace) {
        ws_spool_status_now("trace-unavailable", 1, "Use the CUPTI of the CUDA toolkit that matches the driver.",
                            "this CUPTI has no %s: no kernel times are recorded", ws_cupti.missing_trace);
        return false;
    }
    r = ws_cupti.cuptiActivityRegisterCallbacks(request_buffer, complete_buffer);
    if (r != CUPTI_SUCCESS) {
        ws_cupti_complain("trace-failed", "cuptiActivityRegisterCallbacks", r, "");
        return false;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        r = ws_cupti.cuptiActivityEnable(kinds[i].kind);
        if (r == CUPTI_SUCCESS)
            has_any = true;
        if (r == CUPTI_SUCCESS && kinds[i].kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
            is_tracing_kernels = true;
        if (r != CUPTI_SUCCESS)
            ws_spool_status_now("trace-failed", 1, "", "%s are not traced: cuptiActivityEnable answered %d (%s)",
                                kinds[i].what, (int)r, ws_cupti_text(r));
    }
    return has_any;
}

void ws_activity_trace_kernels(bool on)
{
    if (!is_tracing_kernels)
        return;
    if (on)
        (void)ws_cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    else
        (void)ws_cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

void ws_activity_flush(bool is_final)
{
    int64_t from = ws_now_ns();
    if (!ws_cupti.has_trace)
        return;
    (void)ws_cupti.cuptiActivityFlushAll(is_final ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
    ws_spool_add_cost("flush", 1, ws_now_ns() - from);
}
