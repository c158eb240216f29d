/* SPDX-License-Identifier: MIT
 * vec_add.cu: the kernel in the *.fatbin files beside it, which `make cudart-fatbins` makes with nvcc. */
extern "C" __global__ void vec_add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
