/* SPDX-License-Identifier: MIT
 * values.h: the counts of a modelled launch under the keys of the metrics catalogue. */
#ifndef WS_COLLECTOR_MODEL_VALUES_H
#define WS_COLLECTOR_MODEL_VALUES_H

#include "model.h"

#include "../../analyzer/metrics.h"

/* Fill raw[WS_METRIC_COUNT]: what the model counts is present; every other raw metric is missing with WS_WHY_NEEDS_GPU;
 * derived ones are missing with WS_WHY_NOT_COLLECTED, for the analyzer to fill.
 * SASS instruction totals are missing on purpose: PTX counts are not comparable with them. */
void ws_model_values(const struct ws_model_counts *counts, struct ws_value raw[WS_METRIC_COUNT]);

#endif
