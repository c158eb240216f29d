/* SPDX-License-Identifier: MIT
 * reference.c: start warpsight-kernels, and `warpsight run` on it. */
#include "reference.h"

#include "cli.h"
#include "install.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_MAX = 1 << 20 };

int ws_reference_find(const char *command, char path[WS_REFERENCE_PATH])
{
    if (ws_install_find(WS_REFERENCE_PROGRAM, path, WS_REFERENCE_PATH) == 0)
        return WS_EXIT_OK;
    return ws_cli_failed(command, "%s is not there: it is built where nvcc is", WS_REFERENCE_PROGRAM);
}

/* The blanks in front of the output: see reference.h. */
static void tell_steps(struct ws_progress *progress, const char *text)
{
    size_t steps = strspn(text, " ");
    size_t done = strspn(text + steps, "\n");
    if (steps > 0 && done > 0 && done - 1 <= steps && text[steps + done] == 0)
        ws_progress_tell(progress, done - 1, steps, NULL);
}

/* All that fd gives, NUL-ended; NULL if it cannot be read or is longer than a megabyte. Free it. */
static char *read_all(int fd, struct ws_progress *progress)
{
    char *text = malloc(OUTPUT_MAX + 1);
    size_t used = 0;
    ssize_t n = 1;
    while (text && n > 0 && used < OUTPUT_MAX) {
        n = read(fd, text + used, OUTPUT_MAX - used);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            used += (size_t)n;
        text[used] = 0;
        tell_steps(progress, text);
    }
    if (!text || n != 0) {
        free(text);
        return NULL;
    }
    text[used] = 0;
    return text;
}

/* In the child: out is its stdout (< 0: nowhere). Does not come back. */
static void become(const char *path, char *const arguments[], int out, bool quiet)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (dup2(out >= 0 ? out : null, STDOUT_FILENO) >= 0 && (!quiet || dup2(null, STDERR_FILENO) >= 0))
        execv(path, arguments);
    _exit(127);
}

static int wait_for(const char *command, const char *path, pid_t child, int *exit_status)
{
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            child = -1;
    if (child < 0)
        return ws_cli_failed(command, "cannot run %s", path);
    *exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return WS_EXIT_OK;
}

int ws_reference_run(const char *command, const char *path, char *const arguments[], bool quiet,
                     struct ws_progress *progress, char **text, int *exit_status)
{
    int ends[2];
    pid_t child;
    *text = NULL;
    fflush(NULL);
    if (pipe(ends) != 0)
        return ws_cli_failed(command, "cannot make a pipe");
    child = fork();
    if (child == 0)
        become(path, arguments, ends[1], quiet);
    close(ends[1]);
    *text = child > 0 ? read_all(ends[0], progress) : NULL;
    close(ends[0]);
    return wait_for(command, path, child, exit_status);
}

int ws_reference_profile(const char *command, char *const arguments[], int *exit_status)
{
    static const char self[] = "/proc/self/exe";
    pid_t child;
    fflush(NULL);
    child = fork();
    if (child == 0)
        become(self, arguments, -1, false);
    return wait_for(command, "warpsight run", child, exit_status);
}
