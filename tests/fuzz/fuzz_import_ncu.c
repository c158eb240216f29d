/* SPDX-License-Identifier: MIT
 * fuzz_import_ncu.c: any bytes at all, read as Nsight Compute's CSV (libFuzzer; `make fuzz`). What comes out must be a
 * capture of whole frames, or an error with its line. */
#include "../../server/import.h"
#include "fuzz_capture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_capture c = fuzz_capture_open();
    struct ws_import_note note;
    char message[400] = "";
    int err = ws_import_ncu_text((const char *)data, size, "fuzz.csv", c.out, NULL, &note, message, sizeof message);
    fuzz_capture_check(&c, err, message);
    return 0;
}
