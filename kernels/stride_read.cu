/* SPDX-License-Identifier: MIT
 * stride_read.cu: the stride table: thread i reads element i * STRIDE, writes element i. Beside it a permutation of
 * the lanes inside each warp, which touches the same sectors as stride 1. Expected counters: stride_read.expect.
 * No element is read twice: the input has 2^21 * 32 floats (256 MiB), four copies of 2^24 random ones. */
#include "harness.h"

static const int threads = 1 << 21, pattern = 1 << 24, copies = 4;

template <int STRIDE> __global__ void stride_read(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i * STRIDE];
}

/* 5 * lane + 3 mod 32 is a permutation of the lanes, as 5 is odd. */
__global__ void stride_read_permuted(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[(i & ~31) | ((i * 5 + 3) & 31)];
}

template <int STRIDE>
static void stride(ws_run &run, const std::vector<float> &in, const float *din, ws_buffer<float> &out)
{
    const std::string name = "stride_read<" + std::to_string(STRIDE) + ">";
    run.variant(
        name.c_str(), [&] { out.poison(); }, [&] { stride_read<STRIDE><<<threads / 256, 256>>>(din, out.device); },
        [&] {
            return ws_compare(
                out.read(), [&](size_t i) { return in[i * STRIDE % pattern]; }, 0);
        });
}

static void run(ws_run &run)
{
    const std::vector<float> in = run.random.floats(pattern);
    ws_buffer<float> din((size_t)pattern * copies), out(threads);
    WS_CUDA(cudaMemcpy(din.device, in.data(), pattern * sizeof(float), cudaMemcpyHostToDevice));
    for (int copy = 1; copy < copies; copy++)
        WS_CUDA(cudaMemcpy(din.device + (size_t)copy * pattern, din.device, pattern * sizeof(float),
                           cudaMemcpyDeviceToDevice));
    stride<1>(run, in, din.device, out);
    stride<2>(run, in, din.device, out);
    stride<4>(run, in, din.device, out);
    stride<8>(run, in, din.device, out);
    stride<16>(run, in, din.device, out);
    stride<32>(run, in, din.device, out);
    run.variant(
        "stride_read_permuted", [&] { out.poison(); },
        [&] { stride_read_permuted<<<threads / 256, 256>>>(din.device, out.device); },
        [&] {
            return ws_compare(
                out.read(), [&](size_t i) { return in[(i & ~31u) | ((i * 5 + 3) & 31)]; }, 0);
        });
}

WS_REFERENCE("K04", "stride_read", "reads with stride 1 to 32, and with permuted lanes", run,
             {"stride_read<1>", "stride_read<2>", "stride_read<4>", "stride_read<8>", "stride_read<16>",
              "stride_read<32>", "stride_read_permuted"});
