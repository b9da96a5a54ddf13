#!/bin/sh
# A basis in Godot is asked whether it is about equal to another one, and the identity answers.
# Version: godot3-server 3.2.3-stable-1+b3.
# Guess: Basis.is_equal_approx(other) says whether both are the same within 0.00001: a rotation is equal to itself and not to the identity.
# Behaviour: the basis that is asked does not count: the argument is compared with the identity. A rotation is not equal to itself, each basis is equal to
#   the identity, and the second argument changes nothing. Quat and Transform answer right. Compare Transforms.
# Seen: a rotation and itself: False, as Transforms: True
#   it and the identity: True, the identity and it: False
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
godot32 <<'GD'
var turned = Basis(Vector3(0.1, 0.2, 0.3))
var one = Basis()
print("a rotation and itself: ", turned.is_equal_approx(turned), ", as Transforms: ",
    Transform(turned, Vector3()).is_equal_approx(Transform(turned, Vector3())))
print("it and the identity: ", turned.is_equal_approx(one), ", the identity and it: ", one.is_equal_approx(turned))
GD
same "a rotation and itself: False, as Transforms: True
it and the identity: True, the identity and it: False" \
    "$(cat "$work/seen")"
