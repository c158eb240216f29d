/* SPDX-License-Identifier: MIT
 * nvtx.c: see nvtx.h. Runs in the program's threads, inside its NVTX calls; may come before CUDA is initialised.
 * Domains and registered strings are ours to make and are kept for good: their number is the program's source code's.
 * A thread's stack of pushed ranges is bounded; what lies above is counted, and named nowhere.
 *
 * The interface of NVTX 3 to a tool is an array of pointers to its function pointers, by numbers that never change;
 * those used stand below, so that no header of NVIDIA's is needed (nvtx3/nvtxDetail/nvtxTypes.h has them all). */
#include "nvtx.h"

#include "collection.h"
#include "nvtx_filter.h"
#include "settings.h"
#include "spool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define DEPTH_MAX 64

/* --- NVTX's side --- */

typedef void nvtx_function(void);
typedef const void *nvtx_get_table(uint32_t id);

struct nvtx_callbacks {
    size_t size;
    int (*get_functions)(int module, nvtx_function ****table, unsigned *count);
};

enum { TABLE_CALLBACKS = 1, MODULE_CORE = 1, MODULE_CORE2 = 5 };
enum {
    CORE_START_EX = 4,
    CORE_START_A,
    CORE_START_W,
    CORE_END,
    CORE_PUSH_EX,
    CORE_PUSH_A,
    CORE_PUSH_W,
    CORE_POP,
};
enum {
    CORE2_START_EX = 2,
    CORE2_END,
    CORE2_PUSH_EX,
    CORE2_POP,
    CORE2_STRING_A = 10,
    CORE2_STRING_W,
    CORE2_DOMAIN_A,
    CORE2_DOMAIN_W,
};

struct nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type; /* 1 text, 2 wide text, 3 registered */
    const void *message;
};

/* What a domain handle and a string handle of ours point to. */
struct named {
    char name[WS_NVTX_NAME];
};

/* --- state --- */

struct entry {
    const struct named *domain; /* NULL = the default */
    char name[WS_NVTX_NAME];
};

struct stack {
    size_t depth; /* may be above DEPTH_MAX */
    bool is_match;
    struct entry entry[DEPTH_MAX];
};

static struct ws_nvtx_filter filter; /* constant once loaded */
static atomic_bool is_loaded, has_fitted;
static atomic_uint open_ranges; /* threads whose stack fits, and start/end ranges that do */
static atomic_uint_fast64_t last_id;
static pthread_key_t stack_key;

bool ws_nvtx_is_open(void)
{
    return atomic_load(&open_ranges) > 0;
}

const char *ws_nvtx_silence(void)
{
    if (!atomic_load(&is_loaded))
        return "the program made no NVTX call, or another tool holds NVTX_INJECTION64_PATH";
    return atomic_load(&has_fitted) ? "" : "no NVTX range of the program fits it";
}

static void opened(void)
{
    atomic_store(&has_fitted, true);
    if (atomic_fetch_add(&open_ranges, 1) == 0)
        ws_collection_range_changed();
}

static void closed(void)
{
    if (atomic_fetch_sub(&open_ranges, 1) == 1)
        ws_collection_range_changed();
}

/* --- names --- */

static void copy_text(char *out, const char *text)
{
    snprintf(out, WS_NVTX_NAME, "%s", text ? text : "");
}

/* UTF-32 to UTF-8, as far as it fits. */
static void copy_wide(char *out, const wchar_t *text)
{
    size_t n = 0;
    for (; text && *text; text++) {
        uint32_t c = (uint32_t)*text;
        if (n + 5 > WS_NVTX_NAME)
            break;
        if (c < 0x80) {
            out[n++] = (char)c;
        } else if (c < 0x800) {
            out[n++] = (char)(0xc0 | c >> 6);
            out[n++] = (char)(0x80 | (c & 0x3f));
        } else {
            if (c >= 0x10000)
                out[n++] = (char)(0xf0 | (c >> 18 & 7));
            out[n++] = (char)(c >= 0x10000 ? 0x80 | (c >> 12 & 0x3f) : 0xe0 | c >> 12);
            out[n++] = (char)(0x80 | (c >> 6 & 0x3f));
            out[n++] = (char)(0x80 | (c & 0x3f));
        }
    }
    out[n] = 0;
}

static void copy_message(char *out, const struct nvtx_attributes *a)
{
    out[0] = 0;
    if (!a || a->size < sizeof *a || !a->message)
        return;
    if (a->message_type == 1)
        copy_text(out, a->message);
    else if (a->message_type == 2)
        copy_wide(out, a->message);
    else if (a->message_type == 3)
        copy_text(out, ((const struct named *)a->message)->name);
}

static const char *domain_name(const struct named *domain)
{
    return domain ? domain->name : "";
}

/* --- push and pop: a thread's own --- */

static void end_of_thread(void *value)
{
    struct stack *s = value;
    if (s->is_match)
        closed(); /* ended without its pops */
    free(s);
}

static struct stack *my_stack(void)
{
    struct stack *s = pthread_getspecific(stack_key);
    if (!s) {
        s = calloc(1, sizeof *s);
        if (s && pthread_setspecific(stack_key, s) != 0) {
            free(s);
            s = NULL;
        }
    }
    return s;
}

static void judge(struct stack *s)
{
    const char *domain[DEPTH_MAX], *name[DEPTH_MAX];
    size_t n = s->depth < DEPTH_MAX ? s->depth : DEPTH_MAX;
    bool is_match;
    for (size_t i = 0; i < n; i++) {
        domain[i] = domain_name(s->entry[i].domain);
        name[i] = s->entry[i].name;
    }
    is_match = ws_nvtx_filter_fits_stack(&filter, domain, name, n);
    if (is_match == s->is_match)
        return;
    s->is_match = is_match;
    if (is_match)
        opened();
    else
        closed();
}

static int push(const struct named *domain, const char *name)
{
    struct stack *s = my_stack();
    if (!s)
        return 0;
    if (s->depth < DEPTH_MAX) {
        s->entry[s->depth].domain = domain;
        copy_text(s->entry[s->depth].name, name);
    }
    s->depth++;
    judge(s);
    return (int)s->depth - 1;
}

/* The highest range of this domain goes; those of other domains above it stay. */
static int pop(const struct named *domain)
{
    struct stack *s = my_stack();
    size_t at;
    if (!s || s->depth == 0)
        return -1;
    if (s->depth > DEPTH_MAX)
        return (int)--s->depth;
    at = s->depth;
    while (at > 0 && s->entry[at - 1].domain != domain)
        at--;
    if (at == 0)
        return -1;
    memmove(&s->entry[at - 1], &s->entry[at], (s->depth - at) * sizeof s->entry[0]);
    s->depth--;
    judge(s);
    return (int)s->depth;
}

/* --- start and end: of the process. The lowest bit of an id says whether the filter means it. --- */

static uint64_t start(const struct named *domain, const char *name)
{
    bool is_match = ws_nvtx_filter_fits_range(&filter, domain_name(domain), name);
    uint64_t id = (atomic_fetch_add(&last_id, 1) + 1) << 1 | (uint64_t)is_match;
    if (is_match)
        opened();
    return id;
}

static void end(uint64_t id)
{
    if (id & 1 && atomic_load(&open_ranges) > 0)
        closed();
}

/* --- what NVTX calls --- */

static uint64_t on_start_ex(const struct nvtx_attributes *a)
{
    char name[WS_NVTX_NAME];
    copy_message(name, a);
    return start(NULL, name);
}

static uint64_t on_start_a(const char *text)
{
    return start(NULL, text ? text : "");
}

static uint64_t on_start_w(const wchar_t *text)
{
    char name[WS_NVTX_NAME];
    copy_wide(name, text);
    return start(NULL, name);
}

static void on_end(uint64_t id)
{
    end(id);
}

static int on_push_ex(const struct nvtx_attributes *a)
{
    char name[WS_NVTX_NAME];
    copy_message(name, a);
    return push(NULL, name);
}

static int on_push_a(const char *text)
{
    return push(NULL, text);
}

static int on_push_w(const wchar_t *text)
{
    char name[WS_NVTX_NAME];
    copy_wide(name, text);
    return push(NULL, name);
}

static int on_pop(void)
{
    return pop(NULL);
}

static uint64_t on_domain_start(const struct named *domain, const struct nvtx_attributes *a)
{
    char name[WS_NVTX_NAME];
    copy_message(name, a);
    return start(domain, name);
}

static void on_domain_end(const struct named *domain, uint64_t id)
{
    (void)domain;
    end(id);
}

static int on_domain_push(const struct named *domain, const struct nvtx_attributes *a)
{
    char name[WS_NVTX_NAME];
    copy_message(name, a);
    return push(domain, name);
}

static int on_domain_pop(const struct named *domain)
{
    return pop(domain);
}

static struct named *make_named(const char *text, const wchar_t *wide)
{
    struct named *n = calloc(1, sizeof *n);
    if (n && text)
        copy_text(n->name, text);
    else if (n)
        copy_wide(n->name, wide);
    return n;
}

static struct named *on_string_a(const struct named *domain, const char *text)
{
    (void)domain;
    return make_named(text, NULL);
}

static struct named *on_string_w(const struct named *domain, const wchar_t *text)
{
    (void)domain;
    return make_named(NULL, text);
}

static struct named *on_domain_a(const char *text)
{
    return make_named(text, NULL);
}

static struct named *on_domain_w(const wchar_t *text)
{
    return make_named(NULL, text);
}

/* --- loading --- */

struct hook {
    int module, id;
    nvtx_function *function;
};

#define HOOK(module, id, function)              \
    {                                           \
        module, id, (nvtx_function *)(function) \
    }
static const struct hook hooks[] = {
    HOOK(MODULE_CORE, CORE_START_EX, on_start_ex),       HOOK(MODULE_CORE, CORE_START_A, on_start_a),
    HOOK(MODULE_CORE, CORE_START_W, on_start_w),         HOOK(MODULE_CORE, CORE_END, on_end),
    HOOK(MODULE_CORE, CORE_PUSH_EX, on_push_ex),         HOOK(MODULE_CORE, CORE_PUSH_A, on_push_a),
    HOOK(MODULE_CORE, CORE_PUSH_W, on_push_w),           HOOK(MODULE_CORE, CORE_POP, on_pop),
    HOOK(MODULE_CORE2, CORE2_START_EX, on_domain_start), HOOK(MODULE_CORE2, CORE2_END, on_domain_end),
    HOOK(MODULE_CORE2, CORE2_PUSH_EX, on_domain_push),   HOOK(MODULE_CORE2, CORE2_POP, on_domain_pop),
    HOOK(MODULE_CORE2, CORE2_STRING_A, on_string_a),     HOOK(MODULE_CORE2, CORE2_STRING_W, on_string_w),
    HOOK(MODULE_CORE2, CORE2_DOMAIN_A, on_domain_a),     HOOK(MODULE_CORE2, CORE2_DOMAIN_W, on_domain_w),
};

static void read_filter(void)
{
    static struct ws_settings settings; /* our own: NVTX may come before CUDA */
    char why[128];
    ws_settings_read(&settings);
    /* A filter that is wrong fits nothing; ws_collection_begin() says so. */
    if (!settings.is_secure && ws_nvtx_filter_init(&filter, settings.nvtx, why, sizeof why) == 0 &&
        pthread_key_create(&stack_key, end_of_thread) == 0)
        atomic_store(&is_loaded, true);
}

static void put_hook(const struct nvtx_callbacks *callbacks, const struct hook *hook)
{
    nvtx_function ***table = NULL;
    unsigned count = 0;
    if (callbacks->get_functions(hook->module, &table, &count) && table && (unsigned)hook->id < count &&
        table[hook->id])
        *table[hook->id] = hook->function;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(nvtx_get_table *get_table);

/* Called by each program and library that has NVTX in it, each with a table of its own. 0: leave us out. */
int InitializeInjectionNvtx2(nvtx_get_table *get_table)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const struct nvtx_callbacks *callbacks = get_table(TABLE_CALLBACKS);
    (void)pthread_once(&once, read_filter);
    if (!atomic_load(&is_loaded) || !callbacks || callbacks->size < sizeof *callbacks)
        return 0;
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++)
        put_hook(callbacks, &hooks[i]);
    return 1;
}
