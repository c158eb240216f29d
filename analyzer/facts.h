/* SPDX-License-Identifier: MIT
 * facts.h: what is known about one kernel signature on one device, before any formula.
 * Plain inputs with units in their names. No kernel name is in here, on purpose: models and rules
 * must judge by numbers alone. Filled by server/report.c; read by derive.c, occupancy.c, rules. */
#ifndef WS_ANALYZER_FACTS_H
#define WS_ANALYZER_FACTS_H

#include "value.h"

#include <stdbool.h>
#include <stdint.h>

struct ws_dim3 {
    uint32_t x, y, z;
};

/* One GPU as the driver describes it. 0 in a quantity means "the driver did not say". */
struct ws_device {
    const char *name; /* board name as the driver spells it, e.g. "NVIDIA H200" */
    uint32_t index;   /* CUDA ordinal in the profiled process */
    uint32_t cc_major, cc_minor;
    uint32_t sms; /* multiprocessors */
    uint64_t memory_bytes;
    uint64_t l2_bytes;
    uint64_t sm_clock_hz; /* peak */
    uint64_t memory_clock_hz;
    uint32_t memory_bus_bits;
    uint64_t pcie_bytes_per_s; /* one direction, peak of the link */
};

/* One launch's geometry and resources. */
struct ws_launch {
    struct ws_dim3 grid;    /* blocks */
    struct ws_dim3 block;   /* threads */
    struct ws_dim3 cluster; /* blocks; 0,0,0 = no cluster */
    uint32_t regs_per_thread;
    uint32_t static_smem_bytes;  /* per block */
    uint32_t dynamic_smem_bytes; /* per block */
    uint32_t local_bytes_per_thread;
    uint32_t smem_carveout_bytes; /* what the driver configured per SM; 0 = unknown */
};

/* Everything known of one signature. raw[] and metric[] are indexed by enum ws_metric_id
 * (metrics.h) and are WS_METRIC_COUNT long; raw holds collected counters, as the mean per launch. An
 * EXPR slot of it has a value only where a file that was imported holds the ratio itself: it stands in
 * where the formula has none. */
struct ws_facts {
    const struct ws_device *device; /* never NULL */
    struct ws_launch launch;
    uint64_t launches;          /* seen by activity tracing (or all, under the model) */
    uint64_t profiled_launches; /* that have at least one counter */
    bool is_library;            /* a vendor library's kernel: rules about source code skip it */
    const struct ws_value *raw; /* [WS_METRIC_COUNT] */
};

#endif
