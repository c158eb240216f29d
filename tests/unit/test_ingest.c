/* SPDX-License-Identifier: MIT
 * test_ingest.c: segments, whole and not, become rows exactly once; what is lost is said. */
#include "../../analyzer/err.h"
#include "../../server/ingest.h"
#include "capture.h"
#include "test.h"

#include <signal.h>
#include <sys/file.h>

/* --- what a database holds, for checks --- */

struct seen {
    int sessions, processes, kernels, profiles, metrics, devices, statuses;
    uint64_t launches, timed, activity_rows, lost;
    int64_t total_ns;
    char source[16], name[32], token[64], argv[64], mangled[64], loss[64], status[64], status_text[200];
    int64_t session, ended_ns;
    bool has_exit;
    int64_t exit_status, device_of_kernel;
    double last_value;
};

static int see_session(void *state, const struct ws_session_row *row)
{
    struct seen *s = state;
    s->sessions++;
    s->session = row->id;
    s->has_exit = row->has_exit;
    s->exit_status = row->exit_status;
    snprintf(s->source, sizeof s->source, "%s", row->source);
    snprintf(s->name, sizeof s->name, "%s", row->name);
    snprintf(s->token, sizeof s->token, "%s", row->token);
    snprintf(s->argv, sizeof s->argv, "%s", row->argv);
    return 0;
}

static int see_process(void *state, const struct ws_process_row *row)
{
    struct seen *s = state;
    s->processes++;
    s->ended_ns = row->ended_ns;
    return 0;
}

static int see_kernel(void *state, const struct ws_kernel_row *row)
{
    struct seen *s = state;
    s->kernels++;
    s->launches += row->launches;
    s->timed += row->timed;
    s->total_ns += row->total_ns;
    s->device_of_kernel = row->device_id;
    snprintf(s->mangled, sizeof s->mangled, "%s", row->mangled);
    return 0;
}

static int see_profile(void *state, const struct ws_profile_row *row)
{
    (void)row;
    ((struct seen *)state)->profiles++;
    return 0;
}

static int see_metric(void *state, const struct ws_metric_row *row)
{
    struct seen *s = state;
    s->metrics++;
    if (ws_has(row->value))
        s->last_value = row->value.number;
    return 0;
}

static int see_device(void *state, const struct ws_device_row *row)
{
    (void)row;
    ((struct seen *)state)->devices++;
    return 0;
}

static int see_activity(void *state, const struct ws_activity_chunk *chunk)
{
    ((struct seen *)state)->activity_rows += chunk->rows;
    return 0;
}

static int see_loss(void *state, const struct ws_loss_row *row)
{
    struct seen *s = state;
    s->lost += row->count;
    snprintf(s->loss, sizeof s->loss, "%s/%s", row->kind, row->reason);
    return 0;
}

static int see_status(void *state, const struct ws_status_row *row)
{
    struct seen *s = state;
    s->statuses++;
    snprintf(s->status, sizeof s->status, "%s", row->code);
    snprintf(s->status_text, sizeof s->status_text, "%s", row->message);
    return 0;
}

/* All sessions of the database together. */
static struct seen look(struct ws_store *store)
{
    struct seen s;
    struct seen last;
    memset(&s, 0, sizeof s);
    CHECK_INT(ws_store_each_session(store, see_session, &s), 0);
    last = s;
    for (int64_t id = 1; id <= 9; id++) {
        CHECK_INT(ws_store_each_process(store, id, see_process, &s), 0);
        CHECK_INT(ws_store_each_kernel(store, id, see_kernel, &s), 0);
        CHECK_INT(ws_store_each_profile(store, id, see_profile, &s), 0);
        CHECK_INT(ws_store_each_metric(store, id, see_metric, &s), 0);
        CHECK_INT(ws_store_each_device(store, id, see_device, &s), 0);
        CHECK_INT(ws_store_each_activity(store, id, see_activity, &s), 0);
        CHECK_INT(ws_store_each_loss(store, id, see_loss, &s), 0);
        CHECK_INT(ws_store_each_status(store, id, see_status, &s), 0);
    }
    s.session = last.session;
    return s;
}

static char message[512];

static struct ws_store *open_db(const char *name)
{
    struct ws_store *store = NULL;
    if (ws_store_open(&store, scratch_file(name), WS_STORE_WRITE, message, sizeof message) != 0) {
        WS_FAIL("cannot open the database: %s", message);
        exit(1);
    }
    return store;
}

/* Import bytes into a database of its own. */
static int import(const struct capture *c, const char *db, struct ws_import *out, struct seen *seen)
{
    struct ws_store *store = open_db(db);
    int err;
    write_file(scratch_file("capture.wscap"), c->bytes, c->used);
    *message = 0;
    err = ws_ingest_file(store, scratch_file("capture.wscap"), NULL, out, message, sizeof message);
    *seen = look(store);
    ws_store_close(store);
    return err;
}

/* HELLO, a device, two kernels with three launches (one of them replayed) and one profile with two metrics. */
static void put_body(struct capture *c, const char *agent, const char *token, const char *source)
{
    put_greeting(c, agent, token, source);
    put_gpu(c, 0, "GPU-1");
    put_text(c, 1, "_Z4copyPf");
    put_text(c, 2, "_Z4sortPf");
    put_text(c, 3, "gld_sectors");
    put_text(c, 4, "gst_sectors");
    put_launch(c, 1, 10, 1000, 1100);
    put_launch(c, 1, 10, 2000, 2300);
    put_launch(c, 2, 20, 0, 0);
    put_counters(c, 1, 2, 20);
    put_value(c, 1, 3, 64);
    put_no_value(c, 1, 4, WS_WHY_NOT_ON_CHIP);
}

static struct capture whole(const char *source)
{
    struct capture c = {0};
    capture_segment(&c, AGENT_A, 0);
    put_body(&c, AGENT_A, "token", source);
    put_end(&c);
    return c;
}

static void check_whole(const struct seen *s)
{
    CHECK_INT(s->sessions, 1);
    CHECK_INT(s->processes, 1);
    CHECK_INT(s->devices, 1);
    CHECK_INT(s->kernels, 2);
    CHECK_INT(s->launches, 3);
    CHECK_INT(s->timed, 2);
    CHECK_INT(s->total_ns, 400);
    CHECK_INT(s->activity_rows, 3);
    CHECK_INT(s->profiles, 1);
    CHECK_INT(s->metrics, 2);
    CHECK_INT(s->lost, 0);
    CHECK_INT(s->statuses, 0);
    CHECK(s->last_value == 64);
    CHECK(s->device_of_kernel != 0);
}

/* --- captures --- */

TEST(a_whole_capture_becomes_a_session)
{
    struct capture c = whole("measured");
    struct ws_import out;
    struct seen s;
    CHECK_INT(import(&c, "db", &out, &s), 0);
    check_whole(&s);
    CHECK_STR(s.source, "recorded");
    CHECK_STR(s.token, "token");
    CHECK_STR(s.name, "a name");
    CHECK_STR(s.argv, "[\"app\",\"--size\",\" 1 \"]");
    CHECK_INT(s.ended_ns, 9000000000);
    CHECK_INT(out.session, s.session);
    CHECK_INT(out.count.lost_frames, 0);
    CHECK_INT(out.count.launches, 3);
    free(c.bytes);
}

TEST(only_measured_becomes_recorded)
{
    static const char *const pairs[][2] = {{"modelled", "modelled"},
                                           {"synthetic", "synthetic"},
                                           {"imported", "imported"},
                                           {"recorded", "recorded"},
                                           {"some nonsense", "imported"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct capture c = whole(pairs[i][0]);
        struct ws_import out;
        struct seen s;
        unlink(scratch_file("db"));
        CHECK_INT(import(&c, "db", &out, &s), 0);
        CHECK_STR(s.source, pairs[i][1]);
        free(c.bytes);
    }
}

TEST(the_same_capture_twice_changes_nothing)
{
    struct capture c = whole("measured");
    struct ws_import out;
    struct seen s;
    CHECK_INT(import(&c, "db", &out, &s), 0);
    CHECK_INT(import(&c, "db", &out, &s), 0);
    check_whole(&s);
    CHECK_INT(out.session, 0);
    CHECK_INT(out.known_session, s.session);
    free(c.bytes);
}

TEST(a_capture_is_known_by_its_session_although_its_agent_is_new)
{
    struct capture a = whole("measured");
    struct capture b = {0};
    struct ws_import out;
    struct seen s;
    capture_segment(&b, AGENT_B, 0);
    put_body(&b, AGENT_B, "token", "measured");
    CHECK_INT(import(&a, "db", &out, &s), 0);
    CHECK_INT(import(&b, "db", &out, &s), 0);
    check_whole(&s);
    CHECK_INT(out.known_session, s.session);
    free(a.bytes);
    free(b.bytes);
}

TEST(two_processes_of_one_run_are_one_session)
{
    struct capture c = {0};
    struct ws_import out;
    struct seen s;
    struct ws_rec_run run = {.session_token = ws_text_of("token"),
                             .session_name = ws_text_of("from run"),
                             .exe = ws_text_of("/bin/torchrun"),
                             .argv = ws_text_of("torchrun"),
                             .started_ns = 5,
                             .ended_ns = 7,
                             .exit_status = 3};
    capture_segment(&c, AGENT_A, 0);
    put_body(&c, AGENT_A, "token", "measured");
    put_end(&c);
    c.seq = 0;
    capture_segment(&c, AGENT_B, 0);
    put_greeting(&c, AGENT_B, "token", "measured");
    put_gpu(&c, 0, "GPU-2");      /* the same ordinal, another board */
    put_text(&c, 1, "_Z4sortPf"); /* the same id, another text */
    put_launch(&c, 1, 20, 100, 150);
    put_end(&c);
    c.seq = 0;
    capture_segment(&c, "cccccccccccccccccccccccccccccccc", 0);
    put_run(&c, &run);
    CHECK_INT(import(&c, "db", &out, &s), 0);
    CHECK_INT(s.sessions, 1);
    CHECK_INT(s.processes, 2);
    CHECK_INT(s.devices, 2);
    CHECK_INT(s.kernels, 2);
    CHECK_INT(s.launches, 4);
    CHECK_STR(s.name, "from run");
    CHECK(s.has_exit);
    CHECK_INT(s.exit_status, 3);
    CHECK_INT(s.lost, 0);
    CHECK_INT(s.statuses, 0);
    CHECK_INT(out.sessions, 1);
    free(c.bytes);
}

TEST(a_capture_cut_at_any_byte_gives_what_is_whole)
{
    struct capture c = whole("measured");
    uint64_t before = 0;
    for (size_t cut = 0; cut < c.used; cut += cut < 400 ? 7 : 13) {
        struct capture part = c;
        struct ws_import out;
        struct seen s;
        int err;
        part.used = cut;
        unlink(scratch_file("db"));
        err = import(&part, "db", &out, &s);
        if (cut < c.frame_at[1]) {
            CHECK_INT(err, -WS_ECORRUPT);
            CHECK(strstr(message, "capture.wscap") != NULL);
            CHECK_INT(s.sessions, 0);
        } else {
            CHECK_INT(err, 0);
            CHECK(out.count.frames >= before && out.count.frames < c.frames);
            before = out.count.frames;
            CHECK_INT(s.sessions, 1);
            CHECK_STR(s.status, "process-ended-early");
            CHECK(s.launches <= 3 && s.metrics <= 2);
        }
    }
    free(c.bytes);
}

TEST(a_frame_cut_at_the_end_is_counted_as_lost)
{
    struct capture c = whole("measured");
    struct ws_import out;
    struct seen s;
    c.used -= 3;
    CHECK_INT(import(&c, "db", &out, &s), 0);
    CHECK_INT(out.count.lost_frames, 1);
    CHECK_INT(s.lost, 1);
    CHECK_STR(s.loss, "frame/damaged");
    CHECK_INT(s.launches, 3);
    free(c.bytes);
}

TEST(each_flipped_byte_costs_one_frame_and_no_more)
{
    struct capture c = whole("measured");
    for (unsigned f = 1; f + 1 < c.frames; f++) { /* not HELLO: a session without a name is another test */
        for (size_t at = c.frame_at[f]; at < c.frame_at[f + 1]; at += 5) {
            struct ws_import out;
            struct seen s;
            c.bytes[at] ^= 0x40;
            unlink(scratch_file("db"));
            CHECK_INT(import(&c, "db", &out, &s), 0);
            CHECK_INT(out.count.lost_frames, 1);
            CHECK_INT(out.count.frames, c.frames - 1);
            CHECK_INT(s.sessions, 1);
            CHECK(s.lost >= 1 && s.lost <= 3); /* texts that went with it cost their metrics, too */
            c.bytes[at] ^= 0x40;
        }
    }
    free(c.bytes);
}

TEST(a_lost_hello_leaves_the_agents_id_as_the_session)
{
    struct capture c = whole("measured");
    struct ws_import out;
    struct seen s;
    c.bytes[c.frame_at[0] + 40] ^= 1;
    CHECK_INT(import(&c, "db", &out, &s), 0);
    CHECK_STR(s.token, AGENT_A);
    CHECK_STR(s.source, "recorded");
    CHECK_INT(s.launches, 3);
    CHECK_INT(s.lost, 1);
    free(c.bytes);
}

TEST(frames_after_a_damaged_segment_header_are_not_given_to_another_agent)
{
    struct capture c = whole("measured");
    struct ws_import out;
    struct seen s;
    size_t second = c.used;
    c.seq = 0;
    capture_segment(&c, AGENT_B, 0);
    put_body(&c, AGENT_B, "token", "measured");
    c.bytes[second + 20] ^= 1; /* of the agent's id */
    CHECK_INT(import(&c, "db", &out, &s), 0);
    CHECK_INT(s.processes, 1);
    CHECK_INT(s.launches, 3);
    CHECK(out.count.lost_frames >= 12);
    free(c.bytes);
}

TEST(a_file_that_is_no_capture_is_refused)
{
    struct ws_import out;
    struct seen s;
    struct capture c = {0};
    memset(capture_room(&c, 3 << 20), 'W', 3 << 20);     /* more than the reading window */
    CHECK_INT(import(&c, "db", &out, &s), -WS_ECORRUPT); /* empty */
    c.used = 3 << 20;
    CHECK_INT(import(&c, "db", &out, &s), -WS_ECORRUPT);
    c.used = 0;
    capture_segment(&c, AGENT_A, 0); /* a header alone */
    CHECK_INT(import(&c, "db", &out, &s), -WS_ECORRUPT);
    CHECK_INT(s.sessions, 0);
    free(c.bytes);
}

TEST(a_missing_file_and_a_folder_are_refused)
{
    struct ws_store *store = open_db("db");
    struct ws_import out;
    CHECK_INT(ws_ingest_file(store, scratch_file("nothing"), NULL, &out, message, sizeof message), -WS_ENOENT);
    CHECK_INT(ws_ingest_file(store, scratch(), NULL, &out, message, sizeof message), -WS_EIO);
    ws_store_close(store);
}

static void make_other_major(uint8_t *header)
{
    uint32_t crc;
    header[8]++;
    crc = ws_crc32c(0, header, 60);
    for (int i = 0; i < 4; i++)
        header[60 + i] = (uint8_t)(crc >> (8 * i));
}

TEST(a_capture_of_another_major_version_is_refused_with_that_reason)
{
    struct capture c = whole("measured");
    struct ws_import out;
    struct seen s;
    make_other_major(c.bytes);
    CHECK_INT(import(&c, "db", &out, &s), -WS_EVERSION);
    CHECK(strstr(message, "another version") != NULL);
    CHECK_INT(s.sessions, 0);
    free(c.bytes);
}

TEST(an_optional_record_of_a_newer_collector_is_skipped_and_another_one_is_told)
{
    struct capture c = {0};
    struct ws_import out;
    struct seen s;
    static const uint8_t payload[8] = {4, 0, 0, 0, 1, 2, 3, 4};
    capture_segment(&c, AGENT_A, 0);
    put_body(&c, AGENT_A, "token", "measured");
    capture_frame(&c, 999, WS_WIRE_OPTIONAL, payload, sizeof payload, 1);
    put_end(&c);
    CHECK_INT(import(&c, "db", &out, &s), 0);
    check_whole(&s);
    c.used = c.frame_at[c.frames - 1];
    capture_frame(&c, 998, 0, payload, sizeof payload, 5);
    unlink(scratch_file("db"));
    CHECK_INT(import(&c, "db", &out, &s), 0);
    CHECK_INT(s.lost, 1 + 5); /* the cut BYE's number is missing, too */
    CHECK_INT(s.launches, 3);
    free(c.bytes);
}

TEST(a_gap_in_the_numbers_is_a_loss)
{
    struct capture c = {0};
    struct ws_import out;
    struct seen s;
    capture_segment(&c, AGENT_A, 0);
    put_body(&c, AGENT_A, "token", "measured");
    c.seq += 7;
    put_end(&c);
    CHECK_INT(import(&c, "db", &out, &s), 0);
    CHECK_INT(s.lost, 7);
    CHECK_STR(s.loss, "frame/gap");
    CHECK_INT(out.count.lost_frames, 7);
    free(c.bytes);
}

TEST(a_frame_that_comes_twice_counts_once)
{
    struct capture c = {0};
    struct ws_import out;
    struct seen s;
    capture_segment(&c, AGENT_A, 0);
    put_body(&c, AGENT_A, "token", "measured");
    c.seq--;
    put_launch(&c, 1, 10, 5000, 5100); /* has the number of the frame before */
    put_end(&c);
    CHECK_INT(import(&c, "db", &out, &s), 0);
    CHECK_INT(s.launches, 3);
    CHECK_STR(s.loss, "frame/out-of-order");
    free(c.bytes);
}

TEST(an_impossible_time_is_a_launch_without_time)
{
    static const int64_t spans[][2] = {{2000, 1000}, {-5, 10}, {1, INT64_MAX}, {INT64_MIN, INT64_MAX}, {0, 5}};
    struct capture c = {0};
    struct ws_import out;
    struct seen s;
    struct ws_rec_memcpy copy = {.start_ns = 9, .end_ns = 3, .bytes = 77};
    capture_segment(&c, AGENT_A, 0);
    put_greeting(&c, AGENT_A, "token", "measured");
    put_text(&c, 1, "k");
    for (size_t i = 0; i < 5; i++)
        put_launch(&c, 1, 1, spans[i][0], spans[i][1]);
    put_memcpy(&c, &copy);
    put_end(&c);
    CHECK_INT(import(&c, "db", &out, &s), 0);
    CHECK_INT(s.launches, 5);
    CHECK_INT(s.timed, 0);
    CHECK_INT(s.total_ns, 0);
    CHECK_INT(s.lost, 6);
    CHECK_INT(s.activity_rows, 5);
    free(c.bytes);
}

TEST(kernels_of_one_stream_that_overlap_are_believed_only_where_they_may)
{
    for (uint32_t cc = 8; cc <= 9; cc++) {
        struct capture c = {0};
        struct ws_import out;
        struct seen s;
        struct ws_rec_device gpu = {.name = ws_text_of("g"), .uuid = ws_text_of("GPU-1"), .cc_major = cc};
        struct ws_rec_kernel other;
        char db[8];
        capture_segment(&c, AGENT_A, 0);
        put_greeting(&c, AGENT_A, "token", "measured");
        put_device(&c, &gpu);
        put_text(&c, 1, "k");
        put_launch(&c, 1, 1, 100000, 200000);
        put_launch(&c, 1, 1, 150000, 250000); /* while the first runs */
        put_launch(&c, 1, 1, 199000, 300000); /* within what the clocks differ by */
        other = a_kernel(1, 1, 150000, 250000);
        other.stream = 8;
        put_kernel(&c, &other);
        other.stream = 7;
        other.graph = 3;
        put_kernel(&c, &other);
        put_end(&c);
        snprintf(db, sizeof db, "cc%u", cc);
        CHECK_INT(import(&c, db, &out, &s), 0);
        CHECK_INT(s.launches, 5);
        CHECK_INT(s.timed, cc == 8 ? 4 : 5);
        CHECK_INT(s.lost, cc == 8 ? 1 : 0);
        CHECK_INT(s.activity_rows, 5);
        free(c.bytes);
    }
}

TEST(a_record_with_fields_that_do_not_fit_costs_its_frame)
{
    struct capture c = {0};
    struct ws_import out;
    struct seen s;
    static const uint8_t payload[] = {5, 0, 0, 0, 1, 2, 3, 4, 5}; /* a KERNEL of 5 bytes: a field is cut */
    capture_segment(&c, AGENT_A, 0);
    put_body(&c, AGENT_A, "token", "measured");
    capture_frame(&c, WS_REC_KERNEL, 0, payload, sizeof payload, 4);
    put_end(&c);
    CHECK_INT(import(&c, "db", &out, &s), 0);
    CHECK_INT(s.launches, 3);
    CHECK_INT(s.lost, 4);
    CHECK_STR(s.loss, "kernel/bad-record");
    free(c.bytes);
}

TEST(a_metric_without_its_name_or_profile_is_a_loss)
{
    struct capture c = {0};
    struct ws_import out;
    struct seen s;
    capture_segment(&c, AGENT_A, 0);
    put_body(&c, AGENT_A, "token", "measured");
    put_value(&c, 1, 99, 5);
    put_value(&c, 77, 3, 5);
    put_end(&c);
    CHECK_INT(import(&c, "db", &out, &s), 0);
    CHECK_INT(s.metrics, 2);
    CHECK_INT(s.lost, 2);
    free(c.bytes);
}

TEST(processes_of_two_sources_in_one_session_are_told)
{
    struct capture c = whole("measured");
    struct ws_import out;
    struct seen s;
    c.seq = 0;
    capture_segment(&c, AGENT_B, 0);
    put_greeting(&c, AGENT_B, "token", "modelled");
    put_end(&c);
    CHECK_INT(import(&c, "db", &out, &s), 0);
    CHECK_STR(s.source, "recorded");
    CHECK_STR(s.status, "mixed-sources");
    free(c.bytes);
}

TEST(more_launches_than_a_blob_holds_are_several_blobs)
{
    struct capture c = {0};
    struct ws_import out;
    struct seen s;
    capture_segment(&c, AGENT_A, 0);
    put_greeting(&c, AGENT_A, "token", "measured");
    put_text(&c, 1, "k");
    for (int i = 0; i < 2 * WS_ACTIVITY_ROWS + 5; i++)
        put_launch(&c, 1, (uint32_t)(i % 300 + 1), 1000 + 10 * i, 1005 + 10 * i);
    put_end(&c);
    CHECK_INT(import(&c, "db", &out, &s), 0);
    CHECK_INT(s.launches, 2 * WS_ACTIVITY_ROWS + 5);
    CHECK_INT(s.activity_rows, 2 * WS_ACTIVITY_ROWS + 5);
    CHECK_INT(s.total_ns, 5 * (2 * WS_ACTIVITY_ROWS + 5));
    CHECK_INT(s.kernels, 300);
    free(c.bytes);
}

/* --- the spool --- */

static const char *segment_path(const char *token, const char *agent, unsigned number, const char *end)
{
    char name[256];
    snprintf(name, sizeof name, "spool/%s", token);
    (void)mkdir(scratch_file("spool"), 0700);
    (void)mkdir(scratch_file(name), 0700);
    snprintf(name, sizeof name, "spool/%s/%s", token, agent);
    (void)mkdir(scratch_file(name), 0700);
    snprintf(name, sizeof name, "spool/%s/%s/%08u.%s", token, agent, number, end);
    return scratch_file(name);
}

static struct ws_ingest ingest(const char *db, struct seen *seen)
{
    struct ws_store *store = open_db(db);
    struct ws_ingest out;
    CHECK_INT(ws_ingest_spool(store, scratch_file("spool"), NULL, &out), 0);
    *seen = look(store);
    ws_store_close(store);
    return out;
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

TEST(a_finished_spool_is_taken_once_and_removed)
{
    struct capture c = whole("measured");
    struct ws_ingest out;
    struct seen s;
    write_file(segment_path("token", AGENT_A, 0, "done"), c.bytes, c.used);
    CHECK_INT(ws_ingest_has_work(scratch_file("spool")), WS_SPOOL_FINISHED);
    out = ingest("db", &s);
    check_whole(&s);
    CHECK_STR(s.source, "measured");
    CHECK_INT(out.segments, 1);
    CHECK_INT(out.newest_session, s.session);
    CHECK(!exists(scratch_file("spool/token")));
    CHECK(exists(scratch_file("spool")));
    CHECK_INT(ws_ingest_has_work(scratch_file("spool")), WS_SPOOL_EMPTY);
    /* The same segment again, as if its removal had failed: its number is behind the cursor. */
    write_file(segment_path("token", AGENT_A, 0, "done"), c.bytes, c.used);
    out = ingest("db", &s);
    check_whole(&s);
    CHECK(!exists(scratch_file("spool/token/" AGENT_A "/00000000.done")));
    free(c.bytes);
}

TEST(no_spool_is_an_empty_spool)
{
    struct ws_ingest out;
    struct seen s;
    CHECK_INT(ws_ingest_has_work(scratch_file("spool")), WS_SPOOL_EMPTY);
    out = ingest("db", &s);
    CHECK_INT(out.count.frames, 0);
    CHECK_INT(s.sessions, 0);
}

TEST(a_segment_in_a_capture_and_in_the_spool_counts_once)
{
    struct capture c = whole("measured");
    struct ws_import imported;
    struct seen s;
    CHECK_INT(import(&c, "db", &imported, &s), 0);
    write_file(segment_path("token", AGENT_A, 0, "done"), c.bytes, c.used);
    ingest("db", &s);
    check_whole(&s);
    free(c.bytes);
}

TEST(a_living_writer_is_read_up_to_its_last_whole_frame_and_on_from_there)
{
    struct capture c = {0};
    struct ws_ingest out;
    struct seen s;
    const char *path = segment_path("token", AGENT_A, 0, "open");
    char done[512];
    int fd;
    size_t half;
    capture_segment(&c, AGENT_A, 0);
    put_body(&c, AGENT_A, "token", "measured");
    half = c.used;
    put_launch(&c, 2, 20, 7000, 7100); /* a text that was told in the first half */
    put_value(&c, 1, 4, 5);            /* a profile of the first half */
    put_end(&c);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0 && flock(fd, LOCK_EX) == 0);
    REQUIRE(write(fd, c.bytes, half + 10) == (ssize_t)half + 10);
    CHECK_INT(ws_ingest_has_work(scratch_file("spool")), WS_SPOOL_LIVE);
    for (int i = 0; i < 3; i++) { /* reading again changes nothing */
        out = ingest("db", &s);
        check_whole(&s);
        CHECK_INT(out.live, 1);
        CHECK_INT(out.segments, 0);
        CHECK(exists(path));
    }
    REQUIRE(write(fd, c.bytes + half + 10, c.used - half - 10) == (ssize_t)(c.used - half - 10));
    snprintf(done, sizeof done, "%.*sdone", (int)strlen(path) - 4, path);
    REQUIRE(rename(path, done) == 0);
    close(fd);
    out = ingest("db", &s);
    CHECK_INT(s.launches, 4);
    CHECK_INT(s.timed, 3);
    CHECK_INT(s.kernels, 2);
    CHECK_INT(s.metrics, 2);
    CHECK(s.last_value == 5);
    CHECK_INT(s.lost, 0);
    CHECK_INT(s.statuses, 0);
    CHECK(!exists(done));
    free(c.bytes);
}

TEST(a_killed_writers_segment_is_final_and_the_report_says_so)
{
    struct capture c = {0};
    struct ws_ingest out;
    struct seen s;
    const char *path = segment_path("token", AGENT_A, 0, "open");
    capture_segment(&c, AGENT_A, 0);
    put_body(&c, AGENT_A, "token", "measured");
    write_file(path, c.bytes, c.used); /* nobody holds the lock */
    CHECK_INT(ws_ingest_has_work(scratch_file("spool")), WS_SPOOL_FINISHED);
    out = ingest("db", &s);
    CHECK_INT(out.segments, 1);
    CHECK_INT(out.live, 0);
    CHECK_INT(s.launches, 3);
    CHECK_INT(s.lost, 0);
    CHECK_STR(s.status, "process-ended-early");
    CHECK(strstr(s.status_text, "4242") != NULL);
    CHECK(!exists(scratch_file("spool/token")));
    free(c.bytes);
}

TEST(a_writer_that_said_bye_but_did_not_rename_was_not_killed)
{
    struct capture c = whole("measured");
    const char *path = segment_path("token", AGENT_A, 0, "open");
    struct seen s;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0 && flock(fd, LOCK_EX) == 0);
    REQUIRE(write(fd, c.bytes, c.used) == (ssize_t)c.used);
    ingest("db", &s); /* BYE is read while the writer lives */
    close(fd);
    ingest("db", &s);
    check_whole(&s);
    CHECK(!exists(path));
    free(c.bytes);
}

/* --- code --- */

/* Code of which nothing is known but its crc. */
static void put_code(struct capture *c, uint64_t crc)
{
    struct ws_rec_cubin rec = {.crc = crc,
                               .size = 4,
                               .bytes = ws_text_n("\x7f"
                                                  "ELF",
                                                  4)};
    put_cubin(c, &rec);
}

static void put_sampled(struct capture *c, uint64_t crc)
{
    struct ws_rec_pc_sample rec = {.context = 1, .cubin = crc, .function = 1, .pc = 16, .reason = 2, .samples = 3};
    put_text(c, 2, "smsp__pcsamp_warps_issue_stalled_wait");
    put_pc_sample(c, &rec);
}

static int see_code(void *state, const struct ws_cubin_row *row)
{
    char *all = state;
    size_t n = strlen(all);
    snprintf(all + n, 64 - n, "%d ", (int)row->crc);
    return 0;
}

/* The crcs of the code that the session has. */
static const char *code_of(const char *db, int64_t session)
{
    static char all[64];
    struct ws_store *store = open_db(db);
    all[0] = 0;
    CHECK_INT(ws_store_each_cubin(store, session, see_code, all), 0);
    ws_store_close(store);
    return all;
}

static struct capture with_code(const char *agent, uint64_t first, uint64_t sampled)
{
    struct capture c = {0};
    capture_segment(&c, agent, 0);
    put_body(&c, agent, "token", "measured");
    put_code(&c, first);
    put_code(&c, first + 1);
    put_sampled(&c, sampled);
    return c;
}

TEST(code_without_samples_goes_when_the_last_process_has_ended)
{
    struct capture a = with_code(AGENT_A, 10, 11);
    struct capture b = with_code(AGENT_B, 20, 10); /* the other's code, loaded here as well */
    struct seen s;
    int fd = open(segment_path("token", AGENT_B, 0, "open"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0 && flock(fd, LOCK_EX) == 0);
    REQUIRE(write(fd, b.bytes, b.used) == (ssize_t)b.used);
    ingest("db", &s);
    put_end(&a);
    write_file(segment_path("token", AGENT_A, 0, "done"), a.bytes, a.used);
    ingest("db", &s);
    CHECK_STR(code_of("db", s.session), "10 11 20 21 "); /* the other one may still be sampled in any of it */
    close(fd);                                           /* killed */
    ingest("db", &s);
    CHECK_STR(code_of("db", s.session), "10 11 ");
    free(a.bytes);
    free(b.bytes);
}

TEST(a_captures_first_process_tells_of_the_code_that_a_later_one_was_sampled_in)
{
    struct capture c = with_code(AGENT_A, 10, 11);
    struct ws_import out;
    struct seen s;
    put_end(&c);
    c.seq = 0;
    capture_segment(&c, AGENT_B, 0);
    put_body(&c, AGENT_B, "token", "measured");
    put_sampled(&c, 10);
    put_code(&c, 20);
    put_end(&c);
    CHECK_INT(import(&c, "db", &out, &s), 0);
    CHECK_STR(code_of("db", s.session), "10 11 ");
    free(c.bytes);
}

TEST(a_segment_without_a_header_yet_is_left_alone)
{
    const char *path = segment_path("token", AGENT_A, 0, "open");
    struct ws_ingest out;
    struct seen s;
    write_file(path, "WSSE", 4);
    out = ingest("db", &s);
    CHECK_INT(out.live, 1);
    CHECK(exists(path));
}

TEST(a_profile_and_its_metrics_may_lie_in_two_segments)
{
    struct capture c = {0};
    struct seen s;
    size_t second;
    capture_segment(&c, AGENT_A, 0);
    put_body(&c, AGENT_A, "token", "measured");
    second = c.used;
    capture_segment(&c, AGENT_A, 1);
    put_greeting(&c, AGENT_A, "token", "measured");
    put_text(&c, 9, "dram_read_bytes"); /* another id space */
    put_value(&c, 1, 9, 128);
    put_end(&c);
    write_file(segment_path("token", AGENT_A, 0, "done"), c.bytes, second);
    write_file(segment_path("token", AGENT_A, 1, "done"), c.bytes + second, c.used - second);
    ingest("db", &s);
    CHECK_INT(s.metrics, 3);
    CHECK_INT(s.profiles, 1);
    CHECK_INT(s.processes, 1);
    CHECK_INT(s.lost, 0);
    free(c.bytes);
}

TEST(a_missing_segment_is_a_gap)
{
    struct capture c = {0};
    struct seen s;
    size_t third;
    capture_segment(&c, AGENT_A, 0);
    put_body(&c, AGENT_A, "token", "measured");
    write_file(segment_path("token", AGENT_A, 0, "done"), c.bytes, c.used);
    put_launch(&c, 1, 10, 5000, 5100); /* in the segment that is missing */
    third = c.used;
    capture_segment(&c, AGENT_A, 2);
    put_end(&c);
    write_file(segment_path("token", AGENT_A, 2, "done"), c.bytes + third, c.used - third);
    ingest("db", &s);
    CHECK_INT(s.lost, 1);
    CHECK_STR(s.loss, "frame/gap");
    CHECK(!exists(scratch_file("spool/token")));
    free(c.bytes);
}

TEST(damage_in_a_living_segment_waits_until_it_is_final)
{
    struct capture c = {0};
    const char *path = segment_path("token", AGENT_A, 0, "open");
    struct seen s;
    int fd;
    capture_segment(&c, AGENT_A, 0);
    put_body(&c, AGENT_A, "token", "measured");
    put_end(&c);
    c.bytes[c.frame_at[6] + 30] ^= 1; /* the first launch */
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0 && flock(fd, LOCK_EX) == 0);
    REQUIRE(write(fd, c.bytes, c.used) == (ssize_t)c.used);
    ingest("db", &s);
    CHECK_INT(s.launches, 0);
    CHECK_INT(s.lost, 0);
    close(fd);
    ingest("db", &s);
    CHECK_INT(s.launches, 2);
    CHECK_INT(s.lost, 1);
    free(c.bytes);
}

TEST(a_segment_of_another_major_version_is_kept)
{
    struct capture c = whole("measured");
    const char *path = segment_path("token", AGENT_A, 0, "done");
    struct ws_ingest out;
    struct seen s;
    make_other_major(c.bytes);
    write_file(path, c.bytes, c.used);
    out = ingest("db", &s);
    CHECK_INT(out.kept, 1);
    CHECK_INT(s.sessions, 0);
    CHECK(exists(path));
    free(c.bytes);
}

TEST(a_segment_that_claims_to_be_another_agents_is_kept)
{
    struct capture c = whole("measured");
    struct ws_ingest out;
    struct seen s;
    write_file(segment_path("token", AGENT_B, 0, "done"), c.bytes, c.used);
    out = ingest("db", &s);
    CHECK_INT(out.kept, 1);
    CHECK_INT(s.sessions, 0);
    free(c.bytes);
}

TEST(a_link_in_the_spool_is_not_followed)
{
    struct capture c = whole("measured");
    struct seen s;
    write_file(scratch_file("elsewhere"), c.bytes, c.used);
    REQUIRE(symlink(scratch_file("elsewhere"), segment_path("token", AGENT_A, 0, "done")) == 0);
    ingest("db", &s);
    CHECK_INT(s.sessions, 0);
    CHECK(exists(scratch_file("elsewhere")));
    free(c.bytes);
}

TEST(a_spool_that_everybody_may_write_is_not_taken)
{
    struct capture c = whole("measured");
    const char *path = segment_path("token", AGENT_A, 0, "done");
    char folder[600];
    struct seen s;
    write_file(path, c.bytes, c.used);
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    REQUIRE(chmod(folder, 0777) == 0);
    ingest("db", &s);
    CHECK_INT(s.sessions, 0);
    CHECK(exists(path));
    REQUIRE(chmod(folder, 0700) == 0);
    ingest("db", &s);
    CHECK_INT(s.sessions, 1);
    free(c.bytes);
}

TEST(strangers_files_in_the_spool_are_left_alone)
{
    struct capture c = whole("measured");
    struct seen s;
    (void)mkdir(scratch_file("spool"), 0700);
    write_file(scratch_file("spool/note"), "x", 1);
    (void)mkdir(scratch_file("spool/.hidden"), 0700);
    write_file(segment_path("token", AGENT_A, 0, "done"), c.bytes, c.used);
    write_file(scratch_file("spool/token/" AGENT_A "/mine.txt"), "x", 1);
    ingest("db", &s);
    check_whole(&s);
    CHECK(exists(scratch_file("spool/token/" AGENT_A "/mine.txt")));
    CHECK(exists(scratch_file("spool/note")));
    free(c.bytes);
}

TEST(a_reader_killed_anywhere_neither_loses_nor_doubles)
{
    enum { SEGMENTS = 40, EACH = 50 };
    struct seen s;
    struct capture c = {0};
    for (unsigned n = 0; n < SEGMENTS; n++) {
        size_t from = c.used;
        capture_segment(&c, AGENT_A, n);
        put_greeting(&c, AGENT_A, "token", "measured");
        put_text(&c, 1, "k");
        for (int i = 0; i < EACH; i++)
            put_launch(&c, 1, 1, 1000, 1001);
        if (n == SEGMENTS - 1)
            put_end(&c);
        write_file(segment_path("token", AGENT_A, n, "done"), c.bytes + from, c.used - from);
    }
    for (int round = 0; round < 25; round++) {
        pid_t pid = fork();
        if (pid == 0) {
            struct ws_store *store;
            struct ws_ingest out;
            if (ws_store_open(&store, scratch_file("db"), WS_STORE_WRITE, message, sizeof message) == 0 &&
                ws_ingest_spool(store, scratch_file("spool"), NULL, &out) == 0)
                ws_store_close(store);
            _exit(0);
        }
        usleep((useconds_t)(500 + 700 * round));
        kill(pid, SIGKILL);
        CHECK_INT(waitpid(pid, NULL, 0), pid);
    }
    ingest("db", &s);
    CHECK_INT(s.launches, SEGMENTS * EACH);
    CHECK_INT(s.activity_rows, SEGMENTS * EACH);
    CHECK_INT(s.lost, 0);
    CHECK_INT(s.statuses, 0);
    CHECK(!exists(scratch_file("spool/token")));
    free(c.bytes);
}

TEST(sessions_of_the_spool_are_numbered_by_their_age_and_not_by_their_name)
{
    struct capture a = {0}, b = {0};
    struct seen s;
    const struct timespec old[2] = {{1000, 0}, {1000, 0}};
    capture_segment(&a, AGENT_A, 0);
    put_body(&a, AGENT_A, "aaa", "measured");
    put_end(&a);
    capture_segment(&b, AGENT_B, 0);
    put_body(&b, AGENT_B, "zzz", "measured");
    put_end(&b);
    write_file(segment_path("aaa", AGENT_A, 0, "done"), a.bytes, a.used);
    write_file(segment_path("zzz", AGENT_B, 0, "done"), b.bytes, b.used);
    REQUIRE(utimensat(AT_FDCWD, scratch_file("spool/zzz"), old, 0) == 0);
    ingest("db", &s);
    CHECK_INT(s.sessions, 2);
    CHECK_STR(s.token, "zzz"); /* the last that is listed, newest first, is the oldest */
    free(a.bytes);
    free(b.bytes);
}
