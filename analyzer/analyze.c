/* SPDX-License-Identifier: MIT
 * analyze.c: puts the parts of the analysis one after another; thinks nothing itself.
 * Pure. What a formula means is in expr.c, in which order they are filled in derive.c. */
#include "analyze.h"

#include "derive.h"
#include "rules.h"

#include <stdint.h>

/* What the launch geometry alone tells. */
static void fill_launch(const struct ws_launch *launch, struct ws_value *metric)
{
    uint64_t threads = (uint64_t)launch->block.x * launch->block.y * launch->block.z;
    uint64_t warps = (threads + 31) / 32; /* the last one counts whole */
    double blocks = (double)launch->grid.x * launch->grid.y * launch->grid.z;
    metric[WS_M_launched_threads] = ws_value_of(blocks * (double)threads);
    metric[WS_M_launched_warps] = ws_value_of(blocks * (double)warps);
}

static void fill_occupancy(const struct ws_occupancy *occupancy, struct ws_value *metric)
{
    bool known = ws_has(occupancy->theoretical);
    metric[WS_M_theoretical_occupancy] = occupancy->theoretical;
    metric[WS_M_max_warps_per_sm] = known ? ws_value_of(occupancy->max_warps) : occupancy->theoretical;
}

void ws_analyze(const struct ws_facts *facts, const struct ws_ceilings *ceilings, struct ws_report *out)
{
    struct ws_rule_input in = {.facts = facts,
                               .metric = out->metric,
                               .occupancy = &out->occupancy,
                               .roofline = &out->roofline,
                               .limits = ws_gpus_limits(facts->device->cc_major, facts->device->cc_minor)};
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++) {
        bool is_raw = ws_metric_get((enum ws_metric_id)i)->kind == WS_KIND_RAW;
        out->metric[i] = is_raw ? facts->raw[i] : ws_missing(WS_WHY_NO_DEVICE, 0);
    }
    ws_occupancy(&facts->launch, facts->device, &out->occupancy);
    fill_launch(&facts->launch, out->metric);
    fill_occupancy(&out->occupancy, out->metric);
    (void)ws_derive_given(out->metric, facts->raw); /* fails only for a broken catalogue, which a test forbids */
    ws_roofline(out->metric, facts->device, ceilings, &out->roofline);
    ws_stalls(out->metric, &out->stalls);
    ws_rules_run(&in, WS_RULE_KERNEL, &out->findings);
}
