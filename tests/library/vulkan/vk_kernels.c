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
    for (uint32_t i = 0; i < WORDS; i++)
        out[i] = lib_word(i, 5);
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
        const struct mix_params block = {v->pointer, v->count, salt, by},
                                queue_block = {v->address, v->count, salt, by};
        culv_kernel_call call = culv_kernel_call_init(vk_kernels_get(v->s, "queue_add"));
        call.grid[0] = (WORDS + BLOCK - 1) / BLOCK;
        call.block[0] = BLOCK;
        call.args = add_args;
        call.num_args = 3;
        v->step(v, &call);
        call.kernel = vk_kernels_get(v->s, "queue_mix");
        call.args = v->as_block ? NULL : mix_args;
        call.num_args = v->as_block ? 0 : 4;
        call.params = v->as_block ? &block : NULL;
        call.queue_params = v->as_block ? &queue_block : NULL;
        call.params_size = v->as_block ? sizeof block : 0;
        v->step(v, &call);
    }
}

VK_KERNELS_CASE(two_ways, .smoke = true)
{
    culv_shared_buffer *field = vk_kernels_buffer(s, sizeof words);
    for (int as_block = 0; as_block < 2; as_block++) {
        solver v = {.s = s,
                    .pointer = culv_shared_buffer_pointer(field),
                    .address = culv_vk_buffer_address(field),
                    .count = WORDS,
                    .as_block = as_block != 0,
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
    culv_shared_buffer_destroy(&field, NULL);
}

/* Whatever a culv_kernels was loaded from, both ways give the same. */
static void require_same(vk_kernels_stage *s)
{
    culv_shared_buffer *field = vk_kernels_buffer(s, sizeof words);
    solver v = {.s = s,
                .pointer = culv_shared_buffer_pointer(field),
                .address = culv_vk_buffer_address(field),
                .count = WORDS,
                .step = on_stream};
    memset(words, 0, sizeof words);
    vk_kernels_write(s, field, words, sizeof words);
    solve(&v);
    vk_kernels_read(s, field, words, sizeof words);
    memset(others, 0, sizeof others);
    vk_kernels_write(s, field, others, sizeof others);
    v.step = in_queue;
    v.commands = raw_vk_begin(&s->w.vk, 0);
    vk_kernels_hand_over(v.commands, culv_vk_buffer_handle(field), CULV_VK_ACQUIRE);
    solve(&v);
    vk_kernels_hand_over(v.commands, culv_vk_buffer_handle(field), CULV_VK_RELEASE);
    raw_vk_submit(&s->w.vk, v.commands, NULL);
    vk_kernels_read(s, field, others, sizeof others);
    REQUIRE(words[0] != 0);
    REQUIRE_EQ(memcmp(words, others, sizeof words), 0);
    culv_shared_buffer_destroy(&field, NULL);
}

/* Kernels from memory; the bytes may go at once. */
VK_KERNELS_CASE(from_memory)
{
    size_t size = 0;
    culv_vk_kernels_destroy(&s->queue);
    culv_kernels_unload(&s->kernels);
    unsigned char *bytes = vk_kernels_bytes(s, &size);
    LIB_OK(culv_kernels_load_data(s->w.device, bytes, size, "mine", &s->kernels));
    LIB_OK(culv_vk_kernels_create(s->w.attachment, s->kernels, &s->queue));
    memset(bytes, 0xee, size);
    free(bytes);
    require_same(s);
}

static void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL);
    REQUIRE_EQ(fwrite(bytes, 1, size, file), size);
    REQUIRE_EQ(fclose(file), 0);
}

/* A build that goes on meanwhile: before Vulkan's half is made, the file is another one, or gone,
 * or its relative path means another place. */
VK_KERNELS_CASE(file_changed, .own = true)
{
    enum { REPLACED, OVERWRITTEN, REMOVED, ELSEWHERE, CHANGES };
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
        LIB_OK(culv_kernels_load_file(s->w.device, "mine", &s->kernels));
        if (change == REPLACED || change == OVERWRITTEN)
            write_bytes(change == REPLACED ? "new" : "mine", text, sizeof text);
        if (change == REPLACED) REQUIRE_EQ(rename("new", "mine"), 0);
        if (change == REMOVED) REQUIRE_EQ(remove("mine"), 0);
        REQUIRE_EQ(chdir(change == ELSEWHERE ? "/" : directory), 0);
        LIB_OK(culv_vk_kernels_create(s->w.attachment, s->kernels, &s->queue));
        require_same(s);
    }
    REQUIRE_EQ(chdir(directory), 0);
    REQUIRE_EQ(remove("mine"), 0);
    REQUIRE_EQ(rmdir(directory), 0);
    free(bytes);
}

typedef struct two_records {
    vk_kernels_stage *s;
    culv_kernel *kernel;
    culv_result results[2];
} two_records;

static void prepare_first(void *user)
{
    two_records *t = user;
    t->results[0] = culv_vk_kernels_prepare(t->s->queue, t->kernel);
}

static void prepare_second(void *user)
{
    two_records *t = user;
    t->results[1] = culv_vk_kernels_prepare(t->s->queue, t->kernel);
}

/* What a VkDevice needs of a kernel is made once, also when two threads record its first launch. */
TEST(made_by_two)
{
    vk_kernels_stage s;
    lib_race r;
    vk_kernels_open_race(&s, &r);
    two_records t = {&s, vk_kernels_get(&s, "queue_add"), {CULV_ERROR_INVALID, CULV_ERROR_INVALID}};
    lib_race_run(&r, "vkCreateCuFunctionNVX", prepare_first, prepare_second, &t, true);
    REQUIRE_EQ(t.results[0], CULV_OK);
    REQUIRE_EQ(t.results[1], CULV_OK);
    REQUIRE_EQ(atomic_load(&r.count), 1);
    vk_kernels_close(&s);
}

/* What a VkDevice has of kernels keeps them: the program may unload them first, and record on. */
VK_KERNELS_CASE(unloaded_first)
{
    culv_shared_buffer *field = vk_kernels_buffer(s, sizeof words);
    const unsigned count = WORDS, addend = 7;
    const CUdeviceptr pointer = culv_shared_buffer_pointer(field);
    const VkDeviceAddress address = culv_vk_buffer_address(field);
    const culv_kernel_call_arg args[] = {CULV_CALL_ARG_OF(pointer, address), CULV_CALL_ARG(count),
                                         CULV_CALL_ARG(addend)};
    culv_kernel_call call = culv_kernel_call_init(vk_kernels_get(s, "queue_add"));
    call.grid[0] = (WORDS + BLOCK - 1) / BLOCK;
    call.block[0] = BLOCK;
    call.args = args;
    call.num_args = 3;
    fill_words(words);
    vk_kernels_write(s, field, words, sizeof words);
    culv_kernels_unload(&s->kernels);
    REQUIRE(s->kernels == NULL);
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    vk_kernels_hand_over(commands, culv_vk_buffer_handle(field), CULV_VK_ACQUIRE);
    LIB_OK(culv_vk_kernel_call_record(s->queue, &call, commands, 0));
    vk_kernels_hand_over(commands, culv_vk_buffer_handle(field), CULV_VK_RELEASE);
    raw_vk_submit(&s->w.vk, commands, NULL);
    vk_kernels_read(s, field, others, sizeof others);
    for (uint32_t i = 0; i < WORDS; i++)
        REQUIRE_EQ(others[i], words[i] + addend);
    culv_shared_buffer_destroy(&field, NULL);
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
    culv_shared_image *image = vk_kernels_image(s, WIDTH, HEIGHT);
    culv_shared_buffer *out = vk_kernels_buffer(s, sizeof samples);
    raw_vk_buffer copy;
    raw_vk_buffer_create(vk, sizeof samples, RAW_VK_HOST, &copy);
    const VkImageView view = vk_kernels_view(s, culv_vk_image_handle(image));
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
    culv_kernel_call call = culv_kernel_call_init(vk_kernels_get(s, "queue_paint"));
    call.grid[0] = (WIDTH + 15) / 16;
    call.grid[1] = (HEIGHT + 7) / 8;
    call.block[0] = 16;
    call.block[1] = 8;
    call.args = paints;
    call.num_args = 3;
    VkCommandBuffer commands = raw_vk_begin(vk, 0);
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    culv_vk_image_barrier b;
    t.image = culv_vk_image_handle(image);
    t.queue_family = CULV_VK_QUEUE_FAMILY_KERNEL;
    t.discard = 1;
    LIB_OK(culv_vk_image_get_barrier(&t, CULV_VK_RELEASE, &b));
    vkCmdPipelineBarrier(commands, b.src_stage, b.dst_stage, 0, 0, NULL, 0, NULL, 1, &b.barrier);
    LIB_OK(culv_vk_kernel_call_record(s->queue, &call, commands, 0));
    vk_kernels_between(commands);
    vk_kernels_hand_over(commands, culv_vk_buffer_handle(out), CULV_VK_ACQUIRE);
    call.kernel = vk_kernels_get(s, "queue_sample");
    call.args = takes;
    call.num_args = 4;
    LIB_OK(culv_vk_kernel_call_record(s->queue, &call, commands, 0));
    vk_kernels_hand_over(commands, culv_vk_buffer_handle(out), CULV_VK_RELEASE);
    t.discard = 0;
    t.use = CULV_VK_USE_TRANSFER_SRC;
    LIB_OK(culv_vk_image_get_barrier(&t, CULV_VK_ACQUIRE, &b));
    vkCmdPipelineBarrier(commands, b.src_stage, b.dst_stage, 0, 0, NULL, 0, NULL, 1, &b.barrier);
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {WIDTH, HEIGHT, 1}};
    vkCmdCopyImageToBuffer(commands, t.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, copy.buffer, 1,
                           &region);
    raw_vk_submit(vk, commands, NULL);
    vk_kernels_read(s, out, samples, sizeof samples);
    const uint32_t *texels = copy.mapped;
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++) {
        const uint32_t x = i % WIDTH, y = i / WIDTH, expected = x | y << 8 | ((x + y) & 255) << 16;
        REQUIRE_EQ(texels[i], expected | 0xff000000u);
        REQUIRE_EQ(samples[i], expected);
    }
    vkDestroyImageView(vk->device, view, NULL);
    vkDestroySampler(vk->device, sampler, NULL);
    raw_vk_buffer_destroy(vk, &copy);
    culv_shared_buffer_destroy(&out, NULL);
    culv_shared_image_destroy(&image, NULL);
}

/* Addresses of buffers of all kinds; a kernel finds each. */
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
    culv_kernel_call call = culv_kernel_call_init(vk_kernels_get(s, "queue_add"));
    call.grid[0] = 4;
    call.block[0] = 256;
    call.args = args;
    call.num_args = 3;
    VkCommandBuffer commands = raw_vk_begin(vk, 0);
    LIB_OK(culv_vk_kernel_call_record(s->queue, &call, commands, 0));
    raw_vk_submit(vk, commands, NULL);
    raw_vk_read(vk, &mine, 0, found, sizeof found);
    for (int i = 0; i < 1024; i++)
        REQUIRE_EQ(found[i], 18);
    raw_vk_buffer_destroy(vk, &mine);

    /* In host memory, where the device imports that. */
    if (culv_vk_host_import_alignment(s->w.attachment) != 0) {
        const VkBufferCreateInfo info =
            raw_vk_buffer_info(sizeof found, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
        culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
        culv_shared_buffer *host = NULL;
        d.create_info = &info;
        d.host_memory = 1;
        LIB_OK(culv_vk_buffer_create(s->w.attachment, &d, &host));
        REQUIRE(culv_vk_buffer_address(host) != 0);
        culv_shared_buffer_destroy(&host, NULL);
    }
    REQUIRE_EQ(culv_vk_buffer_address(NULL), 0);
}

VK_KERNELS_CASE(vectors)
{
    enum { SIZE = 4 << 20 };
    culv_vector_desc d = culv_vector_desc_init();
    culv_vk_vector_view_desc vd = culv_vk_vector_view_desc_init();
    culv_vector *vector = NULL;
    culv_vector_view *view = NULL;
    VkDeviceAddress address = 1;
    d.size = SIZE;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    vd.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    LIB_OK(culv_vector_create(s->w.device, &d, &vector));
    LIB_OK(culv_vk_vector_view_create(s->w.attachment, vector, &vd, &view));
    size_t parts = 0;
    LIB_OK(culv_vk_vector_view_get_buffers(view, NULL, 0, &parts));
    if (parts == 1) {
        LIB_OK(culv_vk_vector_view_get_address(view, &address));
        CUdeviceptr pointer = culv_vector_pointer(vector);
        unsigned count = WORDS, on_stream = 4, in_queue = 9;
        const culv_kernel_call_arg args[] = {CULV_CALL_ARG_OF(pointer, address),
                                             CULV_CALL_ARG(count),
                                             CULV_CALL_ARG_OF(on_stream, in_queue)};
        culv_kernel_call call = culv_kernel_call_init(vk_kernels_get(s, "queue_add"));
        call.grid[0] = (WORDS + BLOCK - 1) / BLOCK;
        call.block[0] = BLOCK;
        call.args = args;
        call.num_args = 3;
        fill_words(words);
        LIB_CU_OK(&s->w, s->w.cu->MemcpyHtoD(pointer, words, sizeof words));
        LIB_CU_OK(&s->w, s->w.cu->CtxSynchronize());
        LIB_OK(culv_kernel_call_launch(&call, s->stream));
        lib_finish(&s->w, s->stream);
        VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
        LIB_OK(culv_vk_kernel_call_record(s->queue, &call, commands, 0));
        raw_vk_submit(&s->w.vk, commands, NULL);
        LIB_CU_OK(&s->w, s->w.cu->MemcpyDtoH(words, pointer, sizeof words));
        for (uint32_t i = 0; i < WORDS; i++)
            REQUIRE_EQ(words[i], lib_word(i, 5) + on_stream + in_queue);
    }
    LIB_OK(culv_vector_grow(vector, 64 << 20));
    LIB_OK(culv_vector_view_update(view));
    LIB_OK(culv_vk_vector_view_get_buffers(view, NULL, 0, &parts));
    if (parts > 1) {
        LIB_ERROR(culv_vk_vector_view_get_address(view, &address), UNSUPPORTED, ADDRESS,
                  "a sparse view has one");
    }
    culv_vector_view_destroy(&view);
    culv_vector_destroy(&vector, NULL);
}

/* The barriers of every use, held against those between Vulkan and CUDA. */
TEST(barriers)
{
    for (int use = CULV_VK_USE_ANY; use <= CULV_VK_USE_ACCELERATION_STRUCTURE_BUILD_INPUT; use++)
        for (int to_kernel = 0; to_kernel < 2; to_kernel++) {
            const culv_vk_direction direction = to_kernel ? CULV_VK_RELEASE : CULV_VK_ACQUIRE;
            culv_vk_buffer_transfer t = culv_vk_buffer_transfer_init(), known;
            culv_vk_image_transfer it = culv_vk_image_transfer_init(), image_known;
            VkBufferMemoryBarrier2 b, of;
            VkImageMemoryBarrier2 ib, image_of;
            t.buffer = (VkBuffer)(uintptr_t)16;
            t.use = (culv_vk_use)use;
            it.image = (VkImage)(uintptr_t)32;
            it.use = (culv_vk_use)use;
            if (use == CULV_VK_USE_DEPTH_STENCIL_ATTACHMENT ||
                use == CULV_VK_USE_DEPTH_STENCIL_READ)
                it.format = VK_FORMAT_D32_SFLOAT;
            known = t;
            known.queue_family = 3;
            image_known = it;
            image_known.queue_family = 3;
            const culv_result r = culv_vk_buffer_get_barrier2(&known, direction, &of),
                              ir = culv_vk_image_get_barrier2(&image_known, direction, &image_of);
            t.queue_family = it.queue_family = CULV_VK_QUEUE_FAMILY_KERNEL;
            REQUIRE_EQ(culv_vk_buffer_get_barrier2(&t, direction, &b), r);
            REQUIRE_EQ(culv_vk_image_get_barrier2(&it, direction, &ib), ir);
#define HOLD(x, y)                                                                                 \
    do {                                                                                           \
        REQUIRE_EQ((x).srcQueueFamilyIndex, VK_QUEUE_FAMILY_IGNORED);                              \
        REQUIRE_EQ((x).dstQueueFamilyIndex, VK_QUEUE_FAMILY_IGNORED);                              \
        REQUIRE_EQ((x).srcStageMask, (y).srcStageMask);                                            \
        REQUIRE_EQ((x).dstStageMask, (y).dstStageMask);                                            \
        REQUIRE_EQ((x).srcAccessMask,                                                              \
                   to_kernel ? (y).srcAccessMask : VK_ACCESS_2_MEMORY_WRITE_BIT);                  \
        REQUIRE_EQ((x).dstAccessMask,                                                              \
                   to_kernel ? VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT          \
                             : (y).dstAccessMask);                                                 \
    } while (0)
            if (r == CULV_OK) HOLD(b, of);
            if (ir == CULV_OK) {
                HOLD(ib, image_of);
                REQUIRE_EQ(ib.oldLayout, image_of.oldLayout);
                REQUIRE_EQ(ib.newLayout, image_of.newLayout);
            }
#undef HOLD
            REQUIRE(r == CULV_OK || ir == CULV_OK);
            culv_vk_buffer_barrier old;
            culv_vk_image_barrier old_image;
            REQUIRE_EQ(culv_vk_buffer_get_barrier(&t, direction, &old), r);
            REQUIRE_EQ(culv_vk_image_get_barrier(&it, direction, &old_image), ir);
            if (r == CULV_OK) REQUIRE_EQ(old.barrier.srcAccessMask, b.srcAccessMask);
            if (ir == CULV_OK) REQUIRE_EQ(old_image.barrier.dstAccessMask, ib.dstAccessMask);
        }
    LIB_INVALID(culv_vk_kernel_get_barrier2(NULL), NULL_ARGUMENT);
}
