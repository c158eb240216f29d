/* SPDX-License-Identifier: MIT
 * fuzz_fatbin.c: fatbins and ELF files from strangers, with libFuzzer (`make fuzz`). */
#include "../../collector/model/exe.h"
#include "../../collector/model/fatbin.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_fatbins(const uint8_t *data, size_t size)
{
    char error[WS_FATBIN_ERROR_BYTES];
    struct ws_fatbin_entry e;
    for (size_t at = 0; ws_fatbin_next(data, size, &at, &e);) {
        char *text;
        size_t length;
        if (e.plain_length < (1u << 20) && ws_fatbin_unpack(&e, &text, &length, error) == 0)
            free(text);
    }
    (void)ws_fatbin_best_ptx(data, size, 90, &e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_exe exe;
    read_fatbins(data, size);
    if (ws_exe_read(data, size, &exe) == 0 && exe.fatbin)
        read_fatbins(exe.fatbin, exe.fatbin_bytes);
    return 0;
}
