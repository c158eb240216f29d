/* SPDX-License-Identifier: MIT
 * w02_uncoalesced_stores.c: global stores that touch more sectors than they fill. */
#include "analyzer/rule.h"

#define LEAST_USEFUL_BYTES 24.0 /* as for loads: w01_uncoalesced_loads.c */
#define MOST_SECTORS 5.0
#define LEAST_SHARE 0.10

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    struct ws_rule_access a;
    if (!ws_rule_access(in, true, &a) || a.bytes_per_sector >= LEAST_USEFUL_BYTES ||
        a.sectors_per_request <= MOST_SECTORS || a.share < LEAST_SHARE)
        return false;
    ws_rule_gain(in, f, ws_rule_access_gain(in));
    ws_rule_evidence(f, "gst_sectors_per_request", a.sectors_per_request);
    ws_rule_evidence(f, "ideal_sectors_per_request", a.ideal / a.requests);
    ws_rule_evidence(f, "gst_bytes_per_sector", a.bytes_per_sector);
    ws_rule_evidence(f, "gst_sectors", a.sectors);
    return true;
}

/* The matrix addition with x = row: of 1,572,864 sectors that L2 moves (262,144 of them fills), 655,360 would do. */
static const struct ws_rule_case cases[] = {
    {"x = row", true, 0.5833, 0.0001,
     .facts = {WS_FACTS_LOADS(65536, 2097152, 8388608), WS_FACTS_STORES(32768, 1048576, 4194304),
               WS_FACTS_BUSY(0.1, 0.6, 0.75, 0.09), WS_FACT(l1_hit_sectors_ld, 1835008),
               WS_FACTS_DRAM(8388608, 6200000)}},
    {"naive transpose", true,
     .facts = {WS_FACTS_LOADS(32768, 131072, 4194304), WS_FACTS_STORES(32768, 1048576, 4194304)}},
    {"x = col", false, .facts = {WS_FACTS_LOADS(65536, 262144, 8388608), WS_FACTS_STORES(32768, 131072, 4194304)}},
    {"one store a block", false, .facts = {WS_FACTS_LOADS(256, 1024, 32768), WS_FACTS_STORES(8, 8, 32)}},
    {"64-bit stores", false, .facts = {WS_FACTS_LOADS(0, 0, 0), WS_FACTS_STORES(16896, 135168, 4325376)}},
};

const struct ws_rule ws_rule_w02_uncoalesced_stores = {
    .id = "W02-uncoalesced-stores",
    .title = "Uncoalesced global stores",
    .condition = "useful bytes per store sector < 24 of 32, more than 5 sectors a request, stores at least 10 % of the "
                 "global sectors",
    .why = "L1 does not merge stores: every sector that a store touches is a write to L2, however few of its bytes are "
           "new.",
    .advice =
        "Stores touch {gst_sectors_per_request} sectors per request where {ideal_sectors_per_request} suffice; stores "
        "are not merged by L1, so each costs L2 traffic. Swap the index roles or transpose through shared memory.",
    .formula = "share of the time that SMs run x (1 - utilisation of the busiest of SM, L1, L2 and DRAM after "
               "the repair / now); after: what loads and stores would move at their ideal, of what they move now "
               "(L2 fills from DRAM too)",
    .when_not = "If the layout of the output is given by others and L2 is idle, a transposing store may still be the "
                "cheapest place for the transposition.",
    .source = "thresholds as W01; CUDA Best Practices Guide, coalesced access",
    .bad = "mat_add (x = row), transpose (naive), block_shape (1,256)",
    .good = "mat_add (x = col), transpose (tile)",
    .needs = WS_NEEDS(WS_ACCESS_NEEDS),
    .gain_needs = WS_NEEDS(WS_ACCESS_GAIN_NEEDS),
    .check = check,
    WS_CASES(cases),
};
