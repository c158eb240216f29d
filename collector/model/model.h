/* SPDX-License-Identifier: MIT
 * model.h: the SIMT model: run a kernel's PTX on the CPU and count what the GPU would count.
 * No CUDA header, no GPU. Times, stalls, caches and DRAM are not modelled and have no value here.
 * The counting rules are analyzer/access.h; grades of each number are in struct ws_model_counts. */
#ifndef WS_COLLECTOR_MODEL_MODEL_H
#define WS_COLLECTOR_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ws_model; /* one module, its variables, and device memory */

#define WS_MODEL_ERROR_BYTES 320

/* Load PTX text (copied).
 *   error   [WS_MODEL_ERROR_BYTES] one line on failure
 *   errors  -WS_ESYNTAX (line in error), -WS_ENOMEM, -WS_ELIMIT */
int ws_model_new(const char *ptx, size_t length, struct ws_model **out, char *error);
/* The same with the device memory of another model, which must live longer: the modules of one program. */
int ws_model_new_beside(const char *ptx, size_t length, const struct ws_model *beside, struct ws_model **out,
                        char *error);
void ws_model_free(struct ws_model *model);

/* Kernels of the module, in order of the text. NULL past the end; lent until ws_model_free. */
const char *ws_model_kernel_name(const struct ws_model *model, uint32_t index);
/* Exact mangled name; else the only kernel whose source name is that ("vec_add" for _Z7vec_addPKf…); else the only
 * one that contains it. -WS_ENOENT, -WS_EINVAL when several fit. */
int ws_model_find(const struct ws_model *model, const char *name, uint32_t *index);

/* The path that the line table (.file) gives a row's source_file; not NUL-ended, lent until ws_model_free. NULL:
 * the number is not in it. */
const char *ws_model_source_file(const struct ws_model *model, uint32_t number, uint32_t *length);

/* Parameters of a kernel. */
struct ws_model_param {
    uint32_t offset, bytes, align;
};
uint32_t ws_model_param_count(const struct ws_model *model, uint32_t kernel);
int ws_model_param(const struct ws_model *model, uint32_t kernel, uint32_t k, struct ws_model_param *out);

/* What a kernel takes, whatever it is launched with. -WS_ENOENT; -WS_EUNSUP: the model cannot read it. */
struct ws_model_shape {
    uint32_t static_smem_bytes;
    uint32_t local_bytes_per_thread; /* of the PTX; ptxas may keep it in registers */
    uint32_t max_threads;            /* launch bounds; 0 = none */
};
int ws_model_shape(const struct ws_model *model, uint32_t kernel, struct ws_model_shape *out);

/* Zeroed device memory, 512-byte aligned; the address is what a kernel gets as a pointer. */
int ws_model_alloc(struct ws_model *model, uint64_t bytes, uint64_t *addr);
/* Let kernels use [addr, addr + bytes) of this process; the bytes stay the caller's, until ws_model_release(addr).
 * -WS_EINVAL: overlaps an allocation; -WS_ELIMIT, -WS_ENOMEM. */
int ws_model_adopt(struct ws_model *model, uint64_t addr, uint64_t bytes);
int ws_model_release(struct ws_model *model, uint64_t addr);
/* The bytes behind a device range, for reading and writing between launches; NULL when it is not inside one
 * allocation. */
void *ws_model_at(struct ws_model *model, uint64_t addr, uint64_t bytes);
/* What messages call an allocation ("a", "cudaMalloc 3"); cut at 39 bytes. addr: its start. -WS_ENOENT. */
int ws_model_label(struct ws_model *model, uint64_t addr, const char *label);
/* The bytes of an allocation count as never written (its start; -WS_ENOENT, -WS_ENOMEM), and a range as written: what
 * WS_CHECK_UNINIT goes by. New memory counts as written until ws_model_undefine() says otherwise. */
int ws_model_undefine(struct ws_model *model, uint64_t addr);
void ws_model_define(struct ws_model *model, uint64_t addr, uint64_t bytes);
/* Address and size of a __device__ or __constant__ variable by its name in the PTX; -WS_ENOENT. */
int ws_model_variable(struct ws_model *model, const char *name, uint64_t *addr, uint64_t *bytes);

/* What a texture or surface object stands for: elements in device memory, row after row, plane after plane. */
enum ws_texture_address { WS_TEXTURE_WRAP, WS_TEXTURE_CLAMP, WS_TEXTURE_MIRROR, WS_TEXTURE_BORDER };
enum ws_texture_kind { WS_TEXTURE_SIGNED, WS_TEXTURE_UNSIGNED, WS_TEXTURE_FLOAT };
struct ws_model_texture {
    uint64_t at, pitch, slice;         /* bytes from row to row, from plane or layer to the next */
    uint32_t size[3];                  /* elements; 0: it has not that dimension */
    uint32_t layers;                   /* 0: not layered */
    uint8_t channels;                  /* 1, 2, 4 */
    uint8_t channel_bytes;             /* 1, 2, 4 */
    uint8_t kind;                      /* enum ws_texture_kind */
    uint8_t address_mode[3];           /* enum ws_texture_address */
    bool is_surface, is_linear_memory; /* linear memory: fetched by whole numbers, 0 outside */
    bool filters, is_normalized;       /* linear filtering; coordinates from 0 to 1 */
    bool as_float;                     /* integers become 0 to 1 or -1 to 1 */
    float border[4];
};
/* -WS_EINVAL: no such form, or not inside one allocation; -WS_ELIMIT, -WS_ENOMEM. Freed memory makes the object a
 * fault of the kernel that uses it. */
int ws_model_texture_new(struct ws_model *model, const struct ws_model_texture *what, uint64_t *handle);
int ws_model_texture_drop(struct ws_model *model, uint64_t handle); /* -WS_ENOENT */

/* What is looked at while a kernel runs; bits. The first three cost nothing and are always on. */
enum ws_model_check {
    WS_CHECK_BOUNDS = 1,
    WS_CHECK_ALIGN = 2,
    WS_CHECK_BARRIER = 4,
    WS_CHECK_UNINIT = 8, /* reads of global and shared memory that nobody wrote */
    WS_CHECK_RACES = 16, /* hazards of a block's threads in shared memory */
    WS_CHECK_ALL = 31,
};
/* "bounds", …; "trap" for 0. */
const char *ws_model_check_name(unsigned check);
/* "bounds,races", "all": bits. -WS_EINVAL: another word; *checks untouched. */
int ws_model_check_parse(const char *text, unsigned *checks);

/* "auto", "off" or a number of blocks from 2: struct ws_model_launch.sample_blocks. -WS_EINVAL; *blocks untouched. */
int ws_model_sample_parse(const char *text, uint32_t *blocks);
/* "30s", "0.5s": seconds; "500M", "2G", "123456": warp instructions; the other is 0. -WS_EINVAL; both untouched. */
int ws_model_budget_parse(const char *text, double *seconds, uint64_t *instructions);

/* Between blocks and every few million instructions, from the thread that called ws_model_run(). */
struct ws_model_progress {
    uint64_t blocks_done, blocks; /* blocks: that are to run */
    uint64_t instructions;        /* PTX warp instructions so far */
    double seconds;               /* since the launch began, wall clock */
};

/* ws_model_launch.sample_blocks */
#define WS_SAMPLE_AUTO UINT32_MAX

#define WS_MODEL_STACK_BYTES (32u << 10)
#define WS_MODEL_HEAP_BYTES (8ull << 20) /* as CUDA's cudaLimitMallocHeapSize is at first */

struct ws_model_launch {
    uint32_t kernel;
    uint32_t grid[3], block[3];
    uint32_t dynamic_smem_bytes;
    const void *params; /* laid out as ws_model_param says */
    size_t params_bytes;
    uint32_t threads;          /* workers; 0 = 1 */
    uint64_t max_instructions; /* warp instructions; 0 = no bound */
    double max_seconds;        /* wall clock; 0 = no bound */
    uint32_t
        sample_blocks;     /* so many blocks of the grid's inside, and its edges (sample.h); 0 = all;
                            * WS_SAMPLE_AUTO: 64, or 256 when they differ by more than 30 %, or all of a small launch */
    bool samples_when_cut; /* a bound that is reached leaves a sample of the whole blocks that ran; blocks run in
                            * the order of a sample then */
    bool (*tick)(void *user, const struct ws_model_progress *progress); /* false: stop. NULL: none */
    void *tick_user;
    bool is_cooperative;     /* all blocks are resident at once: they may wait for each other (grid.sync()) */
    uint32_t cluster[3];     /* blocks of a cluster; 0 = as the kernel says, or none */
    uint32_t stack_bytes;    /* per thread, for calls that cannot be inlined; 0 = WS_MODEL_STACK_BYTES */
    uint64_t heap_bytes;     /* of malloc in kernels, of the first launch that has it; 0 = WS_MODEL_HEAP_BYTES */
    uint32_t spill_bytes;    /* per thread, as ptxas says: local memory that no PTX shows; 0 = none, or not known */
    unsigned checks;         /* enum ws_model_check */
    uint32_t test_epoch;     /* tests: number of the first interval between barriers */
    bool keeps_scalar_loads; /* do not join shared loads as ptxas does */
    /* What printf and assert of the kernel write, a call a text, from any worker but one at a time; NULL = dropped. */
    void (*print)(void *state, bool is_assert, const char *text, size_t bytes);
    void *print_state;
    const char *instructions; /* "base", "v3", "v4": handlers to use; NULL = the best here */
};

/* Memory work of one kind. */
struct ws_model_memory {
    uint64_t requests; /* warp instructions with an active lane */
    uint64_t lanes;
    uint64_t bytes;                         /* lanes * width */
    uint64_t used_bytes;                    /* global, local: what several lanes of a request ask for counts once */
    uint64_t sectors, ideal_sectors, lines; /* global, local */
    uint64_t wavefronts, ideal_wavefronts;  /* shared */
    uint64_t same_address;                  /* atomics: lanes on the most contended address, summed */
};

enum ws_model_kind {
    WS_MODEL_GLOBAL_LD,
    WS_MODEL_GLOBAL_ST,
    WS_MODEL_SHARED_LD,
    WS_MODEL_SHARED_ST,
    WS_MODEL_LOCAL_LD,
    WS_MODEL_LOCAL_ST,
    WS_MODEL_GLOBAL_ATOMIC, /* the old value is used (ATOM) */
    WS_MODEL_GLOBAL_RED,    /* it is not (RED), whatever the PTX calls it */
    WS_MODEL_SHARED_ATOMIC,
    WS_MODEL_CONST_LD,
    WS_MODEL_ASYNC_COPY, /* cp.async: its global side */
    WS_MODEL_MATRIX_LD,  /* ldmatrix (LDSM) and what becomes it: no shared load to the GPU's counters */
    WS_MODEL_MATRIX_ST,  /* stmatrix (STSM) */
    WS_MODEL_KIND_COUNT
};

/* Indexed as enum code_fp: [0] is unused. */
#define WS_MODEL_FP_COUNT 10
#define WS_MODEL_TENSOR_COUNT 10

struct ws_model_counts {
    uint64_t blocks, warps;
    struct ws_model_memory memory[WS_MODEL_KIND_COUNT];
    uint64_t fp[WS_MODEL_FP_COUNT];         /* -, fp32 add mul fma, fp64 add mul fma, fp16 add mul fma; per thread */
    uint64_t fp16_values;                   /* as fp16, but two per thread for packed pairs */
    uint64_t tensor[WS_MODEL_TENSOR_COUNT]; /* operations, a multiply-add is two; as enum code_tensor */
    uint64_t textures, surfaces;            /* instructions: tex and tld4; suld and sust. Their sectors are not known */
    uint64_t bulk[2];                       /* cp.async.bulk: into shared memory, out of it */
    bool is_assumed[WS_MODEL_KIND_COUNT]; /* with accesses whose pattern is ours (wmma, other blocks' shared memory) */
    bool fp_is_lower_bound;               /* some div, sqrt, … called a function of SASS (software.def) */
    bool fp_is_upper_bound[WS_MODEL_FP_COUNT]; /* SASS may skip work whose result only a select reads */
    uint32_t merged_loads;                     /* shared loads joined as ptxas does (static) */
    uint64_t ptx_instructions;                 /* PTX, not SASS: never compare with inst_executed */
    uint64_t ptx_thread_instructions;
    uint64_t branches, divergent_branches; /* PTX level */
    uint64_t memory_64b, memory_128b;      /* memory instructions of these widths, any space */
    uint32_t spill_bytes;                  /* of the launch: not 0 = the local counts are not those of a GPU */
    uint64_t barriers;                     /* warp arrivals */
};

/* One PTX instruction that did something countable. */
struct ws_model_row {
    uint32_t ptx_line, source_line, source_file;
    char opcode[32];
    uint64_t runs, lanes;
    bool is_memory;
    enum ws_model_kind kind;
    struct ws_model_memory memory;
    uint64_t diverged;
};

struct ws_model_issue {
    char text[448]; /* kernel, what, source line, PTX line, block, thread, address, allocation */
    uint64_t count; /* lanes */
    unsigned check; /* enum ws_model_check; 0: trap */
    bool is_hint;   /* no fault in lock-step: __syncwarp is missing */
};
#define WS_MODEL_ISSUES_MAX 16

/* What ends a launch on a GPU with an error, and the context with it. */
enum ws_model_fatal {
    WS_MODEL_FATAL_NONE,
    WS_MODEL_FATAL_ADDRESS, /* outside every allocation */
    WS_MODEL_FATAL_ALIGN,
    WS_MODEL_FATAL_TRAP,
    WS_MODEL_FATAL_ASSERT,
    WS_MODEL_FATAL_HANG, /* a barrier never completes */
    WS_MODEL_FATAL_CALL, /* of an address that is no such function */
    WS_MODEL_FATAL_STACK,
};

enum ws_model_stop {
    WS_MODEL_STOP_NONE,
    WS_MODEL_STOP_FAULT, /* a trap, or deeper divergence than any program has */
    WS_MODEL_STOP_INSTRUCTIONS,
    WS_MODEL_STOP_TIME,
    WS_MODEL_STOP_CANCELLED, /* tick() said so */
};

struct ws_model_result {
    struct ws_model_counts counts;
    struct ws_model_row *rows; /* [rows_n], by PTX line; ws_model_result_fini() frees */
    uint32_t rows_n;
    struct ws_model_issue issues[WS_MODEL_ISSUES_MAX];
    uint32_t issues_n;
    uint64_t issues_lost;      /* occurrences of further kinds that found no room */
    enum ws_model_fatal fatal; /* the first one met */
    bool is_stopped;           /* not run to its end, and no sample either: counts are of a part */
    enum ws_model_stop stop;
    uint64_t blocks, blocks_run; /* of the grid; that ran whole */
    bool is_sampled;             /* blocks_run < blocks stand for all: counts are estimates */
    double interval;             /* half the 95 % interval / total, of the count that is known worst */
    uint32_t static_smem_bytes;
    uint32_t local_bytes_per_thread;    /* of the PTX; ptxas may keep it in registers */
    double seconds;                     /* CPU time of the host, for the speed of the model only */
    const char *instructions;           /* "base", "v3", "v4" */
    char refusal[WS_MODEL_ERROR_BYTES]; /* set with -WS_EUNSUP */
};

/* Run a launch to its end.
 *   errors  -WS_EUNSUP  the kernel uses what the model does not know: result->refusal has name, line, opcode
 *           -WS_EINVAL  grid, block, shared memory or parameters out of range: refusal says which
 *           -WS_ENOMEM
 *   thread  one launch of a model at a time */
int ws_model_run(struct ws_model *model, const struct ws_model_launch *launch, struct ws_model_result *result);
void ws_model_result_fini(struct ws_model_result *result);

#endif
