/* SPDX-License-Identifier: MIT
 * barrier.cu: blocks of 1024 threads that meet at two barriers in each of 64 rounds. slow: one warp does all the work
 * of a round while 31 wait. even: the same work spread over 32 warps. The share of a warp is 64 multiply-adds, enough
 * to outweigh the barriers themselves. Expected counters: barrier.expect. */
#include "walk.cuh"

static const int blocks = 264, threads = 1024, rounds = 64, share = 64, warps = threads / 32;

__global__ void barrier_slow(const float *in, float *out, walk_line line)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
#pragma unroll 1
    for (int k = 0; k < rounds; k++) {
        if (threadIdx.x < 32)
            x = walk<share * warps>(x, line);
        __syncthreads();
        __syncthreads();
    }
    out[i] = x;
}

__global__ void barrier_even(const float *in, float *out, walk_line line)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
#pragma unroll 1
    for (int k = 0; k < rounds; k++) {
        x = walk<share>(x, line);
        __syncthreads();
        __syncthreads();
    }
    out[i] = x;
}

static void run(ws_run &run)
{
    const int n = blocks * threads, slow_steps = rounds * share * warps, even_steps = rounds * share;
    const std::vector<float> in = run.random.floats(n, 1.0f, 2.0f);
    /* Each its own line: one that 131,072 steps leave visible would hardly move x in 4096. */
    const walk_line slow = walk_random(run.random, slow_steps), even = walk_random(run.random, even_steps);
    const walk_end slow_end(slow, slow_steps), even_end(even, even_steps);
    const ws_buffer<float> din(in);
    ws_buffer<float> out(n);
    const auto poison = [&] { out.poison(); };
    run.variant(
        "barrier_slow", poison, [&] { barrier_slow<<<blocks, threads>>>(din.device, out.device, slow); },
        [&] {
            return ws_compare(
                out.read(), [&](size_t i) { return i % threads < 32 ? slow_end(in[i]) : in[i]; },
                walk_tolerance(slow_steps));
        });
    run.variant(
        "barrier_even", poison, [&] { barrier_even<<<blocks, threads>>>(din.device, out.device, even); },
        [&] {
            return ws_compare(
                out.read(), [&](size_t i) { return even_end(in[i]); }, walk_tolerance(even_steps));
        });
}

WS_REFERENCE("K25", "barrier", "one slow warp between barriers, against even work", run,
             {"barrier_slow", "barrier_even"});
