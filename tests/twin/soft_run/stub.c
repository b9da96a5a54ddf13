/* SPDX-License-Identifier: MIT */
/* What a program links as -lcuda, as a toolkit's stubs/libcuda.so is: names alone. */
#include "calls.h"

#define STUB(name, symbol)                                                                         \
    __attribute__((visibility("default"))) int symbol(void);                                       \
    int symbol(void)                                                                               \
    {                                                                                              \
        return 34; /* CUDA_ERROR_STUB_LIBRARY */                                                   \
    }
CALLS(STUB)
STUB(, cuGreenCtxDestroy)
