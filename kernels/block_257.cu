/* SPDX-License-Identifier: MIT
 * block_257.cu: a block size that is not a multiple of the warp: 257 threads make 9 warps, the last with one lane,
 * and shift the alignment of every block. The twin uses 256. Expected counters: block_257.expect. */
#include "harness.h"

template <int THREADS> __global__ void block_257(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

template <int THREADS> static void launch(const float *a, const float *b, float *c, int n)
{
    block_257<THREADS><<<(n + THREADS - 1) / THREADS, THREADS>>>(a, b, c, n);
}

static void run(ws_run &run)
{
    const int n = 1 << 20;
    const std::vector<float> a = run.random.floats(n), b = run.random.floats(n);
    const ws_buffer<float> da(a), db(b);
    ws_buffer<float> dc(n);
    const auto poison = [&] { dc.poison(); };
    const auto check = [&] {
        return ws_compare(
            dc.read(), [&](size_t i) { return (double)a[i] + b[i]; }, 1e-6);
    };
    run.variant(
        "block_257<257>", poison, [&] { launch<257>(da.device, db.device, dc.device, n); }, check);
    run.variant(
        "block_257<256>", poison, [&] { launch<256>(da.device, db.device, dc.device, n); }, check);
}

WS_REFERENCE("K03", "block_257", "block size not a multiple of 32, against 256", run,
             {"block_257<257>", "block_257<256>"});
