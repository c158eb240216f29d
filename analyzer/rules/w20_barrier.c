/* SPDX-License-Identifier: MIT
 * w20_barrier.c: warps that wait at __syncthreads for slower ones. */
#include "analyzer/rule.h"

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double issue = ws_rule_metric(in, WS_M_issue_rate);
    double share = ws_rule_stall_share(in, WS_M_stall_barrier);
    if (!(share > WS_NCU_STALL_SHARE && issue < WS_NCU_ISSUE_GATE) ||
        ws_rule_metric(in, WS_M_duration) < WS_MIN_DURATION_S)
        return false;
    ws_rule_evidence(f, "barrier_share", share);
    ws_rule_evidence(f, "issue_rate", issue);
    ws_rule_evidence(f, "cycles_waiting", ws_rule_stall_cycles(in, WS_M_stall_barrier));
    ws_rule_gain(in, f, ws_rule_waiting(in, share));
    return true;
}

#define STALLED(reason, cycles, selected, not_selected) \
    WS_FACT(stall_##reason, cycles), WS_FACT(stall_selected, selected), WS_FACT(stall_not_selected, not_selected)
static const struct ws_rule_case cases[] = {
    {"one slow warp", true, 0.6, 0.005,
     .facts = {STALLED(barrier, 60e6, 10e6, 30e6), WS_FACTS_ISSUE(0.3), WS_FACT(duration, 1e-3)}},
    {"41 % in a transpose of 6 us", false,
     .facts = {STALLED(barrier, 41e6, 10e6, 49e6), WS_FACTS_ISSUE(0.3), WS_FACT(duration, 6e-6)}},
    {"even", false, .facts = {STALLED(barrier, 10e6, 10e6, 80e6), WS_FACTS_ISSUE(0.3), WS_FACT(duration, 1e-3)}},
};

const struct ws_rule ws_rule_w20_barrier = {
    .id = "W20-barrier",
    .title = "Waiting at barriers",
    .condition = "barrier > 30 % of all warp-cycles, schedulers issue in < 80 % of cycles, at least 10 us",
    .why = "A barrier costs what the slowest warp of the block needs to reach it, for all others.",
    .advice =
        "Warps wait {cycles_waiting} cycles per instruction at __syncthreads() for slower ones ({barrier_share:%} of "
        "warp time). Balance the code before it; use blocks of at most 256 threads or __syncwarp().",
    .formula = "share of the time that SMs run x min(share of warp-cycles, 1 - issue rate / 0.8)",
    .when_not = "Not under 10 us, where the share moves with the state of the caches (23 % cold, 41 % warm for the "
                "same transpose).",
    .source = "Nsight Compute (30 %, 80 %); 10 us from the suite on an H200",
    .bad = "barrier (one slow warp)",
    .good = "barrier (even)",
    .needs = WS_NEEDS(WS_M_stall_barrier, WS_STALL_NEEDS, WS_M_issue_rate, WS_M_duration),
    .check = check,
    WS_CASES(cases),
};
