/* SPDX-License-Identifier: MIT
 * source_text.c: see source_text.h.
 * Must not open what is no plain file: opening a device or a pipe does something to it. */
#include "source_text.h"

#include "../analyzer/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_source_name(const char *path)
{
    static const char *const endings[] = {".cu",  ".cuh", ".c",   ".cc",  ".cpp", ".cxx", ".h",  ".hh",  ".hpp", ".hxx",
                                          ".inl", ".inc", ".ipp", ".tpp", ".ptx", ".py",  ".jl", ".f90", ".rs"};
    const char *name = strrchr(path, '/');
    const char *dot = name ? strrchr(name, '.') : NULL;
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(dot, endings[i]) == 0)
            return true;
    return false;
}

static int err_of_errno(void)
{
    return errno == ENOENT || errno == ENOTDIR ? -WS_ENOENT : errno == EACCES || errno == EPERM ? -WS_EPERM : -WS_EIO;
}

static int read_all(int fd, size_t size, struct ws_source_text *out)
{
    out->bytes = malloc(size + 1);
    if (!out->bytes)
        return -WS_ENOMEM;
    while (out->length < size) {
        ssize_t n = read(fd, out->bytes + out->length, size - out->length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -WS_EIO;
        if (n == 0)
            break; /* it became shorter meanwhile */
        out->length += (size_t)n;
    }
    out->bytes[out->length] = 0;
    return 0;
}

int ws_source_text_read(const char *path, struct ws_source_text *out)
{
    struct stat st;
    int fd;
    int err;
    memset(out, 0, sizeof *out);
    if (path[0] != '/' || !is_source_name(path))
        return -WS_EINVAL;
    if (stat(path, &st) != 0)
        return err_of_errno();
    if (!S_ISREG(st.st_mode))
        return -WS_EINVAL;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) != 0)
        err = err_of_errno();
    else if (!S_ISREG(st.st_mode))
        err = -WS_EINVAL;
    else if ((uint64_t)st.st_size > WS_SOURCE_BYTES_MAX)
        err = -WS_ELIMIT;
    else
        err = read_all(fd, (size_t)st.st_size, out);
    out->changed_ns = err == 0 ? (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec : 0;
    if (fd >= 0)
        close(fd);
    if (err != 0) {
        free(out->bytes);
        memset(out, 0, sizeof *out);
    }
    return err;
}

const char *ws_source_text_why(int err)
{
    switch (err) {
    case -WS_EINVAL:
        return "the line table names no source file by its whole path";
    case -WS_ENOENT:
        return "the file is not on this machine";
    case -WS_EPERM:
        return "the daemon must not read the file";
    case -WS_ELIMIT:
        return "the file is larger than 4 MiB";
    default:
        return "the file cannot be read";
    }
}

bool ws_source_text_line(const struct ws_source_text *text, size_t *offset, const char **at, size_t *length)
{
    const char *begin = text->bytes + *offset;
    const char *end;
    if (*offset >= text->length)
        return false;
    end = memchr(begin, '\n', text->length - *offset);
    *at = begin;
    *length = end ? (size_t)(end - begin) : text->length - *offset;
    *offset += *length + (end != NULL);
    if (*length > 0 && begin[*length - 1] == '\r')
        (*length)--;
    return true;
}
