/* SPDX-License-Identifier: MIT
 * mma.cu: tensor-core roofs by mma.sync, which every GPU from cc 8.0 on has: FP16, BF16, TF32, FP64, FP8,
 * INT8. On cc 9.0 it reaches about two thirds of the roof; wgmma.cu has the rest. GPUs newer than that keep
 * their fastest path to themselves (tcgen05): for them this is a lower bound, and the method says mma.sync.
 * A warp holds its operands in registers and feeds SUMS independent sums: nothing else is touched. */
#include "ceilings.h"

enum { SUMS = 8, MMA_THREADS = 256, CHECK_ROUNDS = 4, FULL_ROUNDS = 4096 };

#ifdef __CUDA_ARCH__
#define ARCH __CUDA_ARCH__
#else
#define ARCH 0
#endif

/* A 32-bit register of operand: ones for the check; else numbers of both signs that are not all alike, because
 * power, and so the clock, depends on how many bits flip. keep: sign and mantissa bits; set: the exponent. */
__device__ inline unsigned operand(unsigned one, unsigned keep, unsigned set, unsigned seed, bool check)
{
    const unsigned r = (seed + 1) * 2654435761u;
    return check ? one : (((r ^ r >> 13) & keep) | set);
}

/* Each type: its operand patterns, its sums (N registers of type sum), products per sum K, and the instruction. */
struct mma_fp16_acc32 {
    typedef float sum;
    enum { N = 4, K = 16, FIRST_ARCH = 800 };
    static const unsigned one = 0x3c003c00u, keep = 0x83ff83ffu, set = 0x38003800u;
    static __device__ void multiply(sum *d, const unsigned *a, const unsigned *b)
    {
#if ARCH >= 800
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
    }
    static __device__ bool is_right(sum d, int rounds)
    {
        return d == (float)(K * rounds);
    }
};

struct mma_bf16_acc32 {
    typedef float sum;
    enum { N = 4, K = 16, FIRST_ARCH = 800 };
    static const unsigned one = 0x3f803f80u, keep = 0x807f807fu, set = 0x3f003f00u;
    static __device__ void multiply(sum *d, const unsigned *a, const unsigned *b)
    {
#if ARCH >= 800
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
    }
    static __device__ bool is_right(sum d, int rounds)
    {
        return d == (float)(K * rounds);
    }
};

struct mma_tf32_acc32 {
    typedef float sum;
    enum { N = 4, K = 8, FIRST_ARCH = 800 };
    static const unsigned one = 0x3f800000u, keep = 0x807fe000u, set = 0x3f000000u;
    static __device__ void multiply(sum *d, const unsigned *a, const unsigned *b)
    {
#if ARCH >= 800
        asm volatile(
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
    }
    static __device__ bool is_right(sum d, int rounds)
    {
        return d == (float)(K * rounds);
    }
};

struct mma_fp8_acc32 {
    typedef float sum;
    enum { N = 4, K = 32, FIRST_ARCH = 890 };
    static const unsigned one = 0x38383838u, keep = 0x87878787u, set = 0x30303030u;
    static __device__ void multiply(sum *d, const unsigned *a, const unsigned *b)
    {
#if ARCH >= 890
        asm volatile(
            "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
    }
    static __device__ bool is_right(sum d, int rounds)
    {
        return d == (float)(K * rounds);
    }
};

/* Sums in FP16: two a register. */
struct mma_fp16_acc16 {
    typedef unsigned sum;
    enum { N = 2, K = 16, FIRST_ARCH = 800 };
    static const unsigned one = 0x3c003c00u, keep = 0x83ff83ffu, set = 0x38003800u;
    static __device__ void multiply(sum *d, const unsigned *a, const unsigned *b)
    {
#if ARCH >= 800
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                     : "+r"(d[0]), "+r"(d[1])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
    }
    static __device__ bool is_right(sum d, int rounds)
    {
        return rounds == CHECK_ROUNDS && d == 0x54005400u; /* 64 = 16 x 4, twice */
    }
};

struct mma_int8_acc32 {
    typedef int sum;
    enum { N = 4, K = 32, FIRST_ARCH = 800 };
    static const unsigned one = 0x01010101u, keep = 0xffffffffu, set = 0;
    static __device__ void multiply(sum *d, const unsigned *a, const unsigned *b)
    {
#if ARCH >= 800
        asm volatile(
            "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
    }
    static __device__ bool is_right(sum d, int rounds)
    {
        return d == K * rounds;
    }
};

template <class T>
__global__ void __launch_bounds__(MMA_THREADS) ceiling_mma(int rounds, bool check, unsigned *out, ceiling_mark *mark)
{
#if ARCH >= 800
    if (ARCH >= T::FIRST_ARCH) {
        const ceiling_clock clock = ceiling_start();
        typename T::sum d[SUMS][T::N];
        unsigned a[4], b[2];
        bool right = true;
        for (unsigned i = 0; i < 4; i++)
            a[i] = operand(T::one, T::keep, T::set, threadIdx.x * 4 + i, check);
        for (unsigned i = 0; i < 2; i++)
            b[i] = operand(T::one, T::keep, T::set, threadIdx.x * 2 + i + 4096, check);
#pragma unroll
        for (int s = 0; s < SUMS; s++)
#pragma unroll
            for (int n = 0; n < T::N; n++)
                d[s][n] = 0;
        for (int round = 0; round < rounds; round++)
#pragma unroll
            for (int s = 0; s < SUMS; s++)
                T::multiply(d[s], a, b);
#pragma unroll
        for (int s = 0; s < SUMS; s++)
#pragma unroll
            for (int n = 0; n < T::N; n++)
                right = right && T::is_right(d[s][n], rounds);
        if (check && !right)
            atomicAdd(&mark->wrong, 1u);
        if (!check && right) /* never: it keeps the sums alive */
            out[0] = 1;
        clock.stop(mark);
    }
#endif
}

/* FP64 has shapes and registers of its own. cc 9.0 has a wider one. */
__global__ void __launch_bounds__(MMA_THREADS) ceiling_dmma(int rounds, bool check, unsigned *out, ceiling_mark *mark)
{
#if ARCH >= 800
    const ceiling_clock clock = ceiling_start();
    const double x = check ? 1.0 : 1.0 + threadIdx.x * 0.00390625, y = check ? 1.0 : -0.75 - threadIdx.x * 0.001;
    bool right = true;
#if ARCH >= 900
    double d[SUMS][4] = {};
    const double a[8] = {x, x, x, x, x, x, x, x}, b[4] = {y, y, y, y};
    for (int round = 0; round < rounds; round++)
#pragma unroll
        for (int s = 0; s < SUMS; s++)
            asm volatile(
                "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, "
                "{%12,%13,%14,%15}, {%0,%1,%2,%3};"
                : "+d"(d[s][0]), "+d"(d[s][1]), "+d"(d[s][2]), "+d"(d[s][3])
                : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]),
                  "d"(b[1]), "d"(b[2]), "d"(b[3]));
#pragma unroll
    for (int s = 0; s < SUMS; s++)
#pragma unroll
        for (int n = 0; n < 4; n++)
            right = right && d[s][n] == 16.0 * rounds;
#else
    double d[SUMS][2] = {};
    for (int round = 0; round < 8 * rounds; round++)
#pragma unroll
        for (int s = 0; s < SUMS; s++)
            asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                         : "+d"(d[s][0]), "+d"(d[s][1])
                         : "d"(x), "d"(y));
#pragma unroll
    for (int s = 0; s < SUMS; s++)
        right = right && d[s][0] == 32.0 * rounds && d[s][1] == 32.0 * rounds;
#endif
    if (check && !right)
        atomicAdd(&mark->wrong, 1u);
    if (!check && right)
        out[0] = 1;
    clock.stop(mark);
#endif
}

/* Warps of a launch x rounds x sums x operations of one m16n8kK product. */
static double operations(int blocks, int rounds, int k)
{
    return (double)blocks * (MMA_THREADS / 32) * rounds * SUMS * 16 * 8 * k * 2;
}

template <class T> static double launch_mma(const ceiling_context &c, bool check)
{
    const int blocks = c.sms * 2, rounds = check ? CHECK_ROUNDS : FULL_ROUNDS;
    ceiling_mma<T><<<blocks, MMA_THREADS>>>(rounds, check, (unsigned *)c.b, c.mark);
    return operations(blocks, rounds, T::K);
}

static double launch_dmma(const ceiling_context &c, bool check)
{
    const int blocks = c.sms * 2, rounds = check ? CHECK_ROUNDS : FULL_ROUNDS / 8;
    ceiling_dmma<<<blocks, MMA_THREADS>>>(rounds, check, (unsigned *)c.b, c.mark);
    return operations(blocks, rounds, 16); /* m8n8k4 eight times a round is the same work */
}

WS_CEILING(fp64, "tensor_fp64", "FLOP/s", "mma.sync", launch_dmma);
WS_CEILING(tf32, "tensor_tf32", "FLOP/s", "mma.sync", launch_mma<mma_tf32_acc32>);
WS_CEILING(fp16, "tensor_fp16", "FLOP/s", "mma.sync", launch_mma<mma_fp16_acc32>);
WS_CEILING(fp16_acc, "tensor_fp16_acc16", "FLOP/s", "mma.sync", launch_mma<mma_fp16_acc16>);
WS_CEILING(bf16, "tensor_bf16", "FLOP/s", "mma.sync", launch_mma<mma_bf16_acc32>);
WS_CEILING(fp8, "tensor_fp8", "FLOP/s", "mma.sync", launch_mma<mma_fp8_acc32>);
WS_CEILING(int8, "tensor_int8", "op/s", "mma.sync", launch_mma<mma_int8_acc32>);
