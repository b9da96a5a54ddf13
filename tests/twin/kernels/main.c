/* SPDX-License-Identifier: MIT */
/* Kernels whose threads work together, on the twin and on NVIDIA's driver. */
#include "stage.h"

const test_case *const test_suite_tables[] = {block_cases, together_cases, limit_cases, wrong_cases,
                                              NULL};
