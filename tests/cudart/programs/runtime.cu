/* SPDX-License-Identifier: MIT
 * runtime.cu: the runtime's side of ordinary programs: streams, events, graphs by capture, managed, pinned, pitched
 * and stream-ordered memory, symbols, attributes, occupancy. Prints "NAME ok" lines. */
#include "program.h"

#include <cstring>

__managed__ int shared_count = 5;

__global__ void add(int *x, int n, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] += value;
}

__global__ void count()
{
    atomicAdd(&shared_count, 1);
}

__global__ void add_row(int *x, size_t pitch, int width)
{
    int *row = (int *)((char *)x + blockIdx.x * pitch);
    if ((int)threadIdx.x < width)
        row[threadIdx.x] += (int)blockIdx.x;
}

static void set_flag(void *flag)
{
    *(int *)flag = 1;
}

static void test_streams()
{
    const int n = 1000;
    std::vector<int> host(n, 1);
    buffer<int> x(n);
    cudaStream_t s[2];
    cudaEvent_t begin, end;
    float ms = -1;
    int flag = 0;
    OK(cudaStreamCreate(&s[0]));
    OK(cudaStreamCreateWithFlags(&s[1], cudaStreamNonBlocking));
    OK(cudaEventCreate(&begin));
    OK(cudaEventCreateWithFlags(&end, cudaEventDefault));
    OK(cudaEventRecord(begin, s[0]));
    OK(cudaMemcpyAsync(x.device, host.data(), n * sizeof(int), cudaMemcpyHostToDevice, s[0]));
    add<<<4, 256, 0, s[0]>>>(x.device, n, 2);
    OK(cudaEventRecord(end, s[0]));
    OK(cudaStreamWaitEvent(s[1], end, 0));
    add<<<4, 256, 0, s[1]>>>(x.device, n, 3);
    OK(cudaLaunchHostFunc(s[1], set_flag, &flag));
    OK(cudaMemcpyAsync(host.data(), x.device, n * sizeof(int), cudaMemcpyDefault, s[1]));
    OK(cudaStreamSynchronize(s[1]));
    OK(cudaEventElapsedTime(&ms, begin, end));
    check("streams", host[0] == 6 && host[n - 1] == 6 && flag == 1 && ms >= 0);
    for (cudaStream_t one : s)
        OK(cudaStreamDestroy(one));
    OK(cudaEventDestroy(begin));
    OK(cudaEventDestroy(end));
}

static void test_graph()
{
    buffer<int> x(256);
    cudaStream_t s, fork;
    cudaEvent_t forked, joined;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    size_t nodes = 0;
    x.zero();
    OK(cudaStreamCreate(&s));
    OK(cudaStreamCreate(&fork));
    OK(cudaEventCreate(&forked));
    OK(cudaEventCreate(&joined));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    add<<<1, 256, 0, s>>>(x.device, 256, 1);
    OK(cudaEventRecord(forked, s));
    OK(cudaStreamWaitEvent(fork, forked, 0));
    add<<<1, 128, 0, fork>>>(x.device, 128, 10);
    OK(cudaEventRecord(joined, fork));
    OK(cudaStreamWaitEvent(s, joined, 0));
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphGetNodes(graph, nullptr, &nodes));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
    bool is_untouched = x.host()[0] == 0;
    for (int k = 0; k < 3; k++)
        OK(cudaGraphLaunch(exec, s));
    OK(cudaStreamSynchronize(s));
    std::vector<int> got = x.host();
    check("graph", is_untouched && nodes == 2 && got[0] == 33 && got[200] == 3);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(fork));
    OK(cudaEventDestroy(forked));
    OK(cudaEventDestroy(joined));
}

static void test_memory()
{
    int *managed, *pinned, *async, *pitched;
    int rows[5][20] = {}, back[5][20];
    size_t pitch;
    bool is_right = true;
    OK(cudaMallocManaged(&managed, 64 * sizeof(int)));
    OK(cudaMallocHost(&pinned, 64 * sizeof(int)));
    OK(cudaMallocAsync(&async, 64 * sizeof(int), 0));
    OK(cudaMallocPitch(&pitched, &pitch, sizeof rows[0], 5));
    for (int i = 0; i < 64; i++)
        managed[i] = pinned[i] = i;
    add<<<1, 64>>>(managed, 64, 1);
    add<<<1, 64>>>(pinned, 64, 2); /* mapped: the kernel reads host memory */
    OK(cudaMemcpy(async, pinned, 64 * sizeof(int), cudaMemcpyHostToDevice));
    add<<<1, 64>>>(async, 64, 3);
    OK(cudaMemcpy(pinned, async, 64 * sizeof(int), cudaMemcpyDeviceToHost));
    OK(cudaMemcpy2D(pitched, pitch, rows, sizeof rows[0], sizeof rows[0], 5, cudaMemcpyHostToDevice));
    add_row<<<5, 32>>>(pitched, pitch, 20);
    OK(cudaMemcpy2D(back, sizeof back[0], pitched, pitch, sizeof back[0], 5, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        is_right &= managed[i] == i + 1 && pinned[i] == i + 5;
    for (int i = 0; i < 100; i++)
        is_right &= back[i / 20][i % 20] == i / 20;
    check("memory", is_right && pitch >= sizeof rows[0]);
    count<<<2, 32>>>();
    OK(cudaDeviceSynchronize());
    check("managed", shared_count == 69);
    OK(cudaFree(managed));
    OK(cudaFreeHost(pinned));
    OK(cudaFreeAsync(async, 0));
    OK(cudaFree(pitched));
}

static void test_device()
{
    cudaDeviceProp p;
    cudaFuncAttributes f;
    cudaPointerAttributes at;
    buffer<int> x(1);
    int devices, sms, blocks;
    OK(cudaGetDeviceCount(&devices));
    OK(cudaGetDeviceProperties(&p, 0));
    OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    OK(cudaFuncGetAttributes(&f, add));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0));
    OK(cudaPointerGetAttributes(&at, x.device));
    printf("%s cc %d.%d, %d SMs, %d blocks\n", p.name, p.major, p.minor, p.multiProcessorCount, blocks);
    check("device", devices == 1 && sms == p.multiProcessorCount && p.warpSize == 32 && f.maxThreadsPerBlock == 1024 &&
                        blocks > 0 && at.type == cudaMemoryTypeDevice && cudaSetDevice(1) == cudaErrorInvalidDevice &&
                        cudaGetLastError() == cudaErrorInvalidDevice && cudaGetLastError() == cudaSuccess);
}

int main()
{
    test_streams();
    test_graph();
    test_memory();
    test_device();
    return failed;
}
