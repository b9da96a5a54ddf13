/* SPDX-License-Identifier: MIT */
/* What the files of the suite of tensors share. */
#ifndef CULVERT_TESTS_DLPACK_STAGE_H_
#define CULVERT_TESTS_DLPACK_STAGE_H_

#include "library.h"

#include <culvert/dlpack.h>

#endif
