/* SPDX-License-Identifier: MIT */
/* The command line. See options.h. */
#include "options.h"

#include "arguments.h"

#include <stdio.h>
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
    "  --json           print JSON (docs/measured/memory-performance.md)\n"
    "  --json=FILE      write JSON there besides\n"
    "  --version        print Culvert's version\n"
    "  --help           print this\n"
    "\n"
    "exit: 0 measured, 1 something failed, was wrong or was not freed, 2 wrong usage, 3 no device that CUDA "
    "and\n"
    "Vulkan share, or one without virtual memory management\n";

static const char *section_named(const arguments *all, const char *argument, const char *name)
{
    for (size_t i = 0; i < num_sections; i++)
        if (strcmp(name, sections[i].name) == 0) return sections[i].name;
    arguments_wrong(all, "nothing is measured under that name (--list shows the names):", argument);
}

static void list(void)
{
    for (size_t i = 0; i < num_sections; i++)
        printf("%-10s %s\n", sections[i].name, sections[i].what);
}

options options_parse(int argc, char **argv)
{
    options o = {.driver = "auto", .seed = 1};
    const arguments all = {PROGRAM, usage, &o.driver, &o.json, &o.device, &o.seed, &o.quick};
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *value;
        if (arguments_take(&all, a)) continue;
        if (strcmp(a, "--large") == 0) {
            o.large = true;
        } else if ((value = arguments_value(a, "--only")) != NULL) {
            if (o.num_only == OPTIONS_LIST) arguments_wrong(&all, "too many of", a);
            o.only[o.num_only++] = section_named(&all, a, value);
        } else if (strcmp(a, "--list") == 0) {
            list();
            arguments_printed();
        } else {
            arguments_unknown(&all, a);
        }
    }
    return o;
}

bool options_wants(const options *o, const section *s)
{
    for (size_t i = 0; i < o->num_only; i++)
        if (strcmp(o->only[i], s->name) == 0) return true;
    return o->num_only == 0;
}
