/* SPDX-License-Identifier: MIT
 * ptxas.h: registers, shared memory and spills of kernels from the real compiler, where the CUDA toolkit is.
 * Without it nothing is known: no value is guessed. */
#ifndef WS_SERVER_PTXAS_H
#define WS_SERVER_PTXAS_H

#include <stddef.h>
#include <stdint.h>

struct ws_ptxas_kernel {
    char *name; /* mangled */
    uint32_t registers, spill_bytes, static_smem_bytes;
};

struct ws_ptxas {
    struct ws_ptxas_kernel *kernels;
    size_t n;
};

/* Compile PTX text for the architecture it names and read what ptxas -v says. Appends to *out (zeroed at first).
 *   errors  -WS_ENOENT  there is no ptxas in PATH, in $CUDA_HOME/bin or /usr/local/cuda/bin
 *           -WS_EUNSUP  ptxas refuses the PTX; -WS_EIO, -WS_ENOMEM */
int ws_ptxas_run(const char *ptx, size_t length, struct ws_ptxas *out);
/* The kernel of a mangled name, or NULL. */
const struct ws_ptxas_kernel *ws_ptxas_find(const struct ws_ptxas *all, const char *name);
void ws_ptxas_fini(struct ws_ptxas *all);

/* All PTX of a program's fatbins into a file for the stand-in, a line a kernel: name, registers, spill bytes.
 *   path    [cap] its name in folder; "" on failure
 *   errors  as ws_ptxas_run() */
int ws_ptxas_write(const uint8_t *fatbins, size_t bytes, const char *folder, char *path, size_t cap);

/* Read the text that ptxas -v prints; for tests. -WS_ENOMEM */
int ws_ptxas_parse(const char *text, struct ws_ptxas *out);

#endif
