/* SPDX-License-Identifier: MIT
 * chase.cu: dependent loads: one chain per warp leaves every unit idle, four chains hide most of the latency at the
 * same occupancy. Expected counters: chase.expect. */
#include "ring.cuh"

static const int blocks = 1056, threads = 256, steps = 4096;

template <int CHAINS> __global__ void chase(const uint32_t *ring, uint32_t *out)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = ring_follow<CHAINS>(ring, i / 32, steps);
}

template <int CHAINS> static void chains(ws_run &run, const ring_order &order, const uint32_t *ring)
{
    const std::string name = "chase<" + std::to_string(CHAINS) + ">";
    ws_buffer<uint32_t> out((size_t)blocks * threads);
    run.variant(
        name.c_str(), [&] { out.poison(); }, [&] { chase<CHAINS><<<blocks, threads>>>(ring, out.device); },
        [&] {
            return ring_check(out.read(), run.random, [&](uint32_t warp) { return order.follow(CHAINS, warp, steps); });
        });
}

static void run(ws_run &run)
{
    const ring_order order(run.random);
    const ws_buffer<uint32_t> ring(order.table());
    chains<1>(run, order, ring.device);
    chains<4>(run, order, ring.device);
}

WS_REFERENCE("K24", "chase", "dependent loads: one chain per warp, or four", run, {"chase<1>", "chase<4>"});
