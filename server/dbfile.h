/* SPDX-License-Identifier: MIT
 * dbfile.h: the database as a file: which file a path means, the lock that makes one writer, moving a
 * damaged file aside. No SQL and no SQLite here; store.c uses it. */
#ifndef WS_SERVER_DBFILE_H
#define WS_SERVER_DBFILE_H

#include "paths.h"

#include <stdbool.h>
#include <stddef.h>

/* Which file a path means: links resolved, so that two names of one database share one lock.
 *   out      [WS_PATH_MAX] folder made of no links, and the file's name
 *   exists   whether a regular file is there
 *   create   make missing folders (0700)
 *   message  [cap] one line for people when the result is not 0
 *   errors   -WS_EPERM   a link or a file that another user could have planted; no rights
 *            -WS_EINVAL  something else than a file is there
 *            -WS_EIO, -WS_ELIMIT                                                                */
int ws_dbfile_resolve(const char *path, bool create, char out[WS_PATH_MAX], bool *exists, char *message, size_t cap);

struct ws_dblock {
    int fd;           /* -1 = not held */
    bool was_unclean; /* the writer before did not get to its end */
};

/* Take FILE.lock. -WS_EBUSY with the holder's pid in message; -WS_EPERM, -WS_EIO. */
int ws_dbfile_lock(struct ws_dblock *lock, const char *file, char *message, size_t cap);
/* clean: the writer got to its end in good order. */
void ws_dbfile_unlock(struct ws_dblock *lock, bool clean);

/* Create the file 0600 if it is missing. -WS_EPERM, -WS_EIO. */
int ws_dbfile_create(const char *file, char *message, size_t cap);

/* Rename FILE, FILE-wal and FILE-shm to FILE.corrupt-<UTC time>; the new name in out. -WS_EIO. */
int ws_dbfile_move_aside(const char *file, char out[WS_PATH_MAX]);

#endif
