/* SPDX-License-Identifier: MIT
 * ingest.h: spool folders and capture files into the database. Knows files; frames.h knows bytes.
 * A segment is deleted only after its rows are committed, and the cursor is in the same transaction, so that
 * every record is taken exactly once whatever process dies when.
 * Read on: frames.h (what a frame becomes), collector/spool.h (who writes the spool). */
#ifndef WS_SERVER_INGEST_H
#define WS_SERVER_INGEST_H

#include "frames.h"
#include "progress.h"

enum { WS_INGEST_SESSIONS = 64 };

struct ws_ingest {
    struct ws_frames_count count;
    uint32_t segments;                    /* read to their end */
    uint32_t kept;                        /* segments of an unknown format, left where they are */
    uint32_t live;                        /* agents that still write */
    int64_t newest_session;               /* highest id that got rows, 0 = none */
    int64_t sessions[WS_INGEST_SESSIONS]; /* that got rows */
    uint32_t session_count;               /* more than WS_INGEST_SESSIONS: the others are not named */
};

/* What the spool holds; cheap. One that is not ours has work, which ws_ingest_spool then refuses. */
enum ws_spool_work {
    WS_SPOOL_EMPTY = 0,
    WS_SPOOL_LIVE,     /* only segments that are being written */
    WS_SPOOL_FINISHED, /* at least one segment whose writer is done with it */
};
enum ws_spool_work ws_ingest_has_work(const char *spool);

/* Take everything that is whole. A spool that does not exist is empty.
 *   progress  is told the bytes so far; NULL = nobody
 *   out     what was done, also when the result is not 0
 *   errors  -WS_EPERM  the spool folder is not ours: touched by another user
 *           of the store; what was committed stays, the rest is still in the spool           */
int ws_ingest_spool(struct ws_store *store, const char *spool, struct ws_progress *progress, struct ws_ingest *out);

struct ws_import {
    struct ws_frames_count count;
    int64_t session;       /* the session that was made, the newest if there are several; 0 = none */
    int64_t known_session; /* a session that was there before and was left alone; 0 = none */
    uint32_t sessions;     /* made */
    uint32_t unknown;      /* segments of an unknown format, skipped */
};

/* Take a capture file: all of it, or nothing.
 *   progress  is told the bytes so far; NULL = nobody
 *   message  [cap] one line when the result is not 0
 *   errors   -WS_ENOENT, -WS_EPERM, -WS_EIO  cannot be read
 *            -WS_ECORRUPT  not one whole frame
 *            -WS_EVERSION  only segments of an unknown format
 *            of the store                                                                         */
int ws_ingest_file(struct ws_store *store, const char *path, struct ws_progress *progress, struct ws_import *out,
                   char *message, size_t cap);

#endif
