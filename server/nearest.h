/* SPDX-License-Identifier: MIT
 * nearest.h: what a name that fits nothing may have been meant for: the three nearest by single-letter edits. */
#ifndef WS_SERVER_NEAREST_H
#define WS_SERVER_NEAREST_H

#include "names.h"

#include <stddef.h>

enum { WS_NEAREST = 3, WS_NEAREST_TEXT = 96 };

struct ws_nearest {
    const char *word;                       /* set it; the others start as 0 */
    char name[WS_NEAREST][WS_NEAREST_TEXT]; /* [count], nearest first; tamed, cut */
    size_t distance[WS_NEAREST];
    size_t count;
};

/* Keep the nearest; a name that was offered already is not kept twice, an empty one not at all. */
void ws_nearest_offer(struct ws_nearest *n, const char *name);
/* A kernel by the one of its names that is nearest. The word may be "regex:RE". */
void ws_nearest_offer_kernel(struct ws_nearest *n, const struct ws_name *name);
/* "'a', 'b', 'c'" in out [cap], which is returned; "" for none. */
const char *ws_nearest_list(const struct ws_nearest *n, char *out, size_t cap);

#endif
