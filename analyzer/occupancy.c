/* SPDX-License-Identifier: MIT
 * occupancy.c: theoretical occupancy of one launch on one compute capability, and what-if curves.
 * Pure. The rules below are those of the toolkit's cuda_occupancy.h, written anew; the unit test
 * compares the two over random configurations. Limits come from gpus.def.
 * Add a limiter: extend enum ws_occ_limit, write its function, call it in ws_occupancy_of(). */
#include "occupancy.h"

#include "err.h"

/* Hardware checks a block as if its warps were spread over four register files, on every GPU: a
 * block that would not fit a GP10x does not launch on GP100 either, which has two. */
enum { CHECKED_PARTITIONS = 4 };

static uint64_t round_up(uint64_t n, uint64_t step)
{
    return (n + step - 1) / step * step;
}

static uint32_t warps_of(uint32_t threads)
{
    return (threads + WS_WARP_LANES - 1) / WS_WARP_LANES;
}

/* Blocks that fit the register files when warps are dealt over `partitions` of them. */
static uint32_t blocks_by_partition(const struct ws_limits *limits, uint64_t regs_per_warp, uint32_t warps,
                                    uint32_t partitions)
{
    if (regs_per_warp * round_up(warps, partitions) > limits->regs_per_block)
        return 0;
    return (uint32_t)(limits->regs_per_sm / partitions / regs_per_warp * partitions / warps);
}

static uint32_t by_registers(const struct ws_limits *limits, const struct ws_occ_config *config,
                             struct ws_occupancy *out)
{
    uint32_t warps = warps_of(config->threads);
    uint64_t regs_per_warp = round_up((uint64_t)config->regs_per_thread * WS_WARP_LANES, WS_REG_GRANULE);
    if (config->regs_per_thread > limits->regs_per_thread)
        return 0;
    out->regs_per_block = (uint32_t)(regs_per_warp * warps);
    if (regs_per_warp == 0)
        return WS_OCC_NO_LIMIT;
    if (blocks_by_partition(limits, regs_per_warp, warps, CHECKED_PARTITIONS) == 0)
        return 0;
    return blocks_by_partition(limits, regs_per_warp, warps, limits->reg_partitions);
}

static uint32_t by_shared(const struct ws_limits *limits, const struct ws_occ_config *config, struct ws_occupancy *out)
{
    uint64_t bytes = (uint64_t)config->static_smem_bytes + config->dynamic_smem_bytes + limits->smem_reserved;
    uint64_t asked = config->carveout_chosen ? config->carveout_bytes : limits->smem_per_sm;
    bytes = round_up(bytes, limits->smem_granule);
    out->carveout_bytes = ws_gpus_carveout(limits, asked);
    if (bytes > (uint64_t)limits->smem_per_block + limits->smem_reserved)
        return 0;
    out->smem_per_block = (uint32_t)bytes;
    if (bytes == 0)
        return WS_OCC_NO_LIMIT;
    /* A carve-out too small for one block is a wish the driver does not follow. */
    if (bytes > out->carveout_bytes)
        out->carveout_bytes = ws_gpus_carveout(limits, bytes);
    return (uint32_t)(out->carveout_bytes / bytes);
}

static uint32_t by_barriers(const struct ws_limits *limits, const struct ws_occ_config *config)
{
    if (limits->barriers_per_sm == 0 || config->barriers == 0)
        return WS_OCC_NO_LIMIT;
    return limits->barriers_per_sm / config->barriers;
}

static uint32_t by_cluster(const struct ws_limits *limits, const struct ws_occ_config *config)
{
    return config->cluster > 1 && config->cluster > limits->cluster_max ? 0 : WS_OCC_NO_LIMIT;
}

int ws_occupancy_of(const struct ws_limits *limits, const struct ws_occ_config *config, struct ws_occupancy *out)
{
    struct ws_occupancy result = {.max_warps = limits->warps_per_sm, .blocks_per_sm = WS_OCC_NO_LIMIT};
    if (config->threads == 0 || config->threads > WS_BLOCK_THREADS_MAX)
        return -WS_EINVAL;
    result.limit[WS_OCC_WARPS] = limits->warps_per_sm / warps_of(config->threads);
    result.limit[WS_OCC_BLOCKS] = limits->blocks_per_sm;
    result.limit[WS_OCC_REGISTERS] = by_registers(limits, config, &result);
    result.limit[WS_OCC_SHARED] = by_shared(limits, config, &result);
    result.limit[WS_OCC_BARRIERS] = by_barriers(limits, config);
    result.limit[WS_OCC_CLUSTER] = by_cluster(limits, config);
    for (unsigned i = 0; i < WS_OCC_LIMIT_COUNT; i++)
        if (result.limit[i] < result.blocks_per_sm) {
            result.blocks_per_sm = result.limit[i];
            result.limiter = (enum ws_occ_limit)i;
        }
    for (unsigned i = 0; i < WS_OCC_LIMIT_COUNT; i++)
        if (result.limit[i] == result.blocks_per_sm)
            result.limiters |= 1u << i;
    result.warps_per_sm = result.blocks_per_sm * warps_of(config->threads);
    result.theoretical = ws_value_of((double)result.warps_per_sm / limits->warps_per_sm);
    *out = result;
    return 0;
}

void ws_occupancy(const struct ws_launch *launch, const struct ws_device *device, struct ws_occupancy *out)
{
    const struct ws_limits *limits = ws_gpus_limits(device->cc_major, device->cc_minor);
    /* Each factor is at most 2^32: the products of three would overflow, so they are capped first. */
    uint64_t threads = (uint64_t)launch->block.x * launch->block.y;
    uint64_t cluster = (uint64_t)launch->cluster.x * launch->cluster.y;
    struct ws_occ_config config = {.regs_per_thread = launch->regs_per_thread,
                                   .static_smem_bytes = launch->static_smem_bytes,
                                   .dynamic_smem_bytes = launch->dynamic_smem_bytes};
    struct ws_occupancy none = {.theoretical = ws_missing(limits ? WS_WHY_RANGE : WS_WHY_NO_DEVICE, "block")};
    *out = none;
    if (!limits || threads > WS_BLOCK_THREADS_MAX || threads * launch->block.z > WS_BLOCK_THREADS_MAX)
        return;
    config.threads = (uint32_t)(threads * launch->block.z);
    config.cluster = cluster > UINT16_MAX || cluster * launch->cluster.z > UINT16_MAX
                         ? UINT16_MAX
                         : (uint32_t)(cluster * launch->cluster.z);
    (void)ws_occupancy_of(limits, &config, out); /* 0 threads leaves the reason set above */
}

const char *ws_occ_limit_name(enum ws_occ_limit limit)
{
    static const char *const names[WS_OCC_LIMIT_COUNT] = {"warps",  "blocks",   "registers",
                                                          "shared", "barriers", "cluster"};
    return (unsigned)limit < WS_OCC_LIMIT_COUNT ? names[limit] : "unknown";
}

const char *ws_occ_axis_name(enum ws_occ_axis axis)
{
    static const char *const names[WS_OCC_AXIS_COUNT] = {"threads", "registers", "shared"};
    return (unsigned)axis < WS_OCC_AXIS_COUNT ? names[axis] : "unknown";
}

/* First x, step and last x of an axis. Registers go in eights because a warp is given 256 at a time;
 * shared memory in whole KiB, which is coarser than its granule but what people choose in. */
static void axis_range(const struct ws_limits *limits, enum ws_occ_axis axis, uint32_t range[3])
{
    static const uint32_t fixed[2][3] = {{WS_WARP_LANES, WS_WARP_LANES, WS_BLOCK_THREADS_MAX}, {8, 8, 255}};
    range[0] = axis == WS_OCC_AXIS_SHARED ? 0 : fixed[axis][0];
    range[1] = axis == WS_OCC_AXIS_SHARED ? 1024 : fixed[axis][1];
    range[2] = axis == WS_OCC_AXIS_SHARED ? limits->smem_per_block : fixed[axis][2];
}

static void set_axis(struct ws_occ_config *config, enum ws_occ_axis axis, uint32_t x)
{
    switch (axis) {
    case WS_OCC_AXIS_THREADS:
        config->threads = x;
        break;
    case WS_OCC_AXIS_REGISTERS:
        config->regs_per_thread = x;
        break;
    default:
        config->static_smem_bytes = 0;
        config->dynamic_smem_bytes = x;
    }
}

size_t ws_occupancy_curve(const struct ws_limits *limits, const struct ws_occ_config *config, enum ws_occ_axis axis,
                          struct ws_occ_point *points, size_t capacity)
{
    struct ws_occ_config varied = *config;
    struct ws_occupancy at;
    uint32_t range[3];
    size_t n = 0;
    if ((unsigned)axis >= WS_OCC_AXIS_COUNT)
        return 0;
    axis_range(limits, axis, range);
    for (uint32_t x = range[0]; x <= range[2] && n < capacity; x += range[1]) {
        set_axis(&varied, axis, x);
        if (ws_occupancy_of(limits, &varied, &at) != 0)
            break;
        points[n++] = (struct ws_occ_point){x, at.blocks_per_sm, at.warps_per_sm, at.limiter};
    }
    return n;
}
