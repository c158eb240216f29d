/* SPDX-License-Identifier: MIT
 * block_shape.cu: five shapes of a 256-thread block on the same matrix addition. A warp covers 32/x pieces of x
 * floats, so x < 8 wastes parts of sectors. Expected counters: block_shape.expect. */
#include "harness.h"

template <int X, int Y> __global__ void block_shape(const float *a, const float *b, float *c, int n)
{
    int col = blockIdx.x * X + threadIdx.x;
    int row = blockIdx.y * Y + threadIdx.y;
    if (row < n && col < n)
        c[row * n + col] = a[row * n + col] + b[row * n + col];
}

struct shape_data {
    std::vector<float> a, b;
    ws_buffer<float> da, db, dc;
};

template <int X, int Y> static void shape(ws_run &run, shape_data &m)
{
    const int n = 1024;
    const std::string name = "block_shape<" + std::to_string(X) + "," + std::to_string(Y) + ">";
    run.variant(
        name.c_str(), [&] { m.dc.poison(); },
        [&] { block_shape<X, Y><<<dim3(n / X, n / Y), dim3(X, Y)>>>(m.da.device, m.db.device, m.dc.device, n); },
        [&] {
            return ws_compare(
                m.dc.read(), [&](size_t i) { return (double)m.a[i] + m.b[i]; }, 1e-6);
        });
}

static void run(ws_run &run)
{
    const std::vector<float> a = run.random.floats(1024 * 1024), b = run.random.floats(1024 * 1024);
    shape_data m{a, b, ws_buffer<float>(a), ws_buffer<float>(b), ws_buffer<float>(a.size())};
    shape<32, 8>(run, m);
    shape<16, 16>(run, m);
    shape<8, 32>(run, m);
    shape<4, 64>(run, m);
    shape<1, 256>(run, m);
}

WS_REFERENCE("K07", "block_shape", "five block shapes, 256 threads each", run,
             {"block_shape<32,8>", "block_shape<16,16>", "block_shape<8,32>", "block_shape<4,64>",
              "block_shape<1,256>"});
