/* SPDX-License-Identifier: MIT
 * print.c: printf and assert of kernels. Formats and texts are read from device memory, byte by byte inside their
 * allocation; arguments from the lane's local memory. One text a lane, as a GPU's buffer has it. */
#include "exec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The conversions come from the kernel; convert() builds each one anew, with the type that it hands over. */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

#define TEXT_BYTES 4096u
#define SPEC_BYTES 32u

struct writer {
    char text[TEXT_BYTES];
    size_t n;
};

static void put(struct writer *out, const char *text, size_t n)
{
    size_t room = sizeof out->text - out->n;
    n = n < room ? n : room;
    memcpy(out->text + out->n, text, n);
    out->n += n;
}

/* A text in device memory; "" when it is nowhere, cut where its allocation ends. */
static void read_text(const struct exec_ctx *ctx, uint64_t at, char *out, size_t cap)
{
    uint64_t lo, hi;
    size_t n = 0;
    if (at != 0 && memory_find(ctx->memory, at, &lo, &hi))
        while (n + 1 < cap && at + n < hi && *(const char *)(uintptr_t)(at + n)) {
            out[n] = *(const char *)(uintptr_t)(at + n);
            n++;
        }
    out[n] = 0;
}

/* The arguments of a lane, one after another, aligned to their size. */
struct arguments {
    const uint8_t *local;
    uint64_t at, end;
};

static uint64_t take(struct arguments *a, uint32_t bytes)
{
    uint64_t value = 0;
    a->at = (a->at + bytes - 1) & ~(uint64_t)(bytes - 1);
    if (a->at <= a->end && a->end - a->at >= bytes)
        memcpy(&value, a->local + a->at, bytes);
    a->at += bytes;
    return value;
}

/* "%-8.3lf": how long it is, and what of it the host's printf may have. * takes its number from the arguments. */
static size_t read_spec(const char *format, struct arguments *a, char spec[SPEC_BYTES], bool *is_long)
{
    size_t from = 1, n = 1, digits = 0;
    spec[0] = '%';
    *is_long = false;
    while (format[from] && strchr("-+ #0123456789.*hlLqjzt", format[from])) {
        char c = format[from++];
        *is_long |= strchr("lLqjzt", c) != NULL;
        digits = c == '*' ? digits + 3 : c >= '0' && c <= '9' ? digits + 1 : 0;
        if (n >= SPEC_BYTES - 12 || digits > 3) /* no width that anybody means */
            continue;
        if (c == '*')
            n += (size_t)snprintf(spec + n, SPEC_BYTES - n, "%d", (int)(int32_t)take(a, 4) % 1000);
        else if (!strchr("hlLqjzt", c))
            spec[n++] = c;
    }
    spec[n] = 0;
    return from;
}

/* One conversion; c is its letter. */
static void convert(struct writer *out, const struct exec_ctx *ctx, struct arguments *a, char spec[SPEC_BYTES], char c,
                    bool is_long)
{
    static char const wide[] = PRId64;
    char text[512], piece[512];
    size_t n = strlen(spec);
    int length = 0;
    if (strchr("diouxX", c)) {
        uint64_t v = take(a, is_long ? 8 : 4);
        int64_t value = is_long ? (int64_t)v : c == 'd' || c == 'i' ? (int32_t)v : (int64_t)v;
        snprintf(spec + n, SPEC_BYTES - n, "%.*s%c", (int)(sizeof wide - 2), wide, c);
        length = snprintf(text, sizeof text, spec, value);
    } else if (strchr("eEfFgGaA", c)) {
        uint64_t bits = take(a, 8);
        double value;
        memcpy(&value, &bits, sizeof value);
        snprintf(spec + n, SPEC_BYTES - n, "%c", c);
        length = snprintf(text, sizeof text, spec, value);
    } else if (c == 'c') {
        snprintf(spec + n, SPEC_BYTES - n, "c");
        length = snprintf(text, sizeof text, spec, (int)take(a, 4));
    } else if (c == 's') {
        read_text(ctx, take(a, 8), piece, sizeof piece);
        snprintf(spec + n, SPEC_BYTES - n, "s");
        length = snprintf(text, sizeof text, spec, piece);
    } else if (c == 'p') {
        length = snprintf(text, sizeof text, "0x%" PRIx64, take(a, 8));
    }
    if (length > 0)
        put(out, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

static void format_lane(struct writer *out, const struct exec_ctx *ctx, const char *format, struct arguments *a)
{
    while (*format) {
        size_t plain = strcspn(format, "%");
        char spec[SPEC_BYTES];
        bool is_long;
        put(out, format, plain);
        format += plain;
        if (!*format)
            return;
        if (format[1] == '%') {
            put(out, "%", 1);
            format += 2;
            continue;
        }
        format += read_spec(format, a, spec, &is_long);
        if (!*format)
            return;
        convert(out, ctx, a, spec, *format++, is_long);
    }
}

/* The k-th parameter of the call, where decode.c put it in the frame. */
static uint64_t parameter(const struct exec_ctx *ctx, const uint8_t *frame, const struct code_ins *i, uint32_t k)
{
    const struct code_copy *at = &ctx->code->copies[i->imm + k];
    uint64_t value = 0;
    memcpy(&value, frame + at->from, at->bytes);
    return value;
}

static void print_lane(struct writer *out, const struct warp *w, const struct code_ins *i, const uint8_t *local)
{
    char format[2048];
    const uint8_t *frame = local + w->frame;
    uint64_t at = parameter(w->ctx, frame, i, 1);
    struct arguments a = {local, at & ((1ull << WINDOW_SHIFT) - 1), code_local(w->ctx->code)};
    if (at >> WINDOW_SHIFT != WINDOW_LOCAL >> WINDOW_SHIFT) /* none, or a place that printf never gets them from */
        a.at = a.end = 0;
    read_text(w->ctx, parameter(w->ctx, frame, i, 0), format, sizeof format);
    format_lane(out, w->ctx, format, &a);
}

static void assert_lane(struct writer *out, const struct warp *w, const struct code_ins *i, const uint8_t *local,
                        uint32_t lane)
{
    const struct exec_ctx *ctx = w->ctx;
    char message[512], file[512], function[512];
    uint32_t t = w->index * 32 + lane;
    int n;
    read_text(ctx, parameter(ctx, local, i, 0), message, sizeof message);
    read_text(ctx, parameter(ctx, local, i, 1), file, sizeof file);
    read_text(ctx, parameter(ctx, local, i, 3), function, sizeof function);
    n = snprintf(out->text, sizeof out->text,
                 "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", file,
                 (unsigned)parameter(ctx, local, i, 2), function, ctx->ctaid[0], ctx->ctaid[1], ctx->ctaid[2],
                 t % ctx->block[0], t / ctx->block[0] % ctx->block[1], t / (ctx->block[0] * ctx->block[1]), message);
    out->n = n > 0 ? (size_t)n : 0;
}

void exec_print(struct warp *w, const struct code_ins *i)
{
    struct exec_ctx *ctx = w->ctx;
    for (uint32_t m = w->mask; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        const uint8_t *local = w->local + lane * code_local(ctx->code);
        struct writer out;
        out.n = 0;
        if (i->type2 == PRINT_ASSERT) {
            assert_lane(&out, w, i, local + w->frame, lane);
            exec_fault(w, i, FAULT_ASSERT, lane, 0);
        } else {
            print_lane(&out, w, i, local);
        }
        if (!ctx->print || out.n == 0)
            continue;
        if (ctx->atomic_lock)
            pthread_mutex_lock(ctx->atomic_lock);
        ctx->print(ctx->print_state, i->type2 == PRINT_ASSERT, out.text, out.n);
        if (ctx->atomic_lock)
            pthread_mutex_unlock(ctx->atomic_lock);
    }
}
