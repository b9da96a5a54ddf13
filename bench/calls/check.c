/* SPDX-License-Identifier: MIT */
/* The gate: whether an image or a buffer can be shared, and how; next to the two questions to
 * Vulkan that one would write by hand. A first answer is one of an attachment that was never
 * asked. */
#include "calls.h"

enum { AGAIN = 16 };

typedef struct check_state {
    bench *b;
    bool buffer, first;
    VkImageCreateInfo image_info;
    VkBufferCreateInfo buffer_info;
    VkMemoryRequirements told[BENCH_SIDES];
} check_state;

static void ask_culvert(check_state *s, culv_vk_device *vk)
{
    culv_vk_sharing_info sharing = culv_vk_sharing_info_init();
    CULV_OK_OR_EXIT(s->buffer ? culv_vk_check_buffer(vk, &s->buffer_info, NULL, &sharing)
                              : culv_vk_check_image(vk, &s->image_info, NULL, &sharing));
    s->told[BENCH_CULVERT] = sharing.requirements;
}

static void ask_about_image(check_state *s, VkMemoryRequirements2 *needs)
{
    const VkPhysicalDeviceExternalImageFormatInfo shared = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkPhysicalDeviceImageFormatInfo2 query = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
        .pNext = &shared,
        .format = s->image_info.format,
        .type = s->image_info.imageType,
        .tiling = s->image_info.tiling,
        .usage = s->image_info.usage};
    VkExternalImageFormatProperties external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES};
    VkImageFormatProperties2 answer = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2,
                                       .pNext = &external};
    VK_OK(vkGetPhysicalDeviceImageFormatProperties2(s->b->rig.vk.physical, &query, &answer));
    REQUIRE(external.externalMemoryProperties.externalMemoryFeatures &
            VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT);
    const VkExternalMemoryImageCreateInfo chain = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        .handleTypes = shared.handleType};
    VkImageCreateInfo info = s->image_info;
    info.pNext = &chain;
    vkGetDeviceImageMemoryRequirements(
        s->b->rig.vk.device,
        &(VkDeviceImageMemoryRequirements){
            .sType = VK_STRUCTURE_TYPE_DEVICE_IMAGE_MEMORY_REQUIREMENTS, .pCreateInfo = &info},
        needs);
}

static void ask_about_buffer(check_state *s, VkMemoryRequirements2 *needs)
{
    const VkPhysicalDeviceExternalBufferInfo query = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO,
        .usage = s->buffer_info.usage,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkExternalBufferProperties answer = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    vkGetPhysicalDeviceExternalBufferProperties(s->b->rig.vk.physical, &query, &answer);
    REQUIRE(answer.externalMemoryProperties.externalMemoryFeatures &
            VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT);
    const VkExternalMemoryBufferCreateInfo chain = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = query.handleType};
    VkBufferCreateInfo info = s->buffer_info;
    info.pNext = &chain;
    vkGetDeviceBufferMemoryRequirements(
        s->b->rig.vk.device,
        &(VkDeviceBufferMemoryRequirements){
            .sType = VK_STRUCTURE_TYPE_DEVICE_BUFFER_MEMORY_REQUIREMENTS, .pCreateInfo = &info},
        needs);
}

static void ask_raw(check_state *s)
{
    VkMemoryDedicatedRequirements dedicated = {.sType =
                                                   VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS};
    VkMemoryRequirements2 needs = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2,
                                   .pNext = &dedicated};
    (s->buffer ? ask_about_buffer : ask_about_image)(s, &needs);
    s->told[BENCH_RAW] = needs.memoryRequirements;
}

static culv_vk_device *attach(const rig *r)
{
    culv_vk_device *vk = NULL;
    culv_vk_device_desc d = culv_vk_device_desc_init();
    d.get_instance_proc_addr = vkGetInstanceProcAddr;
    d.instance = r->vk.instance;
    d.physical_device = r->vk.physical;
    d.device = r->vk.device;
    d.api_version = VK_API_VERSION_1_3;
    d.num_physical_devices = 1;
    CULV_OK_OR_EXIT(culv_vk_attach(r->device, &d, &vk));
    return vk;
}

static void turn(void *state, bench_side side, double ns[])
{
    check_state *s = state;
    unsigned calls = s->first ? 1 : AGAIN;
    culv_vk_device *fresh = s->first && side == BENCH_CULVERT ? attach(&s->b->rig) : NULL;
    double begun = bench_now();
    for (unsigned i = 0; i < calls; i++)
        if (side == BENCH_CULVERT)
            ask_culvert(s, fresh != NULL ? fresh : s->b->rig.attached);
        else
            ask_raw(s);
    ns[0] = bench_now() - begun;
    culv_vk_detach(&fresh);
}

/* Both were told the same. */
static void check(check_state *s)
{
    ask_culvert(s, s->b->rig.attached);
    ask_raw(s);
    REQUIRE_EQ(s->told[BENCH_CULVERT].size, s->told[BENCH_RAW].size);
    REQUIRE_EQ(s->told[BENCH_CULVERT].alignment, s->told[BENCH_RAW].alignment);
    REQUIRE_EQ(s->told[BENCH_CULVERT].memoryTypeBits, s->told[BENCH_RAW].memoryTypeBits);
    bench_checked(s->b);
}

static void measure(bench *b, bool buffer, bool first)
{
    check_state s = {.b = b, .buffer = buffer, .first = first};
    bench_series series;
    s.image_info =
        (VkImageCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                            .imageType = VK_IMAGE_TYPE_2D,
                            .format = VK_FORMAT_R8G8B8A8_UNORM,
                            .extent = {1024, 1024, 1},
                            .mipLevels = 1,
                            .arrayLayers = 1,
                            .samples = VK_SAMPLE_COUNT_1_BIT,
                            .usage = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT};
    s.buffer_info = (VkBufferCreateInfo){.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                         .size = 1 << 20,
                                         .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    bench_variant(b, "%s, %s", buffer ? "buffer" : "image", first ? "first" : "asked before");
    check(&s);
    bench_begin(
        b, &series,
        (bench_setup){.turn = turn, .state = &s, .num_phases = 1, .calls = first ? 1 : AGAIN});
    bench_row(b, &series, (bench_row_desc){.name = "check", .phases = 1});
    bench_end(&series);
    check(&s);
}

void measure_check(bench *b)
{
    measure(b, false, true);
    measure(b, false, false);
    measure(b, true, true);
    measure(b, true, false);
}
