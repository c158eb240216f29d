/* SPDX-License-Identifier: MIT
 * test_pm_samples.c: samples over time from the wire into the database and back: whole, damaged, hostile. */
#include "../../analyzer/err.h"
#include "../../server/frames.h"
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
