/* SPDX-License-Identifier: MIT
 * atomic_sum.cu: a sum into one float: one atomic addition per thread, or one per block after a tree in shared memory.
 * The elements are -1, 0 or 1, so every order gives the same sum exactly. Expected counters: atomic_sum.expect. */
#include "harness.h"

__device__ __forceinline__ void add_each(const float *in, float *sum)
{
    atomicAdd(sum, in[blockIdx.x * blockDim.x + threadIdx.x]);
}

__device__ __forceinline__ void add_block(const float *in, float *sum)
{
    __shared__ float part[256];
    int tid = threadIdx.x;
    part[tid] = in[blockIdx.x * blockDim.x + tid];
    __syncthreads();
#pragma unroll 1
    for (int s = 128; s > 0; s /= 2) {
        if (tid < s)
            part[tid] += part[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        atomicAdd(sum, part[0]);
}

__global__ void atomic_sum_each(const float *in, float *sum)
{
    add_each(in, sum);
}
__global__ void atomic_sum_block(const float *in, float *sum)
{
    add_block(in, sum);
}
__global__ void atomic_sum_each_small(const float *in, float *sum)
{
    add_each(in, sum);
}
__global__ void atomic_sum_block_small(const float *in, float *sum)
{
    add_block(in, sum);
}

static void run(ws_run &run)
{
    const int big = 1 << 24, small = 2048;
    std::vector<float> in(big);
    double want_big = 0, want_small = 0;
    for (int i = 0; i < big; i++) {
        in[i] = (float)run.random.below(3) - 1.0f;
        want_big += in[i];
        want_small += i < small ? in[i] : 0.0f;
    }
    const ws_buffer<float> din(in);
    ws_buffer<float> sum(1);
    const auto zero = [&] { sum.zero(); };
    const auto is = [&](double want) {
        return ws_compare(
            sum.read(), [&](size_t) { return want; }, 0);
    };
    run.variant(
        "atomic_sum_each", zero, [&] { atomic_sum_each<<<big / 256, 256>>>(din.device, sum.device); },
        [&] { return is(want_big); });
    run.variant(
        "atomic_sum_block", zero, [&] { atomic_sum_block<<<big / 256, 256>>>(din.device, sum.device); },
        [&] { return is(want_big); });
    run.variant(
        "atomic_sum_each_small", zero, [&] { atomic_sum_each_small<<<small / 256, 256>>>(din.device, sum.device); },
        [&] { return is(want_small); });
    run.variant(
        "atomic_sum_block_small", zero, [&] { atomic_sum_block_small<<<small / 256, 256>>>(din.device, sum.device); },
        [&] { return is(want_small); });
}

WS_REFERENCE("K14", "atomic_sum", "sum into one float: an atomic per thread, or one per block", run,
             {"atomic_sum_each", "atomic_sum_block", "atomic_sum_each_small", "atomic_sum_block_small"});
