/* SPDX-License-Identifier: MIT
 * exe.h: what an ELF file says about its device code and its CUDA runtime. Reads bytes of strangers.
 * The containers inside are fatbin.h. */
#ifndef WS_COLLECTOR_MODEL_EXE_H
#define WS_COLLECTOR_MODEL_EXE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ws_exe {
    const uint8_t *fatbin; /* the section .nv_fatbin, or NULL; lent from the file's bytes */
    size_t fatbin_bytes;
    uint32_t ptx, cubins; /* entries in it */
    bool is_relocatable;  /* built with -rdc=true: its device code is linked, and linked code is no PTX */
    uint32_t cudart;      /* 13 when it needs libcudart.so.13; 0 = no shared runtime */
};

/* A 64-bit little-endian ELF file in memory.
 *   errors  -WS_ESYNTAX  it is none, or its tables do not fit the file; *out is empty */
int ws_exe_read(const uint8_t *bytes, size_t length, struct ws_exe *out);

/* nvcc's options that make a program fit for the model, for messages. */
#define WS_EXE_RELINK "nvcc -cudart shared -gencode arch=compute_90,code=compute_90"

/* Why this program cannot be run under the model, in one line with the way out; NULL when it can. */
const char *ws_exe_obstacle(const struct ws_exe *exe);

#endif
