/* SPDX-License-Identifier: MIT
 * export_capture.c: a session from the database back into the frames it came in: one segment for each
 * process, and one for what `warpsight run` knew. Ids of texts are made anew in each segment.
 * What must come back the same after an import: everything that a report shows; test_export.c holds it. */
#include "capture_writer.h"
#include "export.h"

#include "../analyzer/err.h"
#include "../collector/budget.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- texts: a kernel's name, a metric's key, the name of a call --- */

struct texts {
    uint32_t *ids; /* [count], by row id; 0 = not yet told in this segment */
    size_t count;
};

struct export
{
    struct ws_store *store;
    struct ws_capture_writer w;
    int64_t session_id;
    struct ws_session_row row; /* texts in the arena */
    struct ws_arena arena;
    struct ws_kernel_row *kernels; /* [kernel_count], by id; mangled in the arena */
    size_t kernel_count, kernel_cap;
    const struct ws_kernel_row *kernel; /* whose instructions are being written */
    struct ws_process_row *processes;
    size_t process_count, process_cap;
    const char **uuids; /* of the session's devices */
    size_t uuid_count, uuid_cap;
    uint32_t next_text;              /* of the segment */
    struct texts names, keys, calls; /* calls: rows of `text`, opcodes and source files, too */
    int64_t process_id;              /* being written; 0 = the launcher */
    int64_t devices[64];             /* row ids of the process's devices */
    uint32_t ordinals[64];           /* and what it calls them */
    size_t device_count;
    uint32_t series;    /* of samples, being written */
    bool is_incomplete; /* out of memory where a text was kept: the capture must not pass for a whole one */
};

/* The id of a text in this segment; told when new. */
static int text_id(struct export *e, struct texts *t, int64_t row, const char *text, uint32_t *id)
{
    struct ws_rec_string rec = {.text = ws_text_of(text)};
    size_t at = (size_t)row;
    if (row < 0)
        return -WS_ECORRUPT;
    if (at >= t->count) {
        size_t n = at + 256;
        uint32_t *grown = realloc(t->ids, n * sizeof *grown);
        if (!grown)
            return -WS_ENOMEM;
        memset(grown + t->count, 0, (n - t->count) * sizeof *grown);
        t->ids = grown;
        t->count = n;
    }
    *id = t->ids[at];
    if (*id != 0)
        return 0;
    *id = rec.id = t->ids[at] = ++e->next_text;
    return ws_capture_put_string(&e->w, &rec);
}

static void forget_texts(struct texts *t)
{
    if (t->count > 0)
        memset(t->ids, 0, t->count * sizeof *t->ids);
}

static void begin_segment(struct export *e, const char *agent_id, uint32_t pid, int64_t started_ns)
{
    ws_capture_segment(&e->w, agent_id, pid, started_ns);
    e->next_text = 0;
    forget_texts(&e->names);
    forget_texts(&e->keys);
    forget_texts(&e->calls);
}

/* --- what is loaded before --- */

static const char *copy(struct export *e, const char *text)
{
    const char *kept = ws_arena_text(&e->arena, text);
    e->is_incomplete |= !kept;
    return kept ? kept : "";
}

static int load_session(void *state, const struct ws_session_row *row)
{
    struct export *e = state;
    e->row = *row;
    e->row.token = copy(e, row->token);
    e->row.name = copy(e, row->name);
    e->row.source = copy(e, row->source);
    e->row.exe = copy(e, row->exe);
    e->row.argv = copy(e, row->argv);
    e->row.host = copy(e, row->host);
    return 0;
}

/* One more element, not initialised; NULL when out of memory. */
static void *grow(void *array, size_t count, size_t *cap, size_t size)
{
    size_t n = *cap ? *cap * 2 : 64;
    void *grown = count < *cap ? array : realloc(array, n * size);
    if (grown && count >= *cap)
        *cap = n;
    return grown;
}

static int load_device(void *state, const struct ws_device_row *row)
{
    struct export *e = state;
    const char **grown = grow(e->uuids, e->uuid_count, &e->uuid_cap, sizeof *grown);
    if (!grown)
        return -WS_ENOMEM;
    e->uuids = grown;
    e->uuids[e->uuid_count++] = copy(e, row->uuid);
    return 0;
}

static bool has_device(const struct export *e, const char *uuid)
{
    for (size_t i = 0; i < e->uuid_count; i++)
        if (strcmp(e->uuids[i], uuid) == 0)
            return true;
    return false;
}

static int load_kernel(void *state, const struct ws_kernel_row *row)
{
    struct export *e = state;
    struct ws_kernel_row *grown = grow(e->kernels, e->kernel_count, &e->kernel_cap, sizeof *grown);
    if (!grown)
        return -WS_ENOMEM;
    e->kernels = grown;
    e->kernels[e->kernel_count] = *row;
    e->kernels[e->kernel_count++].mangled = copy(e, row->mangled);
    return 0;
}

static int load_process(void *state, const struct ws_process_row *row)
{
    struct export *e = state;
    struct ws_process_row *grown = grow(e->processes, e->process_count, &e->process_cap, sizeof *grown);
    struct ws_process_row *p;
    if (!grown)
        return -WS_ENOMEM;
    e->processes = grown;
    p = &e->processes[e->process_count++];
    *p = *row;
    p->agent_id = copy(e, row->agent_id);
    p->exe = copy(e, row->exe);
    p->argv = copy(e, row->argv);
    p->cwd = copy(e, row->cwd);
    p->host = copy(e, row->host);
    p->boot_id = copy(e, row->boot_id);
    p->rank = copy(e, row->rank);
    p->driver_text = copy(e, row->driver_text);
    p->cupti_path = copy(e, row->cupti_path);
    p->gpu_uuids = copy(e, row->gpu_uuids);
    p->warpsight = copy(e, row->warpsight);
    p->git_commit = copy(e, row->git_commit);
    p->settings = copy(e, row->settings);
    return 0;
}

static const struct ws_kernel_row *find_kernel(const struct export *e, uint64_t id)
{
    size_t low = 0;
    size_t high = e->kernel_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uint64_t)e->kernels[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < e->kernel_count && (uint64_t)e->kernels[low].id == id ? &e->kernels[low] : NULL;
}

/* --- records of a process --- */

/* A JSON array of texts as NUL-separated words, in the arena. */
static struct ws_text words_of(struct export *e, const char *json)
{
    cJSON *tree = cJSON_Parse(json);
    const cJSON *item;
    size_t length = 0;
    size_t used = 0;
    char *words;
    cJSON_ArrayForEach(item, tree)
    {
        if (cJSON_IsString(item))
            length += strlen(item->valuestring) + 1;
    }
    words = ws_arena_take(&e->arena, length + 1);
    e->is_incomplete |= !words || !tree; /* the database holds what we wrote: it can be parsed, given memory */
    cJSON_ArrayForEach(item, tree)
    {
        if (words && cJSON_IsString(item)) {
            size_t n = strlen(item->valuestring) + 1;
            memcpy(words + used, item->valuestring, n);
            used += n;
        }
    }
    cJSON_Delete(tree);
    return ws_text_n(words ? words : "", used);
}

static int write_hello(struct export *e, const struct ws_process_row *p)
{
    struct ws_rec_hello rec = {.agent_id = ws_text_of(p->agent_id),
                               .session_token = ws_text_of(e->row.token),
                               .session_name = ws_text_of(e->row.name),
                               .source = ws_text_of(e->row.source),
                               .pid = p->pid,
                               .ppid = p->ppid,
                               .started_ns = p->started_ns,
                               .exe = ws_text_of(p->exe),
                               .argv = words_of(e, p->argv),
                               .cwd = ws_text_of(p->cwd),
                               .host = ws_text_of(p->host),
                               .boot_id = ws_text_of(p->boot_id),
                               .rank = ws_text_of(p->rank),
                               .driver_version = p->driver_version,
                               .cupti_version = p->cupti_version,
                               .driver_text = ws_text_of(p->driver_text),
                               .cupti_path = ws_text_of(p->cupti_path),
                               .gpu_uuids = ws_text_of(p->gpu_uuids),
                               .warpsight = ws_text_of(p->warpsight),
                               .git_commit = ws_text_of(p->git_commit),
                               .settings = words_of(e, p->settings)};
    return ws_capture_put_hello(&e->w, &rec);
}

static int write_device(void *state, const struct ws_device_row *row)
{
    struct export *e = state;
    const struct ws_device *d = &row->device;
    struct ws_rec_device rec = {.index = d->index,
                                .name = ws_text_of(d->name),
                                .uuid = ws_text_of(row->uuid),
                                .chip = ws_text_of(row->chip),
                                .cc_major = d->cc_major,
                                .cc_minor = d->cc_minor,
                                .sms = d->sms,
                                .memory_bytes = d->memory_bytes,
                                .l2_bytes = d->l2_bytes,
                                .sm_clock_hz = d->sm_clock_hz,
                                .memory_clock_hz = d->memory_clock_hz,
                                .memory_bus_bits = d->memory_bus_bits,
                                .pcie_bytes_per_s = d->pcie_bytes_per_s,
                                .max_warps_per_sm = row->max_warps_per_sm,
                                .smem_bytes_per_sm = row->smem_bytes_per_sm,
                                .smem_optin_bytes = row->smem_optin_bytes,
                                .regs_per_sm = row->regs_per_sm,
                                .async_engines = row->async_engines};
    if (e->device_count < sizeof e->devices / sizeof e->devices[0]) {
        e->devices[e->device_count] = row->id;
        e->ordinals[e->device_count++] = d->index;
    }
    return ws_capture_put_device(&e->w, &rec);
}

static int write_context(void *state, uint32_t context, uint32_t device)
{
    struct export *e = state;
    struct ws_rec_context rec = {.context = context, .device = device};
    return ws_capture_put_context(&e->w, &rec);
}

static uint32_t ordinal_of(const struct export *e, int64_t device_id)
{
    for (size_t i = 0; i < e->device_count; i++)
        if (e->devices[i] == device_id)
            return e->ordinals[i];
    return UINT32_MAX;
}

/* Grid, block and dynamic shared memory, which the store has once a kernel, into a record of one launch of it. */
#define PUT_SHAPE(rec, launch)                                                                             \
    ((rec).grid_x = (launch).grid.x, (rec).grid_y = (launch).grid.y, (rec).grid_z = (launch).grid.z,       \
     (rec).block_x = (launch).block.x, (rec).block_y = (launch).block.y, (rec).block_z = (launch).block.z, \
     (rec).dynamic_smem_bytes = (launch).dynamic_smem_bytes)

static int write_signature(struct export *e, const struct ws_kernel_row *k)
{
    const struct ws_launch *l = &k->launch;
    struct ws_rec_signature rec = {.device = ordinal_of(e, k->device_id),
                                   .grid_x = l->grid.x,
                                   .grid_y = l->grid.y,
                                   .grid_z = l->grid.z,
                                   .block_x = l->block.x,
                                   .block_y = l->block.y,
                                   .block_z = l->block.z,
                                   .dynamic_smem_bytes = l->dynamic_smem_bytes,
                                   .has_attributes = k->has_attributes,
                                   .cluster_x = l->cluster.x,
                                   .cluster_y = l->cluster.y,
                                   .cluster_z = l->cluster.z,
                                   .regs_per_thread = l->regs_per_thread,
                                   .static_smem_bytes = l->static_smem_bytes,
                                   .smem_executed_bytes = k->smem_executed_bytes,
                                   .local_bytes_per_thread = l->local_bytes_per_thread,
                                   .launch_type = k->launch_type,
                                   .carveout_percent = k->carveout_percent};
    int err = text_id(e, &e->names, k->id, k->mangled, &rec.name);
    return err == 0 ? ws_capture_put_signature(&e->w, &rec) : err;
}

static int write_kernel(struct export *e, const struct ws_activity_row *row)
{
    const struct ws_kernel_row *k = find_kernel(e, row->kernel_id);
    struct ws_rec_kernel rec = {.device = row->device,
                                .context = row->context,
                                .stream = row->stream,
                                .correlation = row->correlation,
                                .start_ns = row->start_ns,
                                .end_ns = row->end_ns,
                                .graph = row->graph,
                                .graph_node = row->graph_node};
    int err;
    if (!k)
        return -WS_ECORRUPT;
    rec.grid_x = k->launch.grid.x;
    rec.grid_y = k->launch.grid.y;
    rec.grid_z = k->launch.grid.z;
    rec.block_x = k->launch.block.x;
    rec.block_y = k->launch.block.y;
    rec.block_z = k->launch.block.z;
    rec.cluster_x = k->launch.cluster.x;
    rec.cluster_y = k->launch.cluster.y;
    rec.cluster_z = k->launch.cluster.z;
    rec.regs_per_thread = k->launch.regs_per_thread;
    rec.static_smem_bytes = k->launch.static_smem_bytes;
    rec.dynamic_smem_bytes = k->launch.dynamic_smem_bytes;
    rec.smem_executed_bytes = k->smem_executed_bytes;
    rec.local_bytes_per_thread = k->launch.local_bytes_per_thread;
    rec.launch_type = k->launch_type;
    rec.carveout_percent = k->carveout_percent;
    err = text_id(e, &e->names, k->id, k->mangled, &rec.name);
    return err == 0 ? ws_capture_put_kernel(&e->w, &rec) : err;
}

static int write_memcpy(struct export *e, const struct ws_activity_row *row)
{
    struct ws_rec_memcpy rec = {.device = row->device,
                                .context = row->context,
                                .stream = row->stream,
                                .correlation = row->correlation,
                                .start_ns = row->start_ns,
                                .end_ns = row->end_ns,
                                .bytes = row->kernel_id,
                                .copy_kind = row->copy_kind,
                                .src_kind = row->src_kind,
                                .dst_kind = row->dst_kind,
                                .is_async = row->is_async,
                                .graph_node = row->graph_node,
                                .peer_device = row->peer_device};
    return ws_capture_put_memcpy(&e->w, &rec);
}

static int write_memset(struct export *e, const struct ws_activity_row *row)
{
    struct ws_rec_memset rec = {.device = row->device,
                                .context = row->context,
                                .stream = row->stream,
                                .correlation = row->correlation,
                                .start_ns = row->start_ns,
                                .end_ns = row->end_ns,
                                .bytes = row->kernel_id,
                                .memory_kind = row->src_kind,
                                .is_async = row->is_async,
                                .graph_node = row->graph_node};
    return ws_capture_put_memset(&e->w, &rec);
}

static int write_activity(void *state, const struct ws_activity_chunk *chunk)
{
    struct export *e = state;
    int err = 0;
    if (chunk->process_id != e->process_id)
        return 0;
    for (uint32_t i = 0; err == 0 && i < chunk->rows; i++) {
        struct ws_activity_row row;
        ws_activity_unpack(&row, chunk->data + (size_t)i * WS_ACTIVITY_BYTES);
        if (chunk->kind == WS_ACTIVITY_KERNEL)
            err = write_kernel(e, &row);
        else
            err = chunk->kind == WS_ACTIVITY_MEMCPY ? write_memcpy(e, &row) : write_memset(e, &row);
    }
    return err;
}

static int write_profile(void *state, const struct ws_profile_row *row)
{
    struct export *e = state;
    const struct ws_kernel_row *k = find_kernel(e, (uint64_t)row->kernel_id);
    struct ws_rec_profile rec = row->rec;
    int err;
    if (row->process_id != e->process_id)
        return 0;
    if (!k)
        return -WS_ECORRUPT;
    PUT_SHAPE(rec, k->launch);
    err = text_id(e, &e->names, k->id, k->mangled, &rec.name);
    return err == 0 ? ws_capture_put_profile(&e->w, &rec) : err;
}

static int write_metric(void *state, const struct ws_metric_row *row)
{
    struct export *e = state;
    struct ws_rec_metric rec = {.profile = row->number, .value = row->value.number, .why = row->value.why};
    int err;
    if (row->process_id != e->process_id)
        return 0;
    err = text_id(e, &e->keys, row->key_id, row->key, &rec.key);
    return err == 0 ? ws_capture_put_metric(&e->w, &rec) : err;
}

static int write_instruction(void *state, const struct ws_instruction_row *row)
{
    struct export *e = state;
    const struct ws_kernel_row *k = e->kernel;
    struct ws_rec_instruction rec = row->rec;
    int err;
    if (row->process_id != e->process_id)
        return 0;
    rec.device = ordinal_of(e, k->device_id);
    PUT_SHAPE(rec, k->launch);
    err = text_id(e, &e->names, k->id, k->mangled, &rec.name);
    if (err == 0)
        err = text_id(e, &e->calls, row->opcode_id, row->opcode, &rec.opcode);
    if (err == 0 && row->file_id != 0)
        err = text_id(e, &e->calls, row->file_id, row->file, &rec.file);
    return err == 0 ? ws_capture_put_instruction(&e->w, &rec) : err;
}

static int write_instructions(struct export *e)
{
    int err = 0;
    for (size_t i = 0; err == 0 && i < e->kernel_count; i++) {
        e->kernel = &e->kernels[i];
        err = ws_store_each_instruction(e->store, e->kernel->id, write_instruction, e);
    }
    return err;
}

static int write_pc_sampling(void *state, const struct ws_pc_sampling_row *row)
{
    struct export *e = state;
    return row->process_id == e->process_id ? ws_capture_put_pc_sampling(&e->w, &row->rec) : 0;
}

static int write_pc_sample(void *state, const struct ws_pc_sample_row *row)
{
    struct export *e = state;
    struct ws_rec_pc_sample rec = {
        .context = row->context, .cubin = row->cubin, .pc = row->pc, .samples = row->samples};
    int err;
    if (row->process_id != e->process_id)
        return 0;
    err = text_id(e, &e->calls, row->function_id, row->function, &rec.function);
    if (err == 0)
        err = text_id(e, &e->calls, row->reason_id, row->reason, &rec.reason);
    return err == 0 ? ws_capture_put_pc_sample(&e->w, &rec) : err;
}

static int write_cubin(void *state, const struct ws_cubin_row *row)
{
    struct export *e = state;
    struct ws_rec_cubin rec = {.crc = row->crc,
                               .size = row->size,
                               .offset = row->offset,
                               .bytes = ws_text_n((const char *)row->bytes, row->length)};
    return ws_capture_put_cubin(&e->w, &rec);
}

/* Code is the session's: the first process carries it. */
static int write_pc_samples(struct export *e, bool is_first)
{
    int err = is_first ? ws_store_each_cubin(e->store, e->session_id, write_cubin, e) : 0;
    if (err == 0)
        err = ws_store_each_pc_sampling(e->store, e->session_id, write_pc_sampling, e);
    return err == 0 ? ws_store_each_pc_sample(e->store, e->session_id, write_pc_sample, e) : err;
}

static int write_decision(void *state, const struct ws_decision_row *row)
{
    struct export *e = state;
    const struct ws_kernel_row *k = find_kernel(e, (uint64_t)row->kernel_id);
    struct ws_rec_decision rec = row->rec;
    int err;
    if (row->process_id != e->process_id)
        return 0;
    if (!k)
        return -WS_ECORRUPT;
    rec.device = ordinal_of(e, k->device_id);
    PUT_SHAPE(rec, k->launch);
    err = text_id(e, &e->names, k->id, k->mangled, &rec.name);
    if (err == 0)
        err = ws_capture_put_decision(&e->w, &rec);
    if (err != 0 || !row->is_refused || rec.reason == WS_REASON_BUDGET)
        return err;
    rec.mode = WS_MODE_NONE; /* said after the decision, as the collector does */
    rec.reason = WS_REASON_BUDGET;
    return ws_capture_put_decision(&e->w, &rec);
}

static int write_budget(void *state, const struct ws_budget_row *row)
{
    struct export *e = state;
    return row->process_id == e->process_id ? ws_capture_put_budget(&e->w, &row->rec) : 0;
}

static int write_api(struct export *e, const uint8_t *at, uint32_t length)
{
    struct ws_rec_api rec;
    char name[256];
    int err = ws_wire_get_api(&rec, at, length);
    if (err == 0 && rec.name != 0) {
        err = ws_store_get_text(e->store, rec.name, name, sizeof name);
        if (err == 0)
            err = text_id(e, &e->calls, rec.name, name, &rec.name);
    }
    return err == 0 ? ws_capture_put_api(&e->w, &rec) : err;
}

/* Records of the host are stored as they go on the wire. */
static int write_host(void *state, const struct ws_host_chunk *chunk)
{
    struct export *e = state;
    struct ws_frame frame = {.payload = chunk->data, .length = (uint32_t)chunk->length};
    uint32_t offset = 0;
    const uint8_t *at;
    uint32_t length;
    int more;
    int err = 0;
    if (chunk->process_id != e->process_id)
        return 0;
    while (err == 0 && (more = ws_wire_next_record(&frame, &offset, &at, &length)) != 0) {
        if (more < 0)
            return more;
        err = chunk->type == WS_REC_API ? write_api(e, at, length)
                                        : ws_capture_put_encoded(&e->w, chunk->type, at, length);
    }
    return err;
}

/* As many samples as one frame takes. */
static int write_samples(void *state, const struct ws_pm_chunk *chunk)
{
    struct export *e = state;
    size_t bytes = 8 + 4 * chunk->columns;
    uint32_t fit = (uint32_t)((WS_WIRE_PAYLOAD_MAX - 64) / bytes);
    int err = 0;
    for (uint32_t i = 0; err == 0 && i < chunk->rows; i += fit) {
        uint32_t n = chunk->rows - i < fit ? chunk->rows - i : fit;
        /* Their starts are counted from the chunk's own, wherever it is cut. */
        struct ws_rec_pm_samples rec = {.series = e->series,
                                        .first_ns = chunk->start_ns,
                                        .samples = n,
                                        .data = ws_text_n((const char *)chunk->data + i * bytes, n * bytes)};
        err = ws_capture_put_pm_samples(&e->w, &rec);
    }
    return err;
}

static int write_series(void *state, const struct ws_pm_series_row *row)
{
    struct export *e = state;
    struct ws_rec_pm_series rec = {.series = row->number,
                                   .device = row->device,
                                   .interval_ns = row->interval_ns,
                                   .trigger = row->by_timer,
                                   .keys = ws_text_of(row->keys),
                                   .cupti = ws_text_of(row->cupti)};
    int err;
    if (row->process_id != e->process_id)
        return 0;
    e->series = row->number;
    err = ws_capture_put_pm_series(&e->w, &rec);
    return err == 0 ? ws_store_each_pm_samples(e->store, row, INT64_MIN, INT64_MAX, write_samples, e) : err;
}

static int write_status(void *state, const struct ws_status_row *row)
{
    struct export *e = state;
    struct ws_rec_status rec = {.code = ws_text_of(row->code),
                                .severity = row->severity,
                                .message = ws_text_of(row->message),
                                .remedy = ws_text_of(row->remedy),
                                .count = row->count};
    return row->process_id == e->process_id ? ws_capture_put_status(&e->w, &rec) : 0;
}

static int write_loss(void *state, const struct ws_loss_row *row)
{
    struct export *e = state;
    struct ws_rec_loss rec = {.kind = ws_text_of(row->kind),
                              .reason = ws_text_of(row->reason),
                              .count = row->count,
                              .from_ns = row->from_ns,
                              .to_ns = row->to_ns};
    return row->process_id == e->process_id ? ws_capture_put_loss(&e->w, &rec) : 0;
}

static int write_cost(void *state, const struct ws_cost_row *row)
{
    struct export *e = state;
    struct ws_rec_cost rec = {.what = ws_text_of(row->what), .count = row->count, .total_ns = row->total_ns};
    return row->process_id == e->process_id ? ws_capture_put_cost(&e->w, &rec) : 0;
}

/* Measured roofs of the boards that this session ran on: its rooflines need them wherever it is read. */
static int write_ceiling(void *state, const struct ws_ceiling_row *row)
{
    struct export *e = state;
    struct ws_rec_ceiling rec = {.uuid = ws_text_of(row->uuid),
                                 .driver_version = row->driver_version,
                                 .key = ws_text_of(row->key),
                                 .rate = row->rate.number,
                                 .why = ws_text_of(ws_has(row->rate) ? "" : ws_why_code((enum ws_why)row->rate.why)),
                                 .clock_hz = ws_has(row->clock_hz) ? row->clock_hz.number : 0,
                                 .method = ws_text_of(row->method),
                                 .measured_ns = row->measured_ns};
    bool is_ours = row->driver_version == e->processes[0].driver_version && has_device(e, row->uuid);
    return is_ours ? ws_capture_put_ceiling(&e->w, &rec) : 0;
}

/* What happened besides: of the process, or of the session as a whole (process 0). */
static int write_collection(void *state, const struct ws_collection_row *row)
{
    struct export *e = state;
    struct ws_rec_collection rec = {.at_ns = row->at_ns,
                                    .is_on = row->is_on,
                                    .reason = ws_text_of(row->reason),
                                    .settings = words_of(e, row->settings)};
    return row->process_id == e->process_id ? ws_capture_put_collection(&e->w, &rec) : 0;
}

static int write_rest(struct export *e)
{
    int err = ws_store_each_status(e->store, e->session_id, write_status, e);
    if (err == 0)
        err = ws_store_each_loss(e->store, e->session_id, write_loss, e);
    if (err == 0)
        err = ws_store_each_collection(e->store, e->session_id, write_collection, e);
    return err == 0 ? ws_store_each_cost(e->store, e->session_id, write_cost, e) : err;
}

static int write_process(struct export *e, const struct ws_process_row *p, bool is_first)
{
    struct ws_rec_bye bye = {.ended_ns = p->ended_ns};
    int err;
    begin_segment(e, p->agent_id, p->pid, p->started_ns);
    e->process_id = p->id;
    e->device_count = 0;
    err = write_hello(e, p);
    if (err == 0)
        err = ws_store_each_process_device(e->store, p->id, write_device, e);
    if (err == 0)
        err = ws_store_each_context(e->store, p->id, write_context, e);
    for (size_t i = 0; err == 0 && is_first && i < e->kernel_count; i++)
        err = write_signature(e, &e->kernels[i]);
    if (err == 0 && is_first)
        err = ws_store_each_ceiling(e->store, write_ceiling, e);
    if (err == 0)
        err = ws_store_each_activity(e->store, e->session_id, write_activity, e);
    if (err == 0)
        err = ws_store_each_profile(e->store, e->session_id, write_profile, e);
    if (err == 0)
        err = ws_store_each_metric(e->store, e->session_id, write_metric, e);
    if (err == 0)
        err = write_instructions(e);
    if (err == 0)
        err = ws_store_each_pm_series(e->store, e->session_id, write_series, e);
    if (err == 0)
        err = write_pc_samples(e, is_first);
    if (err == 0)
        err = ws_store_each_decision(e->store, e->session_id, write_decision, e);
    if (err == 0)
        err = ws_store_each_budget(e->store, e->session_id, write_budget, e);
    if (err == 0)
        err = ws_store_each_host(e->store, e->session_id, write_host, e);
    if (err == 0)
        err = write_rest(e);
    if (err == 0 && p->ended_ns != 0)
        err = ws_capture_put_bye(&e->w, &bye);
    return err;
}

/* The launcher's own id is not stored: one that is always the same for a session does as well. */
static void launcher_id(const char *token, char out[33])
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (const char *c = token; *c; c++)
        h = (h ^ (unsigned char)*c) * 1099511628211u;
    snprintf(out, 33, "%016" PRIx64 "%016" PRIx64, h, h * 0x9e3779b97f4a7c15u + 1);
}

static int write_launcher(struct export *e)
{
    char agent_id[33];
    struct ws_rec_run rec = {.session_token = ws_text_of(e->row.token),
                             .session_name = ws_text_of(e->row.name),
                             .exe = ws_text_of(e->row.exe),
                             .argv = words_of(e, e->row.argv),
                             .started_ns = e->row.started_ns,
                             .ended_ns = e->row.ended_ns,
                             .exit_status = (uint32_t)e->row.exit_status,
                             .signal = (uint32_t)e->row.exit_signal,
                             .host = ws_text_of(e->row.host)};
    int err;
    if (!e->row.has_exit && e->process_count > 0)
        return 0;
    launcher_id(e->row.token, agent_id);
    begin_segment(e, agent_id, 0, e->row.started_ns);
    e->process_id = 0;
    err = ws_capture_put_run(&e->w, &rec);
    return err == 0 ? write_rest(e) : err;
}

static int write_all(struct export *e)
{
    int err = ws_store_get_session(e->store, e->session_id, load_session, e);
    if (err == 0)
        err = ws_store_each_kernel(e->store, e->session_id, load_kernel, e);
    if (err == 0)
        err = ws_store_each_process(e->store, e->session_id, load_process, e);
    if (err == 0)
        err = ws_store_each_device(e->store, e->session_id, load_device, e);
    for (size_t i = 0; err == 0 && i < e->process_count; i++)
        err = write_process(e, &e->processes[i], i == 0);
    if (err == 0)
        err = write_launcher(e);
    ws_capture_seal(&e->w);
    if (err == 0 && e->is_incomplete)
        err = -WS_ENOMEM;
    if (err == 0 && ferror(e->w.out))
        err = -WS_EIO;
    return err;
}

int ws_export_capture_to(struct ws_store *store, int64_t session_id, FILE *out)
{
    struct export e = {.store = store, .session_id = session_id, .w = {.out = out}};
    int err;
    e.w.frame = malloc((size_t)WS_WIRE_FRAME_MAX);
    err = e.w.frame ? write_all(&e) : -WS_ENOMEM;
    free(e.w.frame);
    free(e.kernels);
    free(e.processes);
    free(e.uuids);
    free(e.names.ids);
    free(e.keys.ids);
    free(e.calls.ids);
    ws_arena_fini(&e.arena);
    return err;
}

int ws_export_capture(const struct ws_export *e)
{
    return ws_export_capture_to(e->store, e->session->row.id, e->out);
}
