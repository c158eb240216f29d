/* SPDX-License-Identifier: MIT
 * install.c: finds parts of this installation beside the program. Reads no environment: what is run is what
 * belongs to this very program, not what some variable names. */
#include "install.h"

#include "../analyzer/err.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int ws_install_find(const char *name, char *out, size_t cap)
{
    static const char *const folders[] = {"", "lib/", "../lib/warpsight/"};
    char self[PATH_MAX];
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash;
    if (n <= 0)
        return -WS_ENOENT;
    self[n] = 0;
    slash = strrchr(self, '/');
    if (!slash)
        return -WS_ENOENT;
    slash[1] = 0;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        if (snprintf(path, sizeof path, "%s%s%s", self, folders[i], name) >= (int)sizeof path)
            return -WS_ELIMIT;
        if (access(path, R_OK) != 0)
            continue;
        return snprintf(out, cap, "%s", path) < (int)cap ? 0 : -WS_ELIMIT;
    }
    return -WS_ENOENT;
}
