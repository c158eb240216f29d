/* SPDX-License-Identifier: MIT
 * test_spread.c: is a difference of launch times more than noise (analyzer/spread.h): by hand and by chance. */
#include "../../analyzer/spread.h"
#include "test.h"

static struct ws_spread spread(const double *seconds, size_t count)
{
    double copy[1024];
    memcpy(copy, seconds, count * sizeof *copy);
    return ws_spread_of(copy, count);
}

TEST(median_and_deviation_are_those_of_the_definition)
{
    const double odd[] = {5e-6, 1e-6, 9e-6, 2e-6, 4e-6};
    const double even[] = {4e-6, 1e-6, 3e-6, 2e-6};
    struct ws_spread s = spread(odd, 5);
    CHECK_NEAR(s.median, 4e-6, 1e-18);
    CHECK_NEAR(s.deviation, 2e-6, 1e-18); /* 1 3 5 2 0 */
    CHECK_NEAR(s.min, 1e-6, 1e-18);
    CHECK_NEAR(s.max, 9e-6, 1e-18);
    s = spread(even, 4);
    CHECK_NEAR(s.median, 2.5e-6, 1e-18);
    CHECK_NEAR(s.deviation, 1e-6, 1e-18);
    CHECK_INT(spread(odd, 0).count, 0);
}

TEST(one_launch_on_a_side_says_nothing_of_noise)
{
    const double one[] = {1e-3};
    const double many[] = {2e-3, 2e-3, 2e-3, 2e-3, 2e-3, 2e-3};
    struct ws_spread a = spread(one, 1);
    struct ws_spread b = spread(many, 6);
    struct ws_difference d = ws_spread_compare(&a, &b);
    CHECK(!ws_has(d.noise));
    CHECK_NEAR(d.percent.number, 1, 1e-12);
    CHECK_INT(d.trend, WS_TREND_UNKNOWN);
    d = ws_spread_compare(&a, &(struct ws_spread){0});
    CHECK(!ws_has(d.delta) && !ws_has(d.percent));
}

TEST(few_launches_take_half_of_both_ranges)
{
    const double a[] = {1.00e-3, 1.02e-3};
    const double b[] = {1.04e-3, 1.06e-3, 1.10e-3};
    struct ws_spread x = spread(a, 2);
    struct ws_spread y = spread(b, 3);
    struct ws_difference d = ws_spread_compare(&x, &y);
    CHECK_NEAR(d.delta.number, 0.05e-3, 1e-15);
    CHECK_NEAR(d.noise.number * x.median, 0.01e-3 + 0.03e-3, 1e-15);
    CHECK_INT(d.trend, WS_TREND_SLOWER);
    CHECK_INT(ws_spread_compare(&y, &x).trend, WS_TREND_FASTER);
}

TEST(a_slow_first_launch_changes_nothing)
{
    double a[20], b[20];
    struct ws_spread x, y;
    for (size_t i = 0; i < 20; i++)
        a[i] = b[i] = 1e-5 + (double)(i % 3) * 32e-9;
    b[0] = 1e-3;
    x = ws_spread_of(a, 20);
    y = ws_spread_of(b, 20);
    CHECK_INT(ws_spread_compare(&x, &y).trend, WS_TREND_WITHIN_NOISE);
}

TEST(equal_times_still_have_the_noise_of_the_clock)
{
    double a[8], b[8];
    struct ws_spread x, y;
    for (size_t i = 0; i < 8; i++) {
        a[i] = 2e-6;
        b[i] = 2e-6 + 32e-9; /* one step */
    }
    x = ws_spread_of(a, 8);
    y = ws_spread_of(b, 8);
    CHECK_NEAR(ws_spread_compare(&x, &y).noise.number, 32e-9 / 2e-6, 1e-12);
    CHECK_INT(ws_spread_compare(&x, &y).trend, WS_TREND_WITHIN_NOISE);
    for (size_t i = 0; i < 8; i++)
        b[i] = 2e-6 + 96e-9;
    y = ws_spread_of(b, 8);
    CHECK_INT(ws_spread_compare(&x, &y).trend, WS_TREND_SLOWER);
}

/* Sum of twelve uniform numbers less six: near enough to normal. */
static double normal(uint64_t *seed)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
        sum += (double)(*seed >> 11) / 9007199254740992.0;
    }
    return sum;
}

/* How many of 2,000 comparisons call a shift of this many standard deviations a change. */
static int called_changes(double shift, size_t count)
{
    uint64_t seed = 7;
    int changes = 0;
    for (int round = 0; round < 2000; round++) {
        double a[64], b[64];
        struct ws_spread x, y;
        for (size_t i = 0; i < count; i++) {
            a[i] = 1e-3 + 1e-5 * normal(&seed);
            b[i] = 1e-3 + 1e-5 * (normal(&seed) + shift);
        }
        x = ws_spread_of(a, count);
        y = ws_spread_of(b, count);
        changes += ws_spread_compare(&x, &y).trend != WS_TREND_WITHIN_NOISE;
    }
    return changes;
}

TEST(noise_is_seldom_called_a_change_and_a_change_seldom_noise)
{
    CHECK(called_changes(0, 50) < 50); /* 1 % of 2,000 is 20 */
    CHECK(called_changes(0, 10) < 60);
    CHECK(called_changes(0, 5) < 60);
    CHECK(called_changes(1.5, 50) > 1980);
    CHECK(called_changes(3, 10) > 1700);
}

TEST(launches_vary_by_more_than_a_tenth_of_the_greater)
{
    CHECK(!ws_spread_varies(5, 5) && !ws_spread_varies(0, 0));
    CHECK(!ws_spread_varies(90, 100) && ws_spread_varies(89, 100));
    CHECK(ws_spread_varies(0, 1e-12) && ws_spread_varies(-1, 1));
    CHECK(!ws_spread_varies(-100, -90) && ws_spread_varies(-100, -89));
}
