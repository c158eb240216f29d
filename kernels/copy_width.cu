/* SPDX-License-Identifier: MIT
 * copy_width.cu: a copy of 2^24 floats, one or four to a thread: the same sectors, a quarter of the requests.
 * Expected counters: copy_width.expect. */
#include "harness.h"

/* WIDTH floats that are loaded and stored at once. */
template <int WIDTH> struct copy_width_piece;
template <> struct copy_width_piece<1> {
    typedef float type;
};
template <> struct copy_width_piece<4> {
    typedef float4 type;
};

template <int WIDTH> __global__ void copy_width(const float *in, float *out)
{
    typedef typename copy_width_piece<WIDTH>::type piece;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    ((piece *)out)[i] = ((const piece *)in)[i];
}

template <int WIDTH>
static void width(ws_run &run, const std::vector<float> &in, const float *din, ws_buffer<float> &out)
{
    const std::string name = "copy_width<" + std::to_string(WIDTH) + ">";
    const int blocks = (int)in.size() / WIDTH / 256;
    run.variant(
        name.c_str(), [&] { out.poison(); }, [&] { copy_width<WIDTH><<<blocks, 256>>>(din, out.device); },
        [&] {
            return ws_compare(
                out.read(), [&](size_t i) { return in[i]; }, 0);
        });
}

static void run(ws_run &run)
{
    const std::vector<float> in = run.random.floats(1 << 24);
    const ws_buffer<float> din(in);
    ws_buffer<float> out(in.size());
    width<1>(run, in, din.device, out);
    width<4>(run, in, din.device, out);
}

WS_REFERENCE("K28", "copy_width", "a copy by float and by float4", run, {"copy_width<1>", "copy_width<4>"});
