/* SPDX-License-Identifier: MIT */
/* Memory that is CUDA's, a VkBuffer and a dma-buf at once: the same words from all sides. On the
 * twin the card is played by the memory that the dma-buf stands for. */
#define TEST_GROUP "vulkan_rdma."
#include "vulkan_vmm_stage.h"

#include "culvert/extra/vulkan_rdma.h"

enum { MOST = 8 };

static void open_stage(vmm_stage *s)
{
    vmm_stage_play(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
    vmm_stage_play(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED);
    vmm_stage_open(s);
    culv_rdma_caps caps = culv_rdma_caps_init();
    LIB_OK(culv_rdma_get_caps(s->w.device, &caps));
    if (!caps.with_vmm || !caps.dma_buf) SKIP("the device has no such memory or no dma-bufs");
}

#define OPEN_CASE(...) TEST_ON(vmm_stage, s, open_stage(s), vmm_stage_close(s), __VA_ARGS__)

static culv_vk_rdma_buffer_desc desc_of(uint64_t size)
{
    culv_vk_rdma_buffer_desc d = culv_vk_rdma_buffer_desc_init();
    d.size = size;
    d.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
              VK_BUFFER_USAGE_VERTEX_BUFFER_BIT;
    d.label = "frames";
    return d;
}

static size_t parts_of(const culv_vk_rdma_buffer *b, culv_vk_rdma_part parts[MOST])
{
    size_t count = 0;
    LIB_OK(culv_vk_rdma_buffer_get_parts(b, parts, MOST, &count));
    REQUIRE(count > 0 && count <= MOST);
    uint64_t end = 0;
    for (size_t i = 0; i < count; i++) {
        REQUIRE(parts[i].offset == end && parts[i].size > 0 && parts[i].buffer != VK_NULL_HANDLE);
        REQUIRE_EQ(parts[i].pointer, culv_vk_rdma_buffer_pointer(b) + end);
        REQUIRE(parts[i].dma_buf.type == CULV_HANDLE_DMA_BUF_FD);
        end += parts[i].size;
    }
    REQUIRE(end >= culv_vk_rdma_buffer_size(b));
    return count;
}

/* Each side writes, each other one reads. */
static void require_data(vmm_stage *s, const culv_vk_rdma_part *part, uint32_t seed)
{
    uint32_t *words = malloc((size_t)part->size);
    REQUIRE(words != NULL);
    vmm_stage_kernel(s, "library_write", part->pointer, part->size, seed);
    vmm_stage_vulkan_read(s, part->buffer, part->size, words);
    REQUIRE_EQ(vmm_stage_wrong(words, part->size, 0, seed), 0);
    culv_soft_dma_buf range;
    if (s->w.cu->software) {
        REQUIRE_EQ(s->w.cu->SoftDmaBufRange(part->dma_buf.value.fd, &range), 0);
        REQUIRE(range.address == part->pointer && range.size == part->size);
        REQUIRE(memcmp((void *)(uintptr_t)range.address, words, (size_t)part->size) == 0);
        vmm_stage_fill(words, part->size, 0, seed + 1); /* the card writes */
        memcpy((void *)(uintptr_t)range.address, words, (size_t)part->size);
        vmm_stage_vulkan_read(s, part->buffer, part->size, words);
        REQUIRE_EQ(vmm_stage_wrong(words, part->size, 0, seed + 1), 0);
    }
    vmm_stage_fill(words, part->size, 0, seed + 2);
    vmm_stage_vulkan_write(s, part->buffer, part->size, words);
    vmm_stage_cuda_read(s, part->pointer, part->size, words);
    REQUIRE_EQ(vmm_stage_wrong(words, part->size, 0, seed + 2), 0);
    if (s->w.cu->software)
        REQUIRE(memcmp((void *)(uintptr_t)range.address, words, (size_t)part->size) == 0);
    free(words);
}

OPEN_CASE(one_call, .own = true, .smoke = true)
{
    culv_vk_rdma_part parts[MOST];
    size_t fds = test_open_fds();
    culv_vk_rdma_buffer_desc d = desc_of(3 * VMM_MIB);
    culv_vk_rdma_buffer *b = NULL;
    LIB_OK(culv_vk_rdma_buffer_create(s->w.device, s->w.attachment, &d, &b));
    REQUIRE_EQ(culv_vk_rdma_buffer_size(b), 3 * VMM_MIB);
    REQUIRE_EQ(parts_of(b, parts), 1);
    require_data(s, &parts[0], 100);
    culv_rdma_info info = culv_rdma_info_init();
    LIB_OK(culv_rdma_get_info(s->w.device, parts[0].pointer, &info));
    REQUIRE(info.kind == CULV_POINTER_VMM && info.path == CULV_RDMA_PATH_DEVICE);
    MEASURED("rdma.vmm_capable", "%d", (int)info.rdma_capable);
    if (s->w.cu->software) REQUIRE(info.rdma_capable);
    LIB_OK(culv_vk_rdma_buffer_grow(b, 1));
    LIB_INVALID(culv_vk_rdma_buffer_grow(b, UINT64_MAX), SIZE);
    REQUIRE(culv_vk_rdma_buffer_size(b) == 3 * VMM_MIB && parts_of(b, parts) == 1);
    culv_vk_rdma_buffer_destroy(&b);
    REQUIRE(b == NULL);
    lib_settle(&s->w);
    REQUIRE_EQ(test_open_fds(), fds);
    culv_vk_rdma_buffer_destroy(&b);
    culv_vk_rdma_buffer_destroy(NULL);
}

OPEN_CASE(grows, .own = true)
{
    culv_vk_rdma_part before[MOST], parts[MOST];
    culv_vk_rdma_buffer_desc d = desc_of(2 * VMM_MIB);
    d.reserve = 64 * VMM_MIB;
    culv_vk_rdma_buffer *b = NULL;
    LIB_OK(culv_vk_rdma_buffer_create(s->w.device, s->w.attachment, &d, &b));
    const CUdeviceptr at = culv_vk_rdma_buffer_pointer(b);
    REQUIRE_EQ(parts_of(b, before), 1);
    vmm_stage_kernel(s, "library_write", at, 2 * VMM_MIB, 7);
    LIB_OK(culv_vk_rdma_buffer_grow(b, 4 * VMM_MIB));
    LIB_OK(culv_vk_rdma_buffer_grow(b, 5 * VMM_MIB));
    REQUIRE(culv_vk_rdma_buffer_pointer(b) == at && culv_vk_rdma_buffer_size(b) == 5 * VMM_MIB);
    REQUIRE_EQ(parts_of(b, parts), 3);
    /* What a card has registered stays as it is. */
    REQUIRE(parts[0].id == before[0].id && parts[0].buffer == before[0].buffer);
    REQUIRE_EQ(parts[0].dma_buf.value.fd, before[0].dma_buf.value.fd);
    uint32_t *words = malloc(2 * VMM_MIB);
    REQUIRE(words != NULL);
    vmm_stage_vulkan_read(s, parts[0].buffer, 2 * VMM_MIB, words);
    REQUIRE_EQ(vmm_stage_wrong(words, 2 * VMM_MIB, 0, 7), 0);
    free(words);
    for (uint32_t i = 0; i < 3; i++)
        require_data(s, &parts[i], 200 + 10 * i);
    culv_vk_rdma_buffer_destroy(&b);
}

OPEN_CASE(refused, .own = true)
{
    culv_vk_rdma_buffer *b = NULL;
    culv_vk_rdma_buffer_desc d = desc_of(0);
#define REFUSED(...)                                                                               \
    LIB_REFUSES(b, culv_vk_rdma_buffer_create(s->w.device, s->w.attachment, &d, &b), __VA_ARGS__)
    REFUSED(INVALID, SIZE);
    d = desc_of(4 * VMM_MIB);
    d.reserve = VMM_MIB;
    REFUSED(INVALID, SIZE);
    d = desc_of(VMM_MIB);
    d.usage = 0;
    REFUSED(INVALID, VALUE);
    d = desc_of(VMM_MIB);
    d.struct_size = 1;
    REFUSED(INVALID, STRUCT_SIZE);
    d = desc_of(VMM_MIB);
    REQUIRE(culv_vk_rdma_buffer_pointer(NULL) == 0 && culv_vk_rdma_buffer_size(NULL) == 0);
    if (s->w.cu->software) {
        s->w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 0);
        REFUSED(UNSUPPORTED, USAGE);
        s->w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 1);
    }
}

/* A device that makes no dma-bufs. */
static void open_without(vmm_stage *s)
{
    vmm_stage_play(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
    vmm_stage_open(s);
}

TEST_ON(vmm_stage, s, open_without(s), vmm_stage_close(s), without, .own = true)
{
    if (!s->w.cu->software) SKIP("the twin plays such a device");
    culv_vk_rdma_buffer *b = NULL;
    culv_vk_rdma_buffer_desc d = desc_of(VMM_MIB);
    LIB_OK(culv_vk_rdma_buffer_create(s->w.device, s->w.attachment, &d, &b));
    culv_vk_rdma_part part;
    size_t count = 0;
    LIB_OK(culv_vk_rdma_buffer_get_parts(b, &part, 1, &count));
    REQUIRE(count == 1 && part.dma_buf.type == CULV_HANDLE_NONE && part.buffer != VK_NULL_HANDLE);
    culv_vk_rdma_buffer_destroy(&b);
}
