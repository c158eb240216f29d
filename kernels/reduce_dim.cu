/* SPDX-License-Identifier: MIT
 * reduce_dim.cu: a tensor (8, B, C) summed over its first or its last dimension, by one thread or by one block of 32
 * per output. Which of them is coalesced depends on the dimension. The small ones have (8, 16, 64), the _big ones
 * (8, 1024, 1024). Expected counters: reduce_dim.expect. */
#include "harness.h"

static const int outer = 8;

/* Where output o's elements begin, how many they are and how far apart; for DIM 0 and 2 of (outer, B, C). */
template <int DIM, int B, int C> struct reduce_dim_line {
    static const int outputs = DIM == 0 ? B * C : outer * B, steps = DIM == 0 ? outer : C,
                     stride = DIM == 0 ? B * C : 1;
    __host__ __device__ static int start(int o)
    {
        return DIM == 0 ? o : o * C;
    }
};

template <int DIM, int B, int C> __device__ __forceinline__ void by_thread(const float *in, float *out)
{
    typedef reduce_dim_line<DIM, B, C> line;
    int o = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < line::steps; k++)
        sum += in[line::start(o) + k * line::stride];
    out[o] = sum;
}

template <int DIM, int B, int C> __device__ __forceinline__ void by_block(const float *in, float *out)
{
    typedef reduce_dim_line<DIM, B, C> line;
    __shared__ float part[32];
    int o = blockIdx.x, tid = threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int k = tid; k < line::steps; k += 32)
        sum += in[line::start(o) + k * line::stride];
    part[tid] = sum;
    __syncthreads();
#pragma unroll 1
    for (int s = 16; s > 0; s /= 2) {
        if (tid < s)
            part[tid] += part[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        out[o] = part[0];
}

template <int DIM> __global__ void reduce_dim_thread(const float *in, float *out)
{
    by_thread<DIM, 16, 64>(in, out);
}
template <int DIM> __global__ void reduce_dim_block(const float *in, float *out)
{
    by_block<DIM, 16, 64>(in, out);
}
template <int DIM> __global__ void reduce_dim_thread_big(const float *in, float *out)
{
    by_thread<DIM, 1024, 1024>(in, out);
}
template <int DIM> __global__ void reduce_dim_block_big(const float *in, float *out)
{
    by_block<DIM, 1024, 1024>(in, out);
}

template <int DIM, int B, int C>
static void dimension(ws_run &run, const std::vector<float> &in, const float *din, const std::string &suffix,
                      void (*thread)(const float *, float *), void (*block)(const float *, float *))
{
    typedef reduce_dim_line<DIM, B, C> line;
    const int outputs = line::outputs, threads = outputs < 1024 ? 128 : 256;
    std::vector<double> sums(outputs);
    ws_buffer<float> out(outputs);
    const auto poison = [&] { out.poison(); };
    const auto check = [&] {
        return ws_compare(
            out.read(), [&](size_t o) { return sums[o]; }, 1e-5);
    };
    for (int o = 0; o < outputs; o++)
        for (int k = 0; k < line::steps; k++)
            sums[o] += in[line::start(o) + k * line::stride];
    run.variant(("reduce_dim_thread" + suffix).c_str(), poison,
                [&] { thread<<<outputs / threads, threads>>>(din, out.device); }, check);
    run.variant(("reduce_dim_block" + suffix).c_str(), poison, [&] { block<<<outputs, 32>>>(din, out.device); }, check);
}

static void run(ws_run &run)
{
    const std::vector<float> in = run.random.floats(outer * 1024 * 1024);
    const ws_buffer<float> din(in);
    dimension<0, 16, 64>(run, in, din.device, "<0>", reduce_dim_thread<0>, reduce_dim_block<0>);
    dimension<2, 16, 64>(run, in, din.device, "<2>", reduce_dim_thread<2>, reduce_dim_block<2>);
    dimension<0, 1024, 1024>(run, in, din.device, "_big<0>", reduce_dim_thread_big<0>, reduce_dim_block_big<0>);
    dimension<2, 1024, 1024>(run, in, din.device, "_big<2>", reduce_dim_thread_big<2>, reduce_dim_block_big<2>);
}

WS_REFERENCE("K13", "reduce_dim", "sum over the first or last dimension, by thread or by block", run,
             {"reduce_dim_thread<0>", "reduce_dim_block<0>", "reduce_dim_thread<2>", "reduce_dim_block<2>",
              "reduce_dim_thread_big<0>", "reduce_dim_block_big<0>", "reduce_dim_thread_big<2>",
              "reduce_dim_block_big<2>"});
