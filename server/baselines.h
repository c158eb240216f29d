/* SPDX-License-Identifier: MIT
 * baselines.h: names that stand for a session until they are set anew: `warpsight diff main`.
 * Kept in a text file beside the database (FILE.baselines), one "NAME<tab>TOKEN" a line: who sets one needs no writer's
 * place, so it works beside a daemon, and no imported capture can move one. */
#ifndef WS_SERVER_BASELINES_H
#define WS_SERVER_BASELINES_H

#include <stdbool.h>
#include <stddef.h>

#define WS_BASELINE_NAME 65
#define WS_BASELINE_TOKEN 80
#define WS_BASELINES_MAX 256

struct ws_baseline {
    char name[WS_BASELINE_NAME];
    char token[WS_BASELINE_TOKEN]; /* session.token */
};

struct ws_baselines {
    struct ws_baseline item[WS_BASELINES_MAX]; /* by name */
    size_t count;
};

/* 1 to 64 letters, digits and ._-/ with a letter first: an id is no name. */
bool ws_baseline_is_name(const char *text);

/* A missing file has none.
 *   db       path of the database
 *   message  [cap] one line when the result is not 0
 *   errors   -WS_EIO; -WS_ECORRUPT a line that is none; -WS_ELIMIT more than WS_BASELINES_MAX */
int ws_baselines_load(const char *db, struct ws_baselines *out, char *message, size_t cap);

/* Set one, or remove it (token NULL; -WS_ENOENT when there is none). The file is the old or the new one, whole,
 * whatever happens; two at once both count. Errors as above. */
int ws_baselines_set(const char *db, const char *name, const char *token, char *message, size_t cap);

/* NULL when there is none of that name. */
const struct ws_baseline *ws_baselines_find(const struct ws_baselines *all, const char *name);

#endif
