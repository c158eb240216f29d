/* SPDX-License-Identifier: MIT
 * w36_tiny_readback.c: a few bytes read back at every step, which stalls the queue. */
#include "analyzer/rule.h"

#define LEAST_READS 10.0 /* a program may read its results once */
#define KERNELS_PER_READ 10.0

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double reads = ws_rule_time(in, WS_T_tiny_reads), kernels = ws_rule_time(in, WS_T_kernels);
    double window = ws_rule_time(in, WS_T_window);
    if (!(window > 0 && reads >= LEAST_READS && reads * KERNELS_PER_READ >= kernels))
        return false;
    ws_rule_evidence(f, "tiny_reads", reads);
    ws_rule_evidence(f, "tiny_read_bytes", ws_rule_time(in, WS_T_tiny_read_bytes));
    ws_rule_evidence(f, "kernels", kernels);
    ws_rule_gain(in, f, ws_rule_time(in, WS_T_idle_after_tiny_read) / window);
    return true;
}

#define READS(n) \
    WS_TIME_FACT(window, 1), WS_TIME_FACT(kernels, 10000), WS_TIME_FACT(tiny_reads, n), WS_TIME_FACT(tiny_read_bytes, 4)

static const struct ws_rule_case cases[] = {
    {"loss.item() at every step", true, 0.45, 1e-9, .facts = {READS(10000), WS_TIME_FACT(idle_after_tiny_read, 0.45)}},
    {"the idle time is not known", true, .facts = {READS(10000)}},
    {"every 100 steps", false, .facts = {READS(100), WS_TIME_FACT(idle_after_tiny_read, 0.01)}},
};

const struct ws_rule ws_rule_w36_tiny_readback = {
    .id = "W36-tiny-readback",
    .title = "Tiny results read back at every step",
    .scope = WS_RULE_TIMELINE,
    .condition = "at least 10 blocking reads of at most 64 bytes, at least one for every 10 kernels",
    .why = "Reading a scalar waits until everything queued before it has run. The queue is then empty, and the GPU "
           "waits for the next launch.",
    .advice = "A {tiny_read_bytes:i}-byte result is read {tiny_reads:i} times in {kernels:i} kernels and stalls the "
              "queue (loss.item()). Read it every N steps or asynchronously.",
    .formula = "GPU idle time right after these reads / total",
    .when_not = "Where the next step depends on the value (a stopping test): test it on the GPU or every few steps.",
    .source = "thresholds of the catalogue; PyTorch: .item(), .cpu() and print synchronise",
    .bad = "sync_each (4-byte read a step)",
    .good = "sync_each (one wait)",
    .needs = WS_NEEDS(WS_T_window, WS_T_kernels, WS_T_tiny_reads, WS_T_tiny_read_bytes),
    .gain_needs = WS_NEEDS(WS_T_idle_after_tiny_read),
    .check = check,
    WS_CASES(cases),
};
