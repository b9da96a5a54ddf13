/* SPDX-License-Identifier: MIT */
/* layer-test CASE [--validation]: one case of the layer's tests. */
#include <stdio.h>
#include <string.h>

#include "layer_test.h"

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
#define CASE(name, validation) {#name, case_##name},
    LAYER_CASES(CASE)
#undef CASE
};

int main(int argc, char **argv)
{
    test_validation = argc == 3 && strcmp(argv[2], "--validation") == 0;
    for (size_t i = 0; argc >= 2 && i < sizeof(cases) / sizeof(*cases); i++) {
        if (strcmp(cases[i].name, argv[1]) != 0) continue;
        cases[i].run();
        check_all_gone();
        CHECK_IS(test_messages, 0);
        return 0;
    }
    fprintf(stderr, "usage: layer-test CASE [--validation]\n");
    return 2;
}
