/* SPDX-License-Identifier: MIT
 * tool.c: see tool.h. */
#include "tool.h"

#include "../analyzer/err.h"
#include "../collector/steady.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_BYTES 4096

static bool find_in(const char *folder, const char *rest, const char *name, char *out, size_t cap)
{
    return folder && *folder && snprintf(out, cap, "%s%s/%s", folder, rest, name) < (int)cap && access(out, X_OK) == 0;
}

bool ws_tool_find(const char *name, char *out, size_t cap)
{
    const char *path = getenv("PATH");
    char folder[PATH_BYTES];
    while (path && *path) {
        size_t n = strcspn(path, ":");
        if (n > 0 && n < sizeof folder) {
            memcpy(folder, path, n);
            folder[n] = 0;
            if (find_in(folder, "", name, out, cap))
                return true;
        }
        path += n + (path[n] == ':');
    }
    return find_in(getenv("CUDA_HOME"), "/bin", name, out, cap) || find_in("/usr/local/cuda", "/bin", name, out, cap);
}

static bool start(const struct ws_tool_run *run, int out, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    bool is_started;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return false;
    /* First the file: its number may be 1 or 2 in a daemon that closed them. */
    is_started = (run->file < 0 || posix_spawn_file_actions_adddup2(&actions, run->file, 3) == 0) &&
                 posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) == 0 &&
                 posix_spawn_file_actions_adddup2(&actions, out, 1) == 0 &&
                 (run->wants_stderr ? posix_spawn_file_actions_adddup2(&actions, 1, 2)
                                    : posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)) == 0 &&
                 posix_spawn(pid, run->argv[0], &actions, NULL, (char *const *)run->argv, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    return is_started;
}

/* What it writes until it closes its end. */
static int read_all(const struct ws_tool_run *run, int from, char *text, size_t *length)
{
    int64_t until = ws_steady_ns() + (int64_t)run->timeout_ms * 1000000;
    struct pollfd p = {.fd = from, .events = POLLIN};
    *length = 0;
    for (;;) {
        int64_t left_ms = (until - ws_steady_ns()) / 1000000;
        ssize_t n;
        if (left_ms <= 0)
            return -WS_EBUSY;
        if (poll(&p, 1, (int)(left_ms > 1000 ? 1000 : left_ms)) <= 0)
            continue;
        n = read(from, text + *length, run->most - *length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -WS_EIO : 0;
        *length += (size_t)n;
        if (*length == run->most)
            return -WS_ELIMIT;
    }
}

int ws_tool_run(const struct ws_tool_run *run, char **text, size_t *length)
{
    int ends[2];
    int status = 0;
    int err = -WS_EIO;
    pid_t pid = 0;
    *text = malloc(run->most + 1);
    if (!*text)
        return -WS_ENOMEM;
    if (pipe2(ends, O_CLOEXEC) == 0) {
        bool is_started = start(run, ends[1], &pid);
        close(ends[1]);
        if (is_started)
            err = read_all(run, ends[0], *text, length);
        close(ends[0]);
        if (is_started && err != 0)
            (void)kill(pid, SIGKILL);
        while (is_started && waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    if (err == 0)
        (*text)[*length] = 0;
    if (err == 0 && status != 0)
        return -WS_EUNSUP;
    if (err != 0) {
        free(*text);
        *text = NULL;
    }
    return err;
}
