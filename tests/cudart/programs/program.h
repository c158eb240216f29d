/* SPDX-License-Identifier: MIT
 * program.h: a device buffer and checks for the small programs of this folder. */
#ifndef WS_TESTS_CUDART_PROGRAMS_PROGRAM_H
#define WS_TESTS_CUDART_PROGRAMS_PROGRAM_H

#include <cstdio>
#include <cstdlib>
#include <vector>

static int failed;

static void check(const char *name, bool is_right)
{
    printf("%s %s\n", name, is_right ? "ok" : "WRONG");
    failed |= !is_right;
}

#define OK(call)                                                                            \
    do {                                                                                    \
        cudaError_t code = (call);                                                          \
        if (code != cudaSuccess) {                                                          \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(code)); \
            exit(1);                                                                        \
        }                                                                                   \
    } while (0)

template <class T> struct buffer {
    T *device = nullptr;
    size_t n;
    explicit buffer(size_t count) : n(count)
    {
        OK(cudaMalloc(&device, n * sizeof(T)));
    }
    explicit buffer(const std::vector<T> &from) : buffer(from.size())
    {
        OK(cudaMemcpy(device, from.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~buffer()
    {
        OK(cudaFree(device));
    }
    void zero()
    {
        OK(cudaMemset(device, 0, n * sizeof(T)));
    }
    std::vector<T> host() const
    {
        std::vector<T> out(n);
        OK(cudaGetLastError());
        OK(cudaMemcpy(out.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost));
        return out;
    }
};

#endif
