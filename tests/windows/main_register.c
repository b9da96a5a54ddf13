/* SPDX-License-Identifier: MIT */
/* d3d_register.exe [CASE...]: runs the cases of registered resources, or those that are named, and
 * says which passed. The first that fails ends it. */
#include "end.h"
#include "scene_register.h"

#include <string.h>

static bool asked(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0) return true;
    return argc < 2;
}

int main(int argc, char **argv)
{
    static const case_register *const tables[] = {cases_register11, cases_register10,
                                                  cases_register9, cases_register_errors};
    unsigned passed = 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        for (const case_register *c = tables[i]; c->name != NULL; c++) {
            if (!asked(argc, argv, c->name)) continue;
            printf("== d3d_register.%s\n", c->name);
            const ULONGLONG begin = GetTickCount64();
            c->run();
            printf("PASS d3d_register.%s (%llu ms)\n", c->name, GetTickCount64() - begin);
            passed++;
        }
    register_end();
    printf("%u cases passed\n", passed);
    end_process(passed > 0 ? 0 : 1);
}
