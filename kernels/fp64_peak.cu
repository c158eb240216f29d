/* SPDX-License-Identifier: MIT
 * fp64_peak.cu: the FP64 roof: four independent chains of 1024 double fused multiply-adds per thread, no loads.
 * The shape of fma_peak.cu, which is its good twin. Expected counters: fp64_peak.expect. */
#include "harness.h"

static const int steps = 1024;

__global__ void fp64_peak(double *out, double scale, double a, double b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double x0 = __dmul_rn((double)i, scale);
    double x1 = __dadd_rn(x0, 1.0), x2 = __dadd_rn(x0, 2.0), x3 = __dadd_rn(x0, 3.0);
#pragma unroll 16
    for (int k = 0; k < steps; k++) {
        x0 = __fma_rn(x0, a, b);
        x1 = __fma_rn(x1, a, b);
        x2 = __fma_rn(x2, a, b);
        x3 = __fma_rn(x3, a, b);
    }
    out[i] = __dadd_rn(__dadd_rn(x0, x1), __dadd_rn(x2, x3));
}

static void run(ws_run &run)
{
    const int blocks = 2112, n = blocks * 256;
    const double scale = run.random.between(0.5f, 1.0f), b = run.random.between(0.0f, 1.0f);
    const double a = 1.0 - run.random.between(0.5f, 1.0f) / steps;
    ws_buffer<double> out(n);
    const double power = std::pow(a, steps), shift = b * (1 - power) / (1 - a);
    const auto want = [&](size_t i) { return power * (4 * scale * (double)i + 6) + 4 * shift; };
    run.variant(
        "fp64_peak", [&] { out.poison(); }, [&] { fp64_peak<<<blocks, 256>>>(out.device, scale, a, b); },
        [&] { return ws_compare(out.read(), want, 1e-11); });
}

WS_REFERENCE("K16", "fp64_peak", "FP64 roof: chains of double fused multiply-adds", run, {"fp64_peak"});
