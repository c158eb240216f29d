/* SPDX-License-Identifier: MIT
 * fatbin.h: the container that nvcc puts into a program: PTX and cubins, plain or compressed. Reads bytes of
 * strangers: nothing outside [data, data + bytes) is touched.
 * The layout is observed (nvcc 12 and 13), not documented; only the wrapper struct is in a header of the toolkit. */
#ifndef WS_COLLECTOR_MODEL_FATBIN_H
#define WS_COLLECTOR_MODEL_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ws_fatbin_kind { WS_FATBIN_PTX = 1, WS_FATBIN_CUBIN = 2 };
enum ws_fatbin_packing { WS_FATBIN_PLAIN, WS_FATBIN_LZ4, WS_FATBIN_ZSTD };

struct ws_fatbin_entry {
    uint32_t kind; /* enum ws_fatbin_kind, or a number that we do not know */
    uint32_t arch; /* 90 for sm_90, compute_90 */
    enum ws_fatbin_packing packing;
    const uint8_t *bytes; /* as it lies there; lent */
    size_t length;
    size_t plain_length; /* when packed */
};

#define WS_FATBIN_ERROR_BYTES 160

/* Bytes of the container that begins here, its header included; 0 = none. Needs 16 readable bytes. */
size_t ws_fatbin_bytes(const uint8_t *data);

/* Walk all entries of containers that lie one after another (a .nv_fatbin section). *at begins at 0.
 * False at the end, or where the bytes make no sense any more. */
bool ws_fatbin_next(const uint8_t *data, size_t bytes, size_t *at, struct ws_fatbin_entry *out);

/* The entry's content, unpacked, with a NUL behind it; free() it.
 *   error   [WS_FATBIN_ERROR_BYTES] one line
 *   errors  -WS_ESYNTAX (damaged), -WS_EUNSUP (zstd without libzstd.so.1), -WS_ELIMIT, -WS_ENOMEM */
int ws_fatbin_unpack(const struct ws_fatbin_entry *entry, char **out, size_t *length, char *error);

/* The PTX that suits a compute capability (90 for 9.0): the newest that is not newer, else the oldest.
 * -WS_ENOENT: there is none. */
int ws_fatbin_best_ptx(const uint8_t *data, size_t bytes, uint32_t cc, struct ws_fatbin_entry *out);

#endif
