/* SPDX-License-Identifier: MIT
 * sync_each.cu: 10,000 short kernels. bad: the host waits after each. good: it waits once. readback: it reads four
 * bytes after each, as loss.item() does. Expected findings: sync_each.expect. */
#include "program.cuh"

static const int launches = 10000, steps = 2048, blocks = 64, threads = 256;

__global__ void sync_each_step(uint32_t *state, affine step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    state[i] = take_steps(state[i], step, steps);
}

static void run(ws_run &run)
{
    const affine one = affine::random(run.random), launch = one.repeated(steps), all = launch.repeated(launches);
    pinned_buffer<uint32_t> start(blocks * threads), end(blocks * threads);
    ws_buffer<uint32_t> state(start.count);
    uint32_t loss = 0, wrong_losses = 0;
    const auto reset = [&] {
        for (size_t i = 0; i < start.count; i++)
            start.host[i] = run.random.next();
        WS_CUDA(cudaMemcpy(state.device, start.host, start.bytes(), cudaMemcpyHostToDevice));
    };
    const auto step = [&] {
        sync_each_step<<<blocks, threads>>>(state.device, one);
        WS_CUDA(cudaGetLastError());
    };
    const auto check = [&] {
        WS_CUDA(cudaMemcpy(end.host, state.device, end.bytes(), cudaMemcpyDeviceToHost));
        return ws_compare(
            end.host, end.count, [&](size_t i) { return all(start.host[i]); }, 0);
    };
    run.variant(
        "sync_each_bad", reset,
        [&] {
            for (int k = 0; k < launches; k++) {
                step();
                WS_CUDA(cudaDeviceSynchronize());
            }
        },
        check);
    run.variant(
        "sync_each_good", reset,
        [&] {
            for (int k = 0; k < launches; k++)
                step();
        },
        check);
    run.variant(
        "sync_each_readback", reset,
        [&] {
            uint32_t want = start.host[0];
            wrong_losses = 0;
            for (int k = 0; k < launches; k++) {
                step();
                WS_CUDA(cudaMemcpy(&loss, state.device, sizeof loss, cudaMemcpyDeviceToHost));
                want = launch(want);
                wrong_losses += loss != want;
            }
        },
        [&] { return wrong_losses ? std::to_string(wrong_losses) + " values read back were wrong" : check(); });
}

WS_REFERENCE("H4", "sync_each", "10,000 launches: a wait after each, one wait, a four-byte read after each", run,
             {"sync_each_bad", "sync_each_good", "sync_each_readback"});
