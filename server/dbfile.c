/* SPDX-License-Identifier: MIT
 * dbfile.c: the database as a file: resolving its path, its lock, moving it aside. */
#include "dbfile.h"

#include "../analyzer/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int err_of_errno(void)
{
    return errno == EACCES || errno == EPERM || errno == EROFS ? -WS_EPERM : -WS_EIO;
}

static bool is_ours(const struct stat *st)
{
    return st->st_uid == geteuid() || st->st_uid == 0;
}

/* The folder of path with all links resolved. */
static int resolve_folder(const char *path, bool create, char out[WS_PATH_MAX], char *message, size_t cap)
{
    char parent[WS_PATH_MAX];
    char *real;
    int err = ws_path_parent(path, parent);
    if (err == 0)
        err = create ? ws_path_make_folder(parent) : 0;
    if (err != 0) {
        snprintf(message, cap, "cannot make the folder %s: %s", parent, strerror(errno));
        return err;
    }
    real = realpath(parent, NULL);
    if (!real) {
        err = err_of_errno();
        snprintf(message, cap, "cannot open the folder %s: %s", parent, strerror(errno));
        return err;
    }
    err = strlen(real) < WS_PATH_MAX ? 0 : -WS_ELIMIT;
    if (err == 0)
        memcpy(out, real, strlen(real) + 1);
    free(real);
    return err;
}

/* folder + the last part of path. */
static int join_name(char folder[WS_PATH_MAX], const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t n = strlen(folder);
    bool is_root = strcmp(folder, "/") == 0;
    if (*name == 0)
        return -WS_EINVAL;
    if (n + strlen(name) + 2 > WS_PATH_MAX)
        return -WS_ELIMIT;
    snprintf(folder + n, WS_PATH_MAX - n, "%s%s", is_root ? "" : "/", name);
    return 0;
}

/* What lies at file already: fine when nothing does, or a file of ours. */
static int check_file(const char *file, bool *exists, char *message, size_t cap)
{
    struct stat st;
    *exists = false;
    if (lstat(file, &st) != 0) {
        if (errno == ENOENT)
            return 0;
        snprintf(message, cap, "cannot open %s: %s", file, strerror(errno));
        return err_of_errno();
    }
    if (!S_ISREG(st.st_mode)) {
        snprintf(message, cap, "%s is not a file", file);
        return -WS_EINVAL;
    }
    *exists = true;
    return 0;
}

int ws_dbfile_resolve(const char *path, bool create, char out[WS_PATH_MAX], bool *exists, char *message, size_t cap)
{
    struct stat st;
    int err;
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
        char *real;
        if (!is_ours(&st)) {
            snprintf(message, cap, "%s is a link made by another user: it is not followed", path);
            return -WS_EPERM;
        }
        real = realpath(path, NULL);
        if (!real || strlen(real) >= WS_PATH_MAX) {
            snprintf(message, cap, "%s is a link to nowhere", path);
            free(real);
            return -WS_EIO;
        }
        memcpy(out, real, strlen(real) + 1);
        free(real);
        return check_file(out, exists, message, cap);
    }
    err = resolve_folder(path, create, out, message, cap);
    if (err == 0) {
        err = join_name(out, path);
        if (err != 0)
            snprintf(message, cap, "%s does not name a database file", path);
    }
    return err == 0 ? check_file(out, exists, message, cap) : err;
}

static int busy(int fd, const char *file, char *message, size_t cap)
{
    char pid[24] = "";
    ssize_t n = pread(fd, pid, sizeof pid - 1, 0);
    pid[n > 0 ? (size_t)n : 0] = 0;
    pid[strcspn(pid, "\n")] = 0;
    snprintf(message, cap, "another warpsight (pid %s) is writing %s", *pid ? pid : "unknown", file);
    return -WS_EBUSY;
}

int ws_dbfile_lock(struct ws_dblock *lock, const char *file, char *message, size_t cap)
{
    char path[WS_PATH_MAX + 8];
    struct stat st;
    int fd;
    lock->fd = -1;
    snprintf(path, sizeof path, "%s.lock", file);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        int err = err_of_errno();
        snprintf(message, cap, "cannot open %s: %s", path, strerror(errno));
        return err;
    }
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int err = -WS_EIO;
        if (errno == EINTR)
            continue;
        if (errno == EWOULDBLOCK)
            err = busy(fd, file, message, cap);
        else
            snprintf(message, cap, "cannot lock %s: %s", path, strerror(errno));
        close(fd);
        return err;
    }
    /* The writer's pid stays in the file while it works: what is left there tells of a sudden end. */
    lock->was_unclean = fstat(fd, &st) == 0 && st.st_size > 0;
    if (ftruncate(fd, 0) != 0 || dprintf(fd, "%ld\n", (long)getpid()) < 0)
        lock->was_unclean = true;
    lock->fd = fd;
    return 0;
}

void ws_dbfile_unlock(struct ws_dblock *lock, bool clean)
{
    if (lock->fd < 0)
        return;
    /* Failing to empty it costs the next writer a check, nothing else. */
    if (clean && ftruncate(lock->fd, 0) != 0)
        lock->was_unclean = true;
    close(lock->fd);
    lock->fd = -1;
}

int ws_dbfile_create(const char *file, char *message, size_t cap)
{
    int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        int err = err_of_errno();
        snprintf(message, cap, "cannot create %s: %s", file, strerror(errno));
        return err;
    }
    close(fd);
    return 0;
}

int ws_dbfile_move_aside(const char *file, char out[WS_PATH_MAX])
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    char stamp[32];
    char from[WS_PATH_MAX + 8];
    char to[WS_PATH_MAX + 8];
    struct stat st;
    struct tm utc;
    time_t now = time(NULL);
    gmtime_r(&now, &utc);
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &utc);
    for (int i = 0; i < 100; i++) {
        int n = i == 0 ? snprintf(out, WS_PATH_MAX, "%s.corrupt-%s", file, stamp)
                       : snprintf(out, WS_PATH_MAX, "%s.corrupt-%s-%d", file, stamp, i);
        if (n < 0 || n >= WS_PATH_MAX)
            return -WS_ELIMIT;
        if (lstat(out, &st) != 0 && errno == ENOENT)
            break;
    }
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        snprintf(from, sizeof from, "%s%s", file, suffixes[i]);
        snprintf(to, sizeof to, "%s%s", out, suffixes[i]);
        if (rename(from, to) != 0 && (i == 0 || errno != ENOENT))
            return -WS_EIO;
    }
    return 0;
}
