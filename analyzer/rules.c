/* SPDX-License-Identifier: MIT
 * rules.c: the engine: which rules can run, what they found, in which order it is told.
 * Pure; knows no rule. A rule whose condition lacks an input is listed with the input and its reason;
 * one that lacks an input of its gain still fires. */
#include "rules.h"

#include "units.h"

#include <stdio.h>
#include <string.h>

static const struct ws_rule *const rules[] = {
#define WS_RULE(name) &ws_rule_##name,
#include "rules_list.h"
#undef WS_RULE
};
enum { RULE_COUNT = sizeof rules / sizeof *rules }; /* NOLINT(bugprone-sizeof-expression): an array of pointers */
/* Formulas build on formulas, but not deeper than derive.h allows. */
enum { ROOT_DEPTH = 16 };

/* From these shares of the kernel's time on. */
#define HIGH_GAIN 0.20
#define MEDIUM_GAIN 0.05
/* A rule that yields does so to a finding of this gain: the cause is then known better (catalogue). */
#define YIELD_GAIN 0.10

size_t ws_rules_count(void)
{
    return RULE_COUNT;
}

const struct ws_rule *ws_rules_get(size_t i)
{
    return rules[i];
}

static int lower(int c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* True if name is id, or its part before the first '-'. */
static bool is_called(const char *id, const char *name)
{
    while (*name && lower(*id) == lower(*name))
        id++, name++;
    return *name == 0 && (*id == 0 || *id == '-');
}

const struct ws_rule *ws_rules_find(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (length >= 3 && is_called(rules[i]->id, name) && (length == 3 || length == strlen(rules[i]->id)))
            return rules[i];
    return NULL;
}

const char *ws_severity_name(enum ws_severity severity)
{
    static const char *const names[WS_SEVERITY_COUNT] = {"info", "low", "medium", "high"};
    return (unsigned)severity < WS_SEVERITY_COUNT ? names[severity] : "unknown";
}

/* --- text ---------------------------------------------------------------------------------------- */

struct text {
    char *at;
    size_t left; /* the NUL included */
};

static void put(struct text *t, const char *from, size_t length)
{
    size_t n = length < t->left ? length : t->left - 1;
    memcpy(t->at, from, n);
    t->at += n;
    t->left -= n;
    *t->at = 0;
}

/* Beyond this a number is not written out, and a share is not a percentage. Counters never say such things,
 * hostile captures do. */
#define MOST_DIGITS 1e15
#define MOST_SHARE 1e4

/* 1234567.8 as "1,234,568". */
static void put_whole(struct text *t, double number)
{
    char digits[32];
    int length;
    if (fabs(number) >= MOST_DIGITS) {
        put(t, digits, (size_t)snprintf(digits, sizeof digits, "%.3e", number));
        return;
    }
    length = snprintf(digits, sizeof digits, "%.0f", number);
    for (int i = 0; i < length; i++) {
        put(t, &digits[i], 1);
        if (digits[i] != '-' && i + 1 < length && (length - i - 1) % 3 == 0)
            put(t, ",", 1);
    }
}

static void put_number(struct text *t, double number, char format)
{
    char people[96];
    switch (format) {
    case 'i':
        put_whole(t, number);
        return;
    case '%':
        if (fabs(number) >= MOST_SHARE)
            snprintf(people, sizeof people, "%.3e times", number);
        else
            snprintf(people, sizeof people, fabs(number) < 0.0995 ? "%.1f %%" : "%.0f %%", 100 * number);
        break;
    case 'b':
        ws_unit_format(people, sizeof people, ws_value_of(number), WS_UNIT_BYTE);
        break;
    case 't':
        ws_unit_format(people, sizeof people, ws_value_of(number), WS_UNIT_SECOND);
        break;
    default:
        snprintf(people, sizeof people, fabs(number) < 1e5 ? "%.3g" : "%.3e", number);
        /* 1e+03 is no number for people */
        if (fabs(number) >= 999.5 && fabs(number) < 1e5) {
            put_whole(t, number);
            return;
        }
    }
    put(t, people, strlen(people));
}

static const struct ws_evidence *evidence_of(const struct ws_finding *f, const char *key, size_t length)
{
    for (size_t i = 0; i < f->evidence_count; i++)
        if (strlen(f->evidence[i].key) == length && memcmp(f->evidence[i].key, key, length) == 0)
            return &f->evidence[i];
    return NULL;
}

/* Fill finding->text from its template. */
static void format_text(struct ws_finding *f)
{
    struct text t = {f->text, sizeof f->text};
    const char *p = f->advice;
    f->text[0] = 0;
    while (*p) {
        size_t plain = strcspn(p, "{");
        size_t key, whole;
        const struct ws_evidence *e;
        put(&t, p, plain);
        p += plain;
        if (!*p)
            break;
        whole = strcspn(p, "}");
        key = strcspn(p + 1, ":}");
        e = evidence_of(f, p + 1, key);
        if (e)
            put_number(&t, e->number, p[1 + key] == ':' ? p[2 + key] : 0);
        else
            put(&t, "(not known)", 11);
        p += whole + (p[whole] == '}');
    }
}

/* --- running ------------------------------------------------------------------------------------- */

static struct ws_value input_value(const struct ws_rule_input *in, enum ws_rule_scope scope, uint16_t id)
{
    return scope == WS_RULE_KERNEL ? in->metric[id] : in->timeline->value[id];
}

static const char *input_key(enum ws_rule_scope scope, uint16_t id)
{
    return scope == WS_RULE_KERNEL ? ws_metric_get((enum ws_metric_id)id)->key
                                   : ws_timeline_key((enum ws_timeline_id)id);
}

/* A derived value is missing because of another one: report that one, which somebody can collect. */
static struct ws_value root_of(const struct ws_rule_input *in, enum ws_rule_scope scope, uint16_t id)
{
    struct ws_value v = input_value(in, scope, id);
    const char *key = input_key(scope, id);
    for (int depth = 0; depth < ROOT_DEPTH && scope == WS_RULE_KERNEL && v.why == WS_WHY_INPUT && v.input; depth++) {
        enum ws_metric_id at = ws_metric_find(v.input, strlen(v.input));
        if (at == WS_METRIC_COUNT || ws_has(in->metric[at]))
            break;
        key = v.input;
        v = in->metric[at];
    }
    return ws_missing((enum ws_why)v.why,
                      (v.why == WS_WHY_ZERO || v.why == WS_WHY_NEEDS_GPU) && v.input ? v.input : key);
}

/* The first of needs that has no value: *missing gets its reason, naming it. False if all are there. */
static bool lacks(const struct ws_rule_input *in, enum ws_rule_scope scope, const struct ws_rule_needs *needs,
                  struct ws_value *missing)
{
    for (uint16_t i = 0; i < needs->count; i++)
        if (!ws_has(input_value(in, scope, needs->id[i]))) {
            *missing = root_of(in, scope, needs->id[i]);
            return true;
        }
    return false;
}

static void skip(struct ws_findings *out, struct ws_rule_skip skipped)
{
    if (out->skipped_count < WS_FINDINGS_MAX)
        out->skipped[out->skipped_count++] = skipped;
}

static enum ws_severity severity_of(const struct ws_finding *f)
{
    if (f->rule->is_info)
        return WS_SEVERITY_INFO;
    if (!ws_has(f->gain)) /* it fires, but how much it costs is not known */
        return WS_SEVERITY_MEDIUM;
    return f->gain.number >= HIGH_GAIN ? WS_SEVERITY_HIGH
                                       : (f->gain.number >= MEDIUM_GAIN ? WS_SEVERITY_MEDIUM : WS_SEVERITY_LOW);
}

static void run_one(struct ws_rule_input *in, const struct ws_rule *rule, struct ws_findings *out)
{
    struct ws_finding *f = &out->item[out->count];
    struct ws_value missing;
    if (lacks(in, rule->scope, &rule->needs, &missing)) {
        skip(out, (struct ws_rule_skip){rule, missing, NULL});
        return;
    }
    f->rule = rule;
    f->advice = rule->advice;
    f->evidence_count = 0;
    f->gain = ws_value_of(0);
    in->has_gain_inputs = !lacks(in, rule->scope, &rule->gain_needs, &missing);
    if (!in->has_gain_inputs)
        f->gain = missing;
    if (out->count == WS_FINDINGS_MAX || !rule->check(in, f) || f->evidence_count == 0)
        return;
    f->severity = severity_of(f);
    format_text(f);
    out->count++;
}

/* True if the space-separated list holds the first three letters of id. */
static bool lists(const char *list, const char *id)
{
    for (; list && *list; list += strspn(list, " ")) {
        if (memcmp(list, id, 3) == 0)
            return true;
        list += strcspn(list, " ");
    }
    return false;
}

/* Take out findings that say less than another one that is there. */
static void yield(struct ws_findings *out)
{
    size_t kept = 0;
    bool silent[WS_FINDINGS_MAX] = {false};
    for (size_t i = 0; i < out->count; i++)
        for (size_t k = 0; k < out->count && !silent[i]; k++)
            if (ws_has(out->item[k].gain) && out->item[k].gain.number >= YIELD_GAIN &&
                lists(out->item[i].rule->yields_to, out->item[k].rule->id)) {
                silent[i] = true;
                skip(out, (struct ws_rule_skip){out->item[i].rule, ws_value_of(0), out->item[k].rule});
            }
    for (size_t i = 0; i < out->count; i++)
        if (!silent[i]) {
            if (kept != i)
                out->item[kept] = out->item[i];
            kept++;
        }
    out->count = kept;
}

/* Largest gain first, then those whose gain is not known, then what only informs. */
static double rank(const struct ws_finding *f)
{
    if (f->rule->is_info)
        return -2 + (ws_has(f->gain) ? f->gain.number : 0) / 2;
    return ws_has(f->gain) ? f->gain.number : -0.5;
}

static void sort(struct ws_findings *out)
{
    for (size_t i = 1; i < out->count; i++)
        for (size_t k = i; k > 0 && rank(&out->item[k - 1]) < rank(&out->item[k]); k--) {
            struct ws_finding swap = out->item[k];
            out->item[k] = out->item[k - 1];
            out->item[k - 1] = swap;
        }
}

void ws_rules_run(const struct ws_rule_input *in, enum ws_rule_scope scope, struct ws_findings *out)
{
    struct ws_rule_input mine = *in;
    out->count = out->skipped_count = 0;
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (rules[i]->scope == scope && !(scope == WS_RULE_KERNEL && in->facts->is_library && rules[i]->skips_library))
            run_one(&mine, rules[i], out);
    yield(out);
    sort(out);
}

void ws_rules_run_timeline(const struct ws_timeline_facts *facts, struct ws_findings *out)
{
    struct ws_rule_input in = {.timeline = facts};
    ws_rules_run(&in, WS_RULE_TIMELINE, out);
}
