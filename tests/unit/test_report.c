/* SPDX-License-Identifier: MIT
 * test_report.c: from rows to what is shown: means, times, reasons, warnings, order; JSON, CSV and text of it. */
#include "../../analyzer/err.h"
#include "session.h"

#include <cjson/cJSON.h>

enum { NAME_A = 1, NAME_B, NAME_C, KEY_SECTORS, KEY_REQUESTS, KEY_DURATION, KEY_CUSTOM };

static void put_names(struct capture *c)
{
    capture_segment(c, AGENT_A, 0);
    put_greeting(c, AGENT_A, "token", "modelled");
    put_gpu(c, 0, "GPU-1");
    put_text(c, NAME_A, "_Z4copyPf");
    put_text(c, NAME_B, "_Z4sortILi2EEvPf");
    put_text(c, NAME_C, "=cmd|\"x\"\x1b[31m\xff,");
    put_text(c, KEY_SECTORS, "gld_sectors");
    put_text(c, KEY_REQUESTS, "gld_requests");
    put_text(c, KEY_DURATION, "duration");
    put_text(c, KEY_CUSTOM, "smsp__my_counter.sum");
}

static struct ws_session *loaded(struct capture *c)
{
    struct ws_session *s;
    import_capture(c, "db");
    s = load_newest("db");
    free(c->bytes);
    return s;
}

static const struct ws_kernel *kernel_called(const struct ws_session *s, const char *alias)
{
    for (size_t i = 0; i < s->kernel_count; i++)
        if (strcmp(s->kernels[i].name.alias, alias) == 0)
            return &s->kernels[i];
    WS_FAIL("no kernel %s", alias);
    exit(1);
}

static struct ws_report *analyzed(const struct ws_session *s, const struct ws_kernel *k)
{
    static struct ws_report r;
    ws_report_analyze(s, (size_t)(k - s->kernels), &r);
    return &r;
}

static const struct ws_stat *stat_called(const struct ws_kernel *k, const char *key)
{
    for (size_t i = 0; i < k->stat_count; i++)
        if (strcmp(k->stats[i].key, key) == 0)
            return &k->stats[i];
    WS_FAIL("no metric %s", key);
    exit(1);
}

TEST(a_metric_is_the_mean_over_its_profiled_launches)
{
    struct capture c = {0};
    struct ws_session *s;
    const struct ws_stat *stat;
    put_names(&c);
    for (uint64_t i = 1; i <= 4; i++) {
        put_counters(&c, i, NAME_A, 1);
        put_value(&c, i, KEY_SECTORS, (double)(10 * i));
    }
    put_end(&c);
    s = loaded(&c);
    stat = stat_called(&s->kernels[0], "gld_sectors");
    CHECK_INT(stat->count, 4);
    CHECK(stat->mean.number == 25 && stat->min == 10 && stat->max == 40);
    CHECK_INT(s->kernels[0].profiled, 4);
    CHECK_INT(s->kernels[0].launches, 4); /* no activity record: at least those */
    CHECK(analyzed(s, &s->kernels[0])->metric[WS_M_gld_sectors].number == 25);
    ws_report_free(s);
}

TEST(equal_values_come_out_unchanged_by_the_mean)
{
    struct capture c = {0};
    struct ws_session *s;
    put_names(&c);
    for (uint64_t i = 1; i <= 7; i++) {
        put_counters(&c, i, NAME_A, 1);
        put_value(&c, i, KEY_CUSTOM, 0.1);
    }
    put_end(&c);
    s = loaded(&c);
    CHECK(stat_called(&s->kernels[0], "smsp__my_counter.sum")->mean.number == 0.1);
    ws_report_free(s);
}

TEST(a_launch_without_the_value_does_not_count_into_the_mean)
{
    struct capture c = {0};
    struct ws_session *s;
    const struct ws_stat *stat;
    put_names(&c);
    put_counters(&c, 1, NAME_A, 1);
    put_no_value(&c, 1, KEY_SECTORS, WS_WHY_NOT_VALID);
    put_value(&c, 1, KEY_REQUESTS, 0);
    put_counters(&c, 2, NAME_A, 1);
    put_value(&c, 2, KEY_SECTORS, 8);
    put_counters(&c, 3, NAME_B, 1);
    put_no_value(&c, 3, KEY_SECTORS, WS_WHY_NOT_ON_CHIP);
    put_end(&c);
    s = loaded(&c);
    stat = stat_called(kernel_called(s, "copy"), "gld_sectors");
    CHECK_INT(stat->count, 1);
    CHECK(ws_has(stat->mean) && stat->mean.number == 8);
    stat = stat_called(kernel_called(s, "sort<2>"), "gld_sectors");
    CHECK_INT(stat->count, 0);
    CHECK_INT(stat->mean.why, WS_WHY_NOT_ON_CHIP);
    /* A profile that gave no counter at all is no profiled launch; a measured 0 is one. */
    CHECK_INT(kernel_called(s, "sort<2>")->profiled, 0);
    CHECK_INT(kernel_called(s, "copy")->profiled, 2);
    ws_report_free(s);
}

TEST(a_missing_counter_says_why)
{
    struct capture c = {0};
    struct ws_session *s;
    put_names(&c);
    put_counters(&c, 1, NAME_A, 1);
    put_value(&c, 1, KEY_SECTORS, 8);
    put_launch(&c, NAME_B, 1, 100, 200);
    put_end(&c);
    s = loaded(&c);
    CHECK_INT(analyzed(s, kernel_called(s, "copy"))->metric[WS_M_gst_sectors].why, WS_WHY_NOT_COLLECTED);
    CHECK_INT(analyzed(s, kernel_called(s, "sort<2>"))->metric[WS_M_gst_sectors].why, WS_WHY_NO_LAUNCH);
    ws_report_free(s);
}

TEST(refused_counters_are_the_reason_of_every_missing_counter)
{
    struct capture c = {0};
    struct ws_session *s;
    struct ws_rec_status status = {.code = ws_text_of("counters-no-rights"),
                                   .severity = 1,
                                   .message = ws_text_of("refused"),
                                   .remedy = ws_text_of("ask"),
                                   .count = 1};
    put_names(&c);
    put_launch(&c, NAME_A, 1, 100, 200);
    put_status(&c, &status);
    put_end(&c);
    s = loaded(&c);
    CHECK_INT(analyzed(s, &s->kernels[0])->metric[WS_M_gld_sectors].why, WS_WHY_NO_RIGHTS);
    ws_report_free(s);
}

TEST(time_comes_from_launches_that_were_not_replayed)
{
    struct capture c = {0};
    struct ws_session *s;
    const struct ws_times *t;
    put_names(&c);
    put_launch(&c, NAME_A, 1, 0, 0); /* replayed for its counters */
    put_counters(&c, 1, NAME_A, 1);
    put_value(&c, 1, KEY_DURATION, 9e-6);
    put_launch(&c, NAME_A, 1, 10000, 11000);
    put_launch(&c, NAME_A, 1, 20000, 23000);
    put_end(&c);
    s = loaded(&c);
    t = &s->kernels[0].times;
    CHECK_NEAR(t->mean.number, 2e-6, 1e-18);
    CHECK_NEAR(t->min.number, 1e-6, 1e-18);
    CHECK_NEAR(t->max.number, 3e-6, 1e-18);
    CHECK_NEAR(t->total.number, 6e-6, 1e-18); /* of three launches, one of them not timed */
    CHECK_INT(t->mean.origin, WS_ORIGIN_ACTIVITY);
    CHECK(analyzed(s, &s->kernels[0])->metric[WS_M_duration].number == t->mean.number);
    CHECK_INT(analyzed(s, &s->kernels[0])->metric[WS_M_duration].origin, WS_ORIGIN_ACTIVITY);
    ws_report_free(s);
}

TEST(without_such_a_launch_the_profilers_time_stands_and_says_so)
{
    struct capture c = {0};
    struct ws_session *s;
    put_names(&c);
    put_launch(&c, NAME_A, 1, 0, 0);
    put_counters(&c, 1, NAME_A, 1);
    put_value(&c, 1, KEY_DURATION, 9e-6);
    put_launch(&c, NAME_B, 1, 0, 0);
    put_end(&c);
    s = loaded(&c);
    CHECK(kernel_called(s, "copy")->times.mean.number == 9e-6);
    CHECK_INT(kernel_called(s, "copy")->times.mean.origin, WS_ORIGIN_PROFILER_TIME);
    CHECK(!ws_has(kernel_called(s, "sort<2>")->times.total));
    CHECK_STR(s->kernels[1].name.alias, "sort<2>"); /* no time: last */
    ws_report_free(s);
}

TEST(kernels_are_ordered_by_total_time_and_by_what_is_asked)
{
    struct capture c = {0};
    struct ws_session *s;
    put_names(&c);
    put_launch(&c, NAME_A, 1, 1000, 1010);
    for (int i = 0; i < 5; i++)
        put_launch(&c, NAME_A, 1, 2000, 2010);
    put_launch(&c, NAME_B, 1, 1000, 1055);
    put_launch(&c, NAME_C, 1, 1000, 1020);
    put_counters(&c, 1, NAME_C, 1);
    put_value(&c, 1, KEY_SECTORS, 1);
    put_end(&c);
    s = loaded(&c);
    CHECK_STR(s->kernels[0].name.alias, "copy"); /* 60 ns */
    CHECK_STR(s->kernels[1].name.alias, "sort<2>");
    CHECK_INT(ws_report_select(s, NULL, "mean", 0), 0);
    CHECK_STR(s->kernels[0].name.alias, "sort<2>");
    CHECK_INT(ws_report_select(s, NULL, "launches", 0), 0);
    CHECK_STR(s->kernels[0].name.alias, "copy");
    CHECK_INT(ws_report_select(s, NULL, "name", 0), 0);
    CHECK_STR(s->kernels[1].name.alias, "copy"); /* '=' < 'c' < 'v' of void */
    CHECK_INT(ws_report_select(s, NULL, "gld_sectors", 0), 0);
    CHECK(s->kernels[0].profiled == 1);
    CHECK_INT(ws_report_select(s, NULL, "duration", 2), 0);
    CHECK_INT(s->kernel_count, 2);
    CHECK(ws_report_is_sort_key("gain") && ws_report_is_sort_key("achieved_occupancy"));
    CHECK(!ws_report_is_sort_key("nonsense") && !ws_report_is_sort_key(""));
    ws_report_free(s);
}

TEST(a_filter_keeps_what_fits)
{
    struct capture c = {0};
    struct ws_session *s;
    char message[100];
    struct ws_name_filter *some = ws_name_filter_new("regex:sort", message, sizeof message);
    struct ws_name_filter *none = ws_name_filter_new("nothing", message, sizeof message);
    put_names(&c);
    put_launch(&c, NAME_A, 1, 1000, 1010);
    put_launch(&c, NAME_B, 1, 1000, 1010);
    put_launch(&c, NAME_B, 2, 1000, 1010);
    put_end(&c);
    s = loaded(&c);
    CHECK_INT(ws_report_select(s, some, NULL, 0), 0);
    CHECK_INT(s->kernel_count, 2);
    CHECK_INT(ws_report_select(s, none, NULL, 0), -WS_ENOENT);
    ws_name_filter_free(some);
    ws_name_filter_free(none);
    ws_report_free(s);
}

static const struct ws_warning *warning_called(const struct ws_session *s, const char *code)
{
    for (size_t i = 0; i < s->warning_count; i++)
        if (strcmp(s->warnings[i].code, code) == 0)
            return &s->warnings[i];
    return NULL;
}

TEST(losses_costs_and_statuses_are_warnings)
{
    struct capture c = {0};
    struct ws_session *s;
    const struct ws_warning *w;
    struct ws_rec_status status = {
        .code = ws_text_of("a-code"), .severity = 2, .message = ws_text_of("m"), .remedy = ws_text_of("r"), .count = 1};
    struct ws_rec_loss loss = {.kind = ws_text_of("kernel"), .reason = ws_text_of("memory"), .count = 3};
    struct ws_rec_cost cost = {.what = ws_text_of("profile"), .count = 2, .total_ns = 12000000};
    put_names(&c);
    put_launch(&c, NAME_A, 1, 1000, 1010);
    put_loss(&c, &loss);
    put_loss(&c, &loss);
    put_cost(&c, &cost);
    put_cost(&c, &cost); /* a total: the last one stands */
    put_status(&c, &status);
    put_end(&c);
    s = loaded(&c);
    CHECK_STR(s->warnings[0].code, "a-code"); /* gravest first */
    w = warning_called(s, "records-lost");
    REQUIRE(w);
    CHECK_STR(w->message, "6 kernel records were lost: the collector's memory bound was reached");
    CHECK_STR(w->remedy, "Raise WARPSIGHT_MEMORY_MB.");
    w = warning_called(s, "overhead");
    REQUIRE(w);
    CHECK_STR(w->message, "WarpSight took 12.0 ms of the program's time: profile 12.0 ms for 2 launches");
    CHECK(warning_called(s, "no-counters"));
    ws_report_free(s);
}

TEST(an_empty_session_says_what_is_wrong)
{
    struct capture c = {0};
    struct ws_session *s;
    struct ws_rec_run run = {.session_token = ws_text_of("token"), .exe = ws_text_of("/bin/true"), .ended_ns = 5};
    capture_segment(&c, AGENT_A, 0);
    put_run(&c, &run);
    s = loaded(&c);
    CHECK_INT(s->kernel_count, 0);
    CHECK(warning_called(s, "no-cuda"));
    ws_report_free(s);
    memset(&c, 0, sizeof c);
    capture_segment(&c, AGENT_B, 0);
    put_greeting(&c, AGENT_B, "other", "measured");
    put_end(&c);
    s = loaded(&c);
    CHECK(warning_called(s, "no-kernels"));
    CHECK(!warning_called(s, "no-cuda"));
    ws_report_free(s);
}

TEST(a_program_that_a_signal_ended_is_a_warning)
{
    struct capture c = {0};
    struct ws_session *s;
    struct ws_rec_run run = {
        .session_token = ws_text_of("token"), .exit_status = 139, .signal = 11, .started_ns = 1, .ended_ns = 5};
    capture_segment(&c, AGENT_A, 0);
    put_run(&c, &run);
    s = loaded(&c);
    REQUIRE(warning_called(s, "program-signal"));
    CHECK(strstr(warning_called(s, "program-signal")->message, "signal 11") != NULL);
    ws_report_free(s);
}

/* --- JSON --- */

static void check_keys(const cJSON *object, const char *want)
{
    char got[1024] = "";
    const cJSON *item;
    cJSON_ArrayForEach(item, object)
    {
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s ", item->string);
    }
    CHECK_STR(got, want);
}

static cJSON *at(const cJSON *tree, const char *path)
{
    char copy[256];
    char *rest = copy;
    char *part;
    snprintf(copy, sizeof copy, "%s", path);
    while (tree && (part = strsep(&rest, "/")) != NULL)
        tree = part[0] >= '0' && part[0] <= '9' ? cJSON_GetArrayItem(tree, atoi(part))
                                                : cJSON_GetObjectItemCaseSensitive(tree, part);
    if (!tree) {
        WS_FAIL("no %s", path);
        exit(1);
    }
    return (cJSON *)(uintptr_t)tree;
}

static struct capture rich(void)
{
    struct capture c = {0};
    struct ws_rec_cost cost = {.what = ws_text_of("profile"), .count = 2, .total_ns = 12000000};
    put_names(&c);
    put_launch(&c, NAME_B, 64, 10000, 15000);
    put_launch(&c, NAME_B, 64, 20000, 27000);
    put_launch(&c, NAME_C, 1, 30000, 30001);
    for (uint64_t i = 1; i <= 2; i++) {
        put_counters(&c, i, NAME_B, 64);
        put_value(&c, i, KEY_SECTORS, 256);
        put_value(&c, i, KEY_REQUESTS, (double)(63 + i));
        put_value(&c, i, KEY_CUSTOM, 1.0 / 3.0);
    }
    put_cost(&c, &cost);
    put_end(&c);
    return c;
}

TEST(json_has_the_contracts_keys)
{
    struct capture c = rich();
    struct ws_session *s = loaded(&c);
    char *text = json_of(s);
    const char *end = NULL;
    cJSON *tree = cJSON_ParseWithOpts(text, &end, 1);
    const cJSON *k;
    REQUIRE(tree);
    check_keys(tree, "warpsight session devices warnings kernels findings skipped ");
    check_keys(at(tree, "warpsight"), "version ");
    check_keys(at(tree, "session"), "id name source exe argv exit_status started host driver cuda cupti ");
    check_keys(at(tree, "devices/0"), "index name uuid cc sms ");
    check_keys(at(tree, "warnings/0"), "code message remedy ");
    k = at(tree, "kernels/0");
    check_keys(
        k, "id name demangled mangled hash grid block regs_per_thread static_smem_bytes dynamic_smem_bytes launches "
           "profiled_launches duration metrics occupancy roofline stalls findings skipped ");
    check_keys(at(k, "duration"), "total mean min max origin ");
    check_keys(at(k, "occupancy"), "theoretical achieved blocks_per_sm warps_per_sm limiter limits ");
    check_keys(at(k, "occupancy/limits"), "warps blocks registers shared barriers ");
    check_keys(at(k, "roofline"), "points why needs traffic ");
    check_keys(at(k, "findings/0"), "rule severity gain text evidence ");
    CHECK_STR(at(tree, "session/source")->valuestring, "modelled");
    CHECK_STR(at(tree, "session/started")->valuestring, "1970-01-01T00:00:01.000000000Z");
    CHECK_STR(at(tree, "session/cuda")->valuestring, "13.0");
    CHECK_STR(at(tree, "session/argv/1")->valuestring, "--size");
    CHECK(cJSON_IsNull(at(tree, "session/exit_status")));
    CHECK_STR(at(tree, "devices/0/cc")->valuestring, "9.0");
    CHECK_STR(at(k, "name")->valuestring, "sort<2>");
    CHECK_INT(at(k, "grid/0")->valueint, 64);
    cJSON_Delete(tree);
    free(text);
    ws_report_free(s);
}

TEST(json_values_are_numbers_with_units_or_null_with_a_reason)
{
    struct capture c = rich();
    struct ws_session *s = loaded(&c);
    char *text = json_of(s);
    cJSON *tree = cJSON_Parse(text);
    const cJSON *m;
    const cJSON *item;
    REQUIRE(tree);
    m = at(tree, "kernels/0/metrics");
    check_keys(at(m, "gld_sectors"), "value unit ");
    check_keys(at(m, "gld_requests"), "value unit min max launches deviation ");
    CHECK(at(m, "gld_requests/value")->valuedouble == 64.5);
    CHECK(at(m, "smsp__my_counter.sum/value")->valuedouble == 1.0 / 3.0);
    check_keys(at(m, "duration"), "value unit min max origin ");
    check_keys(at(m, "gst_sectors"), "value why ");
    check_keys(at(m, "gst_efficiency"), "value why needs ");
    CHECK_STR(at(m, "gst_sectors/why")->valuestring, "not-collected");
    cJSON_ArrayForEach(item, m)
    {
        const cJSON *v = cJSON_GetObjectItem(item, "value");
        CHECK(cJSON_IsNumber(v) ? cJSON_IsString(cJSON_GetObjectItem(item, "unit"))
                                : cJSON_IsNull(v) && *cJSON_GetObjectItem(item, "why")->valuestring != 0);
    }
    CHECK_INT(cJSON_GetArraySize(m), WS_METRIC_COUNT + 1);
    cJSON_Delete(tree);
    free(text);
    ws_report_free(s);
}

TEST(json_of_a_hostile_name_is_well_formed_and_keeps_it)
{
    struct capture c = rich();
    struct ws_session *s = loaded(&c);
    char *text = json_of(s);
    cJSON *tree = cJSON_Parse(text);
    REQUIRE(tree);
    CHECK_STR(at(tree, "kernels/1/mangled")->valuestring, "=cmd|\"x\"\x1b[31m\xef\xbf\xbd,");
    cJSON_Delete(tree);
    free(text);
    ws_report_free(s);
}

/* --- CSV --- */

TEST(csv_has_as_many_cells_in_every_line_and_no_formula)
{
    struct capture c = rich();
    struct ws_session *s = loaded(&c);
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    unsigned commas = 0, lines = 0;
    bool quoted = false;
    CHECK_INT(ws_report_csv(s, out), 0);
    fclose(out);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '"')
            quoted = !quoted;
        commas += !quoted && text[i] == ',';
        if (!quoted && text[i] == '\n') {
            CHECK_INT(commas, 17);
            commas = 0;
            lines++;
        }
    }
    CHECK(!quoted);
    CHECK_INT(lines, 1 + 2 * WS_METRIC_COUNT + 1);
    CHECK(strstr(text, ",\"'=cmd|\"\"x\"\"") != NULL); /* an apostrophe in front, quotes doubled */
    CHECK(strstr(text, ",\"=") == NULL);
    CHECK(strstr(text, "\"gld_sectors\",256,sector,256,256,,,") != NULL);
    CHECK(strstr(text, "\"gst_sectors\",,sector,,,not-collected,,") != NULL);
    free(text);
    ws_report_free(s);
}

/* --- text --- */

TEST(text_holds_no_control_byte_and_the_main_numbers)
{
    struct capture c = rich();
    struct ws_session *s = loaded(&c);
    struct ws_text_options options = {.details = 10, .all = true};
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    CHECK_INT(ws_report_text(s, &options, out), 0);
    fclose(out);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < 0x20 && text[i] != '\n')
            WS_FAIL("control byte %d", text[i]);
    CHECK(strstr(text, "modelled") != NULL);
    CHECK(strstr(text, "sort<2>") != NULL);
    CHECK(strstr(text, "3.97 sectors/request") != NULL);
    CHECK(strstr(text, "not collected in this session") != NULL);
    CHECK(strstr(text, "smsp__my_counter.sum") != NULL);
    CHECK(strstr(text, "nan") == NULL && strstr(text, "-nan") == NULL);
    free(text);
    ws_report_free(s);
}
