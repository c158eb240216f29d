/* SPDX-License-Identifier: MIT
 * serve_state.c: finding, and ending, the daemon of a database. */
#include "serve_state.h"

#include "../analyzer/err.h"
#include "paths.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SIDE_MAX (WS_PATH_MAX + 16)

int ws_serve_side_file(const char *db, const char *suffix, const char *text)
{
    char path[SIDE_MAX];
    size_t n = strlen(text);
    bool good;
    int fd;
    snprintf(path, sizeof path, "%s%s", db, suffix);
    (void)unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -WS_EIO;
    good = write(fd, text, n) == (ssize_t)n;
    return close(fd) == 0 && good ? 0 : -WS_EIO;
}

int ws_serve_state_write(const char *db, const char *url)
{
    char text[256];
    snprintf(text, sizeof text, "%ld\n%s\n", (long)getpid(), url);
    return ws_serve_side_file(db, ".serve", text);
}

void ws_serve_state_remove(const char *db)
{
    char path[SIDE_MAX];
    snprintf(path, sizeof path, "%s.serve", db);
    (void)unlink(path);
}

/* The first line of a file of ours, as a number; the rest behind it. 0 if there is none. */
static long read_pid(const char *db, const char *suffix, char *rest, size_t cap)
{
    char path[SIDE_MAX];
    char text[256];
    struct stat st;
    char *end;
    long pid;
    ssize_t n;
    int fd;
    snprintf(path, sizeof path, "%s%s", db, suffix);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return 0;
    n = fstat(fd, &st) == 0 && st.st_uid == geteuid() ? read(fd, text, sizeof text - 1) : -1;
    close(fd);
    text[n > 0 ? (size_t)n : 0] = 0;
    pid = strtol(text, &end, 10);
    if (rest)
        snprintf(rest, cap, "%.*s", (int)strcspn(*end ? end + 1 : end, "\n"), *end ? end + 1 : end);
    return pid > 1 ? pid : 0;
}

/* Whether somebody holds the lock of the database. */
static bool is_locked(const char *db)
{
    char path[SIDE_MAX];
    bool locked;
    int fd;
    snprintf(path, sizeof path, "%s.lock", db);
    fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    locked = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return locked;
}

bool ws_serve_state_find(const char *db, struct ws_serve_state *out)
{
    long pid = read_pid(db, ".serve", out->url, sizeof out->url);
    out->pid = (pid_t)pid;
    return pid > 0 && is_locked(db) && read_pid(db, ".lock", NULL, 0) == pid;
}

int ws_serve_state_stop(const char *db)
{
    struct ws_serve_state state;
    struct timespec pause = {0, 20000000};
    if (!ws_serve_state_find(db, &state))
        return -WS_ENOENT;
    if (kill(state.pid, SIGTERM) != 0)
        return errno == ESRCH ? -WS_ENOENT : -WS_EPERM;
    for (int i = 0; i < 250; i++) {
        if (!is_locked(db))
            return 0;
        nanosleep(&pause, NULL);
    }
    return -WS_EBUSY;
}
