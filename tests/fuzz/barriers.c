/* SPDX-License-Identifier: MIT */
/* Barriers of every transfer that can be written down. They are structs alone: no device is
 * there. */
#include "fuzz.h"

void fuzz_target_open(void) {}

/* A bit set of 64 bits. */
static uint64_t bits64(fuzz_reader *r)
{
    uint8_t how = fuzz_u8(r);
    if (how < 128) return 0;
    if (how < 192) return UINT64_C(1) << (how & 63);
    return how < 224 ? fuzz_u32(r) : fuzz_u64(r);
}

static uint32_t family(fuzz_reader *r)
{
    static const uint32_t special[] = {VK_QUEUE_FAMILY_IGNORED, VK_QUEUE_FAMILY_EXTERNAL,
                                       VK_QUEUE_FAMILY_FOREIGN_EXT, CULV_VK_QUEUE_FAMILY_UNSET};
    uint8_t how = fuzz_u8(r);
    if (how < 192) return how & 3u;
    return how < 252 ? special[how % 4] : fuzz_u32(r);
}

static VkImageLayout layout(fuzz_reader *r)
{
    uint8_t how = fuzz_u8(r);
    if (how < 128) return VK_IMAGE_LAYOUT_UNDEFINED;
    if (how < 160) return (VkImageLayout)(how & 15);
    if (how < 192)
        return (VkImageLayout)(1000117000 + (how & 1)); /* DEPTH_READ_ONLY_STENCIL_ATTACHMENT ... */
    if (how < 224)
        return (VkImageLayout)(1000241000 +
                               (how & 3)); /* DEPTH_ATTACHMENT, STENCIL_READ_ONLY ... */
    if (how < 232) return (VkImageLayout)(1000314000 + (how & 1)); /* READ_ONLY, ATTACHMENT */
    return how < 240 ? VK_IMAGE_LAYOUT_PRESENT_SRC_KHR : (VkImageLayout)fuzz_u32(r);
}

/* One in 64 is none of the two. */
static culv_vk_direction direction_of(fuzz_reader *r, bool release)
{
    if (fuzz_rarely(r, 64)) return (culv_vk_direction)fuzz_value32(r, CULV_VK_RELEASE + 1);
    return release ? CULV_VK_RELEASE : CULV_VK_ACQUIRE;
}

static bool is_direction(culv_vk_direction direction)
{
    return direction == CULV_VK_ACQUIRE || direction == CULV_VK_RELEASE;
}

/* What barriers of both forms say of who hands over to whom. */
static void check_families(uint32_t src, uint32_t dst, uint32_t family_, bool release)
{
    if (family_ == CULV_VK_QUEUE_FAMILY_KERNEL) {
        FUZZ_REQUIRE(src == VK_QUEUE_FAMILY_IGNORED && dst == VK_QUEUE_FAMILY_IGNORED,
                     "a kernel's families are %u and %u", src, dst);
        return;
    }
    FUZZ_REQUIRE((release ? src : dst) == family_, "the family is %u, not %u", release ? src : dst,
                 family_);
    FUZZ_REQUIRE((release ? dst : src) == VK_QUEUE_FAMILY_EXTERNAL, "the other family is %u",
                 release ? dst : src);
}

/* The other API's half of a transfer does nothing here (VUID-VkBufferMemoryBarrier2-...: the
 * accesses are ignored). */
static void check_half(uint64_t src_access, uint64_t dst_access, uint32_t family_, bool release)
{
    if (family_ == CULV_VK_QUEUE_FAMILY_KERNEL) return; /* one queue has both halves */
    FUZZ_REQUIRE((release ? dst_access : src_access) == 0, "the other half accesses %#llx",
                 (unsigned long long)(release ? dst_access : src_access));
}

enum { HOST_STAGE = VK_PIPELINE_STAGE_HOST_BIT };

static void run_buffer(fuzz_reader *r)
{
    culv_vk_buffer_transfer t = culv_vk_buffer_transfer_init();
    if (!fuzz_rarely(r, 32)) t.buffer = (VkBuffer)(uintptr_t)0x10;
    t.offset = fuzz_value(r, 0);
    t.size = fuzz_value(r, 0);
    t.queue_family = family(r);
    t.use = (culv_vk_use)fuzz_enum(r, 16);
    t.stage = bits64(r);
    t.access = bits64(r);
    bool release = fuzz_flag(r);
    culv_vk_buffer_transfer *box = fuzz_box(r, &t, sizeof t);
    const culv_vk_direction direction = direction_of(r, release);
    VkBufferMemoryBarrier2 two;
    memset(&two, 0xa5, sizeof two);
    const VkBufferMemoryBarrier2 before = two;
    culv_result result = FUZZ_CALL(culv_vk_buffer_get_barrier2(box, direction, &two));
    release = direction == CULV_VK_RELEASE;
    FUZZ_REQUIRE(is_direction(direction) || result != CULV_OK, "an unknown direction passes");
    if (result != CULV_OK)
        FUZZ_REQUIRE(memcmp(&two, &before, sizeof two) == 0, "written after an error");
    if (result == CULV_OK && fuzz_box_whole(box)) {
        FUZZ_REQUIRE(two.sType == VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2 && two.pNext == NULL,
                     "no such struct");
        FUZZ_REQUIRE(two.buffer != VK_NULL_HANDLE && two.offset == t.offset, "another range");
        FUZZ_REQUIRE(two.size == (t.size != 0 ? t.size : VK_WHOLE_SIZE), "another size");
        FUZZ_REQUIRE(two.size == VK_WHOLE_SIZE || two.size <= UINT64_MAX - two.offset,
                     "offset and size overflow");
        FUZZ_REQUIRE(((two.srcStageMask | two.dstStageMask) & HOST_STAGE) == 0, "the host's stage");
        check_families(two.srcQueueFamilyIndex, two.dstQueueFamilyIndex, t.queue_family, release);
        check_half(two.srcAccessMask, two.dstAccessMask, t.queue_family, release);
    }
    fuzz_unbox(box);
}

static void run_image(fuzz_reader *r)
{
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    if (!fuzz_rarely(r, 32)) t.image = (VkImage)(uintptr_t)0x10;
    t.base_mip_level = fuzz_value32(r, 0);
    t.level_count = fuzz_value32(r, 0);
    t.queue_family = family(r);
    t.use = (culv_vk_use)fuzz_enum(r, 16);
    t.stage = bits64(r);
    t.access = bits64(r);
    t.layout = layout(r);
    t.discard = fuzz_value32(r, 0);
    t.base_array_layer = fuzz_value32(r, 0);
    t.layer_count = fuzz_value32(r, 0);
    t.format = fuzz_format(r, VK_FORMAT_UNDEFINED);
    t.aspect = fuzz_bits(r, 0);
    bool release = fuzz_flag(r);
    culv_vk_image_transfer *box = fuzz_box(r, &t, sizeof t);
    const culv_vk_direction direction = direction_of(r, release);
    VkImageMemoryBarrier2 two;
    memset(&two, 0xa5, sizeof two);
    const VkImageMemoryBarrier2 before = two;
    culv_result result = FUZZ_CALL(culv_vk_image_get_barrier2(box, direction, &two));
    release = direction == CULV_VK_RELEASE;
    FUZZ_REQUIRE(is_direction(direction) || result != CULV_OK, "an unknown direction passes");
    if (result != CULV_OK)
        FUZZ_REQUIRE(memcmp(&two, &before, sizeof two) == 0, "written after an error");
    if (result == CULV_OK && fuzz_box_whole(box)) {
        const VkImageSubresourceRange *range = &two.subresourceRange;
        VkImageLayout theirs = release ? two.oldLayout : two.newLayout,
                      cuda = release ? two.newLayout : two.oldLayout;
        FUZZ_REQUIRE(two.sType == VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2 && two.pNext == NULL,
                     "no such struct");
        FUZZ_REQUIRE(cuda == VK_IMAGE_LAYOUT_GENERAL ||
                         (!release && t.discard && cuda == VK_IMAGE_LAYOUT_UNDEFINED),
                     "CUDA's layout is %d", (int)cuda);
        FUZZ_REQUIRE(theirs != VK_IMAGE_LAYOUT_UNDEFINED || t.discard, "the contents are lost");
        FUZZ_REQUIRE(two.newLayout != VK_IMAGE_LAYOUT_UNDEFINED &&
                         two.newLayout != VK_IMAGE_LAYOUT_PREINITIALIZED,
                     "VUID-VkImageMemoryBarrier2-newLayout-01198");
        FUZZ_REQUIRE(range->aspectMask != 0, "no aspect");
        FUZZ_REQUIRE(range->levelCount != 0 && range->layerCount != 0, "an empty range");
        FUZZ_REQUIRE(range->levelCount == VK_REMAINING_MIP_LEVELS ||
                         range->levelCount <= UINT32_MAX - range->baseMipLevel,
                     "levels overflow");
        FUZZ_REQUIRE(range->layerCount == VK_REMAINING_ARRAY_LAYERS ||
                         range->layerCount <= UINT32_MAX - range->baseArrayLayer,
                     "layers overflow");
        FUZZ_REQUIRE(((two.srcStageMask | two.dstStageMask) & HOST_STAGE) == 0, "the host's stage");
        check_families(two.srcQueueFamilyIndex, two.dstQueueFamilyIndex, t.queue_family, release);
        check_half(two.srcAccessMask, two.dstAccessMask, t.queue_family, release);
    }
    fuzz_unbox(box);
}

void fuzz_target_run(fuzz_reader *r)
{
    if (fuzz_flag(r))
        run_image(r);
    else
        run_buffer(r);
}
