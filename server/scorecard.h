/* SPDX-License-Identifier: MIT
 * scorecard.h: how right our advice is: for every bad and good twin (`twin` lines of kernels/<name>.expect) the gain
 * that the rule estimates on the bad one against the gain that their times show, and what Nsight Compute estimates.
 * Prints nothing but JSON. */
#ifndef WS_SERVER_SCORECARD_H
#define WS_SERVER_SCORECARD_H

#include "json.h"
#include "ncu.h"
#include "report.h"

/* A session, and how long its device work took: what a rule about the whole session is held against. */
struct ws_score_source {
    const struct ws_session *session;
    struct ws_value window; /* s; missing: not known, or replayed launches stretched it */
};

struct ws_score {
    struct ws_word id, rule, bad, good;  /* "K10", "W05", names of the .expect file; lent for ever */
    double work;                         /* of the good one, in those of the bad */
    struct ws_value bad_time, good_time; /* s: a launch of the kernel, or the window of the program */
    struct ws_value estimated; /* share of the bad one's time; missing: the rule is quiet, or its gain unknown */
    struct ws_value measured;  /* 1 - good_time / work / bad_time; below 0: the good twin is slower */
    bool has_ncu;              /* its file has the bad twin */
    struct ws_ncu_advice ncu;
};

/* Median of the absolute errors (0.05: 5 points) of count twins. */
struct ws_score_error {
    struct ws_value median;
    size_t count;
};

struct ws_scorecard {
    struct ws_score *at; /* [count]: twins of which both are in the sessions; by file and line */
    size_t count;
    struct ws_score_error ours, ncu;
    struct ws_score_error ours_where_ncu; /* over the twins that ncu is over */
};

/* Twins are looked for in sources[count]: kernels in one session, programs in a session each. ncu may be NULL.
 *   out     free with ws_scorecard_fini, also after an error
 *   errors  -WS_ENOMEM */
int ws_scorecard_make(const struct ws_score_source *sources, size_t count, const struct ws_ncu *ncu,
                      struct ws_scorecard *out);
void ws_scorecard_fini(struct ws_scorecard *card);

/* |estimated - measured|, or missing. */
struct ws_value ws_score_error_of(struct ws_value estimated, struct ws_value measured);

/* {"twins":[…],"median_error","ncu_median_error",…}; without ncu's members where no file was read. */
void ws_scorecard_json(struct ws_json *j, const struct ws_scorecard *card, bool with_ncu);

#endif
