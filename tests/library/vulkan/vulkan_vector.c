/* SPDX-License-Identifier: MIT */
/* A culv_vector as Vulkan's buffers, one a chunk. */
#define TEST_GROUP "vk_vector."
#include "vulkan_vmm_stage.h"

enum { MOST = 16 };

static culv_vector_desc vector_desc(uint64_t size)
{
    culv_vector_desc d = culv_vector_desc_init();
    d.size = size;
    d.max_chunk = 2 * VMM_MIB;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    d.label = "particles";
    return d;
}

static culv_vk_vector_view_desc view_desc(void)
{
    culv_vk_vector_view_desc d = culv_vk_vector_view_desc_init();
    d.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
              VK_BUFFER_USAGE_VERTEX_BUFFER_BIT;
    return d;
}

static size_t parts_of(const culv_vector_view *view, culv_part parts[MOST])
{
    size_t count = 0;
    memset(parts, 0, MOST * sizeof parts[0]);
    LIB_OK(culv_vector_view_get_parts(view, parts, MOST, &count));
    REQUIRE(count <= MOST);
    return count;
}

/* The parts are the vector's chunks, one after another. */
static size_t require_shows(const culv_vector_view *view, const culv_vector *vector,
                            culv_part parts[MOST])
{
    culv_part chunks[MOST];
    size_t count = 0, there = parts_of(view, parts);
    uint64_t generation = 0;
    LIB_OK(culv_vector_get_parts(vector, chunks, MOST, &count, &generation));
    REQUIRE_EQ(there, count);
    REQUIRE_EQ(culv_vector_view_generation(view), generation);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(parts[i].buffer != 0);
        REQUIRE_EQ(parts[i].id, chunks[i].id);
        REQUIRE_EQ(parts[i].offset, chunks[i].offset);
        REQUIRE_EQ(parts[i].size, chunks[i].size);
    }
    return count;
}

/* What CUDA wrote into all of the vector, Vulkan reads in a part. */
static void require_part(vmm_stage *s, const culv_part *part, uint32_t seed)
{
    LIB_BLOCK(uint32_t, words, part->size);
    vmm_stage_vulkan_read(s, (VkBuffer)part->buffer, part->size, words);
    REQUIRE_EQ(vmm_stage_wrong(words, part->size, (uint32_t)(part->offset / 4), seed), 0);
}

/* All of it, in both directions. */
static void require_data(vmm_stage *s, const culv_vector_view *view, const culv_vector *vector,
                         uint32_t seed)
{
    culv_part parts[MOST];
    size_t count = require_shows(view, vector, parts);
    const uint64_t size = culv_vector_committed(vector);
    const CUdeviceptr at = culv_vector_pointer(vector);
    LIB_BLOCK(uint32_t, words, size);
    vmm_stage_kernel(s, "library_write", at, size, seed);
    for (size_t i = 0; i < count; i++) {
        require_part(s, &parts[i], seed);
        vmm_stage_fill(words, parts[i].size, (uint32_t)(parts[i].offset / 4), seed + 1);
        vmm_stage_vulkan_write(s, (VkBuffer)parts[i].buffer, parts[i].size, words);
    }
    vmm_stage_kernel(s, "library_add", at, size, 1);
    vmm_stage_cuda_read(s, at, size, words);
    REQUIRE_EQ(vmm_stage_wrong(words, size, 0, seed + 2), 0);
    if (count > 0) {
        const culv_part *last = &parts[count - 1];
        vmm_stage_require_same(s, (VkBuffer)last->buffer, at + (CUdeviceptr)last->offset,
                               last->size, seed);
    }
}

VMM_CASE(grows)
{
    const culv_vector_desc d = vector_desc(2 * VMM_MIB);
    const culv_vk_vector_view_desc vd = view_desc();
    culv_part before[MOST], parts[MOST];
    NEW(OWN(culv_vector), vector, culv_vector_create, s->w.device, &d);
    NEW(culv_vector_view, view, culv_vk_vector_view_create, s->w.attachment, vector, &vd);
    REQUIRE_EQ(require_shows(view, vector, before), 1);
    require_data(s, view, vector, 10);
    LIB_OK(culv_vector_view_update(view)); /* nothing to do */
    REQUIRE_EQ(lib_counts(&s->w).created, 1);

    LIB_OK(culv_vector_grow(vector, 6 * VMM_MIB));
    REQUIRE_EQ(parts_of(view, parts), 1); /* until it is told */
    REQUIRE(culv_vector_view_generation(view) != culv_vector_generation(vector));
    vmm_stage_kernel(s, "library_write", culv_vector_pointer(vector), 6 * VMM_MIB, 20);
    const double start = test_now_us();
    LIB_OK(culv_vector_view_update(view));
    MEASURED("library.vk_vector_update", "two chunks of 2 MiB: %.0f us", test_now_us() - start);
    REQUIRE_EQ(require_shows(view, vector, parts), 3);
    REQUIRE(parts[0].buffer == before[0].buffer && parts[0].id == before[0].id);
    require_part(s, &parts[2], 20); /* what was written before the import is there */
    require_data(s, view, vector, 30);
    /* A list that is too short gets what fits. */
    size_t count = 0;
    memset(before, 0, sizeof before);
    LIB_OK(culv_vector_view_get_parts(view, before, 2, &count));
    REQUIRE(count == 3 && before[1].buffer == parts[1].buffer && before[2].buffer == 0);
    LIB_OK(culv_vector_view_get_parts(view, NULL, 0, &count));
    REQUIRE_EQ(count, 3);
    culv_vector_view_destroy(&view);
    REQUIRE(view == NULL);
    REQUIRE_EQ(lib_counts(&s->w).created, 0);
    culv_vector_view_destroy(&view);
    culv_vector_view_destroy(NULL);
}

/* Chunks that are gone lose their buffers; those that come in their place get new ones. */
VMM_CASE(shrinks)
{
    const culv_vector_desc d = vector_desc(8 * VMM_MIB);
    const culv_vk_vector_view_desc vd = view_desc();
    culv_part before[MOST], parts[MOST];
    NEW(OWN(culv_vector), vector, culv_vector_create, s->w.device, &d);
    NEW(OWN(culv_vector_view), view, culv_vk_vector_view_create, s->w.attachment, vector, &vd);
    REQUIRE_EQ(require_shows(view, vector, before), 4);
    const vmm_stage_objects four = vmm_stage_count();
    LIB_OK(culv_vector_shrink(vector, 3 * VMM_MIB, s->stream));
    lib_finish(&s->w, s->stream);
    LIB_OK(culv_vector_view_update(view));
    REQUIRE_EQ(require_shows(view, vector, parts), 2);
    REQUIRE(parts[0].buffer == before[0].buffer && parts[1].buffer == before[1].buffer);
    const vmm_stage_objects two = vmm_stage_count();
    if (s->w.cu->software)
        REQUIRE(two.buffers == four.buffers - 2 && two.memories == four.memories - 2);
    require_data(s, view, vector, 40);
    /* Given back and taken again between two updates: other chunks at the same offsets. */
    LIB_OK(culv_vector_shrink(vector, 0, s->stream));
    lib_finish(&s->w, s->stream);
    LIB_OK(culv_vector_grow(vector, 6 * VMM_MIB));
    LIB_OK(culv_vector_view_update(view));
    REQUIRE_EQ(require_shows(view, vector, before), 3);
    REQUIRE(before[0].id != parts[0].id && before[1].id != parts[1].id);
    require_data(s, view, vector, 50);
    LIB_OK(culv_vector_shrink(vector, 0, s->stream));
    lib_finish(&s->w, s->stream);
    LIB_OK(culv_vector_view_update(view));
    REQUIRE_EQ(require_shows(view, vector, parts), 0);
}

/* Another address, the same chunks: nothing is imported anew. */
VMM_CASE(moves)
{
    culv_vector_desc d = vector_desc(4 * VMM_MIB);
    const culv_vk_vector_view_desc vd = view_desc();
    OWN(culv_vmm_range) *wall = NULL;
    culv_part before[MOST], parts[MOST];
    d.reserve = 4 * VMM_MIB;
    NEW(OWN(culv_vector), vector, culv_vector_create, s->w.device, &d);
    NEW(OWN(culv_vector_view), view, culv_vk_vector_view_create, s->w.attachment, vector, &vd);
    REQUIRE_EQ(require_shows(view, vector, before), 2);
    culv_vector_stats stats = culv_vector_stats_init();
    LIB_OK(culv_vector_get_stats(vector, &stats));
    const CUdeviceptr old = culv_vector_pointer(vector);
    culv_vmm_range_desc rd = culv_vmm_range_desc_init();
    rd.size = 2 * VMM_MIB;
    rd.address = old + (CUdeviceptr)stats.reserved;
    culv_result r = culv_vmm_range_create(s->w.device, &rd, &wall); /* so that it cannot stay */
    if (r != CULV_OK || culv_vmm_range_pointer(wall) != rd.address)
        printf("the address behind was taken\n");
    vmm_stage_kernel(s, "library_write", old, 4 * VMM_MIB, 60);
    LIB_OK(culv_vector_reserve(vector, stats.reserved + 64 * VMM_MIB));
    if (culv_vector_pointer(vector) == old) SKIP("the vector stayed where it was");
    const vmm_stage_objects objects = vmm_stage_count();
    REQUIRE(culv_vector_view_generation(view) != culv_vector_generation(vector));
    LIB_OK(culv_vector_view_update(view));
    REQUIRE(vmm_stage_same(&objects));
    REQUIRE_EQ(require_shows(view, vector, parts), 2);
    REQUIRE(parts[0].buffer == before[0].buffer && parts[1].buffer == before[1].buffer);
    require_part(s, &parts[1], 60);
    LIB_OK(culv_vector_grow(vector, 8 * VMM_MIB));
    LIB_OK(culv_vector_view_update(view));
    require_data(s, view, vector, 70);
    LIB_OK(culv_vector_retire(vector, 0, s->stream));
    lib_finish(&s->w, s->stream);
    LIB_OK(culv_vector_view_update(view));
    require_data(s, view, vector, 80);
}

/* A thread commits chunks while they are imported. */
VMM_CASE(ahead)
{
    culv_vector_desc d = vector_desc(2 * VMM_MIB);
    const culv_vk_vector_view_desc vd = view_desc();
    culv_part parts[MOST];
    d.commit_ahead = 4 * VMM_MIB;
    NEW(OWN(culv_vector), vector, culv_vector_create, s->w.device, &d);
    NEW(OWN(culv_vector_view), view, culv_vk_vector_view_create, s->w.attachment, vector, &vd);
    for (uint64_t size = 4 * VMM_MIB; size <= 12 * VMM_MIB; size += 2 * VMM_MIB) {
        LIB_OK(culv_vector_grow(vector, size));
        LIB_OK(culv_vector_view_update(view));
        size_t count = parts_of(view, parts);
        REQUIRE(parts[count - 1].offset + parts[count - 1].size >= size);
        vmm_stage_kernel(s, "library_write", culv_vector_pointer(vector), size,
                         (uint32_t)(size / VMM_MIB));
        require_part(s, &parts[size / (2 * VMM_MIB) - 1], (uint32_t)(size / VMM_MIB));
    }
}

/* Empty at first, with a device address, and without a handle on the attachment. */
VMM_CASE(begins_empty)
{
    const culv_vector_desc d = vector_desc(0);
    culv_vk_vector_view_desc vd = view_desc();
    culv_part parts[MOST];
    vd.usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    NEW(OWN(culv_vector), vector, culv_vector_create, s->w.device, &d);
    NEW(OWN(culv_vector_view), view, culv_vk_vector_view_create, s->w.attachment, vector, &vd);
    REQUIRE_EQ(require_shows(view, vector, parts), 0);
    LIB_OK(culv_vector_grow(vector, 4 * VMM_MIB));
    LIB_OK(culv_vector_view_update(view));
    require_data(s, view, vector, 90);
    (void)require_shows(view, vector, parts);
    REQUIRE(vkGetBufferDeviceAddress(
                s->w.vk.device,
                &(VkBufferDeviceAddressInfo){.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                             .buffer = (VkBuffer)parts[1].buffer}) != 0);
    culv_vk_detach(&s->w.attachment);
    LIB_OK(culv_vector_grow(vector, 6 * VMM_MIB));
    LIB_OK(culv_vector_view_update(view));
    REQUIRE_EQ(require_shows(view, vector, parts), 3);
}

/* Vulkan's half may outlive CUDA's, whether that goes behind a stream or at once. */
VMM_CASE(outlives)
{
    const culv_vector_desc d = vector_desc(4 * VMM_MIB);
    const culv_vk_vector_view_desc vd = view_desc();
    culv_part parts[MOST];
    for (int after = 0; after < 2; after++) {
        NEW(culv_vector, vector, culv_vector_create, s->w.device, &d);
        NEW(culv_vector_view, view, culv_vk_vector_view_create, s->w.attachment, vector, &vd);
        vmm_stage_kernel(s, "library_write", culv_vector_pointer(vector), 4 * VMM_MIB, 95);
        culv_vector_destroy(&vector, after ? &s->stream : NULL);
        for (int i = 0; i < 2; i++) {
            LIB_INVALID(culv_vector_view_update(view), VALUE, "'particles'", "destroyed");
            REQUIRE_EQ(parts_of(view, parts), 2);
            culv_device_collect(s->w.device);
        }
        require_part(s, &parts[1], 95);
        culv_vector_view_destroy(&view);
    }
}

VMM_CASE(wrong_calls)
{
    culv_vk_device *vk = s->w.attachment;
    const culv_vector_desc d = vector_desc(2 * VMM_MIB);
    culv_vk_vector_view_desc vd = view_desc();
    OWN(culv_vector_view) *view = NULL;
    size_t count = 77;
    NEW(OWN(culv_vector), vector, culv_vector_create, s->w.device, &d);
    const vmm_stage_objects before = vmm_stage_count();
#define ROW(change, ...)                                                                           \
    SPOILT(vd, change,                                                                             \
           LIB_REFUSES(view, culv_vk_vector_view_create(vk, vector, &vd, &view), INVALID,          \
                       __VA_ARGS__))
    ROW(vk = NULL, NULL_ARGUMENT);
    vk = s->w.attachment;
    ROW(vd.struct_size = 5, STRUCT_SIZE);
    ROW(vd.usage = 0, VALUE, "usage is 0", "particles");
    ROW(vd.sparse_size = 1 << 20, VALUE);
    ROW((vd.label = "drawn", vd.sparse_queue = s->w.vk.queues[0].queue), VALUE, "drawn");
#undef ROW
    REQUIRE_EQ(count, 77);
    REQUIRE_EQ(culv_vector_view_generation(NULL), 0);
    REQUIRE(vmm_stage_same(&before));
    LIB_OK(culv_vk_vector_view_create(vk, vector, &vd, &view));
    LIB_INVALID(culv_vector_view_get_parts(view, NULL, 1, &count), NULL_ARGUMENT);
    LIB_INVALID(culv_vector_view_get_parts(view, NULL, 0, NULL), NULL_ARGUMENT);
}

/* Vectors that cannot go to Vulkan are refused while they are still empty. */
VMM_CASE(not_exportable)
{
    const culv_vk_vector_view_desc vd = view_desc();
    culv_vector_view *view = NULL;
    for (int i = 0; i < 2; i++) {
        culv_vector_desc d = vector_desc((uint64_t)i * 2 * VMM_MIB);
        d.handle_types = 0;
        NEW(OWN(culv_vector), vector, culv_vector_create, s->w.device, &d);
        const vmm_stage_objects before = vmm_stage_count();
        LIB_REFUSES(view, culv_vk_vector_view_create(s->w.attachment, vector, &vd, &view), INVALID,
                    NOT_EXPORTABLE, "handle_types");
        REQUIRE(vmm_stage_same(&before));
    }
}

TEST(compressible)
{
    vmm_stage s;
    vmm_stage_play(CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED);
    vmm_stage_open(&s);
    const culv_vk_vector_view_desc vd = view_desc();
    culv_vector_desc d = vector_desc(4 * VMM_MIB);
    d.usage = CULV_VMM_USAGE_COMPRESSIBLE;
    NEW(culv_vector, vector, culv_vector_create, s.w.device, &d);
    NEW(culv_vector_view, view, culv_vk_vector_view_create, s.w.attachment, vector, &vd);
    require_data(&s, view, vector, 96);
    culv_vector_view_destroy(&view);
    culv_vector_destroy(&vector, NULL);
    vmm_stage_close(&s);
}

/* A Vulkan that exports no such buffers, and one that requires what chunks have in any case. */
VMM_CASE(other_drivers)
{
    const culv_vector_desc d = vector_desc(2 * VMM_MIB);
    const culv_vk_vector_view_desc vd = view_desc();
    culv_vector_view *view = NULL;
    culv_vk_device_desc desc = lib_vk_desc(&s->w);
    desc.get_instance_proc_addr = lib_lying_loader;
    NEW(OWN(culv_vector), vector, culv_vector_create, s->w.device, &d);
    lib_lying = (lib_lies){0};
    NEW(culv_vk_device, lying, culv_vk_attach, s->w.device, &desc);
    lib_lying.exports_nothing = true;
    LIB_REFUSES(view, culv_vk_vector_view_create(lying, vector, &vd, &view), UNSUPPORTED,
                NOT_EXPORTABLE);
    culv_vk_detach(&lying);
    lib_lying = (lib_lies){.requires_dedicated = true};
    LIB_OK(culv_vk_attach(s->w.device, &desc, &lying));
    lib_saw_dedicated = false;
    LIB_OK(culv_vk_vector_view_create(lying, vector, &vd, &view));
    REQUIRE(lib_saw_dedicated);
    require_data(s, view, vector, 99);
    culv_vector_view_destroy(&view);
    culv_vk_detach(&lying);
}

#undef TEST_GROUP
#define TEST_GROUP ""
/* A culv_vector as one sparse buffer of Vulkan's: on a device that binds them, by data; and on a
 * device that plays it, of whose binding table the memory is read, call by call made to fail. */

#define CHUNK  (2 * VMM_MIB)
#define SPARSE (32 * VMM_MIB)

static culv_vk_vector_view_desc sparse_view_desc(VkQueue queue)
{
    culv_vk_vector_view_desc d = culv_vk_vector_view_desc_init();
    d.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    d.sparse_queue = queue;
    d.sparse_size = SPARSE;
    d.label = "drawn";
    return d;
}

static culv_part the_part(const culv_vector_view *view)
{
    culv_part part;
    size_t count = 0;
    LIB_OK(culv_vector_view_get_parts(view, &part, 1, &count));
    REQUIRE_EQ(count, 1);
    REQUIRE(part.buffer != 0 && part.offset == 0 && part.id == 0);
    return part;
}

/* A device without sparse buffers, or where imports do not go in: Mesa's from 25 on ------------ */

TEST(not_there, .title = "vk_vector.sparse_not_there")
{
    vmm_stage s;
    vmm_stage_open_sparse(&s, NULL);
    VkPhysicalDeviceFeatures features;
    vkGetPhysicalDeviceFeatures(s.w.vk.physical, &features);
    const bool has = features.sparseBinding && features.sparseResidencyBuffer;
    if (has && !s.w.cu->software) SKIP("%s has sparse buffers", s.w.vk.properties.deviceName);
    const culv_vector_desc d = vector_desc(CHUNK);
    const culv_vk_vector_view_desc vd = sparse_view_desc(s.w.vk.queues[0].queue);
    culv_vector_view *view = NULL;
    NEW(culv_vector, vector, culv_vector_create, s.w.device, &d);
    LIB_REFUSES(view, culv_vk_vector_view_create(s.w.attachment, vector, &vd, &view), UNSUPPORTED,
                USAGE, "leave sparse_queue out",
                has ? "do not show memory that was imported" : "has no sparse buffers",
                s.w.vk.properties.deviceName);
    culv_vector_destroy(&vector, NULL);
    vmm_stage_close(&s);
}

/* A device with them --------------------------------------------------------------------------- */

static void sparse_require_data(vmm_stage *s, const culv_vector_view *view,
                                const culv_vector *vector, uint32_t seed)
{
    const culv_part part = the_part(view);
    REQUIRE_EQ(part.size, culv_vector_committed(vector));
    vmm_stage_require_same(s, (VkBuffer)part.buffer, culv_vector_pointer(vector), part.size, seed);
}

static void update(culv_vector_view *view, const char *what)
{
    const double start = test_now_us();
    LIB_OK(culv_vector_view_update(view));
    MEASURED("library.sparse_update", "%s: %.0f us", what, test_now_us() - start);
}

TEST(on_hardware, .title = "vk_vector.sparse_on_hardware")
{
    vmm_stage s;
    vmm_stage_open_sparse(&s, NULL);
    VkPhysicalDeviceFeatures features;
    vkGetPhysicalDeviceFeatures(s.w.vk.physical, &features);
    if (s.w.cu->software || !features.sparseBinding || !features.sparseResidencyBuffer)
        SKIP("%s has no sparse buffers that Culvert takes", s.w.vk.properties.deviceName);
    uint32_t family = 0;
    while (family < s.w.vk.queue_count &&
           !(s.w.vk.queues[family].flags & VK_QUEUE_SPARSE_BINDING_BIT))
        family++;
    if (family == s.w.vk.queue_count) SKIP("no queue binds");
    const culv_vector_desc d = vector_desc(CHUNK);
    const culv_vk_vector_view_desc vd = sparse_view_desc(s.w.vk.queues[family].queue);
    NEW(culv_vector, vector, culv_vector_create, s.w.device, &d);
    NEW(culv_vector_view, view, culv_vk_vector_view_create, s.w.attachment, vector, &vd);
    const uint64_t buffer = the_part(view).buffer;
    sparse_require_data(&s, view, vector, 10);
    LIB_OK(culv_vector_grow(vector, 4 * CHUNK));
    update(view, "three chunks of 2 MiB more");
    sparse_require_data(&s, view, vector, 20);
    LIB_OK(culv_vector_shrink(vector, CHUNK, s.stream));
    lib_finish(&s.w, s.stream);
    update(view, "three less");
    sparse_require_data(&s, view, vector, 30);
    LIB_OK(culv_vector_grow(vector, 6 * CHUNK));
    update(view, "five more");
    sparse_require_data(&s, view, vector, 40);
    REQUIRE(the_part(view).buffer == buffer);
    culv_vector_view_destroy(&view);
    culv_vector_destroy(&vector, NULL);
    vmm_stage_close(&s);
}

/* A device that plays them --------------------------------------------------------------------- */

enum { PAGES = SPARSE / CHUNK };

/* The sparse buffer is one without memory; what is bound to it is remembered, by pages of 2 MiB. */
static struct {
    bool not_importable;
    VkDeviceSize address_space, alignment;
    VkBuffer sparse;
    VkDeviceMemory pages[PAGES];
    unsigned binds, ranges;  /* vkQueueBindSparse, and ranges in it */
    unsigned calls, fail_at; /* the n-th of the calls below that return VkResult fails; 0: none */
    unsigned failing_waits;  /* so many waits fail */
    VkResult failure;
} played;

static bool fails(void)
{
    return ++played.calls == played.fail_at;
}

static VKAPI_ATTR VkResult VKAPI_CALL play_create_buffer(VkDevice device,
                                                         const VkBufferCreateInfo *info,
                                                         const VkAllocationCallbacks *callbacks,
                                                         VkBuffer *out)
{
    VkBufferCreateInfo plain = *info;
    if (fails()) return played.failure;
    REQUIRE_EQ(info->flags,
               VK_BUFFER_CREATE_SPARSE_BINDING_BIT | VK_BUFFER_CREATE_SPARSE_RESIDENCY_BIT);
    plain.flags = 0;
    VkResult r = vkCreateBuffer(device, &plain, callbacks, out);
    played.sparse = *out;
    return r;
}

static VKAPI_ATTR void VKAPI_CALL play_needs(VkDevice device,
                                             const VkBufferMemoryRequirementsInfo2 *info,
                                             VkMemoryRequirements2 *out)
{
    vkGetBufferMemoryRequirements2(device, info, out);
    if (played.alignment != 0) out->memoryRequirements.alignment = played.alignment;
}

static VKAPI_ATTR VkResult VKAPI_CALL play_allocate(VkDevice device,
                                                    const VkMemoryAllocateInfo *info,
                                                    const VkAllocationCallbacks *callbacks,
                                                    VkDeviceMemory *out)
{
    return fails() ? played.failure : vkAllocateMemory(device, info, callbacks, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL play_fence(VkDevice device, const VkFenceCreateInfo *info,
                                                 const VkAllocationCallbacks *callbacks,
                                                 VkFence *out)
{
    return fails() ? played.failure : vkCreateFence(device, info, callbacks, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL play_bind(VkQueue queue, uint32_t count,
                                                const VkBindSparseInfo *infos, VkFence fence)
{
    bool bound[PAGES] = {false};
    if (fails()) return played.failure;
    REQUIRE(count == 1 && infos->bufferBindCount == 1 &&
            infos->pBufferBinds->buffer == played.sparse);
    REQUIRE(infos->waitSemaphoreCount == 0 && infos->signalSemaphoreCount == 0 &&
            fence != VK_NULL_HANDLE);
    const VkSparseBufferMemoryBindInfo *b = infos->pBufferBinds;
    REQUIRE(b->bindCount > 0);
    for (uint32_t i = 0; i < b->bindCount; i++) {
        const VkSparseMemoryBind *m = &b->pBinds[i];
        REQUIRE(m->size > 0 && m->resourceOffset % CHUNK == 0 && m->size % CHUNK == 0 &&
                m->memoryOffset == 0);
        REQUIRE(m->resourceOffset + m->size <= SPARSE);
        for (VkDeviceSize at = m->resourceOffset; at < m->resourceOffset + m->size; at += CHUNK) {
            REQUIRE(!bound[at / CHUNK]); /* twice in a batch */
            bound[at / CHUNK] = true;
            played.pages[at / CHUNK] = m->memory;
        }
    }
    played.binds++;
    played.ranges += b->bindCount;
    return vkQueueSubmit(queue, 0, NULL, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL play_wait(VkDevice device, uint32_t count,
                                                const VkFence *fences, VkBool32 all,
                                                uint64_t timeout)
{
    if (played.failing_waits > 0) {
        played.failing_waits--;
        (void)vkWaitForFences(device, count, fences, all,
                              timeout); /* or the fence would go while it is in use */
        return played.failure;
    }
    return fails() ? played.failure : vkWaitForFences(device, count, fences, all, timeout);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL play_device_proc(VkDevice device, const char *name)
{
    if (strcmp(name, "vkCreateBuffer") == 0) return (PFN_vkVoidFunction)play_create_buffer;
    if (strcmp(name, "vkGetBufferMemoryRequirements2") == 0) return (PFN_vkVoidFunction)play_needs;
    if (strcmp(name, "vkAllocateMemory") == 0) return (PFN_vkVoidFunction)play_allocate;
    if (strcmp(name, "vkCreateFence") == 0) return (PFN_vkVoidFunction)play_fence;
    if (strcmp(name, "vkQueueBindSparse") == 0) return (PFN_vkVoidFunction)play_bind;
    if (strcmp(name, "vkWaitForFences") == 0) return (PFN_vkVoidFunction)play_wait;
    return vkGetDeviceProcAddr(device, name);
}

static VKAPI_ATTR void VKAPI_CALL play_features(VkPhysicalDevice device,
                                                VkPhysicalDeviceFeatures2 *out)
{
    vkGetPhysicalDeviceFeatures2(device, out);
    out->features.sparseBinding = out->features.sparseResidencyBuffer = VK_TRUE;
}

static VKAPI_ATTR void VKAPI_CALL play_properties(VkPhysicalDevice device,
                                                  VkPhysicalDeviceProperties *out)
{
    vkGetPhysicalDeviceProperties(device, out);
    out->limits.sparseAddressSpaceSize = played.address_space;
    out->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
}

static VKAPI_ATTR void VKAPI_CALL play_sharing(VkPhysicalDevice device,
                                               const VkPhysicalDeviceExternalBufferInfo *info,
                                               VkExternalBufferProperties *out)
{
    VkPhysicalDeviceExternalBufferInfo plain = *info;
    plain.flags = 0;
    vkGetPhysicalDeviceExternalBufferProperties(device, &plain, out);
    if (played.not_importable && info->flags != 0)
        out->externalMemoryProperties.externalMemoryFeatures =
            VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL play_loader(VkInstance instance, const char *name)
{
    if (strcmp(name, "vkGetPhysicalDeviceFeatures2") == 0) return (PFN_vkVoidFunction)play_features;
    if (strcmp(name, "vkGetPhysicalDeviceProperties") == 0)
        return (PFN_vkVoidFunction)play_properties;
    if (strcmp(name, "vkGetPhysicalDeviceExternalBufferProperties") == 0)
        return (PFN_vkVoidFunction)play_sharing;
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) return (PFN_vkVoidFunction)play_device_proc;
    return vkGetInstanceProcAddr(instance, name);
}

static void open_played(vmm_stage *s)
{
    memset(&played, 0, sizeof played);
    played.address_space = UINT64_C(1) << 40;
    vmm_stage_open_sparse(s, play_loader);
    if (!s->w.cu->software) SKIP("played on software Vulkan only");
}

#define VMM_PLAYED_CASE(...) TEST_ON(vmm_stage, s, open_played(s), vmm_stage_close(s), __VA_ARGS__)

/* What is bound is the vector, page by page, and nothing else. */
static void require_bound(vmm_stage *s, const culv_vector_view *view, const culv_vector *vector,
                          uint32_t seed)
{
    const uint64_t size = culv_vector_committed(vector);
    LIB_BLOCK(uint32_t, words, CHUNK);
    const culv_part part = the_part(view);
    REQUIRE((VkBuffer)part.buffer == played.sparse);
    REQUIRE_EQ(part.size, size);
    REQUIRE_EQ(culv_vector_view_generation(view), culv_vector_generation(vector));
    if (size > 0) vmm_stage_kernel(s, "library_write", culv_vector_pointer(vector), size, seed);
    for (size_t i = 0; i < PAGES; i++) {
        if (i * CHUNK >= size) {
            REQUIRE(played.pages[i] == VK_NULL_HANDLE);
            continue;
        }
        REQUIRE(played.pages[i] != VK_NULL_HANDLE);
        VkBuffer buffer = vmm_stage_buffer(s, CHUNK, 0);
        VkMemoryRequirements needs;
        vkGetBufferMemoryRequirements(s->w.vk.device, buffer, &needs);
        VK_OK(vkBindBufferMemory(s->w.vk.device, buffer, played.pages[i], 0));
        vmm_stage_vulkan_read(s, buffer, CHUNK, words);
        REQUIRE_EQ(vmm_stage_wrong(words, CHUNK, (uint32_t)(i * CHUNK / 4), seed), 0);
        vkDestroyBuffer(s->w.vk.device, buffer, NULL);
    }
}

VMM_PLAYED_CASE(binds, .title = "vk_vector.sparse_binds")
{
    const culv_vector_desc d = vector_desc(2 * CHUNK);
    const culv_vk_vector_view_desc vd = sparse_view_desc(s->w.vk.queues[0].queue);
    NEW(OWN(culv_vector), vector, culv_vector_create, s->w.device, &d);
    NEW(OWN(culv_vector_view), view, culv_vk_vector_view_create, s->w.attachment, vector, &vd);
    require_bound(s, view, vector, 1);
    REQUIRE(played.binds == 1 && played.ranges == 2);
    LIB_OK(culv_vector_view_update(view));
    REQUIRE_EQ(played.binds, 1);
    LIB_OK(culv_vector_grow(vector, 5 * CHUNK));
    LIB_OK(culv_vector_view_update(view));
    require_bound(s, view, vector, 2);
    REQUIRE(played.binds == 2 && played.ranges == 5); /* what was bound stays */
    LIB_OK(culv_vector_shrink(vector, CHUNK, s->stream));
    lib_finish(&s->w, s->stream);
    LIB_OK(culv_vector_view_update(view));
    require_bound(s, view, vector, 3);
    REQUIRE(played.binds == 3 && played.ranges == 6); /* all that is gone at once */
    LIB_OK(culv_vector_grow(vector, 6 * CHUNK));
    LIB_OK(culv_vector_view_update(view));
    /* Other chunks in the place of those: one batch binds the new ones, and takes away what they
     * leave. */
    LIB_OK(culv_vector_shrink(vector, 2 * CHUNK, s->stream));
    lib_finish(&s->w, s->stream);
    LIB_OK(culv_vector_grow(vector, 4 * CHUNK));
    const unsigned before = played.binds;
    LIB_OK(culv_vector_view_update(view));
    REQUIRE_EQ(played.binds, before + 1);
    require_bound(s, view, vector, 4);
    /* A move changes no chunk. */
    LIB_OK(culv_vector_shrink(vector, 0, s->stream));
    lib_finish(&s->w, s->stream);
    LIB_OK(culv_vector_view_update(view));
    require_bound(s, view, vector, 5);
}

VMM_PLAYED_CASE(refused, .title = "vk_vector.sparse_refused")
{
    const culv_vector_desc d = vector_desc(3 * CHUNK);
    const culv_vk_vector_view_desc right = sparse_view_desc(s->w.vk.queues[0].queue);
    culv_vk_vector_view_desc vd = right;
    OWN(culv_vector_view) *view = NULL;
    NEW(OWN(culv_vector), vector, culv_vector_create, s->w.device, &d);
    const vmm_stage_objects before = vmm_stage_count();
    vd.sparse_size = 3 * CHUNK - 1;
    LIB_REFUSES(view, culv_vk_vector_view_create(s->w.attachment, vector, &vd, &view), INVALID,
                VALUE, "sparse_size is 6291455");
    played.address_space = SPARSE - 1;
    LIB_REFUSES(view, culv_vk_vector_view_create(s->w.attachment, vector, &right, &view), INVALID,
                VALUE, "sparseAddressSpaceSize");
    played.address_space = SPARSE;
    played.alignment = 2 * CHUNK;
    LIB_REFUSES(view, culv_vk_vector_view_create(s->w.attachment, vector, &right, &view),
                UNSUPPORTED, USAGE, "multiples of 4194304");
    played.alignment = 65536;
    played.not_importable = true;
    vd = right;
    vd.usage |= VK_BUFFER_USAGE_VERTEX_BUFFER_BIT; /* which was not asked about before */
    LIB_REFUSES(view, culv_vk_vector_view_create(s->w.attachment, vector, &vd, &view), UNSUPPORTED,
                USAGE, "cannot import memory");
    REQUIRE(vmm_stage_same(&before));
    REQUIRE_EQ(played.binds, 0);
    /* A vector that outgrows the sparse buffer: the view has what it had. */
    vd = right;
    vd.sparse_size = 4 * CHUNK;
    played.not_importable = false;
    LIB_OK(culv_vk_vector_view_create(s->w.attachment, vector, &vd, &view));
    const uint64_t generation = culv_vector_view_generation(view);
    LIB_OK(culv_vector_grow(vector, 5 * CHUNK));
    const vmm_stage_objects three = vmm_stage_count();
    LIB_INVALID(culv_vector_view_update(view), VALUE);
    REQUIRE_EQ(culv_vector_view_generation(view), generation);
    REQUIRE_EQ(the_part(view).size, 3 * CHUNK);
    REQUIRE(vmm_stage_same(&three));
    LIB_OK(culv_vector_shrink(vector, 4 * CHUNK, s->stream));
    lib_finish(&s->w, s->stream);
    LIB_OK(culv_vector_view_update(view));
    require_bound(s, view, vector, 8);
}

/* A vector that has grown and lost chunks; the view still shows what it was. */
static void prepare(vmm_stage *s, culv_vector **vector, culv_vector_view **view)
{
    const culv_vector_desc d = vector_desc(4 * CHUNK);
    const culv_vk_vector_view_desc vd = sparse_view_desc(s->w.vk.queues[0].queue);
    played.fail_at = 0;
    memset(played.pages, 0, sizeof played.pages);
    LIB_OK(culv_vector_create(s->w.device, &d, vector));
    LIB_OK(culv_vk_vector_view_create(s->w.attachment, *vector, &vd, view));
    LIB_OK(culv_vector_shrink(*vector, 2 * CHUNK, s->stream));
    lib_finish(&s->w, s->stream);
    LIB_OK(culv_vector_grow(*vector, 3 * CHUNK));
}

/* An update of which a call failed changed nothing, and succeeds when it is made once more. */
static void require_unchanged(vmm_stage *s, culv_vector *vector, culv_vector_view *view,
                              const vmm_stage_objects *before, uint64_t generation)
{
    REQUIRE_EQ(culv_vector_view_generation(view), generation);
    REQUIRE_EQ(the_part(view).size, 4 * CHUNK);
    REQUIRE(vmm_stage_same(before));
    LIB_OK(culv_vector_view_update(view));
    require_bound(s, view, vector, 11);
}

VMM_PLAYED_CASE(all_or_nothing, .title = "vk_vector.sparse_all_or_nothing")
{
    static const VkResult failures[] = {VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_DEVICE_LOST,
                                        VK_ERROR_UNKNOWN};
    static const culv_result classes[] = {CULV_ERROR_OUT_OF_MEMORY, CULV_ERROR_ASYNC,
                                          CULV_ERROR_DRIVER};
    culv_vector *vector = NULL;
    culv_vector_view *view = NULL;
    for (int k = 0; k < 3; k++) {
        unsigned failed = 0;
        played.failure = failures[k];
        for (unsigned n = 1;; n++) {
            prepare(s, &vector, &view);
            const vmm_stage_objects before = vmm_stage_count();
            const uint64_t generation = culv_vector_view_generation(view);
            played.calls = 0;
            played.fail_at = n;
            culv_result r = culv_vector_view_update(view);
            const bool hit = played.calls >= n;
            played.fail_at = 0;
            if (r != CULV_OK) {
                REQUIRE(hit);
                REQUIRE_EQ(r, classes[k]);
                failed++;
                require_unchanged(s, vector, view, &before, generation);
            } else {
                require_bound(s, view, vector, 10);
            }
            culv_vector_view_destroy(&view);
            culv_vector_destroy(&vector, NULL);
            if (!hit) break;
        }
        REQUIRE_EQ(failed, 3); /* memory, fence, bind; of two waits the second one counts */
    }
    prepare(s, &vector, &view);
    const vmm_stage_objects before = vmm_stage_count();
    const uint64_t generation = culv_vector_view_generation(view);
    played.failing_waits = 2;
    LIB_ERROR(culv_vector_view_update(view), DRIVER, DRIVER_REFUSED, "vkWaitForFences");
    require_unchanged(s, vector, view, &before, generation);
    culv_vector_view_destroy(&view);
    culv_vector_destroy(&vector, NULL);
}
