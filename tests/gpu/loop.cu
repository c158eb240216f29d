/* SPDX-License-Identifier: MIT
 * loop.cu: a loop that is bound by launches, the kind that a profiler slows most: a captured graph of 20 kernels, ten
 * plain launches, one wait. For ctl.sh, which switches collection while it runs.
 * usage: gpu-loop SECONDS     prints iterations a second each quarter of a second, then a checksum */
#include <cstdio>
#include <cstdlib>
#include <ctime>

#define N 4096
#define MUST(call)                                                     \
    do {                                                               \
        cudaError_t e = (call);                                        \
        if (e != cudaSuccess) {                                        \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e)); \
            exit(4);                                                   \
        }                                                              \
    } while (0)

__global__ void in_graph(int *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = x[i] * 3 + 1;
}

__global__ void plain(int *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = x[i] * 5 + 7;
}

static double now()
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The checksum is of a fixed number of iterations on memory of its own: the loop's own number is time's. */
static void iterate(cudaGraphExec_t exec, cudaStream_t stream, int *x)
{
    MUST(cudaGraphLaunch(exec, stream));
    for (int k = 0; k < 10; k++)
        plain<<<N / 128, 128, 0, stream>>>(x);
    MUST(cudaStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 3;
    static int host[N];
    long long sum = 0;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStream_t stream;
    int *x;
    MUST(cudaMalloc(&x, sizeof host));
    MUST(cudaMemset(x, 0, sizeof host));
    MUST(cudaStreamCreate(&stream));
    MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int k = 0; k < 20; k++)
        in_graph<<<N / 128, 128, 0, stream>>>(x);
    MUST(cudaStreamEndCapture(stream, &graph));
    MUST(cudaGraphInstantiate(&exec, graph, 0));
    double start = now(), window = start;
    for (long n = 0, counted = 0; now() - start < seconds; n++, counted++) {
        double t = now();
        iterate(exec, stream, x);
        if (t - window >= 0.25) {
            printf("%.1f\n", (double)counted / (t - window));
            fflush(stdout);
            window = t;
            counted = 0;
        }
    }
    MUST(cudaMemset(x, 0, sizeof host));
    for (int n = 0; n < 100; n++)
        iterate(exec, stream, x);
    MUST(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        sum += host[i];
    printf("checksum %lld\n", sum);
    return 0;
}
