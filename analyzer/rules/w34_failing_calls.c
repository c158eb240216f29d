/* SPDX-License-Identifier: MIT
 * w34_failing_calls.c: CUDA calls that failed, and copies whose kind is wrong. */
#include "analyzer/rule.h"

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double failed = ws_rule_time(in, WS_T_failed_calls);
    double mismatched =
        ws_has(in->timeline->value[WS_T_mismatched_copies]) ? ws_rule_time(in, WS_T_mismatched_copies) : 0;
    if (!(failed > 0 || mismatched > 0))
        return false;
    ws_rule_evidence(f, "failed_calls", failed);
    ws_rule_evidence(f, "mismatched_copies", mismatched);
    if (failed > 0 && ws_has(in->timeline->value[WS_T_failed_code]))
        ws_rule_evidence(f, "failed_code", ws_rule_time(in, WS_T_failed_code));
    if (failed <= 0)
        f->advice =
            "{mismatched_copies:i} copies state a direction that contradicts the memory they use; what they do is "
            "undefined. Use the right kind, or cudaMemcpyDefault.";
    ws_rule_gain(in, f, 0);
    return true;
}

static const struct ws_rule_case cases[] = {
    {"a launch with 2048 threads a block", true, 0, 1e-9,
     .facts = {WS_TIME_FACT(failed_calls, 1), WS_TIME_FACT(failed_code, 9)}},
    {"host-to-host on device pointers", true,
     .facts = {WS_TIME_FACT(failed_calls, 0), WS_TIME_FACT(mismatched_copies, 2)}},
    {"all well", false, .facts = {WS_TIME_FACT(failed_calls, 0), WS_TIME_FACT(mismatched_copies, 0)}},
};

const struct ws_rule ws_rule_w34_failing_calls = {
    .id = "W34-failing-calls",
    .title = "Failing or contradictory CUDA calls",
    .scope = WS_RULE_TIMELINE,
    .is_info = true,
    .condition = "any CUDA call with a return code other than 0, or a copy whose kind contradicts its memory kinds",
    .why = "A failed launch runs nothing, and its error shows only where somebody asks. Everything after it works on "
           "data that were never made.",
    .advice = "{failed_calls:i} CUDA calls failed, the first with code {failed_code:i}; later results are undefined. "
              "Check every return value.",
    .formula = "none: this is about right results, not time",
    .when_not = "Codes that only report (cudaErrorNotReady from a query) are not counted.",
    .source = "CUDA Runtime API: error handling",
    .bad = "failing_calls",
    .good = "all others",
    .needs = WS_NEEDS(WS_T_failed_calls),
    .check = check,
    WS_CASES(cases),
};
