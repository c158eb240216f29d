/* SPDX-License-Identifier: MIT
 * test_compare.c: pairs of two sessions, what changed between them, and the conditions that fail a build. */
#include "../../server/compare_text.h"
#include "session.h"

enum { NAME_A = 1, NAME_B, NAME_C, KEY_SECTORS, KEY_REQUESTS };

struct program {
    const char *agent, *token;
    int64_t copy_ns; /* a launch of copy */
    double sectors;  /* of copy */
    uint32_t only;   /* a kernel that the other one lacks */
    bool no_counters;
};

static int64_t record(const struct program *p)
{
    struct capture c = {0};
    int64_t id;
    capture_segment(&c, p->agent, 0);
    put_greeting(&c, p->agent, p->token, "measured");
    put_gpu(&c, 0, "GPU-1");
    put_text(&c, NAME_A, "_Z4copyPf");
    put_text(&c, NAME_B, "_Z4sortILi2EEvPf");
    put_text(&c, NAME_C, "_Z4scanPf");
    put_text(&c, KEY_SECTORS, "gld_sectors");
    put_text(&c, KEY_REQUESTS, "gld_requests");
    for (int i = 0; i < 10; i++)
        put_launch(&c, NAME_A, 64, 1000000 + i * 100000, 1000000 + i * 100000 + p->copy_ns + (int64_t)(i % 3) * 32);
    put_launch(&c, NAME_A, 128, 5000000, 5030000); /* another shape is another kernel */
    put_launch(&c, p->only, 64, 6000000, 6010000);
    if (!p->no_counters) {
        put_counters(&c, 1, NAME_A, 64);
        put_value(&c, 1, KEY_SECTORS, p->sectors);
        put_value(&c, 1, KEY_REQUESTS, 1000);
    }
    put_end(&c);
    id = import_capture(&c, "db");
    free(c.bytes);
    return id;
}

static struct ws_store *store;

static void compare(const struct program *base, const struct program *target, struct ws_comparison *out)
{
    const struct ws_cached *b = NULL;
    const struct ws_cached *t = NULL;
    int64_t base_id = record(base);
    int64_t target_id = record(target);
    store = open_reader_of("db");
    CHECK_INT(ws_session_cache_take(store, base_id, 0, &b), 0);
    CHECK_INT(ws_session_cache_take(store, target_id, 0, &t), 0);
    CHECK_INT(ws_compare(store, b, t, out), 0);
}

static void done(struct ws_comparison *c)
{
    ws_compare_free(c);
    ws_session_cache_give(c->base);
    ws_session_cache_give(c->target);
    ws_store_close(store);
}

static const struct program before = {AGENT_A, "one", 20000, 4000, NAME_B, false};
static const struct program slower = {AGENT_B, "two", 24000, 8000, NAME_C, false};
static const struct program same = {AGENT_B, "two", 20000, 4000, NAME_B, false};
static const struct program traced = {AGENT_B, "two", 20000, 0, NAME_B, true};

static struct ws_gate gate_of(const char *text)
{
    struct ws_gate g = {.count = 0};
    char message[200] = "";
    if (!ws_gate_parse(text, &g, message, sizeof message))
        WS_FAIL("%s: %s", text, message);
    return g;
}

TEST(pairs_have_one_name_and_one_shape_and_the_rest_stands_alone)
{
    struct ws_comparison c;
    size_t alone = 0;
    compare(&before, &slower, &c);
    CHECK_INT(c.count, 4);
    for (size_t i = 0; i < c.count; i++)
        alone += !ws_compare_is_pair(&c.pairs[i]);
    CHECK_INT(alone, 2);
    CHECK(ws_compare_is_pair(&c.pairs[0]) && ws_compare_is_pair(&c.pairs[1]));
    CHECK_STR(ws_compare_kernel(&c, &c.pairs[0])->name.alias, "copy");
    CHECK_INT(ws_compare_kernel(&c, &c.pairs[0])->row.launch.grid.x, 64);
    CHECK_NEAR(c.pairs[0].duration.percent.number, 4000. / 20032, 1e-9); /* medians: the middle of 0, 32, 64 */
    CHECK_INT(c.pairs[0].duration.trend, WS_TREND_SLOWER);
    CHECK_NEAR(c.pairs[0].impact.number, 40e-6, 1e-12);
    CHECK_INT(c.pairs[1].duration.trend, WS_TREND_UNKNOWN); /* one launch */
    done(&c);
}

TEST(conditions_hold_where_the_change_passes_their_limit)
{
    static const struct {
        const char *text;
        size_t failed, passed;
    } cases[] = {{"duration > 5%", 1, 1},
                 {"duration > 19.9%", 1, 1},
                 {"duration>20%", 0, 2},
                 {"duration > 0.000003", 1, 1},
                 {"duration < 0", 0, 2},
                 {"duration <= 0", 1, 1}, /* the single launch of the other shape did not change */
                 {"total > 5%", 1, 1},
                 {"launches > 0", 0, 2},
                 {"gld_sectors_per_request > 0", 1, 0},
                 {"gld_sectors_per_request > 3.99", 1, 0},
                 {"gld_sectors_per_request > 4", 0, 1},
                 {"gld_sectors_per_request >= 4", 1, 0},
                 {"gld_sectors > +100 %", 0, 1},
                 {"gld_sectors >= 1e2 %", 1, 0},
                 {"duration > 5%,gld_sectors > 0 , launches > 0", 2, 3}};
    struct ws_comparison c;
    compare(&before, &slower, &c);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ws_gate g = gate_of(cases[i].text);
        struct ws_gate_tally t = ws_gate_tally(&g, &c);
        if (t.failed != cases[i].failed || t.passed != cases[i].passed)
            WS_FAIL("%s: %zu failed, %zu passed", cases[i].text, t.failed, t.passed);
        CHECK_INT(t.never_judged, 0);
    }
    done(&c);
}

TEST(nothing_fails_between_equal_runs)
{
    struct ws_gate g = gate_of("duration > 0, total > 0, gld_sectors > 0, findings > 0, launches > 0");
    struct ws_comparison c;
    struct ws_gate_tally t;
    compare(&before, &same, &c);
    t = ws_gate_tally(&g, &c);
    CHECK_INT(t.failed, 0);
    CHECK_INT(t.never_judged, 0);
    CHECK_INT(c.pairs[0].duration.trend == WS_TREND_SLOWER, false);
    done(&c);
}

TEST(a_change_within_the_noise_does_not_fail)
{
    struct program little = same;
    struct ws_gate g = gate_of("duration > 0.01%");
    struct ws_comparison c;
    struct ws_gate_tally t;
    little.copy_ns += 20; /* less than one step of the clock */
    compare(&before, &little, &c);
    t = ws_gate_tally(&g, &c);
    CHECK_INT(t.failed, 0);
    CHECK_INT(t.noise, 1);
    done(&c);
}

TEST(what_was_not_collected_is_not_judged_and_says_so)
{
    struct ws_gate g = gate_of("gld_sectors > 0, duration > 5%");
    struct ws_comparison c;
    struct ws_gate_tally t;
    compare(&before, &traced, &c);
    t = ws_gate_tally(&g, &c);
    CHECK_INT(t.failed, 0);
    CHECK_INT(t.unknown, 3);
    CHECK_INT(t.never_judged, 1);
    done(&c);
}

TEST(a_relative_change_of_nothing_is_beyond_every_limit)
{
    struct program zero = before;
    struct ws_gate g = gate_of("gld_sectors > 1000000%, gld_sectors < -1%");
    struct ws_comparison c;
    struct ws_gate_tally t;
    zero.sectors = 0;
    compare(&zero, &slower, &c);
    t = ws_gate_tally(&g, &c);
    CHECK_INT(t.failed, 1);
    CHECK_INT(t.passed, 1);
    done(&c);
}

TEST(text_and_markdown_show_the_change_and_what_stands_alone)
{
    static const struct ws_compare_options forms[] = {{.markdown = false}, {.markdown = true}};
    struct ws_gate g = gate_of("duration > 5%");
    struct ws_comparison c;
    compare(&before, &slower, &c);
    for (size_t i = 0; i < 2; i++) {
        char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);
        CHECK_INT(ws_compare_text(&c, &g, &forms[i], out), 0);
        fclose(out);
        CHECK(strstr(text, "+20.0 %") && strstr(text, "slower") && strstr(text, "copy (64,1,1)x(128,1,1)"));
        CHECK(strstr(text, "4.00 sectors/request -> 8.00 sectors/request"));
        CHECK(strstr(text, "scan (64,1,1)x(128,1,1)") && strstr(text, "sort"));
        CHECK(strstr(text, "gate: FAILED") && strstr(text, "duration > 5%"));
        CHECK((strstr(text, "|---") != NULL) == forms[i].markdown);
        CHECK(strstr(text, forms[i].markdown ? "sort\\<2>" : "sort<2>") != NULL);
        free(text);
    }
    done(&c);
}

TEST(conditions_that_make_no_sense_are_refused_in_one_line)
{
    static const char *const bad[] = {"",
                                      " ",
                                      ",",
                                      "duration",
                                      "duration >",
                                      "duration > x",
                                      "duration > 5%%",
                                      "duration > 5% total > 3",
                                      "duration == 5",
                                      "duration > nan",
                                      "duration > inf",
                                      "duration > 1e999",
                                      "duration > 0x10",
                                      "> 5",
                                      "duratoin > 5%",
                                      "duration > 5%,",
                                      "duration > 5%,,total > 1",
                                      "duration > - 5",
                                      "\xff\xfe > 1"};
    char long_text[4000];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct ws_gate g = {.count = 0};
        char message[200] = "";
        if (ws_gate_parse(bad[i], &g, message, sizeof message))
            WS_FAIL("accepted: '%s'", bad[i]);
        CHECK(*message && !strchr(message, '\n'));
    }
    long_text[0] = 0;
    for (int i = 0; i < WS_GATE_MAX + 1; i++)
        strcat(long_text, i ? ",total>1" : "total>1");
    {
        struct ws_gate g = {.count = 0};
        char message[200] = "";
        CHECK(!ws_gate_parse(long_text, &g, message, sizeof message));
        CHECK_STR(message, "more than 32 conditions");
    }
}
