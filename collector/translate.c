/* SPDX-License-Identifier: MIT
 * translate.c: CUPTI record -> wire record. The only file that knows a CUPTI record version.
 * Written for CUPTI 13.0 (Kernel10, Memcpy6, MemcpyPtoP4, Memset4). The fields read here lie at the
 * same place in every version since CUDA 12.0 (they only append), so an older libcupti works too. */
#include "translate.h"

#include <stdio.h>
#include <string.h>

typedef CUpti_ActivityKernel10 kernel_record;
typedef CUpti_ActivityMemcpy6 memcpy_record;
typedef CUpti_ActivityMemcpyPtoP4 peer_record;
typedef CUpti_ActivityMemset4 memset_record;

/* Stated by the driver as "not requested". */
#define CARVEOUT_DEFAULT 0xffffffffu

void ws_translate_kernel(const CUpti_Activity *record, struct ws_rec_kernel *out, const char **name)
{
    const kernel_record *k = (const kernel_record *)(const void *)record;
    *name = k->name;
    *out = (struct ws_rec_kernel){
        .device = k->deviceId,
        .context = k->contextId,
        .stream = k->streamId,
        .correlation = k->correlationId,
        .start_ns = (int64_t)k->start,
        .end_ns = (int64_t)k->end,
        .grid_x = (uint32_t)k->gridX,
        .grid_y = (uint32_t)k->gridY,
        .grid_z = (uint32_t)k->gridZ,
        .block_x = (uint32_t)k->blockX,
        .block_y = (uint32_t)k->blockY,
        .block_z = (uint32_t)k->blockZ,
        .cluster_x = k->clusterX,
        .cluster_y = k->clusterY,
        .cluster_z = k->clusterZ,
        .regs_per_thread = k->registersPerThread,
        .static_smem_bytes = (uint32_t)k->staticSharedMemory,
        .dynamic_smem_bytes = (uint32_t)k->dynamicSharedMemory,
        .smem_executed_bytes = k->sharedMemoryExecuted,
        .local_bytes_per_thread = k->localMemoryPerThread,
        .graph = k->graphId,
        .graph_node = k->graphNodeId,
        .launch_type = k->launchType,
        .carveout_percent =
            k->isSharedMemoryCarveoutRequested ? (uint32_t)k->sharedMemoryCarveoutRequested : CARVEOUT_DEFAULT,
    };
}

static void translate_peer(const peer_record *m, struct ws_rec_memcpy *out)
{
    *out = (struct ws_rec_memcpy){
        .device = m->deviceId,
        .context = m->contextId,
        .stream = m->streamId,
        .correlation = m->correlationId,
        .start_ns = (int64_t)m->start,
        .end_ns = (int64_t)m->end,
        .bytes = m->bytes,
        .copy_kind = m->copyKind,
        .src_kind = m->srcKind,
        .dst_kind = m->dstKind,
        .is_async = (m->flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC) != 0,
        .graph_node = m->graphNodeId,
        .peer_device = m->dstDeviceId,
    };
}

void ws_translate_memcpy(const CUpti_Activity *record, struct ws_rec_memcpy *out)
{
    const memcpy_record *m = (const memcpy_record *)(const void *)record;
    if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY2) {
        translate_peer((const peer_record *)(const void *)record, out);
        return;
    }
    *out = (struct ws_rec_memcpy){
        .device = m->deviceId,
        .context = m->contextId,
        .stream = m->streamId,
        .correlation = m->correlationId,
        .start_ns = (int64_t)m->start,
        .end_ns = (int64_t)m->end,
        .bytes = m->bytes,
        .copy_kind = m->copyKind,
        .src_kind = m->srcKind,
        .dst_kind = m->dstKind,
        .is_async = (m->flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC) != 0,
        .graph_node = m->graphNodeId,
        .peer_device = m->deviceId,
    };
}

void ws_translate_memset(const CUpti_Activity *record, struct ws_rec_memset *out)
{
    const memset_record *m = (const memset_record *)(const void *)record;
    *out = (struct ws_rec_memset){
        .device = m->deviceId,
        .context = m->contextId,
        .stream = m->streamId,
        .correlation = m->correlationId,
        .start_ns = (int64_t)m->start,
        .end_ns = (int64_t)m->end,
        .bytes = m->bytes,
        .memory_kind = m->memoryKind,
        .is_async = (m->flags & CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC) != 0,
        .graph_node = m->graphNodeId,
    };
}

void ws_translate_api(const CUpti_Activity *record, struct ws_rec_api *out, CUpti_CallbackId *cbid)
{
    const CUpti_ActivityAPI *a = (const CUpti_ActivityAPI *)(const void *)record;
    *cbid = a->cbid;
    *out = (struct ws_rec_api){
        .domain = record->kind == CUPTI_ACTIVITY_KIND_DRIVER ? 1 : 2,
        .correlation = a->correlationId,
        .thread = a->threadId,
        .start_ns = (int64_t)a->start,
        .end_ns = (int64_t)a->end,
        .return_code = a->returnValue,
    };
}

void ws_translate_sync(const CUpti_Activity *record, struct ws_rec_sync *out)
{
    const CUpti_ActivitySynchronization2 *y = (const CUpti_ActivitySynchronization2 *)(const void *)record;
    *out = (struct ws_rec_sync){
        .sync_kind = (uint32_t)y->type,
        .context = y->contextId,
        .stream = y->streamId,
        .correlation = y->correlationId,
        .start_ns = (int64_t)y->start,
        .end_ns = (int64_t)y->end,
        .event = y->cudaEventId,
        .return_code = y->returnValue,
    };
}

void ws_translate_memory(const CUpti_Activity *record, struct ws_rec_memory *out)
{
    const CUpti_ActivityMemory4 *m = (const CUpti_ActivityMemory4 *)(const void *)record;
    *out = (struct ws_rec_memory){
        .operation = (uint32_t)m->memoryOperationType,
        .memory_kind = (uint32_t)m->memoryKind,
        .address = m->address,
        .bytes = m->bytes,
        .time_ns = (int64_t)m->timestamp,
        .device = m->deviceId,
        .context = m->contextId,
        .stream = m->streamId,
        .correlation = m->correlationId,
        .is_async = m->isAsync,
    };
}

void ws_translate_uvm(const CUpti_Activity *record, struct ws_rec_uvm *out)
{
    const CUpti_ActivityUnifiedMemoryCounter3 *u = (const CUpti_ActivityUnifiedMemoryCounter3 *)(const void *)record;
    *out = (struct ws_rec_uvm){
        .counter = (uint32_t)u->counterKind,
        .value = u->value,
        .start_ns = (int64_t)u->start,
        .end_ns = (int64_t)u->end,
        .address = u->address,
        .src_device = u->srcId,
        .dst_device = u->dstId,
        .stream = u->streamId,
        .flags = u->flags,
    };
}

/* Runtime copies state a kind; of the driver's, each name says its direction. */
enum copy_shape { COPY_RUNTIME, COPY_TO_DEVICE, COPY_FROM_DEVICE, COPY_IN_DEVICE };
static const struct {
    struct ws_call_id id;
    enum copy_shape shape;
} copy_calls[] = {
    {{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020}, COPY_RUNTIME},
    {{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020}, COPY_RUNTIME},
    {{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_ptds_v7000}, COPY_RUNTIME},
    {{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_ptsz_v7000}, COPY_RUNTIME},
    {{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2}, COPY_TO_DEVICE},
    {{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2_ptds}, COPY_TO_DEVICE},
    {{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2}, COPY_TO_DEVICE},
    {{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2_ptsz}, COPY_TO_DEVICE},
    {{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2}, COPY_FROM_DEVICE},
    {{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2_ptds}, COPY_FROM_DEVICE},
    {{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2}, COPY_FROM_DEVICE},
    {{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2_ptsz}, COPY_FROM_DEVICE},
    {{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoD_v2}, COPY_IN_DEVICE},
    {{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2}, COPY_IN_DEVICE},
};

size_t ws_translate_copy_calls(struct ws_call_id *ids, size_t max)
{
    size_t n = sizeof copy_calls / sizeof *copy_calls;
    for (size_t i = 0; i < n && i < max; i++)
        ids[i] = copy_calls[i].id;
    return n < max ? n : max;
}

#define KIND_NOT_STATED 0xffffffffu

bool ws_translate_copy(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const CUpti_CallbackData *data,
                       struct ws_rec_copy_call *out)
{
    const void *params = data->functionParams;
    *out = (struct ws_rec_copy_call){.correlation = data->correlationId, .stated_kind = KIND_NOT_STATED};
    for (size_t i = 0; i < sizeof copy_calls / sizeof *copy_calls; i++) {
        if (copy_calls[i].id.domain != domain || copy_calls[i].id.cbid != cbid)
            continue;
        /* Each family's calls begin with the same fields; the asynchronous ones only append a stream. */
        if (copy_calls[i].shape == COPY_RUNTIME) {
            const cudaMemcpy_v3020_params *p = params;
            out->dst = (uint64_t)p->dst;
            out->src = (uint64_t)p->src;
            out->bytes = p->count;
            out->stated_kind = (uint32_t)p->kind;
        } else if (copy_calls[i].shape == COPY_TO_DEVICE) {
            const cuMemcpyHtoD_v2_params *p = params;
            out->dst = (uint64_t)p->dstDevice;
            out->src = (uint64_t)p->srcHost;
            out->bytes = p->ByteCount;
        } else if (copy_calls[i].shape == COPY_FROM_DEVICE) {
            const cuMemcpyDtoH_v2_params *p = params;
            out->dst = (uint64_t)p->dstHost;
            out->src = (uint64_t)p->srcDevice;
            out->bytes = p->ByteCount;
        } else {
            const cuMemcpyDtoD_v2_params *p = params;
            out->dst = (uint64_t)p->dstDevice;
            out->src = (uint64_t)p->srcDevice;
            out->bytes = p->ByteCount;
        }
        return true;
    }
    return false;
}

static const struct {
    CUpti_CallbackId cbid;
    enum ws_call_kind kind;
    bool is_per_thread_stream;
    bool is_cooperative;
    bool is_ex;
} launch_calls[] = {
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, WS_CALL_KERNEL, false, false, false},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, WS_CALL_KERNEL, true, false, false},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, WS_CALL_KERNEL, false, false, true},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, WS_CALL_KERNEL, true, false, true},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, WS_CALL_KERNEL, false, true, false},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz, WS_CALL_KERNEL, true, true, false},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice, WS_CALL_MULTI_DEVICE, false, true, false},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, WS_CALL_GRAPH, false, false, false},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz, WS_CALL_GRAPH, true, false, false},
};

size_t ws_translate_launch_cbids(CUpti_CallbackId *ids, size_t max)
{
    size_t n = sizeof launch_calls / sizeof *launch_calls;
    for (size_t i = 0; i < n && i < max; i++)
        ids[i] = launch_calls[i].cbid;
    return n < max ? n : max;
}

/* cuLaunchKernel and its cooperative and _ptsz twins begin with the same fields. */
static void from_plain_call(const cuLaunchKernel_params *p, struct ws_launch_call *out)
{
    out->grid[0] = p->gridDimX;
    out->grid[1] = p->gridDimY;
    out->grid[2] = p->gridDimZ;
    out->block[0] = p->blockDimX;
    out->block[1] = p->blockDimY;
    out->block[2] = p->blockDimZ;
    out->dynamic_smem_bytes = p->sharedMemBytes;
    out->stream = p->hStream;
}

static void from_ex_call(const cuLaunchKernelEx_params *p, struct ws_launch_call *out)
{
    const CUlaunchConfig *c = p->config;
    if (!c)
        return; /* the driver will refuse the launch itself */
    out->grid[0] = c->gridDimX;
    out->grid[1] = c->gridDimY;
    out->grid[2] = c->gridDimZ;
    out->block[0] = c->blockDimX;
    out->block[1] = c->blockDimY;
    out->block[2] = c->blockDimZ;
    out->dynamic_smem_bytes = c->sharedMemBytes;
    out->stream = c->hStream;
    for (unsigned i = 0; c->attrs && i < c->numAttrs; i++)
        if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && c->attrs[i].value.cooperative)
            out->is_cooperative = true;
}

enum ws_call_kind ws_translate_launch(CUpti_CallbackId cbid, const CUpti_CallbackData *data, struct ws_launch_call *out)
{
    for (size_t i = 0; i < sizeof launch_calls / sizeof *launch_calls; i++) {
        if (launch_calls[i].cbid != cbid)
            continue;
        if (launch_calls[i].kind != WS_CALL_KERNEL)
            return launch_calls[i].kind;
        *out = (struct ws_launch_call){.name = data->symbolName ? data->symbolName : "",
                                       .is_per_thread_stream = launch_calls[i].is_per_thread_stream,
                                       .is_cooperative = launch_calls[i].is_cooperative};
        if (launch_calls[i].is_ex)
            from_ex_call(data->functionParams, out);
        else
            from_plain_call(data->functionParams, out);
        return WS_CALL_KERNEL;
    }
    return WS_CALL_OTHER;
}

bool ws_translate_params(CUpti_CallbackId cbid, const CUpti_CallbackData *data, CUfunction *function, void ***params)
{
    for (size_t i = 0; i < sizeof launch_calls / sizeof *launch_calls; i++) {
        if (launch_calls[i].cbid != cbid || launch_calls[i].kind != WS_CALL_KERNEL)
            continue;
        if (launch_calls[i].is_ex) {
            const cuLaunchKernelEx_params *p = data->functionParams;
            *function = p->f;
            *params = p->kernelParams;
        } else {
            const cuLaunchKernel_params *p = data->functionParams;
            *function = p->f;
            *params = p->kernelParams;
        }
        return true;
    }
    return false;
}

static uint64_t attribute(CUdevice device, CUdevice_attribute which)
{
    int value = 0;
    if (!ws_driver.device_get_attribute || ws_driver.device_get_attribute(&value, which, device) != CUDA_SUCCESS ||
        value < 0)
        return 0;
    return (uint64_t)value;
}

static void format_uuid(const CUuuid *uuid, char *out, size_t size)
{
    const unsigned char *b = (const unsigned char *)uuid->bytes;
    snprintf(out, size, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2],
             b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

void ws_translate_device(CUdevice device, const char *chip, struct ws_device_texts *texts, struct ws_rec_device *out)
{
    CUuuid uuid;
    size_t bytes = 0;
    memset(texts, 0, sizeof *texts);
    memset(&uuid, 0, sizeof uuid);
    snprintf(texts->chip, sizeof texts->chip, "%s", chip);
    if (!ws_driver.device_get_name ||
        ws_driver.device_get_name(texts->name, sizeof texts->name, device) != CUDA_SUCCESS)
        snprintf(texts->name, sizeof texts->name, "GPU %d", (int)device);
    if (ws_driver.device_get_uuid && ws_driver.device_get_uuid(&uuid, device) == CUDA_SUCCESS)
        format_uuid(&uuid, texts->uuid, sizeof texts->uuid);
    else
        snprintf(texts->uuid, sizeof texts->uuid, "GPU-ordinal-%d", (int)device);
    if (ws_driver.device_total_mem)
        (void)ws_driver.device_total_mem(&bytes, device);
    *out = (struct ws_rec_device){
        .index = (uint32_t)device,
        .name = ws_text_of(texts->name),
        .uuid = ws_text_of(texts->uuid),
        .chip = ws_text_of(texts->chip),
        .cc_major = (uint32_t)attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        .cc_minor = (uint32_t)attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        .sms = (uint32_t)attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        .memory_bytes = bytes,
        .l2_bytes = attribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE),
        /* the driver gives kHz; 0 on boards where it no longer tells */
        .sm_clock_hz = attribute(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE) * 1000,
        .memory_clock_hz = attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) * 1000,
        .memory_bus_bits = (uint32_t)attribute(device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
        .max_warps_per_sm = (uint32_t)attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / 32,
        .smem_bytes_per_sm = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        .smem_optin_bytes = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        .regs_per_sm = (uint32_t)attribute(device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
        .async_engines = (uint32_t)attribute(device, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT),
    };
}
