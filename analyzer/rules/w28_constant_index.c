/* SPDX-License-Identifier: MIT
 * w28_constant_index.c: constant reads that miss the constant cache. */
#include "analyzer/rule.h"

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double issue = ws_rule_metric(in, WS_M_issue_rate);
    double share = ws_rule_stall_share(in, WS_M_stall_imc_miss);
    if (!(share > WS_NCU_STALL_SHARE && issue < WS_NCU_ISSUE_GATE) ||
        ws_rule_metric(in, WS_M_duration) < WS_MIN_DURATION_S)
        return false;
    ws_rule_evidence(f, "imc_miss_share", share);
    ws_rule_evidence(f, "issue_rate", issue);
    ws_rule_evidence(f, "cycles_waiting", ws_rule_stall_cycles(in, WS_M_stall_imc_miss));
    ws_rule_gain(in, f, ws_rule_waiting(in, share));
    return true;
}

#define STALLED(reason, cycles, selected, not_selected) \
    WS_FACT(stall_##reason, cycles), WS_FACT(stall_selected, selected), WS_FACT(stall_not_selected, not_selected)
static const struct ws_rule_case cases[] = {
    {"a table larger than the cache", true, 0.5, 0.005,
     .facts = {STALLED(imc_miss, 50e6, 10e6, 40e6), WS_FACTS_ISSUE(0.2), WS_FACT(duration, 1e-3)}},
    {"cold start of a short kernel", false,
     .facts = {STALLED(imc_miss, 50e6, 10e6, 40e6), WS_FACTS_ISSUE(0.2), WS_FACT(duration, 4e-6)}},
    {"a table that fits", false,
     .facts = {STALLED(imc_miss, 1e6, 10e6, 89e6), WS_FACTS_ISSUE(0.2), WS_FACT(duration, 1e-3)}},
};

const struct ws_rule ws_rule_w28_constant_index = {
    .id = "W28-constant-index",
    .title = "Waiting for the constant cache",
    .condition = "imc_miss > 30 % of all warp-cycles, schedulers issue in < 80 % of cycles, at least 10 us",
    .why =
        "Constant memory is read through a small cache of the SM. A table larger than it, walked in an order the cache "
        "cannot follow, makes every warp wait for each constant.",
    .advice = "Warps wait {cycles_waiting} cycles per instruction for constants ({imc_miss_share:%} of warp time): the "
              "constant cache misses. Make the table smaller, or keep it in shared or global memory.",
    .formula = "share of the time that SMs run x min(share of warp-cycles, 1 - issue rate / 0.8)",
    .when_not =
        "Not under 10 us: the first use of each constant misses, and a replayed kernel starts cold. Lanes that read "
        "different constants wait as short_scoreboard and mio_throttle instead (seen on an H200): see W19.",
    .source = "Nsight Compute (30 %, 80 %); 10 us because constants are cold at the start",
    .bad = "const_index (uniform, a table of 16 KiB)",
    .good = "const_index (per lane: W19 instead)",
    .needs = WS_NEEDS(WS_M_stall_imc_miss, WS_STALL_NEEDS, WS_M_issue_rate, WS_M_duration),
    .check = check,
    WS_CASES(cases),
};
