#!/bin/sh
# What NumPy took by DLPack it does not give by DLPack.
# Version: python3-numpy 1:1.24.2-1+deb12u1.
# Guess: from_dlpack of a writable array is a writable view of the same memory, and can be handed
#   on by DLPack in turn.
# Behaviour: it shares the memory and is read-only, though nobody said so, and NumPy refuses to
#   export what is read-only. So a chain of two steps fails, and who wants to write must go
#   through the capsule's address or __array_interface__.
# Seen: shares True, writable False; handed on: BufferError: Cannot export readonly array since signalling readonly is unsupported by DLPack.
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/twice.py" <<'END'
import numpy

first = numpy.arange(6.0)
second = numpy.from_dlpack(first)
print(f"shares {numpy.shares_memory(first, second)}, writable {second.flags.writeable}", end="; ")
try:
    third = numpy.from_dlpack(second)
    print(f"handed on: {numpy.shares_memory(first, third)}")
except BufferError as error:
    print(f"handed on: BufferError: {error}")
END
same "shares True, writable False; handed on: BufferError: Cannot export readonly array since signalling readonly is unsupported by DLPack." \
    "$(/usr/bin/python3 "$work/twice.py")"
