/* SPDX-License-Identifier: MIT
 * session.h: a capture made by capture.h, imported into a scratch database and loaded as a report. */
#ifndef WS_TESTS_UNIT_SESSION_H
#define WS_TESTS_UNIT_SESSION_H

#include "../../server/ingest.h"
#include "../../server/report.h"
#include "capture.h"
#include "test.h"

/* Import into the database `db` of the scratch folder; the session's id. Ends the test when it fails. */
static inline int64_t import_capture(const struct capture *c, const char *db)
{
    struct ws_store *store = NULL;
    struct ws_import done;
    char message[600] = "";
    write_file(scratch_file("session.wscap"), c->bytes, c->used);
    if (ws_store_open(&store, scratch_file(db), WS_STORE_WRITE, message, sizeof message) != 0 ||
        ws_ingest_file(store, scratch_file("session.wscap"), NULL, &done, message, sizeof message) != 0) {
        WS_FAIL("cannot import: %s", message);
        exit(1);
    }
    ws_store_close(store);
    return done.session;
}

static inline struct ws_store *open_reader_of(const char *db)
{
    struct ws_store *store = NULL;
    char message[600] = "";
    if (ws_store_open(&store, scratch_file(db), WS_STORE_READ, message, sizeof message) != 0) {
        WS_FAIL("cannot open: %s", message);
        exit(1);
    }
    return store;
}

/* The newest session of a database; free with ws_report_free. */
static inline struct ws_session *load_newest(const char *db)
{
    struct ws_store *store = open_reader_of(db);
    struct ws_session *session = NULL;
    int64_t id = 0;
    CHECK_INT(ws_store_find_session(store, NULL, &id), 0);
    CHECK_INT(ws_report_load(store, id, &session), 0);
    ws_store_close(store);
    if (!session)
        exit(1);
    return session;
}

/* `report --json` as text; free it. */
static inline char *json_of(const struct ws_session *session)
{
    char *text = NULL;
    size_t length = 0;
    struct ws_json j = {.out = open_memstream(&text, &length), .pretty = true};
    CHECK_INT(ws_report_json(session, &j), 0);
    fclose(j.out);
    return text;
}

#endif
