/* SPDX-License-Identifier: MIT
 * w19_short_scoreboard.c: warps that use shared-memory or special-function results at once. */
#include "analyzer/rule.h"

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double issue = ws_rule_metric(in, WS_M_issue_rate);
    double share = ws_rule_stall_share(in, WS_M_stall_short_scoreboard);
    if (!(share > WS_NCU_STALL_SHARE && issue < WS_NCU_ISSUE_GATE))
        return false;
    ws_rule_evidence(f, "short_scoreboard_share", share);
    ws_rule_evidence(f, "issue_rate", issue);
    ws_rule_evidence(f, "cycles_waiting", ws_rule_stall_cycles(in, WS_M_stall_short_scoreboard));
    ws_rule_gain(in, f, ws_rule_waiting(in, share + ws_rule_stall_share_if_known(in, WS_M_stall_mio_throttle)));
    return true;
}

#define STALLED(reason, cycles, selected, not_selected) \
    WS_FACT(stall_##reason, cycles), WS_FACT(stall_selected, selected), WS_FACT(stall_not_selected, not_selected)
static const struct ws_rule_case cases[] = {
    {"special functions", true, 0.45, 0.005,
     .facts = {STALLED(short_scoreboard, 45e6, 10e6, 45e6), WS_FACTS_ISSUE(0.3)}},
    {"and the queue before them", true, 0.7, 0.005,
     .facts = {STALLED(short_scoreboard, 45e6, 10e6, 20e6), WS_FACT(stall_mio_throttle, 25e6), WS_FACTS_ISSUE(0.1)}},
    {"26 %, as in the transpose", false, .facts = {STALLED(short_scoreboard, 26e6, 10e6, 64e6), WS_FACTS_ISSUE(0.3)}},
    {"the schedulers are busy", false, .facts = {STALLED(short_scoreboard, 45e6, 10e6, 45e6), WS_FACTS_ISSUE(0.9)}},
};

const struct ws_rule ws_rule_w19_short_scoreboard = {
    .id = "W19-short-scoreboard",
    .title = "Waiting for shared memory or special functions",
    .condition = "short_scoreboard > 30 % of all warp-cycles, schedulers issue in < 80 % of cycles",
    .why = "A load from shared memory or a special function takes some tens of cycles. Warps that use the result at "
           "once wait for it.",
    .advice = "Warps wait {cycles_waiting} cycles per instruction for shared memory or special functions "
              "({short_scoreboard_share:%} of warp time). Check bank conflicts, keep values in registers.",
    .formula = "share of the time that SMs run x min(share of warp-cycles together with mio_throttle, the queue "
               "before the same units, 1 - issue rate / 0.8)",
    .when_not = "Where bank conflicts are the cause, W05 speaks.",
    .source = "Nsight Compute (30 %, 80 %)",
    .bad = "sfu (expected)",
    .good = "fma_peak",
    .yields_to = "W05 W23",
    .needs = WS_NEEDS(WS_M_stall_short_scoreboard, WS_STALL_NEEDS, WS_M_issue_rate),
    .check = check,
    WS_CASES(cases),
};
