/* SPDX-License-Identifier: MIT
 * test_gate.c: many inside or one alone, and a gate that is broken open; the watch that breaks it. Meant for
 * SAN=thread, too. */
#include "collector/gate.h"
#include "collector/watch.h"

#include "test.h"

#include <time.h>

static struct ws_gate gate = WS_GATE_INIT;
static int guarded; /* written behind the closed gate only: a race would show under the thread sanitizer */
static atomic_int inside, alone, wrong;

static void pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static void *pass_often(void *unused)
{
    (void)unused;
    for (int i = 0; i < 20000; i++) {
        ws_gate_enter(&gate);
        if (i % 64 == 0)
            ws_gate_enter(&gate); /* nests */
        atomic_fetch_add(&inside, 1);
        if (atomic_load(&alone) != 0)
            atomic_fetch_add(&wrong, 1);
        (void)*(volatile int *)&guarded;
        atomic_fetch_sub(&inside, 1);
        if (i % 64 == 0)
            ws_gate_leave(&gate);
        ws_gate_leave(&gate);
    }
    return NULL;
}

static void *close_often(void *unused)
{
    (void)unused;
    for (int i = 0; i < 500; i++) {
        if (!ws_gate_close_within(&gate, 60000))
            return NULL;
        if (atomic_fetch_add(&alone, 1) != 0 || atomic_load(&inside) != 0)
            atomic_fetch_add(&wrong, 1);
        guarded++;
        atomic_fetch_sub(&alone, 1);
        ws_gate_open(&gate);
    }
    return NULL;
}

TEST(one_alone_or_many_together)
{
    pthread_t thread[6];
    for (int i = 0; i < 6; i++)
        REQUIRE(pthread_create(&thread[i], NULL, i < 4 ? pass_often : close_often, NULL) == 0);
    for (int i = 0; i < 6; i++)
        pthread_join(thread[i], NULL);
    CHECK_INT(atomic_load(&wrong), 0);
    CHECK_INT(guarded, 1000);
    CHECK_INT(atomic_load(&gate.passing), 0);
}

static atomic_bool is_over;

/* As a thread that launches without a pause: inside nearly all the time. */
static void *storm(void *unused)
{
    (void)unused;
    while (!atomic_load(&is_over)) {
        ws_gate_enter(&gate);
        pause_ms(1);
        ws_gate_leave(&gate);
    }
    return NULL;
}

/* The first launch of a kernel loads its code. */
static void *stay_inside_for_long(void *unused)
{
    (void)unused;
    ws_gate_enter(&gate);
    atomic_store(&inside, 1);
    pause_ms(100);
    ws_gate_leave(&gate);
    return NULL;
}

TEST(threads_that_launch_without_a_pause_do_not_keep_one_out)
{
    pthread_t thread[8], lengthy;
    REQUIRE(pthread_create(&lengthy, NULL, stay_inside_for_long, NULL) == 0);
    while (atomic_load(&inside) == 0)
        pause_ms(1);
    atomic_store(&inside, 0);
    for (int i = 0; i < 8; i++)
        REQUIRE(pthread_create(&thread[i], NULL, storm, NULL) == 0);
    for (int i = 0; i < 20; i++) {
        bool is_closed = ws_gate_close_within(&gate, 2000);
        CHECK(is_closed);
        if (is_closed)
            ws_gate_open(&gate);
    }
    atomic_store(&is_over, true);
    pthread_join(lengthy, NULL);
    for (int i = 0; i < 8; i++)
        pthread_join(thread[i], NULL);
    CHECK_INT(atomic_load(&gate.closers), 0);
}

static void *want_to_close(void *unused)
{
    (void)unused;
    atomic_store(&inside, ws_gate_close_within(&gate, 60000) ? 1 : 2);
    return NULL;
}

static void *pass_once(void *unused)
{
    (void)unused;
    ws_gate_enter(&gate);
    ws_gate_leave(&gate);
    atomic_store(&inside, 7);
    return NULL;
}

/* What is inside waits for who stands outside: a blocking launch whose kernel waits for another one's. */
TEST(who_stands_back_goes_on_when_nobody_comes_out)
{
    pthread_t passer, closer;
    ws_gate_enter(&gate);
    REQUIRE(pthread_create(&closer, NULL, want_to_close, NULL) == 0);
    while (atomic_load(&gate.closers) == 0)
        pause_ms(1);
    REQUIRE(pthread_create(&passer, NULL, pass_once, NULL) == 0);
    pthread_join(passer, NULL); /* while we are inside */
    CHECK_INT(atomic_load(&inside), 7);
    ws_gate_leave(&gate);
    pthread_join(closer, NULL);
    CHECK_INT(atomic_load(&inside), 1);
    ws_gate_open(&gate);
    atomic_store(&inside, 0);
}

static void *close_and_stay(void *unused)
{
    (void)unused;
    if (ws_gate_close_within(&gate, 60000))
        atomic_store(&alone, 1);
    pause_ms(300);
    ws_gate_open(&gate); /* late: broken meanwhile */
    return NULL;
}

TEST(a_closer_with_little_time_gives_up)
{
    ws_gate_enter(&gate);
    CHECK(!ws_gate_close_within(&gate, 20));
    ws_gate_leave(&gate);
    CHECK(ws_gate_close_within(&gate, 20));
    ws_gate_open(&gate);
    CHECK_INT(atomic_load(&gate.passing), 0);
}

TEST(a_broken_gate_lets_everybody_go_on)
{
    pthread_t thread, stayer, closer;
    REQUIRE(pthread_create(&stayer, NULL, close_and_stay, NULL) == 0);
    while (atomic_load(&alone) == 0)
        pause_ms(1);
    atomic_store(&alone, 0);
    REQUIRE(pthread_create(&thread, NULL, pass_often, NULL) == 0);
    REQUIRE(pthread_create(&closer, NULL, want_to_close, NULL) == 0);
    pause_ms(20);
    CHECK_INT(atomic_load(&inside), 0); /* both wait */
    ws_gate_break(&gate);
    pthread_join(thread, NULL);
    pthread_join(closer, NULL);
    pthread_join(stayer, NULL);
    CHECK_INT(atomic_load(&gate.passing), 0);
    CHECK(!ws_gate_close_within(&gate, 60000));
    ws_gate_enter(&gate);
    ws_gate_leave(&gate);
}

static atomic_int late;
static void on_late(void)
{
    atomic_fetch_add(&late, 1);
}

TEST(what_comes_back_in_time_is_not_given_up)
{
    REQUIRE(ws_watch_start(on_late));
    for (int i = 0; i < 200; i++) {
        ws_watch_arm(50000000);
        CHECK(ws_watch_disarm());
    }
    pause_ms(150);
    CHECK_INT(atomic_load(&late), 0);
}

TEST(what_does_not_come_back_is_given_up_once)
{
    REQUIRE(ws_watch_start(on_late));
    ws_watch_arm(INT64_C(3600000000000)); /* asleep for an hour */
    pause_ms(20);
    CHECK(ws_watch_disarm());
    ws_watch_arm(30000000); /* and woken for this */
    for (int i = 0; i < 200 && atomic_load(&late) == 0; i++)
        pause_ms(10);
    CHECK_INT(atomic_load(&late), 1);
    CHECK(!ws_watch_disarm());
    ws_watch_arm(1);
    pause_ms(30);
    CHECK_INT(atomic_load(&late), 1);
}

TEST(a_watch_that_is_stopped_gives_nothing_up)
{
    REQUIRE(ws_watch_start(on_late));
    ws_watch_arm(50000000);
    ws_watch_stop();
    pause_ms(120);
    CHECK_INT(atomic_load(&late), 0);
    CHECK(ws_watch_disarm());
}

TEST(without_a_thread_nothing_is_given_up)
{
    ws_watch_arm(1);
    pause_ms(10);
    CHECK(ws_watch_disarm());
}
