#!/bin/sh
# scikit-image takes floats to reach from 0 to 1 for one measure, and from -1 to 1 for the other.
# Version: python3-skimage 0.19.3-8, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: structural_similarity of two float pictures between 0 and 1 is that of the same pictures in bytes, as
#   peak_signal_noise_ratio is: without data_range both know what a float picture is.
# Behaviour: PSNR takes 1 for the range as long as nothing is negative. SSIM takes 2, without a warning, so its
#   constants are four times as large and the result is nearer to 1, above all for dark pictures: 0.983 instead
#   of 0.966, twice as good a score. A limit that was chosen with bytes passes worse renderings as floats.
# Seen: SSIM: floats 0.983, with data_range=1 0.966, bytes 0.965; PSNR: floats 40.6, with data_range=1 40.6, bytes 40.4
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-skimage=0.19.3-8 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/ssim.py" <<'PY'
import warnings

import numpy
from skimage import metrics

random = numpy.random.default_rng(1)
exact = random.random((64, 64))
noisy = (exact + random.normal(0, 0.1, exact.shape)).clip(0, 1)
floats = exact * 0.1, noisy * 0.1
as_bytes = [(picture * 255).round().astype("u1") for picture in floats]
texts = []
for name, measure, digits in (("SSIM", metrics.structural_similarity, 3), ("PSNR", metrics.peak_signal_noise_ratio, 1)):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        alone = measure(*floats)
    assert not told
    told_range, of_bytes = measure(*floats, data_range=1), measure(*as_bytes)
    texts.append(f"{name}: floats {alone:.{digits}f}, with data_range=1 {told_range:.{digits}f}, bytes {of_bytes:.{digits}f}")
print("; ".join(texts))
PY
same "SSIM: floats 0.983, with data_range=1 0.966, bytes 0.965; PSNR: floats 40.6, with data_range=1 40.6, bytes 40.4" "$(/usr/bin/python3 "$work/ssim.py")"
