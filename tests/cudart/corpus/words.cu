/* SPDX-License-Identifier: MIT
 * words.cu: what users write with integers and small types: packed halves, bytes, bit tricks, vector types, switches,
 * templates, lambdas, unions, 64-bit and 128-bit integers, asserts, printf. Prints "NAME ok" lines. */
#include "../programs/program.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void halves(const __half2 *a, const __half2 *b, __half2 *c, float *f)
{
    int i = (int)threadIdx.x;
    __half2 x = __hfma2(a[i], b[i], __float2half2_rn(0.5f));
    x = __hadd2(x, __hmul2(a[i], __hneg2(b[i])));
    x = __hmax2(x, __hmin2(a[i], b[i]));
    c[i] = __hgt2(x, a[i]);
    f[i] = __low2float(x) + __high2float(x) + __half2float(__hdiv(__low2half(a[i]), __float2half(4.0f)));
}

__global__ void bfloats(const __nv_bfloat16 *a, __nv_bfloat16 *b, float *f)
{
    int i = (int)threadIdx.x;
#if __CUDA_ARCH__ >= 800
    __nv_bfloat162 p = __halves2bfloat162(a[i], a[(i + 1) % 64]);
    __nv_bfloat162 q = __hfma2(p, p, __float2bfloat162_rn(1.0f));
    b[i] = __hadd(__low2bfloat16(q), __high2bfloat16(q));
    f[i] = __bfloat162float(__hmax(a[i], __float2bfloat16(2.0f)));
#else
    float x = __bfloat162float(a[i]), y = __bfloat162float(a[(i + 1) % 64]);
    b[i] = __float2bfloat16(x * x + 1 + y * y + 1);
    f[i] = fmaxf(x, 2.0f);
#endif
}

__global__ void bits(const uint32_t *in, uint32_t *out)
{
    uint32_t v = in[threadIdx.x], r = 0;
    r += (uint32_t)__popc(v) + (uint32_t)__clz((int)v) * 3 + (uint32_t)__ffs((int)v) * 5;
    r ^= __brev(v) ^ __byte_perm(v, r, 0x3276) ^ __funnelshift_l(v, r, 7) ^ __funnelshift_r(r, v, v & 63);
    r += __usad(v, r, 9) + __umulhi(v, 0x9e3779b9u) + (uint32_t)__mulhi((int)v, -77) + __uhadd(v, r);
    r ^= __vadd4(v, r) ^ __vabsdiffu4(v, r) ^ __vmaxs2(v, r) ^ __vcmpgtu4(v, r) ^ __vsubus4(v, r);
    r += (uint32_t)__dp4a((int)v, (int)r, 3) + (uint32_t)__rhadd((int)v, (int)r);
    out[threadIdx.x] = r;
}
static uint32_t bytewise(uint32_t a, uint32_t b, int how)
{
    uint32_t r = 0;
    for (int k = 0; k < 32; k += 8) {
        int x = (int)(a >> k & 255), y = (int)(b >> k & 255), v = 0;
        v = how == 0 ? x + y : how == 1 ? abs(x - y) : how == 2 ? (x > y ? 255 : 0) : x > y ? x - y : 0;
        r |= (uint32_t)(v & 255) << k;
    }
    return r;
}
static uint32_t host_bits(uint32_t v)
{
    uint32_t r = 0, t = 0;
    r += (uint32_t)__builtin_popcount(v) + (v ? (uint32_t)__builtin_clz(v) : 32) * 3 + (uint32_t)__builtin_ffs((int)v) * 5;
    for (int k = 0; k < 32; k++)
        t |= (v >> k & 1) << (31 - k);
    uint64_t both = (uint64_t)r << 32 | v;
    uint32_t permuted = 0;
    for (int k = 0; k < 4; k++)
        permuted |= (uint32_t)(both >> (8 * (0x3276 >> (4 * k) & 7)) & 255) << (8 * k);
    uint32_t left = (uint32_t)((((uint64_t)r << 32 | v) << 7) >> 32), right = (uint32_t)(((uint64_t)v << 32 | r) >> (v & 31));
    r ^= t ^ permuted ^ left ^ right;
    r += (v > r ? v - r : r - v) + 9 + (uint32_t)(((uint64_t)v * 0x9e3779b9u) >> 32) +
         (uint32_t)(((int64_t)(int32_t)v * -77) >> 32) + (uint32_t)(((uint64_t)v + r) >> 1);
    uint32_t high = (int16_t)(v >> 16) > (int16_t)(r >> 16) ? v : r, low = (int16_t)v > (int16_t)r ? v : r;
    r ^= bytewise(v, r, 0) ^ bytewise(v, r, 1) ^ ((high & 0xffff0000u) | (low & 0xffffu)) ^ bytewise(v, r, 2) ^ bytewise(v, r, 3);
    int dot = 3;
    for (int k = 0; k < 32; k += 8)
        dot += (int8_t)(v >> k) * (int8_t)(r >> k);
    r += (uint32_t)dot + (uint32_t)(((int64_t)(int32_t)v + (int32_t)r + 1) >> 1);
    return r;
}

struct alignas(16) record {
    uchar4 c;
    short2 s;
    float f;
    int8_t small;
};
__global__ void vectors(const record *in, double4_16a *out, const int3 *threes, longlong2 *wide, const char3 *chars)
{
    int i = (int)threadIdx.x;
    record r = in[i];
    int3 t = threes[i];
    char3 c = chars[i];
    out[i] = make_double4_16a(r.c.x + r.c.w, r.s.x * r.s.y, r.f, r.small);
    wide[i] = make_longlong2((long long)t.x * t.y - t.z, (long long)c.x + c.y + c.z + __ldg(&threes[i].z));
}

template <int N> __device__ int choose(int v)
{
    switch (v % 9) {
    case 0:
        return v + N;
    case 1:
        return v * 2;
    case 2:
        return v ^ N;
    case 3:
        return -v;
    case 4:
        return v << (N & 7);
    case 5:
    case 6:
        return v >> 1;
    case 7:
        return N;
    default:
        return v * v;
    }
}
static int host_choose(int v, int n)
{
    switch (v % 9) {
    case 0:
        return v + n;
    case 1:
        return v * 2;
    case 2:
        return v ^ n;
    case 3:
        return -v;
    case 4:
        return v << (n & 7);
    case 5:
    case 6:
        return v >> 1;
    case 7:
        return n;
    default:
        return v * v;
    }
}
__global__ void switches(int *out)
{
    int i = (int)threadIdx.x;
    assert(i < 64);
    out[i] = choose<5>(i) + choose<12>(i * 3) * 2;
    if (i == 63)
        printf("last of %u: %s %d %c %.2f\n", blockDim.x, "words", -5, 'x', 1.25);
}

template <class F> __global__ void apply(int *out, int n, F f)
{
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += (int)(gridDim.x * blockDim.x))
        out[i] = f(i, out[i]);
}

__global__ void long_integers(const uint64_t *a, uint64_t *out)
{
    uint64_t x = a[threadIdx.x], y = a[(threadIdx.x + 7) % 64] | 1;
    unsigned __int128 p = (unsigned __int128)x * y + 12345;
    int64_t s = (int64_t)x >> (y & 63);
    uint64_t r = (uint64_t)(p % 1000000007u) + x / y + x % y + (uint64_t)((int64_t)x / -(int64_t)(y >> 1 | 1));
    out[threadIdx.x] = r ^ (uint64_t)s ^ __umul64hi(x, y) ^ (uint64_t)__clzll((long long)x) ^ __brevll(y) ^ (uint64_t)__popcll(x);
}
static uint64_t host_long(uint64_t x, uint64_t y)
{
    unsigned __int128 p = (unsigned __int128)x * y + 12345;
    int64_t s = (int64_t)x >> (y & 63);
    uint64_t r = (uint64_t)(p % 1000000007u) + x / y + x % y + (uint64_t)((int64_t)x / -(int64_t)(y >> 1 | 1)), turned = 0;
    for (int k = 0; k < 64; k++)
        turned |= (y >> k & 1) << (63 - k);
    return r ^ (uint64_t)s ^ (uint64_t)(((unsigned __int128)x * y) >> 64) ^ (x ? (uint64_t)__builtin_clzll(x) : 64) ^ turned ^
           (uint64_t)__builtin_popcountll(x);
}

static void check_small()
{
    std::vector<__half2> a(64), b(64);
    std::vector<__nv_bfloat16> s(64);
    for (int i = 0; i < 64; i++) {
        a[i] = __floats2half2_rn((float)(i % 7) - 3, (float)(i % 5));
        b[i] = __floats2half2_rn((float)(i % 3), (float)(i % 4) - 1);
        s[i] = __float2bfloat16((float)(i % 9) - 2);
    }
    buffer<__half2> da(a), db(b), dc(64);
    buffer<__nv_bfloat16> ds(s), dt(64);
    buffer<float> f(64);
    bool right = true;
    halves<<<1, 64>>>(da.device, db.device, dc.device, f.device);
    std::vector<float> got = f.host();
    std::vector<__half2> mask = dc.host();
    for (int i = 0; i < 64; i++) {
        float sum = 0, p[2] = {(float)(i % 7) - 3, (float)(i % 5)}, q[2] = {(float)(i % 3), (float)(i % 4) - 1};
        for (int k = 0; k < 2; k++) {
            float x = std::max(0.5f, std::min(p[k], q[k]));
            sum += x;
            right &= __half2float(k ? __high2half(mask[i]) : __low2half(mask[i])) == (x > p[k] ? 1.0f : 0.0f);
        }
        right &= got[i] == sum + p[0] / 4;
    }
    check("halves", right);
    bfloats<<<1, 64>>>(ds.device, dt.device, f.device);
    got = f.host();
    std::vector<__nv_bfloat16> t = dt.host();
    right = true;
    for (int i = 0; i < 64; i++) {
        float x = (float)(i % 9) - 2, y = (float)((i + 1) % 64 % 9) - 2;
        right &= __bfloat162float(t[i]) == x * x + 1 + y * y + 1 && got[i] == std::max(x, 2.0f);
    }
    check("bfloats", right);
}

static void check_integers()
{
    std::vector<uint32_t> in(64);
    std::vector<uint64_t> wide(64);
    for (int i = 0; i < 64; i++) {
        in[i] = (uint32_t)i * 2654435761u ^ (i % 3 ? 0 : 0xffff0000u);
        wide[i] = ((uint64_t)in[i] << 32 | (uint32_t)(in[i] * 40503u)) >> (i % 5 * 7);
    }
    in[5] = 0;
    buffer<uint32_t> din(in), dout(64);
    buffer<uint64_t> dw(wide), dx(64);
    bool right = true;
    bits<<<1, 64>>>(din.device, dout.device);
    std::vector<uint32_t> got = dout.host();
    for (int i = 0; i < 64; i++)
        right &= got[i] == host_bits(in[i]);
    check("bits", right);
    long_integers<<<1, 64>>>(dw.device, dx.device);
    std::vector<uint64_t> longs = dx.host();
    right = true;
    for (int i = 0; i < 64; i++)
        right &= longs[i] == host_long(wide[i], wide[(i + 7) % 64] | 1);
    check("long integers", right);
}

static void check_rest()
{
    std::vector<record> r(64);
    std::vector<int3> t(64);
    std::vector<char3> c(64);
    for (int i = 0; i < 64; i++) {
        r[i].c = make_uchar4((unsigned char)(i * 5), 0, 0, (unsigned char)(250 - i));
        r[i].s = make_short2((short)(i * -300), (short)i);
        r[i].f = 0.25f * (float)i;
        r[i].small = (int8_t)(-i);
        t[i] = make_int3(i * 1000003, -i, 7 * i);
        c[i] = make_char3((signed char)-i, (signed char)(2 * i), (signed char)5);
    }
    buffer<record> dr(r);
    buffer<int3> dt(t);
    buffer<char3> dc(c);
    buffer<double4_16a> dd(64);
    buffer<longlong2> dl(64);
    buffer<int> out(100);
    bool right = true;
    vectors<<<1, 64>>>(dr.device, dd.device, dt.device, dl.device, dc.device);
    std::vector<double4_16a> d = dd.host();
    std::vector<longlong2> l = dl.host();
    for (int i = 0; i < 64; i++)
        right &= d[i].x == r[i].c.x + r[i].c.w && d[i].y == r[i].s.x * r[i].s.y && d[i].z == 0.25 * i && d[i].w == -i &&
                 l[i].x == (long long)t[i].x * t[i].y - t[i].z && l[i].y == c[i].x + c[i].y + c[i].z + t[i].z;
    check("vectors", right);
    switches<<<1, 64>>>(out.device);
    std::vector<int> got = out.host();
    right = true;
    for (int i = 0; i < 64; i++)
        right &= got[i] == host_choose(i, 5) + host_choose(i * 3, 12) * 2;
    check("switches", right);
    int factor = 3;
    apply<<<2, 32>>>(out.device, 100, [] __device__(int i, int) { return i; });
    apply<<<3, 32>>>(out.device, 100, [factor] __device__(int i, int old) { return old * factor + i; });
    got = out.host();
    right = true;
    for (int i = 0; i < 100; i++)
        right &= got[i] == 4 * i;
    check("lambdas", right);
}

int main()
{
    check_small();
    check_integers();
    check_rest();
    OK(cudaDeviceSynchronize());
    return failed;
}
