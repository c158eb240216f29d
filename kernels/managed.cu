/* SPDX-License-Identifier: MIT
 * managed.cu: 1 GiB of managed memory that the host has written. first_touch: the kernel's own accesses fetch it, page
 * fault by page fault. prefetched: one bulk copy before the kernel. Expected findings: managed.expect. */
#include "program.cuh"

static const size_t n = 256 << 20;
static const int threads = 256, each = 16;
static const size_t blocks = n / threads / each;

/* sums[block] = sum of its 4096 numbers. */
__global__ void managed_sum(const uint32_t *in, uint32_t *sums)
{
    __shared__ uint32_t part[threads];
    int tid = threadIdx.x;
    uint32_t sum = 0;
#pragma unroll 4
    for (int k = 0; k < each; k++)
        sum += in[((size_t)blockIdx.x * each + k) * threads + tid];
    part[tid] = sum;
    __syncthreads();
#pragma unroll 1
    for (int s = threads / 2; s > 0; s /= 2) {
        if (tid < s)
            part[tid] += part[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        sums[blockIdx.x] = part[0];
}

static void prefetch(const uint32_t *data, size_t bytes)
{
    int device = 0;
    WS_CUDA(cudaGetDevice(&device));
#if CUDART_VERSION >= 13000
    cudaMemLocation where = {};
    where.type = cudaMemLocationTypeDevice;
    where.id = device;
    WS_CUDA(cudaMemPrefetchAsync(data, bytes, where, 0));
#else
    WS_CUDA(cudaMemPrefetchAsync(data, bytes, device));
#endif
}

/* Managed memory for one variant: what one run left on the GPU would not fault in the next. */
class managed_data
{
  public:
    managed_data()
    {
        WS_CUDA(cudaMallocManaged(&data, n * sizeof *data));
    }
    ~managed_data()
    {
        cudaFree(data);
    }
    managed_data(const managed_data &) = delete;
    managed_data &operator=(const managed_data &) = delete;
    uint32_t *data = nullptr;
};

static void variant(ws_run &run, const char *name, bool with_prefetch)
{
    int can_fault = 0;
    WS_CUDA(cudaDeviceGetAttribute(&can_fault, cudaDevAttrConcurrentManagedAccess, 0));
    if (!run.wants(name))
        return;
    if (!can_fault) {
        run.skip(name, "this GPU or system does not fetch managed memory on demand");
        return;
    }
    const managed_data managed;
    const uint32_t factor = run.random.next() | 1;
    ws_buffer<uint32_t> sums(blocks);
    pinned_buffer<uint32_t> result(blocks);
    run.variant(
        name,
        [&] {
            for (size_t i = 0; i < n; i++)
                managed.data[i] = (uint32_t)i * factor;
        },
        [&] {
            if (with_prefetch)
                prefetch(managed.data, n * sizeof *managed.data);
            managed_sum<<<(unsigned)blocks, threads>>>(managed.data, sums.device);
        },
        [&] {
            const uint32_t count = threads * each;
            WS_CUDA(cudaMemcpy(result.host, sums.device, result.bytes(), cudaMemcpyDeviceToHost));
            /* factor * (sum of count successive numbers from block * count on), modulo 2^32 */
            return ws_compare(
                result.host, blocks,
                [&](size_t block) {
                    return (uint32_t)(factor * (count * (uint32_t)block * count + count * (count - 1) / 2));
                },
                0);
        });
}

static void run(ws_run &run)
{
    variant(run, "managed_first_touch", false);
    variant(run, "managed_prefetched", true);
}

WS_REFERENCE("H5", "managed", "1 GiB of managed memory: page faults, or a prefetch", run,
             {"managed_first_touch", "managed_prefetched"});
