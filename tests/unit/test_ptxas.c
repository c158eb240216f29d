/* SPDX-License-Identifier: MIT
 * test_ptxas.c: the words of ptxas -v (CUDA 13.0) as registers, spills and shared memory. */
#include "../../analyzer/err.h"
#include "../../server/ptxas.h"
#include "test.h"

TEST(registers_spills_and_shared_memory_are_read)
{
    static const char text[] = "ptxas info    : 16 bytes gmem\n"
                               "ptxas info    : Compiling entry function '_Z1bPf' for 'sm_90'\n"
                               "ptxas info    : Function properties for _Z1bPf\n"
                               "    24 bytes stack frame, 16 bytes spill stores, 20 bytes spill loads\n"
                               "ptxas info    : Used 32 registers, used 1 barriers, 24 bytes cumulative stack size\n"
                               "ptxas info    : Compile time = 39.456 ms\n"
                               "ptxas info    : Compiling entry function '_Z1aPf' for 'sm_90'\n"
                               "ptxas info    : Function properties for _Z1aPf\n"
                               "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                               "ptxas info    : Used 12 registers, used 1 barriers, 400 bytes smem";
    struct ws_ptxas all = {0};
    const struct ws_ptxas_kernel *k;
    CHECK_INT(ws_ptxas_parse(text, &all), 0);
    CHECK_INT(all.n, 2);
    k = ws_ptxas_find(&all, "_Z1bPf");
    REQUIRE(k != NULL);
    CHECK(k->registers == 32 && k->spill_bytes == 16 && k->static_smem_bytes == 0);
    k = ws_ptxas_find(&all, "_Z1aPf");
    REQUIRE(k != NULL);
    CHECK(k->registers == 12 && k->spill_bytes == 0 && k->static_smem_bytes == 400);
    CHECK(ws_ptxas_find(&all, "_Z1c") == NULL);
    ws_ptxas_fini(&all);
}

TEST(words_of_another_program_give_nothing)
{
    struct ws_ptxas all = {0};
    CHECK_INT(ws_ptxas_parse("Used 12 registers\nCompiling entry function '", &all), 0);
    CHECK(all.n <= 1 && (all.n == 0 || all.kernels[0].registers == 0));
    ws_ptxas_fini(&all);
}

TEST(ptx_that_ptxas_refuses_is_an_error)
{
    struct ws_ptxas all = {0};
    int err = ws_ptxas_run("hello", 5, &all);
    if (err == -WS_ENOENT)
        SKIP("no ptxas here");
    CHECK_INT(err, -WS_EUNSUP);
    CHECK(all.n == 0);
    ws_ptxas_fini(&all);
}
