/* SPDX-License-Identifier: MIT */
/* Torture of tensors: of a buffer and of a vector that is destroyed before them, of their order,
 * and of memory that is adopted. */
#include "torture.h"

#include <culvert/vulkan_adopt.h>

#define CHUNK (UINT64_C(2) << 20)
#define NONE  POISON(culv_dl_managed_tensor_versioned)

static const VkBufferCreateInfo buffer_info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                               .size = 65536,
                                               .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};

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
    culv_vk_adopted_buffer a[3], b[3];
    size_t count = 0;
    LIB_OK(culv_vk_adopted_get_buffers(view, a, 3, &count));
    LIB_OK(culv_vk_adopted_get_buffers(second, b, 3, &count));
    REQUIRE(count == 3 && memcmp(a, b, sizeof a) == 0);
    DO(culv_vk_adopted_destroy(&second));
    DO(culv_vmm_adopted_destroy(&adopted));
    DO(culv_vk_adopted_destroy(&view));
}

static void run(void)
{
    lib_world *w = &torture.w;
    culv_vector *vector = NULL;
    culv_shared_buffer *buffer = NULL;
    culv_dl_managed_tensor_versioned *of_buffer = NONE, *of_vector = NONE;
    CUstream stream = torture_open();
    culv_vector_desc d = culv_vector_desc_init();
    d.size = 3 * CHUNK;
    d.max_chunk = CHUNK;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    LIB_OK(culv_vector_create(w->device, &d, &vector));
    culv_vk_buffer_create_desc bd = culv_vk_buffer_create_desc_init();
    bd.create_info = &buffer_info;
    LIB_OK(culv_vk_buffer_create(w->attachment, &bd, &buffer));
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

static const torture_path path = {
    .any_driver = true, .unvalidated = true, .run = run, .least = {8, 6, 6}};
TORTURE_CASES("tensors", path)
