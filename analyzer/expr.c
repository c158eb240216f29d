/* SPDX-License-Identifier: MIT
 * expr.c: recursive-descent parser into postfix nodes; evaluation and dimension check walk them once.
 * Pure. Only the parser recurses, bounded by WS_EXPR_DEPTH. The language is described in expr.h. */
#include "expr.h"

#include "err.h"
#include "number.h"

#include <string.h>

enum op {
    OP_NUMBER,
    OP_KEY,
    OP_ADD,
    OP_SUBTRACT,
    OP_MULTIPLY,
    OP_DIVIDE,
    OP_NEGATE,
    OP_EQUAL,
    OP_UNEQUAL,
    OP_LESS,
    OP_LESS_EQUAL,
    OP_GREATER,
    OP_GREATER_EQUAL,
    OP_MIN,
    OP_MAX,
    OP_IF,
    OP_HAS,
    OP_FIRST,
    OP_ZERO_IF_NO_COUNTER
};

/* min, max and first take any number of arguments and fold from the left. */
static const struct function {
    const char *name;
    enum op op;
    unsigned arguments;
    bool is_fold;
} functions[] = {
    {"min", OP_MIN, 2, true},  {"max", OP_MAX, 2, true},     {"if", OP_IF, 3, false},
    {"has", OP_HAS, 1, false}, {"first", OP_FIRST, 2, true}, {"zero_if_no_counter", OP_ZERO_IF_NO_COUNTER, 1, false},
};

/* --- parser ------------------------------------------------------------------------------------- */

struct parser {
    struct ws_expr *out;
    const char *text;
    size_t length;
    size_t at;
    unsigned depth;
};

static int parse_comparison(struct parser *p, unsigned *index);

static int fail(struct parser *p, size_t at, int code)
{
    p->out->error_at = (unsigned)at;
    return code;
}

static void skip_space(struct parser *p)
{
    while (p->at < p->length && (p->text[p->at] == ' ' || p->text[p->at] == '\t' || p->text[p->at] == '\n'))
        p->at++;
}

/* Take the token if it comes next. */
static bool take(struct parser *p, const char *token)
{
    size_t length = strlen(token);
    skip_space(p);
    if (p->length - p->at < length || memcmp(p->text + p->at, token, length) != 0)
        return false;
    p->at += length;
    return true;
}

static int add_node(struct parser *p, struct ws_expr_node node, unsigned *index)
{
    if (p->out->count >= WS_EXPR_NODES)
        return fail(p, node.offset, -WS_ELIMIT);
    *index = p->out->count++;
    p->out->node[*index] = node;
    return 0;
}

static int add_op(struct parser *p, enum op op, size_t offset, const unsigned child[3], unsigned *index)
{
    struct ws_expr_node node = {.op = (unsigned char)op, .offset = (unsigned short)offset};
    for (int i = 0; i < 3; i++)
        node.child[i] = (unsigned char)child[i];
    return add_node(p, node, index);
}

static int add_binary(struct parser *p, enum op op, size_t offset, unsigned left, unsigned right, unsigned *index)
{
    const unsigned child[3] = {left, right, 0};
    return add_op(p, op, offset, child, index);
}

/* 32 or 32[B/sector] */
static int parse_number(struct parser *p, unsigned *index)
{
    struct ws_expr_node node = {.op = OP_NUMBER, .offset = (unsigned short)p->at, .unit = WS_UNIT_NUMBER};
    size_t used = ws_number_read(p->text + p->at, p->length - p->at, &node.number);
    if (used == 0)
        return fail(p, p->at, -WS_ESYNTAX);
    p->at += used;
    if (p->at < p->length && p->text[p->at] == '[') {
        size_t from = p->at + 1;
        const char *end = memchr(p->text + from, ']', p->length - from);
        enum ws_unit unit;
        if (!end)
            return fail(p, p->at, -WS_ESYNTAX);
        unit = ws_unit_find(p->text + from, (size_t)(end - (p->text + from)));
        if (unit == WS_UNIT_COUNT)
            return fail(p, from, -WS_ENOENT);
        node.unit = (unsigned char)unit;
        p->at = (size_t)(end - p->text) + 1;
    }
    return add_node(p, node, index);
}

static bool is_word(char c, bool is_first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (!is_first && c >= '0' && c <= '9');
}

static const struct function *find_function(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strlen(functions[i].name) == length && memcmp(functions[i].name, name, length) == 0)
            return &functions[i];
    return NULL;
}

/* The arguments and the closing parenthesis of a call whose opening one was taken. */
static int parse_call(struct parser *p, const struct function *function, size_t offset, unsigned *index)
{
    unsigned child[3] = {0, 0, 0};
    unsigned count = 0;
    do {
        int err;
        if (count >= function->arguments) {
            if (!function->is_fold)
                return fail(p, p->at, -WS_ESYNTAX);
            err = add_op(p, function->op, offset, child, &child[0]);
            if (err)
                return err;
            count = 1;
        }
        err = parse_comparison(p, &child[count]);
        if (err)
            return err;
        count++;
    } while (take(p, ","));
    if (count != function->arguments || !take(p, ")"))
        return fail(p, p->at, -WS_ESYNTAX);
    if (function->op == OP_ZERO_IF_NO_COUNTER && p->out->node[child[0]].op != OP_KEY)
        return fail(p, offset, -WS_ESYNTAX);
    return add_op(p, function->op, offset, child, index);
}

/* A key or a call. */
static int parse_word(struct parser *p, unsigned *index)
{
    struct ws_expr_node node = {.op = OP_KEY, .offset = (unsigned short)p->at};
    size_t from = p->at, end;
    unsigned row;
    while (p->at < p->length && is_word(p->text[p->at], p->at == from))
        p->at++;
    end = p->at;
    if (take(p, "(")) {
        const struct function *function = find_function(p->text + from, end - from);
        return function ? parse_call(p, function, from, index) : fail(p, from, -WS_ENOENT);
    }
    row = ws_catalogue_find(p->out->catalogue, p->text + from, end - from);
    if (row >= p->out->catalogue.count)
        return fail(p, from, -WS_ENOENT);
    node.key = (unsigned short)row;
    return add_node(p, node, index);
}

static int parse_primary(struct parser *p, unsigned *index);

static int parse_nested(struct parser *p, unsigned *index)
{
    size_t offset = p->at;
    int err;
    if (take(p, "-")) {
        unsigned child[3] = {0, 0, 0};
        err = parse_primary(p, &child[0]);
        return err ? err : add_op(p, OP_NEGATE, offset, child, index);
    }
    if (take(p, "(")) {
        err = parse_comparison(p, index);
        if (err)
            return err;
        return take(p, ")") ? 0 : fail(p, p->at, -WS_ESYNTAX);
    }
    if (p->at < p->length && is_word(p->text[p->at], true))
        return parse_word(p, index);
    return parse_number(p, index);
}

/* Every way in which the grammar nests passes here, so this is where the depth is bounded. */
static int parse_primary(struct parser *p, unsigned *index)
{
    int err;
    if (p->depth >= WS_EXPR_DEPTH)
        return fail(p, p->at, -WS_ELIMIT);
    p->depth++;
    skip_space(p);
    err = parse_nested(p, index);
    p->depth--;
    return err;
}

static int parse_product(struct parser *p, unsigned *index)
{
    int err = parse_primary(p, index);
    while (!err) {
        size_t offset;
        unsigned right;
        enum op op;
        skip_space(p);
        offset = p->at;
        if (take(p, "*"))
            op = OP_MULTIPLY;
        else if (take(p, "/"))
            op = OP_DIVIDE;
        else
            return 0;
        err = parse_primary(p, &right);
        if (!err)
            err = add_binary(p, op, offset, *index, right, index);
    }
    return err;
}

static int parse_sum(struct parser *p, unsigned *index)
{
    int err = parse_product(p, index);
    while (!err) {
        size_t offset;
        unsigned right;
        enum op op;
        skip_space(p);
        offset = p->at;
        if (take(p, "+"))
            op = OP_ADD;
        else if (take(p, "-"))
            op = OP_SUBTRACT;
        else
            return 0;
        err = parse_product(p, &right);
        if (!err)
            err = add_binary(p, op, offset, *index, right, index);
    }
    return err;
}

/* The longer operators stand before those that begin like them. */
static bool take_comparison(struct parser *p, enum op *op)
{
    static const struct {
        const char *token;
        enum op op;
    } comparisons[] = {{"==", OP_EQUAL},         {"!=", OP_UNEQUAL}, {"<=", OP_LESS_EQUAL},
                       {">=", OP_GREATER_EQUAL}, {"<", OP_LESS},     {">", OP_GREATER}};
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
        if (take(p, comparisons[i].token)) {
            *op = comparisons[i].op;
            return true;
        }
    return false;
}

static int parse_comparison(struct parser *p, unsigned *index)
{
    int err;
    size_t offset;
    unsigned right;
    enum op op;
    err = parse_sum(p, index);
    offset = p->at;
    if (err || !take_comparison(p, &op))
        return err;
    err = parse_sum(p, &right);
    return err ? err : add_binary(p, op, offset, *index, right, index);
}

int ws_expr_parse(struct ws_expr *out, const char *text, size_t length, struct ws_catalogue catalogue)
{
    struct parser p = {out, text, length, 0, 0};
    unsigned root;
    int err;
    out->catalogue = catalogue;
    out->count = 0;
    out->error_at = 0;
    if (length >= 65535) /* offsets are 16 bits */
        return -WS_ELIMIT;
    err = parse_comparison(&p, &root);
    if (err)
        return err;
    skip_space(&p);
    return p.at == p.length ? 0 : fail(&p, p.at, -WS_ESYNTAX);
}

/* --- evaluation --------------------------------------------------------------------------------- */

static enum ws_grade flip(enum ws_grade grade)
{
    return grade == WS_GRADE_UPPER_BOUND   ? WS_GRADE_LOWER_BOUND
           : grade == WS_GRADE_LOWER_BOUND ? WS_GRADE_UPPER_BOUND
                                           : grade;
}

/* Of a result that grows with both inputs. Bounds that pull both ways leave an estimate. */
static enum ws_grade combine(enum ws_grade a, enum ws_grade b)
{
    if (a == WS_GRADE_EXACT || a == b)
        return b;
    return b == WS_GRADE_EXACT ? a : WS_GRADE_ESTIMATE;
}

/* The label that says most about where the number comes from. */
static unsigned char combine_origin(unsigned char a, unsigned char b)
{
    return a > b ? a : b;
}

static struct ws_value result(double number, enum ws_grade grade, const struct ws_value *a, const struct ws_value *b)
{
    struct ws_value value = ws_value_of(number);
    value.grade = (unsigned char)grade;
    value.origin = combine_origin(a->origin, b->origin);
    return value;
}

/* What an input looks like to a formula: a missing one becomes "needs KEY", and keeps the key at the
 * root of a chain of formulas, which is the one a person can do something about. What no model predicts stays
 * "needs a GPU" however far down the chain it is. */
static struct ws_value read_key(const struct ws_expr *expr, const struct ws_value *values, unsigned row)
{
    struct ws_value value = values[row];
    if (ws_has(value))
        return value;
    if ((value.why == WS_WHY_INPUT || value.why == WS_WHY_NEEDS_GPU) && value.input)
        return value;
    if (value.why == WS_WHY_NEEDS_GPU)
        return ws_missing(WS_WHY_NEEDS_GPU, expr->catalogue.row[row].key);
    return ws_missing(WS_WHY_INPUT, expr->catalogue.row[row].key);
}

/* Missing because the chip has no such counter (or no chip has), itself or at the root of it. */
static bool is_off_chip(const struct ws_expr *expr, const struct ws_value *values, const struct ws_value *value)
{
    unsigned row;
    const char *cupti;
    if (value->why == WS_WHY_NOT_ON_CHIP)
        return true;
    if (value->why != WS_WHY_INPUT || !value->input)
        return false;
    row = ws_catalogue_find(expr->catalogue, value->input, strlen(value->input));
    if (row >= expr->catalogue.count)
        return false;
    cupti = expr->catalogue.row[row].cupti;
    return values[row].why == WS_WHY_NOT_ON_CHIP || (cupti && !*cupti);
}

static unsigned child_count(enum op op)
{
    switch (op) {
    case OP_NUMBER:
    case OP_KEY:
        return 0;
    case OP_NEGATE:
    case OP_HAS:
    case OP_ZERO_IF_NO_COUNTER:
        return 1;
    case OP_IF:
        return 3;
    default:
        return 2;
    }
}

/* Whom to blame for a denominator of 0: the first key under the node that is 0, else the first key there. */
static const char *zero_key(const struct ws_expr *expr, const struct ws_value *values, unsigned root)
{
    bool is_under[WS_EXPR_NODES] = {false};
    const char *first = NULL, *zero = NULL;
    is_under[root] = true;
    for (unsigned i = root + 1; i-- > 0;) {
        const struct ws_expr_node *node = &expr->node[i];
        if (!is_under[i])
            continue;
        for (unsigned c = 0; c < child_count((enum op)node->op); c++)
            is_under[node->child[c]] = true;
        if (node->op != OP_KEY)
            continue;
        first = expr->catalogue.row[node->key].key;
        if (ws_has(values[node->key]) && values[node->key].number == 0)
            zero = first;
    }
    return zero ? zero : first;
}

static bool compare(enum op op, double a, double b)
{
    switch (op) {
    case OP_EQUAL:
        return a == b;
    case OP_UNEQUAL:
        return a != b;
    case OP_LESS:
        return a < b;
    case OP_LESS_EQUAL:
        return a <= b;
    case OP_GREATER:
        return a > b;
    default:
        return a >= b;
    }
}

/* Both inputs are there, and a divisor is not 0. */
static struct ws_value arithmetic(enum op op, const struct ws_value *a, const struct ws_value *b)
{
    enum ws_grade ga = (enum ws_grade)a->grade, gb = (enum ws_grade)b->grade;
    double x = a->number, y = b->number;
    switch (op) {
    case OP_ADD:
        return result(x + y, combine(ga, gb), a, b);
    case OP_SUBTRACT:
        return result(x - y, combine(ga, flip(gb)), a, b);
    case OP_MULTIPLY:
        return result(x * y, combine(y < 0 ? flip(ga) : ga, x < 0 ? flip(gb) : gb), a, b);
    case OP_DIVIDE:
        return result(x / y, combine(y < 0 ? flip(ga) : ga, x < 0 ? gb : flip(gb)), a, b);
    case OP_MIN:
        return result(x < y ? x : y, combine(ga, gb), a, b);
    case OP_MAX:
        return result(x > y ? x : y, combine(ga, gb), a, b);
    default: /* a comparison with a bound is a guess */
        return result(compare(op, x, y), combine(ga, gb) == WS_GRADE_EXACT ? WS_GRADE_EXACT : WS_GRADE_ESTIMATE, a, b);
    }
}

static struct ws_value choose(const struct ws_value *condition, const struct ws_value *yes, const struct ws_value *no)
{
    struct ws_value chosen;
    if (!ws_has(*condition))
        return *condition;
    chosen = condition->number != 0 ? *yes : *no;
    if (ws_has(chosen) && condition->grade != WS_GRADE_EXACT)
        chosen.grade = WS_GRADE_ESTIMATE;
    return chosen;
}

static struct ws_value apply(const struct ws_expr *expr, const struct ws_value *values, unsigned index,
                             const struct ws_value *done)
{
    const struct ws_expr_node *node = &expr->node[index];
    const struct ws_value *a = &done[node->child[0]], *b = &done[node->child[1]];
    switch ((enum op)node->op) {
    case OP_NUMBER:
        return ws_value_of(node->number);
    case OP_KEY:
        return read_key(expr, values, node->key);
    case OP_NEGATE:
        return ws_has(*a) ? result(-a->number, flip((enum ws_grade)a->grade), a, a) : *a;
    case OP_IF:
        return choose(a, b, &done[node->child[2]]);
    case OP_HAS:
        return ws_value_of(ws_has(*a));
    case OP_FIRST:
        if (ws_has(*a) || ws_has(*b))
            return ws_has(*a) ? *a : *b;
        /* neither: name the one that this chip could have counted */
        return is_off_chip(expr, values, a) ? *b : *a;
    case OP_ZERO_IF_NO_COUNTER:
        return !ws_has(*a) && is_off_chip(expr, values, a) ? ws_value_of(0) : *a;
    default:
        if (!ws_has(*a) || !ws_has(*b))
            return ws_has(*a) ? *b : *a;
        if (node->op == OP_DIVIDE && b->number == 0)
            return ws_missing(WS_WHY_ZERO, zero_key(expr, values, node->child[1]));
        return arithmetic((enum op)node->op, a, b);
    }
}

struct ws_value ws_expr_evaluate(const struct ws_expr *expr, const struct ws_value *values)
{
    struct ws_value done[WS_EXPR_NODES];
    if (expr->count == 0 || expr->count > WS_EXPR_NODES)
        return ws_missing(WS_WHY_NOT_VALID, NULL);
    for (unsigned i = 0; i < expr->count; i++)
        done[i] = apply(expr, values, i, done);
    return done[expr->count - 1];
}

unsigned ws_expr_inputs(const struct ws_expr *expr, unsigned *rows, unsigned max)
{
    unsigned count = 0;
    for (unsigned i = 0; i < expr->count; i++) {
        bool is_new = expr->node[i].op == OP_KEY;
        for (unsigned j = 0; j < i && is_new; j++)
            is_new = expr->node[j].op != OP_KEY || expr->node[j].key != expr->node[i].key;
        if (!is_new)
            continue;
        if (count < max)
            rows[count] = expr->node[i].key;
        count++;
    }
    return count;
}

/* --- dimensions --------------------------------------------------------------------------------- */

/* The dimension of one node from those of its children; -WS_EDIMENSION when they do not go together. */
static int dimension_of(const struct ws_expr *expr, const struct ws_expr_node *node, const struct ws_dimension *done,
                        struct ws_dimension *out)
{
    static const struct ws_dimension pure = {{0}};
    const struct ws_dimension a = done[node->child[0]], b = done[node->child[1]], c = done[node->child[2]];
    switch ((enum op)node->op) {
    case OP_NUMBER:
        *out = ws_unit_get((enum ws_unit)node->unit)->dimension;
        return 0;
    case OP_KEY:
        *out = ws_unit_get(expr->catalogue.row[node->key].unit)->dimension;
        return 0;
    case OP_MULTIPLY:
        *out = ws_dimension_combine(a, b, 1);
        return 0;
    case OP_DIVIDE:
        *out = ws_dimension_combine(a, b, -1);
        return 0;
    case OP_NEGATE:
    case OP_ZERO_IF_NO_COUNTER:
        *out = a;
        return 0;
    case OP_HAS:
        *out = pure;
        return 0;
    case OP_IF:
        *out = b;
        return ws_dimension_equal(b, c) ? 0 : -WS_EDIMENSION;
    case OP_ADD:
    case OP_SUBTRACT:
    case OP_MIN:
    case OP_MAX:
    case OP_FIRST:
        *out = a;
        return ws_dimension_equal(a, b) ? 0 : -WS_EDIMENSION;
    default: /* comparisons */
        *out = pure;
        return ws_dimension_equal(a, b) ? 0 : -WS_EDIMENSION;
    }
}

int ws_expr_dimension(struct ws_expr *expr, struct ws_dimension *out)
{
    struct ws_dimension done[WS_EXPR_NODES] = {{{0}}};
    if (expr->count == 0 || expr->count > WS_EXPR_NODES)
        return -WS_EINVAL;
    for (unsigned i = 0; i < expr->count; i++) {
        int err = dimension_of(expr, &expr->node[i], done, &done[i]);
        if (err) {
            expr->error_at = expr->node[i].offset;
            return err;
        }
    }
    *out = done[expr->count - 1];
    return 0;
}
