/* The one translation unit that holds volk's function pointers. SPDX-License-Identifier: MIT */
#define VOLK_IMPLEMENTATION
#include <volk.h>
