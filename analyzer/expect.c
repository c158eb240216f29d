/* SPDX-License-Identifier: MIT
 * expect.c: reader and judge of .expect files; the format is described in expect.h.
 * Pure; a hostile text costs at most one pass over it. Known answers themselves are in kernels/<name>.expect. */
#include "expect.h"

#include "err.h"
#include "number.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *text;
    enum ws_expect_op op;
} operators[] = {{"==", WS_EXPECT_EQUAL}, {"<=", WS_EXPECT_LESS_EQUAL}, {">=", WS_EXPECT_GREATER_EQUAL},
                 {"<", WS_EXPECT_LESS},   {">", WS_EXPECT_GREATER},     {"~", WS_EXPECT_NEAR}};
#define OPERATORS (sizeof operators / sizeof *operators)

/* The longest line has 8 words: twin RULE from BAD to GOOD work N. */
#define WORDS 8

const char *ws_expect_op_name(enum ws_expect_op op)
{
    for (size_t i = 0; i < OPERATORS; i++)
        if (operators[i].op == op)
            return operators[i].text;
    return "?";
}

const char *ws_verdict_name(enum ws_verdict verdict)
{
    static const char *const names[WS_VERDICT_COUNT] = {"holds", "broken", "unknown", "no launch", "needs a GPU"};
    return (unsigned)verdict < WS_VERDICT_COUNT ? names[verdict] : "unknown";
}

/* --- reader ------------------------------------------------------------------------------------- */

static bool is(struct ws_word word, const char *text)
{
    return strlen(text) == word.length && memcmp(word.at, text, word.length) == 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int complain(struct ws_expect_reader *reader, int code, const char *problem)
{
    reader->problem = problem;
    return code;
}

/* Cut a line into words; returns how many there are, at most WORDS are written. */
static unsigned split(const char *line, size_t length, struct ws_word words[WORDS])
{
    unsigned count = 0;
    size_t at = 0;
    while (at < length) {
        size_t from;
        while (at < length && (line[at] == ' ' || line[at] == '\t' || line[at] == '\r'))
            at++;
        from = at;
        while (at < length && line[at] != ' ' && line[at] != '\t' && line[at] != '\r')
            at++;
        if (at == from)
            break;
        if (count < WORDS)
            words[count] = (struct ws_word){line + from, at - from};
        count++;
    }
    return count;
}

/* A whole word that is a number, with or without a minus. */
static bool read_number(struct ws_word word, double *out)
{
    bool is_negative = word.length > 0 && word.at[0] == '-';
    size_t used = ws_number_read(word.at + is_negative, word.length - is_negative, out);
    if (used == 0 || used + is_negative != word.length)
        return false;
    *out = is_negative ? -*out : *out;
    return true;
}

/* "±0.3%" of number, or "±5". */
static bool read_tolerance(struct ws_word word, double number, double *out)
{
    static const char sign[] = "±";
    bool is_percent = word.length > 0 && word.at[word.length - 1] == '%';
    if (word.length < sizeof sign - 1 + is_percent || memcmp(word.at, sign, sizeof sign - 1) != 0)
        return false;
    word.at += sizeof sign - 1;
    word.length -= sizeof sign - 1 + is_percent;
    if (!read_number(word, out) || *out < 0)
        return false;
    *out = is_percent ? *out / 100 * fabs(number) : *out;
    return true;
}

static bool read_operator(struct ws_word word, enum ws_expect_op *out)
{
    for (size_t i = 0; i < OPERATORS; i++)
        if (is(word, operators[i].text)) {
            *out = operators[i].op;
            return true;
        }
    return false;
}

/* launch NAME KEY OP NUMBER CLASS [TOL] */
static int read_launch(struct ws_expect_reader *reader, const struct ws_word *words, unsigned count,
                       struct ws_expect *item)
{
    if (count != 6 && count != 7)
        return complain(reader, -WS_ESYNTAX, "a launch line is: launch NAME KEY OP NUMBER CLASS [TOL]");
    item->kind = WS_EXPECT_VALUE;
    item->name = words[1];
    item->key = ws_metric_find(words[2].at, words[2].length);
    if (item->key == WS_METRIC_COUNT)
        return complain(reader, -WS_ENOENT, "there is no metric of that key");
    if (!read_operator(words[3], &item->op))
        return complain(reader, -WS_ESYNTAX, "the operator must be one of == <= >= < > ~");
    if (!read_number(words[4], &item->number))
        return complain(reader, -WS_ESYNTAX, "the expected number is no number");
    if (words[5].length != 1 || !memchr("UCD", words[5].at[0], 3))
        return complain(reader, -WS_ESYNTAX, "the class must be U, C or D");
    item->class_letter = words[5].at[0];
    if ((count == 7) != (item->op == WS_EXPECT_NEAR))
        return complain(reader, -WS_ESYNTAX, "~ needs a tolerance, and no other operator takes one");
    if (count == 7 && !read_tolerance(words[6], item->number, &item->tolerance))
        return complain(reader, -WS_ESYNTAX, "a tolerance is written ±0.3% or ±5");
    return 1;
}

static bool is_rule(struct ws_word word)
{
    return word.length == 3 && word.at[0] == 'W' && is_digit(word.at[1]) && is_digit(word.at[2]);
}

/* fires|quiet RULE on NAME */
static int read_rule(struct ws_expect_reader *reader, const struct ws_word *words, unsigned count,
                     struct ws_expect *item)
{
    if (count != 4 || !is(words[2], "on"))
        return complain(reader, -WS_ESYNTAX, "a rule line is: fires W05 on NAME, or quiet W05 on NAME");
    if (!is_rule(words[1]))
        return complain(reader, -WS_ESYNTAX, "a rule is written W and two digits");
    item->kind = is(words[0], "fires") ? WS_EXPECT_FIRES : WS_EXPECT_QUIET;
    item->rule = words[1];
    item->name = words[3];
    return 1;
}

/* twin RULE from BAD to GOOD [work N] */
static int read_twin(struct ws_expect_reader *reader, const struct ws_word *words, unsigned count,
                     struct ws_expect *item)
{
    if ((count != 6 && count != 8) || !is(words[2], "from") || !is(words[4], "to") ||
        (count == 8 && !is(words[6], "work")))
        return complain(reader, -WS_ESYNTAX, "a twin line is: twin W05 from BAD to GOOD, or … GOOD work 4");
    if (!is_rule(words[1]))
        return complain(reader, -WS_ESYNTAX, "a rule is written W and two digits");
    item->kind = WS_EXPECT_TWIN;
    item->rule = words[1];
    item->name = words[3];
    item->good = words[5];
    item->work = 1;
    if (count == 8 && (!read_number(words[7], &item->work) || !(item->work > 0)))
        return complain(reader, -WS_ESYNTAX, "the work must be a number above 0");
    return 1;
}

static int read_id(struct ws_expect_reader *reader, const struct ws_word *words, unsigned count)
{
    if (reader->id.length > 0)
        return complain(reader, -WS_ESYNTAX, "the id stands twice");
    if (count != 2)
        return complain(reader, -WS_ESYNTAX, "an id line is: id K10");
    reader->id = words[1];
    return 0;
}

/* 1 = *item is filled, 0 = nothing expected on this line. */
static int read_line(struct ws_expect_reader *reader, const char *line, size_t length, struct ws_expect *item)
{
    struct ws_word words[WORDS];
    unsigned count = split(line, length, words);
    if (count == 0 || words[0].at[0] == '#')
        return 0;
    if (is(words[0], "id"))
        return read_id(reader, words, count);
    if (reader->id.length == 0)
        return complain(reader, -WS_ESYNTAX, "the id must come first");
    if (is(words[0], "launch"))
        return read_launch(reader, words, count, item);
    if (is(words[0], "fires") || is(words[0], "quiet"))
        return read_rule(reader, words, count, item);
    if (is(words[0], "twin"))
        return read_twin(reader, words, count, item);
    return complain(reader, -WS_ESYNTAX, "a line begins with id, launch, fires, quiet, twin or #");
}

void ws_expect_open(struct ws_expect_reader *reader, const char *text, size_t length)
{
    *reader = (struct ws_expect_reader){.text = text, .length = length};
}

int ws_expect_next(struct ws_expect_reader *reader, struct ws_expect *out)
{
    reader->problem = NULL;
    while (reader->at < reader->length) {
        struct ws_expect item = {.key = WS_METRIC_COUNT};
        const char *line = reader->text + reader->at;
        const char *end = memchr(line, '\n', reader->length - reader->at);
        size_t length = end ? (size_t)(end - line) : reader->length - reader->at;
        int code;
        reader->at += length + (end != NULL);
        item.line = ++reader->line;
        code = read_line(reader, line, length, &item);
        if (code == 1)
            *out = item;
        if (code != 0)
            return code;
    }
    if (reader->id.length == 0 && reader->text) {
        reader->text = NULL; /* say it once */
        return complain(reader, -WS_ESYNTAX, "there is no id line");
    }
    return 0;
}

/* --- judge -------------------------------------------------------------------------------------- */

static bool holds(const struct ws_expect *expect, double got)
{
    switch (expect->op) {
    case WS_EXPECT_EQUAL:
        return fabs(got - expect->number) <= 1e-12 * fabs(expect->number);
    case WS_EXPECT_LESS_EQUAL:
        return got <= expect->number;
    case WS_EXPECT_GREATER_EQUAL:
        return got >= expect->number;
    case WS_EXPECT_LESS:
        return got < expect->number;
    case WS_EXPECT_GREATER:
        return got > expect->number;
    case WS_EXPECT_NEAR:
        return fabs(got - expect->number) <= expect->tolerance;
    }
    return false;
}

static enum ws_verdict judge_rule(const struct ws_expect *expect, enum ws_expect_fired fired)
{
    switch (fired) {
    case WS_RULE_FIRED:
        return expect->kind == WS_EXPECT_FIRES ? WS_VERDICT_HOLDS : WS_VERDICT_BROKEN;
    case WS_RULE_QUIET:
        return expect->kind == WS_EXPECT_QUIET ? WS_VERDICT_HOLDS : WS_VERDICT_BROKEN;
    case WS_RULE_NO_LAUNCH:
        return WS_VERDICT_NO_LAUNCH;
    case WS_RULE_NEEDS_GPU:
        return WS_VERDICT_NEEDS_GPU;
    case WS_RULE_NOT_RUN:
        break;
    }
    return WS_VERDICT_UNKNOWN;
}

enum ws_verdict ws_expect_judge(const struct ws_expect *expect, const struct ws_expect_facts *facts,
                                struct ws_value *got)
{
    struct ws_value value = ws_missing(WS_WHY_NO_LAUNCH, NULL);
    bool is_launched;
    if (expect->kind != WS_EXPECT_VALUE) {
        if (got)
            *got = value;
        if (expect->kind == WS_EXPECT_TWIN)
            return WS_VERDICT_UNKNOWN;
        return judge_rule(expect, facts->fired(facts->user, expect->name, expect->rule));
    }
    is_launched = facts->value(facts->user, expect->name, expect->key, &value);
    if (got)
        *got = value;
    if (!is_launched)
        return WS_VERDICT_NO_LAUNCH;
    if (!ws_has(value))
        return value.why == WS_WHY_NEEDS_GPU ? WS_VERDICT_NEEDS_GPU : WS_VERDICT_UNKNOWN;
    return holds(expect, value.number) ? WS_VERDICT_HOLDS : WS_VERDICT_BROKEN;
}

/* --- names -------------------------------------------------------------------------------------- */

/* The function name with template arguments: without what stands before the last space outside of <>
 * and (), and without the parameters. "(anonymous namespace)::" is a qualifier like any other. */
static struct ws_word function_of(const char *kernel)
{
    static const char anonymous[] = "(anonymous namespace)";
    struct ws_word name = {kernel, 0};
    int depth = 0;
    const char *at = kernel;
    for (; *at; at++) {
        if (depth == 0 && strncmp(at, anonymous, sizeof anonymous - 1) == 0) {
            at += sizeof anonymous - 2;
            continue;
        }
        if (depth == 0 && *at == '(')
            break;
        if (depth == 0 && *at == ' ')
            name.at = at + 1;
        depth += *at == '<' || *at == '(';
        depth -= *at == '>' || *at == ')';
    }
    name.length = (size_t)(at - name.at);
    return name;
}

/* Skip what does not count: spaces, casts "(int)" and suffixes of integers "32u". */
static size_t skip_noise(struct ws_word kernel, size_t at)
{
    for (;;) {
        size_t from = at;
        while (at < kernel.length && kernel.at[at] == ' ')
            at++;
        if (at < kernel.length && kernel.at[at] == '(') {
            const char *end = memchr(kernel.at + at, ')', kernel.length - at);
            at = end ? (size_t)(end - kernel.at) + 1 : at;
        }
        if (at > 0 && is_digit(kernel.at[at - 1])) {
            size_t suffix = at + strspn(kernel.at + at, "uUlL");
            if (suffix < kernel.length && (kernel.at[suffix] == ',' || kernel.at[suffix] == '>'))
                at = suffix;
        }
        if (at == from)
            return at;
    }
}

static bool is_same(struct ws_word name, struct ws_word kernel)
{
    size_t at = skip_noise(kernel, 0);
    for (size_t i = 0; i < name.length; i++) {
        if (at >= kernel.length || kernel.at[at] != name.at[i])
            return false;
        at = skip_noise(kernel, at + 1);
    }
    return at == kernel.length;
}

bool ws_expect_name_is(struct ws_word name, const char *kernel)
{
    struct ws_word function = function_of(kernel);
    int depth = 0;
    if (name.length == 0)
        return false;
    if (is_same(name, function))
        return true;
    for (size_t i = 0; i + 2 < function.length; i++) {
        depth += (function.at[i] == '<') - (function.at[i] == '>');
        if (depth == 0 && function.at[i] == ':' && function.at[i + 1] == ':') {
            struct ws_word rest = {function.at + i + 2, function.length - i - 2};
            if (is_same(name, rest))
                return true;
        }
    }
    return false;
}
