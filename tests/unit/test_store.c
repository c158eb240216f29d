/* SPDX-License-Identifier: MIT
 * test_store.c: the database as a file (who may write, what is refused, what is moved aside) and rows. */
#include "../../analyzer/err.h"
#include "../../server/store.h"
#include "capture.h"
#include "test.h"

#include <dirent.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/prctl.h>

static char message[512];

static int open_store(struct ws_store **out, const char *path, unsigned flags)
{
    *out = NULL;
    *message = 0;
    return ws_store_open(out, path, flags, message, sizeof message);
}

/* A database with one session at path. */
static void make_database(const char *path)
{
    struct ws_store *s;
    int64_t id;
    REQUIRE(open_store(&s, path, WS_STORE_WRITE) == 0);
    REQUIRE(ws_store_begin(s) == 0);
    REQUIRE(ws_store_add_session(s, ws_text_of("token"), "measured", &id) == 0);
    REQUIRE(ws_store_commit(s) == 0);
    ws_store_close(s);
}

static void change(const char *path, const char *sql)
{
    sqlite3 *db;
    REQUIRE(sqlite3_open(path, &db) == SQLITE_OK);
    CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static unsigned files_like(const char *part)
{
    DIR *dir = opendir(scratch());
    const struct dirent *e;
    unsigned n = 0;
    while (dir && (e = readdir(dir)) != NULL)
        n += strstr(e->d_name, part) != NULL;
    closedir(dir);
    return n;
}

static int count_session(void *state, const struct ws_session_row *row)
{
    (void)row;
    ++*(int *)state;
    return 0;
}

static int sessions_in(struct ws_store *s)
{
    int n = 0;
    CHECK_INT(ws_store_each_session(s, count_session, &n), 0);
    return n;
}

TEST(schema_and_statements_agree)
{
    struct ws_store *s;
    CHECK_INT(ws_store_schema_version(), 4);
    REQUIRE(open_store(&s, scratch_file("db"), WS_STORE_WRITE) == 0); /* prepares every statement */
    ws_store_close(s);
}

TEST(a_missing_file_reads_as_an_empty_database_and_is_not_made)
{
    const char *path = scratch_file("no/such/db");
    struct ws_store *s;
    int64_t id;
    REQUIRE(open_store(&s, path, WS_STORE_READ) == 0);
    CHECK_INT(sessions_in(s), 0);
    CHECK_INT(ws_store_find_session(s, NULL, &id), -WS_ENOENT);
    ws_store_close(s);
    CHECK(access(path, F_OK) != 0);
}

TEST(an_empty_file_reads_as_an_empty_database)
{
    const char *path = scratch_file("db");
    struct ws_store *s;
    write_file(path, "", 0);
    REQUIRE(open_store(&s, path, WS_STORE_READ) == 0);
    CHECK_INT(sessions_in(s), 0);
    ws_store_close(s);
    REQUIRE(open_store(&s, path, WS_STORE_WRITE) == 0);
    ws_store_close(s);
}

TEST(a_path_that_cannot_be_made_is_an_error)
{
    struct ws_store *s;
    write_file(scratch_file("file"), "x", 1);
    CHECK(open_store(&s, scratch_file("file/db"), WS_STORE_READ) != 0);
    CHECK(strstr(message, "file") != NULL);
    CHECK(open_store(&s, scratch_file("file/db"), WS_STORE_WRITE) != 0);
    CHECK_INT(open_store(&s, scratch(), WS_STORE_READ), -WS_EINVAL); /* a folder */
    CHECK(open_store(&s, "/proc/no-such-folder/db", WS_STORE_READ) != 0);
}

TEST(files_are_for_their_owner_only)
{
    const char *path = scratch_file("new/folder/db");
    struct stat st;
    umask(0);
    make_database(path);
    REQUIRE(stat(path, &st) == 0);
    CHECK_INT(st.st_mode & 0777, 0600);
    REQUIRE(stat(scratch_file("new/folder/db.lock"), &st) == 0);
    CHECK_INT(st.st_mode & 0777, 0600);
    REQUIRE(stat(scratch_file("new/folder"), &st) == 0);
    CHECK_INT(st.st_mode & 0777, 0700);
    REQUIRE(stat(scratch_file("new"), &st) == 0);
    CHECK_INT(st.st_mode & 0777, 0700);
}

TEST(two_writers_cannot_be)
{
    const char *path = scratch_file("db");
    struct ws_store *a, *b;
    REQUIRE(open_store(&a, path, WS_STORE_WRITE) == 0);
    CHECK_INT(open_store(&b, path, WS_STORE_WRITE), -WS_EBUSY);
    CHECK(strstr(message, "pid") != NULL);
    ws_store_close(a);
    CHECK_INT(open_store(&b, path, WS_STORE_WRITE), 0);
    ws_store_close(b);
}

TEST(two_names_of_one_database_share_its_lock)
{
    struct ws_store *a, *b;
    make_database(scratch_file("db"));
    REQUIRE(symlink(scratch_file("db"), scratch_file("link")) == 0);
    REQUIRE(open_store(&a, scratch_file("link"), WS_STORE_WRITE) == 0);
    CHECK_INT(open_store(&b, scratch_file("db"), WS_STORE_WRITE), -WS_EBUSY);
    ws_store_close(a);
}

TEST(a_reader_sees_what_was_committed_while_a_writer_works)
{
    const char *path = scratch_file("db");
    struct ws_store *w, *r;
    int64_t id;
    make_database(path);
    REQUIRE(open_store(&w, path, WS_STORE_WRITE) == 0);
    REQUIRE(ws_store_begin(w) == 0);
    REQUIRE(ws_store_add_session(w, ws_text_of("second"), "measured", &id) == 0);
    REQUIRE(open_store(&r, path, WS_STORE_READ) == 0);
    CHECK_INT(sessions_in(r), 1);
    REQUIRE(ws_store_commit(w) == 0);
    CHECK_INT(sessions_in(r), 2);
    ws_store_close(r);
    ws_store_close(w);
}

TEST(a_reader_cannot_write)
{
    struct ws_store *s;
    int64_t id;
    make_database(scratch_file("db"));
    REQUIRE(open_store(&s, scratch_file("db"), WS_STORE_READ) == 0);
    CHECK(ws_store_add_session(s, ws_text_of("x"), "measured", &id) != 0);
    ws_store_close(s);
}

TEST(a_newer_database_is_refused_and_left_alone)
{
    const char *path = scratch_file("db");
    struct ws_store *s;
    make_database(path);
    change(path, "PRAGMA user_version = 99");
    CHECK_INT(open_store(&s, path, WS_STORE_READ), -WS_EVERSION);
    CHECK(strstr(message, "newer") != NULL);
    CHECK_INT(open_store(&s, path, WS_STORE_WRITE | WS_STORE_MOVE_CORRUPT), -WS_EVERSION);
    CHECK_INT(files_like("corrupt"), 0);
}

/* What makes today's schema the older one: schema.sql says since when a thing is there. */
#define TO_SCHEMA_3                                                                                                \
    "DROP TABLE collection; DROP TABLE decision; DROP TABLE budget; DROP TABLE pm_samples; DROP TABLE pm_series; " \
    "DROP TABLE pc_sampling; "                                                                                     \
    "DROP TABLE pc_sample; DROP TABLE cubin; "
static const char to_schema_3[] = TO_SCHEMA_3 "PRAGMA user_version = 3";
static const char to_schema_2[] = TO_SCHEMA_3 "DROP TABLE instruction; PRAGMA user_version = 2";
static const char to_schema_1[] =
    TO_SCHEMA_3 "DROP TABLE instruction; ALTER TABLE profile DROP COLUMN started_ns; PRAGMA user_version = 1";

TEST(an_older_database_is_brought_up_to_date_by_whoever_opens_it)
{
    const char *path = scratch_file("db");
    struct ws_store *s;
    make_database(path);
    change(path, to_schema_1);
    REQUIRE(open_store(&s, path, WS_STORE_READ) == 0);
    CHECK_INT(sessions_in(s), 1);
    ws_store_close(s);
    change(path, to_schema_1);
    REQUIRE(open_store(&s, path, WS_STORE_WRITE) == 0);
    CHECK_INT(sessions_in(s), 1);
    ws_store_close(s);
    change(path, to_schema_2);
    REQUIRE(open_store(&s, path, WS_STORE_READ) == 0);
    CHECK_INT(sessions_in(s), 1);
    ws_store_close(s);
    change(path, to_schema_3);
    REQUIRE(open_store(&s, path, WS_STORE_READ) == 0);
    CHECK_INT(sessions_in(s), 1);
    ws_store_close(s);
}

/* Every table and column of a database as one text; free it. */
static char *shape_of(const char *path)
{
    static const char sql[] =
        "SELECT group_concat(line, char(10)) FROM (SELECT m.name || ' ' || p.cid || ' ' || p.name "
        "|| ' ' || p.type || ' ' || p.\"notnull\" || ' ' || p.pk || ' ' || ifnull(p.dflt_value, '') "
        "AS line FROM sqlite_schema m, pragma_table_info(m.name) p WHERE m.type = 'table' "
        "ORDER BY m.name, p.cid)";
    sqlite3 *db;
    sqlite3_stmt *st;
    char *shape;
    CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
    CHECK_INT(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
    CHECK_INT(sqlite3_step(st), SQLITE_ROW);
    shape = strdup((const char *)sqlite3_column_text(st, 0));
    sqlite3_finalize(st);
    sqlite3_close(db);
    return shape;
}

TEST(a_database_brought_up_to_date_has_the_tables_of_a_new_one)
{
    const char *path = scratch_file("db");
    struct ws_store *s;
    char *made;
    char *upgraded;
    make_database(path);
    made = shape_of(path);
    change(path, to_schema_1);
    REQUIRE(open_store(&s, path, WS_STORE_WRITE) == 0);
    ws_store_close(s);
    upgraded = shape_of(path);
    CHECK(strstr(made, "instruction 0 kernel_id INTEGER 1 1") != NULL);
    CHECK(strstr(made, "budget 0 process_id INTEGER 0 1") != NULL);
    CHECK_STR(upgraded, made);
    free(made);
    free(upgraded);
}

struct told {
    unsigned rows;
    uint64_t launches, sectors, bytes;
};

static int count_instruction(void *state, const struct ws_instruction_row *row)
{
    struct told *t = state;
    t->rows++;
    t->launches += row->rec.launches;
    t->sectors += row->rec.sectors;
    t->bytes += row->rec.bytes;
    CHECK_STR(row->opcode, "ld.global.f32");
    CHECK_STR(row->file, row->rec.at == 7 ? "/src/k.cu" : "");
    return 0;
}

static int64_t put_kernel_of(struct ws_store *s, const char *token, uint32_t grid, int64_t *process)
{
    struct ws_rec_signature sig = {.device = 0xffffffffu, .grid_x = grid, .grid_y = 1, .grid_z = 1, .block_x = 1};
    char agent[33] = AGENT_A;
    int64_t session = 0;
    int64_t kernel = 0;
    agent[0] = *token;
    if (ws_store_find_token(s, ws_text_of(token), &session) != 0)
        CHECK_INT(ws_store_add_session(s, ws_text_of(token), "modelled", &session), 0);
    CHECK_INT(ws_store_put_process(s, session, agent, 1, NULL, process), 0);
    CHECK_INT(ws_store_put_kernel(s, session, 0, ws_text_of("_Z1kPf"), &sig, &kernel), 0);
    return kernel;
}

TEST(what_instructions_did_adds_up_and_stands_for_the_same_launch_in_other_sessions)
{
    struct ws_rec_instruction rec = {.code = WS_CODE_PTX, .at = 7, .space = WS_SPACE_GLOBAL, .line = 3};
    struct told told = {0, 0, 0, 0};
    struct ws_store *s;
    struct ws_store *copy;
    int64_t process;
    int64_t known;
    int64_t alike;
    int64_t other_shape;
    int64_t opcode = 0;
    int64_t file = 0;
    int64_t found = 0;
    int64_t session = 0;
    REQUIRE(open_store(&s, scratch_file("db"), WS_STORE_WRITE) == 0);
    REQUIRE(ws_store_begin(s) == 0);
    alike = put_kernel_of(s, "b measured", 5, &process);
    other_shape = put_kernel_of(s, "b measured", 6, &process);
    known = put_kernel_of(s, "a modelled", 5, &process);
    CHECK_INT(ws_store_find_instructions(s, known, &found, &session), -WS_ENOENT);
    CHECK_INT(ws_store_put_text(s, ws_text_of("ld.global.f32"), &opcode), 0);
    CHECK_INT(ws_store_put_text(s, ws_text_of("/src/k.cu"), &file), 0);
    rec.launches = 1;
    rec.sectors = 40;
    CHECK_INT(ws_store_add_instruction(s, process, known, opcode, file, &rec), 0);
    rec.sectors = 2;
    rec.bytes = UINT64_MAX; /* a hostile count must not overflow a sum */
    CHECK_INT(ws_store_add_instruction(s, process, known, opcode, file, &rec), 0);
    CHECK_INT(ws_store_add_instruction(s, process, known, opcode, file, &rec), 0);
    rec.at = 8;
    CHECK_INT(ws_store_add_instruction(s, process, known, opcode, 0, &rec), 0);
    CHECK_INT(ws_store_each_instruction(s, known, count_instruction, &told), 0);
    CHECK_INT(told.rows, 2);
    CHECK_INT(told.launches, 4);
    CHECK_INT(told.sectors, 46);
    CHECK_INT(told.bytes, 2ull << 53);
    CHECK_INT(ws_store_find_instructions(s, known, &found, &session), 0);
    CHECK_INT(found, known);
    CHECK_INT(ws_store_find_instructions(s, alike, &found, &session), 0);
    CHECK_INT(found, known);
    CHECK_INT(ws_store_find_instructions(s, other_shape, &found, &session), -WS_ENOENT);
    REQUIRE(ws_store_commit(s) == 0);
    /* A copy of the session has them, with their texts; they go with their session. */
    CHECK_INT(ws_store_copy_session(s, session, scratch_file("copy")), 0);
    REQUIRE(open_store(&copy, scratch_file("copy"), WS_STORE_READ) == 0);
    memset(&told, 0, sizeof told);
    CHECK_INT(ws_store_each_instruction(copy, known, count_instruction, &told), 0);
    CHECK_INT(told.rows, 2);
    ws_store_close(copy);
    CHECK_INT(ws_store_delete_session(s, session), 0);
    CHECK_INT(ws_store_find_instructions(s, alike, &found, &session), -WS_ENOENT);
    ws_store_close(s);
}

struct sampled {
    unsigned rows;
    uint64_t samples, most;
};

static int count_sample(void *state, const struct ws_pc_sample_row *row)
{
    struct sampled *t = state;
    t->rows++;
    t->samples += row->samples;
    t->most = row->samples > t->most ? row->samples : t->most;
    CHECK_STR(row->function, "_Z1kPf");
    CHECK_STR(row->reason, "stalled_wait");
    return 0;
}

static struct sampled samples_of(struct ws_store *s, int64_t kernel)
{
    struct sampled t = {0, 0, 0};
    CHECK_INT(ws_store_each_pc_sample_of(s, kernel, count_sample, &t), 0);
    return t;
}

TEST(pc_samples_add_up_over_the_launch_shapes_and_processes_of_a_function)
{
    struct ws_rec_pc_sample rec = {.context = 1, .cubin = UINT64_MAX, .pc = 16, .samples = 5};
    struct ws_store *s;
    struct ws_store *copy;
    int64_t process, second, kernel, other_shape, elsewhere;
    int64_t function = 0, reason = 0, session = 0;
    REQUIRE(open_store(&s, scratch_file("db"), WS_STORE_WRITE) == 0);
    REQUIRE(ws_store_begin(s) == 0);
    elsewhere = put_kernel_of(s, "b", 5, &process);
    kernel = put_kernel_of(s, "a", 5, &process);
    other_shape = put_kernel_of(s, "a", 6, &process);
    CHECK_INT(ws_store_find_token(s, ws_text_of("a"), &session), 0);
    CHECK_INT(ws_store_put_process(s, session, "cccccccccccccccccccccccccccccccc", 2, NULL, &second), 0);
    CHECK_INT(ws_store_put_text(s, ws_text_of("_Z1kPf"), &function), 0);
    CHECK_INT(ws_store_put_text(s, ws_text_of("stalled_wait"), &reason), 0);
    CHECK_INT(ws_store_add_pc_sample(s, process, function, reason, &rec), 0);
    CHECK_INT(ws_store_add_pc_sample(s, process, function, reason, &rec), 0);
    rec.context = 2; /* another GPU's */
    CHECK_INT(ws_store_add_pc_sample(s, process, function, reason, &rec), 0);
    CHECK_INT(ws_store_add_pc_sample(s, second, function, reason, &rec), 0);
    rec.pc = 32;
    rec.samples = UINT64_MAX; /* a hostile count must not overflow a sum */
    CHECK_INT(ws_store_add_pc_sample(s, process, function, reason, &rec), 0);
    CHECK_INT(ws_store_add_pc_sample(s, second, function, reason, &rec), 0);
    REQUIRE(ws_store_commit(s) == 0);
    CHECK_INT(samples_of(s, kernel).rows, 2);
    CHECK_INT(samples_of(s, kernel).samples, 20 + (1ull << 53));
    CHECK_INT(samples_of(s, other_shape).rows, 2);
    CHECK_INT(samples_of(s, elsewhere).rows, 0);
    CHECK_INT(ws_store_copy_session(s, session, scratch_file("copy")), 0);
    REQUIRE(open_store(&copy, scratch_file("copy"), WS_STORE_READ) == 0);
    CHECK_INT(samples_of(copy, kernel).samples, 20 + (1ull << 53));
    ws_store_close(copy);
    ws_store_close(s);
}

static int put_part(struct ws_store *s, int64_t session, uint64_t crc, uint64_t size, uint64_t offset,
                    const char *bytes)
{
    struct ws_rec_cubin rec = {.crc = crc, .size = size, .offset = offset, .bytes = ws_text_of(bytes)};
    return ws_store_put_cubin(s, session, &rec);
}

TEST(a_cubin_is_given_whole_or_not_at_all)
{
    struct ws_store *s;
    int64_t session = 0;
    int64_t other = 0;
    uint8_t *bytes = NULL;
    size_t length = 0;
    REQUIRE(open_store(&s, scratch_file("db"), WS_STORE_WRITE) == 0);
    REQUIRE(ws_store_begin(s) == 0);
    CHECK_INT(ws_store_add_session(s, ws_text_of("a"), "measured", &session), 0);
    CHECK_INT(ws_store_add_session(s, ws_text_of("b"), "measured", &other), 0);
    CHECK_INT(put_part(s, session, 7, 6, 4, "ef"), 0);
    CHECK_INT(ws_store_get_cubin(s, session, 7, &bytes, &length), -WS_ESHORT);
    CHECK_INT(put_part(s, session, 7, 6, 0, "abcd"), 0);
    CHECK_INT(put_part(s, session, 7, 6, 0, "ABCD"), 0); /* a second process loaded it, too: the first one stands */
    REQUIRE(ws_store_get_cubin(s, session, 7, &bytes, &length) == 0);
    CHECK_INT(length, 6);
    CHECK(memcmp(bytes, "abcdef", 6) == 0);
    free(bytes);
    CHECK_INT(ws_store_get_cubin(s, other, 7, &bytes, &length), -WS_ENOENT);
    CHECK_INT(put_part(s, session, 8, 99000000, 0, ""), 0);
    CHECK_INT(ws_store_get_cubin(s, session, 8, &bytes, &length), -WS_ELIMIT);
    CHECK_INT(put_part(s, session, 9, 6, 0, "abcd"), 0);
    CHECK_INT(ws_store_get_cubin(s, session, 9, &bytes, &length), -WS_ESHORT);
    CHECK_INT(put_part(s, session, 10, 2, 0, "abcd"), 0); /* more than it says to be */
    CHECK_INT(ws_store_get_cubin(s, session, 10, &bytes, &length), -WS_ESHORT);
    CHECK_INT(put_part(s, session, 11, 1ull << 60, 0, "abcd"), 0);
    CHECK_INT(ws_store_get_cubin(s, session, 11, &bytes, &length), -WS_ELIMIT);
    REQUIRE(ws_store_commit(s) == 0);
    CHECK_INT(ws_store_delete_session(s, session), 0);
    CHECK_INT(ws_store_get_cubin(s, session, 7, &bytes, &length), -WS_ENOENT);
    ws_store_close(s);
}

TEST(another_programs_database_is_refused_and_left_alone)
{
    const char *path = scratch_file("db");
    struct ws_store *s;
    change(path, "CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES ('soup')");
    CHECK_INT(open_store(&s, path, WS_STORE_READ), -WS_EINVAL);
    CHECK_INT(open_store(&s, path, WS_STORE_WRITE | WS_STORE_MOVE_CORRUPT), -WS_EINVAL);
    CHECK_INT(files_like("corrupt"), 0);
    change(path, "DELETE FROM recipes"); /* still theirs */
}

/* Readers say so; a writer that may moves it aside; what is there then works. */
static void check_corrupt(const char *path)
{
    struct ws_store *s;
    struct stat before, after;
    REQUIRE(stat(path, &before) == 0);
    CHECK_INT(open_store(&s, path, WS_STORE_READ), -WS_ECORRUPT);
    CHECK_INT(open_store(&s, path, WS_STORE_WRITE), -WS_ECORRUPT);
    REQUIRE(stat(path, &after) == 0);
    CHECK_INT(after.st_size, before.st_size);
    CHECK_INT(files_like("corrupt"), 0);
    REQUIRE(open_store(&s, path, WS_STORE_WRITE | WS_STORE_MOVE_CORRUPT) == 0);
    CHECK_INT(sessions_in(s), 0);
    ws_store_close(s);
    CHECK(files_like("corrupt") > 0);
    CHECK_INT(open_store(&s, path, WS_STORE_READ), 0);
    ws_store_close(s);
}

TEST(a_file_of_garbage_is_moved_aside_by_a_writer_only)
{
    char junk[8192];
    for (size_t i = 0; i < sizeof junk; i++)
        junk[i] = (char)(i * 7 + 1);
    write_file(scratch_file("db"), junk, sizeof junk);
    check_corrupt(scratch_file("db"));
}

TEST(a_truncated_database_is_moved_aside_by_a_writer_only)
{
    make_database(scratch_file("db"));
    REQUIRE(truncate(scratch_file("db"), 6000) == 0);
    check_corrupt(scratch_file("db"));
}

TEST(a_database_with_a_damaged_page_is_moved_aside_by_a_writer_only)
{
    const char *path = scratch_file("db");
    char junk[4096];
    int fd;
    make_database(path);
    memset(junk, 0x5a, sizeof junk);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    for (off_t page = 4; page < 12; page++)
        REQUIRE(pwrite(fd, junk, sizeof junk, page * 4096) == (ssize_t)sizeof junk);
    close(fd);
    check_corrupt(path);
}

TEST(what_a_killed_writer_committed_is_there)
{
    const char *path = scratch_file("db");
    struct ws_store *s;
    int status;
    pid_t pid;
    make_database(path);
    pid = fork();
    if (pid == 0) {
        int64_t id;
        if (open_store(&s, path, WS_STORE_WRITE) == 0 && ws_store_begin(s) == 0 &&
            ws_store_add_session(s, ws_text_of("committed"), "measured", &id) == 0 && ws_store_commit(s) == 0 &&
            ws_store_begin(s) == 0 && ws_store_add_session(s, ws_text_of("not"), "measured", &id) == 0)
            kill(getpid(), SIGKILL);
        _exit(1);
    }
    REQUIRE(waitpid(pid, &status, 0) == pid);
    REQUIRE(WIFSIGNALED(status));
    REQUIRE(open_store(&s, path, WS_STORE_READ) == 0);
    CHECK_INT(sessions_in(s), 2);
    ws_store_close(s);
    REQUIRE(open_store(&s, path, WS_STORE_WRITE) == 0);
    CHECK_INT(sessions_in(s), 2);
    ws_store_close(s);
}

TEST(a_database_in_a_folder_that_nobody_may_write_is_readable)
{
    char folder[] = "/tmp/warpsight-test-XXXXXX"; /* not in the scratch folder: nobody may not look into that */
    char path[64];
    struct ws_store *s;
    /* Root may write everywhere. */
    if (geteuid() == 0)
        REQUIRE(seteuid(65534) == 0);
    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/db", folder);
    make_database(path);
    REQUIRE(chmod(folder, 0500) == 0);
    REQUIRE(open_store(&s, path, WS_STORE_READ) == 0);
    CHECK_INT(sessions_in(s), 1);
    ws_store_close(s);
    CHECK(open_store(&s, path, WS_STORE_WRITE) != 0); /* no place for a log */
    CHECK_INT(chmod(folder, 0700), 0);
    unlink(path);
    snprintf(path, sizeof path, "%s/db.lock", folder);
    unlink(path);
    CHECK_INT(rmdir(folder), 0);
    /* The leak check at exit traces this process, which a change of user forbids. */
    CHECK_INT(seteuid(getuid()), 0);
    CHECK_INT(prctl(PR_SET_DUMPABLE, 1), 0);
}

TEST(an_activity_row_comes_back_as_it_went)
{
    struct ws_activity_row in = {.start_ns = 1764502345123456789,
                                 .end_ns = 1764502345123456999,
                                 .correlation = UINT64_MAX,
                                 .graph_node = 0x1122334455667788u,
                                 .kernel_id = 77,
                                 .graph = 5,
                                 .stream = UINT32_MAX,
                                 .context = 3,
                                 .device = 7,
                                 .peer_device = UINT16_MAX,
                                 .copy_kind = 10,
                                 .src_kind = 2,
                                 .dst_kind = 3,
                                 .is_async = 1};
    struct ws_activity_row out;
    uint8_t bytes[WS_ACTIVITY_BYTES];
    memset(&out, 0, sizeof out);
    ws_activity_pack(&in, bytes);
    ws_activity_unpack(&out, bytes);
    CHECK(memcmp(&in, &out, sizeof in) == 0);
    CHECK_INT(bytes[0], 1764502345123456789 & 0xff); /* little endian on every machine */
    CHECK_INT(bytes[63], 1);
}

struct seen_kernel {
    int count;
    struct ws_kernel_row row;
    char mangled[64];
};

static int keep_kernel(void *state, const struct ws_kernel_row *row)
{
    struct seen_kernel *seen = state;
    seen->count++;
    seen->row = *row;
    snprintf(seen->mangled, sizeof seen->mangled, "%s", row->mangled);
    return 0;
}

TEST(a_kernel_keeps_its_row_and_learns_its_attributes_once)
{
    struct ws_store *s;
    struct seen_kernel seen = {0};
    struct ws_rec_signature sig = {
        .grid_x = 4294967295u, .grid_y = 1, .grid_z = 1, .block_x = 128, .block_y = 1, .block_z = 1};
    struct ws_kernel_delta delta = {.launches = 3, .timed = 2, .total_ns = 30, .min_ns = 10, .max_ns = 20};
    int64_t session, a, b, c;
    REQUIRE(open_store(&s, scratch_file("db"), WS_STORE_WRITE) == 0);
    REQUIRE(ws_store_begin(s) == 0);
    REQUIRE(ws_store_add_session(s, ws_text_of("t"), "measured", &session) == 0);
    CHECK_INT(ws_store_put_kernel(s, session, 0, ws_text_of("k"), &sig, &a), 0);
    CHECK_INT(ws_store_each_kernel(s, session, keep_kernel, &seen), 0);
    CHECK(!seen.row.has_attributes);
    sig.has_attributes = 1;
    sig.regs_per_thread = 40;
    CHECK_INT(ws_store_put_kernel(s, session, 0, ws_text_of("k"), &sig, &b), 0);
    sig.regs_per_thread = 50;
    CHECK_INT(ws_store_put_kernel(s, session, 0, ws_text_of("k"), &sig, &b), 0);
    CHECK_INT(a, b);
    sig.grid_x = 1;
    CHECK_INT(ws_store_put_kernel(s, session, 0, ws_text_of("k"), &sig, &c), 0);
    CHECK(c != a);
    CHECK_INT(ws_store_add_launches(s, a, &delta), 0);
    delta.min_ns = 5;
    CHECK_INT(ws_store_add_launches(s, a, &delta), 0);
    delta = (struct ws_kernel_delta){.launches = 1};
    CHECK_INT(ws_store_add_launches(s, a, &delta), 0);
    CHECK_INT(ws_store_put_kernel(s, session, 0, ws_text_n("nul\0byte", 8), &sig, &c), 0);
    CHECK_INT(ws_store_commit(s), 0);
    memset(&seen, 0, sizeof seen);
    CHECK_INT(ws_store_each_kernel(s, session, keep_kernel, &seen), 0);
    CHECK_INT(seen.count, 3);
    CHECK_STR(seen.mangled, "nul?byte");
    ws_store_close(s);
}

static int first_kernel(void *state, const struct ws_kernel_row *row)
{
    *(struct ws_kernel_row *)state = *row;
    return 1; /* enough */
}

TEST(sums_of_launches_never_overflow)
{
    struct ws_store *s;
    struct ws_rec_signature sig = {.grid_x = 1};
    struct ws_kernel_delta delta = {
        .launches = UINT64_MAX, .timed = 1, .total_ns = INT64_MAX, .min_ns = 1, .max_ns = 1};
    struct ws_kernel_row row;
    int64_t session, k;
    REQUIRE(open_store(&s, scratch_file("db"), WS_STORE_WRITE) == 0);
    REQUIRE(ws_store_add_session(s, ws_text_of("t"), "measured", &session) == 0);
    REQUIRE(ws_store_put_kernel(s, session, 0, ws_text_of("k"), &sig, &k) == 0);
    CHECK_INT(ws_store_add_launches(s, k, &delta), 0);
    CHECK_INT(ws_store_add_launches(s, k, &delta), 0);
    CHECK_INT(ws_store_each_kernel(s, session, first_kernel, &row), 1);
    CHECK_INT(row.total_ns, INT64_MAX);
    ws_store_close(s);
}

TEST(a_session_is_found_by_id_by_name_and_by_being_the_newest)
{
    struct ws_store *s;
    int64_t a, b, id;
    struct ws_rec_run run = {.session_name = ws_text_of("tuesday"), .argv = ws_text_of("app")};
    REQUIRE(open_store(&s, scratch_file("db"), WS_STORE_WRITE) == 0);
    REQUIRE(ws_store_add_session(s, ws_text_of("1"), "measured", &a) == 0);
    REQUIRE(ws_store_add_session(s, ws_text_of("2"), "measured", &b) == 0);
    REQUIRE(ws_store_set_session_run(s, a, &run) == 0);
    CHECK_INT(ws_store_find_session(s, NULL, &id), 0);
    CHECK_INT(id, b);
    CHECK_INT(ws_store_find_session(s, "tuesday", &id), 0);
    CHECK_INT(id, a);
    CHECK_INT(ws_store_find_session(s, "1", &id), 0);
    CHECK_INT(id, a);
    CHECK_INT(ws_store_find_session(s, "99", &id), -WS_ENOENT);
    CHECK_INT(ws_store_find_session(s, "wednesday", &id), -WS_ENOENT);
    CHECK_INT(ws_store_find_session(s, "", &id), 0); /* an empty name is the name of session 2 */
    ws_store_close(s);
}

struct seen_metric {
    int count, missing;
    double last;
    int why;
};

static int keep_metric(void *state, const struct ws_metric_row *row)
{
    struct seen_metric *seen = state;
    seen->count++;
    if (ws_has(row->value))
        seen->last = row->value.number;
    else
        seen->why = row->value.why;
    seen->missing += !ws_has(row->value);
    return 0;
}

TEST(a_metric_is_a_number_or_a_reason_and_never_nan)
{
    struct ws_store *s;
    struct ws_rec_signature sig = {.grid_x = 1};
    struct ws_rec_profile profile = {.profile = 1, .stream = 0xffffffffu, .pass_index = 0xffffffffu};
    struct seen_metric seen = {0};
    struct ws_value nan = {.number = NAN};
    int64_t session, process, kernel, id, key;
    REQUIRE(open_store(&s, scratch_file("db"), WS_STORE_WRITE) == 0);
    REQUIRE(ws_store_add_session(s, ws_text_of("t"), "measured", &session) == 0);
    REQUIRE(ws_store_put_process(s, session, AGENT_A, 1, NULL, &process) == 0);
    REQUIRE(ws_store_put_kernel(s, session, 0, ws_text_of("k"), &sig, &kernel) == 0);
    REQUIRE(ws_store_put_profile(s, session, process, kernel, &profile, &id) == 0);
    CHECK_INT(ws_store_put_metric_key(s, ws_text_of("a"), &key), 0);
    CHECK_INT(ws_store_put_metric(s, id, key, ws_value_of(0.1)), 0);
    CHECK_INT(ws_store_put_metric_key(s, ws_text_of("b"), &key), 0);
    CHECK_INT(ws_store_put_metric(s, id, key, nan), 0);
    CHECK_INT(ws_store_each_metric(s, session, keep_metric, &seen), 0);
    CHECK_INT(seen.count, 2);
    CHECK_INT(seen.missing, 1);
    CHECK(seen.last == 0.1);
    CHECK_INT(seen.why, WS_WHY_NOT_VALID);
    ws_store_close(s);
}

TEST(a_session_can_be_copied_out_alone)
{
    struct ws_store *s, *copy;
    struct ws_rec_signature sig = {.grid_x = 1};
    struct seen_kernel seen = {0};
    int64_t a, b, k;
    REQUIRE(open_store(&s, scratch_file("db?#%"), WS_STORE_WRITE) == 0);
    REQUIRE(ws_store_add_session(s, ws_text_of("1"), "measured", &a) == 0);
    REQUIRE(ws_store_add_session(s, ws_text_of("2"), "measured", &b) == 0);
    REQUIRE(ws_store_put_kernel(s, a, 0, ws_text_of("of a"), &sig, &k) == 0);
    REQUIRE(ws_store_put_kernel(s, b, 0, ws_text_of("of b"), &sig, &k) == 0);
    CHECK_INT(ws_store_copy_session(s, b, scratch_file("copy")), 0);
    CHECK_INT(ws_store_copy_session(s, b, scratch_file("copy")), -WS_EEXIST);
    ws_store_close(s);
    REQUIRE(open_store(&copy, scratch_file("copy"), WS_STORE_READ) == 0);
    CHECK_INT(sessions_in(copy), 1);
    CHECK_INT(ws_store_each_kernel(copy, b, keep_kernel, &seen), 0);
    CHECK_INT(seen.count, 1);
    CHECK_STR(seen.mangled, "of b");
    ws_store_close(copy);
}
