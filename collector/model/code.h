/* SPDX-License-Identifier: MIT
 * code.h: one kernel decoded for execution: instructions with register offsets, blocks, statistics rows.
 * Made by decode.c (meaning), cfg.c (blocks, reconvergence), merge.c (shared-load merging), slots.c
 * (register file); run by exec_body.h. Before slots.c has run, d/s/a/guard hold register numbers; after it,
 * byte offsets into the warp's register file. */
#ifndef WS_COLLECTOR_MODEL_CODE_H
#define WS_COLLECTOR_MODEL_CODE_H

#include "ptx.h"

#define CODE_NONE UINT32_MAX

struct warp;
struct code_ins;
typedef void (*exec_fn)(struct warp *w, const struct code_ins *i);

enum code_op {
#define UN(name, td, ta, expr) OP_##name,
#define BIN(name, td, ta, tb, expr) OP_##name,
#define TER(name, td, ta, tb, tc, expr) OP_##name,
#define CMP(name, t, expr) OP_##name,
#define VEC(name, td, ta) OP_##name,
#define OTHER(name) OP_##name,
#include "ops.def"
    OP_COUNT
};

/* Floating-point work by class; lanes are counted, as smsp__sass_thread_inst_executed_op_*_pred_on does. */
enum code_fp {
    FP_NONE,
    FP32_ADD,
    FP32_MUL,
    FP32_FMA,
    FP64_ADD,
    FP64_MUL,
    FP64_FMA,
    FP16_ADD,
    FP16_MUL,
    FP16_FMA,
    FP_COUNT
};

/* Operations that SASS makes from several (software.def). */
enum software_domain {
    SOFTWARE_ALL,  /* all lanes take the short way */
    SOFTWARE_NONE, /* none does */
    SOFTWARE_NORMAL,
    SOFTWARE_NOT_HUGE,
    SOFTWARE_FULL_RANGE,
    SOFTWARE_EX2_F32,
    SOFTWARE_SQRT_F32,
    SOFTWARE_RCP_F32,
    SOFTWARE_DIV_F32,
    SOFTWARE_SQRT_F64,
    SOFTWARE_RSQRT_F64,
    SOFTWARE_RCP_F64,
    SOFTWARE_DIV_F64
};
#define SOFTWARE_COUNTS 5 /* enum code_fp without the sum of doubles, from FP32_ADD on */
struct code_software {
    const char *opcode, *accuracy; /* accuracy "" = any */
    uint8_t ftz;                   /* 0 without, 1 with, 2 either */
    uint8_t type;                  /* enum ptx_type */
    uint8_t domain;
    uint8_t short_way[SOFTWARE_COUNTS], long_way[SOFTWARE_COUNTS]; /* add, mul, fma of f32; mul, fma of f64 */
    bool is_whole;                                                 /* the long way's counts are all that it does */
};
/* [0] is none: the operation is one instruction. */
extern const struct code_software code_software[];
extern const uint32_t code_software_n;

enum code_bool { BOOL_NONE, BOOL_AND, BOOL_OR, BOOL_XOR };
enum code_round { ROUND_NEAREST, ROUND_ZERO, ROUND_DOWN, ROUND_UP };

enum code_flag {
    CODE_INVERT = 1,     /* CMP: the comparison's complement */
    CODE_SATURATE = 2,   /* clamp the f32 result to [0, 1] */
    CODE_SIGNED = 4,     /* load or convert: sign-extend */
    CODE_ADDRESS_32 = 8, /* the address register is 32 bits wide */
    CODE_RETURNS = 16,   /* atomic with a result */
    CODE_NEGATE_C = 32,  /* third (predicate) source is negated */
    CODE_NEGATE_A = 64,  /* first (predicate) source is negated */
    CODE_NEGATE_B = 128,
    CODE_MERGED = 256, /* shared load that a wider one has taken in: not counted */
    CODE_SATURATE_INT = 512,
    CODE_FTZ = 1024,
    CODE_SELECTED = 2048,  /* only a select reads the result: SASS may skip lanes that do not select it */
    CODE_UNCOUNTED = 4096, /* made by the decoder: not an instruction of the text */
    CODE_RETRIES = 16384,  /* atomic of shared memory that SASS makes of a load and a swap, until that succeeds */
    CODE_LIVES_ON = 8192,  /* operation in software whose operands others read: SASS may do more to keep them */
};

/* Does the instruction run (fold.c)? It is counted in any case. */
enum code_fold { FOLD_RUNS, FOLD_GONE, FOLD_ONCE /* when the warp's registers are set up */ };

/* One instruction for one warp. */
struct code_ins {
    exec_fn fn;        /* the wrapper when a guard, rounding or clamping is there, else inner */
    exec_fn inner;     /* the operation itself */
    exec_fn unchecked; /* with checks: what inner was (check.c) */
    uint32_t d[4];
    uint32_t s[4];
    uint32_t a;       /* address register or CODE_NONE */
    uint32_t guard;   /* predicate or CODE_NONE */
    int64_t imm;      /* added to the address, or a small immediate */
    uint32_t stat;    /* row of memory statistics, or CODE_NONE */
    uint32_t guarded; /* row of guarded-instruction statistics, or CODE_NONE */
    uint32_t
        long_way; /* the same, of the lanes that take the long way of an operation in software; CODE_NONE: none do */
    uint16_t op;
    uint16_t flags;
    uint8_t is_guard_negated;
    uint8_t bytes;       /* memory: per element; cvt: source bytes */
    uint8_t vec;         /* memory: elements */
    uint8_t count_bytes; /* memory: width for the counting rules (merged loads: wider than bytes*vec) */
    uint8_t space;       /* enum ptx_space */
    uint8_t type;        /* enum ptx_type of the operation */
    uint8_t type2;       /* cvt: source type; atomics: operation */
    uint8_t round;
    uint8_t boolean;
    uint8_t fp;       /* enum code_fp */
    uint8_t fp_width; /* values per lane: 2 for f16x2 */
    uint8_t d_wide;   /* bit k: destination k has 8-byte lanes */
    uint8_t s_wide;
    uint8_t fold;     /* enum code_fold */
    uint8_t software; /* of code_software, 0 = none */
    uint16_t count;   /* of code->fused from imm on, of an instruction that stands for a run of them (fold.c) */
    uint32_t line;    /* of the PTX text */
    uint32_t source_line;
    uint32_t source_file;
    uint32_t wide; /* of code->wide: registers beyond d and s, or CODE_NONE */
    struct ptx_name opcode;
};

/* Registers of matrix instructions; as in an instruction, numbers first and offsets later. */
#define WIDE_D 8
#define WIDE_S 24
enum code_matrix_type {
    MATRIX_F16,
    MATRIX_BF16,
    MATRIX_TF32,
    MATRIX_F64,
    MATRIX_E4M3,
    MATRIX_E5M2,
    MATRIX_S8,
    MATRIX_U8,
    MATRIX_S4,
    MATRIX_U4,
    MATRIX_B1,
    MATRIX_F32,
    MATRIX_S32
};

/* Operations of the tensor cores, as the metrics catalogue tells them apart. */
enum code_tensor {
    TENSOR_FP16_ACC16,
    TENSOR_FP16_ACC32,
    TENSOR_BF16,
    TENSOR_TF32,
    TENSOR_FP64,
    TENSOR_FP8_ACC16,
    TENSOR_FP8_ACC32,
    TENSOR_INT8,
    TENSOR_INT4,
    TENSOR_INT1,
    TENSOR_COUNT
};

struct code_matrix {
    uint16_t m, n, k;
    uint8_t a, b, c, d;    /* enum code_matrix_type; a: also of wmma.load and wmma.store */
    uint8_t a_n, b_n, c_n; /* registers */
    uint8_t count;         /* enum code_tensor */
    uint8_t bits;          /* wmma.load, wmma.store: of an element */
    char part;             /* the same: a, b or c */
    bool is_wmma, is_column, saturates, is_and;
};

struct code_wide {
    uint32_t d[WIDE_D], s[WIDE_S];
    uint8_t d_n, s_n;
    struct code_matrix matrix;
};

/* wmma.load: type2 of the instruction: how its accesses are counted. OWN: as the model makes them, an estimate; WORDS:
 * tiles of 8 by 8 values of 16 bits, a word of two a lane, as mma wants them; LDSM: those tiles by ldmatrix, four a
 * time. */
enum code_wmma { WMMA_OWN, WMMA_WORDS, WMMA_LDSM };

/* Atomics: type2 of the instruction. */
enum code_atomic { AT_ADD, AT_MIN, AT_MAX, AT_INC, AT_DEC, AT_CAS, AT_EXCH, AT_AND, AT_OR, AT_XOR };

/* mbarrier: type2 of the instruction. */
enum code_mbarrier {
    MBARRIER_INIT,
    MBARRIER_INVAL,
    MBARRIER_ARRIVE,
    MBARRIER_DROP,
    MBARRIER_EXPECT,
    MBARRIER_COMPLETE,
    MBARRIER_TEST,
    MBARRIER_TRY,
    MBARRIER_PENDING
};

/* What becomes of accesses outside of a surface: imm of the instruction. */
enum code_surface { SURFACE_TRAP, SURFACE_CLAMP, SURFACE_ZERO };

/* An address in the shared memory of a block of the cluster: its rank plus 1, above the offset; 0: the block's own. */
#define CLUSTER_SHIFT 24
#define CLUSTER_OFFSET 0xffffffull

/* END_CALL: a function that is not inlined; END_RETURN: its end; END_CLUSTER: barrier.cluster.wait. */
enum code_end { END_FALL, END_BRANCH, END_EXIT, END_BARRIER, END_CALL, END_RETURN, END_CLUSTER };

/* Bytes of local memory that a call copies: from the caller's frame to the callee's, or back. */
struct code_copy {
    uint32_t from, to, bytes;
};

/* A call; its number is imm of the instruction. */
struct code_call {
    uint32_t function; /* of code->functions; CODE_NONE: the address is in s[0] */
    uint32_t form;     /* functions that can be called so have the same one */
    uint32_t copies;   /* of code->copies: return values (to the caller), then parameters */
    uint32_t rets_n, params_n;
};

/* A device function that is not inlined: recursive, called by its address, or too deep in calls. */
struct code_function {
    uint32_t number; /* of module->funcs */
    uint32_t form;
    uint32_t entry; /* instruction; once cfg.c has run: block */
    uint64_t frame_bytes;
};

/* The address of a function of the module: far outside any address a process can have. */
#define FUNCTION_WINDOW (3ull << 56)
#define FUNCTION_STEP 16u

struct code_block {
    uint32_t first, end;         /* instructions [first, end), the ending one apart */
    uint32_t run_first, run_end; /* of code->run: those of them to execute */
    uint32_t counted;            /* instructions counted per run, the ending one included */
    uint32_t ending;             /* index of the ending instruction, or CODE_NONE */
    uint32_t target;             /* branch: block when taken */
    uint32_t next;               /* block that follows, or CODE_NONE */
    uint32_t join;               /* block where diverged lanes meet again, or CODE_NONE = at the exit */
    enum code_end kind;
    uint32_t guard; /* branch or exit predicate, or CODE_NONE */
    bool is_guard_negated;
};

/* What a register number stands for. */
enum code_reg_kind { REG_VIRTUAL, REG_CONSTANT, REG_SPECIAL, REG_ONCE };
enum code_special {
    SR_NONE,
    SR_TID_X,
    SR_TID_Y,
    SR_TID_Z,
    SR_NTID_X,
    SR_NTID_Y,
    SR_NTID_Z,
    SR_CTAID_X,
    SR_CTAID_Y,
    SR_CTAID_Z,
    SR_NCTAID_X,
    SR_NCTAID_Y,
    SR_NCTAID_Z,
    SR_LANEID,
    SR_WARPID,
    SR_NWARPID,
    SR_SMID,
    SR_NSMID,
    SR_GRIDID,
    SR_LANEMASK_EQ,
    SR_LANEMASK_LE,
    SR_LANEMASK_LT,
    SR_LANEMASK_GE,
    SR_LANEMASK_GT,
    SR_CLOCK,
    SR_DYNAMIC_SMEM,
    SR_TOTAL_SMEM,
    SR_ENVREG1, /* the grid's workspace, high and low half */
    SR_ENVREG2,
    SR_RESERVED_BEGIN,
    SR_RESERVED_END,
    SR_RESERVED_CAP,
    SR_CLUSTERID_X,
    SR_CLUSTERID_Y,
    SR_CLUSTERID_Z,
    SR_NCLUSTERID_X,
    SR_NCLUSTERID_Y,
    SR_NCLUSTERID_Z,
    SR_CLUSTER_CTAID_X,
    SR_CLUSTER_CTAID_Y,
    SR_CLUSTER_CTAID_Z,
    SR_CLUSTER_CTARANK,
    SR_CLUSTER_NCTAID_X,
    SR_CLUSTER_NCTAID_Y,
    SR_CLUSTER_NCTAID_Z,
    SR_CLUSTER_NCTARANK,
    SR_IS_CLUSTER,
    SR_ZERO,
    SR_ONE,
};

/* Shared memory that CUDA keeps for itself, where a kernel asks where it lies. */
#define RESERVED_SMEM 1024u

struct code_reg {
    uint8_t kind;
    uint8_t bytes; /* per lane: 4 or 8; a predicate has one 4-byte mask for the warp */
    bool is_predicate;
    uint8_t special;
    uint64_t value;  /* constant */
    uint32_t offset; /* slots.c: into the register file */
};

/* A symbol's address that is known only at launch (global variables), patched into a constant register. */
enum code_fixup_kind { FIX_VARIABLE, FIX_PARAMS };
struct code_fixup {
    enum code_fixup_kind kind;
    uint32_t reg;
    uint32_t var; /* variable of the module */
    int64_t addend;
};

struct code {
    const struct ptx_module *module;
    const struct ptx_func *func;
    struct code_ins *ins;
    uint32_t ins_n;
    struct code_ins *run; /* what the blocks execute: copies of ins */
    uint32_t run_n;
    struct code_ins *fused; /* the runs of multiply-adds that one of run stands for */
    uint32_t fused_n;
    uint32_t *once; /* instructions that run when a warp is set up, in order */
    uint32_t once_n;
    struct code_block *blocks;
    uint32_t blocks_n;
    struct code_reg *regs;
    uint32_t regs_n;
    uint32_t file_bytes; /* register file of one warp */
    struct code_fixup *fixups;
    uint32_t fixups_n;
    uint32_t stats_n; /* rows of memory statistics */
    uint32_t guarded_n;
    struct code_wide *wide;
    uint32_t wide_n;
    struct code_function *functions;
    uint32_t functions_n;
    uint32_t *function_of; /* [module->funcs_n] number in functions + 1, 0 = none; NULL: there are none */
    struct code_call *calls;
    uint32_t calls_n;
    struct code_copy *copies;
    uint32_t copies_n;
    uint32_t saved_bytes; /* of the register file: what a call has to keep */
    uint64_t local_bytes; /* per thread: the kernel's own, inlined calls included; frames of other calls lie behind */
    uint64_t stack_bytes; /* those frames, 0 = no such call; set at launch */
    bool uses_reserved_smem, uses_cluster, uses_heap, uses_mapa;
    uint64_t static_smem; /* bytes, without dynamic; each variable at a multiple of 16 */
    uint64_t ptxas_smem;  /* the same as ptxas lays it out: in order, at natural alignment */
    uint64_t param_bytes;
    uint32_t *param_offset; /* [func->params_n] */
    uint64_t *var_offset;   /* [module->vars_n]: shared variables; UINT64_MAX = not used */
    uint32_t merged_loads;  /* shared loads taken into wider ones */
    char refusal[256];
};

/* Special registers whose value a warp gets anew with each block. */
static inline bool code_differs_by_block(uint8_t special)
{
    return (special >= SR_CTAID_X && special <= SR_CTAID_Z) ||
           (special >= SR_CLUSTERID_X && special <= SR_CLUSTERID_Z) ||
           (special >= SR_CLUSTER_CTAID_X && special <= SR_CLUSTER_CTARANK);
}

/* Local memory of a thread, from lane to lane. */
static inline uint64_t code_local(const struct code *code)
{
    return code->local_bytes + code->stack_bytes;
}

/* Decode one kernel for the given table of handlers (exec_table()).
 * merges: shared loads as ptxas would join them. On a refusal the code is still returned with refusal set.
 * errors -WS_ENOMEM */
int code_make(const struct ptx_module *module, const struct ptx_func *func, const exec_fn *table, bool merges,
              struct code **out);
void code_free(struct code *code);

/* Where control goes after an instruction; parallel to code->ins until cfg_build() has read it. */
struct code_flow {
    enum code_end kind;
    uint32_t target; /* branch: instruction */
};

/* Steps of code_make(), in this order. Registers are numbers still.
 * errors -WS_ENOMEM, -WS_ELIMIT (a control flow too large to analyse) */
int cfg_build(struct code *code, const struct code_flow *flow);
/* Mark shared loads that ptxas would join into 64- and 128-bit ones. */
int merge_shared_loads(struct code *code);
/* Mark floating-point work that depends on who else reads its registers (software.c). */
int software_mark(struct code *code);
/* Mark what need not run, or only once; fold_finish() makes code->run of the rest, when registers are offsets. */
int fold_code(struct code *code);
int fold_finish(struct code *code, const exec_fn *table);
/* Registers become byte offsets; live ranges that do not overlap share them. */
int slots_assign(struct code *code);
/* Which registers an instruction reads and writes, in order; returns how many. */
#define CODE_REGS_MAX (6 + WIDE_S + 4 + WIDE_D)
uint32_t code_reads(const struct code *code, const struct code_ins *in, uint32_t out[CODE_REGS_MAX]);
uint32_t code_writes(const struct code *code, const struct code_ins *in, uint32_t out[CODE_REGS_MAX]);
/* The function at an address that a kernel calls with this form; CODE_NONE: there is none. */
uint32_t code_function_at(const struct code *code, uint64_t address, uint32_t form);

#endif
