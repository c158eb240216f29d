/* SPDX-License-Identifier: MIT
 * w24_register_spill.c: values that did not fit the registers and went to local memory. */
#include "analyzer/rule.h"

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double share = ws_rule_metric(in, WS_M_local_share);
    if (share < WS_LOCAL_SHARE || !ws_rule_at_register_cap(&in->facts->launch))
        return false;
    ws_rule_evidence(f, "local_share", share);
    ws_rule_evidence(f, "local_sectors",
                     ws_rule_metric(in, WS_M_local_ld_sectors) + ws_rule_metric(in, WS_M_local_st_sectors));
    ws_rule_evidence(f, "regs_per_thread", in->facts->launch.regs_per_thread);
    if (in->has_gain_inputs)
        ws_rule_gain(in, f, ws_rule_local_gain(in));
    return true;
}

#define SECTORS(global, local)                                                               \
    WS_FACT(gld_sectors, global), WS_FACT(gst_sectors, 0), WS_FACT(local_ld_sectors, local), \
        WS_FACT(local_st_sectors, 0), WS_FACT(red_sectors, 0), WS_FACT(atom_sectors, 0), WS_FACT(async_ld_sectors, 0)
#define BUSY(l1, instructions, requests)                                                                          \
    WS_FACTS_BUSY(0.2, l1, 0.1, 0.1), WS_FACT(inst_executed, instructions), WS_FACT(local_ld_requests, requests), \
        WS_FACT(local_st_requests, 0)
#define REGS(n)                                                                                         \
    {                                                                                                   \
        .grid = {1056, 1, 1}, .block = {256, 1, 1}, .regs_per_thread = n, .local_bytes_per_thread = 272 \
    }

static const struct ws_rule_case cases[] = {
    {"64 live floats in 32 registers", true, 0.75, 1e-9, .launch = REGS(32),
     .facts = {SECTORS(15e6, 45e6), BUSY(0.8, 60e6, 11e6)}},
    {"the SM has the rest to do", true, 0.75, 1e-9, .launch = REGS(32),
     .facts = {SECTORS(0, 45e6), BUSY(0.4, 30e6, 15e6)}},
    {"255 registers, and not enough", true, .launch = REGS(255), .facts = {SECTORS(15e6, 45e6)}},
    {"below any cap: an indexed array", false, .launch = REGS(37), .facts = {SECTORS(15e6, 45e6)}},
    {"no local memory", false, .launch = REGS(72), .facts = {SECTORS(15e6, 0)}},
    {"4 % of the sectors", false, .launch = REGS(32), .facts = {SECTORS(96e6, 4e6)}},
};

const struct ws_rule ws_rule_w24_register_spill = {
    .id = "W24-register-spill",
    .title = "Register spill",
    .condition = "local sectors >= 5 % of all L1 sectors, and registers at a cap (a multiple of 8 above 16, or 255)",
    .why = "Values that do not fit the registers are stored to local memory, which lies in global memory behind L1, "
           "and loaded back.",
    .advice =
        "{local_sectors:i} local-memory sectors come from spilled registers ({local_share:%} of the L1 sectors, at "
        "{regs_per_thread:i} registers). Raise the cap (maxrregcount, __launch_bounds__) or keep fewer values live.",
    .formula = "share of the time that SMs run x (1 - utilisation of the busiest of SM, L1, L2 and DRAM after "
               "the repair / now); after: without local memory's share of the instructions and sectors; or its "
               "share of long_scoreboard and lg_throttle, if that is more",
    .when_not = "The cap itself is not visible: caps fall on multiples of 8, and one count in eight does so by chance. "
                "An array indexed at run time looks alike (W25); ptxas -v tells them apart.",
    .source = "5 %: own choice; a cap of 32 on 64 live floats spills 476 bytes (ptxas, sm_90)",
    .bad = "spill (capped at 32)",
    .good = "spill (72 registers)",
    .needs = WS_NEEDS(WS_M_local_share, WS_M_local_ld_sectors, WS_M_local_st_sectors),
    .gain_needs = WS_NEEDS(WS_LOCAL_GAIN_NEEDS),
    .check = check,
    WS_CASES(cases),
};
