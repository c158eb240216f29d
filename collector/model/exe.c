/* SPDX-License-Identifier: MIT
 * exe.c: sections and needed libraries of an ELF file, as far as the model wants them. */
#include "exe.h"

#include "fatbin.h"

#include "../../analyzer/err.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

struct file {
    const uint8_t *bytes;
    size_t length;
    Elf64_Ehdr head;
};

static bool is_within(const struct file *f, uint64_t at, uint64_t bytes)
{
    return at <= f->length && bytes <= f->length - at;
}

static bool section_at(const struct file *f, uint32_t k, Elf64_Shdr *out)
{
    uint64_t at = f->head.e_shoff + (uint64_t)k * sizeof *out;
    if (k >= f->head.e_shnum || f->head.e_shentsize != sizeof *out || at < f->head.e_shoff ||
        !is_within(f, at, sizeof *out))
        return false;
    memcpy(out, f->bytes + at, sizeof *out);
    return out->sh_type == SHT_NOBITS || is_within(f, out->sh_offset, out->sh_size);
}

/* The text at an offset of a string section; "" when it does not end inside. */
static const char *text_at(const struct file *f, const Elf64_Shdr *strings, uint64_t at)
{
    const char *text = (const char *)f->bytes + strings->sh_offset;
    if (strings->sh_type != SHT_STRTAB || at >= strings->sh_size || !memchr(text + at, 0, strings->sh_size - at))
        return "";
    return text + at;
}

static void read_needed(const struct file *f, const Elf64_Shdr *dynamic, struct ws_exe *out)
{
    static const char stem[] = "libcudart.so.";
    Elf64_Shdr strings;
    if (!section_at(f, dynamic->sh_link, &strings))
        return;
    for (uint64_t at = 0; dynamic->sh_size - at >= sizeof(Elf64_Dyn); at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn d;
        const char *name;
        memcpy(&d, f->bytes + dynamic->sh_offset + at, sizeof d);
        if (d.d_tag != DT_NEEDED)
            continue;
        name = text_at(f, &strings, d.d_un.d_val);
        if (strncmp(name, stem, sizeof stem - 1) == 0)
            out->cudart = (uint32_t)strtoul(name + sizeof stem - 1, NULL, 10);
    }
}

static void count_entries(struct ws_exe *out)
{
    struct ws_fatbin_entry e;
    for (size_t at = 0; ws_fatbin_next(out->fatbin, out->fatbin_bytes, &at, &e);) {
        out->ptx += e.kind == WS_FATBIN_PTX;
        out->cubins += e.kind == WS_FATBIN_CUBIN;
    }
}

int ws_exe_read(const uint8_t *bytes, size_t length, struct ws_exe *out)
{
    struct file f = {.bytes = bytes, .length = length};
    Elf64_Shdr names, s;
    memset(out, 0, sizeof *out);
    if (length < sizeof f.head)
        return -WS_ESYNTAX;
    memcpy(&f.head, bytes, sizeof f.head);
    if (memcmp(f.head.e_ident, ELFMAG, SELFMAG) != 0 || f.head.e_ident[EI_CLASS] != ELFCLASS64 ||
        f.head.e_ident[EI_DATA] != ELFDATA2LSB || !section_at(&f, f.head.e_shstrndx, &names))
        return -WS_ESYNTAX;
    for (uint32_t k = 0; section_at(&f, k, &s); k++) {
        if (s.sh_type == SHT_DYNAMIC)
            read_needed(&f, &s, out);
        out->is_relocatable |= strcmp(text_at(&f, &names, s.sh_name), "__nv_relfatbin") == 0;
        if (s.sh_type != SHT_PROGBITS || strcmp(text_at(&f, &names, s.sh_name), ".nv_fatbin") != 0)
            continue;
        out->fatbin = bytes + s.sh_offset;
        out->fatbin_bytes = s.sh_size;
    }
    if (out->fatbin)
        count_entries(out);
    return 0;
}

const char *ws_exe_obstacle(const struct ws_exe *exe)
{
    if (exe->fatbin && exe->cudart == 0)
        return "it holds the CUDA runtime itself; relink it: " WS_EXE_RELINK;
    if (exe->fatbin && exe->ptx == 0 && exe->is_relocatable)
        return "its device code is linked from several files (-rdc=true), which leaves no PTX; rebuild it "
               "without: " WS_EXE_RELINK;
    if (exe->fatbin && exe->ptx == 0)
        return "it has no PTX, only machine code of a GPU; rebuild it: " WS_EXE_RELINK;
    return NULL;
}
