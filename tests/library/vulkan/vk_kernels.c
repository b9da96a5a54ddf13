/* SPDX-License-Identifier: MIT */
/* culvert/vulkan_kernel.h: one solver, on a stream and in command buffers; what kernels are given;
 * barriers. */
#define TEST_GROUP "vk_kernels."
#include "vk_kernels_stage.h"

#include <unistd.h>

enum { WORDS = 40000, BLOCK = 128, STEPS = 5, WIDTH = 150, HEIGHT = 70 };

static uint32_t words[WORDS], others[WORDS];

static void fill_words(uint32_t *out)
{
    lib_fill(out, WORDS, 5);
}

static culv_shared_image *make_image(const vk_kernels_stage *s, uint32_t width, uint32_t height)
{
    const VkImageCreateInfo info = raw_vk_image_info(
        VK_FORMAT_R8G8B8A8_UNORM, width, height,
        VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
    return lib_made_image(s->w.attachment, &info);
}

static VkImageView view_of(const vk_kernels_stage *s, VkImage image)
{
    const VkImageViewCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .image = image,
        .viewType = VK_IMAGE_VIEW_TYPE_2D,
        .format = VK_FORMAT_R8G8B8A8_UNORM,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    VkImageView view = VK_NULL_HANDLE;
    VK_OK(vkCreateImageView(s->w.vk.device, &info, NULL, &view));
    return view;
}

static void image_barrier(VkCommandBuffer commands, culv_vk_image_transfer t,
                          const culv_shared_image *image, culv_vk_direction direction)
{
    culv_vk_image_barrier b;
    t.image = culv_vk_image_handle(image);
    t.queue_family = CULV_VK_QUEUE_FAMILY_KERNEL;
    LIB_OK(lib_image_barrier(&t, direction, &b));
    vkCmdPipelineBarrier(commands, b.src_stage, b.dst_stage, 0, 0, NULL, 0, NULL, 1, &b.barrier);
}

/* A new image, of one level, is a kernel's of the queue; it is copied out after one. */
static void first_image(VkCommandBuffer commands, const culv_shared_image *image)
{
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    t.discard = 1;
    image_barrier(commands, t, image, CULV_VK_RELEASE);
}

static void copy_image(VkCommandBuffer commands, const culv_shared_image *image, uint32_t width,
                       uint32_t height, VkBuffer to)
{
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {width, height, 1}};
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    t.use = CULV_VK_USE_TRANSFER_SRC;
    image_barrier(commands, t, image, CULV_VK_ACQUIRE);
    vkCmdCopyImageToBuffer(commands, culv_vk_image_handle(image),
                           VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, to, 1, &region);
}

/* What queue_paint writes, with these bits besides. */
static void require_painted(const uint32_t *texels, uint32_t width, uint32_t height, uint32_t alpha)
{
    for (uint32_t i = 0; i < width * height; i++) {
        const uint32_t x = i % width, y = i / width;
        REQUIRE_EQ(texels[i], x | y << 8 | ((x + y) & 255) << 16 | alpha);
    }
}

/* The solver: STEPS times two kernels, written once. */
typedef struct solver {
    const vk_kernels_stage *s;
    CUdeviceptr pointer;
    VkDeviceAddress address;
    unsigned count;
    bool as_block;
    void (*step)(const struct solver *solver, const culv_kernel_call *call);
    VkCommandBuffer commands;
} solver;

static void on_stream(const solver *v, const culv_kernel_call *call)
{
    LIB_OK(culv_kernel_call_launch(call, v->s->stream));
}

static void in_queue(const solver *v, const culv_kernel_call *call)
{
    LIB_OK(culv_vk_kernel_call_record(v->s->queue, call, v->commands, 0));
    vk_kernels_between(v->commands);
}

static void solve(const solver *v)
{
    struct mix_params {
        uint64_t data;
        unsigned count;
        unsigned char salt;
        double by;
    };
    for (unsigned n = 0; n < STEPS; n++) {
        unsigned addend = 3 * n;
        unsigned char salt = (unsigned char)(200 + n);
        double by = 1000.0 + n;
        const culv_kernel_call_arg add_args[] = {CULV_CALL_ARG_OF(v->pointer, v->address),
                                                 CULV_CALL_ARG(v->count), CULV_CALL_ARG(addend)},
                                   mix_args[] = {CULV_CALL_ARG_OF(v->pointer, v->address),
                                                 CULV_CALL_ARG(v->count), CULV_CALL_ARG(salt),
                                                 CULV_CALL_ARG(by)};
        const struct mix_params block = {v->step == on_stream ? v->pointer : v->address, v->count,
                                         salt, by};
        culv_kernel_call call = VK_KERNELS_CALL(vk_kernels_get(v->s, "queue_add"),
                                                (WORDS + BLOCK - 1) / BLOCK, BLOCK, add_args);
        v->step(v, &call);
        call.kernel = vk_kernels_get(v->s, "queue_mix");
        call.args = v->as_block ? NULL : mix_args;
        call.num_args = v->as_block ? 0 : 4;
        call.params = v->as_block ? &block : NULL;
        call.params_size = v->as_block ? sizeof block : 0;
        v->step(v, &call);
    }
}

/* Whatever a culv_kernels was loaded from, both ways give the same. */
static void require_same(vk_kernels_stage *s, bool as_block)
{
    OWN(culv_shared_buffer) *field = vk_kernels_buffer(s, sizeof words);
    solver v = {.s = s,
                .pointer = culv_shared_buffer_pointer(field),
                .address = culv_vk_buffer_address(field),
                .count = WORDS,
                .as_block = as_block,
                .step = on_stream};
    fill_words(words);
    vk_kernels_write(s, field, words, sizeof words);
    solve(&v);
    vk_kernels_read(s, field, words, sizeof words);
    fill_words(others);
    vk_kernels_write(s, field, others, sizeof others);
    v.step = in_queue;
    v.commands = raw_vk_begin(&s->w.vk, 0);
    vk_kernels_hand_over(v.commands, culv_vk_buffer_handle(field), CULV_VK_ACQUIRE);
    solve(&v);
    vk_kernels_hand_over(v.commands, culv_vk_buffer_handle(field), CULV_VK_RELEASE);
    raw_vk_submit(&s->w.vk, v.commands, NULL);
    vk_kernels_read(s, field, others, sizeof others);
    for (uint32_t i = 0; i < WORDS; i++) {
        uint32_t word = lib_word(i, 5);
        for (uint32_t n = 0; n < STEPS; n++)
            word = (word + 3 * n) * 3 + (200 + n) + (1000 + n);
        REQUIRE_EQ(words[i], word);
        REQUIRE_EQ(others[i], word);
    }
}

VK_KERNELS_CASE(two_ways, .smoke = true)
{
    require_same(s, false);
    require_same(s, true);
}

static void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL);
    REQUIRE_EQ(fwrite(bytes, 1, size, file), size);
    REQUIRE_EQ(fclose(file), 0);
}

/* A build that goes on meanwhile: before Vulkan's half is made, the file is another one, or gone,
 * or its relative path means another place; kernels from memory, whose bytes go at once. */
VK_KERNELS_CASE(file_changed, .own = true)
{
    enum { REPLACED, OVERWRITTEN, REMOVED, ELSEWHERE, IN_MEMORY, CHANGES };
    static const char text[] = "This is no kernel.\n";
    char directory[] = "/tmp/culvert-kernels-XXXXXX";
    size_t size = 0;
    unsigned char *bytes = vk_kernels_bytes(s, &size);
    REQUIRE(mkdtemp(directory) != NULL);
    for (int change = 0; change < CHANGES; change++) {
        culv_vk_kernels_destroy(&s->queue);
        culv_kernels_unload(&s->kernels);
        REQUIRE_EQ(chdir(directory), 0);
        write_bytes("mine", bytes, size);
        if (change == IN_MEMORY) {
            LIB_OK(culv_kernels_load_data(s->w.device, bytes, size, "mine", &s->kernels));
            memset(bytes, 0xee, size);
        } else {
            LIB_OK(culv_kernels_load_file(s->w.device, "mine", NULL, &s->kernels));
        }
        if (change == REPLACED || change == OVERWRITTEN)
            write_bytes(change == REPLACED ? "new" : "mine", text, sizeof text);
        if (change == REPLACED) REQUIRE_EQ(rename("new", "mine"), 0);
        if (change == REMOVED) REQUIRE_EQ(remove("mine"), 0);
        REQUIRE_EQ(chdir(change == ELSEWHERE ? "/" : directory), 0);
        LIB_OK(culv_vk_kernels_create(s->w.attachment, s->kernels, &s->queue));
        require_same(s, false);
    }
    REQUIRE_EQ(chdir(directory), 0);
    REQUIRE_EQ(remove("mine"), 0);
    REQUIRE_EQ(rmdir(directory), 0);
    free(bytes);
}

/* An image of Culvert's: painted through its view's surface, read through its texture, and read by
 * Vulkan after the barrier of that use. */
VK_KERNELS_CASE(images)
{
    raw_vk *vk = &s->w.vk;
    static uint32_t samples[WIDTH * HEIGHT];
    const VkSamplerCreateInfo sampler_info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                              .addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                              .addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                              .addressModeW =
                                                  VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE};
    VkSampler sampler = VK_NULL_HANDLE;
    VK_OK(vkCreateSampler(vk->device, &sampler_info, NULL, &sampler));
    OWN(culv_shared_image) *image = make_image(s, WIDTH, HEIGHT);
    OWN(culv_shared_buffer) *out = vk_kernels_buffer(s, sizeof samples);
    raw_vk_buffer copy;
    raw_vk_buffer_create(vk, sizeof samples, RAW_VK_HOST, &copy);
    const VkImageView view = view_of(s, culv_vk_image_handle(image));
    uint64_t surface = 0, texture = 0;
    LIB_OK(culv_vk_get_view_handle(s->w.attachment, view, VK_NULL_HANDLE, &surface));
    LIB_OK(culv_vk_get_view_handle(s->w.attachment, view, sampler, &texture));
    REQUIRE(surface != 0 && texture != 0 && surface != texture);
    VkDeviceAddress address = culv_vk_buffer_address(out);
    int width = WIDTH, height = HEIGHT;
    const culv_kernel_call_arg paints[] = {CULV_CALL_ARG(surface), CULV_CALL_ARG(width),
                                           CULV_CALL_ARG(height)},
                               takes[] = {CULV_CALL_ARG(texture), CULV_CALL_ARG(width),
                                          CULV_CALL_ARG(height), CULV_CALL_ARG(address)};
    culv_kernel_call call =
        VK_KERNELS_CALL(vk_kernels_get(s, "queue_paint"), (WIDTH + 15) / 16, 16, paints);
    call.grid[1] = (HEIGHT + 7) / 8;
    call.block[1] = 8;
    VkCommandBuffer commands = raw_vk_begin(vk, 0);
    first_image(commands, image);
    LIB_OK(culv_vk_kernel_call_record(s->queue, &call, commands, 0));
    vk_kernels_between(commands);
    vk_kernels_hand_over(commands, culv_vk_buffer_handle(out), CULV_VK_ACQUIRE);
    call.kernel = vk_kernels_get(s, "queue_sample");
    call.args = takes;
    call.num_args = 4;
    LIB_OK(culv_vk_kernel_call_record(s->queue, &call, commands, 0));
    vk_kernels_hand_over(commands, culv_vk_buffer_handle(out), CULV_VK_RELEASE);
    copy_image(commands, image, WIDTH, HEIGHT, copy.buffer);
    raw_vk_submit(vk, commands, NULL);
    vk_kernels_read(s, out, samples, sizeof samples);
    require_painted(copy.mapped, WIDTH, HEIGHT, 0xff000000u);
    require_painted(samples, WIDTH, HEIGHT, 0);
    vkDestroyImageView(vk->device, view, NULL);
    vkDestroySampler(vk->device, sampler, NULL);
    raw_vk_buffer_destroy(vk, &copy);
}

/* Addresses of buffers of all kinds; a kernel finds each. What a VkDevice has of kernels keeps
 * them: the program may unload them first, and record on. */
VK_KERNELS_CASE(addresses)
{
    raw_vk *vk = &s->w.vk;
    raw_vk_buffer mine;
    uint32_t found[1024];
    raw_vk_buffer_create(vk, sizeof found, RAW_VK_ADDRESS, &mine);
    raw_vk_fill(vk, &mine, 0, sizeof found, 7, NULL);
    VkDeviceAddress address = 0;
    LIB_OK(culv_vk_get_buffer_address(s->w.attachment, mine.buffer, &address));
    REQUIRE_EQ(address, raw_vk_buffer_address(vk, &mine));
    unsigned count = 1024, addend = 11;
    const culv_kernel_call_arg args[] = {CULV_CALL_ARG(address), CULV_CALL_ARG(count),
                                         CULV_CALL_ARG(addend)};
    const culv_kernel_call call = VK_KERNELS_CALL(vk_kernels_get(s, "queue_add"), 4, 256, args);
    culv_kernels_unload(&s->kernels);
    REQUIRE(s->kernels == NULL);
    vk_kernels_run(s, &call);
    raw_vk_read(vk, &mine, 0, found, sizeof found);
    REQUIRE_ALL(found, 1024, 18);
    raw_vk_buffer_destroy(vk, &mine);

    /* In host memory, where the device imports that. */
    if (culv_vk_host_import_alignment(s->w.attachment) != 0) {
        const VkBufferCreateInfo info =
            raw_vk_buffer_info(sizeof found, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
        culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
        d.create_info = &info;
        d.host_memory = 1;
        NEW(OWN(culv_shared_buffer), host, culv_vk_buffer_create, s->w.attachment, &d);
        REQUIRE(culv_vk_buffer_address(host) != 0);
    }
    REQUIRE_EQ(culv_vk_buffer_address(NULL), 0);
}

VK_KERNELS_CASE(vectors)
{
    enum { SIZE = 4 << 20 };
    culv_vector_desc d = culv_vector_desc_init();
    culv_vk_vector_view_desc vd = culv_vk_vector_view_desc_init();
    VkDeviceAddress address = 1;
    d.size = SIZE;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    vd.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    NEW(OWN(culv_vector), vector, culv_vector_create, s->w.device, &d);
    NEW(OWN(culv_vector_view), view, culv_vk_vector_view_create, s->w.attachment, vector, &vd);
    size_t parts = 0;
    LIB_OK(culv_vector_view_get_parts(view, NULL, 0, &parts));
    if (parts == 1) {
        LIB_OK(culv_vk_vector_view_get_address(view, &address));
        CUdeviceptr pointer = culv_vector_pointer(vector);
        unsigned count = WORDS, on_stream = 4, in_queue = 9;
        const culv_kernel_call_arg args[] = {CULV_CALL_ARG_OF(pointer, address),
                                             CULV_CALL_ARG(count),
                                             CULV_CALL_ARG_OF(on_stream, in_queue)};
        const culv_kernel_call call = VK_KERNELS_CALL(vk_kernels_get(s, "queue_add"),
                                                      (WORDS + BLOCK - 1) / BLOCK, BLOCK, args);
        fill_words(words);
        LIB_CU_OK(&s->w, s->w.cu->MemcpyHtoD(pointer, words, sizeof words));
        LIB_CU_OK(&s->w, s->w.cu->CtxSynchronize());
        LIB_OK(culv_kernel_call_launch(&call, s->stream));
        lib_finish(&s->w, s->stream);
        vk_kernels_run(s, &call);
        LIB_CU_OK(&s->w, s->w.cu->MemcpyDtoH(words, pointer, sizeof words));
        for (uint32_t i = 0; i < WORDS; i++)
            REQUIRE_EQ(words[i], lib_word(i, 5) + on_stream + in_queue);
    }
    LIB_OK(culv_vector_grow(vector, 64 << 20));
    LIB_OK(culv_vector_view_update(view));
    LIB_OK(culv_vector_view_get_parts(view, NULL, 0, &parts));
    if (parts > 1) {
        LIB_ERROR(culv_vk_vector_view_get_address(view, &address), UNSUPPORTED, ADDRESS,
                  "a sparse view has one");
    }
}

/* What is refused of kernels in command buffers, before the GPU sees it. */

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
    culv_vk_kernels *none = NULL;
    uint64_t handle = 5;
    d.kernels = 0;
    NEW(culv_vk_device, plain, culv_vk_attach, s->w.device, &d);
    LIB_REFUSES(none, culv_vk_kernels_create(plain, s->kernels, &none), INVALID, EXTENSION_MISSING,
                "was attached without culv_vk_device_desc.kernels");
    LIB_INVALID(culv_vk_get_view_handle(plain, (VkImageView)(uintptr_t)16, VK_NULL_HANDLE, &handle),
                EXTENSION_MISSING);
    REQUIRE_EQ(handle, 5);
    culv_vk_detach(&plain);

    /* Its buffers have no addresses. */
    const VkBufferCreateInfo info = raw_vk_buffer_info(4096, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
    LIB_OK(culv_vk_attach(s->w.device, &d, &plain));
    culv_shared_buffer *buffer = lib_made_buffer(plain, &info);
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
    culv_kernel_call call = VK_KERNELS_CALL(vk_kernels_get(s, "queue_add"), 1, 256, good);
    VkCommandBuffer commands = raw_vk_begin(vk, 0);
#define ROW(change, ...)                                                                           \
    SPOILT(call, change,                                                                           \
           LIB_INVALID(culv_vk_kernel_call_record(s->queue, &call, commands, 0), __VA_ARGS__))
    if (culv_device_cuda_proc(s->w.device, "cuFuncGetParamInfo", 12040) != NULL) {
        ROW(call.num_args = 2, KERNEL, "'queue_add' takes 3 arguments, and 2 were passed");
        ROW(call.args = wrong_size, KERNEL, "argument 2 (0 is the first) of the kernel 'queue_add'",
            "has 4 bytes, and 8 were passed");
        ROW((call.args = NULL, call.num_args = 0, call.params = &address,
             call.params_size = sizeof address),
            KERNEL, "are a block of 16 bytes, and culv_kernel_call.params_size is 8");
    }
    ROW(call.args = missing, NULL_ARGUMENT,
        "culv_vk_kernel_call_record: the value of argument 2 (0 is the first) is NULL");
    ROW(call.args = NULL, NULL_ARGUMENT);
    ROW(call.kernel = NULL, NULL_ARGUMENT);
    ROW(call.struct_size = 3, STRUCT_SIZE);
    ROW(call.params = &address, VALUE, "args and params are both set");
    ROW((call.args = NULL, call.num_args = 0, call.params_size = 16), NULL_ARGUMENT);
    ROW(call.block[0] = 1025, VALUE, "block is 1025 in x, and the GPU takes 1024");
    ROW(call.block[1] = 5, VALUE, "a block of 256 x 5 x 1 has 1280 threads");
    ROW((call.block[0] = 1, call.block[2] = 65), VALUE, "block is 65 in z, and the GPU takes 64");
    ROW(call.grid[2] = 70000, VALUE, "grid is 70000 in z, and the GPU takes 65535");
    ROW(call.shared_bytes = 60000, VALUE, "60000 bytes of dynamic shared memory", "48128");
    ROW((call.kernel = vk_kernels_get(s, "queue_turn"), call.num_args = 2,
         call.shared_bytes = 48128 - 252),
        VALUE, "256 of its own"); /* which the kernel has */
#undef ROW

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
    NEW(culv_kernels, theirs, culv_kernels_load, s->w.device, s->share, "queue_kernels");
    NEW(culv_kernel, other, culv_kernels_get, theirs, "queue_add");
    call.kernel = other;
    LIB_INVALID(culv_vk_kernel_call_record(s->queue, &call, commands, 0), KERNEL,
                "is of another culv_kernels");
    LIB_INVALID(culv_vk_kernels_prepare(s->queue, other), KERNEL);
    LIB_INVALID(culv_vk_kernels_prepare(s->queue, NULL), NULL_ARGUMENT);
    culv_kernels_unload(&theirs);
    raw_vk_submit(vk, commands, NULL);
    raw_vk_read(vk, &field, 0, found, sizeof found);
    REQUIRE_ALL(found, 256, 7);
    raw_vk_buffer_destroy(vk, &field);
}

/* Vulkan's driver would take it, and run it without clusters. A stream has them. */
VK_KERNELS_CASE(clusters)
{
    culv_kernel *kernel = vk_kernels_clusters(s);
    uint32_t found[5];
    OWN(culv_shared_buffer) *field = vk_kernels_buffer(s, sizeof found);
    memset(found, 0xee, sizeof found);
    vk_kernels_write(s, field, found, sizeof found);
    const CUdeviceptr pointer = culv_shared_buffer_pointer(field);
    const VkDeviceAddress address = culv_vk_buffer_address(field);
    const culv_kernel_call_arg args[] = {CULV_CALL_ARG_OF(pointer, address)};
    const culv_kernel_call call = VK_KERNELS_CALL(kernel, 4, 33, args);
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    for (int turn = 0; turn < 2; turn++) {
        LIB_ERROR(culv_vk_kernel_call_record(s->queue, &call, commands, 0), UNSUPPORTED, KERNEL,
                  "the kernel 'queue_clusters' runs in clusters of 2 x 1 x 1 blocks",
                  "culv_kernel_call_launch()");
        LIB_ERROR(culv_vk_kernels_prepare(s->queue, kernel), UNSUPPORTED, KERNEL);
    }
    raw_vk_submit(&s->w.vk, commands, NULL);
    vk_kernels_read(s, field, found, sizeof found);
    REQUIRE_ALL(found, 5, 0xeeeeeeeeu);
    LIB_OK(culv_kernel_call_launch(&call, s->stream));
    vk_kernels_read(s, field, found, sizeof found);
    for (int i = 0; i < 5; i++)
        REQUIRE_EQ(found[i], i < 4 ? 102u : 0xeeeeeeeeu);
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
        NEW(culv_kernels, made, culv_kernels_load_data, s->w.device, valid, sizeof valid - 1,
            "ptx");
        NEW(culv_vk_kernels, queue, culv_vk_kernels_create, s->w.attachment, made);
        NEW(culv_kernel, kernel, culv_kernels_get, made, "nothing");
        LIB_OK(culv_vk_kernels_prepare(queue, kernel));
        culv_vk_kernels_destroy(&queue);
        culv_kernels_unload(&made);
    }
}
