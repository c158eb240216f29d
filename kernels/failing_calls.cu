/* SPDX-License-Identifier: MIT
 * failing_calls.cu: mistakes that a program can make without noticing. bad: a launch of 2048 threads a block (code 9;
 * CUDA 13.0 with driver 580 says 1), a copy of a kind that there is not (21), a buffer freed twice, 1 MiB never freed.
 * good: the same without them. The program expects each error, so its result is right either way. A kind that merely
 * contradicts the pointers would be undefined: some systems copy all the same, some crash. Expected findings:
 * failing_calls.expect. */
#include "program.cuh"

static const int n = 1 << 18; /* uint32_t: 1 MiB */

__global__ void failing_calls_fill(uint32_t *out, uint32_t value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = value;
}

/* An error that was meant to happen: it is taken from the runtime, so that nothing else meets it. */
static void expect_error(cudaError_t got, const char *what, std::string *problem)
{
    if (got == cudaSuccess)
        *problem = std::string(what) + " did not fail";
    (void)cudaGetLastError();
}

static void make_mistakes(ws_buffer<uint32_t> &buffer, pinned_buffer<uint32_t> &host, std::string *problem)
{
    uint32_t *leaked = nullptr, *twice = nullptr;
    failing_calls_fill<<<n / 2048, 2048>>>(buffer.device, 0);
    const cudaError_t launch = cudaGetLastError();
    if (launch != cudaErrorInvalidConfiguration && launch != cudaErrorInvalidValue)
        *problem = std::string("a block of 2048 threads: ") + cudaGetErrorString(launch);
    expect_error(cudaMemcpy(buffer.device, host.host, host.bytes(), (cudaMemcpyKind)77), "a copy of kind 77", problem);
    WS_CUDA(cudaMalloc(&twice, n * sizeof *twice));
    WS_CUDA(cudaFree(twice));
    expect_error(cudaFree(twice), "a second free", problem);
    WS_CUDA(cudaMalloc(&leaked, n * sizeof *leaked));
}

static void variant(ws_run &run, const char *name, bool is_bad)
{
    const uint32_t value = run.random.next();
    ws_buffer<uint32_t> buffer(n);
    pinned_buffer<uint32_t> host(n);
    std::string problem;
    run.variant(
        name,
        [&] {
            std::memset(host.host, 0, host.bytes());
            problem.clear();
        },
        [&] {
            failing_calls_fill<<<n / 256, 256>>>(buffer.device, value);
            WS_CUDA(cudaGetLastError());
            if (is_bad)
                make_mistakes(buffer, host, &problem);
        },
        [&] {
            WS_CUDA(cudaMemcpy(host.host, buffer.device, host.bytes(), cudaMemcpyDeviceToHost));
            return !problem.empty() ? problem
                                    : ws_compare(
                                          host.host, n, [&](size_t) { return value; }, 0);
        });
}

static void run(ws_run &run)
{
    variant(run, "failing_calls_bad", true);
    variant(run, "failing_calls_good", false);
}

WS_REFERENCE("H8", "failing_calls", "failing calls and a leak, or none", run,
             {"failing_calls_bad", "failing_calls_good"});
