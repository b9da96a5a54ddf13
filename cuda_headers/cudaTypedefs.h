/* SPDX-License-Identifier: MIT */
/* The typed entry points are in cuda.h beside this file. */
#include "cuda.h"
