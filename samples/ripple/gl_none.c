/* SPDX-License-Identifier: MIT */
/* ripple without OpenGL. */
#include "../common/report.h"
#include "program.h"

bool gl_run(program *p)
{
    (void)p;
    report("--api=gl: this ripple was built without OpenGL, which the sample has by EGL");
    return false;
}
