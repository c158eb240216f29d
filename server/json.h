/* SPDX-License-Identifier: MIT
 * json.h: a streaming JSON writer. What it writes is always well-formed: texts may hold any bytes,
 * numbers that JSON cannot say become null, and a double reads back as the same double.
 * It does not read JSON (cJSON does) and knows no struct of ours.
 * Emitters of reports are in report_json.c. */
#ifndef WS_SERVER_JSON_H
#define WS_SERVER_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define WS_JSON_DEPTH 32

/* Zero but for out and, if wanted, pretty. */
struct ws_json {
    FILE *out;   /* the caller's; errors stay in ferror(out) */
    bool pretty; /* one member per line, two blanks a level; else no blank at all */
    int depth;
    int inline_from; /* depth from which nothing breaks lines; 0 = none */
    bool after_key;
    bool has_member[WS_JSON_DEPTH + 1];
    char close[WS_JSON_DEPTH + 1];
};

/* Start and end an object or an array; deeper than WS_JSON_DEPTH is our own bug (assert). */
void ws_json_object(struct ws_json *j);
void ws_json_array(struct ws_json *j);
/* The same, but its members stay on one line when pretty. */
void ws_json_object_line(struct ws_json *j);
void ws_json_array_line(struct ws_json *j);
void ws_json_end(struct ws_json *j);

/* The name of the next member. */
void ws_json_key(struct ws_json *j, const char *key);
void ws_json_key_n(struct ws_json *j, const char *key, size_t length);

/* Values. text: NULL is null; bytes that are no UTF-8 become U+FFFD. number: shortest form that reads back
 * exactly; whole numbers below 2^53 without exponent; NaN and infinities are null. */
void ws_json_text(struct ws_json *j, const char *text);
void ws_json_text_n(struct ws_json *j, const char *text, size_t length);
void ws_json_int(struct ws_json *j, int64_t v);
void ws_json_uint(struct ws_json *j, uint64_t v);
void ws_json_number(struct ws_json *j, double v);
void ws_json_bool(struct ws_json *j, bool v);
void ws_json_null(struct ws_json *j);

/* key and value in one call. */
void ws_json_put_text(struct ws_json *j, const char *key, const char *text);
void ws_json_put_int(struct ws_json *j, const char *key, int64_t v);
void ws_json_put_uint(struct ws_json *j, const char *key, uint64_t v);
void ws_json_put_number(struct ws_json *j, const char *key, double v);
void ws_json_put_bool(struct ws_json *j, const char *key, bool v);
void ws_json_put_null(struct ws_json *j, const char *key);

/* A number as text that reads back exactly (what ws_json_number writes); "" for NaN and infinities. */
void ws_number_text(double v, char out[32]);

#endif
