/* SPDX-License-Identifier: MIT
 * inbox.h: how a command gives a capture to the daemon that holds the database: a note in the folder DB.inbox says
 * which file; the daemon imports it and lays the answer beside it. Files only: no socket, no rights beyond the
 * folder's (0700). A note that is answered twice does no harm, for a capture is imported once.
 *   ID.ask   the file's path            (client; renamed from ID.new, so that it is whole)
 *   ID.busy  the same, being imported   (daemon)
 *   ID.done  the answer                 (daemon; the client removes it)
 *   ID.data  bytes that are no file of the user's, as from a pipe (client; the daemon removes it) */
#ifndef WS_SERVER_INBOX_H
#define WS_SERVER_INBOX_H

#include "ingest.h"
#include "paths.h"

#include <stdbool.h>

/* A note that was left. */
struct ws_inbox {
    char folder[WS_PATH_MAX + 16];
    char id[33];
};

/* Leave a note for the daemon of the database db (resolved).
 *   path     the capture: any path, also of a pipe, which is then read to its end first
 *   message  [cap] one line when the result is not 0
 *   errors   -WS_ENOENT, -WS_EPERM, -WS_EIO */
int ws_inbox_ask(struct ws_inbox *box, const char *db, const char *path, char *message, size_t cap);
/* The same with the bytes of a capture. */
int ws_inbox_ask_bytes(struct ws_inbox *box, const char *db, const void *bytes, size_t count, char *message,
                       size_t cap);

enum ws_inbox_state {
    WS_INBOX_WAITING, /* nobody took it up yet */
    WS_INBOX_BUSY,
    WS_INBOX_DONE, /* *out, *err and message are set, and the note is gone */
};
/* How it goes. err: what ws_ingest_file returned there, with its message. */
enum ws_inbox_state ws_inbox_look(const struct ws_inbox *box, struct ws_import *out, int *err, char *message,
                                  size_t cap);
/* Take the note back, if it can be. */
void ws_inbox_withdraw(const struct ws_inbox *box);

/* --- the daemon's side --- */

/* Whether there is a note. Cheap. */
bool ws_inbox_has_work(const char *db);
/* Import what is asked for, oldest note first; answers are in the notes. refusal: "" or why nothing can be stored now,
 * which is then each answer. Returns how many were imported. Answers that nobody fetched go after a day. */
unsigned ws_inbox_take(struct ws_store *store, const char *db, const char *refusal);

#endif
