/* SPDX-License-Identifier: MIT
 * main.cu: the program warpsight-kernels: lists and runs the reference kernels registered by the other files.
 * It measures nothing but the roofs (ceilings/): run it under `warpsight run`. Exit: 0 ok, 1 wrong result or CUDA
 * error, 2 usage, 77 no GPU. To add a kernel open harness.h; nothing here changes. */
#include "ceilings/ceilings.h"
#include "harness.h"

#include <cerrno>
#include <cstdlib>
#include <ctime>

enum exit_code { EXIT_OK = 0, EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_NO_GPU = 77 };

static const char usage[] = "usage: warpsight-kernels list [--json]\n"
                            "       warpsight-kernels all [--repeat N] [--seed N]\n"
                            "       warpsight-kernels run NAME... [--repeat N] [--seed N]\n"
                            "       warpsight-kernels ceilings [--json]   (measure this board; always JSON)\n"
                            "NAME is an id (K01), a file (vec_add) or one variant (transpose_tile<33>).\n"
                            "`all` runs the kernels K01..., not the host programs H1...\n"
                            "exit status: 0 all right, 1 wrong result or CUDA error, 2 usage, 77 no GPU\n";

struct options {
    const char *command = nullptr;
    std::vector<const char *> names;
    bool json = false;
    long repeat = 1;
    unsigned long long seed = 0;
    bool has_seed = false;
};

static int usage_error(const char *problem, const char *what)
{
    std::fprintf(stderr, "warpsight-kernels: %s '%s' (try --help)\n", problem, what);
    return EXIT_USAGE;
}

/* A whole decimal number within [low, high]. */
static bool parse_number(const char *text, unsigned long long low, unsigned long long high, unsigned long long *out)
{
    char *end = nullptr;
    errno = 0;
    const unsigned long long n = std::strtoull(text, &end, 10);
    if (!*text || *text == '-' || *end || errno || n < low || n > high)
        return false;
    *out = n;
    return true;
}

/* Fills *o. Returns EXIT_OK or EXIT_USAGE after having said why. */
static int parse(int argc, char **argv, options *o)
{
    for (int i = 1; i < argc; i++) {
        const std::string arg = argv[i];
        unsigned long long n = 0;
        if (arg == "--json") {
            o->json = true;
        } else if (arg == "--repeat" || arg == "--seed") {
            const bool is_seed = arg == "--seed";
            if (i + 1 == argc)
                return usage_error("a number must follow", argv[i]);
            if (!parse_number(argv[++i], is_seed ? 0 : 1, is_seed ? UINT64_MAX : 1000000, &n))
                return usage_error("not a number in range:", argv[i]);
            if (is_seed) {
                o->seed = n;
                o->has_seed = true;
            } else {
                o->repeat = (long)n;
            }
        } else if (arg.size() > 1 && arg[0] == '-') {
            return usage_error("unknown option", argv[i]);
        } else if (!o->command) {
            o->command = argv[i];
        } else {
            o->names.push_back(argv[i]);
        }
    }
    return EXIT_OK;
}

static int list(bool json)
{
    const char *separator = "";
    if (json)
        std::printf("{\"kernels\":[");
    for (const ws_reference *r = ws_reference::first(); r; r = r->next) {
        if (json)
            std::printf("%s{\"id\":\"%s\",\"name\":\"%s\",\"kind\":\"%s\",\"what\":\"%s\",\"variants\":[", separator,
                        r->id, r->stem, r->is_program() ? "program" : "kernel", r->what);
        else
            std::printf("%-5s %-14s %s\n", r->id, r->stem, r->what);
        for (size_t i = 0; i < r->variants.size(); i++) {
            if (json)
                std::printf("%s\"%s\"", i ? "," : "", r->variants[i]);
            else
                std::printf("%20s %s\n", "", r->variants[i]);
        }
        if (json)
            std::printf("]}");
        separator = ",\n ";
    }
    if (json)
        std::printf("]}\n");
    return std::fflush(stdout) ? EXIT_WRONG : EXIT_OK;
}

/* One thing to run: a file and, unless NULL, only one of its variants. */
struct choice {
    const ws_reference *reference;
    const char *variant;
};

/* The file or variant of that name; reference is NULL if there is none. */
static choice find(const char *name)
{
    for (const ws_reference *r = ws_reference::first(); r; r = r->next)
        if (!std::strcmp(r->id, name) || !std::strcmp(r->stem, name))
            return {r, nullptr};
    for (const ws_reference *r = ws_reference::first(); r; r = r->next)
        for (const char *variant : r->variants)
            if (!std::strcmp(variant, name))
                return {r, variant};
    return {nullptr, nullptr};
}

/* EXIT_OK if there is a GPU; else says so in one line. */
static int need_gpu()
{
    int devices = 0;
    const cudaError_t code = cudaGetDeviceCount(&devices);
    if (code == cudaSuccess && devices > 0)
        return EXIT_OK;
    std::fprintf(stderr, "warpsight-kernels: no CUDA GPU here (%s)\n",
                 code == cudaSuccess ? "0 devices" : cudaGetErrorString(code));
    return EXIT_NO_GPU;
}

static int run_all(const std::vector<choice> &choices, const options &o)
{
    int wrong = 0;
    const unsigned long long seed = o.has_seed ? o.seed : (unsigned long long)std::time(nullptr);
    std::printf("seed  %llu\n", seed);
    for (const choice &c : choices) {
        /* Each file has a seed of its own, so its inputs do not depend on what ran before it. */
        uint64_t own = seed;
        for (const char *p = c.reference->stem; *p; p++)
            own = own * 31 + (unsigned char)*p;
        ws_run run(c.reference->id, c.variant, (int)o.repeat, own);
        c.reference->run(run);
        wrong += run.wrong;
    }
    return wrong ? EXIT_WRONG : EXIT_OK;
}

int main(int argc, char **argv)
{
    options o;
    std::vector<choice> choices;
    if (argc > 1 && (!std::strcmp(argv[1], "--help") || !std::strcmp(argv[1], "help"))) {
        std::fputs(usage, stdout);
        return EXIT_OK;
    }
    if (parse(argc, argv, &o) != EXIT_OK)
        return EXIT_USAGE;
    const std::string command = o.command ? o.command : "";
    if (command != "list" && command != "all" && command != "run" && command != "ceilings") {
        std::fputs(usage, stderr);
        return EXIT_USAGE;
    }
    if (command != "run" && !o.names.empty())
        return usage_error("unexpected argument", o.names[0]);
    if (command == "list")
        return list(o.json);
    if (o.json && command != "ceilings")
        return usage_error("unknown option", "--json");
    if (command == "run" && o.names.empty())
        return usage_error("a NAME must follow", "run");
    for (const char *name : o.names) {
        choices.push_back(find(name));
        if (!choices.back().reference)
            return usage_error("no kernel of that name:", name);
    }
    for (const ws_reference *r = ws_reference::first(); command == "all" && r; r = r->next)
        if (!r->is_program())
            choices.push_back({r, nullptr});
    if (need_gpu() != EXIT_OK)
        return EXIT_NO_GPU;
    try {
        if (command == "ceilings")
            return ceilings_main();
        return run_all(choices, o);
    } catch (const std::exception &problem) {
        std::fflush(stdout);
        std::fprintf(stderr, "warpsight-kernels: %s\n", problem.what());
        return EXIT_WRONG;
    }
}
