/* SPDX-License-Identifier: MIT */
/* Contract rows: images in VMM allocations, which Vulkan and CUDA (by cuImportExternalMemory)
 * map. */
#define TEST_GROUP "vmm_images."
#include "vmm.h"

#include "images.h"

#define POSIX_FD CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

/* An image and an array in one allocation. */
typedef struct image_in_vmm {
    CUmemGenericAllocationHandle handle; /* 0: the memory is Vulkan's */
    size_t size;
    raw_vk_image vk;
    CUexternalMemory memory;
    CUmipmappedArray mipmap;
} image_in_vmm;

typedef struct image_variant {
    const char *what;
    uint32_t width, height, levels;
    VkImageUsageFlags usage; /* besides transfers */
    bool vulkans;            /* memory that Vulkan made, for comparison */
    bool dedicated;          /* to Vulkan, and to CUDA */
    bool compressible;       /* asked for at cuMemCreate */
    bool color_attachment;   /* CUDA's flag */
    /* The last memory type that Vulkan takes, else the first device-local one */
    bool last_type;
} image_variant;

static void image_open(pair *p, const image_variant *v, image_in_vmm *out)
{
    const image_format *format = &image_formats[IMAGE_RGBA8];
    raw_vk_image_desc desc =
        image_desc(format, v->width, v->height, v->levels, v->dedicated ? RAW_VK_DEDICATED : 0);
    desc.usage = v->usage;
    memset(out, 0, sizeof *out);
    if (v->vulkans) {
        raw_vk_image_create(&p->vk, &desc, &out->vk);
        out->size = out->vk.allocation_size;
        CU_OK(raw_cuda_import_memory(p->cu, raw_vk_image_fd(&p->vk, &out->vk), out->size,
                                     v->dedicated, &out->memory));
    } else {
        raw_vk_image usual;
        raw_vk_image_create(&p->vk, &desc, &usual);
        raw_vk_image as = usual;
        raw_vk_image_destroy(&p->vk, &usual);
        if (v->last_type) {
            const VkMemoryRequirements needs = raw_vk_image_needs(&p->vk, &desc);
            for (uint32_t i = 0; i < p->vk.memory.memoryTypeCount; i++)
                if (needs.memoryTypeBits >> i & 1u) as.memory_type = i;
        }
        CUmemAllocationProp prop = vmm_prop(p, POSIX_FD);
        if (v->compressible) prop.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_GENERIC;
        out->size = (size_t)(as.allocation_size + VMM_SIZE - 1) / VMM_SIZE * VMM_SIZE;
        CU_OK(p->cu->MemCreate(&out->handle, out->size, &prop, 0));
        /* A dedicated allocation is as large as its image. */
        if (!v->dedicated) as.allocation_size = out->size;
        raw_vk_image_import(&p->vk, vmm_export(p, out->handle), &as, &out->vk);
        raw_vk_image_first_layout(&p->vk, &out->vk, NULL);
        CU_OK(raw_cuda_import_memory(p->cu, vmm_export(p, out->handle), out->size, v->dedicated,
                                     &out->memory));
    }
    CUDA_ARRAY3D_DESCRIPTOR array = image_cuda_desc(format, &out->vk);
    if (v->color_attachment) array.Flags |= CUDA_ARRAY3D_COLOR_ATTACHMENT;
    CU_OK(raw_cuda_map_image(p->cu, out->memory, out->vk.offset, &array, v->levels, &out->mipmap));
}

static void image_close(pair *p, image_in_vmm *image)
{
    CU_OK(p->cu->MipmappedArrayDestroy(image->mipmap));
    CU_OK(p->cu->DestroyExternalMemory(image->memory));
    raw_vk_image_destroy(&p->vk, &image->vk);
    if (image->handle != 0) CU_OK(p->cu->MemRelease(image->handle));
}

/* An OPTIMAL image in it. What CUDA writes, Vulkan reads; the other way NVIDIA's driver gave other
 * bytes (measured: 118865 wrong of 128524), see every_direction. */
VMM_PAIR_CASE(written_by_cuda, .mark = TEST_BOTH,
              .reason = "what CUDA writes; what Vulkan writes is required of the twin")
{
    const image_format *format = &image_formats[IMAGE_RGBA8];
    const image_variant variant = {.width = 253, .height = 127, .levels = 5};
    image_in_vmm image;
    image_open(p, &variant, &image);
    CUmodule module = raw_cuda_load(p->cu, "image_kernels");
    for (uint32_t level = 0; level < 5; level += 4) {
        const VkExtent3D extent = raw_vk_image_extent(&image.vk, level);
        const size_t row = extent.width * format->texel, size = row * extent.height;
        unsigned char *found = test_memory(size),
                      *expected = image_pattern(format, extent, 50 + level);
        const CUarray array = image_level(p, image.mipmap, level);
        CUsurfObject surface = 0;
        unsigned seed = 60 + level;
        CU_OK(raw_cuda_write_array(p->cu, array, expected, row, extent.height));
        CU_OK(p->cu->CtxSynchronize());
        raw_vk_image_read(&p->vk, &image.vk, level, found);
        const size_t copied = image_wrong_bytes(found, expected, size);
        expected = image_pattern(format, extent, seed);
        CU_OK(raw_cuda_surface(p->cu, array, &surface));
        image_launch(p, module, "write", format, surface, extent, &seed);
        CU_OK(p->cu->SurfObjectDestroy(surface));
        raw_vk_image_read(&p->vk, &image.vk, level, found);
        const size_t by_kernel = image_wrong_bytes(found, expected, size);
        ANSWER(answer_key("level %u, read by Vulkan", level),
               "wrong bytes of %zu: copied %zu, by a kernel %zu", size, copied, by_kernel);
        REQUIRE(copied == 0 && by_kernel == 0);
    }
    if (p->cu->software) {
        require_same_image(p, module, format, &image.vk, image.mipmap, 0, 50);
        require_same_image(p, module, format, &image.vk, image.mipmap, 4, 51);
    }
    CU_OK(p->cu->ModuleUnload(module));
    image_close(p, &image);
}

static void image_pass(pair *p, uint32_t queue, const raw_vk_image *vk, raw_vk_buffer *staging,
                       void *texels, bool to_image)
{
    const size_t size = raw_vk_image_bytes(vk, 0);
    const raw_vk_job job = {.queue = queue};
    if (to_image) {
        memcpy(staging->mapped, texels, size);
        raw_vk_image_from_buffer(&p->vk, vk, 0, staging, 0, &job);
    } else {
        raw_vk_image_to_buffer(&p->vk, vk, 0, staging, 0, &job);
        memcpy(texels, staging->mapped, size);
    }
}

/* Level 0 in every direction: wrong bytes of each. */
static void image_directions(pair *p, const image_variant *v)
{
    const image_format *format = &image_formats[IMAGE_RGBA8];
    image_in_vmm image;
    raw_vk_buffer staging;
    image_open(p, v, &image);
    const VkExtent3D extent = raw_vk_image_extent(&image.vk, 0);
    const size_t row = extent.width * format->texel, size = row * extent.height;
    unsigned char *found = test_memory(size), *texels = image_pattern(format, extent, 1);
    const CUarray array = image_level(p, image.mipmap, 0);
    raw_vk_buffer_create(&p->vk, size, RAW_VK_HOST, &staging);
    CU_OK(raw_cuda_write_array(p->cu, array, texels, row, extent.height));
    CU_OK(p->cu->CtxSynchronize());
    image_pass(p, 0, &image.vk, &staging, found, false);
    const size_t to_vulkan = image_wrong_bytes(found, texels, size);
    /* What lies in the memory when CUDA has written the texels, and when Vulkan has. */
    CUdeviceptr raw = 0;
    unsigned char *cudas = NULL, *vulkans = NULL;
    if (image.handle != 0) {
        raw = vmm_reserve(p, image.size);
        vmm_map(p, raw, image.size, image.handle);
        cudas = test_memory(image.size);
        vulkans = test_memory(image.size);
        cuda_read(p, raw, cudas, image.size);
    }
    unsigned char *zeros = test_memory(size);
    image_pass(p, 0, &image.vk, &staging, zeros, true);
    image_pass(p, 0, &image.vk, &staging, texels, true);
    CU_OK(raw_cuda_read_array(p->cu, array, found, row, extent.height));
    const size_t to_cuda = image_wrong_bytes(found, texels, size);
    size_t other_bytes = 0;
    if (raw != 0) {
        cuda_read(p, raw, vulkans, image.size);
        other_bytes = image_wrong_bytes(vulkans, cudas, image.size);
    }
    image_pass(p, 0, &image.vk, &staging, found, false);
    const size_t vulkans_own = image_wrong_bytes(found, texels, size);
    ANSWER(v->what,
           "wrong bytes of %zu: CUDA to Vulkan %zu, Vulkan to CUDA %zu, Vulkan to Vulkan %zu; in "
           "the memory %zu differ",
           size, to_vulkan, to_cuda, vulkans_own, other_bytes);
    /* On the other queues, however many there are, and by a clear. */
    size_t other_queues = 0;
    for (uint32_t q = 1; q < p->vk.queue_count; q++) {
        if ((p->vk.queues[q].flags & (VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT)) == 0) continue;
        image_pass(p, q, &image.vk, &staging, zeros, true);
        image_pass(p, q, &image.vk, &staging, texels, true);
        CU_OK(raw_cuda_read_array(p->cu, array, found, row, extent.height));
        const size_t wrong = image_wrong_bytes(found, texels, size);
        MEASURED("image_in_vmm", "%s: Vulkan's queue family %u (flags 0x%x) to CUDA %zu", v->what,
                 q, p->vk.queues[q].flags, wrong);
        other_queues += wrong != to_cuda;
    }
    ANSWER(answer_key("%s: by other queue families", v->what), "%s",
           other_queues == 0 ? "as many" : "not as many");
    raw_vk_image_clear(&p->vk, &image.vk, 0, format->color, NULL);
    for (size_t i = 0; i < size; i++)
        zeros[i] = format->cleared[i % format->texel];
    CU_OK(raw_cuda_read_array(p->cu, array, found, row, extent.height));
    const size_t cleared = image_wrong_bytes(found, zeros, size);
    ANSWER(answer_key("%s: Vulkan's clear to CUDA", v->what), "%zu bytes wrong", cleared);
    if (p->cu->software || v->vulkans) {
        REQUIRE_EQ(to_vulkan, 0);
        REQUIRE_EQ(vulkans_own, 0);
        REQUIRE_EQ(to_cuda, 0);
        REQUIRE_EQ(cleared, 0);
    }
    if (raw != 0) {
        CU_OK(p->cu->MemUnmap(raw, image.size));
        CU_OK(p->cu->MemAddressFree(raw, image.size));
    }
    raw_vk_buffer_destroy(&p->vk, &staging);
    image_close(p, &image);
}

static void every_direction_of(const image_variant *variants, size_t count)
{
    pair p;
    vmm_pair_open(&p);
    for (size_t i = 0; i < count; i++)
        image_directions(&p, &variants[i]);
    pair_close(&p);
}

#define ODD_SIZE .width = 253, .height = 127, .levels = 5

TEST(every_direction, .mark = TEST_BOTH,
     .reason = "of NVIDIA's driver reported, but for Vulkan's memory")
{
    static const image_variant variants[] = {
        {.what = "Vulkan's memory", ODD_SIZE, .vulkans = true},
        {.what = "VMM", ODD_SIZE},
        {.what = "VMM, one level", .width = 253, .height = 127, .levels = 1},
        {.what = "VMM, 256 x 128, one level", .width = 256, .height = 128, .levels = 1},
        {.what = "VMM, 1024 x 1024, one level", .width = 1024, .height = 1024, .levels = 1},
        {.what = "VMM, color attachment to both",
         ODD_SIZE,
         .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT,
         .color_attachment = true},
        {.what = "VMM, storage image", ODD_SIZE, .usage = VK_IMAGE_USAGE_STORAGE_BIT},
        {.what = "VMM, the last memory type", ODD_SIZE, .last_type = true}};
    every_direction_of(variants, sizeof variants / sizeof variants[0]);
}

/* 1024 x 1024 fills its 4 MiB: an allocation of granules is as large as the image then. */
TEST(dedicated, .mark = TEST_BOTH, .reason = "of NVIDIA's driver reported, but for Vulkan's memory")
{
    static const image_variant variants[] = {
        {.what = "Vulkan's memory, dedicated", ODD_SIZE, .vulkans = true, .dedicated = true},
        {.what = "VMM, dedicated, 1024 x 1024, one level",
         .width = 1024,
         .height = 1024,
         .levels = 1,
         .dedicated = true},
        {.what = "VMM, dedicated", ODD_SIZE, .dedicated = true}};
    every_direction_of(variants, sizeof variants / sizeof variants[0]);
}

TEST(compressible, .mark = TEST_BOTH, .reason = "of NVIDIA's driver reported")
{
    static const image_variant variants[] = {{.what = "VMM", ODD_SIZE, .compressible = true},
                                             {.what = "VMM, dedicated, 1024 x 1024, one level",
                                              .width = 1024,
                                              .height = 1024,
                                              .levels = 1,
                                              .dedicated = true,
                                              .compressible = true}};
    pair p;
    int multicast = 0;
    vmm_pair_open(&p);
    CU_OK(p.cu->DeviceGetAttribute(&multicast, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, p.device));
    pair_close(&p);
    if (multicast && !p.cu->software)
        SKIP("behind NVSwitches driver 580.159.04 crashes in cuImportExternalMemory");
    every_direction_of(variants, sizeof variants / sizeof variants[0]);
}
