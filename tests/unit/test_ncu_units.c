/* SPDX-License-Identifier: MIT
 * test_ncu_units.c: numbers and units as Nsight Compute prints them become ours without rounding. */
#include "../../server/ncu_units.h"
#include "test.h"

#include <string.h>

TEST(units_become_base_units_and_a_power_of_ten)
{
    static const struct {
        const char *text, *base;
        int exponent;
    } cases[] = {
        {"", "", 0},
        {"%", "%", 0},
        {"ns", "s", -9},
        {"usecond", "s", -6},
        {"ms", "s", -3},
        {"second", "s", 0},
        {"byte", "byte", 0},
        {"Kbyte", "byte", 3},
        {"Gbyte/second", "byte/s", 9},
        {"Tbyte/s", "byte/s", 12},
        {"byte/block", "byte/block", 0},
        {"Kbyte/block", "byte/block", 3},
        {"cycle/nsecond", "cycle/s", 9},
        {"cycle/usecond", "cycle/s", 6},
        {"Ghz", "hz", 9},
        {"hz", "hz", 0},
        {"inst/cycle", "inst/cycle", 0},
        {"Minst", "inst", 6},
        {"register/thread", "register/thread", 0},
        {"m", "m", 0},
        {"branches", "branches", 0},
        {"no/such/unit", "no/such/unit", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ws_ncu_unit unit;
        ws_ncu_unit_read(cases[i].text, &unit);
        if (strcmp(unit.base, cases[i].base) != 0 || unit.exponent != cases[i].exponent)
            WS_FAIL("%s: %s 10^%d", cases[i].text, unit.base, unit.exponent);
    }
}

TEST(a_unit_longer_than_any_is_cut_and_fits_nothing_of_ours)
{
    char text[4096];
    struct ws_ncu_unit unit;
    int exponent;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    text[40] = '/';
    ws_ncu_unit_read(text, &unit);
    CHECK(strlen(unit.base) < sizeof unit.base);
    CHECK(!ws_ncu_unit_fits(&unit, WS_UNIT_SECOND, &exponent));
}

TEST(a_unit_of_another_kind_does_not_fit)
{
    static const struct {
        const char *text;
        enum ws_unit ours;
        bool fits;
        int exponent;
    } cases[] = {
        {"us", WS_UNIT_SECOND, true, -6},
        {"byte", WS_UNIT_SECOND, false, 0},
        {"%", WS_UNIT_RATIO, true, -2},
        {"", WS_UNIT_RATIO, true, 0},
        {"byte/s", WS_UNIT_RATIO, false, 0},
        {"%", WS_UNIT_BYTE_PER_SECOND, false, 0},
        {"Gbyte/s", WS_UNIT_BYTE_PER_SECOND, true, 9},
        {"cycle/nsecond", WS_UNIT_HERTZ, true, 9},
        {"", WS_UNIT_SECTOR, true, 0},
        {"sector", WS_UNIT_SECTOR, true, 0},
        {"%", WS_UNIT_SECTOR, false, 0},
        {"", WS_UNIT_SECOND, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ws_ncu_unit unit;
        int exponent = 99;
        bool fits;
        ws_ncu_unit_read(cases[i].text, &unit);
        fits = ws_ncu_unit_fits(&unit, cases[i].ours, &exponent);
        if (fits != cases[i].fits || (fits && exponent != cases[i].exponent))
            WS_FAIL("%s for unit %d: %d 10^%d", cases[i].text, (int)cases[i].ours, fits, exponent);
    }
}

TEST(numbers_move_their_point_and_are_rounded_once)
{
    static const struct {
        const char *text;
        int exponent;
        double number;
    } cases[] = {
        {"0", 0, 0},
        {"62.53", -6, 62.53e-6},
        {"1,024", 0, 1024},
        {"3,197,628,795.63", 0, 3197628795.63},
        {"93.61", -2, .9361},
        {"1.2345", 12, 1.2345e12},
        {"-7.5", 0, -7.5},
        {"1.5e3", 0, 1500},
        {"1.5e+3", -6, 1.5e-3},
        {"16,777,216", 0, 16777216},
        {"0.1", 9, 1e8},
        {"12 (3; 4)", 0, 12},
        {" 8", 0, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double got = -1;
        if (!ws_ncu_number_read(cases[i].text, cases[i].exponent, &got) || got != cases[i].number)
            WS_FAIL("%s 10^%d: %.17g", cases[i].text, cases[i].exponent, got);
    }
}

TEST(what_is_no_number_is_refused)
{
    static const char *const cases[] = {
        "",      "-",  "n/a",  "nan",  "inf",  "CachePreferNone", "1,23", "1234,567", "1,2345", ",123", "1,",
        "1.2.3", "1e", "1e5x", "0x10", "12kB", "1.234.567,8",     "--1",  "1,024,",   "(1)"};
    char digits[300];
    double got = 42;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (ws_ncu_number_read(cases[i], 0, &got) || got != 42)
            WS_FAIL("%s is read as %g", cases[i], got);
    memset(digits, '9', sizeof digits - 1);
    digits[sizeof digits - 1] = 0;
    CHECK(!ws_ncu_number_read(digits, 0, &got));
}
