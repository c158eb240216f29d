/* SPDX-License-Identifier: MIT
 * test_timeline_facts.c: records of small made-up sessions become the facts of the timeline rules, and the rules say
 * what they should. Times are in microseconds from one second on. */
#include "../../analyzer/err.h"
#include "../../analyzer/rules.h"
#include "../../server/ingest.h"
#include "../../server/report.h"
#include "../../server/timeline_facts.h"
#include "capture.h"
#include "test.h"

#define US(t) (1000000000ll + (int64_t)((t)*1000))
enum { HTOD = 1, DTOH = 2, PAGEABLE = 1, PINNED = 2, DEVICE = 3 };

static struct capture c;
static struct ws_timeline_facts facts;
static struct ws_findings found;
static char message[512];

static void begin(void)
{
    memset(&c, 0, sizeof c);
    capture_segment(&c, AGENT_A, 0);
    put_greeting(&c, AGENT_A, "token", "measured");
    put_gpu(&c, 0, "GPU-1");
    put_text(&c, 1, "_Z1kv");
    put_text(&c, 2, "cudaLaunchKernel");
    put_text(&c, 3, "cuLaunchKernel");
    put_text(&c, 4, "cudaMalloc");
    put_text(&c, 5, "cudaMemcpy");
    put_text(&c, 6, "cudaMallocHost");
    put_text(&c, 7, "cudaEventQuery");
}

static void kernel(uint64_t correlation, uint32_t stream, double from, double to)
{
    struct ws_rec_kernel rec = a_kernel(1, 1000, US(from), US(to));
    rec.correlation = correlation;
    rec.stream = stream;
    put_kernel(&c, &rec);
}

static void copy(uint64_t correlation, uint32_t kind, uint32_t host_kind, uint64_t bytes, bool async, double from,
                 double to)
{
    struct ws_rec_memcpy rec = {.context = 1,
                                .stream = 7,
                                .correlation = correlation,
                                .start_ns = US(from),
                                .end_ns = US(to),
                                .bytes = bytes,
                                .copy_kind = kind,
                                .src_kind = kind == HTOD ? host_kind : DEVICE,
                                .dst_kind = kind == HTOD ? DEVICE : host_kind,
                                .is_async = async};
    put_memcpy(&c, &rec);
}

static void api(uint32_t name, uint32_t domain, uint64_t correlation, double from, double to, uint32_t code)
{
    struct ws_rec_api rec = {.name = name,
                             .domain = domain,
                             .correlation = correlation,
                             .start_ns = US(from),
                             .end_ns = US(to),
                             .return_code = code};
    put_api(&c, &rec);
}

static void sync_(double from, double to)
{
    struct ws_rec_sync rec = {.sync_kind = 3, .context = 1, .stream = 7, .start_ns = US(from), .end_ns = US(to)};
    put_sync(&c, &rec);
}

static void address(uint64_t correlation, uint64_t src, uint64_t dst, uint64_t bytes, uint32_t kind)
{
    struct ws_rec_copy_call rec = {
        .correlation = correlation, .src = src, .dst = dst, .bytes = bytes, .stated_kind = kind};
    put_copy_call(&c, &rec);
}

/* Ingest, compute, judge. */
static void end(void)
{
    const char *db = scratch_file("db"), *file = scratch_file("a.wscap");
    struct ws_store *store = NULL;
    struct ws_session *session = NULL;
    struct ws_import done;
    put_end(&c);
    write_file(file, c.bytes, c.used);
    REQUIRE(ws_store_open(&store, db, WS_STORE_WRITE, message, sizeof message) == 0);
    CHECK_INT(ws_ingest_file(store, file, NULL, &done, message, sizeof message), 0);
    CHECK_INT(done.count.lost_frames, 0);
    CHECK_INT(ws_report_load(store, done.session, &session), 0);
    REQUIRE(session != NULL);
    CHECK_INT(ws_timeline_facts_load(store, session, &facts), 0);
    ws_rules_run_timeline(&facts, &found);
    CHECK_INT(session->timeline->count, found.count); /* the report has the same */
    ws_report_free(session);
    ws_store_close(store);
    free(c.bytes);
}

static double fact(enum ws_timeline_id id)
{
    if (!ws_has(facts.value[id])) {
        WS_FAIL("%s has no value", ws_timeline_key(id));
        return -1;
    }
    return facts.value[id].number;
}

static bool fires(const char *id)
{
    for (size_t i = 0; i < found.count; i++)
        if (strncmp(found.item[i].rule->id, id, 3) == 0)
            return true;
    return false;
}

TEST(overlapping_work_counts_once_and_shared_time_is_overlap)
{
    begin();
    kernel(1, 7, 0, 10);
    kernel(2, 8, 5, 20);
    copy(3, HTOD, PINNED, 1000, true, 15, 30);
    copy(4, DTOH, PINNED, 1000, true, 40, 50);
    end();
    CHECK_NEAR(fact(WS_T_window), 50e-6, 1e-12);
    CHECK_NEAR(fact(WS_T_kernels), 2, 0);
    CHECK_NEAR(fact(WS_T_kernel_busy), 20e-6, 1e-12);
    CHECK_NEAR(fact(WS_T_copy_busy), 25e-6, 1e-12);
    CHECK_NEAR(fact(WS_T_overlap), 5e-6, 1e-12);
    CHECK_NEAR(fact(WS_T_gpu_idle), 10e-6, 1e-12);
    CHECK_NEAR(fact(WS_T_copy_streams), 2, 0);
}

TEST(without_records_of_the_host_its_facts_are_not_collected)
{
    begin();
    kernel(1, 7, 0, 10);
    end();
    CHECK_INT(facts.value[WS_T_launch_api].why, WS_WHY_NOT_COLLECTED);
    CHECK_INT(facts.value[WS_T_failed_calls].why, WS_WHY_NOT_COLLECTED);
    CHECK_INT(facts.value[WS_T_fault_groups].why, WS_WHY_NOT_COLLECTED);
    CHECK_NEAR(fact(WS_T_tiny_reads), 0, 0);
    CHECK_INT(found.count, 0);
}

TEST(a_session_without_device_work_has_no_facts)
{
    begin();
    api(2, 2, 1, 0, 1, 0);
    end();
    for (unsigned i = 0; i < WS_TIMELINE_COUNT; i++)
        CHECK(!ws_has(facts.value[i]));
}

TEST(a_storm_of_launches_is_launch_bound)
{
    begin();
    for (unsigned i = 0; i < 200; i++) {
        api(3, 1, i + 1, 5.0 * i + 0.2, 5.0 * i + 4.5, 0); /* the driver's call within … */
        api(2, 2, i + 1, 5.0 * i, 5.0 * i + 4.9, 0);       /* … the runtime's: one launch */
        kernel(i + 1, 7, 5.0 * i + 4, 5.0 * i + 5);
    }
    end();
    CHECK_NEAR(fact(WS_T_launch_calls), 200, 1);
    CHECK_NEAR(fact(WS_T_launch_api), 199 * 4.9e-6, 2e-5);
    CHECK_NEAR(fact(WS_T_kernel_median), 1e-6, 1e-12);
    CHECK(fires("W30"));
    CHECK(!fires("W31"));
}

TEST(idle_time_belongs_to_the_wait_that_ended_in_it_once)
{
    begin();
    for (unsigned i = 0; i < 10; i++) {
        kernel(i + 1, 7, 100.0 * i, 100.0 * i + 40);
        sync_(100.0 * i + 1, 100.0 * i + 45);
        sync_(100.0 * i + 46, 100.0 * i + 47); /* a second wait in the same gap */
    }
    end();
    CHECK_NEAR(fact(WS_T_syncs), 18, 1); /* the last ones end after all work */
    CHECK_NEAR(fact(WS_T_idle_after_sync), 9 * 55e-6, 1e-11);
    CHECK(fires("W31"));
}

TEST(large_pageable_copies_are_told_from_small_and_pinned_ones)
{
    begin();
    copy(1, HTOD, PAGEABLE, 8 << 20, false, 0, 1000);
    copy(2, HTOD, PINNED, 8 << 20, true, 1000, 1200);
    copy(3, DTOH, PAGEABLE, 1000, false, 1200, 1210);
    kernel(4, 7, 1210, 1300);
    end();
    CHECK_NEAR(fact(WS_T_pageable_copies), 1, 0);
    CHECK_NEAR(fact(WS_T_pageable_bytes), 8 << 20, 0);
    CHECK_NEAR(fact(WS_T_pageable_time), 1e-3, 1e-12);
    CHECK(fires("W32"));
}

TEST(a_buffer_that_comes_back_is_a_round_trip_and_a_new_one_is_not)
{
    begin();
    for (unsigned i = 0; i < 4; i++) {
        copy(3 * i + 1, HTOD, PINNED, 4 << 20, true, 300.0 * i, 300.0 * i + 100);
        address(3 * i + 1, 0x7000, 0xd000, 4 << 20, 1);
        kernel(3 * i + 2, 7, 300.0 * i + 100, 300.0 * i + 110);
        copy(3 * i + 3, DTOH, PINNED, 4 << 20, true, 300.0 * i + 110, 300.0 * i + 210);
        address(3 * i + 3, 0xd000, 0x7000, 4 << 20, 2);
    }
    end();
    CHECK_NEAR(fact(WS_T_round_trips), 3, 0);
    CHECK_NEAR(fact(WS_T_round_trip_time), 600e-6, 1e-12);
    CHECK_NEAR(fact(WS_T_mismatched_copies), 0, 0);
    CHECK(fires("W33"));
}

TEST(a_copy_whose_kind_contradicts_its_memory_is_found)
{
    begin();
    copy(1, DTOH, PINNED, 4096, false, 0, 10);
    address(1, 0xd000, 0x7000, 4096, 1); /* stated as host to device */
    kernel(2, 7, 10, 20);
    end();
    CHECK_NEAR(fact(WS_T_mismatched_copies), 1, 0);
    CHECK(fires("W34"));
}

TEST(failures_are_the_runtimes_and_a_query_that_is_not_ready_is_none)
{
    begin();
    kernel(1, 7, 0, 100);
    api(3, 1, 5, 1, 2, 500); /* a probe of the runtime's own */
    api(7, 2, 6, 3, 4, 600); /* not ready */
    api(2, 2, 7, 5, 6, 9);   /* invalid configuration */
    api(5, 2, 8, 7, 8, 1);
    end();
    CHECK_NEAR(fact(WS_T_failed_calls), 2, 0);
    CHECK_NEAR(fact(WS_T_failed_code), 9, 0);
    CHECK(fires("W34"));
}

TEST(tiny_blocking_reads_stall_and_asynchronous_ones_do_not)
{
    begin();
    for (unsigned i = 0; i < 20; i++) {
        kernel(2 * i + 1, 7, 100.0 * i, 100.0 * i + 40);
        copy(2 * i + 2, DTOH, PAGEABLE, 4, i % 2 == 1, 100.0 * i + 40, 100.0 * i + 42);
        if (i % 4 == 1)
            sync_(100.0 * i, 100.0 * i + 60); /* asynchronous, but waited for */
    }
    end();
    CHECK_NEAR(fact(WS_T_tiny_reads), 15, 0);
    CHECK_NEAR(fact(WS_T_tiny_read_bytes), 4, 0);
    CHECK_NEAR(fact(WS_T_idle_after_tiny_read), 15 * 58e-6, 1e-10); /* the last read has nothing behind it … */
    CHECK(fires("W36"));
}

TEST(the_legacy_stream_serialises_only_what_waited_for_it)
{
    begin();
    for (unsigned i = 0; i < 5; i++) {
        double t = 100.0 * i;
        api(2, 2, 10 * i + 1, t - 9, t - 8, 0); /* all three are queued before the first one ends */
        api(2, 2, 10 * i + 2, t - 7, t - 6, 0);
        api(2, 2, 10 * i + 3, t - 5, t - 4, 0);
        kernel(10 * i + 1, 13, t, t + 20);
        kernel(10 * i + 2, 7, t + 20, t + 50);
        kernel(10 * i + 3, 14, t + 50, t + 70);
    }
    end();
    CHECK_NEAR(fact(WS_T_legacy_work), 5, 0);
    CHECK_NEAR(fact(WS_T_blocking_streams), 2, 0);
    CHECK_NEAR(fact(WS_T_legacy_serialised), 150e-6, 1e-12);
    CHECK(fires("W37"));
}

TEST(setting_up_on_the_null_stream_serialises_nothing)
{
    begin();
    for (unsigned i = 0; i < 5; i++) { /* setup on the null stream, long before */
        api(2, 2, 10 * i + 1, 100.0 * i, 100.0 * i + 1, 0);
        kernel(10 * i + 1, 7, 100.0 * i + 2, 100.0 * i + 50);
    }
    api(2, 2, 99, 600, 601, 0);
    kernel(99, 13, 602, 700);
    end();
    CHECK_NEAR(fact(WS_T_legacy_serialised), 0, 0);
}

static void fault(uint32_t counter, uint64_t value, uint32_t flags, double from, double to)
{
    struct ws_rec_uvm rec = {
        .counter = counter, .value = value, .flags = flags, .start_ns = US(from), .end_ns = US(to)};
    put_uvm(&c, &rec);
}

TEST(faults_count_their_time_once_and_prefetches_are_no_faults)
{
    begin();
    kernel(1, 7, 0, 1000);
    fault(4, 256, 0, 0, 300);
    fault(4, 256, 0, 200, 500);
    fault(1, 1 << 20, 2, 0, 500);
    fault(1, 64 << 20, 1, 600, 900); /* asked for by the user */
    end();
    CHECK_NEAR(fact(WS_T_fault_groups), 2, 0);
    CHECK_NEAR(fact(WS_T_fault_time), 500e-6, 1e-12);
    CHECK_NEAR(fact(WS_T_migrated_bytes), 1 << 20, 0);
    CHECK(fires("W39"));
}

static void allocation(uint32_t operation, uint64_t bytes)
{
    struct ws_rec_memory rec = {.operation = operation, .memory_kind = DEVICE, .address = 0xd000, .bytes = bytes};
    put_memory(&c, &rec);
}

TEST(allocations_in_the_loop_cost_time_and_what_is_not_freed_is_a_leak)
{
    begin();
    api(4, 2, 1, -500, -100, 0); /* before the first kernel: set-up */
    kernel(2, 7, 0, 100);
    api(4, 2, 3, 150, 250, 0);
    api(6, 2, 4, 250, 350, 0); /* host memory */
    kernel(5, 7, 400, 500);
    allocation(1, 4096);
    allocation(1, 1000);
    allocation(2, 4096);
    end();
    CHECK_NEAR(fact(WS_T_alloc_calls), 1, 0);
    CHECK_NEAR(fact(WS_T_alloc_time), 100e-6, 1e-12);
    CHECK_NEAR(fact(WS_T_leaked_bytes), 1000, 0);
    CHECK(fires("W40"));
}

TEST(the_busiest_gpu_is_looked_at_and_others_do_not_mix_in)
{
    begin();
    put_gpu(&c, 1, "GPU-2");
    kernel(1, 7, 0, 10);
    for (unsigned i = 0; i < 3; i++) {
        struct ws_rec_kernel rec = a_kernel(1, 1000, US(100 * i), US(100 * i + 50));
        rec.device = 1;
        put_kernel(&c, &rec);
    }
    end();
    CHECK_NEAR(fact(WS_T_kernels), 3, 0);
    CHECK_NEAR(fact(WS_T_kernel_busy), 150e-6, 1e-12);
}

/* Kernels that move 8 bytes an operation, in a row; each has two pointers. */
static void chain_of(unsigned n, bool linked)
{
    static const char *const keys[] = {"gld_bytes", "gst_bytes", "fp32_fma"};
    begin();
    put_counters(&c, 1, 1, 1000);
    for (uint32_t k = 0; k < 3; k++) {
        put_text(&c, 20 + k, keys[k]);
        put_value(&c, 1, 20 + k, k == 2 ? 1e6 : 8e6);
    }
    for (unsigned i = 0; i < n; i++) {
        uint64_t params[16] = {0x700000000000ull + (linked ? i : 2 * i), 0x700000000001ull + (linked ? i : 2 * i),
                               1000};
        struct ws_rec_launch_call rec = {.correlation = i + 100,
                                         .params = ws_text_n((const char *)params, sizeof params)};
        put_launch_call(&c, &rec);
        kernel(i + 100, 7, 20.0 * i, 20.0 * i + 10);
    }
    end();
}

TEST(kernels_that_hand_on_a_buffer_make_a_chain)
{
    chain_of(8, true);
    CHECK_NEAR(fact(WS_T_chain_kernels), 8, 0);
    CHECK_NEAR(fact(WS_T_chain_time), 80e-6, 1e-12);
    CHECK(fires("W38"));
}

TEST(kernels_over_different_buffers_make_none)
{
    chain_of(8, false);
    CHECK_NEAR(fact(WS_T_chain_kernels), 1, 0);
    CHECK(!fires("W38"));
}

/* Kernels at 0 and at 5030, and between them from 20 on a launch of 10 us that profiling held for 5 ms. */
static void held_launch(bool says_when, bool has_call)
{
    struct ws_rec_profile rec = {.profile = 1,
                                 .name = 1,
                                 .context = 1,
                                 .stream = 7,
                                 .correlation = 2,
                                 .grid_x = 1000,
                                 .grid_y = 1,
                                 .grid_z = 1,
                                 .block_x = 128,
                                 .block_y = 1,
                                 .block_z = 1,
                                 .passes = 3,
                                 .pass_index = 0xffffffffu,
                                 .cost_ns = 5000000,
                                 .started_ns = says_when ? US(20) : 0};
    begin();
    put_profile(&c, &rec);
    put_text(&c, 20, "duration");
    put_value(&c, 1, 20, 10e-6);
    kernel(1, 7, 0, 10);
    kernel(3, 7, 5030, 5040);
    api(2, 2, 3, 5025, 5026, 0);
    if (has_call)
        api(2, 2, 2, 20, 5020, 0);
    for (unsigned i = 0; i < 30; i++) /* one launch of few would be too much on a place of our choice */
        kernel(10 + i, 7, 5050 + 20.0 * i, 5060 + 20.0 * i);
    end();
}

TEST(the_time_that_profiling_took_is_not_on_the_timeline)
{
    held_launch(true, true);
    CHECK_NEAR(fact(WS_T_kernels), 33, 0);
    CHECK_NEAR(fact(WS_T_kernel_busy), 330e-6, 1e-12);
    CHECK_NEAR(fact(WS_T_window), 650e-6, 1e-12);
    CHECK_NEAR(fact(WS_T_gpu_idle), 320e-6, 1e-12);
    CHECK_NEAR(fact(WS_T_launch_api), 1e-6, 1e-12);
}

TEST(the_launch_call_tells_when_an_older_collector_profiled)
{
    held_launch(false, true);
    CHECK_NEAR(fact(WS_T_window), 650e-6, 1e-12);
    CHECK_NEAR(fact(WS_T_kernels), 33, 0);
}

TEST(with_profiling_at_an_unknown_time_the_timeline_is_withheld)
{
    held_launch(false, false);
    CHECK_INT(facts.value[WS_T_window].why, WS_WHY_DISTORTED);
    CHECK_INT(facts.value[WS_T_gpu_idle].why, WS_WHY_DISTORTED);
}

static void turn(double at, bool is_on)
{
    struct ws_rec_collection rec = {.at_ns = US(at), .is_on = is_on, .reason = ws_text_of("ctl")};
    put_collection(&c, &rec);
}

/* Between the two kernels 100 us of the program's, 5 ms in which nobody looked, of which 10 us a kernel ran on. */
TEST(time_that_was_not_collected_is_neither_busy_nor_idle)
{
    begin();
    turn(105, false);
    turn(5105, true);
    kernel(1, 7, 0, 10);
    kernel(2, 7, 55, 115);
    kernel(3, 7, 5150, 5160);
    turn(9000, false);
    end();
    CHECK_NEAR(fact(WS_T_window), 170e-6, 1e-12);
    CHECK_NEAR(fact(WS_T_kernel_busy), 80e-6, 1e-12);
    CHECK_NEAR(fact(WS_T_gpu_idle), 90e-6, 1e-12);
}

/* A capture can say anything; sums of its times must not overflow (a sanitizer build sees it). */
TEST(times_beyond_any_clock_are_left_out)
{
    struct ws_rec_kernel odd = a_kernel(1, 1000, 1, INT64_MAX);
    struct ws_rec_sync wait = {.sync_kind = 3, .start_ns = INT64_MIN, .end_ns = INT64_MAX};
    begin();
    for (int i = 0; i < 3; i++) {
        put_kernel(&c, &odd);
        put_sync(&c, &wait);
        api(2, 2, 5, -1e9, 9e9, 0);
        fault(4, UINT64_MAX, 0, -1e9, 9e9);
        allocation(1, UINT64_MAX);
    }
    for (int i = 0; i < 97; i++) /* with many launches without a time the timeline would be withheld */
        kernel(1, 7, 20.0 * i, 20.0 * i + 10);
    end();
    CHECK_NEAR(fact(WS_T_kernels), 97, 0);
    CHECK_NEAR(fact(WS_T_window), 1930e-6, 1e-12);
}

/* Beyond what is kept one by one the median is of a bucket, and says so. */
TEST(the_median_of_very_many_kernels_is_an_estimate)
{
    begin();
    for (int i = 0; i < 70001; i++)
        kernel((uint64_t)i, 7, i * 100.0, i * 100.0 + 30 + i % 3 * 10);
    end();
    CHECK_NEAR(fact(WS_T_kernels), 70001, 0);
    CHECK_NEAR(fact(WS_T_kernel_median), 40e-6, 40e-6 / 8192);
    CHECK_INT(facts.value[WS_T_kernel_median].grade, WS_GRADE_ESTIMATE);
    CHECK_NEAR(fact(WS_T_kernel_busy), 70001 * 40e-6 - 10e-6, 1e-9);
}

TEST(of_more_calls_than_are_held_the_sums_are_lower_bounds)
{
    begin();
    for (int i = 0; i < 300000; i++)
        api(2, 2, (uint64_t)i, i, i + 0.5, 0);
    kernel(1, 7, 0, 300000);
    end();
    CHECK(fact(WS_T_launch_calls) > 200000);
    CHECK_INT(facts.value[WS_T_launch_calls].grade, WS_GRADE_LOWER_BOUND);
    CHECK_INT(facts.value[WS_T_kernels].grade, WS_GRADE_EXACT);
}
