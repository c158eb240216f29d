/* SPDX-License-Identifier: MIT
 * w17_redundant_loads.c: more load instructions than the load/store unit takes. */
#include "analyzer/rule.h"

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double issue = ws_rule_metric(in, WS_M_issue_rate);
    double share = ws_rule_stall_share(in, WS_M_stall_lg_throttle);
    if (!(share > WS_NCU_STALL_SHARE && issue < WS_NCU_ISSUE_GATE))
        return false;
    ws_rule_evidence(f, "lg_throttle_share", share);
    ws_rule_evidence(f, "issue_rate", issue);
    if (ws_has(in->metric[WS_M_gld_sectors]) && ws_has(in->metric[WS_M_dram_read_bytes]) &&
        ws_rule_metric(in, WS_M_dram_read_bytes) > 0)
        ws_rule_evidence(f, "l1_bytes_per_dram_byte",
                         32 * ws_rule_metric(in, WS_M_gld_sectors) / ws_rule_metric(in, WS_M_dram_read_bytes));
    else
        f->advice =
            "The queue of global loads is full ({lg_throttle_share:%} of warp time). Keep operands in registers or "
            "tile them in shared memory; use wider loads.";
    ws_rule_gain(in, f, fmin(share, 1 - issue));
    return true;
}

#define STALLED(reason, cycles, selected, not_selected) \
    WS_FACT(stall_##reason, cycles), WS_FACT(stall_selected, selected), WS_FACT(stall_not_selected, not_selected)
static const struct ws_rule_case cases[] = {
    {"naive matrix product", true, 0.37, 0.005,
     .facts = {STALLED(lg_throttle, 37e6, 10e6, 5e6), WS_FACT(stall_long_scoreboard, 48e6), WS_FACTS_ISSUE(0.45),
               WS_FACT(gld_sectors, 167772160), WS_FACT(dram_read_bytes, 8388608)}},
    {"without the byte counts", true, .facts = {STALLED(lg_throttle, 37e6, 10e6, 53e6), WS_FACTS_ISSUE(0.45)}},
    {"the schedulers are busy", false, .facts = {STALLED(lg_throttle, 37e6, 10e6, 53e6), WS_FACTS_ISSUE(0.85)}},
    {"tiled", false,
     .facts = {STALLED(lg_throttle, 2e6, 10e6, 5e6), WS_FACT(stall_mio_throttle, 47e6), WS_FACTS_ISSUE(0.5)}},
};

const struct ws_rule ws_rule_w17_redundant_loads = {
    .id = "W17-redundant-loads",
    .title = "Queue of global loads full",
    .skips_library = true,
    .condition = "lg_throttle > 30 % of all warp-cycles, schedulers issue in < 80 % of cycles",
    .why =
        "Every load instruction takes a place in the queue of the load/store unit, whether a cache serves it or not. A "
        "kernel that loads the same operands again and again is bound by the number of loads, not by their bytes.",
    .advice = "The load queue is full ({lg_throttle_share:%} of warp time): {l1_bytes_per_dram_byte} bytes pass L1 for "
              "every byte from DRAM. Keep operands in registers or tile them in shared memory; use wider loads.",
    .formula = "min(share of warp-cycles, 1 - issue rate)",
    .when_not = "Not in a vendor library's kernel. If each byte is loaded once, only wider loads are left.",
    .source = "Nsight Compute (30 %, 80 %); naive matrix product on an H200: 37 % estimated, 29 % gained by tiling",
    .bad = "matmul (naive)",
    .good = "matmul (T = 32)",
    .needs = WS_NEEDS(WS_M_stall_lg_throttle, WS_STALL_NEEDS, WS_M_issue_rate),
    .check = check,
    WS_CASES(cases),
};
