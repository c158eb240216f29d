/* SPDX-License-Identifier: MIT
 * sass.h: the instructions of a function as text, from the CUDA toolkit's nvdisasm or, else, cuobjdump.
 * Where neither is on this machine there is no text: nothing is guessed. */
#ifndef WS_SERVER_SASS_H
#define WS_SERVER_SASS_H

#include <stddef.h>
#include <stdint.h>

struct ws_sass_line {
    uint64_t pc; /* byte offset in the function */
    char *text;  /* "LDS R5, [R0]" */
};

struct ws_sass {
    struct ws_sass_line *lines; /* [count], in order */
    size_t count, cap;
};

/* Disassemble one function of a cubin. Free with ws_sass_fini, also after an error.
 *   errors  -WS_ENOENT neither tool is in PATH, $CUDA_HOME/bin or /usr/local/cuda/bin
 *           -WS_EBUSY, -WS_ELIMIT, -WS_EUNSUP, -WS_EIO, -WS_ENOMEM as ws_tool_run(); -WS_EUNSUP also: the tool said
 *           nothing of that function; -WS_ECORRUPT the cubin is none
 *   thread  any. What was found of the last functions asked for is kept: a page asks again at each visit */
int ws_sass_read(const uint8_t *cubin, size_t length, const char *function, struct ws_sass *out);
void ws_sass_fini(struct ws_sass *sass);

/* The same of a text of theirs; for tests. begin: the function's offset in its section. */
int ws_sass_parse(const char *text, const char *function, uint64_t begin, struct ws_sass *out);

/* Why there is no text, for people. */
const char *ws_sass_why(int err);

/* The instruction at pc, or NULL. */
const char *ws_sass_find(const struct ws_sass *sass, uint64_t pc);

#endif
