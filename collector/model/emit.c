/* SPDX-License-Identifier: MIT
 * emit.c: modelled launches as wire frames.
 * One record kind a frame, as the spool writes them; the ingest needs no second path for the model. */
#include "emit.h"

#include "values.h"

#include "../wire.h"

#include "../../analyzer/access.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct string {
    char *text;
};

struct ws_emit {
    uint8_t *bytes;
    size_t n, cap;
    uint64_t seq, records;
    struct string *strings; /* id = index + 1 */
    uint32_t strings_n, strings_cap;
    uint64_t profiles, sampled;
    uint64_t *ordinals; /* launches seen of each string id as a name */
    uint64_t limit;     /* launches of one kernel that get counters, 0 = all */
    bool is_limit_told;
    uint32_t keys[WS_METRIC_COUNT]; /* string ids of the metrics' names, 0 = not yet */
    bool has_failed;
};

static uint8_t *reserve(struct ws_emit *e, size_t more)
{
    if (e->has_failed)
        return NULL;
    if (e->cap - e->n < more) {
        size_t cap = e->cap * 2 + more + 65536;
        uint8_t *bigger = realloc(e->bytes, cap);
        if (!bigger) {
            e->has_failed = true;
            return NULL;
        }
        e->bytes = bigger;
        e->cap = cap;
    }
    return e->bytes + e->n;
}

/* A frame with one record. An older daemon passes over instructions: everything else stands without them. */
#define PUT(e, name, type, rec)                                                                               \
    do {                                                                                                      \
        size_t size = ws_wire_size_##name(rec);                                                               \
        uint8_t *put_at = reserve(e, WS_WIRE_FRAME_BYTES + size);                                             \
        size_t put = put_at ? ws_wire_put_##name(rec, put_at + WS_WIRE_FRAME_BYTES, size) : 0;                \
        if (put == 0) {                                                                                       \
            (e)->has_failed = true;                                                                           \
        } else {                                                                                              \
            ws_wire_seal(put_at, type, (type) == WS_REC_INSTRUCTION ? WS_WIRE_OPTIONAL : 0, (uint32_t)put, 1, \
                         (e)->seq++);                                                                         \
            (e)->n += WS_WIRE_FRAME_BYTES + put;                                                              \
            (e)->records++;                                                                                   \
        }                                                                                                     \
    } while (0)

static uint32_t string_id(struct ws_emit *e, const char *text)
{
    struct ws_rec_string rec;
    for (uint32_t k = 0; k < e->strings_n; k++)
        if (strcmp(e->strings[k].text, text) == 0)
            return k + 1;
    if (e->strings_n == e->strings_cap) {
        uint32_t cap = e->strings_cap ? e->strings_cap * 2 : 128;
        struct string *bigger = realloc(e->strings, cap * sizeof *bigger);
        uint64_t *counts = realloc(e->ordinals, cap * sizeof *counts);
        if (bigger)
            e->strings = bigger;
        if (counts)
            e->ordinals = counts;
        if (!bigger || !counts) {
            e->has_failed = true;
            return 0;
        }
        memset(e->ordinals + e->strings_cap, 0, (cap - e->strings_cap) * sizeof *counts);
        e->strings_cap = cap;
    }
    e->strings[e->strings_n].text = strdup(text);
    if (!e->strings[e->strings_n].text) {
        e->has_failed = true;
        return 0;
    }
    rec.id = ++e->strings_n;
    rec.text = ws_text_of(text);
    PUT(e, string, WS_REC_STRING, &rec);
    return rec.id;
}

/* Counting rules that nobody has held against this GPU. */
static void put_rules(struct ws_emit *e, const struct ws_emit_device *device)
{
    const struct ws_access_rules *rules = ws_access_rules(device->cc_major, device->cc_minor);
    char text[320];
    if (rules && rules->origin == WS_RULES_MEASURED)
        return;
    snprintf(text, sizeof text, "how a GPU of compute capability %u.%u counts memory requests is %s, not measured%s%s",
             device->cc_major, device->cc_minor, rules ? ws_access_origin_name(rules->origin) : "not known",
             rules ? ": " : "", rules ? rules->note : "");
    ws_emit_status(e, "model-rules", 0, text, "counts were held against an H200: leave --gpu out for its rules", 1);
}

struct ws_emit *ws_emit_new(const struct ws_emit_session *session, const struct ws_emit_device *device)
{
    struct ws_emit *e = calloc(1, sizeof *e);
    struct ws_segment_header header = {.number = 0, .pid = session->pid, .started_ns = session->started_ns};
    struct ws_rec_hello hello = {.pid = session->pid, .started_ns = session->started_ns};
    struct ws_rec_device dev = {.index = 0};
    struct ws_rec_context context = {.context = 1, .device = 0};
    uint8_t *at;
    if (!e)
        return NULL;
    at = reserve(e, WS_WIRE_SEGMENT_BYTES);
    if (!at) {
        free(e);
        return NULL;
    }
    memcpy(header.agent_id, session->agent_id, sizeof header.agent_id - 1);
    ws_wire_put_segment(&header, at);
    e->n += WS_WIRE_SEGMENT_BYTES;
    hello.agent_id = ws_text_of(session->agent_id);
    hello.session_token = ws_text_of(session->session_token ? session->session_token : session->agent_id);
    hello.session_name = ws_text_of(session->name);
    hello.source = ws_text_of("modelled");
    hello.exe = ws_text_of(session->exe);
    hello.argv = ws_text_n(session->argv, session->argv_bytes);
    hello.cwd = ws_text_of(session->cwd);
    hello.host = ws_text_of(session->host);
    hello.boot_id = hello.rank = hello.driver_text = hello.cupti_path = hello.gpu_uuids = hello.settings =
        ws_text_of("");
    hello.warpsight = ws_text_of(session->version);
    hello.git_commit = ws_text_of(session->git_commit);
    PUT(e, hello, WS_REC_HELLO, &hello);
    dev.name = ws_text_of(device->name);
    dev.uuid = ws_text_of("modelled-0");
    dev.chip = ws_text_of("");
    dev.cc_major = device->cc_major;
    dev.cc_minor = device->cc_minor;
    dev.sms = device->sms;
    dev.l2_bytes = device->l2_bytes;
    dev.sm_clock_hz = device->sm_clock_hz;
    dev.max_warps_per_sm = device->max_warps_per_sm;
    dev.smem_bytes_per_sm = device->smem_bytes_per_sm;
    dev.smem_optin_bytes = device->smem_optin_bytes;
    dev.regs_per_sm = device->regs_per_sm;
    PUT(e, device, WS_REC_DEVICE, &dev);
    PUT(e, context, WS_REC_CONTEXT, &context);
    put_rules(e, device);
    return e;
}

void ws_emit_set_limit(struct ws_emit *emit, uint64_t launches)
{
    emit->limit = launches;
}

/* Whether a launch of this name still gets counters. */
static bool has_counters(struct ws_emit *e, uint32_t name)
{
    char text[96];
    if (e->limit == 0 || e->ordinals[name - 1] < e->limit)
        return true;
    snprintf(text, sizeof text, "only the first %" PRIu64 " launches of each kernel have counters", e->limit);
    if (!e->is_limit_told)
        ws_emit_status(e, "model-launch-limit", 0, text, "later launches are counted as launches", 1);
    e->is_limit_told = true;
    return false;
}

static void put_kernel(struct ws_emit *e, uint32_t name, const struct ws_model_launch *l,
                       const struct ws_model_result *r, uint32_t regs)
{
    struct ws_rec_kernel k = {.name = name, .context = 1, .correlation = e->profiles};
    k.grid_x = l->grid[0];
    k.grid_y = l->grid[1];
    k.grid_z = l->grid[2];
    k.block_x = l->block[0];
    k.block_y = l->block[1];
    k.block_z = l->block[2];
    k.cluster_x = l->cluster[0]; /* 0: as the kernel says */
    k.cluster_y = l->cluster[1];
    k.cluster_z = l->cluster[2];
    k.regs_per_thread = regs;
    k.static_smem_bytes = r->static_smem_bytes;
    k.dynamic_smem_bytes = l->dynamic_smem_bytes;
    k.carveout_percent = UINT32_MAX;
    PUT(e, kernel, WS_REC_KERNEL, &k);
}

static void put_number(struct ws_emit *e, uint64_t profile, const char *key, double value)
{
    struct ws_rec_metric rec = {.profile = profile, .key = string_id(e, key), .value = value};
    PUT(e, metric, WS_REC_METRIC, &rec);
}

/* Two numbers beside the counts, for whoever shows them; the session's warning comes at its end. */
static void put_sample(struct ws_emit *e, uint64_t profile, const struct ws_model_result *r)
{
    put_number(e, profile, WS_MODEL_BLOCKS_KEY, (double)r->blocks_run);
    put_number(e, profile, WS_MODEL_INTERVAL_KEY, r->interval);
    e->sampled++;
}

static void put_grade(struct ws_emit *e, uint64_t profile, const char *metric, uint8_t grade)
{
    char key[96];
    snprintf(key, sizeof key, WS_MODEL_GRADE_PREFIX "%s", metric);
    put_number(e, profile, key, grade);
}

static void put_sampled_warning(struct ws_emit *e)
{
    char text[128];
    snprintf(text, sizeof text, "of %llu of %llu launches a part of the blocks ran: their counts are estimates",
             (unsigned long long)e->sampled, (unsigned long long)e->profiles);
    ws_emit_status(e, "model-sampled", 0, text,
                   "each kernel says how many; leave sample and budget out for exact counts", 1);
}

static void put_textures(struct ws_emit *e, uint64_t profile, const struct ws_model_counts *c)
{
    if (c->textures)
        put_number(e, profile, WS_MODEL_TEXTURES_KEY, (double)c->textures);
    if (c->surfaces)
        put_number(e, profile, WS_MODEL_SURFACES_KEY, (double)c->surfaces);
    if (c->textures || c->surfaces)
        ws_emit_status(
            e, "model-textures", 0,
            "kernels read textures or surfaces: their instructions are counted, their sectors are not known, "
            "for how a GPU lays out arrays is not published; no count of global memory has them, on a GPU neither",
            "measure on a GPU for the traffic of textures", 1);
}

static const char *remedy_of(const struct ws_model_issue *issue)
{
    switch (issue->check) {
    case WS_CHECK_UNINIT:
        return "write it before; a GPU gives any value here";
    case WS_CHECK_RACES:
        return issue->is_hint ? "put __syncwarp() between the two accesses" : "put __syncthreads() between the two";
    case WS_CHECK_BARRIER:
        return "let all threads of the block reach the barrier";
    default:
        return "mend the kernel: on a GPU this fault ends the program";
    }
}

void ws_emit_launch(struct ws_emit *emit, const char *name, const struct ws_model_launch *launch,
                    const struct ws_model_result *result, uint32_t regs_per_thread)
{
    struct ws_value raw[WS_METRIC_COUNT];
    struct ws_rec_profile p = {.context = 1, .mode = 0, .passes = 1, .pass_index = UINT32_MAX};
    uint32_t id = string_id(emit, name);
    if (id == 0)
        return;
    p.profile = p.correlation = ++emit->profiles;
    p.name = id;
    p.ordinal = emit->ordinals[id - 1];
    p.grid_x = launch->grid[0];
    p.grid_y = launch->grid[1];
    p.grid_z = launch->grid[2];
    p.block_x = launch->block[0];
    p.block_y = launch->block[1];
    p.block_z = launch->block[2];
    p.dynamic_smem_bytes = launch->dynamic_smem_bytes;
    put_kernel(emit, id, launch, result, regs_per_thread);
    if (!has_counters(emit, id))
        return;
    emit->ordinals[id - 1]++;
    PUT(emit, profile, WS_REC_PROFILE, &p);
    ws_model_values(&result->counts, raw);
    for (int k = 0; k < WS_METRIC_COUNT; k++) {
        const struct ws_metric *m = ws_metric_get((enum ws_metric_id)k);
        struct ws_rec_metric rec = {.profile = p.profile, .value = raw[k].number, .why = raw[k].why};
        if (m->kind != WS_KIND_RAW)
            continue;
        if (emit->keys[k] == 0)
            emit->keys[k] = string_id(emit, m->key);
        rec.key = emit->keys[k];
        PUT(emit, metric, WS_REC_METRIC, &rec);
        if (raw[k].grade != WS_GRADE_EXACT)
            put_grade(emit, p.profile, m->key, raw[k].grade);
    }
    if (result->is_sampled)
        put_sample(emit, p.profile, result);
    put_textures(emit, p.profile, &result->counts);
    for (uint32_t k = 0; k < result->issues_n; k++) {
        const struct ws_model_issue *issue = &result->issues[k];
        char code[32];
        snprintf(code, sizeof code, "model-%s", ws_model_check_name(issue->check));
        ws_emit_status(emit, code, issue->is_hint ? 1 : 2, issue->text, remedy_of(issue), issue->count);
    }
    if (result->is_stopped && result->stop != WS_MODEL_STOP_CANCELLED) /* Ctrl-C is told by whoever asked for it */
        ws_emit_status(emit, "model-stopped", 1,
                       "a launch was stopped at its bound of instructions: its counts are too low",
                       "raise --max-instructions, or model fewer blocks", 1);
    if (result->counts.fp_is_lower_bound)
        ws_emit_status(
            emit, "model-fp-lower-bound", 0,
            "a kernel divides or takes roots of values near the end of the number range, or rounds otherwise than to "
            "nearest: SASS calls functions there whose floating-point work the model does not see",
            "measure on a GPU for the exact FLOP", 1);
}

/* Where a kind of memory work goes, and what it does there. */
static const struct {
    uint32_t space, access;
} kinds[WS_MODEL_KIND_COUNT] = {
    [WS_MODEL_GLOBAL_LD] = {WS_SPACE_GLOBAL, WS_MEMORY_OP_LOAD},
    [WS_MODEL_GLOBAL_ST] = {WS_SPACE_GLOBAL, WS_MEMORY_OP_STORE},
    [WS_MODEL_SHARED_LD] = {WS_SPACE_SHARED, WS_MEMORY_OP_LOAD},
    [WS_MODEL_SHARED_ST] = {WS_SPACE_SHARED, WS_MEMORY_OP_STORE},
    [WS_MODEL_LOCAL_LD] = {WS_SPACE_LOCAL, WS_MEMORY_OP_LOAD},
    [WS_MODEL_LOCAL_ST] = {WS_SPACE_LOCAL, WS_MEMORY_OP_STORE},
    [WS_MODEL_GLOBAL_ATOMIC] = {WS_SPACE_GLOBAL, WS_MEMORY_OP_ATOMIC},
    [WS_MODEL_GLOBAL_RED] = {WS_SPACE_GLOBAL, WS_MEMORY_OP_ATOMIC},
    [WS_MODEL_SHARED_ATOMIC] = {WS_SPACE_SHARED, WS_MEMORY_OP_ATOMIC},
    [WS_MODEL_CONST_LD] = {WS_SPACE_CONSTANT, WS_MEMORY_OP_LOAD},
    [WS_MODEL_MATRIX_LD] = {WS_SPACE_SHARED, WS_MEMORY_OP_LOAD},
    [WS_MODEL_MATRIX_ST] = {WS_SPACE_SHARED, WS_MEMORY_OP_STORE},
    [WS_MODEL_ASYNC_COPY] = {WS_SPACE_GLOBAL, WS_MEMORY_OP_ASYNC_COPY},
};

void ws_emit_instructions(struct ws_emit *emit, const char *name, const struct ws_model_launch *launch,
                          const struct ws_model_result *result, const char *(*file_of)(void *state, uint32_t number),
                          void *state)
{
    struct ws_rec_instruction i = {.code = WS_CODE_PTX, .launches = 1};
    i.name = string_id(emit, name);
    i.grid_x = launch->grid[0];
    i.grid_y = launch->grid[1];
    i.grid_z = launch->grid[2];
    i.block_x = launch->block[0];
    i.block_y = launch->block[1];
    i.block_z = launch->block[2];
    i.dynamic_smem_bytes = launch->dynamic_smem_bytes;
    for (uint32_t k = 0; k < result->rows_n; k++) {
        const struct ws_model_row *row = &result->rows[k];
        const char *file = row->runs && row->source_line ? file_of(state, row->source_file) : NULL;
        if (row->runs == 0)
            continue;
        i.at = row->ptx_line;
        i.opcode = string_id(emit, row->opcode);
        i.file = file ? string_id(emit, file) : 0;
        i.line = file ? row->source_line : 0;
        i.space = row->is_memory ? kinds[row->kind].space : WS_SPACE_NONE;
        i.access = row->is_memory ? kinds[row->kind].access : WS_MEMORY_OP_NONE;
        i.runs = row->runs;
        i.lanes = row->lanes;
        i.diverged = row->diverged;
        i.requests = row->memory.requests;
        i.bytes = row->memory.bytes;
        i.sectors = row->memory.sectors;
        i.ideal_sectors = row->memory.ideal_sectors;
        i.wavefronts = row->memory.wavefronts;
        i.ideal_wavefronts = row->memory.ideal_wavefronts;
        PUT(emit, instruction, WS_REC_INSTRUCTION, &i);
    }
}

void ws_emit_status(struct ws_emit *emit, const char *code, uint32_t severity, const char *message, const char *remedy,
                    uint64_t count)
{
    struct ws_rec_status rec = {.severity = severity, .count = count};
    rec.code = ws_text_of(code);
    rec.message = ws_text_of(message);
    rec.remedy = ws_text_of(remedy);
    PUT(emit, status, WS_REC_STATUS, &rec);
}

const uint8_t *ws_emit_drain(struct ws_emit *emit, size_t *bytes)
{
    *bytes = emit->n;
    emit->n = 0;
    return emit->has_failed ? NULL : emit->bytes;
}

const uint8_t *ws_emit_finish(struct ws_emit *emit, int64_t ended_ns, size_t *bytes)
{
    struct ws_rec_bye bye = {.ended_ns = ended_ns};
    if (emit->sampled)
        put_sampled_warning(emit);
    bye.records = emit->records + 1;
    PUT(emit, bye, WS_REC_BYE, &bye);
    if (emit->has_failed)
        return NULL;
    *bytes = emit->n;
    return emit->bytes;
}

void ws_emit_free(struct ws_emit *emit)
{
    if (!emit)
        return;
    for (uint32_t k = 0; k < emit->strings_n; k++)
        free(emit->strings[k].text);
    free(emit->strings);
    free(emit->ordinals);
    free(emit->bytes);
    free(emit);
}
