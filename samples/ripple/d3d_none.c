/* SPDX-License-Identifier: MIT */
/* ripple where there is no Direct3D. */
#include "../common/report.h"
#include "program.h"

bool d3d_run(program *p)
{
    report("--api=%s: Direct3D is Windows'; vulkan and gl are here",
           p->options.api == OPTIONS_D3D12 ? "d3d12" : "d3d11");
    return false;
}
