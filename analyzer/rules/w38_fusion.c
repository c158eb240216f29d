/* SPDX-License-Identifier: MIT
 * w38_fusion.c: memory-bound kernels in a row that each read what the last one wrote. */
#include "analyzer/rule.h"

#define LEAST_KERNELS 3.0

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double window = ws_rule_time(in, WS_T_window), kernels = ws_rule_time(in, WS_T_chain_kernels);
    if (!(window > 0 && kernels >= LEAST_KERNELS && ws_rule_time(in, WS_T_chain_memory_bound) > 0))
        return false;
    ws_rule_evidence(f, "chain_kernels", kernels);
    if (ws_has(in->timeline->value[WS_T_chain_bytes]))
        ws_rule_evidence(f, "chain_bytes", ws_rule_time(in, WS_T_chain_bytes));
    else
        f->advice =
            "{chain_kernels:i} kernels in a row each read what the one before wrote; fused they would move it once.";
    ws_rule_gain(in, f, (1 - 1 / kernels) * ws_rule_time(in, WS_T_chain_time) / window);
    return true;
}

#define CHAIN(n, bound, time)                                                                             \
    WS_TIME_FACT(window, 0.001), WS_TIME_FACT(chain_kernels, n), WS_TIME_FACT(chain_memory_bound, bound), \
        WS_TIME_FACT(chain_time, time)

static const struct ws_rule_case cases[] = {
    {"eight elementwise kernels", true, 0.7, 1e-9, .facts = {CHAIN(8, 1, 0.0008), WS_TIME_FACT(chain_bytes, 8e7)}},
    {"their bytes are not known", true, .facts = {CHAIN(8, 1, 0.0008)}},
    {"fused", false, .facts = {CHAIN(1, 1, 0.0001)}},
    {"bound by arithmetic", false, .facts = {CHAIN(8, 0, 0.0008)}},
};

const struct ws_rule ws_rule_w38_fusion = {
    .id = "W38-fusion",
    .title = "Kernels that could be one",
    .scope = WS_RULE_TIMELINE,
    .condition = "3 or more memory-bound kernels in a row, each reading what the one before wrote",
    .why = "Each such kernel reads and writes the whole array. One kernel that does all steps moves it once.",
    .advice = "{chain_kernels:i} kernels each read and write {chain_bytes:b}; fused they would do so once.",
    .formula = "(1 - 1 / kernels) x time of the chain / total (a bound)",
    .when_not = "Where another kernel or the host needs a result in between, or each step needs its neighbours' last "
                "results (stencils). torch.compile fuses such chains.",
    .source = "time bill: one fused kernel 1.29 times faster than eight resident ones at n = 10^7, copies included",
    .bad = "round_trip (resident)",
    .good = "round_trip (fused)",
    .needs = WS_NEEDS(WS_T_window, WS_T_chain_kernels, WS_T_chain_memory_bound, WS_T_chain_time),
    .check = check,
    WS_CASES(cases),
};
