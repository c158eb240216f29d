/* SPDX-License-Identifier: MIT
 * w31_sync_overuse.c: the host waits for the GPU far more often than it needs a result. */
#include "analyzer/rule.h"

#define LEAST_SYNCS_PER_KERNEL 0.5
#define LEAST_IDLE 0.20

static bool check(const struct ws_rule_input *in, struct ws_finding *f)
{
    double window = ws_rule_time(in, WS_T_window), kernels = ws_rule_time(in, WS_T_kernels);
    double syncs = ws_rule_time(in, WS_T_syncs), idle = ws_rule_time(in, WS_T_idle_after_sync) / window;
    if (!(window > 0 && kernels > 0 && syncs / kernels >= LEAST_SYNCS_PER_KERNEL && idle >= LEAST_IDLE))
        return false;
    ws_rule_evidence(f, "syncs", syncs);
    ws_rule_evidence(f, "kernels", kernels);
    ws_rule_evidence(f, "idle_after_sync_share", idle);
    ws_rule_gain(in, f, idle);
    return true;
}

#define STEPS(waits, idle)                                                             \
    WS_TIME_FACT(window, 1), WS_TIME_FACT(kernels, 10000), WS_TIME_FACT(syncs, waits), \
        WS_TIME_FACT(idle_after_sync, idle)

static const struct ws_rule_case cases[] = {
    {"one wait a launch", true, 0.6, 1e-9, .facts = {STEPS(10000, 0.6)}},
    {"one wait at the end", false, .facts = {STEPS(1, 0)}},
    {"waits that cost nothing", false, .facts = {STEPS(10000, 0.1)}},
};

const struct ws_rule ws_rule_w31_sync_overuse = {
    .id = "W31-sync-overuse",
    .title = "Too many host synchronisations",
    .scope = WS_RULE_TIMELINE,
    .condition = "host-blocking waits >= 0.5 per kernel, and the GPU idle >= 20 % of the time right after them",
    .why =
        "While the host waits it queues nothing; when it goes on, the GPU stands idle until the next launch arrives.",
    .advice = "The host waits {syncs:i} times for {kernels:i} kernels; the GPU idles {idle_after_sync_share:%} of the "
              "time after that. Use events (cudaStreamWaitEvent) and synchronise where the result is needed.",
    .formula = "GPU idle time right after host waits / total",
    .when_not = "Where each step's input depends on the last step's result on the host. cudaEventSynchronize blocks "
                "the host too; cudaStreamWaitEvent does not.",
    .source = "thresholds of the catalogue",
    .bad = "sync_each",
    .good = "sync_each (one wait)",
    .needs = WS_NEEDS(WS_T_window, WS_T_kernels, WS_T_syncs, WS_T_idle_after_sync),
    .check = check,
    WS_CASES(cases),
};
