/* SPDX-License-Identifier: MIT
 * cupti_api.h: the table of CUPTI and driver entry points, bound at run time by inject.c.
 * Included only by the files that may see a CUDA header (Makefile, CUDA_SRC). */
#ifndef WS_COLLECTOR_CUPTI_API_H
#define WS_COLLECTOR_CUPTI_API_H

#include "settings.h"

#include <cuda.h>
#include <cupti.h>
#include <cupti_pcsampling.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <stdbool.h>

/* CUPTI as found on this machine. A NULL entry means that this CUPTI lacks the call. */
struct ws_cupti {
#define WS_CUPTI(feature, call) __typeof__(&call) call;
#include "cupti_api.def"
#undef WS_CUPTI
    bool has_trace, has_counters, has_timeline, has_sampling;
    const char *missing_trace, *missing_counters, *missing_timeline,
        *missing_sampling; /* the first call that is missing */
    uint32_t version;
};

/* The driver calls used; the driver is there already when we are called. NULL = not in this driver. */
struct ws_driver {
    CUresult(CUDAAPI *get_version)(int *version);
    CUresult(CUDAAPI *device_get_count)(int *count);
    CUresult(CUDAAPI *device_get_name)(char *name, int length, CUdevice device);
    CUresult(CUDAAPI *device_get_uuid)(CUuuid *uuid, CUdevice device);
    CUresult(CUDAAPI *device_total_mem)(size_t *bytes, CUdevice device);
    CUresult(CUDAAPI *device_get_attribute)(int *value, CUdevice_attribute attribute, CUdevice device);
    CUresult(CUDAAPI *mem_get_info)(size_t *free, size_t *total);
    CUresult(CUDAAPI *ctx_get_current)(CUcontext *context);
    CUresult(CUDAAPI *stream_is_capturing)(CUstream stream, CUstreamCaptureStatus *status);
    CUresult(CUDAAPI *exchange_capture_mode)(CUstreamCaptureMode *mode);
    CUresult(CUDAAPI *func_get_param_info)(CUfunction function, size_t index, size_t *offset, size_t *size);
    CUresult(CUDAAPI *kernel_get_param_info)(CUkernel kernel, size_t index, size_t *offset, size_t *size);
};

/* Set by inject.c before any callback can arrive; constant from then on. */
extern struct ws_cupti ws_cupti;
extern struct ws_driver ws_driver;
extern struct ws_settings ws_settings;

/* CUPTI's own text of a result, with a fallback. Never NULL. */
const char *ws_cupti_text(CUptiResult result);

/* What to do where the driver refuses profiling to this user. */
extern const char ws_cupti_remedy_rights[];

/* A CUPTI call failed: tell the report which, once per call and code. */
void ws_cupti_complain(const char *code, const char *call, CUptiResult result, const char *remedy);

#endif
