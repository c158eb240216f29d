/* SPDX-License-Identifier: MIT
 * calls.cu: device functions that cannot be inlined: recursion, function pointers in global and constant memory, virtual
 * functions, malloc and new in kernels. Each answer is checked on the host; prints "NAME ok" lines. */
#include "program.h"

#include <cuda_runtime.h>

__host__ __device__ static int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__global__ void recursive(int *out)
{
    out[threadIdx.x] = fib((int)threadIdx.x % 13);
}

__device__ __noinline__ int is_odd(int n);
__device__ __noinline__ int is_even(int n)
{
    return n == 0 ? 1 : is_odd(n - 1);
}
__device__ __noinline__ int is_odd(int n)
{
    return n == 0 ? 0 : is_even(n - 1);
}

/* A divergent early return, a local array that must survive the inner calls, a barrier around it. */
__device__ __noinline__ int tower(int depth, int seed)
{
    int kept[4];
    for (int k = 0; k < 4; k++)
        kept[k] = seed * (k + 1) + depth;
    if (depth == 0 || seed % 7 == depth)
        return kept[seed & 3];
    int below = tower(depth - 1, seed + 1);
    return below + kept[(seed + depth) & 3];
}

static int host_tower(int depth, int seed)
{
    int kept[4];
    for (int k = 0; k < 4; k++)
        kept[k] = seed * (k + 1) + depth;
    if (depth == 0 || seed % 7 == depth)
        return kept[seed & 3];
    return host_tower(depth - 1, seed + 1) + kept[(seed + depth) & 3];
}

__global__ void mutual(int *out)
{
    __shared__ int s[64];
    s[threadIdx.x] = is_even((int)threadIdx.x) * 1000 + tower(5, (int)threadIdx.x);
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
}

typedef double (*binary)(double, int);
__device__ double add_up(double a, int b)
{
    return a + b;
}
__device__ double times(double a, int b)
{
    return a * b;
}
__device__ double power(double a, int b)
{
    return b == 0 ? 1.0 : a * power(a, b - 1);
}
__device__ binary table[3] = {add_up, times, power};
__constant__ binary fixed[2] = {power, add_up};

__global__ void pointers(double *out, int shift)
{
    binary own = threadIdx.x % 5 == 0 ? times : add_up;
    double v = table[(threadIdx.x + shift) % 3](1.0 + threadIdx.x, 3);
    if (threadIdx.x % 4 != 1)
        v += fixed[threadIdx.x & 1](2.0, (int)threadIdx.x % 6);
    out[threadIdx.x] = own(v, 2);
}

struct shape {
    __device__ virtual float area(float scale) const = 0;
    __device__ virtual ~shape()
    {
    }
};
struct square : shape {
    float side;
    __device__ explicit square(float s) : side(s)
    {
    }
    __device__ float area(float scale) const override
    {
        return side * side * scale;
    }
};
struct disc : shape {
    float radius;
    int *destroyed;
    __device__ disc(float r, int *d) : radius(r), destroyed(d)
    {
    }
    __device__ float area(float scale) const override
    {
        return 3.0f * radius * radius * scale;
    }
    __device__ ~disc() override
    {
        atomicAdd(destroyed, 1);
    }
};

__global__ void virtuals(float *out, int *destroyed)
{
    float f = (float)threadIdx.x;
    shape *s = threadIdx.x % 3 == 0 ? (shape *)new square(f) : (shape *)new disc(f, destroyed);
    out[threadIdx.x] = s->area(2.0f);
    delete s;
}

/* A list of its own for each thread, longer for some. */
struct node {
    node *next;
    int value;
};
__global__ void lists(long long *out)
{
    node *head = nullptr;
    long long sum = 0;
    for (unsigned k = 0; k <= threadIdx.x % 9; k++) {
        node *n = (node *)malloc(sizeof(node));
        n->next = head;
        n->value = (int)(k * threadIdx.x);
        head = n;
    }
    while (head) {
        node *next = head->next;
        sum += head->value;
        free(head);
        head = next;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/* What is never freed stays for the next kernel. */
__device__ int *kept[32];
__global__ void keep()
{
    kept[threadIdx.x] = (int *)malloc(4 * (threadIdx.x + 1));
    kept[threadIdx.x][threadIdx.x] = 7 * (int)threadIdx.x;
}
__global__ void take(int *out)
{
    out[threadIdx.x] = kept[threadIdx.x][threadIdx.x];
    free(kept[threadIdx.x]);
}
__global__ void too_much(int *out)
{
    out[threadIdx.x] = malloc((size_t)1 << 40) == nullptr;
}

static void check_recursion()
{
    buffer<int> out(64);
    bool right = true;
    recursive<<<1, 64>>>(out.device);
    std::vector<int> got = out.host();
    for (int i = 0; i < 64; i++)
        right &= got[i] == fib(i % 13);
    check("recursion", right);
    mutual<<<1, 64>>>(out.device);
    got = out.host();
    right = true;
    for (int i = 0; i < 64; i++)
        right &= got[63 - i] == (i % 2 == 0) * 1000 + host_tower(5, i);
    check("mutual recursion", right);
}

static double host_call(int which, double a, int b)
{
    double p = 1;
    for (int k = 0; k < b; k++)
        p *= a;
    return which == 0 ? a + b : which == 1 ? a * b : p;
}

static void check_pointers()
{
    buffer<double> out(96);
    bool right = true;
    pointers<<<1, 96>>>(out.device, 1);
    std::vector<double> got = out.host();
    for (int i = 0; i < 96; i++) {
        double v = host_call((i + 1) % 3, 1.0 + i, 3);
        if (i % 4 != 1)
            v += host_call(i & 1 ? 0 : 2, 2.0, i % 6);
        right &= got[i] == host_call(i % 5 == 0 ? 1 : 0, v, 2);
    }
    check("function pointers", right);
}

static void check_virtuals()
{
    buffer<float> out(64);
    buffer<int> destroyed(1);
    bool right = true;
    destroyed.zero();
    virtuals<<<1, 64>>>(out.device, destroyed.device);
    std::vector<float> got = out.host();
    for (int i = 0; i < 64; i++)
        right &= got[i] == (i % 3 == 0 ? 2.0f : 6.0f) * (float)i * (float)i;
    check("virtual functions", right && destroyed.host()[0] == 42);
}

static void check_heap()
{
    buffer<long long> out(256);
    buffer<int> kept_out(32);
    bool right = true;
    lists<<<4, 64>>>(out.device);
    std::vector<long long> got = out.host();
    for (int i = 0; i < 256; i++) {
        long long n = i % 64 % 9, sum = n * (n + 1) / 2 * (i % 64);
        right &= got[i] == sum;
    }
    keep<<<1, 32>>>();
    take<<<1, 32>>>(kept_out.device);
    std::vector<int> values = kept_out.host();
    for (int i = 0; i < 32; i++)
        right &= values[i] == 7 * i;
    too_much<<<1, 32>>>(kept_out.device);
    values = kept_out.host();
    for (int i = 0; i < 32; i++)
        right &= values[i] == 1;
    check("malloc in kernels", right);
}

int main()
{
    check_recursion();
    check_pointers();
    check_virtuals();
    check_heap();
    OK(cudaDeviceSynchronize());
    return failed;
}
