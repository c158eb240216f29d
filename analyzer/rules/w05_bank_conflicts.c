/* SPDX-License-Identifier: MIT
 * w05_bank_conflicts.c: shared-memory accesses that queue at a bank. */
#include "analyzer/rule.h"

/* NCU has 10 % too, but per direction and from a counter that includes arbitration. */
#define LEAST_SHARE 0.10

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double requests = ws_rule_metric(in, WS_M_shared_ld_requests) + ws_rule_metric(in, WS_M_shared_st_requests);
    double rounds = ws_rule_metric(in, WS_M_shared_ld_wavefronts) + ws_rule_metric(in, WS_M_shared_st_wavefronts);
    double share = rounds > 0 ? ws_rule_metric(in, WS_M_shared_bank_conflicts) / rounds : 0;
    if (!(share >= LEAST_SHARE && requests > 0))
        return false;
    ws_rule_gain(in, f, ws_rule_metric(in, WS_M_l1_throughput) * share);
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
    {"transpose tile[32][32]: 93.9 % of the rounds", true, 0.46, 0.01,
     .facts = {SHARED(32768, 1048576, 32768, 32768, 0, 1015950, 20), WS_FACT(l1_throughput, 0.49)}},
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
    .formula = "L1 utilisation x share of conflict rounds",
    .when_not = "64- and 128-bit accesses need more than one round without any conflict; where they are used the count "
                "is an upper bound.",
    .source = "Nsight Compute (10 %, there per direction); SASS counters are exact where the hardware's conflict "
              "counter is not (suite)",
    .bad = "transpose (tile[32][32]), reduce_tree (strided)",
    .good = "transpose (tile[32][33]), reduce_tree (sequential), matmul (tiled)",
    .needs = WS_NEEDS(WS_M_shared_ld_requests, WS_M_shared_ld_wavefronts, WS_M_shared_st_requests,
                      WS_M_shared_st_wavefronts, WS_M_shared_bank_conflicts),
    .gain_needs = WS_NEEDS(WS_M_l1_throughput),
    .check = check,
    WS_CASES(cases),
};
