/* SPDX-License-Identifier: MIT
 * w01_uncoalesced_loads.c: global loads whose sectors carry few useful bytes. */
#include "analyzer/rule.h"

/* Between offset-1 loads (25.6 useful bytes, harmless) and stride 2 (16): measured suite on an H200. */
#define LEAST_USEFUL_BYTES 24.0
/* A broadcast has 1 sector a request, a misaligned 4-byte load exactly 5. */
#define MOST_SECTORS 5.0
#define LEAST_SHARE 0.10 /* of all global sectors: else it cannot matter */

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    struct ws_rule_access a;
    if (!ws_rule_access(in, false, &a) || a.bytes_per_sector >= LEAST_USEFUL_BYTES ||
        a.sectors_per_request <= MOST_SECTORS || a.share < LEAST_SHARE)
        return false;
    ws_rule_gain(in, f, ws_rule_access_gain(in));
    ws_rule_evidence(f, "gld_bytes_per_sector", a.bytes_per_sector);
    ws_rule_evidence(f, "gld_sectors_per_request", a.sectors_per_request);
    ws_rule_evidence(f, "ideal_sectors_per_request", a.ideal / a.requests);
    ws_rule_evidence(f, "gld_sectors", a.sectors);
    return true;
}

/* Numbers of the strided read, the two matrix additions, the offset copy and the naive matrix product. */
static const struct ws_rule_case cases[] = {
    {"stride 2: L2 and its fills shrink to two thirds", true, 0.3333, 0.0001,
     .facts = {WS_FACTS_LOADS(65536, 524288, 8388608), WS_FACTS_STORES(65536, 262144, 8388608),
               WS_FACTS_BUSY(0.2, 0.6, 0.5, 0.4), WS_FACT(l1_hit_sectors_ld, 0), WS_FACTS_DRAM(16777216, 0)}},
    {"stride 2, a quarter of the time start and end", true, 0.25, 0.0001,
     .facts = {WS_FACTS_LOADS(65536, 524288, 8388608), WS_FACTS_STORES(65536, 262144, 8388608),
               WS_FACTS_BUSY(0.2, 0.6, 0.5, 0.4), WS_FACT(l1_hit_sectors_ld, 0), WS_FACTS_DRAM(16777216, 0),
               WS_FACT(sm_active_cycles_max, 7500), WS_FACT(elapsed_cycles, 10000)}},
    {"stride 2, but the SM has as much to do as before", true, 0, 1e-9,
     .facts = {WS_FACTS_LOADS(65536, 524288, 8388608), WS_FACTS_STORES(65536, 262144, 8388608),
               WS_FACTS_BUSY(0.9, 0.6, 0.5, 0.4), WS_FACT(l1_hit_sectors_ld, 0), WS_FACTS_DRAM(16777216, 0)}},
    {"one row per lane", true,
     .facts = {WS_FACTS_LOADS(65536, 2097152, 8388608), WS_FACTS_STORES(32768, 1048576, 4194304)}},
    {"coalesced", false, .facts = {WS_FACTS_LOADS(65536, 262144, 8388608), WS_FACTS_STORES(32768, 131072, 4194304)}},
    {"offset by one element", false,
     .facts = {WS_FACTS_LOADS(524288, 2621439, 67108860), WS_FACTS_STORES(524288, 2097152, 67108864)}},
    {"broadcast operand", false,
     .facts = {WS_FACTS_LOADS(67108864, 167772160, 4429185024), WS_FACTS_STORES(32768, 131072, 4194304)}},
    {"every lane one address", false,
     .facts = {WS_FACTS_LOADS(32768, 32768, 131072), WS_FACTS_STORES(32768, 131072, 4194304)}},
    {"bad loads that are few", false,
     .facts = {WS_FACTS_LOADS(1000, 32000, 128000), WS_FACTS_STORES(250000, 1000000, 32000000)}},
};

const struct ws_rule ws_rule_w01_uncoalesced_loads = {
    .id = "W01-uncoalesced-loads",
    .title = "Uncoalesced global loads",
    .condition = "useful bytes per load sector < 24 of 32, more than 5 sectors a request, loads at least 10 % of the "
                 "global sectors",
    .why = "A warp's load is served in 32-byte sectors. Where neighbouring lanes read far apart, each sector is "
           "fetched for a few bytes of it, and L1, L2 and DRAM carry the rest for nothing.",
    .advice = "Each 32-byte sector fetched for loads carries only {gld_bytes_per_sector} useful bytes "
              "({gld_sectors_per_request} sectors per request, {ideal_sectors_per_request} would do). Let threadIdx.x "
              "walk the contiguous dimension, or stage the tile in shared memory.",
    .formula = "share of the time that SMs run x (1 - utilisation of the busiest of SM, L1, L2 and DRAM after "
               "the repair / now); after: what loads and stores would move at their ideal, of what they move now "
               "(L2 fills from DRAM too)",
    .when_not = "Where L1 serves the other parts of each sector soon after (see its hit rate), the sectors cost L1 "
                "only. A broadcast operand is no case: one sector serves all lanes.",
    .source = "thresholds between measured twins (H200): offset by one element 25.6 bytes and 5 sectors, stride 2 16 "
              "bytes and 8 sectors; CUDA Best Practices Guide, coalesced access",
    .bad = "stride_read (stride 2 and up), mat_add (x = row), map_view (transposed)",
    .good = "stride_read (stride 1), mat_add (x = col), offset_copy",
    .needs = WS_NEEDS(WS_ACCESS_NEEDS),
    .gain_needs = WS_NEEDS(WS_ACCESS_GAIN_NEEDS),
    .check = check,
    WS_CASES(cases),
};
