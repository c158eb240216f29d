/* SPDX-License-Identifier: MIT
 * scorecard.c: estimated against measured gain of every twin. The pairs are data: kernels/<name>.expect. */
#include "scorecard.h"

#include "../analyzer/err.h"
#include "../analyzer/rules.h"
#include "report.h"
#include "verify.h"

#include <stdlib.h>
#include <string.h>

/* --- one twin --- */

static const struct ws_rule *rule_of(struct ws_word word)
{
    char id[8];
    snprintf(id, sizeof id, "%.*s", (int)(word.length < 3 ? word.length : 3), word.at);
    return ws_rules_find(id);
}

static size_t find_kernel(const struct ws_session *s, struct ws_word name)
{
    for (size_t i = 0; i < s->kernel_count; i++)
        if (ws_expect_name_is(name, s->kernels[i].name.demangled))
            return i;
    return s->kernel_count;
}

static struct ws_value gain_in(const struct ws_findings *findings, const struct ws_rule *rule)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->item[i].rule == rule)
            return findings->item[i].gain;
    return ws_missing(WS_WHY_NOT_COLLECTED, rule->id);
}

static struct ws_value gain_of(struct ws_value bad, struct ws_value good, double work)
{
    if (!ws_has(bad) || !ws_has(good))
        return ws_has(bad) ? good : bad;
    if (!(bad.number > 0))
        return ws_missing(WS_WHY_ZERO, NULL);
    return ws_value_of(1 - good.number / work / bad.number);
}

/* Two kernels of one session. False: it has not both. */
static bool score_kernels(const struct ws_session *s, const struct ws_rule *rule, struct ws_report *report,
                          const struct ws_ncu *ncu, struct ws_score *score)
{
    size_t bad = find_kernel(s, score->bad), good = find_kernel(s, score->good);
    if (bad == s->kernel_count || good == s->kernel_count)
        return false;
    ws_report_analyze(s, bad, report);
    score->estimated = gain_in(&report->findings, rule);
    score->bad_time = s->kernels[bad].times.mean;
    score->good_time = s->kernels[good].times.mean;
    if (ncu)
        score->has_ncu = ws_ncu_find(ncu, score->bad, s->kernels[bad].row.launch.grid, s->kernels[bad].row.launch.block,
                                     &score->ncu);
    return true;
}

/* Two programs, a session each. */
static bool score_programs(const struct ws_score_source *sources, size_t count, const struct ws_rule *rule,
                           struct ws_score *score)
{
    const struct ws_score_source *bad = NULL, *good = NULL;
    for (size_t i = 0; i < count; i++) {
        if (ws_verify_is_program(sources[i].session, score->bad))
            bad = &sources[i];
        if (ws_verify_is_program(sources[i].session, score->good))
            good = &sources[i];
    }
    if (!bad || !good)
        return false;
    score->estimated = gain_in(bad->session->timeline, rule);
    score->bad_time = bad->window;
    score->good_time = good->window;
    return true;
}

static bool score_twin(const struct ws_score_source *sources, size_t count, const struct ws_ncu *ncu,
                       struct ws_report *report, struct ws_score *score)
{
    const struct ws_rule *rule = rule_of(score->rule);
    bool found = false;
    if (!rule)
        return false;
    if (rule->scope == WS_RULE_TIMELINE)
        found = score_programs(sources, count, rule, score);
    for (size_t i = 0; i < count && !found && rule->scope == WS_RULE_KERNEL; i++)
        found = score_kernels(sources[i].session, rule, report, ncu, score);
    score->measured = gain_of(score->bad_time, score->good_time, score->work);
    return found;
}

/* --- medians --- */

struct ws_value ws_score_error_of(struct ws_value estimated, struct ws_value measured)
{
    if (!ws_has(estimated) || !ws_has(measured))
        return ws_has(estimated) ? measured : estimated;
    return ws_value_of(fabs(estimated.number - measured.number));
}

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static struct ws_score_error median(double *errors, size_t count)
{
    struct ws_score_error e = {ws_missing(WS_WHY_NO_LAUNCH, NULL), count};
    if (count == 0)
        return e;
    qsort(errors, count, sizeof *errors, by_number);
    e.median = ws_value_of((errors[(count - 1) / 2] + errors[count / 2]) / 2);
    return e;
}

static int fill_medians(struct ws_scorecard *card)
{
    double *errors = calloc(3 * card->count + 1, sizeof *errors);
    double *ours = errors, *ncu, *both;
    size_t n = 0, m = 0, k = 0;
    if (!errors)
        return -WS_ENOMEM;
    ncu = errors + card->count;
    both = errors + 2 * card->count;
    for (size_t i = 0; i < card->count; i++) {
        struct ws_value a = ws_score_error_of(card->at[i].estimated, card->at[i].measured);
        struct ws_value b = ws_score_error_of(card->at[i].ncu.global, card->at[i].measured);
        if (ws_has(a))
            ours[n++] = a.number;
        if (ws_has(b))
            ncu[m++] = b.number;
        if (ws_has(a) && ws_has(b))
            both[k++] = a.number;
    }
    card->ours = median(ours, n);
    card->ncu = median(ncu, m);
    card->ours_where_ncu = median(both, k);
    free(errors);
    return 0;
}

/* --- all together --- */

static struct ws_score begin(const struct ws_expect_reader *reader, const struct ws_expect *line)
{
    struct ws_value missing = ws_missing(WS_WHY_NO_LAUNCH, NULL);
    return (struct ws_score){.id = reader->id,
                             .rule = line->rule,
                             .bad = line->name,
                             .good = line->good,
                             .work = line->work,
                             .bad_time = missing,
                             .good_time = missing,
                             .estimated = missing,
                             .measured = missing,
                             .ncu = {missing, missing, "", ""}};
}

static int add(struct ws_scorecard *card, size_t *cap, const struct ws_score *score)
{
    if (card->count == *cap) {
        size_t n = *cap ? 2 * *cap : 32;
        struct ws_score *grown = realloc(card->at, n * sizeof *grown);
        if (!grown)
            return -WS_ENOMEM;
        card->at = grown;
        *cap = n;
    }
    card->at[card->count++] = *score;
    return 0;
}

int ws_scorecard_make(const struct ws_score_source *sources, size_t count, const struct ws_ncu *ncu,
                      struct ws_scorecard *out)
{
    struct ws_report *report = malloc(sizeof *report);
    size_t cap = 0;
    int err = report ? 0 : -WS_ENOMEM;
    *out = (struct ws_scorecard){.at = NULL};
    for (size_t i = 0; err == 0 && i < ws_verify_files(); i++) {
        const char *text = ws_verify_file_text(i);
        struct ws_expect_reader reader;
        struct ws_expect line;
        int more;
        ws_expect_open(&reader, text, strlen(text));
        while (err == 0 && (more = ws_expect_next(&reader, &line)) != 0) {
            struct ws_score score = begin(&reader, &line);
            if (more == 1 && line.kind == WS_EXPECT_TWIN && score_twin(sources, count, ncu, report, &score))
                err = add(out, &cap, &score);
        }
    }
    free(report);
    return err == 0 ? fill_medians(out) : err;
}

void ws_scorecard_fini(struct ws_scorecard *card)
{
    free(card->at);
    *card = (struct ws_scorecard){.at = NULL};
}

/* --- JSON --- */

static void put_word(struct ws_json *j, const char *key, struct ws_word word)
{
    ws_json_key(j, key);
    ws_json_text_n(j, word.at, word.length);
}

static void put_advice(struct ws_json *j, const struct ws_score *s)
{
    ws_report_json_number(j, "ncu", s->ncu.global);
    ws_json_put_text(j, "ncu_rule", s->ncu.global_rule);
    ws_report_json_number(j, "ncu_error", ws_score_error_of(s->ncu.global, s->measured));
    ws_report_json_number(j, "ncu_local", s->ncu.local);
    ws_json_put_text(j, "ncu_local_rule", s->ncu.local_rule);
}

static void put_error(struct ws_json *j, const char *key, struct ws_score_error error)
{
    ws_json_key(j, key);
    ws_json_object_line(j);
    ws_report_json_number(j, "median", error.median);
    ws_json_put_uint(j, "twins", error.count);
    ws_json_end(j);
}

void ws_scorecard_json(struct ws_json *j, const struct ws_scorecard *card, bool with_ncu)
{
    ws_json_object(j);
    ws_json_key(j, "twins");
    ws_json_array(j);
    for (size_t i = 0; i < card->count; i++) {
        const struct ws_score *s = &card->at[i];
        ws_json_object_line(j);
        put_word(j, "id", s->id);
        put_word(j, "rule", s->rule);
        put_word(j, "bad", s->bad);
        put_word(j, "good", s->good);
        ws_json_put_number(j, "work", s->work);
        ws_report_json_number(j, "bad_time", s->bad_time);
        ws_report_json_number(j, "good_time", s->good_time);
        ws_report_json_number(j, "estimated", s->estimated);
        ws_report_json_number(j, "measured", s->measured);
        ws_report_json_number(j, "error", ws_score_error_of(s->estimated, s->measured));
        if (with_ncu)
            put_advice(j, s);
        ws_json_end(j);
    }
    ws_json_end(j);
    put_error(j, "error", card->ours);
    if (with_ncu) {
        put_error(j, "ncu_error", card->ncu);
        put_error(j, "error_where_ncu", card->ours_where_ncu);
    }
    ws_json_end(j);
}
