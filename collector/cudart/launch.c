/* SPDX-License-Identifier: MIT
 * launch.c: launches: from the program's arguments to the model and the session. */
#include "rt.h"

#include "registers.h"

#include "../../analyzer/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PENDING 16

/* NOLINTBEGIN(bugprone-reserved-identifier): the names that nvcc's code calls */

/* <<<…>>> pushes, the stub of the kernel pops. */
static _Thread_local struct {
    struct rt_dim3 grid, block;
    size_t dynamic;
    void *stream;
} pending[PENDING];
static _Thread_local unsigned pending_n;

__attribute__((visibility("default"))) unsigned __cudaPushCallConfiguration(struct rt_dim3 grid, struct rt_dim3 block,
                                                                            size_t dynamic, void *stream);
__attribute__((visibility("default"))) unsigned __cudaPushCallConfiguration(struct rt_dim3 grid, struct rt_dim3 block,
                                                                            size_t dynamic, void *stream)
{
    if (pending_n == PENDING)
        return 1;
    pending[pending_n].grid = grid;
    pending[pending_n].block = block;
    pending[pending_n].dynamic = dynamic;
    pending[pending_n++].stream = stream;
    return 0;
}

RT_API(__cudaPopCallConfiguration, struct rt_dim3 *grid, struct rt_dim3 *block, size_t *dynamic, void *stream)
{
    if (pending_n == 0)
        return RT_ErrorMissingConfiguration;
    pending_n--;
    *grid = pending[pending_n].grid;
    *block = pending[pending_n].block;
    *dynamic = pending[pending_n].dynamic;
    *(void **)stream = pending[pending_n].stream;
    return RT_Success;
}

/* NOLINTEND(bugprone-reserved-identifier) */

/* --- the model's answer --- */

static int code_of_fatal(enum ws_model_fatal fatal)
{
    switch (fatal) {
    case WS_MODEL_FATAL_ADDRESS:
        return RT_ErrorIllegalAddress;
    case WS_MODEL_FATAL_ALIGN:
        return RT_ErrorMisalignedAddress;
    case WS_MODEL_FATAL_ASSERT:
        return RT_ErrorAssert;
    case WS_MODEL_FATAL_TRAP:
        return RT_ErrorLaunchFailure;
    case WS_MODEL_FATAL_CALL:
        return RT_ErrorInvalidPc;
    case WS_MODEL_FATAL_STACK:
        return RT_ErrorHardwareStackError;
    case WS_MODEL_FATAL_HANG:
        return RT_ErrorLaunchTimeout;
    default:
        return RT_Success;
    }
}

/* A launch of the same kernel tells no more of its lines than those before: the session stays small. */
#define TOLD_MAX 32
/* --sample auto: blocks of the inside that later launches of a kernel run. A program of ten thousand small launches
 * would take minutes otherwise. */
#define OFTEN_BLOCKS 8

struct source {
    const struct ws_model *model;
    char path[4096];
};

static const char *source_of(void *state, uint32_t number)
{
    struct source *s = state;
    uint32_t length = 0;
    const char *path = ws_model_source_file(s->model, number, &length);
    if (!path || length >= sizeof s->path)
        return NULL;
    snprintf(s->path, sizeof s->path, "%.*s", (int)length, path);
    return s->path;
}

static void tell_instructions(const struct rt_work *w, const struct ws_model *model,
                              const struct ws_model_launch *launch, const struct ws_model_result *result)
{
    struct source source = {.model = model};
    if (w->function->told >= TOLD_MAX)
        return;
    w->function->told++;
    ws_emit_instructions(rt_emit(), w->function->name, launch, result, source_of, &source);
}

/* Ctrl-C: the launch that ran is in the session as far as it came, marked; then the program ends as it would have. */
static void end_early(const struct rt_work *w, const struct ws_model_result *result)
{
    rt_complain(
        "model-cancelled", 1, "run it again, with --sample auto when it takes too long",
        "Ctrl-C while %.150s ran, after %llu of %llu blocks: its counts are of a part, later launches are missing",
        w->function->name, (unsigned long long)result->blocks_run, (unsigned long long)result->blocks);
    rt_flush();
    rt_end_interrupted();
}

static void take_result(const struct rt_work *w, const struct ws_model *model, const struct ws_model_launch *launch,
                        struct ws_model_result *result)
{
    int fatal = code_of_fatal(result->fatal);
    ws_emit_launch(rt_emit(), w->function->name, launch, result, rt_function_registers(w->function));
    tell_instructions(w, model, launch, result);
    rt_flush();
    for (uint32_t k = 0; k < result->issues_n; k++)
        fprintf(stderr, "==WARPSIGHT== %s: %s (%llu times)\n", result->issues[k].is_hint ? "hint" : "error",
                result->issues[k].text, (unsigned long long)result->issues[k].count);
    if (result->stop == WS_MODEL_STOP_CANCELLED)
        end_early(w, result);
    else if (launch->samples_when_cut && result->blocks_run == 0 && result->issues_n == 0)
        rt_complain("model-stopped", 1, "raise --model-budget", "%.200s: no block ended within the budget",
                    w->function->name);
    else if (result->is_stopped && fatal == RT_Success)
        rt_complain("model-stopped", 1, "raise --max-instructions",
                    "%.200s was stopped at its bound of instructions: what it writes is not complete",
                    w->function->name);
    if (fatal != RT_Success)
        rt_set_sticky(fatal);
    ws_model_result_fini(result);
}

int rt_launch_run(const struct rt_work *w)
{
    char error[WS_MODEL_ERROR_BYTES] = "";
    struct ws_model_launch launch = {.grid = {w->grid.x, w->grid.y, w->grid.z},
                                     .block = {w->block.x, w->block.y, w->block.z},
                                     .dynamic_smem_bytes = (uint32_t)w->dynamic_smem,
                                     .is_cooperative = w->is_cooperative,
                                     .cluster = {w->cluster[0], w->cluster[1], w->cluster[2]},
                                     .stack_bytes = (uint32_t)rt_stack_bytes(),
                                     .heap_bytes = rt_heap_bytes(),
                                     .params = w->params,
                                     .params_bytes = w->params_bytes,
                                     .print = rt_print,
                                     .spill_bytes = rt_spill_of(w->function->name)};
    struct ws_model_result result;
    struct rt_progress progress;
    struct ws_model *model;
    int err, code = rt_function_load(w->function, &model, &launch.kernel, error);
    if (code != RT_Success) {
        rt_complain("model-refused", 2, "measure this kernel on a GPU", "not modelled: %.150s: %s", w->function->name,
                    error);
        return code;
    }
    rt_set_bounds(&launch);
    if (launch.sample_blocks == WS_SAMPLE_AUTO && w->function->told >= TOLD_MAX)
        launch.sample_blocks = OFTEN_BLOCKS;
    rt_heap_open();
    rt_progress_begin(&progress, w->function->name, &launch);
    err = ws_model_run(model, &launch, &result);
    rt_progress_end(&progress);
    rt_heap_close();
    if (err == 0) {
        take_result(w, model, &launch, &result);
        return RT_Success;
    }
    rt_complain("model-refused", err == -WS_EUNSUP ? 1 : 2, "measure this kernel on a GPU", "not modelled: %.100s: %s",
                w->function->name, result.refusal[0] ? result.refusal : ws_err_text(err));
    return err == -WS_EUNSUP   ? RT_ErrorNotSupported
           : err == -WS_ENOMEM ? RT_ErrorMemoryAllocation
                               : RT_ErrorInvalidValue;
}

/* --- the program's call --- */

/* Arguments as the kernel's parameter block; 0 or an error code. */
static int pack_params(struct rt_work *w, void **arguments, char *error)
{
    struct ws_model *model;
    struct ws_model_param p = {0};
    uint32_t kernel;
    uint8_t *bytes;
    int code = rt_function_load(w->function, &model, &kernel, error);
    uint32_t n = code == RT_Success ? ws_model_param_count(model, kernel) : 0;
    if (code != RT_Success)
        return code;
    if (n > 0)
        (void)ws_model_param(model, kernel, n - 1, &p);
    w->params_bytes = (size_t)p.offset + p.bytes;
    w->params = bytes = calloc(1, w->params_bytes + 1);
    if (!bytes)
        return RT_ErrorMemoryAllocation;
    for (uint32_t k = 0; k < n; k++) {
        (void)ws_model_param(model, kernel, k, &p);
        if (!arguments || !arguments[k]) {
            snprintf(error, WS_MODEL_ERROR_BYTES, "argument %u is missing", k);
            return RT_ErrorInvalidValue;
        }
        memcpy(bytes + p.offset, arguments[k], p.bytes);
    }
    return RT_Success;
}

static int check_shape(const struct rt_work *w, char *error)
{
    const struct rt_device_prop *gpu = rt_device();
    uint64_t threads = (uint64_t)w->block.x * w->block.y * w->block.z;
    uint64_t registers = rt_function_registers(w->function);
    if (w->grid.x == 0 || w->grid.y == 0 || w->grid.z == 0 || w->grid.y > 65535 || w->grid.z > 65535 ||
        w->grid.x > INT32_MAX || threads == 0 || threads > WS_BLOCK_THREADS_MAX || w->block.z > 64) {
        snprintf(error, WS_MODEL_ERROR_BYTES, "grid (%u,%u,%u), block (%u,%u,%u): a block has 1 to 1024 threads",
                 w->grid.x, w->grid.y, w->grid.z, w->block.x, w->block.y, w->block.z);
        return RT_ErrorInvalidConfiguration;
    }
    if (w->dynamic_smem > (size_t)w->function->max_dynamic_smem) {
        snprintf(error, WS_MODEL_ERROR_BYTES,
                 "%zu bytes of dynamic shared memory, %d are allowed (cudaFuncSetAttribute; %.64s has %zu)",
                 w->dynamic_smem, w->function->max_dynamic_smem, gpu->name, gpu->sharedMemPerBlockOptin);
        return RT_ErrorInvalidValue;
    }
    if (registers * threads > (uint64_t)gpu->regsPerBlock) {
        snprintf(error, WS_MODEL_ERROR_BYTES, "%llu threads with %llu registers each; a block has %d",
                 (unsigned long long)threads, (unsigned long long)registers, gpu->regsPerBlock);
        return RT_ErrorLaunchOutOfResources;
    }
    return RT_Success;
}

/* The kernel's own name in a message, as it is mangled. */
static int refuse(const char *call, const struct rt_work *w, int code, const char *error)
{
    rt_launch_failed(code);
    return rt_fail(code, call, "%.120s: %s", w->function->name, error);
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *symbol, int threads,
                                                  size_t dynamic); /* NOLINT */

/* How a launch differs from <<<…>>>. */
struct manner {
    bool is_cooperative;
    unsigned cluster[3];
};

/* A cooperative grid has to be resident at once: of shared memory, registers and threads there is so much. */
static int check_resident(const struct rt_work *w, char *error)
{
    int blocks = 0;
    uint64_t most, wanted = (uint64_t)w->grid.x * w->grid.y * w->grid.z;
    if (!w->is_cooperative || cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, w->function->stub,
                                                                            (int)(w->block.x * w->block.y * w->block.z),
                                                                            w->dynamic_smem) != RT_Success)
        return RT_Success;
    most = (uint64_t)blocks * (uint64_t)rt_device()->multiProcessorCount;
    if (wanted <= most)
        return RT_Success;
    snprintf(error, WS_MODEL_ERROR_BYTES, "%llu blocks; %llu can be resident at once", (unsigned long long)wanted,
             (unsigned long long)most);
    return RT_ErrorCooperativeLaunchTooLarge;
}

static int launch(const char *call, const void *symbol, struct rt_dim3 grid, struct rt_dim3 block, void **arguments,
                  size_t dynamic, void *stream, const struct manner *manner)
{
    struct rt_work w = {.kind = RT_WORK_LAUNCH, .call = call, .grid = grid, .block = block, .dynamic_smem = dynamic};
    char error[WS_MODEL_ERROR_BYTES] = "";
    int code = rt_enter();
    if (code != RT_Success)
        return rt_done(code);
    w.function = rt_function_find(symbol);
    if (!w.function) {
        rt_launch_failed(RT_ErrorInvalidDeviceFunction);
        return rt_fail(RT_ErrorInvalidDeviceFunction, call, "not a kernel of this program");
    }
    w.is_cooperative = manner && manner->is_cooperative;
    if (manner)
        memcpy(w.cluster, manner->cluster, sizeof w.cluster);
    code = check_shape(&w, error);
    if (code == RT_Success)
        code = check_resident(&w, error);
    if (code == RT_Success)
        code = pack_params(&w, arguments, error);
    if (code != RT_Success) {
        free(w.params);
        return refuse(call, &w, code, error);
    }
    code = rt_submit(stream, &w);
    if (code != RT_Success)
        rt_launch_failed(code);
    return rt_done(code);
}

/* NOLINTBEGIN(bugprone-reserved-identifier) */
RT_API(__cudaLaunchKernel, void *kernel, struct rt_dim3 grid, struct rt_dim3 block, void **arguments, size_t dynamic,
       void *stream)
{
    return launch("a launch", kernel, grid, block, arguments, dynamic, stream, NULL);
}
RT_ALSO(__cudaLaunchKernel, __cudaLaunchKernel_ptsz);
/* NOLINTEND(bugprone-reserved-identifier) */

RT_API(cudaLaunchKernel, const void *symbol, struct rt_dim3 grid, struct rt_dim3 block, void **arguments,
       size_t dynamic, void *stream)
{
    return launch("cudaLaunchKernel", symbol, grid, block, arguments, dynamic, stream, NULL);
}
RT_ALSO(cudaLaunchKernel, cudaLaunchKernel_ptsz);

RT_API(cudaLaunchCooperativeKernel, const void *symbol, struct rt_dim3 grid, struct rt_dim3 block, void **arguments,
       size_t dynamic, void *stream)
{
    static const struct manner cooperative = {true, {0, 0, 0}};
    return launch("cudaLaunchCooperativeKernel", symbol, grid, block, arguments, dynamic, stream, &cooperative);
}
RT_ALSO(cudaLaunchCooperativeKernel, cudaLaunchCooperativeKernel_ptsz);

RT_API(cudaLaunchKernelExC, const struct rt_launch_config *config, const void *symbol, void **arguments)
{
    static const int cluster = 4, cooperative = 2; /* cudaLaunchAttributeID */
    struct manner manner = {false, {0, 0, 0}};
    for (unsigned k = 0; k < config->numAttrs; k++) {
        int id, value[3];
        memcpy(&id, (const char *)config->attrs + 72 * (size_t)k, sizeof id);
        memcpy(value, (const char *)config->attrs + 72 * (size_t)k + 8, sizeof value);
        if (id == cluster)
            for (int d = 0; d < 3; d++)
                manner.cluster[d] = value[d] < 1 ? 1u : (unsigned)value[d];
        manner.is_cooperative |= id == cooperative && value[0];
    }
    return launch("cudaLaunchKernelEx", symbol, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes,
                  config->stream, &manner);
}
RT_ALSO(cudaLaunchKernelExC, cudaLaunchKernelExC_ptsz);
