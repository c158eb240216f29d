/* SPDX-License-Identifier: MIT
 * test.h: the unit-test harness. One file tests/unit/test_<file>.c is one program.
 * TEST(name_is_a_sentence) { CHECK(…); }  Each test runs in a process of its own, so a crash or a
 * hang (60 s, 180 s under a sanitizer) fails that test alone. Ends with one line per test for tests/run.sh.
 * SKIP("reason") leaves a test as skipped. Exit 0 all passed, 1 some failed. */
#ifndef WS_TESTS_UNIT_TEST_H
#define WS_TESTS_UNIT_TEST_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct ws_test {
    const char *name;
    void (*run)(void);
    struct ws_test *next;
};

static struct ws_test *ws_tests;
static int ws_failures;

static inline void ws_test_add(struct ws_test *t)
{
    struct ws_test **at = &ws_tests;
    while (*at)
        at = &(*at)->next;
    *at = t;
}

#define TEST(id)                                            \
    static void test_##id(void);                            \
    __attribute__((constructor)) static void add_##id(void) \
    {                                                       \
        static struct ws_test t = {#id, test_##id, NULL};   \
        ws_test_add(&t);                                    \
    }                                                       \
    static void test_##id(void)

#define WS_FAIL(...)                                    \
    do {                                                \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
        fprintf(stderr, __VA_ARGS__);                   \
        fputc('\n', stderr);                            \
        ws_failures++;                                  \
    } while (0)

#define CHECK(claim)                         \
    do {                                     \
        if (!(claim))                        \
            WS_FAIL("not true: %s", #claim); \
    } while (0)
/* CHECK, and leave the test if it does not hold. */
#define REQUIRE(claim)                       \
    do {                                     \
        if (!(claim)) {                      \
            WS_FAIL("not true: %s", #claim); \
            return;                          \
        }                                    \
    } while (0)
#define CHECK_INT(got, want)                                         \
    do {                                                             \
        long long ws_g = (long long)(got), ws_w = (long long)(want); \
        if (ws_g != ws_w)                                            \
            WS_FAIL("%s: got %lld, want %lld", #got, ws_g, ws_w);    \
    } while (0)
#define CHECK_NEAR(got, want, tolerance)                            \
    do {                                                            \
        double ws_g = (got), ws_w = (want);                         \
        if (!(fabs(ws_g - ws_w) <= (tolerance)))                    \
            WS_FAIL("%s: got %.17g, want %.17g", #got, ws_g, ws_w); \
    } while (0)
#define CHECK_STR(got, want)                                                            \
    do {                                                                                \
        const char *ws_g = (got), *ws_w = (want);                                       \
        if (!ws_g || strcmp(ws_g, ws_w) != 0)                                           \
            WS_FAIL("%s: got \"%s\", want \"%s\"", #got, ws_g ? ws_g : "(null)", ws_w); \
    } while (0)
#define SKIP(reason)                           \
    do {                                       \
        fprintf(stderr, "skip: %s\n", reason); \
        fflush(NULL);                          \
        _exit(77);                             \
    } while (0)

int main(int argc, char **argv)
{
    int failed = 0;
    for (struct ws_test *t = ws_tests; t; t = t->next) {
        int status = 0;
        pid_t pid;
        if (argc > 1 && strcmp(argv[1], t->name) != 0)
            continue;
        fflush(NULL);
        pid = fork();
        if (pid == 0) {
            alarm(getenv("SAN") && *getenv("SAN") ? 180 : 60);
            t->run();
            fflush(NULL);
            exit(ws_failures ? 1 : 0); /* exit, not _exit: leak checks run at exit */
        }
        waitpid(pid, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            printf("PASS %s\n", t->name);
        else if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
            printf("SKIP %s\n", t->name);
        else {
            printf("FAIL %s%s\n", t->name, WIFSIGNALED(status) ? " (signal)" : "");
            failed = 1;
        }
    }
    return failed;
}

#endif
