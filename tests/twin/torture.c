/* SPDX-License-Identifier: MIT */
/* Every driver call of a small program fails once in turn, and nothing is left. */
#define TEST_GROUP "torture."
#include "raw_cuda_image.h"
#include "twin.h"

#include <errno.h>
#include <unistd.h>

/* What a small program holds; zero = not made. */
typedef struct held {
    CUcontext context;
    CUstream stream;
    CUevent event;
    CUdeviceptr memory, mapped;
    CUmodule module;
    CUexternalMemory external;
    CUexternalSemaphore semaphore;
    int memory_fd, timeline_fd; /* -1 = consumed */
} held;

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

TEST(calls_are_delayed)
{
    const raw_cuda *cu = raw_cuda_open();
    char long_name[65];
    memset(long_name, 'c', 64);
    long_name[64] = '\0';
    REQUIRE_EQ(cu->SoftDelay("", 30), EINVAL);
    REQUIRE_EQ(cu->SoftDelay(NULL, 30), EINVAL);
    REQUIRE_EQ(cu->SoftDelay(long_name, 30), EINVAL);
    REQUIRE_EQ(cu->SoftDelay("cuDeviceGetCount", 30), 0);
    REQUIRE(takes_30_ms(cu));
    for (int i = 0; i < 15; i++) {
        char name[16];
        snprintf(name, sizeof name, "cuOther%d", i);
        REQUIRE_EQ(cu->SoftDelay(name, 1), 0);
    }
    REQUIRE_EQ(cu->SoftDelay("cuOther15", 1), ENOSPC);
    REQUIRE_EQ(cu->SoftDelay("cuDeviceGetCount", 31), 0); /* in place of the 30 */
    REQUIRE(takes_30_ms(cu));
    REQUIRE_EQ(cu->SoftDelay(NULL, 0), 0);
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

/* Every image call of a small program fails once in turn, and nothing is left. */

/* What it holds; zero = not made. */
typedef struct images_held {
    CUexternalMemory external;
    CUmipmappedArray mapped, own;
    CUarray array;
    CUsurfObject surface;
    CUtexObject texture, levels; /* of an array, and of a mipmapped one */
    int memory_fd;               /* -1 = consumed */
} images_held;

static CUresult run(const raw_cuda *cu, images_held *h)
{
    const CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_FLOAT, 4, 16, 16);
    CUDA_ARRAY3D_DESCRIPTOR planar = raw_cuda_array_desc(CU_AD_FORMAT_NV12, 3, 16, 16), found;
    CUDA_RESOURCE_DESC resource;
    CUarray level;
    float texels[16 * 4 * 16], back[16 * 4 * 16];
    CUresult r;
    planar.Flags |= 0x100; /* CUDA_ARRAY3D_VIDEO_ENCODE_DECODE */
    for (int i = 0; i < 16 * 4 * 16; i++)
        texels[i] = (float)i;
#define TRY(call)                                                                                  \
    if ((r = (call)) != CUDA_SUCCESS) return r
    TRY(raw_cuda_import_memory(cu, h->memory_fd, 65536, false, &h->external));
    h->memory_fd = -1;
    TRY(raw_cuda_map_image(cu, h->external, 0, &desc, 5, &h->mapped));
    TRY(cu->MipmappedArrayGetLevel(&level, h->mapped, 0));
    TRY(cu->Array3DGetDescriptor(&found, level));
    TRY(raw_cuda_surface(cu, level, &h->surface));
    TRY(cu->SurfObjectGetResourceDesc(&resource, h->surface));
    TRY(raw_cuda_texture(cu, level, NULL, &h->texture));
    TRY(raw_cuda_mip_texture(cu, h->mapped, NULL, &h->levels));
    TRY(raw_cuda_write_array(cu, level, texels, 16 * 16, 16));
    TRY(cu->Array3DCreate(&h->array, &desc));
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .srcArray = level,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .dstArray = h->array,
                          .WidthInBytes = 256,
                          .Height = 16,
                          .Depth = 1};
    TRY(cu->Memcpy3D(&copy));
    TRY(cu->MipmappedArrayCreate(&h->own, &desc, 1));
    TRY(cu->MipmappedArrayGetLevel(&level, h->own, 0));
    copy.srcArray = h->array;
    copy.dstArray = level;
    TRY(cu->Memcpy3DAsync(&copy, NULL));
    TRY(raw_cuda_read_array(cu, level, back, 256, 16));
    REQUIRE_EQ_BYTES(back, texels, sizeof back);
    CUsurfObject surface = h->surface;
    CUtexObject texture = h->texture, levels = h->levels;
    CUmipmappedArray own = h->own, mapped = h->mapped;
    CUarray array = h->array;
    TRY(cu->SurfObjectDestroy(surface));
    h->surface = 0;
    TRY(cu->TexObjectDestroy(texture));
    h->texture = 0;
    TRY(cu->TexObjectDestroy(levels));
    h->levels = 0;
    TRY(cu->ArrayDestroy(array));
    h->array = NULL;
    TRY(cu->Array3DCreate(&h->array, &planar));
    TRY(cu->ArrayGetPlane(&level, h->array, 1));
    array = h->array;
    TRY(cu->ArrayDestroy(array));
    h->array = NULL;
    TRY(cu->MipmappedArrayDestroy(own));
    h->own = NULL;
    TRY(cu->MipmappedArrayDestroy(mapped));
    h->mapped = NULL;
#undef TRY
    return CUDA_SUCCESS;
}

static void clean(const raw_cuda *cu, images_held *h)
{
    if (h->surface != 0) CU_OK(cu->SurfObjectDestroy(h->surface));
    if (h->texture != 0) CU_OK(cu->TexObjectDestroy(h->texture));
    if (h->levels != 0) CU_OK(cu->TexObjectDestroy(h->levels));
    if (h->array != NULL) CU_OK(cu->ArrayDestroy(h->array));
    if (h->own != NULL) CU_OK(cu->MipmappedArrayDestroy(h->own));
    if (h->mapped != NULL) CU_OK(cu->MipmappedArrayDestroy(h->mapped));
    if (h->external != NULL) CU_OK(cu->DestroyExternalMemory(h->external));
    if (h->memory_fd >= 0) close(h->memory_fd);
}

TWIN_CASE(every_image_call_fails_once, 0)
{
    size_t fds = 0;
    unsigned n = 1;
    for (;; n++) {
        images_held h = {0};
        unsigned char *payload;
        h.memory_fd = twin_memory_fd(65536, &payload);
        t->cu->SoftFailAt(n, CUDA_ERROR_OUT_OF_MEMORY);
        CUresult result = run(t->cu, &h);
        const char *failed = t->cu->SoftFailedCall();
        t->cu->SoftFailAt(0, 0);
        clean(t->cu, &h);
        culv_soft_counts counts = twin_counts(t->cu);
        REQUIRE_EQ(counts.external_memories + counts.external_mappings + counts.arrays, 0);
        REQUIRE_EQ(counts.mipmapped_arrays + counts.surfaces + counts.textures + counts.fds, 0);
        if (n == 1) fds = test_open_fds();
        REQUIRE_EQ(test_open_fds(), fds);
        if (failed == NULL) {
            CU_OK(result);
            break;
        }
        CU_IS(result, CUDA_ERROR_OUT_OF_MEMORY);
    }
    REQUIRE_EQ(n - 1, 25); /* the calls of run(), with what raw_cuda_write_array() waits by */
}
