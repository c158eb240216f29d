/* SPDX-License-Identifier: MIT
 * fake_cuda.c: a libcuda.so.1 without a GPU, for tests: the calls a small program and the collector need.
 * Kernels are C functions (fake.h); every launch runs at once and once. Like the driver it loads
 * CUDA_INJECTION64_PATH inside cuInit and ignores a library that is missing or refuses.
 *   FAKE_CUDA_INIT=N     cuInit answers N
 *   FAKE_CUDA_NAME=TEXT  every device's name
 *   FAKE_CUDA_USED_MB=N  memory in use on every device, 600 unless said, of 143,000
 *   FAKE_CUDA_MEMORY=N   cuMemGetInfo answers N
 *   FAKE_CUDA_DEVICES=N  devices, 1 unless said; each is described as an H200
 * Not a model of the hardware: nothing here says how fast or how right anything is. */
#include "fake.h"

#include <cupti.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_DEVICES 8
#define MAX_NODES 64

/* Twins for the per-thread default stream: cuda.h renames to them only when compiled for it. */
FAKE_API CUresult CUDAAPI cuLaunchKernel_ptsz(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                              unsigned, CUstream, void **, void **);
FAKE_API CUresult CUDAAPI cuLaunchKernelEx_ptsz(const CUlaunchConfig *, CUfunction, void **, void **);
FAKE_API CUresult CUDAAPI cuGraphLaunch_ptsz(CUgraphExec, CUstream);

struct CUfunc_st {
    const struct fake_kernel *kernel;
};

struct CUmod_st {
    uint32_t count;
    struct CUfunc_st function[]; /* [count] */
};

struct node {
    const struct fake_kernel *kernel;
    uint32_t grid[3], block[3], dynamic_smem;
    uint64_t id;
    void *args[16]; /* borrowed: the fake program keeps them alive */
};

struct CUgraph_st {
    uint32_t id, count;
    struct node node[MAX_NODES];
};

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* contexts and stream clocks */
static atomic_bool is_initialized;
static _Thread_local bool is_inside_init;
static _Atomic(const struct fake_hooks *) hooks;
static atomic_uint next_correlation, next_context, next_stream = 12, next_graph;
static atomic_ullong next_node = 1000;
static struct CUctx_st *primary[MAX_DEVICES];
static _Thread_local struct CUctx_st *current;

bool fake_cuda_set_hooks(const struct fake_hooks *h)
{
    const struct fake_hooks *first = NULL;
    return atomic_compare_exchange_strong(&hooks, &first, h) || first == h;
}

bool fake_cuda_had_context(void)
{
    return atomic_load(&next_context) > 0;
}

bool fake_cuda_is_initialized(void)
{
    return atomic_load(&is_initialized);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int env_number(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text && *text ? atoi(text) : otherwise;
}

static int device_count(void)
{
    int n = env_number("FAKE_CUDA_DEVICES", 1);
    return n < 0 ? 0 : n > MAX_DEVICES ? MAX_DEVICES : n;
}

/* --- init --- */

static void load_injection(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*initialize)(void) = NULL;
    if (library)
        *(void **)&initialize = dlsym(library, "InitializeInjection");
    if (initialize)
        (void)initialize();
}

CUresult CUDAAPI cuInit(unsigned flags)
{
    CUresult answer = (CUresult)env_number("FAKE_CUDA_INIT", 0);
    static bool was_injected;
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (is_inside_init) /* a collector that calls cuInit from within */
        return CUDA_SUCCESS;
    pthread_mutex_lock(&init_lock);
    if (!was_injected) {
        was_injected = true;
        is_inside_init = true;
        load_injection();
        is_inside_init = false;
    }
    if (answer == CUDA_SUCCESS)
        atomic_store(&is_initialized, true);
    pthread_mutex_unlock(&init_lock);
    return answer;
}

CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    *version = env_number("FAKE_CUDA_VERSION", 13000);
    return CUDA_SUCCESS;
}

/* --- devices: the figures of an H200, as cuDeviceGetAttribute tells them --- */

static const struct {
    CUdevice_attribute which;
    int value;
} attributes[] = {
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 62914560},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 3201000},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 6144},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
};

static bool is_device(CUdevice device)
{
    return device >= 0 && device < device_count();
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    if (!fake_cuda_is_initialized())
        return CUDA_ERROR_NOT_INITIALIZED;
    *count = device_count();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    if (!is_device(ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetName(char *name, int length, CUdevice device)
{
    if (!is_device(device) || length < 1)
        return CUDA_ERROR_INVALID_VALUE;
    if (getenv("FAKE_CUDA_NAME"))
        snprintf(name, (size_t)length, "%s", getenv("FAKE_CUDA_NAME"));
    else
        snprintf(name, (size_t)length, "Fake GPU %d", device);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    memset(uuid->bytes, 0x11, sizeof uuid->bytes);
    uuid->bytes[15] = (char)device;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    *bytes = 150000000000u;
    return CUDA_SUCCESS;
}

/* For FAKE_CUPTI_LOG: on a GPU this call costs its caller time. */
static void note_memory_asked(void)
{
    static const char line[] = "asked memory\n";
    const char *path = getenv("FAKE_CUPTI_LOG");
    int fd = path && *path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return;
    if (write(fd, line, sizeof line - 1) != sizeof line - 1)
        abort(); /* a test that cannot log is no test */
    close(fd);
}

CUresult CUDAAPI cuMemGetInfo(size_t *unused, size_t *total)
{
    int answer = env_number("FAKE_CUDA_MEMORY", 0);
    note_memory_asked();
    if (!current)
        return CUDA_ERROR_INVALID_CONTEXT;
    *total = 150000000000u;
    *unused = *total - (size_t)env_number("FAKE_CUDA_USED_MB", 600) * 1000000u;
    return (CUresult)answer;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device)
{
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    *value = 0;
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++)
        if (attributes[i].which == which)
            *value = attributes[i].value;
    return CUDA_SUCCESS;
}

/* --- driver calls that CUPTI reports --- */

typedef CUresult work(struct fake_call *call, void *state);

static CUresult traced(uint32_t cbid, const char *name, const void *params, const char *symbol, work *do_it,
                       void *state)
{
    const struct fake_hooks *h = atomic_load(&hooks);
    struct fake_call call = {.cbid = cbid, .name = name, .params = params, .symbol = symbol, .context = current};
    if (!fake_cuda_is_initialized())
        return CUDA_ERROR_NOT_INITIALIZED;
    call.correlation = atomic_fetch_add(&next_correlation, 1) + 1;
    call.start_ns = now_ns();
    if (h)
        h->call(false, &call);
    call.result = do_it(&call, state);
    call.context = current;
    call.end_ns = now_ns();
    if (h)
        h->call(true, &call);
    return call.result;
}

/* --- contexts and streams --- */

static struct CUstream_st *new_stream(struct CUctx_st *context, uint32_t id)
{
    struct CUstream_st *s = calloc(1, sizeof *s);
    if (s) {
        s->id = id;
        s->context = context;
    }
    return s;
}

static struct CUctx_st *new_context(int device, bool is_primary)
{
    struct CUctx_st *c = calloc(1, sizeof *c);
    const struct fake_hooks *h = atomic_load(&hooks);
    if (!c)
        return NULL;
    c->id = atomic_fetch_add(&next_context, 1) + 1;
    c->device = device;
    c->is_primary = is_primary;
    c->default_stream = new_stream(c, 7); /* CUPTI numbers the default stream of each context so */
    c->per_thread_stream = new_stream(c, 8);
    if (h)
        h->context(true, c);
    return c;
}

static void free_context(struct CUctx_st *c)
{
    const struct fake_hooks *h = atomic_load(&hooks);
    if (h)
        h->context(false, c);
    free(c->default_stream);
    free(c->per_thread_stream);
    free(c);
}

struct create_context {
    CUcontext *out;
    CUdevice device;
};

static CUresult do_create_context(struct fake_call *call, void *state)
{
    struct create_context *s = state;
    (void)call;
    if (!is_device(s->device))
        return CUDA_ERROR_INVALID_DEVICE;
    current = *s->out = new_context(s->device, false);
    return current ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI cuCtxCreate(CUcontext *out, CUctxCreateParams *extra, unsigned flags, CUdevice device)
{
    struct create_context s = {out, device};
    cuCtxCreate_v4_params p = {out, extra, flags, device};
    return traced(CUPTI_DRIVER_TRACE_CBID_cuCtxCreate_v4, "cuCtxCreate_v4", &p, NULL, do_create_context, &s);
}

static CUresult do_retain(struct fake_call *call, void *state)
{
    struct create_context *s = state;
    (void)call;
    if (!is_device(s->device))
        return CUDA_ERROR_INVALID_DEVICE;
    /* The context-created hook runs user code: not under the lock. Two threads that race here would be
     * the program's own fault in this fake. */
    if (!primary[s->device])
        primary[s->device] = new_context(s->device, true);
    *s->out = primary[s->device];
    return *s->out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
    struct create_context s = {out, device};
    cuDevicePrimaryCtxRetain_params p = {out, device};
    return traced(CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", &p, NULL, do_retain,
                  &s);
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext context)
{
    current = context;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *context)
{
    *context = current;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
    if (!current)
        return CUDA_ERROR_INVALID_CONTEXT;
    *device = current->device;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxDestroy(CUcontext context)
{
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (current == context)
        current = NULL;
    free_context(context);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamCreate(CUstream *stream, unsigned flags)
{
    (void)flags;
    if (!current)
        return CUDA_ERROR_INVALID_CONTEXT;
    *stream = new_stream(current, atomic_fetch_add(&next_stream, 1) + 1);
    return *stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI cuStreamDestroy(CUstream stream)
{
    free(stream);
    return CUDA_SUCCESS;
}

/* The stream behind a handle; NULL and the two reserved values are the default streams. */
static struct CUstream_st *stream_of(CUstream stream, bool is_per_thread)
{
    if (stream == CU_STREAM_PER_THREAD || (is_per_thread && !stream))
        return current->per_thread_stream;
    if (!stream || stream == CU_STREAM_LEGACY)
        return current->default_stream;
    return stream;
}

static void wait_until(uint64_t ns)
{
    uint64_t now = now_ns();
    struct timespec t;
    if (ns <= now)
        return;
    t.tv_sec = (time_t)((ns - now) / 1000000000u);
    t.tv_nsec = (long)((ns - now) % 1000000000u);
    nanosleep(&t, NULL);
}

struct sync_work {
    CUstream stream;
    bool is_context;
};

static CUresult do_sync(struct fake_call *call, void *state)
{
    const struct sync_work *w = state;
    const struct fake_hooks *h = atomic_load(&hooks);
    struct fake_sync sync = {.context = current, .correlation = call->correlation, .is_context = w->is_context};
    struct CUstream_st *stream;
    uint64_t until;
    if (!current)
        return CUDA_ERROR_INVALID_CONTEXT;
    stream = stream_of(w->stream, false);
    sync.stream_id = stream->id;
    sync.start_ns = now_ns();
    pthread_mutex_lock(&lock);
    until = stream->busy_until_ns;
    pthread_mutex_unlock(&lock);
    wait_until(until);
    sync.end_ns = now_ns();
    if (h)
        h->sync(&sync);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamSynchronize(CUstream stream)
{
    struct sync_work w = {stream, false};
    cuStreamSynchronize_params p = {stream};
    return traced(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, "cuStreamSynchronize", &p, NULL, do_sync, &w);
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
    struct sync_work w = {NULL, true};
    return traced(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, "cuCtxSynchronize", NULL, NULL, do_sync, &w);
}

static CUresult do_nothing(struct fake_call *call, void *unused)
{
    (void)call;
    (void)unused;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuProfilerStart(void)
{
    return traced(CUPTI_DRIVER_TRACE_CBID_cuProfilerStart, "cuProfilerStart", NULL, NULL, do_nothing, NULL);
}

CUresult CUDAAPI cuProfilerStop(void)
{
    return traced(CUPTI_DRIVER_TRACE_CBID_cuProfilerStop, "cuProfilerStop", NULL, NULL, do_nothing, NULL);
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    if (!current)
        return CUDA_ERROR_INVALID_CONTEXT;
    *status = stream_of(stream, false)->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    static _Thread_local CUstreamCaptureMode held = CU_STREAM_CAPTURE_MODE_GLOBAL;
    CUstreamCaptureMode old = held;
    held = *mode;
    *mode = old;
    return CUDA_SUCCESS;
}

/* --- modules --- */

static CUresult do_module_load(struct fake_call *call, void *state)
{
    cuModuleLoadData_params *p = state;
    const struct fake_hooks *h = atomic_load(&hooks);
    const struct fake_image *table = p->image;
    struct CUmod_st *m;
    (void)call;
    if (!current)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (table->magic != FAKE_IMAGE_MAGIC)
        return CUDA_ERROR_INVALID_IMAGE;
    m = calloc(1, sizeof *m + table->count * sizeof m->function[0]);
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    m->count = table->count;
    for (uint32_t i = 0; i < table->count; i++)
        m->function[i].kernel = &table->kernel[i];
    if (h)
        h->module(current);
    *p->module = m;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image)
{
    cuModuleLoadData_params p = {module, image};
    return traced(CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData, "cuModuleLoadData", &p, NULL, do_module_load, &p);
}

static CUresult do_module_unload(struct fake_call *call, void *state)
{
    (void)call;
    free(((cuModuleUnload_params *)state)->hmod);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleUnload(CUmodule module)
{
    cuModuleUnload_params p = {module};
    return traced(CUPTI_DRIVER_TRACE_CBID_cuModuleUnload, "cuModuleUnload", &p, NULL, do_module_unload, &p);
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    for (uint32_t i = 0; i < module->count; i++)
        if (strcmp(module->function[i].kernel->name, name) == 0) {
            *function = &module->function[i];
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

CUresult CUDAAPI cuFuncGetAttribute(int *value, CUfunction_attribute which, CUfunction function)
{
    const struct fake_kernel *k = function->kernel;
    *value = which == CU_FUNC_ATTRIBUTE_NUM_REGS            ? (int)k->regs
             : which == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES ? (int)k->static_smem
             : which == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES  ? (int)k->local_bytes
                                                            : 0;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size)
{
    if (index >= function->kernel->params)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = 8 * index;
    if (size)
        *size = 8;
    return CUDA_SUCCESS;
}

/* --- launches --- */

/* Takes the next free time on a stream. */
static void occupy(struct CUstream_st *stream, uint64_t duration_ns, uint64_t *start_ns, uint64_t *end_ns)
{
    uint64_t now = now_ns();
    pthread_mutex_lock(&lock);
    *start_ns = stream->busy_until_ns > now ? stream->busy_until_ns : now;
    *end_ns = *start_ns + duration_ns;
    stream->busy_until_ns = *end_ns;
    pthread_mutex_unlock(&lock);
}

static void execute(struct fake_launch *l, struct CUstream_st *stream, void **args)
{
    const struct fake_hooks *h = atomic_load(&hooks);
    l->context = stream->context;
    l->stream_id = stream->id;
    occupy(stream, l->kernel->duration_ns, &l->start_ns, &l->end_ns);
    if (l->kernel->body)
        l->kernel->body(args);
    if (h)
        h->launch(l);
}

static void add_node(struct CUgraph_st *graph, const struct fake_launch *l, void **args)
{
    struct node *n;
    if (graph->count == MAX_NODES)
        return;
    n = &graph->node[graph->count++];
    n->kernel = l->kernel;
    memcpy(n->grid, l->grid, sizeof n->grid);
    memcpy(n->block, l->block, sizeof n->block);
    n->dynamic_smem = l->dynamic_smem;
    n->id = atomic_fetch_add(&next_node, 1);
    for (size_t i = 0; args && i < sizeof n->args / sizeof n->args[0] && args[i]; i++)
        n->args[i] = args[i];
}

struct launch_work {
    struct fake_launch launch;
    CUstream stream;
    bool is_per_thread;
    void **args;
};

static CUresult do_launch(struct fake_call *call, void *state)
{
    struct launch_work *w = state;
    const uint32_t *b = w->launch.block;
    struct CUstream_st *stream;
    if (!current)
        return CUDA_ERROR_INVALID_CONTEXT;
    for (int i = 0; i < 3; i++)
        if (w->launch.grid[i] == 0 || b[i] == 0)
            return CUDA_ERROR_INVALID_VALUE;
    if ((uint64_t)b[0] * b[1] * b[2] > 1024)
        return CUDA_ERROR_INVALID_VALUE;
    stream = stream_of(w->stream, w->is_per_thread);
    w->launch.correlation = call->correlation;
    if (stream->capture)
        add_node(stream->capture, &w->launch, w->args);
    else
        execute(&w->launch, stream, w->args);
    return CUDA_SUCCESS;
}

static CUresult launch_plain(uint32_t cbid, const char *name, const cuLaunchKernel_params *p, bool is_per_thread,
                             bool is_cooperative)
{
    struct launch_work w = {.stream = p->hStream, .is_per_thread = is_per_thread, .args = p->kernelParams};
    w.launch = (struct fake_launch){.kernel = p->f->kernel,
                                    .grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
                                    .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
                                    .dynamic_smem = p->sharedMemBytes,
                                    .is_cooperative = is_cooperative};
    return traced(cbid, name, p, p->f->kernel->name, do_launch, &w);
}

CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                unsigned bz, unsigned smem, CUstream stream, void **args, void **extra)
{
    cuLaunchKernel_params p = {f, gx, gy, gz, bx, by, bz, smem, stream, args, extra};
    return launch_plain(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "cuLaunchKernel", &p, false, false);
}

CUresult CUDAAPI cuLaunchKernel_ptsz(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                     unsigned bz, unsigned smem, CUstream stream, void **args, void **extra)
{
    cuLaunchKernel_params p = {f, gx, gy, gz, bx, by, bz, smem, stream, args, extra};
    return launch_plain(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, "cuLaunchKernel_ptsz", &p, true, false);
}

CUresult CUDAAPI cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                           unsigned by, unsigned bz, unsigned smem, CUstream stream, void **args)
{
    cuLaunchKernel_params p = {f, gx, gy, gz, bx, by, bz, smem, stream, args, NULL};
    return launch_plain(CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel", &p, false,
                        true);
}

static CUresult launch_ex(uint32_t cbid, const char *name, const cuLaunchKernelEx_params *p, bool is_per_thread)
{
    const CUlaunchConfig *c = p->config;
    struct launch_work w = {.stream = c->hStream, .is_per_thread = is_per_thread, .args = p->kernelParams};
    w.launch = (struct fake_launch){.kernel = p->f->kernel,
                                    .grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
                                    .block = {c->blockDimX, c->blockDimY, c->blockDimZ},
                                    .dynamic_smem = c->sharedMemBytes};
    for (unsigned i = 0; i < c->numAttrs; i++) {
        if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            w.launch.cluster[0] = c->attrs[i].value.clusterDim.x;
            w.launch.cluster[1] = c->attrs[i].value.clusterDim.y;
            w.launch.cluster[2] = c->attrs[i].value.clusterDim.z;
        }
        if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
            w.launch.is_cooperative = c->attrs[i].value.cooperative != 0;
    }
    return traced(cbid, name, p, p->f->kernel->name, do_launch, &w);
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **args, void **extra)
{
    cuLaunchKernelEx_params p = {config, f, args, extra};
    return launch_ex(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, "cuLaunchKernelEx", &p, false);
}

CUresult CUDAAPI cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **args, void **extra)
{
    cuLaunchKernelEx_params p = {config, f, args, extra};
    return launch_ex(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, "cuLaunchKernelEx_ptsz", &p, true);
}

/* --- graphs: a list of kernels, run in order --- */

static struct CUgraph_st *new_graph(void)
{
    struct CUgraph_st *g = calloc(1, sizeof *g);
    if (g)
        g->id = atomic_fetch_add(&next_graph, 1) + 1;
    return g;
}

CUresult CUDAAPI cuGraphCreate(CUgraph *graph, unsigned flags)
{
    (void)flags;
    *graph = new_graph();
    return *graph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI cuGraphAddKernelNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *after, size_t after_count,
                                      const CUDA_KERNEL_NODE_PARAMS *p)
{
    struct fake_launch l = {.kernel = p->func->kernel,
                            .grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
                            .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
                            .dynamic_smem = p->sharedMemBytes};
    (void)after;
    (void)after_count;
    add_node(graph, &l, p->kernelParams);
    *out = (CUgraphNode)(void *)&graph->node[graph->count - 1];
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    struct CUgraph_st *copy = malloc(sizeof *copy);
    (void)flags;
    if (!copy)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *copy = *graph;
    *exec = (CUgraphExec)(void *)copy;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec exec)
{
    free(exec);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphDestroy(CUgraph graph)
{
    free(graph);
    return CUDA_SUCCESS;
}

struct graph_work {
    const struct CUgraph_st *graph;
    CUstream stream;
    bool is_per_thread;
};

static CUresult do_graph(struct fake_call *call, void *state)
{
    const struct graph_work *w = state;
    if (!current)
        return CUDA_ERROR_INVALID_CONTEXT;
    for (uint32_t i = 0; i < w->graph->count; i++) {
        const struct node *n = &w->graph->node[i];
        struct fake_launch l = {.kernel = n->kernel,
                                .dynamic_smem = n->dynamic_smem,
                                .graph_id = w->graph->id,
                                .graph_node = n->id,
                                .correlation = call->correlation};
        memcpy(l.grid, n->grid, sizeof l.grid);
        memcpy(l.block, n->block, sizeof l.block);
        execute(&l, stream_of(w->stream, w->is_per_thread), (void **)n->args);
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    struct graph_work w = {(const struct CUgraph_st *)(const void *)exec, stream, false};
    cuGraphLaunch_params p = {exec, stream};
    return traced(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, "cuGraphLaunch", &p, NULL, do_graph, &w);
}

CUresult CUDAAPI cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream)
{
    struct graph_work w = {(const struct CUgraph_st *)(const void *)exec, stream, true};
    cuGraphLaunch_params p = {exec, stream};
    return traced(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz, "cuGraphLaunch_ptsz", &p, NULL, do_graph, &w);
}

CUresult CUDAAPI cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    struct CUstream_st *s = stream_of(stream, false);
    (void)mode;
    if (s->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    s->capture = new_graph();
    return s->capture ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    struct CUstream_st *s = stream_of(stream, false);
    *graph = s->capture;
    s->capture = NULL;
    return *graph ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_STATE;
}

/* --- memory: "device" memory is the heap --- */

struct memory_work {
    CUdeviceptr *out;
    CUdeviceptr old;
    size_t bytes;
};

static void tell_memory(const struct fake_call *call, bool is_release, CUdeviceptr address, size_t bytes)
{
    const struct fake_hooks *h = atomic_load(&hooks);
    struct fake_memory m = {current, is_release, (uint64_t)address, bytes, call->correlation, now_ns()};
    if (h)
        h->memory(&m);
}

static CUresult do_alloc(struct fake_call *call, void *state)
{
    struct memory_work *w = state;
    void *p;
    if (!current)
        return CUDA_ERROR_INVALID_CONTEXT;
    p = calloc(1, w->bytes ? w->bytes : 1);
    if (!p)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *w->out = (CUdeviceptr)(uintptr_t)p;
    tell_memory(call, false, *w->out, w->bytes);
    return CUDA_SUCCESS;
}

static CUresult do_free(struct fake_call *call, void *state)
{
    const struct memory_work *w = state;
    tell_memory(call, true, w->old, 0);
    free((void *)(uintptr_t)w->old);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAlloc(CUdeviceptr *out, size_t bytes)
{
    struct memory_work w = {NULL, 0, bytes};
    cuMemAlloc_v2_params p = {NULL, bytes};
    w.out = p.dptr = out;
    return traced(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, "cuMemAlloc_v2", &p, NULL, do_alloc, &w);
}

CUresult CUDAAPI cuMemFree(CUdeviceptr old)
{
    struct memory_work w = {NULL, old, 0};
    cuMemFree_v2_params p = {old};
    return traced(CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, "cuMemFree_v2", &p, NULL, do_free, &w);
}

/* CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind. */
enum { COPY_HTOD = 1, COPY_DTOH = 2, COPY_DTOD = 8, KIND_PAGEABLE = 1, KIND_DEVICE = 3 };

struct copy_work {
    struct fake_copy copy;
    void *to;
    const void *from;
    CUstream stream;
};

static CUresult do_copy(struct fake_call *call, void *state)
{
    struct copy_work *w = state;
    const struct fake_hooks *h = atomic_load(&hooks);
    struct CUstream_st *stream;
    if (!current)
        return CUDA_ERROR_INVALID_CONTEXT;
    stream = stream_of(w->stream, false);
    w->copy.context = stream->context;
    w->copy.stream_id = stream->id;
    w->copy.correlation = call->correlation;
    occupy(stream, 1000 + w->copy.bytes / 16, &w->copy.start_ns, &w->copy.end_ns);
    if (w->copy.is_memset)
        memset(w->to, (int)w->copy.memset_value, w->copy.bytes);
    else
        memmove(w->to, w->from, w->copy.bytes);
    if (h)
        h->copy(&w->copy);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    struct copy_work w = {{.bytes = bytes, .copy_kind = COPY_HTOD, .src_kind = KIND_PAGEABLE, .dst_kind = KIND_DEVICE},
                          (void *)(uintptr_t)to,
                          from,
                          NULL};
    cuMemcpyHtoD_v2_params p = {to, from, bytes};
    return traced(CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2, "cuMemcpyHtoD_v2", &p, NULL, do_copy, &w);
}

CUresult CUDAAPI cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    struct copy_work w = {{.bytes = bytes, .copy_kind = COPY_DTOH, .src_kind = KIND_DEVICE, .dst_kind = KIND_PAGEABLE},
                          to,
                          (const void *)(uintptr_t)from,
                          NULL};
    cuMemcpyDtoH_v2_params p = {to, from, bytes};
    return traced(CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2, "cuMemcpyDtoH_v2", &p, NULL, do_copy, &w);
}

CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    struct copy_work w = {
        {.bytes = bytes, .copy_kind = COPY_DTOD, .src_kind = KIND_DEVICE, .dst_kind = KIND_DEVICE, .is_async = true},
        (void *)(uintptr_t)to,
        (const void *)(uintptr_t)from,
        stream};
    cuMemcpyDtoDAsync_v2_params p = {to, from, bytes, stream};
    return traced(CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2, "cuMemcpyDtoDAsync_v2", &p, NULL, do_copy, &w);
}

CUresult CUDAAPI cuMemsetD8(CUdeviceptr to, unsigned char value, size_t bytes)
{
    struct copy_work w = {{.bytes = bytes, .dst_kind = KIND_DEVICE, .is_memset = true, .memset_value = value},
                          (void *)(uintptr_t)to,
                          NULL,
                          NULL};
    cuMemsetD8_v2_params p = {to, value, bytes};
    return traced(CUPTI_DRIVER_TRACE_CBID_cuMemsetD8_v2, "cuMemsetD8_v2", &p, NULL, do_copy, &w);
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text)
{
    *text = error == CUDA_SUCCESS ? "no error" : "an error of the fake driver";
    return CUDA_SUCCESS;
}
