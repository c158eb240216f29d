/* SPDX-License-Identifier: MIT
 * histogram.cu: 64 bins with global and with shared atomics, a list filled by an atomic counter, a maximum by
 * compare-and-swap, 64-bit and double sums. */
#include "foreign.h"

#include <vector>

static const int N = 65536, BINS = 64, GRID = 64, BLOCK = 256;

__global__ void hist_global(const int *x, int n, unsigned *bins)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[x[i]], 1u);
}

__global__ void hist_shared(const int *x, int n, unsigned *bins)
{
    __shared__ unsigned s[BINS];
    if (threadIdx.x < BINS)
        s[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&s[x[i]], 1u);
    __syncthreads();
    if (threadIdx.x < BINS)
        atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}

__global__ void keep_small(const int *x, int *kept, int *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] < 32)
        kept[atomicAdd(count, 1)] = i;
}

__global__ void max_by_cas(const float *x, unsigned *max_bits)
{
    float v = x[blockIdx.x * blockDim.x + threadIdx.x];
    unsigned old = *max_bits;
    while (v > __uint_as_float(old)) {
        unsigned seen = atomicCAS(max_bits, old, __float_as_uint(v));
        if (seen == old)
            break;
        old = seen;
    }
}

__global__ void wide_sums(const int *x, unsigned long long *sum, double *dsum)
{
    int v = x[blockIdx.x * blockDim.x + threadIdx.x];
    atomicAdd(sum, (unsigned long long)v);
    atomicAdd(dsum, (double)v);
}

int main()
{
    std::vector<int> x(N);
    std::vector<float> f(N);
    std::vector<unsigned> want(BINS), got(BINS), got_shared(BINS);
    unsigned long long want_sum = 0, sum;
    double dsum;
    float want_max = 0, max;
    int small = 0, count, wrong = 0;
    for (int i = 0; i < N; i++) {
        x[i] = i * 5 % BINS;
        f[i] = (float)((i * 7919LL) % 10007);
        want[x[i]]++;
        want_sum += x[i];
        want_max = f[i] > want_max ? f[i] : want_max;
        small += x[i] < 32;
    }
    int *dx, *kept, *dcount;
    float *df;
    unsigned *bins;
    unsigned long long *big;
    CUDA(cudaMalloc(&dx, N * sizeof(int)));
    CUDA(cudaMalloc(&df, N * sizeof(float)));
    CUDA(cudaMalloc(&kept, N * sizeof(int)));
    CUDA(cudaMalloc(&bins, (2 * BINS + 2) * sizeof(unsigned)));
    CUDA(cudaMalloc(&big, 2 * sizeof *big));
    CUDA(cudaMemset(bins, 0, (2 * BINS + 2) * sizeof(unsigned)));
    CUDA(cudaMemset(big, 0, 2 * sizeof *big));
    CUDA(cudaMemcpy(dx, x.data(), N * sizeof(int), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(df, f.data(), N * sizeof(float), cudaMemcpyHostToDevice));
    dcount = (int *)bins + 2 * BINS;
    hist_global<<<GRID, BLOCK>>>(dx, N, bins);
    hist_shared<<<GRID, BLOCK>>>(dx, N, bins + BINS);
    keep_small<<<N / BLOCK, BLOCK>>>(dx, kept, dcount);
    max_by_cas<<<N / BLOCK, BLOCK>>>(df, bins + 2 * BINS + 1);
    wide_sums<<<N / BLOCK, BLOCK>>>(dx, big, (double *)(big + 1));
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(got.data(), bins, BINS * 4, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(got_shared.data(), bins + BINS, BINS * 4, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(&count, dcount, 4, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(&max, bins + 2 * BINS + 1, 4, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(&sum, big, 8, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(&dsum, big + 1, 8, cudaMemcpyDeviceToHost));
    for (int b = 0; b < BINS; b++)
        wrong += (got[b] != want[b]) + (got_shared[b] != want[b]);
    std::vector<int> list(count), seen(N);
    CUDA(cudaMemcpy(list.data(), kept, count * 4, cudaMemcpyDeviceToHost));
    for (int i : list)
        wrong += x[i] >= 32 || seen[i]++;
    wrong += (count != small) + (max != want_max) + (sum != want_sum) + (dsum != (double)want_sum);

    const int WARPS = N / 32; /* warp-sized pieces of the input: 2048 */
    /* One load of 128 bytes for each 32 elements. 5 i mod 64 over 32 consecutive i is 32 different bins in all eight
     * sectors of 64 * 4 bytes (steps of 5 leave no sector of 8 bins out): 8 sectors per reduction. */
    expect_global("hist_global", "gld", WARPS, WARPS * 4);
    expect_global("hist_global", "red", WARPS, WARPS * 8);
    /* 5 i mod 32 is a permutation: no two lanes share a bank. 64 threads = 2 warps clear and flush, 4 sectors each. */
    expect_global("hist_shared", "gld", WARPS, WARPS * 4);
    expect_shared("hist_shared", "atom", WARPS, WARPS);
    expect_shared("hist_shared", "st", 2 * GRID, 2 * GRID);
    expect_shared("hist_shared", "ld", 2 * GRID, 2 * GRID);
    expect_global("hist_shared", "red", 2 * GRID, 2 * GRID * 4);
    /* Every warp has lanes below 32, all on one counter, whose result is used: an atomic, 1 sector. */
    expect_global("keep_small", "gld", WARPS, WARPS * 4);
    expect_global("keep_small", "atom", WARPS, WARPS);
    expect("keep_small", "gst_requests", WARPS);
    expect("keep_small", "gst_bytes", 4LL * small);
    /* Own value 4 sectors, the maximum so far 1; how often the loop turns depends on the order. */
    expect_global("max_by_cas", "gld", 2 * WARPS, 5 * WARPS);
    /* Two reductions on one address of 8 bytes each. */
    expect_global("wide_sums", "red", 2 * WARPS, 2 * WARPS);
    return verdict("histogram", wrong);
}
