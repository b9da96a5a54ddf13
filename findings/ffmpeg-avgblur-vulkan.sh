#!/bin/sh
# FFmpeg's avgblur_vulkan darkens two of four edges of a gray picture that has one color.
# Version: ffmpeg 7:5.1.9-0+deb12u1 on mesa-vulkan-drivers 22.3.6-1+deb12u2.
# Guess: the mean of equal numbers is that number, so a uniform picture stays as it is, at its edges, too, as by
#   avgblur and gblur_vulkan.
# Behaviour: the last columns and rows sink towards black: with radius 3 the row 100 100 ... 100 ends in 90 70, and the
#   lowest one has 60. The first columns and rows keep 100. What lies right of the picture counts as black, and what
#   lies left of it does not, so the picture also moves.
# Seen: avgblur_vulkan, rows 1 and 8: 100 100 ... 90 70, row 16: 60 60 ... 54 42; avgblur and gblur_vulkan: 100 everywhere
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
lavapipe22
debian12 ffmpeg=7:5.1.9-0+deb12u1
printf '%0256d' 0 | tr 0 d >"$work/picture"
through() {
    VK_ICD_FILENAMES=$VK_DRIVER_FILES timeout 120 ffmpeg -v error -nostdin -init_hw_device vulkan=gpu:0 -filter_hw_device gpu \
        -f rawvideo -pix_fmt gray -s 16x16 -i "$work/picture" -vf "$1" -f rawvideo - 2>"$work/log" |
        od -An -v -tu1 -w16 | awk 'NR == 1 || NR == 8 || NR == 16 { print NR ":", $1, $2, "...", $15, $16 }' | paste -sd ' '
}
same "avgblur 1: 100 100 ... 100 100 8: 100 100 ... 100 100 16: 100 100 ... 100 100
gblur_vulkan 1: 100 100 ... 100 100 8: 100 100 ... 100 100 16: 100 100 ... 100 100
avgblur_vulkan 1: 100 100 ... 90 70 8: 100 100 ... 90 70 16: 60 60 ... 54 42" "avgblur $(through avgblur=3)
gblur_vulkan $(through hwupload,gblur_vulkan=sigma=2,hwdownload,format=gray)
avgblur_vulkan $(through hwupload,avgblur_vulkan=sizeX=3:sizeY=3,hwdownload,format=gray)"
