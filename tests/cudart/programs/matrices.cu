/* SPDX-License-Identifier: MIT
 * matrices.cu: products of matrices in the tensor cores: wmma of every type and shape, mma.sync by its fragment layouts,
 * ldmatrix, stmatrix, movmatrix. Small integers, so that every order of sums gives the host's answer. Prints "NAME ok". */
#include "program.h"

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <type_traits>

using namespace nvcuda;

static int small(unsigned i)
{
    return (int)(i * 2654435761u >> 28) - 7;
}

template <class T> __host__ __device__ T from_int(int v)
{
    return T((float)v);
}
template <> __host__ __device__ double from_int<double>(int v)
{
    return v;
}
template <> __host__ __device__ signed char from_int<signed char>(int v)
{
    return (signed char)v;
}
template <> __host__ __device__ unsigned char from_int<unsigned char>(int v)
{
    return (unsigned char)(v + 7);
}
template <> __host__ __device__ int from_int<int>(int v)
{
    return v;
}

template <class T> double to_double(T v)
{
    return (double)(float)v;
}
template <> double to_double<int>(int v)
{
    return v;
}
template <> double to_double<double>(double v)
{
    return v;
}

/* c = 2 * (a * b + c), with strides that are no multiple of the tile, through global or shared memory */
template <class T, class F, class A, int M, int N, int K, class LA, class LB, bool Shared>
__global__ void product(const T *a, const T *b, A *c, int sa, int sb, int sc, wmma::layout_t lc)
{
    __shared__ alignas(32) T s[K * 40];
    wmma::fragment<wmma::matrix_a, M, N, K, F, LA> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, F, LB> fb;
    wmma::fragment<wmma::accumulator, M, N, K, A> fc;
    if (Shared) {
        for (int i = (int)threadIdx.x; i < K * 40; i += 32)
            s[i] = b[i];
        __syncwarp();
    }
    wmma::load_matrix_sync(fc, c, sc, lc);
    wmma::load_matrix_sync(fa, a, sa);
    wmma::load_matrix_sync(fb, Shared ? s : b, sb);
    wmma::mma_sync(fc, fa, fb, fc);
    for (int i = 0; i < fc.num_elements; i++)
        fc.x[i] = fc.x[i] * from_int<A>(2);
    wmma::store_matrix_sync(c, fc, sc, lc);
}

template <class T, class F, class A, int M, int N, int K, class LA, class LB, bool Shared = false>
static void check_wmma(const char *name)
{
    const int stride = 40;
    bool a_col = std::is_same<LA, wmma::col_major>::value, b_col = std::is_same<LB, wmma::col_major>::value;
    bool right = true;
    std::vector<T> a(stride * 40), b(stride * 40);
    std::vector<A> c(stride * 40);
    for (int i = 0; i < stride * 40; i++) {
        a[i] = from_int<T>(small(i));
        b[i] = from_int<T>(small(i + 10000) / 2);
        c[i] = from_int<A>(small(i + 777));
    }
    buffer<T> da(a), db(b);
    buffer<A> dc(c);
    product<T, F, A, M, N, K, LA, LB, Shared><<<1, 32>>>(da.device, db.device, dc.device, stride, stride, stride,
                                                         M == 32 ? wmma::mem_col_major : wmma::mem_row_major);
    std::vector<A> got = dc.host();
    for (int r = 0; r < M; r++)
        for (int n = 0; n < N; n++) {
            int at = M == 32 ? n * stride + r : r * stride + n;
            double sum = to_double(c[at]);
            for (int k = 0; k < K; k++)
                sum += to_double(a[a_col ? k * stride + r : r * stride + k]) *
                       to_double(b[b_col ? n * stride + k : k * stride + n]);
            right &= to_double(got[at]) == 2 * sum;
        }
    check(name, right);
}

/* --- mma.sync: A by rows, B by columns, 16 by 8 by K, one warp; what each lane holds is the PTX ISA's --- */

__device__ static int group()
{
    return (int)threadIdx.x / 4;
}
__device__ static int four()
{
    return (int)threadIdx.x % 4;
}

__global__ void mma_f16(const __half *a, const __half *b, float *c)
{
    uint32_t ra[4], rb[2];
    float d[4];
    int g = group(), t = four();
    for (int i = 0; i < 4; i++)
        ra[i] = *(const uint32_t *)&a[(g + 8 * (i & 1)) * 16 + 2 * t + 8 * (i >> 1)];
    for (int i = 0; i < 2; i++)
        rb[i] = *(const uint32_t *)&b[g * 16 + 2 * t + 8 * i];
    for (int i = 0; i < 4; i++)
        d[i] = c[(g + 8 * (i >> 1)) * 8 + 2 * t + (i & 1)];
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    for (int i = 0; i < 4; i++)
        c[(g + 8 * (i >> 1)) * 8 + 2 * t + (i & 1)] = d[i];
}

/* The same through ldmatrix (x4, and x2 of the rows of B), and out through stmatrix as halves. */
__global__ void mma_ldmatrix(const __half *a, const __half *b, __half *c)
{
    __shared__ alignas(16) __half sa[16][24], sb[8][24], sc[16][8];
    uint32_t ra[4], rb[2], d[2] = {0, 0}, turned;
    int lane = (int)threadIdx.x;
    for (int i = lane; i < 256; i += 32)
        sa[i / 16][i % 16] = a[i];
    for (int i = lane; i < 128; i += 32)
        sb[i / 16][i % 16] = b[i];
    __syncwarp();
    uint32_t pa = (uint32_t)__cvta_generic_to_shared(&sa[lane % 16][lane / 16 * 8]);
    uint32_t pb = (uint32_t)__cvta_generic_to_shared(&sb[lane % 8][lane / 8 % 2 * 8]);
    uint32_t pc = (uint32_t)__cvta_generic_to_shared(&sc[lane % 16][0]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3])
                 : "r"(pa));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(rb[0]), "=r"(rb[1]) : "r"(pb));
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(turned) : "r"(rb[0]));
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(rb[0]) : "r"(turned));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
#if __CUDA_ARCH__ >= 900
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};" ::"r"(pc), "r"(d[0]), "r"(d[1]));
#else
    (void)pc;
    for (int i = 0; i < 2; i++)
        *(uint32_t *)&sc[lane / 4 + 8 * i][lane % 4 * 2] = d[i];
#endif
    __syncwarp();
    for (int i = lane; i < 128; i += 32)
        c[i] = sc[i / 8][i % 8];
}

__global__ void mma_tf32(const float *a, const float *b, float *c)
{
    uint32_t ra[4], rb[2];
    float d[4] = {0, 0, 0, 0};
    int g = group(), t = four();
    for (int i = 0; i < 4; i++)
        ra[i] = __float_as_uint(a[(g + 8 * (i & 1)) * 8 + t + 4 * (i >> 1)]);
    for (int i = 0; i < 2; i++)
        rb[i] = __float_as_uint(b[g * 8 + t + 4 * i]);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    for (int i = 0; i < 4; i++)
        c[(g + 8 * (i >> 1)) * 8 + 2 * t + (i & 1)] = d[i];
}

__global__ void mma_s8(const signed char *a, const signed char *b, int *c)
{
    uint32_t ra[4], rb[2];
    int d[4] = {0, 0, 0, 0};
    int g = group(), t = four();
    for (int i = 0; i < 4; i++)
        ra[i] = *(const uint32_t *)&a[(g + 8 * (i & 1)) * 32 + 4 * t + 16 * (i >> 1)];
    for (int i = 0; i < 2; i++)
        rb[i] = *(const uint32_t *)&b[g * 32 + 4 * t + 16 * i];
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    for (int i = 0; i < 4; i++)
        c[(g + 8 * (i >> 1)) * 8 + 2 * t + (i & 1)] = d[i];
}

/* Signed nibbles, and single bits: the operands are words as they are; the host unpacks them. */
__global__ void mma_packed(const uint32_t *a, const uint32_t *b, int *s4, int *b1)
{
    uint32_t ra[4], rb[2];
    int d[4] = {0, 0, 0, 0}, e[4] = {0, 0, 0, 0};
    int g = group(), t = four();
    for (int i = 0; i < 4; i++)
        ra[i] = a[(g + 8 * (i & 1)) * 8 + t + 4 * (i >> 1)];
    for (int i = 0; i < 2; i++)
        rb[i] = b[g * 8 + t + 4 * i];
    asm volatile("mma.sync.aligned.m16n8k64.row.col.satfinite.s32.s4.u4.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(e[0]), "+r"(e[1]), "+r"(e[2]), "+r"(e[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    for (int i = 0; i < 4; i++) {
        s4[(g + 8 * (i >> 1)) * 8 + 2 * t + (i & 1)] = d[i];
        b1[(g + 8 * (i >> 1)) * 8 + 2 * t + (i & 1)] = e[i];
    }
}

__global__ void mma_f64(const double *a, const double *b, double *c)
{
    double d[2] = {0, 0};
    int g = group(), t = four();
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(d[0]), "+d"(d[1])
                 : "d"(a[g * 4 + t]), "d"(b[g * 4 + t]));
    c[g * 8 + 2 * t] = d[0];
    c[g * 8 + 2 * t + 1] = d[1];
}

template <class T> static std::vector<T> numbers(int n, int seed)
{
    std::vector<T> v(n);
    for (int i = 0; i < n; i++)
        v[i] = from_int<T>(small(i + seed));
    return v;
}

/* rows by 8 by depth; both factors by their rows of `depth` */
template <class T, class A> static bool is_product(const std::vector<T> &a, const std::vector<T> &b, const std::vector<A> &c, int rows, int depth, double add)
{
    for (int r = 0; r < rows; r++)
        for (int n = 0; n < 8; n++) {
            double sum = add;
            for (int k = 0; k < depth; k++)
                sum += to_double(a[r * depth + k]) * to_double(b[n * depth + k]);
            if (to_double(c[r * 8 + n]) != sum)
                return false;
        }
    return true;
}

static void check_halves()
{
    std::vector<__half> a = numbers<__half>(256, 1), b = numbers<__half>(128, 999);
    buffer<__half> da(a), db(b), dh(128);
    buffer<float> dc(std::vector<float>(128, 3.0f));
    mma_f16<<<1, 32>>>(da.device, db.device, dc.device);
    check("mma f16", is_product(a, b, dc.host(), 16, 16, 3));
    mma_ldmatrix<<<1, 32>>>(da.device, db.device, dh.device);
    check("ldmatrix mma stmatrix", is_product(a, b, dh.host(), 16, 16, 0));
}

static void check_others()
{
    std::vector<float> fa = numbers<float>(128, 5), fb = numbers<float>(64, 55);
    std::vector<signed char> ca = numbers<signed char>(512, 6), cb = numbers<signed char>(256, 66);
    std::vector<double> da = numbers<double>(32, 7), db = numbers<double>(32, 77);
    buffer<float> dfa(fa), dfb(fb), dfc(128);
    buffer<signed char> dca(ca), dcb(cb);
    buffer<double> dda(da), ddb(db), ddc(64);
    buffer<int> dci(128), dci2(128);
    mma_tf32<<<1, 32>>>(dfa.device, dfb.device, dfc.device);
    check("mma tf32", is_product(fa, fb, dfc.host(), 16, 8, 0));
    mma_s8<<<1, 32>>>(dca.device, dcb.device, dci.device);
    check("mma s8", is_product(ca, cb, dci.host(), 16, 32, 0));
    mma_f64<<<1, 32>>>(dda.device, ddb.device, ddc.device);
    check("mma f64", is_product(da, db, ddc.host(), 8, 4, 0));
    std::vector<uint32_t> wa(128), wb(64);
    for (int i = 0; i < 128; i++)
        wa[i] = (uint32_t)i * 2654435761u + 17;
    for (int i = 0; i < 64; i++)
        wb[i] = (uint32_t)i * 2246822519u + 5;
    buffer<uint32_t> dwa(wa), dwb(wb);
    mma_packed<<<1, 32>>>(dwa.device, dwb.device, dci.device, dci2.device);
    std::vector<int> s4 = dci.host(), b1 = dci2.host();
    bool right4 = true, right1 = true;
    for (int r = 0; r < 16; r++)
        for (int n = 0; n < 8; n++) {
            int sum = 0, bits = 0;
            for (int w = 0; w < 8; w++) {
                uint32_t x = wa[r * 8 + w], y = wb[n * 8 + w];
                bits += __builtin_popcount(x ^ y);
                for (int k = 0; k < 8; k++)
                    sum += ((int)(x << (28 - 4 * k)) >> 28) * (int)(y >> (4 * k) & 15);
            }
            right4 &= s4[r * 8 + n] == sum;
            right1 &= b1[r * 8 + n] == bits;
        }
    check("mma s4", right4);
    check("mma b1", right1);
}

int main()
{
    using wmma::col_major;
    using wmma::row_major;
    check_wmma<__half, __half, float, 16, 16, 16, row_major, col_major>("wmma f16 f32");
    check_wmma<__half, __half, float, 16, 16, 16, col_major, row_major, true>("wmma f16 shared");
    check_wmma<__half, __half, __half, 32, 8, 16, row_major, row_major>("wmma f16 32x8");
    check_wmma<__half, __half, __half, 8, 32, 16, col_major, col_major>("wmma f16 8x32");
    check_wmma<__nv_bfloat16, __nv_bfloat16, float, 8, 32, 16, row_major, col_major>("wmma bf16 8x32");
    check_wmma<__nv_bfloat16, __nv_bfloat16, float, 16, 16, 16, row_major, row_major, true>("wmma bf16");
    check_wmma<signed char, signed char, int, 16, 16, 16, row_major, col_major>("wmma s8");
    check_wmma<unsigned char, unsigned char, int, 32, 8, 16, col_major, row_major>("wmma u8 32x8");
    check_wmma<double, double, double, 8, 8, 4, row_major, col_major>("wmma f64");
    check_wmma<float, wmma::precision::tf32, float, 16, 16, 8, row_major, row_major>("wmma tf32");
    check_halves();
    check_others();
    OK(cudaDeviceSynchronize());
    return failed;
}
