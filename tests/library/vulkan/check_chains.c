/* SPDX-License-Identifier: MIT */
/* What the gate refuses for a struct of the pNext chain: what Vulkan's question about formats has
 * no place for, so that drivers would refuse it where the resource is made, or not at all. And what
 * goes on from there: images that can be copied to, drivers that refuse late. */
#define TEST_GROUP "refusals."
#include "check_stage.h"

#include <culvert/vulkan_fallback.h>

/* Any of the structs; the chain has it alone. */
typedef struct row {
    const void *of;
    culv_reason reason;
    const char *words[2];
} row;

LIB_CASE(of_images, .title = "refusals.chains_of_images")
{
    static const VkImageSwapchainCreateInfoKHR swapchain = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_SWAPCHAIN_CREATE_INFO_KHR};
    static const VkImageCompressionControlEXT fixed_rate = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_COMPRESSION_CONTROL_EXT,
        .flags = VK_IMAGE_COMPRESSION_FIXED_RATE_DEFAULT_EXT};
    static const VkImageFormatListCreateInfo no_list = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO, .viewFormatCount = 1};
    static const VkImageStencilUsageCreateInfo no_stencil = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO};
    static const VkImageStencilUsageCreateInfo transient = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO,
        .stencilUsage =
            VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT | VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT};
    static const VkImageStencilUsageCreateInfo unknown = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO, .stencilUsage = 0x80000000u};
    static const VkImageDrmFormatModifierListCreateInfoEXT modifiers = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_LIST_CREATE_INFO_EXT};
    static const VkImageDrmFormatModifierExplicitCreateInfoEXT modifier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT};
    static const VkExternalMemoryImageCreateInfoNV external_nv = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO_NV};
    static const VkOpaqueCaptureDescriptorDataCreateInfoEXT captured = {
        .sType = VK_STRUCTURE_TYPE_OPAQUE_CAPTURE_DESCRIPTOR_DATA_CREATE_INFO_EXT};
    static const VkDedicatedAllocationImageCreateInfoNV dedicated = {
        .sType = VK_STRUCTURE_TYPE_DEDICATED_ALLOCATION_IMAGE_CREATE_INFO_NV,
        .dedicatedAllocation = VK_TRUE};
    static const row rows[] = {
        {&swapchain, CULV_REASON_USAGE, {"VkImageSwapchainCreateInfoKHR", "of your own"}},
        {&fixed_rate, CULV_REASON_USAGE, {"VkImageCompressionControlEXT::flags", "DISABLED"}},
        {&no_list, CULV_REASON_NULL_ARGUMENT, {"pViewFormats is NULL", "viewFormatCount"}},
        {&no_stencil, CULV_REASON_USAGE, {"stencilUsage is 0", "TRANSFER_SRC"}},
        {&transient, CULV_REASON_USAGE, {"stencilUsage", "TRANSIENT_ATTACHMENT"}},
        {&unknown, CULV_REASON_USAGE, {"stencilUsage", "not know 0x80000000"}},
        {&modifiers,
         CULV_REASON_TILING,
         {"VkImageDrmFormatModifierListCreateInfoEXT", "leave it out"}},
        {&modifier,
         CULV_REASON_TILING,
         {"VkImageDrmFormatModifierExplicitCreateInfoEXT", "leave it out"}},
        {&external_nv, CULV_REASON_USAGE, {"VkExternalMemoryImageCreateInfoNV", "leave it out"}},
        {&captured,
         CULV_REASON_USAGE,
         {"VkOpaqueCaptureDescriptorDataCreateInfoEXT", "leave it out"}},
        {&dedicated,
         CULV_REASON_DEDICATED,
         {"dedicatedAllocation is set", "VkMemoryDedicatedAllocateInfo"}},
    };
    culv_vk_sharing_info s;
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        VkImageCreateInfo info = check_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64);
        info.pNext = rows[n].of;
        check_refused(__FILE__, __LINE__, check_image_agrees(w, &info, NULL, &s),
                      CULV_ERROR_INVALID, rows[n].reason, rows[n].words, 2);
    }
    REQUIRE_EQ(lib_counts(w).created, 0);
}

LIB_CASE(of_buffers, .title = "refusals.chains_of_buffers")
{
    static const VkBaseInStructure usage2 = {.sType = (VkStructureType)1000470006};
    static const VkDedicatedAllocationBufferCreateInfoNV dedicated = {
        .sType = VK_STRUCTURE_TYPE_DEDICATED_ALLOCATION_BUFFER_CREATE_INFO_NV,
        .dedicatedAllocation = VK_TRUE};
    static const VkBufferOpaqueCaptureAddressCreateInfo address = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO,
        .opaqueCaptureAddress = 4096};
    static const VkBufferDeviceAddressCreateInfoEXT address_ext = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_CREATE_INFO_EXT, .deviceAddress = 4096};
    static const VkOpaqueCaptureDescriptorDataCreateInfoEXT captured = {
        .sType = VK_STRUCTURE_TYPE_OPAQUE_CAPTURE_DESCRIPTOR_DATA_CREATE_INFO_EXT};
    static const row rows[] = {
        {&usage2,
         CULV_REASON_USAGE,
         {"VkBufferUsageFlags2CreateInfo", "VkBufferCreateInfo::usage"}},
        {&dedicated,
         CULV_REASON_DEDICATED,
         {"dedicatedAllocation is set", "VkMemoryDedicatedAllocateInfo"}},
        {&address, CULV_REASON_USAGE, {"not replayed", "leave it out"}},
        {&address_ext, CULV_REASON_USAGE, {"not replayed", "leave it out"}},
        {&captured, CULV_REASON_USAGE, {"not replayed", "leave it out"}},
    };
    culv_vk_sharing_info s;
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        VkBufferCreateInfo info = check_buffer_info(4096);
        info.pNext = rows[n].of;
        check_refused(__FILE__, __LINE__, check_buffer_agrees(w, &info, NULL, &s),
                      CULV_ERROR_INVALID, rows[n].reason, rows[n].words, 2);
    }
    REQUIRE_EQ(lib_counts(w).created, 0);
}

/* Profiles are handed on to Vulkan's question; what is decoded into is mapped so. */
TEST(video, .own = true)
{
    lib_with_option("--validation=off"); /* the devices of the tests have no video */
    lib_world w;
    lib_open(&w);
    check_spy = (check_spying){.tells_nothing = true};
    culv_vk_device *vk = check_attach(&w, VK_API_VERSION_1_3);
    const VkVideoDecodeH264ProfileInfoKHR h264 = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_H264_PROFILE_INFO_KHR,
        .stdProfileIdc = STD_VIDEO_H264_PROFILE_IDC_HIGH};
    const VkVideoProfileInfoKHR profile = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_PROFILE_INFO_KHR,
        .pNext = &h264,
        .videoCodecOperation = VK_VIDEO_CODEC_OPERATION_DECODE_H264_BIT_KHR,
        .chromaSubsampling = VK_VIDEO_CHROMA_SUBSAMPLING_422_BIT_KHR,
        .lumaBitDepth = VK_VIDEO_COMPONENT_BIT_DEPTH_8_BIT_KHR,
        .chromaBitDepth = VK_VIDEO_COMPONENT_BIT_DEPTH_8_BIT_KHR};
    VkVideoProfileListInfoKHR list = {.sType = VK_STRUCTURE_TYPE_VIDEO_PROFILE_LIST_INFO_KHR,
                                      .profileCount = 1,
                                      .pProfiles = &profile};
    VkImageCreateInfo info = check_image_info(VK_FORMAT_G8B8G8R8_422_UNORM, 64, 64);
    info.usage |= VK_IMAGE_USAGE_VIDEO_DECODE_DST_BIT_KHR;
    info.pNext = &list;
    culv_vk_sharing_info s = culv_vk_sharing_info_init();
    culv_result r = culv_vk_check_image(vk, &info, NULL, &s);
    MEASURED("check.video", "%s", r == CULV_OK ? "exported" : culv_last_error_message());
    if (r == CULV_OK) REQUIRE_EQ(s.image.video_encode_decode, 1);
    culv_error e = culv_error_init();
    culv_last_error(&e);
    const bool no_array =
        r == CULV_ERROR_UNSUPPORTED && e.reason == CULV_REASON_FORMAT; /* nobody asks on then */
    REQUIRE(check_spy.saw_video || check_spy.sharing == 0 || no_array);
    list.profileCount = 0;
    LIB_INVALID(culv_vk_check_image(vk, &info, NULL, &s), USAGE, "VkVideoProfileListInfoKHR");
    culv_vk_detach(&vk);
    lib_close(&w);
}

/* A 3D image that depth is drawn into cannot be shared, but copied to. */
LIB_CASE(slices_fall_back)
{
    VkImageCreateInfo info = check_image_info(VK_FORMAT_D32_SFLOAT, 31, 17);
    info.imageType = VK_IMAGE_TYPE_3D;
    info.extent.depth = 9;
    info.usage |= VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT;
    VkImageFormatProperties most;
    if (vkGetPhysicalDeviceImageFormatProperties(w->vk.physical, info.format, info.imageType,
                                                 info.tiling, info.usage, info.flags,
                                                 &most) != VK_SUCCESS)
        SKIP("this Vulkan has no such images");
    culv_shared_image *made = NULL;
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    LIB_REFUSES(made, culv_vk_image_create(w->attachment, &d, &made), UNSUPPORTED, USAGE);
    d.fallback = CULV_FALLBACK_HOST;
    LIB_OK(culv_vk_image_create(w->attachment, &d, &made));
    REQUIRE_EQ(culv_image_sharing(culv_shared_image_cuda(made)), CULV_SHARING_HOST);
    culv_shared_image_destroy(&made, NULL);
}

/* A driver that has such images until one is made: it is refused as what the device has not, with
 * all that it was. */
LIB_CASE(only_the_driver_knew)
{
    static const VkResult results[] = {VK_ERROR_FORMAT_NOT_SUPPORTED,
                                       VK_ERROR_IMAGE_USAGE_NOT_SUPPORTED_KHR};
    check_spy = (check_spying){0};
    culv_vk_device *vk = check_attach(w, VK_API_VERSION_1_3);
    culv_vk_sharing_info s = culv_vk_sharing_info_init();
    VkImageCreateInfo info = check_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64);
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    LIB_OK(culv_vk_check_image(vk, &info, NULL, &s));
    for (size_t n = 0; n < sizeof results / sizeof results[0]; n++) {
        culv_shared_image *made = NULL;
        check_spy.create_result = results[n];
        LIB_REFUSES(made, culv_vk_image_create(vk, &d, &made), UNSUPPORTED, DRIVER_REFUSED,
                    "R8G8B8A8_UNORM image of imageType 1, 64 x 64 x 1 texels, 1 layers, 1 levels",
                    "NOT_SUPPORTED");
    }
    culv_vk_detach(&vk);
}
