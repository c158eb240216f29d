/* SPDX-License-Identifier: MIT
 * local_array.cu: an array per thread whose index is known only at run time. indexed: the array lies in local memory.
 * shared: the same array in shared memory, one column per thread, free of bank conflicts.
 * Expected counters: local_array.expect. */
#include "harness.h"

static const int blocks = 1056, threads = 256, length = 32, reads = 64;

__global__ void local_array_indexed(const float *in, float *out, int step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, at = 0;
    float value[length], sum = 0.0f;
#pragma unroll
    for (int j = 0; j < length; j++)
        value[j] = in[i] + (float)j;
#pragma unroll 1
    for (int k = 0; k < reads; k++) {
        at = (at + step) % length;
        sum += value[at];
    }
    out[i] = sum;
}

__global__ void local_array_shared(const float *in, float *out, int step)
{
    __shared__ float value[length][threads];
    int i = blockIdx.x * blockDim.x + threadIdx.x, at = 0;
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < length; j++)
        value[j][threadIdx.x] = in[i] + (float)j;
#pragma unroll 1
    for (int k = 0; k < reads; k++) {
        at = (at + step) % length;
        sum += value[at][threadIdx.x];
    }
    out[i] = sum;
}

static void run(ws_run &run)
{
    const int n = blocks * threads, step = 1 + (int)run.random.below(length - 1);
    const std::vector<float> in = run.random.floats(n);
    const ws_buffer<float> din(in);
    ws_buffer<float> out(n);
    int offsets = 0;
    for (int k = 1; k <= reads; k++)
        offsets += k * step % length;
    const auto poison = [&] { out.poison(); };
    const auto check = [&] {
        return ws_compare(
            out.read(), [&](size_t i) { return reads * (double)in[i] + offsets; }, 1e-5);
    };
    run.variant(
        "local_array_indexed", poison, [&] { local_array_indexed<<<blocks, threads>>>(din.device, out.device, step); },
        check);
    run.variant(
        "local_array_shared", poison, [&] { local_array_shared<<<blocks, threads>>>(din.device, out.device, step); },
        check);
}

WS_REFERENCE("K20", "local_array", "an array with a run-time index, in local and in shared memory", run,
             {"local_array_indexed", "local_array_shared"});
