/* SPDX-License-Identifier: MIT
 * rule_facts.h: builds the input of ws_analyze() for tests of rules: a device, a launch, raw counters.
 * Used by test_rules.c, test_fire_matrix.c and test_roofline.c. */
#ifndef WS_TESTS_UNIT_RULE_FACTS_H
#define WS_TESTS_UNIT_RULE_FACTS_H

#include "analyzer/analyze.h"
#include "analyzer/rules.h"

#include <string.h>

struct facts_box {
    struct ws_device device;
    struct ws_facts facts;
    struct ws_value raw[WS_METRIC_COUNT];
    struct ws_report report;
};

/* An H200 without any counter; a named board takes its compute capability and SMs from gpus.def. */
static inline void facts_init(struct facts_box *box, const char *driver_name)
{
    struct ws_board board;
    memset(box, 0, sizeof *box);
    box->device = (struct ws_device){.name = driver_name ? driver_name : "NVIDIA H200"};
    if (ws_gpus_board(box->device.name, &board) == 0) {
        box->device.cc_major = board.cc_major;
        box->device.cc_minor = board.cc_minor;
        box->device.sms = board.sms;
        box->device.l2_bytes = 62914560;
    }
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++)
        box->raw[i] = ws_missing(WS_WHY_NOT_COLLECTED, NULL);
    box->facts = (struct ws_facts){.device = &box->device, .raw = box->raw, .launches = 1, .profiled_launches = 1};
    box->facts.launch = (struct ws_launch){.grid = {1056, 1, 1}, .block = {256, 1, 1}, .regs_per_thread = 32};
}

static inline void facts_set(struct facts_box *box, enum ws_metric_id id, double number)
{
    box->raw[id] = ws_value_of(number);
}

/* Every stall reason that has no value yet becomes 0. */
static inline void facts_zero_stalls(struct facts_box *box)
{
    for (unsigned i = 0; i < WS_STALL_COUNT; i++) {
        struct ws_stall row;
        ws_stalls_get((enum ws_stall_id)i, &row);
        if (!ws_has(box->raw[row.metric]))
            facts_set(box, row.metric, 0);
    }
}

static inline void facts_analyze(struct facts_box *box)
{
    ws_analyze(&box->facts, NULL, &box->report);
}

static inline const struct ws_finding *finding_of(const struct ws_findings *all, const char *id)
{
    for (size_t i = 0; i < all->count; i++)
        if (strncmp(all->item[i].rule->id, id, strlen(id)) == 0)
            return &all->item[i];
    return NULL;
}

static inline const struct ws_rule_skip *skip_of(const struct ws_findings *all, const char *id)
{
    for (size_t i = 0; i < all->skipped_count; i++)
        if (strncmp(all->skipped[i].rule->id, id, strlen(id)) == 0)
            return &all->skipped[i];
    return NULL;
}

#endif
