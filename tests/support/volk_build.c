/* SPDX-License-Identifier: MIT */
/* The one translation unit that holds volk's function pointers. */
#define VOLK_IMPLEMENTATION
#include <volk.h>
