/* SPDX-License-Identifier: MIT
 * test_target.c: programs as files: ELF headers good, cut and hostile, scripts, and the search in PATH. */
#include "../../analyzer/err.h"
#include "../../server/target.h"
#include "test.h"

#include <elf.h>
#include <sys/stat.h>

static char root[64];
static struct ws_target target;

static void begin(void)
{
    const char *scratch = getenv("WS_SCRATCH");
    snprintf(root, sizeof root, "%.40s/target-XXXXXX", scratch ? scratch : "/tmp");
    CHECK(mkdtemp(root) != NULL);
}

static void end(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    CHECK_INT(system(command), 0);
}

static const char *put(const char *name, const void *bytes, size_t n, mode_t mode)
{
    static char path[200];
    FILE *f;
    snprintf(path, sizeof path, "%s/%s", root, name);
    f = fopen(path, "wb");
    CHECK(f && fwrite(bytes, 1, n, f) == n);
    if (f)
        fclose(f);
    chmod(path, mode);
    return path;
}

struct image {
    Elf64_Ehdr e;
    Elf64_Phdr p[2];
    char loader[32];
};

/* A 64-bit program of this machine with a loader, as far as its headers go. */
static struct image good(const char *loader)
{
    struct image m;
    Elf64_Ehdr self;
    FILE *f = fopen("/proc/self/exe", "rb");
    memset(&m, 0, sizeof m);
    CHECK(f && fread(&self, sizeof self, 1, f) == 1);
    if (f)
        fclose(f);
    memcpy(m.e.e_ident, self.e_ident, EI_NIDENT);
    m.e.e_machine = self.e_machine;
    m.e.e_type = ET_DYN;
    m.e.e_phoff = offsetof(struct image, p);
    m.e.e_phentsize = sizeof(Elf64_Phdr);
    m.e.e_phnum = 2;
    m.p[0].p_type = PT_LOAD;
    m.p[1].p_type = PT_INTERP;
    m.p[1].p_offset = offsetof(struct image, loader);
    m.p[1].p_filesz = strlen(loader) + 1;
    snprintf(m.loader, sizeof m.loader, "%s", loader);
    return m;
}

static enum ws_target_kind kind_of(const struct image *m, size_t n)
{
    ws_target_inspect(put("program", m, n, 0755), &target);
    return target.kind;
}

TEST(this_program_is_dynamic)
{
    ws_target_inspect("/proc/self/exe", &target);
    CHECK_INT(target.kind, WS_TARGET_DYNAMIC);
    CHECK(strstr(target.loader, "ld-linux") != NULL);
}

TEST(the_loader_tells_glibc_from_musl_from_none)
{
    struct image m = good("/lib64/ld-linux-x86-64.so.2");
    begin();
    CHECK_INT(kind_of(&m, sizeof m), WS_TARGET_DYNAMIC);
    CHECK_STR(target.loader, "/lib64/ld-linux-x86-64.so.2");
    m = good("/lib/ld-musl-x86_64.so.1");
    CHECK_INT(kind_of(&m, sizeof m), WS_TARGET_MUSL);
    m.p[1].p_type = PT_NOTE;
    CHECK_INT(kind_of(&m, sizeof m), WS_TARGET_STATIC);
    end();
}

TEST(another_machine_or_word_size_is_told)
{
    struct image m = good("/lib/ld-linux.so.2");
    begin();
    m.e.e_ident[EI_CLASS] = ELFCLASS32;
    CHECK_INT(kind_of(&m, sizeof m), WS_TARGET_OTHER_MACHINE);
    m = good("/lib/ld-linux.so.2");
    m.e.e_machine = EM_S390;
    CHECK_INT(kind_of(&m, sizeof m), WS_TARGET_OTHER_MACHINE);
    end();
}

TEST(a_file_cut_anywhere_is_never_taken_for_dynamic)
{
    struct image m = good("/lib64/ld-linux-x86-64.so.2");
    size_t whole = offsetof(struct image, loader) + strlen(m.loader) + 1;
    begin();
    for (size_t n = 0; n < whole; n++)
        CHECK(kind_of(&m, n) != WS_TARGET_DYNAMIC);
    CHECK_INT(kind_of(&m, whole), WS_TARGET_DYNAMIC);
    end();
}

TEST(hostile_offsets_and_counts_are_survived)
{
    struct image m = good("/lib64/ld-linux-x86-64.so.2");
    begin();
    m.e.e_phoff = UINT64_MAX - 8;
    CHECK_INT(kind_of(&m, sizeof m), WS_TARGET_STATIC);
    m = good("/lib64/ld-linux-x86-64.so.2");
    m.p[1].p_offset = UINT64_MAX;
    CHECK_INT(kind_of(&m, sizeof m), WS_TARGET_STATIC);
    m = good("/lib64/ld-linux-x86-64.so.2");
    m.p[1].p_filesz = UINT64_MAX;
    CHECK(kind_of(&m, sizeof m) != WS_TARGET_MUSL);
    m = good("/lib64/ld-linux-x86-64.so.2");
    m.e.e_phnum = 65535;
    m.p[1].p_type = PT_LOAD;
    CHECK_INT(kind_of(&m, sizeof m), WS_TARGET_STATIC);
    m.e.e_phentsize = 1;
    CHECK_INT(kind_of(&m, sizeof m), WS_TARGET_UNKNOWN);
    end();
}

TEST(a_set_user_id_program_is_privileged)
{
    struct image m = good("/lib64/ld-linux-x86-64.so.2");
    begin();
    ws_target_inspect(put("program", &m, sizeof m, 04755), &target);
    CHECK_INT(target.kind, WS_TARGET_PRIVILEGED);
    end();
}

TEST(scripts_lead_to_their_interpreter)
{
    static const struct {
        const char *text;
        enum ws_target_kind want;
    } row[] = {
        {"#!/bin/sh\necho\n", WS_TARGET_DYNAMIC},
        {"#! \t /usr/bin/env python3\n", WS_TARGET_DYNAMIC},
        {"#!/nowhere/at/all\n", WS_TARGET_UNKNOWN},
        {"#!\n", WS_TARGET_SCRIPT},
        {"#!/bin/sh", WS_TARGET_SCRIPT}, /* cut: it may go on */
        {"#!", WS_TARGET_UNKNOWN},
        {"echo no line\n", WS_TARGET_UNKNOWN},
        {"", WS_TARGET_UNKNOWN},
    };
    begin();
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        ws_target_inspect(put("script", row[i].text, strlen(row[i].text), 0755), &target);
        CHECK_INT(target.kind, row[i].want);
    }
    end();
}

TEST(a_script_that_interprets_itself_ends)
{
    char text[200];
    begin();
    snprintf(text, sizeof text, "#!%s/script\n", root);
    ws_target_inspect(put("script", text, strlen(text), 0755), &target);
    CHECK_INT(target.kind, WS_TARGET_SCRIPT);
    end();
}

TEST(the_search_in_path_tells_missing_from_forbidden)
{
    char found[WS_TARGET_PATH_MAX];
    char path[200];
    char want[200];
    begin();
    put("tool", "x", 1, 0755);
    put("data", "x", 1, 0644);
    snprintf(path, sizeof path, "/nowhere:%s", root);
    snprintf(want, sizeof want, "%s/tool", root);
    CHECK_INT(ws_target_find("tool", path, found), 0);
    CHECK_STR(found, want);
    CHECK_INT(ws_target_find("data", path, found), -WS_EPERM);
    CHECK_INT(ws_target_find("absent", path, found), -WS_ENOENT);
    CHECK_INT(ws_target_find("", path, found), -WS_ENOENT);
    CHECK_INT(ws_target_find(root, path, found), -WS_EPERM);
    CHECK_INT(ws_target_find("/nowhere/tool", path, found), -WS_ENOENT);
    CHECK_INT(ws_target_find("sh", NULL, found), 0);
    end();
}
