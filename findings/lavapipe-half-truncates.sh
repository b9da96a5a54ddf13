#!/bin/sh
# A half-float picture of lavapipe is truncated, a half of the same driver's shader is rounded.
# Version: mesa-vulkan-drivers 22.3.6-1+deb12u2 (25.0.7 of backports does the same).
# Guess: 0.7 becomes 0x399a, the nearest half, wherever it is converted:
#   shaderRoundingModeRTEFloat16 is true, packHalf2x16 does it, and so do CUDA's __float2half and
#   _Float16 of C.
# Behaviour: vkCmdClearColorImage and vkCmdBlitImage leave 0x3999 in a picture of R16_SFLOAT: they
#   cut the bits off (Vulkan allows both). Of 512 values 1/3, 1/4, ... 201 differ by the last bit,
#   so pictures of a CUDA kernel and of a renderer are not equal.
# Seen: RTE claimed 1; 0.7 packed 399a, cleared 3999, blitted 3999; of 512 values other than C's: packed 0, cleared 201, blitted 201
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
lavapipe22
shader pack <<'END'
#version 450
layout(binding = 0) buffer In { float value[513]; };
layout(binding = 1) buffer Out { uint half_[513]; };
void main() { for (int i = 0; i < 513; i++) half_[i] = packHalf2x16(vec2(value[i], 0)); }
END
compile half -lvulkan <<'END'
#include "pack.h"
#include "vk.h"
enum { N = 513 };

int main(void)
{
    VkPhysicalDeviceVulkan12Properties claims = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                       .pNext = &claims};
    VkImageUsageFlags both = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    VkImageBlit whole = {{VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                         {{0}, {N, 1, 1}},
                         {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                         {{0}, {N, 1, 1}}};
    VkBufferImageCopy line = texels(N), one = texels(1);
    unsigned wrong[3] = {0};
    start(NULL, 0, NULL);
    vkGetPhysicalDeviceProperties2(gpu, &all);
    struct bytes values[2] = {
        bytes(4 * N, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT),
        bytes(4 * N, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT)};
    struct bytes cleared = bytes(2 * N + 2, VK_BUFFER_USAGE_TRANSFER_DST_BIT),
                 blitted = bytes(2 * N + 2, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    float *value = values[0].host;
    for (int i = 0; i < N; i++)
        value[i] = i == 0 ? 0.7F : 1.0F / (float)(i + 2);
    compute(pack, sizeof pack, values, 2);
    VkImage texel = row_with_memory(VK_FORMAT_R16_SFLOAT, 1, both),
            to = row_with_memory(VK_FORMAT_R16_SFLOAT, N, both);
    VkImage from = row_with_memory(VK_FORMAT_R32_SFLOAT, N, both);
    VkCommandBuffer commands = begin();
    general(commands, texel), general(commands, to), general(commands, from);
    for (int i = 0; i < N; i++, one.bufferOffset += 2) {
        vkCmdClearColorImage(commands, texel, VK_IMAGE_LAYOUT_GENERAL,
                             &(VkClearColorValue){{value[i]}}, 1, &range);
        barrier(commands);
        vkCmdCopyImageToBuffer(commands, texel, VK_IMAGE_LAYOUT_GENERAL, cleared.buffer, 1, &one);
        barrier(commands);
    }
    vkCmdCopyBufferToImage(commands, values[0].buffer, from, VK_IMAGE_LAYOUT_GENERAL, 1, &line);
    barrier(commands);
    vkCmdBlitImage(commands, from, VK_IMAGE_LAYOUT_GENERAL, to, VK_IMAGE_LAYOUT_GENERAL, 1, &whole,
                   VK_FILTER_NEAREST);
    barrier(commands);
    vkCmdCopyImageToBuffer(commands, to, VK_IMAGE_LAYOUT_GENERAL, blitted.buffer, 1, &line);
    run(commands);
    uint32_t *packed = values[1].host;
    uint16_t *clear = cleared.host, *blit = blitted.host;
    for (int i = 1; i < N; i++) {
        union {
            _Float16 half;
            uint16_t bits;
        } c = {.half = (_Float16)value[i]};
        wrong[0] += packed[i] != c.bits, wrong[1] += clear[i] != c.bits,
            wrong[2] += blit[i] != c.bits;
    }
    printf(
        "RTE claimed %u; 0.7 packed %x, cleared %x, blitted %x; of 512 values other than C's: packed %u, cleared %u, blitted %u\n",
        claims.shaderRoundingModeRTEFloat16, packed[0], clear[0], blit[0], wrong[0], wrong[1],
        wrong[2]);
    return 0;
}
END
same "RTE claimed 1; 0.7 packed 399a, cleared 3999, blitted 3999; of 512 values other than C's: packed 0, cleared 201, blitted 201" \
    "$("$work/half")"
