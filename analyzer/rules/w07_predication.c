/* SPDX-License-Identifier: MIT
 * w07_predication.c: instructions that are issued for all lanes and take effect in few. */
#include "analyzer/rule.h"

#define LEAST_LANES 24.0     /* below this it is divergence: W06 */
#define LEAST_EFFECTIVE 20.0 /* below the 22.2 of a plain tree reduction (suite) */

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double lanes = ws_rule_metric(in, WS_M_threads_per_instruction);
    double effective = ws_rule_metric(in, WS_M_threads_pred_on_per_instruction);
    if (!(lanes >= LEAST_LANES && effective < LEAST_EFFECTIVE))
        return false;
    if (in->has_gain_inputs) {
        struct ws_rule_left left = {effective / WS_WARP_LANES, 1, 1, 1};
        ws_rule_gain(in, f, ws_rule_saving(in, &left));
    }
    ws_rule_evidence(f, "threads_pred_on_per_instruction", effective);
    ws_rule_evidence(f, "threads_per_instruction", lanes);
    return ws_rule_worth(f);
}

#define INST(warp, thread, on) \
    WS_FACT(inst_executed, warp), WS_FACT(thread_inst_executed, thread), WS_FACT(thread_inst_pred_on, on)

static const struct ws_rule_case cases[] = {
    {"half of the lanes switched off", true, 0.5, 0.0001,
     .facts = {INST(1e6, 32e6, 16e6), WS_FACTS_BUSY(0.7, 0, 0, 0)}},
    {"tree reduction: 22.15 of 31.81", false, .facts = {INST(11464, 364670, 253928), WS_FACT(sm_throughput, 0.7)}},
    {"divergence is the matter of W06", false, .facts = {INST(1e6, 16e6, 16e6), WS_FACT(sm_throughput, 0.7)}},
};

const struct ws_rule ws_rule_w07_predication = {
    .id = "W07-predication",
    .title = "Predicated-off lanes",
    .condition = "at least 24 active lanes but fewer than 20 whose predicate is true, gain at least 1 %",
    .why = "The compiler turns short branches into predicated instructions: all lanes are active, those whose "
           "condition is false write nothing. The slot is spent all the same.",
    .advice = "Instructions are issued for all lanes but only {threads_pred_on_per_instruction} take effect. Move the "
              "condition out of the loop or give lanes uniform work.",
    .formula = "share of the time that SMs run x (1 - utilisation of the busiest of SM, L1, L2 and DRAM after "
               "the repair / now); after: effective lanes / 32 of the SM's",
    .when_not = "Bounds checks at the edge and the last rounds of a tree reduction look like this and cost little.",
    .source = "own threshold, below every kernel of the suite; Nsight Compute's 24 lanes separate it from divergence",
    .bad = "diverge (predicated)",
    .good = "reduce_tree (all)",
    .needs = WS_NEEDS(WS_M_threads_per_instruction, WS_M_threads_pred_on_per_instruction),
    .gain_needs = WS_NEEDS(WS_BUSIEST_NEEDS),
    .check = check,
    WS_CASES(cases),
};
