/* SPDX-License-Identifier: MIT
 * registers.c: the table of ptxas facts. A few lines, looked up by name. */
#include "registers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE 4352

struct row {
    char *name;
    uint32_t registers, spill;
};

static struct row *rows;
static size_t rows_n;

void rt_registers_read(const char *path)
{
    FILE *file = *path ? fopen(path, "re") : NULL;
    static char line[LINE], name[LINE];
    while (file && fgets(line, sizeof line, file)) {
        struct row row;
        struct row *bigger = realloc(rows, (rows_n + 1) * sizeof *rows);
        if (bigger)
            rows = bigger;
        if (!bigger || sscanf(line, "%4351s %" SCNu32 " %" SCNu32, name, &row.registers, &row.spill) != 3)
            continue;
        row.name = strdup(name);
        if (row.name)
            rows[rows_n++] = row;
    }
    if (file)
        fclose(file);
}

static const struct row *find(const char *name)
{
    for (size_t k = 0; k < rows_n; k++)
        if (strcmp(rows[k].name, name) == 0)
            return &rows[k];
    return NULL;
}

uint32_t rt_registers_of(const char *name)
{
    const struct row *row = find(name);
    return row ? row->registers : 0;
}

uint32_t rt_spill_of(const char *name)
{
    const struct row *row = find(name);
    return row ? row->spill : 0;
}
