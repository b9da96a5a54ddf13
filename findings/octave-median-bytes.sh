#!/bin/sh
# Octave's median of the bytes 200 and 250 is 128.
# Version: octave 7.3.0-2.
# Guess: the median lies between the smallest and the largest value, in each type: 225, as mean() and the median of
#   doubles say.
# Behaviour: with an even number of values the two in the middle are added in the type of the data, where the sum ends
#   at 255, and are halved: 128 for each two bytes above 127, and 16384 for large 16-bit values. So the median of a
#   bright picture is darker than its darkest pixel. An odd number is right. Take median(double(x)).
# Seen: 200 250: median 128, mean 225, median of doubles 225; a picture of 4 x 4 times 240: 128, of 3 x 3: 240; int16 30000 twice: 16384
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 octave=7.3.0-2
cat >"$work/bytes.m" <<'M'
pair = uint8([200 250]);
printf("200 250: median %g, mean %g, median of doubles %g; ", median(pair), mean(pair), median(double(pair)));
printf("a picture of 4 x 4 times 240: %g, of 3 x 3: %g; ", median(repmat(uint8(240), 16, 1)), median(repmat(uint8(240), 9, 1)));
printf("int16 30000 twice: %g\n", median(int16([30000 30000])));
M
same "200 250: median 128, mean 225, median of doubles 225; a picture of 4 x 4 times 240: 128, of 3 x 3: 240; int16 30000 twice: 16384" \
    "$(HOME=$work octave-cli --norc --quiet "$work/bytes.m" 2>"$work/log")"
