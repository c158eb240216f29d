/* SPDX-License-Identifier: MIT
 * w03_misaligned.c: accesses that start off a sector boundary: one sector too many. A note. */
#include "analyzer/rule.h"

/* 32 / useful bytes per sector. Offset-1 copies of 4-byte elements: 1.25 and 5 sectors (suite). */
#define LEAST_OVERHEAD 1.05
#define MOST_OVERHEAD 1.34
#define ALIGNED_SECTORS 4.0
#define MOST_SECTORS 5.4

static bool is_misaligned(const struct ws_rule_access *a)
{
    double overhead = 32 / a->bytes_per_sector;
    return overhead > LEAST_OVERHEAD && overhead <= MOST_OVERHEAD && a->sectors_per_request > ALIGNED_SECTORS &&
           a->sectors_per_request <= MOST_SECTORS;
}

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    struct ws_rule_access a;
    bool stores = false;
    if (!ws_rule_access(in, false, &a) || !is_misaligned(&a)) {
        stores = true;
        if (!ws_rule_access(in, true, &a) || !is_misaligned(&a))
            return false;
    }
    ws_rule_gain(in, f, ws_rule_access_gain(in));
    ws_rule_evidence(f, "sectors_per_request", a.sectors_per_request);
    ws_rule_evidence(f, "bytes_per_sector", a.bytes_per_sector);
    ws_rule_evidence(f, "stores", stores);
    return true;
}

static const struct ws_rule_case cases[] = {
    {"load from offset 1", true,
     .facts = {WS_FACTS_LOADS(524288, 2621439, 67108860), WS_FACTS_STORES(524288, 2097152, 67108864)}},
    {"store to offset 1", true,
     .facts = {WS_FACTS_LOADS(524288, 2097152, 67108864), WS_FACTS_STORES(524288, 2621439, 67108860)}},
    {"offset 0", false,
     .facts = {WS_FACTS_LOADS(524288, 2097152, 67108864), WS_FACTS_STORES(524288, 2097152, 67108864)}},
    {"offset 8, a sector", false,
     .facts = {WS_FACTS_LOADS(524288, 2097151, 67108832), WS_FACTS_STORES(524288, 2097151, 67108832)}},
    {"stride 2", false, .facts = {WS_FACTS_LOADS(65536, 524288, 8388608), WS_FACTS_STORES(65536, 262144, 8388608)}},
    {"broadcast operand", false,
     .facts = {WS_FACTS_LOADS(67108864, 167772160, 4429185024), WS_FACTS_STORES(32768, 131072, 4194304)}},
};

const struct ws_rule ws_rule_w03_misaligned = {
    .id = "W03-misaligned",
    .title = "Misaligned start address",
    .is_info = true,
    .condition =
        "5 to 34 % more sectors than bytes need, and more than 4 but at most 5.4 sectors a request (4-byte lanes)",
    .why = "A warp that starts between two sector boundaries touches one sector more than it fills. Its neighbour "
           "touches the same sector, so a cache mostly has it already.",
    .advice = "The start address is not a multiple of 32 bytes: {sectors_per_request} sectors per request, one more "
              "than needed and mostly served by cache. Expect below 5 %.",
    .formula = "share of the time that SMs run x (1 - utilisation of the busiest of SM, L1, L2 and DRAM after "
               "the repair / now); after: what loads and stores would move at their ideal, of what they move now "
               "(L2 fills from DRAM too)",
    .when_not = "A halo or an odd row pitch forces it; padding the pitch to 32 bytes is then the only repair, and "
                "seldom worth it.",
    .source = "offset copy on an H200: 25 % more sectors cost 1 to 5 % of the time; CUDA Best Practices Guide, "
              "misaligned access",
    .bad = "offset_copy (offset 1)",
    .good = "offset_copy (offsets 0 and 8)",
    .needs = WS_NEEDS(WS_ACCESS_NEEDS),
    .gain_needs = WS_NEEDS(WS_ACCESS_GAIN_NEEDS),
    .check = check,
    WS_CASES(cases),
};
