/* SPDX-License-Identifier: MIT
 * loop.cu: a loop that is bound by launches, the kind that a profiler slows most: a captured graph of 20 kernels, ten
 * plain launches, one wait. For ctl.sh, which switches collection while it runs.
 * usage: gpu-loop until FILE   until the file is there, a minute at most; then a checksum
 *        gpu-loop turns        a turn for each line of stdin: "run" works for 0.1 s; any other prints iterations a second,
 *                              and how long the host takes to launch a kernel and the graph, ns; at the end a checksum */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <unistd.h>
#include <vector>

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

static double work(cudaGraphExec_t exec, cudaStream_t stream, int *x, double seconds)
{
    double start = now();
    long n = 0;
    while (now() - start < seconds) {
        iterate(exec, stream, x);
        n++;
    }
    return (double)n / (now() - start);
}

/* Host time of one call, ns: the median of so many bursts, each short enough that no queue is full. */
template <class CALL> static double burst_ns(cudaStream_t stream, int bursts, int calls, CALL call)
{
    std::vector<double> took;
    for (int b = 0; b < bursts; b++) {
        double start = now();
        for (int k = 0; k < calls; k++)
            call();
        took.push_back((now() - start) / calls * 1e9);
        MUST(cudaStreamSynchronize(stream));
    }
    std::sort(took.begin(), took.end());
    return took[took.size() / 2];
}

static void take_turns(cudaGraphExec_t exec, cudaStream_t stream, int *x)
{
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        double rate = work(exec, stream, x, 0.1);
        if (!strncmp(line, "run", 3)) {
            printf("ran\n");
        } else {
            double launch_ns = burst_ns(stream, 40, 200, [&] { plain<<<N / 128, 128, 0, stream>>>(x); });
            double graph_ns = burst_ns(stream, 40, 10, [&] { MUST(cudaGraphLaunch(exec, stream)); });
            printf("%.1f %.0f %.0f\n", rate, launch_ns, graph_ns);
        }
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    const char *until = argc == 3 && !strcmp(argv[1], "until") ? argv[2] : NULL;
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
    if (until)
        for (double start = now(); access(until, F_OK) != 0 && now() - start < 60;)
            work(exec, stream, x, 0.05);
    else if (argc == 2 && !strcmp(argv[1], "turns"))
        take_turns(exec, stream, x);
    else {
        fprintf(stderr, "usage: gpu-loop until FILE | turns\n");
        return 2;
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
