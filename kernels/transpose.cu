/* SPDX-License-Identifier: MIT
 * transpose.cu: transpose of 1024 x 1024 floats. naive: stores one row pitch apart. tile<32>: through shared memory,
 * the column of a 32-wide tile lies in one bank. tile<33>: a padded row removes that. Expected: transpose.expect. */
#include "harness.h"

__global__ void transpose_naive(const float *in, float *out, int n)
{
    int col = blockIdx.x * 32 + threadIdx.x;
    int row = blockIdx.y * 32 + threadIdx.y;
    out[col * n + row] = in[row * n + col];
}

/* PITCH is the length of a tile's row in floats. */
template <int PITCH> __global__ void transpose_tile(const float *in, float *out, int n)
{
    __shared__ float tile[32][PITCH];
    int col = blockIdx.x * 32 + threadIdx.x;
    int row = blockIdx.y * 32 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[row * n + col];
    __syncthreads();
    col = blockIdx.y * 32 + threadIdx.x;
    row = blockIdx.x * 32 + threadIdx.y;
    out[row * n + col] = tile[threadIdx.x][threadIdx.y];
}

static void run(ws_run &run)
{
    const int n = 1024;
    const dim3 grid(n / 32, n / 32), block(32, 32);
    const std::vector<float> in = run.random.floats(n * n);
    const ws_buffer<float> din(in);
    ws_buffer<float> out(n * n);
    const auto poison = [&] { out.poison(); };
    const auto check = [&] {
        return ws_compare(
            out.read(), [&](size_t i) { return in[i % n * n + i / n]; }, 0);
    };
    run.variant(
        "transpose_naive", poison, [&] { transpose_naive<<<grid, block>>>(din.device, out.device, n); }, check);
    run.variant(
        "transpose_tile<32>", poison, [&] { transpose_tile<32><<<grid, block>>>(din.device, out.device, n); }, check);
    run.variant(
        "transpose_tile<33>", poison, [&] { transpose_tile<33><<<grid, block>>>(din.device, out.device, n); }, check);
}

WS_REFERENCE("K10", "transpose", "transpose: naive, tile with bank conflicts, padded tile", run,
             {"transpose_naive", "transpose_tile<32>", "transpose_tile<33>"});
