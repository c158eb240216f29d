/* SPDX-License-Identifier: MIT
 * numbers.cu: floating point as users write it: mathematical functions, divisions, roundings, conversions, double
 * precision, a softmax, a stencil, a matrix product with registers, complex numbers, random bits. Prints "NAME ok". */
#include "../programs/program.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <cuComplex.h>

__global__ void functions(const float *in, float *out)
{
    float x = in[threadIdx.x], y = 0;
    y += sinf(x) + cosf(x) * tanf(x * 0.1f) + expf(-x) + logf(x + 4) + log2f(x + 5) + exp2f(x * 0.5f) + exp10f(x * 0.1f);
    y += sqrtf(x + 4) + rsqrtf(x + 5) + cbrtf(x) + powf(x + 4, 1.5f) + tanhf(x) + erff(x) + atan2f(x, 2.0f) + asinf(x / 8);
    y += fmodf(x, 0.7f) + hypotf(x, 2) + log1pf(x + 4) + expm1f(x * 0.2f) + sinhf(x * 0.3f) + lgammaf(x + 6) + acosf(x / 9);
    out[threadIdx.x] = y;
}
static double host_functions(double x)
{
    double y = sin(x) + cos(x) * tan(x * 0.1) + exp(-x) + log(x + 4) + log2(x + 5) + exp2(x * 0.5) + pow(10, x * 0.1);
    y += sqrt(x + 4) + 1 / sqrt(x + 5) + cbrt(x) + pow(x + 4, 1.5) + tanh(x) + erf(x) + atan2(x, 2) + asin(x / 8);
    return y + fmod(x, 0.7) + hypot(x, 2) + log1p(x + 4) + expm1(x * 0.2) + sinh(x * 0.3) + lgamma(x + 6) + acos(x / 9);
}

__global__ void doubles(const double *in, double *out)
{
    double x = in[threadIdx.x];
    double y = sin(x * 1000) + exp(x * 0.1) + log(fabs(x) + 1) + sqrt(fabs(x)) + 1 / (x + 20) + pow(fabs(x), 0.3) + cbrt(x);
    y += fma(x, x, 1.0) + floor(x) + rint(x * 0.5) + remainder(x, 1.5) + erfc(x * 0.1) + tgamma(fabs(x) * 0.1 + 1) + atan(x);
    out[threadIdx.x] = y;
}
static double host_doubles(double x)
{
    double y = sin(x * 1000) + exp(x * 0.1) + log(fabs(x) + 1) + sqrt(fabs(x)) + 1 / (x + 20) + pow(fabs(x), 0.3) + cbrt(x);
    return y + fma(x, x, 1.0) + floor(x) + rint(x * 0.5) + remainder(x, 1.5) + erfc(x * 0.1) + tgamma(fabs(x) * 0.1 + 1) + atan(x);
}

__global__ void conversions(const float *in, int *out)
{
    float x = in[threadIdx.x] * 1.37f;
    int r = __float2int_rn(x) + __float2int_rz(x) * 3 + __float2int_ru(x) * 5 + __float2int_rd(x) * 7;
    r += (int)(unsigned char)(x + 40) + (int)(short)(x * 100) + (int)(long long)(x * 1e6f) + (int)__float2uint_rn(x + 9);
    r += (int)__double2ll_rd((double)x * 7) + (int)(char)(int)x + (isnan(__int_as_float(0x7fc00000) * x) ? 100000 : 0);
    r += __float_as_int(__fadd_rz(x, 0.3f)) % 1000 + __float_as_int(__fmul_ru(x, 0.3f)) % 1000 + lrintf(x * 3) + (int)roundf(x);
    out[threadIdx.x] = r + (int)truncf(x) + (int)ceilf(x) + (signbit(x) ? 1 : 0) + (int)copysignf(3.0f, x) + (int)__saturatef(x);
}

__global__ void softmax(const float *in, float *out, int n)
{
    __shared__ float s[8];
    const float *row = in + (size_t)blockIdx.x * n;
    float most = -INFINITY, sum = 0;
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
        most = fmaxf(most, row[i]);
    for (int d = 16; d; d /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    if (threadIdx.x % 32 == 0)
        s[threadIdx.x / 32] = most;
    __syncthreads();
    for (int w = 0; w < (int)blockDim.x / 32; w++)
        most = fmaxf(most, s[w]);
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
        sum += __expf(row[i] - most);
    for (int d = 16; d; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        s[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (int w = 0; w < (int)blockDim.x / 32; w++)
        sum += s[w];
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
        out[(size_t)blockIdx.x * n + i] = __fdividef(__expf(row[i] - most), sum);
}

#define TILE 16
__global__ void product(const float *a, const float *b, float *c, int n)
{
    __shared__ float sa[TILE][TILE + 1], sb[TILE][TILE];
    float sum[4] = {0, 0, 0, 0};
    int x = (int)(blockIdx.x * TILE + threadIdx.x), y = (int)(blockIdx.y * TILE + threadIdx.y);
    for (int k = 0; k < n; k += TILE) {
        for (int r = 0; r < TILE; r += 4) {
            sa[threadIdx.y + r][threadIdx.x] = a[(y + r) * n + k + (int)threadIdx.x];
            sb[threadIdx.y + r][threadIdx.x] = b[(k + (int)threadIdx.y + r) * n + x];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++)
            for (int r = 0; r < 4; r++)
                sum[r] += sa[threadIdx.y + 4 * r][i] * sb[i][threadIdx.x];
        __syncthreads();
    }
    for (int r = 0; r < 4; r++)
        c[(y + 4 * r) * n + x] = sum[r];
}

__constant__ float weights[5];
__global__ void stencil(const float *__restrict__ in, float *__restrict__ out, int n)
{
    extern __shared__ float tile[];
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), l = (int)threadIdx.x + 2;
    tile[l] = i < n ? in[i] : 0;
    if (threadIdx.x < 2) {
        tile[l - 2] = i >= 2 ? in[i - 2] : 0;
        tile[l + blockDim.x] = i + (int)blockDim.x < n ? in[i + blockDim.x] : 0;
    }
    __syncthreads();
    float v = 0;
    for (int k = -2; k <= 2; k++)
        v += weights[k + 2] * tile[l + k];
    if (i < n)
        out[i] = v;
}

__global__ void complexes(const cuFloatComplex *in, cuFloatComplex *out, cuDoubleComplex *d)
{
    cuFloatComplex z = in[threadIdx.x], w = make_cuFloatComplex(0, 0);
    for (int k = 0; k < 5; k++)
        w = cuCaddf(cuCmulf(w, w), z);
    out[threadIdx.x] = cuCdivf(w, make_cuFloatComplex(3, 4));
    d[threadIdx.x] = make_cuDoubleComplex(cuCabsf(z), cuCrealf(w));
}

static bool near(double a, double b, double by)
{
    return fabs(a - b) <= by * (1 + fabs(b));
}

static void check_functions()
{
    std::vector<float> in(64);
    std::vector<double> wide(64);
    for (int i = 0; i < 64; i++)
        wide[i] = in[i] = 0.11f * (float)i - 3.5f;
    buffer<float> din(in), out(64);
    buffer<double> dw(wide), dd(64);
    buffer<int> di(64);
    bool right = true;
    functions<<<1, 64>>>(din.device, out.device);
    std::vector<float> got = out.host();
    for (int i = 0; i < 64; i++)
        right &= near(got[i], host_functions(in[i]), 2e-4);
    check("functions", right);
    doubles<<<1, 64>>>(dw.device, dd.device);
    std::vector<double> d = dd.host();
    right = true;
    for (int i = 0; i < 64; i++)
        right &= near(d[i], host_doubles(wide[i]), 1e-11);
    check("doubles", right);
    conversions<<<1, 64>>>(din.device, di.device);
    std::vector<int> c = di.host();
    right = true;
    for (int i = 0; i < 64; i++) {
        float x = in[i] * 1.37f;
        int r = (int)rintf(x) + (int)x * 3 + (int)ceilf(x) * 5 + (int)floorf(x) * 7;
        float cut = 0, up = 0;
        r += (int)(unsigned char)(x + 40) + (int)(short)(x * 100) + (int)(long long)(x * 1e6f) + (int)(unsigned)rintf(x + 9);
        r += (int)(long long)floor((double)x * 7) + (int)(signed char)(int)x + 100000;
        double sum = (double)x + (double)0.3f, mul = (double)x * (double)0.3f;
        cut = (float)sum;
        if (fabs((double)cut) > fabs(sum))
            cut = nextafterf(cut, 0);
        up = (float)mul;
        if ((double)up < mul)
            up = nextafterf(up, INFINITY);
        int a, b;
        memcpy(&a, &cut, 4);
        memcpy(&b, &up, 4);
        r += a % 1000 + b % 1000 + (int)lrintf(x * 3) + (int)roundf(x);
        r += (int)truncf(x) + (int)ceilf(x) + (std::signbit(x) ? 1 : 0) + (int)copysignf(3.0f, x) + (x >= 1 ? 1 : 0);
        right &= c[i] == r;
    }
    check("conversions", right);
}

static void check_kernels()
{
    const int n = 64, rows = 5, wide = 300;
    std::vector<float> a(n * n), b(n * n), x(rows * wide), w = {0.1f, 0.2f, 0.4f, 0.2f, 0.1f};
    for (int i = 0; i < n * n; i++) {
        a[i] = (float)(i % 13) - 6;
        b[i] = (float)(i % 7) - 3;
    }
    for (int i = 0; i < rows * wide; i++)
        x[i] = (float)((i * 37) % 101) * 0.05f;
    buffer<float> da(a), db(b), dc(n * n), dx(x), dy(rows * wide), dz(rows * wide);
    bool right = true;
    product<<<dim3(4, 4), dim3(16, 4)>>>(da.device, db.device, dc.device, n);
    std::vector<float> c = dc.host();
    for (int i = 0; i < n * n; i++) {
        float sum = 0;
        for (int k = 0; k < n; k++)
            sum += a[i / n * n + k] * b[k * n + i % n];
        right &= c[i] == sum;
    }
    check("product", right);
    softmax<<<rows, 64>>>(dx.device, dy.device, wide);
    std::vector<float> y = dy.host();
    right = true;
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int i = 0; i < wide; i++)
            sum += exp((double)x[r * wide + i] - 5);
        for (int i = 0; i < wide; i++)
            right &= near(y[r * wide + i], exp((double)x[r * wide + i] - 5) / sum, 1e-4);
    }
    check("softmax", right);
    OK(cudaMemcpyToSymbol(weights, w.data(), sizeof weights));
    stencil<<<(rows * wide + 127) / 128, 128, 132 * sizeof(float)>>>(dx.device, dz.device, rows * wide);
    std::vector<float> z = dz.host();
    right = true;
    for (int i = 0; i < rows * wide; i++) {
        float v = 0;
        for (int k = -2; k <= 2; k++)
            v += w[k + 2] * (i + k >= 0 && i + k < rows * wide ? x[i + k] : 0);
        right &= near(z[i], v, 1e-5);
    }
    check("stencil", right);
}

static void check_complex()
{
    std::vector<cuFloatComplex> in(64);
    for (int i = 0; i < 64; i++)
        in[i] = make_cuFloatComplex(0.01f * (float)i - 0.5f, 0.3f - 0.005f * (float)i);
    buffer<cuFloatComplex> din(in), out(64);
    buffer<cuDoubleComplex> d(64);
    complexes<<<1, 64>>>(din.device, out.device, d.device);
    std::vector<cuFloatComplex> got = out.host();
    std::vector<cuDoubleComplex> more = d.host();
    bool right = true;
    for (int i = 0; i < 64; i++) {
        double re = 0, im = 0, x = in[i].x, y = in[i].y;
        for (int k = 0; k < 5; k++) {
            double t = re * re - im * im + x;
            im = 2 * re * im + y;
            re = t;
        }
        right &= near(got[i].x, (3 * re + 4 * im) / 25, 1e-4) && near(got[i].y, (3 * im - 4 * re) / 25, 1e-4);
        right &= near(more[i].x, hypot(x, y), 1e-5) && near(more[i].y, re, 1e-4);
    }
    check("complex", right);
}

int main()
{
    check_functions();
    check_kernels();
    check_complex();
    OK(cudaDeviceSynchronize());
    return failed;
}
