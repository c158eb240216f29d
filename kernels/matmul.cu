/* SPDX-License-Identifier: MIT
 * matmul.cu: C = A B, 1024 x 1024 floats, four times: naive (every operand from global memory), through square tiles
 * of 16 or 32 in shared memory, and with an 8 x 8 register tile per thread whose shared accesses are 128 bits wide and
 * free of bank conflicts. Expected counters: matmul.expect. */
#include "harness.h"

__global__ void matmul_naive(const float *a, const float *b, float *c, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    if (row < n && col < n) {
        for (int k = 0; k < n; k++)
            sum += a[row * n + k] * b[k * n + col];
        c[row * n + col] = sum;
    }
}

template <int TILE> __global__ void matmul_tiled(const float *a, const float *b, float *c, int n)
{
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
#pragma unroll 1
    for (int t = 0; t < n; t += TILE) {
        as[ty][tx] = a[row * n + t + tx];
        bs[ty][tx] = b[(t + ty) * n + col];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; k++)
            sum = __fmaf_rn(as[ty][k], bs[k][tx], sum);
        __syncthreads();
    }
    c[row * n + col] = sum;
}

/* 64 x 64 outputs a block of 64 threads, 8 columns of A and 8 rows of B a step. A thread owns rows 4 ty … + 3 and
 * 32 + 4 ty … + 3, and likewise columns by tx. Lane bits: 0 -> ty, 1 -> tx, 2-3 -> tx, 4 -> ty, so that in every load
 * of A or B lane pairs (n, n^2) or (n, n^1) read the same 16 bytes, and every eight lanes at most 128 bytes in a row.
 */
static const int reg_tile = 64, reg_depth = 8, reg_threads = 64, reg_pitch = 68;

__global__ void __launch_bounds__(reg_threads) matmul_reg(const float *a, const float *b, float *c, int n)
{
    /* A is kept transposed. Its pitch of 68 floats (4 mod 32) lets the two halves of a row, four k apart, be stored
     * into banks 16 apart, and keeps 16-byte alignment. */
    __shared__ __align__(16) float as[reg_depth][reg_pitch];
    __shared__ __align__(16) float bs[reg_depth][reg_tile];
    const int t = threadIdx.x;
    const int ty = (t & 1) | ((t >> 4) & 3) << 1, tx = (t >> 1) & 7;
    const int row0 = blockIdx.y * reg_tile, col0 = blockIdx.x * reg_tile;
    const int a_row = t >> 1, a_k = (t & 1) * 4;  /* this thread's piece of A: rows a_row and a_row + 32 */
    const int b_k = t >> 4, b_col = (t & 15) * 4; /* and of B: rows b_k and b_k + 4 */
    const float *from_a = a + (row0 + a_row) * n + a_k;
    const float *from_b = b + b_k * n + col0 + b_col;
    float sum[8][8] = {};
    float4 next_a[2], next_b[2];
    next_a[0] = *(const float4 *)from_a;
    next_a[1] = *(const float4 *)(from_a + 32 * n);
    next_b[0] = *(const float4 *)from_b;
    next_b[1] = *(const float4 *)(from_b + 4 * n);
#pragma unroll 1
    for (int k0 = 0; k0 < n; k0 += reg_depth) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            as[a_k + 0][a_row + 32 * half] = next_a[half].x;
            as[a_k + 1][a_row + 32 * half] = next_a[half].y;
            as[a_k + 2][a_row + 32 * half] = next_a[half].z;
            as[a_k + 3][a_row + 32 * half] = next_a[half].w;
            *(float4 *)&bs[b_k + 4 * half][b_col] = next_b[half];
        }
        __syncthreads();
        if (k0 + reg_depth < n) { /* fetch the next step while this one is computed */
            from_a += reg_depth;
            from_b += reg_depth * n;
            next_a[0] = *(const float4 *)from_a;
            next_a[1] = *(const float4 *)(from_a + 32 * n);
            next_b[0] = *(const float4 *)from_b;
            next_b[1] = *(const float4 *)(from_b + 4 * n);
        }
#pragma unroll
        for (int k = 0; k < reg_depth; k++) {
            float x[8], y[8];
            *(float4 *)&x[0] = *(const float4 *)&as[k][4 * ty];
            *(float4 *)&x[4] = *(const float4 *)&as[k][4 * ty + 32];
            *(float4 *)&y[0] = *(const float4 *)&bs[k][4 * tx];
            *(float4 *)&y[4] = *(const float4 *)&bs[k][4 * tx + 32];
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 8; j++)
                    sum[i][j] = __fmaf_rn(x[i], y[j], sum[i][j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        float *to = c + (row0 + 4 * ty + (i < 4 ? i : 28 + i)) * n + col0 + 4 * tx;
        *(float4 *)to = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
        *(float4 *)(to + 32) = make_float4(sum[i][4], sum[i][5], sum[i][6], sum[i][7]);
    }
}

/* The product is judged in two ways: eight whole rows against a double-precision product, and every row by its
 * inner product with one vector of signs, A (B v), which a single wrong element changes. */
class matmul_judge
{
  public:
    matmul_judge(ws_random &random, const std::vector<float> &a, const std::vector<float> &b, int n_) : n(n_), sign(n_)
    {
        std::vector<double> bv(n);
        for (int i = 0; i < n; i++)
            sign[i] = random.below(2) ? 1.0 : -1.0;
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                bv[k] += (double)b[k * n + j] * sign[j];
        projected.resize(n);
        for (int i = 0; i < n; i++)
            for (int k = 0; k < n; k++)
                projected[i] += (double)a[i * n + k] * bv[k];
        for (int r = 0; r < 8; r++) {
            rows.push_back(r == 0 ? 0 : r == 1 ? n - 1 : (int)random.below((uint32_t)n));
            products.emplace_back(n);
            for (int k = 0; k < n; k++)
                for (int j = 0; j < n; j++)
                    products[r][j] += (double)a[rows[r] * n + k] * b[k * n + j];
        }
    }
    std::string check(const std::vector<float> &c) const
    {
        std::vector<double> error(n);
        for (size_t r = 0; r < rows.size(); r++) {
            const std::string problem = ws_compare(
                &c[(size_t)rows[r] * n], n, [&](size_t j) { return products[r][j]; }, 1e-4);
            if (!problem.empty())
                return "row " + std::to_string(rows[r]) + ": " + problem;
        }
        for (int i = 0; i < n; i++) {
            error[i] = -projected[i];
            for (int j = 0; j < n; j++)
                error[i] += c[(size_t)i * n + j] * sign[j];
        }
        /* Elements near 256, each wrong by some 1e-4 at random: 1024 of them add up to some 0.01. */
        const std::string problem = ws_compare(
            error, [](size_t) { return 0.0; }, 0.1, 1.0);
        return problem.empty() ? "" : "projection: " + problem;
    }

  private:
    int n;
    std::vector<double> sign, projected;
    std::vector<int> rows;
    std::vector<std::vector<double>> products;
};

static void run(ws_run &run)
{
    const int n = 1024;
    const std::vector<float> a = run.random.floats(n * n), b = run.random.floats(n * n);
    const ws_buffer<float> da(a), db(b);
    ws_buffer<float> dc(n * n);
    const matmul_judge judge(run.random, a, b, n);
    const auto poison = [&] { dc.poison(); };
    const auto check = [&] { return judge.check(dc.read()); };
    run.variant(
        "matmul_naive", poison,
        [&] { matmul_naive<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(da.device, db.device, dc.device, n); }, check);
    run.variant(
        "matmul_tiled<16>", poison,
        [&] { matmul_tiled<16><<<dim3(n / 16, n / 16), dim3(16, 16)>>>(da.device, db.device, dc.device, n); }, check);
    run.variant(
        "matmul_tiled<32>", poison,
        [&] { matmul_tiled<32><<<dim3(n / 32, n / 32), dim3(32, 32)>>>(da.device, db.device, dc.device, n); }, check);
    run.variant(
        "matmul_reg", poison,
        [&] { matmul_reg<<<dim3(n / reg_tile, n / reg_tile), reg_threads>>>(da.device, db.device, dc.device, n); },
        check);
}

WS_REFERENCE("K11", "matmul", "matrix product: naive, tiles of 16 and 32, register tile", run,
             {"matmul_naive", "matmul_tiled<16>", "matmul_tiled<32>", "matmul_reg"});
