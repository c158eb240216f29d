/* SPDX-License-Identifier: MIT
 * run_model.h: what `warpsight run --model` sets up: the stand-in for libcudart, and what ptxas knows of the kernels.
 * The stand-in itself is collector/cudart/. */
#ifndef WS_SERVER_RUN_MODEL_H
#define WS_SERVER_RUN_MODEL_H

#include "paths.h"

#include <stdbool.h>

struct ws_run_model {
    char library_path[2 * WS_PATH_MAX]; /* LD_LIBRARY_PATH of the program */
    char registers[WS_PATH_MAX];        /* the file of ptxas' facts, or "" */
    bool needs_cudart;                  /* the program itself is linked with a shared CUDA runtime */
};

/* Look at the program and prepare. 0, or -WS_E… with one line on stderr that says how to relink.
 *   spool  where the file for the registers goes */
int ws_run_model_prepare(struct ws_run_model *model, const char *program, const char *spool);
/* Take the file away. */
void ws_run_model_end(struct ws_run_model *model);

#endif
