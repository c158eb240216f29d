/* SPDX-License-Identifier: MIT
 * together.cu: threads that wait for each other beyond __syncthreads: grid-wide barriers, clusters with distributed shared
 * memory, mbarriers, asynchronous copies that a barrier awaits, a spinning warp. Prints "NAME ok" lines. */
#include "program.h"

#include <algorithm>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/barrier>
#include <cuda/pipeline>

namespace cg = cooperative_groups;

/* Each step reads what other blocks wrote in the step before. */
__global__ void grid_steps(int *a, int n, int steps)
{
    cg::grid_group grid = cg::this_grid();
    int i = (int)grid.thread_rank();
    for (int k = 0; k < steps; k++) {
        a[n * (k + 1) + (i + 97) % n] = a[n * k + i] + i;
        grid.sync();
    }
}

__global__ void tiles(int *out)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> eight = cg::tiled_partition<8>(block);
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    int t = (int)threadIdx.x;
    int sum = cg::reduce(eight, t, cg::plus<int>());
    int most = cg::reduce(warp, t ^ 5, cg::greater<int>());
    int before = cg::exclusive_scan(warp, t);
    int active = 0;
    if (t % 3 == 0) {
        cg::coalesced_group now = cg::coalesced_threads();
        active = (int)now.size() * 100 + (int)now.thread_rank();
    }
    auto odd = cg::labeled_partition(warp, t % 4);
    out[t] = sum + 1000 * most + before * 7 + active + (int)odd.size();
    block.sync();
}

__global__ void __cluster_dims__(4, 1, 1) cluster_ring(int *out)
{
    extern __shared__ int s[];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), next = (rank + 1) % cluster.num_blocks();
    s[threadIdx.x] = (int)(threadIdx.x + 1000 * blockIdx.x);
    if (threadIdx.x == 0)
        s[blockDim.x] = 0;
    cluster.sync();
    int *other = cluster.map_shared_rank(s, next);
    int seen = other[blockDim.x - 1 - threadIdx.x];
    atomicAdd(&other[blockDim.x], (int)threadIdx.x);
    cluster.sync();
    out[blockIdx.x * blockDim.x + threadIdx.x] = seen + s[blockDim.x] * (threadIdx.x == 3);
}

__global__ void block_barrier(int *out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ int s[256];
    if (threadIdx.x == 0)
        init(&barrier, blockDim.x);
    __syncthreads();
    for (int k = 0; k < 3; k++) {
        s[threadIdx.x] = (int)threadIdx.x * (k + 1);
        auto token = barrier.arrive();
        barrier.wait(std::move(token));
        out[k * 256 + threadIdx.x] = s[255 - threadIdx.x];
        barrier.arrive_and_wait();
    }
}

__global__ void pipeline_copy(const int *in, int *out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ alignas(16) int s[2][256];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    cg::thread_block block = cg::this_thread_block();
    if (threadIdx.x == 0)
        init(&barrier, blockDim.x);
    block.sync();
    cuda::memcpy_async(block, s[0], in, cuda::aligned_size_t<16>(sizeof s[0]), barrier);
    barrier.arrive_and_wait();
    out[threadIdx.x] = s[0][255 - threadIdx.x];
    auto pipe = cuda::make_pipeline(block, &state);
    pipe.producer_acquire();
    cuda::memcpy_async(block, s[1], in + 256, sizeof s[1], pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    out[256 + threadIdx.x] = s[1][255 - threadIdx.x];
    pipe.consumer_release();
}

/* Warp 1 waits, without a barrier, for what warp 0 has not written when warp 1 comes first; warp 0 waits for warp 1. */
__global__ void ping_pong(int *out)
{
    __shared__ volatile int turn;
    if (threadIdx.x == 0)
        turn = 0;
    __syncthreads();
    int warp = (int)threadIdx.x / 32;
    for (int k = 0; k < 4; k++) {
        while (turn != 2 * k + warp)
            __nanosleep(20);
        if (threadIdx.x % 32 == 0) {
            out[2 * k + warp] = 10 * k + warp;
            __threadfence_block();
            turn = turn + 1;
        }
        __syncwarp();
    }
}

static void check_grid()
{
    const int n = 16 * 64, steps = 5;
    std::vector<int> a(n * (steps + 1));
    for (int i = 0; i < n; i++)
        a[i] = 3 * i;
    buffer<int> device(a);
    int count = n, k = steps;
    void *arguments[] = {&device.device, &count, &k};
    OK(cudaLaunchCooperativeKernel((const void *)grid_steps, dim3(16), dim3(64), arguments, 0, 0));
    for (int s = 0; s < steps; s++)
        for (int i = 0; i < n; i++)
            a[n * (s + 1) + (i + 97) % n] = a[n * s + i] + i;
    check("grid", device.host() == a);
    cudaError_t code = cudaLaunchCooperativeKernel((const void *)grid_steps, dim3(1000000), dim3(64), arguments, 0, 0);
    check("too large a grid", code == cudaErrorCooperativeLaunchTooLarge && cudaGetLastError() == code);
}

static void check_tiles()
{
    buffer<int> out(64);
    bool right = true;
    tiles<<<1, 64>>>(out.device);
    std::vector<int> got = out.host();
    for (int t = 0; t < 64; t++) {
        int first = t / 8 * 8, warp = t / 32 * 32, sum = 8 * first + 28, most = 0, before = 0, active = 0, size = 0, rank = 0;
        for (int l = warp; l < warp + 32; l++) {
            most = std::max(most, l ^ 5);
            before += l < t ? l : 0;
            size += l % 3 == 0;
            rank += l % 3 == 0 && l < t;
        }
        active = t % 3 == 0 ? size * 100 + rank : 0;
        right &= got[t] == sum + 1000 * most + before * 7 + active + 8;
    }
    check("tiles", right);
}

static void check_clusters()
{
    const int blocks = 8, threads = 64;
    buffer<int> out(blocks * threads);
    bool right = true;
    cluster_ring<<<blocks, threads, (threads + 1) * sizeof(int)>>>(out.device);
    std::vector<int> got = out.host();
    for (int b = 0; b < blocks; b++)
        for (int t = 0; t < threads; t++) {
            int next = b / 4 * 4 + (b + 1) % 4;
            right &= got[b * threads + t] == threads - 1 - t + 1000 * next + (t == 3 ? threads * (threads - 1) / 2 : 0);
        }
    check("cluster", right);
}

static void check_barriers()
{
    std::vector<int> in(512);
    for (int i = 0; i < 512; i++)
        in[i] = i * 11;
    buffer<int> from(in), out(768), turns(8);
    bool right = true;
    block_barrier<<<1, 256>>>(out.device);
    std::vector<int> got = out.host();
    for (int i = 0; i < 768; i++)
        right &= got[i] == (255 - i % 256) * (i / 256 + 1);
    check("mbarrier", right);
    pipeline_copy<<<1, 256>>>(from.device, out.device);
    got = out.host();
    right = true;
    for (int i = 0; i < 512; i++)
        right &= got[i] == in[i / 256 * 256 + 255 - i % 256];
    check("asynchronous copies", right);
    ping_pong<<<1, 64>>>(turns.device);
    got = turns.host();
    right = true;
    for (int i = 0; i < 8; i++)
        right &= got[i] == 10 * (i / 2) + i % 2;
    check("warps that wait for each other", right);
}

int main()
{
    check_grid();
    check_tiles();
    check_clusters();
    check_barriers();
    OK(cudaDeviceSynchronize());
    return failed;
}
