// The rows of C++, of which C++11 is the oldest that the header promises. SPDX-License-Identifier: MIT
#include "calls.c"
