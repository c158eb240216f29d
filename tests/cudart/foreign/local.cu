/* SPDX-License-Identifier: MIT
 * local.cu: arrays of a thread that are indexed by data: counts of digits, an insertion sort, a stack. */
#include "foreign.h"

#include <algorithm>
#include <vector>

static const int N = 1024, BLOCK = 128, GRID = N / BLOCK, EACH = 16;

__global__ void digits(const int *x, int *most)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, count[8] = {0};
#pragma unroll 1
    for (int k = 0; k < EACH; k++)
        count[x[k * N + i] & 7] += k + 1;
    int best = 0;
    for (int b = 0; b < 8; b++)
        best = max(best, count[b] * 8 + b);
    most[i] = best;
}

__global__ void median(const int *x, int *middle)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, a[EACH], n = 0;
    for (int k = 0; k < EACH; k++) {
        int v = x[k * N + i], j = n++;
        while (j > 0 && a[j - 1] > v) {
            a[j] = a[j - 1];
            j--;
        }
        a[j] = v;
    }
    middle[i] = a[EACH / 2];
}

/* Sum of the leaves of a tree whose node n has children 2n+1 and 2n+2 where x[n] is odd, by an explicit stack. */
__global__ void walk(const int *x, long long *sum)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, stack[32], top = 0;
    long long s = 0;
    stack[top++] = i % 64;
    while (top > 0) {
        int n = stack[--top];
        if (2 * n + 2 < N && (x[n] & 1)) {
            stack[top++] = 2 * n + 1;
            stack[top++] = 2 * n + 2;
        } else
            s += x[n];
    }
    sum[i] = s;
}

static long long walk_host(const std::vector<int> &x, int n)
{
    if (2 * n + 2 < N && (x[n] & 1))
        return walk_host(x, 2 * n + 1) + walk_host(x, 2 * n + 2);
    return x[n];
}

int main()
{
    std::vector<int> x(N * EACH), most(N), middle(N);
    std::vector<long long> sum(N);
    for (int k = 0; k < EACH; k++)
        for (int i = 0; i < N; i++)
            x[k * N + i] = (i * 40503 + k * k * 7919) % 1000 * 8 + (i + k) % 8;
    int *dx, *dmost, *dmiddle;
    long long *dsum;
    CUDA(cudaMalloc(&dx, x.size() * 4));
    CUDA(cudaMalloc(&dmost, N * 4));
    CUDA(cudaMalloc(&dmiddle, N * 4));
    CUDA(cudaMalloc(&dsum, N * 8));
    CUDA(cudaMemcpy(dx, x.data(), x.size() * 4, cudaMemcpyHostToDevice));
    digits<<<GRID, BLOCK>>>(dx, dmost);
    median<<<GRID, BLOCK>>>(dx, dmiddle);
    walk<<<GRID, BLOCK>>>(dx, dsum);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(most.data(), dmost, N * 4, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(middle.data(), dmiddle, N * 4, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(sum.data(), dsum, N * 8, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        int count[8] = {0}, best = 0;
        std::vector<int> a;
        for (int k = 0; k < EACH; k++) {
            count[x[k * N + i] & 7] += k + 1;
            a.push_back(x[k * N + i]);
        }
        for (int b = 0; b < 8; b++)
            best = std::max(best, count[b] * 8 + b);
        std::sort(a.begin(), a.end());
        wrong += (most[i] != best) + (middle[i] != a[EACH / 2]) + (sum[i] != walk_host(x, i % 64));
    }

    const int WARPS = N / 32;
    expect_global("digits", "gld", WARPS * EACH, WARPS * EACH * 4);
    expect_global("digits", "gst", WARPS, WARPS * 4);
    /* Local memory: word w of lane l lies at 128 w + 4 l. The digit of lane l is (l + k) mod 8: eight lanes of a sector
     * ask for eight words, 32 sectors a request. The eight words cleared at first and read at the end: 4 sectors each,
     * however wide the instructions are. */
    expect("digits", "local_ld_sectors", WARPS * (EACH * 32 + 8 * 4));
    expect("digits", "local_st_sectors", WARPS * (8 * 4 + EACH * 32));
    expect_global("median", "gld", WARPS * EACH, WARPS * EACH * 4);
    expect_global("median", "gst", WARPS, WARPS * 4);
    expect_global("walk", "gst", WARPS, WARPS * 8);
    return verdict("local", wrong);
}
