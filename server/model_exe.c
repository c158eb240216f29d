/* SPDX-License-Identifier: MIT
 * model_exe.c: looks through the fatbins of an ELF file. Each source file of the program has its own, so the kernel
 * decides which one is meant. */
#include "model_exe.h"

#include "../analyzer/err.h"
#include "../collector/model/exe.h"
#include "../collector/model/fatbin.h"
#include "file_map.h"
#include "model_spec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_kernel(const char *ptx, size_t length, const char *kernel, char *error)
{
    struct ws_model *model = NULL;
    uint32_t index;
    bool found = false;
    if (ws_model_new(ptx, length, &model, error) == 0)
        found = kernel ? ws_spec_find_kernel(model, kernel, &index) == 0 : ws_model_kernel_name(model, 0) != NULL;
    ws_model_free(model);
    return found;
}

/* As ws_fatbin_best_ptx() chooses: the newest that is not newer than cc, else the oldest. */
static bool is_better(uint32_t arch, uint32_t best, uint32_t cc)
{
    return best == 0 || (arch <= cc ? best > cc || arch > best : arch < best);
}

static int search(const struct ws_exe *exe, const char *kernel, uint32_t cc, char **ptx, size_t *length, char *error)
{
    struct ws_fatbin_entry e;
    uint32_t best = 0;
    char why[WS_FATBIN_ERROR_BYTES] = "";
    for (size_t at = 0; ws_fatbin_next(exe->fatbin, exe->fatbin_bytes, &at, &e);) {
        char *text;
        size_t n;
        if (e.kind != WS_FATBIN_PTX || !is_better(e.arch, best, cc) || ws_fatbin_unpack(&e, &text, &n, why) != 0)
            continue;
        if (!has_kernel(text, n, kernel, error)) {
            free(text);
            continue;
        }
        free(*ptx);
        *ptx = text;
        *length = n;
        best = e.arch;
    }
    if (best > 0)
        return 0;
    if (*why)
        snprintf(error, WS_MODEL_ERROR_BYTES, "%s", why);
    else if (kernel)
        snprintf(error, WS_MODEL_ERROR_BYTES, "no kernel '%.200s' in its PTX", kernel);
    else
        snprintf(error, WS_MODEL_ERROR_BYTES, "no kernel in its PTX");
    return -WS_ENOENT;
}

int ws_model_exe(const char *path, const char *kernel, uint32_t cc, char **ptx, size_t *length, char *error)
{
    struct ws_file_map map;
    struct ws_exe exe;
    int err;
    *ptx = NULL;
    if (ws_file_map(&map, path) != 0) {
        snprintf(error, WS_MODEL_ERROR_BYTES, "%s", strerror(errno));
        return -WS_EIO;
    }
    err = ws_exe_read(map.bytes, map.length, &exe);
    if (err)
        snprintf(error, WS_MODEL_ERROR_BYTES, "no ELF file");
    else if (exe.ptx == 0) {
        err = -WS_ENOENT;
        snprintf(error, WS_MODEL_ERROR_BYTES, "%s; build it with nvcc -gencode arch=compute_90,code=compute_90",
                 exe.fatbin ? "no PTX, only machine code of a GPU" : "no device code");
    } else {
        err = search(&exe, kernel, cc, ptx, length, error);
    }
    ws_file_unmap(&map);
    return err;
}
