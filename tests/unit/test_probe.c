/* SPDX-License-Identifier: MIT
 * test_probe.c: the pure parts of the machine probe: gate, capabilities and version out of texts of /proc. */
#include "../../server/probe.h"
#include "test.h"

#define SYS_ADMIN (1ull << 21)
#define PERFMON (1ull << 38)

TEST(both_spellings_of_the_gate_are_read)
{
    static const struct {
        const char *text;
        enum ws_probe_gate want;
        const char *name;
    } row[] = {
        {"RmProfilingAdminOnly: 1\n", WS_GATE_ADMIN_ONLY, "RmProfilingAdminOnly"},
        {"A: 1\nRmProfilingAdminOnly: 0\nB: 1\n", WS_GATE_EVERYBODY, "RmProfilingAdminOnly"},
        {"NVreg_RestrictProfilingToAdminUsers: 1", WS_GATE_ADMIN_ONLY, "NVreg_RestrictProfilingToAdminUsers"},
        {"NVreg_RestrictProfilingToAdminUsers=0", WS_GATE_EVERYBODY, "NVreg_RestrictProfilingToAdminUsers"},
        {"RmProfilingAdminOnly: ", WS_GATE_UNKNOWN, ""},
        {"RmProfilingAdminOnly", WS_GATE_UNKNOWN, ""},
        {"RmProfilingAdminOnly: yes\n", WS_GATE_UNKNOWN, ""},
        {"", WS_GATE_UNKNOWN, ""},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        const char *name;
        CHECK_INT(ws_probe_read_gate(row[i].text, &name), row[i].want);
        CHECK_STR(name, row[i].name);
    }
}

TEST(the_effective_capabilities_are_read_as_hex)
{
    uint64_t v = 7;
    CHECK(ws_probe_read_capabilities("CapPrm:\t1\nCapEff:\t000001ffffffffff\nCapBnd:\t0\n", &v));
    CHECK(v == 0x1ffffffffffull);
    CHECK(!ws_probe_read_capabilities("CapEff:\tnothing\n", &v));
    CHECK(!ws_probe_read_capabilities("", &v));
    CHECK(v == 0x1ffffffffffull);
}

TEST(the_drivers_version_is_the_word_of_numbers_and_dots)
{
    static const struct {
        const char *text, *want;
    } row[] = {
        {"NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Release\n", "580.159.04"},
        {"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  590.44.01\n", "590.44.01"},
        {"x86_64 64 1234567 999.99", "999.99"},
        {"v580.159.04", ""},
        {"580.159.04", ""}, /* nothing before it: not the file we know */
        {" 1..............................................................2 ", ""},
        {"", ""},
    };
    char out[16];
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        ws_probe_read_version(row[i].text, out, sizeof out);
        CHECK_STR(out, row[i].want);
    }
}

TEST(capabilities_open_the_gate_by_the_drivers_rules)
{
    static const struct {
        enum ws_probe_gate gate;
        uint64_t capabilities;
        const char *driver;
        bool want;
    } row[] = {
        {WS_GATE_EVERYBODY, 0, "418.43", true},          {WS_GATE_ADMIN_ONLY, 0, "580.159.04", false},
        {WS_GATE_ADMIN_ONLY, SYS_ADMIN, "418.43", true}, {WS_GATE_ADMIN_ONLY, PERFMON, "565.57.01", true},
        {WS_GATE_ADMIN_ONLY, PERFMON, "560.35", false},  {WS_GATE_ADMIN_ONLY, PERFMON, "", false},
        {WS_GATE_UNKNOWN, 0, "580.159.04", false},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        CHECK(ws_probe_may_count(row[i].gate, row[i].capabilities, row[i].driver) == row[i].want);
}
