/* SPDX-License-Identifier: MIT
 * model_run.h: a launch spec through the SIMT model into a session of the database, labelled modelled.
 * Used by `warpsight model`, `warpsight kernels model` and `warpsight kernels verify --model`. */
#ifndef WS_SERVER_MODEL_RUN_H
#define WS_SERVER_MODEL_RUN_H

#include "../collector/model/emit.h"
#include "ptxas.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct ws_model_job {
    const char *command;      /* for complaints */
    const char *kernel;       /* only launches of this kernel, or NULL */
    const char *gpu;          /* part of a board's name in gpus.def, NULL = NVIDIA H200 */
    const char *name;         /* of the session */
    const char *exe;          /* program or library to take the PTX from, or NULL */
    const char *instructions; /* of struct ws_model_launch */
    uint32_t threads;
    uint64_t max_instructions;
    unsigned checks;              /* enum ws_model_check */
    uint32_t sample_blocks;       /* of struct ws_model_launch */
    uint64_t budget_instructions; /* of each launch; what is reached leaves a sample. 0 = none */
    double budget_seconds;
    bool is_quiet; /* no line per launch on stderr */
    FILE *lines;   /* a table of source lines per launch goes there, or NULL */
    /* filled by the functions below */
    struct ws_emit *emit;
    char agent_id[33];
    uint32_t cc;           /* of the GPU: 90 for 9.0 */
    struct ws_ptxas ptxas; /* of the PTX that runs, where it was asked */
    bool is_ptxas_told;
    uint32_t modelled, refused;
    uint32_t errors, hints; /* what checks found */
    uint32_t sampled;       /* launches of which a part of the blocks ran */
    bool is_cancelled;      /* by Ctrl-C: the launch that ran and later ones are not in the session */
    double seconds;
};

/* Begin a session: argc, argv describe it. Returns 0, or the status to exit with; the reason is on stderr. */
int ws_model_job_open(struct ws_model_job *job, const char *exe, int argc, char **argv);

/* Run one spec file; ptx overrides the spec's. A kernel that the model does not know is refused by name, line and
 * opcode on stderr, counted, and the rest goes on. Returns 0, or the status to exit with. */
int ws_model_job_spec(struct ws_model_job *job, const char *spec_path, const char *ptx_path);

/* End the session: into the spool, and a capture file too if path is not NULL. Frees.
 * Returns 0, or the status to exit with. */
int ws_model_job_close(struct ws_model_job *job, const char *capture_path, bool force);

/* Run the specs of the bundled kernels (kernels/ptx beside the program), in order of name.
 *   names   [count] files without their ends ("transpose"); count 0 = all. One that is not there is an error, the
 *           others run
 *   returns 0, or the status to exit with */
int ws_model_job_bundled(struct ws_model_job *job, const char *const *names, size_t count);

/* The session that was closed, in this database: 0, or the status to exit with. */
struct ws_store;
int ws_model_job_session(const struct ws_model_job *job, struct ws_store *store, int64_t *id);

#endif
