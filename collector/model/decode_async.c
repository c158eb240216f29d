/* SPDX-License-Identifier: MIT
 * decode_async.c: what orders threads beyond bar.sync: mbarrier, asynchronous copies, clusters.
 * Copies are done at once; waits find them done. Refused: tensor maps, multicast, reductions by copy. */
#include "decode.h"

#include <string.h>

static const char *const mbarrier_names[] = {"init",        "inval",     "arrive",   "arrive_drop",   "expect_tx",
                                             "complete_tx", "test_wait", "try_wait", "pending_count", NULL};

static bool is_shared_word(const struct builder *b)
{
    return decode_has(b, "shared") || decode_has(b, "shared::cta") || decode_has(b, "shared::cluster");
}

static void barrier_address(struct builder *b, uint32_t k)
{
    b->now.space = is_shared_word(b) ? PTX_SPACE_SHARED : PTX_SPACE_GENERIC;
    b->now.bytes = 8;
    b->now.vec = 1;
    decode_address(b, decode_operand(b, k));
}

/* type2: which; boolean: 1 = by parity, 2 = with expect_tx, 4 = not the last arrival; s[0], s[1]: operands after the
 * address. */
bool decode_mbarrier(struct builder *b)
{
    int which = decode_index(b, 1, mbarrier_names);
    uint32_t k = 0;
    if (which < 0 || !decode_has(b, "b64"))
        return false;
    b->now.type2 = (uint8_t)which;
    if (which == MBARRIER_PENDING) {
        b->now.d[0] = decode_dest(b, decode_operand(b, 0), 4);
        b->now.s[0] = decode_source(b, decode_operand(b, 1), 8);
        decode_emit(b, OP_mbarrier);
        return b->now.d[0] != CODE_NONE;
    }
    b->now.boolean = (uint8_t)((decode_has(b, "parity") ? 1 : 0) | (decode_has(b, "expect_tx") ? 2 : 0));
    if (which == MBARRIER_ARRIVE || which == MBARRIER_DROP) {
        b->now.d[0] = decode_dest(b, decode_operand(b, k++), 8);
        b->now.d_wide = 1;
    } else if (which == MBARRIER_TEST || which == MBARRIER_TRY) {
        b->now.d[0] = decode_pred_dest(b, decode_operand(b, k++));
        if (b->now.d[0] == CODE_NONE)
            return false;
    }
    barrier_address(b, k++);
    if (k < b->in->count) {
        bool is_state = (which == MBARRIER_TEST || which == MBARRIER_TRY) && !(b->now.boolean & 1);
        b->now.s[0] = decode_source(b, decode_operand(b, k++), is_state ? 8 : 4);
        b->now.s_wide = is_state;
    }
    decode_emit(b, OP_mbarrier);
    return which == MBARRIER_TRY ? b->in->count - k <= 1 : k == b->in->count; /* a hint how long to wait */
}

/* The register of [address] with its offset added. */
static uint32_t folded(struct builder *b, const struct ptx_operand *o)
{
    struct code_ins keep = b->now;
    uint32_t reg, sum, bytes;
    decode_blank(&b->now);
    b->now.space = PTX_SPACE_GENERIC;
    decode_address(b, o);
    reg = b->now.a;
    bytes = b->now.flags & CODE_ADDRESS_32 ? 4 : 8;
    sum = decode_temp(b, 8, false);
    b->now.a = CODE_NONE;
    b->now.space = 0;
    b->now.flags = CODE_UNCOUNTED;
    if (bytes == 4) {
        uint32_t wide = decode_temp(b, 8, false);
        int64_t offset = b->now.imm;
        b->now.imm = 0;
        b->now.s[0] = reg;
        b->now.d[0] = wide;
        decode_emit(b, OP_cvt_u64_u32);
        decode_blank(&b->now);
        b->now.flags = CODE_UNCOUNTED;
        b->now.imm = offset;
        reg = wide;
    }
    b->now.s[0] = reg;
    b->now.s[1] = decode_constant(b, (uint64_t)b->now.imm, 8);
    b->now.imm = 0;
    b->now.d[0] = sum;
    decode_emit(b, OP_add_u64);
    b->now = keep;
    return sum;
}

/* cp.async.bulk.{shared::cluster|shared::cta}.global.mbarrier::complete_tx::bytes [to], [from], bytes, [barrier];
 * cp.async.bulk.global.shared::cta.bulk_group [to], [from], bytes; and its groups. */
bool decode_bulk(struct builder *b)
{
    static const char *const done[] = {"commit_group", "wait_group", "prefetch", NULL};
    bool to_shared = decode_token(b, 3, "shared::cluster") || decode_token(b, 3, "shared::cta");
    uint32_t k = 3;
    if (decode_index(b, 3, done) >= 0 && !decode_token(b, 4, "tensor")) {
        decode_emit(b, OP_nop);
        return true;
    }
    if (decode_token(b, 3, "tensor") || decode_has(b, "multicast::cluster") ||
        !(to_shared ? decode_token(b, 4, "global") || decode_token(b, 4, "shared::cta")
                    : decode_token(b, 3, "global") && decode_token(b, 4, "shared::cta")) ||
        decode_has(b, "cp_mask"))
        return false;
    b->now.type2 = to_shared;
    b->now.space = to_shared ? PTX_SPACE_SHARED : PTX_SPACE_GLOBAL;
    b->now.boolean = to_shared && decode_token(b, 4, "shared::cta"); /* from shared memory, too */
    b->now.bytes = 1;
    b->now.vec = 1;
    decode_address(b, decode_operand(b, 0));
    b->now.s[0] = folded(b, decode_operand(b, 1));
    b->now.s[1] = decode_source(b, decode_operand(b, 2), 4);
    if (to_shared)
        b->now.s[2] = folded(b, decode_operand(b, k++));
    decode_emit(b, OP_bulk_copy);
    return k == b->in->count || (k + 1 == b->in->count && decode_has(b, "L2::cache_hint"));
}

/* cp.async.mbarrier.arrive{.noinc}{.shared}.b64 [barrier]: earlier copies are done, so without .noinc nothing changes.
 */
bool decode_copy_arrive(struct builder *b)
{
    b->now.type2 = MBARRIER_ARRIVE;
    barrier_address(b, 0);
    decode_emit(b, decode_has(b, "noinc") ? OP_mbarrier : OP_nop);
    return b->in->count == 1;
}

/* --- clusters --- */

/* mapa{.shared::cluster}.type d, a, rank */
bool decode_mapa(struct builder *b)
{
    uint32_t bytes = ptx_type_bytes(decode_last_type(b));
    b->code->uses_mapa = true;
    b->now.d[0] = decode_dest(b, decode_operand(b, 0), bytes);
    b->now.d_wide = bytes == 8;
    b->now.s[0] = decode_source(b, decode_operand(b, 1), bytes);
    b->now.s_wide = bytes == 8;
    b->now.s[1] = decode_source(b, decode_operand(b, 2), 4);
    decode_emit(b, OP_mapa);
    return (bytes == 4 || bytes == 8) && b->now.d[0] != CODE_NONE;
}

bool decode_getctarank(struct builder *b)
{
    uint32_t bytes = ptx_type_bytes(decode_last_type(b));
    b->now.d[0] = decode_dest(b, decode_operand(b, 0), 4);
    b->now.s[0] = decode_source(b, decode_operand(b, 1), bytes);
    b->now.s_wide = bytes == 8;
    decode_emit(b, OP_getctarank);
    return (bytes == 4 || bytes == 8) && b->now.d[0] != CODE_NONE;
}

/* barrier.cluster.arrive, barrier.cluster.wait */
bool decode_cluster_barrier(struct builder *b)
{
    b->code->uses_cluster = true;
    if (decode_token(b, 2, "arrive"))
        decode_emit(b, OP_cluster_arrive);
    else if (decode_token(b, 2, "wait"))
        decode_emit_flow(b, OP_nop, END_CLUSTER, CODE_NONE);
    else
        return false;
    return true;
}
