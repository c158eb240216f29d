/* SPDX-License-Identifier: MIT
 * derive.h: fill every EXPR metric from the raw ones, each after those it needs.
 * Pure. What a formula means is in expr.h; the formulas are in metrics.def. */
#ifndef WS_ANALYZER_DERIVE_H
#define WS_ANALYZER_DERIVE_H

#include "metrics.h"

/* How deep formulas may build on formulas; 3 levels are used. */
#define WS_DERIVE_DEPTH 16

/* Fill the EXPR slots of values[WS_METRIC_COUNT]; RAW and MODEL slots must be set and stay as they are.
 * A value whose bound_when holds (or cannot be judged) is marked as an upper bound.
 * errors  0; anything else means that metrics.def is broken (a test forbids it): see below */
int ws_derive(struct ws_value *values);

/* The same where the source of the facts holds some of the EXPR values themselves and not what they are made of.
 *   given   [WS_METRIC_COUNT]; its EXPR slots stand in for formulas that have no value, other slots are not looked at
 */
int ws_derive_given(struct ws_value *values, const struct ws_value *given);

/* The same over any catalogue: values[catalogue.count].
 *   bad     row number of the first broken formula, untouched when there is none; may be NULL
 *   errors  of ws_expr_parse(); -WS_ECYCLE  a formula needs itself; -WS_ELIMIT  deeper than WS_DERIVE_DEPTH.
 *           Broken formulas have no value, and so has what builds on them; the rest is filled. */
int ws_derive_catalogue(struct ws_catalogue catalogue, struct ws_value *values, unsigned *bad);

#endif
