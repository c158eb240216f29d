/* SPDX-License-Identifier: MIT
 * report_check.h: what must hold of every report that ws_analyze() makes, whatever the facts. For the fuzz tests.
 * The first breach is named; NULL = all holds. */
#ifndef WS_TESTS_UNIT_REPORT_CHECK_H
#define WS_TESTS_UNIT_REPORT_CHECK_H

#include "analyzer/analyze.h"
#include "analyzer/rules.h"

#include <stdio.h>
#include <string.h>

static char report_problem_text[768];

static inline bool is_sound(const char *what, struct ws_value v)
{
    if (v.why < WS_WHY_COUNT && v.grade < WS_GRADE_COUNT && (!ws_has(v) || isfinite(v.number)))
        return true;
    snprintf(report_problem_text, sizeof report_problem_text, "%s: why %u, number %g", what, v.why, v.number);
    return false;
}

static inline bool is_share(const char *what, struct ws_value v)
{
    if (!is_sound(what, v))
        return false;
    if (!ws_has(v) || (v.number >= 0 && v.number <= 1))
        return true;
    snprintf(report_problem_text, sizeof report_problem_text, "%s: %g is not within 0 and 1", what, v.number);
    return false;
}

static inline bool is_good_finding(const struct ws_finding *f)
{
    bool good = is_share(f->rule->id, f->gain) && f->evidence_count >= 1 && f->evidence_count <= WS_EVIDENCE_MAX &&
                f->severity < WS_SEVERITY_COUNT && strlen(f->text) >= 10 && !strpbrk(f->text, "{}") &&
                !strstr(f->text, "nan") && !strstr(f->text, "inf ");
    for (size_t k = 0; good && k < f->evidence_count; k++)
        good = isfinite(f->evidence[k].number) && f->evidence[k].key;
    if (!good)
        snprintf(report_problem_text, sizeof report_problem_text, "%s: \"%s\"", f->rule->id, f->text);
    return good;
}

static inline const char *findings_problem(const struct ws_findings *all)
{
    if (all->count > WS_FINDINGS_MAX || all->skipped_count > WS_FINDINGS_MAX)
        return "more findings than there is room for";
    for (size_t i = 0; i < all->count; i++)
        if (!is_good_finding(&all->item[i]))
            return report_problem_text;
    for (size_t i = 0; i < all->skipped_count; i++)
        if (!all->skipped[i].yielded_to && (ws_has(all->skipped[i].missing) || !all->skipped[i].missing.input))
            return "a skipped rule does not say what is missing";
    return NULL;
}

static inline bool is_good_roof(const struct ws_roof *r)
{
    return is_sound("bandwidth", r->bandwidth) && is_sound("peak", r->peak) && is_sound("roof", r->roof) &&
           is_sound("percent", r->percent) && is_sound("ridge", r->ridge) && r->bound < WS_BOUND_COUNT;
}

static inline bool is_good_roofline(const struct ws_roofline *r)
{
    bool good = r->count <= WS_ROOF_POINTS_MAX && is_sound("reason", r->reason);
    for (size_t i = 0; good && i < r->count; i++) {
        const struct ws_roof_point *p = &r->points[i];
        good = is_sound("operations", p->operations) && is_sound("intensity", p->intensity) &&
               is_sound("rate", p->flop_rate) && is_good_roof(&p->measured) && is_good_roof(&p->sheet);
    }
    for (int i = 0; good && i < WS_LEVEL_COUNT; i++) {
        const struct ws_roof_traffic *t = &r->traffic[i];
        good = is_sound("bytes", t->bytes) && is_sound("rate", t->rate) && is_sound("ceiling", t->ceiling) &&
               is_sound("percent", t->percent);
    }
    return good;
}

static inline const char *report_problem(const struct ws_report *r)
{
    bool good = is_share("theoretical occupancy", r->occupancy.theoretical) && is_good_roofline(&r->roofline) &&
                is_sound("stalled", r->stalls.stalled) && is_sound("issue rate", r->stalls.issue_rate);
    for (unsigned i = 0; good && i < WS_METRIC_COUNT; i++)
        good = is_sound(ws_metric_get((enum ws_metric_id)i)->key, r->metric[i]);
    for (int i = 0; good && i < WS_STALL_COUNT; i++)
        good = is_sound("stall share", r->stalls.share[i]) && is_sound("stall of all", r->stalls.of_all[i]);
    return good ? findings_problem(&r->findings) : report_problem_text;
}

#endif
