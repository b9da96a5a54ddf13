/* SPDX-License-Identifier: MIT */
/* A culv_vector as Vulkan's buffers, one a chunk. */
#define TEST_GROUP "vk_vector."
#include "vulkan_vmm_stage.h"

enum { MOST = 16 };

/* A vector in chunks of 2 MiB, and Vulkan's view of it. */
typedef struct shown {
    vmm_stage s;
    culv_vector *vector;
    culv_vector_view *view;
    culv_part before[MOST], parts[MOST];
} shown;

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

static void show(shown *v, const culv_vector_desc *d, const culv_vk_vector_view_desc *vd)
{
    LIB_OK(culv_vector_create(v->s.w.device, d, &v->vector));
    LIB_OK(culv_vk_vector_view_create(v->s.w.attachment, v->vector, vd, &v->view));
}

static void hide(shown *v)
{
    culv_vector_view_destroy(&v->view);
    culv_vector_destroy(&v->vector, NULL);
}

static void open_shown(shown *v)
{
    memset(v, 0, sizeof *v);
    vmm_stage_open(&v->s);
}

static void close_shown(shown *v)
{
    hide(v);
    vmm_stage_close(&v->s);
}

/* With a vector of `size` and its view, both as above, or, in VECTOR_CASE, as the case says. */
#define SHOWN_CASE(size, ...)                                                                      \
    TEST_ON(shown, v, (open_shown(v), show(v, &DESC(size), &VIEW)), close_shown(v), __VA_ARGS__)
#define DESC(size)       ((culv_vector_desc[]){vector_desc(size)}[0])
#define VIEW             ((culv_vk_vector_view_desc[]){view_desc()}[0])
#define VECTOR_CASE(...) TEST_ON(shown, v, open_shown(v), close_shown(v), __VA_ARGS__)

/* The vector has another size, once the stream is where it is cut; the view follows. */
static void cut(shown *v, uint64_t size)
{
    LIB_OK(culv_vector_shrink(v->vector, size, v->s.stream));
    lib_finish(&v->s.w, v->s.stream);
}

static void cut_shown(shown *v, uint64_t size)
{
    cut(v, size);
    LIB_OK(culv_vector_view_update(v->view));
}

static void grow_shown(shown *v, uint64_t size)
{
    LIB_OK(culv_vector_grow(v->vector, size));
    LIB_OK(culv_vector_view_update(v->view));
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
static size_t require_shows(const shown *v, culv_part parts[MOST])
{
    culv_part chunks[MOST];
    size_t count = 0, there = parts_of(v->view, parts);
    uint64_t generation = 0;
    LIB_OK(culv_vector_get_parts(v->vector, chunks, MOST, &count, &generation));
    REQUIRE_EQ(there, count);
    REQUIRE_EQ(culv_vector_view_generation(v->view), generation);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(parts[i].buffer != 0);
        REQUIRE_EQ(parts[i].id, chunks[i].id);
        REQUIRE_EQ(parts[i].offset, chunks[i].offset);
        REQUIRE_EQ(parts[i].size, chunks[i].size);
    }
    return count;
}

static void write(shown *v, uint64_t size, uint32_t seed)
{
    vmm_stage_kernel(&v->s, "library_write", culv_vector_pointer(v->vector), size, seed);
}

/* What CUDA wrote into all of the vector, Vulkan reads in a part. */
static void require_part(shown *v, const culv_part *part, uint32_t seed)
{
    LIB_BLOCK(uint32_t, words, part->size);
    vmm_stage_vulkan_read(&v->s, (VkBuffer)part->buffer, part->size, words);
    REQUIRE_EQ(vmm_stage_wrong(words, part->size, (uint32_t)(part->offset / 4), seed), 0);
}

/* All of it, in both directions. */
static void require_data(shown *v, uint32_t seed)
{
    vmm_stage *s = &v->s;
    culv_part parts[MOST];
    size_t count = require_shows(v, parts);
    const uint64_t size = culv_vector_committed(v->vector);
    const CUdeviceptr at = culv_vector_pointer(v->vector);
    LIB_BLOCK(uint32_t, words, size);
    write(v, size, seed);
    for (size_t i = 0; i < count; i++) {
        require_part(v, &parts[i], seed);
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

SHOWN_CASE(2 * VMM_MIB, grows)
{
    culv_part *before = v->before, *parts = v->parts;
    REQUIRE_EQ(require_shows(v, before), 1);
    require_data(v, 10);
    LIB_OK(culv_vector_view_update(v->view)); /* nothing to do */
    REQUIRE_EQ(lib_counts(&v->s.w).created, 1);

    LIB_OK(culv_vector_grow(v->vector, 6 * VMM_MIB));
    REQUIRE_EQ(parts_of(v->view, parts), 1); /* until it is told */
    REQUIRE(culv_vector_view_generation(v->view) != culv_vector_generation(v->vector));
    write(v, 6 * VMM_MIB, 20);
    const double start = test_now_us();
    LIB_OK(culv_vector_view_update(v->view));
    MEASURED("library.vk_vector_update", "two chunks of 2 MiB: %.0f us", test_now_us() - start);
    REQUIRE_EQ(require_shows(v, parts), 3);
    REQUIRE(parts[0].buffer == before[0].buffer && parts[0].id == before[0].id);
    require_part(v, &parts[2], 20); /* what was written before the import is there */
    require_data(v, 30);
    /* A list that is too short gets what fits. */
    size_t count = 0;
    memset(before, 0, sizeof v->before);
    LIB_OK(culv_vector_view_get_parts(v->view, before, 2, &count));
    REQUIRE(count == 3 && before[1].buffer == parts[1].buffer && before[2].buffer == 0);
    LIB_OK(culv_vector_view_get_parts(v->view, NULL, 0, &count));
    REQUIRE_EQ(count, 3);
    LIB_INVALID(culv_vector_view_get_parts(v->view, NULL, 1, &count), NULL_ARGUMENT);
    LIB_INVALID(culv_vector_view_get_parts(v->view, NULL, 0, NULL), NULL_ARGUMENT);
    culv_vector_view_destroy(&v->view);
    REQUIRE(v->view == NULL);
    REQUIRE_EQ(lib_counts(&v->s.w).created, 0);
    culv_vector_view_destroy(&v->view);
    culv_vector_view_destroy(NULL);
}

/* Chunks that are gone lose their buffers; those that come in their place get new ones. */
SHOWN_CASE(8 * VMM_MIB, shrinks)
{
    culv_part *before = v->before, *parts = v->parts;
    REQUIRE_EQ(require_shows(v, before), 4);
    const vmm_stage_objects four = vmm_stage_count();
    cut_shown(v, 3 * VMM_MIB);
    REQUIRE_EQ(require_shows(v, parts), 2);
    REQUIRE(parts[0].buffer == before[0].buffer && parts[1].buffer == before[1].buffer);
    const vmm_stage_objects two = vmm_stage_count();
    if (v->s.w.cu->software)
        REQUIRE(two.buffers == four.buffers - 2 && two.memories == four.memories - 2);
    require_data(v, 40);
    /* Given back and taken again between two updates: other chunks at the same offsets. */
    cut(v, 0);
    grow_shown(v, 6 * VMM_MIB);
    REQUIRE_EQ(require_shows(v, before), 3);
    REQUIRE(before[0].id != parts[0].id && before[1].id != parts[1].id);
    require_data(v, 50);
    cut_shown(v, 0);
    REQUIRE_EQ(require_shows(v, parts), 0);
}

/* Another address, the same chunks: nothing is imported anew. */
VECTOR_CASE(moves)
{
    culv_part *before = v->before, *parts = v->parts;
    OWN(culv_vmm_range) *wall = NULL;
    culv_vector_desc d = vector_desc(4 * VMM_MIB);
    d.reserve = 4 * VMM_MIB;
    show(v, &d, &VIEW);
    REQUIRE_EQ(require_shows(v, before), 2);
    culv_vector_stats stats = culv_vector_stats_init();
    LIB_OK(culv_vector_get_stats(v->vector, &stats));
    const CUdeviceptr old = culv_vector_pointer(v->vector);
    culv_vmm_range_desc rd = culv_vmm_range_desc_init();
    rd.size = 2 * VMM_MIB;
    rd.address = old + (CUdeviceptr)stats.reserved;
    culv_result r = culv_vmm_range_create(v->s.w.device, &rd, &wall); /* so that it cannot stay */
    if (r != CULV_OK || culv_vmm_range_pointer(wall) != rd.address)
        printf("the address behind was taken\n");
    write(v, 4 * VMM_MIB, 60);
    LIB_OK(culv_vector_reserve(v->vector, stats.reserved + 64 * VMM_MIB));
    if (culv_vector_pointer(v->vector) == old) SKIP("the vector stayed where it was");
    const vmm_stage_objects objects = vmm_stage_count();
    REQUIRE(culv_vector_view_generation(v->view) != culv_vector_generation(v->vector));
    LIB_OK(culv_vector_view_update(v->view));
    REQUIRE(vmm_stage_same(&objects));
    REQUIRE_EQ(require_shows(v, parts), 2);
    REQUIRE(parts[0].buffer == before[0].buffer && parts[1].buffer == before[1].buffer);
    require_part(v, &parts[1], 60);
    grow_shown(v, 8 * VMM_MIB);
    require_data(v, 70);
    LIB_OK(culv_vector_retire(v->vector, 0, v->s.stream));
    lib_finish(&v->s.w, v->s.stream);
    LIB_OK(culv_vector_view_update(v->view));
    require_data(v, 80);
}

/* A thread commits chunks while they are imported. */
VECTOR_CASE(ahead)
{
    culv_vector_desc d = vector_desc(2 * VMM_MIB);
    d.commit_ahead = 4 * VMM_MIB;
    show(v, &d, &VIEW);
    for (uint64_t size = 4 * VMM_MIB; size <= 12 * VMM_MIB; size += 2 * VMM_MIB) {
        grow_shown(v, size);
        size_t count = parts_of(v->view, v->parts);
        REQUIRE(v->parts[count - 1].offset + v->parts[count - 1].size >= size);
        write(v, size, (uint32_t)(size / VMM_MIB));
        require_part(v, &v->parts[size / (2 * VMM_MIB) - 1], (uint32_t)(size / VMM_MIB));
    }
}

/* Empty at first, with a device address, and without a handle on the attachment. */
VECTOR_CASE(begins_empty)
{
    culv_vk_vector_view_desc vd = view_desc();
    vd.usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    show(v, &DESC(0), &vd);
    REQUIRE_EQ(require_shows(v, v->parts), 0);
    grow_shown(v, 4 * VMM_MIB);
    require_data(v, 90);
    (void)require_shows(v, v->parts);
    REQUIRE(vkGetBufferDeviceAddress(
                v->s.w.vk.device,
                &(VkBufferDeviceAddressInfo){.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                             .buffer = (VkBuffer)v->parts[1].buffer}) != 0);
    culv_vk_detach(&v->s.w.attachment);
    grow_shown(v, 6 * VMM_MIB);
    REQUIRE_EQ(require_shows(v, v->parts), 3);
}

/* Vulkan's half may outlive CUDA's, whether that goes behind a stream or at once. */
VECTOR_CASE(outlives)
{
    for (int after = 0; after < 2; after++) {
        show(v, &DESC(4 * VMM_MIB), &VIEW);
        write(v, 4 * VMM_MIB, 95);
        culv_vector_destroy(&v->vector, after ? &v->s.stream : NULL);
        for (int i = 0; i < 2; i++) {
            LIB_INVALID(culv_vector_view_update(v->view), VALUE, "'particles'", "destroyed");
            REQUIRE_EQ(parts_of(v->view, v->parts), 2);
            culv_device_collect(v->s.w.device);
        }
        require_part(v, &v->parts[1], 95);
        culv_vector_view_destroy(&v->view);
    }
}

/* Also of vectors that cannot go to Vulkan, while they are still empty, of a Vulkan that exports no
 * such buffers; and one that requires what chunks have in any case gets it. */
VECTOR_CASE(wrong_calls)
{
    culv_vk_device *vk = v->s.w.attachment;
    culv_vk_vector_view_desc vd = view_desc();
    LIB_OK(culv_vector_create(v->s.w.device, &DESC(2 * VMM_MIB), &v->vector));
    const vmm_stage_objects before = vmm_stage_count();
#define ROW(change, ...)                                                                           \
    SPOILT(vd, change,                                                                             \
           LIB_REFUSES(v->view, culv_vk_vector_view_create(vk, v->vector, &vd, &v->view),          \
                       __VA_ARGS__))
    ROW(vd.struct_size = 5, INVALID, STRUCT_SIZE);
    ROW(vd.usage = 0, INVALID, VALUE, "usage is 0", "particles");
    ROW(vd.sparse_size = 1 << 20, INVALID, VALUE);
    ROW((vd.label = "drawn", vd.sparse_queue = v->s.w.vk.queues[0].queue), INVALID, VALUE, "drawn");
    REQUIRE_EQ(culv_vector_view_generation(NULL), 0);
    REQUIRE(vmm_stage_same(&before));
    lib_lying = (lib_lies){0};
    vk = lib_attach(&v->s.w, lib_lying_loader);
    lib_lying.exports_nothing = true;
    ROW((void)0, UNSUPPORTED, NOT_EXPORTABLE);
    culv_vk_detach(&vk);
    lib_lying = (lib_lies){.requires_dedicated = true};
    vk = lib_attach(&v->s.w, lib_lying_loader);
    lib_saw_dedicated = false;
    LIB_OK(culv_vk_vector_view_create(vk, v->vector, &vd, &v->view));
    REQUIRE(lib_saw_dedicated);
    require_data(v, 99);
    hide(v);
    culv_vk_detach(&vk);
    vk = v->s.w.attachment;
    for (uint64_t size = 0; size <= 2 * VMM_MIB; size += 2 * VMM_MIB) {
        culv_vector_desc d = vector_desc(size);
        d.handle_types = 0;
        LIB_OK(culv_vector_create(v->s.w.device, &d, &v->vector));
        const vmm_stage_objects kept = vmm_stage_count();
        ROW((void)0, INVALID, NOT_EXPORTABLE, "handle_types");
        REQUIRE(vmm_stage_same(&kept));
        culv_vector_destroy(&v->vector, NULL);
    }
#undef ROW
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

static void open_sparse(shown *v, PFN_vkGetInstanceProcAddr loader)
{
    memset(v, 0, sizeof *v);
    vmm_stage_open_sparse(&v->s, loader);
}

#define SPARSE_CASE(...) TEST_ON(shown, v, open_sparse(v, NULL), close_shown(v), __VA_ARGS__)

static bool has_sparse(const shown *v)
{
    VkPhysicalDeviceFeatures features;
    vkGetPhysicalDeviceFeatures(v->s.w.vk.physical, &features);
    return features.sparseBinding && features.sparseResidencyBuffer;
}

/* A device without sparse buffers, or where imports do not go in: Mesa's from 25 on ------------ */

SPARSE_CASE(not_there, .title = "vk_vector.sparse_not_there")
{
    const lib_world *w = &v->s.w;
    const bool has = has_sparse(v);
    if (has && !w->cu->software) SKIP("%s has sparse buffers", w->vk.properties.deviceName);
    const culv_vk_vector_view_desc vd = sparse_view_desc(w->vk.queues[0].queue);
    LIB_OK(culv_vector_create(w->device, &DESC(CHUNK), &v->vector));
    LIB_REFUSES(v->view, culv_vk_vector_view_create(w->attachment, v->vector, &vd, &v->view),
                UNSUPPORTED, USAGE, "leave sparse_queue out",
                has ? "do not show memory that was imported" : "has no sparse buffers",
                w->vk.properties.deviceName);
}

/* A device with them --------------------------------------------------------------------------- */

static void update(shown *v, const char *what, uint32_t seed)
{
    const double start = test_now_us();
    LIB_OK(culv_vector_view_update(v->view));
    MEASURED("library.sparse_update", "%s: %.0f us", what, test_now_us() - start);
    const culv_part part = the_part(v->view);
    REQUIRE_EQ(part.size, culv_vector_committed(v->vector));
    vmm_stage_require_same(&v->s, (VkBuffer)part.buffer, culv_vector_pointer(v->vector), part.size,
                           seed);
}

SPARSE_CASE(on_hardware, .title = "vk_vector.sparse_on_hardware")
{
    const raw_vk *vk = &v->s.w.vk;
    if (v->s.w.cu->software || !has_sparse(v))
        SKIP("%s has no sparse buffers that Culvert takes", vk->properties.deviceName);
    uint32_t family = 0;
    while (family < vk->queue_count && !(vk->queues[family].flags & VK_QUEUE_SPARSE_BINDING_BIT))
        family++;
    if (family == vk->queue_count) SKIP("no queue binds");
    const culv_vk_vector_view_desc vd = sparse_view_desc(vk->queues[family].queue);
    show(v, &DESC(CHUNK), &vd);
    const uint64_t buffer = the_part(v->view).buffer;
    update(v, "nothing", 10);
    LIB_OK(culv_vector_grow(v->vector, 4 * CHUNK));
    update(v, "three chunks of 2 MiB more", 20);
    cut(v, CHUNK);
    update(v, "three less", 30);
    LIB_OK(culv_vector_grow(v->vector, 6 * CHUNK));
    update(v, "five more", 40);
    REQUIRE(the_part(v->view).buffer == buffer);
}

/* A device that plays them --------------------------------------------------------------------- */

enum { PAGES = SPARSE / CHUNK };
#define ADDRESSES (UINT64_C(1) << 40)

/* The sparse buffer is one without memory; what is bound to it is remembered, by pages of 2 MiB. */
static struct {
    bool not_importable;
    VkDeviceSize alignment;
    VkBuffer sparse;
    VkDeviceMemory pages[PAGES];
    unsigned binds, ranges;  /* vkQueueBindSparse, and ranges in it */
    unsigned calls, fail_at; /* the n-th of the calls below that return VkResult fails; 0: none */
    unsigned failing_waits;  /* so many waits fail */
    bool hit;                /* there was such a call */
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
    out->limits.sparseAddressSpaceSize = ADDRESSES;
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

static void open_played(shown *v)
{
    memset(&played, 0, sizeof played);
    open_sparse(v, play_loader);
    if (!v->s.w.cu->software) SKIP("played on software Vulkan only");
}

#define PLAYED_CASE(...) TEST_ON(shown, v, open_played(v), close_shown(v), __VA_ARGS__)

static void show_sparse(shown *v, uint64_t size)
{
    const culv_vk_vector_view_desc vd = sparse_view_desc(v->s.w.vk.queues[0].queue);
    show(v, &DESC(size), &vd);
}

/* What is bound is the vector, page by page, and nothing else. */
static void require_bound(shown *v, uint32_t seed)
{
    vmm_stage *s = &v->s;
    const uint64_t size = culv_vector_committed(v->vector);
    LIB_BLOCK(uint32_t, words, CHUNK);
    const culv_part part = the_part(v->view);
    REQUIRE((VkBuffer)part.buffer == played.sparse);
    REQUIRE_EQ(part.size, size);
    REQUIRE_EQ(culv_vector_view_generation(v->view), culv_vector_generation(v->vector));
    if (size > 0) write(v, size, seed);
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

PLAYED_CASE(binds, .title = "vk_vector.sparse_binds")
{
    show_sparse(v, 2 * CHUNK);
    require_bound(v, 1);
    REQUIRE(played.binds == 1 && played.ranges == 2);
    LIB_OK(culv_vector_view_update(v->view));
    REQUIRE_EQ(played.binds, 1);
    grow_shown(v, 5 * CHUNK);
    require_bound(v, 2);
    REQUIRE(played.binds == 2 && played.ranges == 5); /* what was bound stays */
    cut_shown(v, CHUNK);
    require_bound(v, 3);
    REQUIRE(played.binds == 3 && played.ranges == 6); /* all that is gone at once */
    grow_shown(v, 6 * CHUNK);
    /* Other chunks in the place of those: one batch binds the new ones, and takes away what they
     * leave. */
    cut(v, 2 * CHUNK);
    const unsigned before = played.binds;
    grow_shown(v, 4 * CHUNK);
    REQUIRE_EQ(played.binds, before + 1);
    require_bound(v, 4);
    /* A move changes no chunk. */
    cut_shown(v, 0);
    require_bound(v, 5);
}

PLAYED_CASE(refused, .title = "vk_vector.sparse_refused")
{
    culv_vk_vector_view_desc vd = sparse_view_desc(v->s.w.vk.queues[0].queue);
    LIB_OK(culv_vector_create(v->s.w.device, &DESC(3 * CHUNK), &v->vector));
    const vmm_stage_objects before = vmm_stage_count();
#define ROW(change, ...)                                                                           \
    SPOILT(vd, change,                                                                             \
           LIB_REFUSES(v->view,                                                                    \
                       culv_vk_vector_view_create(v->s.w.attachment, v->vector, &vd, &v->view),    \
                       __VA_ARGS__))
    ROW(vd.sparse_size = 3 * CHUNK - 1, INVALID, VALUE, "sparse_size is 6291455");
    ROW(vd.sparse_size = ADDRESSES + 1, INVALID, VALUE, "sparseAddressSpaceSize");
    ROW(played.alignment = 2 * CHUNK, UNSUPPORTED, USAGE, "multiples of 4194304");
    played.alignment = 65536;
    played.not_importable = true;
    ROW(vd.usage |= VK_BUFFER_USAGE_VERTEX_BUFFER_BIT, /* which was not asked about before */
        UNSUPPORTED, USAGE, "cannot import memory");
#undef ROW
    REQUIRE(vmm_stage_same(&before));
    REQUIRE_EQ(played.binds, 0);
    /* A vector that outgrows the sparse buffer: the view has what it had. */
    vd.sparse_size = 4 * CHUNK;
    played.not_importable = false;
    LIB_OK(culv_vk_vector_view_create(v->s.w.attachment, v->vector, &vd, &v->view));
    const uint64_t generation = culv_vector_view_generation(v->view);
    LIB_OK(culv_vector_grow(v->vector, 5 * CHUNK));
    const vmm_stage_objects three = vmm_stage_count();
    LIB_INVALID(culv_vector_view_update(v->view), VALUE);
    REQUIRE_EQ(culv_vector_view_generation(v->view), generation);
    REQUIRE_EQ(the_part(v->view).size, 3 * CHUNK);
    REQUIRE(vmm_stage_same(&three));
    cut_shown(v, 4 * CHUNK);
    require_bound(v, 8);
}

/* An update of a vector that has grown and lost chunks, while the view still shows what it was, of
 * which the n-th call fails, or as many waits. If it fails by that, it names the call, changed
 * nothing, and succeeds when it is made once more. */
static culv_result fail_update(shown *v, unsigned n, unsigned waits, const char *call)
{
    memset(played.pages, 0, sizeof played.pages);
    show_sparse(v, 4 * CHUNK);
    cut(v, 2 * CHUNK);
    LIB_OK(culv_vector_grow(v->vector, 3 * CHUNK));
    const vmm_stage_objects before = vmm_stage_count();
    const uint64_t generation = culv_vector_view_generation(v->view);
    played.calls = 0;
    played.fail_at = n;
    played.failing_waits = waits;
    culv_result r = culv_vector_view_update(v->view);
    played.hit = n > 0 && played.calls >= n;
    played.fail_at = 0;
    if (r != CULV_OK) {
        REQUIRE(played.hit || waits > 0);
        REQUIRE(strstr(culv_last_error_message(), call) != NULL);
        REQUIRE_EQ(culv_vector_view_generation(v->view), generation);
        REQUIRE_EQ(the_part(v->view).size, 4 * CHUNK);
        REQUIRE(vmm_stage_same(&before));
        LIB_OK(culv_vector_view_update(v->view));
    }
    require_bound(v, 10);
    hide(v);
    return r;
}

PLAYED_CASE(all_or_nothing, .title = "vk_vector.sparse_all_or_nothing")
{
    static const VkResult failures[] = {VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_DEVICE_LOST,
                                        VK_ERROR_UNKNOWN};
    static const culv_result classes[] = {CULV_ERROR_OUT_OF_MEMORY, CULV_ERROR_ASYNC,
                                          CULV_ERROR_DRIVER};
    static const char *const calls[] = {"vkAllocateMemory", "vkCreateFence", "vkQueueBindSparse"};
    for (int k = 0; k < 3; k++) {
        played.failure = failures[k];
        for (unsigned n = 1; n <= 3; n++)
            REQUIRE_EQ(fail_update(v, n, 0, calls[n - 1]), classes[k]);
        unsigned n = 4;
        do /* of two waits the second one counts */
            LIB_OK(fail_update(v, n++, 0, ""));
        while (played.hit);
    }
    REQUIRE_EQ(fail_update(v, 0, 2, "vkWaitForFences"), CULV_ERROR_DRIVER);
}
