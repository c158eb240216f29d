/* SPDX-License-Identifier: MIT
 * rule.h: what an advice rule is, and what it finds. One rule is one file in rules/; rules.h runs them.
 * A rule sees numbers only (struct ws_facts carries no name) and never prints: its advice is a
 * template whose {keys} are filled from its evidence.
 * To add a rule: a new analyzer/rules/<name>.c; copy the shape of a neighbour. */
#ifndef WS_ANALYZER_RULE_H
#define WS_ANALYZER_RULE_H

#include "facts.h"
#include "gpus.h"
#include "metrics.h"
#include "occupancy.h"
#include "roofline.h"
#include "timeline.h"
#include "value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* INFO states a fact and claims no gain. The others follow from the gain (rules.c). */
enum ws_severity { WS_SEVERITY_INFO, WS_SEVERITY_LOW, WS_SEVERITY_MEDIUM, WS_SEVERITY_HIGH, WS_SEVERITY_COUNT };

enum ws_rule_scope { WS_RULE_KERNEL, WS_RULE_TIMELINE };

struct ws_rule;

struct ws_evidence {
    const char *key; /* a metric key, a timeline key, or the rule's own word for a number; static storage */
    double number;   /* finite */
};

enum { WS_EVIDENCE_MAX = 8, WS_FINDING_TEXT = 480, WS_FINDINGS_MAX = 32, WS_CASE_FACTS = 40 };

struct ws_finding {
    const struct ws_rule *rule;
    enum ws_severity severity;
    struct ws_value gain; /* share of the time that the repair may save, 0…1; or why it is not known */
    const char *advice;   /* template used; rule->advice unless the check chose another */
    char text[WS_FINDING_TEXT];
    struct ws_evidence evidence[WS_EVIDENCE_MAX];
    size_t evidence_count; /* at least 1 */
};

/* A rule that could not run, or that another one made silent. */
struct ws_rule_skip {
    const struct ws_rule *rule;
    struct ws_value missing;          /* .input names the key, .why says why; PRESENT if yielded */
    const struct ws_rule *yielded_to; /* the finding that says the same better, or NULL */
};

struct ws_findings {
    struct ws_finding item[WS_FINDINGS_MAX]; /* largest gain first, then those without, then INFO */
    size_t count;
    struct ws_rule_skip skipped[WS_FINDINGS_MAX];
    size_t skipped_count;
};

/* What a check may look at. */
struct ws_rule_input {
    const struct ws_facts *facts;         /* kernel rules */
    const struct ws_value *metric;        /* [WS_METRIC_COUNT], raw and derived */
    const struct ws_occupancy *occupancy; /* theoretical may be missing */
    const struct ws_roofline *roofline;
    const struct ws_limits *limits;           /* NULL on an unknown compute capability */
    const struct ws_timeline_facts *timeline; /* timeline rules */
    bool has_gain_inputs; /* all of rule->gain_needs are there: set finding->gain; else it is set already */
};

/* Keys a rule needs. Ids of enum ws_metric_id (scope KERNEL) or enum ws_timeline_id (TIMELINE). */
struct ws_rule_needs {
    uint16_t id[WS_EVIDENCE_MAX];
    uint16_t count;
};

/* One case of a rule: facts in, fires or quiet. Static tables, run by tests/unit/test_rules.c. */
struct ws_rule_fact {
    uint16_t id_plus_1; /* 0 ends the list */
    double number;
};
#define WS_FACT(key, number)   \
    {                          \
        WS_M_##key + 1, number \
    }
#define WS_TIME_FACT(key, number) \
    {                             \
        WS_T_##key + 1, number    \
    }
struct ws_rule_case {
    const char *what;
    bool fires;
    double gain, tolerance;                   /* checked if it fires and tolerance > 0 */
    const char *driver_name;                  /* NULL: "NVIDIA H200", cc 9.0, 132 SMs */
    struct ws_launch launch;                  /* grid.x = 0: 1056 blocks of 256 threads, 32 registers */
    struct ws_rule_fact facts[WS_CASE_FACTS]; /* raw counters or timeline facts */
};

struct ws_rule {
    const char *id;    /* "W05-bank-conflicts" */
    const char *title; /* "Shared-memory bank conflicts" */
    enum ws_rule_scope scope;
    bool is_info;           /* severity INFO whatever the gain */
    bool skips_library;     /* advice about source code that the user does not have */
    const char *condition;  /* the test in words, with its thresholds */
    const char *why;        /* what is behind it, for `warpsight explain` */
    const char *advice;     /* template: {key} number, {key:%} percent, {key:i} whole, {key:b} bytes, {key:t} time */
    const char *formula;    /* of the gain */
    const char *when_not;   /* when the advice does not apply */
    const char *source;     /* of the threshold */
    const char *bad, *good; /* reference kernels that fire it and keep it quiet */
    const char *yields_to;  /* ids, space-separated ("W01 W02"): silent where one of them gains 10 % or more */
    struct ws_rule_needs needs;      /* without one of these the rule does not run */
    struct ws_rule_needs gain_needs; /* without one of these it fires with the gain missing */
    /* True if the rule fires; then finding has evidence, and gain if has_gain_inputs. */
    bool (*check)(const struct ws_rule_input *in, struct ws_finding *finding);
    const struct ws_rule_case *cases;
    size_t case_count;
};

/* For checks. Number of a metric or timeline fact that is in needs (or known to be present). */
static inline double ws_rule_metric(const struct ws_rule_input *in, enum ws_metric_id id)
{
    return in->metric[id].number;
}
static inline double ws_rule_time(const struct ws_rule_input *in, enum ws_timeline_id id)
{
    return in->timeline->value[id].number;
}
/* Add one piece of evidence; key has static storage. A number that is not finite is left out. */
void ws_rule_evidence(struct ws_finding *finding, const char *key, double number);
/* Blocks of the grid, threads of a block; saturating. */
uint64_t ws_rule_blocks(const struct ws_launch *launch);
uint32_t ws_rule_threads(const struct ws_launch *launch);

#endif
