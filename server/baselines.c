/* SPDX-License-Identifier: MIT
 * baselines.c: see baselines.h. */
#include "baselines.h"

#include "../analyzer/err.h"
#include "paths.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

bool ws_baseline_is_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/";
    size_t n = strlen(text);
    return n > 0 && n < WS_BASELINE_NAME && isalpha((unsigned char)text[0]) && strspn(text, allowed) == n;
}

static int complain(int err, char *message, size_t cap, const char *what, const char *path)
{
    snprintf(message, cap, "%s %s: %s", what, path, err == -WS_EIO ? strerror(errno) : ws_err_text(err));
    return err;
}

static int file_of(const char *db, const char *ending, char out[WS_PATH_MAX])
{
    int n = snprintf(out, WS_PATH_MAX, "%s.baselines%s", db, ending);
    return n < 0 || n >= WS_PATH_MAX ? -WS_ELIMIT : 0;
}

static int read_line(const char *line, struct ws_baselines *out)
{
    struct ws_baseline *b = &out->item[out->count];
    size_t name = strcspn(line, "\t");
    size_t token = line[name] ? strcspn(line + name + 1, "\n") : 0;
    if (out->count == WS_BASELINES_MAX)
        return -WS_ELIMIT;
    if (name >= sizeof b->name || token == 0 || token >= sizeof b->token || line[name + 1 + token] != '\n')
        return -WS_ECORRUPT;
    snprintf(b->name, sizeof b->name, "%.*s", (int)name, line);
    snprintf(b->token, sizeof b->token, "%.*s", (int)token, line + name + 1);
    if (!ws_baseline_is_name(b->name))
        return -WS_ECORRUPT;
    out->count++;
    return 0;
}

int ws_baselines_load(const char *db, struct ws_baselines *out, char *message, size_t cap)
{
    char path[WS_PATH_MAX];
    char line[WS_BASELINE_NAME + WS_BASELINE_TOKEN + 4];
    FILE *in;
    int err = file_of(db, "", path);
    out->count = 0;
    if (err != 0)
        return complain(err, message, cap, "the path is too long:", db);
    in = fopen(path, "re");
    if (!in)
        return errno == ENOENT ? 0 : complain(-WS_EIO, message, cap, "cannot read", path);
    while (err == 0 && fgets(line, sizeof line, in))
        err = read_line(line, out);
    if (err == 0 && ferror(in))
        err = -WS_EIO;
    fclose(in);
    return err == 0 ? 0 : complain(err, message, cap, "cannot read", path);
}

const struct ws_baseline *ws_baselines_find(const struct ws_baselines *all, const char *name)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->item[i].name, name) == 0)
            return &all->item[i];
    return NULL;
}

/* --- writing --- */

static int change(struct ws_baselines *all, const char *name, const char *token)
{
    size_t at = 0;
    while (at < all->count && strcmp(all->item[at].name, name) < 0)
        at++;
    if (at < all->count && strcmp(all->item[at].name, name) == 0) {
        if (!token)
            memmove(&all->item[at], &all->item[at + 1], (--all->count - at) * sizeof all->item[0]);
    } else if (!token) {
        return -WS_ENOENT;
    } else if (all->count == WS_BASELINES_MAX) {
        return -WS_ELIMIT;
    } else {
        memmove(&all->item[at + 1], &all->item[at], (all->count++ - at) * sizeof all->item[0]);
    }
    if (token) {
        snprintf(all->item[at].name, sizeof all->item[at].name, "%s", name);
        snprintf(all->item[at].token, sizeof all->item[at].token, "%s", token);
    }
    return 0;
}

static int write_whole(const char *temporary, const char *path, const struct ws_baselines *all)
{
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    bool failed;
    if (!out) {
        if (fd >= 0)
            close(fd);
        return -WS_EIO;
    }
    for (size_t i = 0; i < all->count; i++)
        fprintf(out, "%s\t%s\n", all->item[i].name, all->item[i].token);
    failed = fflush(out) != 0 || ferror(out) || fsync(fd) != 0;
    if (fclose(out) != 0 || failed || rename(temporary, path) != 0) {
        int reason = errno;
        (void)unlink(temporary);
        errno = reason;
        return -WS_EIO;
    }
    return 0;
}

int ws_baselines_set(const char *db, const char *name, const char *token, char *message, size_t cap)
{
    struct ws_baselines all;
    char path[WS_PATH_MAX], temporary[WS_PATH_MAX], lock[WS_PATH_MAX];
    int fd;
    int err = file_of(db, "", path);
    if (err == 0)
        err = file_of(db, ".tmp", temporary);
    if (err == 0)
        err = file_of(db, ".lock", lock);
    if (err != 0)
        return complain(err, message, cap, "the path is too long:", db);
    fd = open(lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) != 0) {
        err = complain(-WS_EIO, message, cap, "cannot write", lock);
    } else {
        err = ws_baselines_load(db, &all, message, cap);
        if (err == 0) {
            err = change(&all, name, token);
            if (err == 0)
                err = write_whole(temporary, path, &all);
            if (err != 0)
                (void)complain(err, message, cap, "cannot write", path);
        }
    }
    if (fd >= 0)
        close(fd); /* and unlock */
    return err;
}
