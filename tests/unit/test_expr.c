/* SPDX-License-Identifier: MIT
 * test_expr.c: the formula language: what it accepts, refuses and gives, over a small catalogue of its own. */
#include "analyzer/err.h"
#include "analyzer/expr.h"
#include "analyzer/number.h"
#include "tests/unit/test.h"

enum { K_A, K_B, K_ZERO, K_BYTES, K_SECTORS, K_REQUESTS, K_TIME, K_UPPER, K_GONE, K_NO_CHIP, K_DERIVED, K_COUNT };

static const struct ws_metric rows[K_COUNT] = {
    [K_A] = {.key = "a", .unit = WS_UNIT_NUMBER},
    [K_B] = {.key = "b", .unit = WS_UNIT_NUMBER},
    [K_ZERO] = {.key = "zero", .unit = WS_UNIT_NUMBER},
    [K_BYTES] = {.key = "bytes", .unit = WS_UNIT_BYTE},
    [K_SECTORS] = {.key = "sectors", .unit = WS_UNIT_SECTOR},
    [K_REQUESTS] = {.key = "requests", .unit = WS_UNIT_REQUEST},
    [K_TIME] = {.key = "time", .unit = WS_UNIT_SECOND},
    [K_UPPER] = {.key = "upper", .unit = WS_UNIT_NUMBER},
    [K_GONE] = {.key = "gone", .unit = WS_UNIT_NUMBER},
    [K_NO_CHIP] = {.key = "no_chip", .unit = WS_UNIT_NUMBER},
    [K_DERIVED] = {.key = "derived", .unit = WS_UNIT_NUMBER, .kind = WS_KIND_EXPR},
};
static const struct ws_catalogue catalogue = {rows, K_COUNT};

static void fill(struct ws_value values[K_COUNT])
{
    values[K_A] = ws_value_of(6);
    values[K_B] = ws_value_of(4);
    values[K_ZERO] = ws_value_of(0);
    values[K_BYTES] = ws_value_of(1024);
    values[K_SECTORS] = ws_value_of(64);
    values[K_REQUESTS] = ws_value_of(16);
    values[K_TIME] = ws_value_of(1e-3);
    values[K_UPPER] = ws_value_of(5);
    values[K_UPPER].grade = WS_GRADE_UPPER_BOUND;
    values[K_GONE] = ws_missing(WS_WHY_NOT_COLLECTED, NULL);
    values[K_NO_CHIP] = ws_missing(WS_WHY_NOT_ON_CHIP, NULL);
    values[K_DERIVED] = ws_missing(WS_WHY_INPUT, "no_chip");
}

static struct ws_value evaluate(const char *text)
{
    struct ws_expr expr;
    struct ws_value values[K_COUNT];
    int err = ws_expr_parse(&expr, text, strlen(text), catalogue);
    fill(values);
    if (err) {
        WS_FAIL("'%s': %s at %u", text, ws_err_text(err), expr.error_at);
        return ws_missing(WS_WHY_FAILED, NULL);
    }
    return ws_expr_evaluate(&expr, values);
}

TEST(arithmetic_follows_precedence_and_reads_from_left_to_right)
{
    static const struct {
        const char *text;
        double want;
    } cases[] = {
        {"1 + 2 * 3", 7},
        {"(1 + 2) * 3", 9},
        {"10 - 3 - 2", 5},
        {"64 / 4 / 2", 8},
        {"-2 * 3", -6},
        {"2 - -3", 5},
        {"--3", 3},
        {"a / b", 1.5},
        {" a\t*\nb ", 24},
        {"1.5e2", 150},
        {".5", 0.5},
        {"1 < 2", 1},
        {"2 <= 1", 0},
        {"a > b", 1},
        {"a >= 7", 0},
        {"a == 6", 1},
        {"a != 6", 0},
        {"min(3, a, b)", 3},
        {"max(3, a, b)", 6},
        {"min(a, b) + max(a, b)", 10},
        {"if(a > b, 1, 2)", 1},
        {"if(zero, 1, 2)", 2},
        {"has(a)", 1},
        {"has(gone)", 0},
        {"first(gone, b)", 4},
        {"first(a, gone)", 6},
        {"first(gone, gone, 9)", 9},
        {"if(1, a, gone)", 6},
        {"zero_if_no_counter(no_chip) + 1", 1},
        {"zero_if_no_counter(derived) + 1", 1},
        {"zero_if_no_counter(a)", 6},
        {"32[B/sector] * sectors", 2048},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_value got = evaluate(cases[i].text);
        if (!ws_has(got) || got.number != cases[i].want)
            WS_FAIL("'%s': got %g, want %g", cases[i].text, got.number, cases[i].want);
    }
}

TEST(what_is_no_formula_is_refused_with_its_place)
{
    static const struct {
        const char *text;
        int err;
        unsigned at;
    } cases[] = {
        {"", -WS_ESYNTAX, 0},           {"   ", -WS_ESYNTAX, 3},
        {"1 +", -WS_ESYNTAX, 3},        {"1 2", -WS_ESYNTAX, 2},
        {"(1", -WS_ESYNTAX, 2},         {"1)", -WS_ESYNTAX, 1},
        {"1 < 2 < 3", -WS_ESYNTAX, 6},  {"a $ b", -WS_ESYNTAX, 2},
        {"min(1)", -WS_ESYNTAX, 5},     {"min()", -WS_ESYNTAX, 4},
        {"if(1, 2)", -WS_ESYNTAX, 7},   {"if(1, 2, 3, 4)", -WS_ESYNTAX, 11},
        {"has(a, b)", -WS_ESYNTAX, 6},  {"nothing", -WS_ENOENT, 0},
        {"a + nothing", -WS_ENOENT, 4}, {"sqrt(4)", -WS_ENOENT, 0},
        {"2[furlong]", -WS_ENOENT, 2},  {"2[B", -WS_ESYNTAX, 1},
        {"1e999", -WS_ESYNTAX, 0},      {"zero_if_no_counter(1)", -WS_ESYNTAX, 0},
        {"a(1)", -WS_ENOENT, 0},        {"a = 6", -WS_ESYNTAX, 2},
        {"=", -WS_ESYNTAX, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_expr expr;
        int err = ws_expr_parse(&expr, cases[i].text, strlen(cases[i].text), catalogue);
        if (err != cases[i].err || expr.error_at != cases[i].at)
            WS_FAIL("'%s': got %d at %u, want %d at %u", cases[i].text, err, expr.error_at, cases[i].err, cases[i].at);
    }
}

TEST(the_length_is_obeyed_not_a_nul)
{
    struct ws_expr expr;
    CHECK_INT(ws_expr_parse(&expr, "a+b/0", 3, catalogue), 0);
    CHECK_INT(expr.count, 3);
    CHECK_INT(ws_expr_parse(&expr, "a\0+b", 4, catalogue), -WS_ESYNTAX);
    CHECK_INT(ws_expr_parse(&expr, "a", 0, catalogue), -WS_ESYNTAX);
}

TEST(nesting_and_size_are_bounded)
{
    static char text[70000];
    struct ws_expr expr;
    memset(text, '(', sizeof text);
    CHECK_INT(ws_expr_parse(&expr, text, 60000, catalogue), -WS_ELIMIT);
    memset(text, '-', sizeof text);
    CHECK_INT(ws_expr_parse(&expr, text, 60000, catalogue), -WS_ELIMIT);
    for (size_t i = 0; i + 4 <= sizeof text; i += 4)
        memcpy(text + i, "has(", 4);
    CHECK_INT(ws_expr_parse(&expr, text, 60000, catalogue), -WS_ELIMIT);
    for (size_t i = 0; i + 2 <= sizeof text; i += 2)
        memcpy(text + i, "1+", 2);
    CHECK_INT(ws_expr_parse(&expr, text, 127, catalogue), 0); /* 64 numbers and 63 sums */
    CHECK_INT(expr.count, 127);
    CHECK_INT(ws_expr_parse(&expr, text, 131, catalogue), -WS_ELIMIT);
    CHECK_INT(ws_expr_parse(&expr, text, 65535, catalogue), -WS_ELIMIT);
}

TEST(a_missing_input_makes_the_result_missing_and_names_it)
{
    static const char *const texts[] = {"gone",
                                        "a + gone",
                                        "gone * b",
                                        "-gone",
                                        "min(a, gone)",
                                        "if(gone, 1, 2)",
                                        "if(0, a, gone)",
                                        "gone < 1",
                                        "first(gone, gone)",
                                        "zero_if_no_counter(gone)"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct ws_value got = evaluate(texts[i]);
        if (got.why != WS_WHY_INPUT || !got.input || strcmp(got.input, "gone") != 0)
            WS_FAIL("'%s': got %s %s", texts[i], ws_why_code((enum ws_why)got.why), got.input ? got.input : "(null)");
    }
}

TEST(a_chain_of_formulas_names_the_key_at_its_root)
{
    struct ws_value got = evaluate("a + derived");
    CHECK_INT(got.why, WS_WHY_INPUT);
    CHECK_STR(got.input, "no_chip");
}

TEST(what_only_a_gpu_tells_stays_so_through_a_chain_of_formulas)
{
    struct ws_expr expr;
    struct ws_value values[K_COUNT], got;
    fill(values);
    values[K_GONE] = ws_missing(WS_WHY_NEEDS_GPU, NULL);
    CHECK_INT(ws_expr_parse(&expr, "a + gone", 8, catalogue), 0);
    got = ws_expr_evaluate(&expr, values);
    CHECK_INT(got.why, WS_WHY_NEEDS_GPU);
    CHECK_STR(got.input, "gone");
    values[K_DERIVED] = got;
    CHECK_INT(ws_expr_parse(&expr, "a * derived", 11, catalogue), 0);
    got = ws_expr_evaluate(&expr, values);
    CHECK_INT(got.why, WS_WHY_NEEDS_GPU);
    CHECK_STR(got.input, "gone");
}

TEST(of_alternatives_without_value_the_one_that_the_chip_could_count_is_named)
{
    CHECK_STR(evaluate("first(no_chip, gone)").input, "gone");
    CHECK_STR(evaluate("first(derived, gone)").input, "gone");
    CHECK_STR(evaluate("first(gone, no_chip)").input, "gone");
}

TEST(a_denominator_of_zero_is_named)
{
    static const struct {
        const char *text, *want;
    } cases[] = {{"a / zero", "zero"},
                 {"zero / zero", "zero"},
                 {"a / (b * zero)", "zero"},
                 {"a / (a - a)", "a"},
                 {"1 / (b + zero * a - 4)", "zero"},
                 {"b / min(zero, a)", "zero"},
                 {"a + b / (2 * zero)", "zero"},
                 {"b / -zero", "zero"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_value got = evaluate(cases[i].text);
        if (got.why != WS_WHY_ZERO || !got.input || strcmp(got.input, cases[i].want) != 0)
            WS_FAIL("'%s': got %s %s", cases[i].text, ws_why_code((enum ws_why)got.why),
                    got.input ? got.input : "(null)");
    }
    CHECK_INT(evaluate("1 / 0").why, WS_WHY_ZERO);
    CHECK(evaluate("1 / 0").input == NULL);
}

TEST(the_node_that_is_blamed_lies_under_the_denominator)
{
    /* unary nodes have one child; the unused slots point at node 0, which is `zero` here and innocent */
    CHECK_STR(evaluate("zero + a / -(b - b)").input, "b");
}

TEST(overflow_is_not_valid_instead_of_infinite)
{
    struct ws_value got = evaluate("1e300 * 1e300");
    CHECK_INT(got.why, WS_WHY_NOT_VALID);
    CHECK_INT(evaluate("1e300 * 1e300 - 1e300 * 1e300").why, WS_WHY_NOT_VALID);
}

TEST(grades_follow_the_arithmetic)
{
    static const struct {
        const char *text;
        enum ws_grade want;
    } cases[] = {
        {"a + b", WS_GRADE_EXACT},
        {"upper + a", WS_GRADE_UPPER_BOUND},
        {"a - upper", WS_GRADE_LOWER_BOUND},
        {"a / upper", WS_GRADE_LOWER_BOUND},
        {"upper / a", WS_GRADE_UPPER_BOUND},
        {"upper / upper", WS_GRADE_ESTIMATE},
        {"-upper", WS_GRADE_LOWER_BOUND},
        {"upper * -1", WS_GRADE_LOWER_BOUND},
        {"upper * a", WS_GRADE_UPPER_BOUND},
        {"min(upper, a)", WS_GRADE_UPPER_BOUND},
        {"upper > a", WS_GRADE_ESTIMATE},
        {"if(upper > 1, a, b)", WS_GRADE_ESTIMATE},
        {"if(a > 1, upper, b)", WS_GRADE_UPPER_BOUND},
        {"if(a > 1, b, upper)", WS_GRADE_EXACT},
        {"first(a, upper)", WS_GRADE_EXACT},
        {"has(upper)", WS_GRADE_EXACT},
        {"(a - upper) / b", WS_GRADE_LOWER_BOUND},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (evaluate(cases[i].text).grade != cases[i].want)
            WS_FAIL("'%s': got %s, want %s", cases[i].text, ws_grade_name((enum ws_grade)evaluate(cases[i].text).grade),
                    ws_grade_name(cases[i].want));
}

TEST(the_origin_of_an_input_is_kept)
{
    struct ws_expr expr;
    struct ws_value values[K_COUNT];
    fill(values);
    values[K_TIME].origin = WS_ORIGIN_PROFILER_TIME;
    REQUIRE(ws_expr_parse(&expr, "bytes / time", 12, catalogue) == 0);
    CHECK_INT(ws_expr_evaluate(&expr, values).origin, WS_ORIGIN_PROFILER_TIME);
}

TEST(inputs_are_listed_once_in_order)
{
    struct ws_expr expr;
    unsigned inputs[4] = {99, 99, 99, 99};
    const char *text = "b / (a + b) - if(has(gone), a, 1)";
    REQUIRE(ws_expr_parse(&expr, text, strlen(text), catalogue) == 0);
    CHECK_INT(ws_expr_inputs(&expr, inputs, 2), 3);
    CHECK(inputs[0] == K_B && inputs[1] == K_A && inputs[2] == 99);
    CHECK_INT(ws_expr_inputs(&expr, inputs, 4), 3);
    CHECK_INT(inputs[2], K_GONE);
}

static int dimension(const char *text, struct ws_dimension *out)
{
    struct ws_expr expr;
    if (ws_expr_parse(&expr, text, strlen(text), catalogue)) {
        WS_FAIL("'%s' does not parse", text);
        return -1;
    }
    return ws_expr_dimension(&expr, out);
}

TEST(dimensions_multiply_and_divide)
{
    static const struct {
        const char *text;
        enum ws_unit want;
    } cases[] = {{"bytes / time", WS_UNIT_BYTE_PER_SECOND},
                 {"sectors / requests", WS_UNIT_SECTOR_PER_REQUEST},
                 {"bytes / (32[B/sector] * sectors)", WS_UNIT_RATIO},
                 {"min(bytes, 2 * bytes) + 0[B]", WS_UNIT_BYTE},
                 {"sectors < 2[sector]", WS_UNIT_RATIO},
                 {"if(sectors, bytes, 1[B])", WS_UNIT_BYTE},
                 {"first(bytes, bytes)", WS_UNIT_BYTE},
                 {"-zero_if_no_counter(time)", WS_UNIT_SECOND},
                 {"has(bytes) * time", WS_UNIT_SECOND}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_dimension got;
        if (dimension(cases[i].text, &got) || !ws_dimension_equal(got, ws_unit_get(cases[i].want)->dimension))
            WS_FAIL("'%s' is not in %s", cases[i].text, ws_unit_get(cases[i].want)->title);
    }
}

TEST(unlike_things_are_not_added_compared_or_chosen_between)
{
    static const char *const texts[] = {"bytes + sectors",      "bytes + 1",          "bytes < time",
                                        "min(bytes, sectors)",  "if(1, bytes, time)", "first(bytes, time)",
                                        "bytes - 32 * sectors", "sectors == requests"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct ws_dimension got;
        if (dimension(texts[i], &got) != -WS_EDIMENSION)
            WS_FAIL("'%s' was accepted", texts[i]);
    }
}

/* Every prefix, and every byte replaced by every token character: nothing may crash, hang or give NaN. */
TEST(broken_text_never_crashes)
{
    static const char whole[] =
        "if(has(a), min(bytes / (32[B/sector] * sectors), 1e-3) - -b, first(gone, zero_if_no_counter(no_chip)))";
    static const char letters[] = "()[],+-*/<=>!.0e a_";
    struct ws_value values[K_COUNT];
    size_t length = sizeof whole - 1;
    unsigned accepted = 0;
    fill(values);
    for (size_t at = 0; at < length; at++) {
        for (const char *letter = letters; *letter; letter++) {
            char text[sizeof whole];
            struct ws_expr expr;
            struct ws_dimension unused;
            memcpy(text, whole, sizeof whole);
            text[at] = *letter;
            if (ws_expr_parse(&expr, text, length, catalogue) == 0) {
                struct ws_value got = ws_expr_evaluate(&expr, values);
                accepted++;
                CHECK(!ws_has(got) || isfinite(got.number));
                (void)ws_expr_dimension(&expr, &unused);
            }
            CHECK(ws_expr_parse(&expr, text, at, catalogue) != 0 || at == 0 || expr.count > 0);
        }
    }
    CHECK(accepted > 0);
}

TEST(numbers_are_read_exactly_whatever_their_form)
{
    static const struct {
        const char *text;
        double want;
        size_t used;
    } cases[] = {{"0", 0, 1},
                 {"16777216", 16777216, 8},
                 {"0.0833", 0.0833, 6},
                 {"1e-3", 1e-3, 4},
                 {"2.5E+4x", 25000, 6},
                 {"1e", 1, 1},
                 {"1e+", 1, 1},
                 {"12.", 12, 3},
                 {".25", 0.25, 3},
                 {"8858370048", 8858370048.0, 10},
                 {"9007199254740993000", 9007199254740993000.0, 19},
                 {"1e-400", 0, 6},
                 {"0.1", 0.1, 3},
                 {"000.500", 0.5, 7},
                 {"4.81e12", 4.81e12, 7}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double got = -1;
        size_t used = ws_number_read(cases[i].text, strlen(cases[i].text), &got);
        if (used != cases[i].used || fabs(got - cases[i].want) > 4e-16 * fabs(cases[i].want))
            WS_FAIL("'%s': got %.17g in %zu bytes", cases[i].text, got, used);
    }
}

TEST(what_is_no_number_leaves_the_result_untouched)
{
    static const char *const texts[] = {"", ".", "e5", "-1", "+1", "x", "1e999", " 1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double got = -1;
        if (ws_number_read(texts[i], strlen(texts[i]), &got) != 0 || got != -1)
            WS_FAIL("'%s' was read as %g", texts[i], got);
    }
}

TEST(a_very_long_number_keeps_its_size)
{
    static char text[400000];
    double got = -1;
    memset(text, '0', sizeof text);
    text[0] = '1';
    CHECK_INT(ws_number_read(text, sizeof text, &got), 0); /* 1e399999 */
    text[0] = '0';
    text[1] = '.';
    text[399999] = '5';
    CHECK_INT(ws_number_read(text, sizeof text, &got), sizeof text);
    CHECK(got == 0.0);
    CHECK_INT(ws_number_read(text, 300, &got), 300);
    CHECK(got == 0.0);
}
