/* SPDX-License-Identifier: MIT
 * kernels.cu: ordinary CUDA kernels, each with its answer checked on the host: shuffles, shared memory, atomics, a
 * struct by value, doubles, a local array, a constant symbol, a device variable, printf. Prints "NAME ok" lines. */
#include "program.h"

__global__ void shuffle_sum(const float *x, float *sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? x[i] : 0.0f;
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_down_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sum, v);
}

__global__ void block_sum(const int *x, int *sums)
{
    extern __shared__ int s[];
    s[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    for (unsigned d = blockDim.x / 2; d > 0; d /= 2) {
        if (threadIdx.x < d)
            s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = s[0];
}

__global__ void histogram(const unsigned *x, unsigned *bins, int n)
{
    __shared__ unsigned local[64];
    if (threadIdx.x < 64)
        local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[x[i] % 64], 1u);
    __syncthreads();
    if (threadIdx.x < 64)
        atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

struct line {
    double slope;
    float offset;
    char pad;
    short step;
};

__constant__ double factor[3];
__device__ int calls;

__global__ void apply(line l, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double local[8];
    if (i >= n)
        return;
    for (int k = 0; k < 8; k++)
        local[k] = k * l.slope;
    out[i] = local[(i * l.step) % 8] + l.offset + factor[i % 3];
    if (i == 0)
        calls++;
}

__global__ void say(int n)
{
    if (threadIdx.x == 1)
        printf("thread %d of %u says %s %.2f %c%%\n", threadIdx.x, n, "hello", 1.5, 'x');
}

static void test_shuffle()
{
    std::vector<float> x(1000, 0.5f);
    buffer<float> in(x), sum(1);
    sum.zero();
    shuffle_sum<<<8, 128>>>(in.device, sum.device, 1000);
    check("shuffle", sum.host()[0] == 500.0f);
}

static void test_shared()
{
    std::vector<int> x(1024);
    for (int i = 0; i < 1024; i++)
        x[i] = i;
    buffer<int> in(x), sums(4);
    block_sum<<<4, 256, 256 * sizeof(int)>>>(in.device, sums.device);
    std::vector<int> got = sums.host();
    check("shared", got[0] == 255 * 256 / 2 && got[3] == 255 * 256 / 2 + 768 * 256);
}

static void test_atomics()
{
    std::vector<unsigned> x(5000), want(64);
    for (unsigned i = 0; i < 5000; i++)
        want[(x[i] = i * 7919u) % 64]++;
    buffer<unsigned> in(x), bins(64);
    bins.zero();
    histogram<<<6, 128>>>(in.device, bins.device, 5000);
    check("atomics", bins.host() == want);
}

static void test_struct()
{
    const double f[3] = {100, 200, 300};
    const line l = {1.5, 0.25f, 'x', 3};
    int n = 0, zero = 0;
    bool is_right = true;
    buffer<double> out(100);
    OK(cudaMemcpyToSymbol(factor, f, sizeof f));
    OK(cudaMemcpyToSymbol(calls, &zero, sizeof zero));
    apply<<<2, 64>>>(l, out.device, 100);
    apply<<<2, 64>>>(l, out.device, 100);
    std::vector<double> got = out.host();
    for (int i = 0; i < 100; i++)
        is_right &= got[i] == (i * 3 % 8) * 1.5 + 0.25 + f[i % 3];
    OK(cudaMemcpyFromSymbol(&n, calls, sizeof n));
    check("struct", is_right && n == 2);
}

int main()
{
    test_shuffle();
    test_shared();
    test_atomics();
    test_struct();
    say<<<1, 32>>>(32);
    OK(cudaDeviceSynchronize());
    check("printf", true);
    return failed;
}
