/* SPDX-License-Identifier: MIT
 * w05_bank_conflicts.c: shared-memory accesses that queue at a bank. */
#include "analyzer/rule.h"

/* NCU has 10 % too, but per direction and from a counter that includes arbitration. */
#define LEAST_SHARE 0.10

/* The rounds leave L1; where no unit is full, the waiting for them goes, if that is more. */
static double saving(const struct ws_rule_input *in, double share)
{
    struct ws_rule_left left = {1, 1 - share, 1, 1};
    double waits = ws_rule_stall_share_if_known(in, WS_M_stall_short_scoreboard) +
                   ws_rule_stall_share_if_known(in, WS_M_stall_mio_throttle);
    double gain = ws_rule_saving(in, &left);
    return ws_has(in->metric[WS_M_issue_rate]) ? fmax(gain, ws_rule_waiting(in, waits * share)) : gain;
}

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double requests = ws_rule_metric(in, WS_M_shared_ld_requests) + ws_rule_metric(in, WS_M_shared_st_requests);
    double rounds = ws_rule_metric(in, WS_M_shared_ld_wavefronts) + ws_rule_metric(in, WS_M_shared_st_wavefronts);
    double share = rounds > 0 ? ws_rule_metric(in, WS_M_shared_bank_conflicts) / rounds : 0;
    if (!(share >= LEAST_SHARE && requests > 0))
        return false;
    if (in->has_gain_inputs)
        ws_rule_gain(in, f, saving(in, share));
    ws_rule_evidence(f, "shared_wavefronts_per_request", rounds / requests);
    ws_rule_evidence(f, "shared_bank_conflicts", ws_rule_metric(in, WS_M_shared_bank_conflicts));
    ws_rule_evidence(f, "shared_conflict_share", share);
    return true;
}

#define SHARED(ld, ld_rounds, st, st_rounds, wide, hw_ld, hw_st)                                                \
    WS_FACT(shared_ld_requests, ld), WS_FACT(shared_ld_wavefronts, ld_rounds), WS_FACT(shared_st_requests, st), \
        WS_FACT(shared_st_wavefronts, st_rounds), WS_FACT(inst_memory_64b, 0), WS_FACT(inst_memory_128b, wide), \
        WS_FACT(hw_bank_conflicts_ld, hw_ld), WS_FACT(hw_bank_conflicts_st, hw_st)

static const struct ws_rule_case cases[] = {
    {"transpose tile[32][32]: 93.9 % of the rounds", true, 0.625, 0.001,
     .facts = {SHARED(32768, 1048576, 32768, 32768, 0, 1015950, 20), WS_FACTS_BUSY(0.21, 0.56, 0.17, 0.03)}},
    {"the same where no unit is full: half of the waiting is for shared memory", true, 0.4697, 0.001,
     .facts = {SHARED(32768, 1048576, 32768, 32768, 0, 1015950, 20), WS_FACTS_BUSY(0.3, 0.3, 0.1, 0.1),
               WS_FACT(stall_short_scoreboard, 50), WS_FACT(stall_selected, 10), WS_FACT(stall_not_selected, 40),
               WS_FACTS_ISSUE(0.1)}},
    {"transpose tile[32][33], with arbitration noise", false,
     .facts = {SHARED(32768, 32768, 32768, 32768, 0, 202, 314)}},
    {"strided reduction: 70 %", true, .facts = {SHARED(200, 760, 160, 440, 0, 560, 280)}},
    {"interleaved reduction", false, .facts = {SHARED(760, 760, 440, 440, 0, 0, 0)}},
    {"sequential reduction", false, .facts = {SHARED(200, 200, 160, 160, 0, 0, 0)}},
    {"tiled matrix product: 128-bit loads need two rounds", false,
     .facts = {SHARED(41943040, 50331648, 2097152, 2097152, 8388608, 0, 299697)}},
    {"no shared memory", false, .facts = {SHARED(0, 0, 0, 0, 0, 0, 0)}},
};

const struct ws_rule ws_rule_w05_bank_conflicts = {
    .id = "W05-bank-conflicts",
    .title = "Shared-memory bank conflicts",
    .condition = "conflict rounds >= 10 % of all rounds of shared loads and stores together",
    .why =
        "Shared memory has 32 banks of 4 bytes. Lanes of one warp's one request that want different words of one bank "
        "wait for each other; lanes that want the same word do not. Other warps and the block size play no part.",
    .advice =
        "Shared-memory requests take {shared_wavefronts_per_request} rounds on average instead of one, because lanes "
        "of a warp hit different words of one bank. Pad the row by one element ([32][33]) or change the index order.",
    .formula = "share of the time that SMs run x (1 - utilisation of the busiest of SM, L1, L2 and DRAM after "
               "the repair / now); after: L1 without the conflict rounds; or their share of short_scoreboard and "
               "mio_throttle, if that is more",
    .when_not = "64- and 128-bit accesses need more than one round without any conflict; where they are used the count "
                "is an upper bound.",
    .source = "Nsight Compute (10 %, there per direction); SASS counters are exact where the hardware's conflict "
              "counter is not (suite)",
    .bad = "transpose (tile[32][32]), reduce_tree (strided)",
    .good = "transpose (tile[32][33]), reduce_tree (sequential), matmul (tiled)",
    .needs = WS_NEEDS(WS_M_shared_ld_requests, WS_M_shared_ld_wavefronts, WS_M_shared_st_requests,
                      WS_M_shared_st_wavefronts, WS_M_shared_bank_conflicts),
    .gain_needs = WS_NEEDS(WS_BUSIEST_NEEDS),
    .check = check,
    WS_CASES(cases),
};
