/* SPDX-License-Identifier: MIT
 * w12_occupancy_registers.c: too few warps because each thread has many registers. */
#include "analyzer/rule.h"

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    if (!ws_rule_occupancy(in, f, WS_OCC_REGISTERS))
        return false;
    ws_rule_evidence(f, "regs_per_thread", in->facts->launch.regs_per_thread);
    return true;
}

#define IDLE WS_FACTS_BUSY(0.2, 0.3, 0.3, 0.3), WS_FACTS_ISSUE(0.2)

static const struct ws_rule_case cases[] = {
    {"72 registers", true, 0.625, 1e-9, .launch = {.grid = {5000, 1, 1}, .block = {256, 1, 1}, .regs_per_thread = 72},
     .facts = {IDLE}},
    {"busy at half occupancy", false, .launch = {.grid = {5000, 1, 1}, .block = {256, 1, 1}, .regs_per_thread = 72},
     .facts = {WS_FACTS_BUSY(0.9, 0.3, 0.3, 0.3), WS_FACTS_ISSUE(0.9)}},
    {"DRAM is the limit", false, .launch = {.grid = {5000, 1, 1}, .block = {256, 1, 1}, .regs_per_thread = 72},
     .facts = {WS_FACTS_BUSY(0.2, 0.3, 0.3, 0.8), WS_FACTS_ISSUE(0.2)}},
    {"limited by shared memory", false,
     .launch = {.grid = {5000, 1, 1}, .block = {256, 1, 1}, .regs_per_thread = 32, .dynamic_smem_bytes = 102400},
     .facts = {IDLE}},
    {"full occupancy", false, .facts = {IDLE}},
    {"a grid that does not fill what there is", false,
     .launch = {.grid = {200, 1, 1}, .block = {256, 1, 1}, .regs_per_thread = 72}, .facts = {IDLE}},
};

const struct ws_rule ws_rule_w12_occupancy_registers = {
    .id = "W12-occupancy-registers",
    .title = "Occupancy limited by registers",
    .condition = "theoretical occupancy < 80 % with this limiter, at least one wave, schedulers issue in < 60 % of "
                 "cycles, every unit below 60 % of its peak",
    .why = "The registers of all resident warps come from one file. Fewer resident warps means fewer loads in flight "
           "to hide latency with.",
    .advice =
        "{regs_per_thread:i} registers per thread allow {blocks_per_sm:i} blocks per SM ({theoretical_occupancy:%}). "
        "Reduce live values or cap registers, but stop if local-memory traffic appears.",
    .formula = "min(1 - issue rate, 1 - theoretical occupancy)",
    .when_not = "More independent loads per thread hide the same latency with fewer warps; then registers are well "
                "spent. A cap that makes the compiler spill is worse than what it repairs.",
    .source = "Nsight Compute (theoretical < 80 %); issue rate and utilisation from its latency rule: occupancy helps "
              "only where "
              "nothing else is the limit",
    .bad = "occupancy (72 registers)",
    .good = "chase, fma_peak",
    .needs = WS_NEEDS(WS_M_theoretical_occupancy, WS_M_issue_rate, WS_BUSIEST_NEEDS),
    .check = check,
    WS_CASES(cases),
};
