/* SPDX-License-Identifier: MIT
 * w27_atomic_contention.c: atomics that go to the same place. */
#include "analyzer/rule.h"

#define LEAST_SHARE 0.10   /* of L1's requests to L2 */
#define LEAST_PER_WARP 0.5 /* one in every second warp; one per block of 8 warps is 0.125 */
#define MOST_SECTORS 2.0   /* a request: its lanes share one place; distinct 4-byte addresses in a row have 4 */

/* The queue at one address keeps no unit busy: 16.8 million lanes at one float took 29.4 ms on an H200, 3 cycles each,
 * with L2 at 1 % of its peak. Without it the kernel takes as long as its busiest unit works. */
static double others(const struct ws_rule_input *in, double share)
{
    return fmax(fmax(ws_rule_metric(in, WS_M_sm_throughput), ws_rule_metric(in, WS_M_l1_throughput)),
                fmax(ws_rule_metric(in, WS_M_l2_throughput) * (1 - share), ws_rule_metric(in, WS_M_dram_throughput)));
}

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double atomics = ws_rule_metric(in, WS_M_red_requests) + ws_rule_metric(in, WS_M_atom_requests);
    double sectors = ws_rule_metric(in, WS_M_red_sectors) + ws_rule_metric(in, WS_M_atom_sectors);
    double warps = ws_rule_metric(in, WS_M_launched_warps), share = ws_rule_metric(in, WS_M_atomic_share);
    if (!(atomics > 0 && warps > 0 && share >= LEAST_SHARE && atomics / warps >= LEAST_PER_WARP &&
          sectors / atomics <= MOST_SECTORS))
        return false;
    ws_rule_evidence(f, "atomics", atomics);
    ws_rule_evidence(f, "atomics_per_warp", atomics / warps);
    ws_rule_evidence(f, "sectors_per_atomic", sectors / atomics);
    ws_rule_evidence(f, "atomic_share", share);
    if (in->has_gain_inputs)
        ws_rule_gain(in, f, 1 - others(in, share));
    return true;
}

#define RED(requests, sectors, l2_red, l2_all)                                                    \
    WS_FACT(red_requests, requests), WS_FACT(red_sectors, sectors), WS_FACT(atom_requests, 0),    \
        WS_FACT(atom_sectors, 0), WS_FACT(l2_red_requests, l2_red), WS_FACT(l2_atom_requests, 0), \
        WS_FACT(l2_requests, l2_all)
#define GRID                                                               \
    {                                                                      \
        .grid = {65536, 1, 1}, .block = {256, 1, 1}, .regs_per_thread = 16 \
    }

static const struct ws_rule_case cases[] = {
    {"every thread adds to one place", true, 0.9, 1e-9, .launch = GRID,
     .facts = {RED(524288, 524288, 524288, 1048576), WS_FACTS_BUSY(0.01, 0.02, 0.2, 0.05)}},
    {"one atomic a block", false, .launch = GRID,
     .facts = {RED(65536, 65536, 65536, 589824), WS_FACT(l2_throughput, 0.3)}},
    {"1536 distinct addresses", false, .launch = {.grid = {2, 3, 4}, .block = {2, 4, 8}, .regs_per_thread = 16},
     .facts = {RED(48, 192, 48, 60), WS_FACT(l2_throughput, 0.01)}},
    {"no atomics", false, .facts = {RED(0, 0, 0, 1000), WS_FACT(l2_throughput, 0.3)}},
};

const struct ws_rule ws_rule_w27_atomic_contention = {
    .id = "W27-atomic-contention",
    .title = "Contended atomics",
    .condition = "reductions and atomics >= 10 % of L1's requests to L2, at least 0.5 per warp, at most 2 sectors each",
    .why = "L2 applies the lanes of an atomic one address at a time. A warp's 32 lanes on one address are one "
           "instruction but 32 steps, and all warps queue for the same place.",
    .advice = "{atomics:i} atomics go to the same place ({atomics_per_warp} per warp). Reduce inside the warp or block "
              "first and issue one per block; float results depend on order.",
    .formula = "1 - utilisation of the busiest of SM, L1, DRAM and, without the atomics' share of the requests, L2",
    .when_not = "A histogram over many bins spreads its atomics; few sectors a request is then chance.",
    .source = "10 % and 0.5 per warp from the twins atomic_sum each / block; 2 sectors: distinct neighbours have 4",
    .bad = "atomic_sum (per thread)",
    .good = "atomic_sum (per block), full_kernel",
    .needs = WS_NEEDS(WS_M_red_requests, WS_M_atom_requests, WS_M_red_sectors, WS_M_atom_sectors, WS_M_atomic_share,
                      WS_M_launched_warps),
    .gain_needs = WS_NEEDS(WS_BUSIEST_NEEDS),
    .check = check,
    WS_CASES(cases),
};
