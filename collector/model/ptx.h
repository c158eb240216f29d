/* SPDX-License-Identifier: MIT
 * ptx.h: PTX text as a tree: module, variables, functions, instructions, operands.
 * No meaning of opcodes here: decode.c gives it. Nothing is copied from the text that the text itself can
 * lend: names point into it, so the text must live as long as the module.
 * A new operand form: enum ptx_operand_kind and read_operand() in ptx_parse.c. */
#ifndef WS_COLLECTOR_MODEL_PTX_H
#define WS_COLLECTOR_MODEL_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A piece of the PTX text. */
struct ptx_name {
    const char *at;
    uint32_t length;
};

enum ptx_token_kind {
    PTX_END,
    PTX_IDENT,  /* opcode with its dots, register, label, symbol */
    PTX_DIRECT, /* .word */
    PTX_INT,
    PTX_FLOAT32, /* 0f3F800000; bits in value */
    PTX_FLOAT64, /* 0d…, 1.5 */
    PTX_STRING,
    PTX_PUNCT, /* one character, in text.at[0] */
};

struct ptx_token {
    enum ptx_token_kind kind;
    struct ptx_name text;
    uint64_t value;
    uint32_t line;
};

/* Text to tokens. Never reads outside text[length]; comments and white space are skipped. */
struct ptx_lexer {
    const char *text;
    size_t length;
    size_t at;
    uint32_t line;
};
void ptx_lex_init(struct ptx_lexer *lexer, const char *text, size_t length);
struct ptx_token ptx_lex(struct ptx_lexer *lexer);

enum ptx_space {
    PTX_SPACE_NONE,
    PTX_SPACE_GENERIC,
    PTX_SPACE_GLOBAL,
    PTX_SPACE_SHARED,
    PTX_SPACE_LOCAL,
    PTX_SPACE_CONST,
    PTX_SPACE_PARAM, /* parameter of a kernel */
    PTX_SPACE_FRAME, /* parameter or return value of a device function */
};

/* X(symbol, spelling, bytes) */
#define PTX_TYPE_LIST(X)       \
    X(PTX_PRED, "pred", 4)     \
    X(PTX_B8, "b8", 1)         \
    X(PTX_U8, "u8", 1)         \
    X(PTX_S8, "s8", 1)         \
    X(PTX_B16, "b16", 2)       \
    X(PTX_U16, "u16", 2)       \
    X(PTX_S16, "s16", 2)       \
    X(PTX_F16, "f16", 2)       \
    X(PTX_BF16, "bf16", 2)     \
    X(PTX_B32, "b32", 4)       \
    X(PTX_U32, "u32", 4)       \
    X(PTX_S32, "s32", 4)       \
    X(PTX_F32, "f32", 4)       \
    X(PTX_F16X2, "f16x2", 4)   \
    X(PTX_BF16X2, "bf16x2", 4) \
    X(PTX_B64, "b64", 8)       \
    X(PTX_U64, "u64", 8)       \
    X(PTX_S64, "s64", 8)       \
    X(PTX_F64, "f64", 8)       \
    X(PTX_B128, "b128", 16)

enum ptx_type {
    PTX_NOTYPE,
#define PTX_TYPE_ENUM(sym, text, bytes) sym,
    PTX_TYPE_LIST(PTX_TYPE_ENUM)
#undef PTX_TYPE_ENUM
        PTX_TYPE_COUNT
};
/* The type of a spelling without its dot, or PTX_NOTYPE; bytes of a value (predicate: 4). */
enum ptx_type ptx_type_find(struct ptx_name name);
uint32_t ptx_type_bytes(enum ptx_type type);

/* Where an initialiser holds the address of a symbol. */
struct ptx_reloc {
    uint32_t offset; /* bytes into the variable */
    uint32_t bytes;
    struct ptx_name symbol;
    int64_t addend;
};

struct ptx_var {
    struct ptx_name name;
    enum ptx_space space;
    uint32_t align;
    uint64_t bytes;  /* 0: extern array, its size comes with the launch */
    bool is_pointer; /* kernel parameter marked .ptr */
    uint32_t scope;  /* block of the function it is declared in; UINT32_MAX: its parameter, or the module */
    enum ptx_type type;
    uint8_t *init; /* bytes long, or NULL for zeros */
    struct ptx_reloc *relocs;
    uint32_t relocs_n;
};

enum ptx_operand_kind {
    PTX_O_SINK,    /* _ */
    PTX_O_REG,     /* reg */
    PTX_O_INT,     /* value */
    PTX_O_F32,     /* value: bits */
    PTX_O_F64,     /* value: bits */
    PTX_O_SPECIAL, /* name: %tid.x */
    PTX_O_SYMBOL,  /* name (variable, function or label), value: added */
    PTX_O_ADDRESS, /* [reg+value], or [name+value] with reg = PTX_NO_REG; [reg, {…}]: first, count, too */
    PTX_O_VECTOR,  /* first, count: elements in func->elements */
    PTX_O_LIST,    /* ( … ) of a call */
};

#define PTX_NO_REG UINT32_MAX
struct ptx_operand {
    uint8_t kind;
    bool is_negated; /* !p */
    uint16_t count;
    uint32_t reg;
    uint32_t pair; /* second register of d|p, or PTX_NO_REG */
    uint32_t first;
    int64_t value;
    struct ptx_name name;
};

struct ptx_ins {
    struct ptx_name opcode; /* with all its dots */
    uint32_t line;          /* of the PTX text */
    uint32_t source_line;   /* of the last .loc, 0 = none */
    uint32_t source_file;   /* number of a .file */
    uint32_t guard;         /* predicate register or PTX_NO_REG */
    bool is_guard_negated;
    uint32_t scope; /* of { }: labels are looked up from here outwards */
    uint32_t first; /* operands */
    uint32_t count;
};

struct ptx_label {
    struct ptx_name name;
    uint32_t scope;
    uint32_t ins;           /* index of the instruction that follows */
    uint32_t targets_first; /* of a .branchtargets list, in func->elements */
    uint32_t targets_n;
    uint32_t form_first; /* of a .callprototype: variables of the module, return values and then parameters */
    uint32_t form_rets, form_params;
    bool is_form;
};

struct ptx_func {
    struct ptx_name name;
    bool is_entry;
    bool has_body;
    uint32_t line;
    uint32_t *params; /* variable numbers */
    uint32_t params_n;
    uint32_t *rets;
    uint32_t rets_n;
    uint32_t vars_first; /* the function's own variables: [vars_first, vars_end) of the module */
    uint32_t vars_end;
    uint8_t *reg_type; /* enum ptx_type of each register */
    uint32_t regs_n;
    struct ptx_ins *ins;
    uint32_t ins_n;
    struct ptx_operand *operands;
    uint32_t operands_n;
    struct ptx_operand *elements;
    uint32_t elements_n;
    struct ptx_label *labels;
    uint32_t labels_n;
    uint32_t *scope_parent;
    uint32_t scopes_n;
    uint32_t reqntid[3]; /* .reqntid / .maxntid, 0 = not given */
    uint32_t maxntid[3];
    uint32_t cluster[3]; /* .reqnctapercluster, 0 = not given */
    char refusal[192];   /* "" or why the function cannot be read */
};

struct ptx_file {
    uint32_t number;
    struct ptx_name path;
};

struct ptx_module {
    uint32_t version; /* 900 for 9.0 */
    uint32_t target;  /* 90 for sm_90a */
    struct ptx_var *vars;
    uint32_t vars_n;
    struct ptx_func *funcs;
    uint32_t funcs_n;
    uint32_t *by_name; /* [funcs_n] functions by name, of one name the one with a body first */
    struct ptx_file *files;
    uint32_t files_n;
};

/* Text to module.
 *   text     length bytes, lent for the module's life
 *   error    error_bytes long; on failure one line "line N: …"
 *   errors   -WS_ESYNTAX, -WS_ENOMEM, -WS_ELIMIT. A fault inside one function only sets its refusal. */
int ptx_parse(const char *text, size_t length, struct ptx_module **module, char *error, size_t error_bytes);
void ptx_free(struct ptx_module *module);

/* The function of this name, or NULL. */
const struct ptx_func *ptx_find_func(const struct ptx_module *module, struct ptx_name name);
bool ptx_name_is(struct ptx_name name, const char *text);
bool ptx_name_equal(struct ptx_name a, struct ptx_name b);

/* Make room for one more element of size bytes; *at may move. False: out of memory or over limit elements. */
bool ptx_grow(void *at, uint32_t *cap, uint32_t n, size_t size, uint32_t limit);

#endif
