/* SPDX-License-Identifier: MIT
 * inbox.c: notes for the daemon in DB.inbox. Names in it are ours; anything else is left alone. */
#include "inbox.h"

#include "../analyzer/err.h"
#include "log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NAME = WS_PATH_MAX + 64, TEXT = WS_PATH_MAX + 1024, ID = 32 };
/* An answer whose client was killed. */
#define FORGET_S ((time_t)24 * 3600)

/* --- files of the folder --- */

static void folder_of(const char *db, char out[WS_PATH_MAX + 16])
{
    snprintf(out, WS_PATH_MAX + 16, "%s.inbox", db);
}

static void name_of(const char *folder, const char *id, const char *suffix, char out[NAME])
{
    snprintf(out, NAME, "%.*s/%.32s.%s", WS_PATH_MAX + 16, folder, id, suffix);
}

static void unlink_one(const char *folder, const char *id, const char *suffix)
{
    char name[NAME];
    name_of(folder, id, suffix, name);
    (void)unlink(name);
}

static bool exists(const char *folder, const char *id, const char *suffix)
{
    char name[NAME];
    struct stat st;
    name_of(folder, id, suffix, name);
    return lstat(name, &st) == 0;
}

static bool write_all(int fd, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count > 0) {
        ssize_t n = write(fd, at, count);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        count -= (size_t)n;
    }
    return true;
}

/* Write a file whole or not at all: under suffix "new" first. */
static int write_file(const char *folder, const char *id, const char *suffix, const void *bytes, size_t count)
{
    char temporary[NAME];
    char name[NAME];
    bool good;
    int fd;
    name_of(folder, id, "new", temporary);
    name_of(folder, id, suffix, name);
    fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -WS_EIO;
    good = write_all(fd, bytes, count);
    good = close(fd) == 0 && good && rename(temporary, name) == 0;
    if (!good) {
        int saved = errno;
        (void)unlink(temporary);
        errno = saved;
    }
    return good ? 0 : -WS_EIO;
}

/* The text of a small file of ours; false if there is none. */
static bool read_file(const char *folder, const char *id, const char *suffix, char *out, size_t cap)
{
    char name[NAME];
    ssize_t n;
    int fd;
    name_of(folder, id, suffix, name);
    fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    n = read(fd, out, cap - 1);
    close(fd);
    out[n > 0 ? (size_t)n : 0] = 0;
    return n >= 0;
}

/* --- asking --- */

static int open_box(struct ws_inbox *box, const char *db, char *message, size_t cap)
{
    unsigned char bytes[ID / 2];
    int err;
    folder_of(db, box->folder);
    err = ws_path_make_private_folder(box->folder);
    if (err == 0 && getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        err = -WS_EIO;
    if (err != 0) {
        snprintf(message, cap, "cannot use the folder %s: %s", box->folder, strerror(errno));
        return err;
    }
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(box->id + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

static int leave_note(const struct ws_inbox *box, const char *path, char *message, size_t cap)
{
    int err = write_file(box->folder, box->id, "ask", path, strlen(path));
    if (err != 0)
        snprintf(message, cap, "cannot write into %s: %s", box->folder, strerror(errno));
    return err;
}

int ws_inbox_ask_bytes(struct ws_inbox *box, const char *db, const void *bytes, size_t count, char *message, size_t cap)
{
    char name[NAME];
    int err = open_box(box, db, message, cap);
    if (err != 0)
        return err;
    err = write_file(box->folder, box->id, "data", bytes, count);
    if (err != 0) {
        snprintf(message, cap, "cannot write into %s: %s", box->folder, strerror(errno));
        return err;
    }
    name_of(box->folder, box->id, "data", name);
    return leave_note(box, name, message, cap);
}

/* A pipe is read here: the daemon could not, and it may never end. */
static int ask_stream(struct ws_inbox *box, const char *db, int fd, const char *path, char *message, size_t cap)
{
    static char block[1 << 16];
    char name[NAME];
    ssize_t n = 1;
    bool good;
    int out;
    int err = open_box(box, db, message, cap);
    if (err != 0)
        return err;
    name_of(box->folder, box->id, "data", name);
    out = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    good = out >= 0;
    while (good && n != 0) {
        n = read(fd, block, sizeof block);
        good = n >= 0 ? write_all(out, block, (size_t)n) : errno == EINTR;
    }
    if (!good)
        snprintf(message, cap, "cannot copy %s into %s: %s", path, box->folder, strerror(errno));
    if (out >= 0 && close(out) != 0)
        good = false;
    if (good)
        return leave_note(box, name, message, cap);
    (void)unlink(name);
    return -WS_EIO;
}

int ws_inbox_ask(struct ws_inbox *box, const char *db, const char *path, char *message, size_t cap)
{
    struct stat st;
    char *whole;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int err;
    if (fd < 0 || fstat(fd, &st) != 0) {
        err = errno == ENOENT ? -WS_ENOENT : errno == EACCES ? -WS_EPERM : -WS_EIO;
        snprintf(message, cap, "cannot open %s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return err;
    }
    whole = S_ISREG(st.st_mode) ? realpath(path, NULL) : NULL;
    if (S_ISDIR(st.st_mode)) {
        snprintf(message, cap, "%s is a folder", path);
        err = -WS_EIO;
    } else if (whole && strlen(whole) < WS_PATH_MAX) {
        err = open_box(box, db, message, cap);
        if (err == 0)
            err = leave_note(box, whole, message, cap);
    } else { /* also a file without a name, as one that was deleted */
        err = ask_stream(box, db, fd, path, message, cap);
    }
    free(whole);
    close(fd);
    return err;
}

/* --- answers --- */

static int write_answer(const char *folder, const char *id, int err, const struct ws_import *done, const char *message)
{
    char text[TEXT];
    int n = snprintf(text, sizeof text,
                     "%d %" PRId64 " %" PRId64 " %" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                     " %" PRIu64 "\n%s",
                     err, done->session, done->known_session, done->sessions, done->unknown, done->count.frames,
                     done->count.records, done->count.launches, done->count.lost_frames, done->count.duplicates,
                     err != 0 ? message : "");
    return write_file(folder, id, "done", text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

static bool read_answer(const char *text, struct ws_import *out, int *err, char *message, size_t cap)
{
    int used = 0;
    memset(out, 0, sizeof *out);
    if (sscanf(text,
               "%d %" SCNd64 " %" SCNd64 " %" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64 "%n",
               err, &out->session, &out->known_session, &out->sessions, &out->unknown, &out->count.frames,
               &out->count.records, &out->count.launches, &out->count.lost_frames, &out->count.duplicates, &used) != 10)
        return false;
    snprintf(message, cap, "%s", text + used + (text[used] == '\n'));
    return true;
}

enum ws_inbox_state ws_inbox_look(const struct ws_inbox *box, struct ws_import *out, int *err, char *message,
                                  size_t cap)
{
    char text[TEXT];
    if (!read_file(box->folder, box->id, "done", text, sizeof text))
        return exists(box->folder, box->id, "busy") ? WS_INBOX_BUSY : WS_INBOX_WAITING;
    if (!read_answer(text, out, err, message, cap)) {
        *err = -WS_EIO;
        snprintf(message, cap, "the answer in %s cannot be read", box->folder);
    }
    unlink_one(box->folder, box->id, "done");
    return WS_INBOX_DONE;
}

void ws_inbox_withdraw(const struct ws_inbox *box)
{
    static const char *const suffixes[] = {"ask", "busy", "data", "done"};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        unlink_one(box->folder, box->id, suffixes[i]);
}

/* --- the daemon's side --- */

/* "0123…ef.ask" → its id; false for other names. */
static bool parse_name(const char *name, const char *suffix, char id[ID + 1])
{
    if (strspn(name, "0123456789abcdef") != ID || name[ID] != '.' || strcmp(name + ID + 1, suffix) != 0)
        return false;
    memcpy(id, name, ID);
    id[ID] = 0;
    return true;
}

static bool is_note(const char *name, char id[ID + 1])
{
    return parse_name(name, "ask", id) || parse_name(name, "busy", id);
}

static bool is_ours(const char *folder)
{
    struct stat st;
    return lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 022) == 0;
}

bool ws_inbox_has_work(const char *db)
{
    char folder[WS_PATH_MAX + 16];
    char id[ID + 1];
    const struct dirent *e;
    bool found = false;
    DIR *dir;
    folder_of(db, folder);
    dir = opendir(folder);
    if (!dir)
        return false;
    while (!found && (e = readdir(dir)) != NULL)
        found = is_note(e->d_name, id);
    closedir(dir);
    return found && is_ours(folder);
}

struct note {
    char id[ID + 1];
    struct timespec made;
};

static int by_age(const void *a, const void *b)
{
    const struct note *x = a;
    const struct note *y = b;
    if (x->made.tv_sec != y->made.tv_sec)
        return x->made.tv_sec < y->made.tv_sec ? -1 : 1;
    if (x->made.tv_nsec != y->made.tv_nsec)
        return x->made.tv_nsec < y->made.tv_nsec ? -1 : 1;
    return strcmp(x->id, y->id);
}

enum { NOTES = 256 }; /* at a time */

/* Notes of the folder, oldest first. What nobody fetched for a day is removed on the way. */
static size_t list_notes(const char *folder, struct note notes[NOTES])
{
    DIR *dir = opendir(folder);
    const struct dirent *e;
    size_t count = 0;
    while (dir && (e = readdir(dir)) != NULL) {
        char name[NAME];
        struct stat st;
        struct note n;
        snprintf(name, sizeof name, "%.*s/%.40s", WS_PATH_MAX + 16, folder, e->d_name);
        if (lstat(name, &st) != 0)
            continue;
        if (is_note(e->d_name, n.id)) {
            n.made = st.st_mtim;
            if (count < NOTES)
                notes[count++] = n;
        } else if ((parse_name(e->d_name, "done", n.id) || parse_name(e->d_name, "data", n.id) ||
                    parse_name(e->d_name, "new", n.id)) &&
                   time(NULL) - st.st_mtime > FORGET_S) {
            (void)unlink(name);
        }
    }
    if (dir)
        closedir(dir);
    if (count > 0)
        qsort(notes, count, sizeof *notes, by_age);
    return count;
}

/* Whether the path is the note's own data, to be removed when it is taken. */
static bool is_own_data(const char *folder, const char *id, const char *path)
{
    char name[NAME];
    name_of(folder, id, "data", name);
    return strcmp(path, name) == 0;
}

/* Only files: the note may be old, and what lies at its path now could be a pipe that nobody writes. */
static int import_path(struct ws_store *store, const char *path, struct ws_import *done, char *message, size_t cap)
{
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        memset(done, 0, sizeof *done);
        snprintf(message, cap, "%s is no file any more", path);
        return -WS_EIO;
    }
    return ws_ingest_file(store, path, NULL, done, message, cap);
}

static bool take_note(struct ws_store *store, const char *folder, const char *id, const char *refusal)
{
    char ask[NAME];
    char busy[NAME];
    char path[WS_PATH_MAX];
    char message[WS_PATH_MAX + 256] = "";
    struct ws_import done;
    int err;
    name_of(folder, id, "ask", ask);
    name_of(folder, id, "busy", busy);
    if (rename(ask, busy) != 0 && errno != ENOENT)
        return false;
    if (!read_file(folder, id, "busy", path, sizeof path))
        return false; /* taken back meanwhile */
    memset(&done, 0, sizeof done);
    if (*refusal) {
        snprintf(message, sizeof message, "%s", refusal);
        err = -WS_EIO;
    } else {
        err = import_path(store, path, &done, message, sizeof message);
    }
    if (write_answer(folder, id, err, &done, message) != 0)
        ws_log(WS_WARN, "serve", "cannot write an answer into %s: %s", folder, strerror(errno));
    if (is_own_data(folder, id, path))
        (void)unlink(path);
    (void)unlink(busy);
    return err == 0;
}

unsigned ws_inbox_take(struct ws_store *store, const char *db, const char *refusal)
{
    struct note *notes = malloc(NOTES * sizeof *notes);
    char folder[WS_PATH_MAX + 16];
    unsigned imported = 0;
    size_t count;
    folder_of(db, folder);
    count = notes && is_ours(folder) ? list_notes(folder, notes) : 0;
    for (size_t i = 0; i < count; i++)
        imported += take_note(store, folder, notes[i].id, refusal);
    free(notes);
    return imported;
}
