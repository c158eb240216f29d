/* SPDX-License-Identifier: MIT
 * nvtx.h: the program's NVTX ranges as a switch of collection (--nvtx-include). NVTX itself loads us: its headers open
 * the library that NVTX_INJECTION64_PATH names (preload.c sets it, only when it is wanted) at the program's first NVTX
 * call and call InitializeInjectionNvtx2, which puts our functions into its table. CUPTI has no part in it. */
#ifndef WS_COLLECTOR_NVTX_H
#define WS_COLLECTOR_NVTX_H

#include <stdbool.h>

/* Whether a range is open now that --nvtx-include means, in any thread. */
bool ws_nvtx_is_open(void);

/* With --nvtx-include and at the end of the process: why nothing was collected, if no range ever fitted; else "".
 * A static text. */
const char *ws_nvtx_silence(void);

#endif
