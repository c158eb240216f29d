/* SPDX-License-Identifier: MIT
 * handover.h: how a command brings a capture into the database, whoever holds it: itself where nobody does, through
 * the daemon's inbox where one runs. The command's name is in all complaints, which are printed here. */
#ifndef WS_SERVER_HANDOVER_H
#define WS_SERVER_HANDOVER_H

#include "ingest.h"

struct ws_handover;

/* Find who writes: a command that writes for a moment is waited for, up to 10 s.
 *   db  path of the database, as ws_path_db gives it
 *   returns  0, or a status to exit with */
int ws_handover_open(const char *command, const char *db, struct ws_handover **out);
void ws_handover_close(struct ws_handover *h);

/* A capture file, and the bytes of one (name is what to call it). 0 and *out, or a status to exit with. */
int ws_handover_file(struct ws_handover *h, const char *path, struct ws_import *out);
int ws_handover_bytes(struct ws_handover *h, const char *name, const void *bytes, size_t count, struct ws_import *out);

#endif
