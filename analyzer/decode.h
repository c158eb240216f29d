/* SPDX-License-Identifier: MIT
 * decode.h: how long the decode step of a language model should take: a square half-precision matrix times B vectors.
 * The matrix is read once whatever B is, so time is flat in B until arithmetic takes longer than reading it.
 * Pure. Reference kernel K29 (kernels/gemv.cu) is what this predicts. */
#ifndef WS_ANALYZER_DECODE_H
#define WS_ANALYZER_DECODE_H

#include "roofline.h"
#include "value.h"

struct ws_decode {
    double bytes;            /* matrix and vectors once through DRAM */
    double operations;       /* a multiply-add is 2 */
    struct ws_value seconds; /* the longer of both; missing: as the roof that is */
    enum ws_bound bound;
};

/* Predict one batch.
 *   size       rows and columns of the matrix; its elements and the vectors' have 2 bytes, results 4
 *   batch      vectors, at least 1
 *   bandwidth  of DRAM, bytes per second
 *   peak       FP32 operations per second on the CUDA cores                                       */
void ws_decode_predict(double size, double batch, struct ws_value bandwidth, struct ws_value peak,
                       struct ws_decode *out);

/* The batch from which on arithmetic takes longer; missing when reading always does. */
struct ws_value ws_decode_turn(double size, struct ws_value bandwidth, struct ws_value peak);

#endif
