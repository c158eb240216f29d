/* SPDX-License-Identifier: MIT
 * test_value.c: a value is a number or a reason, never NaN; reasons, grades, origins and error codes have texts. */
#include "analyzer/err.h"
#include "analyzer/value.h"
#include "tests/unit/test.h"

TEST(nan_and_infinity_become_a_reason)
{
    CHECK_INT(ws_value_of(NAN).why, WS_WHY_NOT_VALID);
    CHECK_INT(ws_value_of(INFINITY).why, WS_WHY_NOT_VALID);
    CHECK_INT(ws_value_of(-INFINITY).why, WS_WHY_NOT_VALID);
    CHECK(ws_value_of(NAN).number == 0.0);
}

TEST(a_measured_zero_is_present)
{
    CHECK(ws_has(ws_value_of(0)));
    CHECK(ws_has(ws_value_of(-0.0)));
    CHECK(!ws_has(ws_missing(WS_WHY_NOT_COLLECTED, NULL)));
}

TEST(reason_codes_read_back_and_are_unique)
{
    for (unsigned i = 1; i < WS_WHY_COUNT; i++) {
        const char *code = ws_why_code((enum ws_why)i);
        CHECK_INT(ws_why_find(code), i);
        CHECK(*code && *ws_why_text((enum ws_why)i));
        CHECK(strspn(code, "abcdefghijklmnopqrstuvwxyz-") == strlen(code)); /* stored and shown to programs */
    }
    CHECK_INT(ws_why_find(""), WS_WHY_COUNT);
    CHECK_INT(ws_why_find("no such reason"), WS_WHY_COUNT);
}

TEST(reasons_that_name_an_input_have_a_place_for_it)
{
    for (unsigned i = 0; i < WS_WHY_COUNT; i++) {
        bool has_place = strstr(ws_why_text((enum ws_why)i), "%s") != NULL;
        CHECK_INT(has_place, i == WS_WHY_INPUT || i == WS_WHY_ZERO);
    }
}

/* Numbers on the wire and in captures: they may never move. */
TEST(stored_numbers_of_reasons_are_fixed)
{
    CHECK_INT(WS_WHY_NOT_COLLECTED, 1);
    CHECK_INT(WS_WHY_NOT_ON_CHIP, 2);
    CHECK_INT(WS_WHY_NO_RIGHTS, 3);
    CHECK_INT(WS_WHY_NOT_VALID, 4);
    CHECK_INT(WS_WHY_INPUT, 5);
    CHECK_INT(WS_WHY_ZERO, 6);
    CHECK_INT(WS_WHY_NEEDS_GPU, 7);
    CHECK_INT(WS_WHY_NOT_MEASURED, 13);
}

TEST(out_of_range_has_a_text_instead_of_a_crash)
{
    CHECK_STR(ws_why_code((enum ws_why)200), "unknown");
    CHECK_STR(ws_why_text((enum ws_why)200), "unknown reason");
    CHECK_STR(ws_grade_name((enum ws_grade)200), "unknown");
    CHECK_STR(ws_origin_name((enum ws_origin)200), "unknown");
    CHECK_STR(ws_grade_name(WS_GRADE_UPPER_BOUND), "upper bound");
    CHECK_STR(ws_origin_name(WS_ORIGIN_PROFILER_TIME), "profiler time");
}

TEST(error_codes_have_texts_in_both_signs)
{
    CHECK_STR(ws_err_text(0), "no error");
    CHECK_STR(ws_err_text(WS_EDIMENSION), "units do not agree");
    CHECK_STR(ws_err_text(-WS_EDIMENSION), "units do not agree");
    CHECK_STR(ws_err_text(-9999), "unknown error");
#define CHECK_TEXT(sym, val, text) CHECK(strcmp(ws_err_text(-(sym)), "unknown error") != 0);
    WS_ERR_LIST(CHECK_TEXT)
#undef CHECK_TEXT
}
