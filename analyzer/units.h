/* SPDX-License-Identifier: MIT
 * units.h: the units of units.def as an enum and a table, their dimensions, and numbers for people.
 * Values are SI base units everywhere; scaling happens only here (terminal) and in the web page,
 * which reads the same table. To add a unit open units.def. */
#ifndef WS_ANALYZER_UNITS_H
#define WS_ANALYZER_UNITS_H

#include "value.h"

#include <stdbool.h>
#include <stddef.h>

enum ws_unit {
#define WS_UNIT(id, symbol, title, people, scale, ...) WS_UNIT_##id,
#include "units.def"
#undef WS_UNIT
    WS_UNIT_COUNT
};

enum ws_unit_scale {
    WS_SCALE_PLAIN,   /* 4.00 */
    WS_SCALE_SI,      /* 1.05 M, 3.16 TB/s; whole numbers below 100,000 in full */
    WS_SCALE_TIME,    /* ns, µs, ms, s */
    WS_SCALE_PERCENT, /* 0.875 is 87.5 % */
    WS_SCALE_COUNT
};

enum ws_base {
    WS_BASE_SECOND,
    WS_BASE_BYTE,
    WS_BASE_OP,
    WS_BASE_SECTOR,
    WS_BASE_REQUEST,
    WS_BASE_WAVEFRONT,
    WS_BASE_WARP,
    WS_BASE_THREAD,
    WS_BASE_INST,
    WS_BASE_CYCLE,
    WS_BASE_COUNT
};

/* Exponents of the base dimensions. All 0 is a pure number. */
struct ws_dimension {
    signed char power[WS_BASE_COUNT];
};

struct ws_unit_info {
    const char *name;   /* "BYTE_PER_SECOND" */
    const char *symbol; /* "B/s"; "" for a ratio */
    const char *title;  /* "byte per second" */
    const char *people; /* "B/s", "sectors", "%" */
    enum ws_unit_scale scale;
    struct ws_dimension dimension;
};

/* The row of a unit, unit < WS_UNIT_COUNT. */
const struct ws_unit_info *ws_unit_get(enum ws_unit unit);

/* The unit with this symbol of given length (not NUL-ended), or WS_UNIT_COUNT. */
enum ws_unit ws_unit_find(const char *symbol, size_t length);

bool ws_dimension_equal(struct ws_dimension a, struct ws_dimension b);

/* a × b with sign +1, a ÷ b with sign -1. Exponents saturate at ±100, far outside any unit. */
struct ws_dimension ws_dimension_combine(struct ws_dimension a, struct ws_dimension b, int sign);

/* "plain", "si", "time", "percent". Never NULL. */
const char *ws_scale_name(enum ws_unit_scale scale);

/* Write a value for people into at[size]: "3.16 TB/s", "87.5 %", "65,536 requests"; a missing value is
 * its sentence ("needs dram_read_bytes, which has no value"). Always NUL-ended when size > 0.
 * Returns the bytes written, the NUL not counted; a text that does not fit is cut. */
size_t ws_unit_format(char *at, size_t size, struct ws_value value, enum ws_unit unit);

#endif
