#!/bin/sh
# FFmpeg's hflip_vulkan is not hflip: it is a column off and mixes rows.
# Version: ffmpeg 7:5.1.9-0+deb12u1 on mesa-vulkan-drivers 22.3.6-1+deb12u2.
# Guess: hwupload,hflip_vulkan,hwdownload gives the bytes that hflip gives: a flip moves pixels
#   and calculates nothing. Upload and download alone, and scale_vulkan to the same size, are
#   exact.
# Behaviour: a picture of 8 x 8 whose first row is ABCDEFGH becomes HHGFEDCB: the first column is
#   doubled and the last is lost. Each row below is the mean of itself and the row above (P and H
#   make L). vflip_vulkan and transpose_vulkan are off in the same way.
# Seen: hflip: HGFEDCBA PONMLKJI; hflip_vulkan: HHGFEDCB LLKJIHGF; scale_vulkan to the same size: ABCDEFGH IJKLMNOP
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
lavapipe22
debian12 ffmpeg=7:5.1.9-0+deb12u1
printf 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-' >"$work/picture"
through() {
    VK_ICD_FILENAMES=$VK_DRIVER_FILES timeout 120 ffmpeg -v error -nostdin -init_hw_device vulkan=gpu:0 -filter_hw_device gpu \
        -f rawvideo -pix_fmt gray -s 8x8 -i "$work/picture" -vf "$1" -f rawvideo - 2>"$work/log" | sed 's/^\(.\{8\}\)\(.\{8\}\).*/\1 \2/'
}
same "hflip: HGFEDCBA PONMLKJI; hflip_vulkan: HHGFEDCB LLKJIHGF; scale_vulkan to the same size: ABCDEFGH IJKLMNOP" \
    "hflip: $(through hflip); hflip_vulkan: $(through hwupload,hflip_vulkan,hwdownload,format=gray); scale_vulkan to the same size: $(
        through hwupload,scale_vulkan=w=8:h=8,hwdownload,format=gray)"
