/* SPDX-License-Identifier: MIT
 * paths.c: where the database and the spool lie, and folders that only we can read. */
#include "paths.h"

#include "../analyzer/err.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int print_path(char out[WS_PATH_MAX], const char *format, ...) __attribute__((format(printf, 2, 3)));

static int print_path(char out[WS_PATH_MAX], const char *format, ...)
{
    va_list args;
    int n;
    va_start(args, format);
    n = vsnprintf(out, WS_PATH_MAX, format, args);
    va_end(args);
    return n < 0 || n >= WS_PATH_MAX ? -WS_ELIMIT : 0;
}

/* A variable that holds something; the XDG ones count only when absolute, says their specification. */
static const char *variable(const char *name, int must_be_absolute)
{
    const char *value = getenv(name);
    if (!value || *value == 0 || (must_be_absolute && *value != '/'))
        return NULL;
    return value;
}

int ws_path_db(char out[WS_PATH_MAX])
{
    const char *db = variable("WARPSIGHT_DB", 0);
    const char *data = variable("XDG_DATA_HOME", 1);
    const char *home = variable("HOME", 1);
    if (db)
        return print_path(out, "%s", db);
    if (data)
        return print_path(out, "%s/warpsight/warpsight.db", data);
    if (home)
        return print_path(out, "%s/.local/share/warpsight/warpsight.db", home);
    return -WS_ENOENT;
}

int ws_path_spool(char out[WS_PATH_MAX])
{
    const char *spool = variable("WARPSIGHT_SPOOL", 0);
    const char *runtime = variable("XDG_RUNTIME_DIR", 1);
    if (spool)
        return print_path(out, "%s", spool);
    if (runtime)
        return print_path(out, "%s/warpsight", runtime);
    return print_path(out, "/tmp/warpsight-%lu", (unsigned long)geteuid());
}

int ws_path_parent(const char *path, char out[WS_PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return print_path(out, ".");
    while (slash > path && slash[-1] == '/')
        slash--;
    if (slash == path)
        return print_path(out, "/");
    return print_path(out, "%.*s", (int)(slash - path), path);
}

static int make_one(const char *path)
{
    struct stat st;
    if (mkdir(path, 0700) == 0)
        return 0;
    if (errno != EEXIST)
        return errno == EACCES || errno == EPERM || errno == EROFS ? -WS_EPERM : -WS_EIO;
    if (stat(path, &st) != 0)
        return -WS_EIO;
    if (S_ISDIR(st.st_mode))
        return 0;
    errno = ENOTDIR;
    return -WS_EIO;
}

int ws_path_make_folder(const char *path)
{
    char part[WS_PATH_MAX];
    struct stat st;
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof part)
        return -WS_ELIMIT;
    /* The common case; it also spares parents that we may not look into. */
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    memcpy(part, path, n + 1);
    for (size_t i = 1; i < n; i++) {
        int err;
        if (part[i] != '/' || part[i - 1] == '/')
            continue;
        part[i] = 0;
        err = stat(part, &st) == 0 && S_ISDIR(st.st_mode) ? 0 : make_one(part);
        part[i] = '/';
        if (err != 0)
            return err;
    }
    return make_one(part);
}

int ws_path_make_private_folder(const char *path)
{
    struct stat st;
    int err = ws_path_make_folder(path);
    if (err != 0)
        return err;
    if (lstat(path, &st) != 0)
        return -WS_EIO;
    if (!S_ISDIR(st.st_mode) || (st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & 022) != 0) {
        errno = EPERM;
        return -WS_EPERM;
    }
    return 0;
}

uint64_t ws_path_bytes(const char *path, int depth)
{
    DIR *dir = opendir(path);
    struct dirent *e;
    uint64_t sum = 0;
    if (!dir)
        return 0;
    while ((e = readdir(dir)) != NULL) {
        char name[WS_PATH_MAX];
        struct stat st;
        int n = snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        if (e->d_name[0] == '.' || n < 0 || (size_t)n >= sizeof name || lstat(name, &st) != 0)
            continue;
        if (S_ISREG(st.st_mode))
            sum += (uint64_t)st.st_size;
        else if (S_ISDIR(st.st_mode) && depth > 0)
            sum += ws_path_bytes(name, depth - 1);
    }
    closedir(dir);
    return sum;
}
