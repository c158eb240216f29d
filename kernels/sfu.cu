/* SPDX-License-Identifier: MIT
 * sfu.cu: four chains of x -> sin(x) + start, which settle where x = sin(x) + start. sin: by the special-function unit,
 * which takes 16 lanes a cycle where the FMA pipe takes 128. polynomial: eleventh degree, on the FMA pipe.
 * Expected counters: sfu.expect. */
#include "harness.h"

static const int blocks = 2112, threads = 256, steps = 1024;

/* Taylor; below 1e-6 off up to 2, where the chains stay. */
__device__ __forceinline__ float sine_plus(float x, float add)
{
    const float y = __fmul_rn(x, x);
    float p = -1.0f / 39916800.0f;
    p = __fmaf_rn(p, y, 1.0f / 362880.0f);
    p = __fmaf_rn(p, y, -1.0f / 5040.0f);
    p = __fmaf_rn(p, y, 1.0f / 120.0f);
    p = __fmaf_rn(p, y, -1.0f / 6.0f);
    p = __fmaf_rn(p, y, 1.0f);
    return __fmaf_rn(p, x, add);
}

__global__ void sfu_sin(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float s0 = in[i];
    const float s1 = __fadd_rn(s0, 0.125f), s2 = __fadd_rn(s0, 0.25f), s3 = __fadd_rn(s0, 0.375f);
    float x0 = s0, x1 = s1, x2 = s2, x3 = s3;
#pragma unroll 1
    for (int k = 0; k < steps; k++) {
        x0 = __fadd_rn(__sinf(x0), s0);
        x1 = __fadd_rn(__sinf(x1), s1);
        x2 = __fadd_rn(__sinf(x2), s2);
        x3 = __fadd_rn(__sinf(x3), s3);
    }
    out[i] = __fadd_rn(__fadd_rn(x0, x1), __fadd_rn(x2, x3));
}

__global__ void sfu_polynomial(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float s0 = in[i];
    const float s1 = __fadd_rn(s0, 0.125f), s2 = __fadd_rn(s0, 0.25f), s3 = __fadd_rn(s0, 0.375f);
    float x0 = s0, x1 = s1, x2 = s2, x3 = s3;
#pragma unroll 1
    for (int k = 0; k < steps; k++) {
        x0 = sine_plus(x0, s0);
        x1 = sine_plus(x1, s1);
        x2 = sine_plus(x2, s2);
        x3 = sine_plus(x3, s3);
    }
    out[i] = __fadd_rn(__fadd_rn(x0, x1), __fadd_rn(x2, x3));
}

/* Where the chain with this start settles. Its slope, cos(x), is below 0.4 there: it has settled long before 1024. */
static double settled(double start)
{
    double x = start;
    for (int k = 0; k < 100; k++)
        x = std::sin(x) + start;
    return x;
}

static void run(ws_run &run)
{
    const int n = blocks * threads, kinds = 997;
    const std::vector<float> start = run.random.floats(kinds, 0.5f, 0.625f);
    std::vector<float> in(n);
    std::vector<double> want(kinds);
    for (int i = 0; i < n; i++)
        in[i] = start[i % kinds];
    for (int i = 0; i < kinds; i++)
        for (int chain = 0; chain < 4; chain++)
            want[i] += settled(start[i] + 0.125 * chain);
    const ws_buffer<float> din(in);
    ws_buffer<float> out(n);
    const auto poison = [&] { out.poison(); };
    const auto check = [&] {
        return ws_compare(
            out.read(), [&](size_t i) { return want[i % kinds]; }, 1e-5);
    };
    run.variant(
        "sfu_sin", poison, [&] { sfu_sin<<<blocks, threads>>>(din.device, out.device); }, check);
    run.variant(
        "sfu_polynomial", poison, [&] { sfu_polynomial<<<blocks, threads>>>(din.device, out.device); }, check);
}

WS_REFERENCE("K26", "sfu", "sines by the special-function unit, or by a polynomial", run,
             {"sfu_sin", "sfu_polynomial"});
