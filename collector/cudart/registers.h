/* SPDX-License-Identifier: MIT
 * registers.h: registers and spills of kernels as ptxas said, from the file that `warpsight run` wrote. */
#ifndef WS_COLLECTOR_CUDART_REGISTERS_H
#define WS_COLLECTOR_CUDART_REGISTERS_H

#include <stdint.h>

/* Read "NAME REGISTERS SPILL_BYTES" lines; a file that is not there leaves the table empty. */
void rt_registers_read(const char *path);
/* By mangled name; 0 = not known. */
uint32_t rt_registers_of(const char *name);
uint32_t rt_spill_of(const char *name);

#endif
