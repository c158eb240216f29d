// SPDX-License-Identifier: MIT
// cases.cu: programs whose overhead and safety are measured on a GPU by run.sh; no known answers here
// (those are kernels/). Each prints a checksum, so that output with and without WarpSight can be compared.
//   launches N     N launches of one small kernel, a copy back at the end; TORCH_LOOP_TIME=FILE: seconds of the loop
//   big GB [N]     one launch, or N, over a buffer of GB 2^30 bytes
//   hog GB MS      holds GB 2^30 bytes for MS milliseconds, frees them for as long, and so on until it is killed
//   graph N        a captured graph of 10 nodes, launched N times
//   streams N      4 threads, a stream each, N launches each, cudaLaunchKernelEx and <<<>>> mixed
//   devices N      a thread a device, N launches in its primary context and N in a context of its own
//   phases N       N times: 50 ms of arithmetic on every SM, 20 ms of rest, 50 sums of two vectors of 2^28 floats in one
//                  kernel (each sum reads 2^31 bytes and writes 2^30), 20 ms of rest
//   transpose N    N transposes of 4096 x 4096 floats through shared memory whose column read lies in one bank: launches
//                  so long that their beginnings and ends do not count among the samples
//   status N       exits with status N after one launch
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <dlfcn.h>
#include <thread>
#include <vector>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t e_ = (call);                                                                                       \
        if (e_ != cudaSuccess) {                                                                                       \
            std::fprintf(stderr, "cases: %s: %s\n", #call, cudaGetErrorString(e_));                                    \
            std::exit(3);                                                                                              \
        }                                                                                                              \
    } while (0)

__global__ void step(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = x[i] * 0.5f + 1.0f;
}

__global__ void sweep(float4 *x, size_t n)
{
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += stride) {
        float4 v = x[i];
        v.x += 1.0f;
        x[i] = v;
    }
}

static float *fresh(size_t bytes)
{
    void *p = nullptr;
    CHECK(cudaMalloc(&p, bytes));
    CHECK(cudaMemset(p, 0, bytes));
    return static_cast<float *>(p);
}

static int finish(const char *name, const float *x)
{
    float first = 0;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&first, x, sizeof first, cudaMemcpyDeviceToHost));
    std::printf("%s %.9g\n", name, first);
    return 0;
}

static void tell_time(std::chrono::steady_clock::time_point from)
{
    const char *path = std::getenv("TORCH_LOOP_TIME");
    FILE *f = path ? std::fopen(path, "w") : nullptr;
    if (f) {
        std::fprintf(f, "%.6f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count());
        std::fclose(f);
    }
}

static int launches(int n)
{
    float *x = fresh(1 << 20);
    auto from = std::chrono::steady_clock::now();
    for (int i = 0; i < n; i++)
        step<<<(1 << 18) / 256, 256>>>(x, 1 << 18);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    tell_time(from);
    return finish("launches", x);
}

static int big(int gb, int n)
{
    size_t bytes = (size_t)gb << 30;
    float *x = fresh(bytes);
    for (int i = 0; i < n; i++)
        sweep<<<132 * 16, 256>>>(reinterpret_cast<float4 *>(x), bytes / sizeof(float4));
    CHECK(cudaGetLastError());
    return finish("big", x);
}

static int hog(int gb, int ms)
{
    for (;;) {
        void *p = nullptr;
        CHECK(cudaMalloc(&p, (size_t)gb << 30));
        std::this_thread::sleep_for(std::chrono::milliseconds(ms));
        CHECK(cudaFree(p));
        std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    }
}

__device__ unsigned long long nanoseconds()
{
    unsigned long long t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
}

__global__ void burn(float *x, unsigned long long ns)
{
    unsigned long long until = nanoseconds() + ns;
    float v = x[threadIdx.x];
    while (nanoseconds() < until)
        for (int i = 0; i < 256; i++)
            v = v * 0.999f + 0.5f;
    x[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

__global__ void stream_add(const float4 *a, const float4 *b, float4 *c, size_t n, int times)
{
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (int k = 0; k < times; k++)
        for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += stride) {
            float4 u = a[i], v = b[i];
            c[i] = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w + (float)k);
        }
}

static void rest()
{
    CHECK(cudaDeviceSynchronize());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

__global__ void transpose_long(const float *in, float *out, int n)
{
    __shared__ float tile[32][32];
    int col = blockIdx.x * 32 + threadIdx.x;
    int row = blockIdx.y * 32 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[row * n + col];
    __syncthreads();
    col = blockIdx.y * 32 + threadIdx.x;
    row = blockIdx.x * 32 + threadIdx.y;
    out[row * n + col] = tile[threadIdx.x][threadIdx.y]; // conflicts
}

static int transpose(int n)
{
    const int side = 4096;
    const size_t bytes = sizeof(float) * side * side;
    float *in = fresh(bytes), *out = fresh(bytes);
    for (int i = 0; i < n; i++)
        transpose_long<<<dim3(side / 32, side / 32), dim3(32, 32)>>>(in, out, side);
    CHECK(cudaGetLastError());
    return finish("transpose", out);
}

static int phases(int n)
{
    const size_t floats = (size_t)1 << 28;
    float *x = fresh((size_t)132 * 8 * 256 * sizeof(float));
    float *a = fresh(floats * 4), *b = fresh(floats * 4), *c = fresh(floats * 4);
    rest();
    for (int i = 0; i < n; i++) {
        burn<<<132 * 8, 256>>>(x, 50000000ull);
        rest();
        stream_add<<<132 * 8, 256>>>(reinterpret_cast<float4 *>(a), reinterpret_cast<float4 *>(b),
                                     reinterpret_cast<float4 *>(c), floats / 4, 50);
        rest();
    }
    CHECK(cudaGetLastError());
    return finish("phases", c);
}

static int graph(int n)
{
    float *x = fresh(1 << 20);
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t e;
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 10; i++)
        step<<<1024, 256, 0, s>>>(x, 1 << 18);
    CHECK(cudaStreamEndCapture(s, &g));
    CHECK(cudaGraphInstantiate(&e, g, 0));
    for (int i = 0; i < n; i++)
        CHECK(cudaGraphLaunch(e, s));
    CHECK(cudaStreamSynchronize(s));
    return finish("graph", x);
}

static void run_stream(float *x, int n)
{
    cudaStream_t s;
    cudaLaunchConfig_t config = {};
    CHECK(cudaStreamCreate(&s));
    config.gridDim = dim3(64);
    config.blockDim = dim3(128);
    config.stream = s;
    for (int i = 0; i < n; i++) {
        if (i % 2)
            step<<<64, 128, 0, s>>>(x, 64 * 128);
        else
            CHECK(cudaLaunchKernelEx(&config, step, x, 64 * 128));
    }
    CHECK(cudaStreamSynchronize(s));
}

static int streams(int n)
{
    float *x[4];
    std::vector<std::thread> threads;
    for (auto &p : x)
        p = fresh(1 << 16);
    for (auto *p : x)
        threads.emplace_back(run_stream, p, n);
    for (auto &t : threads)
        t.join();
    for (auto *p : x)
        finish("streams", p);
    return 0;
}

template <typename F> static F driver_call(const char *name)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *call = library ? dlsym(library, name) : nullptr;
    if (!call) {
        std::fprintf(stderr, "cases: libcuda has no %s\n", name);
        std::exit(3);
    }
    return reinterpret_cast<F>(call);
}

/* One thread's work; *first receives the sum over both contexts. */
static void run_device(int device, int n, float *first)
{
    auto create = driver_call<CUresult (*)(CUcontext *, unsigned, CUdevice)>("cuCtxCreate_v2");
    auto destroy = driver_call<CUresult (*)(CUcontext)>("cuCtxDestroy_v2");
    CUcontext own = nullptr;
    CHECK(cudaSetDevice(device));
    for (int context = 0; context < 2; context++) {
        float value = 0;
        if (context == 1 && create(&own, 0, device) != CUDA_SUCCESS)
            std::exit(3);
        float *x = fresh(1 << 16);
        for (int i = 0; i < n; i++)
            step<<<64, 128>>>(x, 64 * 128);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost));
        *first += value;
    }
    if (destroy(own) != CUDA_SUCCESS)
        std::exit(3);
}

static int devices(int n)
{
    int count = 0;
    CHECK(cudaGetDeviceCount(&count));
    std::vector<float> first((size_t)count);
    std::vector<std::thread> threads;
    for (int i = 0; i < count; i++)
        threads.emplace_back(run_device, i, n, &first[(size_t)i]);
    for (auto &t : threads)
        t.join();
    for (int i = 0; i < count; i++)
        std::printf("devices %d %.9g\n", i, first[(size_t)i]);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int n = argc > 2 ? std::atoi(argv[2]) : 1;
    if (!std::strcmp(what, "launches"))
        return launches(n);
    if (!std::strcmp(what, "big"))
        return big(n, argc > 3 ? std::atoi(argv[3]) : 1);
    if (!std::strcmp(what, "hog"))
        return hog(n, argc > 3 ? std::atoi(argv[3]) : 500);
    if (!std::strcmp(what, "graph"))
        return graph(n);
    if (!std::strcmp(what, "streams"))
        return streams(n);
    if (!std::strcmp(what, "devices"))
        return devices(n);
    if (!std::strcmp(what, "phases"))
        return phases(n);
    if (!std::strcmp(what, "transpose"))
        return transpose(n);
    if (!std::strcmp(what, "status")) {
        launches(1);
        return n;
    }
    std::fprintf(stderr, "usage: cases launches N | big GB [N] | hog GB MS | graph N | streams N | devices N | phases N | transpose N | status N\n");
    return 2;
}
