/* SPDX-License-Identifier: MIT
 * daemon.c: the ingest thread and what is shared with the threads of HTTP.
 * The writer is used under write_lock only, and it alone checkpoints: two connections that do both can
 * damage a database before SQLite 3.51.3. Readers are opened read-only. */
#include "daemon.h"

#include "../analyzer/err.h"
#include "inbox.h"
#include "ingest.h"
#include "log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* A scan of an empty spool is one opendir: at this rate it is not seen in top, and the page feels live. */
#define SCAN_MS 100
/* Below this the disk is left to others; reading goes on. */
#define DISK_MIN_BYTES (512ull << 20)

int64_t ws_daemon_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* --- revision --- */

/* Under event_lock. The place of a session; else a free one; else the oldest, which becomes the floor of the rest. */
static void touch(struct ws_daemon *d, int64_t session, uint64_t revision)
{
    size_t at = 0;
    for (size_t i = 0; i < WS_DAEMON_TOUCHED; i++) {
        if (d->touched[i].session == session) {
            at = i;
            break;
        }
        if (d->touched[i].revision < d->touched[at].revision)
            at = i;
    }
    if (d->touched[at].session != session && d->touched[at].revision > d->floor)
        d->floor = d->touched[at].revision;
    d->touched[at].session = session;
    d->touched[at].revision = revision;
}

void ws_daemon_changed(struct ws_daemon *d, const int64_t *sessions, size_t count)
{
    uint64_t revision;
    pthread_mutex_lock(&d->event_lock);
    revision = atomic_fetch_add(&d->revision, 1) + 1;
    for (size_t i = 0; sessions && i < count; i++)
        touch(d, sessions[i], revision);
    if (!sessions) {
        d->floor = revision;
        memset(d->touched, 0, sizeof d->touched);
    }
    pthread_cond_broadcast(&d->event);
    pthread_mutex_unlock(&d->event_lock);
}

uint64_t ws_daemon_session_revision(struct ws_daemon *d, int64_t session)
{
    uint64_t revision;
    pthread_mutex_lock(&d->event_lock);
    revision = d->floor;
    for (size_t i = 0; i < WS_DAEMON_TOUCHED; i++)
        if (d->touched[i].session == session)
            revision = d->touched[i].revision;
    pthread_mutex_unlock(&d->event_lock);
    return revision;
}

uint64_t ws_daemon_wait(struct ws_daemon *d, uint64_t seen, unsigned ms)
{
    struct timespec until;
    uint64_t revision;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&d->event_lock);
    while (atomic_load(&d->revision) == seen && !atomic_load(&d->is_stopping))
        if (pthread_cond_timedwait(&d->event, &d->event_lock, &until) == ETIMEDOUT)
            break;
    revision = atomic_load(&d->revision);
    pthread_mutex_unlock(&d->event_lock);
    return revision;
}

/* --- ingest --- */

static void set_problem(struct ws_daemon *d, const char *text)
{
    bool changed;
    pthread_mutex_lock(&d->event_lock);
    changed = strcmp(d->problem, text) != 0;
    snprintf(d->problem, sizeof d->problem, "%s", text);
    pthread_mutex_unlock(&d->event_lock);
    if (changed && *text)
        ws_log(WS_ERROR, "serve", "nothing is stored: %s", text);
    else if (changed)
        ws_log(WS_INFO, "serve", "storing again");
}

void ws_daemon_problem(struct ws_daemon *d, char out[256])
{
    pthread_mutex_lock(&d->event_lock);
    memcpy(out, d->problem, sizeof d->problem);
    pthread_mutex_unlock(&d->event_lock);
}

/* "" or what hinders. */
static void check_disk(const struct ws_daemon *d, char text[256])
{
    char folder[WS_PATH_MAX];
    struct statvfs fs;
    text[0] = 0;
    if (ws_path_parent(d->db, folder) != 0 || statvfs(folder, &fs) != 0)
        return;
    if ((uint64_t)fs.f_bavail * fs.f_frsize < DISK_MIN_BYTES)
        snprintf(text, 256, "less than 512 MiB are free on the disk of the database; free some space");
}

/* --- who runs --- */

struct alive {
    char boot[64]; /* of this machine; "" = not known */
    int64_t ids[WS_DAEMON_LIVE];
    size_t count;
};

static void read_boot(char out[64])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, 63) : 0;
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = 0;
    out[strcspn(out, "\n")] = 0;
}

/* Without goodbye, and its pid is there since the same start of this machine. */
static int take_open(void *state, const struct ws_open_process *row)
{
    struct alive *a = state;
    if (row->pid == 0 || !*a->boot || strcmp(row->boot_id, a->boot) != 0 ||
        (kill((pid_t)row->pid, 0) != 0 && errno != EPERM))
        return 0;
    for (size_t i = 0; i < a->count; i++)
        if (a->ids[i] == row->session_id)
            return 0;
    if (a->count < WS_DAEMON_LIVE)
        a->ids[a->count++] = row->session_id;
    return 0;
}

/* Sessions that changed in one round. */
struct changes {
    int64_t ids[WS_INGEST_SESSIONS + 2 * WS_DAEMON_LIVE];
    size_t count;
    bool any, all; /* all: more than are named */
};

static void name_changes(struct changes *c, const int64_t *ids, size_t count)
{
    for (size_t i = 0; i < count && c->count < sizeof c->ids / sizeof c->ids[0]; i++)
        c->ids[c->count++] = ids[i];
    c->any |= count > 0;
}

/* Look who runs; sessions that begin or cease to run have changed. Takes write_lock. */
static void find_live(struct ws_daemon *d, struct changes *changes)
{
    struct alive a = {.count = 0};
    int err;
    read_boot(a.boot);
    pthread_mutex_lock(&d->write_lock);
    err = ws_store_each_open_process(d->writer, take_open, &a);
    pthread_mutex_unlock(&d->write_lock);
    if (err != 0)
        return;
    pthread_mutex_lock(&d->event_lock);
    if (a.count != d->live_count || memcmp(a.ids, d->live, a.count * sizeof *a.ids) != 0) {
        name_changes(changes, d->live, d->live_count);
        name_changes(changes, a.ids, a.count);
    }
    memcpy(d->live, a.ids, sizeof d->live);
    d->live_count = a.count;
    pthread_mutex_unlock(&d->event_lock);
}

size_t ws_daemon_live(struct ws_daemon *d, int64_t out[WS_DAEMON_LIVE])
{
    size_t count;
    pthread_mutex_lock(&d->event_lock);
    count = d->live_count;
    memcpy(out, d->live, sizeof d->live);
    pthread_mutex_unlock(&d->event_lock);
    return count;
}

/* --- scanning --- */

static void count_ingest(struct ws_daemon *d, const struct ws_ingest *done, int64_t took_ns)
{
    struct ws_daemon_totals *t = &d->totals;
    atomic_fetch_add(&t->frames, done->count.frames);
    atomic_fetch_add(&t->records, done->count.records);
    atomic_fetch_add(&t->launches, done->count.launches);
    atomic_fetch_add(&t->lost_frames, done->count.lost_frames);
    atomic_fetch_add(&t->segments, done->segments);
    if (done->count.frames == 0 && done->count.lost_frames == 0 && done->segments == 0)
        return;
    atomic_fetch_add(&t->batches, 1);
    atomic_fetch_add(&t->ingest_ns, (uint64_t)took_ns);
    atomic_store(&t->last_ns, (uint64_t)ws_daemon_now_ns());
}

/* Take what is whole in the spool. */
static void scan(struct ws_daemon *d, struct changes *changes)
{
    struct ws_ingest done;
    char text[256];
    int64_t start = ws_daemon_now_ns();
    int err;
    if (!ws_ingest_has_work(d->spool)) {
        atomic_store(&d->totals.scanned_ns, (uint64_t)start);
        atomic_store(&d->totals.backlog, 0);
        changes->any = atomic_exchange(&d->totals.live_agents, 0) != 0; /* the last program ended */
        return;
    }
    pthread_mutex_lock(&d->write_lock);
    check_disk(d, text);
    if (*text) {
        set_problem(d, text);
        pthread_mutex_unlock(&d->write_lock);
        atomic_store(&d->totals.backlog, ws_path_bytes(d->spool, 2));
        return;
    }
    err = ws_ingest_spool(d->writer, d->spool, NULL, &done);
    if (err == -WS_EPERM)
        snprintf(text, sizeof text, "the spool folder %.150s is not ours alone", d->spool);
    else if (err != 0)
        snprintf(text, sizeof text, "%.200s",
                 *ws_store_message(d->writer) ? ws_store_message(d->writer) : ws_err_text(err));
    set_problem(d, text);
    pthread_mutex_unlock(&d->write_lock);
    if (err == 0)
        atomic_store(&d->totals.scanned_ns, (uint64_t)ws_daemon_now_ns());
    count_ingest(d, &done, ws_daemon_now_ns() - start);
    changes->any =
        atomic_exchange(&d->totals.live_agents, done.live) != done.live || done.count.frames > 0 || done.segments > 0;
    changes->all = done.session_count > WS_INGEST_SESSIONS;
    name_changes(changes, done.sessions,
                 done.session_count < WS_INGEST_SESSIONS ? done.session_count : WS_INGEST_SESSIONS);
}

/* Captures that a command left for us (inbox.h). They may bring roofs, which concern all sessions of a board. */
static void take_inbox(struct ws_daemon *d, struct changes *changes)
{
    char text[256];
    if (!ws_inbox_has_work(d->db))
        return;
    pthread_mutex_lock(&d->write_lock);
    check_disk(d, text);
    changes->all = ws_inbox_take(d->writer, d->db, text) > 0 || changes->all;
    pthread_mutex_unlock(&d->write_lock);
    changes->any = changes->any || changes->all;
}

/* One round: what came, and who runs. A program may also end without a word. */
static bool scan_and_tell(struct ws_daemon *d, bool look_for_ends)
{
    struct changes changes = {.count = 0};
    scan(d, &changes);
    take_inbox(d, &changes);
    if (changes.any || look_for_ends)
        find_live(d, &changes);
    if (changes.any)
        ws_daemon_changed(d, changes.all ? NULL : changes.ids, changes.count);
    return changes.any;
}

static void *ingest_thread(void *state)
{
    struct ws_daemon *d = state;
    struct timespec pause = {0, SCAN_MS * 1000000L};
    for (unsigned round = 0; !atomic_load(&d->is_stopping); round++) {
        bool busy = scan_and_tell(d, round % 10 == 0);
        if (busy || round % 10 == 0)
            atomic_store(&d->totals.backlog, ws_ingest_has_work(d->spool) ? ws_path_bytes(d->spool, 2) : 0);
        nanosleep(&pause, NULL);
    }
    scan_and_tell(d, false);
    return NULL;
}

/* --- token --- */

/* A token in an existing file. */
static bool read_token(const char *path, char out[WS_TOKEN_CHARS + 1])
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool good = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
                (st.st_mode & 077) == 0 && read(fd, out, WS_TOKEN_CHARS) == WS_TOKEN_CHARS;
    if (fd >= 0)
        close(fd);
    out[good ? WS_TOKEN_CHARS : 0] = 0;
    return good && strspn(out, "0123456789abcdef") == WS_TOKEN_CHARS;
}

int ws_daemon_load_token(struct ws_daemon *d, char *message, size_t cap)
{
    char path[WS_PATH_MAX + 16];
    unsigned char bytes[WS_TOKEN_CHARS / 2];
    int fd;
    bool good;
    snprintf(path, sizeof path, "%s.token", d->db);
    d->policy.token = d->token;
    if (read_token(path, d->token))
        return 0;
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        snprintf(message, cap, "no random numbers for the token: %s", strerror(errno));
        return -WS_EIO;
    }
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(d->token + 2 * i, 3, "%02x", bytes[i]);
    (void)unlink(path); /* whatever lay there was not ours to trust */
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    good = fd >= 0 && write(fd, d->token, WS_TOKEN_CHARS) == WS_TOKEN_CHARS;
    if (fd >= 0 && close(fd) == 0 && good)
        return 0;
    snprintf(message, cap, "cannot write %s: %s", path, strerror(errno));
    return -WS_EIO;
}

/* --- readers --- */

int ws_daemon_reader_take(struct ws_daemon *d, struct ws_store **out, char *message, size_t cap)
{
    struct ws_store *store = NULL;
    pthread_mutex_lock(&d->reader_lock);
    for (size_t i = 0; i < WS_DAEMON_READERS && !store; i++) {
        store = d->readers[i];
        d->readers[i] = NULL;
    }
    pthread_mutex_unlock(&d->reader_lock);
    if (store) {
        *out = store;
        return 0;
    }
    return ws_store_open(out, d->db, WS_STORE_READ, message, cap);
}

void ws_daemon_reader_give(struct ws_daemon *d, struct ws_store *store, bool broken)
{
    if (!store)
        return;
    pthread_mutex_lock(&d->reader_lock);
    for (size_t i = 0; i < WS_DAEMON_READERS && !broken && store; i++)
        if (!d->readers[i]) {
            d->readers[i] = store;
            store = NULL;
        }
    pthread_mutex_unlock(&d->reader_lock);
    ws_store_close(store);
}

/* --- life --- */

static void init_locks(struct ws_daemon *d)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&d->event, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&d->event_lock, NULL);
    pthread_mutex_init(&d->write_lock, NULL);
    pthread_mutex_init(&d->reader_lock, NULL);
}

int ws_daemon_open(struct ws_daemon *d, char *message, size_t cap)
{
    if (getrandom(&d->boot, sizeof d->boot, 0) != (ssize_t)sizeof d->boot) {
        snprintf(message, cap, "no random numbers: %s", strerror(errno));
        return -WS_EIO;
    }
    d->started_ns = ws_daemon_now_ns();
    atomic_store(&d->revision, 1);
    init_locks(d);
    return ws_store_open(&d->writer, d->db, WS_STORE_WRITE | WS_STORE_MOVE_CORRUPT, message, cap);
}

int ws_daemon_start(struct ws_daemon *d)
{
    if (pthread_create(&d->ingest, NULL, ingest_thread, d) != 0)
        return -WS_ENOMEM;
    d->has_ingest = true;
    return 0;
}

void ws_daemon_interrupt(struct ws_daemon *d)
{
    pthread_mutex_lock(&d->event_lock);
    atomic_store(&d->is_stopping, true);
    pthread_cond_broadcast(&d->event);
    pthread_mutex_unlock(&d->event_lock);
}

void ws_daemon_stop(struct ws_daemon *d)
{
    if (d->has_ingest)
        pthread_join(d->ingest, NULL);
    d->has_ingest = false;
}

void ws_daemon_close(struct ws_daemon *d)
{
    for (size_t i = 0; i < WS_DAEMON_READERS; i++) {
        ws_store_close(d->readers[i]);
        d->readers[i] = NULL;
    }
    ws_store_close(d->writer);
    d->writer = NULL;
}
