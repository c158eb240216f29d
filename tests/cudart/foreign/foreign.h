/* SPDX-License-Identifier: MIT
 * foreign.h: what the programs of this folder share: a check of calls, the verdict, and the counts that each derives by
 * hand. A program knows CUDA and the rules of the hardware as documented (sectors of 32 bytes, 32 banks of 4 bytes);
 * nothing here comes from the model. test_foreign.sh compares the lines "expect KERNEL METRIC N" with the report. */
#ifndef WS_TESTS_CUDART_FOREIGN_FOREIGN_H
#define WS_TESTS_CUDART_FOREIGN_FOREIGN_H

#include <cstdio>
#include <cstdlib>
#include <set>

#define CUDA(call)                                                           \
    do {                                                                     \
        cudaError_t error_ = (call);                                         \
        if (error_ != cudaSuccess) {                                         \
            std::printf("FAIL %s: %s\n", #call, cudaGetErrorString(error_)); \
            std::exit(1);                                                    \
        }                                                                    \
    } while (0)

/* The sum over all launches of a kernel. */
static inline void expect(const char *kernel, const char *metric, long long n)
{
    std::printf("expect %s %s %lld\n", kernel, metric, n);
}

/* Requests and sectors of one kernel's global loads (or stores). */
static inline void expect_global(const char *kernel, const char *kind, long long requests, long long sectors)
{
    char metric[32];
    std::snprintf(metric, sizeof metric, "%s_requests", kind);
    expect(kernel, metric, requests);
    std::snprintf(metric, sizeof metric, "%s_sectors", kind);
    expect(kernel, metric, sectors);
}

/* Requests and wavefronts of one kernel's shared loads (or stores). */
static inline void expect_shared(const char *kernel, const char *kind, long long requests, long long wavefronts)
{
    char metric[40];
    std::snprintf(metric, sizeof metric, "shared_%s_requests", kind);
    expect(kernel, metric, requests);
    std::snprintf(metric, sizeof metric, "shared_%s_wavefronts", kind);
    expect(kernel, metric, wavefronts);
}

/* Sectors of 32 bytes that n lanes touch; lane i reads one element of width bytes, number element[i]. The buffer
 * starts at a multiple of 32 (cudaMalloc: 256). */
static inline int sectors_of(const int *element, int n, int width)
{
    std::set<long long> sectors;
    for (int i = 0; i < n; i++)
        sectors.insert((long long)element[i] * width / 32);
    return (int)sectors.size();
}

/* Rounds of shared memory for n lanes of 4 bytes: the bank with the most different words. */
static inline int rounds_of(const int *word, int n)
{
    std::set<int> banks[32];
    for (int i = 0; i < n; i++)
        banks[word[i] % 32].insert(word[i]);
    size_t most = 0;
    for (const auto &bank : banks)
        most = bank.size() > most ? bank.size() : most;
    return (int)most;
}

static inline int verdict(const char *program, int wrong)
{
    std::printf("%s: %d wrong\n%s\n", program, wrong, wrong == 0 ? "PASS" : "FAIL");
    return wrong != 0;
}

#endif
