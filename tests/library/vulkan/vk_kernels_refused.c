/* SPDX-License-Identifier: MIT */
/* What is refused of kernels in command buffers, before the GPU sees it. */
#define TEST_GROUP "vk_kernels."
#include "vk_kernels_stage.h"

/* Which device can, and which VkDevice. */
TEST(checks)
{
    lib_world w;
    lib_with_kernels = false;
    lib_open(&w);
    culv_vk_device_desc d = lib_vk_desc(&w);
    const bool offered =
        raw_vk_has_device_extension(w.vk.physical, VK_NVX_BINARY_IMPORT_EXTENSION_NAME);
    const char *names[32] = {NULL};
    REQUIRE_EQ(culv_vk_kernel_extensions(VK_API_VERSION_1_2, 32, names), 2);
    REQUIRE_EQ(strcmp(names[0], "VK_NVX_binary_import"), 0);
    REQUIRE_EQ(strcmp(names[1], "VK_NVX_image_view_handle"), 0);
    REQUIRE_EQ(culv_vk_kernel_extensions(VK_API_VERSION_1_1, 0, NULL), 3);

    /* This VkDevice was created without. */
    if (offered) {
        LIB_INVALID(culv_vk_check_kernels(&d), EXTENSION_MISSING,
                    "was created without VK_NVX_binary_import");
    }
    d.device = VK_NULL_HANDLE;
    if (offered) LIB_OK(culv_vk_check_kernels(&d));

    /* No other list has them, unless it is asked for them. */
    for (int asked = 0; asked < 2; asked++) {
        uint32_t count = 32;
        bool found = false;
        d.kernels = (culv_bool)asked;
        LIB_OK(culv_vk_merge_device_extensions(&d, 0, NULL, &count, names));
        for (uint32_t i = 0; i < count; i++)
            found = found || strcmp(names[i], "VK_NVX_binary_import") == 0;
        REQUIRE_EQ(found, asked && offered);
        culv_vk_device_features storage = culv_vk_device_features_init();
        VkPhysicalDeviceVulkan12Features mine = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
        const void *chain = NULL;
        LIB_OK(culv_vk_merge_device_features(&d, &mine, &storage, &chain));
        REQUIRE_EQ(mine.bufferDeviceAddress, asked && offered);
        LIB_OK(culv_vk_merge_device_features(&d, NULL, &storage, &chain));
        found = false;
        for (const VkBaseInStructure *s = chain; s != NULL; s = s->pNext)
            found = found || s == (const void *)&storage.buffer_device_address;
        REQUIRE_EQ(found, asked && offered);
    }

    /* A device that lacks one of them. */
    static const char *const needed[] = {"VK_NVX_binary_import", "VK_NVX_image_view_handle"};
    d.get_instance_proc_addr = lib_lying_loader;
    for (int i = 0; i < 2; i++) {
        uint32_t count = 32;
        memset(&lib_lying, 0, sizeof lib_lying);
        lib_lying.hides = needed[i];
        LIB_ERROR(culv_vk_check_kernels(&d), UNSUPPORTED, EXTENSION_MISSING,
                  offered ? needed[i] : "VK_NVX_", "culv_kernel_call_launch()");
        LIB_OK(culv_vk_merge_device_extensions(&d, 0, NULL, &count, names));
        for (uint32_t k = 0; k < count; k++)
            REQUIRE(strncmp(names[k], "VK_NVX_", 7) != 0);
    }
    memset(&lib_lying, 0, sizeof lib_lying);
    lib_close(&w);
}

/* An attachment that was not asked for kernels, or whose VkDevice has none. */
VK_KERNELS_CASE(attachments)
{
    culv_vk_device_desc d = lib_vk_desc(&s->w);
    culv_vk_device *plain = NULL;
    culv_vk_kernels *none = NULL;
    uint64_t handle = 5;
    d.kernels = 0;
    LIB_OK(culv_vk_attach(s->w.device, &d, &plain));
    LIB_REFUSES(none, culv_vk_kernels_create(plain, s->kernels, &none), INVALID, EXTENSION_MISSING,
                "was attached without culv_vk_device_desc.kernels");
    LIB_INVALID(culv_vk_get_view_handle(plain, (VkImageView)(uintptr_t)16, VK_NULL_HANDLE, &handle),
                EXTENSION_MISSING);
    REQUIRE_EQ(handle, 5);
    culv_vk_detach(&plain);

    /* Its buffers have no addresses. */
    const VkBufferCreateInfo info = raw_vk_buffer_info(4096, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
    culv_vk_buffer_create_desc b = culv_vk_buffer_create_desc_init();
    culv_shared_buffer *buffer = NULL;
    b.create_info = &info;
    LIB_OK(culv_vk_attach(s->w.device, &d, &plain));
    LIB_OK(culv_vk_buffer_create(plain, &b, &buffer));
    REQUIRE_EQ(culv_vk_buffer_address(buffer), 0);
    culv_shared_buffer_destroy(&buffer, NULL);
    culv_vk_detach(&plain);

    culv_vk_kernels_destroy(NULL);
}

/* Each mistake of a launch has its own words; what a refused launch was to write stays. */
VK_KERNELS_CASE(launches)
{
    raw_vk *vk = &s->w.vk;
    raw_vk_buffer field;
    uint32_t found[256];
    raw_vk_buffer_create(vk, sizeof found, RAW_VK_ADDRESS, &field);
    raw_vk_fill(vk, &field, 0, sizeof found, 7, NULL);
    VkDeviceAddress address = raw_vk_buffer_address(vk, &field);
    unsigned count = 256, addend = 1;
    double wide = 1.0;
    const culv_kernel_call_arg good[] = {CULV_CALL_ARG(address), CULV_CALL_ARG(count),
                                         CULV_CALL_ARG(addend)},
                               wrong_size[] = {CULV_CALL_ARG(address), CULV_CALL_ARG(count),
                                               CULV_CALL_ARG(wide)},
                               missing[] = {CULV_CALL_ARG(address),
                                            CULV_CALL_ARG(count),
                                            {NULL, &addend, sizeof addend}};
    culv_kernel_call call = culv_kernel_call_init(vk_kernels_get(s, "queue_add"));
    call.block[0] = 256;
    call.args = good;
    call.num_args = 3;
    const culv_kernel_call start = call;
    VkCommandBuffer commands = raw_vk_begin(vk, 0);
#define REFUSED(...)                                                                               \
    LIB_ERROR(culv_vk_kernel_call_record(s->queue, &call, commands, 0), __VA_ARGS__);              \
    call = start
    if (culv_device_cuda_proc(s->w.device, "cuFuncGetParamInfo", 12040) != NULL) {
        call.num_args = 2;
        REFUSED(INVALID, KERNEL, "'queue_add' takes 3 arguments, and 2 were passed");
        call.args = wrong_size;
        REFUSED(
            INVALID, KERNEL,
            "argument 2 (0 is the first) of the kernel 'queue_add' has 4 bytes, and 8 were passed");
        call.args = NULL;
        call.num_args = 0;
        call.params = &address;
        call.params_size = sizeof address;
        REFUSED(INVALID, KERNEL, "are a block of 16 bytes, and culv_kernel_call.params_size is 8");
    }
    call.args = missing;
    REFUSED(INVALID, NULL_ARGUMENT,
            "culv_vk_kernel_call_record: the value of argument 2 (0 is the first) is NULL");
    call.args = NULL;
    REFUSED(INVALID, NULL_ARGUMENT);
    call.kernel = NULL;
    REFUSED(INVALID, NULL_ARGUMENT);
    call.struct_size = 3;
    REFUSED(INVALID, STRUCT_SIZE);
    call.params = &address;
    REFUSED(INVALID, VALUE, "args and params are both set");
    call.args = NULL;
    call.num_args = 0;
    call.params_size = 16;
    REFUSED(INVALID, NULL_ARGUMENT);
    call.block[0] = 1025;
    REFUSED(INVALID, VALUE, "block is 1025 in x, and the GPU takes 1024");
    call.block[1] = 5;
    REFUSED(INVALID, VALUE, "a block of 256 x 5 x 1 has 1280 threads");
    call.block[0] = 1;
    call.block[2] = 65;
    REFUSED(INVALID, VALUE, "block is 65 in z, and the GPU takes 64");
    call.grid[2] = 70000;
    REFUSED(INVALID, VALUE, "grid is 70000 in z, and the GPU takes 65535");
    call.shared_bytes = 60000;
    REFUSED(INVALID, VALUE, "60000 bytes of dynamic shared memory", "48128");
    call.kernel = vk_kernels_get(s, "queue_turn"); /* has 256 of its own */
    call.num_args = 2;
    call.shared_bytes = 48128 - 252;
    LIB_INVALID(culv_vk_kernel_call_record(s->queue, &call, commands, 0), VALUE, "256 of its own");
    call = start;
#undef REFUSED

    /* The queue. */
    LIB_INVALID(culv_vk_kernel_call_record(s->queue, &call, commands, 77), QUEUE,
                "there is no queue family 77");
    LIB_INVALID(culv_vk_kernel_call_record(s->queue, &call, commands, (uint32_t)vk->queue_count),
                QUEUE, "there is no queue family");
    for (uint32_t i = 0; i < vk->queue_count; i++) {
        if (vk->queues[i].flags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT)) continue;
        LIB_INVALID(culv_vk_kernel_call_record(s->queue, &call, commands, i), QUEUE,
                    "has neither GRAPHICS nor COMPUTE");
    }
    LIB_INVALID(culv_vk_kernel_call_record(s->queue, &call, NULL, 0), NULL_ARGUMENT);
    LIB_INVALID(culv_vk_kernel_call_record(s->queue, NULL, commands, 0), NULL_ARGUMENT);

    /* A kernel of other kernels. */
    culv_kernels *others = NULL;
    culv_kernel *other = NULL;
    LIB_OK(culv_kernels_load(s->w.device, s->share, "queue_kernels", &others));
    LIB_OK(culv_kernels_get(others, "queue_add", &other));
    call.kernel = other;
    LIB_INVALID(culv_vk_kernel_call_record(s->queue, &call, commands, 0), KERNEL,
                "is of another culv_kernels");
    LIB_INVALID(culv_vk_kernels_prepare(s->queue, other), KERNEL);
    LIB_INVALID(culv_vk_kernels_prepare(s->queue, NULL), NULL_ARGUMENT);
    culv_kernels_unload(&others);
    raw_vk_submit(vk, commands, NULL);
    raw_vk_read(vk, &field, 0, found, sizeof found);
    for (int i = 0; i < 256; i++)
        REQUIRE_EQ(found[i], 7);
    raw_vk_buffer_destroy(vk, &field);
}

/* Vulkan's driver would take it, and run it without clusters. A stream has them. */
VK_KERNELS_CASE(clusters)
{
    culv_kernel *kernel = vk_kernels_clusters(s);
    uint32_t found[5];
    culv_shared_buffer *field = vk_kernels_buffer(s, sizeof found);
    memset(found, 0xee, sizeof found);
    vk_kernels_write(s, field, found, sizeof found);
    const CUdeviceptr pointer = culv_shared_buffer_pointer(field);
    const VkDeviceAddress address = culv_vk_buffer_address(field);
    const culv_kernel_call_arg args[] = {CULV_CALL_ARG_OF(pointer, address)};
    culv_kernel_call call = culv_kernel_call_init(kernel);
    call.grid[0] = 4;
    call.block[0] = 33;
    call.args = args;
    call.num_args = 1;
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    for (int turn = 0; turn < 2; turn++) {
        LIB_ERROR(culv_vk_kernel_call_record(s->queue, &call, commands, 0), UNSUPPORTED, KERNEL,
                  "the kernel 'queue_clusters' runs in clusters of 2 x 1 x 1 blocks",
                  "culv_kernel_call_launch()");
        LIB_ERROR(culv_vk_kernels_prepare(s->queue, kernel), UNSUPPORTED, KERNEL);
    }
    raw_vk_submit(&s->w.vk, commands, NULL);
    vk_kernels_read(s, field, found, sizeof found);
    for (int i = 0; i < 5; i++)
        REQUIRE_EQ(found[i], 0xeeeeeeeeu);
    LIB_OK(culv_kernel_call_launch(&call, s->stream));
    vk_kernels_read(s, field, found, sizeof found);
    for (int i = 0; i < 5; i++)
        REQUIRE_EQ(found[i], i < 4 ? 102u : 0xeeeeeeeeu);
    culv_shared_buffer_destroy(&field, NULL);
}

/* What code an image has is read from its own headers, made here as nvcc 13.0 makes them. */
static void refuse_images(const vk_kernels_stage *s)
{
    enum { ENTRY = 64 + 8 };
    unsigned char fatbin[16 + 2 * ENTRY + 4] = "\x50\xed\x55\xba\x01\x00\x10",
                                          cubin[64] = {127, 69,   76, 70,         2,        1,
                                                       1,   0x41, 8,  [18] = 190, [49] = 90};
    static const unsigned char kinds[] = {2, 1}, archs[] = {75, 90};
    culv_kernels *none = NULL;
    fatbin[8] = 2 * ENTRY;
    for (int i = 0; i < 2; i++) {
        unsigned char *entry = fatbin + 16 + i * ENTRY;
        entry[0] = kinds[i];
        entry[4] = 64; /* the entry's header, and its code */
        entry[8] = 8;
        entry[28] = archs[i];
    }
#define REFUSED(image, text)                                                                       \
    LIB_REFUSES(none, culv_kernels_load_data(s->w.device, image, sizeof(image), NULL, &none),      \
                INVALID, MODULE, text)
    REFUSED(fatbin, "is a fatbin (sm_75, PTX of compute_90), and");
    fatbin[16 + ENTRY + 11] = 0xff; /* a size that leaves the file */
    REFUSED(fatbin, "is a fatbin (sm_75), and");
    REFUSED(cubin, "is a cubin (sm_90), and");
    cubin[8] = 7;
    cubin[48] = 86;
    REFUSED(cubin, "is a cubin (sm_86), and");
#undef REFUSED
}

VK_KERNELS_CASE(data)
{
    static const char text[] = "This is no kernel.\n",
                      ptx[] = "//\n.version 8.5\n.target sm_75\n.address_size 64\n",
                      object[64] = {127, 69, 76, 70, 2, 1, 1, [16] = 3, [18] = 62};
    culv_kernels *none = NULL;
    const bool soft = s->w.cu->software;
    LIB_REFUSES(none, culv_kernels_load_data(s->w.device, text, sizeof text, "words", &none),
                INVALID, MODULE, "'words'");
    if (soft) {
        LIB_REFUSES(none, culv_kernels_load_data(s->w.device, ptx, sizeof ptx, NULL, &none),
                    INVALID, MODULE, "is PTX (PTX of compute_75)");
        refuse_images(s);
    }
    LIB_REFUSES(none, culv_kernels_load_data(s->w.device, object, sizeof object, NULL, &none),
                INVALID, MODULE);
    LIB_REFUSES(none, culv_kernels_load_data(s->w.device, text, 0, NULL, &none), INVALID, SIZE);

    /* PTX needs no final 0, and the driver gets one. */
    if (!soft) {
        static const char valid[] = ".version 6.3\n.target sm_75\n.address_size 64\n"
                                    ".visible .entry nothing() { ret; }\n";
        culv_kernels *made = NULL;
        culv_vk_kernels *queue = NULL;
        culv_kernel *kernel = NULL;
        LIB_OK(culv_kernels_load_data(s->w.device, valid, sizeof valid - 1, "ptx", &made));
        LIB_OK(culv_vk_kernels_create(s->w.attachment, made, &queue));
        LIB_OK(culv_kernels_get(made, "nothing", &kernel));
        LIB_OK(culv_vk_kernels_prepare(queue, kernel));
        culv_vk_kernels_destroy(&queue);
        culv_kernels_unload(&made);
    }
}

/* A kernel that faults in a command buffer loses the VkDevice; everything can be destroyed. */
TEST(fault, .faults = true)
{
    vk_kernels_stage s;
    vk_kernels_open(&s);
    raw_vk *vk = &s.w.vk;
    uint64_t nowhere = 64;
    culv_shared_buffer *field = vk_kernels_buffer(&s, 4096);
    const culv_kernel_call_arg args[] = {CULV_CALL_ARG(nowhere)};
    culv_kernel_call call = culv_kernel_call_init(vk_kernels_get(&s, "queue_poke"));
    call.args = args;
    call.num_args = 1;
    const VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VK_OK(vkCreateCommandPool(vk->device, &pool_info, NULL, &pool));
    const VkCommandBufferAllocateInfo info = {.sType =
                                                  VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = pool,
                                              .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VK_OK(vkAllocateCommandBuffers(vk->device, &info, &commands));
    VK_OK(vkBeginCommandBuffer(commands, &begin));
    LIB_OK(culv_vk_kernel_call_record(s.queue, &call, commands, 0));
    VK_OK(vkEndCommandBuffer(commands));
    const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                 .commandBufferCount = 1,
                                 .pCommandBuffers = &commands};
    VkResult result = vkQueueSubmit(vk->queues[0].queue, 1, &submit, VK_NULL_HANDLE);
    if (result == VK_SUCCESS) result = vkQueueWaitIdle(vk->queues[0].queue);
    REQUIRE_EQ(result, VK_ERROR_DEVICE_LOST);
    if (s.w.cu->software) { /* NVIDIA's driver need not notice in these calls */
        culv_kernel *kernel = vk_kernels_get(&s, "queue_add");
        LIB_ERROR(culv_vk_kernels_prepare(s.queue, kernel), ASYNC, DEVICE_LOST,
                  "VK_ERROR_DEVICE_LOST");
    }
    culv_vk_kernels_destroy(&s.queue);
    culv_shared_buffer_destroy(&field, NULL);
    culv_kernels_unload(&s.kernels);
    vkDestroyCommandPool(vk->device, pool, NULL);
    culv_vk_detach(&s.w.attachment);
    if (s.w.cu->software) lib_stream_destroy(&s.w, s.stream); /* elsewhere it may be lost too */
    culv_device_close(&s.w.device);
    raw_vk_close_lost(vk);
}
