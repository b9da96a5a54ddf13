/* SPDX-License-Identifier: MIT */
/* What exports of VMM memory need of the system: nothing for file descriptors. */
#include "vmm/share.h"

const void *culvi_vmm_object_attributes(void)
{
    return NULL; /* no NT handles here (cuda.h, CUmemAllocationProp: zero in all other cases) */
}
