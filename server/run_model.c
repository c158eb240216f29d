/* SPDX-License-Identifier: MIT
 * run_model.c: sets up `warpsight run --model`. A program that cannot be modelled is refused before it starts. */
#include "run_model.h"

#include "../analyzer/err.h"
#include "../collector/model/exe.h"
#include "cli.h"
#include "file_map.h"
#include "install.h"
#include "ptxas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAND_IN "model/libcudart.so.13"
#define VERSION 13

static int make_library_path(struct ws_run_model *m)
{
    const char *old = getenv("LD_LIBRARY_PATH");
    char stand_in[WS_PATH_MAX];
    if (ws_install_find(STAND_IN, stand_in, sizeof stand_in) != 0) {
        (void)ws_cli_failed("run", "--model: %s does not lie beside this program", STAND_IN);
        return -WS_ENOENT;
    }
    *strrchr(stand_in, '/') = 0;
    snprintf(m->library_path, sizeof m->library_path, "%s%s%s", stand_in, old && *old ? ":" : "", old ? old : "");
    return 0;
}

static int check_program(struct ws_run_model *m, const char *program, const struct ws_exe *exe)
{
    const char *obstacle = ws_exe_obstacle(exe);
    m->needs_cudart = exe->cudart != 0;
    if (obstacle) {
        (void)ws_cli_failed("run", "--model: %s: %s", program, obstacle);
        return -WS_EUNSUP;
    }
    if (exe->cudart != 0 && exe->cudart != VERSION) {
        (void)ws_cli_failed("run",
                            "--model: %s needs libcudart.so.%u, the model stands in for %d: build it with CUDA %d",
                            program, exe->cudart, VERSION, VERSION);
        return -WS_EUNSUP;
    }
    return 0;
}

int ws_run_model_prepare(struct ws_run_model *m, const char *program, const char *spool)
{
    struct ws_file_map map;
    struct ws_exe exe;
    int err = make_library_path(m);
    m->registers[0] = 0;
    m->needs_cudart = false;
    if (err || ws_file_map(&map, program) != 0)
        return err;
    if (ws_exe_read(map.bytes, map.length, &exe) == 0) /* a script is no ELF file: what it starts is seen */
        err = check_program(m, program, &exe);
    if (!err && exe.fatbin && ws_path_make_private_folder(spool) == 0)
        (void)ws_ptxas_write(exe.fatbin, exe.fatbin_bytes, spool, m->registers, sizeof m->registers);
    ws_file_unmap(&map);
    return err;
}

void ws_run_model_end(struct ws_run_model *m)
{
    if (*m->registers)
        (void)unlink(m->registers);
}
