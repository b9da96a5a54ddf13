#!/bin/sh
# FFmpeg's own identity table for colors makes each color a step darker.
# Version: ffmpeg 7:5.1.9-0+deb12u1.
# Guess: haldclut with the table of haldclutsrc changes nothing: "identity" it is called, and lut3d with
#   an identity in a .cube file changes nothing. A table that is made by editing that picture changes
#   what was edited alone.
# Behaviour: of the 256 grays 253 come out one step darker, 255 as 254, 128 as 127: what was
#   interpolated is cut off instead of rounded. Three passes are three steps.
# Seen: haldclut: 253 of 256 grays differ, 1 to 0, 128 to 127, 255 to 254, thrice 252; lut3d of a .cube: 0 of 256 grays differ
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 ffmpeg=7:5.1.9-0+deb12u1 python3=3.11.2-1+b1
cat >"$work/identity.cube" <<'CUBE'
LUT_3D_SIZE 2
0 0 0
1 0 0
0 1 0
1 1 0
0 0 1
1 0 1
0 1 1
1 1 1
CUBE
/usr/bin/python3 -c 'import sys; sys.stdout.buffer.write(bytes(v for v in range(256) for _ in range(3)))' >"$work/grays"
through() { # name, filters; the second input is the table
    ffmpeg -v error -nostdin -f rawvideo -pix_fmt rgb24 -s 256x1 -i "$work/grays" -f lavfi -i haldclutsrc=8 -filter_complex "$2" \
        -frames:v 1 -f rawvideo -pix_fmt rgb24 "$work/$1" 2>"$work/log" || unknown "ffmpeg does not take the filters"
}
through once '[0][1]haldclut'
through thrice '[1]split=3[a][b][c];[0][a]haldclut[x];[x][b]haldclut[y];[y][c]haldclut'
through cube "[1]nullsink;[0]lut3d=$work/identity.cube"
cat >"$work/look.py" <<'PY'
import pathlib
import sys

once, thrice, cube = ((pathlib.Path(sys.argv[1]) / name).read_bytes()[::3] for name in ("once", "thrice", "cube"))


def differ(grays):
    return f"{sum(was != now for was, now in enumerate(grays))} of 256 grays differ"


print(f"haldclut: {differ(once)}, 1 to {once[1]}, 128 to {once[128]}, 255 to {once[255]}, thrice {thrice[255]}; lut3d of a .cube: {differ(cube)}")
PY
same "haldclut: 253 of 256 grays differ, 1 to 0, 128 to 127, 255 to 254, thrice 252; lut3d of a .cube: 0 of 256 grays differ" \
    "$(/usr/bin/python3 "$work/look.py" "$work")"
