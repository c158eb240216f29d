/* SPDX-License-Identifier: MIT
 * nvtx.h: the program's NVTX ranges as a switch of collection (--nvtx-include). NVTX itself loads us: its headers open
 * the library that NVTX_INJECTION64_PATH names (preload.c sets it, only when it is wanted) at the program's first NVTX
 * call and call InitializeInjectionNvtx2, which puts our functions into its table. CUPTI has no part in it. */
#ifndef WS_COLLECTOR_NVTX_H
#define WS_COLLECTOR_NVTX_H

#include <stdbool.h>

/* Whether a range is open now that --nvtx-include means, in any thread. */
bool ws_nvtx_is_open(void);

/* Whether NVTX has loaded us: the program has made an NVTX call. */
bool ws_nvtx_is_loaded(void);

#endif
