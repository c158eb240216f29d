/* SPDX-License-Identifier: MIT
 * w08_partial_warps.c: blocks whose size is no multiple of 32. */
#include "analyzer/rule.h"

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    uint32_t threads = ws_rule_threads(&in->facts->launch), warps = ws_rule_warps(&in->facts->launch);
    if (threads % WS_WARP_LANES == 0)
        return false;
    ws_rule_evidence(f, "threads_per_block", threads);
    ws_rule_evidence(f, "warps_per_block", warps);
    ws_rule_evidence(f, "lanes_of_last_warp", threads % WS_WARP_LANES);
    ws_rule_gain(in, f, (1 - (double)threads / (warps * (double)WS_WARP_LANES)) * ws_rule_busiest(in));
    return true;
}

static const struct ws_rule_case cases[] = {
    {"257 threads", true, 0.0757, 0.0001, .launch = {.grid = {4081, 1, 1}, .block = {257, 1, 1}, .regs_per_thread = 16},
     .facts = {WS_FACTS_BUSY(0.2, 0.4, 0.5, 0.703)}},
    {"15 x 15 threads, no counters", true,
     .launch = {.grid = {4081, 1, 1}, .block = {15, 15, 1}, .regs_per_thread = 16}},
    {"256 threads", false, .launch = {.grid = {4096, 1, 1}, .block = {256, 1, 1}, .regs_per_thread = 16}},
    {"32 x 8 threads", false, .launch = {.grid = {4096, 1, 1}, .block = {32, 8, 1}, .regs_per_thread = 16}},
};

const struct ws_rule ws_rule_w08_partial_warps = {
    .id = "W08-partial-warps",
    .title = "Block size not a multiple of 32",
    .condition = "threads per block mod 32 is not 0",
    .why = "Threads are scheduled in warps of 32. The last warp of each block runs with lanes that do not exist, and "
           "every following block starts at an address that is less well aligned.",
    .advice = "{threads_per_block:i} threads make {warps_per_block:i} warps; the last one runs {lanes_of_last_warp:i} "
              "lanes and shifts the alignment of every block. Use a multiple of 32.",
    .formula = "(1 - threads / (32 x warps)) x utilisation of the busiest unit",
    .when_not = "A grid of one small block has nothing to gain from it.",
    .source = "CUDA Best Practices Guide, thread and block heuristics; Nsight Compute",
    .bad = "block_257 (257 threads)",
    .good = "block_257 (256 threads)",
    .gain_needs = WS_NEEDS(WS_BUSIEST_NEEDS),
    .check = check,
    WS_CASES(cases),
};
