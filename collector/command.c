/* SPDX-License-Identifier: MIT
 * command.c: see command.h. One command at a time; the next one lies in its file until the last is answered. An answer
 * that cannot be written (the disk is full) is tried again at each wake.
 * Must not: follow a link, wait, or believe a file of another user. */
#include "command.h"

#include "../analyzer/err.h"
#include "collection.h"
#include "control.h"
#include "spool.h"
#include "steady.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A launch that is being profiled holds a stop up; after so long the asker is told that much. */
#define PATIENCE_NS 5000000000LL

static struct {
    char folder[1200];
    char text[WS_CONTROL_BYTES]; /* of the command under way: its texts point here */
    struct ws_control_command command;
    bool has_command;
    unsigned wakes; /* since it was taken up */
    int64_t taken_ns;
    struct ws_control_answer answer[WS_CONTROL_ANSWERS];
    size_t answer_count;
    uint64_t written_changes; /* of the collection, as control.state has it */
    bool is_unwritten;
} commands;

void ws_command_init(const char *folder, bool is_idle)
{
    snprintf(commands.folder, sizeof commands.folder, "%s", folder);
    commands.is_unwritten = is_idle;
}

__attribute__((format(printf, 2, 3))) static void answer(bool is_refused, const char *format, ...)
{
    struct ws_control_answer *a;
    va_list args;
    if (commands.answer_count == WS_CONTROL_ANSWERS) {
        memmove(&commands.answer[0], &commands.answer[1], (WS_CONTROL_ANSWERS - 1) * sizeof commands.answer[0]);
        commands.answer_count--;
    }
    a = &commands.answer[commands.answer_count++];
    memcpy(a->id, commands.command.id, sizeof a->id);
    a->is_refused = is_refused;
    va_start(args, format);
    vsnprintf(a->text, sizeof a->text, format, args);
    va_end(args);
    for (char *at = a->text; *at; at++)
        if ((unsigned char)*at < 32)
            *at = ' ';
    commands.has_command = false;
    commands.is_unwritten = true;
}

/* --- carrying out --- */

static void carry_on_start(void)
{
    char why[WS_CONTROL_TEXT] = "";
    int err = ws_collection_start(&commands.command, why, sizeof why);
    if (err < 0)
        answer(true, "%s", why);
    else if (err == 0)
        answer(false, "collecting");
    else if (ws_steady_ns() - commands.taken_ns > PATIENCE_NS)
        answer(true, "a launch is still being profiled by the settings of before; nothing more is collected now");
}

static void carry_on_stop(void)
{
    int err = ws_collection_stop("ctl");
    if (err == 0)
        answer(false, "stopped");
    else if (ws_steady_ns() - commands.taken_ns > PATIENCE_NS)
        answer(false, "stopped, but that one launch is still being profiled");
}

static void carry_on(void)
{
    switch (commands.command.verb) {
    case WS_CONTROL_START:
        carry_on_start();
        break;
    case WS_CONTROL_STOP:
        carry_on_stop();
        break;
    case WS_CONTROL_FLUSH:
        if (commands.wakes > 0) /* what the wake before collected is written by now */
            answer(false, "flushed");
        break;
    default:
        answer(false, "here");
        break;
    }
    commands.wakes++;
}

/* --- files --- */

static void take_up(void)
{
    char path[sizeof commands.folder + sizeof WS_CONTROL_ASK + 1];
    char why[WS_CONTROL_TEXT] = "";
    size_t n;
    int err = ws_control_read_file(commands.folder, WS_CONTROL_ASK, commands.text, sizeof commands.text, &n);
    if (err == -WS_ENOENT)
        return;
    snprintf(path, sizeof path, "%s/%s", commands.folder, WS_CONTROL_ASK);
    (void)unlink(path); /* also what is no command: it would be looked at for ever */
    if (err != 0)
        return;
    commands.taken_ns = ws_steady_ns();
    commands.wakes = 0;
    err = ws_control_parse(commands.text, n, &commands.command, why, sizeof why);
    if (err == 0)
        commands.has_command = true;
    else if (commands.command.id[0])
        answer(true, "%s", why);
}

static void write_state(void)
{
    static struct ws_control_state state; /* 10 KiB */
    static char text[WS_CONTROL_BYTES];
    uint64_t changes = ws_collection_changes(); /* before what it counts: a change meanwhile is written again */
    size_t n;
    memset(&state, 0, sizeof state);
    ws_collection_tell(&state);
    memcpy(state.answer, commands.answer, sizeof state.answer);
    state.answer_count = commands.answer_count;
    n = ws_control_format_state(&state, text, sizeof text);
    /* The state lies there before the first segment does: whoever finds the process knows at once whether it collects.
     */
    if (n == 0 || ws_spool_make_folder() != 0 ||
        ws_control_write_file(commands.folder, WS_CONTROL_STATE, "new", text, n) != 0)
        return;
    commands.is_unwritten = false;
    commands.written_changes = changes;
}

void ws_command_poll(void)
{
    if (!ws_spool_may_open_files())
        return;
    if (!commands.has_command)
        take_up();
    if (commands.has_command)
        carry_on();
    /* A process that never was told anything and always collects has no such file; one that idles has it at once. */
    if (commands.is_unwritten || ws_collection_changes() != commands.written_changes)
        write_state();
}

void ws_command_end(void)
{
    static const char *const names[] = {WS_CONTROL_ASK, WS_CONTROL_STATE};
    char path[sizeof commands.folder + 32];
    if (!commands.folder[0] || !ws_spool_may_open_files())
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", commands.folder, names[i]);
        (void)unlink(path);
    }
}
