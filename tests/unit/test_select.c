/* SPDX-License-Identifier: MIT
 * test_select.c: which launches get counters. */
#include "collector/select.h"

#include "analyzer/err.h"
#include "analyzer/name_hash.h"
#include "test.h"

static struct ws_signature table[WS_SELECT_SLOTS];

static struct ws_select fresh(void)
{
    struct ws_select s = {.passes = 1, .table = table};
    memset(table, 0, sizeof table);
    return s;
}

static bool offer(struct ws_select *s, const char *name, uint32_t grid, uint32_t pass)
{
    struct ws_launch_key key = {.name = name, .grid = {grid, 1, 1}, .block = {32, 1, 1}};
    bool profile;
    uint64_t ordinal;
    struct ws_signature *sig = ws_select_next(s, &key, pass, 0, &profile, &ordinal);
    if (profile)
        ws_select_done(s, sig, pass);
    return profile;
}

TEST(first_launch_of_each_signature_gets_counters)
{
    struct ws_select s = fresh();
    CHECK(offer(&s, "_Z1av", 1, 0));
    CHECK(!offer(&s, "_Z1av", 1, 0));
    CHECK(offer(&s, "_Z1av", 2, 0));
    CHECK(offer(&s, "_Z1bv", 1, 0));
}

TEST(every_second_launch_means_every_second)
{
    struct ws_select s = fresh();
    int n = 0;
    s.every = 2;
    for (int i = 0; i < 10; i++)
        n += offer(&s, "_Z1av", 1, 0);
    CHECK_INT(n, 5);
}

TEST(skip_counts_matching_launches_only)
{
    struct ws_select s = fresh();
    s.skip = 2;
    s.every = 1;
    CHECK_INT(ws_select_filter(&s, "a", WS_NAME_FUNCTION), 0);
    CHECK(!offer(&s, "_Z1bv", 1, 0));
    CHECK(!offer(&s, "_Z1av", 1, 0));
    CHECK(!offer(&s, "_Z1bv", 1, 0));
    CHECK(!offer(&s, "_Z1av", 1, 0));
    CHECK(offer(&s, "_Z1av", 1, 0));
}

TEST(count_limits_launches_with_counters)
{
    struct ws_select s = fresh();
    int n = 0;
    s.every = 1;
    s.count = 3;
    for (int i = 0; i < 10; i++)
        n += offer(&s, "_Z1av", 1, 0);
    CHECK_INT(n, 3);
}

TEST(plain_filter_is_exact_and_regex_is_partial)
{
    struct ws_select s = fresh();
    CHECK_INT(ws_select_filter(&s, "transpose_tile", WS_NAME_FUNCTION), 0);
    CHECK(offer(&s, "_Z14transpose_tileILi32EEvPfPKfi", 1, 0));
    CHECK(!offer(&s, "_Z9transposeILi32EEvPfPKfi", 1, 0));
    s = fresh();
    CHECK_INT(ws_select_filter(&s, "transpose_tile<33>", WS_NAME_FUNCTION), 0);
    CHECK(!offer(&s, "_Z14transpose_tileILi32EEvPfPKfi", 1, 0));
    CHECK(offer(&s, "_Z14transpose_tileILi33EEvPfPKfi", 1, 0));
    s = fresh();
    CHECK_INT(ws_select_filter(&s, "regex:^trans", WS_NAME_FUNCTION), 0);
    CHECK(offer(&s, "_Z14transpose_tileILi32EEvPfPKfi", 1, 0));
    CHECK(!offer(&s, "_Z2noi", 1, 0));
    regfree(&s.regex);
    CHECK_INT(ws_select_filter(&s, "regex:(", WS_NAME_FUNCTION), -WS_ESYNTAX);
}

static bool picks(const char *filter, const char *mangled)
{
    struct ws_select s = fresh();
    CHECK_INT(ws_select_filter(&s, filter, WS_NAME_FUNCTION), 0);
    return offer(&s, mangled, 1, 0);
}

TEST(a_plain_filter_is_any_of_the_names)
{
    static const char *const tile = "_Z14transpose_tileILi32ELi8EEvPfPKfi";
    static const char *const nested = "_ZN2ns4copyEPf";
    char hash[WS_NAME_HASH];
    ws_name_hash(tile, hash);
    CHECK(picks("transpose_tile<32, 8>", tile) && picks("transpose_tile<32,8>", tile));
    CHECK(picks(tile, tile) && picks(hash, tile));
    CHECK(picks("void transpose_tile<32, 8>(float*, float const*, int)", tile));
    CHECK(picks("ns::copy(float*)", nested) && picks("(anonymous namespace)::copy(float*)", nested));
    CHECK(!picks("void transpose_tile<32, 9>(float*, float const*, int)", tile));
    CHECK(!picks("0123456789abcdef", tile) && !picks("(float*)", tile) && !picks("transpose", tile));
    CHECK(picks("operator()", "_ZN1AclEi") == false); /* no function's name can be read: the text itself counts */
    CHECK(picks("evil()(", "evil()("));
}

TEST(rotation_completes_every_signature)
{
    struct ws_select s = fresh();
    uint32_t pass = 0;
    int launches[2] = {0, 0};
    s.first_mode = WS_MODE_ROTATE;
    s.passes = 3;
    for (int i = 0; i < 40; i++) {
        bool hit = offer(&s, i % 2 ? "_Z1bv" : "_Z1av", 1, pass);
        launches[i % 2] += hit;
        if (hit)
            pass = (pass + 1) % 3;
    }
    for (uint32_t i = 0; i < WS_SELECT_SLOTS; i++)
        if (table[i].hash)
            CHECK(table[i].is_complete);
    /* once complete nothing more is spent */
    CHECK(launches[0] >= 3 && launches[0] <= 6);
    CHECK(launches[1] >= 3 && launches[1] <= 6);
}

TEST(rotation_does_not_starve_when_the_wrong_pass_is_up)
{
    struct ws_select s = fresh();
    s.first_mode = WS_MODE_ROTATE;
    s.passes = 2;
    CHECK(offer(&s, "_Z1av", 1, 0)); /* a has pass 0 */
    CHECK(offer(&s, "_Z1bv", 1, 1)); /* b takes pass 1 and never comes back: pass 0 is up again */
    CHECK(!offer(&s, "_Z1av", 1, 0));
    CHECK(!offer(&s, "_Z1av", 1, 0));
    CHECK(offer(&s, "_Z1av", 1, 0)); /* waited twice: takes it to move the counter on */
    CHECK(offer(&s, "_Z1av", 1, 1));
    CHECK(!offer(&s, "_Z1av", 1, 0)); /* complete */
}

TEST(claimed_signature_is_not_taken_twice_and_a_released_one_is)
{
    struct ws_select s = fresh();
    struct ws_launch_key key = {.name = "_Z1av", .grid = {1, 1, 1}, .block = {32, 1, 1}};
    bool profile;
    uint64_t ordinal;
    struct ws_signature *sig = ws_select_next(&s, &key, 0, 0, &profile, &ordinal);
    CHECK(profile);
    ws_select_next(&s, &key, 0, 0, &profile, &ordinal);
    CHECK(!profile); /* another thread, same signature, meanwhile */
    ws_select_release(sig);
    ws_select_next(&s, &key, 0, 0, &profile, &ordinal);
    CHECK(profile);
    CHECK_INT(ordinal, 2);
}

TEST(a_signature_waits_until_the_budget_may_have_room_again)
{
    struct ws_select s = fresh();
    struct ws_launch_key key = {.name = "_Z1av", .grid = {1, 1, 1}, .block = {32, 1, 1}};
    bool profile;
    uint64_t ordinal;
    struct ws_signature *sig = ws_select_next(&s, &key, 0, 100, &profile, &ordinal);
    CHECK(profile);
    sig->not_before_ns = 200;
    ws_select_release(sig);
    ws_select_next(&s, &key, 0, 199, &profile, &ordinal);
    CHECK(!profile);
    ws_select_next(&s, &key, 0, 200, &profile, &ordinal);
    CHECK(profile);
}

TEST(what_is_not_counted_at_all_stays_so)
{
    struct ws_select s = fresh();
    struct ws_launch_key key = {.name = "_Z1av", .grid = {1, 1, 1}, .block = {32, 1, 1}};
    bool profile;
    uint64_t ordinal;
    struct ws_signature *sig = ws_select_next(&s, &key, 0, 0, &profile, &ordinal);
    sig->mode = WS_MODE_NONE;
    ws_select_release(sig);
    s.every = 1;
    ws_select_next(&s, &key, 0, 0, &profile, &ordinal);
    CHECK(!profile);
}

/* A pass that never comes must not cost a launch each time, for ever. */
TEST(a_round_of_rotation_ends_even_if_a_pass_never_comes)
{
    struct ws_select s = fresh();
    int hits = 0;
    s.first_mode = WS_MODE_ROTATE;
    s.passes = 4;
    for (int i = 0; i < 500; i++)
        hits += offer(&s, "_Z1av", 1, 0);
    CHECK_INT(hits, WS_SELECT_ROUND_MAX(4));
}

TEST(collectives_are_known_by_their_names)
{
    CHECK(ws_select_is_collective("_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LLP11ncclDevComm"));
    CHECK(ws_select_is_collective("_Z37ncclKernel_AllReduce_RING_LL_Sum_float11ncclDevComm"));
    CHECK(ws_select_is_collective("_Z20nvshmemi_transfer_rmav"));
    CHECK(!ws_select_is_collective("_Z6vecaddPKfS0_Pf") && !ws_select_is_collective(""));
}

TEST(full_table_refuses_politely)
{
    struct ws_select s = fresh();
    struct ws_launch_key key = {.name = "_Z1av", .block = {32, 1, 1}};
    bool profile = true;
    uint64_t ordinal;
    struct ws_signature *sig = NULL;
    for (uint32_t i = 0; i <= WS_SELECT_SLOTS / 2; i++) {
        key.grid[0] = i + 1;
        sig = ws_select_next(&s, &key, 0, 0, &profile, &ordinal);
    }
    CHECK(sig == NULL);
    CHECK(!profile);
}

TEST(function_names_come_out_of_mangled_ones)
{
    static const struct {
        const char *mangled, *base, *alias;
    } rows[] = {
        {"_Z7vec_addPKfS0_Pfi", "vec_add", "vec_add"},
        {"_Z14transpose_tileILi32EEvPfPKfi", "transpose_tile", "transpose_tile<32>"},
        {"_Z11block_shapeILi32ELi8EEvPfPKfi", "block_shape", "block_shape<32, 8>"},
        {"_Z5thingILin3ELb1EEvv", "thing", "thing<-3, 1>"},
        {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_7MeanOpsIffffEEjfLi4EEEEEvT1_", "reduce_kernel",
         "reduce_kernel"},
        {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_",
         "vectorized_elementwise_kernel", "vectorized_elementwise_kernel"},
        {"_ZN12_GLOBAL__N_12goEv", "go", "go"},
        {"plain_c_kernel", "plain_c_kernel", "plain_c_kernel"},
        {"_Z", "_Z", "_Z"},
        {"_Z99short", "_Z99short", "_Z99short"},
        {"_ZN1aI", "_ZN1aI", "_ZN1aI"},
        {"", "", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char base[256], alias[256];
        ws_select_names(rows[i].mangled, base, alias, sizeof base);
        CHECK_STR(base, rows[i].base);
        CHECK_STR(alias, rows[i].alias);
    }
}

TEST(deeply_nested_name_does_not_overflow_the_stack)
{
    char name[70000];
    char base[64], alias[64];
    memset(name, 'P', sizeof name);
    memcpy(name, "_Z1aI", 5);
    name[sizeof name - 1] = 0;
    ws_select_names(name, base, alias, sizeof base);
    memset(name + 5, 'I', sizeof name - 6);
    ws_select_names(name, base, alias, sizeof base);
    CHECK(base[0] == '_');
}
