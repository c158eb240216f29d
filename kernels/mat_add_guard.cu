/* SPDX-License-Identifier: MIT
 * mat_add_guard.cu: matrix sizes that blocks do not divide: the guard has to test both dimensions, and many threads are
 * idle. N = 40 with 32 x 32 threads, N = 1000 with 16 x 16. Expected counters: mat_add_guard.expect. */
#include "harness.h"

template <int N> __global__ void mat_add_guard(const float *a, const float *b, float *c)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < N && col < N)
        c[row * N + col] = a[row * N + col] + b[row * N + col];
}

template <int N> static void size(ws_run &run, int side)
{
    const std::string name = "mat_add_guard<" + std::to_string(N) + ">";
    const int blocks = (N + side - 1) / side;
    const std::vector<float> a = run.random.floats(N * N), b = run.random.floats(N * N);
    const ws_buffer<float> da(a), db(b);
    ws_buffer<float> dc(N * N + N); /* one row more, which must stay as it is */
    run.variant(
        name.c_str(), [&] { dc.poison(); },
        [&] { mat_add_guard<N><<<dim3(blocks, blocks), dim3(side, side)>>>(da.device, db.device, dc.device); },
        [&] {
            const std::vector<float> got = dc.read();
            for (int i = N * N; i < N * N + N; i++)
                if (!std::isnan(got[i]))
                    return std::string("wrote past the end");
            return ws_compare(
                got.data(), N * N, [&](size_t i) { return (double)a[i] + b[i]; }, 1e-6);
        });
}

static void run(ws_run &run)
{
    size<40>(run, 32);
    size<1000>(run, 16);
}

WS_REFERENCE("K06b", "mat_add_guard", "matrices that blocks do not divide: guards and idle threads", run,
             {"mat_add_guard<40>", "mat_add_guard<1000>"});
