/* SPDX-License-Identifier: MIT
 * import_writer.c: what importers write captures with. */
#include "import_writer.h"

#include "../analyzer/err.h"
#include "sha256.h"
#include "version.h"

#include <stdlib.h>
#include <string.h>

void ws_import_identify(struct ws_import_identity *id, const void *bytes, size_t count)
{
    id->crc = ws_crc32c(id->crc, bytes, count);
    id->bytes += count;
}

int ws_import_begin(struct ws_import_writer *iw, FILE *out)
{
    *iw = (struct ws_import_writer){.w = {.out = out}};
    iw->w.frame = malloc(WS_WIRE_FRAME_MAX);
    iw->err = iw->w.frame ? 0 : -WS_ENOMEM;
    return iw->err;
}

#define WS_RECORD(sym, name, num)                                                           \
    void ws_import_put_##name(struct ws_import_writer *iw, const struct ws_rec_##name *rec) \
    {                                                                                       \
        if (iw->err == 0)                                                                   \
            iw->err = ws_capture_put_##name(&iw->w, rec);                                   \
    }
#include "../collector/wire.def"

/* --- texts --- */

struct ws_import_text {
    char *text; /* NULL = empty */
    uint32_t id;
};

static uint64_t hash(const char *text)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h ^ h >> 29;
}

/* Where a text is, or would be. */
static struct ws_import_text *slot(struct ws_import_text *table, size_t cap, const char *text)
{
    size_t at = (size_t)hash(text) & (cap - 1);
    while (table[at].text && strcmp(table[at].text, text) != 0)
        at = (at + 1) & (cap - 1);
    return &table[at];
}

static int make_room(struct ws_import_writer *iw)
{
    size_t cap = iw->cap ? 2 * iw->cap : 256;
    struct ws_import_text *grown;
    if (2 * (iw->count + 1) <= iw->cap)
        return 0;
    grown = calloc(cap, sizeof *grown);
    if (!grown)
        return -WS_ENOMEM;
    for (size_t i = 0; i < iw->cap; i++)
        if (iw->table[i].text)
            *slot(grown, cap, iw->table[i].text) = iw->table[i];
    free(iw->table);
    iw->table = grown;
    iw->cap = cap;
    return 0;
}

static void forget(struct ws_import_writer *iw)
{
    for (size_t i = 0; i < iw->cap; i++)
        free(iw->table[i].text);
    free(iw->table);
    iw->table = NULL;
    iw->cap = iw->count = 0;
    iw->next_text = 0;
}

uint32_t ws_import_text_id(struct ws_import_writer *iw, const char *text)
{
    struct ws_rec_string rec = {.text = ws_text_of(text)};
    struct ws_import_text *at;
    if (iw->err == 0)
        iw->err = make_room(iw);
    if (iw->err != 0 || *text == 0)
        return 0;
    at = slot(iw->table, iw->cap, text);
    if (at->text)
        return at->id;
    at->text = strdup(text);
    if (!at->text) {
        iw->err = -WS_ENOMEM;
        return 0;
    }
    iw->count++;
    at->id = rec.id = ++iw->next_text;
    ws_import_put_string(iw, &rec);
    return at->id;
}

/* --- segments --- */

static void agent_of(const struct ws_import_identity *id, uint32_t number, char out[33])
{
    uint8_t facts[16];
    uint8_t digest[32];
    for (unsigned i = 0; i < 8; i++)
        facts[i] = (uint8_t)(id->bytes >> (8 * i));
    for (unsigned i = 0; i < 4; i++) {
        facts[8 + i] = (uint8_t)(id->crc >> (8 * i));
        facts[12 + i] = (uint8_t)(number >> (8 * i));
    }
    ws_sha256(facts, sizeof facts, digest);
    for (unsigned i = 0; i < 16; i++)
        snprintf(out + (size_t)2 * i, 3, "%02x", digest[i]);
}

void ws_import_process(struct ws_import_writer *iw, const struct ws_import_identity *id, uint32_t number,
                       const struct ws_rec_hello *hello)
{
    struct ws_rec_hello rec = *hello;
    char agent[33], first[33], token[48];
    if (iw->err != 0)
        return;
    agent_of(id, number, agent);
    agent_of(id, 0, first);
    snprintf(token, sizeof token, "imported-%s", first);
    forget(iw);
    ws_capture_segment(&iw->w, agent, (uint32_t)hello->pid, hello->started_ns);
    rec.agent_id = ws_text_of(agent);
    rec.session_token = ws_text_of(token);
    rec.source = ws_text_of("imported");
    rec.warpsight = ws_text_of(WS_VERSION);
    rec.git_commit = ws_text_of(WS_GIT_COMMIT);
    ws_import_put_hello(iw, &rec);
}

void ws_import_status(struct ws_import_writer *iw, const char *code, const char *message, const char *remedy)
{
    struct ws_rec_status rec = {
        .code = ws_text_of(code), .message = ws_text_of(message), .remedy = ws_text_of(remedy), .count = 1};
    ws_import_put_status(iw, &rec);
}

int ws_import_end(struct ws_import_writer *iw)
{
    if (iw->w.frame)
        ws_capture_seal(&iw->w);
    if (iw->err == 0 && (fflush(iw->w.out) != 0 || ferror(iw->w.out)))
        iw->err = -WS_EIO;
    forget(iw);
    free(iw->w.frame);
    iw->w.frame = NULL;
    return iw->err;
}

void ws_import_name(const char *path, char out[128])
{
    static const char *const ends[] = {".gz", ".csv", ".sqlite", ".db", ".txt"};
    const char *slash = strrchr(path, '/');
    snprintf(out, 128, "%s", slash ? slash + 1 : path);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t n = strlen(out);
        size_t end = strlen(ends[i]);
        if (n > end && strcmp(out + n - end, ends[i]) == 0)
            out[n - end] = 0;
    }
}
