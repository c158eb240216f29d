/* SPDX-License-Identifier: MIT
 * ring.cuh: dependent loads, the pure form of waiting for memory: a ring of 2^22 indices (16 MiB: larger than every L1,
 * smaller than the L2 of a large GPU) in pseudo-random order, and the loop that follows it. All lanes of a warp follow
 * the same chain, so a load is one request with one sector. Used by chase.cu and occupancy.cu. */
#ifndef WS_KERNELS_RING_CUH
#define WS_KERNELS_RING_CUH

#include "harness.h"

static const uint32_t ring_length = 1u << 22;

/* Where chain c begins: the factor is odd, so different chains begin at different places of the one ring. */
__host__ __device__ __forceinline__ uint32_t ring_start(uint32_t chain)
{
    return chain * 2654435761u % ring_length;
}

/* What is done with each index that was loaded: some integer work, so that waiting warps are few once several chains
 * are in flight, and a result that depends on every step. */
__host__ __device__ __forceinline__ uint32_t ring_mix(uint32_t sum, uint32_t at)
{
    sum = (sum ^ at) * 0x9e3779b1u;
    return (sum ^ (sum >> 15)) + at;
}

/* `steps` loads on each of CHAINS chains, those of this warp. */
template <int CHAINS> __device__ __forceinline__ uint32_t ring_follow(const uint32_t *ring, uint32_t warp, int steps)
{
    uint32_t at[CHAINS], sum[CHAINS], total = 0;
#pragma unroll
    for (int c = 0; c < CHAINS; c++) {
        at[c] = ring_start(warp * CHAINS + c);
        sum[c] = 0;
    }
#pragma unroll 4
    for (int k = 0; k < steps; k++) {
#pragma unroll
        for (int c = 0; c < CHAINS; c++) {
            at[c] = ring[at[c]];
            sum[c] = ring_mix(sum[c], at[c]);
        }
    }
#pragma unroll
    for (int c = 0; c < CHAINS; c++)
        total += sum[c];
    return total;
}

/* The ring as a formula: next = factor * i + step mod 2^22 passes every index, as factor = 5 mod 8 and step is odd. */
class ring_order
{
  public:
    explicit ring_order(ws_random &random) : factor(random.next() * 8 + 5), step(random.next() | 1)
    {
    }
    uint32_t next(uint32_t i) const
    {
        return (factor * i + step) % ring_length;
    }
    std::vector<uint32_t> table() const
    {
        std::vector<uint32_t> out(ring_length);
        for (uint32_t i = 0; i < ring_length; i++)
            out[i] = next(i);
        return out;
    }
    /* What ring_follow returns. */
    uint32_t follow(int chains, uint32_t warp, int steps) const
    {
        uint32_t total = 0;
        for (int c = 0; c < chains; c++) {
            uint32_t at = ring_start(warp * chains + c), sum = 0;
            for (int k = 0; k < steps; k++) {
                at = next(at);
                sum = ring_mix(sum, at);
            }
            total += sum;
        }
        return total;
    }

  private:
    uint32_t factor, step;
};

/* Judge one result per thread: all lanes of a warp agree, and every eighth warp, from a random one on, is right. */
template <class F> std::string ring_check(const std::vector<uint32_t> &got, ws_random &random, F want)
{
    for (size_t i = 0; i < got.size(); i++)
        if (got[i] != got[i / 32 * 32])
            return "thread " + std::to_string(i) + " differs from its warp";
    for (size_t warp = random.below(8); warp < got.size() / 32; warp += 8)
        if (got[warp * 32] != want((uint32_t)warp))
            return "warp " + std::to_string(warp) + " is wrong";
    return "";
}

#endif
