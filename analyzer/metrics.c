/* SPDX-License-Identifier: MIT
 * metrics.c: the table of metrics.def and look-up by key.
 * Pure: a linear search over some 150 rows; whoever needs many look-ups keeps the ids.
 * Definitions are in metrics.def; what a formula means is in expr.h. */
#include "metrics.h"

#include <string.h>

/* "" in metrics.def means "none"; callers test for NULL. */
#define OR_NULL(text) (sizeof(text) > 1 ? (text) : NULL)

static const struct ws_metric metrics[WS_METRIC_COUNT] = {
#define WS_RAW(key, title, unit, set, scale, cupti, doc, source) \
    [WS_M_##key] = {#key, title, NULL, NULL, cupti, doc, source, scale, WS_KIND_RAW, WS_SET_##set, WS_UNIT_##unit},
#define WS_EXPR(key, title, unit, formula, bound_when, doc, source)                       \
    [WS_M_##key] = {#key,   title, formula,      OR_NULL(bound_when), NULL,          doc, \
                    source, 1.0,   WS_KIND_EXPR, WS_SET_COUNT,        WS_UNIT_##unit},
#define WS_MODEL(key, title, unit, doc, source) \
    [WS_M_##key] = {#key, title, NULL, NULL, NULL, doc, source, 1.0, WS_KIND_MODEL, WS_SET_COUNT, WS_UNIT_##unit},
#include "metrics.def"
#undef WS_RAW
#undef WS_EXPR
#undef WS_MODEL
};

static const char *const set_names[WS_SET_COUNT] = {"core", "memory", "stalls", "throughput", "roofline"};

const struct ws_metric *ws_metric_get(enum ws_metric_id id)
{
    return &metrics[(unsigned)id < WS_METRIC_COUNT ? id : 0];
}

struct ws_catalogue ws_catalogue_get(void)
{
    struct ws_catalogue catalogue = {metrics, WS_METRIC_COUNT};
    return catalogue;
}

unsigned ws_catalogue_find(struct ws_catalogue catalogue, const char *key, size_t length)
{
    for (unsigned i = 0; i < catalogue.count; i++)
        if (length > 0 && catalogue.row[i].key[0] == key[0] && strlen(catalogue.row[i].key) == length &&
            memcmp(catalogue.row[i].key, key, length) == 0)
            return i;
    return catalogue.count;
}

enum ws_metric_id ws_metric_find(const char *key, size_t length)
{
    return (enum ws_metric_id)ws_catalogue_find(ws_catalogue_get(), key, length);
}

int ws_metric_next_name(const char **at, const char **name, size_t *length)
{
    if (!*at || !**at)
        return 0;
    *name = *at;
    *length = strcspn(*at, "|");
    *at += *length;
    if (**at == '|')
        ++*at;
    return 1;
}

const char *ws_set_name(enum ws_set set)
{
    return (unsigned)set < WS_SET_COUNT ? set_names[set] : "none";
}

enum ws_set ws_set_find(const char *name, size_t length)
{
    for (unsigned i = 0; i < WS_SET_COUNT; i++)
        if (strlen(set_names[i]) == length && memcmp(set_names[i], name, length) == 0)
            return (enum ws_set)i;
    return WS_SET_COUNT;
}
