/* SPDX-License-Identifier: MIT
 * model_exe.h: the PTX of one kernel out of a program or library, for `warpsight model --exe`. */
#ifndef WS_SERVER_MODEL_EXE_H
#define WS_SERVER_MODEL_EXE_H

#include <stddef.h>
#include <stdint.h>

/* The PTX in the file's fatbins that has this kernel, best for a compute capability (90 for 9.0).
 *   kernel  as ws_spec_find_kernel() takes it; NULL = the best PTX with any kernel
 *   ptx     free() it
 *   error   [WS_MODEL_ERROR_BYTES] one line
 *   errors  -WS_EIO, -WS_ESYNTAX (no ELF file), -WS_ENOENT (no PTX, or none with this kernel), -WS_ENOMEM */
int ws_model_exe(const char *path, const char *kernel, uint32_t cc, char **ptx, size_t *length, char *error);

#endif
