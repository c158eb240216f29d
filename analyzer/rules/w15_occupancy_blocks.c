/* SPDX-License-Identifier: MIT
 * w15_occupancy_blocks.c: too few warps because the SM has no more slots for such small blocks. */
#include "analyzer/rule.h"

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    if (!ws_rule_occupancy(in, f, WS_OCC_BLOCKS))
        return false;
    ws_rule_evidence(f, "threads_per_block", ws_rule_threads(&in->facts->launch));
    ws_rule_evidence(f, "block_slots", in->occupancy->limit[WS_OCC_BLOCKS]);
    return true;
}

#define IDLE WS_FACTS_BUSY(0.2, 0.3, 0.3, 0.3), WS_FACTS_ISSUE(0.2)

static const struct ws_rule_case cases[] = {
    {"32 threads", true, 0.5, 1e-9, .launch = {.grid = {9000, 1, 1}, .block = {32, 1, 1}, .regs_per_thread = 32},
     .facts = {IDLE}},
    {"32 threads, busy", false, .launch = {.grid = {9000, 1, 1}, .block = {32, 1, 1}, .regs_per_thread = 32},
     .facts = {WS_FACTS_BUSY(0.7, 0.3, 0.3, 0.3), WS_FACTS_ISSUE(0.2)}},
    {"128 threads", false, .launch = {.grid = {9000, 1, 1}, .block = {128, 1, 1}, .regs_per_thread = 32},
     .facts = {IDLE}},
};

const struct ws_rule ws_rule_w15_occupancy_blocks = {
    .id = "W15-occupancy-blocks",
    .title = "Occupancy limited by block slots",
    .condition = "theoretical occupancy < 80 % with this limiter, at least one wave, schedulers issue in < 60 % of "
                 "cycles, every unit below 60 % of its peak",
    .why = "An SM holds only so many blocks, however small. Blocks of one or two warps fill the slots long before the "
           "warps.",
    .advice = "Blocks of {threads_per_block:i} threads exhaust the {block_slots:i} block slots of an SM at "
              "{theoretical_occupancy:%} occupancy. Use 128 to 256 threads.",
    .formula = "min(1 - issue rate, 1 - theoretical occupancy)",
    .when_not = "Small blocks can be right where blocks synchronise often or differ much in length.",
    .source = "Nsight Compute (theoretical < 80 %); issue rate and utilisation from its latency rule: occupancy helps "
              "only where "
              "nothing else is the limit",
    .bad = "occupancy (32 threads)",
    .good = "chase, fma_peak",
    .needs = WS_NEEDS(WS_M_theoretical_occupancy, WS_M_issue_rate, WS_BUSIEST_NEEDS),
    .check = check,
    WS_CASES(cases),
};
