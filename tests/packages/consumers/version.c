/* SPDX-License-Identifier: MIT */
/* The least that a program can do with Culvert. Also compiled as C++. */
#include <culvert/culvert.h>
#include <stdio.h>

#if defined(CONSUMER_C99) && __STDC_VERSION__ != 199901L
#    error "culvert's targets raise the C standard of what uses them"
#endif

int main(void)
{
    printf("culvert %s\n", culv_version_string());
    return culv_version() == CULV_VERSION ? 0 : 1;
}
