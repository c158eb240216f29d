/* SPDX-License-Identifier: MIT
 * expect.h: read a reference kernel's .expect text and judge measured (or modelled) values by it.
 * Pure: text in memory, no allocation. Whoever judges looks up values and findings by a callback.
 *
 *   # comment                                   to the end of a line that begins with it
 *   id K10                                      first, once
 *   launch NAME KEY OP NUMBER CLASS [TOL]       OP: == <= >= < > ~     e.g. launch transpose<1> gld_sectors == 32768 U
 *   fires W05 on NAME                           the rule must fire
 *   quiet W05 on NAME                           the rule must run and not fire
 *   twin W05 from BAD to GOOD [work N]          BAD is GOOD with the defect of that rule: what the rule expects to
 *                                               gain on BAD can be held against their times. GOOD does N times
 *                                               the work of BAD (1 if left out). No expectation, so never judged.
 *
 * CLASS says how far the number carries: U follows from addresses and source semantics on every GPU, C was
 * read from the machine code of one compiler, D depends on limits of the device. TOL belongs to ~ and
 * is ±0.3% or, absolute, ±5. == allows for the rounding of a formula (1e-12 of the number), counts are exact.
 * NAME is the kernel's function name with its template arguments and without spaces. */
#ifndef WS_ANALYZER_EXPECT_H
#define WS_ANALYZER_EXPECT_H

#include "metrics.h"

enum ws_expect_kind { WS_EXPECT_VALUE, WS_EXPECT_FIRES, WS_EXPECT_QUIET, WS_EXPECT_TWIN, WS_EXPECT_KINDS };
enum ws_expect_op {
    WS_EXPECT_EQUAL,
    WS_EXPECT_LESS_EQUAL,
    WS_EXPECT_GREATER_EQUAL,
    WS_EXPECT_LESS,
    WS_EXPECT_GREATER,
    WS_EXPECT_NEAR
};

/* A word of the text: not NUL-ended, valid while the text is. */
struct ws_word {
    const char *at;
    size_t length;
};

/* One line. */
struct ws_expect {
    enum ws_expect_kind kind;
    unsigned line;       /* from 1 */
    struct ws_word name; /* the kernel; TWIN: the bad one */
    struct ws_word rule; /* FIRES, QUIET, TWIN: "W05" */
    struct ws_word good; /* TWIN */
    double work;         /* TWIN: of the good one, in those of the bad; > 0 */
    /* VALUE: */
    enum ws_metric_id key;
    enum ws_expect_op op;
    double number;     /* SI base units */
    double tolerance;  /* NEAR: absolute, in the same unit */
    char class_letter; /* 'U', 'C' or 'D' */
};

/* Where in a text the reader is. Start with ws_expect_open(). */
struct ws_expect_reader {
    const char *text;
    size_t length;
    size_t at;
    unsigned line;       /* of the item or error last returned, from 1 */
    struct ws_word id;   /* "K10", once the id line was read */
    const char *problem; /* after an error: what is wrong, a sentence */
};

void ws_expect_open(struct ws_expect_reader *reader, const char *text, size_t length);

/* The next line that expects something.
 *   returns  1  *out is filled    0  end
 *   errors   -WS_ESYNTAX, -WS_ENOENT (unknown key)  reader->line and ->problem say what and where; *out is
 *            untouched, and the next call goes on with the next line, so that all errors can be listed */
int ws_expect_next(struct ws_expect_reader *reader, struct ws_expect *out);

/* NEEDS_GPU: not run for want of a value that no model predicts. */
enum ws_expect_fired { WS_RULE_FIRED, WS_RULE_QUIET, WS_RULE_NOT_RUN, WS_RULE_NO_LAUNCH, WS_RULE_NEEDS_GPU };

/* What was measured. Both are called with the line's words. */
struct ws_expect_facts {
    /* false = no launch of that name; else *out, which may be missing with its reason */
    bool (*value)(void *user, struct ws_word name, enum ws_metric_id key, struct ws_value *out);
    enum ws_expect_fired (*fired)(void *user, struct ws_word name, struct ws_word rule);
    void *user;
};

enum ws_verdict {
    WS_VERDICT_HOLDS,
    WS_VERDICT_BROKEN,
    WS_VERDICT_UNKNOWN,   /* no value (got->why says why), or the rule did not run: proves nothing */
    WS_VERDICT_NO_LAUNCH, /* no launch of that name */
    WS_VERDICT_NEEDS_GPU, /* of a modelled session: what is expected, or what it is made of, only a GPU tells */
    WS_VERDICT_COUNT
};

/* Judge one line that expects something (a TWIN is UNKNOWN). *got is the value looked up (VALUE), else missing; it may
 * be NULL. An upper or lower bound is judged as if it were the number: grades are shown, not excused. */
enum ws_verdict ws_expect_judge(const struct ws_expect *expect, const struct ws_expect_facts *facts,
                                struct ws_value *got);

/* "holds", "broken", "unknown", "no launch", "needs a GPU"; "==", "<=", …. Never NULL. */
const char *ws_verdict_name(enum ws_verdict verdict);
const char *ws_expect_op_name(enum ws_expect_op op);

/* Does a NAME of an .expect file mean this kernel? kernel is a demangled name as c++filt, CUPTI or Nsight spell it:
 * "void ns::block_shape<32, 8>(float const*, int)" is block_shape<32,8>, and so is "block_shape<(int)32, (int)8>".
 * Return type, parameters, spaces, casts and integer suffixes do not count; an enclosing namespace need not be written.
 */
bool ws_expect_name_is(struct ws_word name, const char *kernel);

#endif
