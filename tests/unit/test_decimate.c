/* SPDX-License-Identifier: MIT
 * test_decimate.c: no event is lost or invented however a timeline is merged, in whatever order it comes. */
#include "../../analyzer/err.h"
#include "../../server/decimate.h"
#include "test.h"

static uint64_t random_state = 88172645463325252u;

static uint64_t random_u64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static struct ws_activity_row event(int64_t start, int64_t end, uint32_t stream, uint64_t kernel)
{
    struct ws_activity_row row = {.start_ns = start, .end_ns = end, .stream = stream, .kernel_id = kernel};
    return row;
}

static int put(struct ws_decimate *d, int64_t start, int64_t end, uint32_t stream, uint64_t kernel)
{
    struct ws_activity_row row = event(start, end, stream, kernel);
    return ws_decimate_add(d, 1, WS_ACTIVITY_KERNEL, &row);
}

TEST(events_wider_than_a_cell_stay_as_they_are)
{
    struct ws_decimate *d = ws_decimate_new(0, 100, false);
    const struct ws_run *runs;
    size_t n;
    CHECK_INT(put(d, 500, 700, 7, 3), 0);
    CHECK_INT(put(d, 100, 300, 7, 2), 0);
    REQUIRE(ws_decimate_runs(d, 0, &runs, &n) == 0);
    REQUIRE(n == 2);
    CHECK_INT(runs[0].start_ns, 100);
    CHECK_INT(runs[0].item, 2);
    CHECK_INT(runs[1].end_ns, 700);
    CHECK_INT(runs[1].merged, 1);
    CHECK_INT(runs[1].busy_ns, 200);
    ws_decimate_free(d);
}

TEST(events_of_one_cell_merge_and_keep_the_longest_item_and_the_busy_time)
{
    struct ws_decimate *d = ws_decimate_new(0, 100, false);
    const struct ws_run *runs;
    size_t n;
    put(d, 110, 120, 7, 1);
    put(d, 130, 170, 7, 2);
    put(d, 180, 185, 7, 3);
    put(d, 199, 210, 7, 4);
    put(d, 200, 201, 7, 5);
    REQUIRE(ws_decimate_runs(d, 0, &runs, &n) == 0);
    REQUIRE(n == 2);
    CHECK_INT(runs[0].start_ns, 110);
    CHECK_INT(runs[0].end_ns, 210);
    CHECK_INT(runs[0].busy_ns, 66);
    CHECK_INT(runs[0].merged, 4);
    CHECK_INT(runs[0].item, 2);
    CHECK_INT(runs[1].merged, 1);
    CHECK_INT(runs[1].item, 5);
    ws_decimate_free(d);
}

TEST(lanes_differ_by_process_kind_device_context_and_stream)
{
    struct ws_decimate *d = ws_decimate_new(0, 100, false);
    struct ws_activity_row row = event(0, 10, 1, 1);
    ws_decimate_add(d, 1, WS_ACTIVITY_KERNEL, &row);
    ws_decimate_add(d, 1, WS_ACTIVITY_KERNEL, &row);
    ws_decimate_add(d, 2, WS_ACTIVITY_KERNEL, &row);
    ws_decimate_add(d, 1, WS_ACTIVITY_MEMCPY, &row);
    row.stream = 2;
    ws_decimate_add(d, 1, WS_ACTIVITY_KERNEL, &row);
    row.context = 2;
    ws_decimate_add(d, 1, WS_ACTIVITY_KERNEL, &row);
    row.device = 2;
    ws_decimate_add(d, 1, WS_ACTIVITY_KERNEL, &row);
    CHECK_INT(ws_decimate_lanes(d), 6);
    CHECK_INT(ws_decimate_lane(d, 0)->events, 2);
    ws_decimate_free(d);
}

/* Events and busy time of all runs of all lanes; order and bounds checked. */
static void total(struct ws_decimate *d, uint64_t *events, int64_t *busy, size_t *rectangles)
{
    *events = 0;
    *busy = 0;
    *rectangles = 0;
    for (size_t l = 0; l < ws_decimate_lanes(d); l++) {
        const struct ws_run *runs;
        size_t n;
        REQUIRE(ws_decimate_runs(d, l, &runs, &n) == 0);
        for (size_t i = 0; i < n; i++) {
            CHECK(i == 0 || runs[i - 1].start_ns <= runs[i].start_ns);
            CHECK(runs[i].merged > 0 && runs[i].end_ns >= runs[i].start_ns);
            CHECK(runs[i].longest_ns <= runs[i].busy_ns);
            *events += runs[i].merged;
            *busy += runs[i].busy_ns;
        }
        *rectangles += n;
    }
}

TEST(overview_keeps_every_event_while_its_cells_widen)
{
    struct ws_decimate *d = ws_decimate_new(0, 256, true);
    uint64_t events;
    int64_t busy;
    int64_t want_busy = 0;
    size_t rectangles;
    int64_t from;
    int64_t to;
    const int64_t base = 1790000000000000000;
    for (int i = 0; i < 300000; i++) {
        int64_t start = base + (int64_t)(random_u64() % 20000000000u); /* any order, 20 s */
        int64_t width = (int64_t)(random_u64() % (i % 1000 ? 5000 : 5000000));
        want_busy += width;
        CHECK_INT(put(d, start, start + width, (uint32_t)(i % 3), (uint64_t)i), 0);
    }
    total(d, &events, &busy, &rectangles);
    CHECK_INT(events, 300000);
    CHECK_INT(busy, want_busy);
    CHECK(rectangles <= (uint64_t)3 * (WS_CELLS_MAX + 300));
    CHECK(rectangles >= (uint64_t)3 * WS_CELLS_MAX / 4); /* not coarser than need be */
    REQUIRE(ws_decimate_range(d, &from, &to));
    CHECK(from >= base && to <= base + 20005000000);
    CHECK(ws_decimate_bytes(d) < (16u << 20));
    ws_decimate_free(d);
}

TEST(many_wide_overlapping_events_do_not_take_memory_without_end)
{
    struct ws_decimate *d = ws_decimate_new(1000, 1, false);
    uint64_t events;
    int64_t busy;
    size_t rectangles;
    for (int i = 0; i < 200000; i++)
        CHECK_INT(put(d, i % 2000, 100000, 1, 1), 0); /* some begin before cell 0 */
    total(d, &events, &busy, &rectangles);
    CHECK_INT(events, 200000);
    CHECK(rectangles <= 4 * WS_CELLS_MAX + 2000);
    ws_decimate_free(d);
}

TEST(impossible_times_are_hidden_and_counted)
{
    struct ws_decimate *d = ws_decimate_new(0, 256, true);
    CHECK_INT(put(d, 100, 99, 1, 1), 0);
    CHECK_INT(put(d, -1, 99, 1, 1), 0);
    CHECK_INT(put(d, 0, INT64_MAX, 1, 1), 0);
    CHECK_INT(put(d, INT64_MIN, INT64_MAX, 1, 1), 0);
    CHECK_INT(ws_decimate_hidden(d), 4);
    CHECK_INT(ws_decimate_lanes(d), 0);
    ws_decimate_free(d);
}

TEST(one_event_far_away_does_not_take_memory)
{
    struct ws_decimate *d = ws_decimate_new(0, 256, true);
    CHECK_INT(put(d, 10, 20, 1, 1), 0);
    CHECK_INT(put(d, INT64_MAX / 2 - 10, INT64_MAX / 2, 1, 1), 0);
    CHECK_INT(put(d, 1000, 2000, 1, 1), 0);
    CHECK(ws_decimate_bytes(d) < (4u << 20));
    ws_decimate_free(d);
}

TEST(lanes_beyond_the_limit_are_counted)
{
    struct ws_decimate *d = ws_decimate_new(0, 100, true);
    for (uint32_t i = 0; i < WS_LANES_MAX; i++)
        CHECK_INT(put(d, 0, 10, i, 1), 0);
    CHECK_INT(put(d, 0, 10, WS_LANES_MAX, 1), -WS_ELIMIT);
    CHECK_INT(put(d, 0, 10, 5, 1), 0);
    CHECK_INT(ws_decimate_hidden(d), 1);
    CHECK_INT(ws_decimate_lanes(d), WS_LANES_MAX);
    ws_decimate_free(d);
}

TEST(nothing_has_no_range)
{
    struct ws_decimate *d = ws_decimate_new(0, 100, true);
    int64_t from;
    int64_t to;
    CHECK(!ws_decimate_range(d, &from, &to));
    ws_decimate_free(d);
}

TEST(very_many_streams_make_an_overview_coarser_and_not_larger)
{
    struct ws_decimate *d = ws_decimate_new(0, 16, true);
    uint64_t events = 0;
    uint64_t merged = 0;
    for (int64_t t = 0; t < 400000; t++) {
        CHECK_INT(put(d, t * 1000, t * 1000 + 900, 7 + (uint32_t)(random_u64() % 500), 1), 0);
        events++;
    }
    CHECK(ws_decimate_bytes(d) < 20u << 20);
    for (size_t lane = 0; lane < ws_decimate_lanes(d); lane++) {
        const struct ws_run *runs;
        size_t n;
        REQUIRE(ws_decimate_runs(d, lane, &runs, &n) == 0);
        for (size_t i = 0; i < n; i++)
            merged += runs[i].merged;
    }
    CHECK_INT(ws_decimate_lanes(d), 500);
    CHECK_INT(merged, events);
    ws_decimate_free(d);
}
