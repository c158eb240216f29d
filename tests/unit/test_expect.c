/* SPDX-License-Identifier: MIT
 * test_expect.c: reading and judging .expect files; every file under kernels/ must be readable. */
#include "analyzer/err.h"
#include "analyzer/expect.h"
#include "tests/unit/test.h"

#include <glob.h>

static int first(const char *text, struct ws_expect *item, struct ws_expect_reader *reader)
{
    memset(item, 0, sizeof *item);
    ws_expect_open(reader, text, strlen(text));
    return ws_expect_next(reader, item);
}

static bool word_is(struct ws_word word, const char *text)
{
    return word.length == strlen(text) && memcmp(word.at, text, word.length) == 0;
}

TEST(each_kind_of_line_is_read)
{
    static const char text[] = "# comment\n\nid K10\r\n"
                               "launch transpose<1> gld_sectors == 131072 U\n"
                               "  launch\tvec_add dram_read_bytes ~ 134217728 D ±0.3%\n"
                               "launch k l1_hit_rate_ld ~ 0.5 C ±0.25\n"
                               "fires W05 on transpose<1>\n"
                               "quiet W05 on transpose<2>\n"
                               "twin W05 from transpose<1> to transpose<2>\n"
                               "twin W09 from small_grid<8> to small_grid<1056> work 132";
    struct ws_expect_reader reader;
    struct ws_expect item;
    ws_expect_open(&reader, text, sizeof text - 1);
    REQUIRE(ws_expect_next(&reader, &item) == 1);
    CHECK(word_is(reader.id, "K10"));
    CHECK_INT(item.kind, WS_EXPECT_VALUE);
    CHECK_INT(item.line, 4);
    CHECK(word_is(item.name, "transpose<1>"));
    CHECK_INT(item.key, WS_M_gld_sectors);
    CHECK_INT(item.op, WS_EXPECT_EQUAL);
    CHECK_NEAR(item.number, 131072, 0);
    CHECK_INT(item.class_letter, 'U');
    REQUIRE(ws_expect_next(&reader, &item) == 1);
    CHECK_NEAR(item.tolerance, 134217728 * 0.003, 1e-6);
    CHECK_INT(item.class_letter, 'D');
    REQUIRE(ws_expect_next(&reader, &item) == 1);
    CHECK_NEAR(item.tolerance, 0.25, 0);
    REQUIRE(ws_expect_next(&reader, &item) == 1);
    CHECK_INT(item.kind, WS_EXPECT_FIRES);
    CHECK(word_is(item.rule, "W05") && word_is(item.name, "transpose<1>"));
    REQUIRE(ws_expect_next(&reader, &item) == 1);
    CHECK_INT(item.kind, WS_EXPECT_QUIET);
    CHECK(word_is(item.name, "transpose<2>"));
    REQUIRE(ws_expect_next(&reader, &item) == 1);
    CHECK_INT(item.kind, WS_EXPECT_TWIN);
    CHECK(word_is(item.rule, "W05") && word_is(item.name, "transpose<1>") && word_is(item.good, "transpose<2>"));
    CHECK_NEAR(item.work, 1, 0);
    REQUIRE(ws_expect_next(&reader, &item) == 1);
    CHECK_NEAR(item.work, 132, 0);
    CHECK_INT(ws_expect_next(&reader, &item), 0);
    CHECK_INT(ws_expect_next(&reader, &item), 0);
}

TEST(a_bad_line_is_refused_with_its_number_and_the_rest_is_read)
{
    static const struct {
        const char *line;
        int err;
    } cases[] = {
        {"launch k gld_sectors == 5", -WS_ESYNTAX},
        {"launch k gld_sectors == 5 U ±1%", -WS_ESYNTAX},
        {"launch k gld_sectors ~ 5 U", -WS_ESYNTAX},
        {"launch k gld_sectors = 5 U", -WS_ESYNTAX},
        {"launch k gld_sectors == five U", -WS_ESYNTAX},
        {"launch k gld_sectors == 5x U", -WS_ESYNTAX},
        {"launch k gld_sectors == 5 X", -WS_ESYNTAX},
        {"launch k gld_sectors == 5 UU", -WS_ESYNTAX},
        {"launch k nothing == 5 U", -WS_ENOENT},
        {"launch k gld_sectors ~ 5 U 1%", -WS_ESYNTAX},
        {"launch k gld_sectors ~ 5 U ±%", -WS_ESYNTAX},
        {"launch k gld_sectors ~ 5 U ±", -WS_ESYNTAX},
        {"launch k gld_sectors ~ 5 U ±-1", -WS_ESYNTAX},
        {"launch k gld_sectors ~ 5 U ±1% more", -WS_ESYNTAX},
        {"launch", -WS_ESYNTAX},
        {"fires W05 at k", -WS_ESYNTAX},
        {"fires W5 on k", -WS_ESYNTAX},
        {"fires W05-bank-conflicts on k", -WS_ESYNTAX},
        {"quiet Wxx on k", -WS_ESYNTAX},
        {"quiet W05 on", -WS_ESYNTAX},
        {"twin W05 from a", -WS_ESYNTAX},
        {"twin W05 of a to b", -WS_ESYNTAX},
        {"twin W05 from a to b work", -WS_ESYNTAX},
        {"twin W05 from a to b does 4", -WS_ESYNTAX},
        {"twin W05 from a to b work 0", -WS_ESYNTAX},
        {"twin W05 from a to b work -1", -WS_ESYNTAX},
        {"twin W05 from a to b work x", -WS_ESYNTAX},
        {"twin W5 from a to b", -WS_ESYNTAX},
        {"id K11", -WS_ESYNTAX},
        {"expect k", -WS_ESYNTAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        struct ws_expect_reader reader;
        struct ws_expect item = {.line = 77};
        int err, length = snprintf(text, sizeof text, "id K10\n%s\nquiet W01 on after\n", cases[i].line);
        ws_expect_open(&reader, text, (size_t)length);
        err = ws_expect_next(&reader, &item);
        if (err != cases[i].err || reader.line != 2 || !reader.problem || item.line != 77)
            WS_FAIL("'%s': got %d on line %u", cases[i].line, err, reader.line);
        CHECK_INT(ws_expect_next(&reader, &item), 1);
        CHECK(word_is(item.name, "after") && reader.problem == NULL);
        CHECK_INT(ws_expect_next(&reader, &item), 0);
    }
}

TEST(the_id_comes_first_and_must_be_there)
{
    struct ws_expect_reader reader;
    struct ws_expect item;
    CHECK_INT(first("quiet W01 on k\nid K01\n", &item, &reader), -WS_ESYNTAX);
    CHECK_INT(first("# nothing\n", &item, &reader), -WS_ESYNTAX);
    CHECK_INT(ws_expect_next(&reader, &item), 0);
    CHECK_INT(first("", &item, &reader), -WS_ESYNTAX);
    CHECK_INT(first("id\n", &item, &reader), -WS_ESYNTAX);
    CHECK_INT(first("id K01 K02\n", &item, &reader), -WS_ESYNTAX);
    CHECK_INT(first("id K01", &item, &reader), 0);
}

/* --- judging -------------------------------------------------------------------------------------- */

struct world {
    struct ws_value value;
    enum ws_expect_fired fired;
    bool is_launched;
};

static bool look_up(void *user, struct ws_word name, enum ws_metric_id key, struct ws_value *out)
{
    const struct world *world = user;
    CHECK(word_is(name, "k") && key == WS_M_gld_sectors);
    if (world->is_launched)
        *out = world->value;
    return world->is_launched;
}

static enum ws_expect_fired look_up_rule(void *user, struct ws_word name, struct ws_word rule)
{
    CHECK(word_is(name, "k") && word_is(rule, "W05"));
    return ((const struct world *)user)->fired;
}

static enum ws_verdict judge(const char *line, struct world world, struct ws_value *got)
{
    char text[128];
    struct ws_expect_reader reader;
    struct ws_expect item;
    struct ws_expect_facts facts = {look_up, look_up_rule, &world};
    snprintf(text, sizeof text, "id K01\n%s", line);
    if (first(text, &item, &reader) != 1) {
        WS_FAIL("'%s': %s", line, reader.problem ? reader.problem : "nothing read");
        return WS_VERDICT_COUNT;
    }
    return ws_expect_judge(&item, &facts, got);
}

TEST(each_operator_accepts_and_refuses)
{
    static const struct {
        const char *expected;
        double got;
        bool holds;
    } cases[] = {
        {"== 32768 U", 32768, true},
        {"== 32768 U", 32769, false},
        {"== 8858370048 U", 8858370048.0, true},
        {"== 8858370048 U", 8858370049.0, false},
        {"== 31.55 U", 20192.0 / 640, true},
        {"== 0 U", 0, true},
        {"== 0 U", 1e-300, false},
        {"== -3 U", -3, true},
        {"<= 5 U", 5, true},
        {"<= 5 U", 5.001, false},
        {">= 5 U", 5, true},
        {">= 5 U", 4.999, false},
        {"< 5 U", 5, false},
        {"< 5 U", 4, true},
        {"> 5 U", 5, false},
        {"> 5 U", 6, true},
        {"~ 1000 U ±0.3%", 1003, true},
        {"~ 1000 U ±0.3%", 1003.1, false},
        {"~ 1000 U ±0.3%", 996.9, false},
        {"~ 1000 U ±4", 996, true},
        {"~ 1000 U ±4", 1004.1, false},
        {"~ -1000 U ±1%", -1009, true},
        {"~ 0 U ±1%", 0.001, false},
        {"~ 5 U ±0", 5, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[96];
        struct world world = {ws_value_of(cases[i].got), WS_RULE_QUIET, true};
        snprintf(line, sizeof line, "launch k gld_sectors %s", cases[i].expected);
        if (judge(line, world, NULL) != (cases[i].holds ? WS_VERDICT_HOLDS : WS_VERDICT_BROKEN))
            WS_FAIL("%.17g judged wrongly by '%s'", cases[i].got, line);
    }
}

TEST(a_value_that_is_missing_proves_nothing)
{
    struct world world = {ws_missing(WS_WHY_NOT_COLLECTED, NULL), WS_RULE_QUIET, true};
    struct ws_value got = ws_value_of(1);
    CHECK_INT(judge("launch k gld_sectors == 0 U", world, &got), WS_VERDICT_UNKNOWN);
    CHECK_INT(got.why, WS_WHY_NOT_COLLECTED);
    world.is_launched = false;
    CHECK_INT(judge("launch k gld_sectors == 0 U", world, &got), WS_VERDICT_NO_LAUNCH);
    CHECK(!ws_has(got));
}

TEST(what_only_a_gpu_tells_is_told_apart)
{
    struct world world = {ws_missing(WS_WHY_NEEDS_GPU, NULL), WS_RULE_NEEDS_GPU, true};
    CHECK_INT(judge("launch k gld_sectors == 0 U", world, NULL), WS_VERDICT_NEEDS_GPU);
    CHECK_INT(judge("fires W05 on k", world, NULL), WS_VERDICT_NEEDS_GPU);
    CHECK_INT(judge("quiet W05 on k", world, NULL), WS_VERDICT_NEEDS_GPU);
}

TEST(a_rule_that_did_not_run_proves_nothing_either)
{
    static const enum ws_verdict want[][4] = {[WS_EXPECT_FIRES] = {[WS_RULE_FIRED] = WS_VERDICT_HOLDS,
                                                                   [WS_RULE_QUIET] = WS_VERDICT_BROKEN,
                                                                   [WS_RULE_NOT_RUN] = WS_VERDICT_UNKNOWN,
                                                                   [WS_RULE_NO_LAUNCH] = WS_VERDICT_NO_LAUNCH},
                                              [WS_EXPECT_QUIET] = {[WS_RULE_FIRED] = WS_VERDICT_BROKEN,
                                                                   [WS_RULE_QUIET] = WS_VERDICT_HOLDS,
                                                                   [WS_RULE_NOT_RUN] = WS_VERDICT_UNKNOWN,
                                                                   [WS_RULE_NO_LAUNCH] = WS_VERDICT_NO_LAUNCH}};
    for (unsigned fired = 0; fired < 4; fired++) {
        struct world world = {.fired = (enum ws_expect_fired)fired};
        CHECK_INT(judge("fires W05 on k", world, NULL), want[WS_EXPECT_FIRES][fired]);
        CHECK_INT(judge("quiet W05 on k", world, NULL), want[WS_EXPECT_QUIET][fired]);
    }
}

TEST(verdicts_and_operators_have_names)
{
    CHECK_STR(ws_verdict_name(WS_VERDICT_NO_LAUNCH), "no launch");
    CHECK_STR(ws_verdict_name(WS_VERDICT_NEEDS_GPU), "needs a GPU");
    CHECK_STR(ws_verdict_name(WS_VERDICT_COUNT), "unknown");
    CHECK_STR(ws_expect_op_name(WS_EXPECT_NEAR), "~");
    CHECK_STR(ws_expect_op_name(WS_EXPECT_LESS_EQUAL), "<=");
}

/* --- names ---------------------------------------------------------------------------------------- */

TEST(a_name_means_the_function_with_its_template_arguments)
{
    static const struct {
        const char *name, *kernel;
        bool is_same;
    } cases[] = {
        {"vec_add", "vec_add(float const*, float const*, float*, int)", true},
        {"vec_add", "vec_add", true},
        {"stride_read<2>", "void stride_read<2>(float const*, float*)", true},
        {"stride_read<2>", "void stride_read<(int)2>(const float *, float *)", true},
        {"stride_read<2>", "void stride_read<2u>(float*)", true},
        {"stride_read<2>", "void stride_read<22>(float*)", false},
        {"stride_read<2>", "void stride_read<2, 2>(float*)", false},
        {"stride_read", "void stride_read<2>(float*)", false},
        {"block_shape<32,8>", "void block_shape<32, 8>(float const*, int)", true},
        {"block_shape<32,8>", "void block_shape<(unsigned int)32, (unsigned int)8>(int)", true},
        {"k<true>", "void k<true>(int)", true},
        {"k", "ns::k(int)", true},
        {"k", "(anonymous namespace)::k(int)", true},
        {"k<1>", "void (anonymous namespace)::k<1>(int)", true},
        {"k", "void a<b::c>::k(int)", true},
        {"c>::k", "void a<b::c>::k(int)", false},
        {"add", "vec_add(int)", false},
        {"vec_add2u<3>", "void vec_add2u<3>(int)", true},
        {"vec_add2<3>", "void vec_add2u<3>(int)", false},
        {"", "k(int)", false},
        {"k", "", false},
        {"k", "k<(", false},
        {"k<float>", "void k<float>(float*)", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_word name = {cases[i].name, strlen(cases[i].name)};
        if (ws_expect_name_is(name, cases[i].kernel) != cases[i].is_same)
            WS_FAIL("'%s' and '%s': not judged %d", cases[i].name, cases[i].kernel, cases[i].is_same);
    }
}

/* --- texts ---------------------------------------------------------------------------------------- */

/* A copy without a byte to spare, so that a sanitizer sees any read beyond the text. */
static unsigned read_exactly(const char *text, size_t length, bool must_be_good, const char *path)
{
    char *copy = malloc(length > 0 ? length : 1);
    struct ws_expect_reader reader;
    struct ws_expect item;
    unsigned count = 0;
    int code;
    memcpy(copy, text, length);
    ws_expect_open(&reader, copy, length);
    while ((code = ws_expect_next(&reader, &item)) != 0) {
        if (code < 0 && must_be_good)
            WS_FAIL("%s:%u: %s", path, reader.line, reader.problem);
        count += code > 0;
    }
    free(copy);
    return count;
}

static char *slurp(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    *length = file ? fread(text, 1, (1 << 20) - 1, file) : 0;
    if (file)
        fclose(file);
    return text;
}

TEST(every_file_of_the_reference_kernels_is_readable)
{
    glob_t found;
    unsigned lines = 0;
    REQUIRE(glob("kernels/*.expect", 0, NULL, &found) == 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        size_t length;
        char *text = slurp(found.gl_pathv[i], &length);
        unsigned count = read_exactly(text, length, true, found.gl_pathv[i]);
        if (count == 0)
            WS_FAIL("%s expects nothing", found.gl_pathv[i]);
        lines += count;
        free(text);
    }
    CHECK(lines > 0);
    globfree(&found);
}

TEST(a_text_cut_at_any_byte_ends_and_is_not_read_past)
{
    static const char text[] = "id K1\nlaunch k gld_sectors ~ 5 U ±1%\nfires W05 on k\nquiet W06 on k\n"
                               "twin W05 from k to m work 2\n";
    for (size_t length = 0; length < sizeof text; length++)
        CHECK(read_exactly(text, length, false, "") <= 4);
    for (size_t at = 0; at < sizeof text - 1; at++)
        for (int byte = 0; byte < 256; byte += 5) {
            char copy[sizeof text];
            memcpy(copy, text, sizeof text);
            copy[at] = (char)byte;
            CHECK(read_exactly(copy, sizeof text - 1, false, "") <= 6);
        }
}
