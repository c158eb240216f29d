/* SPDX-License-Identifier: MIT
 * full_kernel.cu: a grid of (2, 3, 4) blocks of (2, 4, 8) threads, numbered through from all six indices: every number
 * must be met once. Expected counters: full_kernel.expect. */
#include "harness.h"

__global__ void full_kernel(int *count)
{
    const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    atomicAdd(&count[block * (blockDim.x * blockDim.y * blockDim.z) + thread], 1);
}

static void run(ws_run &run)
{
    const dim3 grid(2, 3, 4), block(2, 4, 8);
    ws_buffer<int> count(grid.x * grid.y * grid.z * block.x * block.y * block.z);
    run.variant(
        "full_kernel", [&] { count.zero(); }, [&] { full_kernel<<<grid, block>>>(count.device); },
        [&] {
            return ws_compare(
                count.read(), [](size_t) { return 1; }, 0);
        });
}

WS_REFERENCE("K31", "full_kernel", "threads numbered from all six indices", run, {"full_kernel"});
