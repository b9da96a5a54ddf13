/* SPDX-License-Identifier: MIT */
/* A device that works on another GPU's memory in place (culv_vk_device_desc::allow_other_gpu): the
 * caller's own memory, what is refused, what is copied after all. */
#include "fallback_scene.h"

#include <string.h>

extern const test_case across_cases[];

enum { UNIT = 2 << 20 };

/* Words by CUDA, read by Vulkan; others by Vulkan, read by CUDA, at both ends of the buffer. */
static void both_ways(scene *s, raw_vk_buffer *own, culv_buffer *cuda, uint64_t offset)
{
    enum { WORDS = 1021 };
    const uint64_t size = culv_buffer_size(cuda), at[] = {0, size / 4 * 4 - WORDS * 4};
    const raw_cuda *cu = s->w.cu;
    static uint32_t words[WORDS];
    for (size_t end = 0; end < 2; end++)
        for (uint32_t turn = 0; turn < 2; turn++) {
            const uint32_t seed = (uint32_t)end * 2 + turn + 7;
            CUcontext before = lib_enter(&s->w);
            for (uint32_t i = 0; i < WORDS; i++)
                words[i] = lib_word(i, seed);
            if (turn == 0)
                CU_OK(
                    raw_cuda_upload(cu, culv_buffer_pointer(cuda) + at[end], words, sizeof words));
            else
                raw_vk_write(&s->w.vk, own, offset + at[end], words, sizeof words);
            memset(words, 0, sizeof words);
            if (turn == 0)
                raw_vk_read(&s->w.vk, own, offset + at[end], words, sizeof words);
            else
                CU_OK(cu->MemcpyDtoH(words, culv_buffer_pointer(cuda) + at[end], sizeof words));
            lib_leave(&s->w, before);
            REQUIRE_WORDS(words, WORDS, seed);
        }
}

/* Memory that is dedicated, of any size; and memory that is not, whole units of it, of which two
 * buffers have a part each. */
static void own_memory(void)
{
    static scene s;
    static const struct {
        VkDeviceSize size;
        unsigned flags;
    } rows[] = {{70001, RAW_VK_DEDICATED}, {UNIT + 4096, RAW_VK_DEDICATED}, {2 * UNIT, 0}};
    scene_open_bare(&s, SCENE_DIRECT);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        raw_vk_buffer own;
        culv_memory *memory = NULL, *again = NULL;
        culv_buffer *whole = NULL, *part = NULL;
        raw_vk_buffer_create(&s.w.vk, rows[i].size, RAW_VK_EXPORT | rows[i].flags, &own);
        culv_vk_memory_desc d = culv_vk_memory_desc_init();
        d.memory = own.memory;
        d.allocation_size = own.allocation_size;
        d.dedicated = rows[i].flags != 0;
        d.buffer = own.buffer;
        LIB_OK(culv_vk_memory_import_shared(s.w.attachment, &d, &memory));
        LIB_OK(culv_vk_memory_import_shared(s.w.attachment, &d, &again));
        REQUIRE(memory == again);
        culv_memory_destroy(&again);
        culv_image *image = NULL;
        culv_image_desc i2d = culv_image_desc_init();
        i2d.format = (culv_format)VK_FORMAT_R8G8B8A8_UNORM;
        i2d.width = i2d.height = 16;
        LIB_REFUSES(culv_image, image, culv_image_map(memory, &i2d, &image), CULV_ERROR_UNSUPPORTED,
                    CULV_REASON_DEVICE_MISMATCH);
        culv_buffer_desc b = culv_buffer_desc_init();
        b.size = rows[i].size;
        LIB_OK(culv_buffer_map(memory, &b, &whole));
        b.offset = 65536;
        b.size = 4097;
        LIB_OK(culv_buffer_map(memory, &b, &part));
        REQUIRE_EQ(culv_buffer_sharing(whole), CULV_SHARING_DIRECT);
        REQUIRE_EQ(culv_buffer_memory_kind(whole),
                   rows[i].flags != 0 ? CULV_MEMORY_KIND_FAST : CULV_MEMORY_KIND_COMPRESSIBLE);
        REQUIRE_EQ(lib_counts(&s.w).memories, 1);
        REQUIRE_EQ(lib_counts(&s.w).mappings, 1);
        both_ways(&s, &own, whole, 0);
        both_ways(&s, &own, part, 65536);
        culv_memory_destroy(&memory);
        LIB_OK(culv_buffer_unmap(&whole));
        both_ways(&s, &own, part, 65536);
        LIB_OK(culv_buffer_unmap(&part));
        REQUIRE_EQ(lib_counts(&s.w).memories, 0);
        REQUIRE_EQ(lib_counts(&s.w).mappings, 0);
        raw_vk_buffer_destroy(&s.w.vk, &own);
    }
    scene_close(&s);
}

/* What does not go across says what does; the driver is not asked. */
static void refused(void)
{
    static scene s;
    raw_vk_buffer own;
    culv_memory *memory = NULL;
    culv_shared_image *made = NULL;
    VkDeviceMemory vulkans = VK_NULL_HANDLE;
    culv_vmm_allocation *allocation = NULL;
    scene_open_bare(&s, SCENE_DIRECT);
    culv_vk_device *vk = s.w.attachment;
    raw_vk_buffer_create(&s.w.vk, 65536, RAW_VK_EXPORT, &own);
    culv_vk_memory_desc d = culv_vk_memory_desc_init();
    d.memory = own.memory;
    d.allocation_size = own.allocation_size;
    culv_soft_counts before = {.struct_size = sizeof before}, after = before;
    if (s.w.cu->SoftCounts != NULL) s.w.cu->SoftCounts(&before);
    LIB_REFUSES(culv_memory, memory, culv_vk_memory_import(vk, &d, &memory), CULV_ERROR_INVALID,
                CULV_REASON_SIZE);
    LIB_SAYS("2097152");
    LIB_SAYS("VkMemoryDedicatedAllocateInfo");
    d.image = (VkImage)own.buffer; /* not looked at */
    LIB_REFUSES(culv_memory, memory, culv_vk_memory_import(vk, &d, &memory), CULV_ERROR_UNSUPPORTED,
                CULV_REASON_DEVICE_MISMATCH);
    LIB_SAYS("copy it into the image on its GPU");
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = VK_FORMAT_R8G8B8A8_UNORM,
                              .extent = {61, 33, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    culv_vk_image_create_desc make = culv_vk_image_create_desc_init();
    make.create_info = &info;
    LIB_REFUSES(culv_shared_image, made, culv_vk_image_create(vk, &make, &made),
                CULV_ERROR_UNSUPPORTED, CULV_REASON_DEVICE_MISMATCH);
    culv_vk_sharing_info sharing = culv_vk_sharing_info_init();
    LIB_ERROR(culv_vk_check_image(vk, &info, NULL, &sharing), CULV_ERROR_UNSUPPORTED,
              CULV_REASON_DEVICE_MISMATCH);
    if (s.w.cu->SoftCounts != NULL) s.w.cu->SoftCounts(&after);
    REQUIRE_EQ(before.calls, after.calls);
    const VkBufferCreateInfo buffer = raw_vk_buffer_info(64, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    LIB_OK(culv_vk_check_buffer(vk, &buffer, NULL, &sharing));
    /* Told to, an image is copied from GPU to GPU. */
    make.fallback = CULV_FALLBACK_PEER;
    LIB_OK(culv_vk_image_create(vk, &make, &made));
    REQUIRE_EQ(culv_image_sharing(culv_shared_image_cuda(made)), CULV_SHARING_PEER);
    culv_shared_image_destroy(&made);
    /* CUDA's memory in Vulkan. */
    culv_vmm_allocation_desc v = culv_vmm_allocation_desc_init();
    v.size = UNIT;
    v.handle_types = UINT32_C(1) << CULV_HANDLE_OPAQUE_FD;
    LIB_OK(culv_vmm_allocation_create(s.w.device, &v, &allocation));
    culv_vk_memory_from_handle_desc h = culv_vk_memory_from_handle_desc_init();
    LIB_OK(culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_FD, &h.handle));
    h.size = UNIT;
    LIB_ERROR(culv_vk_memory_from_handle(vk, &h, &vulkans), CULV_ERROR_UNSUPPORTED,
              CULV_REASON_DEVICE_MISMATCH);
    LIB_SAYS("own the memory");
    REQUIRE(vulkans == VK_NULL_HANDLE);
    culv_handle_close(&h.handle);
    culv_vmm_allocation_destroy(&allocation);
    raw_vk_buffer_destroy(&s.w.vk, &own);
    scene_close(&s);
}

/* GPUs that do not reach each other, and a Vulkan whose GPU CUDA does not show. */
static void out_of_reach(void)
{
    static scene s;
    culv_vk_device *vk = NULL;
    culv_shared_buffer *buffer = NULL;
    scene_open_bare(&s, SCENE_DIRECT);
    culv_vk_device_desc d = lib_vk_desc(&s.w);
    d.get_instance_proc_addr = lib_lying_loader;
    d.allow_other_gpu = 1;
    for (int hidden = 0; hidden < 2; hidden++) {
        if (hidden == 0 && s.w.cu->SoftBarPeers == NULL) continue;
        if (hidden == 0) s.w.cu->SoftBarPeers(1);
        lib_lying.uuid_xor = hidden != 0 ? 0x5a : 0;
        LIB_REFUSES(culv_vk_device, vk, culv_vk_attach(s.w.device, &d, &vk), CULV_ERROR_UNSUPPORTED,
                    hidden != 0 ? CULV_REASON_DEVICE_UNKNOWN : CULV_REASON_PEER);
        LIB_SAYS(hidden != 0 ? "CUDA_VISIBLE_DEVICES" : "cuDeviceCanAccessPeer");
        LIB_SAYS("culv_vk_device_desc.fallback");
        /* With a fallback nothing is shared, and all can be copied. */
        culv_vk_device_desc f = d;
        f.fallback = CULV_FALLBACK_HOST;
        LIB_OK(culv_vk_attach(s.w.device, &f, &vk));
        culv_vk_device *first = s.w.attachment;
        s.w.attachment = vk;
        LIB_REFUSES(culv_shared_buffer, buffer, scene_buffer(&s, 4097, 0, &buffer),
                    CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH);
        LIB_OK(scene_buffer(&s, 4097, CULV_FALLBACK_HOST, &buffer));
        REQUIRE_EQ(culv_buffer_sharing(culv_shared_buffer_cuda(buffer)), CULV_SHARING_HOST);
        culv_shared_buffer_destroy(&buffer);
        s.w.attachment = first;
        culv_vk_detach(&vk);
        lib_lying.uuid_xor = 0;
        if (hidden == 0) s.w.cu->SoftBarPeers(0);
    }
    scene_close(&s);
}

/* The flag changes nothing for the VkDevice's own GPU, and costs no call of the driver's. */
static void own_gpu(void)
{
    static scene s;
    culv_vk_device *vk = NULL;
    culv_shared_buffer *buffer = NULL;
    scene_open_bare(&s, SCENE_SHARED);
    culv_vk_device_desc d = lib_vk_desc(&s.w);
    d.allow_other_gpu = 1;
    culv_soft_counts before = {.struct_size = sizeof before}, after = before;
    if (s.w.cu->SoftCounts != NULL) s.w.cu->SoftCounts(&before);
    LIB_OK(culv_vk_attach(s.w.device, &d, &vk));
    if (s.w.cu->SoftCounts != NULL) s.w.cu->SoftCounts(&after);
    REQUIRE_EQ(before.calls, after.calls);
    culv_vk_device *first = s.w.attachment;
    s.w.attachment = vk;
    LIB_OK(scene_buffer(&s, 4097, 0, &buffer));
    REQUIRE_EQ(culv_buffer_sharing(culv_shared_buffer_cuda(buffer)), CULV_SHARING_SHARED);
    culv_shared_buffer_destroy(&buffer);
    s.w.attachment = first;
    culv_vk_detach(&vk);
    scene_close(&s);
}

const test_case across_cases[] = {
    {.name = "across.own_memory", .run = own_memory},
    {.name = "across.refused", .run = refused},
    {.name = "across.out_of_reach", .run = out_of_reach},
    {.name = "across.own_gpu", .run = own_gpu},
    {.name = NULL},
};
