/* SPDX-License-Identifier: MIT */
#include "programs.h"

const test_case *const test_suite_tables[] = {
    foreign_sine,
    foreign_mmap,
    NULL,
};
