/* SPDX-License-Identifier: MIT
 * w25_local_array.c: an array that lies in local memory because it is indexed at run time. */
#include "analyzer/rule.h"

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double share = ws_rule_metric(in, WS_M_local_share);
    if (share < WS_LOCAL_SHARE || ws_rule_at_register_cap(&in->facts->launch))
        return false;
    ws_rule_evidence(f, "local_share", share);
    ws_rule_evidence(f, "regs_per_thread", in->facts->launch.regs_per_thread);
    if (in->facts->launch.local_bytes_per_thread > 0)
        ws_rule_evidence(f, "local_bytes_per_thread", in->facts->launch.local_bytes_per_thread);
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
        .grid = {1056, 1, 1}, .block = {256, 1, 1}, .regs_per_thread = n, .local_bytes_per_thread = 128 \
    }

static const struct ws_rule_case cases[] = {
    {"indexed array, 22 registers", true, 0.62, 1e-9, .launch = REGS(22),
     .facts = {SECTORS(1e6, 4e6), BUSY(0.5, 20e6, 1e6)}},
    {"no unit is full, but warps wait for it", true, 0.5, 1e-9, .launch = REGS(22),
     .facts = {SECTORS(0, 4e6), BUSY(0.1, 20e6, 1e6), WS_FACT(stall_long_scoreboard, 50), WS_FACT(stall_selected, 10),
               WS_FACT(stall_not_selected, 40), WS_FACTS_ISSUE(0.2)}},
    {"16 registers are reported for any smaller count", true, .launch = REGS(16), .facts = {SECTORS(1e6, 4e6)}},
    {"registers at a cap: a spill", false, .launch = REGS(32), .facts = {SECTORS(1e6, 4e6)}},
    {"none", false, .launch = REGS(22), .facts = {SECTORS(1e6, 0)}},
};

const struct ws_rule ws_rule_w25_local_array = {
    .id = "W25-local-array",
    .title = "Array in local memory",
    .condition = "local sectors >= 5 % of all L1 sectors, and registers below any cap",
    .why = "Registers cannot be indexed at run time. An array whose index the compiler does not know is put in local "
           "memory, which lies in global memory behind L1.",
    .advice = "An array indexed at run time lies in local memory ({local_share:%} of the L1 sectors). Unroll so that "
              "indices are constants, or put it in shared memory.",
    .formula = "share of the time that SMs run x (1 - utilisation of the busiest of SM, L1, L2 and DRAM after "
               "the repair / now); after: without local memory's share of the instructions and sectors; or its "
               "share of long_scoreboard and lg_throttle, if that is more",
    .when_not = "A call that could not be inlined uses local memory too (its stack).",
    .source = "5 %: own choice",
    .bad = "local_array",
    .good = "local_array (unrolled), spill",
    .needs = WS_NEEDS(WS_M_local_share),
    .gain_needs = WS_NEEDS(WS_LOCAL_GAIN_NEEDS),
    .check = check,
    WS_CASES(cases),
};
