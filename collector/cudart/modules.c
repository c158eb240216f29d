/* SPDX-License-Identifier: MIT
 * modules.c: what nvcc's start-up code registers: fatbins, kernels, variables. Nothing is parsed before it is used.
 * Runs before main(), so it takes no session: rt_enter() belongs to the API. */
#include "rt.h"

#include "../model/fatbin.h"
#include "registers.h"

#include "../../analyzer/err.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a GPU gives a thread at least; ptxas says less (all launches of the reference kernels on an H200). */
#define LEAST_REGISTERS 16u

struct rt_module {
    const uint8_t *fatbin;
    struct ws_model *model;
    bool is_tried;
    int code; /* of loading */
    char error[WS_MODEL_ERROR_BYTES];
    struct rt_module *next;
};

struct variable {
    const void *shadow; /* the host's variable */
    void **managed;     /* where the host keeps the pointer of a __managed__ variable */
    struct rt_module *module;
    char *name;
    size_t bytes;
    struct variable *next;
};

struct entry {
    struct rt_function function;
    struct entry *next;
};

static struct {
    struct rt_module *modules;
    struct entry *functions;
    struct variable *variables;
} all;

/* --- loading --- */

static int load_ptx(struct rt_module *m)
{
    const struct rt_device_prop *gpu = rt_device();
    struct ws_fatbin_entry e;
    char *text = NULL;
    size_t length = 0;
    int err;
    if (!m->fatbin ||
        ws_fatbin_best_ptx(m->fatbin, ws_fatbin_bytes(m->fatbin), (uint32_t)(gpu->major * 10 + gpu->minor), &e) != 0) {
        snprintf(m->error, sizeof m->error,
                 "no PTX in this part of the program (a library, or -rdc=true?); build it with -gencode "
                 "arch=compute_90,code=compute_90");
        return RT_ErrorNoKernelImageForDevice;
    }
    err = ws_fatbin_unpack(&e, &text, &length, m->error);
    if (err)
        return RT_ErrorInvalidKernelImage;
    err = ws_model_new_beside(text, length, rt_memory(), &m->model, m->error);
    free(text);
    return err == -WS_ENOMEM ? RT_ErrorMemoryAllocation : err ? RT_ErrorInvalidPtx : RT_Success;
}

static int load(struct rt_module *m, char *error)
{
    if (!m->is_tried) {
        m->is_tried = true;
        m->code = load_ptx(m);
    }
    snprintf(error, WS_MODEL_ERROR_BYTES, "%s", m->error);
    return m->code;
}

int rt_function_load(struct rt_function *f, struct ws_model **model, uint32_t *kernel, char *error)
{
    int code = load(f->module, error);
    if (code != RT_Success)
        return code;
    *model = f->module->model;
    if (ws_model_find(*model, f->name, kernel) == 0)
        return RT_Success;
    snprintf(error, WS_MODEL_ERROR_BYTES, "the PTX has no kernel %.200s", f->name);
    return RT_ErrorInvalidDeviceFunction;
}

struct rt_function *rt_function_find(const void *symbol)
{
    for (struct entry *e = all.functions; e; e = e->next)
        if (e->function.stub == symbol || &e->function == symbol)
            return &e->function;
    return NULL;
}

uint32_t rt_function_registers(const struct rt_function *f)
{
    uint32_t n = rt_registers_of(f->name);
    return n > 0 && n < LEAST_REGISTERS ? LEAST_REGISTERS : n;
}

int rt_variable_find(const void *symbol, uint64_t *at, size_t *bytes, char *error)
{
    for (const struct variable *v = all.variables; v; v = v->next) {
        uint64_t size;
        int code;
        if (v->shadow != symbol)
            continue;
        code = load(v->module, error);
        if (code != RT_Success)
            return code;
        if (ws_model_variable(v->module->model, v->name, at, &size) != 0) {
            snprintf(error, WS_MODEL_ERROR_BYTES, "the PTX has no variable %.200s", v->name);
            return RT_ErrorInvalidSymbol;
        }
        *bytes = size;
        return RT_Success;
    }
    snprintf(error, WS_MODEL_ERROR_BYTES, "not a __device__ or __constant__ variable of this program");
    return RT_ErrorInvalidSymbol;
}

/* --- what nvcc's code calls ---
 * NOLINTBEGIN(bugprone-reserved-identifier): the names are not ours. */

__attribute__((visibility("default"))) void **__cudaRegisterFatBinary(void *wrapper);
__attribute__((visibility("default"))) void **__cudaRegisterFatBinary(void *wrapper)
{
    const struct rt_fatbin_wrapper *w = wrapper;
    struct rt_module *m = calloc(1, sizeof *m);
    if (!m)
        abort();
    if (w && w->magic == RT_FATBIN_MAGIC && w->data && ws_fatbin_bytes(w->data) > 0)
        m->fatbin = w->data;
    m->next = all.modules;
    all.modules = m;
    return (void **)m;
}

__attribute__((visibility("default"))) void __cudaRegisterFatBinaryEnd(void **handle);
__attribute__((visibility("default"))) void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

/* The program ends or closes a library; what was registered may be asked for still, by other exit handlers. */
__attribute__((visibility("default"))) void __cudaUnregisterFatBinary(void **handle);
__attribute__((visibility("default"))) void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

__attribute__((visibility("default"))) void __cudaRegisterFunction(void **handle, const char *stub, char *device,
                                                                   const char *name, int limit, void *tid, void *bid,
                                                                   void *block, void *grid, int *warp);
__attribute__((visibility("default"))) void __cudaRegisterFunction(void **handle, const char *stub, char *device,
                                                                   const char *name, int limit, void *tid, void *bid,
                                                                   void *block, void *grid, int *warp)
{
    struct entry *e = calloc(1, sizeof *e);
    char *copy = strdup(name);
    (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    if (!e || !copy)
        abort();
    e->function = (struct rt_function){
        .stub = stub, .module = (struct rt_module *)handle, .name = copy, .max_dynamic_smem = 48 << 10};
    e->function.carveout = -1;
    e->next = all.functions;
    all.functions = e;
}

static void add_variable(void **handle, const void *shadow, void **managed, const char *name, size_t bytes)
{
    struct variable *v = calloc(1, sizeof *v);
    char *copy = strdup(name);
    if (!v || !copy)
        abort();
    *v = (struct variable){shadow, managed, (struct rt_module *)handle, copy, bytes, all.variables};
    all.variables = v;
}

__attribute__((visibility("default"))) void __cudaRegisterVar(void **handle, char *shadow, char *address,
                                                              const char *name, int ext, size_t bytes, int constant,
                                                              int global);
__attribute__((visibility("default"))) void __cudaRegisterVar(void **handle, char *shadow, char *address,
                                                              const char *name, int ext, size_t bytes, int constant,
                                                              int global)
{
    (void)address, (void)ext, (void)constant, (void)global;
    add_variable(handle, shadow, NULL, name, bytes);
}

__attribute__((visibility("default"))) void __cudaRegisterManagedVar(void **handle, void **shadow, char *address,
                                                                     const char *name, int ext, size_t bytes,
                                                                     int constant, int global);
__attribute__((visibility("default"))) void __cudaRegisterManagedVar(void **handle, void **shadow, char *address,
                                                                     const char *name, int ext, size_t bytes,
                                                                     int constant, int global)
{
    (void)address, (void)ext, (void)constant, (void)global;
    add_variable(handle, shadow, shadow, name, bytes);
}

/* Before the host's first use of a __managed__ variable: its pointer must point to the variable. */
__attribute__((visibility("default"))) char __cudaInitModule(void **handle);
__attribute__((visibility("default"))) char __cudaInitModule(void **handle)
{
    (void)rt_enter();
    for (const struct variable *v = all.variables; v; v = v->next) {
        char error[WS_MODEL_ERROR_BYTES];
        uint64_t at;
        size_t bytes;
        if (v->module != (struct rt_module *)handle || !v->managed)
            continue;
        if (rt_variable_find(v->shadow, &at, &bytes, error) == RT_Success)
            *v->managed = (void *)(uintptr_t)at;
        else
            rt_complain("model-refused", 2, "measure on a GPU", "the managed variable %s cannot be set up: %s", v->name,
                        error);
    }
    rt_leave();
    return 1;
}

RT_API(__cudaGetKernel, void **handle, const void *stub)
{
    struct rt_function *f = rt_function_find(stub);
    *handle = f;
    return f ? RT_Success : RT_ErrorInvalidDeviceFunction;
}

RT_API(cudaGetKernel, void **handle, const void *stub)
{
    return __cudaGetKernel(handle, stub);
}

RT_API(cudaGetFuncBySymbol, void **handle, const void *stub)
{
    return __cudaGetKernel(handle, stub);
}
/* NOLINTEND(bugprone-reserved-identifier) */
