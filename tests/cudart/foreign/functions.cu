/* SPDX-License-Identifier: MIT
 * functions.cu: device functions (inlined and not), templates with functors, constant memory, __ldg, managed memory, a
 * device variable, and a launch whose block size the occupancy call chooses. */
#include "foreign.h"

#include <cmath>
#include <vector>

static const int N = 2048, BLOCK = 256, GRID = N / BLOCK, TERMS = 8;

__constant__ float coefficients[TERMS];
__constant__ int permutation[64];
__device__ int runs;
__device__ double factors[2] = {0.5, 4.0};

__device__ __noinline__ float horner(float x)
{
    float p = coefficients[TERMS - 1];
    for (int k = TERMS - 2; k >= 0; k--)
        p = fmaf(p, x, coefficients[k]);
    return p;
}

__global__ void polynomial(const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = horner(__ldg(&x[i]));
    if (i == 0)
        atomicAdd(&runs, 1);
}

struct Twice {
    template <class T> __host__ __device__ T operator()(T v) const
    {
        return v + v;
    }
};
struct Power {
    int exponent;
    template <class T> __host__ __device__ T operator()(T v) const
    {
        T p = v;
        for (int k = 1; k < exponent; k++)
            p *= v;
        return p;
    }
};

template <class T, class F> __global__ void map(T *x, int n, F f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = f(x[i]);
}

__global__ void permute(const int *x, int *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i / 64 * 64 + permutation[i % 64]] = x[i];
}

__device__ __noinline__ void sort2(double &a, double &b)
{
    if (a > b) {
        double t = a;
        a = b;
        b = t;
    }
}

__global__ void scaled_sorted(const double *x, double *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double a = x[2 * i] * factors[i & 1], b = x[2 * i + 1] * factors[i & 1];
    sort2(a, b);
    y[2 * i] = a;
    y[2 * i + 1] = b;
}

int main()
{
    float c[TERMS], *x, *y;
    int order[64], *px, *py, count = 0, wrong = 0, grid, block;
    double *d, *e;
    for (int k = 0; k < TERMS; k++)
        c[k] = 1.0f / (k + 1);
    for (int k = 0; k < 64; k++)
        order[k] = k * 2 % 64 + k / 32; /* even places first, then odd ones */
    CUDA(cudaMemcpyToSymbol(coefficients, c, sizeof c));
    CUDA(cudaMemcpyToSymbol(permutation, order, sizeof order));
    CUDA(cudaMallocManaged(&x, N * 4));
    CUDA(cudaMallocManaged(&y, N * 4));
    CUDA(cudaMallocManaged(&px, N * 4));
    CUDA(cudaMallocManaged(&py, N * 4));
    CUDA(cudaMallocManaged(&d, N * 8));
    CUDA(cudaMallocManaged(&e, N * 8));
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i % 97) / 97.0f;
        px[i] = i;
        d[i] = (i * 37 % 101) - 50.0;
    }
    CUDA(cudaOccupancyMaxPotentialBlockSize(&grid, &block, polynomial, 0, 0));
    wrong += block < 32 || block > 1024 || block % 32 || grid < 1;
    polynomial<<<GRID, BLOCK>>>(x, y);
    permute<<<GRID, BLOCK>>>(px, py);
    scaled_sorted<<<GRID / 2, BLOCK>>>(d, e);
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpyFromSymbol(&count, runs, sizeof count));
    wrong += count != 1;
    for (int i = 0; i < N; i++) {
        float p = c[TERMS - 1];
        for (int k = TERMS - 2; k >= 0; k--)
            p = fmaf(p, x[i], c[k]);
        wrong += (y[i] != p) + (py[i / 64 * 64 + order[i % 64]] != i);
    }
    for (int i = 0; i < N; i += 2) {
        double f = i / 2 % 2 ? 4.0 : 0.5, a = f * d[i], b = f * d[i + 1];
        wrong += (e[i] != std::fmin(a, b)) + (e[i + 1] != std::fmax(a, b));
    }
    map<<<GRID, BLOCK>>>(x, N - 1, Twice());
    map<<<GRID, BLOCK>>>(d, N - 8, Power{3});
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < N; i++) {
        float v = (float)(i % 97) / 97.0f;
        double w = (i * 37 % 101) - 50.0;
        wrong += x[i] != (i < N - 1 ? v + v : v);
        wrong += d[i] != (i < N - 8 ? w * w * w : w);
    }

    const int WARPS = N / 32;
    /* Constants are no global loads; seven FMAs an element; the counter's result is not used. */
    expect_global("polynomial", "gld", WARPS, WARPS * 4);
    expect_global("polynomial", "gst", WARPS, WARPS * 4);
    expect("polynomial", "fp32_fma", 7 * N);
    expect("polynomial", "red_requests", 1);
    /* 32 lanes write every second word of 256 bytes: 8 sectors. */
    expect_global("permute", "gld", WARPS, WARPS * 4);
    expect_global("permute", "gst", WARPS, WARPS * 8);
    /* Two doubles a lane, 16 bytes apart, twice; the factor: two doubles of one sector. */
    expect_global("scaled_sorted", "gst", WARPS, WARPS * 16);
    expect("scaled_sorted", "fp64_mul", N);
    expect("map<double, Power>", "gld_sectors", (N - 8) / 4);
    expect("map<double, Power>", "gst_sectors", (N - 8) / 4);
    expect("map<double, Power>", "fp64_mul", 2 * (N - 8));
    expect_global("map<float, Twice>", "gld", WARPS, WARPS * 4);
    expect("map<float, Twice>", "fp32_add", N - 1);
    return verdict("functions", wrong);
}
