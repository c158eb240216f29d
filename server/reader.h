/* SPDX-License-Identifier: MIT
 * reader.h: how a reading command opens the database: first the finished spools go in, then it reads.
 * Complaints are printed here, in the command's name. */
#ifndef WS_SERVER_READER_H
#define WS_SERVER_READER_H

#include "report.h"
#include "store.h"

/* Take what lies in the spool, then open the database for reading. A damaged database is left alone.
 *   out      close with ws_store_close
 *   returns  0, or the status to exit with (1); the reason is on stderr */
int ws_reader_open(const char *command, struct ws_store **out);

/* The session that `which` names (a baseline, an id, a name; NULL: the newest), loaded.
 *   returns  0, or the status to exit with; what there is instead, and what to do, is on stderr */
int ws_reader_session(const char *command, struct ws_store *store, const char *which, struct ws_session **out);

/* The same without loading. */
int ws_reader_find(const char *command, struct ws_store *store, const char *which, int64_t *session_id);

/* Keep the kernels that text ("NAME" or "regex:RE") names; a filter that fits nothing is an error that lists the
 * nearest names. The other arguments as for ws_report_select.
 *   returns  0, or the status to exit with */
int ws_reader_select(const char *command, struct ws_session *session, const char *text, const char *key, size_t top);

/* The file that -o names, or stdout for NULL; what was there stays until the new one is whole. NULL: it cannot be made,
 * which is on stderr. */
FILE *ws_reader_output(const char *command, const char *path);
/* Close it: a write that failed is status 1. stdout is left to the program's end. */
int ws_reader_close_output(const char *command, FILE *out, const char *path, int status);

#endif
