/* SPDX-License-Identifier: MIT */
/* Where exportable memory and semaphores come from: the caller's culv_vk_device, or a small
 * VkDevice of Culvert's own on the context's GPU, made when it is first needed. OpenGL itself
 * exports nothing. */
#ifndef CULVI_GL_EXPORTER_H_
#define CULVI_GL_EXPORTER_H_

#include "gl/gl_core.h"

/* Refuses a descriptor's `vk` that is not the device's. */
culv_result culvi_gl_exporter_check(const culv_device *device, const culv_gl_desc *desc);
/* The Vulkan attachment, by its own table (graphics/graphics.h). Makes it when there is none. */
culv_result culvi_gl_exporter_get(culv_gl *gl, const char *label, culvi_graphics **out);
/* Holds the caller's attachment; lets that go, and frees what was made. Makes no OpenGL call. */
void culvi_gl_exporter_hold(culv_gl *gl);
void culvi_gl_exporter_free(culv_gl *gl);

/* A buffer or a texture. */
typedef struct culvi_gl_shape {
    const char *label;
    bool is_image;
    uint64_t size; /* a buffer's */
    uint32_t target, internal_format;
    const culvi_format *row;
    culv_image_type type;
    uint32_t width, height, depth, layers, levels;
    culv_texels texels;
    bool no_surfaces;
} culvi_gl_shape;

/* Whether Vulkan exports memory for it, and how CUDA maps it: fills in what api->plan() fills in,
 * unless `plan` is NULL. With `made` it makes the memory, with Vulkan's own resource in it. */
culv_result culvi_gl_exporter_run(culv_gl *gl, const culvi_gl_shape *shape, culvi_plan *plan,
                                  culvi_native *made);

#endif
