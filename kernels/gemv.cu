/* SPDX-License-Identifier: MIT
 * gemv.cu: the decode step of a language model: a 4096 x 4096 half-precision matrix times B = 1 ... 64 vectors on the
 * CUDA cores, a warp per row. The matrix is read once whatever B is, so the bound moves from DRAM to arithmetic.
 * Launches take turns on four matrices: one alone (32 MiB) could stay in L2. Expected counters: gemv.expect. */
#include "harness.h"

#include <cuda_fp16.h>

static const int size = 4096, matrices = 4, chunk = 8 * 32;

/* Eight halves that were loaded as 16 bytes, as floats. */
__device__ __forceinline__ void unpack(uint4 from, float *to)
{
    const uint32_t word[4] = {from.x, from.y, from.z, from.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        to[2 * i] = __half2float(__ushort_as_half((unsigned short)word[i]));
        to[2 * i + 1] = __half2float(__ushort_as_half((unsigned short)(word[i] >> 16)));
    }
}

/* w[size][size] and x[BATCH][size] are halves, by their bits; y[BATCH][size]. */
template <int BATCH> __global__ void __launch_bounds__(256) gemv(const uint16_t *w, const uint16_t *x, float *y)
{
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float sum[BATCH];
#pragma unroll
    for (int b = 0; b < BATCH; b++)
        sum[b] = 0.0f;
        /* Few vectors leave registers for more of the matrix in flight. */
#pragma unroll(BATCH <= 4 ? 4 : 1)
    for (int k = lane * 8; k < size; k += chunk) {
        float weight[8];
        unpack(*(const uint4 *)(w + (size_t)row * size + k), weight);
#pragma unroll
        for (int b = 0; b < BATCH; b++) {
            float value[8];
            unpack(*(const uint4 *)(x + b * size + k), value);
#pragma unroll
            for (int i = 0; i < 8; i++)
                sum[b] = __fmaf_rn(weight[i], value[i], sum[b]);
        }
    }
#pragma unroll
    for (int b = 0; b < BATCH; b++) {
#pragma unroll
        for (int s = 16; s > 0; s /= 2)
            sum[b] = __fadd_rn(sum[b], __shfl_xor_sync(0xffffffff, sum[b], s));
        if (lane == 0)
            y[b * size + row] = sum[b];
    }
}

/* A random half in +-[0.5, 1), and its value. */
static uint16_t random_half(ws_random &random)
{
    return (uint16_t)(0x3800 | (random.next() & 0x83ff));
}
static float half_value(uint16_t bits)
{
    const float magnitude = 0.5f + (float)(bits & 0x3ff) / 2048.0f;
    return bits & 0x8000 ? -magnitude : magnitude;
}

/* Matrices, vectors, and what is needed to judge a product: matrix m is matrix 0 with its rows turned by m * turn. */
class gemv_data
{
  public:
    explicit gemv_data(ws_random &random_)
        : random(random_), w((size_t)size * size), x(64 * size), dw(w.size() * matrices), dx(x.size()), dy(x.size())
    {
        std::vector<uint16_t> host(w.size());
        const size_t matrix = w.size(), part = (size_t)turn * size;
        for (size_t i = 0; i < matrix; i++) {
            host[i] = random_half(random);
            w[i] = half_value(host[i]);
        }
        WS_CUDA(cudaMemcpy(dw.device, host.data(), matrix * sizeof(uint16_t), cudaMemcpyHostToDevice));
        for (int m = 1; m < matrices; m++) {
            const uint16_t *from = dw.device + (m - 1) * matrix;
            uint16_t *to = dw.device + m * matrix;
            WS_CUDA(cudaMemcpy(to, from + part, (matrix - part) * sizeof(uint16_t), cudaMemcpyDeviceToDevice));
            WS_CUDA(cudaMemcpy(to + matrix - part, from, part * sizeof(uint16_t), cudaMemcpyDeviceToDevice));
        }
        host.resize(x.size());
        for (size_t i = 0; i < x.size(); i++) {
            host[i] = random_half(random);
            x[i] = half_value(host[i]);
        }
        WS_CUDA(cudaMemcpy(dx.device, host.data(), x.size() * sizeof(uint16_t), cudaMemcpyHostToDevice));
        /* One vector of signs, and its product with matrix 0 from the left. */
        sign.resize(size);
        signed_sum.resize(size);
        for (int row = 0; row < size; row++) {
            sign[row] = random.below(2) ? 1.0 : -1.0;
            for (int k = 0; k < size; k++)
                signed_sum[k] += sign[row] * w[(size_t)row * size + k];
        }
    }

    /* Sixteen rows in full, and all rows by their inner product with the signs. */
    std::string check(int batch, int m) const
    {
        const std::vector<float> y = dy.read();
        for (int b = 0; b < batch; b++) {
            double projected = 0, got = 0;
            for (int k = 0; k < size; k++)
                projected += signed_sum[k] * x[(size_t)b * size + k];
            for (int row = 0; row < size; row++)
                got += sign[(row + m * turn) % size] * y[(size_t)b * size + row];
            /* 4096 outputs, each wrong by some 1e-5 at random. */
            if (!(std::fabs(got - projected) < 0.05))
                return "vector " + std::to_string(b) + ": projection " + std::to_string(got) + ", should be " +
                       std::to_string(projected);
            for (int i = 0; i < 16; i++) {
                const int row = (int)random.below(size);
                const float *weights = &w[(size_t)((row + m * turn) % size) * size];
                double want = 0;
                for (int k = 0; k < size; k++)
                    want += (double)weights[k] * x[(size_t)b * size + k];
                const std::string problem = ws_compare(
                    &y[(size_t)b * size + row], 1, [&](size_t) { return want; }, 1e-4, 10.0);
                if (!problem.empty())
                    return "vector " + std::to_string(b) + ", row " + std::to_string(row) + ": " + problem;
            }
        }
        return "";
    }

    const uint16_t *matrix(int m) const
    {
        return dw.device + (size_t)m * size * size;
    }

  private:
    static const int turn = 1000;
    ws_random &random;
    std::vector<float> w, x;
    std::vector<double> sign, signed_sum;
    ws_buffer<uint16_t> dw;

  public:
    ws_buffer<uint16_t> dx;
    ws_buffer<float> dy;
};

template <int BATCH> static void batch(ws_run &run, gemv_data &data, int *turn)
{
    const std::string name = "gemv<" + std::to_string(BATCH) + ">";
    run.variant(
        name.c_str(),
        [&] {
            data.dy.poison();
            *turn = (*turn + 1) % matrices;
        },
        [&] { gemv<BATCH><<<512, 256>>>(data.matrix(*turn), data.dx.device, data.dy.device); },
        [&] { return data.check(BATCH, *turn); });
}

static void run(ws_run &run)
{
    gemv_data data(run.random);
    int turn = 0;
    batch<1>(run, data, &turn);
    batch<2>(run, data, &turn);
    batch<4>(run, data, &turn);
    batch<8>(run, data, &turn);
    batch<16>(run, data, &turn);
    batch<32>(run, data, &turn);
    batch<64>(run, data, &turn);
}

WS_REFERENCE("K29", "gemv", "half-precision matrix times 1 to 64 vectors", run,
             {"gemv<1>", "gemv<2>", "gemv<4>", "gemv<8>", "gemv<16>", "gemv<32>", "gemv<64>"});
