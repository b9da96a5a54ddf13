/* SPDX-License-Identifier: MIT */
/* The gate against a real Vulkan driver: what it lets through can be made, what it refuses it
 * refuses everywhere alike, and what Vulkan refuses it refuses too, before the driver is asked to
 * make it. */
#include "fuzz.h"

#include <culvert/vulkan_memory.h>

#include <stdio.h>

static unsigned made_shared; /* so many were let through and made */

void fuzz_target_open(void)
{
    fuzz_open_vulkan();
}

/* A struct that is in the way of the comparison: the gate looks for it, making refuses it. */
static bool has_external(const void *chain)
{
    return fuzz_chain_find(chain, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO) != NULL ||
           fuzz_chain_find(chain, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO) != NULL;
}

/* What a real driver tells only when the image is made or mapped: Vulkan as what it has not, CUDA
 * by a refusal. Each is a rule that the gate could have; the twin has none such, and of a driver
 * there may be a few. */
static bool told_late(culv_result made, const char *what)
{
    bool by_vulkan = made == CULV_ERROR_UNSUPPORTED &&
                     fuzz_error.reason == CULV_REASON_DRIVER_REFUSED &&
                     strcmp(fuzz_error.native_call, "vkCreateImage") == 0;
    bool by_cuda = made == CULV_ERROR_DRIVER &&
                   strcmp(fuzz_error.native_call, "cuExternalMemoryGetMappedMipmappedArray") == 0;
    if (fuzz.caps.is_software || (!by_vulkan && !by_cuda)) return false;
    unsigned count = fuzz_note(by_vulkan ? "fuzz.refused_by_vulkan" : "fuzz.refused_by_cuda",
                               "%s: %s", what, fuzz_error.message);
    FUZZ_REQUIRE(count <= 4 + made_shared / 20,
                 "%u were let through that could not be made, and %u made; %s: %s", count,
                 made_shared, what, fuzz_error.message);
    return true;
}

/* A refusal of the one that is not the other's. */
static void compare(culv_result checked, const culv_error *refusal, culv_result made,
                    const char *what)
{
    if (fuzz_injected() || (made != checked && told_late(made, what))) return;
    if (checked != CULV_OK) {
        FUZZ_REQUIRE(made == checked && fuzz_error.reason == refusal->reason,
                     "checked: %s (%s), made: %s (%s)", culv_result_name(checked), refusal->message,
                     culv_result_name(made), made != CULV_OK ? fuzz_error.message : "");
        return;
    }
    if (made == CULV_OK) made_shared++;
    /* Memory may run out all the same. */
    FUZZ_REQUIRE(made == CULV_OK || made == CULV_ERROR_OUT_OF_MEMORY,
                 "checked: OK, made: %s (%s); %s", culv_result_name(made), fuzz_error.message,
                 what);
}

/* Vulkan's own answer about an image that the gate let through. */
static void ask_vulkan(const VkImageCreateInfo *i)
{
    VkPhysicalDeviceExternalImageFormatInfo external = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkPhysicalDeviceImageFormatInfo2 query = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
        .pNext = &external,
        .format = i->format,
        .type = i->imageType,
        .tiling = i->tiling,
        .usage = i->usage,
        .flags = i->flags};
    VkExternalImageFormatProperties shared = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES};
    VkImageFormatProperties2 answer = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2,
                                       .pNext = &shared};
    FUZZ_REQUIRE(vkGetPhysicalDeviceImageFormatProperties2(fuzz.physical, &query, &answer) ==
                     VK_SUCCESS,
                 "Vulkan has no such image");
    const VkImageFormatProperties *most = &answer.imageFormatProperties;
    FUZZ_REQUIRE(shared.externalMemoryProperties.externalMemoryFeatures &
                     VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT,
                 "Vulkan does not export it");
    FUZZ_REQUIRE(i->extent.width <= most->maxExtent.width &&
                     i->extent.height <= most->maxExtent.height &&
                     i->extent.depth <= most->maxExtent.depth &&
                     i->mipLevels <= most->maxMipLevels && i->arrayLayers <= most->maxArrayLayers,
                 "it is larger than Vulkan's");
}

/* What is not shared is in no file, so nothing keeps a large one from being had: only small ones
 * are tried. */
static uint32_t read_fallback(fuzz_reader *r, double bytes)
{
    return fuzz_rarely(r, 3) && bytes < (double)FUZZ_MOST_MEMORY / 4 ? fuzz_enum(r, 4) : 0;
}

static void begin_commands(void)
{
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    FUZZ_REQUIRE(vkBeginCommandBuffer(fuzz.commands, &info) == VK_SUCCESS, "vkBeginCommandBuffer");
}

/* There and back; nothing is to be waited for. */
static void copy_image(fuzz_reader *r, culv_shared_image *made)
{
    culv_image *cuda = culv_shared_image_cuda(made);
    culv_subresource_layout *out = fuzz_box_out(r, sizeof *out);
    VkImageLayout layout = (VkImageLayout)fuzz_enum(r, 9);
    begin_commands();
    (void)FUZZ_CALL(culv_image_copy(cuda, CULV_COPY_UPLOAD, fuzz.stream));
    (void)FUZZ_CALL(culv_vk_image_record_copy(made, CULV_COPY_UPLOAD, fuzz.commands, layout));
    (void)FUZZ_CALL(culv_vk_image_record_copy(made, CULV_COPY_DOWNLOAD, fuzz.commands, layout));
    (void)FUZZ_CALL(culv_image_copy(cuda, CULV_COPY_DOWNLOAD, fuzz.stream));
    FUZZ_REQUIRE(vkEndCommandBuffer(fuzz.commands) == VK_SUCCESS, "vkEndCommandBuffer");
    if (FUZZ_CALL(culv_image_get_layout(cuda, fuzz_value32(r, 0), fuzz_value32(r, 0), out)) !=
        CULV_OK)
        fuzz_require_untouched(out);
    else if (fuzz_box_whole(out))
        FUZZ_REQUIRE((out->pointer != 0) == (out->size != 0) && out->width != 0 &&
                         out->depth_pitch + out->layer_pitch <= out->size &&
                         out->row_pitch <= out->size,
                     "%llu bytes", (unsigned long long)out->size);
    fuzz_unbox(out);
}

static void copy_buffer(culv_shared_buffer *made)
{
    culv_buffer *cuda = culv_shared_buffer_cuda(made);
    begin_commands();
    (void)FUZZ_CALL(culv_buffer_copy(cuda, CULV_COPY_UPLOAD, fuzz.stream));
    (void)FUZZ_CALL(culv_vk_buffer_record_copy(made, CULV_COPY_UPLOAD, fuzz.commands));
    (void)FUZZ_CALL(culv_vk_buffer_record_copy(made, CULV_COPY_DOWNLOAD, fuzz.commands));
    (void)FUZZ_CALL(culv_buffer_copy(cuda, CULV_COPY_DOWNLOAD, fuzz.stream));
    FUZZ_REQUIRE(vkEndCommandBuffer(fuzz.commands) == VK_SUCCESS, "vkEndCommandBuffer");
}

static void image(fuzz_reader *r)
{
    fuzz_chain chain = {.count = 0};
    VkImageCreateInfo info;
    fuzz_image_info(r, &chain, &info);
    culv_vk_check_desc ask = culv_vk_check_desc_init();
    ask.texels = (culv_texels)fuzz_enum(r, 2);
    ask.no_surfaces = fuzz_flag(r);
    ask.memory_properties = fuzz_bits(r, 0);
    culv_vk_sharing_info sharing = culv_vk_sharing_info_init();
    if (fuzz_trace) fprintf(stderr, "%s\n", fuzz_describe_image(&info));
    culv_result checked = FUZZ_CALL(culv_vk_check_image(fuzz.vk, &info, &ask, &sharing));
    culv_error refusal = fuzz_error;
    if (checked == CULV_OK) ask_vulkan(&info);
    /* LINEAR ones are mapped, never made. */
    bool comparable = !has_external(info.pNext) && info.tiling == VK_IMAGE_TILING_OPTIMAL;
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    d.texels = ask.texels;
    d.no_surfaces = ask.no_surfaces;
    d.memory_properties = ask.memory_properties;
    d.fallback = read_fallback(r, 16.0 * info.extent.width * info.extent.height *
                                      info.extent.depth * info.arrayLayers);
    culv_shared_image *made = FUZZ_POISON(culv_shared_image);
    culv_result result = FUZZ_ARMED(r, culv_vk_image_create(fuzz.vk, &d, &made));
    if (comparable && d.fallback == 0)
        compare(checked, &refusal, result, fuzz_describe_image(&info));
    if (result == CULV_OK &&
        culv_image_sharing(culv_shared_image_cuda(made)) != CULV_SHARING_SHARED) {
        FUZZ_REQUIRE(d.fallback != 0, "nobody asked for a fallback");
        copy_image(r, made);
        culv_shared_image_destroy(&made, NULL);
    } else if (result == CULV_OK) {
        VkMemoryRequirements needs = sharing.requirements;
        if (!(info.flags & VK_IMAGE_CREATE_DISJOINT_BIT)) /* of which each plane has its own */
            vkGetImageMemoryRequirements(fuzz.vk_device, culv_vk_image_handle(made), &needs);
        FUZZ_REQUIRE(!comparable || d.fallback != 0 || !sharing.requirements_known ||
                         needs.size == sharing.requirements.size,
                     "%llu bytes were foretold", (unsigned long long)sharing.requirements.size);
        culv_image *cuda = culv_shared_image_cuda(made);
        CUarray array = NULL;
        CUsurfObject surface = 0;
        uint32_t level = fuzz_value32(r, 0);
        if (FUZZ_CALL(culv_image_get_array(cuda, level, 0, &array)) == CULV_OK)
            FUZZ_REQUIRE(array != NULL && level < info.mipLevels, "level %u", level);
        if (FUZZ_CALL(culv_image_get_surface(cuda, level, 0, &surface)) == CULV_OK)
            FUZZ_REQUIRE(surface != 0 && !ask.no_surfaces, "surface of level %u", level);
        culv_shared_image_destroy(&made, NULL);
    } else
        FUZZ_REQUIRE(made == FUZZ_POISON(culv_shared_image), "written after an error");
    fuzz_chain_free(&chain);
}

/* Memory of the program's own, and a place in it: what is said to be there is there. */
static void read_host(fuzz_reader *r, culv_vk_buffer_create_desc *d)
{
    static _Alignas(65536) uint8_t pages[4 * 65536];
    uint64_t needed = d->create_info->size;
    if (!fuzz_rarely(r, 4) || (needed > sizeof pages && needed < UINT64_C(1) << 48)) return;
    d->host_memory = 1;
    uint64_t offset = fuzz_value(r, 0), size = fuzz_value(r, sizeof pages);
    if (offset >= sizeof pages || fuzz_flag(r)) return;
    if (size > sizeof pages - offset) size = sizeof pages - offset;
    if (size == 0 && needed > sizeof pages - offset) return;
    d->host_pointer = pages + offset;
    d->host_size = size;
}

static void buffer(fuzz_reader *r)
{
    fuzz_chain chain = {.count = 0};
    VkBufferCreateInfo info;
    fuzz_buffer_info(r, &chain, &info);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = &info;
    d.memory_properties = fuzz_bits(r, 0);
    d.fallback = read_fallback(r, (double)info.size);
    read_host(r, &d);
    /* Host-visible memory is made of the host's pages, each of which is touched. */
    if (info.size > 4 * 65536)
        d.memory_properties &= ~(uint32_t)VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    culv_vk_check_desc ask = culv_vk_check_desc_init();
    ask.memory_properties = d.memory_properties;
    ask.host_memory = d.host_memory;
    culv_vk_sharing_info sharing = culv_vk_sharing_info_init();
    culv_result checked = FUZZ_CALL(culv_vk_check_buffer(fuzz.vk, &info, &ask, &sharing));
    culv_error refusal = fuzz_error;
    culv_shared_buffer *made = FUZZ_POISON(culv_shared_buffer);
    culv_result result = FUZZ_ARMED(r, culv_vk_buffer_create(fuzz.vk, &d, &made));
    if (!has_external(info.pNext) && d.fallback == 0 && d.host_pointer == NULL)
        compare(checked, &refusal, result, "a buffer");
    if (result == CULV_OK &&
        culv_buffer_sharing(culv_shared_buffer_cuda(made)) != CULV_SHARING_SHARED) {
        FUZZ_REQUIRE(d.fallback != 0, "nobody asked for a fallback");
        copy_buffer(made);
        culv_shared_buffer_destroy(&made, NULL);
    } else if (result == CULV_OK) {
        VkDeviceSize size = 0;
        volatile uint8_t *host = culv_vk_buffer_host_pointer(made);
        (void)culv_vk_buffer_memory(made, &size);
        /* Host-visible memory is made of the host's pages where that can be. */
        FUZZ_REQUIRE(host != NULL || d.host_memory == 0, "host memory");
        FUZZ_REQUIRE(host == NULL || d.host_memory != 0 ||
                         (d.memory_properties & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0,
                     "host memory");
        if (host != NULL) host[0] = host[info.size - 1] = 1;
        FUZZ_REQUIRE(size >= info.size &&
                         culv_buffer_size(culv_shared_buffer_cuda(made)) == info.size,
                     "%llu bytes", (unsigned long long)size);
        culv_shared_buffer_destroy(&made, NULL);
    } else
        FUZZ_REQUIRE(made == FUZZ_POISON(culv_shared_buffer), "written after an error");
    fuzz_chain_free(&chain);
}

void fuzz_target_run(fuzz_reader *r)
{
    for (int i = 0; i < 3 && (i == 0 || r->left > 0); i++)
        if (fuzz_pick(r, 3) == 2)
            buffer(r);
        else
            image(r);
}
