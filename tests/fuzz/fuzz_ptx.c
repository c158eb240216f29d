/* SPDX-License-Identifier: MIT
 * fuzz_ptx.c: PTX from strangers: parse, decode and run every kernel of it for a while. With libFuzzer
 * (`make fuzz-ptx`, clang); with REPLAY a plain program that runs the files named and mutations of them, so that
 * every `make test` does a little of it. */
#include "../../collector/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint64_t params[4096];
    char error[WS_MODEL_ERROR_BYTES];
    struct ws_model *model = NULL;
    struct ws_model_texture plane = {
        .pitch = 64, .size = {16, 32, 0}, .channels = 2, .channel_bytes = 2, .as_float = true};
    uint64_t buffer;
    if (ws_model_new((const char *)data, size, &model, error) != 0)
        return 0;
    if (ws_model_alloc(model, 65536, &buffer) == 0)
        for (size_t k = 0; k < 4096; k++)
            params[k] = buffer;
    /* Kernels of textures take the object first; what it is follows from the size, so that all of it is met. */
    plane.at = buffer;
    plane.is_surface = size % 4 == 1;
    plane.filters = plane.is_normalized = size % 8 >= 4;
    plane.address_mode[0] = plane.address_mode[1] = (uint8_t)(size / 8 % 4);
    if (size % 4 != 0)
        (void)ws_model_texture_new(model, &plane, &params[0]);
    for (uint32_t k = 0; k < 8 && ws_model_kernel_name(model, k); k++) {
        struct ws_model_launch launch = {.kernel = k, .grid = {2, 1, 1}, .block = {48, 1, 1}};
        struct ws_model_result result;
        launch.dynamic_smem_bytes = 1024;
        launch.params = params;
        launch.params_bytes = sizeof params;
        launch.is_cooperative = k % 2 == 1;
        launch.max_instructions = 20000;
        if (ws_model_run(model, &launch, &result) == 0)
            ws_model_result_fini(&result);
    }
    ws_model_free(model);
    return 0;
}

#ifdef REPLAY
static uint64_t state = 88172645463325252ull;

static uint32_t next_random(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32) % below;
}

/* Change a few places: a byte, a digit, a stretch that is doubled, dropped or moved. */
static size_t mutate(uint8_t *text, size_t n, size_t cap)
{
    for (uint32_t k = 1 + next_random(4); k > 0 && n > 64; k--) {
        size_t at = next_random((uint32_t)n - 32), from = next_random((uint32_t)n - 32);
        size_t length = 1 + next_random(24);
        switch (next_random(4)) {
        case 0:
            text[at] = (uint8_t)next_random(256);
            break;
        case 1:
            text[at] = (uint8_t)("0123456789.,;{}[]%@-"[next_random(20)]);
            break;
        case 2:
            memmove(text + at, text + at + length, n - at - length);
            n -= length;
            break;
        default:
            if (n + length > cap)
                break;
            memmove(text + at + length, text + at, n - at);
            memmove(text + at, text + from, length);
            n += length;
        }
    }
    return n;
}

int main(int argc, char **argv)
{
    const size_t cap = 1u << 20;
    uint8_t *text = malloc(cap), *copy = malloc(cap);
    int rounds = getenv("WS_FUZZ_ROUNDS") ? atoi(getenv("WS_FUZZ_ROUNDS")) : 60;
    int runs = 0;
    for (int k = 1; k < argc; k++) {
        FILE *f = fopen(argv[k], "rb");
        size_t n;
        if (!f) {
            printf("FAIL cannot read %s\n", argv[k]);
            return 1;
        }
        n = fread(text, 1, cap - 65536, f);
        fclose(f);
        LLVMFuzzerTestOneInput(text, n);
        for (int r = 0; r < rounds; r++, runs++) {
            memcpy(copy, text, n);
            LLVMFuzzerTestOneInput(copy, mutate(copy, n, cap));
        }
    }
    free(text);
    free(copy);
    printf("%s hostile_ptx_is_harmless (%d mutations)\n", runs > 0 ? "PASS" : "FAIL", runs);
    return runs > 0 ? 0 : 1;
}
#endif
