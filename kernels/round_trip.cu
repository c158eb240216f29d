/* SPDX-License-Identifier: MIT
 * round_trip.cu: eight element-wise operations on 10^7 floats. bad: each copies its input in and its result out (16
 * copies, 640 MB over the link). resident: in once, out once (2 copies, 80 MB). fused: one kernel does all eight.
 * Expected findings: round_trip.expect. */
#include "program.cuh"

static const int n = 10000000, operations = 8, threads = 256, blocks = (n + threads - 1) / threads;

/* Operation i: x -> a[i] x + b[i]. */
struct round_trip_lines {
    float a[operations], b[operations];
};

__global__ void round_trip_step(const float *in, float *out, float a, float b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = __fmaf_rn(in[i], a, b);
}

__global__ void round_trip_eight(const float *in, float *out, round_trip_lines lines)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float x = in[i];
#pragma unroll
        for (int k = 0; k < operations; k++)
            x = __fmaf_rn(x, lines.a[k], lines.b[k]);
        out[i] = x;
    }
}

/* Host data in page-locked memory, two device buffers to go to and fro between. */
class round_trip_data
{
  public:
    explicit round_trip_data(ws_random &random) : start(random.floats(n)), data(n), first(n), second(n)
    {
        for (int k = 0; k < operations; k++) {
            lines.a[k] = random.between(0.5f, 1.0f);
            lines.b[k] = random.between(0.5f, 1.0f);
        }
    }
    void reset()
    {
        std::memcpy(data.host, start.data(), data.bytes());
    }
    void copy_in(float *to)
    {
        WS_CUDA(cudaMemcpy(to, data.host, data.bytes(), cudaMemcpyHostToDevice));
    }
    void copy_out(const float *from)
    {
        WS_CUDA(cudaMemcpy(data.host, from, data.bytes(), cudaMemcpyDeviceToHost));
    }
    std::string check() const
    {
        double a = 1, b = 0;
        for (int k = 0; k < operations; k++) {
            a *= lines.a[k];
            b = b * lines.a[k] + lines.b[k];
        }
        return ws_compare(
            data.host, n, [&](size_t i) { return a * start[i] + b; }, 1e-5);
    }

    std::vector<float> start;
    pinned_buffer<float> data;
    ws_buffer<float> first, second;
    round_trip_lines lines;
};

static void step(round_trip_data &d, int k, const float *from, float *to)
{
    round_trip_step<<<blocks, threads>>>(from, to, d.lines.a[k], d.lines.b[k]);
    WS_CUDA(cudaGetLastError());
}

static void run(ws_run &run)
{
    round_trip_data d(run.random);
    const auto reset = [&] { d.reset(); };
    const auto check = [&] { return d.check(); };
    run.variant(
        "round_trip_bad", reset,
        [&] {
            for (int k = 0; k < operations; k++) {
                d.copy_in(d.first.device);
                step(d, k, d.first.device, d.second.device);
                d.copy_out(d.second.device);
            }
        },
        check);
    run.variant(
        "round_trip_resident", reset,
        [&] {
            d.copy_in(d.first.device);
            for (int k = 0; k < operations; k += 2) {
                step(d, k, d.first.device, d.second.device);
                step(d, k + 1, d.second.device, d.first.device);
            }
            d.copy_out(d.first.device);
        },
        check);
    run.variant(
        "round_trip_fused", reset,
        [&] {
            d.copy_in(d.first.device);
            round_trip_eight<<<blocks, threads>>>(d.first.device, d.second.device, d.lines);
            WS_CUDA(cudaGetLastError());
            d.copy_out(d.second.device);
        },
        check);
}

WS_REFERENCE("H1", "round_trip", "eight operations: out and in at each, resident, fused", run,
             {"round_trip_bad", "round_trip_resident", "round_trip_fused"});
