/* SPDX-License-Identifier: MIT
 * push.h: sessions into a PostgreSQL-compatible engine (push_schema.sql). A session is there whole or not at all, and
 * once, however often it is pushed and wherever a push was killed: its rows go in by one transaction, under its token.
 */
#ifndef WS_SERVER_PUSH_H
#define WS_SERVER_PUSH_H

#include "progress.h"
#include "store.h"

#include <stdbool.h>

struct ws_push;

struct ws_push_count {
    uint64_t added, replaced, known; /* sessions */
    uint64_t kernels, metrics;       /* rows of what was added or replaced */
};

/* Connect, and make the tables where they are missing.
 *   url      postgres://… or postgresql://…
 *   message  [cap] one line when the result is not 0; without the password
 *   errors   -WS_EINVAL no such URL; -WS_EIO the engine refuses, or libpq is missing; -WS_ENOMEM */
int ws_push_open(const char *url, struct ws_push **out, char *message, size_t cap);

/* Push these sessions, some at a time, each batch a transaction.
 *   progress  is told the sessions done so far; NULL = nobody
 *   errors    as above, and of the store (its message is in message, too) */
int ws_push_sessions(struct ws_push *push, struct ws_store *store, const int64_t *ids, size_t count,
                     struct ws_progress *progress, char *message, size_t cap);

const struct ws_push_count *ws_push_counted(const struct ws_push *push);
void ws_push_close(struct ws_push *push);

#endif
