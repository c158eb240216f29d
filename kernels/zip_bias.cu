/* SPDX-License-Identifier: MIT
 * zip_bias.cu: a matrix plus one row that is added to every row: the broadcast operand needs no copy.
 * Expected counters: zip_bias.expect. */
#include "harness.h"

__global__ void zip_bias(const float *a, const float *bias, float *out, int width)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = a[i] + bias[i % width];
}

static void run(ws_run &run)
{
    const int width = 1024, n = width * width;
    const std::vector<float> a = run.random.floats(n), bias = run.random.floats(width);
    const ws_buffer<float> da(a), dbias(bias);
    ws_buffer<float> out(n);
    run.variant(
        "zip_bias", [&] { out.poison(); },
        [&] { zip_bias<<<n / 256, 256>>>(da.device, dbias.device, out.device, width); },
        [&] {
            return ws_compare(
                out.read(), [&](size_t i) { return (double)a[i] + bias[i % width]; }, 1e-6);
        });
}

WS_REFERENCE("K09", "zip_bias", "a row added to every row of a matrix", run, {"zip_bias"});
