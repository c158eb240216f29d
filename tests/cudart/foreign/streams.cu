/* SPDX-License-Identifier: MIT
 * streams.cu: four streams that copy, compute and copy back pieces of pinned arrays, with events between them, a callback, and
 * memory that belongs to a stream. */
#include "foreign.h"

static const int N = 1 << 16, STREAMS = 4, PIECE = N / STREAMS, BLOCK = 256;

__global__ void saxpy(float a, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = fmaf(a, x[i], y[i]);
}

__global__ void add(const float *const *parts, float *sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int k = 0; k < STREAMS; k++)
        s += parts[k][i];
    if (i < n)
        sum[i] = s;
}

static void CUDART_CB done(void *counter)
{
    ++*(int *)counter;
}

int main()
{
    float *x, *y, *dx, *dy, *dsum, **dparts, *parts[STREAMS];
    int callbacks = 0, wrong = 0;
    cudaStream_t stream[STREAMS], last;
    cudaEvent_t begin, end, ready[STREAMS];
    CUDA(cudaMallocHost(&x, N * sizeof(float)));
    CUDA(cudaMallocHost(&y, N * sizeof(float)));
    CUDA(cudaMalloc(&dx, N * sizeof(float)));
    CUDA(cudaMalloc(&dy, N * sizeof(float)));
    CUDA(cudaMalloc(&dparts, sizeof parts));
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i % 1000);
        y[i] = (float)(i % 7);
    }
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
    CUDA(cudaStreamCreateWithFlags(&last, cudaStreamNonBlocking));
    CUDA(cudaEventRecord(begin, last));
    for (int s = 0; s < STREAMS; s++) {
        CUDA(cudaStreamCreateWithPriority(&stream[s], cudaStreamNonBlocking, 0));
        CUDA(cudaEventCreateWithFlags(&ready[s], cudaEventDisableTiming));
        int at = s * PIECE, n = PIECE - s; /* the last elements of a piece stay as they are */
        CUDA(cudaMemcpyAsync(dx + at, x + at, PIECE * sizeof(float), cudaMemcpyHostToDevice, stream[s]));
        CUDA(cudaMemcpyAsync(dy + at, y + at, PIECE * sizeof(float), cudaMemcpyHostToDevice, stream[s]));
        saxpy<<<PIECE / BLOCK, BLOCK, 0, stream[s]>>>(s + 1.0f, dx + at, dy + at, n);
        CUDA(cudaGetLastError());
        CUDA(cudaEventRecord(ready[s], stream[s]));
        CUDA(cudaStreamWaitEvent(last, ready[s], 0));
        CUDA(cudaMemcpyAsync(y + at, dy + at, PIECE * sizeof(float), cudaMemcpyDeviceToHost, stream[s]));
        parts[s] = dy + at;
    }
    CUDA(cudaMallocAsync(&dsum, PIECE * sizeof(float), last));
    CUDA(cudaMemcpyAsync(dparts, parts, sizeof parts, cudaMemcpyHostToDevice, last));
    add<<<PIECE / BLOCK, BLOCK, 0, last>>>(dparts, dsum, PIECE);
    CUDA(cudaLaunchHostFunc(last, done, &callbacks));
    CUDA(cudaMemcpyAsync(x, dsum, PIECE * sizeof(float), cudaMemcpyDeviceToHost, last));
    CUDA(cudaFreeAsync(dsum, last));
    CUDA(cudaEventRecord(end, last));
    CUDA(cudaEventSynchronize(end));
    for (int s = 0; s < STREAMS; s++)
        CUDA(cudaStreamSynchronize(stream[s]));
    float ms = -1;
    CUDA(cudaEventElapsedTime(&ms, begin, end));
    wrong += !(ms >= 0) + (callbacks != 1) + (cudaStreamQuery(last) != cudaSuccess);
    for (int i = 0; i < PIECE; i++) {
        float sum = 0;
        for (int s = 0; s < STREAMS; s++) {
            int at = s * PIECE + i;
            float want = (i < PIECE - s ? (s + 1.0f) * (at % 1000) : 0.0f) + at % 7;
            wrong += y[at] != want;
            sum += want;
        }
        wrong += x[i] != sum;
    }
    for (int s = 0; s < STREAMS; s++) {
        CUDA(cudaStreamDestroy(stream[s]));
        CUDA(cudaEventDestroy(ready[s]));
    }
    CUDA(cudaStreamDestroy(last));
    CUDA(cudaFree(dx));
    CUDA(cudaFree(dy));
    CUDA(cudaFree(dparts));
    CUDA(cudaFreeHost(x));
    CUDA(cudaFreeHost(y));

    /* A piece starts at a multiple of 128 bytes and lacks 0 to 3 elements: the last sector stays. */
    expect("saxpy", "launches", STREAMS);
    expect_global("saxpy", "gld", 2 * N / 32, 2 * N / 8);
    expect_global("saxpy", "gst", N / 32, N / 8);
    expect("saxpy", "gst_bytes", 4 * (N - 0 - 1 - 2 - 3));
    expect("saxpy", "fp32_fma", N - 0 - 1 - 2 - 3);
    /* The four pointers are the same for all lanes: 1 sector each; how wide they are read is the compiler's choice, so
     * only what follows from the four pieces is held: their bytes and the stores. */
    expect_global("add", "gst", PIECE / 32, PIECE / 8);
    expect("add", "fp32_add", 4 * PIECE);
    return verdict("streams", wrong);
}
