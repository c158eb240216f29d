/* SPDX-License-Identifier: MIT
 * translate.h: CUPTI record -> wire record. With translate.c the only place that knows a CUPTI
 * record version: to follow a new CUPTI, edit translate.c. No state, no locks, any thread. */
#ifndef WS_COLLECTOR_TRANSLATE_H
#define WS_COLLECTOR_TRANSLATE_H

#include "cupti_api.h"
#include "wire.h"

/* Fill *out from an activity record of the right kind. `name` of a kernel is left 0: interning it is
 * the caller's. Fields that this CUPTI does not report stay 0. */
void ws_translate_kernel(const CUpti_Activity *record, struct ws_rec_kernel *out, const char **name);
void ws_translate_memcpy(const CUpti_Activity *record, struct ws_rec_memcpy *out);
void ws_translate_memset(const CUpti_Activity *record, struct ws_rec_memset *out);

void ws_translate_api(const CUpti_Activity *record, struct ws_rec_api *out, CUpti_CallbackId *cbid);
void ws_translate_sync(const CUpti_Activity *record, struct ws_rec_sync *out);
void ws_translate_memory(const CUpti_Activity *record, struct ws_rec_memory *out);
void ws_translate_uvm(const CUpti_Activity *record, struct ws_rec_uvm *out);

/* The callbacks of calls that copy, to enable, with their domains: fills at most max, returns how many. */
struct ws_call_id {
    CUpti_CallbackDomain domain;
    CUpti_CallbackId cbid;
};
size_t ws_translate_copy_calls(struct ws_call_id *ids, size_t max);

/* What a copy call was asked to do; false when this callback is none of them. */
bool ws_translate_copy(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const CUpti_CallbackData *data,
                       struct ws_rec_copy_call *out);

/* The function and the parameter block of a launch; false when this callback is none. */
bool ws_translate_params(CUpti_CallbackId cbid, const CUpti_CallbackData *data, CUfunction *function, void ***params);

/* One launch as a driver callback describes it. */
struct ws_launch_call {
    const char *name; /* mangled, lives as long as the module */
    uint32_t grid[3], block[3];
    uint32_t dynamic_smem_bytes;
    CUstream stream;
    bool is_per_thread_stream;
    bool is_cooperative;
};

enum ws_call_kind { WS_CALL_OTHER, WS_CALL_KERNEL, WS_CALL_GRAPH, WS_CALL_MULTI_DEVICE };

/* The driver callbacks that start kernels, to enable: fills ids[] (at most max), returns how many. */
size_t ws_translate_launch_cbids(CUpti_CallbackId *ids, size_t max);

/* What a driver callback is about; *out is filled for WS_CALL_KERNEL only. */
enum ws_call_kind ws_translate_launch(CUpti_CallbackId cbid, const CUpti_CallbackData *data,
                                      struct ws_launch_call *out);

/* The device with this ordinal, asked of the driver. chip may be "". Texts of *out point into
 * *texts. */
struct ws_device_texts {
    char name[128];
    char uuid[48];
    char chip[32];
};
void ws_translate_device(CUdevice device, const char *chip, struct ws_device_texts *texts, struct ws_rec_device *out);

#endif
