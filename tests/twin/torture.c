/* SPDX-License-Identifier: MIT */
/* Driver calls that are made to fail, to wait, or to be seen: how one asks for it. library-torture
 * makes each call fail and requires that nothing is left. */
#define TEST_GROUP "torture."
#include "twin.h"

TEST(calls_are_counted)
{
    const raw_cuda *cu = raw_cuda_open();
    const char *name;
    int count;
    uint64_t before = twin_counts(cu).calls;
    CU_OK(cu->DeviceGetCount(&count));
    CU_IS(cu->DeviceGetCount(NULL), CUDA_ERROR_INVALID_VALUE);
    CU_OK(cu->GetErrorName(CUDA_SUCCESS, &name)); /* not counted, as cuGetProcAddress */
    REQUIRE_EQ(twin_counts(cu).calls, before + 2);
    cu->SoftFailAt(2, CUDA_ERROR_UNKNOWN);
    CU_OK(cu->DeviceGetCount(&count));
    REQUIRE(cu->SoftFailedCall() == NULL);
    CU_IS(cu->DeviceGetCount(&count), CUDA_ERROR_UNKNOWN);
    REQUIRE_EQ_STR(cu->SoftFailedCall(), "cuDeviceGetCount");
    CU_OK(cu->DeviceGetCount(&count));
}

#define CHILD "torture.environment_child"

/* Fails in the child: cuInit is the first call. */
TEST(environment_child)
{
    if (getenv("CULVERT_SOFT_FAIL_AT") == NULL) SKIP("only as a child");
    raw_cuda_open();
}

TEST(environment, .own = true)
{
    REQUIRE_EQ(setenv("CULVERT_SOFT_FAIL_AT", "cuda:1:CUDA_ERROR_OUT_OF_MEMORY", 1), 0);
    REQUIRE(test_run_child(CHILD) != 0);
    REQUIRE_EQ(setenv("CULVERT_SOFT_FAIL_AT", "cuda:cuInit:1", 1), 0);
    REQUIRE(test_run_child(CHILD) != 0);
    /* Another half's call, one that the child does not make, and texts that mean nothing. */
    static const char *const harmless[] = {
        "vulkan:1", "cuda:cuMemCreate:1", "cuda:cuInit:9", "cuda:cuInit", "cuda::1",
        "cuda:1:",  "cuda:1:NOTHING"};
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
        REQUIRE_EQ(setenv("CULVERT_SOFT_FAIL_AT", harmless[i], 1), 0);
        REQUIRE_EQ(test_run_child(CHILD), 0);
    }
}

/* A failure that was wished for and did not come is told where the process ends. */
TEST(never_failed, .own = true)
{
    twin_child_says(CHILD, "cuda:cuMemCreate:1",
                    "after 0 calls of cuMemCreate, and call 1 was to fail");
    twin_child_says(CHILD, "cuda:cuInit:9", "after 1 calls of cuInit, and call 9 was to fail");
    twin_child_says(CHILD, "cuda:1000000", " calls of CUDA, and call 1000000 was to fail");
    twin_child_says(CHILD, "cuda:cuInit:1", NULL);  /* it did */
    twin_child_says(CHILD, "vulkan:1000000", NULL); /* another half's, which is not there */
}

/* What failed is told, and so is a text that makes nothing fail. */
TEST(told, .own = true)
{
    twin_child_says(CHILD, "cuda:cuInit:1", "call 1, cuInit, fails");
    twin_child_says(CHILD, "cuda:0", "=cuda:0 is not cuda:[CALL:]N[:ERROR], ignored");
    twin_child_says(CHILD, "cuda", "begins neither with cuda: nor with vulkan:, ignored");
    twin_child_says(CHILD, "gl:1", "begins neither with cuda: nor with vulkan:, ignored");
}

/* How long the call took at least: what waits for 30 ms never takes less. */
static bool takes_30_ms(const raw_cuda *cu)
{
    int count;
    const double start = test_now_us();
    CU_OK(cu->DeviceGetCount(&count));
    return test_now_us() - start >= 30e3;
}

typedef struct visit {
    const raw_cuda *cu;
    const char *call;
    unsigned times;
} visit;

/* Calls of its own do not wait for the one that it is in. */
static void on_call(void *user, const char *call)
{
    visit *v = (visit *)user;
    int count;
    v->call = call;
    v->times++;
    CU_OK(v->cu->DeviceGetCount(&count));
}

TEST(calls_have_a_hook)
{
    visit v = {.cu = raw_cuda_open()};
    CUdevice device;
    int count;
    v.cu->SoftBefore(2, on_call, &v);
    CU_OK(v.cu->DeviceGetCount(&count));
    REQUIRE_EQ(v.times, 0);
    for (unsigned i = 0; i < 3; i++)
        CU_OK(v.cu->DeviceGet(&device, 0));
    REQUIRE_EQ(v.times, 1);
    REQUIRE_EQ_STR(v.call, "cuDeviceGet");
    v.cu->SoftBefore(1, on_call, &v);
    v.cu->SoftBefore(0, NULL, NULL);
    CU_OK(v.cu->DeviceGet(&device, 0));
    REQUIRE_EQ(v.times, 1);
}

/* What the child's environment makes of cuDeviceGetCount. */
TEST(delay_child)
{
    if (getenv("CULVERT_SOFT_DELAY") == NULL) SKIP("only as a child");
    REQUIRE(takes_30_ms(raw_cuda_open()));
}

TEST(delay_environment, .own = true)
{
    static const char *const delays[] = {"cuda:cuDeviceGetCount:30",
                                         "vulkan:vkCreateDevice:x,cuda:cuInit:1,"
                                         "cuda::3,cuda:cuInit:-1,cuda:cuDeviceGetCount:30"};
    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        REQUIRE_EQ(setenv("CULVERT_SOFT_DELAY", delays[i], 1), 0);
        REQUIRE_EQ(test_run_child("torture.delay_child"), 0);
    }
}
