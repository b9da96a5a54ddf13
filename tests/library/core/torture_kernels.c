/* SPDX-License-Identifier: MIT */
/* Torture of files of kernels: loaded, asked for a kernel, launched, unloaded. */
#include "torture.h"

static char share[TEST_PATH_MAX];

static void begin(void)
{
    lib_with_option("--validation=off"); /* no Vulkan is used */
    test_path(share, "share/culvert");
}

static void run(void)
{
    enum { BYTES = 60000 };
    lib_world *w = &torture.w;
    culv_kernels *kernels = POISON(culv_kernels);
    culv_kernel *touch = POISON(culv_kernel);
    CUstream stream = torture_open();
    CUdeviceptr to = 0;
    CUcontext current = lib_enter(w);
    CU_OK(w->cu->MemAlloc(&to, BYTES));
    lib_leave(w, current);
    int bytes = BYTES;
    unsigned seed = 1;
    TRY_AGAIN(culv_kernels_load(w->device, share, "block_kernels", &kernels),
              kernels == POISON(culv_kernels));
    TRY_AGAIN(culv_kernels_get(kernels, "block_touch", &touch), touch == POISON(culv_kernel));
    culv_launch_desc d = culv_launch_1d(1, 1, stream);
    d.shared_bytes = BYTES;
    const culv_kernel_arg args[] = {CULV_ARG(to), CULV_ARG(bytes), CULV_ARG(seed)};
    TRY_AGAIN(culv_kernel_launch(touch, &d, args, 3), true);
    lib_finish(w, stream);
    current = lib_enter(w);
    CU_OK(w->cu->MemFree(to));
    lib_leave(w, current);
    DO(culv_kernels_unload(&kernels));
    REQUIRE(kernels == NULL);
    torture_close(stream);
}

static const torture_path path = {.begin = begin, .run = run, .least = {8, 0, 3}};
TORTURE_CASES("kernels", path)
