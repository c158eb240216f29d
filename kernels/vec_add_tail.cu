/* SPDX-License-Identifier: MIT
 * vec_add_tail.cu: 1000 elements in 4 blocks of 256: the last warp keeps 8 lanes, and 4 blocks leave most SMs idle.
 * Expected counters: vec_add_tail.expect. */
#include "harness.h"

__global__ void vec_add_tail(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

static void run(ws_run &run)
{
    const int n = 1000, padded = 1024;
    const std::vector<float> a = run.random.floats(n), b = run.random.floats(n);
    const ws_buffer<float> da(a), db(b);
    ws_buffer<float> dc(padded);
    run.variant(
        "vec_add_tail", [&] { dc.poison(); },
        [&] { vec_add_tail<<<padded / 256, 256>>>(da.device, db.device, dc.device, n); },
        [&] {
            const std::vector<float> got = dc.read();
            for (int i = n; i < padded; i++)
                if (!std::isnan(got[i]))
                    return std::string("wrote past the end");
            return ws_compare(
                got.data(), n, [&](size_t i) { return (double)a[i] + b[i]; }, 1e-6);
        });
}

WS_REFERENCE("K02", "vec_add_tail", "partial last warp, grid smaller than the GPU", run, {"vec_add_tail"});
