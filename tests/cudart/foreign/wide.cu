/* SPDX-License-Identifier: MIT
 * wide.cu: loads and stores of 1, 2, 8 and 16 bytes a lane, with and without cache hints, and float2, double2 and float4
 * through shared memory. */
#include "foreign.h"

#include <cstring>
#include <vector>

static const int N = 2048, BLOCK = 256, GRID = N / BLOCK;

template <class T> __global__ void copy(const T *x, T *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i];
}

__global__ void hints(const float4 *x, float4 *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = __ldcs(&x[i]), w = __ldg(&x[N - 1 - i]);
    __stcs(&y[i], make_float4(v.x + w.w, v.y + w.z, v.z + w.y, v.w + w.x));
}

/* Two neighbouring elements a lane, lane by lane: half of each sector is used twice. */
__global__ void pairs(const int4 *x, int *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int4 a = x[2 * i], b = x[2 * i + 1];
    y[i] = a.x ^ a.y ^ a.z ^ a.w ^ b.x ^ b.y ^ b.z ^ b.w;
}

/* Blocks turned round through shared memory: element t comes from thread 255 - t. */
template <class T> __global__ void turn(const T *x, T *y)
{
    __shared__ T s[BLOCK];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = x[i];
    __syncthreads();
    y[i] = s[BLOCK - 1 - threadIdx.x];
}

static int wrong = 0;

template <class T> static void run(void (*kernel)(const T *, T *), const char *name, bool turned)
{
    std::vector<unsigned char> x(N * sizeof(T)), y(N * sizeof(T));
    for (size_t i = 0; i < x.size(); i++)
        x[i] = (unsigned char)(i * 131 + i / 256);
    T *dx, *dy;
    CUDA(cudaMalloc(&dx, x.size()));
    CUDA(cudaMalloc(&dy, x.size()));
    CUDA(cudaMemcpy(dx, x.data(), x.size(), cudaMemcpyHostToDevice));
    kernel<<<GRID, BLOCK>>>(dx, dy);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(y.data(), dy, x.size(), cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
        int from = turned ? i / BLOCK * BLOCK + BLOCK - 1 - i % BLOCK : i;
        wrong += std::memcmp(&y[i * sizeof(T)], &x[from * sizeof(T)], sizeof(T)) != 0;
    }
    CUDA(cudaFree(dx));
    CUDA(cudaFree(dy));
    /* 32 lanes next to each other: as many sectors as the type has bytes. */
    const int WARPS = N / 32;
    expect_global(name, "gld", WARPS, WARPS * (int)sizeof(T));
    expect_global(name, "gst", WARPS, WARPS * (int)sizeof(T));
    expect(name, "gld_bytes", (long long)N * sizeof(T));
    /* 128 bytes a wavefront: 8 bytes need two, 16 bytes four; the order of the lanes does not matter. */
    if (turned) {
        expect_shared(name, "st", WARPS, WARPS * (int)sizeof(T) / 4);
        expect_shared(name, "ld", WARPS, WARPS * (int)sizeof(T) / 4);
    }
}

int main()
{
    run(copy<unsigned char>, "copy<unsigned char>", false);
    run(copy<short>, "copy<short>", false);
    run(copy<float2>, "copy<float2>", false);
    run(copy<float4>, "copy<float4>", false);
    run(copy<int4>, "copy<int4>", false);
    run(copy<double2>, "copy<double2>", false);
    run(copy<long long>, "copy<long long>", false);
    run(turn<float2>, "turn<float2>", true);
    run(turn<double2>, "turn<double2>", true);
    run(turn<float4>, "turn<float4>", true);

    std::vector<float4> x(N), y(N);
    std::vector<int> folded(N / 2);
    for (int i = 0; i < N; i++)
        x[i] = make_float4(i * 4.0f, i * 4 + 1.0f, i * 4 + 2.0f, i * 4 + 3.0f);
    float4 *dx, *dy;
    int *df;
    CUDA(cudaMalloc(&dx, N * sizeof(float4)));
    CUDA(cudaMalloc(&dy, N * sizeof(float4)));
    CUDA(cudaMalloc(&df, N / 2 * 4));
    CUDA(cudaMemcpy(dx, x.data(), N * sizeof(float4), cudaMemcpyHostToDevice));
    hints<<<GRID, BLOCK>>>(dx, dy);
    pairs<<<GRID / 2, BLOCK>>>((const int4 *)dx, df);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(y.data(), dy, N * sizeof(float4), cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(folded.data(), df, N / 2 * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
        float4 a = x[i], b = x[N - 1 - i];
        wrong += y[i].x != a.x + b.w || y[i].y != a.y + b.z || y[i].z != a.z + b.y || y[i].w != a.w + b.x;
    }
    for (int i = 0; i < N / 2; i++) {
        int bits[8], all = 0;
        std::memcpy(bits, &x[2 * i], sizeof bits);
        for (int b : bits)
            all ^= b;
        wrong += folded[i] != all;
    }
    expect_global("hints", "gld", 2 * (N / 32), 2 * (N / 32) * 16);
    expect_global("hints", "gst", N / 32, N / 32 * 16);
    expect("hints", "fp32_add", 4 * N);
    /* Lane l reads bytes 32 l to 32 l + 15, then the other half: 32 sectors each time. */
    expect_global("pairs", "gld", 2 * (N / 64), 2 * (N / 64) * 32);
    expect_global("pairs", "gst", N / 64, N / 64 * 4);
    return verdict("wide", wrong);
}
