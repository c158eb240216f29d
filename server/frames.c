/* SPDX-License-Identifier: MIT
 * frames.c: frames into rows. Must not trust a byte: lengths are checked by wire.c, references here.
 * The hot path is take_kernel: one hash look-up and one packed row a launch, no SQL.
 * Add a record type: a row in wire.def, a take_ function, a case in take_record. */
#include "frames.h"

#include "../analyzer/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- small hash tables: open addressing, a power of two of slots, never more than half full --- */

struct text_entry {
    uint32_t id; /* 0 = free */
    uint32_t length;
    uint64_t offset; /* into agent.texts */
    int64_t key_id;  /* row of metric_key, 0 = not looked up */
    int64_t text_id; /* row of text, 0 = not looked up */
};

/* A signature of this segment: the name by its id. */
struct sig_entry {
    uint32_t key[8]; /* name, grid, block, dynamic shared memory */
    bool is_used;
    bool has_attributes; /* the row has them */
    int64_t kernel_id;
    struct ws_kernel_delta delta; /* not yet in the database */
};

struct profile_entry {
    uint64_t number;
    int64_t id; /* 0 = free */
};

/* Activity rows on their way. */
struct chunk {
    uint8_t *data; /* [WS_ACTIVITY_ROWS * WS_ACTIVITY_BYTES], made when first needed */
    uint32_t rows;
    int64_t start_ns, end_ns; /* of the rows that have a time; 0,0 when none has */
};

/* Records of the host on their way, as they will be stored. */
struct host_chunk {
    uint8_t *data; /* [HOST_BYTES], made when first needed */
    size_t used;
    uint32_t rows;
};
#define HOST_BYTES ((size_t)256 << 10)
#define HOST_FIRST WS_REC_API
#define HOST_LAST WS_REC_LAUNCH_CALL

#define DEVICES_CACHED 64

/* The last kernel of a stream: two of one stream cannot run at the same time. */
struct stream {
    uint32_t context, stream;
    int64_t start_ns, end_ns; /* 0 = none yet */
};
#define STREAMS_HELD 64 /* of an agent; those that share a place are not compared */
#define OVERLAP_NS 2000 /* clocks of start and end differ by less */
#define CC_OVERLAPS 9   /* from here on a kernel may begin before the one before it ends */

/* What was found lost, held back until the next flush: a file can be wrong a million times. */
struct loss {
    const char *kind, *reason; /* literals */
    uint64_t count;
};
#define LOSSES_HELD 48 /* kinds times reasons that this file knows */

struct agent {
    char id[33];
    char token[256]; /* of the spool's folder, "" = not known */
    uint32_t pid;
    int64_t session_id; /* 0 = not known yet */
    int64_t process_id; /* 0 = none yet */
    uint64_t next_seq;
    uint32_t segment; /* number of its last one */
    bool is_bad;      /* a damaged frame was just skipped: the next gap is its doing */
    bool is_skipped;  /* import: it is in the database already */
    bool has_bye;     /* its last frame was read */
    bool is_launcher; /* sent RUN: it has no process row */
    int64_t device_id[DEVICES_CACHED];
};

struct ids {
    int64_t *at;
    size_t count, cap;
};

struct ws_frames {
    struct ws_store *store;
    bool is_import;
    struct ws_frames_count count;
    struct ids sessions; /* got rows */
    struct ids known;    /* import: were there before */

    struct agent *agents; /* [agent_count] */
    size_t agent_count, agent_cap;
    struct agent *agent; /* the current one */

    /* of the current segment */
    struct text_entry *texts; /* [text_cap] */
    size_t text_count, text_cap;
    char *bytes;
    size_t bytes_used, bytes_cap;
    struct sig_entry *sigs; /* [sig_cap] */
    size_t sig_count, sig_cap;
    struct profile_entry *profiles; /* [profile_cap] */
    size_t profile_count, profile_cap;
    struct chunk chunk[4]; /* by enum ws_activity_kind */
    struct host_chunk host[HOST_LAST - HOST_FIRST + 1];
    struct loss losses[LOSSES_HELD];
    struct stream streams[STREAMS_HELD]; /* of the current agent */
    uint32_t cc_major[DEVICES_CACHED];   /* of its devices; 0 = not told in this segment */
};

static uint64_t mix(uint64_t h)
{
    h ^= h >> 32;
    h *= 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio: spreads low bits upwards */
    return h ^ h >> 29;
}

static uint64_t hash_sig(const uint32_t key[8])
{
    uint64_t h = 0;
    for (int i = 0; i < 8; i += 2)
        h = mix(h ^ ((uint64_t)key[i] << 32 | key[i + 1]));
    return h;
}

static bool text_hash(const void *entry, uint64_t *hash)
{
    const struct text_entry *e = entry;
    *hash = mix(e->id);
    return e->id != 0;
}

static bool sig_hash(const void *entry, uint64_t *hash)
{
    const struct sig_entry *e = entry;
    *hash = hash_sig(e->key);
    return e->is_used;
}

static bool profile_hash(const void *entry, uint64_t *hash)
{
    const struct profile_entry *e = entry;
    *hash = mix(e->number);
    return e->id != 0;
}

/* Twice the slots, every used entry in its new place.
 *   hash  whether an entry is used, and its hash */
static void *grow(const void *table, size_t *cap, size_t size, bool (*hash)(const void *entry, uint64_t *hash))
{
    size_t new_cap = *cap ? *cap * 2 : 64;
    char *grown = calloc(new_cap, size);
    if (!grown)
        return NULL;
    for (size_t i = 0; i < *cap; i++) {
        const char *from = (const char *)table + i * size;
        uint64_t h;
        uint64_t other;
        size_t slot;
        if (!hash(from, &h))
            continue;
        slot = (size_t)h & (new_cap - 1);
        while (hash(grown + slot * size, &other))
            slot = (slot + 1) & (new_cap - 1);
        memcpy(grown + slot * size, from, size);
    }
    *cap = new_cap;
    return grown;
}

/* Room for one more in *table. */
static int make_room(void **table, size_t count, size_t *cap, size_t size,
                     bool (*hash)(const void *entry, uint64_t *hash))
{
    void *grown;
    if (count * 2 < *cap)
        return 0;
    grown = grow(*table, cap, size, hash);
    if (!grown)
        return -WS_ENOMEM;
    free(*table);
    *table = grown;
    return 0;
}

/* --- ids --- */

static bool has_id(const struct ids *ids, int64_t id)
{
    for (size_t i = 0; i < ids->count; i++)
        if (ids->at[i] == id)
            return true;
    return false;
}

static int add_id(struct ids *ids, int64_t id)
{
    if (has_id(ids, id))
        return 0;
    if (ids->count == ids->cap) {
        size_t cap = ids->cap ? ids->cap * 2 : 8;
        int64_t *grown = realloc(ids->at, cap * sizeof *grown);
        if (!grown)
            return -WS_ENOMEM;
        ids->at = grown;
        ids->cap = cap;
    }
    ids->at[ids->count++] = id;
    return 0;
}

/* --- texts --- */

/* The slot of id: its entry, or the free one where it belongs. The table has slots. */
static struct text_entry *text_slot(const struct ws_frames *in, uint32_t id)
{
    size_t slot = (size_t)mix(id) & (in->text_cap - 1);
    while (in->texts[slot].id != 0 && in->texts[slot].id != id)
        slot = (slot + 1) & (in->text_cap - 1);
    return &in->texts[slot];
}

static struct text_entry *find_text(const struct ws_frames *in, uint32_t id)
{
    struct text_entry *e;
    if (id == 0 || in->text_cap == 0)
        return NULL;
    e = text_slot(in, id);
    return e->id == id ? e : NULL;
}

static struct ws_text text_of(const struct ws_frames *in, const struct text_entry *e)
{
    return ws_text_n(in->bytes + e->offset, e->length);
}

static int keep_bytes(struct ws_frames *in, struct ws_text text)
{
    if (in->bytes_cap - in->bytes_used < text.length) {
        size_t cap = in->bytes_cap ? in->bytes_cap : 4096;
        char *grown;
        while (cap - in->bytes_used < text.length)
            cap *= 2;
        grown = realloc(in->bytes, cap);
        if (!grown)
            return -WS_ENOMEM;
        in->bytes = grown;
        in->bytes_cap = cap;
    }
    if (text.length > 0)
        memcpy(in->bytes + in->bytes_used, text.at, text.length);
    in->bytes_used += text.length;
    return 0;
}

static int take_string(struct ws_frames *in, const struct ws_rec_string *rec)
{
    struct text_entry *e;
    void *table = in->texts;
    int err;
    if (rec->id == 0)
        return 0;
    err = make_room(&table, in->text_count, &in->text_cap, sizeof *in->texts, text_hash);
    in->texts = table;
    if (err != 0)
        return err;
    e = text_slot(in, rec->id);
    /* A segment repeats what it announced before; the same text again changes nothing. */
    if (e->id == rec->id && e->length == rec->text.length &&
        (e->length == 0 || memcmp(in->bytes + e->offset, rec->text.at, e->length) == 0))
        return 0;
    if (e->id == 0)
        in->text_count++;
    e->id = rec->id;
    e->offset = in->bytes_used;
    e->length = rec->text.length;
    e->key_id = e->text_id = 0;
    return keep_bytes(in, rec->text);
}

/* --- sessions and processes --- */

static const char *source_of(const struct ws_frames *in, struct ws_text said)
{
    static const char *const kept[] = {"modelled", "recorded", "synthetic", "imported"};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        if (ws_text_is(said, kept[i]))
            return kept[i];
    if (ws_text_is(said, "measured"))
        return in->is_import ? "recorded" : "measured";
    return "imported";
}

/* The session of a token, made when it is missing. In an import a session that was there before marks the agent
 * as skipped. */
static int find_session(struct ws_frames *in, struct ws_text token, const char *source)
{
    struct agent *a = in->agent;
    int64_t id = 0;
    int err;
    if (token.length == 0)
        token = ws_text_of(*a->token ? a->token : a->id);
    err = ws_store_find_token(in->store, token, &id);
    if (err == 0 && in->is_import && !has_id(&in->sessions, id)) {
        a->is_skipped = true;
        return add_id(&in->known, id);
    }
    if (err == -WS_ENOENT)
        err = ws_store_add_session(in->store, token, source, &id);
    if (err != 0)
        return err;
    a->session_id = id;
    return add_id(&in->sessions, id);
}

static int note_mixed_source(struct ws_frames *in, const char *source)
{
    char stands[16];
    int err = ws_store_get_source(in->store, in->agent->session_id, stands);
    struct ws_rec_status rec = {.code = ws_text_of("mixed-sources"), .severity = 1, .count = 1};
    char message[128];
    if (err != 0 || strcmp(stands, source) == 0)
        return err;
    snprintf(message, sizeof message, "a process of this session is %s, the session is %s", source, stands);
    rec.message = ws_text_of(message);
    rec.remedy = ws_text_of("Do not compare their numbers; record each kind as a session of its own.");
    return ws_store_put_status(in->store, in->agent->session_id, in->agent->process_id, &rec);
}

static int take_hello(struct ws_frames *in, const struct ws_rec_hello *rec)
{
    struct agent *a = in->agent;
    const char *source = source_of(in, rec->source);
    int err = 0;
    if (a->session_id == 0)
        err = find_session(in, rec->session_token, source);
    if (err != 0 || a->is_skipped)
        return err;
    err = ws_store_set_session_hello(in->store, a->session_id, source, rec);
    if (err == 0)
        err = ws_store_put_process(in->store, a->session_id, a->id, a->pid, rec, &a->process_id);
    return err == 0 ? note_mixed_source(in, source) : err;
}

static int take_run(struct ws_frames *in, const struct ws_rec_run *rec)
{
    struct agent *a = in->agent;
    int err = find_session(in, rec->session_token, in->is_import ? "recorded" : "measured");
    a->is_launcher = true;
    return err == 0 && !a->is_skipped ? ws_store_set_session_run(in->store, a->session_id, rec) : err;
}

/* Facts came before any HELLO: it was lost. The agent's id must do. */
static int need_process(struct ws_frames *in)
{
    struct agent *a = in->agent;
    int err = 0;
    if (a->process_id != 0 || a->is_skipped)
        return 0;
    if (a->session_id == 0)
        err = find_session(in, ws_text_of(""), in->is_import ? "recorded" : "measured");
    if (err != 0 || a->is_skipped)
        return err;
    return ws_store_put_process(in->store, a->session_id, a->id, a->pid, NULL, &a->process_id);
}

/* --- loss --- */

static void book(struct ws_frames *in, const char *kind, const char *reason, uint64_t count)
{
    for (size_t i = 0; i < LOSSES_HELD; i++) {
        struct loss *l = &in->losses[i];
        if (l->count > 0 && (strcmp(l->kind, kind) != 0 || strcmp(l->reason, reason) != 0))
            continue;
        l->kind = kind;
        l->reason = reason;
        if (__builtin_add_overflow(l->count, count, &l->count))
            l->count = UINT64_MAX;
        return;
    }
}

static int flush_losses(struct ws_frames *in)
{
    struct agent *a = in->agent;
    int err = 0;
    for (size_t i = 0; err == 0 && i < LOSSES_HELD && in->losses[i].count > 0; i++) {
        const struct loss *l = &in->losses[i];
        struct ws_rec_loss rec = {.kind = ws_text_of(l->kind), .reason = ws_text_of(l->reason), .count = l->count};
        err = a->is_launcher ? 0 : need_process(in);
        if (err == 0 && !a->is_skipped && a->session_id != 0)
            err = ws_store_add_loss(in->store, a->session_id, a->process_id, &rec);
    }
    memset(in->losses, 0, sizeof in->losses);
    return err;
}

static void book_frames(struct ws_frames *in, const char *reason, uint64_t count)
{
    in->count.lost_frames += count;
    book(in, "frame", reason, count);
}

/* --- devices, contexts --- */

static int take_device(struct ws_frames *in, const struct ws_rec_device *rec)
{
    struct agent *a = in->agent;
    if (rec->index < DEVICES_CACHED) {
        a->device_id[rec->index] = 0;
        in->cc_major[rec->index] = rec->cc_major;
    }
    return ws_store_put_device(in->store, a->session_id, a->process_id, rec);
}

/* 0 when the process never said which device that is. */
static int find_device(struct ws_frames *in, uint32_t index, int64_t *id)
{
    struct agent *a = in->agent;
    int err;
    *id = index < DEVICES_CACHED ? a->device_id[index] : 0;
    if (*id != 0)
        return 0;
    err = ws_store_find_device(in->store, a->process_id, index, id);
    if (err == -WS_ENOENT) {
        *id = 0;
        return 0;
    }
    if (err == 0 && index < DEVICES_CACHED)
        a->device_id[index] = *id;
    return err;
}

/* --- kernels --- */

static struct sig_entry *sig_slot(const struct ws_frames *in, const uint32_t key[8])
{
    size_t slot = (size_t)hash_sig(key) & (in->sig_cap - 1);
    while (in->sigs[slot].is_used && memcmp(in->sigs[slot].key, key, sizeof in->sigs[slot].key) != 0)
        slot = (slot + 1) & (in->sig_cap - 1);
    return &in->sigs[slot];
}

/* The row of a signature, for the first time in this segment or with attributes for the first time. */
static int look_up_kernel(struct ws_frames *in, struct sig_entry *e, const struct ws_rec_signature *sig)
{
    const struct text_entry *name = find_text(in, sig->name);
    int64_t device_id = 0;
    int err = find_device(in, sig->device, &device_id);
    if (err == 0)
        err = ws_store_put_kernel(in->store, in->agent->session_id, device_id,
                                  name ? text_of(in, name) : ws_text_of("(name lost)"), sig, &e->kernel_id);
    if (err == 0 && sig->has_attributes)
        e->has_attributes = true;
    return err;
}

static int find_kernel(struct ws_frames *in, const struct ws_rec_signature *sig, struct sig_entry **out)
{
    const uint32_t key[8] = {sig->name,    sig->grid_x,  sig->grid_y,  sig->grid_z,
                             sig->block_x, sig->block_y, sig->block_z, sig->dynamic_smem_bytes};
    void *table = in->sigs;
    struct sig_entry *e;
    int err = make_room(&table, in->sig_count, &in->sig_cap, sizeof *in->sigs, sig_hash);
    in->sigs = table;
    if (err != 0)
        return err;
    e = sig_slot(in, key);
    *out = e;
    if (e->is_used)
        return sig->has_attributes && !e->has_attributes ? look_up_kernel(in, e, sig) : 0;
    err = look_up_kernel(in, e, sig);
    if (err != 0)
        return err;
    memcpy(e->key, key, sizeof key);
    e->is_used = true;
    in->sig_count++;
    return 0;
}

/* What a signature begins with, out of any record of one launch: their fields have the same names. */
#define SIGNATURE_OF(rec)                                                                                     \
    .name = (rec)->name, .device = (rec)->device, .grid_x = (rec)->grid_x, .grid_y = (rec)->grid_y,           \
    .grid_z = (rec)->grid_z, .block_x = (rec)->block_x, .block_y = (rec)->block_y, .block_z = (rec)->block_z, \
    .dynamic_smem_bytes = (rec)->dynamic_smem_bytes

static int take_signature(struct ws_frames *in, const struct ws_rec_signature *rec)
{
    struct sig_entry *e;
    return find_kernel(in, rec, &e);
}

/* --- activity --- */

static int flush_chunk(struct ws_frames *in, enum ws_activity_kind kind)
{
    struct chunk *c = &in->chunk[kind];
    int err = 0;
    if (c->rows > 0)
        err = ws_store_add_activity(in->store, in->agent->session_id, in->agent->process_id, kind, c->start_ns,
                                    c->end_ns, c->data, c->rows);
    c->rows = 0;
    c->start_ns = c->end_ns = 0;
    return err;
}

static int add_activity(struct ws_frames *in, enum ws_activity_kind kind, const struct ws_activity_row *row)
{
    struct chunk *c = &in->chunk[kind];
    if (!c->data)
        c->data = malloc((size_t)WS_ACTIVITY_ROWS * WS_ACTIVITY_BYTES);
    if (!c->data)
        return -WS_ENOMEM;
    ws_activity_pack(row, c->data + (size_t)c->rows * WS_ACTIVITY_BYTES);
    c->rows++;
    if (row->end_ns != 0) {
        if (c->end_ns == 0 || row->start_ns < c->start_ns)
            c->start_ns = row->start_ns;
        if (row->end_ns > c->end_ns)
            c->end_ns = row->end_ns;
    }
    return c->rows == WS_ACTIVITY_ROWS ? flush_chunk(in, kind) : 0;
}

#define SPAN_MAX_NS (1ll << 53) /* 104 days: no kernel runs that long, and JSON keeps it exact */

/* A span that a clock can have measured. Anything else (the end before the start, a time before 1970) would turn
 * sums into nonsense: the execution counts as a launch without time. */
static bool is_span(int64_t start_ns, int64_t end_ns)
{
    return start_ns > 0 && end_ns >= start_ns && end_ns - start_ns < SPAN_MAX_NS;
}

/* Whether a kernel ran while the one before it in its stream did. Kernels of graphs keep no order of a stream. */
static bool overlaps(struct ws_frames *in, const struct ws_rec_kernel *rec)
{
    struct stream *s = &in->streams[mix((uint64_t)rec->context << 32 | rec->stream) % STREAMS_HELD];
    uint32_t cc = rec->device < DEVICES_CACHED ? in->cc_major[rec->device] : 0;
    if (cc == 0 || cc >= CC_OVERLAPS || rec->graph != 0 || rec->graph_node != 0)
        return false;
    if (s->end_ns != 0 && s->context == rec->context && s->stream == rec->stream &&
        rec->start_ns + OVERLAP_NS < s->end_ns && s->start_ns + OVERLAP_NS < rec->end_ns)
        return true;
    *s = (struct stream){rec->context, rec->stream, rec->start_ns, rec->end_ns};
    return false;
}

static void add_span(struct ws_kernel_delta *d, int64_t span_ns)
{
    /* Only a hostile file gets here: 292 years of kernel time. */
    if (__builtin_add_overflow(d->total_ns, span_ns, &d->total_ns))
        d->total_ns = INT64_MAX;
    if (d->timed == 0 || span_ns < d->min_ns)
        d->min_ns = span_ns;
    if (d->timed == 0 || span_ns > d->max_ns)
        d->max_ns = span_ns;
    d->timed++;
}

static uint16_t small(uint32_t v)
{
    return v > UINT16_MAX ? UINT16_MAX : (uint16_t)v;
}

static int take_kernel(struct ws_frames *in, const struct ws_rec_kernel *rec)
{
    struct ws_rec_signature sig = {SIGNATURE_OF(rec),
                                   .has_attributes = 1,
                                   .cluster_x = rec->cluster_x,
                                   .cluster_y = rec->cluster_y,
                                   .cluster_z = rec->cluster_z,
                                   .regs_per_thread = rec->regs_per_thread,
                                   .static_smem_bytes = rec->static_smem_bytes,
                                   .smem_executed_bytes = rec->smem_executed_bytes,
                                   .local_bytes_per_thread = rec->local_bytes_per_thread,
                                   .launch_type = rec->launch_type,
                                   .carveout_percent = rec->carveout_percent};
    struct ws_activity_row row = {.start_ns = rec->start_ns,
                                  .end_ns = rec->end_ns,
                                  .correlation = rec->correlation,
                                  .graph_node = rec->graph_node,
                                  .graph = rec->graph,
                                  .stream = rec->stream,
                                  .context = rec->context,
                                  .device = small(rec->device)};
    struct sig_entry *e = NULL;
    int err = find_kernel(in, &sig, &e);
    if (err != 0)
        return err;
    e->delta.launches++;
    in->count.launches++;
    if (is_span(rec->start_ns, rec->end_ns) && overlaps(in, rec)) {
        row.start_ns = row.end_ns = 0;
        book(in, "kernel", "overlap", 1);
    } else if (is_span(rec->start_ns, rec->end_ns)) {
        add_span(&e->delta, rec->end_ns - rec->start_ns);
    } else if (rec->start_ns != 0 || rec->end_ns != 0) {
        row.start_ns = row.end_ns = 0;
        book(in, "kernel", "impossible-time", 1);
    }
    row.kernel_id = (uint64_t)e->kernel_id;
    return add_activity(in, WS_ACTIVITY_KERNEL, &row);
}

/* Copies without a possible time are of no use: they are lost. */
static int take_copy(struct ws_frames *in, enum ws_activity_kind kind, const struct ws_activity_row *row)
{
    if (is_span(row->start_ns, row->end_ns))
        return add_activity(in, kind, row);
    book(in, kind == WS_ACTIVITY_MEMCPY ? "memcpy" : "memset", "impossible-time", 1);
    return 0;
}

static int take_memcpy(struct ws_frames *in, const struct ws_rec_memcpy *rec)
{
    struct ws_activity_row row = {.start_ns = rec->start_ns,
                                  .end_ns = rec->end_ns,
                                  .correlation = rec->correlation,
                                  .graph_node = rec->graph_node,
                                  .kernel_id = rec->bytes,
                                  .stream = rec->stream,
                                  .context = rec->context,
                                  .device = small(rec->device),
                                  .peer_device = small(rec->peer_device),
                                  .copy_kind = (uint8_t)rec->copy_kind,
                                  .src_kind = (uint8_t)rec->src_kind,
                                  .dst_kind = (uint8_t)rec->dst_kind,
                                  .is_async = rec->is_async != 0};
    return take_copy(in, WS_ACTIVITY_MEMCPY, &row);
}

static int take_memset(struct ws_frames *in, const struct ws_rec_memset *rec)
{
    struct ws_activity_row row = {.start_ns = rec->start_ns,
                                  .end_ns = rec->end_ns,
                                  .correlation = rec->correlation,
                                  .graph_node = rec->graph_node,
                                  .kernel_id = rec->bytes,
                                  .stream = rec->stream,
                                  .context = rec->context,
                                  .device = small(rec->device),
                                  .peer_device = small(rec->device),
                                  .src_kind = (uint8_t)rec->memory_kind,
                                  .is_async = rec->is_async != 0};
    return take_copy(in, WS_ACTIVITY_MEMSET, &row);
}

/* --- profiles and their metrics --- */

static struct profile_entry *profile_slot(const struct ws_frames *in, uint64_t number)
{
    size_t slot = (size_t)mix(number) & (in->profile_cap - 1);
    while (in->profiles[slot].id != 0 && in->profiles[slot].number != number)
        slot = (slot + 1) & (in->profile_cap - 1);
    return &in->profiles[slot];
}

static int keep_profile(struct ws_frames *in, uint64_t number, int64_t id)
{
    void *table = in->profiles;
    struct profile_entry *e;
    int err = make_room(&table, in->profile_count, &in->profile_cap, sizeof *in->profiles, profile_hash);
    in->profiles = table;
    if (err != 0)
        return err;
    e = profile_slot(in, number);
    if (e->id == 0)
        in->profile_count++;
    e->number = number;
    e->id = id;
    return 0;
}

static int take_profile(struct ws_frames *in, const struct ws_rec_profile *rec)
{
    struct ws_rec_signature sig = {SIGNATURE_OF(rec)};
    struct agent *a = in->agent;
    struct sig_entry *e = NULL;
    int64_t id = 0;
    int err = find_kernel(in, &sig, &e);
    /* A rotated launch ran with the kernel trace off (collector/activity.h): this is its only record. */
    if (err == 0 && rec->mode == 1)
        e->delta.launches++;
    if (err == 0)
        err = ws_store_put_profile(in->store, a->session_id, a->process_id, e->kernel_id, rec, &id);
    return err == 0 ? keep_profile(in, rec->profile, id) : err;
}

/* The row of a profile that an earlier segment may have brought. */
static int find_profile(struct ws_frames *in, uint64_t number, int64_t *id)
{
    int err;
    if (in->profile_cap > 0) {
        const struct profile_entry *e = profile_slot(in, number);
        if (e->id != 0) {
            *id = e->id;
            return 0;
        }
    }
    err = ws_store_find_profile(in->store, in->agent->process_id, number, id);
    return err == 0 ? keep_profile(in, number, *id) : err;
}

static int take_metric(struct ws_frames *in, const struct ws_rec_metric *rec)
{
    struct text_entry *key = find_text(in, rec->key);
    struct ws_value value;
    int64_t profile_id = 0;
    int err;
    if (!key || key->length == 0) {
        book(in, "metric", "name-lost", 1);
        return 0;
    }
    err = find_profile(in, rec->profile, &profile_id);
    if (err == -WS_ENOENT) {
        book(in, "metric", "profile-lost", 1);
        return 0;
    }
    if (err == 0 && key->key_id == 0)
        err = ws_store_put_metric_key(in->store, text_of(in, key), &key->key_id);
    if (err != 0)
        return err;
    /* A reason of a later version: all we know is that there is no value. */
    if (rec->why != WS_WHY_PRESENT)
        value = ws_missing(rec->why < WS_WHY_COUNT ? (enum ws_why)rec->why : WS_WHY_NOT_VALID, NULL);
    else
        value = ws_value_of(rec->value);
    return ws_store_put_metric(in->store, profile_id, key->key_id, value);
}

/* --- instructions --- */

/* Row of `text` of an interned text; 0: there is none. */
static int find_text_row(struct ws_frames *in, uint32_t id, int64_t *row)
{
    struct text_entry *e = find_text(in, id);
    int err = e && e->text_id == 0 ? ws_store_put_text(in->store, text_of(in, e), &e->text_id) : 0;
    *row = err == 0 && e ? e->text_id : 0;
    return err;
}

static int take_instruction(struct ws_frames *in, const struct ws_rec_instruction *rec)
{
    struct ws_rec_signature sig = {SIGNATURE_OF(rec)};
    struct sig_entry *e = NULL;
    int64_t opcode = 0;
    int64_t file = 0;
    int err = find_kernel(in, &sig, &e);
    if (err == 0)
        err = find_text_row(in, rec->opcode, &opcode);
    if (err == 0)
        err = find_text_row(in, rec->file, &file);
    if (err == 0 && opcode == 0) {
        book(in, "instruction", "name-lost", 1);
        return 0;
    }
    return err == 0 ? ws_store_add_instruction(in->store, in->agent->process_id, e->kernel_id, opcode, file, rec) : err;
}

/* --- PC samples --- */

static int take_pc_sampling(struct ws_frames *in, const struct ws_rec_pc_sampling *rec)
{
    return ws_store_put_pc_sampling(in->store, in->agent->process_id, rec);
}

static int take_pc_sample(struct ws_frames *in, const struct ws_rec_pc_sample *rec)
{
    int64_t function = 0;
    int64_t reason = 0;
    int err = find_text_row(in, rec->function, &function);
    if (err == 0)
        err = find_text_row(in, rec->reason, &reason);
    if (err == 0 && (function == 0 || reason == 0)) {
        book(in, "pc_sample", "name-lost", 1);
        return 0;
    }
    return err == 0 ? ws_store_add_pc_sample(in->store, in->agent->process_id, function, reason, rec) : err;
}

static int take_cubin(struct ws_frames *in, const struct ws_rec_cubin *rec)
{
    bool is_kept = rec->bytes.length > 0;
    if (is_kept
            ? rec->size > WS_CUBIN_BYTES_MAX || rec->offset > rec->size || rec->bytes.length > rec->size - rec->offset
            : rec->offset != 0) {
        book(in, "cubin", "bad-record", 1);
        return 0;
    }
    return ws_store_put_cubin(in->store, in->agent->session_id, rec);
}

/* --- counting --- */

static int take_decision(struct ws_frames *in, const struct ws_rec_decision *rec)
{
    struct ws_rec_signature sig = {SIGNATURE_OF(rec)};
    struct sig_entry *e = NULL;
    int err = find_kernel(in, &sig, &e);
    return err == 0 ? ws_store_put_decision(in->store, in->agent->process_id, e->kernel_id, rec) : err;
}

static int take_budget(struct ws_frames *in, const struct ws_rec_budget *rec)
{
    return ws_store_put_budget(in->store, in->agent->process_id, rec);
}

/* --- the host --- */

static int flush_host(struct ws_frames *in, uint16_t type)
{
    struct host_chunk *c = &in->host[type - HOST_FIRST];
    int err = 0;
    if (c->rows > 0)
        err =
            ws_store_add_host(in->store, in->agent->session_id, in->agent->process_id, type, c->rows, c->data, c->used);
    c->rows = 0;
    c->used = 0;
    return err;
}

/* Room for a record of n bytes; *at is where it goes. */
static int host_room(struct ws_frames *in, uint16_t type, size_t n, uint8_t **at)
{
    struct host_chunk *c = &in->host[type - HOST_FIRST];
    int err = HOST_BYTES - c->used < n ? flush_host(in, type) : 0;
    if (err != 0)
        return err;
    if (!c->data)
        c->data = malloc(HOST_BYTES);
    if (!c->data)
        return -WS_ENOMEM;
    *at = c->data + c->used;
    c->used += n;
    c->rows++;
    return 0;
}

/* A record that is kept as it came. */
#define KEEP(name, type)                                                          \
    static int take_##name(struct ws_frames *in, const struct ws_rec_##name *rec) \
    {                                                                             \
        size_t n = ws_wire_size_##name(rec);                                      \
        uint8_t *at = NULL;                                                       \
        int err = n > HOST_BYTES ? 0 : host_room(in, type, n, &at);               \
        if (n > HOST_BYTES)                                                       \
            book(in, #name, "too-large", 1);                                      \
        if (at)                                                                   \
            ws_wire_put_##name(rec, at, n);                                       \
        return err;                                                               \
    }
KEEP(sync, WS_REC_SYNC)
KEEP(memory, WS_REC_MEMORY)
KEEP(uvm, WS_REC_UVM)
KEEP(copy_call, WS_REC_COPY_CALL)
KEEP(launch_call, WS_REC_LAUNCH_CALL)

/* Names of calls are ids of the segment on the wire, and rows of `text` in the database. */
static int take_api(struct ws_frames *in, const struct ws_rec_api *rec)
{
    struct ws_rec_api kept = *rec;
    size_t n = ws_wire_size_api(rec);
    uint8_t *at = NULL;
    int64_t name = 0;
    int err = find_text_row(in, rec->name, &name);
    if (err == 0)
        err = host_room(in, WS_REC_API, n, &at);
    if (err != 0)
        return err;
    kept.name = (uint32_t)name;
    ws_wire_put_api(&kept, at, n);
    return 0;
}

/* --- samples over time --- */

static int take_pm_series(struct ws_frames *in, const struct ws_rec_pm_series *rec)
{
    int err = ws_store_put_pm_series(in->store, in->agent->session_id, in->agent->process_id, rec);
    if (err == -WS_EINVAL)
        book(in, "pm_series", "bad-record", 1);
    return err == -WS_EINVAL ? 0 : err;
}

static int take_pm_samples(struct ws_frames *in, const struct ws_rec_pm_samples *rec)
{
    int err = ws_store_add_pm_samples(in->store, in->agent->process_id, rec);
    if (err == -WS_EINVAL || err == -WS_ENOENT)
        book(in, "pm_sample", err == -WS_EINVAL ? "bad-record" : "series-lost", rec->samples);
    return err == -WS_EINVAL || err == -WS_ENOENT ? 0 : err;
}

/* --- the rest --- */

static int take_status(struct ws_frames *in, const struct ws_rec_status *rec)
{
    return ws_store_put_status(in->store, in->agent->session_id, in->agent->process_id, rec);
}

static int take_loss(struct ws_frames *in, const struct ws_rec_loss *rec)
{
    return ws_store_add_loss(in->store, in->agent->session_id, in->agent->process_id, rec);
}

static int take_cost(struct ws_frames *in, const struct ws_rec_cost *rec)
{
    return ws_store_put_cost(in->store, in->agent->process_id, rec);
}

static int take_collection(struct ws_frames *in, const struct ws_rec_collection *rec)
{
    return ws_store_put_collection(in->store, in->agent->process_id, rec);
}

static int take_ceiling(struct ws_frames *in, const struct ws_rec_ceiling *rec)
{
    return ws_store_put_ceiling(in->store, rec);
}

static int take_context(struct ws_frames *in, const struct ws_rec_context *rec)
{
    return ws_store_put_context(in->store, in->agent->process_id, rec->context, rec->device);
}

static int take_bye(struct ws_frames *in, const struct ws_rec_bye *rec)
{
    struct agent *a = in->agent;
    int err = ws_store_end_process(in->store, a->process_id, rec->ended_ns);
    a->has_bye = true;
    return err == 0 && !in->is_import ? ws_store_prune_cubins(in->store, a->session_id, a->process_id) : err;
}

/* The launcher's statuses and losses are the session's; everything else belongs to a process. */
static bool needs_process(const struct ws_frames *in, uint16_t type)
{
    if (type == WS_REC_HELLO || type == WS_REC_RUN || type == WS_REC_STRING || type == WS_REC_CEILING)
        return false; /* a ceiling is of a board */
    return !(in->agent->is_launcher && (type == WS_REC_STATUS || type == WS_REC_LOSS || type == WS_REC_BYE));
}

/* Decode one record and hand it on: *good says whether it could be decoded. */
static int take_record(struct ws_frames *in, uint16_t type, const uint8_t *at, uint32_t length, bool *good)
{
    *good = true;
    switch (type) {
#define WS_RECORD(sym, name, num)                      \
    case sym: {                                        \
        struct ws_rec_##name rec;                      \
        if (ws_wire_get_##name(&rec, at, length) == 0) \
            return take_##name(in, &rec);              \
        *good = false;                                 \
        return 0;                                      \
    }
#include "../collector/wire.def"
    default:
        return 0;
    }
}

static int note_unknown_type(struct ws_frames *in, const struct ws_frame *frame)
{
    struct ws_rec_status rec = {.code = ws_text_of("unknown-record"), .severity = 1, .count = 1};
    char message[96];
    int err = in->agent->is_launcher ? 0 : need_process(in);
    book(in, "record", "unknown-type", frame->records);
    if (err != 0 || in->agent->is_skipped || in->agent->session_id == 0)
        return err;
    snprintf(message, sizeof message, "records of type %u were skipped: a newer collector wrote them", frame->type);
    rec.message = ws_text_of(message);
    rec.remedy = ws_text_of("Read the session with the version of WarpSight that recorded it.");
    return ws_store_put_status(in->store, in->agent->session_id, in->agent->process_id, &rec);
}

static int take_frame(struct ws_frames *in, const struct ws_frame *frame)
{
    const char *name = ws_wire_type_name(frame->type);
    uint32_t offset = 0;
    uint64_t taken = 0;
    const uint8_t *at;
    uint32_t length;
    int more;
    int err = 0;
    in->count.frames++;
    if (!name)
        return frame->flags & WS_WIRE_OPTIONAL ? 0 : note_unknown_type(in, frame);
    if (needs_process(in, frame->type))
        err = need_process(in);
    while (err == 0 && !in->agent->is_skipped && (more = ws_wire_next_record(frame, &offset, &at, &length)) != 0) {
        bool good = more > 0;
        if (good)
            err = take_record(in, frame->type, at, length, &good);
        if (!good) {
            /* The checksum was right, so its writer is at fault; nothing after it can be trusted. */
            book(in, name, "bad-record", frame->records > taken ? frame->records - taken : 1);
            break;
        }
        taken++;
    }
    in->count.records += taken;
    if (in->agent->is_skipped)
        in->count.duplicates++;
    return err;
}

/* --- frames --- */

/* Frame numbers tell what is missing. A damaged frame and the gap that it leaves are one loss. */
static bool check_seq(struct ws_frames *in, uint64_t seq)
{
    struct agent *a = in->agent;
    if (seq < a->next_seq) {
        book_frames(in, "out-of-order", 1);
        return false;
    }
    if (seq > a->next_seq)
        book_frames(in, a->is_bad ? "damaged" : "gap", seq - a->next_seq);
    a->is_bad = false;
    a->next_seq = seq + 1;
    return true;
}

/* Skip to the next magic. What was damaged is counted by the frame number that follows, or at the end. */
static size_t skip(struct ws_frames *in, const uint8_t *at, size_t length)
{
    in->agent->is_bad = true;
    return ws_wire_resync(at, length);
}

static bool is_segment(const uint8_t *at, size_t length)
{
    return length >= 8 && memcmp(at, WS_WIRE_SEGMENT_MAGIC, 8) == 0;
}

/* A frame that is cut waits for its rest as long as any may come; a damaged one until its writer is done. */
static bool may_skip(int got, bool is_final, bool at_end)
{
    return got == -WS_ESHORT ? at_end : is_final || at_end;
}

int ws_frames_take(struct ws_frames *in, const uint8_t *at, size_t length, bool is_final, bool at_end, size_t *consumed)
{
    size_t done = 0;
    int err = 0;
    while (err == 0 && done < length) {
        struct ws_frame frame;
        int got = ws_wire_get_frame(&frame, at + done, length - done);
        if (got == 0) {
            if (check_seq(in, frame.seq))
                err = take_frame(in, &frame);
            done += WS_WIRE_FRAME_BYTES + (size_t)frame.length;
            continue;
        }
        if (is_segment(at + done, length - done) || !may_skip(got, is_final, at_end))
            break;
        done += skip(in, at + done, length - done);
    }
    *consumed = done;
    return err;
}

int ws_frames_texts(struct ws_frames *in, const uint8_t *at, size_t length, size_t *consumed)
{
    size_t done = 0;
    int err = 0;
    while (err == 0 && done < length) {
        struct ws_frame frame;
        int got = ws_wire_get_frame(&frame, at + done, length - done);
        uint32_t offset = 0;
        const uint8_t *record;
        uint32_t n;
        if (got == -WS_ESHORT)
            break;
        if (got != 0) {
            done += ws_wire_resync(at + done, length - done);
            continue;
        }
        done += WS_WIRE_FRAME_BYTES + (size_t)frame.length;
        while (err == 0 && frame.type == WS_REC_STRING && ws_wire_next_record(&frame, &offset, &record, &n) == 1) {
            struct ws_rec_string rec;
            if (ws_wire_get_string(&rec, record, n) == 0)
                err = take_string(in, &rec);
        }
    }
    *consumed = done;
    return err;
}

/* --- segments and agents --- */

static int flush_sigs(struct ws_frames *in)
{
    int err = 0;
    for (size_t i = 0; err == 0 && i < in->sig_cap; i++) {
        struct sig_entry *e = &in->sigs[i];
        if (!e->is_used || e->delta.launches == 0)
            continue;
        err = ws_store_add_launches(in->store, e->kernel_id, &e->delta);
        memset(&e->delta, 0, sizeof e->delta);
    }
    return err;
}

int ws_frames_flush(struct ws_frames *in)
{
    int err = 0;
    if (!in->agent)
        return 0;
    for (int kind = WS_ACTIVITY_KERNEL; err == 0 && kind <= WS_ACTIVITY_MEMSET; kind++)
        err = flush_chunk(in, (enum ws_activity_kind)kind);
    for (uint16_t type = HOST_FIRST; err == 0 && type <= HOST_LAST; type++)
        err = flush_host(in, type);
    if (err == 0)
        err = flush_sigs(in);
    return err == 0 ? flush_losses(in) : err;
}

/* Ids of texts end with their segment, and so does all that was found by them. */
int ws_frames_end_segment(struct ws_frames *in)
{
    int err;
    if (in->agent && in->agent->is_bad) {
        /* No frame came after the damage to tell how many it took. */
        book_frames(in, "damaged", 1);
        in->agent->is_bad = false;
    }
    err = ws_frames_flush(in);
    if (in->text_cap > 0)
        memset(in->texts, 0, in->text_cap * sizeof *in->texts);
    if (in->sig_cap > 0)
        memset(in->sigs, 0, in->sig_cap * sizeof *in->sigs);
    if (in->profile_cap > 0)
        memset(in->profiles, 0, in->profile_cap * sizeof *in->profiles);
    in->text_count = in->sig_count = in->profile_count = 0;
    in->bytes_used = 0;
    return err;
}

static struct agent *add_agent(struct ws_frames *in, const char *id)
{
    struct agent *a;
    if (in->agent_count == in->agent_cap) {
        size_t cap = in->agent_cap ? in->agent_cap * 2 : 8;
        struct agent *grown = realloc(in->agents, cap * sizeof *grown);
        if (!grown)
            return NULL;
        in->agents = grown;
        in->agent_cap = cap;
    }
    a = &in->agents[in->agent_count++];
    memset(a, 0, sizeof *a);
    memcpy(a->id, id, sizeof a->id);
    return a;
}

/* What the database knows of an agent that this reader meets for the first time. */
static int recall_agent(struct ws_frames *in, struct agent *a)
{
    int64_t process_id = 0;
    int64_t session_id = 0;
    int err = ws_store_find_agent(in->store, a->id, &process_id, &session_id, &a->has_bye);
    if (err == -WS_ENOENT)
        return 0;
    if (err != 0)
        return err;
    if (in->is_import) {
        a->is_skipped = true;
        return add_id(&in->known, session_id);
    }
    a->process_id = process_id;
    a->session_id = session_id;
    return add_id(&in->sessions, session_id);
}

static int find_agent(struct ws_frames *in, const char *id)
{
    for (size_t i = 0; i < in->agent_count; i++)
        if (strcmp(in->agents[i].id, id) == 0) {
            in->agent = &in->agents[i];
            return 0;
        }
    in->agent = add_agent(in, id);
    return in->agent ? recall_agent(in, in->agent) : -WS_ENOMEM;
}

int ws_frames_segment(struct ws_frames *in, const struct ws_segment_header *header, const char *token,
                      const struct ws_cursor *cursor)
{
    int err = ws_frames_end_segment(in);
    if (err == 0)
        err = find_agent(in, header->agent_id);
    if (err != 0)
        return err;
    memset(in->streams, 0, sizeof in->streams);
    memset(in->cc_major, 0, sizeof in->cc_major);
    in->agent->pid = header->pid;
    in->agent->segment = header->number;
    snprintf(in->agent->token, sizeof in->agent->token, "%s", token);
    if (cursor)
        in->agent->next_seq = cursor->next_seq;
    return 0;
}

static int note_early_end(struct ws_frames *in, const struct agent *a)
{
    struct ws_rec_status rec = {.code = ws_text_of("process-ended-early"), .severity = 1, .count = 1};
    char message[160];
    if (a->has_bye || a->is_launcher || a->is_skipped || a->process_id == 0)
        return 0;
    snprintf(message, sizeof message,
             "process %" PRIu32 " ended without closing its trace (killed, crashed, or replaced by exec): "
             "its last 0.1 s may be missing",
             a->pid);
    rec.message = ws_text_of(message);
    rec.remedy = ws_text_of("Let the program end by itself, or send it SIGTERM and handle that.");
    return ws_store_put_status(in->store, a->session_id, a->process_id, &rec);
}

int ws_frames_killed(struct ws_frames *in)
{
    const struct agent *a = in->agent;
    int err = note_early_end(in, a);
    return err == 0 ? ws_store_prune_cubins(in->store, a->session_id, a->process_id) : err;
}

int ws_frames_finish(struct ws_frames *in)
{
    int err = ws_frames_end_segment(in);
    for (size_t i = 0; err == 0 && i < in->agent_count; i++) {
        const struct agent *a = &in->agents[i];
        struct ws_cursor read = {.segment = a->segment + 1, .next_seq = a->next_seq};
        err = note_early_end(in, a);
        if (err == 0 && !a->is_skipped) /* only now: in a capture the first process tells of the code of all */
            err = ws_store_prune_cubins(in->store, a->session_id, a->process_id);
        /* Should the same segments turn up in a spool, too, they were read already. */
        if (err == 0 && !a->is_skipped)
            err = ws_store_set_cursor(in->store, a->id, &read);
    }
    return err;
}

void ws_frames_count_lost(struct ws_frames *in, uint64_t frames)
{
    in->count.lost_frames += frames;
}

const struct ws_frames_count *ws_frames_counted(const struct ws_frames *in)
{
    return &in->count;
}

uint64_t ws_frames_next_seq(const struct ws_frames *in)
{
    return in->agent->next_seq;
}

bool ws_frames_saw_bye(const struct ws_frames *in)
{
    return in->agent->has_bye;
}

size_t ws_frames_agents(const struct ws_frames *in)
{
    return in->agent_count;
}

const int64_t *ws_frames_sessions(const struct ws_frames *in, size_t *count)
{
    *count = in->sessions.count;
    return in->sessions.at;
}

const int64_t *ws_frames_known_sessions(const struct ws_frames *in, size_t *count)
{
    *count = in->known.count;
    return in->known.at;
}

struct ws_frames *ws_frames_new(struct ws_store *store, bool import)
{
    struct ws_frames *in = calloc(1, sizeof *in);
    if (in) {
        in->store = store;
        in->is_import = import;
    }
    return in;
}

void ws_frames_free(struct ws_frames *in)
{
    if (!in)
        return;
    for (size_t i = 0; i < sizeof in->chunk / sizeof in->chunk[0]; i++)
        free(in->chunk[i].data);
    for (size_t i = 0; i < sizeof in->host / sizeof in->host[0]; i++)
        free(in->host[i].data);
    free(in->sessions.at);
    free(in->known.at);
    free(in->agents);
    free(in->texts);
    free(in->bytes);
    free(in->sigs);
    free(in->profiles);
    free(in);
}
