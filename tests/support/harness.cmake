# The harness's files, also for projects of their own. SPDX-License-Identifier: MIT
set(culvert_harness harness.c allowed.c answers.c later.c states.c)
list(TRANSFORM culvert_harness PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
