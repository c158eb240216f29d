/* SPDX-License-Identifier: MIT
 * loops.cu: loops whose length depends on the data: Collatz, Mandelbrot, greatest common divisors, binary search, powers
 * modulo a 61-bit prime by division of 128-bit integers. */
#include "foreign.h"

#include <cmath>
#include <numeric>
#include <vector>

static const int N = 4096, BLOCK = 128, GRID = N / BLOCK, WIDTH = 64, LIMIT = 200, TABLE = 1024;

__global__ void collatz(int *steps, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, count = 0;
    if (i >= n)
        return;
    for (unsigned long long v = i + 1; v != 1; count++)
        v = v % 2 ? 3 * v + 1 : v / 2;
    steps[i] = count;
}

/* Steps until |z| > 2, or LIMIT; fmaf fixes what is rounded, so that the host computes the same. */
__host__ __device__ static int escape(float cx, float cy)
{
    float x = 0, y = 0;
    int k = 0;
    for (; k < LIMIT; k++) {
        float yy = y * y;
        if (fmaf(x, x, yy) > 4.0f)
            break;
        float next = fmaf(x, x, cx - yy);
        y = fmaf(x + x, y, cy);
        x = next;
    }
    return k;
}

__global__ void mandelbrot(int *steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    steps[i] = escape(fmaf((float)(i % WIDTH), 3.0f / WIDTH, -2.0f), fmaf((float)(i / WIDTH), 2.5f / WIDTH, -1.25f));
}

__global__ void gcd(const unsigned *a, const unsigned *b, unsigned *g)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned u = a[i], v = b[i];
    while (v) {
        unsigned r = u % v;
        u = v;
        v = r;
    }
    g[i] = u;
}

/* How many elements of the sorted table are below the key: ten halvings, each a load. */
__global__ void search(const int *table, const int *key, int *place)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, at = 0, k = key[i];
#pragma unroll 1
    for (int half = TABLE / 2; half > 0; half /= 2)
        if (table[at + half - 1] < k)
            at += half;
    place[i] = at;
}

__host__ __device__ static unsigned long long power(unsigned long long base, unsigned exponent)
{
    const unsigned long long prime = (1ull << 61) - 1;
    unsigned long long p = 1;
    for (; exponent; exponent /= 2) {
        if (exponent % 2)
            p = (unsigned long long)((unsigned __int128)p * base % prime);
        base = (unsigned long long)((unsigned __int128)base * base % prime);
    }
    return p;
}

__global__ void powers(const unsigned *a, const unsigned *b, unsigned long long *p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    p[i] = power(a[i] + 3, b[i]);
}

int main()
{
    std::vector<unsigned long long> p(N);
    unsigned long long *dp;
    std::vector<int> steps(N), out(N), place(N), table(TABLE), key(N);
    std::vector<unsigned> a(N), b(N), g(N);
    for (int i = 0; i < N; i++) {
        a[i] = i * 30030u % 65521u * 12u;
        b[i] = i * 1001u % 4093u * 18u + 1;
        key[i] = i * 193 % 3100;
    }
    for (int i = 0; i < TABLE; i++)
        table[i] = 3 * i;
    int *dsteps, *dout, *dtable, *dkey, *dplace;
    unsigned *da, *db, *dg;
    CUDA(cudaMalloc(&dsteps, N * 4));
    CUDA(cudaMalloc(&dout, N * 4));
    CUDA(cudaMalloc(&dtable, TABLE * 4));
    CUDA(cudaMalloc(&dkey, N * 4));
    CUDA(cudaMalloc(&dplace, N * 4));
    CUDA(cudaMalloc(&da, N * 4));
    CUDA(cudaMalloc(&db, N * 4));
    CUDA(cudaMalloc(&dg, N * 4));
    CUDA(cudaMalloc(&dp, N * 8));
    CUDA(cudaMemcpy(dtable, table.data(), TABLE * 4, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(dkey, key.data(), N * 4, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(da, a.data(), N * 4, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(db, b.data(), N * 4, cudaMemcpyHostToDevice));
    CUDA(cudaMemset(dsteps, 0xff, N * 4));
    collatz<<<GRID, BLOCK>>>(dsteps, 4000);
    mandelbrot<<<GRID, BLOCK>>>(dout);
    gcd<<<GRID, BLOCK>>>(da, db, dg);
    search<<<GRID, BLOCK>>>(dtable, dkey, dplace);
    powers<<<GRID, BLOCK>>>(da, db, dp);
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpy(p.data(), dp, N * 8, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(steps.data(), dsteps, N * 4, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(out.data(), dout, N * 4, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(g.data(), dg, N * 4, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(place.data(), dplace, N * 4, cudaMemcpyDeviceToHost));
    int wrong = 0;
    long long whole = 0, tests = 0, sectors = 0;
    for (int i = 0; i < N; i++) {
        int count = 0, k = escape(fmaf((float)(i % WIDTH), 3.0f / WIDTH, -2.0f),
                                  fmaf((float)(i / WIDTH), 2.5f / WIDTH, -1.25f));
        for (unsigned long long v = i + 1; v != 1; count++)
            v = v % 2 ? 3 * v + 1 : v / 2;
        wrong += steps[i] != (i < 4000 ? count : -1);
        wrong += out[i] != k;
        wrong += (g[i] != std::gcd(a[i], b[i])) + (p[i] != power(a[i] + 3, b[i]));
        wrong += place[i] != std::min(TABLE - 1, (key[i] + 2) / 3);
        whole += k;
        tests += k + (k < LIMIT);
    }
    /* The sectors of each halving, warp by warp. */
    for (int warp = 0; warp < N / 32; warp++) {
        int at[32] = {0}, element[32];
        for (int half = TABLE / 2; half > 0; half /= 2) {
            for (int l = 0; l < 32; l++) {
                element[l] = at[l] + half - 1;
                at[l] += table[element[l]] < key[warp * 32 + l] ? half : 0;
            }
            sectors += sectors_of(element, 32, 4);
        }
    }

    const int WARPS = N / 32;
    /* 4000 threads are 125 warps; lanes that end earlier wait, so that the store is one request. */
    expect_global("collatz", "gst", 125, 125 * 4);
    expect("collatz", "gld_requests", 0);
    /* Two FMAs a pixel; one product and one FMA a test; two FMAs, a sum and a difference a whole step. */
    expect_global("mandelbrot", "gst", WARPS, WARPS * 4);
    expect("mandelbrot", "fp32_fma", 2LL * N + tests + 2 * whole);
    expect("mandelbrot", "fp32_mul", tests);
    expect("mandelbrot", "fp32_add", 2 * whole);
    expect_global("gcd", "gld", 2 * WARPS, 2 * WARPS * 4);
    expect_global("gcd", "gst", WARPS, WARPS * 4);
    expect_global("powers", "gld", 2 * WARPS, 2 * WARPS * 4);
    expect_global("powers", "gst", WARPS, WARPS * 8);
    expect_global("search", "gld", WARPS * 11, WARPS * 4 + sectors);
    expect_global("search", "gst", WARPS, WARPS * 4);
    return verdict("loops", wrong);
}
