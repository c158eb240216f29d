/* SPDX-License-Identifier: MIT
 * rules.h: runs all advice rules. The table is generated from the files in rules/. */
#ifndef WS_ANALYZER_RULES_H
#define WS_ANALYZER_RULES_H

#include "rule.h"

/* All rules, by id; i < ws_rules_count(). */
size_t ws_rules_count(void);
const struct ws_rule *ws_rules_get(size_t i);
/* The rule called "W05", "W05-bank-conflicts" (case does not count), or NULL. */
const struct ws_rule *ws_rules_find(const char *name);

/* Run the rules of one scope. in->has_gain_inputs is ignored. *out is overwritten. */
void ws_rules_run(const struct ws_rule_input *in, enum ws_rule_scope scope, struct ws_findings *out);
/* The timeline rules over the facts of a session. */
void ws_rules_run_timeline(const struct ws_timeline_facts *facts, struct ws_findings *out);

/* "info", "low", "medium", "high". */
const char *ws_severity_name(enum ws_severity severity);

#endif
