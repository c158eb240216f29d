/* SPDX-License-Identifier: MIT
 * host.c: what nvcc makes of a small CUDA program, by hand: a fatbin, its registration, launches. So the stand-in is
 * tested where there is no CUDA toolkit. FATBIN is the file to carry. Arguments: what to do, see main(). */
#include "../../collector/cudart/abi.h"

#include <stdio.h>
#include <string.h>

#ifndef FATBIN /* a look at this file without the makefile */
#define FATBIN "/dev/null"
#endif
__asm__(".section .nv_fatbin,\"a\"\n.balign 8\nfatbin_bytes: .incbin \"" FATBIN "\"\n.previous\n");
extern const char fatbin_bytes[];

/* NOLINTBEGIN(bugprone-reserved-identifier) */
void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *stub, char *device, const char *name, int, void *, void *,
                            void *, void *, int *);
/* NOLINTEND(bugprone-reserved-identifier) */
int cudaMalloc(void **out, size_t bytes);
int cudaFree(void *at);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaLaunchKernel(const void *symbol, struct rt_dim3 grid, struct rt_dim3 block, void **arguments, size_t shared,
                     void *stream);
int cudaGetLastError(void);
int cudaDeviceSynchronize(void);
int cudaMallocMipmappedArray(void);
int cudaStreamBeginCapture(void *stream, int mode);
const char *cudaGetErrorString(int code);
const char *cudaGetErrorName(int code);

static struct rt_fatbin_wrapper wrapper = {RT_FATBIN_MAGIC, 1, fatbin_bytes, NULL};
static void **handle;
static char stub; /* its address stands for the kernel */

static int vec_add(float *a, float *b, float *c, int n, unsigned threads)
{
    void *arguments[] = {&a, &b, &c, &n};
    struct rt_dim3 grid = {((unsigned)n + threads - 1) / threads, 1, 1}, block = {threads, 1, 1};
    return cudaLaunchKernel(&stub, grid, block, arguments, 0, NULL);
}

static int add(int n, unsigned threads)
{
    static float a[1000], b[1000], c[1000];
    void *d[3];
    int wrong = 0, code;
    for (int i = 0; i < 1000; i++)
        a[i] = (float)i, b[i] = 0.5f;
    for (int k = 0; k < 3; k++)
        if (cudaMalloc(&d[k], sizeof a) != RT_Success)
            return 2;
    (void)cudaMemcpy(d[0], a, sizeof a, RT_HOST_TO_DEVICE);
    (void)cudaMemcpy(d[1], b, sizeof b, RT_HOST_TO_DEVICE);
    code = vec_add(d[0], d[1], d[2], n, threads);
    if (code == RT_Success)
        code = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorName(code));
    (void)cudaMemcpy(c, d[2], sizeof c, RT_DEVICE_TO_HOST);
    for (int i = 0; i < 1000; i++)
        wrong += c[i] != (float)i + 0.5f;
    printf("%d wrong\n", wrong);
    for (int k = 0; k < 3; k++)
        (void)cudaFree(d[k]);
    return 0;
}

/* More launches than get counters. */
static int many(void)
{
    void *d = NULL;
    int code = cudaMalloc(&d, 128);
    for (int k = 0; k < 1002 && code == RT_Success; k++)
        code = vec_add(d, d, d, 32, 32);
    printf("%s\n", cudaGetErrorName(code));
    return cudaFree(d);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "add";
    void *d = NULL;
    int code = 0, result = 0;
    handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, &stub, &stub, "vec_add", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFatBinaryEnd(handle);
    if (strcmp(what, "add") == 0)
        return add(1000, 128);
    if (strcmp(what, "past") == 0)
        return add(1001, 1001); /* one float behind each buffer */
    if (strcmp(what, "wide") == 0)
        return add(1000, 2048);
    if (strcmp(what, "half") == 0) { /* reads 16 floats that were written and 16 that were not */
        static const char zeros[64];
        (void)cudaMalloc(&d, 128);
        (void)cudaMemcpy(d, zeros, sizeof zeros, RT_HOST_TO_DEVICE);
        return vec_add(d, d, d, 32, 32) + cudaFree(d);
    }
    if (strcmp(what, "many") == 0)
        return many();
    (void)cudaMalloc(&d, 64);
    if (strcmp(what, "deref") == 0)
        result = *(volatile int *)d;
    else if (strcmp(what, "inside") == 0)
        code = cudaFree((char *)d + 16);
    else if (strcmp(what, "unserved") == 0)
        code = cudaMallocMipmappedArray();
    else if (strcmp(what, "capture") == 0)
        code = cudaStreamBeginCapture(NULL, 0);
    printf("%s %d\n", cudaGetErrorString(code), cudaGetLastError() == code);
    (void)cudaFree(d);
    __cudaUnregisterFatBinary(handle);
    return result;
}
