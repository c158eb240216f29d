/* SPDX-License-Identifier: MIT
 * fake.h: what the fake driver, the fake CUPTI and the fake CUDA program share.
 * A "module image" is a table of struct fake_kernel: it says what a launch does, how long it takes and what
 * the counters read, so that a test knows every number of the report in advance.
 * Read on: fake_cuda.c (driver), fake_cupti.c (CUPTI and its switches), fake_app.c (the program). */
#ifndef WS_TESTS_FAKE_CUPTI_FAKE_H
#define WS_TESTS_FAKE_CUPTI_FAKE_H

#pragma GCC visibility push(default)
#include <cuda.h>
#include <cudaProfiler.h>
#pragma GCC visibility pop

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_API __attribute__((visibility("default")))

struct fake_count {
    const char *metric; /* CUPTI name; NULL ends a table */
    double value;
};

struct fake_kernel {
    const char *name; /* mangled */
    uint32_t regs, static_smem, local_bytes;
    uint64_t duration_ns;
    uint32_t params;                 /* all of 8 bytes */
    void (*body)(void **args);       /* what a launch does, or NULL */
    const struct fake_count *counts; /* metrics that are not here read 0 */
};

#define FAKE_IMAGE_MAGIC 0x46414b45u
struct fake_image {
    uint32_t magic;
    uint32_t count;
    const struct fake_kernel *kernel; /* [count] */
};

/* Handles of the driver, open to the fake CUPTI. */
struct CUctx_st {
    uint32_t id; /* CUPTI's context id */
    int device;
    bool is_primary;
    struct CUstream_st *default_stream, *per_thread_stream;
};

struct CUstream_st {
    uint32_t id; /* CUPTI's stream id */
    struct CUctx_st *context;
    struct CUgraph_st *capture; /* not NULL while capturing */
    uint64_t busy_until_ns;
};

/* One kernel execution. */
struct fake_launch {
    const struct fake_kernel *kernel;
    struct CUctx_st *context;
    uint32_t stream_id;
    uint32_t grid[3], block[3], cluster[3], dynamic_smem;
    bool is_cooperative;
    uint32_t graph_id;
    uint64_t graph_node;
    uint32_t correlation;
    uint64_t start_ns, end_ns;
};

struct fake_copy {
    struct CUctx_st *context;
    uint32_t stream_id;
    uint64_t bytes;
    uint8_t copy_kind, src_kind, dst_kind; /* CUPTI's numbers */
    bool is_async, is_memset;
    uint32_t memset_value;
    uint32_t correlation;
    uint64_t start_ns, end_ns;
};

/* One driver call that CUPTI can report. */
struct fake_call {
    uint32_t cbid; /* CUpti_driver_api_trace_cbid */
    const char *name;
    const void *params; /* struct of generated_cuda_meta.h */
    const char *symbol; /* of a launch, else NULL */
    struct CUctx_st *context;
    CUresult result; /* at exit */
    uint32_t correlation;
    uint64_t correlation_data;
    uint64_t start_ns, end_ns;
};

/* A wait, or an allocation or its release. */
struct fake_sync {
    struct CUctx_st *context;
    uint32_t stream_id;
    uint32_t correlation;
    bool is_context;
    uint64_t start_ns, end_ns;
};

struct fake_memory {
    struct CUctx_st *context;
    bool is_release;
    uint64_t address, bytes;
    uint32_t correlation;
    uint64_t time_ns;
};

/* What the fake CUPTI wants to know from the driver. */
struct fake_hooks {
    void (*call)(bool is_exit, struct fake_call *call);
    void (*launch)(const struct fake_launch *launch);
    void (*copy)(const struct fake_copy *copy);
    void (*sync)(const struct fake_sync *sync);
    void (*memory)(const struct fake_memory *memory);
    void (*context)(bool is_created, struct CUctx_st *context);
    void (*module)(struct CUctx_st *context); /* one was loaded */
};

/* Exported by the fake driver for the fake CUPTI. */
/* False: another copy of CUPTI in the process came first; as on a GPU, the driver takes no second one, ever. */
FAKE_API bool fake_cuda_set_hooks(const struct fake_hooks *hooks);
FAKE_API bool fake_cuda_is_initialized(void);
FAKE_API bool fake_cuda_had_context(void);

#endif
