/* SPDX-License-Identifier: MIT
 * test_units.c: the table of units, dimension arithmetic, and numbers as people read them. */
#include "analyzer/units.h"
#include "tests/unit/test.h"

#include <locale.h>

static const char *show(double number, enum ws_unit unit)
{
    static char text[64];
    size_t used = ws_unit_format(text, sizeof text, ws_value_of(number), unit);
    CHECK_INT(used, strlen(text));
    return text;
}

TEST(numbers_read_as_people_write_them)
{
    static const struct {
        double number;
        enum ws_unit unit;
        const char *want;
    } cases[] = {
        {3.16e12, WS_UNIT_BYTE_PER_SECOND, "3.16 TB/s"},
        {4.81e12, WS_UNIT_BYTE_PER_SECOND, "4.81 TB/s"},
        {900e9, WS_UNIT_BYTE_PER_SECOND, "900 GB/s"},
        {134217728, WS_UNIT_BYTE, "134 MB"},
        {4096, WS_UNIT_BYTE, "4,096 B"},
        {0, WS_UNIT_BYTE, "0 B"},
        {5.94e13, WS_UNIT_FLOP_PER_SECOND, "59.4 TFLOP/s"},
        {0.875, WS_UNIT_RATIO, "87.5 %"},
        {1, WS_UNIT_RATIO, "100 %"},
        {0, WS_UNIT_RATIO, "0.00 %"},
        {0.0042, WS_UNIT_RATIO, "0.42 %"},
        {65536, WS_UNIT_REQUEST, "65,536 requests"},
        {99999, WS_UNIT_SECTOR, "99,999 sectors"},
        {100000, WS_UNIT_SECTOR, "100 k sectors"},
        {4194304, WS_UNIT_SECTOR, "4.19 M sectors"},
        {8858370048.0, WS_UNIT_THREAD_INST, "8.86 G thread-inst"},
        {4, WS_UNIT_SECTOR_PER_REQUEST, "4.00 sectors/request"},
        {25.6, WS_UNIT_BYTE_PER_SECTOR, "25.6 B/sector"},
        {1.0 / 12, WS_UNIT_FLOP_PER_BYTE, "0.08 FLOP/B"},
        {1.53e-3, WS_UNIT_SECOND, "1.53 ms"},
        {53.15e-6, WS_UNIT_SECOND, "53.1 µs"},
        {969e-9, WS_UNIT_SECOND, "969 ns"},
        {1, WS_UNIT_SECOND, "1.00 s"},
        {12345, WS_UNIT_SECOND, "12345 s"},
        {0, WS_UNIT_SECOND, "0.00 s"},
        {1.83e9, WS_UNIT_HERTZ, "1.83 GHz"},
        {16.1, WS_UNIT_THREAD, "16.1 threads"},
        {7, WS_UNIT_NUMBER, "7"},
        {1500000, WS_UNIT_NUMBER, "1.50 M"},
        {-12345, WS_UNIT_NUMBER, "-12,345"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_STR(show(cases[i].number, cases[i].unit), cases[i].want);
}

TEST(rounding_never_shows_a_thousand_of_a_smaller_prefix)
{
    CHECK_STR(show(999.6e9, WS_UNIT_BYTE_PER_SECOND), "1.00 TB/s");
    CHECK_STR(show(999.4e9, WS_UNIT_BYTE_PER_SECOND), "999 GB/s");
    CHECK_STR(show(0.9996e-3, WS_UNIT_SECOND), "1.00 ms");
    CHECK_STR(show(9.996e12, WS_UNIT_BYTE_PER_SECOND), "10.0 TB/s");
    CHECK_STR(show(99.96e12, WS_UNIT_BYTE_PER_SECOND), "100 TB/s");
}

TEST(nonsense_stays_short)
{
    CHECK_STR(show(1e300, WS_UNIT_FLOP_PER_BYTE), "1.00e+300 FLOP/B");
    CHECK(strlen(show(1e300, WS_UNIT_BYTE)) < 24);
    CHECK(strlen(show(-1e300, WS_UNIT_SECOND)) < 24);
    CHECK(strlen(show(1e-300, WS_UNIT_SECOND)) < 24);
}

TEST(a_missing_value_says_why)
{
    char text[96];
    ws_unit_format(text, sizeof text, ws_missing(WS_WHY_INPUT, "dram_read_bytes"), WS_UNIT_BYTE);
    CHECK_STR(text, "needs dram_read_bytes, which has no value");
    ws_unit_format(text, sizeof text, ws_missing(WS_WHY_ZERO, "duration"), WS_UNIT_BYTE);
    CHECK_STR(text, "undefined: duration is 0");
    ws_unit_format(text, sizeof text, ws_missing(WS_WHY_NOT_COLLECTED, NULL), WS_UNIT_BYTE);
    CHECK_STR(text, "not collected in this session");
    ws_unit_format(text, sizeof text, ws_missing(WS_WHY_ZERO, NULL), WS_UNIT_BYTE);
    CHECK_STR(text, "undefined: an input is 0");
    ws_unit_format(text, sizeof text, ws_value_of(NAN), WS_UNIT_BYTE);
    CHECK_STR(text, "the counter was read but not valid (NaN)");
}

TEST(a_text_that_does_not_fit_is_cut_and_ended)
{
    char text[8] = "xxxxxxx";
    CHECK_INT(ws_unit_format(text, 5, ws_value_of(65536), WS_UNIT_REQUEST), 4);
    CHECK_STR(text, "65,5");
    CHECK(text[5] == 'x');
    CHECK_INT(ws_unit_format(text, 1, ws_value_of(1), WS_UNIT_BYTE), 0);
    CHECK_STR(text, "");
    text[0] = 'x';
    CHECK_INT(ws_unit_format(text, 0, ws_value_of(1), WS_UNIT_BYTE), 0);
    CHECK(text[0] == 'x');
}

TEST(a_cut_never_leaves_half_a_character)
{
    char text[16];
    CHECK_INT(ws_unit_format(text, 7, ws_value_of(53.15e-6), WS_UNIT_SECOND),
              5); /* "53.1 " and then µ needs two bytes */
    CHECK_STR(text, "53.1 ");
}

TEST(the_decimal_point_does_not_follow_the_locale)
{
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8"))
        SKIP("no locale with a decimal comma on this machine");
    CHECK_STR(show(0.875, WS_UNIT_RATIO), "87.5 %");
}

TEST(every_unit_is_found_by_its_symbol_and_symbols_are_unique)
{
    for (unsigned i = 0; i < WS_UNIT_COUNT; i++) {
        const struct ws_unit_info *unit = ws_unit_get((enum ws_unit)i);
        CHECK_INT(ws_unit_find(unit->symbol, strlen(unit->symbol)), i);
        CHECK(*unit->name && *unit->title && (unsigned)unit->scale < WS_SCALE_COUNT);
        CHECK(strpbrk(unit->symbol, " \"\\[]") == NULL);
    }
    CHECK_INT(ws_unit_find("furlong", 7), WS_UNIT_COUNT);
    CHECK_INT(ws_unit_find("B/s", 1), WS_UNIT_BYTE);
}

TEST(a_unit_of_two_others_has_their_dimension)
{
    static const struct {
        enum ws_unit unit, above, below;
    } cases[] = {{WS_UNIT_BYTE_PER_SECOND, WS_UNIT_BYTE, WS_UNIT_SECOND},
                 {WS_UNIT_FLOP_PER_SECOND, WS_UNIT_FLOP, WS_UNIT_SECOND},
                 {WS_UNIT_FLOP_PER_BYTE, WS_UNIT_FLOP, WS_UNIT_BYTE},
                 {WS_UNIT_SECTOR_PER_REQUEST, WS_UNIT_SECTOR, WS_UNIT_REQUEST},
                 {WS_UNIT_BYTE_PER_SECTOR, WS_UNIT_BYTE, WS_UNIT_SECTOR},
                 {WS_UNIT_BYTE_PER_REQUEST, WS_UNIT_BYTE, WS_UNIT_REQUEST},
                 {WS_UNIT_WAVEFRONT_PER_REQUEST, WS_UNIT_WAVEFRONT, WS_UNIT_REQUEST},
                 {WS_UNIT_FLOP_PER_THREAD_INST, WS_UNIT_FLOP, WS_UNIT_THREAD_INST},
                 {WS_UNIT_INST_PER_CYCLE, WS_UNIT_INST, WS_UNIT_CYCLE},
                 {WS_UNIT_HERTZ, WS_UNIT_CYCLE, WS_UNIT_SECOND},
                 {WS_UNIT_THREAD, WS_UNIT_THREAD_INST, WS_UNIT_INST},
                 {WS_UNIT_WARP, WS_UNIT_WARP_CYCLE, WS_UNIT_CYCLE},
                 {WS_UNIT_RATIO, WS_UNIT_NUMBER, WS_UNIT_NUMBER},
                 {WS_UNIT_RATIO, WS_UNIT_FLOP, WS_UNIT_OP}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_dimension got =
            ws_dimension_combine(ws_unit_get(cases[i].above)->dimension, ws_unit_get(cases[i].below)->dimension, -1);
        if (!ws_dimension_equal(got, ws_unit_get(cases[i].unit)->dimension))
            WS_FAIL("%s has a wrong dimension", ws_unit_get(cases[i].unit)->name);
    }
}

TEST(what_is_counted_is_no_pure_number)
{
    CHECK(!ws_dimension_equal(ws_unit_get(WS_UNIT_SECTOR)->dimension, ws_unit_get(WS_UNIT_NUMBER)->dimension));
    CHECK(!ws_dimension_equal(ws_unit_get(WS_UNIT_SECTOR)->dimension, ws_unit_get(WS_UNIT_BYTE)->dimension));
    CHECK(!ws_dimension_equal(ws_unit_get(WS_UNIT_REQUEST)->dimension, ws_unit_get(WS_UNIT_WAVEFRONT)->dimension));
}

TEST(exponents_saturate)
{
    struct ws_dimension d = ws_unit_get(WS_UNIT_SECOND)->dimension;
    for (int i = 0; i < 300; i++)
        d = ws_dimension_combine(d, ws_unit_get(WS_UNIT_SECOND)->dimension, 1);
    CHECK_INT(d.power[WS_BASE_SECOND], 100);
}

TEST(an_unknown_unit_is_a_pure_number)
{
    CHECK_STR(ws_unit_get((enum ws_unit)999)->name, "NUMBER");
    CHECK_STR(ws_scale_name((enum ws_unit_scale)999), "plain");
    CHECK_STR(ws_scale_name(WS_SCALE_PERCENT), "percent");
}
