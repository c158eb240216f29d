/* SPDX-License-Identifier: MIT
 * w40_allocation_churn.c: allocation in the loop, and memory that is never freed. */
#include "analyzer/rule.h"

#define LEAST_SHARE 0.05 /* of the time */

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double window = ws_rule_time(in, WS_T_window), time = ws_rule_time(in, WS_T_alloc_time);
    double leaked = ws_has(in->timeline->value[WS_T_leaked_bytes]) ? ws_rule_time(in, WS_T_leaked_bytes) : 0;
    bool churns = window > 0 && time / window >= LEAST_SHARE;
    if (!churns && !(leaked > 0))
        return false;
    ws_rule_evidence(f, "alloc_calls", ws_rule_time(in, WS_T_alloc_calls));
    ws_rule_evidence(f, "alloc_time", time);
    ws_rule_evidence(f, "leaked_bytes", leaked);
    if (!churns)
        f->advice = "{leaked_bytes:b} of device memory were still allocated at the end. Free what is no longer used.";
    ws_rule_gain(in, f, churns ? time / window : 0);
    return true;
}

#define ALLOC(calls, time) WS_TIME_FACT(window, 1), WS_TIME_FACT(alloc_calls, calls), WS_TIME_FACT(alloc_time, time)

static const struct ws_rule_case cases[] = {
    {"an allocation at every step", true, 0.3, 1e-9, .facts = {ALLOC(20000, 0.3), WS_TIME_FACT(leaked_bytes, 0)}},
    {"a leak", true, 0, 1e-9, .facts = {ALLOC(2, 0.0001), WS_TIME_FACT(leaked_bytes, 1048576)}},
    {"once", false, .facts = {ALLOC(4, 0.001), WS_TIME_FACT(leaked_bytes, 0)}},
    {"the end was not seen", false, .facts = {ALLOC(4, 0.001)}},
};

const struct ws_rule ws_rule_w40_allocation_churn = {
    .id = "W40-allocation-churn",
    .title = "Allocation in the loop, or a leak",
    .scope = WS_RULE_TIMELINE,
    .condition =
        "cudaMalloc and cudaFree after the first kernel >= 5 % of the time, or device memory not freed at the end",
    .why = "cudaMalloc maps memory and cudaFree may wait for the whole device. Neither belongs into a loop.",
    .advice = "{alloc_calls:i} cudaMalloc/cudaFree calls cost {alloc_time:t} and may synchronise; allocate once or use "
              "cudaMallocAsync.",
    .formula = "time of these calls / total",
    .when_not = "A process that ends frees its memory; a leak matters in one that runs on.",
    .source = "5 %: own choice",
    .bad = "failing_calls",
    .good = "all others",
    .needs = WS_NEEDS(WS_T_window, WS_T_alloc_calls, WS_T_alloc_time),
    .check = check,
    WS_CASES(cases),
};
