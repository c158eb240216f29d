/* SPDX-License-Identifier: MIT
 * fuzz_text.c: the two readers of texts that people write: formulas and .expect files (libFuzzer; `make fuzz`). The
 * first byte says which. What must hold of every result is checked. */
#include "../../analyzer/err.h"
#include "../../analyzer/expect.h"
#include "../../analyzer/expr.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(claim)                                    \
    do {                                               \
        if (!(claim)) {                                \
            fprintf(stderr, "not true: %s\n", #claim); \
            abort();                                   \
        }                                              \
    } while (0)

/* Values of all kinds, by place and by the text's length: zeros, reasons, large and small. */
static void fill(struct ws_value *values, size_t seed)
{
    for (unsigned i = 0; i < WS_METRIC_COUNT; i++) {
        switch ((i + seed) % 5) {
        case 0:
            values[i] = ws_missing((enum ws_why)(1 + i % (WS_WHY_COUNT - 1)), NULL);
            break;
        case 1:
            values[i] = ws_value_of(0);
            break;
        case 2:
            values[i] = ws_value_of(1e300);
            break;
        default:
            values[i] = ws_value_of((double)i - 40);
        }
    }
}

static void formula(const char *text, size_t length)
{
    static struct ws_value values[WS_METRIC_COUNT];
    struct ws_expr expr;
    struct ws_dimension dimension;
    struct ws_value v;
    unsigned rows[WS_EXPR_NODES];
    int err = ws_expr_parse(&expr, text, length, ws_catalogue_get());
    if (err != 0) {
        MUST(err == -WS_ESYNTAX || err == -WS_ENOENT || err == -WS_ELIMIT);
        MUST(expr.error_at <= length);
        return;
    }
    MUST(expr.count > 0 && expr.count <= WS_EXPR_NODES);
    MUST(ws_expr_inputs(&expr, rows, WS_EXPR_NODES) <= expr.count);
    err = ws_expr_dimension(&expr, &dimension);
    MUST(err == 0 || err == -WS_EDIMENSION);
    fill(values, length);
    v = ws_expr_evaluate(&expr, values);
    MUST(v.why < WS_WHY_COUNT);
    MUST(!ws_has(v) || isfinite(v.number));
}

static bool value_of(void *user, struct ws_word name, enum ws_metric_id key, struct ws_value *out)
{
    (void)user;
    *out = key % 2 ? ws_value_of((double)name.length) : ws_missing(WS_WHY_NOT_COLLECTED, NULL);
    return name.length % 3 != 0;
}

static enum ws_expect_fired fired(void *user, struct ws_word name, struct ws_word rule)
{
    (void)user;
    return (enum ws_expect_fired)((name.length + rule.length) % 5);
}

static void expectations(const char *text, size_t length)
{
    static const struct ws_expect_facts facts = {value_of, fired, NULL};
    struct ws_expect_reader reader;
    struct ws_expect expect;
    struct ws_value got;
    size_t lines = 1;
    size_t rounds = 0;
    int more;
    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    ws_expect_open(&reader, text, length);
    while ((more = ws_expect_next(&reader, &expect)) != 0) {
        MUST(++rounds <= lines + 1 && reader.line <= lines + 1); /* one for a text that lacks its id */
        MUST(more == 1 || (reader.problem && *reader.problem));
        if (more == 1)
            MUST(ws_expect_judge(&expect, &facts, &got) < WS_VERDICT_COUNT);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text;
    if (size < 1)
        return 0;
    /* Neither text ends in a NUL: a copy of exactly its length shows a read behind it. */
    text = malloc(size - 1 ? size - 1 : 1);
    MUST(text);
    memcpy(text, data + 1, size - 1);
    if (data[0] % 2)
        formula(text, size - 1);
    else
        expectations(text, size - 1);
    free(text);
    return 0;
}
