/* SPDX-License-Identifier: MIT
 * import.c: which formats can be imported, and which one a file is. Judges by content, never by the name. */
#include "import.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

static const struct ws_import_format formats[] = {
    {"capture", NULL, "B", "a .wscap of `warpsight run -o` or `export --format capture`"},
    {"ncu-csv", ws_import_ncu, "B", "Nsight Compute: ncu --csv --page raw|details, plain or .gz"},
    {"nsys-sqlite", ws_import_nsys, "rows", "Nsight Systems: nsys export --type sqlite"},
};
#define FORMATS (sizeof formats / sizeof formats[0])
enum { CAPTURE, NCU_CSV, NSYS_SQLITE };

const struct ws_import_format *ws_import_formats(size_t *count)
{
    *count = FORMATS;
    return formats;
}

const struct ws_import_format *ws_import_find(const char *name)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

/* Our own database says so in its header (application_id in schema.sql, big endian, at byte 68). */
static bool is_our_database(const uint8_t *head, size_t length)
{
    return length >= 72 && memcmp(head + 68, "WSGT", 4) == 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text);
    size_t m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

const struct ws_import_format *ws_import_recognise(const char *path, const char **hint)
{
    static const char unpack[] = "it is compressed: unpack it with gunzip first";
    uint8_t head[4096];
    struct stat st;
    gzFile file;
    int length;
    bool is_compressed;
    *hint = "";
    /* A pipe can be read once, and only a capture is read so. */
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return &formats[CAPTURE];
    file = gzopen(path, "rbe");
    length = file ? gzread(file, head, sizeof head) : -1;
    is_compressed = file && !gzdirect(file);
    if (file)
        (void)gzclose(file);
    if (length <= 0)
        return &formats[CAPTURE];
    if (length >= 16 && memcmp(head, "SQLite format 3", 16) == 0) {
        if (is_our_database(head, (size_t)length))
            *hint = "it is a database of WarpSight: read it with WARPSIGHT_DB=FILE warpsight report, or export its "
                    "sessions as captures";
        else if (is_compressed)
            *hint = unpack;
        return &formats[NSYS_SQLITE];
    }
    if (!memchr(head, 0, (size_t)length) && memcmp(head, "WSSEGM", (size_t)length < 6 ? (size_t)length : 6) != 0)
        return &formats[NCU_CSV]; /* text; its reader says whether it is */
    if (is_compressed)
        *hint = unpack;
    else if (ends_with(path, ".ncu-rep"))
        *hint = "it is a report of Nsight Compute: export it with 'ncu --import FILE --csv --page raw' first";
    else if (ends_with(path, ".nsys-rep") || ends_with(path, ".qdrep"))
        *hint = "it is a report of Nsight Systems: export it with 'nsys export --type sqlite FILE' first";
    return &formats[CAPTURE];
}
