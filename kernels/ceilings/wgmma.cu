/* SPDX-License-Identifier: MIT
 * wgmma.cu: tensor-core roofs of cc 9.0 by wgmma, the only way to them: two warp groups an SM, operands in
 * shared memory, m64n256. Built for sm_90a alone (the Makefile says so); elsewhere every probe reads "not on chip".
 * The operands are never reloaded: this is the roof of the tensor cores, not of a matrix product. */
#include "ceilings.h"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define HAS_WGMMA 1
#else
#define HAS_WGMMA 0
#endif

/* A tile is rows of 128 bytes, the span of the 128-byte swizzle; an instruction takes 32 bytes of each row whatever
 * the type (16 halves, 8 TF32, 32 bytes), so four make one pass over the tile. */
enum {
    GROUP_THREADS = 128,
    GROUPS = 2,
    THREADS = GROUPS * GROUP_THREADS,
    TILE_ROW = 128,
    A_BYTES = 64 * TILE_ROW,
    B_BYTES = 256 * TILE_ROW,
    STEPS = 4,
    BATCH = 4, /* passes in flight before a wait */
    CHECK_ROUNDS = 1,
    FULL_ROUNDS = 1024
};

#define D128                                                                       \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"                      \
    "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"             \
    "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"             \
    "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,"             \
    "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,"             \
    "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,"             \
    "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111," \
    "%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127}"
#define D64                                                            \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"          \
    "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31," \
    "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47," \
    "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}"
#define OUT128_F                                                                                                     \
    "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),      \
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),       \
        "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),      \
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),      \
        "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),      \
        "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),      \
        "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),      \
        "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]),      \
        "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]),      \
        "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]),      \
        "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]),      \
        "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]),      \
        "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), \
        "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),            \
        "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]),            \
        "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]),            \
        "+f"(d[126]), "+f"(d[127])
#define OUT128_R                                                                                                     \
    "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]), "+r"(d[8]),      \
        "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]), "+r"(d[16]),       \
        "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]), "+r"(d[24]),      \
        "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31]), "+r"(d[32]),      \
        "+r"(d[33]), "+r"(d[34]), "+r"(d[35]), "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39]), "+r"(d[40]),      \
        "+r"(d[41]), "+r"(d[42]), "+r"(d[43]), "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47]), "+r"(d[48]),      \
        "+r"(d[49]), "+r"(d[50]), "+r"(d[51]), "+r"(d[52]), "+r"(d[53]), "+r"(d[54]), "+r"(d[55]), "+r"(d[56]),      \
        "+r"(d[57]), "+r"(d[58]), "+r"(d[59]), "+r"(d[60]), "+r"(d[61]), "+r"(d[62]), "+r"(d[63]), "+r"(d[64]),      \
        "+r"(d[65]), "+r"(d[66]), "+r"(d[67]), "+r"(d[68]), "+r"(d[69]), "+r"(d[70]), "+r"(d[71]), "+r"(d[72]),      \
        "+r"(d[73]), "+r"(d[74]), "+r"(d[75]), "+r"(d[76]), "+r"(d[77]), "+r"(d[78]), "+r"(d[79]), "+r"(d[80]),      \
        "+r"(d[81]), "+r"(d[82]), "+r"(d[83]), "+r"(d[84]), "+r"(d[85]), "+r"(d[86]), "+r"(d[87]), "+r"(d[88]),      \
        "+r"(d[89]), "+r"(d[90]), "+r"(d[91]), "+r"(d[92]), "+r"(d[93]), "+r"(d[94]), "+r"(d[95]), "+r"(d[96]),      \
        "+r"(d[97]), "+r"(d[98]), "+r"(d[99]), "+r"(d[100]), "+r"(d[101]), "+r"(d[102]), "+r"(d[103]), "+r"(d[104]), \
        "+r"(d[105]), "+r"(d[106]), "+r"(d[107]), "+r"(d[108]), "+r"(d[109]), "+r"(d[110]), "+r"(d[111]),            \
        "+r"(d[112]), "+r"(d[113]), "+r"(d[114]), "+r"(d[115]), "+r"(d[116]), "+r"(d[117]), "+r"(d[118]),            \
        "+r"(d[119]), "+r"(d[120]), "+r"(d[121]), "+r"(d[122]), "+r"(d[123]), "+r"(d[124]), "+r"(d[125]),            \
        "+r"(d[126]), "+r"(d[127])
#define OUT64_R                                                                                                 \
    "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]), "+r"(d[8]), \
        "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]), "+r"(d[16]),  \
        "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]), "+r"(d[24]), \
        "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31]), "+r"(d[32]), \
        "+r"(d[33]), "+r"(d[34]), "+r"(d[35]), "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39]), "+r"(d[40]), \
        "+r"(d[41]), "+r"(d[42]), "+r"(d[43]), "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47]), "+r"(d[48]), \
        "+r"(d[49]), "+r"(d[50]), "+r"(d[51]), "+r"(d[52]), "+r"(d[53]), "+r"(d[54]), "+r"(d[55]), "+r"(d[56]), \
        "+r"(d[57]), "+r"(d[58]), "+r"(d[59]), "+r"(d[60]), "+r"(d[61]), "+r"(d[62]), "+r"(d[63])

/* The instruction with N sums; its two descriptors and the flag "add to the sums" follow them. */
#define WGMMA128(name, tail, out)                                                                     \
    asm volatile("{.reg .pred p; setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned." name " " D128 \
                 ", %128, %129, p" tail "; }"                                                         \
                 : out                                                                                \
                 : "l"(a), "l"(b), "r"(1))
#define WGMMA64(name, tail, out)                                                                    \
    asm volatile("{.reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned." name " " D64 \
                 ", %64, %65, p" tail "; }"                                                         \
                 : out                                                                              \
                 : "l"(a), "l"(b), "r"(1))

/* Each type: the patterns of its operands (as in mma.cu), its sums, products per sum K. */
struct wgmma_fp16_acc32 {
    typedef float sum;
    enum { N = 128, K = 16 };
    static const unsigned one = 0x3c003c00u, keep = 0x83ff83ffu, set = 0x38003800u;
#if HAS_WGMMA
    static __device__ __forceinline__ void multiply(sum (&d)[N], uint64_t a, uint64_t b)
    {
        WGMMA128("m64n256k16.f32.f16.f16", ", 1, 1, 0, 0", OUT128_F);
    }
#endif
    static __device__ bool is_right(sum d, int products)
    {
        return d == (float)(K * products);
    }
};
struct wgmma_bf16_acc32 {
    typedef float sum;
    enum { N = 128, K = 16 };
    static const unsigned one = 0x3f803f80u, keep = 0x807f807fu, set = 0x3f003f00u;
#if HAS_WGMMA
    static __device__ __forceinline__ void multiply(sum (&d)[N], uint64_t a, uint64_t b)
    {
        WGMMA128("m64n256k16.f32.bf16.bf16", ", 1, 1, 0, 0", OUT128_F);
    }
#endif
    static __device__ bool is_right(sum d, int products)
    {
        return d == (float)(K * products);
    }
};
struct wgmma_tf32_acc32 {
    typedef float sum;
    enum { N = 128, K = 8 };
    static const unsigned one = 0x3f800000u, keep = 0x807fe000u, set = 0x3f000000u;
#if HAS_WGMMA
    static __device__ __forceinline__ void multiply(sum (&d)[N], uint64_t a, uint64_t b)
    {
        WGMMA128("m64n256k8.f32.tf32.tf32", ", 1, 1", OUT128_F);
    }
#endif
    static __device__ bool is_right(sum d, int products)
    {
        return d == (float)(K * products);
    }
};
struct wgmma_fp8_acc32 {
    typedef float sum;
    enum { N = 128, K = 32 };
    static const unsigned one = 0x38383838u, keep = 0x87878787u, set = 0x30303030u;
#if HAS_WGMMA
    static __device__ __forceinline__ void multiply(sum (&d)[N], uint64_t a, uint64_t b)
    {
        WGMMA128("m64n256k32.f32.e4m3.e4m3", ", 1, 1", OUT128_F);
    }
#endif
    static __device__ bool is_right(sum d, int products)
    {
        return d == (float)(K * products);
    }
};
struct wgmma_int8_acc32 {
    typedef int sum;
    enum { N = 128, K = 32 };
    static const unsigned one = 0x01010101u, keep = 0xffffffffu, set = 0;
#if HAS_WGMMA
    static __device__ __forceinline__ void multiply(sum (&d)[N], uint64_t a, uint64_t b)
    {
        WGMMA128("m64n256k32.s32.s8.s8", "", OUT128_R);
    }
#endif
    static __device__ bool is_right(sum d, int products)
    {
        return d == K * products;
    }
};
/* Two sums a register. */
struct wgmma_fp16_acc16 {
    typedef unsigned sum;
    enum { N = 64, K = 16 };
    static const unsigned one = 0x3c003c00u, keep = 0x83ff83ffu, set = 0x38003800u;
#if HAS_WGMMA
    static __device__ __forceinline__ void multiply(sum (&d)[N], uint64_t a, uint64_t b)
    {
        WGMMA64("m64n256k16.f16.f16.f16", ", 1, 1, 0, 0", OUT64_R);
    }
#endif
    static __device__ bool is_right(sum d, int products)
    {
        return products == 16 && d == 0x5c005c00u; /* 256 = 16 x 16, twice */
    }
};

#if HAS_WGMMA
/* Shared-memory matrix descriptor: K-major, 128-byte swizzle, 1024 bytes from one group of 8 rows to the next.
 * Source: PTX ISA, asynchronous warpgroup-level matrix operations, matrix descriptor format. */
static __device__ uint64_t descriptor(const void *tile)
{
    const uint64_t address = (uint64_t)__cvta_generic_to_shared(tile);
    return (address & 0x3ffff) >> 4 | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}

static __device__ void fill(unsigned *at, int words, unsigned one, unsigned keep, unsigned set, bool check)
{
    for (int i = (int)threadIdx.x; i < words; i += THREADS) {
        const unsigned r = ((unsigned)i + 1) * 2654435761u;
        at[i] = check ? one : (((r ^ r >> 13) & keep) | set);
    }
}
#endif

template <class T>
__global__ void __launch_bounds__(THREADS, 1) ceiling_wgmma(int rounds, bool check, unsigned *out, ceiling_mark *mark)
{
#if HAS_WGMMA
    __shared__ __align__(1024) unsigned char tiles[GROUPS * A_BYTES + B_BYTES];
    const ceiling_clock clock = ceiling_start();
    typename T::sum d[T::N];
    bool right = true;
    fill((unsigned *)tiles, (int)sizeof tiles / 4, T::one, T::keep, T::set, check);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); /* wgmma reads through the asynchronous proxy */
    __syncthreads();
    const uint64_t a = descriptor(tiles + threadIdx.x / GROUP_THREADS * A_BYTES);
    const uint64_t b = descriptor(tiles + GROUPS * A_BYTES);
#pragma unroll
    for (int n = 0; n < T::N; n++)
        d[n] = 0;
    for (int round = 0; round < rounds; round++) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int pass = 0; pass < BATCH; pass++)
#pragma unroll
            for (int step = 0; step < STEPS; step++)
                T::multiply(d, a + 2 * step, b + 2 * step); /* 32 bytes along the row, in units of 16 */
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
#pragma unroll
    for (int n = 0; n < T::N; n++)
        right = right && T::is_right(d[n], rounds * BATCH * STEPS);
    if (check && !right)
        atomicAdd(&mark->wrong, 1u);
    if (!check && right) /* never: it keeps the sums alive */
        out[0] = 1;
    clock.stop(mark);
#endif
}

template <class T> static double launch_wgmma(const ceiling_context &c, bool check)
{
    const int rounds = check ? CHECK_ROUNDS : FULL_ROUNDS;
    ceiling_wgmma<T><<<c.sms, THREADS>>>(rounds, check, (unsigned *)c.b, c.mark);
    return (double)c.sms * GROUPS * rounds * BATCH * STEPS * 64 * 256 * T::K * 2;
}

WS_CEILING(tf32, "tensor_tf32", "FLOP/s", "wgmma m64n256k8", launch_wgmma<wgmma_tf32_acc32>);
WS_CEILING(fp16, "tensor_fp16", "FLOP/s", "wgmma m64n256k16", launch_wgmma<wgmma_fp16_acc32>);
WS_CEILING(fp16_acc, "tensor_fp16_acc16", "FLOP/s", "wgmma m64n256k16", launch_wgmma<wgmma_fp16_acc16>);
WS_CEILING(bf16, "tensor_bf16", "FLOP/s", "wgmma m64n256k16", launch_wgmma<wgmma_bf16_acc32>);
WS_CEILING(fp8, "tensor_fp8", "FLOP/s", "wgmma m64n256k32", launch_wgmma<wgmma_fp8_acc32>);
WS_CEILING(int8, "tensor_int8", "op/s", "wgmma m64n256k32", launch_wgmma<wgmma_int8_acc32>);
