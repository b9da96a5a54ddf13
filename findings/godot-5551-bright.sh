#!/bin/sh
# Godot reads RGBA5551 as if 15 were its white.
# Version: godot3-server 3.2.3-stable-1+b3.
# Guess: an image of gray that is converted to FORMAT_RGBA5551 and back to RGBA8 is the same gray within 1/31: 128 is 123 or 132.
# Behaviour: five bits are written, and they are divided by 15 when they are read: 64 comes back as 119, 128 and more as 255. get_pixel() says so, too. Of
#   RGBA4444, 128 comes back as 119. The bits are right: let a GPU read them, or convert to RGBA4444.
# Seen: RGBA5551: 0 is 0, 64 is 119, 100 is 204, 128 is 255, 255 is 255
#   RGBA4444: 0 is 0, 64 is 51, 100 is 85, 128 is 119, 255 is 255
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
godot32 <<'GD'
for kind in [Image.FORMAT_RGBA5551, Image.FORMAT_RGBA4444]:
    var text = "RGBA5551:" if kind == Image.FORMAT_RGBA5551 else "RGBA4444:"
    for gray in [0, 64, 100, 128, 255]:
        var image = Image.new()
        image.create_from_data(1, 1, false, Image.FORMAT_RGBA8, PoolByteArray([gray, gray, gray, 255]))
        image.convert(kind)
        image.convert(Image.FORMAT_RGBA8)
        text += " %d is %d," % [gray, image.get_data()[0]]
    print(text.trim_suffix(","))
GD
same "RGBA5551: 0 is 0, 64 is 119, 100 is 204, 128 is 255, 255 is 255
RGBA4444: 0 is 0, 64 is 51, 100 is 85, 128 is 119, 255 is 255" \
    "$(cat "$work/seen")"
