/* SPDX-License-Identifier: MIT
 * api_samples.c: samples over time of a session: a range as cells for a picture, and what they say in all.
 * Both read the samples anew: they are no part of the report that is kept. */
#include "../analyzer/err.h"
#include "api.h"
#include "pm_facts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct series {
    struct ws_pm_series_row *rows; /* [count]; keys are of the heap */
    size_t count;
};

static int take_series(void *state, const struct ws_pm_series_row *row)
{
    struct series *s = state;
    struct ws_pm_series_row *rows = realloc(s->rows, (s->count + 1) * sizeof *rows);
    char *keys = strdup(row->keys);
    if (rows)
        s->rows = rows;
    if (!rows || !keys) {
        free(keys);
        return -WS_ENOMEM;
    }
    rows[s->count] = *row;
    rows[s->count].cupti = "";
    rows[s->count++].keys = keys;
    return 0;
}

static void free_series(struct series *s)
{
    for (size_t i = 0; i < s->count; i++)
        free((char *)(uintptr_t)s->rows[i].keys);
    free(s->rows);
}

enum which { MEAN, LEAST, GREATEST };

static void put_column(struct ws_json *j, const char *name, const struct ws_pm_view *v, size_t k, enum which which)
{
    ws_json_key(j, name);
    ws_json_array_line(j);
    for (size_t i = 0; i < v->count; i++) {
        const struct ws_pm_stat *s = &v->stats[i * v->columns + k];
        double value = which == MEAN ? ws_pm_stat_mean(s) : which == LEAST ? s->min : s->max;
        /* Four digits are more than a pixel shows; null where there is no value. */
        char text[32];
        snprintf(text, sizeof text, "%.4g", value);
        if (s->count > 0)
            ws_json_number(j, strtod(text, NULL));
        else
            ws_json_null(j);
    }
    ws_json_end(j);
}

static void put_times(struct ws_json *j, const char *name, const struct ws_pm_view *v, bool ends, int64_t base_ns)
{
    ws_json_key(j, name);
    ws_json_array_line(j);
    for (size_t i = 0; i < v->count; i++)
        ws_json_int(j, (ends ? v->cells[i].end_ns : v->cells[i].start_ns) - base_ns);
    ws_json_end(j);
}

static void put_series(struct ws_json *j, const struct ws_pm_series_row *row, const struct ws_pm_view *v,
                       int64_t base_ns)
{
    struct ws_pm_column column[WS_PM_COLUMNS];
    size_t columns = ws_pm_columns(row->keys, column);
    ws_json_object(j);
    ws_json_put_int(j, "process", row->process_id);
    ws_json_put_uint(j, "device", row->device);
    ws_json_put_uint(j, "interval_ns", row->interval_ns);
    ws_json_put_bool(j, "by_timer", row->by_timer);
    ws_json_put_uint(j, "samples", row->samples);
    ws_json_put_uint(j, "seen", v->samples);
    put_times(j, "start", v, false, base_ns);
    put_times(j, "end", v, true, base_ns);
    ws_json_key(j, "metrics");
    ws_json_array(j);
    for (size_t k = 0; k < columns; k++) {
        ws_json_object(j);
        ws_json_put_text(j, "key", column[k].key);
        ws_json_put_text(j, "title", ws_pm_title(&column[k]));
        ws_json_put_text(j, "unit", ws_unit_get(column[k].unit)->symbol);
        put_column(j, "mean", v, k, MEAN);
        put_column(j, "min", v, k, LEAST);
        put_column(j, "max", v, k, GREATEST);
        ws_json_end(j);
    }
    ws_json_end(j);
    ws_json_end(j);
}

/* The time that samples cover; base to base when there are none. */
static void find_range(const struct series *s, int64_t base_ns, int64_t *from_ns, int64_t *to_ns)
{
    *from_ns = *to_ns = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (s->rows[i].samples == 0)
            continue;
        *from_ns = *from_ns == 0 || s->rows[i].from_ns < *from_ns ? s->rows[i].from_ns : *from_ns;
        *to_ns = s->rows[i].to_ns > *to_ns ? s->rows[i].to_ns : *to_ns;
    }
    if (*to_ns == 0)
        *from_ns = *to_ns = base_ns;
}

static int put_all(struct ws_call *call, const struct series *s, int64_t base_ns, int64_t from_ns, int64_t to_ns,
                   int64_t px)
{
    struct ws_json *j = ws_call_json(call);
    char base[24];
    int err = 0;
    snprintf(base, sizeof base, "%" PRId64, base_ns);
    ws_json_object(j);
    ws_json_put_int(j, "session", call->request->ids[0]);
    ws_json_put_text(j, "base_ns", base);
    ws_json_put_int(j, "from", from_ns - base_ns);
    ws_json_put_int(j, "to", to_ns - base_ns);
    ws_json_key(j, "series");
    ws_json_array(j);
    for (size_t i = 0; err == 0 && i < s->count; i++) {
        struct ws_pm_view view;
        err = ws_pm_view_load(call->store, &s->rows[i], from_ns, to_ns, (size_t)px, &view);
        if (err != 0)
            break;
        put_series(j, &s->rows[i], &view, base_ns);
        ws_pm_view_free(&view);
    }
    ws_json_end(j);
    ws_json_end(j);
    return err;
}

void ws_api_timeline_samples(struct ws_call *call)
{
    int64_t id = call->request->ids[0];
    struct series s = {.count = 0};
    struct ws_store *store;
    int64_t base_ns = 0;
    int64_t from_ns;
    int64_t to_ns;
    int64_t px = 800;
    int64_t last = 0;
    bool good = true;
    int err;
    if (ws_call_unchanged(call) || (store = ws_call_store(call)) == NULL)
        return;
    err = ws_api_base_ns(store, id, &base_ns);
    if (err == 0)
        err = ws_store_each_pm_series(store, id, take_series, &s);
    if (err == 0) {
        find_range(&s, base_ns, &from_ns, &to_ns);
        good = ws_call_int(call, "last", 1, 1ll << 53, &last);
        if (good && last > 0 && to_ns - last > from_ns)
            from_ns = to_ns - last;
        good = good && ws_api_view(call, base_ns, from_ns, to_ns, &from_ns, &to_ns, &px);
    }
    if (err == 0 && good)
        err = put_all(call, &s, base_ns, from_ns, to_ns, px);
    free_series(&s);
    if (err != 0)
        ws_call_fail_store(call, err);
}

static int nothing(void *state, const struct ws_session_row *row)
{
    (void)state;
    (void)row;
    return 0;
}

void ws_api_samples(struct ws_call *call)
{
    struct ws_pm_facts facts = {.count = 0};
    struct ws_store *store;
    int err;
    if (ws_call_unchanged(call) || (store = ws_call_store(call)) == NULL)
        return;
    err = ws_store_get_session(store, call->request->ids[0], nothing, NULL);
    if (err == 0)
        err = ws_pm_facts_load(store, call->request->ids[0], &facts);
    if (err == 0)
        ws_pm_facts_json_object(ws_call_json(call), &facts);
    ws_pm_facts_free(&facts);
    if (err != 0)
        ws_call_fail_store(call, err);
}
