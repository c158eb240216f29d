/* SPDX-License-Identifier: MIT
 * test_work_order.c: work of a GPU comes in order of its start, whatever the order and size of its chunks. */
#include "../../analyzer/err.h"
#include "../../server/ingest.h"
#include "../../server/work_order.h"
#include "capture.h"
#include "test.h"

static struct capture c;
static struct ws_store *store;
static char message[512];

static void begin(void)
{
    memset(&c, 0, sizeof c);
    capture_segment(&c, AGENT_A, 0);
    put_greeting(&c, AGENT_A, "token", "measured");
    put_gpu(&c, 0, "GPU-1");
    put_text(&c, 1, "_Z1kv");
}

static void kernel(uint32_t device, uint64_t correlation, int64_t start, int64_t end)
{
    struct ws_rec_kernel rec = a_kernel(1, 1000, start, end);
    rec.correlation = correlation;
    rec.device = device;
    put_kernel(&c, &rec);
}

static void copy(uint64_t correlation, int64_t start, int64_t end)
{
    struct ws_rec_memcpy rec = {
        .context = 1, .stream = 7, .correlation = correlation, .start_ns = start, .end_ns = end, .copy_kind = 1};
    put_memcpy(&c, &rec);
}

struct seen {
    struct ws_span last;
    uint64_t count, sum;
    bool in_order;
    int stop_at;
};

static int see(void *state, const struct ws_work *w)
{
    struct seen *s = state;
    if (s->count > 0 && (w->at.start < s->last.start || (w->at.start == s->last.start && w->at.end < s->last.end)))
        s->in_order = false;
    s->last = w->at;
    s->sum += w->correlation;
    return (int)++s->count == s->stop_at ? 7 : 0;
}

static struct seen walk(int stop_at, int want)
{
    const char *db = scratch_file("db"), *file = scratch_file("a.wscap");
    struct seen s = {.in_order = true, .stop_at = stop_at};
    struct ws_import done;
    uint64_t left_out = 99;
    put_end(&c);
    write_file(file, c.bytes, c.used);
    CHECK_INT(ws_store_open(&store, db, WS_STORE_WRITE, message, sizeof message), 0);
    CHECK_INT(ws_ingest_file(store, file, NULL, &done, message, sizeof message), 0);
    CHECK_INT(ws_work_each(store, done.session, 1, 0, see, &s, &left_out), want);
    CHECK_INT(left_out, 0);
    ws_store_close(store);
    free(c.bytes);
    return s;
}

TEST(kinds_and_chunks_are_merged_into_one_order)
{
    struct seen s;
    uint64_t sum = 0;
    begin();
    /* Three chunks of kernels whose times interleave, and copies that reach over all of them. */
    for (uint64_t i = 0; i < 3 * 4096 + 17; i++) {
        int64_t start = 1000000 + (int64_t)(i * 7919 % 12305) * 10;
        kernel(0, i, start, start + 5 + (int64_t)(i % 40));
        sum += i;
    }
    for (uint64_t i = 0; i < 100; i++) {
        copy(i, 1000000 + (int64_t)i * 1230, 1000000 + (int64_t)i * 1230 + 9999);
        sum += i;
    }
    s = walk(0, 0);
    CHECK_INT(s.count, 3 * 4096 + 17 + 100);
    CHECK_INT(s.sum, sum);
    CHECK(s.in_order);
}

TEST(other_devices_and_work_without_a_time_are_not_in_it)
{
    struct seen s;
    begin();
    kernel(0, 1, 2000, 3000);
    kernel(1, 10, 2000, 3000);
    kernel(0, 100, 0, 0);
    kernel(0, 1000, 5000, 4000);
    kernel(0, 10000, 1000, 1500);
    s = walk(0, 0);
    CHECK_INT(s.sum, 10001);
    CHECK(s.in_order);
}

TEST(what_the_callback_says_ends_the_walk)
{
    struct seen s;
    begin();
    for (uint64_t i = 0; i < 10; i++)
        kernel(0, i, 1000 + (int64_t)i, 2000);
    s = walk(3, 7);
    CHECK_INT(s.count, 3);
}
