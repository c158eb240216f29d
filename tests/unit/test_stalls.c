/* SPDX-License-Identifier: MIT
 * test_stalls.c: the stall bar adds to one, what is no stall stands apart, the gate holds. */
#include "rule_facts.h"
#include "test.h"

static struct facts_box box;

static void stalls(double long_scoreboard, double barrier, double selected, double not_selected, double issue)
{
    facts_init(&box, NULL);
    facts_set(&box, WS_M_stall_long_scoreboard, long_scoreboard);
    facts_set(&box, WS_M_stall_barrier, barrier);
    facts_set(&box, WS_M_stall_selected, selected);
    facts_set(&box, WS_M_stall_not_selected, not_selected);
    facts_zero_stalls(&box);
    facts_set(&box, WS_M_issue_active, issue * 1e6);
    facts_set(&box, WS_M_scheduler_active_cycles, 1e6);
}

TEST(the_bar_adds_to_all_stalled_cycles_and_leaves_out_what_is_no_stall)
{
    double sum = 0, all = 0;
    stalls(60, 20, 15, 5, 0.3);
    facts_analyze(&box);
    for (int i = 0; i < WS_STALL_COUNT; i++) {
        sum += ws_has(box.report.stalls.share[i]) ? box.report.stalls.share[i].number : 0;
        all += ws_has(box.report.stalls.of_all[i]) ? box.report.stalls.of_all[i].number : 0;
    }
    CHECK_NEAR(sum, 1, 1e-12);
    CHECK_NEAR(all, 1, 1e-12);
    CHECK_NEAR(box.report.stalls.share[WS_STALL_long_scoreboard].number, 0.75, 1e-12);
    CHECK_NEAR(box.report.stalls.of_all[WS_STALL_long_scoreboard].number, 0.60, 1e-12);
    CHECK(!ws_has(box.report.stalls.share[WS_STALL_selected]));
    CHECK_NEAR(box.report.stalls.of_all[WS_STALL_not_selected].number, 0.05, 1e-12);
}

TEST(a_reason_that_the_gpu_does_not_have_is_missing_and_the_rest_still_adds_up)
{
    double sum = 0;
    stalls(60, 20, 15, 5, 0.3);
    box.raw[WS_M_stall_gmma] = ws_missing(WS_WHY_NOT_ON_CHIP, NULL);
    facts_analyze(&box);
    for (int i = 0; i < WS_STALL_COUNT; i++)
        sum += ws_has(box.report.stalls.share[i]) ? box.report.stalls.share[i].number : 0;
    CHECK_NEAR(sum, 1, 1e-12);
    CHECK_INT(box.report.stalls.share[WS_STALL_gmma].why, WS_WHY_NOT_ON_CHIP);
}

TEST(advice_needs_schedulers_that_idle)
{
    stalls(60, 20, 15, 5, 0.79);
    facts_analyze(&box);
    CHECK(box.report.stalls.advises);
    stalls(60, 20, 15, 5, 0.80);
    facts_analyze(&box);
    CHECK(!box.report.stalls.advises);
    box.raw[WS_M_issue_active] = ws_missing(WS_WHY_NO_RIGHTS, NULL);
    facts_analyze(&box);
    CHECK(!box.report.stalls.advises);
}

TEST(without_counters_or_cycles_there_is_no_bar_and_it_says_why)
{
    facts_init(&box, NULL);
    facts_analyze(&box);
    for (int i = 0; i < WS_STALL_COUNT; i++)
        CHECK(!ws_has(box.report.stalls.share[i]) && box.report.stalls.share[i].why != WS_WHY_PRESENT);
    stalls(0, 0, 0, 0, 0.5);
    facts_analyze(&box);
    CHECK_INT(box.report.stalls.share[WS_STALL_barrier].why, WS_WHY_ZERO);
}

TEST(every_state_has_its_meaning_and_remedy)
{
    size_t no_stalls = 0;
    for (int i = 0; i < WS_STALL_COUNT; i++) {
        struct ws_stall row;
        ws_stalls_get((enum ws_stall_id)i, &row);
        CHECK_INT(ws_stalls_find(row.reason), i);
        CHECK(strlen(row.meaning) > 10 && strlen(row.remedy) > 10 && strlen(row.applies) > 5);
        no_stalls += !row.is_stall;
    }
    CHECK_INT(no_stalls, 2);
    CHECK_INT(ws_stalls_find("selected"), WS_STALL_selected);
    CHECK_INT(ws_stalls_find("divergence"), WS_STALL_COUNT);
}

/* A stall counter without a row here would be missing from every bar. */
TEST(every_stall_counter_of_the_catalogue_has_a_row)
{
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++) {
        const struct ws_metric *m = ws_metric_get((enum ws_metric_id)i);
        if (m->kind == WS_KIND_RAW && strncmp(m->key, "stall_", 6) == 0 && ws_stalls_find(m->key + 6) == WS_STALL_COUNT)
            WS_FAIL("%s has no row in stalls.def", m->key);
    }
}

TEST(samples_are_counted_under_the_names_of_the_counters)
{
    struct ws_samples s = {.unnamed = 0};
    struct ws_samples other = {.unnamed = 0};
    struct ws_stall_bar bar;
    ws_samples_add(&s, "smsp__pcsamp_warps_issue_stalled_long_scoreboard", 60);
    ws_samples_add(&s, "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued", 50);
    ws_samples_add(&s, "smsp__pcsamp_warps_issue_stalled_no_instructions", 20);
    ws_samples_add(&other, "smsp__pcsamp_warps_issue_stalled_warpgroup_arrive", 5);
    ws_samples_add(&other, "smsp__pcsamp_warps_issue_stalled_selected", 10);
    ws_samples_add(&other, "smsp__pcsamp_warps_issue_stalled_of_a_later_gpu", 5);
    ws_samples_add(&other, "smsp__pcsamp_warps_issue_stalled_of_a_later_gpu_not_issued", 5);
    ws_samples_add(&other, "smsp__pcsamp_sample_count", 100);
    ws_samples_add(&other, "", 1);
    ws_samples_join(&s, &other);
    CHECK_INT(ws_samples_all(&s), 100);
    CHECK_INT(ws_samples_not_issued(&s), 50);
    CHECK_INT(s.unnamed, 5);
    CHECK_INT(s.all[WS_STALL_gmma], 5);
    ws_stalls_of_samples(&s, &bar);
    CHECK_NEAR(bar.stalled.number, 85, 0);
    CHECK_NEAR(bar.share[WS_STALL_long_scoreboard].number, 60.0 / 85, 1e-12);
    CHECK_NEAR(bar.of_all[WS_STALL_selected].number, 0.1, 1e-12);
    CHECK(!bar.advises && !ws_has(bar.issue_rate) && !ws_has(bar.share[WS_STALL_selected]));
}

TEST(no_sample_is_no_share)
{
    struct ws_samples s = {.unnamed = 0};
    struct ws_stall_bar bar;
    ws_stalls_of_samples(&s, &bar);
    CHECK(!ws_has(bar.share[WS_STALL_wait]) && !ws_has(bar.of_all[WS_STALL_selected]));
}
