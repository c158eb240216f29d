/* SPDX-License-Identifier: MIT
 * source_text.h: the text of a source file on this machine, that a session's line table names.
 * A line table comes with the session, so its paths are foreign text: only a regular file with the ending of a source,
 * at most 4 MiB, is read, and never anything else. Which paths may be asked for is the caller's to say (api_source.c).
 */
#ifndef WS_SERVER_SOURCE_TEXT_H
#define WS_SERVER_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WS_SOURCE_BYTES_MAX ((size_t)4 << 20)

struct ws_source_text {
    char *bytes; /* [length] and a NUL; free() it */
    size_t length;
    int64_t changed_ns; /* when the file was last written, since the epoch */
};

/* Read a file.
 *   errors  -WS_EINVAL  no absolute path, not the ending of a source, or no regular file
 *           -WS_ENOENT  it is not on this machine
 *           -WS_EPERM   it must not be read
 *           -WS_ELIMIT  it is larger than WS_SOURCE_BYTES_MAX
 *           -WS_EIO, -WS_ENOMEM
 *   thread  any */
int ws_source_text_read(const char *path, struct ws_source_text *out);

/* Why there is no text, for people. */
const char *ws_source_text_why(int err);

/* The line that begins at *offset, without its end; *offset moves to the next one. False: the text has ended. */
bool ws_source_text_line(const struct ws_source_text *text, size_t *offset, const char **at, size_t *length);

#endif
