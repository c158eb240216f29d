/* SPDX-License-Identifier: MIT
 * fatbin.c: walks fatbin containers and unpacks their entries. zstd is loaded when it is met, so that neither the
 * program nor the stand-in needs it to start; LZ4's block format is short enough to read here. */
#include "fatbin.h"

#include "../../analyzer/err.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC 0xBA55ED50u
#define CONTAINER_HEADER 16u
#define ENTRY_HEADER 64u
#define FLAG_LZ4 0x2000u
#define FLAG_ZSTD 0x8000u
#define LIMIT_PLAIN (256u << 20)

static uint64_t number(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned k = 0; k < bytes; k++)
        value |= (uint64_t)at[k] << (8 * k);
    return value;
}

size_t ws_fatbin_bytes(const uint8_t *data)
{
    uint64_t header = number(data + 6, 2), body = number(data + 8, 8);
    if (number(data, 4) != MAGIC || header < CONTAINER_HEADER || body > SIZE_MAX / 2)
        return 0;
    return header + body;
}

/* The entry at `at`, which ends by `end`; *next behind it. */
static bool read_entry(const uint8_t *data, size_t at, size_t end, struct ws_fatbin_entry *out, size_t *next)
{
    const uint8_t *e = data + at;
    uint64_t header, padded, packed, flags;
    if (end - at < ENTRY_HEADER)
        return false;
    header = number(e + 4, 4);
    padded = number(e + 8, 8);
    packed = number(e + 16, 4);
    flags = number(e + 40, 8);
    if (header < ENTRY_HEADER || header > end - at || padded > end - at - header || packed > padded)
        return false;
    memset(out, 0, sizeof *out);
    out->kind = (uint32_t)number(e, 2);
    out->arch = (uint32_t)number(e + 28, 4);
    out->packing = flags & FLAG_ZSTD ? WS_FATBIN_ZSTD : flags & FLAG_LZ4 ? WS_FATBIN_LZ4 : WS_FATBIN_PLAIN;
    out->bytes = e + header;
    out->length = out->packing == WS_FATBIN_PLAIN || packed == 0 ? padded : packed;
    out->plain_length = number(e + 56, 8);
    *next = at + header + padded;
    return true;
}

/* Entries have no room between them; containers are aligned to 8. */
bool ws_fatbin_next(const uint8_t *data, size_t bytes, size_t *at, struct ws_fatbin_entry *out)
{
    size_t from = 0;
    while (bytes - from >= CONTAINER_HEADER) {
        size_t whole = ws_fatbin_bytes(data + from), entry = from + (size_t)number(data + from + 6, 2);
        if (whole == 0) { /* padding between containers */
            from += 8;
            if (bytes < from)
                return false;
            continue;
        }
        if (whole > bytes - from)
            return false;
        if (*at < from + whole) {
            if (*at > entry)
                entry = *at;
            if (entry < from + whole)
                return read_entry(data, entry, from + whole, out, at);
        }
        from += whole;
    }
    return false;
}

/* --- LZ4 block format --- */

/* A length that goes on over bytes of 255. */
static bool read_length(const uint8_t **in, const uint8_t *end, size_t *length)
{
    uint8_t more = 255;
    if (*length != 15)
        return true;
    while (more == 255) {
        if (*in == end || *length > LIMIT_PLAIN)
            return false;
        more = *(*in)++;
        *length += more;
    }
    return true;
}

static bool unpack_lz4(const uint8_t *in, size_t in_bytes, uint8_t *out, size_t out_bytes)
{
    const uint8_t *end = in + in_bytes;
    size_t at = 0;
    while (in < end) {
        uint8_t token = *in++;
        size_t literals = token >> 4, match = token & 15, back;
        if (!read_length(&in, end, &literals) || literals > (size_t)(end - in) || literals > out_bytes - at)
            return false;
        memcpy(out + at, in, literals);
        in += literals;
        at += literals;
        if (in == end) /* the last sequence has no match */
            break;
        if (end - in < 2)
            return false;
        back = (size_t)number(in, 2);
        in += 2;
        if (!read_length(&in, end, &match) || back == 0 || back > at)
            return false;
        match += 4;
        if (match > out_bytes - at)
            return false;
        for (; match > 0; match--, at++) /* may overlap itself */
            out[at] = out[at - back];
    }
    return at == out_bytes;
}

/* --- zstd --- */

typedef size_t (*zstd_decompress)(void *to, size_t to_bytes, const void *from, size_t from_bytes);

static int unpack_zstd(const struct ws_fatbin_entry *e, uint8_t *out, char *error)
{
    void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    zstd_decompress decompress = NULL;
    size_t done;
    if (library)
        *(void **)&decompress = dlsym(library, "ZSTD_decompress");
    if (!decompress) {
        snprintf(error, WS_FATBIN_ERROR_BYTES,
                 "the PTX is packed with zstd and libzstd.so.1 is not here: build with nvcc --compress-mode=none");
        return -WS_EUNSUP;
    }
    done = decompress(out, e->plain_length, e->bytes, e->length);
    return done == e->plain_length ? 0 : -WS_ESYNTAX; /* an error is a huge number */
}

int ws_fatbin_unpack(const struct ws_fatbin_entry *entry, char **out, size_t *length, char *error)
{
    size_t n = entry->packing == WS_FATBIN_PLAIN ? entry->length : entry->plain_length;
    char *text;
    int err = 0;
    if (n == 0 || n > LIMIT_PLAIN) {
        snprintf(error, WS_FATBIN_ERROR_BYTES, "an entry of %zu bytes", n);
        return -WS_ELIMIT;
    }
    text = malloc(n + 1);
    if (!text) {
        snprintf(error, WS_FATBIN_ERROR_BYTES, "out of memory");
        return -WS_ENOMEM;
    }
    snprintf(error, WS_FATBIN_ERROR_BYTES, "damaged packed data");
    if (entry->packing == WS_FATBIN_PLAIN)
        memcpy(text, entry->bytes, n);
    else if (entry->packing == WS_FATBIN_ZSTD)
        err = unpack_zstd(entry, (uint8_t *)text, error);
    else if (!unpack_lz4(entry->bytes, entry->length, (uint8_t *)text, n))
        err = -WS_ESYNTAX;
    if (err) {
        free(text);
        return err;
    }
    text[n] = '\0';
    *length = entry->kind == WS_FATBIN_PTX ? strlen(text) : n; /* plain PTX is padded with NULs */
    *out = text;
    error[0] = '\0';
    return 0;
}

int ws_fatbin_best_ptx(const uint8_t *data, size_t bytes, uint32_t cc, struct ws_fatbin_entry *out)
{
    struct ws_fatbin_entry e;
    bool found = false;
    for (size_t at = 0; ws_fatbin_next(data, bytes, &at, &e);) {
        bool is_better;
        if (e.kind != WS_FATBIN_PTX)
            continue;
        is_better = !found || (e.arch <= cc ? out->arch > cc || e.arch > out->arch : e.arch < out->arch);
        if (is_better)
            *out = e;
        found = true;
    }
    return found ? 0 : -WS_ENOENT;
}
