/* SPDX-License-Identifier: MIT
 * install.h: where the parts of this installation lie, found from the running program itself.
 * Build folder and bundle: side by side. Installed: bin/warpsight and lib/warpsight/. */
#ifndef WS_SERVER_INSTALL_H
#define WS_SERVER_INSTALL_H

#include <stddef.h>

#define WS_PRELOAD_NAME "libwarpsight.so"
#define WS_YIELD_NAME "libwarpsight-yield.so"
#define WS_COLLECTOR_NAME "libwarpsight-cupti.so"

/* The full path of a part that belongs to this program.
 *   out     [cap]
 *   errors  -WS_ENOENT it is not there (a build without the CUDA toolkit has no collector); -WS_ELIMIT */
int ws_install_find(const char *name, char *out, size_t cap);

#endif
