/* SPDX-License-Identifier: MIT
 * nearest.c: the three nearest names. */
#include "nearest.h"

#include "cli.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

/* A regular expression is near what it spells. */
static size_t distance(const struct ws_nearest *n, const char *name)
{
    return ws_cli_distance(strncmp(n->word, "regex:", 6) == 0 ? n->word + 6 : n->word, name);
}

void ws_nearest_offer(struct ws_nearest *n, const char *name)
{
    size_t d = distance(n, name);
    size_t at = n->count;
    struct ws_arena arena = {NULL};
    char text[WS_NEAREST_TEXT];
    if (*name == 0)
        return;
    snprintf(text, sizeof text, "%s", ws_text_tame(&arena, name));
    ws_arena_fini(&arena);
    for (size_t i = 0; i < n->count; i++)
        if (strcmp(n->name[i], text) == 0)
            return;
    while (at > 0 && n->distance[at - 1] > d)
        at--;
    if (at == WS_NEAREST)
        return;
    for (size_t i = n->count < WS_NEAREST ? n->count : WS_NEAREST - 1; i > at; i--) {
        memcpy(n->name[i], n->name[i - 1], sizeof n->name[i]);
        n->distance[i] = n->distance[i - 1];
    }
    memcpy(n->name[at], text, sizeof text);
    n->distance[at] = d;
    if (n->count < WS_NEAREST)
        n->count++;
}

void ws_nearest_offer_kernel(struct ws_nearest *n, const struct ws_name *name)
{
    const char *const names[] = {name->base, name->alias, name->mangled, name->demangled};
    size_t best = 0;
    for (size_t i = 1; i < sizeof names / sizeof names[0]; i++)
        if (distance(n, names[i]) < distance(n, names[best]))
            best = i;
    ws_nearest_offer(n, names[best]);
}

const char *ws_nearest_list(const struct ws_nearest *n, char *out, size_t cap)
{
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < n->count && used < cap; i++)
        used += (size_t)snprintf(out + used, cap - used, "%s'%s'", i ? ", " : "", n->name[i]);
    return out;
}
