/* SPDX-License-Identifier: MIT
 * reader.c: how a reading command opens the database, finds a session, picks kernels, writes its output. */
#include "reader.h"

#include "../analyzer/err.h"
#include "baselines.h"
#include "cli.h"
#include "dbfile.h"
#include "ingest.h"
#include "log.h"
#include "nearest.h"
#include "paths.h"
#include "serve_state.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE 600
/* Two scans of a daemon see what was there when we began; a large backlog takes longer. */
#define DAEMON_LEAST_MS 250
#define DAEMON_WAIT_MS 10000
#define WRITER_WAIT_MS 10000

/* A daemon has the lock for good, and takes the spool ten times a second: only wait for it. False: there is none. */
static bool left_to_daemon(const char *db, const char *spool)
{
    struct timespec pause = {0, 20000000};
    struct ws_serve_state daemon;
    char file[WS_PATH_MAX];
    char message[MESSAGE];
    bool exists;
    if (ws_dbfile_resolve(db, false, file, &exists, message, sizeof message) != 0 ||
        !ws_serve_state_find(file, &daemon))
        return false;
    for (int waited_ms = 0; waited_ms < DAEMON_WAIT_MS; waited_ms += 20) {
        if (waited_ms >= DAEMON_LEAST_MS && ws_ingest_has_work(spool) != WS_SPOOL_FINISHED)
            break;
        nanosleep(&pause, NULL);
    }
    return true;
}

/* A writer for the spool. Another command may hold the database and take the spool itself: we wait for what is
 * finished, but not for programs that still run. *out stays NULL when there is nothing left to do. */
static int open_writer(const char *db, const char *spool, struct ws_store **out, char *message, size_t cap)
{
    const struct timespec pause = {0, 20000000};
    int err = -WS_EBUSY;
    for (int waited_ms = 0; err == -WS_EBUSY && waited_ms <= WRITER_WAIT_MS; waited_ms += 20) {
        enum ws_spool_work work = ws_ingest_has_work(spool);
        if (work == WS_SPOOL_EMPTY || (work == WS_SPOOL_LIVE && waited_ms > 0))
            return 0;
        if (waited_ms > 0)
            nanosleep(&pause, NULL);
        err = ws_store_open(out, db, WS_STORE_WRITE, message, cap);
    }
    return err;
}

/* Finished spools into the database. That this cannot be done is no reason not to read what is there, unless the
 * database itself is at fault. */
static int take_spool(const char *command, const char *db, const char *spool)
{
    struct ws_store *store = NULL;
    struct ws_progress progress;
    struct ws_ingest done;
    char message[MESSAGE];
    int err;
    if (ws_ingest_has_work(spool) == WS_SPOOL_EMPTY || left_to_daemon(db, spool))
        return WS_EXIT_OK;
    err = open_writer(db, spool, &store, message, sizeof message);
    if (err == -WS_EBUSY || err == -WS_EPERM) {
        ws_log(WS_WARN, command, "sessions in the spool are not shown yet: %s", message);
        return WS_EXIT_OK;
    }
    if (err != 0)
        return ws_cli_failed(command, "%s", message);
    if (!store)
        return WS_EXIT_OK;
    ws_progress_begin(&progress, "storing what was recorded", "B", false);
    err = ws_ingest_spool(store, spool, &progress, &done);
    ws_progress_end(&progress);
    if (err == -WS_EPERM)
        ws_log(WS_WARN, command, "the spool %s is not taken: it belongs to another user, or everybody may write to it",
               spool);
    else if (err != 0)
        (void)ws_cli_failed(command, "cannot take the spool %s: %s", spool,
                            *ws_store_message(store) ? ws_store_message(store) : ws_err_text(err));
    ws_store_close(store);
    return err == 0 || err == -WS_EPERM ? WS_EXIT_OK : WS_EXIT_FAILED;
}

int ws_reader_open(const char *command, struct ws_store **out)
{
    char db[WS_PATH_MAX];
    char spool[WS_PATH_MAX];
    char message[MESSAGE];
    int status;
    if (ws_path_db(db) != 0)
        return ws_cli_failed(command, "no place for the database: set WARPSIGHT_DB or HOME");
    if (ws_path_spool(spool) != 0)
        return ws_cli_failed(command, "the path of the spool is too long");
    status = take_spool(command, db, spool);
    if (status != WS_EXIT_OK)
        return status;
    if (ws_store_open(out, db, WS_STORE_READ, message, sizeof message) != 0)
        return ws_cli_failed(command, "%s", message);
    return WS_EXIT_OK;
}

/* --- sessions --- */

static int offer_session(void *state, const struct ws_session_row *row)
{
    ws_nearest_offer(state, row->name);
    return 0;
}

/* The session that a baseline names; -WS_ENOENT when `which` is no baseline. 0 in *session_id: it was deleted. */
static int find_baseline(struct ws_store *store, const char *which, int64_t *session_id, char *message, size_t cap)
{
    struct ws_baselines all;
    const struct ws_baseline *b;
    char db[WS_PATH_MAX];
    int err;
    if (!which || !ws_baseline_is_name(which) || ws_path_db(db) != 0)
        return -WS_ENOENT;
    err = ws_baselines_load(db, &all, message, cap);
    b = err == 0 ? ws_baselines_find(&all, which) : NULL;
    if (!b)
        return err == 0 ? -WS_ENOENT : err;
    *session_id = 0;
    err = ws_store_find_token(store, ws_text_of(b->token), session_id);
    return err == -WS_ENOENT ? 0 : err;
}

int ws_reader_find(const char *command, struct ws_store *store, const char *which, int64_t *session_id)
{
    struct ws_nearest near = {.word = which ? which : ""};
    char list[MESSAGE] = "";
    int err = find_baseline(store, which, session_id, list, sizeof list);
    if (err == 0 && *session_id == 0)
        return ws_cli_failed(command, "the session of baseline '%s' was deleted: warpsight baseline set %s", which,
                             which);
    /* A damaged list of baselines keeps nobody from a session's own name. */
    if (err != 0)
        err = ws_store_find_session(store, which, session_id);
    if (err == -WS_ENOENT && *list)
        return ws_cli_failed(command, "%s", list);
    if (err == 0)
        return WS_EXIT_OK;
    if (err != -WS_ENOENT)
        return ws_cli_failed(command, "%s", ws_store_message(store));
    if (!which)
        return ws_cli_failed(command, "no session is recorded yet: try `warpsight run ./your-program`, or `warpsight "
                                      "import FILE.wscap`");
    err = ws_store_each_session(store, offer_session, &near);
    if (err == 0 && near.count > 0)
        return ws_cli_failed(command, "no session '%s'; the nearest names are %s", which,
                             ws_nearest_list(&near, list, sizeof list));
    return ws_cli_failed(command, "no session '%s'; see: warpsight list sessions", which);
}

int ws_reader_session(const char *command, struct ws_store *store, const char *which, struct ws_session **out)
{
    int64_t id;
    int status = ws_reader_find(command, store, which, &id);
    int err;
    if (status != WS_EXIT_OK)
        return status;
    err = ws_report_load(store, id, out);
    if (err != 0)
        return ws_cli_failed(command, "cannot read session %lld: %s", (long long)id,
                             *ws_store_message(store) ? ws_store_message(store) : ws_err_text(err));
    return WS_EXIT_OK;
}

/* --- kernels --- */

int ws_reader_select(const char *command, struct ws_session *session, const char *text, const char *key, size_t top)
{
    struct ws_name_filter *filter = NULL;
    struct ws_nearest near = {.word = text ? text : ""};
    char message[320];
    int err;
    if (text && session->kernel_count == 0)
        return ws_cli_failed(command, "no kernel named '%s': the session has no kernel at all", text);
    if (text) {
        filter = ws_name_filter_new(text, message, sizeof message);
        if (!filter)
            return ws_cli_usage_error(command, "--kernel %s: %s", text, message);
        for (size_t i = 0; i < session->kernel_count; i++)
            ws_nearest_offer_kernel(&near, &session->kernels[i].name);
    }
    err = ws_report_select(session, filter, key, top);
    ws_name_filter_free(filter);
    if (err == -WS_ENOENT && text)
        return ws_cli_failed(command, "no kernel fits '%s'; the nearest names are %s", text,
                             ws_nearest_list(&near, message, sizeof message));
    if (err != 0 && err != -WS_ENOENT)
        return ws_cli_failed(command, "%s", ws_err_text(err));
    return WS_EXIT_OK;
}

/* --- output --- */

/* Where the file is made: beside its place, so that two that write it at once, or a disk that fills, leave no half one.
 */
static void name_beside(const char *path, char *out, size_t cap)
{
    if (snprintf(out, cap, "%s.%ld.tmp", path, (long)getpid()) >= (int)cap)
        *out = 0;
}

FILE *ws_reader_output(const char *command, const char *path)
{
    char beside[WS_PATH_MAX];
    struct stat st;
    FILE *out = NULL;
    if (!path)
        return stdout;
    name_beside(path, beside, sizeof beside);
    /* What is there and no plain file (a device, a pipe, a link) is written to, not replaced. */
    if (*beside && (lstat(path, &st) != 0 || (S_ISREG(st.st_mode) && access(path, W_OK) == 0)))
        out = fopen(beside, "wxe");
    if (!out)
        out = fopen(path, "we");
    if (!out)
        (void)ws_cli_failed(command, "cannot write %s: %s", path, strerror(errno));
    return out;
}

/* Whether fd is the file that name_beside() names. */
static bool is_beside(int fd, const char *beside)
{
    struct stat opened, named;
    return *beside && fstat(fd, &opened) == 0 && lstat(beside, &named) == 0 && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

int ws_reader_close_output(const char *command, FILE *out, const char *path, int status)
{
    char beside[WS_PATH_MAX];
    bool failed, has_beside;
    int error;
    if (out == stdout)
        return status;
    name_beside(path, beside, sizeof beside);
    has_beside = is_beside(fileno(out), beside);
    failed = ferror(out) != 0;
    failed = fclose(out) != 0 || failed;
    failed = failed || (has_beside && status == WS_EXIT_OK && rename(beside, path) != 0);
    error = errno;
    if (has_beside && (failed || status != WS_EXIT_OK))
        (void)unlink(beside);
    return failed ? ws_cli_failed(command, "cannot write %s: %s", path, strerror(error)) : status;
}
