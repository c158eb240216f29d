/* SPDX-License-Identifier: MIT
 * launch_storm.cu: 20,000 kernels of about a microsecond. direct: a launch each. graph: the same, 1000 of them to a
 * graph that is launched 20 times. Expected findings: launch_storm.expect. */
#include "program.cuh"

static const int launches = 20000, in_graph = 1000, blocks = 64, threads = 256;

__global__ void launch_storm_step(uint32_t *state, affine step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    state[i] = step(state[i]);
}

static void run(ws_run &run)
{
    const affine one = affine::random(run.random), all = one.repeated(launches);
    pinned_buffer<uint32_t> start(blocks * threads), end(blocks * threads);
    ws_buffer<uint32_t> state(start.count);
    const own_stream stream;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    const auto reset = [&] {
        for (size_t i = 0; i < start.count; i++)
            start.host[i] = run.random.next();
        WS_CUDA(cudaMemcpy(state.device, start.host, start.bytes(), cudaMemcpyHostToDevice));
    };
    const auto storm = [&](int count) {
        for (int k = 0; k < count; k++)
            launch_storm_step<<<blocks, threads, 0, stream.stream>>>(state.device, one);
        WS_CUDA(cudaGetLastError());
    };
    const auto check = [&] {
        WS_CUDA(cudaMemcpy(end.host, state.device, end.bytes(), cudaMemcpyDeviceToHost));
        return ws_compare(
            end.host, end.count, [&](size_t i) { return all(start.host[i]); }, 0);
    };
    run.variant(
        "launch_storm_direct", reset, [&] { storm(launches); }, check);
    if (!run.wants("launch_storm_graph"))
        return;
    WS_CUDA(cudaStreamBeginCapture(stream.stream, cudaStreamCaptureModeGlobal));
    storm(in_graph);
    WS_CUDA(cudaStreamEndCapture(stream.stream, &graph));
    WS_CUDA(cudaGraphInstantiate(&ready, graph, 0));
    run.variant(
        "launch_storm_graph", reset,
        [&] {
            for (int k = 0; k < launches / in_graph; k++)
                WS_CUDA(cudaGraphLaunch(ready, stream.stream));
        },
        check);
    WS_CUDA(cudaGraphExecDestroy(ready));
    WS_CUDA(cudaGraphDestroy(graph));
}

WS_REFERENCE("H6", "launch_storm", "20,000 tiny kernels, one by one or as graphs", run,
             {"launch_storm_direct", "launch_storm_graph"});
