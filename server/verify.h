/* SPDX-License-Identifier: MIT
 * verify.h: a session held against the known answers of the reference kernels (kernels/<name>.expect, compiled in).
 * Lines are read and judged by analyzer/expect.c; here a session becomes what they are judged by. Prints nothing but
 * the JSON that `warpsight kernels verify --json` and the API share. */
#ifndef WS_SERVER_VERIFY_H
#define WS_SERVER_VERIFY_H

#include "../analyzer/expect.h"
#include "json.h"
#include "report.h"

/* The files, by name. */
size_t ws_verify_files(void);
/* "transpose", and its text. file < ws_verify_files(). */
const char *ws_verify_file_name(size_t file);
const char *ws_verify_file_text(size_t file);
/* How many lines of each kind a file has (by enum ws_expect_kind), and its id; lent. */
struct ws_word ws_verify_count(size_t file, unsigned count[WS_EXPECT_KINDS]);

/* Whether the session is `warpsight-kernels run NAME`: a word of its command line is the name. */
bool ws_verify_is_program(const struct ws_session *session, struct ws_word name);

/* One line of a file, judged. */
struct ws_verify_line {
    size_t file;
    struct ws_word id; /* "K10" */
    const struct ws_expect *expect;
    const struct ws_kernel *kernel; /* of the session; NULL: none of that name, or a rule about the whole session */
    struct ws_value got;            /* VALUE */
    enum ws_verdict verdict;
};

struct ws_verify_tally {
    unsigned count[WS_VERDICT_COUNT];
};
/* Nothing broken and something held; strict: nothing left open either. */
bool ws_verify_is_good(const struct ws_verify_tally *tally, bool strict);
/* Lines that could not be judged and could have been. What needs a GPU in a modelled session is not among them. */
unsigned ws_verify_open_lines(const struct ws_verify_tally *tally);

/* Judge every line, in order of file and line; each gets those that concern this session. Of a modelled session the
 * host programs' lines need a GPU.
 *   wanted  [ws_verify_files()] which ones; NULL = all
 *   errors  -WS_ENOMEM */
int ws_verify_session(const struct ws_session *session, const bool *wanted,
                      void (*each)(void *state, const struct ws_verify_line *line), void *state,
                      struct ws_verify_tally *tally);

/* "gld_sectors == 32768", "W05 fires"; "32768", "fires", "no launch in this session". */
void ws_verify_expected(const struct ws_expect *line, char *out, size_t cap);
void ws_verify_measured(const struct ws_verify_line *line, char *out, size_t cap);

/* {"session","source","lines":[…],"holds","broken","not_judged","needs_gpu","verified"}. -WS_ENOMEM: what was written
 * is then to be thrown away. Its members without the braces, for objects that add some. */
int ws_verify_json(const struct ws_session *session, const bool *wanted, bool strict, struct ws_json *j,
                   struct ws_verify_tally *tally);
int ws_verify_json_members(const struct ws_session *session, const bool *wanted, bool strict, struct ws_json *j,
                           struct ws_verify_tally *tally);

/* [{"id","name","values","fires","quiet"}…] */
void ws_verify_json_files(struct ws_json *j);

#endif
