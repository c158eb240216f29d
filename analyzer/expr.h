/* SPDX-License-Identifier: MIT
 * expr.h: the formulas of metrics.def: parse, evaluate, list inputs, check dimensions.
 * Pure, no allocation: a parsed formula lies in the caller's struct ws_expr. The same text is run and shown.
 *
 *   sum      a + b   a - b   a * b   a / b   -a   ( … )
 *   compare  ==  !=  <  <=  >  >=          1 or 0; they do not chain
 *   number   32   0.25   1e-3   32[B/sector]   with the symbol of a unit of units.def, else dimensionless
 *   key      dram_read_bytes
 *   min(a, b, …)   max(a, b, …)
 *   if(condition, a, b)      a where condition is not 0, else b; the other may be missing
 *   has(a)                   1 if a has a value, else 0
 *   first(a, b, …)           the first that has a value
 *   zero_if_no_counter(key)  the key, or 0 where the GPU has no such counter: what cannot be counted
 *                            because the hardware has no such instruction did not happen
 *
 * A missing input makes the result missing and named (WS_WHY_INPUT); a division by 0 is WS_WHY_ZERO
 * with the key that is 0. Grades follow the arithmetic (an upper bound in a denominator makes a lower bound).
 * To add a function: a row in functions[] and a case in apply() and in dimension_of(), all in expr.c. */
#ifndef WS_ANALYZER_EXPR_H
#define WS_ANALYZER_EXPR_H

#include "metrics.h"

/* The longest formula of metrics.def has 38 nodes; nesting is bounded so that hostile text cannot exhaust the stack. */
#define WS_EXPR_NODES 128
#define WS_EXPR_DEPTH 32

struct ws_expr_node {
    double number;          /* NUMBER */
    unsigned short key;     /* KEY: row of the catalogue */
    unsigned short offset;  /* of its text in the formula, for messages */
    unsigned char op;       /* enum in expr.c */
    unsigned char unit;     /* NUMBER: enum ws_unit */
    unsigned char child[3]; /* nodes before this one */
};

/* A formula in postfix order: children come before their parent, the root is the last node. */
struct ws_expr {
    struct ws_catalogue catalogue;
    unsigned count;    /* nodes used */
    unsigned error_at; /* offset in the text where parsing or the dimension check failed */
    struct ws_expr_node node[WS_EXPR_NODES];
};

/* Parse text[length] (not NUL-ended) against the keys of a catalogue.
 *   out      filled; valid while the catalogue is. On failure only error_at is meaningful
 *   errors   -WS_ESYNTAX  not a formula     -WS_ENOENT  unknown key, function or unit
 *            -WS_ELIMIT   more than WS_EXPR_NODES nodes, nested deeper than WS_EXPR_DEPTH, or 65,535 bytes and more */
int ws_expr_parse(struct ws_expr *out, const char *text, size_t length, struct ws_catalogue catalogue);

/* The formula's value over values[catalogue.count]. Never NaN. */
struct ws_value ws_expr_evaluate(const struct ws_expr *expr, const struct ws_value *values);

/* The distinct keys it reads, in order of appearance: writes at most max rows, returns how many there are. */
unsigned ws_expr_inputs(const struct ws_expr *expr, unsigned *rows, unsigned max);

/* The dimension of the result, from the units of the catalogue.
 *   errors   -WS_EDIMENSION  unlike things are added, compared or chosen between; expr->error_at says where */
int ws_expr_dimension(struct ws_expr *expr, struct ws_dimension *out);

#endif
