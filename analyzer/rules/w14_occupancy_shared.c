/* SPDX-License-Identifier: MIT
 * w14_occupancy_shared.c: too few warps because each block has much shared memory. */
#include "analyzer/rule.h"

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    if (!ws_rule_occupancy(in, f, WS_OCC_SHARED))
        return false;
    ws_rule_evidence(f, "smem_per_block", in->occupancy->smem_per_block);
    return true;
}

#define IDLE WS_FACTS_BUSY(0.2, 0.3, 0.3, 0.3), WS_FACTS_ISSUE(0.2)

static const struct ws_rule_case cases[] = {
    {"100 KiB a block", true, 0.75, 1e-9,
     .launch = {.grid = {5000, 1, 1}, .block = {256, 1, 1}, .regs_per_thread = 32, .dynamic_smem_bytes = 102400},
     .facts = {IDLE}},
    {"busy", false,
     .launch = {.grid = {5000, 1, 1}, .block = {256, 1, 1}, .regs_per_thread = 32, .dynamic_smem_bytes = 102400},
     .facts = {WS_FACTS_BUSY(0.2, 0.7, 0.3, 0.3), WS_FACTS_ISSUE(0.5)}},
    {"4 KiB a block", false,
     .launch = {.grid = {5000, 1, 1}, .block = {256, 1, 1}, .regs_per_thread = 32, .dynamic_smem_bytes = 4096},
     .facts = {IDLE}},
};

const struct ws_rule ws_rule_w14_occupancy_shared = {
    .id = "W14-occupancy-shared",
    .title = "Occupancy limited by shared memory",
    .condition = "theoretical occupancy < 80 % with this limiter, at least one wave, schedulers issue in < 60 % of "
                 "cycles, every unit below 60 % of its peak",
    .why = "Shared memory of all resident blocks comes out of one store. A large tile for few threads leaves the SM "
           "with few warps.",
    .advice = "{smem_per_block:b} of shared memory per block allow {blocks_per_sm:i} blocks per SM "
              "({theoretical_occupancy:%}). Shrink the tile or use more threads per block.",
    .formula = "min(1 - issue rate, 1 - theoretical occupancy)",
    .when_not =
        "A tile that large may be what keeps DRAM quiet: compare the bytes moved before you shrink it. The limiter is "
        "computed with the largest carve-out; the driver's own choice of carve-out is not the limit.",
    .source = "Nsight Compute (theoretical < 80 %); issue rate and utilisation from its latency rule: occupancy helps "
              "only where "
              "nothing else is the limit",
    .bad = "occupancy (100 KB of shared memory)",
    .good = "chase, fma_peak",
    .needs = WS_NEEDS(WS_M_theoretical_occupancy, WS_M_issue_rate, WS_BUSIEST_NEEDS),
    .check = check,
    WS_CASES(cases),
};
