/* SPDX-License-Identifier: MIT
 * test_ceilings.c: measured ceilings on their way from a record to a roofline, and what is said without them. */
#include "../../analyzer/err.h"
#include "../../server/ingest.h"
#include "../../server/report.h"
#include "capture.h"
#include "test.h"

#include <sqlite3.h>

#define BOARD "GPU-11111111-2222-3333-4444-555555555555"

static char message[512];
static struct ws_report report;

static void put_roof(struct capture *c, const char *uuid, uint32_t driver, const char *key, double rate,
                     const char *why)
{
    struct ws_rec_ceiling rec = {.uuid = ws_text_of(uuid),
                                 .driver_version = driver,
                                 .key = ws_text_of(key),
                                 .rate = rate,
                                 .why = ws_text_of(why),
                                 .clock_hz = 1.7e9,
                                 .method = ws_text_of("a way"),
                                 .measured_ns = 5};
    put_ceiling(c, &rec);
}

/* A session with one kernel that has 2e9 FP32 operations and 1e9 DRAM bytes in a millisecond. */
static void put_session(struct capture *c)
{
    static const char *const keys[] = {"fp32_fma", "fp32_add", "fp32_mul", "dram_read_bytes", "dram_write_bytes"};
    static const double values[] = {1e9, 0, 0, 1e9, 0};
    capture_segment(c, AGENT_A, 0);
    put_greeting(c, AGENT_A, "token", "measured");
    put_gpu(c, 0, BOARD);
    put_text(c, 1, "_Z1kv");
    put_launch(c, 1, 1000, 1000000000, 1001000000);
    put_counters(c, 1, 1, 1000);
    for (uint32_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        put_text(c, 10 + i, keys[i]);
        put_value(c, 1, 10 + i, values[i]);
    }
}

/* Take the capture into a new database, load its session and analyze its kernel. */
static const struct ws_roof_point *dram_point(const struct capture *c, const char *sql)
{
    const char *db = scratch_file("db"), *file = scratch_file("a.wscap");
    struct ws_store *store = NULL;
    struct ws_session *session = NULL;
    struct ws_import done;
    sqlite3 *raw;
    const struct ws_roof_point *found = NULL;
    write_file(file, c->bytes, c->used);
    CHECK_INT(ws_store_open(&store, db, WS_STORE_WRITE, message, sizeof message), 0);
    CHECK_INT(ws_ingest_file(store, file, NULL, &done, message, sizeof message), 0);
    CHECK_INT(done.count.lost_frames, 0);
    ws_store_close(store);
    if (sql) {
        CHECK_INT(sqlite3_open(db, &raw), SQLITE_OK);
        CHECK_INT(sqlite3_exec(raw, sql, NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(raw);
    }
    CHECK_INT(ws_store_open(&store, db, WS_STORE_READ, message, sizeof message), 0);
    CHECK_INT(ws_report_load(store, done.session, &session), 0);
    if (session && session->kernel_count == 1) {
        ws_report_analyze(session, 0, &report);
        for (size_t i = 0; i < report.roofline.count; i++)
            if (report.roofline.points[i].level == WS_LEVEL_DRAM)
                found = &report.roofline.points[i];
    }
    ws_report_free(session);
    ws_store_close(store);
    CHECK(found != NULL);
    return found;
}

TEST(a_measured_ceiling_becomes_the_roof_of_its_board)
{
    struct capture c = {0};
    const struct ws_roof_point *p;
    put_session(&c);
    put_roof(&c, BOARD, 13000, "dram_read", 4.3e12, "");
    put_roof(&c, BOARD, 13000, "fp32", 6.0e13, "");
    put_end(&c);
    p = dram_point(&c, NULL);
    REQUIRE(p != NULL);
    CHECK_NEAR(p->intensity.number, 2, 1e-12);
    CHECK_NEAR(p->measured.roof.number, 8.6e12, 1);
    CHECK_INT(p->measured.bound, WS_BOUND_MEMORY);
    CHECK_NEAR(p->measured.percent.number, 2e12 / 8.6e12, 1e-9);
    free(c.bytes);
}

TEST(without_the_table_of_ceilings_the_roof_is_not_measured)
{
    struct capture c = {0};
    const struct ws_roof_point *p;
    put_session(&c);
    put_roof(&c, BOARD, 13000, "dram_read", 4.3e12, "");
    put_roof(&c, BOARD, 13000, "fp32", 6.0e13, "");
    put_end(&c);
    p = dram_point(&c, "DELETE FROM ceiling");
    REQUIRE(p != NULL);
    CHECK_INT(p->measured.roof.why, WS_WHY_NOT_MEASURED);
    CHECK_INT(p->measured.percent.why, WS_WHY_NOT_MEASURED);
    free(c.bytes);
}

TEST(another_board_or_another_driver_does_not_lend_its_ceilings)
{
    struct capture c = {0};
    const struct ws_roof_point *p;
    put_session(&c);
    put_roof(&c, "GPU-other", 13000, "dram_read", 4.3e12, "");
    put_roof(&c, BOARD, 12000, "fp32", 6.0e13, "");
    put_end(&c);
    p = dram_point(&c, NULL);
    REQUIRE(p != NULL);
    CHECK_INT(p->measured.roof.why, WS_WHY_NOT_MEASURED);
    free(c.bytes);
}

static int newest(void *state, const struct ws_ceiling_row *row)
{
    struct ws_value *out = state;
    if (strcmp(row->key, "fp32") == 0)
        *out = row->rate;
    return 0;
}

TEST(a_new_measurement_replaces_the_old_one_and_no_infinity_is_kept)
{
    struct ws_store *store = NULL;
    struct ws_value got = ws_missing(WS_WHY_NOT_MEASURED, NULL);
    struct ws_ceilings all;
    struct ws_rec_ceiling rec = {.uuid = ws_text_of(BOARD),
                                 .driver_version = 1,
                                 .key = ws_text_of("fp32"),
                                 .rate = 1e12,
                                 .method = ws_text_of("")};
    REQUIRE(ws_store_open(&store, scratch_file("db"), WS_STORE_WRITE, message, sizeof message) == 0);
    CHECK_INT(ws_store_get_ceilings(store, BOARD, 1, &all), -WS_ENOENT);
    REQUIRE(ws_store_begin(store) == 0);
    CHECK_INT(ws_store_put_ceiling(store, &rec), 0);
    rec.rate = 2e12;
    CHECK_INT(ws_store_put_ceiling(store, &rec), 0);
    CHECK_INT(ws_store_each_ceiling(store, newest, &got), 0);
    CHECK_NEAR(got.number, 2e12, 0);
    rec.rate = INFINITY;
    CHECK_INT(ws_store_put_ceiling(store, &rec), 0);
    CHECK_INT(ws_store_each_ceiling(store, newest, &got), 0);
    CHECK_INT(got.why, WS_WHY_NOT_VALID);
    rec.why = ws_text_of("not-on-chip");
    CHECK_INT(ws_store_put_ceiling(store, &rec), 0);
    rec.key = ws_text_of("a ceiling of a later version");
    CHECK_INT(ws_store_put_ceiling(store, &rec), 0);
    REQUIRE(ws_store_commit(store) == 0);
    CHECK_INT(ws_store_get_ceilings(store, BOARD, 1, &all), 0);
    CHECK_INT(all.at[WS_CEILING_FP32].rate.why, WS_WHY_NOT_ON_CHIP);
    CHECK_INT(all.at[WS_CEILING_FP64].rate.why, WS_WHY_NOT_MEASURED);
    ws_store_close(store);
}
