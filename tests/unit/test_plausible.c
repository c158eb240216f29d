/* SPDX-License-Identifier: MIT
 * test_plausible.c: counters that cannot be are struck out, and in a session: counted, told, and kept as they came. */
#include "../../analyzer/plausible.h"
#include "session.h"

static struct ws_value raw[WS_METRIC_COUNT];

static void none(void)
{
    for (int i = 0; i < WS_METRIC_COUNT; i++)
        raw[i] = ws_missing(WS_WHY_NOT_COLLECTED, NULL);
}

TEST(what_can_be_stays)
{
    struct ws_implausible bad = {WS_METRIC_COUNT, NULL};
    none();
    raw[WS_M_gld_requests] = ws_value_of(10);
    raw[WS_M_gld_sectors] = ws_value_of(320);
    raw[WS_M_sm_throughput] = ws_value_of(1);
    raw[WS_M_duration] = ws_value_of(0);
    CHECK_INT(ws_plausible(raw, &bad), 0);
    CHECK_INT(bad.id, WS_METRIC_COUNT);
    CHECK(raw[WS_M_gld_sectors].number == 320);
}

TEST(what_cannot_be_is_out_of_range)
{
    static const struct {
        enum ws_metric_id id;
        double value;
        enum ws_metric_id other;
        double other_value;
    } cases[] = {
        {WS_M_gld_sectors, 330, WS_M_gld_requests, 10},         {WS_M_gst_sectors, 1, WS_M_gst_requests, 0},
        {WS_M_thread_inst_executed, 33, WS_M_inst_executed, 1}, {WS_M_divergent_branches, 2, WS_M_branches, 1},
        {WS_M_warps_active, 66, WS_M_sm_active_cycles, 1},      {WS_M_dram_throughput, 1.2, WS_M_duration, 1},
        {WS_M_duration, -1e-6, WS_M_inst_executed, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ws_implausible bad = {WS_METRIC_COUNT, NULL};
        none();
        raw[cases[i].id] = ws_value_of(cases[i].value);
        raw[cases[i].other] = ws_value_of(cases[i].other_value);
        CHECK_INT(ws_plausible(raw, &bad), 1);
        CHECK_INT(bad.id, cases[i].id);
        CHECK_INT(raw[cases[i].id].why, WS_WHY_RANGE);
        CHECK(ws_has(raw[cases[i].other]));
    }
}

TEST(what_has_nothing_to_be_held_against_stays)
{
    struct ws_implausible bad;
    none();
    raw[WS_M_gld_sectors] = ws_value_of(1e9);
    CHECK_INT(ws_plausible(raw, &bad), 0);
}

static bool warns_of(const struct ws_session *s, const char *code, const char *word)
{
    for (size_t i = 0; i < s->warning_count; i++)
        if (strcmp(s->warnings[i].code, code) == 0 && strstr(s->warnings[i].message, word))
            return true;
    return false;
}

TEST(a_session_is_read_without_it_and_says_so)
{
    static struct ws_report report;
    struct capture c = {0};
    struct ws_session *s;
    char *json;
    capture_segment(&c, AGENT_A, 0);
    put_greeting(&c, AGENT_A, "token", "measured");
    put_gpu(&c, 0, "GPU-1");
    put_text(&c, 1, "good");
    put_text(&c, 2, "bad");
    put_text(&c, 3, "gld_sectors");
    put_text(&c, 4, "gld_requests");
    for (uint32_t kernel = 1; kernel <= 2; kernel++) {
        put_counters(&c, kernel, kernel, 1);
        put_value(&c, kernel, 3, kernel == 1 ? 320 : 1e9);
        put_value(&c, kernel, 4, 10);
    }
    put_end(&c);
    import_capture(&c, "db");
    s = load_newest("db");
    for (size_t i = 0; i < s->kernel_count; i++) {
        bool is_good = strcmp(s->kernels[i].name.alias, "good") == 0;
        ws_report_analyze(s, i, &report);
        CHECK(ws_has(report.metric[WS_M_gld_sectors]) == is_good);
        CHECK(ws_has(report.metric[WS_M_gld_sectors_per_request]) == is_good);
        CHECK_INT(report.metric[WS_M_gld_sectors].why, is_good ? WS_WHY_PRESENT : WS_WHY_RANGE);
    }
    CHECK(warns_of(s, "implausible", "gld_sectors of bad"));
    json = json_of(s);
    CHECK(strstr(json, "out-of-range") && strstr(json, "\"implausible\"") && !strstr(json, "1000000000,"));
    free(json);
    ws_report_free(s);
    free(c.bytes);
}
