/* SPDX-License-Identifier: MIT
 * tool.h: a program of the CUDA toolkit (ptxas, nvdisasm, cuobjdump): where it is, and what it says.
 * No shell, no stdin; an end to its time and to its text. Knows nothing of what the text means. */
#ifndef WS_SERVER_TOOL_H
#define WS_SERVER_TOOL_H

#include <stdbool.h>
#include <stddef.h>

/* The tool's path into out[cap]: in PATH, $CUDA_HOME/bin or /usr/local/cuda/bin. False: it is not there. */
bool ws_tool_find(const char *name, char *out, size_t cap);

struct ws_tool_run {
    const char *const *argv; /* [0] is its path; NULL ends */
    int file;                /* a descriptor that it finds as 3, or -1 */
    bool wants_stderr;       /* in the text, too; else it goes to /dev/null */
    unsigned timeout_ms;
    size_t most; /* bytes of text; what is beyond ends the tool */
};

/* Run it to its end.
 *   text    [*length] and a NUL; free() it
 *   errors  -WS_EBUSY   its time was over; -WS_ELIMIT it said more than run->most
 *           -WS_EUNSUP  it failed, *text and *length are set all the same
 *           -WS_EIO     it could not be started; -WS_ENOMEM
 *   thread  any */
int ws_tool_run(const struct ws_tool_run *run, char **text, size_t *length);

#endif
