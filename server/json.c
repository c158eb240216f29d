/* SPDX-License-Identifier: MIT
 * json.c: the streaming JSON writer. No allocation; the output is a FILE (open_memstream for memory). */
#include "json.h"

#include "utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- structure --- */

static bool breaks_lines(const struct ws_json *j)
{
    return j->pretty && (j->inline_from == 0 || j->depth < j->inline_from);
}

static void new_line(struct ws_json *j)
{
    fputc('\n', j->out);
    for (int i = 0; i < j->depth; i++)
        fputs("  ", j->out);
}

/* What stands before a value or a key: a comma, a line break, or nothing. */
static void separate(struct ws_json *j)
{
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    if (j->depth == 0)
        return;
    if (j->has_member[j->depth])
        fputc(',', j->out);
    if (breaks_lines(j))
        new_line(j);
    else if (j->pretty && j->has_member[j->depth])
        fputc(' ', j->out);
    j->has_member[j->depth] = true;
}

static void open_group(struct ws_json *j, char open, char close)
{
    assert(j->depth < WS_JSON_DEPTH);
    separate(j);
    fputc(open, j->out);
    j->depth++;
    j->has_member[j->depth] = false;
    j->close[j->depth] = close;
}

void ws_json_object(struct ws_json *j)
{
    open_group(j, '{', '}');
}

void ws_json_array(struct ws_json *j)
{
    open_group(j, '[', ']');
}

void ws_json_object_line(struct ws_json *j)
{
    open_group(j, '{', '}');
    if (j->inline_from == 0)
        j->inline_from = j->depth;
}

void ws_json_array_line(struct ws_json *j)
{
    open_group(j, '[', ']');
    if (j->inline_from == 0)
        j->inline_from = j->depth;
}

void ws_json_end(struct ws_json *j)
{
    bool had = j->has_member[j->depth];
    bool lines = breaks_lines(j);
    char close = j->close[j->depth];
    assert(j->depth > 0 && !j->after_key);
    if (j->inline_from == j->depth)
        j->inline_from = 0;
    j->depth--;
    if (had && lines)
        new_line(j);
    fputc(close, j->out);
    if (j->depth == 0)
        fputc('\n', j->out);
}

/* --- texts --- */

static void put_ascii(FILE *out, unsigned char c)
{
    static const char named[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    const char *at = c ? strchr(named, c) : NULL;
    if (at)
        fprintf(out, "\\%c", letters[at - named]);
    else if (c < 0x20 || c == 0x7f)
        fprintf(out, "\\u%04x", c);
    else
        fputc(c, out);
}

static void put_string(FILE *out, const char *text, size_t length)
{
    const unsigned char *s = (const unsigned char *)text;
    fputc('"', out);
    for (size_t i = 0; i < length;) {
        size_t n = ws_utf8_length(s + i, length - i);
        if (n == 1)
            put_ascii(out, s[i]);
        else if (n == 0)
            fputs("\xef\xbf\xbd", out); /* U+FFFD, one for each wrong byte */
        else
            fwrite(s + i, 1, n, out);
        i += n ? n : 1;
    }
    fputc('"', out);
}

void ws_json_key_n(struct ws_json *j, const char *key, size_t length)
{
    assert(!j->after_key);
    separate(j);
    put_string(j->out, key, length);
    fputc(':', j->out);
    if (j->pretty)
        fputc(' ', j->out);
    j->after_key = true;
}

void ws_json_key(struct ws_json *j, const char *key)
{
    ws_json_key_n(j, key, strlen(key));
}

/* --- values --- */

void ws_json_text_n(struct ws_json *j, const char *text, size_t length)
{
    separate(j);
    put_string(j->out, text, length);
}

void ws_json_text(struct ws_json *j, const char *text)
{
    if (text)
        ws_json_text_n(j, text, strlen(text));
    else
        ws_json_null(j);
}

void ws_json_int(struct ws_json *j, int64_t v)
{
    separate(j);
    fprintf(j->out, "%" PRId64, v);
}

void ws_json_uint(struct ws_json *j, uint64_t v)
{
    separate(j);
    fprintf(j->out, "%" PRIu64, v);
}

void ws_number_text(double v, char out[32])
{
    out[0] = 0;
    if (!isfinite(v))
        return;
    /* 2^53: beyond it a double no longer tells neighbouring integers apart, and %g is as good. */
    if (v == trunc(v) && fabs(v) < 9007199254740992.0) {
        snprintf(out, 32, "%.0f", v == 0 ? 0.0 : v);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, 32, "%.*g", digits, v);
        if (strtod(out, NULL) == v)
            return;
    }
}

void ws_json_number(struct ws_json *j, double v)
{
    char text[32];
    ws_number_text(v, text);
    separate(j);
    fputs(*text ? text : "null", j->out);
}

void ws_json_bool(struct ws_json *j, bool v)
{
    separate(j);
    fputs(v ? "true" : "false", j->out);
}

void ws_json_null(struct ws_json *j)
{
    separate(j);
    fputs("null", j->out);
}

void ws_json_put_text(struct ws_json *j, const char *key, const char *text)
{
    ws_json_key(j, key);
    ws_json_text(j, text);
}

void ws_json_put_int(struct ws_json *j, const char *key, int64_t v)
{
    ws_json_key(j, key);
    ws_json_int(j, v);
}

void ws_json_put_uint(struct ws_json *j, const char *key, uint64_t v)
{
    ws_json_key(j, key);
    ws_json_uint(j, v);
}

void ws_json_put_number(struct ws_json *j, const char *key, double v)
{
    ws_json_key(j, key);
    ws_json_number(j, v);
}

void ws_json_put_bool(struct ws_json *j, const char *key, bool v)
{
    ws_json_key(j, key);
    ws_json_bool(j, v);
}

void ws_json_put_null(struct ws_json *j, const char *key)
{
    ws_json_key(j, key);
    ws_json_null(j);
}
