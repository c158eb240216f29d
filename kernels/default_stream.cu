/* SPDX-License-Identifier: MIT
 * default_stream.cu: small kernels on two streams of their own and on the legacy default stream, three independent
 * tasks. blocking: the default stream waits for the two, and they for it. nonblocking: created with
 * cudaStreamNonBlocking, all three run side by side. Expected findings: default_stream.expect. */
#include "program.cuh"

static const int rounds = 50, steps = 50000, blocks = 16, threads = 256, size = blocks * threads;

__global__ void default_stream_work(uint32_t *state, affine step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    state[i] = take_steps(state[i], step, steps);
}

static void variant(ws_run &run, const char *name, unsigned flags)
{
    const affine one = affine::random(run.random), all = one.repeated(steps).repeated(rounds);
    const own_stream first(flags), second(flags);
    const cudaStream_t stream[3] = {first.stream, second.stream, cudaStreamLegacy};
    pinned_buffer<uint32_t> start(3 * size), end(3 * size);
    ws_buffer<uint32_t> state(start.count);
    run.variant(
        name,
        [&] {
            for (size_t i = 0; i < start.count; i++)
                start.host[i] = run.random.next();
            WS_CUDA(cudaMemcpy(state.device, start.host, start.bytes(), cudaMemcpyHostToDevice));
        },
        [&] {
            for (int k = 0; k < rounds; k++)
                for (int task = 0; task < 3; task++)
                    default_stream_work<<<blocks, threads, 0, stream[task]>>>(state.device + task * size, one);
        },
        [&] {
            WS_CUDA(cudaMemcpy(end.host, state.device, end.bytes(), cudaMemcpyDeviceToHost));
            return ws_compare(
                end.host, end.count, [&](size_t i) { return all(start.host[i]); }, 0);
        });
}

static void run(ws_run &run)
{
    variant(run, "default_stream_blocking", cudaStreamDefault);
    variant(run, "default_stream_nonblocking", cudaStreamNonBlocking);
}

WS_REFERENCE("H7", "default_stream", "work on the default stream beside blocking and non-blocking streams", run,
             {"default_stream_blocking", "default_stream_nonblocking"});
