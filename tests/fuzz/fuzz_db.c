/* SPDX-License-Identifier: MIT
 * fuzz_db.c: a database with bytes changed, cut or garbage (libFuzzer; `make fuzz`). Opened for reading it is refused
 * with words, or read and shown; opened by a writer it is moved aside if it is damaged, and the new one is whole.
 * Input: five bytes an edit: place in the file (3), how (1), value (1). */
#include "../../analyzer/err.h"
#include "../../server/dbfile.h"
#include "../../server/export.h"
#include "../../server/frames.h"
#include "../../server/ingest.h"
#include "../../server/log.h"
#include "../../server/report.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(claim)                                    \
    do {                                               \
        if (!(claim)) {                                \
            fprintf(stderr, "not true: %s\n", #claim); \
            abort();                                   \
        }                                              \
    } while (0)

static char folder[64];
static char path[80];
static uint8_t *good; /* [good_size], a database with a session */
static size_t good_size;
static FILE *nowhere;

static void clear_folder(void)
{
    DIR *dir = opendir(folder);
    MUST(dir);
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
        if (e->d_name[0] != '.')
            (void)unlinkat(dirfd(dir), e->d_name, 0);
    closedir(dir);
}

static void remove_folder(void)
{
    clear_folder();
    (void)rmdir(folder);
}

static void make_good(void)
{
    struct ws_store *store = NULL;
    struct ws_import done;
    char message[600] = "";
    FILE *f;
    snprintf(folder, sizeof folder, "%s/warpsight-fuzz-db-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    MUST(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/db", folder);
    atexit(remove_folder);
    nowhere = fopen("/dev/null", "we");
    ws_log_set_level(WS_ERROR);
    MUST(ws_store_open(&store, path, WS_STORE_WRITE, message, sizeof message) == 0);
    MUST(ws_ingest_file(store, "tests/flow/h200-graph.wscap", NULL, &done, message, sizeof message) == 0);
    ws_store_close(store);
    f = fopen(path, "re");
    MUST(f && fseek(f, 0, SEEK_END) == 0);
    good_size = (size_t)ftell(f);
    rewind(f);
    good = malloc(good_size);
    MUST(good && fread(good, 1, good_size, f) == good_size);
    fclose(f);
}

/* The good one with the edits; cut where an edit says so. */
static void write_edited(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(good_size);
    size_t length = good_size;
    int fd;
    MUST(bytes);
    memcpy(bytes, good, good_size);
    for (; size >= 5; data += 5, size -= 5) {
        size_t at = ((size_t)data[0] << 16 | (size_t)data[1] << 8 | data[2]) % good_size;
        if (data[3] == 255)
            length = at;
        else if (data[3] == 254)
            memset(bytes + at, data[4], good_size - at < 512 ? good_size - at : 512);
        else if (data[3] % 2)
            bytes[at] ^= data[4];
        else
            bytes[at] = data[4];
    }
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    MUST(fd >= 0 && write(fd, bytes, length) == (ssize_t)length);
    close(fd);
    free(bytes);
}

static int note_id(void *state, const struct ws_session_row *row)
{
    *(int64_t *)state = row->id;
    return 0;
}

/* Reads and shows; each may fail, none may crash. */
static void show_all(struct ws_store *store)
{
    struct ws_session *session = NULL;
    struct ws_json json = {.out = nowhere};
    int64_t id = 0;
    if (ws_store_find_session(store, NULL, &id) != 0)
        return;
    (void)ws_store_get_session(store, id, note_id, &id);
    (void)ws_export_capture_to(store, id, nowhere);
    if (ws_report_load(store, id, &session) != 0)
        return;
    (void)ws_report_json(session, &json);
    ws_report_free(session);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_store *store = NULL;
    char message[600] = "";
    int err;
    if (!good)
        make_good();
    clear_folder();
    write_edited(data, size);
    err = ws_store_open(&store, path, WS_STORE_READ, message, sizeof message);
    MUST(err <= 0 && (err == 0 || *message));
    if (err == 0)
        show_all(store);
    ws_store_close(err == 0 ? store : NULL);
    err = ws_store_open(&store, path, WS_STORE_WRITE | WS_STORE_MOVE_CORRUPT, message, sizeof message);
    MUST(err == 0 || *message);
    /* What cannot be used is another program's or a newer version's: its owner must decide. The rest was moved. */
    MUST(err == 0 || err == -WS_EINVAL || err == -WS_EVERSION || err == -WS_EPERM || err == -WS_EIO);
    ws_store_close(err == 0 ? store : NULL);
    return 0;
}
