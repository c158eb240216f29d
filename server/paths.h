/* SPDX-License-Identifier: MIT
 * paths.h: where the database and the spool lie, and folders that only we can read.
 * The rules are the design's; the collector has its own copy of the spool rule (settings.c), because it
 * may not link this: test_paths.c holds the two together. */
#ifndef WS_SERVER_PATHS_H
#define WS_SERVER_PATHS_H

#include <stddef.h>
#include <stdint.h>

#define WS_PATH_MAX 4096

/* $WARPSIGHT_DB, else $XDG_DATA_HOME/warpsight/warpsight.db, else ~/.local/share/warpsight/warpsight.db.
 *   errors  -WS_ENOENT  no variable and no home folder; -WS_ELIMIT the path is too long */
int ws_path_db(char out[WS_PATH_MAX]);

/* $WARPSIGHT_SPOOL, else $XDG_RUNTIME_DIR/warpsight, else /tmp/warpsight-UID. -WS_ELIMIT if too long. */
int ws_path_spool(char out[WS_PATH_MAX]);

/* Make a folder and its missing parents, each 0700. One that exists stays as it is.
 *   errors  -WS_EPERM, or -WS_EIO with errno set (ENOTDIR: something on the way is no folder) */
int ws_path_make_folder(const char *path);

/* The same, and the last folder must be ours alone: owned by us (or root), no link, no write permission
 * for others. Anything else could be planted by another user of a shared /tmp.
 *   errors  as above; -WS_EPERM also for a folder that is not ours */
int ws_path_make_private_folder(const char *path);

/* "dir/file" -> "dir"; "file" -> "."; "/file" -> "/". */
int ws_path_parent(const char *path, char out[WS_PATH_MAX]);

/* Bytes of the files in a folder and, so many levels deep, in those below it; names with a dot in front are left out.
 */
uint64_t ws_path_bytes(const char *path, int depth);

#endif
