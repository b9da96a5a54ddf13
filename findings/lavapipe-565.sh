#!/bin/sh
# A blit of lavapipe to R5G6B5 takes the upper bits of eight, a clear rounds.
# Version: mesa-vulkan-drivers 22.3.6-1+deb12u2 (25.0.7 of backports does the same, and a draw
#   does what the blit does).
# Guess: a value becomes the nearest of the format's steps (Vulkan says that it should): 3/255 of
#   green is 0.74 steps of 63, so 1, and 252/255 is 62.26, so 62.
# Behaviour: vkCmdClearColorImage does so. vkCmdBlitImage makes eight bits and drops the lower
#   two: 3/255 becomes 0, 252/255 is full. 42 of 256 values are not the nearest step, and a
#   picture that is cleared and one that is drawn in the same color differ.
# Seen: 3/255 cleared 1, blitted 0; 252/255 cleared 62, blitted 63; not the nearest step: cleared 0, blitted 42; i >> 2: 256 of 256
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
lavapipe22
compile steps -lm -lvulkan <<'END'
#include "vk.h"
#include <math.h>
enum { N = 256 };

static unsigned far_[2], shifted[2], step[2][N];

static void measure(int which, VkFormat format)
{
    VkImageUsageFlags both = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    VkImageBlit whole = {{VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                         {{0}, {1, 1, 1}},
                         {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                         {{0}, {1, 1, 1}}};
    VkBufferImageCopy one = texels(1);
    VkImage from = row_with_memory(VK_FORMAT_R32G32B32A32_SFLOAT, 1, both),
            to = row_with_memory(format, 1, both);
    struct bytes out = bytes(4 * N, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    VkCommandBuffer commands = begin();
    general(commands, from), general(commands, to);
    for (int i = 0; i < N; i++, one.bufferOffset += 4) {
        VkClearColorValue color = {{0, (float)i / 255, 0, 0}};
        vkCmdClearColorImage(commands, which ? from : to, VK_IMAGE_LAYOUT_GENERAL, &color, 1,
                             &range);
        barrier(commands);
        if (which)
            vkCmdBlitImage(commands, from, VK_IMAGE_LAYOUT_GENERAL, to, VK_IMAGE_LAYOUT_GENERAL, 1,
                           &whole, VK_FILTER_NEAREST);
        barrier(commands);
        vkCmdCopyImageToBuffer(commands, to, VK_IMAGE_LAYOUT_GENERAL, out.buffer, 1, &one);
        barrier(commands);
    }
    run(commands);
    for (unsigned i = 0; i < N; i++) {
        step[which][i] = *(uint16_t *)((char *)out.host + 4 * i) >> 5 & 63;
        far_[which] += step[which][i] != (unsigned)lround(i * 63.0 / 255);
        shifted[which] += step[which][i] == i >> 2;
    }
}

int main(void)
{
    start(NULL, 0, NULL);
    measure(0, VK_FORMAT_R5G6B5_UNORM_PACK16);
    measure(1, VK_FORMAT_R5G6B5_UNORM_PACK16);
    printf(
        "3/255 cleared %u, blitted %u; 252/255 cleared %u, blitted %u; not the nearest step: cleared %u, blitted %u; i >> 2: %u of 256\n",
        step[0][3], step[1][3], step[0][252], step[1][252], far_[0], far_[1], shifted[1]);
    return 0;
}
END
same "3/255 cleared 1, blitted 0; 252/255 cleared 62, blitted 63; not the nearest step: cleared 0, blitted 42; i >> 2: 256 of 256" \
    "$("$work/steps")"
