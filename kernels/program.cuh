/* SPDX-License-Identifier: MIT
 * program.cuh: what the host programs H1 ... share: page-locked memory, streams that end with their scope, and a kernel
 * whose duration is set by a number of steps and whose result the host knows exactly.
 * A host program is judged by its timeline: it copies nothing but what it is about, and never from pageable memory
 * unless that is what it shows. */
#ifndef WS_KERNELS_PROGRAM_CUH
#define WS_KERNELS_PROGRAM_CUH

#include "harness.h"

/* n elements of page-locked host memory. */
template <class T> class pinned_buffer
{
  public:
    explicit pinned_buffer(size_t n) : count(n)
    {
        WS_CUDA(cudaMallocHost(&host, n * sizeof(T)));
    }
    ~pinned_buffer()
    {
        cudaFreeHost(host);
    }
    pinned_buffer(const pinned_buffer &) = delete;
    pinned_buffer &operator=(const pinned_buffer &) = delete;
    size_t bytes() const
    {
        return count * sizeof(T);
    }

    T *host = nullptr;
    const size_t count;
};

class own_stream
{
  public:
    explicit own_stream(unsigned flags = cudaStreamDefault)
    {
        WS_CUDA(cudaStreamCreateWithFlags(&stream, flags));
    }
    ~own_stream()
    {
        cudaStreamDestroy(stream);
    }
    own_stream(const own_stream &) = delete;
    own_stream &operator=(const own_stream &) = delete;

    cudaStream_t stream = nullptr;
};

/* x -> a x + b modulo 2^32: many steps are one step with other coefficients. */
struct affine {
    uint32_t a, b;

    __host__ __device__ uint32_t operator()(uint32_t x) const
    {
        return a * x + b;
    }
    /* The same step n times. */
    affine repeated(unsigned n) const
    {
        affine power = *this, all = {1, 0};
        for (; n; n /= 2) {
            if (n % 2)
                all = {all.a * power.a, power.a * all.b + power.b};
            power = {power.a * power.a, power.a * power.b + power.b};
        }
        return all;
    }
    static affine random(ws_random &random)
    {
        return {random.next() | 1, random.next()};
    }
};

/* `steps` dependent steps; a step takes about four cycles. */
__device__ __forceinline__ uint32_t take_steps(uint32_t x, affine step, int steps)
{
#pragma unroll 16
    for (int k = 0; k < steps; k++)
        x = step(x);
    return x;
}

#endif
