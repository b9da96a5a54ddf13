/* SPDX-License-Identifier: MIT */
#ifndef CULVERT_TESTS_WINDOWS_END_H_
#define CULVERT_TESTS_WINDOWS_END_H_

#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

/* Ends without the work that libraries do when a process exits. Under load a program has freed
 * twice after its last case; we take it for Mesa, as Wine's threads of Direct3D still run then. */
_Noreturn static inline void end_process(int code)
{
    fflush(stdout);
    TerminateProcess(GetCurrentProcess(), (UINT)code);
    abort(); /* not reached */
}

#endif
