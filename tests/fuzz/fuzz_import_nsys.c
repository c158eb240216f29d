/* SPDX-License-Identifier: MIT
 * fuzz_import_nsys.c: any bytes at all, read as Nsight Systems' SQLite export (libFuzzer; `make fuzz`). */
#include "../../server/import.h"
#include "fuzz_capture.h"

#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file of this process, written anew for each input: SQLite opens names, not descriptors. */
static char path[] = "/tmp/warpsight-fuzz-XXXXXX";
static int fd = -1;

static void remove_file(void)
{
    (void)unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_capture c = fuzz_capture_open();
    struct ws_import_note note;
    char message[400] = "";
    if (fd < 0) {
        fd = mkstemp(path);
        atexit(remove_file);
    }
    fuzz_must(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size, "the file is written");
    fuzz_capture_check(&c, ws_import_nsys(path, c.out, NULL, &note, message, sizeof message), message);
    return 0;
}
