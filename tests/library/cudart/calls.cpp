// SPDX-License-Identifier: MIT
// The rows of C++, of which C++11 is the oldest that the header promises.
#include "calls.c"
