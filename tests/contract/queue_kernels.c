/* SPDX-License-Identifier: MIT */
/* CUDA kernels in Vulkan's command buffers: VK_NVX_binary_import and VK_NVX_image_view_handle. */
#define TEST_GROUP "queue_kernel."
#include "contract.h"

typedef struct stage {
    pair p;
    VkCuModuleNVX module;
} stage;

enum { WORDS = 65536, WIDTH = 200, HEIGHT = 120, FUNCTIONS = 8 };

static unsigned char *read_image(const stage *s, const char *name, size_t *size)
{
    char path[TEST_PATH_MAX], relative[256];
    snprintf(relative, sizeof relative, "share/culvert/%s.%s", name,
             s->p.cu->software ? "soft.so" : "fatbin");
    FILE *file = fopen(test_path(path, relative), "rb");
    if (file == NULL) SKIP("%s was not built", relative);
    REQUIRE_EQ(fseek(file, 0, SEEK_END), 0);
    const long end = ftell(file);
    REQUIRE(end > 0);
    rewind(file);
    unsigned char *bytes = malloc((size_t)end + 1);
    REQUIRE(bytes != NULL);
    REQUIRE_EQ(fread(bytes, 1, (size_t)end, file), end);
    fclose(file);
    *size = (size_t)end;
    return bytes;
}

static VkResult make_module(const stage *s, const void *image, size_t size, VkCuModuleNVX *out)
{
    const VkCuModuleCreateInfoNVX info = {
        .sType = VK_STRUCTURE_TYPE_CU_MODULE_CREATE_INFO_NVX, .dataSize = size, .pData = image};
    return vkCreateCuModuleNVX(s->p.vk.device, &info, NULL, out);
}

static void stage_open(stage *s)
{
    pair *p = &s->p;
    size_t size = 0;
    memset(s, 0, sizeof *s);
    p->cu = raw_cuda_open();
    CU_OK(p->cu->DeviceGet(&p->device, 0));
    CU_OK(p->cu->DeviceGetUuid(&p->uuid, p->device));
    raw_vk_open(&p->vk, &(raw_vk_options){.uuid = (const uint8_t *)p->uuid.bytes,
                                          .software = p->cu->software,
                                          .kernels = true});
    if (!p->vk.kernels) SKIP("the device offers no VK_NVX_binary_import");
    p->context = raw_cuda_context(p->cu, p->device);
    p->stream = raw_cuda_stream(p->cu);
    unsigned char *image = read_image(s, "queue_kernels", &size);
    VK_OK(make_module(s, image, size, &s->module));
    free(image); /* read during the call */
}

static void stage_close(stage *s)
{
    test_settle();
    if (s->module != VK_NULL_HANDLE) vkDestroyCuModuleNVX(s->p.vk.device, s->module, NULL);
    pair_close(&s->p);
}

#define STAGE_CASE(...) TEST_ON(stage, s, stage_open(s), stage_close(s), __VA_ARGS__)

static void end_function(const void *of, void *thing)
{
    vkDestroyCuFunctionNVX(((const stage *)of)->p.vk.device, *(VkCuFunctionNVX *)thing, NULL);
}

/* Until the case ends. */
static VkCuFunctionNVX get(const stage *s, const char *name)
{
    const VkCuFunctionCreateInfoNVX info = {
        .sType = VK_STRUCTURE_TYPE_CU_FUNCTION_CREATE_INFO_NVX, .module = s->module, .pName = name};
    VkCuFunctionNVX function = VK_NULL_HANDLE;
    VK_OK(vkCreateCuFunctionNVX(s->p.vk.device, &info, NULL, &function));
    test_later(end_function, s, &function, sizeof function);
    return function;
}

/* Before the case ends, where the device may be lost. */
static void give_back(const stage *s, VkCuFunctionNVX function)
{
    test_forget(&function, sizeof function);
    vkDestroyCuFunctionNVX(s->p.vk.device, function, NULL);
}

static VkCuLaunchInfoNVX launch_of(VkCuFunctionNVX function, unsigned threads, unsigned block,
                                   size_t count, const void *const *params)
{
    return (VkCuLaunchInfoNVX)TEST_ROW(.sType = VK_STRUCTURE_TYPE_CU_LAUNCH_INFO_NVX,
                                       .function = function,
                                       .gridDimX = (threads + block - 1) / block, .gridDimY = 1,
                                       .gridDimZ = 1, .blockDimX = block, .blockDimY = 1,
                                       .blockDimZ = 1, .paramCount = count, .pParams = params);
}

/* As the only command of a submission that is waited for. */
static void launch_alone(raw_vk *vk, const VkCuLaunchInfoNVX *launch)
{
    VkCommandBuffer commands = raw_vk_begin(vk, 0);
    vkCmdCuLaunchKernelNVX(commands, launch);
    raw_vk_submit(vk, commands, NULL);
}

static void barrier(VkCommandBuffer commands)
{
    const VkMemoryBarrier all =
        TEST_ROW(.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                 .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                 .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                         VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &all, 0, NULL, 0, NULL);
}

static size_t wrong_words(stage *s, const raw_vk_buffer *buffer, uint32_t expected)
{
    static uint32_t words[WORDS];
    raw_vk_read(&s->p.vk, buffer, 0, words, sizeof words);
    return words_not(words, expected, WORDS);
}

/* Kernels run where they were recorded, on every queue that has graphics or compute; parameters are
 * read when they are recorded, each by itself or as one block. Between two fills and a copy: 7,
 * then + 5, then * 3 + 200 + 1000. */
STAGE_CASE(in_order, .mark = TEST_BOTH,
           .reason = "the library records launches among Vulkan's commands", .smoke = true)
{
    raw_vk *vk = &s->p.vk;
    const VkCuFunctionNVX add = get(s, "queue_add"), mix = get(s, "queue_mix");
    for (uint32_t queue = 0; queue < vk->queue_count; queue++) {
        if ((vk->queues[queue].flags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT)) == 0)
            continue;
        for (int as_block = 0; as_block < 2; as_block++) {
            raw_vk_buffer work, copy;
            raw_vk_buffer_create(vk, WORDS * 4, RAW_VK_ADDRESS, &work);
            raw_vk_buffer_create(vk, WORDS * 4, 0, &copy);
            VkDeviceAddress address = raw_vk_buffer_address(vk, &work);
            unsigned count = WORDS, addend = 5;
            unsigned char salt = 200;
            double by = 1000.0;
            const void *adds[] = {&address, &count, &addend},
                       *mixes[] = {&address, &count, &salt, &by};
            struct {
                VkDeviceAddress address;
                unsigned count;
                unsigned char salt;
                double by;
            } block = {address, count, salt, by};
            size_t size = sizeof block;
            const void *extras[] = {(const void *)(uintptr_t)1, &block, (const void *)(uintptr_t)2,
                                    &size, NULL};
            VkCommandBuffer commands = raw_vk_begin(vk, queue);
            vkCmdFillBuffer(commands, work.buffer, 0, VK_WHOLE_SIZE, 7);
            barrier(commands);
            VkCuLaunchInfoNVX launch = launch_of(add, WORDS, 256, 3, adds);
            vkCmdCuLaunchKernelNVX(commands, &launch);
            barrier(commands);
            launch = launch_of(mix, WORDS, 128, as_block ? 0 : 4, as_block ? NULL : mixes);
            launch.extraCount = as_block ? 1 : 0;
            launch.pExtras = as_block ? extras : NULL;
            vkCmdCuLaunchKernelNVX(commands, &launch);
            barrier(commands);
            address = 64; /* nothing looks at these any more */
            memset(&block, 0xee, sizeof block);
            addend = count = salt = 0;
            const VkBufferCopy all = {0, 0, WORDS * 4};
            vkCmdCopyBuffer(commands, work.buffer, copy.buffer, 1, &all);
            barrier(commands);
            vkCmdFillBuffer(commands, work.buffer, 0, VK_WHOLE_SIZE, 99);
            raw_vk_submit(vk, commands, &(raw_vk_job){.queue = queue});
            answer_wrong(as_block ? "by one block" : "by single parameters",
                         wrong_words(s, &copy, (7 + 5) * 3 + 200 + 1000), WORDS);
            raw_vk_buffer_destroy(vk, &copy);
            raw_vk_buffer_destroy(vk, &work);
        }
    }
}

static VkCommandBuffer allocate(const stage *s, VkCommandPool pool, VkCommandBufferLevel level)
{
    const VkCommandBufferAllocateInfo info =
        TEST_ROW(.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool,
                 .level = level, .commandBufferCount = 1);
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VK_OK(vkAllocateCommandBuffers(s->p.vk.device, &info, &commands));
    return commands;
}

static VkCommandPool make_pool(const stage *s)
{
    const VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .queueFamilyIndex = 0};
    VkCommandPool pool = VK_NULL_HANDLE;
    VK_OK(vkCreateCommandPool(s->p.vk.device, &info, NULL, &pool));
    return pool;
}

static void begin(VkCommandBuffer commands, VkCommandBufferUsageFlags flags)
{
    const VkCommandBufferInheritanceInfo inherited = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = flags,
                                           .pInheritanceInfo = &inherited};
    VK_OK(vkBeginCommandBuffer(commands, &info));
}

static VkResult submit(const stage *s, uint32_t count, const VkCommandBuffer *commands)
{
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .commandBufferCount = count,
                               .pCommandBuffers = commands};
    return vkQueueSubmit(s->p.vk.queues[0].queue, 1, &info, VK_NULL_HANDLE);
}

/* A command buffer that executes a secondary one twice, submitted three times. */
STAGE_CASE(again, .mark = TEST_BOTH,
           .reason = "command buffers are recorded once and submitted often")
{
    raw_vk *vk = &s->p.vk;
    raw_vk_buffer work = pair_vk_buffer(&s->p, WORDS * 4, RAW_VK_ADDRESS);
    raw_vk_fill(vk, &work, 0, WORDS * 4, 1, NULL);
    const VkCuFunctionNVX add = get(s, "queue_add"), mix = get(s, "queue_mix");
    VkDeviceAddress address = raw_vk_buffer_address(vk, &work);
    unsigned count = WORDS, addend = 1;
    unsigned char salt = 2;
    double by = 0.0;
    const void *adds[] = {&address, &count, &addend}, *mixes[] = {&address, &count, &salt, &by};
    const VkCuLaunchInfoNVX first = launch_of(add, WORDS, 256, 3, adds),
                            second = launch_of(mix, WORDS, 256, 4, mixes);
    const VkCommandPool pool = make_pool(s);
    const VkCommandBuffer secondary = allocate(s, pool, VK_COMMAND_BUFFER_LEVEL_SECONDARY),
                          primary = allocate(s, pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    begin(secondary, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
    vkCmdCuLaunchKernelNVX(secondary, &first);
    barrier(secondary);
    vkCmdCuLaunchKernelNVX(secondary, &second);
    barrier(secondary);
    VK_OK(vkEndCommandBuffer(secondary));
    begin(primary, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
    vkCmdExecuteCommands(primary, 1, &secondary);
    vkCmdExecuteCommands(primary, 1, &secondary);
    VK_OK(vkEndCommandBuffer(primary));
    const VkCommandBuffer twice[] = {primary, primary};
    VK_OK(submit(s, 2, twice));
    VK_OK(submit(s, 1, twice));
    VK_OK(vkQueueWaitIdle(vk->queues[0].queue));
    uint32_t word = 1;
    for (int n = 0; n < 6; n++)
        word = (word + 1) * 3 + 2;
    answer_wrong("words after three submissions", wrong_words(s, &work, word), WORDS);
    vkDestroyCommandPool(vk->device, pool, NULL);
}

static void answer_vk(const char *key, VkResult result)
{
    ANSWER(key, "%d", (int)result);
}

/* A block turns `words` words around in dynamic shared memory, beside 256 static bytes. */
static VkResult turn_shared(stage *s, unsigned words, size_t *wrong)
{
    raw_vk *vk = &s->p.vk;
    raw_vk_buffer work;
    raw_vk_buffer_create(vk, WORDS * 4, RAW_VK_ADDRESS, &work);
    const VkCuFunctionNVX turn = get(s, "queue_turn");
    VkDeviceAddress address = raw_vk_buffer_address(vk, &work);
    uint32_t *found = test_memory(words * 4 * 2), *given = pattern_words(words * 4 * 2, 3);
    raw_vk_write(vk, &work, 0, given, words * 4 * 2);
    const void *params[] = {&address, &words};
    VkCuLaunchInfoNVX launch = launch_of(turn, 2 * 128, 128, 2, params);
    launch.sharedMemBytes = words * 4;
    const VkCommandPool pool = make_pool(s);
    const VkCommandBuffer commands = allocate(s, pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    begin(commands, 0);
    vkCmdCuLaunchKernelNVX(commands, &launch);
    VK_OK(vkEndCommandBuffer(commands));
    VkResult result = submit(s, 1, &commands);
    if (result == VK_SUCCESS) result = vkQueueWaitIdle(vk->queues[0].queue);
    *wrong = 0;
    if (result == VK_SUCCESS) {
        raw_vk_read(vk, &work, 0, found, words * 4 * 2);
        for (unsigned i = 0; i < 2 * words; i++) {
            const unsigned base = i / words * words, at = i % words;
            *wrong += found[i] != given[base + words - 1 - at] + given[base + at % 64];
        }
    }
    vkDestroyCommandPool(vk->device, pool, NULL);
    give_back(s, turn);
    if (result == VK_SUCCESS) {
        raw_vk_buffer_destroy(vk, &work);
    } else {
        vkDestroyBuffer(vk->device, work.buffer, NULL);
        vkFreeMemory(vk->device, work.memory, NULL);
    }
    return result;
}

STAGE_CASE(shared_memory, .mark = TEST_BOTH, .reason = "kernels may have shared memory")
{
    static const unsigned sizes[] = {1024, 4096 - 64}; /* with the static bytes: 16 KiB */
    for (size_t n = 0; n < COUNT_OF(sizes); n++) {
        size_t wrong;
        VK_OK(turn_shared(s, sizes[n], &wrong));
        answer_wrong(answer_key("with %u dynamic bytes", sizes[n] * 4), wrong, 2 * sizes[n]);
    }
}

/* How much a block may have: an H200 loses the device over too much. */
TEST(most_shared_memory, .mark = TEST_BOTH, .reason = "how much is reported", .faults = true)
{
    /* With the static bytes: 32, 40, 46, 47 and 48 KiB, and more. */
    static const unsigned sizes[] = {8192 - 64,  10240 - 64, 11776 - 64,
                                     12032 - 64, 12288 - 64, 15000};
    enum { COUNT = COUNT_OF(sizes) };
    stage s;
    VkResult result = VK_SUCCESS;
    stage_open(&s);
    for (size_t n = 0; n < COUNT; n++) {
        size_t wrong = 0;
        const char *key = answer_key("%u dynamic bytes", sizes[n] * 4);
        if (result == VK_SUCCESS) {
            result = turn_shared(&s, sizes[n], &wrong);
            if (result == VK_SUCCESS)
                ANSWER(key, "%zu of %u wrong", wrong, 2 * sizes[n]);
            else
                answer_vk(key, result);
        } else {
            ANSWER(key, "the device is lost already");
        }
    }
    if (result == VK_SUCCESS) {
        stage_close(&s);
        return;
    }
    vkDestroyCuModuleNVX(s.p.vk.device, s.module, NULL);
    raw_vk_close_lost(&s.p.vk);
}

/* CUDA reads what a kernel in Vulkan's queue wrote, and the other way round. */
STAGE_CASE(shared_with_cuda, .mark = TEST_BOTH, .reason = "both APIs work on one buffer")
{
    raw_vk *vk = &s->p.vk;
    static uint32_t found[WORDS];
    shared_buffer shared = pair_buffer(&s->p, WORDS * 4, RAW_VK_ADDRESS, false);
    CU_OK(raw_cuda_upload(s->p.cu, shared.pointer, pattern_words(WORDS * 4, 9), WORDS * 4));
    const VkCuFunctionNVX add = get(s, "queue_add");
    VkDeviceAddress address = raw_vk_buffer_address(vk, &shared.vk);
    unsigned count = WORDS, addend = 4;
    const void *params[] = {&address, &count, &addend};
    const VkCuLaunchInfoNVX launch = launch_of(add, WORDS, 256, 3, params);
    VkCommandBuffer commands = raw_vk_begin(vk, 0);
    raw_vk_acquire(vk, commands, 0, &shared.vk);
    vkCmdCuLaunchKernelNVX(commands, &launch);
    barrier(commands);
    raw_vk_release(vk, commands, 0, &shared.vk);
    raw_vk_submit(vk, commands, NULL);
    cuda_read(&s->p, shared.pointer, found, sizeof found);
    answer_wrong("words by CUDA", words_wrong(found, pattern_words(WORDS * 4, 9 + 4), WORDS),
                 WORDS);
}

typedef uint64_t(VKAPI_PTR *handle_64)(VkDevice, const VkImageViewHandleInfoNVX *);

static VkImageView make_view(const stage *s, VkImage image)
{
    const VkImageViewCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .image = image,
        .viewType = VK_IMAGE_VIEW_TYPE_2D,
        .format = VK_FORMAT_R8G8B8A8_UNORM,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    VkImageView view = VK_NULL_HANDLE;
    VK_OK(vkCreateImageView(s->p.vk.device, &info, NULL, &view));
    return view;
}

static VkSampler make_sampler(const stage *s)
{
    const VkSamplerCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                      .addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                      .addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                      .addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE};
    VkSampler sampler = VK_NULL_HANDLE;
    VK_OK(vkCreateSampler(s->p.vk.device, &info, NULL, &sampler));
    return sampler;
}

static uint64_t handle_of(const stage *s, VkImageView view, VkSampler sampler)
{
    handle_64 wide = NULL;
    const VkImageViewHandleInfoNVX info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_HANDLE_INFO_NVX,
        .imageView = view,
        .descriptorType = sampler != VK_NULL_HANDLE ? VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER
                                                    : VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
        .sampler = sampler};
    const uint32_t narrow = vkGetImageViewHandleNVX(s->p.vk.device, &info);
    /* A validation layer that does not know the call passes handles of its own on to the driver. */
    const PFN_vkVoidFunction found =
        s->p.vk.validation ? NULL
                           : vkGetDeviceProcAddr(s->p.vk.device, "vkGetImageViewHandle64NVX");
    memcpy(&wide, &found, sizeof wide);
    MEASURED("queue_kernels.handles", "32 bits: %#x, 64 bits: %#llx", (unsigned)narrow,
             wide != NULL ? (unsigned long long)wide(s->p.vk.device, &info) : 0ull);
    REQUIRE(narrow != 0);
    return narrow;
}

/* An image view is a surface or, with a sampler, a texture. Its handle is a kernel's parameter. */
STAGE_CASE(images, .mark = TEST_BOTH, .reason = "surfaces and textures of image views")
{
    raw_vk *vk = &s->p.vk;
    static uint32_t texels[WIDTH * HEIGHT], samples[WIDTH * HEIGHT];
    const raw_vk_image_desc desc =
        TEST_ROW(.format = VK_FORMAT_R8G8B8A8_UNORM, .width = WIDTH, .height = HEIGHT,
                 .usage = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT);
    raw_vk_image image = pair_vk_image(&s->p, &desc);
    raw_vk_buffer out = pair_vk_buffer(&s->p, sizeof samples, RAW_VK_ADDRESS);
    const VkImageView view = make_view(s, image.image);
    const VkSampler sampler = make_sampler(s);
    const VkCuFunctionNVX paint = get(s, "queue_paint"), sample = get(s, "queue_sample");
    uint64_t surface = handle_of(s, view, VK_NULL_HANDLE), texture = handle_of(s, view, sampler);
    VkDeviceAddress address = raw_vk_buffer_address(vk, &out);
    int width = WIDTH, height = HEIGHT;
    const void *paints[] = {&surface, &width, &height},
               *takes[] = {&texture, &width, &height, &address};
    VkCuLaunchInfoNVX launch = launch_of(paint, WIDTH, 16, 3, paints);
    launch.blockDimY = 8;
    launch.gridDimY = (HEIGHT + 7) / 8;
    VkCommandBuffer commands = raw_vk_begin(vk, 0);
    vkCmdCuLaunchKernelNVX(commands, &launch);
    barrier(commands);
    launch.function = sample;
    launch.paramCount = 4;
    launch.pParams = takes;
    vkCmdCuLaunchKernelNVX(commands, &launch);
    barrier(commands);
    raw_vk_submit(vk, commands, NULL);
    raw_vk_image_read(vk, &image, 0, texels);
    raw_vk_read(vk, &out, 0, samples, sizeof samples);
    size_t wrong = 0, wrong_samples = 0;
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++) {
        const uint32_t x = i % WIDTH, y = i / WIDTH, expected = x | y << 8 | ((x + y) & 255) << 16;
        wrong += texels[i] != (expected | 0xff000000u);
        wrong_samples += samples[i] != expected;
    }
    answer_wrong("texels by a surface", wrong, WIDTH * HEIGHT);
    answer_wrong("samples by a texture", wrong_samples, WIDTH * HEIGHT);
    vkDestroySampler(vk->device, sampler, NULL);
    vkDestroyImageView(vk->device, view, NULL);
}

/* A kernel whose clusters are fixed: the driver takes it, and runs it without. */
STAGE_CASE(clusters, .mark = TEST_BOTH, .reason = "the library refuses kernels with clusters",
           .own = true)
{
    raw_vk *vk = &s->p.vk;
    uint32_t words[5];
    raw_vk_buffer out = pair_vk_buffer(&s->p, 4096, RAW_VK_ADDRESS);
    raw_vk_fill(vk, &out, 0, 4096, 1, NULL);
    const VkCuFunctionNVX fixed = get(s, "queue_clusters");
    VkDeviceAddress address = raw_vk_buffer_address(vk, &out);
    const void *params[] = {&address};
    const VkCuLaunchInfoNVX launch = launch_of(fixed, 4 * 32, 32, 1, params);
    launch_alone(vk, &launch);
    raw_vk_read(vk, &out, 0, words, sizeof words);
    ANSWER("what four blocks say", "%u %u %u %u", words[0], words[1], words[2], words[3]);
    REQUIRE_EQ(words[4], 1);
}

/* What is no image, and a name that is not there. */
STAGE_CASE(refused, .mark = TEST_BOTH, .reason = "what is refused; the codes are reported")
{
    static const char text[] = "This is no kernel.\n";
    VkCuModuleNVX module = VK_NULL_HANDLE;
    VkResult result = make_module(s, text, sizeof text, &module);
    answer_vk("a module of a text", result);
    REQUIRE(result < VK_SUCCESS);
    const VkCuFunctionCreateInfoNVX info = {.sType = VK_STRUCTURE_TYPE_CU_FUNCTION_CREATE_INFO_NVX,
                                            .module = s->module,
                                            .pName = "queue_none"};
    VkCuFunctionNVX function = VK_NULL_HANDLE;
    result = vkCreateCuFunctionNVX(s->p.vk.device, &info, NULL, &function);
    answer_vk("a function of a name that is not there", result);
    if (result == VK_SUCCESS) vkDestroyCuFunctionNVX(s->p.vk.device, function, NULL);
}

/* A function lives on without its module, as the twin has it. */
STAGE_CASE(module_first, .mark = TEST_TWIN_STRICTER,
           .reason = "no text says whether a function needs its module: only the twin is asked")
{
    raw_vk *vk = &s->p.vk;
    raw_vk_buffer work = pair_vk_buffer(&s->p, 4096, RAW_VK_ADDRESS);
    raw_vk_fill(vk, &work, 0, 4096, 1, NULL);
    const VkCuFunctionNVX add = get(s, "queue_add");
    if (s->p.cu->software) {
        vkDestroyCuModuleNVX(vk->device, s->module, NULL);
        s->module = VK_NULL_HANDLE;
    }
    VkDeviceAddress address = raw_vk_buffer_address(vk, &work);
    unsigned count = 1024, addend = 4;
    const void *params[] = {&address, &count, &addend};
    const VkCuLaunchInfoNVX launch = launch_of(add, 1024, 256, 3, params);
    launch_alone(vk, &launch);
    uint32_t words[1024];
    raw_vk_read(vk, &work, 0, words, sizeof words);
    answer_wrong("words", words_not(words, 5, 1024), 1024);
}

/* A kernel that faults loses the device: of the submission, or of the wait for it. Everything can
 * be destroyed. */
TEST(fault, .mark = TEST_BOTH, .reason = "the library tells of a lost device", .faults = true)
{
    stage s;
    stage_open(&s);
    raw_vk *vk = &s.p.vk;
    raw_vk_buffer work;
    raw_vk_buffer_create(vk, 4096, RAW_VK_ADDRESS, &work);
    const VkCuFunctionNVX poke = get(&s, "queue_poke");
    uint64_t nowhere = 64;
    const void *params[] = {&nowhere};
    const VkCuLaunchInfoNVX launch = launch_of(poke, 32, 32, 1, params);
    const VkCommandPool pool = make_pool(&s);
    const VkCommandBuffer commands = allocate(&s, pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    begin(commands, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
    vkCmdCuLaunchKernelNVX(commands, &launch);
    VK_OK(vkEndCommandBuffer(commands));
    VkResult result = submit(&s, 1, &commands);
    if (result == VK_SUCCESS) result = vkQueueWaitIdle(vk->queues[0].queue);
    answer_vk("the wait", result);
    REQUIRE_EQ(result, VK_ERROR_DEVICE_LOST);
    answer_vk("the next submission", submit(&s, 1, &commands));
    MEASURED("queue_kernels.fault", "CUDA's context then: %s",
             raw_cuda_result_name(s.p.cu->CtxSynchronize()));
    vkDestroyCommandPool(vk->device, pool, NULL);
    give_back(&s, poke);
    vkDestroyBuffer(vk->device, work.buffer, NULL);
    vkFreeMemory(vk->device, work.memory, NULL);
    vkDestroyCuModuleNVX(vk->device, s.module, NULL);
    raw_vk_close_lost(vk);
}
