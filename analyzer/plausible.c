/* SPDX-License-Identifier: MIT
 * plausible.c: see plausible.h. */
#include "plausible.h"

#include <stddef.h>

struct bound {
    enum ws_metric_id id, other; /* other = WS_METRIC_COUNT: the factor alone */
    double factor;
    const char *text;
};

static const struct bound bounds[] = {
#define WS_AT_MOST(key, factor, other, text) {WS_M_##key, WS_M_##other, factor, text},
#define WS_SHARE(key) {WS_M_##key, WS_METRIC_COUNT, 1.05, "a share of a peak"},
#include "plausible.def"
#undef WS_AT_MOST
#undef WS_SHARE
};

#define SLACK 1.02

static void strike(struct ws_value *raw, enum ws_metric_id id, const char *text, struct ws_implausible *bad,
                   unsigned *count)
{
    if (*count == 0)
        *bad = (struct ws_implausible){id, text};
    ++*count;
    raw[id] = ws_missing(WS_WHY_RANGE, NULL);
}

unsigned ws_plausible(struct ws_value *raw, struct ws_implausible *bad)
{
    unsigned count = 0;
    for (int id = 0; id < WS_METRIC_COUNT; id++)
        if (ws_metric_get((enum ws_metric_id)id)->kind == WS_KIND_RAW && ws_has(raw[id]) && raw[id].number < 0)
            strike(raw, (enum ws_metric_id)id, "no counter is negative", bad, &count);
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        const struct bound *b = &bounds[i];
        double most = b->factor;
        if (!ws_has(raw[b->id]))
            continue;
        if (b->other != WS_METRIC_COUNT) {
            if (!ws_has(raw[b->other]))
                continue;
            most *= raw[b->other].number * SLACK;
        }
        if (raw[b->id].number > most)
            strike(raw, b->id, b->text, bad, &count);
    }
    return count;
}
