/* SPDX-License-Identifier: MIT
 * metrics.h: the catalogue of metrics.def as an enum and a table.
 * A metric travels by its key (a string), never by its enum value: old captures outlive new metrics.
 * To add or mend a metric open metrics.def; nothing here changes. */
#ifndef WS_ANALYZER_METRICS_H
#define WS_ANALYZER_METRICS_H

#include "units.h"

#include <stdbool.h>
#include <stddef.h>

enum ws_metric_id {
#define WS_RAW(key, title, unit, set, scale, cupti, doc, source) WS_M_##key,
#define WS_EXPR(key, title, unit, formula, bound_when, doc, source) WS_M_##key,
#define WS_MODEL(key, title, unit, doc, source) WS_M_##key,
#include "metrics.def"
#undef WS_RAW
#undef WS_EXPR
#undef WS_MODEL
    WS_METRIC_COUNT
};

enum ws_metric_kind {
    WS_KIND_RAW,   /* a counter CUPTI collects */
    WS_KIND_EXPR,  /* computed from other keys by its formula, on read */
    WS_KIND_MODEL, /* computed by code in analyzer/ (e.g. theoretical occupancy) */
};

/* Collection sets; `full` is all of them, `trace` none. A RAW metric is in exactly one. */
enum ws_set { WS_SET_CORE, WS_SET_MEMORY, WS_SET_STALLS, WS_SET_THROUGHPUT, WS_SET_ROOFLINE, WS_SET_COUNT };

struct ws_metric {
    const char *key;        /* "gld_sectors_per_request" */
    const char *title;      /* "Global load sectors per request" */
    const char *formula;    /* EXPR: text in the language of expr.h; else NULL */
    const char *bound_when; /* EXPR: formula; where it is not 0 the value is an upper bound; or NULL */
    const char *cupti;  /* RAW: CUPTI names, alternatives separated by '|', first on this chip wins; "" = model only */
    const char *doc;    /* one or two sentences for people */
    const char *source; /* where the definition comes from */
    double scale;       /* RAW: the CUPTI value times this is the value in SI base units */
    enum ws_metric_kind kind;
    enum ws_set set; /* RAW only */
    enum ws_unit unit;
};

/* A table of metrics; values belonging to it are arrays of `count`, indexed by row number. */
struct ws_catalogue {
    const struct ws_metric *row;
    unsigned count;
};

/* The catalogue of metrics.def: row number = enum ws_metric_id, count = WS_METRIC_COUNT. Others exist in tests only. */
struct ws_catalogue ws_catalogue_get(void);

/* The row number of a key of given length (not NUL-ended), or catalogue.count. */
unsigned ws_catalogue_find(struct ws_catalogue catalogue, const char *key, size_t length);

/* The row of an id, id < WS_METRIC_COUNT. */
const struct ws_metric *ws_metric_get(enum ws_metric_id id);

/* The id of a key of given length (not NUL-ended), or WS_METRIC_COUNT. */
enum ws_metric_id ws_metric_find(const char *key, size_t length);

/* Walk the CUPTI names of a RAW metric. *at starts as metric->cupti; 1 = name[length] is the next
 * alternative and *at is behind it, 0 = no more (or not RAW). */
int ws_metric_next_name(const char **at, const char **name, size_t *length);

/* "core", "memory", …; the set of a name, or WS_SET_COUNT. */
const char *ws_set_name(enum ws_set set);
enum ws_set ws_set_find(const char *name, size_t length);

#endif
