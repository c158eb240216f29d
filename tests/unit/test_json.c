/* SPDX-License-Identifier: MIT
 * test_json.c: what the writer writes, a strict reader reads back unchanged. */
#include "../../server/json.h"
#include "test.h"

#include <cjson/cJSON.h>

/* Write one value into memory; the caller frees. */
static char *written(void (*write)(struct ws_json *j, const void *data), const void *data, bool pretty)
{
    char *text = NULL;
    size_t length = 0;
    struct ws_json j = {.out = open_memstream(&text, &length), .pretty = pretty};
    write(&j, data);
    fclose(j.out);
    return text;
}

static void write_text(struct ws_json *j, const void *data)
{
    ws_json_array(j);
    ws_json_text(j, data);
    ws_json_end(j);
}

/* The text that a reader gets for what was written. */
static void check_text(const char *in, const char *want)
{
    char *json = written(write_text, in, false);
    const char *end = NULL;
    cJSON *tree = cJSON_ParseWithOpts(json, &end, 1);
    if (!tree)
        WS_FAIL("not JSON: %s", json);
    else
        CHECK_STR(cJSON_GetArrayItem(tree, 0)->valuestring, want);
    cJSON_Delete(tree);
    free(json);
}

TEST(every_ascii_byte_survives)
{
    char all[128];
    for (int i = 1; i < 128; i++)
        all[i - 1] = (char)i;
    all[127] = 0;
    check_text(all, all);
}

TEST(valid_utf8_survives)
{
    check_text("\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xef\xbf\xbf \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf",
               "\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xef\xbf\xbf \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf");
}

#define FFFD "\xef\xbf\xbd"
TEST(bytes_that_are_no_utf8_become_the_replacement_character)
{
    static const struct {
        const char *in, *want;
    } cases[] = {
        {"a\xff", "a" FFFD},
        {"\xc0\x80", FFFD FFFD},                   /* overlong NUL */
        {"\xed\xa0\x80", FFFD FFFD FFFD},          /* a surrogate */
        {"\xf4\x90\x80\x80", FFFD FFFD FFFD FFFD}, /* above U+10FFFF */
        {"\xe2\x82", FFFD FFFD},                   /* cut */
        {"\xe2\x82z", FFFD FFFD "z"},
        {"\xf0\x80\x80\xaf", FFFD FFFD FFFD FFFD},
        {"\x80", FFFD},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_text(cases[i].in, cases[i].want);
}

TEST(a_hostile_name_cannot_leave_its_string)
{
    check_text("\"}],\"x\":[{\"</script>\\", "\"}],\"x\":[{\"</script>\\");
}

static void write_number(struct ws_json *j, const void *data)
{
    ws_json_number(j, *(const double *)data);
}

TEST(a_number_reads_back_as_the_same_bits)
{
    static const double numbers[] = {0,
                                     1,
                                     -1,
                                     0.1,
                                     1.0 / 3.0,
                                     1e-300,
                                     5e-324,
                                     1.7976931348623157e308,
                                     1e15,
                                     123456.75,
                                     4503599627370497.5,
                                     9007199254740991.0,
                                     9007199254740993.0,
                                     1e22,
                                     2.5e-9,
                                     -0.3};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char *json = written(write_number, &numbers[i], false);
        double back = strtod(json, NULL);
        CHECK(back == numbers[i]);
        CHECK(strlen(json) <= 24 + 1);
        free(json);
    }
}

TEST(random_doubles_read_back_as_the_same_bits)
{
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        double v;
        char text[32];
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        memcpy(&v, &state, sizeof v);
        ws_number_text(v, text);
        if (isfinite(v))
            CHECK(strtod(text, NULL) == v);
        else
            CHECK_STR(text, "");
    }
}

TEST(whole_numbers_are_written_without_exponent)
{
    char text[32];
    ws_number_text(1e15, text);
    CHECK_STR(text, "1000000000000000");
    ws_number_text(9007199254740991.0, text);
    CHECK_STR(text, "9007199254740991");
    ws_number_text(-0.0, text);
    CHECK_STR(text, "0");
    ws_number_text(0.1, text);
    CHECK_STR(text, "0.1");
}

TEST(not_a_number_and_infinity_are_null)
{
    static const double none[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        char *json = written(write_number, &none[i], false);
        CHECK_STR(json, "null");
        free(json);
    }
}

static void write_tree(struct ws_json *j, const void *data)
{
    (void)data;
    ws_json_object(j);
    ws_json_put_int(j, "least", INT64_MIN);
    ws_json_put_uint(j, "most", UINT64_MAX);
    ws_json_put_bool(j, "yes", true);
    ws_json_put_null(j, "none");
    ws_json_put_text(j, "no text", NULL);
    ws_json_key(j, "empty");
    ws_json_array(j);
    ws_json_end(j);
    ws_json_key(j, "line");
    ws_json_object_line(j);
    ws_json_put_number(j, "half", 0.5);
    ws_json_key(j, "deep");
    ws_json_array(j);
    ws_json_int(j, 1);
    ws_json_int(j, 2);
    ws_json_end(j);
    ws_json_end(j);
    ws_json_key(j, "after");
    ws_json_array(j);
    ws_json_object(j);
    ws_json_end(j);
    ws_json_int(j, 3);
    ws_json_end(j);
    ws_json_end(j);
}

TEST(compact_output_is_exact)
{
    char *json = written(write_tree, NULL, false);
    CHECK_STR(json, "{\"least\":-9223372036854775808,\"most\":18446744073709551615,\"yes\":true,\"none\":null,"
                    "\"no text\":null,\"empty\":[],\"line\":{\"half\":0.5,\"deep\":[1,2]},\"after\":[{},3]}\n");
    free(json);
}

TEST(pretty_output_breaks_lines_only_outside_of_line_groups)
{
    char *json = written(write_tree, NULL, true);
    CHECK_STR(json, "{\n  \"least\": -9223372036854775808,\n  \"most\": 18446744073709551615,\n  \"yes\": true,\n"
                    "  \"none\": null,\n  \"no text\": null,\n  \"empty\": [],\n"
                    "  \"line\": {\"half\": 0.5, \"deep\": [1, 2]},\n  \"after\": [\n    {},\n    3\n  ]\n}\n");
    free(json);
}

TEST(pretty_and_compact_output_mean_the_same)
{
    char *a = written(write_tree, NULL, false);
    char *b = written(write_tree, NULL, true);
    cJSON *ta = cJSON_Parse(a);
    cJSON *tb = cJSON_Parse(b);
    CHECK(cJSON_Compare(ta, tb, 1));
    cJSON_Delete(ta);
    cJSON_Delete(tb);
    free(a);
    free(b);
}
