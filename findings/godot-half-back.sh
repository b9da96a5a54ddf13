#!/bin/sh
# Bytes that Godot widens to half floats come back one less.
# Version: godot3-server 3.2.3-stable-1+b3.
# Guess: an image of RGB8 that is converted to FORMAT_RGBH and back is the same: a half holds eight bits with three to spare, and 1/255 steps are far apart.
# Behaviour: each value but 0 and 255 comes back one less, because the half is cut off to a byte and is in part below value/255. By FORMAT_RGBF all come
#   back. Each further turn takes one more. Convert from RGBF, or add half a step.
# Seen: halves: 2 the same, 254 one less
#   floats: 256 the same, 0 one less
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
godot32 <<'GD'
for kind in [Image.FORMAT_RGBH, Image.FORMAT_RGBF]:
    var less = 0
    var same = 0
    for value in range(256):
        var image = Image.new()
        image.create_from_data(1, 1, false, Image.FORMAT_RGB8, PoolByteArray([value, value, value]))
        image.convert(kind)
        image.convert(Image.FORMAT_RGB8)
        same += int(image.get_data()[0] == value)
        less += int(image.get_data()[0] == value - 1)
    print("halves: " if kind == Image.FORMAT_RGBH else "floats: ", same, " the same, ", less, " one less")
GD
same "halves: 2 the same, 254 one less
floats: 256 the same, 0 one less" \
    "$(cat "$work/seen")"
