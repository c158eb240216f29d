/* SPDX-License-Identifier: MIT
 * groups.cu: threads that work together: block reductions and scans as libraries write them, atomics of every kind,
 * compare-and-swap loops, warp-aggregated atomics, cooperative groups, a queue, a last-block sum. Prints "NAME ok". */
#include "../programs/program.h"

#include <algorithm>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

template <int Threads> __device__ int block_reduce(int v)
{
    __shared__ int partial[Threads / 32];
    for (int d = 16; d > 0; d >>= 1)
        v += __shfl_xor_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x < Threads / 32 ? partial[threadIdx.x] : 0;
    if (threadIdx.x < 32)
        for (int d = 16; d > 0; d >>= 1)
            v += __shfl_down_sync(~0u, v, d);
    return v;
}

template <int Threads> __device__ int block_scan(int v, int *total)
{
    __shared__ int sums[Threads / 32];
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, x = v;
    for (int d = 1; d < 32; d <<= 1) {
        int y = __shfl_up_sync(~0u, x, d);
        if (lane >= d)
            x += y;
    }
    if (lane == 31)
        sums[warp] = x;
    __syncthreads();
    int before = 0, all = 0;
    for (int w = 0; w < Threads / 32; w++) {
        before += w < warp ? sums[w] : 0;
        all += sums[w];
    }
    *total = all;
    return x + before;
}

__global__ void reduce_scan(const int *in, int *sum, int *scan)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), total;
    int s = block_reduce<128>(in[i]);
    if (threadIdx.x == 0)
        sum[blockIdx.x] = s;
    int before = block_scan<128>(in[i], &total);
    scan[i] = before + 1000 * total;
}

__device__ unsigned tickets;
__global__ void last_block(const int *in, volatile int *partial, int *out)
{
    __shared__ bool is_last;
    int s = block_reduce<128>(in[blockIdx.x * 128 + threadIdx.x]);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = s;
        __threadfence();
        is_last = atomicInc(&tickets, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last)
        return;
    s = block_reduce<128>(threadIdx.x < gridDim.x ? partial[threadIdx.x] : 0);
    if (threadIdx.x == 0)
        *out = s;
}

__device__ double cas_max(double *at, double v)
{
    unsigned long long *bits = (unsigned long long *)at, old = *bits, seen;
    do {
        seen = old;
        if (__longlong_as_double((long long)seen) >= v)
            break;
        old = atomicCAS(bits, seen, (unsigned long long)__double_as_longlong(v));
    } while (old != seen);
    return __longlong_as_double((long long)old);
}

__global__ void atomics(int *i, unsigned *u, float *f, double *d, unsigned long long *l)
{
    int t = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    atomicAdd(&i[0], t);
    atomicSub(&i[1], t);
    atomicMin(&i[2], (t * 37) % 101 - 50);
    atomicMax(&i[3], (t * 37) % 101 - 50);
    atomicAnd(&u[0], ~(1u << (t % 16)));
    atomicOr(&u[1], 1u << (t % 20));
    atomicXor(&u[2], 1u << (t % 31));
    atomicInc(&u[3], 9);
    atomicDec(&u[4], 9);
    atomicAdd(&f[0], 0.5f);
    atomicAdd(&d[0], 0.25 * t);
    atomicAdd(&l[0], (unsigned long long)t << 30);
    atomicMax(&l[1], (unsigned long long)(t ^ 85) << 33);
    cas_max(&d[1], (double)((t * 29) % 103));
    if (t == 5)
        u[5] = atomicExch(&u[6], 77);
}

/* One atomic for all lanes that have something, as compilers and libraries aggregate it. */
__global__ void filter(const int *in, int *out, int *n)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (in[i] % 3 == 0) {
        cg::coalesced_group active = cg::coalesced_threads();
        int at = 0;
        if (active.thread_rank() == 0)
            at = atomicAdd(n, (int)active.size());
        at = active.shfl(at, 0) + (int)active.thread_rank();
        out[at] = in[i];
    }
    unsigned mask = __match_any_sync(__activemask(), in[i] % 4);
    int leader = __ffs((int)mask) - 1;
    if ((int)threadIdx.x % 32 == leader)
        atomicAdd(&n[1 + in[i] % 4], __popc(mask));
}

__global__ void cooperative(int *out)
{
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto four = cg::tiled_partition<4>(warp);
    int t = (int)block.thread_rank();
    int r = cg::reduce(warp, t, cg::less<int>()) + cg::reduce(four, t, cg::bit_xor<int>());
    r += cg::inclusive_scan(four, t) * 2 + (warp.any(t == 40) ? 1000 : 0) + (int)four.ballot(t % 2) * 10000;
    r += four.shfl_xor(t, 1) + (int)four.meta_group_rank() * 3;
    auto part = cg::binary_partition(warp, t % 5 == 0);
    out[t] = r + (int)part.size() * 100;
    block.sync();
}

/* Work handed out by a counter in shared memory, bytes and shorts there, a barrier with a predicate. */
__global__ void queue(int *out, int n)
{
    __shared__ int next;
    __shared__ unsigned char marks[96];
    __shared__ short shorts[96];
    if (threadIdx.x == 0)
        next = 0;
    if (threadIdx.x < 96)
        marks[threadIdx.x] = 0;
    __syncthreads();
    for (;;) {
        int k = atomicAdd(&next, 1);
        if (k >= n)
            break;
        marks[k] = (unsigned char)(k * 3);
        shorts[k] = (short)(-k);
    }
    int all = __syncthreads_and(threadIdx.x < 200), any = __syncthreads_or(threadIdx.x == 17);
    int count = __syncthreads_count(threadIdx.x % 4 == 0);
    if ((int)threadIdx.x < n)
        out[threadIdx.x] = marks[threadIdx.x] + shorts[threadIdx.x] + 1000 * all + 2000 * any + 10000 * count;
}

static void check_blocks()
{
    const int n = 128 * 10;
    std::vector<int> in(n), partial(10);
    int all = 0;
    bool right = true;
    for (int i = 0; i < n; i++)
        all += in[i] = (i * 7919) % 31 - 9;
    buffer<int> din(in), sum(10), scan(n), out(1);
    reduce_scan<<<10, 128>>>(din.device, sum.device, scan.device);
    std::vector<int> s = sum.host(), c = scan.host();
    for (int b = 0; b < 10; b++) {
        int total = 0, before = 0;
        for (int t = 0; t < 128; t++)
            total += in[b * 128 + t];
        right &= s[b] == total;
        for (int t = 0; t < 128; t++) {
            before += in[b * 128 + t];
            right &= c[b * 128 + t] == before + 1000 * total;
        }
    }
    check("reduce and scan", right);
    last_block<<<10, 128>>>(din.device, sum.device, out.device);
    check("last block", out.host()[0] == all);
}

static void check_atomics()
{
    const int n = 256;
    buffer<int> i(std::vector<int>(4, 0));
    buffer<unsigned> u(std::vector<unsigned>{~0u, 0, 0, 0, 0, 0, 5});
    buffer<float> f(std::vector<float>(1, 0.0f));
    buffer<double> d(std::vector<double>(2, 0.0));
    buffer<unsigned long long> l(std::vector<unsigned long long>(2, 0));
    atomics<<<4, 64>>>(i.device, u.device, f.device, d.device, l.device);
    std::vector<int> gi = i.host();
    std::vector<unsigned> gu = u.host();
    unsigned x = 0, dec = 0;
    unsigned long long sum = 0, most = 0;
    int low = 0, high = 0;
    double biggest = 0;
    for (int t = 0; t < n; t++) {
        x ^= 1u << (t % 31);
        dec = dec == 0 || dec > 9 ? 9 : dec - 1;
        sum += (unsigned long long)t << 30;
        most = std::max(most, (unsigned long long)(t ^ 85) << 33);
        low = std::min(low, (t * 37) % 101 - 50);
        high = std::max(high, (t * 37) % 101 - 50);
        biggest = std::max(biggest, (double)((t * 29) % 103));
    }
    bool right = gi[0] == n * (n - 1) / 2 && gi[1] == -gi[0] && gi[2] == low && gi[3] == high && gu[0] == 0xffff0000u &&
                 gu[1] == 0xfffffu && gu[2] == x && gu[3] == (unsigned)n % 10 && gu[4] == dec && gu[5] == 5 && gu[6] == 77;
    right &= f.host()[0] == 128.0f && d.host()[0] == 0.25 * n * (n - 1) / 2 && d.host()[1] == biggest;
    right &= l.host()[0] == sum && l.host()[1] == most;
    check("atomics", right);
}

static void check_groups()
{
    const int n = 512;
    std::vector<int> in(n), want, counts(5, 0);
    for (int i = 0; i < n; i++) {
        in[i] = (i * 7919) % 1000;
        counts[1 + in[i] % 4]++;
        if (in[i] % 3 == 0)
            want.push_back(in[i]);
    }
    counts[0] = (int)want.size();
    buffer<int> din(in), dout(n), dn(std::vector<int>(5, 0)), out(128);
    filter<<<4, 128>>>(din.device, dout.device, dn.device);
    std::vector<int> got = dout.host();
    got.resize(want.size());
    std::sort(got.begin(), got.end());
    std::sort(want.begin(), want.end());
    check("filter", got == want && dn.host() == counts);
    cooperative<<<1, 128>>>(out.device);
    got = out.host();
    bool right = true;
    for (int t = 0; t < 128; t++) {
        int warp = t / 32 * 32, four = t / 4 * 4, r = warp, x = 0, scan = 0, ballot = 0, size = 0;
        for (int k = 0; k < 4; k++) {
            x ^= four + k;
            scan += four + k <= t ? four + k : 0;
            ballot |= (four + k) % 2 << k;
        }
        for (int k = warp; k < warp + 32; k++)
            size += (k % 5 == 0) == (t % 5 == 0);
        r += x + scan * 2 + (warp == 32 ? 1000 : 0) + ballot * 10000 + (t ^ 1) + t % 32 / 4 * 3;
        right &= got[t] == r + size * 100;
    }
    check("cooperative groups", right);
    queue<<<1, 256>>>(out.device, 96);
    got = out.host();
    right = true;
    for (int t = 0; t < 96; t++)
        right &= got[t] == (t * 3) % 256 - t + 2000 + 10000 * 64;
    check("queue", right);
}

int main()
{
    check_blocks();
    check_atomics();
    check_groups();
    OK(cudaDeviceSynchronize());
    return failed;
}
