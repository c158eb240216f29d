/* SPDX-License-Identifier: MIT
 * w26_scattered_access.c: loads from addresses that neither L1 nor L2 has. */
#include "analyzer/rule.h"

#define LEAST_USEFUL_BYTES 24.0
/* A stream that uses both halves of each 64-byte fill hits half of the time, so 50 % is no sign of chance. */
#define MOST_HIT_RATE 0.45
#define LEAST_DRAM 0.50
/* DRAM bytes per byte that L1 asked for. A regular stride wastes half of every 64-byte fill: exactly 2 (suite).
 * Chance hits the other half now and then. */
#define STRIDE_OVERFETCH 1.9
/* A stride of at most 32 bytes uses both halves: exactly 1 (suite). At the hit rate above chance reads 1.1 at least. */
#define STRIDE_FETCH 1.1

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    struct ws_rule_access a;
    double hit = ws_rule_metric(in, WS_M_l2_read_hit_rate), busy = ws_rule_metric(in, WS_M_dram_throughput);
    double read = ws_rule_metric(in, WS_M_dram_read_bytes), asked = 32 * ws_rule_metric(in, WS_M_l2_read_sectors);
    if (!ws_rule_access(in, false, &a) || a.bytes_per_sector >= LEAST_USEFUL_BYTES || hit >= MOST_HIT_RATE ||
        busy < LEAST_DRAM || read >= STRIDE_OVERFETCH * asked || read < STRIDE_FETCH * asked)
        return false;
    ws_rule_evidence(f, "l2_read_hit_rate", hit);
    ws_rule_evidence(f, "gld_bytes_per_sector", a.bytes_per_sector);
    if (in->facts->device->l2_bytes > 0)
        ws_rule_evidence(f, "l2_size_bytes", (double)in->facts->device->l2_bytes);
    else
        f->advice =
            "Random addresses defeat L1 and L2 (L2 hit rate {l2_read_hit_rate:%}). Sort or bin the indices; keep the "
            "hot part smaller than L2.";
    ws_rule_gain(in, f, ws_rule_access_gain(in));
    return true;
}

#define L2(hit) WS_FACT(l2_read_sectors, 18.9e6), WS_FACT(l2_read_hit_sectors, 18.9e6 * (hit))
#define GATHER WS_FACTS_LOADS(1048576, 18874368, 134217728), WS_FACTS_STORES(524288, 2097152, 67108864)

static const struct ws_rule_case cases[] = {
    {"gather by random index", true, 0.8148, 0.0001,
     .facts = {GATHER, L2(0.2), WS_FACTS_BUSY(0.06, 0.18, 0.86, 0.63), WS_FACT(l1_hit_sectors_ld, 0),
               WS_FACTS_DRAM(1140712960, 89458176)}},
    {"L2 holds it", false, .facts = {GATHER, L2(0.9), WS_FACT(dram_throughput, 0.8), WS_FACTS_DRAM(1e9, 7e7)}},
    {"DRAM is not busy", false, .facts = {GATHER, L2(0.2), WS_FACT(dram_throughput, 0.2), WS_FACTS_DRAM(1e9, 7e7)}},
    {"sorted", false,
     .facts = {WS_FACTS_LOADS(1048576, 4194304, 134217728), WS_FACTS_STORES(524288, 2097152, 67108864), L2(0.2),
               WS_FACT(dram_throughput, 0.8), WS_FACTS_DRAM(1.3e8, 7e7)}},
    {"stride of 16 bytes: every byte that DRAM delivers is asked for", false,
     .facts = {WS_FACTS_LOADS(65536, 1048576, 8388608), WS_FACTS_STORES(65536, 262144, 8388608),
               WS_FACT(l2_read_sectors, 1048576), WS_FACT(l2_read_hit_sectors, 0), WS_FACT(dram_throughput, 0.75),
               WS_FACTS_DRAM(33562624, 8e6)}},
    {"stride of 64 bytes: W04 says it", false,
     .facts = {WS_FACTS_LOADS(65536, 2097152, 8388608), WS_FACTS_STORES(65536, 262144, 8388608),
               WS_FACT(l2_read_sectors, 2097152), WS_FACT(l2_read_hit_sectors, 0), WS_FACT(dram_throughput, 0.8),
               WS_FACTS_DRAM(134217728, 8e6)}},
};

const struct ws_rule ws_rule_w26_scattered_access = {
    .id = "W26-scattered-access",
    .title = "Scattered access",
    .condition =
        "useful bytes per load sector < 24, L2 read hit rate < 45 %, DRAM utilisation >= 50 %, and DRAM delivers "
        "1.1 to 1.9 times what L1 asked for: regular strides have exactly 1, or 2 from 64 bytes on",
    .why =
        "Addresses without order use one sector of what each miss fetches, and the rest is gone before it is wanted.",
    .advice = "Random addresses defeat L1 and L2 (L2 hit rate {l2_read_hit_rate:%}). Sort or bin the indices; keep the "
              "hot part below {l2_size_bytes:b}, the size of L2.",
    .formula = "share of the time that SMs run x (1 - utilisation of the busiest of SM, L1, L2 and DRAM after "
               "the repair / now); after: what loads and stores would move at their ideal, of what they move now "
               "(L2 fills from DRAM too)",
    .when_not = "Sorting costs a pass of its own: it pays where the same indices are used several times.",
    .source = "thresholds of the catalogue; 45 % instead of 50 % because a plain stream with 64-byte fills reads 50 %",
    .bad = "gather (scattered)",
    .good = "gather (sorted)",
    .needs = WS_NEEDS(WS_ACCESS_NEEDS, WS_M_l2_read_hit_rate, WS_M_l2_read_sectors, WS_M_dram_throughput,
                      WS_M_dram_read_bytes),
    .gain_needs = WS_NEEDS(WS_ACCESS_GAIN_NEEDS),
    .check = check,
    WS_CASES(cases),
};
