/* The command line. See options.h. SPDX-License-Identifier: MIT */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "culvert-bench-memory measures what device memory costs that grows, shrinks and is given back: "
    "culv_vector,\n"
    "the driver's virtual memory management by hand, cuMemAlloc with copies, and managed memory, side by "
    "side in\n"
    "one run, their contents checked.\n"
    "\n"
    "usage: culvert-bench-memory [options]\n"
    "\n"
    "  --driver=WHICH   auto: NVIDIA's, else the software twin (default); nvidia; soft\n"
    "  --device=N       CUDA ordinal (0)\n"
    "  --only=NAME      one of --list; may be given several times\n"
    "  --list           what there is to measure\n"
    "  --large          grow: to 16 and 64 GiB besides, as memory allows\n"
    "  --seed=N         of the order of turns, and of the intervals (1)\n"
    "  --quick          short and small: to see that it works, not to read times\n"
    "  --json           print JSON (docs/memory-performance.md)\n"
    "  --json=FILE      write JSON there besides\n"
    "  --version        print Culvert's version\n"
    "  --help           print this\n"
    "\n"
    "exit: 0 measured, 1 something failed, was wrong or was not freed, 2 wrong usage, 3 no device that CUDA "
    "and\n"
    "Vulkan share, or one without virtual memory management\n";

static _Noreturn void wrong_usage(const char *text, const char *argument)
{
    fprintf(stderr, PROGRAM ": %s '%s'; see " PROGRAM " --help\n", text, argument);
    exit(EXITS_USAGE);
}

/* The value of --NAME=VALUE; NULL where the argument is something else. */
static const char *value_of(const char *argument, const char *name)
{
    size_t length = strlen(name);
    return strncmp(argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1 : NULL;
}

static uint64_t number(const char *argument, const char *text, uint64_t most)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value > most)
        wrong_usage("not a number in range:", argument);
    return value;
}

static const char *section_named(const char *argument, const char *name)
{
    for (size_t i = 0; i < num_sections; i++)
        if (strcmp(name, sections[i].name) == 0) return sections[i].name;
    wrong_usage("nothing is measured under that name (--list shows the names):", argument);
}

static _Noreturn void leave_after_printing(void)
{
    exit(fflush(stdout) == 0 && ferror(stdout) == 0 ? EXIT_SUCCESS : EXITS_FAILURE);
}

/* What ends the program once it is printed; false: it is another argument. */
static bool print_and_leave(const char *a)
{
    if (strcmp(a, "--list") == 0)
        for (size_t i = 0; i < num_sections; i++)
            printf("%-10s %s\n", sections[i].name, sections[i].what);
    else if (strcmp(a, "--help") == 0)
        fputs(usage, stdout);
    else if (strcmp(a, "--version") == 0)
        printf(PROGRAM " %s\n", culv_version_string());
    else
        return false;
    leave_after_printing();
}

static void parse_value(options *o, const char *a)
{
    const char *value;
    if ((value = value_of(a, "--json")) != NULL) {
        if (value[0] == '\0') wrong_usage("no file in", a);
        o->json = value;
    } else if ((value = value_of(a, "--driver")) != NULL) {
        if (strcmp(value, "auto") != 0 && strcmp(value, "nvidia") != 0 && strcmp(value, "soft") != 0)
            wrong_usage("auto, nvidia or soft, not", a);
        o->driver = value;
    } else if ((value = value_of(a, "--device")) != NULL) {
        o->device = (int)number(a, value, 1023);
    } else if ((value = value_of(a, "--only")) != NULL) {
        if (o->num_only == OPTIONS_LIST) wrong_usage("too many of", a);
        o->only[o->num_only++] = section_named(a, value);
    } else if ((value = value_of(a, "--seed")) != NULL) {
        o->seed = number(a, value, INT64_MAX);
    } else {
        wrong_usage(a[0] == '-' ? "unknown option" : "unknown argument", a);
    }
}

options options_parse(int argc, char **argv)
{
    options o = {.driver = "auto", .seed = 1};
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (strcmp(a, "--quick") == 0)
            o.quick = true;
        else if (strcmp(a, "--large") == 0)
            o.large = true;
        else if (strcmp(a, "--json") == 0)
            o.json = "";
        else if (!print_and_leave(a))
            parse_value(&o, a);
    }
    return o;
}

bool options_wants(const options *o, const section *s)
{
    for (size_t i = 0; i < o->num_only; i++)
        if (strcmp(o->only[i], s->name) == 0) return true;
    return o->num_only == 0;
}
