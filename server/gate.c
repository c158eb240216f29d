/* SPDX-License-Identifier: MIT
 * gate.c: see gate.h. */
#include "gate.h"

#include "../analyzer/number.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    enum ws_gate_key key;
} keys[] = {{"duration", WS_GATE_DURATION},
            {"total", WS_GATE_TOTAL},
            {"launches", WS_GATE_LAUNCHES},
            {"findings", WS_GATE_FINDINGS}};

/* --- parsing --- */

static const char *skip(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

static size_t key_length(const char *at)
{
    return strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
}

static bool read_key(const char *at, size_t length, struct ws_gate_condition *out)
{
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strlen(keys[i].name) == length && memcmp(keys[i].name, at, length) == 0) {
            out->what = keys[i].key;
            out->key = keys[i].name;
            return true;
        }
    out->metric = ws_metric_find(at, length);
    if (out->metric == WS_METRIC_COUNT)
        return false;
    out->what = WS_GATE_METRIC;
    out->key = ws_metric_get(out->metric)->key;
    return true;
}

/* The number at *at, which moves behind it. */
static bool read_limit(const char **at, struct ws_gate_condition *out)
{
    bool is_negative = **at == '-';
    const char *digits = *at + (is_negative || **at == '+');
    size_t n = ws_number_read(digits, strlen(digits), &out->limit);
    if (n == 0)
        return false;
    if (is_negative)
        out->limit = -out->limit;
    *at = skip(digits + n);
    out->is_relative = **at == '%';
    if (out->is_relative) {
        out->limit /= 100;
        *at = skip(*at + 1);
    }
    return true;
}

static const char *read_condition(const char *at, struct ws_gate_condition *out, char *message, size_t cap)
{
    const char *start = at;
    size_t length = key_length(at);
    if (length == 0) {
        snprintf(message, cap, "a condition is KEY > NUMBER or KEY > NUMBER%%, not '%.40s'", at);
        return NULL;
    }
    if (!read_key(at, length, out)) {
        snprintf(message, cap,
                 "unknown key '%.*s': duration, total, launches, findings, or one of `warpsight list metrics`",
                 (int)(length < 60 ? length : 60), at);
        return NULL;
    }
    at = skip(at + length);
    if (*at != '<' && *at != '>') {
        snprintf(message, cap, "after %s comes one of > >= < <=, not '%.20s'", out->key, at);
        return NULL;
    }
    out->is_above = *at++ == '>';
    out->takes_equal = *at == '=';
    at = skip(at + out->takes_equal);
    if (!read_limit(&at, out)) {
        snprintf(message, cap, "%s needs a number, not '%.20s'", out->key, at);
        return NULL;
    }
    if (*at != 0 && *at != ',') {
        snprintf(message, cap, "after the limit of %s comes a comma or the end, not '%.20s'", out->key, at);
        return NULL;
    }
    snprintf(out->text, sizeof out->text, "%.*s", (int)(at - start), start);
    for (size_t n = strlen(out->text); n > 0 && strchr(" \t\r\n", out->text[n - 1]); n--)
        out->text[n - 1] = 0;
    return at;
}

bool ws_gate_parse(const char *text, struct ws_gate *gate, char *message, size_t cap)
{
    const char *at = skip(text);
    while (at) {
        if (gate->count == WS_GATE_MAX) {
            snprintf(message, cap, "more than %d conditions", WS_GATE_MAX);
            return false;
        }
        at = read_condition(at, &gate->condition[gate->count], message, cap);
        if (!at)
            return false;
        gate->count++;
        if (*at == 0)
            return true;
        at = skip(at + 1);
    }
    return false;
}

/* --- judging --- */

static struct ws_value launches_of(const struct ws_cached *c, size_t kernel)
{
    return ws_value_of((double)c->session->kernels[kernel].launches);
}

static struct ws_value total_of(const struct ws_cached *c, size_t kernel)
{
    return c->session->kernels[kernel].times.total;
}

static unsigned bits(uint64_t set)
{
    return (unsigned)__builtin_popcountll(set);
}

static void find_sides(const struct ws_gate_condition *g, const struct ws_comparison *c, const struct ws_pair *p,
                       struct ws_gate_judged *out)
{
    struct ws_findings_change f;
    switch (g->what) {
    case WS_GATE_DURATION:
        out->base = ws_compare_median(c, p, false);
        out->target = ws_compare_median(c, p, true);
        out->noise = p->duration.noise;
        out->unit = WS_UNIT_SECOND;
        break;
    case WS_GATE_TOTAL:
        out->base = total_of(c->base, p->base);
        out->target = total_of(c->target, p->target);
        out->unit = WS_UNIT_SECOND;
        break;
    case WS_GATE_LAUNCHES:
        out->base = launches_of(c->base, p->base);
        out->target = launches_of(c->target, p->target);
        break;
    case WS_GATE_FINDINGS:
        f = ws_compare_findings(c, p);
        out->base = ws_value_of(bits(f.stayed) + bits(f.gone));
        out->target = ws_value_of(bits(f.stayed) + bits(f.appeared));
        break;
    case WS_GATE_METRIC:
        out->base = ws_compare_metric(c, p, false, g->metric);
        out->target = ws_compare_metric(c, p, true, g->metric);
        out->unit = ws_metric_get(g->metric)->unit;
        break;
    }
    if ((g->what == WS_GATE_DURATION || g->what == WS_GATE_TOTAL) && p->is_mixed_clock)
        out->target = ws_missing(WS_WHY_DISTORTED, NULL);
}

/* Relative to a base of 0 any change is without bound. */
static double change_of(const struct ws_gate_condition *g, double base, double target)
{
    double delta = target - base;
    if (!g->is_relative || delta == 0)
        return delta;
    return base == 0 ? copysign(HUGE_VAL, delta) : delta / fabs(base);
}

static bool passes_limit(const struct ws_gate_condition *g, double change)
{
    if (g->takes_equal && change == g->limit)
        return true;
    return g->is_above ? change > g->limit : change < g->limit;
}

struct ws_gate_judged ws_gate_judge(const struct ws_gate_condition *condition, const struct ws_comparison *c,
                                    const struct ws_pair *p)
{
    struct ws_gate_judged j = {.result = WS_GATE_UNKNOWN, .unit = WS_UNIT_NUMBER};
    double change;
    j.noise = j.change = ws_missing(WS_WHY_NOT_COLLECTED, NULL);
    find_sides(condition, c, p, &j);
    if (!ws_has(j.base) || !ws_has(j.target))
        return j;
    change = change_of(condition, j.base.number, j.target.number);
    j.change = ws_value_of(change);
    j.result = passes_limit(condition, change) ? WS_GATE_FAILS : WS_GATE_PASSES;
    if (j.result == WS_GATE_FAILS && condition->what == WS_GATE_DURATION && p->duration.trend == WS_TREND_WITHIN_NOISE)
        j.result = WS_GATE_NOISE;
    return j;
}

struct ws_gate_tally ws_gate_tally(const struct ws_gate *gate, const struct ws_comparison *c)
{
    struct ws_gate_tally t = {0};
    for (size_t g = 0; g < gate->count; g++) {
        size_t judged = 0;
        for (size_t i = 0; i < c->count; i++) {
            enum ws_gate_result r;
            if (!ws_compare_is_pair(&c->pairs[i]))
                continue;
            r = ws_gate_judge(&gate->condition[g], c, &c->pairs[i]).result;
            t.passed += r == WS_GATE_PASSES;
            t.failed += r == WS_GATE_FAILS;
            t.noise += r == WS_GATE_NOISE;
            t.unknown += r == WS_GATE_UNKNOWN;
            judged += r != WS_GATE_UNKNOWN;
        }
        t.never_judged += judged == 0;
    }
    return t;
}

const char *ws_gate_result_name(enum ws_gate_result result)
{
    static const char *const names[] = {"pass", "fail", "within-noise", "unknown"};
    return names[result];
}
