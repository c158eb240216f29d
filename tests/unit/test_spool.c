/* SPDX-License-Identifier: MIT
 * test_spool.c: the segment writer, read back with the reader's half of wire.c. */
#include "collector/spool.h"

#include "analyzer/err.h"
#include "collector/state.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define AGENT "0123456789abcdef0123456789abcdef"

static char folder[256];
static atomic_int ticks;
static atomic_int tick_us; /* how long the thread is kept busy each time */

static void tick(bool is_final)
{
    (void)is_final;
    atomic_fetch_add(&ticks, 1);
    usleep((useconds_t)atomic_load(&tick_us));
}

static void start(uint64_t memory, uint64_t disk)
{
    struct ws_spool_config config = {.folder = folder,
                                     .session = "s1",
                                     .agent_id = AGENT,
                                     .started_ns = 5,
                                     .memory_bytes = memory,
                                     .disk_bytes = disk,
                                     .flush_ms = 10,
                                     .tick = tick};
    const char *scratch = getenv("WS_SCRATCH");
    snprintf(folder, sizeof folder, "%s/spool-XXXXXX", scratch ? scratch : "/tmp");
    if (!mkdtemp(folder))
        WS_FAIL("mkdtemp");
    if (ws_spool_init(&config) != 0 || ws_spool_start() != 0)
        WS_FAIL("spool does not start");
}

static uint8_t *read_segment(unsigned number, const char *suffix, size_t *length)
{
    char path[512];
    uint8_t *bytes = malloc(64 << 20);
    FILE *f;
    snprintf(path, sizeof path, "%s/s1/" AGENT "/%08u.%s", folder, number, suffix);
    f = fopen(path, "rb");
    *length = 0;
    if (f) {
        *length = fread(bytes, 1, 64 << 20, f);
        fclose(f);
    }
    return bytes;
}

struct found {
    unsigned records[16];
    unsigned frames, bad;
    uint64_t next_seq;
    uint64_t lost;
    bool has_bye;
    char last_string[64];
};

static void walk(const uint8_t *bytes, size_t length, struct found *out)
{
    size_t at = WS_WIRE_SEGMENT_BYTES;
    while (at < length) {
        struct ws_frame frame;
        uint32_t offset = 0;
        uint32_t n;
        const uint8_t *rec;
        if (ws_wire_get_frame(&frame, bytes + at, length - at) != 0) {
            out->bad++;
            return;
        }
        CHECK_INT(frame.seq, out->next_seq);
        out->next_seq = frame.seq + 1;
        out->frames++;
        while (ws_wire_next_record(&frame, &offset, &rec, &n) == 1) {
            struct ws_rec_loss loss;
            struct ws_rec_string string;
            out->records[frame.type]++;
            if (frame.type == WS_REC_LOSS && ws_wire_get_loss(&loss, rec, n) == 0)
                out->lost += loss.count;
            if (frame.type == WS_REC_STRING && ws_wire_get_string(&string, rec, n) == 0)
                snprintf(out->last_string, sizeof out->last_string, "%.*s", (int)string.text.length, string.text.at);
            out->has_bye = out->has_bye || frame.type == WS_REC_BYE;
        }
        at += WS_WIRE_FRAME_BYTES + frame.length;
    }
}

static void put_kernels(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct ws_rec_kernel rec = {.correlation = i, .name = 1};
        (void)ws_spool_kernel(&rec);
    }
}

TEST(records_come_back_and_the_segment_is_done)
{
    struct found found = {.bad = 0};
    struct ws_segment_header header;
    size_t length;
    uint8_t *bytes;
    start(16 << 20, 64 << 20);
    CHECK_INT(ws_spool_string_id("kernel_a"), 1);
    CHECK_INT(ws_spool_string_id("kernel_b"), 2);
    CHECK_INT(ws_spool_string_id("kernel_a"), 1);
    CHECK_INT(ws_spool_string_id(""), 0);
    CHECK_INT(ws_spool_string_id(NULL), 0);
    CHECK(ws_spool_string_is(2, "kernel_b") && !ws_spool_string_is(2, "kernel_bb") && !ws_spool_string_is(2, "kernel"));
    put_kernels(5000);
    ws_spool_status_now("code", 1, "remedy", "message %d", 1);
    ws_spool_status_now("code", 1, "remedy", "message %d", 1);
    ws_spool_add_cost("profile", 1, 10);
    CHECK(ws_spool_finish(5000));
    bytes = read_segment(0, "done", &length);
    CHECK_INT(ws_wire_get_segment(&header, bytes, length), 0);
    CHECK_STR(header.agent_id, AGENT);
    walk(bytes, length, &found);
    CHECK_INT(found.records[WS_REC_KERNEL], 5000);
    CHECK_INT(found.records[WS_REC_STRING] >= 2, 1);
    CHECK_INT(found.records[WS_REC_STATUS], 1);
    CHECK_INT(found.bad, 0);
    CHECK(found.has_bye);
    CHECK(atomic_load(&ticks) >= 1);
    free(bytes);
}

TEST(records_are_on_disk_without_a_good_end)
{
    struct found found = {.bad = 0};
    size_t length;
    uint8_t *bytes;
    start(16 << 20, 64 << 20);
    put_kernels(100);
    usleep(300000); /* 30 flush periods: what a kill -9 would find */
    bytes = read_segment(0, "open", &length);
    walk(bytes, length, &found);
    CHECK_INT(found.records[WS_REC_KERNEL], 100);
    CHECK(!found.has_bye);
    free(bytes);
}

TEST(open_segment_is_locked_while_its_writer_lives)
{
    char path[512];
    int fd;
    start(16 << 20, 64 << 20);
    put_kernels(1);
    usleep(200000);
    snprintf(path, sizeof path, "%s/s1/" AGENT "/00000000.open", folder);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK(flock(fd, LOCK_EX | LOCK_NB) != 0);
    CHECK(ws_spool_finish(5000));
    CHECK_INT(flock(fd, LOCK_EX | LOCK_NB), 0);
    close(fd);
}

TEST(every_segment_stands_alone)
{
    struct found first = {.bad = 0};
    struct found second = {.bad = 0};
    struct ws_rec_hello hello = {.agent_id = ws_text_of(AGENT)};
    struct ws_rec_device device = {.sms = 132};
    size_t length;
    uint8_t *bytes;
    start(64 << 20, 256 << 20);
    (void)ws_spool_hello(&hello);
    (void)ws_spool_device(&device);
    hello.host = ws_text_of("later");
    (void)ws_spool_hello(&hello);
    (void)ws_spool_string_id("name");
    for (int i = 0; i < 40; i++) { /* some 6 MB a round: more than one segment of 16 MiB */
        put_kernels(4000);
        usleep(15000);
    }
    CHECK(ws_spool_finish(20000));
    bytes = read_segment(0, "done", &length);
    CHECK(length > (15u << 20));
    walk(bytes, length, &first);
    free(bytes);
    bytes = read_segment(1, "done", &length);
    second.next_seq = first.next_seq;
    walk(bytes, length, &second);
    free(bytes);
    CHECK_INT(first.bad + second.bad, 0);
    CHECK_INT(second.records[WS_REC_HELLO], 1); /* the later one only */
    CHECK_INT(second.records[WS_REC_DEVICE], 1);
    CHECK_STR(second.last_string, "name");
    CHECK_INT(first.records[WS_REC_KERNEL] + second.records[WS_REC_KERNEL] + first.lost + second.lost, 160000);
}

TEST(memory_bound_drops_newest_and_counts_them)
{
    struct found found = {.bad = 0};
    size_t length;
    uint8_t *bytes;
    atomic_store(&tick_us, 2000000); /* nothing is written meanwhile */
    start(2 << 20, 64 << 20);        /* some 7 frames of 256 KiB */
    usleep(100000);
    put_kernels(60000); /* 10 MB at once */
    CHECK(ws_spool_finish(10000));
    bytes = read_segment(0, "done", &length);
    walk(bytes, length, &found);
    CHECK(found.lost > 0);
    CHECK_INT(found.records[WS_REC_KERNEL] + found.lost, 60000);
    free(bytes);
}

TEST(spool_bound_drops_and_counts)
{
    struct found found = {.bad = 0};
    size_t length;
    uint8_t *bytes;
    unsigned kernels = 0;
    start(64 << 20, 20 << 20); /* room for one segment only */
    for (int i = 0; i < 30; i++) {
        put_kernels(8000);
        usleep(20000);
    }
    CHECK(ws_spool_finish(20000));
    bytes = read_segment(0, "done", &length);
    walk(bytes, length, &found);
    kernels = found.records[WS_REC_KERNEL];
    free(bytes);
    CHECK(kernels > 50000 && kernels < 200000);
    bytes = read_segment(1, "done", &length);
    CHECK_INT(length, 0);
    free(bytes);
}

TEST(file_size_limit_neither_kills_nor_stops)
{
    struct rlimit limit = {1 << 20, 1 << 20};
    start(16 << 20, 64 << 20);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
    put_kernels(30000); /* 5 MB against a limit of 1 MiB: SIGXFSZ would end the process */
    usleep(100000);
    put_kernels(10);
    CHECK(ws_spool_finish(10000));
}

#ifndef __SANITIZE_THREAD__ /* closing a descriptor under its user's feet is what this test is about */
TEST(reused_descriptor_is_left_alone)
{
    char victim[300];
    struct stat st;
    int fd;
    start(16 << 20, 64 << 20);
    put_kernels(10);
    usleep(100000);
    for (int i = 3; i < 2000; i++)
        close(i);
    snprintf(victim, sizeof victim, "%s/victim", folder);
    for (int i = 0; i < 900; i++) /* until the number that was ours is the program's */
        fd = open(victim, O_WRONLY | O_CREAT, 0600);
    (void)fd;
    put_kernels(10);
    usleep(100000);
    CHECK_INT(stat(victim, &st), 0);
    CHECK_INT(st.st_size, 0);
}
#endif

TEST(folder_of_somebody_else_is_refused)
{
    struct ws_spool_config config = {.folder = "/tmp", .session = "../x", .agent_id = AGENT, .tick = tick};
    CHECK_INT(ws_spool_init(&config), -WS_EINVAL);
    config.session = "";
    CHECK_INT(ws_spool_init(&config), -WS_EINVAL);
    config.session = "ok";
    config.agent_id = "short";
    CHECK_INT(ws_spool_init(&config), -WS_EINVAL);
}

TEST(unwritable_folder_does_not_hang_the_end)
{
    struct ws_spool_config config = {.folder = "/proc/warpsight",
                                     .session = "s1",
                                     .agent_id = AGENT,
                                     .memory_bytes = 4 << 20,
                                     .disk_bytes = 64 << 20,
                                     .flush_ms = 10,
                                     .tick = tick};
    CHECK_INT(ws_spool_init(&config), 0);
    CHECK_INT(ws_spool_start(), 0);
    put_kernels(1000);
    CHECK(ws_spool_finish(5000));
}

static void *produce(void *unused)
{
    (void)unused;
    for (int i = 0; i < 2000; i++) {
        char name[32];
        snprintf(name, sizeof name, "k%d", i % 50);
        struct ws_rec_kernel rec = {.name = ws_spool_string_id(name)};
        (void)ws_spool_kernel(&rec);
        ws_spool_add_cost("callbacks", 1, 1);
        ws_spool_status_now("s", 0, "", "m%d", i % 5);
    }
    return NULL;
}

TEST(many_threads_lose_nothing)
{
    struct found found = {.bad = 0};
    pthread_t threads[8];
    size_t length;
    uint8_t *bytes;
    start(32 << 20, 64 << 20);
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, produce, NULL);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    CHECK(ws_spool_finish(10000));
    bytes = read_segment(0, "done", &length);
    walk(bytes, length, &found);
    CHECK_INT(found.records[WS_REC_KERNEL] + found.lost, 16000);
    CHECK_INT(found.bad, 0);
    free(bytes);
}

TEST(state_moves_along_its_line_and_latches_off)
{
    CHECK_INT(ws_state_get(), WS_STATE_OFF);
    CHECK(ws_state_move(WS_STATE_OFF, WS_STATE_ON));
    CHECK(!ws_state_move(WS_STATE_OFF, WS_STATE_ON));
    CHECK(ws_state_move(WS_STATE_ON, WS_STATE_DRAINING));
    CHECK(ws_state_move(WS_STATE_DRAINING, WS_STATE_OFF));
    ws_state_latch_off();
    CHECK(!ws_state_move(WS_STATE_OFF, WS_STATE_ON));
    CHECK_INT(ws_state_get(), WS_STATE_OFF);
}
