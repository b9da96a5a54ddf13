/* SPDX-License-Identifier: MIT */
/* A libcuda.so.1 from before cuGetProcAddress_v2: loads, starts, and is too old. */
__attribute__((visibility("default"))) int cuInit(unsigned flags);

int cuInit(unsigned flags)
{
    return 0;
}
