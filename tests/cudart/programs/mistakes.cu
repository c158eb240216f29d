/* SPDX-License-Identifier: MIT
 * mistakes.cu: one planted mistake, by name: deref past freed twice kind leak launch kernel assert stack refused
 * array rows filter texture. What the runtime answers
 * is printed; what the model says about it is the test's business. */
#include "program.h"

#include <cassert>
#include <cstring>

__global__ void write(int *x, int i)
{
    x[i] = 1;
}

__global__ void insist(int n)
{
    assert((int)threadIdx.x < n);
}

__device__ __noinline__ int deep(volatile int *x, int n)
{
    x[n & 7] = n;
    if (x[9] == 1) /* never */
        return 0;
    int below = deep(x, n + 1);
    return below + deep(x, below & 7) + x[0];
}

__global__ void endless(int *x)
{
    x[1] = deep(x, 0);
}

/* A special register that the model does not have. */
__global__ void measured(int *x)
{
    asm volatile("mov.u32 %0, %%pm0;" : "=r"(x[0]));
}

__global__ void fetch(int *x, cudaTextureObject_t t)
{
    x[0] = tex1D<int>(t, 3.0f);
}

/* Arrays and textures: freed twice, copied past its rows, filtered as integers, used after its array is gone. */
static cudaError_t textures(const char *what, int *x, const int *host)
{
    cudaArray_t array;
    cudaTextureObject_t t = 0;
    cudaResourceDesc resource = {};
    cudaTextureDesc texture = {};
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<int>();
    OK(cudaMallocArray(&array, &desc, 32));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    texture.filterMode = strcmp(what, "filter") == 0 ? cudaFilterModeLinear : cudaFilterModePoint;
    cudaError_t code = cudaCreateTextureObject(&t, &resource, &texture, nullptr);
    if (strcmp(what, "rows") == 0)
        code = cudaMemcpy2DToArray(array, 0, 0, host, 128, 128, 2, cudaMemcpyHostToDevice);
    OK(cudaFreeArray(array));
    if (strcmp(what, "array") == 0)
        code = cudaFreeArray(array);
    if (strcmp(what, "texture") == 0) {
        fetch<<<1, 1>>>(x, t);
        code = cudaDeviceSynchronize();
    }
    (void)cudaDestroyTextureObject(t);
    return code;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int host[32] = {};
    int *x;
    cudaError_t code = cudaSuccess;
    OK(cudaMalloc(&x, sizeof host));
    if (strcmp(what, "deref") == 0) {
        x[0] = 1; /* a device pointer in host code */
    } else if (strcmp(what, "past") == 0) {
        code = cudaMemcpy(x, host, sizeof host + 8, cudaMemcpyHostToDevice);
    } else if (strcmp(what, "freed") == 0) {
        OK(cudaFree(x));
        code = cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
        return printf("%d\n", code) < 0;
    } else if (strcmp(what, "twice") == 0) {
        OK(cudaFree(x));
        code = cudaFree(x);
        return printf("%d\n", code) < 0;
    } else if (strcmp(what, "kind") == 0) {
        code = cudaMemcpy(x, host, sizeof host, cudaMemcpyDeviceToHost);
    } else if (strcmp(what, "leak") == 0) {
        return printf("0\n") < 0;
    } else if (strcmp(what, "launch") == 0) {
        write<<<1, 2048>>>(x, 0); /* nobody asks whether it ran */
    } else if (strcmp(what, "array") == 0 || strcmp(what, "rows") == 0 || strcmp(what, "filter") == 0 || strcmp(what, "texture") == 0) {
        code = textures(what, x, host);
    } else if (strcmp(what, "kernel") == 0) {
        write<<<1, 1>>>(x, 40);
        code = cudaDeviceSynchronize();
    } else if (strcmp(what, "assert") == 0) {
        insist<<<2, 32>>>(31);
        code = cudaDeviceSynchronize();
    } else if (strcmp(what, "stack") == 0) {
        endless<<<1, 32>>>(x);
        code = cudaDeviceSynchronize();
    } else if (strcmp(what, "refused") == 0) {
        measured<<<1, 1>>>(x);
        code = cudaGetLastError();
        write<<<1, 1>>>(x, 3); /* others run */
        OK(cudaDeviceSynchronize());
        OK(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
        printf("%s\n", host[3] == 1 ? "written" : "not written");
    }
    printf("%d\n", code);
    (void)cudaFree(x);
    return 0;
}
