/* SPDX-License-Identifier: MIT
 * derive.c: depth-first over the formulas, so that inputs are filled before what needs them.
 * Pure: the state of each formula is kept in the value itself, no further storage is needed.
 * Go on to expr.c for arithmetic, metrics.def for the formulas. */
#include "derive.h"

#include "err.h"
#include "expr.h"

#include <string.h>

/* States of an EXPR slot before it has its value, in ws_value.why; no real reason has these numbers. */
enum { TO_DO = 254, UNDER_WAY = 255 };
_Static_assert((int)WS_WHY_COUNT < (int)TO_DO, "the states must not be reasons");

struct derive {
    struct ws_catalogue catalogue;
    struct ws_value *values;
    const struct ws_value *given; /* or NULL */
    unsigned bad;
    int err; /* first one */
};

static void fill(struct derive *d, unsigned row, unsigned depth);

static void give_up(struct derive *d, unsigned row, int err)
{
    if (!d->err) {
        d->err = err;
        d->bad = row;
    }
    d->values[row] = ws_missing(WS_WHY_FAILED, NULL);
}

/* Parse a formula of this row and fill what it needs. */
static int prepare(struct derive *d, const char *formula, struct ws_expr *expr, unsigned depth)
{
    unsigned rows[WS_EXPR_NODES];
    unsigned count;
    int err = ws_expr_parse(expr, formula, strlen(formula), d->catalogue);
    if (err)
        return err;
    count = ws_expr_inputs(expr, rows, WS_EXPR_NODES);
    for (unsigned i = 0; i < count; i++) {
        if (d->catalogue.row[rows[i]].kind != WS_KIND_EXPR)
            continue;
        if (d->values[rows[i]].why == UNDER_WAY)
            return -WS_ECYCLE;
        if (d->values[rows[i]].why != TO_DO)
            continue;
        if (depth >= WS_DERIVE_DEPTH)
            return -WS_ELIMIT;
        fill(d, rows[i], depth + 1);
    }
    return 0;
}

static int evaluate(struct derive *d, const char *formula, unsigned depth, struct ws_value *out)
{
    struct ws_expr expr;
    int err = prepare(d, formula, &expr, depth);
    if (!err)
        *out = ws_expr_evaluate(&expr, d->values);
    return err;
}

static void fill(struct derive *d, unsigned row, unsigned depth)
{
    const struct ws_metric *metric = &d->catalogue.row[row];
    struct ws_value value, bound = ws_value_of(0);
    int err;
    d->values[row].why = UNDER_WAY;
    err = evaluate(d, metric->formula, depth, &value);
    if (!err && metric->bound_when)
        err = evaluate(d, metric->bound_when, depth, &bound);
    if (err) {
        give_up(d, row, err);
        return;
    }
    /* A file may hold the ratio and not the counters. What follows from counters is better: it is not rounded. */
    if (!ws_has(value) && d->given && ws_has(d->given[row]))
        value = d->given[row];
    else if (ws_has(value) && (!ws_has(bound) || bound.number != 0))
        value.grade = value.grade == WS_GRADE_EXACT || value.grade == WS_GRADE_UPPER_BOUND ? WS_GRADE_UPPER_BOUND
                                                                                           : WS_GRADE_ESTIMATE;
    d->values[row] = value;
}

static int derive(struct ws_catalogue catalogue, struct ws_value *values, const struct ws_value *given, unsigned *bad)
{
    struct derive d = {catalogue, values, given, 0, 0};
    for (unsigned i = 0; i < catalogue.count; i++)
        if (catalogue.row[i].kind == WS_KIND_EXPR)
            values[i] = (struct ws_value){.why = TO_DO};
    for (unsigned i = 0; i < catalogue.count; i++)
        if (catalogue.row[i].kind == WS_KIND_EXPR && values[i].why == TO_DO)
            fill(&d, i, 0);
    if (d.err && bad)
        *bad = d.bad;
    return d.err;
}

int ws_derive_catalogue(struct ws_catalogue catalogue, struct ws_value *values, unsigned *bad)
{
    return derive(catalogue, values, NULL, bad);
}

int ws_derive(struct ws_value *values)
{
    return derive(ws_catalogue_get(), values, NULL, NULL);
}

int ws_derive_given(struct ws_value *values, const struct ws_value *given)
{
    return derive(ws_catalogue_get(), values, given, NULL);
}
