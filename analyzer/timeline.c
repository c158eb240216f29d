/* SPDX-License-Identifier: MIT
 * timeline.c: names and units of the facts of timeline.h. The list itself is in the header. */
#include "timeline.h"

static const struct {
    const char *key, *unit, *what;
} rows[WS_TIMELINE_COUNT] = {
#define WS_TIMELINE_ROW(key, unit, what) {#key, unit, what},
    WS_TIMELINE_LIST(WS_TIMELINE_ROW)
#undef WS_TIMELINE_ROW
};

void ws_timeline_init(struct ws_timeline_facts *facts)
{
    for (unsigned i = 0; i < WS_TIMELINE_COUNT; i++)
        facts->value[i] = ws_missing(WS_WHY_NOT_COLLECTED, rows[i].key);
    facts->process = 0;
    facts->device = 0;
}

const char *ws_timeline_key(enum ws_timeline_id id)
{
    return (unsigned)id < WS_TIMELINE_COUNT ? rows[id].key : "";
}

const char *ws_timeline_unit(enum ws_timeline_id id)
{
    return (unsigned)id < WS_TIMELINE_COUNT ? rows[id].unit : "";
}

const char *ws_timeline_what(enum ws_timeline_id id)
{
    return (unsigned)id < WS_TIMELINE_COUNT ? rows[id].what : "";
}
