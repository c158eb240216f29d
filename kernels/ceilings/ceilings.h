/* SPDX-License-Identifier: MIT
 * ceilings.h: how `warpsight-kernels ceilings` measures what this board can do. One probe is one kernel that
 * keeps one unit busy; ceilings.cu times it. Keys are those of WS_CEILING_LIST (analyzer/roofline.h).
 * To add a ceiling: a kernel with a WS_CEILING(…) in one of the .cu files here. */
#ifndef WS_KERNELS_CEILINGS_CEILINGS_H
#define WS_KERNELS_CEILINGS_CEILINGS_H

#include "../harness.h"

/* What every probe kernel leaves behind: seen by its first thread. */
struct ceiling_mark {
    unsigned long long cycles; /* SM clock cycles of block 0 */
    unsigned long long ns;     /* and its time by the global timer */
    unsigned int has_run;      /* 1 = the body exists for this GPU; 0 = compiled out */
    unsigned int wrong;        /* results that differ from what they must be, in a run that checks */
};

__device__ inline unsigned long long ceiling_now_ns()
{
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

/* Around the body of a probe kernel, by all threads: ceiling_start() … stop(). */
struct ceiling_clock {
    unsigned long long cycles, ns;
    __device__ void stop(ceiling_mark *mark) const
    {
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            mark->cycles = (unsigned long long)clock64() - cycles;
            mark->ns = ceiling_now_ns() - ns;
            mark->has_run = 1;
        }
    }
};
__device__ inline ceiling_clock ceiling_start()
{
    return {(unsigned long long)clock64(), ceiling_now_ns()};
}

/* What a launch may use. Buffers are allocated once, filled with numbers that are not all alike. */
struct ceiling_context {
    int sms;
    size_t l2_bytes;
    size_t bytes;       /* of each buffer */
    uint4 *a, *b;       /* device */
    ceiling_mark *mark; /* device */
};

/* One launch.
 *   check    a short run whose result is known, counted in mark->wrong; else the full run
 *   returns  what it moved or computed: bytes or operations */
typedef double ceiling_launch(const ceiling_context &context, bool check);

struct ceiling_probe {
    const char *key, *unit;
    const char *method; /* how, in a few words */
    ceiling_launch *launch;
    ceiling_probe *next;

    ceiling_probe(const char *key_, const char *unit_, const char *method_, ceiling_launch *launch_)
        : key(key_), unit(unit_), method(method_), launch(launch_)
    {
        ceiling_probe **at = &first();
        while (*at)
            at = &(*at)->next;
        next = *at;
        *at = this;
    }
    static ceiling_probe *&first()
    {
        static ceiling_probe *head;
        return head;
    }
};

/* Several probes of one key: the best that runs on this GPU counts. */
#define WS_CEILING(name, key, unit, method, launch) static ceiling_probe name(key, unit, method, launch)

/* Measure all and print JSON; 0, or 1 after having said what failed. */
int ceilings_main();

#endif
