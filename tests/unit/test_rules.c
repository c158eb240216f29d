/* SPDX-License-Identifier: MIT
 * test_rules.c: every rule is well-formed and passes its own cases; the engine's gates.
 * A rule's firing and quiet cases stand in its own file. */
#include "rule_facts.h"
#include "test.h"

#include <ctype.h>

static struct facts_box box;
static struct ws_timeline_facts timeline;
static struct ws_findings found;

/* Run one case the way a session would: the whole analyzer, not the check alone. */
static const struct ws_findings *run_case(const struct ws_rule *rule, const struct ws_rule_case *c)
{
    bool stalls = false;
    if (rule->scope == WS_RULE_TIMELINE) {
        ws_timeline_init(&timeline);
        for (const struct ws_rule_fact *f = c->facts; f->id_plus_1; f++)
            timeline.value[f->id_plus_1 - 1] = ws_value_of(f->number);
        ws_rules_run_timeline(&timeline, &found);
        return &found;
    }
    facts_init(&box, c->driver_name);
    if (c->launch.grid.x)
        box.facts.launch = c->launch;
    for (const struct ws_rule_fact *f = c->facts; f->id_plus_1; f++) {
        enum ws_metric_id id = (enum ws_metric_id)(f->id_plus_1 - 1);
        if (ws_metric_get(id)->kind != WS_KIND_RAW)
            WS_FAIL("%s, %s: %s is no counter", rule->id, c->what, ws_metric_get(id)->key);
        facts_set(&box, id, f->number);
        stalls = stalls || strncmp(ws_metric_get(id)->key, "stall_", 6) == 0;
    }
    if (stalls)
        facts_zero_stalls(&box);
    facts_analyze(&box);
    return &box.report.findings;
}

static void check_text(const struct ws_finding *f)
{
    if (strlen(f->text) < 20 || strlen(f->text) + 1 >= sizeof f->text || strpbrk(f->text, "{}") ||
        strstr(f->text, "(not known)") || strstr(f->text, "nan") || strstr(f->text, "inf"))
        WS_FAIL("%s: bad text \"%s\"", f->rule->id, f->text);
    CHECK(f->evidence_count >= 1 && f->evidence_count <= WS_EVIDENCE_MAX);
}

TEST(every_rule_fires_and_stays_quiet_where_its_own_cases_say)
{
    for (size_t i = 0; i < ws_rules_count(); i++) {
        const struct ws_rule *rule = ws_rules_get(i);
        for (size_t k = 0; k < rule->case_count; k++) {
            const struct ws_rule_case *c = &rule->cases[k];
            const struct ws_findings *all = run_case(rule, c);
            const struct ws_finding *f = finding_of(all, rule->id);
            if (!!f != c->fires) {
                const struct ws_rule_skip *s = skip_of(all, rule->id);
                WS_FAIL("%s, %s: %s%s%s", rule->id, c->what, f ? "fires" : "is quiet", s ? ", lacks " : "",
                        s && s->missing.input ? s->missing.input : "");
            } else if (f) {
                check_text(f);
                if (c->tolerance > 0 && !(ws_has(f->gain) && fabs(f->gain.number - c->gain) <= c->tolerance))
                    WS_FAIL("%s, %s: gain %g, want %g", rule->id, c->what, f->gain.number, c->gain);
            }
        }
    }
}

/* A quiet case must be quiet because the rule ran and said no, or yielded; not because an input is missing. */
TEST(every_quiet_case_has_all_that_the_rule_needs)
{
    for (size_t i = 0; i < ws_rules_count(); i++)
        for (size_t k = 0; k < ws_rules_get(i)->case_count; k++) {
            const struct ws_rule *rule = ws_rules_get(i);
            const struct ws_rule_skip *s = skip_of(run_case(rule, &rule->cases[k]), rule->id);
            if (s && !s->yielded_to)
                WS_FAIL("%s, %s: lacks %s", rule->id, rule->cases[k].what, s->missing.input ? s->missing.input : "?");
        }
}

static bool is_id(const char *id)
{
    bool good = id[0] == 'W' && isdigit((unsigned char)id[1]) && isdigit((unsigned char)id[2]) && id[3] == '-';
    for (const char *c = id + 4; good && *c; c++)
        good = islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '-';
    return good;
}

TEST(every_rule_says_what_a_person_needs_to_judge_it)
{
    CHECK(ws_rules_count() == 40);
    for (size_t i = 0; i < ws_rules_count(); i++) {
        const struct ws_rule *r = ws_rules_get(i);
        const char *const texts[] = {r->title,    r->condition, r->why, r->advice, r->formula,
                                     r->when_not, r->source,    r->bad, r->good};
        size_t fires = 0;
        if (!is_id(r->id))
            WS_FAIL("bad id %s", r->id);
        CHECK(i == 0 || strcmp(ws_rules_get(i - 1)->id, r->id) < 0);
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            if (!texts[k] || !*texts[k])
                WS_FAIL("%s: text %zu is missing", r->id, k);
        for (size_t k = 0; k < r->case_count; k++)
            fires += r->cases[k].fires;
        if (fires == 0 || fires == r->case_count)
            WS_FAIL("%s: needs a firing and a quiet case", r->id);
        /* Whoever a rule yields to must exist. */
        for (const char *y = r->yields_to; y && *y; y += strcspn(y, " "), y += strspn(y, " ")) {
            char id[4] = {0};
            memcpy(id, y, 3);
            if (!ws_rules_find(id))
                WS_FAIL("%s yields to %s, which does not exist", r->id, id);
        }
    }
}

TEST(rules_are_found_by_number_and_by_name)
{
    CHECK(ws_rules_find("W05") == ws_rules_find("w05-bank-conflicts"));
    CHECK(ws_rules_find("W05") && strcmp(ws_rules_find("W05")->id, "W05-bank-conflicts") == 0);
    CHECK(ws_rules_find("W05-bank") == NULL);
    CHECK(ws_rules_find("W0") == NULL);
    CHECK(ws_rules_find("W99") == NULL);
    CHECK(ws_rules_find("") == NULL);
    CHECK(ws_rules_find("W05-bank-conflictsX") == NULL);
}

TEST(a_rule_without_its_condition_names_the_counter_to_collect)
{
    const struct ws_rule_skip *s;
    facts_init(&box, NULL);
    facts_analyze(&box);
    s = skip_of(&box.report.findings, "W16");
    REQUIRE(s != NULL);
    CHECK_STR(s->missing.input, "sm_throughput");
    CHECK_INT(s->missing.why, WS_WHY_NOT_COLLECTED);
    s = skip_of(&box.report.findings, "W05");
    REQUIRE(s != NULL);
    CHECK_STR(s->missing.input, "shared_ld_requests");
    s = skip_of(&box.report.findings, "W06"); /* threads_per_instruction is derived: its input is what is missing */
    REQUIRE(s != NULL);
    CHECK_STR(s->missing.input, "thread_inst_executed");
    CHECK_INT(s->missing.why, WS_WHY_NOT_COLLECTED);
}

TEST(without_a_gain_input_a_rule_fires_and_says_what_is_missing)
{
    const struct ws_finding *f;
    facts_init(&box, NULL);
    facts_set(&box, WS_M_inst_executed, 1e6);
    facts_set(&box, WS_M_thread_inst_executed, 16e6);
    box.raw[WS_M_sm_throughput] = ws_missing(WS_WHY_NO_RIGHTS, NULL);
    facts_analyze(&box);
    f = finding_of(&box.report.findings, "W06");
    REQUIRE(f != NULL);
    CHECK_INT(f->gain.why, WS_WHY_NO_RIGHTS);
    CHECK_STR(f->gain.input, "sm_throughput");
    CHECK_INT(f->severity, WS_SEVERITY_MEDIUM);
}

TEST(dram_bound_yields_to_wasted_sectors_and_says_to_whom)
{
    const struct ws_rule *w13 = ws_rules_find("W13");
    const struct ws_rule_case *c = NULL;
    const struct ws_rule_skip *s;
    for (size_t k = 0; k < w13->case_count; k++)
        if (strstr(w13->cases[k].what, "wasted"))
            c = &w13->cases[k];
    REQUIRE(c != NULL);
    s = skip_of(run_case(w13, c), "W13");
    REQUIRE(s && s->yielded_to);
    CHECK_STR(s->yielded_to->id, "W01-uncoalesced-loads");
}

TEST(advice_about_source_code_is_not_given_for_a_library)
{
    const struct ws_rule *w17 = ws_rules_find("W17");
    CHECK(finding_of(run_case(w17, &w17->cases[0]), "W17") != NULL);
    box.facts.is_library = true;
    facts_analyze(&box);
    CHECK(finding_of(&box.report.findings, "W17") == NULL);
}

TEST(findings_come_with_the_largest_gain_first_and_facts_last)
{
    facts_init(&box, NULL);
    box.facts.launch = (struct ws_launch){.grid = {8, 1, 1}, .block = {257, 1, 1}, .regs_per_thread = 32};
    facts_set(&box, WS_M_dram_throughput, 0.9); /* W13: a fact */
    facts_set(&box, WS_M_inst_executed, 1e6);   /* W06: gain not known */
    facts_set(&box, WS_M_thread_inst_executed, 10e6);
    facts_analyze(&box);
    REQUIRE(box.report.findings.count == 4);
    CHECK_STR(box.report.findings.item[0].rule->id, "W09-small-grid");
    CHECK_INT(box.report.findings.item[0].severity, WS_SEVERITY_HIGH);
    CHECK_STR(box.report.findings.item[3].rule->id, "W13-dram-bound");
    CHECK_INT(box.report.findings.item[3].severity, WS_SEVERITY_INFO);
}

TEST(the_text_is_filled_from_the_evidence)
{
    const struct ws_rule *w09 = ws_rules_find("W09");
    const struct ws_finding *f = finding_of(run_case(w09, &w09->cases[0]), "W09");
    REQUIRE(f != NULL);
    CHECK_STR(f->text,
              "8 blocks leave 124 of 132 SMs idle. Split the work into more blocks or run kernels concurrently.");
    CHECK_STR(f->evidence[1].key, "idle_sms");
    CHECK_NEAR(f->evidence[1].number, 124, 0);
    w09 = ws_rules_find("W05");
    f = finding_of(run_case(w09, &w09->cases[0]), "W05");
    REQUIRE(f != NULL);
    CHECK(strstr(f->text, "take 16.5 rounds") != NULL);
}
