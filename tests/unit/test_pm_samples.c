/* SPDX-License-Identifier: MIT
 * test_pm_samples.c: samples over time from the wire into the database and back: whole, damaged, hostile. */
#include "../../analyzer/err.h"
#include "../../server/frames.h"
#include "../../server/pm_facts.h"
#include "../../server/store.h"
#include "capture.h"
#include "test.h"

#include <math.h>

#define AGENT "0123456789abcdef0123456789abcdef"
#define START 4000000000000000000 /* 2096: past what 32 bits and doubles of seconds hold */

static char message[256];

static void put_u32(uint8_t *at, uint32_t v)
{
    memcpy(at, &v, 4);
}

/* n samples of 1 ms, value of column k of sample i = i + k / 100; every tenth has none in column 1. */
static void put_samples(struct capture *c, uint32_t series, int64_t first_ns, uint32_t n, uint32_t columns)
{
    size_t bytes = n * (8 + 4 * (size_t)columns);
    uint8_t *data = malloc(bytes + 1);
    struct ws_rec_pm_samples rec = {
        .series = series, .first_ns = first_ns, .samples = n, .data = {(char *)data, (uint32_t)bytes}};
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *at = data + i * (8 + 4 * (size_t)columns);
        put_u32(at, i * 1000000);
        put_u32(at + 4, 1000000);
        for (uint32_t k = 0; k < columns; k++) {
            float v = k == 1 && i % 10 == 0 ? INFINITY : (float)i + (float)k / 100;
            memcpy(at + 8 + 4 * (size_t)k, &v, 4);
        }
    }
    put_pm_samples(c, &rec);
    free(data);
}

static void put_series(struct capture *c, uint32_t number, const char *keys)
{
    struct ws_rec_pm_series rec = {.series = number,
                                   .interval_ns = 1000000,
                                   .trigger = 1,
                                   .keys = ws_text_of(keys),
                                   .cupti = ws_text_of("A.x,B.y")};
    put_pm_series(c, &rec);
}

static struct ws_store *store;
static int64_t session;

static struct ws_frames *frames;

static int feed(const struct capture *c)
{
    struct ws_segment_header header;
    size_t done = WS_WIRE_SEGMENT_BYTES;
    size_t consumed;
    int err;
    CHECK_INT(ws_store_open(&store, scratch_file("db"), WS_STORE_WRITE, message, sizeof message), 0);
    frames = ws_frames_new(store, false);
    CHECK(ws_wire_get_segment(&header, c->bytes, c->used) == 0 && ws_store_begin(store) == 0);
    err = ws_frames_segment(frames, &header, "", NULL);
    if (err == 0)
        err = ws_frames_take(frames, c->bytes + done, c->used - done, true, true, &consumed);
    if (err == 0)
        err = ws_frames_flush(frames);
    CHECK_INT(ws_store_commit(store), 0);
    ws_frames_free(frames);
    return err == 0 ? ws_store_find_session(store, NULL, &session) : err;
}

static struct capture begin(void)
{
    struct capture c = {0};
    capture_segment(&c, AGENT, 0);
    put_greeting(&c, AGENT, "token", "measured");
    put_gpu(&c, 0, "GPU-0");
    return c;
}

struct sum {
    struct ws_pm_series_row series;
    char keys[64];
    unsigned series_count, samples, missing, chunks;
    double total;
    int64_t first_ns, last_ns;
};

static int add_chunk(void *state, const struct ws_pm_chunk *chunk)
{
    struct sum *s = state;
    struct ws_pm_row row;
    s->chunks++;
    for (uint32_t i = 0; i < chunk->rows; i++) {
        ws_pm_unpack(chunk, i, &row);
        s->samples++;
        s->total += (double)row.value[0];
        s->missing += isnan(row.value[1]) != 0;
        s->first_ns = s->samples == 1 ? row.start_ns : s->first_ns;
        s->last_ns = row.end_ns;
    }
    return 0;
}

static int take_series(void *state, const struct ws_pm_series_row *row)
{
    struct sum *s = state;
    s->series = *row;
    snprintf(s->keys, sizeof s->keys, "%s", row->keys);
    s->series_count++;
    return 0;
}

static struct sum read_all(int64_t from_ns, int64_t to_ns)
{
    struct sum s = {.samples = 0};
    CHECK_INT(ws_store_each_pm_series(store, session, take_series, &s), 0);
    if (s.series_count > 0)
        CHECK_INT(ws_store_each_pm_samples(store, &s.series, from_ns, to_ns, add_chunk, &s), 0);
    return s;
}

static uint64_t lost;
static int add_loss(void *state, const struct ws_loss_row *row)
{
    (void)state;
    lost += row->count;
    return 0;
}

static uint64_t count_lost(void)
{
    lost = 0;
    CHECK_INT(ws_store_each_loss(store, session, add_loss, NULL), 0);
    return lost;
}

TEST(samples_come_back_as_they_went)
{
    struct capture c = begin();
    struct sum s;
    put_series(&c, 1, "sm_active,l2_hit_rate");
    put_samples(&c, 1, START, 100, 2);
    put_samples(&c, 1, START + 100000000, 50, 2);
    CHECK_INT(feed(&c), 0);
    s = read_all(INT64_MIN, INT64_MAX);
    CHECK_INT(s.series_count, 1);
    CHECK_STR(s.keys, "sm_active,l2_hit_rate");
    CHECK_INT((int)s.series.columns, 2);
    CHECK(s.series.device_id > 0 && s.series.by_timer && s.series.interval_ns == 1000000);
    CHECK_INT((int)s.series.samples, 150);
    CHECK(s.series.from_ns == START && s.series.to_ns == START + 150000000);
    CHECK_INT((int)s.samples, 150);
    CHECK_INT((int)s.missing, 15);
    CHECK(s.total == 99 * 50 + 49 * 25);
    CHECK(s.first_ns == START && s.last_ns == START + 150000000);
    CHECK_INT((int)count_lost(), 0);
    /* A range reads the chunks that it touches, and no other. */
    s = read_all(START + 120000000, START + 130000000);
    CHECK_INT((int)s.chunks, 1);
    ws_store_close(store);
    free(c.bytes);
}

TEST(a_series_told_twice_is_one)
{
    struct capture c = begin();
    struct sum s;
    put_series(&c, 1, "sm_active,l2_hit_rate");
    put_samples(&c, 1, START, 10, 2);
    put_series(&c, 1, "sm_active,l2_hit_rate");
    put_samples(&c, 1, START + 10000000, 10, 2);
    CHECK_INT(feed(&c), 0);
    s = read_all(INT64_MIN, INT64_MAX);
    CHECK_INT(s.series_count, 1);
    CHECK_INT((int)s.samples, 20);
    ws_store_close(store);
    free(c.bytes);
}

TEST(what_cannot_be_is_counted_and_left_out)
{
    static const char many[] = "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q";
    struct ws_rec_pm_samples cut = {
        .series = 1, .first_ns = START, .samples = 3, .data = ws_text_n("0123456789abcdef", 16)};
    struct ws_rec_pm_samples none = {.series = 1, .first_ns = START, .samples = 0, .data = ws_text_n("", 0)};
    struct ws_rec_pm_samples huge = {
        .series = 1, .first_ns = START, .samples = UINT32_MAX, .data = ws_text_n("0123456789abcdef", 16)};
    struct capture c = begin();
    put_series(&c, 1, "sm_active,l2_hit_rate");
    put_series(&c, 2, many); /* 17 columns */
    put_series(&c, 3, "");
    put_samples(&c, 9, START, 4, 2);         /* never told of */
    put_samples(&c, 1, START, 5, 3);         /* of other columns */
    put_samples(&c, 1, -5, 6, 2);            /* before 1970 */
    put_samples(&c, 1, INT64_MAX - 5, 7, 2); /* would run over */
    put_pm_samples(&c, &cut);
    put_pm_samples(&c, &none);
    put_pm_samples(&c, &huge);
    CHECK_INT(feed(&c), 0);
    CHECK_INT(read_all(INT64_MIN, INT64_MAX).samples, 0);
    CHECK_INT(count_lost(), 2 + 4 + 5 + 6 + 7 + 3 + (int64_t)UINT32_MAX);
    ws_store_close(store);
    free(c.bytes);
}

TEST(a_damaged_blob_is_an_error_and_no_crash)
{
    struct capture c = begin();
    struct sum s = {.samples = 0};
    struct ws_pm_series_row wider;
    put_series(&c, 1, "sm_active,l2_hit_rate");
    put_samples(&c, 1, START, 10, 2);
    CHECK_INT(feed(&c), 0);
    CHECK_INT(ws_store_each_pm_series(store, session, take_series, &s), 0);
    wider = s.series;
    wider.columns = 5; /* as if somebody had written other keys over it */
    CHECK_INT(ws_store_each_pm_samples(store, &wider, INT64_MIN, INT64_MAX, add_chunk, &s), -WS_ECORRUPT);
    ws_store_close(store);
    free(c.bytes);
}

TEST(a_range_becomes_cells_with_mean_least_and_greatest)
{
    const size_t C3 = 6, C9 = 18; /* columns of cells 3 and 9 */
    struct capture c = begin();
    struct sum s = {.samples = 0};
    struct ws_pm_view v;
    put_series(&c, 1, "sm_active,pcie_read");
    put_samples(&c, 1, START, 100, 2);
    CHECK_INT(feed(&c), 0);
    CHECK_INT(ws_store_each_pm_series(store, session, take_series, &s), 0);
    s.series.keys = s.keys;
    CHECK_INT(ws_pm_view_load(store, &s.series, START, START + 100000000, 10, &v), 0);
    CHECK_INT((int)v.count, 10);
    CHECK_INT((int)v.samples, 100);
    CHECK(v.cells[3].start_ns == START + 30000000 && v.cells[3].end_ns == START + 40000000);
    CHECK(v.stats[C3].min == 30 && v.stats[C3].max == 39);
    CHECK_NEAR(ws_pm_stat_mean(&v.stats[C3]), 34.5, 1e-9);
    /* A count is a rate: 0.01 more than i bytes in a millisecond; the first of the ten has none. */
    CHECK_INT((int)v.stats[C3 + 1].count, 9);
    CHECK_NEAR(v.stats[C3 + 1].min, 31010, 0.1);
    ws_pm_view_free(&v);
    /* More cells than samples: a sample each, nothing between. */
    CHECK_INT(ws_pm_view_load(store, &s.series, START + 10000000, START + 20000000, 8192, &v), 0);
    CHECK_INT((int)v.count, 10);
    CHECK(v.stats[0].min == 10 && v.stats[C9].max == 19);
    ws_pm_view_free(&v);
    CHECK_INT(ws_pm_view_load(store, &s.series, START + 500000000, START + 500000000, 100, &v), 0);
    CHECK_INT((int)v.count, 0);
    ws_pm_view_free(&v);
    ws_store_close(store);
    free(c.bytes);
}

/* One kernel from 10 to 20 ms, another from 30 to 50, and a third over the second's last 10. */
static void put_kernels(struct capture *c)
{
    static const int64_t runs[][3] = {{1, 10, 20}, {2, 30, 50}, {3, 40, 60}};
    put_text(c, 1, "first");
    put_text(c, 2, "second");
    put_text(c, 3, "third");
    for (size_t i = 0; i < 3; i++)
        put_launch(c, (uint32_t)runs[i][0], 1, START + runs[i][1] * 1000000, START + runs[i][2] * 1000000);
}

TEST(a_kernel_gets_the_samples_during_which_it_alone_ran)
{
    struct capture c = begin();
    struct ws_pm_facts f;
    put_kernels(&c);
    put_series(&c, 1, "sm_active,l2_hit_rate");
    put_samples(&c, 1, START, 100, 2);
    CHECK_INT(feed(&c), 0);
    CHECK_INT(ws_pm_facts_load(store, session, &f), 0);
    CHECK_INT((int)f.count, 1);
    CHECK(f.devices[0].is_joined);
    CHECK_INT((int)f.devices[0].busy_samples, 10 + 30);
    CHECK_NEAR(ws_pm_stat_mean(&f.devices[0].all[0]), 49.5, 1e-9);
    CHECK(f.devices[0].busy[0].min == 10 && f.devices[0].busy[0].max == 59);
    CHECK_NEAR(ws_pm_covered(&f.devices[0]), 1.0, 1e-9);
    CHECK_INT((int)f.kernel_count, 3);
    for (size_t i = 0; i < f.kernel_count; i++)
        CHECK_INT((int)f.kernels[i].samples, 10);
    CHECK_NEAR(ws_pm_stat_mean(&f.kernels[0].at[0]), 14.5, 1e-9); /* first: 10 … 19 */
    CHECK_NEAR(ws_pm_stat_mean(&f.kernels[1].at[0]), 34.5, 1e-9); /* second, before the third came */
    CHECK_NEAR(ws_pm_stat_mean(&f.kernels[2].at[0]), 54.5, 1e-9); /* third, after the second had gone */
    CHECK_INT((int)f.kernels[0].at[1].count, 9);
    ws_pm_facts_free(&f);
    ws_store_close(store);
    free(c.bytes);
}

TEST(bursts_tell_what_share_of_the_time_they_cover)
{
    struct capture c = begin();
    struct ws_pm_facts f;
    put_series(&c, 1, "sm_active,l2_hit_rate");
    put_samples(&c, 1, START, 10, 2);
    put_samples(&c, 1, START + 90000000, 10, 2);
    CHECK_INT(feed(&c), 0);
    CHECK_INT(ws_pm_facts_load(store, session, &f), 0);
    CHECK_NEAR(ws_pm_covered(&f.devices[0]), 0.2, 1e-9);
    ws_pm_facts_free(&f);
    ws_store_close(store);
    free(c.bytes);
}

TEST(a_kernel_shorter_than_a_sample_gets_none)
{
    struct capture c = begin();
    struct ws_pm_facts f;
    put_text(&c, 1, "short");
    for (int64_t i = 0; i < 50; i++)
        put_launch(&c, 1, 1, START + i * 1000000 + 400000, START + i * 1000000 + 600000);
    put_series(&c, 1, "sm_active,l2_hit_rate");
    put_samples(&c, 1, START, 100, 2);
    CHECK_INT(feed(&c), 0);
    CHECK_INT(ws_pm_facts_load(store, session, &f), 0);
    CHECK_INT((int)f.devices[0].busy_samples, 50);
    CHECK_INT((int)f.kernel_count, 0);
    ws_pm_facts_free(&f);
    ws_store_close(store);
    free(c.bytes);
}

TEST(a_session_without_samples_has_none)
{
    struct capture c = begin();
    struct ws_pm_facts f;
    put_kernels(&c);
    CHECK_INT(feed(&c), 0);
    CHECK_INT(ws_pm_facts_load(store, session, &f), 0);
    CHECK_INT((int)f.count, 0);
    ws_pm_facts_free(&f);
    ws_store_close(store);
    free(c.bytes);
}

TEST(columns_are_told_by_the_catalogue_or_by_their_name)
{
    struct ws_pm_column col[WS_PM_COLUMNS];
    CHECK_INT((int)ws_pm_columns("sm_active,pcie_read,sm__inst.sum,x__y.avg.pct_of_z", col), 4);
    CHECK_STR(ws_pm_title(&col[0]), "SM active");
    CHECK_INT(col[1].unit, WS_UNIT_BYTE_PER_SECOND);
    CHECK_INT(col[1].how, WS_PM_SUM);
    CHECK_STR(ws_pm_title(&col[2]), "sm__inst.sum");
    CHECK_INT(col[2].unit, WS_UNIT_NUMBER);
    CHECK_INT(col[3].unit, WS_UNIT_RATIO);
    CHECK_INT((int)ws_pm_columns("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r", col), WS_PM_COLUMNS);
    CHECK_INT((int)ws_pm_columns("", col), 1);
}
