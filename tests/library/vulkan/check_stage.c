/* SPDX-License-Identifier: MIT */
/* See check_stage.h. */
#include "check_stage.h"

check_spying check_spy;

/* The loader ----------------------------------------------------------------------------------- */

static bool has(const void *chain, VkStructureType type)
{
    for (const VkBaseInStructure *s = chain; s != NULL; s = s->pNext)
        if (s->sType == type) return true;
    return false;
}

static void lower(uint32_t *value, uint32_t to)
{
    if (to != 0) *value = to;
}

static void spoil(VkExternalMemoryProperties *properties)
{
    if (check_spy.compatible_with_dma_buf)
        properties->compatibleHandleTypes |= VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
}

static VKAPI_ATTR VkResult VKAPI_CALL spy_image(VkPhysicalDevice device,
                                                const VkPhysicalDeviceImageFormatInfo2 *info,
                                                VkImageFormatProperties2 *out)
{
    check_spy.sharing++;
    check_spy.saw_list = has(info->pNext, VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO);
    check_spy.saw_stencil = has(info->pNext, VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO);
    check_spy.saw_video = has(info->pNext, VK_STRUCTURE_TYPE_VIDEO_PROFILE_LIST_INFO_KHR);
    if ((info->usage & check_spy.refused_usage) && out->pNext != NULL)
        return check_spy.refusal != VK_SUCCESS ? check_spy.refusal : VK_ERROR_FORMAT_NOT_SUPPORTED;
    VkResult r = vkGetPhysicalDeviceImageFormatProperties2(device, info, out);
    VkImageFormatProperties *most = &out->imageFormatProperties;
    lower(&most->maxExtent.width, check_spy.max_side);
    lower(&most->maxExtent.height, check_spy.max_side);
    lower(&most->maxExtent.depth, check_spy.max_side);
    lower(&most->maxArrayLayers, check_spy.max_layers);
    if (check_spy.max_side > 65535) most->maxMipLevels = 32;
    if (check_spy.max_resource_size != 0) most->maxResourceSize = check_spy.max_resource_size;
    for (VkBaseOutStructure *s = out->pNext; s != NULL; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES)
            spoil(&((VkExternalImageFormatProperties *)(void *)s)->externalMemoryProperties);
    return r;
}

static VKAPI_ATTR void VKAPI_CALL spy_buffer(VkPhysicalDevice device,
                                             const VkPhysicalDeviceExternalBufferInfo *info,
                                             VkExternalBufferProperties *out)
{
    check_spy.sharing++;
    vkGetPhysicalDeviceExternalBufferProperties(device, info, out);
    spoil(&out->externalMemoryProperties);
}

static void spoil_needs(VkMemoryRequirements2 *out)
{
    check_spy.needs++;
    if (check_spy.tells_nothing) out->memoryRequirements.size = 0;
    for (VkBaseOutStructure *s = out->pNext; s != NULL; s = s->pNext) {
        VkMemoryDedicatedRequirements *dedicated = (VkMemoryDedicatedRequirements *)(void *)s;
        if (s->sType != VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS) continue;
        if (check_spy.requires_dedicated) dedicated->requiresDedicatedAllocation = VK_TRUE;
        if (check_spy.prefers_dedicated) dedicated->prefersDedicatedAllocation = VK_TRUE;
    }
}

static VKAPI_ATTR void VKAPI_CALL spy_image_needs(VkDevice device,
                                                  const VkDeviceImageMemoryRequirements *info,
                                                  VkMemoryRequirements2 *out)
{
    check_spy.saw_external =
        has(info->pCreateInfo->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO);
    /* Of families that the device has not it is not asked. */
    VkImageCreateInfo own = *info->pCreateInfo;
    VkDeviceImageMemoryRequirements asked = *info;
    if (check_spy.families != 0) {
        own.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
        asked.pCreateInfo = &own;
    }
    vkGetDeviceImageMemoryRequirements(device, &asked, out);
    spoil_needs(out);
}

static VKAPI_ATTR void VKAPI_CALL spy_buffer_needs(VkDevice device,
                                                   const VkDeviceBufferMemoryRequirements *info,
                                                   VkMemoryRequirements2 *out)
{
    check_spy.saw_external =
        has(info->pCreateInfo->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
    vkGetDeviceBufferMemoryRequirements(device, info, out);
    spoil_needs(out);
}

static VKAPI_ATTR void VKAPI_CALL spy_memory(VkPhysicalDevice device,
                                             VkPhysicalDeviceMemoryProperties *out)
{
    check_spy.others++;
    vkGetPhysicalDeviceMemoryProperties(device, out);
    for (uint32_t i = 0; check_spy.heap_size != 0 && i < out->memoryHeapCount; i++)
        out->memoryHeaps[i].size = check_spy.heap_size;
}

static VKAPI_ATTR void VKAPI_CALL spy_families(VkPhysicalDevice device, uint32_t *count,
                                               VkQueueFamilyProperties *out)
{
    check_spy.others++;
    vkGetPhysicalDeviceQueueFamilyProperties(device, count, out);
    lower(count, check_spy.families);
}

static VKAPI_ATTR void VKAPI_CALL spy_properties(VkPhysicalDevice device,
                                                 VkPhysicalDeviceProperties2 *out)
{
    check_spy.others++;
    vkGetPhysicalDeviceProperties2(device, out);
    for (VkBaseOutStructure *s = out->pNext; s != NULL; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES &&
            check_spy.max_buffer_size != 0)
            ((VkPhysicalDeviceMaintenance4Properties *)(void *)s)->maxBufferSize =
                check_spy.max_buffer_size;
}

static VKAPI_ATTR VkResult VKAPI_CALL spy_create_image(VkDevice device,
                                                       const VkImageCreateInfo *info,
                                                       const VkAllocationCallbacks *allocator,
                                                       VkImage *out)
{
    if (check_spy.create_result != VK_SUCCESS) return check_spy.create_result;
    return vkCreateImage(device, info, allocator, out);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL spy_device_proc(VkDevice device, const char *name)
{
    if (strcmp(name, "vkCreateImage") == 0) return (PFN_vkVoidFunction)spy_create_image;
    bool image = strncmp(name, "vkGetDeviceImageMemoryRequirements", 34) == 0;
    bool buffer = strncmp(name, "vkGetDeviceBufferMemoryRequirements", 35) == 0;
    if (!image && !buffer) return vkGetDeviceProcAddr(device, name);
    bool khr = strstr(name, "KHR") != NULL;
    if (khr ? check_spy.without_khr : check_spy.without_core) return NULL;
    return image ? (PFN_vkVoidFunction)spy_image_needs : (PFN_vkVoidFunction)spy_buffer_needs;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL check_loader(VkInstance instance, const char *name)
{
    static const struct {
        const char *name;
        PFN_vkVoidFunction function;
    } spies[] = {
        {"vkGetPhysicalDeviceImageFormatProperties2", (PFN_vkVoidFunction)spy_image},
        {"vkGetPhysicalDeviceExternalBufferProperties", (PFN_vkVoidFunction)spy_buffer},
        {"vkGetPhysicalDeviceMemoryProperties", (PFN_vkVoidFunction)spy_memory},
        {"vkGetPhysicalDeviceQueueFamilyProperties", (PFN_vkVoidFunction)spy_families},
        {"vkGetPhysicalDeviceProperties2", (PFN_vkVoidFunction)spy_properties},
        {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)spy_device_proc},
    };
    for (size_t i = 0; i < sizeof spies / sizeof spies[0]; i++)
        if (strcmp(name, spies[i].name) == 0) return spies[i].function;
    return vkGetInstanceProcAddr(instance, name);
}

culv_vk_device *check_attach(const lib_world *w, uint32_t api_version)
{
    culv_vk_device_desc d = lib_vk_desc(w);
    d.get_instance_proc_addr = check_loader;
    d.api_version = api_version;
    NEW(culv_vk_device, vk, culv_vk_attach, w->device, &d);
    return vk;
}

/* Plans ---------------------------------------------------------------------------------------- */

VkImageCreateInfo check_image_info(VkFormat format, uint32_t width, uint32_t height)
{
    return raw_vk_image_info(format, width, height,
                             VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                                 VK_IMAGE_USAGE_SAMPLED_BIT);
}

VkBufferCreateInfo check_buffer_info(VkDeviceSize size)
{
    return raw_vk_buffer_info(size,
                              VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
}

/* Agreement ------------------------------------------------------------------------------------ */

static culv_error last_error(void)
{
    culv_error e = culv_error_init();
    culv_last_error(&e);
    return e;
}

static void poison(culv_vk_sharing_info *out)
{
    memset(out, 0x5a, sizeof *out);
    out->struct_size = sizeof *out;
}

static void require_poisoned(const culv_vk_sharing_info *out)
{
    culv_vk_sharing_info untouched;
    poison(&untouched);
    REQUIRE_EQ_BYTES(out, &untouched, sizeof untouched);
}

/* What both calls have said of one plan. */
static void require_same(culv_result checked, const culv_error *said, culv_result made)
{
    culv_error e = last_error();
    if (made != checked ||
        (made != CULV_OK && (e.reason != said->reason || strcmp(e.message, said->message) != 0)))
        FAIL("the gate says %s, %s: %s\nbut making it says %s, %s: %s", culv_result_name(checked),
             culv_reason_name(said->reason), said->message, culv_result_name(made),
             culv_reason_name(e.reason), e.message);
}

static culv_vk_check_desc plain(const culv_vk_check_desc *desc)
{
    culv_vk_check_desc d = desc != NULL ? *desc : culv_vk_check_desc_init();
    d.label = "planned";
    return d;
}

static void require_needs(const lib_world *w, const culv_vk_sharing_info *s,
                          const VkMemoryRequirements2 *told,
                          const VkMemoryDedicatedRequirements *dedicated)
{
    REQUIRE_EQ(s->requirements_known, 1); /* the tests' devices are of Vulkan 1.3 */
    REQUIRE_EQ(s->requirements.size, told->memoryRequirements.size);
    REQUIRE_EQ(s->requirements.alignment, told->memoryRequirements.alignment);
    REQUIRE_EQ(s->requirements.memoryTypeBits, told->memoryRequirements.memoryTypeBits);
    REQUIRE_EQ(s->dedicated_preferred, dedicated->prefersDedicatedAllocation);
    REQUIRE(s->dedicated_required || !dedicated->requiresDedicatedAllocation);
    REQUIRE(s->memory_type_index < w->vk.memory.memoryTypeCount);
    REQUIRE(s->requirements.memoryTypeBits & (1u << s->memory_type_index));
}

static void require_image_needs(const lib_world *w, const culv_vk_sharing_info *s, VkImage image)
{
    VkMemoryDedicatedRequirements dedicated = {.sType =
                                                   VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS};
    VkMemoryRequirements2 told = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2,
                                  .pNext = &dedicated};
    const VkImageMemoryRequirementsInfo2 info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_REQUIREMENTS_INFO_2, .image = image};
    vkGetImageMemoryRequirements2(w->vk.device, &info, &told);
    require_needs(w, s, &told, &dedicated);
}

/* The fields that are told alike; culv_image_get_desc() makes every default explicit, and so does
 * the gate. */
static void require_mapped_as(const culv_vk_sharing_info *s, const culv_image *image)
{
    culv_image_desc d = culv_image_desc_init();
    LIB_OK(culv_image_get_desc(image, &d));
    REQUIRE(s->image.label == NULL);
    REQUIRE_EQ(s->image.offset, 0);
    REQUIRE(memcmp(s->image.plane_offsets, d.plane_offsets, sizeof d.plane_offsets) == 0);
    REQUIRE_EQ(s->image.format, d.format);
    REQUIRE_EQ(s->image.texels, d.texels);
    REQUIRE_EQ(s->image.type, d.type);
    REQUIRE_EQ(s->image.width, d.width);
    REQUIRE_EQ(s->image.height, d.height);
    REQUIRE_EQ(s->image.depth, d.depth);
    REQUIRE_EQ(s->image.array_layers, d.array_layers);
    REQUIRE_EQ(s->image.mip_levels, d.mip_levels);
    REQUIRE_EQ(s->image.color_attachment, d.color_attachment);
    REQUIRE_EQ(s->image.video_encode_decode, d.video_encode_decode);
    REQUIRE_EQ(s->image.no_surfaces, d.no_surfaces);
    REQUIRE_EQ(s->image.struct_size, sizeof d);
}

/* By Vulkan alone: culv_vk_image_create() makes no LINEAR images. */
static void make_pitched(const lib_world *w, const VkImageCreateInfo *plan,
                         const culv_vk_sharing_info *s)
{
    const VkExternalMemoryImageCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        .pNext = plan->pNext,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkImageCreateInfo info = *plan;
    VkImage image = VK_NULL_HANDLE;
    info.pNext = &external;
    VK_OK(vkCreateImage(w->vk.device, &info, NULL, &image));
    require_image_needs(w, s, image);
    vkDestroyImage(w->vk.device, image, NULL);
    REQUIRE_EQ(s->image.width, 0);
}

/* The gate cannot ask CUDA whether it would map an image. What NVIDIA's driver refuses besides is a
 * finding, to be made a rule of the gate; the twin has no rules of its own. */
static bool refused_by_cuda(const lib_world *w, culv_result checked, culv_result created)
{
    culv_error e = last_error();
    if (w->cu->software || checked != CULV_OK || created != CULV_ERROR_DRIVER ||
        strcmp(e.native_call, "cuExternalMemoryGetMappedMipmappedArray") != 0)
        return false;
    MEASURED("check.refused_by_cuda", "%s", e.message);
    return true;
}

culv_result check_image_agrees(const lib_world *w, const VkImageCreateInfo *info,
                               const culv_vk_check_desc *desc, culv_vk_sharing_info *out)
{
    culv_shared_image *made = POISON(culv_shared_image);
    culv_vk_check_desc d = plain(desc);
    poison(out);
    lib_forget_error();
    culv_result checked = culv_vk_check_image(w->attachment, info, &d, out);
    culv_error said = last_error();
    if (checked != CULV_OK) require_poisoned(out);
    REQUIRE(checked != CULV_OK || (out->handle_types & (1u << CULV_HANDLE_OPAQUE_FD)));
    REQUIRE(checked != CULV_OK || out->handle_type == CULV_HANDLE_OPAQUE_FD);
    if (checked == CULV_OK && out->access == CULV_VK_ACCESS_PITCHED) {
        make_pitched(w, info, out);
        return checked;
    }
    culv_vk_image_create_desc c = culv_vk_image_create_desc_init();
    c.create_info = info;
    c.memory_properties = d.memory_properties;
    c.texels = d.texels;
    c.no_surfaces = d.no_surfaces;
    c.label = d.label;
    lib_forget_error();
    culv_result created = culv_vk_image_create(w->attachment, &c, &made);
    /* A LINEAR plan that is refused for another cause: making it is refused for being LINEAR. */
    if (checked != CULV_OK && info->tiling == VK_IMAGE_TILING_LINEAR &&
        last_error().reason == CULV_REASON_TILING) {
        REQUIRE_EQ(created, CULV_ERROR_INVALID);
        REQUIRE(made == POISON(culv_shared_image));
        lib_forget_error();
        return culv_vk_check_image(w->attachment, info, &d, out);
    }
    if (refused_by_cuda(w, checked, created)) return created;
    require_same(checked, &said, created);
    if (created != CULV_OK) {
        REQUIRE(made == POISON(culv_shared_image));
        return created;
    }
    REQUIRE_EQ(out->access, CULV_VK_ACCESS_ARRAY);
    require_image_needs(w, out, culv_vk_image_handle(made));
    require_mapped_as(out, culv_shared_image_cuda(made));
    culv_shared_image_destroy(&made, NULL);
    return CULV_OK;
}

culv_result check_buffer_agrees(const lib_world *w, const VkBufferCreateInfo *info,
                                const culv_vk_check_desc *desc, culv_vk_sharing_info *out)
{
    culv_shared_buffer *made = POISON(culv_shared_buffer);
    culv_vk_check_desc d = plain(desc);
    poison(out);
    lib_forget_error();
    culv_result checked = culv_vk_check_buffer(w->attachment, info, &d, out);
    culv_error said = last_error();
    if (checked != CULV_OK) require_poisoned(out);
    culv_vk_buffer_create_desc c = culv_vk_buffer_create_desc_init();
    c.create_info = info;
    c.memory_properties = d.memory_properties;
    c.label = d.label;
    lib_forget_error();
    culv_result created = culv_vk_buffer_create(w->attachment, &c, &made);
    require_same(checked, &said, created);
    if (created != CULV_OK) {
        REQUIRE(made == POISON(culv_shared_buffer));
        return created;
    }
    VkMemoryDedicatedRequirements dedicated = {.sType =
                                                   VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS};
    VkMemoryRequirements2 told = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2,
                                  .pNext = &dedicated};
    const VkBufferMemoryRequirementsInfo2 of = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2,
        .buffer = culv_vk_buffer_handle(made)};
    vkGetBufferMemoryRequirements2(w->vk.device, &of, &told);
    require_needs(w, out, &told, &dedicated);
    REQUIRE_EQ(out->access, CULV_VK_ACCESS_POINTER);
    REQUIRE(out->handle_types & (1u << CULV_HANDLE_OPAQUE_FD));
    culv_shared_buffer_destroy(&made, NULL);
    return CULV_OK;
}

#define SAME(field) REQUIRE_EQ(a->field, b->field)
void check_require_equal(const culv_vk_sharing_info *a, const culv_vk_sharing_info *b)
{
    SAME(access), SAME(handle_types), SAME(handle_type);
    SAME(dedicated_required), SAME(dedicated_preferred), SAME(requirements_known);
    SAME(requirements.size), SAME(requirements.alignment), SAME(requirements.memoryTypeBits);
    SAME(memory_type_index);
    SAME(image.format), SAME(image.texels), SAME(image.type);
    SAME(image.width), SAME(image.height), SAME(image.depth), SAME(image.array_layers),
        SAME(image.mip_levels);
    SAME(image.color_attachment), SAME(image.video_encode_decode), SAME(image.no_surfaces);
    for (int i = 0; i < 3; i++)
        SAME(image.plane_offsets[i]), SAME(plane_requirements[i].size),
            SAME(plane_requirements[i].alignment);
}

void check_refused(const char *file, int line, culv_result actual, culv_result result,
                   culv_reason reason, const char *const *words, size_t count)
{
    lib_require_error(file, line, "the gate", actual, result, reason, (const char *)NULL);
    for (size_t i = 0; i < count; i++)
        lib_require_says(file, line, words[i]);
}
