/* SPDX-License-Identifier: MIT */
/* Torture of buffers in host memory: Culvert's pages and the caller's, which no failure may leave
 * pinned. */
#include "torture.h"
#include "vk_kernels_stage.h"

#include <culvert/vulkan_vmm.h>

enum { BYTES = 65536 };

static void *pages; /* the caller's */

static void begin(void)
{
    pages = aligned_alloc(BYTES, BYTES);
    REQUIRE(pages != NULL);
}

static void end(void)
{
    free(pages);
}

static void run(void)
{
    lib_world *w = &torture.w;
    const raw_cuda *cu = w->cu;
    culv_shared_buffer *one = POISON(culv_shared_buffer), *two = POISON(culv_shared_buffer);
    const VkBufferCreateInfo info = raw_vk_buffer_info(
        BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = &info;
    d.label = "tortured";
    d.host_memory = VK_TRUE;
    CUstream stream = torture_open();
    memset(pages, 0x2b, BYTES);
    TRY_AGAIN(culv_vk_buffer_create(w->attachment, &d, &one), one == POISON(culv_shared_buffer));
    d.host_pointer = pages;
    TRY_AGAIN(culv_vk_buffer_create(w->attachment, &d, &two), two == POISON(culv_shared_buffer));
    REQUIRE(culv_vk_buffer_host_pointer(two) == pages);
    LIB_CU_OK(
        w, cu->MemsetD32Async(culv_buffer_pointer(culv_shared_buffer_cuda(one)), 7, 100, stream));
    LIB_CU_OK(
        w, cu->MemsetD32Async(culv_buffer_pointer(culv_shared_buffer_cuda(two)), 8, 100, stream));
    culv_device_counts c = culv_device_counts_init();
    TRY_AGAIN(culv_device_get_counts(w->device, &c), true);
    REQUIRE_EQ(c.buffers, 2);
    REQUIRE_EQ(c.created, 2);
    REQUIRE_EQ(c.mappings, 2);
    REQUIRE_EQ(c.memories, 0);
    DO(culv_shared_buffer_destroy(&one, &stream));
    lib_finish(w, stream);
    DO(culv_shared_buffer_destroy(&two, NULL));
    REQUIRE(one == NULL && two == NULL);
    REQUIRE_EQ(((const uint32_t *)pages)[99], 8);
    REQUIRE_EQ(((const uint32_t *)pages)[100], 0x2b2b2b2b);
    TRY_AGAIN(culv_device_get_counts(w->device, &c), true);
    lib_settle(w);
    c = lib_counts(w);
    REQUIRE_EQ(c.buffers, 0);
    REQUIRE_EQ(c.created, 0);
    REQUIRE_EQ(c.mappings, 0);
    /* What Culvert takes for a sticky error takes the registration with the context. */
    bool taken_for_lost =
        torture.victim == TORTURE_CUDA_CALL && torture.code == CUDA_ERROR_ILLEGAL_ADDRESS;
    CUcontext before = lib_enter(w);
    CUresult r = cu->MemHostRegister(pages, BYTES, 0);
    if (r == CUDA_SUCCESS || !taken_for_lost) CU_IS(r, CUDA_SUCCESS);
    CU_OK(cu->MemHostUnregister(pages));
    lib_leave(w, before);
    torture_close(stream);
}

static const torture_path path = {.any_driver = true,
                                  .unvalidated = true,
                                  .begin = begin,
                                  .run = run,
                                  .end = end,
                                  .least = {8, 8, 6}};
TORTURE_CASES("host", path)

/* Torture of suspended devices: all kinds of what is given up and made again, with an object that
 * is destroyed in between. */

enum { CHECKPOINT_BYTES = 4 << 20 };
static raw_vk_buffer ours;
static VkSemaphore timeline;
static uint64_t value;

static void checkpoint_begin(void)
{
    raw_vk_buffer_create(&torture.w.vk, CHECKPOINT_BYTES, RAW_VK_EXPORT, &ours);
    timeline = raw_vk_timeline(&torture.w.vk, 0, true);
}

static void checkpoint_end(void)
{
    raw_vk_timeline_destroy(&torture.w.vk, timeline);
    raw_vk_buffer_destroy(&torture.w.vk, &ours);
}

static culv_shared_buffer *make_buffer(bool host)
{
    const VkBufferCreateInfo info =
        raw_vk_buffer_info(host ? 65536 : CHECKPOINT_BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = &info;
    d.host_memory = host;
    NEW(culv_shared_buffer, buffer, culv_vk_buffer_create, torture.w.attachment, &d);
    return buffer;
}

static culv_shared_image *make_image(void)
{
    VkImageCreateInfo info =
        raw_vk_image_info(VK_FORMAT_R32_SFLOAT, 32, 32, VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    info.mipLevels = 2;
    return lib_made_image(torture.w.attachment, &info);
}

static void checkpoint_run(void)
{
    lib_world *w = &torture.w;
    uint32_t word = 0;
    CUsurfObject surface = 0;
    CUstream stream = torture_open();
    culv_device *device = w->device;
    culv_shared_buffer *buffer = make_buffer(false), *host = make_buffer(true),
                       *gone = make_buffer(false);
    culv_shared_image *image = make_image();
    culv_semaphore *semaphore = lib_import_timeline(w, timeline);
    culv_memory *memory = lib_import(w, &ours);
    culv_suspend_desc sd = culv_suspend_desc_init();
    NEW(culv_buffer, range, culv_buffer_map, memory, NULL);
    LIB_OK(culv_image_get_surface(culv_shared_image_cuda(image), 0, 0, &surface));
    LIB_CU_OK(w, w->cu->MemsetD32Async(culv_buffer_pointer(range), 0x1234abcd, CHECKPOINT_BYTES / 4,
                                       stream));
    LIB_OK(culv_semaphore_signal(semaphore, stream, ++value));
    lib_finish(w, stream);
    sd.imports_live = 1;
    w->device = NULL; /* what another thread makes is refused now */
    TRY_AGAIN(culv_device_suspend(device, &sd), true);
    /* What Culvert takes for a faulted context keeps what is in it. */
    if (torture_device_lost()) goto destroy;
    lib_require_driver_counts(w, 0, 0, 0);
    DO(culv_shared_buffer_destroy(&gone, NULL));
    TRY_AGAIN(culv_device_resume(device, NULL), true);
    w->device = device;
    TRY_AGAIN(culv_image_get_surface(culv_shared_image_cuda(image), 1, 0, &surface), true);
    TRY_AGAIN(culv_semaphore_signal(semaphore, stream, value + 1), true);
    value++;
    lib_finish(w, stream);
    LIB_CU_OK(w, w->cu->MemcpyDtoH(&word, culv_buffer_pointer(range) + CHECKPOINT_BYTES - 4, 4));
    REQUIRE_EQ(word, 0x1234abcd);
    /* Given up for good while nothing is there. */
    w->device = NULL;
    if (!torture_device_lost()) LIB_OK(culv_device_suspend(device, &sd));
destroy:
    DO(culv_shared_buffer_destroy(&gone, NULL));
    DO(culv_buffer_unmap(&range, NULL));
    DO(culv_memory_destroy(&memory));
    DO(culv_semaphore_destroy(&semaphore, NULL));
    DO(culv_shared_image_destroy(&image, NULL));
    DO(culv_shared_buffer_destroy(&host, NULL));
    DO(culv_shared_buffer_destroy(&buffer, NULL));
    if (!torture_device_lost()) TRY_AGAIN(culv_device_resume(device, NULL), true);
    w->device = device;
    torture_close(stream);
}

static const torture_path checkpoint_path = {.unvalidated = true,
                                             .begin = checkpoint_begin,
                                             .run = checkpoint_run,
                                             .end = checkpoint_end,
                                             .least = {8, 3, 0}};

TORTURE_CASES("checkpoint", checkpoint_path)

/* One address, with each call of the drivers and each allocation made to fail once in turn. */

#define CHUNK (UINT64_C(2) << 20)

static culv_vk_space_info space_info(culv_vk_space *space)
{
    culv_vk_space_info info = culv_vk_space_info_init();
    LIB_OK(culv_vk_space_get_info(space, &info));
    return info;
}

static void space_run(void)
{
    lib_world *w = &torture.w;
    culv_vk_space *space = POISON(culv_vk_space);
    culv_vk_space_buffer *part = POISON(culv_vk_space_buffer);
    culv_vector *vector = POISON(culv_vector);
    uint64_t ready = 7;
    CUstream stream = torture_open();
    culv_vk_space_desc d = culv_vk_space_desc_init();
    d.size = 64 * CHUNK;
    d.queue = w->vk.queues[0].queue;
    TRY_AGAIN(culv_vk_space_create(w->attachment, &d, &space), space == POISON(culv_vk_space));
    TRY_AGAIN(culv_vk_space_commit(space, 0, CHUNK, NULL, NULL), space_info(space).committed == 0);
    TRY_AGAIN(culv_vk_space_commit(space, 4 * CHUNK, 2 * CHUNK, NULL, &ready),
              space_info(space).committed == CHUNK && ready == 7);
    culv_vmm_allocation_desc ad = culv_vmm_allocation_desc_init();
    ad.size = CHUNK;
    ad.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    NEW(culv_vmm_allocation, allocation, culv_vmm_allocation_create, w->device, &ad);
    TRY_AGAIN(culv_vk_space_commit(space, 8 * CHUNK, 0, allocation, NULL),
              space_info(space).committed == 3 * CHUNK);
    culv_vmm_allocation_destroy(&allocation);
    culv_vk_space_buffer_desc bd = culv_vk_space_buffer_desc_init();
    bd.size = 3 * CHUNK;
    bd.offset = 3 * CHUNK;
    TRY_AGAIN(culv_vk_space_buffer_create(space, &bd, &part),
              part == POISON(culv_vk_space_buffer) && space_info(space).committed == 4 * CHUNK);
    culv_vector_desc vd = culv_vector_desc_init();
    vd.size = 2 * CHUNK;
    vd.max_chunk = CHUNK;
    vd.reserve = 8 * CHUNK;
    vd.space = space_info(space).base;
    TRY_AGAIN(culv_vector_create(w->device, &vd, &vector), vector == POISON(culv_vector));
    TRY_AGAIN(culv_vector_grow(vector, 4 * CHUNK), culv_vector_committed(vector) == 2 * CHUNK);
    TRY_AGAIN(culv_vector_shrink(vector, CHUNK, stream),
              culv_vector_committed(vector) == 4 * CHUNK);
    TRY_AGAIN(culv_vector_grow(vector, 3 * CHUNK), culv_vector_committed(vector) == CHUNK);
    DO(culv_vector_destroy(&vector, NULL));
    DO(culv_vk_space_buffer_destroy(&part));
    TRY_AGAIN(culv_vk_space_decommit(space, 0, CHUNK, stream, 0), true);
    lib_finish(w, stream);
    TRY_AGAIN(culv_vk_space_decommit(space, 0, 0, NULL, 0), true);
    DO(culv_vk_space_destroy(&space));
    lib_settle(w);
    torture_close(stream);
}

static const torture_path space_path = {.any_driver = true,
                                        .unvalidated = true,
                                        .run = space_run,
                                        .one_address = true,
                                        .least = {16, 16, 16}};

TORTURE_CASES("space", space_path)

/* Torture of tensors: of a buffer and of a vector that is destroyed before them, of their order,
 * and of memory that is adopted. */

#define NONE POISON(culv_dl_managed_tensor_versioned)

static void adopt(lib_world *w, culv_vector *vector)
{
    culv_vmm_adopted *adopted = POISON(culv_vmm_adopted);
    culv_vk_adopted *view = POISON(culv_vk_adopted), *second = POISON(culv_vk_adopted);
    culv_vk_adopted_desc d = culv_vk_adopted_desc_init();
    d.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    const CUdeviceptr at = culv_vector_pointer(vector) + CHUNK / 2;
    TRY_AGAIN(culv_vmm_adopt(w->device, at, 2 * CHUNK, &adopted),
              adopted == POISON(culv_vmm_adopted));
    TRY_AGAIN(culv_vmm_check_adopted(adopted), true);
    TRY_AGAIN(culv_vk_adopted_create(w->attachment, adopted, &d, &view),
              view == POISON(culv_vk_adopted));
    TRY_AGAIN(culv_vk_adopted_create(w->attachment, adopted, &d, &second),
              second == POISON(culv_vk_adopted));
    culv_part a[3], b[3];
    size_t count = 0;
    LIB_OK(culv_vk_adopted_get_parts(view, a, 3, &count));
    LIB_OK(culv_vk_adopted_get_parts(second, b, 3, &count));
    REQUIRE(count == 3 && memcmp(a, b, sizeof a) == 0);
    DO(culv_vk_adopted_destroy(&second));
    DO(culv_vmm_adopted_destroy(&adopted));
    DO(culv_vk_adopted_destroy(&view));
}

static void tensors_run(void)
{
    lib_world *w = &torture.w;
    culv_dl_managed_tensor_versioned *of_buffer = NONE, *of_vector = NONE;
    CUstream stream = torture_open();
    culv_vector_desc d = culv_vector_desc_init();
    d.size = 3 * CHUNK;
    d.max_chunk = CHUNK;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    NEW(culv_vector, vector, culv_vector_create, w->device, &d);
    culv_shared_buffer *buffer = make_buffer(false);
    TRY_AGAIN(culv_buffer_get_dlpack(culv_shared_buffer_cuda(buffer), NULL, &of_buffer),
              of_buffer == NONE);
    TRY_AGAIN(culv_vector_get_dlpack(vector, NULL, &of_vector), of_vector == NONE);
    TRY_AGAIN(culv_dlpack_hand_over(w->device, stream, CULV_DLPACK_STREAM_LEGACY), true);
    TRY_AGAIN(culv_dlpack_hand_over(w->device, stream, CULV_DLPACK_STREAM_HOST), true);
    adopt(w, vector);
    DO(culv_vector_destroy(&vector, NULL));
    DO(culv_shared_buffer_destroy(&buffer, NULL));
    DO(of_vector->deleter(of_vector));
    DO(of_buffer->deleter(of_buffer));
    lib_settle(w);
    torture_close(stream);
}

static const torture_path tensors_path = {
    .any_driver = true, .unvalidated = true, .run = tensors_run, .least = {8, 6, 6}};

TORTURE_CASES("tensors", tensors_path)

/* Torture of kernels in command buffers: asked for, loaded from memory, made for the VkDevice,
 * recorded, destroyed; and of a graph that is recorded. */

static vk_kernels_stage files; /* its share alone */
static unsigned char *bytes;
static size_t size;
static raw_vk_buffer field;

static void vk_kernels_begin(void)
{
    files.w.cu = torture.w.cu;
    test_path(files.share, "share/culvert");
    bytes = vk_kernels_bytes(&files, &size);
    raw_vk_buffer_create(&torture.w.vk, 4096, RAW_VK_ADDRESS, &field);
}

static void vk_kernels_end(void)
{
    raw_vk_buffer_destroy(&torture.w.vk, &field);
    free(bytes);
}

static void use(bool from_file)
{
    lib_world *w = &torture.w;
    culv_kernels *kernels = POISON(culv_kernels);
    culv_vk_kernels *queue = POISON(culv_vk_kernels);
    culv_kernel *add = POISON(culv_kernel);
    VkDeviceAddress address = 0;
    unsigned count = 1024, addend = 1;
    if (from_file)
        TRY_AGAIN(culv_kernels_load(w->device, files.share, "queue_kernels", &kernels),
                  kernels == POISON(culv_kernels));
    else
        TRY_AGAIN(culv_kernels_load_data(w->device, bytes, size, "memory", &kernels),
                  kernels == POISON(culv_kernels));
    TRY_AGAIN(culv_vk_kernels_create(w->attachment, kernels, &queue),
              queue == POISON(culv_vk_kernels));
    TRY_AGAIN(culv_kernels_get(kernels, "queue_add", &add), add == POISON(culv_kernel));
    TRY_AGAIN(culv_vk_get_buffer_address(w->attachment, field.buffer, &address), address == 0);
    const culv_kernel_call_arg args[] = {CULV_CALL_ARG(address), CULV_CALL_ARG(count),
                                         CULV_CALL_ARG(addend)};
    const culv_kernel_call call = VK_KERNELS_CALL(add, 4, 256, args);
    if (from_file) TRY_AGAIN(culv_vk_kernels_prepare(queue, add), true);
    VkCommandBuffer commands = raw_vk_begin(&w->vk, 0);
    TRY_AGAIN(culv_vk_kernel_call_record(queue, &call, commands, 0), true);
    raw_vk_submit(&w->vk, commands, NULL);
    DO(culv_vk_kernels_destroy(&queue));
    REQUIRE(queue == NULL);
    DO(culv_kernels_unload(&kernels));
}

static void kernels_run(void)
{
    lib_world *w = &torture.w;
    CUstream stream = torture_open();
    const culv_vk_device_desc d = lib_vk_desc(w);
    TRY_AGAIN(culv_vk_check_kernels(&d), true);
    use(false);
    use(true);
    torture_close(stream);
}

static const torture_path vk_kernels_path = {.kernels = true,
                                             .begin = vk_kernels_begin,
                                             .run = kernels_run,
                                             .end = vk_kernels_end,
                                             .least = {16, 4, 6}};

TORTURE_CASES("vk_kernels", vk_kernels_path)

/* Graphs -------------------------------------------------------------------------------------- */

/* Two kernels, a memset and a copy in the field's bytes, which CUDA is told another address of. */
static CUgraph make_graph(CUdeviceptr words, culv_kernel *add, culv_kernel *mix)
{
    const raw_cuda *cu = torture.w.cu;
    unsigned count = 256, addend = 1;
    unsigned char salt = 2;
    double by = 3;
    CUgraph graph = NULL;
    CUgraphNode nodes[4];
    void *adds[] = {&words, &count, &addend}, *mixes[] = {&words, &count, &salt, &by};
    CUDA_KERNEL_NODE_PARAMS kernel = {.func = culv_kernel_native_handle(add),
                                      .gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 256,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = adds};
    const CUDA_MEMSET_NODE_PARAMS set = {
        .dst = words + 1024, .value = 5, .elementSize = 4, .width = 100, .height = 1};
    const CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = words,
                                .srcPitch = 32,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = words + 2048,
                                .dstPitch = 64,
                                .WidthInBytes = 16,
                                .Height = 4,
                                .Depth = 1};
    CUcontext before = lib_enter(&torture.w);
    CU_OK(cu->GraphCreate(&graph, 0));
    CU_OK(cu->GraphAddKernelNode(&nodes[0], graph, NULL, 0, &kernel));
    kernel.func = culv_kernel_native_handle(mix);
    kernel.kernelParams = mixes;
    CU_OK(cu->GraphAddKernelNode(&nodes[1], graph, nodes, 1, &kernel));
    CU_OK(cu->GraphAddMemsetNode(&nodes[2], graph, nodes, 1, &set, torture.w.context));
    CU_OK(cu->GraphAddMemcpyNode(&nodes[3], graph, nodes + 1, 2, &copy, torture.w.context));
    lib_leave(&torture.w, before);
    return graph;
}

static void run_graph(void)
{
    lib_world *w = &torture.w;
    uint32_t zero[1024] = {0}, words[1024];
    CUstream stream = torture_open();
    NEW(culv_kernels, kernels, culv_kernels_load, w->device, files.share, "queue_kernels");
    NEW(culv_vk_kernels, queue, culv_vk_kernels_create, w->attachment, kernels);
    NEW(culv_kernel, add, culv_kernels_get, kernels, "queue_add");
    NEW(culv_kernel, mix, culv_kernels_get, kernels, "queue_mix");
    culv_vk_graph_memory memory = {.size = sizeof words, .buffer = field.buffer};
    CUcontext before = lib_enter(w);
    CU_OK(w->cu->MemAlloc(&memory.pointer, sizeof words)); /* for its address alone */
    lib_leave(w, before);
    LIB_OK(culv_vk_get_buffer_address(w->attachment, field.buffer, &memory.address));
    culv_vk_graph_desc d = culv_vk_graph_desc_init();
    d.kernels = &queue;
    d.num_kernels = 1;
    d.memory = &memory;
    d.num_memory = 1;
    CUgraph graph = make_graph(memory.pointer, add, mix);
    raw_vk_write(&w->vk, &field, 0, zero, sizeof zero);
    VkCommandBuffer commands = raw_vk_begin(&w->vk, 0);
    TRY_AGAIN(culv_vk_record_graph(w->attachment, graph, &d, commands, 0), true);
    raw_vk_submit(&w->vk, commands, NULL);
    CU_OK(w->cu->GraphDestroy(graph));
    LIB_CU_OK(w, w->cu->MemFree(memory.pointer));
    DO(culv_vk_kernels_destroy(&queue));
    DO(culv_kernels_unload(&kernels));
    /* Once, whatever failed before. */
    raw_vk_read(&w->vk, &field, 0, words, sizeof words);
    if (words[0] != 8 || words[255] != 8 || words[256] != 5 || words[355] != 5 || words[512] != 8 ||
        words[516] != 0 || words[528] != 8)
        torture_complain("recorded another graph, or parts of it");
    torture_close(stream);
}

static const torture_path graph_path = {.kernels = true,
                                        .begin = vk_kernels_begin,
                                        .run = run_graph,
                                        .end = vk_kernels_end,
                                        .least = {10, 0, 8}};

TORTURE_CASES("vk_graphs", graph_path)

/* Torture of VMM memory in Vulkan: memory, a buffer and an image on an allocation, and a vector's
 * buffers, which no failed update may change. */

/* Of Vulkan's calls of `run` that are not Culvert's: a failure that is armed counts Culvert's
 * alone. */
static void bindings(culv_vmm_allocation *allocation)
{
    lib_world *w = &torture.w;
    const VkExternalMemoryBufferCreateInfo of_buffer = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkExternalMemoryImageCreateInfo of_image = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkBufferCreateInfo buffer_info = raw_vk_buffer_info(65536, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    VkImageCreateInfo image_info =
        raw_vk_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64, VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    VkBuffer buffer;
    VkImage image;
    buffer_info.pNext = &of_buffer;
    image_info.pNext = &of_image;
    VkDeviceMemory memory[4] = {VK_NULL_HANDLE, VK_NULL_HANDLE, VK_NULL_HANDLE, VK_NULL_HANDLE};
    culv_vk_memory_from_handle_desc d =
        culv_vk_memory_from_handle_desc_init(); /* whose it is CUDA is asked */
    VK_OK(vkCreateBuffer(w->vk.device, &buffer_info, NULL, &buffer));
    VK_OK(vkCreateImage(w->vk.device, &image_info, NULL, &image));
    VkMemoryRequirements needs; /* asked for because validation wants it asked */
    vkGetImageMemoryRequirements(w->vk.device, image, &needs);
    vkGetBufferMemoryRequirements(w->vk.device, buffer, &needs);
    TRY_AGAIN(culv_vk_memory_from_vmm(w->attachment, allocation, NULL, &memory[0]),
              memory[0] == VK_NULL_HANDLE);
    TRY_AGAIN(culv_vk_buffer_bind_vmm(w->attachment, buffer, allocation, 65536, &memory[1]),
              memory[1] == VK_NULL_HANDLE);
    TRY_AGAIN(culv_vk_image_bind_vmm(w->attachment, image, &image_info, allocation, 0, &memory[2]),
              memory[2] == VK_NULL_HANDLE);
    TRY_AGAIN(culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_FD, &d.handle),
              d.handle.type == CULV_HANDLE_NONE);
    d.size = CHUNK;
    TRY_AGAIN(culv_vk_memory_from_handle(w->attachment, &d, &memory[3]),
              memory[3] == VK_NULL_HANDLE);
    culv_handle_close(&d.handle);
    vkDestroyBuffer(w->vk.device, buffer, NULL);
    vkDestroyImage(w->vk.device, image, NULL);
    for (int i = 0; i < 4; i++)
        vkFreeMemory(w->vk.device, memory[i], NULL);
}

/* The other way round. */
static void vulkans_memory(void)
{
    lib_world *w = &torture.w;
    raw_vk_buffer buffer;
    culv_vmm_allocation *out = POISON(culv_vmm_allocation);
    raw_vk_buffer_create(&w->vk, CHUNK, RAW_VK_EXPORT, &buffer);
    const culv_vk_memory_desc d = lib_vk_memory(&buffer);
    TRY_AGAIN(culv_vk_memory_import_vmm(w->attachment, &d, &out),
              out == POISON(culv_vmm_allocation));
    DO(culv_vmm_allocation_destroy(&out));
    raw_vk_buffer_destroy(&w->vk, &buffer);
}

typedef struct shown {
    culv_part parts[8];
    size_t count;
    uint64_t generation;
} shown;

static shown look(const culv_vector_view *view)
{
    shown now;
    memset(&now, 0, sizeof now);
    LIB_OK(culv_vector_view_get_parts(view, now.parts, 8, &now.count));
    now.generation = culv_vector_view_generation(view);
    return now;
}

static bool as_before(const culv_vector_view *view, const shown *before)
{
    const shown now = look(view);
    return memcmp(&now, before, sizeof now) == 0;
}

static void vulkan_vmm_run(void)
{
    lib_world *w = &torture.w;
    culv_vector_view *view = POISON(culv_vector_view);
    CUstream stream = torture_open();
    culv_vmm_allocation_desc ad = culv_vmm_allocation_desc_init();
    ad.size = CHUNK;
    ad.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    NEW(culv_vmm_allocation, allocation, culv_vmm_allocation_create, w->device, &ad);
    bindings(allocation);
    vulkans_memory();
    culv_vmm_allocation_destroy(&allocation);

    culv_vector_desc d = culv_vector_desc_init();
    d.size = 2 * CHUNK;
    d.max_chunk = CHUNK;
    d.handle_types = ad.handle_types;
    NEW(culv_vector, vector, culv_vector_create, w->device, &d);
    culv_vk_vector_view_desc vd = culv_vk_vector_view_desc_init();
    vd.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    TRY_AGAIN(culv_vk_vector_view_create(w->attachment, vector, &vd, &view),
              view == POISON(culv_vector_view));
    LIB_OK(culv_vector_grow(vector, 4 * CHUNK));
    shown before = look(view);
    TRY_AGAIN(culv_vector_view_update(view), as_before(view, &before));
    /* A chunk that is gone, one in its place, and one that stays. */
    LIB_OK(culv_vector_shrink(vector, CHUNK, stream));
    lib_finish(w, stream);
    LIB_OK(culv_vector_grow(vector, 2 * CHUNK));
    before = look(view);
    TRY_AGAIN(culv_vector_view_update(view), as_before(view, &before));
    const shown now = look(view);
    REQUIRE(now.count == 2 && now.parts[0].buffer == before.parts[0].buffer &&
            now.parts[1].id != before.parts[1].id);
    DO(culv_vector_view_destroy(&view));
    REQUIRE(view == NULL);
    culv_vector_destroy(&vector, NULL);
    lib_settle(w);
    torture_close(stream);
}

static const torture_path vulkan_vmm_path = {
    .any_driver = true, .unvalidated = true, .run = vulkan_vmm_run, .least = {8, 16, 6}};

TORTURE_CASES("vulkan_vmm", vulkan_vmm_path)
