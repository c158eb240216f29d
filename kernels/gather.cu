/* SPDX-License-Identifier: MIT
 * gather.cu: out[i] = data[index[i]] over 2^24 floats (64 MiB), with scattered and with sorted indices.
 * The scattered order goes eight times over all sectors of the data, each time in the same pseudo-random order and for
 * another float of the sector, first the even, then the odd sectors of all 64-byte pairs: no warp reads a sector twice,
 * and whatever an L2 smaller than the data keeps is thrown out before it is asked for again.
 * Expected counters: gather.expect. */
#include "harness.h"

static const int n = 1 << 24, sector = 8, pair_bits = 20;

__global__ void gather_scattered(const float *data, const uint32_t *index, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = data[index[i]];
}

__global__ void gather_sorted(const float *data, const uint32_t *index, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = data[index[i]];
}

/* A permutation of the 2^20 pairs of sectors: odd factors and right shifts can both be undone. */
class pair_order
{
  public:
    explicit pair_order(ws_random &random) : first(random.next() | 1), second(random.next() | 1), offset(random.next())
    {
    }
    uint32_t operator()(uint32_t i) const
    {
        const uint32_t mask = (1u << pair_bits) - 1;
        i = (i * first + offset) & mask;
        i ^= i >> 9;
        i = (i * second) & mask;
        return i ^ (i >> 11);
    }

  private:
    uint32_t first, second, offset;
};

static void run(ws_run &run)
{
    const pair_order order(run.random);
    const std::vector<float> data = run.random.floats(n);
    std::vector<uint32_t> index(n);
    ws_buffer<float> out(n);
    const ws_buffer<float> ddata(data);
    const auto poison = [&] { out.poison(); };
    const auto check = [&] {
        return ws_compare(
            out.read(), [&](size_t i) { return data[index[i]]; }, 0);
    };
    /* i counts, from its low bits up: the pair, which sector of it, which float of the sector. */
    for (uint32_t i = 0; i < n; i++)
        index[i] = (order(i & ((1u << pair_bits) - 1)) * 2 + (i >> pair_bits & 1)) * sector + (i >> (pair_bits + 1));
    {
        const ws_buffer<uint32_t> scattered(index);
        run.variant(
            "gather_scattered", poison,
            [&] { gather_scattered<<<n / 256, 256>>>(ddata.device, scattered.device, out.device); }, check);
    }
    for (uint32_t i = 0; i < n; i++)
        index[i] = i;
    const ws_buffer<uint32_t> sorted(index);
    run.variant(
        "gather_sorted", poison, [&] { gather_sorted<<<n / 256, 256>>>(ddata.device, sorted.device, out.device); },
        check);
}

WS_REFERENCE("K27", "gather", "reads through scattered and through sorted indices", run,
             {"gather_scattered", "gather_sorted"});
