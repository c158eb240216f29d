/* SPDX-License-Identifier: MIT
 * gpus.h: limits per compute capability, data-sheet rates per known board. The rows are in gpus.def.
 * What no source states is not known; nothing here is guessed. Measured ceilings are in roofline.h. */
#ifndef WS_ANALYZER_GPUS_H
#define WS_ANALYZER_GPUS_H

#include "value.h"

#include <stddef.h>
#include <stdint.h>

enum { WS_WARP_LANES = 32, WS_BLOCK_THREADS_MAX = 1024, WS_REG_GRANULE = 256 };

/* Which shared-memory sizes the L1 of an SM can be split into. */
enum ws_carveout_set {
    WS_CARVEOUT_NONE,   /* shared memory of its own: nothing to choose */
    WS_CARVEOUT_VOLTA,  /* 0 8 16 32 64 96 KiB */
    WS_CARVEOUT_TURING, /* 32 64 KiB */
    WS_CARVEOUT_TO_100, /* 0 8 16 32 64 100 KiB */
    WS_CARVEOUT_TO_164, /* … 132 164 KiB */
    WS_CARVEOUT_TO_228, /* … 196 228 KiB */
    WS_CARVEOUT_SETS
};

/* Limits of one compute capability. */
struct ws_limits {
    uint32_t cc_major, cc_minor;
    uint32_t warps_per_sm, blocks_per_sm;
    uint32_t regs_per_sm, regs_per_block, regs_per_thread;
    uint32_t reg_partitions; /* register files per SM */
    uint32_t smem_per_sm, smem_per_block, smem_reserved,
        smem_granule; /* bytes; per_block with opt-in, without reserved */
    enum ws_carveout_set carveouts;
    uint32_t barriers_per_sm;               /* 0 = no limit of its own */
    uint32_t cluster_portable, cluster_max; /* blocks; 1 = no clusters */
    uint32_t fp32_lanes_per_sm;
    uint32_t fp32_per_fp64; /* FP32 rate / FP64 rate outside the tensor cores; 0 = not known */
    const char *source;
};

/* Data-sheet rates of one board. */
enum ws_rate {
    WS_RATE_FP64,
    WS_RATE_FP32,
    WS_RATE_FP16,
    WS_RATE_TENSOR_FP64,
    WS_RATE_TENSOR_TF32,
    WS_RATE_TENSOR_FP16_FP16, /* inputs FP16, sums FP16 */
    WS_RATE_TENSOR_FP16_FP32, /* inputs FP16, sums FP32 */
    WS_RATE_TENSOR_BF16,
    WS_RATE_TENSOR_FP8,
    WS_RATE_TENSOR_INT8,
    WS_RATE_COUNT
};
struct ws_board {
    const char *names; /* as the driver spells them, separated by '|' */
    uint32_t cc_major, cc_minor;
    uint32_t sms;
    struct ws_value boost_clock_hz;
    struct ws_value rate[WS_RATE_COUNT]; /* operations per second, dense; an FMA is 2 */
    struct ws_value dram_bytes_per_s;
    struct ws_value l2_bytes;
    struct ws_value link_bytes_per_s; /* host link, peak of one direction */
    const char *source;
};

/* The row of a compute capability, or NULL. */
const struct ws_limits *ws_gpus_limits(uint32_t cc_major, uint32_t cc_minor);
/* All rows, for tables and tests. */
const struct ws_limits *ws_gpus_limits_all(size_t *count);

/* Fill *out for the board with exactly this driver name.
 *   errors  -WS_ENOENT  not a known board; *out untouched */
int ws_gpus_board(const char *driver_name, struct ws_board *out);
/* Row i of the boards, i < ws_gpus_board_count(). */
size_t ws_gpus_board_count(void);
void ws_gpus_board_at(size_t i, struct ws_board *out);

/* Bytes of the smallest carve-out of at least `bytes`, or of the largest if none is: rises in steps
 * that the hardware has. On GPUs with shared memory of its own: all of it. */
uint32_t ws_gpus_carveout(const struct ws_limits *limits, uint64_t bytes);

#endif
