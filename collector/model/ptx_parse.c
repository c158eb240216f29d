/* SPDX-License-Identifier: MIT
 * ptx_parse.c: tokens to a tree of module, functions, instructions, operands.
 * Must not judge opcodes (decode.c does). A fault outside functions fails the module; a fault inside one
 * marks only that function, so that the other kernels of a file still run. */
#include "ptx.h"

#include "../../analyzer/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Far above what nvcc emits; they bound memory and time on hostile text. */
#define LIMIT_INS 1000000u
#define LIMIT_REGS 1000000u
#define LIMIT_NAMES 200000u
#define LIMIT_DEPTH 64u
#define LIMIT_VAR_BYTES (1ull << 32)
#define LIMIT_INIT_BYTES (64u << 20)

struct reg_decl {
    struct ptx_name prefix;
    uint32_t first, n; /* n == UINT32_MAX: a plain name */
    bool is_range;
    uint32_t scope_depth;
};

struct parser {
    struct ptx_lexer lexer;
    struct ptx_token now;
    struct ptx_module *module;
    uint32_t vars_cap, funcs_cap, files_cap;
    int failed; /* a -WS_E… */
    char *error;
    size_t error_bytes;
    /* the function being read */
    struct ptx_func *func;
    uint32_t ins_cap, operands_cap, elements_cap, labels_cap, scopes_cap, regs_cap, params_cap, rets_cap;
    struct reg_decl *decls;
    uint32_t decls_n, decls_cap;
    uint32_t scope, depth;
    uint32_t source_line, source_file;
};

bool ptx_name_is(struct ptx_name name, const char *text)
{
    return strlen(text) == name.length && memcmp(name.at, text, name.length) == 0;
}

bool ptx_name_equal(struct ptx_name a, struct ptx_name b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

bool ptx_grow(void *at, uint32_t *cap, uint32_t n, size_t size, uint32_t limit)
{
    void *old;
    void *bigger;
    uint32_t want = *cap ? *cap * 2 : 16;
    if (n < *cap)
        return true;
    if (n >= limit)
        return false;
    memcpy(&old, at, sizeof old);
    bigger = realloc(old, (size_t)want * size);
    if (!bigger)
        return false;
    memset((char *)bigger + (size_t)*cap * size, 0, (size_t)(want - *cap) * size);
    memcpy(at, &bigger, sizeof bigger);
    *cap = want;
    return true;
}

static const struct {
    const char *text;
    uint32_t bytes;
} types[PTX_TYPE_COUNT] = {{"", 0},
#define PTX_TYPE_ROW(sym, text, bytes) {text, bytes},
                           PTX_TYPE_LIST(PTX_TYPE_ROW)
#undef PTX_TYPE_ROW
};

enum ptx_type ptx_type_find(struct ptx_name name)
{
    for (int i = 1; i < PTX_TYPE_COUNT; i++)
        if (ptx_name_is(name, types[i].text))
            return (enum ptx_type)i;
    return PTX_NOTYPE;
}

uint32_t ptx_type_bytes(enum ptx_type type)
{
    return types[type].bytes;
}

static void fail(struct parser *p, int err, const char *what)
{
    if (p->failed)
        return;
    p->failed = err;
    snprintf(p->error, p->error_bytes, "line %u: %s near '%.*s'", p->now.line, what, (int)(p->now.text.length & 63u),
             p->now.text.at);
    p->now.kind = PTX_END;
}

static void next(struct parser *p)
{
    if (!p->failed)
        p->now = ptx_lex(&p->lexer);
}

static bool is_punct(const struct parser *p, char c)
{
    return p->now.kind == PTX_PUNCT && p->now.text.at[0] == c;
}

static bool accept(struct parser *p, char c)
{
    if (!is_punct(p, c))
        return false;
    next(p);
    return true;
}

static void expect(struct parser *p, char c)
{
    char what[16];
    if (accept(p, c))
        return;
    snprintf(what, sizeof what, "expected '%c'", c);
    fail(p, -WS_ESYNTAX, what);
}

static bool is_direct(const struct parser *p, const char *text)
{
    return p->now.kind == PTX_DIRECT && ptx_name_is(p->now.text, text);
}

static uint64_t expect_int(struct parser *p)
{
    uint64_t v = p->now.value;
    if (p->now.kind != PTX_INT)
        fail(p, -WS_ESYNTAX, "expected a number");
    next(p);
    return v;
}

/* --- variables --- */

static struct ptx_var *add_var(struct parser *p)
{
    struct ptx_module *m = p->module;
    if (!ptx_grow(&m->vars, &p->vars_cap, m->vars_n, sizeof *m->vars, LIMIT_NAMES)) {
        fail(p, -WS_ELIMIT, "too many variables");
        return NULL;
    }
    return &m->vars[m->vars_n++];
}

static enum ptx_space space_of(struct ptx_name name)
{
    static const struct {
        const char *text;
        enum ptx_space space;
    } spaces[] = {{".global", PTX_SPACE_GLOBAL},
                  {".shared", PTX_SPACE_SHARED},
                  {".local", PTX_SPACE_LOCAL},
                  {".const", PTX_SPACE_CONST},
                  {".param", PTX_SPACE_PARAM}};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (ptx_name_is(name, spaces[i].text))
            return spaces[i].space;
    return PTX_SPACE_NONE;
}

struct init_cursor {
    struct ptx_var *var;
    uint64_t at;
    uint32_t element;
    uint32_t relocs_cap;
};

static void put_init(struct parser *p, struct init_cursor *c, uint64_t bits)
{
    if (c->element == 0 || c->at + c->element > c->var->bytes) {
        fail(p, -WS_ESYNTAX, "initialiser is longer than the variable");
        return;
    }
    for (uint32_t i = 0; i < c->element && i < 8; i++)
        c->var->init[c->at + i] = (uint8_t)(bits >> (8 * i));
    c->at += c->element;
}

static void put_reloc(struct parser *p, struct init_cursor *c, struct ptx_name symbol, int64_t addend)
{
    struct ptx_var *v = c->var;
    if (!ptx_grow(&v->relocs, &c->relocs_cap, v->relocs_n, sizeof *v->relocs, LIMIT_NAMES)) {
        fail(p, -WS_ELIMIT, "too many addresses in an initialiser");
        return;
    }
    v->relocs[v->relocs_n].offset = (uint32_t)c->at;
    v->relocs[v->relocs_n].bytes = c->element;
    v->relocs[v->relocs_n].symbol = symbol;
    v->relocs[v->relocs_n++].addend = addend;
    put_init(p, c, 0);
}

static uint64_t float_bits(const struct ptx_token *t, enum ptx_type type, bool negative)
{
    double d;
    float f;
    uint32_t bits;
    if (t->kind == PTX_FLOAT32)
        return t->value ^ (negative ? 0x80000000u : 0);
    if (type != PTX_F32)
        return t->value ^ (negative ? 1ull << 63 : 0);
    memcpy(&d, &t->value, sizeof d);
    f = (float)(negative ? -d : d);
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static void read_init_symbol(struct parser *p, struct init_cursor *c)
{
    struct ptx_name symbol = p->now.text;
    int64_t addend = 0;
    bool is_generic = ptx_name_is(symbol, "generic");
    next(p);
    if (is_generic) {
        expect(p, '(');
        symbol = p->now.text;
        next(p);
        expect(p, ')');
    }
    if (accept(p, '+'))
        addend = (int64_t)expect_int(p);
    put_reloc(p, c, symbol, addend);
}

static void read_init(struct parser *p, struct init_cursor *c, uint32_t depth)
{
    bool negative;
    if (depth > LIMIT_DEPTH) {
        fail(p, -WS_ELIMIT, "initialiser nested too deeply");
        return;
    }
    if (accept(p, '{')) {
        while (!p->failed && !is_punct(p, '}')) {
            read_init(p, c, depth + 1);
            if (!accept(p, ','))
                break;
        }
        expect(p, '}');
        return;
    }
    negative = accept(p, '-');
    if (p->now.kind == PTX_INT) {
        put_init(p, c, negative ? 0 - p->now.value : p->now.value);
        next(p);
    } else if (p->now.kind == PTX_FLOAT32 || p->now.kind == PTX_FLOAT64) {
        put_init(p, c, float_bits(&p->now, c->var->type, negative));
        next(p);
    } else if (p->now.kind == PTX_IDENT) {
        read_init_symbol(p, c);
    } else {
        fail(p, -WS_ESYNTAX, "cannot read the initialiser");
    }
}

/* [4][8] after a name: elements, 0 for [] */
static uint64_t read_array_size(struct parser *p, bool *is_array)
{
    uint64_t n = 1;
    while (!p->failed && accept(p, '[')) {
        uint64_t k = 0;
        *is_array = true;
        if (p->now.kind == PTX_INT)
            k = expect_int(p);
        expect(p, ']');
        if (k > LIMIT_VAR_BYTES || n * k > LIMIT_VAR_BYTES) {
            fail(p, -WS_ELIMIT, "array too large");
            return 0;
        }
        n *= k;
    }
    return n;
}

static void skip_parentheses(struct parser *p)
{
    expect(p, '(');
    while (p->now.kind != PTX_END && !p->failed && !accept(p, ')'))
        next(p);
}

/* After the space: .align 16 .b8 name[48] = {…}, without the end. NULL on failure. */
static struct ptx_var *read_var(struct parser *p, enum ptx_space space)
{
    struct ptx_var v = {.space = space, .scope = p->func ? p->scope : UINT32_MAX};
    struct ptx_var *kept;
    uint32_t vector = 1;
    uint64_t n;
    bool is_array = false;
    while (p->now.kind == PTX_DIRECT && !p->failed) {
        struct ptx_name word = {p->now.text.at + 1, p->now.text.length - 1};
        enum ptx_type type = ptx_type_find(word);
        next(p);
        if (type != PTX_NOTYPE)
            v.type = type;
        else if (ptx_name_is(word, "align"))
            v.align = (uint32_t)expect_int(p);
        else if (ptx_name_is(word, "ptr"))
            v.is_pointer = true;
        else if (ptx_name_is(word, "v2") || ptx_name_is(word, "v4"))
            vector = (uint32_t)(word.at[1] - '0');
        else if (ptx_name_is(word, "texref") || ptx_name_is(word, "samplerref") || ptx_name_is(word, "surfref"))
            v.type = PTX_B64;
        else if (space == PTX_SPACE_NONE && space_of((struct ptx_name){word.at - 1, word.length + 1}))
            v.space = space_of((struct ptx_name){word.at - 1, word.length + 1});
        else if (ptx_name_is(word, "attribute"))
            skip_parentheses(p);
        /* .attribute(.managed), address space of a pointer, … change no layout */
    }
    if (p->now.kind != PTX_IDENT || v.type == PTX_NOTYPE) {
        fail(p, -WS_ESYNTAX, "expected type and name of a variable");
        return NULL;
    }
    v.name = p->now.text;
    next(p);
    n = read_array_size(p, &is_array);
    v.bytes = n * ptx_type_bytes(v.type) * vector;
    /* .align of a .ptr parameter speaks of what it points to */
    if (v.align == 0 || v.is_pointer)
        v.align = ptx_type_bytes(v.type) * vector;
    if ((v.align & (v.align - 1)) != 0 || v.align > 65536) {
        fail(p, -WS_ESYNTAX, "alignment is not a power of two");
        return NULL;
    }
    kept = add_var(p);
    if (!kept)
        return NULL;
    *kept = v;
    if (accept(p, '=')) {
        struct init_cursor c = {kept, 0, ptx_type_bytes(v.type), 0};
        if (v.bytes == 0 || v.bytes > LIMIT_INIT_BYTES) {
            fail(p, -WS_ELIMIT, "initialiser for a variable without size, or too large");
            return NULL;
        }
        kept->init = calloc(1, v.bytes);
        if (!kept->init)
            fail(p, -WS_ENOMEM, "out of memory");
        else
            read_init(p, &c, 0);
    }
    return kept;
}

/* --- registers and scopes --- */

static bool add_regs(struct parser *p, uint32_t n, enum ptx_type type)
{
    struct ptx_func *f = p->func;
    if (n > LIMIT_REGS || f->regs_n > LIMIT_REGS - n) {
        fail(p, -WS_ELIMIT, "too many registers");
        return false;
    }
    while (p->regs_cap < f->regs_n + n)
        if (!ptx_grow(&f->reg_type, &p->regs_cap, p->regs_cap, 1, 2 * LIMIT_REGS)) {
            fail(p, -WS_ENOMEM, "out of memory");
            return false;
        }
    if (n > 0) /* %r<0> declares none, perhaps before there is any */
        memset(f->reg_type + f->regs_n, (int)type, n);
    f->regs_n += n;
    return true;
}

static void read_reg_decl(struct parser *p)
{
    enum ptx_type type = PTX_NOTYPE;
    while (p->now.kind == PTX_DIRECT && !p->failed) {
        struct ptx_name word = {p->now.text.at + 1, p->now.text.length - 1};
        type = ptx_type_find(word);
        next(p);
    }
    do {
        struct reg_decl d = {p->now.text, p->func->regs_n, 1, false, p->depth};
        if (p->now.kind != PTX_IDENT || type == PTX_NOTYPE) {
            fail(p, -WS_ESYNTAX, "expected type and name of a register");
            return;
        }
        next(p);
        if (accept(p, '<')) {
            uint64_t n = expect_int(p);
            d.n = n > LIMIT_REGS ? LIMIT_REGS + 1 : (uint32_t)n;
            d.is_range = true;
            expect(p, '>');
        }
        if (!add_regs(p, d.n, type))
            return;
        if (!ptx_grow(&p->decls, &p->decls_cap, p->decls_n, sizeof *p->decls, LIMIT_NAMES)) {
            fail(p, -WS_ELIMIT, "too many register declarations");
            return;
        }
        p->decls[p->decls_n++] = d;
    } while (accept(p, ','));
    expect(p, ';');
}

static uint32_t find_in_decl(const struct reg_decl *d, struct ptx_name name)
{
    uint64_t n = 0;
    if (!d->is_range)
        return ptx_name_equal(d->prefix, name) ? d->first : PTX_NO_REG;
    if (name.length <= d->prefix.length || name.length > d->prefix.length + 8 ||
        memcmp(name.at, d->prefix.at, d->prefix.length) != 0)
        return PTX_NO_REG;
    for (uint32_t i = d->prefix.length; i < name.length; i++) {
        if (name.at[i] < '0' || name.at[i] > '9')
            return PTX_NO_REG;
        n = n * 10 + (uint64_t)(name.at[i] - '0');
    }
    return n < d->n ? d->first + (uint32_t)n : PTX_NO_REG;
}

static uint32_t find_reg(const struct parser *p, struct ptx_name name)
{
    for (uint32_t i = p->decls_n; i-- > 0;) {
        uint32_t reg = find_in_decl(&p->decls[i], name);
        if (reg != PTX_NO_REG)
            return reg;
    }
    return PTX_NO_REG;
}

static void open_scope(struct parser *p)
{
    struct ptx_func *f = p->func;
    if (p->depth >= LIMIT_DEPTH ||
        !ptx_grow(&f->scope_parent, &p->scopes_cap, f->scopes_n, sizeof *f->scope_parent, LIMIT_NAMES)) {
        fail(p, -WS_ELIMIT, "blocks nested too deeply");
        return;
    }
    f->scope_parent[f->scopes_n] = p->scope;
    p->scope = f->scopes_n++;
    p->depth++;
}

static void close_scope(struct parser *p)
{
    p->depth--;
    p->scope = p->func->scope_parent[p->scope];
    while (p->decls_n > 0 && p->decls[p->decls_n - 1].scope_depth > p->depth)
        p->decls_n--;
}

/* --- operands --- */

static bool read_operand(struct parser *p, struct ptx_operand *o, uint32_t depth);
static bool read_group(struct parser *p, struct ptx_operand *o, char end, uint32_t depth);

static void refuse(struct parser *p, const struct ptx_ins *in, const char *why)
{
    if (p->func->refusal[0])
        return;
    snprintf(p->func->refusal, sizeof p->func->refusal, "line %u: %s '%.*s'", in->line, why,
             (int)(in->opcode.length > 60 ? 60 : in->opcode.length), in->opcode.at);
}

static bool read_group(struct parser *p, struct ptx_operand *o, char end, uint32_t depth)
{
    struct ptx_operand parts[64]; /* a call's parameters */
    struct ptx_func *f = p->func;
    uint32_t n = 0;
    o->kind = end == '}' ? PTX_O_VECTOR : PTX_O_LIST;
    next(p);
    while (!p->failed && !is_punct(p, end)) {
        struct ptx_operand part = {0};
        if (n == sizeof parts / sizeof *parts || !read_operand(p, &part, depth + 1))
            return false;
        parts[n++] = part;
        if (!accept(p, ','))
            break;
    }
    if (!accept(p, end))
        return false;
    o->first = f->elements_n;
    o->count = (uint16_t)n;
    for (uint32_t i = 0; i < n; i++) {
        if (!ptx_grow(&f->elements, &p->elements_cap, f->elements_n, sizeof *f->elements, 4 * LIMIT_INS)) {
            fail(p, -WS_ELIMIT, "too many operands");
            return false;
        }
        f->elements[f->elements_n++] = parts[i];
    }
    return true;
}

static bool read_offset(struct parser *p, int64_t *value)
{
    while (is_punct(p, '+') || is_punct(p, '-')) {
        bool negative = is_punct(p, '-');
        next(p);
        if (accept(p, '-'))
            negative = !negative;
        if (p->now.kind != PTX_INT)
            return false;
        *value = (int64_t)((uint64_t)*value + (negative ? 0 - p->now.value : p->now.value));
        next(p);
    }
    return true;
}

static bool read_address(struct parser *p, struct ptx_operand *o)
{
    next(p);
    o->kind = PTX_O_ADDRESS;
    o->reg = PTX_NO_REG;
    if (p->now.kind == PTX_IDENT) {
        o->reg = find_reg(p, p->now.text);
        o->name = p->now.text;
        next(p);
    } else if (p->now.kind == PTX_INT) {
        o->value = (int64_t)p->now.value;
        next(p);
    } else {
        return false;
    }
    if (!read_offset(p, &o->value))
        return false;
    if (accept(p, ',')) { /* [texture, {x, y}] */
        struct ptx_operand group = {0};
        if (!is_punct(p, '{') || !read_group(p, &group, '}', 1))
            return false;
        o->first = group.first;
        o->count = group.count;
    }
    return accept(p, ']');
}

static bool is_special_name(struct ptx_name name)
{
    return name.length > 1 && name.at[0] == '%';
}

static bool read_name(struct parser *p, struct ptx_operand *o)
{
    o->name = p->now.text;
    o->reg = find_reg(p, o->name);
    next(p);
    if (o->reg == PTX_NO_REG) {
        if (ptx_name_is(o->name, "_"))
            o->kind = PTX_O_SINK;
        else if (is_special_name(o->name))
            o->kind = PTX_O_SPECIAL;
        else
            o->kind = PTX_O_SYMBOL;
        if (o->kind == PTX_O_SINK && accept(p, '|')) { /* _|p */
            o->pair = find_reg(p, p->now.text);
            next(p);
            return o->pair != PTX_NO_REG;
        }
        return o->kind == PTX_O_SYMBOL ? read_offset(p, &o->value) : true;
    }
    o->kind = PTX_O_REG;
    if (accept(p, '|')) {
        if (!ptx_name_is(p->now.text, "_")) {
            o->pair = find_reg(p, p->now.text);
            if (o->pair == PTX_NO_REG)
                return false;
        }
        next(p);
    }
    return true;
}

static bool read_literal(struct parser *p, struct ptx_operand *o, bool negative)
{
    if (p->now.kind == PTX_INT) {
        o->kind = PTX_O_INT;
        o->value = (int64_t)(negative ? 0 - p->now.value : p->now.value);
    } else if (p->now.kind == PTX_FLOAT32) {
        o->kind = PTX_O_F32;
        o->value = (int64_t)float_bits(&p->now, PTX_F32, negative);
    } else if (p->now.kind == PTX_FLOAT64) {
        o->kind = PTX_O_F64;
        o->value = (int64_t)float_bits(&p->now, PTX_F64, negative);
    } else {
        return false;
    }
    next(p);
    return true;
}

static bool read_operand(struct parser *p, struct ptx_operand *o, uint32_t depth)
{
    bool negative;
    o->reg = PTX_NO_REG;
    o->pair = PTX_NO_REG;
    if (depth > 2)
        return false;
    if (is_punct(p, '{'))
        return read_group(p, o, '}', depth);
    if (is_punct(p, '('))
        return read_group(p, o, ')', depth);
    if (is_punct(p, '['))
        return read_address(p, o);
    if (accept(p, '!')) {
        o->is_negated = true;
        return p->now.kind == PTX_IDENT && read_name(p, o);
    }
    if (p->now.kind == PTX_IDENT)
        return read_name(p, o);
    negative = accept(p, '-');
    return read_literal(p, o, negative);
}

/* --- statements of a body --- */

static void skip_to(struct parser *p, char end)
{
    while (!p->failed && p->now.kind != PTX_END && !is_punct(p, end))
        next(p);
    accept(p, end);
}

static void read_loc(struct parser *p)
{
    uint32_t line = p->now.line;
    next(p);
    p->source_file = (uint32_t)expect_int(p);
    p->source_line = (uint32_t)expect_int(p);
    while (!p->failed && p->now.kind != PTX_END && p->now.line == line)
        next(p);
}

static void read_guard(struct parser *p, struct ptx_ins *in)
{
    next(p);
    in->is_guard_negated = accept(p, '!');
    in->guard = find_reg(p, p->now.text);
    if (p->now.kind != PTX_IDENT || in->guard == PTX_NO_REG)
        fail(p, -WS_ESYNTAX, "unknown guard predicate");
    next(p);
}

static void read_instruction(struct parser *p)
{
    struct ptx_func *f = p->func;
    struct ptx_ins in = {.line = p->now.line, .source_line = p->source_line, .source_file = p->source_file};
    bool is_good = true;
    in.guard = PTX_NO_REG;
    in.scope = p->scope;
    if (is_punct(p, '@'))
        read_guard(p, &in);
    if (p->now.kind != PTX_IDENT) {
        fail(p, -WS_ESYNTAX, "expected an instruction");
        return;
    }
    in.opcode = p->now.text;
    in.first = f->operands_n;
    next(p);
    while (is_good && !p->failed && p->now.kind != PTX_END && !is_punct(p, ';')) {
        struct ptx_operand o = {0};
        is_good = read_operand(p, &o, 0) && (is_punct(p, ',') || is_punct(p, ';'));
        if (!is_good)
            break;
        if (!ptx_grow(&f->operands, &p->operands_cap, f->operands_n, sizeof *f->operands, 4 * LIMIT_INS)) {
            fail(p, -WS_ELIMIT, "too many operands");
            return;
        }
        f->operands[f->operands_n++] = o;
        accept(p, ',');
    }
    if (!is_good && !p->failed) {
        refuse(p, &in, "cannot read the operands of");
        skip_to(p, ';');
    } else {
        expect(p, ';');
    }
    in.count = f->operands_n - in.first;
    if (!ptx_grow(&f->ins, &p->ins_cap, f->ins_n, sizeof *f->ins, LIMIT_INS)) {
        fail(p, -WS_ELIMIT, "too many instructions");
        return;
    }
    f->ins[f->ins_n++] = in;
}

/* (.param .b32 a, .param .b64 b): how many; each becomes a variable. */
static uint32_t read_form_list(struct parser *p)
{
    uint32_t n = 0;
    expect(p, '(');
    while (!p->failed && !is_punct(p, ')')) {
        if (!is_direct(p, ".param")) {
            fail(p, -WS_ESYNTAX, "expected .param");
            return 0;
        }
        next(p);
        (void)read_var(p, PTX_SPACE_FRAME);
        n++;
        if (!accept(p, ','))
            break;
    }
    expect(p, ')');
    return n;
}

/* .callprototype (return values) _ (parameters) .noreturn; */
static void read_form(struct parser *p, struct ptx_label *label)
{
    label->is_form = true;
    label->form_first = p->module->vars_n;
    if (is_punct(p, '('))
        label->form_rets = read_form_list(p);
    if (p->now.kind != PTX_IDENT)
        fail(p, -WS_ESYNTAX, "cannot read .callprototype");
    next(p);
    if (is_punct(p, '('))
        label->form_params = read_form_list(p);
    skip_to(p, ';');
}

static void add_label(struct parser *p, struct ptx_name name)
{
    struct ptx_func *f = p->func;
    struct ptx_label *label;
    if (!ptx_grow(&f->labels, &p->labels_cap, f->labels_n, sizeof *f->labels, LIMIT_NAMES)) {
        fail(p, -WS_ELIMIT, "too many labels");
        return;
    }
    label = &f->labels[f->labels_n++];
    label->name = name;
    label->scope = p->scope;
    label->ins = f->ins_n;
    if (is_direct(p, ".branchtargets")) {
        struct ptx_operand group = {0};
        label->targets_first = f->elements_n;
        do {
            next(p);
            group.kind = PTX_O_SYMBOL;
            group.reg = group.pair = PTX_NO_REG;
            group.name = p->now.text;
            if (p->now.kind != PTX_IDENT ||
                !ptx_grow(&f->elements, &p->elements_cap, f->elements_n, sizeof *f->elements, 4 * LIMIT_INS)) {
                fail(p, -WS_ESYNTAX, "cannot read .branchtargets");
                return;
            }
            f->elements[f->elements_n++] = group;
            next(p);
        } while (is_punct(p, ','));
        label->targets_n = f->elements_n - label->targets_first;
        expect(p, ';');
    } else if (is_direct(p, ".callprototype")) {
        next(p);
        read_form(p, label);
    } else if (is_direct(p, ".calltargets")) {
        skip_to(p, ';');
    }
}

static void read_body_directive(struct parser *p)
{
    enum ptx_space space = space_of(p->now.text);
    if (is_direct(p, ".loc")) {
        read_loc(p);
    } else if (is_direct(p, ".reg")) {
        next(p);
        read_reg_decl(p);
    } else if (space != PTX_SPACE_NONE) {
        next(p);
        do
            read_var(p, space == PTX_SPACE_PARAM ? PTX_SPACE_FRAME : space);
        while (accept(p, ','));
        expect(p, ';');
    } else if (is_direct(p, ".pragma")) {
        skip_to(p, ';');
    } else {
        fail(p, -WS_ESYNTAX, "unknown directive in a function");
    }
}

static void read_body(struct parser *p)
{
    uint32_t outer = p->depth;
    open_scope(p);
    expect(p, '{');
    while (!p->failed && p->depth > outer) {
        if (p->now.kind == PTX_END) {
            fail(p, -WS_ESYNTAX, "function without end");
        } else if (accept(p, '{')) {
            open_scope(p);
        } else if (is_punct(p, '}')) {
            close_scope(p);
            next(p);
        } else if (p->now.kind == PTX_DIRECT) {
            read_body_directive(p);
        } else if (p->now.kind == PTX_IDENT) {
            struct ptx_lexer ahead = p->lexer;
            struct ptx_token after = ptx_lex(&ahead);
            if (after.kind == PTX_PUNCT && after.text.at[0] == ':') {
                struct ptx_name name = p->now.text;
                next(p);
                next(p);
                add_label(p, name);
            } else {
                read_instruction(p);
            }
        } else if (is_punct(p, ';')) {
            next(p);
        } else {
            read_instruction(p);
        }
    }
}

/* --- module level --- */

static void read_params(struct parser *p, uint32_t **list, uint32_t *n, uint32_t *cap, enum ptx_space space)
{
    next(p);
    while (!p->failed && !is_punct(p, ')')) {
        struct ptx_var *v;
        if (is_direct(p, ".reg")) {
            /* the ABI-less form: this function cannot be called, others can */
            snprintf(p->func->refusal, sizeof p->func->refusal, "line %u: register parameters", p->now.line);
            while (!p->failed && !is_punct(p, ',') && !is_punct(p, ')') && p->now.kind != PTX_END)
                next(p);
        } else {
            if (!is_direct(p, ".param")) {
                fail(p, -WS_ESYNTAX, "expected .param");
                return;
            }
            next(p);
            v = read_var(p, space);
            if (!v || !ptx_grow(list, cap, *n, sizeof **list, 65536)) {
                fail(p, -WS_ELIMIT, "too many parameters");
                return;
            }
            (*list)[(*n)++] = p->module->vars_n - 1;
        }
        if (!accept(p, ','))
            break;
    }
    expect(p, ')');
}

static void read_dims(struct parser *p, uint32_t dims[3])
{
    next(p);
    for (int i = 0; i < 3; i++)
        dims[i] = 1;
    for (int i = 0; i < 3; i++) {
        dims[i] = (uint32_t)expect_int(p);
        if (!accept(p, ','))
            break;
    }
}

static void read_func(struct parser *p, bool is_entry)
{
    struct ptx_module *m = p->module;
    struct ptx_func *f;
    next(p);
    if (!ptx_grow(&m->funcs, &p->funcs_cap, m->funcs_n, sizeof *m->funcs, LIMIT_NAMES)) {
        fail(p, -WS_ELIMIT, "too many functions");
        return;
    }
    f = p->func = &m->funcs[m->funcs_n++];
    f->is_entry = is_entry;
    f->line = p->now.line;
    f->vars_first = m->vars_n;
    p->ins_cap = p->operands_cap = p->elements_cap = p->labels_cap = p->scopes_cap = p->regs_cap = 0;
    p->params_cap = p->rets_cap = 0;
    p->decls_n = 0;
    p->scope = UINT32_MAX;
    p->depth = 0;
    p->source_line = p->source_file = 0;
    if (is_punct(p, '('))
        read_params(p, &f->rets, &f->rets_n, &p->rets_cap, PTX_SPACE_FRAME);
    f->name = p->now.text;
    if (p->now.kind != PTX_IDENT)
        fail(p, -WS_ESYNTAX, "expected a function name");
    next(p);
    if (is_punct(p, '('))
        read_params(p, &f->params, &f->params_n, &p->params_cap, is_entry ? PTX_SPACE_PARAM : PTX_SPACE_FRAME);
    while (p->now.kind == PTX_DIRECT && !p->failed) {
        if (is_direct(p, ".reqntid")) {
            read_dims(p, f->reqntid);
        } else if (is_direct(p, ".maxntid")) {
            read_dims(p, f->maxntid);
        } else if (is_direct(p, ".reqnctapercluster")) {
            read_dims(p, f->cluster);
        } else { /* .minnctapersm 2, .maxnreg 32, .noreturn, … */
            next(p);
            while (p->now.kind == PTX_INT || p->now.kind == PTX_STRING || is_punct(p, ','))
                next(p);
        }
    }
    if (is_punct(p, '{')) {
        f->has_body = true;
        read_body(p);
    } else {
        expect(p, ';');
    }
    f->vars_end = m->vars_n;
    p->func = NULL;
}

static void read_file(struct parser *p)
{
    struct ptx_module *m = p->module;
    struct ptx_file file = {0};
    next(p);
    file.number = (uint32_t)expect_int(p);
    file.path = p->now.text;
    next(p);
    while (accept(p, ','))
        next(p);
    if (!ptx_grow(&m->files, &p->files_cap, m->files_n, sizeof *m->files, LIMIT_NAMES))
        fail(p, -WS_ELIMIT, "too many files");
    else if (!p->failed)
        m->files[m->files_n++] = file;
}

static void read_header(struct parser *p)
{
    bool is_version = is_direct(p, ".version");
    bool is_target = is_direct(p, ".target");
    next(p);
    if (is_version) {
        double d = 0;
        if (p->now.kind == PTX_FLOAT64)
            memcpy(&d, &p->now.value, sizeof d);
        p->module->version = d > 0 && d < 1000 ? (uint32_t)(d * 100 + 0.5) : 0;
        next(p);
    } else if (is_target) {
        for (uint32_t i = 0; i < p->now.text.length; i++)
            if (p->now.text.at[i] >= '0' && p->now.text.at[i] <= '9' && p->module->target < 100000)
                p->module->target = p->module->target * 10 + (uint32_t)(p->now.text.at[i] - '0');
        next(p);
        while (accept(p, ','))
            next(p);
    } else {
        next(p); /* .address_size 64 */
    }
}

static void skip_section(struct parser *p)
{
    while (!p->failed && p->now.kind != PTX_END && !is_punct(p, '{'))
        next(p);
    skip_to(p, '}');
}

static void read_module_item(struct parser *p)
{
    enum ptx_space space = space_of(p->now.text);
    if (is_direct(p, ".visible") || is_direct(p, ".weak") || is_direct(p, ".extern") || is_direct(p, ".common")) {
        next(p);
    } else if (is_direct(p, ".entry") || is_direct(p, ".func")) {
        read_func(p, is_direct(p, ".entry"));
    } else if (space != PTX_SPACE_NONE) {
        next(p);
        do
            read_var(p, space);
        while (accept(p, ','));
        expect(p, ';');
    } else if (is_direct(p, ".file")) {
        read_file(p);
    } else if (is_direct(p, ".version") || is_direct(p, ".target") || is_direct(p, ".address_size")) {
        read_header(p);
    } else if (is_direct(p, ".section")) {
        skip_section(p);
    } else if (is_direct(p, ".pragma") || is_direct(p, ".alias")) {
        skip_to(p, ';');
    } else if (is_direct(p, ".loc")) {
        read_loc(p);
    } else {
        fail(p, -WS_ESYNTAX, "unknown statement");
    }
}

static int compare_names(struct ptx_name a, struct ptx_name b)
{
    uint32_t n = a.length < b.length ? a.length : b.length;
    int c = memcmp(a.at, b.at, n);
    return c ? c : (a.length > b.length) - (a.length < b.length);
}

/* A declaration has the name of its definition: the definition comes first. */
static int compare_funcs(const void *a, const void *b, void *module)
{
    const struct ptx_module *m = module;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    int c = compare_names(m->funcs[i].name, m->funcs[k].name);
    if (c == 0)
        c = (int)m->funcs[k].has_body - (int)m->funcs[i].has_body;
    return c ? c : (i > k) - (i < k);
}

static bool sort_names(struct ptx_module *m)
{
    m->by_name = malloc((m->funcs_n + 1) * sizeof *m->by_name);
    if (!m->by_name)
        return false;
    for (uint32_t k = 0; k < m->funcs_n; k++)
        m->by_name[k] = k;
    qsort_r(m->by_name, m->funcs_n, sizeof *m->by_name, compare_funcs, m);
    return true;
}

int ptx_parse(const char *text, size_t length, struct ptx_module **module, char *error, size_t error_bytes)
{
    struct parser p = {.error = error, .error_bytes = error_bytes};
    if (length > (1u << 30))
        return -WS_ELIMIT;
    p.module = calloc(1, sizeof *p.module);
    if (!p.module)
        return -WS_ENOMEM;
    ptx_lex_init(&p.lexer, text, length);
    next(&p);
    while (!p.failed && p.now.kind != PTX_END)
        read_module_item(&p);
    if (!p.failed && p.module->version == 0)
        fail(&p, -WS_ESYNTAX, "no .version: this is not PTX");
    if (!p.failed && !sort_names(p.module))
        fail(&p, -WS_ENOMEM, "out of memory");
    free(p.decls);
    if (p.failed) {
        ptx_free(p.module);
        return p.failed;
    }
    *module = p.module;
    return 0;
}

void ptx_free(struct ptx_module *module)
{
    if (!module)
        return;
    for (uint32_t i = 0; i < module->funcs_n; i++) {
        struct ptx_func *f = &module->funcs[i];
        free(f->params);
        free(f->rets);
        free(f->reg_type);
        free(f->ins);
        free(f->operands);
        free(f->elements);
        free(f->labels);
        free(f->scope_parent);
    }
    for (uint32_t i = 0; i < module->vars_n; i++) {
        free(module->vars[i].init);
        free(module->vars[i].relocs);
    }
    free(module->vars);
    free(module->funcs);
    free(module->by_name);
    free(module->files);
    free(module);
}

const struct ptx_func *ptx_find_func(const struct ptx_module *module, struct ptx_name name)
{
    uint32_t lo = 0, hi = module->funcs_n;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (compare_names(module->funcs[module->by_name[mid]].name, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == module->funcs_n || !ptx_name_equal(module->funcs[module->by_name[lo]].name, name))
        return NULL;
    return &module->funcs[module->by_name[lo]];
}
