/* SPDX-License-Identifier: MIT
 * model_progress.h: the progress line of a modelled launch, and Ctrl-C. */
#ifndef WS_SERVER_MODEL_PROGRESS_H
#define WS_SERVER_MODEL_PROGRESS_H

#include "../collector/model/model.h"

#include <stdbool.h>

/* From now on the first Ctrl-C asks for an end; the second ends the program as ever. */
void ws_progress_begin(void);
bool ws_progress_is_cancelled(void);

/* A launch is shown under this name on stderr, if that is a terminal and nothing asked for quiet. */
struct ws_progress {
    const char *name;
    bool is_quiet;
    /* filled here */
    bool has_line;
    double shown; /* s, when the line was last written */
};
/* struct ws_model_launch.tick, with a struct ws_progress. */
bool ws_progress_tick(void *progress, const struct ws_model_progress *now);
/* Wipe the line. */
void ws_progress_end(struct ws_progress *progress);

#endif
