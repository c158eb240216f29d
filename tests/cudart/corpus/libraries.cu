/* SPDX-License-Identifier: MIT
 * libraries.cu: kernels of CUB and Thrust, as the toolkit's headers have them: block and device reductions, scans, radix
 * sorts, with their temporary storage, look-back across blocks and occupancy queries. Prints "NAME ok" lines. */
#include "../programs/program.h"

#include <algorithm>
#include <cub/cub.cuh>
#include <numeric>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>

__global__ void blocks(const int *in, int *out)
{
    using reduce = cub::BlockReduce<int, 128>;
    using scan = cub::BlockScan<int, 128>;
    using sort = cub::BlockRadixSort<int, 128, 1>;
    __shared__ union {
        reduce::TempStorage reduce_storage;
        scan::TempStorage scan_storage;
        sort::TempStorage sort_storage;
    } storage;
    int v = in[threadIdx.x], before, key[1] = {v};
    int sum = reduce(storage.reduce_storage).Sum(v);
    __syncthreads();
    scan(storage.scan_storage).ExclusiveSum(v, before);
    __syncthreads();
    sort(storage.sort_storage).Sort(key);
    out[threadIdx.x] = key[0];
    out[128 + threadIdx.x] = before;
    if (threadIdx.x == 0)
        out[256] = sum;
}

static void check_blocks(const std::vector<int> &in, int *device)
{
    buffer<int> out(257);
    std::vector<int> sorted(in.begin(), in.begin() + 128), got;
    int run = 0;
    bool right = true;
    blocks<<<1, 128>>>(device, out.device);
    got = out.host();
    std::sort(sorted.begin(), sorted.end());
    for (int i = 0; i < 128; i++) {
        right &= got[i] == sorted[i] && got[128 + i] == run;
        run += in[i];
    }
    check("cub blocks", right && got[256] == run);
}

static void check_device(const std::vector<int> &in, int *device)
{
    int n = (int)in.size();
    buffer<int> sum(1), scan(n);
    std::vector<int> want(n);
    size_t bytes = 0, more = 0;
    OK(cub::DeviceReduce::Sum(nullptr, bytes, device, sum.device, n));
    OK(cub::DeviceScan::InclusiveSum(nullptr, more, device, scan.device, n));
    buffer<char> temporary(bytes > more ? bytes : more);
    OK(cub::DeviceReduce::Sum(temporary.device, bytes, device, sum.device, n));
    check("device reduce", sum.host()[0] == std::accumulate(in.begin(), in.end(), 0));
    OK(cub::DeviceScan::InclusiveSum(temporary.device, more, device, scan.device, n));
    std::partial_sum(in.begin(), in.end(), want.begin());
    check("device scan", scan.host() == want);
}

int main()
{
    std::vector<int> in(5000), got(5000), want;
    for (int i = 0; i < 5000; i++)
        in[i] = (i * 7919) % 10007 - 5000;
    buffer<int> device(in);
    check_blocks(in, device.device);
    check_device(in, device.device);
    {
        thrust::device_vector<int> v(in.begin(), in.end());
        thrust::sort(v.begin(), v.end());
        thrust::copy(v.begin(), v.end(), got.begin());
        want = in;
        std::sort(want.begin(), want.end());
        check("thrust sort", got == want);
        check("thrust reduce", thrust::reduce(v.begin(), v.end(), -100000, thrust::maximum<int>()) == want.back());
    }
    OK(cudaDeviceSynchronize());
    return failed;
}
