/* SPDX-License-Identifier: MIT */
/* Imports, mappings, views and their ends in any order, as an input of a few steps says:
 * descriptors with sizes, offsets, handles, formats and levels that fit and that do not. */
#include "import.h"

#include <culvert/texture.h>
#include <culvert/vulkan_export.h>

void fuzz_target_open(void)
{
    fuzz_open_vulkan();
    import_open_scene();
}

/* `slot` may read the input: it is looked at once. */
#define KEEP(slots, slot, made, destroy)                                                           \
    do {                                                                                           \
        uint32_t kept = (slot);                                                                    \
        destroy;                                                                                   \
        (slots)[kept] = (made);                                                                    \
    } while (0)

static void import_memory(fuzz_reader *r, import_state *s)
{
    culv_memory_desc d = culv_memory_desc_init();
    uint32_t slot = fuzz_pick(r, SLOTS);
    int fd = import_fd(r);
    bool goes = fuzz_flag(r), was_open = import_fd_is_open(fd);
    d.handle = culv_handle_opaque_fd(fd);
    if (fuzz_rarely(r, 8)) d.handle.type = (culv_handle_type)fuzz_enum(r, 5);
    if (fuzz_rarely(r, 64)) d.handle.name = L"a name";
    d.size = fuzz_value(r, import_resources[fuzz_pick(r, IMPORT_RESOURCES)].size);
    d.dedicated = fuzz_flag(r);
    if (fuzz_flag(r)) d.exporter = fuzz.caps.uuid;
    if (fuzz_rarely(r, 16)) d.exporter.bytes[3] ^= fuzz_u8(r);
    d.label = fuzz_label(r);
    culv_memory_desc *desc = fuzz_box(r, &d, sizeof d);
    culv_memory *out = FUZZ_POISON(culv_memory);
    fuzz_arm(r);
    culv_result result = FUZZ_CALL(culv_memory_import(fuzz.device, desc, &out));
    fuzz_disarm();
    import_fd_kept(fd, was_open);
    if (result == CULV_OK && goes) culv_handle_close(&d.handle);
    if (result == CULV_OK) {
        FUZZ_REQUIRE(culv_memory_size(out) == d.size, "another size");
        KEEP(s->memories, slot, out, culv_memory_destroy(&s->memories[kept]));
    } else
        FUZZ_REQUIRE(out == FUZZ_POISON(culv_memory), "written after an error");
    fuzz_unbox(desc);
}

/* Memory that was not allocated for export: the twin's Vulkan gives no file descriptor of it.
 * NVIDIA's does, and CUDA imports it (measured): against the specification, but nothing tells such
 * memory from other. */
static void require_exportable(const import_resource *from, const char *what)
{
    if (from->exportable) return;
    FUZZ_REQUIRE(!fuzz.caps.is_software, "private memory was %s", what);
    (void)fuzz_note("fuzz.private_memory", "%s", what);
}

static void import_vulkan_memory(fuzz_reader *r, import_state *s)
{
    const import_resource *from = &import_resources[fuzz_pick(r, IMPORT_RESOURCES)];
    const import_resource *other =
        fuzz_rarely(r, 8) ? &import_resources[fuzz_pick(r, IMPORT_RESOURCES)] : from;
    culv_vk_memory_desc d = culv_vk_memory_desc_init();
    uint32_t slot = fuzz_pick(r, SLOTS);
    uint8_t bound = fuzz_u8(r);
    d.memory = fuzz_rarely(r, 32) ? VK_NULL_HANDLE : from->memory;
    d.allocation_size = fuzz_value(r, from->size);
    d.dedicated = fuzz_rarely(r, 8) ? !from->dedicated : from->dedicated;
    if (bound & 1) d.buffer = other->buffer;
    if (bound & 2) d.image = other->image;
    d.buffer_offset = fuzz_value(r, 0);
    d.image_offset = fuzz_value(r, 0);
    d.label = fuzz_label(r);
    bool acquire = fuzz_flag(r);
    culv_vk_memory_desc *desc = fuzz_box(r, &d, sizeof d);
    culv_memory *out = FUZZ_POISON(culv_memory);
    fuzz_arm(r);
    culv_result result = acquire ? FUZZ_CALL(culv_vk_memory_import_shared(fuzz.vk, desc, &out))
                                 : FUZZ_CALL(culv_vk_memory_import(fuzz.vk, desc, &out));
    fuzz_disarm();
    if (result == CULV_OK) {
        require_exportable(from, "imported");
        FUZZ_REQUIRE(culv_memory_size(out) == d.allocation_size, "another size");
        KEEP(s->memories, slot, out, culv_memory_destroy(&s->memories[kept]));
    } else
        FUZZ_REQUIRE(out == FUZZ_POISON(culv_memory), "written after an error");
    fuzz_unbox(desc);
}

static void map_buffer(fuzz_reader *r, import_state *s)
{
    culv_memory *memory = s->memories[fuzz_pick(r, SLOTS)];
    culv_buffer_desc d = culv_buffer_desc_init();
    uint32_t slot = fuzz_pick(r, SLOTS);
    d.offset = fuzz_value(r, 0);
    d.size = fuzz_value(r, 0);
    d.label = fuzz_label(r);
    culv_buffer_desc *desc = fuzz_rarely(r, 16) ? NULL : fuzz_box(r, &d, sizeof d);
    culv_buffer *out = FUZZ_POISON(culv_buffer);
    fuzz_arm(r);
    culv_result result = FUZZ_CALL(culv_buffer_map(memory, desc, &out));
    fuzz_disarm();
    if (result == CULV_OK) {
        uint64_t whole = culv_memory_size(memory), size = culv_buffer_size(out);
        FUZZ_REQUIRE(culv_buffer_pointer(out) != 0 && size != 0 && size <= whole,
                     "%llu bytes of %llu", (unsigned long long)size, (unsigned long long)whole);
        if (desc != NULL && fuzz_box_whole(desc))
            FUZZ_REQUIRE(d.offset <= whole - size && (d.size == 0 || size == d.size),
                         "it leaves the memory");
        /* On the twin it is memory of this process: its ends are there. */
        if (fuzz.caps.is_software) {
            volatile uint8_t *bytes = (volatile uint8_t *)(uintptr_t)culv_buffer_pointer(out);
            bytes[0] = bytes[size - 1] = 0;
        }
        KEEP(s->buffers, slot, out, culv_buffer_unmap(&s->buffers[kept], NULL));
    } else
        FUZZ_REQUIRE(out == FUZZ_POISON(culv_buffer), "written after an error");
    if (desc != NULL) fuzz_unbox(desc);
}

static void keep_image(fuzz_reader *r, import_state *s, culv_result result, culv_image *out)
{
    if (result == CULV_OK)
        KEEP(s->images, fuzz_pick(r, SLOTS), out, culv_image_unmap(&s->images[kept], NULL));
    else
        FUZZ_REQUIRE(out == FUZZ_POISON(culv_image), "written after an error");
}

static culv_image_desc description(const culv_image *image)
{
    culv_image_desc d = culv_image_desc_init();
    FUZZ_REQUIRE(culv_image_get_desc(image, &d) == CULV_OK, "no description");
    return d;
}

static void map_image(fuzz_reader *r, import_state *s)
{
    culv_memory *memory = s->memories[fuzz_pick(r, SLOTS)];
    culv_image_desc d = culv_image_desc_init();
    d.offset = fuzz_value(r, 0);
    d.format = (culv_format)fuzz_format(r, VK_FORMAT_R8G8B8A8_UNORM);
    d.texels = (culv_texels)fuzz_enum(r, 2);
    d.type = (culv_image_type)fuzz_enum(r, 4);
    d.width = fuzz_value32(r, 32);
    d.height = fuzz_value32(r, d.type == CULV_IMAGE_1D ? 1 : d.width);
    d.depth = fuzz_value32(r, d.type == CULV_IMAGE_3D ? 4 : 0);
    d.array_layers = fuzz_value32(r, d.type == CULV_IMAGE_CUBE ? 6 : 0);
    d.mip_levels = fuzz_value32(r, 1);
    uint8_t flags = fuzz_u8(r);
    d.color_attachment = flags & 1;
    d.texture_gather = flags & 4;
    d.video_encode_decode = flags & 8;
    d.no_surfaces = flags & 16;
    d.label = fuzz_label(r);
    if (fuzz_rarely(r, 4))
        for (int i = 0; i < 3; i++)
            d.plane_offsets[i] = fuzz_value(r, (uint64_t)i * 0x4000);
    culv_image_desc *desc = fuzz_box(r, &d, sizeof d);
    culv_image *out = FUZZ_POISON(culv_image);
    fuzz_arm(r);
    culv_result result = FUZZ_CALL(culv_image_map(memory, desc, &out));
    fuzz_disarm();
    if (result == CULV_OK && fuzz_box_whole(desc)) {
        FUZZ_REQUIRE(d.offset < culv_memory_size(memory), "it lies outside");
        const culv_image_desc told = description(out);
        FUZZ_REQUIRE(told.format == d.format &&
                         told.mip_levels == (d.mip_levels != 0 ? d.mip_levels : 1),
                     "another image");
    }
    keep_image(r, s, result, out);
    fuzz_unbox(desc);
}

/* Images of the caller's, whose create infos may be told wrong. */
static void map_vulkan_image(fuzz_reader *r, import_state *s)
{
    static const uint8_t which[] = {IMPORT_IMAGE, IMPORT_LINEAR, IMPORT_ARRAY};
    const import_resource *from = &import_resources[which[fuzz_pick(r, 3)]];
    culv_memory *memory = s->memories[fuzz_pick(r, SLOTS)];
    fuzz_chain chain = {.count = 0};
    VkImageCreateInfo info = from->info;
    if (fuzz_rarely(r, 4)) {
        /* Vulkan is asked about the image with the levels and layers of the struct: those must be
         * its own. */
        fuzz_image_info(r, &chain, &info);
        info.tiling = from->info.tiling;
        info.mipLevels = from->info.mipLevels;
        info.arrayLayers = from->info.arrayLayers;
        info.flags &=
            ~(VkImageCreateFlags)VK_IMAGE_CREATE_DISJOINT_BIT; /* the same of its planes */
    }
    culv_vk_image_desc d = culv_vk_image_desc_init();
    d.image = fuzz_rarely(r, 64) ? VK_NULL_HANDLE : from->image;
    d.create_info = fuzz_rarely(r, 64) ? NULL : &info;
    d.offset = fuzz_value(r, 0);
    d.texels = (culv_texels)fuzz_enum(r, 2);
    d.no_surfaces = fuzz_flag(r);
    d.label = fuzz_label(r);
    if (fuzz_rarely(r, 16)) d.plane_offsets[fuzz_pick(r, 3)] = fuzz_value(r, 0);
    culv_vk_image_desc *desc = fuzz_box(r, &d, sizeof d);
    if (from != &import_resources[IMPORT_LINEAR] || fuzz_rarely(r, 8)) {
        culv_image *out = FUZZ_POISON(culv_image);
        fuzz_arm(r);
        culv_result result = FUZZ_CALL(culv_vk_image_map(fuzz.vk, memory, desc, &out));
        fuzz_disarm();
        FUZZ_REQUIRE(result != CULV_OK || from != &import_resources[IMPORT_LINEAR],
                     "LINEAR, as an array");
        keep_image(r, s, result, out);
    } else {
        culv_subresource_layout *layout = fuzz_box_out(r, sizeof *layout);
        culv_buffer *out = FUZZ_POISON(culv_buffer);
        uint32_t level = fuzz_value32(r, 0), plane = fuzz_value32(r, 0);
        fuzz_arm(r);
        culv_result result =
            FUZZ_CALL(culv_vk_image_map_pitched(fuzz.vk, memory, desc, level, plane, &out, layout));
        fuzz_disarm();
        if (result == CULV_OK) {
            FUZZ_REQUIRE(culv_buffer_size(out) <= culv_memory_size(memory), "it leaves the memory");
            KEEP(s->buffers, fuzz_pick(r, SLOTS), out, culv_buffer_unmap(&s->buffers[kept], NULL));
        } else {
            FUZZ_REQUIRE(out == FUZZ_POISON(culv_buffer), "written after an error");
            fuzz_require_untouched(layout);
        }
        fuzz_unbox(layout);
    }
    fuzz_unbox(desc);
    fuzz_chain_free(&chain);
}

static void texture(fuzz_reader *r, culv_image *image)
{
    culv_texture_desc d = culv_texture_desc_init();
    for (int i = 0; i < 3; i++)
        d.address[i] = (culv_texture_address)fuzz_enum(r, 4);
    d.filter = (culv_texture_filter)fuzz_enum(r, 2);
    d.mip_filter = (culv_texture_filter)fuzz_enum(r, 2);
    d.read = (culv_texture_read)fuzz_enum(r, 2);
    d.mip_bias = fuzz_float(r);
    d.clamp_lod = fuzz_flag(r);
    d.min_lod = fuzz_float(r);
    d.max_lod = fuzz_float(r);
    d.max_anisotropy = fuzz_value32(r, 0);
    for (int i = 0; i < 4; i++)
        d.border_color[i] = fuzz_float(r);
    d.unnormalized_coordinates = fuzz_rarely(r, 4);
    d.no_seamless_cube = fuzz_flag(r);
    d.base_level = fuzz_value32(r, 0);
    d.level_count = fuzz_value32(r, 0);
    d.base_layer = fuzz_value32(r, 0);
    d.layer_count = fuzz_value32(r, 0);
    d.plane = fuzz_value32(r, 0);
    culv_texture_desc *desc = fuzz_rarely(r, 16) ? NULL : fuzz_box(r, &d, sizeof d);
    CUtexObject first = 0x5a5a, second = 0x5a5a;
    fuzz_arm(r);
    culv_result result = FUZZ_CALL(culv_image_get_texture(image, desc, &first));
    fuzz_disarm();
    if (result != CULV_OK)
        FUZZ_REQUIRE(first == 0x5a5a, "written after an error");
    else /* NaN is equal to itself here */
        FUZZ_REQUIRE(FUZZ_CALL(culv_image_get_texture(image, desc, &second)) == CULV_OK &&
                         second == first,
                     "another object");
    if (desc != NULL) fuzz_unbox(desc);
}

static void view(fuzz_reader *r, import_state *s)
{
    culv_image *image = s->images[fuzz_pick(r, SLOTS)];
    uint32_t index = fuzz_value32(r, 0);
    CUarray array = FUZZ_POISON(struct CUarray_st), again = NULL;
    CUsurfObject surface = 0x5a5a;
    culv_result result = CULV_OK;
    uint8_t what = fuzz_u8(r) % 7u;
    fuzz_arm(r);
    switch (what) {
    case 0: result = FUZZ_CALL(culv_image_get_array(image, index, 0, &array)); break;
    case 1: result = FUZZ_CALL(culv_image_get_surface(image, index, 0, &surface)); break;
    case 2: result = FUZZ_CALL(culv_image_get_array(image, 0, index, &array)); break;
    case 3: result = FUZZ_CALL(culv_image_get_surface(image, 0, index, &surface)); break;
    case 4: {
        uint32_t w = 99, h = 99, d = 99;
        result = FUZZ_CALL(culv_image_get_extent(image, index, &w, &h, fuzz_flag(r) ? &d : NULL));
        FUZZ_REQUIRE(result == CULV_OK ? w != 0 && h != 0 && d != 0 : w == 99 && h == 99 && d == 99,
                     "%u x %u x %u", w, h, d);
        break;
    }
    case 5: {
        culv_image_desc *out = fuzz_box_out(r, sizeof *out);
        result = FUZZ_CALL(culv_image_get_desc(image, out));
        if (result != CULV_OK)
            fuzz_require_untouched(out);
        else if (fuzz_box_whole(out))
            FUZZ_REQUIRE(out->label == NULL && out->mip_levels == description(image).mip_levels,
                         "another image");
        fuzz_unbox(out);
        break;
    }
    default: fuzz_disarm(); texture(r, image);
    }
    fuzz_disarm();
    if (what == 0 || what == 2)
        FUZZ_REQUIRE((array == FUZZ_POISON(struct CUarray_st)) == (result != CULV_OK) &&
                         array != NULL,
                     "no array");
    if (what == 0 && result == CULV_OK)
        FUZZ_REQUIRE(index < description(image).mip_levels &&
                         culv_image_get_array(image, index, 0, &again) == CULV_OK && again == array,
                     "level %u", index);
    if (what == 1 || what == 3)
        FUZZ_REQUIRE((surface == 0x5a5a) == (result != CULV_OK) && surface != 0, "no surface");
}

static void export_and_back(fuzz_reader *r)
{
    const import_resource *from = &import_resources[fuzz_pick(r, IMPORT_RESOURCES)];
    culv_handle handle, before;
    memset(&handle, 0xa5, sizeof handle);
    memcpy(&before, &handle, sizeof handle);
    culv_handle_type type =
        (culv_handle_type)(fuzz_rarely(r, 4) ? fuzz_enum(r, 5) : CULV_HANDLE_OPAQUE_FD);
    VkDeviceMemory memory = fuzz_rarely(r, 16) ? VK_NULL_HANDLE : from->memory;
    if (FUZZ_CALL(culv_vk_memory_export_dup(fuzz.vk, memory, type, &handle)) != CULV_OK) {
        FUZZ_REQUIRE(memcmp(&handle, &before, sizeof handle) == 0, "written after an error");
        return;
    }
    require_exportable(from, "exported");
    FUZZ_REQUIRE(handle.type == type, "handle type %d", (int)handle.type);
    if (fuzz_rarely(r, 4)) {
        culv_handle_close(&handle);
        handle = culv_handle_opaque_fd(import_fd(r));
    }
    int fd = handle.value.fd;
    bool was_open = import_fd_is_open(fd);
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    d.handle = handle;
    if (fuzz_rarely(r, 16)) d.handle.type = (culv_handle_type)fuzz_enum(r, 5);
    d.size = fuzz_value(r, from->size);
    if (fuzz_rarely(r, 8)) d.exporter.bytes[fuzz_pick(r, 16)] = fuzz_u8(r);
    uint8_t bound = fuzz_u8(r);
    if (bound & 1) d.buffer = from->buffer;
    if (bound & 2) d.image = from->image;
    d.memory_type_bits = fuzz_bits(r, 0);
    d.dedicated = fuzz_rarely(r, 4);
    d.label = fuzz_label(r);
    culv_vk_memory_from_handle_desc *desc = fuzz_box(r, &d, sizeof d);
    VkDeviceMemory out = (VkDeviceMemory)(uintptr_t)0x5a5a;
    fuzz_arm(r);
    culv_result result = FUZZ_CALL(culv_vk_memory_from_handle(fuzz.vk, desc, &out));
    fuzz_disarm();
    import_fd_kept(fd, was_open);
    if (result == CULV_OK)
        vkFreeMemory(fuzz.vk_device, out, NULL);
    else
        FUZZ_REQUIRE(out == (VkDeviceMemory)(uintptr_t)0x5a5a, "written after an error");
    fuzz_unbox(desc);
}

/* Other handles of the same, and a dma-buf of what CUDA did not allocate. */
static void duplicate(fuzz_reader *r, import_state *s)
{
    const culv_buffer *buffer = s->buffers[fuzz_pick(r, SLOTS)];
    int fd = import_fd(r);
    bool was_open = import_fd_is_open(fd);
    culv_handle given = culv_handle_opaque_fd(fd), handle, before;
    given.type = (culv_handle_type)(fuzz_rarely(r, 4) ? fuzz_enum(r, 5) : CULV_HANDLE_OPAQUE_FD);
    if (fuzz_rarely(r, 16)) given.name = L"a name";
    memset(&handle, 0xa5, sizeof handle);
    memcpy(&before, &handle, sizeof handle);
    if (FUZZ_CALL(culv_handle_dup(&given, &handle)) == CULV_OK) {
        FUZZ_REQUIRE(was_open && handle.type == given.type && handle.value.fd != fd,
                     "no new handle");
        culv_handle_close(&handle);
    } else
        FUZZ_REQUIRE(memcmp(&handle, &before, sizeof handle) == 0, "written after an error");
    import_fd_kept(fd, was_open);
    memcpy(&handle, &before, sizeof handle);
    CUdeviceptr pointer = fuzz_value(r, culv_buffer_pointer(buffer));
    uint64_t size = fuzz_value(r, culv_buffer_size(buffer)), flags = fuzz_value(r, 0);
    if (FUZZ_CALL(culv_dma_buf_export_dup(fuzz.device, pointer, size, flags, &handle)) == CULV_OK)
        culv_handle_close(&handle);
    else
        FUZZ_REQUIRE(memcmp(&handle, &before, sizeof handle) == 0, "written after an error");
}

/* Any object, at once or once the stream is done; what was made from it lives on. */
static void give_up(fuzz_reader *r, import_state *s)
{
    uint32_t slot = fuzz_pick(r, SLOTS);
    const CUstream *last_use = fuzz_flag(r) ? &fuzz.stream : NULL;
    fuzz_arm(r); /* a release that the driver refuses is tried again */
    switch (fuzz_pick(r, 5)) {
    case 0: culv_memory_destroy(&s->memories[slot]); break;
    case 1: culv_buffer_unmap(&s->buffers[slot], last_use); break;
    case 2: culv_image_unmap(&s->images[slot], last_use); break;
    case 3: culv_semaphore_destroy(&s->semaphores[slot], last_use); break;
    default: culv_shared_semaphore_destroy(&s->made[slot], last_use);
    }
    fuzz_disarm();
}

void fuzz_target_run(fuzz_reader *r)
{
    import_state s;
    memset(&s, 0, sizeof s);
    for (int step = 0; step < 16 && (step == 0 || r->left > 0); step++)
        switch (fuzz_pick(r, 16)) {
        case 0: import_memory(r, &s); break;
        case 1:
        case 2: import_vulkan_memory(r, &s); break;
        case 3: map_buffer(r, &s); break;
        case 4:
        case 5: map_image(r, &s); break;
        case 6:
        case 7: map_vulkan_image(r, &s); break;
        case 8:
        case 9: view(r, &s); break;
        case 10: import_semaphore(r, &s); break;
        case 11: import_vulkan_semaphore(r, &s); break;
        case 12: import_use_semaphore(r, &s); break;
        case 13:
            if (fuzz_flag(r))
                duplicate(r, &s);
            else
                export_and_back(r);
            break;
        case 14: give_up(r, &s); break;
        default: (void)culv_device_collect(fuzz.device);
        }
    for (uint32_t i = 0; i < SLOTS; i++) {
        culv_image_unmap(&s.images[i], NULL);
        culv_memory_destroy(&s.memories[i]);
        culv_buffer_unmap(&s.buffers[i], NULL);
    }
    import_drop_semaphores(&s);
}
