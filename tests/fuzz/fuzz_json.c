/* SPDX-License-Identifier: MIT
 * fuzz_json.c: any sequence of calls of the JSON writer, read back by a parser that is not ours (libFuzzer; `make
 * fuzz`). Texts must come back as they went, but for bytes that are no UTF-8; numbers to the last bit. */
#include "../../server/json.h"
#include "../../server/utf8.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(claim)                                    \
    do {                                               \
        if (!(claim)) {                                \
            fprintf(stderr, "not true: %s\n", #claim); \
            abort();                                   \
        }                                              \
    } while (0)

struct input {
    const uint8_t *at;
    size_t left;
};

static uint8_t byte(struct input *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->at++;
}

static size_t piece(struct input *in, const char **at)
{
    size_t n = byte(in);
    if (n > in->left)
        n = in->left;
    *at = (const char *)in->at;
    in->at += n;
    in->left -= n;
    return n;
}

static double number(struct input *in)
{
    uint64_t bits = 0;
    double v;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | byte(in);
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* As large as JSON's readers hold exactly. */
static int64_t whole(struct input *in)
{
    int64_t v = 0;
    for (int i = 0; i < 7; i++)
        v = v << 7 | (byte(in) & 127);
    return byte(in) & 1 ? -v : v;
}

/* What the input says, at most so deep. The reader below goes the same way. */
static void write_value(struct ws_json *j, struct input *in, int depth)
{
    const char *at;
    size_t n;
    switch (byte(in) % (depth > 0 ? 8 : 6)) {
    case 0:
        n = piece(in, &at);
        ws_json_text_n(j, at, n);
        return;
    case 1:
        ws_json_number(j, number(in));
        return;
    case 2:
        ws_json_int(j, whole(in));
        return;
    case 3:
        ws_json_bool(j, byte(in) & 1);
        return;
    case 4:
    case 5:
        ws_json_null(j);
        return;
    case 6:
        ws_json_array(j);
        for (unsigned i = byte(in) % 5; i > 0; i--)
            write_value(j, in, depth - 1);
        ws_json_end(j);
        return;
    default:
        if (byte(in) & 1)
            ws_json_object(j);
        else
            ws_json_object_line(j);
        for (unsigned i = byte(in) % 5; i > 0; i--) {
            n = piece(in, &at);
            ws_json_key_n(j, at, n);
            write_value(j, in, depth - 1);
        }
        ws_json_end(j);
    }
}

/* Whether the text says what went in: each byte that is no UTF-8 is U+FFFD. A NUL ends what cJSON can hold. */
static bool is_text(const char *got, const char *at, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t length = ws_utf8_length((const unsigned char *)at + i, n - i);
        if (length == 1 && at[i] == 0)
            return *got == 0;
        if (length == 0) {
            if (strncmp(got, "\xef\xbf\xbd", 3) != 0)
                return false;
            got += 3;
            i++;
            continue;
        }
        if (strncmp(got, at + i, length) != 0)
            return false;
        got += length;
        i += length;
    }
    return *got == 0;
}

static void read_value(const cJSON *v, struct input *in, int depth)
{
    const char *at;
    size_t n;
    double d;
    const cJSON *child;
    MUST(v);
    switch (byte(in) % (depth > 0 ? 8 : 6)) {
    case 0:
        n = piece(in, &at);
        MUST(cJSON_IsString(v) && is_text(v->valuestring, at, n));
        return;
    case 1:
        d = number(in);
        MUST(isfinite(d) ? cJSON_IsNumber(v) && v->valuedouble == d : cJSON_IsNull(v));
        return;
    case 2:
        MUST(cJSON_IsNumber(v) && v->valuedouble == (double)whole(in));
        return;
    case 3:
        MUST(cJSON_IsBool(v) && cJSON_IsTrue(v) == (byte(in) & 1));
        return;
    case 4:
    case 5:
        MUST(cJSON_IsNull(v));
        return;
    case 6:
        MUST(cJSON_IsArray(v));
        n = byte(in) % 5;
        MUST(cJSON_GetArraySize(v) == (int)n);
        cJSON_ArrayForEach(child, v) read_value(child, in, depth - 1);
        return;
    default:
        MUST(cJSON_IsObject(v));
        byte(in);
        n = byte(in) % 5;
        MUST(cJSON_GetArraySize(v) == (int)n);
        cJSON_ArrayForEach(child, v)
        {
            size_t length = piece(in, &at);
            MUST(is_text(child->string, at, length));
            read_value(child, in, depth - 1);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = NULL;
    size_t length = 0;
    const char *end = NULL;
    struct ws_json j = {0};
    struct input in = {data, size};
    cJSON *tree;
    if (size == 0)
        return 0;
    j.pretty = byte(&in) & 1;
    j.out = open_memstream(&text, &length);
    MUST(j.out);
    write_value(&j, &in, 8);
    fclose(j.out);
    MUST(j.depth == 0);
    tree = cJSON_ParseWithLengthOpts(text, length + 1, &end, true);
    in = (struct input){data + 1, size - 1};
    read_value(tree, &in, 8);
    cJSON_Delete(tree);
    free(text);
    return 0;
}
