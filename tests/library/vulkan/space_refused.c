/* SPDX-License-Identifier: MIT */
/* One address: what is refused, with which words, and that nothing is made. */
#define TEST_GROUP "space_refused."
#include "space_stage.h"

#define REFUSED(change, ...)                                                                       \
    do {                                                                                           \
        culv_vk_space_desc d = space_desc(t, 64 * VMM_MIB);                                        \
        change;                                                                                    \
        LIB_ERROR(culv_vk_check_space(t->s.w.attachment, &d, NULL), __VA_ARGS__);                  \
        LIB_REFUSES(space, culv_vk_space_create(t->s.w.attachment, &d, &space), __VA_ARGS__);      \
    } while (0)

SPACE_CASE(descriptors)
{
    static const CUdeviceptr odd[] = {SPACE_CHUNK + 4096};
    culv_vk_space *space = NULL;
    REFUSED(d.queue = NULL, INVALID, NULL_ARGUMENT, "SPARSE_BINDING");
    REFUSED(d.size = 0, INVALID, SIZE, "size is 0");
    REFUSED(d.size = UINT64_MAX, INVALID, SIZE, "sparseAddressSpaceSize");
    REFUSED(d.address = 4096, INVALID, VALUE, "multiple of the granularity");
    REFUSED((d.candidates = odd, d.num_candidates = 1), INVALID, VALUE, "candidates has one");
    REFUSED(d.candidates = odd, INVALID, VALUE, "contradict");
    REFUSED((d.candidates = odd, d.num_candidates = 1, d.address = SPACE_CHUNK), INVALID, VALUE,
            "both given");
    REFUSED(d.access_count = 1, INVALID, VALUE, "access is NULL");
    REFUSED(d.memory_usage = CULV_VMM_USAGE_TILE_POOL, INVALID, VALUE, "TILE_POOL");
    REFUSED(d.struct_size = 3, INVALID, STRUCT_SIZE, "struct_size");
    culv_vk_space_destroy(NULL);
    culv_vk_space_destroy(&space);
    REQUIRE_EQ(culv_vk_space_pointer(NULL), 0);
}

SPACE_CASE(places)
{
    culv_vk_space *space = space_make(t, 64 * VMM_MIB);
    const CUstream s = t->s.stream;
    uint64_t ready = 77;
    LIB_ERROR(culv_vk_space_commit(NULL, 0, SPACE_CHUNK, NULL), INVALID, NULL_ARGUMENT);
    LIB_ERROR(culv_vk_space_commit(space, 4096, SPACE_CHUNK, &ready), INVALID, VALUE);
    LIB_ERROR(culv_vk_space_commit(space, 0, 4096, &ready), INVALID, VALUE);
    LIB_ERROR(culv_vk_space_commit(space, 0, 0, &ready), INVALID, RANGE);
    LIB_ERROR(culv_vk_space_commit(space, 64 * VMM_MIB, SPACE_CHUNK, &ready), INVALID, RANGE);
    LIB_ERROR(culv_vk_space_commit(space, 62 * VMM_MIB, 2 * SPACE_CHUNK, &ready), INVALID, RANGE);
    LIB_ERROR(culv_vk_space_commit(space, UINT64_MAX - SPACE_CHUNK + 1, SPACE_CHUNK, &ready),
              INVALID, RANGE);
    LIB_ERROR(culv_vk_space_decommit(space, 0, SPACE_CHUNK, s, 1), INVALID, NOT_MAPPED,
              "culv_vk_space_decommit: nothing is mapped");
    LIB_ERROR(culv_vk_space_decommit(space, 0, SPACE_CHUNK, s, 0), INVALID, NOT_MAPPED,
              "culv_vk_space_decommit: nothing is mapped");
    LIB_OK(culv_vk_space_commit(space, 0, 2 * SPACE_CHUNK, NULL));
    LIB_ERROR(culv_vk_space_commit(space, SPACE_CHUNK, SPACE_CHUNK, &ready), BUSY, MAPPED,
              "are committed at offset 0");
    LIB_ERROR(culv_vk_space_decommit(space, 0, SPACE_CHUNK, s, 1), INVALID, NOT_MAPPED);
    REQUIRE_EQ(ready, 77);
    culv_vmm_allocation_desc ad = culv_vmm_allocation_desc_init();
    culv_vmm_allocation *kept = NULL;
    ad.size = SPACE_CHUNK;
    LIB_OK(culv_vmm_allocation_create(t->s.w.device, &ad, &kept));
    LIB_ERROR(culv_vk_space_commit_allocation(space, 8 * SPACE_CHUNK, kept, NULL), INVALID,
              NOT_EXPORTABLE);
    LIB_ERROR(culv_vk_space_commit_allocation(space, 8 * SPACE_CHUNK, NULL, NULL), INVALID,
              NULL_ARGUMENT);
    culv_vmm_allocation_destroy(&kept);
    REQUIRE_EQ(space_info(space).chunks, 1);
    culv_vk_space_destroy(&space);
}

SPACE_CASE(buffers)
{
    culv_vk_space *space = space_make(t, 64 * VMM_MIB);
    culv_vk_space_buffer *buffer = NULL, *first = NULL;
#define WRONG(change, ...)                                                                         \
    do {                                                                                           \
        culv_vk_space_buffer_desc d = culv_vk_space_buffer_desc_init();                            \
        d.size = 4096;                                                                             \
        change;                                                                                    \
        LIB_REFUSES(buffer, culv_vk_space_buffer_create(space, &d, &buffer), __VA_ARGS__);         \
    } while (0)
    WRONG(d.size = 0, INVALID, SIZE, "a byte or more");
    WRONG(d.size = 65 * VMM_MIB, INVALID, RANGE, "leave the space");
    WRONG(d.offset = 64 * VMM_MIB, INVALID, RANGE, "leave the space");
    WRONG(d.size = UINT64_MAX, INVALID, RANGE, "leave the space");
    WRONG(d.offset = 100, INVALID, VALUE, "its use needs a multiple of");
    WRONG(d.alignment = 3, INVALID, VALUE, "power of two");
    WRONG(d.alignment = 64 * VMM_MIB, INVALID, VALUE, "granularity");
    WRONG(d.usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT, INVALID, USAGE, "buffer_usage");
    WRONG(d.own_handle = 1, INVALID, VALUE, "usage is 0");
    WRONG((d.own_handle = 1, d.usage = VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT), INVALID, USAGE,
          "a second address");
    culv_vk_space_buffer_desc most = culv_vk_space_buffer_desc_init();
    most.size = 63 * VMM_MIB;
    most.offset = 0;
    LIB_OK(culv_vk_space_buffer_create(space, &most, &first));
    WRONG(d.offset = 4096, BUSY, MAPPED, "a buffer has");
    WRONG(d.size = 2 * VMM_MIB, OUT_OF_MEMORY, ADDRESS, "no free place");
    culv_vector_desc vd = culv_vector_desc_init();
    culv_vector *vector = NULL;
    vd.space = space_info(space).base;
    vd.reserve = 2 * SPACE_CHUNK;
    LIB_REFUSES(vector, culv_vector_create(t->s.w.device, &vd, &vector), OUT_OF_MEMORY, ADDRESS);
    culv_vk_space_buffer_destroy(&first);
    culv_vk_space_buffer_destroy(&first);
    culv_vk_space_buffer_destroy(NULL);
    REQUIRE(culv_vk_space_buffer_pointer(NULL) == 0 &&
            culv_vk_space_buffer_handle(NULL, NULL) == VK_NULL_HANDLE);
    culv_vk_space_destroy(&space);
}

/* A Vulkan that is too old for it, as far as Culvert was told. */
SPACE_CASE(versions)
{
    culv_vk_device_desc vd = lib_vk_desc(&t->s.w);
    culv_vk_device *old = NULL;
    vd.api_version = VK_API_VERSION_1_1;
    LIB_OK(culv_vk_attach(t->s.w.device, &vd, &old));
    LIB_ERROR(culv_vk_check_space(old, NULL, NULL), UNSUPPORTED, VULKAN_VERSION,
              "needs Vulkan 1.2");
    culv_vk_detach(&old);
}

/* The device features, for a device that is still to be made. */
SPACE_CASE(features)
{
    culv_vk_device_desc vd = lib_vk_desc(&t->s.w);
    culv_vk_device_features storage = culv_vk_device_features_init();
    const void *chain = NULL;
    storage.one_address = 1;
    LIB_OK(culv_vk_merge_device_features(&vd, NULL, &storage, &chain));
    REQUIRE(storage.features2.features.sparseBinding &&
            storage.features2.features.sparseResidencyBuffer);
    REQUIRE(storage.buffer_device_address.bufferDeviceAddress &&
            storage.buffer_device_address.bufferDeviceAddressCaptureReplay);
    REQUIRE(chain == &storage.features2);
    VkPhysicalDeviceVulkan12Features mine = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceFeatures2 features2 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                           .pNext = &mine};
    LIB_OK(culv_vk_merge_device_features(&vd, &features2, &storage, &chain));
    REQUIRE(features2.features.sparseBinding && features2.features.sparseResidencyBuffer);
    REQUIRE(mine.bufferDeviceAddress && mine.bufferDeviceAddressCaptureReplay &&
            mine.timelineSemaphore);
    storage = culv_vk_device_features_init();
    memset(&mine.samplerMirrorClampToEdge, 0,
           sizeof mine - offsetof(VkPhysicalDeviceVulkan12Features, samplerMirrorClampToEdge));
    LIB_OK(culv_vk_merge_device_features(&vd, &mine, &storage, &chain));
    REQUIRE(!mine.bufferDeviceAddressCaptureReplay);
    vd.api_version = VK_API_VERSION_1_1;
    storage.one_address = 1;
    LIB_ERROR(culv_vk_merge_device_features(&vd, NULL, &storage, &chain), UNSUPPORTED,
              VULKAN_VERSION);
}

/* A VkDevice that was made without them: Culvert learns it from Vulkan's answers, and not by trying
 * all addresses. */
TEST(without_features)
{
    lib_world w;
    culv_vk_space *space = NULL;
    lib_with_option("--validation=off"); /* it tells of each try */
    lib_open(&w);
    if (!w.cu->software) SKIP("the driver may have them although nobody asked");
    if (test_sanitized()) SKIP("a sanitizer has the addresses that CUDA is asked for");
    culv_vk_space_desc d = culv_vk_space_desc_init();
    d.size = 3 * VMM_MIB + 1;
    d.queue = w.vk.queues[0].queue;
    LIB_REFUSES(space, culv_vk_space_create(w.attachment, &d, &space), UNSUPPORTED, USAGE,
                "not one of 4", "culv_vk_device_features::one_address");
    lib_close(&w);
}
