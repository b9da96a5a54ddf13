/* SPDX-License-Identifier: MIT */
/* Torture of kernels in command buffers: asked for, loaded from memory, made for the VkDevice,
 * recorded, destroyed. */
#include "torture.h"
#include "vk_kernels_stage.h"

#include <stdlib.h>

static vk_kernels_stage files; /* its share alone */
static unsigned char *bytes;
static size_t size;
static raw_vk_buffer field;

/* Before the engine opens Vulkan. */
__attribute__((constructor)) static void want_kernels(void)
{
    lib_with_kernels = true;
}

static void begin(void)
{
    files.w.cu = torture.w.cu;
    test_path(files.share, "share/culvert");
    bytes = vk_kernels_bytes(&files, &size);
    raw_vk_buffer_create(&torture.w.vk, 4096, RAW_VK_ADDRESS, &field);
}

static void end(void)
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
    culv_kernel_call call = culv_kernel_call_init(add);
    call.grid[0] = 4;
    call.block[0] = 256;
    call.args = args;
    call.num_args = 3;
    if (from_file) TRY_AGAIN(culv_vk_kernels_prepare(queue, add), true);
    VkCommandBuffer commands = raw_vk_begin(&w->vk, 0);
    TRY_AGAIN(culv_vk_kernel_call_record(queue, &call, commands, 0), true);
    raw_vk_submit(&w->vk, commands, NULL);
    DO(culv_vk_kernels_destroy(&queue));
    REQUIRE(queue == NULL);
    DO(culv_kernels_unload(&kernels));
}

static void run(void)
{
    lib_world *w = &torture.w;
    culv_soft_vk_counts before = {.struct_size = sizeof before}, after = before;
    torture.layer.counts(&before);
    lib_open_culvert(w);
    const culv_vk_device_desc d = lib_vk_desc(w);
    TRY_AGAIN(culv_vk_check_kernels(&d), true);
    use(false);
    use(true);
    DO(culv_vk_detach(&w->attachment));
    DO(culv_device_close(&w->device));
    torture.layer.counts(&after);
    if (after.modules != before.modules) torture_complain("leaves a module of Vulkan");
    if (after.functions != before.functions) torture_complain("leaves a function of Vulkan");
}

static const torture_path path = {.begin = begin, .run = run, .end = end, .least = {16, 4, 6}};
TORTURE_FUNCTIONS(path)

static const test_case cases[] = {TORTURE_ROWS("vk_kernels", path), {.name = NULL}};
TEST_SUITE(cases);
