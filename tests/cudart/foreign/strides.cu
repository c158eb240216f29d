/* SPDX-License-Identifier: MIT
 * strides.cu: shared memory with strides 1, 2, 3, 5, 6, 16, 17, 32 and 33, columns of padded and plain tiles, and blocks
 * of 17x5, 24x3 and 33x2 threads. */
#include "foreign.h"

#include <string>
#include <vector>

static const int GRID = 8;

template <int STRIDE> __global__ void strided(const int *x, int *y)
{
    __shared__ int s[64 * STRIDE];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t * STRIDE] = x[i];
    __syncthreads();
    y[i] = s[(63 - t) * STRIDE];
}

template <int PITCH> __global__ void transpose(const float *in, float *out, int n)
{
    __shared__ float tile[32][PITCH];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int r = 0; r < 32; r += 8)
        tile[threadIdx.y + r][threadIdx.x] = in[(y + r) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int r = 0; r < 32; r += 8)
        out[(y + r) * n + x] = tile[threadIdx.x][threadIdx.y + r];
}

/* Each block turns its own W x H tile of a picture of 8 tiles side by side: rows in, columns out. */
template <int W, int H> __global__ void turn(const int *in, int *out)
{
    __shared__ int s[W][H];
    int x = threadIdx.x, y = threadIdx.y, pitch = gridDim.x * W, column = blockIdx.x * W + x;
    s[x][y] = in[y * pitch + column];
    __syncthreads();
    int t = y * W + x;
    out[blockIdx.x * W * H + t] = s[t / H][t % H];
}

static int wrong = 0;

static std::vector<int> transfer(int n, int **dx, int **dy)
{
    std::vector<int> x(n);
    for (int i = 0; i < n; i++)
        x[i] = i * 7 + 3;
    CUDA(cudaMalloc(dx, n * 4));
    CUDA(cudaMalloc(dy, n * 4));
    CUDA(cudaMemcpy(*dx, x.data(), n * 4, cudaMemcpyHostToDevice));
    return x;
}

template <int STRIDE> static void run_strided()
{
    int *dx, *dy, n = GRID * 64, word[32];
    std::vector<int> x = transfer(n, &dx, &dy), y(n);
    strided<STRIDE><<<GRID, 64>>>(dx, dy);
    CUDA(cudaMemcpy(y.data(), dy, n * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        wrong += y[i] != x[i / 64 * 64 + 63 - i % 64];
    /* A warp's words are STRIDE apart: gcd(STRIDE, 32) of them share a bank. */
    for (int l = 0; l < 32; l++)
        word[l] = l * STRIDE;
    std::string name = "strided<" + std::to_string(STRIDE) + ">";
    int rounds = rounds_of(word, 32);
    expect_global(name.c_str(), "gld", GRID * 2, GRID * 2 * 4);
    expect_shared(name.c_str(), "st", GRID * 2, GRID * 2 * rounds);
    expect_shared(name.c_str(), "ld", GRID * 2, GRID * 2 * rounds);
}

template <int PITCH> static void run_transpose()
{
    const int n = 128;
    int *dx, *dy;
    std::vector<int> x = transfer(n * n, &dx, &dy), y(n * n);
    transpose<PITCH><<<dim3(n / 32, n / 32), dim3(32, 8)>>>((const float *)dx, (float *)dy, n);
    CUDA(cudaMemcpy(y.data(), dy, n * n * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n * n; i++)
        wrong += y[i] != x[i % n * n + i / n];
    /* A column of 32 words, PITCH apart: all in one bank, or all in different ones. */
    std::string name = "transpose<" + std::to_string(PITCH) + ">";
    int warps = n * n / 32;
    expect_global(name.c_str(), "gld", warps, warps * 4);
    expect_global(name.c_str(), "gst", warps, warps * 4);
    expect_shared(name.c_str(), "st", warps, warps);
    expect_shared(name.c_str(), "ld", warps, warps * (PITCH % 32 == 0 ? 32 : PITCH % 2 == 0 ? 2 : 1));
    expect(name.c_str(), "shared_bank_conflicts", warps * (PITCH % 32 == 0 ? 31 : PITCH % 2 == 0 ? 1 : 0));
}

template <int W, int H> static void run_turn()
{
    int *dx, *dy, n = GRID * W * H, pitch = GRID * W;
    std::vector<int> x = transfer(n, &dx, &dy), y(n);
    turn<W, H><<<GRID, dim3(W, H)>>>(dx, dy);
    CUDA(cudaMemcpy(y.data(), dy, n * 4, cudaMemcpyDeviceToHost));
    long long warps = 0, loads = 0, stores = 0, writes = 0, reads = 0;
    for (int b = 0; b < GRID; b++) {
        for (int first = 0; first < W * H; first += 32, warps++) {
            int lanes = W * H - first < 32 ? W * H - first : 32, in[32], out[32], write[32], read[32];
            for (int l = 0; l < lanes; l++) {
                int t = first + l; /* x runs fastest in a block */
                in[l] = t / W * pitch + b * W + t % W;
                out[l] = b * W * H + t;
                write[l] = t % W * H + t / W;
                read[l] = t;
                wrong += y[out[l]] != x[t % H * pitch + b * W + t / H];
            }
            loads += sectors_of(in, lanes, 4);
            stores += sectors_of(out, lanes, 4);
            writes += rounds_of(write, lanes);
            reads += rounds_of(read, lanes);
        }
    }
    std::string name = "turn<" + std::to_string(W) + ", " + std::to_string(H) + ">";
    expect_global(name.c_str(), "gld", warps, loads);
    expect_global(name.c_str(), "gst", warps, stores);
    expect_shared(name.c_str(), "st", warps, writes);
    expect_shared(name.c_str(), "ld", warps, reads);
}

int main()
{
    run_strided<1>();
    run_strided<2>();
    run_strided<3>();
    run_strided<5>();
    run_strided<6>();
    run_strided<16>();
    run_strided<17>();
    run_strided<32>();
    run_strided<33>();
    run_transpose<32>();
    run_transpose<33>();
    run_transpose<34>();
    run_turn<17, 5>();
    run_turn<24, 3>();
    run_turn<33, 2>();
    return verdict("strides", wrong);
}
