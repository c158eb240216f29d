/* SPDX-License-Identifier: MIT
 * w11_sm_imbalance.c: some SMs work much longer than others. */
#include "analyzer/rule.h"

#define LEAST_IMBALANCE 0.10 /* noise of even kernels up to 6.6 % (suite); NCU has 5 % */

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double imbalance = ws_rule_metric(in, WS_M_sm_imbalance), average = ws_rule_metric(in, WS_M_sm_active_cycles_avg);
    if (!(imbalance >= LEAST_IMBALANCE && average > 0) || ws_rule_blocks(&in->facts->launch) < in->facts->device->sms)
        return false;
    ws_rule_evidence(f, "sm_imbalance", imbalance);
    ws_rule_evidence(f, "excess_of_busiest_sm", ws_rule_metric(in, WS_M_sm_active_cycles_max) / average - 1);
    ws_rule_gain(in, f,
                 (ws_rule_metric(in, WS_M_sm_active_cycles_max) - average) / ws_rule_metric(in, WS_M_elapsed_cycles));
    return true;
}

#define CYCLES(avg, max, elapsed) \
    WS_FACT(sm_active_cycles_avg, avg), WS_FACT(sm_active_cycles_max, max), WS_FACT(elapsed_cycles, elapsed)

static const struct ws_rule_case cases[] = {
    {"the busiest SM works twice as long", true, 0.5, 1e-9, .facts = {CYCLES(500, 1000, 1000)}},
    {"even, with the noise of the suite", false, .facts = {CYCLES(930, 996, 1000)}},
    {"fewer blocks than SMs: W09", false, .launch = {.grid = {8, 1, 1}, .block = {256, 1, 1}, .regs_per_thread = 16},
     .facts = {CYCLES(60, 990, 1000)}},
    {"the tail of a wave: W10 says it", false,
     .launch = {.grid = {1057, 1, 1}, .block = {256, 1, 1}, .regs_per_thread = 32}, .facts = {CYCLES(500, 1000, 1000)}},
};

const struct ws_rule ws_rule_w11_sm_imbalance = {
    .id = "W11-sm-imbalance",
    .title = "Uneven work on the SMs",
    .condition = "(1 - mean / busiest SM's active cycles) x mean / elapsed >= 10 %, at least one block for each SM",
    .why = "The kernel ends when its last SM ends. Blocks of different cost, dealt out in order, leave some SMs with "
           "more than their share.",
    .advice = "Some SMs work {excess_of_busiest_sm:%} longer than average. Order blocks by cost, the dearest first, or "
              "take work from a queue.",
    .formula = "(busiest - mean) / elapsed: evenly shared, every SM works as long as the mean one does now",
    .when_not = "Short kernels start and end unevenly; that is not imbalance of the work.",
    .source = "Nsight Compute has 5 %; noise of even kernels reaches 6.6 % (suite on an H200)",
    .bad = "imbalance (block b does b + 1 units)",
    .good = "imbalance (equal blocks)",
    .yields_to = "W10",
    .needs = WS_NEEDS(WS_M_sm_imbalance, WS_M_sm_active_cycles_avg, WS_M_sm_active_cycles_max, WS_M_elapsed_cycles),
    .check = check,
    WS_CASES(cases),
};
