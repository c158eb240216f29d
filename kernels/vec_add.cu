/* SPDX-License-Identifier: MIT
 * vec_add.cu: the streaming baseline: 8 bytes read, 4 written, one addition per thread.
 * Limited by DRAM and nothing else. Expected counters: vec_add.expect. */
#include "harness.h"

__global__ void vec_add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

static void run(ws_run &run)
{
    const int n = 1 << 24;
    const std::vector<float> a = run.random.floats(n), b = run.random.floats(n);
    const ws_buffer<float> da(a), db(b);
    ws_buffer<float> dc(n);
    run.variant(
        "vec_add", [&] { dc.poison(); }, [&] { vec_add<<<n / 256, 256>>>(da.device, db.device, dc.device, n); },
        [&] {
            return ws_compare(
                dc.read(), [&](size_t i) { return (double)a[i] + b[i]; }, 1e-6);
        });
}

WS_REFERENCE("K01", "vec_add", "streaming baseline, DRAM-bound", run, {"vec_add"});
