/* SPDX-License-Identifier: MIT */
#include "vk_kernels_stage.h"

#include <unistd.h>

static void load(vk_kernels_stage *s)
{
    if (!s->w.vk.kernels) SKIP("the device offers no VK_NVX_binary_import");
    s->stream = lib_stream(&s->w);
    test_path(s->share, "share/culvert");
    if (!s->w.cu->software) {
        char fatbin[TEST_PATH_MAX + 32];
        snprintf(fatbin, sizeof fatbin, "%s/queue_kernels.fatbin", s->share);
        if (access(fatbin, R_OK) != 0) SKIP("no kernels for NVIDIA devices were built");
    }
    LIB_OK(culv_kernels_load(s->w.device, s->share, "queue_kernels", &s->kernels));
    LIB_OK(culv_vk_kernels_create(s->w.attachment, s->kernels, &s->queue));
}

void vk_kernels_open(vk_kernels_stage *s)
{
    memset(s, 0, sizeof *s);
    lib_with_kernels = true;
    lib_open(&s->w);
    load(s);
}

void vk_kernels_open_for_one_address(vk_kernels_stage *s)
{
    memset(s, 0, sizeof *s);
    lib_with_kernels = true;
    lib_open_vulkan_for_one_address(&s->w);
    lib_open_culvert(&s->w);
    load(s);
}

void vk_kernels_close(vk_kernels_stage *s)
{
    culv_vk_kernels_destroy(&s->queue);
    REQUIRE(s->queue == NULL);
    culv_kernels_unload(&s->kernels);
    lib_stream_destroy(&s->w, s->stream);
    lib_close(&s->w);
}

culv_kernel *vk_kernels_get(const vk_kernels_stage *s, const char *name)
{
    NEW(culv_kernel, kernel, culv_kernels_get, s->kernels, name);
    return kernel;
}

culv_kernel_call vk_kernels_call(culv_kernel *kernel, uint32_t grid, uint32_t block,
                                 const culv_kernel_call_arg *args, uint32_t num_args)
{
    culv_kernel_call call = culv_kernel_call_init(kernel);
    call.grid[0] = grid;
    call.block[0] = block;
    call.args = args;
    call.num_args = num_args;
    return call;
}

void vk_kernels_run(vk_kernels_stage *s, const culv_kernel_call *call)
{
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    LIB_OK(culv_vk_kernel_call_record(s->queue, call, commands, 0));
    raw_vk_submit(&s->w.vk, commands, NULL);
}

culv_kernel *vk_kernels_clusters(const vk_kernels_stage *s)
{
    culv_kernel *kernel = vk_kernels_get(s, "queue_clusters");
    const PFN_cuFuncGetAttribute_v2020 ask = (PFN_cuFuncGetAttribute_v2020)culv_device_cuda_proc(
        s->w.device, "cuFuncGetAttribute", 2020);
    int width = 0;
    REQUIRE(ask != NULL);
    CUcontext before = lib_enter(&s->w);
    (void)ask(&width, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, culv_kernel_native_handle(kernel));
    lib_leave(&s->w, before);
    if (width == 0 && !s->w.cu->software) SKIP("the kernel has no clusters on this GPU");
    REQUIRE_EQ(width, 2);
    return kernel;
}

unsigned char *vk_kernels_bytes(const vk_kernels_stage *s, size_t *size)
{
    char path[TEST_PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/queue_kernels.%s", s->share,
             s->w.cu->software ? "soft.so" : "fatbin");
    FILE *file = fopen(path, "rb");
    REQUIRE(file != NULL);
    REQUIRE_EQ(fseek(file, 0, SEEK_END), 0);
    const long end = ftell(file);
    REQUIRE(end > 0);
    rewind(file);
    unsigned char *bytes = malloc((size_t)end);
    REQUIRE(bytes != NULL);
    REQUIRE_EQ(fread(bytes, 1, (size_t)end, file), end);
    fclose(file);
    *size = (size_t)end;
    return bytes;
}

culv_shared_buffer *vk_kernels_buffer(const vk_kernels_stage *s, VkDeviceSize size)
{
    const VkBufferCreateInfo info = raw_vk_buffer_info(size, VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                                                 VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_shared_buffer *made = lib_made_buffer(s->w.attachment, &info);
    REQUIRE(culv_vk_buffer_address(made) != 0);
    return made;
}

void vk_kernels_write(const vk_kernels_stage *s, const culv_shared_buffer *to, const void *bytes,
                      size_t size)
{
    CUcontext before = lib_enter(&s->w);
    CU_OK(s->w.cu->MemcpyHtoD(culv_shared_buffer_pointer(to), bytes, size));
    CU_OK(s->w.cu->CtxSynchronize()); /* the call itself returns when the bytes are staged */
    lib_leave(&s->w, before);
}

void vk_kernels_read(const vk_kernels_stage *s, const culv_shared_buffer *from, void *bytes,
                     size_t size)
{
    lib_finish(&s->w, s->stream);
    LIB_CU_OK(&s->w, s->w.cu->MemcpyDtoH(bytes, culv_shared_buffer_pointer(from), size));
}

void vk_kernels_hand_over(VkCommandBuffer commands, VkBuffer buffer, culv_vk_direction direction)
{
    culv_vk_buffer_transfer t = culv_vk_buffer_transfer_init();
    culv_vk_buffer_barrier b;
    t.buffer = buffer;
    t.queue_family = 0;
    LIB_OK(lib_buffer_barrier(&t, direction, &b));
    vkCmdPipelineBarrier(commands, b.src_stage, b.dst_stage, 0, 0, NULL, 1, &b.barrier, 0, NULL);
}

void vk_kernels_between(VkCommandBuffer commands)
{
    VkMemoryBarrier2 b;
    LIB_OK(culv_vk_kernel_get_barrier2(&b));
    const VkMemoryBarrier old = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                 .srcAccessMask = (VkAccessFlags)b.srcAccessMask,
                                 .dstAccessMask = (VkAccessFlags)b.dstAccessMask};
    vkCmdPipelineBarrier(commands, (VkPipelineStageFlags)b.srcStageMask,
                         (VkPipelineStageFlags)b.dstStageMask, 0, 1, &old, 0, NULL, 0, NULL);
}
