/* SPDX-License-Identifier: MIT
 * imbalance.cu: 132 blocks of 1024 threads, one for each SM of an H200. skewed: block b does b + 1 units of work, so
 * the last SM works twice as long as the average. even: the same sum in equal parts. Few large blocks, because many
 * small ones would be dealt out again to whichever SM is free. Expected counters: imbalance.expect. */
#include "walk.cuh"

static const int blocks = 132, threads = 1024, unit = 64;

__device__ __forceinline__ float units(float x, walk_line line, int count)
{
#pragma unroll 1
    for (int u = 0; u < count; u++)
        x = walk<unit>(x, line);
    return x;
}

__global__ void imbalance_skewed(const float *in, float *out, walk_line line)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = units(in[i], line, 2 * (blockIdx.x + 1));
}

__global__ void imbalance_even(const float *in, float *out, walk_line line)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = units(in[i], line, gridDim.x + 1);
}

static void run(ws_run &run)
{
    const int n = blocks * threads, most = 2 * blocks * unit;
    const std::vector<float> in = run.random.floats(n, 1.0f, 2.0f);
    const walk_line line = walk_random(run.random, most);
    const ws_buffer<float> din(in);
    ws_buffer<float> out(n);
    std::vector<walk_end> skewed;
    for (int b = 0; b < blocks; b++)
        skewed.emplace_back(line, 2 * (b + 1) * unit);
    const walk_end even(line, (blocks + 1) * unit);
    const auto poison = [&] { out.poison(); };
    run.variant(
        "imbalance_skewed", poison, [&] { imbalance_skewed<<<blocks, threads>>>(din.device, out.device, line); },
        [&] {
            return ws_compare(
                out.read(), [&](size_t i) { return skewed[i / threads](in[i]); }, walk_tolerance(most));
        });
    run.variant(
        "imbalance_even", poison, [&] { imbalance_even<<<blocks, threads>>>(din.device, out.device, line); },
        [&] {
            return ws_compare(
                out.read(), [&](size_t i) { return even(in[i]); }, walk_tolerance(most));
        });
}

WS_REFERENCE("K23", "imbalance", "blocks of rising cost against equal ones", run,
             {"imbalance_skewed", "imbalance_even"});
