/* SPDX-License-Identifier: MIT
 * occupancy.h: how many blocks and warps of one launch fit on one SM, and what limits them.
 * Theoretical only: achieved occupancy is a metric. Limits come from gpus.def. */
#ifndef WS_ANALYZER_OCCUPANCY_H
#define WS_ANALYZER_OCCUPANCY_H

#include "facts.h"
#include "gpus.h"
#include "value.h"

#include <stddef.h>
#include <stdint.h>

/* In the order in which a tie is named: what cannot be changed first. */
enum ws_occ_limit {
    WS_OCC_WARPS,     /* warp slots of the SM, threads of a block */
    WS_OCC_BLOCKS,    /* block slots of the SM */
    WS_OCC_REGISTERS, /* register file, registers of a block or thread */
    WS_OCC_SHARED,    /* shared memory */
    WS_OCC_BARRIERS,  /* named barriers (cc >= 9.0) */
    WS_OCC_CLUSTER,   /* the cluster is larger than the GPU allows */
    WS_OCC_LIMIT_COUNT
};
#define WS_OCC_NO_LIMIT UINT32_MAX

/* What decides the occupancy of a launch. */
struct ws_occ_config {
    uint32_t threads;            /* per block, 1 to 1024 */
    uint32_t regs_per_thread;    /* as the compiler or the driver reports */
    uint32_t static_smem_bytes;  /* per block */
    uint32_t dynamic_smem_bytes; /* per block; the opt-in above 48 KiB is taken as given */
    uint32_t barriers;           /* named barriers per block; 0 and 1 are the usual __syncthreads */
    uint32_t cluster;            /* blocks per cluster; 0 and 1 = none */
    bool carveout_chosen;        /* false: the largest carve-out */
    uint32_t carveout_bytes;     /* shared memory per SM asked for, if chosen */
};

struct ws_occupancy {
    struct ws_value theoretical; /* warps_per_sm / max_warps, 0…1; .why says why there is none */
    uint32_t blocks_per_sm;      /* 0 = cannot be launched. All fields below are 0 if theoretical is missing */
    uint32_t warps_per_sm;
    uint32_t max_warps;                 /* of the SM */
    enum ws_occ_limit limiter;          /* the first of those that bind */
    uint32_t limiters;                  /* all that bind, bit 1u << enum ws_occ_limit */
    uint32_t limit[WS_OCC_LIMIT_COUNT]; /* blocks per SM that each would allow, or WS_OCC_NO_LIMIT */
    uint32_t regs_per_block;            /* allocated */
    uint32_t smem_per_block;            /* allocated, reserved part included */
    uint32_t carveout_bytes;            /* shared memory per SM that the result assumes */
};

/* Occupancy of a configuration on one compute capability.
 *   errors  -WS_EINVAL  threads is 0 or above 1024; *out untouched
 *   source  cuda_occupancy.h of CUDA 13.0, to which tests/unit/test_occupancy.c holds it; clusters: tuning guides */
int ws_occupancy_of(const struct ws_limits *limits, const struct ws_occ_config *config, struct ws_occupancy *out);

/* The same for a launch of a device. Never fails: out->theoretical is missing where the compute
 * capability is unknown (WS_WHY_NO_DEVICE) or the geometry is impossible (WS_WHY_RANGE). The largest
 * carve-out is assumed, whatever the driver chose, because a launch that needs more gets it. */
void ws_occupancy(const struct ws_launch *launch, const struct ws_device *device, struct ws_occupancy *out);

/* "warps", "blocks", "registers", "shared", "barriers", "cluster". */
const char *ws_occ_limit_name(enum ws_occ_limit limit);

/* What-if: the same configuration with one quantity varied over all that the hardware tells apart. */
enum ws_occ_axis { WS_OCC_AXIS_THREADS, WS_OCC_AXIS_REGISTERS, WS_OCC_AXIS_SHARED, WS_OCC_AXIS_COUNT };
struct ws_occ_point {
    uint32_t x;      /* threads, registers per thread, or shared bytes per block (static + dynamic) */
    uint32_t blocks; /* per SM */
    uint32_t warps;  /* per SM */
    enum ws_occ_limit limiter;
};
enum { WS_OCC_CURVE_MAX = 256 };
/* Fill points[capacity], x rising, and return how many: at most WS_OCC_CURVE_MAX. */
size_t ws_occupancy_curve(const struct ws_limits *limits, const struct ws_occ_config *config, enum ws_occ_axis axis,
                          struct ws_occ_point *points, size_t capacity);
/* "threads", "registers", "shared". */
const char *ws_occ_axis_name(enum ws_occ_axis axis);

#endif
