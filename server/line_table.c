/* SPDX-License-Identifier: MIT
 * line_table.c: see line_table.h. An address of the table is a relocation against the function's symbol; each function
 * has a section of its own, .text.<name>, and a sequence of rows of its own.
 * Extended opcode 0x90 says that what follows is inlined: at which row (counted from 1 in the sequence, 0 = no more),
 * and where the function's name is. Seen in cubins of nvcc 13.0; CUPTI's own call gives the same lines (a test). */
#include "line_table.h"

#include "../analyzer/err.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SECTION_BYTES 64u
#define SYMBOL_BYTES 24u
#define NO_SECTION UINT32_MAX

/* --- bytes --- */

struct bytes {
    const uint8_t *at;
    size_t length;
};

/* Reads from the front; what is behind the end is 0, and then is_short. */
struct reader {
    const uint8_t *begin;
    size_t at, end;
    bool is_short;
};

static uint64_t get(struct reader *r, unsigned n)
{
    uint64_t v = 0;
    if (r->end - r->at < n) {
        r->is_short = true;
        r->at = r->end;
        return 0;
    }
    for (unsigned i = 0; i < n; i++)
        v |= (uint64_t)r->begin[r->at + i] << (8 * i);
    r->at += n;
    return v;
}

static uint64_t get_uleb(struct reader *r)
{
    uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint64_t byte = get(r, 1);
        if (shift < 64)
            v |= (byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return v;
    }
}

static int64_t get_sleb(struct reader *r)
{
    uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint64_t byte = get(r, 1);
        if (shift < 64)
            v |= (byte & 0x7f) << shift;
        if ((byte & 0x80) != 0)
            continue;
        if ((byte & 0x40) != 0 && shift + 7 < 64)
            v |= ~(uint64_t)0 << (shift + 7);
        return (int64_t)v;
    }
}

/* A text that ends with NUL; "" behind the end. */
static const char *get_text(struct reader *r)
{
    const uint8_t *from = r->begin + r->at;
    const uint8_t *end = memchr(from, 0, r->end - r->at);
    if (!end) {
        r->is_short = true;
        r->at = r->end;
        return "";
    }
    r->at += (size_t)(end - from) + 1;
    return (const char *)from;
}

static uint64_t number(const uint8_t *at, unsigned n)
{
    struct reader r = {at, 0, n, false};
    return get(&r, n);
}

/* --- ELF --- */

struct elf {
    struct bytes all;
    const uint8_t *sections; /* [section_count * SECTION_BYTES] */
    uint32_t section_count;
    uint32_t names; /* section of the sections' names */
};

struct section {
    uint32_t type, link, info;
    struct bytes bytes;
};

static int get_section(const struct elf *e, uint32_t index, struct section *out)
{
    const uint8_t *at = e->sections + (size_t)index * SECTION_BYTES;
    uint64_t offset, size;
    if (index >= e->section_count)
        return -WS_ECORRUPT;
    out->type = (uint32_t)number(at + 4, 4);
    out->link = (uint32_t)number(at + 40, 4);
    out->info = (uint32_t)number(at + 44, 4);
    offset = number(at + 24, 8);
    size = number(at + 32, 8);
    if (out->type == 8) /* NOBITS: nothing in the file */
        size = offset = 0;
    if (offset > e->all.length || size > e->all.length - offset)
        return -WS_ECORRUPT;
    out->bytes = (struct bytes){e->all.at + offset, (size_t)size};
    return 0;
}

static int open_elf(const uint8_t *cubin, size_t length, struct elf *out)
{
    uint64_t offset;
    memset(out, 0, sizeof *out);
    if (length < 64 || memcmp(cubin, "\177ELF\2\1", 6) != 0 || number(cubin + 58, 2) != SECTION_BYTES)
        return -WS_ECORRUPT;
    offset = number(cubin + 40, 8);
    out->all = (struct bytes){cubin, length};
    out->section_count = (uint32_t)number(cubin + 60, 2);
    out->names = (uint32_t)number(cubin + 62, 2);
    if (offset > length || (length - offset) / SECTION_BYTES < out->section_count)
        return -WS_ECORRUPT;
    out->sections = cubin + offset;
    return 0;
}

/* Whether a text of a table of texts is this one. */
static bool is_text(struct bytes table, uint64_t at, const char *text)
{
    size_t n = strlen(text) + 1;
    return at <= table.length && n <= table.length - at && memcmp(table.at + at, text, n) == 0;
}

static uint32_t find_section(const struct elf *e, const char *name, struct section *out)
{
    struct section names;
    if (get_section(e, e->names, &names) != 0)
        return NO_SECTION;
    for (uint32_t i = 1; i < e->section_count; i++)
        if (is_text(names.bytes, number(e->sections + (size_t)i * SECTION_BYTES, 4), name))
            return get_section(e, i, out) == 0 ? i : NO_SECTION;
    return NO_SECTION;
}

struct symbol {
    uint32_t section;
    uint64_t value;
};

static int get_symbol(struct bytes table, uint64_t index, struct symbol *out)
{
    const uint8_t *at = table.at + index * SYMBOL_BYTES;
    if (index >= table.length / SYMBOL_BYTES)
        return -WS_ECORRUPT;
    out->section = (uint32_t)number(at + 6, 2);
    out->value = number(at + 8, 8);
    return 0;
}

static int find_function(const struct elf *e, const char *function, struct section *symbols, struct symbol *out,
                         uint32_t *index)
{
    struct section texts;
    if (find_section(e, ".symtab", symbols) == NO_SECTION || get_section(e, symbols->link, &texts) != 0)
        return -WS_ECORRUPT;
    for (uint32_t i = 0; i < symbols->bytes.length / SYMBOL_BYTES; i++) {
        const uint8_t *at = symbols->bytes.at + (size_t)i * SYMBOL_BYTES;
        if ((at[4] & 15) == 2 && is_text(texts.bytes, number(at, 4), function)) { /* STT_FUNC */
            *index = i;
            return get_symbol(symbols->bytes, i, out);
        }
    }
    return -WS_ENOENT;
}

int ws_cubin_symbol(const uint8_t *cubin, size_t length, const char *function, uint32_t *index, uint64_t *offset)
{
    struct elf e;
    struct section symbols;
    struct symbol s;
    int err = open_elf(cubin, length, &e);
    if (err == 0)
        err = find_function(&e, function, &symbols, &s, index);
    if (err == 0)
        *offset = s.value;
    return err;
}

/* --- the table --- */

struct state {
    uint64_t address;
    uint64_t file;
    int64_t line;
    uint64_t call; /* row that this is inlined at, from 1; 0 = none */
};

struct decoder {
    struct bytes symbols;
    struct section relocations; /* of the table */
    uint32_t wanted;            /* section of the function */
    uint64_t base;              /* its place in there */
    struct ws_line_table *out;
    uint32_t *unit_files; /* [unit_file_count], the unit's number - 1 to ours */
    size_t unit_file_count, unit_file_cap;
    size_t row_cap;
    size_t first_row; /* of the sequence */
    bool is_wanted;   /* this sequence is the function's */
    uint64_t steps;   /* of searches, so that no table keeps us for long */
};

/* False: too much was searched already. nvcc's tables need a thousandth of it. */
static bool may_search(struct decoder *d, uint64_t steps)
{
    d->steps += steps;
    return d->steps < 200000000;
}

/* What an address at that place of the table stands for. */
static int resolve(struct decoder *d, size_t place, uint64_t stored, uint32_t *section, uint64_t *address)
{
    bool has_addend = d->relocations.type == 4;
    unsigned n = has_addend ? 24 : 16;
    struct symbol s;
    for (size_t i = 0; i + n <= d->relocations.bytes.length; i += n) {
        const uint8_t *at = d->relocations.bytes.at + i;
        if (!may_search(d, 1))
            return -WS_ELIMIT;
        if (number(at, 8) != place)
            continue;
        if (get_symbol(d->symbols, number(at + 12, 4), &s) != 0)
            return -WS_ECORRUPT;
        *section = s.section;
        *address = s.value + (has_addend ? number(at + 16, 8) : stored);
        return 0;
    }
    *section = NO_SECTION;
    *address = stored;
    return 0;
}

static int add_file(struct decoder *d, const char *folder, const char *name)
{
    struct ws_line_table *t = d->out;
    size_t n = strlen(folder), m = strlen(name);
    bool has_folder = *name != '/' && n > 0;
    char *path;
    uint32_t *grown;
    if (!may_search(d, t->file_count + 1) || d->unit_file_count == WS_LINE_FILES_MAX || n + m + 2 > WS_LINE_PATH_MAX)
        return -WS_ELIMIT;
    if (d->unit_file_count == d->unit_file_cap) {
        size_t cap = d->unit_file_cap ? d->unit_file_cap * 2 : 16;
        grown = realloc(d->unit_files, cap * sizeof *grown);
        if (!grown)
            return -WS_ENOMEM;
        d->unit_files = grown;
        d->unit_file_cap = cap;
    }
    path = malloc(n + m + 2);
    if (!path)
        return -WS_ENOMEM;
    memcpy(path, folder, has_folder ? n : 0);
    if (has_folder)
        path[n++] = '/';
    memcpy(path + (has_folder ? n : 0), name, m + 1);
    for (size_t i = 0; i < t->file_count; i++)
        if (strcmp(t->files[i], path) == 0) {
            free(path);
            d->unit_files[d->unit_file_count++] = (uint32_t)i;
            return 0;
        }
    if (t->file_count == WS_LINE_FILES_MAX) {
        free(path);
        return -WS_ELIMIT;
    }
    if (!t->files)
        t->files = calloc(WS_LINE_FILES_MAX, sizeof *t->files);
    if (!t->files) {
        free(path);
        return -WS_ENOMEM;
    }
    t->files[t->file_count] = path;
    d->unit_files[d->unit_file_count++] = (uint32_t)t->file_count++;
    return 0;
}

static const char *folder_of(struct reader folders, uint64_t index)
{
    const char *at = "";
    for (uint64_t i = 0; i < index && !folders.is_short; i++) {
        at = get_text(&folders);
        if (*at == 0)
            return "";
    }
    return folders.is_short ? "" : at;
}

static int add_file_entry(struct decoder *d, struct reader folders, struct reader *r, const char *name)
{
    uint64_t folder = get_uleb(r);
    (void)get_uleb(r); /* time */
    (void)get_uleb(r); /* size */
    if (r->is_short || folder > WS_LINE_FILES_MAX)
        return -WS_ECORRUPT;
    return add_file(d, folder_of(folders, folder), name);
}

/* Folders, then files, each list ended by an empty text. */
static int read_files(struct decoder *d, struct reader *r)
{
    struct reader folders = *r;
    const char *name;
    int err = 0;
    d->unit_file_count = 0;
    while (!r->is_short && *get_text(r) != 0)
        ;
    while (err == 0 && !r->is_short && *(name = get_text(r)) != 0)
        err = add_file_entry(d, folders, r, name);
    return err == 0 && r->is_short ? -WS_ECORRUPT : err;
}

static uint32_t file_of(const struct decoder *d, uint64_t file)
{
    return file > 0 && file <= d->unit_file_count ? d->unit_files[file - 1] : UINT32_MAX;
}

static int add_row(struct decoder *d, const struct state *s, bool is_end)
{
    struct ws_line_table *t = d->out;
    struct ws_line_row row = {.pc = s->address - d->base, .file = UINT32_MAX};
    if (!d->is_wanted)
        return 0;
    if (t->row_count == WS_LINE_ROWS_MAX)
        return -WS_ELIMIT;
    if (t->row_count == d->row_cap) {
        size_t cap = d->row_cap ? d->row_cap * 2 : 256;
        struct ws_line_row *grown = realloc(t->rows, cap * sizeof *grown);
        if (!grown)
            return -WS_ENOMEM;
        t->rows = grown;
        d->row_cap = cap;
    }
    if (!is_end && s->line > 0 && s->line <= UINT32_MAX) {
        row.file = file_of(d, s->file);
        row.line = (uint32_t)s->line;
    }
    if (!is_end && s->call > 0 && s->call <= t->row_count - d->first_row) {
        const struct ws_line_row *call = &t->rows[d->first_row + s->call - 1];
        row.call_file = call->file;
        row.call_line = call->line;
    }
    t->rows[t->row_count++] = row;
    return 0;
}

struct header {
    uint64_t least; /* bytes of an instruction */
    int64_t line_base;
    uint64_t line_range, opcode_base;
    uint8_t lengths[256]; /* arguments of the standard opcodes */
};

static const struct state begin_state = {0, 1, 1, 0};

static int run_extended(struct decoder *d, struct reader *r, struct state *s)
{
    uint64_t n = get_uleb(r);
    struct reader body = *r;
    uint32_t section = NO_SECTION;
    size_t place;
    int err = 0;
    if (r->is_short || n == 0 || n > r->end - r->at)
        return -WS_ECORRUPT;
    body.end = r->at + (size_t)n;
    r->at = body.end;
    switch (get(&body, 1)) {
    case 1: /* end of the sequence */
        err = add_row(d, s, true);
        *s = begin_state;
        d->is_wanted = false;
        break;
    case 2: /* set address */
        place = body.at;
        err = resolve(d, place, get(&body, (unsigned)(n - 1 > 8 ? 8 : n - 1)), &section, &s->address);
        d->is_wanted = section == d->wanted;
        d->first_row = d->out->row_count;
        break;
    case 0x90: /* NVIDIA: inlined at that row, from now on */
        s->call = get_uleb(&body);
        break;
    default:
        break;
    }
    return err;
}

static int run_standard(struct decoder *d, struct reader *r, const struct header *h, struct state *s, uint8_t opcode)
{
    switch (opcode) {
    case 1:
        return add_row(d, s, false);
    case 2:
        s->address += get_uleb(r) * h->least;
        return 0;
    case 3:
        s->line = (int64_t)((uint64_t)s->line + (uint64_t)get_sleb(r));
        return 0;
    case 4:
        s->file = get_uleb(r);
        return 0;
    case 8:
        s->address += (255 - h->opcode_base) / h->line_range * h->least;
        return 0;
    case 9:
        s->address += get(r, 2);
        return 0;
    default:
        for (uint8_t i = 0; i < h->lengths[opcode]; i++)
            (void)get_uleb(r);
        return 0;
    }
}

static int run_program(struct decoder *d, struct reader *r, const struct header *h)
{
    struct state s = begin_state;
    int err = 0;
    while (err == 0 && r->at < r->end) {
        uint8_t opcode = (uint8_t)get(r, 1);
        if (opcode == 0) {
            err = run_extended(d, r, &s);
        } else if (opcode < h->opcode_base) {
            err = run_standard(d, r, h, &s, opcode);
        } else {
            uint64_t special = opcode - h->opcode_base;
            s.address += special / h->line_range * h->least;
            s.line = (int64_t)((uint64_t)s.line + (uint64_t)(h->line_base + (int64_t)(special % h->line_range)));
            err = add_row(d, &s, false);
        }
    }
    return err == 0 && r->is_short ? -WS_ECORRUPT : err;
}

/* One unit; *r moves behind it. */
static int read_unit(struct decoder *d, struct reader *r)
{
    struct header h;
    struct reader unit = *r;
    uint64_t length = get(&unit, 4);
    uint64_t version;
    unsigned offset_bytes = 4;
    uint64_t header_length;
    size_t program;
    int err;
    if (length == UINT32_MAX) {
        length = get(&unit, 8);
        offset_bytes = 8;
    }
    if (unit.is_short || length > unit.end - unit.at)
        return -WS_ECORRUPT;
    unit.end = unit.at + (size_t)length;
    r->at = unit.end;
    version = get(&unit, 2);
    if (version < 2 || version > 4)
        return -WS_EUNSUP;
    header_length = get(&unit, offset_bytes);
    if (unit.is_short || header_length > unit.end - unit.at)
        return -WS_ECORRUPT;
    program = unit.at + (size_t)header_length;
    h.least = get(&unit, 1);
    if (version == 4)
        (void)get(&unit, 1);                              /* operations of an instruction: no VLIW here */
    (void)get(&unit, 1);                                  /* statements: every row counts */
    h.line_base = (int64_t)(get(&unit, 1) ^ 0x80) - 0x80; /* one byte with its sign */
    h.line_range = get(&unit, 1);
    h.opcode_base = get(&unit, 1);
    if (unit.is_short || h.line_range == 0 || h.opcode_base == 0)
        return -WS_ECORRUPT;
    memset(h.lengths, 0, sizeof h.lengths);
    for (uint64_t i = 1; i < h.opcode_base; i++)
        h.lengths[i] = (uint8_t)get(&unit, 1);
    err = read_files(d, &unit);
    if (err != 0)
        return err;
    unit.at = program;
    d->is_wanted = false;
    return run_program(d, &unit, &h);
}

static int by_pc(const void *a, const void *b)
{
    const struct ws_line_row *x = a;
    const struct ws_line_row *y = b;
    return x->pc < y->pc ? -1 : x->pc > y->pc;
}

/* Of rows of one PC the last one counts; qsort does not keep their order. */
static void keep_last_of_each(struct ws_line_table *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->row_count; i++) {
        if (kept > 0 && t->rows[kept - 1].pc == t->rows[i].pc)
            kept--;
        t->rows[kept++] = t->rows[i];
    }
    t->row_count = kept;
    if (kept > 1)
        qsort(t->rows, kept, sizeof *t->rows, by_pc);
}

int ws_line_table_read(const uint8_t *cubin, size_t length, const char *function, struct ws_line_table *out)
{
    struct elf e;
    struct section symbols, lines, candidate;
    struct symbol wanted;
    struct decoder d = {.out = out};
    struct reader r;
    uint32_t index;
    int err = open_elf(cubin, length, &e);
    memset(out, 0, sizeof *out);
    if (err == 0)
        err = find_function(&e, function, &symbols, &wanted, &index);
    if (err != 0)
        return err;
    index = find_section(&e, ".debug_line", &lines);
    if (index == NO_SECTION)
        return -WS_EUNSUP;
    for (uint32_t i = 1; i < e.section_count; i++)
        if (get_section(&e, i, &candidate) == 0 && candidate.info == index &&
            (candidate.type == 4 || candidate.type == 9)) /* RELA, REL */
            d.relocations = candidate;
    d.symbols = symbols.bytes;
    d.wanted = wanted.section;
    d.base = wanted.value;
    r = (struct reader){lines.bytes.at, 0, lines.bytes.length, false};
    while (err == 0 && r.at < r.end)
        err = read_unit(&d, &r);
    free(d.unit_files);
    if (err == 0 && out->row_count == 0)
        err = -WS_EUNSUP; /* not this function */
    if (err == 0)
        keep_last_of_each(out);
    return err;
}

void ws_line_table_fini(struct ws_line_table *t)
{
    for (size_t i = 0; i < t->file_count; i++)
        free(t->files[i]);
    free(t->files);
    free(t->rows);
    memset(t, 0, sizeof *t);
}

const struct ws_line_row *ws_line_table_find(const struct ws_line_table *t, uint64_t pc)
{
    size_t low = 0;
    size_t high = t->row_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->rows[middle].pc <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && t->rows[low - 1].line > 0 && t->rows[low - 1].file < t->file_count ? &t->rows[low - 1] : NULL;
}
