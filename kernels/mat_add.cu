/* SPDX-License-Identifier: MIT
 * mat_add.cu: which index walks the contiguous dimension. xrow: threadIdx.x picks the row, so neighbouring lanes are
 * one row pitch (4096 bytes) apart. xcol: threadIdx.x picks the column. Expected counters: mat_add.expect. */
#include "harness.h"

__global__ void mat_add_xrow(const float *a, const float *b, float *c, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && col < n)
        c[row * n + col] = a[row * n + col] + b[row * n + col];
}

__global__ void mat_add_xcol(const float *a, const float *b, float *c, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && col < n)
        c[row * n + col] = a[row * n + col] + b[row * n + col];
}

static void run(ws_run &run)
{
    const int n = 1024;
    const dim3 grid(32, 128), block(32, 8);
    const std::vector<float> a = run.random.floats(n * n), b = run.random.floats(n * n);
    const ws_buffer<float> da(a), db(b);
    ws_buffer<float> dc(n * n);
    const auto poison = [&] { dc.poison(); };
    const auto check = [&] {
        return ws_compare(
            dc.read(), [&](size_t i) { return (double)a[i] + b[i]; }, 1e-6);
    };
    run.variant(
        "mat_add_xrow", poison, [&] { mat_add_xrow<<<grid, block>>>(da.device, db.device, dc.device, n); }, check);
    run.variant(
        "mat_add_xcol", poison, [&] { mat_add_xcol<<<grid, block>>>(da.device, db.device, dc.device, n); }, check);
}

WS_REFERENCE("K06", "mat_add", "matrix addition, x along rows (bad) and along columns (good)", run,
             {"mat_add_xrow", "mat_add_xcol"});
