/* SPDX-License-Identifier: MIT
 * fma_peak.cu: the FP32 roof: four independent chains of 4096 fused multiply-adds per thread, no loads.
 * The additions and the one multiplication around them are kept apart from the FMAs by the _rn intrinsics, which the
 * compiler may not fuse. Unrolled 16 times so that the loop costs little. Expected counters: fma_peak.expect. */
#include "harness.h"

static const int steps = 4096;

__global__ void fma_peak(float *out, float scale, float a, float b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x0 = __fmul_rn((float)i, scale);
    float x1 = __fadd_rn(x0, 1.0f), x2 = __fadd_rn(x0, 2.0f), x3 = __fadd_rn(x0, 3.0f);
#pragma unroll 16
    for (int k = 0; k < steps; k++) {
        x0 = __fmaf_rn(x0, a, b);
        x1 = __fmaf_rn(x1, a, b);
        x2 = __fmaf_rn(x2, a, b);
        x3 = __fmaf_rn(x3, a, b);
    }
    out[i] = __fadd_rn(__fadd_rn(x0, x1), __fadd_rn(x2, x3));
}

static void run(ws_run &run)
{
    const int blocks = 2112, n = blocks * 256;
    const float scale = run.random.between(0.5f, 1.0f), b = run.random.between(0.0f, 1.0f);
    const float a = 1.0f - run.random.between(0.5f, 1.0f) / steps; /* a^steps stays near 1/e: every start counts */
    ws_buffer<float> out(n);
    /* The chains in closed form: x(k) = a^k x(0) + b (1 - a^k) / (1 - a). */
    const double power = std::pow((double)a, steps), shift = b * (1 - power) / (1 - (double)a);
    const auto want = [&](size_t i) { return power * (4 * (double)scale * (double)i + 6) + 4 * shift; };
    /* Each step rounds by at most 2^-24 of the value; 4096 of them, were they all to agree, 2.4e-4. */
    run.variant(
        "fma_peak", [&] { out.poison(); }, [&] { fma_peak<<<blocks, 256>>>(out.device, scale, a, b); },
        [&] { return ws_compare(out.read(), want, 5e-4); });
}

WS_REFERENCE("K15", "fma_peak", "FP32 roof: chains of fused multiply-adds", run, {"fma_peak"});
