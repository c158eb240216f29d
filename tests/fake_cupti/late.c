/* SPDX-License-Identifier: MIT
 * late.c: a library whose constructor makes the program's first context, while the loader's lock is held. */
#include <cuda.h>

static __attribute__((constructor)) void begin(void)
{
    CUcontext context;
    if (cuInit(0) == CUDA_SUCCESS)
        (void)cuDevicePrimaryCtxRetain(&context, 0);
}
