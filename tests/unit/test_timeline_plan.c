/* SPDX-License-Identifier: MIT
 * test_timeline_plan.c: --timeline-metrics and --timeline-interval as they are read, and the table behind them. */
#include "../../analyzer/err.h"
#include "../../analyzer/metrics.h"
#include "../../collector/timeline_plan.h"
#include "test.h"

#include <ctype.h>

static struct ws_timeline_plan plan;

TEST(default_is_the_whole_table_in_its_order)
{
    CHECK_INT(ws_timeline_plan_make(&plan, "default"), 0);
    CHECK_INT((int)plan.count, WS_PM_COUNT);
    for (unsigned i = 0; i < WS_PM_COUNT; i++)
        CHECK_STR(plan.entry[i].key, ws_pm_get((enum ws_pm_id)i)->key);
}

TEST(a_list_keeps_its_order_and_a_word_counts_once)
{
    CHECK_INT(ws_timeline_plan_make(&plan, "gr_active,sm_active,,gr_active,default"), 0);
    CHECK_INT((int)plan.count, WS_PM_COUNT);
    CHECK_STR(plan.entry[0].key, "gr_active");
    CHECK_STR(plan.entry[1].key, "sm_active");
    CHECK_STR(plan.entry[2].key, "dram_read");
}

TEST(a_cupti_name_is_taken_for_what_its_ending_says)
{
    CHECK_INT(ws_timeline_plan_make(&plan, "sm__inst_executed.sum,sm__cycles_active.avg.pct_of_peak_sustained_elapsed,"
                                           "sm__cycles_active.avg"),
              0);
    CHECK_INT(plan.entry[0].how, WS_PM_SUM);
    CHECK(plan.entry[0].scale == 1.0);
    CHECK_STR(plan.entry[0].cupti, "sm__inst_executed.sum");
    CHECK_INT(plan.entry[1].how, WS_PM_MEAN);
    CHECK(plan.entry[1].scale == 0.01);
    CHECK_INT(plan.entry[2].how, WS_PM_MEAN);
    CHECK(plan.entry[2].scale == 1.0);
}

/* On GH100 tpc__warps_active_realtime counts each warp twice, in seven bits: a full SM read 0. */
TEST(resident_warps_are_not_read_from_the_counter_that_runs_over)
{
    CHECK_INT(ws_timeline_plan_make(&plan, "warps_active"), 0);
    CHECK(strstr(plan.entry[0].cupti, "warps_active"));
    CHECK(!strstr(plan.entry[0].cupti, "tpc__warps_active_realtime"));
}

TEST(a_word_that_means_nothing_is_named)
{
    CHECK_INT(ws_timeline_plan_make(&plan, "sm_active,nonsense,gr_active"), -WS_EINVAL);
    CHECK_STR(plan.bad, "nonsense");
    CHECK_INT((int)plan.count, 2);
    CHECK_INT(ws_timeline_plan_make(&plan, ""), -WS_EINVAL);
    CHECK_INT(ws_timeline_plan_make(&plan, ",,"), -WS_EINVAL);
    CHECK_STR(plan.bad, "");
}

TEST(too_many_and_too_long_are_refused)
{
    char list[WS_TIMELINE_MAX * 16 + 64] = "";
    char name[300];
    for (int i = 0; i <= WS_TIMELINE_MAX; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "sm__x%d.sum,", i);
    CHECK_INT(ws_timeline_plan_make(&plan, list), -WS_ELIMIT);
    CHECK_INT((int)plan.count, WS_TIMELINE_MAX);
    memset(name, 'a', sizeof name);
    memcpy(name, "sm__", 4);
    name[sizeof name - 1] = 0;
    CHECK_INT(ws_timeline_plan_make(&plan, name), -WS_ELIMIT);
    CHECK(strlen(plan.bad) > 0 && strlen(plan.bad) < WS_TIMELINE_NAME_MAX);
}

TEST(an_interval_is_a_number_with_its_unit_within_bounds)
{
    static const struct {
        const char *text;
        int64_t ns; /* 0 = refused */
    } cases[] = {{"10us", 10000},   {"10µs", 10000},    {"100us", 100000},
                 {"1ms", 1000000},  {"10ms", 10000000}, {"2.5ms", 2500000},
                 {"12.5us", 12500}, {"50000ns", 50000}, {"9us", 0},
                 {"11ms", 0},       {"10", 0},          {"", 0},
                 {"ms", 0},         {"-1ms", 0},        {"1 ms", 0},
                 {"1s", 0},         {"1.ms", 0},        {"1.2345ms", 0},
                 {"1.2.3ms", 0},    {"1msx", 0},        {"9999999999999999999ms", 0},
                 {"0ms", 0},        {"nan", 0},         {"1e2us", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t ns = -1;
        int err = ws_timeline_interval(cases[i].text, &ns);
        if (err != (cases[i].ns ? 0 : -WS_EINVAL) || ns != (cases[i].ns ? cases[i].ns : -1))
            WS_FAIL("'%s': %d, %lld ns", cases[i].text, err, (long long)ns);
    }
}

TEST(every_row_of_the_table_is_well_formed)
{
    for (unsigned i = 0; i < WS_PM_COUNT; i++) {
        const struct ws_pm_metric *m = ws_pm_get((enum ws_pm_id)i);
        const char *at = m->cupti, *next;
        size_t length;
        CHECK(*m->title && *m->doc && *m->cupti);
        CHECK_INT(ws_pm_find(m->key, strlen(m->key)), (int)i);
        CHECK_INT(m->unit, m->how == WS_PM_SUM ? WS_UNIT_BYTE_PER_SECOND : WS_UNIT_RATIO);
        CHECK(!*m->dcgm || strncmp(m->dcgm, "DCGM_FI_PROF_", 13) == 0);
        for (const char *c = m->key; *c; c++)
            CHECK(islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '_');
        /* The name tells the same as the row: a sum is a sum, a percentage has the scale of one. */
        while (ws_metric_next_name(&at, &next, &length)) {
            CHECK(length < WS_TIMELINE_NAME_MAX);
            CHECK_INT(ws_pm_how_of(next, length), m->how);
            CHECK(ws_pm_scale_of(next, length) == m->scale);
        }
    }
    CHECK_INT(ws_pm_find("nothing", 7), WS_PM_COUNT);
    CHECK_INT(ws_pm_find("sm_activ", 8), WS_PM_COUNT);
}
