/* SPDX-License-Identifier: MIT
 * model_spec.h: a launch spec (JSON) as buffers and launches of the SIMT model.
 *
 *   { "ptx": "k.ptx",
 *     "buffers": { "a": {"bytes": 67108864, "fill": "random_f32", "seed": 1},
 *                  "b": {"file": "b.bin"}, "c": {"bytes": 64, "fill": "zero", "save": "c.bin"} },
 *     "launches": [ { "kernel": "vec_add", "grid": [65536], "block": [256], "dynamic_shared": 0,
 *                     "args": [ {"buffer": "a"}, {"buffer": "b", "offset": 4}, {"i32": 16777216} ] } ] }
 *
 * fill: none (the default: 0 that counts as never written, for --check uninit), zero,
 *       random_f32 random_f64 (0 to 1), random_u32 ("below": n), iota_u32, iota_f32,
 *       permutation_u32 (every index once, scattered), ring_u32 (the index that follows; one cycle through all),
 *       scatter_sectors_u32 (every index once, neighbours in different sectors): a power of two of words;
 *       value_f32, value_u32 ("value": x)
 * args: i8 … i64, u8 … u64, f32, f64, buffer (with offset), bytes ("0a0b…"), struct [args]; their number and sizes
 *       are held against the PTX, which does not say what is a pointer.
 * cluster: [x, y, z] blocks, which divide the grid; left out = as the kernel says, or none
 * cooperative: true = all blocks are resident at once and may wait for each other (grid.sync())
 * registers: per thread, as ptxas -v says (at least 16 on a GPU); for the occupancy page, no count depends on it
 * spill_bytes: per thread, as ptxas -v says: not 0 = local memory is not predicted (spills are not in PTX)
 * kernel: mangled name, source name ("vec_add"), or source name with template arguments ("reduce_tree<0>"). */
#ifndef WS_SERVER_MODEL_SPEC_H
#define WS_SERVER_MODEL_SPEC_H

#include "../collector/model/model.h"

#define WS_SPEC_PARAMS_MAX 32764
#define WS_SPEC_NAME_MAX 256

struct ws_spec;

/* Parse. folder: where "file" and "ptx" are relative to, lent.
 *   error   [WS_MODEL_ERROR_BYTES] one line
 *   errors  -WS_ESYNTAX, -WS_ENOMEM */
int ws_spec_new(const char *json, size_t length, const char *folder, struct ws_spec **out, char *error);
void ws_spec_free(struct ws_spec *spec);

/* "ptx" of the spec joined with its folder, or NULL. */
const char *ws_spec_ptx(const struct ws_spec *spec);
uint32_t ws_spec_launches(const struct ws_spec *spec);

/* Allocate and fill the buffers in the model. -WS_ESYNTAX, -WS_EIO, -WS_ENOMEM, -WS_ELIMIT, with error. */
int ws_spec_prepare(struct ws_spec *spec, struct ws_model *model, char *error);

/* Launch k: its parameters go to params[WS_SPEC_PARAMS_MAX], and *launch points there.
 *   errors  -WS_ENOENT (no such kernel, the names that exist are in error), -WS_EINVAL, -WS_ESYNTAX */
int ws_spec_launch(struct ws_spec *spec, struct ws_model *model, uint32_t k, struct ws_model_launch *launch,
                   uint8_t params[WS_SPEC_PARAMS_MAX], char *error);

/* "kernel" of launch k, lent, or NULL. */
const char *ws_spec_kernel(const struct ws_spec *spec, uint32_t k);

/* "registers" of launch k; 0 = not given. */
uint32_t ws_spec_registers(const struct ws_spec *spec, uint32_t k);

/* Buffers without a fill count as never written. -WS_ENOMEM. */
int ws_spec_undefine(const struct ws_spec *spec, struct ws_model *model);

/* Write the buffers that have "save". */
int ws_spec_save(struct ws_spec *spec, struct ws_model *model, char *error);

/* The kernel that a user's name means: as ws_model_find(), and by the demangled name. */
int ws_spec_find_kernel(const struct ws_model *model, const char *name, uint32_t *index);

/* Source name with template arguments and without spaces, e.g. "reduce_tree<0>"; the name itself when it is not
 * mangled. */
void ws_spec_short_name(const char *mangled, char out[WS_SPEC_NAME_MAX]);

#endif
