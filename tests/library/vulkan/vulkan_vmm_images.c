/* SPDX-License-Identifier: MIT */
/* VMM allocations under Vulkan's images: every road of the texels, both ways, by size, levels,
 * usage, offset and how the memory was made. */
#define TEST_GROUP "vk_vmm."
#include "image_stage.h"
#include "vulkan_vmm_stage.h"

typedef struct image_row {
    uint32_t width, height, levels;
    VkImageUsageFlags usage; /* besides copies */
    bool at_offset;
    bool compressible;
    bool bound_here; /* by the case, to memory of culv_vk_memory_from_vmm() */
} image_row;

/* An image in VMM memory, and CUDA's array on the same. */
typedef struct vmm_image {
    shared_image i; /* as the caller's */
    VkDeviceMemory vk_memory;
    culv_vmm_allocation *allocation;
} vmm_image;

static VkImage create_image(const stage *s, const VkImageCreateInfo *info)
{
    VkImage image = VK_NULL_HANDLE;
    VK_OK(vkCreateImage(s->w.vk.device, info, NULL, &image));
    return image;
}

static culv_vmm_allocation *allocate(const stage *s, uint64_t size, bool compressible)
{
    culv_vmm_allocation_desc d = vmm_stage_desc(size);
    culv_vmm_allocation *allocation = NULL;
    if (compressible) d.usage = CULV_VMM_USAGE_COMPRESSIBLE;
    LIB_OK(culv_vmm_allocation_create(s->w.device, &d, &allocation));
    return allocation;
}

static void lay_out(shared_image *i)
{
    for (uint32_t level = 0; level < i->levels; level++) {
        VkExtent3D e = shared_image_extent(i, level);
        i->at[level] = i->size;
        i->size += ((size_t)e.width * e.height * i->format.bytes_per_block + 15) / 16 * 16;
    }
}

/* False: Vulkan has none like it that can be shared. */
static bool open_image(stage *s, const image_row *row, vmm_image *out)
{
    VkDevice device = s->w.vk.device;
    VkExternalMemoryImageCreateInfo external;
    const VkImageCreateInfo info = image_info(VK_FORMAT_R8G8B8A8_UNORM, row->width, row->height,
                                              row->levels, row->usage, &external);
    VkMemoryRequirements needs;
    memset(out, 0, sizeof *out);
    shared_image *i = &out->i;
    culv_vk_sharing_info how = culv_vk_sharing_info_init();
    if (culv_vk_check_image(s->w.attachment, &info, NULL, &how) != CULV_OK) {
        REQUIRE(!s->w.cu->software);
        printf("%s\n", culv_last_error_message());
        return false;
    }
    i->origin = CALLERS_AT_OFFSET;
    i->format = culv_format_info_init();
    LIB_OK(culv_format_get_info((culv_format)info.format, &i->format));
    i->width = row->width;
    i->height = row->height;
    i->levels = row->levels;
    i->image = create_image(s, &info);
    vkGetImageMemoryRequirements(device, i->image, &needs);
    const VkDeviceSize offset =
        row->at_offset
            ? (65536 / needs.alignment + (65536 % needs.alignment != 0)) * needs.alignment
            : 0;
    out->allocation = allocate(s, offset + needs.size, row->compressible);
    if (row->bound_here) {
        culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
        d.image = i->image;
        d.dedicated = offset == 0;
        LIB_OK(culv_vk_memory_from_vmm(s->w.attachment, out->allocation, &d, &out->vk_memory));
        VK_OK(vkBindImageMemory(device, i->image, out->vk_memory, offset));
    } else {
        LIB_OK(culv_vk_image_bind_vmm(s->w.attachment, i->image, &info, out->allocation, offset,
                                      &out->vk_memory));
    }
    culv_vmm_allocation_info ai = culv_vmm_allocation_info_init();
    culv_memory_desc md = culv_memory_desc_init();
    LIB_OK(culv_vmm_allocation_get_info(out->allocation, &ai));
    LIB_OK(culv_vmm_export_dup(out->allocation, CULV_HANDLE_OPAQUE_FD, &md.handle));
    md.size = ai.size;
    md.dedicated = offset == 0;
    md.exporter = ai.device;
    LIB_TAKE(culv_memory_import(s->w.device, &md, &i->memory), &md.handle);
    culv_vk_image_desc id = culv_vk_image_desc_init();
    id.image = i->image;
    id.create_info = &info;
    id.offset = offset;
    LIB_OK(culv_vk_image_map(s->w.attachment, i->memory, &id, &i->cuda));
    lay_out(i);
    return true;
}

static void close_image(stage *s, vmm_image *m)
{
    lib_finish(&s->w, s->stream);
    culv_image_unmap(&m->i.cuda, NULL);
    culv_memory_destroy(&m->i.memory);
    vkDestroyImage(s->w.vk.device, m->i.image, NULL);
    vkFreeMemory(s->w.vk.device, m->vk_memory, NULL);
    culv_vmm_allocation_destroy(&m->allocation);
}

/* What an image holds: the kernels' pattern; a smooth one and one color, which drivers compress. */
typedef enum pattern { KERNELS, SMOOTH, CLEARED } pattern;

static const VkClearColorValue color = {.float32 = {1.0f, 0.0f, 0.2f, 1.0f}};
static const unsigned char cleared[4] = {255, 0, 51, 255};

static void fill(const shared_image *i, pattern kind, uint32_t seed, unsigned char flip,
                 unsigned char *texels)
{
    if (kind == KERNELS) {
        image_fill(i, seed, flip, texels);
        return;
    }
    memset(texels, 0, i->size);
    for (uint32_t level = 0; level < i->levels; level++) {
        VkExtent3D e = shared_image_extent(i, level);
        unsigned char *at = texels + i->at[level];
        for (uint32_t y = 0; y < e.height; y++)
            for (uint32_t x = 0; x < e.width; x++)
                for (uint32_t c = 0; c < 4; c++) {
                    const uint32_t smooth = x * 7 + y * 131 + c * 29 + seed;
                    *at++ = (unsigned char)((kind == SMOOTH ? smooth : cleared[c]) ^ flip);
                }
    }
}

static size_t wrong_bytes(const shared_image *i, pattern kind, uint32_t seed, unsigned char flip,
                          const unsigned char *texels)
{
    unsigned char *expected = malloc(i->size);
    size_t wrong = 0;
    REQUIRE(expected != NULL);
    fill(i, kind, seed, flip, expected);
    for (uint32_t level = 0; level < i->levels; level++) {
        VkExtent3D e = shared_image_extent(i, level);
        size_t bytes = (size_t)e.width * e.height * i->format.bytes_per_block;
        for (size_t k = i->at[level]; k < i->at[level] + bytes; k++)
            wrong += texels[k] != expected[k];
    }
    free(expected);
    return wrong;
}

typedef enum vulkan_work { COPY_IN, COPY_OUT, CLEAR } vulkan_work;

/* All levels, from or to a buffer. */
static void vulkan_turn(stage *s, const shared_image *i, vulkan_work work,
                        const raw_vk_buffer *buffer)
{
    const culv_vk_use use = work == COPY_OUT ? CULV_VK_USE_TRANSFER_SRC : CULV_VK_USE_TRANSFER_DST;
    const culv_vk_image_transfer t = image_transfer(i, 0, use);
    const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, i->levels, 0, 1};
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    record_barrier(commands, &t, TO_VULKAN, false);
    if (work == COPY_IN)
        record_copy_in(commands, i, buffer->buffer, 0);
    else if (work == COPY_OUT)
        record_copy_out(commands, i, buffer->buffer);
    else
        vkCmdClearColorImage(commands, i->image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &color, 1,
                             &all);
    record_barrier(commands, &t, TO_CUDA, false);
    stage_submit(s, commands, 0);
}

typedef void per_level(stage *s, const shared_image *i, uint32_t level, void *argument);

static void paint(stage *s, const shared_image *i, uint32_t level, void *seed)
{
    cuda_paint(s, i, level, *(uint32_t *)seed);
}

static void flip(stage *s, const shared_image *i, uint32_t level, void *unused)
{
    (void)unused;
    cuda_flip(s, i, level);
}

static void copy_in(stage *s, const shared_image *i, uint32_t level, void *texels)
{
    cuda_copy_in(s, i, level, texels);
}

static void copy_out(stage *s, const shared_image *i, uint32_t level, void *texels)
{
    cuda_copy_out(s, i, level, texels);
}

static void cuda_turn(stage *s, const shared_image *i, per_level *work, void *argument)
{
    stage_cuda_begin(s);
    for (uint32_t level = 0; level < i->levels; level++)
        work(s, i, level, argument);
    stage_cuda_end(s);
    lib_finish(&s->w, s->stream);
}

/* By its copies, and by a kernel that turns bits over. */
static void cuda_reads(stage *s, const shared_image *i, pattern kind, uint32_t seed,
                       unsigned char *texels, size_t wrong[2])
{
    cuda_turn(s, i, copy_out, texels);
    wrong[0] = wrong_bytes(i, kind, seed, 0, texels);
    cuda_turn(s, i, flip, NULL);
    memset(texels, 0, i->size);
    cuda_turn(s, i, copy_out, texels);
    wrong[1] = wrong_bytes(i, kind, seed, FLIP, texels);
}

enum { STEPS = 9 };

static void try_row(stage *s, const image_row *row)
{
    static const char *const names[STEPS] = {"CUDA's copy to Vulkan",
                                             "CUDA's kernel to Vulkan",
                                             "Vulkan's copy to CUDA's copy",
                                             "Vulkan's copy to CUDA's kernel",
                                             "and that kernel's to Vulkan",
                                             "Vulkan's smooth copy to CUDA's copy",
                                             "Vulkan's smooth copy to CUDA's kernel",
                                             "Vulkan's clear to CUDA's copy",
                                             "Vulkan's clear to CUDA's kernel"};
    vmm_image m;
    size_t wrong[STEPS];
    char what[160];
    snprintf(what, sizeof what, "%ux%u, %u levels, usage 0x%x%s%s", row->width, row->height,
             row->levels, (unsigned)row->usage, row->at_offset ? ", at an offset" : "",
             row->compressible ? ", compressible" : "");
    if (!open_image(s, row, &m)) {
        printf("%s: not tried\n", what);
        return;
    }
    const shared_image *i = &m.i;
    raw_vk_buffer buffer;
    unsigned char *texels = malloc(i->size);
    REQUIRE(texels != NULL);
    raw_vk_buffer_create(&s->w.vk, i->size, RAW_VK_HOST, &buffer);
    image_first_release(s, i, 0, false);
    fill(i, SMOOTH, 1, 0, texels);
    cuda_turn(s, i, copy_in, texels);
    vulkan_turn(s, i, COPY_OUT, &buffer);
    wrong[0] = wrong_bytes(i, SMOOTH, 1, 0, buffer.mapped);
    uint32_t seed = 2;
    cuda_turn(s, i, paint, &seed);
    vulkan_turn(s, i, COPY_OUT, &buffer);
    wrong[1] = wrong_bytes(i, KERNELS, 2, 0, buffer.mapped);
    fill(i, KERNELS, 3, 0, buffer.mapped);
    vulkan_turn(s, i, COPY_IN, &buffer);
    cuda_reads(s, i, KERNELS, 3, texels, &wrong[2]);
    vulkan_turn(s, i, COPY_OUT, &buffer);
    wrong[4] = wrong_bytes(i, KERNELS, 3, FLIP, buffer.mapped);
    fill(i, SMOOTH, 4, 0, buffer.mapped);
    vulkan_turn(s, i, COPY_IN, &buffer);
    cuda_reads(s, i, SMOOTH, 4, texels, &wrong[5]);
    if (s->w.vk.queues[0].flags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT)) {
        vulkan_turn(s, i, CLEAR, NULL);
        cuda_reads(s, i, CLEARED, 0, texels, &wrong[7]);
    } else
        wrong[7] = wrong[8] = 0;
    size_t all = 0;
    for (int k = 0; k < STEPS; k++) {
        if (wrong[k] != 0)
            printf("%s: %s: %zu of %zu bytes wrong\n", what, names[k], wrong[k], i->size);
        all += wrong[k];
    }
    if (all > 0) FAIL("%s: wrong, see above", what);
    printf("%s: right\n", what);
    free(texels);
    raw_vk_buffer_destroy(&s->w.vk, &buffer);
    close_image(s, &m);
}

static void try_rows(image_row row)
{
    static const VkImageUsageFlags usages[] = {
        0,
        VK_IMAGE_USAGE_SAMPLED_BIT,
        VK_IMAGE_USAGE_STORAGE_BIT,
        VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT,
        VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT,
        VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT |
            VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT,
    };
    static stage s;
    if (row.compressible) vmm_stage_play(CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED);
    stage_open(&s);
    culv_device_caps caps = lib_caps(s.w.device);
    if (!caps.vmm) SKIP("'%s' has no virtual memory management", caps.name);
    if (row.compressible) {
        culv_vmm_allocation *allocation = allocate(&s, 2 * VMM_MIB, true);
        culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
        LIB_OK(culv_vmm_allocation_get_info(allocation, &info));
        culv_vmm_allocation_destroy(&allocation);
        if (!(info.usage & CULV_VMM_USAGE_COMPRESSIBLE))
            SKIP("compressible memory was not granted");
        if (caps.multicast) SKIP("behind NVSwitches it is refused: image_behind_switches");
    }
    for (size_t i = 0; i < sizeof usages / sizeof usages[0]; i++) {
        row.usage = usages[i];
        try_row(&s, &row);
    }
    stage_close(&s);
}

TEST_AS(even, try_rows((image_row){.width = 256, .height = 128, .levels = 1}),
        .title = "vk_vmm.image_256x128")
TEST_AS(even_levels, try_rows((image_row){.width = 256, .height = 128, .levels = 5}),
        .title = "vk_vmm.image_256x128_levels")
TEST_AS(odd, try_rows((image_row){.width = 253, .height = 127, .levels = 1}),
        .title = "vk_vmm.image_253x127", .smoke = true)

/* Of sizes that are multiples of nothing; the last one has 819,200 bytes of texels. */
TEST(small, .title = "vk_vmm.image_small")
{
    try_rows((image_row){.width = 1, .height = 1, .levels = 1});
    try_rows((image_row){.width = 13, .height = 7, .levels = 3});
    try_rows((image_row){.width = 200, .height = 1024, .levels = 1});
}

TEST_AS(odd_levels, try_rows((image_row){.width = 253, .height = 127, .levels = 5}),
        .title = "vk_vmm.image_253x127_levels")
TEST_AS(large, try_rows((image_row){.width = 1024, .height = 512, .levels = 1}),
        .title = "vk_vmm.image_1024x512")
TEST_AS(compressible,
        try_rows((image_row){.width = 253, .height = 127, .levels = 5, .compressible = true}),
        .title = "vk_vmm.image_compressible")

/* Beside others: in compressible memory alone. */
TEST_AS(at_an_offset,
        try_rows((image_row){
            .width = 253, .height = 127, .levels = 5, .compressible = true, .at_offset = true}),
        .title = "vk_vmm.image_at_an_offset")
TEST_AS(bound_here,
        try_rows((image_row){.width = 253, .height = 127, .levels = 5, .bound_here = true}),
        .title = "vk_vmm.image_bound_here")
TEST_AS(bound_here_at_an_offset,
        try_rows((image_row){.width = 253,
                             .height = 127,
                             .levels = 5,
                             .compressible = true,
                             .at_offset = true,
                             .bound_here = true}),
        .title = "vk_vmm.image_bound_here_at_an_offset")

/* Refusals ------------------------------------------------------------------------------------- */

static void refuses(stage *s, VkImage image, const VkImageCreateInfo *info,
                    culv_vmm_allocation *allocation, VkDeviceSize offset, culv_result class,
                    culv_reason why, const char *says)
{
    VkDeviceMemory out;
    VMM_REFUSES_AS(out,
                   culv_vk_image_bind_vmm(s->w.attachment, image, info, allocation, offset, &out),
                   class, why, says);
}

TEST(refused, .title = "vk_vmm.image_refused")
{
    static stage s;
    stage_open(&s);
    culv_device_caps caps = lib_caps(s.w.device);
    if (!caps.vmm) SKIP("'%s' has no virtual memory management", caps.name);
    const culv_result invalid = CULV_ERROR_INVALID;
    VkExternalMemoryImageCreateInfo external;
    const VkImageCreateInfo right = image_info(VK_FORMAT_R8G8B8A8_UNORM, 256, 128, 1, 0, &external);
    culv_vmm_allocation *allocation = allocate(&s, 2 * VMM_MIB, false);
    VkImage image = create_image(&s, &right);
    VkMemoryRequirements needs;
    vkGetImageMemoryRequirements(s.w.vk.device, image, &needs);
    const vmm_stage_objects before = vmm_stage_count();
    VkImageCreateInfo info = right;
    info.pNext = NULL;
    refuses(&s, image, &info, allocation, 0, invalid, CULV_REASON_NOT_EXPORTABLE,
            "VkExternalMemoryImageCreateInfo");
    info = right;
    info.tiling = VK_IMAGE_TILING_LINEAR;
    refuses(&s, image, &info, allocation, 0, invalid, CULV_REASON_TILING, "LINEAR");
    info = right;
    info.samples = VK_SAMPLE_COUNT_4_BIT;
    refuses(&s, image, &info, allocation, 0, invalid, CULV_REASON_USAGE, "samples");
    info = right;
    info.flags = VK_IMAGE_CREATE_SPARSE_BINDING_BIT;
    refuses(&s, image, &info, allocation, 0, invalid, CULV_REASON_USAGE, "SPARSE_BINDING");
    info = right;
    info.extent.height *= 16; /* not what it was created with */
    refuses(&s, image, &info, allocation, 0, invalid, CULV_REASON_EXTENT,
            "create_info is not what this image");
    refuses(&s, image, &right, allocation, 2 * VMM_MIB, invalid, CULV_REASON_RANGE,
            "the image needs");
    refuses(&s, image, &right, allocation, VMM_MIB, invalid, CULV_REASON_DEDICATED,
            "CULV_VMM_USAGE_COMPRESSIBLE");
    if (needs.alignment > 1)
        refuses(&s, image, &right, allocation, needs.alignment / 2, invalid, CULV_REASON_VALUE,
                "alignment");
    REQUIRE(vmm_stage_same(&before));
    vkDestroyImage(s.w.vk.device, image, NULL);
    const VkImageCreateInfo many =
        image_info(VK_FORMAT_R8G8B8A8_UNORM, 1024, 1024, 1, 0, &external);
    image = create_image(&s, &many);
    refuses(&s, image, &many, allocation, 0, invalid, CULV_REASON_RANGE, "the image needs");
    vkDestroyImage(s.w.vk.device, image, NULL);
    culv_vmm_allocation_destroy(&allocation);
    stage_close(&s);
}

/* CUDA's import of compressible memory crashes there (measured on two H200s). */
TEST(refused_behind_switches, .title = "vk_vmm.image_behind_switches")
{
    static stage s;
    vmm_stage_play(CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED);
    vmm_stage_play(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED);
    stage_open(&s);
    const culv_device_caps caps = lib_caps(s.w.device);
    if (!caps.multicast) SKIP("'%s' has no multicast", caps.name);
    VkExternalMemoryImageCreateInfo external;
    const VkImageCreateInfo info = image_info(VK_FORMAT_R8G8B8A8_UNORM, 253, 127, 1, 0, &external);
    culv_vmm_allocation *allocation = allocate(&s, 2 * VMM_MIB, true);
    VkImage image = create_image(&s, &info);
    const vmm_stage_objects before = vmm_stage_count();
    refuses(&s, image, &info, allocation, 0, CULV_ERROR_UNSUPPORTED, CULV_REASON_VMM, "NVSwitches");
    refuses(&s, image, &info, allocation, 65536, CULV_ERROR_UNSUPPORTED, CULV_REASON_VMM,
            "not compressible");
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    VkDeviceMemory out;
    d.image = image;
    d.dedicated = 1;
    VMM_REFUSES(out, culv_vk_memory_from_vmm(s.w.attachment, allocation, &d, &out), UNSUPPORTED,
                VMM);
    REQUIRE(vmm_stage_same(&before));
    vkDestroyImage(s.w.vk.device, image, NULL);
    culv_vmm_allocation_destroy(&allocation);
    stage_close(&s);
}

/* What Vulkan is told: at offset 0 the memory is for the one image or buffer, elsewhere it is
 * not. */
TEST(dedication)
{
    static stage s;
    vmm_stage_play(CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED);
    stage_open(&s);
    VkDevice device = s.w.vk.device;
    culv_vk_device *seeing = NULL;
    culv_vk_device_desc vd = lib_vk_desc(&s.w);
    lib_lying = (lib_lies){0};
    vd.get_instance_proc_addr = lib_lying_loader;
    LIB_OK(culv_vk_attach(s.w.device, &vd, &seeing));
    VkExternalMemoryImageCreateInfo external;
    const VkImageCreateInfo info = image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64, 1, 0, &external);
    const VkExternalMemoryBufferCreateInfo external_buffer = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferCreateInfo buffer_info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                            .pNext = &external_buffer,
                                            .size = 65536,
                                            .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    culv_vmm_allocation *allocation = allocate(&s, 2 * VMM_MIB, !lib_caps(s.w.device).multicast);
    culv_vmm_allocation_info ai = culv_vmm_allocation_info_init();
    LIB_OK(culv_vmm_allocation_get_info(allocation, &ai));
    for (int i = 0; i < 2; i++) {
        const VkDeviceSize offset = (VkDeviceSize)i * VMM_MIB;
        VkDeviceMemory memory = VK_NULL_HANDLE;
        VkBuffer buffer = VK_NULL_HANDLE;
        lib_saw_dedicated = true;
        VK_OK(vkCreateBuffer(device, &buffer_info, NULL, &buffer));
        LIB_OK(culv_vk_buffer_bind_vmm(seeing, buffer, allocation, offset, &memory));
        REQUIRE(!lib_saw_dedicated); /* it is smaller than the allocation */
        vkDestroyBuffer(device, buffer, NULL);
        vkFreeMemory(device, memory, NULL);
        if (i == 1 && !(ai.usage & CULV_VMM_USAGE_COMPRESSIBLE)) break;
        VkImage image = create_image(&s, &info);
        lib_saw_dedicated = i != 0;
        LIB_OK(culv_vk_image_bind_vmm(seeing, image, &info, allocation, offset, &memory));
        REQUIRE_EQ(lib_saw_dedicated, offset == 0);
        vkDestroyImage(device, image, NULL);
        vkFreeMemory(device, memory, NULL);
    }
    culv_vmm_allocation_destroy(&allocation);
    culv_vk_detach(&seeing);
    stage_close(&s);
}
