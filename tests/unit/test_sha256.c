/* SPDX-License-Identifier: MIT
 * test_sha256.c: the digests that FIPS 180-4 and RFC 6234 give, and every length around a block's end. */
#include "../../server/sha256.h"
#include "test.h"

static void hex(const uint8_t digest[32], char out[65])
{
    for (size_t i = 0; i < 32; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

TEST(known_texts_have_known_digests)
{
    static const struct {
        const char *text, *digest;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqr"
         "stu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t digest[32];
        char got[65];
        ws_sha256(cases[i].text, strlen(cases[i].text), digest);
        hex(digest, got);
        CHECK_STR(got, cases[i].digest);
    }
}

TEST(a_million_letters_have_the_known_digest)
{
    static char text[1000000];
    uint8_t digest[32];
    char got[65];
    memset(text, 'a', sizeof text);
    ws_sha256(text, sizeof text, digest);
    hex(digest, got);
    CHECK_STR(got, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(every_length_around_a_block_differs_from_its_neighbour)
{
    static const char text[200];
    char before[64] = "";
    for (size_t n = 0; n < 200; n++) {
        char now[64];
        ws_sha256_csp(text, n, now);
        CHECK(strcmp(before, now) != 0);
        memcpy(before, now, sizeof now);
    }
}

TEST(policy_names_a_script_as_browsers_do)
{
    /* the example of the CSP specification: alert('Hello, world.'); */
    char got[64];
    ws_sha256_csp("alert('Hello, world.');", 23, got);
    CHECK_STR(got, "sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng=");
}
