/* SPDX-License-Identifier: MIT */
/* What the programs of this folder share. They are an outsider's: they link culvert-0.dll and
 * Windows' libraries, know nothing of the rig, and run on it by culvert-rig.exe. */
#ifndef CULVERT_TESTS_WINDOWS_PROGRAM_H_
#define CULVERT_TESTS_WINDOWS_PROGRAM_H_

#define COBJMACROS
#define INITGUID
#include <windows.h>
/* after it */
#include <d3d11_4.h>
#include <d3d12.h>

#include <culvert/cuda_api.h>
#include <culvert/culvert.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) check((long)(call), #call) /* 0 is success of Culvert, of CUDA and of Direct3D */
static inline void check(long result, const char *call)
{
    if (result == 0) return;
    printf("FAILED: %s: %ld (%#lx). Culvert: %s\n", call, result, (unsigned long)result,
           culv_last_error_message());
    exit(1);
}
#define REQUIRE(condition) check((condition) ? 0 : 1, #condition)

/* The kernels, beside the library. */
static inline culv_kernel *kernel_of(culv_device *device, culv_kernels **kernels, const char *name)
{
    char path[MAX_PATH * 2] = "";
    culv_kernel *kernel = NULL;
    GetModuleFileNameA(NULL, path, MAX_PATH);
    char *last = strrchr(path, '\\');
    strcpy(last != NULL ? last + 1 : path, "..\\..\\share\\culvert");
    if (*kernels == NULL) OK(culv_kernels_load(device, path, "programs", kernels));
    OK(culv_kernels_get(*kernels, name, &kernel));
    return kernel;
}

static inline CUstream stream_of(culv_device *device)
{
    CUstream stream = NULL;
    OK(CULV_CUDA(device)->cuCtxSetCurrent(culv_device_context(device)));
    OK(CULV_CUDA(device)->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

static inline void passed(const char *name)
{
    printf("PASS programs.%s (all data)\n", name);
}

/* As the tests of Wine end: Wine's Direct3D has threads that outlive main(). */
static inline int done(void)
{
    fflush(stdout);
    TerminateProcess(GetCurrentProcess(), 0);
    return 0;
}

#endif
