/* SPDX-License-Identifier: MIT
 * locate.c: where libcupti may lie. Looks at folders and at what the loader has mapped; decides nothing.
 * No allocation of its own, no output, no environment (settings.c read it). Tests give another root.
 * Add a place: one line in add_places(). */
#include "locate.h"

#include "../analyzer/err.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Names within a folder: the soname of each CUPTI that has the range profiler, and the developers' link. */
static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
#define NAMES (sizeof names / sizeof names[0])

/* Folders of a toolkit that hold it: NVIDIA's runfile and packages, pip's and conda's layouts. */
static const char *const toolkit_folders[] = {"extras/CUPTI/lib64", "lib64", "targets/x86_64-linux/lib",
                                              "targets/sbsa-linux/lib", "lib"};
#define TOOLKIT_FOLDERS (sizeof toolkit_folders / sizeof toolkit_folders[0])

/* Folders of Python's site-packages that hold it: CUDA 13 wheels, CUDA 12 wheels, Triton's copy. */
static const char *const wheel_folders[] = {"nvidia/cu13/lib", "nvidia/cuda_cupti/lib",
                                            "triton/backends/nvidia/lib/cupti"};
#define WHEEL_FOLDERS (sizeof wheel_folders / sizeof wheel_folders[0])

struct search {
    const struct ws_locate_hints *hints;
    struct ws_locations *out;
    struct file_id {
        dev_t dev;
        ino_t ino;
    } id[WS_LOCATE_FOUND];
};

static bool is_set(const char *text)
{
    return text && *text != 0;
}

/* The number that ends a file name after "libcupti.so.", if it is a CUDA major version. Release names
 * such as libcupti.so.2025.3.1 say nothing. */
static uint32_t major_of_name(const char *path)
{
    const char *name = strrchr(path, '/');
    unsigned long n;
    char *end;
    name = name ? name + 1 : path;
    if (strncmp(name, "libcupti.so.", 12) != 0 || !isdigit((unsigned char)name[12]))
        return 0;
    n = strtoul(name + 12, &end, 10);
    return (*end == 0 || *end == '.') && n < 100 ? (uint32_t)n : 0;
}

/* As above, following links: libcupti.so may point to libcupti.so.13. */
static uint32_t major_of_file(const char *path)
{
    char real[PATH_MAX];
    uint32_t major = major_of_name(path);
    if (major != 0 || !realpath(path, real))
        return major;
    return major_of_name(real);
}

static void note_tried(struct ws_locations *out, const char *what)
{
    size_t used = strlen(out->tried);
    size_t length = strlen(what);
    char *at = strstr(out->tried, what);
    /* The same folder is often reached in two ways; it is said once. */
    if (at && (at == out->tried || at[-1] == ' ') && (at[length] == 0 || at[length] == ','))
        return;
    if (used + length + 3 > sizeof out->tried)
        return;
    snprintf(out->tried + used, sizeof out->tried - used, "%s%s", used ? ", " : "", what);
}

/* A file, if it is there and new. */
static void add_file(struct search *s, const char *path, const char *reason)
{
    struct ws_locations *out = s->out;
    struct stat st;
    struct ws_located *place;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || strlen(path) >= WS_LOCATE_PATH)
        return;
    for (uint32_t i = 0; i < out->found_count; i++)
        if (s->id[i].dev == st.st_dev && s->id[i].ino == st.st_ino)
            return;
    if (out->found_count == WS_LOCATE_FOUND - NAMES) /* the bare names must still find room */
        return;
    s->id[out->found_count].dev = st.st_dev;
    s->id[out->found_count].ino = st.st_ino;
    place = &out->found[out->found_count++];
    snprintf(place->path, sizeof place->path, "%s", path);
    place->reason = reason;
    place->major = major_of_file(path);
    place->is_bare = false;
}

static void add_folder(struct search *s, const char *folder, const char *reason)
{
    char path[WS_LOCATE_PATH];
    note_tried(s->out, folder);
    for (size_t i = 0; i < NAMES; i++)
        if (snprintf(path, sizeof path, "%s/%s", folder, names[i]) < (int)sizeof path)
            add_file(s, path, reason);
}

static void add_folders_under(struct search *s, const char *base, const char *const *folder, size_t count,
                              const char *reason)
{
    char path[WS_LOCATE_PATH];
    for (size_t i = 0; i < count; i++)
        if (snprintf(path, sizeof path, "%s/%s", base, folder[i]) < (int)sizeof path)
            add_folder(s, path, reason);
}

static void add_toolkit(struct search *s, const char *base, const char *reason)
{
    if (is_set(base))
        add_folders_under(s, base, toolkit_folders, TOOLKIT_FOLDERS, reason);
}

/* A file, or a folder that holds one, or a whole toolkit. */
static void add_chosen(struct search *s, const char *path)
{
    static const char reason[] = "WARPSIGHT_CUPTI";
    struct stat st;
    note_tried(s->out, path);
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        add_file(s, path, reason);
        return;
    }
    add_folder(s, path, reason);
    add_toolkit(s, path, reason);
}

/* --- what the process has mapped --- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* path without its last n parts; false when there are not so many. */
static bool parent(const char *path, int n, char out[WS_LOCATE_PATH])
{
    if (snprintf(out, WS_LOCATE_PATH, "%s", path) >= WS_LOCATE_PATH)
        return false;
    for (; n > 0; n--) {
        char *slash = strrchr(out, '/');
        if (!slash || slash == out)
            return false;
        *slash = 0;
    }
    return true;
}

static void look_for_mapped_cupti(struct search *s, const char *path)
{
    if (strncmp(base_name(path), "libcupti.so", 11) == 0)
        add_file(s, path, "already in the process");
}

/* libcudart lies beside libcupti in toolkits and in CUDA 13 wheels, two folders off in CUDA 12 wheels, and
 * libtorch one folder deep in site-packages. */
static void look_beside_mapped(struct search *s, const char *path)
{
    const char *name = base_name(path);
    char base[WS_LOCATE_PATH];
    if (strncmp(name, "libcudart.so", 12) == 0) {
        static const char *const beside[] = {"lib", "extras/CUPTI/lib64", "../cuda_cupti/lib",
                                             "../../extras/CUPTI/lib64"};
        if (parent(path, 1, base))
            add_folder(s, base, "beside the program's libcudart");
        if (parent(path, 2, base))
            add_folders_under(s, base, beside, sizeof beside / sizeof beside[0], "beside the program's libcudart");
    } else if (strcmp(name, "libtorch_cuda.so") == 0 || strcmp(name, "libtorch.so") == 0 ||
               strcmp(name, "libtorch_python.so") == 0) {
        if (parent(path, 3, base))
            add_folders_under(s, base, wheel_folders, WHEEL_FOLDERS, "in the Python environment of the program");
    }
}

typedef void look_at(struct search *s, const char *path);

struct walk {
    struct search *search;
    look_at *look;
};

static int walk_one(struct dl_phdr_info *info, size_t size, void *state)
{
    const struct walk *w = state;
    (void)size;
    if (info->dlpi_name && info->dlpi_name[0] == '/')
        w->look(w->search, info->dlpi_name);
    return 0;
}

static void walk_mapped(struct search *s, look_at *look)
{
    struct walk w = {s, look};
    if (!s->hints->mapped) {
        dl_iterate_phdr(walk_one, &w);
        return;
    }
    for (const char *const *path = s->hints->mapped; *path; path++)
        look(s, *path);
}

/* --- the system's own places --- */

/* Compares the numbers of "cuda-12.8" and "cuda-13.0". */
static int compare_versions(const void *a, const void *b)
{
    return -strverscmp((const char *)a, (const char *)b);
}

/* Toolkits installed side by side, the newest first. */
static void add_versioned_toolkits(struct search *s, const char *root)
{
    char name[16][32];
    char path[WS_LOCATE_PATH];
    size_t count = 0;
    struct dirent *entry;
    DIR *dir;
    snprintf(path, sizeof path, "%s/usr/local", root);
    dir = opendir(path);
    if (!dir)
        return;
    while (count < sizeof name / sizeof name[0] && (entry = readdir(dir)) != NULL)
        if (strncmp(entry->d_name, "cuda-", 5) == 0 && strlen(entry->d_name) < sizeof name[0])
            snprintf(name[count++], sizeof name[0], "%.31s", entry->d_name);
    closedir(dir);
    qsort(name, count, sizeof name[0], compare_versions);
    for (size_t i = 0; i < count; i++)
        if (snprintf(path, sizeof path, "%s/usr/local/%s", root, name[i]) < (int)sizeof path)
            add_toolkit(s, path, "installed toolkit");
}

static void add_system(struct search *s)
{
    static const char *const other[] = {"opt/cuda", "usr/lib/cuda"};
    const char *root = s->hints->root ? s->hints->root : "";
    char path[WS_LOCATE_PATH];
    if (snprintf(path, sizeof path, "%s/usr/local/cuda", root) < (int)sizeof path)
        add_toolkit(s, path, "installed toolkit");
    add_versioned_toolkits(s, root);
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        if (snprintf(path, sizeof path, "%s/%s", root, other[i]) < (int)sizeof path)
            add_toolkit(s, path, "installed toolkit");
}

static void add_bare(struct search *s)
{
    struct ws_locations *out = s->out;
    for (size_t i = 0; i < NAMES - 1; i++) {
        struct ws_located *place = &out->found[out->found_count++];
        snprintf(place->path, sizeof place->path, "%s", names[i]);
        place->reason = "the loader's own search";
        place->major = major_of_name(names[i]);
        place->is_bare = true;
    }
    note_tried(out, "the loader's own search");
}

static void add_places(struct search *s)
{
    const struct ws_locate_hints *hints = s->hints;
    if (is_set(hints->cupti))
        add_chosen(s, hints->cupti);
    /* Two copies in a process: whichever subscribes first shuts the other out for good, even when it lets go. */
    walk_mapped(s, look_for_mapped_cupti);
    add_toolkit(s, hints->cuda_home, "CUDA_HOME");
    add_toolkit(s, hints->cuda_path, "CUDA_PATH");
    walk_mapped(s, look_beside_mapped);
    if (is_set(hints->site_packages))
        add_folders_under(s, hints->site_packages, wheel_folders, WHEEL_FOLDERS, "in the Python environment");
    add_system(s);
    add_bare(s);
}

/* --- order --- */

/* How well a CUPTI fits the driver; less is better. A newer CUPTI than the driver does not work at all. */
static int misfit(const struct ws_located *place, uint32_t driver_major)
{
    if (strcmp(place->reason, "WARPSIGHT_CUPTI") == 0)
        return 0;
    if (driver_major == 0 || place->major == driver_major)
        return 1;
    if (place->major == 0)
        return 2;
    return place->major < driver_major ? 3 : 4;
}

/* Stable: places of equal fit stay in the order of the search. */
static void sort_by_fit(struct ws_locations *out, uint32_t driver_major)
{
    for (uint32_t i = 1; i < out->found_count; i++) {
        struct ws_located moved = out->found[i];
        uint32_t j = i;
        for (; j > 0 && misfit(&out->found[j - 1], driver_major) > misfit(&moved, driver_major); j--)
            out->found[j] = out->found[j - 1];
        out->found[j] = moved;
    }
}

void ws_locate_cupti(const struct ws_locate_hints *hints, struct ws_locations *out)
{
    struct search s = {hints, out, {{0, 0}}};
    out->found_count = 0;
    out->tried[0] = 0;
    add_places(&s);
    sort_by_fit(out, hints->driver_major);
}

int ws_locate_open(const struct ws_located *place, struct ws_opened *out)
{
    out->error = NULL;
    out->cupti = dlopen(place->path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (out->cupti)
        return 0;
    out->error = dlerror();
    if (!out->error)
        out->error = "the loader refused it without a reason";
    return -WS_ENOENT;
}

void *ws_locate_open_perf(const struct ws_located *place)
{
    char perf[WS_LOCATE_PATH];
    const char *slash = strrchr(place->path, '/');
    if (!slash || snprintf(perf, sizeof perf, "%.*s/libnvperf_host.so", (int)(slash - place->path), place->path) >=
                      (int)sizeof perf)
        return NULL;
    return dlopen(perf, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
}
