/* SPDX-License-Identifier: MIT
 * file_map.c: mmap of a regular file. */
#include "file_map.h"

#include "../analyzer/err.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int ws_file_map(struct ws_file_map *out, const char *path)
{
    struct stat st;
    void *at = MAP_FAILED;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *out = (struct ws_file_map){0};
    if (fd < 0)
        return -WS_EIO;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    else
        errno = EINVAL;
    close(fd);
    if (at == MAP_FAILED)
        return -WS_EIO;
    *out = (struct ws_file_map){at, (size_t)st.st_size};
    return 0;
}

void ws_file_unmap(struct ws_file_map *map)
{
    if (map->bytes)
        (void)munmap((void *)(uintptr_t)map->bytes, map->length);
    *map = (struct ws_file_map){0};
}
