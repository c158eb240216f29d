/* SPDX-License-Identifier: MIT
 * offset_copy.cu: a copy whose source starts OFFSET elements late. Off by one costs a fifth sector per request; off by
 * eight (32 bytes) costs nothing. Expected counters: offset_copy.expect. */
#include "harness.h"

template <int OFFSET> __global__ void offset_copy(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + OFFSET < n)
        out[i] = in[i + OFFSET];
}

template <int OFFSET>
static void offset(ws_run &run, const std::vector<float> &in, const float *din, ws_buffer<float> &out)
{
    const int n = (int)in.size();
    const std::string name = "offset_copy<" + std::to_string(OFFSET) + ">";
    run.variant(
        name.c_str(), [&] { out.poison(); }, [&] { offset_copy<OFFSET><<<n / 256, 256>>>(din, out.device, n); },
        [&] {
            const std::vector<float> got = out.read();
            for (int i = n - OFFSET; i < n; i++)
                if (!std::isnan(got[i]))
                    return std::string("wrote past the end of the source");
            return ws_compare(
                got.data(), n - OFFSET, [&](size_t i) { return in[i + OFFSET]; }, 0);
        });
}

static void run(ws_run &run)
{
    const std::vector<float> in = run.random.floats(1 << 24);
    const ws_buffer<float> din(in);
    ws_buffer<float> out(in.size());
    offset<0>(run, in, din.device, out);
    offset<1>(run, in, din.device, out);
    offset<8>(run, in, din.device, out);
}

WS_REFERENCE("K05", "offset_copy", "misaligned source: offset 0, 1, 8 elements", run,
             {"offset_copy<0>", "offset_copy<1>", "offset_copy<8>"});
