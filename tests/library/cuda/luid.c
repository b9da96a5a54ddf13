/* SPDX-License-Identifier: MIT */
/* Devices by LUID and node mask, as a Direct3D program knows them: drivers tell LUIDs on Windows
 * only, so here the twin plays them. */
#define TEST_GROUP "luid."
#include "library.h"

static const culv_luid one = {{0xf4, 0x03, 0, 0, 0, 0, 0, 0x80}},
                       two = {{0xf4, 0x03, 0, 0, 0, 0, 0, 0x81}}, zero;

static culv_device_caps caps_of(const culv_device *device)
{
    culv_device_caps caps = culv_device_caps_init();
    LIB_OK(culv_device_get_caps(device, &caps));
    return caps;
}

/* The twin with so many devices. */
static const raw_cuda *twin(const char *devices)
{
    lib_with_environment("CULVERT_SOFT_DEVICES", devices);
    const raw_cuda *cu = lib_driver();
    if (cu->SoftPlayLuid == NULL)
        SKIP("NVIDIA's driver tells LUIDs on Windows only, and plays none");
    return cu;
}

static culv_device *open_ordinal(int32_t ordinal)
{
    NEW(culv_device, device, culv_device_open_by_ordinal, ordinal, NULL);
    return device;
}

/* The name of a device, by its ordinal. */
static const char *name_of(const raw_cuda *cu, int ordinal)
{
    static char name[256];
    CU_OK(cu->DeviceGetName(name, (int)sizeof name, ordinal));
    return name;
}

TEST(found)
{
    const raw_cuda *cu = twin("3");
    culv_device *device = NULL;
    cu->SoftPlayLuid(1, one.bytes, 1);
    cu->SoftPlayLuid(2, two.bytes, 1);
    for (int i = 1; i <= 2; i++) {
        const culv_luid *luid = i == 1 ? &one : &two;
        LIB_OK(culv_device_open_by_luid(luid, 1, NULL, &device));
        culv_device_caps caps = caps_of(device);
        REQUIRE_EQ(caps.ordinal, i);
        REQUIRE_EQ(caps.luid_valid, 1);
        REQUIRE_EQ(caps.node_mask, 1);
        REQUIRE_EQ_BYTES(caps.luid.bytes, luid->bytes, 8);
        culv_device_close(&device);
    }
    device = open_ordinal(0); /* which has none */
    culv_device_caps caps = caps_of(device);
    REQUIRE(caps.luid_valid == 0 && caps.node_mask == 0);
    REQUIRE_EQ_BYTES(caps.luid.bytes, zero.bytes, 8);
    culv_device_close(&device);
    raw_cuda_require_empty(cu);
}

/* Linked GPUs: one LUID, and a CUDA device for each node. */
TEST(two_nodes)
{
    const raw_cuda *cu = twin("3");
    culv_device *device = NULL;
    cu->SoftPlayLuid(0, two.bytes, 1);
    cu->SoftPlayLuid(1, one.bytes, 1);
    cu->SoftPlayLuid(2, one.bytes, 2);
    for (int i = 1; i <= 2; i++) {
        LIB_OK(culv_device_open_by_luid(&one, (uint32_t)i, NULL, &device));
        REQUIRE_EQ(caps_of(device).ordinal, i);
        REQUIRE_EQ(caps_of(device).node_mask, i);
        culv_device_close(&device);
    }
    LIB_REFUSES(device, culv_device_open_by_luid(&one, 4, NULL, &device), NO_DEVICE, DEVICE_GROUP,
                "LUID f403000000000080 node mask 0x4");
    for (int i = 0; i < 3; i++)
        LIB_SAYS(name_of(cu, i));
    LIB_SAYS("LUID f403000000000080 node mask 0x1");
    LIB_SAYS("LUID f403000000000080 node mask 0x2");
    LIB_SAYS("LUID f403000000000081 node mask 0x1");
    LIB_SAYS("the bit of the node");
    LIB_REFUSES(device, culv_device_open_by_luid(&one, 3, NULL, &device), INVALID, DEVICE_GROUP,
                "node_mask is 0x3");
    /* A device that spans nodes is not the one of a node. */
    cu->SoftPlayLuid(1, one.bytes, 3);
    LIB_REFUSES(device, culv_device_open_by_luid(&one, 1, NULL, &device), NO_DEVICE, DEVICE_GROUP);
    raw_cuda_require_empty(cu);
}

TEST(unknown)
{
    const raw_cuda *cu = twin("2");
    culv_device *device = NULL;
    for (int played = 0; played < 2; played++) {
        LIB_REFUSES(device, culv_device_open_by_luid(&two, 1, NULL, &device), NO_DEVICE,
                    DEVICE_UNKNOWN, "no CUDA device is LUID f403000000000081 node mask 0x1",
                    name_of(cu, 0), name_of(cu, 1),
                    played ? "The driver reports no LUID for 1 of them"
                           : "The driver reports no LUID for 2 of them");
        if (played) LIB_SAYS("LUID f403000000000080 node mask 0x1");
        cu->SoftPlayLuid(0, one.bytes, 1);
    }
    raw_cuda_require_empty(cu);
}

/* What drivers leave in devices without a LUID is none. */
TEST(invalid, .own = true) /* leaves a LUID played */
{
    const raw_cuda *cu = lib_driver();
    culv_device *device = NULL;
    LIB_REFUSES(device, culv_device_open_by_luid(&zero, 1, NULL, &device), INVALID, VALUE,
                "luid is 0");
    LIB_REFUSES(device, culv_device_open_by_luid(&one, 0, NULL, &device), INVALID, VALUE,
                "node_mask is 0");
    /* On NVIDIA's driver for Linux too: no device has one. */
    LIB_REFUSES(device, culv_device_open_by_luid(&one, 1, NULL, &device), NO_DEVICE, DEVICE_UNKNOWN,
                name_of(cu, 0), "The driver reports no LUID");
    if (cu->SoftPlayLuid == NULL) return;
    cu->SoftPlayLuid(0, zero.bytes, 1);
    device = open_ordinal(0);
    REQUIRE_EQ(caps_of(device).luid_valid, 0);
    culv_device_close(&device);
    cu->SoftPlayLuid(0, one.bytes, 0);
    device = open_ordinal(0);
    culv_device_caps caps = caps_of(device);
    REQUIRE(caps.luid_valid == 0 && caps.node_mask == 0);
    REQUIRE_EQ_BYTES(caps.luid.bytes, zero.bytes, 8);
    culv_device_close(&device);
    LIB_REFUSES(device, culv_device_open_by_luid(&one, 1, NULL, &device), NO_DEVICE,
                DEVICE_UNKNOWN);
    raw_cuda_require_empty(cu);
}

/* Vulkan's side: what it tells is passed on and named, and another node of the same adapter is no
 * match. */
TEST(vulkan)
{
    lib_world w;
    lib_open(&w);
    static culv_vk_candidate list[16];
    uint32_t count = 16;
    for (uint32_t i = 0; i < 16; i++)
        list[i] = culv_vk_candidate_init();
    LIB_OK(culv_vk_rank_physical_devices(vkGetInstanceProcAddr, w.vk.instance, NULL, list, count,
                                         &count));
    REQUIRE(count > 0 && list[0].reachable);
    REQUIRE_EQ(list[0].luid_valid, w.vk.id.deviceLUIDValid);
    REQUIRE(list[0].luid_valid || list[0].node_mask == 0);
    const int32_t ordinal = list[0].cuda_ordinal;
    if (w.cu->SoftPlayLuid == NULL) {
        lib_close(&w);
        return;
    }
    static const struct {
        unsigned cuda; /* 0: CUDA tells none */
        uint32_t vulkan;
        bool match;
    } rows[] = {{0, 1, true},  {1, 1, true},  {2, 2, true},
                {2, 1, false}, {1, 2, false}, {3, 3, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_vk_device *vk = NULL;
        w.cu->SoftPlayLuid(ordinal, rows[i].cuda != 0 ? one.bytes : NULL, rows[i].cuda);
        lib_lying = (lib_lies){.luid = one.bytes, .node_mask = rows[i].vulkan};
        count = 16;
        LIB_OK(culv_vk_rank_physical_devices(lib_lying_loader, w.vk.instance, NULL, list, count,
                                             &count));
        REQUIRE(list[0].luid_valid == 1 && list[0].node_mask == rows[i].vulkan);
        REQUIRE_EQ_BYTES(list[0].luid.bytes, one.bytes, 8);
        REQUIRE_EQ(list[0].reachable, rows[i].match);
        NEW(OWN(culv_device), device, culv_device_open_by_ordinal, ordinal, NULL);
        culv_vk_device_desc d = lib_vk_desc(&w);
        d.get_instance_proc_addr = lib_lying_loader;
        if (rows[i].match) {
            LIB_OK(culv_vk_attach(device, &d, &vk));
            culv_vk_detach(&vk);
        } else {
            REQUIRE_EQ(list[0].reason, CULV_REASON_DEVICE_GROUP);
            printf("%s\n", list[0].reason_text);
            REQUIRE(strstr(list[0].reason_text, "LUID f403000000000080 node mask") != NULL);
            LIB_REFUSES(vk, culv_vk_attach(device, &d, &vk), INVALID, DEVICE_GROUP, "node mask");
        }
    }
    /* Adapters that differ are UUIDs' matter: a driver in TCC mode leaves what it likes there. */
    w.cu->SoftPlayLuid(ordinal, two.bytes, 1);
    lib_lying = (lib_lies){.luid = one.bytes, .node_mask = 1};
    NEW(culv_device, device, culv_device_open_for_vk, lib_lying_loader, w.vk.instance,
        w.vk.physical, NULL);
    culv_device_close(&device);
    lib_lying = (lib_lies){.luid = one.bytes, .node_mask = 1, .uuid_xor = 0x40}; /* nobody's */
    LIB_REFUSES(
        device,
        culv_device_open_for_vk(lib_lying_loader, w.vk.instance, w.vk.physical, NULL, &device),
        NO_DEVICE, DEVICE_UNKNOWN, "LUID f403000000000080 node mask 0x1",
        "LUID f403000000000081 node mask 0x1");
    w.cu->SoftPlayLuid(ordinal, NULL, 0);
    lib_close(&w);
}
