/* SPDX-License-Identifier: MIT
 * ptx_lex.c: PTX text to tokens.
 * The text may come from strangers: every read is checked against the length, a bad byte becomes a token
 * of its own that the parser will refuse. Go on to ptx_parse.c. */
#include "ptx.h"

#include <stdlib.h>
#include <string.h>

void ptx_lex_init(struct ptx_lexer *lexer, const char *text, size_t length)
{
    lexer->text = text;
    lexer->length = length;
    lexer->at = 0;
    lexer->line = 1;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$';
}

static char peek(const struct ptx_lexer *lexer, size_t ahead)
{
    return ahead < lexer->length - lexer->at ? lexer->text[lexer->at + ahead] : '\0';
}

static void skip_comment(struct ptx_lexer *lexer)
{
    bool is_line = peek(lexer, 1) == '/';
    lexer->at += 2;
    while (lexer->at < lexer->length) {
        char c = lexer->text[lexer->at];
        if (is_line && c == '\n')
            return;
        if (!is_line && c == '*' && peek(lexer, 1) == '/') {
            lexer->at += 2;
            return;
        }
        lexer->line += c == '\n';
        lexer->at++;
    }
}

static void skip_blank(struct ptx_lexer *lexer)
{
    while (lexer->at < lexer->length) {
        char c = lexer->text[lexer->at];
        if (c == '/' && (peek(lexer, 1) == '/' || peek(lexer, 1) == '*')) {
            skip_comment(lexer);
            continue;
        }
        if (c != ' ' && c != '\t' && c != '\r' && c != '\n' && c != '\0')
            return;
        lexer->line += c == '\n';
        lexer->at++;
    }
}

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

static uint64_t read_digits(struct ptx_lexer *lexer, int base)
{
    uint64_t v = 0;
    while (hex_digit(peek(lexer, 0)) < base) {
        v = v * (uint64_t)base + (uint64_t)hex_digit(peek(lexer, 0));
        lexer->at++;
    }
    return v;
}

/* A decimal fraction such as 1.5e3: copied out, since the text need not end in NUL. */
static uint64_t read_decimal_float(const struct ptx_lexer *lexer, size_t start)
{
    char copy[64];
    double d;
    uint64_t bits;
    size_t n = lexer->at - start;
    if (n >= sizeof copy)
        n = sizeof copy - 1;
    memcpy(copy, lexer->text + start, n);
    copy[n] = '\0';
    d = strtod(copy, NULL);
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

static void read_number(struct ptx_lexer *lexer, struct ptx_token *token)
{
    size_t start = lexer->at;
    char kind = peek(lexer, 0) == '0' ? peek(lexer, 1) : '\0';
    token->kind = PTX_INT;
    if (kind == 'x' || kind == 'X' || kind == 'b' || kind == 'B' || kind == 'f' || kind == 'F' || kind == 'd' ||
        kind == 'D') {
        lexer->at += 2;
        token->value = read_digits(lexer, kind == 'b' || kind == 'B' ? 2 : 16);
        if (kind == 'f' || kind == 'F')
            token->kind = PTX_FLOAT32;
        if (kind == 'd' || kind == 'D')
            token->kind = PTX_FLOAT64;
    } else {
        bool is_octal = kind >= '0' && kind <= '7';
        token->value = read_digits(lexer, is_octal ? 8 : 10);
        if (peek(lexer, 0) == '.' && is_digit(peek(lexer, 1))) {
            lexer->at++;
            while (is_digit(peek(lexer, 0)) || peek(lexer, 0) == 'e' || peek(lexer, 0) == 'E' ||
                   ((peek(lexer, 0) == '-' || peek(lexer, 0) == '+') &&
                    (lexer->text[lexer->at - 1] == 'e' || lexer->text[lexer->at - 1] == 'E')))
                lexer->at++;
            token->kind = PTX_FLOAT64;
            token->value = read_decimal_float(lexer, start);
        }
    }
    if (peek(lexer, 0) == 'U' && token->kind == PTX_INT)
        lexer->at++;
}

static void read_word(struct ptx_lexer *lexer)
{
    lexer->at++;
    for (;;) {
        char c = peek(lexer, 0);
        bool is_scope = c == ':' && peek(lexer, 1) == ':' && is_word(peek(lexer, 2)); /* shared::cta */
        if (is_scope)
            lexer->at += 2;
        else if (!is_word(c) && !(c == '.' && is_word(peek(lexer, 1))))
            return;
        lexer->at++;
    }
}

static void read_string(struct ptx_lexer *lexer, struct ptx_token *token)
{
    size_t start = ++lexer->at;
    token->kind = PTX_STRING;
    while (lexer->at < lexer->length && lexer->text[lexer->at] != '"' && lexer->text[lexer->at] != '\n')
        lexer->at++;
    token->text.at = lexer->text + start;
    token->text.length = (uint32_t)(lexer->at - start);
    if (peek(lexer, 0) == '"')
        lexer->at++;
}

struct ptx_token ptx_lex(struct ptx_lexer *lexer)
{
    struct ptx_token token = {PTX_END, {lexer->text, 0}, 0, 0};
    size_t start;
    char c;
    skip_blank(lexer);
    token.line = lexer->line;
    if (lexer->at >= lexer->length)
        return token;
    start = lexer->at;
    c = peek(lexer, 0);
    if (c == '"') {
        read_string(lexer, &token);
        return token;
    }
    if (is_digit(c)) {
        read_number(lexer, &token);
    } else if (c == '.' && is_word(peek(lexer, 1))) {
        token.kind = PTX_DIRECT;
        lexer->at++;
        while (is_word(peek(lexer, 0)))
            lexer->at++;
    } else if ((c == '%' && is_word(peek(lexer, 1))) || is_word(c)) {
        token.kind = PTX_IDENT;
        read_word(lexer);
    } else {
        token.kind = PTX_PUNCT;
        lexer->at++;
    }
    token.text.at = lexer->text + start;
    token.text.length = (uint32_t)(lexer->at - start);
    return token;
}
