/* SPDX-License-Identifier: MIT
 * spool.c: append-only segment writer. See spool.h for what it promises.
 * Locks: `lock` guards the producers' side (open frames, sealed queue, strings, totals); the files
 * belong to the one thread alone. Nothing here is called with a CUPTI lock of ours held. */
#include "spool.h"

#include "../analyzer/err.h"
#include "steady.h"
#include "thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SEGMENT_BYTES (16u << 20) /* 16 MiB: a reader maps it whole; a 256 MiB spool is 16 of them */
#define TEXT_BYTES (8u << 20)     /* all interned texts; a PyTorch training run was seen to need 0.3 MiB */
#define STRINGS_MAX 16384u        /* twice that many hash slots */
#define STICKY_BYTES (64u << 10)  /* HELLO, DEVICE, CONTEXT: repeated at each segment's start */
#define TYPES_MAX 64u
#define WS_RECORD(sym, name, num) _Static_assert((num) < TYPES_MAX, "a record type too many");
#include "wire.def"
#define STATUS_MAX 64u
#define COST_MAX 8u
#define LOSS_MAX 32u
#define SEGMENTS_MAX 512u
#define ALONE_NS 250000000LL  /* how often the thread looks whether it is the last one: 7 µs each (measured) */
#define RETRY_NS 5000000000LL /* a full disk is tried again after 5 s */

struct block {
    struct block *next;
    uint32_t used; /* payload bytes */
    uint32_t records;
    uint16_t type;
    uint8_t bytes[WS_WIRE_FRAME_MAX]; /* frame header space, then payload */
};

struct string_entry {
    uint32_t offset; /* into texts */
    uint32_t length;
    uint32_t hash;
};

struct status_entry {
    char code[48];
    uint32_t hash;
    uint64_t count;
    uint64_t told;
    unsigned severity;
    char message[512];
    char remedy[256];
};

struct named_total {
    const char *what;
    const char *reason;
    uint64_t count;
    int64_t total_ns;
    bool is_dirty;
};

static struct {
    struct ws_spool_config config;
    char session[72];
    char agent_id[33];
    char folder[1024];

    pthread_mutex_t lock;
    pthread_cond_t wake; /* to the thread */
    pthread_cond_t done; /* from the thread */
    pthread_t thread;
    bool is_running;
    bool is_finishing;
    bool is_finished;
    bool wants_flush;

    struct block *open[TYPES_MAX]; /* by record type */
    struct block *sealed_head, **sealed_tail;
    struct block *free_blocks;
    uint64_t blocks_bytes; /* mapped so far */

    char *texts;
    uint32_t texts_used;
    struct string_entry *strings; /* [STRINGS_MAX], index = id */
    uint32_t strings_count;
    uint32_t *slots; /* [2 * STRINGS_MAX], id or 0 */

    uint8_t sticky[STICKY_BYTES]; /* records, each with its type before it */
    uint32_t sticky_used;
    uint32_t hello_used; /* the HELLO's share at the start of sticky */

    struct status_entry status[STATUS_MAX];
    uint32_t status_count;
    struct named_total cost[COST_MAX];
    struct named_total loss[LOSS_MAX];
    uint64_t records, dropped;

    /* the thread's own */
    int fd;
    dev_t dev;
    ino_t ino;
    uint32_t segment;
    uint64_t segment_bytes;
    uint64_t kept_bytes[SEGMENTS_MAX]; /* sizes of finished segments, 0 = taken by a reader */
    uint64_t seq;
    int64_t retry_at_ns;
    bool was_filtered; /* by seccomp, already when the thread began */
    char path[1200];
    uint8_t *scratch; /* one frame for strings and sticky records */
} spool = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* The descriptor as a forked child may close it without taking the lock. */
static atomic_int fd_for_child = -1;

int64_t ws_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void ws_make_id(char out[33])
{
    unsigned char bytes[16];
    if (getrandom(bytes, sizeof bytes, GRND_NONBLOCK) != (ssize_t)sizeof bytes) {
        int64_t now = ws_now_ns();
        uint64_t pid = (uint64_t)getpid();
        memcpy(bytes, &now, 8);
        memcpy(bytes + 8, &pid, 8);
    }
    for (size_t i = 0; i < 16; i++)
        snprintf(out + (size_t)2 * i, 3, "%02x", bytes[i]);
}

static void *map_bytes(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static bool is_safe_name(const char *s, size_t max)
{
    size_t n = strlen(s);
    if (n == 0 || n > max)
        return false;
    return strspn(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_") == n;
}

int ws_spool_init(const struct ws_spool_config *config)
{
    if (!is_safe_name(config->session, sizeof spool.session - 1) || strlen(config->agent_id) != 32 ||
        !is_safe_name(config->agent_id, 32) || strlen(config->folder) >= sizeof spool.folder)
        return -WS_EINVAL;
    spool.config = *config;
    ws_steady_cond_init(&spool.wake);
    ws_steady_cond_init(&spool.done);
    memcpy(spool.session, config->session, strlen(config->session) + 1);
    memcpy(spool.agent_id, config->agent_id, 33);
    memcpy(spool.folder, config->folder, strlen(config->folder) + 1);
    spool.sealed_tail = &spool.sealed_head;
    spool.texts = map_bytes(TEXT_BYTES);
    spool.strings = map_bytes(STRINGS_MAX * sizeof *spool.strings);
    spool.slots = map_bytes(sizeof(uint32_t) * 2 * STRINGS_MAX);
    spool.scratch = map_bytes(WS_WIRE_FRAME_MAX);
    if (!spool.texts || !spool.strings || !spool.slots || !spool.scratch)
        return -WS_ENOMEM;
    spool.strings_count = 1; /* id 0 is "" */
    return 0;
}

/* --- producers' side; `lock` is held ---------------------------------------------------------- */

static struct named_total *total_of(struct named_total *rows, size_t n, const char *what, const char *reason)
{
    for (size_t i = 0; i < n; i++) {
        if (!rows[i].what) {
            rows[i].what = what;
            rows[i].reason = reason;
            return &rows[i];
        }
        if (strcmp(rows[i].what, what) == 0 && (!reason || strcmp(rows[i].reason, reason) == 0))
            return &rows[i];
    }
    return NULL;
}

static void count_loss(const char *kind, const char *reason, uint64_t count)
{
    struct named_total *row = total_of(spool.loss, LOSS_MAX, kind, reason);
    if (row) {
        row->count += count;
        row->is_dirty = true;
    }
    spool.dropped += count;
}

static struct block *take_block(uint16_t type)
{
    struct block *b = spool.free_blocks;
    if (b) {
        spool.free_blocks = b->next;
    } else {
        /* What tells about losses, and what samples mean, must get out even when memory is used up: a frame of each. */
        bool is_vital = (type >= WS_REC_STATUS && type <= WS_REC_BYE) || type == WS_REC_PM_SERIES;
        uint64_t reserve = is_vital ? 8 * sizeof *b : 0;
        if (spool.blocks_bytes + sizeof *b > spool.config.memory_bytes + reserve)
            return NULL;
        b = map_bytes(sizeof *b);
        if (!b)
            return NULL;
        spool.blocks_bytes += sizeof *b;
    }
    b->next = NULL;
    b->used = 0;
    b->records = 0;
    b->type = type;
    return b;
}

/* Close every open frame, in an order in which no record comes before what it refers to. */
static void seal_all(void)
{
    static const uint16_t order[] = {
        WS_REC_HELLO,     WS_REC_RUN,         WS_REC_STRING, WS_REC_DEVICE,      WS_REC_CONTEXT,   WS_REC_COLLECTION,
        WS_REC_COPY_CALL, WS_REC_LAUNCH_CALL, WS_REC_KERNEL, WS_REC_MEMCPY,      WS_REC_MEMSET,    WS_REC_API,
        WS_REC_SYNC,      WS_REC_MEMORY,      WS_REC_UVM,    WS_REC_DECISION,    WS_REC_PROFILE,   WS_REC_METRIC,
        WS_REC_PM_SERIES, WS_REC_PM_SAMPLES,  WS_REC_CUBIN,  WS_REC_PC_SAMPLING, WS_REC_PC_SAMPLE, WS_REC_BUDGET,
        WS_REC_STATUS,    WS_REC_LOSS,        WS_REC_COST,   WS_REC_BYE};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        struct block *b = spool.open[order[i]];
        if (!b)
            continue;
        spool.open[order[i]] = NULL;
        *spool.sealed_tail = b;
        spool.sealed_tail = &b->next;
    }
}

/* Room for `size` more bytes of this type, or NULL: then the record is dropped and counted. */
static struct block *room_for(uint16_t type, size_t size)
{
    struct block *b = spool.open[type];
    if (b && WS_WIRE_PAYLOAD_MAX - b->used >= size)
        return b;
    if (b) {
        seal_all();
        if (!spool.wants_flush) {
            spool.wants_flush = true;
            pthread_cond_signal(&spool.wake);
        }
    }
    if (size > WS_WIRE_PAYLOAD_MAX)
        return NULL;
    return spool.open[type] = take_block(type);
}

static bool is_sticky(uint16_t type)
{
    return type == WS_REC_HELLO || type == WS_REC_DEVICE || type == WS_REC_CONTEXT || type == WS_REC_PM_SERIES;
}

/* Keep a copy for the segments to come: u16 type and the record. A later HELLO replaces the first. */
static void keep_sticky(uint16_t type, const uint8_t *record, size_t n)
{
    if (type == WS_REC_HELLO && spool.hello_used > 0) {
        memmove(spool.sticky, spool.sticky + spool.hello_used, spool.sticky_used - spool.hello_used);
        spool.sticky_used -= spool.hello_used;
    }
    if (n + 2 > STICKY_BYTES - spool.sticky_used)
        return;
    if (type == WS_REC_HELLO) {
        memmove(spool.sticky + n + 2, spool.sticky, spool.sticky_used);
        spool.sticky[0] = (uint8_t)type;
        spool.sticky[1] = (uint8_t)(type >> 8);
        memcpy(spool.sticky + 2, record, n);
        spool.hello_used = (uint32_t)(n + 2);
    } else {
        spool.sticky[spool.sticky_used] = (uint8_t)type;
        spool.sticky[spool.sticky_used + 1] = (uint8_t)(type >> 8);
        memcpy(spool.sticky + spool.sticky_used + 2, record, n);
    }
    spool.sticky_used += (uint32_t)(n + 2);
}

/* One generated pair per record type: with the lock held, and for everybody else. */
#define WS_RECORD(sym, name, num)                                                   \
    static int add_##name(const struct ws_rec_##name *rec)                          \
    {                                                                               \
        size_t n = ws_wire_size_##name(rec);                                        \
        struct block *b = room_for(sym, n);                                         \
        uint8_t *at;                                                                \
        if (!b) {                                                                   \
            count_loss(#name, n > WS_WIRE_PAYLOAD_MAX ? "too-large" : "memory", 1); \
            return -WS_ELIMIT;                                                      \
        }                                                                           \
        at = b->bytes + WS_WIRE_FRAME_BYTES + b->used;                              \
        ws_wire_put_##name(rec, at, WS_WIRE_PAYLOAD_MAX - b->used);                 \
        b->used += (uint32_t)n;                                                     \
        b->records++;                                                               \
        spool.records++;                                                            \
        if (is_sticky(sym))                                                         \
            keep_sticky(sym, at, n);                                                \
        return 0;                                                                   \
    }                                                                               \
    int ws_spool_##name(const struct ws_rec_##name *rec)                            \
    {                                                                               \
        int err;                                                                    \
        pthread_mutex_lock(&spool.lock);                                            \
        err = add_##name(rec);                                                      \
        pthread_mutex_unlock(&spool.lock);                                          \
        return err;                                                                 \
    }
#include "wire.def"

static uint32_t hash_bytes(const char *at, size_t n)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint8_t)at[i]) * 16777619u;
    return h;
}

static uint32_t intern(const char *text, size_t n)
{
    uint32_t hash = hash_bytes(text, n);
    uint32_t slot = hash % (2 * STRINGS_MAX);
    struct string_entry *e;
    struct ws_rec_string rec;
    while (spool.slots[slot] != 0) {
        e = &spool.strings[spool.slots[slot]];
        if (e->hash == hash && e->length == n && memcmp(spool.texts + e->offset, text, n) == 0)
            return spool.slots[slot];
        slot = (slot + 1) % (2 * STRINGS_MAX);
    }
    if (spool.strings_count == STRINGS_MAX || n > TEXT_BYTES - spool.texts_used || n > WS_WIRE_PAYLOAD_MAX / 2) {
        count_loss("string", "memory", 1);
        return 0;
    }
    rec.id = spool.strings_count;
    rec.text = ws_text_n(text, n);
    if (add_string(&rec) != 0)
        return 0;
    e = &spool.strings[rec.id];
    e->offset = spool.texts_used;
    e->length = (uint32_t)n;
    e->hash = hash;
    memcpy(spool.texts + e->offset, text, n);
    spool.texts_used += (uint32_t)n;
    spool.slots[slot] = rec.id;
    spool.strings_count++;
    return rec.id;
}

uint32_t ws_spool_string_id(const char *text)
{
    uint32_t id;
    if (!text || !*text)
        return 0;
    pthread_mutex_lock(&spool.lock);
    id = intern(text, strlen(text));
    pthread_mutex_unlock(&spool.lock);
    return id;
}

/* Entries never change once they are made, and an id is published only after its entry: no lock. */
bool ws_spool_string_is(uint32_t id, const char *text)
{
    const struct string_entry *e = &spool.strings[id];
    if (id == 0)
        return false;
    return strncmp(spool.texts + e->offset, text, e->length) == 0 && text[e->length] == 0;
}

void ws_spool_status_now(const char *code, unsigned severity, const char *remedy, const char *format, ...)
{
    char message[512];
    struct status_entry *e = NULL;
    uint32_t hash;
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    hash = hash_bytes(message, strlen(message));
    pthread_mutex_lock(&spool.lock);
    for (uint32_t i = 0; i < spool.status_count && !e; i++)
        if (spool.status[i].hash == hash && strcmp(spool.status[i].code, code) == 0)
            e = &spool.status[i];
    if (!e && spool.status_count < STATUS_MAX) {
        e = &spool.status[spool.status_count++];
        snprintf(e->code, sizeof e->code, "%s", code);
        snprintf(e->message, sizeof e->message, "%s", message);
        snprintf(e->remedy, sizeof e->remedy, "%s", remedy ? remedy : "");
        e->hash = hash;
        e->severity = severity;
    }
    if (e)
        e->count++;
    pthread_mutex_unlock(&spool.lock);
}

void ws_spool_count_loss(const char *kind, const char *reason, uint64_t count)
{
    pthread_mutex_lock(&spool.lock);
    count_loss(kind, reason, count);
    pthread_mutex_unlock(&spool.lock);
}

void ws_spool_add_cost(const char *what, uint64_t count, int64_t ns)
{
    struct named_total *row;
    pthread_mutex_lock(&spool.lock);
    row = total_of(spool.cost, COST_MAX, what, NULL);
    if (row) {
        row->count += count;
        row->total_ns += ns;
        row->is_dirty = true;
    }
    pthread_mutex_unlock(&spool.lock);
}

/* Turn changed totals into records. Lock held. */
static void emit_totals(void)
{
    for (uint32_t i = 0; i < spool.status_count; i++) {
        struct status_entry *e = &spool.status[i];
        struct ws_rec_status rec = {.code = ws_text_of(e->code),
                                    .severity = e->severity,
                                    .message = ws_text_of(e->message),
                                    .remedy = ws_text_of(e->remedy),
                                    .count = e->count};
        if (e->told != e->count && add_status(&rec) == 0)
            e->told = e->count;
    }
    for (size_t i = 0; i < COST_MAX && spool.cost[i].what; i++) {
        struct named_total *row = &spool.cost[i];
        struct ws_rec_cost rec = {.what = ws_text_of(row->what), .count = row->count, .total_ns = row->total_ns};
        if (row->is_dirty && add_cost(&rec) == 0)
            row->is_dirty = false;
    }
    for (size_t i = 0; i < LOSS_MAX && spool.loss[i].what; i++) {
        struct named_total *row = &spool.loss[i];
        struct ws_rec_loss rec = {.kind = ws_text_of(row->what),
                                  .reason = ws_text_of(row->reason),
                                  .count = row->count,
                                  .from_ns = spool.config.started_ns,
                                  .to_ns = ws_now_ns()};
        if (row->is_dirty && row->count > 0 && add_loss(&rec) == 0) {
            row->count = 0;
            row->is_dirty = false;
        }
    }
}

/* --- the thread's side ------------------------------------------------------------------------ */

/* A descriptor above the range that programs close in loops or redirect by dup2. */
static int move_high(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 700);
    if (high < 0)
        return fd;
    close(fd);
    return high;
}

static int make_folder(const char *path)
{
    struct stat st;
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return -WS_EIO;
    if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return -WS_EIO;
    /* In a folder that everybody may write, what we check could be another thing when we use it. */
    if (st.st_uid != geteuid() || (st.st_mode & S_IWOTH) != 0)
        return -WS_EPERM;
    return 0;
}

/* Whether the program has put a seccomp filter on us meanwhile. It may end the process at any call that a running
 * program does not need, so none is made any more but write, fstat and futex: no segment is opened or renamed. What was
 * in force when we began has let us open files before. */
static bool is_newly_filtered(void)
{
    return !spool.was_filtered && prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2;
}

/* The file is done with. A descriptor that is no longer ours must not be closed: it is the program's. */
static void end_segment(bool rename_it, bool is_fd_ours)
{
    char to[sizeof spool.path + 8];
    size_t n = strlen(spool.path);
    if (spool.fd < 0)
        return;
    if (rename_it && n > 5 && !is_newly_filtered()) {
        snprintf(to, sizeof to, "%.*sdone", (int)(n - 4), spool.path); /* …/00000000.open → .done */
        (void)rename(spool.path, to);
    }
    atomic_store(&fd_for_child, -1);
    if (is_fd_ours)
        close(spool.fd);
    spool.fd = -1;
    if (spool.segment < SEGMENTS_MAX)
        spool.kept_bytes[spool.segment] = spool.segment_bytes;
    spool.segment++;
    spool.segment_bytes = 0;
}

/* Write all of it or fail; the thread has every signal blocked, so SIGXFSZ arrives as EFBIG. */
static int write_all(const void *bytes, size_t n)
{
    const char *at = bytes;
    struct stat st;
    /* The program may have closed our descriptor and opened its own file under the same number. */
    if (fstat(spool.fd, &st) != 0 || st.st_dev != spool.dev || st.st_ino != spool.ino) {
        end_segment(true, false);
        return -WS_EIO;
    }
    if (st.st_nlink == 0) { /* somebody removed it: what it held shows as a gap, what follows goes into the next one */
        end_segment(false, true);
        return -WS_EIO;
    }
    while (n > 0) {
        ssize_t done = write(spool.fd, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return -WS_EIO;
        at += done;
        n -= (size_t)done;
        spool.segment_bytes += (uint64_t)done;
    }
    return 0;
}

static int write_frame(uint8_t *frame, uint16_t type, uint32_t length, uint32_t records)
{
    int err;
    /* Records added after version 1.0 are optional: an older reader skips them. */
    ws_wire_seal(frame, type, type >= WS_REC_API ? WS_WIRE_OPTIONAL : 0, length, records, spool.seq);
    err = write_all(frame, WS_WIRE_FRAME_BYTES + (size_t)length);
    if (err == 0)
        spool.seq++;
    return err;
}

void ws_spool_wake(void)
{
    pthread_mutex_lock(&spool.lock);
    spool.wants_flush = true;
    pthread_cond_signal(&spool.wake);
    pthread_mutex_unlock(&spool.lock);
}

bool ws_spool_may_open_files(void)
{
    return !is_newly_filtered();
}

static void close_segment(bool rename_it)
{
    end_segment(rename_it, true);
}

/* Bytes of finished segments that no reader has taken yet. */
static uint64_t untaken_bytes(void)
{
    uint64_t sum = 0;
    char path[sizeof spool.path];
    for (uint32_t i = 0; i < spool.segment && i < SEGMENTS_MAX; i++) {
        struct stat st;
        if (spool.kept_bytes[i] == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s/%s/%08u.done", spool.folder, spool.session, spool.agent_id, i);
        if (lstat(path, &st) != 0 && errno == ENOENT)
            spool.kept_bytes[i] = 0;
        sum += spool.kept_bytes[i];
    }
    return sum;
}

/* HELLO, devices, contexts and strings, so that the segment can be read alone. Uses scratch. */
static int write_preamble(void)
{
    uint8_t *payload = spool.scratch + WS_WIRE_FRAME_BYTES;
    uint32_t at = 0;
    uint32_t used = 0;
    uint32_t records = 0;
    uint32_t count;
    int err = 0;
    pthread_mutex_lock(&spool.lock);
    count = spool.strings_count;
    /* The sticky area changes rarely and only grows behind `at`; a HELLO replaced meanwhile is sent
     * again by its own record, so reading it under the lock once is enough. */
    while (err == 0 && at < spool.sticky_used) {
        uint16_t type = (uint16_t)(spool.sticky[at] | spool.sticky[at + 1] << 8);
        uint32_t n = (uint32_t)spool.sticky[at + 2] | (uint32_t)spool.sticky[at + 3] << 8 |
                     (uint32_t)spool.sticky[at + 4] << 16 | (uint32_t)spool.sticky[at + 5] << 24;
        memcpy(payload, spool.sticky + at + 2, n + 4);
        err = write_frame(spool.scratch, type, n + 4, 1);
        at += n + 6;
    }
    pthread_mutex_unlock(&spool.lock);
    /* Texts never move and entries below count never change: no lock. */
    for (uint32_t id = 1; err == 0 && id < count; id++) {
        struct ws_rec_string rec = {
            .id = id, .text = ws_text_n(spool.texts + spool.strings[id].offset, spool.strings[id].length)};
        size_t n = ws_wire_put_string(&rec, payload + used, WS_WIRE_PAYLOAD_MAX - used);
        if (n == 0) {
            err = write_frame(spool.scratch, WS_REC_STRING, used, records);
            used = records = 0;
            n = ws_wire_put_string(&rec, payload, WS_WIRE_PAYLOAD_MAX);
        }
        used += (uint32_t)n;
        records++;
    }
    if (err == 0 && records > 0)
        err = write_frame(spool.scratch, WS_REC_STRING, used, records);
    return err;
}

int ws_spool_make_folder(void)
{
    char path[sizeof spool.path]; /* spool.path is the open segment's */
    int err = make_folder(spool.folder);
    if (err == 0) {
        snprintf(path, sizeof path, "%s/%s", spool.folder, spool.session);
        err = make_folder(path);
    }
    if (err == 0) {
        snprintf(path, sizeof path, "%s/%s/%s", spool.folder, spool.session, spool.agent_id);
        err = make_folder(path);
    }
    return err;
}

static int open_segment(void)
{
    uint8_t bytes[WS_WIRE_SEGMENT_BYTES];
    struct ws_segment_header header = {
        .number = spool.segment, .pid = (uint32_t)getpid(), .started_ns = spool.config.started_ns};
    struct stat st;
    int fd;
    int err;
    if (is_newly_filtered())
        return -WS_EPERM;
    if (untaken_bytes() + SEGMENT_BYTES > spool.config.disk_bytes && spool.segment > 0)
        return -WS_ELIMIT;
    err = ws_spool_make_folder();
    if (err != 0)
        return err;
    snprintf(spool.path, sizeof spool.path, "%s/%s/%s/%08u.open", spool.folder, spool.session, spool.agent_id,
             spool.segment);
    fd = open(spool.path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -WS_EIO;
    fd = move_high(fd);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 || fstat(fd, &st) != 0) {
        close(fd);
        return -WS_EIO;
    }
    spool.fd = fd;
    spool.dev = st.st_dev;
    spool.ino = st.st_ino;
    spool.segment_bytes = 0;
    atomic_store(&fd_for_child, fd);
    memcpy(header.agent_id, spool.agent_id, 33);
    ws_wire_put_segment(&header, bytes);
    err = write_all(bytes, sizeof bytes);
    return err == 0 ? write_preamble() : err;
}

/* Give up this segment for a while: what it holds stays valid for the reader. */
static void stop_writing(void)
{
    if (spool.fd >= 0)
        close_segment(true);
    else
        spool.segment++;
    spool.retry_at_ns = ws_steady_ns() + RETRY_NS;
}

static bool can_write(void)
{
    int err;
    if (spool.fd >= 0 && spool.segment_bytes < SEGMENT_BYTES)
        return true;
    if (spool.retry_at_ns != 0 && ws_steady_ns() < spool.retry_at_ns)
        return false;
    if (spool.fd >= 0)
        close_segment(true);
    spool.retry_at_ns = 0;
    err = open_segment();
    if (err == 0)
        return true;
    if (spool.fd >= 0)
        stop_writing();
    else
        spool.retry_at_ns = ws_steady_ns() + RETRY_NS;
    return false;
}

static bool write_block(struct block *b)
{
    bool is_written;
    if (!can_write())
        return false;
    is_written = write_frame(b->bytes, b->type, b->used, b->records) == 0;
    /* The program took our descriptor away: the next segment, at once, and once. */
    if (!is_written && spool.fd < 0)
        is_written = can_write() && write_frame(b->bytes, b->type, b->used, b->records) == 0;
    if (!is_written && spool.fd >= 0)
        stop_writing();
    return is_written;
}

/* Write the queue. Blocks go back to the free list; what cannot be written is counted as lost. */
static void write_queue(struct block *queue)
{
    while (queue) {
        struct block *b = queue;
        bool is_written = write_block(b);
        queue = b->next;
        pthread_mutex_lock(&spool.lock);
        if (!is_written)
            count_loss(ws_wire_type_name(b->type), "disk", b->records);
        b->next = spool.free_blocks;
        spool.free_blocks = b;
        pthread_mutex_unlock(&spool.lock);
    }
}

/* Everything that is closed goes to disk. */
static void write_sealed(void)
{
    struct block *queue;
    pthread_mutex_lock(&spool.lock);
    seal_all();
    queue = spool.sealed_head;
    spool.sealed_head = NULL;
    spool.sealed_tail = &spool.sealed_head;
    spool.wants_flush = false;
    pthread_mutex_unlock(&spool.lock);
    write_queue(queue);
}

void ws_spool_write_now(void)
{
    pthread_mutex_lock(&spool.lock);
    emit_totals();
    pthread_mutex_unlock(&spool.lock);
    write_sealed();
}

static void flush_once(bool is_final)
{
    spool.config.tick(is_final);
    pthread_mutex_lock(&spool.lock);
    emit_totals();
    if (is_final) {
        struct ws_rec_bye bye = {.ended_ns = ws_now_ns(), .records = spool.records, .dropped = spool.dropped};
        (void)add_bye(&bye);
    }
    pthread_mutex_unlock(&spool.lock);
    write_sealed();
}

static void wait_for_tick(void)
{
    struct timespec until = ws_steady_deadline(spool.config.flush_ms);
    while (!spool.is_finishing && !spool.wants_flush)
        if (pthread_cond_timedwait(&spool.wake, &spool.lock, &until) == ETIMEDOUT)
            break;
}

/* Whether the main thread has ended by pthread_exit: its entry stays as a zombie. */
static bool has_main_thread_ended(void)
{
    char path[48];
    char text[128];
    const char *name_end;
    ssize_t n;
    int fd;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    name_end = strrchr(text, ')'); /* "PID (NAME) STATE …"; the name is at most 15 bytes */
    return name_end && name_end[1] == ' ' && name_end[2] == 'Z';
}

static atomic_int extra_threads;

void ws_spool_add_thread(void)
{
    (void)atomic_fetch_add(&extra_threads, 1);
}

/* Whether this thread is all that keeps the process from ending: the main thread has ended, and every
 * other one too. Such a process ends when we do, as it would have without us. */
static bool is_last_thread(void)
{
    int others = 0;
    DIR *dir;
    if (is_newly_filtered() || !has_main_thread_ended())
        return false;
    dir = opendir("/proc/self/task");
    if (!dir)
        return false;
    for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
        others += entry->d_name[0] != '.';
    closedir(dir);
    return others == 2 + atomic_load(&extra_threads); /* the zombie and ourselves */
}

static void *run_thread(void *unused)
{
    bool is_final = false;
    int64_t alone_at_ns = ws_steady_ns() + ALONE_NS;
    (void)unused;
    (void)prctl(PR_SET_NAME, "warpsight", 0, 0, 0);
    spool.was_filtered = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2;
    while (!is_final) {
        pthread_mutex_lock(&spool.lock);
        wait_for_tick();
        is_final = spool.is_finishing;
        pthread_mutex_unlock(&spool.lock);
        if (ws_steady_ns() >= alone_at_ns) {
            is_final = is_final || is_last_thread();
            alone_at_ns = ws_steady_ns() + ALONE_NS;
        }
        flush_once(is_final);
    }
    close_segment(true);
    pthread_mutex_lock(&spool.lock);
    spool.is_finished = true;
    pthread_cond_broadcast(&spool.done);
    pthread_mutex_unlock(&spool.lock);
    return NULL;
}

int ws_spool_start(void)
{
    spool.is_running = ws_thread_start(run_thread, WS_THREAD_CUPTI_STACK);
    return spool.is_running ? 0 : -WS_EIO;
}

bool ws_spool_finish(unsigned timeout_ms)
{
    struct timespec until;
    bool is_done;
    if (!spool.is_running)
        return false;
    until = ws_steady_deadline(timeout_ms);
    pthread_mutex_lock(&spool.lock);
    spool.is_finishing = true;
    pthread_cond_signal(&spool.wake);
    while (!spool.is_finished)
        if (pthread_cond_timedwait(&spool.done, &spool.lock, &until) == ETIMEDOUT)
            break;
    is_done = spool.is_finished;
    pthread_mutex_unlock(&spool.lock);
    return is_done;
}

void ws_spool_forget(void)
{
    int fd = atomic_exchange(&fd_for_child, -1);
    if (fd >= 0)
        close(fd);
}
