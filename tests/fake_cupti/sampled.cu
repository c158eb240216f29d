// SPDX-License-Identifier: MIT
// sampled.cu: the code behind the fake's kernels, for PC sampling: sampled.cubin is this file, compiled by nvcc 13.0 in
// a folder whose name the fake can replace (same length):
//   mkdir /tmp/ws-sampled-000000 && cp tests/fake_cupti/sampled.cu /tmp/ws-sampled-000000 && cd /tmp/ws-sampled-000000
//   nvcc -cubin -lineinfo -arch=sm_90 -Xptxas -O1 sampled.cu -o sampled.cubin
// It is never run. fake_cupti.c says which of its instructions get samples: a change of a line needs one there.

__device__ __forceinline__ float twice(float x)
{
    return x * 2.0f; // line 10: inlined into transpose
}

__global__ void transpose(const float *in, float *out)
{
    __shared__ float tile[32][32];
    int x = threadIdx.x, y = threadIdx.y;
    tile[y][x] = twice(in[y * 32 + x]);
    __syncthreads();
    out[y * 32 + x] = tile[x][y]; // line 19: 32 banks' worth of conflicts
}

__global__ void vecadd(const float *a, const float *b, float *c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    c[i] = a[i] + b[i]; // line 25
}
