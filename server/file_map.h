/* SPDX-License-Identifier: MIT
 * file_map.h: a whole file as bytes in memory, to read. */
#ifndef WS_SERVER_FILE_MAP_H
#define WS_SERVER_FILE_MAP_H

#include <stddef.h>
#include <stdint.h>

struct ws_file_map {
    const uint8_t *bytes;
    size_t length;
};

/* -WS_EIO (errno says why; an empty file or a folder too). */
int ws_file_map(struct ws_file_map *out, const char *path);
void ws_file_unmap(struct ws_file_map *map);

#endif
