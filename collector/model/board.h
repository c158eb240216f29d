/* SPDX-License-Identifier: MIT
 * board.h: the GPU that the model assumes, by a part of its name in gpus.def. */
#ifndef WS_COLLECTOR_MODEL_BOARD_H
#define WS_COLLECTOR_MODEL_BOARD_H

#include "emit.h"

#include "../../analyzer/gpus.h"

/* The first board with `wanted` in one of its names, as a device record; out->name points to name[64].
 * False: there is none; nothing is touched. */
bool ws_model_board(const char *wanted, struct ws_board *board, struct ws_emit_device *out, char name[64]);

#endif
