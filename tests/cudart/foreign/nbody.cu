/* SPDX-License-Identifier: MIT
 * nbody.cu: one step of 256 bodies in double precision: gravity (with rsqrt) and springs (additions, multiplications and
 * FMAs alone), tiles of bodies in shared memory. */
#include "foreign.h"

#include <cmath>
#include <vector>

static const int N = 256, TILE = 64;

__global__ void gravity(const double *x, const double *y, const double *z, const double *m, double *ax, double *ay,
                        double *az)
{
    __shared__ double sx[TILE], sy[TILE], sz[TILE], sm[TILE];
    int i = blockIdx.x * TILE + threadIdx.x;
    double xi = x[i], yi = y[i], zi = z[i], fx = 0, fy = 0, fz = 0;
    for (int tile = 0; tile < N; tile += TILE) {
        sx[threadIdx.x] = x[tile + threadIdx.x];
        sy[threadIdx.x] = y[tile + threadIdx.x];
        sz[threadIdx.x] = z[tile + threadIdx.x];
        sm[threadIdx.x] = m[tile + threadIdx.x];
        __syncthreads();
#pragma unroll 1
        for (int j = 0; j < TILE; j++) {
            double dx = sx[j] - xi, dy = sy[j] - yi, dz = sz[j] - zi;
            double r = rsqrt(fma(dx, dx, fma(dy, dy, fma(dz, dz, 1e-3))));
            double s = sm[j] * (r * r * r);
            fx = fma(dx, s, fx);
            fy = fma(dy, s, fy);
            fz = fma(dz, s, fz);
        }
        __syncthreads();
    }
    ax[i] = fx;
    ay[i] = fy;
    az[i] = fz;
}

__host__ __device__ static void spring_pair(double xi, double vi, double xj, double vj, double *force, double *energy)
{
    double d = xj - xi, dv = vj - vi;
    *force = fma(0.5, d, fma(0.125, dv, *force));
    *energy = fma(0.25 * d, d, *energy);
}

__global__ void springs(double2 *body, double2 *out, double *energy, double dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double2 b = body[i];
    double force = 0, e = 0;
#pragma unroll 1
    for (int j = 0; j < N; j++)
        spring_pair(b.x, b.y, body[j].x, body[j].y, &force, &e);
    b.y = fma(force, dt, b.y);
    b.x = fma(b.y, dt, b.x);
    out[i] = b;
    energy[i] = e;
}

int main()
{
    std::vector<double> h[4], a[3];
    std::vector<double2> body(N), moved(N);
    std::vector<double> energy(N);
    double *d[8], *denergy;
    double2 *dbody, *dmoved;
    for (int k = 0; k < 8; k++)
        CUDA(cudaMalloc(&d[k], N * sizeof(double)));
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < N; i++)
            h[k].push_back(k == 3 ? 1.0 + i % 7 : ((i * (37 + 14 * k)) % 257) / 16.0);
        CUDA(cudaMemcpy(d[k], h[k].data(), N * sizeof(double), cudaMemcpyHostToDevice));
    }
    for (int i = 0; i < N; i++)
        body[i] = make_double2(h[0][i], h[1][i] / 8);
    CUDA(cudaMalloc(&dbody, N * sizeof(double2)));
    CUDA(cudaMalloc(&dmoved, N * sizeof(double2)));
    CUDA(cudaMalloc(&denergy, N * sizeof(double)));
    CUDA(cudaMemcpy(dbody, body.data(), N * sizeof(double2), cudaMemcpyHostToDevice));
    gravity<<<N / TILE, TILE>>>(d[0], d[1], d[2], d[3], d[4], d[5], d[6]);
    springs<<<N / TILE, TILE>>>(dbody, dmoved, denergy, 1.0 / 64);
    CUDA(cudaDeviceSynchronize());
    for (int k = 0; k < 3; k++) {
        a[k].resize(N);
        CUDA(cudaMemcpy(a[k].data(), d[4 + k], N * sizeof(double), cudaMemcpyDeviceToHost));
    }
    CUDA(cudaMemcpy(moved.data(), dmoved, N * sizeof(double2), cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(energy.data(), denergy, N * sizeof(double), cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        double f[3] = {0, 0, 0}, force = 0, e = 0;
        for (int j = 0; j < N; j++) {
            double v[3], r2 = 1e-3;
            for (int k = 0; k < 3; k++) {
                v[k] = h[k][j] - h[k][i];
                r2 += v[k] * v[k];
            }
            for (int k = 0; k < 3; k++)
                f[k] += v[k] * h[3][j] / (r2 * std::sqrt(r2));
            spring_pair(body[i].x, body[i].y, body[j].x, body[j].y, &force, &e);
        }
        for (int k = 0; k < 3; k++)
            wrong += !(std::fabs(a[k][i] - f[k]) <= 1e-9 * (1 + std::fabs(f[k])));
        double v = fma(force, 1.0 / 64, body[i].y); /* the same operations in the same order: equal to the bit */
        wrong += moved[i].y != v || moved[i].x != fma(v, 1.0 / 64, body[i].x) || energy[i] != e;
    }

    const int WARPS = N / 32, TILES = N / TILE;
    /* A double per lane: 256 bytes, 8 sectors, 2 wavefronts. Own position 3, four arrays a tile. */
    expect_global("gravity", "gld", WARPS * (3 + 4 * TILES), WARPS * (3 + 4 * TILES) * 8);
    expect_global("gravity", "gst", WARPS * 3, WARPS * 3 * 8);
    expect_shared("gravity", "st", WARPS * 4 * TILES, WARPS * 4 * TILES * 2);
    expect_shared("gravity", "ld", WARPS * 4 * N, WARPS * 4 * N); /* all lanes one double: one wavefront */
    /* springs: own body 512 bytes = 16 sectors; the others as one double2, one sector; two differences, a product
     * and three FMAs a pair, two FMAs at the end. */
    expect_global("springs", "gld", WARPS * (1 + N), WARPS * (16 + N));
    expect_global("springs", "gst", WARPS * 2, WARPS * (16 + 8));
    expect("springs", "fp64_add", 2LL * N * N);
    expect("springs", "fp64_mul", 1LL * N * N);
    expect("springs", "fp64_fma", 3LL * N * N + 2 * N);
    return verdict("nbody", wrong);
}
