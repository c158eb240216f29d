/* SPDX-License-Identifier: MIT
 * test_names.c: names for people, of kernels as nvcc makes them and of names that nobody made in good faith. */
#include "../../server/names.h"
#include "test.h"

#include <time.h>

struct want {
    const char *mangled, *demangled, *alias, *base;
    bool is_library;
};

static const struct want wanted[] = {
    {"_Z11stride_readILi2EEvPKfPfi", "void stride_read<2>(float const*, float*, int)", "stride_read<2>", "stride_read",
     false},
    {"_Z4copyPKfPf", "copy(float const*, float*)", "copy", "copy", false},
    {"saxpy", "saxpy", "saxpy", "saxpy", false}, /* extern "C" */
    {"", "", "", "", false},
    {"_Zgarbage", "_Zgarbage", "_Zgarbage", "_Zgarbage", false},
    {"_ZN12_GLOBAL__N_16kernelEv", "(anonymous namespace)::kernel()", "kernel", "kernel", false},
    {"_ZN1a1bIiE1cIfEEvT_", "void a::b<int>::c<float>(float)", "c<float>", "c", false},
    {"_Z1fIN5outer5innerIiEEEvT_", "void f<outer::inner<int> >(outer::inner<int>)", "f<outer::inner<int> >", "f",
     false},
    {"_Z1fIXadL_Z1gvEEEvv", "void f<&(g())>()", "f<&(g())>", "f", false},
    {"_ZN1AltERKS_", "A::operator<(A const&)", "operator<", "operator<", false},
    {"_ZN1AclEi", "A::operator()(int)", "operator()", "operator()", false},
    {"_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const", "operator()", "operator()", false},
    {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEENS_6detail5ArrayIPcLi3EEEEEviT0_T1_",
     "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, "
     "3> "
     ">(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)",
     "vectorized_elementwise_kernel<...>", "vectorized_elementwise_kernel", false},
    {"_ZN7cutlass6KernelI1AEEvT_", "void cutlass::Kernel<A>(A)", "Kernel<A>", "Kernel", true},
    {"_Z1fIN7cutlass5ArrayEEvT_", "void f<cutlass::Array>(cutlass::Array)", "f<cutlass::Array>", "f", false},
    {"sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n", "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n",
     "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n", "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n", true},
    {"evil<script>alert(1)</script>", "evil<script>alert(1)</script>", "evil<script>alert", "evil", false},
    {")))>>>]]]}}}", ")))>>>]]]}}}", ")))>>>]]]}}}", ")))>>>]]]}}}", false},
    {"((((<<<<[[[[", "((((<<<<[[[[", "((((<<<<[[[[", "((((<<<<[[[[", false},
    {"operator", "operator", "operator", "operator", false},
};

TEST(every_name_gets_its_four_forms)
{
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        struct ws_arena arena = {NULL};
        struct ws_name n;
        ws_name_of(&arena, wanted[i].mangled, &n);
        CHECK_STR(n.mangled, wanted[i].mangled);
        CHECK_STR(n.demangled, wanted[i].demangled);
        CHECK_STR(n.alias, wanted[i].alias);
        CHECK_STR(n.base, wanted[i].base);
        if (n.is_library != wanted[i].is_library)
            WS_FAIL("%s: library %d", wanted[i].mangled, n.is_library);
        ws_arena_fini(&arena);
    }
}

TEST(a_name_too_long_for_the_demangler_still_gets_its_function)
{
    char name[4096] = "_ZN7cutlass13device_kernelIJ";
    struct ws_arena arena = {NULL};
    struct ws_name n;
    size_t at = strlen(name);
    memset(name + at, 'i', 2000);
    strcpy(name + at + 2000, "EEEvv");
    ws_name_of(&arena, name, &n);
    CHECK_STR(n.demangled, "cutlass::device_kernel<...>(...)");
    CHECK_STR(n.alias, "device_kernel<...>");
    CHECK_STR(n.base, "device_kernel");
    CHECK(n.is_library);
    ws_arena_fini(&arena);
}

/* Each level names the one before twice: the whole text would be 2^n long. */
static void make_bomb(char *out, size_t cap, int levels)
{
    size_t at = (size_t)snprintf(out, cap, "_Z1f1AIiiE");
    for (int i = 0; i < levels; i++) {
        char ref[8];
        snprintf(ref, sizeof ref, i < 10 ? "S%d_" : "S%c_", i < 10 ? i : 'A' + i - 10);
        at += (size_t)snprintf(out + at, cap - at, "S_I%s%sE", ref, ref);
    }
}

TEST(a_name_that_would_unfold_without_end_costs_milliseconds)
{
    for (int levels = 1; levels < 36; levels++) {
        char name[1024];
        struct ws_arena arena = {NULL};
        struct ws_name n;
        clock_t start = clock();
        make_bomb(name, sizeof name, levels);
        ws_name_of(&arena, name, &n);
        CHECK(strlen(n.demangled) <= (16 << 10));
        CHECK_STR(n.base, "f");
        if (clock() - start > CLOCKS_PER_SEC)
            WS_FAIL("%d levels took too long", levels);
        ws_arena_fini(&arena);
    }
}

TEST(random_names_neither_crash_nor_hang)
{
    static const char letters[] = "_ZNIEJSTLK0123456789abvifPR()<>[]{}: ,operator";
    uint64_t state = 1;
    for (int i = 0; i < 20000; i++) {
        char name[200];
        struct ws_arena arena = {NULL};
        struct ws_name n;
        size_t length;
        state = state * 6364136223846793005u + 1442695040888963407u;
        length = (size_t)(state >> 33) % (sizeof name - 3);
        strcpy(name, "_Z");
        for (size_t k = 2; k < length; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            name[k] = letters[(state >> 33) % (sizeof letters - 1)];
            name[k + 1] = 0;
        }
        ws_name_of(&arena, name + (i % 3 == 0 ? 2 : 0), &n);
        CHECK(n.demangled && n.alias && n.base);
        ws_arena_fini(&arena);
    }
}

static bool fits(const char *filter, const char *mangled)
{
    char message[128];
    struct ws_arena arena = {NULL};
    struct ws_name n;
    struct ws_name_filter *f = ws_name_filter_new(filter, message, sizeof message);
    bool result;
    if (!f) {
        WS_FAIL("%s: %s", filter, message);
        return false;
    }
    ws_name_of(&arena, mangled, &n);
    result = ws_name_filter_fits(f, &n);
    ws_name_filter_free(f);
    ws_arena_fini(&arena);
    return result;
}

TEST(a_plain_filter_is_one_of_the_names_exactly)
{
    static const char *const mangled = "_Z11stride_readILi2EEvPKfPfi";
    CHECK(fits("stride_read", mangled));
    CHECK(fits("stride_read<2>", mangled));
    CHECK(fits(mangled, mangled));
    CHECK(fits("void stride_read<2>(float const*, float*, int)", mangled));
    CHECK(!fits("stride", mangled));
    CHECK(!fits("stride_read<4>", mangled));
    CHECK(!fits("", mangled));
    CHECK(!fits(".*", mangled)); /* no expression without regex: */
}

TEST(a_filter_may_leave_out_blanks_or_be_a_hash)
{
    static const char *const mangled = "_Z11block_shapeILi32ELi8EEvPKfPfi";
    char hash[WS_NAME_HASH];
    ws_name_hash(mangled, hash);
    CHECK(fits("block_shape<32,8>", mangled));
    CHECK(fits("block_shape<32, 8>", mangled));
    CHECK(fits("void block_shape<32,8>(float const*,float*,int)", mangled));
    CHECK(fits(hash, mangled));
    CHECK(!fits("0123456789abcdef", mangled));
    CHECK(!fits("block_shape<32,80>", mangled));
}

TEST(a_regular_expression_fits_a_part)
{
    static const char *const mangled = "_Z11stride_readILi2EEvPKfPfi";
    CHECK(fits("regex:stride", mangled));
    CHECK(fits("regex:^void", mangled));
    CHECK(fits("regex:^_Z11", mangled));
    CHECK(fits("regex:read<(2|4)>", mangled));
    CHECK(!fits("regex:read<8>", mangled));
}

TEST(a_wrong_expression_is_refused_with_a_reason)
{
    char message[128] = "";
    CHECK(ws_name_filter_new("regex:(", message, sizeof message) == NULL);
    CHECK(*message != 0);
}
