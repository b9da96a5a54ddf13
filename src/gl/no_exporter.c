/* SPDX-License-Identifier: MIT */
/* A build without Vulkan: nothing can be exported for OpenGL. Imports and fallbacks work. */
#include "gl/gl_object.h"

static culv_result none(const culv_gl *gl, const char *label)
{
    return culvi_fail(
        gl->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_BUILT,
        "OpenGL exports no memory, and this build of Culvert leaves Vulkan out, which could; allow a fallback, or import what others export (culv_gl_memory_import())");
}

culv_result culvi_gl_exporter_check(const culv_device *device, const culv_gl_desc *desc)
{
    (void)device;
    (void)desc;
    return CULV_OK;
}

culv_result culvi_gl_exporter_get(culv_gl *gl, const char *label, culvi_graphics **out)
{
    (void)out;
    return none(gl, label);
}

void culvi_gl_exporter_hold(culv_gl *gl)
{
    (void)gl;
}

void culvi_gl_exporter_free(culv_gl *gl)
{
    (void)gl;
}

culv_result culvi_gl_exporter_run(culv_gl *gl, const culvi_gl_shape *shape, culvi_plan *plan,
                                  culvi_native *made)
{
    (void)plan, (void)made;
    return none(gl, shape->label);
}
