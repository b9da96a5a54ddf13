/* SPDX-License-Identifier: MIT */
/* Which kind of memory buffers get, and that the log tells of the slow kind. What each kind costs
 * is in docs/measured/memory-kinds.md; here the choice is data. */
#define TEST_GROUP "kinds."
#include "core/log_scene.h"

enum { WORDS = 4096, BYTES = WORDS * 4 };
#define GIB  (UINT64_C(1) << 30)
#define MIB2 (UINT64_C(2) << 20)
#define SLOW "can be six times as slow"

static VkBufferCreateInfo buffer_info(VkDeviceSize size)
{
    return (VkBufferCreateInfo){.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                .size = size,
                                .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                         VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                         VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
}

/* What the twin's halves saw; all zero where the driver does not count. */
typedef struct seen {
    bool counted;
    uint64_t vulkan, cuda; /* dedicated: allocations, imports */
} seen;

static seen look(const lib_world *w)
{
    seen s = {.counted = w->cu->SoftCounts != NULL};
    if (!s.counted) return s;
    culv_soft_counts cuda = {.struct_size = sizeof cuda};
    culv_soft_vk_counts vulkan = {.struct_size = sizeof vulkan};
    w->cu->SoftCounts(&cuda);
    lib_layer layer;
    REQUIRE(lib_layer_find(&layer));
    layer.counts(&vulkan);
    s.vulkan = vulkan.dedicated;
    s.cuda = cuda.dedicated_memories;
    return s;
}

static void require_dedicated(const lib_world *w, bool dedicated)
{
    const seen s = look(w);
    if (!s.counted) return;
    REQUIRE_EQ(s.vulkan, dedicated);
    REQUIRE_EQ(s.cuda, dedicated);
}

static size_t warnings(log_scene *s)
{
    size_t count = 0, at = 0;
    while ((at = log_find(s, at, CULV_LOG_WARNING, SLOW, NULL)) < s->count) {
        count++;
        at++;
    }
    return count;
}

/* Buffers that Culvert makes ------------------------------------------------------------------- */

static void both_ways(lib_world *w, const culv_shared_buffer *made)
{
    static uint32_t words[WORDS];
    raw_vk_buffer raw = {.buffer = culv_vk_buffer_handle(made),
                         .size = culv_buffer_size(culv_shared_buffer_cuda(made)),
                         .flags = RAW_VK_EXPORT};
    const uint64_t at = raw.size - BYTES; /* its end */
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = lib_word(i, 3);
    raw_vk_write(&w->vk, &raw, at, words, BYTES);
    memset(words, 0, sizeof words);
    CUcontext before = lib_enter(w);
    CU_OK(w->cu->MemcpyDtoH(words, culv_shared_buffer_pointer(made) + at, BYTES));
    REQUIRE_WORDS(words, WORDS, 3);
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = lib_word(i, 4);
    CU_OK(raw_cuda_upload(w->cu, culv_shared_buffer_pointer(made) + at, words, BYTES));
    lib_leave(w, before);
    memset(words, 0, sizeof words);
    raw_vk_read(&w->vk, &raw, at, words, BYTES);
    REQUIRE_WORDS(words, WORDS, 4);
}

LOG_CASE(made, CULV_LOG_WARNING, .smoke = true)
{
    static const struct {
        culv_memory_kind asked, is;
        VkDeviceSize size;
    } rows[] = {{CULV_MEMORY_KIND_UNKNOWN, CULV_MEMORY_KIND_FAST, BYTES},
                {CULV_MEMORY_KIND_FAST, CULV_MEMORY_KIND_FAST, BYTES},
                {CULV_MEMORY_KIND_COMPRESSIBLE, CULV_MEMORY_KIND_COMPRESSIBLE, BYTES},
                {CULV_MEMORY_KIND_UNKNOWN, CULV_MEMORY_KIND_FAST, GIB},
                {CULV_MEMORY_KIND_COMPRESSIBLE, CULV_MEMORY_KIND_COMPRESSIBLE, GIB}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const VkBufferCreateInfo info = buffer_info(rows[i].size);
        culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
        d.create_info = &info;
        d.memory_kind = rows[i].asked;
        NEW(OWN(culv_shared_buffer), buffer, culv_vk_buffer_create, s->w.attachment, &d);
        REQUIRE_EQ(culv_buffer_memory_kind(culv_shared_buffer_cuda(buffer)), rows[i].is);
        require_dedicated(&s->w, rows[i].is == CULV_MEMORY_KIND_FAST);
        both_ways(&s->w, buffer);
    }
    REQUIRE_EQ(s->count, 0); /* what was asked for is no news */
    REQUIRE_EQ(culv_buffer_memory_kind(NULL), CULV_MEMORY_KIND_UNKNOWN);
}

LIB_CASE(made_refused)
{
    static const int wrong[] = {CULV_MEMORY_KIND_PLAIN, 4, -1};
    const VkBufferCreateInfo info = buffer_info(BYTES);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    culv_shared_buffer *buffer = NULL;
    d.create_info = &info;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        d.memory_kind = (culv_memory_kind)wrong[i];
        LIB_REFUSES(buffer, culv_vk_buffer_create(w->attachment, &d, &buffer), INVALID, VALUE,
                    "culv_vk_buffer_create_desc.memory_kind is ");
    }
    d.memory_kind = CULV_MEMORY_KIND_FAST;
    d.host_memory = 1;
    LIB_REFUSES(buffer, culv_vk_buffer_create(w->attachment, &d, &buffer), INVALID, VALUE,
                "host memory has no kinds");
}

/* The caller's memory -------------------------------------------------------------------------- */

LOG_CASE(imported, CULV_LOG_WARNING)
{
    static const VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
                                       local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    static const struct {
        VkDeviceSize size;
        bool dedicated, image, warns;
        VkMemoryPropertyFlags properties;
    } rows[] = {{GIB, false, false, true, 0},
                {GIB, true, false, false, 0},
                {GIB - MIB2, false, false, false, 0},
                {GIB, false, true, false, 0}, /* for an image alone: not known to be slow */
                {BYTES, false, false, false, 0},
                {BYTES, true, false, false, local | host},
                {BYTES, true, false, false, host}}; /* another warning */
    const VkImageCreateInfo image_info =
        raw_vk_image_info(VK_FORMAT_R8G8B8A8_UNORM, 16, 16, VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    VkImage image = VK_NULL_HANDLE;
    VK_OK(vkCreateImage(s->w.vk.device, &image_info, NULL, &image));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int shared = 0; shared < 2; shared++) {
            raw_vk_buffer raw;
            raw_vk_buffer_create(&s->w.vk, rows[i].size,
                                 RAW_VK_EXPORT | (rows[i].dedicated ? RAW_VK_DEDICATED : 0), &raw);
            culv_vk_memory_desc d = culv_vk_memory_desc_init();
            OWN(culv_memory) *memory = NULL, *again = NULL;
            culv_buffer_desc part = culv_buffer_desc_init();
            d.memory = raw.memory;
            d.allocation_size = raw.allocation_size;
            d.dedicated = rows[i].dedicated;
            d.image = rows[i].image ? image : VK_NULL_HANDLE;
            d.label = "block";
            d.memory_properties = rows[i].properties;
            if (shared) {
                LIB_OK(culv_vk_memory_import_shared(s->w.attachment, &d, &memory));
                LIB_OK(culv_vk_memory_import_shared(s->w.attachment, &d, &again));
                REQUIRE(again == memory);
            } else {
                LIB_OK(culv_vk_memory_import(s->w.attachment, &d, &memory));
            }
            part.size = BYTES;
            NEW(OWN(culv_buffer), buffer, culv_buffer_map, memory, &part);
            REQUIRE_EQ(culv_buffer_memory_kind(buffer),
                       rows[i].dedicated ? CULV_MEMORY_KIND_FAST : CULV_MEMORY_KIND_COMPRESSIBLE);
            REQUIRE_EQ(warnings(s), rows[i].warns); /* once */
            REQUIRE_EQ(s->count, rows[i].warns || rows[i].properties == host);
            if (rows[i].properties == host)
                REQUIRE(strstr(s->lines[0].text, "memory 'block': this is HOST_VISIBLE") != NULL);
            if (rows[i].warns) {
                REQUIRE(strstr(s->lines[0].text, "memory 'block'") != NULL);
                REQUIRE(strstr(s->lines[0].text, "VkMemoryDedicatedAllocateInfo") != NULL);
            }
            log_forget(s);
            raw_vk_buffer_destroy(&s->w.vk, &raw);
        }
    }
    vkDestroyImage(s->w.vk.device, image, NULL);
}

/* By its handle: nobody says whose memory it is, but perhaps that it is dedicated. */
LIB_CASE(by_handle)
{
    for (int dedicated = 0; dedicated < 2; dedicated++) {
        raw_vk_buffer raw;
        OWN(culv_memory) *memory = NULL;
        raw_vk_buffer_create(&w->vk, BYTES, RAW_VK_EXPORT | (dedicated ? RAW_VK_DEDICATED : 0),
                             &raw);
        culv_memory_desc d = lib_memory_desc(w, &raw, raw_vk_buffer_fd(&w->vk, &raw));
        d.dedicated = dedicated != 0;
        LIB_TAKE(culv_memory_import(w->device, &d, &memory), &d.handle);
        NEW(OWN(culv_buffer), buffer, culv_buffer_map, memory, NULL);
        REQUIRE_EQ(culv_buffer_memory_kind(buffer),
                   dedicated ? CULV_MEMORY_KIND_FAST : CULV_MEMORY_KIND_UNKNOWN);
        raw_vk_buffer_destroy(&w->vk, &raw);
    }
}

/* What the gate answers beforehand. */
TEST(planned)
{
    static const struct {
        VkDeviceSize block;
        culv_memory_kind kind;
        culv_bool slow;
    } rows[] = {{0, CULV_MEMORY_KIND_FAST, 0},
                {MIB2, CULV_MEMORY_KIND_COMPRESSIBLE, 0},
                {GIB - 1, CULV_MEMORY_KIND_COMPRESSIBLE, 0},
                {GIB, CULV_MEMORY_KIND_COMPRESSIBLE, 1},
                {4 * GIB, CULV_MEMORY_KIND_COMPRESSIBLE, 1}};
    REQUIRE_EQ(CULV_SLOW_KIND_BYTES, GIB);
    lib_world w;
    lib_open(&w);
    const VkBufferCreateInfo info = buffer_info(BYTES);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_vk_check_desc d = culv_vk_check_desc_init();
        culv_vk_sharing_info answer = culv_vk_sharing_info_init();
        d.block_size = rows[i].block;
        LIB_OK(culv_vk_check_buffer(w.attachment, &info, &d, &answer));
        REQUIRE_EQ(answer.memory_kind, rows[i].kind);
        REQUIRE_EQ(answer.random_access_slow, rows[i].slow);
        if (w.cu->software) REQUIRE_EQ(answer.dedicated_preferred, 1);
    }
    lib_close(&w);
}

/* VMM allocations ------------------------------------------------------------------------------ */

static VkBuffer vulkans(log_scene *s, VkDeviceSize size)
{
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkBufferCreateInfo info = buffer_info(size);
    VkBuffer buffer = VK_NULL_HANDLE;
    info.pNext = &external;
    VK_OK(vkCreateBuffer(s->w.vk.device, &info, NULL, &buffer));
    return buffer;
}

static culv_vmm_allocation *allocate(log_scene *s, uint64_t size)
{
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    d.size = size;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    d.label = "cells";
    NEW(culv_vmm_allocation, allocation, culv_vmm_allocation_create, s->w.device, &d);
    return allocation;
}

static void open_vmm(log_scene *s, culv_log_level level)
{
    log_open(s, level);
    if (!lib_caps(s->w.device).vmm) SKIP("no virtual memory management");
    log_forget(s);
}

TEST(vmm_bound)
{
    static const struct {
        uint64_t allocation, offset, buffer;
        bool dedicated, warns;
    } rows[] = {{2 * MIB2, 0, 2 * MIB2, true, false},
                {2 * MIB2, 0, MIB2, false, false},
                {2 * MIB2, MIB2, MIB2, false, false},
                {GIB, 0, GIB, true, false},
                {GIB + MIB2, 0, GIB, false, true},
                {GIB + MIB2, MIB2, GIB, false, true},
                /* Of the allocation's size alone nothing follows. */
                {GIB + MIB2, GIB, MIB2, false, false}};
    log_scene s;
    open_vmm(&s, CULV_LOG_WARNING);
    culv_vk_device *vk = s.w.attachment;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        OWN(culv_vmm_allocation) *allocation = allocate(&s, rows[i].allocation);
        VkBuffer buffer = vulkans(&s, rows[i].buffer);
        VkDeviceMemory memory = VK_NULL_HANDLE;
        const uint64_t offset = rows[i].offset;
        LIB_OK(culv_vk_buffer_bind_vmm(vk, buffer, allocation, offset, &memory));
        const seen now = look(&s.w);
        if (now.counted) REQUIRE_EQ(now.vulkan, rows[i].dedicated);
        REQUIRE_EQ(warnings(&s), rows[i].warns);
        if (rows[i].warns) REQUIRE(strstr(s.lines[0].text, "VMM allocation 'cells'") != NULL);
        log_forget(&s);
        vkDestroyBuffer(s.w.vk.device, buffer, NULL);
        vkFreeMemory(s.w.vk.device, memory, NULL);
    }
    log_close(&s);
}

/* Memory that the caller binds: warned of where a buffer is named, told where it may be meant for
 * sparse binding. */
TEST(vmm_memory)
{
    static const struct {
        uint64_t allocation, buffer; /* 0: none is named */
        bool dedicated;
        culv_log_level level; /* of the line; NONE: there is none */
    } rows[] = {{GIB, GIB, false, CULV_LOG_WARNING},   {GIB, GIB, true, CULV_LOG_NONE},
                {GIB, MIB2, false, CULV_LOG_NONE},     {GIB, 0, false, CULV_LOG_INFO},
                {GIB - MIB2, 0, false, CULV_LOG_NONE}, {MIB2, MIB2, false, CULV_LOG_NONE}};
    log_scene s;
    open_vmm(&s, CULV_LOG_INFO);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int handle = 0; handle < 2; handle++) {
            OWN(culv_vmm_allocation) *allocation = allocate(&s, rows[i].allocation);
            culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
            VkDeviceMemory memory = VK_NULL_HANDLE;
            if (rows[i].buffer != 0) d.buffer = vulkans(&s, rows[i].buffer);
            d.dedicated = rows[i].dedicated;
            d.label = "from CUDA";
            if (handle) {
                LIB_OK(culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_FD, &d.handle));
                d.size = rows[i].allocation;
                LIB_OK(culv_vk_memory_from_handle(s.w.attachment, &d, &memory));
                culv_handle_close(&d.handle);
            } else {
                LIB_OK(culv_vk_memory_from_vmm(s.w.attachment, allocation, &d, &memory));
            }
            for (int level = CULV_LOG_WARNING; level <= CULV_LOG_INFO; level++) {
                const bool there =
                    log_find(&s, 0, (culv_log_level)level, SLOW, "memory 'from CUDA'") < s.count;
                REQUIRE_EQ(there, rows[i].level == (culv_log_level)level);
            }
            const seen now = look(&s.w);
            if (now.counted) REQUIRE_EQ(now.vulkan, rows[i].dedicated);
            log_forget(&s);
            vkDestroyBuffer(s.w.vk.device, d.buffer, NULL);
            vkFreeMemory(s.w.vk.device, memory, NULL);
        }
    }
    log_close(&s);
}

/* Each chunk's buffer has all of the chunk. */
TEST(vector)
{
    log_scene s;
    open_vmm(&s, CULV_LOG_WARNING);
    culv_vector_desc d = culv_vector_desc_init();
    culv_vk_vector_view_desc vd = culv_vk_vector_view_desc_init();
    d.size = GIB;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    vd.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    NEW(culv_vector, vector, culv_vector_create, s.w.device, &d);
    NEW(culv_vector_view, view, culv_vk_vector_view_create, s.w.attachment, vector, &vd);
    for (int grown = 0; grown < 2; grown++) {
        size_t parts = 0;
        LIB_OK(culv_vector_view_get_parts(view, NULL, 0, &parts));
        REQUIRE(parts > 0);
        const seen now = look(&s.w);
        if (now.counted) REQUIRE_EQ(now.vulkan, parts);
        if (grown) break;
        LIB_OK(culv_vector_grow(vector, GIB + MIB2));
        for (int twice = 0; twice < 2; twice++) /* a forgotten update is told once */
            LIB_OK(culv_vector_view_get_parts(view, NULL, 0, &parts));
        REQUIRE_EQ(s.count, 1);
        REQUIRE(strstr(s.lines[0].text, "call culv_vector_view_update()") != NULL);
        log_forget(&s);
        LIB_OK(culv_vector_view_update(view));
    }
    REQUIRE_EQ(s.count, 0);
    culv_vector_view_destroy(&view);
    culv_vector_destroy(&vector, NULL);
    log_close(&s);
}

/* Compressible memory that was asked for, where the device grants it. */
TEST(vmm_compressible, .own = true)
{
    log_scene s;
    const raw_cuda *cu = lib_driver();
    if (cu->SoftPlayAttribute != NULL)
        cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 1);
    open_vmm(&s, CULV_LOG_WARNING);
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    culv_vmm_allocation *allocation = NULL;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    d.size = GIB + MIB2;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    d.usage = CULV_VMM_USAGE_COMPRESSIBLE;
    if (culv_vmm_allocation_create(s.w.device, &d, &allocation) != CULV_OK)
        SKIP("no compressible memory: %s", culv_last_error_message());
    LIB_OK(culv_vmm_allocation_get_info(allocation, &info));
    if (!(info.usage & CULV_VMM_USAGE_COMPRESSIBLE)) {
        culv_vmm_allocation_destroy(&allocation);
        SKIP("compressible memory was not granted");
    }
    VkBuffer buffer = vulkans(&s, GIB);
    LIB_OK(culv_vk_buffer_bind_vmm(s.w.attachment, buffer, allocation, 0, &memory));
    REQUIRE_EQ(warnings(&s), 0);
    vkDestroyBuffer(s.w.vk.device, buffer, NULL);
    vkFreeMemory(s.w.vk.device, memory, NULL);
    culv_vmm_allocation_destroy(&allocation);
    log_close(&s);
}
