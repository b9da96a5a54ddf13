/* SPDX-License-Identifier: MIT */
/* A device that works on another GPU's memory in place (culv_vk_device_desc::allow_other_gpu): the
 * caller's own memory, what is refused, what is copied after all. */
#define TEST_GROUP "across."
#include "fallback_scene.h"
#include "raw_cuda_image.h"

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
            lib_fill(words, WORDS, seed);
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
SCENE_CASE(scene_open_bare, SCENE_DIRECT, own_memory)
{
    static const struct {
        VkDeviceSize size;
        unsigned flags;
    } rows[] = {{70001, RAW_VK_DEDICATED}, {UNIT + 4096, RAW_VK_DEDICATED}, {2 * UNIT, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        raw_vk_buffer own;
        culv_memory *memory = NULL;
        raw_vk_buffer_create(&s->w.vk, rows[i].size, RAW_VK_EXPORT | rows[i].flags, &own);
        culv_vk_memory_desc d = lib_vk_memory(&own);
        d.buffer = own.buffer;
        LIB_OK(culv_vk_memory_import_shared(s->w.attachment, &d, &memory));
        NEW(culv_memory, again, culv_vk_memory_import_shared, s->w.attachment, &d);
        REQUIRE(memory == again);
        culv_memory_destroy(&again);
        culv_image *image = NULL;
        culv_image_desc i2d = culv_image_desc_init();
        i2d.format = (culv_format)VK_FORMAT_R8G8B8A8_UNORM;
        i2d.width = i2d.height = 16;
        LIB_REFUSES(image, culv_image_map(memory, &i2d, &image), UNSUPPORTED, DEVICE_MISMATCH);
        culv_buffer_desc b = culv_buffer_desc_init();
        b.size = rows[i].size;
        NEW(culv_buffer, whole, culv_buffer_map, memory, &b);
        b.offset = 65536;
        b.size = 4097;
        NEW(culv_buffer, part, culv_buffer_map, memory, &b);
        REQUIRE_EQ(culv_buffer_sharing(whole), CULV_SHARING_DIRECT);
        REQUIRE_EQ(culv_buffer_memory_kind(whole),
                   rows[i].flags != 0 ? CULV_MEMORY_KIND_FAST : CULV_MEMORY_KIND_COMPRESSIBLE);
        REQUIRE_EQ(lib_counts(&s->w).memories, 1);
        REQUIRE_EQ(lib_counts(&s->w).mappings, 1);
        both_ways(s, &own, whole, 0);
        both_ways(s, &own, part, 65536);
        culv_memory_destroy(&memory);
        LIB_OK(culv_buffer_unmap(&whole, NULL));
        both_ways(s, &own, part, 65536);
        LIB_OK(culv_buffer_unmap(&part, NULL));
        REQUIRE_EQ(lib_counts(&s->w).memories, 0);
        REQUIRE_EQ(lib_counts(&s->w).mappings, 0);
        raw_vk_buffer_destroy(&s->w.vk, &own);
    }
}

/* What does not go across says what does; the driver is not asked. */
SCENE_CASE(scene_open_bare, SCENE_DIRECT, refused)
{
    culv_memory *memory = NULL;
    culv_shared_image *made = NULL;
    culv_vk_device *vk = s->w.attachment;
    raw_vk_buffer own = lib_case_buffer(&s->w, 65536, RAW_VK_EXPORT);
    culv_vk_memory_desc d = lib_vk_memory(&own);
    const uint64_t calls = lib_calls(s->w.cu);
    LIB_REFUSES(memory, culv_vk_memory_import(vk, &d, &memory), INVALID, SIZE, "2097152",
                "VkMemoryDedicatedAllocateInfo");
    d.image = (VkImage)own.buffer; /* not looked at */
    LIB_REFUSES(memory, culv_vk_memory_import(vk, &d, &memory), UNSUPPORTED, DEVICE_MISMATCH,
                "copy it into the image on its GPU");
    const VkImageCreateInfo info =
        raw_vk_image_info(VK_FORMAT_R8G8B8A8_UNORM, 61, 33, VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    culv_vk_image_create_desc make = culv_vk_image_create_desc_init();
    make.create_info = &info;
    LIB_REFUSES(made, culv_vk_image_create(vk, &make, &made), UNSUPPORTED, DEVICE_MISMATCH);
    culv_vk_sharing_info sharing = culv_vk_sharing_info_init();
    LIB_ERROR(culv_vk_check_image(vk, &info, NULL, &sharing), UNSUPPORTED, DEVICE_MISMATCH);
    REQUIRE_EQ(lib_calls(s->w.cu), calls);
    const VkBufferCreateInfo buffer = raw_vk_buffer_info(64, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    LIB_OK(culv_vk_check_buffer(vk, &buffer, NULL, &sharing));
    /* Told to, an image is copied from GPU to GPU. */
    make.fallback = CULV_FALLBACK_PEER;
    LIB_OK(culv_vk_image_create(vk, &make, &made));
    REQUIRE_EQ(culv_image_sharing(culv_shared_image_cuda(made)), CULV_SHARING_PEER);
    culv_shared_image_destroy(&made, NULL);
}

/* GPUs that do not reach each other, and a Vulkan whose GPU CUDA does not show. */
SCENE_CASE(scene_open_bare, SCENE_DIRECT, out_of_reach)
{
    culv_vk_device *vk = NULL;
    culv_shared_buffer *buffer = NULL;
    culv_vk_device_desc d = lib_vk_desc(&s->w);
    d.get_instance_proc_addr = lib_lying_loader;
    d.allow_other_gpu = 1;
    for (int hidden = 0; hidden < 2; hidden++) {
        if (hidden == 0 && s->w.cu->SoftBarPeers == NULL) continue;
        if (hidden == 0) s->w.cu->SoftBarPeers(1);
        lib_lying.uuid_xor = hidden != 0 ? 0x5a : 0;
        LIB_REFUSES_AS(vk, culv_vk_attach(s->w.device, &d, &vk), CULV_ERROR_UNSUPPORTED,
                       hidden != 0 ? CULV_REASON_DEVICE_UNKNOWN : CULV_REASON_PEER,
                       hidden != 0 ? "CUDA_VISIBLE_DEVICES" : "cuDeviceCanAccessPeer",
                       "culv_vk_device_desc.fallback");
        /* With a fallback nothing is shared, and all can be copied. */
        culv_vk_device_desc f = d;
        f.fallback = CULV_FALLBACK_HOST;
        LIB_OK(culv_vk_attach(s->w.device, &f, &vk));
        culv_vk_device *first = s->w.attachment;
        s->w.attachment = vk;
        LIB_REFUSES(buffer, scene_buffer(s, 4097, 0, &buffer), INVALID, DEVICE_MISMATCH);
        LIB_OK(scene_buffer(s, 4097, CULV_FALLBACK_HOST, &buffer));
        REQUIRE_EQ(culv_buffer_sharing(culv_shared_buffer_cuda(buffer)), CULV_SHARING_HOST);
        culv_shared_buffer_destroy(&buffer, NULL);
        s->w.attachment = first;
        culv_vk_detach(&vk);
        lib_lying.uuid_xor = 0;
        if (hidden == 0) s->w.cu->SoftBarPeers(0);
    }
}

/* Memory of CUDA's in the other GPU's Vulkan: each way to it says what works instead. */
SCENE_CASE(scene_open_bare, SCENE_DIRECT, cudas_memory)
{
    if (!lib_caps(s->w.device).vmm) SKIP("the device has no virtual memory management");
    culv_vk_device *vk = s->w.attachment;
    culv_vector_view *view = NULL;
    culv_vk_adopted *buffers = NULL;
    culv_vk_space *space = NULL;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    culv_vmm_allocation_desc a = culv_vmm_allocation_desc_init();
    a.size = UNIT;
    a.handle_types = UINT32_C(1) << CULV_HANDLE_OPAQUE_FD;
    NEW(culv_vmm_allocation, allocation, culv_vmm_allocation_create, s->w.device, &a);
    LIB_ERROR(culv_vk_memory_from_vmm(vk, allocation, NULL, &memory), UNSUPPORTED, DEVICE_MISMATCH,
              "own the memory");
    culv_vk_memory_from_handle_desc h = culv_vk_memory_from_handle_desc_init();
    LIB_OK(culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_FD, &h.handle));
    h.size = UNIT;
    LIB_ERROR(culv_vk_memory_from_handle(vk, &h, &memory), UNSUPPORTED, DEVICE_MISMATCH,
              "own the memory");
    REQUIRE(memory == VK_NULL_HANDLE);
    culv_handle_close(&h.handle);
    culv_vector_desc v = culv_vector_desc_init();
    v.size = UNIT;
    v.handle_types = a.handle_types;
    NEW(culv_vector, vector, culv_vector_create, s->w.device, &v);
    culv_vk_vector_view_desc d = culv_vk_vector_view_desc_init();
    d.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    LIB_REFUSES(view, culv_vk_vector_view_create(vk, vector, &d, &view), UNSUPPORTED,
                DEVICE_MISMATCH, "own the memory");
    NEW(culv_vmm_adopted, adopted, culv_vmm_adopt, s->w.device, culv_vector_pointer(vector), 4096);
    culv_vk_adopted_desc ad = culv_vk_adopted_desc_init();
    ad.usage = d.usage;
    LIB_REFUSES(buffers, culv_vk_adopted_create(vk, adopted, &ad, &buffers), UNSUPPORTED,
                DEVICE_MISMATCH, "own the memory");
    culv_vmm_adopted_destroy(&adopted);
    culv_vector_destroy(&vector, NULL);
    culv_vmm_allocation_destroy(&allocation);
    culv_vk_space_desc sd = culv_vk_space_desc_init();
    sd.size = 64 << 20;
    sd.buffer_usage = d.usage | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    vkGetDeviceQueue(s->w.vk.device, 0, 0, &sd.queue);
    LIB_REFUSES(space, culv_vk_space_create(vk, &sd, &space), UNSUPPORTED, DEVICE_MISMATCH,
                "own the memory");
}

/* What works instead: the GPU that draws owns the vector and lets the solver's use it. The solver
 * grows nothing; it writes all of it, and signals its own timeline. */
SCENE_CASE(scene_open, SCENE_DIRECT, vector_of_the_owner)
{
    enum { WORDS = 3 * UNIT / 4 };
    lib_world owner = s->w;
    if (!lib_caps(s->w.device).vmm) SKIP("the device has no virtual memory management");
    LIB_OK(culv_device_open_for_vk(vkGetInstanceProcAddr, s->w.vk.instance, s->w.vk.physical, NULL,
                                   &owner.device));
    const culv_vk_device_desc vd = lib_vk_desc(&s->w);
    LIB_OK(culv_vk_attach(owner.device, &vd, &owner.attachment));
    const culv_vmm_access both[] = {{.flags = CULV_VMM_ACCESS_READ_WRITE},
                                    {.device = s->w.device, .flags = CULV_VMM_ACCESS_READ_WRITE}};
    culv_vector_desc v = culv_vector_desc_init();
    v.size = UNIT;
    v.handle_types = UINT32_C(1) << CULV_HANDLE_OPAQUE_FD;
    v.max_chunk = UNIT;
    v.access = both;
    v.access_count = 2;
    NEW(culv_vector, vector, culv_vector_create, owner.device, &v);
    culv_vk_vector_view_desc d = culv_vk_vector_view_desc_init();
    d.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    NEW(culv_vector_view, view, culv_vk_vector_view_create, owner.attachment, vector, &d);
    LIB_OK(culv_vector_grow(vector, 4 * WORDS));
    LIB_OK(culv_vector_view_update(view));
    LIB_BLOCK(uint32_t, words, 4 * WORDS);
    lib_fill(words, WORDS, 5);
    LIB_CU_OK(&s->w,
              s->w.cu->MemcpyHtoDAsync(culv_vector_pointer(vector), words, 4 * WORDS, s->stream));
    culv_part parts[8];
    size_t count = 0;
    LIB_OK(culv_vector_view_get_parts(view, parts, 8, &count));
    raw_vk_buffer host = lib_case_buffer(&s->w, 4 * WORDS, RAW_VK_HOST);
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    for (size_t i = 0; i < count; i++) {
        const VkBufferCopy part = {.dstOffset = parts[i].offset, .size = parts[i].size};
        vkCmdCopyBuffer(commands, (VkBuffer)parts[i].buffer, host.buffer, 1, &part);
    }
    scene_signal(s);
    scene_submit(s, commands);
    raw_vk_idle(&s->w.vk);
    REQUIRE(count >= 2);
    REQUIRE_WORDS(host.mapped, WORDS, 5);
    LIB_OK(culv_vector_view_destroy(&view));
    culv_vector_destroy(&vector, NULL);
    lib_settle(&owner);
    culv_vk_detach(&owner.attachment);
    culv_device_close(&owner.device);
}

/* Several GPUs solve one frame ----------------------------------------------------------------- */

typedef struct solver {
    lib_world w; /* the scene's Vulkan */
    CUstream stream;
    culv_ring *ring;
    culv_ring_frame made;
    culv_ring_frame frame;
} solver;

enum { PART = 4099, MOST_SOLVERS = 4 };

static void solver_open(const scene *s, int ordinal, solver *out)
{
    out->w = s->w;
    out->w.device = lib_open_ordinal(s->w.cu, ordinal);
    culv_vk_device_desc d = lib_vk_desc(&s->w);
    d.allow_other_gpu = 1;
    LIB_OK(culv_vk_attach(out->w.device, &d, &out->w.attachment));
    out->w.context = culv_device_context(out->w.device);
    out->stream = lib_stream(&out->w);
    const VkBufferCreateInfo info = raw_vk_buffer_info(4 * PART, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    culv_vk_buffer_create_desc b = culv_vk_buffer_create_desc_init();
    b.create_info = &info;
    culv_vk_ring_resource r = culv_vk_ring_resource_init();
    r.buffer = &b;
    r.use = CULV_VK_USE_TRANSFER_SRC;
    culv_vk_ring_desc ring = culv_vk_ring_desc_init();
    ring.max_depth = 2;
    ring.resources = &r;
    ring.num_resources = 1;
    ring.queue_family = 0;
    LIB_OK(culv_vk_ring_create(out->w.attachment, s->w.vk.queues[0].queue, &ring, &out->ring));
}

static void solver_close(solver *one)
{
    lib_finish(&one->w, one->stream);
    culv_ring_destroy(&one->ring, NULL);
    lib_stream_destroy(&one->w, one->stream);
    lib_settle(&one->w);
    culv_vk_detach(&one->w.attachment);
    lib_require_no_objects(&one->w);
    culv_device_close(&one->w.device);
}

static void solve(solver *one, uint32_t seed)
{
    LIB_OK(culv_ring_acquire_on(one->ring, CULV_RING_PRODUCER, one->stream, CULV_RING_FOREVER,
                                &one->made));
    LIB_CU_OK(&one->w, one->w.cu->MemsetD32Async(culv_ring_pointer(one->ring, one->made.slot, 0),
                                                 seed, PART, one->stream));
    LIB_OK(culv_ring_release_on(one->ring, CULV_RING_PRODUCER, one->stream, &one->made));
}

/* The parts of a frame, side by side in `host`: one submission waits for all solvers. */
static void draw(scene *s, solver *all, uint32_t count, const raw_vk_buffer *host, VkFence fence)
{
    VkSemaphoreSubmitInfo waits[MOST_SOLVERS], signals[MOST_SOLVERS];
    uint32_t num_waits = 0, num_signals = 0;
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    for (uint32_t i = 0; i < count; i++) {
        LIB_OK(
            culv_ring_acquire(all[i].ring, CULV_RING_CONSUMER, CULV_RING_FOREVER, &all[i].frame));
        LIB_OK(culv_vk_ring_record_copy(all[i].ring, commands, all[i].frame.slot, 0, host->buffer,
                                        (VkDeviceSize)i * 4 * PART, 4 * PART));
    }
    VK_OK(vkEndCommandBuffer(commands));
    for (uint32_t i = 0; i < count; i++) {
        LIB_OK(culv_ring_release(all[i].ring, CULV_RING_CONSUMER, &all[i].frame));
        LIB_OK(culv_vk_ring_get_points(all[i].ring, &all[i].frame, &waits[num_waits],
                                       &signals[num_signals]));
        num_waits += all[i].frame.wait_value != 0;
        num_signals += all[i].frame.signal_value != 0;
    }
    const VkCommandBufferSubmitInfo one = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                           .commandBuffer = commands};
    const VkSubmitInfo2 submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                  .waitSemaphoreInfoCount = num_waits,
                                  .pWaitSemaphoreInfos = waits,
                                  .commandBufferInfoCount = 1,
                                  .pCommandBufferInfos = &one,
                                  .signalSemaphoreInfoCount = num_signals,
                                  .pSignalSemaphoreInfos = signals};
    VK_OK(vkQueueSubmit2(s->w.vk.queues[0].queue, 1, &submit, fence));
}

/* What the driver writes inline is there before the signal, also if the link has slept: without
 * culvi_arrive() an H200's Vulkan read the words from before in nearly every frame. */
static void small_writes(scene *s, solver *one, const raw_vk_buffer *host, VkFence fence)
{
    enum { WORDS = 512, FRAMES = 24 };
    static uint32_t words[WORDS];
    for (uint32_t f = 1; f <= FRAMES; f++) {
        LIB_OK(culv_ring_acquire_on(one->ring, CULV_RING_PRODUCER, one->stream, CULV_RING_FOREVER,
                                    &one->made));
        const CUdeviceptr to = culv_ring_pointer(one->ring, one->made.slot, 0);
        const uint32_t count = f % 3 == 0 ? 1 : WORDS;
        for (uint32_t i = 0; i < WORDS; i++)
            words[i] = f;
        lib_sleep_ms(20);
        LIB_CU_OK(&one->w,
                  f % 2 ? s->w.cu->MemsetD32Async(to, f, count, one->stream)
                        : s->w.cu->MemcpyHtoDAsync(to, words, count * sizeof *words, one->stream));
        LIB_OK(culv_ring_release_on(one->ring, CULV_RING_PRODUCER, one->stream, &one->made));
        draw(s, one, 1, host, fence);
        VK_OK(vkWaitForFences(s->w.vk.device, 1, &fence, VK_TRUE, UINT64_MAX));
        VK_OK(vkResetFences(s->w.vk.device, 1, &fence));
        REQUIRE_ALL(host->mapped, count, f);
    }
}

/* Up to four GPUs, that of the VkDevice too, each with a ring for its part. The last one is held
 * back until the frame is submitted. */
TEST(solvers, .own = true)
{
    enum { FRAMES = 6 };
    static scene s;
    static solver all[MOST_SOLVERS];
    VkFence fence;
    const VkFenceCreateInfo fences = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    REQUIRE(setenv("CULVERT_SOFT_DEVICES", "4", 1) == 0);
    scene_open(&s, SCENE_DIRECT);
    const uint32_t there = (uint32_t)s.w.cu->device_count,
                   count = there < MOST_SOLVERS ? there : MOST_SOLVERS;
    if (s.w.cu->software) REQUIRE_EQ(count, MOST_SOLVERS);
    for (uint32_t i = 0; i < count; i++)
        solver_open(&s, (int)i, &all[i]);
    solver *last = &all[count - 1];
    const culv_vk_semaphore_create_desc gd = culv_vk_semaphore_create_desc_init();
    NEW(culv_shared_semaphore, gate, culv_vk_semaphore_create, last->w.attachment, &gd);
    raw_vk_buffer host = lib_case_buffer(&s.w, count * 4 * PART, RAW_VK_HOST);
    VK_OK(vkCreateFence(s.w.vk.device, &fences, NULL, &fence));
    for (uint32_t f = 1; f <= FRAMES; f++) {
        LIB_OK(culv_semaphore_wait(culv_shared_semaphore_cuda(gate), last->stream, f));
        for (uint32_t i = 0; i < count; i++)
            solve(&all[i], 100 * f + i);
        draw(&s, all, count, &host, fence);
        REQUIRE_EQ(vkGetFenceStatus(s.w.vk.device, fence), VK_NOT_READY);
        raw_vk_timeline_signal(&s.w.vk, culv_vk_semaphore_handle(gate), f);
        VK_OK(vkWaitForFences(s.w.vk.device, 1, &fence, VK_TRUE, UINT64_MAX));
        VK_OK(vkResetFences(s.w.vk.device, 1, &fence));
        for (uint32_t i = 0; i < count * PART; i++)
            REQUIRE_EQ(((const uint32_t *)host.mapped)[i], 100 * f + i / PART);
    }
    small_writes(&s, &all[1], &host, fence);
    raw_vk_idle(&s.w.vk);
    vkDestroyFence(s.w.vk.device, fence, NULL);
    lib_finish(&last->w, last->stream);
    culv_shared_semaphore_destroy(&gate, NULL);
    for (uint32_t i = 0; i < count; i++)
        solver_close(&all[i]);
    scene_close(&s);
}

/* A kernel of the solver's uses another GPU's pointer while a submission of Vulkan's waits for its
 * frame: the VkDevice and the other solver go on. */
TEST(solver_faults, .faults = true)
{
    static scene s;
    static solver all[2];
    raw_vk_buffer host;
    VkFence fence;
    const VkFenceCreateInfo fences = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    scene_open_bare(&s, SCENE_DIRECT);
    const raw_cuda *cu = s.w.cu;
    for (int i = 0; i < 2; i++)
        solver_open(&s, i, &all[i]);
    solver *own = &all[0], *gone = &all[1];
    const culv_vk_semaphore_create_desc gd = culv_vk_semaphore_create_desc_init();
    NEW(culv_shared_semaphore, gate, culv_vk_semaphore_create, gone->w.attachment, &gd);
    raw_vk_buffer_create(&s.w.vk, 2 * 4 * PART, RAW_VK_HOST, &host);
    VK_OK(vkCreateFence(s.w.vk.device, &fences, NULL, &fence));

    CUdeviceptr others = culv_ring_pointer(own->ring, 0, 0);
    uint32_t value = 1;
    void *params[] = {&others, &value};
    LIB_OK(culv_ring_acquire_on(gone->ring, CULV_RING_PRODUCER, gone->stream, CULV_RING_FOREVER,
                                &gone->made));
    LIB_OK(culv_semaphore_wait(culv_shared_semaphore_cuda(gate), gone->stream, 1));
    CUcontext before = lib_enter(&gone->w);
    CUfunction poke = raw_cuda_function(cu, raw_cuda_load(cu, "library_kernels"), "library_poke");
    CU_OK(cu->LaunchKernel(poke, 1, 1, 1, 32, 1, 1, 0, gone->stream, params, NULL));
    lib_leave(&gone->w, before);
    LIB_OK(culv_ring_release_on(gone->ring, CULV_RING_PRODUCER, gone->stream, &gone->made));
    solve(own, 9);
    draw(&s, all, 2, &host, fence);
    raw_vk_timeline_signal(&s.w.vk, culv_vk_semaphore_handle(gate), 1);
    CUresult r = CUDA_SUCCESS;
    for (unsigned i = 0; i < TEST_FAR_MS && (r == CUDA_SUCCESS || r == CUDA_ERROR_NOT_READY); i++) {
        r = lib_query(&gone->w, gone->stream);
        lib_sleep_ms(1);
    }
    REQUIRE_EQ(r, CUDA_ERROR_ILLEGAL_ADDRESS);
    REQUIRE_EQ(vkGetFenceStatus(s.w.vk.device, fence), VK_NOT_READY);
    /* The host signals in the place of the one that is gone. Then Vulkan has time to end its work,
     * in whose place CUDA could not signal any more. */
    LIB_OK(culv_ring_drain(gone->ring, UINT64_C(1000000000), 1));
    for (uint32_t f = 9; f < 13; f++) {
        if (f > 9) solve(own, f);
        if (f > 9) draw(&s, all, 1, &host, fence);
        VK_OK(vkWaitForFences(s.w.vk.device, 1, &fence, VK_TRUE, UINT64_MAX));
        VK_OK(vkResetFences(s.w.vk.device, 1, &fence));
        REQUIRE_ALL(host.mapped, PART, f);
    }
    culv_shared_semaphore *none = NULL;
    LIB_REFUSES(none, culv_vk_semaphore_create(gone->w.attachment, &gd, &none), ASYNC,
                EARLIER_FAILURE);
    raw_vk_idle(&s.w.vk);
    vkDestroyFence(s.w.vk.device, fence, NULL);
    raw_vk_buffer_destroy(&s.w.vk, &host);
    solver_close(own);
    culv_shared_semaphore_destroy(&gate, NULL);
    culv_ring_destroy(&gone->ring, NULL);
    culv_vk_detach(&gone->w.attachment);
    culv_device_close(&gone->w.device);
    test_pass(); /* the context is lost, with the scene's */
}

#undef TEST_GROUP
#define TEST_GROUP ""
/* Fallbacks: images of every kind and of formats that no CUDA array has, the same program on every
 * path. */

typedef struct row {
    const char *what;
    VkFormat format;
    VkImageType type;
    VkImageCreateFlags flags;
    VkExtent3D extent;
    uint32_t levels, layers;
    bool linear; /* no CUDA array has the format */
    bool host;   /* what CUDA has, but is not shared as it is */
    bool normalized;
} row;

#define D1       VK_IMAGE_TYPE_1D
#define D2       VK_IMAGE_TYPE_2D
#define D3       VK_IMAGE_TYPE_3D
#define CUBE     VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT
#define DISJOINT VK_IMAGE_CREATE_DISJOINT_BIT
#define NV12     VK_FORMAT_G8_B8R8_2PLANE_420_UNORM
#define I420     VK_FORMAT_G8_B8_R8_3PLANE_420_UNORM
#define BC1      VK_FORMAT_BC1_RGBA_UNORM_BLOCK

static const row rows[] = {
    {"2D", VK_FORMAT_R8G8B8A8_UNORM, D2, 0, {61, 33, 1}, 3, 1, .host = false},
    {"normalized", VK_FORMAT_R8G8B8A8_UNORM, D2, 0, {61, 33, 1}, 3, 1, .normalized = true},
    {"2D array", VK_FORMAT_R16G16_SFLOAT, D2, 0, {31, 17, 1}, 2, 3, .host = false},
    {"1D array", VK_FORMAT_R8_UNORM, D1, 0, {101, 1, 1}, 2, 2, .host = false},
    {"3D", VK_FORMAT_R32_UINT, D3, 0, {13, 9, 5}, 2, 1, .host = false},
    {"cube", VK_FORMAT_R8G8_UNORM, D2, CUBE, {16, 16, 1}, 2, 6, .host = false},
    {"blocks", BC1, D2, 0, {36, 20, 1}, 2, 1, .host = false},
    {"blocks in layers", BC1, D2, 0, {36, 20, 1}, 2, 3, .host = false},
    {"depth", VK_FORMAT_D16_UNORM, D2, 0, {40, 20, 1}, 1, 1, .host = false},
    {"planes", NV12, D2, DISJOINT, {48, 24, 1}, 1, 1, .host = false},
    {"three planes", I420, D2, DISJOINT, {32, 16, 1}, 1, 1, .host = false},
    {"joined planes", NV12, D2, 0, {48, 24, 1}, 1, 1, .host = true},
    {"three channels", VK_FORMAT_R32G32B32_SFLOAT, D2, 0, {23, 11, 1}, 1, 1, .linear = true},
    {"three channels, 3D", VK_FORMAT_R32G32B32_UINT, D3, 0, {9, 7, 3}, 1, 1, .linear = true},
    {"depth and stencil", VK_FORMAT_D24_UNORM_S8_UINT, D2, 0, {19, 13, 1}, 2, 2, .linear = true},
    {"float depth and stencil",
     VK_FORMAT_D32_SFLOAT_S8_UINT,
     D2,
     0,
     {19, 13, 1},
     2,
     1,
     .linear = true},
};

/* One plane of one level, as vkCmdCopyImageToBuffer lays it out. */
typedef struct piece {
    uint32_t level, plane;
    VkImageAspectFlags aspect;
    VkExtent3D extent; /* texels */
    uint32_t blocks, rows, slices, block_bytes;
    size_t size, at;
} piece;

enum { MAX_PIECES = 16 };

static piece pieces[MAX_PIECES];
static uint32_t num_pieces;
static size_t all_bytes;

static uint32_t half(uint32_t size, uint32_t level)
{
    return size >> level != 0 ? size >> level : 1;
}

/* Restated from the formats' definitions, not taken from Culvert's table. */
static piece plane_of(const row *r, uint32_t plane)
{
    piece p = {.plane = plane, .aspect = VK_IMAGE_ASPECT_COLOR_BIT, .extent = r->extent};
    bool first = plane == 0;
    switch ((int)r->format) {
    case VK_FORMAT_R8G8B8A8_UNORM:
    case VK_FORMAT_R16G16_SFLOAT:
    case VK_FORMAT_R32_UINT: p.block_bytes = 4; break;
    case VK_FORMAT_R8_UNORM: p.block_bytes = 1; break;
    case VK_FORMAT_R8G8_UNORM: p.block_bytes = 2; break;
    case BC1: p.block_bytes = 8; break;
    case VK_FORMAT_R32G32B32_SFLOAT:
    case VK_FORMAT_R32G32B32_UINT: p.block_bytes = 12; break;
    case VK_FORMAT_D16_UNORM:
        p.block_bytes = 2;
        p.aspect = VK_IMAGE_ASPECT_DEPTH_BIT;
        break;
    case VK_FORMAT_D24_UNORM_S8_UINT:
    case VK_FORMAT_D32_SFLOAT_S8_UINT:
        p.block_bytes = first ? 4 : 1;
        p.aspect = first ? VK_IMAGE_ASPECT_DEPTH_BIT : VK_IMAGE_ASPECT_STENCIL_BIT;
        break;
    default: /* of several planes */
        p.block_bytes = r->format == NV12 && !first ? 2 : 1;
        p.aspect = (VkImageAspectFlags)VK_IMAGE_ASPECT_PLANE_0_BIT << plane;
        if (!first) p.extent = (VkExtent3D){r->extent.width / 2, r->extent.height / 2, 1};
    }
    return p;
}

static uint32_t planes_of(const row *r)
{
    switch ((int)r->format) {
    case I420: return 3;
    case NV12:
    case VK_FORMAT_D24_UNORM_S8_UINT:
    case VK_FORMAT_D32_SFLOAT_S8_UINT: return 2;
    default: return 1;
    }
}

static void cut(const row *r)
{
    num_pieces = 0;
    all_bytes = 0;
    for (uint32_t level = 0; level < r->levels; level++)
        for (uint32_t plane = 0; plane < planes_of(r); plane++) {
            piece p = plane_of(r, plane);
            uint32_t block = r->format == BC1 ? 4 : 1;
            p.level = level;
            p.extent = (VkExtent3D){half(p.extent.width, level), half(p.extent.height, level),
                                    half(p.extent.depth, level)};
            p.blocks = (p.extent.width + block - 1) / block;
            p.rows = (p.extent.height + block - 1) / block;
            p.slices = p.extent.depth * r->layers;
            p.size = (size_t)p.blocks * p.block_bytes * p.rows * p.slices;
            p.at = all_bytes;
            all_bytes += (p.size + 191) / 192 * 192;
            REQUIRE(num_pieces < MAX_PIECES);
            pieces[num_pieces++] = p;
        }
}

/* Each seed changes the high bits, which are the ones used. */
static uint32_t noise(const piece *p, size_t i, uint32_t seed)
{
    return lib_word((uint32_t)(p->at + i), seed * 2246822519u);
}

/* Depths are between 0 and 1, and the unused bits of a D24 word are 0. */
static void fill(const row *r, const piece *p, uint32_t seed, unsigned char *out)
{
    bool depth = p->aspect == VK_IMAGE_ASPECT_DEPTH_BIT;
    for (size_t i = 0; i < p->size; i++)
        out[i] = (unsigned char)(noise(p, i, seed) >> 24);
    for (size_t i = 0; depth && p->block_bytes == 4 && i < p->size; i += 4) {
        uint32_t bits = noise(p, i, seed) >> 8;
        float value = (float)bits / 16777216.0f;
        if (r->format == VK_FORMAT_D24_UNORM_S8_UINT)
            memcpy(out + i, &bits, 4);
        else
            memcpy(out + i, &value, 4);
    }
}

static void require(const row *r, const piece *p, uint32_t seed, unsigned char *found,
                    const char *where)
{
    LIB_BLOCK(unsigned char, expected, p->size);
    fill(r, p, seed, expected);
    for (size_t i = 3;
         r->format == VK_FORMAT_D24_UNORM_S8_UINT && p->block_bytes == 4 && i < p->size; i += 4)
        found[i] = 0; /* undefined */
    for (size_t i = 0; i < p->size; i++)
        if (found[i] != expected[i])
            FAIL("%s, %s: level %u, plane %u, byte %zu of %zu is 0x%02x, not 0x%02x", r->what,
                 where, p->level, p->plane, i, p->size, found[i], expected[i]);
}

/* CUDA's side ---------------------------------------------------------------------------------- */

/* Copies a piece to or from CUDA's memory, whatever it is. */
static void cuda_copies(const scene *s, const row *r, culv_image *image, const piece *p,
                        unsigned char *texels, bool in)
{
    const raw_cuda *cu = s->w.cu;
    CUcontext before = lib_enter(&s->w);
    size_t row_bytes = (size_t)p->blocks * p->block_bytes;
    if (r->linear) {
        culv_subresource_layout l = culv_subresource_layout_init();
        LIB_OK(culv_image_get_layout(image, p->level, p->plane, &l));
        REQUIRE_EQ(l.size, p->size);
        REQUIRE_EQ(l.row_pitch, row_bytes);
        const uint64_t slice = (uint64_t)row_bytes * p->rows;
        REQUIRE_EQ(l.depth_pitch, r->type == VK_IMAGE_TYPE_3D ? slice : 0);
        REQUIRE_EQ(l.layer_pitch, r->layers > 1 ? slice : 0);
        REQUIRE_EQ(l.width, p->extent.width);
        REQUIRE_EQ(l.height, p->extent.height);
        REQUIRE_EQ(l.depth, p->extent.depth);
        REQUIRE_EQ(l.array_layers, r->layers);
        REQUIRE_EQ(l.bytes_per_block, p->block_bytes);
        if (in)
            CU_OK(raw_cuda_upload(cu, l.pointer, texels, p->size));
        else
            CU_OK(cu->MemcpyDtoH(texels, l.pointer, p->size));
    } else {
        CUarray array = NULL;
        CUDA_ARRAY3D_DESCRIPTOR is;
        LIB_OK(culv_image_get_array(image, p->level, p->plane, &array));
        CU_OK(cu->Array3DGetDescriptor(&is, array));
        REQUIRE_EQ(is.Format == CU_AD_FORMAT_UNORM_INT8X4, r->normalized);
        if (in)
            CU_OK(raw_cuda_write_box(cu, array, texels, row_bytes, p->rows, p->slices));
        else
            CU_OK(raw_cuda_read_box(cu, array, texels, row_bytes, p->rows, p->slices));
    }
    lib_leave(&s->w, before);
}

static void write_cuda(const scene *s, const row *r, culv_image *image, uint32_t seed,
                       unsigned char *texels)
{
    for (uint32_t i = 0; i < num_pieces; i++) {
        fill(r, &pieces[i], seed, texels);
        cuda_copies(s, r, image, &pieces[i], texels, true);
    }
}

/* The same straight from linear memory to where Vulkan reads it, also with room behind rows and
 * slices. */
static void write_fields(const scene *s, const row *r, culv_image *image, uint32_t seed,
                         unsigned char *texels)
{
    const raw_cuda *cu = s->w.cu;
    for (uint32_t i = 0; i < num_pieces; i++) {
        const piece *p = &pieces[i];
        const size_t row_bytes = (size_t)p->blocks * p->block_bytes,
                     pitch = i % 2 ? row_bytes : row_bytes + 3 * p->block_bytes,
                     slice = i % 2 ? pitch * p->rows : pitch * (p->rows + 2);
        culv_image_field f = culv_image_field_init();
        CUcontext before = lib_enter(&s->w);
        fill(r, p, seed, texels);
        CU_OK(cu->MemAlloc(&f.pointer, slice * p->slices));
        for (size_t z = 0; z < p->slices; z++)
            for (size_t y = 0; y < p->rows; y++)
                CU_OK(raw_cuda_upload(cu, f.pointer + z * slice + y * pitch,
                                      texels + (z * p->rows + y) * row_bytes, row_bytes));
        lib_leave(&s->w, before);
        f.row_pitch = i % 2 ? 0 : pitch;
        f.slice_pitch = i % 2 ? 0 : slice;
        f.level = p->level;
        f.plane = p->plane;
        LIB_OK(culv_image_write(image, &f, s->stream));
        lib_finish(&s->w, s->stream);
        LIB_CU_OK(&s->w, cu->MemFree(f.pointer));
    }
}

static void refuse_fields(culv_image *image, const row *r)
{
    culv_image_field f = culv_image_field_init();
    f.pointer = 4096;
#define ROW(change, why) SPOILT(f, change, LIB_INVALID(culv_image_write(image, &f, NULL), why))
    LIB_INVALID(culv_image_write(image, NULL, NULL), NULL_ARGUMENT);
    ROW(f.pointer = 0, NULL_ARGUMENT);
    ROW(f.row_pitch = 1, VALUE);
    ROW((f.row_pitch = 4096, f.slice_pitch = 4097), VALUE);
    if (pieces[0].rows > 1) /* or it is 0: packed */
        ROW((f.row_pitch = 4096, f.slice_pitch = 4096ull * (pieces[0].rows - 1)), VALUE);
    ROW(f.row_pitch = UINT64_MAX, VALUE);
    ROW(f.level = r->levels, LEVEL);
    ROW(f.plane = planes_of(r), LEVEL);
#undef ROW
}

static void require_cuda(const scene *s, const row *r, culv_image *image, uint32_t seed,
                         unsigned char *texels)
{
    lib_finish(&s->w, s->stream);
    for (uint32_t i = 0; i < num_pieces; i++) {
        memset(texels, 0x77, pieces[i].size);
        cuda_copies(s, r, image, &pieces[i], texels, false);
        require(r, &pieces[i], seed, texels, "in CUDA");
    }
}

/* Vulkan's side -------------------------------------------------------------------------------- */

static void image_barrier(VkCommandBuffer commands, const row *r, const culv_shared_image *image,
                          culv_vk_use use, bool acquire, bool discard)
{
    VkImageMemoryBarrier2 barrier;
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    t.queue_family = 0;
    t.image = culv_vk_image_handle(image);
    t.format = r->format;
    t.use = use;
    t.discard = discard;
    LIB_OK(culv_vk_image_get_barrier2(&t, acquire ? CULV_VK_ACQUIRE : CULV_VK_RELEASE, &barrier));
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .imageMemoryBarrierCount = 1,
                                   .pImageMemoryBarriers = &barrier};
    vkCmdPipelineBarrier2(commands, &info);
}

static void vulkan_copies(scene *s, const row *r, const culv_shared_image *image,
                          const raw_vk_buffer *host, bool out)
{
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    culv_vk_use use = out ? CULV_VK_USE_TRANSFER_SRC : CULV_VK_USE_TRANSFER_DST;
    VkImageLayout layout =
        out ? VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL : VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    image_barrier(commands, r, image, use, true, false);
    if (out) LIB_OK(culv_vk_image_record_copy(image, CULV_COPY_UPLOAD, commands, layout));
    for (uint32_t i = 0; i < num_pieces; i++) {
        const piece *p = &pieces[i];
        const VkBufferImageCopy region = {.bufferOffset = p->at,
                                          .imageSubresource = {p->aspect, p->level, 0, r->layers},
                                          .imageExtent = p->extent};
        if (out)
            vkCmdCopyImageToBuffer(commands, culv_vk_image_handle(image), layout, host->buffer, 1,
                                   &region);
        else
            vkCmdCopyBufferToImage(commands, host->buffer, culv_vk_image_handle(image), layout, 1,
                                   &region);
    }
    if (!out) LIB_OK(culv_vk_image_record_copy(image, CULV_COPY_DOWNLOAD, commands, layout));
    image_barrier(commands, r, image, use, false, false);
    scene_submit(s, commands);
}

static bool vulkan_makes(const scene *s, const VkImageCreateInfo *info)
{
    VkImageFormatProperties2 properties = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2};
    const VkPhysicalDeviceImageFormatInfo2 query = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
        .format = info->format,
        .type = info->imageType,
        .usage = info->usage,
        .flags = info->flags};
    if ((info->flags & VK_IMAGE_CREATE_DISJOINT_BIT) && !lib_disjoint(&s->w, info->format))
        return false;
    return vkGetPhysicalDeviceImageFormatProperties2(s->w.vk.physical, &query, &properties) ==
           VK_SUCCESS;
}

static bool make(const scene *s, const row *r, culv_shared_image **out)
{
    VkImageCreateInfo info = raw_vk_image_info(
        r->format, 0, 0, VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    info.flags = r->flags;
    info.imageType = r->type;
    info.extent = r->extent;
    info.mipLevels = r->levels;
    info.arrayLayers = r->layers;
    if (!vulkan_makes(s, &info)) {
        printf("  %s: Vulkan makes no such images (format %d)\n", r->what, (int)r->format);
        return false;
    }
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    d.fallback = CULV_FALLBACK_ANY;
    d.texels = r->normalized ? CULV_TEXELS_NORMALIZED : CULV_TEXELS_STORED;
    d.label = r->what;
    culv_result result = culv_vk_image_create(s->w.attachment, &d, out);
    if (result == CULV_ERROR_DRIVER &&
        !s->w.cu->software) { /* which arrays of its own CUDA makes is the driver's */
        MEASURED("fallback_image_refused", "%s", culv_last_error_message());
        return false;
    }
    LIB_OK(result);
    return true;
}

static void refuse_arrays(culv_image *image)
{
    CUarray array = NULL;
    CUsurfObject surface = 0;
    CUtexObject texture = 0;
    culv_texture_desc d = culv_texture_desc_init();
    LIB_ERROR(culv_image_get_array(image, 0, 0, &array), UNSUPPORTED, FORMAT,
              "culv_image_get_layout()");
    LIB_ERROR(culv_image_get_surface(image, 0, 0, &surface), UNSUPPORTED, FORMAT);
    LIB_ERROR(culv_image_get_texture(image, &d, &texture), UNSUPPORTED, FORMAT);
    REQUIRE(array == NULL && surface == 0 && texture == 0);
}

/* What Vulkan is told, which a driver that runs things in order does not show. */
static void require_layouts(VkImageLayout from, VkImageLayout between, VkImageLayout to)
{
    REQUIRE_EQ(lib_saw.images, 2);
    REQUIRE_EQ(lib_saw.image[0].oldLayout, from);
    REQUIRE_EQ(lib_saw.image[0].newLayout, between);
    REQUIRE_EQ(lib_saw.image[1].oldLayout, between);
    REQUIRE_EQ(lib_saw.image[1].newLayout, to);
}

/* What CUDA wrote on the host is there before the copy, and what was copied is for CUDA. */
static void require_host(VkAccessFlags copied)
{
    REQUIRE_EQ(lib_saw.barriers, 2);
    REQUIRE(lib_saw.src[0] & VK_PIPELINE_STAGE_HOST_BIT);
    REQUIRE(lib_saw.memory[0].srcAccessMask & VK_ACCESS_HOST_WRITE_BIT);
    REQUIRE(lib_saw.memory[0].dstAccessMask & copied);
    REQUIRE(lib_saw.dst[0] & VK_PIPELINE_STAGE_TRANSFER_BIT);
    REQUIRE(lib_saw.src[1] & VK_PIPELINE_STAGE_TRANSFER_BIT);
    REQUIRE(lib_saw.memory[1].srcAccessMask & VK_ACCESS_TRANSFER_WRITE_BIT);
    REQUIRE(lib_saw.dst[1] & VK_PIPELINE_STAGE_HOST_BIT);
    REQUIRE(lib_saw.memory[1].dstAccessMask & VK_ACCESS_HOST_READ_BIT);
    REQUIRE(lib_saw.memory[1].dstAccessMask & VK_ACCESS_MEMORY_READ_BIT);
}

/* An upload overwrites all of the image, a download keeps it; copies begin at multiples of four,
 * as queues that only copy want it (VUID-vkCmdCopyImageToBuffer-commandBuffer-07746). */
static void require_recorded(const culv_shared_image *image, VkCommandBuffer commands)
{
    static const VkImageLayout layouts[] = {VK_IMAGE_LAYOUT_GENERAL,
                                            VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL};
    for (int k = 0; k < 4; k++) {
        const VkImageLayout layout = layouts[k / 2];
        const bool up = k % 2 == 0;
        lib_saw = (lib_seen){.barriers = 0};
        LIB_OK(culv_vk_image_record_copy(image, up ? CULV_COPY_UPLOAD : CULV_COPY_DOWNLOAD,
                                         commands, layout));
        require_layouts(up ? VK_IMAGE_LAYOUT_UNDEFINED : layout,
                        up ? VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL
                           : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                        layout);
        require_host(up ? VK_ACCESS_TRANSFER_WRITE_BIT : VK_ACCESS_TRANSFER_READ_BIT);
        REQUIRE_EQ(lib_saw.copies, num_pieces);
        REQUIRE_EQ(lib_saw.offset_bits % 4, 0);
    }
}

static void run_row(scene *s, const row *r)
{
    culv_shared_image *image = NULL;
    raw_vk_buffer host;
    cut(r);
    if (!make(s, r, &image)) return;
    culv_image *cuda = culv_shared_image_cuda(image);
    REQUIRE_EQ(culv_image_sharing(cuda), r->linear || r->host ? CULV_SHARING_HOST : s->path);
    LIB_BLOCK(unsigned char, texels, all_bytes);
    raw_vk_buffer_create(&s->w.vk, all_bytes, RAW_VK_HOST, &host);
    culv_subresource_layout l = culv_subresource_layout_init();
    if (r->linear)
        refuse_arrays(cuda);
    else
        LIB_OK(culv_image_get_layout(cuda, 0, 0, &l));
    REQUIRE_EQ(l.pointer, 0);
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    LIB_INVALID(
        culv_vk_image_record_copy(image, CULV_COPY_UPLOAD, commands, VK_IMAGE_LAYOUT_UNDEFINED),
        VALUE);
    LIB_INVALID(culv_vk_image_record_copy(image, (culv_copy)2, commands, VK_IMAGE_LAYOUT_GENERAL),
                VALUE);
    LIB_INVALID(culv_image_copy(cuda, (culv_copy)2, s->stream), VALUE, "culv_image_copy: copy is");
    image_barrier(commands, r, image, CULV_VK_USE_ANY, false, true);
    if (culv_image_sharing(cuda) == CULV_SHARING_HOST) {
        require_recorded(image, commands);
        image_barrier(commands, r, image, CULV_VK_USE_ANY, false, true);
    }
    raw_vk_submit(&s->w.vk, commands, NULL);
    refuse_fields(cuda, r);
    for (uint32_t turn = 1; turn <= 4; turn++) {
        if (turn == 4) LIB_OK(culv_image_prepare_write(cuda));
        if (turn > 2)
            write_fields(s, r, cuda, turn, texels);
        else
            write_cuda(s, r, cuda, turn, texels);
        if (turn < 3) LIB_OK(culv_image_copy(cuda, CULV_COPY_UPLOAD, s->stream));
        scene_signal(s);
        memset(host.mapped, 0, all_bytes);
        vulkan_copies(s, r, image, &host, true);
        scene_wait(s);
        lib_finish(&s->w, s->stream);
        raw_vk_idle(&s->w.vk);
        for (uint32_t i = 0; i < num_pieces; i++) {
            unsigned char *found = (unsigned char *)host.mapped + pieces[i].at;
            require(r, &pieces[i], turn, found, "in Vulkan");
            fill(r, &pieces[i], turn + 50, found);
        }
        scene_signal(s);
        vulkan_copies(s, r, image, &host, false);
        scene_wait(s);
        LIB_OK(culv_image_copy(cuda, CULV_COPY_DOWNLOAD, s->stream));
        require_cuda(s, r, cuda, turn + 50, texels);
    }
    raw_vk_idle(&s->w.vk);
    culv_shared_image_destroy(&image, &s->stream);
    raw_vk_buffer_destroy(&s->w.vk, &host);
    printf("  %s: %u levels, %u layers, compared both ways\n", r->what, r->levels, r->layers);
}

static void images(scene_kind kind)
{
    static scene s;
    scene_open(&s, kind);
    if (kind == SCENE_DIRECT) s.path = CULV_SHARING_PEER; /* only buffers are used in place */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        run_row(&s, &rows[i]);
    if (kind == SCENE_DIRECT && s.w.cu->SoftCounts != NULL) {
        culv_soft_counts counts = {.struct_size = sizeof counts};
        s.w.cu->SoftCounts(&counts);
        REQUIRE_EQ(counts.peers, 1); /* the copies go straight */
    }
    scene_close(&s);
}

TEST_AS(images_shared, images(SCENE_SHARED), .title = "images.shared")
TEST_AS(images_pages, images(SCENE_PAGES), .title = "images.pages")
TEST_AS(images_mapped, images(SCENE_MAPPED), .title = "images.mapped")
TEST_AS(images_peer, images(SCENE_PEER), .title = "images.peer")
TEST_AS(images_across, images(SCENE_DIRECT), .title = "images.across")

/* Wrong on any path. */
SCENE_CASE(scene_open_bare, SCENE_PAGES, images_refused, .title = "images.refused")
{
    /* No CUDA array has them; Vulkan has one of the last two (Required Format Support). */
    static const VkFormat linear[] = {VK_FORMAT_R32G32B32_SFLOAT, VK_FORMAT_D32_SFLOAT_S8_UINT,
                                      VK_FORMAT_D24_UNORM_S8_UINT};
    culv_shared_image *image = NULL;
    VkImageCreateInfo good =
        raw_vk_image_info(VK_FORMAT_UNDEFINED, 16, 16,
                          VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    VkImageCreateInfo info;
    const VkExternalMemoryImageCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO};
    const VkImageStencilUsageCreateInfo stencil = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO,
        .stencilUsage = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT};
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    d.fallback = CULV_FALLBACK_HOST;
    for (size_t i = 0; i < sizeof linear / sizeof linear[0]; i++) {
        good.format = linear[i];
        if (vulkan_makes(s, &good)) break;
        info = good;
        LIB_REFUSES(image, culv_vk_image_create(s->w.attachment, &d, &image), UNSUPPORTED, USAGE);
    }
    good.usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT; /* the other one is added */
    info = good;
#define ROW(what, change, ...)                                                                     \
    SPOILT(what, change,                                                                           \
           LIB_REFUSES(image, culv_vk_image_create(s->w.attachment, &d, &image), __VA_ARGS__))
    ROW(info, info.samples = VK_SAMPLE_COUNT_4_BIT, INVALID, USAGE);
    ROW(info, info.tiling = VK_IMAGE_TILING_LINEAR, INVALID, TILING);
    ROW(info, info.mipLevels = 6, INVALID, EXTENT);
    ROW(info, info.pNext = &external, INVALID, VALUE);
    /* Stencil has a usage of its own, which copies need as well. */
    ROW(info, (info.format = VK_FORMAT_D32_SFLOAT_S8_UINT, info.pNext = &stencil), INVALID, USAGE,
        "stencilUsage");
    /* As memory of bytes they would not be what was asked for. */
    d.texels = CULV_TEXELS_NORMALIZED;
    ROW(info, info.format = VK_FORMAT_R8G8B8A8_SRGB, UNSUPPORTED, FORMAT, "CULV_TEXELS_STORED");
    ROW(info, info.format = VK_FORMAT_D24_UNORM_S8_UINT, UNSUPPORTED, FORMAT);
    d.texels = CULV_TEXELS_STORED;
    ROW(d, d.fallback = 0, UNSUPPORTED, FORMAT);
    ROW(d, d.fallback = 5, INVALID, VALUE);
#undef ROW
}
