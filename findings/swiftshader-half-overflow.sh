#!/bin/sh
# A value beyond a half's range becomes not a number in SwiftShader.
# Version: SwiftShader of npm's @sparticuz/chromium 147.0.0 (Debian's chromium-common
#   150.0.7871.100 does the same).
# Guess: 70,000 becomes infinity (7c00) or the largest half, 65,504 (7bff); Vulkan allows both.
#   lavapipe has the latter in pictures. packHalf2x16 of a shader gives infinity, as C does.
# Behaviour: it is 7c46, which is NaN, in a shader, after a clear and after a blit: bits of the
#   mantissa are left under an infinity's exponent. A blit to B10G11R11 does the same. So a
#   highlight that is too bright becomes a hole, which spreads at the first blur.
# Seen: 70000 in a half: packHalf2x16 7c46, cleared 7c46, blitted 7c46; in 11 bits: blitted 7c4
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
swiftshader147
shader pack <<'GLSL'
#version 450
layout(binding = 0) buffer In { float value; };
layout(binding = 1) buffer Out { uint half_; };
void main() { half_ = packHalf2x16(vec2(value, 0)); }
GLSL
compile overflow -lvulkan <<'C'
#include "pack.h"
#include "vk.h"

int main(void)
{
    VkImageUsageFlags both = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    VkImageBlit whole = {{VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                         {{0}, {1, 1, 1}},
                         {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                         {{0}, {1, 1, 1}}};
    VkClearColorValue bright = {{70000, 70000, 70000, 1}};
    VkBufferImageCopy one = texels(1);
    start(NULL, 0, NULL);
    struct bytes values[2] = {bytes(4, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT),
                              bytes(4, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT)};
    struct bytes out = bytes(12, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    *(float *)values[0].host = 70000;
    compute(pack, sizeof pack, values, 2);
    VkImage from = row_with_memory(VK_FORMAT_R32G32B32A32_SFLOAT, 1, both),
            to[3] = {row_with_memory(VK_FORMAT_R16_SFLOAT, 1, both),
                     row_with_memory(VK_FORMAT_R16_SFLOAT, 1, both),
                     row_with_memory(VK_FORMAT_B10G11R11_UFLOAT_PACK32, 1, both)};
    VkCommandBuffer commands = begin();
    general(commands, from);
    for (int i = 0; i < 3; i++)
        general(commands, to[i]);
    vkCmdClearColorImage(commands, from, VK_IMAGE_LAYOUT_GENERAL, &bright, 1, &range);
    vkCmdClearColorImage(commands, to[0], VK_IMAGE_LAYOUT_GENERAL, &bright, 1, &range);
    barrier(commands);
    for (int i = 1; i < 3; i++)
        vkCmdBlitImage(commands, from, VK_IMAGE_LAYOUT_GENERAL, to[i], VK_IMAGE_LAYOUT_GENERAL, 1,
                       &whole, VK_FILTER_NEAREST);
    barrier(commands);
    for (int i = 0; i < 3; i++, one.bufferOffset += 4)
        vkCmdCopyImageToBuffer(commands, to[i], VK_IMAGE_LAYOUT_GENERAL, out.buffer, 1, &one);
    run(commands);
    uint32_t *seen = out.host, *packed = values[1].host;
    printf("70000 in a half: packHalf2x16 %x, cleared %x, blitted %x; in 11 bits: blitted %x\n",
           packed[0], seen[0] & 0xffff, seen[1] & 0xffff, seen[2] & 0x7ff);
    return 0;
}
C
same "70000 in a half: packHalf2x16 7c46, cleared 7c46, blitted 7c46; in 11 bits: blitted 7c4" "$("$work/overflow")"
