/* SPDX-License-Identifier: MIT */
/* What a program links as -lcuda, as a toolkit's stubs/libcuda.so is: names alone. It lies where no
 * program finds it at run time. */
#include <stdatomic.h>
#include <stdio.h>

static int answer(void)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&said))
        fprintf(
            stderr,
            "culvert: this libcuda.so.1 is for linking and does nothing. Take its directory out of LD_LIBRARY_PATH, "
            "and run the program with culvert-soft-run, or with NVIDIA's driver\n");
    return 34; /* CUDA_ERROR_STUB_LIBRARY */
}

#define STUB(name)                                                                                 \
    __attribute__((visibility("default"))) int name(void);                                         \
    int name(void)                                                                                 \
    {                                                                                              \
        return answer();                                                                           \
    }
#include "culvert_stub_names.h"
