/* SPDX-License-Identifier: MIT
 * test_host_track.c: made-up sessions become curves of allocated bytes, waits and queue delays. Times are in
 * microseconds from one second on. */
#include "../../analyzer/err.h"
#include "../../server/host_track.h"
#include "../../server/ingest.h"
#include "capture.h"
#include "test.h"

#define US(t) (1000000000ll + (int64_t)((t)*1000))
enum { PINNED = 2, DEVICE = 3, ALLOC = 1, FREE = 2 };

static struct capture c;
static struct ws_store *store;
static int64_t session;
static char message[512];

static void begin(void)
{
    memset(&c, 0, sizeof c);
    capture_segment(&c, AGENT_A, 0);
    put_greeting(&c, AGENT_A, "token", "measured");
    put_gpu(&c, 0, "GPU-1");
    put_text(&c, 1, "_Z1kv");
    put_text(&c, 2, "_Z1mv");
    put_text(&c, 3, "cudaLaunchKernel");
}

static void memory(uint32_t operation, uint32_t kind, uint64_t bytes, double at)
{
    struct ws_rec_memory rec = {.operation = operation, .memory_kind = kind, .bytes = bytes, .time_ns = US(at)};
    put_memory(&c, &rec);
}

static void wait_for(uint32_t kind, uint32_t stream, uint32_t event, double from, double to)
{
    struct ws_rec_sync rec = {
        .sync_kind = kind, .context = 1, .stream = stream, .event = event, .start_ns = US(from), .end_ns = US(to)};
    put_sync(&c, &rec);
}

static void kernel(uint32_t name, uint64_t correlation, uint32_t stream, double from, double to)
{
    struct ws_rec_kernel rec = a_kernel(name, 1000, US(from), US(to));
    rec.correlation = correlation;
    rec.stream = stream;
    put_kernel(&c, &rec);
}

static void call(uint32_t domain, uint64_t correlation, double from, double to)
{
    struct ws_rec_api rec = {
        .name = 3, .domain = domain, .correlation = correlation, .start_ns = US(from), .end_ns = US(to)};
    put_api(&c, &rec);
}

/* Ingest; the store stays open until done(). */
static void end(void)
{
    const char *db = scratch_file("db"), *file = scratch_file("a.wscap");
    struct ws_import imported;
    put_end(&c);
    write_file(file, c.bytes, c.used);
    CHECK_INT(ws_store_open(&store, db, WS_STORE_WRITE, message, sizeof message), 0);
    CHECK_INT(ws_ingest_file(store, file, NULL, &imported, message, sizeof message), 0);
    session = imported.session;
    free(c.bytes);
}

static void done(void)
{
    ws_store_close(store);
    store = NULL;
}

static struct ws_track_view view(double from, double to, double cell)
{
    return (struct ws_track_view){US(from), US(to), (int64_t)(cell * 1000)};
}

/* --- memory --- */

TEST(bytes_rise_and_fall_in_order_of_time_whatever_the_order_of_records)
{
    struct ws_memory_track t;
    struct ws_track_view v = view(0, 100, 1);
    begin();
    memory(ALLOC, DEVICE, 300, 20);
    memory(ALLOC, DEVICE, 100, 10);
    memory(FREE, DEVICE, 100, 30);
    memory(ALLOC, PINNED, 7, 5);
    end();
    CHECK_INT(ws_memory_track_load(store, session, &v, &t), 0);
    REQUIRE(t.count == 2 && t.series[0].count == 3 && t.series[1].count == 1);
    CHECK_INT(t.series[0].kind, DEVICE);
    CHECK_INT(t.series[0].points[0].t_ns, US(10));
    CHECK_INT(t.series[0].points[0].last, 100);
    CHECK_INT(t.series[0].points[1].last, 400);
    CHECK_INT(t.series[0].points[2].last, 300);
    CHECK_INT(t.series[0].peak, 400);
    CHECK_INT(t.series[0].end, 300);
    CHECK_INT(t.series[0].before, 0);
    CHECK_INT(t.series[0].unseen, 0);
    CHECK_INT(t.series[0].allocations, 2);
    CHECK_INT(t.series[0].releases, 1);
    ws_memory_track_free(&t);
    done();
}

TEST(changes_within_a_cell_become_one_point_that_keeps_their_extremes)
{
    struct ws_memory_track t;
    struct ws_track_view v = view(0, 100, 50);
    begin();
    memory(ALLOC, DEVICE, 100, 1);
    memory(ALLOC, DEVICE, 900, 2);
    memory(FREE, DEVICE, 950, 3);
    memory(ALLOC, DEVICE, 5, 60);
    end();
    CHECK_INT(ws_memory_track_load(store, session, &v, &t), 0);
    REQUIRE(t.count == 1 && t.series[0].count == 2);
    CHECK_INT(t.series[0].points[0].low, 50);
    CHECK_INT(t.series[0].points[0].high, 1000);
    CHECK_INT(t.series[0].points[0].last, 50);
    CHECK_INT(t.series[0].points[1].last, 55);
    ws_memory_track_free(&t);
    done();
}

TEST(a_range_begins_with_the_bytes_of_before_it)
{
    struct ws_memory_track t;
    struct ws_track_view v = view(25, 35, 1);
    begin();
    memory(ALLOC, DEVICE, 100, 10);
    memory(ALLOC, DEVICE, 50, 30);
    memory(ALLOC, DEVICE, 1000, 40);
    end();
    CHECK_INT(ws_memory_track_load(store, session, &v, &t), 0);
    REQUIRE(t.count == 1 && t.series[0].count == 1);
    CHECK_INT(t.series[0].before, 100);
    CHECK_INT(t.series[0].points[0].last, 150);
    CHECK_INT(t.series[0].peak, 1150);
    ws_memory_track_free(&t);
    done();
}

TEST(what_was_allocated_before_the_first_record_is_counted_and_said)
{
    struct ws_memory_track t;
    struct ws_track_view v = view(0, 100, 1);
    begin();
    memory(FREE, DEVICE, 64, 10);
    memory(ALLOC, DEVICE, 10, 20);
    end();
    CHECK_INT(ws_memory_track_load(store, session, &v, &t), 0);
    REQUIRE(t.count == 1 && t.series[0].count == 2);
    CHECK_INT(t.series[0].unseen, 64);
    CHECK_INT(t.series[0].points[0].last, 0);
    CHECK_INT(t.series[0].points[1].last, 10);
    CHECK_INT(t.series[0].peak, 64);
    ws_memory_track_free(&t);
    done();
}

TEST(absurd_sizes_and_times_are_left_out_and_counted)
{
    struct ws_memory_track t;
    struct ws_track_view v = view(0, 100, 1);
    struct ws_rec_memory odd = {.operation = ALLOC, .memory_kind = DEVICE, .bytes = 1, .time_ns = INT64_MIN};
    begin();
    memory(ALLOC, DEVICE, UINT64_MAX, 10);
    put_memory(&c, &odd);
    odd.time_ns = INT64_MAX;
    put_memory(&c, &odd);
    memory(ALLOC, DEVICE, 3, 20);
    memory(9, DEVICE, 3, 20);
    for (uint32_t i = 0; i < WS_TRACK_SERIES_MAX + 5; i++)
        memory(ALLOC, 100 + i, 1, 30);
    end();
    CHECK_INT(ws_memory_track_load(store, session, &v, &t), 0);
    CHECK_INT(t.count, WS_TRACK_SERIES_MAX);
    CHECK_INT(t.left_out, 3 + 6);
    CHECK_INT(t.series[0].end, 3);
    ws_memory_track_free(&t);
    done();
}

/* --- waits --- */

TEST(waits_stand_in_lanes_of_kind_and_stream_and_short_ones_merge)
{
    struct ws_decimate *d;
    struct ws_track_view v = view(0, 100, 10);
    const struct ws_run *runs;
    size_t count;
    uint64_t records;
    begin();
    wait_for(3, 7, 0, 0, 30);
    wait_for(3, 7, 0, 41, 42);
    wait_for(3, 7, 0, 43, 44);
    wait_for(2, 8, 5, 50, 51);
    wait_for(4, 0xffffffffu, 0, 200, 300); /* outside */
    end();
    CHECK_INT(ws_wait_track_load(store, session, &v, &d, &records), 0);
    CHECK_INT(records, 5);
    REQUIRE(ws_decimate_lanes(d) == 2);
    CHECK_INT(ws_decimate_lane(d, 0)->events, 3);
    CHECK_INT(ws_decimate_lane(d, 0)->busy_ns, 32000);
    CHECK_INT(ws_decimate_runs(d, 0, &runs, &count), 0);
    REQUIRE(count == 2);
    CHECK_INT(runs[0].end_ns, US(30));
    CHECK_INT(runs[1].merged, 2);
    CHECK_INT(runs[1].start_ns, US(41));
    CHECK_INT(runs[1].end_ns, US(44));
    CHECK_INT(ws_decimate_runs(d, 1, &runs, &count), 0);
    REQUIRE(count == 1);
    CHECK_INT(runs[0].item, 5);
    ws_decimate_free(d);
    done();
}

TEST(many_waits_are_merged_until_they_fit_and_none_is_lost)
{
    struct ws_decimate *d;
    struct ws_track_view v = view(0, 50000, 0.5);
    const struct ws_run *runs;
    uint64_t records;
    uint64_t merged = 0;
    size_t count;
    begin();
    for (int i = 0; i < 50000; i++)
        wait_for(1, 7, 1, i, i + 0.2);
    end();
    CHECK_INT(ws_wait_track_load(store, session, &v, &d, &records), 0);
    CHECK_INT(ws_decimate_runs(d, 0, &runs, &count), 0);
    CHECK(count <= WS_TRACK_POINTS_MAX && count > WS_TRACK_POINTS_MAX / 4);
    for (size_t i = 0; i < count; i++)
        merged += runs[i].merged;
    CHECK_INT(merged, 50000);
    ws_decimate_free(d);
    done();
}

TEST(the_range_of_waits_and_of_memory_is_found)
{
    int64_t from = 0, to = 0;
    bool found;
    begin();
    wait_for(1, 7, 1, 5, 9);
    wait_for(1, 7, 1, 2, 3);
    end();
    CHECK_INT(ws_track_range(store, session, WS_REC_SYNC, &from, &to, &found), 0);
    CHECK(found && from == US(2) && to == US(9));
    CHECK_INT(ws_track_range(store, session, WS_REC_MEMORY, &from, &to, &found), 0);
    CHECK(!found);
    done();
}

/* --- queue --- */

TEST(a_delay_runs_from_the_outer_calls_return_to_the_start)
{
    struct ws_queue_track t;
    struct ws_track_view v = view(0, 100, 1);
    const struct ws_run *runs;
    size_t count;
    begin();
    call(1, 11, 2, 4); /* the driver's call within the runtime's */
    call(2, 11, 1, 5);
    kernel(1, 11, 7, 25, 30);
    call(2, 12, 6, 10);
    kernel(1, 12, 7, 8, 9);   /* it began before the call returned */
    kernel(2, 13, 8, 40, 50); /* its call was lost */
    end();
    CHECK_INT(ws_queue_track_load(store, session, &v, &t), 0);
    CHECK_INT(t.launches, 3);
    CHECK_INT(t.joined, 2);
    CHECK_INT(t.one_in, 1);
    REQUIRE(t.kernel_count == 1 && ws_decimate_lanes(t.points) == 1);
    CHECK_INT(t.kernels[0].launches, 2);
    CHECK_INT(t.kernels[0].delay_max, 20000);
    CHECK_INT(t.kernels[0].delay_min, -2000);
    CHECK_INT(t.kernels[0].call_sum, 8000);
    CHECK_INT(t.kernels[0].run_sum, 6000);
    CHECK_INT(ws_decimate_runs(t.points, 0, &runs, &count), 0);
    REQUIRE(count == 2);
    CHECK_INT(runs[0].start_ns, US(8));
    CHECK_INT(runs[0].longest_ns, -2000);
    CHECK_INT(runs[1].longest_ns, 20000);
    ws_queue_track_free(&t);
    done();
}

TEST(of_the_launches_of_one_graph_only_the_first_stood_in_the_queue)
{
    struct ws_queue_track t;
    struct ws_track_view v = view(0, 100, 1);
    begin();
    call(2, 11, 1, 5);
    kernel(2, 11, 7, 20, 30);
    kernel(1, 11, 7, 10, 15);
    kernel(1, 11, 7, 40, 45);
    end();
    CHECK_INT(ws_queue_track_load(store, session, &v, &t), 0);
    CHECK_INT(t.launches, 3);
    CHECK_INT(t.joined, 1);
    REQUIRE(t.kernel_count == 1);
    CHECK_INT(t.kernels[0].delay_max, 5000);
    ws_queue_track_free(&t);
    done();
}

TEST(without_calls_there_is_no_delay_and_replayed_launches_have_none)
{
    struct ws_queue_track t;
    struct ws_track_view v = view(0, 100, 1);
    struct ws_rec_kernel replayed = a_kernel(1, 1000, 0, 0);
    begin();
    put_kernel(&c, &replayed);
    kernel(1, 12, 7, 8, 9);
    end();
    CHECK_INT(ws_queue_track_load(store, session, &v, &t), 0);
    CHECK_INT(t.launches, 1);
    CHECK_INT(t.joined, 0);
    CHECK_INT(t.kernel_count, 0);
    ws_queue_track_free(&t);
    done();
}
