/* SPDX-License-Identifier: MIT
 * preload.c: libwarpsight.so, the library for LD_PRELOAD. Names the collector to the CUDA driver, which loads
 * it inside cuInit; a process that never calls CUDA never maps it.
 * With --nvtx-include also to NVTX, whose headers load it at the program's first NVTX call.
 * Links libc only, prints nothing, interposes nothing: it sits in every process of a run, shells and
 * compilers included. LD_PRELOAD stays in the environment, else children would not be followed.
 * Uses no symbol newer than glibc 2.16: a preloaded library that ld.so refuses makes it print to stderr.
 * Read on: inject.c, which is what the driver then calls. */
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Ends the walk at the object that holds this function; *state receives its path. (dladdr would do, but
 * its symbol version is 2.34 when built on a recent system.) */
static int find_self(struct dl_phdr_info *info, size_t size, void *state)
{
    uintptr_t here = (uintptr_t)&find_self;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && here - info->dlpi_addr - part->p_vaddr < part->p_memsz) {
            *(const char **)state = info->dlpi_name;
            return 1;
        }
    }
    return 0;
}

/* The collector beside this library: resolved, for the program may change its folder later. 0 or -1. */
static int collector_path(char path[PATH_MAX])
{
    static const char collector[] = "libwarpsight-cupti.so";
    const char *self = NULL;
    char *slash;
    if (dl_iterate_phdr(find_self, &self) != 1 || !self || !realpath(self, path))
        return -1;
    slash = strrchr(path, '/');
    if (!slash || (size_t)(slash + 1 - path) + sizeof collector > PATH_MAX)
        return -1;
    memcpy(slash + 1, collector, sizeof collector);
    return access(path, R_OK);
}

/* Whether NAME= stands in the environment with something behind it. No getenv: only settings.c reads settings. */
static int is_set(const char *name)
{
    size_t n = strlen(name);
    for (char **at = environ; at && *at; at++)
        if (strncmp(*at, name, n) == 0)
            return (*at)[n] != 0;
    return 0;
}

__attribute__((constructor)) static void name_the_collector(void)
{
    char path[PATH_MAX];
    int kept = errno;
    /* 0: a variable that another tool holds stays as it is. */
    if (getauxval(AT_SECURE) == 0 && collector_path(path) == 0)
        (void)setenv("CUDA_INJECTION64_PATH", path, 0);
    if (getauxval(AT_SECURE) == 0 && is_set("WARPSIGHT_NVTX_INCLUDE=") && collector_path(path) == 0)
        (void)setenv("NVTX_INJECTION64_PATH", path, 0);
    errno = kept;
}
