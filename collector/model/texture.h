/* SPDX-License-Identifier: MIT
 * texture.h: the table of texture and surface objects, and what instructions do with them.
 * Objects come and go between launches; launches read the table from any thread. What they are: model.h. */
#ifndef WS_COLLECTOR_MODEL_TEXTURE_H
#define WS_COLLECTOR_MODEL_TEXTURE_H

#include "model.h"

struct memory;
struct texture;

struct texture_table {
    struct texture *all;
    uint32_t n, cap;
};

/* -WS_EINVAL: no such form, or not inside one allocation; -WS_ELIMIT, -WS_ENOMEM. */
int texture_new(struct memory *memory, const struct ws_model_texture *what, uint64_t *handle);
/* -WS_ENOENT */
int texture_drop(struct memory *memory, uint64_t handle);
/* NULL: no such object, or its memory is gone. */
const struct ws_model_texture *texture_find(struct memory *memory, uint64_t handle);
void texture_fini(struct texture_table *table);

#endif
