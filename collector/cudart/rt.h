/* SPDX-License-Identifier: MIT
 * rt.h: the stand-in for libcudart: a program linked with -cudart shared runs whole on the CPU, its kernels in the
 * SIMT model, its launches in a session labelled modelled. One lock around every call; work is done when it is
 * asked for, which is one of the orders that streams allow. No CUDA header, no GPU.
 *   rt.c       lock, session, errors and complaints      heap.c    device, host and managed memory
 *   modules.c  fatbins, kernels, variables               launch.c  launches
 *   copy.c     copies and fills                          stream.c  streams, events, graphs by capture
 *   array.c    CUDA arrays, textures, surfaces
 *   output.c   printf of kernels         malloc.c  the calls that give memory
 *   device.c   the assumed GPU, occupancy                unserved.c  the rest of the API, which says so */
#ifndef WS_COLLECTOR_CUDART_RT_H
#define WS_COLLECTOR_CUDART_RT_H

#include "abi.h"

#include "../model/emit.h"
#include "../model/model.h"

#include "../../analyzer/gpus.h"

#include <stdbool.h>

/* Declare and define a function that programs see; the names are the CUDA runtime's, not ours. */
#define RT_API(name, ...)                                                    \
    __attribute__((visibility("default"))) int name(__VA_ARGS__); /*NOLINT*/ \
    __attribute__((visibility("default"))) int name(__VA_ARGS__)
/* The per-thread-stream spelling of the same: we have one order of work anyway. */
#define RT_ALSO(name, other) extern __typeof(name) other __attribute__((alias(#name), visibility("default"))) /*NOLINT*/

/* --- rt.c --- */

/* Take the lock; starts the session at the first call of a process. Returns the sticky error that a faulty kernel
 * left, RT_Success before. Every rt_enter() needs its rt_leave(). */
int rt_enter(void);
void rt_leave(void);

/* The end of a call: remember the code for cudaGetLastError, unlock, return it. RT_Success is not remembered. */
int rt_done(int code);
/* The same, and say why: "cudaMemcpy: 8 bytes past …". Each text is said once. */
int rt_fail(int code, const char *call, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A mistake or a limit, on stderr and in the report; slug is the status code of the report. */
void rt_complain(const char *slug, unsigned severity, const char *remedy, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* All further calls fail with this code, as after a fault on a GPU. */
void rt_set_sticky(int code);
void rt_clear_sticky(void);
/* A launch failed: the language gives no return value, so somebody has to ask (cudaGetLastError). */
void rt_launch_failed(int code);
const char *rt_error_name(int code);
const char *rt_error_text(int code);
/* The caller of an API function: "app+0x1234", for addr2line. */
void rt_place(const void *return_address, char out[128]);

struct ws_emit *rt_emit(void);
/* What was emitted goes to the segment file. */
void rt_flush(void);
/* A model without kernels that holds the device memory of all modules. */
struct ws_model *rt_memory(void);
/* What --max-instructions, --sample, --model-budget, --threads and --check ask for. */
void rt_set_bounds(struct ws_model_launch *launch);
unsigned rt_checks(void); /* enum ws_model_check */
/* cudaDeviceSetLimit: bytes of a thread's stack, of the heap of kernels. */
size_t rt_stack_bytes(void), rt_heap_bytes(void);

/* --- progress.c --- */

/* A line on a terminal while a launch runs, and Ctrl-C: around ws_model_run(), whose tick is set here. */
struct rt_progress {
    const char *name;
    double shown_s;
    bool is_terminal, has_line, is_catching;
};
void rt_progress_begin(struct rt_progress *p, const char *name, struct ws_model_launch *launch);
void rt_progress_end(struct rt_progress *p);
/* After Ctrl-C, when what there is has been written: the program ends of it as ever. */
void rt_end_interrupted(void);

/* --- output.c --- */

/* What kernels print is kept until the program waits for them, as with a GPU; what they assert goes to stderr. */
void rt_print(void *state, bool is_assert, const char *text, size_t bytes);
void rt_print_flush(void);
/* Bytes that nobody waited for. */
size_t rt_print_pending(void);

/* --- device.c --- */

/* The board of WARPSIGHT_GPU; false: unknown, the H200 is taken. */
bool rt_device_init(const char *wanted, struct ws_emit_device *out);
const struct rt_device_prop *rt_device(void);
const struct ws_limits *rt_limits(void);

/* --- heap.c --- */

enum rt_owner {
    RT_OWNER_NONE,
    RT_OWNER_DEVICE,
    RT_OWNER_HOST,
    RT_OWNER_MANAGED,
    RT_OWNER_REGISTERED,
    RT_OWNER_VARIABLE
};

struct rt_block {
    uint64_t at;
    size_t bytes;
    enum rt_owner owner;
    uint32_t number;    /* counts allocations of the program from 1 */
    const char *call;   /* static: "cudaMalloc" */
    const void *caller; /* return address */
};

/* 0 or an error code. Device memory is not accessible from the host but between rt_heap_open and _close. */
int rt_heap_alloc(size_t bytes, enum rt_owner owner, const char *call, const void *caller, void **out);
int rt_heap_register(void *at, size_t bytes, const char *call, const void *caller);
/* The block in which an address lies, or NULL. */
const struct rt_block *rt_heap_find(uint64_t at);
/* The same among those that were freed: the newest one, or NULL. */
const struct rt_block *rt_heap_freed(uint64_t at);
/* block: one that rt_heap_find gave, and its start */
void rt_heap_free(const struct rt_block *block);
void rt_heap_open(void);
void rt_heap_close(void);
size_t rt_heap_used(void), rt_heap_limit(void);
/* Walk live blocks: NULL past the end. */
const struct rt_block *rt_heap_at(size_t k);

/* --- array.c --- */

struct rt_array {
    struct rt_channel_desc desc;
    struct rt_extent extent; /* as the program gave it: 0 = not that dimension; depth: layers, if it has such */
    unsigned flags;
    uint64_t at; /* device memory, row after row: a GPU's own order is not published */
    size_t element, pitch, slice;
    struct rt_array *next;
};
/* The array of a handle; NULL: there is none. */
struct rt_array *rt_array_of(const void *handle);

/* --- modules.c --- */

struct rt_module;
struct rt_function {
    const void *stub; /* the host function that stands for the kernel */
    struct rt_module *module;
    char *name; /* mangled */
    int max_dynamic_smem, carveout;
    unsigned told; /* launches whose instructions the session has */
};
/* The function of a host stub or a handle; NULL. */
struct rt_function *rt_function_find(const void *symbol);
/* Its model and kernel number, loading the PTX when it is first wanted.
 *   errors  an error code, with the reason in error[WS_MODEL_ERROR_BYTES] */
int rt_function_load(struct rt_function *f, struct ws_model **model, uint32_t *kernel, char *error);
/* A __device__, __constant__ or __managed__ variable by its host shadow. */
int rt_variable_find(const void *symbol, uint64_t *at, size_t *bytes, char *error);
/* Registers per thread as the compiler said, 0 = not known. */
uint32_t rt_function_registers(const struct rt_function *f);

/* --- launch.c, copy.c, stream.c: work that streams order and graphs keep --- */

enum rt_work_kind { RT_WORK_LAUNCH, RT_WORK_COPY, RT_WORK_FILL, RT_WORK_CALL };
struct rt_work {
    enum rt_work_kind kind;
    const char *call; /* static: the API function */
    /* launch */
    struct rt_function *function;
    struct rt_dim3 grid, block;
    size_t dynamic_smem;
    bool is_cooperative;
    unsigned cluster[3]; /* 0 = as the kernel says */
    void *params;        /* heap, owned */
    size_t params_bytes;
    /* copy and fill: height rows of width bytes; depth slices of to_slice, from_slice bytes */
    void *to;
    const void *from;
    size_t width, height, depth, to_pitch, from_pitch, to_slice, from_slice;
    int copy_kind;
    int value;
    /* host function */
    void (*function_host)(void *);
    void *argument;
};
int rt_launch_run(const struct rt_work *work);
int rt_copy_run(const struct rt_work *work);
int rt_fill_run(const struct rt_work *work);
/* A call that copies: do it or keep it. waits: it ends when the copy has. */
int rt_copy_submit(void *stream, struct rt_work *w, bool waits);
/* Do it now, or keep it when the stream is being captured. Takes w->params. Returns an error code. */
int rt_submit(void *handle, struct rt_work *w);
/* 0, or the error of a call that would wait while this thread captures a stream. */
int rt_check_capture(const char *call);

#endif
