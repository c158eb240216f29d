/* SPDX-License-Identifier: MIT
 * export_sqlite.c: one session as a WarpSight database of its own: open it with sqlite3, or with WARPSIGHT_DB. */
#include "export.h"

#include "../analyzer/err.h"

#include "paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse(const struct ws_export *e, const char *why)
{
    snprintf(e->message, e->cap, "cannot write %s: %s", e->path, why);
    return -WS_EIO;
}

/* What the renaming would replace, or the store would make on the way: only a plain file, in a folder that is there. */
static int check_target(const struct ws_export *e)
{
    char folder[WS_PATH_MAX];
    struct stat st;
    if (stat(e->path, &st) == 0)
        return S_ISREG(st.st_mode) ? 0 : refuse(e, S_ISDIR(st.st_mode) ? "Is a directory" : "it is no plain file");
    if (ws_path_parent(e->path, folder) != 0)
        return -WS_ELIMIT;
    return access(folder, W_OK) == 0 ? 0 : refuse(e, strerror(errno));
}

int ws_export_sqlite(const struct ws_export *e)
{
    char temporary[WS_EXPORT_PATH_MAX];
    int n = snprintf(temporary, sizeof temporary, "%s.%ld.tmp", e->path, (long)getpid());
    int err;
    if (n < 0 || (size_t)n >= sizeof temporary)
        return -WS_ELIMIT;
    err = check_target(e);
    if (err != 0)
        return err;
    /* Made beside it and renamed: FILE is the old one or the whole new one. */
    err = ws_store_copy_session(e->store, e->session->row.id, temporary);
    if (err != 0) {
        snprintf(e->message, e->cap, "%s", ws_store_message(e->store));
        (void)unlink(temporary);
        return err;
    }
    if (rename(temporary, e->path) != 0) {
        err = refuse(e, strerror(errno));
        (void)unlink(temporary);
        return err;
    }
    return 0;
}
