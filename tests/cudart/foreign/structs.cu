/* SPDX-License-Identifier: MIT
 * structs.cu: kernels that take structs by value: small, padded, with pointers, with an array that is indexed at run
 * time, with a nested struct; arrays of structs in global memory. */
#include "foreign.h"

#include <cmath>
#include <vector>

static const int N = 1024, BLOCK = 128, GRID = N / BLOCK;

struct Affine {
    float scale;
    float3 shift;
};
struct Table {
    float weight[16];
    int n;
};
struct Mixed {
    char tag;
    double factor;
    short offset;
    const int *in;
    struct {
        unsigned char low;
        long long high;
    } inner;
    double *out;
};
struct Particle {
    float x, y, z, vx, vy, vz, mass;
    int id;
};

__global__ void affine(const float3 *p, float3 *q, Affine a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float3 v = p[i];
    q[i] = make_float3(fmaf(v.x, a.scale, a.shift.x), fmaf(v.y, a.scale, a.shift.y), fmaf(v.z, a.scale, a.shift.z));
}

__global__ void weigh(Table t, const float *x, const int *kind, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i] * t.weight[kind[i] % t.n];
}

__global__ void mixed(Mixed m, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        m.out[i] = m.factor * (double)(m.in[i] + m.offset + m.tag + m.inner.low + (int)(m.inner.high >> 33));
}

__global__ void move(Particle *p, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    p[i].x = fmaf(p[i].vx, dt, p[i].x);
    p[i].y = fmaf(p[i].vy, dt, p[i].y);
    p[i].z = fmaf(p[i].vz, dt, p[i].z);
}

__global__ void heavier(const Particle *p, Particle *q, Particle than)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Particle a = p[i];
    q[i] = a.mass > than.mass ? a : than;
}

template <class T> static T *to_device(const std::vector<T> &v)
{
    T *d;
    CUDA(cudaMalloc(&d, v.size() * sizeof(T)));
    CUDA(cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return d;
}
template <class T> static void from_device(std::vector<T> &v, const T *d)
{
    CUDA(cudaMemcpy(v.data(), d, v.size() * sizeof(T), cudaMemcpyDeviceToHost));
}

int main()
{
    std::vector<float3> p(N), q(N);
    std::vector<float> x(N), y(N);
    std::vector<int> kind(N);
    std::vector<double> out(N);
    std::vector<Particle> body(N), moved(N), chosen(N);
    for (int i = 0; i < N; i++) {
        p[i] = make_float3(i * 0.5f, i * 0.25f, (float)-i);
        x[i] = i * 0.125f;
        kind[i] = i * 7 % 40;
        body[i] = {(float)i, 2.0f * i, 3.0f * i, 0.5f, 0.25f, -1.0f * i, (float)(i % 10), i};
    }
    Affine a = {1.5f, make_float3(1.0f, 2.0f, 3.0f)};
    Table t = {};
    for (int k = 0; k < 16; k++)
        t.weight[k] = 1.0f + k * k;
    t.n = 13;
    auto *dp = to_device(p), *dq = to_device(q);
    auto *dx = to_device(x), *dy = to_device(y);
    auto *dkind = to_device(kind);
    auto *dout = to_device(out);
    auto *dbody = to_device(body), *dchosen = to_device(chosen);
    Mixed m = {'a', 0.375, -7, dkind, {200, 5LL << 33}, dout};
    Particle than = {1, 2, 3, 4, 5, 6, 4.5f, -1};
    affine<<<GRID, BLOCK>>>(dp, dq, a);
    weigh<<<GRID, BLOCK>>>(t, dx, dkind, dy);
    mixed<<<GRID, BLOCK>>>(m, 1000);
    move<<<GRID, BLOCK>>>(dbody, 0.5f);
    heavier<<<GRID, BLOCK>>>(dbody, dchosen, than);
    CUDA(cudaGetLastError());
    from_device(q, dq);
    from_device(y, dy);
    from_device(out, dout);
    from_device(moved, dbody);
    from_device(chosen, dchosen);
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        wrong += q[i].x != fmaf(p[i].x, 1.5f, 1) || q[i].y != fmaf(p[i].y, 1.5f, 2) || q[i].z != fmaf(p[i].z, 1.5f, 3);
        wrong += y[i] != x[i] * t.weight[kind[i] % 13];
        wrong += out[i] != (i < 1000 ? 0.375 * (kind[i] - 7 + 'a' + 200 + 5) : 0.0);
        wrong += moved[i].x != i + 0.25f || moved[i].y != 2.0f * i + 0.125f || moved[i].z != 2.5f * i;
        wrong += moved[i].mass != body[i].mass || moved[i].id != i;
        wrong += chosen[i].id != (i % 10 > 4.5f ? i : -1);
    }

    const int WARPS = N / 32;
    /* float3 has 12 bytes: 32 lanes of 4 bytes, 12 apart, touch all 12 sectors of 384 bytes. */
    expect_global("affine", "gld", 3 * WARPS, 3 * WARPS * 12);
    expect_global("affine", "gst", 3 * WARPS, 3 * WARPS * 12);
    expect("affine", "fp32_fma", 3 * N);
    /* The table is a parameter, not global memory, whatever indexes it. */
    expect_global("weigh", "gld", 2 * WARPS, 2 * WARPS * 4);
    expect_global("weigh", "gst", WARPS, WARPS * 4);
    expect("weigh", "fp32_mul", N);
    /* 1000 threads: 31 warps and 8 lanes. */
    expect_global("mixed", "gld", 32, 1000 / 8);
    expect_global("mixed", "gst", 32, 1000 / 4);
    expect("mixed", "fp64_mul", 1000);
    /* 32 bytes a particle: each lane its own sector. */
    expect_global("move", "gld", 6 * WARPS, 6 * WARPS * 32);
    expect_global("move", "gst", 3 * WARPS, 3 * WARPS * 32);
    expect("move", "fp32_fma", 3 * N);
    expect_global("heavier", "gst", 8 * WARPS, 8 * WARPS * 32);
    return verdict("structs", wrong);
}
