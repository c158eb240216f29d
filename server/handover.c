/* SPDX-License-Identifier: MIT
 * handover.c: a capture into the database by ourselves or by the daemon that holds it. A daemon may start or end
 * meanwhile: then the other way is taken. */
#include "handover.h"

#include "../analyzer/err.h"
#include "cli.h"
#include "dbfile.h"
#include "inbox.h"
#include "log.h"
#include "serve_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE = WS_PATH_MAX + 512, STEP_MS = 20, WRITER_WAIT_MS = 10000, DAEMON_WAIT_MS = 30000, TELL_MS = 2000 };

struct ws_handover {
    const char *command;
    char db[WS_PATH_MAX];   /* as named */
    char file[WS_PATH_MAX]; /* resolved */
    struct ws_store *store; /* NULL: a daemon holds the database */
    struct ws_serve_state daemon;
    char message[MESSAGE];
};

static void rest(void)
{
    struct timespec pause = {0, STEP_MS * 1000000L};
    nanosleep(&pause, NULL);
}

static bool find_daemon(struct ws_handover *h)
{
    bool exists;
    return ws_dbfile_resolve(h->db, false, h->file, &exists, h->message, sizeof h->message) == 0 &&
           ws_serve_state_find(h->file, &h->daemon);
}

/* Become the writer, or find the daemon that is. */
static int find_writer(struct ws_handover *h)
{
    char busy[MESSAGE];
    int err = -WS_EBUSY;
    for (int waited = 0; err == -WS_EBUSY && waited <= WRITER_WAIT_MS; waited += STEP_MS) {
        if (waited > 0)
            rest();
        err = ws_store_open(&h->store, h->db, WS_STORE_WRITE | WS_STORE_MOVE_CORRUPT, h->message, sizeof h->message);
        if (err != -WS_EBUSY)
            break;
        memcpy(busy, h->message, sizeof busy);
        if (find_daemon(h))
            return 0;
        memcpy(h->message, busy, sizeof busy);
    }
    if (err == -WS_EBUSY)
        return ws_cli_failed(h->command, "%s; try again when it has ended", h->message);
    return err == 0 ? WS_EXIT_OK : ws_cli_failed(h->command, "%s", h->message);
}

int ws_handover_open(const char *command, const char *db, struct ws_handover **out)
{
    struct ws_handover *h = calloc(1, sizeof *h);
    int status;
    if (!h)
        return ws_cli_failed(command, "out of memory");
    h->command = command;
    snprintf(h->db, sizeof h->db, "%s", db);
    status = find_writer(h);
    if (status != WS_EXIT_OK) {
        ws_handover_close(h);
        return status;
    }
    *out = h;
    return WS_EXIT_OK;
}

void ws_handover_close(struct ws_handover *h)
{
    if (h)
        ws_store_close(h->store);
    free(h);
}

/* --- the daemon's way --- */

enum outcome { ANSWERED, DAEMON_GONE, NOT_TAKEN };

/* Wait for the answer to a note. */
static enum outcome wait_for_answer(struct ws_handover *h, const struct ws_inbox *box, const char *name,
                                    struct ws_import *out, int *err)
{
    for (int waited = 0;; waited += STEP_MS) {
        enum ws_inbox_state state = ws_inbox_look(box, out, err, h->message, sizeof h->message);
        if (state == WS_INBOX_DONE)
            return ANSWERED;
        if (state == WS_INBOX_WAITING && waited >= DAEMON_WAIT_MS)
            return NOT_TAKEN;
        if (waited == TELL_MS)
            ws_log(WS_WARN, h->command, "waiting for the daemon with pid %ld, which holds the database, to take %s",
                   (long)h->daemon.pid, name);
        if (waited % 500 == 480 && !find_daemon(h)) {
            /* It may have answered with its last breath. */
            return ws_inbox_look(box, out, err, h->message, sizeof h->message) == WS_INBOX_DONE ? ANSWERED
                                                                                                : DAEMON_GONE;
        }
        rest();
    }
}

/* 0: *out is the answer. -1: the daemon is gone, go the other way. Else a status. */
static int by_daemon(struct ws_handover *h, const struct ws_inbox *box, const char *name, struct ws_import *out)
{
    int err = 0;
    switch (wait_for_answer(h, box, name, out, &err)) {
    case ANSWERED:
        return err == 0 ? WS_EXIT_OK : ws_cli_failed(h->command, "%s", h->message);
    case DAEMON_GONE:
        ws_inbox_withdraw(box);
        return -1;
    default:
        ws_inbox_withdraw(box);
        return ws_cli_failed(h->command,
                             "%s is not taken: the daemon with pid %ld holds %s and does not answer; end it with "
                             "'warpsight serve --stop' and try again",
                             name, (long)h->daemon.pid, h->file);
    }
}

/* A capture that lies at path, shown under its name. 0, or -WS_E… and the message. */
static int take_file(struct ws_handover *h, const char *name, const char *path, struct ws_import *out)
{
    struct ws_progress progress;
    int err;
    ws_progress_begin(&progress, name, "B", false);
    err = ws_ingest_file(h->store, path, &progress, out, h->message, sizeof h->message);
    ws_progress_end(&progress);
    return err;
}

int ws_handover_file(struct ws_handover *h, const char *path, struct ws_import *out)
{
    struct ws_inbox box;
    while (!h->store) {
        int status = ws_inbox_ask(&box, h->file, path, h->message, sizeof h->message) == 0
                         ? by_daemon(h, &box, path, out)
                         : ws_cli_failed(h->command, "%s", h->message);
        if (status >= 0)
            return status;
        status = find_writer(h);
        if (status != WS_EXIT_OK)
            return status;
    }
    return take_file(h, path, path, out) == 0 ? WS_EXIT_OK : ws_cli_failed(h->command, "%s", h->message);
}

/* By way of a file that has no name: the one reader of captures reads files. */
static int take_bytes(struct ws_handover *h, const char *name, const void *bytes, size_t count, struct ws_import *out)
{
    FILE *file = tmpfile();
    char path[64];
    int err = file ? 0 : -WS_EIO;
    if (err == 0 && (fwrite(bytes, 1, count, file) != count || fflush(file) != 0))
        err = -WS_EIO;
    if (err == 0) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(file));
        err = take_file(h, "storing", path, out);
    } else {
        snprintf(h->message, sizeof h->message, "cannot write a temporary file for %s: %s", name, strerror(errno));
    }
    if (file)
        fclose(file);
    return err == 0 ? WS_EXIT_OK : ws_cli_failed(h->command, "%s", h->message);
}

int ws_handover_bytes(struct ws_handover *h, const char *name, const void *bytes, size_t count, struct ws_import *out)
{
    struct ws_inbox box;
    while (!h->store) {
        int status = ws_inbox_ask_bytes(&box, h->file, bytes, count, h->message, sizeof h->message) == 0
                         ? by_daemon(h, &box, name, out)
                         : ws_cli_failed(h->command, "%s", h->message);
        if (status >= 0)
            return status;
        status = find_writer(h);
        if (status != WS_EXIT_OK)
            return status;
    }
    return take_bytes(h, name, bytes, count, out);
}
