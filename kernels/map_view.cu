/* SPDX-License-Identifier: MIT
 * map_view.cu: one element-wise operation on four views of a matrix, told apart by their strides alone: contiguous,
 * transposed (neighbours one row apart), one row for all rows, one column for all columns.
 * Expected counters: map_view.expect. */
#include "harness.h"

static const int width = 1024;

template <int ROW_STRIDE, int COL_STRIDE>
__device__ __forceinline__ void map_view(const float *in, float *out, float add)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int row = i / width, col = i % width;
    out[i] = in[row * ROW_STRIDE + col * COL_STRIDE] + add;
}

__global__ void map_view_contiguous(const float *in, float *out, float add)
{
    map_view<width, 1>(in, out, add);
}
__global__ void map_view_transposed(const float *in, float *out, float add)
{
    map_view<1, width>(in, out, add);
}
__global__ void map_view_row(const float *in, float *out, float add)
{
    map_view<0, 1>(in, out, add);
}
__global__ void map_view_column(const float *in, float *out, float add)
{
    map_view<1, 0>(in, out, add);
}

static void run(ws_run &run)
{
    const int n = width * width;
    const std::vector<float> in = run.random.floats(n);
    const float add = run.random.between(1.0f, 2.0f);
    const ws_buffer<float> din(in);
    ws_buffer<float> out(n);
    const auto view = [&](const char *name, void (*kernel)(const float *, float *, float), int row_stride,
                          int col_stride) {
        run.variant(
            name, [&] { out.poison(); }, [&] { kernel<<<n / 256, 256>>>(din.device, out.device, add); },
            [&] {
                return ws_compare(
                    out.read(),
                    [&](size_t i) { return (double)in[i / width * row_stride + i % width * col_stride] + add; }, 1e-6);
            });
    };
    view("map_view_contiguous", map_view_contiguous, width, 1);
    view("map_view_transposed", map_view_transposed, 1, width);
    view("map_view_row", map_view_row, 0, 1);
    view("map_view_column", map_view_column, 1, 0);
}

WS_REFERENCE("K08", "map_view", "one operation on a contiguous, transposed, row and column view", run,
             {"map_view_contiguous", "map_view_transposed", "map_view_row", "map_view_column"});
