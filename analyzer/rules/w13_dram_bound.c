/* SPDX-License-Identifier: MIT
 * w13_dram_bound.c: the kernel runs at the speed of device memory. A fact, not a fault. */
#include "analyzer/rule.h"

/* The ridge of FP32 over DRAM: measured if it was, else the data sheet's; 0 = neither is known. */
static double ridge(const struct ws_roofline *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct ws_roof_point *p = &r->points[i];
        if (p->level == WS_LEVEL_DRAM && p->precision == WS_PRECISION_FP32)
            return ws_has(p->measured.ridge) ? p->measured.ridge.number
                                             : (ws_has(p->sheet.ridge) ? p->sheet.ridge.number : 0);
    }
    return 0;
}

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double busy = ws_rule_metric(in, WS_M_dram_throughput), at = ridge(in->roofline);
    if (busy < WS_NCU_BUSY)
        return false;
    ws_rule_evidence(f, "dram_throughput", busy);
    if (ws_rule_evidence_metric(in, f, WS_M_intensity_dram) && at > 0)
        ws_rule_evidence(f, "ridge", at);
    else
        f->advice =
            "The kernel runs at {dram_throughput:%} of DRAM bandwidth. More threads will not help: move fewer bytes "
            "(fuse, smaller types, reuse) or raise the batch.";
    ws_rule_evidence_metric(in, f, WS_M_dram_bytes);
    ws_rule_gain(in, f, 0);
    return true;
}

static const struct ws_rule_case cases[] = {
    {"vector addition at 66 %", true, 0, 1e-9,
     .facts = {WS_FACT(dram_throughput, 0.66), WS_FACT(fp32_add, 16777216), WS_FACT(fp32_mul, 0), WS_FACT(fp32_fma, 0),
               WS_FACT(fp64_add, 0), WS_FACT(fp64_mul, 0), WS_FACT(fp64_fma, 0), WS_FACTS_DRAM(134217728, 67108864),
               WS_FACT(duration, 63e-6)}},
    {"only the utilisation is known", true, .facts = {WS_FACT(dram_throughput, 0.9)}},
    {"59 %", false, .facts = {WS_FACT(dram_throughput, 0.59)}},
    {"wasted sectors are the better advice", false,
     .facts = {WS_FACT(dram_throughput, 0.9), WS_FACTS_LOADS(65536, 2097152, 8388608),
               WS_FACTS_STORES(65536, 262144, 8388608), WS_FACT(sm_throughput, 0.1), WS_FACT(l1_throughput, 0.5),
               WS_FACT(l2_throughput, 0.5), WS_FACT(l1_hit_sectors_ld, 0), WS_FACTS_DRAM(67108864, 8388608)}},
};

const struct ws_rule ws_rule_w13_dram_bound = {
    .id = "W13-dram-bound",
    .title = "Bound by DRAM bandwidth",
    .is_info = true,
    .condition = "DRAM utilisation >= 60 %",
    .why = "Device memory delivers what it can. Warps wait for it whatever their number, so occupancy and instruction "
           "counts do not matter; bytes do.",
    .advice = "The kernel runs at {dram_throughput:%} of DRAM bandwidth with intensity {intensity_dram} FLOP/B (ridge "
              "{ridge}). More threads will not help: move fewer bytes (fuse, smaller types, reuse) or raise the batch.",
    .formula = "0: the compulsory bytes are not known to a counter",
    .when_not = "Where much of the traffic is waste, the rules that name the waste speak instead.",
    .source = "Nsight Compute (60 %)",
    .bad = "vec_add, gemv (batch up to 8)",
    .good = "fma_peak",
    .yields_to = "W01 W02 W05 W24",
    .needs = WS_NEEDS(WS_M_dram_throughput),
    .check = check,
    WS_CASES(cases),
};
