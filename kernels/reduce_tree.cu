/* SPDX-License-Identifier: MIT
 * reduce_tree.cu: one block sums one row of 1024 floats by a tree in shared memory. ORDER 0 interleaved (tid % 2s),
 * 1 strided (conflicts: lanes 2s words apart), 2 sequential. reduce_tree runs 8 rows, reduce_tree_big 4096, where
 * time can be seen. Expected counters: reduce_tree.expect. */
#include "harness.h"

static const int length = 1024, threads = 256, small_rows = 8, big_rows = 4096;

template <int ORDER> __device__ __forceinline__ void sum_row(const float *in, float *out)
{
    __shared__ float part[256];
    int tid = threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int i = tid; i < length; i += threads)
        sum += in[blockIdx.x * length + i];
    part[tid] = sum;
    __syncthreads();
    if (ORDER == 0) {
#pragma unroll 1
        for (int s = 1; s < threads; s *= 2) {
            if (tid % (2 * s) == 0)
                part[tid] += part[tid + s];
            __syncthreads();
        }
    } else if (ORDER == 1) {
#pragma unroll 1
        for (int s = 1; s < threads; s *= 2) {
            int k = 2 * s * tid;
            if (k < threads)
                part[k] += part[k + s];
            __syncthreads();
        }
    } else {
#pragma unroll 1
        for (int s = threads / 2; s > 0; s /= 2) {
            if (tid < s)
                part[tid] += part[tid + s];
            __syncthreads();
        }
    }
    if (tid == 0)
        out[blockIdx.x] = part[0];
}

template <int ORDER> __global__ void reduce_tree(const float *in, float *out)
{
    sum_row<ORDER>(in, out);
}

template <int ORDER> __global__ void reduce_tree_big(const float *in, float *out)
{
    sum_row<ORDER>(in, out);
}

template <int ORDER>
static void order(ws_run &run, const std::vector<double> &sums, const float *in, ws_buffer<float> &out)
{
    const std::string suffix = "<" + std::to_string(ORDER) + ">";
    const auto poison = [&] { out.poison(); };
    const auto check = [&](int rows) {
        return ws_compare(
            out.read().data(), rows, [&](size_t i) { return sums[i]; }, 1e-5);
    };
    run.variant(("reduce_tree" + suffix).c_str(), poison,
                [&] { reduce_tree<ORDER><<<small_rows, threads>>>(in, out.device); },
                [&] { return check(small_rows); });
    run.variant(("reduce_tree_big" + suffix).c_str(), poison,
                [&] { reduce_tree_big<ORDER><<<big_rows, threads>>>(in, out.device); },
                [&] { return check(big_rows); });
}

static void run(ws_run &run)
{
    const std::vector<float> in = run.random.floats((size_t)big_rows * length);
    const ws_buffer<float> din(in);
    ws_buffer<float> out(big_rows);
    std::vector<double> sums(big_rows);
    for (size_t i = 0; i < in.size(); i++)
        sums[i / length] += in[i];
    order<0>(run, sums, din.device, out);
    order<1>(run, sums, din.device, out);
    order<2>(run, sums, din.device, out);
}

WS_REFERENCE("K12", "reduce_tree", "tree reduction: interleaved, strided (conflicts), sequential", run,
             {"reduce_tree<0>", "reduce_tree<1>", "reduce_tree<2>", "reduce_tree_big<0>", "reduce_tree_big<1>",
              "reduce_tree_big<2>"});
