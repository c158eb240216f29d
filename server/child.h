/* SPDX-License-Identifier: MIT
 * child.h: start a program as its own child, leave its stdin, stdout, stderr and signals to it, wait for it.
 * Knows nothing of profiling. Read on: cmd_run.c. */
#ifndef WS_SERVER_CHILD_H
#define WS_SERVER_CHILD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ws_child_variable {
    const char *name;
    const char *value; /* NULL = remove it */
};

struct ws_child_end {
    pid_t pid;
    int status;                   /* the program's exit status, or 128 + signal */
    int signal;                   /* that ended it, 0 = none */
    int64_t started_ns, ended_ns; /* epoch */
};

/* Run a program to its end.
 *   argv       as for execvp: the first word is looked for in PATH
 *   variables  [count] set in the child's environment only
 *   signals    while it lives, SIGINT and SIGQUIT are ignored here (the terminal sends them to the program as
 *              well), SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are passed on; all is as before afterwards
 *   errors     -WS_ENOENT the program is not there, -WS_EPERM it cannot be executed (errno says why),
 *              -WS_EIO no process could be made; *out untouched
 *   thread     one at a time, from a process without other threads                                          */
int ws_child_run(char *const argv[], const struct ws_child_variable *variables, size_t count, struct ws_child_end *out);

/* Somebody who is called now and then while the program runs; on a kernel before 5.3 never. */
struct ws_child_watch {
    int every_ms;
    void (*look)(void *user);
    void *user;
};
int ws_child_run_watched(char *const argv[], const struct ws_child_variable *variables, size_t count,
                         const struct ws_child_watch *watch, struct ws_child_end *out);

#endif
