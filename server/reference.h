/* SPDX-License-Identifier: MIT
 * reference.h: start warpsight-kernels, the program of the reference kernels and of the ceilings, and `warpsight run`
 * on it. Complaints are printed in the command's name. */
#ifndef WS_SERVER_REFERENCE_H
#define WS_SERVER_REFERENCE_H

#include "progress.h"

#include <stdbool.h>
#include <stddef.h>

#define WS_REFERENCE_PROGRAM "warpsight-kernels"
enum { WS_REFERENCE_PATH = 4200, WS_REFERENCE_NO_GPU = 77 };

/* Where it lies: beside this program, or installed with it.
 *   returns  0, or the status to exit with; that it is not there is on stderr */
int ws_reference_find(const char *command, char path[WS_REFERENCE_PATH]);

/* Run path with arguments[], NULL-ended, the program's name in front.
 *   text     all it wrote to stdout, at most a megabyte; free it. NULL if out of memory, or more than that
 *   quiet    its stderr goes nowhere
 *   progress is told how far it is, if it says so: a blank for each step and a line end, then a line end for each step
 *            that is done, all before its first other byte. NULL = nobody
 *   returns  0 and its exit status (128 + signal), or the status to exit with */
int ws_reference_run(const char *command, const char *path, char *const arguments[], bool quiet,
                     struct ws_progress *progress, char **text, int *exit_status);

/* `warpsight run` with arguments[], NULL-ended, both words in front; its report goes nowhere, its stderr stays.
 *   returns  0 and its exit status, or the status to exit with */
int ws_reference_profile(const char *command, char *const arguments[], int *exit_status);

#endif
