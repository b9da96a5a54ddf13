/* SPDX-License-Identifier: MIT */
/* Faults between barriers, and what no GPU defines: the twin ends the kernel, and says why. */
#define TEST_GROUP "wrong."
#include "stage.h"

#include "module_abi.h"

#include <dlfcn.h>

/* Leaves the context broken. */
static void end_broken(stage *s)
{
    (void)s->cu->ModuleUnload(s->module);
    (void)s->cu->StreamDestroy(s->stream);
    CU_OK(s->cu->DevicePrimaryCtxReset(0));
    CU_OK(s->cu->CtxSetCurrent(NULL));
    (void)s->cu->DevicePrimaryCtxRelease(0);
}

TEST(fault, .mark = TEST_BOTH, .faults = true)
{
    for (unsigned turn = 0; turn < 3; turn++) {
        stage s = stage_open("block_kernels");
        CUdeviceptr nowhere = 0x7ffffffffffc;
        int thread = (int)(turn * 100);
        void *params[] = {&nowhere, &thread};
        CU_OK(stage_launch(&s, "block_fault", (stage_shape){{64}, {257}, 0}, params));
        CU_IS(s.cu->StreamSynchronize(s.stream), CUDA_ERROR_ILLEGAL_ADDRESS);
        if (!s.cu->software) test_pass(); /* no context of this process is to be had any more */
        end_broken(&s);
        /* Stacks on which threads had waited serve again. */
        s = stage_open("block_kernels");
        static int out[256];
        int n = 200;
        CUdeviceptr to = stage_buffer(&s, NULL, sizeof out);
        void *again[] = {&to, &n};
        stage_run(&s, "block_leave", (stage_shape){{1}, {256}, 0}, again);
        stage_take(&s, to, out, sizeof out);
        REQUIRE_EQ(out[0], 20100);
        stage_close(&s);
    }
}

static stage open_wrong(void)
{
    if (!raw_cuda_open()->software) SKIP("a GPU may hang");
    return stage_open("wrong_kernels");
}

static void check_wrong(const char *kernel, unsigned block, CUresult expected)
{
    stage s = open_wrong();
    CUdeviceptr to = stage_buffer(&s, NULL, 4096);
    int depth = 3;
    void *params[] = {&to, &depth};
    CU_OK(stage_launch(&s, kernel, (stage_shape){{4}, {block}, 0}, params));
    CU_IS(s.cu->StreamSynchronize(s.stream), expected);
    end_broken(&s);
}

TEST(waits_for_ever, .faults = true)
{
    check_wrong("wrong_halves", 32, CUDA_ERROR_LAUNCH_TIMEOUT);
    check_wrong("wrong_kinds", 33, CUDA_ERROR_LAUNCH_TIMEOUT);
    check_wrong("wrong_cluster_halves", 33, CUDA_ERROR_LAUNCH_TIMEOUT);
}

TEST_AS(static_shared_in_clusters,
        check_wrong("wrong_cluster_shared", 33, CUDA_ERROR_LAUNCH_FAILED), .faults = true)
TEST_AS(mask_without_itself, check_wrong("wrong_mask", 32, CUDA_ERROR_LAUNCH_FAILED),
        .faults = true)

/* A stack of the twin has 256 KiB. */
TEST(large_stack)
{
    stage s = open_wrong();
    static int out[300];
    CUdeviceptr to = stage_buffer(&s, NULL, sizeof out);
    int depth = 3;
    void *params[] = {&to, &depth};
    stage_run(&s, "wrong_stack", (stage_shape){{1}, {300}, 0}, params);
    stage_take(&s, to, out, sizeof out);
    for (unsigned i = 0; i < 300; i++)
        REQUIRE_EQ(out[i], 3);
    stage_close(&s);
}

TEST(other_barrier)
{
    stage s = open_wrong();
    static int out[64];
    CUdeviceptr to = stage_buffer(&s, NULL, sizeof out);
    void *params[] = {&to};
    stage_run(&s, "wrong_sites", (stage_shape){{1}, {64}, 0}, params);
    stage_take(&s, to, out, sizeof out);
    for (unsigned i = 0; i < 64; i++)
        REQUIRE_EQ(out[i], 1);
    stage_close(&s);
}

TEST(active)
{
    stage s = open_wrong();
    static uint32_t out[40];
    CUdeviceptr to = stage_buffer(&s, NULL, sizeof out);
    void *params[] = {&to};
    stage_run(&s, "wrong_active", (stage_shape){{1}, {40}, 0}, params);
    stage_take(&s, to, out, sizeof out);
    for (unsigned i = 0; i < 40; i++)
        REQUIRE_EQ(out[i], i < 10 ? 0x3ffu : i < 32 ? 0xfffffc00u ^ 0x80000000u : 0xffu);
    stage_close(&s);
}

/* Kernels whose threads do not wait keep their loop, beside others that do. */
TEST(loops)
{
    static const char *const loops_alone[] = {"block_none"};
    char path[TEST_PATH_MAX];
    if (!raw_cuda_open()->software) SKIP("the twin's modules");
    test_path(path, "share/culvert/block_kernels.soft.so");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != NULL);
    const culv_soft_module_table *table = dlsym(library, CULV_SOFT_MODULE_SYMBOL);
    REQUIRE(table != NULL);
    REQUIRE_EQ(table->num_kernels, 14);
    REQUIRE_EQ(*table->meets, 0);
    for (uint32_t i = 0; i < table->num_kernels; i++)
        REQUIRE_EQ(*table->kernels[i].meets, strcmp(table->kernels[i].name, loops_alone[0]) != 0);
    REQUIRE_EQ(dlclose(library), 0);

    test_path(path, "share/culvert/device_kernels.soft.so");
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != NULL);
    table = dlsym(library, CULV_SOFT_MODULE_SYMBOL);
    REQUIRE_EQ(*table->meets, 1);
    REQUIRE_EQ(dlclose(library), 0);
}
