/* SPDX-License-Identifier: MIT */
/* The gate, and what stands behind it, on machines of the input's own making (fake_vulkan.h): what
 * may be shared, what is made, mapped, refused. */
#include "fake_vulkan.h"

#include <unistd.h>

void fuzz_target_open(void)
{
    fuzz_reader nothing = {.left = 0};
    culv_vk_device *vk = NULL;
    fuzz_open_cuda();
    /* A plain machine must do, or everything would be refused for what it lacks. */
    fake_read(&nothing);
    const culv_vk_device_desc d = fake_desc();
    FUZZ_REQUIRE(culv_vk_attach(fuzz.device, &d, &vk) == CULV_OK, "%s", culv_last_error_message());
    culv_vk_detach(&vk);
}

static culv_vk_check_desc *read_desc(fuzz_reader *r)
{
    culv_vk_check_desc d = culv_vk_check_desc_init();
    uint8_t how = fuzz_u8(r);
    if (how < 64) return NULL;
    if (how >= 128) {
        d.handle_type = (culv_handle_type)fuzz_enum(r, 5);
        d.memory_properties = fuzz_bits(r, 0);
        d.texels = (culv_texels)fuzz_enum(r, 2);
        d.no_surfaces = fuzz_value32(r, 0);
        d.label = fuzz_label(r);
    }
    return fuzz_box(r, &d, sizeof d);
}

static void drop(void *box)
{
    if (box != NULL) fuzz_unbox(box);
}

/* What the gate lets through. */
static void check_sharing(const culv_vk_sharing_info *s, const culv_vk_check_desc *desc)
{
    culv_handle_type type =
        desc != NULL && desc->handle_type != 0 ? desc->handle_type : CULV_HANDLE_OPAQUE_FD;
    FUZZ_REQUIRE(s->handle_type == type && (s->handle_types & (1u << type)) != 0,
                 "handle type %d of %#x", (int)s->handle_type, s->handle_types);
    FUZZ_REQUIRE(s->requirements_known <= 1 && (!s->requirements_known || fake.tells_needs),
                 "requirements_known");
    if (!s->requirements_known) return;
    const VkMemoryRequirements *one =
        s->plane_requirements[0].size != 0 ? &s->plane_requirements[0] : &s->requirements;
    FUZZ_REQUIRE(one->size == fake.needs.size && one->alignment == fake.needs.alignment &&
                     one->memoryTypeBits == fake.needs.memoryTypeBits &&
                     s->requirements.memoryTypeBits == fake.needs.memoryTypeBits,
                 "other requirements");
    for (int i = 0; i < 3; i++)
        FUZZ_REQUIRE(
            s->plane_requirements[i].size == 0 ||
                (s->image.plane_offsets[i] <= s->requirements.size &&
                 s->plane_requirements[i].size <= s->requirements.size - s->image.plane_offsets[i]),
            "plane %d leaves the block", i);
    FUZZ_REQUIRE(!fake.requires_dedicated || s->dedicated_required || one != &s->requirements,
                 "it must be dedicated");
    if (s->memory_type_index == UINT32_MAX) return;
    FUZZ_REQUIRE(s->memory_type_index < fake.memory.memoryTypeCount &&
                     (fake.needs.memoryTypeBits & (1u << s->memory_type_index)) != 0,
                 "memory type %u", s->memory_type_index);
    VkMemoryPropertyFlags wanted = desc != NULL && desc->memory_properties != 0
                                       ? desc->memory_properties
                                       : (VkMemoryPropertyFlags)VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    FUZZ_REQUIRE((fake.memory.memoryTypes[s->memory_type_index].propertyFlags & wanted) == wanted,
                 "memory type %u lacks properties", s->memory_type_index);
}

static void check_image_sharing(const culv_vk_sharing_info *s, const VkImageCreateInfo *i)
{
    const VkImageFormatProperties *most = &fake.most;
    FUZZ_REQUIRE(s->access == (i->tiling == VK_IMAGE_TILING_OPTIMAL ? CULV_VK_ACCESS_ARRAY
                                                                    : CULV_VK_ACCESS_PITCHED),
                 "access %d of tiling %d", (int)s->access, (int)i->tiling);
    FUZZ_REQUIRE(s->sample_counts == VK_SAMPLE_COUNT_1_BIT && i->samples == VK_SAMPLE_COUNT_1_BIT,
                 "%#x samples", s->sample_counts);
    FUZZ_REQUIRE(i->extent.width != 0 && i->extent.width <= s->max_extent.width &&
                     i->extent.height != 0 && i->extent.height <= s->max_extent.height &&
                     i->extent.depth != 0 && i->extent.depth <= s->max_extent.depth,
                 "%u x %u x %u", i->extent.width, i->extent.height, i->extent.depth);
    FUZZ_REQUIRE(i->mipLevels != 0 && i->mipLevels <= s->max_mip_levels && i->arrayLayers != 0 &&
                     i->arrayLayers <= s->max_array_layers,
                 "%u levels, %u layers", i->mipLevels, i->arrayLayers);
    FUZZ_REQUIRE(s->max_extent.width <= most->maxExtent.width &&
                     s->max_extent.height <= most->maxExtent.height &&
                     s->max_extent.depth <= most->maxExtent.depth &&
                     s->max_mip_levels <= most->maxMipLevels &&
                     s->max_array_layers <= most->maxArrayLayers,
                 "more than Vulkan has");
    if (s->access != CULV_VK_ACCESS_ARRAY) return;
    FUZZ_REQUIRE(s->image.width == i->extent.width && s->image.mip_levels == i->mipLevels &&
                     (uint32_t)s->image.format == (uint32_t)i->format && s->image.offset == 0 &&
                     s->image.label == NULL,
                 "it is mapped as another image");
}

/* Not byte by byte: Vulkan's struct within has padding. */
static void require_same(const culv_vk_sharing_info *a, const culv_vk_sharing_info *b)
{
    FUZZ_REQUIRE(a->access == b->access && a->handle_types == b->handle_types &&
                     a->handle_type == b->handle_type &&
                     a->dedicated_required == b->dedicated_required &&
                     a->dedicated_preferred == b->dedicated_preferred &&
                     a->requirements_known == b->requirements_known &&
                     a->memory_type_index == b->memory_type_index,
                 "another answer");
    FUZZ_REQUIRE(a->requirements.size == b->requirements.size &&
                     a->requirements.alignment == b->requirements.alignment &&
                     a->requirements.memoryTypeBits == b->requirements.memoryTypeBits,
                 "other requirements");
    FUZZ_REQUIRE(
        memcmp(&a->max_extent, &b->max_extent, sizeof a->max_extent) == 0 &&
            a->max_mip_levels == b->max_mip_levels && a->max_array_layers == b->max_array_layers &&
            a->sample_counts == b->sample_counts && a->max_resource_size == b->max_resource_size,
        "other limits");
    FUZZ_REQUIRE(a->image.format == b->image.format && a->image.type == b->image.type &&
                     a->image.width == b->image.width && a->image.height == b->image.height &&
                     a->image.depth == b->image.depth &&
                     a->image.array_layers == b->image.array_layers &&
                     a->image.mip_levels == b->image.mip_levels &&
                     a->image.no_surfaces == b->image.no_surfaces,
                 "another image");
}

/* The gate keeps what it was told: a second answer is the first. */
static void ask_again(culv_vk_device *vk, const void *info, bool image, culv_vk_check_desc *desc,
                      culv_result first, const culv_vk_sharing_info *before)
{
    culv_error error = fuzz_error;
    culv_vk_sharing_info after = culv_vk_sharing_info_init();
    culv_result second = image ? FUZZ_CALL(culv_vk_check_image(vk, info, desc, &after))
                               : FUZZ_CALL(culv_vk_check_buffer(vk, info, desc, &after));
    FUZZ_REQUIRE(first == second, "%s, and then %s", culv_result_name(first),
                 culv_result_name(second));
    if (first != CULV_OK)
        FUZZ_REQUIRE(error.reason == fuzz_error.reason &&
                         strcmp(error.message, fuzz_error.message) == 0,
                     "\"%s\", and then \"%s\"", error.message, fuzz_error.message);
    else
        require_same(before, &after);
}

static void check(fuzz_reader *r, culv_vk_device *vk, bool image)
{
    fuzz_chain chain = {.count = 0};
    VkBufferCreateInfo b;
    VkImageCreateInfo i;
    culv_vk_check_desc *desc = read_desc(r);
    culv_vk_sharing_info *out = fuzz_box_out(r, sizeof *out);
    if (image)
        fuzz_image_info(r, &chain, &i);
    else
        fuzz_buffer_info(r, &chain, &b);
    fuzz_arm(r);
    culv_result result = image ? FUZZ_CALL(culv_vk_check_image(vk, &i, desc, out))
                               : FUZZ_CALL(culv_vk_check_buffer(vk, &b, desc, out));
    fuzz_disarm();
    bool whole = fuzz_box_whole(out) && (desc == NULL || fuzz_box_whole(desc));
    if (result != CULV_OK)
        fuzz_require_untouched(out);
    else if (whole) {
        check_sharing(out, desc);
        if (image)
            check_image_sharing(out, &i);
        else
            FUZZ_REQUIRE(out->access == CULV_VK_ACCESS_POINTER, "access %d", (int)out->access);
    }
    if (whole && !fuzz_injected())
        ask_again(vk, image ? (void *)&i : (void *)&b, image, desc, result, out);
    fuzz_unbox(out);
    drop(desc);
    fuzz_chain_free(&chain);
}

static void create_buffer(fuzz_reader *r, culv_vk_device *vk)
{
    fuzz_chain chain = {.count = 0};
    VkBufferCreateInfo info;
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    culv_shared_buffer *buffer = FUZZ_POISON(culv_shared_buffer);
    fuzz_buffer_info(r, &chain, &info);
    d.create_info = fuzz_rarely(r, 64) ? NULL : &info;
    d.memory_properties = fuzz_bits(r, 0);
    d.label = fuzz_label(r);
    culv_vk_buffer_create_desc *desc = fuzz_box(r, &d, sizeof d);
    fuzz_arm(r);
    culv_result result = FUZZ_CALL(culv_vk_buffer_create(vk, desc, &buffer));
    fuzz_disarm();
    if (result == CULV_OK) {
        VkDeviceSize size = 0;
        FUZZ_REQUIRE(culv_vk_buffer_handle(buffer) != VK_NULL_HANDLE &&
                         culv_vk_buffer_memory(buffer, &size) != VK_NULL_HANDLE &&
                         size == fake.needs.size,
                     "%llu bytes", (unsigned long long)size);
        FUZZ_REQUIRE(culv_buffer_pointer(culv_shared_buffer_cuda(buffer)) != 0 &&
                         culv_buffer_size(culv_shared_buffer_cuda(buffer)) == info.size,
                     "no pointer");
        culv_shared_buffer_destroy(&buffer, NULL);
        FUZZ_REQUIRE(buffer == NULL, "it is not NULL");
    } else
        FUZZ_REQUIRE(buffer == FUZZ_POISON(culv_shared_buffer), "written after an error");
    fuzz_unbox(desc);
    fuzz_chain_free(&chain);
}

static void create_image(fuzz_reader *r, culv_vk_device *vk)
{
    fuzz_chain chain = {.count = 0};
    VkImageCreateInfo info;
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    culv_shared_image *image = FUZZ_POISON(culv_shared_image);
    fuzz_image_info(r, &chain, &info);
    d.create_info = fuzz_rarely(r, 64) ? NULL : &info;
    d.memory_properties = fuzz_bits(r, 0);
    d.texels = (culv_texels)fuzz_enum(r, 2);
    d.no_surfaces = fuzz_value32(r, 0);
    d.label = fuzz_label(r);
    culv_vk_image_create_desc *desc = fuzz_box(r, &d, sizeof d);
    fuzz_arm(r);
    culv_result result = FUZZ_CALL(culv_vk_image_create(vk, desc, &image));
    fuzz_disarm();
    if (result == CULV_OK) {
        const culv_image *cuda = culv_shared_image_cuda(image);
        FUZZ_REQUIRE(culv_vk_image_handle(image) != VK_NULL_HANDLE, "half an image");
        culv_image_desc told = culv_image_desc_init();
        FUZZ_REQUIRE(culv_image_get_desc(cuda, &told) == CULV_OK &&
                         told.mip_levels == info.mipLevels &&
                         (uint32_t)told.format == (uint32_t)info.format,
                     "another image");
        culv_shared_image_destroy(&image, NULL);
        FUZZ_REQUIRE(image == NULL, "it is not NULL");
    } else
        FUZZ_REQUIRE(image == FUZZ_POISON(culv_shared_image), "written after an error");
    fuzz_unbox(desc);
    fuzz_chain_free(&chain);
}

/* Memory of the caller's that an image of the caller's is said to lie in. */
static culv_memory *import(fuzz_reader *r)
{
    culv_memory_desc d = culv_memory_desc_init();
    culv_memory *memory = NULL;
    int fd = fuzz_memory_file(65536);
    d.size = fuzz_value(r, 65536);
    d.dedicated = fuzz_flag(r);
    d.handle = culv_handle_opaque_fd(fd);
    if (FUZZ_CALL(culv_memory_import(fuzz.device, &d, &memory)) != CULV_OK) memory = NULL;
    close(fd);
    return memory;
}

static void map_image(fuzz_reader *r, culv_vk_device *vk)
{
    fuzz_chain chain = {.count = 0};
    VkImageCreateInfo info;
    culv_vk_image_desc d = culv_vk_image_desc_init();
    culv_memory *memory = import(r);
    if (memory == NULL) return;
    fuzz_image_info(r, &chain, &info);
    VkImage image = fake_image_create(&info);
    d.image = fuzz_rarely(r, 64) ? VK_NULL_HANDLE : image;
    d.create_info = fuzz_rarely(r, 64) ? NULL : &info;
    d.offset = fuzz_value(r, 0);
    d.texels = (culv_texels)fuzz_enum(r, 2);
    d.no_surfaces = fuzz_value32(r, 0);
    d.label = fuzz_label(r);
    if (fuzz_planes(info.format) > 1)
        for (int i = 0; i < 3; i++)
            d.plane_offsets[i] = fuzz_value(r, (uint64_t)i * 0x4000);
    bool pitched = fuzz_flag(r);
    uint32_t level = fuzz_value32(r, 0), plane = fuzz_value32(r, 0);
    culv_vk_image_desc *desc = fuzz_box(r, &d, sizeof d);
    culv_subresource_layout *layout = fuzz_box_out(r, sizeof *layout);
    culv_image *mapped = FUZZ_POISON(culv_image);
    culv_buffer *buffer = FUZZ_POISON(culv_buffer);
    fuzz_arm(r);
    culv_result result =
        pitched
            ? FUZZ_CALL(culv_vk_image_map_pitched(vk, memory, desc, level, plane, &buffer, layout))
            : FUZZ_CALL(culv_vk_image_map(vk, memory, desc, &mapped));
    fuzz_disarm();
    if (pitched ? result != CULV_OK : true) {
        FUZZ_REQUIRE(buffer == FUZZ_POISON(culv_buffer), "written after an error");
        fuzz_require_untouched(layout);
    }
    if (pitched || result != CULV_OK)
        FUZZ_REQUIRE(mapped == FUZZ_POISON(culv_image), "written after an error");
    if (result == CULV_OK && pitched) {
        FUZZ_REQUIRE(info.tiling == VK_IMAGE_TILING_LINEAR, "tiling %d", (int)info.tiling);
        FUZZ_REQUIRE(culv_buffer_size(buffer) <= culv_memory_size(memory), "it leaves the memory");
        if (fuzz_box_whole(layout))
            FUZZ_REQUIRE(layout->pointer == culv_buffer_pointer(buffer) &&
                             layout->size == culv_buffer_size(buffer),
                         "the layout is of other memory");
        culv_buffer_unmap(&buffer, NULL);
    }
    if (result == CULV_OK && !pitched) {
        FUZZ_REQUIRE(info.tiling == VK_IMAGE_TILING_OPTIMAL, "tiling %d", (int)info.tiling);
        culv_image_unmap(&mapped, NULL);
    }
    fuzz_unbox(layout);
    fuzz_unbox(desc);
    culv_memory_destroy(&memory);
    fake_image_destroy(image);
    fuzz_chain_free(&chain);
}

void fuzz_target_run(fuzz_reader *r)
{
    fake_read(r);
    culv_vk_device_desc d = fake_desc();
    culv_vk_device *vk = FUZZ_POISON(culv_vk_device);
    d.label = fuzz_label(r);
    d.api_version = fuzz_rarely(r, 16) ? fuzz_value32(r, VK_API_VERSION_1_0) : VK_API_VERSION_1_3;
    d.num_physical_devices = fuzz_value32(r, 0);
    culv_vk_device_desc *desc = fuzz_box(r, &d, sizeof d);
    fuzz_arm(r);
    culv_result result = FUZZ_CALL(culv_vk_attach(fuzz.device, desc, &vk));
    fuzz_disarm();
    if (result != CULV_OK)
        FUZZ_REQUIRE(vk == FUZZ_POISON(culv_vk_device), "written after an error");
    for (int i = 0; result == CULV_OK && i < 4 && (i == 0 || r->left > 0); i++)
        switch (fuzz_pick(r, 16)) {
        default: check(r, vk, true); break;
        case 8:
        case 9:
        case 10:
        case 11: check(r, vk, false); break;
        case 12: create_image(r, vk); break;
        case 13: create_buffer(r, vk); break;
        case 14:
        case 15: map_image(r, vk);
        }
    if (result == CULV_OK) culv_vk_detach(&vk);
    fuzz_unbox(desc);
    fake_require_empty();
}
