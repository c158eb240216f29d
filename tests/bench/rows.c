/* SPDX-License-Identifier: MIT
 * rows.c: the plain way to keep launches, as something to compare the ingest with: one row a launch, a prepared
 * INSERT, one transaction for 10,000 rows, the same settings of SQLite, one index on the start.
 * usage: rows FILE LAUNCHES */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static int run(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    long long count = argc == 3 ? atoll(argv[2]) : 0;
    sqlite3 *db = NULL;
    sqlite3_stmt *insert = NULL;
    if (count <= 0 || sqlite3_open(argv[1], &db) != SQLITE_OK)
        return 2;
    if (run(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384;"
                "CREATE TABLE launch (id INTEGER PRIMARY KEY, kernel INT, start_ns INT, end_ns INT, correlation INT, "
                "graph INT, graph_node INT, stream INT, context INT, device INT) STRICT;"
                "CREATE INDEX launch_start ON launch(start_ns)") != 0)
        return 1;
    if (sqlite3_prepare_v2(db,
                           "INSERT INTO launch (kernel, start_ns, end_ns, correlation, graph, graph_node, stream, "
                           "context, device) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                           -1, &insert, NULL) != SQLITE_OK)
        return 1;
    for (long long i = 0; i < count; i++) {
        if (i % 10000 == 0 && (run(db, i ? "COMMIT" : "SELECT 1") != 0 || run(db, "BEGIN") != 0))
            return 1;
        sqlite3_bind_int64(insert, 1, i % 40);
        sqlite3_bind_int64(insert, 2, 1790000000000000000ll + i * 1000);
        sqlite3_bind_int64(insert, 3, 1790000000000000000ll + i * 1000 + 900);
        sqlite3_bind_int64(insert, 4, i);
        for (int k = 5; k <= 9; k++)
            sqlite3_bind_int64(insert, k, k);
        if (sqlite3_step(insert) != SQLITE_DONE)
            return 1;
        sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    return run(db, "COMMIT") != 0 || sqlite3_close(db) != SQLITE_OK;
}
