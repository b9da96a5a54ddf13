/* SPDX-License-Identifier: MIT */
/* In the source tree. An installation has that file itself here. */
#include "../../../cuda_headers/cuda.h"
