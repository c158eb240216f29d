/* SPDX-License-Identifier: MIT
 * diverge.cu: two long branches. parity: odd and even lanes part, each side is issued with half the lanes. warp: whole
 * warps agree, the same work without loss. predicated: no branch at all; every second lane of each multiply-add is
 * switched off by its predicate. Expected counters: diverge.expect. */
#include "walk.cuh"

static const int steps = 1024;

__global__ void diverge_parity(const float *in, float *out, walk_line odd, walk_line even)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    if (threadIdx.x % 2)
        x = walk<steps>(x, odd);
    else
        x = walk<steps>(x, even);
    out[i] = x;
}

__global__ void diverge_warp(const float *in, float *out, walk_line odd, walk_line even)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    if (threadIdx.x / 32 % 2)
        x = walk<steps>(x, odd);
    else
        x = walk<steps>(x, even);
    out[i] = x;
}

/* 2 * steps multiply-adds are issued to all lanes, in pairs of which each lane takes one. In assembly, as the compiler
 * would choose a branch or a select instead. */
__global__ void diverge_predicated(const float *in, float *out, walk_line odd, walk_line even)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    int is_odd = threadIdx.x % 2;
#pragma unroll 1
    for (int k = 0; k < steps; k += 16) {
#define WS_PAIR "@odd fma.rn.f32 %0, %0, %2, %3;\n\t@!odd fma.rn.f32 %0, %0, %4, %5;\n\t"
#define WS_FOUR WS_PAIR WS_PAIR WS_PAIR WS_PAIR
        asm volatile("{\n\t.reg .pred odd;\n\tsetp.ne.s32 odd, %1, 0;\n\t" WS_FOUR WS_FOUR WS_FOUR WS_FOUR "}"
                     : "+f"(x)
                     : "r"(is_odd), "f"(odd.a), "f"(odd.b), "f"(even.a), "f"(even.b));
    }
    out[i] = x;
}

static void run(ws_run &run)
{
    const int blocks = 2112, n = blocks * 256;
    const std::vector<float> in = run.random.floats(n, 1.0f, 2.0f);
    const walk_line odd = walk_random(run.random, steps), even = walk_random(run.random, steps, 1.5f, 2.0f);
    const walk_end odd_end(odd, steps), even_end(even, steps);
    const ws_buffer<float> din(in);
    ws_buffer<float> out(n);
    const auto poison = [&] { out.poison(); };
    const auto check = [&](int group) {
        return ws_compare(
            out.read(), [&](size_t i) { return i / group % 2 ? odd_end(in[i]) : even_end(in[i]); },
            walk_tolerance(steps));
    };
    run.variant(
        "diverge_parity", poison, [&] { diverge_parity<<<blocks, 256>>>(din.device, out.device, odd, even); },
        [&] { return check(1); });
    run.variant(
        "diverge_warp", poison, [&] { diverge_warp<<<blocks, 256>>>(din.device, out.device, odd, even); },
        [&] { return check(32); });
    run.variant(
        "diverge_predicated", poison, [&] { diverge_predicated<<<blocks, 256>>>(din.device, out.device, odd, even); },
        [&] { return check(1); });
}

WS_REFERENCE("K17", "diverge", "divergent branch, the same on warp borders, predicated lanes", run,
             {"diverge_parity", "diverge_warp", "diverge_predicated"});
