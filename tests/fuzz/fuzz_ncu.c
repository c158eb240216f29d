/* SPDX-License-Identifier: MIT
 * fuzz_ncu.c: any bytes at all, read as Nsight Compute's details page (libFuzzer; `make fuzz`). */
#include "../../server/ncu.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_word name = {"tile<32>", 8};
    struct ws_dim3 square = {32, 32, 1};
    struct ws_ncu_advice advice;
    struct ws_ncu *ncu = NULL;
    char message[200];
    if (ws_ncu_parse((const char *)data, size, &ncu, message, sizeof message) != 0)
        return 0;
    if (ws_ncu_find(ncu, name, square, square, &advice) && ws_has(advice.global) &&
        !(advice.global.number >= 0 && advice.global.number <= 1)) {
        fprintf(stderr, "a share outside of 0 to 1\n");
        abort();
    }
    ws_ncu_free(ncu);
    return 0;
}
