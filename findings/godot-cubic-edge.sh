#!/bin/sh
# Godot's cubic resize makes the first column and the first row of a picture brighter.
# Version: godot3-server 3.2.3-stable-1+b3.
# Guess: an image of one gray, 100, stays so if it is resized by Image.INTERPOLATE_CUBIC, as by the other filters.
# Behaviour: the first column and the first row of the result become 106, for a larger and for a smaller size, and their corner 113; the last ones are
#   100. The same size copies. Lanczos and bilinear keep the gray. Resize with a border of 2, and crop.
# Seen: cubic; to 12: left 106, right 100, top 106, bottom 100, corner 113; to 7: left 106, right 100, top 106, bottom 100, corner 113
#   lanczos; to 12: left 100, right 100, top 100, bottom 100, corner 100; to 7: left 100, right 100, top 100, bottom 100, corner 100
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
godot32 <<'GD'
for filter in [Image.INTERPOLATE_CUBIC, Image.INTERPOLATE_LANCZOS]:
    var text = "cubic" if filter == Image.INTERPOLATE_CUBIC else "lanczos"
    for side in [12, 7]:
        var image = Image.new()
        image.create(8, 8, false, Image.FORMAT_RGB8)
        image.fill(Color8(100, 100, 100))
        image.resize(side, side, filter)
        image.lock()
        var last = side - 1
        text += "; to %d: left %d, right %d, top %d, bottom %d, corner %d" % [side, image.get_pixel(0, 4).r8, image.get_pixel(last, 4).r8,
            image.get_pixel(4, 0).r8, image.get_pixel(4, last).r8, image.get_pixel(0, 0).r8]
        image.unlock()
    print(text)
GD
same "cubic; to 12: left 106, right 100, top 106, bottom 100, corner 113; to 7: left 106, right 100, top 106, bottom 100, corner 113
lanczos; to 12: left 100, right 100, top 100, bottom 100, corner 100; to 7: left 100, right 100, top 100, bottom 100, corner 100" \
    "$(cat "$work/seen")"
