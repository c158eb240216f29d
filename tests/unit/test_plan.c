/* SPDX-License-Identifier: MIT
 * test_plan.c: which metrics a run wants. */
#include "collector/plan.h"

#include "analyzer/err.h"
#include "test.h"

static struct ws_plan plan;

static bool has(const char *key)
{
    for (size_t i = 0; i < plan.count; i++)
        if (strcmp(plan.entry[i].key, key) == 0)
            return true;
    return false;
}

TEST(trace_wants_no_metric)
{
    CHECK_INT(ws_plan_make(&plan, "trace", ""), 0);
    CHECK_INT(plan.count, 0);
    CHECK_INT(ws_plan_make(&plan, "", ""), 0);
    CHECK_INT(plan.count, 0);
}

TEST(core_has_what_coalescing_needs_and_nothing_of_other_sets)
{
    CHECK_INT(ws_plan_make(&plan, "core", ""), 0);
    CHECK(has("gld_requests") && has("gld_sectors") && has("shared_ld_wavefronts") && has("duration"));
    CHECK(!has("dram_read_bytes"));
    CHECK(!has("stall_long_scoreboard"));
}

TEST(sets_add_up_to_full_and_full_has_every_counter)
{
    size_t sum = 0;
    size_t raw = 0;
    for (int s = 0; s < WS_SET_COUNT; s++) {
        CHECK_INT(ws_plan_make(&plan, ws_set_name((enum ws_set)s), ""), 0);
        CHECK(plan.count > 0);
        sum += plan.count;
    }
    for (int id = 0; id < WS_METRIC_COUNT; id++) {
        const struct ws_metric *m = ws_metric_get((enum ws_metric_id)id);
        raw += m->kind == WS_KIND_RAW && m->cupti[0];
    }
    CHECK_INT(ws_plan_make(&plan, "full", ""), 0);
    CHECK_INT(plan.count, sum);
    CHECK_INT(plan.count, raw);
}

TEST(computed_metric_brings_its_inputs_once)
{
    CHECK_INT(ws_plan_make(&plan, "trace", "gld_sectors_per_request,gld_requests"), 0);
    CHECK_INT(plan.count, 2);
    CHECK(has("gld_sectors") && has("gld_requests"));
}

TEST(cupti_name_travels_as_its_own_key)
{
    CHECK_INT(ws_plan_make(&plan, "", "sm__warps_active.avg, sm__warps_active.avg"), 0);
    CHECK_INT(plan.count, 1);
    CHECK(has("sm__warps_active.avg"));
    CHECK_NEAR(plan.entry[0].scale, 1.0, 0.0);
}

TEST(unknown_set_is_named_and_the_rest_still_counts)
{
    CHECK_INT(ws_plan_make(&plan, "core,cor", ""), -WS_EINVAL);
    CHECK_STR(plan.bad, "cor");
    CHECK(has("gld_requests"));
}

TEST(overlong_or_surplus_names_are_refused_not_cut)
{
    char text[20000] = "";
    memset(text, 'x', 500);
    CHECK_INT(ws_plan_make(&plan, "", text), -WS_EINVAL);
    CHECK_INT(plan.count, 0);
    CHECK_INT(ws_plan_make(&plan, "", "a|b"), -WS_EINVAL);
    text[0] = 0;
    for (unsigned i = 0; i < WS_PLAN_EXTRA_MAX + 5; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "m%u.sum,", i);
    CHECK_INT(ws_plan_make(&plan, "full", text), -WS_EINVAL);
    CHECK(plan.count <= WS_PLAN_MAX);
}

TEST(api_is_a_set_without_counters_and_full_has_it_too)
{
    CHECK_INT(ws_plan_make(&plan, "api", ""), 0);
    CHECK_INT(plan.count, 0);
    CHECK(ws_plan_has_api("api") && ws_plan_has_api("core, api") && ws_plan_has_api("full"));
    CHECK(!ws_plan_has_api("core,memory") && !ws_plan_has_api("") && !ws_plan_has_api("apis"));
}
