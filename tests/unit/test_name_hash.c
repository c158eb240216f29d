/* SPDX-License-Identifier: MIT
 * test_name_hash.c: a kernel's identity in 16 digits, and names that differ in blanks only. */
#include "../../analyzer/name_hash.h"
#include "test.h"

static const char *hash(const char *mangled)
{
    static char text[4][WS_NAME_HASH];
    static unsigned turn;
    char *out = text[turn++ % 4];
    ws_name_hash(mangled, out);
    return out;
}

/* Written down once: a hash that changed would break every script that has one. */
TEST(a_hash_is_the_same_for_ever)
{
    CHECK_STR(hash(""), "cbf29ce484222325");
    CHECK_STR(hash("a"), "af63dc4c8601ec8c"); /* FNV-1a's published value */
    CHECK_STR(hash("foobar"), "85944171f73967e8");
    CHECK(ws_name_is_hash(hash("_Z11stride_readILi2EEvPKfPfi")));
}

TEST(another_argument_is_another_kernel)
{
    CHECK(strcmp(hash("_Z11stride_readILi2EEvPKfPfi"), hash("_Z11stride_readILi4EEvPKfPfi")) != 0);
    CHECK(strcmp(hash("_Z4copyPf"), hash("_Z4copyPd")) != 0);
}

TEST(the_mark_of_one_build_does_not_count)
{
    CHECK_STR(hash("_ZN49_GLOBAL__N__5f3a9d1c_11_vec_add_cu_0c1d2e3f_123456kernelEv"),
              hash("_ZN50_GLOBAL__N__0badcafe_15_other_place_cu_ffffffff_126kernelEv"));
    CHECK(strcmp(hash("_ZN49_GLOBAL__N__5f3a9d1c_11_vec_add_cu_0c1d2e3f_123456kernelEv"),
                 hash("_ZN49_GLOBAL__N__5f3a9d1c_11_vec_add_cu_0c1d2e3f_123457kernel2Ev")) != 0);
    CHECK_STR(hash("_ZN12_GLOBAL__N_16kernelEv"), hash("_ZN12_GLOBAL__N_16kernelEv"));
    /* a length that is longer than the name says nothing */
    CHECK(strcmp(hash("_ZN99_GLOBAL__N__aE"), hash("_ZN99_GLOBAL__N__bE")) != 0);
    CHECK(strcmp(hash("_Z99999999999999999999_GLOBAL__N_"), "") != 0);
}

TEST(only_sixteen_hexadecimal_digits_are_a_hash)
{
    CHECK(ws_name_is_hash("0123456789abcdef") && ws_name_is_hash("0123456789ABCDEF"));
    CHECK(!ws_name_is_hash("0123456789abcde") && !ws_name_is_hash("0123456789abcdef0"));
    CHECK(!ws_name_is_hash("0123456789abcdeg") && !ws_name_is_hash(""));
}

TEST(blanks_make_no_other_name)
{
    CHECK(ws_name_equal("f<32,8>", 7, "f<32, 8>"));
    CHECK(ws_name_equal(" f < 32, 8 > ", 13, "f<32,8>"));
    CHECK(!ws_name_equal("f<32,8>", 7, "f<32,80>"));
    CHECK(!ws_name_equal("f<32,8>", 6, "f<32,8>"));
    CHECK(ws_name_equal("", 0, "") && !ws_name_equal("", 0, "f") && !ws_name_equal("f", 1, ""));
}
