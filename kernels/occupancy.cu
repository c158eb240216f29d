/* SPDX-License-Identifier: MIT
 * occupancy.cu: the one-chain loop of chase.cu with occupancy lowered in three ways: by registers (64 live values), by
 * 100 KiB of shared memory per block, by blocks of one warp. Expected: occupancy.expect; good twin: chase<1>. */
#include "ring.cuh"

static const int warps = 8448, steps = 1024, live = 56, shared_bytes = 100 * 1024;

/* Seven of the live values are renewed at each step, so all of them stay in registers over the whole loop. */
__host__ __device__ __forceinline__ uint32_t renew(uint32_t value, uint32_t at)
{
    return value * 5 + at;
}

__global__ void occupancy_regs(const uint32_t *ring, uint32_t *out)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t at = ring_start(i / 32), total = 0, value[live];
#pragma unroll
    for (int j = 0; j < live; j++)
        value[j] = j;
#pragma unroll 1
    for (int k = 0; k < steps; k += 8) {
#pragma unroll
        for (int j = 0; j < live; j++) {
            if (j % (live / 8) == 0)
                at = ring[at];
            value[j] = renew(value[j], at);
        }
    }
#pragma unroll
    for (int j = 0; j < live; j++)
        total ^= value[j];
    out[i] = total;
}

__global__ void occupancy_smem(const uint32_t *ring, uint32_t *out)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = ring_follow<1>(ring, i / 32, steps);
}

__global__ void occupancy_slots(const uint32_t *ring, uint32_t *out)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = ring_follow<1>(ring, i / 32, steps);
}

/* What occupancy_regs leaves for one warp. */
static uint32_t renewed(const ring_order &order, uint32_t warp)
{
    uint32_t at = ring_start(warp), total = 0, value[live];
    for (int j = 0; j < live; j++)
        value[j] = j;
    for (int k = 0; k < steps; k += 8) {
        for (int j = 0; j < live; j++) {
            if (j % (live / 8) == 0)
                at = order.next(at);
            value[j] = renew(value[j], at);
        }
    }
    for (int j = 0; j < live; j++)
        total ^= value[j];
    return total;
}

static void run(ws_run &run)
{
    const ring_order order(run.random);
    const ws_buffer<uint32_t> ring(order.table());
    ws_buffer<uint32_t> out((size_t)warps * 32);
    int most = 0;
    const auto poison = [&] { out.poison(); };
    const auto check = [&] {
        return ring_check(out.read(), run.random, [&](uint32_t warp) { return order.follow(1, warp, steps); });
    };
    run.variant(
        "occupancy_regs", poison, [&] { occupancy_regs<<<warps / 8, 256>>>(ring.device, out.device); },
        [&] { return ring_check(out.read(), run.random, [&](uint32_t warp) { return renewed(order, warp); }); });
    /* The shared memory is asked for and not used. */
    WS_CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    if (most < shared_bytes) {
        run.skip("occupancy_smem", "this GPU has less than 100 KiB of shared memory for a block");
    } else {
        WS_CUDA(cudaFuncSetAttribute(occupancy_smem, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
        run.variant(
            "occupancy_smem", poison,
            [&] { occupancy_smem<<<warps / 8, 256, shared_bytes>>>(ring.device, out.device); }, check);
    }
    run.variant(
        "occupancy_slots", poison, [&] { occupancy_slots<<<warps, 32>>>(ring.device, out.device); }, check);
}

WS_REFERENCE("K18", "occupancy", "occupancy lowered by registers, shared memory, block slots", run,
             {"occupancy_regs", "occupancy_smem", "occupancy_slots"});
