/* SPDX-License-Identifier: MIT
 * spill.cu: 64 live floats per thread. capped: at most 32 registers, so the compiler keeps the rest in local memory.
 * free: no cap, nothing spilled. __launch_bounds__ could not stand in for __maxnreg__: it is ignored on GPUs that hold
 * fewer threads than it promises. Expected counters: spill.expect. */
#include "walk.cuh"

static const int blocks = 1056, threads = 256, live = 64, rounds = 16;

__device__ __forceinline__ float churn(float x, walk_line line)
{
    float value[live], sum = 0.0f;
#pragma unroll
    for (int j = 0; j < live; j++)
        value[j] = __fadd_rn(x, (float)j);
#pragma unroll 1
    for (int k = 0; k < rounds; k++)
#pragma unroll
        for (int j = 0; j < live; j++)
            value[j] = __fmaf_rn(value[j], line.a, line.b);
#pragma unroll
    for (int j = 0; j < live; j++)
        sum = __fadd_rn(sum, value[j]);
    return sum;
}

__global__ void __maxnreg__(32) spill_capped(const float *in, float *out, walk_line line)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = churn(in[i], line);
}

__global__ void spill_free(const float *in, float *out, walk_line line)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = churn(in[i], line);
}

static void run(ws_run &run)
{
    const int n = blocks * threads;
    const std::vector<float> in = run.random.floats(n);
    const walk_line line = walk_random(run.random, rounds);
    const walk_end end(line, rounds);
    const ws_buffer<float> din(in);
    ws_buffer<float> out(n);
    const auto poison = [&] { out.poison(); };
    /* The sum over j of end(x + j). */
    const auto check = [&] {
        return ws_compare(
            out.read(), [&](size_t i) { return live * end(in[i] + (live - 1) / 2.0); }, walk_tolerance(rounds + live));
    };
    run.variant(
        "spill_capped", poison, [&] { spill_capped<<<blocks, threads>>>(din.device, out.device, line); }, check);
    run.variant(
        "spill_free", poison, [&] { spill_free<<<blocks, threads>>>(din.device, out.device, line); }, check);
}

WS_REFERENCE("K19", "spill", "64 live values with and without a cap of 32 registers", run,
             {"spill_capped", "spill_free"});
