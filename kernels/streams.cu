/* SPDX-License-Identifier: MIT
 * streams.cu: copies of 128 MiB and kernels on them that take about as long. one: all of it in one stream, so nothing
 * overlaps. chunks: four chunks in four streams, from page-locked memory: about max + min / 4. pageable: the same from
 * pageable memory, which is staged. default: the kernels on the legacy default stream, which waits for all others.
 * Expected findings: streams.expect. */
#include "program.cuh"
#include "walk.cuh"

static const int chunks = 4, threads = 256, steps = 2048;
static const size_t n = 32 << 20, chunk = n / chunks;

/* sums[block] = sum of the walks of its 256 numbers: little to read back. */
__global__ void streams_work(const float *in, float *sums, walk_line line)
{
    __shared__ float part[threads];
    int tid = threadIdx.x;
    part[tid] = walk<steps>(in[(size_t)blockIdx.x * threads + tid], line);
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

class streams_data
{
  public:
    explicit streams_data(ws_random &random)
        : line(walk_random(random, steps)), source(random.floats(n, 1.0f, 2.0f)), device(n), sums(n / threads),
          result(n / threads)
    {
    }
    void copy(const float *host, size_t from, size_t count, cudaStream_t stream)
    {
        WS_CUDA(
            cudaMemcpyAsync(device.device + from, host + from, count * sizeof(float), cudaMemcpyHostToDevice, stream));
    }
    void work(size_t from, size_t count, cudaStream_t stream)
    {
        streams_work<<<(unsigned)(count / threads), threads, 0, stream>>>(device.device + from,
                                                                          sums.device + from / threads, line);
        WS_CUDA(cudaGetLastError());
    }
    /* 512 KiB; outside of what is judged, but for this one short copy. */
    std::string check()
    {
        const walk_end end(line, steps);
        WS_CUDA(cudaMemcpy(result.host, sums.device, result.bytes(), cudaMemcpyDeviceToHost));
        return ws_compare(
            result.host, result.count,
            [&](size_t block) {
                double sum = 0;
                for (int i = 0; i < threads; i++)
                    sum += end(source[block * threads + i]);
                return sum;
            },
            walk_tolerance(steps));
    }

    walk_line line;
    std::vector<float> source;
    ws_buffer<float> device, sums;
    pinned_buffer<float> result;
};

static void run(ws_run &run)
{
    streams_data d(run.random);
    pinned_buffer<float> locked(n);
    own_stream stream[chunks];
    const auto nothing = [] {};
    const auto check = [&] { return d.check(); };
    std::memcpy(locked.host, d.source.data(), locked.bytes());
    const auto pipeline = [&](const float *host, bool on_default) {
        for (int c = 0; c < chunks; c++) {
            d.copy(host, c * chunk, chunk, stream[c].stream);
            d.work(c * chunk, chunk, on_default ? cudaStreamLegacy : stream[c].stream);
        }
    };
    run.variant(
        "streams_one", nothing,
        [&] {
            d.copy(locked.host, 0, n, stream[0].stream);
            d.work(0, n, stream[0].stream);
        },
        check);
    run.variant(
        "streams_chunks", nothing, [&] { pipeline(locked.host, false); }, check);
    run.variant(
        "streams_pageable", nothing, [&] { pipeline(d.source.data(), false); }, check);
    run.variant(
        "streams_default", nothing, [&] { pipeline(locked.host, true); }, check);
}

WS_REFERENCE("H3", "streams", "copies and kernels: one stream, four chunks, pageable, default stream", run,
             {"streams_one", "streams_chunks", "streams_pageable", "streams_default"});
