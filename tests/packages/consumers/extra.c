/* SPDX-License-Identifier: MIT */
/* A program of culvert-extra's. */
#include <culvert/culvert.h>
#include <culvert/extra/rdma.h>

#include <stdio.h>

int main(void)
{
    culv_rdma_cost cost = culv_rdma_cost_init();
    if (culv_rdma_get_cost(65541, 65536, &cost) != CULV_OK || cost.chunks != 2) return 1;
    printf("culvert %s\n", culv_version_string());
    return 0;
}
