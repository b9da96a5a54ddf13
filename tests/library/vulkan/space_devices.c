/* SPDX-License-Identifier: MIT */
/* One address: two VkDevices, a second GPU of CUDA's that follows the same pointers, and two GPUs
 * with a space each. */
#define TEST_GROUP "space.devices."
#include "space_stage.h"

enum { NODES = 5000 };

/* Lists in both spaces, each built by CUDA and followed by its own VkDevice, and the other way
 * round. Addresses differ, since CUDA has one list of them for all devices. */
static void require_both(space_stage *a, culv_vk_space *x, space_stage *b, culv_vk_space *y)
{
    space_stage *const stages[2] = {a, b};
    culv_vk_space *const spaces[2] = {x, y};
    const CUdeviceptr at = culv_vk_space_pointer(x), bt = culv_vk_space_pointer(y);
    REQUIRE(at + space_info(x).size <= bt || bt + space_info(y).size <= at);
    for (uint32_t i = 0; i < 2; i++)
        LIB_OK(culv_vk_space_commit(spaces[i], 0, SPACE_CHUNK, NULL));
    for (int side = SPACE_CUDA; side <= SPACE_VULKAN; side++) {
        for (uint32_t i = 0; i < 2; i++) {
            const CUdeviceptr base = culv_vk_space_pointer(spaces[i]);
            space_link(stages[i], (space_side)side, base, base + VMM_MIB, NODES, 7 * i + 1);
        }
        for (uint32_t i = 0; i < 2; i++) {
            const CUdeviceptr base = culv_vk_space_pointer(spaces[i]), found = base + VMM_MIB / 2;
            space_require_list(stages[i], SPACE_CUDA, base, found, NODES, 7 * i + 1);
            space_require_list(stages[i], SPACE_VULKAN, base, found, NODES, 7 * i + 1);
        }
    }
}

/* Of one GPU; the second one's space goes first, and the first one's after it still works. */
TEST(two_vulkan_devices, .own = true)
{
    static space_stage a, b;
    space_open(&a);
    b = a;
    lib_world *w = &b.s.w;
    CUuuid uuid;
    CU_OK(w->cu->DeviceGetUuid(&uuid, 0));
    raw_vk_open(&w->vk, &(raw_vk_options){.uuid = (const uint8_t *)uuid.bytes,
                                          .software = w->cu->software,
                                          .one_address = true});
    REQUIRE(w->vk.device != a.s.w.vk.device);
    const culv_vk_device_desc d = lib_vk_desc(w);
    LIB_OK(culv_vk_attach(w->device, &d, &w->attachment));
    space_begin(&b);
    culv_vk_space *x = space_make(&a, 64 * VMM_MIB), *y = space_make(&b, 64 * VMM_MIB);
    require_both(&a, x, &b, y);
    culv_vk_space_destroy(&y);
    space_require_same(&a, x, 0, SPACE_CHUNK, 5);
    culv_vk_space_destroy(&x);
    lib_settle(w);
    space_end(&b);
    culv_vk_detach(&w->attachment);
    raw_vk_close(&w->vk);
    space_close(&a);
}

static culv_device *open_second(const raw_cuda *cu)
{
    culv_device *device = NULL;
    culv_device_desc d = culv_device_desc_init();
    d.driver = cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    LIB_OK(culv_device_open_by_ordinal(1, &d, &device));
    return device;
}

/* The second GPU has the memory at the address that the first one and Vulkan have. */
TEST(peer, .own = true)
{
    static space_stage t, second;
    raw_cuda_two_devices();
    const raw_cuda *cu = lib_driver();
    if (cu->device_count < 2) SKIP("one CUDA device only");
    space_open(&t);
    culv_device *other = open_second(cu);
    const culv_vmm_access both[] = {{.device = t.s.w.device, .flags = CULV_VMM_ACCESS_READ_WRITE},
                                    {.device = other, .flags = CULV_VMM_ACCESS_READ_WRITE}};
    culv_vk_space_desc d = space_desc(&t, 64 * VMM_MIB);
    culv_vk_space *space = NULL;
    d.access = both;
    d.access_count = 2;
    if (culv_vk_space_create(t.s.w.attachment, &d, &space) != CULV_OK) {
        culv_error error = culv_error_init();
        culv_last_error(&error);
        REQUIRE_EQ(error.reason, CULV_REASON_PEER);
        culv_device_close(&other);
        SKIP("the second GPU does not reach the first: %s", culv_last_error_message());
    }
    second = t;
    second.s.w.device = other;
    second.s.w.context = culv_device_context(other);
    vmm_stage_begin(&second.s);
    const CUdeviceptr base = culv_vk_space_pointer(space), found = base + VMM_MIB / 2;
    LIB_OK(culv_vk_space_commit(space, 0, SPACE_CHUNK, NULL));
    LIB_OK(culv_vk_space_commit(space, 6 * SPACE_CHUNK, SPACE_CHUNK, NULL));
    const CUdeviceptr there = base + 6 * SPACE_CHUNK;
    space_link(&t, SPACE_CUDA, base, there, NODES, 1);
    space_require_list(&second, SPACE_CUDA, base, found, NODES, 1);
    space_link(&t, SPACE_VULKAN, base, there, NODES, 2);
    space_require_list(&second, SPACE_CUDA, base, found, NODES, 2);
    space_link(&second, SPACE_CUDA, base, there, NODES, 3);
    space_require_list(&t, SPACE_VULKAN, base, found, NODES, 3);
    space_require_list(&t, SPACE_CUDA, base, found, NODES, 3);
    culv_vk_space_destroy(&space);
    lib_settle(&t.s.w);
    LIB_CU_OK(&second.s.w, cu->ModuleUnload(second.s.module));
    lib_stream_destroy(&second.s.w, second.s.stream);
    culv_device_close(&other);
    space_close(&t);
}

/* The twin has Vulkan for its first device alone. */
TEST(two_gpus, .own = true)
{
    static space_stage a, b;
    const raw_cuda *cu = lib_driver();
    if (cu->software) SKIP("the twin has Vulkan for one device");
    if (cu->device_count < 2) SKIP("one CUDA device only");
    space_open(&a);
    memset(&b, 0, sizeof b);
    lib_world *w = &b.s.w;
    CUuuid uuid;
    w->cu = cu;
    CU_OK(cu->DeviceGetUuid(&uuid, 1));
    raw_vk_open(&w->vk,
                &(raw_vk_options){.uuid = (const uint8_t *)uuid.bytes, .one_address = true});
    w->fds = test_open_fds() + 1000; /* NVIDIA's driver opens files of its own with each context */
    lib_open_culvert(w);
    vmm_stage_begin(&b.s);
    space_begin(&b);
    culv_vk_space *x = space_make(&a, 64 * VMM_MIB), *y = space_make(&b, 64 * VMM_MIB);
    require_both(&a, x, &b, y);
    culv_vk_space_destroy(&x);
    space_require_same(&b, y, 0, SPACE_CHUNK, 6);
    culv_vk_space_destroy(&y);
    lib_settle(w);
    space_close(&b);
    space_close(&a);
}
