/* SPDX-License-Identifier: MIT */
/* Images of each kind: sampled, and read as surfaces or storage images, from both sides. */
#include "kinds.h"

#include <stdio.h>

typedef enum scheme {
    ARRAY,
    OWN,
    OWN_DEDICATED,
    EXPORTED,
    EXPORTED_DEDICATED,
    MADE,
    SCHEMES
} scheme;

static const char *const schemes[SCHEMES] = {
    [ARRAY] = "cuArray3DCreate",
    [OWN] = "Vulkan's, not exportable",
    [OWN_DEDICATED] = "Vulkan's, not exportable, dedicated",
    [EXPORTED] = "Vulkan's, exportable",
    [EXPORTED_DEDICATED] = "Vulkan's, exportable, dedicated",
    [MADE] = "culv_vk_image_create()",
};

typedef struct subject {
    CUarray own, array; /* `own` is this program's */
    VkImage image, shown;
    VkDeviceMemory memory;
    VkImageView view;
    culv_memory *import;
    culv_image *mapped;
    culv_shared_image *made;
    kinds_job job;
} subject;

static VkImageCreateInfo image_info(uint32_t side)
{
    return (VkImageCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                               .imageType = VK_IMAGE_TYPE_2D,
                               .format = VK_FORMAT_R32_UINT,
                               .extent = {side, side, 1},
                               .mipLevels = 1,
                               .arrayLayers = 1,
                               .samples = VK_SAMPLE_COUNT_1_BIT,
                               .tiling = VK_IMAGE_TILING_OPTIMAL,
                               .usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT |
                                        VK_IMAGE_USAGE_TRANSFER_SRC_BIT};
}

static void allocate(const kinds *k, subject *s, uint32_t side, bool shared, bool dedicated)
{
    const raw_vk *vk = &k->bench.rig.vk;
    const VkExternalMemoryImageCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkExportMemoryAllocateInfo exported = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkImageCreateInfo info = image_info(side);
    VkMemoryRequirements needs;
    uint32_t type = 0;
    info.pNext = shared ? &external : NULL;
    VK_OK(vkCreateImage(vk->device, &info, NULL, &s->image));
    const VkMemoryDedicatedAllocateInfo to_it = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
        .pNext = shared ? &exported : NULL,
        .image = s->image};
    vkGetImageMemoryRequirements(vk->device, s->image, &needs);
    while (type < vk->memory.memoryTypeCount &&
           ((needs.memoryTypeBits >> type & 1) == 0 || (vk->memory.memoryTypes[type].propertyFlags &
                                                        VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) == 0))
        type++;
    REQUIRE(type < vk->memory.memoryTypeCount);
    const VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                         .pNext = dedicated ? &to_it : to_it.pNext,
                                         .allocationSize = needs.size,
                                         .memoryTypeIndex = type};
    VK_OK(vkAllocateMemory(vk->device, &memory, NULL, &s->memory));
    VK_OK(vkBindImageMemory(vk->device, s->image, s->memory, 0));
    s->shown = s->image;
    if (!shared) return;
    culv_vk_memory_desc d = culv_vk_memory_desc_init();
    culv_vk_image_desc map = culv_vk_image_desc_init();
    d.memory = s->memory;
    d.allocation_size = needs.size;
    d.dedicated = dedicated;
    d.image = s->image;
    map.image = s->image;
    map.create_info = &info;
    CULV_OK_OR_EXIT(culv_vk_memory_import(k->bench.rig.attached, &d, &s->import));
    CULV_OK_OR_EXIT(culv_vk_image_map(k->bench.rig.attached, s->import, &map, &s->mapped));
    CULV_OK_OR_EXIT(culv_image_get_array(s->mapped, 0, &s->array));
}

static void make(const kinds *k, subject *s, uint32_t side)
{
    const VkImageCreateInfo info = image_info(side);
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    CULV_OK_OR_EXIT(culv_vk_image_create(k->bench.rig.attached, &d, &s->made));
    CULV_OK_OR_EXIT(culv_image_get_array(culv_shared_image_cuda(s->made), 0, &s->array));
    s->shown = culv_vk_image_handle(s->made);
}

static void show_to_cuda(const kinds *k, subject *s)
{
    const raw_cuda *cu = k->bench.rig.cu;
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = s->array};
    CUDA_TEXTURE_DESC texture = {.filterMode = CU_TR_FILTER_MODE_POINT,
                                 .flags = CU_TRSF_READ_AS_INTEGER};
    for (int i = 0; i < 3; i++)
        texture.addressMode[i] = CU_TR_ADDRESS_MODE_CLAMP;
    RIG_CU(cu->TexObjectCreate(&s->job.texture, &resource, &texture, NULL));
    RIG_CU(cu->SurfObjectCreate(&s->job.surface, &resource));
}

/* A view, a set, and the layout that both sides use it in. */
static void show_to_vulkan(kinds *k, subject *s)
{
    raw_vk *vk = &k->bench.rig.vk;
    const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    const VkImageViewCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                        .image = s->shown,
                                        .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                        .format = VK_FORMAT_R32_UINT,
                                        .subresourceRange = all};
    const VkImageMemoryBarrier2 barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
                                           .dstStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                                           .dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT |
                                                            VK_ACCESS_2_MEMORY_WRITE_BIT,
                                           .newLayout = VK_IMAGE_LAYOUT_GENERAL,
                                           .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                           .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                           .image = s->shown,
                                           .subresourceRange = all};
    const VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                         .imageMemoryBarrierCount = 1,
                                         .pImageMemoryBarriers = &barrier};
    VK_OK(vkCreateImageView(vk->device, &info, NULL, &s->view));
    s->job.set = kinds_set(k, s->view);
    VkCommandBuffer commands = raw_vk_begin(vk, 0);
    vkCmdPipelineBarrier2(commands, &dependency);
    raw_vk_submit(vk, commands, NULL);
}

static void open_subject(kinds *k, subject *s, scheme which, uint32_t side)
{
    const rig *r = &k->bench.rig;
    *s = (subject){.job = {.bytes = (uint64_t)side * side * 4, .side = side}};
    switch (which) {
    case ARRAY: {
        const CUDA_ARRAY3D_DESCRIPTOR d = {.Width = side,
                                           .Height = side,
                                           .Format = CU_AD_FORMAT_UNSIGNED_INT32,
                                           .NumChannels = 1,
                                           .Flags = CUDA_ARRAY3D_SURFACE_LDST};
        RIG_CU(r->cu->Array3DCreate(&s->own, &d));
        s->array = s->own;
        break;
    }
    case MADE: make(k, s, side); break;
    default:
        allocate(k, s, side, which >= EXPORTED,
                 which == OWN_DEDICATED || which == EXPORTED_DEDICATED);
    }
    if (s->array != NULL) show_to_cuda(k, s);
    if (s->shown != VK_NULL_HANDLE) show_to_vulkan(k, s);
}

static void close_subject(const kinds *k, subject *s)
{
    const rig *r = &k->bench.rig;
    if (s->array != NULL) {
        RIG_CU(r->cu->TexObjectDestroy(s->job.texture));
        RIG_CU(r->cu->SurfObjectDestroy(s->job.surface));
    }
    if (s->own != NULL) RIG_CU(r->cu->ArrayDestroy(s->own));
    vkDestroyImageView(r->vk.device, s->view, NULL);
    culv_image_unmap(&s->mapped);
    culv_memory_destroy(&s->import);
    culv_shared_image_destroy(&s->made);
    vkDestroyImage(r->vk.device, s->image, NULL);
    vkFreeMemory(r->vk.device, s->memory, NULL);
    (void)culv_device_collect(r->device);
}

static void measure(kinds *k, subject *s, scheme which)
{
    static const struct {
        kinds_image_work work;
        const char *pattern;
        bool random;
    } patterns[] = {{KINDS_STREAM_SAMPLED, "sampled, stream", false},
                    {KINDS_STREAM_STORED, "surface, stream", false},
                    {KINDS_RANDOM_SAMPLED, "sampled, random", true},
                    {KINDS_RANDOM_STORED, "surface, random", true}};
    kinds_job *job = &s->job;
    kinds_do(k, job, s->array != NULL ? KINDS_CUDA : KINDS_VULKAN, KINDS_IMAGE_FILL);
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        const double amount =
            patterns[i].random ? (double)k->threads * k->reads : (double)job->bytes;
        for (kinds_side side = 0; side < KINDS_SIDES; side++) {
            if (side == KINDS_CUDA ? s->array == NULL : s->shown == VK_NULL_HANDLE) continue;
            const spread rate = kinds_measure(k, job, side, (int)patterns[i].work, amount);
            kinds_row *row = kinds_add_row(k, "images", schemes[which], patterns[i].pattern, side,
                                           job->bytes, rate);
            kinds_end_row(k, row, schemes[ARRAY], 0.0);
        }
    }
}

/* Whether both sides have images that large. */
static bool is_possible(const kinds *k, uint32_t side)
{
    const rig *r = &k->bench.rig;
    int most = 0;
    RIG_CU(
        r->cu->DeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, r->ordinal));
    if (side > r->vk.properties.limits.maxImageDimension2D || side > (uint32_t)most) return false;
    const VkImageCreateInfo info = image_info(side);
    culv_vk_sharing_info answer = culv_vk_sharing_info_init();
    return culv_vk_check_image(r->attached, &info, NULL, &answer) == CULV_OK;
}

void kinds_images(kinds *k, const uint64_t *sizes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t side = 1;
        while ((uint64_t)side * side * 4 < sizes[i])
            side *= 2;
        if (!is_possible(k, side)) {
            char text[96];
            snprintf(text, sizeof text, "images of %u x %u texels: the device does not have them",
                     side, side);
            bench_left_out(&k->bench, text);
            continue;
        }
        for (scheme which = 0; which < SCHEMES; which++) {
            subject s;
            bench_variant(&k->bench, "image: %s", schemes[which]);
            open_subject(k, &s, which, side);
            measure(k, &s, which);
            close_subject(k, &s);
        }
    }
}
