/* SPDX-License-Identifier: MIT
 * w16_latency_bound.c: no unit is busy: warps wait for loads, and there are too few of them in flight. */
#include "analyzer/rule.h"

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double busiest = ws_rule_busiest(in), issue = ws_rule_metric(in, WS_M_issue_rate);
    double share = ws_rule_stall_share(in, WS_M_stall_long_scoreboard);
    if (!(busiest < WS_NCU_BUSY && issue < WS_NCU_LATENCY_ISSUE && share > WS_NCU_STALL_SHARE) ||
        ws_rule_waves(in) < 1 || ws_rule_metric(in, WS_M_duration) < WS_MIN_DURATION_S)
        return false;
    ws_rule_evidence(f, "cycles_waiting", ws_rule_stall_cycles(in, WS_M_stall_long_scoreboard));
    ws_rule_evidence(f, "long_scoreboard_share", share);
    ws_rule_evidence(f, "busiest_unit", busiest);
    ws_rule_evidence(f, "issue_rate", issue);
    ws_rule_gain(in, f, ws_rule_waiting(in, 1 - busiest / WS_NCU_FULL));
    return true;
}

#define STALLED(reason, cycles, selected, not_selected) \
    WS_FACT(stall_##reason, cycles), WS_FACT(stall_selected, selected), WS_FACT(stall_not_selected, not_selected)

static const struct ws_rule_case cases[] = {
    {"pointer chase, one chain", true, 0.6875, 1e-9,
     .facts = {WS_FACTS_BUSY(0.1, 0.2, 0.25, 0.2), WS_FACTS_ISSUE(0.05), STALLED(long_scoreboard, 95e6, 1e6, 1e4),
               WS_FACT(duration, 1e-3)}},
    {"memory is busy", false,
     .facts = {WS_FACTS_BUSY(0.1, 0.2, 0.25, 0.66), WS_FACTS_ISSUE(0.05), STALLED(long_scoreboard, 95e6, 1e6, 1e4),
               WS_FACT(duration, 1e-3)}},
    {"under 10 us", false,
     .facts = {WS_FACTS_BUSY(0.1, 0.2, 0.25, 0.2), WS_FACTS_ISSUE(0.05), STALLED(long_scoreboard, 95e6, 1e6, 1e4),
               WS_FACT(duration, 5e-6)}},
    {"waits for something else", false,
     .facts = {WS_FACTS_BUSY(0.1, 0.2, 0.25, 0.2), WS_FACTS_ISSUE(0.05), STALLED(barrier, 95e6, 1e6, 1e4),
               WS_FACT(duration, 1e-3)}},
    {"less than a wave", false, .launch = {.grid = {200, 1, 1}, .block = {256, 1, 1}, .regs_per_thread = 32},
     .facts = {WS_FACTS_BUSY(0.1, 0.2, 0.25, 0.2), WS_FACTS_ISSUE(0.05), STALLED(long_scoreboard, 95e6, 1e6, 1e4),
               WS_FACT(duration, 1e-3)}},
};

const struct ws_rule ws_rule_w16_latency_bound = {
    .id = "W16-latency-bound",
    .title = "Bound by the latency of loads",
    .condition = "SM, L1, L2 and DRAM all below 60 %, schedulers issue in < 60 % of cycles, long_scoreboard > 30 % of "
                 "warp-cycles, at least one wave, at least 10 us",
    .why = "Each warp waits for its own load before it issues the next one. What is in flight at a time is warps x "
           "loads per warp; if that is too little, no unit is busy and all wait.",
    .advice = "No unit is busy: warps wait {cycles_waiting} cycles per instruction for loads. Issue independent loads "
              "before using them (unroll, two or more chains per thread, cp.async).",
    .formula = "share of the time that SMs run x min(1 - issue rate / 0.8, 1 - utilisation of the busiest unit / "
               "0.8)",
    .when_not = "A chain of dependent loads (a list, a tree) has no independent ones to issue: then only more chains "
                "at once help.",
    .source = "Nsight Compute (60 %, 60 %, 30 %); 10 us because shorter kernels are start and end",
    .bad = "chase (one chain)",
    .good = "chase (four chains)",
    .yields_to = "W01 W02 W05 W24",
    .needs = WS_NEEDS(WS_BUSIEST_NEEDS, WS_M_issue_rate, WS_M_duration, WS_M_stall_long_scoreboard, WS_STALL_NEEDS,
                      WS_M_theoretical_occupancy),
    .check = check,
    WS_CASES(cases),
};
