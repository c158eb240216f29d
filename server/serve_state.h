/* SPDX-License-Identifier: MIT
 * serve_state.h: how a running daemon is found again: DB.serve beside the database (0600) holds its pid
 * and URL. It is believed only while that pid also holds the database's lock. */
#ifndef WS_SERVER_SERVE_STATE_H
#define WS_SERVER_SERVE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct ws_serve_state {
    pid_t pid;
    char url[192]; /* with the token */
};

/* db is the resolved path of the database. -WS_EIO with errno. */
int ws_serve_state_write(const char *db, const char *url);
void ws_serve_state_remove(const char *db);

/* The daemon that serves this database now; false if there is none. */
bool ws_serve_state_find(const char *db, struct ws_serve_state *out);

/* Ask it to end and wait for at most 5 s. 0, -WS_ENOENT there is none, -WS_EPERM, -WS_EBUSY it does not end. */
int ws_serve_state_stop(const char *db);

/* Write text into a file DB<suffix> that only we can read. -WS_EIO with errno. */
int ws_serve_side_file(const char *db, const char *suffix, const char *text);

#endif
