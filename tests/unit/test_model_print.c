/* SPDX-License-Identifier: MIT
 * test_model_print.c: printf of kernels: what a lane prints, formats from strangers, calls of another form. */
#include "../../analyzer/err.h"
#include "../../collector/model/model.h"
#include "test.h"

static char printed[8192];
static size_t printed_n;

static void take(void *state, bool is_assert, const char *text, size_t bytes)
{
    (void)state;
    CHECK(!is_assert);
    if (bytes < sizeof printed - printed_n) {
        memcpy(printed + printed_n, text, bytes);
        printed_n += bytes;
        printed[printed_n] = 0;
    }
}

/* A kernel of two lanes that prints a format with the arguments: lane (u32), 1.5, "hi", 2^40. */
static int print(const char *format, const char *parameter, char *refusal)
{
    char ptx[4096], bytes[1024] = "";
    struct ws_model *model = NULL;
    struct ws_model_launch launch = {.grid = {1, 1, 1}, .block = {2, 1, 1}, .print = take};
    struct ws_model_result result;
    char error[WS_MODEL_ERROR_BYTES];
    int err;
    for (size_t k = 0, n = 0; k <= strlen(format); k++)
        n += (size_t)snprintf(bytes + n, sizeof bytes - n, "%s%d", k ? "," : "", format[k]);
    snprintf(
        ptx, sizeof ptx,
        ".version 8.0\n.target sm_75\n.address_size 64\n"
        ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
        ".global .align 1 .b8 f[%zu] = {%s};\n.global .align 1 .b8 s[3] = {104, 105, 0};\n"
        ".visible .entry k() {\n.reg .b64 %%d<5>; .reg .b32 %%r<3>; .local .align 8 .b8 depot[32];\n"
        "mov.u64 %%d1, f; cvta.global.u64 %%d1, %%d1; mov.u64 %%d2, depot; cvta.local.u64 %%d2, %%d2;\n"
        "mov.u32 %%r1, %%tid.x; st.local.u32 [depot], %%r1; mov.u64 %%d3, 4609434218613702656;\n"
        "st.local.u64 [depot+8], %%d3; mov.u64 %%d3, s; cvta.global.u64 %%d3, %%d3; st.local.u64 [depot+16], %%d3;\n"
        "mov.u64 %%d3, 1099511627776; st.local.u64 [depot+24], %%d3;\n"
        "{ .param %s p0; st.param%s [p0+0], %%d1; .param .b64 p1; st.param.b64 [p1+0], %%d2; .param .b32 rv;\n"
        "call.uni (rv), vprintf, (p0, p1); }\nret; }\n",
        strlen(format) + 1, bytes, parameter, parameter);
    err = ws_model_new(ptx, strlen(ptx), &model, error);
    if (err) {
        WS_FAIL("%s", error);
        return err;
    }
    printed_n = 0;
    printed[0] = 0;
    err = ws_model_run(model, &launch, &result);
    snprintf(refusal, WS_MODEL_ERROR_BYTES, "%s", err ? result.refusal : "");
    if (!err)
        ws_model_result_fini(&result);
    ws_model_free(model);
    return err;
}

static char refusal[WS_MODEL_ERROR_BYTES];

TEST(each_lane_prints_its_arguments)
{
    CHECK_INT(print("%d|%5.2f|%-4s|%llx%%\n", ".b64", refusal), 0);
    CHECK(strcmp(printed, "0| 1.50|hi  |10000000000%\n1| 1.50|hi  |10000000000%\n") == 0);
}

/* Stars that would overrun a buffer, widths that would pad for seconds, an end in the middle. */
TEST(formats_from_strangers_are_bounded)
{
    static const char *const format[] = {"%****************************************d",
                                         "%.999999999f",
                                         "%99999999999d|",
                                         "%",
                                         "%-+ #0",
                                         "%n%k%s%s%s%s%s"};
    for (size_t k = 0; k < sizeof format / sizeof *format; k++) {
        CHECK_INT(print(format[k], ".b64", refusal), 0);
        CHECK(printed_n < sizeof printed);
    }
}

TEST(call_with_a_narrow_parameter_is_refused)
{
    CHECK_INT(print("x", ".b32", refusal), -WS_EUNSUP);
    CHECK(strstr(refusal, "printf or assert with parameters of another form") != NULL);
}
