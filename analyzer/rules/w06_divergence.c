/* SPDX-License-Identifier: MIT
 * w06_divergence.c: lanes that idle because their warp took several branches. */
#include "analyzer/rule.h"

#define LEAST_LANES_SHARE 0.75 /* of the lanes that the block has: 24 of 32 (NCU) */

/* An SM that does next to nothing loses next to nothing. */
static bool is_felt(const struct ws_rule_input *in, double idle)
{
    return !ws_has(in->metric[WS_M_sm_throughput]) || idle * ws_rule_metric(in, WS_M_sm_throughput) >= WS_LEAST_GAIN;
}

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double lanes = ws_rule_metric(in, WS_M_threads_per_instruction);
    uint32_t warps = ws_rule_warps(&in->facts->launch);
    /* Lanes that were never launched are the matter of W08, not of a branch. */
    double launched = warps > 0 ? (double)ws_rule_threads(&in->facts->launch) / warps : WS_WARP_LANES;
    if (!(lanes > 0 && lanes < LEAST_LANES_SHARE * launched))
        return false;
    if (in->has_gain_inputs) {
        struct ws_rule_left left = {1 - (launched - lanes) / WS_WARP_LANES, 1, 1, 1};
        ws_rule_gain(in, f, ws_rule_saving(in, &left));
    }
    ws_rule_evidence(f, "threads_per_instruction", lanes);
    ws_rule_evidence_metric(in, f, WS_M_divergent_branches);
    return ws_rule_worth(f) && is_felt(in, (launched - lanes) / WS_WARP_LANES);
}

#define INST(warp, thread) WS_FACT(inst_executed, warp), WS_FACT(thread_inst_executed, thread)

static const struct ws_rule_case cases[] = {
    {"branch on parity: 16.1 lanes", true, 0.4969, 0.0001, .facts = {INST(1e6, 16.1e6), WS_FACTS_BUSY(0.75, 0, 0, 0)}},
    {"DRAM has as much to do as the SM", true, 0.0667, 0.0001,
     .facts = {INST(1e6, 16.1e6), WS_FACTS_BUSY(0.75, 0, 0, 0.7)}},
    {"DRAM is the limit", false, .facts = {INST(1e6, 16.1e6), WS_FACTS_BUSY(0.75, 0, 0, 0.8)}},
    {"without the SM's utilisation", true, .facts = {INST(1e6, 16.1e6)}},
    {"branch on the warp", false, .facts = {INST(1e6, 32e6), WS_FACT(sm_throughput, 0.75)}},
    {"tree reduction, predicated", false, .facts = {INST(21256, 677854)}},
    {"divergent, but the SM has nothing to do", false, .facts = {INST(1e6, 16.1e6), WS_FACTS_BUSY(0.01, 0, 0, 0)}},
    {"blocks of 16 threads: no lane idles in a branch", false,
     .launch = {.grid = {5000, 1, 1}, .block = {16, 1, 1}, .regs_per_thread = 16},
     .facts = {INST(1e6, 16e6), WS_FACT(sm_throughput, 0.75)}},
};

const struct ws_rule ws_rule_w06_divergence = {
    .id = "W06-divergence",
    .title = "Divergent branches",
    .condition =
        "fewer than 24 of 32 lanes active in the mean instruction (of the lanes that the block has), gain at least 1 %",
    .why = "A warp executes both sides of a branch on which its lanes disagree, one after the other. Inactive lanes do "
           "nothing, but the time of both sides is paid. The issue rate does not fall: only the lane count shows it.",
    .advice = "On average {threads_per_instruction} of 32 lanes are active. Make whole warps take the same branch: "
              "sort or compact the work, or branch on threadIdx.x / 32.",
    .formula = "share of the time that SMs run x (1 - utilisation of the busiest of SM, L1, L2 and DRAM after "
               "the repair / now); after: active lanes / 32 of the SM's",
    .when_not = "A last step done by one lane (a block's result) is harmless. threadIdx.x / 32 == 0 is not the same "
                "test as threadIdx.x == 0: regroup the work, not the condition.",
    .source = "Nsight Compute (24 lanes)",
    .bad = "diverge (parity)",
    .good = "diverge (warp-aligned)",
    .needs = WS_NEEDS(WS_M_threads_per_instruction),
    .gain_needs = WS_NEEDS(WS_BUSIEST_NEEDS),
    .check = check,
    WS_CASES(cases),
};
