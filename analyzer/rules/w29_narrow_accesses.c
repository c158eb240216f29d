/* SPDX-License-Identifier: MIT
 * w29_narrow_accesses.c: 4-byte accesses in a kernel that is bound by their number. */
#include "analyzer/rule.h"

#define LEAST_LSU 0.40
#define LEAST_BYTES_PER_SECTOR 30.0 /* contiguous */
#define LEAST_SECTORS 3.5           /* 32 lanes x 4 bytes are 4 sectors */
#define MOST_SECTORS 4.5
#define LEAST_GLOBAL 0.5 /* of all load/store instructions: else others fill the pipe */

static bool is_narrow(const struct ws_rule_access *a)
{
    return a->bytes_per_sector >= LEAST_BYTES_PER_SECTOR && a->sectors_per_request >= LEAST_SECTORS &&
           a->sectors_per_request <= MOST_SECTORS;
}

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    struct ws_rule_access ld = {0}, st = {0};
    bool loads = ws_rule_access(in, false, &ld), stores = ws_rule_access(in, true, &st);
    double lsu = ws_rule_metric(in, WS_M_pipe_lsu);
    double others = ws_rule_metric(in, WS_M_shared_ld_requests) + ws_rule_metric(in, WS_M_shared_st_requests);
    double accesses = ld.requests + st.requests;
    double busy = fmax(ws_rule_metric(in, WS_M_l2_throughput), ws_rule_metric(in, WS_M_dram_throughput));
    if (lsu < LEAST_LSU || !(loads || stores) || (loads && !is_narrow(&ld)) || (stores && !is_narrow(&st)) ||
        accesses / (accesses + others) < LEAST_GLOBAL)
        return false;
    ws_rule_evidence(f, "pipe_lsu", lsu);
    ws_rule_evidence(f, "accesses", accesses);
    ws_rule_evidence(f, "sectors_per_request", (ld.sectors + st.sectors) / accesses);
    ws_rule_gain(in, f, fmin(lsu * 3 / 4, 1 - busy));
    return true;
}

#define SHARED(ld, st) WS_FACT(shared_ld_requests, ld), WS_FACT(shared_st_requests, st)
#define COPY WS_FACTS_LOADS(524288, 2097152, 67108864), WS_FACTS_STORES(524288, 2097152, 67108864)

static const struct ws_rule_case cases[] = {
    {"float copy with a busy load/store pipe", true, 0.375, 1e-9,
     .facts = {COPY, SHARED(0, 0), WS_FACT(pipe_lsu, 0.5), WS_FACT(l2_throughput, 0.4), WS_FACT(dram_throughput, 0.5)}},
    {"DRAM leaves little to gain", true, 0.1, 1e-9,
     .facts = {COPY, SHARED(0, 0), WS_FACT(pipe_lsu, 0.5), WS_FACT(l2_throughput, 0.4), WS_FACT(dram_throughput, 0.9)}},
    {"the pipe is not busy", false, .facts = {COPY, SHARED(0, 0), WS_FACT(pipe_lsu, 0.1)}},
    {"float4 already", false,
     .facts = {WS_FACTS_LOADS(131072, 2097152, 67108864), WS_FACTS_STORES(131072, 2097152, 67108864), SHARED(0, 0),
               WS_FACT(pipe_lsu, 0.5)}},
    {"shared memory fills the pipe", false,
     .facts = {WS_FACTS_LOADS(2097152, 8388608, 268435456), WS_FACTS_STORES(32768, 131072, 4194304),
               SHARED(41943040, 2097152), WS_FACT(pipe_lsu, 0.8)}},
};

const struct ws_rule ws_rule_w29_narrow_accesses = {
    .id = "W29-narrow-accesses",
    .title = "Narrow accesses",
    .condition = "contiguous 4-byte accesses, load/store pipe >= 40 %, mostly global memory",
    .why = "A warp's request is one instruction whether its lanes ask for 4, 8 or 16 bytes. float4 moves the same "
           "sectors with a quarter of the instructions.",
    .advice = "The load/store pipe is {pipe_lsu:%} busy with 4-byte accesses. float4 accesses need a quarter of the "
              "instructions for the same sectors.",
    .formula = "min(3/4 x load/store utilisation, 1 - max(L2, DRAM utilisation))",
    .when_not = "float4 needs 16-byte alignment and a length that is a multiple of 4; unrolling alone does not make "
                "wide loads.",
    .source = "40 %: own choice; 128-bit loads need 131,072 requests where 32-bit ones need 524,288 (sm_90)",
    .bad = "copy_width (float), where the pipe is that busy",
    .good = "copy_width (float4)",
    .needs = WS_NEEDS(WS_ACCESS_NEEDS, WS_M_pipe_lsu, WS_M_shared_ld_requests, WS_M_shared_st_requests),
    .gain_needs = WS_NEEDS(WS_M_l2_throughput, WS_M_dram_throughput),
    .check = check,
    WS_CASES(cases),
};
