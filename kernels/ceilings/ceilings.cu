/* SPDX-License-Identifier: MIT
 * ceilings.cu: the roofs of this board: memory levels, FP64, FP32, FP16 and integer pipes; and the timing of all
 * probes, those of the tensor cores too (mma.cu, wgmma.cu).
 * Each probe is launched REPEATS times after a warm-up; the median counts. Loads and stores are asm volatile
 * where the compiler could drop them. Nothing here is a reference kernel: no .expect belongs to it. */
#include "ceilings.h"

#include <algorithm>
#include <map>

enum { REPEATS = 11, WARM_UPS = 3, THREADS = 512, FMA_THREADS = 256 };

/* DRAM arrays: far more than any L2, so that nothing of the last pass is left. */
static const size_t dram_bytes = (size_t)1 << 30;
enum { DRAM_PASSES = 8, UNROLL = 8 };

/* --- DRAM ------------------------------------------------------------------------------------------ */

/* Reads, and stores a sum that is never 1: the loads must happen, the store does not. */
__global__ void __launch_bounds__(THREADS)
    ceiling_read(const uint4 *in, size_t n, int passes, uint4 *out, ceiling_mark *mark)
{
    const ceiling_clock clock = ceiling_start();
    const size_t step = (size_t)gridDim.x * THREADS;
    unsigned sum = 0;
    for (int pass = 0; pass < passes; pass++)
        for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i + (UNROLL - 1) * step < n; i += UNROLL * step) {
            uint4 v[UNROLL];
#pragma unroll
            for (int k = 0; k < UNROLL; k++)
                asm volatile("ld.global.cs.v4.u32 {%0,%1,%2,%3}, [%4];"
                             : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w)
                             : "l"(in + i + k * step));
#pragma unroll
            for (int k = 0; k < UNROLL; k++)
                sum |= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
        }
    if (sum == 1)
        out[0].x = sum;
    clock.stop(mark);
}

__global__ void __launch_bounds__(THREADS) ceiling_write(uint4 *out, size_t n, int passes, ceiling_mark *mark)
{
    const ceiling_clock clock = ceiling_start();
    const size_t step = (size_t)gridDim.x * THREADS;
    for (int pass = 0; pass < passes; pass++)
        for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i + (UNROLL - 1) * step < n; i += UNROLL * step)
#pragma unroll
            for (int k = 0; k < UNROLL; k++)
                asm volatile("st.global.cs.v4.u32 [%0], {%1,%1,%1,%1};" ::"l"(out + i + k * step),
                             "r"((unsigned)(i + pass))
                             : "memory");
    clock.stop(mark);
}

__global__ void __launch_bounds__(THREADS)
    ceiling_copy(const uint4 *in, uint4 *out, size_t n, int passes, ceiling_mark *mark)
{
    const ceiling_clock clock = ceiling_start();
    const size_t step = (size_t)gridDim.x * THREADS;
    for (int pass = 0; pass < passes; pass++)
        for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i + (UNROLL - 1) * step < n; i += UNROLL * step) {
            uint4 v[UNROLL];
#pragma unroll
            for (int k = 0; k < UNROLL; k++)
                asm volatile("ld.global.cs.v4.u32 {%0,%1,%2,%3}, [%4];"
                             : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w)
                             : "l"(in + i + k * step));
#pragma unroll
            for (int k = 0; k < UNROLL; k++)
                asm volatile("st.global.cs.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(out + i + k * step), "r"(v[k].x),
                             "r"(v[k].y), "r"(v[k].z), "r"(v[k].w)
                             : "memory");
        }
    clock.stop(mark);
}

static int dram_blocks(const ceiling_context &c)
{
    return c.sms * 4;
}

/* 16-byte elements that whole unrolled steps of the grid cover: no tail, so bytes are exact. */
static size_t covered(const ceiling_context &c, size_t bytes, int blocks)
{
    const size_t chunk = (size_t)blocks * THREADS * UNROLL;
    (void)c;
    return bytes / 16 / chunk * chunk;
}

static double launch_read(const ceiling_context &c, bool check)
{
    const size_t n = covered(c, c.bytes, dram_blocks(c));
    const int passes = check ? 1 : DRAM_PASSES;
    ceiling_read<<<dram_blocks(c), THREADS>>>(c.a, n, passes, c.b, c.mark);
    return 16.0 * (double)n * passes;
}
static double launch_write(const ceiling_context &c, bool check)
{
    const size_t n = covered(c, c.bytes, dram_blocks(c));
    const int passes = check ? 1 : DRAM_PASSES;
    ceiling_write<<<dram_blocks(c), THREADS>>>(c.b, n, passes, c.mark);
    return 16.0 * (double)n * passes;
}
static double launch_copy(const ceiling_context &c, bool check)
{
    const size_t n = covered(c, c.bytes, dram_blocks(c));
    const int passes = check ? 1 : DRAM_PASSES;
    ceiling_copy<<<dram_blocks(c), THREADS>>>(c.a, c.b, n, passes, c.mark);
    return 32.0 * (double)n * passes;
}
WS_CEILING(dram_read, "dram_read", "B/s", "1 GiB, 16-byte loads, 8 in flight a thread", launch_read);
WS_CEILING(dram_write, "dram_write", "B/s", "1 GiB, 16-byte stores", launch_write);
WS_CEILING(dram_copy, "dram_copy", "B/s", "1 GiB to 1 GiB, read + write", launch_copy);

/* --- L2, L1, shared memory ------------------------------------------------------------------------- */

/* All blocks read one array that L2 holds, past L1 (.cg), each starting elsewhere. */
__global__ void __launch_bounds__(THREADS)
    ceiling_l2(const uint4 *in, unsigned n, int rounds, uint4 *out, ceiling_mark *mark)
{
    const ceiling_clock clock = ceiling_start();
    unsigned at = (unsigned)(((unsigned long long)blockIdx.x * n / gridDim.x / THREADS) * THREADS) + threadIdx.x;
    unsigned sum = 0;
    for (int round = 0; round < rounds; round++) {
        uint4 v[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
                         : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w)
                         : "l"(in + at));
            at += THREADS;
            at = at >= n ? at - n : at; /* n is a multiple of THREADS */
        }
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            sum |= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
    }
    if (sum == 1)
        out[0].x = sum;
    clock.stop(mark);
}

/* A sixth of L2: half of it may be far away, and hashing does not spread a full cache evenly. */
static double launch_l2(const ceiling_context &c, bool check)
{
    const unsigned n = (unsigned)(c.l2_bytes / 6 / 16 / THREADS) * THREADS;
    const int rounds = check ? 16 : 4096, blocks = c.sms * 4;
    if (n == 0)
        return 0;
    ceiling_l2<<<blocks, THREADS>>>(c.a, n, rounds, c.b, c.mark);
    return 16.0 * blocks * THREADS * (double)rounds * UNROLL;
}
WS_CEILING(l2_read, "l2_read", "B/s", "a sixth of L2, 16-byte loads past L1", launch_l2);

/* Each block reads its own 32 KiB again and again: after the first round all of it is in L1. The addresses move by
 * a step that only the launch knows: with addresses that stay, ptxas makes one load of eight (seen: 20 registers, and
 * a rate that no SM can deliver). */
enum { L1_THREADS = 1024, L1_ROWS = 2 };
__global__ void __launch_bounds__(L1_THREADS)
    ceiling_l1(const uint4 *in, unsigned step, int rounds, uint4 *out, ceiling_mark *mark)
{
    const ceiling_clock clock = ceiling_start();
    const uint4 *own = in + (size_t)blockIdx.x * L1_THREADS * L1_ROWS;
    unsigned at = threadIdx.x, sum = 0;
    for (int round = 0; round < rounds; round++) {
        uint4 v[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            asm volatile("ld.global.ca.v4.u32 {%0,%1,%2,%3}, [%4];"
                         : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w)
                         : "l"(own + at));
            at = (at + step) % (L1_THREADS * L1_ROWS);
        }
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            sum |= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
    }
    if (sum == 1)
        out[0].x = sum;
    clock.stop(mark);
}

static double launch_l1(const ceiling_context &c, bool check)
{
    const int rounds = check ? 16 : 4096, blocks = c.sms;
    ceiling_l1<<<blocks, L1_THREADS>>>(c.a, L1_THREADS, rounds, c.b, c.mark);
    return 16.0 * blocks * L1_THREADS * (double)rounds * UNROLL;
}
WS_CEILING(l1_read, "l1_read", "B/s", "32 KiB a block, 16-byte loads that hit", launch_l1);

/* The same in shared memory. Both rows hold the same, so the sum is known. */
__global__ void __launch_bounds__(L1_THREADS) ceiling_shared(unsigned step, int rounds, uint4 *out, ceiling_mark *mark)
{
    __shared__ uint4 store[L1_THREADS * L1_ROWS];
    const ceiling_clock clock = ceiling_start();
    const unsigned base = (unsigned)__cvta_generic_to_shared(store);
    unsigned at = threadIdx.x, sum = 0;
    for (int row = 0; row < L1_ROWS; row++)
        store[row * L1_THREADS + threadIdx.x] = make_uint4(threadIdx.x, 2, 4, 8);
    __syncthreads();
    for (int round = 0; round < rounds; round++) {
        uint4 v[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                         : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w)
                         : "r"(base + at * 16));
            at = (at + step) % (L1_THREADS * L1_ROWS);
        }
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            sum += v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
    }
    if (sum != (unsigned)rounds * UNROLL * (threadIdx.x ^ 14u))
        atomicAdd(&mark->wrong, 1u);
    if (sum == 1)
        out[0].x = sum;
    clock.stop(mark);
}

static double launch_shared(const ceiling_context &c, bool check)
{
    const int rounds = check ? 16 : 4096, blocks = c.sms * 2;
    ceiling_shared<<<blocks, L1_THREADS>>>(L1_THREADS, rounds, c.b, c.mark);
    return 16.0 * blocks * L1_THREADS * (double)rounds * UNROLL;
}
WS_CEILING(shared_read, "shared_read", "B/s", "16-byte loads without conflicts", launch_shared);

/* --- arithmetic pipes ------------------------------------------------------------------------------ */

/* CHAINS independent chains a thread; x = x * one + zero leaves x as it is, so the result is known and yet
 * nothing can be left out: one and zero are arguments. */
enum { CHAINS = 8, STEPS = 64 };

template <class T> __device__ inline T step(T x, T one, T zero);
template <> __device__ inline double step(double x, double one, double zero)
{
    return __fma_rn(x, one, zero);
}
template <> __device__ inline float step(float x, float one, float zero)
{
    return __fmaf_rn(x, one, zero);
}
template <> __device__ inline int step(int x, int one, int zero)
{
    asm volatile("mad.lo.s32 %0, %0, %1, %2;" : "+r"(x) : "r"(one), "r"(zero));
    return x;
}
/* A pair of halves in 32 bits. */
template <> __device__ inline unsigned step(unsigned x, unsigned one, unsigned zero)
{
    asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(x) : "r"(one), "r"(zero));
    return x;
}

template <class T>
__global__ void __launch_bounds__(FMA_THREADS)
    ceiling_fma(T start, T one, T zero, int rounds, T *out, ceiling_mark *mark)
{
    const ceiling_clock clock = ceiling_start();
    T x[CHAINS];
    bool same = true;
#pragma unroll
    for (int c = 0; c < CHAINS; c++)
        x[c] = start + (T)c; /* unlike, or the compiler would keep only one */
    for (int round = 0; round < rounds; round++)
#pragma unroll
        for (int s = 0; s < STEPS / CHAINS; s++)
#pragma unroll
            for (int c = 0; c < CHAINS; c++)
                x[c] = step<T>(x[c], one, zero);
#pragma unroll
    for (int c = 0; c < CHAINS; c++)
        same = same && x[c] == start + (T)c;
    if (!same) {
        atomicAdd(&mark->wrong, 1u);
        out[0] = x[0];
    }
    clock.stop(mark);
}

/* Instructions of one launch, all threads. */
template <class T> static double launch_fma(const ceiling_context &c, bool check, T start, T one, T zero, int full)
{
    const int rounds = check ? 8 : full, blocks = c.sms * 8;
    ceiling_fma<T><<<blocks, FMA_THREADS>>>(start, one, zero, rounds, (T *)c.b, c.mark);
    return (double)blocks * FMA_THREADS * rounds * STEPS;
}
static double launch_fp64(const ceiling_context &c, bool check)
{
    return 2 * launch_fma<double>(c, check, 1.25, 1.0, 0.0, 2048);
}
static double launch_fp32(const ceiling_context &c, bool check)
{
    return 2 * launch_fma<float>(c, check, 1.25f, 1.0f, 0.0f, 8192);
}
static double launch_fp16(const ceiling_context &c, bool check)
{
    return 4 * launch_fma<unsigned>(c, check, 0x3d003d00u, 0x3c003c00u, 0u, 8192); /* 1.25, 1, 0 twice */
}
static double launch_int32(const ceiling_context &c, bool check)
{
    return launch_fma<int>(c, check, 12345, 1, 0, 4096);
}
WS_CEILING(fp64, "fp64", "FLOP/s", "8 chains of FMA a thread", launch_fp64);
WS_CEILING(fp32, "fp32", "FLOP/s", "8 chains of FMA a thread", launch_fp32);
WS_CEILING(fp16, "fp16", "FLOP/s", "8 chains of HFMA2 a thread", launch_fp16);
WS_CEILING(int32, "int32", "op/s", "8 chains of IMAD a thread", launch_int32);

/* --- timing ---------------------------------------------------------------------------------------- */

struct result {
    double rate = 0, least = 0, most = 0, clock_hz = 0;
    std::string why; /* not empty: there is no rate */
};

/* Numbers that are not all alike: zeros would cost less power and show a clock that real data do not get. */
__global__ void ceiling_fill(uint4 *at, size_t n)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        const unsigned x = (unsigned)i * 2654435761u;
        at[i] = make_uint4(x, x ^ 0x9e3779b9u, x * 3u, x ^ (x >> 15));
    }
}

static double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

static ceiling_mark read_mark(const ceiling_context &c)
{
    ceiling_mark mark;
    WS_CUDA(cudaGetLastError());
    WS_CUDA(cudaDeviceSynchronize());
    WS_CUDA(cudaMemcpy(&mark, c.mark, sizeof mark, cudaMemcpyDeviceToHost));
    WS_CUDA(cudaMemset(c.mark, 0, sizeof mark));
    return mark;
}

static result measure(const ceiling_probe &probe, const ceiling_context &c)
{
    result r;
    std::vector<double> rates, clocks;
    cudaEvent_t start, stop;
    const double checked = probe.launch(c, true);
    const ceiling_mark first = read_mark(c);
    if (checked == 0 || !first.has_run)
        r.why = "not-on-chip";
    else if (first.wrong)
        r.why = "failed";
    if (!r.why.empty())
        return r;
    WS_CUDA(cudaEventCreate(&start));
    WS_CUDA(cudaEventCreate(&stop));
    for (int i = 0; i < WARM_UPS + REPEATS; i++) {
        float ms = 0;
        WS_CUDA(cudaEventRecord(start));
        const double work = probe.launch(c, false);
        WS_CUDA(cudaEventRecord(stop));
        WS_CUDA(cudaEventSynchronize(stop));
        WS_CUDA(cudaEventElapsedTime(&ms, start, stop));
        const ceiling_mark mark = read_mark(c);
        if (i >= WARM_UPS) {
            rates.push_back(work / (ms * 1e-3));
            clocks.push_back(mark.ns ? (double)mark.cycles * 1e9 / (double)mark.ns : 0);
        }
    }
    WS_CUDA(cudaEventDestroy(start));
    WS_CUDA(cudaEventDestroy(stop));
    r.rate = median(rates);
    r.least = *std::min_element(rates.begin(), rates.end());
    r.most = *std::max_element(rates.begin(), rates.end());
    r.clock_hz = median(clocks);
    return r;
}

static void print_uuid(const cudaUUID_t &uuid)
{
    std::printf("GPU-");
    for (int i = 0; i < 16; i++)
        std::printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", (unsigned char)uuid.bytes[i]);
}

static void print_result(const ceiling_probe &probe, const result &r, const char *separator)
{
    std::printf("%s{\"key\":\"%s\",\"unit\":\"%s\",\"method\":\"%s\",", separator, probe.key, probe.unit, probe.method);
    if (r.why.empty())
        std::printf("\"rate\":%.9g,\"min\":%.9g,\"max\":%.9g,\"clock_hz\":%.9g,\"repeats\":%d}", r.rate, r.least,
                    r.most, r.clock_hz, (int)REPEATS);
    else
        std::printf("\"rate\":null,\"why\":\"%s\"}", r.why.c_str());
}

/* The better of two probes of one key; one that ran beats one that did not. */
static bool better(const result &a, const result &b)
{
    return a.why.empty() && (!b.why.empty() || a.rate > b.rate);
}

/* How far it is, in what JSON does not mind: a blank a probe and a line end, then a line end a probe that is done. */
static void tell_step()
{
    std::putchar('\n');
    std::fflush(stdout);
}

int ceilings_main()
{
    int device = 0, driver = 0, runtime = 0;
    cudaDeviceProp p;
    ceiling_context c = {};
    std::vector<const char *> order;
    std::map<std::string, std::pair<const ceiling_probe *, result>> best;
    const char *separator = "\n ";
    WS_CUDA(cudaGetDevice(&device));
    WS_CUDA(cudaGetDeviceProperties(&p, device));
    WS_CUDA(cudaDriverGetVersion(&driver));
    WS_CUDA(cudaRuntimeGetVersion(&runtime));
    c.sms = p.multiProcessorCount;
    c.l2_bytes = (size_t)p.l2CacheSize;
    c.bytes = dram_bytes;
    ws_buffer<uint4> a(c.bytes / 16), b(c.bytes / 16);
    ws_buffer<ceiling_mark> mark(1);
    c.a = a.device;
    c.b = b.device;
    c.mark = mark.device;
    mark.zero();
    b.zero();
    ceiling_fill<<<c.sms * 8, THREADS>>>(c.a, c.bytes / 16);
    WS_CUDA(cudaGetLastError());
    for (const ceiling_probe *probe = ceiling_probe::first(); probe; probe = probe->next)
        std::putchar(' ');
    tell_step();
    for (const ceiling_probe *probe = ceiling_probe::first(); probe; probe = probe->next) {
        const result r = measure(*probe, c);
        tell_step();
        const auto at = best.find(probe->key);
        if (at == best.end()) {
            order.push_back(probe->key);
            best[probe->key] = {probe, r};
        } else if (better(r, at->second.second)) {
            at->second = {probe, r};
        }
    }
    std::printf("{\"device\":{\"name\":\"%s\",\"uuid\":\"", p.name);
    print_uuid(p.uuid);
    std::printf("\",\"cc\":\"%d.%d\",\"sms\":%d,\"driver\":%d,\"runtime\":%d},\n\"ceilings\":[", p.major, p.minor,
                c.sms, driver, runtime);
    for (const char *key : order) {
        print_result(*best[key].first, best[key].second, separator);
        separator = ",\n ";
    }
    std::printf("]}\n");
    return std::fflush(stdout) ? 1 : 0;
}
