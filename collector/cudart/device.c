/* SPDX-License-Identifier: MIT
 * device.c: the one GPU that is assumed: properties from gpus.def, occupancy by the analyzer's rules.
 * What gpus.def does not know (memory size, bus width) is this machine's, or 0. */
#include "rt.h"

#include "../../analyzer/occupancy.h"
#include "../model/board.h"

#include <stdio.h>
#include <string.h>

static struct {
    struct rt_device_prop prop;
    const struct ws_limits *limits;
    int clock_khz;
    char name[64];
    size_t limit[RT_LIMIT_COUNT];
    unsigned flags;
} device = {.limit = {1024, 1u << 20, 8u << 20}};

const struct rt_device_prop *rt_device(void)
{
    return &device.prop;
}

const struct ws_limits *rt_limits(void)
{
    return device.limits;
}

/* The model's frames are larger than a GPU's: no less than its own default. */
size_t rt_stack_bytes(void)
{
    size_t n = device.limit[RT_LIMIT_STACK];
    return n > WS_MODEL_STACK_BYTES ? n : WS_MODEL_STACK_BYTES;
}

size_t rt_heap_bytes(void)
{
    return device.limit[RT_LIMIT_HEAP];
}

static int rt_clock_khz(void)
{
    return device.clock_khz;
}

static void fill_limits(struct rt_device_prop *p, const struct ws_limits *l)
{
    p->regsPerBlock = (int)l->regs_per_block;
    p->regsPerMultiprocessor = (int)l->regs_per_sm;
    p->sharedMemPerMultiprocessor = l->smem_per_sm;
    p->sharedMemPerBlockOptin = l->smem_per_block;
    p->reservedSharedMemPerBlock = l->smem_reserved;
    p->maxThreadsPerMultiProcessor = (int)l->warps_per_sm * WS_WARP_LANES;
    p->maxBlocksPerMultiProcessor = (int)l->blocks_per_sm;
}

static void fill_common(struct rt_device_prop *p)
{
    static const int grid[3] = {INT32_MAX, 65535, 65535}, block[3] = {1024, 1024, 64};
    memcpy(p->maxGridSize, grid, sizeof grid);
    memcpy(p->maxThreadsDim, block, sizeof block);
    p->sharedMemPerBlock = 48u << 10;
    p->warpSize = WS_WARP_LANES;
    p->maxThreadsPerBlock = WS_BLOCK_THREADS_MAX;
    p->memPitch = INT32_MAX;
    p->totalConstMem = 64u << 10;
    p->textureAlignment = 512;
    p->texturePitchAlignment = 32;
    p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = p->managedMemory = 1;
    p->concurrentManagedAccess = p->streamPrioritiesSupported = p->globalL1CacheSupported = 1;
    p->localL1CacheSupported = p->computePreemptionSupported = p->hostRegisterSupported = 1;
    p->memoryPoolsSupported = p->canUseHostPointerForRegisteredMem = 1;
    p->ECCEnabled = 1;
    p->asyncEngineCount = 3;
    p->totalGlobalMem = rt_heap_limit();
}

bool rt_device_init(const char *wanted, struct ws_emit_device *out)
{
    struct rt_device_prop *p = &device.prop;
    struct ws_board board;
    bool is_known = ws_model_board(*wanted ? wanted : "H200", &board, out, device.name);
    if (!is_known)
        (void)ws_model_board("H200", &board, out, device.name);
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "%s", device.name);
    fill_common(p);
    p->major = (int)board.cc_major;
    p->minor = (int)board.cc_minor;
    p->multiProcessorCount = (int)board.sms;
    p->cooperativeLaunch = 1;
    p->clusterLaunch = p->major >= 9;
    p->l2CacheSize = (int)out->l2_bytes;
    device.clock_khz = (int)(out->sm_clock_hz / 1000);
    device.limits = ws_gpus_limits(board.cc_major, board.cc_minor);
    if (device.limits)
        fill_limits(p, device.limits);
    return is_known;
}

static int check_ordinal(const char *call, int ordinal)
{
    return ordinal == 0 ? rt_done(RT_Success)
                        : rt_fail(RT_ErrorInvalidDevice, call, "the model has one GPU, number 0, not %d", ordinal);
}

/* --- one device --- */

RT_API(cudaGetDeviceCount, int *count)
{
    int code = rt_enter();
    if (code == RT_Success)
        *count = 1;
    return rt_done(code);
}

RT_API(cudaGetDevice, int *ordinal)
{
    (void)rt_enter();
    *ordinal = 0;
    return rt_done(RT_Success);
}

RT_API(cudaSetDevice, int ordinal)
{
    (void)rt_enter();
    return check_ordinal("cudaSetDevice", ordinal);
}

RT_API(cudaInitDevice, int ordinal, unsigned device_flags, unsigned flags)
{
    (void)rt_enter();
    (void)device_flags;
    (void)flags;
    return check_ordinal("cudaInitDevice", ordinal);
}

RT_API(cudaChooseDevice, int *ordinal, const struct rt_device_prop *like)
{
    (void)rt_enter();
    (void)like;
    *ordinal = 0;
    return rt_done(RT_Success);
}

RT_API(cudaSetDeviceFlags, unsigned flags)
{
    (void)rt_enter();
    device.flags = flags;
    return rt_done(RT_Success);
}

RT_API(cudaGetDeviceFlags, unsigned *flags)
{
    (void)rt_enter();
    *flags = device.flags;
    return rt_done(RT_Success);
}

RT_API(cudaGetDeviceProperties, struct rt_device_prop *prop, int ordinal)
{
    (void)rt_enter();
    if (ordinal == 0)
        *prop = device.prop;
    return check_ordinal("cudaGetDeviceProperties", ordinal);
}

RT_API(cudaDeviceGetAttribute, int *value, int attribute, int ordinal)
{
    const struct rt_device_prop *p = &device.prop;
    (void)rt_enter();
    if (ordinal != 0)
        return check_ordinal("cudaDeviceGetAttribute", ordinal);
    switch (attribute) {
#define X(number, name, expression) \
    case number:                    \
        *value = expression;        \
        break;
#include "attributes.def"
#undef X
    default:
        return rt_fail(RT_ErrorInvalidValue, "cudaDeviceGetAttribute", "the model does not know attribute %d",
                       attribute);
    }
    return rt_done(RT_Success);
}

RT_API(cudaDeviceGetPCIBusId, char *text, int length, int ordinal)
{
    (void)rt_enter();
    snprintf(text, (size_t)(length > 0 ? length : 0), "0000:00:00.0");
    return check_ordinal("cudaDeviceGetPCIBusId", ordinal);
}

RT_API(cudaDeviceCanAccessPeer, int *can, int ordinal, int peer)
{
    (void)rt_enter();
    (void)peer;
    *can = 0;
    return check_ordinal("cudaDeviceCanAccessPeer", ordinal);
}

RT_API(cudaRuntimeGetVersion, int *version)
{
    (void)rt_enter();
    *version = RT_VERSION;
    return rt_done(RT_Success);
}

RT_API(cudaDriverGetVersion, int *version)
{
    (void)rt_enter();
    *version = RT_VERSION;
    return rt_done(RT_Success);
}

RT_API(cudaDeviceSetLimit, unsigned which, size_t value)
{
    int code = rt_enter();
    if (which >= RT_LIMIT_COUNT)
        return rt_fail(RT_ErrorUnsupportedLimit, "cudaDeviceSetLimit", "limit %u", which);
    device.limit[which] = value;
    return rt_done(code);
}

RT_API(cudaDeviceGetLimit, size_t *value, unsigned which)
{
    int code = rt_enter();
    if (which >= RT_LIMIT_COUNT)
        return rt_fail(RT_ErrorUnsupportedLimit, "cudaDeviceGetLimit", "limit %u", which);
    *value = device.limit[which];
    return rt_done(code);
}

RT_API(cudaDeviceSetCacheConfig, int config)
{
    (void)config;
    return rt_done(rt_enter());
}

RT_API(cudaDeviceGetCacheConfig, int *config)
{
    int code = rt_enter();
    *config = 0;
    return rt_done(code);
}

RT_API(cudaDeviceSetSharedMemConfig, int config)
{
    (void)config;
    return rt_done(rt_enter());
}

RT_API(cudaDeviceGetSharedMemConfig, int *config)
{
    int code = rt_enter();
    *config = 1; /* 4-byte banks */
    return rt_done(code);
}

RT_API(cudaProfilerStart, void)
{
    return rt_done(rt_enter());
}

RT_API(cudaProfilerStop, void)
{
    return rt_done(rt_enter());
}

/* --- functions and occupancy --- */

/* What a kernel takes; false with *code when it cannot be known. */
static bool describe(const void *symbol, const char *call, struct rt_function **out, struct ws_model_shape *shape,
                     int *code)
{
    char error[WS_MODEL_ERROR_BYTES] = "";
    struct ws_model *model;
    uint32_t kernel;
    *out = rt_function_find(symbol);
    if (!*out) {
        *code = rt_fail(RT_ErrorInvalidDeviceFunction, call, "not a kernel of this program");
        return false;
    }
    *code = rt_function_load(*out, &model, &kernel, error);
    if (*code != RT_Success) {
        *code = rt_fail(*code, call, "%s", error);
        return false;
    }
    if (ws_model_shape(model, kernel, shape) == 0)
        return true;
    *code = rt_fail(RT_ErrorNotSupported, call, "the model cannot read %.200s", (*out)->name);
    return false;
}

RT_API(cudaFuncGetAttributes, struct rt_func_attributes *out, const void *symbol)
{
    struct rt_function *f;
    struct ws_model_shape shape;
    int code = rt_enter();
    if (code != RT_Success)
        return rt_done(code);
    if (!describe(symbol, "cudaFuncGetAttributes", &f, &shape, &code))
        return code;
    memset(out, 0, sizeof *out);
    out->sharedSizeBytes = shape.static_smem_bytes;
    out->localSizeBytes = shape.local_bytes_per_thread;
    out->maxThreadsPerBlock = shape.max_threads ? (int)shape.max_threads : WS_BLOCK_THREADS_MAX;
    out->numRegs = (int)rt_function_registers(f);
    out->ptxVersion = out->binaryVersion = device.prop.major * 10 + device.prop.minor;
    out->maxDynamicSharedSizeBytes = f->max_dynamic_smem;
    out->preferredShmemCarveout = f->carveout;
    if (out->numRegs == 0)
        rt_complain("model-registers", 0, "put ptxas of the CUDA toolkit into PATH",
                    "the registers of %.200s are not known: they need ptxas", f->name);
    return rt_done(RT_Success);
}

RT_API(cudaFuncSetAttribute, const void *symbol, int attribute, int value)
{
    struct rt_function *f = NULL;
    int code = rt_enter();
    f = rt_function_find(symbol);
    if (!f)
        return rt_fail(RT_ErrorInvalidDeviceFunction, "cudaFuncSetAttribute", "not a kernel of this program");
    if (attribute == RT_FUNC_MAX_DYNAMIC_SHARED) {
        if (value < 0 || (size_t)value > device.prop.sharedMemPerBlockOptin)
            return rt_fail(RT_ErrorInvalidValue, "cudaFuncSetAttribute",
                           "%d bytes of shared memory; %s has %zu a block", value, device.name,
                           device.prop.sharedMemPerBlockOptin);
        f->max_dynamic_smem = value;
    } else if (attribute == RT_FUNC_CARVEOUT) {
        f->carveout = value;
    }
    return rt_done(code);
}

RT_API(cudaFuncSetCacheConfig, const void *symbol, int config)
{
    (void)symbol;
    (void)config;
    return rt_done(rt_enter());
}

RT_API(cudaFuncSetSharedMemConfig, const void *symbol, int config)
{
    (void)symbol;
    (void)config;
    return rt_done(rt_enter());
}

RT_API(cudaFuncGetName, const char **name, const void *symbol)
{
    const struct rt_function *f;
    (void)rt_enter();
    f = rt_function_find(symbol);
    if (!f)
        return rt_fail(RT_ErrorInvalidDeviceFunction, "cudaFuncGetName", "not a kernel of this program");
    *name = f->name;
    return rt_done(RT_Success);
}

/* Registers that are not known limit nothing here, and that is said once. */
static int occupancy(const char *call, const void *symbol, int threads, size_t dynamic, struct ws_occupancy *out)
{
    struct rt_function *f;
    struct ws_model_shape shape;
    struct ws_occ_config config = {.threads = (uint32_t)threads, .dynamic_smem_bytes = (uint32_t)dynamic};
    int code = RT_Success;
    if (!describe(symbol, call, &f, &shape, &code))
        return code;
    config.static_smem_bytes = shape.static_smem_bytes;
    config.regs_per_thread = rt_function_registers(f);
    if (config.regs_per_thread == 0)
        rt_complain("model-registers", 0, "put ptxas of the CUDA toolkit into PATH",
                    "%s: the registers of %.200s are not known, so they limit nothing", call, f->name);
    if (threads <= 0 || !device.limits || ws_occupancy_of(device.limits, &config, out) != 0)
        return rt_fail(RT_ErrorInvalidValue, call, "a block of %d threads", threads);
    return rt_done(RT_Success);
}

RT_API(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *blocks, const void *symbol, int threads,
       size_t dynamic, unsigned flags)
{
    struct ws_occupancy o = {0};
    int code = rt_enter();
    (void)flags;
    if (code != RT_Success)
        return rt_done(code);
    code = occupancy("cudaOccupancyMaxActiveBlocksPerMultiprocessor", symbol, threads, dynamic, &o);
    if (code == RT_Success)
        *blocks = (int)o.blocks_per_sm;
    return code;
}

RT_API(cudaOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, const void *symbol, int threads, size_t dynamic)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, symbol, threads, dynamic, 0);
}

RT_API(cudaOccupancyAvailableDynamicSMemPerBlock, size_t *bytes, const void *symbol, int blocks, int threads)
{
    size_t low = 0, high;
    int code = rt_enter();
    if (code != RT_Success)
        return rt_done(code);
    high = device.prop.sharedMemPerBlockOptin;
    while (low < high && code == RT_Success) { /* the most with which so many blocks still fit */
        struct ws_occupancy o = {0};
        size_t middle = (low + high + 1) / 2;
        (void)rt_enter();
        code = occupancy("cudaOccupancyAvailableDynamicSMemPerBlock", symbol, threads, middle, &o);
        if ((int)o.blocks_per_sm >= blocks)
            low = middle;
        else
            high = middle - 1;
    }
    *bytes = low;
    return rt_done(code);
}

/* Frees what the program got, and forgets a fault: the context is new. */
RT_API(cudaDeviceReset, void)
{
    (void)rt_enter();
    rt_print_flush();
    rt_clear_sticky();
    for (size_t k = 0; rt_heap_at(k);)
        if (rt_heap_at(k)->owner == RT_OWNER_DEVICE || rt_heap_at(k)->owner == RT_OWNER_MANAGED)
            rt_heap_free(rt_heap_at(k));
        else
            k++;
    return rt_done(RT_Success);
}
