/* SPDX-License-Identifier: MIT */
/* culvert-info: says what this machine can share between CUDA and Vulkan, and why not.
 * docs/culvert-info.md has the options, the exit codes and the JSON. */
#include "info.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_TOLD = 0, EXIT_OWN_FAILURE = 1, EXIT_USAGE = 2, EXIT_UNREACHABLE = 3 };

struct options {
    bool json;
    bool soft;
    bool verbose;
    bool require;
    bool shared;
    const char *directory; /* of --shared=; NULL: none */
};

static const char usage[] =
    "culvert-info says what CUDA and Vulkan can share on this machine, and why not.\n"
    "\n"
    "usage: culvert-info [--json] [--soft] [--verbose] [--require]\n"
    "       culvert-info --shared[=DIRECTORY] [--json]\n"
    "\n"
    "  --json      print JSON (described in docs/culvert-info.md)\n"
    "  --soft      allow the software twin, CUDA on the CPU, as CULVERT_SOFT=1 does\n"
    "  --verbose   print everything: all features of devices without a match, too\n"
    "  --require   exit with 3 unless CUDA reaches at least one graphics device\n"
    "              (the twin counts where it is allowed)\n"
    "  --shared    list what other programs offer by culvert/ipc.h, and nothing else;\n"
    "              of abstract sockets, or of those in a directory\n"
    "  --version   print Culvert's version\n"
    "  --help      print this\n"
    "\n"
    "exit: 0 it could tell, 1 it failed itself, 2 wrong usage, 3 --require is not met\n";

void text_set(char *out, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(out, size, format, args);
    va_end(args);
}

void text_add(char *out, size_t size, const char *format, ...)
{
    size_t used = strlen(out);
    va_list args;
    va_start(args, format);
    vsnprintf(out + used, size - used, format, args);
    va_end(args);
}

void *must_alloc(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL) {
        fprintf(stderr, "culvert-info: out of memory\n");
        exit(EXIT_OWN_FAILURE);
    }
    return memory;
}

/* Returns an exit code, or -1 to go on. */
static int read_options(int argc, char **argv, struct options *options)
{
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"--json", &options->json},
                 {"--soft", &options->soft},
                 {"--verbose", &options->verbose},
                 {"--require", &options->require},
                 {"--shared", &options->shared}};
    static const char shared[] = "--shared=";
    for (int i = 1; i < argc; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof flags / sizeof flags[0]; k++)
            if (strcmp(argv[i], flags[k].name) == 0) *flags[k].flag = known = true;
        if (strncmp(argv[i], shared, sizeof shared - 1) == 0) {
            options->directory = argv[i] + sizeof shared - 1;
            options->shared = known = true;
        }
        if (known) continue;
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return EXIT_TOLD;
        }
        if (strcmp(argv[i], "--version") == 0) {
            printf("culvert-info %s\n", culv_version_string());
            return EXIT_TOLD;
        }
        fprintf(stderr, "culvert-info: unknown %s '%s'; see culvert-info --help\n",
                argv[i][0] == '-' ? "option" : "argument", argv[i]);
        return EXIT_USAGE;
    }
    return -1;
}

static void release(struct report *report)
{
    for (size_t i = 0; i < report->num_variables; i++)
        free(report->variables[i].value);
    free(report->variables);
    free(report->graphics);
    free(report->cuda);
    free(report);
}

int main(int argc, char **argv)
{
    struct options options = {0};
    int code = read_options(argc, argv, &options);
    if (code >= 0) return fflush(stdout) == 0 ? code : EXIT_OWN_FAILURE;

    if (options.shared) {
        code = print_shared(options.directory, options.json, stdout) ? EXIT_TOLD : EXIT_OWN_FAILURE;
        return fflush(stdout) == 0 ? code : EXIT_OWN_FAILURE;
    }
    struct report *report = must_alloc(1, sizeof *report);
    variables_read(report); /* before culv_soft_enable(), which adds to them */
    struct cuda_driver *twin = &report->drivers[1];
    twin->asked = options.soft || culv_soft_enabled();
    if (twin->asked && culv_soft_enable() != CULV_OK) {
        twin->reason = CULV_REASON_SOFT_MISSING;
        text_set(twin->why, sizeof twin->why, "%s", culv_last_error_message());
    }
    system_read(&report->system);
    opengl_read(&report->opengl);
    vulkan_open(&report->vulkan);
    cuda_drivers(report);
    vulkan_devices(report);
    cuda_devices(report);
    verdict_make(report);
    vulkan_close(&report->vulkan);

    if (options.json)
        print_json(report, stdout);
    else
        print_text(report, stdout, options.verbose);
    code = EXIT_TOLD;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "culvert-info: the report could not be written\n");
        code = EXIT_OWN_FAILURE;
    } else if (options.require && !report->reachable) {
        fprintf(stderr, "culvert-info: --require: CUDA reaches no graphics device here\n");
        code = EXIT_UNREACHABLE;
    }
    release(report);
    return code;
}
