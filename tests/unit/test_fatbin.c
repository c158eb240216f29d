/* SPDX-License-Identifier: MIT
 * test_fatbin.c: fatbins as nvcc makes them, cut and damaged ones, and what an ELF file says about its device code. */
#include "../../analyzer/err.h"
#include "../../collector/model/exe.h"
#include "../../collector/model/fatbin.h"
#include "test.h"

#include <elf.h>

static uint8_t bytes[65536];
static char error[WS_FATBIN_ERROR_BYTES];

static size_t read_bytes(const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t n = 0;
    CHECK(f != NULL);
    if (f) {
        n = fread(bytes, 1, sizeof bytes, f);
        fclose(f);
    }
    return n;
}

static char *unpack(const char *path, int *err)
{
    struct ws_fatbin_entry e;
    char *text = NULL;
    size_t n = read_bytes(path), length = 0;
    *err = ws_fatbin_best_ptx(bytes, n, 90, &e);
    if (*err == 0)
        *err = ws_fatbin_unpack(&e, &text, &length, error);
    if (*err == 0)
        CHECK(length == strlen(text));
    return text;
}

TEST(every_packing_holds_the_same_ptx)
{
    int err;
    char *plain = unpack("tests/cudart/vec_add.none.fatbin", &err);
    char *lz4 = NULL, *zstd = NULL;
    REQUIRE(err == 0);
    CHECK(strstr(plain, ".entry vec_add") != NULL);
    lz4 = unpack("tests/cudart/vec_add.speed.fatbin", &err);
    REQUIRE(err == 0);
    CHECK(strcmp(lz4, plain) == 0);
    zstd = unpack("tests/cudart/vec_add.size.fatbin", &err);
    if (err == -WS_EUNSUP)
        CHECK(strstr(error, "libzstd.so.1") != NULL);
    else
        CHECK(err == 0 && strcmp(zstd, plain) == 0);
    free(plain);
    free(lz4);
    free(zstd);
}

/* Whatever is cut off or changed: an error or another text, never a read outside (a sanitizer sees those). */
TEST(damaged_fatbins_are_harmless)
{
    static const char *const files[] = {"tests/cudart/vec_add.none.fatbin", "tests/cudart/vec_add.speed.fatbin",
                                        "tests/cudart/vec_add.size.fatbin"};
    for (int f = 0; f < 3; f++) {
        size_t n = read_bytes(files[f]);
        for (size_t k = 0; k < 2 * n; k++) {
            uint8_t *copy = malloc(n);
            size_t length, m = k < n ? k : n;
            struct ws_fatbin_entry e;
            char *text = NULL;
            REQUIRE(copy != NULL);
            memcpy(copy, bytes, n);
            if (k >= n)
                copy[k - n] ^= (uint8_t)(1u << (k % 8));
            for (size_t at = 0; ws_fatbin_next(copy, m, &at, &e);)
                if (ws_fatbin_unpack(&e, &text, &length, error) == 0)
                    free(text);
            free(copy);
        }
    }
}

/* Entries with no payload: kind, architecture. */
static size_t put_entry(uint8_t *at, uint32_t kind, uint32_t arch)
{
    memset(at, 0, 72);
    at[0] = (uint8_t)kind;
    at[4] = 64;
    at[8] = 8; /* payload */
    at[28] = (uint8_t)arch;
    return 72;
}

TEST(ptx_is_chosen_by_compute_capability)
{
    static const struct {
        uint32_t cc, arch;
    } row[] = {{90, 80}, {89, 80}, {80, 80}, {75, 50}, {30, 50}, {120, 100}};
    uint8_t *at = bytes;
    struct ws_fatbin_entry e;
    memset(bytes, 0, 16);
    memcpy(bytes, "\x50\xed\x55\xba\x01\x00\x10\x00", 8);
    at += 16;
    at += put_entry(at, WS_FATBIN_PTX, 80);
    at += put_entry(at, WS_FATBIN_CUBIN, 90);
    at += put_entry(at, WS_FATBIN_PTX, 50);
    at += put_entry(at, WS_FATBIN_PTX, 100);
    bytes[8] = (uint8_t)((at - bytes - 16) & 255);
    bytes[9] = (uint8_t)((at - bytes - 16) >> 8);
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        CHECK_INT(ws_fatbin_best_ptx(bytes, (size_t)(at - bytes), row[k].cc, &e), 0);
        CHECK_INT(e.arch, row[k].arch);
    }
    CHECK_INT(ws_fatbin_best_ptx(bytes, 16, 90, &e), -WS_ENOENT);
}

TEST(program_without_device_code_has_no_obstacle)
{
    static uint8_t self[8u << 20];
    FILE *f = fopen("/proc/self/exe", "rb");
    struct ws_exe exe;
    size_t n;
    REQUIRE(f != NULL);
    n = fread(self, 1, sizeof self, f);
    fclose(f);
    if (n == sizeof self)
        SKIP("this program is larger than 8 MiB");
    CHECK_INT(ws_exe_read(self, n, &exe), 0);
    CHECK(exe.fatbin == NULL && exe.cudart == 0 && ws_exe_obstacle(&exe) == NULL);
}

TEST(hostile_elf_files_are_refused)
{
    Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB}, .e_shentsize = sizeof(Elf64_Shdr)};
    struct ws_exe exe;
    CHECK_INT(ws_exe_read((const uint8_t *)"\x7f"
                                           "ELF",
                          4, &exe),
              -WS_ESYNTAX);
    head.e_shnum = UINT16_MAX;
    head.e_shoff = UINT64_MAX - 8; /* wraps */
    CHECK_INT(ws_exe_read((const uint8_t *)&head, sizeof head, &exe), -WS_ESYNTAX);
    head.e_shoff = 0;
    head.e_shstrndx = 1;
    CHECK_INT(ws_exe_read((const uint8_t *)&head, sizeof head, &exe), -WS_ESYNTAX);
}

TEST(obstacles_say_how_to_relink)
{
    struct ws_exe exe = {.fatbin = bytes, .fatbin_bytes = 16, .ptx = 1, .cudart = 13};
    CHECK(ws_exe_obstacle(&exe) == NULL);
    exe.ptx = 0;
    CHECK(strstr(ws_exe_obstacle(&exe), WS_EXE_RELINK) != NULL);
    exe.is_relocatable = true;
    CHECK(strstr(ws_exe_obstacle(&exe), "-rdc=true") != NULL && strstr(ws_exe_obstacle(&exe), WS_EXE_RELINK) != NULL);
    exe.ptx = 1;
    exe.cudart = 0;
    CHECK(strstr(ws_exe_obstacle(&exe), WS_EXE_RELINK) != NULL);
}
