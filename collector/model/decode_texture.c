/* SPDX-License-Identifier: MIT
 * decode_texture.c: tex, tld4, suld and sust of texture and surface objects. What they do: texture.c.
 *   vec    dimensions      boolean  has a layer, which comes first      type2  coordinates: PTX_F32 or PTX_S32
 *   tld4   imm: channel    surfaces: imm: enum code_surface, count_bytes values of bytes each
 * Refused: cube maps, gradients, multisampled textures, texture references, formatted stores, offsets. */
#include "decode.h"

static const struct {
    const char *name;
    uint8_t dims;
    bool is_layered;
} geometries[] = {{"1d", 1, false}, {"2d", 2, false}, {"3d", 3, false}, {"a1d", 1, true}, {"a2d", 2, true}};

static bool read_geometry(struct builder *b, uint32_t k)
{
    for (size_t g = 0; g < sizeof geometries / sizeof *geometries; g++)
        if (decode_token(b, k, geometries[g].name)) {
            b->now.vec = geometries[g].dims;
            b->now.boolean = geometries[g].is_layered;
            return true;
        }
    return false;
}

/* [object, {coordinates}]: the object into a, the coordinates (a layer first, padding left out) into to. */
static bool read_place(struct builder *b, const struct ptx_operand *o, uint32_t *to)
{
    uint32_t wanted = (uint32_t)b->now.vec + b->now.boolean, given = wanted == 3 ? 4 : wanted;
    const struct ptx_operand *e;
    if (o->kind != PTX_O_ADDRESS || o->reg == PTX_NO_REG || o->value != 0 || o->count != given)
        return false;
    decode_address(b, o);
    if (b->now.a == CODE_NONE || (b->now.flags & CODE_ADDRESS_32))
        return false;
    e = &b->instance->func->elements[o->first];
    for (uint32_t k = 0; k < wanted; k++)
        to[k] = decode_source(b, &e[k], 4);
    return true;
}

static bool read_texels(struct builder *b)
{
    const struct ptx_operand *e = decode_elements(b, decode_operand(b, 0), 4);
    for (uint32_t k = 0; e && k < 4; k++)
        b->now.d[k] = decode_dest(b, &e[k], 4);
    return e != NULL;
}

static bool is_texel_type(enum ptx_type t)
{
    return t == PTX_F32 || t == PTX_S32 || t == PTX_U32;
}

bool decode_tex(struct builder *b)
{
    bool is_gather = decode_token(b, 0, "tld4");
    static const char *const channels[] = {"r", "g", "b", "a", NULL};
    bool has_level = !is_gather && decode_token(b, 1, "level");
    uint32_t k = is_gather || has_level ? 2 : 1;
    enum ptx_type type, coordinates;
    if (!read_geometry(b, k) || !decode_token(b, k + 1, "v4") || b->tokens_n != k + 4)
        return false;
    type = ptx_type_find(b->token[k + 2]);
    coordinates = ptx_type_find(b->token[k + 3]);
    if (!is_texel_type(type) || (coordinates != PTX_F32 && (coordinates != PTX_S32 || is_gather || has_level)))
        return false;
    if (is_gather && (b->now.vec != 2 || b->now.boolean))
        return false;
    if (b->in->count != (has_level ? 3u : 2u) || !read_texels(b) || !read_place(b, decode_operand(b, 1), b->now.s))
        return false;
    if (has_level) /* arrays have one level */
        (void)decode_source(b, decode_operand(b, 2), 4);
    b->now.type = (uint8_t)type;
    b->now.type2 = (uint8_t)coordinates;
    b->now.imm = is_gather ? decode_index(b, 1, channels) : 0;
    decode_emit(b, is_gather ? OP_tld4 : OP_tex);
    return b->now.imm >= 0;
}

/* .b.GEOMETRY[.CACHE][.vN].TYPE.CLAMP */
static bool read_surface_words(struct builder *b)
{
    static const char *const clamps[] = {"trap", "clamp", "zero", NULL};
    static const char *const caches[] = {"ca", "cg", "cs", "cv", "wb", "wt", NULL};
    uint32_t k = 3;
    enum ptx_type type;
    if (b->tokens_n < 5 || !decode_token(b, 1, "b") || !read_geometry(b, 2))
        return false;
    if (decode_index(b, k, caches) >= 0)
        k++;
    b->now.count_bytes = 1;
    if (decode_token(b, k, "v2") || decode_token(b, k, "v4"))
        b->now.count_bytes = (uint8_t)(b->token[k++].at[1] - '0');
    if (b->tokens_n != k + 2)
        return false;
    type = ptx_type_find(b->token[k]);
    b->now.type = (uint8_t)type;
    b->now.bytes = (uint8_t)ptx_type_bytes(type);
    b->now.imm = decode_index(b, k + 1, clamps);
    return (type == PTX_B8 || type == PTX_B16 || type == PTX_B32 || type == PTX_B64) && b->now.imm >= 0 &&
           b->now.bytes * b->now.count_bytes <= 16;
}

static bool read_values(struct builder *b, const struct ptx_operand *o, bool is_store)
{
    const struct ptx_operand *e = decode_elements(b, o, b->now.count_bytes);
    for (uint32_t k = 0; e && k < b->now.count_bytes; k++) {
        uint32_t bytes = e[k].kind == PTX_O_REG ? decode_reg_bytes(b, &e[k]) : b->now.bytes;
        if (e[k].kind == PTX_O_REG && bytes < b->now.bytes)
            return false;
        if (is_store) {
            b->now.s[k] = decode_source(b, &e[k], bytes);
            b->now.s_wide |= (uint8_t)((bytes == 8) << k);
        } else {
            b->now.d[k] = decode_dest(b, &e[k], bytes);
            b->now.d_wide |= (uint8_t)((bytes == 8) << k);
        }
    }
    return e != NULL;
}

bool decode_surface(struct builder *b)
{
    bool is_store = decode_token(b, 0, "sust");
    int64_t clamp;
    struct code_wide *wide = NULL;
    if (!read_surface_words(b) || b->in->count != 2)
        return false;
    clamp = b->now.imm;
    if (is_store) {
        wide = decode_wide(b);
        if (!wide)
            return true; /* refused */
        wide->s_n = (uint8_t)(b->now.vec + b->now.boolean);
    }
    if (!read_values(b, decode_operand(b, is_store ? 1 : 0), is_store))
        return false;
    if (!read_place(b, decode_operand(b, is_store ? 0 : 1), is_store ? wide->s : b->now.s))
        return false;
    b->now.imm = clamp;
    decode_emit(b, is_store ? OP_sust : OP_suld);
    return true;
}
