/* SPDX-License-Identifier: MIT
 * test_locate.c: the search for libcupti over made-up folders: order, reasons, links, duplicates, limits. */
#include "../../analyzer/err.h"
#include "../../collector/locate.h"
#include "test.h"

#include <sys/stat.h>

static char root[64];
static struct ws_locations found;
static const char *const nothing_mapped[] = {NULL};

/* An empty file under the root, with its folders. */
static void make(const char *path)
{
    char full[600];
    FILE *f;
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *at = full + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = 0;
        mkdir(full, 0700);
        *at = '/';
    }
    f = fopen(full, "w");
    CHECK(f != NULL);
    if (f)
        fclose(f);
}

static void make_link(const char *target, const char *path)
{
    char full[600];
    snprintf(full, sizeof full, "%s/%s", root, path);
    CHECK_INT(symlink(target, full), 0);
}

static const char *under(const char *path)
{
    static char full[8][600];
    static int turn;
    turn = (turn + 1) % 8;
    snprintf(full[turn], sizeof full[0], "%s/%s", root, path);
    return full[turn];
}

static void begin(void)
{
    const char *scratch = getenv("WS_SCRATCH");
    snprintf(root, sizeof root, "%.40s/locate-XXXXXX", scratch ? scratch : "/tmp");
    CHECK(mkdtemp(root) != NULL);
}

static void end(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    CHECK_INT(system(command), 0);
}

static void search(struct ws_locate_hints hints)
{
    hints.root = root;
    if (!hints.mapped)
        hints.mapped = nothing_mapped;
    ws_locate_cupti(&hints, &found);
}

#define SEARCH(...) search((struct ws_locate_hints){__VA_ARGS__})

TEST(nothing_there_leaves_the_loaders_own_search_and_says_what_was_tried)
{
    begin();
    SEARCH(.driver_major = 13);
    REQUIRE(found.found_count == 2);
    CHECK_STR(found.found[0].path, "libcupti.so.13");
    CHECK(found.found[0].is_bare);
    CHECK_STR(found.found[1].path, "libcupti.so.12");
    CHECK(strstr(found.tried, under("usr/local/cuda/extras/CUPTI/lib64")) != NULL);
    end();
}

TEST(the_chosen_file_is_first_even_when_it_does_not_fit_the_driver)
{
    begin();
    make("mine/libcupti.so.12");
    make("usr/local/cuda/lib64/libcupti.so.13");
    SEARCH(.cupti = under("mine/libcupti.so.12"), .driver_major = 13);
    CHECK_STR(found.found[0].path, under("mine/libcupti.so.12"));
    CHECK_STR(found.found[0].reason, "WARPSIGHT_CUPTI");
    CHECK_STR(found.found[1].path, under("usr/local/cuda/lib64/libcupti.so.13"));
    end();
}

TEST(the_chosen_place_may_be_a_folder_or_a_toolkit)
{
    begin();
    make("kit/extras/CUPTI/lib64/libcupti.so.13");
    SEARCH(.cupti = under("kit/extras/CUPTI/lib64"));
    CHECK_STR(found.found[0].path, under("kit/extras/CUPTI/lib64/libcupti.so.13"));
    SEARCH(.cupti = under("kit"));
    CHECK_STR(found.found[0].path, under("kit/extras/CUPTI/lib64/libcupti.so.13"));
    CHECK_STR(found.found[0].reason, "WARPSIGHT_CUPTI");
    end();
}

TEST(a_chosen_file_that_is_missing_is_named_among_the_tried)
{
    begin();
    SEARCH(.cupti = "/nowhere/libcupti.so.13");
    CHECK(strncmp(found.tried, "/nowhere/libcupti.so.13, ", 25) == 0);
    CHECK(found.found[0].is_bare);
    end();
}

TEST(places_come_in_the_documented_order)
{
    static const char *const want[] = {
        "already in the process", "CUDA_HOME",         "CUDA_PATH",         "beside the program's libcudart",
        "installed toolkit",      "installed toolkit", "installed toolkit", "the loader's own search",
        "the loader's own search"};
    const char *mapped[4];
    begin();
    make("home/lib64/libcupti.so.13");
    make("path/lib64/libcupti.so.13");
    make("app/libcupti.so.13");
    make("env/nvidia/cu13/lib/libcupti.so.13");
    make("usr/local/cuda/lib64/libcupti.so.13");
    make("usr/local/cuda-13.1/lib64/libcupti.so.13");
    make("usr/local/cuda-9.2/lib64/libcupti.so.13");
    mapped[0] = under("env/nvidia/cu13/lib/libcudart.so.13");
    mapped[1] = under("app/libcupti.so.13");
    mapped[2] = NULL;
    SEARCH(.cuda_home = under("home"), .cuda_path = under("path"), .mapped = mapped);
    REQUIRE(found.found_count == 9);
    for (uint32_t i = 0; i < 9; i++)
        CHECK_STR(found.found[i].reason, want[i]);
    CHECK_STR(found.found[5].path, under("usr/local/cuda-13.1/lib64/libcupti.so.13"));
    end();
}

TEST(the_drivers_own_major_goes_before_an_older_one_and_that_before_a_newer_one)
{
    begin();
    make("home/lib64/libcupti.so.13");
    make("path/lib64/libcupti.so.12");
    SEARCH(.cuda_home = under("home"), .cuda_path = under("path"), .driver_major = 12);
    CHECK_STR(found.found[0].path, under("path/lib64/libcupti.so.12"));
    CHECK_STR(found.found[1].path, "libcupti.so.12");
    CHECK_STR(found.found[2].path, under("home/lib64/libcupti.so.13"));
    SEARCH(.cuda_home = under("home"), .cuda_path = under("path"), .driver_major = 14);
    CHECK_STR(found.found[0].path, under("home/lib64/libcupti.so.13"));
    end();
}

TEST(a_file_reached_by_several_links_is_listed_once_with_its_version)
{
    begin();
    make("usr/local/cuda-13.0/lib/libcupti.so.13");
    make_link("libcupti.so.13", "usr/local/cuda-13.0/lib/libcupti.so");
    make_link("lib", "usr/local/cuda-13.0/lib64");
    make_link("cuda-13.0", "usr/local/cuda");
    SEARCH(.driver_major = 13);
    CHECK_INT(found.found_count, 3);
    CHECK_STR(found.found[0].path, under("usr/local/cuda/lib64/libcupti.so.13"));
    CHECK_INT(found.found[0].major, 13);
    end();
}

TEST(the_developers_link_takes_its_version_from_what_it_points_to)
{
    begin();
    make("kit/real/libcupti.so.12");
    make("kit/lib64/placeholder");
    make_link("../real/libcupti.so.12", "kit/lib64/libcupti.so");
    SEARCH(.cuda_home = under("kit"), .driver_major = 12);
    CHECK_STR(found.found[0].path, under("kit/lib64/libcupti.so"));
    CHECK_INT(found.found[0].major, 12);
    end();
}

TEST(a_release_name_is_no_major_version)
{
    begin();
    make("kit/lib64/libcupti.so.2025.3.1");
    make_link("libcupti.so.2025.3.1", "kit/lib64/libcupti.so");
    SEARCH(.cuda_home = under("kit"));
    CHECK_INT(found.found[0].major, 0);
    end();
}

TEST(cuda_12_wheels_are_found_from_the_mapped_libcudart)
{
    const char *mapped[2];
    begin();
    make("env/nvidia/cuda_runtime/lib/libcudart.so.12");
    make("env/nvidia/cuda_cupti/lib/libcupti.so.12");
    mapped[0] = under("env/nvidia/cuda_runtime/lib/libcudart.so.12");
    mapped[1] = NULL;
    SEARCH(.mapped = mapped, .driver_major = 12);
    CHECK_STR(found.found[0].reason, "beside the program's libcudart");
    CHECK(strstr(found.found[0].path, "cuda_cupti/lib/libcupti.so.12") != NULL);
    end();
}

TEST(wheels_are_found_from_the_mapped_libtorch)
{
    const char *mapped[2];
    begin();
    make("env/torch/lib/libtorch_cuda.so");
    make("env/nvidia/cu13/lib/libcupti.so.13");
    mapped[0] = under("env/torch/lib/libtorch_cuda.so");
    mapped[1] = NULL;
    SEARCH(.mapped = mapped);
    CHECK_STR(found.found[0].path, under("env/nvidia/cu13/lib/libcupti.so.13"));
    end();
}

TEST(a_folder_named_like_the_library_is_not_taken)
{
    begin();
    make("kit/lib64/libcupti.so.13/file");
    SEARCH(.cuda_home = under("kit"));
    CHECK(found.found[0].is_bare);
    end();
}

TEST(overlong_paths_are_skipped_not_cut)
{
    static char longer[2000];
    const char *mapped[] = {longer, NULL};
    begin();
    memset(longer, 'a', sizeof longer - 1);
    longer[0] = '/';
    memcpy(longer + sizeof longer - 14, "/libcudart.so", 13);
    SEARCH(.cupti = longer, .cuda_home = longer, .mapped = mapped);
    for (uint32_t i = 0; i < found.found_count; i++)
        CHECK(found.found[i].is_bare);
    end();
}

TEST(more_toolkits_than_there_is_room_for_still_end_with_the_bare_names)
{
    char path[128];
    begin();
    for (int i = 0; i < 40; i++) {
        snprintf(path, sizeof path, "usr/local/cuda-%d.0/lib64/libcupti.so.13", i);
        make(path);
        snprintf(path, sizeof path, "usr/local/cuda-%d.0/lib64/libcupti.so.12", i);
        make(path);
        snprintf(path, sizeof path, "usr/local/cuda-%d.0/lib64/libcupti.so", i);
        make(path);
    }
    SEARCH(.driver_major = 0);
    CHECK(found.found_count <= WS_LOCATE_FOUND);
    CHECK(found.found[found.found_count - 1].is_bare);
    end();
}

TEST(a_file_that_is_no_library_is_refused_with_the_loaders_reason)
{
    struct ws_opened opened;
    begin();
    make("mine/libcupti.so.13");
    SEARCH(.cupti = under("mine"));
    CHECK_INT(ws_locate_open(&found.found[0], &opened), -WS_ENOENT);
    CHECK(opened.cupti == NULL);
    CHECK(opened.error && strstr(opened.error, "libcupti.so.13") != NULL);
    end();
}

TEST(a_library_that_is_there_opens)
{
    struct ws_located place = {.path = "libm.so.6", .is_bare = true};
    struct ws_opened opened;
    CHECK_INT(ws_locate_open(&place, &opened), 0);
    CHECK(opened.cupti != NULL);
    CHECK(ws_locate_open_perf(&place) == NULL); /* a bare name has no folder to look beside */
    CHECK(opened.error == NULL);
}
