/* SPDX-License-Identifier: MIT
 * harness.h: what every reference kernel file needs: registration, device buffers, random inputs, result checks.
 * A kernel file launches each of its variants through ws_run::variant(), which poisons, launches, waits and
 * compares with a host reference. Expected counters are not here: they stand in the .expect beside each .cu.
 * To add a kernel: one new kernels/<stem>.cu that ends in WS_REFERENCE(…), and kernels/<stem>.expect. */
#ifndef WS_KERNELS_HARNESS_H
#define WS_KERNELS_HARNESS_H

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/* A CUDA call that failed. main() prints it and ends with 1. */
struct ws_cuda_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline void ws_cuda_check(cudaError_t code, const char *call, const char *file, int line)
{
    if (code != cudaSuccess)
        throw ws_cuda_error(std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                            cudaGetErrorString(code));
}
/* The last part of __FILE__ only: a message names no machine's path. */
constexpr const char *ws_base_name(const char *path)
{
    const char *base = path;
    for (; *path; path++)
        if (*path == '/')
            base = path + 1;
    return base;
}
#define WS_CUDA(call) ws_cuda_check((call), #call, ws_base_name(__FILE__), __LINE__)

/* Random numbers for inputs, not for statistics: 64-bit LCG, upper bits used. Equal seeds give equal inputs. */
class ws_random
{
  public:
    explicit ws_random(uint64_t seed) : state(seed * 2 + 1)
    {
        for (int i = 0; i < 4; i++)
            next();
    }
    uint32_t next()
    {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return (uint32_t)(state >> 32);
    }
    uint32_t below(uint32_t n)
    {
        return (uint32_t)(((uint64_t)next() * n) >> 32);
    }
    float between(float low, float high)
    {
        return low + (high - low) * (float)(next() >> 8) * (1.0f / 16777216.0f);
    }
    std::vector<float> floats(size_t n, float low = 0.0f, float high = 1.0f)
    {
        std::vector<float> out(n);
        for (float &x : out)
            x = between(low, high);
        return out;
    }

  private:
    uint64_t state;
};

/* n elements of device memory; freed at the end of the scope. */
template <class T> class ws_buffer
{
  public:
    explicit ws_buffer(size_t n) : count(n)
    {
        WS_CUDA(cudaMalloc(&device, n * sizeof(T)));
    }
    explicit ws_buffer(const std::vector<T> &host) : ws_buffer(host.size())
    {
        WS_CUDA(cudaMemcpy(device, host.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~ws_buffer()
    {
        cudaFree(device); /* an error here was already met by the call before */
    }
    ws_buffer(const ws_buffer &) = delete;
    ws_buffer &operator=(const ws_buffer &) = delete;

    /* Every byte 0xff: NaN as float or double, -1 as an integer. An element the kernel did not write fails. */
    void poison()
    {
        WS_CUDA(cudaMemset(device, 0xff, count * sizeof(T)));
    }
    void zero()
    {
        WS_CUDA(cudaMemset(device, 0, count * sizeof(T)));
    }
    std::vector<T> read() const
    {
        std::vector<T> host(count);
        WS_CUDA(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
        return host;
    }

    T *device = nullptr;
    const size_t count;
};

/* Compare got[i] with want(i), i < n. Returns "" or what is wrong first. NaN always differs.
 * tolerance is relative to max(|want|, floor); 0 = the values must be equal. */
template <class T, class F> std::string ws_compare(const T *got, size_t n, F want, double tolerance, double floor = 0.0)
{
    for (size_t i = 0; i < n; i++) {
        const double w = want(i), g = (double)got[i];
        const double scale = std::fabs(w) > floor ? std::fabs(w) : floor;
        if (!(std::fabs(g - w) <= tolerance * scale)) {
            char text[160];
            std::snprintf(text, sizeof text, "element %zu is %.9g, should be %.9g (tolerance %g)", i, g, w, tolerance);
            return text;
        }
    }
    return "";
}
template <class T, class F>
std::string ws_compare(const std::vector<T> &got, F want, double tolerance, double floor = 0.0)
{
    return ws_compare(got.data(), got.size(), want, tolerance, floor);
}

/* One `run` of one file: which variants were asked for, how often, with which inputs. */
class ws_run
{
  public:
    ws_run(const char *id_, const char *only_, int repeat_, uint64_t seed)
        : random(seed), id(id_), only(only_), repeat(repeat_)
    {
    }

    /* Whether this variant was asked for. */
    bool wants(const char *variant) const
    {
        return !only || std::strcmp(only, variant) == 0;
    }

    /* Run one variant `repeat` times.
     *   name     as the .expect and the profiler spell the kernel
     *   prepare  poisons the outputs
     *   launch   the launch itself; launch errors and errors of the kernel are checked here
     *   check    returns "" or what is wrong with the outputs; called for the first and the last repetition */
    template <class P, class L, class C> void variant(const char *name, P prepare, L launch, C check)
    {
        std::string problem;
        if (!wants(name))
            return;
        for (int i = 0; i < repeat && problem.empty(); i++) {
            prepare();
            launch();
            WS_CUDA(cudaGetLastError());
            WS_CUDA(cudaDeviceSynchronize());
            if (i == 0 || i == repeat - 1) /* checks cost the host far more than launches cost the GPU */
                problem = check();
        }
        std::printf("%s  %s %s%s%s\n", problem.empty() ? "ok   " : "WRONG", id, name, problem.empty() ? "" : ": ",
                    problem.c_str());
        std::fflush(stdout);
        wrong += !problem.empty();
    }

    /* A variant that this GPU cannot run, and why. */
    void skip(const char *name, const char *reason) const
    {
        if (wants(name))
            std::printf("skip   %s %s: %s\n", id, name, reason);
    }

    ws_random random;
    int wrong = 0; /* variants with a wrong result so far */

  private:
    const char *id;
    const char *only; /* NULL = all variants */
    int repeat;
};

/* One kernels/<stem>.cu. Kept in a list sorted by id (K01 … K31, H1 … H8). */
struct ws_reference {
    const char *id;
    const char *stem;
    const char *what;                   /* one line for people */
    std::vector<const char *> variants; /* kernels launched, or, for host programs, the runs to choose from */
    void (*run)(ws_run &);
    ws_reference *next;

    ws_reference(const char *id_, const char *stem_, const char *what_, void (*run_)(ws_run &),
                 std::vector<const char *> variants_)
        : id(id_), stem(stem_), what(what_), variants(std::move(variants_)), run(run_)
    {
        ws_reference **at = &first();
        while (*at && before(**at, *this))
            at = &(*at)->next;
        next = *at;
        *at = this;
    }
    /* A host program shows how a host uses the GPU; its kernels are not what is judged. */
    bool is_program() const
    {
        return id[0] == 'H';
    }
    static ws_reference *&first()
    {
        static ws_reference *head;
        return head;
    }

  private:
    static bool before(const ws_reference &a, const ws_reference &b)
    {
        return a.is_program() != b.is_program() ? b.is_program() : std::strcmp(a.id, b.id) < 0;
    }
};

/* WS_REFERENCE("K01", "vec_add", "what it shows", run_function, {"variant", …}); */
#define WS_REFERENCE(id, stem, what, run, ...) static ws_reference reference(id, stem, what, run, __VA_ARGS__)

#endif
