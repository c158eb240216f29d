/* SPDX-License-Identifier: MIT
 * capture.h: makes segments for tests by wire.c, record by record. Synthetic on purpose: what is made with it
 * never becomes a file of tests/flow. */
#ifndef WS_TESTS_UNIT_CAPTURE_H
#define WS_TESTS_UNIT_CAPTURE_H

#include "../../collector/wire.h"
#include "../../server/store.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of one or more segments. Zero to begin; free(bytes) at the end. */
struct capture {
    uint8_t *bytes;
    size_t used, cap;
    uint64_t seq;
    size_t frame_at[4096]; /* offset of each frame */
    unsigned frames;
};

static inline uint8_t *capture_room(struct capture *c, size_t n)
{
    if (c->cap - c->used < n) {
        c->cap = (c->cap + n) * 2;
        c->bytes = realloc(c->bytes, c->cap);
        if (!c->bytes)
            abort();
    }
    return c->bytes + c->used;
}

static inline void capture_segment(struct capture *c, const char *agent_id, uint32_t number)
{
    struct ws_segment_header h = {.number = number, .pid = 4242, .started_ns = 1000000000};
    memcpy(h.agent_id, agent_id, 33);
    ws_wire_put_segment(&h, capture_room(c, WS_WIRE_SEGMENT_BYTES));
    c->used += WS_WIRE_SEGMENT_BYTES;
}

/* A frame around a payload of records that put_… wrote. */
static inline void capture_frame(struct capture *c, uint16_t type, uint16_t flags, const uint8_t *payload, size_t n,
                                 uint32_t records)
{
    uint8_t *at = capture_room(c, WS_WIRE_FRAME_BYTES + n);
    if (n > 0)
        memcpy(at + WS_WIRE_FRAME_BYTES, payload, n);
    ws_wire_seal(at, type, flags, (uint32_t)n, records, c->seq++);
    if (c->frames < sizeof c->frame_at / sizeof c->frame_at[0])
        c->frame_at[c->frames++] = c->used;
    c->used += WS_WIRE_FRAME_BYTES + n;
}

/* put_kernel(&c, &rec) and so on: one record, one frame. */
#define WS_RECORD(sym, name, num)                                                     \
    static inline void put_##name(struct capture *c, const struct ws_rec_##name *rec) \
    {                                                                                 \
        size_t n = ws_wire_size_##name(rec);                                          \
        uint8_t *payload = malloc(n);                                                 \
        if (!payload || ws_wire_put_##name(rec, payload, n) != n)                     \
            abort();                                                                  \
        capture_frame(c, sym, 0, payload, n, 1);                                      \
        free(payload);                                                                \
    }
#include "../../collector/wire.def"

#define AGENT_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define AGENT_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static inline void put_text(struct capture *c, uint32_t id, const char *text)
{
    struct ws_rec_string rec = {.id = id, .text = ws_text_of(text)};
    put_string(c, &rec);
}

static inline void put_greeting(struct capture *c, const char *agent_id, const char *token, const char *source)
{
    struct ws_rec_hello rec = {.agent_id = ws_text_of(agent_id),
                               .session_token = ws_text_of(token),
                               .session_name = ws_text_of("a name"),
                               .source = ws_text_of(source),
                               .pid = 4242,
                               .ppid = 4241,
                               .started_ns = 1000000000,
                               .exe = ws_text_of("/bin/app"),
                               .argv = ws_text_n("app\0--size\0 1 ", 14),
                               .host = ws_text_of("host"),
                               .driver_version = 13000,
                               .cupti_version = 130001,
                               .driver_text = ws_text_of("580.0"),
                               .warpsight = ws_text_of("0"),
                               .settings = ws_text_of("")};
    put_hello(c, &rec);
}

static inline void put_gpu(struct capture *c, uint32_t index, const char *uuid)
{
    struct ws_rec_device rec = {.index = index,
                                .name = ws_text_of("NVIDIA H200"),
                                .uuid = ws_text_of(uuid),
                                .chip = ws_text_of("GH100"),
                                .cc_major = 9,
                                .sms = 132,
                                .memory_bytes = 150000000000ull,
                                .sm_clock_hz = 1980000000,
                                .max_warps_per_sm = 64,
                                .smem_bytes_per_sm = 233472,
                                .regs_per_sm = 65536};
    put_device(c, &rec);
}

/* A launch of text `name` with `grid` blocks of 128 threads. */
static inline struct ws_rec_kernel a_kernel(uint32_t name, uint32_t grid, int64_t start_ns, int64_t end_ns)
{
    struct ws_rec_kernel rec = {.name = name,
                                .context = 1,
                                .stream = 7,
                                .correlation = (uint64_t)start_ns,
                                .start_ns = start_ns,
                                .end_ns = end_ns,
                                .grid_x = grid,
                                .grid_y = 1,
                                .grid_z = 1,
                                .block_x = 128,
                                .block_y = 1,
                                .block_z = 1,
                                .regs_per_thread = 32,
                                .static_smem_bytes = 1024,
                                .carveout_percent = 0xffffffffu};
    return rec;
}

static inline void put_launch(struct capture *c, uint32_t name, uint32_t grid, int64_t start_ns, int64_t end_ns)
{
    struct ws_rec_kernel rec = a_kernel(name, grid, start_ns, end_ns);
    put_kernel(c, &rec);
}

static inline void put_counters(struct capture *c, uint64_t number, uint32_t name, uint32_t grid)
{
    struct ws_rec_profile rec = {.profile = number,
                                 .name = name,
                                 .context = 1,
                                 .stream = 7,
                                 .correlation = number,
                                 .grid_x = grid,
                                 .grid_y = 1,
                                 .grid_z = 1,
                                 .block_x = 128,
                                 .block_y = 1,
                                 .block_z = 1,
                                 .passes = 3,
                                 .pass_index = 0xffffffffu,
                                 .cost_ns = 5000000,
                                 .started_ns = 1000}; /* long before the launches */
    put_profile(c, &rec);
}

static inline void put_value(struct capture *c, uint64_t number, uint32_t key, double value)
{
    struct ws_rec_metric rec = {.profile = number, .key = key, .value = value};
    put_metric(c, &rec);
}

static inline void put_no_value(struct capture *c, uint64_t number, uint32_t key, uint32_t why)
{
    struct ws_rec_metric rec = {.profile = number, .key = key, .why = why};
    put_metric(c, &rec);
}

static inline void put_end(struct capture *c)
{
    struct ws_rec_bye rec = {.ended_ns = 9000000000};
    put_bye(c, &rec);
}

static inline void write_file(const char *path, const void *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
        abort();
    close(fd);
}

static inline int scratch_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static char scratch_path[256];

static inline void scratch_remove(void)
{
    (void)nftw(scratch_path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A fresh folder of this test, removed at its exit. In memory where possible: a database is made of fsyncs. */
static inline const char *scratch(void)
{
    if (*scratch_path == 0) {
        const char *base = getenv("WS_SCRATCH");
        if (access("/dev/shm", W_OK | X_OK) == 0)
            base = "/dev/shm";
        snprintf(scratch_path, sizeof scratch_path, "%s/warpsight-unit-XXXXXX", base && *base ? base : "/tmp");
        if (!mkdtemp(scratch_path))
            abort();
        atexit(scratch_remove);
    }
    return scratch_path;
}

static inline const char *scratch_file(const char *name)
{
    static char path[8][512];
    static unsigned next;
    char *at = path[next++ % 8];
    snprintf(at, 512, "%s/%s", scratch(), name);
    return at;
}

#endif
