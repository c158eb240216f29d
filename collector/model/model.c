/* SPDX-License-Identifier: MIT
 * model.c: the public face of the SIMT model: modules, names, memory, launches.
 * Execution is launch.c, results are result.c. */
#include "model.h"

#include "check.h"
#include "launch.h"
#include "memory.h"
#include "result.h"
#include "sample.h"

#include "../../analyzer/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* More than any test launch needs; a spec from a stranger must not take the machine's memory. */
#define LIMIT_MEMORY (32ull << 30)
#define LIMIT_SMEM (227u << 10)
#define LIMIT_CLUSTER 16u
/* Blocks that are resident together are all in memory at once. */
#define LIMIT_RESIDENT (8ull << 30)
#define WORKSPACE_BYTES 512u

struct ws_model {
    char *text;
    struct ptx_module *module;
    struct memory *memory;
    bool owns_memory;
    uint32_t *kernels; /* function numbers */
    char **names;
    uint32_t kernels_n;
    uint64_t *variables; /* [module->vars_n] address, 0 = none */
    uint64_t params;     /* device address of the parameter block */
    uint64_t workspace;  /* of cooperative launches, 0 = none yet */
};

#define PARAMS_BYTES 32768u

/* Of a variable or a function; 0: there is none. */
static uint64_t symbol_address(const struct ws_model *m, struct ptx_name name)
{
    const struct ptx_module *p = m->module;
    const struct ptx_func *f = ptx_find_func(p, name);
    if (f)
        return FUNCTION_WINDOW | ((uint64_t)(f - p->funcs) + 1) * FUNCTION_STEP;
    for (uint32_t t = 0; t < p->vars_n; t++)
        if (m->variables[t] && ptx_name_equal(p->vars[t].name, name))
            return m->variables[t];
    return 0;
}

static int allocate_variables(struct ws_model *m)
{
    struct ptx_module *p = m->module;
    m->variables = calloc(p->vars_n + 1, sizeof *m->variables);
    if (!m->variables)
        return -WS_ENOMEM;
    for (uint32_t v = 0; v < p->vars_n; v++) {
        bool is_device = p->vars[v].space == PTX_SPACE_GLOBAL || p->vars[v].space == PTX_SPACE_CONST;
        int err;
        if (!is_device || p->vars[v].bytes == 0)
            continue;
        err = memory_alloc(m->memory, p->vars[v].bytes, &m->variables[v]);
        if (err)
            return err;
        (void)memory_label(m->memory, m->variables[v], p->vars[v].name.at, p->vars[v].name.length);
        if (p->vars[v].init)
            memcpy((void *)(uintptr_t)m->variables[v], p->vars[v].init, p->vars[v].bytes);
    }
    for (uint32_t v = 0; v < p->vars_n; v++)
        for (uint32_t r = 0; m->variables[v] && r < p->vars[v].relocs_n; r++) {
            const struct ptx_reloc *reloc = &p->vars[v].relocs[r];
            uint64_t a = symbol_address(m, reloc->symbol) + (uint64_t)reloc->addend;
            memcpy((uint8_t *)(uintptr_t)m->variables[v] + reloc->offset, &a, reloc->bytes < 8 ? reloc->bytes : 8);
        }
    return 0;
}

static int list_kernels(struct ws_model *m)
{
    const struct ptx_module *p = m->module;
    m->kernels = calloc(p->funcs_n + 1, sizeof *m->kernels);
    m->names = calloc(p->funcs_n + 1, sizeof *m->names);
    if (!m->kernels || !m->names)
        return -WS_ENOMEM;
    for (uint32_t f = 0; f < p->funcs_n; f++) {
        if (!p->funcs[f].is_entry || !p->funcs[f].has_body)
            continue;
        m->names[m->kernels_n] = strndup(p->funcs[f].name.at, p->funcs[f].name.length);
        if (!m->names[m->kernels_n])
            return -WS_ENOMEM;
        m->kernels[m->kernels_n++] = f;
    }
    return 0;
}

static bool give_memory(struct ws_model *m, const struct ws_model *beside)
{
    m->owns_memory = !beside;
    m->memory = beside ? beside->memory : malloc(sizeof *m->memory);
    if (m->memory && !beside)
        memory_init(m->memory, LIMIT_MEMORY);
    return m->memory != NULL;
}

int ws_model_new_beside(const char *ptx, size_t length, const struct ws_model *beside, struct ws_model **out,
                        char *error)
{
    struct ws_model *m = calloc(1, sizeof *m);
    int err = -WS_ENOMEM;
    snprintf(error, WS_MODEL_ERROR_BYTES, "out of memory");
    if (!m)
        return err;
    if (!give_memory(m, beside))
        goto fail;
    m->text = malloc(length + 1);
    if (!m->text)
        goto fail;
    memcpy(m->text, ptx, length);
    m->text[length] = '\0';
    err = ptx_parse(m->text, length, &m->module, error, WS_MODEL_ERROR_BYTES);
    if (err)
        goto fail;
    err = list_kernels(m);
    if (!err)
        err = allocate_variables(m);
    if (!err)
        err = memory_alloc(m->memory, PARAMS_BYTES, &m->params);
    if (err) {
        snprintf(error, WS_MODEL_ERROR_BYTES, "%s", ws_err_text(err));
        goto fail;
    }
    error[0] = '\0';
    *out = m;
    return 0;
fail:
    ws_model_free(m);
    return err;
}

int ws_model_new(const char *ptx, size_t length, struct ws_model **out, char *error)
{
    return ws_model_new_beside(ptx, length, NULL, out, error);
}

void ws_model_free(struct ws_model *model)
{
    if (!model)
        return;
    for (uint32_t k = 0; k < model->kernels_n; k++)
        free(model->names[k]);
    free(model->names);
    free(model->kernels);
    free(model->variables);
    if (model->owns_memory && model->memory) {
        memory_fini(model->memory);
        free(model->memory);
    }
    ptx_free(model->module);
    free(model->text);
    free(model);
}

const char *ws_model_kernel_name(const struct ws_model *model, uint32_t index)
{
    return index < model->kernels_n ? model->names[index] : NULL;
}

const char *ws_model_source_file(const struct ws_model *model, uint32_t number, uint32_t *length)
{
    const struct ptx_module *p = model->module;
    for (uint32_t k = 0; k < p->files_n; k++)
        if (p->files[k].number == number) {
            *length = p->files[k].path.length;
            return p->files[k].path.at;
        }
    return NULL;
}

/* --- names --- */

/* The source name inside a mangled one: "bar" of _ZN3foo3barE…; the whole name when it is not mangled. */
static struct ptx_name source_name(const char *mangled)
{
    struct ptx_name name = {mangled, (uint32_t)strlen(mangled)};
    const char *p = mangled;
    bool is_nested;
    if (strncmp(p, "_Z", 2) != 0)
        return name;
    p += 2;
    is_nested = *p == 'N';
    p += is_nested;
    for (;;) {
        char *after;
        unsigned long n;
        while (*p == 'L' || *p == 'K')
            p++;
        if (*p < '0' || *p > '9')
            return name;
        n = strtoul(p, &after, 10);
        if (n > strlen(after))
            return name;
        name.at = after;
        name.length = (uint32_t)n;
        p = after + n;
        if (!is_nested)
            return name;
    }
}

int ws_model_find(const struct ws_model *model, const char *name, uint32_t *index)
{
    uint32_t found[2] = {0}, at[2] = {0};
    for (uint32_t k = 0; k < model->kernels_n; k++) {
        if (strcmp(model->names[k], name) == 0) {
            *index = k;
            return 0;
        }
        if (ptx_name_is(source_name(model->names[k]), name)) {
            found[0]++;
            at[0] = k;
        }
        if (strstr(model->names[k], name)) {
            found[1]++;
            at[1] = k;
        }
    }
    for (int pass = 0; pass < 2; pass++) {
        if (found[pass] > 1)
            return -WS_EINVAL;
        if (found[pass] == 1) {
            *index = at[pass];
            return 0;
        }
    }
    return -WS_ENOENT;
}

static const struct ptx_func *kernel_of(const struct ws_model *model, uint32_t kernel)
{
    return &model->module->funcs[model->kernels[kernel]];
}

uint32_t ws_model_param_count(const struct ws_model *model, uint32_t kernel)
{
    return kernel < model->kernels_n ? kernel_of(model, kernel)->params_n : 0;
}

int ws_model_param(const struct ws_model *model, uint32_t kernel, uint32_t k, struct ws_model_param *out)
{
    uint64_t at = 0;
    if (kernel >= model->kernels_n || k >= kernel_of(model, kernel)->params_n)
        return -WS_ENOENT;
    for (uint32_t p = 0;; p++) {
        const struct ptx_var *v = &model->module->vars[kernel_of(model, kernel)->params[p]];
        at = (at + v->align - 1) & ~(uint64_t)(v->align - 1);
        if (p == k) {
            *out = (struct ws_model_param){(uint32_t)at, (uint32_t)v->bytes, v->align};
            return 0;
        }
        at += v->bytes;
    }
}

int ws_model_shape(const struct ws_model *model, uint32_t kernel, struct ws_model_shape *out)
{
    struct code *code = NULL;
    const struct ptx_func *f;
    int err;
    if (kernel >= model->kernels_n)
        return -WS_ENOENT;
    f = kernel_of(model, kernel);
    err = code_make(model->module, f, exec_table("base"), false, &code);
    if (!err && code->refusal[0])
        err = -WS_EUNSUP;
    if (!err)
        *out = (struct ws_model_shape){(uint32_t)code->ptxas_smem, (uint32_t)code->local_bytes,
                                       f->maxntid[0] * f->maxntid[1] * f->maxntid[2]};
    code_free(code);
    return err;
}

/* --- memory --- */

int ws_model_alloc(struct ws_model *model, uint64_t bytes, uint64_t *addr)
{
    return memory_alloc(model->memory, bytes, addr);
}

int ws_model_adopt(struct ws_model *model, uint64_t addr, uint64_t bytes)
{
    return memory_adopt(model->memory, addr, bytes);
}

int ws_model_release(struct ws_model *model, uint64_t addr)
{
    return memory_free(model->memory, addr);
}

void *ws_model_at(struct ws_model *model, uint64_t addr, uint64_t bytes)
{
    uint64_t lo, hi;
    if (!memory_find(model->memory, addr, &lo, &hi) || hi - addr < bytes)
        return NULL;
    return (void *)(uintptr_t)addr;
}

int ws_model_label(struct ws_model *model, uint64_t addr, const char *label)
{
    return memory_label(model->memory, addr, label, strlen(label));
}

int ws_model_undefine(struct ws_model *model, uint64_t addr)
{
    return memory_undefine(model->memory, addr);
}

void ws_model_define(struct ws_model *model, uint64_t addr, uint64_t bytes)
{
    memory_define(model->memory, addr, bytes);
}

const char *ws_model_check_name(unsigned check)
{
    switch (check) {
    case WS_CHECK_BOUNDS:
        return "bounds";
    case WS_CHECK_ALIGN:
        return "align";
    case WS_CHECK_BARRIER:
        return "barrier";
    case WS_CHECK_UNINIT:
        return "uninit";
    case WS_CHECK_RACES:
        return "races";
    default:
        return "trap";
    }
}

static unsigned check_of(const char *name, size_t length)
{
    if (length == 3 && memcmp(name, "all", 3) == 0)
        return WS_CHECK_ALL;
    for (unsigned bit = 1; bit <= WS_CHECK_ALL; bit <<= 1)
        if (strlen(ws_model_check_name(bit)) == length && memcmp(ws_model_check_name(bit), name, length) == 0)
            return bit;
    return 0;
}

int ws_model_check_parse(const char *text, unsigned *checks)
{
    unsigned all = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        unsigned one = check_of(text, length);
        if (one == 0)
            return -WS_EINVAL;
        all |= one;
        if (text[length] == '\0')
            break;
        text += length + 1;
    }
    *checks = all;
    return 0;
}

int ws_model_sample_parse(const char *text, uint32_t *blocks)
{
    char *end;
    unsigned long n;
    if (strcmp(text, "auto") == 0) {
        *blocks = WS_SAMPLE_AUTO;
        return 0;
    }
    if (strcmp(text, "off") == 0) {
        *blocks = 0;
        return 0;
    }
    n = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || n < 2 || n > 1ul << 30)
        return -WS_EINVAL;
    *blocks = (uint32_t)n;
    return 0;
}

int ws_model_budget_parse(const char *text, double *seconds, uint64_t *instructions)
{
    char *end;
    double n = strtod(text, &end);
    double scale = *end == 'k' ? 1e3 : *end == 'M' ? 1e6 : *end == 'G' ? 1e9 : 1;
    bool is_time = strcmp(end, "s") == 0;
    if (scale > 1)
        end++;
    if (end == text || !(n > 0) || n * scale >= 1e18 || (*end != '\0' && !is_time))
        return -WS_EINVAL;
    *seconds = is_time ? n : 0;
    *instructions = is_time ? 0 : (uint64_t)(n * scale);
    return 0;
}

int ws_model_texture_new(struct ws_model *model, const struct ws_model_texture *what, uint64_t *handle)
{
    return texture_new(model->memory, what, handle);
}

int ws_model_texture_drop(struct ws_model *model, uint64_t handle)
{
    return texture_drop(model->memory, handle);
}

int ws_model_variable(struct ws_model *model, const char *name, uint64_t *addr, uint64_t *bytes)
{
    for (uint32_t v = 0; v < model->module->vars_n; v++)
        if (model->variables[v] && ptx_name_is(model->module->vars[v].name, name)) {
            *addr = model->variables[v];
            *bytes = model->module->vars[v].bytes;
            return 0;
        }
    return -WS_ENOENT;
}

/* --- launches --- */

static int refuse(struct ws_model_result *result, const char *why)
{
    snprintf(result->refusal, sizeof result->refusal, "%s", why);
    return -WS_EINVAL;
}

/* Blocks of a cluster along one dimension, 1 without clusters. */
static uint32_t cluster_of(const struct ws_model_launch *l, const struct ptx_func *f, int d)
{
    uint32_t n = l->cluster[0] ? l->cluster[d] : f->cluster[0] ? f->cluster[d] : 1;
    return n ? n : 1;
}

static int check_shape(const struct ws_model *model, const struct ws_model_launch *l, struct ws_model_result *result)
{
    const struct ptx_func *f;
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    if (l->kernel >= model->kernels_n)
        return refuse(result, "no such kernel");
    f = kernel_of(model, l->kernel);
    if (threads == 0 || threads > 1024 || l->block[0] > 1024 || l->block[1] > 1024 || l->block[2] > 64)
        return refuse(result, "block size: 1 to 1024 threads, x and y up to 1024, z up to 64");
    if (l->grid[0] == 0 || l->grid[1] == 0 || l->grid[2] == 0 || l->grid[0] > INT32_MAX || l->grid[1] > 65535 ||
        l->grid[2] > 65535)
        return refuse(result, "grid size: x up to 2147483647, y and z up to 65535, none 0");
    if (f->reqntid[0] && threads != (uint64_t)f->reqntid[0] * f->reqntid[1] * f->reqntid[2])
        return refuse(result, "the kernel demands another block size (.reqntid)");
    if (l->grid[0] % cluster_of(l, f, 0) || l->grid[1] % cluster_of(l, f, 1) || l->grid[2] % cluster_of(l, f, 2))
        return refuse(result, "the grid is no multiple of the cluster");
    if ((uint64_t)cluster_of(l, f, 0) * cluster_of(l, f, 1) * cluster_of(l, f, 2) > LIMIT_CLUSTER)
        return refuse(result, "a cluster has at most 16 blocks");
    if (f->maxntid[0] && threads > (uint64_t)f->maxntid[0] * f->maxntid[1] * f->maxntid[2])
        return refuse(result, "the block is larger than the kernel's launch bounds (.maxntid)");
    return 0;
}

static void apply_fixups(struct ws_model *m, struct code *c)
{
    for (uint32_t k = 0; k < c->fixups_n; k++) {
        uint64_t base = c->fixups[k].kind == FIX_PARAMS ? m->params : m->variables[c->fixups[k].var];
        c->regs[c->fixups[k].reg].value = base + (uint64_t)c->fixups[k].addend;
    }
}

/* What a launch needs beside its buffers: the heap of malloc, the grid's workspace, room for blocks that are resident.
 */
static int prepare_memory(struct ws_model *m, const struct ws_model_launch *l, struct exec_ctx *like,
                          struct ws_model_result *result)
{
    const struct code *c = like->code;
    uint64_t warp = c->file_bytes + 32 * code_local(c) / (c->functions_n ? 8 : 1); /* stacks are hardly touched */
    uint64_t block = like->warps_n * warp + like->shared_bytes + c->stats_n * sizeof(struct mem_row);
    uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    int err = 0;
    if (l->is_cooperative && blocks > LIMIT_RESIDENT / (block + 1))
        return refuse(result, "a cooperative grid of more blocks than the model can hold at once");
    if (c->uses_heap)
        err = memory_heap(m->memory, l->heap_bytes ? l->heap_bytes : WS_MODEL_HEAP_BYTES);
    if (!err && l->is_cooperative && !m->workspace)
        err = memory_alloc(m->memory, WORKSPACE_BYTES, &m->workspace);
    if (!err && l->is_cooperative) {
        memset((void *)(uintptr_t)m->workspace, 0, WORKSPACE_BYTES);
        like->workspace = m->workspace;
    }
    return err;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int ws_model_run(struct ws_model *model, const struct ws_model_launch *launch, struct ws_model_result *result)
{
    struct code *code = NULL;
    struct exec_ctx like = {0}, done = {0};
    const char *set = launch->instructions ? launch->instructions : exec_best();
    const exec_fn *table = exec_table(set);
    double start;
    int err;
    memset(result, 0, sizeof *result);
    err = check_shape(model, launch, result);
    if (err)
        return err;
    if (!table)
        return refuse(result, "this machine or build lacks that instruction set");
    err = code_make(model->module, kernel_of(model, launch->kernel), table, !launch->keeps_scalar_loads, &code);
    if (err)
        return err;
    if (code->refusal[0]) {
        snprintf(result->refusal, sizeof result->refusal, "%s", code->refusal);
        code_free(code);
        return -WS_EUNSUP;
    }
    if (launch->params_bytes < code->param_bytes || launch->params_bytes > PARAMS_BYTES) {
        code_free(code);
        return refuse(result, "parameters: fewer bytes than the kernel declares");
    }
    apply_fixups(model, code);
    if (launch->params_bytes)
        memcpy((void *)(uintptr_t)model->params, launch->params, launch->params_bytes);
    like.code = code;
    like.memory = model->memory;
    like.params = (const uint8_t *)(uintptr_t)model->params;
    memcpy(like.grid, launch->grid, sizeof like.grid);
    memcpy(like.block, launch->block, sizeof like.block);
    like.dynamic_smem = launch->dynamic_smem_bytes;
    like.print = launch->print;
    like.print_state = launch->print_state;
    like.shared_bytes = launch->dynamic_smem_bytes ? ((code->static_smem + 15) & ~15ull) + launch->dynamic_smem_bytes
                                                   : code->static_smem;
    like.warps_n = (launch->block[0] * launch->block[1] * launch->block[2] + 31) / 32;
    like.budget = launch->max_instructions ? launch->max_instructions : UINT64_MAX;
    if (code->ptxas_smem + launch->dynamic_smem_bytes > LIMIT_SMEM) {
        code_free(code);
        return refuse(result, "more shared memory than a block can have (227 KiB)");
    }
    if (code->uses_reserved_smem)
        like.shared_bytes = ((like.shared_bytes + 127) & ~127ull) + RESERVED_SMEM;
    for (int d = 0; d < 3; d++)
        like.cluster[d] = cluster_of(launch, kernel_of(model, launch->kernel), d);
    if (code->functions_n)
        code->stack_bytes = (launch->stack_bytes ? launch->stack_bytes : WS_MODEL_STACK_BYTES) & ~15u;
    err = prepare_memory(model, launch, &like, result);
    if (err) {
        code_free(code);
        return err;
    }
    like.checks = launch->checks & (CHECK_UNINIT | CHECK_RACES);
    like.epoch = launch->test_epoch;
    if (like.checks)
        like.granule = check_redirect(code, table);
    start = now_s();
    err = launch_run(&like, launch, result, &done);
    if (!err) {
        result->seconds = now_s() - start;
        result->instructions = set;
        result->counts.spill_bytes = launch->spill_bytes;
        err = result_fill(&done, model->module, model->memory, result);
        launch_fini(&done);
        if (!(like.checks & CHECK_UNINIT)) /* nobody noted what this launch wrote */
            memory_define_all(model->memory);
    }
    code_free(code);
    return err;
}
