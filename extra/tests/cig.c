/* SPDX-License-Identifier: MIT */
/* CUDA-in-graphics contexts beside a VkDevice: made, used, and what is refused in them. */
#define TEST_GROUP "cig."
#include "library.h"

#include "culvert/extra/mem_pool.h"
#include "culvert/extra/vulkan_cig.h"

#include <culvert/vector.h>

enum { WORDS = 4099 };

/* Debian 12's validation layer (1.3.239) does not know VK_NV_external_compute_queue, and skips
 * calls that have its structs. */
static void open_with_queues(lib_world *w)
{
    lib_with_option("--validation=off");
    lib_with_external_queues = true;
    lib_open(w);
}

#define CIG_CASE(name) TEST_ON(lib_world, w, open_with_queues(w), lib_close(w), name, .own = true)

static VkQueue graphics_queue(const lib_world *w)
{
    for (uint32_t i = 0; i < w->vk.queue_count; i++)
        if (w->vk.queues[i].flags & VK_QUEUE_GRAPHICS_BIT) return w->vk.queues[i].queue;
    SKIP("no queue has graphics");
}

static culv_cig *make(const lib_world *w)
{
    culv_cig *cig = NULL;
    const culv_vk_device_desc vulkan = lib_vk_desc(w);
    const culv_result result =
        culv_vk_cig_create(w->device, &vulkan, graphics_queue(w), "cig", &cig);
    culv_error e = culv_error_init();
    culv_last_error(&e);
    if (result != CULV_OK &&
        (e.reason == CULV_REASON_CIG || e.reason == CULV_REASON_EXTENSION_MISSING))
        SKIP("%s", culv_last_error_message());
    LIB_OK(result);
    return cig;
}

static culv_device *open_in(const lib_world *w, const culv_cig *cig)
{
    const culv_device_caps caps = lib_caps(w->device);
    culv_device_desc desc = culv_device_desc_init();
    culv_device *device = NULL;
    desc.context = culv_cig_context(cig);
    LIB_OK(culv_device_open_by_uuid(&caps.uuid, &desc, &device));
    return device;
}

/* Vulkan's buffer in a CIG context, both ways. */
CIG_CASE(used)
{
    culv_cig *cig = make(w);
    CUcontext current = NULL;
    CU_OK(w->cu->CtxGetCurrent(&current));
    REQUIRE(current == NULL && culv_cig_context(cig) != NULL);
    culv_device *device = open_in(w, cig);
    REQUIRE(lib_caps(device).cig_context);
    REQUIRE(!lib_caps(w->device).cig_context);
    REQUIRE(culv_device_context(device) == culv_cig_context(cig));
    culv_vk_device_desc vk_desc = lib_vk_desc(w);
    culv_vk_device *vk = NULL;
    LIB_OK(culv_vk_attach(device, &vk_desc, &vk));
    const VkBufferCreateInfo info =
        raw_vk_buffer_info(WORDS * 4, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
    culv_vk_buffer_create_desc desc = culv_vk_buffer_create_desc_init();
    culv_shared_buffer *buffer = NULL;
    desc.create_info = &info;
    LIB_OK(culv_vk_buffer_create(vk, &desc, &buffer));
    static uint32_t put[WORDS], got[WORDS];
    for (uint32_t i = 0; i < WORDS; i++)
        put[i] = lib_word(i, 7);
    const CUdeviceptr p = culv_buffer_pointer(culv_shared_buffer_cuda(buffer));
    CU_OK(w->cu->CtxPushCurrent(culv_cig_context(cig)));
    CU_OK(w->cu->MemcpyHtoD(p, put, sizeof put));
    CU_OK(w->cu->MemcpyDtoH(got, p, sizeof got));
    CU_OK(w->cu->CtxPopCurrent(&current));
    REQUIRE(memcmp(put, got, sizeof put) == 0);
    culv_shared_buffer_destroy(&buffer, NULL);
    culv_vk_detach(&vk);
    culv_device_close(&device);
    culv_cig_destroy(&cig);
    REQUIRE(cig == NULL);
    culv_cig_destroy(&cig);
    culv_cig_destroy(NULL);
    REQUIRE(culv_cig_context(NULL) == NULL);
}

CIG_CASE(refused)
{
    culv_cig *cig = make(w), *none;
    culv_device *device = open_in(w, cig);
    culv_vmm_allocation_desc a = culv_vmm_allocation_desc_init();
    culv_vmm_range_desc r = culv_vmm_range_desc_init();
    culv_vector_desc v = culv_vector_desc_init();
    culv_pool_desc pool_desc = culv_pool_desc_init();
    culv_vmm_allocation *allocation;
    culv_vmm_range *range;
    culv_vector *vector;
    culv_pool *pool;
    a.size = r.size = v.size = 4096;
    LIB_REFUSES(allocation, culv_vmm_allocation_create(device, &a, &allocation), UNSUPPORTED, CIG,
                "cuMemAlloc");
    LIB_REFUSES(range, culv_vmm_range_create(device, &r, &range), UNSUPPORTED, CIG);
    LIB_REFUSES(vector, culv_vector_create(device, &v, &vector), UNSUPPORTED, CIG);
    LIB_REFUSES(pool, culv_pool_create(device, &pool_desc, &pool), UNSUPPORTED, CIG);
    culv_device_close(&device);
    culv_cig_destroy(&cig);
    culv_vk_device_desc vulkan = lib_vk_desc(w);
    LIB_REFUSES(none, culv_vk_cig_create(w->device, &vulkan, VK_NULL_HANDLE, NULL, &none), INVALID,
                NULL_ARGUMENT);
    vulkan.device = VK_NULL_HANDLE;
    LIB_REFUSES(none, culv_vk_cig_create(w->device, &vulkan, graphics_queue(w), NULL, &none),
                INVALID, NULL_ARGUMENT, "device of the culv_vk_device_desc");
}

/* Each driver call fails once: nothing is left of it. */
CIG_CASE(failing)
{
    if (!w->cu->software) SKIP("failures are the twin's");
    culv_cig *cig = make(w);
    const culv_vk_device_desc vulkan = lib_vk_desc(w);
    culv_cig_destroy(&cig);
    for (uint64_t n = 1; n <= 3; n++) {
        w->cu->SoftFailAt(n, CUDA_ERROR_NOT_SUPPORTED);
        const culv_result result =
            culv_vk_cig_create(w->device, &vulkan, graphics_queue(w), "cig", &cig);
        w->cu->SoftFailAt(0, 0);
        REQUIRE(result == CULV_OK || cig == NULL);
        REQUIRE((result == CULV_OK) == (n == 3)); /* the third makes it not current */
        culv_cig_destroy(&cig);
    }
}
