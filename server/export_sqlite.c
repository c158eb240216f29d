/* SPDX-License-Identifier: MIT
 * export_sqlite.c: one session as a WarpSight database of its own: open it with sqlite3, or with WARPSIGHT_DB. */
#include "export.h"

#include "../analyzer/err.h"

#include <stdlib.h>
#include <unistd.h>

int ws_export_sqlite(const struct ws_export *e)
{
    char temporary[WS_EXPORT_PATH_MAX];
    int n = snprintf(temporary, sizeof temporary, "%s.%ld.tmp", e->path, (long)getpid());
    int err;
    if (n < 0 || (size_t)n >= sizeof temporary)
        return -WS_ELIMIT;
    /* Made beside it and renamed: FILE is the old one or the whole new one. */
    err = ws_store_copy_session(e->store, e->session->row.id, temporary);
    if (err != 0) {
        snprintf(e->message, e->cap, "%s", ws_store_message(e->store));
        (void)unlink(temporary);
        return err;
    }
    if (rename(temporary, e->path) != 0) {
        snprintf(e->message, e->cap, "cannot write %s", e->path);
        (void)unlink(temporary);
        return -WS_EIO;
    }
    return 0;
}
