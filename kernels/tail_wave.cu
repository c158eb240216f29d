/* SPDX-License-Identifier: MIT
 * tail_wave.cu: blocks of some 50 microseconds in grids of 1, 1.0009, 1.5, 2 and 3.88 waves on a GPU that holds 1056 of
 * them (132 SMs, 8 blocks each). Expected counters: tail_wave.expect. */
#include "walk.cuh"

static const int threads = 256, steps = 5632;

template <int BLOCKS> __global__ void tail_wave(const float *in, float *out, walk_line line)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = walk<steps>(in[i], line);
}

template <int BLOCKS> static void grid(ws_run &run, const std::vector<float> &in, const float *din, walk_line line)
{
    const std::string name = "tail_wave<" + std::to_string(BLOCKS) + ">";
    const walk_end end(line, steps);
    ws_buffer<float> out((size_t)BLOCKS * threads);
    run.variant(
        name.c_str(), [&] { out.poison(); }, [&] { tail_wave<BLOCKS><<<BLOCKS, threads>>>(din, out.device, line); },
        [&] {
            return ws_compare(
                out.read(), [&](size_t i) { return end(in[i]); }, walk_tolerance(steps));
        });
}

static void run(ws_run &run)
{
    const std::vector<float> in = run.random.floats(4096 * threads, 1.0f, 2.0f);
    const walk_line line = walk_random(run.random, steps);
    const ws_buffer<float> din(in);
    grid<1056>(run, in, din.device, line);
    grid<1057>(run, in, din.device, line);
    grid<1584>(run, in, din.device, line);
    grid<2112>(run, in, din.device, line);
    grid<4096>(run, in, din.device, line);
}

WS_REFERENCE("K22", "tail_wave", "grids of whole and broken waves", run,
             {"tail_wave<1056>", "tail_wave<1057>", "tail_wave<1584>", "tail_wave<2112>", "tail_wave<4096>"});
