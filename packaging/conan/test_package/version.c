/* SPDX-License-Identifier: MIT */
#include <culvert/culvert.h>

#include <stdio.h>

int main(void)
{
    printf("culvert %s\n", culv_version_string());
    return culv_version() != CULV_VERSION;
}
