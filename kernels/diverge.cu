/* SPDX-License-Identifier: MIT
 * diverge.cu: two long branches. parity: odd and even lanes part, each side is issued with half the lanes. warp: whole
 * warps agree, the same work without loss. predicated: no branch at all; every second lane of each multiply-add is
 * switched off by its predicate. Expected counters: diverge.expect. */
#include "harness.h"

static const int steps = 1024;

/* Coefficients of the two sides. */
struct sides {
    float a, b, c, d;
};

__device__ __forceinline__ float walk(float x, float a, float b)
{
#pragma unroll 16
    for (int k = 0; k < steps; k++)
        x = __fmaf_rn(x, a, b);
    return x;
}

__global__ void diverge_parity(const float *in, float *out, sides s)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    if (threadIdx.x % 2)
        x = walk(x, s.a, s.b);
    else
        x = walk(x, s.c, s.d);
    out[i] = x;
}

__global__ void diverge_warp(const float *in, float *out, sides s)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    if (threadIdx.x / 32 % 2)
        x = walk(x, s.a, s.b);
    else
        x = walk(x, s.c, s.d);
    out[i] = x;
}

/* 2 * steps multiply-adds are issued to all lanes; one half of the lanes takes those with (a, b), the other those with
 * (c, d). In assembly, as the compiler would choose a branch or a select instead. */
__global__ void diverge_predicated(const float *in, float *out, sides s)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];
    int odd = threadIdx.x % 2;
#pragma unroll 1
    for (int k = 0; k < steps; k += 16) {
#define WS_PAIR "@odd fma.rn.f32 %0, %0, %2, %3;\n\t@!odd fma.rn.f32 %0, %0, %4, %5;\n\t"
#define WS_FOUR WS_PAIR WS_PAIR WS_PAIR WS_PAIR
        asm volatile("{\n\t.reg .pred odd;\n\tsetp.ne.s32 odd, %1, 0;\n\t" WS_FOUR WS_FOUR WS_FOUR WS_FOUR "}"
                     : "+f"(x)
                     : "r"(odd), "f"(s.a), "f"(s.b), "f"(s.c), "f"(s.d));
    }
    out[i] = x;
}

static void run(ws_run &run)
{
    const int blocks = 2112, n = blocks * 256;
    const std::vector<float> in = run.random.floats(n, 1.0f, 2.0f);
    sides s;
    s.a = 1.0f - run.random.between(0.5f, 1.0f) / steps;
    s.c = 1.0f - run.random.between(1.5f, 2.0f) / steps;
    s.b = run.random.between(0.5f, 1.0f) / steps;
    s.d = run.random.between(1.5f, 2.0f) / steps;
    const ws_buffer<float> din(in);
    ws_buffer<float> out(n);
    const auto poison = [&] { out.poison(); };
    const auto closed = [&](float x, double a, double b) {
        const double power = std::pow(a, steps);
        return power * x + b * (1 - power) / (1 - a);
    };
    const double unit_ab = std::pow((double)s.a, steps), unit_cd = std::pow((double)s.c, steps);
    const double shift_ab = closed(0, s.a, s.b), shift_cd = closed(0, s.c, s.d);
    /* 1024 roundings of at most 2^-24 each. */
    const auto check = [&](int group) {
        return ws_compare(
            out.read(),
            [&](size_t i) { return i / group % 2 ? unit_ab * in[i] + shift_ab : unit_cd * in[i] + shift_cd; }, 2e-4);
    };
    run.variant(
        "diverge_parity", poison, [&] { diverge_parity<<<blocks, 256>>>(din.device, out.device, s); },
        [&] { return check(1); });
    run.variant(
        "diverge_warp", poison, [&] { diverge_warp<<<blocks, 256>>>(din.device, out.device, s); },
        [&] { return check(32); });
    run.variant(
        "diverge_predicated", poison, [&] { diverge_predicated<<<blocks, 256>>>(din.device, out.device, s); },
        [&] { return check(1); });
}

WS_REFERENCE("K17", "diverge", "divergent branch, the same on warp borders, predicated lanes", run,
             {"diverge_parity", "diverge_warp", "diverge_predicated"});
