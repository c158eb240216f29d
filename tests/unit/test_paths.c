/* SPDX-License-Identifier: MIT
 * test_paths.c: where the database and the spool lie: as the design says, and as the collector thinks. */
#include "../../analyzer/err.h"
#include "../../collector/settings.h"
#include "../../server/paths.h"
#include "capture.h"
#include "test.h"

static void set(const char *name, const char *value)
{
    if (value)
        CHECK_INT(setenv(name, value, 1), 0);
    else
        CHECK_INT(unsetenv(name), 0);
}

TEST(the_database_is_where_the_first_variable_says)
{
    char path[WS_PATH_MAX];
    set("WARPSIGHT_DB", "/a/b.db");
    set("XDG_DATA_HOME", "/data");
    set("HOME", "/home/x");
    CHECK_INT(ws_path_db(path), 0);
    CHECK_STR(path, "/a/b.db");
    set("WARPSIGHT_DB", "");
    CHECK_INT(ws_path_db(path), 0);
    CHECK_STR(path, "/data/warpsight/warpsight.db");
    set("XDG_DATA_HOME", "relative");
    CHECK_INT(ws_path_db(path), 0);
    CHECK_STR(path, "/home/x/.local/share/warpsight/warpsight.db");
    set("HOME", NULL);
    CHECK_INT(ws_path_db(path), -WS_ENOENT);
}

TEST(the_spool_is_where_the_collector_puts_it)
{
    static const char *const cases[][2] = {{"/spool", "/run/user/1"}, {NULL, "/run/user/1"}, {"", "/run/user/1"},
                                           {NULL, "relative"},        {NULL, NULL},          {"spool", NULL}};
    static struct ws_settings settings;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[WS_PATH_MAX];
        set("WARPSIGHT_SPOOL", cases[i][0]);
        set("XDG_RUNTIME_DIR", cases[i][1]);
        ws_settings_read(&settings);
        CHECK_INT(ws_path_spool(path), 0);
        CHECK_STR(path, settings.spool_dir);
    }
}

TEST(a_path_that_is_too_long_is_refused)
{
    char path[WS_PATH_MAX];
    char *name = malloc(WS_PATH_MAX + 10);
    memset(name, 'a', WS_PATH_MAX + 9);
    name[WS_PATH_MAX + 9] = 0;
    set("WARPSIGHT_DB", name);
    set("WARPSIGHT_SPOOL", name);
    CHECK_INT(ws_path_db(path), -WS_ELIMIT);
    CHECK_INT(ws_path_spool(path), -WS_ELIMIT);
    CHECK_INT(ws_path_make_folder(name), -WS_ELIMIT);
    free(name);
}

TEST(parents_of_paths)
{
    static const char *const cases[][2] = {{"a/b", "a"},  {"a", "."},         {"/a", "/"},
                                           {"a//b", "a"}, {"/a/b/c", "/a/b"}, {"//a", "/"}};
    char path[WS_PATH_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_INT(ws_path_parent(cases[i][0], path), 0);
        CHECK_STR(path, cases[i][1]);
    }
}

TEST(folders_are_made_for_their_owner_only)
{
    struct stat st;
    umask(0);
    CHECK_INT(ws_path_make_private_folder(scratch_file("a//b/c/")), 0);
    REQUIRE(stat(scratch_file("a/b/c"), &st) == 0);
    CHECK_INT(st.st_mode & 0777, 0700);
    REQUIRE(stat(scratch_file("a"), &st) == 0);
    CHECK_INT(st.st_mode & 0777, 0700);
    CHECK_INT(ws_path_make_private_folder(scratch_file("a/b/c")), 0);
    write_file(scratch_file("file"), "x", 1);
    CHECK_INT(ws_path_make_folder(scratch_file("file/x")), -WS_EIO);
    CHECK_INT(ws_path_make_folder(scratch_file("file")), -WS_EIO);
}

TEST(a_folder_that_others_may_write_or_a_link_is_not_private)
{
    REQUIRE(mkdir(scratch_file("open"), 0700) == 0);
    REQUIRE(chmod(scratch_file("open"), 0777) == 0);
    CHECK_INT(ws_path_make_private_folder(scratch_file("open")), -WS_EPERM);
    CHECK_INT(ws_path_make_folder(scratch_file("open")), 0);
    REQUIRE(mkdir(scratch_file("mine"), 0700) == 0);
    REQUIRE(symlink(scratch_file("mine"), scratch_file("link")) == 0);
    CHECK_INT(ws_path_make_private_folder(scratch_file("link")), -WS_EPERM);
}
