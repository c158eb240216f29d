/* SPDX-License-Identifier: MIT
 * small_grid.cu: the same work per block in a grid smaller than the number of SMs, and in one that fills the GPU.
 * Expected counters: small_grid.expect. */
#include "walk.cuh"

static const int threads = 256, steps = 4096;

template <int BLOCKS> __global__ void small_grid(const float *in, float *out, walk_line line)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = walk<steps>(in[i], line);
}

template <int BLOCKS> static void grid(ws_run &run)
{
    const std::string name = "small_grid<" + std::to_string(BLOCKS) + ">";
    const std::vector<float> in = run.random.floats(BLOCKS * threads, 1.0f, 2.0f);
    const walk_line line = walk_random(run.random, steps);
    const walk_end end(line, steps);
    const ws_buffer<float> din(in);
    ws_buffer<float> out(in.size());
    run.variant(
        name.c_str(), [&] { out.poison(); },
        [&] { small_grid<BLOCKS><<<BLOCKS, threads>>>(din.device, out.device, line); },
        [&] {
            return ws_compare(
                out.read(), [&](size_t i) { return end(in[i]); }, walk_tolerance(steps));
        });
}

static void run(ws_run &run)
{
    grid<8>(run);
    grid<1056>(run);
}

WS_REFERENCE("K21", "small_grid", "8 blocks against 1056 of the same work", run, {"small_grid<8>", "small_grid<1056>"});
