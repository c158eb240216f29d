/* SPDX-License-Identifier: MIT
 * test_model_texture.c: textures and surfaces without the runtime: objects, values, what is counted, what is refused
 * and what is a fault. tests/cudart/programs/textures.cu compares many more values; its PTX is
 * tests/model/ptx/textures.ptx. */
#include "../../analyzer/err.h"
#include "../../collector/model/model.h"
#include "test.h"

#include <math.h>

#define PLANE_BYTES (32 * sizeof(float))

struct work {
    struct ws_model *model;
    uint64_t array;
    float *data; /* 4 rows of 8 */
    struct ws_model_texture form;
    struct ws_model_result result;
};

static struct ws_model_texture plane(uint64_t at)
{
    return (struct ws_model_texture){.at = at,
                                     .pitch = PLANE_BYTES / 4,
                                     .slice = PLANE_BYTES,
                                     .size = {8, 4, 0},
                                     .channels = 1,
                                     .channel_bytes = 4,
                                     .kind = WS_TEXTURE_FLOAT,
                                     .address_mode = {WS_TEXTURE_CLAMP, WS_TEXTURE_CLAMP, WS_TEXTURE_CLAMP}};
}

static bool begin(struct work *w, const char *text)
{
    char error[WS_MODEL_ERROR_BYTES];
    memset(w, 0, sizeof *w);
    if (ws_model_new(text, strlen(text), &w->model, error) != 0) {
        WS_FAIL("%s", error);
        return false;
    }
    if (ws_model_alloc(w->model, PLANE_BYTES, &w->array) != 0)
        return false;
    w->data = ws_model_at(w->model, w->array, PLANE_BYTES);
    for (int i = 0; i < 32; i++)
        w->data[i] = (float)(i * i);
    w->form = plane(w->array);
    return true;
}

static int launch(struct work *w, const uint64_t *args, size_t n, const char *instructions)
{
    struct ws_model_launch l = {
        .grid = {1, 1, 1}, .block = {32, 1, 1}, .params = args, .params_bytes = n * sizeof *args};
    l.instructions = instructions;
    ws_model_result_fini(&w->result);
    return ws_model_run(w->model, &l, &w->result);
}

static void end(struct work *w)
{
    ws_model_result_fini(&w->result);
    ws_model_free(w->model);
}

#define HEAD                                                                                               \
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 t, .param .u64 out) {\n" \
    ".reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .pred %p<3>; .reg .b16 %h<5>;\n"             \
    "ld.param.u64 %rd1, [t]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;\n"  \
    "add.s64 %rd4, %rd2, %rd3;\n"
#define TAIL "ret;\n}\n"
/* out[i] = the first channel of tex2D(t, i / 4 - 1, 1.25) */
static const char fetch[] =
    HEAD "cvt.rn.f32.u32 %f1, %r1; mul.f32 %f1, %f1, 0f3E800000; add.f32 %f1, %f1, 0fBF800000;\n"
         "mov.f32 %f2, 0f3FA00000;\n"
         "tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1, %f2}];\n"
         "st.global.f32 [%rd4], %f3;\n" TAIL;

static float bilinear(const float *data, float x, float y)
{
    float xb = x - 0.5f, yb = y - 0.5f, fx = floorf(xb), fy = floorf(yb), a = xb - fx, b = yb - fy, v = 0;
    for (int k = 0; k < 4; k++) {
        int i = (int)fx + (k & 1), j = (int)fy + (k >> 1);
        i = i < 0 ? 0 : i > 7 ? 7 : i;
        j = j < 0 ? 0 : j > 3 ? 3 : j;
        v += (k & 1 ? a : 1 - a) * (k >> 1 ? b : 1 - b) * data[8 * j + i];
    }
    return v;
}

TEST(bilinear_and_nearest_values_on_every_instruction_set)
{
    static const char *const sets[] = {"base", NULL};
    for (int s = 0; s < 4; s++) {
        struct work w;
        uint64_t args[2];
        const float *out;
        REQUIRE(begin(&w, fetch));
        w.form.filters = s & 1;
        REQUIRE(ws_model_alloc(w.model, 32 * sizeof(float), &args[1]) == 0);
        REQUIRE(ws_model_texture_new(w.model, &w.form, &args[0]) == 0);
        CHECK_INT(launch(&w, args, 2, sets[s / 2]), 0);
        out = ws_model_at(w.model, args[1], 32 * sizeof(float));
        for (int i = 0; i < 32; i++) {
            float x = (float)i / 4 - 1;
            CHECK(out[i] == (s & 1 ? bilinear(w.data, x, 1.25f) : w.data[8 + (x < 0 ? 0 : (int)x)]));
        }
        CHECK_INT(w.result.counts.textures, 1);
        CHECK_INT(w.result.counts.surfaces, 0);
        CHECK_INT(w.result.counts.memory[WS_MODEL_GLOBAL_LD].requests, 0); /* textures are not global loads */
        CHECK_INT(w.result.counts.memory[WS_MODEL_GLOBAL_ST].requests, 1);
        CHECK_INT(w.result.issues_n, 0);
        end(&w);
    }
}

/* The results lie where the coordinates and the object lay: all lanes are read first. */
TEST(results_may_take_the_place_of_coordinates)
{
    static const char text[] =
        HEAD "cvt.rn.f32.u32 %f1, %r1; mov.f32 %f2, 0f00000000;\n"
             "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2}];\n"
             "add.f32 %f1, %f1, %f2; add.f32 %f1, %f1, %f3; add.f32 %f1, %f1, %f4; st.global.f32 [%rd4], %f1;\n" TAIL;
    struct work w;
    uint64_t args[2];
    const float *out;
    REQUIRE(begin(&w, text));
    REQUIRE(ws_model_alloc(w.model, 32 * sizeof(float), &args[1]) == 0);
    REQUIRE(ws_model_texture_new(w.model, &w.form, &args[0]) == 0);
    CHECK_INT(launch(&w, args, 2, NULL), 0);
    out = ws_model_at(w.model, args[1], 32 * sizeof(float));
    for (int i = 0; i < 32; i++)
        CHECK(out[i] == w.data[i > 7 ? 7 : i] + 1); /* y and z of one channel are 0, w is 1 */
    end(&w);
}

TEST(surfaces_clamp_zero_and_trap)
{
    static const char *const clamps[] = {"zero", "clamp", "trap"};
    for (int c = 0; c < 3; c++) {
        char text[1024];
        struct work w;
        uint64_t args[2];
        uint32_t before[32], now[32];
        snprintf(text, sizeof text,
                 "%sshl.b32 %%r2, %%r1, 2; mov.u32 %%r3, 1;\n"
                 "suld.b.2d.b32.zero {%%r4}, [%%rd1, {%%r2, %%r3}];\n"
                 "add.u32 %%r4, %%r4, 1; sust.b.2d.b32.%s [%%rd1, {%%r2, %%r3}], {%%r4};\n"
                 "st.global.u32 [%%rd4], %%r4;\n%s",
                 HEAD, clamps[c], TAIL);
        REQUIRE(begin(&w, text));
        memcpy(before, w.data, sizeof before);
        w.form.is_surface = true;
        REQUIRE(ws_model_alloc(w.model, 32 * sizeof(float), &args[1]) == 0);
        REQUIRE(ws_model_texture_new(w.model, &w.form, &args[0]) == 0);
        CHECK_INT(launch(&w, args, 2, NULL), 0);
        memcpy(now, w.data, sizeof now);
        for (int i = 0; i < 32; i++) /* row 1 only; beyond it zero and trap write nothing, clamp its last element */
            CHECK_INT(now[i], i < 8 || i > 15 ? before[i] : i == 15 && c == 1 ? 1 : before[i] + 1);
        CHECK_INT(w.result.counts.surfaces, 2);
        CHECK_INT(w.result.issues_n, c == 2);
        CHECK_INT(w.result.fatal, c == 2 ? WS_MODEL_FATAL_ADDRESS : WS_MODEL_FATAL_NONE);
        if (c == 2) {
            CHECK_INT(w.result.issues[0].count, 24);
            CHECK(strstr(w.result.issues[0].text, "access outside of a surface") != NULL);
            CHECK(strstr(w.result.issues[0].text, "byte 32 of its row") != NULL);
        }
        end(&w);
    }
}

TEST(an_object_that_is_not_there_or_of_another_form_is_a_fault)
{
    for (int c = 0; c < 6; c++) {
        struct work w;
        uint64_t args[2], handle;
        REQUIRE(begin(&w, fetch));
        REQUIRE(ws_model_alloc(w.model, 32 * sizeof(float), &args[1]) == 0);
        w.form.is_surface = c == 3;
        w.form.size[1] = c == 4 ? 0 : 4;
        w.form.layers = c == 5 ? 1 : 0;
        REQUIRE(ws_model_texture_new(w.model, &w.form, &handle) == 0);
        args[0] = c == 0 ? 0 : c == 1 ? w.array : handle;
        if (c == 2)
            CHECK_INT(ws_model_texture_drop(w.model, handle), 0);
        CHECK_INT(launch(&w, args, 2, NULL), 0);
        CHECK_INT(w.result.issues_n, 1);
        CHECK_INT(w.result.issues[0].count, 32);
        CHECK(strstr(w.result.issues[0].text, "no texture or surface object of this form") != NULL);
        CHECK_INT(w.result.fatal, WS_MODEL_FATAL_ADDRESS);
        end(&w);
    }
}

TEST(handles_are_not_given_twice_and_bad_forms_are_refused)
{
    struct work w;
    uint64_t a, b;
    struct ws_model_texture bad[12];
    REQUIRE(begin(&w, fetch));
    REQUIRE(ws_model_texture_new(w.model, &w.form, &a) == 0);
    CHECK_INT(ws_model_texture_drop(w.model, a), 0);
    CHECK_INT(ws_model_texture_drop(w.model, a), -WS_ENOENT);
    REQUIRE(ws_model_texture_new(w.model, &w.form, &b) == 0);
    CHECK(a != b);
    for (int c = 0; c < 12; c++)
        bad[c] = w.form;
    bad[0].size[0] = 0;
    bad[1].size[0] = 9; /* past the end of the allocation */
    bad[2].channels = 3;
    bad[3].channel_bytes = 8;
    bad[4].kind = 7;
    bad[5].as_float = true; /* floats are floats already */
    bad[6].kind = WS_TEXTURE_UNSIGNED, bad[6].filters = true;
    bad[7].address_mode[2] = 4;
    bad[8].at += 4;
    bad[9].size[2] = UINT32_MAX;
    bad[10].pitch = UINT64_MAX / 2;
    bad[11].size[1] = 0, bad[11].size[2] = 2;
    for (int c = 0; c < 12; c++)
        CHECK_INT(ws_model_texture_new(w.model, &bad[c], &a), -WS_EINVAL);
    end(&w);
}

TEST(what_is_not_modelled_is_refused_by_name)
{
    static const char *const forms[] = {
        "tex.cube.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1, %f2, %f1, %f2}]",
        "tex.grad.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1, %f2}], {%f1, %f2}, {%f1, %f2}",
        "tex.2d.v4.f16.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1, %f2}]",
        "tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1}]",
        "tex.2d.v4.f32.f32 {%f3, %f4, %f5}, [%rd1, {%f1, %f2}]",
        "tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [reference, {%f1, %f2}]",
        "tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1+8, {%f1, %f2}]",
        "tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%rd1, %f2}]",
        "tld4.x.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1, %f2}]",
        "tld4.r.3d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1, %f2, %f1, %f1}]",
        "suld.b.2d.v4.b64.trap {%rd5, %rd6, %rd7, %rd8}, [%rd1, {%r1, %r2}]",
        "suld.b.2d.b32 {%r4}, [%rd1, {%r1, %r2}]",
        "sust.p.2d.b32.trap [%rd1, {%r1, %r2}], {%r4}",
        "sust.b.2d.b32.trap [%rd1, {%r1}], {%r4}",
        "sust.b.2d.b64.trap [%rd1, {%r1, %r2}], {%r4}",
        "sured.b.add.2d.u32.trap [%rd1, {%r1, %r2}], %r4",
        "txq.width.b32 %r4, [%rd1]",
    };
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        char text[2048];
        struct work w;
        uint64_t args[2] = {0, 0};
        snprintf(text, sizeof text, "%s%s;\n%s", HEAD, forms[k], TAIL);
        REQUIRE(begin(&w, text));
        CHECK_INT(launch(&w, args, 2, NULL), -WS_EUNSUP);
        CHECK(strstr(w.result.refusal, "k: line ") != NULL);
        end(&w);
    }
}
