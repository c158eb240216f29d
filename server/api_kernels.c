/* SPDX-License-Identifier: MIT
 * api_kernels.c: the kernels of a session: filtered, sorted, in pages; and one of them, whole.
 * The cursor holds the sort value and id of the last row, so that a page begins behind it however the session grew.
 * The language of filter= is in docs/api.md. */
#include "../analyzer/err.h"
#include "../analyzer/rules.h"
#include "api.h"
#include "nearest.h"
#include "session_cache.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- values by key --- */

/* The value of a sort or filter key. */
static struct ws_value value_of(const struct ws_cached *c, size_t kernel, const char *key)
{
    const struct ws_kernel_summary *sum = &c->kernels[kernel];
    enum ws_metric_id id = ws_metric_find(key, strlen(key));
    if (strcmp(key, "gain") == 0)
        return sum->gain;
    if (strcmp(key, "duration") != 0 && id < WS_METRIC_COUNT)
        return sum->metric[id];
    return ws_report_sort_value(&c->session->kernels[kernel], NULL, key);
}

/* --- filter --- */

enum { TERMS = 16 };
enum term_kind { TERM_NAME, TERM_RULE, TERM_BOUND, TERM_SEVERITY, TERM_VALUE };
enum compare { LESS, LESS_EQUAL, EQUAL, GREATER_EQUAL, GREATER };

struct term {
    enum term_kind kind;
    bool negate;
    bool is_doubtful; /* NAME: reads like a condition, "gemv<1"; with no such kernel it is one with a wrong key */
    char key[64];     /* VALUE */
    const char *text; /* NAME: lent, n bytes */
    size_t n;
    uint64_t rules; /* RULE: bits */
    int word;       /* BOUND, SEVERITY: enum value */
    enum compare compare;
    double number;
};
struct filter {
    struct term terms[TERMS];
    size_t count;
};

/* Whether text begins with part[n], which has no blanks; those of text and the case do not count. */
static bool begins(const char *text, const char *part, size_t n)
{
    for (size_t i = 0; i < n; text++) {
        if (*text == ' ')
            continue;
        if (tolower((unsigned char)*text) != tolower((unsigned char)part[i++]))
            return false;
    }
    return true;
}

static bool contains(const char *text, const char *part, size_t n)
{
    for (; *text; text++)
        if (begins(text, part, n))
            return true;
    return n == 0;
}

/* Any of a kernel's names: a part of the demangled or mangled one, or its hash. */
static bool is_named(const struct ws_name *name, const char *part, size_t n)
{
    return contains(name->demangled, part, n) ||
           (n >= 2 && memcmp(part, "_Z", 2) == 0 && contains(name->mangled, part, n)) ||
           (n == strlen(name->hash) && strncasecmp(name->hash, part, n) == 0);
}

static bool compares(double a, enum compare op, double b)
{
    switch (op) {
    case LESS:
        return a < b;
    case LESS_EQUAL:
        return a <= b;
    case EQUAL:
        return a == b;
    case GREATER_EQUAL:
        return a >= b;
    default:
        return a > b;
    }
}

static bool term_fits(const struct ws_cached *c, size_t kernel, const struct term *t)
{
    const struct ws_kernel_summary *sum = &c->kernels[kernel];
    struct ws_value v;
    switch (t->kind) {
    case TERM_NAME:
        return is_named(&c->session->kernels[kernel].name, t->text, t->n);
    case TERM_RULE:
        return (sum->rules & t->rules) != 0;
    case TERM_BOUND:
        return (int)sum->bound == t->word;
    case TERM_SEVERITY:
        return sum->rules != 0 && (int)sum->severity == t->word;
    default:
        v = value_of(c, kernel, t->key);
        return ws_has(v) && compares(v.number, t->compare, t->number);
    }
}

static bool fits(const struct ws_cached *c, size_t kernel, const struct filter *f)
{
    for (size_t i = 0; i < f->count; i++)
        if (term_fits(c, kernel, &f->terms[i]) == f->terms[i].negate)
            return false;
    return true;
}

static uint64_t rules_named(const char *text, size_t n)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < ws_rules_count() && i < 64; i++)
        if (n > 0 && strncasecmp(ws_rules_get(i)->id, text, n) == 0)
            bits |= 1ull << i;
    return bits;
}

static bool is_word(const char *word, const char *text, size_t n)
{
    return strlen(word) == n && strncmp(word, text, n) == 0;
}

/* "KEY>=N": false when it is no condition. */
static bool parse_condition(struct term *t, const char *text, size_t n)
{
    size_t key = strcspn(text, "<>=");
    size_t op = key;
    char number[40];
    char *end;
    if (key == 0 || key >= n || key >= sizeof t->key)
        return false;
    memcpy(t->key, text, key);
    t->key[key] = 0;
    t->compare = text[op] == '<' ? LESS : text[op] == '>' ? GREATER : EQUAL;
    op++;
    if (op < n && text[op] == '=' && t->compare != EQUAL) {
        t->compare = t->compare == LESS ? LESS_EQUAL : GREATER_EQUAL;
        op++;
    }
    if (op >= n || n - op >= sizeof number)
        return false;
    memcpy(number, text + op, n - op);
    number[n - op] = 0;
    t->number = strtod(number, &end);
    t->kind = TERM_VALUE;
    return *end == 0 && isfinite(t->number);
}

static bool parse_word(struct term *t, const char *text, size_t n)
{
    size_t key = strcspn(text, ":");
    const char *value = text + key + 1;
    size_t length = n - key - 1;
    t->word = -1;
    if (is_word("name", text, key)) {
        t->kind = TERM_NAME;
        t->text = value;
        t->n = length;
        return length > 0;
    }
    if (is_word("rule", text, key)) {
        t->kind = TERM_RULE;
        t->rules = rules_named(value, length);
        return t->rules != 0;
    }
    if (is_word("bound", text, key)) {
        t->kind = TERM_BOUND;
        for (int i = 0; i < WS_BOUND_COUNT; i++)
            if (is_word(ws_bound_name((enum ws_bound)i), value, length))
                t->word = i;
    } else if (is_word("severity", text, key)) {
        t->kind = TERM_SEVERITY;
        for (int i = 0; i < WS_SEVERITY_COUNT; i++)
            if (is_word(ws_severity_name((enum ws_severity)i), value, length))
                t->word = i;
    }
    return t->word >= 0;
}

/* Whether a key of ours stands before the comparison: "stride_read<2>" is a name, "launches<x" a slip. */
static bool begins_with_key(const char *text, size_t n)
{
    char key[64];
    size_t length = strcspn(text, "<>=");
    if (length >= n || length >= sizeof key)
        return false;
    memcpy(key, text, length);
    key[length] = 0;
    return ws_report_is_sort_key(key);
}

static bool is_key(const char *key)
{
    return ws_report_is_sort_key(key) && strcmp(key, "name") != 0;
}

static bool parse_term(struct term *t, const char *text, size_t n)
{
    size_t colon = strcspn(text, ":");
    memset(t, 0, sizeof *t);
    t->negate = n > 1 && text[0] == '-';
    text += t->negate;
    n -= t->negate;
    colon -= t->negate;
    /* "name:x", but not "space::name" and not "name<a:b>" */
    if (colon < n && text[colon + 1] != ':' && colon < strcspn(text, "<>="))
        return parse_word(t, text, n);
    if (begins_with_key(text, n))
        return parse_condition(t, text, n) && is_key(t->key);
    t->is_doubtful = parse_condition(t, text, n);
    t->kind = TERM_NAME;
    t->text = text;
    t->n = n;
    return true;
}

static bool read_filter(struct ws_call *call, struct filter *f)
{
    const char *text = ws_http_param(call->request, "filter");
    f->count = 0;
    while (text && *(text += strspn(text, " "))) {
        size_t n = strcspn(text, " ");
        if (f->count == TERMS) {
            ws_call_fail(call, 400, "bad_parameter", "", "filter has more than %d terms", TERMS);
            return false;
        }
        if (!parse_term(&f->terms[f->count++], text, n)) {
            ws_call_fail(call, 400, "bad_parameter",
                         "word, name:TEXT, rule:W05, bound:memory, severity:high, KEY>N with a metric key",
                         "filter: '%.*s' is not a condition", (int)(n < 80 ? n : 80), text);
            return false;
        }
        text += n;
    }
    return true;
}

/* A condition on a key that we do not have is a mistake, unless it is part of a kernel's name ("gemv<1"). */
static bool check_filter(struct ws_call *call, const struct ws_cached *c, const struct filter *f)
{
    for (size_t i = 0; i < f->count; i++) {
        const struct term *t = &f->terms[i];
        bool is_name = !t->is_doubtful;
        for (size_t k = 0; k < c->session->kernel_count && !is_name; k++)
            is_name = is_named(&c->session->kernels[k].name, t->text, t->n);
        if (is_name)
            continue;
        ws_call_fail(call, 400, "bad_parameter",
                     "/api/v1/catalogue lists the keys; a name with < or > in it: name:TEXT",
                     "filter: there is no key '%s', and no kernel's name has '%.*s' in it", t->key,
                     (int)(t->n < 80 ? t->n : 80), t->text);
        return false;
    }
    return true;
}

/* --- sort and pages --- */

struct place {
    size_t kernel;
    struct ws_value value;
    const char *name;
    int64_t id;
};

struct order {
    char key[64];
    bool falling, by_name;
};

static int compare_places(const struct order *o, const struct place *a, const struct place *b)
{
    int sign = o->falling ? -1 : 1;
    if (o->by_name) {
        int c = strcmp(a->name, b->name);
        if (c != 0)
            return c * sign;
    } else if (ws_has(a->value) != ws_has(b->value)) {
        return ws_has(a->value) ? -1 : 1; /* missing ones last, whatever the direction */
    } else if (ws_has(a->value) && a->value.number != b->value.number) {
        return a->value.number < b->value.number ? -sign : sign;
    }
    return (a->id > b->id) - (a->id < b->id);
}

static int by_order(const void *a, const void *b, void *order)
{
    return compare_places(order, a, b);
}

static bool read_order(struct ws_call *call, struct order *o)
{
    const char *text = ws_http_param(call->request, "sort");
    if (!text)
        text = "-duration";
    o->falling = *text == '-';
    text += o->falling;
    o->by_name = strcmp(text, "name") == 0;
    if (strlen(text) < sizeof o->key && ws_report_is_sort_key(text)) {
        snprintf(o->key, sizeof o->key, "%s", text);
        return true;
    }
    ws_call_fail(call, 400, "bad_parameter", "duration, mean, min, max, launches, name, gain or a metric key",
                 "cannot sort by '%.60s'", text);
    return false;
}

/* Cursor: "ID", "ID.-" (no value) or "ID.BITS" of the value. */
static void write_cursor(const struct order *o, const struct place *p, char out[48])
{
    uint64_t bits;
    if (o->by_name) {
        snprintf(out, 48, "%" PRId64, p->id);
    } else if (!ws_has(p->value)) {
        snprintf(out, 48, "%" PRId64 ".-", p->id);
    } else {
        memcpy(&bits, &p->value.number, sizeof bits);
        snprintf(out, 48, "%" PRId64 ".%016" PRIx64, p->id, bits);
    }
}

/* The last row of the page before, as far as comparing needs it. */
static bool parse_cursor(const struct ws_cached *c, const struct order *o, const char *text, struct place *p)
{
    uint64_t bits;
    double number;
    int used = 0;
    memset(p, 0, sizeof *p);
    p->value = ws_missing(WS_WHY_NOT_COLLECTED, NULL);
    if (sscanf(text, "%15" SCNd64 "%n", &p->id, &used) != 1)
        return false;
    text += used;
    if (o->by_name) {
        for (size_t i = 0; i < c->session->kernel_count; i++)
            if (c->session->kernels[i].row.id == p->id)
                p->name = c->session->kernels[i].name.demangled;
        return *text == 0 && p->name;
    }
    if (strcmp(text, ".-") == 0)
        return true;
    if (strlen(text) != 17 || sscanf(text, ".%16" SCNx64 "%n", &bits, &used) != 1 || used != 17)
        return false;
    memcpy(&number, &bits, sizeof number);
    p->value = ws_value_of(number);
    return true;
}

/* --- which metrics a row shows --- */

static const char usual_metrics[] = "achieved_occupancy,theoretical_occupancy,gld_efficiency,gst_efficiency,"
                                    "gld_sectors_per_request,gst_sectors_per_request,shared_bank_conflicts,"
                                    "dram_bandwidth,intensity_dram,flop_rate";

/* wanted[WS_METRIC_COUNT]; *all instead for "all". */
bool ws_call_metrics(struct ws_call *call, const char *usual, bool *wanted, bool *all)
{
    const char *text = ws_http_param(call->request, "metrics");
    memset(wanted, 0, WS_METRIC_COUNT * sizeof *wanted);
    *all = text && strcmp(text, "all") == 0;
    if (!text)
        text = usual;
    while (!*all && *text) {
        size_t n = strcspn(text, ",");
        enum ws_metric_id id = ws_metric_find(text, n);
        if (n > 0 && id == WS_METRIC_COUNT) {
            ws_call_fail(call, 400, "bad_parameter", "/api/v1/catalogue lists the keys", "unknown metric '%.*s'",
                         (int)(n < 60 ? n : 60), text);
            return false;
        }
        if (n > 0)
            wanted[id] = true;
        text += n + (text[n] == ',');
    }
    return true;
}

/* --- the list --- */

struct query {
    struct filter filter;
    struct order order;
    bool wanted[WS_METRIC_COUNT];
    bool all;
    int64_t limit;
};

static size_t select_places(const struct ws_cached *c, struct query *q, struct place *places)
{
    size_t n = 0;
    for (size_t i = 0; i < c->session->kernel_count; i++)
        if (fits(c, i, &q->filter)) {
            const struct ws_kernel *k = &c->session->kernels[i];
            places[n++] = (struct place){i, value_of(c, i, q->order.key), k->name.demangled, k->row.id};
        }
    qsort_r(places, n, sizeof *places, by_order, &q->order);
    return n;
}

/* What the first name that was asked for may have been meant for: nothing fits. */
static void put_nearest(struct ws_json *j, const struct ws_cached *c, const struct filter *f)
{
    struct ws_nearest near = {.word = ""};
    char word[WS_NEAREST_TEXT];
    for (size_t i = 0; i < f->count && !*near.word; i++) {
        const struct term *t = &f->terms[i];
        if (t->kind != TERM_NAME || t->negate)
            continue;
        snprintf(word, sizeof word, "%.*s", (int)(t->n < sizeof word ? t->n : sizeof word - 1), t->text);
        near.word = word;
    }
    if (!*near.word)
        return;
    for (size_t i = 0; i < c->session->kernel_count; i++)
        ws_nearest_offer_kernel(&near, &c->session->kernels[i].name);
    ws_json_key(j, "nearest");
    ws_json_array_line(j);
    for (size_t i = 0; i < near.count; i++)
        ws_json_text(j, near.name[i]);
    ws_json_end(j);
}

static int put_page(struct ws_json *j, const struct ws_cached *c, const struct query *q, const struct place *places,
                    size_t count, size_t from)
{
    struct ws_report *report = malloc(sizeof *report);
    char next[48];
    size_t end = count - from > (size_t)q->limit ? from + (size_t)q->limit : count;
    if (!report)
        return -WS_ENOMEM;
    ws_json_object(j);
    ws_json_put_int(j, "session", c->id);
    ws_json_key(j, "kernels");
    ws_json_array(j);
    for (size_t i = from; i < end; i++) {
        ws_report_analyze(c->session, places[i].kernel, report);
        ws_report_json_kernel(j, c->session, places[i].kernel, report, q->all ? NULL : q->wanted);
    }
    ws_json_end(j);
    ws_json_put_uint(j, "total", count);
    if (count == 0)
        put_nearest(j, c, &q->filter);
    if (end < count && end > from)
        write_cursor(&q->order, &places[end - 1], next);
    ws_json_put_text(j, "next", end < count && end > from ? next : NULL);
    ws_json_end(j);
    free(report);
    return 0;
}

static void answer(struct ws_call *call, const struct ws_cached *c, struct query *q)
{
    const char *cursor = ws_http_param(call->request, "cursor");
    struct place *places = malloc((c->session->kernel_count + 1) * sizeof *places);
    struct place last;
    size_t count;
    size_t from = 0;
    int err = -WS_ENOMEM;
    if (cursor && !parse_cursor(c, &q->order, cursor, &last)) {
        ws_call_fail(call, 400, "bad_parameter", "take cursor from next of the page before",
                     "cursor is not one of this list");
        free(places);
        return;
    }
    if (places) {
        count = select_places(c, q, places);
        while (cursor && from < count && compare_places(&q->order, &places[from], &last) <= 0)
            from++;
        err = put_page(ws_call_json(call), c, q, places, count, from);
    }
    free(places);
    if (err != 0)
        ws_call_fail_store(call, err);
}

void ws_api_kernels(struct ws_call *call)
{
    struct query q = {.limit = 100};
    const struct ws_cached *c;
    if (ws_call_unchanged(call) || !ws_call_int(call, "limit", 1, 1000, &q.limit) || !read_filter(call, &q.filter) ||
        !read_order(call, &q.order) || !ws_call_metrics(call, usual_metrics, q.wanted, &q.all) ||
        !ws_call_session(call, call->request->ids[0], &c))
        return;
    if (check_filter(call, c, &q.filter))
        answer(call, c, &q);
    ws_session_cache_give(c);
}

/* --- one kernel --- */

static bool put_one(struct ws_call *call, const struct ws_cached *c)
{
    struct ws_json *j = ws_call_json(call);
    struct ws_session *s = c->session;
    struct ws_session one = *s;
    size_t i = 0;
    while (i < s->kernel_count && s->kernels[i].row.id != call->request->ids[1])
        i++;
    if (i == s->kernel_count)
        return false;
    /* The same report, of one kernel: a shallow copy that is only read. */
    one.kernels = &s->kernels[i];
    one.kernel_count = 1;
    if (ws_report_json(&one, j) != 0)
        ws_call_fail_store(call, -WS_ENOMEM);
    return true;
}

void ws_api_kernel(struct ws_call *call)
{
    const struct ws_cached *c;
    if (ws_call_unchanged(call) || !ws_call_whole_session(call, call->request->ids[0], &c))
        return;
    if (!put_one(call, c))
        ws_call_fail(call, 404, "kernel_not_found", "the session's kernels are at …/kernels",
                     "there is no such kernel in this session");
    ws_session_cache_give(c);
}
