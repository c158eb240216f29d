/* SPDX-License-Identifier: MIT
 * child.c: fork, exec, wait. The child's exec error comes back through a pipe that a good exec closes.
 * No output. The program gets exactly the signal mask and dispositions that we were started with. */
#include "child.h"

#include "../analyzer/err.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Sent to the whole terminal group by the keyboard: the program gets its own copy. */
static const int ignored[] = {SIGINT, SIGQUIT};
/* Sent to us alone (by a scheduler, a service manager, a person): meant for the program. */
static const int passed_on[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
#define IGNORED (sizeof ignored / sizeof ignored[0])
#define PASSED_ON (sizeof passed_on / sizeof passed_on[0])

static volatile sig_atomic_t child_pid;

static void pass_on(int number)
{
    int kept = errno;
    if (child_pid > 0)
        (void)kill((pid_t)child_pid, number);
    errno = kept;
}

struct signals {
    sigset_t mask;
    struct sigaction action[IGNORED + PASSED_ON];
};

static int signal_at(size_t i)
{
    return i < IGNORED ? ignored[i] : passed_on[i - IGNORED];
}

/* Holds them back until it is clear who is who. */
static void hold_signals(struct signals *s)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < IGNORED + PASSED_ON; i++) {
        sigaddset(&set, signal_at(i));
        sigaction(signal_at(i), NULL, &s->action[i]);
    }
    sigprocmask(SIG_BLOCK, &set, &s->mask);
}

static void divert_signals(const struct signals *s)
{
    for (size_t i = 0; i < IGNORED + PASSED_ON; i++) {
        struct sigaction action = {.sa_handler = i < IGNORED ? SIG_IGN : pass_on, .sa_flags = SA_RESTART};
        /* What was ignored for us (nohup) is ignored for the program too. */
        if (s->action[i].sa_handler != SIG_IGN)
            sigaction(signal_at(i), &action, NULL);
    }
    sigprocmask(SIG_SETMASK, &s->mask, NULL);
}

static void restore_signals(const struct signals *s)
{
    for (size_t i = 0; i < IGNORED + PASSED_ON; i++)
        sigaction(signal_at(i), &s->action[i], NULL);
    sigprocmask(SIG_SETMASK, &s->mask, NULL);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* In the child: never returns. */
__attribute__((noreturn)) static void become(char *const argv[], const struct ws_child_variable *variables,
                                             size_t count, int report)
{
    int err;
    for (size_t i = 0; i < count; i++)
        if (variables[i].value)
            (void)setenv(variables[i].name, variables[i].value, 1);
        else
            (void)unsetenv(variables[i].name);
    execvp(argv[0], argv);
    err = errno;
    while (write(report, &err, sizeof err) < 0 && errno == EINTR)
        ;
    _exit(127);
}

/* The errno of a failed exec, 0 when the program runs. */
static int read_report(int fd)
{
    int err = 0;
    ssize_t n;
    do
        n = read(fd, &err, sizeof err);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof err ? err : 0;
}

/* Until the program has ended. */
static void look_on(pid_t pid, const struct ws_child_watch *watch)
{
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    int ended = 0;
    if (end.fd < 0)
        return;
    while (ended == 0 || (ended < 0 && errno == EINTR)) {
        ended = poll(&end, 1, watch->every_ms);
        if (ended == 0)
            watch->look(watch->user);
    }
    close(end.fd);
}

static int wait_for(pid_t pid, const struct ws_child_watch *watch)
{
    int status = 0;
    if (watch)
        look_on(pid, watch);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 0;
    return status;
}

int ws_child_run(char *const argv[], const struct ws_child_variable *variables, size_t count, struct ws_child_end *out)
{
    return ws_child_run_watched(argv, variables, count, NULL, out);
}

int ws_child_run_watched(char *const argv[], const struct ws_child_variable *variables, size_t count,
                         const struct ws_child_watch *watch, struct ws_child_end *out)
{
    struct signals signals;
    struct ws_child_end end = {0};
    int pipe_fd[2];
    int status;
    int exec_errno;
    if (pipe2(pipe_fd, O_CLOEXEC) != 0)
        return -WS_EIO;
    child_pid = 0;
    hold_signals(&signals);
    end.started_ns = now_ns();
    end.pid = fork();
    if (end.pid == 0) {
        sigprocmask(SIG_SETMASK, &signals.mask, NULL);
        become(argv, variables, count, pipe_fd[1]);
    }
    child_pid = (sig_atomic_t)end.pid;
    close(pipe_fd[1]);
    if (end.pid < 0) {
        restore_signals(&signals);
        close(pipe_fd[0]);
        return -WS_EIO;
    }
    divert_signals(&signals);
    exec_errno = read_report(pipe_fd[0]);
    close(pipe_fd[0]);
    status = wait_for(end.pid, exec_errno == 0 ? watch : NULL);
    end.ended_ns = now_ns();
    child_pid = 0; /* the number may be another process's from here on */
    restore_signals(&signals);
    if (exec_errno != 0) {
        errno = exec_errno;
        return exec_errno == ENOENT ? -WS_ENOENT : -WS_EPERM;
    }
    end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end.status = end.signal ? 128 + end.signal : WEXITSTATUS(status);
    *out = end;
    return 0;
}
