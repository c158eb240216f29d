/* SPDX-License-Identifier: MIT
 * fuzz_lines.c: cubins and disassemblies of strangers, with libFuzzer (`make fuzz`). The first byte says which. */
#include "../../server/line_table.h"
#include "../../server/sass.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_cubin(const uint8_t *data, size_t size, const char *function)
{
    struct ws_line_table table;
    uint32_t index;
    uint64_t offset;
    (void)ws_line_table_read(data, size, function, &table);
    for (uint64_t pc = 0; pc < 1024; pc += 16) {
        const struct ws_line_row *row = ws_line_table_find(&table, pc);
        if (row && strlen(table.files[row->file]) > WS_LINE_PATH_MAX)
            abort();
    }
    ws_line_table_fini(&table);
    (void)ws_cubin_symbol(data, size, function, &index, &offset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ws_sass sass = {NULL, 0, 0};
    char *text;
    if (size == 0)
        return 0;
    if (data[0] == 0x7f) { /* an ELF as it is */
        read_cubin(data, size, "_Z9transposePKfPf");
        read_cubin(data, size, "");
        return 0;
    }
    text = malloc(size);
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    (void)ws_sass_parse(text, "k", 16, &sass);
    for (uint64_t pc = 0; pc < 64; pc++)
        (void)ws_sass_find(&sass, pc);
    ws_sass_fini(&sass);
    free(text);
    return 0;
}
