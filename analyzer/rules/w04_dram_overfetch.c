/* SPDX-License-Identifier: MIT
 * w04_dram_overfetch.c: DRAM delivers more than L1 asked L2 for. */
#include "analyzer/rule.h"

/* Suite on an H200: at most 1.0 everywhere, 2.0 at strides of 64 bytes and more. */
#define LEAST_RATIO 1.5
/* Instruction, constant and parameter fetches of a tiny kernel are no over-fetch. Own choice. */
#define LEAST_BYTES 1048576.0

/* What was not asked for leaves DRAM and the fills of L2. */
static double saving(const struct ws_rule_input *in, double asked, double read)
{
    double write = ws_rule_metric(in, WS_M_dram_write_bytes);
    double l2 = 32 * (ws_rule_metric(in, WS_M_l2_read_sectors) + ws_rule_metric(in, WS_M_l2_write_sectors));
    struct ws_rule_left left = {1, 1, (l2 + asked) / (l2 + read), (asked + write) / (read + write)};
    return ws_rule_saving(in, &left);
}

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double asked = 32 * ws_rule_metric(in, WS_M_l2_read_sectors);
    double read = ws_rule_metric(in, WS_M_dram_read_bytes);
    if (!(asked > 0 && read >= LEAST_BYTES && read >= LEAST_RATIO * asked))
        return false;
    if (ws_has(in->metric[WS_M_tma_ld_instructions]) && ws_rule_metric(in, WS_M_tma_ld_instructions) > 0)
        return false; /* bulk copies read DRAM without a sector that L1 asked for */
    if (in->has_gain_inputs)
        ws_rule_gain(in, f, saving(in, asked, read));
    ws_rule_evidence(f, "overfetch", read / asked);
    ws_rule_evidence(f, "dram_read_bytes", read);
    ws_rule_evidence(f, "l2_read_sectors", asked / 32);
    return true;
}

static const struct ws_rule_case cases[] = {
    {"stride 16: both halves of 64 bytes fetched", true, 0.45, 0.001,
     .facts = {WS_FACTS_DRAM(134217728, 14913080), WS_FACT(l2_read_sectors, 2097152), WS_FACT(l2_write_sectors, 0),
               WS_FACTS_BUSY(0.1, 0.2, 0.4, 0.8)}},
    {"the same, but L2 is the limit", true, 0.3333, 0.0001,
     .facts = {WS_FACTS_DRAM(134217728, 14913080), WS_FACT(l2_read_sectors, 2097152), WS_FACT(l2_write_sectors, 0),
               WS_FACTS_BUSY(0.1, 0.2, 0.9, 0.8)}},
    {"stride 8: both halves used", false,
     .facts = {WS_FACT(dram_read_bytes, 67108864), WS_FACT(l2_read_sectors, 2097152)}},
    {"a tiny kernel", false, .facts = {WS_FACT(dram_read_bytes, 100000), WS_FACT(l2_read_sectors, 1024)}},
    {"bulk tensor copies", false,
     .facts = {WS_FACT(dram_read_bytes, 1e9), WS_FACT(l2_read_sectors, 1024), WS_FACT(tma_ld_instructions, 5000)}},
};

const struct ws_rule ws_rule_w04_dram_overfetch = {
    .id = "W04-dram-overfetch",
    .title = "DRAM over-fetch",
    .condition = "DRAM bytes read >= 1.5 x 32 x the sectors that L1 read from L2",
    .why = "A miss in L2 fills 64 bytes. Where only one of the two sectors is ever used, half of the DRAM traffic is "
           "thrown away, although the sector counts in L1 and L2 look unchanged.",
    .advice = "Each miss fills 64 bytes while you touch 32: DRAM delivers {overfetch} times what L1 asked for. Bring "
              "values that are used together into the same 64 bytes (cudaLimitMaxL2FetchGranularity is only a hint).",
    .formula = "share of the time that SMs run x (1 - utilisation of the busiest of SM, L1, L2 and DRAM after "
               "the repair / now); after: DRAM and the fills of L2 without what L1 did not ask for",
    .when_not = "Not where other kernels or copies run at the same time: their reads are counted too.",
    .source = "suite on an H200: ratio at most 1.0 for strides up to 32 bytes, 2.0 from 64 bytes on; not taken from "
              "the L2 miss count, which already contains the pair",
    .bad = "stride_read (strides 16 and 32)",
    .good = "stride_read (strides 1 to 8)",
    .needs = WS_NEEDS(WS_M_dram_read_bytes, WS_M_l2_read_sectors),
    .gain_needs = WS_NEEDS(WS_BUSIEST_NEEDS, WS_M_dram_write_bytes, WS_M_l2_write_sectors),
    .check = check,
    WS_CASES(cases),
};
