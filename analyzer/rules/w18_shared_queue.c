/* SPDX-License-Identifier: MIT
 * w18_shared_queue.c: more shared-memory instructions than their queue takes. */
#include "analyzer/rule.h"

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double issue = ws_rule_metric(in, WS_M_issue_rate);
    double share = ws_rule_stall_share(in, WS_M_stall_mio_throttle);
    if (!(share > WS_NCU_STALL_SHARE && issue < WS_NCU_ISSUE_GATE))
        return false;
    ws_rule_evidence(f, "mio_throttle_share", share);
    ws_rule_evidence(f, "issue_rate", issue);
    ws_rule_gain(in, f, fmin(share, 1 - issue));
    return true;
}

#define STALLED(reason, cycles, selected, not_selected) \
    WS_FACT(stall_##reason, cycles), WS_FACT(stall_selected, selected), WS_FACT(stall_not_selected, not_selected)
static const struct ws_rule_case cases[] = {
    {"tiled matrix product", true, 0.47, 0.005,
     .facts = {STALLED(mio_throttle, 47e6, 10e6, 43e6), WS_FACTS_ISSUE(0.5)}},
    {"the schedulers are busy", false, .facts = {STALLED(mio_throttle, 47e6, 10e6, 43e6), WS_FACTS_ISSUE(0.8)}},
    {"another reason", false, .facts = {STALLED(long_scoreboard, 47e6, 10e6, 43e6), WS_FACTS_ISSUE(0.5)}},
};

const struct ws_rule ws_rule_w18_shared_queue = {
    .id = "W18-shared-queue",
    .title = "Queue of shared-memory and special-function instructions full",
    .skips_library = true,
    .condition = "mio_throttle > 30 % of all warp-cycles, schedulers issue in < 80 % of cycles",
    .why = "Shared-memory accesses, shuffles, special functions and some branches pass one queue. Where almost every "
           "arithmetic instruction has a shared load of its own, the queue is the limit.",
    .advice =
        "Shared-memory and special-function instructions queue up ({mio_throttle_share:%} of warp time). Let each "
        "thread compute several outputs so that one shared load feeds several FMAs; use 128-bit shared loads.",
    .formula = "min(share of warp-cycles, 1 - issue rate)",
    .when_not = "If the queue is full of special functions, see W23; if of conflicts, W05.",
    .source = "Nsight Compute (30 %, 80 %); tiled matrix product on an H200: 47 %",
    .bad = "matmul (T = 32)",
    .good = "matmul (register tile)",
    .needs = WS_NEEDS(WS_M_stall_mio_throttle, WS_STALL_NEEDS, WS_M_issue_rate),
    .check = check,
    WS_CASES(cases),
};
