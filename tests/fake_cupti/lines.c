/* SPDX-License-Identifier: MIT
 * lines.c: prints the line table of a cubin's function as server/line_table.c reads it: "pc line file", every 16 bytes.
 *   lines CUBIN FUNCTION BYTES     for test_lines.sh, which asks CUPTI the same */
#include "../../server/line_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    static uint8_t bytes[64u << 20];
    struct ws_line_table table;
    FILE *f = argc == 4 ? fopen(argv[1], "rb") : NULL;
    size_t length = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    uint64_t end = argc == 4 ? strtoull(argv[3], NULL, 0) : 0;
    int err = ws_line_table_read(bytes, length, argc == 4 ? argv[2] : "", &table);
    if (f)
        fclose(f);
    if (err != 0)
        printf("error %d\n", err);
    for (uint64_t pc = 0; err == 0 && pc < end; pc += 16) {
        const struct ws_line_row *row = ws_line_table_find(&table, pc);
        printf("%" PRIx64 " %" PRIu32 " %s\n", pc, row ? row->line : 0, row ? table.files[row->file] : "-");
    }
    ws_line_table_fini(&table);
    return err != 0;
}
