/* SPDX-License-Identifier: MIT
 * ingest.c: walks the spool, reads capture files. Must not follow links and must not delete before a commit. */
#include "ingest.h"

#include "../analyzer/err.h"
#include "../collector/control.h"
#include "log.h"
#include "paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- reading a file by a window that holds any frame whole --- */

#define WINDOW_BYTES (2u << 20)

struct window {
    int fd;
    uint8_t *bytes; /* [WINDOW_BYTES] */
    size_t used;
    uint64_t offset; /* in the file, of bytes[0] */
    bool at_end;
    int error; /* errno of a read that failed */
};

static int window_open(struct window *w, int fd, uint64_t offset)
{
    w->fd = fd;
    w->used = 0;
    w->offset = offset;
    w->at_end = false;
    w->error = 0;
    w->bytes = malloc(WINDOW_BYTES);
    if (!w->bytes)
        return -WS_ENOMEM;
    /* A pipe cannot seek, and need not: it is read from where it stands. */
    if (offset != 0 && lseek(fd, (off_t)offset, SEEK_SET) < 0)
        return -WS_EIO;
    return 0;
}

static int window_fill(struct window *w)
{
    while (!w->at_end && w->used < WINDOW_BYTES) {
        ssize_t n = read(w->fd, w->bytes + w->used, WINDOW_BYTES - w->used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            w->error = errno;
            return -WS_EIO;
        }
        w->at_end = n == 0;
        w->used += (size_t)n;
    }
    return 0;
}

static void window_drop(struct window *w, size_t n)
{
    memmove(w->bytes, w->bytes + n, w->used - n);
    w->used -= n;
    w->offset += n;
}

/* --- names in the spool --- */

static bool is_token(const char *name)
{
    size_t n = strlen(name);
    return n > 0 && n < 128 && strspn(name, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_") == n;
}

static bool is_agent(const char *name)
{
    return strlen(name) == 32 && strspn(name, "0123456789abcdef") == 32;
}

/* "00000012.done" */
static bool is_segment(const char *name, uint32_t *number, bool *is_open)
{
    if (strspn(name, "0123456789") != 8 || (strcmp(name + 8, ".open") != 0 && strcmp(name + 8, ".done") != 0))
        return false;
    *number = (uint32_t)strtoul(name, NULL, 10);
    *is_open = name[9] == 'o';
    return true;
}

static int wants_token(const struct dirent *e)
{
    return is_token(e->d_name);
}

static int wants_agent(const struct dirent *e)
{
    return is_agent(e->d_name);
}

static int wants_segment(const struct dirent *e)
{
    uint32_t number;
    bool is_open;
    return is_segment(e->d_name, &number, &is_open);
}

static void free_names(struct dirent **names, int count)
{
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

/* Errors that say something about this file alone: it is gone, a link, or not ours. Others (no descriptor, no memory)
 * would make whatever is read look empty. */
static bool is_about_the_file(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EACCES || error == ENXIO;
}

/* The names that `wants` wants, sorted if `order` says how; free with free_names. A folder that is gone has none. */
static int list_names(const char *folder, int (*wants)(const struct dirent *),
                      int (*order)(const struct dirent **, const struct dirent **), struct dirent ***names, int *count)
{
    *names = NULL;
    *count = scandir(folder, names, wants, order);
    if (*count >= 0)
        return 0;
    *count = 0;
    if (is_about_the_file(errno))
        return 0;
    return errno == ENOMEM ? -WS_ENOMEM : -WS_EIO;
}

/* A folder that is ours and that not everybody may write, and no link. */
static bool is_our_folder(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_uid == geteuid() || st.st_uid == 0) &&
           (st.st_mode & S_IWOTH) == 0;
}

/* --- one segment of the spool --- */

struct walk {
    struct ws_store *store;
    struct ws_frames *frames;
    struct ws_ingest *out;
    const char *token, *agent_id;
    char folder[WS_PATH_MAX]; /* of the agent */
    struct ws_cursor cursor;
    struct ws_progress *progress;
    uint64_t done, total; /* bytes of the spool: of segments before this one, of all */
    bool has_ended;       /* the agent will write no more */
    bool stop;            /* nothing after this segment of the agent can be read now */
};

struct segment {
    char path[WS_PATH_MAX + 16];
    int fd;
    uint32_t number;
    bool is_final;
    bool is_killed; /* its writer is gone and did not rename it */
    uint64_t size;
};

/* Who holds the lock of an .open file is writing it. Without a header it is not locked yet, perhaps. */
static void judge_writer(struct segment *s, const struct stat *opened)
{
    struct stat named;
    if (s->size < WS_WIRE_SEGMENT_BYTES || flock(s->fd, LOCK_EX | LOCK_NB) != 0)
        return;
    s->is_final = true;
    /* Renamed since we read the folder: then it ended well. */
    s->is_killed = lstat(s->path, &named) == 0 && named.st_ino == opened->st_ino && named.st_dev == opened->st_dev;
}

/* *found = false: there is nothing to read. */
static int open_segment(struct walk *w, struct segment *s, const char *name, bool *found)
{
    struct stat st;
    bool is_open;
    *found = false;
    if (!is_segment(name, &s->number, &is_open))
        return 0;
    snprintf(s->path, sizeof s->path, "%s/%08u.%s", w->folder, s->number, is_open ? "open" : "done");
    s->fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (s->fd < 0 && errno == ENOENT && is_open) {
        snprintf(s->path, sizeof s->path, "%s/%08u.done", w->folder, s->number);
        s->fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        is_open = false;
    }
    if (s->fd < 0)
        return is_about_the_file(errno) ? 0 : -WS_EIO;
    if (fstat(s->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(s->fd);
        return 0;
    }
    s->size = (uint64_t)st.st_size;
    s->is_final = !is_open;
    s->is_killed = false;
    if (is_open)
        judge_writer(s, &st);
    *found = true;
    return 0;
}

static void remove_segment(const struct segment *s)
{
    char other[sizeof s->path];
    size_t n = strlen(s->path);
    if (unlink(s->path) == 0 || errno != ENOENT)
        return;
    /* Renamed while we read it. */
    snprintf(other, sizeof other, "%.*s.done", (int)(n - 5), s->path);
    (void)unlink(other);
}

/* The texts of what was read before: ids of a segment are known only from its start. */
static int recall_texts(struct walk *w, const struct segment *s, uint64_t until)
{
    struct window win;
    int err = window_open(&win, s->fd, WS_WIRE_SEGMENT_BYTES);
    while (err == 0 && win.offset < until) {
        size_t n = 0;
        err = window_fill(&win);
        if (err == 0 && win.used > until - win.offset)
            win.used = (size_t)(until - win.offset);
        if (err == 0)
            err = ws_frames_texts(w->frames, win.bytes, win.used, &n);
        if (n == 0)
            break;
        window_drop(&win, n);
    }
    free(win.bytes);
    return err;
}

/* Frames from the cursor on; *offset is where reading ended. */
static int read_frames(struct walk *w, const struct segment *s, uint64_t *offset)
{
    struct window win;
    int err = window_open(&win, s->fd, *offset);
    while (err == 0) {
        size_t n = 0;
        err = window_fill(&win);
        if (err == 0)
            err = ws_frames_take(w->frames, win.bytes, win.used, s->is_final, s->is_final && win.at_end, &n);
        /* A segment header inside of a segment of the spool: damage like any other. */
        if (err == 0 && n == 0 && s->is_final && win.used > 0) {
            n = ws_wire_resync(win.bytes, win.used);
            ws_frames_count_lost(w->frames, 1);
        }
        if (err != 0 || n == 0)
            break;
        window_drop(&win, n);
        ws_progress_tell(w->progress, w->done + win.offset, w->total, NULL);
    }
    *offset = win.offset;
    free(win.bytes);
    return err;
}

/* 0: *header is right, or made up where damage was found. 1: leave the segment for now. */
static int read_header(struct walk *w, const struct segment *s, struct ws_segment_header *header)
{
    uint8_t bytes[WS_WIRE_SEGMENT_BYTES];
    ssize_t n = pread(s->fd, bytes, sizeof bytes, 0);
    int err = n < 0 ? -WS_EIO : ws_wire_get_segment(header, bytes, (size_t)n);
    if (err == -WS_EIO)
        return err;
    if (err == -WS_EVERSION || (err == 0 && strcmp(header->agent_id, w->agent_id) != 0)) {
        ws_log(WS_WARN, "ingest", "%s is kept: it was written %s", s->path,
               err == 0 ? "by another agent than its folder says" : "in a format of another version of WarpSight");
        w->out->kept++;
        return 1;
    }
    if (err == 0)
        return 0;
    if (!s->is_final)
        return 1;
    memset(header, 0, sizeof *header);
    memcpy(header->agent_id, w->agent_id, sizeof header->agent_id);
    header->number = s->number;
    if (n > 0)
        ws_frames_count_lost(w->frames, 1);
    return 0;
}

static int take_rows(struct walk *w, const struct segment *s, const struct ws_segment_header *header)
{
    bool resumes = s->number == w->cursor.segment && w->cursor.offset > WS_WIRE_SEGMENT_BYTES;
    uint64_t offset = resumes ? w->cursor.offset : WS_WIRE_SEGMENT_BYTES;
    int err = ws_frames_segment(w->frames, header, w->token, &w->cursor);
    if (err == 0 && resumes)
        err = recall_texts(w, s, offset);
    if (err == 0)
        err = read_frames(w, s, &offset);
    if (err == 0)
        err = s->is_final ? ws_frames_end_segment(w->frames) : ws_frames_flush(w->frames);
    if (err == 0 && s->is_killed)
        err = ws_frames_killed(w->frames);
    if (err != 0)
        return err;
    w->cursor.segment = s->is_final ? s->number + 1 : s->number;
    w->cursor.offset = s->is_final ? 0 : offset;
    w->cursor.next_seq = ws_frames_next_seq(w->frames);
    w->has_ended = s->is_killed || ws_frames_saw_bye(w->frames);
    return ws_store_set_cursor(w->store, w->agent_id, &w->cursor);
}

static int take_segment(struct walk *w, const struct segment *s)
{
    struct ws_segment_header header;
    int err;
    if (!s->is_final && s->number == w->cursor.segment && s->size <= w->cursor.offset)
        return 0;
    err = read_header(w, s, &header);
    if (err != 0) {
        w->stop = true;
        return err > 0 ? 0 : err;
    }
    err = ws_store_begin(w->store);
    if (err != 0)
        return err;
    err = take_rows(w, s, &header);
    if (err == 0)
        err = ws_store_commit(w->store);
    if (err != 0) {
        ws_store_rollback(w->store);
        return err;
    }
    if (s->is_final) {
        w->out->segments++;
        remove_segment(s);
    }
    return ws_store_checkpoint(w->store);
}

static int visit_segment(struct walk *w, const char *name)
{
    struct segment s;
    bool found;
    int err = open_segment(w, &s, name, &found);
    if (err != 0 || !found)
        return err;
    if (s.number < w->cursor.segment) {
        /* Committed before, but its reader died before it could remove it. */
        if (s.is_final)
            remove_segment(&s);
    } else {
        err = take_segment(w, &s);
    }
    w->done += s.size;
    if (!s.is_final) {
        w->out->live++;
        w->stop = true;
    }
    close(s.fd);
    return err;
}

static void remove_control_files(const char *folder)
{
    static const char *const names[] = {WS_CONTROL_ASK, WS_CONTROL_STATE, WS_CONTROL_STATE ".new"};
    char path[WS_PATH_MAX + 32];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
}

static int visit_agent(struct walk *w, const char *spool, const char *token, const char *agent_id)
{
    struct dirent **names = NULL;
    int count;
    int err;
    int n = snprintf(w->folder, sizeof w->folder, "%s/%s/%s", spool, token, agent_id);
    if (n < 0 || (size_t)n >= sizeof w->folder || !is_our_folder(w->folder))
        return 0;
    w->token = token;
    w->agent_id = agent_id;
    w->has_ended = w->stop = false;
    memset(&w->cursor, 0, sizeof w->cursor);
    err = ws_store_get_cursor(w->store, agent_id, &w->cursor);
    if (err != 0 && err != -WS_ENOENT)
        return err;
    err = list_names(w->folder, wants_segment, alphasort, &names, &count);
    for (int i = 0; err == 0 && i < count && !w->stop; i++)
        err = visit_segment(w, names[i]->d_name);
    free_names(names, count);
    if (err == 0 && w->has_ended)
        remove_control_files(w->folder); /* of a process that was killed; one that ends well takes them along */
    /* Only then: a writer between two segments has an empty folder, too. Others' files keep the folder. */
    if (err == 0 && w->has_ended)
        (void)rmdir(w->folder);
    return err;
}

static int visit_token(struct walk *w, const char *spool, const char *token)
{
    char folder[WS_PATH_MAX];
    struct dirent **names = NULL;
    int count;
    int err;
    int n = snprintf(folder, sizeof folder, "%s/%s", spool, token);
    if (n < 0 || (size_t)n >= sizeof folder || !is_our_folder(folder))
        return 0;
    err = list_names(folder, wants_agent, alphasort, &names, &count);
    for (int i = 0; err == 0 && i < count; i++)
        err = visit_agent(w, spool, token, names[i]->d_name);
    free_names(names, count);
    if (err == 0 && count > 0)
        (void)rmdir(folder); /* goes only when empty; a process of the run that starts later makes it anew */
    return err;
}

struct token {
    char name[128];
    struct timespec made; /* about when its first agent started */
};

static int by_age(const void *a, const void *b)
{
    const struct token *x = a;
    const struct token *y = b;
    if (x->made.tv_sec != y->made.tv_sec)
        return x->made.tv_sec < y->made.tv_sec ? -1 : 1;
    if (x->made.tv_nsec != y->made.tv_nsec)
        return x->made.tv_nsec < y->made.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* The sessions of the spool, oldest first: the highest id is to be the newest session. Free *out. */
static int find_tokens(const char *spool, struct token **out, size_t *count)
{
    struct dirent **names = NULL;
    int n;
    int err = list_names(spool, wants_token, NULL, &names, &n);
    *count = 0;
    *out = NULL;
    if (err != 0)
        return err;
    *out = n > 0 ? calloc((size_t)n, sizeof **out) : NULL;
    for (int i = 0; *out && i < n; i++) {
        struct token *t = &(*out)[*count];
        char folder[WS_PATH_MAX];
        struct stat st;
        snprintf(t->name, sizeof t->name, "%.127s", names[i]->d_name);
        if (snprintf(folder, sizeof folder, "%s/%s", spool, t->name) < (int)sizeof folder && lstat(folder, &st) == 0) {
            t->made = st.st_mtim;
            (*count)++;
        }
    }
    free_names(names, n);
    if (n > 0 && !*out)
        return -WS_ENOMEM;
    if (*count > 0)
        qsort(*out, *count, sizeof **out, by_age);
    return 0;
}

static int64_t newest(const int64_t *ids, size_t count)
{
    int64_t most = 0;
    for (size_t i = 0; i < count; i++)
        if (ids[i] > most)
            most = ids[i];
    return most;
}

int ws_ingest_spool(struct ws_store *store, const char *spool, struct ws_progress *progress, struct ws_ingest *out)
{
    struct walk w = {.store = store, .progress = progress, .out = out};
    struct token *tokens = NULL;
    struct stat st;
    const int64_t *ids;
    size_t count = 0;
    int err;
    memset(out, 0, sizeof *out);
    if (lstat(spool, &st) != 0)
        return 0;
    if (!is_our_folder(spool))
        return -WS_EPERM;
    w.frames = ws_frames_new(store, false);
    if (!w.frames)
        return -WS_ENOMEM;
    if (progress)
        w.total = ws_path_bytes(spool, 2);
    err = find_tokens(spool, &tokens, &count);
    for (size_t i = 0; err == 0 && i < count; i++)
        err = visit_token(&w, spool, tokens[i].name);
    free(tokens);
    out->count = *ws_frames_counted(w.frames);
    ids = ws_frames_sessions(w.frames, &count);
    out->newest_session = newest(ids, count);
    out->session_count = (uint32_t)count;
    for (size_t i = 0; i < count && i < WS_INGEST_SESSIONS; i++)
        out->sessions[i] = ids[i];
    ws_frames_free(w.frames);
    return err;
}

/* Whether a segment's writer is done with it: renamed, or gone without its lock. */
static bool is_finished(const char *folder, const char *name)
{
    char path[WS_PATH_MAX + 264];
    struct stat st;
    uint32_t number;
    bool is_open;
    bool is_free;
    int fd;
    if (!is_segment(name, &number, &is_open))
        return false;
    if (!is_open)
        return true;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return !is_about_the_file(errno);
    /* Without a header it is not locked yet, perhaps; trying the lock then would be in its writer's way. */
    is_free = fstat(fd, &st) == 0 && st.st_size >= WS_WIRE_SEGMENT_BYTES && flock(fd, LOCK_SH | LOCK_NB) == 0;
    close(fd);
    return is_free;
}

static enum ws_spool_work agent_work(const char *folder)
{
    DIR *dir;
    enum ws_spool_work most = WS_SPOOL_EMPTY;
    const struct dirent *e;
    if (!is_our_folder(folder))
        return WS_SPOOL_EMPTY;
    dir = opendir(folder);
    if (!dir) /* what cannot be told is work: whoever tries to do it learns what is wrong */
        return is_about_the_file(errno) ? WS_SPOOL_EMPTY : WS_SPOOL_FINISHED;
    while (most != WS_SPOOL_FINISHED && (e = readdir(dir)) != NULL)
        if (wants_segment(e))
            most = is_finished(folder, e->d_name) ? WS_SPOOL_FINISHED : WS_SPOOL_LIVE;
    closedir(dir);
    return most;
}

/* The most that any fitting entry of a folder has to give. */
static enum ws_spool_work most_work(const char *folder, int (*wants)(const struct dirent *e),
                                    enum ws_spool_work (*work)(const char *path))
{
    struct dirent **names = NULL;
    int count = 0;
    enum ws_spool_work most = WS_SPOOL_EMPTY;
    if (is_our_folder(folder) && list_names(folder, wants, NULL, &names, &count) != 0)
        return WS_SPOOL_FINISHED;
    for (int i = 0; i < count && most != WS_SPOOL_FINISHED; i++) {
        char path[WS_PATH_MAX];
        int n = snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        enum ws_spool_work one = n > 0 && (size_t)n < sizeof path ? work(path) : WS_SPOOL_EMPTY;
        if (one > most)
            most = one;
    }
    free_names(names, count);
    return most;
}

static enum ws_spool_work token_work(const char *folder)
{
    return most_work(folder, wants_agent, agent_work);
}

enum ws_spool_work ws_ingest_has_work(const char *spool)
{
    struct stat st;
    /* Whoever tries to take it learns that it is not ours. */
    if (lstat(spool, &st) == 0 && !is_our_folder(spool))
        return WS_SPOOL_FINISHED;
    return most_work(spool, wants_token, token_work);
}

/* --- capture files --- */

struct capture {
    struct ws_frames *frames;
    struct window win;
    bool has_agent; /* a segment header was read, and what follows is its */
    uint32_t unknown;
    uint64_t segments;
    struct ws_progress *progress;
    uint64_t size; /* of the file, 0 = not known */
};

/* At a place that is no frame of a known segment: how many bytes to pass over. */
static size_t pass_over(struct capture *c)
{
    struct ws_frame frame;
    if (ws_wire_get_frame(&frame, c->win.bytes, c->win.used) == 0)
        ws_frames_count_lost(c->frames, 1);
    return ws_wire_resync(c->win.bytes, c->win.used);
}

/* A segment header stands here. */
static int begin_segment(struct capture *c, size_t *n)
{
    struct ws_segment_header header;
    int err = ws_wire_get_segment(&header, c->win.bytes, c->win.used);
    c->has_agent = err == 0;
    *n = err == 0 ? WS_WIRE_SEGMENT_BYTES : ws_wire_resync(c->win.bytes, c->win.used);
    if (err == -WS_EVERSION)
        c->unknown++;
    if (err == 0) {
        c->segments++;
        return ws_frames_segment(c->frames, &header, "", NULL);
    }
    return 0;
}

static int read_capture(struct capture *c)
{
    int err = 0;
    while (err == 0) {
        size_t n = 0;
        err = window_fill(&c->win);
        if (err != 0 || c->win.used == 0)
            break;
        if (c->win.used >= 8 && memcmp(c->win.bytes, WS_WIRE_SEGMENT_MAGIC, 8) == 0)
            err = begin_segment(c, &n);
        else if (c->has_agent)
            err = ws_frames_take(c->frames, c->win.bytes, c->win.used, true, c->win.at_end, &n);
        else
            n = pass_over(c);
        window_drop(&c->win, n);
        ws_progress_tell(c->progress, c->win.offset, c->size, NULL);
    }
    return err == 0 && c->segments > 0 ? ws_frames_finish(c->frames) : err;
}

static void tell(struct ws_import *out, const struct capture *c)
{
    const int64_t *ids;
    size_t count;
    out->count = *ws_frames_counted(c->frames);
    ids = ws_frames_sessions(c->frames, &count);
    out->session = newest(ids, count);
    out->sessions = (uint32_t)count;
    ids = ws_frames_known_sessions(c->frames, &count);
    out->known_session = newest(ids, count);
    out->unknown = c->unknown;
}

/* A capture without one whole frame is none. */
static int judge_capture(const struct ws_import *out, const char *path, char *message, size_t cap)
{
    if (out->count.frames > 0)
        return 0;
    if (out->unknown > 0) {
        snprintf(message, cap, "%s is a capture of another version of WarpSight: import it with that version", path);
        return -WS_EVERSION;
    }
    snprintf(message, cap, "%s is no WarpSight capture: it holds not one whole frame", path);
    return -WS_ECORRUPT;
}

static int import_fd(struct ws_store *store, int fd, uint64_t size, const char *path, struct ws_progress *progress,
                     struct ws_import *out, char *message, size_t cap)
{
    struct capture c = {.frames = ws_frames_new(store, true), .progress = progress, .size = size};
    int err = c.frames ? window_open(&c.win, fd, 0) : -WS_ENOMEM;
    if (err == 0)
        err = ws_store_begin(store);
    if (err == 0)
        err = read_capture(&c);
    if (err == 0) {
        tell(out, &c);
        err = judge_capture(out, path, message, cap);
    } else if (c.win.error != 0) {
        snprintf(message, cap, "cannot read %s: %s", path, strerror(c.win.error));
    } else {
        snprintf(message, cap, "%s", ws_store_message(store));
    }
    if (err == 0) {
        err = ws_store_commit(store);
        if (err != 0)
            snprintf(message, cap, "%s", ws_store_message(store));
    }
    if (err != 0)
        ws_store_rollback(store);
    free(c.win.bytes);
    ws_frames_free(c.frames);
    return err;
}

int ws_ingest_file(struct ws_store *store, const char *path, struct ws_progress *progress, struct ws_import *out,
                   char *message, size_t cap)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int err;
    memset(out, 0, sizeof *out);
    if (fd < 0 || fstat(fd, &st) != 0) {
        err = errno == ENOENT ? -WS_ENOENT : errno == EACCES ? -WS_EPERM : -WS_EIO;
        snprintf(message, cap, "cannot open %s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return err;
    }
    if (S_ISDIR(st.st_mode)) {
        snprintf(message, cap, "%s is a folder", path);
        err = -WS_EIO;
    } else {
        err = import_fd(store, fd, S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0, path, progress, out, message, cap);
    }
    close(fd);
    return err;
}
