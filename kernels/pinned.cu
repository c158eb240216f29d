/* SPDX-License-Identifier: MIT
 * pinned.cu: 256 MiB to the GPU and back, from pageable and from page-locked memory. Expected findings: pinned.expect.
 */
#include "program.cuh"

static const size_t n = 64 << 20;

__global__ void pinned_add(uint32_t *x, uint32_t add)
{
    x[(size_t)blockIdx.x * blockDim.x + threadIdx.x] += add;
}

static void there_and_back(uint32_t *host, uint32_t *device, uint32_t add)
{
    WS_CUDA(cudaMemcpy(device, host, n * sizeof *host, cudaMemcpyHostToDevice));
    pinned_add<<<n / 256, 256>>>(device, add);
    WS_CUDA(cudaGetLastError());
    WS_CUDA(cudaMemcpy(host, device, n * sizeof *host, cudaMemcpyDeviceToHost));
}

/* The data are i * factor, so that no second copy of them is needed. */
static void fill(uint32_t *host, uint32_t factor)
{
    for (size_t i = 0; i < n; i++)
        host[i] = (uint32_t)i * factor;
}
static std::string check(const uint32_t *host, uint32_t factor, uint32_t add)
{
    for (size_t i = 0; i < n; i++)
        if (host[i] != (uint32_t)i * factor + add)
            return "element " + std::to_string(i) + " is wrong";
    return "";
}

static void run(ws_run &run)
{
    const uint32_t factor = run.random.next() | 1, add = run.random.next() | 1;
    ws_buffer<uint32_t> device(n);
    if (run.wants("pinned_pageable")) {
        std::vector<uint32_t> host(n);
        run.variant(
            "pinned_pageable", [&] { fill(host.data(), factor); },
            [&] { there_and_back(host.data(), device.device, add); }, [&] { return check(host.data(), factor, add); });
    }
    if (run.wants("pinned_locked")) {
        pinned_buffer<uint32_t> host(n);
        run.variant(
            "pinned_locked", [&] { fill(host.host, factor); }, [&] { there_and_back(host.host, device.device, add); },
            [&] { return check(host.host, factor, add); });
    }
}

WS_REFERENCE("H2", "pinned", "256 MiB there and back, pageable and page-locked", run,
             {"pinned_pageable", "pinned_locked"});
