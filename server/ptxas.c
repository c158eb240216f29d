/* SPDX-License-Identifier: MIT
 * ptxas.c: asks the CUDA toolkit's ptxas. The PTX goes through a file of ours, the answer through a pipe. */
#include "ptxas.h"

#include "../analyzer/err.h"
#include "../collector/model/fatbin.h"
#include "tool.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX (1u << 20) /* of the answer */
#define TIMEOUT_MS 120000u  /* a large program takes seconds */
#define NAME_MAX_BYTES 4096

/* --- the answer --- */

static struct ws_ptxas_kernel *add_kernel(struct ws_ptxas *all, const char *name, size_t length)
{
    struct ws_ptxas_kernel *bigger = realloc(all->kernels, (all->n + 1) * sizeof *bigger);
    if (!bigger)
        return NULL;
    all->kernels = bigger;
    bigger[all->n] = (struct ws_ptxas_kernel){.name = strndup(name, length)};
    return bigger[all->n].name ? &bigger[all->n++] : NULL;
}

/* The number in front of a word, 0 when the word is not there. */
static uint32_t number_before(const char *line, size_t length, const char *word)
{
    const char *at = memmem(line, length, word, strlen(word));
    const char *from = at;
    while (from && from > line && from[-1] >= '0' && from[-1] <= '9')
        from--;
    return from && from < at ? (uint32_t)strtoul(from, NULL, 10) : 0;
}

int ws_ptxas_parse(const char *text, struct ws_ptxas *out)
{
    static const char begin[] = "Compiling entry function '";
    struct ws_ptxas_kernel *now = NULL;
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        const char *name = memmem(line, n, begin, sizeof begin - 1);
        if (name) {
            name += sizeof begin - 1;
            now = add_kernel(out, name, strcspn(name, "'\n"));
            if (!now)
                return -WS_ENOMEM;
        } else if (now && memmem(line, n, "bytes spill stores", 18)) {
            now->spill_bytes = number_before(line, n, " bytes spill stores");
        } else if (now && memmem(line, n, " registers", 10)) {
            now->registers = number_before(line, n, " registers");
            now->static_smem_bytes = number_before(line, n, " bytes smem");
        }
        line += n + (line[n] == '\n');
    }
    return 0;
}

const struct ws_ptxas_kernel *ws_ptxas_find(const struct ws_ptxas *all, const char *name)
{
    for (size_t k = 0; k < all->n; k++)
        if (strcmp(all->kernels[k].name, name) == 0)
            return &all->kernels[k];
    return NULL;
}

void ws_ptxas_fini(struct ws_ptxas *all)
{
    for (size_t k = 0; k < all->n; k++)
        free(all->kernels[k].name);
    free(all->kernels);
    *all = (struct ws_ptxas){0};
}

/* --- the program --- */

/* ".target sm_90a" → "sm_90a". */
static void read_target(const char *ptx, char out[32])
{
    const char *at = strstr(ptx, ".target");
    size_t n;
    snprintf(out, 32, "sm_75");
    if (!at)
        return;
    at += strlen(".target");
    at += strspn(at, " \t");
    n = strspn(at, "abcdefghijklmnopqrstuvwxyz_0123456789");
    if (n > 3 && n < 32 && strncmp(at, "sm_", 3) == 0)
        snprintf(out, 32, "%.*s", (int)n, at);
}

int ws_ptxas_run(const char *ptx, size_t length, struct ws_ptxas *out)
{
    char program[NAME_MAX_BYTES], file[] = "/tmp/warpsight-ptx-XXXXXX", target[32];
    const char *const argv[] = {program, "-v", "-arch", target, file, "-o", "/dev/null", NULL};
    struct ws_tool_run run = {
        .argv = argv, .file = -1, .wants_stderr = true, .timeout_ms = TIMEOUT_MS, .most = TEXT_MAX};
    int fd, err = -WS_EIO;
    char *text = NULL;
    size_t n = 0;
    if (!ws_tool_find("ptxas", program, sizeof program))
        return -WS_ENOENT;
    read_target(ptx, target);
    fd = mkostemp(file, O_CLOEXEC);
    if (fd < 0)
        return -WS_EIO;
    if (write(fd, ptx, length) == (ssize_t)length)
        err = ws_tool_run(&run, &text, &n);
    close(fd);
    (void)unlink(file);
    if (err == 0)
        err = ws_ptxas_parse(text, out);
    free(text);
    return err;
}

/* --- for the stand-in --- */

static int write_table(const struct ws_ptxas *all, const char *folder, char *path, size_t cap)
{
    FILE *file = NULL;
    int fd = -1;
    if (snprintf(path, cap, "%s/registers-XXXXXX", folder) < (int)cap)
        fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        file = fdopen(fd, "w");
    for (size_t k = 0; file && k < all->n; k++)
        fprintf(file, "%s %" PRIu32 " %" PRIu32 "\n", all->kernels[k].name, all->kernels[k].registers,
                all->kernels[k].spill_bytes);
    if (file && fclose(file) == 0)
        return 0;
    if (fd >= 0)
        (void)unlink(path);
    path[0] = 0;
    return -WS_EIO;
}

int ws_ptxas_write(const uint8_t *fatbins, size_t bytes, const char *folder, char *path, size_t cap)
{
    struct ws_fatbin_entry e;
    struct ws_ptxas all = {0};
    int err = 0;
    path[0] = 0;
    for (size_t at = 0; err != -WS_ENOENT && ws_fatbin_next(fatbins, bytes, &at, &e);) {
        char error[WS_FATBIN_ERROR_BYTES];
        char *ptx;
        size_t length;
        if (e.kind != WS_FATBIN_PTX || ws_fatbin_unpack(&e, &ptx, &length, error) != 0)
            continue;
        err = ws_ptxas_run(ptx, length, &all);
        free(ptx);
    }
    if (all.n > 0)
        err = write_table(&all, folder, path, cap);
    ws_ptxas_fini(&all);
    return err;
}
