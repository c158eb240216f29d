/* SPDX-License-Identifier: MIT
 * line_table.h: which source line an instruction of a cubin belongs to: the ELF's .debug_line, decoded here.
 * Reads bytes of strangers: nothing outside of [cubin, cubin + length) is touched, and what it makes is bounded.
 * DWARF 2 to 4 (nvcc 11 to 13 write 2), with NVIDIA's mark of inlined code. */
#ifndef WS_SERVER_LINE_TABLE_H
#define WS_SERVER_LINE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define WS_LINE_ROWS_MAX 1000000u /* of one function */
#define WS_LINE_FILES_MAX 4096u
#define WS_LINE_PATH_MAX 4096u

/* From pc on, until the next row. */
struct ws_line_row {
    uint64_t pc;                   /* byte offset in the function */
    uint32_t file;                 /* index into files; file_count: none */
    uint32_t line;                 /* 0: none, also behind the end of the function */
    uint32_t call_file, call_line; /* where it was inlined; line 0: it was not */
};

struct ws_line_table {
    struct ws_line_row *rows; /* [row_count], by pc */
    size_t row_count;
    char **files; /* [file_count] */
    size_t file_count;
};

/* The function's table; free with ws_line_table_fini, also after an error.
 *   errors  -WS_ECORRUPT  no ELF of 64 bits, or damaged
 *           -WS_ENOENT    it has no such function
 *           -WS_EUNSUP    it was compiled without -lineinfo, or its table is of another version
 *           -WS_ELIMIT, -WS_ENOMEM */
int ws_line_table_read(const uint8_t *cubin, size_t length, const char *function, struct ws_line_table *out);
void ws_line_table_fini(struct ws_line_table *table);

/* The row of an instruction, or NULL. */
const struct ws_line_row *ws_line_table_find(const struct ws_line_table *table, uint64_t pc);

/* Place of a function in the ELF's symbol table, and its offset in its section; as the functions above. */
int ws_cubin_symbol(const uint8_t *cubin, size_t length, const char *function, uint32_t *index, uint64_t *offset);

#endif
