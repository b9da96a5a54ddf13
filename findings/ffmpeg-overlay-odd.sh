#!/bin/sh
# FFmpeg's overlay puts a picture a pixel away from an odd place, and overlay_vulkan does not.
# Version: ffmpeg 7:5.1.9-0+deb12u1 on mesa-vulkan-drivers 22.3.6-1+deb12u2.
# Guess: overlay=x=3:y=5 puts the first pixel of the second picture to (3, 5): in 4:2:0 the colors may be half a pixel
#   off, the luma lies where it was asked for. The Vulkan filter of the same name does the same.
# Behaviour: overlay rounds both numbers down to even ones without a word, also for two RGB pictures, because it blends
#   them in 4:2:0 by default: the luma starts at (2, 4), so what glides across the picture moves by two pixels at every
#   other step. overlay_vulkan starts at (3, 5), and so does overlay with format=gbrp or yuv444.
# Seen: overlay of yuv420p (2, 4), of rgb24 (2, 4), of rgb24 with format=gbrp (3, 5), overlay_vulkan of yuv420p (3, 5)
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
lavapipe22
debian12 ffmpeg=7:5.1.9-0+deb12u1
# The first place that has the luma of the second picture: format, way ...
first() {
    format=$1
    shift
    VK_ICD_FILENAMES=$VK_DRIVER_FILES timeout 120 ffmpeg -v error -nostdin -init_hw_device vulkan=gpu:0 -filter_hw_device gpu \
        -f lavfi -i "color=gray:s=16x16,format=$format" -f lavfi -i "color=white:s=4x4,format=$format" \
        -filter_complex "$1" -frames:v 1 -pix_fmt gray -f rawvideo - 2>"$work/log" | od -An -v -tu1 -w16 |
        awk '!found { for (x = 1; x <= 16; x++) if ($x > 200) { print "(" x - 1 ", " NR - 1 ")"; found = 1; break } }'
}
same "overlay of yuv420p (2, 4), of rgb24 (2, 4), of rgb24 with format=gbrp (3, 5), overlay_vulkan of yuv420p (3, 5)" \
    "overlay of yuv420p $(first yuv420p '[0][1]overlay=x=3:y=5'), of rgb24 $(first rgb24 '[0][1]overlay=x=3:y=5'), of rgb24 with format=gbrp $(
        first rgb24 '[0][1]overlay=x=3:y=5:format=gbrp'), overlay_vulkan of yuv420p $(
        first yuv420p '[0]hwupload[a];[1]hwupload[b];[a][b]overlay_vulkan=x=3:y=5,hwdownload,format=yuv420p')"
