/* SPDX-License-Identifier: MIT
 * const_index.cu: reads of a table in constant memory, which serves one address at a time. lane: every lane its own
 * index, so that a read is taken apart 32 times. uniform: the same index for all. Expected: const_index.expect. */
#include "harness.h"

static const int blocks = 2112, threads = 256, steps = 1024, table_length = 4096;

__constant__ float const_index_table[table_length];

/* An odd factor and increment: a sequence that passes all 4096 places. */
__host__ __device__ __forceinline__ uint32_t next_place(uint32_t at)
{
    return (at * 1021 + 17) % table_length;
}

__device__ __forceinline__ float read_places(uint32_t at)
{
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < steps; k++) {
        at = next_place(at);
        sum += const_index_table[at];
    }
    return sum;
}

__global__ void const_index_lane(float *out, uint32_t first)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = read_places(first + 128 * (threadIdx.x % 32));
}

__global__ void const_index_uniform(float *out, uint32_t first)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = read_places(first);
}

static void run(ws_run &run)
{
    const int n = blocks * threads;
    const uint32_t first = run.random.below(table_length);
    const std::vector<float> table = run.random.floats(table_length);
    std::vector<double> want(32);
    ws_buffer<float> out(n);
    WS_CUDA(cudaMemcpyToSymbol(const_index_table, table.data(), table_length * sizeof(float)));
    for (uint32_t lane = 0; lane < 32; lane++) {
        uint32_t at = first + 128 * lane;
        for (int k = 0; k < steps; k++) {
            at = next_place(at);
            want[lane] += table[at];
        }
    }
    const auto poison = [&] { out.poison(); };
    run.variant(
        "const_index_lane", poison, [&] { const_index_lane<<<blocks, threads>>>(out.device, first); },
        [&] {
            return ws_compare(
                out.read(), [&](size_t i) { return want[i % 32]; }, 1e-5);
        });
    run.variant(
        "const_index_uniform", poison, [&] { const_index_uniform<<<blocks, threads>>>(out.device, first); },
        [&] {
            return ws_compare(
                out.read(), [&](size_t) { return want[0]; }, 1e-5);
        });
}

WS_REFERENCE("K30", "const_index", "constant memory: an index per lane, or one for the warp", run,
             {"const_index_lane", "const_index_uniform"});
