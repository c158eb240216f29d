/* SPDX-License-Identifier: MIT
 * test_child.c: starting and awaiting a program: statuses, signals, environment, failures to start. */
#include "../../analyzer/err.h"
#include "../../server/child.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

static struct ws_child_end end;

static int sh(const char *script)
{
    char *argv[] = {"sh", "-c", (char *)(uintptr_t)script, NULL};
    return ws_child_run(argv, NULL, 0, &end);
}

TEST(the_exit_status_is_the_programs)
{
    CHECK_INT(sh("exit 0"), 0);
    CHECK_INT(end.status, 0);
    CHECK_INT(sh("exit 255"), 0);
    CHECK_INT(end.status, 255);
    CHECK_INT(end.signal, 0);
    CHECK(end.ended_ns >= end.started_ns);
    CHECK(end.pid > 0);
}

TEST(a_signal_gives_128_and_its_number)
{
    CHECK_INT(sh("kill -KILL $$"), 0);
    CHECK_INT(end.status, 128 + SIGKILL);
    CHECK_INT(end.signal, SIGKILL);
}

TEST(a_missing_program_is_not_found)
{
    char *argv[] = {"/nowhere/program", NULL};
    CHECK_INT(ws_child_run(argv, NULL, 0, &end), -WS_ENOENT);
    argv[0] = "no-such-program-anywhere";
    CHECK_INT(ws_child_run(argv, NULL, 0, &end), -WS_ENOENT);
}

TEST(what_cannot_be_executed_says_why)
{
    char *argv[] = {"/dev/null", NULL};
    CHECK_INT(ws_child_run(argv, NULL, 0, &end), -WS_EPERM);
    CHECK_INT(errno, EACCES);
    argv[0] = "/tmp";
    CHECK_INT(ws_child_run(argv, NULL, 0, &end), -WS_EPERM);
}

TEST(variables_reach_the_child_and_not_ourselves)
{
    struct ws_child_variable v[] = {{"WS_TEST_SET", "a b"}, {"WS_TEST_GONE", NULL}};
    char *argv[] = {"sh", "-c", "test \"$WS_TEST_SET\" = 'a b' && test -z \"${WS_TEST_GONE+x}\"", NULL};
    setenv("WS_TEST_GONE", "x", 1);
    CHECK_INT(ws_child_run(argv, v, 2, &end), 0);
    CHECK_INT(end.status, 0);
    CHECK(getenv("WS_TEST_SET") == NULL);
    CHECK(getenv("WS_TEST_GONE") != NULL);
}

TEST(interrupts_are_left_to_the_program)
{
    /* The shell interrupts its parent: us. We must still be there to report 7. */
    CHECK_INT(sh("kill -INT $PPID; kill -QUIT $PPID; exit 7"), 0);
    CHECK_INT(end.status, 7);
}

TEST(a_request_to_end_is_passed_on)
{
    CHECK_INT(sh("trap 'exit 9' TERM; kill -TERM $PPID; i=0; while [ $i -lt 100 ]; do sleep 0.05; i=$((i+1)); done"),
              0);
    CHECK_INT(end.status, 9);
}

TEST(dispositions_are_as_before_afterwards)
{
    struct sigaction before, after;
    sigaction(SIGTERM, NULL, &before);
    CHECK_INT(sh("exit 1"), 0);
    sigaction(SIGTERM, NULL, &after);
    CHECK(before.sa_handler == after.sa_handler);
    sigaction(SIGINT, NULL, &after);
    CHECK(after.sa_handler == SIG_DFL);
}

TEST(the_program_gets_the_dispositions_we_were_started_with)
{
    signal(SIGHUP, SIG_IGN); /* as under nohup */
    CHECK_INT(sh("kill -HUP $$; kill -HUP $PPID; exit 3"), 0);
    CHECK_INT(end.status, 3);
    signal(SIGHUP, SIG_DFL);
    CHECK_INT(sh("kill -INT $$; exit 3"), 0);
    CHECK_INT(end.signal, SIGINT);
}

TEST(the_program_inherits_no_descriptor_of_ours)
{
    /* Ours are 0, 1, 2 and whatever the harness was started with; the pipe of exec errors would be one more. */
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    char script[128];
    snprintf(script, sizeof script, "test ! -e /proc/self/fd/%d && test ! -e /proc/self/fd/%d", next + 1, next + 2);
    CHECK_INT(sh(script), 0);
    CHECK_INT(end.status, 0);
    close(next);
}
