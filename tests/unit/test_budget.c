/* SPDX-License-Identifier: MIT
 * test_budget.c: what profiling costs, whether it fits, replay or rotation; and what limits look like on a command
 * line. */
#include "collector/budget.h"

#include "analyzer/err.h"
#include "test.h"

#include <inttypes.h>

#define MS INT64_C(1000000)
#define S INT64_C(1000000000)
#define GB UINT64_C(1000000000)

static struct ws_risk small(void)
{
    struct ws_risk r = {
        .passes = 7, .launch_ns = 10000, .footprint_bytes = GB / 2, .free_bytes = 100 * GB, .has_memory = true};
    return r;
}

static enum ws_mode decide(const struct ws_risk *risk, enum ws_mode_reason *why)
{
    struct ws_budget b = {.limit_ns = 0};
    return ws_budget_decide(&b, risk, why);
}

TEST(times_as_people_write_them)
{
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {{"10s", 10 * S},   {"500ms", 500 * MS}, {"1.5s", 1500 * MS}, {"2m", 120 * S},
                {"2min", 120 * S}, {"1h", 3600 * S},    {"3", 3 * S},        {"0.001ms", 1000}};
    static const char *const bad[] = {"",      "s",   "-1s", "+1s",   "0s",   "0",     "10 s",   "10sec", "ten",
                                      "1e400", "nan", "inf", "0x10s", "10s!", "9999h", "1e-12s", " 1s"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t ns = -1;
        CHECK_INT(ws_budget_parse_time(good[i].text, &ns), 0);
        CHECK_INT(ns, good[i].ns);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t ns = -1;
        if (ws_budget_parse_time(bad[i], &ns) != -WS_EINVAL)
            WS_FAIL("\"%s\" passes for a time", bad[i]);
        CHECK_INT(ns, -1);
    }
}

TEST(percentages_as_people_write_them)
{
    static const char *const bad[] = {"", "5", "%", "-5%", "0%", "5 %", "5%%", "nan%", "1e9%", "0x5%", "1001%"};
    double part = -1;
    CHECK_INT(ws_budget_parse_percent("5%", &part), 0);
    CHECK_NEAR(part, 0.05, 1e-15);
    CHECK_INT(ws_budget_parse_percent("0.5%", &part), 0);
    CHECK_NEAR(part, 0.005, 1e-15);
    part = -1;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (ws_budget_parse_percent(bad[i], &part) != -WS_EINVAL || part >= 0)
            WS_FAIL("\"%s\" passes for a percentage", bad[i]);
}

/* The 8 GB launch of the measured facts: 2 passes, 233 ms replayed, 4.4 ms plain. */
TEST(the_estimate_of_a_replay_over_8_gb_is_near_what_was_measured)
{
    struct ws_budget b = {.limit_ns = 0};
    struct ws_risk r = {.passes = 2, .launch_ns = 4400000, .footprint_bytes = UINT64_C(8) << 30, .has_memory = true};
    int64_t ns = ws_budget_predict(&b, WS_MODE_REPLAY, &r);
    CHECK(ns > 150 * MS && ns < 350 * MS);
    CHECK(ws_budget_predict(&b, WS_MODE_ROTATE, &r) < 40 * MS);
    CHECK_INT(ws_budget_predict(&b, WS_MODE_NONE, &r), 0);
}

/* An H200: 165 ms for the first rotated launch of a small kernel, 199 for the first replayed one; then 4 to 55. */
TEST(the_first_of_a_context_costs_more_and_teaches_nothing)
{
    struct ws_budget b = {.limit_ns = 0};
    struct ws_risk first = small(), next = small();
    int64_t rotate_ns = ws_budget_predict(&b, WS_MODE_ROTATE, &next);
    int64_t replay_ns = ws_budget_predict(&b, WS_MODE_REPLAY, &next);
    first.is_first = true;
    CHECK(ws_budget_predict(&b, WS_MODE_ROTATE, &first) > rotate_ns + 130 * MS);
    CHECK(ws_budget_predict(&b, WS_MODE_REPLAY, &first) > replay_ns + 130 * MS);
    CHECK_INT(ws_budget_predict(&b, WS_MODE_NONE, &first), 0);
    CHECK(ws_budget_reserve(&b, 0, rotate_ns, &(int64_t){0}));
    ws_budget_settle(&b, WS_MODE_ROTATE, &first, rotate_ns, 165 * MS);
    CHECK_INT(b.spent_ns, 165 * MS);
    CHECK_INT(ws_budget_predict(&b, WS_MODE_ROTATE, &next), rotate_ns);
    ws_budget_settle(&b, WS_MODE_ROTATE, &next, 0, 4 * MS);
    CHECK(ws_budget_predict(&b, WS_MODE_ROTATE, &next) < rotate_ns);
}

TEST(the_first_of_a_context_decides_nothing)
{
    static const uint64_t footprints[] = {0, GB, 2 * GB, 3 * GB, 4 * GB, 8 * GB, 40 * GB};
    for (size_t i = 0; i < sizeof footprints / sizeof footprints[0]; i++) {
        struct ws_risk first = small(), next = small();
        enum ws_mode_reason why, why_first;
        first.footprint_bytes = next.footprint_bytes = footprints[i];
        first.is_first = true;
        CHECK_INT(decide(&first, &why_first), decide(&next, &why));
        CHECK_INT(why_first, why);
    }
}

/* Rotation has left the context such that a replay crashes, or has a part of its passes: it costs a new start first. */
TEST(a_replay_after_rotation_is_taken_and_one_amid_it_is_not)
{
    struct ws_budget b = {.limit_ns = 0};
    struct ws_risk midway = small(), plain = small();
    enum ws_mode_reason why;
    midway.is_midway = true;
    CHECK(ws_budget_predict(&b, WS_MODE_REPLAY, &midway) > ws_budget_predict(&b, WS_MODE_REPLAY, &plain) + 150 * MS);
    CHECK_INT(ws_budget_predict(&b, WS_MODE_ROTATE, &midway), ws_budget_predict(&b, WS_MODE_ROTATE, &plain));
    CHECK_INT(decide(&midway, &why), WS_MODE_REPLAY);
    CHECK_INT(why, WS_REASON_CHEAP);
    midway.is_rotating = true;
    CHECK_INT(decide(&midway, &why), WS_MODE_ROTATE);
    CHECK_INT(why, WS_REASON_MIDWAY);
    midway.is_failed[WS_MODE_ROTATE] = true; /* dear is better than nothing */
    CHECK_INT(decide(&midway, &why), WS_MODE_REPLAY);
    plain.is_rotating = true;
    CHECK_INT(decide(&plain, &why), WS_MODE_REPLAY);
    ws_budget_settle(&b, WS_MODE_REPLAY, &midway, 0, 400 * MS);
    CHECK_INT(ws_budget_predict(&b, WS_MODE_REPLAY, &plain),
              ws_budget_predict(&(struct ws_budget){0}, WS_MODE_REPLAY, &plain));
}

TEST(asking_whether_it_fits_takes_nothing)
{
    struct ws_budget b = {.limit_ns = 10 * MS};
    int64_t when = -1;
    CHECK(ws_budget_fits(&b, 0, 10 * MS, &when));
    CHECK(ws_budget_fits(&b, 0, 10 * MS, &when));
    CHECK_INT(when, -1);
    CHECK(!ws_budget_fits(&b, 0, 10 * MS + 1, &when));
    CHECK_INT(when, INT64_MAX);
    b = (struct ws_budget){.overhead = 0.05};
    CHECK(!ws_budget_fits(&b, 100 * MS, 10 * MS, &when));
    CHECK_INT(when, 200 * MS);
    CHECK(ws_budget_fits(&b, when, 10 * MS, &when));
}

TEST(a_prediction_never_overflows)
{
    struct ws_budget b = {.limit_ns = 0};
    struct ws_risk r = {.passes = UINT32_MAX, .launch_ns = INT64_MAX, .footprint_bytes = UINT64_MAX};
    CHECK(ws_budget_predict(&b, WS_MODE_REPLAY, &r) > 0);
    CHECK(ws_budget_predict(&b, WS_MODE_ROTATE, &r) > 0);
}

TEST(what_is_small_is_replayed)
{
    struct ws_risk r = small();
    enum ws_mode_reason why;
    CHECK_INT(decide(&r, &why), WS_MODE_REPLAY);
    CHECK_INT(why, WS_REASON_CHEAP);
}

TEST(what_must_not_or_need_not_be_replayed_is_rotated)
{
    struct ws_risk cooperative = small(), silent = small(), full = small(), big = small(), slow = small();
    enum ws_mode_reason why;
    cooperative.is_cooperative = true;
    CHECK_INT(decide(&cooperative, &why), WS_MODE_ROTATE);
    CHECK_INT(why, WS_REASON_COOPERATIVE);
    silent.has_memory = false;
    CHECK_INT(decide(&silent, &why), WS_MODE_ROTATE);
    CHECK_INT(why, WS_REASON_UNKNOWN);
    full.free_bytes = full.footprint_bytes;
    CHECK_INT(decide(&full, &why), WS_MODE_ROTATE);
    CHECK_INT(why, WS_REASON_MEMORY);
    big.footprint_bytes = 8 * GB;
    CHECK_INT(decide(&big, &why), WS_MODE_ROTATE);
    CHECK_INT(why, WS_REASON_FOOTPRINT);
    slow.launch_ns = S;
    CHECK_INT(decide(&slow, &why), WS_MODE_ROTATE);
    CHECK_INT(why, WS_REASON_LONG);
}

TEST(what_waits_for_others_is_not_counted_at_all)
{
    struct ws_risk nccl = small(), peers = small();
    enum ws_mode_reason why;
    nccl.is_collective = true;
    CHECK_INT(decide(&nccl, &why), WS_MODE_NONE);
    CHECK_INT(why, WS_REASON_COLLECTIVE);
    peers.has_peers = true;
    CHECK_INT(decide(&peers, &why), WS_MODE_NONE);
    CHECK_INT(why, WS_REASON_PEERS);
}

TEST(a_way_of_counting_that_failed_is_not_used_again)
{
    struct ws_risk r = small();
    enum ws_mode_reason why;
    r.is_failed[WS_MODE_REPLAY] = true;
    CHECK_INT(decide(&r, &why), WS_MODE_ROTATE);
    CHECK_INT(why, WS_REASON_FAILED);
    r.is_failed[WS_MODE_ROTATE] = true;
    CHECK_INT(decide(&r, &why), WS_MODE_NONE);
    r = small();
    r.is_failed[WS_MODE_ROTATE] = true;
    r.footprint_bytes = 8 * GB;
    CHECK_INT(decide(&r, &why), WS_MODE_REPLAY); /* dear, but safe */
    r.is_cooperative = true;
    CHECK_INT(decide(&r, &why), WS_MODE_NONE);
}

TEST(without_a_limit_everything_fits)
{
    struct ws_budget b = {.limit_ns = 0};
    int64_t when = -1;
    CHECK(!ws_budget_is_limited(&b));
    CHECK(ws_budget_reserve(&b, 0, INT64_MAX / 4, &when));
}

TEST(what_is_reserved_is_not_given_twice)
{
    struct ws_budget b = {.limit_ns = 100};
    struct ws_risk r = small();
    int64_t when = -1;
    CHECK(ws_budget_reserve(&b, 0, 60, &when));
    CHECK(!ws_budget_reserve(&b, 0, 60, &when)); /* another thread, meanwhile */
    CHECK(when < INT64_MAX);                     /* the first may take less */
    ws_budget_settle(&b, WS_MODE_ROTATE, &r, 60, 30);
    CHECK(ws_budget_reserve(&b, 0, 60, &when));
    ws_budget_release(&b, 60);
    ws_budget_spend(&b, 60);
    CHECK(!ws_budget_reserve(&b, 0, 20, &when));
    CHECK_INT(when, INT64_MAX);
}

TEST(an_overhead_lets_in_more_as_the_run_goes_on_and_says_when)
{
    struct ws_budget b = {.overhead = 0.05, .started_ns = 1000 * S};
    int64_t when = 0;
    ws_budget_spend(&b, 100 * MS); /* setting up */
    CHECK(!ws_budget_reserve(&b, 1001 * S, 50 * MS, &when));
    /* 0.15 s is 5 % of 3 s, and 0.1 s of ours come on top */
    CHECK_INT(when, 1000 * S + 3100 * MS);
    CHECK(!ws_budget_reserve(&b, when - MS, 50 * MS, &when));
    CHECK(ws_budget_reserve(&b, when, 50 * MS, &when));
}

TEST(memory_that_is_not_saved_after_all_is_learnt)
{
    struct ws_budget b = {.limit_ns = 0};
    struct ws_risk r = small();
    enum ws_mode_reason why;
    r.footprint_bytes = 8 * GB;
    CHECK(ws_budget_predict(&b, WS_MODE_REPLAY, &r) > 600 * MS);
    for (int i = 0; i < 30; i++)
        ws_budget_settle(&b, WS_MODE_REPLAY, &r, 0, 60 * MS);
    CHECK(ws_budget_predict(&b, WS_MODE_REPLAY, &r) < 90 * MS);
    CHECK_INT(ws_budget_decide(&b, &r, &why), WS_MODE_REPLAY);
    r.footprint_bytes = 0; /* and the fixed part is what it was */
    CHECK_NEAR((double)ws_budget_predict(&b, WS_MODE_REPLAY, &r), 55e6, 1e6);
}

TEST(a_slow_machine_does_not_turn_replay_into_rotation)
{
    struct ws_budget b = {.limit_ns = 0};
    struct ws_risk r = small();
    enum ws_mode_reason why;
    for (int i = 0; i < 20; i++)
        ws_budget_settle(&b, WS_MODE_REPLAY, &r, 0, 500 * MS);
    CHECK_INT(ws_budget_decide(&b, &r, &why), WS_MODE_REPLAY);
}

TEST(predictions_follow_what_was_measured)
{
    struct ws_budget b = {.limit_ns = 0};
    struct ws_risk r = small();
    for (int i = 0; i < 40; i++)
        ws_budget_settle(&b, WS_MODE_ROTATE, &r, 0, 3 * MS);
    CHECK_NEAR((double)ws_budget_predict(&b, WS_MODE_ROTATE, &r), 3e6, 1e5);
    ws_budget_settle(&b, WS_MODE_ROTATE, &r, 0, 1000 * S); /* one odd launch */
    CHECK(ws_budget_predict(&b, WS_MODE_ROTATE, &r) < S);
    b.scale[WS_MODE_REPLAY] = 1;
    CHECK(ws_budget_predict(&b, WS_MODE_REPLAY, &r) > 20 * MS); /* the other way has its own measure */
}

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* Whatever is launched, and however wrong the predictions are: what was spent exceeds what was allowed at that moment
 * by no more than one launch went over its prediction. */
TEST(spent_is_never_above_the_budget_but_for_one_misprediction)
{
    uint64_t seed = 20261201;
    for (int round = 0; round < 3000; round++) {
        struct ws_budget b = {.limit_ns = next(&seed) % 2 ? (int64_t)(next(&seed) % 2000) * MS + 1 : 0,
                              .overhead = next(&seed) % 2 ? (double)(next(&seed) % 300 + 1) / 1000 : 0};
        int64_t now = 0;
        int64_t worst = 0;
        for (int i = 0; i < 60; i++) {
            struct ws_risk r = small();
            enum ws_mode mode = next(&seed) % 2 ? WS_MODE_REPLAY : WS_MODE_ROTATE;
            int64_t when = -1;
            int64_t predicted, took, over;
            r.passes = (uint32_t)(next(&seed) % 64) + 1;
            r.launch_ns = (int64_t)(next(&seed) % 50) * MS;
            r.footprint_bytes = next(&seed) % (4 * GB);
            now += (int64_t)(next(&seed) % 1000) * MS;
            predicted = ws_budget_predict(&b, mode, &r);
            if (!ws_budget_reserve(&b, now, predicted, &when)) {
                CHECK(when >= 0);
                continue;
            }
            took = (int64_t)((double)predicted * (double)(next(&seed) % 300) / 100);
            now += took;
            ws_budget_settle(&b, mode, &r, predicted, took);
            over = took > predicted ? took - predicted : 0;
            worst = over > worst ? over : worst;
            if (b.limit_ns > 0 && b.spent_ns > b.limit_ns + worst)
                WS_FAIL("spent %" PRId64 " of %" PRId64 ", worst %" PRId64, b.spent_ns, b.limit_ns, worst);
            if (b.overhead > 0 && (double)b.spent_ns > b.overhead * (double)(now - b.spent_ns) + (double)worst + 1)
                WS_FAIL("spent %" PRId64 " in %" PRId64 ", worst %" PRId64, b.spent_ns, now, worst);
            CHECK_INT(b.reserved_ns, 0);
        }
    }
}

TEST(every_reason_has_a_word_and_a_sentence)
{
    for (uint32_t i = 0; i < WS_REASON_COUNT; i++)
        CHECK(strcmp(ws_reason_code(i), "unknown") != 0 && strlen(ws_reason_text(i)) > 10);
    CHECK_STR(ws_reason_code(WS_REASON_COUNT), "unknown");
    CHECK_STR(ws_reason_text(UINT32_MAX), "unknown");
}
