#!/bin/sh
# From 26 points on PyTorch's cdist says that a point is 0.7 away from itself.
# Version: python3-torch 1.13.1+dfsg-4.
# Guess: torch.cdist(points, points) is sqrt(dx^2 + dy^2 + dz^2) of each pair, right to a float's last digits
#   (coordinates of 1,000 leave 1e-4), 0 on the diagonal, and the same for more points or less.
# Behaviour: it is for 25 points. With 26 or more it becomes |a|^2 + |b|^2 - 2ab by a product of matrices, whose
#   cancellation is as large as the cloud is far from 0: within a cube of 1 at 1,000, distances are off by up
#   to 0.7, and whether two particles are neighbors is chance. Move the points to 0 first, or say
#   compute_mode="donot_use_mm_for_euclid_dist".
# Seen: 25 points: diagonal 0, off by less than 0.001; 26 points: diagonal more than 0.1, off by more than 0.1; without that product: diagonal 0, off by less than 0.001
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-torch=1.13.1+dfsg-4
cat >"$work/distance.py" <<'PY'
import torch


def size(number):
    return "0" if number == 0 else "less than 0.001" if number < 0.001 else "more than 0.1" if number > 0.1 else f"{number:.3f}"


def text(count, **mode):
    torch.manual_seed(1)
    points = torch.rand(count, 3) + 1000
    found = torch.cdist(points, points, **mode)
    exact = (points[:, None].double() - points[None].double()).norm(dim=-1)
    return f"diagonal {size(found.diagonal().max())}, off by {size((found - exact).abs().max())}"


print(f"25 points: {text(25)}; 26 points: {text(26)}; ", end="")
print(f"without that product: {text(26, compute_mode='donot_use_mm_for_euclid_dist')}")
PY
same "25 points: diagonal 0, off by less than 0.001; 26 points: diagonal more than 0.1, off by more than 0.1; without that product: diagonal 0, off by less than 0.001" \
    "$(/usr/bin/python3 "$work/distance.py")"
