/* SPDX-License-Identifier: MIT */
/* Torture of VMM memory in Vulkan: memory, a buffer and an image on an allocation, and a vector's
 * buffers, which no failed update may change. */
#include "torture.h"

#define CHUNK (UINT64_C(2) << 20)

static const VkExternalMemoryBufferCreateInfo external_buffer = {
    .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
    .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
static const VkBufferCreateInfo buffer_info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                               .pNext = &external_buffer,
                                               .size = 65536,
                                               .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
static const VkExternalMemoryImageCreateInfo external_image = {
    .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
    .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
static const VkImageCreateInfo image_info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                             .pNext = &external_image,
                                             .imageType = VK_IMAGE_TYPE_2D,
                                             .format = VK_FORMAT_R8G8B8A8_UNORM,
                                             .extent = {64, 64, 1},
                                             .mipLevels = 1,
                                             .arrayLayers = 1,
                                             .samples = VK_SAMPLE_COUNT_1_BIT,
                                             .tiling = VK_IMAGE_TILING_OPTIMAL,
                                             .usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT};

/* Of Vulkan's calls of `run` that are not Culvert's: a failure that is armed counts Culvert's
 * alone. */
static void bindings(culv_vmm_allocation *allocation)
{
    lib_world *w = &torture.w;
    VkBuffer buffer;
    VkImage image;
    VkDeviceMemory memory[4] = {VK_NULL_HANDLE, VK_NULL_HANDLE, VK_NULL_HANDLE, VK_NULL_HANDLE};
    culv_vk_memory_from_handle_desc d =
        culv_vk_memory_from_handle_desc_init(); /* whose it is CUDA is asked */
    VK_OK(vkCreateBuffer(w->vk.device, &buffer_info, NULL, &buffer));
    VK_OK(vkCreateImage(w->vk.device, &image_info, NULL, &image));
    VkMemoryRequirements needs; /* asked for because validation wants it asked */
    vkGetImageMemoryRequirements(w->vk.device, image, &needs);
    vkGetBufferMemoryRequirements(w->vk.device, buffer, &needs);
    TRY_AGAIN(culv_vk_memory_from_vmm(w->attachment, allocation, NULL, &memory[0]),
              memory[0] == VK_NULL_HANDLE);
    TRY_AGAIN(culv_vk_buffer_bind_vmm(w->attachment, buffer, allocation, 65536, &memory[1]),
              memory[1] == VK_NULL_HANDLE);
    TRY_AGAIN(culv_vk_image_bind_vmm(w->attachment, image, &image_info, allocation, 0, &memory[2]),
              memory[2] == VK_NULL_HANDLE);
    TRY_AGAIN(culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_FD, &d.handle),
              d.handle.type == CULV_HANDLE_NONE);
    d.size = CHUNK;
    TRY_AGAIN(culv_vk_memory_from_handle(w->attachment, &d, &memory[3]),
              memory[3] == VK_NULL_HANDLE);
    culv_handle_close(&d.handle);
    vkDestroyBuffer(w->vk.device, buffer, NULL);
    vkDestroyImage(w->vk.device, image, NULL);
    for (int i = 0; i < 4; i++)
        vkFreeMemory(w->vk.device, memory[i], NULL);
}

/* The other way round. */
static void vulkans_memory(void)
{
    lib_world *w = &torture.w;
    raw_vk_buffer buffer;
    culv_vmm_allocation *out = POISON(culv_vmm_allocation);
    culv_vk_memory_desc d = culv_vk_memory_desc_init();
    raw_vk_buffer_create(&w->vk, CHUNK, RAW_VK_EXPORT, &buffer);
    d.memory = buffer.memory;
    d.allocation_size = buffer.allocation_size;
    TRY_AGAIN(culv_vk_memory_import_vmm(w->attachment, &d, &out),
              out == POISON(culv_vmm_allocation));
    DO(culv_vmm_allocation_destroy(&out));
    raw_vk_buffer_destroy(&w->vk, &buffer);
}

typedef struct shown {
    culv_vk_vector_view_buffer parts[8];
    size_t count;
    uint64_t generation;
} shown;

static shown look(const culv_vector_view *view)
{
    shown now;
    memset(&now, 0, sizeof now);
    LIB_OK(culv_vk_vector_view_get_buffers(view, now.parts, 8, &now.count));
    now.generation = culv_vector_view_generation(view);
    return now;
}

static bool as_before(const culv_vector_view *view, const shown *before)
{
    const shown now = look(view);
    return memcmp(&now, before, sizeof now) == 0;
}

static void run(void)
{
    lib_world *w = &torture.w;
    culv_vmm_allocation *allocation = NULL;
    culv_vector *vector = NULL;
    culv_vector_view *view = POISON(culv_vector_view);
    CUstream stream = torture_open();
    culv_vmm_allocation_desc ad = culv_vmm_allocation_desc_init();
    ad.size = CHUNK;
    ad.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    LIB_OK(culv_vmm_allocation_create(w->device, &ad, &allocation));
    bindings(allocation);
    vulkans_memory();
    culv_vmm_allocation_destroy(&allocation);

    culv_vector_desc d = culv_vector_desc_init();
    d.size = 2 * CHUNK;
    d.max_chunk = CHUNK;
    d.handle_types = ad.handle_types;
    LIB_OK(culv_vector_create(w->device, &d, &vector));
    culv_vk_vector_view_desc vd = culv_vk_vector_view_desc_init();
    vd.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    TRY_AGAIN(culv_vk_vector_view_create(w->attachment, vector, &vd, &view),
              view == POISON(culv_vector_view));
    LIB_OK(culv_vector_grow(vector, 4 * CHUNK));
    shown before = look(view);
    TRY_AGAIN(culv_vector_view_update(view), as_before(view, &before));
    /* A chunk that is gone, one in its place, and one that stays. */
    LIB_OK(culv_vector_shrink(vector, CHUNK, stream));
    lib_finish(w, stream);
    LIB_OK(culv_vector_grow(vector, 2 * CHUNK));
    before = look(view);
    TRY_AGAIN(culv_vector_view_update(view), as_before(view, &before));
    const shown now = look(view);
    REQUIRE(now.count == 2 && now.parts[0].buffer == before.parts[0].buffer &&
            now.parts[1].chunk != before.parts[1].chunk);
    DO(culv_vector_view_destroy(&view));
    REQUIRE(view == NULL);
    culv_vector_destroy(&vector, NULL);
    lib_settle(w);
    torture_close(stream);
}

static const torture_path path = {
    .any_driver = true, .unvalidated = true, .run = run, .least = {8, 16, 6}};
TORTURE_CASES("vulkan_vmm", path)
