/* SPDX-License-Identifier: MIT
 * test_export.c: a session leaves as a capture and comes back with the same report; damage is refused. */
#include "../../analyzer/err.h"
#include "../../server/export.h"
#include "session.h"

#include <sqlite3.h>

/* What a roofline point is made of, as texts 20 to 25. */
static void put_work(struct capture *c)
{
    static const char *const keys[] = {"fp32_add",        "fp32_mul",         "fp32_fma",
                                       "dram_read_bytes", "dram_write_bytes", "duration"};
    for (uint32_t i = 0; i < 6; i++)
        put_text(c, 20 + i, keys[i]);
}

/* What an instruction of text `name` did; opcode and file are texts, too. */
static void put_line(struct capture *c, uint32_t name, uint32_t opcode, uint32_t file, uint32_t at, uint64_t sectors)
{
    struct ws_rec_instruction rec = {.name = name,
                                     .grid_x = 20,
                                     .grid_y = 1,
                                     .grid_z = 1,
                                     .block_x = 128,
                                     .block_y = 1,
                                     .block_z = 1,
                                     .code = WS_CODE_PTX,
                                     .at = at,
                                     .opcode = opcode,
                                     .file = file,
                                     .line = file ? 12 : 0,
                                     .space = WS_SPACE_GLOBAL,
                                     .access = WS_MEMORY_OP_LOAD,
                                     .launches = 1,
                                     .runs = 9,
                                     .sectors = sectors};
    put_instruction(c, &rec);
}

/* Two processes that number their devices, texts and profiles each for itself, a launcher, and every kind of record. */
static struct capture everything(void)
{
    struct capture c = {0};
    struct ws_rec_run run = {.session_token = ws_text_of("token"),
                             .session_name = ws_text_of("a run"),
                             .exe = ws_text_of("/bin/app"),
                             .argv = ws_text_n("app\0-x\0", 7),
                             .started_ns = 77,
                             .ended_ns = 1234567,
                             .exit_status = 3,
                             .host = ws_text_of("host")};
    struct ws_rec_status status = {.code = ws_text_of("some-code"),
                                   .severity = 1,
                                   .message = ws_text_of("message"),
                                   .remedy = ws_text_of("remedy"),
                                   .count = 4};
    struct ws_rec_loss loss = {.kind = ws_text_of("kernel"), .reason = ws_text_of("memory"), .count = 3, .to_ns = 9};
    struct ws_rec_cost cost = {.what = ws_text_of("profile"), .count = 2, .total_ns = 12000000};
    struct ws_rec_context context = {.context = 1, .device = 0};
    struct ws_rec_memcpy copy = {
        .start_ns = 500, .end_ns = 900, .bytes = 1 << 20, .copy_kind = 1, .src_kind = 1, .dst_kind = 3};
    struct ws_rec_memset set = {.start_ns = 950, .end_ns = 990, .bytes = 4096, .memory_kind = 3, .is_async = 1};
    struct ws_rec_api api = {.name = 5, .domain = 2, .correlation = 8, .thread = 9, .start_ns = 400, .end_ns = 450};
    struct ws_rec_sync sync = {.sync_kind = 3, .context = 1, .stream = 7, .start_ns = 1, .end_ns = 2};
    struct ws_rec_ceiling ceiling = {.uuid = ws_text_of("GPU-of-b"),
                                     .driver_version = 13000,
                                     .key = ws_text_of("dram_copy"),
                                     .rate = 4.1e12,
                                     .clock_hz = 1.98e9,
                                     .method = ws_text_of("copy"),
                                     .measured_ns = 99};
    struct ws_rec_ceiling peak = ceiling;
    struct ws_rec_kernel late = a_kernel(2, 30, 4000, 4500);
    capture_segment(&c, AGENT_B, 0);
    put_greeting(&c, AGENT_B, "token", "modelled");
    put_gpu(&c, 0, "GPU-of-b");
    put_context(&c, &context);
    put_text(&c, 1, "_Z4sortPf");
    put_text(&c, 2, "_Z4lateIiEvT_");
    put_text(&c, 3, "gst_sectors");
    put_text(&c, 4, "gld_sectors");
    put_text(&c, 5, "cudaLaunchKernel");
    put_text(&c, 6, "zz__custom.sum");
    put_work(&c);
    put_ceiling(&c, &ceiling);
    peak.key = ws_text_of("fp32");
    peak.rate = 6e13;
    put_ceiling(&c, &peak);
    put_counters(&c, 1, 1, 20); /* a kernel that is known by its counters before any launch of it is */
    put_value(&c, 1, 4, 0.1);
    put_no_value(&c, 1, 3, WS_WHY_NOT_ON_CHIP);
    put_value(&c, 1, 6, 1.0 / 3.0);
    for (uint32_t i = 0; i < 6; i++)
        put_value(&c, 1, 20 + i, 1e6 + i); /* work and bytes: a point under the roofs */
    put_kernel(&c, &late);
    put_launch(&c, 1, 20, 0, 0);
    put_launch(&c, 1, 20, 1000, 1500);
    put_memcpy(&c, &copy);
    put_memset(&c, &set);
    put_api(&c, &api);
    put_sync(&c, &sync);
    put_text(&c, 30, "ld.global.f32");
    put_text(&c, 31, "/src/sort.cu");
    put_line(&c, 1, 30, 31, 7, 100);
    put_line(&c, 1, 30, 31, 7, 11); /* the next launch */
    put_line(&c, 1, 30, 0, 8, 5);
    put_status(&c, &status);
    put_loss(&c, &loss);
    put_cost(&c, &cost);
    put_end(&c);
    c.seq = 0;
    capture_segment(&c, AGENT_A, 0);
    put_greeting(&c, AGENT_A, "token", "modelled");
    put_gpu(&c, 0, "GPU-of-a");
    put_text(&c, 1, "_Z5otherPf");
    put_text(&c, 2, "gld_sectors");
    put_text(&c, 3, "_Z4sortPf");
    put_launch(&c, 1, 5, 2000, 2700);
    put_counters(&c, 1, 3, 20);
    put_value(&c, 1, 2, 0.7);
    put_counters(&c, 2, 3, 20);
    put_value(&c, 2, 2, 0.2);
    put_text(&c, 4, "/src/sort.cu");
    put_text(&c, 5, "ld.global.f32");
    put_line(&c, 3, 5, 4, 7, 1000);
    put_status(&c, &status);
    /* no BYE: it was killed */
    c.seq = 0;
    capture_segment(&c, "cccccccccccccccccccccccccccccccc", 0);
    put_run(&c, &run);
    put_status(&c, &status);
    return c;
}

static void export_newest(const char *db, const char *file)
{
    struct ws_store *store = open_reader_of(db);
    FILE *out = fopen(scratch_file(file), "w");
    int64_t id = 0;
    REQUIRE(out);
    CHECK_INT(ws_store_find_session(store, NULL, &id), 0);
    CHECK_INT(ws_export_capture_to(store, id, out), 0);
    CHECK_INT(fclose(out), 0);
    ws_store_close(store);
}

static struct capture read_capture(const char *file)
{
    struct capture c = {0};
    struct stat st;
    int fd = open(scratch_file(file), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        abort();
    c.used = (size_t)read(fd, capture_room(&c, (size_t)st.st_size), (size_t)st.st_size);
    close(fd);
    return c;
}

TEST(an_exported_session_imports_to_the_same_report)
{
    struct capture c = everything();
    struct capture again;
    struct ws_session *before, *after;
    char *a, *b;
    import_capture(&c, "one");
    export_newest("one", "out.wscap");
    again = read_capture("out.wscap");
    import_capture(&again, "two");
    before = load_newest("one");
    after = load_newest("two");
    a = json_of(before);
    b = json_of(after);
    CHECK(strcmp(a, b) == 0);
    CHECK(strstr(a, "\"roof_source\": \"measured\"") != NULL);
    CHECK_INT(before->kernel_count, 3);
    CHECK_INT(before->process_count, 2);
    free(a);
    free(b);
    ws_report_free(before);
    ws_report_free(after);
    free(c.bytes);
    free(again.bytes);
}

struct raw {
    uint64_t rows[4], host, contexts, lines, sectors;
    int64_t sum;
};

static int add_activity(void *state, const struct ws_activity_chunk *chunk)
{
    struct raw *r = state;
    r->rows[chunk->kind] += chunk->rows;
    for (uint32_t i = 0; i < chunk->rows; i++) {
        struct ws_activity_row row;
        ws_activity_unpack(&row, chunk->data + (size_t)i * WS_ACTIVITY_BYTES);
        r->sum += row.start_ns + 3 * row.end_ns + (int64_t)row.correlation + row.copy_kind + row.src_kind + row.stream;
        if (chunk->kind != WS_ACTIVITY_KERNEL)
            r->sum += (int64_t)row.kernel_id; /* bytes */
    }
    return 0;
}

static int add_host(void *state, const struct ws_host_chunk *chunk)
{
    ((struct raw *)state)->host += chunk->rows;
    return 0;
}

static int add_line(void *state, const struct ws_instruction_row *row)
{
    struct raw *r = state;
    r->lines++;
    r->sectors += row->rec.sectors * row->rec.launches;
    CHECK_STR(row->opcode, "ld.global.f32");
    CHECK_STR(row->file, row->rec.line == 12 ? "/src/sort.cu" : "");
    return 0;
}

struct lines {
    struct ws_store *store;
    struct raw *raw;
};

static int add_lines(void *state, const struct ws_kernel_row *row)
{
    const struct lines *l = state;
    return ws_store_each_instruction(l->store, row->id, add_line, l->raw);
}

static struct raw raw_of(const char *db)
{
    struct ws_store *store = open_reader_of(db);
    struct raw r = {.host = 0};
    struct lines lines;
    CHECK_INT(ws_store_each_activity(store, 1, add_activity, &r), 0);
    CHECK_INT(ws_store_each_host(store, 1, add_host, &r), 0);
    lines.store = store;
    lines.raw = &r;
    CHECK_INT(ws_store_each_kernel(store, 1, add_lines, &lines), 0);
    ws_store_close(store);
    return r;
}

TEST(an_exported_session_keeps_every_execution_and_every_record_of_the_host)
{
    struct capture c = everything();
    struct capture again;
    struct raw a, b;
    import_capture(&c, "one");
    export_newest("one", "out.wscap");
    again = read_capture("out.wscap");
    import_capture(&again, "two");
    a = raw_of("one");
    b = raw_of("two");
    CHECK_INT(a.rows[WS_ACTIVITY_KERNEL], 4);
    CHECK_INT(a.rows[WS_ACTIVITY_MEMCPY], 1);
    CHECK_INT(a.rows[WS_ACTIVITY_MEMSET], 1);
    CHECK_INT(a.host, 2);
    CHECK_INT(a.lines, 3);
    CHECK_INT(a.sectors, 2 * 111 + 5 + 1000);
    CHECK(memcmp(&a, &b, sizeof a) == 0);
    free(c.bytes);
    free(again.bytes);
}

TEST(an_export_of_an_import_is_the_same_file)
{
    struct capture c = everything();
    struct capture first, second;
    import_capture(&c, "one");
    export_newest("one", "first.wscap");
    first = read_capture("first.wscap");
    import_capture(&first, "two");
    export_newest("two", "second.wscap");
    second = read_capture("second.wscap");
    CHECK_INT(first.used, second.used);
    CHECK(memcmp(first.bytes, second.bytes, first.used) == 0);
    free(c.bytes);
    free(first.bytes);
    free(second.bytes);
}

TEST(more_than_a_frame_of_records_becomes_several_frames)
{
    struct capture c = {0};
    struct capture again;
    struct ws_session *s;
    capture_segment(&c, AGENT_A, 0);
    put_greeting(&c, AGENT_A, "token", "measured");
    put_text(&c, 1, "k");
    for (int i = 0; i < 10000; i++)
        put_launch(&c, 1, 1, 1000 + i, 1005 + i);
    put_end(&c);
    import_capture(&c, "one");
    export_newest("one", "out.wscap");
    again = read_capture("out.wscap");
    CHECK(again.used > (size_t)3 * WS_WIRE_FRAME_MAX);
    import_capture(&again, "two");
    s = load_newest("two");
    CHECK_INT(s->kernels[0].launches, 10000);
    CHECK_INT(s->warning_count, 1); /* no counters, and nothing lost */
    ws_report_free(s);
    free(c.bytes);
    free(again.bytes);
}

/* What comes after must not make up for it: a capture without its launches would pass for a whole one. */
TEST(launches_that_cannot_be_read_are_an_error)
{
    struct capture c = everything();
    struct ws_store *store;
    sqlite3 *raw = NULL;
    FILE *out = fopen(scratch_file("half.wscap"), "w");
    import_capture(&c, "one");
    REQUIRE(out && sqlite3_open(scratch_file("one"), &raw) == SQLITE_OK);
    CHECK_INT(sqlite3_exec(raw, "UPDATE activity SET data = X'07'", NULL, NULL, NULL), SQLITE_OK);
    CHECK(sqlite3_changes(raw) > 0);
    sqlite3_close(raw);
    store = open_reader_of("one");
    CHECK_INT(ws_export_capture_to(store, 1, out), -WS_ECORRUPT);
    fclose(out);
    ws_store_close(store);
    free(c.bytes);
}

TEST(a_full_disk_is_an_error)
{
    struct capture c = everything();
    struct ws_store *store;
    FILE *full = fopen("/dev/full", "w");
    import_capture(&c, "one");
    store = open_reader_of("one");
    REQUIRE(full);
    setvbuf(full, NULL, _IONBF, 0);
    CHECK_INT(ws_export_capture_to(store, 1, full), -WS_EIO);
    fclose(full);
    ws_store_close(store);
    free(c.bytes);
}
