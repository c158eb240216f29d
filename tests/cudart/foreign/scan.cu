/* SPDX-License-Identifier: MIT
 * scan.cu: sums of warps by shuffles, by __reduce_add_sync and by a cooperative-groups tile; ballots; an inclusive scan
 * of blocks. */
#include "foreign.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <vector>

namespace cg = cooperative_groups;
static const int N = 4096, BLOCK = 256, GRID = N / BLOCK;

__global__ void warp_sum(const float *x, float *sums)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i];
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, d);
    if (i % 32 == 0)
        sums[i / 32] = v;
}

__global__ void redux(const int *x, int *sums, int *odd)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = x[i], sum = __reduce_add_sync(0xffffffffu, v);
    unsigned votes = __ballot_sync(0xffffffffu, v & 1);
    if (i % 32 == 0) {
        sums[i / 32] = sum;
        odd[i / 32] = __popc(votes);
    }
}

__global__ void tile_sum(const int *x, int *sums)
{
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    int i = blockIdx.x * blockDim.x + block.thread_rank();
    int sum = cg::reduce(tile, x[i], cg::plus<int>());
    if (tile.thread_rank() == 0)
        sums[i / 16] = sum;
}

__global__ void block_scan(const int *x, int *y)
{
    __shared__ int sums[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int v = x[i];
    for (int d = 1; d < 32; d *= 2) {
        int u = __shfl_up_sync(0xffffffffu, v, d);
        if (lane >= d)
            v += u;
    }
    if (lane == 31)
        sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int s = lane < (int)blockDim.x / 32 ? sums[lane] : 0;
        for (int d = 1; d < 32; d *= 2) {
            int u = __shfl_up_sync(0xffffffffu, s, d);
            if (lane >= d)
                s += u;
        }
        sums[lane] = s;
    }
    __syncthreads();
    if (warp > 0)
        v += sums[warp - 1];
    y[i] = v;
}

int main()
{
    std::vector<int> x(N), y(N), sums(N / 32), odd(N / 32), tiles(N / 16);
    std::vector<float> f(N), fsums(N / 32);
    for (int i = 0; i < N; i++) {
        x[i] = i * 31 % 101 - 50;
        f[i] = (float)x[i];
    }
    int *dx, *dy, *dsums, *dodd, *dtiles;
    float *df, *dfsums;
    CUDA(cudaMalloc(&dx, N * 4));
    CUDA(cudaMalloc(&dy, N * 4));
    CUDA(cudaMalloc(&df, N * 4));
    CUDA(cudaMalloc(&dsums, N / 32 * 4));
    CUDA(cudaMalloc(&dodd, N / 32 * 4));
    CUDA(cudaMalloc(&dtiles, N / 16 * 4));
    CUDA(cudaMalloc(&dfsums, N / 32 * 4));
    CUDA(cudaMemcpy(dx, x.data(), N * 4, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(df, f.data(), N * 4, cudaMemcpyHostToDevice));
    warp_sum<<<GRID, BLOCK>>>(df, dfsums);
    redux<<<GRID, BLOCK>>>(dx, dsums, dodd);
    tile_sum<<<GRID, BLOCK>>>(dx, dtiles);
    block_scan<<<GRID, BLOCK>>>(dx, dy);
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpy(y.data(), dy, N * 4, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(sums.data(), dsums, N / 32 * 4, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(odd.data(), dodd, N / 32 * 4, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(tiles.data(), dtiles, N / 16 * 4, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(fsums.data(), dfsums, N / 32 * 4, cudaMemcpyDeviceToHost));
    int wrong = 0, running = 0, sum = 0, odds = 0, tile = 0;
    for (int i = 0; i < N; i++) {
        running = i % BLOCK == 0 ? x[i] : running + x[i];
        wrong += y[i] != running;
        sum = i % 32 == 0 ? x[i] : sum + x[i];
        odds = (i % 32 == 0 ? 0 : odds) + (x[i] & 1);
        tile = i % 16 == 0 ? x[i] : tile + x[i];
        if (i % 32 == 31)
            wrong += (sums[i / 32] != sum) + (odd[i / 32] != odds) + (fsums[i / 32] != (float)sum);
        if (i % 16 == 15)
            wrong += tiles[i / 16] != tile;
    }

    const int WARPS = N / 32;
    expect_global("warp_sum", "gld", WARPS, WARPS * 4);
    expect_global("warp_sum", "gst", WARPS, WARPS); /* lane 0 alone */
    expect("warp_sum", "fp32_add", 5LL * N);
    expect_global("redux", "gld", WARPS, WARPS * 4);
    expect_global("redux", "gst", 2 * WARPS, 2 * WARPS);
    expect_global("tile_sum", "gld", WARPS, WARPS * 4);
    expect_global("tile_sum", "gst", WARPS, WARPS); /* two lanes of a warp, 4 bytes apart, 8-byte aligned: one sector */
    expect_global("block_scan", "gld", WARPS, WARPS * 4);
    expect_global("block_scan", "gst", WARPS, WARPS * 4);
    expect_shared("block_scan", "st", GRID * (8 + 1), GRID * (8 + 1)); /* 8 warps' sums, then warp 0's scan */
    expect_shared("block_scan", "ld", GRID * (1 + 7), GRID * (1 + 7)); /* warp 0, then the other seven: one word */
    return verdict("scan", wrong);
}
