/* SPDX-License-Identifier: MIT
 * walk.cuh: a known amount of FP32 work for kernels that are about something else: x -> a x + b, STEPS times, which
 * the host can predict in closed form. One multiply-add a step, unrolled 16 times, nothing else in between. */
#ifndef WS_KERNELS_WALK_CUH
#define WS_KERNELS_WALK_CUH

#include "harness.h"

/* One step is x -> a x + b. */
struct walk_line {
    float a, b;
};

/* STEPS dependent multiply-adds; STEPS a multiple of 16. */
template <int STEPS> __device__ __forceinline__ float walk(float x, walk_line line)
{
#pragma unroll 16
    for (int k = 0; k < STEPS; k++)
        x = __fmaf_rn(x, line.a, line.b);
    return x;
}

/* A line under which `steps` steps shrink x by about e^-low to e^-high: every start remains visible in the end. */
inline walk_line walk_random(ws_random &random, int steps, float low = 0.5f, float high = 1.0f)
{
    return {1.0f - random.between(low, high) / (float)steps, random.between(low, high) / (float)steps};
}

/* Where exact arithmetic ends: x -> power * x + shift. A step rounds by at most 2^-24 of the value; walk_tolerance is
 * twice what `steps` of them could add up to. */
class walk_end
{
  public:
    walk_end(walk_line line, int steps)
        : power(std::pow((double)line.a, steps)), shift(line.b * (1 - power) / (1 - (double)line.a))
    {
    }
    double operator()(double x) const
    {
        return power * x + shift;
    }

  private:
    double power, shift;
};
inline double walk_tolerance(int steps)
{
    return steps * 1.2e-7;
}

#endif
