/* SPDX-License-Identifier: MIT */
/* Contract rows: CUDA kernels in Vulkan's command buffers (VK_NVX_binary_import), where it ends. */
#define TEST_GROUP "queue_kernel."
#include "contract.h"

typedef struct stage {
    pair p;
    VkCuModuleNVX module;
} stage;

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

static void answer_vk(const char *key, VkResult result)
{
    ANSWER(key, "%d", (int)result);
}

static VkResult submit(const raw_vk *vk, VkCommandBuffer commands)
{
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &commands};
    const VkResult result = vkQueueSubmit(vk->queues[0].queue, 1, &info, VK_NULL_HANDLE);
    return result == VK_SUCCESS ? vkQueueWaitIdle(vk->queues[0].queue) : result;
}

/* A block turns `words` words around in dynamic shared memory, beside 256 static bytes. */
static VkResult turn_shared(stage *s, unsigned words, size_t *wrong)
{
    raw_vk *vk = &s->p.vk;
    raw_vk_buffer work;
    raw_vk_buffer_create(vk, words * 4 * 2, RAW_VK_ADDRESS, &work);
    const VkCuFunctionNVX turn = get(s, "queue_turn");
    VkDeviceAddress address = raw_vk_buffer_address(vk, &work);
    uint32_t *found = test_memory(words * 4 * 2), *given = pattern_words(words * 4 * 2, 3);
    raw_vk_write(vk, &work, 0, given, words * 4 * 2);
    const void *params[] = {&address, &words};
    VkCuLaunchInfoNVX launch = launch_of(turn, 2 * 128, 128, 2, params);
    launch.sharedMemBytes = words * 4;
    const VkCommandBuffer commands = raw_vk_begin(vk, 0);
    vkCmdCuLaunchKernelNVX(commands, &launch);
    VK_OK(vkEndCommandBuffer(commands));
    const VkResult result = submit(vk, commands);
    *wrong = 0;
    if (result == VK_SUCCESS) {
        raw_vk_read(vk, &work, 0, found, words * 4 * 2);
        for (unsigned i = 0; i < 2 * words; i++) {
            const unsigned base = i / words * words, at = i % words;
            *wrong += found[i] != given[base + words - 1 - at] + given[base + at % 64];
        }
    }
    give_back(s, turn);
    if (result == VK_SUCCESS) {
        raw_vk_buffer_destroy(vk, &work);
    } else {
        vkDestroyBuffer(vk->device, work.buffer, NULL);
        vkFreeMemory(vk->device, work.memory, NULL);
    }
    return result;
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

/* A kernel that faults loses the device: of the submission, or of the wait for it. Everything can
 * be destroyed. */
TEST(fault, .mark = TEST_BOTH, .reason = "the library tells of a lost device", .faults = true)
{
    stage s;
    stage_open(&s);
    raw_vk *vk = &s.p.vk;
    const VkCuFunctionNVX poke = get(&s, "queue_poke");
    uint64_t nowhere = 64;
    const void *params[] = {&nowhere};
    const VkCuLaunchInfoNVX launch = launch_of(poke, 32, 32, 1, params);
    VkCommandBuffer commands[2];
    for (int i = 0; i < 2; i++) {
        commands[i] = raw_vk_begin(vk, 0);
        vkCmdCuLaunchKernelNVX(commands[i], &launch);
        VK_OK(vkEndCommandBuffer(commands[i]));
    }
    const VkResult result = submit(vk, commands[0]);
    answer_vk("the wait", result);
    REQUIRE_EQ(result, VK_ERROR_DEVICE_LOST);
    answer_vk("the next submission", submit(vk, commands[1]));
    give_back(&s, poke);
    vkDestroyCuModuleNVX(vk->device, s.module, NULL);
    raw_vk_close_lost(vk);
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
    VkCommandBuffer commands = raw_vk_begin(vk, 0);
    vkCmdCuLaunchKernelNVX(commands, &launch);
    raw_vk_submit(vk, commands, NULL);
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
