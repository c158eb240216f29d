// SPDX-License-Identifier: MIT
// calibrate.cu: one kernel a pattern whose counts NVIDIA describes, or nobody. Run on a GPU by calibrate.sh, which sets
// the counters beside those of the model (docs/model.md, "Calibration"; what was measured: tests/gpu/results).
//   gpu-calibrate          launch every kernel once
//   gpu-calibrate --spec   the same launches as a spec of `warpsight model`; needs no GPU
// Every kernel has 64 blocks of one warp and makes ROUNDS accesses a warp. Each address depends on the value before by
// `zero`, an argument that is 0, so that no access can be joined, moved or left out. Accesses are inline PTX: what the
// model reads is what the assembler got.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_fp16.h>
#include <mma.h>

constexpr int ROUNDS = 8, BLOCKS = 64;

// Element that lane l touches; -1: the lane takes no part. The pairs are those of the rule that wide accesses of a
// warp are served in halves or quarters unless lanes (n, n^1) or (n, n^2) agree.
__device__ constexpr int place(int pattern, int l)
{
    switch (pattern) {
    case 0: return l;                            // side by side
    case 1: return 0;                            // all one address
    case 2: return l >> 1;                       // pairs (n, n^1)
    case 3: return (l & 1) | (l >> 2) << 1;      // pairs (n, n^2)
    case 4: return l >> 2;                       // groups of 4
    case 5: return 2 * l;                        // every second
    case 6: return 4 * l;                        // every fourth
    case 7: return 31 - l;                       // backwards
    case 8: return l % 2 ? -1 : l;               // even lanes
    case 9: return l < 8 ? l : -1;               // one quarter
    case 10: return (l * 5) & 31;                // scattered
    case 11: return l < 16 ? 0 : 8;              // two addresses, a half warp each
    case 12: return l % 2 ? 16 : 0;              // two addresses, even and odd lanes
    // what lets parts of a warp join: the pairs, or that all of it fits in one pass?
    case 13: return l & 15;                      // both halves alike, no pair agrees
    case 14: return l < 16 ? l % 2 * 16 : 1;     // pairs (n, n^2); one half has a conflict
    case 15: return l == 31 ? 9 : l >> 2;        // groups of 4, all but one lane
    case 16: return l < 16 ? l & 7 : 8 + (l & 7); // agree at (n, n^8) only
    case 17: return l % 2 ? -1 : l / 2;          // even lanes side by side
    case 18: return l % 16 ? -1 : l / 16;        // two lanes, one a half
    case 19: return l & 12 ? -1 : (l & 3) | (l >> 4) << 2; // four lanes of each half
    case 20: return l & 0x14 ? -1 : (l & 3) | (l >> 3) << 2; // four lanes of two quarters
    case 21: return l < 16 ? l >> 1 : l - 16;    // pairs agree in one half
    default: return l < 16 ? l >> 1 : 8 + ((l & 1) | (l - 16) >> 2 << 1); // (n, n^1) in one half, (n, n^2) in the other
    }
}

template <int BYTES> __device__ unsigned load_shared(unsigned at)
{
    unsigned a, b = 0, c = 0, d = 0;
    if (BYTES == 4) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(a) : "r"(at));
    if (BYTES == 8) asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(at));
    if (BYTES == 16)
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at));
    return a + b + c + d;
}

template <int BYTES> __device__ void store_shared(unsigned at, unsigned v)
{
    if (BYTES == 4) asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(v));
    if (BYTES == 8) asm volatile("st.shared.v2.u32 [%0], {%1, %1};" ::"r"(at), "r"(v));
    if (BYTES == 16) asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(at), "r"(v));
}

template <int BYTES> __device__ unsigned load_global(const char *at)
{
    unsigned a, b = 0, c = 0, d = 0;
    if (BYTES == 4) asm volatile("ld.global.u32 %0, [%1];" : "=r"(a) : "l"(at));
    if (BYTES == 8) asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "l"(at));
    if (BYTES == 16)
        asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(at));
    return a + b + c + d;
}

#define ARGUMENTS unsigned *out, const unsigned *in, unsigned zero
__device__ __forceinline__ void keep(unsigned *out, unsigned v)
{
    if (v == 0xfffffff1u) // never: `in` holds small numbers
        out[threadIdx.x] = v;
}

__device__ __forceinline__ unsigned tile_at(int bytes)
{
    extern __shared__ __align__(128) unsigned tile[];
    (void)bytes;
    return (unsigned)__cvta_generic_to_shared(tile);
}

template <int BYTES, int P> __global__ void shared_ld(ARGUMENTS)
{
    int p = place(P, (int)threadIdx.x);
    unsigned at = tile_at(BYTES) + (unsigned)p * BYTES, v = in[0];
    if (p >= 0)
        for (int k = 0; k < ROUNDS; k++)
            v = load_shared<BYTES>(at + (v & zero));
    keep(out, v);
}

template <int BYTES, int P> __global__ void shared_st(ARGUMENTS)
{
    int p = place(P, (int)threadIdx.x);
    unsigned at = tile_at(BYTES) + (unsigned)p * BYTES, v = in[0];
    if (p >= 0)
        for (int k = 0; k < ROUNDS; k++)
            store_shared<BYTES>(at + (((unsigned)k + v) & zero), v + (unsigned)k);
}

// START: bytes before the first element, for phases of sectors and lines
template <int BYTES, int P, int START> __global__ void global_ld(ARGUMENTS)
{
    int p = place(P, (int)threadIdx.x);
    const char *at = (const char *)in + START + (size_t)blockIdx.x * 4096 + (size_t)p * BYTES;
    unsigned v = zero;
    if (p >= 0)
        for (int k = 0; k < ROUNDS; k++)
            v = load_global<BYTES>(at + (v & zero));
    keep(out, v);
}

// WAYS lanes share an address; addresses lie side by side
template <int WAYS> __global__ void shared_atomic(ARGUMENTS)
{
    unsigned at = tile_at(4) + threadIdx.x / WAYS * 4, v = in[0];
    for (int k = 0; k < ROUNDS; k++)
        asm volatile("atom.shared.add.u32 %0, [%1], 1;" : "=r"(v) : "r"(at + (v & zero)));
    keep(out, v);
}

// What kind of operation, and where the lanes go: 0 side by side, 1 all one word, 2 two a word, 3 every second word
// (two banks apart), 4 every 32nd (one bank), 5 two a word and every second word
template <int KIND, int WHERE> __global__ void shared_atomic_of(ARGUMENTS)
{
    constexpr int BYTES = KIND == 1 || KIND == 6 ? 8 : 4;
    constexpr int STEP[] = {1, 0, 1, 2, 32, 2};
    unsigned lane = WHERE == 2 || WHERE == 5 ? threadIdx.x / 2 : threadIdx.x;
    unsigned at = tile_at(8) + lane * STEP[WHERE] * BYTES, v = in[0];
    float f = 0;
    for (int k = 0; k < ROUNDS; k++) {
        unsigned to = at + (v & zero);
        unsigned long long w = v;
        if (KIND == 0) asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(v) : "r"(to), "r"(v + 2));
        if (KIND == 1) asm volatile("atom.shared.add.u64 %0, [%1], %2;" : "=l"(w) : "r"(to), "l"(w + 2));
        if (KIND == 2) asm volatile("atom.shared.cas.b32 %0, [%1], %2, 7;" : "=r"(v) : "r"(to), "r"(v));
        if (KIND == 3) asm volatile("atom.shared.exch.b32 %0, [%1], %2;" : "=r"(v) : "r"(to), "r"(v));
        if (KIND == 4) asm volatile("atom.shared.min.u32 %0, [%1], %2;" : "=r"(v) : "r"(to), "r"(v));
        if (KIND == 5) asm volatile("atom.shared.and.b32 %0, [%1], %2;" : "=r"(v) : "r"(to), "r"(v));
        if (KIND == 6) asm volatile("atom.shared.cas.b64 %0, [%1], %2, 7;" : "=l"(w) : "r"(to), "l"(w));
        if (KIND == 7) asm volatile("atom.shared.add.f32 %0, [%1], %2;" : "=f"(f) : "r"(to), "f"(f + 1));
        if (KIND == 8) asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(to), "r"(v + 2));
        if (KIND == 9) asm volatile("atom.shared.inc.u32 %0, [%1], 9;" : "=r"(v) : "r"(to));
        v += (unsigned)w + (unsigned)f;
    }
    keep(out, v);
}

template <int WAYS> __global__ void global_atomic(ARGUMENTS)
{
    unsigned *at = out + blockIdx.x * 32 + threadIdx.x / WAYS, v = in[0];
    for (int k = 0; k < ROUNDS; k++)
        asm volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(v) : "l"(at + (v & zero)));
    keep(out, v);
}

template <int WAYS> __global__ void global_reduction(ARGUMENTS)
{
    unsigned *at = out + blockIdx.x * 32 + threadIdx.x / WAYS, v = in[0];
    for (int k = 0; k < ROUNDS; k++)
        asm volatile("red.global.add.u32 [%0], 1;" ::"l"(at + ((v + (unsigned)k) & zero)));
}

// SAME: all lanes use one index, else each its own
template <int SAME> __global__ void local_array(ARGUMENTS)
{
    unsigned a[64], v = in[0], own = SAME ? v : v + threadIdx.x;
    for (int k = 0; k < 64; k++)
        a[(k + own) & 63] = k + v;
    for (int k = 0; k < ROUNDS; k++)
        v += a[(v + own + k) & 63];
    keep(out, v);
}

template <int N> __global__ void load_matrix(ARGUMENTS)
{
    unsigned at = tile_at(16) + threadIdx.x * 16, a = in[0], b = 0, c = 0, d = 0;
    for (int k = 0; k < ROUNDS; k++) {
        unsigned from = at + ((a + b + c + d) & zero);
        if (N == 1) asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(from));
        if (N == 2)
            asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(from));
        if (N == 4)
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                         : "r"(from));
    }
    keep(out, a + b + c + d);
}

// Rows of N matrices, PITCH bytes apart
template <int N, int PITCH> __global__ void load_matrix_apart(ARGUMENTS)
{
    unsigned at = tile_at(16) + threadIdx.x % 8 * PITCH + threadIdx.x / 8 * 16, a = in[0], b = 0, c = 0, d = 0;
    for (int k = 0; k < ROUNDS; k++) {
        unsigned from = at + ((a + b + c + d) & zero);
        if (N == 1) asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(from));
        if (N == 4)
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                         : "r"(from));
    }
    keep(out, a + b + c + d);
}

// Turned on the way: rows of 16 bytes side by side, as above
template <int N> __global__ void load_turned(ARGUMENTS)
{
    unsigned at = tile_at(16) + threadIdx.x * 16, a = in[0], b = 0;
    for (int k = 0; k < ROUNDS; k++) {
        unsigned from = at + ((a + b) & zero);
        if (N == 1) asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(from));
        if (N == 2)
            asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(from));
    }
    keep(out, a + b);
}

template <int N> __global__ void store_matrix(ARGUMENTS)
{
    unsigned at = tile_at(16) + threadIdx.x * 16, v = in[0];
    for (int k = 0; k < ROUNDS; k++) {
        unsigned to = at + (((unsigned)k + v) & zero);
        if (N == 1) asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(to), "r"(v));
        if (N == 2) asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %1};" ::"r"(to), "r"(v));
        if (N == 4) asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};" ::"r"(to), "r"(v));
    }
    keep(out, v + load_shared<4>(at));
}

// How wmma.load spreads a matrix over lanes is not published: 16 by 16 halves with a pitch of 32, from global memory or shared
template <int SHARED, int COLUMN> __global__ void wmma_load(ARGUMENTS)
{
    using layout = typename nvcuda::wmma::row_major;
    using other = typename nvcuda::wmma::col_major;
    extern __shared__ __align__(128) unsigned tile[];
    const __half *from = SHARED ? (const __half *)tile : (const __half *)in + (size_t)blockIdx.x * 2048;
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, layout> rows;
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, other> columns;
    float sum = 0;
    for (int k = 0; k < ROUNDS; k++) {
        const __half *p = from + ((unsigned)sum & zero);
        if (COLUMN) {
            nvcuda::wmma::load_matrix_sync(columns, p, 32);
            for (int i = 0; i < columns.num_elements; i++)
                sum += __half2float(columns.x[i]);
        } else {
            nvcuda::wmma::load_matrix_sync(rows, p, 32);
            for (int i = 0; i < rows.num_elements; i++)
                sum += __half2float(rows.x[i]);
        }
    }
    keep(out, (unsigned)sum);
}

// One product of matrices a round: the tensor cores' operations by type.
enum { MMA_F16_F32, MMA_F16_F16, MMA_BF16, MMA_TF32, MMA_F64, MMA_FP8, MMA_S8 };

template <int WHAT> __global__ void product(ARGUMENTS)
{
    unsigned a = in[threadIdx.x], b = in[threadIdx.x + 32], c[4] = {a, b, a, b};
    float f[4] = {0, 0, 0, 0};
    double x = (double)a, y = (double)b, d[2] = {0, 0};
#define FOUR(kind) "mma.sync.aligned." kind " {%0,%1,%2,%3}, {%4,%5,%4,%5}, {%5,%4}, {%0,%1,%2,%3};"
    for (int k = 0; k < ROUNDS; k++) {
        if (WHAT == MMA_F16_F32) asm volatile(FOUR("m16n8k16.row.col.f32.f16.f16.f32") : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]) : "r"(a), "r"(b));
        if (WHAT == MMA_BF16) asm volatile(FOUR("m16n8k16.row.col.f32.bf16.bf16.f32") : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]) : "r"(a), "r"(b));
        if (WHAT == MMA_TF32) asm volatile(FOUR("m16n8k8.row.col.f32.tf32.tf32.f32") : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]) : "r"(a), "r"(b));
        if (WHAT == MMA_FP8) a ^= __float_as_uint(f[0]) & zero; // made of other products here: equal ones are made once
        if (WHAT == MMA_FP8) asm volatile(FOUR("m16n8k32.row.col.f32.e4m3.e4m3.f32") : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]) : "r"(a), "r"(b));
        if (WHAT == MMA_S8) asm volatile(FOUR("m16n8k32.row.col.s32.s8.s8.s32") : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a), "r"(b));
        if (WHAT == MMA_F16_F16) asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%2,%3}, {%3,%2}, {%0,%1};" : "+r"(c[0]), "+r"(c[1]) : "r"(a), "r"(b));
        if (WHAT == MMA_F64) asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(d[0]), "+d"(d[1]) : "d"(x), "d"(y));
    }
#undef FOUR
    keep(out, c[0] + c[1] + c[2] + c[3] + (unsigned)(f[0] + f[1] + f[2] + f[3]) + (unsigned)(d[0] + d[1]));
}

// BYTES a lane, 1: .cg (past L1, 16 bytes only)
template <int BYTES, int PAST_L1> __global__ void async_copy(ARGUMENTS)
{
    unsigned to = tile_at(16) + threadIdx.x * BYTES, v = in[0];
    const char *from = (const char *)in + (size_t)blockIdx.x * 4096 + threadIdx.x * BYTES;
    for (int k = 0; k < ROUNDS; k++) {
        if (PAST_L1)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from + (v & zero)));
        else
            asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from + (v & zero)), "n"(BYTES));
        asm volatile("cp.async.wait_all;");
        v += load_shared<4>(to);
    }
    keep(out, v);
}

// What the assembler makes of one operation of the source: FP32, FP64 and FP16 instructions a thread.
enum { DIV_F32, DIV_APPROX_F32, SQRT_F32, RCP_F32, RSQRT_F32, EXP_F32, LOG_F32, SIN_F32, POW_F32, DIV_F64, SQRT_F64, RCP_F64, REM_U32, REM_S32, DIV_U64, REM_U64, FMOD_F32 };

template <int WHAT> __global__ void software(ARGUMENTS)
{
    unsigned v = in[threadIdx.x] + 3;
    for (int k = 0; k < ROUNDS; k++) {
        float x = (float)v + 1.5f, y = (float)(v & 7) + 1.25f;
        double dx = (double)x, dy = (double)y;
        unsigned long long w = (unsigned long long)v << 20 | 12345u;
        switch (WHAT) {
        case DIV_F32: v = __float_as_uint(__fdiv_rn(x, y)); break;
        case DIV_APPROX_F32: v = __float_as_uint(__fdividef(x, y)); break;
        case SQRT_F32: v = __float_as_uint(__fsqrt_rn(x)); break;
        case RCP_F32: v = __float_as_uint(__frcp_rn(x)); break;
        case RSQRT_F32: v = __float_as_uint(rsqrtf(x)); break;
        case EXP_F32: v = __float_as_uint(expf(y)); break;
        case LOG_F32: v = __float_as_uint(logf(x)); break;
        case SIN_F32: v = __float_as_uint(sinf(y)); break;
        case POW_F32: v = __float_as_uint(powf(y, 1.7f)); break;
        case DIV_F64: v = (unsigned)__double2hiint(dx / dy); break;
        case SQRT_F64: v = (unsigned)__double2hiint(sqrt(dx)); break;
        case RCP_F64: v = (unsigned)__double2hiint(1.0 / dx); break;
        case REM_U32: v = v % ((v & 7) + 3); break;
        case REM_S32: v = (unsigned)((int)v % ((int)(v & 7) + 3)); break;
        case DIV_U64: v = (unsigned)(w / ((v & 7) + 3)); break;
        case REM_U64: v = (unsigned)(w % ((v & 7) + 3)); break;
        default: v = __float_as_uint(fmodf(x, y)); break;
        }
        v = (v & zero) + in[(threadIdx.x + k) & 31];
    }
    keep(out, v);
}

// The operations that the GPU has no single instruction for, on chosen values: where does the short way end?
struct operands {
    int what; // as in software
    unsigned long long x, y;
};
__device__ constexpr operands edge(int k)
{
    constexpr unsigned TINY = 0x00400000u, INF = 0x7f800000u, NAN_F = 0x7fc00000u, ONE = 0x3f800000u;
    constexpr unsigned long long ONE_D = 0x3ff0000000000000ull, INF_D = 0x7ff0000000000000ull, TINY_D = 0x0008000000000000ull;
#define E32(e) ((unsigned)((e) + 127) << 23)
#define E64(e) ((unsigned long long)((e) + 1023) << 52)
    constexpr operands all[] = {
        {DIV_F32, 0, ONE}, {DIV_F32, E32(60), E32(-60)}, {DIV_F32, E32(-60), E32(60)}, {DIV_F32, E32(100), E32(100)},
        {DIV_F32, ONE, E32(100)}, {DIV_F32, ONE, E32(125)}, {DIV_F32, ONE, E32(126)}, {DIV_F32, ONE, E32(-125)},
        {DIV_F32, ONE, E32(-126)}, {DIV_F32, E32(-100), ONE}, {DIV_F32, E32(-104), ONE}, {DIV_F32, E32(-120), ONE},
        {DIV_F32, E32(127), ONE}, {DIV_F32, E32(120), ONE}, {DIV_F32, E32(100), E32(-20)}, {DIV_F32, E32(100), E32(-30)},
        {DIV_F32, E32(-90), E32(30)}, {DIV_F32, ONE, 0}, {DIV_F32, INF, ONE}, {DIV_F32, NAN_F, ONE}, {DIV_F32, TINY, ONE},
        {DIV_F32, ONE, TINY}, // 0 to 21
        {SQRT_F32, 0, 0}, {SQRT_F32, E32(-120), 0}, {SQRT_F32, E32(-101), 0}, {SQRT_F32, E32(127), 0}, {SQRT_F32, INF, 0},
        {SQRT_F32, ONE | 1u << 31, 0}, // 22 to 27
        {RCP_F32, 0, 0}, {RCP_F32, E32(125), 0}, {RCP_F32, E32(126), 0}, {RCP_F32, E32(127), 0}, {RCP_F32, E32(-126), 0},
        {RCP_F32, TINY, 0}, {RCP_F32, INF, 0}, // 28 to 34
        {DIV_F64, 0, ONE_D}, {DIV_F64, ONE_D, E64(900)}, {DIV_F64, E64(900), ONE_D}, {DIV_F64, E64(-900), ONE_D},
        {DIV_F64, ONE_D, E64(-900)}, {DIV_F64, E64(-700), E64(300)}, {DIV_F64, ONE_D, 0}, {DIV_F64, INF_D, ONE_D}, // to 42
        {SQRT_F64, 0, 0}, {SQRT_F64, E64(-1000), 0}, {SQRT_F64, E64(1000), 0}, {SQRT_F64, ONE_D | 1ull << 63, 0},
        {SQRT_F64, INF_D, 0}, // 43 to 47
        {RCP_F64, 0, 0}, {RCP_F64, E64(1000), 0}, {RCP_F64, E64(1023), 0}, {RCP_F64, E64(-1000), 0}, {RCP_F64, E64(-1022), 0},
        {RCP_F64, TINY_D, 0}, {RCP_F64, INF_D, 0}}; // 48 to 54
#undef E32
#undef E64
    return all[k];
}

template <int CASE> __global__ void software_at(ARGUMENTS)
{
    constexpr operands e = edge(CASE);
    unsigned v = in[threadIdx.x];
    for (int k = 0; k < ROUNDS; k++) {
        unsigned nothing = v & zero;
        float x = __uint_as_float((unsigned)e.x ^ nothing), y = __uint_as_float((unsigned)e.y ^ nothing);
        unsigned long long none = (unsigned long long)nothing << 32 | nothing;
        double dx = __longlong_as_double((long long)(e.x ^ none)), dy = __longlong_as_double((long long)(e.y ^ none));
        switch (e.what) {
        case DIV_F32: v = __float_as_uint(__fdiv_rn(x, y)); break;
        case SQRT_F32: v = __float_as_uint(__fsqrt_rn(x)); break;
        case RCP_F32: v = __float_as_uint(__frcp_rn(x)); break;
        case DIV_F64: v = (unsigned)__double2hiint(dx / dy); break;
        case SQRT_F64: v = (unsigned)__double2hiint(sqrt(dx)); break;
        default: v = (unsigned)__double2hiint(1.0 / dx); break;
        }
    }
    keep(out, v);
}

// The same and their approximations as PTX spells them, on 1.5 and 2.25.
template <int WHAT> __global__ void operation(ARGUMENTS)
{
    unsigned v = in[threadIdx.x];
    for (int k = 0; k < ROUNDS; k++) {
        unsigned nothing = v & zero;
        long long none = (long long)nothing << 32 | nothing;
        float x = __uint_as_float(0x3fc00000u ^ nothing), y = __uint_as_float(0x40100000u ^ nothing), r = 0;
        double dx = __longlong_as_double(0x3ff8000000000000ll ^ none), dy = __longlong_as_double(0x4002000000000000ll ^ none), d = 0;
#define ONE_F32(n, op) if (WHAT == n) asm volatile(op " %0, %1;" : "=f"(r) : "f"(x));
#define TWO_F32(n, op) if (WHAT == n) asm volatile(op " %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
#define ONE_F64(n, op) if (WHAT == n) asm volatile(op " %0, %1;" : "=d"(d) : "d"(dx));
#define TWO_F64(n, op) if (WHAT == n) asm volatile(op " %0, %1, %2;" : "=d"(d) : "d"(dx), "d"(dy));
        TWO_F32(0, "div.full.f32") TWO_F32(1, "div.full.ftz.f32") TWO_F32(2, "div.approx.f32") TWO_F32(3, "div.approx.ftz.f32")
        TWO_F32(4, "div.rn.f32") TWO_F32(5, "div.rn.ftz.f32") TWO_F32(6, "div.rz.f32") TWO_F32(7, "div.rm.ftz.f32")
        ONE_F32(8, "sqrt.approx.f32") ONE_F32(9, "sqrt.approx.ftz.f32") ONE_F32(10, "sqrt.rn.f32") ONE_F32(11, "sqrt.rn.ftz.f32")
        ONE_F32(12, "sqrt.rz.f32") ONE_F32(13, "sqrt.rp.ftz.f32")
        ONE_F32(14, "rcp.approx.f32") ONE_F32(15, "rcp.approx.ftz.f32") ONE_F32(16, "rcp.rn.f32") ONE_F32(17, "rcp.rn.ftz.f32")
        ONE_F32(18, "rcp.rz.f32") ONE_F32(19, "rcp.rm.ftz.f32")
        ONE_F32(20, "rsqrt.approx.f32") ONE_F32(21, "rsqrt.approx.ftz.f32") ONE_F32(22, "ex2.approx.f32") ONE_F32(23, "ex2.approx.ftz.f32")
        ONE_F32(24, "lg2.approx.f32") ONE_F32(25, "lg2.approx.ftz.f32") ONE_F32(26, "sin.approx.f32") ONE_F32(27, "sin.approx.ftz.f32")
        ONE_F32(28, "cos.approx.f32") ONE_F32(29, "cos.approx.ftz.f32") ONE_F32(30, "tanh.approx.f32")
        TWO_F64(31, "div.rn.f64") TWO_F64(32, "div.rz.f64") ONE_F64(33, "sqrt.rn.f64") ONE_F64(34, "sqrt.rz.f64")
        ONE_F64(35, "rcp.rn.f64") ONE_F64(36, "rcp.rz.f64") ONE_F64(37, "rcp.approx.ftz.f64") ONE_F64(38, "rsqrt.approx.f64")
        ONE_F64(39, "rsqrt.approx.ftz.f64")
        v = __float_as_uint(r) + (unsigned)__double2hiint(d);
    }
    keep(out, v);
}

struct pattern {
    const char *name;
    const void *kernel;
};
#define K(...) {#__VA_ARGS__, (const void *)__VA_ARGS__}
#define WIDE(f, w) K(f<w,0>), K(f<w,1>), K(f<w,2>), K(f<w,3>), K(f<w,4>), K(f<w,5>), K(f<w,6>), K(f<w,7>), K(f<w,8>), K(f<w,9>), K(f<w,10>), K(f<w,11>), K(f<w,12>)
#define PAIRS(f, w) K(f<w,13>), K(f<w,14>), K(f<w,15>), K(f<w,16>), K(f<w,17>), K(f<w,18>), K(f<w,19>), K(f<w,20>), K(f<w,21>), K(f<w,22>)
#define KINDS(k) K(shared_atomic_of<k,0>), K(shared_atomic_of<k,1>), K(shared_atomic_of<k,2>), K(shared_atomic_of<k,3>), K(shared_atomic_of<k,4>), K(shared_atomic_of<k,5>)
#define TEN(f, t) K(f<t##0>), K(f<t##1>), K(f<t##2>), K(f<t##3>), K(f<t##4>), K(f<t##5>), K(f<t##6>), K(f<t##7>), K(f<t##8>), K(f<t##9>)
#define WAYS(f) K(f<1>), K(f<2>), K(f<4>), K(f<8>), K(f<16>), K(f<32>)

static const pattern patterns[] = {
    WIDE(shared_ld, 8), WIDE(shared_ld, 16), WIDE(shared_st, 8), WIDE(shared_st, 16),
    K(global_ld<8,0,0>), K(global_ld<8,0,8>), K(global_ld<16,0,0>), K(global_ld<16,0,16>), K(global_ld<16,0,64>),
    K(global_ld<16,1,0>), K(global_ld<16,2,0>), K(global_ld<16,5,0>), K(global_ld<16,6,0>), K(global_ld<16,7,0>),
    K(global_ld<16,8,0>), K(global_ld<16,9,0>), K(global_ld<16,10,0>), K(global_ld<16,12,0>),
    WAYS(shared_atomic), WAYS(global_atomic), WAYS(global_reduction), K(local_array<0>), K(local_array<1>),
    K(load_matrix<1>), K(load_matrix<2>), K(load_matrix<4>), K(load_turned<1>), K(load_turned<2>),
    K(store_matrix<1>), K(store_matrix<2>), K(store_matrix<4>),
    K(wmma_load<0,0>), K(wmma_load<0,1>), K(wmma_load<1,0>), K(wmma_load<1,1>),
    K(product<0>), K(product<1>), K(product<2>), K(product<3>), K(product<4>), K(product<5>), K(product<6>),
    K(async_copy<4,0>), K(async_copy<8,0>), K(async_copy<16,0>), K(async_copy<16,1>),
    K(software<0>), K(software<1>), K(software<2>), K(software<3>), K(software<4>), K(software<5>), K(software<6>),
    K(software<7>), K(software<8>), K(software<9>), K(software<10>), K(software<11>), K(software<12>), K(software<13>),
    K(software<14>), K(software<15>), K(software<16>),
    PAIRS(shared_ld, 8), PAIRS(shared_ld, 16), PAIRS(shared_st, 8),
    KINDS(0), KINDS(1), KINDS(2), KINDS(3), KINDS(4), KINDS(5), KINDS(6), KINDS(7), KINDS(8), KINDS(9),
    K(load_matrix_apart<1,32>), K(load_matrix_apart<1,128>), K(load_matrix_apart<4,128>), K(load_matrix_apart<4,0>),
    TEN(software_at, ), TEN(software_at, 1), TEN(software_at, 2), TEN(software_at, 3), TEN(software_at, 4),
    K(software_at<50>), K(software_at<51>), K(software_at<52>), K(software_at<53>), K(software_at<54>),
    TEN(operation, ), TEN(operation, 1), TEN(operation, 2), TEN(operation, 3)};

constexpr size_t OUT_BYTES = BLOCKS * 32 * 4, IN_BYTES = BLOCKS * 4096 + 65536, TILE_BYTES = 8192;

static int print_spec(const char *ptx)
{
    const char *comma = "";
    std::printf("{\"ptx\": \"%s\", \"buffers\": {\"out\": {\"bytes\": %zu, \"fill\": \"zero\"}, "
                "\"in\": {\"bytes\": %zu, \"fill\": \"zero\"}}, \"launches\": [",
                ptx, OUT_BYTES, IN_BYTES);
    for (const pattern &p : patterns) {
        std::printf("%s\n {\"kernel\": \"%s\", \"grid\": [%d], \"block\": [32], \"dynamic_shared\": %zu, \"args\": "
                    "[{\"buffer\": \"out\"}, {\"buffer\": \"in\"}, {\"u32\": 0}]}",
                    comma, p.name, BLOCKS, TILE_BYTES);
        comma = ",";
    }
    std::printf("\n]}\n");
    return 0;
}

#define CHECK(call)                                                                      \
    do {                                                                                 \
        cudaError_t e_ = (call);                                                         \
        if (e_ != cudaSuccess) {                                                         \
            std::fprintf(stderr, "calibrate: %s: %s\n", #call, cudaGetErrorString(e_)); \
            std::exit(3);                                                                \
        }                                                                                \
    } while (0)

int main(int argc, char **argv)
{
    void *out = nullptr, *in = nullptr;
    unsigned zero = 0;
    if (argc == 2 && std::strcmp(argv[1], "--spec") == 0)
        return print_spec("gpu-calibrate.ptx");
    if (argc != 1) {
        std::fprintf(stderr, "usage: gpu-calibrate [--spec]\n");
        return 2;
    }
    CHECK(cudaMalloc(&out, OUT_BYTES));
    CHECK(cudaMalloc(&in, IN_BYTES));
    CHECK(cudaMemset(out, 0, OUT_BYTES));
    CHECK(cudaMemset(in, 0, IN_BYTES));
    for (const pattern &p : patterns) {
        void *args[] = {&out, &in, &zero};
        CHECK(cudaLaunchKernel(p.kernel, dim3(BLOCKS), dim3(32), args, TILE_BYTES, nullptr));
        CHECK(cudaDeviceSynchronize());
    }
    std::printf("calibrate %zu kernels\n", sizeof patterns / sizeof *patterns);
    return 0;
}
